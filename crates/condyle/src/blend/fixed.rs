//! Sums of any number of layers, in integers.
//!
//! Sums of floats depend on their order, sums of integers do not. The largest magnitude of a component in any
//! layer gives a power of two per lane. It scales the term of each layer to an integer of up to thirty bits,
//! six more than a float has. So there are two passes over the layers: magnitudes, then sums.

use fearless_simd::prelude::*;

use super::layer::Weighted;
use super::rotation::{Reference, shorter_log};
use super::weights::{NormalizedWeights, Sums, exponent, nan_or_zero, nearest, power_above};
use crate::pose::PoseBlock;
use crate::simd::{BLOCK, Lanes, Mode, load, store, store_all};

/// `G` groups of lanes of a block of sixteen joints: loops over the layers cost less per joint when there are
/// two.
struct Groups<'a, S: Simd, L, const G: usize> {
    s: S,
    weights: &'a NormalizedWeights<'a, L>,
    index: usize,
    at: usize,
    /// With masks they differ between groups: then there is only one.
    sums: Sums<S>,
}

/// Runs `$body` for each layer that has a weight, with its normalised weights and its block.
macro_rules! each_layer {
    ($groups:ident, $masked:ident, |$weight:ident, $block:ident| $body:block) => {
        for (number, layer) in $groups.weights.layers.iter().enumerate() {
            if !$groups.weights.counts::<$masked>(number, layer) {
                continue;
            }
            let Some($block) = layer.pose().blocks().get($groups.index) else {
                debug_assert!(false, "layer {number} has fewer blocks than the reference");
                continue;
            };
            let mut $weight = [S::f32s::splat($groups.s, 0.0); G];
            for g in 0..G {
                let joint = $groups.index * BLOCK + $groups.place(g);
                $weight[g] = $groups.weights.of::<S, $masked>($groups.s, number, layer, joint, &$groups.sums);
            }
            $body
        }
    };
}

