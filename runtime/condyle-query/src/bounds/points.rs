//! Choice of a few points whose convex hull is close to all points.

use alloc::vec;
use alloc::vec::Vec;

use super::directions::{Cells, extremes, rounded};
use super::nearest::{Face, distance, slack};

/// Maximum number of chosen points.
pub(super) const MOST: usize = 24;

/// Points this close to the hull are not chosen, relative to the largest coordinate. Most points are farther
/// from their own f32 than this.
const NEAR: f64 = 1.0 / (1_u64 << 28) as f64;

/// A distance times this is less by far more than its rounding error.
const EXCEEDED: f64 = 1.0 - 1e-6;

/// Returns the chosen points, and an upper bound on the distance of the other points from their convex hull.
///
/// Candidates are the extreme points in a set of directions.
pub(super) fn choose(all: &[[f64; 3]]) -> (Vec<[f32; 3]>, f64) {
    let cells = Cells::new(all);
    let extremes = extremes(all, &cells);
    let candidates = rounded(all, &extremes);
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
    let one = Cells::one(&candidates);
    let mut rest = Rest::new(&candidates, &one, &chosen);
    rest.choose(&mut chosen, MOST - 4, &[]);
    let mut rest = Rest::new(all, &cells, &chosen);
    let off = rest.choose(&mut chosen, MOST, &extremes);
    (chosen.iter().map(|p| p.map(|v| v as f32)).collect(), off)
}

/// Points, and upper bounds on their distances from a hull that only grows.
struct Rest<'a> {
    points: &'a [[f64; 3]],
    cells: &'a [u16],
    bounds: Vec<f64>,
    /// One simplex of the hull per cell, near the points of the cell. Most points are so near to it that
    /// their distance from the hull is not computed.
    near: Vec<Face>,
}

impl<'a> Rest<'a> {
    fn new(points: &'a [[f64; 3]], cells: &'a Cells, hull: &[[f64; 3]]) -> Self {
        let face = hull.first().map_or(Face::default(), |first| Face::point(*first));
        Self {
            points,
            cells: cells.of(),
            bounds: vec![f64::INFINITY; points.len()],
            near: vec![face; cells.count()],
        }
    }

    /// Chooses the farthest point until `most` are chosen or all points are near. Returns an upper bound on
    /// the distance of a point from the hull. `probes` are indices of probably distant points.
    fn choose(&mut self, chosen: &mut Vec<[f64; 3]>, most: usize, probes: &[usize]) -> f64 {
        loop {
            let (off, at) = self.farthest(chosen, probes);
            let Some(at) = at.filter(|_| chosen.len() < most) else { return off };
            let point = self.points[at].map(|v| f64::from(v as f32));
            if chosen.contains(&point) {
                return off;
            }
            chosen.push(point);
        }
    }

    /// Upper bound on the distance of a point from the hull, and the index of the farthest point unless it
    /// is [`NEAR`]. The first one counts if several are equally far.
    fn farthest(&mut self, hull: &[[f64; 3]], probes: &[usize]) -> (f64, Option<usize>) {
        let largest = hull.iter().flatten().map(|v| v.abs()).fold(0.0, f64::max);
        let slack = slack(largest);
        // A distance that is certainly exceeded: points within it need no exact distance.
        let mut least = NEAR * largest;
        for &at in probes {
            least = least.max(self.exceeded(at, hull, least, slack));
        }
        // The search for the largest bound takes less time than a distance if there are few points.
        for _ in 0..(4096 / self.points.len().max(1)).max(1) {
            let larger = |a: (f64, usize), b: (usize, &f64)| if *b.1 > a.0 { (*b.1, b.0) } else { a };
            let (bound, at) = self.bounds.iter().enumerate().fold((0.0, 0), larger);
            if bound * EXCEEDED <= least {
                break;
            }
            least = least.max(self.exceeded(at, hull, least, slack));
        }
        let mut worst = (least, None);
        for at in 0..self.points.len() {
            if self.bounds[at] + 2.0 * slack <= worst.0 {
                continue;
            }
            let face = &self.near[usize::from(self.cells[at])];
            self.bounds[at] = self.bounds[at].min(face.distance(self.points[at], slack));
            if self.bounds[at] + 2.0 * slack <= worst.0 {
                continue;
            }
            let off = self.distance(at, hull, worst.0, slack);
            if off > worst.0 {
                worst = (off, Some(at));
            }
        }
        match worst.1 {
            Some(_) => worst,
            None => (self.bounds.iter().copied().fold(0.0, f64::max), None),
        }
    }

