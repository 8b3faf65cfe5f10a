//! A model for comparison: its meshes and joints at rest, its clips, and the matrices that move it at a
//! moment.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use condyle::sampling::PoseSource;
use condyle::{
    Affine, Error as Refusal, Influences, Joint, NormalRule, Palette, Pose, Skeleton, Skin, SkinnedMesh,
    Transform, Vertices, local_to_model, palette,
};
use condyle_gltf::{Asset, Instance, Placement, Poser, StillNode};

use crate::compare::clip::{Clip, told_apart};
use crate::compare::error::Error;

/// A model with its moving parts and its clips. Parts, movers and clips are counted from 0.
pub struct Subject<'a> {
    name: String,
    pub(crate) skeleton: &'a Skeleton,
    /// `None` for joints without meshes.
    asset: Option<&'a Asset>,
    /// Its meshes; or its joints as one part, after [`Self::take_joints`].
    pub(crate) parts: Vec<Part>,
    clips: Vec<Clip<'a>>,
    /// Whether the file named each clip.
    named: Vec<bool>,
    movers: Vec<Mover<'a>>,
}

/// A primitive of an instance.
pub(crate) struct Part {
    /// Name of the instance.
    pub(crate) name: String,
    /// Index among the primitives of the instance.
    pub(crate) primitive: usize,
    pub(crate) mesh: Arc<SkinnedMesh>,
    pub(crate) mover: usize,
    /// Instance that has the morph weights.
    pub(crate) instance: Option<usize>,
    /// Positions of its vertices in the rest pose, in world space.
    pub(crate) rest: Vec<[f32; 3]>,
    /// Names of the joints that its vertices represent, [`POINTS`] vertices each. Empty for meshes.
    joints: Vec<String>,
}

/// Place of a distance in the first model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A vertex of a mesh.
    Vertex {
        /// Name of the node with the mesh; may be empty.
        mesh: &'a str,
        /// Index among the primitives of the mesh.
        primitive: usize,
        /// Index among the vertices of the primitive.
        vertex: usize,
    },
    /// A joint, or a point on one of its axes.
    Joint {
        /// Name of the joint.
        name: &'a str,
    },
}

/// A vertex of the first model, or a point that represents a joint, and its distance from the counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Worst {
    /// Index of the part among [`Pairing::parts`](crate::compare::Pairing::parts).
    pub part: usize,
    /// Index in the part.
    pub vertex: usize,
    /// Distance in units of the models.
    pub distance: f64,
}

/// Matrices that move a part.
enum Mover<'a> {
    Skin(Cow<'a, Skin>),
    /// A constant matrix.
    Fixed(Palette),
}

/// Everything that moves vertices at a moment.
pub(crate) struct Moment {
    /// Empty for movers that never change.
    palettes: Vec<Palette>,
    /// Morph weights of each instance.
    weights: Vec<Vec<f32>>,
}

/// The rest pose with all morph targets active, each with a different weight. It distinguishes vertices at
/// the same position that morph to different ones, such as those of closed lips.
struct Stirred;

impl PoseSource for Stirred {
    fn start(&self) -> f64 {
        0.0
    }

    fn end(&self) -> f64 {
        0.0
    }

    fn pose(&self, skeleton: &Skeleton, _: f64, pose: &mut Pose) -> Result<(), Refusal> {
        pose.clone_from(skeleton.rest());
        Ok(())
    }

    fn weights(&self, _: u32, _: f64, weights: &mut [f32]) -> Result<(), Refusal> {
        const GOLDEN: f32 = 0.618_034;
        weights.iter_mut().enumerate().for_each(|(at, w)| *w = 0.5 + 0.5 * (at as f32 * GOLDEN).fract());
        Ok(())
    }
}

