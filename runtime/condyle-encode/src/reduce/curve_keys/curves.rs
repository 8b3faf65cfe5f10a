//! Curves of a compressed clip in f64: their values at any time, and the times of their keys.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use condyle::clip::curve::Curve;
use condyle::clip::keys::{Span, component_at, value_at};
use condyle::clip::layout::{Class, Kind, MAX_LOG, Placed, Segment, WIDTH, segment_tracks};
use condyle::clip::spline::{Degree, Taps};
use condyle::clip::view::{ClipView, Place};
use condyle::clip::{Clip, Interpolation, Target, Track};
use condyle::skeleton::Skeleton;
use condyle_base::math::quats::{Quat64, conjugate, exp, log, near, product, rotate};
use condyle_base::math::vectors::normalize;
use condyle_base::order::sort_numbers;

/// Maximum number of intervals of a curve per frame of its segment. The encoder uses at most one.
const MAX_INTERVALS_A_FRAME: usize = 4;

const NO_TURN: Quat64 = [0.0, 0.0, 0.0, 1.0];

/// Curve in one segment.
#[derive(Debug, Clone, Copy)]
struct Piece {
    segment: usize,
    placed: Placed,
    track: usize,
    /// First bit of the track in each row.
    bit: usize,
}

/// All curves of a clip.
pub(super) struct Curves<'a> {
    clip: &'a Clip<'a>,
    view: ClipView<'a>,
    segments: Vec<Segment<'a>>,
    /// Curves of each track, in the order of their segments. In a segment without one, the track is at rest.
    pieces: BTreeMap<(Kind, usize), Vec<Piece>>,
    /// First and last time of each segment.
    ends: Vec<[f32; 2]>,
}

/// Keys that replace curves in some segments.
struct Held {
    segments: Range<usize>,
    times: Vec<f32>,
    track: Track,
}

/// Property of a joint, or a track that drives no joint.
pub(super) struct Property<'a> {
    pub(super) target: Target,
    /// Number of components of a value.
    pub(super) width: usize,
    /// Value without a track.
    pub(super) rest: Vec<f64>,
    curves: &'a Curves<'a>,
    /// Curves of three components each.
    parts: Vec<&'a [Piece]>,
    /// Rotation and translation of the root motion, if it moves this joint.
    motion: Option<[&'a [Piece]; 2]>,
    held: Option<Held>,
}

impl<'a> Curves<'a> {
    /// Finds all curves. `None` if a curve has far more keys than frames, which no encoder writes.
    pub(super) fn new(clip: &'a Clip<'a>) -> Option<Self> {
        let view = clip.view();
        let header = view.header();
        let segments: Vec<Segment<'a>> = (0..header.segment_count).map(|at| view.segment(at)).collect();
        let most = MAX_INTERVALS_A_FRAME * header.frame_count.min(header.segment_frames).max(1);
        let mut pieces: BTreeMap<(Kind, usize), Vec<Piece>> = BTreeMap::new();
        for (at, segment) in segments.iter().enumerate() {
            for placed in segment.classes() {
                let Class { kind, degree, intervals, count, .. } = placed.class;
                if degree != Degree::Constant && intervals > most {
                    return None;
                }
                let mut bit = 0;
                for track in placed.track..placed.track + count {
                    let piece = Piece { segment: at, placed, track, bit };
                    pieces.entry((kind, segment.index(track))).or_default().push(piece);
                    bit += if degree == Degree::Constant { 0 } else { segment.total_width(track) };
                }
            }
        }
        let seams: Vec<[f32; 2]> = view.seams().collect();
        let begin = |at: usize| at.checked_sub(1).map_or(header.start, |before| seams[before][1]);
        let end = |at: usize| seams.get(at).map_or(header.end, |seam| seam[0]);
        let ends = (0..=seams.len()).map(|at| [begin(at), end(at)]).collect();
        Some(Self { clip, view, segments, pieces, ends })
    }

