//! Samples an authored clip in f64.

use alloc::vec::Vec;

use condyle::clip::keys::{Span, component_at, value_at};
use condyle::clip::{Interpolation, RawClip, Target, Track};
use condyle::skeleton::Skeleton;
use condyle_base::math::Transform64;
use condyle_base::math::quats::{Quat64, Slerp};
use condyle_base::math::vectors::normalize;

/// Authored tracks of one joint.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JointTracks<'a> {
    pub(crate) rotation: Option<&'a Track>,
    pub(crate) translation: Option<&'a Track>,
    pub(crate) scale: Option<&'a Track>,
}

/// Tracks of each joint.
pub(crate) fn joint_tracks<'a>(clip: &'a RawClip, joints: usize) -> Vec<JointTracks<'a>> {
    let mut tracks = alloc::vec![JointTracks::default(); joints];
    for track in clip.tracks() {
        match track.target {
            Target::Rotation(j) => tracks[usize::from(j)].rotation = Some(track),
            Target::Translation(j) => tracks[usize::from(j)].translation = Some(track),
            Target::Scale(j) => tracks[usize::from(j)].scale = Some(track),
            _ => {}
        }
    }
    tracks
}

/// Evaluates a track at ascending times.
struct Reader<'a> {
    track: &'a Track,
    times: &'a [f32],
    hint: usize,
    /// Slerp between the keys of the last time, and the first of these keys.
    slerp: Option<(usize, Slerp)>,
}

impl<'a> Reader<'a> {
    fn new(clip: &'a RawClip, track: &'a Track) -> Self {
        Self { track, times: &clip.timelines()[track.timeline], hint: 0, slerp: None }
    }

    fn at<const N: usize>(&mut self, seconds: f64) -> [f64; N] {
        let span = Span::find(self.times, seconds, self.hint);
        self.hint = span.key;
        value_at(self.track, span)
    }

    /// Rotation at a time, with the bits of [`at`](Self::at).
    fn rotation(&mut self, seconds: f64) -> Quat64 {
        let span = Span::find(self.times, seconds, self.hint);
        self.hint = span.key;
        if self.track.interpolation != Interpolation::Linear || span.factor <= 0.0 {
            return value_at(self.track, span);
        }
        let slerp = match self.slerp {
            Some((key, slerp)) if key == span.key => slerp,
            _ => {
                let (keys, _) = self.track.values.as_chunks::<4>();
                Slerp::new(keys[span.key], keys[span.key + 1])
            }
        };
        self.slerp = Some((span.key, slerp));
        let mut rotation = slerp.at(span.factor);
        normalize(&mut rotation);
        rotation
    }
}

/// Samples a free rotation track at each of `moments`, which must be ascending.
pub(crate) fn rotations(clip: &RawClip, track: &Track, moments: &[f64]) -> Vec<Quat64> {
    let mut reader = Reader::new(clip, track);
    moments.iter().map(|&seconds| reader.rotation(seconds)).collect()
}

/// Samples one component of a free track.
pub(crate) fn component(clip: &RawClip, track: &Track, component: usize, seconds: f64) -> f64 {
    let times = &clip.timelines()[track.timeline];
    component_at(track, Span::find(times, seconds, 0), track.width(times.len()), component)
}

/// Samples the local transform of one joint at each of `moments`, which must be ascending.
pub(crate) fn joint(
    clip: &RawClip,
    skeleton: &Skeleton,
    joint: usize,
    tracks: &JointTracks<'_>,
    moments: &[f64],
) -> Vec<Transform64> {
    let mut rest = Transform64::from(skeleton.rest().get(joint));
    normalize(&mut rest.rotation);
    let mut out = alloc::vec![rest; moments.len()];
    let mut fill = |track: Option<&Track>, put: &mut dyn FnMut(&mut Transform64, &mut Reader<'_>, f64)| {
        if let Some(track) = track {
            let mut reader = Reader::new(clip, track);
            for (local, &seconds) in out.iter_mut().zip(moments) {
                put(local, &mut reader, seconds);
            }
        }
    };
    fill(tracks.rotation, &mut |local, reader, seconds| local.rotation = reader.rotation(seconds));
    fill(tracks.translation, &mut |local, reader, seconds| local.translation = reader.at(seconds));
    fill(tracks.scale, &mut |local, reader, seconds| local.scale = reader.at(seconds));
    out
}
