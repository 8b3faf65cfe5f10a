//! The error of quantised meshes: distances between posed vertices, over all clips of a document.

use condyle::math::Transform64;
use condyle::sampling::PoseSource;
use condyle::{Affine, Error, Pose, RawClip, SkinnedMesh};

use crate::asset::{Asset, Instance, Placement};
use crate::json::Json;
use crate::problem::Problems;
use crate::rows::{Rows, multiply};
use crate::scene::{Scene, to_affine};

/// Number of parts into which the time between two keys is divided.
const BETWEEN: usize = 4;

/// Costs of posing a joint, of a matrix of a palette, and of an instance. The unit is a product of a matrix
/// and a point.
const JOINT: usize = 8;
const MATRIX: usize = 4;
const INSTANCE: usize = 64;

/// Vertices with everything that moves them, in f64.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) positions: Vec<[f64; 3]>,
    /// Joints of the skin and weights that move each vertex.
    pub(super) rows: Vec<Vec<(u16, f64)>>,
    /// The vertices that each morph target moves, with their offsets.
    pub(super) targets: Vec<Vec<(u32, [f64; 3])>>,
}

impl Shape {
    pub(super) fn of(mesh: &SkinnedMesh) -> Self {
        let row =
            |vertex| mesh.influences().row(vertex).map(|(joint, weight)| (joint, weight.into())).collect();
        let target = |target: &condyle::MorphTarget| {
            let deltas = target.deltas().filter(|(_, delta)| delta.position != [0.0; 3]);
            deltas.map(|(vertex, delta)| (vertex, delta.position.map(f64::from))).collect()
        };
        Self {
            positions: mesh.vertices().positions.iter().map(|p| p.map(f64::from)).collect(),
            rows: (0..mesh.vertex_count()).map(row).collect(),
            targets: mesh.morph_targets().iter().map(target).collect(),
        }
    }

    /// Number of products of a matrix and a point for each pose.
    pub(super) fn work(&self) -> usize {
        // The positions are posed with and without morph targets.
        let times = if self.targets.is_empty() { 1 } else { 2 };
        let row = |vertex: &u32| self.rows.get(*vertex as usize).map_or(1, |row| 1 + row.len());
        let targets = self.targets.iter().flatten().map(|(vertex, _)| row(vertex));
        times * self.rows.iter().map(Vec::len).sum::<usize>() + targets.sum::<usize>()
    }

    /// Returns the positions with the morph targets applied.
    fn morphed(&self, weights: &[f32]) -> Vec<[f64; 3]> {
        let mut out = self.positions.clone();
        for (target, &weight) in self.targets.iter().zip(weights).filter(|(_, weight)| **weight != 0.0) {
            for &(vertex, delta) in target {
                let out = &mut out[vertex as usize];
                *out = std::array::from_fn(|axis| out[axis] + f64::from(weight) * delta[axis]);
            }
        }
        out
    }

    /// Returns the posed positions. `palette` has one matrix for each joint of the skin, or a single matrix
    /// for a mesh without a skin.
    fn posed(&self, palette: &[Rows], weights: &[f32]) -> Vec<[f64; 3]> {
        let place = |(point, row): ([f64; 3], &Vec<(u16, f64)>)| {
            // Some nodes can show a skinned mesh without its skin.
            if let [only] = palette {
                return apply(only, point);
            }
            let mut out = [0.0; 3];
            for &(joint, weight) in row {
                let Some(matrix) = palette.get(usize::from(joint)) else { continue };
                let moved = apply(matrix, point);
                out = std::array::from_fn(|axis| out[axis] + weight * moved[axis]);
            }
            out
        };
        self.morphed(weights).into_iter().zip(&self.rows).map(place).collect()
    }

    /// Returns an offset of a vertex in a pose.
    fn posed_offset(&self, palette: &[Rows], vertex: usize, offset: [f64; 3]) -> [f64; 3] {
        if let [only] = palette {
            return turned(only, offset);
        }
        let mut out = [0.0; 3];
        for &(joint, weight) in self.rows.get(vertex).into_iter().flatten() {
            let Some(matrix) = palette.get(usize::from(joint)) else { continue };
            let moved = turned(matrix, offset);
            out = std::array::from_fn(|axis| out[axis] + weight * moved[axis]);
        }
        out
    }

    /// Returns the offset of a vertex in a morph target; zero if the target does not move it.
    fn offset(&self, target: usize, vertex: usize) -> [f64; 3] {
        let Some(target) = self.targets.get(target) else { return [0.0; 3] };
        let found = target.binary_search_by_key(&vertex, |(vertex, _)| *vertex as usize);
        found.map_or([0.0; 3], |at| target[at].1)
    }
}

