//! Draws an asset: its posed triangles on the ground, and its joints over them.

use std::collections::HashSet;
use std::sync::Arc;

use condyle::skeleton::NO_PARENT;
use condyle::{Affine, Skin, Vertices};
use condyle_gltf::{Asset, Placement, Poser, Skinning};
use condyle_query::bounds::{self, Aabb};
use condyle_query::surface;
use condyle_solve::Limits;
use image::RgbImage;

use crate::Motion;
use crate::difference::{self, Greatest};
use crate::limits::{self, Posed};
use crate::material::{Alpha, Material, Materials, Texture};
use crate::outline::{self, Seen};
use crate::overlay::{self, LineEnd};
use crate::raster::{Canvas, Corner};
use crate::solid::Solid;
use crate::stage::{Bounds, Camera, FINE_SHADOW, Ground, GroundImage, SHADOW};
use crate::vector::{Vec3, cross, dot, length, normalize, scale, sub};

/// An asset and the data for drawing it.
pub(crate) struct Artist<'a> {
    asset: &'a Asset,
    /// One, or two for a comparison. With two, the difference of the second one from the first is drawn too.
    posers: Vec<Poser<'a>>,
    skinnings: Vec<Skinning>,
    /// Largest difference at the drawn moments, which scales the colours.
    greatest: Greatest,
    materials: Arc<Materials>,
    surfaces: Arc<[Surface]>,
    /// Boxes drawn next to the character.
    solids: Vec<Solid>,
    shown: Arc<ShownJoints>,
    /// Limits drawn with the joints.
    limits: Option<Limits>,
    /// Viewpoint of the drawn outline, and the topology of each surface.
    outline: Option<(Seen, Arc<[surface::Surface]>)>,
    /// Table from linear light, in 4095ths, to sRGB.
    encoded: Arc<[u8]>,
}

/// One picture of a pose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Panel {
    /// The first skinning method.
    First,
    Second,
    /// The second one, in colours that show its distance from the first.
    Difference,
}

impl Panel {
    /// Linear blending, dual quaternions and their difference, in this order.
    const COMPARED: [Self; 3] = [Self::First, Self::Second, Self::Difference];

    fn caption(self) -> &'static str {
        match self {
            Self::First => "linear",
            Self::Second => "dual quaternions",
            Self::Difference => "difference",
        }
    }
}

/// A primitive to draw.
struct Surface {
    instance: usize,
    primitive: usize,
    triangles: Vec<[u32; 3]>,
    /// One per vertex, or empty.
    uvs: Vec<[f32; 2]>,
    /// Linear, one per vertex, or empty.
    colors: Vec<[f32; 4]>,
}

/// The joints to draw, and the lines between parents and children.
struct ShownJoints {
    joints: Vec<u16>,
    links: Vec<[u16; 2]>,
}

/// Number of values interpolated over a triangle: world position, normal, texture coordinate, colour.
const VALUES: usize = 12;

impl<'a> Artist<'a> {
    /// Builds an artist. `skinnings` are the methods: one, or two for a comparison.
    pub(crate) fn new(asset: &'a Asset, skinnings: &[Skinning]) -> Result<Self, condyle::Error> {
        let shown = asset.shown().flat_map(|(_, i)| &i.primitives).filter(|p| p.drawable);
        let materials = Materials::load(&asset.document, &shown.filter_map(|p| p.material).collect());
        let encode = |i: usize| {
            let linear = i as f32 / 4095.0;
            let srgb =
                if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
            (srgb * 255.0).round() as u8
        };
        Ok(Self {
            asset,
            posers: posers(asset, skinnings)?,
            skinnings: skinnings.to_vec(),
            greatest: Greatest::default(),
            surfaces: surfaces(asset, &materials).into(),
            materials: Arc::new(materials),
            solids: vec![],
            shown: Arc::new(shown_joints(asset)),
            limits: None,
            outline: None,
            encoded: (0..4096).map(encode).collect(),
        })
    }

