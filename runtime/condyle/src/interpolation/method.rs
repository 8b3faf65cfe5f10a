//! Methods for interpolating rotations.

use core::fmt;
use core::str::FromStr;

use condyle_base::error::Error;

/// A method for interpolating two rotations. All methods have constant velocity along the shortest arc,
/// except [`Nlerp`](Self::Nlerp).
///
/// [`error_bound`](Self::error_bound) returns the maximum difference of each method from slerp, and
/// [`for_error`](Self::for_error) the cheapest method for a given error. With one factor for all joints
/// [`Slerp`](Self::Slerp) and [`Eberly`](Self::Eberly) are polynomials. Their coefficients are computed once
/// per call, so they cost little more than nlerp.
///
/// ```
/// use condyle::interpolate;
/// use condyle::interpolation::Method;
///
/// // The ends are a sixth of a turn apart: 30 degrees as vectors. Each method is within its bound.
/// let (a, b) = ([0.0, 0.0, 0.0, 1.0], [0.5, 0.0, 0.0, 0.866_025_4]);
/// let want = interpolate(a, b, 0.3, Method::Exact);
/// for method in [Method::default(), Method::VanWaveren, Method::CorrectedNlerp, Method::Nlerp] {
///     let got = interpolate(a, b, 0.3, method);
///     let bound = method.error_bound(30_f32.to_radians()) + 2e-7;
///     assert!(got.iter().zip(want).all(|(got, want)| f64::from((got - want).abs()) < bound), "{method}");
/// }
/// // Names, for options and reports.
/// assert_eq!("nlerp".parse(), Ok(Method::Nlerp));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Slerp with weights that are minimax polynomials in the cosine of the angle: no arccosine, no sine, no
    /// division.
    Slerp(Degree),
    /// Slerp by a balanced power series with this number of terms. Eberly 2018.
    Eberly(Terms),
    /// [`Eberly`](Self::Eberly) on half of the angle, which needs fewer terms for the same error. One square
    /// root and one division compute the middle. Eberly 2018, section 7.
    EberlyHalved(Terms),
    /// Slerp by an arctangent, two sines and a reciprocal square root, all polynomials. Van Waveren 2005.
    VanWaveren,
    /// Slerp by the textbook formula in f64, one joint after another. A reference for ends of unit length
    /// within f32 rounding. Ends of other lengths are returned unchanged at the factors 0 and 1, and are
    /// mixed as if they had unit length in between.
    Exact,
    /// Linear interpolation with normalisation: the path of slerp, but slower at the ends and faster in the
    /// middle.
    Nlerp,
    /// Nlerp with a corrected factor, so that the velocity is constant.
    CorrectedNlerp,
    /// The exponential map at the first rotation: `a exp(t log(a⁻¹ b))`. Grassia 1998.
    ExponentialMap,
}

/// The degree of the polynomials of [`Method::Slerp`].
///
/// ```
/// use condyle::interpolation::{Degree, Method};
///
/// let half_a_turn = std::f32::consts::FRAC_PI_2;
/// assert!(Method::Slerp(Degree::Four).error_bound(half_a_turn) < 1.1e-4);
/// assert_eq!(Method::default(), Method::Slerp(Degree::Nine));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Degree {
    /// Maximum error 1e-4, a hundredth of a degree.
    Four,
    /// Maximum error 2.5e-6.
    Six,
    /// Exact except for f32 rounding.
    #[default]
    Nine,
}

impl Degree {
    /// Returns the degree as a number.
    #[must_use]
    pub const fn count(self) -> u8 {
        match self {
            Self::Four => 4,
            Self::Six => 6,
            Self::Nine => 9,
        }
    }
}

/// Number of terms after the first one in the series of [`Method::Eberly`]: 1 to 16.
///
/// ```
/// use condyle::interpolation::{Method, Terms};
///
/// let method = Terms::new(8).map(Method::Eberly).expect("from 1 to 16");
/// assert_eq!(method.to_string(), "eberly8");
/// assert_eq!(Terms::new(17), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Terms(pub(super) u8);

impl Terms {
    /// The maximum number of terms.
    pub const MAX: Self = Self(16);

    /// Returns `None` unless `count` is from 1 to 16.
    #[must_use]
    pub const fn new(count: u8) -> Option<Self> {
        if count >= 1 && count <= Self::MAX.0 { Some(Self(count)) } else { None }
    }

    /// Returns the number of terms.
    #[must_use]
    pub const fn count(self) -> u8 {
        self.0
    }

    /// Returns all numbers of terms, from 1 up.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=Self::MAX.0).map(Self)
    }
}

