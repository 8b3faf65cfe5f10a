//! Fallback tracks of a clip, stored as keys: steps, and joints that no curve brings under the budget.

use alloc::vec::Vec;
use core::ops::Range;

use super::keys::{Span, hermite};
use super::layout::{FALLBACK, Kind, value};
use super::raw::{Interpolation, Target, Track};
use condyle_base::bytes::{u16_at, u32_at};
use condyle_base::error::Error;
use condyle_base::math::quats::{is_loose, is_near_unit, slerp_f64};
use condyle_base::math::vectors::normalize;

/// Keyframes of any spacing, read where they lie.
#[derive(Debug, Clone)]
pub struct Fallback<'a> {
    pub kind: Option<Kind>,
    interpolation: Option<Interpolation>,
    /// Numbers of a value: 4 for rotations, 3, or as many as the free track has.
    pub width: usize,
    /// The joint, or the place among the clip's free tracks.
    pub index: usize,
    /// The segments where it holds, if those are not all: in the others the curve does.
    pub segments: Option<Range<usize>>,
    keys: usize,
    /// The track before it whose times it has, if it has none of its own.
    owner: Option<usize>,
    /// Whether values are integers of 16 bits.
    is_short: bool,
    /// Where its bytes begin, its times, and its values.
    place: usize,
    times: usize,
    values: usize,
    bytes: &'a [u8],
}

/// Numbers of things in a clip that fallback tracks refer to.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    pub joints: usize,
    pub free_tracks: usize,
    pub segments: usize,
}

/// Added to the code of the interpolation of a track that holds in some segments.
pub const IN_PART: u8 = 0x80;
/// Added where the times are those of a track before it.
pub const SHARED: u8 = 0x40;
/// Added where rotations are integers, multiples of 1 / [`ONE`].
pub const SHORTS: u8 = 0x20;
/// What an integer of 16 bits that means 1 is.
pub const ONE: f32 = 32767.0;

/// The integer that is nearest to a component of a rotation.
pub fn to_short(v: f64) -> i16 {
    let steps = v * f64::from(ONE);
    // Away from zero in the middle.
    (steps + if steps < 0.0 { -0.5 } else { 0.5 }).clamp(-32767.0, 32767.0) as i16
}