    /// Returns a copy in its current state, for another thread. Constant data is shared.
    pub(crate) fn twin(&self) -> Result<Self, condyle::Error> {
        Ok(Self {
            asset: self.asset,
            posers: posers(self.asset, &self.skinnings)?,
            skinnings: self.skinnings.clone(),
            greatest: self.greatest,
            surfaces: Arc::clone(&self.surfaces),
            materials: Arc::clone(&self.materials),
            solids: self.solids.clone(),
            shown: Arc::clone(&self.shown),
            limits: self.limits.clone(),
            outline: self.outline.clone(),
            encoded: Arc::clone(&self.encoded),
        })
    }

    /// Sets limits to draw with the joints.
    pub(crate) fn set_limits(&mut self, limits: Option<Limits>) {
        self.limits = limits;
    }

    /// Sets boxes to draw next to the asset.
    pub(crate) fn set_solids(&mut self, solids: Vec<Solid>) {
        self.solids = solids;
    }

    /// Enables the outline. Returns the number of open edges of the meshes, at which the outline is not
    /// closed.
    pub(crate) fn set_outline(&mut self, seen: Seen) -> usize {
        let mesh = |it: &Surface| &self.asset.instances[it.instance].primitives[it.primitive].mesh;
        let known: Vec<_> = self.surfaces.iter().map(|it| surface::Surface::new(mesh(it))).collect();
        let open = known.iter().map(|surface| surface.open_edges().count()).sum();
        self.outline = Some((seen, known.into()));
        open
    }

    /// Returns the images that cannot be drawn, and the reasons.
    pub(crate) fn problems(&self) -> &[String] {
        &self.materials.problems
    }

    /// Poses everything for the next calls of `measure` and `draw`.
    pub(crate) fn pose(&mut self, clip: Motion<'_>, seconds: f64) -> Result<(), condyle::Error> {
        self.posers.iter_mut().try_for_each(|poser| poser.pose(clip, seconds))
    }

