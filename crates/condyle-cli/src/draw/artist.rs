//! Draws an asset: its posed triangles on the ground, and its joints over them.

use std::collections::HashSet;

use condyle::Skin;
use condyle::skeleton::NO_PARENT;
use condyle_gltf::{Asset, Instance, Placement, Poser, PoserOptions};
use image::RgbImage;

use crate::draw::material::{Alpha, Material, Materials, Texture};
use crate::draw::overlay;
use crate::draw::raster::{Canvas, Corner};
use crate::draw::stage::{Bounds, Camera, Ground};
use crate::draw::vector::{Vec3, cross, dot, length, normalize, scale, sub};
use crate::model::document::triangles;
use crate::model::playable::Playable;

/// An asset with what is needed to draw it.
pub(crate) struct Artist<'a> {
    asset: &'a Asset,
    poser: Poser<'a>,
    materials: Materials,
    surfaces: Vec<Surface>,
    shown: ShownJoints,
    /// A table from linear light, in 4095ths, to sRGB.
    encoded: Vec<u8>,
}

/// A primitive to draw.
struct Surface {
    instance: usize,
    primitive: usize,
    triangles: Vec<[u32; 3]>,
    /// One per vertex, or none.
    uvs: Vec<[f32; 2]>,
    /// Linear, one per vertex, or none.
    colors: Vec<[f32; 4]>,
}

/// The joints to draw, and the lines between parents and children.
struct ShownJoints {
    joints: Vec<u16>,
    links: Vec<[u16; 2]>,
}

/// Values interpolated over a triangle: world position, normal, texture coordinate, colour.
const VALUES: usize = 12;

impl<'a> Artist<'a> {
    pub(crate) fn new(asset: &'a Asset) -> Result<Self, condyle::Error> {
        let encode = |i: usize| {
            let linear = i as f32 / 4095.0;
            let srgb =
                if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
            (srgb * 255.0).round() as u8
        };
        let shown = shown(asset).flat_map(|(_, i)| &i.primitives).filter(|p| p.drawable);
        let materials = Materials::load(&asset.document, &shown.filter_map(|p| p.material).collect());
        Ok(Self {
            asset,
            poser: Poser::new(asset, PoserOptions::default())?,
            surfaces: surfaces(asset, &materials),
            materials,
            shown: shown_joints(asset),
            encoded: (0..4096).map(encode).collect(),
        })
    }

    /// Images that cannot be drawn, and why.
    pub(crate) fn problems(&self) -> &[String] {
        &self.materials.problems
    }

    /// Poses everything, for the next calls of `measure` and `draw`.
    pub(crate) fn pose(&mut self, clip: Option<&Playable<'_>>, seconds: f32) -> Result<(), condyle::Error> {
        self.poser.pose(clip, seconds)
    }

    /// Adds the posed vertices to the bounds, or the joints if there are no triangles.
    pub(crate) fn measure(&self, bounds: &mut Bounds) {
        for surface in &self.surfaces {
            let positions = &self.poser.posed(surface.instance)[surface.primitive].positions;
            bounds.add(positions);
        }
        if self.surfaces.is_empty() {
            let places: Vec<Vec3> = self.shown.joints.iter().map(|&j| self.joint(j)).collect();
            bounds.add(&places);
        }
    }

    fn joint(&self, joint: u16) -> Vec3 {
        self.poser.model()[usize::from(joint)].rows.map(|row| row[3])
    }

    /// Draws the pose, with the joints over it if `skeleton` is set. `None` if that would take far too long.
    pub(crate) fn draw(
        &self,
        camera: &Camera,
        ground: &Ground,
        size: [u32; 2],
        skeleton: bool,
    ) -> Option<RgbImage> {
        let mut canvas = Canvas::new(size[0] as usize, size[1] as usize);
        let shadow = ground.shadow(camera.light, self.surfaces.iter().flat_map(|s| self.world(s)));
        ground.backdrop(&mut canvas, camera, &shadow, size[1] as f32 / 2.0);
        for last in [false, true] {
            let is_last = |s: &&Surface| (self.material(s).alpha == Alpha::Blend) == last;
            for surface in self.surfaces.iter().filter(is_last) {
                self.draw_surface(&mut canvas, camera, surface);
            }
        }
        if canvas.is_worn_out() {
            return None;
        }
        let encode = |v: f32| self.encoded[(v.clamp(0.0, 1.0) * 4095.0) as usize];
        let bytes = canvas.pixels().flat_map(|p| p.map(encode)).collect();
        let mut picture = RgbImage::from_raw(size[0], size[1], bytes)?;
        if skeleton {
            self.draw_joints(&mut picture, camera);
        }
        Some(picture)
    }

