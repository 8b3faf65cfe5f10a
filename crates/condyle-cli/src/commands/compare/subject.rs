//! One of the two files that are compared: its meshes and joints at rest, its clips, and what moves them at a moment.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use condyle::sample::PoseSource;
use condyle::{
    Affine, Error, Influences, NormalRule, Palette, Pose, Skeleton, Skin, SkinnedMesh, Vertices,
    local_to_model, palette,
};
use condyle_gltf::{Asset, Placement, Poser};

use crate::failure::Failure;
use crate::model::document::too_large;
use crate::model::playable::Playable;
use crate::model::{Model, distinct};
use crate::text::printable;

/// A file with what of it moves. Parts, movers and clips are counted from 0.
pub(super) struct Subject<'a> {
    /// Its name, without control characters.
    pub(super) file: String,
    pub(super) asset: &'a Asset,
    /// Its meshes; or its joints as one part, after [`Self::take_joints`].
    pub(super) parts: Vec<Part>,
    pub(super) clips: Vec<Clip>,
    playables: Vec<Playable<'a>>,
    movers: Vec<Mover<'a>>,
}

/// A primitive of an instance.
pub(super) struct Part {
    /// That of the instance.
    pub(super) name: String,
    /// Its place among the parts of its instance.
    pub(super) primitive: usize,
    pub(super) mesh: Arc<SkinnedMesh>,
    pub(super) mover: usize,
    /// What knows its morph weights.
    instance: Option<usize>,
    /// Where its vertices are in the rest pose, in world space.
    pub(super) rest: Vec<[f32; 3]>,
}

/// What moves a part.
enum Mover<'a> {
    Skin(Cow<'a, Skin>),
    /// Nothing; the matrix never changes.
    Fixed(Palette),
}

/// What is known of a clip without playing it.
pub(super) struct Clip {
    pub(super) name: String,
    /// Whether the document names it; else it is called by its number.
    pub(super) is_named: bool,
    pub(super) start: f32,
    pub(super) end: f32,
}

impl Clip {
    /// `name` tells it from others that the document gives the same.
    fn new(at: usize, clip: &Playable<'_>, name: String) -> Self {
        let is_named = clip.name() != format!("animation {at}");
        Self { name, is_named, start: clip.start(), end: clip.end() }
    }
}

/// All that moves vertices at a moment.
pub(super) struct Moment {
    /// Empty where nothing moves.
    palettes: Vec<Palette>,
    /// Morph weights of each instance.
    weights: Vec<Vec<f32>>,
}

/// The rest pose with all morph targets at work, each by its own weight: it tells vertices apart that lie in one place but
/// morph to different ones, as those of closed lips.
struct Stirred;

impl PoseSource for Stirred {
    fn start(&self) -> f32 {
        0.0
    }

    fn end(&self) -> f32 {
        0.0
    }

    fn pose(&self, skeleton: &Skeleton, _: f32, pose: &mut Pose) -> Result<(), Error> {
        pose.clone_from(skeleton.rest());
        Ok(())
    }

    fn weights(&self, _: u32, _: f32, weights: &mut [f32]) -> Result<(), Error> {
        const GOLDEN: f32 = 0.618_034;
        weights.iter_mut().enumerate().for_each(|(at, w)| *w = 0.5 + 0.5 * (at as f32 * GOLDEN).fract());
        Ok(())
    }
}

