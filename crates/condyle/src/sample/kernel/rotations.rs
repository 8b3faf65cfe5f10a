//! Rotations: logarithms become quaternions, sixteen joints at a time, and turn the joints of the rest pose.

use fearless_simd::{f32x4, prelude::*};

use super::vectors::keep;
use super::{Batch, Vectors};
use crate::clip::layout::{Class, Kind, Segment};
use crate::clip::spline::{Degree, Taps};
use crate::interpolate::{OneFactor, straight};
use crate::math::exp_map;
use crate::pose::PoseBlock;
use crate::simd::{BLOCK, Lanes, Mode, each, load_all, store_all, transpose_halves};

/// How linear rotations go from one key to the next.
#[derive(Clone, Copy)]
pub(crate) enum Between {
    /// The segment has none.
    Nothing,
    /// By nlerp, with this factor.
    Straight(f32),
    Slerp(OneFactor),
}

impl Between {
    /// At a moment `ratio` of the way through a segment.
    pub(crate) fn new(segment: &Segment<'_>, ratio: f64) -> Self {
        if !segment.turns {
            return Self::Nothing;
        }
        let is_linear = |class: &Class| class.kind == Kind::Rotation && class.degree == Degree::Linear;
        let linear = segment.classes().map(|placed| placed.class).find(is_linear);
        let Some(class) = linear else { return Self::Nothing };
        let taps = Taps::at(Degree::Linear, class.intervals, ratio);
        let factor = taps.weights[1] as f32;
        if segment.straight { Self::Straight(factor) } else { Self::Slerp(OneFactor::new(factor)) }
    }
}

/// The logarithms of a batch's rotations.
#[derive(Clone, Copy)]
pub(super) struct Logarithms<'a> {
    pub(super) from: &'a Vectors,
    /// Where linear rotations go; for all others the same as `from`. Empty if the segment has none.
    pub(super) to: &'a Vectors,
    pub(super) between: &'a Between,
}

/// Sixteen vectors, joint by joint, transposed to one row of lanes per component.
#[inline(always)]
fn components<S: Simd>(s: S, joints: &[[f32; 4]; BLOCK]) -> [Lanes; 3] {
    let mut rows = [[0.0; BLOCK]; 3];
    for (eight, joints) in joints.as_chunks::<8>().0.iter().enumerate() {
        let two = |i: usize| f32x4::from_slice(s, &joints[i]).combine(f32x4::from_slice(s, &joints[i + 4]));
        let [x, y, z, _] = transpose_halves([two(0), two(1), two(2), two(3)]);
        x.store_slice(&mut rows[0][8 * eight..][..8]);
        y.store_slice(&mut rows[1][8 * eight..][..8]);
        z.store_slice(&mut rows[2][8 * eight..][..8]);
    }
    rows
}

/// Writes the rotations of a batch, and the rest pose's translations and scales, which those of the clip are
/// added to.
#[inline(always)]
pub(super) fn rotate<S: Simd, M: Mode>(
    s: S,
    mode: M,
    logs: Logarithms<'_>,
    batch: Batch<'_>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let Logarithms { from, to, between } = logs;
    let slerp = match between {
        Between::Slerp(factor) => Some(factor.spread(s)),
        _ => None,
    };
    let from = from.as_chunks::<BLOCK>().0;
    for (at, ((block, rest), logs)) in blocks.iter_mut().zip(rest).zip(from).enumerate() {
        keep(s, &rest.translation, &mut block.translation);
        keep(s, &rest.scale, &mut block.scale);
        if batch.skips(at * BLOCK, BLOCK) {
            keep(s, &rest.rotation, &mut block.rotation);
            continue;
        }
        let logs = components(s, logs);
        let Some(ends) = to.as_chunks::<BLOCK>().0.get(at).filter(|_| !matches!(between, Between::Nothing))
        else {
            for lane in (0..BLOCK).step_by(S::f32s::LEN) {
                let turn = exp_map::exp(s, mode, &load_all(s, &logs, lane));
                turn_rest(s, mode, lane, turn, rest, block);
            }
            continue;
        };
        let ends = components(s, ends);
        for lane in (0..BLOCK).step_by(S::f32s::LEN) {
            let (from, to) = (load_all(s, &logs, lane), load_all(s, &ends, lane));
            let mut turn = exp_map::exp(s, mode, &from);
            // Where both are the same there is no way between them, so no joint depends on its neighbours: most
            // registers hold no linear rotation at all.
            let stays = stays::<S>(&from, &to);
            if stays.any_false() {
                let to = exp_map::exp(s, mode, &to);
                let way = match (between, &slerp) {
                    (&Between::Straight(factor), _) => straight(s, mode, factor, turn, to),
                    (_, Some(slerp)) => slerp.rotations(s, mode, turn, to),
                    _ => turn,
                };
                each!(c in [0, 1, 2, 3] => turn[c] = stays.select(turn[c], way[c]));
            }
            turn_rest(s, mode, lane, turn, rest, block);
        }
    }
}

/// Which lanes hold equal vectors.
#[inline(always)]
fn stays<S: Simd>(a: &[S::f32s; 3], b: &[S::f32s; 3]) -> <S::f32s as SimdBase<S>>::Mask {
    a[0].simd_eq(b[0]) & a[1].simd_eq(b[1]) & a[2].simd_eq(b[2])
}

/// The rotations at rest, each times its `turn`.
#[inline(always)]
fn turn_rest<S: Simd, M: Mode>(
    s: S,
    mode: M,
    lane: usize,
    turn: [S::f32s; 4],
    rest: &PoseBlock,
    block: &mut PoseBlock,
) {
    let from: [S::f32s; 4] = load_all(s, &rest.rotation, lane);
    store_all(&mut block.rotation, lane, exp_map::product::<S, M>(mode, &from, &turn));
}
