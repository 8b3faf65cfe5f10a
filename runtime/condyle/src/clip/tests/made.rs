//! Clips of random tracks, unlike any encoder's, to test the code that reads clips.

use alloc::vec::Vec;
use std::string::ToString;

use crate::clip::layout::{Header, JOINT_BITS, Kind, MOTION, WIDE, step};
use crate::clip::spline::Degree;
use crate::clip::write::{self, Curve, Curves, FreeTrack, Kept, Part, Parts, free_parts};
use crate::clip::{RawClip, Target, Track};
use crate::play::Event;
use crate::testing::Random;

/// Parameters of a generated clip.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    pub(crate) joints: usize,
    /// Number of frames after the first one; 0 for a clip without duration.
    pub(crate) frames: usize,
    pub(crate) segment_frames: usize,
    /// Maximum number of bits of a component.
    pub(crate) bits: u32,
    pub(crate) motion: bool,
    pub(crate) fallback: bool,
    /// Whether some fallback tracks are used in some segments only.
    pub(crate) in_part: bool,
    /// Number of components of each free track.
    pub(crate) free_widths: &'static [usize],
}

/// Selects the rotations that are linear, interpolated from key to key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turning {
    /// Some of all tracks, including the root motion.
    Any,
    /// Only the root motion.
    MotionOnly,
    /// Like `Any`, but all keys of a linear joint track are equal, so they take no bits.
    InPlace,
}

/// Maximum magnitude of the numbers in a generated clip, except rotations.
pub(crate) const MADE_SIZE: f64 = 4.0;

/// Returns a random curve whose keys and offsets have at most the magnitude `size`.
fn curve(
    random: &mut Random,
    kind: Kind,
    index: usize,
    shape: (Degree, usize),
    bits: u32,
    size: f64,
) -> Curve {
    let (degree, intervals) = shape;
    // Some components use the maximum number of bits.
    let is_full = random.below(3) == 0;
    let bits: [u32; 3] =
        core::array::from_fn(|_| if is_full { bits } else { random.below(bits as usize + 1) as u32 });
    let most = 1 << bits.iter().max().expect("three");
    let code = (0..=255_u8).rev().find(|&code| f64::from(step(code)) * f64::from(most) <= size / 2.0);
    let base: [i32; 3] = core::array::from_fn(|_| random.below(2 * most as usize) as i32 - most);
    let base = base.map(|v| v / 2);
    let keys = if degree == Degree::Constant { 1 } else { intervals + 1 };
    // The first key is the minimum, so that the offset of the keys fits three bytes.
    let key =
        |at| core::array::from_fn(|c| base[c] + if at == 0 { 0 } else { random.below(1 << bits[c]) as i32 });
    Curve { kind, index, degree, intervals, code: code.unwrap_or(0), keys: (0..keys).map(key).collect() }
}

/// Changes the curves of a segment with the given numbers of joints and frames to match `turning`.
fn turn(
    random: &mut Random,
    curves: &mut Vec<Curve>,
    (joints, frames): (usize, usize),
    made: Made,
    turning: Turning,
) {
    if turning == Turning::Any || frames == 0 {
        return;
    }
    if turning == Turning::MotionOnly {
        curves.retain(|curve| (curve.kind, curve.index) != (Kind::Rotation, joints));
    }
    for curve in curves.iter_mut().filter(|curve| curve.kind == Kind::Rotation && curve.index < joints) {
        let first = curve.keys[0];
        match (turning, curve.degree) {
            (Turning::MotionOnly, Degree::Linear) => {
                (curve.degree, curve.intervals) = (Degree::Constant, 0);
                curve.keys.truncate(1);
            }
            (Turning::InPlace, Degree::Linear) => curve.keys.fill(first),
            _ => {}
        }
    }
    if turning == Turning::MotionOnly {
        let shape = (Degree::Linear, frames);
        curves.push(curve(random, Kind::Rotation, joints, shape, made.bits, 0.4));
    }
}

/// Returns the clip with the values of every other rotation track rounded to 16-bit integers.
fn in_shorts(clip: &RawClip) -> RawClip {
    let mut tracks = clip.tracks().to_vec();
    for track in tracks.iter_mut().filter(|track| track.target.rotates()).step_by(2) {
        track.values.iter_mut().for_each(|v| *v = write::rounded(*v));
    }
    RawClip::new(clip.name().into(), clip.timelines().to_vec(), tracks).expect("the same tracks")
}

/// Returns the bytes of a random clip with curves of all kinds and degrees, and fallback tracks.
pub(crate) fn made(random: &mut Random, made: Made) -> Vec<u8> {
    made_turning(random, made, Turning::Any)
}

