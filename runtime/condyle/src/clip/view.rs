//! Accessors for the bytes of a clip, as read by kernels.

use super::fallback::Fallback;
use super::layout::{EVENT, FREE_TRACK, Header, Kind, MOTION, Segment, segment_tracks};
use super::raw::Target;
use condyle_base::bytes::{u16_at, u32_at};

/// Checked bytes of a clip, and their header.
#[derive(Clone, Copy)]
pub struct ClipView<'a> {
    pub bytes: &'a [u8],
    pub header: &'a Header,
}

/// A time in a clip.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Index of the segment.
    pub segment: usize,
    /// Position in the segment, from 0 to 1.
    pub ratio: f64,
}

impl<'a> ClipView<'a> {
    pub fn header(&self) -> &'a Header {
        self.header
    }

    pub fn joint_count(&self) -> usize {
        self.header.joint_count
    }

    pub fn has_motion(&self) -> bool {
        self.header.flags & MOTION != 0
    }

    /// Seconds from the first frame to the last.
    pub fn duration(&self) -> f64 {
        f64::from(self.header.end) - f64::from(self.header.start)
    }

    /// Returns the target of each free track, and its number of components.
    pub fn free_tracks(&self) -> impl ExactSizeIterator<Item = (Target, usize)> + use<'a> {
        let clip = *self;
        (0..self.header.free_track_count).map(move |at| (clip.free_target(at), clip.free_track(at).2))
    }

    pub fn event(&self, at: usize) -> Option<(f64, &'a str)> {
        if at >= self.header.event_count {
            return None;
        }
        let from = self.events_place();
        let (seconds, end) = self.event_line(from, at);
        let begin = at.checked_sub(1).map_or(0, |before| self.event_line(from, before).1);
        let names = from + EVENT * self.header.event_count;
        let name = self.bytes.get(names + begin..names + end)?;
        // Rounding to f32 may have moved an event past the end.
        Some((f64::from(seconds).min(self.duration()), core::str::from_utf8(name).ok()?))
    }

    /// Returns the offset of the events, after the fallback tracks.
    pub fn events_place(&self) -> usize {
        let last = self.header.fallback_count.checked_sub(1);
        last.map_or(self.header.tables_end(), |last| self.fallback_at(last).end())
    }

    /// Returns the time of an event, and the end of its name within the names.
    pub fn event_line(&self, from: usize, at: usize) -> (f32, usize) {
        let line = from + EVENT * at;
        (f32::from_bits(u32_at(self.bytes, line)), u32_at(self.bytes, line + 4) as usize)
    }

    /// Returns kind, number and component count of a free track.
    pub fn free_track(&self, at: usize) -> (u16, u32, usize) {
        let place = self.header.free_tracks() + FREE_TRACK * at;
        (u16_at(self.bytes, place + 6), u32_at(self.bytes, place), u16_at(self.bytes, place + 4).into())
    }

    pub fn free_target(&self, at: usize) -> Target {
        let (kind, id, _) = self.free_track(at);
        match kind {
            0 => Target::Weights(id),
            1 => Target::Vector(id),
            _ => Target::FreeRotation(id),
        }
    }

    /// Returns the index of the free track with this target, its first track in segments, and its component
    /// count.
    pub fn find_free_track(&self, target: Target) -> Option<(usize, usize, usize)> {
        let mut first = 0;
        for (at, (found, width)) in self.free_tracks().enumerate() {
            if found == target {
                return Some((at, first, width));
            }
            first += segment_tracks(found, width);
        }
        None
    }

    /// Returns the offset of a segment.
    pub fn segment_place(&self, at: usize) -> usize {
        u32_at(self.bytes, self.header.segments() + 4 * at) as usize
    }

    pub fn segment(&self, at: usize) -> Segment<'a> {
        let bytes = self.bytes.get(self.segment_place(at)..).unwrap_or_default();
        Segment::new(bytes, self.header.index_bytes())
    }

    /// Returns the target of a fallback track. The tracks are sorted by it.
    #[inline(always)]
    pub fn fallback_target(&self, at: usize) -> (Option<Kind>, usize) {
        Fallback::target_at(self.bytes, self.header.fallback_tracks(), at)
    }

    /// Returns a fallback track.
    #[inline(always)]
    pub fn fallback_at(&self, at: usize) -> Fallback<'a> {
        Fallback::read(self.bytes, self.header.fallback_tracks(), at)
    }

    /// Returns all fallback tracks.
    pub fn fallback_tracks(&self) -> impl Iterator<Item = Fallback<'a>> + use<'a> {
        let clip = *self;
        (0..self.header.fallback_count).map(move |at| clip.fallback_at(at))
    }

    /// Returns the fallback track of a joint or a free track.
    pub fn fallback_of(&self, kind: Kind, index: usize) -> Option<Fallback<'a>> {
        let (mut low, mut high) = (0, self.header.fallback_count);
        while low < high {
            let middle = low.midpoint(high);
            if self.fallback_target(middle) < (Some(kind), index) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low < self.header.fallback_count)
            .then(|| self.fallback_at(low))
            .filter(|track| track.target() == (Some(kind), index))
    }

    /// Finds the segment of a time. Times before the start and after the end are clamped.
    #[inline(always)]
    pub fn locate(&self, seconds: f64) -> Place {
        let header = self.header;
        let (start, end) = (f64::from(header.start), f64::from(header.end));
        // `f64::clamp` would bring the code that prints numbers into small programs.
        let clamped = if seconds < start {
            start
        } else if seconds > end {
            end
        } else {
            seconds
        };
        let since = clamped - start;
        // Convert through 32 bits, which hold every frame number and are the fastest to convert and divide.
        let number = |frames: usize| f64::from(frames as i32);
        let part = if since > 0.0 { since / (end - start) } else { 0.0 };
        if header.segment_count == 1 {
            return Place { segment: 0, ratio: part };
        }
        let frame = part * number(header.frame_count);
        let segment = (frame as i32 as u32 / header.segment_frames as u32) as usize;
        let segment = segment.min(header.segment_count - 1);
        let first = segment * header.segment_frames;
        let frames = (header.frame_count - first).min(header.segment_frames).max(1);
        Place { segment, ratio: (frame - number(first)) / number(frames) }
    }

    /// Returns the last time of each segment and the first time of the next. The pose may jump by up to two
    /// budgets there, because the encoder fits segments independently. A copy of the clip needs a key on both
    /// sides: a single key would turn the jump into a ramp.
    pub fn seams(&self) -> impl Iterator<Item = [f32; 2]> {
        let header = self.header;
        let (start, end) = (f64::from(header.start), f64::from(header.end));
        let count = if end > start { header.segment_count } else { 1 };
        (1..count).map(move |next| {
            let is_before = |seconds: f32| self.locate(seconds.into()).segment < next;
            let part = (next * header.segment_frames) as f64 / header.frame_count as f64;
            let mut last = (start + part * (end - start)) as f32;
            while !is_before(last) {
                last = last.next_down();
            }
            while is_before(last.next_up()) {
                last = last.next_up();
            }
            [last, last.next_up()]
        })
    }
}
