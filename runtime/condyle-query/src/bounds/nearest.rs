//! Distance of a point from the convex hull of a few points.

use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{along, dot, sub};

/// Maximum number of improvements of a distance. The distance is never too small, even with few steps.
const STEPS: usize = 60;

/// Upper bound on the distance of a point from the convex hull of others.
///
/// It is the distance to a point of the hull that is a weighted mean of up to four of them. Each step adds
/// the point that is farthest in the direction of `point`, then takes the nearest point of the simplex (P.
/// Wolfe, *Finding the Nearest Point in a Polytope*, 1976). Stops when the distance is at most `enough`.
///
/// Also returns the simplex of these points. `slack` is the [slack](slack) of the hull.
pub(super) fn distance(point: [f64; 3], hull: &[[f64; 3]], enough: f64, slack: f64) -> (f64, Face) {
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
    (sqrt_f64(square) + slack, Face::new(&simplex, point))
}

/// Distance by which rounding may move a point out of a hull. After a few hundred operations, that is a few
/// parts in 10^13 of the largest coordinate.
pub(super) fn slack(largest: f64) -> f64 {
    1e-13 * largest
}

/// Simplex of up to four points of a hull, prepared for upper bounds on the distances of other points.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Face {
    first: [f64; 3],
    /// Differences of the other points from the first. Unused edges are zero.
    edges: [[f64; 3]; 3],
    /// Products with these are the weights of the other points.
    weights: [[f64; 3]; 3],
}

impl Face {
    /// Simplex of one point.
    pub(super) fn point(first: [f64; 3]) -> Self {
        Self { first, ..Self::default() }
    }

    /// `simplex` is relative to `origin`.
    fn new(simplex: &Simplex, origin: [f64; 3]) -> Self {
        let first = along(simplex.points[0], origin, 1.0);
        let edges = simplex.edges();
        let mut rows = [0, 1, 2].map(|r| {
            let [x, y, z] = edges[r];
            [dot(edges[r], edges[0]), dot(edges[r], edges[1]), dot(edges[r], edges[2]), x, y, z]
        });
        let weights = match simplex.solved(&mut rows) {
            Some(()) => [0, 1, 2].map(|r| {
                let [.., x, y, z] = rows[r];
                if r + 1 < simplex.count { [x, y, z].map(|v| v / rows[r][r]) } else { [0.0; 3] }
            }),
            None => [[0.0; 3]; 3],
        };
        Self { first, edges, weights }
    }

    /// Distance of a point from the simplex, or more. All weights are clamped, so that the mean is in the
    /// simplex, however inexact they are.
    pub(super) fn distance(&self, point: [f64; 3], slack: f64) -> f64 {
        let off = sub(point, self.first);
        let weights = [0, 1, 2].map(|k| dot(self.weights[k], off).max(0.0));
        let sum = weights[0] + weights[1] + weights[2];
        let less = if sum > 1.0 { 1.0 / sum } else { 1.0 };
        let left = [0, 1, 2].map(|c| {
            let edges =
                weights[0] * self.edges[0][c] + weights[1] * self.edges[1][c] + weights[2] * self.edges[2][c];
            off[c] - less * edges
        });
        sqrt_f64(dot(left, left)) + slack
    }
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
        let (edges, first) = (self.edges(), self.points[0]);
        let mut rows = [0, 1, 2].map(|r| {
            let edge = |c: usize| dot(edges[r], edges[c]);
            [edge(0), edge(1), edge(2), -dot(edges[r], first)]
        });
        self.solved(&mut rows)?;
        let mut weights = [1.0, 0.0, 0.0, 0.0];
        for r in 0..self.count - 1 {
            weights[r + 1] = rows[r][3] / rows[r][r];
            weights[0] -= weights[r + 1];
        }
        Some(weights)
    }

    /// Differences of the other points from the first, zero for those that the simplex lacks.
    fn edges(&self) -> [[f64; 3]; 3] {
        [1, 2, 3].map(|k| if k < self.count { sub(self.points[k], self.points[0]) } else { [0.0; 3] })
    }

    /// Solves normal equations by elimination: the first three columns are the products of the edges. `None`
    /// if the points are degenerate.
    fn solved<const COLUMNS: usize>(&self, rows: &mut [[f64; COLUMNS]; 3]) -> Option<()> {
        let n = self.count - 1;
        for p in 0..n {
            let pivot = rows[p];
            let edge = sub(self.points[p + 1], self.points[0]);
            let least = 1e-12 * dot(edge, edge);
            if pivot[p] <= least || pivot[p].is_nan() {
                return None;
            }
            for (r, row) in rows.iter_mut().enumerate().take(n) {
                if r != p {
                    let times = row[p] / pivot[p];
                    for (own, other) in row.iter_mut().zip(pivot) {
                        *own -= times * other;
                    }
                }
            }
        }
        Some(())
    }
}
