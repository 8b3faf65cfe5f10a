//! Error bounds of the methods compared with slerp, and choice of a method by error.

use super::formula::weights;
use super::method::{Degree, Method, Terms};
use condyle_base::math::scalar::{sin_f64, sqrt_f64};
use condyle_base::simd::Dispatch;

impl Method {
    /// Returns the maximum difference of a component of the result from slerp.
    ///
    /// It holds for factors in [0, 1] and unit quaternions that are at most `max_angle` apart. This is the
    /// angle in radians between the quaternions as vectors, which is half of the rotation angle. The largest
    /// angle on the shorter arc is π/2, which is also used for NaN. A wider angle never has a smaller bound.
    /// docs/accuracy.md lists the bounds and the measured errors.
    ///
    /// The bound is 5e-8 larger if multiply-adds are not fused, because products are rounded too. That is the
    /// case in the portable mode, and on instruction sets without fused multiply-add. The current
    /// [`Dispatch`] decides.
    ///
    /// With [`Arc::AsGiven`](super::Arc::AsGiven) the ends may be nearly opposite, which magnifies rounding
    /// errors. The bound is then 5e-7, or 7e-7 for the exponential map, divided by the smaller of 1 and the
    /// length of the sum of the ends.
    #[must_use]
    pub fn error_bound(self, max_angle: f32) -> f64 {
        let products = if Dispatch::current().fuses() { 0.0 } else { 5e-8 };
        self.rounding() + products + formula_error(self, max_angle)
    }

    /// Returns the cheapest method whose [`error_bound`](Self::error_bound) is at most `max_error`, if all
    /// joints share one factor.
    ///
    /// Among methods of equal cost it returns the most accurate. `None` if f32 itself is too coarse. To
    /// choose within a family, or by costs measured on your machine, use
    /// [`first_within`](Self::first_within).
    ///
    /// ```
    /// use condyle::interpolation::{Degree, Method};
    ///
    /// assert_eq!(Method::for_error(1e-3, 1.57), Some(Method::Slerp(Degree::Four)));
    /// // For rotations one degree apart a straight line is accurate enough.
    /// assert_eq!(Method::for_error(1e-5, 0.5_f32.to_radians()), Some(Method::Nlerp));
    /// assert_eq!(Method::for_error(1e-9, 1.57), None);
    /// ```
    #[must_use]
    pub fn for_error(max_error: f64, max_angle: f32) -> Option<Self> {
        // A series of four terms has the cost of a polynomial of degree four, and is more accurate at small
        // angles.
        let by_cost: [&[Self]; 4] = [
            &[Self::Nlerp],
            &[Self::Slerp(Degree::Four), Self::Eberly(Terms(4))],
            &[Self::Slerp(Degree::Nine)],
            &[Self::Exact],
        ];
        let closest = |methods: &[Self]| {
            let bounds = methods.iter().map(|method| (*method, method.error_bound(max_angle)));
            bounds.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, bound)| *bound <= max_error)
        };
        by_cost.into_iter().find_map(closest).map(|(method, _)| method)
    }

    /// Returns the first of `methods` whose [`error_bound`](Self::error_bound) is at most `max_error`. If
    /// they are sorted by cost, that is the cheapest.
    ///
    /// ```
    /// use condyle::interpolation::{Method, Terms};
    ///
    /// // Number of terms of Eberly's series for rotations up to half a turn apart, and up to 30 degrees
    /// // apart.
    /// let series = |max_angle| Method::first_within(Terms::all().map(Method::Eberly), 1e-5, max_angle);
    /// assert_eq!(series(1.57), Terms::new(10).map(Method::Eberly));
    /// assert_eq!(series(15_f32.to_radians()), Terms::new(3).map(Method::Eberly));
    ///
    /// // All methods, sorted by their measured cost: `condyle-bench` measures it.
    /// let nanoseconds = |method: &Method| match method {
    ///     Method::Nlerp => 1,
    ///     Method::Slerp(_) => 2,
    ///     _ => 10,
    /// };
    /// let mut methods: Vec<Method> = Method::all().collect();
    /// methods.sort_by_key(nanoseconds);
    /// assert!(matches!(Method::first_within(methods, 1e-5, 1.57), Some(Method::Slerp(_))));
    /// ```
    #[must_use]
    pub fn first_within(
        methods: impl IntoIterator<Item = Self>,
        max_error: f64,
        max_angle: f32,
    ) -> Option<Self> {
        methods.into_iter().find(|method| method.error_bound(max_angle) <= max_error)
    }

    /// Returns the rounding error of f32 arithmetic, in addition to the error of the formula. The `bounds`
    /// program of the benchmark searches for larger errors; docs/accuracy.md lists the largest that it found.
    fn rounding(self) -> f64 {
        match self {
            Self::Slerp(_) => 1.65e-7,
            Self::Nlerp | Self::Eberly(_) => 2e-7,
            Self::Exact => 1.2e-7,
            Self::CorrectedNlerp => 2.8e-7,
            Self::EberlyHalved(_) => 3.4e-7,
            Self::VanWaveren => 4.4e-7,
            Self::ExponentialMap => 5e-7,
        }
    }
}

