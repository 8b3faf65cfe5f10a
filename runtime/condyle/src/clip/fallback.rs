//! Fallback tracks of a clip, stored as keys: step tracks, and joint tracks for which no curve meets the
//! budget.

use alloc::vec::Vec;
use core::ops::Range;

use super::keys::{Span, hermite};
use super::layout::{FALLBACK, Kind, value};
use super::raw::{Interpolation, Target, Track};
use condyle_base::bytes::{u16_at, u32_at};
use condyle_base::error::Error;
use condyle_base::math::quats::{is_loose, is_near_unit, slerp_f64};
use condyle_base::math::vectors::normalize;

/// Keyframes at any spacing, read in place.
#[derive(Debug, Clone)]
pub struct Fallback<'a> {
    pub kind: Option<Kind>,
    interpolation: Option<Interpolation>,
    /// Numbers per value: 4 for rotations, 3 for translations and scales, or the component count of the free
    /// track.
    pub width: usize,
    /// Index of the joint, or index among the clip's free tracks.
    pub index: usize,
    /// Segments that use this track, if not all do. The others use a curve.
    pub segments: Option<Range<usize>>,
    keys: usize,
    /// Index of the earlier track that stores the times, if they are shared.
    owner: Option<usize>,
    /// Whether values are 16-bit integers.
    is_short: bool,
    /// Offsets of the track's bytes, of its times, and of its values.
    place: usize,
    times: usize,
    values: usize,
    bytes: &'a [u8],
}

/// Counts in a clip that fallback tracks refer to.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    pub joints: usize,
    pub free_tracks: usize,
    pub segments: usize,
}

/// Flag in the interpolation code: the track is used in some segments only.
pub const IN_PART: u8 = 0x80;
/// Flag in the interpolation code: the times are stored by an earlier track.
pub const SHARED: u8 = 0x40;
/// Flag in the interpolation code: rotations are 16-bit integers, multiples of 1 / [`ONE`].
pub const SHORTS: u8 = 0x20;
/// The 16-bit integer that represents 1.
pub const ONE: f32 = 32767.0;

/// Returns the nearest integer for a component of a rotation.
pub fn to_short(v: f64) -> i16 {
    let steps = v * f64::from(ONE);
    // Round halves away from zero.
    (steps + if steps < 0.0 { -0.5 } else { 0.5 }).clamp(-32767.0, 32767.0) as i16
}

/// Returns the number that an integer represents.
pub fn from_short(steps: i16) -> f32 {
    f32::from(steps) / ONE
}

pub fn interpolation_code(interpolation: Interpolation) -> u8 {
    match interpolation {
        Interpolation::Step => 0,
        Interpolation::Linear => 1,
        Interpolation::CubicSpline => 2,
    }
}

impl<'a> Fallback<'a> {
    /// Reads a track from its line in the table, which begins at `table`.
    #[inline(always)]
    pub fn read(bytes: &'a [u8], table: usize, at: usize) -> Self {
        let line_of = |at: usize| line(bytes, table, at);
        // Offset of the track's bytes after its segments.
        let body = |line: &[u8; FALLBACK]| {
            let place = u32_at(line, 12) as usize;
            place.saturating_add(if line[1] & IN_PART != 0 { 8 } else { 0 })
        };
        let line = line_of(at);
        let second = line[1];
        let (place, body_place) = (u32_at(line, 12) as usize, body(line));
        let segments = (second & IN_PART != 0)
            .then(|| u32_at(bytes, place) as usize..u32_at(bytes, place.saturating_add(4)) as usize);
        let keys = u32_at(line, 8) as usize;
        let owner = (second & SHARED != 0).then(|| u32_at(bytes, body_place) as usize);
        Self {
            kind: Kind::ALL.get(usize::from(line[0])).copied(),
            interpolation: match second & !(IN_PART | SHARED | SHORTS) {
                0 => Some(Interpolation::Step),
                1 => Some(Interpolation::Linear),
                2 => Some(Interpolation::CubicSpline),
                _ => None,
            },
            width: u16_at(line, 2).into(),
            index: u32_at(line, 4) as usize,
            keys,
            owner,
            is_short: second & SHORTS != 0,
            times: owner.map_or(body_place, |owner| body(line_of(owner))),
            values: body_place.saturating_add(if owner.is_some() { 4 } else { keys.saturating_mul(4) }),
            segments,
            place,
            bytes,
        }
    }

