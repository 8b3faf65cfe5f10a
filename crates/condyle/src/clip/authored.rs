//! Tracks that a clip keeps as they were authored: steps, and joints that no curve brings under the budget.

use alloc::vec::Vec;
use core::ops::Range;

use super::keys::hermite;
use super::layout::{Kind, value};
use super::raw::{Interpolation, Target, Track};
use crate::bytes::{u16_at, u32_at};
use crate::error::Error;
use crate::math::quats::{is_loose, is_near_unit, slerp_f64};
use crate::math::vectors::normalize;

/// Keyframes of any spacing, read where they lie.
#[derive(Debug, Clone)]
pub(crate) struct Authored<'a> {
    pub(crate) kind: Option<Kind>,
    interpolation: Option<Interpolation>,
    /// Numbers of a value: 4 for rotations, 3, or as many as the free track has.
    pub(crate) width: usize,
    /// The joint, or the place among the clip's free tracks.
    pub(crate) index: usize,
    /// The segments where it holds, if those are not all: in the others the curve does.
    pub(crate) segments: Option<Range<usize>>,
    keys: usize,
    /// Where its bytes begin, and its times.
    place: usize,
    times: usize,
    bytes: &'a [u8],
}

/// Added to the code of the interpolation of a track that holds in some segments.
pub(crate) const IN_PART: u8 = 0x80;

#[cfg(any(test, feature = "encode"))]
pub(crate) fn interpolation_code(interpolation: Interpolation) -> u8 {
    match interpolation {
        Interpolation::Step => 0,
        Interpolation::Linear => 1,
        Interpolation::CubicSpline => 2,
    }
}

impl<'a> Authored<'a> {
    /// From its line in the table.
    pub(crate) fn read(bytes: &'a [u8], line: usize) -> Self {
        let code = |at: usize| bytes.get(line + at).copied().unwrap_or(u8::MAX);
        let place = u32_at(bytes, line + 12) as usize;
        let is_in_part = code(1) & IN_PART != 0;
        let segments = is_in_part
            .then(|| u32_at(bytes, place) as usize..u32_at(bytes, place.saturating_add(4)) as usize);
        Self {
            kind: Kind::ALL.get(usize::from(code(0))).copied(),
            interpolation: match code(1) & !IN_PART {
                0 => Some(Interpolation::Step),
                1 => Some(Interpolation::Linear),
                2 => Some(Interpolation::CubicSpline),
                _ => None,
            },
            width: u16_at(bytes, line + 2).into(),
            index: u32_at(bytes, line + 4) as usize,
            keys: u32_at(bytes, line + 8) as usize,
            times: if is_in_part { place.saturating_add(8) } else { place },
            segments,
            place,
            bytes,
        }
    }

    /// What it drives. Authored tracks rise by it.
    pub(crate) fn target(&self) -> (Option<Kind>, usize) {
        (self.kind, self.index)
    }

    /// Whether it holds in a segment.
    pub(crate) fn holds(&self, segment: usize) -> bool {
        self.segments.as_ref().is_none_or(|segments| segments.contains(&segment))
    }

    fn values_per_key(&self) -> usize {
        if self.interpolation == Some(Interpolation::CubicSpline) { 3 } else { 1 }
    }

