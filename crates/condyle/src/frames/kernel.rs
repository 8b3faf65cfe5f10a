//! The weighted sum of the frames of all layers, and the pose of the sum.
//!
//! A layer contributes two or four frames. For each block of sixteen joints, the layers are added one after
//! the other to the output; the last one also normalises the rotations:
//!
//! ```text
//! sum = Σ layers Σ taps weight · frame,   rotation = sum / |sum|
//! ```
//!
//! Consecutive frames have the signs of a continuous motion, so the frames of a layer are added unchanged.
//! Between layers, `q` and `-q` are the same rotation: where a block has a joint that leaves the hemisphere
//! of the rest pose, the layer's sum is turned into it.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*, u16x8, u16x16};

use super::store::{Base, Moving, Narrow, Wide};
use crate::pose::PoseBlock;
use condyle_base::simd::{BLOCK, Floats, Lanes, Mode, each, load_all, store_all};

/// Rotations from the first frame of a layer on.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    Wide(&'a [Wide]),
    /// Also the offset of the sum: `-32768 * step * weight`.
    Narrow(&'a [Narrow], f32),
}

/// Squared length below which a sum of rotations counts as zero: a millionth of the sum of the weights.
const LEAST2: f32 = 1e-12;

/// A layer at its time.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) is_cubic: bool,
    /// Factors of the stored rotations, times the normalised weight of the layer unless it is masked.
    pub(super) turns: [f32; 4],
    /// Factors of the moves, with the same weight.
    pub(super) weights: [f32; 4],
    /// Normalised weight of the layer.
    pub(super) share: f32,
    pub(super) base: &'a [Base],
    pub(super) moving: &'a [Moving],
    /// Moves from the first frame on.
    pub(super) moves: &'a [[f32; 4]],
    pub(super) mask: Option<&'a [f32]>,
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

impl<S: Simd> FromNarrow<S> for f32x4<S> {
    #[inline(always)]
    fn from_narrow(s: S, lanes: &[u16; BLOCK], at: usize) -> Self {
        // Eight are loaded. The half is known when the loop over the lanes is unrolled.
        let (low, high) = s.widen_u16x8(u16x8::from_slice(s, &lanes[at & 8..(at & 8) + 8]));
        let half = if at & 4 == 0 { low } else { high };
        half.bitcast::<fearless_simd::i32x4<S>>().to_float()
    }
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

/// Position of a layer in the sum: block, mask and order.
#[derive(Clone, Copy)]
struct Place<'a> {
    index: usize,
    joints: usize,
    rest: &'a PoseBlock,
    /// Factor of the layer per joint, if layers have masks.
    factor: Option<&'a Lanes>,
    is_first: bool,
    is_last: bool,
}

/// Adds a layer to a block, and normalises the sum after the last layer.
#[inline(always)]
fn add<S: Simd, M: Mode, V: FromNarrow<S>, B: Block, const TAPS: usize>(
    s: S,
    mode: M,
    layer: &At<'_>,
    rows: &[B],
    offset: f32,
    place: Place<'_>,
    out: &mut PoseBlock,
) {
    let Place { index, joints, rest, factor, is_first, is_last } = place;
    let mut blocks = [None; TAPS];
    each!(n in [0, 1, 2, 3] below TAPS => blocks[n] = rows.get(n * layer.base.len() + index));
    let mut weights = [V::splat(s, 0.0); TAPS];
    each!(n in [0, 1, 2, 3] below TAPS => weights[n] = V::splat(s, layer.turns[n]));
    let crosses = layer.base.get(index).is_none_or(|base| base.crosses);
    for at in (0..BLOCK).step_by(V::LEN) {
        if index * BLOCK + at >= joints {
            return;
        }
        let mut sum = [V::splat(s, offset); 4];
        each!(n in [0, 1, 2, 3] below TAPS => {
            if let Some(block) = blocks[n] {
                each!(c in [0, 1, 2, 3] => {
                    sum[c] = mode.madd(block.component(s, c, at), weights[n], sum[c]);
                });
            }
        });
        let reference: [V; 4] = load_all(s, &rest.rotation, at);
        if crosses {
            // Not fused in either mode: where the product is almost 0, every instruction set must choose the
            // same sign.
            let product = (sum[0] * reference[0] + sum[1] * reference[1])
                + (sum[2] * reference[2] + sum[3] * reference[3]);
            let is_other = product.simd_lt(V::splat(s, 0.0));
            each!(c in [0, 1, 2, 3] => sum[c] = is_other.select(V::splat(s, 0.0) - sum[c], sum[c]));
        }
        if let Some(factor) = factor {
            let factor = V::from_slice(s, &factor[at..at + V::LEN]);
            each!(c in [0, 1, 2, 3] => sum[c] *= factor);
        }
        if !is_first {
            let before: [V; 4] = load_all(s, &out.rotation, at);
            each!(c in [0, 1, 2, 3] => sum[c] += before[c]);
        }
        if is_last {
            let [x, y, z, w] = sum;
            let length2 = mode.madd(w, w, mode.madd(z, z, mode.madd(y, y, x * x)));
            let inverse = V::splat(s, 1.0) / length2.sqrt();
            let cancels = length2.simd_le(V::splat(s, LEAST2));
            each!(c in [0, 1, 2, 3] => sum[c] = cancels.select(reference[c], sum[c] * inverse));
        }
        store_all(&mut out.rotation, at, sum);
    }
}