pub(super) fn apply(matrix: &Rows, p: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3])
}

/// Applies a matrix to an offset, without the translation.
fn turned(matrix: &Rows, v: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

pub(super) fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Returns the larger number. NaN is larger than all numbers, so that no error of NaN is accepted.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// The largest distances between vertices of two shapes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Apart {
    /// Largest distance with the weights of a moment, and with any weights that are at least 0 and add up
    /// to at most 1.
    pub(super) worst: f64,
    /// Largest part of a morph target whose weight is 1.
    pub(super) target: f64,
}

impl Apart {
    pub(super) fn add(&mut self, other: Self) {
        self.worst = larger(self.worst, other.worst);
        self.target = larger(self.target, other.target);
    }
}

/// A shape with the palette of a pose.
#[derive(Clone, Copy)]
pub(super) struct PosedShape<'a> {
    pub(super) shape: &'a Shape,
    pub(super) palette: &'a [Rows],
}

/// Returns the largest distances between vertices of two shapes in one pose. `twin` is the vertex of `b` for
/// each vertex of `a`; `u32::MAX` for a vertex without one.
///
/// The distance is a convex function of the weights of morph targets. For all weights that are at least 0 and
/// add up to at most 1, it is therefore largest without targets, or with a single one at weight 1.
pub(super) fn apart(
    PosedShape { shape: a, palette: a_palette }: PosedShape<'_>,
    PosedShape { shape: b, palette: b_palette }: PosedShape<'_>,
    weights: &[f32],
    twin: Option<&[u32]>,
) -> Apart {
    let twin_of = |vertex: usize| {
        let twin = twin.map_or(Some(vertex), |twin| twin.get(vertex).map(|&at| at as usize));
        twin.filter(|&twin| twin < b.positions.len())
    };
    let differences = |weights: &[f32]| -> Vec<[f64; 3]> {
        let (a, b) = (a.posed(a_palette, weights), b.posed(b_palette, weights));
        let of = |(vertex, place): (usize, &[f64; 3])| {
            twin_of(vertex).map_or([0.0; 3], |twin| difference(*place, b[twin]))
        };
        a.iter().enumerate().map(of).collect()
    };
    let worst = |all: &[[f64; 3]]| all.iter().map(|&v| length(v)).fold(0.0, larger);
    let without_targets = differences(&[]);
    let mut found = Apart { worst: worst(&without_targets), target: 0.0 };
    if weights.iter().any(|weight| *weight != 0.0) {
        found.worst = larger(found.worst, worst(&differences(weights)));
    }
    for (target, moved) in a.targets.iter().enumerate() {
        for &(vertex, offset) in moved {
            let vertex = vertex as usize;
            let Some(twin) = twin_of(vertex) else { continue };
            let other = b.posed_offset(b_palette, twin, b.offset(target, twin));
            let own = difference(a.posed_offset(a_palette, vertex, offset), other);
            let base = without_targets[vertex];
            let whole = length(std::array::from_fn(|axis| base[axis] + own[axis]));
            found.add(Apart { worst: whole, target: length(own) });
        }
    }
    found
}

pub(super) fn difference(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| a[axis] - b[axis])
}

/// Returns the cost of posing the joints of a document.
pub(super) fn pose_work(asset: &Asset) -> usize {
    JOINT * (1 + asset.skeleton.joint_count())
}

/// Returns the cost of posing the original and the rounded vertices of a primitive once, for these instances.
pub(super) fn shape_work(asset: &Asset, instances: &[usize], shape: &Shape) -> usize {
    let instance = |&at: &usize| {
        let matrices = match asset.instances[at].placement {
            Placement::Skin(skin) => asset.skins[skin].joints().len(),
            Placement::Joint(_) | Placement::Fixed(_) => 1,
        };
        INSTANCE.saturating_add(MATRIX * matrices).saturating_add(shape.work().saturating_mul(2))
    };
    instances.iter().map(instance).fold(0, usize::saturating_add)
}

/// A pose of a document at one moment of a clip, in f64. Far from the origin, the rounding of f32
/// would be as large as the errors that are measured.
pub(super) struct Posed<'a> {
    clip: Option<&'a RawClip>,
    seconds: f64,
    model: &'a [Rows],
    fixed: &'a [Rows],
}