impl<'a> Subject<'a> {
    /// Builds a subject from a model with meshes and its clips. A clip named `animation` and its index counts
    /// as a clip without a name. Errors refer to the model as `name`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the model exceeds a limit of a stage, [`Error::Rest`] if it leaves the range of
    /// f32 at rest.
    pub fn new(name: impl Into<String>, asset: &'a Asset, clips: Vec<Clip<'a>>) -> Result<Self, Error> {
        let mut it = Self::of_joints(name, &asset.skeleton, clips);
        it.asset = Some(asset);
        let mut poser = Poser::new(asset, NormalRule::Plain.into()).map_err(|e| it.too_large(e))?;
        poser.rest().map_err(|error| Error::Rest { model: it.name.clone(), error })?;
        let (mut parts, mut movers, mut known) = (Vec::new(), Vec::new(), HashMap::new());
        for (at, instance) in asset.instances.iter().enumerate() {
            let mut add = |mover: Mover<'a>| {
                movers.push(mover);
                movers.len() - 1
            };
            let mover = match &instance.placement {
                Placement::Skin(skin) => {
                    let own = || add(Mover::Skin(Cow::Borrowed(&asset.skins[*skin])));
                    *known.entry(Ok(*skin)).or_insert_with(own)
                }
                Placement::Joint(joint) => {
                    let rigid = rigid(vec![*joint]).map_err(|e| it.too_large(e))?;
                    *known.entry(Err(*joint)).or_insert_with(|| add(Mover::Skin(Cow::Owned(rigid))))
                }
                Placement::Fixed(world) => add(fixed(world).map_err(|e| it.too_large(e))?),
            };
            for (primitive, (source, posed)) in instance.primitives.iter().zip(poser.posed(at)).enumerate() {
                parts.push(Part {
                    name: instance.name.clone(),
                    primitive,
                    mesh: Arc::clone(&source.mesh),
                    mover,
                    instance: Some(at),
                    rest: posed.positions.clone(),
                    joints: Vec::new(),
                });
            }
        }
        Ok(Self { parts, movers, ..it })
    }

    /// Builds a subject from joints without meshes and their clips, as in [`Self::new`].
    pub fn of_joints(name: impl Into<String>, skeleton: &'a Skeleton, clips: Vec<Clip<'a>>) -> Self {
        let (clips, named) = told_apart(clips);
        Self { name: name.into(), skeleton, asset: None, parts: Vec::new(), clips, named, movers: Vec::new() }
    }

    /// Returns the name of the model in errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the metres per unit, if the document states it: see [`Asset::unit`].
    pub(crate) fn unit(&self) -> Option<f64> {
        self.asset?.unit()
    }

    /// Returns its clips, in the order given. A repeated name has a number added.
    #[must_use]
    pub fn clips(&self) -> &[Clip<'a>] {
        &self.clips
    }

    /// Returns whether the file named a clip; otherwise the clip is named by its number. Returns false for an
    /// index beyond the last clip.
    #[must_use]
    pub fn is_named(&self, clip: usize) -> bool {
        self.named.get(clip).copied().unwrap_or_default()
    }

    pub(crate) fn clip(&self, clip: usize) -> Result<&Clip<'a>, Error> {
        let count = self.clips.len();
        self.clips.get(clip).ok_or_else(|| Error::Clip { model: self.name.clone(), found: clip, count })
    }

    fn instances(&self) -> &'a [Instance] {
        self.asset.map_or(&[], |asset| &asset.instances)
    }

    pub(crate) fn too_large(&self, error: Refusal) -> Error {
        Error::TooLarge { model: self.name.clone(), error }
    }

    fn at_rest(&self, error: Refusal) -> Error {
        Error::Rest { model: self.name.clone(), error }
    }

    pub(crate) fn vertex_count(&self) -> usize {
        self.parts.iter().map(|part| part.rest.len()).sum()
    }

    /// Returns the offsets of the vertices of each part with all morph targets active; empty for parts
    /// without morph targets.
    pub(crate) fn stirred(&self) -> Vec<Vec<[f32; 3]>> {
        let still = || vec![Vec::new(); self.parts.len()];
        let Some(asset) = self.asset else { return still() };
        let stirred = || -> Result<Vec<Vec<[f32; 3]>>, Refusal> {
            let mut poser = Poser::new(asset, NormalRule::Plain.into())?;
            poser.pose(Some(&Stirred), 0.0)?;
            let moved = |part: &Part| {
                let instance = part.instance.filter(|_| !part.mesh.morph_targets().is_empty())?;
                let posed = &poser.posed(instance)[part.primitive].positions;
                let by = |(p, q): (&[f32; 3], &[f32; 3])| [0, 1, 2].map(|axis| p[axis] - q[axis]);
                Some(posed.iter().zip(&part.rest).map(by).collect())
            };
            Ok(self.parts.iter().map(|part| moved(part).unwrap_or_default()).collect())
        };
        // These weights occur in no clip and may exceed the range of f32; then the offsets are left empty.
        stirred().unwrap_or_else(|_| still())
    }

    /// Returns the joints of the skeleton that move a part, indexed by the joints of its influences. Empty if
    /// nothing moves it.
    pub(crate) fn joints_of(&self, part: &Part) -> &[u16] {
        match &self.movers[part.mover] {
            Mover::Skin(skin) => skin.joints(),
            Mover::Fixed(_) => &[],
        }
    }

    /// Returns the model matrices of the rest pose.
    pub(crate) fn rest_model(&self) -> Result<Vec<Affine>, Error> {
        let skeleton = self.skeleton;
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(skeleton, skeleton.rest(), &mut model).map_err(|e| self.at_rest(e))?;
        Ok(model)
    }

    /// Returns the nodes of the document that are not joints, and all nodes as a skeleton, joints first. If
    /// there are too many nodes, returns the joints only.
    pub(crate) fn nodes(&self) -> (Vec<StillNode>, Skeleton) {
        let still = self.asset.map(Asset::still_nodes).unwrap_or_default();
        let count = self.skeleton.joint_count();
        let mut places: HashMap<usize, u16> =
            (0..).zip(self.skeleton.nodes()).map(|(joint, node)| (*node as usize, joint)).collect();
        let mut joints: Vec<Joint> = (0..count).map(|joint| self.joint(joint)).collect();
        for it in &still {
            let parent = it.parent.and_then(|parent| places.get(&parent).copied());
            places.insert(it.node, joints.len() as u16);
            let node = Some(it.node as u32);
            joints.push(Joint { node, ..Joint::new(it.name.clone(), parent, Transform::IDENTITY) });
        }
        match Skeleton::new(joints) {
            Ok(all) => (still, all),
            Err(_) => (Vec::new(), self.skeleton.clone()),
        }
    }

    fn joint(&self, joint: usize) -> Joint {
        let skeleton = self.skeleton;
        Joint {
            name: skeleton.names()[joint].clone(),
            parent: skeleton.parent(joint as u16),
            node: skeleton.node(joint as u16),
            rest: skeleton.rest().get(joint),
        }
    }

    /// Replaces the meshes by four points for each joint and each of these nodes: its origin, and one on each
    /// axis at distance `length` at rest, so that rotations and scales count. Returns the part of each, and
    /// its index there.
    pub(crate) fn take_joints(
        &mut self,
        length: f64,
        nodes: &[&StillNode],
    ) -> Result<Vec<(u32, usize)>, Error> {
        let model = self.rest_model()?;
        let failed = |it: &Self, e: Refusal| it.too_large(e);
        let mover = Mover::Skin(Cow::Owned(
            rigid((0..model.len()).map(|joint| joint as u16).collect()).map_err(|e| failed(self, e))?,
        ));
        let still = fixed(&Affine::IDENTITY).map_err(|e| failed(self, e))?;
        let mut parts = [Points::default(), Points::default()];
        let mut places = Vec::with_capacity(model.len() + nodes.len());
        for (joint, matrix) in model.iter().enumerate() {
            let name = &self.skeleton.names()[joint];
            places.push((0, parts[0].add(name, joint as u16, matrix, &Affine::IDENTITY, length)));
        }
        for node in nodes {
            let (part, joint) = node.joint.map_or((1, 0), |joint| (0, joint));
            let own = node.joint.map_or(Affine::IDENTITY, |joint| model[usize::from(joint)]);
            places.push((part, parts[part as usize].add(&node.name, joint, &own, &node.matrix, length)));
        }
        let parts = parts.into_iter().enumerate().filter(|(part, it)| *part == 0 || !it.names.is_empty());
        self.parts = parts.map(|(part, it)| it.part(part, self)).collect::<Result<_, _>>()?;
        self.movers = vec![mover, still];
        Ok(places)
    }

    /// Returns the vertex or joint that a vertex of a part represents.
    pub(crate) fn place(&self, part: usize, vertex: usize) -> Place<'_> {
        let it = &self.parts[part];
        match it.instance {
            None => Place::Joint { name: &it.joints[vertex / POINTS] },
            Some(_) => Place::Vertex { mesh: &it.name, primitive: it.primitive, vertex },
        }
    }

    /// Returns the matrices and weights of all parts at a moment of a clip.
    pub(crate) fn moment(&self, clip: &Clip<'_>, seconds: f64) -> Result<Moment, Error> {
        let (clip, skeleton) = (clip.source(), self.skeleton);
        let at = || -> Result<Moment, Refusal> {
            let mut pose = Pose::rest(skeleton);
            clip.pose(skeleton, seconds, &mut pose)?;
            if let Some(asset) = self.asset {
                asset.constrain(&mut pose)?;
            }
            let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
            local_to_model(skeleton, &pose, &mut model)?;
            let palettes = self.movers.iter().map(|mover| {
                let mut it = Palette::default();
                if let Mover::Skin(skin) = mover {
                    palette(skin, &model, NormalRule::Plain, &mut it)?;
                }
                Ok(it)
            });
            let weights = self.instances().iter().map(|instance| {
                let mut weights = instance.morph_weights.clone();
                if !weights.is_empty() {
                    clip.weights(instance.node as u32, seconds, &mut weights)?;
                }
                Ok(weights)
            });
            Ok(Moment {
                palettes: palettes.collect::<Result<_, Refusal>>()?,
                weights: weights.collect::<Result<_, Refusal>>()?,
            })
        };
        at().map_err(|e| self.unfit(seconds, e))
    }

    pub(crate) fn unfit(&self, seconds: f64, error: Refusal) -> Error {
        Error::Moment { model: self.name.clone(), seconds, error }
    }

    /// Returns the approximate bytes of a [`Moment`].
    pub(crate) fn moment_bytes(&self) -> usize {
        let palettes = self.movers.iter().map(|mover| match mover {
            Mover::Skin(skin) => size_of::<Palette>() + 64 * skin.joints().len(),
            Mover::Fixed(_) => size_of::<Palette>(),
        });
        let weights = self.instances().iter().map(|i| size_of::<Vec<f32>>() + 4 * i.morph_weights.len());
        palettes.sum::<usize>() + weights.sum::<usize>()
    }

    pub(crate) fn palette_of<'m>(&'m self, part: usize, moment: &'m Moment) -> &'m Palette {
        let mover = self.parts[part].mover;
        match &self.movers[mover] {
            Mover::Skin(_) => &moment.palettes[mover],
            Mover::Fixed(palette) => palette,
        }
    }

    pub(crate) fn weights_of<'m>(&self, part: usize, moment: &'m Moment) -> &'m [f32] {
        self.parts[part].instance.map_or(&[], |instance| &moment.weights[instance])
    }
}

