//! Finds the smallest curves of one segment that keep every joint within its budget.
//!
//! Parents come first, and each joint is fitted *relative to its decoded parent*. Its rotation is chosen so
//! that the points it carries are at their authored positions in model space. Errors therefore do not
//! accumulate along a limb. Each joint corrects the errors of its ancestors and can use almost the whole
//! budget for its own.

use alloc::vec;
use alloc::vec::Vec;

use super::algebra::{Affine64, Vector, add, apply, length, sub, turned};
use super::curve::TrackId;
use super::curve::{Candidates, cheapest, constant};
use super::points::{Point, points_to_place};
use super::task::{
    CONSTANT_STEP, JointFacts, STATIC_THRESHOLD, SegmentFit, SegmentJob, USABLE_FRACTION, keep,
};
use super::turn::{RotatingJoint, fit_rotation};
use condyle::clip::layout::Kind;
use condyle_base::math::Transform64;
use condyle_base::math::vectors::dot;

/// Fits all joints of a segment. `model` holds the authored model matrices.
pub(super) fn search(job: &SegmentJob<'_>, model: &[Vec<Affine64>]) -> SegmentFit {
    let joints = job.joints;
    let (points, is_static) = points_to_place(job, model);
    let mut fails = vec![false; joints.len()];
    let mut decoded: Vec<Vec<Affine64>> = Vec::with_capacity(joints.len());
    let mut fit = SegmentFit { nlerp: job.nlerp, ..SegmentFit::default() };
    for (index, joint) in joints.iter().enumerate() {
        let source = &job.source[index];
        if joint.parent.is_some_and(|parent| fails[parent]) {
            fails[index] = true;
            decoded.push(Vec::new());
            continue;
        }
        let parents = joint.parent.map(|p| decoded[p].as_slice());
        let mut own = source.clone();
        fit_translation(job, index, parents, &model[index], &mut own, &mut fit);
        fit_scale(job, index, &points[index], &mut own, &mut fit);
        let rotating = RotatingJoint {
            index,
            is_static: is_static[index],
            parents,
            model: &model[index],
            points: &points[index],
        };
        let is_held = fit_rotation(job, &rotating, &mut own, &mut fit);
        let placed = place(parents, &own);
        fails[index] = fit.missing.last().is_some_and(|&(missing, _)| missing == index)
            || !is_held && is_over_budget(joint, &placed, &model[index]);
        if fails[index] {
            fit.failed.push(index);
        }
        decoded.push(placed);
    }
    fit
}

/// Whether nlerp between frames stays within a fraction of the budget of slerp, for a character of this size.
/// Halving or doubling the fraction, 0.3: equal bytes. The decoded clip is checked later in any case.
pub(super) fn nlerp_suffices(
    joints: &[JointFacts],
    source: &[Vec<Transform64>],
    moments: usize,
    size: f64,
) -> bool {
    joints.iter().zip(source).all(|(joint, locals)| {
        let mut frames = locals.iter().step_by(moments);
        let Some(mut last) = frames.next() else { return true };
        frames.all(|next| {
            // Angle between the quaternions, which is half of the rotation's angle.
            let angle = turned(last.rotation, next.rotation) / 2.0;
            last = next;
            0.04 * angle * angle * angle * size < 0.3 * joint.budget
        })
    })
}

/// Model matrices of all joints, per joint and moment.
pub(super) fn place_all(joints: &[JointFacts], source: &[Vec<Transform64>]) -> Vec<Vec<Affine64>> {
    let mut model: Vec<Vec<Affine64>> = Vec::with_capacity(joints.len());
    for (joint, locals) in joints.iter().zip(source) {
        let parents = joint.parent.map(|parent| model[parent].as_slice());
        model.push(place(parents, locals));
    }
    model
}

/// Model matrices of a joint, per moment.
pub(super) fn place(parents: Option<&[Affine64]>, locals: &[Transform64]) -> Vec<Affine64> {
    let local = locals.iter().map(Affine64::local);
    match parents {
        Some(parents) => parents.iter().zip(local).map(|(parent, local)| parent.after(&local)).collect(),
        None => local.collect(),
    }
}

/// Whether one of a joint's own points is over its budget.
fn is_over_budget(joint: &JointFacts, decoded: &[Affine64], model: &[Affine64]) -> bool {
    decoded.iter().zip(model).any(|(decoded, model)| {
        let off = decoded.less(model);
        !joint.shell.iter().all(|body| body.is_within(&off, joint.budget))
    })
}

