//! Rigid transforms in f64, for the motion of characters.

use core::ops::Mul;

use super::quats::{conjugate, product, renormalized, rotate};
use super::transform::{Affine, Transform};

/// A rigid transform: rotates first, then translates. Uses f64, because errors add up over many loops
/// and worlds can be large.
///
/// ```
/// use condyle::math::Rigid;
///
/// let half = 0.5_f64.sqrt();
/// // A quarter turn to the left and a step forward, in the direction before the turn.
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
    /// Translation in metres.
    pub translation: [f64; 3],
}

impl Default for Rigid {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl From<Rigid> for Transform {
    /// Rounds to f32.
    #[inline]
    fn from(m: Rigid) -> Self {
        Self {
            rotation: m.rotation.map(|v| v as f32),
            translation: m.translation.map(|v| v as f32),
            scale: [1.0; 3],
        }
    }
}

impl From<Rigid> for Affine {
    /// Rounds to f32.
    #[inline]
    fn from(m: Rigid) -> Self {
        Self::from_transform(&m.into())
    }
}

impl Mul for Rigid {
    type Output = Self;

    /// Returns `self * right`, which applies `right` first. Normalises the rotation, so that errors of its
    /// length do not grow.
    #[inline]
    fn mul(self, right: Self) -> Self {
        let moved = rotate(self.rotation, right.translation);
        let rotation = renormalized(product(self.rotation, right.rotation));
        Self { rotation, translation: core::array::from_fn(|c| moved[c] + self.translation[c]) }
    }
}

impl Rigid {
    /// Identity transform.
    pub const IDENTITY: Self = Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3] };

    /// Returns the inverse.
    #[must_use]
    #[inline]
    pub fn inverse(self) -> Self {
        let rotation = conjugate(self.rotation);
        Self { rotation, translation: rotate(rotation, self.translation).map(|v| -v) }
    }

    /// Returns `self.inverse() * other`, with less arithmetic.
    #[inline]
    pub fn way_to(&self, other: &Self) -> Self {
        let back = conjugate(self.rotation);
        let far: [f64; 3] = core::array::from_fn(|c| other.translation[c] - self.translation[c]);
        Self { rotation: renormalized(product(back, other.rotation)), translation: rotate(back, far) }
    }

    /// Returns the transform applied `exponent` times, or its inverse for negative exponents.
    ///
    /// Uses repeated squaring, so any exponent is fast. Errors of the rotation grow with the exponent.
    #[must_use]
    #[inline]
    pub fn power(self, exponent: i64) -> Self {
        let mut square = if exponent < 0 { self.inverse() } else { self };
        let mut left = exponent.unsigned_abs();
        let mut power = Self::IDENTITY;
        while left > 0 {
            if left % 2 == 1 {
                power = power * square;
            }
            left /= 2;
            // One more squaring could overflow.
            if left > 0 {
                square = square * square;
            }
        }
        power
    }

    /// Applies the transform to a point.
    #[must_use]
    #[inline]
    pub fn transform_point(&self, p: [f64; 3]) -> [f64; 3] {
        let turned = rotate(self.rotation, p);
        core::array::from_fn(|c| turned[c] + self.translation[c])
    }

    /// Whether all numbers are finite.
    #[must_use]
    #[inline]
    pub fn is_finite(&self) -> bool {
        self.rotation.iter().chain(&self.translation).all(|v| v.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::vectors::normalize;
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
            [f64::from(1_u32 << 31) * 262_144.0, 0.0, -2_251_799_813_685_248.0]
        );
        assert_eq!(step.power(i64::MIN).translation[0], -4_611_686_018_427_387_904.0);
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