/// Like [`made`], with a choice of the linear rotations.
pub(crate) fn made_turning(random: &mut Random, made: Made, turning: Turning) -> Vec<u8> {
    let Made { joints, frames, segment_frames, motion, .. } = made;
    let segment_count = frames.div_ceil(segment_frames).max(1);
    let target = |at: usize| match (made.free_widths[at], at % 2) {
        (4, _) => Target::FreeRotation(at as u32),
        (_, 0) => Target::Weights(at as u32),
        _ => Target::Vector(at as u32),
    };
    let free_tracks: Vec<FreeTrack> = made
        .free_widths
        .iter()
        .enumerate()
        .map(|(at, &width)| FreeTrack { target: target(at), width })
        .collect();
    let free_parts = free_parts(&free_tracks);
    let mut segments = Vec::new();
    for at in 0..segment_count {
        let own = (frames - at * segment_frames).min(segment_frames);
        let mut curves = Vec::new();
        let shape = |random: &mut Random| match random.below(6) {
            _ if own == 0 => (Degree::Constant, 0),
            0 => (Degree::Constant, 0),
            1 | 2 => (Degree::Linear, own),
            pick => (Degree::Cubic, [1, 2, 3, own, own.div_ceil(2), 2 * own][pick]),
        };
        for joint in 0..joints + usize::from(motion) {
            let bits = if joint < joints { made.bits.min(JOINT_BITS) } else { made.bits };
            // Neighbouring keys of linear rotations must be less than half a turn apart.
            let (degree, intervals) = shape(random);
            let size = [0.4, 1.5, 12.0][if degree == Degree::Linear { 0 } else { random.below(3) }];
            if random.below(8) > 0 {
                curves.push(curve(random, Kind::Rotation, joint, (degree, intervals), bits, size));
            }
            for (kind, rare) in [(Kind::Translation, 3), (Kind::Scale, 6)] {
                if random.below(rare) == 0 && (joint < joints || kind == Kind::Translation) {
                    let shape = shape(random);
                    curves.push(curve(random, kind, joint, shape, bits, MADE_SIZE));
                }
            }
        }
        turn(random, &mut curves, (joints, own), made, turning);
        for track in 0..free_parts {
            if random.below(5) > 0 {
                let shape = shape(random);
                curves.push(curve(random, Kind::Free, track, shape, made.bits, MADE_SIZE));
            }
        }
        segments.push(curves);
    }
    let fallback = in_shorts(&random.clip(joints, 6));
    let mut kept: Vec<Kept<'_>> = Vec::new();
    if made.fallback {
        let is_joints = |t: &&Track| !matches!(t.target, Target::Weights(_));
        let keep = |track, free_index| Kept { track, free_index, part: None };
        kept.extend(fallback.tracks().iter().filter(is_joints).map(|track| {
            let mut part = None;
            if made.in_part && random.below(3) > 0 {
                let begin = random.below(segment_count);
                let end = begin + 1 + random.below(segment_count - begin);
                let last = fallback.timelines()[track.timeline].len();
                part = Some(Part { segments: begin..end, keys: (random.below(last)..last).collect() });
            }
            Kept { part, ..keep(track, 0) }
        }));
        let weights = fallback.tracks().iter().find(|t| matches!(t.target, Target::Weights(_)));
        let wide = made.free_widths.iter().position(|&width| width == 5);
        kept.extend(weights.zip(wide).map(|(track, place)| keep(track, place)));
        kept.retain(|_| random.below(2) == 0);
    }
    let count = random.below(4);
    let events: Vec<Event> = (0..count)
        .map(|at| {
            let seconds = if frames == 0 { 0.0 } else { at as f32 / 4.0 };
            Event { seconds: seconds.into(), name: ["", "step", "größer", "剣"][at].to_string() }
        })
        .collect();
    let is_wide = joints + usize::from(motion) > 255 || free_parts > 255;
    let start = random.range(-2.0, 2.0);
    let header = Header {
        flags: if motion { MOTION } else { 0 } | if is_wide { WIDE } else { 0 },
        joint_count: joints,
        segment_frames,
        frame_count: frames,
        segment_count,
        fingerprint: 0,
        rest_fingerprint: 0,
        chunks: 0,
        start,
        end: if frames == 0 { start } else { start + random.range(1.0, 5.0) },
        budget: 1e-3,
        free_track_count: free_tracks.len(),
        event_count: events.len(),
        fallback_count: kept.len(),
    };
    let segments: Vec<Curves> = segments
        .into_iter()
        .map(|curves| Curves { curves, nlerp: !motion && random.below(2) == 0 })
        .collect();
    let parts =
        Parts { header, free_tracks: &free_tracks, fallback: &kept, events: &events, segments: &segments };
    write::write(&fallback, &parts).expect("a clip of moderate size")
}
