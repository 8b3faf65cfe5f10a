//! The share that each layer has in the result: its weight by the sum of all.

use fearless_simd::prelude::*;

use super::Layer;
use crate::pose::BLOCK;

/// The exponent of a float, which all of infinity's and NaN's bits reach or exceed.
pub(super) const EXPONENT: i32 = 0x7F80_0000;

/// The exponent of 2^k.
pub(super) const fn exponent(k: i32) -> i32 {
    (127 + k) << 23
}

/// Weights that cancel to less than this part of the sum of their magnitudes sum to nothing.
const MIN_SUM: f32 = 1.0 / 1_048_576.0;

/// What the magnitudes of weights that are added up stay below: beyond, integers have no room.
const MAX_ADDED: f32 = 1_048_576.0;

/// What the magnitudes of all shares sum to is taken to be that much more: shares are rounded, and so is what each of
/// `layers` adds to a sum of integers.
#[inline(always)]
fn slack(layers: usize) -> f64 {
    1.000_001 + layers as f64 * power(-30)
}

/// 2^k.
#[inline(always)]
fn power(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

/// How many layers have a weight: the others must not change a bit.
fn counting(layers: &[Layer<'_>]) -> usize {
    layers.iter().filter(|layer| layer.weight != 0.0).count()
}

/// The sum of all weights, where it is the same for all joints.
#[derive(Clone, Copy)]
pub(super) struct Total {
    /// A weight times this is its share.
    inverse: f64,
    /// The magnitudes of all shares sum to less than `2^(growth + 1)`.
    growth: i32,
}

impl Total {
    /// That of weights that masks change from joint to joint.
    pub(super) const UNKNOWN: Self = Self { inverse: 0.0, growth: 0 };

    /// `None` where the weights sum to nothing.
    pub(super) fn of(layers: &[Layer<'_>]) -> Option<Self> {
        let largest = layers.iter().map(|layer| f64::from(layer.weight).abs()).fold(0.0, f64::max);
        if largest == 0.0 {
            return None;
        }
        // Integers of at most 101 bits: sums of floats would depend on the order.
        let shift = 1023 + 100 - (largest.to_bits() >> 52) as i32;
        let (mut sum, mut magnitudes) = (0_i128, 0_i128);
        for layer in layers {
            let part = (f64::from(layer.weight) * power(shift)) as i128;
            sum += part;
            magnitudes += part.abs();
        }
        let (sum, magnitudes) = (sum as f64, magnitudes as f64);
        if sum.abs() <= magnitudes * f64::from(MIN_SUM) {
            return None;
        }
        let growth = ((magnitudes / sum.abs() * slack(counting(layers))).to_bits() >> 52) as i32 - 1023;
        Some(Self { inverse: power(shift) / sum, growth })
    }
}

impl Total {
    /// The share of a weight.
    pub(super) fn normalized(self, weight: f32) -> f32 {
        (f64::from(weight) * self.inverse) as f32
    }

    /// The square of the length below which a sum of quaternions is none.
    pub(super) fn least2(self) -> f32 {
        power(2 * self.growth - 40) as f32
    }
}

/// How many shares are prepared; those of more layers are computed again for each block.
const MAX_PREPARED: usize = 32;

/// The layers and their shares, each divided by 2^growth.
pub(super) struct NormalizedWeights<'a> {
    pub(super) layers: &'a [Layer<'a>],
    counting: usize,
    /// 2^-growth by the sum of the weights.
    inverse: f64,
    growth: i32,
    table: [f32; MAX_PREPARED],
}

impl<'a> NormalizedWeights<'a> {
    pub(super) fn new(layers: &'a [Layer<'a>], total: Total) -> Self {
        let inverse = total.inverse * power(-total.growth);
        let mut table = [0.0; MAX_PREPARED];
        for (weight, layer) in table.iter_mut().zip(layers) {
            *weight = (f64::from(layer.weight) * inverse) as f32;
        }
        Self { layers, counting: counting(layers), inverse, growth: total.growth, table }
    }

    /// The share of layer `at`, for all joints.
    #[inline(always)]
    fn same(&self, at: usize, layer: &Layer<'_>) -> f32 {
        match self.table.get(at) {
            Some(weight) => *weight,
            None => (f64::from(layer.weight) * self.inverse) as f32,
        }
    }

    /// Whether a layer counts. Each loop over the layers asks first.
    #[inline(always)]
    pub(super) fn counts<const MASKED: bool>(&self, at: usize, layer: &Layer<'_>) -> bool {
        if MASKED { layer.weight != 0.0 } else { self.same(at, layer) != 0.0 }
    }

    /// What the shares of the joints from `joint` on are divided by: the sum of all, or nothing where layers are to
    /// `ADD` up.
    #[inline(always)]
    pub(super) fn sums<S: Simd, const MASKED: bool, const ADD: bool>(&self, s: S, joint: usize) -> Sums<S> {
        if ADD {
            self.added_sums(s, joint)
        } else if MASKED {
            self.masked_sums(s, joint)
        } else {
            let one = S::f32s::splat(s, 1.0);
            let growth = S::i32s::splat(s, self.growth << 23);
            Sums { scale: one, sum: one, growth, nothing: one.simd_ne(one), poison: S::f32s::splat(s, 0.0) }
        }
    }

    /// Of the weights in the joints from `joint` on the sum and the sum of magnitudes, both times a power of two; that
    /// power; 0, or NaN where a weight is not finite.
    #[inline(always)]
    fn masked_totals<S: Simd>(&self, s: S, joint: usize) -> [S::f32s; 4] {
        let zero = S::i32s::splat(s, 0);
        let mut largest = zero;
        for layer in self.layers.iter().filter(|layer| layer.weight != 0.0) {
            largest = largest.max(masked_weight(s, layer, joint).abs().bitcast::<S::i32s>());
        }
        // Thirty bits, but for the room that a sum of as many parts as there are layers needs.
        let bits = 30 - (usize::BITS - self.counting.leading_zeros()) as i32;
        let splat = |k: i32| S::f32s::splat(s, f32::from_bits(exponent(k) as u32));
        let (scale, poison) = power_above(s, largest);
        let scale = scale * splat(bits - 30);
        let (mut sum, mut magnitudes) = ([zero; 2], [zero; 2]);
        for layer in self.layers.iter().filter(|layer| layer.weight != 0.0) {
            // What is behind the point has as many bits again: many small weights count beside a large one.
            let part = masked_weight(s, layer, joint) * scale;
            let whole: S::i32s = part.to_int();
            let rest = nearest(s, (part - whole.to_float::<S::f32s>()) * splat(bits));
            sum = [sum[0] + whole, sum[1] + rest];
            magnitudes = [magnitudes[0] + whole.abs(), magnitudes[1] + rest.abs()];
        }
        [joined::<S>(&sum, splat(-bits)), joined::<S>(&magnitudes, splat(-bits)), scale, poison]
    }

    #[inline(always)]
    fn masked_sums<S: Simd>(&self, s: S, joint: usize) -> Sums<S> {
        let [sum, magnitudes, scale, poison] = self.masked_totals(s, joint);
        // Infinities and NaN are integers of some kind here, which must not hide them.
        let nothing = sum.abs().simd_le(magnitudes * S::f32s::splat(s, MIN_SUM)) & poison.simd_eq(poison);
        let one = S::f32s::splat(s, 1.0);
        let slack = S::f32s::splat(s, slack(self.counting) as f32);
        let growth = nothing.select(one, magnitudes / sum.abs() * slack);
        let growth =
            (growth.bitcast::<S::i32s>() & S::i32s::splat(s, EXPONENT)) - S::i32s::splat(s, exponent(0));
        let shrink: S::f32s = (S::i32s::splat(s, exponent(0)) - growth).bitcast();
        // Where the sum is nothing, so are all shares.
        let scale = nothing.select(S::f32s::splat(s, 0.0), scale * shrink);
        Sums { scale, sum: nothing.select(one, sum), growth, nothing, poison }
    }

    /// Those of weights that stay as they are: whatever they sum to, only the room for the integers is found.
    #[inline(always)]
    fn added_sums<S: Simd>(&self, s: S, joint: usize) -> Sums<S> {
        let [_, magnitudes, scale, poison] = self.masked_totals(s, joint);
        let (one, max) = (S::f32s::splat(s, 1.0), S::f32s::splat(s, MAX_ADDED));
        let total = magnitudes / scale * S::f32s::splat(s, slack(self.counting) as f32);
        let held = total.simd_lt(max);
        let poison = poison + held.select(S::f32s::splat(s, 0.0), S::f32s::splat(s, f32::NAN));
        // Less than 1 has room enough.
        let growth = (held & total.simd_gt(one)).select(total, one);
        let growth =
            (growth.bitcast::<S::i32s>() & S::i32s::splat(s, EXPONENT)) - S::i32s::splat(s, exponent(0));
        let shrink: S::f32s = (S::i32s::splat(s, exponent(0)) - growth).bitcast();
        Sums { scale: shrink, sum: one, growth, nothing: one.simd_ne(one), poison }
    }

    /// The share of layer `at` in the joints from `joint` on.
    #[inline(always)]
    pub(super) fn of<S: Simd, const MASKED: bool>(
        &self,
        s: S,
        at: usize,
        layer: &Layer<'_>,
        joint: usize,
        sums: &Sums<S>,
    ) -> S::f32s {
        if MASKED {
            masked_weight(s, layer, joint) * sums.scale / sums.sum
        } else {
            S::f32s::splat(s, self.same(at, layer))
        }
    }
}

