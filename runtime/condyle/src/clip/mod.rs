//! Animation clips: [`RawClip`], as authored, and [`Clip`], compressed. [`sampling`](crate::sampling)
//! computes poses from both.
//!
//! A [`RawClip`] has keyframes at any spacing, and is exact at each of them. A [`Clip`] is the output of
//! `condyle_encode::encode`: one block of bytes that is checked once and then read in place.

mod check;
#[doc(hidden)]
pub mod curve;
#[doc(hidden)]
pub mod fallback;
#[doc(hidden)]
pub mod keys;
#[doc(hidden)]
pub mod layout;
mod raw;
pub(crate) mod retime;
#[doc(hidden)]
pub mod spline;
mod turned;
#[doc(hidden)]
pub mod view;
#[doc(hidden)]
pub mod write;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use condyle_base::error::Error;
use layout::{Header, Kind};
pub use raw::{Interpolation, RawClip, Target, Track};
pub use turned::Y_UP_FROM_Z_UP;
pub(crate) use view::{ClipView, Place};

/// A compressed clip, the output of `condyle_encode::encode`.
///
/// The bytes are the same on every platform, and need no alignment. [`from_bytes`](Self::from_bytes) borrows
/// them, for example from a memory-mapped file. [`from_owned`](Self::from_owned) takes ownership, and clones
/// share the bytes. Both check the bytes once. After that, [`sample`](crate::sample()) costs the same for any
/// time in the clip.
///
/// A clip consists of segments of equal length. In a segment, each track is a curve with evenly spaced keys,
/// which are packed with as few bits as the error budget allows. Sampling a time reads at most four rows of
/// keys. `docs/format.md` specifies the bytes.
///
/// ```
/// use condyle::{Clip, Pose, example, sample};
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// let (skeleton, walk) = (example::skeleton(), example::walk());
///
/// // At build time: no point is more than a millimetre off.
/// let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
/// let file = encode(&walk, &skeleton, &options, &mut |_| ())?.bytes().to_vec();
///
/// // At run time: check the bytes once, then read them in place.
/// let clip = Clip::from_bytes(&file)?;
/// let mut pose = Pose::rest(&skeleton);
/// sample(&clip, &skeleton, 0.5, &mut pose)?;
/// // The walk takes one second. The hips move 2 m forward, so they are at 1 m now.
/// assert_eq!(clip.duration(), 1.0);
/// assert!((pose.get(example::HIPS.into()).translation[2] - 1.0).abs() <= 1e-3);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone)]
pub struct Clip<'a> {
    bytes: Bytes<'a>,
    header: Header,
}

#[derive(Clone)]
enum Bytes<'a> {
    Borrowed(&'a [u8]),
    Shared(Arc<[u8]>),
}

impl Bytes<'_> {
    fn into_owned(self) -> Bytes<'static> {
        Bytes::Shared(match self {
            Self::Borrowed(bytes) => bytes.into(),
            Self::Shared(bytes) => bytes,
        })
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

impl Clip<'static> {
    /// Checks bytes like [`from_bytes`](Self::from_bytes), and takes ownership of them: a `Vec`, a `Box` or
    /// an `Arc`.
    ///
    /// The clip has no lifetime parameter. Cloning it only increments a reference count. A `Vec` or a `Box`
    /// is copied once, an `Arc` is not copied.
    ///
    /// ```
    /// use condyle::{Clip, example};
    /// use condyle_encode::{EncodeOptions, Shell, encode};
    ///
    /// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
    /// let encoded = encode(&example::walk(), &example::skeleton(), &options, &mut |_| ())?;
    /// let clip = Clip::from_owned(encoded.bytes().to_vec())?;
    /// let elsewhere = clip.clone();
    /// std::thread::spawn(move || assert_eq!(elsewhere.joint_count(), 15)).join().expect("no panic");
    /// # Ok::<(), condyle::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`from_bytes`](Self::from_bytes).
    pub fn from_owned(bytes: impl Into<Arc<[u8]>>) -> Result<Self, Error> {
        let bytes = bytes.into();
        let header = check::header(&bytes)?;
        Ok(Self { bytes: Bytes::Shared(bytes), header })
    }
}