/// Returns the maximum difference between the method's result and slerp, without rounding, for angles up to
/// `max_angle`.
fn formula_error(method: Method, max_angle: f32) -> f64 {
    // Under Miri the full grid would take minutes.
    const STEPS: u32 = if cfg!(miri) { 12 } else { 64 };
    let widest = core::f64::consts::FRAC_PI_2;
    let max_angle = if max_angle.is_nan() { widest } else { f64::from(max_angle).clamp(0.0, widest) };
    // The maximum errors up to the grid angles before and after `max_angle`. Between these, the error at
    // `max_angle` counts, so that a wider angle never has a smaller bound.
    let (mut before, mut behind) = (0.0_f64, 0.0);
    for theta in (1..=STEPS).map(|k| f64::from(k) / f64::from(STEPS) * widest) {
        before = behind;
        behind = before.max(squared_error(method, theta));
        if theta >= max_angle {
            break;
        }
    }
    let worst = squared_error(method, max_angle).clamp(before, behind);
    // Between the grid points the error can be slightly larger; the sines are accurate to 1e-11.
    1.02 * sqrt_f64(worst) + 1e-10
}

/// Returns the square of the maximum difference at this angle.
fn squared_error(method: Method, theta: f64) -> f64 {
    const STEPS: u32 = if cfg!(miri) { 12 } else { 48 };
    let half = sin_f64(theta / 2.0);
    let (z, sin) = (2.0 * half * half, sin_f64(theta));
    if sin == 0.0 {
        return 0.0;
    }
    // Factors above 1/2 are the mirror image.
    let at = |k: u32| {
        let t = f64::from(k) / f64::from(STEPS) / 2.0;
        let Some((from, to)) = weights(method, z, t) else { return 0.0 };
        let (e, f) = (from - sin_f64((1.0 - t) * theta) / sin, to - sin_f64(t * theta) / sin);
        e * e + f * f + 2.0 * e * f * (1.0 - z)
    };
    let worst = (1..=STEPS).map(at).fold(0.0, f64::max);
    // A smaller value is rounding of the sines.
    if worst > 1e-22 { worst } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use core::f32::consts::FRAC_PI_2;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn methods_are_chosen_by_error_and_angle() {
        for dispatch in Dispatch::all() {
            let closest = |max_error| dispatch.scope(|| Method::for_error(max_error, 1.57));
            if dispatch.fuses() {
                assert_eq!(closest(1.8e-7), Some(Method::default()), "{dispatch}");
                assert_eq!(closest(1.3e-7), Some(Method::Exact), "{dispatch}");
            } else {
                assert_eq!(closest(1.8e-7), Some(Method::Exact), "{dispatch}");
                assert_eq!(closest(2.3e-7), Some(Method::default()), "{dispatch}");
            }
            dispatch.scope(chosen_by_error_and_angle);
        }
    }

    /// A smaller angle never needs more terms. Without the clamp the bound of eberly13 fell by 2 % at wider
    /// angles.
    #[test]
    fn a_wider_angle_never_has_a_smaller_bound() {
        let methods: Vec<Method> = if cfg!(miri) {
            Terms::new(13).map(Method::Eberly).into_iter().collect()
        } else {
            Method::all().collect()
        };
        for method in methods {
            let mut before = 0.0;
            for step in 0..=300_u16 {
                let angle = FRAC_PI_2 * f32::from(step) / 300.0;
                let bound = formula_error(method, angle);
                assert!(bound >= before, "{method}: {bound} at {angle}, {before} before");
                before = bound;
            }
        }
    }

    fn chosen_by_error_and_angle() {
        let least = if Dispatch::current().fuses() { 1.6e-7 } else { 1.8e-7 };
        for max_error in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 3e-7, least] {
            for max_angle in [0.01, 0.1, 0.5, 1.0, core::f32::consts::FRAC_PI_2] {
                let method = Method::for_error(max_error, max_angle).expect("a method within the error");
                assert!(method.error_bound(max_angle) <= max_error);
            }
        }
        assert_eq!(Method::for_error(f64::NAN, 1.57), None);
        assert_eq!(Method::for_error(1.6e-7, f32::NAN), Method::for_error(1.6e-7, FRAC_PI_2));
        // The more accurate of two methods with the same cost.
        for angle in [0.2, 0.5, 1.0, 1.5] {
            let four = [Method::Slerp(Degree::Four), Method::Eberly(Terms::new(4).expect("from 1 to 16"))];
            let [slerp, eberly] = four.map(|method| method.error_bound(angle));
            if slerp.max(eberly) < Method::Nlerp.error_bound(angle) {
                let chosen =
                    Method::for_error(slerp.max(eberly), angle).map(|method| method.error_bound(angle));
                assert_eq!(chosen, Some(slerp.min(eberly)), "{angle}");
            }
        }
        for method in Method::all() {
            // The bounds are computed on a grid, with an accuracy of about 1 %.
            assert!(method.error_bound(0.3) <= 1.03 * method.error_bound(0.6), "{method}");
        }
    }
}
