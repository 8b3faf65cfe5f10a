//! Sums of up to four layers, in floats.
//!
//! The sum of two floats does not depend on their order. Three or four are sorted first: the minimum, the
//! maximum, and the one or two between them. So one pass over the layers is enough. It takes 1.5x the time of
//! a plain sum.

use fearless_simd::prelude::*;

use super::rotation::Reference;
use crate::pose::PoseBlock;
use condyle_base::error::invariant;
use condyle_base::simd::{BLOCK, Lanes, Mode, each, load, load_all, store_all};

/// Blocks of each layer.
pub(super) type Parts<'a, const N: usize> = [&'a [PoseBlock]; N];

/// Returns the sum of up to four numbers in each lane. The order of the numbers does not matter.
#[inline(always)]
fn sum<S: Simd, M: Mode, const N: usize>(s: S, mode: M, p: &[S::f32s; N]) -> S::f32s {
    if N < 3 {
        return if N == 1 { p[0] } else { p[0] + p[1] };
    }
    let (low, high) = (p[0].min(p[1]), p[0].max(p[1]));
    let sorted = if N == 3 {
        let (rest, greatest) = (high.min(p[2]), high.max(p[2]));
        low + rest + greatest
    } else {
        let (low2, high2) = (p[2].min(p[3]), p[2].max(p[3]));
        let (least, greatest) = (low.min(low2), high.max(high2));
        let (rest, rest2) = (low.max(low2), high.min(high2));
        (least + greatest) + (rest + rest2)
    };
    // Instruction sets differ in the minimum of a number and NaN, or of 0 and -0. Adding this NaN or 0 makes
    // their results equal.
    let zero = S::f32s::splat(s, 0.0);
    let mut poison = p[0] * zero;
    each!(n in [1, 2, 3] => {
        if n < N {
            poison = mode.madd(p[n], zero, poison);
        }
    });
    sorted + poison
}

/// Returns the weighted sum of each component.
#[inline(always)]
fn sums<S: Simd, M: Mode, const N: usize, const C: usize>(
    s: S,
    mode: M,
    lanes: &[&[Lanes; C]; N],
    weights: &[S::f32s; N],
    at: usize,
) -> [S::f32s; C] {
    let mut out = [S::f32s::splat(s, 0.0); C];
    each!(c in [0, 1, 2, 3] below C => {
        let mut p = *weights;
        each!(n in [0, 1, 2, 3] below N => p[n] *= load(s, &lanes[n][c], at));
        out[c] = sum(s, mode, &p);
    });
    out
}

/// Layers and their normalised weights.
#[derive(Clone, Copy)]
pub(super) struct Weighted<'a, const N: usize> {
    pub(super) parts: &'a Parts<'a, N>,
    pub(super) weights: &'a [f32; N],
}

/// Blends the first `joints` joints of `N` layers.
#[inline(always)]
pub(super) fn kernel<S: Simd, M: Mode, const N: usize>(
    s: S,
    mode: M,
    joints: usize,
    reference: &[PoseBlock],
    Weighted { parts, weights }: Weighted<'_, N>,
    least2: f32,
    out: &mut [PoseBlock],
) {
    let least2 = S::f32s::splat(s, least2);
    let mut same = [least2; N];
    each!(n in [0, 1, 2, 3] below N => same[n] = S::f32s::splat(s, weights[n]));
    for (index, (reference, out)) in reference.iter().zip(out).enumerate() {
        let mut rotation = [&reference.rotation; N];
        let mut translation = [&reference.translation; N];
        let mut scale = [&reference.scale; N];
        for (n, part) in parts.iter().enumerate() {
            let Some(block) = part.get(index) else {
                invariant!(false, "layer {n} has fewer blocks than the reference");
                return;
            };
            (rotation[n], translation[n], scale[n]) = (&block.rotation, &block.translation, &block.scale);
        }
        for at in (0..BLOCK).step_by(S::f32s::LEN) {
            if index * BLOCK + at >= joints {
                return;
            }
            let reference = Reference::new(s, mode, &reference.rotation, at);
            let mut factors = same;
            each!(n in [0, 1, 2, 3] below N => {
                factors[n] = reference.factor(s, &load_all(s, rotation[n], at), factors[n]);
            });
            let total = sums(s, mode, &rotation, &factors, at);
            store_all(&mut out.rotation, at, reference.unit(s, &total, least2));
            store_all(&mut out.translation, at, sums(s, mode, &translation, &same, at));
            store_all(&mut out.scale, at, sums(s, mode, &scale, &same, at));
        }
    }
}