    /// Distance that a point certainly exceeds, if its bound exceeds `least`.
    fn exceeded(&mut self, at: usize, hull: &[[f64; 3]], least: f64, slack: f64) -> f64 {
        if self.bounds[at] > least { EXCEEDED * self.distance(at, hull, least, slack) } else { 0.0 }
    }

    /// Distance of a point from the hull, which also becomes its bound.
    fn distance(&mut self, at: usize, hull: &[[f64; 3]], enough: f64, slack: f64) -> f64 {
        let (off, face) = distance(self.points[at], hull, enough, slack);
        self.near[usize::from(self.cells[at])] = face;
        self.bounds[at] = self.bounds[at].min(off);
        off
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_base::math::scalar::sqrt_f64;
    use condyle_base::math::vectors::dot;
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

    /// The same choice with the distances of all points from each hull.
    fn choose_directly(all: &[[f64; 3]]) -> (Vec<[f64; 3]>, f64) {
        let candidates = rounded(all, &extremes(all, &Cells::one(all)));
        let mut chosen: Vec<[f64; 3]> = Vec::new();
        for axis in 0..3 {
            for way in [1.0, -1.0] {
                let most = candidates.iter().map(|p| way * p[axis]).fold(f64::NEG_INFINITY, f64::max);
                let far = candidates.iter().find(|p| way * p[axis] == most).expect("finite");
                chosen.extend((!chosen.contains(far)).then_some(*far));
            }
        }
        let worst = |points: &[[f64; 3]], hull: &[[f64; 3]]| {
            let slack = slack(hull.iter().flatten().map(|v| v.abs()).fold(0.0, f64::max));
            points.iter().fold((0.0, [0.0; 3]), |worst, point| {
                let off = distance(*point, hull, worst.0, slack).0;
                if off > worst.0 { (off, *point) } else { worst }
            })
        };
        for (points, most) in [(&candidates[..], MOST - 4), (all, MOST)] {
            while chosen.len() < most {
                let point = worst(points, &chosen).1.map(|v| f64::from(v as f32));
                if chosen.contains(&point) {
                    break;
                }
                chosen.push(point);
            }
        }
        let off = worst(all, &chosen).0;
        (chosen, off)
    }

    /// Skipped distances change no bit, except of hulls that are exact to within rounding.
    #[test]
    fn the_choice_is_that_of_all_distances() {
        let mut random = Random(16);
        for round in 0..tries(15) {
            let count = [30, 300, 3000][round % 3];
            let size: [f32; 3] = random.vector(1.0);
            let points: Vec<[f64; 3]> = (0..count)
                .map(|at| {
                    let [x, y, z]: [f32; 3] = random.unit();
                    let bump = if round / 3 % 2 == 0 { 1.0 } else { 1.0 + 0.2 * ((at / 20) as f32).sin() };
                    [x * size[0] * bump, y * size[1] * bump, z.abs() * size[2]].map(f64::from)
                })
                .collect();
            let (want, want_off) = choose_directly(&points);
            let (chosen, off) = choose(&points);
            assert_eq!(chosen, want.iter().map(|p| p.map(|v| v as f32)).collect::<Vec<_>>(), "{round}");
            assert!(off == want_off || off.max(want_off) < 1e-8, "{round}: {off} {want_off}");
        }
    }

    /// Points on the sides of a box, whose corners are the hull.
    #[test]
    fn the_hull_of_a_box_has_few_points() {
        let mut random = Random(17);
        let points: Vec<[f64; 3]> = (0..3000)
            .map(|at| {
                let mut point = [0; 3].map(|_| random.below(33) as f64 / 32.0);
                point[at % 3] = (at % 2) as f64;
                point
            })
            .chain((0..8).map(|at| [at & 1, at >> 1 & 1, at >> 2].map(f64::from)))
            .collect();
        let (chosen, off) = choose(&points);
        // The first farthest points, which are at the sides or corners, and the other corners.
        assert!(chosen.len() <= 14 && off < 1e-8, "{chosen:?} {off}");
    }
}
