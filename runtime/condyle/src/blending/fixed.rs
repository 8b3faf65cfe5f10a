//! Sums of any number of layers, in integers.
//!
//! A sum of floats depends on their order, a sum of integers does not. Each component is computed in two
//! passes:
//!
//! 1. Find the largest magnitude of the component in any layer, for each lane.
//! 2. Scale the term of each layer to an integer of up to 30 bits and sum the integers. The scale is a power
//!    of two from that magnitude. 30 bits are six more than the significand of a float has.

use fearless_simd::prelude::*;

use super::layer::Weighted;
use super::rotation::{Reference, shorter_log};
use super::weights::{How, NormalizedWeights, Sums, exponent, nan_or_zero, nearest, power_above};
use crate::pose::PoseBlock;
use condyle_base::error::invariant;
use condyle_base::simd::{BLOCK, Lanes, Mode, dispatch_512, each, load, store, store_all};

/// `G` groups of lanes in a block of sixteen joints. With two groups, the loop over the layers costs less per
/// joint.
struct Groups<'a, S: Simd, L, const G: usize> {
    s: S,
    how: How,
    weights: &'a NormalizedWeights<'a, L>,
    index: usize,
    at: usize,
    /// Masks differ between groups, so with masks `G` is 1.
    sums: Sums<S>,
}

/// Runs `$body` for each layer with a non-zero weight, with its normalised weights and its block.
macro_rules! each_layer {
    ($groups:ident, |$weight:ident, $block:ident| $body:block) => {
        for (number, layer) in $groups.weights.layers.iter().enumerate() {
            if !$groups.weights.counts($groups.how, number, layer) {
                continue;
            }
            let Some($block) = layer.pose().blocks().get($groups.index) else {
                invariant!(false, "layer {number} has fewer blocks than the reference");
                continue;
            };
            let mut $weight = [S::f32s::splat($groups.s, 0.0); G];
            each!(g in [0, 1] below G => {
                let joint = $groups.index * BLOCK + $groups.place(g);
                $weight[g] = $groups.weights.of($groups.s, $groups.how, number, layer, joint, &$groups.sums);
            });
            $body
        }
    };
}

