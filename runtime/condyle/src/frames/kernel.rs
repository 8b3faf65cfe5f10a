//! The weighted sum of the frames of all layers, and the pose of the sum.
//!
//! A layer contributes two or four frames. Rotations are summed in registers, as many joints at a time as fit
//! one, and normalised:
//!
//! ```text
//! sum = Σ layers Σ taps weight · frame,   rotation = sum / |sum|
//! ```
//!
//! Consecutive frames have the signs of a continuous motion, so the frames of a layer are added unchanged.
//! Between layers, `q` and `-q` are the same rotation: in a block with a joint that leaves the hemisphere of
//! the rest pose, the sum of each layer is turned into the hemisphere. Each layer is always summed apart, so
//! that the bits of a joint do not depend on the other joints of its block.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*, u16x8, u16x16};

use super::store::{Base, Degree, Marks, Narrow, Store, Wide};
use crate::pose::PoseBlock;
use condyle_base::simd::{BLOCK, Floats, Lanes, Mode, each, load_all, store_all};

/// Squared length below which a sum of rotations counts as zero: a millionth of the sum of the weights.
const LEAST2: f32 = 1e-12;

/// Rotations of consecutive frames: blocks of sixteen joints, frame by frame.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    Wide(&'a [Wide]),
    Narrow(&'a [Narrow]),
}

/// A layer at its time.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) store: &'a Store,
    /// Rotations from the first frame on.
    pub(super) rows: Rows<'a>,
    /// Moves from the first frame on.
    pub(super) moves: &'a [[f32; 4]],
    /// Factors of the stored rotations, times the normalised weight of the layer unless it is masked.
    pub(super) turns: [f32; 4],
    /// Offset of the sum of rotations in 16 bits: `-32768 * step * weight`.
    pub(super) offset: f32,
    /// Factors of the moves, with the same weight.
    pub(super) weights: [f32; 4],
    /// Normalised weight of the layer.
    pub(super) share: f32,
    pub(super) mask: Option<&'a [f32]>,
}

impl At<'_> {
    /// Properties of a block.
    #[inline(always)]
    fn marks(&self, index: usize) -> Marks {
        self.store.marks.get(index).copied().unwrap_or(Marks::NONE)
    }
}

/// Input of the kernel.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    /// Rest pose.
    pub(super) rest: &'a [PoseBlock],
    pub(super) joints: usize,
    pub(super) layers: &'a [At<'a>],
}

/// Lanes of floats that integers of 16 bits are converted to.
trait FromNarrow<S: Simd>: Floats<S> {
    /// Converts the lanes from index `at`.
    fn from_narrow(s: S, lanes: &[u16; BLOCK], at: usize) -> Self;
}

impl<S: Simd> FromNarrow<S> for f32x8<S> {
    #[inline(always)]
    fn from_narrow(s: S, lanes: &[u16; BLOCK], at: usize) -> Self {
        let (low, high) = s.widen_u16x8(u16x8::from_slice(s, &lanes[at..at + 8]));
        low.combine(high).bitcast::<fearless_simd::i32x8<S>>().to_float()
    }
}

impl<S: Simd> FromNarrow<S> for f32x16<S> {
    #[inline(always)]
    fn from_narrow(s: S, lanes: &[u16; BLOCK], _: usize) -> Self {
        let (low, high) = s.widen_u16x16(u16x16::from_slice(s, lanes));
        low.combine(high).bitcast::<fearless_simd::i32x16<S>>().to_float()
    }
}

/// Stored form of a block of rotations.
trait Block: Copy {
    fn component<S: Simd, V: FromNarrow<S>>(&self, s: S, c: usize, at: usize) -> V;
}

impl Block for Wide {
    #[inline(always)]
    fn component<S: Simd, V: FromNarrow<S>>(&self, s: S, c: usize, at: usize) -> V {
        V::from_slice(s, &self.0[c][at..at + V::LEN])
    }
}

impl Block for Narrow {
    #[inline(always)]
    fn component<S: Simd, V: FromNarrow<S>>(&self, s: S, c: usize, at: usize) -> V {
        V::from_narrow(s, &self.0[c], at)
    }
}

