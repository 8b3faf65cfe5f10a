//! The weights of each method, for many joints at a time.
//!
//! A method computes two weights from the angle between the ends and from the factor `f` from the nearer end,
//! at most 1/2. `to` multiplies the far end, and `1 - off` the near end. Both weights are exactly `f` if the
//! ends are equal, and zero if `f` is zero. For this reason the ends, and equal ends, are exact.

use fearless_simd::{f64x2, prelude::*};

use super::formula::Coefficients;
use super::method::{Degree, Terms};

use super::slerp_table::{CHORD_8, SLERP_4, SLERP_6, SLERP_9};
use condyle_base::math::polynomials::{atan_positive_lanes, sin_half_pi_lanes};
use condyle_base::simd::{Floats, Mode, baseline, each};

/// The angle θ between the ends.
#[derive(Clone, Copy)]
pub(super) struct Angle<V> {
    /// `1 - cos θ`.
    pub(super) z: V,
    /// `cos²(θ/2)`.
    pub(super) half_cos2: V,
}

/// A method, as described in the module documentation.
pub(super) trait Weights<S: Simd, V: Floats<S>>: Copy {
    /// Returns `to` and `off`.
    fn weights<M: Mode>(&self, s: S, mode: M, angle: Angle<V>, f: V) -> (V, V);

    /// Whether the weights are for the arc as given, which may be the longer one.
    #[inline(always)]
    fn as_given(&self) -> bool {
        false
    }
}

/// Weights for one factor that all joints share.
pub(super) trait Shared: Copy {
    /// The weights with each number broadcast to all lanes. This happens before the loop, because the
    /// compiler would repeat it in every iteration.
    type Spread<S: Simd, V: Floats<S>>: Weights<S, V>;

    fn spread<S: Simd, V: Floats<S>>(&self, s: S) -> Self::Spread<S, V>;
}

/// Evaluates the polynomial with the coefficients `k`. Even and odd powers are summed separately, which
/// halves the chain of dependent operations.
#[inline(always)]
fn polynomial<S: Simd, M: Mode, V: Floats<S>, const N: usize>(mode: M, k: &[V; N], z: V) -> V {
    let square = z * z;
    let mut sums = [k[N - 1], k[N - 2]];
    for i in (0..N - 2).rev() {
        let sum = &mut sums[(N - 1 - i) % 2];
        *sum = mode.madd(*sum, square, k[i]);
    }
    mode.madd(sums[N % 2], z, sums[(N - 1) % 2])
}

/// One factor for all joints: both weights are polynomials in `z` with precomputed coefficients.
///
/// The coefficients are stored in pairs, in the layout in which they are computed, so that the stores are
/// forwarded to the loads that follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Series<const N: usize>([[f32; 2]; N]);

impl<const N: usize> Series<N> {
    /// Rounds coefficients for the factor from the nearer end, and pads them with zeros.
    pub(super) fn new<const K: usize>(coefficients: &Coefficients<K>) -> Self {
        const { assert!(K <= N, "K is greater than N") };
        baseline!(|s| Self::rounded(s, coefficients))
    }

    /// Stores four numbers at a time, because a copy of numbers stored one by one would wait for the stores.
    #[inline(always)]
    fn rounded<S: Simd>(s: S, coefficients: &[[f64; 2]]) -> Self {
        let signs = f64x2::simd_from(s, [1.0, -1.0]);
        let mut series = [[0.0; 2]; N];
        for (pairs, two) in series.chunks_mut(2).zip(coefficients.chunks(2)) {
            let [a, b] = [0, 1].map(|k| f64x2::load_array_ref(s, two.get(k).unwrap_or(&[0.0; 2])) * signs);
            let four = a.narrow(b).to_array();
            pairs.as_flattened_mut().iter_mut().zip(four).for_each(|(to, k)| *to = k);
        }
        Self(series)
    }

    /// Returns the same polynomials, padded with zero terms.
    pub(super) fn padded<const WIDER: usize>(&self) -> Series<WIDER> {
        let mut wider = [[0.0; 2]; WIDER];
        wider.iter_mut().zip(self.0).for_each(|(wider, pair)| *wider = pair);
        Series(wider)
    }
}