impl<'a> Clip<'a> {
    /// Checks everything that sampling relies on. The time is proportional to the number of bytes. Does not
    /// allocate.
    ///
    /// # Errors
    /// - [`Error::Magic`] if the bytes are not a clip.
    /// - [`Error::Version`] for any other version of the format, older or newer.
    /// - [`Error::Truncated`] and [`Error::Length`] if bytes are missing or left over.
    /// - [`Error::Checksum`] if the bytes were changed.
    /// - [`Error::Value`], [`Error::Index`], [`Error::NotFinite`], [`Error::NotUnit`], [`Error::KeyOrder`],
    ///   [`Error::OutOfRange`], [`Error::NotText`] and [`Error::TooMany`] for contents that no encoder
    ///   writes.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        Ok(Self { bytes: Bytes::Borrowed(bytes), header: check::header(bytes)? })
    }

    /// Returns the same clip with owned bytes. Borrowed bytes are copied.
    #[must_use]
    pub fn into_owned(self) -> Clip<'static> {
        Clip { bytes: self.bytes.into_owned(), header: self.header }
    }

    /// Returns the view that kernels read.
    #[doc(hidden)]
    pub fn view(&self) -> ClipView<'_> {
        ClipView { bytes: self.bytes.as_slice(), header: &self.header }
    }

    /// Returns the bytes that [`from_bytes`](Self::from_bytes) received.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// Number of joints of the clip's skeleton.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.header.joint_count
    }

    /// Fingerprint of the clip's skeleton, if known. The clip is rejected on a skeleton with another
    /// fingerprint.
    #[must_use]
    pub fn fingerprint(&self) -> Option<u32> {
        Some(self.header.fingerprint).filter(|&of| of != 0)
    }

    /// Fingerprint of the rest pose that the curves are relative to, if known. The clip is rejected on a
    /// skeleton with another one.
    #[must_use]
    pub fn rest_fingerprint(&self) -> Option<u32> {
        Some(self.header.rest_fingerprint).filter(|&of| of != 0)
    }

    /// Time of the first frame, in seconds. Clips need not start at 0.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.header.start.into()
    }

    /// Time of the last frame, in seconds.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.header.end.into()
    }

    /// Seconds from the first frame to the last.
    #[must_use]
    pub fn duration(&self) -> f64 {
        self.view().duration()
    }

    /// Frame rate, in frames per second, at which the encoder measured errors. 0 for a clip without duration.
    #[must_use]
    pub fn rate(&self) -> f32 {
        let duration = self.duration();
        if duration > 0.0 { (self.header.frame_count as f64 / duration) as f32 } else { 0.0 }
    }

    /// Number of frames after the first one.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.header.frame_count
    }

    /// The error bound of the encoder, in the units of the skeleton.
    #[must_use]
    pub fn budget(&self) -> f32 {
        self.header.budget
    }

    /// Returns the free tracks: the target of each, and its number of components. Free tracks drive no joint.
    /// They are morph weights, and scalar, vector and rotation tracks.
    pub fn free_tracks(&self) -> impl ExactSizeIterator<Item = (Target, usize)> + use<'_> {
        self.view().free_tracks()
    }

    /// Returns the fallback tracks, each with its key times in seconds as its only timeline. Omits tracks
    /// that are curves in some segments. Allocates.
    pub fn fallback_tracks(&self) -> impl Iterator<Item = (Vec<f32>, Track)> + use<'_> {
        let clip = self.view();
        clip.fallback_tracks().filter(|track| track.segments.is_none()).filter_map(move |track| {
            let joint = u16::try_from(track.index).ok();
            let target = match track.kind? {
                Kind::Rotation => Target::Rotation(joint?),
                Kind::Translation => Target::Translation(joint?),
                Kind::Scale => Target::Scale(joint?),
                Kind::Free => clip.free_target(track.index),
            };
            Some(track.to_track(target))
        })
    }

    /// Returns the key times of all fallback tracks in seconds, including tracks that are curves in some
    /// segments.
    #[doc(hidden)]
    pub fn authored_times(&self) -> impl Iterator<Item = Vec<f32>> + use<'_> {
        self.view().fallback_tracks().map(|track| track.seconds())
    }

    /// Returns whether root motion was extracted from the pose; if so, [`motion_at`](Self::motion_at) returns
    /// it.
    #[must_use]
    pub fn has_motion(&self) -> bool {
        self.view().has_motion()
    }

    /// Number of events in the clip.
    #[must_use]
    pub fn event_count(&self) -> usize {
        self.header.event_count
    }

    /// Returns an event, in time order: its seconds since the start of the clip, and its name. `None` if `at`
    /// is past the last one.
    #[must_use]
    pub fn event(&self, at: usize) -> Option<(f64, &str)> {
        self.view().event(at)
    }
}

/// Two clips are equal if their bytes are equal.
impl PartialEq for Clip<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Clip<'_> {}

/// Prints a one-line summary.
impl fmt::Debug for Clip<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { joint_count, free_track_count, event_count, start, end, .. } = self.header;
        f.debug_struct("Clip")
            .field("joints", &joint_count)
            .field("free_tracks", &free_track_count)
            .field("events", &event_count)
            .field("seconds", &(start..=end))
            .field("bytes", &self.as_bytes().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests;
