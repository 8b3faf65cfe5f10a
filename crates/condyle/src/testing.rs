//! Seeded data for the tests of all stages, the same on every platform, and the tests that span stages.

use std::format;
use std::vec::Vec;

use crate::clip::{Interpolation, RawClip, Target, Track};
pub(crate) use crate::math::scalar::worst;
use crate::math::vectors::normalize;
use crate::math::{Affine, Transform};
use crate::mesh::{Influences, MorphDeltas, MorphTarget, Skin, SkinnedMesh, Vertices};
use crate::pose::Pose;
use crate::simd::{Dispatch, Numeric};
use crate::skeleton::{Joint, Skeleton};

/// SplitMix64: a few exact integer operations, so that every platform sees the same data.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    /// In `[from, to)`.
    pub(crate) fn range(&mut self, from: f32, to: f32) -> f32 {
        let unit = (self.bits() >> 40) as f32 / (1_u64 << 24) as f32;
        from + (to - from) * unit
    }

    pub(crate) fn vector<const N: usize>(&mut self, size: f32) -> [f32; N] {
        core::array::from_fn(|_| self.range(-size, size))
    }

    pub(crate) fn unit<const N: usize>(&mut self) -> [f32; N] {
        loop {
            let v = self.vector::<N>(1.0).map(f64::from);
            let length2: f64 = v.iter().map(|v| v * v).sum();
            if (0.01..1.0).contains(&length2) {
                return v.map(|v| (v / length2.sqrt()) as f32);
            }
        }
    }

    /// A unit quaternion, one in eight as integers or short decimals make it.
    fn key(&mut self) -> [f32; 4] {
        let q = self.unit::<4>();
        if self.below(8) == 0 { q.map(|v| (v * 1000.0) as i32 as f32 / 1000.0) } else { q }
    }

    pub(crate) fn transform(&mut self) -> Transform {
        Transform {
            rotation: self.unit(),
            translation: self.vector(0.5),
            scale: core::array::from_fn(|_| self.range(0.7, 1.4)),
        }
    }

    /// Chains, branches and several roots.
    pub(crate) fn skeleton(&mut self, joints: usize) -> Skeleton {
        let joint = |index: usize| Joint {
            name: format!("joint {index}"),
            parent: (!index.is_multiple_of(13)).then(|| (index - 1 - self.below(index.min(3))) as u16),
            node: Some(2 * index as u32),
            rest: self.transform(),
        };
        Skeleton::new((0..joints).map(joint)).expect("parents come first")
    }

    pub(crate) fn pose(&mut self, joints: usize) -> Pose {
        let transforms: Vec<_> = (0..joints).map(|_| self.transform()).collect();
        Pose::from_transforms(&transforms)
    }

    /// Tracks of all kinds on most joints, some with timelines of their own, and one set of morph weights.
    pub(crate) fn clip(&mut self, joints: usize, keys: usize) -> RawClip {
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

    /// A movement as people make them, at 30 keys a second: every joint swings about its rest pose, one in four also moves, one in eight
    /// is stretched, and one turns round and round. `frames` is how many keys follow the first ones.
    pub(crate) fn smooth_clip(&mut self, skeleton: &Skeleton, frames: usize) -> RawClip {
        let times: Vec<f32> = (0..=frames).map(|frame| frame as f32 / 30.0).collect();
        let mut tracks = Vec::new();
        for (joint, rest) in (0..).zip(skeleton.rest().transforms()) {
            let waves: [[f32; 3]; 3] =
                core::array::from_fn(|_| [self.range(0.02, 0.4), self.range(0.5, 9.0), self.range(0.0, 6.0)]);
            let wave = |c: usize, t: f32| waves[c][0] * (waves[c][1] * t + waves[c][2]).sin();
            let spin = if joint % 16 == 5 { 11.0 } else { 0.0 };
            let rotation = |t: f32| {
                let half = [wave(0, t), wave(1, t), wave(2, t) + spin * t].map(f64::from);
                let turn = crate::reference::quat_exp(half);
                let mut q = crate::reference::quat_product(rest.rotation.map(f64::from), turn);
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

    pub(crate) fn skin(&mut self, joints: usize) -> Skin {
        let order = (0..joints).map(|j| (joints - 1 - j) as u16).collect();
        Skin::new(order, (0..joints).map(|_| Affine::from(self.transform())).collect())
            .expect("equal lengths")
    }

    /// Zero to eight influences a vertex, their weights summing to one.
    pub(crate) fn influences(&mut self, vertices: usize, joints: usize) -> Influences {
        let row = |vertex: usize| {
            let mut row: Vec<(u16, f32)> =
                (0..vertex % 9).map(|_| (self.below(joints) as u16, self.range(0.1, 1.0))).collect();
            let sum: f32 = row.iter().map(|p| p.1).sum();
            row.iter_mut().for_each(|p| p.1 /= sum);
            row
        };
        Influences::from_rows((0..vertices).map(row)).expect("finite weights")
    }

    pub(crate) fn mesh(&mut self, vertices: usize, joints: usize) -> SkinnedMesh {
        let handed = |[x, y, z]: [f32; 3], w| [x, y, z, w];
        let data = Vertices {
            positions: (0..vertices).map(|_| self.vector(1.0)).collect(),
            normals: (0..vertices).map(|_| self.unit()).collect(),
            tangents: (0..vertices)
                .map(|v| handed(self.unit(), if v % 2 == 0 { 1.0 } else { -1.0 }))
                .collect(),
        };
        // One does not move normals, one no tangents.
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

/// How often to try: a handful of times under Miri, which is slow.
pub(crate) const fn tries(normally: usize) -> usize {
    if cfg!(miri) && normally > 8 { 8 } else { normally }
}

/// How many random cases a test goes through: normally so many, at most a thousand where tests are likely to run in an emulator, and
/// where `CONDYLE_CASES` in the environment asks for a number, that. See CONTRIBUTING.md, "Many cases".
pub(crate) fn cases(normally: usize) -> usize {
    let most = if cfg!(target_arch = "x86_64") { usize::MAX } else { 1000 };
    let asked = std::env::var("CONDYLE_CASES").ok();
    tries(asked.map_or(normally.min(most), |asked| asked.parse().expect("CONDYLE_CASES is a number")))
}

/// Joint and vertex counts around every boundary of lanes and blocks; one of them for Miri, which is slow.
pub(crate) const SIZES: &[usize] =
    if cfg!(miri) { &[17] } else { &[0, 1, 3, 4, 5, 15, 16, 17, 31, 33, 67, 255] };

/// Fails with the case's name where two values differ by more than `bound`.
#[track_caller]
pub(crate) fn assert_close(got: &[f32], want: &[f64], bound: f64, case: impl core::fmt::Display) {
    assert_eq!(got.len(), want.len(), "{case}");
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        let error = (f64::from(*got) - want).abs();
        assert!(error <= bound, "{case}, element {at}: {got} instead of {want}, off by {error:e}");
    }
}

/// FNV-1a over the bits of numbers.
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) fn add<'a>(&mut self, values: impl IntoIterator<Item = &'a f32>) {
        for byte in values.into_iter().flat_map(|v| v.to_bits().to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}

/// Fails unless `run` gives the hash `expected` in the portable mode of every instruction set. The same constant holds
/// on every platform. A change of a stage's arithmetic changes it: then write down the new one, and say so in the
/// change log.
#[track_caller]
pub(crate) fn assert_portable(expected: u64, run: impl Fn(&mut Hash)) {
    for dispatch in Dispatch::all().filter(|d| d.numeric() == Numeric::Portable) {
        let mut hash = Hash(0xCBF2_9CE4_8422_2325);
        dispatch.scope(|| run(&mut hash));
        // Under Miri the runs are shorter.
        assert!(cfg!(miri) || hash.0 == expected, "{dispatch}: {:#018x}", hash.0);
    }
}

mod portable_bits {
    use super::*;
    use crate::model::local_to_model;
    use crate::sample::{self, RawCursor};
    use crate::skin::{NormalRule, Palette, morph, palette, skin};

    /// The whole path on seeded characters of every size.
    fn run(hash: &mut Hash) {
        for &joints in SIZES.iter().filter(|&&n| n > 0) {
            let mut random = Random(joints as u64);
            let skeleton = random.skeleton(joints);
            let clip = random.clip(joints, 20);
            let bound = random.skin(joints);
            let mesh = random.mesh(3 * joints + 1, joints);
            let (mut pose, mut cursor) = (Pose::identity(joints), RawCursor::default());
            let mut model = std::vec![Affine::IDENTITY; joints];
            let (mut matrices, mut weights) = (Palette::default(), [0.0; 5]);
            let mut morphed = Vertices::zeroed_like(mesh.vertices());
            let mut posed = morphed.clone();
            let frames = tries(40);
            for frame in 0..frames {
                let seconds = frame as f32 * 0.11 - 1.0;
                sample::raw(&clip, &skeleton, seconds.into(), &mut cursor, &mut pose).expect("sizes agree");
                for t in pose.transforms() {
                    hash.add(t.rotation.iter().chain(&t.translation).chain(&t.scale));
                }
                sample::raw_track(
                    &clip,
                    crate::clip::Target::Weights(9),
                    seconds.into(),
                    &mut cursor,
                    &mut weights,
                )
                .expect("sizes agree");
                hash.add(&weights);
                local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
                model.iter().for_each(|m| hash.add(m.rows.as_flattened()));
                morph(&mesh, &weights[..3], morphed.as_slices_mut()).expect("sizes agree");
                for rule in
                    [NormalRule::InverseTranspose, NormalRule::Plain, NormalRule::BlendedInverseTranspose]
                {
                    palette(&bound, &model, rule, &mut matrices).expect("sizes agree");
                    skin(mesh.influences(), &matrices, morphed.as_slices(), posed.as_slices_mut())
                        .expect("sizes agree");
                    hash.add(posed.positions.as_flattened());
                    hash.add(posed.normals.as_flattened());
                    hash.add(posed.tangents.as_flattened());
                }
            }
        }
    }

    #[test]
    fn the_portable_mode_gives_the_same_bits_on_every_instruction_set_and_platform() {
        assert_portable(0xcea1_f99c_6af0_03ce, run);
    }
}