impl<'a> Subject<'a> {
    pub(super) fn new(model: &'a Model) -> Result<Self, Failure> {
        let asset = &model.asset;
        let file = printable(asset.document.name());
        let mut poser = Poser::new(asset, NormalRule::Plain.into()).map_err(|e| too_large(&file, &e))?;
        poser.rest().map_err(|e| Failure::Data(format!("{file} at rest: {e}; look at its scales")))?;
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
                    let rigid = rigid(vec![*joint], &file)?;
                    *known.entry(Err(*joint)).or_insert_with(|| add(Mover::Skin(Cow::Owned(rigid))))
                }
                Placement::Fixed(world) => {
                    let mut fixed = Palette::default();
                    let own = std::slice::from_ref(world);
                    palette(&rigid(vec![0], &file)?, own, NormalRule::Plain, &mut fixed)
                        .map_err(|e| too_large(&file, &e))?;
                    add(Mover::Fixed(fixed))
                }
            };
            for (primitive, (source, posed)) in instance.primitives.iter().zip(poser.posed(at)).enumerate() {
                parts.push(Part {
                    name: instance.name.clone(),
                    primitive,
                    mesh: Arc::clone(&source.mesh),
                    mover,
                    instance: Some(at),
                    rest: posed.positions.clone(),
                });
            }
        }
        let playables = model.clips();
        let mut names: Vec<String> = playables.iter().map(|clip| clip.name().into()).collect();
        distinct(&mut names);
        let clips = (0..).zip(&playables).zip(names).map(|((at, clip), name)| Clip::new(at, clip, name));
        let clips = clips.collect();
        Ok(Self { file, asset, parts, clips, playables, movers })
    }

    /// A clip, and the times of all its keys, rising; none if they are not `wanted`.
    pub(super) fn keyed(&self, clip: usize, wanted: bool) -> (&Clip, Vec<f32>) {
        (&self.clips[clip], if wanted { self.playables[clip].keys() } else { Vec::new() })
    }

    pub(super) fn vertex_count(&self) -> usize {
        self.parts.iter().map(|part| part.rest.len()).sum()
    }

    /// How far morph targets move each vertex of each part when all of them are at work: nothing in parts without any.
    pub(super) fn stirred(&self) -> Vec<Vec<[f32; 3]>> {
        let stirred = || -> Result<Vec<Vec<[f32; 3]>>, Error> {
            let mut poser = Poser::new(self.asset, NormalRule::Plain.into())?;
            poser.pose(Some(&Stirred), 0.0)?;
            let moved = |part: &Part| {
                let instance = part.instance.filter(|_| !part.mesh.morph_targets().is_empty())?;
                let posed = &poser.posed(instance)[part.primitive].positions;
                let by = |(p, q): (&[f32; 3], &[f32; 3])| [0, 1, 2].map(|axis| p[axis] - q[axis]);
                Some(posed.iter().zip(&part.rest).map(by).collect())
            };
            Ok(self.parts.iter().map(|part| moved(part).unwrap_or_default()).collect())
        };
        // Weights that no clip has may lead out of the range of f32: then they tell nothing.
        stirred().unwrap_or_else(|_| vec![Vec::new(); self.parts.len()])
    }

    /// The joints of the skeleton that move a part, by the number that its influences name them with. Empty where nothing
    /// moves.
    pub(super) fn joints_of(&self, part: &Part) -> &[u16] {
        match &self.movers[part.mover] {
            Mover::Skin(skin) => skin.joints(),
            Mover::Fixed(_) => &[],
        }
    }

    /// The model matrices of the rest pose.
    pub(super) fn rest_model(&self) -> Result<Vec<Affine>, Failure> {
        let skeleton = &self.asset.skeleton;
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(skeleton, skeleton.rest(), &mut model).map_err(|e| too_large(&self.file, &e))?;
        Ok(model)
    }

    /// Puts four points for each joint in place of the meshes: its origin, and one on each of its axes that is `length` away at
    /// rest, so that turns and scales count.
    pub(super) fn take_joints(&mut self, length: f64) -> Result<(), Failure> {
        let (mut positions, mut rest) = (Vec::new(), Vec::new());
        let model = self.rest_model()?;
        for matrix in &model {
            let column = |axis: usize| [0, 1, 2].map(|row| f64::from(matrix.rows[row][axis]));
            let mut point = |local: [f32; 3]| {
                positions.push(local);
                rest.push([0, 1, 2].map(|row| {
                    let [x, y, z, w] = matrix.rows[row];
                    local[0] * x + local[1] * y + local[2] * z + w
                }));
            };
            point([0.0; 3]);
            for axis in 0..3 {
                let scale = column(axis).iter().map(|x| x * x).sum::<f64>().sqrt();
                let mut local = [0.0; 3];
                // An axis that is flat at rest has no length to go by.
                local[axis] = Some((length / scale) as f32).filter(|l| l.is_finite()).unwrap_or_default();
                point(local);
            }
        }
        let failed = |e: Error| too_large(&self.file, &e);
        let joints = (0..model.len()).map(|joint| joint as u16);
        let rows = joints.clone().flat_map(|joint| [[(joint, 1.0)]; POINTS]);
        let influences = Influences::from_rows(rows).map_err(failed)?;
        let vertices = Vertices { positions, ..Vertices::default() };
        let mesh = SkinnedMesh::new(vertices, influences, vec![], vec![]).map_err(failed)?;
        if let Some(at) = rest.iter().position(|p: &[f32; 3]| !p.iter().all(|x| x.is_finite())) {
            return Err(failed(Error::NotFinite { what: "points of joints", at }));
        }
        let mover = Mover::Skin(Cow::Owned(rigid(joints.collect(), &self.file)?));
        self.movers = vec![mover];
        let (name, mesh) = ("joints".into(), Arc::new(mesh));
        self.parts = vec![Part { name, primitive: 0, mesh, mover: 0, instance: None, rest }];
        Ok(())
    }

    /// What a part's vertices are called: a vertex, or a joint.
    pub(super) fn place(&self, part: usize, vertex: usize) -> String {
        let it = &self.parts[part];
        if it.instance.is_none() {
            return printable(self.joint(vertex));
        }
        let several = self.parts.iter().any(|part| part.primitive > 0);
        let primitive = if several { format!(" primitive {}", it.primitive) } else { String::new() };
        format!("{}{primitive} vertex {vertex}", printable(&it.name))
    }

    /// The name of the joint that a point stands for.
    pub(super) fn joint(&self, point: usize) -> &str {
        &self.asset.skeleton.names()[point / POINTS]
    }

    /// What moves all parts at a moment of a clip.
    pub(super) fn moment(&self, clip: usize, seconds: f32) -> Result<Moment, Failure> {
        let (clip, skeleton) = (&self.playables[clip], &self.asset.skeleton);
        let at = || -> Result<Moment, Error> {
            let mut pose = Pose::rest(skeleton);
            clip.pose(skeleton, seconds, &mut pose)?;
            let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
            local_to_model(skeleton, &pose, &mut model)?;
            let palettes = self.movers.iter().map(|mover| {
                let mut it = Palette::default();
                if let Mover::Skin(skin) = mover {
                    palette(skin, &model, NormalRule::Plain, &mut it)?;
                }
                Ok(it)
            });
            let weights = self.asset.instances.iter().map(|instance| {
                let mut weights = instance.morph_weights.clone();
                if !weights.is_empty() {
                    clip.weights(instance.node as u32, seconds, &mut weights)?;
                }
                Ok(weights)
            });
            Ok(Moment {
                palettes: palettes.collect::<Result<_, Error>>()?,
                weights: weights.collect::<Result<_, Error>>()?,
            })
        };
        at().map_err(|e| self.unfit(seconds, &e))
    }

    pub(super) fn unfit(&self, seconds: f32, e: &Error) -> Failure {
        Failure::Data(format!("{} at {seconds} s: {e}; look at the keys and scales there", self.file))
    }

    /// About how many bytes a [`Moment`] takes.
    pub(super) fn moment_bytes(&self) -> usize {
        let palettes = self.movers.iter().map(|mover| match mover {
            Mover::Skin(skin) => size_of::<Palette>() + 64 * skin.joints().len(),
            Mover::Fixed(_) => size_of::<Palette>(),
        });
        let weights = self.asset.instances.iter().map(|i| size_of::<Vec<f32>>() + 4 * i.morph_weights.len());
        palettes.sum::<usize>() + weights.sum::<usize>()
    }

    pub(super) fn palette_of<'m>(&'m self, part: usize, moment: &'m Moment) -> &'m Palette {
        let mover = self.parts[part].mover;
        match &self.movers[mover] {
            Mover::Skin(_) => &moment.palettes[mover],
            Mover::Fixed(palette) => palette,
        }
    }

    pub(super) fn weights_of<'m>(&self, part: usize, moment: &'m Moment) -> &'m [f32] {
        self.parts[part].instance.map_or(&[], |instance| &moment.weights[instance])
    }
}

/// Points that stand for a joint.
pub(super) const POINTS: usize = 4;

/// A skin whose vertices are in the space of their joint.
fn rigid(joints: Vec<u16>, file: &str) -> Result<Skin, Failure> {
    let inverse_bind = vec![Affine::IDENTITY; joints.len()];
    Skin::new(joints, inverse_bind).map_err(|e| too_large(file, &e))
}
