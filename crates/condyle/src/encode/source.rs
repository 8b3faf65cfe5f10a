//! An authored clip at evenly spaced moments, in f64.

use alloc::vec::Vec;

use super::algebra::{Local, Quat, Vector};
use crate::math::normalize;
use crate::math::slerp_f64;
use crate::sample::{Span, hermite};
use crate::{Interpolation, RawClip, Skeleton, Target, Track};

/// What an authored clip says of one joint, if anything.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct JointTracks<'a> {
    pub(super) rotation: Option<&'a Track>,
    pub(super) translation: Option<&'a Track>,
    pub(super) scale: Option<&'a Track>,
}

/// The tracks of each joint.
pub(super) fn joint_tracks<'a>(clip: &'a RawClip, joints: usize) -> Vec<JointTracks<'a>> {
    let mut tracks = alloc::vec![JointTracks::default(); joints];
    for track in clip.tracks() {
        match track.target {
            Target::Rotation(j) => tracks[usize::from(j)].rotation = Some(track),
            Target::Translation(j) => tracks[usize::from(j)].translation = Some(track),
            Target::Scale(j) => tracks[usize::from(j)].scale = Some(track),
            Target::Weights(_) | Target::Value(_) => {}
        }
    }
    tracks
}

fn key<const N: usize>(track: &Track, key: usize) -> [f32; N] {
    track.values.get(key * N..).and_then(<[f32]>::first_chunk).copied().unwrap_or([0.0; N])
}

/// A track at rising moments.
struct Reader<'a> {
    track: &'a Track,
    times: &'a [f32],
    hint: usize,
}

impl<'a> Reader<'a> {
    fn new(clip: &'a RawClip, track: &'a Track) -> Self {
        Self { track, times: &clip.timelines()[track.timeline], hint: 0 }
    }

    /// The span of a moment that f32 need not hold.
    fn span(&mut self, seconds: f64) -> Span {
        let mut span = Span::find(self.times, seconds as f32, self.hint);
        self.hint = span.key;
        let from = f64::from(self.times[span.key]);
        match self.times.get(span.key + 1) {
            Some(&to) if seconds > from => {
                span.length = f64::from(to) - from;
                span.factor = ((seconds - from) / span.length).min(1.0);
            }
            _ => (span.length, span.factor) = (0.0, 0.0),
        }
        span
    }

    fn vector(&mut self, seconds: f64) -> Vector {
        let span = self.span(seconds);
        match self.track.interpolation {
            Interpolation::CubicSpline => core::array::from_fn(|c| hermite(self.track, span, 3, c)),
            kind => {
                let from = key::<3>(self.track, span.key).map(f64::from);
                if kind == Interpolation::Step || span.factor == 0.0 {
                    return from;
                }
                let to = key::<3>(self.track, span.key + 1).map(f64::from);
                core::array::from_fn(|c| from[c] + (to[c] - from[c]) * span.factor)
            }
        }
    }

    fn rotation(&mut self, seconds: f64) -> Quat {
        let span = self.span(seconds);
        let mut q = match self.track.interpolation {
            Interpolation::CubicSpline => core::array::from_fn(|c| hermite(self.track, span, 4, c)),
            kind => {
                let from = key::<4>(self.track, span.key);
                if kind == Interpolation::Linear && span.factor > 0.0 {
                    return slerp_f64(from, key::<4>(self.track, span.key + 1), span.factor);
                }
                from.map(f64::from)
            }
        };
        normalize(&mut q);
        q
    }
}

/// One component of a set of values at a moment.
pub(super) fn component(clip: &RawClip, track: &Track, component: usize, seconds: f64) -> f64 {
    let mut reader = Reader::new(clip, track);
    let width = track.width(reader.times.len());
    let span = reader.span(seconds);
    if track.interpolation == Interpolation::CubicSpline {
        return hermite(track, span, width, component);
    }
    let from = f64::from(track.values[span.key * width + component]);
    if track.interpolation == Interpolation::Step || span.factor == 0.0 {
        return from;
    }
    let to = f64::from(track.values[(span.key + 1) * width + component]);
    from + (to - from) * span.factor
}

/// The local transform of one joint at each of `moments`, which rise.
pub(super) fn joint(
    clip: &RawClip,
    skeleton: &Skeleton,
    joint: usize,
    tracks: &JointTracks<'_>,
    moments: &[f64],
) -> Vec<Local> {
    let rest = skeleton.rest().get(joint);
    let mut rotation = rest.rotation.map(f64::from);
    normalize(&mut rotation);
    let rest =
        Local { rotation, translation: rest.translation.map(f64::from), scale: rest.scale.map(f64::from) };
    let mut out = alloc::vec![rest; moments.len()];
    let mut fill = |track: Option<&Track>, put: &mut dyn FnMut(&mut Local, &mut Reader<'_>, f64)| {
        if let Some(track) = track {
            let mut reader = Reader::new(clip, track);
            for (local, &seconds) in out.iter_mut().zip(moments) {
                put(local, &mut reader, seconds);
            }
        }
    };
    fill(tracks.rotation, &mut |local, reader, seconds| local.rotation = reader.rotation(seconds));
    fill(tracks.translation, &mut |local, reader, seconds| local.translation = reader.vector(seconds));
    fill(tracks.scale, &mut |local, reader, seconds| local.scale = reader.vector(seconds));
    out
}
