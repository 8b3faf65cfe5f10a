//! Whether two solids share a point; touching is enough.

use super::solid::{Vector, nearest_on, within};
use crate::hits::Solid;
use condyle_base::math::vectors::{along, cross, dot, sub};

/// Relative gap up to which two boxes count as touching, to allow for rounding.
const TOUCHING: f64 = 1e-12;

pub(super) fn overlap(a: &Solid, b: &Solid) -> bool {
    match (*a, *b) {
        (
            Solid::Capsule { from, along: way, radius },
            Solid::Capsule { from: from2, along: way2, radius: radius2 },
        ) => {
            let both = radius + radius2;
            between_lines(from, way, from2, way2) <= both * both
        }
        (Solid::Capsule { from, along: way, radius }, Solid::Box { center, axes, half })
        | (Solid::Box { center, axes, half }, Solid::Capsule { from, along: way, radius }) => {
            let from = axes.map(|axis| dot(axis, sub(from, center)));
            let way = axes.map(|axis| dot(axis, way));
            line_to_box(from, way, half) <= radius * radius
        }
        (Solid::Box { center, axes, half }, Solid::Box { center: center2, axes: axes2, half: half2 }) => {
            boxes(
                sub(center2, center),
                &OrientedBox { axes, half },
                &OrientedBox { axes: axes2, half: half2 },
            )
        }
    }
}

/// Squared distance between two segments, each given by its start and its direction vector. C. Ericson,
/// *Real-Time Collision Detection*, 2004, 5.1.9.
fn between_lines(from: Vector, way: Vector, from2: Vector, way2: Vector) -> f64 {
    let between = sub(from, from2);
    let (a, e, f) = (dot(way, way), dot(way2, way2), dot(way2, between));
    let (b, c) = (dot(way, way2), dot(way, between));
    let det = a * e - b * b;
    // For parallel segments, any start point on the first one works.
    let s = if det > 1e-14 * a * e { ((b * f - c * e) / det).clamp(0.0, 1.0) } else { 0.0 };
    // Finds the point of the second segment nearest to that start point, then the point of the first segment
    // nearest to the result. Tests the ends too, for nearly parallel segments.
    let apart = |s: f64, t: f64| {
        let d = sub(along(from, way, s), along(from2, way2, t));
        dot(d, d)
    };
    let of_second = |s: f64| nearest_on(from2, way2, along(from, way, s));
    let of_first = |t: f64| nearest_on(from, way, along(from2, way2, t));
    let t = of_second(s);
    let mut least = apart(of_first(t), t);
    for end in [0.0, 1.0] {
        least = least.min(apart(end, of_second(end))).min(apart(of_first(end), end));
    }
    least
}

/// Squared distance between a segment and a box around the origin.
///
/// The derivative of the squared distance along the segment is piecewise linear and never decreases. Its
/// corners are where the segment crosses the plane of a face. The minimum is at its zero, between two
/// corners.
fn line_to_box(from: Vector, way: Vector, half: Vector) -> f64 {
    let outside = |t: f64| {
        let p = along(from, way, t);
        sub(p, within(p, half))
    };
    let slope = |t: f64| dot(outside(t), way);
    let (mut low, mut high) = ((0.0, slope(0.0)), (1.0, slope(1.0)));
    let square = |t: f64| {
        let d = outside(t);
        dot(d, d)
    };
    if low.1 >= 0.0 {
        return square(0.0);
    }
    if high.1 <= 0.0 {
        return square(1.0);
    }
    for k in 0..3 {
        for face in [-half[k], half[k]] {
            let t = (face - from[k]) / way[k];
            if !(t > low.0 && t < high.0) {
                continue;
            }
            let at = (t, slope(t));
            if at.1 <= 0.0 { low = at } else { high = at }
        }
    }
    let t = low.0 + (high.0 - low.0) * (-low.1 / (high.1 - low.1));
    square(t).min(square(low.0)).min(square(high.0))
}

/// Axes and half extents of a box.
struct OrientedBox {
    axes: [Vector; 3],
    half: Vector,
}

/// Whether two boxes touch; `to` is the vector between their centres.
///
/// Two boxes are separate if there is a gap along an axis of either box or along the cross product of two
/// edges. S. Gottschalk, M. C. Lin and D. Manocha, *OBBTree*, 1996.
fn boxes(to: Vector, first: &OrientedBox, second: &OrientedBox) -> bool {
    let (&OrientedBox { axes, half }, &OrientedBox { axes: axes2, half: half2 }) = (first, second);
    let gap = |axis: Vector| {
        let size: f64 =
            (0..3).map(|k| dot(axes[k], axis).abs() * half[k] + dot(axes2[k], axis).abs() * half2[k]).sum();
        let far = dot(to, axis).abs();
        far > size * (1.0 + TOUCHING) + far * TOUCHING
    };
    let edges = axes.iter().flat_map(|&a| axes2.iter().map(move |&b| cross(a, b)));
    let edges = edges.filter(|edge| dot(*edge, *edge) > 1e-12);
    !axes.iter().chain(&axes2).copied().chain(edges).any(gap)
}
