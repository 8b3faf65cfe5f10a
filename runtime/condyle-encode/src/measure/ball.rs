//! Points and balls whose error is bounded.
//!
//! The displacement of a point by a decoded joint is an affine function of the point: `off.linear · p +
//! off.origin`. A ball has centre c and half axes E, and is an ellipsoid if the joint has a scale. The
//! displacement of its points is at most |off.linear · c + off.origin| plus the largest singular value of
//! off.linear · E. The first part is the displacement of the centre. The second is the maximum by which the
//! linear part lengthens a unit vector. Therefore no sampling is needed.
//!
//! Example: a joint is rotated by 1e-3 rad too far and displaced by 0.2 mm. For a ball of 30 mm the
//! displacement is at most 0.2 + 0.03 = 0.23 mm.

use crate::measure::algebra::{Affine64, Vector, apply, length, sub, times, transposed};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{dot, stretch};

/// Point, or ball around a point, in joint space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ball {
    pub(crate) centre: Vector,
    /// Matrix that maps the unit ball to the points around the centre; `None` for a point.
    pub(crate) axes: Option<[Vector; 3]>,
}

impl Ball {
    pub(crate) fn point(centre: Vector) -> Self {
        Self { centre, axes: None }
    }

    /// Maximum displacement of a point of the ball by `off`, the difference of two matrices.
    pub(crate) fn farthest(&self, off: &Affine64) -> f64 {
        self.around(length(off.point(self.centre)), &off.linear)
    }

    /// Upper bound of [`farthest`](Self::farthest), at most √3 times it, without an eigenvalue.
    pub(crate) fn farthest_at_most(&self, off: &Affine64) -> f64 {
        let middle = length(off.point(self.centre));
        middle + self.axes.as_ref().map_or(0.0, |axes| sqrt_f64(squares(&times(&off.linear, axes))))
    }

    /// Maximum displacement between two given matrices.
    pub(crate) fn between(&self, is: &Affine64, want: &Affine64) -> f64 {
        match self.axes {
            None => length(sub(is.point(self.centre), want.point(self.centre))),
            Some(_) => self.farthest(&is.less(want)),
        }
    }

    /// Like [`between`](Self::between); `None` if the result is certainly at most `floor`.
    pub(crate) fn beyond(&self, is: &Affine64, want: &Affine64, floor: f64) -> Option<f64> {
        let Some(axes) = &self.axes else { return Some(self.between(is, want)) };
        let off = is.less(want);
        let (middle, moved) = (length(off.point(self.centre)), times(&off.linear, axes));
        // The root of the sum of the squared singular values is at least the largest. `stretch` may round up.
        let square = squares(&moved);
        let left = floor - middle;
        (left < 0.0 || square * 1.000_001 > left * left).then(|| middle + stretch(&moved))
    }

    /// Whether [`farthest`](Self::farthest) is at most `limit`.
    pub(crate) fn is_within(&self, off: &Affine64, limit: f64) -> bool {
        let middle = off.point(self.centre);
        let Some(axes) = &self.axes else { return dot(middle, middle) <= limit * limit };
        let left = limit - length(middle);
        let moved = times(&off.linear, axes);
        let square = squares(&moved);
        // `square` is the sum of the squared singular values: at least the square of the largest, and at most
        // three times that.
        let most = left * left;
        left >= 0.0 && (square <= most || square <= 3.0 * most && stretch(&moved) <= left)
    }

    /// Maximum distance of the ball's points from the joint after a linear map.
    pub(crate) fn reach(&self, linear: &[Vector; 3]) -> f64 {
        self.around(length(apply(linear, self.centre)), linear)
    }

    /// Maximum distance of the ball's points from the joint.
    pub(crate) fn size(&self) -> f64 {
        length(self.centre) + self.axes.as_ref().map_or(0.0, stretch)
    }

    /// Extent along a direction, multiplied by the length of `direction`.
    pub(crate) fn along(&self, direction: Vector) -> f64 {
        let around = self.axes.as_ref().map_or(0.0, |axes| length(apply(&transposed(axes), direction)));
        dot(self.centre, direction) + around
    }

    /// Ball mapped by an affine matrix, for example to the parent's space.
    pub(crate) fn moved(&self, by: &Affine64) -> Self {
        Self { centre: by.point(self.centre), axes: self.axes.map(|axes| times(&by.linear, &axes)) }
    }

    fn around(&self, middle: f64, linear: &[Vector; 3]) -> f64 {
        middle + self.axes.as_ref().map_or(0.0, |axes| stretch(&times(linear, axes)))
    }
}

/// Sum of the squared singular values of a matrix.
pub(crate) fn squares(matrix: &[Vector; 3]) -> f64 {
    dot(matrix[0], matrix[0]) + dot(matrix[1], matrix[1]) + dot(matrix[2], matrix[2])
}

/// Returns an upper bound on the displacement of any point of a ball. `centre` and `ends` are the
/// displacements of the centre and of the ends of its three axes.
///
/// All displacements are vectors in model space. The encoder bounds balls ([`Shell::Balls`](crate::Shell)) in
/// this way.
///
/// ```
/// use condyle_encode::farthest_of_ball;
///
/// // A joint is at its authored position, but rotated by 0.01 rad about the first axis of a ball of 30 mm.
/// let off = farthest_of_ball([0.0; 3], [[0.0; 3], [0.0, 0.0, 0.3], [0.0, -0.3, 0.0]]);
/// assert!((off - 0.3).abs() < 1e-6);
/// ```
#[must_use]
pub fn farthest_of_ball(centre: [f64; 3], ends: [[f64; 3]; 3]) -> f64 {
    length(centre) + stretch(&ends.map(|end| sub(end, centre)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::{Random, tries};

    /// No point of a ball is displaced by more than the bound, and some points by at least half of it.
    #[test]
    fn all_points_of_a_ball_are_within_the_bound() {
        let mut random = Random(6);
        for _ in 0..tries(200) {
            let mut vector = |size: f32| random.vector(size).map(f64::from);
            let linear = [(); 3].map(|()| vector(1e-3));
            let off = Affine64 { linear, origin: vector(1e-4) };
            let axes = [(); 3].map(|()| vector(0.1));
            let ball = Ball { centre: vector(0.1), axes: Some(axes) };
            let (bound, mut farthest) = (ball.farthest(&off), 0.0_f64);
            for _ in 0..300 {
                let direction = vector(1.0);
                let unit = direction.map(|v| v / length(direction).max(1e-9));
                let point = crate::measure::algebra::add(ball.centre, apply(&axes, unit));
                farthest = farthest.max(length(off.point(point)));
                assert!(ball.along(direction) >= dot(point, direction) - 1e-12);
            }
            assert!(farthest <= bound * (1.0 + 1e-9), "{farthest} of {bound}");
            assert!(farthest > 0.5 * bound, "{farthest} of {bound}");
            assert!(ball.is_within(&off, bound * 1.000_001) && !ball.is_within(&off, bound * 0.999_999));
        }
    }
}
