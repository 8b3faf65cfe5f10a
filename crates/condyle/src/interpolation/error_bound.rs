//! How far each method is from slerp, and which is close enough.

use super::formula::weights;
use super::method::{Degree, Method, Terms};
use condyle_base::math::scalar::{sin_f64, sqrt_f64};
use condyle_base::simd::Dispatch;

impl Method {
    /// The most that a component of the result can differ from slerp's.
    ///
    /// For factors in [0, 1] and unit quaternions up to `max_angle` apart: radians, as vectors, which is half
    /// of the rotation between them; at most π/2, which no pair on the shorter arc exceeds, and which NaN
    /// counts as. Where multiply-adds are not fused, so that products are rounded as well, it is 5e-8 more:
    /// in the portable mode, and on instruction sets without them. The current [`Dispatch`] decides.
    /// A wider angle never has a smaller bound. docs/accuracy.md lists the bounds beside what was measured. Along
    /// [`Arc::AsGiven`](super::Arc::AsGiven) ends may be nearly opposite, which magnifies what is lost to
    /// rounding: 5e-7 over the length of their sum, or over 1 if that is less, and 7e-7 for the exponential
    /// map.
    #[must_use]
    pub fn error_bound(self, max_angle: f32) -> f64 {
        let products = if Dispatch::current().fuses() { 0.0 } else { 5e-8 };
        self.rounding() + products + formula_error(self, max_angle)
    }

    /// The cheapest method whose [`error_bound`](Self::error_bound) is at most `max_error`, when one factor
    /// serves all joints, and of those that cost the same the closest; `None` where f32 itself is too coarse.
    /// To choose within a family, or by what methods cost on one machine, see
    /// [`first_within`](Self::first_within).
    ///
    /// ```
    /// use condyle::interpolation::{Degree, Method};
    ///
    /// assert_eq!(Method::for_error(1e-3, 1.57), Some(Method::Slerp(Degree::Four)));
    /// // A degree of rotation apart, a straight line is as good.
    /// assert_eq!(Method::for_error(1e-5, 0.5_f32.to_radians()), Some(Method::Nlerp));
    /// assert_eq!(Method::for_error(1e-9, 1.57), None);
    /// ```
    #[must_use]
    pub fn for_error(max_error: f64, max_angle: f32) -> Option<Self> {
        // A series of four terms takes the time of a polynomial of that degree, and is closer at small
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

    /// The first of `methods` whose [`error_bound`](Self::error_bound) is at most `max_error`: the cheapest one,
    /// if they come by rising cost.
    ///
    /// ```
    /// use condyle::interpolation::{Method, Terms};
    ///
    /// // How many terms Eberly's series needs, up to half a turn between rotations and up to 30 degrees.
    /// let series = |max_angle| Method::first_within(Terms::all().map(Method::Eberly), 1e-5, max_angle);
    /// assert_eq!(series(1.57), Terms::new(10).map(Method::Eberly));
    /// assert_eq!(series(15_f32.to_radians()), Terms::new(3).map(Method::Eberly));
    ///
    /// // Of all, by what they cost here: `condyle-bench` measures it.
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

    /// What the arithmetic of f32 adds to the error of the formula. The program `bounds` beside the benchmark looks for
    /// more; docs/accuracy.md has how near it came.
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

/// The largest distance between the method's result and slerp's, rounding aside, for angles up to
/// `max_angle`.
fn formula_error(method: Method, max_angle: f32) -> f64 {
    // Miri would take minutes.
    const STEPS: u32 = if cfg!(miri) { 12 } else { 64 };
    let widest = core::f64::consts::FRAC_PI_2;
    let max_angle = if max_angle.is_nan() { widest } else { f64::from(max_angle).clamp(0.0, widest) };
    // The largest up to the angles of a grid before and behind `max_angle`. Between both the error at `max_angle` itself counts, so that
    // a wider angle never has a smaller bound.
    let (mut before, mut behind) = (0.0_f64, 0.0);
    for theta in (1..=STEPS).map(|k| f64::from(k) / f64::from(STEPS) * widest) {
        before = behind;
        behind = before.max(squared_error(method, theta));
        if theta >= max_angle {
            break;
        }
    }
    let worst = squared_error(method, max_angle).clamp(before, behind);
    // Between the points of the grid it can be a little larger; sines are good to 1e-11.
    1.02 * sqrt_f64(worst) + 1e-10
}

/// The square of the largest distance at this angle.
fn squared_error(method: Method, theta: f64) -> f64 {
    const STEPS: u32 = if cfg!(miri) { 12 } else { 48 };
    let half = sin_f64(theta / 2.0);
    let (z, sin) = (2.0 * half * half, sin_f64(theta));
    if sin == 0.0 {
        return 0.0;
    }
    // The other half is its mirror image.
    let at = |k: u32| {
        let t = f64::from(k) / f64::from(STEPS) / 2.0;
        let Some((from, to)) = weights(method, z, t) else { return 0.0 };
        let (e, f) = (from - sin_f64((1.0 - t) * theta) / sin, to - sin_f64(t * theta) / sin);
        e * e + f * f + 2.0 * e * f * (1.0 - z)
    };
    let worst = (1..=STEPS).map(at).fold(0.0, f64::max);
    // Less than that is the rounding of the sines.
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

    /// A smaller angle needs no more terms: eberly13's bound fell by 2 % at wider ones.
    #[test]
    fn a_wider_angle_never_has_a_smaller_bound() {
        let methods: Vec<Method> = match cfg!(miri) {
            true => Terms::new(13).map(Method::Eberly).into_iter().collect(),
            false => Method::all().collect(),
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
                let method = Method::for_error(max_error, max_angle).expect("there is one");
                assert!(method.error_bound(max_angle) <= max_error);
            }
        }
        assert_eq!(Method::for_error(f64::NAN, 1.57), None);
        assert_eq!(Method::for_error(1.6e-7, f32::NAN), Method::for_error(1.6e-7, FRAC_PI_2));
        // Of two that cost the same, the closer one.
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
            // Found on a grid: to a percent or so.
            assert!(method.error_bound(0.3) <= 1.03 * method.error_bound(0.6), "{method}");
        }
    }
}