impl<S: Simd, L: Weighted, const G: usize> Groups<'_, S, L, G> {
    /// Where group `g` begins in the block.
    #[inline(always)]
    fn place(&self, g: usize) -> usize {
        self.at + g * S::f32s::LEN
    }

    /// Lanes of one component; `none` where masks leave the layer no weight.
    #[inline(always)]
    fn load<const MASKED: bool>(&self, lanes: &Lanes, g: usize, weight: S::f32s, none: f32) -> S::f32s {
        let (s, lanes) = (self.s, load(self.s, lanes, self.place(g)));
        if MASKED {
            weight.simd_eq(S::f32s::splat(s, 0.0)).select(S::f32s::splat(s, none), lanes)
        } else {
            lanes
        }
    }

    #[inline(always)]
    fn rotations<M: Mode, const MASKED: bool, const EXP: bool, const ADD: bool>(
        &self,
        mode: M,
        reference: &[Lanes; 4],
        out: &mut [Lanes; 4],
    ) {
        let s = self.s;
        let zero = S::i32s::splat(s, 0);
        let mut largest = [zero; G];
        if !EXP {
            each_layer!(self, MASKED, |weight, block| {
                for lanes in &block.rotation {
                    for g in 0..G {
                        let size = self.load::<MASKED>(lanes, g, weight[g], 0.0).abs();
                        largest[g] = largest[g].max(size.bitcast::<S::i32s>());
                    }
                }
            });
        }
        // Logarithms are shorter than 2.
        let mut powers = [S::f32s::splat(s, (1 << 29) as f32); G];
        let mut poison = [S::f32s::splat(s, 0.0); G];
        if !EXP {
            for g in 0..G {
                (powers[g], poison[g]) = power_above(s, largest[g]);
            }
        }
        let mut sums = [[zero; 4]; G];
        each_layer!(self, MASKED, |weight, block| {
            let [x, y, z, w] = &block.rotation;
            for g in 0..G {
                let reference = Reference::new(s, mode, reference, self.place(g));
                let q = [
                    self.load::<MASKED>(x, g, weight[g], 0.0),
                    self.load::<MASKED>(y, g, weight[g], 0.0),
                    self.load::<MASKED>(z, g, weight[g], 0.0),
                    self.load::<MASKED>(w, g, weight[g], 1.0),
                ];
                if EXP {
                    let factor = weight[g] * powers[g];
                    let terms =
                        if ADD { shorter_log(s, mode, &q, factor) } else { reference.log(s, &q, factor) };
                    for (sum, term) in sums[g].iter_mut().zip(terms) {
                        *sum += nearest(s, term);
                        poison[g] += nan_or_zero::<S>(term);
                    }
                } else {
                    let factor = reference.factor(s, &q, weight[g] * powers[g]);
                    for (sum, q) in sums[g].iter_mut().zip(q) {
                        *sum += nearest(s, q * factor);
                    }
                }
            }
        });
        for g in 0..G {
            let reference = Reference::new(s, mode, reference, self.place(g));
            let mut sum = [poison[g] + self.sums.poison; 4];
            for (sum, whole) in sum.iter_mut().zip(sums[g]) {
                let whole: S::f32s = whole.to_float();
                *sum += whole;
            }
            let mut mean = if EXP {
                let down: S::f32s = (S::i32s::splat(s, exponent(-29)) + self.sums.growth).bitcast();
                reference.turned(s, [sum[0] * down, sum[1] * down, sum[2] * down])
            } else {
                // A millionth of 2^30, squared.
                reference.unit(s, &sum, S::f32s::splat(s, (1 << 20) as f32))
            };
            let mut nothing = self.sums.nothing;
            if ADD {
                let zero = S::f32s::splat(s, 0.0);
                nothing = sum[0].simd_eq(zero) & sum[1].simd_eq(zero) & sum[2].simd_eq(zero);
            }
            if MASKED {
                for (mean, rest) in mean.iter_mut().zip(&reference.rotation) {
                    *mean = nothing.select(*rest, *mean);
                }
            }
            store_all(out, self.place(g), mean);
        }
    }

    #[inline(always)]
    fn vectors<M: Mode, const MASKED: bool, const SCALE: bool, const ADD: bool>(
        &self,
        mode: M,
        reference: &[Lanes; 3],
        out: &mut [Lanes; 3],
    ) {
        let s = self.s;
        let zero = S::i32s::splat(s, 0);
        // The value that changes nothing: of scales that are added up, the difference from 1 counts.
        let none = if ADD && SCALE { 1.0 } else { 0.0 };
        let mut largest = [[zero; 3]; G];
        each_layer!(self, MASKED, |weight, block| {
            let lanes = if SCALE { &block.scale } else { &block.translation };
            for c in 0..3 {
                for g in 0..G {
                    let mut value = self.load::<MASKED>(&lanes[c], g, weight[g], none);
                    if ADD && SCALE {
                        value -= S::f32s::splat(s, 1.0);
                    }
                    largest[g][c] = largest[g][c].max(value.abs().bitcast::<S::i32s>());
                }
            }
        });
        let (mut powers, mut sums) = ([[S::f32s::splat(s, 0.0); 3]; G], [[zero; 3]; G]);
        for g in 0..G {
            for c in 0..3 {
                let (power, poison) = power_above(s, largest[g][c]);
                powers[g][c] = power + poison + self.sums.poison;
            }
        }
        each_layer!(self, MASKED, |weight, block| {
            let lanes = if SCALE { &block.scale } else { &block.translation };
            for c in 0..3 {
                for g in 0..G {
                    let mut value = self.load::<MASKED>(&lanes[c], g, weight[g], none);
                    if ADD && SCALE {
                        value -= S::f32s::splat(s, 1.0);
                    }
                    sums[g][c] += nearest(s, value * (weight[g] * powers[g][c]));
                }
            }
        });
        for g in 0..G {
            for c in 0..3 {
                let (whole, power): (S::f32s, S::f32s) = (sums[g][c].to_float(), powers[g][c]);
                let back = S::i32s::splat(s, 2 * exponent(0)) + self.sums.growth - power.bitcast::<S::i32s>();
                let mut mean = whole * back.bitcast::<S::f32s>() + nan_or_zero::<S>(power);
                if MASKED {
                    let base = load(s, &reference[c], self.place(g));
                    let mut nothing = self.sums.nothing;
                    if ADD {
                        nothing = mean.simd_eq(S::f32s::splat(s, 0.0));
                        mean = if SCALE { mode.madd(mean, base, base) } else { base + mean };
                    }
                    mean = nothing.select(base, mean);
                }
                store::<S>(&mut out[c], self.place(g), mean);
            }
        }
    }
}

/// Blends all blocks: `MASKED` where weights differ from joint to joint, `EXP` for the exponential map's
/// mean. `ADD`, which needs both: adds the layers, which hold differences, to the reference.
#[inline(always)]
pub(super) fn kernel<S: Simd, M: Mode, const MASKED: bool, const EXP: bool, const ADD: bool>(
    s: S,
    mode: M,
    reference: &[PoseBlock],
    weights: &NormalizedWeights<'_, impl Weighted>,
    out: &mut [PoseBlock],
) {
    for (index, (reference, out)) in reference.iter().zip(out).enumerate() {
        if EXP || MASKED || S::f32s::LEN == BLOCK {
            groups::<S, M, MASKED, EXP, ADD, 1>(s, mode, index, reference, weights, out);
        } else {
            groups::<S, M, MASKED, EXP, ADD, 2>(s, mode, index, reference, weights, out);
        }
    }
}

#[inline(always)]
fn groups<S: Simd, M: Mode, const MASKED: bool, const EXP: bool, const ADD: bool, const G: usize>(
    s: S,
    mode: M,
    index: usize,
    reference: &PoseBlock,
    weights: &NormalizedWeights<'_, impl Weighted>,
    out: &mut PoseBlock,
) {
    for at in (0..BLOCK).step_by(G * S::f32s::LEN) {
        let sums = weights.sums::<S, MASKED, ADD>(s, index * BLOCK + at);
        let groups = Groups::<S, _, G> { s, weights, index, at, sums };
        groups.rotations::<M, MASKED, EXP, ADD>(mode, &reference.rotation, &mut out.rotation);
        groups.vectors::<M, MASKED, false, ADD>(mode, &reference.translation, &mut out.translation);
        groups.vectors::<M, MASKED, true, ADD>(mode, &reference.scale, &mut out.scale);
    }
}
