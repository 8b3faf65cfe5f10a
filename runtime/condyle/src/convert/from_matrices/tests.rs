use super::*;
use crate::convert::to_matrices::{joints_to_matrices, pose_to_matrices};
use crate::testing::reference;
use crate::testing::{Random, SIZES, assert_portable, tries, worst};
use condyle_base::math::Transform;
use condyle_base::simd::Dispatch;
use std::{vec, vec::Vec};

fn joints_of(matrices: &[Affine]) -> Vec<JointQuat> {
    let mut out = vec![JointQuat::IDENTITY; matrices.len()];
    matrices_to_joints(matrices, &mut out).expect("sizes agree");
    out
}

fn pose_of(matrices: &[Affine]) -> Vec<Transform> {
    let mut out = Pose::identity(matrices.len());
    matrices_to_pose(matrices, &mut out).expect("sizes agree");
    out.transforms().collect()
}

/// Random quaternions, and ones close to special cases: a component is zero, or two are equal. These are
/// rotations by almost zero, a half turn, a quarter turn or a third of a turn.
fn rotation(random: &mut Random) -> [f32; 4] {
    let near: [[f64; 4]; 6] = [
        [0.0, 0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, -1.0, 0.0],
        [0.0, 1.0, 0.0, 1.0],
        [1.0, -1.0, 1.0, 1.0],
    ];
    let mut q: [f64; 4] = random.unit::<4>().map(f64::from);
    if random.below(3) > 0 {
        let (size, at) = ([0.0, 1e-7, 1e-5, 1e-3, 0.1][random.below(5)], random.below(near.len()));
        q = core::array::from_fn(|c| near[at][c] + size * q[c]);
        let (a, b) = (random.below(4), random.below(4));
        q.swap(a, b);
    }
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    q.map(|v| (v / length) as f32)
}

fn factor(random: &mut Random) -> f32 {
    [1.0, 1.0, -1.0, 0.01, 100.0, 1e-9, -1e9][random.below(7)] * random.range(0.5, 2.0)
}

/// Returns the largest difference of the components of two quaternions, up to the sign.
fn between(a: [f32; 4], b: [f32; 4]) -> f64 {
    let (a, b) = (a.map(f64::from), b.map(f64::from));
    let distance = |sign: f64| worst((0..4).map(|c| (a[c] - sign * b[c]).abs()));
    distance(1.0).min(distance(-1.0))
}

fn off_unit(q: [f32; 4]) -> f64 {
    (q.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt() - 1.0).abs()
}

fn off_scale(got: f32, want: f32) -> f64 {
    (f64::from(got) / f64::from(want) - 1.0).abs()
}

/// Returns a matrix that is computed in f64 and rounded.
fn matrix(t: Transform) -> Affine {
    Affine { rows: reference::local_matrix(&t.into()).map(|row| row.map(|v| v as f32)) }
}

/// Returns the largest errors for joints and poses: of a component, of the length and of a scale.
fn errors(count: usize, seed: u64) -> [[f64; 3]; 2] {
    let mut random = Random(seed);
    let random = &mut random;
    let transform = |scale, random: &mut Random| Transform {
        rotation: rotation(random),
        translation: random.vector(2.0),
        scale,
    };
    let even: Vec<_> = (0..count).map(|_| transform([factor(random); 3], random)).collect();
    // Mirrored only in x, so that the result is the same transform and not another one with the same matrix.
    let uneven: Vec<_> = (0..count)
        .map(|_| transform([factor(random), factor(random).abs(), factor(random).abs()], random))
        .collect();
    let matrices: Vec<_> = even.iter().map(|&t| matrix(t)).collect();
    let stretched: Vec<_> = uneven.iter().map(|&t| matrix(t)).collect();
    let mut errors = [[0.0; 3]; 2];
    let [of_joints, of_poses] = &mut errors;
    let raise = |error: &mut f64, found| *error = worst([*error, found]);
    for dispatch in Dispatch::all() {
        let (joints, pose) = dispatch.scope(|| (joints_of(&matrices), pose_of(&stretched)));
        for (got, want) in joints.iter().zip(&even) {
            raise(&mut of_joints[0], between(got.rotation, want.rotation));
            raise(&mut of_joints[1], off_unit(got.rotation));
            raise(&mut of_joints[2], off_scale(got.scale, want.scale[0]));
            assert_eq!(got.translation, want.translation, "{dispatch}");
        }
        for (got, want) in pose.iter().zip(&uneven) {
            raise(&mut of_poses[0], between(got.rotation, want.rotation));
            raise(&mut of_poses[1], off_unit(got.rotation));
            for (got, want) in got.scale.iter().zip(want.scale) {
                raise(&mut of_poses[2], off_scale(*got, want));
            }
            assert_eq!(got.translation, want.translation, "{dispatch}");
        }
    }
    errors
}

