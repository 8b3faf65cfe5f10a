//! Clips as they were authored, and compressed: one block of bytes, checked once and then read where it lies.

pub(crate) mod authored;
pub(crate) mod keys;
pub(crate) mod layout;
mod raw;
pub(crate) mod spline;

use alloc::vec::Vec;

use crate::bytes::{u16_at, u32_at};
use crate::error::Error;
use authored::Authored;
use layout::{
    Class, EVENT, EXACT, HEADER, Header, JOINT_BITS, Kind, MAGIC, MAX_BITS, MAX_FRAMES, MAX_PLACES,
    MAX_VALUE_TRACKS, MOTION, SEGMENT, SET, Segment, VERSION, WIDE, WIDTH, WINDOW, set_tracks, value,
};
pub use raw::{Interpolation, RawClip, Target, Track};
use spline::Degree;

const WHAT: &str = "a clip";

/// A compressed clip: what [`encode`](crate::encode) makes of a [`RawClip`](crate::RawClip).
///
/// It borrows its bytes, which may lie anywhere, so also in a mapped file, and are the same on every platform. They are checked
/// once, by [`from_bytes`](Self::from_bytes); after that [`sample`](crate::sample) reads any moment at the same cost.
///
/// A clip is cut into segments of equal length. In a segment each track is a curve with evenly spaced keys, packed with as many bits as
/// the error allows; a moment needs four rows of keys at most. `docs/format.md` describes every byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clip<'a> {
    bytes: &'a [u8],
    header: Header,
}

/// A moment of a clip.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) segment: Segment<'a>,
    /// How far into the segment, from 0 to 1.
    pub(crate) ratio: f64,
}