/// Adds the weighted frames of a layer to a sum.
#[inline(always)]
fn add<S: Simd, M: Mode, V: FromNarrow<S>, B: Block, const TAPS: usize>(
    s: S,
    mode: M,
    layer: &At<'_>,
    rows: &[B],
    [index, at]: [usize; 2],
    mut sum: [V; 4],
) -> [V; 4] {
    each!(n in [0, 1, 2, 3] below TAPS => {
        if let Some(block) = rows.get(n * layer.store.base.len() + index) {
            let weight = V::splat(s, layer.turns[n]);
            each!(c in [0, 1, 2, 3] => sum[c] = mode.madd(block.component(s, c, at), weight, sum[c]));
        }
    });
    sum
}

/// Adds the rotations of a layer to a sum: the lanes from index `at` of block `index`.
#[inline(always)]
fn add_rotations<S: Simd, M: Mode, V: FromNarrow<S>>(
    s: S,
    mode: M,
    layer: &At<'_>,
    place: [usize; 2],
    sum: [V; 4],
) -> [V; 4] {
    match (layer.rows, layer.store.degree) {
        (Rows::Narrow(rows), Degree::Linear) => add::<_, _, V, _, 2>(s, mode, layer, rows, place, sum),
        (Rows::Narrow(rows), Degree::Cubic) => add::<_, _, V, _, 4>(s, mode, layer, rows, place, sum),
        (Rows::Wide(rows), Degree::Linear) => add::<_, _, V, _, 2>(s, mode, layer, rows, place, sum),
        (Rows::Wide(rows), Degree::Cubic) => add::<_, _, V, _, 4>(s, mode, layer, rows, place, sum),
    }
}

/// Writes the rotations of a block. `totals` are the total weights per joint, if layers have masks.
#[inline(always)]
fn rotations<S: Simd, M: Mode, V: FromNarrow<S>>(
    s: S,
    mode: M,
    input: Input<'_>,
    index: usize,
    totals: Option<&Lanes>,
    rest: &PoseBlock,
    out: &mut PoseBlock,
) {
    let Input { joints, layers, .. } = input;
    let mut crosses = false;
    for layer in layers {
        crosses |= layer.marks(index).crosses;
    }
    let zero = V::splat(s, 0.0);
    for at in (0..BLOCK).step_by(V::LEN) {
        if index * BLOCK + at >= joints {
            return;
        }
        let mut total = [zero; 4];
        for (n, layer) in layers.iter().enumerate() {
            let start = [V::splat(s, layer.offset); 4];
            let mut sum = add_rotations(s, mode, layer, [index, at], start);
            if crosses {
                let reference: [V; 4] = load_all(s, &rest.rotation, at);
                // Not fused in either mode: where the product is almost 0, every instruction set must choose
                // the same sign.
                let product = (sum[0] * reference[0] + sum[1] * reference[1])
                    + (sum[2] * reference[2] + sum[3] * reference[3]);
                let is_other = product.simd_lt(zero);
                each!(c in [0, 1, 2, 3] => sum[c] = is_other.select(zero - sum[c], sum[c]));
            }
            if let Some(totals) = totals {
                let factor = V::from_slice(s, &shares(layer, index, totals)[at..at + V::LEN]);
                each!(c in [0, 1, 2, 3] => sum[c] *= factor);
            }
            each!(c in [0, 1, 2, 3] => total[c] = if n == 0 { sum[c] } else { total[c] + sum[c] });
        }
        store_all(&mut out.rotation, at, normalised(s, mode, total, rest, at));
    }
}

/// Returns the rotations of a sum; the rest rotations where it is 0.
#[inline(always)]
fn normalised<S: Simd, M: Mode, V: FromNarrow<S>>(
    s: S,
    mode: M,
    sum: [V; 4],
    rest: &PoseBlock,
    at: usize,
) -> [V; 4] {
    let [x, y, z, w] = sum;
    let length2 = mode.madd(y, y, x * x) + mode.madd(w, w, z * z);
    let inverse = inverse_root(s, mode, length2);
    let is_near = length2.simd_ge(V::splat(s, NEAR[0])) & length2.simd_le(V::splat(s, NEAR[1]));
    let mut unit = [V::splat(s, 0.0); 4];
    if is_near.all_true() {
        each!(c in [0, 1, 2, 3] => unit[c] = sum[c] * inverse);
        return unit;
    }
    // Each lane has the same bits with any neighbours.
    let inverse = is_near.select(inverse, V::splat(s, 1.0) / length2.sqrt());
    let reference: [V; 4] = load_all(s, &rest.rotation, at);
    let cancels = length2.simd_le(V::splat(s, LEAST2));
    each!(c in [0, 1, 2, 3] => unit[c] = cancels.select(reference[c], sum[c] * inverse));
    unit
}

