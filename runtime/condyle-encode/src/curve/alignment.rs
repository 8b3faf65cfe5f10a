//! Points that a joint's rotation must move to their authored positions, and the rotation that brings them
//! closest.

use alloc::vec::Vec;

use crate::measure::algebra::{Affine64, Vector, add, apply, scaled_columns, solve, times, transposed};
use crate::measure::ball_set::BallSet;
use crate::measure::budget::USABLE_FRACTION;
use crate::measure::carried_points::CarriedPoint;
use condyle_base::math::Transform64;
use condyle_base::math::quats::{Quat64, exp, product, rows};
use condyle_base::math::scalar::sqrt_f64;

/// Regularisation of the least-squares rotation, as a fraction of the trace of its normal matrix. Without it,
/// points on one line leave the rotation about that line undetermined. Half: targets +0.5 %, defaults equal;
/// twice: -0.4 % and +0.5 %.
const RIDGE: f64 = 1e-3;

/// Points that a rotation must move to their authored positions, at all moments.
pub(crate) struct Alignment {
    moments: Vec<AlignmentMoment>,
    /// Sums over the points, each weighted by the inverse of its squared limit: of the products of two
    /// components, and of the components. With these sums, the cost of a moment does not depend on the number
    /// of points.
    products: [Vector; 3],
    sum: Vector,
    /// The points with their usable limits.
    balls: BallSet,
    /// Difference between two readers of the same keys, per moment; empty if all readers get the same.
    spreads: Vec<Spread>,
}

/// Half of the difference between readers that normalise rotations and readers that do not. The target
/// positions are the means of both.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spread {
    /// Distance by which the joint moves.
    pub(crate) shift: f64,
    /// Distance by which a point at distance 1 from the joint moves in addition.
    pub(crate) turn: f64,
}

/// Fraction of a limit that remains if readers differ by more than the limit.
const LEAST_LEFT: f64 = 0.5;

/// Data of a moment. The displacement of a point is an affine function of it: the decoded model matrix minus
/// the authored one.
struct AlignmentMoment {
    /// Linear part of the decoded parent's model matrix.
    outer: [Vector; 3],
    scale: Vector,
    /// Position of the joint.
    origin: Vector,
    /// Authored model matrix.
    wanted: Affine64,
}

impl Alignment {
    pub(crate) fn new(
        parents: Option<&[Affine64]>,
        model: &[Affine64],
        points: &[CarriedPoint],
        own: &[Transform64],
    ) -> Self {
        let of_moment = |(moment, (local, model)): (usize, (&Transform64, &Affine64))| {
            let parent = parents.map_or(Affine64::IDENTITY, |parents| parents[moment]);
            let origin = parent.point(local.translation);
            AlignmentMoment { outer: parent.linear, scale: local.scale, origin, wanted: *model }
        };
        let moments = own.iter().zip(model).enumerate().map(of_moment).collect();
        let (mut products, mut sum) = ([[0.0; 3]; 3], [0.0; 3]);
        for &CarriedPoint { ball, limit, .. } in points {
            let mut add_point = |local: Vector, weight: f64| {
                let weighted = local.map(|v| v * weight / (limit * limit));
                for (row, v) in products.iter_mut().zip(weighted) {
                    *row = add(*row, local.map(|local| local * v));
                }
                sum = add(sum, weighted);
            };
            match &ball.axes {
                None => add_point(ball.centre, 1.0),
                // Both ends of each axis.
                Some(axes) => transposed(axes).into_iter().for_each(|axis| {
                    add_point(add(ball.centre, axis), 0.5);
                    add_point(add(ball.centre, axis.map(|v| -v)), 0.5);
                }),
            }
        }
        let balls = BallSet::new(points.iter().map(|point| (point.ball, point.limit * USABLE_FRACTION)));
        Self { moments, products, sum, balls, spreads: Vec::new() }
    }

