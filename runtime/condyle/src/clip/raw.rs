//! Clips as authored: keyframes at any spacing, one track per property.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::is_near_unit;
use condyle_base::order;

/// Interpolation between two keys. Source: glTF 2.0, "Animations".
///
/// ```
/// use condyle::sampling::{self, RawCursor};
/// use condyle::{Interpolation, RawClip, Target, Track};
///
/// let target = Target::Vector(0);
/// for (interpolation, want) in [(Interpolation::Step, 10.0), (Interpolation::Linear, 15.0)] {
///     let light = Track { target, interpolation, timeline: 0, values: vec![10.0, 20.0] };
///     let clip = RawClip::new("lamp".into(), vec![vec![0.0, 1.0]], vec![light])?;
///     let mut brightness = [0.0];
///     sampling::raw_track(&clip, target, 0.5, &mut RawCursor::default(), &mut brightness)?;
///     assert_eq!(brightness, [want]);
/// }
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// The last key at or before the time holds.
    Step,
    /// Linear interpolation; slerp on the shorter arc for rotations.
    Linear,
    /// Cubic Hermite splines. Each key holds in-tangent, value, out-tangent, in this order.
    CubicSpline,
}

/// Property that a track drives.
///
/// ```
/// use condyle::Target;
///
/// assert_eq!(Target::Rotation(3).joint(), Some(3));
/// assert_eq!(Target::Weights(0).joint(), None);
/// // Tracks that drive no joint are identified by their kind and an application-defined number.
/// assert_ne!(Target::FreeRotation(0), Target::Vector(0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Target {
    /// Rotation of a joint: 4 numbers per key, `xyzw`.
    Rotation(u16),
    /// Translation of a joint: 3 numbers per key, in metres.
    Translation(u16),
    /// Scale of a joint: 3 numbers per key.
    Scale(u16),
    /// Morph weights: one number per morph target. The importer decides which mesh the index refers to:
    /// `condyle-gltf` uses the index of the node with the mesh.
    Weights(u32),
    /// Application-defined vector with any number of components, for example for a light, a sound or a
    /// material blend. A scalar is a vector of one component. The application chooses the number.
    Vector(u32),
    /// Rotation that belongs to no joint, for example of a camera or a turret: 4 numbers per key, `xyzw`. The
    /// application chooses the number, independently of the numbers of [`Vector`](Self::Vector).
    FreeRotation(u32),
}

impl Target {
    /// Returns whether the target is a rotation: interpolation is spherical, and values have unit length.
    #[must_use]
    #[inline]
    pub fn rotates(self) -> bool {
        matches!(self, Self::Rotation(_) | Self::FreeRotation(_))
    }

    /// Returns a number in the order of targets.
    #[doc(hidden)]
    #[must_use]
    pub fn order(self) -> u64 {
        let (kind, index) = match self {
            Self::Rotation(joint) => (0, joint.into()),
            Self::Translation(joint) => (1, joint.into()),
            Self::Scale(joint) => (2, joint.into()),
            Self::Weights(index) => (3, index),
            Self::Vector(index) => (4, index),
            Self::FreeRotation(index) => (5, index),
        };
        kind << 32 | u64::from(index)
    }

    /// Returns the joint that the target drives, if any.
    #[must_use]
    #[inline]
    pub fn joint(self) -> Option<u16> {
        match self {
            Self::Rotation(joint) | Self::Translation(joint) | Self::Scale(joint) => Some(joint),
            Self::Weights(_) | Self::Vector(_) | Self::FreeRotation(_) => None,
        }
    }
}