const BOUNDS: [f64; 3] = [2.6e-7, 2.3e-7, 3.9e-7];

#[track_caller]
fn assert_bounded(errors: [[f64; 3]; 2]) {
    for (which, errors) in ["joints", "pose"].iter().zip(errors) {
        assert!(errors.iter().zip(BOUNDS).all(|(error, bound)| *error <= bound), "{which}: {errors:?}");
    }
}

#[test]
fn transforms_come_back_from_every_neighbourhood() {
    assert_bounded(errors(tries(100_001), 1));
}

#[test]
#[ignore = "20 seconds with optimisation: 10^8 matrices"]
fn transforms_come_back_from_every_neighbourhood_of_many_more() {
    let rounds = 50_000_000 / 100_000 / Dispatch::all().count() + 1;
    let mut all = [[0.0_f64; 3]; 2];
    for round in 0..rounds {
        let errors = errors(100_000, 1000 + round as u64);
        for (all, error) in all.as_flattened_mut().iter_mut().zip(errors.as_flattened()) {
            *all = worst([*all, *error]);
        }
    }
    std::println!("{all:?}");
    assert_bounded(all);
}

#[test]
fn every_size_there_and_back() {
    for &count in SIZES {
        let mut random = Random(count as u64);
        let transforms: Vec<_> = (0..count).map(|_| random.transform()).collect();
        let joints: Vec<_> = (0..count)
            .map(|_| JointQuat {
                rotation: random.unit(),
                translation: random.vector(1.0),
                scale: factor(&mut random),
            })
            .collect();
        let pose = Pose::from_transforms(&transforms);
        for dispatch in Dispatch::all() {
            dispatch.scope(|| {
                let mut matrices = vec![Affine::IDENTITY; count];
                joints_to_matrices(&joints, &mut matrices).expect("sizes agree");
                for (j, (got, want)) in joints_of(&matrices).iter().zip(&joints).enumerate() {
                    let error =
                        worst([between(got.rotation, want.rotation), off_scale(got.scale, want.scale)]);
                    assert!(error < 6e-7, "{dispatch}, joint {j} of {count}: {got:?} {want:?}");
                }
                pose_to_matrices(&pose, &mut matrices).expect("sizes agree");
                for (j, (got, want)) in pose_of(&matrices).iter().zip(&transforms).enumerate() {
                    let scale = worst((0..3).map(|c| off_scale(got.scale[c], want.scale[c])));
                    let error = worst([between(got.rotation, want.rotation), scale]);
                    assert!(error < 6e-7, "{dispatch}, joint {j} of {count}: {got:?} {want:?}");
                }
            });
        }
    }
}

#[test]
fn the_identity_and_half_turns_are_exact() {
    for (diagonal, rotation, scale) in [
        ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0], 1.0),
        ([2.0, -2.0, -2.0], [1.0, 0.0, 0.0, 0.0], 2.0),
        ([-1.0, 1.0, -1.0], [0.0, 1.0, 0.0, 0.0], 1.0),
        ([-0.5, -0.5, 0.5], [0.0, 0.0, 1.0, 0.0], 0.5),
        ([-1.0, -1.0, -1.0], [0.0, 0.0, 0.0, 1.0], -1.0),
    ] {
        let mut m = Affine::IDENTITY;
        (0..3).for_each(|c| m.rows[c][c] = diagonal[c]);
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| joints_of(&[m]))[0];
            assert_eq!(
                (between(got.rotation, rotation), got.scale),
                (0.0, scale),
                "{dispatch}, {diagonal:?}"
            );
        }
    }
}