    /// Returns the pictures of one pose.
    pub(crate) fn panels(&self) -> &'static [Panel] {
        if self.posers.len() > 1 { &Panel::COMPARED } else { &[Panel::First] }
    }

    /// Returns the metres per unit of the asset.
    fn metres(&self) -> f64 {
        self.asset.unit().unwrap_or(1.0)
    }

    /// Returns the largest distance between a vertex posed with both methods, in units of the asset.
    fn difference(&self) -> f64 {
        let [first, second] = &self.posers[..] else { return 0.0 };
        let of = |it: &Surface| {
            let pair = [first, second].map(|poser| &poser.posed(it.instance)[it.primitive].positions);
            pair[0].iter().zip(pair[1]).map(|(&a, &b)| length(sub(a, b))).fold(0.0, f32::max)
        };
        self.surfaces.iter().map(|it| f64::from(of(it))).fold(0.0, f64::max)
    }

    /// Compares both methods at these moments, or at rest without a clip, and sets the scale of the colours.
    pub(crate) fn compare(&mut self, clip: Motion<'_>, moments: &[f64]) -> Result<Greatest, condyle::Error> {
        self.posers[0].rest()?;
        let boxes = self.surfaces.iter().map(|it| bounds::of(&self.posed(0, it).positions));
        let around = boxes.fold(Aabb::EMPTY, Aabb::union);
        let metres = self.metres();
        let diagonal =
            metres * around.half_extents().iter().map(|&v| 4.0 * f64::from(v).powi(2)).sum::<f64>().sqrt();
        self.greatest = Greatest { diagonal, ..Greatest::default() };
        for &seconds in moments {
            self.pose(clip, seconds)?;
            let distance = metres * self.difference();
            if distance > self.greatest.distance {
                self.greatest = Greatest { distance, seconds, diagonal };
            }
        }
        Ok(self.greatest)
    }

    fn posed(&self, way: usize, surface: &Surface) -> &Vertices {
        &self.posers[way].posed(surface.instance)[surface.primitive]
    }

    /// Adds the posed vertices to the bounds, or the joints if there are no triangles.
    pub(crate) fn measure(&self, bounds: &mut Bounds) {
        self.solids.iter().for_each(|solid| bounds.add(&solid.corners()));
        for way in 0..self.posers.len() {
            self.surfaces.iter().for_each(|surface| bounds.add(&self.posed(way, surface).positions));
        }
        if self.surfaces.is_empty() {
            let places: Vec<Vec3> = self.shown.joints.iter().map(|&j| self.joint(j)).collect();
            bounds.add(&places);
        }
    }

    /// Returns the matrices of the joints in the pose.
    pub(crate) fn model(&self) -> &[Affine] {
        self.posers[0].model()
    }

    fn joint(&self, joint: u16) -> Vec3 {
        self.posers[0].model()[usize::from(joint)].rows.map(|row| row[3])
    }

    /// Draws a panel of the pose, with the joints over it if `skeleton` is set. `None` if that would take too
    /// much work.
    pub(crate) fn draw(
        &self,
        panel: Panel,
        camera: &Camera,
        ground: &Ground,
        ground_image: &GroundImage,
        size: [u32; 2],
        skeleton: bool,
    ) -> Option<RgbImage> {
        let mut canvas = Canvas::new(size[0] as usize, size[1] as usize);
        let way = if panel == Panel::First { 0 } else { 1 };
        let character = || self.surfaces.iter().flat_map(|s| self.world(way, s));
        let solids = self.solids.iter().flat_map(Solid::triangles);
        let side = if self.solids.is_empty() { SHADOW } else { FINE_SHADOW };
        let shadow = ground.shadow(camera.light, character().chain(solids), side);
        ground_image.draw(&mut canvas, &shadow);
        if !self.solids.is_empty() {
            let shadow = ground.shadow(camera.light, character(), side);
            self.solids.iter().for_each(|solid| solid.draw(&mut canvas, camera, ground, &shadow));
        }
        for last in [false, true] {
            let is_last = |s: &&Surface| (self.material(s).alpha == Alpha::Blend) == last;
            for surface in self.surfaces.iter().filter(is_last) {
                self.draw_surface(&mut canvas, camera, panel, surface);
            }
        }
        if canvas.is_worn_out() {
            return None;
        }
        let encode = |v: f32| self.encoded[(v.clamp(0.0, 1.0) * 4095.0) as usize];
        let bytes = canvas.pixels().flat_map(|p| p.map(encode)).collect();
        let mut picture = RgbImage::from_raw(size[0], size[1], bytes)?;
        if let Some((seen, known)) = &self.outline {
            for (it, surface) in self.surfaces.iter().zip(&**known) {
                outline::draw(&mut picture, &canvas, camera, *seen, surface, self.posed(way, it));
            }
        }
        // A motion has nothing else to draw.
        if skeleton || self.asset.is_motion() {
            self.draw_joints(&mut picture, camera);
        }
        if self.posers.len() > 1 {
            difference::caption(&mut picture, panel.caption());
        }
        if panel == Panel::Difference {
            difference::legend(&mut picture, &self.greatest);
        }
        Some(picture)
    }

    fn world<'s>(&'s self, way: usize, surface: &'s Surface) -> impl Iterator<Item = [Vec3; 3]> + 's {
        let positions = &self.posed(way, surface).positions;
        surface.triangles.iter().map(|t| t.map(|i| positions[i as usize]))
    }

    fn material(&self, surface: &Surface) -> &Material {
        self.materials.get(self.asset.instances[surface.instance].primitives[surface.primitive].material)
    }

    fn draw_surface(&self, canvas: &mut Canvas, camera: &Camera, panel: Panel, surface: &Surface) {
        let vertices = self.posed(if panel == Panel::First { 0 } else { 1 }, surface);
        let is_difference = panel == Panel::Difference;
        let material = if is_difference { &Material::PLAIN } else { self.material(surface) };
        let end = (self.greatest.end() / self.metres()) as f32;
        let difference = |i: usize| {
            let apart = length(sub(vertices.positions[i], self.posed(0, surface).positions[i]));
            let [r, g, b] = difference::color(if end > 0.0 { apart / end } else { 0.0 });
            [r, g, b, 1.0]
        };
        let distance = |triangle: &[u32; 3]| -> f32 {
            triangle.iter().map(|&i| camera.place(vertices.positions[i as usize])[2]).sum()
        };
        let texture =
            material.texture.map(|t| &self.materials.textures[t]).filter(|_| !surface.uvs.is_empty());
        // Front to back, so that hidden pixels are not shaded; back to front for translucent surfaces.
        let mut order: Vec<(f32, [u32; 3])> = surface.triangles.iter().map(|t| (distance(t), *t)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        if material.alpha == Alpha::Blend {
            order.reverse();
        }
        for (_, triangle) in order {
            let at = triangle.map(|i| vertices.positions[i as usize]);
            // Triangles of a mesh without normals are flat: glTF 2.0, "Meshes".
            let flat = normalize(cross(sub(at[1], at[0]), sub(at[2], at[0])));
            let corners = core::array::from_fn(|c| {
                let i = triangle[c] as usize;
                let normal = vertices.normals.get(i).copied().filter(|n| *n != [0.0; 3]).unwrap_or(flat);
                let uv = surface.uvs.get(i).copied().unwrap_or_default();
                let color = match is_difference {
                    true => difference(i),
                    false => surface.colors.get(i).copied().unwrap_or([1.0; 4]),
                };
                let mut values = [0.0; VALUES];
                values[0..3].copy_from_slice(&at[c]);
                values[3..6].copy_from_slice(&normal);
                values[6..8].copy_from_slice(&material.transform.map(|r| r[0] * uv[0] + r[1] * uv[1] + r[2]));
                values[8..12].copy_from_slice(&color);
                Corner { at: camera.place(at[c]), values }
            });
            let density = texture.map_or(1.0, |texture| texels_per_pixel(texture, camera, &corners));
            canvas.triangle(camera.lens, &corners, |v, front| {
                let mut base: [f32; 4] = core::array::from_fn(|k| material.factor[k] * v[8 + k]);
                if let Some(texture) = texture {
                    let texel = texture.sample([v[6], v[7]], density);
                    // A polynomial close to the sRGB curve.
                    (0..3).for_each(|k| base[k] *= texel[k] * texel[k] * (0.7 * texel[k] + 0.3));
                    base[3] *= texel[3];
                }
                let opacity = match material.alpha {
                    Alpha::Opaque => 1.0,
                    Alpha::Mask(cutoff) if base[3] < cutoff => return None,
                    Alpha::Mask(_) => 1.0,
                    Alpha::Blend => base[3].clamp(0.0, 1.0),
                };
                // The geometric normal towards the eye, whatever the winding.
                let facing = scale(flat, if front { 1.0 } else { -1.0 });
                let normal = normalize([v[3], v[4], v[5]]);
                let normal = scale(normal, if dot(normal, facing) < -0.1 { -1.0 } else { 1.0 });
                let [r, g, b] = camera.shade([base[0], base[1], base[2]], normal, [v[0], v[1], v[2]]);
                Some([r, g, b, opacity])
            });
        }
    }

    fn draw_joints(&self, picture: &mut RgbImage, camera: &Camera) {
        let (width, height) = (picture.width() as f32, picture.height() as f32);
        let unit = width.min(height) / 640.0;
        let place = |joint| {
            let [x, y] = camera.project(self.joint(joint))?;
            Some([width / 2.0 + x, height / 2.0 - y])
        };
        for [parent, child] in &self.shown.links {
            if let (Some(from), Some(to)) = (place(*parent), place(*child)) {
                overlay::tapered_line(
                    picture,
                    LineEnd::new(from, 4.2 * unit + 1.0),
                    LineEnd::new(to, 1.4 * unit + 1.0),
                    [30, 32, 40],
                );
                overlay::tapered_line(
                    picture,
                    LineEnd::new(from, 4.2 * unit),
                    LineEnd::new(to, 1.4 * unit),
                    [255, 214, 92],
                );
            }
        }
        for at in self.shown.joints.iter().filter_map(|&joint| place(joint)) {
            overlay::dot(picture, at, 3.0 * unit, [240, 84, 60]);
        }
        if let Some(limits) = &self.limits {
            let (skeleton, pose, model) =
                (&self.asset.skeleton, self.posers[0].scene().pose, self.posers[0].model());
            limits::draw(picture, camera, &Posed { skeleton, pose, model }, limits, &self.shown.joints);
        }
    }
}

