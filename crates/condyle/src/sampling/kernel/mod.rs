//! From the keys of a clip to a pose.
//!
//! A clip stores a track's keys as small unsigned integers. A component of the value is `step * (offset + sum
//! of weight * key)`, where step and offset are the track's own, and the weights are those of the moment and
//! the same for all tracks of a class. `docs/format.md` is where the byte layout is specified.
//!
//! # One record, worked through
//!
//! A class of translations on cubic splines has four tracks and three intervals, so four rows of keys.
//! Offsets take one byte (`o = 1`) and joint indices one byte (`i = 1`), so a record is `5 + 3 + 0 = 8`
//! bytes. `unpack` goes through the records in pairs, two tracks in eight lanes: lanes 0 to 2 are x, y, z
//! of the first one, lanes 4 to 6 those of the second, lanes 3 and 7 are computed along and ignored. The
//! second pair is:
//!
//! ```text
//!          step  widths    joint  offsets
//! track 2    82  06 05 00     03  F6 14 08     x: 6 bits, y: 5 bits, z: none; joint 3; offsets -10, 20, 8
//! track 3    80  04 07 05     07  00 F0 05     x: 4 bits, y: 7 bits, z: 5 bits; joint 7; offsets 0, -16, 5
//! ```
//!
//! **Load.** A window is 32 bytes from the first record on. That holds both records of the pair, whatever
//! their length: each half of a 32-byte register gets 16 bytes from where a record begins (`two_records`).
//!
//! **Step.** The code is the upper bits of an `f32`, counted from the smallest step: `0x82` is
//! `2^(16 - 26) * (1 + 2/8) = 1.25 / 1024` metres, about 1.2 mm.
//!
//! **Where the keys begin.** All tracks before these two have 43 bits in each row, so the pair begins at byte
//! 5, bit 3. The first four bytes of both records, with the step codes taken out and the 3 put in, are one
//! word, and one multiplication makes all prefix sums of its bytes (`starts`):
//!
//! ```text
//! bytes        3   6   5   0     0   4   7   5
//! sums         3   9  14  14    14  18  25  30
//!             x2  y2  z2  end   x3  y3  z3  end
//! ```
//!
//! The last sum says where the next pair begins: bit 30 from byte 5 on, which is bit 70 of the row.
//!
//! **One row.** From each row 16 bytes are read, beginning at byte 5. Of the row of key 0 they begin with `55
//! 06 00`. A byte shuffle brings to each lane the four bytes that its number begins in (byte `start / 8` and
//! the next three), a shift by `start % 8` brings the number to bit 0, a mask of its width cuts off what
//! follows (`Fields`):
//!
//! ```text
//! x2  starts at bit 3   bytes 55 06 00 ..  shifted by 3  0x0CA  masked to 6 bits  10
//! y2  starts at bit 9   bytes 06 00 .. ..  shifted by 1  0x003  masked to 5 bits   3
//! z2  starts at bit 14                                          masked to 0 bits   0
//! ```
//!
//! The shuffle, the shifts and the masks depend on the records only, so they are made once for all four rows.
//!
//! **Four rows.** In the middle of the second interval, `t = 1/2`, the weights are 1/48, 23/48, 23/48 and
//! 1/48 ([`Taps`]). With 10, 20, 40, 50 as the keys of x in the four rows and 3, 5, 7, 9 as those of y, which
//! are multiplied and added row by row as f32:
//!
//! ```text
//! x   (10 + 23 * 20 + 23 * 40 + 50) / 48 = 30    + offset -10 = 20    * 1.25 / 1024 = 0.024414 m
//! y    (3 +  23 * 5 +  23 * 7 +  9) / 48 =  6    + offset  20 = 26    * 1.25 / 1024 = 0.031738 m
//! z                                         0    + offset   8 =  8    * 1.25 / 1024 = 0.009766 m
//! ```
//!
//! **Result.** The three numbers are stored as the vector of joint 3 in the batch of joints. Translations and
//! scales are added to the rest pose joint by joint ([`vectors`]). Rotations are logarithms: sixteen joints
//! at a time they are transposed into lanes, and turned into quaternions there ([`rotations`]).
//!
//! The test `the_worked_record_comes_out_as_the_preface_says` unpacks these very bytes.

mod resident;
mod rotations;
mod unpack;
mod vectors;

use self::rotations::{Between, Logarithms, rotate};
use self::unpack::{Part, Records, Source, unpack};
use self::vectors::{add_lane, add_to_rest};

use fearless_simd::prelude::*;

use crate::clip::layout::{Kind, Segment};
use crate::clip::resident::ResidentSegment;
use crate::clip::spline::{Degree, Taps};
use crate::clip::{ClipView, Place};
use crate::pose::PoseBlock;
use condyle_base::simd::{BLOCK, Dispatch, Mode, dispatch};

/// Which joints are wanted, if not all.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The joint in the first lane of the first block: the blocks may be a part of a pose.
    pub(super) first: usize,
    /// How many joints from there on are wanted.
    pub(super) count: usize,
    /// `false` for joints that stay at rest.
    pub(super) mask: Option<&'a [bool]>,
}

