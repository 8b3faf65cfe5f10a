//! Tests of dual-quaternion skinning against the formula, and of its typical uses.

use std::{vec, vec::Vec};

use super::palette_dual;
use crate::mesh::{Influences, Skin, SkinnedMesh, Vertices};
use crate::skinning::{NormalRule, Palette, bitangents, palette, skin};
use crate::testing::reference;
use crate::testing::{Random, SIZES, assert_close, assert_portable, tries};
use condyle_base::math::scalar::sin_cos_f64;
use condyle_base::math::{Affine, Transform};
use condyle_base::simd::Dispatch;

const RULES: [NormalRule; 3] =
    [NormalRule::InverseTranspose, NormalRule::Plain, NormalRule::BlendedInverseTranspose];

/// The scales of joints, in addition to rotation and translation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scales {
    /// No scales.
    Rigid,
    /// The same scale for all joints, which also mirrors.
    Common,
    /// A separate scale for one joint in four; some mirror.
    Some,
    /// A separate scale for every joint.
    All,
}

const SCALES: [Scales; 4] = [Scales::Rigid, Scales::Common, Scales::Some, Scales::All];

fn posed(influences: &Influences, palette: &Palette, bind: &Vertices) -> Vertices {
    let mut out = Vertices::zeroed_like(bind);
    skin(influences, palette, bind.as_slices(), out.as_slices_mut()).expect("sizes agree");
    out
}

/// Returns a skin with random bind positions, and a random pose.
fn random_pose(random: &mut Random, joints: usize, scales: Scales) -> (Skin, Vec<Affine>) {
    let bind = |random: &mut Random| Affine::from(Transform { scale: [1.0; 3], ..random.transform() });
    let all = (0..joints as u16).collect();
    let bound = Skin::new(all, (0..joints).map(|_| bind(random)).collect()).expect("equal lengths");
    let model = (0..joints).map(|joint| {
        let t = random.transform();
        let own = [if random.below(3) == 0 { -t.scale[0] } else { t.scale[0] }, t.scale[1], t.scale[2]];
        let scale = match scales {
            Scales::Some if joint % 4 == 1 => own,
            Scales::Rigid | Scales::Some => [1.0; 3],
            Scales::Common => [-1.7, 1.7, 1.7],
            Scales::All => own,
        };
        Affine::from(Transform { scale, ..t })
    });
    let model = model.collect();
    (bound, model)
}

fn dual_palette(bound: &Skin, model: &[Affine], rule: NormalRule) -> Palette {
    let mut out = Palette::default();
    palette_dual(bound, model, rule, &mut out).expect("sizes agree");
    out
}

#[test]
fn a_palette_of_matrices_is_the_same_after_dual_quaternions() {
    let bound = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("a valid skin");
    let twice = Affine::from(Transform { scale: [2.0; 3], ..Transform::IDENTITY });
    let mut made = Palette::default();
    palette(&bound, &[twice], NormalRule::default(), &mut made).expect("sizes agree");
    let mut reused = Palette::default();
    palette_dual(&bound, &[twice], NormalRule::default(), &mut reused).expect("sizes agree");
    assert_eq!(reused.dual_scale(), [2.0; 3]);
    palette(&bound, &[twice], NormalRule::default(), &mut reused).expect("sizes agree");
    assert_eq!(reused.dual_scale(), [1.0; 3]);
    assert_eq!(reused, made);
}

#[test]
fn every_size_and_rule_is_the_formula() {
    let scales = if cfg!(miri) { &SCALES[3..] } else { &SCALES[..] };
    let cases = SIZES.iter().flat_map(|n| RULES.map(|r| (n, r)));
    for (&vertices, rule, &scales) in cases.flat_map(|(n, r)| scales.iter().map(move |e| (n, r, e))) {
        let mut random = Random(vertices as u64);
        let mesh = random.mesh(vertices, 40);
        let (bound, model) = random_pose(&mut random, 40, scales);
        let matrices = dual_palette(&bound, &model, rule);
        assert_eq!(matrices.dual_stretches().is_empty(), matches!(scales, Scales::Rigid | Scales::Common));
        let joints = reference::dual_joints(&bound, &reference::palette_matrices(&matrices));
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| posed(mesh.influences(), &matrices, mesh.vertices()));
            for v in 0..vertices {
                let case = format_args!("{dispatch}, {rule:?}, {scales:?}, vertex {v} of {vertices}");
                assert_vertex(&got, &mesh, v, rule, &joints, case);
            }
        }
    }
}