/// By what the weights of a group of lanes become shares.
#[derive(Clone, Copy)]
pub(super) struct Sums<S: Simd> {
    scale: S::f32s,
    sum: S::f32s,
    /// NormalizedWeights are divided by 2 to this power, which stands in the bits of an exponent.
    pub(super) growth: S::i32s,
    /// Where the weights sum to nothing.
    pub(super) nothing: S::mask32s,
    /// NaN where a weight times a mask is not finite, or beyond what may be added up; else 0.
    pub(super) poison: S::f32s,
}

/// The weight of a layer in the joints from `joint` on.
#[inline(always)]
pub(super) fn masked_weight<S: Simd>(s: S, layer: &Layer<'_>, joint: usize) -> S::f32s {
    let weight = S::f32s::splat(s, layer.weight);
    let Some(mask) = layer.mask else { return weight };
    if let Some(lanes) = mask.get(joint..joint + S::f32s::LEN) {
        return weight * S::f32s::from_slice(s, lanes);
    }
    // The end of the mask, within a block. Not a copy of a slice, which the compiler would call.
    let mut lanes = [0.0; BLOCK];
    for (at, lane) in lanes[..S::f32s::LEN].iter_mut().enumerate() {
        *lane = mask.get(joint + at).copied().unwrap_or(0.0);
    }
    weight * S::f32s::from_slice(s, &lanes[..S::f32s::LEN])
}