    /// All properties that have curves, without those of which the clip `keeps` all keys. `None` if one of
    /// them is stepped in some segments.
    pub(super) fn properties(
        &'a self,
        skeleton: &Skeleton,
        keeps: impl Fn(Target) -> bool,
    ) -> Option<Vec<Property<'a>>> {
        let mut all = Vec::new();
        let joints = self.view.joint_count();
        for joint in 0..joints {
            let (at, rest) = (joint as u16, skeleton.rest().get(joint));
            let is_moved = self.view.has_motion() && skeleton.parent(at).is_none();
            let motion = || [Kind::Rotation, Kind::Translation].map(|kind| self.pieces(kind, joints));
            for (kind, target, rest) in [
                (Kind::Rotation, Target::Rotation(at), &rest.rotation[..]),
                (Kind::Translation, Target::Translation(at), &rest.translation[..]),
                (Kind::Scale, Target::Scale(at), &rest.scale[..]),
            ] {
                let (parts, held) = (vec![self.pieces(kind, joint)], self.held(kind, joint, target));
                let motion = (is_moved && kind != Kind::Scale).then(motion);
                if keeps(target) || (parts[0].is_empty() && held.is_none() && motion.is_none()) {
                    continue;
                }
                let (width, rest) = (rest.len(), rest.iter().map(|&v| v.into()).collect());
                all.push(Property { target, width, rest, curves: self, parts, motion, held });
            }
        }
        let mut first = 0;
        for (at, (target, width)) in self.clip.free_tracks().enumerate() {
            let count = segment_tracks(target, width);
            let parts = (first..first + count).map(|part| self.pieces(Kind::Free, part)).collect();
            first += count;
            if keeps(target) {
                continue;
            }
            let rest = if target.rotates() { NO_TURN.to_vec() } else { vec![0.0; width] };
            let held = self.held(Kind::Free, at, target);
            all.push(Property { target, width, rest, curves: self, parts, motion: None, held });
        }
        let is_stepped = |held: &Held| held.track.interpolation == Interpolation::Step;
        all.iter().all(|it| !it.held.as_ref().is_some_and(is_stepped)).then_some(all)
    }

    fn pieces(&self, kind: Kind, index: usize) -> &[Piece] {
        self.pieces.get(&(kind, index)).map_or(&[], Vec::as_slice)
    }

    fn held(&self, kind: Kind, index: usize, target: Target) -> Option<Held> {
        let found = self.view.fallback_of(kind, index)?;
        let segments = found.segments.clone().unwrap_or(0..self.segments.len());
        let (times, track) = found.to_track(target);
        Some(Held { segments, times, track })
    }

    fn turn(&self, pieces: &[Piece], place: Place) -> Quat64 {
        let Some(piece) = piece_in(pieces, place.segment) else { return NO_TURN };
        let (segment, class) = (&self.segments[place.segment], piece.placed.class);
        let taps = Taps::at(class.degree, class.intervals, place.ratio);
        let sum = |taps: &Taps| {
            let half = Curve::new(segment, &piece.placed, piece.track, piece.bit).sum(taps);
            exp(half.map(|v| v.clamp(-MAX_LOG, MAX_LOG)))
        };
        if class.degree != Degree::Linear || class.kind != Kind::Rotation {
            return sum(&taps);
        }
        let key = |first| sum(&Taps { first, count: 1, weights: [1.0, 0.0, 0.0, 0.0] });
        let (from, t) = (key(taps.first), taps.weights[1]);
        if t == 0.0 {
            return from;
        }
        let to = near(from, key(taps.first + 1));
        if segment.straight {
            let mut q = core::array::from_fn(|c| from[c] + (to[c] - from[c]) * t);
            normalize(&mut q);
            return q;
        }
        product(from, exp(log(product(conjugate(from), to)).map(|v| v * t)))
    }

    fn vector(&self, pieces: &[Piece], place: Place) -> [f64; WIDTH] {
        let Some(piece) = piece_in(pieces, place.segment) else { return [0.0; WIDTH] };
        let class = piece.placed.class;
        let taps = Taps::at(class.degree, class.intervals, place.ratio);
        Curve::new(&self.segments[place.segment], &piece.placed, piece.track, piece.bit).sum(&taps)
    }
}

