//! Convex hull of a few points.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::measure::algebra::{Vector, add, length, sub};
use condyle_base::math::vectors::{cross, dot};

/// Half of the thickness that a flat hull gets, as a fraction of its size, so that it has faces to measure
/// by. Half and twice: equal bytes.
const MIN_THICKNESS: f64 = 1e-3;

/// Convex hull, stored as faces.
#[derive(Debug, Clone)]
pub(crate) struct ConvexHull {
    middle: Vector,
    /// Outward normal of each face, divided by the distance of the face from the middle.
    faces: Vec<Vector>,
}

/// Mean of points; the origin without points.
pub(crate) fn middle(points: impl Iterator<Item = Vector>) -> Vector {
    let (count, sum) = points.fold((0.0, [0.0; 3]), |(count, sum), point| (count + 1.0, add(sum, point)));
    sum.map(|v| v / f64::max(count, 1.0))
}

/// Sorts and removes duplicates.
fn sort(vectors: &mut Vec<Vector>) {
    vectors.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    vectors.dedup();
}

/// Normal of the plane through `a`, pointing away from all points, or `None` if points are on both sides. For
/// most planes, the first few points show this.
fn outward(points: &[Vector], a: Vector, normal: Vector, rounding: f64) -> Option<Vector> {
    let (mut is_below, mut is_above) = (false, false);
    for point in points {
        let off = dot(normal, sub(*point, a));
        is_below |= off < -rounding;
        is_above |= off > rounding;
        if is_below && is_above {
            return None;
        }
    }
    Some(if is_above { normal.map(|v| -v) } else { normal })
}

impl ConvexHull {
    /// Builds the hull by testing all triples of points: for some tens of points, in any position.
    pub(crate) fn around(points: &[Vector]) -> Self {
        let middle = middle(points.iter().copied());
        let mut points: Vec<Vector> = points.iter().map(|&point| sub(point, middle)).collect();
        sort(&mut points);
        let size = points.iter().map(|&point| length(point)).fold(0.0, f64::max);
        // Coplanar, collinear and coincident points get a small thickness.
        for axis in 0..3 {
            for thin in [MIN_THICKNESS * size, -MIN_THICKNESS * size] {
                let mut point = [0.0; 3];
                point[axis] = thin;
                points.push(point);
            }
        }
        let mut faces = Vec::new();
        for (i, &a) in points.iter().enumerate() {
            for (j, &b) in points.iter().enumerate().skip(i + 1) {
                for &c in &points[j + 1..] {
                    let normal = cross(sub(b, a), sub(c, a));
                    let rounding = 1e-9 * size * length(normal);
                    let Some(outward) = outward(&points, a, normal, rounding) else { continue };
                    let distance = dot(outward, a);
                    if distance > rounding {
                        faces.push(outward.map(|v| v / distance));
                    }
                }
            }
        }
        sort(&mut faces);
        Self { middle, faces }
    }

    /// Factor by which the hull must be scaled about its middle to reach a point; at most 1 for points
    /// inside.
    pub(crate) fn times(&self, point: Vector) -> f64 {
        let out = sub(point, self.middle);
        self.faces.iter().map(|&face| dot(face, out)).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use condyle_testing::{Random, tries};

    #[test]
    fn a_cube_reaches_as_far_as_it_does() {
        let corners: Vec<Vector> =
            (0..8).map(|at| [0, 1, 2].map(|axis| f64::from(at >> axis & 1) * 2.0 + 3.0)).collect();
        let hull = ConvexHull::around(&corners);
        for (point, want) in [
            ([4.0, 4.0, 4.0], 0.0),
            ([5.0, 4.0, 4.0], 1.0),
            ([5.0, 3.0, 5.0], 1.0),
            ([4.0, 4.5, 4.25], 0.5),
            ([4.0, 4.0, 1.0], 3.0),
        ] {
            assert!((hull.times(point) - want).abs() < 1e-12, "{point:?}: {}", hull.times(point));
        }
    }

    /// Means of the points are inside, and the farthest point is on the surface.
    #[test]
    fn means_of_its_points_are_within() {
        let mut random = Random(7);
        for round in 0..tries(60) {
            let count = 1 + round % 12;
            // Clouds of all shapes: in space, in a plane, on a line and at one point.
            let mut shape = [[1.0_f64, 0.0, 0.0], [0.3, 1.0, 0.0], [-0.2, 0.5, 1.0]];
            for row in shape.iter_mut().skip(1 + round % 4) {
                *row = [0.0; 3];
            }
            let points: Vec<Vector> = (0..count)
                .map(|_| {
                    let v: [f32; 3] = random.vector(1.0);
                    let v = v.map(f64::from);
                    add([5.0, -2.0, 1.0], [0, 1, 2].map(|c| (0..3).map(|r| v[r] * shape[r][c]).sum()))
                })
                .collect();
            let hull = ConvexHull::around(&points);
            for _ in 0..20 {
                let weights: Vec<f64> =
                    points.iter().map(|_| f64::from(random.range(0.0, 1.0)).powi(4)).collect();
                let sum: f64 = weights.iter().sum();
                let mean = points
                    .iter()
                    .zip(&weights)
                    .fold([0.0; 3], |mean, (point, weight)| add(mean, point.map(|v| v * weight / sum)));
                assert!(hull.times(mean) <= 1.0 + 1e-6, "{points:?}: {mean:?}: {}", hull.times(mean));
            }
            let farthest = points.iter().map(|&point| hull.times(point)).fold(0.0, f64::max);
            let apart = points.iter().any(|point| length(sub(*point, points[0])) > 0.0);
            assert!(!apart || (farthest - 1.0).abs() < 1e-6, "{points:?}: {farthest}");
        }
    }
}
