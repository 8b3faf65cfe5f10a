//! Validation of the bytes of a clip: everything that sampling relies on is checked once.

use core::ops::Range;

use super::fallback::Counts;
use super::layout::{
    CHUNK, CHUNKS, Class, EVENT, FALLBACK, FREE_TRACK, HEADER, Header, JOINT_BITS, Kind, MAGIC, MAX_BITS,
    MAX_FRAMES, MAX_FREE_TRACKS, MAX_KEYS_A_BYTE, MAX_PLACES, MOTION, REQUIRED, SEGMENT, Segment, VERSION,
    WIDE, WIDTH, WINDOW, segment_tracks, value,
};
use super::spline::Degree;
use super::view::ClipView;
use condyle_base::bytes::{u16_at, u32_at};
use condyle_base::error::Error;

const WHAT: &str = "a clip";

/// Checks all bytes of a clip, so that [`ClipView`] can rely on them, and returns its header.
pub(super) fn header(bytes: &[u8]) -> Result<Header, Error> {
    if !bytes.starts_with(&MAGIC) {
        return Err(if bytes.len() < MAGIC.len() && MAGIC.starts_with(bytes) {
            Error::Truncated { what: WHAT, found: bytes.len(), needed: HEADER }
        } else {
            Error::Magic { what: WHAT }
        });
    }
    if bytes.len() < HEADER {
        return Err(Error::Truncated { what: WHAT, found: bytes.len(), needed: HEADER });
    }
    let version = u16_at(bytes, 4);
    if version != VERSION {
        return Err(Error::Version { what: WHAT, at: None, found: version, newest: VERSION });
    }
    let needed = u32_at(bytes, 8) as usize;
    if bytes.len() < needed {
        return Err(Error::Truncated { what: WHAT, found: bytes.len(), needed });
    }
    Error::check_len("the bytes of a clip", bytes.len(), needed)?;
    if Header::checksum(bytes) != Header::stored_checksum(bytes) {
        return Err(Error::Checksum { what: WHAT, at: None });
    }
    let header = Header::read(bytes);
    ClipView { bytes, header: &header }.check()?;
    Ok(header)
}

