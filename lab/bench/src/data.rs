//! Characters generated from a seed.

use std::ops::RangeInclusive;

use condyle::math::JointQuat;
use condyle::mesh::MorphDeltas;
use condyle::{
    Affine, Influences, Interpolation, Joint, MorphTarget, Pose, RawClip, Skeleton, Skin, SkinnedMesh,
    Target, Track, Transform, Vertices,
};

/// Joints as consecutive structures. The first axis determines their uniform scale.
pub(crate) fn structs(joints: &[Transform]) -> Vec<JointQuat> {
    let joint = |&Transform { rotation, translation, scale }: &Transform| JointQuat {
        rotation,
        translation,
        scale: scale[0],
    };
    joints.iter().map(joint).collect()
}

pub(crate) fn transform(joint: &JointQuat) -> Transform {
    let JointQuat { rotation, translation, scale } = *joint;
    Transform { rotation, translation, scale: [scale; 3] }
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn range(&mut self, from: f32, to: f32) -> f32 {
        from + (to - from) * ((self.bits() >> 40) as f32 / (1_u64 << 24) as f32)
    }

    fn vector(&mut self, size: f32) -> [f32; 3] {
        std::array::from_fn(|_| self.range(-size, size))
    }

    fn unit<const N: usize>(&mut self) -> [f32; N] {
        let v: [f32; N] = std::array::from_fn(|_| self.range(0.1, 1.0));
        let length = v.iter().map(|v| v * v).sum::<f32>().sqrt();
        v.map(|v| v / length)
    }

    /// Uniformly distributed rotation.
    fn rotation(&mut self) -> [f32; 4] {
        loop {
            let v: [f32; 4] = std::array::from_fn(|_| self.range(-1.0, 1.0));
            let length = v.iter().map(|v| v * v).sum::<f32>().sqrt();
            if (0.1..1.0).contains(&length) {
                return v.map(|v| v / length);
            }
        }
    }

    /// Two lists of joints with arbitrary rotations. Paired rotations are in the same hemisphere and differ,
    /// because some peers require it.
    pub(crate) fn pairs(&mut self, count: usize) -> (Vec<Transform>, Vec<Transform>) {
        let from: Vec<_> = (0..count).map(|_| self.any_transform()).collect();
        let to = self.beside(&from);
        (from, to)
    }

    /// Joints whose rotations are in the hemisphere of the given ones and differ from them.
    pub(crate) fn beside(&mut self, from: &[Transform]) -> Vec<Transform> {
        let to = from.iter().map(|from| {
            loop {
                let to = self.any_transform();
                let cos: f32 = from.rotation.iter().zip(to.rotation).map(|(a, b)| a * b).sum();
                if cos.abs() < 0.999 {
                    return Transform { rotation: to.rotation.map(|v| v * cos.signum()), ..to };
                }
            }
        });
        to.collect()
    }

    pub(crate) fn any_transforms(&mut self, count: usize) -> Vec<Transform> {
        (0..count).map(|_| self.any_transform()).collect()
    }

    /// Transform with an arbitrary rotation.
    fn any_transform(&mut self) -> Transform {
        Transform { rotation: self.rotation(), ..self.transform() }
    }

    fn transform(&mut self) -> Transform {
        Transform { rotation: self.unit(), translation: self.vector(0.3), scale: [1.0; 3] }
    }

    /// Skeleton with limbs of ten joints that branch from the first joints.
    pub(crate) fn skeleton(&mut self, joints: usize) -> Skeleton {
        let joint = |j: usize| {
            let parent = if j % 10 == 1 { j / 10 } else { j.max(1) - 1 };
            Joint {
                name: format!("joint {j}"),
                parent: (j > 0).then_some(parent as u16),
                node: Some(j as u32),
                rest: self.transform(),
            }
        };
        Skeleton::new((0..joints).map(joint)).expect("parents come first")
    }

    pub(crate) fn transforms(&mut self, joints: usize) -> Vec<Transform> {
        (0..joints).map(|_| self.transform()).collect()
    }

    pub(crate) fn pose(&mut self, joints: usize) -> Pose {
        Pose::from_transforms(&self.transforms(joints))
    }

    /// Rotations and translations of every joint, with 31 keys on one timeline.
    pub(crate) fn clip(&mut self, joints: usize) -> RawClip {
        let times: Vec<f32> = (0..31).map(|k| k as f32 / 30.0).collect();
        let mut tracks = Vec::new();
        for joint in 0..joints as u16 {
            let rotations: Vec<f32> = (0..31).flat_map(|_| self.unit::<4>()).collect();
            let translations: Vec<f32> = (0..31).flat_map(|_| self.vector(0.3)).collect();
            for (target, values) in
                [(Target::Rotation(joint), rotations), (Target::Translation(joint), translations)]
            {
                tracks.push(Track { target, interpolation: Interpolation::Linear, timeline: 0, values });
            }
        }
        RawClip::new("clip".into(), vec![times], tracks).expect("a valid clip")
    }

    /// Human-like motion: every joint swings about all of its axes around its rest pose, up to about once per
    /// second, and the first one walks. Four seconds with 30 keys per second.
    pub(crate) fn motion(&mut self, skeleton: &Skeleton) -> RawClip {
        let times: Vec<f32> = (0..121).map(|k| k as f32 / 30.0).collect();
        let mut tracks = Vec::new();
        for (joint, rest) in (0..).zip(skeleton.rest().transforms()) {
            let swings: Vec<[f32; 3]> =
                (0..6).map(|_| [self.range(0.0, 0.15), self.range(1.5, 8.0), self.range(0.0, 6.3)]).collect();
            let mut values = Vec::new();
            for t in &times {
                let swing = |axis: usize| {
                    let wave = |[size, speed, at]: [f32; 3]| size * (speed * t + at).sin();
                    wave(swings[axis]) + 0.4 * wave(swings[axis + 3])
                };
                let mut turn = [swing(0), swing(1), swing(2), 1.0];
                let length = turn.iter().map(|v| v * v).sum::<f32>().sqrt();
                turn = turn.map(|v| v / length);
                let [ax, ay, az, aw] = rest.rotation;
                let [bx, by, bz, bw] = turn;
                values.extend([
                    aw * bx + ax * bw + ay * bz - az * by,
                    aw * by - ax * bz + ay * bw + az * bx,
                    aw * bz + ax * by - ay * bx + az * bw,
                    aw * bw - ax * bx - ay * by - az * bz,
                ]);
            }
            let interpolation = Interpolation::Linear;
            tracks.push(Track { target: Target::Rotation(joint), interpolation, timeline: 0, values });
        }
        let [x, y, z] = skeleton.rest().get(0).translation;
        let walk =
            times.iter().flat_map(|t| [x + 0.05 * (3.0 * t).sin(), y + 0.03 * (6.0 * t).cos(), z + 1.2 * t]);
        tracks.push(Track {
            target: Target::Translation(0),
            interpolation: Interpolation::Linear,
            timeline: 0,
            values: walk.collect(),
        });
        RawClip::new("motion".into(), vec![times], tracks).expect("a valid clip")
    }

    pub(crate) fn skin(&mut self, joints: usize) -> Skin {
        let inverse_bind = (0..joints).map(|_| Affine::from(self.transform())).collect();
        Skin::new((0..joints as u16).collect(), inverse_bind).expect("equal lengths")
    }

    /// Rigid mesh with morph targets of positions and normals.
    pub(crate) fn morphing_mesh(&mut self, vertices: u32, targets: usize) -> SkinnedMesh {
        let rigid = self.mesh(vertices as usize, 1, 1);
        let mut deltas = || (0..vertices).map(|_| self.vector(0.1)).collect::<Vec<_>>();
        let target = |_| {
            let (positions, normals) = (&deltas()[..], &deltas()[..]);
            let deltas = MorphDeltas { positions, normals, ..MorphDeltas::default() };
            MorphTarget::from_dense(vertices as usize, deltas).expect("one each")
        };
        let targets = (0..targets).map(target).collect();
        SkinnedMesh::new(rigid.vertices().clone(), Influences::rigid(vertices), vec![], targets)
            .expect("a valid mesh")
    }

    /// Mesh with vertices stored row by row. Each morph target moves positions and normals of one round spot.
    pub(crate) fn face(&mut self, [wide, high]: [usize; 2], targets: usize, moved: usize) -> SkinnedMesh {
        let vertices = wide * high;
        let mesh = self.mesh(vertices, 60, 4);
        let target = |_| {
            let centre = [self.range(0.0, wide as f32), self.range(0.0, high as f32)];
            let distance = |v: &usize| {
                let (x, y) = ((v % wide) as f32 - centre[0], (v / wide) as f32 - centre[1]);
                x * x + y * y
            };
            let mut nearest: Vec<usize> = (0..vertices).collect();
            nearest.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
            nearest.truncate(moved);
            nearest.sort_unstable();
            let mut deltas = || nearest.iter().map(|&v| (v as u32, self.vector(0.1))).collect::<Vec<_>>();
            let (positions, normals) = (&deltas()[..], &deltas()[..]);
            let deltas = MorphDeltas { positions, normals, ..MorphDeltas::default() };
            MorphTarget::from_sparse(vertices, deltas).expect("finite")
        };
        let targets = (0..targets).map(target).collect();
        let vertices = Vertices { tangents: vec![], ..mesh.vertices().clone() };
        SkinnedMesh::new(vertices, mesh.influences().clone(), vec![], targets).expect("a valid mesh")
    }

    /// Mesh with `per_vertex` influences per vertex, of neighbouring joints, as on a real character.
    pub(crate) fn mesh(&mut self, vertices: usize, joints: usize, per_vertex: usize) -> SkinnedMesh {
        self.uneven_mesh(vertices, joints, per_vertex..=per_vertex)
    }

    /// Mesh with a random number of influences per vertex, of neighbouring joints.
    pub(crate) fn uneven_mesh(
        &mut self,
        vertices: usize,
        joints: usize,
        per_vertex: RangeInclusive<usize>,
    ) -> SkinnedMesh {
        let (least, most) = per_vertex.into_inner();
        let row = |v: usize| {
            let first = v * joints / vertices;
            let more = if least < most { self.range(0.0, (most - least + 1) as f32) as usize } else { 0 };
            let weights: Vec<f32> = (0..most.min(least + more)).map(|_| self.range(0.1, 1.0)).collect();
            let sum: f32 = weights.iter().sum();
            let row: Vec<_> =
                weights.iter().enumerate().map(|(k, w)| (((first + k) % joints) as u16, w / sum)).collect();
            row
        };
        let influences = Influences::from_rows((0..vertices).map(row)).expect("finite");
        let tangent = |[x, y, z]: [f32; 3]| [x, y, z, 1.0];
        let data = Vertices {
            positions: (0..vertices).map(|_| self.vector(1.0)).collect(),
            normals: (0..vertices).map(|_| self.unit()).collect(),
            tangents: (0..vertices).map(|_| tangent(self.unit())).collect(),
        };
        SkinnedMesh::new(data, influences, Vec::new(), Vec::new()).expect("a valid mesh")
    }
}