/// Keyframes of one property.
///
/// ```
/// use condyle::{Error, Interpolation, RawClip, Target, Track};
///
/// let track = |values| Track {
///     target: Target::Translation(0),
///     interpolation: Interpolation::Linear,
///     timeline: 0,
///     values,
/// };
/// // Two keys of three numbers each.
/// let rise = track(vec![0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
/// assert!(RawClip::new("rise".into(), vec![vec![0.0, 1.0]], vec![rise]).is_ok());
///
/// let short = RawClip::new("short".into(), vec![vec![0.0, 1.0]], vec![track(vec![0.0; 5])]);
/// assert_eq!(short.err(), Some(Error::TrackLength { track: 0, found: 5, needed: 6 }));
/// ```
#[derive(Clone, PartialEq)]
pub struct Track {
    /// Property that the track drives.
    pub target: Target,
    /// Interpolation between keys.
    pub interpolation: Interpolation,
    /// Index of the timeline with the key times. Tracks often share a timeline.
    pub timeline: usize,
    /// The keys, one after another: `width` numbers each, or three times `width` for
    /// [`Interpolation::CubicSpline`].
    pub values: Vec<f32>,
}

/// A clip as authored: tracks of keyframes, exact at each key.
///
/// ```
/// use condyle::sampling::{self, RawCursor};
/// use condyle::{Interpolation, Joint, Pose, RawClip, Skeleton, Target, Track, Transform};
///
/// let skeleton = Skeleton::new([Joint::new("lift", None, Transform::IDENTITY)])?;
/// let rise = Track {
///     target: Target::Translation(0),
///     interpolation: Interpolation::Linear,
///     timeline: 0,
///     values: vec![0.0, 0.0, 0.0, 0.0, 3.0, 0.0],
/// };
/// let clip = RawClip::new("rise".into(), vec![vec![0.5, 2.5]], vec![rise])?;
/// assert_eq!((clip.start(), clip.end(), clip.duration()), (0.5, 2.5, 2.0));
///
/// let (mut cursor, mut pose) = (RawCursor::default(), Pose::rest(&skeleton));
/// sampling::raw(&clip, &skeleton, 1.5, &mut cursor, &mut pose)?;
/// assert_eq!(pose.get(0).translation, [0.0, 1.5, 0.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct RawClip {
    name: String,
    timelines: Vec<Vec<f32>>,
    tracks: Vec<Track>,
    start: f32,
    end: f32,
    /// Fingerprint of the clip's skeleton; 0 if unknown.
    fingerprint: u32,
}

impl RawClip {
    /// Checks the arguments and returns a clip. Tracks are sorted by target; errors use the index in `tracks`
    /// as passed.
    ///
    /// `timelines` holds lists of key times in seconds, strictly increasing, at least one key each.
    ///
    /// # Errors
    /// - [`Error::NoKeys`], [`Error::KeyOrder`] for a timeline without keys, or whose times are not finite
    ///   and increasing.
    /// - [`Error::Index`] if a track uses a timeline that does not exist.
    /// - [`Error::TrackLength`] if the number of values of a track does not match its keys.
    /// - [`Error::NotFinite`] for a track with a value that is NaN or infinite, and if the duration exceeds
    ///   the range of f32.
    /// - [`Error::NotUnit`] for a track with a stepped or linear rotation whose length differs from 1 by more
    ///   than 2 %. Smaller errors are corrected by sampling.
    /// - [`Error::DuplicateTrack`] if two tracks drive the same property.
    pub fn new(name: String, timelines: Vec<Vec<f32>>, mut tracks: Vec<Track>) -> Result<Self, Error> {
        for (timeline, times) in timelines.iter().enumerate() {
            if times.is_empty() {
                return Err(Error::NoKeys { timeline });
            }
            let is_late = |key: usize| times[key].is_finite() && (key == 0 || times[key - 1] < times[key]);
            if let Some(key) = (0..times.len()).find(|&key| !is_late(key)) {
                return Err(Error::KeyOrder { timeline, key });
            }
        }
        for (at, track) in tracks.iter().enumerate() {
            track.check(at, &timelines)?;
        }
        let mut order: Vec<usize> = (0..tracks.len()).collect();
        order::sort_by(&mut order, |&at| tracks[at].target.order());
        if let Some(pair) = order.windows(2).find(|w| tracks[w[0]].target == tracks[w[1]].target) {
            return Err(Error::DuplicateTrack { track: pair[1] });
        }
        order::sort_by(&mut tracks, |track| track.target.order());
        let used = || tracks.iter().map(|t| &timelines[t.timeline]);
        let start = used().map(|times| times[0]).reduce(f32::min).unwrap_or(0.0);
        let end = used().map(|times| times[times.len() - 1]).reduce(f32::max).unwrap_or(0.0);
        if !(end - start).is_finite() {
            return Err(Error::NotFinite { what: "duration", at: 0 });
        }
        Ok(Self { name, timelines, tracks, start, end, fingerprint: 0 })
    }

