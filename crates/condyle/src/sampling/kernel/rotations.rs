//! Rotations: logarithms become quaternions, sixteen joints at a time, and turn the joints of the rest pose.

use fearless_simd::{f32x4, prelude::*};

use super::vectors::keep;
use super::{Batch, Vectors};
use crate::clip::layout::LinearRotations;
use crate::clip::spline::{Degree, Taps};
use crate::interpolation::{OneFactor, Spread, straight};
use crate::pose::PoseBlock;
use condyle_base::math::exp_map;
use condyle_base::simd::{BLOCK, Lanes, Mode, each, load_all, store_all, transpose_halves};

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
    #[inline]
    pub(crate) fn new(linear: Option<LinearRotations>, ratio: f64) -> Self {
        let Some(LinearRotations { intervals, straight }) = linear else { return Self::Nothing };
        let taps = Taps::at(Degree::Linear, intervals, ratio);
        let factor = taps.weights[1] as f32;
        if straight { Self::Straight(factor) } else { Self::Slerp(OneFactor::new(factor)) }
    }
}

/// The logarithms of a batch's rotations.
#[derive(Clone, Copy)]
pub(super) struct Logarithms<'a> {
    pub(super) from: &'a Vectors,
    /// Where linear rotations go; their fourth component is not 0, as that of all others is. Empty if the segment has none.
    pub(super) to: &'a Vectors,
    pub(super) between: &'a Between,
}

/// Sixteen vectors, joint by joint, transposed to one row of lanes per component.
#[inline(always)]
fn components<S: Simd>(s: S, joints: &[[f32; 4]; BLOCK]) -> [Lanes; 4] {
    let mut rows = [[0.0; BLOCK]; 4];
    for (eight, joints) in joints.as_chunks::<8>().0.iter().enumerate() {
        let two = |i: usize| f32x4::from_slice(s, &joints[i]).combine(f32x4::from_slice(s, &joints[i + 4]));
        let lanes = transpose_halves([two(0), two(1), two(2), two(3)]);
        each!(c in [0, 1, 2, 3] => lanes[c].store_slice(&mut rows[c][8 * eight..][..8]));
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
    // Twice, so that neither holds registers for the other.
    match logs.between {
        Between::Nothing => rotate_blocks::<S, M, false>(s, mode, logs, batch, rest, blocks),
        _ => rotate_blocks::<S, M, true>(s, mode, logs, batch, rest, blocks),
    }
}

/// [`rotate`]; `LINEAR` if there may be linear rotations.
#[inline(always)]
fn rotate_blocks<S: Simd, M: Mode, const LINEAR: bool>(
    s: S,
    mode: M,
    logs: Logarithms<'_>,
    batch: Batch<'_>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let Logarithms { from, to, between } = logs;
    let slerp = match between {
        Between::Slerp(factor) if LINEAR => Some(factor.spread(s)),
        _ => None,
    };
    let (from, to) = (from.as_chunks::<BLOCK>().0, to.as_chunks::<BLOCK>().0);
    for (at, ((block, rest), logs)) in blocks.iter_mut().zip(rest).zip(from).enumerate() {
        keep(s, &rest.translation, &mut block.translation);
        keep(s, &rest.scale, &mut block.scale);
        if batch.skips(at * BLOCK, BLOCK) {
            keep(s, &rest.rotation, &mut block.rotation);
            continue;
        }
        let [x, y, z, _] = components(s, logs);
        let logs = [x, y, z];
        let mut ends = [[0.0; BLOCK]; 4];
        if LINEAR && let Some(own) = to.get(at) {
            ends = components(s, own);
        }
        // Two registers at a time, if a block has as many.
        let (lanes, step) = (S::f32s::LEN, (2 * S::f32s::LEN).min(BLOCK));
        for lane in (0..BLOCK).step_by(step) {
            let first = load_all(s, &logs, lane);
            let turns = if lanes < step {
                exp_map::exp_all(s, mode, [first, load_all(s, &logs, lane + lanes)])
            } else {
                [exp_map::exp(s, mode, &first); 2]
            };
            each!(k in [0, 1] => {
                if k * lanes < step {
                    let lane = lane + k * lanes;
                    let mut turn = turns[k];
                    if LINEAR {
                        let ways = Ways { between, slerp: slerp.as_ref() };
                        turn = ways.turn(s, mode, load_all(s, &logs, lane), turn, load_all(s, &ends, lane));
                    }
                    let from: [S::f32s; 4] = load_all(s, &rest.rotation, lane);
                    store_all(&mut block.rotation, lane, exp_map::product::<S, M>(mode, &from, &turn));
                }
            });
        }
    }
}

/// How linear rotations go.
#[derive(Clone, Copy)]
struct Ways<'a, S: Simd> {
    between: &'a Between,
    slerp: Option<&'a Spread<S>>,
}

impl<S: Simd> Ways<'_, S> {
    /// How far the rotations of one register have turned whose logarithms are `log`, and which begin as `turn`. Where the
    /// fourth component of `end`, the logarithm of where they go, is 0, they stay, so that no joint depends on its
    /// neighbours: most registers hold no linear rotation at all.
    #[inline(always)]
    fn turn<M: Mode>(
        &self,
        s: S,
        mode: M,
        log: [S::f32s; 3],
        mut turn: [S::f32s; 4],
        [x, y, z, goes]: [S::f32s; 4],
    ) -> [S::f32s; 4] {
        let goes = goes.simd_ne(S::f32s::splat(s, 0.0));
        if goes.any_true() {
            let stays = x.simd_eq(log[0]) & y.simd_eq(log[1]) & z.simd_eq(log[2]);
            let (goes, to) = (goes & !stays, exp_map::exp(s, mode, &[x, y, z]));
            let way = match (self.between, self.slerp) {
                (&Between::Straight(factor), _) => straight(s, mode, factor, turn, to),
                (_, Some(slerp)) => slerp.rotations(s, mode, turn, to),
                _ => turn,
            };
            each!(c in [0, 1, 2, 3] => turn[c] = goes.select(way[c], turn[c]));
        }
        turn
    }
}
