//! Writes the bytes of a clip.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use super::fallback::{IN_PART, SHARED, SHORTS, from_short, interpolation_code, to_short};
use super::layout::{
    Class, EVENT, FALLBACK, FREE_TRACK, HEADER, Header, Kind, MAGIC, SEGMENT, STRAIGHT, TURNS, VERSION,
    WINDOW, segment_tracks,
};
use super::spline::Degree;
use super::{Interpolation, RawClip, Target, Track};
use crate::play::Event;
use condyle_base::error::Error;
use condyle_base::order;

/// Approximate size in bytes of a curve's record, without its keys: index, step, widths and offsets.
pub const RECORD: usize = 11;

/// A track of one segment, ready to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    pub kind: Kind,
    /// Index of the joint, or of the group of three components among those of all free tracks.
    pub index: usize,
    pub degree: Degree,
    pub intervals: usize,
    pub code: u8,
    /// Keys in units of the step; a single key for a constant.
    pub keys: Vec<[i32; 3]>,
}

impl Curve {
    /// Returns the minimum of each component, and the number of bits for the offsets from it.
    pub fn range(&self) -> ([i32; 3], [u32; 3]) {
        let (mut least, mut bits) = ([0; 3], [0; 3]);
        for c in 0..3 {
            let numbers = self.keys.iter().map(|key| key[c]);
            least[c] = numbers.clone().min().unwrap_or(0);
            let most = numbers.max().unwrap_or(0);
            bits[c] = u32::BITS - most.abs_diff(least[c]).leading_zeros();
        }
        (least, bits)
    }

    pub fn bits(&self) -> usize {
        self.range().1.iter().sum::<u32>() as usize * self.keys.len()
    }
}

/// A track that drives no joint: a scalar, vector or rotation track, or the morph weights of a node.
#[derive(Debug, Clone, Copy)]
pub struct FreeTrack {
    pub target: Target,
    pub width: usize,
}

/// Contents of a clip.
pub struct Parts<'a> {
    pub header: Header,
    pub free_tracks: &'a [FreeTrack],
    pub fallback: &'a [Kept<'a>],
    pub events: &'a [Event],
    pub segments: &'a [Curves],
}

/// A fallback track.
#[derive(Debug, Clone)]
pub struct Kept<'a> {
    pub track: &'a Track,
    /// Index among the free tracks, for a free track.
    pub free_index: usize,
    pub part: Option<Part>,
}

/// Segments that use the fallback track, if other segments have a curve instead.
#[derive(Debug, Clone)]
pub struct Part {
    pub segments: Range<usize>,
    /// Indices of the keys that these segments need.
    pub keys: Vec<usize>,
}

impl Kept<'_> {
    fn keys(&self, times: &[f32]) -> Vec<usize> {
        self.part.as_ref().map_or_else(|| (0..times.len()).collect(), |part| part.keys.clone())
    }

    /// Returns the size in bytes, with times that are shared with another track or not.
    fn size(&self, times: &[f32], has_shared_times: bool) -> usize {
        let (keys, values) = (self.keys(times).len(), self.track.values.len() / times.len().max(1));
        let of_times = if has_shared_times { 4 } else { 4 * keys };
        let of_values = if self.is_short() { 2 } else { 4 } * keys * values;
        FALLBACK + of_times + of_values + if self.part.is_some() { 8 } else { 0 }
    }

    /// Returns whether 16-bit integers hold all values without loss.
    fn is_short(&self) -> bool {
        let Track { target, interpolation, values, .. } = self.track;
        // An integer has no negative zero.
        let holds = |&v: &f32| rounded(v).to_bits() == v.to_bits();
        target.rotates() && *interpolation != Interpolation::CubicSpline && values.iter().all(holds)
    }

    /// Returns the target, in the codes of the format.
    fn target(&self) -> (Kind, usize) {
        match self.track.target {
            Target::Rotation(j) => (Kind::Rotation, j.into()),
            Target::Translation(j) => (Kind::Translation, j.into()),
            Target::Scale(j) => (Kind::Scale, j.into()),
            Target::Weights(_) | Target::Vector(_) | Target::FreeRotation(_) => (Kind::Free, self.free_index),
        }
    }
}

