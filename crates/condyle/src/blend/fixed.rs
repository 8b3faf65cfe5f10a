//! Sums of any number of layers, in integers.
//!
//! Sums of floats depend on their order, sums of integers do not. The largest magnitude of a component in any layer
//! gives a power of two per lane with which what a layer adds becomes an integer of up to thirty bits, six more than
//! a float has. So there are two passes over the layers: magnitudes, then sums.

use fearless_simd::prelude::*;

use super::rotation::{Reference, store_all};
use super::share::{Shares, Sums, exponent, power_above};
use crate::pose::{BLOCK, Lanes, PoseBlock};
use crate::simd::{Mode, load};

/// Sixteen joints of which one group of lanes is blended.
struct Group<'a, S: Simd> {
    s: S,
    shares: &'a Shares<'a>,
    index: usize,
    at: usize,
    sums: Sums<S>,
}

/// Runs `$body` for each layer that counts, with its block and a function that gives its shares.
macro_rules! each_layer {
    ($group:ident, $masked:ident, |$share:ident, $block:ident| $body:block) => {
        for (number, layer) in $group.shares.layers.iter().enumerate() {
            if !$group.shares.counts::<$masked>(number, layer) {
                continue;
            }
            let Some($block) = layer.pose.blocks().get($group.index) else { continue };
            let joint = $group.index * BLOCK + $group.at;
            let $share = $group.shares.of::<S, $masked>($group.s, number, layer, joint, &$group.sums);
            $body
        }
    };
}

impl<S: Simd> Group<'_, S> {
    /// Lanes of one component; `none` where masks leave the layer no share.
    #[inline(always)]
    fn load<const MASKED: bool>(&self, lanes: &Lanes, share: S::f32s, none: f32) -> S::f32s {
        let (s, lanes) = (self.s, load(self.s, lanes, self.at));
        if MASKED {
            share.simd_eq(S::f32s::splat(s, 0.0)).select(S::f32s::splat(s, none), lanes)
        } else {
            lanes
        }
    }

    #[inline(always)]
    fn rotation<M: Mode, const MASKED: bool, const EXP: bool>(
        &self,
        reference: &Reference<S, M>,
    ) -> [S::f32s; 4] {
        let s = self.s;
        let zero = S::i32s::splat(s, 0);
        let mut largest = zero;
        if !EXP {
            each_layer!(self, MASKED, |share, block| {
                for lanes in &block.rotation {
                    largest = largest.max(self.load::<MASKED>(lanes, share, 0.0).abs().bitcast::<S::i32s>());
                }
            });
        }
        // Logarithms are shorter than 2.
        let (power, mut poison) = if EXP {
            (S::f32s::splat(s, (1 << 29) as f32), S::f32s::splat(s, 0.0))
        } else {
            power_above(s, largest)
        };
        let mut sums = [zero; 4];
        each_layer!(self, MASKED, |share, block| {
            let [x, y, z, w] = &block.rotation;
            let q = [
                self.load::<MASKED>(x, share, 0.0),
                self.load::<MASKED>(y, share, 0.0),
                self.load::<MASKED>(z, share, 0.0),
                self.load::<MASKED>(w, share, 1.0),
            ];
            if EXP {
                for (sum, term) in sums.iter_mut().zip(reference.log(s, &q, share * power)) {
                    let part: S::i32s = term.to_int();
                    *sum += part;
                    poison += term - term;
                }
            } else {
                let factor = reference.factor(&q, share * power);
                for (sum, q) in sums.iter_mut().zip(q) {
                    let part: S::i32s = (q * factor).to_int();
                    *sum += part;
                }
            }
        });
        poison += self.sums.poison;
        let mut sum = [poison; 4];
        for (sum, whole) in sum.iter_mut().zip(sums) {
            let whole: S::f32s = whole.to_float();
            *sum += whole;
        }
        if EXP {
            let down: S::f32s = (S::i32s::splat(s, exponent(-29)) + self.sums.growth).bitcast();
            reference.turned(s, [sum[0] * down, sum[1] * down, sum[2] * down])
        } else {
            // A millionth of 2^30, squared.
            reference.unit(s, &sum, S::f32s::splat(s, (1 << 20) as f32))
        }
    }

    #[inline(always)]
    fn vectors<const MASKED: bool, const SCALE: bool>(&self, reference: &[Lanes; 3]) -> [S::f32s; 3] {
        let s = self.s;
        let zero = S::i32s::splat(s, 0);
        let mut largest = [zero; 3];
        each_layer!(self, MASKED, |share, block| {
            let lanes = if SCALE { &block.scale } else { &block.translation };
            for (largest, lanes) in largest.iter_mut().zip(lanes) {
                *largest = largest.max(self.load::<MASKED>(lanes, share, 0.0).abs().bitcast::<S::i32s>());
            }
        });
        let (mut powers, mut sums) = ([self.sums.poison; 3], [zero; 3]);
        for (power, largest) in powers.iter_mut().zip(largest) {
            let (value, poison) = power_above(s, largest);
            *power += value + poison;
        }
        each_layer!(self, MASKED, |share, block| {
            let lanes = if SCALE { &block.scale } else { &block.translation };
            for c in 0..3 {
                let part: S::i32s =
                    (self.load::<MASKED>(&lanes[c], share, 0.0) * (share * powers[c])).to_int();
                sums[c] += part;
            }
        });
        let mut out = powers;
        for c in 0..3 {
            let whole: S::f32s = sums[c].to_float();
            let back = S::i32s::splat(s, 2 * exponent(0)) + self.sums.growth - powers[c].bitcast::<S::i32s>();
            out[c] = whole * back.bitcast::<S::f32s>() + (powers[c] - powers[c]);
            if MASKED {
                out[c] = self.sums.nothing.select(load(s, &reference[c], self.at), out[c]);
            }
        }
        out
    }
}

/// Blends all blocks: `MASKED` where weights differ from joint to joint, `EXP` for the exponential map's mean.
#[inline(always)]
pub(super) fn kernel<S: Simd, M: Mode, const MASKED: bool, const EXP: bool>(
    s: S,
    mode: M,
    reference: &[PoseBlock],
    shares: &Shares<'_>,
    out: &mut [PoseBlock],
) {
    for (index, (reference, out)) in reference.iter().zip(out).enumerate() {
        for at in (0..BLOCK).step_by(S::f32s::LEN) {
            let sums = shares.sums::<S, MASKED>(s, index * BLOCK + at);
            let group = Group { s, shares, index, at, sums };
            let rotations = Reference::new(s, mode, &reference.rotation, at);
            store_all::<S, 4>(&mut out.rotation, at, &group.rotation::<M, MASKED, EXP>(&rotations));
            store_all::<S, 3>(
                &mut out.translation,
                at,
                &group.vectors::<MASKED, false>(&reference.translation),
            );
            store_all::<S, 3>(&mut out.scale, at, &group.vectors::<MASKED, true>(&reference.scale));
        }
    }
}
