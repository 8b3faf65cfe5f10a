//! How far every method is from slerp.

use condyle::interpolate::{self, Factor, Method, Selection};
use condyle::math::JointQuat;
use condyle::{Dispatch, Pose, Transform, reference};

use super::{apart, quat, start_rotation, unit};
use crate::climb::{Claim, Random};

/// Two rotations and a factor: any two, or with a difference of every magnitude, on either side.
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

/// Steps of angle for which bounds are computed.
const STEPS: usize = 32;

/// The bounds of a method by angle: what holds for pairs up to an angle apart holds for those less far apart.
pub(super) fn bounds(dispatch: Dispatch, method: Method) -> Vec<f64> {
    let angle = |step: usize| std::f32::consts::FRAC_PI_2 * step as f32 / STEPS as f32;
    dispatch.scope(|| (0..=STEPS).map(|step| method.error_bound(angle(step))).collect())
}

/// Each method, for lists and for poses, with one factor for all and with one for each joint.
pub(super) fn claims(dispatch: Dispatch, method: Method, bounds: &[f64]) -> Vec<Claim> {
    let bounds = bounds.to_vec();
    let bound = bounds[STEPS];
    let error = move |case: &[f32], got: [f32; 4]| {
        let (a, b, t) = (quat(case).map(f64::from), quat(&case[4..]).map(f64::from), f64::from(case[8]));
        let dot: f64 = (0..4).map(|c| a[c] * b[c]).sum();
        let error = if dot.abs() > 1e-6 {
            apart(got, reference::slerp(a, b, t))
        } else {
            // A right angle apart both arcs are as short: a product in f32 may tell another one than a product in f64.
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

fn of_joints(case: &[f32], t: Factor<'_>, method: Method) -> [f32; 4] {
    let joint = |rotation| [JointQuat { rotation, ..JointQuat::IDENTITY }];
    let mut out = [JointQuat::IDENTITY];
    interpolate::joints(&joint(quat(case)), &joint(quat(&case[4..])), t, Selection::All, method, &mut out)
        .expect("one joint each");
    out[0].rotation
}

fn of_poses(case: &[f32], t: Factor<'_>, method: Method) -> [f32; 4] {
    let pose = |rotation| Pose::from_transforms(&[Transform { rotation, ..Transform::IDENTITY }]);
    let mut out = Pose::identity(1);
    interpolate::poses(&pose(quat(case)), &pose(quat(&case[4..])), t, Selection::All, method, &mut out)
        .expect("one joint each");
    out.get(0).rotation
}