/// Number of points that represent a joint.
pub(crate) const POINTS: usize = 4;

/// Points that represent joints, and nodes that follow them.
#[derive(Default)]
struct Points {
    names: Vec<String>,
    joints: Vec<u16>,
    /// Positions in the space of the joint, and at rest.
    positions: Vec<[f32; 3]>,
    rest: Vec<[f32; 3]>,
}

impl Points {
    /// Adds the points of a node: `matrix` is in the space of its joint, whose model matrix is `model`.
    /// Returns the index of the node.
    fn add(&mut self, name: &str, joint: u16, model: &Affine, matrix: &Affine, length: f64) -> usize {
        let at = |matrix: &Affine, [px, py, pz]: [f32; 3]| {
            matrix.rows.map(|[x, y, z, w]| px * x + py * y + pz * z + w)
        };
        let whole = *model * *matrix;
        let mut point = |local: [f32; 3]| {
            let own = at(matrix, local);
            self.positions.push(own);
            self.rest.push(at(model, own));
        };
        point([0.0; 3]);
        for axis in 0..3 {
            let column = [0, 1, 2].map(|row| f64::from(whole.rows[row][axis]));
            let scale = column.iter().map(|x| x * x).sum::<f64>().sqrt();
            let mut local = [0.0; 3];
            // An axis with scale 0 at rest has no direction.
            local[axis] = Some((length / scale) as f32).filter(|l| l.is_finite()).unwrap_or_default();
            point(local);
        }
        self.names.push(name.into());
        self.joints.push(joint);
        self.names.len() - 1
    }