fn posers<'a>(asset: &'a Asset, skinnings: &[Skinning]) -> Result<Vec<Poser<'a>>, condyle::Error> {
    skinnings.iter().map(|&way| Poser::new(asset, way.into())).collect()
}

/// Returns the number of texels of the full image that one pixel of a triangle covers.
fn texels_per_pixel(texture: &Texture, camera: &Camera, corners: &[Corner<VALUES>; 3]) -> f32 {
    let [a, b, c] = corners;
    let area = length(cross(sub(b.at, a.at), sub(c.at, a.at)));
    let uv = |c: &Corner<VALUES>| [c.values[6], c.values[7], 0.0];
    let texels = length(cross(sub(uv(b), uv(a)), sub(uv(c), uv(a)))) * texture.size();
    let per_unit = camera.lens.focal / ((a.at[2] + b.at[2] + c.at[2]) / 3.0).max(camera.lens.near);
    let found = texels / (area * per_unit * per_unit);
    if found.is_finite() { found } else { 1.0 }
}

fn surfaces(asset: &Asset, materials: &Materials) -> Vec<Surface> {
    let mut out = Vec::new();
    for (at, instance) in asset.shown() {
        for (primitive, source) in instance.primitives.iter().enumerate().filter(|(_, p)| p.drawable) {
            let set = materials.get(source.material).texture_set;
            out.push(Surface {
                instance: at,
                primitive,
                triangles: source.triangles().collect(),
                uvs: asset.texture_coordinates(instance, source, set).unwrap_or_default(),
                colors: asset.colors(instance, source, 0).unwrap_or_default(),
            });
        }
    }
    out
}

