//! Forward and backward reaching: the pivots are drawn from the goal back to the root without minding where the root is, then the joints are
//! turned towards them from the root on. Aristidou and Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem", 2011.
//!
//! The way out is done by the joints themselves, not by points, so that limits hold, hinges are hinges and scales are what they are.

use super::nodes::Row;
use crate::math::quats::{conjugate, product, rotate, rows};
use crate::math::vectors::{cross, dot};
use crate::solve::maps::{Map, Vec64, add, arc, length, scaled, sub, turn, unit};

/// One round. `points` are as many as nodes: where each bone ends in model space. Returns the way from the first pivot to the tip.
pub(in crate::solve) fn sweep(row: &mut Row<'_, '_>, from_model: &Map, points: &mut [Vec64]) -> Vec64 {
    place(row, points);
    draw(row, points);
    follow(row, from_model, points)
}

/// Where bones end.
fn place(row: &Row<'_, '_>, points: &mut [Vec64]) {
    let mut to_model = row.to_model;
    for (at, (node, point)) in row.nodes.iter().zip(points).enumerate() {
        let turned = to_model.after(&Map { linear: rows(node.rotation), moved: node.pivot });
        *point = turned.point(row.bone(at));
        to_model = turned.after(&node.carry);
    }
}

/// From the goal back: each bone keeps its length and goes to where the next one begins.
fn draw(row: &Row<'_, '_>, points: &mut [Vec64]) {
    let Some(last) = points.len().checked_sub(1) else { return };
    let mut end = row.to_model.point(row.goal);
    let mut was = points[last];
    points[last] = end;
    for at in (0..last).rev() {
        let bone = length(sub(was, points[at]));
        was = points[at];
        let way = sub(was, end);
        let far = length(way);
        // No way at all leaves it where it is.
        if far > 0.0 {
            end = add(end, scaled(way, bone / far));
        }
        points[at] = end;
    }
}

/// From the root on: each joint turns its bone towards its point.
fn follow(row: &mut Row<'_, '_>, from_model: &Map, points: &[Vec64]) -> Vec64 {
    let mut from_model = *from_model;
    for (at, &point) in points.iter().enumerate() {
        let own = row.bone(at);
        let node = &mut row.nodes[at];
        let bone = rotate(node.rotation, own);
        let to = sub(from_model.point(point), node.pivot);
        let turned = match node.hinge {
            None => arc(bone, to),
            Some(axis) => {
                turn(axis, dot(axis, cross(bone, to)), dot(bone, to) - dot(axis, bone) * dot(axis, to))
            }
        };
        node.rotation = unit(product(turned, node.rotation));
        if let Some(nearest) = node.limit.and_then(|limit| limit.clamp(node.rotation)) {
            node.rotation = nearest;
        }
        let undo = conjugate(node.rotation);
        let back = Map { linear: rows(undo), moved: scaled(rotate(undo, node.pivot), -1.0) };
        from_model = node.back.after(&back.after(&from_model));
    }
    row.arm()
}