impl<'a> Clip<'a> {
    /// Checks everything that sampling relies on. The time is in proportion to the number of bytes, nothing is allocated.
    ///
    /// # Errors
    /// [`Error::Magic`] and [`Error::Version`] for what is no clip or a newer one; [`Error::Truncated`] and [`Error::Length`] if
    /// bytes are missing or left over; [`Error::Checksum`] if they are not those that were written; [`Error::Value`], [`Error::Index`],
    /// [`Error::NotFinite`], [`Error::NotUnit`], [`Error::KeyOrder`], [`Error::OutOfRange`], [`Error::NotText`] and [`Error::TooMany`] for
    /// what no encoder writes.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        if !bytes.starts_with(&MAGIC) {
            return Err(match bytes.len() < MAGIC.len() && MAGIC.starts_with(bytes) {
                true => Error::Truncated { what: WHAT, found: bytes.len(), needed: HEADER },
                false => Error::Magic { what: WHAT },
            });
        }
        if bytes.len() < HEADER {
            return Err(Error::Truncated { what: WHAT, found: bytes.len(), needed: HEADER });
        }
        let version = u16_at(bytes, 4);
        if version == 0 || version > VERSION {
            return Err(Error::Version { what: WHAT, found: version, newest: VERSION });
        }
        let needed = u32_at(bytes, 8) as usize;
        if bytes.len() < needed {
            return Err(Error::Truncated { what: WHAT, found: bytes.len(), needed });
        }
        Error::check_len("the bytes of a clip", bytes.len(), needed)?;
        if Header::checksum(bytes) != Header::stored_checksum(bytes) {
            return Err(Error::Checksum { what: "clips", at: 0 });
        }
        let clip = Self { bytes, header: Header::read(bytes) };
        clip.check_header()?;
        let value_tracks = clip.check_sets()?;
        let mut end = clip.header.tables_end();
        let mut before = None;
        for at in 0..clip.header.exact_count {
            let track = clip.exact(at);
            let set = |at| (clip.set_target(at), clip.set(at).2);
            end = track.check((at, end), (clip.header.joint_count, clip.header.set_count), set)?;
            if before >= Some(track.target()) {
                let expected = "one for each target, in the order of kinds and indices";
                return Err(value("authored tracks", at, track.index, expected));
            }
            before = Some(track.target());
        }
        end = clip.check_events(end)?;
        let (mut windows, mut seen) = (end, Indices([0; _]));
        for at in 0..clip.header.segment_count {
            let window;
            (end, window) = clip.check_segment(at, end, value_tracks, &mut seen)?;
            windows = windows.max(window);
        }
        Error::check_len("the bytes of a clip", bytes.len(), end.max(windows))?;
        Ok(clip)
    }

    fn check_header(&self) -> Result<(), Error> {
        let header = &self.header;
        let floats = [header.start, header.end, header.budget];
        Error::check_finite("the header of a clip", &floats, 1)?;
        Error::check_finite("the duration of a clip", &[header.end - header.start], 1)?;
        if header.flags & !(MOTION | WIDE) != 0 {
            return Err(value("the header of a clip", 6, header.flags.into(), "no flags but the known ones"));
        }
        if header.end < header.start || (header.end == header.start) != (header.frame_count == 0) {
            let expected = "an end behind the start, and frames between them";
            return Err(value("the header of a clip", 36, header.frame_count, expected));
        }
        self.check_places(header.joint_count)?;
        let segments = header.frame_count.div_ceil(header.segment_frames.max(1)).max(1);
        if header.segment_frames == 0 || header.segment_count != segments {
            let expected = "as many segments as the frames take";
            return Err(value("the header of a clip", 28, header.segment_count, expected));
        }
        let needed = (header.segment_count.saturating_mul(4))
            .saturating_add(header.exact_count.saturating_mul(EXACT))
            .saturating_add(header.set_count * SET + HEADER);
        if needed > self.bytes.len() {
            return Err(Error::Truncated { what: "the tables of a clip", found: self.bytes.len(), needed });
        }
        Ok(())
    }

    /// What has a value at every frame takes much memory when it is decoded as a whole.
    fn check_places(&self, count: usize) -> Result<(), Error> {
        let limit = MAX_FRAMES.min(MAX_PLACES / count.max(1));
        let found = self.header.frame_count;
        if found > limit { Err(Error::TooMany { what: "frames", found, limit }) } else { Ok(()) }
    }

    /// How many tracks all sets have.
    fn check_sets(&self) -> Result<usize, Error> {
        let mut tracks = 0;
        for at in 0..self.header.set_count {
            let (kind, _, width) = self.set(at);
            if kind > 2 {
                return Err(value("sets", at, kind.into(), "0, 1 or 2"));
            }
            let target = self.set_target(at);
            if width == 0 {
                // It would count for nothing, however many there are.
                return Err(value("sets", at, width, "one number or more"));
            }
            if target.rotates() && width != 4 {
                return Err(value("sets", at, width, "4 numbers of a rotation"));
            }
            tracks += set_tracks(target, width);
        }
        if tracks > MAX_VALUE_TRACKS {
            return Err(Error::TooMany { what: "values", found: tracks, limit: MAX_VALUE_TRACKS });
        }
        self.check_places(tracks)?;
        Ok(tracks)
    }

    /// Events rise, and so do the ends of their names. `from` is where they begin; returns where they end.
    fn check_events(&self, from: usize) -> Result<usize, Error> {
        let what = "events";
        let count = self.header.event_count;
        let (found, needed) = (self.bytes.len(), from.saturating_add(EVENT * count));
        if needed > found {
            return Err(Error::Truncated { what, found, needed });
        }
        let (mut seconds, mut end) = (0.0, 0);
        for at in 0..count {
            let (next, name_end) = self.event_line(from, at);
            if !(next >= seconds && next <= self.duration()) {
                return Err(Error::OutOfRange {
                    what,
                    at,
                    needed: "within the clip and in the order of time",
                });
            }
            if name_end < end {
                return Err(value("the ends of events' names", at, name_end, "the end before it or more"));
            }
            let needed = needed.saturating_add(name_end);
            let name = self.bytes.get(needed - (name_end - end)..needed);
            let name = name.ok_or(Error::Truncated { what: "the names of events", found, needed })?;
            core::str::from_utf8(name).map_err(|_| Error::NotText { what, at })?;
            (seconds, end) = (next, name_end);
        }
        Ok(needed + end)
    }

    /// Where it ends, and its last window. Segments stand one behind another, so that no byte is looked at twice.
    ///
    /// `seen` is empty, and is left so.
    fn check_segment(
        &self,
        at: usize,
        from: usize,
        value_tracks: usize,
        seen: &mut Indices,
    ) -> Result<(usize, usize), Error> {
        let what = "segments";
        let place = self.segment_place(at);
        let bytes = self.bytes.get(place..).filter(|_| place == from);
        let bytes = bytes.ok_or(value(what, at, place, "the place behind what stands before it"))?;
        if bytes.len() < SEGMENT {
            return Err(Error::Truncated { what: "a segment", found: bytes.len(), needed: SEGMENT });
        }
        let segment = Segment::new(bytes, self.header.index_bytes());
        if !(1..=3).contains(&segment.offset_bytes) {
            return Err(value("offset sizes", at, segment.offset_bytes, "1 to 3 bytes"));
        }
        // A pair of records is read at once. The windows of rows, which stand before the records, end before those of records.
        let window =
            segment.track_count.checked_sub(1).map_or(0, |last| segment.record(last).saturating_add(WINDOW));
        let needed = window.max(segment.end());
        if needed > bytes.len() {
            return Err(Error::Truncated { what: "a segment", found: bytes.len(), needed });
        }
        let mut next = SEGMENT + segment.class_count * Class::LINE;
        let (mut first, mut turns) = (0, None);
        let (mut kind, mut kind_first) = (Kind::Rotation, 0);
        for class in 0..segment.class_count {
            let found = segment.class(class);
            let class =
                found.map_err(|code| value("classes", class, code.into(), "a known kind and degree"))?;
            let (track, end) = (first, first + class.count);
            first = end;
            next = class.key_count().saturating_mul(class.row_bytes).saturating_add(next);
            if class.count == 0 || end > segment.track_count {
                return Err(value(
                    "the tracks of a class",
                    track,
                    class.count,
                    "one or more of the segment's",
                ));
            }
            self.check_class(&class, &segment, &mut turns)?;
            if class.kind < kind {
                return Err(value(
                    "kinds",
                    track,
                    class.kind as usize,
                    "rotations, translations, scales, values",
                ));
            }
            if class.kind > kind {
                // Taking out what was put in, so that many short segments do not clear much for little.
                (kind_first..track).for_each(|track| seen.remove(segment.index(track)));
                (kind, kind_first) = (class.kind, track);
            }
            let (mut bits, mut next_index) = (0, 0);
            for track in track..end {
                let limit = match class.kind {
                    Kind::Values => value_tracks,
                    Kind::Scale => self.header.joint_count,
                    _ => self.header.joint_count + usize::from(self.has_motion()),
                };
                let index = segment.index(track);
                if index >= limit {
                    return Err(Error::Index { what: "tracks", at: track, found: index, count: limit });
                }
                if index < next_index {
                    return Err(value("tracks", track, index, "indices that rise within a class"));
                }
                next_index = index + 1;
                if !seen.insert(index) {
                    return Err(value(
                        "tracks",
                        track,
                        index,
                        "one of a kind for each joint or three values",
                    ));
                }
                let widths = segment.widths(track);
                // The root motion has no place in a pose: what a kernel makes of its bits goes nowhere, and nothing follows.
                let is_motion = class.kind != Kind::Values && index == self.header.joint_count;
                let (most, expected) = if is_motion || class.kind == Kind::Values {
                    (MAX_BITS, "24 bits a component at most")
                } else {
                    (JOINT_BITS, "20 bits a component of a joint at most")
                };
                if let Some(&wide) = widths.iter().find(|&&bits| bits > most) {
                    return Err(value("widths", track, wide as usize, expected));
                }
                bits += segment.total_width(track);
                if class.kind == Kind::Rotation && !turns_little(&segment, track, widths) {
                    return Err(value(
                        "rotations",
                        track,
                        index,
                        "a logarithm that is not out of all measure",
                    ));
                }
            }
            if bits.div_ceil(8) != class.row_bytes {
                let expected = "as many bytes as the widths take";
                return Err(value("the bytes of rows", track, class.row_bytes, expected));
            }
        }
        (kind_first..first).for_each(|track| seen.remove(segment.index(track)));
        if next != segment.records || first != segment.track_count {
            return Err(value(what, at, next, "as many rows and tracks as its classes have"));
        }
        // A motion goes by slerp, so that it can be asked for alone.
        let straight = segment.straight && (!segment.turns || self.has_motion());
        if segment.turns != turns.is_some() || straight {
            return Err(value(what, at, segment.turns.into(), "to say how its rotations go from key to key"));
        }
        Ok((from + segment.end(), from + window))
    }

    /// `turns` is how many intervals the linear rotations have, if there are any. They stand behind all other rotations.
    fn check_class(
        &self,
        class: &Class,
        segment: &Segment<'_>,
        turns: &mut Option<usize>,
    ) -> Result<(), Error> {
        let moves = class.degree != Degree::Constant;
        if (moves && self.header.frame_count == 0) || moves != (class.intervals > 0) {
            return Err(value("intervals", 0, class.intervals, "one or more, and none for constants"));
        }
        if !moves && class.row_bytes > 0 {
            return Err(value("the bytes of rows", 0, class.row_bytes, "none for constants"));
        }
        let is_turn = class.kind == Kind::Rotation && class.degree == Degree::Linear;
        if is_turn && !segment.turns {
            return Err(value("linear rotations", 0, class.intervals, "none, as the segment says"));
        }
        // Only one class has them, and it is the last one of rotations.
        if class.kind == Kind::Rotation && turns.is_some() {
            return Err(value(
                "linear rotations",
                0,
                class.intervals,
                "one class, behind all other rotations",
            ));
        }
        if is_turn {
            *turns = Some(class.intervals);
        }
        Ok(())
    }

    /// The bytes, as [`from_bytes`](Self::from_bytes) took them.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many joints the skeleton has that it is for.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.header.joint_count
    }

    /// The time of the first moment, in seconds. Clips need not start at 0.
    #[must_use]
    pub fn start(&self) -> f32 {
        self.header.start
    }

    /// The time of the last moment, in seconds.
    #[must_use]
    pub fn end(&self) -> f32 {
        self.header.end
    }

    /// Seconds from the first moment to the last.
    #[must_use]
    pub fn duration(&self) -> f32 {
        self.header.end - self.header.start
    }

    /// Frames in a second: the spacing that the encoder measured errors at. 0 for a single moment.
    #[must_use]
    pub fn rate(&self) -> f32 {
        let duration = f64::from(self.header.end) - f64::from(self.header.start);
        if duration > 0.0 { (self.header.frame_count as f64 / duration) as f32 } else { 0.0 }
    }

    /// How many frames follow the first one.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.header.frame_count
    }

    /// The distance in the skeleton's units that the encoder kept its errors under.
    #[must_use]
    pub fn budget(&self) -> f32 {
        self.header.budget
    }

    /// What the clip drives beside joints, each with its number of components.
    pub fn sets(&self) -> impl ExactSizeIterator<Item = (Target, usize)> + use<'a> {
        let clip = *self;
        (0..self.header.set_count).map(move |at| (clip.set_target(at), clip.set(at).2))
    }

    /// The tracks that are kept as they were authored, each with the seconds of its keys, as its only timeline. Allocates.
    pub fn authored(&self) -> impl Iterator<Item = (Vec<f32>, Track)> + use<'a> {
        let clip = *self;
        self.exacts().filter_map(move |exact| {
            let joint = u16::try_from(exact.index).ok();
            let target = match exact.kind? {
                Kind::Rotation => Target::Rotation(joint?),
                Kind::Translation => Target::Translation(joint?),
                Kind::Scale => Target::Scale(joint?),
                Kind::Values => clip.set_target(exact.index),
            };
            Some(exact.to_track(target))
        })
    }

    /// Whether the root's motion was taken out of the pose, for [`motion_at`](Self::motion_at) to be asked for.
    #[must_use]
    pub fn has_motion(&self) -> bool {
        self.header.flags & MOTION != 0
    }

    /// How many events the clip holds.
    #[must_use]
    pub fn event_count(&self) -> usize {
        self.header.event_count
    }

    /// An event, in the order of time: its seconds since the clip's start, and its name. `None` behind the last one.
    #[must_use]
    pub fn event(&self, at: usize) -> Option<(f32, &'a str)> {
        if at >= self.header.event_count {
            return None;
        }
        let from = self.events_place();
        let (seconds, end) = self.event_line(from, at);
        let begin = at.checked_sub(1).map_or(0, |before| self.event_line(from, before).1);
        let names = from + EVENT * self.header.event_count;
        let name = self.bytes.get(names + begin..names + end)?;
        Some((seconds, core::str::from_utf8(name).ok()?))
    }

    /// Where the events begin: behind the tracks that are kept as they were authored.
    fn events_place(&self) -> usize {
        let last = self.header.exact_count.checked_sub(1);
        last.map_or(self.header.tables_end(), |last| self.exact(last).end())
    }

    /// When an event is, and where its name ends in the names.
    fn event_line(&self, from: usize, at: usize) -> (f32, usize) {
        let line = from + EVENT * at;
        (f32::from_bits(u32_at(self.bytes, line)), u32_at(self.bytes, line + 4) as usize)
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Kind, name and components of a set.
    pub(crate) fn set(&self, at: usize) -> (u16, u32, usize) {
        let place = self.header.sets() + SET * at;
        (u16_at(self.bytes, place + 6), u32_at(self.bytes, place), u16_at(self.bytes, place + 4).into())
    }

    pub(crate) fn set_target(&self, at: usize) -> Target {
        let (kind, id, _) = self.set(at);
        match kind {
            0 => Target::Weights(id),
            1 => Target::Value(id),
            _ => Target::Quaternion(id),
        }
    }

    /// The set with this name, its first track, and its components.
    pub(crate) fn find_set(&self, target: Target) -> Option<(usize, usize, usize)> {
        let mut first = 0;
        for (at, (found, width)) in self.sets().enumerate() {
            if found == target {
                return Some((at, first, width));
            }
            first += set_tracks(found, width);
        }
        None
    }

    /// Where a segment's bytes begin.
    fn segment_place(&self, at: usize) -> usize {
        u32_at(self.bytes, self.header.segments() + 4 * at) as usize
    }

    /// A track that is kept as it was authored.
    pub(crate) fn exact(&self, at: usize) -> Authored<'a> {
        Authored::read(self.bytes, self.header.exacts() + EXACT * at)
    }

    /// The tracks that are kept as they were authored.
    pub(crate) fn exacts(&self) -> impl Iterator<Item = Authored<'a>> + use<'a> {
        let clip = *self;
        (0..self.header.exact_count).map(move |at| clip.exact(at))
    }

    /// The one for a joint or a set.
    pub(crate) fn exact_of(&self, kind: Kind, index: usize) -> Option<Authored<'a>> {
        let (mut low, mut high) = (0, self.header.exact_count);
        while low < high {
            let middle = low.midpoint(high);
            if self.exact(middle).target() < (Some(kind), index) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low < self.header.exact_count)
            .then(|| self.exact(low))
            .filter(|track| track.target() == (Some(kind), index))
    }

    /// Finds a moment; before the start and behind the end these hold.
    pub(crate) fn locate(&self, seconds: f64) -> Place<'a> {
        let header = &self.header;
        let (start, end) = (f64::from(header.start), f64::from(header.end));
        let since = seconds.clamp(start, end) - start;
        let frame = if since > 0.0 { since / (end - start) * header.frame_count as f64 } else { 0.0 };
        let segment = (frame as usize / header.segment_frames).min(header.segment_count - 1);
        let first = segment * header.segment_frames;
        let frames = (header.frame_count - first).min(header.segment_frames).max(1);
        let bytes = self.bytes.get(self.segment_place(segment)..).unwrap_or_default();
        Place {
            segment: Segment::new(bytes, header.index_bytes()),
            ratio: (frame - first as f64) / frames as f64,
        }
    }
}

/// A set of indices of two bytes.
struct Indices([u64; 1 << 10]);

impl Indices {
    /// Whether it was not there.
    fn insert(&mut self, index: usize) -> bool {
        let (word, bit) = (&mut self.0[index / 64 % (1 << 10)], 1 << (index % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn remove(&mut self, index: usize) {
        self.0[index / 64 % (1 << 10)] &= !(1 << (index % 64));
    }
}

/// Whether the logarithms of a track stay within what a decoder can take round: more than ten thousand turns.
fn turns_little(segment: &Segment<'_>, track: usize, widths: [u32; WIDTH]) -> bool {
    let step = f64::from(segment.step(track));
    (0..WIDTH).all(|c| {
        let most = f64::from(segment.offset(track, c)).abs() + f64::from(1_u32 << widths[c]);
        most * step < 65536.0
    })
}

#[cfg(test)]
mod tests;