/// Returns the joints that move a vertex, and those between them. Joints above them only place the character,
/// and controls that a skin lists without weights move nothing, so both are left out. For a motion, and for
/// skins without meshes, returns all joints.
fn shown_joints(asset: &Asset) -> ShownJoints {
    let parents = asset.skeleton.parents();
    let mut deforming = HashSet::new();
    for instance in &asset.instances {
        match instance.placement {
            Placement::Skin(skin) => {
                let joints = asset.skins[skin].joints();
                for primitive in &instance.primitives {
                    let (_, named, _) = primitive.mesh.influences().as_slices();
                    deforming.extend(named.iter().filter_map(|&own| joints.get(usize::from(own))));
                }
            }
            Placement::Joint(joint) => drop(deforming.insert(joint)),
            Placement::Fixed(_) => {}
        }
    }
    if asset.instances.is_empty() {
        deforming.extend(asset.skins.iter().flat_map(Skin::joints));
    }
    if asset.is_motion() {
        deforming.extend(0..parents.len() as u16);
    }
    // A joint is included if it deforms, or is between two that do. Parents come first, so one forward pass
    // finds joints below a deforming joint, and one backward pass finds joints above.
    let mut below = vec![false; parents.len()];
    for joint in 0..parents.len() {
        let parent = parents[joint];
        below[joint] =
            deforming.contains(&(joint as u16)) || (parent != NO_PARENT && below[usize::from(parent)]);
    }
    let mut above = vec![false; parents.len()];
    for joint in (0..parents.len()).rev() {
        above[joint] |= deforming.contains(&(joint as u16));
        if above[joint] && parents[joint] != NO_PARENT {
            above[usize::from(parents[joint])] = true;
        }
    }
    let inside = |joint: u16| below[usize::from(joint)] && above[usize::from(joint)];
    let joints: Vec<u16> = (0..parents.len() as u16).filter(|&j| inside(j)).collect();
    let link = |&joint: &u16| {
        let parent = asset.skeleton.parent(joint)?;
        inside(parent).then_some([parent, joint])
    };
    ShownJoints { links: joints.iter().filter_map(link).collect(), joints }
}
