//! Brute-force queries over triangles, for comparison with the BVH queries of `hits`.

use std::vec::Vec;

use condyle_base::math::scalar::{atan2_f64, sqrt_f64};
use condyle_base::math::vectors::{cross, dot};

/// Corners of a triangle.
pub type Triangle = [[f64; 3]; 3];

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    core::array::from_fn(|k| a[k] - b[k])
}

fn along(a: [f64; 3], b: [f64; 3], t: f64) -> [f64; 3] {
    core::array::from_fn(|k| a[k] + b[k] * t)
}

fn length(v: [f64; 3]) -> f64 {
    sqrt_f64(dot(v, v))
}

/// Returns the ray parameter of a hit, in lengths of the direction, and whether the ray hits the front. T.
/// Möller and B. Trumbore, *Fast, Minimum Storage Ray-Triangle Intersection*, 1997.
#[must_use]
pub fn ray_meets_triangle(origin: [f64; 3], direction: [f64; 3], [a, b, c]: Triangle) -> Option<(f64, bool)> {
    let (ab, ac, from) = (minus(b, a), minus(c, a), minus(origin, a));
    let across = cross(direction, ac);
    let determinant = dot(ab, across);
    let u = dot(from, across) / determinant;
    let across = cross(from, ab);
    let v = dot(direction, across) / determinant;
    let t = dot(ac, across) / determinant;
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t >= 0.0).then_some((t, determinant > 0.0))
}

/// Returns the point of an edge nearest to `p`.
fn nearest_of_edge(p: [f64; 3], [a, b]: [[f64; 3]; 2]) -> [f64; 3] {
    let edge = minus(b, a);
    let (part, whole) = (dot(minus(p, a), edge), dot(edge, edge));
    along(a, edge, if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 })
}

/// Returns the point of a triangle nearest to `p`. C. Ericson, *Real-Time Collision Detection*, 2005, 5.1.5.
///
/// Classifies the point by Voronoi region: corner, edge or face. A degenerate triangle uses its nearest edge.
#[must_use]
pub fn nearest_of_triangle(p: [f64; 3], [a, b, c]: Triangle) -> [f64; 3] {
    let (ab, ac) = (minus(b, a), minus(c, a));
    if cross(ab, ac) == [0.0; 3] {
        let nearer =
            |q: [f64; 3], r: [f64; 3]| if length(minus(q, p)) <= length(minus(r, p)) { q } else { r };
        let [ab, bc, ca] = [[a, b], [b, c], [c, a]].map(|edge| nearest_of_edge(p, edge));
        return nearer(nearer(ab, bc), ca);
    }
    let sides = |from: [f64; 3]| (dot(ab, minus(p, from)), dot(ac, minus(p, from)));
    let ((d1, d2), (d3, d4), (d5, d6)) = (sides(a), sides(b), sides(c));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return along(a, ab, d1 / (d1 - d3));
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return along(a, ac, d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        return along(b, minus(c, b), (d4 - d3) / ((d4 - d3) + (d5 - d6)));
    }
    along(along(a, ab, vb / (va + vb + vc)), ac, vc / (va + vb + vc))
}

/// Returns the distance between a point and a triangle.
#[must_use]
pub fn distance_to_triangle(p: [f64; 3], triangle: Triangle) -> f64 {
    length(minus(nearest_of_triangle(p, triangle), p))
}

/// Returns the distance between a line segment and a triangle. The distance is convex along the segment, so a
/// ternary search finds the minimum.
#[must_use]
pub fn way_to_triangle(from: [f64; 3], to: [f64; 3], triangle: Triangle) -> f64 {
    let way = minus(to, from);
    let at = |t: f64| distance_to_triangle(along(from, way, t), triangle);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..64 {
        let (first, second) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if at(first) <= at(second) {
            high = second;
        } else {
            low = first;
        }
    }
    at(low).min(at(high)).min(at(0.0)).min(at(1.0))
}

/// Whether a box touches a triangle. Clips the triangle against the six faces of the box, whose axes are the
/// rows of `axes`. I. Sutherland and G. Hodgman, *Reentrant Polygon Clipping*, 1974.
#[must_use]
pub fn box_touches_triangle(
    center: [f64; 3],
    axes: [[f64; 3]; 3],
    half: [f64; 3],
    triangle: Triangle,
) -> bool {
    let inside = |p: [f64; 3]| axes.map(|axis| dot(axis, minus(p, center)));
    let mut polygon: Vec<[f64; 3]> = triangle.iter().map(|&p| inside(p)).collect();
    for k in 0..3 {
        for side in [1.0, -1.0] {
            let depth = |p: &[f64; 3]| half[k] - side * p[k];
            let mut cut = Vec::new();
            for (at, p) in polygon.iter().enumerate() {
                let q = &polygon[(at + 1) % polygon.len()];
                if depth(p) >= 0.0 {
                    cut.push(*p);
                }
                if (depth(p) >= 0.0) != (depth(q) >= 0.0) {
                    cut.push(along(*p, minus(*q, *p), depth(p) / (depth(p) - depth(q))));
                }
            }
            polygon = cut;
        }
    }
    !polygon.is_empty()
}

/// Returns the winding number of a surface around a point: the sum of the solid angles of its triangles,
/// divided by 4π. A. van Oosterom and J. Strackee, *The Solid Angle of a Plane Triangle*, 1983.
#[must_use]
pub fn winding_number(p: [f64; 3], triangles: &[Triangle]) -> f64 {
    let angle = |triangle: &Triangle| {
        let [a, b, c] = triangle.map(|corner| minus(corner, p));
        let [x, y, z] = [a, b, c].map(length);
        2.0 * atan2_f64(dot(a, cross(b, c)), x * y * z + dot(a, b) * z + dot(b, c) * x + dot(c, a) * y)
    };
    triangles.iter().map(angle).sum::<f64>() / (4.0 * core::f64::consts::PI)
}
