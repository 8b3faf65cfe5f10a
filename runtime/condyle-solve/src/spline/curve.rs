//! A curve through points, traversed from its beginning to its end.
//!
//! Catmull-Rom spline whose knot intervals are the square roots of the distances between points
//! (centripetal), which avoids loops and cusps. Yuksel, Schaefer, Keyser, "Parameterization and applications
//! of Catmull-Rom curves", 2011.

use crate::maps::{Vec64, add, length, scaled, sub};
use condyle_base::math::scalar::sqrt_f64;

/// A curve, and a position on it that only moves forward.
pub(super) struct Curve<'a> {
    from: Vec64,
    points: &'a [[f32; 3]],
    /// Index of the point at the end of the current part, and index of the next different point.
    at: usize,
    next: usize,
    part: Part,
    /// Parameter from 0 to 1 along the part. Beyond the end of the last part, 1 plus multiples of its last
    /// tangent.
    along: f64,
}

/// Cubic between two points: its ends, and its derivatives there with respect to the parameter.
#[derive(Clone, Copy)]
struct Part {
    ends: [Vec64; 2],
    speeds: [Vec64; 2],
}

/// Number of samples per part, before bisection.
const STEPS: u32 = 24;

impl<'a> Curve<'a> {
    /// A curve from a position through points, at its start. `None` if all points are at that position.
    pub(super) fn new(from: Vec64, points: &'a [[f32; 3]]) -> Option<Self> {
        let part = Part { ends: [from; 2], speeds: [[0.0; 3]; 2] };
        let mut curve = Self { from, points, at: 0, next: 0, part, along: 0.0 };
        curve.at = curve.other(0, from)?;
        curve.begin(from, None);
        // Points too close together define no direction.
        (length(curve.part.speeds[1]) > 0.0).then_some(curve)
    }

    fn point(&self, at: usize) -> Vec64 {
        self.points[at].map(f64::from)
    }

    /// Index of the first point, from index `from` on, that is not at `place`.
    fn other(&self, from: usize, place: Vec64) -> Option<usize> {
        (from..self.points.len()).find(|&at| length(sub(self.point(at), place)) > 0.0)
    }

    /// Sets up the part from a position to the point `at`, after another part if there is one.
    fn begin(&mut self, from: Vec64, before: Option<Vec64>) {
        let to = self.point(self.at);
        let after = self.other(self.at + 1, to);
        self.next = after.unwrap_or(self.points.len());
        let own = sub(to, from);
        let knot = root(own);
        let slope = |way: Vec64| scaled(way, 1.0 / root(way));
        // Tangent where two parts meet, with respect to the knot parameter.
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

    /// Current position.
    pub(super) fn place(&self) -> Vec64 {
        self.part.place(self.along, self.is_last())
    }

    /// End of the curve.
    pub(super) fn end(&self) -> Vec64 {
        self.points.last().map_or(self.from, |last| last.map(f64::from))
    }

    /// Moves forward to the first position at the given distance. Beyond the end, the curve continues as a
    /// straight line.
    ///
    /// `far` returns the distance of a point: a norm of its offset from the current position, or from a
    /// position close to it.
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
                // Beyond the end the line is straight and leads away from the start of the bone, so the
                // distance only grows.
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
        // Hermite form.
        let ends = add(scaled(a, s * s * (1.0 + 2.0 * t)), scaled(b, t * t * (3.0 - 2.0 * t)));
        add(ends, add(scaled(u, s * s * t), scaled(v, -(t * t * s))))
    }
}

/// Knot interval: the square root of a distance.
fn root(way: Vec64) -> f64 {
    sqrt_f64(length(way))
}

/// Finds, by bisection, the number between `low` and `high` at which a condition stops holding. It must hold
/// at `low`.
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
