//! Choice of a few points whose convex hull is close to all points.

use alloc::vec;
use alloc::vec::Vec;

use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{dot, sub};

/// Maximum number of chosen points.
pub(super) const MOST: usize = 24;

/// Candidates are the farthest points in a set of directions: the integer vectors with components from
/// `-REACH` to `REACH`, without vectors that are twice another.
const REACH: i32 = 2;

/// Maximum number of improvements of a distance. The distance is never too small, even with few steps.
const STEPS: usize = 60;

/// Returns the chosen points, and an upper bound on the distance of the other points from their convex hull.
pub(super) fn choose(all: &[[f64; 3]]) -> (Vec<[f32; 3]>, f64) {
    let candidates = farthest(all);
    let mut chosen: Vec<[f64; 3]> = Vec::new();
    for axis in 0..3 {
        for way in [1.0, -1.0] {
            let along = |p: &[f64; 3]| way * p[axis];
            let far = candidates.iter().fold(None, |far: Option<[f64; 3]>, p| match far {
                Some(far) if along(&far) >= along(p) => Some(far),
                _ => Some(*p),
            });
            chosen.extend(far.filter(|far| !chosen.contains(far)));
        }
    }
    // First chooses from the candidates, then chooses the last four from all points.
    for (points, most) in [(&candidates[..], MOST - 4), (all, MOST)] {
        while chosen.len() < most {
            let mut worst = (0.0, None);
            for point in points {
                let off = distance(*point, &chosen, worst.0);
                if off > worst.0 {
                    worst = (off, Some(*point));
                }
            }
            let Some(point) = worst.1 else { break };
            let point = point.map(|v| f64::from(v as f32));
            if chosen.contains(&point) {
                break;
            }
            chosen.push(point);
        }
    }
    let off = all.iter().fold(0.0, |off: f64, point| off.max(distance(*point, &chosen, off)));
    (chosen.iter().map(|p| p.map(|v| v as f32)).collect(), off)
}

/// Farthest point in each direction, rounded to f32.
pub(crate) fn farthest(all: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let mut out: Vec<[f64; 3]> = vec![];
    let range = -REACH..=REACH;
    let directions = range.clone().flat_map(|x| {
        let range = range.clone();
        range.clone().flat_map(move |y| range.clone().map(move |z| [x, y, z]))
    });
    let primitive = |d: &[i32; 3]| d.iter().any(|v| v % 2 != 0);
    for direction in directions.filter(primitive) {
        let direction = direction.map(f64::from);
        let mut best = (f64::NEG_INFINITY, None);
        for point in all {
            let along = dot(direction, *point);
            if along > best.0 {
                best = (along, Some(*point));
            }
        }
        if let Some(point) = best.1 {
            let point = point.map(|v| f64::from(v as f32));
            if !out.contains(&point) {
                out.push(point);
            }
        }
    }
    out
}

/// Upper bound on the distance of a point from the convex hull of others.
///
/// It is the distance to a point of the hull that is a weighted mean of up to four of them. Each step adds
/// the point that is farthest in the direction of `point`, then takes the nearest point of the simplex (P.
/// Wolfe, *Finding the Nearest Point in a Polytope*, 1976). Stops when the distance is at most `enough`.
fn distance(point: [f64; 3], hull: &[[f64; 3]], enough: f64) -> f64 {
    let off = |k: usize| sub(hull[k], point);
    let nearest = (0..hull.len()).map(|k| (dot(off(k), off(k)), k));
    let (mut square, first) = nearest.fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a });
    let mut simplex = Simplex { points: [off(first); 4], weights: [1.0, 0.0, 0.0, 0.0], count: 1 };
    for _ in 0..STEPS {
        if square <= enough * enough {
            break;
        }
        let at = simplex.place();
        let best = (0..hull.len()).map(|k| (dot(at, off(k)), k));
        let (along, k) = best.fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a });
        // The square cannot decrease by more than about this fraction.
        if square - along <= 1e-10 * square || simplex.count == 4 {
            break;
        }
        let mut next = simplex;
        next.add(off(k));
        let place = next.place();
        let now = dot(place, place);
        if now >= square || now.is_nan() {
            break;
        }
        (simplex, square) = (next, now);
    }
    // After a few hundred operations, rounding moves the point out of the hull by a few parts in 10^13.
    sqrt_f64(square) + 1e-13 * hull.iter().flatten().map(|v| v.abs()).fold(0.0, f64::max)
}