/// [`Series`] in lanes.
#[derive(Clone, Copy)]
pub(super) struct SeriesLanes<V, const N: usize> {
    to: [V; N],
    off: [V; N],
}

impl<const N: usize> Shared for Series<N> {
    type Spread<S: Simd, V: Floats<S>> = SeriesLanes<V, N>;

    #[inline(always)]
    fn spread<S: Simd, V: Floats<S>>(&self, s: S) -> SeriesLanes<V, N> {
        let zero = V::splat(s, 0.0);
        let mut spread = SeriesLanes { to: [zero; N], off: [zero; N] };
        each!(i in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] below N => {
            let [to, off] = self.0[i];
            (spread.to[i], spread.off[i]) = (V::splat(s, to), V::splat(s, off));
        });
        spread
    }
}

impl<S: Simd, V: Floats<S>, const N: usize> Weights<S, V> for SeriesLanes<V, N> {
    #[inline(always)]
    fn weights<M: Mode>(&self, _: S, mode: M, Angle { z, .. }: Angle<V>, f: V) -> (V, V) {
        let (to, off) = (polynomial(mode, &self.to, z), polynomial(mode, &self.off, z));
        (mode.madd(to, z, f), mode.madd(off, z, f))
    }
}

/// A factor per joint: the coefficients are themselves polynomials, in the square of the factor.
#[derive(Clone, Copy)]
pub(super) struct Fitted<const N: usize>(&'static [[f32; N]; N]);

static CHORD: Fitted<8> = Fitted(&narrow(&CHORD_8));

/// Rounds a table and pads it with zeros, so that one kernel handles all degrees.
const fn narrow<const N: usize, const WIDER: usize>(table: &[[f64; N]; N]) -> [[f32; WIDER]; WIDER] {
    let mut out = [[0.0; WIDER]; WIDER];
    let mut i = 0;
    while i < N * N {
        out[i / N][i % N] = table[i / N][i % N] as f32;
        i += 1;
    }
    out
}

impl Fitted<9> {
    pub(super) const fn slerp(degree: Degree) -> Self {
        static FOUR: [[f32; 9]; 9] = narrow(&SLERP_4);
        static SIX: [[f32; 9]; 9] = narrow(&SLERP_6);
        static NINE: [[f32; 9]; 9] = narrow(&SLERP_9);
        match degree {
            Degree::Four => Self(&FOUR),
            Degree::Six => Self(&SIX),
            Degree::Nine => Self(&NINE),
        }
    }
}

impl<const N: usize> Fitted<N> {
    #[inline(always)]
    fn polynomial<S: Simd, M: Mode, V: Floats<S>>(&self, s: S, mode: M, z: V, t: V) -> V {
        let t2 = t * t;
        let mut sum = V::splat(s, 0.0);
        for (i, row) in self.0.iter().enumerate().rev() {
            let mut c = V::splat(s, row[i]);
            for k in row[..i].iter().rev() {
                c = mode.madd(c, t2, V::splat(s, *k));
            }
            sum = mode.madd(sum, z, c);
        }
        sum
    }
}

impl<S: Simd, V: Floats<S>, const N: usize> Weights<S, V> for Fitted<N> {
    #[inline(always)]
    fn weights<M: Mode>(&self, s: S, mode: M, angle: Angle<V>, f: V) -> (V, V) {
        let one = V::splat(s, 1.0);
        let g = one - f;
        let zfg = angle.z * (f * g);
        let to = self.polynomial(s, mode, angle.z, f) * (one + f);
        let off = self.polynomial(s, mode, angle.z, g) * (one + g);
        (mode.madd(to, zfg, f), f - off * zfg)
    }
}

/// A factor per joint: Eberly's series, nested.
#[derive(Clone, Copy)]
pub(super) struct Nested {
    terms: Terms,
    /// Balancing factor of the last term.
    factor: f64,
}

impl Nested {
    pub(super) fn new(terms: Terms, factor: f64) -> Self {
        Self { terms, factor }
    }

    /// Evaluates `b₁(1 + b₂(1 + …))`, where `bₙ = z (n² - t²) / (n (2n + 1))`.
    #[inline(always)]
    fn nested<S: Simd, M: Mode, V: Floats<S>>(&self, s: S, mode: M, z: V, t: V) -> V {
        let t2 = t * t;
        let mut sum = V::splat(s, 0.0);
        let mut factor = self.factor;
        for n in (1..=self.terms.count()).rev().map(f64::from) {
            let c = factor / (n * (2.0 * n + 1.0));
            let b = z * (V::splat(s, (c * n * n) as f32) - t2 * V::splat(s, c as f32));
            sum = mode.madd(b, sum, b);
            factor = 1.0;
        }
        sum
    }
}

impl<S: Simd, V: Floats<S>> Weights<S, V> for Nested {
    #[inline(always)]
    fn weights<M: Mode>(&self, s: S, mode: M, angle: Angle<V>, f: V) -> (V, V) {
        let g = V::splat(s, 1.0) - f;
        let (to, off) = (self.nested(s, mode, angle.z, f), self.nested(s, mode, angle.z, g));
        (mode.madd(f, to, f), f - g * off)
    }
}

/// Another method's weights on half of the angle: from the nearer end to the middle,
/// `(a + b) / (2 cos(θ/2))`.
#[derive(Clone, Copy)]
pub(super) struct Halved<W>(pub(super) W);

impl<S: Simd, V: Floats<S>, W: Weights<S, V>> Weights<S, V> for Halved<W> {
    #[inline(always)]
    fn weights<M: Mode>(&self, s: S, mode: M, angle: Angle<V>, f: V) -> (V, V) {
        let (half, one) = (V::splat(s, 0.5), V::splat(s, 1.0));
        let cos = angle.half_cos2.sqrt();
        // 1 - cos(θ/2) without cancellation, and 1 / (2 cos(θ/2)), with one division for both.
        let inverse = half / (cos * (one + cos));
        let middle = Angle { z: angle.z * cos * inverse, half_cos2: half * (one + cos) };
        let (to, off) = self.0.weights(s, mode, middle, f + f);
        let to = to * ((one + cos) * inverse);
        (to, off - to)
    }
}

/// Another method's weights along the arc as given. Opposite ends have no such arc; the result is then the
/// nearer end.
#[derive(Clone, Copy)]
pub(super) struct Given<W>(pub(super) W);

impl<S: Simd, V: Floats<S>, W: Weights<S, V>> Weights<S, V> for Given<W> {
    #[inline(always)]
    fn weights<M: Mode>(&self, s: S, mode: M, angle: Angle<V>, f: V) -> (V, V) {
        let least = V::splat(s, 1e-12);
        let zero = V::splat(s, 0.0);
        let (to, off) = self.0.weights(s, mode, angle, f);
        let opposite = angle.half_cos2.simd_lt(least);
        (opposite.select(zero, to), opposite.select(zero, off))
    }
}

/// Returns the squared length of a linear interpolation with the factor `f`.
#[inline(always)]
fn square<S: Simd, V: Floats<S>>(s: S, z: V, f: V) -> V {
    let one = V::splat(s, 1.0);
    one - z * ((f + f) * (one - f))
}

/// Returns the weights of a linear interpolation with the factor `f`, normalised.
#[inline(always)]
fn normalized<S: Simd, V: Floats<S>>(s: S, square: V, f: V) -> (V, V) {
    let one = V::splat(s, 1.0);
    let factor = one / square.sqrt();
    let to = f * factor;
    (to, to - (factor - one))
}

/// Nlerp.
#[derive(Clone, Copy)]
pub(super) struct Straight;

impl Shared for Straight {
    type Spread<S: Simd, V: Floats<S>> = Self;

    #[inline(always)]
    fn spread<S: Simd, V: Floats<S>>(&self, _: S) -> Self {
        *self
    }
}

impl<S: Simd, V: Floats<S>> Weights<S, V> for Straight {
    #[inline(always)]
    fn weights<M: Mode>(&self, s: S, _: M, angle: Angle<V>, f: V) -> (V, V) {
        normalized(s, square(s, angle.z, f), f)
    }
}

/// Nlerp between ends that may be more than half a turn apart.
#[derive(Clone, Copy)]
pub(super) struct StraightGiven;

impl<S: Simd, V: Floats<S>> Weights<S, V> for StraightGiven {
    #[inline(always)]
    fn weights<M: Mode>(&self, s: S, mode: M, angle: Angle<V>, f: V) -> (V, V) {
        let (zero, half, one) = (V::splat(s, 0.0), V::splat(s, 0.5), V::splat(s, 1.0));
        // Between nearly opposite ends the length almost cancels near the middle. As a sum of two squares it
        // keeps its significant digits.
        let beside = one - (f + f);
        let sum = mode.madd(beside * beside, angle.z * half, angle.half_cos2);
        let wide = angle.z.simd_gt(one) & f.simd_gt(zero);
        normalized(s, wide.select(sum, square(s, angle.z, f)), f)
    }
}

/// Nlerp at the point of the chord that slerp passes.
#[derive(Clone, Copy)]
pub(super) struct Corrected;

impl<S: Simd, V: Floats<S>> Weights<S, V> for Corrected {
    #[inline(always)]
    fn weights<M: Mode>(&self, s: S, mode: M, angle: Angle<V>, f: V) -> (V, V) {
        let one = V::splat(s, 1.0);
        // Relative to the middle of the chord: from -1 to 0.
        let tau = f + f - one;
        // Half of tau (1 - tau²).
        let front = (tau + tau) * (f * (one - f));
        let place = mode.madd(CHORD.polynomial(s, mode, angle.z, tau), angle.z * front, f);
        normalized(s, square(s, angle.z, place), place)
    }
}

/// Van Waveren's method: the angle by an arctangent, the weights by sines.
#[derive(Clone, Copy)]
pub(super) struct Sines;

impl<S: Simd, V: Floats<S>> Weights<S, V> for Sines {
    #[inline(always)]
    fn weights<M: Mode>(&self, s: S, mode: M, angle: Angle<V>, f: V) -> (V, V) {
        let (zero, one, two) = (V::splat(s, 0.0), V::splat(s, 1.0), V::splat(s, 2.0));
        let sin = (angle.z * (two - angle.z)).sqrt();
        let inverse = one / sin;
        let theta = atan_positive_lanes(s, mode, sin, one - angle.z);
        let to = sin_half_pi_lanes(s, mode, f * theta) * inverse;
        let near = sin_half_pi_lanes(s, mode, (one - f) * theta) * inverse;
        // Equal ends, whose sine is 0, or a factor of 0.
        let still = sin.simd_eq(zero) | f.simd_eq(zero);
        (still.select(f, to), still.select(f, one - near))
    }
}

/// Rarely used methods, in one kernel. It selects the method for each group of lanes. Separate kernels would
/// be slightly faster, but every user would have to compile them.
#[derive(Clone, Copy)]
pub(super) enum Rare {
    Nested(Nested),
    Halved(Halved<Nested>),
    Sines,
    Corrected,
    Given(Given<Halved<Fitted<9>>>),
    StraightGiven,
}

impl<S: Simd, V: Floats<S>> Weights<S, V> for Rare {
    #[inline(always)]
    fn weights<M: Mode>(&self, s: S, mode: M, angle: Angle<V>, f: V) -> (V, V) {
        match self {
            Self::Nested(nested) => nested.weights(s, mode, angle, f),
            Self::Halved(halved) => halved.weights(s, mode, angle, f),
            Self::Sines => Sines.weights(s, mode, angle, f),
            Self::Corrected => Corrected.weights(s, mode, angle, f),
            Self::Given(given) => given.weights(s, mode, angle, f),
            Self::StraightGiven => Given(StraightGiven).weights(s, mode, angle, f),
        }
    }

    #[inline(always)]
    fn as_given(&self) -> bool {
        matches!(self, Self::Given(_) | Self::StraightGiven)
    }
}
