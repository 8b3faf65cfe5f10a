//! A single track of a segment, read in f64: root motion, free tracks and the encoder's copies of curves.

use super::layout::{OFFSET, Placed, Segment, WIDTH, WINDOW, step};
use super::spline::{Degree, Taps};
use condyle_base::bytes::{u32_at, u64_at};
use condyle_base::error::invariant;
use condyle_base::simd::each;

/// One track of a segment. Its record is decoded once, for any number of times.
#[derive(Debug, Clone, Copy)]
pub struct Curve<'a> {
    pub degree: Degree,
    pub intervals: usize,
    /// The rows from the byte on in which the keys of the track begin.
    rows: &'a [u8],
    row_bytes: usize,
    /// First bit of each component, counted from that byte.
    starts: [u32; WIDTH],
    masks: [u32; WIDTH],
    offsets: [f64; WIDTH],
    step: f64,
}

/// Number of bytes of a row that hold the keys of a track: 3 · 24 bits after up to seven bits of others.
const ROW: usize = 12;

impl<'a> Curve<'a> {
    /// Decodes the record of a track of the class `placed`. The keys of the track begin at bit `bit` of each
    /// row.
    #[inline]
    pub fn new(segment: &Segment<'a>, placed: &Placed, track: usize, bit: usize) -> Self {
        let class = placed.class;
        let record = segment.bytes.get(segment.record(track)..).and_then(<[u8]>::first_chunk::<WINDOW>);
        invariant!(record.is_some(), "the window of record {track} is within the clip");
        let record = record.unwrap_or(&[0; WINDOW]);
        // Shifting left and right extends the sign.
        let (bytes, upper) = (segment.offset_bytes, 32_u32.saturating_sub(8 * segment.offset_bytes as u32));
        let offset = |c: usize| (u32_at(record, OFFSET + bytes * c) << upper) as i32 >> upper;
        let is_constant = class.degree == Degree::Constant;
        let width = |c: usize| if is_constant { 0 } else { u32::from(record[1 + c]) };
        let (widths, start) = ([width(0), width(1), width(2)], (bit % 8) as u32);
        Self {
            degree: class.degree,
            intervals: class.intervals,
            rows: segment.bytes.get(placed.rows + bit / 8..).unwrap_or_default(),
            row_bytes: class.row_bytes,
            starts: [start, start + widths[0], start + widths[0] + widths[1]],
            masks: widths.map(|width| (1 << width) - 1),
            offsets: [offset(0).into(), offset(1).into(), offset(2).into()],
            step: step(record[0]).into(),
        }
    }

    /// Returns the three components at the fraction `ratio` of the segment, as the weighted sum of keys.
    #[inline(always)]
    pub fn at(&self, ratio: f64) -> [f64; WIDTH] {
        self.sum(&Taps::at(self.degree, self.intervals, ratio))
    }

    /// Returns the three components of one key.
    #[inline(always)]
    pub fn key(&self, key: usize) -> [f64; WIDTH] {
        let mut numbers = self.numbers(key);
        each!(c in [0, 1, 2] => numbers[c] = (self.offsets[c] + numbers[c]) * self.step);
        numbers
    }

    /// Returns the weighted sum of the keys that `taps` names.
    #[inline(always)]
    pub fn sum(&self, taps: &Taps) -> [f64; WIDTH] {
        let mut sums = self.offsets;
        // The last row is read again for taps of weight 0, so that the loop has a constant length.
        let last = taps.first + taps.count - 1;
        each!(tap in [0, 1, 2, 3] => {
            let numbers = self.numbers((taps.first + tap).min(last));
            each!(c in [0, 1, 2] => sums[c] += numbers[c] * taps.weights[tap]);
        });
        sums.map(|sum| sum * self.step)
    }

    /// Returns the integers of a key.
    #[inline(always)]
    fn numbers(&self, key: usize) -> [f64; WIDTH] {
        let window = self.rows.get(key * self.row_bytes..).and_then(<[u8]>::first_chunk::<ROW>);
        invariant!(window.is_some(), "key {key} is within the clip");
        let window = window.unwrap_or(&[0; ROW]);
        // A component has at most 24 bits: it is within one of two overlapping words.
        let (low, high) = (u64_at(window, 0), u64_at(window, ROW - 8));
        let mut numbers = [0.0; WIDTH];
        each!(c in [0, 1, 2] => {
            let word = if self.starts[c] < 32 { low } else { high };
            numbers[c] = f64::from(((word >> (self.starts[c] % 32)) as u32 & self.masks[c]) as i32);
        });
        numbers
    }
}