    fn world<'s>(&'s self, surface: &'s Surface) -> impl Iterator<Item = [Vec3; 3]> + 's {
        let positions = &self.poser.posed(surface.instance)[surface.primitive].positions;
        surface.triangles.iter().map(|t| t.map(|i| positions[i as usize]))
    }

    fn material(&self, surface: &Surface) -> &Material {
        self.materials.get(self.asset.instances[surface.instance].primitives[surface.primitive].material)
    }

    fn draw_surface(&self, canvas: &mut Canvas, camera: &Camera, surface: &Surface) {
        let vertices = &self.poser.posed(surface.instance)[surface.primitive];
        let material = self.material(surface);
        let distance = |triangle: &[u32; 3]| -> f32 {
            triangle.iter().map(|&i| camera.place(vertices.positions[i as usize])[2]).sum()
        };
        let texture =
            material.texture.map(|t| &self.materials.textures[t]).filter(|_| !surface.uvs.is_empty());
        // Front to back, so that hidden pixels are not shaded; back to front where surfaces are translucent.
        let mut order: Vec<(f32, [u32; 3])> = surface.triangles.iter().map(|t| (distance(t), *t)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        if material.alpha == Alpha::Blend {
            order.reverse();
        }
        for (_, triangle) in order {
            let at = triangle.map(|i| vertices.positions[i as usize]);
            // Where a mesh has no normals its triangles are flat: glTF 2.0, "Meshes".
            let flat = normalize(cross(sub(at[1], at[0]), sub(at[2], at[0])));
            let corners = core::array::from_fn(|c| {
                let i = triangle[c] as usize;
                let normal = vertices.normals.get(i).copied().filter(|n| *n != [0.0; 3]).unwrap_or(flat);
                let uv = surface.uvs.get(i).copied().unwrap_or_default();
                let color = surface.colors.get(i).copied().unwrap_or([1.0; 4]);
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
                    (from, 4.2 * unit + 1.0),
                    (to, 1.4 * unit + 1.0),
                    [30, 32, 40],
                );
                overlay::tapered_line(picture, (from, 4.2 * unit), (to, 1.4 * unit), [255, 214, 92]);
            }
        }
        for at in self.shown.joints.iter().filter_map(|&joint| place(joint)) {
            overlay::dot(picture, at, 3.0 * unit, [240, 84, 60]);
        }
    }
}

/// How many texels of the full image one pixel of a triangle covers.
fn texels_per_pixel(texture: &Texture, camera: &Camera, corners: &[Corner<VALUES>; 3]) -> f32 {
    let [a, b, c] = corners;
    let area = length(cross(sub(b.at, a.at), sub(c.at, a.at)));
    let uv = |c: &Corner<VALUES>| [c.values[6], c.values[7], 0.0];
    let texels = length(cross(sub(uv(b), uv(a)), sub(uv(c), uv(a)))) * texture.size();
    let per_unit = camera.lens.focal / ((a.at[2] + b.at[2] + c.at[2]) / 3.0).max(camera.lens.near);
    let found = texels / (area * per_unit * per_unit);
    if found.is_finite() { found } else { 1.0 }
}

/// The instances of the default scene; all instances if it has none.
fn shown(asset: &Asset) -> impl Iterator<Item = (usize, &Instance)> {
    let any = asset.instances.iter().any(|i| i.in_default_scene);
    asset.instances.iter().enumerate().filter(move |(_, i)| i.in_default_scene || !any)
}

fn surfaces(asset: &Asset, materials: &Materials) -> Vec<Surface> {
    let mut out = Vec::new();
    for (at, instance) in shown(asset) {
        for (primitive, source) in instance.primitives.iter().enumerate().filter(|(_, p)| p.drawable) {
            let set = materials.get(source.material).texture_set;
            out.push(Surface {
                instance: at,
                primitive,
                triangles: triangles(source).collect(),
                uvs: asset.texture_coordinates(instance, source, set).unwrap_or_default(),
                colors: asset.colors(instance, source, 0).unwrap_or_default(),
            });
        }
    }
    out
}

/// The joints that deform or carry a mesh, and those between them; not the ones above, which only place the
/// character.
fn shown_joints(asset: &Asset) -> ShownJoints {
    let parents = asset.skeleton.parents();
    let mut deforming: HashSet<u16> = asset.skins.iter().flat_map(Skin::joints).copied().collect();
    deforming.extend(asset.instances.iter().filter_map(|instance| match instance.placement {
        Placement::Joint(joint) => Some(joint),
        Placement::Skin(_) | Placement::Fixed(_) => None,
    }));
    // A joint is included if it deforms, or lies between two that do. Parents come first, so one pass finds
    // what is below a deforming joint, and one pass backwards what is above.
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