impl<S: Simd, L: Weighted, const G: usize> Groups<'_, S, L, G> {
    /// Returns the first lane of group `g` in the block.
    #[inline(always)]
    fn place(&self, g: usize) -> usize {
        self.at + g * S::f32s::LEN
    }

    /// Loads the lanes of one component, or `none` where the mask gives the layer no weight.
    #[inline(always)]
    fn load(&self, lanes: &Lanes, g: usize, weight: S::f32s, none: f32) -> S::f32s {
        let (s, lanes) = (self.s, load(self.s, lanes, self.place(g)));
        if self.how.masked {
            weight.simd_eq(S::f32s::splat(s, 0.0)).select(S::f32s::splat(s, none), lanes)
        } else {
            lanes
        }
    }

    #[inline(always)]
    fn rotations<M: Mode, const EXP: bool>(
        &self,
        mode: M,
        reference: Option<&PoseBlock>,
        out: &mut PoseBlock,
    ) {
        let s = self.s;
        let zero = S::i32s::splat(s, 0);
        let mut largest = [zero; G];
        if !EXP {
            each_layer!(self, |weight, block| {
                for lanes in &block.rotation {
                    each!(g in [0, 1] below G => {
                        let size = self.load(lanes, g, weight[g], 0.0).abs();
                        largest[g] = largest[g].max(size.bitcast::<S::i32s>());
                    });
                }
            });
        }
        // The length of a logarithm is half the angle, at most π/2 for the shorter turn, so it is below 2.
        let mut powers = [S::f32s::splat(s, (1 << 29) as f32); G];
        let mut poison = [S::f32s::splat(s, 0.0); G];
        if !EXP {
            each!(g in [0, 1] below G => {
                (powers[g], poison[g]) = power_above(s, largest[g]);
            });
        }
        let mut sums = [[zero; 4]; G];
        each_layer!(self, |weight, block| {
            let [x, y, z, w] = &block.rotation;
            each!(g in [0, 1] below G => {
                let reference = Reference::new(s, mode, &reference.unwrap_or(out).rotation, self.place(g));
                let q = [
                    self.load(x, g, weight[g], 0.0),
                    self.load(y, g, weight[g], 0.0),
                    self.load(z, g, weight[g], 0.0),
                    self.load(w, g, weight[g], 1.0),
                ];
                if EXP {
                    let factor = weight[g] * powers[g];
                    let terms = if self.how.add {
                        shorter_log(s, mode, &q, factor)
                    } else {
                        reference.log(s, &q, factor)
                    };
                    each!(c in [0, 1, 2] => {
                        sums[g][c] += nearest(s, terms[c]);
                        poison[g] += nan_or_zero::<S>(terms[c]);
                    });
                } else {
                    let factor = reference.factor(s, &q, weight[g] * powers[g]);
                    each!(c in [0, 1, 2, 3] => sums[g][c] += nearest(s, q[c] * factor));
                }
            });
        });
        each!(g in [0, 1] below G => {
            let reference = Reference::new(s, mode, &reference.unwrap_or(out).rotation, self.place(g));
            let mut sum = [poison[g] + self.sums.poison; 4];
            each!(c in [0, 1, 2, 3] => sum[c] += sums[g][c].to_float::<S::f32s>());
            let mut mean = if EXP {
                let down: S::f32s = (S::i32s::splat(s, exponent(-29)) + self.sums.growth).bitcast();
                reference.turned(s, [sum[0] * down, sum[1] * down, sum[2] * down])
            } else {
                // The square of a millionth of 2^30.
                reference.unit(s, &sum, S::f32s::splat(s, (1 << 20) as f32))
            };
            let mut nothing = self.sums.nothing;
            if self.how.add {
                let zero = S::f32s::splat(s, 0.0);
                nothing = sum[0].simd_eq(zero) & sum[1].simd_eq(zero) & sum[2].simd_eq(zero);
            }
            if self.how.masked {
                each!(c in [0, 1, 2, 3] => mean[c] = nothing.select(reference.rotation[c], mean[c]));
            }
            store_all(&mut out.rotation, self.place(g), mean);
        });
    }

    #[inline(always)]
    fn vectors<M: Mode, const SCALE: bool>(
        &self,
        mode: M,
        reference: Option<&PoseBlock>,
        out: &mut PoseBlock,
    ) {
        let s = self.s;
        let zero = S::i32s::splat(s, 0);
        // Neutral value. For added scales it is 1, because the sum uses their difference from 1.
        let added_scale = self.how.add && SCALE;
        let none = if added_scale { 1.0 } else { 0.0 };
        let mut largest = [[zero; 3]; G];
        each_layer!(self, |weight, block| {
            let lanes = if SCALE { &block.scale } else { &block.translation };
            each!(c in [0, 1, 2] => {
                each!(g in [0, 1] below G => {
                    let mut value = self.load(&lanes[c], g, weight[g], none);
                    if added_scale {
                        value -= S::f32s::splat(s, 1.0);
                    }
                    largest[g][c] = largest[g][c].max(value.abs().bitcast::<S::i32s>());
                });
            });
        });
        let (mut powers, mut sums) = ([[S::f32s::splat(s, 0.0); 3]; G], [[zero; 3]; G]);
        each!(g in [0, 1] below G => {
            each!(c in [0, 1, 2] => {
                let (power, poison) = power_above(s, largest[g][c]);
                powers[g][c] = power + poison + self.sums.poison;
            });
        });
        each_layer!(self, |weight, block| {
            let lanes = if SCALE { &block.scale } else { &block.translation };
            each!(c in [0, 1, 2] => {
                each!(g in [0, 1] below G => {
                    let mut value = self.load(&lanes[c], g, weight[g], none);
                    if added_scale {
                        value -= S::f32s::splat(s, 1.0);
                    }
                    sums[g][c] += nearest(s, value * (weight[g] * powers[g][c]));
                });
            });
        });
        each!(g in [0, 1] below G => {
            each!(c in [0, 1, 2] => {
                let (whole, power): (S::f32s, S::f32s) = (sums[g][c].to_float(), powers[g][c]);
                let back = S::i32s::splat(s, 2 * exponent(0)) + self.sums.growth - power.bitcast::<S::i32s>();
                let mut mean = whole * back.bitcast::<S::f32s>() + nan_or_zero::<S>(power);
                if self.how.masked {
                    let reference = reference.unwrap_or(out);
                    let lanes = if SCALE { &reference.scale } else { &reference.translation };
                    let base = load(s, &lanes[c], self.place(g));
                    let mut nothing = self.sums.nothing;
                    if self.how.add {
                        nothing = mean.simd_eq(S::f32s::splat(s, 0.0));
                        mean = if SCALE { mode.madd(mean, base, base) } else { base + mean };
                    }
                    mean = nothing.select(base, mean);
                }
                let lanes = if SCALE { &mut out.scale } else { &mut out.translation };
                store::<S>(&mut lanes[c], self.place(g), mean);
            });
        });
    }
}

/// Blends all blocks, with the mean of the exponential map if `EXP`; additive layers require `EXP`. If
/// `reference` is `None`, `out` is also the reference.
#[inline(always)]
pub(super) fn kernel<S: Simd, M: Mode, const EXP: bool>(
    s: S,
    mode: M,
    how: How,
    reference: Option<&[PoseBlock]>,
    weights: &NormalizedWeights<'_, impl Weighted>,
    out: &mut [PoseBlock],
) {
    for (index, out) in out.iter_mut().enumerate() {
        let reference = reference.and_then(|reference| reference.get(index));
        if EXP || how.masked || S::f32s::LEN == BLOCK {
            groups::<S, M, EXP, 1>(s, mode, how, index, reference, weights, out);
        } else {
            groups::<S, M, EXP, 2>(s, mode, how, index, reference, weights, out);
        }
    }
}

#[inline(always)]
fn groups<S: Simd, M: Mode, const EXP: bool, const G: usize>(
    s: S,
    mode: M,
    how: How,
    index: usize,
    reference: Option<&PoseBlock>,
    weights: &NormalizedWeights<'_, impl Weighted>,
    out: &mut PoseBlock,
) {
    for at in (0..BLOCK).step_by(G * S::f32s::LEN) {
        let sums = weights.sums(s, how, index * BLOCK + at);
        let groups = Groups::<S, _, G> { s, how, weights, index, at, sums };
        groups.rotations::<M, EXP>(mode, reference, out);
        groups.vectors::<M, false>(mode, reference, out);
        groups.vectors::<M, true>(mode, reference, out);
    }
}

/// Runs [`kernel`] with sums of logarithms. Blends and additive layers share this one copy.
pub(super) fn by_logarithms(
    how: How,
    reference: Option<&[PoseBlock]>,
    weights: &NormalizedWeights<'_, impl Weighted>,
    out: &mut [PoseBlock],
) {
    dispatch_512!(|s, mode| kernel::<_, _, true>(s, mode, how, reference, weights, out));
}