fn assert_vertex(
    got: &Vertices,
    mesh: &SkinnedMesh,
    v: usize,
    rule: NormalRule,
    joints: &[reference::DualJoint],
    case: core::fmt::Arguments<'_>,
) {
    let row: Vec<_> = mesh.influences().row(v).collect();
    let bind = mesh.vertices();
    let [x, y, z, w] = bind.tangents[v];
    if row.is_empty() {
        assert_eq!((got.positions[v], got.normals[v]), ([0.0; 3], [0.0; 3]), "{case}");
        assert_eq!(got.tangents[v], [0.0, 0.0, 0.0, w], "{case}");
        return;
    }
    let m = reference::dual_matrix(joints, row.clone());
    let want = reference::transform_point(&m, bind.positions[v].map(f64::from));
    assert_close(&got.positions[v], &want, 3e-6, case);
    let tangent = reference::transform_vector(&m, [x, y, z].map(f64::from));
    let length = tangent.iter().map(|v| v * v).sum::<f64>().sqrt();
    assert_close(&got.tangents[v][..3], &tangent.map(|v| v / length), 2e-6 / length.min(1.0), case);
    let determinant = reference::determinant(&m);
    if determinant.abs() > 1e-4 {
        assert_eq!(got.tangents[v][3], if determinant < 0.0 { -w } else { w }, "{case}");
    }
    let (want, length) = reference::dual_normal(joints, row, rule, bind.normals[v].map(f64::from));
    let bound = if rule == NormalRule::BlendedInverseTranspose { 6e-6 } else { 3e-6 };
    if length > 1e-2 {
        assert_close(&got.normals[v], &want, bound / length.min(1.0), case);
    }
}

/// A vertex with a single influence needs no blending.
#[test]
fn one_rigid_joint_moves_as_its_matrix_does() {
    let mut random = Random(21);
    let mesh = random.mesh(tries(67), 9);
    let rows: Vec<_> = (0..mesh.vertex_count()).map(|_| [(random.below(9) as u16, 1.0)]).collect();
    let influences = Influences::from_rows(rows).expect("finite");
    for scales in [Scales::Rigid, Scales::Common, Scales::All] {
        let (bound, model) = random_pose(&mut random, 9, scales);
        for rule in RULES {
            let dual = dual_palette(&bound, &model, rule);
            let mut linear = Palette::default();
            palette(&bound, &model, rule, &mut linear).expect("sizes agree");
            assert!(linear.dual_quats().is_empty());
            for dispatch in Dispatch::all() {
                let [got, want] =
                    [&dual, &linear].map(|p| dispatch.scope(|| posed(&influences, p, mesh.vertices())));
                let [across, want_across] = [&got, &want].map(|posed| {
                    let mut out = vec![[0.0; 3]; posed.normals.len()];
                    bitangents(&posed.normals, &posed.tangents, &mut out).expect("sizes agree");
                    out
                });
                for v in 0..mesh.vertex_count() {
                    let case = format_args!("{dispatch}, {rule:?}, {scales:?}, vertex {v}");
                    let bound = if scales == Scales::Rigid { 1e-6 } else { 3e-6 };
                    assert_close(&across[v], &want_across[v].map(f64::from), 2.0 * bound, case);
                    assert_close(&got.positions[v], &want.positions[v].map(f64::from), bound, case);
                    assert_close(&got.normals[v], &want.normals[v].map(f64::from), bound, case);
                    assert_close(&got.tangents[v], &want.tangents[v].map(f64::from), bound, case);
                }
            }
        }
    }
}

/// Weights are relative to their sum. If the weights or the rotations cancel, only the heaviest influence
/// remains.
#[test]
fn weights_are_parts_of_their_sum_and_cancel_to_the_heaviest() {
    let mut random = Random(22);
    let bind = random.mesh(4, 1).vertices().clone();
    for scales in SCALES {
        let (bound, model) = random_pose(&mut random, 3, scales);
        let dual = dual_palette(&bound, &model, NormalRule::default());
        let rows = |rows: [Vec<(u16, f32)>; 4]| Influences::from_rows(rows).expect("finite");
        let got = rows([
            vec![(0, 3.0), (1, 1.0)],
            vec![(2, 1.0), (1, 0.0), (2, -1.0)],
            vec![(1, 1e-30)],
            vec![(0, 0.5), (0, -0.49999), (1, 1e-9)],
        ]);
        let want = rows([vec![(0, 0.75), (1, 0.25)], vec![(2, 1.0)], vec![(1, 1.0)], vec![(0, 1.0)]]);
        for dispatch in Dispatch::all() {
            let [got, want] = [&got, &want].map(|i| dispatch.scope(|| posed(i, &dual, &bind)));
            for v in 0..4 {
                let case = format_args!("{dispatch}, {scales:?}, vertex {v}");
                assert_close(&got.positions[v], &want.positions[v].map(f64::from), 2e-6, case);
                assert_close(&got.normals[v], &want.normals[v].map(f64::from), 2e-6, case);
                assert_close(&got.tangents[v], &want.tangents[v].map(f64::from), 2e-6, case);
            }
        }
    }
}

