//! A curve through points, gone along from its beginning to its end.
//!
//! Catmull-Rom with knots as far apart as the root of the way between two points (centripetal), which makes neither loops nor cusps.
//! Yuksel, Schaefer, Keyser, "Parameterization and applications of Catmull-Rom curves", 2011.

use crate::maps::{Vec64, add, length, scaled, sub};
use condyle_base::math::scalar::sqrt_f64;

/// A curve, and a place on it that only goes forward.
pub(super) struct Curve<'a> {
    from: Vec64,
    points: &'a [[f32; 3]],
    /// Which of `points` the part that is gone along ends in, and which one is behind that.
    at: usize,
    next: usize,
    part: Part,
    /// From 0 to 1 along the part; behind the end of the last one, how many lengths of its last tangent.
    along: f64,
}

/// Between two points: where it begins and ends, and how fast it does, in lengths for a whole part.
#[derive(Clone, Copy)]
struct Part {
    ends: [Vec64; 2],
    speeds: [Vec64; 2],
}

/// Places that are looked at in each part, before the way to one is halved.
const STEPS: u32 = 24;

impl<'a> Curve<'a> {
    /// From a place, where it is now, through points. `None` where all of them are there.
    pub(super) fn new(from: Vec64, points: &'a [[f32; 3]]) -> Option<Self> {
        let part = Part { ends: [from; 2], speeds: [[0.0; 3]; 2] };
        let mut curve = Self { from, points, at: 0, next: 0, part, along: 0.0 };
        curve.at = curve.other(0, from)?;
        curve.begin(from, None);
        // Too near for there to be a direction.
        (length(curve.part.speeds[1]) > 0.0).then_some(curve)
    }

    fn point(&self, at: usize) -> Vec64 {
        self.points[at].map(f64::from)
    }

    /// The first point from one on that is elsewhere.
    fn other(&self, from: usize, place: Vec64) -> Option<usize> {
        (from..self.points.len()).find(|&at| length(sub(self.point(at), place)) > 0.0)
    }

    /// Makes the part from a place to the point `at`, behind another part or none.
    fn begin(&mut self, from: Vec64, before: Option<Vec64>) {
        let to = self.point(self.at);
        let after = self.other(self.at + 1, to);
        self.next = after.unwrap_or(self.points.len());
        let own = sub(to, from);
        let knot = root(own);
        let slope = |way: Vec64| scaled(way, 1.0 / root(way));
        // The tangent where three points meet, in lengths for one of the parameter.
        let tangent = |first: Vec64, second: Vec64| {
            let all = scaled(add(first, second), 1.0 / (root(first) + root(second)));
            sub(add(slope(first), slope(second)), all)
        };
        let first = before.map_or(slope(own), |before| tangent(sub(from, before), own));
        let second = after.map_or(slope(own), |after| tangent(own, sub(self.point(after), to)));
        self.part = Part { ends: [from, to], speeds: [scaled(first, knot), scaled(second, knot)] };
        self.along = 0.0;
    }

    fn is_last(&self) -> bool {
        self.next >= self.points.len()
    }

    /// Where it is now.
    pub(super) fn place(&self) -> Vec64 {
        self.part.place(self.along, self.is_last())
    }

    /// Where the curve ends.
    pub(super) fn end(&self) -> Vec64 {
        self.points.last().map_or(self.from, |last| last.map(f64::from))
    }

    /// Goes on to the first place that is as far away as asked, straight on behind the end.
    ///
    /// `far` tells how far away a point is; it is 0 where the curve is now, or nearly, and a norm of the way from there.
    pub(super) fn advance(&mut self, far: impl Fn(Vec64) -> f64, distance: f64) -> Vec64 {
        loop {
            let last = self.is_last();
            let mut low = self.along;
            for step in 1..=STEPS {
                let high = f64::from(step) / f64::from(STEPS);
                if high <= low {
                    continue;
                }
                if far(self.part.place(high, last)) >= distance {
                    self.along = halved(low, high, |t| far(self.part.place(t, last)) < distance);
                    return self.place();
                }
                low = high;
            }
            if last {
                // The farther, the farther away: straight on, and the place that it is seen from is behind.
                let mut high = low + 1.0;
                for _ in 0..200 {
                    if far(self.part.place(high, last)) >= distance {
                        break;
                    }
                    (low, high) = (high, low + 2.0 * (high - low + 1.0));
                }
                self.along = halved(low, high, |t| far(self.part.place(t, last)) < distance);
                return self.place();
            }
            let (before, from) = (self.part.ends[0], self.part.ends[1]);
            self.at = self.next;
            self.begin(from, Some(before));
        }
    }
}

impl Part {
    fn place(&self, t: f64, last: bool) -> Vec64 {
        let ([a, b], [u, v]) = (self.ends, self.speeds);
        if last && t > 1.0 {
            return add(b, scaled(v, t - 1.0));
        }
        let s = 1.0 - t;
        // Hermite's form.
        let ends = add(scaled(a, s * s * (1.0 + 2.0 * t)), scaled(b, t * t * (3.0 - 2.0 * t)));
        add(ends, add(scaled(u, s * s * t), scaled(v, -(t * t * s))))
    }
}

/// The fourth root of the square of a length.
fn root(way: Vec64) -> f64 {
    sqrt_f64(length(way))
}

/// Where a condition ends that holds at `low` and not at `high`.
fn halved(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