impl Posed<'_> {
    /// Returns the matrices that move an instance: one for each joint of its skin, or its world matrix.
    pub(super) fn palette(&self, asset: &Asset, instance: &Instance) -> Vec<Rows> {
        let rows = |matrix: &Affine| matrix.rows.map(|row| row.map(f64::from));
        match &instance.placement {
            Placement::Skin(skin) => {
                let skin = &asset.skins[*skin];
                let matrix =
                    |(&joint, bind): (&u16, &Affine)| multiply(&self.model[usize::from(joint)], &rows(bind));
                skin.joints().iter().zip(skin.inverse_bind()).map(matrix).collect()
            }
            Placement::Joint(joint) => vec![self.model[usize::from(*joint)]],
            Placement::Fixed(world) => {
                // A document that was turned has other matrices.
                let exact = self.fixed.get(instance.node);
                vec![*exact.filter(|exact| to_affine(exact) == *world).unwrap_or(&rows(world))]
            }
        }
    }

    /// Returns the morph weights of an instance.
    pub(super) fn weights(&self, instance: &Instance) -> Result<Vec<f32>, Error> {
        let mut weights = instance.morph_weights.clone();
        if let Some(clip) = self.clip.filter(|_| !weights.is_empty()) {
            clip.weights(instance.node as u32, self.seconds, &mut weights)?;
        }
        Ok(weights)
    }
}

/// Moments of all clips: the rest pose, every key, and three moments between adjacent keys.
pub(super) struct Moments(Vec<Moment>);

/// Time of a clip of the document, or the rest pose.
#[derive(Debug, Clone, Copy)]
struct Moment {
    clip: Option<usize>,
    seconds: f64,
}

impl Moments {
    pub(super) fn of(clips: &[RawClip]) -> Self {
        let mut all = vec![Moment { clip: None, seconds: 0.0 }];
        for (at, clip) in clips.iter().enumerate() {
            let mut keys: Vec<f32> = clip.timelines().iter().flatten().copied().collect();
            keys.sort_by(f32::total_cmp);
            keys.dedup();
            all.extend(keys.last().map(|&last| Moment { clip: Some(at), seconds: last.into() }));
            for pair in keys.windows(2) {
                let start = f64::from(pair[0]);
                let length = f64::from(pair[1]) - start;
                let part = |part: usize| {
                    let seconds = start + length * part as f64 / BETWEEN as f64;
                    Moment { clip: Some(at), seconds }
                };
                all.extend((0..BETWEEN).map(part));
            }
        }
        Self(all)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns at most `most` of the moments, evenly spread.
    pub(super) fn at_most(&self, most: usize) -> Self {
        let every = self.0.len().div_ceil(most.max(1)).max(1);
        Self(self.0.iter().copied().step_by(every).collect())
    }

    /// Poses a document at each moment.
    pub(super) fn visit(
        &self,
        asset: &Asset,
        mut visit: impl FnMut(&Posed<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut player = Player::new(asset, &asset.clips);
        self.0.iter().try_for_each(|&moment| visit(&player.pose(moment)?))
    }

    /// Poses two documents at each moment. Each has its own form of the clips.
    pub(super) fn visit_both(
        &self,
        [a, b]: [(&Asset, &[RawClip]); 2],
        mut visit: impl FnMut(&Posed<'_>, &Posed<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut a, mut b) = (Player::new(a.0, a.1), Player::new(b.0, b.1));
        self.0.iter().try_for_each(|&moment| visit(&a.pose(moment)?, &b.pose(moment)?))
    }
}

/// Poses one document, with buffers that are reused.
struct Player<'a> {
    asset: &'a Asset,
    clips: &'a [RawClip],
    pose: Pose,
    model: Vec<Rows>,
    /// World matrices of all nodes in the rest pose.
    fixed: Vec<Rows>,
}

impl<'a> Player<'a> {
    fn new(asset: &'a Asset, clips: &'a [RawClip]) -> Self {
        let model = vec![Transform64::IDENTITY.to_rows(); asset.skeleton.joint_count()];
        let fixed = Scene::load(&Json::root(&asset.document.json), &mut Problems::unheard()).global();
        Self { asset, clips, pose: Pose::rest(&asset.skeleton), model, fixed }
    }

    fn pose(&mut self, Moment { clip, seconds }: Moment) -> Result<Posed<'_>, Error> {
        let skeleton = &self.asset.skeleton;
        let clip = clip.and_then(|clip| self.clips.get(clip));
        match clip {
            Some(clip) => clip.pose(skeleton, seconds, &mut self.pose)?,
            None => self.pose.clone_from(skeleton.rest()),
        }
        self.asset.constrain(&mut self.pose)?;
        for (joint, local) in self.pose.transforms().enumerate() {
            let local = Transform64::from(local).to_rows();
            let parent = skeleton.parent(joint as u16).map(|parent| self.model[usize::from(parent)]);
            self.model[joint] = parent.map_or(local, |parent| multiply(&parent, &local));
        }
        Ok(Posed { clip, seconds, model: &self.model, fixed: &self.fixed })
    }
}