    /// Returns the target of a track, without its other values.
    #[inline(always)]
    pub fn target_at(bytes: &[u8], table: usize, at: usize) -> (Option<Kind>, usize) {
        let line = line(bytes, table, at);
        (Kind::ALL.get(usize::from(line[0])).copied(), u32_at(line, 4) as usize)
    }

    /// Returns the target. Fallback tracks are sorted by it.
    pub fn target(&self) -> (Option<Kind>, usize) {
        (self.kind, self.index)
    }

    /// Returns whether the track is used in a segment.
    #[inline(always)]
    pub fn holds(&self, segment: usize) -> bool {
        self.segments.as_ref().is_none_or(|segments| segments.contains(&segment))
    }

    fn values_per_key(&self) -> usize {
        if self.interpolation == Some(Interpolation::CubicSpline) { 3 } else { 1 }
    }

    /// Checks everything that [`at`](Self::at) relies on, and returns the end of the track's bytes. Tracks
    /// follow each other; this one starts at `from`. `free` returns target and width of a free track,
    /// `before` an earlier track, which is already checked.
    pub fn check(
        &self,
        at: usize,
        from: usize,
        counts: Counts,
        free: impl Fn(usize) -> (Target, usize),
        before: impl Fn(usize) -> Self,
    ) -> Result<usize, Error> {
        let what = "fallback tracks";
        let Counts { joints, free_tracks, segments } = counts;
        let (Some(kind), Some(_)) = (self.kind, self.interpolation) else {
            return Err(value(what, at, 0, "a known kind and interpolation"));
        };
        let limit = if kind == Kind::Free { free_tracks } else { joints };
        if self.index >= limit {
            return Err(Error::Index { what, at, found: self.index, count: limit });
        }
        let width = match kind {
            Kind::Rotation => 4,
            Kind::Translation | Kind::Scale => 3,
            Kind::Free => free(self.index).1,
        };
        if self.width != width {
            return Err(value(what, at, self.width, "the number of components of its target"));
        }
        if self.place != from {
            return Err(value(what, at, self.place, "the offset where the track before it ends"));
        }
        let rotates = kind == Kind::Rotation || kind == Kind::Free && free(self.index).0.rotates();
        if self.is_short && !(rotates && self.interpolation != Some(Interpolation::CubicSpline)) {
            return Err(value(what, at, SHORTS.into(), "floats, except for rotations without tangents"));
        }
        let end = self.end();
        if self.keys == 0 || end > self.bytes.len() {
            return Err(Error::Truncated { what, found: self.bytes.len(), needed: end });
        }
        if let Some(owner) = self.owner {
            // The owner must store its times itself, so that they are found in one step.
            let serves = |owner: Self| owner.owner.is_none() && owner.keys == self.keys;
            if owner >= at || !serves(before(owner)) {
                return Err(value(
                    what,
                    at,
                    owner,
                    "an earlier track that stores the same number of times itself",
                ));
            }
        }
        if let Some(held) = &self.segments {
            if kind == Kind::Free {
                return Err(value(
                    what,
                    at,
                    self.index,
                    "a joint, because the track applies only to some segments",
                ));
            }
            if held.is_empty() || held.end > segments {
                return Err(value(what, at, held.end, "a non-empty range of segments of the clip"));
            }
        }
        // Shared times were checked with their owner.
        let own_times = if self.owner.is_some() { 0 } else { self.keys };
        let is_finite = (0..own_times).all(|key| self.time(key).is_finite())
            && (0..self.value_count()).all(|number| self.number(number).is_finite());
        if !is_finite {
            return Err(Error::NotFinite { what, at });
        }
        if rotates && self.interpolation != Some(Interpolation::CubicSpline) {
            let key = |key| core::array::from_fn(|c| self.number(4 * key + c));
            if !(0..self.keys).all(|k| is_near_unit(&key(k))) {
                return Err(Error::NotUnit { what, at });
            }
        }
        if let Some(key) = (1..own_times).find(|&key| self.time(key - 1) >= self.time(key)) {
            return Err(Error::KeyOrder { timeline: at, key });
        }
        Ok(end)
    }

