//! Model matrices of joint chains, and local transforms from them.

use condyle::model;
use condyle::{Affine, Dispatch, Joint, Skeleton, Transform, local_to_model};
use condyle_testing::reference;
use reference::Matrix;

use super::{AFFINE, affine, quat, start_affine, start_rotation, start_vector, unit, vector, worst};
use crate::climb::{Claim, Random};

/// `local_to_model`: errors relative to the product of the largest scales, for one joint and per ancestor.
const PLACED: [f64; 2] = [2.4e-7, 3.5e-7];
/// `model_to_local`: error relative to the entry, and to the sum of the magnitudes of its terms.
const LOCAL: [f64; 2] = [6e-8, 1e-9];
/// `model_to_local` of the result of `local_to_model`, without scales.
const BACK: f64 = 4e-7;

/// `model_to_local` may refuse a parent whose determinant is at most this, relative to the product of its
/// column lengths.
const FLAT: f64 = 2.4e-7;

/// Values of a joint: rotation, translation, scale.
const JOINT: usize = 10;

fn start(random: &mut Random, case: &mut [f32]) {
    // Half of the chains are rigid, because long chains with scales stay far below the bound.
    let is_rigid = random.below(2) == 0;
    for joint in case.chunks_mut(JOINT) {
        start_rotation(random, &mut joint[..4]);
        start_vector(random, &mut joint[4..7]);
        let size = 10.0_f64.powf(random.signed());
        joint[7..].fill_with(|| if is_rigid { 1.0 } else { (size * (1.0 + random.magnitude(-4.0))) as f32 });
    }
}

fn repair(case: &mut [f32]) -> bool {
    case.chunks_mut(JOINT).all(|joint| {
        let place = |v: &f32| *v == 0.0 || (1e-3..=1e3).contains(&v.abs());
        let scale = |v: &f32| (1e-2..=1e2).contains(&v.abs());
        unit(&mut joint[..4]) && joint[4..7].iter().all(place) && joint[7..].iter().all(scale)
    })
}

fn repair_rigid(case: &mut [f32]) -> bool {
    case.chunks_mut(JOINT).for_each(|joint| joint[7..].fill(1.0));
    repair(case)
}