    /// Finds out whether all that [`at`](Self::at) relies on is so, and where the track's bytes end. Tracks
    /// stand one behind another, the first at `from`. The clip has so many joints, free tracks and segments; `free`
    /// tells what one of these tracks drives, and how many components it has.
    pub(crate) fn check(
        &self,
        (at, from): (usize, usize),
        (joints, free_tracks, segments): (usize, usize, usize),
        free: impl Fn(usize) -> (Target, usize),
    ) -> Result<usize, Error> {
        let what = "authored tracks";
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
        let (numbers, end) = (self.number_count(), self.end());
        if self.keys == 0 || end > self.bytes.len() {
            return Err(Error::Truncated { what, found: self.bytes.len(), needed: end });
        }
        if let Some(held) = &self.segments {
            if kind == Kind::Free {
                return Err(value(what, at, self.index, "a joint, for a track that holds in some segments"));
            }
            if held.is_empty() || held.end > segments {
                return Err(value(what, at, held.end, "segments of the clip where it holds"));
            }
        }
        for number in 0..numbers {
            if !self.float(number).is_finite() {
                return Err(Error::NotFinite { what, at });
            }
        }
        let rotates = kind == Kind::Rotation || kind == Kind::Free && free(self.index).0.rotates();
        if rotates && self.interpolation != Some(Interpolation::CubicSpline) {
            let key = |key| core::array::from_fn(|c| self.float(self.keys + 4 * key + c));
            if !(0..self.keys).all(|k| is_near_unit(&key(k))) {
                return Err(Error::NotUnit { what, at });
            }
        }
        if let Some(key) = (1..self.keys).find(|&key| self.float(key - 1) >= self.float(key)) {
            return Err(Error::KeyOrder { timeline: at, key });
        }
        Ok(end)
    }

    /// The seconds of its keys, and the track that they were, on the first timeline.
    pub(crate) fn to_track(&self, target: Target) -> (Vec<f32>, Track) {
        let numbers = |range: core::ops::Range<usize>| range.map(|at| self.float(at)).collect();
        let interpolation = self.interpolation.unwrap_or(Interpolation::Step);
        let values = numbers(self.keys..self.number_count());
        (numbers(0..self.keys), Track { target, interpolation, timeline: 0, values })
    }

    fn number_count(&self) -> usize {
        self.values_per_key().saturating_mul(self.width).saturating_add(1).saturating_mul(self.keys)
    }

    /// Where its bytes end.
    pub(crate) fn end(&self) -> usize {
        self.number_count().saturating_mul(4).saturating_add(self.times)
    }

    /// Times first, then values.
    fn float(&self, at: usize) -> f32 {
        f32::from_bits(u32_at(self.bytes, self.times + 4 * at))
    }

    fn value(&self, key: usize, part: usize, component: usize) -> f64 {
        let part = if self.values_per_key() == 3 { key * 3 + part } else { key };
        self.float(self.keys + part * self.width + component).into()
    }

    /// The last key at or before a time, or the first of all.
    fn find(&self, seconds: f32) -> usize {
        let (mut low, mut high) = (0, self.keys);
        while low < high {
            let middle = low.midpoint(high);
            if self.float(middle) <= seconds {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.saturating_sub(1)
    }

    /// The value at a moment, component by component, as [`sample::raw`](crate::sample::raw) has it, but for
    /// the unit length of rotations.
    pub(crate) fn at(&self, seconds: f32, component: usize) -> f64 {
        let key = self.find(seconds);
        let from = self.float(key);
        let value = self.value(key, 1, component);
        if key + 1 >= self.keys || seconds <= from {
            return value;
        }
        let length = f64::from(self.float(key + 1)) - f64::from(from);
        let t = (f64::from(seconds) - f64::from(from)) / length;
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
    pub(crate) fn rotation(&self, seconds: f32) -> [f64; 4] {
        let key = self.find(seconds);
        let quat = |key| core::array::from_fn(|c| self.value(key, 1, c) as f32);
        let from = f64::from(self.float(key));
        if self.interpolation == Some(Interpolation::Linear)
            && key + 1 < self.keys
            && f64::from(seconds) > from
        {
            let t = (f64::from(seconds) - from) / (f64::from(self.float(key + 1)) - from);
            return slerp_f64(quat(key), quat(key + 1), t);
        }
        let mut q: [f64; 4] = core::array::from_fn(|c| self.at(seconds, c));
        // A key that is of unit length up to the rounding of its components stays as it is.
        if is_loose(&q) {
            normalize(&mut q);
        }
        q
    }
}
