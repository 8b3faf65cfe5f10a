//! Storage of [`Frames`](super::Frames), and the frames that a time lies between.

use alloc::vec::Vec;

use crate::pose::PoseBlock;
use condyle_base::simd::{BLOCK, Lanes};

/// Rotations of sixteen joints in one frame: `x`, `y`, `z`, `w`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Wide(pub(super) [Lanes; 4]);

/// The same in 16 bits. A number `n` stands for `(n - 32768) * step`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Narrow(pub(super) [[u16; BLOCK]; 4]);

/// Integer that stands for 0.
pub(super) const ZERO: f32 = 32_768.0;

/// Rotations of all frames, frame by frame.
pub(super) enum Rotations {
    Wide(Vec<Wide>),
    Narrow { rows: Vec<Narrow>, step: f32 },
}

/// Curve between frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Degree {
    /// Straight lines. The stored frames are the poses.
    Linear,
    /// Uniform cubic B-splines. The stored frames are control points: one before the first pose, one per
    /// pose, and one after the last pose.
    Cubic,
}

impl Degree {
    /// Number of frames that a time is computed from.
    pub(super) fn taps(self) -> usize {
        match self {
            Self::Linear => 2,
            Self::Cubic => 4,
        }
    }

    /// Number of stored frames, for a number of intervals between poses.
    pub(super) fn frames(self, intervals: usize) -> usize {
        intervals + self.taps() - 1
    }
}

/// Evenly spaced times from the first to the last pose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timeline {
    pub(super) start: f64,
    pub(super) end: f64,
    /// Number of intervals between poses, at least 1.
    pub(super) intervals: usize,
    /// Poses per second; 0 for a clip without duration.
    pub(super) rate: f64,
}

impl Timeline {
    pub(super) fn new(start: f64, end: f64, intervals: usize) -> Self {
        let rate = if end > start { intervals as f64 / (end - start) } else { 0.0 };
        Self { start, end, intervals, rate }
    }

    /// Time of a pose.
    pub(super) fn seconds(&self, frame: f64) -> f64 {
        self.start + (self.end - self.start) * (frame / self.intervals as f64)
    }

    /// First stored frame for a time, and the weights of the frames from there. The weights add up to 1.
    #[inline(always)]
    pub(super) fn taps(&self, degree: Degree, seconds: f64) -> (usize, [f64; 4]) {
        // Conversions of 32 bits take single instructions.
        let intervals = self.intervals as i32;
        let place = ((seconds - self.start) * self.rate).clamp(0.0, f64::from(intervals));
        let first = (place as i32).min(intervals - 1);
        let (first, t) = (first as usize, place - f64::from(first));
        let u = 1.0 - t;
        match degree {
            Degree::Linear => (first, [u, t, 0.0, 0.0]),
            Degree::Cubic => {
                let [before, after] = [u * u * u / 6.0, t * t * t / 6.0];
                let from = 2.0 / 3.0 - t * t + 3.0 * after;
                (first, [before, from, 1.0 - before - from - after, after])
            }
        }
    }
}

/// Translation or scale of a joint that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moving {
    pub(super) joint: u16,
    pub(super) scales: bool,
}

/// Translations and scales that do not change.
#[derive(Clone, Copy)]
pub(super) struct Base {
    pub(super) translation: [Lanes; 3],
    pub(super) scale: [Lanes; 3],
}

impl Base {
    pub(super) fn of(rest: &PoseBlock) -> Self {
        Self { translation: rest.translation, scale: rest.scale }
    }
}

/// Properties of a block in all frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    /// Whether translations and scales of the base equal the rest pose.
    pub(super) rests: bool,
    /// Whether a rotation leaves the hemisphere of the rest pose.
    pub(super) crosses: bool,
}

impl Marks {
    pub(super) const NONE: Self = Self { rests: true, crosses: false };
}

/// Poses of a clip at even times.
pub(super) struct Store {
    pub(super) timeline: Timeline,
    pub(super) degree: Degree,
    pub(super) rotations: Rotations,
    /// One per block.
    pub(super) base: Vec<Base>,
    pub(super) marks: Vec<Marks>,
    pub(super) moving: Vec<Moving>,
    /// Differences from the base, frame by frame, in the order of `moving`.
    pub(super) moves: Vec<[f32; 4]>,
    /// Hash of the contents. Layers are summed in its order.
    pub(super) hash: u64,
}

impl Store {
    /// Size in bytes of a number of intervals.
    pub(super) fn size(
        blocks: usize,
        moving: usize,
        degree: Degree,
        intervals: usize,
        is_narrow: bool,
    ) -> usize {
        let block = if is_narrow { size_of::<Narrow>() } else { size_of::<Wide>() };
        let frame = blocks * block + moving * size_of::<[f32; 4]>();
        degree.frames(intervals).saturating_mul(frame).saturating_add(blocks * size_of::<Base>())
    }

    pub(super) fn bytes(&self) -> usize {
        let is_narrow = matches!(self.rotations, Rotations::Narrow { .. });
        let intervals = self.timeline.intervals;
        Self::size(self.base.len(), self.moving.len(), self.degree, intervals, is_narrow)
    }
}
