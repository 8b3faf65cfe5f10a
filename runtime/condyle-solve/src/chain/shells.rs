//! Exact solution for chains without limits, with non-uniform scales among their joints.
//!
//! A joint and the joints below it move the tip within a spherical shell around the joint's pivot, in the
//! space of its parent. The joint turns the tip in any direction, and every distance between the minimum and
//! the maximum is reached. The joint above maps the shell to one between ellipsoids. The distances of its
//! nearest and farthest point from that joint's pivot are the radii of the joint's own shell.
//!
//! Example: two bones of length 1 along X, the second under a scale of 2, 1 and 1/2. The shell of the second
//! joint has both radii 1. The first joint maps its points `u` to `S (p + u)`, where p = (1, 0, 0). The
//! farthest is 4 away (u = p), the nearest 0 (u = -p). So the tip reaches every goal within 4 of the first
//! joint.

use super::Chain;
use super::nodes::{NO_TURN, Node, Row};
use crate::maps::{Vec64, add, arc, direction, length, nlerp, scaled, sub, unit};
use crate::sphere::{farthest_at, nearest_at};
use condyle_base::math::quats::{product, rotate};

/// Reachable positions of the tip relative to a node's pivot, in the space of its parent.
#[derive(Clone, Copy)]
struct Shell {
    least: f64,
    most: f64,
    /// Points of the next node's shell, relative to that node's pivot, whose images are nearest to this
    /// node's pivot and farthest from it.
    nearest: Vec64,
    farthest: Vec64,
}

/// Moves the tip as close as possible to a goal outside the shell of the first joint. Returns whether the
/// goal is outside and the tip was placed exactly. For a long chain, the rounding error can exceed the inner
/// radius.
pub(super) fn lay(row: &mut Row<'_, '_>) -> bool {
    let shells = shells(row);
    let goal = sub(row.goal, row.nodes[0].pivot);
    let (far, first) = (length(goal), shells[0]);
    if (first.least..=first.most).contains(&far) {
        return false;
    }
    let distance = if far > first.most { first.most } else { first.least };
    let to = nearest_at(&row.to_model, goal, distance);
    let promised = length(row.to_model.vector(sub(to, goal)));
    bring(row, &shells, to) && row.distance(row.arm()) <= promised * (1.0 + EXACT) + EXACT * far
}

/// Allowed rounding error in the distance of an exactly placed tip.
const EXACT: f64 = 1e-9;

/// Moves the tip to a goal within the shell that the rounds have not reached.
pub(super) fn close(row: &mut Row<'_, '_>) {
    let goal = sub(row.goal, row.nodes[0].pivot);
    let shells = shells(row);
    bring(row, &shells, goal);
}

fn shells(row: &Row<'_, '_>) -> [Shell; Chain::MAX_JOINTS] {
    let last = row.nodes.len() - 1;
    let tip = length(row.tip);
    let own = Shell { least: tip, most: tip, nearest: row.tip, farthest: row.tip };
    let mut shells = [own; Chain::MAX_JOINTS];
    for at in (0..last).rev() {
        shells[at] = carried(&row.nodes[at], row.nodes[at + 1].pivot, &shells[at + 1]);
    }
    shells
}

/// Moves the tip to a position in the first shell, relative to the first pivot, along the shortest path from
/// the current pose. Returns whether the tip is nearer to the goal than before. If it is not, for example
/// after an overflow, the pose is unchanged.
fn bring(row: &mut Row<'_, '_>, shells: &[Shell], mut to: Vec64) -> bool {
    row.keep();
    let before = row.distance(row.arm());
    let last = row.nodes.len() - 1;
    // Vectors from each pivot to the tip, for the current rotations.
    let mut arms = [row.tip; Chain::MAX_JOINTS];
    for (at, node) in row.nodes.iter().enumerate().rev() {
        let next = row.nodes.get(at + 1);
        let end = next.map_or(row.tip, |next| node.carry.point(add(arms[at + 1], next.pivot)));
        arms[at] = rotate(node.rotation, end);
    }
    for at in 0..=last {
        let pivot = row.nodes.get(at + 1).map(|next| next.pivot);
        let node = &mut row.nodes[at];
        // The point of the next shell that this joint maps to the target distance, and its image.
        let (next, end) = pivot.map_or((row.tip, row.tip), |pivot| {
            let carry = |u: Vec64| node.carry.point(add(pivot, u));
            let next = pick(&shells[at], &shells[at + 1], arms[at + 1], length(to), carry);
            (next, carry(next))
        });
        node.rotation = unit(product(arc(rotate(node.rotation, end), to), node.rotation));
        // The next target, relative to the next pivot, in the space that this joint rotates.
        to = next;
    }
    // NaN is never better.
    let nearer = row.distance(row.arm()) < before;
    if nearer {
        row.keep();
    } else {
        row.restore();
    }
    nearer
}

/// Shell of a node, from the shell of the next one.
fn carried(node: &Node<'_>, pivot: Vec64, next: &Shell) -> Shell {
    // The point that the node maps to its own pivot.
    let zero = sub(node.back.point([0.0; 3]), pivot);
    let farthest = farthest_at(&node.carry, zero, next.most);
    let far = length(zero);
    let nearest = if (next.least..=next.most).contains(&far) {
        zero
    } else {
        nearest_at(&node.carry, zero, if far > next.most { next.most } else { next.least })
    };
    let carried = |u: Vec64| length(node.carry.point(add(pivot, u)));
    Shell { least: carried(nearest), most: carried(farthest), nearest, farthest }
}

/// Finds, by bisection, the first point of a path whose image has a given distance. The path leads from `now`
/// to the nearest or farthest point of the next shell.
fn pick(shell: &Shell, next: &Shell, now: Vec64, distance: f64, carry: impl Fn(Vec64) -> Vec64) -> Vec64 {
    let held = |u: Vec64| match direction(u) {
        Some(way) => scaled(way, length(u).max(next.least).min(next.most)),
        None => [next.least, 0.0, 0.0],
    };
    let start = held(now);
    let rises = length(carry(start)) < distance;
    let end = if rises { shell.farthest } else { shell.nearest };
    let turn = arc(start, end);
    let (short, long) = (length(start), length(end));
    let on_the_way = |part: f64| {
        let way = rotate(nlerp(NO_TURN, turn, part), start);
        scaled(direction(way).unwrap_or(way), short + (long - short) * part)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..54 {
        let middle = 0.5 * (low + high);
        if (length(carry(on_the_way(middle))) < distance) == rises { low = middle } else { high = middle }
    }
    if high == 1.0 { end } else { on_the_way(high) }
}