/// What an integer means.
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
    /// From its line in the table, which begins at `table`.
    pub fn read(bytes: &'a [u8], table: usize, at: usize) -> Self {
        let line_of = |at: usize| at.saturating_mul(FALLBACK).saturating_add(table);
        let code = |at: usize| bytes.get(at).copied().unwrap_or(u8::MAX);
        // Where the bytes of a track are that follow the segments in which it holds.
        let body = |line: usize| {
            let is_in_part = code(line.saturating_add(1)) & IN_PART != 0;
            let place = u32_at(bytes, line.saturating_add(12)) as usize;
            place.saturating_add(if is_in_part { 8 } else { 0 })
        };
        let line = line_of(at);
        let (first, second) = (code(line), code(line + 1));
        let (place, body_place) = (u32_at(bytes, line + 12) as usize, body(line));
        let segments = (second & IN_PART != 0)
            .then(|| u32_at(bytes, place) as usize..u32_at(bytes, place.saturating_add(4)) as usize);
        let keys = u32_at(bytes, line + 8) as usize;
        let owner = (second & SHARED != 0).then(|| u32_at(bytes, body_place) as usize);
        Self {
            kind: Kind::ALL.get(usize::from(first)).copied(),
            interpolation: match second & !(IN_PART | SHARED | SHORTS) {
                0 => Some(Interpolation::Step),
                1 => Some(Interpolation::Linear),
                2 => Some(Interpolation::CubicSpline),
                _ => None,
            },
            width: u16_at(bytes, line + 2).into(),
            index: u32_at(bytes, line + 4) as usize,
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

    /// What it drives. Fallback tracks rise by it.
    pub fn target(&self) -> (Option<Kind>, usize) {
        (self.kind, self.index)
    }

    /// Whether it holds in a segment.
    pub fn holds(&self, segment: usize) -> bool {
        self.segments.as_ref().is_none_or(|segments| segments.contains(&segment))
    }

    fn values_per_key(&self) -> usize {
        if self.interpolation == Some(Interpolation::CubicSpline) { 3 } else { 1 }
    }

    /// Checks all that [`at`](Self::at) relies on, and returns where the track's bytes end. Tracks stand
    /// one after another; this one starts at `from`. `free` returns target and width of a free track,
    /// `before` a track before this one, which passed.
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
            return Err(value(what, at, self.width, "as many numbers as its target has"));
        }
        if self.place != from {
            return Err(value(what, at, self.place, "the place behind the track before it"));
        }
        let rotates = kind == Kind::Rotation || kind == Kind::Free && free(self.index).0.rotates();
        if self.is_short && !(rotates && self.interpolation != Some(Interpolation::CubicSpline)) {
            return Err(value(what, at, SHORTS.into(), "floats, but for rotations without tangents"));
        }
        let end = self.end();
        if self.keys == 0 || end > self.bytes.len() {
            return Err(Error::Truncated { what, found: self.bytes.len(), needed: end });
        }
        if let Some(owner) = self.owner {
            // Of a track with times of its own, so that these are found in one step.
            let serves = |owner: Self| owner.owner.is_none() && owner.keys == self.keys;
            if owner >= at || !serves(before(owner)) {
                return Err(value(what, at, owner, "a track before it with as many times of its own"));
            }
        }
        if let Some(held) = &self.segments {
            if kind == Kind::Free {
                return Err(value(what, at, self.index, "a joint, for a track that holds in some segments"));
            }
            if held.is_empty() || held.end > segments {
                return Err(value(what, at, held.end, "segments of the clip where it holds"));
            }
        }
        // Times that are another track's have been looked at there.
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

    /// The seconds of its keys, and the track that they were, on the first timeline.
    pub fn to_track(&self, target: Target) -> (Vec<f32>, Track) {
        let interpolation = self.interpolation.unwrap_or(Interpolation::Step);
        let values = (0..self.value_count()).map(|at| self.number(at)).collect();
        (self.seconds(), Track { target, interpolation, timeline: 0, values })
    }

    /// The seconds of its keys. Allocates.
    pub fn seconds(&self) -> Vec<f32> {
        (0..self.keys).map(|key| self.time(key)).collect()
    }

    /// The numbers of its values.
    fn value_count(&self) -> usize {
        self.values_per_key().saturating_mul(self.width).saturating_mul(self.keys)
    }

    /// Where its bytes end.
    pub fn end(&self) -> usize {
        let bytes = if self.is_short { 2 } else { 4 };
        self.value_count().saturating_mul(bytes).saturating_add(self.values)
    }

    fn time(&self, key: usize) -> f32 {
        f32::from_bits(u32_at(self.bytes, self.times + 4 * key))
    }

    /// Of its values.
    fn number(&self, at: usize) -> f32 {
        match self.is_short {
            true => from_short(u16_at(self.bytes, self.values + 2 * at).cast_signed()),
            false => f32::from_bits(u32_at(self.bytes, self.values + 4 * at)),
        }
    }

    fn value(&self, key: usize, part: usize, component: usize) -> f64 {
        let part = if self.values_per_key() == 3 { key * 3 + part } else { key };
        self.number(part * self.width + component).into()
    }

    /// Where its times are, which says whether two tracks of a clip share them.
    pub fn times(&self) -> usize {
        self.times
    }

    /// Where a moment falls between its keys: the same for all that share its times.
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

    /// The value at a moment, component by component, as [`sampling::raw`](crate::sampling::raw) has it, but for
    /// the unit length of rotations.
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

    /// The rotation at a moment, of unit length.
    pub fn rotation(&self, span: Span) -> [f64; 4] {
        if self.interpolation == Some(Interpolation::Linear) && span.factor > 0.0 {
            let quat = |key| core::array::from_fn(|c| self.value(key, 1, c) as f32);
            return slerp_f64(quat(span.key), quat(span.key + 1), span.factor);
        }
        let mut q: [f64; 4] = core::array::from_fn(|c| self.at(span, c));
        // A key that is of unit length up to the rounding of its components stays as it is.
        if is_loose(&q) {
            normalize(&mut q);
        }
        q
    }
}
