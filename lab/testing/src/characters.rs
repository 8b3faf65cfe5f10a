//! Seeded skeletons, poses, clips and meshes.

use std::format;
use std::vec::Vec;

use condyle::clip::{Interpolation, RawClip, Target, Track};
use condyle::mesh::{Influences, MorphDeltas, MorphTarget, Skin, SkinnedMesh, Vertices};
use condyle::pose::Pose;
use condyle::skeleton::{Joint, Skeleton};
use condyle_base::math::Affine;
use condyle_base::math::vectors::normalize;

use super::ground::Random;
use super::reference::{quat_exp, quat_product};

impl Random {
    /// Returns a skeleton with chains, branches and several roots.
    pub fn skeleton(&mut self, joints: usize) -> Skeleton {
        let joint = |index: usize| Joint {
            name: format!("joint {index}"),
            parent: (!index.is_multiple_of(13)).then(|| (index - 1 - self.below(index.min(3))) as u16),
            node: Some(2 * index as u32),
            rest: self.transform(),
        };
        Skeleton::new((0..joints).map(joint)).expect("parents come first")
    }

    /// Returns a pose of random transforms.
    pub fn pose(&mut self, joints: usize) -> Pose {
        let transforms: Vec<_> = (0..joints).map(|_| self.transform()).collect();
        Pose::from_transforms(&transforms)
    }

    /// Returns a clip with tracks of all kinds on most joints, several timelines, and one set of morph
    /// weights.
    pub fn clip(&mut self, joints: usize, keys: usize) -> RawClip {
        let mut timelines = Vec::new();
        for count in [keys, 1, keys.div_ceil(2)] {
            let mut time = self.range(-0.5, 0.5);
            let step = |_| {
                time += self.range(0.01, 0.2);
                time
            };
            timelines.push((0..count).map(step).collect());
        }
        let mut tracks = Vec::new();
        let mut add = |target, width: usize, random: &mut Self| {
            let timeline = random.below(timelines.len());
            let kinds = [Interpolation::Linear, Interpolation::Step, Interpolation::CubicSpline];
            let interpolation = kinds[random.below(kinds.len())];
            let per_key = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
            let keys: &Vec<f32> = &timelines[timeline];
            let values = (0..keys.len() * per_key).flat_map(|_| match width {
                4 => random.key().to_vec(),
                width => (0..width).map(|_| random.range(-1.0, 1.0)).collect(),
            });
            let values = values.collect();
            tracks.push(Track { target, interpolation, timeline, values });
        };
        for joint in (0..joints as u16).filter(|j| j % 7 != 3) {
            add(Target::Rotation(joint), 4, self);
            if joint % 3 != 1 {
                add(Target::Translation(joint), 3, self);
            }
            if joint % 5 == 2 {
                add(Target::Scale(joint), 3, self);
            }
        }
        add(Target::Weights(9), 5, self);
        RawClip::new("random".into(), timelines, tracks).expect("a valid clip")
    }

    /// Returns a natural movement with `frames + 1` keys at 30 keys per second.
    ///
    /// Every joint swings about its rest pose. One in four also moves, one in eight is stretched, and one in
    /// sixteen spins.
    pub fn smooth_clip(&mut self, skeleton: &Skeleton, frames: usize) -> RawClip {
        let times: Vec<f32> = (0..=frames).map(|frame| frame as f32 / 30.0).collect();
        let mut tracks = Vec::new();
        for (joint, rest) in (0..).zip(skeleton.rest().transforms()) {
            let waves: [[f32; 3]; 3] =
                core::array::from_fn(|_| [self.range(0.02, 0.4), self.range(0.5, 9.0), self.range(0.0, 6.0)]);
            let wave = |c: usize, t: f32| waves[c][0] * (waves[c][1] * t + waves[c][2]).sin();
            let spin = if joint % 16 == 5 { 11.0 } else { 0.0 };
            let rotation = |t: f32| {
                let half = [wave(0, t), wave(1, t), wave(2, t) + spin * t].map(f64::from);
                let turn = quat_exp(half);
                let mut q = quat_product(rest.rotation.map(f64::from), turn);
                normalize(&mut q);
                q.map(|v| v as f32)
            };
            let moved =
                |from: [f32; 3], t: f32| -> [f32; 3] { core::array::from_fn(|c| from[c] + wave(c, t) / 2.0) };
            let mut add = |target, values| {
                tracks.push(Track { target, interpolation: Interpolation::Linear, timeline: 0, values });
            };
            add(Target::Rotation(joint), times.iter().flat_map(|&t| rotation(t)).collect());
            if joint % 4 == 0 {
                let values = times.iter().flat_map(|&t| moved(rest.translation, t)).collect();
                add(Target::Translation(joint), values);
            }
            if joint % 8 == 3 {
                add(Target::Scale(joint), times.iter().flat_map(|&t| moved(rest.scale, t)).collect());
            }
        }
        RawClip::new("smooth".into(), std::vec![times], tracks).expect("a valid clip")
    }

    /// Returns a skin of all joints, in reverse order.
    pub fn skin(&mut self, joints: usize) -> Skin {
        let order = (0..joints).map(|j| (joints - 1 - j) as u16).collect();
        Skin::new(order, (0..joints).map(|_| Affine::from(self.transform())).collect())
            .expect("equal lengths")
    }

    /// Returns zero to eight influences per vertex, whose weights sum to 1.
    pub fn influences(&mut self, vertices: usize, joints: usize) -> Influences {
        let row = |vertex: usize| {
            let mut row: Vec<(u16, f32)> =
                (0..vertex % 9).map(|_| (self.below(joints) as u16, self.range(0.1, 1.0))).collect();
            let sum: f32 = row.iter().map(|p| p.1).sum();
            row.iter_mut().for_each(|p| p.1 /= sum);
            row
        };
        Influences::from_rows((0..vertices).map(row)).expect("finite weights")
    }

    /// Returns a mesh with normals, tangents, influences and three morph targets.
    pub fn mesh(&mut self, vertices: usize, joints: usize) -> SkinnedMesh {
        let handed = |[x, y, z]: [f32; 3], w| [x, y, z, w];
        let data = Vertices {
            positions: (0..vertices).map(|_| self.vector(1.0)).collect(),
            normals: (0..vertices).map(|_| self.unit()).collect(),
            tangents: (0..vertices)
                .map(|v| handed(self.unit(), if v % 2 == 0 { 1.0 } else { -1.0 }))
                .collect(),
        };
        // One target has no normals, another no tangents.
        let morphs = (0..3).map(|k| {
            let mut deltas = |count| (0..count).map(|_| self.vector(0.2)).collect::<Vec<_>>();
            let positions = deltas(vertices);
            let normals = deltas(if k == 1 { 0 } else { vertices });
            let tangents = deltas(if k == 2 { 0 } else { vertices });
            let deltas = MorphDeltas { positions: &positions, normals: &normals, tangents: &tangents };
            MorphTarget::from_dense(vertices, deltas).expect("one each")
        });
        let morphs = morphs.collect();
        SkinnedMesh::new(data, self.influences(vertices, joints), Vec::new(), morphs).expect("a valid mesh")
    }
}
