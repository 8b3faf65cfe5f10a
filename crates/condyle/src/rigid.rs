//! Rotation and translation in 64 bits: how far a character moves.

use core::ops::Mul;

use crate::math::{atan2_f64, cos_f64, normalize, sin_f64, sqrt_f64};
use crate::{Affine, Transform};

/// A movement that keeps all lengths: rotates first, then translates. In 64 bits, for sums over many loops and large
/// worlds.
///
/// ```
/// use condyle::Rigid;
///
/// let half = 0.5_f64.sqrt();
/// // A quarter turn to the left and a step ahead, seen from before the turn.
/// let turn = Rigid { rotation: [0.0, half, 0.0, half], translation: [0.0, 0.0, 1.0] };
/// let round = turn * turn * turn * turn;
/// assert!(round.translation.iter().all(|v| v.abs() < 1e-12));
/// let far = turn.power(4_000_000_001);
/// assert!((far.translation[2] - 1.0).abs() < 1e-6);
/// assert!((turn * turn.inverse()).translation.iter().all(|v| v.abs() < 1e-12));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rigid {
    /// Unit quaternion, `[x, y, z, w]`.
    pub rotation: [f64; 4],
    /// Metres.
    pub translation: [f64; 3],
}

impl Default for Rigid {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl From<Rigid> for Transform {
    /// Rounded.
    fn from(m: Rigid) -> Self {
        Self {
            rotation: m.rotation.map(|v| v as f32),
            translation: m.translation.map(|v| v as f32),
            scale: [1.0; 3],
        }
    }
}

impl From<Rigid> for Affine {
    /// Rounded.
    fn from(m: Rigid) -> Self {
        Self::from_transform(&m.into())
    }
}

impl Mul for Rigid {
    type Output = Self;

    /// `self * right`: first `right`, then `self`. The rotation of a product has unit length, so that errors of length
    /// do not grow.
    fn mul(self, right: Self) -> Self {
        let moved = rotate(self.rotation, right.translation);
        let mut rotation = product(self.rotation, right.rotation);
        normalize(&mut rotation);
        Self { rotation, translation: core::array::from_fn(|c| moved[c] + self.translation[c]) }
    }
}

impl Rigid {
    /// Leaves everything where it is.
    pub const IDENTITY: Self = Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3] };

    /// What undoes it.
    #[must_use]
    pub fn inverse(self) -> Self {
        let rotation = conjugate(self.rotation);
        Self { rotation, translation: rotate(rotation, self.translation).map(|v| -v) }
    }

    /// The movement so many times, or undone so many times: by squaring, so that the number may be any. An error of the
    /// rotation grows with it.
    #[must_use]
    pub fn power(self, exponent: i64) -> Self {
        let mut square = if exponent < 0 { self.inverse() } else { self };
        let mut left = exponent.unsigned_abs();
        let mut power = Self::IDENTITY;
        while left > 0 {
            if left % 2 == 1 {
                power = power * square;
            }
            left /= 2;
            // One more could overflow.
            if left > 0 {
                square = square * square;
            }
        }
        power
    }

    /// The point moved.
    #[must_use]
    pub fn transform_point(&self, p: [f64; 3]) -> [f64; 3] {
        let turned = rotate(self.rotation, p);
        core::array::from_fn(|c| turned[c] + self.translation[c])
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.rotation.iter().chain(&self.translation).all(|v| v.is_finite())
    }
}