/// Fits the translation of a joint: at rest, constant, or a curve to its position relative to the decoded
/// parent.
fn fit_translation(
    job: &SegmentJob<'_>,
    index: usize,
    parents: Option<&[Affine64]>,
    model: &[Affine64],
    own: &mut [Transform64],
    fit: &mut SegmentFit,
) {
    let joint = &job.joints[index];
    if joint.fallback[1] {
        return;
    }
    let id = TrackId { kind: Kind::Translation, index };
    let rest = joint.rest.translation;
    let middle = own[own.len() / 2].translation;
    let outer = parents.map_or(1.0, |parents| parents[own.len() / 2].reach());
    let threshold = joint.budget * STATIC_THRESHOLD;
    let near = |to: Vector| own.iter().all(|local| length(sub(local.translation, to)) * outer < threshold);
    if near(rest) {
        own.iter_mut().for_each(|local| local.translation = rest);
        return;
    }
    let fine = joint.budget * CONSTANT_STEP / outer.max(f64::MIN_POSITIVE);
    if near(middle)
        && let Some((curve, value)) = constant(id, sub(middle, rest), fine)
    {
        own.iter_mut().for_each(|local| local.translation = add(rest, value));
        fit.curves.extend(curve);
        return;
    }
    let targets: Vec<Vector> = (0..own.len())
        .map(|moment| {
            let place = model[moment].origin;
            let place = parents.map_or(place, |parents| {
                let back = parents[moment].back(place);
                // A parent with scale 0 cannot be inverted.
                if parents[moment].linear == [[0.0; 3]; 3] { own[moment].translation } else { back }
            });
            sub(place, rest)
        })
        .collect();
    let limit = joint.budget * job.fractions[index].translation * USABLE_FRACTION;
    let guess = limit / outer.max(f64::MIN_POSITIVE);
    let candidates = Candidates { shapes: job.shapes, others: &fit.curves };
    let curve = cheapest(id, candidates, job.max_bits, &targets, guess, |shape, keys| {
        (0..targets.len()).all(|moment| {
            let off = sub(shape.value(keys, moment), targets[moment]);
            let off = parents.map_or(off, |parents| apply(&parents[moment].linear, off));
            dot(off, off) <= limit * limit
        })
    });
    if let Some((shape, keys)) = keep(job, id, curve, fit) {
        for (moment, local) in own.iter_mut().enumerate() {
            local.translation = add(rest, shape.value(&keys, moment));
        }
    }
}

/// Fits the scale of a joint: at rest, constant, or a curve. Halving or doubling the fraction of the
/// threshold, 1/4, or of the budget, 1/2: equal bytes.
fn fit_scale(
    job: &SegmentJob<'_>,
    index: usize,
    points: &[Point],
    own: &mut [Transform64],
    fit: &mut SegmentFit,
) {
    let joint = &job.joints[index];
    if joint.fallback[2] {
        return;
    }
    let id = TrackId { kind: Kind::Scale, index };
    let rest = joint.rest.scale;
    let middle = own[own.len() / 2].scale;
    // Maximum movement of the outermost point per unit of scale, as a fraction of its limit. Ancestors count
    // as unscaled.
    let far = points.iter().map(|point| point.body.size() / point.limit).fold(0.0, f64::max);
    let off = |a: Vector, b: Vector| length(sub(a, b)) * far;
    if own.iter().all(|local| off(local.scale, rest) < STATIC_THRESHOLD / 4.0) {
        own.iter_mut().for_each(|local| local.scale = rest);
        return;
    }
    let fine = CONSTANT_STEP / far.max(f64::MIN_POSITIVE);
    if own.iter().all(|local| off(local.scale, middle) < STATIC_THRESHOLD / 4.0)
        && let Some((curve, value)) = constant(id, sub(middle, rest), fine)
    {
        own.iter_mut().for_each(|local| local.scale = add(rest, value));
        fit.curves.extend(curve);
        return;
    }
    let targets: Vec<Vector> = own.iter().map(|local| sub(local.scale, rest)).collect();
    let limit = job.fractions[index].translation * 0.5;
    let candidates = Candidates { shapes: job.shapes, others: &fit.curves };
    let guess = limit / far.max(f64::MIN_POSITIVE);
    let curve = cheapest(id, candidates, job.max_bits, &targets, guess, |shape, keys| {
        (0..targets.len()).all(|moment| off(shape.value(keys, moment), targets[moment]) <= limit)
    });
    if let Some((shape, keys)) = keep(job, id, curve, fit) {
        for (moment, local) in own.iter_mut().enumerate() {
            local.scale = add(rest, shape.value(&keys, moment));
        }
    }
}
