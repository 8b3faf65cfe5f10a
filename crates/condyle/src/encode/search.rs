//! The cheapest curves of one segment that keep every joint under its budget.
//!
//! Joints are taken parents first, and each is fitted to where it belongs *on the parent as it will be decoded*: a rotation is
//! chosen so that what hangs on the joint comes to its true place. So errors do not add up down a limb; each
//! joint makes up for those above it, and has nearly all of the budget for its own.

use alloc::vec::Vec;

use super::algebra::{Matrix, Vector, add, apply, length, subtract, turned};
use super::curve::{cheapest, constant};
use super::points::{Point, hang};
use super::task::{FINE, Found, JointFacts, KEPT, STILL, Task, keep};
use super::turn::turn;
use crate::clip::layout::Kind;
use crate::math::Transform64;
use crate::math::vectors::dot;

/// Encodes a segment.
pub(super) fn search(task: &Task<'_>) -> Found {
    let joints = task.joints;
    let moments = task.source.first().map_or(0, Vec::len);
    let model = place_all(joints, task.source);
    let (points, hung) = hang(task, &model);
    let mut decoded: Vec<Vec<Matrix>> = Vec::with_capacity(joints.len());
    let mut found = Found { straight: task.straight, ..Found::default() };
    for (index, joint) in joints.iter().enumerate() {
        let source = &task.source[index];
        let parents = joint.parent.map(|p| decoded[p].as_slice());
        let mut own = source.clone();
        translate(task, index, parents, &model[index], &mut own, &mut found);
        stretch(task, index, &points[index], &mut own, &mut found);
        turn(task, (index, hung[index]), parents, (&model[index], &points[index]), &mut own, &mut found);
        let at = |moment: usize| {
            let local = Matrix::new(&own[moment]);
            parents.map_or(local, |parents| parents[moment].multiply(&local))
        };
        let placed: Vec<Matrix> = (0..moments).map(at).collect();
        found.errors.push(error(joint, &placed, &model[index]));
        decoded.push(placed);
    }
    found
}

/// Whether nlerp between frames is as good as slerp, but for a part of the budget, for a character of this size.
pub(super) fn is_straight(
    joints: &[JointFacts],
    source: &[Vec<Transform64>],
    moments: usize,
    size: f64,
) -> bool {
    joints.iter().zip(source).all(|(joint, locals)| {
        let mut frames = locals.iter().step_by(moments);
        let Some(mut last) = frames.next() else { return true };
        frames.all(|next| {
            // Both angles are those of quaternions; a turn is twice as much.
            let angle = turned(last.rotation, next.rotation) / 2.0;
            last = next;
            0.04 * angle * angle * angle * size < 0.3 * joint.budget
        })
    })
}

/// The model matrices of all joints, per joint and moment.
pub(super) fn place_all(joints: &[JointFacts], source: &[Vec<Transform64>]) -> Vec<Vec<Matrix>> {
    let mut model: Vec<Vec<Matrix>> = Vec::with_capacity(joints.len());
    for (joint, locals) in joints.iter().zip(source) {
        let local = locals.iter().map(Matrix::new);
        let placed = match joint.parent {
            Some(parent) => model[parent].iter().zip(local).map(|(m, local)| m.multiply(&local)).collect(),
            None => local.collect(),
        };
        model.push(placed);
    }
    model
}

/// The greatest error of a joint's own points as a part of its budget.
fn error(joint: &JointFacts, decoded: &[Matrix], model: &[Matrix]) -> f64 {
    let of_moment = |(got, want): (&Matrix, &Matrix)| {
        let off = |&point: &Vector| length(subtract(got.point(point), want.point(point)));
        joint.shell.iter().map(off).fold(0.0, f64::max)
    };
    decoded.iter().zip(model).map(of_moment).fold(0.0, f64::max) / joint.budget
}

