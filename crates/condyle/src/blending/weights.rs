//! The normalised weight of each layer: its weight divided by the sum of all.

use fearless_simd::prelude::*;

use super::layer::{Layer, Weighted};
use condyle_base::simd::BLOCK;

/// The exponent bits of a float, all set. The bits of infinity and NaN, without the sign, are not below them.
pub(super) const EXPONENT: i32 = 0x7F80_0000;

/// The exponent of 2^k.
pub(super) const fn exponent(k: i32) -> i32 {
    (127 + k) << 23
}

/// Weights whose sum is at most this part of the sum of their magnitudes count as cancelling.
const MIN_SUM: f32 = 1.0 / 1_048_576.0;

/// The sum of the magnitudes of weights that are added up has to stay below this: beyond, the integers have
/// no room.
const MAX_ADDED: f32 = 1_048_576.0;

/// The factor by which the sum of the magnitudes of all normalised weights is overestimated: the weights are
/// rounded, and so is the term that each of `layers` adds to a sum of integers.
#[inline(always)]
fn slack(layers: usize) -> f64 {
    1.000_001 + layers as f64 * power(-30)
}

/// 2^k.
#[inline(always)]
fn power(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

/// How many layers have a weight. The others must not change a single bit.
fn counting(layers: &[impl Weighted]) -> usize {
    layers.iter().filter(|layer| layer.weight() != 0.0).count()
}

/// Which of the sums it is. Known when the kernel is compiled for the mean that everybody uses; asked at run time
/// for the exponential map's and for layers that are added, which share a kernel.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// Weights differ from joint to joint.
    pub(super) masked: bool,
    /// Layers are differences, added to the reference. Then weights are those of masks.
    pub(super) add: bool,
}

/// The sum of all weights, where it is the same for all joints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Total {
    /// A weight times this is normalised.
    inverse: f64,
    /// The magnitudes of all normalised weights sum to less than `2^(growth + 1)`.
    growth: i32,
}

impl Total {
    /// For weights that masks change from joint to joint.
    pub(super) const UNKNOWN: Self = Self { inverse: 0.0, growth: 0 };