    /// Binds the clip to one skeleton: every stage rejects it on another one ([`Error::Skeleton`]). Clips
    /// imported by `condyle-gltf` are bound. A clip from [`new`](Self::new) works with any skeleton that has
    /// its joints.
    ///
    /// # Errors
    /// [`Error::Index`] if a track drives a joint that the skeleton lacks, [`Error::Skeleton`] if the clip is
    /// already bound to another skeleton.
    ///
    /// ```
    /// use condyle::sampling::RawCursor;
    /// use condyle::{Error, Interpolation, Joint, Pose, RawClip, Skeleton, Target, Track, Transform, sampling};
    ///
    /// let arm = |name| Skeleton::new([Joint::new(name, None, Transform::IDENTITY)]);
    /// let (left, right) = (arm("left arm")?, arm("right arm")?);
    /// let (target, interpolation) = (Target::Translation(0), Interpolation::Linear);
    /// let up = Track { target, interpolation, timeline: 0, values: vec![0.0, 1.0, 0.0] };
    /// let clip = RawClip::new("up".into(), vec![vec![0.0]], vec![up])?.for_skeleton(&left)?;
    ///
    /// let (mut cursor, mut pose) = (RawCursor::default(), Pose::rest(&right));
    /// let refused = sampling::raw(&clip, &right, 0.0, &mut cursor, &mut pose);
    /// assert!(matches!(refused, Err(Error::Skeleton { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn for_skeleton(mut self, skeleton: &Skeleton) -> Result<Self, Error> {
        self.check_skeleton(skeleton)?;
        self.fingerprint = skeleton.fingerprint();
        Ok(self)
    }

    /// Returns the same clip with another name.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Fingerprint of the skeleton that the clip is bound to, if any.
    #[must_use]
    pub fn fingerprint(&self) -> Option<u32> {
        Some(self.fingerprint).filter(|&of| of != 0)
    }

    /// Returns whether a track is stepped and not constant.
    #[doc(hidden)]
    pub fn is_stepped(&self, track: &Track) -> bool {
        let width = track.width(self.timelines[track.timeline].len()).max(1);
        let mut values = track.values.chunks_exact(width);
        track.interpolation == Interpolation::Step && values.any(|value| value != &track.values[..width])
    }

    /// Binds the clip to the skeleton of another clip, which this one was made from.
    pub(crate) fn for_skeleton_of(self, other: &Self) -> Self {
        Self { fingerprint: other.fingerprint, ..self }
    }

    /// Checks that the clip may be used with this skeleton.
    #[doc(hidden)]
    pub fn check_skeleton(&self, skeleton: &Skeleton) -> Result<(), Error> {
        skeleton.check_fingerprint("the clip", self.fingerprint)?;
        let count = skeleton.joint_count();
        for (at, track) in self.tracks.iter().enumerate() {
            if let Some(found) = track.target.joint().map(usize::from).filter(|&joint| joint >= count) {
                return Err(Error::Index { what: "tracks", at, found, count });
            }
        }
        Ok(())
    }

    /// Name in the document. It may be empty, and several clips may share it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Key times in seconds, one list per timeline, strictly increasing.
    #[must_use]
    pub fn timelines(&self) -> &[Vec<f32>] {
        &self.timelines
    }

    /// Tracks, sorted by target.
    #[must_use]
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Returns the track that drives `target`.
    pub fn track(&self, target: Target) -> Option<&Track> {
        let at = self.tracks.binary_search_by_key(&target, |track| track.target).ok()?;
        self.tracks.get(at)
    }

    /// Time of the first key of all tracks, in seconds. Clips need not start at 0.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.start.into()
    }

    /// Time of the last key of all tracks, in seconds.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.end.into()
    }

    /// Seconds from the first key to the last.
    #[must_use]
    pub fn duration(&self) -> f64 {
        f64::from(self.end) - f64::from(self.start)
    }

    /// Number of bytes of key times and values.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        let times: usize = self.timelines.iter().map(Vec::len).sum();
        let values: usize = self.tracks.iter().map(|t| t.values.len()).sum();
        (times + values) * size_of::<f32>()
    }
}