    /// Returns the points as a part with this mover.
    fn part(self, mover: usize, of: &Subject<'_>) -> Result<Part, Error> {
        let failed = |e: Refusal| of.too_large(e);
        if let Some(at) = self.rest.iter().position(|p: &[f32; 3]| !p.iter().all(|x| x.is_finite())) {
            return Err(of.at_rest(Refusal::NotFinite { what: "points of joints", at }));
        }
        let rows = self.joints.iter().flat_map(|&joint| [[(joint, 1.0)]; POINTS]);
        let influences = Influences::from_rows(rows).map_err(failed)?;
        let vertices = Vertices { positions: self.positions, ..Vertices::default() };
        let mesh = Arc::new(SkinnedMesh::new(vertices, influences, vec![], vec![]).map_err(failed)?);
        let (name, joints) = ("joints".into(), self.names);
        Ok(Part { name, primitive: 0, mesh, mover, instance: None, rest: self.rest, joints })
    }
}

/// Returns a mover with a constant matrix.
fn fixed(world: &Affine) -> Result<Mover<'static>, Refusal> {
    let mut fixed = Palette::default();
    palette(&rigid(vec![0])?, std::slice::from_ref(world), NormalRule::Plain, &mut fixed)?;
    Ok(Mover::Fixed(fixed))
}

/// Returns a skin whose vertices are in the space of their joint.
fn rigid(joints: Vec<u16>) -> Result<Skin, Refusal> {
    let inverse_bind = vec![Affine::IDENTITY; joints.len()];
    Skin::new(joints, inverse_bind)
}
