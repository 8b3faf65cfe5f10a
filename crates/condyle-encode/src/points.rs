//! Points that each joint must move to their authored positions.

use alloc::vec;
use alloc::vec::Vec;

use super::algebra::{Affine64, Vector, length, sub, turned};
use super::body::Body;
use super::task::{STATIC_THRESHOLD, SegmentJob};
use condyle_base::math::Transform64;

/// Maximum number of points that a static joint passes to its parent: the outermost in this many directions.
/// Six, along the axes alone: targets equal, defaults +0.2 %; 26: targets less than 0.1 % smaller.
const MAX_CARRIED_POINTS: usize = 14;
/// Fraction of the limits for points that are passed on, because the points between them are not checked.
/// 0.94: targets +0.7 %, defaults +0.6 %; 1: +0.4 % and +0.9 %.
const CARRIED_LIMIT: f64 = 0.97;

/// Point or ball in joint space, and its maximum displacement in model space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) body: Body,
    pub(super) limit: f64,
}

/// Returns the points of each joint: its shell, the outermost points of its static children, and the origins
/// of its moving children. Also returns which joints are static: their parents move the points to their
/// positions.
pub(super) fn points_to_place(job: &SegmentJob<'_>, model: &[Vec<Affine64>]) -> (Vec<Vec<Point>>, Vec<bool>) {
    let joints = job.joints;
    let mut static_joints = vec![false; joints.len()];
    let mut points: Vec<Vec<Point>> = vec![Vec::new(); joints.len()];
    for (index, joint) in joints.iter().enumerate().rev() {
        points[index].extend(joint.shell.iter().map(|&body| Point { body, limit: joint.budget }));
        let source = &job.source[index];
        let middle = source[source.len() / 2];
        let Some(parent) = joint.parent else { continue };
        let outer = model[parent][source.len() / 2].reach();
        let reach = reach(&points[index], &model[index][source.len() / 2]);
        let shift = |local: &Transform64| length(sub(local.translation, middle.translation)) * outer;
        let moves = |local: &Transform64| {
            let stretched = length(sub(local.scale, middle.scale)) * reach;
            turned(middle.rotation, local.rotation) * reach + shift(local) + stretched
        };
        let threshold = joint.budget * STATIC_THRESHOLD;
        let is_kept = joint.fallback.iter().any(|&fallback| fallback);
        if !is_kept && source.iter().all(|local| moves(local) < threshold) {
            static_joints[index] = true;
            let matrix = Affine64::local(&middle);
            let mut carried: Vec<Point> = points[index]
                .iter()
                .map(|point| Point { body: point.body.moved(&matrix), limit: point.limit * CARRIED_LIMIT })
                .collect();
            outermost(&mut carried);
            points[parent].extend(carried);
            continue;
        }
        let fractions = &job.fractions[index];
        if source.iter().all(|local| shift(local) < threshold) {
            let body = Body::point(middle.translation);
            points[parent].push(Point { body, limit: joint.budget * fractions.place });
        }
        if let Some(swing) = fractions.swing {
            for axis in 0..3 {
                let mut local = middle.translation;
                local[axis] += reach / outer.max(f64::MIN_POSITIVE);
                points[parent].push(Point { body: Body::point(local), limit: joint.budget * swing });
            }
        }
    }
    (points, static_joints)
}

/// Keeps the outermost points.
fn outermost(points: &mut Vec<Point>) {
    if points.len() <= MAX_CARRIED_POINTS {
        return;
    }
    let mut kept: Vec<usize> = Vec::with_capacity(MAX_CARRIED_POINTS);
    for direction in 0..MAX_CARRIED_POINTS {
        // Directions along the axes, then along the diagonals, both ways.
        let d: Vector = match direction {
            0..6 => core::array::from_fn(|c| match (c == direction / 2, direction % 2) {
                (true, 0) => 1.0,
                (true, _) => -1.0,
                _ => 0.0,
            }),
            _ => core::array::from_fn(|c| if (direction - 6) >> c & 1 == 0 { 1.0 } else { -1.0 }),
        };
        // Points with tighter limits count as farther out.
        let far = |at: usize| points[at].body.along(d) / points[at].limit;
        let best = (0..points.len()).fold(0, |best, at| if far(at) > far(best) { at } else { best });
        if !kept.contains(&best) {
            kept.push(best);
        }
    }
    kept.sort_unstable();
    *points = kept.into_iter().map(|at| points[at]).collect();
}

/// Distance of the outermost point from the joint, in model space.
pub(super) fn reach(points: &[Point], model: &Affine64) -> f64 {
    points.iter().map(|point| point.body.reach(&model.linear)).fold(0.0, f64::max)
}