/// The translation of a joint: at rest, constant, or a curve that brings it to its place.
fn translate(
    task: &Task<'_>,
    index: usize,
    parents: Option<&[Matrix]>,
    model: &[Matrix],
    own: &mut [Transform64],
    found: &mut Found,
) {
    let joint = &task.joints[index];
    if joint.exact[1] {
        return;
    }
    let name = (Kind::Translation, index);
    let rest = joint.rest.translation;
    let middle = own[own.len() / 2].translation;
    let outer = parents.map_or(1.0, |parents| parents[own.len() / 2].reach());
    let still = joint.budget * STILL;
    let near = |to: Vector| own.iter().all(|local| length(subtract(local.translation, to)) * outer < still);
    if near(rest) {
        own.iter_mut().for_each(|local| local.translation = rest);
        return;
    }
    let fine = joint.budget * FINE / outer.max(f64::MIN_POSITIVE);
    if near(middle)
        && let Some((curve, value)) = constant(name, subtract(middle, rest), fine)
    {
        own.iter_mut().for_each(|local| local.translation = add(rest, value));
        found.curves.extend(curve);
        return;
    }
    let targets: Vec<Vector> = (0..own.len())
        .map(|moment| {
            let place = model[moment].origin;
            let place = parents.map_or(place, |parents| {
                let back = parents[moment].back(place);
                // A parent that is flat has no way back.
                if parents[moment].linear == [[0.0; 3]; 3] { own[moment].translation } else { back }
            });
            subtract(place, rest)
        })
        .collect();
    let limit = joint.budget * task.shares[index].translation * KEPT;
    let guess = limit / outer.max(f64::MIN_POSITIVE);
    let curve =
        cheapest(name, (task.shapes, &found.curves), task.most_bits, &targets, guess, |shape, keys| {
            (0..targets.len()).all(|moment| {
                let off = subtract(shape.value(keys, moment), targets[moment]);
                let off = parents.map_or(off, |parents| apply(&parents[moment].linear, off));
                dot(off, off) <= limit * limit
            })
        });
    if let Some((shape, keys)) = keep(task, name, curve, found) {
        for (moment, local) in own.iter_mut().enumerate() {
            local.translation = add(rest, shape.value(&keys, moment));
        }
    }
}

/// The scale of a joint.
fn stretch(task: &Task<'_>, index: usize, points: &[Point], own: &mut [Transform64], found: &mut Found) {
    let joint = &task.joints[index];
    if joint.exact[2] {
        return;
    }
    let name = (Kind::Scale, index);
    let rest = joint.rest.scale;
    let middle = own[own.len() / 2].scale;
    // What a change of scale by one moves the outermost point by, at most, if nothing above it is scaled much.
    let far = points.iter().map(|point| length(point.local) / point.limit).fold(0.0, f64::max);
    let off = |a: Vector, b: Vector| length(subtract(a, b)) * far;
    if own.iter().all(|local| off(local.scale, rest) < STILL / 4.0) {
        own.iter_mut().for_each(|local| local.scale = rest);
        return;
    }
    let fine = FINE / far.max(f64::MIN_POSITIVE);
    if own.iter().all(|local| off(local.scale, middle) < STILL / 4.0)
        && let Some((curve, value)) = constant(name, subtract(middle, rest), fine)
    {
        own.iter_mut().for_each(|local| local.scale = add(rest, value));
        found.curves.extend(curve);
        return;
    }
    let targets: Vec<Vector> = own.iter().map(|local| subtract(local.scale, rest)).collect();
    let limit = task.shares[index].translation * 0.5;
    let curve = cheapest(
        name,
        (task.shapes, &found.curves),
        task.most_bits,
        &targets,
        limit / far.max(f64::MIN_POSITIVE),
        |shape, keys| {
            (0..targets.len()).all(|moment| off(shape.value(keys, moment), targets[moment]) <= limit)
        },
    );
    if let Some((shape, keys)) = keep(task, name, curve, found) {
        for (moment, local) in own.iter_mut().enumerate() {
            local.scale = add(rest, shape.value(&keys, moment));
        }
    }
}