impl ClipView<'_> {
    fn check(&self) -> Result<(), Error> {
        self.check_header()?;
        self.check_chunks()?;
        let free_parts = self.check_free_tracks()?;
        let mut end = self.header.tables_end();
        let mut before = None;
        let Header { joint_count, free_track_count, segment_count, .. } = *self.header;
        let counts = Counts { joints: joint_count, free_tracks: free_track_count, segments: segment_count };
        for at in 0..self.header.fallback_count {
            let track = self.fallback_at(at);
            let free = |at| (self.free_target(at), self.free_track(at).2);
            end = track.check(at, end, counts, free, |at| self.fallback_at(at))?;
            if before >= Some(track.target()) {
                let expected = "one track per target, sorted by kind and index";
                return Err(value("fallback tracks", at, track.index, expected));
            }
            before = Some(track.target());
        }
        end = self.check_events(end)?;
        let (mut windows, mut seen, mut keys) = (end, Indices([0; _]), 0);
        for at in 0..self.header.segment_count {
            let window;
            (end, window) = self.check_segment(at, end, free_parts, &mut seen, &mut keys)?;
            windows = windows.max(window);
        }
        Error::check_len("the bytes of a clip", self.bytes.len(), end.max(windows))?;
        Ok(())
    }

    fn check_header(&self) -> Result<(), Error> {
        let header = &self.header;
        let floats = [header.start, header.end, header.budget];
        Error::check_finite("the header of a clip", &floats, 1)?;
        Error::check_finite("the duration of a clip", &[header.end - header.start], 1)?;
        if header.flags & !(MOTION | WIDE | CHUNKS) != 0 {
            return Err(value("the header of a clip", 6, header.flags.into(), "only known flags"));
        }
        if header.end < header.start || (header.end == header.start) != (header.frame_count == 0) {
            let expected = "frames exactly if the end is after the start";
            return Err(value("the header of a clip", 36, header.frame_count, expected));
        }
        self.check_places(header.joint_count)?;
        if header.segment_frames == 0 {
            return Err(value("the header of a clip", 22, 0, "at least one frame per segment"));
        }
        let needed = (header.segment_count.saturating_mul(4))
            .saturating_add(header.fallback_count.saturating_mul(FALLBACK))
            .saturating_add(header.free_track_count * FREE_TRACK + HEADER)
            .saturating_add(header.chunks);
        if needed > self.bytes.len() {
            return Err(Error::Truncated { what: "the tables of a clip", found: self.bytes.len(), needed });
        }
        Ok(())
    }

    /// Checks that no unknown chunk is required. Other unknown chunks are skipped. This version knows no
    /// chunks.
    fn check_chunks(&self) -> Result<(), Error> {
        let mut left = match self.header.chunks.checked_sub(4) {
            Some(length) => &self.bytes[HEADER + 4..][..length],
            None => return Ok(()),
        };
        let mut at = 0;
        while !left.is_empty() {
            let truncated =
                |needed| Error::Truncated { what: "the chunks of a clip", found: left.len(), needed };
            let (head, rest) = left.split_at_checked(CHUNK).ok_or(truncated(CHUNK))?;
            let (kind, length) = (u32_at(head, 0), u32_at(head, 4) as usize);
            if kind & REQUIRED != 0 {
                return Err(value(
                    "chunks of a clip",
                    at,
                    kind as usize,
                    "a chunk that this version supports",
                ));
            }
            left = rest.get(length..).ok_or(truncated(length.saturating_add(CHUNK)))?;
            at += 1;
        }
        Ok(())
    }

    /// Limits the frames times `count`, because decoding a whole clip allocates a value for each.
    fn check_places(&self, count: usize) -> Result<(), Error> {
        let limit = MAX_FRAMES.min(MAX_PLACES / count.max(1));
        let found = self.header.frame_count;
        if found > limit { Err(Error::TooMany { what: "frames", found, limit }) } else { Ok(()) }
    }

    /// Checks the free tracks. Returns the number of segment tracks that they take.
    fn check_free_tracks(&self) -> Result<usize, Error> {
        let mut tracks = 0;
        for at in 0..self.header.free_track_count {
            let (kind, _, width) = self.free_track(at);
            if kind > 2 {
                return Err(value("free tracks", at, kind.into(), "0, 1 or 2"));
            }
            let target = self.free_target(at);
            if width == 0 {
                // Its size would be 0, so the limits would not count it.
                return Err(value("free tracks", at, width, "at least one number"));
            }
            if target.rotates() && width != 4 {
                return Err(value("free tracks", at, width, "4 numbers for a rotation"));
            }
            tracks += segment_tracks(target, width);
        }
        if tracks > MAX_FREE_TRACKS {
            return Err(Error::TooMany { what: "free tracks", found: tracks, limit: MAX_FREE_TRACKS });
        }
        self.check_places(tracks)?;
        Ok(tracks)
    }

    /// Checks that event times and name ends ascend. The events begin at `from`; returns the end of the
    /// names.
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
            if !(next >= seconds && next <= self.duration() as f32) {
                return Err(Error::OutOfRange { what, at, needed: "within the clip and sorted by time" });
            }
            if name_end < end {
                return Err(value("the ends of event names", at, name_end, "at least the previous end"));
            }
            let needed = needed.saturating_add(name_end);
            let name = self.bytes.get(needed - (name_end - end)..needed);
            let name = name.ok_or(Error::Truncated { what: "event names", found, needed })?;
            core::str::from_utf8(name).map_err(|_| Error::NotText { what, at })?;
            (seconds, end) = (next, name_end);
        }
        Ok(needed + end)
    }

    /// Checks a segment that starts at `from`. Returns its end, and the end of its last window. Segments
    /// follow each other, so no byte is read twice.
    ///
    /// `seen` is empty before and after. `keys` counts the keys of all tracks.
    fn check_segment(
        &self,
        at: usize,
        from: usize,
        free_parts: usize,
        seen: &mut Indices,
        keys: &mut usize,
    ) -> Result<(usize, usize), Error> {
        let what = "segments";
        let (segment, window) = self.segment_at(at, from)?;
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
                let expected = "at least one track, within the segment";
                return Err(value("the tracks of a class", track, class.count, expected));
            }
            self.check_class(&class, &segment, &mut turns)?;
            *keys = class.key_count().saturating_mul(class.count).saturating_add(*keys);
            // Rows without bits take no bytes. Without a limit, a few bytes would unpack to many keys.
            let limit = MAX_KEYS_A_BYTE.saturating_mul(self.bytes.len());
            if *keys > limit {
                return Err(Error::TooMany { what: "keys of a clip", found: *keys, limit });
            }
            if class.kind < kind {
                let expected = "the order rotations, translations, scales, free tracks";
                return Err(value("kinds", track, class.kind as usize, expected));
            }
            if class.kind > kind {
                // Remove single indices: clearing the whole set for each short segment would be slower.
                (kind_first..track).for_each(|track| seen.remove(segment.index(track)));
                (kind, kind_first) = (class.kind, track);
            }
            self.check_tracks(&class, &segment, track..end, free_parts, seen)?;
        }
        (kind_first..first).for_each(|track| seen.remove(segment.index(track)));
        if next != segment.records || first != segment.track_count {
            return Err(value(what, at, next, "the rows and tracks that its classes declare"));
        }
        // The root motion uses slerp, so that it can be sampled alone.
        let straight = segment.straight && (!segment.turns || self.has_motion());
        if segment.turns != turns.is_some() || straight {
            return Err(value(what, at, segment.turns.into(), "flags that match its rotations"));
        }
        Ok((from + segment.end(), from + window))
    }

    /// Returns the segment that starts at `from` and the end of its last window, if the clip contains both.
    fn segment_at(&self, at: usize, from: usize) -> Result<(Segment<'_>, usize), Error> {
        let place = self.segment_place(at);
        let bytes = self.bytes.get(place..).filter(|_| place == from);
        let bytes = bytes.ok_or(value("segments", at, place, "the offset where the data before it ends"))?;
        if bytes.len() < SEGMENT {
            return Err(Error::Truncated { what: "a segment", found: bytes.len(), needed: SEGMENT });
        }
        let segment = Segment::new(bytes, self.header.index_bytes());
        if !(1..=3).contains(&segment.offset_bytes) {
            return Err(value("offset sizes", at, segment.offset_bytes, "1 to 3 bytes"));
        }
        // Kernels read a pair of records with one load. The windows of the rows end before the windows of the
        // records, because the rows come first.
        let window =
            segment.track_count.checked_sub(1).map_or(0, |last| segment.record(last).saturating_add(WINDOW));
        let needed = window.max(segment.end());
        if needed > bytes.len() {
            return Err(Error::Truncated { what: "a segment", found: bytes.len(), needed });
        }
        Ok((segment, window))
    }

    /// Checks the tracks of a class: ascending and unique indices, widths, and the bytes of a row.
    fn check_tracks(
        &self,
        class: &Class,
        segment: &Segment<'_>,
        tracks: Range<usize>,
        free_parts: usize,
        seen: &mut Indices,
    ) -> Result<(), Error> {
        let limit = match class.kind {
            Kind::Free => free_parts,
            Kind::Scale => self.header.joint_count,
            _ => self.header.joint_count + usize::from(self.has_motion()),
        };
        let (mut bits, mut next_index) = (0, 0);
        for track in tracks.clone() {
            let index = segment.index(track);
            if index >= limit {
                return Err(Error::Index { what: "tracks", at: track, found: index, count: limit });
            }
            if index < next_index {
                return Err(value("tracks", track, index, "ascending indices within a class"));
            }
            next_index = index + 1;
            if !seen.insert(index) {
                return Err(value(
                    "tracks",
                    track,
                    index,
                    "at most one track of a kind for each joint or three components",
                ));
            }
            let widths = segment.widths(track);
            // The root motion has no joint in a pose. Kernels discard it, and no joint depends on it.
            let is_motion = class.kind != Kind::Free && index == self.header.joint_count;
            let (most, expected) = if is_motion || class.kind == Kind::Free {
                (MAX_BITS, "at most 24 bits per component")
            } else {
                (JOINT_BITS, "at most 20 bits per component of a joint")
            };
            if let Some(&wide) = widths.iter().find(|&&bits| bits > most) {
                return Err(value("widths", track, wide as usize, expected));
            }
            bits += segment.total_width(track);
            if class.kind == Kind::Rotation && !turns_little(segment, track, widths) {
                return Err(value("rotations", track, index, "a rotation logarithm below 65536"));
            }
        }
        if bits.div_ceil(8) != class.row_bytes {
            let expected = "the number of bytes that the widths require";
            return Err(value("the bytes of rows", tracks.start, class.row_bytes, expected));
        }
        Ok(())
    }

    /// Checks a class. `turns` is the number of intervals of the linear rotations, if there are any. They
    /// come after all other rotations.
    fn check_class(
        &self,
        class: &Class,
        segment: &Segment<'_>,
        turns: &mut Option<usize>,
    ) -> Result<(), Error> {
        let moves = class.degree != Degree::Constant;
        if (moves && self.header.frame_count == 0) || moves != (class.intervals > 0) {
            return Err(value("intervals", 0, class.intervals, "at least one, or 0 for constants"));
        }
        if !moves && class.row_bytes > 0 {
            return Err(value("the bytes of rows", 0, class.row_bytes, "0 for constants"));
        }
        let is_turn = class.kind == Kind::Rotation && class.degree == Degree::Linear;
        if is_turn && !segment.turns {
            return Err(value(
                "linear rotations",
                0,
                class.intervals,
                "no linear rotations, as the segment declares",
            ));
        }
        // Only one class has linear rotations, and it is the last class of rotations.
        if class.kind == Kind::Rotation && turns.is_some() {
            return Err(value(
                "linear rotations",
                0,
                class.intervals,
                "one class, after all other rotations",
            ));
        }
        if is_turn {
            *turns = Some(class.intervals);
        }
        Ok(())
    }
}

/// A set of two-byte indices.
struct Indices([u64; 1 << 10]);

impl Indices {
    /// Adds an index. Returns whether it is new.
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

/// Returns whether the logarithms of a track are in the range that the decoder can reduce, over ten thousand
/// turns.
fn turns_little(segment: &Segment<'_>, track: usize, widths: [u32; WIDTH]) -> bool {
    let step = f64::from(segment.step(track));
    (0..WIDTH).all(|c| {
        let most = f64::from(segment.offset(track, c)).abs() + f64::from(1_u32 << widths[c]);
        most * step < 65536.0
    })
}
