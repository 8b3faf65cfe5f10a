//! Points and balls of a joint, points four at a time.
//!
//! Most time of a search is in loops over these points at each moment. Four points in one array are two
//! vector operations each, and the early end of a loop is checked once per four points. Each point has the
//! arithmetic of [`Ball`], so results have the same bits.

use alloc::vec::Vec;

use crate::measure::algebra::Affine64;
use crate::measure::ball::Ball;
use condyle_base::math::scalar::sqrt_f64;

/// Number of points that are calculated together.
const WIDTH: usize = 4;

/// Points in joint space, each with a limit, and balls, which are calculated one by one.
#[derive(Debug, Clone, Default)]
pub(crate) struct BallSet {
    points: Vec<Points>,
    balls: Vec<LimitedBall>,
}

#[derive(Debug, Clone, Copy)]
struct LimitedBall {
    ball: Ball,
    limit: f64,
    nearness: f64,
}

/// [`WIDTH`] points: the last point fills up the rest.
#[derive(Debug, Clone, Copy)]
struct Points {
    places: [[f64; WIDTH]; 3],
    limits: [f64; WIDTH],
    /// Inverse of the distance of each point from the joint.
    nearness: [f64; WIDTH],
}

impl Points {
    /// Squared displacement of each point.
    #[inline(always)]
    fn squares(&self, off: &Affine64) -> [f64; WIDTH] {
        let ([x, y, z], [a, b, c]) = (&self.places, &off.linear);
        core::array::from_fn(|at| {
            let along =
                |row: &[f64; 3], origin: f64| row[0] * x[at] + row[1] * y[at] + row[2] * z[at] + origin;
            let [x, y, z] = [along(a, off.origin[0]), along(b, off.origin[1]), along(c, off.origin[2])];
            x * x + y * y + z * z
        })
    }
}

impl BallSet {
    /// Sorts balls with their limits: those without axes are points.
    pub(crate) fn new(all: impl Iterator<Item = (Ball, f64)>) -> Self {
        let mut balls = Self::default();
        let mut lane = WIDTH;
        for (ball, limit) in all {
            let nearness = 1.0 / ball.size();
            if ball.axes.is_some() {
                balls.balls.push(LimitedBall { ball, limit, nearness });
                continue;
            }
            if lane == WIDTH {
                let empty = [0.0; WIDTH];
                balls.points.push(Points { places: [empty; 3], limits: empty, nearness: empty });
                lane = 0;
            }
            if let Some(points) = balls.points.last_mut() {
                for at in lane..WIDTH {
                    for (places, place) in points.places.iter_mut().zip(ball.centre) {
                        places[at] = place;
                    }
                    (points.limits[at], points.nearness[at]) = (limit, nearness);
                }
            }
            lane += 1;
        }
        balls
    }

    /// Whether the displacement of each ball by `off` is at most its limit.
    pub(crate) fn is_within(&self, off: &Affine64) -> bool {
        self.is_within_limits(off, |limit, _| limit)
    }

    /// Whether the displacement of each ball by `off` is at most the result of `of`, which receives its limit
    /// and the inverse of its distance from the joint.
    #[inline(always)]
    pub(crate) fn is_within_limits(&self, off: &Affine64, of: impl Fn(f64, f64) -> f64) -> bool {
        let are_within = |points: &Points| {
            let squares = points.squares(off);
            let mut within = true;
            for (at, square) in squares.into_iter().enumerate() {
                let limit = of(points.limits[at], points.nearness[at]);
                within &= square <= limit * limit;
            }
            within
        };
        let is_within = |ball: &LimitedBall| ball.ball.is_within(off, of(ball.limit, ball.nearness));
        self.points.iter().all(are_within) && self.balls.iter().all(is_within)
    }

    /// Maximum displacement of a ball by `off`; 0 without balls.
    pub(crate) fn farthest(&self, off: &Affine64) -> f64 {
        let mut most = [0.0_f64; WIDTH];
        for points in &self.points {
            for (most, square) in most.iter_mut().zip(points.squares(off)) {
                *most = if square > *most { square } else { *most };
            }
        }
        let farthest = sqrt_f64(most.into_iter().fold(0.0, f64::max));
        self.balls.iter().map(|ball| ball.ball.farthest(off)).fold(farthest, f64::max)
    }

    /// Minimum over the balls of the limit minus the displacement by `off` and minus `shift`, divided by the
    /// distance from the joint; infinite without balls. Balls have a lower bound of it.
    pub(crate) fn slack(&self, off: &Affine64, shift: f64) -> f64 {
        let mut least = [f64::INFINITY; WIDTH];
        for points in &self.points {
            let far = points.squares(off).map(sqrt_f64);
            for at in 0..WIDTH {
                let slack = (points.limits[at] - shift - far[at]) * points.nearness[at];
                least[at] = if slack < least[at] { slack } else { least[at] };
            }
        }
        let least = least.into_iter().fold(f64::INFINITY, f64::min);
        let of_ball =
            |ball: &LimitedBall| (ball.limit - shift - ball.ball.farthest_at_most(off)) * ball.nearness;
        self.balls.iter().map(of_ball).fold(least, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::{Random, tries};

    /// Points in lanes have the bits of balls one by one.
    #[test]
    fn bodies_together_are_bodies_one_by_one() {
        let mut random = Random(12);
        let mut within = 0;
        for case in 0..tries(400) {
            let mut vector = |size: f32| random.vector(size).map(f64::from);
            let all: Vec<(Ball, f64)> = (0..case % 11)
                .map(|at| {
                    let axes = (at % 4 == 3).then(|| [(); 3].map(|()| vector(0.1)));
                    (Ball { centre: vector(0.3), axes }, 1e-3 + 1e-4 * at as f64)
                })
                .collect();
            let off = Affine64 { linear: [(); 3].map(|()| vector(3e-3)), origin: vector(5e-4) };
            let balls = BallSet::new(all.iter().copied());
            let farthest = all.iter().map(|(ball, _)| ball.farthest(&off)).fold(0.0, f64::max);
            assert_eq!(balls.farthest(&off), farthest, "case {case}");
            let is_within = all.iter().all(|(ball, limit)| ball.is_within(&off, *limit));
            assert_eq!(balls.is_within(&off), is_within, "case {case}");
            within += usize::from(is_within);
            let slack = |(ball, limit): &(Ball, f64)| {
                (limit - 1e-5 - ball.farthest_at_most(&off)) * (1.0 / ball.size())
            };
            let least = all.iter().map(slack).fold(f64::INFINITY, f64::min);
            assert_eq!(balls.slack(&off, 1e-5), least, "case {case}");
        }
        assert!(within > 0 && within < tries(400), "{within}");
    }
}