impl Wanted<'_> {
    #[inline(always)]
    pub(super) fn has(&self, joint: usize) -> bool {
        joint.wrapping_sub(self.first) < self.count
            && self.mask.is_none_or(|mask| mask.get(joint).copied().unwrap_or(false))
    }

    /// Whether any of `count` joints from this one on is wanted.
    #[inline(always)]
    fn any(&self, joint: usize, count: usize) -> bool {
        let Some(mask) = self.mask else { return true };
        for &wanted in mask.get(joint..).unwrap_or(&[]).iter().take(count) {
            if wanted {
                return true;
            }
        }
        false
    }
}

/// Joints that are sampled at a time. Their vectors are on the stack.
const BATCH_JOINTS: usize = 256;
/// Most characters have no more joints than this: their batch is smaller. A power of two: no index that is cut to so many
/// bits has to be compared with it.
const SMALL_BATCH_JOINTS: usize = 128;

/// The numbers of each joint of a batch: x, y, z, and a fourth that means nothing.
type Vectors = [[f32; 4]];

/// Which joints a batch holds.
#[derive(Clone, Copy)]
struct Batch<'a> {
    /// The first one; the others follow in order.
    base: usize,
    /// Which ones are sampled, if not all.
    wanted: Option<Wanted<'a>>,
}

impl Batch<'_> {
    /// Whether none of `count` joints from joint `at` of the batch on is wanted.
    #[inline(always)]
    fn skips(&self, at: usize, count: usize) -> bool {
        self.wanted.is_some_and(|wanted| !wanted.any(self.base + at, count))
    }
}

/// The keys of a segment, in one of two forms. A pose has the same bits from either.
#[derive(Clone, Copy)]
enum Keys<'a> {
    Packed(Segment<'a>),
    Resident(ResidentSegment<'a>),
}

/// A moment of a clip.
pub(super) struct Moment<'a> {
    keys: Keys<'a>,
    /// How far into the segment, from 0 to 1.
    ratio: f64,
    /// How linear rotations go from key to key at that moment.
    between: Between,
}

impl<'a> Moment<'a> {
    #[inline(always)]
    pub(super) fn new(clip: ClipView<'a>, Place { segment, ratio }: Place) -> Self {
        let (keys, linear) = if let Some(segment) = clip.resident_segment(segment) {
            (Keys::Resident(segment), segment.linear_rotations())
        } else {
            let segment = clip.segment(segment);
            (Keys::Packed(segment), segment.linear_rotations())
        };
        Self { keys, ratio, between: Between::new(linear, ratio) }
    }
}

/// What the tracks of a batch are added up to.
struct Out<'a> {
    /// The logarithms of rotations, and then the numbers of translations and scales on their way to the blocks.
    vectors: &'a mut Vectors,
    /// Where linear rotations go, with a fourth number that is not 0. All others stay where they are. Empty if the segment
    /// has no linear ones.
    ends: &'a mut Vectors,
    rest: &'a [PoseBlock],
    blocks: &'a mut [PoseBlock],
}

/// Samples all joints of `blocks`. Those that are not wanted get `rest`.
#[inline(always)]
pub(super) fn pose(
    dispatch: Dispatch,
    moment: &Moment<'_>,
    wanted: Option<Wanted<'_>>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let batch = Batch { base: wanted.map_or(0, |wanted| wanted.first), wanted };
    // Less has to be cleared for fewer joints.
    if blocks.len() <= 1 {
        small_pose::<BLOCK>(dispatch, moment, &batch, rest, blocks);
    } else if blocks.len() * BLOCK <= SMALL_BATCH_JOINTS {
        small_pose::<SMALL_BATCH_JOINTS>(dispatch, moment, &batch, rest, blocks);
    } else {
        large_pose(dispatch, moment, batch, rest, blocks);
    }
}

/// [`pose`] of up to `JOINTS` joints.
#[inline(always)]
fn small_pose<const JOINTS: usize>(
    dispatch: Dispatch,
    moment: &Moment<'_>,
    batch: &Batch<'_>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let mut vectors = [[0.0; 4]; JOINTS];
    let mut out = Out { vectors: &mut vectors, ends: &mut [], rest, blocks };
    if let Between::Nothing = moment.between {
        sample_batch(dispatch, moment, batch, &mut out, &mut []);
    } else {
        small_turning_pose::<JOINTS>(dispatch, moment, batch, &mut out);
    }
}

/// Apart, so that the others need no room for ends.
#[inline(never)]
fn small_turning_pose<const JOINTS: usize>(
    dispatch: Dispatch,
    moment: &Moment<'_>,
    batch: &Batch<'_>,
    Out { vectors, rest, blocks, .. }: &mut Out<'_>,
) {
    let mut ends = [[0.0; 4]; JOINTS];
    let mut out = Out { vectors, ends: &mut ends, rest, blocks };
    sample_batch(dispatch, moment, batch, &mut out, &mut []);
}

