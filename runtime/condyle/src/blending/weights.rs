//! Normalised weight of each layer: its weight divided by the sum of all weights.

use fearless_simd::prelude::*;

use super::layer::{Layer, Weighted};
use condyle_base::simd::BLOCK;

/// All exponent bits of a float. Without the sign, the bits of infinity and NaN are at least this.
pub(super) const EXPONENT: i32 = 0x7F80_0000;

/// Returns the exponent bits of 2^k.
pub(super) const fn exponent(k: i32) -> i32 {
    (127 + k) << 23
}

/// Weights count as cancelling if the magnitude of their sum is at most this fraction of the sum of their
/// magnitudes.
const MIN_SUM: f32 = 1.0 / 1_048_576.0;

/// Upper limit for the sum of the magnitudes of added weights. The integers would overflow above it.
const MAX_ADDED: f32 = 1_048_576.0;

/// Factor by which the sum of the magnitudes of all normalised weights is overestimated. It covers the
/// rounding of the weights, and of the term that each of `layers` adds to an integer sum.
#[inline(always)]
fn slack(layers: usize) -> f64 {
    1.000_001 + layers as f64 * power(-30)
}

/// Returns 2^k.
#[inline(always)]
fn power(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

/// Number of layers with a non-zero weight. The other layers must not change a single bit.
fn counting(layers: &[impl Weighted]) -> usize {
    layers.iter().filter(|layer| layer.weight() != 0.0).count()
}

/// Kind of sum. It is a compile-time constant in the kernel for the linear mean. The kernel for the
/// exponential map and for additive layers is shared, and checks it at run time.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// Whether weights differ between joints.
    pub(super) masked: bool,
    /// Whether layers are differences that are added to the reference. `masked` is then true.
    pub(super) add: bool,
}

/// Sum of all weights, if it is the same for all joints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Total {
    /// Factor that normalises a weight.
    inverse: f64,
    /// Exponent that bounds the magnitudes of all normalised weights: their sum is less than
    /// `2^(growth + 1)`.
    growth: i32,
}

impl Total {
    /// Placeholder for weights that differ between joints.
    pub(super) const UNKNOWN: Self = Self { inverse: 0.0, growth: 0 };

    /// Returns the total of the weights, or `None` if they cancel.
    pub(super) fn of(layers: &[Layer<'_>]) -> Option<Self> {
        let (mut sum, mut magnitudes) = (0.0, 0.0);
        let (mut least, mut largest, mut counting) = (f64::INFINITY, 0.0, 0);
        for weight in layers.iter().map(|layer| f64::from(layer.weight)).filter(|&weight| weight != 0.0) {
            let magnitude = weight.abs();
            sum += weight;
            magnitudes += magnitude;
            // A plain comparison suffices, because weights are never NaN.
            least = if magnitude < least { magnitude } else { least };
            largest = if magnitude > largest { magnitude } else { largest };
            counting += 1;
        }
        if counting == 0 {
            return None;
        }
        // f64 is exact here: weights have 24 bits, their exponents differ by at most 24, and 32 of them carry
        // 5 bits.
        if counting <= 32 && least * power(24) >= largest {
            return Self::from_sums(sum, magnitudes, 1.0, counting);
        }
        Self::of_any(layers, largest, counting)
    }

    /// Computes the total for weights of any size.
    #[cold]
    fn of_any(layers: &[Layer<'_>], largest: f64, counting: usize) -> Option<Self> {
        // Use integers of at most 101 bits, because sums of floats would depend on the order.
        let shift = 1023 + 100 - (largest.to_bits() >> 52) as i32;
        let (mut sum, mut magnitudes) = (0_i128, 0_i128);
        for layer in layers {
            let part = (f64::from(layer.weight) * power(shift)) as i128;
            sum += part;
            magnitudes += part.abs();
        }
        Self::from_sums(sum as f64, magnitudes as f64, power(shift), counting)
    }

    /// Returns the total from the sums of `counting` weights and of their magnitudes, both times `scale`, or
    /// `None` if the weights cancel.
    fn from_sums(sum: f64, magnitudes: f64, scale: f64, counting: usize) -> Option<Self> {
        if sum.abs() <= magnitudes * f64::from(MIN_SUM) {
            return None;
        }
        let growth = ((magnitudes / sum.abs() * slack(counting)).to_bits() >> 52) as i32 - 1023;
        Some(Self { inverse: scale / sum, growth })
    }
}

impl Total {
    /// Returns the normalised weight of a layer.
    pub(super) fn normalized(self, weight: f32) -> f32 {
        (f64::from(weight) * self.inverse) as f32
    }

    /// Returns the squared length below which a sum of quaternions counts as zero.
    pub(super) fn least2(self) -> f32 {
        power(2 * self.growth - 40) as f32
    }
}

/// Maximum number of normalised weights to compute in advance. The kernel computes the weights of further
/// layers for each block.
const MAX_PREPARED: usize = 32;

/// Layers with their normalised weights, each divided by 2^growth.
pub(super) struct NormalizedWeights<'a, L> {
    pub(super) layers: &'a [L],
    counting: usize,
    /// 2^-growth divided by the sum of the weights.
    inverse: f64,
    growth: i32,
    table: [f32; MAX_PREPARED],
}

impl<'a, L: Weighted> NormalizedWeights<'a, L> {
    pub(super) fn new(layers: &'a [L], total: Total) -> Self {
        let inverse = total.inverse * power(-total.growth);
        let mut table = [0.0; MAX_PREPARED];
        for (weight, layer) in table.iter_mut().zip(layers) {
            *weight = (f64::from(layer.weight()) * inverse) as f32;
        }
        Self { layers, counting: counting(layers), inverse, growth: total.growth, table }
    }

