//! Inertialised and mirrored poses.

use condyle::blending::{self, Additive, Inertialization};
use condyle::mirroring::Mirror;
use condyle::{Dispatch, Joint, Pose, Skeleton, Transform, mirror};
use condyle_testing::reference;

use super::{apart, quat, start_rotation, start_vector, unit, vector, worst};
use crate::climb::{Claim, Random};

/// `Inertialization`: error of rotations, and of translations and scales relative to the largest magnitude of
/// the poses and the effect of the velocity.
const INERTIA: [f64; 2] = [1e-6, 1.5e-7];
/// Error at the start of an inertialisation.
const BEGINS: [f64; 2] = [6e-7, 1.2e-7];
/// `add` of a `difference` to its reference.
const THERE: [f64; 2] = [7e-7, 3e-7];
/// `mirror` applied twice: errors of rotations, translations and scales.
const TWICE: [f64; 3] = [5e-7, 5e-7, 2e-7];
/// `mirror`: error of model matrix entries relative to the product of scales, and of translations relative to
/// the length of the chain to the joint.
const IMAGE: f64 = 1e-6;

/// Values of a joint: rotation, translation, scale.
const JOINT: usize = 10;

fn start(random: &mut Random, case: &mut [f32]) {
    let mut first = [0.0; 4];
    start_rotation(random, &mut first);
    unit(&mut first);
    for joint in case.chunks_exact_mut(JOINT) {
        if random.below(2) == 0 {
            start_rotation(random, &mut joint[..4]);
        } else {
            let size = random.magnitude(-6.0).abs();
            for c in 0..4 {
                joint[c] = (f64::from(first[c]) + size * random.signed()) as f32;
            }
        }
        start_vector(random, &mut joint[4..7]);
        joint[7..].fill_with(|| (1.0 + 0.5 * random.signed()) as f32);
    }
    case.chunks_exact_mut(JOINT).into_remainder().fill_with(|| random.unit() as f32);
}

fn repair(case: &mut [f32]) -> bool {
    let (mut joints, times) = (true, case.len() / JOINT * JOINT);
    for joint in case.chunks_exact_mut(JOINT) {
        let plain = |v: &f32| *v == 0.0 || (1e-4..=1e2).contains(&v.abs());
        joints &=
            unit(&mut joint[..4]) && joint[4..].iter().all(plain) && joint[7..].iter().all(|v| *v != 0.0);
    }
    joints && case[times..].iter().all(|v| (0.0..=1.0).contains(v))
}

fn transform(joint: &[f32]) -> Transform {
    Transform { rotation: quat(joint), translation: vector(&joint[4..]), scale: vector(&joint[7..]) }
}

fn pose(joint: &[f32]) -> Pose {
    Pose::from_transforms(&[transform(joint)])
}

fn dot(a: [f32; 4], b: [f32; 4]) -> f64 {
    (0..4).map(|c| f64::from(a[c]) * f64::from(b[c])).sum()
}

/// Whether two rotations are about half a turn apart, where rounding selects the arc.
fn undecided(a: &[f32], b: &[f32]) -> bool {
    dot(quat(a), quat(b)).abs() < 1e-3
}

fn largest(values: [f32; 3]) -> f64 {
    worst(values.map(|v| f64::from(v.abs())))
}