/// Squared lengths that [`inverse_root`] is for: those of sums of rotations up to 90 degrees apart.
const NEAR: [f32; 2] = [0.5, 1.0625];

/// Polynomial whose relative difference from `1 / sqrt(x)` is at most 1.12e-4 in [`NEAR`], the smallest
/// possible with five coefficients (Remez).
const ROOT: [f32; 5] = [2.886_832_5, -5.225_42, 6.271_493, -3.914_028, 0.981_012_2];

/// Returns `1 / sqrt(x)` for numbers in [`NEAR`], to within 2e-8 and the rounding. A polynomial and one step
/// of Newton's method take less time than a root and a division.
#[inline(always)]
fn inverse_root<S: Simd, M: Mode, V: FromNarrow<S>>(s: S, mode: M, x: V) -> V {
    let [c0, c1, c2, c3, c4] = ROOT.map(
        #[inline(always)]
        |c| V::splat(s, c),
    );
    let square = x * x;
    let near = mode.madd(mode.madd(c4, square, mode.madd(c3, x, c2)), square, mode.madd(c1, x, c0));
    let excess = mode.msub(x * near, near, V::splat(s, 1.0));
    mode.madd(near * V::splat(s, -0.5), excess, near)
}

/// Adds the translations and scales that do not change.
#[inline(always)]
fn add_base<S: Simd, M: Mode, V: FromNarrow<S>>(
    s: S,
    mode: M,
    base: &Base,
    share: &Lanes,
    is_first: bool,
    out: &mut PoseBlock,
) {
    for at in (0..BLOCK).step_by(V::LEN) {
        let share = V::from_slice(s, &share[at..at + V::LEN]);
        for (from, to) in [(&base.translation, &mut out.translation), (&base.scale, &mut out.scale)] {
            let values: [V; 3] = load_all(s, from, at);
            let mut sum: [V; 3] = load_all(s, to, at);
            each!(c in [0, 1, 2] => {
                sum[c] = if is_first { values[c] * share } else { mode.madd(values[c], share, sum[c]) };
            });
            store_all(to, at, sum);
        }
    }
}

/// Adds the moves of a layer to its joints. `factor` is the weight of a joint if layers have masks.
#[inline(always)]
fn add_moves<S: Simd, M: Mode, const TAPS: usize>(
    s: S,
    mode: M,
    layer: &At<'_>,
    factor: Option<impl Fn(usize) -> f32>,
    out: &mut [PoseBlock],
) {
    let moving = &layer.store.moving;
    let mut moves = [&[][..]; TAPS];
    each!(n in [0, 1, 2, 3] below TAPS => {
        moves[n] = layer.moves.get(n * moving.len()..(n + 1) * moving.len()).unwrap_or_default();
    });
    for (at, by) in moving.iter().enumerate() {
        let mut sum = f32x4::splat(s, 0.0);
        each!(n in [0, 1, 2, 3] below TAPS => {
            if let Some(change) = moves[n].get(at) {
                sum = mode.madd(f32x4::load_array_ref(s, change), f32x4::splat(s, layer.weights[n]), sum);
            }
        });
        let joint = usize::from(by.joint);
        if let Some(factor) = &factor {
            sum *= f32x4::splat(s, factor(joint));
        }
        let Some(block) = out.get_mut(joint / BLOCK) else { return };
        let [x, y, z, _] = sum.to_array();
        let [to_x, to_y, to_z] = if by.scales { &mut block.scale } else { &mut block.translation };
        let lane = joint % BLOCK;
        (to_x[lane], to_y[lane], to_z[lane]) = (to_x[lane] + x, to_y[lane] + y, to_z[lane] + z);
    }
}

/// Weight of a layer for a joint.
#[inline(always)]
fn weight(layer: &At<'_>, joint: usize) -> f32 {
    #[expect(clippy::manual_clamp, reason = "NaN becomes 0")]
    let within = |factor: &f32| factor.max(0.0).min(1.0);
    layer.share * layer.mask.map_or(1.0, |mask| mask.get(joint).map_or(0.0, within))
}

/// Share in a total weight; 0 if no layer has a weight.
#[inline(always)]
fn share_of(weight: f32, total: f32) -> f32 {
    if total > 0.0 { weight / total } else { 0.0 }
}