    /// Distance of the outermost point from the joint, in model space, over the whole segment.
    pub(crate) fn reach(&self, model: &[Affine64]) -> f64 {
        let of_moment = |model: &Affine64| self.balls.farthest(&Affine64 { origin: [0.0; 3], ..*model });
        model.iter().map(of_moment).fold(0.0, f64::max)
    }

    /// The same alignment, for readers that differ.
    pub(crate) fn with_spreads(self, spreads: Vec<Spread>) -> Self {
        Self { spreads, ..self }
    }

    /// Displacement of the points at a moment with rotation `q`, and the linear part of the joint's matrix.
    fn off(&self, moment: usize, q: Quat64) -> (Affine64, [Vector; 3]) {
        let AlignmentMoment { outer, scale, origin, wanted } = &self.moments[moment];
        let own = scaled_columns(&rows(q), *scale);
        (Affine64 { linear: times(outer, &own), origin: *origin }.less(wanted), own)
    }

    /// Whether all points are within their limits at a moment.
    pub(crate) fn holds(&self, moment: usize, q: Quat64) -> bool {
        if let Some(&spread) = self.spreads.get(moment) {
            return self.holds_for_both(moment, q, spread);
        }
        let (off, _) = self.off(moment, q);
        self.balls.is_within(&off)
    }

    /// [`holds`](Self::holds) for readers that normalise `q` and for those that do not.
    fn holds_for_both(&self, moment: usize, q: Quat64, Spread { shift, turn }: Spread) -> bool {
        let [x, y, z, w] = q.map(|v| v * v);
        let longer = (x + y + z + w - 1.0).abs();
        // The matrix of a rotation by the angle a, minus 1, moves a point at distance 1 by 2 sin(a / 2). The
        // squared length is a factor of it.
        let turn = turn + longer * sqrt_f64(x + y + z);
        let scale = &self.moments[moment].scale;
        let turn = turn * scale[0].abs().max(scale[1].abs()).max(scale[2].abs());
        let (off, _) = self.off(moment, q.map(|v| v * (1.0 - (x + y + z + w - 1.0) / 4.0)));
        self.balls.is_within_limits(&off, |limit, nearness| {
            (limit - shift - turn / nearness).max(limit * LEAST_LEFT)
        })
    }

    /// One Gauss-Newton step of half length from `q` towards the rotation that brings the points nearest to
    /// their positions. A quarter step: targets +7.3 %, defaults +2.5 %; a full step: targets 13x larger.
    pub(crate) fn best(&self, moment: usize, q: Quat64) -> Quat64 {
        let (off, own) = self.off(moment, q);
        let outer = &self.moments[moment].outer;
        // Per radian about an axis e, an arm a moves by outer · (e × a). The normal matrix therefore consists
        // of products of the arms' components, c, and of the columns of `outer`, g.
        let c = times(&times(&own, &self.products), &transposed(&own));
        let g = times(&transposed(outer), outer);
        let mixed = |i: usize, j: usize| g[i][i] * c[j][j] - 2.0 * g[i][j] * c[i][j] + g[j][j] * c[i][i];
        let xy = g[0][2] * c[1][2] + g[1][2] * c[0][2] - g[0][1] * c[2][2] - g[2][2] * c[0][1];
        let xz = g[0][1] * c[1][2] + g[1][2] * c[0][1] - g[0][2] * c[1][1] - g[1][1] * c[0][2];
        let yz = g[0][1] * c[0][2] + g[0][2] * c[0][1] - g[1][2] * c[0][0] - g[0][0] * c[1][2];
        let [xx, yy, zz] = [mixed(1, 2), mixed(0, 2), mixed(0, 1)];
        let ridge = RIDGE * (xx + yy + zz);
        let normal = [[xx + ridge, xy, xz], [xy, yy + ridge, yz], [xz, yz, zz + ridge]];
        // Sum of a × d over the arms, with d = outerᵀ · off, from the sums of products of their components.
        let column =
            |c: usize| add(apply(&self.products, off.linear[c]), self.sum.map(|v| v * off.origin[c]));
        let against = times(&times(&own, &transposed(&[column(0), column(1), column(2)])), outer);
        let right =
            [against[2][1] - against[1][2], against[0][2] - against[2][0], against[1][0] - against[0][1]];
        product(exp(solve(&normal, right).map(|v| v * 0.5)), q)
    }