/// Points, and the weights of their mean nearest to the origin.
#[derive(Clone, Copy)]
struct Simplex {
    points: [[f64; 3]; 4],
    weights: [f64; 4],
    count: usize,
}

impl Simplex {
    fn place(&self) -> [f64; 3] {
        let sum = |c: usize| (0..self.count).map(|k| self.weights[k] * self.points[k][c]).sum();
        [sum(0), sum(1), sum(2)]
    }

    /// Adds a point, and drops points that the nearest point does not need.
    fn add(&mut self, point: [f64; 3]) {
        (self.points[self.count], self.weights[self.count]) = (point, 0.0);
        self.count += 1;
        while let Some(nearest) = self.nearest_of_span() {
            // Moves towards the nearest point of the span as far as all weights stay positive.
            let mut part = 1.0_f64;
            for (weight, to) in self.weights.iter().zip(&nearest).take(self.count) {
                if *to <= 0.0 {
                    part = part.min(weight / (weight - to));
                }
            }
            let part = if part.is_nan() { 0.0 } else { part };
            let mut kept = 0;
            let all = part >= 1.0;
            for (k, to) in nearest.iter().enumerate().take(self.count) {
                let weight = self.weights[k] + part * (to - self.weights[k]);
                if weight > 1e-14 {
                    (self.points[kept], self.weights[kept]) = (self.points[k], weight);
                    kept += 1;
                }
            }
            let fewer = kept < self.count;
            self.count = kept;
            if all || !fewer {
                break;
            }
        }
        let sum: f64 = self.weights[..self.count].iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight /= sum);
    }

    /// Weights, of any sign, of the point nearest to the origin in the affine span of the points. `None` if
    /// the points are degenerate, so that a smaller simplex has the same span.
    fn nearest_of_span(&self) -> Option<[f64; 4]> {
        let (first, n) = (self.points[0], self.count - 1);
        let edges = [1, 2, 3].map(|k| if k <= n { sub(self.points[k], first) } else { [0.0; 3] });
        // Normal equations, solved by elimination.
        let mut rows = [[0.0; 4]; 3];
        for r in 0..n {
            for c in 0..n {
                rows[r][c] = dot(edges[r], edges[c]);
            }
            rows[r][3] = -dot(edges[r], first);
        }
        for p in 0..n {
            let pivot = rows[p];
            let least = 1e-12 * dot(edges[p], edges[p]);
            if pivot[p] <= least || pivot[p].is_nan() {
                return None;
            }
            for (r, row) in rows.iter_mut().enumerate().take(n) {
                if r != p {
                    let times = row[p] / pivot[p];
                    *row = [0, 1, 2, 3].map(|c| row[c] - times * pivot[c]);
                }
            }
        }
        let mut weights = [1.0, 0.0, 0.0, 0.0];
        for r in 0..n {
            weights[r + 1] = rows[r][3] / rows[r][r];
            weights[0] -= weights[r + 1];
        }
        Some(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::{Random, tries};

    #[test]
    fn all_points_are_within_and_the_hull_is_close() {
        let mut random = Random(15);
        for round in 0..tries(12) {
            let count = [1, 7, 60, 800][round % 4];
            // A limb with a known surface: a capsule with a random axis.
            let axis: [f32; 3] = random.unit();
            let points: Vec<[f64; 3]> = (0..count)
                .map(|_| {
                    let (along, out): (f32, [f32; 3]) = (random.range(-2.0, 2.0), random.unit());
                    [0, 1, 2].map(|c| f64::from(along * axis[c] + 0.4 * out[c]))
                })
                .collect();
            let (chosen, off) = choose(&points);
            assert!(chosen.len() <= MOST && !chosen.is_empty());
            // The extent of the chosen points in any direction, plus `off`, is at least the extent of all
            // points.
            for _ in 0..200 {
                let d: [f32; 3] = random.unit();
                let d = d.map(f64::from);
                let all = points.iter().map(|p| dot(d, *p)).fold(f64::NEG_INFINITY, f64::max);
                let few = chosen.iter().map(|p| dot(d, p.map(f64::from))).fold(f64::NEG_INFINITY, f64::max);
                let length = sqrt_f64(dot(d, d));
                assert!(all <= few + off * length + 1e-12, "{round}: {all} {few} {off}");
            }
            assert!(off < 0.15, "{round}: {off}");
            assert!(count > 20 || off < 1e-6, "{round}: {off}");
        }
    }
}
