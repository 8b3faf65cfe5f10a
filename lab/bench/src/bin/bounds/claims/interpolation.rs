//! Error of every method relative to slerp.

use condyle::interpolation::{self, Arc, Factor, InterpolateOptions, Method, Selection};
use condyle::math::JointQuat;
use condyle::{Dispatch, Pose, Transform};
use condyle_testing::reference;

use super::{apart, quat, start_rotation, unit};
use crate::climb::{Claim, Random};

/// Interpolation along the given arc: error times the length of the sum of both inputs, at most 1.
const GIVEN: f64 = 5e-7;
const GIVEN_BY_LOGARITHM: f64 = 7e-7;
/// `interpolation::vectors`: error of a component.
const VECTORS: f64 = 1e-7;

/// Two rotations and a factor. The second rotation is arbitrary or differs from the first by a random
/// magnitude, in either hemisphere.
fn start_pair(random: &mut Random, case: &mut [f32]) {
    start_rotation(random, &mut case[..4]);
    unit(&mut case[..4]);
    match random.below(3) {
        0 => start_rotation(random, &mut case[4..8]),
        _ => {
            let (side, size) = (random.signed().signum(), random.magnitude(-9.0).abs());
            for c in 0..4 {
                case[4 + c] = (side * f64::from(case[c]) + size * random.signed()) as f32;
            }
        }
    }
    case[8] = match random.below(4) {
        0 => 0.5,
        1 => random.magnitude(-8.0).abs(),
        _ => random.unit(),
    } as f32;
}

fn repair_pair(case: &mut [f32]) -> bool {
    case[8] = case[8].abs();
    unit(&mut case[..4]) && unit(&mut case[4..8]) && case[8] <= 1.0
}

/// Number of angle steps for which bounds are computed.
const STEPS: usize = 32;

/// Bounds of a method by angle. A bound for pairs up to an angle also holds for smaller angles.
pub(super) fn bounds(dispatch: Dispatch, method: Method) -> Vec<f64> {
    let angle = |step: usize| std::f32::consts::FRAC_PI_2 * step as f32 / STEPS as f32;
    dispatch.scope(|| (0..=STEPS).map(|step| method.error_bound(angle(step))).collect())
}

/// Claims for each method, for lists and poses, with one factor or one per joint.
pub(super) fn claims(dispatch: Dispatch, method: Method, bounds: &[f64]) -> Vec<Claim> {
    let bounds = bounds.to_vec();
    let bound = bounds[STEPS];
    let error = move |case: &[f32], got: [f32; 4]| {
        let (a, b, t) = (quat(case).map(f64::from), quat(&case[4..]).map(f64::from), f64::from(case[8]));
        let dot: f64 = (0..4).map(|c| a[c] * b[c]).sum();
        let error = if dot.abs() > 1e-6 {
            apart(got, reference::slerp(a, b, t))
        } else {
            // Two quaternions at a right angle have two shortest arcs. A product in f32 may select another
            // one than a product in f64.
            let along = |sign: f64| {
                let theta = (sign * dot).acos();
                let (from, to) = (((1.0 - t) * theta).sin(), (t * theta).sin() * sign);
                apart(got, std::array::from_fn(|c| (from * a[c] + to * b[c]) / theta.sin()))
            };
            along(1.0).min(along(-1.0))
        };
        let steps = dot.abs().min(1.0).acos() / std::f64::consts::FRAC_PI_2 * STEPS as f64;
        error / bounds[(steps.ceil() as usize).min(STEPS)]
    };
    let claim = |way: &'static str, run: fn(&[f32], Method) -> [f32; 4]| {
        let error = error.clone();
        Claim {
            what: method.to_string(),
            way,
            dispatch: Some(dispatch),
            bound,
            width: 9,
            start: start_pair,
            repair: repair_pair,
            error: Box::new(move |case| {
                let got = dispatch.scope(|| run(case, method));
                error(case, got)
            }),
        }
    };
    vec![
        claim("joints", |case, method| of_joints(case, case[8].into(), method)),
        claim("joints, a factor each", |case, method| of_joints(case, Factor::PerJoint(&case[8..9]), method)),
        claim("poses", |case, method| of_poses(case, case[8].into(), method)),
    ]
}