/// Prints a one-line summary.
impl fmt::Debug for RawClip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawClip")
            .field("name", &self.name)
            .field("tracks", &self.tracks.len())
            .field("timelines", &self.timelines.len())
            .field("seconds", &(self.start..=self.end))
            .field("bytes", &self.byte_count())
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

/// Prints target and interpolation, without the values.
impl fmt::Debug for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Track")
            .field("target", &self.target)
            .field("interpolation", &self.interpolation)
            .field("timeline", &self.timeline)
            .field("numbers", &self.values.len())
            .finish_non_exhaustive()
    }
}

impl Track {
    /// Checks the conditions of [`RawClip::new`]; `at` is the index of the track in errors.
    fn check(&self, at: usize, timelines: &[Vec<f32>]) -> Result<(), Error> {
        let found = self.timeline;
        let times = timelines.get(found);
        let keys = times.ok_or(Error::Index { what: "tracks", at, found, count: timelines.len() })?.len();
        let needed = keys * self.width(keys).max(1) * self.values_per_key();
        if self.values.len() != needed {
            return Err(Error::TrackLength { track: at, found: self.values.len(), needed });
        }
        if !self.values.iter().all(|v| v.is_finite()) {
            return Err(Error::NotFinite { what: "tracks", at });
        }
        if self.target.rotates() && self.interpolation != Interpolation::CubicSpline {
            let keys = self.values.as_chunks::<4>().0;
            if !keys.iter().all(is_near_unit) {
                return Err(Error::NotUnit { what: "tracks", at });
            }
        }
        Ok(())
    }

    /// Number of values per key: 3 for a spline (in-tangent, value, out-tangent), otherwise 1.
    pub fn values_per_key(&self) -> usize {
        if self.interpolation == Interpolation::CubicSpline { 3 } else { 1 }
    }