    /// Returns the key times in seconds, and the original track, on the first timeline. Rotations of 16-bit
    /// integers have unit length.
    pub fn to_track(&self, target: Target) -> (Vec<f32>, Track) {
        let interpolation = self.interpolation.unwrap_or(Interpolation::Step);
        let values = match interpolation {
            Interpolation::Linear if self.is_short => {
                (0..self.keys).flat_map(|key| rounded_unit(self.key(key))).collect()
            }
            _ => (0..self.value_count()).map(|at| self.number(at)).collect(),
        };
        (self.seconds(), Track { target, interpolation, timeline: 0, values })
    }

    /// Returns the key times in seconds. Allocates.
    pub fn seconds(&self) -> Vec<f32> {
        (0..self.keys).map(|key| self.time(key)).collect()
    }

    /// Length of the track's values, in numbers.
    fn value_count(&self) -> usize {
        self.values_per_key().saturating_mul(self.width).saturating_mul(self.keys)
    }

    /// Returns the end of the track's bytes.
    pub fn end(&self) -> usize {
        let bytes = if self.is_short { 2 } else { 4 };
        self.value_count().saturating_mul(bytes).saturating_add(self.values)
    }

    fn time(&self, key: usize) -> f32 {
        f32::from_bits(u32_at(self.bytes, self.times + 4 * key))
    }

    /// Returns a number of the track's values.
    fn number(&self, at: usize) -> f32 {
        if self.is_short {
            from_short(u16_at(self.bytes, self.values + 2 * at).cast_signed())
        } else {
            f32::from_bits(u32_at(self.bytes, self.values + 4 * at))
        }
    }

    fn value(&self, key: usize, part: usize, component: usize) -> f64 {
        let part = if self.values_per_key() == 3 { key * 3 + part } else { key };
        self.number(part * self.width + component).into()
    }

    /// Offset of the track's times. Two tracks with equal offsets share their times.
    #[inline(always)]
    pub fn times(&self) -> usize {
        self.times
    }