/// Chain in which each joint is the parent of the next one.
fn chain(case: &[f32]) -> Skeleton {
    let joints = (0_u16..).zip(case.chunks(JOINT)).map(|(at, joint)| {
        let transform =
            Transform { rotation: quat(joint), translation: vector(&joint[4..]), scale: vector(&joint[7..]) };
        Joint::new("", at.checked_sub(1), transform)
    });
    Skeleton::new(joints).expect("a chain")
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Maximum axis length and distance of the last joint's matrix over all rotations of the joints.
fn reach(case: &[f32]) -> [f64; 2] {
    let (mut size, mut far) = (1.0, 0.0);
    for joint in case.chunks(JOINT) {
        far += size * length(vector(&joint[4..]).map(f64::from));
        size *= joint[7..].iter().fold(0.0, |a: f64, v| a.max(f64::from(v.abs())));
    }
    [size, far]
}

/// Largest error of the upper 3x3 part and of the translation, each relative to its size.
fn entries(got: &Affine, want: &Matrix, [size, far]: [f64; 2]) -> f64 {
    let off = |r: usize, c: usize| (f64::from(got.rows[r][c]) - want[r][c]).abs();
    worst((0..12).map(|at| off(at / 4, at % 4) / if at % 4 < 3 { size } else { far.max(1e-30) }))
}

/// A method that computes the model matrices of the rest pose.
type Place = fn(&Skeleton, &mut [Affine]);

fn placed(case: &[f32], bound: f64, place: Place) -> f64 {
    let skeleton = chain(case);
    let mut got = vec![Affine::IDENTITY; skeleton.joint_count()];
    place(&skeleton, &mut got);
    let want = reference::local_to_model(&skeleton, &reference::locals(skeleton.rest()));
    let last = got.len() - 1;
    entries(&got[last], &want[last], reach(case)) / bound
}

/// Error of `model_to_local` for arbitrary model matrices, which may have shear and mirroring.
fn local(case: &[f32]) -> f64 {
    let skeleton = chain(&[[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]; 2].concat());
    let model = [affine(case), affine(&case[AFFINE..])];
    let mut got = [Affine::IDENTITY; 2];
    let [parent, own] = model.map(|m| reference::matrix(&m));
    if model::model_to_local(&skeleton, &model, &mut got).is_err() {
        // Only singular parents may be refused.
        let lengths: f64 = (0..3).map(|c| length([0, 1, 2].map(|r| parent[r][c]))).product();
        let is_flat = reference::determinant(&parent).abs() <= FLAT * lengths;
        return if is_flat { 0.0 } else { f64::NAN };
    }
    let want = reference::multiply(&reference::inverse(&parent), &own);
    let magnitudes = |m: &Matrix| m.map(|row| row.map(f64::abs));
    // Magnitudes of the cofactors, divided by the determinant.
    let products = |r: usize, c: usize| {
        let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
        (parent[r1][c1] * parent[r2][c2]).abs() + (parent[r1][c2] * parent[r2][c1]).abs()
    };
    let determinant = reference::determinant(&parent).abs();
    let inverse: Matrix = std::array::from_fn(|r| {
        let row: [f64; 3] = std::array::from_fn(|c| products(c, r) / determinant);
        let back = (0..3).map(|c| row[c] * parent[c][3].abs()).sum();
        [row[0], row[1], row[2], back]
    });
    let whole = reference::multiply(&inverse, &magnitudes(&own));
    worst((0..12).map(|at| {
        let (r, c) = (at / 4, at % 4);
        let bound = LOCAL[0] * want[r][c].abs() + LOCAL[1] * whole[r][c];
        if bound == 0.0 { 0.0 } else { (f64::from(got[1].rows[r][c]) - want[r][c]).abs() / bound }
    }))
}

/// Error of a conversion to model space and back.
fn back(case: &[f32]) -> f64 {
    let skeleton = chain(case);
    let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
    local_to_model(&skeleton, skeleton.rest(), &mut model).expect("a matrix each");
    let mut got = model.clone();
    if model::model_to_local(&skeleton, &model, &mut got).is_err() {
        return f64::NAN;
    }
    let last = got.len() - 1;
    let want = reference::local_matrix(&reference::locals(skeleton.rest())[last]);
    let [_, far] = reach(case);
    entries(&got[last], &want, [1.0, far]) / BACK
}

pub(super) fn claims(dispatch: Dispatch) -> Vec<Claim> {
    let claim = |what: String, way, bound: f64, width: usize| Claim {
        what,
        way,
        dispatch: Some(dispatch),
        bound,
        width,
        start,
        repair,
        error: Box::new(|_| 0.0),
    };
    let ways: [(&str, Place); 2] = [
        ("one character", |skeleton, out| {
            local_to_model(skeleton, skeleton.rest(), out).expect("a matrix each");
        }),
        ("subtree", |skeleton, out| {
            model::subtree(skeleton, skeleton.rest(), 0, out).expect("a matrix each");
        }),
    ];
    let mut claims = Vec::new();
    for count in [1, 2, 4, 13] {
        let bound = PLACED[0] + PLACED[1] * (count - 1) as f64;
        for (way, place) in ways {
            claims.push(Claim {
                error: Box::new(move |case| dispatch.scope(|| placed(case, bound, place))),
                ..claim(format!("local_to_model, chain of {count}"), way, bound, count * JOINT)
            });
        }
        claims.push(Claim {
            repair: repair_rigid,
            error: Box::new(move |case| dispatch.scope(|| back(case))),
            ..claim(format!("model_to_local after local_to_model, chain of {count}"), "", BACK, count * JOINT)
        });
    }
    claims.push(Claim {
        start: |random: &mut Random, case: &mut [f32]| {
            case.chunks_mut(AFFINE).for_each(|m| start_affine(random, m));
        },
        repair: |case| case.iter().all(|v| *v == 0.0 || (1e-6..=1e6).contains(&v.abs())),
        error: Box::new(move |case| dispatch.scope(|| local(case))),
        ..claim("model_to_local".into(), "", LOCAL[0], 2 * AFFINE)
    });
    claims
}