/// The power of two that takes numbers with bits of magnitude up to `largest` to just below 2^30. And 0, or NaN where
/// the largest is not finite.
#[inline(always)]
pub(super) fn power_above<S: Simd>(s: S, largest: S::i32s) -> (S::f32s, S::f32s) {
    // Numbers below 2^-94 are taken to less.
    let least = S::i32s::splat(s, exponent(-95));
    let held = (largest & S::i32s::splat(s, EXPONENT)).max(least) - least;
    let power: S::f32s = (S::i32s::splat(s, exponent(29 + 95)) - held).bitcast();
    let finite = largest.simd_lt(S::i32s::splat(s, EXPONENT));
    (power, finite.select(S::f32s::splat(s, 0.0), S::f32s::splat(s, f32::NAN)))
}

/// The nearest integer; halves go away from 0.
#[inline(always)]
pub(super) fn nearest<S: Simd>(s: S, x: S::f32s) -> S::i32s {
    // The float below 1/2: a half itself would take odd numbers from 2^23 on to the next even one.
    (x + S::f32s::splat(s, 0.499_999_97).copysign(x)).to_int()
}

/// An integer and what is behind its point, in units of `unit`.
#[inline(always)]
fn joined<S: Simd>(parts: &[S::i32s; 2], unit: S::f32s) -> S::f32s {
    let (whole, rest): (S::f32s, S::f32s) = (parts[0].to_float(), parts[1].to_float());
    whole + rest * unit
}

/// 0 for numbers, NaN for what is not finite. To be added to a result that would hide it.
#[inline(always)]
#[expect(clippy::eq_op, reason = "the difference of infinities or NaNs is NaN")]
pub(super) fn nan_or_zero<S: Simd>(x: S::f32s) -> S::f32s {
    x - x
}
