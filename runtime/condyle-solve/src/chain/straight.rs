//! Exact solutions for chains without limits and without non-uniform scales among their joints. Non-uniform
//! scales above the chain only affect which point is nearest.

use super::nodes::Row;
use crate::maps::{Vec64, across, add, arc, direction, length, nlerp, scaled, sub, turn, unit};
use crate::sphere::nearest_at;
use condyle_base::math::quats::{conjugate, product, rotate};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{cross, dot};

/// Handles goals out of reach: too far away, or closer to the root than the longest bone allows. Then all
/// bones lie on one line with the goal, which is the nearest pose. Returns whether the goal was out of reach.
pub(super) fn lay(row: &mut Row<'_, '_>) -> bool {
    let (mut all, mut longest, mut at_longest) = (0.0, 0.0, 0);
    // Lengths in model space, or under non-uniform scales in the space of the first node's parent, where
    // bones keep their lengths.
    let size2 = if row.even { 1.0 } else { row.nodes[0].size2 };
    for (at, node) in row.nodes.iter().enumerate() {
        let bone = length(row.bone(at)) * sqrt_f64(node.size2 / size2);
        all += bone;
        if bone > longest {
            (longest, at_longest) = (bone, at);
        }
    }
    let way = sub(row.goal, row.nodes[0].pivot);
    let far = length(if row.even { row.to_model.vector(way) } else { way });
    let folded = far < 2.0 * longest - all;
    if !(folded || far >= all) {
        return false;
    }
    let way = if row.even {
        way
    } else {
        nearest_at(&row.to_model, way, if folded { 2.0 * longest - all } else { all })
    };
    // If the goal is at the root, the tip keeps its direction.
    if let Some(way) = direction(way).or_else(|| direction(row.arm())) {
        along(row, way, folded.then_some(at_longest));
        for node in row.nodes.iter_mut() {
            node.rotation = node.straight;
        }
    }
    true
}

/// Computes the rotations that put all bones along a direction. With `alone`, only that bone does, and all
/// others point the opposite way.
fn along(row: &mut Row<'_, '_>, mut way: Vec64, alone: Option<usize>) {
    for at in 0..row.nodes.len() {
        let bone = row.bone(at);
        let node = &mut row.nodes[at];
        let back = alone.is_some_and(|alone| alone != at);
        let to = if back { scaled(way, -1.0) } else { way };
        node.straight = unit(product(arc(rotate(node.rotation, bone), to), node.rotation));
        way = direction(node.back.vector(rotate(conjugate(node.straight), way))).unwrap_or(way);
    }
}

/// Moves a tip near its goal exactly onto it, where rounds would take ever smaller steps. First the tip's
/// distance is matched: by straightening all joints by the same fraction, or by bending the joint with the
/// smallest rotation. Then the first joint turns the tip onto the goal.
pub(super) fn close(row: &mut Row<'_, '_>) {
    let pivot = row.nodes[0].pivot;
    let goal = sub(row.goal, pivot);
    let (arm, far) = (row.arm(), length(goal));
    if far > length(arm) {
        straighten(row, arm, far);
    } else {
        bend(row, far);
    }
    let arm = row.arm();
    if let Some(first) = row.nodes.first_mut() {
        first.rotation = unit(product(arc(arm, goal), first.rotation));
    }
}

fn straighten(row: &mut Row<'_, '_>, arm: Vec64, far: f64) {
    let Some(way) = direction(arm) else { return };
    along(row, way, None);
    row.keep();
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        for node in row.nodes.iter_mut() {
            node.rotation = nlerp(node.best, node.straight, middle);
        }
        if length(row.arm()) < far { low = middle } else { high = middle }
    }
}

fn bend(row: &mut Row<'_, '_>, far: f64) {
    let last = row.nodes.len() - 1;
    let mut best: Option<(f64, usize, Vec64, f64, f64)> = None;
    // Vector from the first pivot to each node's pivot, in the space of the node's parent.
    let mut from = [[0.0; 3]; super::Chain::MAX_JOINTS];
    for at in 1..=last {
        let (before, node) = (&row.nodes[at - 1], &row.nodes[at]);
        let way = add(rotate(before.rotation, before.carry.point(node.pivot)), from[at - 1]);
        // The linear part of the map is a uniform scale, so all lengths are scaled equally.
        let way = before.back.vector(rotate(conjugate(before.rotation), way));
        from[at] = way;
    }
    let mut end = row.tip;
    let mut size = 1.0;
    for node in &row.nodes[..last] {
        let [a, b, c] = node.carry.linear;
        size *= sqrt_f64(a[0] * a[0] + b[0] * b[0] + c[0] * c[0]);
    }
    for at in (1..=last).rev() {
        let node = &row.nodes[at];
        if at < last {
            end = node.carry.point(add(end, row.nodes[at + 1].pivot));
        }
        end = rotate(node.rotation, end);
        let (back, tip) = (from[at], end);
        let (a2, b2) = (dot(back, back), dot(tip, tip));
        let bones = sqrt_f64(a2 * b2);
        let wanted = far / size;
        let cos = (0.5 * (wanted * wanted - a2 - b2)) / bones;
        if cos.abs() <= 1.0 {
            let normal = cross(back, tip);
            let (axis, sin0) = match direction(normal) {
                Some(axis) => (axis, length(normal) / bones),
                None => (across(tip), 0.0),
            };
            let (cos0, sin) = (dot(back, tip) / bones, sqrt_f64((1.0 - cos) * (1.0 + cos)));
            let (c, s) = (cos * cos0 + sin * sin0, sin * cos0 - cos * sin0);
            if best.is_none_or(|best| c > best.0) {
                best = Some((c, at, axis, s, c));
            }
        }
        let [a, b, c] = row.nodes[at - 1].carry.linear;
        size /= sqrt_f64(a[0] * a[0] + b[0] * b[0] + c[0] * c[0]);
    }
    if let Some((_, at, axis, sin, cos)) = best {
        let node = &mut row.nodes[at];
        node.rotation = unit(product(turn(axis, sin, cos), node.rotation));
    }
}