    /// Finds the keys around a time. The result is the same for all tracks that share the times.
    pub fn span(&self, seconds: f64) -> Span {
        let (mut low, mut high) = (0, self.keys);
        while low < high {
            let middle = low.midpoint(high);
            if f64::from(self.time(middle)) <= seconds {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let key = low.saturating_sub(1);
        let from = f64::from(self.time(key));
        if key + 1 >= self.keys || seconds <= from {
            return Span { key, ..Span::default() };
        }
        let length = f64::from(self.time(key + 1)) - from;
        Span { key, factor: (seconds - from) / length, length }
    }

    /// Returns a component of the value at a time, like [`sampling::raw`](crate::sampling::raw), but without
    /// normalising rotations.
    pub fn at(&self, span: Span, component: usize) -> f64 {
        let Span { key, factor: t, length } = span;
        let value = self.value(key, 1, component);
        if t == 0.0 {
            return value;
        }
        let next = self.value(key + 1, 1, component);
        match self.interpolation {
            Some(Interpolation::Linear) => value + (next - value) * t,
            Some(Interpolation::CubicSpline) => {
                let tangents = [self.value(key, 2, component), self.value(key + 1, 0, component)];
                hermite([value, tangents[0], tangents[1], next], length, t)
            }
            _ => value,
        }
    }

    /// Returns the values of the keys around a time and the factor between them. The factor is 0 if the first
    /// one is the value at that time.
    #[inline(always)]
    pub fn ends<const N: usize>(&self, span: Span) -> ([f32; N], [f32; N], f32) {
        let factor = match self.interpolation {
            Some(Interpolation::CubicSpline) => {
                let value = core::array::from_fn(|c| self.at(span, c) as f32);
                return (value, value, 0.0);
            }
            Some(Interpolation::Linear) => span.factor as f32,
            _ => 0.0,
        };
        let from = self.key(span.key);
        (from, if factor > 0.0 { self.key(span.key + 1) } else { from }, factor)
    }

    /// Does the same as [`ends`](Self::ends) for rotations, which have unit length.
    #[inline(always)]
    pub fn rotation_ends(&self, span: Span) -> ([f32; 4], [f32; 4], f32) {
        if self.interpolation != Some(Interpolation::CubicSpline) {
            let (from, to, factor) = self.ends(span);
            if self.is_short {
                return (rounded_unit(from), rounded_unit(to), factor);
            }
            // The lengths of other keys affect the path.
            if !is_loose(&from.map(f64::from)) && !is_loose(&to.map(f64::from)) {
                return (from, to, factor);
            }
        }
        let value = self.rotation(span).map(|v| v as f32);
        (value, value, 0.0)
    }

    /// Returns the numbers of a key without tangents.
    #[inline(always)]
    fn key<const N: usize>(&self, key: usize) -> [f32; N] {
        if self.is_short {
            let bytes = self.bytes.get(self.values + 2 * N * key..).unwrap_or_default();
            let shorts = bytes.as_chunks().0.first_chunk::<N>().copied().unwrap_or([[0; 2]; N]);
            shorts.map(|bytes| from_short(i16::from_le_bytes(bytes)))
        } else {
            let bytes = self.bytes.get(self.values + 4 * N * key..).unwrap_or_default();
            let floats = bytes.as_chunks().0.first_chunk::<N>().copied().unwrap_or([[0; 4]; N]);
            floats.map(f32::from_le_bytes)
        }
    }

    /// Returns the rotation at a time, with unit length.
    pub fn rotation(&self, span: Span) -> [f64; 4] {
        if self.interpolation == Some(Interpolation::Linear) && span.factor > 0.0 {
            let quat = |key| {
                let key = self.key(key);
                if self.is_short { rounded_unit(key) } else { key }
            };
            return slerp_f64(quat(span.key), quat(span.key + 1), span.factor);
        }
        let mut q: [f64; 4] = core::array::from_fn(|c| self.at(span, c));
        // Keep keys whose length is 1 up to the rounding of their components.
        if is_loose(&q) {
            normalize(&mut q);
        }
        q
    }
}

/// Returns a line of the table of fallback tracks. No track has a line of these bytes past the end.
#[inline(always)]
fn line(bytes: &[u8], table: usize, at: usize) -> &[u8; FALLBACK] {
    let line = at.saturating_mul(FALLBACK).saturating_add(table);
    bytes.get(line..).and_then(<[u8]>::first_chunk).unwrap_or(&[u8::MAX; FALLBACK])
}

/// Returns the rotation of unit length for one whose components were rounded to 16-bit integers.
#[inline(always)]
fn rounded_unit(q: [f32; 4]) -> [f32; 4] {
    let excess = q.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>() - 1.0;
    if excess.abs() > ROUNDED_SHORT {
        let mut q = q.map(f64::from);
        normalize(&mut q);
        return q.map(|v| v as f32);
    }
    // The series of 1 / sqrt(1 + excess); the next term is below 1e-9.
    let factor = 1.0 - excess * (0.5 - 0.375 * excess);
    q.map(|v| (f64::from(v) * factor) as f32)
}

/// The squared length of a unit quaternion of 16-bit integers is at most this far from 1.
const ROUNDED_SHORT: f64 = 1e-3;