/// Number of curves for the free tracks, each with at most three components.
pub fn free_parts(free_tracks: &[FreeTrack]) -> usize {
    free_tracks.iter().map(|free| segment_tracks(free.target, free.width)).sum()
}

/// Returns the nearest number that a 16-bit integer can represent.
pub fn rounded(v: f32) -> f32 {
    from_short(to_short(v.into()))
}

/// Returns for each track in file order the index of an earlier track with the same times, if there is one.
fn owners(clip: &RawClip, in_order: &[&Kept<'_>]) -> Vec<Option<usize>> {
    let mut known = BTreeMap::new();
    let owner = |(at, kept): (usize, &&Kept<'_>)| {
        let times = &clip.timelines()[kept.track.timeline];
        let bits: Vec<u32> = kept.keys(times).iter().map(|&key| times[key].to_bits()).collect();
        // The index of an owner takes as many bytes as one time.
        let owner = (bits.len() > 1).then(|| *known.entry(bits).or_insert(at))?;
        (owner != at).then_some(owner)
    };
    in_order.iter().enumerate().map(owner).collect()
}

fn in_order<'k, 'a>(kept: &'k [Kept<'a>]) -> Vec<&'k Kept<'a>> {
    let mut in_order: Vec<_> = kept.iter().collect();
    order::sort_by(&mut in_order, |kept| {
        let (kind, index) = kept.target();
        (kind as u64) << 32 | index as u64
    });
    in_order
}

/// Returns the target and the size in bytes of each of these tracks.
pub fn sizes<'k>(clip: &'k RawClip, kept: &'k [Kept<'_>]) -> impl Iterator<Item = (Target, usize)> + use<'k> {
    let in_order = in_order(kept);
    let owners = owners(clip, &in_order);
    in_order.into_iter().zip(owners).map(|(kept, owner)| {
        let times = &clip.timelines()[kept.track.timeline];
        (kept.track.target, kept.size(times, owner.is_some()))
    })
}

/// Returns the size in bytes of a clip without curves, not counting the tracks of [`sizes`].
pub fn bytes_without_curves(header: &Header, events: &[Event]) -> usize {
    let events = events.iter().map(|event| EVENT + event.name.len()).sum::<usize>();
    header.fallback_tracks() + events + SEGMENT * header.segment_count
}

/// The curves of a segment.
#[derive(Debug, Clone, Default)]
pub struct Curves {
    pub curves: Vec<Curve>,
    /// Whether linear rotation tracks interpolate by nlerp.
    pub nlerp: bool,
}

/// Writes a clip.
///
/// # Errors
/// [`Error::TooMany`] for more than the format can hold.
pub fn write(clip: &RawClip, parts: &Parts<'_>) -> Result<Vec<u8>, Error> {
    let header = &parts.header;
    let mut out = alloc::vec![0; header.tables_end()];
    for (at, track) in parts.free_tracks.iter().enumerate() {
        let (kind, id) = match track.target {
            Target::Vector(id) => (1_u16, id),
            Target::FreeRotation(id) => (2, id),
            Target::Weights(id) => (0, id),
            _ => (0, 0),
        };
        let width =
            u16::try_from(track.width).map_err(|_| too_many("components of a free track", track.width))?;
        let line = header.free_tracks() + FREE_TRACK * at;
        put(&mut out, line, &id.to_le_bytes());
        put(&mut out, line + 4, &width.to_le_bytes());
        put(&mut out, line + 6, &kind.to_le_bytes());
    }
    let in_order = in_order(parts.fallback);
    for (at, (kept, owner)) in in_order.iter().zip(owners(clip, &in_order)).enumerate() {
        let place = length(&out)?;
        authored_track(clip, kept, owner, header.fallback_tracks() + FALLBACK * at, place, &mut out);
    }
    let mut name_end = 0;
    for event in parts.events {
        name_end += event.name.len();
        out.extend((event.seconds as f32).to_le_bytes());
        out.extend((name_end as u32).to_le_bytes());
    }
    parts.events.iter().for_each(|event| out.extend(event.name.as_bytes()));
    let mut least = out.len();
    for (at, curves) in parts.segments.iter().enumerate() {
        let place = length(&out)?;
        put(&mut out, header.segments() + 4 * at, &place.to_le_bytes());
        least = least.max(segment(curves, header.index_bytes(), &mut out)?);
    }
    // The decoder reads fixed-size windows, which must not reach beyond the end.
    out.resize(out.len().max(least), 0);
    head(parts, &mut out)?;
    Ok(out)
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    out[at..at + bytes.len()].copy_from_slice(bytes);
}