/// Half turns, NaN, infinities, flat and tiny joints: no result is NaN or infinite.
#[test]
fn what_has_no_answer_is_no_nan() {
    let mut random = Random(23);
    let mut model: Vec<Affine> = (0..12)
        .map(|joint| {
            let mut rotation = [0.0; 4];
            rotation[joint % 4] = if joint < 6 { 1.0 } else { -1.0 };
            Affine::from(Transform { rotation, ..random.transform() })
        })
        .collect();
    model[4].rows[0][0] = f32::NAN;
    model[5].rows[1][3] = f32::INFINITY;
    model[6] = Affine { rows: [[0.0; 4]; 3] };
    model[7] = Affine::from(Transform { scale: [1.0, 0.0, 1.0], ..Transform::IDENTITY });
    model[8] = Affine::from(Transform { scale: [1e-20; 3], ..Transform::IDENTITY });
    let bound = Skin::new((0..12).collect(), vec![Affine::IDENTITY; 12]).expect("equal lengths");
    let mesh = random.mesh(tries(255), 12);
    for rule in RULES {
        let dual = dual_palette(&bound, &model, rule);
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| posed(mesh.influences(), &dual, mesh.vertices()));
            let all = got.positions.as_flattened().iter().chain(got.normals.as_flattened());
            assert!(all.chain(got.tangents.as_flattened()).all(|v| v.is_finite()), "{dispatch} {rule:?}");
        }
    }
}

/// If most joints have one scale, only rotations are blended. Joints that are not finite do not vote.
#[test]
fn what_is_not_finite_does_not_decide_what_is_common() {
    let whole = Affine::from(Transform { scale: [2.0; 3], ..Transform::IDENTITY });
    let broken = Affine { rows: [[f32::NAN; 4]; 3] };
    let bound = Skin::new((0..5).collect(), vec![Affine::IDENTITY; 5]).expect("equal lengths");
    let palette = dual_palette(&bound, &[broken, whole, broken, whole, broken], NormalRule::default());
    assert_eq!((palette.dual.scale, palette.dual.stretches.len()), ([2.0; 3], 0));
}

/// Caps and shares per vertex, compared with linear and dual skinning alone. Neighbouring vertices do not
/// affect the result.
#[test]
fn shares_mix_what_both_ways_give() {
    let mut random = Random(24);
    let mesh = random.mesh(if cfg!(miri) { 19 } else { 403 }, 9);
    let bind = mesh.vertices();
    let shares: Vec<f32> = (0..mesh.vertex_count())
        .map(|v| match v / 40 % 3 {
            0 => 0.0,
            1 => 1.0,
            _ => [0.0, 1.0, 0.25, 0.75][random.below(4)],
        })
        .collect();
    let mixed = mesh.influences().clone().with_dual_shares(shares.clone()).expect("from 0 to 1");
    for (scales, most) in SCALES.into_iter().flat_map(|s| [8, 3, 1].map(|most| (s, most))) {
        let (bound, model) = random_pose(&mut random, 9, scales);
        let dual = dual_palette(&bound, &model, NormalRule::default());
        let mut linear = Palette::default();
        palette(&bound, &model, NormalRule::default(), &mut linear).expect("sizes agree");
        for dispatch in Dispatch::all() {
            let [all, got, none] = [(mesh.influences(), &dual), (&mixed, &dual), (&mixed, &linear)].map(
                |(influences, palette)| {
                    let mut out = Vertices::zeroed_like(bind);
                    let most = influences.at_most(most);
                    dispatch
                        .scope(|| skin(most, palette, bind.as_slices(), out.as_slices_mut()))
                        .expect("sizes agree");
                    out
                },
            );
            for (v, &share) in shares.iter().enumerate() {
                let case = format_args!("{dispatch}, {scales:?}, vertex {v}, at most {most}, share {share}");
                let end = if share == 1.0 { &all } else { &none };
                if share == 0.0 || share == 1.0 {
                    assert_eq!(got.positions[v], end.positions[v], "{case}");
                    assert_eq!(got.normals[v], end.normals[v], "{case}");
                    assert_eq!(got.tangents[v], end.tangents[v], "{case}");
                    continue;
                }
                let share = f64::from(share);
                let mix = |a: f32, b: f32| (1.0 - share) * f64::from(a) + share * f64::from(b);
                let want: [f64; 3] = core::array::from_fn(|c| mix(none.positions[v][c], all.positions[v][c]));
                assert_close(&got.positions[v], &want, 1e-6, case);
                let want: [f64; 3] = core::array::from_fn(|c| mix(none.normals[v][c], all.normals[v][c]));
                let length = want.iter().map(|v| v * v).sum::<f64>().sqrt();
                if length > 1e-3 {
                    assert_close(&got.normals[v], &want.map(|v| v / length), 1e-6 / length, case);
                }
            }
        }
    }
}