/// Matrices that a joint or any transform cannot represent, and matrices whose squares are out of range for
/// f32.
fn hard() -> Vec<Affine> {
    let turn = Random(3).unit();
    let of = |scale| Affine::from(Transform { rotation: turn, scale, ..Transform::IDENTITY });
    let mut hard: Vec<_> = [
        [0.0, 0.0, 0.0],
        [1e-30, 1e-30, 1e-30],
        [-1e30, 1e30, 1e30],
        [0.0, 1.0, 2.0],
        [1.0, 0.0, 2.0],
        [1.0, 2.0, 0.0],
        [0.0, 0.0, 3.0],
        [1.0, 2.0, 3.0],
        [1.0, 1e-20, 1.0],
    ]
    .map(of)
    .into();
    let shear = Affine { rows: [[1.0, 0.4, -0.2, 1.0], [0.0, 1.0, 0.3, 2.0], [0.0, 0.0, 1.0, 3.0]] };
    let same = Affine { rows: [[1.0, 1.0, 0.0, 0.0], [2.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };
    hard.extend([shear, shear * of([1.0, -2.0, 0.5]), same]);
    hard
}

#[test]
fn what_a_joint_cannot_hold_is_what_the_single_conversion_says() {
    let hard = hard();
    let mut random = Random(4);
    let easy: Vec<_> = (0..37).map(|_| Affine::from(random.transform())).collect();
    for dispatch in Dispatch::all() {
        for (i, m) in hard.iter().enumerate() {
            // Place the matrix in any lane, next to others.
            let mut all = easy.clone();
            all[3 * i] = *m;
            let (joints, pose) = dispatch.scope(|| (joints_of(&all), pose_of(&all)));
            assert_eq!(joints[3 * i], m.to_joint().0, "{dispatch}, {m:?}");
            // A pose can hold three scales.
            if i != 7 {
                assert_eq!(pose[3 * i], m.to_transform().0, "{dispatch}, {m:?}");
            }
            let numbers = joints[3 * i].rotation.iter().chain(&pose[3 * i].scale);
            assert!(numbers.chain(&pose[3 * i].rotation).all(|v| v.is_finite()), "{dispatch}, {m:?}");
            let alone = dispatch.scope(|| (joints_of(&easy), pose_of(&easy)));
            for j in (0..37).filter(|&j| j != 3 * i) {
                assert_eq!((joints[j], pose[j]), (alone.0[j], alone.1[j]), "{dispatch}");
            }
        }
    }
    let mut broken = Affine::IDENTITY;
    broken.rows[1][2] = f32::NAN;
    assert_eq!(joints_of(&[broken]).len(), 1);
    broken.rows[0][0] = f32::INFINITY;
    assert_eq!(pose_of(&[broken]).len(), 1);
}

/// Tests both sides of the bound at which the conversion in f64 takes over.
#[test]
fn nearly_even_matrices_are_near_their_transforms() {
    let mut random = Random(5);
    for case in 0..tries(2000) {
        let size = [1e-6, 1e-4, 1e-3, 3e-3][case % 4];
        let mut m = Affine::from(Transform { scale: [1.0; 3], ..random.transform() });
        m.rows.iter_mut().for_each(|row| row[..3].iter_mut().for_each(|v| *v += random.range(-size, size)));
        let (want_joint, want) = (m.to_joint().0, m.to_transform().0);
        for dispatch in Dispatch::all() {
            let (joint, t) = dispatch.scope(|| (joints_of(&[m])[0], pose_of(&[m])[0]));
            let bound = 2.0 * f64::from(size) + BOUNDS[0];
            assert!(between(joint.rotation, want_joint.rotation) < bound, "{dispatch}, {size}");
            assert!(between(t.rotation, want.rotation) < bound, "{dispatch}, {size}");
            assert!(off_scale(joint.scale, want_joint.scale) < bound, "{dispatch}, {size}");
            assert!(worst([joint.rotation, t.rotation].map(off_unit)) < BOUNDS[1], "{dispatch}, {size}");
        }
    }
}

/// The bits show which conversion was used: sheared columns make a difference of the order of their angle.
#[test]
fn shear_and_uneven_lengths_pass_for_rounding_up_to_where_it_is_said() {
    let mut random = Random(8);
    for case in 0..tries(3000) {
        let turn = Affine::from_quat(random.unit());
        let size = [1e-6, 1.0, 1e6][case % 3];
        let (a, b) = (case % 3, (case + 1 + case % 2) % 3);
        // A shear of column b towards column a, or another length of column a.
        let off = |lean: f32, longer: f32| {
            let mut m = Affine::IDENTITY;
            m.rows[a][b] = lean;
            m.rows[a][a] += longer;
            m.rows.iter_mut().for_each(|row| row[..3].iter_mut().for_each(|v| *v *= size));
            turn * m
        };
        let sign = if case % 2 == 0 { 1.0 } else { -1.0 };
        let (leaning, longer) = (off(sign * 2.3e-3, 0.0), off(0.0, sign * 2e-3));
        let (upright, even) = (off(sign * 1.7e-3, 0.0), off(0.0, sign * 1.5e-3));
        for dispatch in Dispatch::all() {
            dispatch.scope(|| {
                let case = format_args!("{dispatch}, case {case}");
                assert_eq!(
                    joints_of(&[leaning, longer]),
                    [leaning, longer].map(|m| m.to_joint().0),
                    "{case}"
                );
                assert_eq!(pose_of(&[leaning]), [leaning.to_transform().0], "{case}");
                let joints = joints_of(&[upright, even]);
                let leans = [joints[0].rotation, pose_of(&[upright])[0].rotation];
                let leans = leans.map(|got| between(got, upright.to_quat()));
                assert!(leans.iter().all(|lean| (1e-5..9e-4).contains(lean)), "{case}: {leans:?}");
                assert!(between(joints[1].rotation, even.to_quat()) < 9e-4, "{case}");
            });
        }
    }
}

#[test]
fn a_result_does_not_depend_on_its_lane() {
    let mut random = Random(6);
    let mut matrices: Vec<_> = (0..53).map(|_| Affine::from(random.transform())).collect();
    matrices.extend((0..30).map(|_| Affine::from(Transform { scale: [2.0; 3], ..random.transform() })));
    for dispatch in Dispatch::all() {
        dispatch.scope(|| {
            let (mut joints, mut pose) = (joints_of(&matrices), pose_of(&matrices));
            matrices.rotate_left(5);
            joints.rotate_left(5);
            pose.rotate_left(5);
            assert_eq!((joints_of(&matrices), pose_of(&matrices)), (joints, pose), "{dispatch}");
        });
    }
}

#[test]
fn wrong_sizes_are_refused() {
    let refused = matrices_to_joints(&[Affine::IDENTITY; 3], &mut [JointQuat::IDENTITY; 2]);
    assert_eq!(refused, Err(Error::Length { what: "joints", found: 2, needed: 3 }));
    let refused = matrices_to_pose(&[Affine::IDENTITY; 3], &mut Pose::identity(4));
    assert_eq!(refused, Err(Error::Length { what: "pose", found: 4, needed: 3 }));
}

#[test]
fn the_portable_mode_gives_the_same_bits_everywhere() {
    let mut random = Random(7);
    let mut matrices = hard();
    matrices.extend((0..1003).map(|_| {
        matrix(Transform {
            rotation: rotation(&mut random),
            scale: [factor(&mut random); 3],
            ..random.transform()
        })
    }));
    matrices.extend((0..203).map(|_| Affine::from(random.transform())));
    assert_portable(0x9e61_7db6_ccb0_f3a7, |hash| {
        for joint in joints_of(&matrices) {
            hash.add(joint.rotation.iter().chain(&joint.translation).chain(&[joint.scale]));
        }
        for t in pose_of(&matrices) {
            hash.add(t.rotation.iter().chain(&t.translation).chain(&t.scale));
        }
    });
}

/// All pairs of columns deviate: the sum of squares decides, and both conversions are close to the exact
/// result.
#[test]
fn leaning_pairs_add_up() {
    // Found by a search: farther from `to_joint` than any shear of a single pair of columns.
    let found = Affine {
        rows: [
            [-0.500_940_56, 0.562_061_1, -0.673_333_6, 0.0],
            [-0.448_152_04, 0.501_440_64, 0.752_082_4, 0.0],
            [0.753_813_5, 0.673_755_4, 0.000_944_538_7, 0.0],
        ],
    };
    let mut random = Random(31);
    let mut cases = vec![(found, 2e-3)];
    for _ in 0..tries(2000) {
        let root = random.range(1e-3, 3e-3);
        let leans: [f32; 3] = core::array::from_fn(|_| random.range(-1.0, 1.0));
        let length = leans.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-3);
        let [ab, ac, bc] = leans.map(|v| v / length * root);
        let mut m = Affine::from_quat(random.unit());
        for row in &mut m.rows {
            let [a, b, c, _] = *row;
            *row = [a, b + ab * a, c + ac * a + bc * b, 0.0];
        }
        cases.push((m, root));
    }
    for dispatch in Dispatch::all() {
        for (at, &(m, root)) in cases.iter().enumerate() {
            let exact = m.to_joint().0.rotation;
            let (joint, pose) = dispatch.scope(|| (joints_of(&[m])[0].rotation, pose_of(&[m])[0].rotation));
            let off = between(joint, exact).max(between(pose, exact));
            assert!(
                off <= 1.6e-3_f64.min(0.67 * f64::from(root) + 2e-4),
                "{dispatch:?}, {at}: {off} at {root}"
            );
            if root >= 2.3e-3 {
                assert_eq!((joint, pose), (exact, m.to_transform().0.rotation), "{dispatch:?}, {at}");
            }
        }
    }
}