fn too_many(what: &'static str, found: usize) -> Error {
    Error::TooMany { what, found, limit: u16::MAX.into() }
}

fn length(out: &[u8]) -> Result<u32, Error> {
    let limit = u32::MAX as usize;
    u32::try_from(out.len()).map_err(|_| Error::TooMany { what: "bytes of a clip", found: out.len(), limit })
}

fn head(parts: &Parts<'_>, out: &mut [u8]) -> Result<(), Error> {
    let Header { joint_count, segment_frames, frame_count, fingerprint, rest_fingerprint, .. } = parts.header;
    let Header { flags, start, end, budget, free_track_count, event_count, fallback_count, .. } =
        parts.header;
    let short = |what, n: usize| u16::try_from(n).map_err(|_| too_many(what, n));
    let long = |n: usize| n as u32;
    let whole = length(out)?;
    put(out, 0, &MAGIC);
    put(out, 4, &VERSION.to_le_bytes());
    put(out, 6, &flags.to_le_bytes());
    put(out, 8, &whole.to_le_bytes());
    put(out, 20, &short("joints", joint_count)?.to_le_bytes());
    put(out, 22, &short("frames of a segment", segment_frames)?.to_le_bytes());
    put(out, 24, &long(frame_count).to_le_bytes());
    put(out, 28, &fingerprint.to_le_bytes());
    for (i, float) in [start, end, budget].into_iter().enumerate() {
        put(out, 32 + 4 * i, &float.to_le_bytes());
    }
    put(out, 44, &short("free tracks", free_track_count)?.to_le_bytes());
    put(out, 46, &short("events", event_count)?.to_le_bytes());
    put(out, 48, &long(fallback_count).to_le_bytes());
    put(out, 52, &rest_fingerprint.to_le_bytes());
    let sum = Header::checksum(out);
    put(out, Header::CHECKSUM, &sum.to_le_bytes());
    const { assert!(HEADER == 56) };
    Ok(())
}

/// Writes a fallback track: its segments, its times or the track that owns them, then its values.
fn authored_track(
    clip: &RawClip,
    kept: &Kept<'_>,
    owner: Option<usize>,
    line: usize,
    place: u32,
    out: &mut Vec<u8>,
) {
    let track = kept.track;
    let times = &clip.timelines()[track.timeline];
    let keys = kept.keys(times);
    let values = track.values.len() / times.len().max(1);
    let (kind, index) = kept.target();
    let in_part = if kept.part.is_some() { IN_PART } else { 0 };
    let shared = if owner.is_some() { SHARED } else { 0 };
    let shorts = if kept.is_short() { SHORTS } else { 0 };
    put(out, line, &[kind as u8, interpolation_code(track.interpolation) | in_part | shared | shorts]);
    put(out, line + 2, &(track.width(times.len()) as u16).to_le_bytes());
    put(out, line + 4, &(index as u32).to_le_bytes());
    put(out, line + 8, &(keys.len() as u32).to_le_bytes());
    put(out, line + 12, &place.to_le_bytes());
    if let Some(Part { segments, .. }) = &kept.part {
        [segments.start, segments.end].into_iter().for_each(|at| out.extend((at as u32).to_le_bytes()));
    }
    match owner {
        Some(owner) => out.extend((owner as u32).to_le_bytes()),
        None => keys.iter().for_each(|&key| out.extend(times[key].to_le_bytes())),
    }
    for value in keys.iter().flat_map(|&key| &track.values[key * values..][..values]) {
        match shorts {
            SHORTS => out.extend(to_short((*value).into()).to_le_bytes()),
            _ => out.extend(value.to_le_bytes()),
        }
    }
}

