//! Differences of poses, additive layers, inertial transitions and mirror images, in f64.

use std::vec::Vec;

use super::algebra::multiply;
use super::algebra::{Local, Matrix, dot, scaled, sum, unit};
use super::algebra::{quat_exp, quat_inverse, quat_log, quat_product};
use super::interpolation::nearer;
use super::stages::{inverse, locals};
use condyle::pose::Pose;

/// Returns the shorter rotation from `a` to `b`, about the axes of `a`.
fn turn(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    nearer([0.0, 0.0, 0.0, 1.0], unit(quat_product(quat_inverse(a), b)))
}

/// Returns each joint's difference between `pose` and `reference`: rotation, translation, and ratio of
/// scales. The ratio is 1 where the reference's scale is 0.
#[must_use]
pub fn difference(pose: &Pose, reference: &Pose) -> Vec<Local> {
    let pairs = locals(pose).into_iter().zip(locals(reference));
    let differ = |(pose, from): (Local, Local)| Local {
        rotation: turn(from.rotation, pose.rotation),
        translation: sum(pose.translation, scaled(from.translation, -1.0)),
        scale: std::array::from_fn(
            |c| if from.scale[c] == 0.0 { 1.0 } else { pose.scale[c] / from.scale[c] },
        ),
    };
    pairs.map(differ).collect()
}

/// Adds layers of differences, each with weights per joint, to a pose.
#[must_use]
pub fn add(base: &Pose, layers: &[(&Pose, Vec<f64>)]) -> Vec<Local> {
    let one = |(joint, base): (usize, Local)| {
        let (mut turned, mut moved, mut grown) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        for (pose, weights) in layers.iter().filter(|layer| layer.1[joint] != 0.0) {
            let (layer, weight) = (Local::from(pose.get(joint)), weights[joint]);
            let log = quat_log(nearer([0.0, 0.0, 0.0, 1.0], unit(layer.rotation)));
            turned = sum(turned, scaled(log, weight));
            moved = sum(moved, scaled(layer.translation, weight));
            grown = sum(grown, layer.scale.map(|scale| (scale - 1.0) * weight));
        }
        Local {
            rotation: unit(quat_product(base.rotation, quat_exp(turned))),
            translation: sum(base.translation, moved),
            scale: std::array::from_fn(|c| base.scale[c] * (1.0 + grown[c])),
        }
    };
    locals(base).into_iter().enumerate().map(one).collect()
}

/// Returns the coefficients of the polynomial of degree five in `t / time` for a transition.
///
/// The start value is `place`, and the initial velocity is `velocity` per second. At the end, the value and
/// its first three derivatives are 0. Solves six equations by elimination.
#[must_use]
pub fn settling(place: f64, velocity: f64, time: f64) -> [f64; 6] {
    // Equation for the derivative of order `order` at 0 or 1.
    let row = |order: i32, at: f64, value: f64| -> [f64; 7] {
        std::array::from_fn(|k| match (k, k as i32 - order) {
            (6, _) => value,
            (_, left) if left < 0 => 0.0,
            (k, left) => (left + 1..=k as i32).map(f64::from).product::<f64>() * at.powi(left),
        })
    };
    let mut rows = [
        row(0, 0.0, place),
        row(1, 0.0, velocity * time),
        row(0, 1.0, 0.0),
        row(1, 1.0, 0.0),
        row(2, 1.0, 0.0),
        row(3, 1.0, 0.0),
    ];
    for k in 0..6 {
        let greatest = (k..6).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs())).unwrap_or(k);
        rows.swap(k, greatest);
        rows[k] = scaled(rows[k], 1.0 / rows[k][k]);
        for other in (0..6).filter(|&other| other != k) {
            rows[other] = sum(rows[other], scaled(rows[k], -rows[other][k]));
        }
    }
    rows.map(|row| row[6])
}

/// Returns the remaining offset after `elapsed` seconds: [`settling`] of each component. The time is
/// shortened if the offset would otherwise overshoot 0.
#[must_use]
pub fn settled(place: [f64; 3], velocity: [f64; 3], time: f64, elapsed: f64) -> [f64; 3] {
    let away = dot(place, velocity);
    let own = if away < 0.0 { time.min(5.0 * dot(place, place) / -away) } else { time };
    if elapsed >= own {
        return [0.0; 3];
    }
    std::array::from_fn(|c| {
        let coefficients = settling(place[c], velocity[c], own);
        coefficients.iter().rev().fold(0.0, |sum, k| sum * (elapsed / own) + k)
    })
}

/// Adds the remaining offset of the transition from `before` to `after` to a pose of the target. Bollo 2018.
#[must_use]
pub fn inertialize(
    before: [&Pose; 2],
    after: [&Pose; 2],
    [dt, time, elapsed]: [f64; 3],
    pose: &Pose,
) -> Vec<Local> {
    let left = |place: [f64; 3], later: [f64; 3]| {
        settled(place, scaled(sum(later, scaled(place, -1.0)), 1.0 / dt), time, elapsed)
    };
    let one = |(joint, shown): (usize, Local)| {
        let [[previous, current], [target, next]] =
            [before, after].map(|pair| pair.map(|pose| Local::from(pose.get(joint))));
        // The extrapolated old movement minus the new one.
        let vectors = |property: fn(&Local) -> [f64; 3]| {
            let [previous, current, target, next] = [previous, current, target, next].map(|l| property(&l));
            let further = sum(scaled(current, 2.0), scaled(previous, -1.0));
            left(sum(current, scaled(target, -1.0)), sum(further, scaled(next, -1.0)))
        };
        let now = turn(target.rotation, current.rotation);
        let further = quat_product(current.rotation, turn(previous.rotation, current.rotation));
        let later = nearer(now, quat_product(quat_inverse(next.rotation), further));
        let turned = left(quat_log(now), quat_log(unit(later)));
        Local {
            rotation: unit(quat_product(shown.rotation, quat_exp(turned))),
            translation: sum(shown.translation, vectors(|l| l.translation)),
            scale: sum(shown.scale, vectors(|l| l.scale)),
        }
    };
    locals(pose).into_iter().enumerate().map(one).collect()
}

/// Returns the reflection in the plane through the origin with this normal.
#[must_use]
pub fn reflection(normal: [f64; 3]) -> Matrix {
    let n = unit(normal);
    std::array::from_fn(|r| {
        std::array::from_fn(|c| if c < 3 { f64::from(u8::from(r == c)) - 2.0 * n[r] * n[c] } else { 0.0 })
    })
}

/// Returns the model matrices of the mirror image: the partner's movement from the rest pose, reflected and
/// applied to the joint's rest matrix.
#[must_use]
pub fn mirror(partners: &[u16], normal: [f64; 3], rest: &[Matrix], model: &[Matrix]) -> Vec<Matrix> {
    let plane = reflection(normal);
    let mirrored = |(&partner, rest_own): (&u16, &Matrix)| {
        let partner = usize::from(partner);
        let moved = multiply(&model[partner], &inverse(&rest[partner]));
        multiply(&multiply(&plane, &moved), &multiply(&plane, rest_own))
    };
    partners.iter().zip(rest).map(mirrored).collect()
}