/// The arc to take between two rotations. There are two, because a quaternion and its opposite are the same
/// rotation.
///
/// ```
/// use condyle::interpolate;
/// use condyle::interpolation::{Arc, InterpolateOptions, Method};
///
/// // A quarter turn. Its opposite quaternion gives three quarters of a turn in the other direction.
/// let half = std::f32::consts::FRAC_1_SQRT_2;
/// let (a, b) = ([0.0, 0.0, 0.0, 1.0], [0.0, -half, 0.0, -half]);
/// let [_, y, _, _] = interpolate(a, b, 0.5, Method::default());
/// assert!((y - 22.5_f32.to_radians().sin()).abs() < 1e-6);
/// let long_way = InterpolateOptions { arc: Arc::AsGiven, ..InterpolateOptions::default() };
/// let [_, y, _, _] = interpolate(a, b, 0.5, long_way);
/// assert!((y + 67.5_f32.to_radians().sin()).abs() < 1e-6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Arc {
    /// The shorter arc. At half a turn, where both are equal, the arc to the second quaternion as given.
    #[default]
    Shorter,
    /// The arc to the second quaternion as given, which may be the longer one. Opposite quaternions have no
    /// such arc: the first holds until t = 1/2, then the second. With this option, all methods that
    /// approximate slerp use [`Degree::Nine`] on half of the arc.
    AsGiven,
}

/// A [`Method`] with options. A method alone converts to the shorter arc and factors clamped to [0, 1].
///
/// ```
/// use condyle::interpolate;
/// use condyle::interpolation::{InterpolateOptions, Method};
///
/// // A hit that overshoots by 10 %.
/// let overshoot = InterpolateOptions { extrapolate: true, ..Method::default().into() };
/// let (a, b) = ([0.0, 0.0, 0.0, 1.0], [0.5, 0.0, 0.0, 0.866_025_4]);
/// let [x, ..] = interpolate(a, b, 1.1, overshoot);
/// assert!((x - 33_f32.to_radians().sin()).abs() < 1e-6);
/// // Without `extrapolate` factors are clamped.
/// assert_eq!(interpolate(a, b, 1.1, Method::default()), interpolate(a, b, 1.0, Method::default()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct InterpolateOptions {
    /// The interpolation method.
    pub method: Method,
    /// The arc to take.
    pub arc: Arc,
    /// Whether factors below 0 and above 1 extrapolate instead of being clamped. Beyond the ends
    /// [`Method::Nlerp`] continues its line. All other methods continue as [`Method::Exact`], in f64, one
    /// joint after another. Infinite factors return NaN.
    pub extrapolate: bool,
}

impl From<Method> for InterpolateOptions {
    fn from(method: Method) -> Self {
        Self { method, ..Self::default() }
    }
}

impl Default for Method {
    fn default() -> Self {
        Self::Slerp(Degree::default())
    }
}

impl Method {
    /// Returns all methods, with every number of terms.
    pub fn all() -> impl Iterator<Item = Self> {
        let slerps = [Degree::Four, Degree::Six, Degree::Nine].into_iter().map(Self::Slerp);
        let rest = [Self::VanWaveren, Self::Exact, Self::Nlerp, Self::CorrectedNlerp, Self::ExponentialMap];
        slerps.chain(Terms::all().map(Self::Eberly)).chain(Terms::all().map(Self::EberlyHalved)).chain(rest)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slerp(degree) => write!(f, "slerp{}", degree.count()),
            Self::Eberly(terms) => write!(f, "eberly{}", terms.0),
            Self::EberlyHalved(terms) => write!(f, "eberly{}-halved", terms.0),
            Self::VanWaveren => f.write_str("van-waveren"),
            Self::Exact => f.write_str("exact"),
            Self::Nlerp => f.write_str("nlerp"),
            Self::CorrectedNlerp => f.write_str("corrected-nlerp"),
            Self::ExponentialMap => f.write_str("exponential-map"),
        }
    }
}

impl FromStr for Method {
    type Err = Error;

    /// Parses the name that `Display` writes.
    fn from_str(name: &str) -> Result<Self, Error> {
        const EXPECTED: &str = "slerp4, slerp6, slerp9, eberly1 to eberly16, eberly1-halved to eberly16-halved, \
                                van-waveren, exact, nlerp, corrected-nlerp, exponential-map";
        /// Compares formatted output with a name, piece by piece.
        struct Matches<'a>(Option<&'a str>);
        impl fmt::Write for Matches<'_> {
            fn write_str(&mut self, piece: &str) -> fmt::Result {
                self.0 = self.0.and_then(|rest| rest.strip_prefix(piece));
                Ok(())
            }
        }
        let is_named = |method: &Self| {
            let mut rest = Matches(Some(name));
            fmt::write(&mut rest, format_args!("{method}")).is_ok() && rest.0 == Some("")
        };
        Self::all().find(is_named).ok_or(Error::UnknownName { expected: EXPECTED })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for method in Method::all() {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        for name in ["", "slerp", "slerp99", "eberly0", "eberly17", "eberly5-halved-", "Nlerp"] {
            assert!(name.parse::<Method>().is_err(), "{name}");
        }
        assert_eq!((Terms::new(0), Terms::new(17)), (None, None));
    }
}