/// Adds the rotations of a layer to a block.
#[inline(always)]
fn add_rotations<S: Simd, M: Mode, V: FromNarrow<S>>(
    s: S,
    mode: M,
    layer: &At<'_>,
    place: Place<'_>,
    out: &mut PoseBlock,
) {
    match (&layer.rows, layer.is_cubic) {
        (Rows::Wide(rows), false) => add::<_, _, V, _, 2>(s, mode, layer, rows, 0.0, place, out),
        (Rows::Wide(rows), true) => add::<_, _, V, _, 4>(s, mode, layer, rows, 0.0, place, out),
        (Rows::Narrow(rows, zero), false) => add::<_, _, V, _, 2>(s, mode, layer, rows, *zero, place, out),
        (Rows::Narrow(rows, zero), true) => add::<_, _, V, _, 4>(s, mode, layer, rows, *zero, place, out),
    }
}

/// Adds the translations and scales that do not change.
#[inline(always)]
fn add_base<S: Simd, M: Mode, V: FromNarrow<S>>(
    s: S,
    mode: M,
    layer: &At<'_>,
    place: Place<'_>,
    out: &mut PoseBlock,
) {
    let Some(base) = layer.base.get(place.index) else { return };
    for at in (0..BLOCK).step_by(V::LEN) {
        let share = place
            .factor
            .map_or(V::splat(s, layer.share), |factor| V::from_slice(s, &factor[at..at + V::LEN]));
        for (from, to) in [(&base.translation, &mut out.translation), (&base.scale, &mut out.scale)] {
            let values: [V; 3] = load_all(s, from, at);
            let mut sum: [V; 3] = load_all(s, to, at);
            each!(c in [0, 1, 2] => {
                sum[c] = if place.is_first { values[c] * share } else { mode.madd(values[c], share, sum[c]) };
            });
            store_all(to, at, sum);
        }
    }
}

/// Adds the moves of a layer to its joints.
#[inline(always)]
fn add_moves<S: Simd, M: Mode>(
    s: S,
    mode: M,
    layer: &At<'_>,
    factor: impl Fn(usize) -> f32,
    out: &mut [PoseBlock],
) {
    let mut weights = [f32x4::splat(s, 0.0); 4];
    each!(n in [0, 1, 2, 3] => weights[n] = f32x4::splat(s, layer.weights[n]));
    let taps = if layer.is_cubic { 4 } else { 2 };
    for (at, moving) in layer.moving.iter().enumerate() {
        let mut sum = f32x4::splat(s, 0.0);
        for (n, &weight) in weights.iter().enumerate().take(taps) {
            if let Some(by) = layer.moves.get(n * layer.moving.len() + at) {
                sum = mode.madd(f32x4::load_array_ref(s, by), weight, sum);
            }
        }
        let joint = usize::from(moving.joint);
        let Some(block) = out.get_mut(joint / BLOCK) else { return };
        let [x, y, z, _] = (sum * f32x4::splat(s, factor(joint))).to_array();
        let [to_x, to_y, to_z] = if moving.scales { &mut block.scale } else { &mut block.translation };
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
    let Input { rest, joints, layers } = input;
    let is_masked = layers.iter().any(|layer| layer.mask.is_some());
    for (index, (rest, out)) in rest.iter().zip(&mut *out).enumerate() {
        let all_rest = layers.iter().all(|layer| layer.base.get(index).is_some_and(|base| base.rests));
        let totals = if is_masked { Some(totals(layers, index)) } else { None };
        for (n, layer) in layers.iter().enumerate() {
            let own = totals.as_ref().map(
                #[inline(always)]
                |totals| {
                    let mut own = [0.0; BLOCK];
                    for (lane, (own, &total)) in own.iter_mut().zip(totals).enumerate() {
                        *own = share_of(weight(layer, index * BLOCK + lane), total);
                    }
                    own
                },
            );
            let (is_first, is_last) = (n == 0, n + 1 == layers.len());
            let place = Place { index, joints, rest, factor: own.as_ref(), is_first, is_last };
            add_rotations::<_, _, V>(s, mode, layer, place, out);
            if !all_rest {
                add_base::<_, _, V>(s, mode, layer, place, out);
            }
        }
        if all_rest {
            put_rest::<_, V>(s, rest, out);
        } else if let Some(totals) = &totals {
            add_rest::<_, V>(s, rest, totals, out);
        }
    }
    for layer in layers {
        add_moves(
            s,
            mode,
            layer,
            #[inline(always)]
            |joint| {
                if !is_masked {
                    return 1.0;
                }
                let mut total = 0.0;
                for layer in layers {
                    total += weight(layer, joint);
                }
                share_of(weight(layer, joint), total)
            },
            out,
        );
    }
}

/// Writes the pose of the layers.
#[inline(always)]
pub(super) fn pose<S: Simd, M: Mode>(s: S, mode: M, input: Input<'_>, out: &mut [PoseBlock]) {
    match S::f32s::LEN {
        4 => sum::<_, _, f32x4<S>>(s, mode, input, out),
        16 => sum::<_, _, f32x16<S>>(s, mode, input, out),
        _ => sum::<_, _, f32x8<S>>(s, mode, input, out),
    }
}