    /// Numbers per value: 4, 3, or the number of morph targets or components.
    #[inline]
    pub fn width(&self, keys: usize) -> usize {
        match self.target {
            Target::Rotation(_) | Target::FreeRotation(_) => 4,
            Target::Translation(_) | Target::Scale(_) => 3,
            Target::Weights(_) | Target::Vector(_) => {
                self.values.len() / (keys * self.values_per_key()).max(1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    fn linear(target: Target, values: usize) -> Track {
        let value = if target.rotates() { 0.5 } else { 1.0 };
        Track { target, interpolation: Interpolation::Linear, timeline: 0, values: vec![value; values] }
    }

    fn clip(times: &[f32], tracks: Vec<Track>) -> Result<RawClip, Error> {
        RawClip::new("clip".into(), vec![times.to_vec()], tracks)
    }

    #[test]
    fn key_times_must_rise_and_be_finite() {
        assert_eq!(clip(&[], vec![]), Err(Error::NoKeys { timeline: 0 }));
        for bad in [0.5, 0.25, f32::NAN, f32::INFINITY] {
            assert_eq!(clip(&[0.0, 0.5, bad], vec![]), Err(Error::KeyOrder { timeline: 0, key: 2 }));
        }
        assert_eq!(clip(&[f32::NEG_INFINITY], vec![]), Err(Error::KeyOrder { timeline: 0, key: 0 }));
        let far = clip(&[f32::MIN, f32::MAX], vec![linear(Target::Scale(0), 6)]);
        assert_eq!(far, Err(Error::NotFinite { what: "duration", at: 0 }));
    }

    #[test]
    fn a_clip_lasts_as_long_as_its_tracks() {
        let timelines = vec![vec![0.5, 2.0], vec![-9.0, 9.0]];
        let whole = RawClip::new("clip".into(), timelines, vec![linear(Target::Scale(0), 6)]).expect("valid");
        assert_eq!((whole.start(), whole.end(), whole.duration()), (0.5, 2.0, 1.5));
        assert_eq!(clip(&[3.0], vec![]).map(|c| (c.start(), c.end())), Ok((0.0, 0.0)));
    }

    #[test]
    fn values_must_fit_their_keys() {
        let refused = |track: Track, needed| {
            let found = track.values.len();
            assert_eq!(clip(&[0.0, 1.0], vec![track]), Err(Error::TrackLength { track: 0, found, needed }));
        };
        for (target, fits) in [(Target::Rotation(0), 8), (Target::Translation(0), 6), (Target::Scale(0), 6)] {
            assert!(clip(&[0.0, 1.0], vec![linear(target, fits)]).is_ok());
            for wrong in [0, fits - 1, fits + 1] {
                refused(linear(target, wrong), fits);
            }
        }
        assert!(clip(&[0.0, 1.0], vec![linear(Target::Weights(0), 10)]).is_ok());
        refused(linear(Target::Weights(0), 5), 4);
        refused(linear(Target::Weights(0), 1), 2);
        refused(linear(Target::Weights(0), 0), 2);
        let spline =
            |values| Track { interpolation: Interpolation::CubicSpline, ..linear(Target::Scale(0), values) };
        assert!(clip(&[0.0, 1.0], vec![spline(18)]).is_ok());
        refused(spline(6), 18);
    }

    /// Errors use the index of a track as passed, not as sorted.
    #[test]
    fn bad_values_timelines_and_twins_are_refused() {
        let second = |track: Track| clip(&[0.0, 1.0], vec![linear(Target::Weights(0), 2), track]);
        let mut track = linear(Target::Scale(0), 6);
        track.values[4] = f32::NAN;
        assert_eq!(second(track), Err(Error::NotFinite { what: "tracks", at: 1 }));
        let mut track = linear(Target::Rotation(0), 8);
        track.values[5] = 0.6;
        assert_eq!(second(track.clone()), Err(Error::NotUnit { what: "tracks", at: 1 }));
        track.interpolation = Interpolation::CubicSpline;
        track.values = vec![0.6; 24];
        assert!(second(track).is_ok());
        let lost = Track { timeline: 1, ..linear(Target::Scale(0), 6) };
        assert_eq!(second(lost), Err(Error::Index { what: "tracks", at: 1, found: 1, count: 1 }));
        let scale = |joint| linear(Target::Scale(joint), 6);
        let twins = vec![linear(Target::Rotation(4), 8), scale(5), scale(0), scale(0)];
        assert_eq!(clip(&[0.0, 1.0], twins), Err(Error::DuplicateTrack { track: 3 }));
    }

    #[test]
    fn tracks_are_sorted_by_property_and_joint() {
        let tracks =
            vec![linear(Target::Scale(0), 3), linear(Target::Rotation(9), 4), linear(Target::Rotation(2), 4)];
        let clip = clip(&[0.0], tracks).expect("valid");
        let targets: Vec<Target> = clip.tracks().iter().map(|t| t.target).collect();
        assert_eq!(targets, [Target::Rotation(2), Target::Rotation(9), Target::Scale(0)]);
        assert_eq!(clip.byte_count(), 4 * (1 + 11));
    }
}
