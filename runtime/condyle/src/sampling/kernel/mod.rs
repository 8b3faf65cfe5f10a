//! Computes a pose from the keys of a clip.
//!
//! A clip stores the keys of a track as small unsigned integers. Each component of a value is
//! `step * (offset + sum of weight * key)`. Step and offset belong to the track. The weights depend on the
//! time and are the same for all tracks of a class. `docs/format.md` specifies the byte layout.
//!
//! # Worked example of a record
//!
//! A class of translations on cubic splines has four tracks and three intervals, so it has four rows of keys.
//! Offsets take one byte (`o = 1`) and joint indices one byte (`i = 1`), so a record has `5 + 3 + 0 = 8`
//! bytes. `unpack` processes the records in pairs, two tracks in eight lanes. Lanes 0 to 2 are x, y, z of the
//! first track, and lanes 4 to 6 are x, y, z of the second. Lanes 3 and 7 are computed but ignored. The
//! second pair is:
//!
//! ```text
//!          step  widths    joint  offsets
//! track 2    82  06 05 00     03  F6 14 08     x: 6 bits, y: 5 bits, z: none; joint 3; offsets -10, 20, 8
//! track 3    80  04 07 05     07  00 F0 05     x: 4 bits, y: 7 bits, z: 5 bits; joint 7; offsets 0, -16, 5
//! ```
//!
//! **Load.** A window is the 32 bytes from the first record on. It contains both records of the pair at any
//! record length. Each half of a 32-byte register loads 16 bytes from the beginning of a record
//! (`two_records`).
//!
//! **Step.** The step code is the upper bits of an `f32`, counted from the smallest step: `0x82` is
//! `2^(16 - 26) * (1 + 2/8) = 1.25 / 1024` metres, about 1.2 mm.
//!
//! **Beginning of the keys.** All tracks before these two have 43 bits in each row, so the pair begins at
//! byte 5, bit 3. The first four bytes of both records form one word, in which 3 replaces the first step code
//! and 0 the second. One multiplication computes all prefix sums of its bytes (`starts`):
//!
//! ```text
//! bytes        3   6   5   0     0   4   7   5
//! sums         3   9  14  14    14  18  25  30
//!             x2  y2  z2  end   x3  y3  z3  end
//! ```
//!
//! The last sum is the beginning of the next pair: bit 30 counted from byte 5, which is bit 70 of the row.
//!
//! **One row.** The kernel loads 16 bytes of each row, beginning at byte 5. In the row of key 0 these bytes
//! begin with `55 06 00`. `Fields` extracts the numbers in three operations:
//!
//! 1. A byte shuffle moves to each lane four bytes: byte `start / 8`, in which the lane's number begins, and
//!    the next three.
//! 2. A shift by `start % 8` moves the number to bit 0.
//! 3. A mask of the number's width clears the bits above it.
//!
//! ```text
//! x2  starts at bit 3   bytes 55 06 00 ..  shifted by 3  0x0CA  masked to 6 bits  10
//! y2  starts at bit 9   bytes 06 00 .. ..  shifted by 1  0x003  masked to 5 bits   3
//! z2  starts at bit 14                                          masked to 0 bits   0
//! ```
//!
//! The shuffle, the shifts and the masks depend only on the records, so they are computed once for all four
//! rows.
//!
//! **Four rows.** In the middle of the second interval, `t = 1/2`, the weights are 1/48, 23/48, 23/48 and
//! 1/48 ([`Taps`]). In the four rows the keys of x are 10, 20, 40, 50 and the keys of y are 3, 5, 7, 9. They
//! are multiplied and added row by row in f32:
//!
//! ```text
//! x   (10 + 23 * 20 + 23 * 40 + 50) / 48 = 30    + offset -10 = 20    * 1.25 / 1024 = 0.024414 m
//! y    (3 +  23 * 5 +  23 * 7 +  9) / 48 =  6    + offset  20 = 26    * 1.25 / 1024 = 0.031738 m
//! z                                         0    + offset   8 =  8    * 1.25 / 1024 = 0.009766 m
//! ```
//!
//! **Result.** The three numbers are stored as the vector of joint 3 in the batch of joints. Translations and
//! scales are added to the rest pose joint by joint ([`vectors`]). Rotations are logarithms: sixteen joints
//! at a time are transposed into lanes and converted to quaternions ([`rotations`]).
//!
//! The test `the_worked_record_comes_out_as_the_preface_says` unpacks exactly these bytes.

mod rotations;
mod unpack;
mod vectors;

use self::rotations::{Between, Logarithms, rotate};
use self::unpack::{Part, Records, Source, unpack};
use self::vectors::add_to_rest;

use fearless_simd::prelude::*;

use crate::clip::layout::{Kind, Segment};
use crate::clip::spline::{Degree, Taps};
use crate::clip::{ClipView, Place};
use crate::pose::PoseBlock;
use condyle_base::simd::{BLOCK, Dispatch, Mode, dispatch_sse42};

/// A subset of the joints.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The joint in lane 0 of the first block, because the blocks may be a part of a pose.
    pub(super) first: usize,
    /// Number of wanted joints, counted from `first`.
    pub(super) count: usize,
    /// `false` for joints that stay in the rest pose.
    pub(super) mask: Option<&'a [bool]>,
}

