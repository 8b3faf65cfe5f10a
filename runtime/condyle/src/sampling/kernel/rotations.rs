//! Converts logarithms to quaternions, sixteen joints at a time, and applies them to the rest pose.

use fearless_simd::{f32x4, prelude::*};

use super::vectors::keep;
use super::{Batch, Vectors};
use crate::clip::layout::LinearRotations;
use crate::clip::spline::{Degree, Taps};
use crate::interpolation::{OneFactor, Spread, straight};
use crate::pose::PoseBlock;
use condyle_base::math::exp_map;
use condyle_base::simd::{BLOCK, Lanes, Mode, each, load_all, store_all, transpose_halves};

/// Interpolation between the keys of linear rotations.
#[derive(Clone, Copy)]
pub(crate) enum Between {
    /// The segment has no linear rotations.
    Nothing,
    /// Normalised linear interpolation (nlerp) with this factor.
    Straight(f32),
    Slerp(OneFactor),
}

impl Between {
    /// Returns the interpolation at position `ratio` (0 to 1) of a segment.
    #[inline]
    pub(crate) fn new(linear: Option<LinearRotations>, ratio: f64) -> Self {
        let Some(LinearRotations { intervals, straight }) = linear else { return Self::Nothing };
        let taps = Taps::at(Degree::Linear, intervals, ratio);
        let factor = taps.weights[1] as f32;
        if straight { Self::Straight(factor) } else { Self::Slerp(OneFactor::new(factor)) }
    }
}

/// The logarithms of the rotations of a batch.
#[derive(Clone, Copy)]
pub(super) struct Logarithms<'a> {
    pub(super) from: &'a Vectors,
    /// Logarithms of the second keys of linear rotations; only these have a nonzero fourth component. Empty
    /// if the segment has no linear rotations.
    pub(super) to: &'a Vectors,
    pub(super) between: &'a Between,
}

/// Transposes sixteen joint vectors to one row of lanes per component.
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

/// Writes the rotations of a batch. Also copies the translations and scales of the rest pose, to which the
/// clip's values are added later.
#[inline(always)]
pub(super) fn rotate<S: Simd, M: Mode>(
    s: S,
    mode: M,
    logs: Logarithms<'_>,
    batch: Batch<'_>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    // Two instances, so that neither reserves registers for the other.
    match logs.between {
        Between::Nothing => rotate_blocks::<S, M, false>(s, mode, logs, batch, rest, blocks),
        _ => rotate_blocks::<S, M, true>(s, mode, logs, batch, rest, blocks),
    }
}

/// [`rotate`]; `LINEAR` must be true if there may be linear rotations.
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
        // Two registers at a time, unless one register holds a whole block.
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

/// Interpolation of linear rotations, with the slerp factor in all lanes.
#[derive(Clone, Copy)]
struct Ways<'a, S: Simd> {
    between: &'a Between,
    slerp: Option<&'a Spread<S>>,
}

impl<S: Simd> Ways<'_, S> {
    /// Interpolates the rotations of one register. `log` holds the logarithms of the first keys, and `turn`
    /// their quaternions. The last argument holds the logarithms of the second keys.
    ///
    /// A lane keeps `turn` if the fourth component of its second key is 0 or if both keys are equal. The
    /// choice is made lane by lane, so that no joint depends on its neighbours. Most registers hold no linear
    /// rotation and skip the interpolation.
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