/// [`pose`] of more joints than have a small batch.
#[inline(never)]
fn large_pose(
    dispatch: Dispatch,
    moment: &Moment<'_>,
    mut batch: Batch<'_>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let (mut vectors, mut own_ends) = ([[0.0; 4]; BATCH_JOINTS], [[0.0; 4]; BATCH_JOINTS]);
    let ends: &mut Vectors = if let Between::Nothing = moment.between { &mut [] } else { &mut own_ends };
    // With several batches, how far each class of packed keys has been read.
    let mut several;
    let parts: &mut [Part] = if blocks.len() * BLOCK <= BATCH_JOINTS {
        &mut []
    } else {
        several = [Part::default(); u8::MAX as usize];
        &mut several
    };
    let start = batch.base;
    let chunk = BATCH_JOINTS / BLOCK;
    for (blocks, rest) in blocks.chunks_mut(chunk).zip(rest.chunks(chunk)) {
        if batch.skips(0, BATCH_JOINTS) {
            blocks.iter_mut().zip(rest).for_each(|(block, rest)| *block = *rest);
        } else {
            if batch.base > start {
                vectors.fill([0.0; 4]);
                ends.fill([0.0; 4]);
            }
            let mut out = Out { vectors: &mut vectors, ends: &mut *ends, rest, blocks };
            sample_batch(dispatch, moment, &batch, &mut out, &mut *parts);
        }
        batch.base += BATCH_JOINTS;
    }
}

/// All by reference: what is passed by value is copied three times on its way to a kernel.
#[inline(never)]
fn sample_batch(
    dispatch: Dispatch,
    moment: &Moment<'_>,
    batch: &Batch<'_>,
    out: &mut Out<'_>,
    parts: &mut [Part],
) {
    match &moment.keys {
        Keys::Resident(segment) => {
            dispatch!(dispatch, |s, mode| resident::sample_batch(s, mode, segment, moment, batch, out));
        }
        // All joints, in one batch, with indices of one byte: then no joint has to be looked up or skipped, and
        // the loops over tracks keep all that they need in registers.
        Keys::Packed(segment) if batch.wanted.is_none() && segment.index_bytes == 1 && parts.is_empty() => {
            let (batch, parts) = (&Batch { wanted: None, ..*batch }, &mut []);
            dispatch!(dispatch, |s, mode| unpack_batch::<_, _, true>(
                s, mode, segment, moment, batch, out, parts
            ));
        }
        Keys::Packed(segment) => {
            dispatch!(dispatch, |s, mode| unpack_batch::<_, _, false>(
                s, mode, segment, moment, batch, out, parts
            ));
        }
    }
}

/// Samples a batch of packed keys. `PLAIN` promises that it holds all joints, that all are wanted, and that indices
/// have one byte.
#[inline(always)]
fn unpack_batch<S: Simd, M: Mode, const PLAIN: bool>(
    s: S,
    mode: M,
    segment: &Segment<'_>,
    moment: &Moment<'_>,
    batch: &Batch<'_>,
    Out { vectors, ends, rest, blocks }: &mut Out<'_>,
    parts: &mut [Part],
) {
    let batch = *batch;
    let records = Records::new(s, segment, batch.wanted);
    // Rotations are the first classes of a segment, free tracks the last ones. When the last rotation has been
    // unpacked, they are turned into quaternions, and their place in `vectors` is free for translations.
    let classes = segment.classes().take_while(|placed| placed.class.kind != Kind::Free);
    let mut rotated = false;
    for (at, placed) in classes.map(Some).chain([None]).enumerate() {
        let is_rotation = placed.is_some_and(|placed| placed.class.kind == Kind::Rotation);
        if !is_rotation && !rotated {
            let logs = Logarithms { from: vectors, to: ends, between: &moment.between };
            rotate(s, mode, logs, batch, rest, blocks);
            rotated = true;
        }
        let Some(placed) = placed else { break };
        let class = placed.class;
        let taps = Taps::at(class.degree, class.intervals, moment.ratio);
        let mut part = Part { count: class.count, ..Part::default() };
        let count = batch.wanted.map_or(BATCH_JOINTS, |wanted| wanted.count.min(BATCH_JOINTS));
        if !PLAIN && (!parts.is_empty() || count < BATCH_JOINTS) {
            let before = parts.get(at).copied().unwrap_or_default();
            part = records.part(&placed, before, batch.base..batch.base + count);
            parts.get_mut(at).into_iter().for_each(|last| *last = part);
        }
        let source = Source { records: &records, placed: &placed, part, taps: &taps };
        if class.degree == Degree::Constant {
            unpack::<S, M, 0, PLAIN>(s, mode, source, batch.base, vectors, &mut []);
        } else if is_rotation && class.degree == Degree::Linear {
            unpack::<S, M, 2, PLAIN>(s, mode, source, batch.base, vectors, ends);
        } else {
            unpack::<S, M, 4, PLAIN>(s, mode, source, batch.base, vectors, &mut []);
        }
        if !is_rotation {
            let first = placed.track + part.first;
            add_to_rest(&placed, first..first + part.count, segment, batch, vectors, rest, blocks);
        }
    }
}