    /// Returns the normalised weight of layer `at` if it is the same for all joints.
    #[inline(always)]
    fn same(&self, at: usize, layer: &L) -> f32 {
        match self.table.get(at) {
            Some(weight) => *weight,
            None => (f64::from(layer.weight()) * self.inverse) as f32,
        }
    }

    /// Returns whether a layer has a non-zero weight. Loops over the layers skip the others.
    #[inline(always)]
    pub(super) fn counts(&self, how: How, at: usize, layer: &L) -> bool {
        if how.masked { layer.weight() != 0.0 } else { self.same(at, layer) != 0.0 }
    }

    /// Returns the factors that normalise the weights of the joints starting at `joint`. Added weights are
    /// not divided.
    #[inline(always)]
    pub(super) fn sums<S: Simd>(&self, s: S, how: How, joint: usize) -> Sums<S> {
        if how.add {
            self.added_sums(s, joint)
        } else if how.masked {
            self.masked_sums(s, joint)
        } else {
            let one = S::f32s::splat(s, 1.0);
            let growth = S::i32s::splat(s, self.growth << 23);
            Sums { scale: one, sum: one, growth, nothing: one.simd_ne(one), poison: S::f32s::splat(s, 0.0) }
        }
    }

    /// Returns four values for the joints starting at `joint`. The first two are the sum of the weights and
    /// the sum of their magnitudes, both times a power of two. The third is that power. The fourth is 0, or
    /// NaN where a weight is not finite.
    #[inline(always)]
    fn masked_totals<S: Simd>(&self, s: S, joint: usize) -> [S::f32s; 4] {
        let zero = S::i32s::splat(s, 0);
        let mut largest = zero;
        for layer in self.layers.iter().filter(|layer| layer.weight() != 0.0) {
            largest = largest.max(masked_weight(s, layer, joint).abs().bitcast::<S::i32s>());
        }
        // 30 bits, minus the carry bits of the sum over all layers.
        let bits = 30 - (usize::BITS - self.counting.leading_zeros()) as i32;
        let splat = |k: i32| S::f32s::splat(s, f32::from_bits(exponent(k) as u32));
        let (scale, poison) = power_above(s, largest);
        let scale = scale * splat(bits - 30);
        let (mut sum, mut magnitudes) = ([zero; 2], [zero; 2]);
        for layer in self.layers.iter().filter(|layer| layer.weight() != 0.0) {
            // Sum the fraction separately with the same number of bits, so that many small weights count next
            // to a large one.
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
        // Infinities and NaN are ordinary integers here. Only `poison` still marks them.
        let nothing = sum.abs().simd_le(magnitudes * S::f32s::splat(s, MIN_SUM)) & poison.simd_eq(poison);
        let one = S::f32s::splat(s, 1.0);
        let slack = S::f32s::splat(s, slack(self.counting) as f32);
        let growth = nothing.select(one, magnitudes / sum.abs() * slack);
        let growth =
            (growth.bitcast::<S::i32s>() & S::i32s::splat(s, EXPONENT)) - S::i32s::splat(s, exponent(0));
        let shrink: S::f32s = (S::i32s::splat(s, exponent(0)) - growth).bitcast();
        // If the weights cancel, all normalised weights are 0.
        let scale = nothing.select(S::f32s::splat(s, 0.0), scale * shrink);
        Sums { scale, sum: nothing.select(one, sum), growth, nothing, poison }
    }

    /// Computes only the scale of the integers, because added weights are not normalised.
    #[inline(always)]
    fn added_sums<S: Simd>(&self, s: S, joint: usize) -> Sums<S> {
        let [_, magnitudes, scale, poison] = self.masked_totals(s, joint);
        let (one, max) = (S::f32s::splat(s, 1.0), S::f32s::splat(s, MAX_ADDED));
        let total = magnitudes / scale * S::f32s::splat(s, slack(self.counting) as f32);
        let held = total.simd_lt(max);
        let poison = poison + held.select(S::f32s::splat(s, 0.0), S::f32s::splat(s, f32::NAN));
        // Sums below 1 need no scaling.
        let growth = (held & total.simd_gt(one)).select(total, one);
        let growth =
            (growth.bitcast::<S::i32s>() & S::i32s::splat(s, EXPONENT)) - S::i32s::splat(s, exponent(0));
        let shrink: S::f32s = (S::i32s::splat(s, exponent(0)) - growth).bitcast();
        Sums { scale: shrink, sum: one, growth, nothing: one.simd_ne(one), poison }
    }

    /// Returns the normalised weight of layer `at` for the joints starting at `joint`.
    #[inline(always)]
    pub(super) fn of<S: Simd>(
        &self,
        s: S,
        how: How,
        at: usize,
        layer: &L,
        joint: usize,
        sums: &Sums<S>,
    ) -> S::f32s {
        if how.masked {
            masked_weight(s, layer, joint) * sums.scale / sums.sum
        } else {
            S::f32s::splat(s, self.same(at, layer))
        }
    }
}

/// Factors that normalise the weights of one group of lanes.
#[derive(Clone, Copy)]
pub(super) struct Sums<S: Simd> {
    scale: S::f32s,
    sum: S::f32s,
    /// Exponent bits of the power of two that normalised weights are divided by.
    pub(super) growth: S::i32s,
    /// Lanes whose weights cancel.
    pub(super) nothing: S::mask32s,
    /// NaN where a weight times its mask is not finite, or where added weights reach [`MAX_ADDED`]; otherwise
    /// 0.
    pub(super) poison: S::f32s,
}

/// Returns the weight of a layer times its mask for the joints starting at `joint`.
#[inline(always)]
pub(super) fn masked_weight<S: Simd>(s: S, layer: &impl Weighted, joint: usize) -> S::f32s {
    let weight = S::f32s::splat(s, layer.weight());
    let Some(mask) = layer.mask() else { return weight };
    if let Some(lanes) = mask.get(joint..joint + S::f32s::LEN) {
        return weight * S::f32s::from_slice(s, lanes);
    }
    // The mask ends within this block. A loop, because a slice copy would compile to a memcpy call.
    let mut lanes = [0.0; BLOCK];
    for (at, lane) in lanes[..S::f32s::LEN].iter_mut().enumerate() {
        *lane = mask.get(joint + at).copied().unwrap_or(0.0);
    }
    weight * S::f32s::from_slice(s, &lanes[..S::f32s::LEN])
}

/// Returns the power of two that scales numbers with magnitude bits up to `largest` to below 2^30. The second
/// value is 0, or NaN if `largest` is not finite.
#[inline(always)]
pub(super) fn power_above<S: Simd>(s: S, largest: S::i32s) -> (S::f32s, S::f32s) {
    // Numbers below 2^-94 are scaled to smaller integers, because the power of two is limited.
    let least = S::i32s::splat(s, exponent(-95));
    let held = (largest & S::i32s::splat(s, EXPONENT)).max(least) - least;
    let power: S::f32s = (S::i32s::splat(s, exponent(29 + 95)) - held).bitcast();
    let finite = largest.simd_lt(S::i32s::splat(s, EXPONENT));
    (power, finite.select(S::f32s::splat(s, 0.0), S::f32s::splat(s, f32::NAN)))
}

/// Rounds to the nearest integer, and halves away from 0.
#[inline(always)]
pub(super) fn nearest<S: Simd>(s: S, x: S::f32s) -> S::i32s {
    // The largest float below 1/2. Adding 1/2 itself would round odd numbers from 2^23 on to the next even
    // number.
    (x + S::f32s::splat(s, 0.499_999_97).copysign(x)).to_int()
}

/// Returns an integer plus a fraction in units of `unit`, as one float.
#[inline(always)]
fn joined<S: Simd>(parts: &[S::i32s; 2], unit: S::f32s) -> S::f32s {
    let (whole, rest): (S::f32s, S::f32s) = (parts[0].to_float(), parts[1].to_float());
    whole + rest * unit
}

/// Returns 0 for finite values, NaN otherwise. Added to a result, it keeps a NaN that the result would hide.
#[inline(always)]
#[expect(clippy::eq_op, reason = "the difference of infinities or NaNs is NaN")]
pub(super) fn nan_or_zero<S: Simd>(x: S::f32s) -> S::f32s {
    x - x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pose::Pose;
    use crate::testing::{Random, tries};
    use std::vec::Vec;

    /// The float sums, where they are exact, equal the integer sums bit for bit, in any order.
    #[test]
    fn totals_are_exact_in_any_order() {
        let pose = Pose::identity(1);
        let mut random = Random(33);
        let (mut totals, mut cancelled) = (0, 0);
        for case in 0..tries(20_000) {
            let count = 1 + random.below([4, 32, 33, 40][case % 4]);
            // Ranges of exponents: from equal sizes to a range that float sums cannot hold exactly.
            let range = [0, 3, 23, 24, 25, 60, 140][case % 7] as f32;
            let size = random.range(-120.0, 100.0).round();
            let weight = |random: &mut Random| {
                let exponent = (size + random.range(0.0, range).round()).clamp(-149.0, 126.0);
                let fraction =
                    [random.range(-2.0, 2.0), 1.0, -1.0, f32::from_bits(0x3FFF_FFFF), 0.0][random.below(5)];
                (f64::from(fraction) * power(exponent as i32)) as f32
            };
            let mut weights: Vec<f32> = (0..count).map(|_| weight(&mut random)).collect();
            if case % 5 == 0 {
                // Weights that almost cancel.
                let negated: Vec<f32> = weights.iter().skip(1).map(|w| -w).collect();
                weights.extend(negated);
            }
            let layers = |weights: &[f32]| weights.iter().map(|&w| Layer::new(&pose, w)).collect::<Vec<_>>();
            let got = Total::of(&layers(&weights));
            let all = layers(&weights);
            let largest = weights.iter().map(|&w| f64::from(w).abs()).fold(0.0, f64::max);
            let want = (largest > 0.0).then(|| Total::of_any(&all, largest, counting(&all))).flatten();
            assert_eq!(got, want, "case {case}: {weights:?}");
            for _ in 0..4 {
                let (a, b) = (random.below(weights.len()), random.below(weights.len()));
                weights.swap(a, b);
                assert_eq!(Total::of(&layers(&weights)), got, "case {case}: {weights:?}");
            }
            *(if got.is_some() { &mut totals } else { &mut cancelled }) += 1;
        }
        assert!(totals > tries(20_000) / 2 && cancelled > tries(20_000) / 100, "{totals}, {cancelled}");
    }
}