/// Inertialisation with the poses previous, current, target, next and shown, and the elapsed fraction of half
/// a second.
fn inertia(case: &[f32]) -> [f64; 2] {
    let parts: Vec<&[f32]> = case.chunks(JOINT).collect();
    if (0..4).any(|at| (0..at).any(|other| undecided(parts[at], parts[other]))) {
        return [0.0; 2];
    }
    let [previous, current, target, next, shown] = [0, 1, 2, 3, 4].map(|at| pose(parts[at]));
    let (dt, duration) = (0.125_f32, 0.5_f32);
    let elapsed = duration * parts[5][0];
    let mut transition = Inertialization::new(1);
    transition.start([&previous, &current], [&target, &next], dt, duration).expect("one joint");
    let mut got = shown.clone();
    transition.apply(elapsed, &mut got).expect("one joint");
    let times = [dt, duration, elapsed].map(f64::from);
    let want = &reference::inertialize([&previous, &current], [&target, &next], times, &shown)[0];
    let got = got.get(0);
    let size = |of: fn(&Transform) -> [f32; 3]| {
        let speed = f64::from(duration / dt);
        let all = [&previous, &current, &target, &next, &shown].map(|pose| largest(of(&pose.get(0))));
        all[4] + (all[0] + all[1] + all[2] + all[3]) * speed
    };
    let rest = [
        apart(got.translation, want.translation) / size(|t| t.translation),
        apart(got.scale, want.scale) / size(|t| t.scale),
    ];
    [apart(got.rotation, want.rotation) / INERTIA[0], worst(rest) / INERTIA[1]]
}

/// Start of an inertialisation.
fn begins(case: &[f32]) -> [f64; 2] {
    let parts: Vec<&[f32]> = case.chunks(JOINT).collect();
    let [previous, current, target, next] = [0, 1, 2, 3].map(|at| pose(parts[at]));
    let mut transition = Inertialization::new(1);
    transition.start([&previous, &current], [&target, &next], 0.125, 0.5).expect("one joint");
    let mut got = target.clone();
    transition.apply(0.0, &mut got).expect("one joint");
    same(&got.get(0), &current.get(0), &target.get(0), BEGINS)
}

/// The difference of the second joint from the first one, added to the first one.
fn there(case: &[f32]) -> [f64; 2] {
    let (from, to) = (pose(case), pose(&case[JOINT..]));
    let (mut difference, mut got) = (Pose::identity(1), Pose::identity(1));
    blending::difference(&to, &from, &mut difference).expect("one joint");
    blending::add(&from, &[Additive::new(&difference, 1.0)], &mut got).expect("one joint");
    same(&got.get(0), &to.get(0), &from.get(0), THERE)
}

/// Error of equal poses up to the quaternion's sign. Translations and scales are relative to the larger of
/// two values.
fn same(got: &Transform, want: &Transform, other: &Transform, bounds: [f64; 2]) -> [f64; 2] {
    let sign = dot(got.rotation, want.rotation).signum();
    let part = |got: f32, want: f32, other: f32| {
        let size = f64::from(want.abs().max(other.abs()));
        if size == 0.0 { 0.0 } else { (f64::from(got) - f64::from(want)).abs() / size }
    };
    let rest = (0..3).flat_map(|c| {
        [
            part(got.translation[c], want.translation[c], other.translation[c]),
            part(got.scale[c], want.scale[c], other.scale[c]),
        ]
    });
    [apart(got.rotation, want.rotation.map(|v| f64::from(v) * sign)) / bounds[0], worst(rest) / bounds[1]]
}

fn length(v: [f32; 3]) -> f64 {
    v.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt()
}

/// Mirrors a pose twice. The case has hips and two legs, first in the rest pose, then in the pose.
fn twice(case: &[f32]) -> [f64; 3] {
    let parts: Vec<Transform> = case.chunks(JOINT).map(transform).collect();
    let joints = [None, Some(0), Some(0)].into_iter().zip(&parts[..3]);
    let skeleton = Skeleton::new(joints.map(|(parent, t)| Joint::new("", parent, *t))).expect("a root");
    let sides = Mirror::new(&skeleton, &[(1, 2)], [1.0, 0.0, 0.0]).expect("a pair");
    let stands = Pose::from_transforms(&parts[3..]);
    let (mut once, mut again) = (Pose::identity(3), Pose::identity(3));
    mirror(&sides, &stands, &mut once).expect("three joints");
    mirror(&sides, &once, &mut again).expect("three joints");
    let each = |at: usize| {
        let (got, want, partner) = (again.get(at), stands.get(at), [0, 2, 1][at]);
        let far =
            length(want.translation) + length(parts[at].translation) + length(parts[partner].translation);
        [
            apart(got.rotation, want.rotation.map(f64::from)) / TWICE[0],
            if far == 0.0 {
                0.0
            } else {
                apart(got.translation, want.translation.map(f64::from)) / (TWICE[1] * far)
            },
            worst((0..3).map(|c| (f64::from(got.scale[c]) / f64::from(want.scale[c]) - 1.0).abs()))
                / TWICE[2],
        ]
    };
    let all = [each(0), each(1), each(2)];
    std::array::from_fn(|part| worst(all.map(|joint| joint[part])))
}