/// A cylinder of radius 1 about x from -4 to 4. One joint drives the left half and another the right half;
/// their weights blend in the middle.
fn limb() -> (Vertices, Influences) {
    let rings = (-16..=16).map(|at| f64::from(at) / 4.0);
    let points: Vec<(f64, [f64; 2])> = rings
        .flat_map(|x| {
            (0..24).map(move |k| (x, sin_cos_f64(f64::from(k) * core::f64::consts::TAU / 24.0).into()))
        })
        .collect();
    let bind = Vertices {
        positions: points.iter().map(|&(x, [s, c])| [x as f32, s as f32, c as f32]).collect(),
        normals: points.iter().map(|&(_, [s, c])| [0.0, s as f32, c as f32]).collect(),
        tangents: vec![],
    };
    let rows = points.iter().map(|&(x, _)| {
        let far = (0.5 + x / 4.0).clamp(0.0, 1.0) as f32;
        [(0, 1.0 - far), (1, far)]
    });
    (bind, Influences::from_rows(rows).expect("finite"))
}

/// Returns palettes of the limb with its second joint rotated about an axis through the origin.
fn turned_limb(degrees: f64, axis: usize) -> [Palette; 2] {
    let (sin, cos) = sin_cos_f64(degrees.to_radians() / 2.0);
    let mut rotation = [0.0, 0.0, 0.0, cos as f32];
    rotation[axis] = sin as f32;
    let bound = Skin::new(vec![0, 1], vec![Affine::IDENTITY; 2]).expect("equal lengths");
    let model = [Affine::IDENTITY, Affine::from(Transform { rotation, ..Transform::IDENTITY })];
    let mut linear = Palette::default();
    palette(&bound, &model, NormalRule::default(), &mut linear).expect("sizes agree");
    [linear, dual_palette(&bound, &model, NormalRule::default())]
}

#[test]
fn a_limb_that_twists_keeps_its_cross_section() {
    let (bind, influences) = limb();
    let least = |palette: &Palette| {
        let posed = posed(&influences, palette, &bind);
        let radii = posed.positions.iter().map(|&[_, y, z]| f64::from(y * y + z * z).sqrt());
        radii.fold((f64::MAX, 0.0_f64), |(least, most), r| (least.min(r), most.max(r)))
    };
    let [linear, dual] = turned_limb(170.0, 0);
    // The mean of two rotations that are 170° apart has the length cos(85°).
    let ((least_linear, _), (least, most)) = (least(&linear), least(&dual));
    assert!((least_linear - 0.0872).abs() < 1e-3, "{least_linear}");
    assert!(least > 0.9999 && most < 1.0001, "{least} to {most}");
}

/// Points keep their distance from the joint at a right-angle bend, so the outside bulges.
#[test]
fn a_limb_that_bends_bulges_and_a_share_takes_that_back() {
    let (bind, influences) = limb();
    let [linear, dual] = turned_limb(90.0, 2);
    // The distance from the joint to the middle of the outside, where the skin is one radius away in the bind
    // pose.
    let outer = bind.positions.iter().position(|&[x, y, z]| x == 0.0 && y < -0.999 && z.abs() < 1e-3);
    let outer = outer.expect("an outer vertex");
    let far = |influences: &Influences, palette: &Palette| {
        let [x, y, _] = posed(influences, palette, &bind).positions[outer];
        f64::from(x * x + y * y).sqrt()
    };
    let half = influences.clone().with_dual_shares(vec![0.5; bind.positions.len()]).expect("from 0 to 1");
    let got = [far(&influences, &linear), far(&half, &dual), far(&influences, &dual)];
    for (got, want) in got.into_iter().zip([core::f64::consts::FRAC_1_SQRT_2, 0.8536, 1.0]) {
        assert!((got - want).abs() < 1e-3, "{got} instead of {want}");
    }
}

#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0x1d33_2830_a36a_2bd9, |hash| {
        for (scales, rule) in SCALES.into_iter().flat_map(|s| RULES.map(|r| (s, r))) {
            let mut random = Random(25);
            let mesh = random.mesh(tries(203), 20);
            let (bound, model) = random_pose(&mut random, 20, scales);
            let dual = dual_palette(&bound, &model, rule);
            let shares = (0..mesh.vertex_count()).map(|v| (v % 5) as f32 / 4.0).collect();
            let mixed = mesh.influences().clone().with_dual_shares(shares).expect("from 0 to 1");
            for influences in [mesh.influences(), &mixed] {
                let got = posed(influences, &dual, mesh.vertices());
                hash.add(got.positions.as_flattened());
                hash.add(got.normals.as_flattened());
                hash.add(got.tangents.as_flattened());
            }
        }
    });
}