/// Returns the number of bytes of a signed number.
fn signed_bytes(number: i32) -> usize {
    let bits = u32::BITS - (number ^ (number >> 31)).leading_zeros() + 1;
    bits.div_ceil(8) as usize
}

/// Writes a segment. Returns the minimum length of the clip for which no decoder window reaches beyond the
/// end.
fn segment(Curves { curves, nlerp }: &Curves, index_bytes: usize, out: &mut Vec<u8>) -> Result<usize, Error> {
    // Sort in decoding order: by kind, then by class, then by index.
    let mut order: Vec<&Curve> = curves.iter().collect();
    order.sort_by_key(|c| {
        (c.kind, c.degree != Degree::Constant, c.degree == Degree::Linear, c.intervals, c.index)
    });
    let same = |a: &&Curve, b: &&Curve| (a.kind, a.degree, a.intervals) == (b.kind, b.degree, b.intervals);
    let classes: Vec<&[&Curve]> = order.chunk_by(same).collect();
    let ranges: Vec<([i32; 3], [u32; 3])> = order.iter().map(|curve| curve.range()).collect();
    let offset_bytes =
        ranges.iter().flat_map(|(least, _)| least).map(|&n| signed_bytes(n)).max().unwrap_or(1);
    let class_count = u8::try_from(classes.len()).map_err(|_| too_many("classes", classes.len()))?;
    let short = |what, n: usize| u16::try_from(n).map_err(|_| too_many(what, n));
    let head = out.len();
    let turns = order.iter().any(|curve| curve.kind == Kind::Rotation && curve.degree == Degree::Linear);
    let ways = match (turns, nlerp) {
        (false, _) => 0,
        (true, false) => TURNS,
        (true, true) => TURNS | STRAIGHT,
    };
    out.extend([class_count, offset_bytes as u8 | ways]);
    out.extend(short("tracks", order.len())?.to_le_bytes());
    out.extend([0; 4]);
    let mut track = 0;
    for curves in &classes {
        let bits: u32 = ranges[track..track + curves.len()].iter().flat_map(|(_, bits)| bits).sum();
        track += curves.len();
        let first = curves[0];
        let class = Class {
            kind: first.kind,
            degree: first.degree,
            intervals: first.intervals,
            count: curves.len(),
            row_bytes: bits.div_ceil(8) as usize,
        };
        out.push(class.code());
        out.extend(short("intervals", class.intervals)?.to_le_bytes());
        out.extend(short("bytes of a row", class.row_bytes)?.to_le_bytes());
        out.extend(short("tracks", class.count)?.to_le_bytes());
    }
    let rows = out.len();
    let mut least = head + SEGMENT;
    track = 0;
    for curves in &classes {
        let ranges = &ranges[track..track + curves.len()];
        track += curves.len();
        if curves[0].degree != Degree::Constant {
            for key in 0..=curves[0].intervals {
                row(curves, ranges, key, out);
            }
        }
    }
    let row_bytes = (out.len() - rows) as u32;
    put(out, head + 4, &row_bytes.to_le_bytes());
    for (curve, (offsets, bits)) in order.iter().zip(&ranges) {
        least = out.len() + WINDOW;
        let [low, high] = (curve.index as u16).to_le_bytes();
        out.extend([curve.code, bits[0] as u8, bits[1] as u8, bits[2] as u8, low]);
        for offset in offsets {
            out.extend(&offset.to_le_bytes()[..offset_bytes]);
        }
        if index_bytes > 1 {
            out.push(high);
        }
    }
    Ok(least.max(out.len()))
}

/// Writes one row: the same key of each curve of a class, packed bit by bit.
fn row(curves: &[&Curve], ranges: &[([i32; 3], [u32; 3])], key: usize, out: &mut Vec<u8>) {
    let (mut word, mut filled) = (0_u64, 0);
    for (curve, (least, bits)) in curves.iter().zip(ranges) {
        for c in 0..3 {
            word |= u64::from(curve.keys[key][c].abs_diff(least[c])) << filled;
            filled += bits[c];
            while filled >= 8 {
                out.push(word as u8);
                word >>= 8;
                filled -= 8;
            }
        }
    }
    if filled > 0 {
        out.push(word as u8);
    }
}