/// The Hamilton product: first `b`, then `a`.
pub(crate) fn product(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    let ([ax, ay, az, aw], [bx, by, bz, bw]) = (a, b);
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

pub(crate) fn conjugate([x, y, z, w]: [f64; 4]) -> [f64; 4] {
    [-x, -y, -z, w]
}

/// A vector turned by a unit quaternion.
pub(crate) fn rotate([x, y, z, w]: [f64; 4], v: [f64; 3]) -> [f64; 3] {
    let twice = [2.0 * (y * v[2] - z * v[1]), 2.0 * (z * v[0] - x * v[2]), 2.0 * (x * v[1] - y * v[0])];
    [
        v[0] + w * twice[0] + (y * twice[2] - z * twice[1]),
        v[1] + w * twice[1] + (z * twice[0] - x * twice[2]),
        v[2] + w * twice[2] + (x * twice[1] - y * twice[0]),
    ]
}

/// The vector along the axis of a rotation, as long as its angle, at most π. Of a half turn either way is as short:
/// that one of which the first component that is not 0 is positive.
pub(crate) fn log(q: [f64; 4]) -> [f64; 3] {
    let [x, y, z, w] = q;
    let back = w < 0.0 || (w == 0.0 && [x, y, z].into_iter().find(|&v| v != 0.0).is_some_and(|v| v < 0.0));
    let sign = if back { -1.0 } else { 1.0 };
    let sin = sqrt_f64(x * x + y * y + z * z);
    // Angle by sine, which is 2 where both are next to nothing.
    let ratio = if sin > 1e-100 { 2.0 * atan2_f64(sin, sign * w) / sin } else { 2.0 };
    [x, y, z].map(|v| v * sign * ratio)
}

/// The rotation about a vector by an angle of its length, up to 2,000,000.
pub(crate) fn exp(v: [f64; 3]) -> [f64; 4] {
    let angle = sqrt_f64(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    let ratio = if angle > 1e-100 { sin_f64(angle / 2.0) / angle } else { 0.5 };
    let mut q = [v[0] * ratio, v[1] * ratio, v[2] * ratio, cos_f64(angle / 2.0)];
    normalize(&mut q);
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::testing::{Random, tries};

    pub(crate) fn random_rigid(random: &mut Random) -> Rigid {
        let mut rotation = random.unit::<4>().map(f64::from);
        normalize(&mut rotation);
        Rigid { rotation, translation: random.vector(2.0).map(f64::from) }
    }

    fn apart(a: &Rigid, b: &Rigid) -> f64 {
        let same = |sign: f64| {
            let turned = a.rotation.iter().zip(b.rotation).map(|(a, b)| (a - sign * b).abs());
            turned.fold(0.0, f64::max)
        };
        let moved = a.translation.iter().zip(b.translation).map(|(a, b)| (a - b).abs());
        moved.fold(same(1.0).min(same(-1.0)), f64::max)
    }

    #[test]
    fn products_and_inverses_are_those_of_matrices() {
        let mut random = Random(1);
        for case in 0..tries(500) {
            let [a, b] = [random_rigid(&mut random), random_rigid(&mut random)];
            let matrix = |m: &Rigid| {
                let local =
                    reference::Local { rotation: m.rotation, translation: m.translation, scale: [1.0; 3] };
                reference::local_matrix(&local)
            };
            let want = reference::multiply(&matrix(&a), &matrix(&b));
            let got = matrix(&(a * b));
            let p = random.vector(3.0).map(f64::from);
            let (point, want_point) = ((a * b).transform_point(p), reference::transform_point(&want, p));
            for (got, want) in got.as_flattened().iter().zip(want.as_flattened()) {
                assert!((got - want).abs() < 1e-14, "case {case}: {got} instead of {want}");
            }
            for (got, want) in point.iter().zip(want_point) {
                assert!((got - want).abs() < 1e-14, "case {case}: {got} instead of {want}");
            }
            assert!(apart(&(a * a.inverse()), &Rigid::IDENTITY) < 1e-14, "case {case}");
        }
    }

    #[test]
    fn powers_are_products() {
        let mut random = Random(2);
        for case in 0..tries(50) {
            let m = random_rigid(&mut random);
            let (mut there, mut back) = (Rigid::IDENTITY, Rigid::IDENTITY);
            for n in 0..tries(200) as i64 {
                assert!(apart(&m.power(n), &there) < 1e-12, "case {case}, power {n}");
                assert!(apart(&m.power(-n), &back) < 1e-12, "case {case}, power -{n}");
                (there, back) = (there * m, back * m.inverse());
            }
        }
        let step = Rigid { translation: [0.5, 0.0, -2.0], ..Rigid::IDENTITY };
        assert_eq!(
            step.power(1 << 50).translation,
            [f64::from(1_u32 << 31) * 262_144.0, 0.0, -2f64.powi(51)]
        );
        assert_eq!(step.power(i64::MIN).translation[0], -2f64.powi(62));
    }

    #[test]
    fn logarithms_lead_back() {
        let mut random = Random(3);
        for case in 0..tries(2000) {
            let mut q = random_rigid(&mut random).rotation;
            if case % 4 == 0 {
                // Small angles and nearly half turns.
                let at = if case % 8 == 0 { 3 } else { case / 8 % 3 };
                q = core::array::from_fn(|c| if c == at { q[c] } else { q[c] * 1e-6 });
                normalize(&mut q);
            }
            let (v, back) = (log(q), exp(log(q)));
            assert!(v.iter().map(|v| v * v).sum::<f64>() < 9.87, "case {case}: {v:?}");
            let error = |sign: f64| (0..4).map(|c| (q[c] - sign * back[c]).abs()).fold(0.0, f64::max);
            assert!(error(1.0).min(error(-1.0)) < 1e-11, "case {case}: {q:?}, {back:?}");
            assert_eq!(log(q.map(|v| -v)), v, "case {case}");
        }
        assert_eq!(log([0.0, 0.0, 0.0, 1.0]), [0.0; 3]);
        assert_eq!(exp([0.0; 3]), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(log([0.0, -1.0, 0.0, 0.0]), log([0.0, 1.0, 0.0, 0.0]));
        let far = exp([0.0, 2e6, 0.0]);
        assert!((far[1] - 1e6_f64.sin()).abs() < 1e-9, "{far:?}");
    }

    #[test]
    fn rounded_to_floats_it_moves_the_same() {
        let m = random_rigid(&mut Random(4));
        let (got, want) =
            (Affine::from(m).transform_point([1.0, 2.0, 3.0]), m.transform_point([1.0, 2.0, 3.0]));
        crate::testing::assert_close(&got, &want, 1e-6, "a point");
        assert_eq!(Transform::from(Rigid::IDENTITY), Transform::IDENTITY);
    }
}