    /// Returns a distance from `q` at a moment. Every quaternion within that distance, or whose logarithm is,
    /// keeps all points within their limits. 0 if `q` itself does not.
    pub(crate) fn slack(&self, moment: usize, q: Quat64) -> f64 {
        let (off, _) = self.off(moment, q);
        let AlignmentMoment { outer, scale, .. } = &self.moments[moment];
        // The squared stretch of `outer` is at most the largest row sum of absolute values of this product.
        let square = times(&transposed(outer), outer);
        let stretch = square.map(|[x, y, z]| x.abs() + y.abs() + z.abs());
        let stretch = sqrt_f64(stretch[0].max(stretch[1]).max(stretch[2]));
        let scale = scale[0].abs().max(scale[1].abs()).max(scale[2].abs());
        // The ends of an arm rotated by two quaternions are at most twice its length times their difference
        // apart.
        let spread = self.spreads.get(moment).copied();
        let Spread { shift, turn } = spread.unwrap_or_default();
        let least = self.balls.slack(&off, shift) - turn * scale;
        // The difference between readers grows with the distance of the quaternion too, at most as fast.
        let ways = if spread.is_some() { 4.0 } else { 2.0 };
        (least / (ways * stretch * scale)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::measure::ball::Ball;
    use condyle_base::math::vectors::normalize;
    use condyle_testing::{Random, tries};

    /// Both readers keep all points within their limits where the alignment holds, and it holds within the
    /// slack.
    #[test]
    fn alignments_hold_for_both_kinds_of_readers() {
        let mut random = Random(8);
        let mut held = 0;
        for case in 0..tries(2000) {
            let mut turn = || {
                let mut q = random.unit::<4>().map(f64::from);
                normalize(&mut q);
                q
            };
            let (own, above) = (turn(), turn());
            let mut vector = |size: f32| random.vector(size).map(f64::from);
            let local = Transform64 { translation: vector(0.3), rotation: own, scale: [1.0; 3] };
            let mean = Affine64 { linear: rows(above), origin: vector(0.3) };
            let half = Affine64 { linear: [(); 3].map(|()| vector(1e-4)), origin: vector(2e-4) };
            let points = [0.1, 0.4].map(|size| CarriedPoint::new(Ball::point(vector(size)), 1e-3));
            let model = mean.after(&Affine64::local(&local));
            let spread = Spread {
                shift: crate::measure::algebra::length(half.point(local.translation)),
                turn: sqrt_f64(crate::measure::ball::squares(&half.linear)),
            };
            let (parents, models, locals) = ([mean], [model], [local]);
            let alignment =
                Alignment::new(Some(&parents), &models, &points, &locals).with_spreads(vec![spread]);
            let off = random.unit::<4>().map(f64::from);
            let size = [0.1, 0.5, 0.9, 2.0][case % 4] * alignment.slack(0, own);
            let q: Quat64 = core::array::from_fn(|c| own[c] + off[c] * size);
            assert!(case % 4 == 3 || size == 0.0 || alignment.holds(0, q), "case {case}");
            if !alignment.holds(0, q) {
                continue;
            }
            held += 1;
            for sign in [1.0, -1.0] {
                let parent = mean.less(&Affine64 {
                    linear: half.linear.map(|row| row.map(|v| v * -sign)),
                    origin: half.origin.map(|v| v * -sign),
                });
                let mut rotation = q;
                if sign < 0.0 {
                    normalize(&mut rotation);
                }
                let off = parent.after(&Affine64::local(&Transform64 { rotation, ..local })).less(&model);
                for point in &points {
                    assert!(point.ball.farthest(&off) <= point.limit, "case {case}, reader {sign}");
                }
            }
        }
        assert!(held > tries(2000) / 8, "{held}");
    }
}