    /// `None` where the weights cancel.
    pub(super) fn of(layers: &[Layer<'_>]) -> Option<Self> {
        let (mut sum, mut magnitudes) = (0.0, 0.0);
        let (mut least, mut largest, mut counting) = (f64::INFINITY, 0.0, 0);
        for weight in layers.iter().map(|layer| f64::from(layer.weight)).filter(|&weight| weight != 0.0) {
            let magnitude = weight.abs();
            sum += weight;
            magnitudes += magnitude;
            // Weights are finite: the least of two needs no question whether one is NaN.
            least = if magnitude < least { magnitude } else { least };
            largest = if magnitude > largest { magnitude } else { largest };
            counting += 1;
        }
        if counting == 0 {
            return None;
        }
        // Weights of 24 bits within 24 powers of two of each other, and the carries of 32 of them: f64 holds all of it.
        if counting <= 32 && least * power(24) >= largest {
            return Self::from_sums(sum, magnitudes, 1.0, counting);
        }
        Self::of_any(layers, largest, counting)
    }

    /// Weights of any size.
    #[cold]
    fn of_any(layers: &[Layer<'_>], largest: f64, counting: usize) -> Option<Self> {
        // Integers of at most 101 bits: sums of floats would depend on the order.
        let shift = 1023 + 100 - (largest.to_bits() >> 52) as i32;
        let (mut sum, mut magnitudes) = (0_i128, 0_i128);
        for layer in layers {
            let part = (f64::from(layer.weight) * power(shift)) as i128;
            sum += part;
            magnitudes += part.abs();
        }
        Self::from_sums(sum as f64, magnitudes as f64, power(shift), counting)
    }

    /// From the sums of `counting` weights and of their magnitudes, both times `scale`. `None` where the weights cancel.
    fn from_sums(sum: f64, magnitudes: f64, scale: f64, counting: usize) -> Option<Self> {
        if sum.abs() <= magnitudes * f64::from(MIN_SUM) {
            return None;
        }
        let growth = ((magnitudes / sum.abs() * slack(counting)).to_bits() >> 52) as i32 - 1023;
        Some(Self { inverse: scale / sum, growth })
    }
}

impl Total {
    /// The normalised weight of a layer with this weight.
    pub(super) fn normalized(self, weight: f32) -> f32 {
        (f64::from(weight) * self.inverse) as f32
    }

    /// The square of the length below which a sum of quaternions counts as zero.
    pub(super) fn least2(self) -> f32 {
        power(2 * self.growth - 40) as f32
    }
}

/// How many normalised weights are computed beforehand; those of further layers are computed again for each
/// block.
const MAX_PREPARED: usize = 32;

/// The layers and their normalised weights, each divided by 2^growth.
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

    /// The normalised weight of layer `at`, the same for all joints.
    #[inline(always)]
    fn same(&self, at: usize, layer: &L) -> f32 {
        match self.table.get(at) {
            Some(weight) => *weight,
            None => (f64::from(layer.weight()) * self.inverse) as f32,
        }
    }

    /// Whether a layer has any weight. Loops over the layers skip those that have none.
    #[inline(always)]
    pub(super) fn counts(&self, how: How, at: usize, layer: &L) -> bool {
        if how.masked { layer.weight() != 0.0 } else { self.same(at, layer) != 0.0 }
    }

    /// What normalises the weights of the joints from `joint` on. Where layers are added, weights are not divided.
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

    /// For the joints from `joint` on: the sum of the weights and the sum of their magnitudes, both times a
    /// power of two; that power; and 0, or NaN where a weight is not finite.
    #[inline(always)]
    fn masked_totals<S: Simd>(&self, s: S, joint: usize) -> [S::f32s; 4] {
        let zero = S::i32s::splat(s, 0);
        let mut largest = zero;
        for layer in self.layers.iter().filter(|layer| layer.weight() != 0.0) {
            largest = largest.max(masked_weight(s, layer, joint).abs().bitcast::<S::i32s>());
        }
        // Thirty bits, less those that the sum over all layers may carry into.
        let bits = 30 - (usize::BITS - self.counting.leading_zeros()) as i32;
        let splat = |k: i32| S::f32s::splat(s, f32::from_bits(exponent(k) as u32));
        let (scale, poison) = power_above(s, largest);
        let scale = scale * splat(bits - 30);
        let (mut sum, mut magnitudes) = ([zero; 2], [zero; 2]);
        for layer in self.layers.iter().filter(|layer| layer.weight() != 0.0) {
            // The fraction is summed with as many bits again, so that many small weights count next to a
            // large one.
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
        // Here infinities and NaN have become ordinary integers: only `poison` still knows of them.
        let nothing = sum.abs().simd_le(magnitudes * S::f32s::splat(s, MIN_SUM)) & poison.simd_eq(poison);
        let one = S::f32s::splat(s, 1.0);
        let slack = S::f32s::splat(s, slack(self.counting) as f32);
        let growth = nothing.select(one, magnitudes / sum.abs() * slack);
        let growth =
            (growth.bitcast::<S::i32s>() & S::i32s::splat(s, EXPONENT)) - S::i32s::splat(s, exponent(0));
        let shrink: S::f32s = (S::i32s::splat(s, exponent(0)) - growth).bitcast();
        // Where the weights cancel, all normalised weights are 0.
        let scale = nothing.select(S::f32s::splat(s, 0.0), scale * shrink);
        Sums { scale, sum: nothing.select(one, sum), growth, nothing, poison }
    }

    /// For weights that are used as they are, whatever their sum: only the scale of the integers is
    /// determined.
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

    /// The normalised weight of layer `at` in the joints from `joint` on.
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

/// What normalises the weights of a group of lanes.
#[derive(Clone, Copy)]
pub(super) struct Sums<S: Simd> {
    scale: S::f32s,
    sum: S::f32s,
    /// Normalised weights are divided by 2 to this power, which is kept in the exponent bits of a float.
    pub(super) growth: S::i32s,
    /// Where the weights cancel.
    pub(super) nothing: S::mask32s,
    /// NaN where a weight times its mask is not finite, or where added weights reach [`MAX_ADDED`]; else 0.
    pub(super) poison: S::f32s,
}

/// The weight of a layer in the joints from `joint` on.
#[inline(always)]
pub(super) fn masked_weight<S: Simd>(s: S, layer: &impl Weighted, joint: usize) -> S::f32s {
    let weight = S::f32s::splat(s, layer.weight());
    let Some(mask) = layer.mask() else { return weight };
    if let Some(lanes) = mask.get(joint..joint + S::f32s::LEN) {
        return weight * S::f32s::from_slice(s, lanes);
    }
    // The mask ends within this block. A loop: a slice copy would become a call of memcpy.
    let mut lanes = [0.0; BLOCK];
    for (at, lane) in lanes[..S::f32s::LEN].iter_mut().enumerate() {
        *lane = mask.get(joint + at).copied().unwrap_or(0.0);
    }
    weight * S::f32s::from_slice(s, &lanes[..S::f32s::LEN])
}

/// The power of two that scales numbers with bits of magnitude up to `largest` to below 2^30. And 0, or NaN
/// where the largest is not finite.
#[inline(always)]
pub(super) fn power_above<S: Simd>(s: S, largest: S::i32s) -> (S::f32s, S::f32s) {
    // Numbers below 2^-94 are scaled to less.
    let least = S::i32s::splat(s, exponent(-95));
    let held = (largest & S::i32s::splat(s, EXPONENT)).max(least) - least;
    let power: S::f32s = (S::i32s::splat(s, exponent(29 + 95)) - held).bitcast();
    let finite = largest.simd_lt(S::i32s::splat(s, EXPONENT));
    (power, finite.select(S::f32s::splat(s, 0.0), S::f32s::splat(s, f32::NAN)))
}

/// The nearest integer; halves are rounded away from 0.
#[inline(always)]
pub(super) fn nearest<S: Simd>(s: S, x: S::f32s) -> S::i32s {
    // The float below 1/2: adding 1/2 itself would round odd numbers from 2^23 on to the next even one.
    (x + S::f32s::splat(s, 0.499_999_97).copysign(x)).to_int()
}

/// An integer and its fraction, in units of `unit`, as one float.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pose::Pose;
    use crate::testing::{Random, tries};
    use std::vec::Vec;

    /// The sums of floats, where they serve, are those of the integers, in any order; to the bit.
    #[test]
    fn totals_are_exact_in_any_order() {
        let pose = Pose::identity(1);
        let mut random = Random(33);
        let (mut totals, mut cancelled) = (0, 0);
        for case in 0..tries(20_000) {
            let count = 1 + random.below([4, 32, 33, 40][case % 4]);
            // From equal sizes to those that floats no longer sum.
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
                // All but cancelled.
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