/// Total weights of the joints of a block.
#[inline(always)]
fn totals(layers: &[At<'_>], index: usize) -> Lanes {
    let mut totals = [0.0; BLOCK];
    for layer in layers {
        for (lane, total) in totals.iter_mut().enumerate() {
            *total += weight(layer, index * BLOCK + lane);
        }
    }
    totals
}

/// Returns the normalised weights of a layer for the joints of a block.
#[inline(always)]
fn shares(layer: &At<'_>, index: usize, totals: &Lanes) -> Lanes {
    let mut shares = [0.0; BLOCK];
    for (lane, (share, &total)) in shares.iter_mut().zip(totals).enumerate() {
        *share = share_of(weight(layer, index * BLOCK + lane), total);
    }
    shares
}

/// Writes the translations and scales of the rest pose.
#[inline(always)]
fn put_rest<S: Simd, V: FromNarrow<S>>(s: S, rest: &PoseBlock, out: &mut PoseBlock) {
    for at in (0..BLOCK).step_by(V::LEN) {
        for (from, to) in [(&rest.translation, &mut out.translation), (&rest.scale, &mut out.scale)] {
            let values: [V; 3] = load_all(s, from, at);
            store_all(to, at, values);
        }
    }
}

/// Adds the translations and scales of the rest pose where the total weight is 0.
#[inline(always)]
fn add_rest<S: Simd, V: FromNarrow<S>>(s: S, rest: &PoseBlock, totals: &Lanes, out: &mut PoseBlock) {
    let (zero, one) = (V::splat(s, 0.0), V::splat(s, 1.0));
    for at in (0..BLOCK).step_by(V::LEN) {
        // A factor instead of a selection, which compilers turn into slow masked stores.
        let factor = V::from_slice(s, &totals[at..at + V::LEN]).simd_le(zero).select(one, zero);
        for (from, to) in [(&rest.translation, &mut out.translation), (&rest.scale, &mut out.scale)] {
            let (from, mut sum): ([V; 3], [V; 3]) = (load_all(s, from, at), load_all(s, to, at));
            each!(c in [0, 1, 2] => sum[c] += from[c] * factor);
            store_all(to, at, sum);
        }
    }
}

/// Writes the sum of the layers. Their shares add up to 1 unless layers have masks.
#[inline(always)]
fn sum<S: Simd, M: Mode, V: FromNarrow<S>>(s: S, mode: M, input: Input<'_>, out: &mut [PoseBlock]) {
    let Input { rest, layers, .. } = input;
    let is_masked = layers.iter().any(|layer| layer.mask.is_some());
    for (index, (rest, out)) in rest.iter().zip(&mut *out).enumerate() {
        let totals = if is_masked { Some(totals(layers, index)) } else { None };
        rotations::<_, _, V>(s, mode, input, index, totals.as_ref(), rest, out);
        if layers.iter().all(|layer| layer.marks(index).rests) {
            put_rest::<_, V>(s, rest, out);
            continue;
        }
        for (n, layer) in layers.iter().enumerate() {
            let Some(base) = layer.store.base.get(index) else { continue };
            let share = match &totals {
                Some(totals) => shares(layer, index, totals),
                None => [layer.share; BLOCK],
            };
            add_base::<_, _, V>(s, mode, base, &share, n == 0, out);
        }
        if let Some(totals) = &totals {
            add_rest::<_, V>(s, rest, totals, out);
        }
    }
    for layer in layers {
        let factor = is_masked.then_some(
            #[inline(always)]
            |joint| {
                let mut total = 0.0;
                for layer in layers {
                    total += weight(layer, joint);
                }
                share_of(weight(layer, joint), total)
            },
        );
        match layer.store.degree {
            Degree::Linear => add_moves::<_, _, 2>(s, mode, layer, factor, out),
            Degree::Cubic => add_moves::<_, _, 4>(s, mode, layer, factor, out),
        }
    }
}

/// Writes the pose of the layers.
#[inline(always)]
pub(super) fn pose<S: Simd, M: Mode>(s: S, mode: M, input: Input<'_>, out: &mut [PoseBlock]) {
    match S::f32s::LEN {
        16 => sum::<_, _, f32x16<S>>(s, mode, input, out),
        // Two registers where lanes are four: integers are converted in eights.
        _ => sum::<_, _, f32x8<S>>(s, mode, input, out),
    }
}