impl Property<'_> {
    /// Number of segments.
    pub(super) fn segment_count(&self) -> usize {
        self.curves.segments.len()
    }

    /// Value at a time. Rotations have unit length.
    pub(super) fn value(&self, seconds: f64) -> Vec<f64> {
        let place = self.curves.view.locate(seconds);
        let first = self.parts.first().copied().unwrap_or_default();
        if let Some(held) = self.held.as_ref().filter(|held| held.segments.contains(&place.segment)) {
            let span = Span::find(&held.times, seconds, 0);
            let value = if self.target.rotates() {
                value_at::<4>(&held.track, span).to_vec()
            } else {
                (0..self.width).map(|c| component_at(&held.track, span, self.width, c)).collect()
            };
            return self.moved(value, place);
        }
        let value = match self.target {
            Target::Rotation(_) | Target::FreeRotation(_) => {
                let rest = core::array::from_fn(|c| self.rest[c]);
                let mut q = product(rest, self.curves.turn(first, place));
                normalize(&mut q);
                q.to_vec()
            }
            _ => {
                let parts = self.parts.iter().flat_map(|part| self.curves.vector(part, place));
                let sums = parts.zip(&self.rest).map(|(v, rest)| rest + v);
                sums.collect()
            }
        };
        self.moved(value, place)
    }

    /// Adds the root motion.
    fn moved(&self, value: Vec<f64>, place: Place) -> Vec<f64> {
        let Some([turns, ways]) = self.motion else { return value };
        let turn = self.curves.turn(turns, place);
        if self.target.rotates() {
            return product(turn, core::array::from_fn(|c| value[c])).to_vec();
        }
        let (way, local) = (self.curves.vector(ways, place), core::array::from_fn(|c| value[c]));
        rotate(turn, local).iter().zip(way).map(|(v, way)| v + way).collect()
    }

    /// Times at which the curves of a segment have keys, including both ends of the segment.
    pub(super) fn knots(&self, segment: usize) -> Vec<f64> {
        let [begin, end] = self.curves.ends[segment];
        let header = self.curves.view.header();
        let first = segment * header.segment_frames;
        let frames = header.frame_count.saturating_sub(first).min(header.segment_frames);
        let (from, to) = (f64::from(header.start), f64::from(header.end));
        let held = self.held.as_ref().filter(|held| held.segments.contains(&segment));
        let own: &[_] = if held.is_some() { &[] } else { &self.parts };
        let mut intervals: Vec<usize> = own
            .iter()
            .copied()
            .chain(self.motion.into_iter().flatten())
            .filter_map(|pieces| piece_in(pieces, segment))
            .filter(|piece| piece.placed.class.degree != Degree::Constant)
            .map(|piece| piece.placed.class.intervals)
            .collect();
        intervals.sort_unstable();
        intervals.dedup();
        let seconds = |part: f64| {
            let frame = first as f64 + part * frames as f64;
            from + frame / header.frame_count.max(1) as f64 * (to - from)
        };
        let even = intervals
            .iter()
            .flat_map(|&count| (1..count).map(move |key| key as f64 / count as f64))
            .map(seconds);
        let keyed = held.into_iter().flat_map(|held| held.times.iter().map(|&time| time.into()));
        let is_inside = |time: &f64| begin < *time as f32 && (*time as f32) < end;
        let mut knots: Vec<f64> = even.chain(keyed).filter(is_inside).collect();
        knots.extend([begin, end].map(f64::from));
        sort_numbers(&mut knots);
        knots.dedup();
        knots
    }

    /// Whether straight lines, or slerp, between the knots of a segment are its curves.
    pub(super) fn is_line(&self, segment: usize) -> bool {
        let is_held = self.held.as_ref().is_some_and(|held| held.segments.contains(&segment));
        let is_straight = |pieces: &[Piece]| {
            piece_in(pieces, segment).is_none_or(|Piece { placed: Placed { class, .. }, .. }| {
                match (class.degree, class.kind) {
                    (Degree::Constant, _) => true,
                    (Degree::Cubic, _) => class.intervals == 1 && !self.target.rotates(),
                    (Degree::Linear, Kind::Rotation) => !self.curves.segments[segment].straight,
                    (Degree::Linear, _) => !self.target.rotates(),
                }
            })
        };
        !is_held && self.motion.is_none() && self.parts.iter().all(|pieces| is_straight(pieces))
    }
}

fn piece_in(pieces: &[Piece], segment: usize) -> Option<&Piece> {
    Some(&pieces[pieces.binary_search_by_key(&segment, |piece| piece.segment).ok()?])
}
