//! The error of quantised meshes: distances between posed vertices, over all clips of a document.

use condyle::sampling::PoseSource;
use condyle::{Affine, Error, Pose, RawClip, SkinnedMesh, local_to_model};

use crate::asset::{Asset, Instance, Placement};
use crate::rows::{Rows, multiply};

/// Number of parts into which the time between two keys is divided.
const BETWEEN: usize = 4;

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
        self.rows.iter().map(Vec::len).sum::<usize>() + self.targets.iter().map(Vec::len).sum::<usize>()
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
}

pub(super) fn apply(matrix: &Rows, p: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3])
}

pub(super) fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Returns the largest distance between vertices of two shapes in one pose. `twin` is the vertex of `b` for
/// each vertex of `a`; `u32::MAX` for a vertex without one.
pub(super) fn apart(
    (a, a_palette): (&Shape, &[Rows]),
    (b, b_palette): (&Shape, &[Rows]),
    weights: &[f32],
    twin: Option<&[u32]>,
) -> f64 {
    let (a, b) = (a.posed(a_palette, weights), b.posed(b_palette, weights));
    let mut worst = 0.0_f64;
    for (at, &place) in a.iter().enumerate() {
        let other = twin.map_or(Some(at), |twin| twin.get(at).map(|&at| at as usize));
        if let Some(&other) = other.and_then(|at| b.get(at)) {
            worst = worst.max(distance(place, other));
        }
    }
    worst
}

/// A pose of a document at one moment of a clip.
pub(super) struct Posed<'a> {
    clip: Option<&'a RawClip>,
    seconds: f64,
    model: &'a [Affine],
}

impl Posed<'_> {
    /// Returns the matrices that move an instance: one for each joint of its skin, or its world matrix.
    pub(super) fn palette(&self, asset: &Asset, instance: &Instance) -> Vec<Rows> {
        let rows = |matrix: &Affine| matrix.rows.map(|row| row.map(f64::from));
        match &instance.placement {
            Placement::Skin(skin) => {
                let skin = &asset.skins[*skin];
                let matrix = |(&joint, bind): (&u16, &Affine)| {
                    multiply(&rows(&self.model[usize::from(joint)]), &rows(bind))
                };
                skin.joints().iter().zip(skin.inverse_bind()).map(matrix).collect()
            }
            Placement::Joint(joint) => vec![rows(&self.model[usize::from(*joint)])],
            Placement::Fixed(world) => vec![rows(world)],
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
pub(super) struct Moments(Vec<(Option<usize>, f64)>);

impl Moments {
    /// Returns at most `most` moments, evenly spread.
    pub(super) fn of(clips: &[RawClip], most: usize) -> Self {
        let mut all = vec![(None, 0.0)];
        for (at, clip) in clips.iter().enumerate() {
            let mut keys: Vec<f32> = clip.timelines().iter().flatten().copied().collect();
            keys.sort_by(f32::total_cmp);
            keys.dedup();
            all.extend(keys.last().map(|&last| (Some(at), f64::from(last))));
            for pair in keys.windows(2) {
                let (start, length) = (f64::from(pair[0]), f64::from(pair[1] - pair[0]));
                let part = |part: usize| (Some(at), start + length * part as f64 / BETWEEN as f64);
                all.extend((0..BETWEEN).map(part));
            }
        }
        let every = all.len().div_ceil(most.max(1));
        Self(all.into_iter().step_by(every).collect())
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
    model: Vec<Affine>,
}

impl<'a> Player<'a> {
    fn new(asset: &'a Asset, clips: &'a [RawClip]) -> Self {
        let model = vec![Affine::IDENTITY; asset.skeleton.joint_count()];
        Self { asset, clips, pose: Pose::rest(&asset.skeleton), model }
    }

    fn pose(&mut self, (clip, seconds): (Option<usize>, f64)) -> Result<Posed<'_>, Error> {
        let skeleton = &self.asset.skeleton;
        let clip = clip.and_then(|clip| self.clips.get(clip));
        match clip {
            Some(clip) => clip.pose(skeleton, seconds, &mut self.pose)?,
            None => self.pose.clone_from(skeleton.rest()),
        }
        self.asset.constrain(&mut self.pose)?;
        local_to_model(skeleton, &self.pose, &mut self.model)?;
        Ok(Posed { clip, seconds, model: &self.model })
    }
}