/// Mirror image of a pose. The case has hips and two legs, first in the rest pose, then in the pose, with one
/// scale each. The rest position of the second leg is the image of the first leg's, with an arbitrary
/// rotation.
fn image(case: &[f32]) -> f64 {
    let mut parts: Vec<Transform> = case.chunks(JOINT).map(transform).collect();
    for part in &mut parts {
        part.scale = [part.scale[0]; 3];
    }
    // Hips that are their own image.
    let (hips, leg) =
        (Transform { translation: [0.0, parts[0].translation[1], 0.0], ..Transform::IDENTITY }, parts[1]);
    let [x, y, z] = leg.translation;
    let rest = [
        (None, hips),
        (Some(0), leg),
        (Some(0), Transform { rotation: parts[2].rotation, translation: [-x, y, z], ..leg }),
    ];
    let skeleton = Skeleton::new(rest.map(|(parent, t)| Joint::new("", parent, t))).expect("a root");
    let sides = Mirror::new(&skeleton, &[(1, 2)], [1.0, 0.0, 0.0]).expect("a pair");
    // A leg keeps its size.
    for part in &mut parts[4..] {
        part.scale = leg.scale;
    }
    parts[3].scale = [1.0; 3];
    let stands = Pose::from_transforms(&parts[3..]);
    let mut got = Pose::identity(3);
    mirror(&sides, &stands, &mut got).expect("three joints");
    let model = |pose: &Pose| reference::local_to_model(&skeleton, &reference::locals(pose));
    let want = reference::mirror(sides.partners(), [1.0, 0.0, 0.0], &model(skeleton.rest()), &model(&stands));
    let far = 1e-30
        + length(hips.translation)
        + length(leg.translation)
        + worst(parts[3..].iter().map(|t| length(t.translation)));
    let size = f64::from(leg.scale[0].abs()).max(1.0);
    let off = |got: &reference::Matrix, want: &reference::Matrix| {
        worst((0..12).map(|at| {
            let (r, c) = (at / 4, at % 4);
            (got[r][c] - want[r][c]).abs() / if c < 3 { size } else { far }
        }))
    };
    worst(model(&got).iter().zip(&want).map(|(got, want)| off(got, want))) / IMAGE
}

pub(super) fn claims(dispatch: Dispatch) -> Vec<Claim> {
    fn part<const N: usize>(
        dispatch: Dispatch,
        what: &str,
        parts: [&str; N],
        bounds: [f64; N],
        width: usize,
        errors: fn(&[f32]) -> [f64; N],
    ) -> impl Iterator<Item = Claim> {
        let what = what.to_owned();
        (0..N).map(move |at| Claim {
            what: format!("{what}, {}", parts[at]),
            way: "",
            dispatch: Some(dispatch),
            bound: bounds[at],
            width,
            start,
            repair,
            error: Box::new(move |case| dispatch.scope(|| errors(case))[at]),
        })
    }
    let two = ["rotation", "the rest"];
    let mut claims: Vec<Claim> =
        part(dispatch, "inertialization", two, INERTIA, 5 * JOINT + 1, inertia).collect();
    claims.extend(part(dispatch, "inertialization at 0", two, BEGINS, 4 * JOINT, begins));
    claims.extend(part(dispatch, "add of a difference", two, THERE, 2 * JOINT, there));
    let three = ["rotation", "translation", "scale"];
    claims.extend(part(dispatch, "mirror twice", three, TWICE, 6 * JOINT, twice));
    claims.extend(part(dispatch, "mirror", ["model matrices"], [IMAGE], 6 * JOINT, |case| [image(case)]));
    claims
}