/// Exact interpolation along the given arc in f64, and the length of the sum of both inputs.
fn as_given<const N: usize>(a: [f64; N], b: [f64; N], t: f64) -> ([f64; N], f64) {
    let length = |sign: f64| (0..N).map(|c| (b[c] + sign * a[c]).powi(2)).sum::<f64>().sqrt();
    let (chord, sum) = (length(-1.0), length(1.0));
    let theta = 2.0 * chord.atan2(sum);
    let (from, to) = if theta < 1e-9 {
        (1.0 - t, t)
    } else {
        (((1.0 - t) * theta).sin() / theta.sin(), (t * theta).sin() / theta.sin())
    };
    (std::array::from_fn(|c| a[c] * from + b[c] * to), sum)
}

/// Rotates `a` towards the part of `b` perpendicular to it. Undefined for opposite inputs, where any
/// direction is valid.
fn towards(a: [f64; 4], b: [f64; 4], t: f64) -> [f64; 4] {
    let dot = |a: [f64; 4], b: [f64; 4]| (0..4).map(|c| a[c] * b[c]).sum::<f64>();
    let along = dot(a, b) / dot(a, a);
    let across: [f64; 4] = std::array::from_fn(|c| (b[c] - a[c]) - (along - 1.0) * a[c]);
    let length = dot(across, across).sqrt();
    let angle = t * length.atan2(along * dot(a, a).sqrt());
    std::array::from_fn(|c| {
        a[c] * angle.cos() + if length > 0.0 { across[c] / length * angle.sin() } else { 0.0 }
    })
}

/// Claims for `Arc::AsGiven`, and for the interpolation of vectors.
pub(super) fn given(dispatch: Dispatch) -> Vec<Claim> {
    let claim = |what: &str, bound: f64, error: fn(&[f32]) -> f64| Claim {
        what: what.into(),
        way: "",
        dispatch: Some(dispatch),
        bound,
        width: 9,
        start: start_pair,
        repair: repair_pair,
        error: Box::new(move |case| dispatch.scope(|| error(case))),
    };
    fn along(case: &[f32], method: Method, bound: f64) -> f64 {
        let how = InterpolateOptions { arc: Arc::AsGiven, ..method.into() };
        let got = interpolation::interpolate(quat(case), quat(&case[4..]), case[8], how);
        let (want, sum) =
            as_given(quat(case).map(f64::from), quat(&case[4..]).map(f64::from), case[8].into());
        // Opposite inputs have no unique arc.
        if sum < 1e-4 { 0.0 } else { apart(got, want) * sum.min(1.0) / bound }
    }
    vec![
        claim("as given, polynomials", GIVEN, |case| along(case, Method::default(), GIVEN)),
        claim("as given, exact", GIVEN, |case| along(case, Method::Exact, GIVEN)),
        claim("as given, exponential-map", GIVEN_BY_LOGARITHM, |case| {
            along(case, Method::ExponentialMap, GIVEN_BY_LOGARITHM)
        }),
        claim("interpolation::vectors", VECTORS, |case| {
            let (a, b) = (&case[..4], &case[4..8]);
            if (0..4).all(|c| (a[c] + b[c]).abs() < 1e-6) {
                return 0.0;
            }
            let mut got = [0.0; 4];
            interpolation::vectors(a, b, case[8], &mut got).expect("one dimension");
            apart(got, towards(quat(a).map(f64::from), quat(b).map(f64::from), case[8].into())) / VECTORS
        }),
    ]
}

fn of_joints(case: &[f32], t: Factor<'_>, method: Method) -> [f32; 4] {
    let joint = |rotation| [JointQuat { rotation, ..JointQuat::IDENTITY }];
    let mut out = [JointQuat::IDENTITY];
    interpolation::joints(
        Some(&joint(quat(case))),
        &joint(quat(&case[4..])),
        t,
        Selection::All,
        method,
        &mut out,
    )
    .expect("one joint each");
    out[0].rotation
}

fn of_poses(case: &[f32], t: Factor<'_>, method: Method) -> [f32; 4] {
    let pose = |rotation| Pose::from_transforms(&[Transform { rotation, ..Transform::IDENTITY }]);
    let mut out = Pose::identity(1);
    interpolation::poses(&pose(quat(case)), &pose(quat(&case[4..])), t, Selection::All, method, &mut out)
        .expect("one joint each");
    out.get(0).rotation
}