impl Wanted<'_> {
    #[inline(always)]
    pub(super) fn has(&self, joint: usize) -> bool {
        joint.wrapping_sub(self.first) < self.count
            && self.mask.is_none_or(|mask| mask.get(joint).copied().unwrap_or(false))
    }

    /// Whether any of the `count` joints from `joint` on is wanted.
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

/// Number of joints in a batch. Their vectors are on the stack.
const BATCH_JOINTS: usize = 256;
/// Number of joints in a small batch, which is enough for most characters. A power of two, so that an index
/// modulo this number needs no bounds check.
const SMALL_BATCH_JOINTS: usize = 128;

/// The numbers of each joint of a batch: x, y, z, and an unused fourth component.
type Vectors = [[f32; 4]];

/// The joints of a batch.
#[derive(Clone, Copy)]
struct Batch<'a> {
    /// The first joint; the others follow in order.
    base: usize,
    /// The joints to sample, or `None` for all.
    wanted: Option<Wanted<'a>>,
}

impl Batch<'_> {
    /// Whether none of the `count` joints from joint `at` of the batch on is wanted.
    #[inline(always)]
    fn skips(&self, at: usize, count: usize) -> bool {
        self.wanted.is_some_and(|wanted| !wanted.any(self.base + at, count))
    }
}

/// A time in a clip.
pub(super) struct Moment<'a> {
    segment: Segment<'a>,
    /// Position within the segment, from 0 to 1.
    ratio: f64,
    /// Interpolation between the keys of linear rotations at this time.
    between: Between,
}

impl<'a> Moment<'a> {
    #[inline(always)]
    pub(super) fn new(clip: ClipView<'a>, Place { segment, ratio }: Place) -> Self {
        let segment = clip.segment(segment);
        Self { segment, ratio, between: Between::new(segment.linear_rotations(), ratio) }
    }
}

/// Output buffers for a batch.
struct Out<'a> {
    /// The logarithms of rotations; afterwards the translations and scales before they are added to the
    /// blocks.
    vectors: &'a mut Vectors,
    /// The logarithms of the second keys of linear rotations, with a nonzero fourth component. The other
    /// vectors are 0. Empty if the segment has no linear rotations.
    ends: &'a mut Vectors,
    rest: &'a [PoseBlock],
    blocks: &'a mut [PoseBlock],
}

/// Samples all joints of `blocks`. Joints that are not wanted get their transform from `rest`.
#[inline(always)]
pub(super) fn pose(
    dispatch: Dispatch,
    moment: &Moment<'_>,
    wanted: Option<Wanted<'_>>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let batch = Batch { base: wanted.map_or(0, |wanted| wanted.first), wanted };
    // A smaller batch has less memory to clear.
    if blocks.len() <= 1 {
        small_pose::<BLOCK>(dispatch, moment, &batch, rest, blocks);
    } else if blocks.len() * BLOCK <= SMALL_BATCH_JOINTS {
        small_pose::<SMALL_BATCH_JOINTS>(dispatch, moment, &batch, rest, blocks);
    } else {
        large_pose(dispatch, moment, batch, rest, blocks);
    }
}

/// [`pose`] for at most `JOINTS` joints.
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

/// A separate function, so that poses without linear rotations need no stack space for `ends`.
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

/// [`pose`] for more joints than fit in a small batch.
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
    // With several batches, the part of each class of packed keys that the last batch read.
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

/// Takes all arguments by reference, because values would be copied three times before they reach a kernel.
#[inline(never)]
fn sample_batch(
    dispatch: Dispatch,
    moment: &Moment<'_>,
    batch: &Batch<'_>,
    out: &mut Out<'_>,
    parts: &mut [Part],
) {
    if cfg!(not(feature = "small"))
        && batch.wanted.is_none()
        && moment.segment.index_bytes == 1
        && parts.is_empty()
    {
        // All joints in one batch, with one-byte indices. No joint is searched or skipped, and the loops over
        // tracks keep all of their state in registers.
        let (batch, parts) = (&Batch { wanted: None, ..*batch }, &mut []);
        dispatch_sse42!(dispatch, |s, mode| unpack_batch::<_, _, true>(s, mode, moment, batch, out, parts));
    } else {
        dispatch_sse42!(dispatch, |s, mode| unpack_batch::<_, _, false>(s, mode, moment, batch, out, parts));
    }
}

/// Samples a batch of packed keys. With `PLAIN`, the batch must hold all joints, all must be wanted, and
/// indices must have one byte.
#[inline(always)]
fn unpack_batch<S: Simd, M: Mode, const PLAIN: bool>(
    s: S,
    mode: M,
    moment: &Moment<'_>,
    batch: &Batch<'_>,
    Out { vectors, ends, rest, blocks }: &mut Out<'_>,
    parts: &mut [Part],
) {
    let (batch, segment) = (*batch, &moment.segment);
    let records = Records::new(s, segment, batch.wanted);
    // Rotations are the first classes of a segment, and free tracks the last. After the last class of
    // rotations, all rotations become quaternions, and `vectors` is free for translations.
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
