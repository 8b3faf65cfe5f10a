//! Translations and scales: adds the values of the tracks to the rest pose, only for joints that have a
//! track.

use core::ops::Range;

use fearless_simd::prelude::*;

use super::{Batch, Vectors};
use crate::clip::layout::{Kind, Placed, Segment};
use crate::pose::PoseBlock;
use condyle_base::simd::{BLOCK, Lanes};

/// Adds the vectors of a class of translations or scales to the rest pose. `tracks` is the range of tracks
/// that were unpacked.
#[inline(always)]
pub(super) fn add_to_rest(
    placed: &Placed,
    tracks: Range<usize>,
    segment: &Segment<'_>,
    batch: Batch<'_>,
    vectors: &Vectors,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    for track in tracks {
        let joint = segment.index(track);
        let place = joint.wrapping_sub(batch.base);
        if batch.wanted.is_some_and(|wanted| !wanted.has(joint)) {
            continue;
        }
        if let Some(numbers) = vectors.get(place) {
            add_lane(placed.class.kind, place, numbers, rest, blocks);
        }
    }
}

/// Adds three numbers to the translation or scale of one joint of the batch in the rest pose.
#[inline(always)]
fn add_lane(kind: Kind, place: usize, [x, y, z, _]: &[f32; 4], rest: &[PoseBlock], blocks: &mut [PoseBlock]) {
    let (at, lane) = (place / BLOCK, place % BLOCK);
    // Root motion has a track of the same class, but may not have a lane.
    let (Some(rest), Some(block)) = (rest.get(at), blocks.get_mut(at)) else { return };
    let (from, rows) = match kind {
        Kind::Scale => (&rest.scale, &mut block.scale),
        _ => (&rest.translation, &mut block.translation),
    };
    rows[0][lane] = from[0][lane] + x;
    rows[1][lane] = from[1][lane] + y;
    rows[2][lane] = from[2][lane] + z;
}

/// Copies rows of lanes one register at a time, because a single copy would compile to a call of memcpy.
#[inline(always)]
pub(super) fn keep<S: Simd, const N: usize>(s: S, from: &[Lanes; N], to: &mut [Lanes; N]) {
    for (from, to) in from.iter().zip(to) {
        for lane in (0..BLOCK).step_by(S::f32s::LEN) {
            S::f32s::from_slice(s, &from[lane..lane + S::f32s::LEN])
                .store_slice(&mut to[lane..lane + S::f32s::LEN]);
        }
    }
}
