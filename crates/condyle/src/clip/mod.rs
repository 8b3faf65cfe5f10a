//! Clips. In go tracks of keyframes, or the bytes of a compressed clip; out come a [`RawClip`] or a [`Clip`],
//! checked once, that [`sampling`](crate::sampling) turns into poses.
//!
//! A [`RawClip`] is a clip as authored: keyframes of any spacing, exact at each of them. A [`Clip`] is what
//! `condyle_encode::encode` makes of it: one block of bytes, read where it lies.

mod check;
#[doc(hidden)]
pub mod fallback;
#[doc(hidden)]
pub mod keys;
#[doc(hidden)]
pub mod layout;
mod raw;
pub(crate) mod resident;
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

/// A compressed clip: what `condyle_encode::encode` makes of a [`RawClip`].
///
/// Its bytes are the same on every platform and may lie anywhere. [`from_bytes`](Self::from_bytes) borrows
/// them, so also from a mapped file; [`from_owned`](Self::from_owned) keeps them, and its clones share them.
/// They are checked once, by either; after that [`sample`](crate::sample()) reads any moment at the same
/// cost.
///
/// A clip is cut into segments of equal length. In a segment each track is a curve with evenly spaced keys,
/// packed with as many bits as the error allows; a moment needs four rows of keys at most. `docs/format.md`
/// describes every byte.
///
/// ```
/// use condyle_encode::{EncodeOptions, Shell};
/// use condyle::{Clip, Interpolation, Joint, Pose, RawClip, Skeleton, Target, Track, Transform, sample};
/// use condyle_encode::encode;
///
/// let skeleton = Skeleton::new([Joint::new("lift", None, Transform::IDENTITY)])?;
/// let rise = Track {
///     target: Target::Translation(0),
///     interpolation: Interpolation::Linear,
///     timeline: 0,
///     values: vec![0.0, 0.0, 0.0, 0.0, 3.0, 0.0],
/// };
/// let raw = RawClip::new("rise".into(), vec![vec![0.0, 2.0]], vec![rise])?;
///
/// // When the game is built: no point is more than a millimetre off.
/// let file = encode(&raw, &skeleton, &EncodeOptions::new(1e-3, Shell::Balls(0.03)), &mut |_| ())?.bytes().to_vec();
///
/// // When it runs: the bytes are checked once, then read where they lie.
/// let clip = Clip::from_bytes(&file)?;
/// let mut pose = Pose::rest(&skeleton);
/// sample(&clip, &skeleton, 1.0, &mut pose)?;
/// assert_eq!(clip.duration(), 2.0);
/// assert!((pose.get(0).translation[1] - 1.5).abs() <= 1e-3);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone)]
pub struct Clip<'a> {
    bytes: Bytes<'a>,
    header: Header,
    /// Its keys once more, unpacked.
    resident: Option<Bytes<'a>>,
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
    /// As [`from_bytes`](Self::from_bytes), of bytes that the clip keeps: a `Vec`, a `Box` or an `Arc`.
    ///
    /// The clip has no lifetime to carry around, and a clone of it is a reference more to the same bytes. A
    /// `Vec` or a `Box` is copied once, an `Arc` is not.
    ///
    /// ```
    /// use condyle_encode::{EncodeOptions, Shell};
    /// use condyle::{Clip, RawClip, Skeleton};
    /// use condyle_encode::encode;
    ///
    /// let raw = RawClip::new("still".into(), vec![], vec![])?;
    /// let encoded = encode(&raw, &Skeleton::new([])?, &EncodeOptions::new(5e-4, Shell::Balls(0.03)), &mut |_| ())?;
    /// let clip = Clip::from_owned(encoded.bytes().to_vec())?;
    /// let elsewhere = clip.clone();
    /// std::thread::spawn(move || assert_eq!(elsewhere.joint_count(), 0)).join().expect("no panic");
    /// # Ok::<(), condyle::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes).
    pub fn from_owned(bytes: impl Into<Arc<[u8]>>) -> Result<Self, Error> {
        let bytes = bytes.into();
        let header = check::header(&bytes)?;
        Ok(Self { bytes: Bytes::Shared(bytes), header, resident: None })
    }
}

impl<'a> Clip<'a> {
    /// Checks everything that sampling relies on. The time is in proportion to the number of bytes, nothing
    /// is allocated.
    ///
    /// # Errors
    /// [`Error::Magic`] and [`Error::Version`] for what is no clip or one of another version, older or newer; [`Error::Truncated`] and
    /// [`Error::Length`] if bytes are missing or left over; [`Error::Checksum`] if they are not those that
    /// were written; [`Error::Value`], [`Error::Index`], [`Error::NotFinite`], [`Error::NotUnit`],
    /// [`Error::KeyOrder`], [`Error::OutOfRange`], [`Error::NotText`] and [`Error::TooMany`] for what no
    /// encoder writes.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        Ok(Self { bytes: Bytes::Borrowed(bytes), header: check::header(bytes)?, resident: None })
    }

    /// Bytes of memory that [`resident`](Self::resident) takes: three to four times as many as the clip has. A clip
    /// that no encoder wrote may ask for sixty times as many.
    #[must_use]
    pub fn resident_size(&self) -> usize {
        self.view().resident_size()
    }

    /// The same clip with its keys unpacked into `memory`: sampled faster, for what is on screen.
    ///
    /// The packed form is for the thousands of clips at rest: a moment of it has to be taken out of packed bits.
    /// This one holds the same integers in rows as registers take them. Nothing else differs: all functions take
    /// either, and no bit of any result changes. The time is in proportion to the memory; nothing is allocated.
    /// Fallback tracks stay as they are: a clip of keys alone is sampled no faster.
    ///
    /// `memory` has [`resident_size`](Self::resident_size) bytes or more, wherever they lie; best at a multiple of
    /// 16 bytes. What was there is overwritten. [`into_resident`](Self::into_resident) allocates it.
    ///
    /// # Errors
    /// [`Error::TooShort`] for less memory, which is then unchanged.
    ///
    /// ```
    /// use condyle_encode::{EncodeOptions, Shell};
    /// use condyle::{Interpolation, Joint, Pose, RawClip, Skeleton, Target, Track, Transform, sample};
    /// use condyle_encode::encode;
    ///
    /// # let skeleton = Skeleton::new([Joint::new("lift", None, Transform::IDENTITY)])?;
    /// # let target = Target::Translation(0);
    /// # let values = vec![0.0, 0.0, 0.0, 0.0, 3.0, 0.0];
    /// # let rise = Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
    /// # let raw = RawClip::new("rise".into(), vec![vec![0.0, 2.0]], vec![rise])?;
    /// # let clip = encode(&raw, &skeleton, &EncodeOptions::new(5e-4, Shell::Balls(0.03)), &mut |_| ())?.into_clip();
    /// // When a character comes on screen that plays the clip.
    /// let mut memory = vec![0; clip.resident_size()];
    /// let resident = clip.resident(&mut memory)?;
    ///
    /// let (mut pose, mut same) = (Pose::rest(&skeleton), Pose::rest(&skeleton));
    /// sample(&resident, &skeleton, 0.7, &mut pose)?;
    /// sample(&clip, &skeleton, 0.7, &mut same)?;
    /// assert_eq!(pose, same);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn resident<'m>(&self, memory: &'m mut [u8]) -> Result<Clip<'m>, Error>
    where
        'a: 'm,
    {
        let size = self.resident_size();
        Error::check_room("memory", memory.len(), size)?;
        let (memory, _) = memory.split_at_mut(size);
        self.view().write_resident(memory);
        Ok(Clip { bytes: self.bytes.clone(), header: self.header, resident: Some(Bytes::Borrowed(memory)) })
    }

    /// As [`resident`](Self::resident), with memory of its own that all clones of the clip share. It is allocated:
    /// look at [`resident_size`](Self::resident_size) first where the clip comes from elsewhere. A clip that has such memory
    /// comes back as it is.
    ///
    /// # Errors
    /// [`Error::TooMany`] for more bytes than the machine can address.
    ///
    /// ```
    /// use condyle_encode::{EncodeOptions, Shell};
    /// use condyle::{RawClip, Skeleton};
    /// use condyle_encode::encode;
    ///
    /// let raw = RawClip::new("still".into(), vec![], vec![])?;
    /// let encoded = encode(&raw, &Skeleton::new([])?, &EncodeOptions::new(5e-4, Shell::Balls(0.03)), &mut |_| ())?;
    /// let clip = encoded.into_clip().into_resident()?;
    /// assert!(clip.is_resident());
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn into_resident(self) -> Result<Self, Error> {
        if let Some(Bytes::Shared(_)) = self.resident {
            return Ok(self);
        }
        // With room for what an `Arc` counts.
        let (size, limit) = (self.resident_size(), isize::MAX as usize - 64);
        if size > limit {
            return Err(Error::TooMany { what: "bytes of a resident clip", found: size, limit });
        }
        let mut memory: Arc<[u8]> = core::iter::repeat_n(0, size).collect();
        if let Some(memory) = Arc::get_mut(&mut memory) {
            self.view().write_resident(memory);
        }
        Ok(Self { resident: Some(Bytes::Shared(memory)), ..self })
    }

    /// Whether its keys are unpacked, by [`resident`](Self::resident) or
    /// [`into_resident`](Self::into_resident).
    #[must_use]
    pub fn is_resident(&self) -> bool {
        self.resident.is_some()
    }

    /// The same clip with bytes of its own: those that it borrows are copied.
    #[must_use]
    pub fn into_owned(self) -> Clip<'static> {
        Clip {
            bytes: self.bytes.into_owned(),
            header: self.header,
            resident: self.resident.map(Bytes::into_owned),
        }
    }

    /// What kernels read.
    #[doc(hidden)]
    pub fn view(&self) -> ClipView<'_> {
        ClipView {
            bytes: self.bytes.as_slice(),
            header: &self.header,
            resident: self.resident.as_ref().map_or(&[], Bytes::as_slice),
        }
    }

    /// The bytes, as [`from_bytes`](Self::from_bytes) took them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// How many joints the skeleton has that it is for.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.header.joint_count
    }

    /// The fingerprint of the skeleton that it is for, if it is known; on another one the clip is refused.
    #[must_use]
    pub fn fingerprint(&self) -> Option<u32> {
        Some(self.header.fingerprint).filter(|&of| of != 0)
    }

    /// The fingerprint of the rest pose that its curves are relative to, if it is known; on another one the clip is refused.
    #[must_use]
    pub fn rest_fingerprint(&self) -> Option<u32> {
        Some(self.header.rest_fingerprint).filter(|&of| of != 0)
    }

    /// The time of the first moment, in seconds. Clips need not start at 0.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.header.start.into()
    }

    /// The time of the last moment, in seconds.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.header.end.into()
    }

    /// Seconds from the first moment to the last.
    #[must_use]
    pub fn duration(&self) -> f64 {
        self.view().duration()
    }

    /// Frames in a second: the spacing that the encoder measured errors at. 0 for a single moment.
    #[must_use]
    pub fn rate(&self) -> f32 {
        let duration = self.duration();
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

    /// The free tracks, which drive no joint: what each drives, and its number of components. They are morph
    /// weights, and scalar, vector and rotation tracks.
    pub fn free_tracks(&self) -> impl ExactSizeIterator<Item = (Target, usize)> + use<'_> {
        self.view().free_tracks()
    }

    /// The fallback tracks, each with the seconds of its keys, as its only
    /// timeline; without those of joints that are curves for a part of the clip. Allocates.
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

    /// The seconds of the keys of all fallback tracks, also of those that are
    /// curves for a part of the clip.
    #[doc(hidden)]
    pub fn authored_times(&self) -> impl Iterator<Item = Vec<f32>> + use<'_> {
        self.view().fallback_tracks().map(|track| track.seconds())
    }

    /// Whether the root's motion was taken out of the pose, for [`motion_at`](Self::motion_at) to be asked
    /// for.
    #[must_use]
    pub fn has_motion(&self) -> bool {
        self.view().has_motion()
    }

    /// How many events the clip holds.
    #[must_use]
    pub fn event_count(&self) -> usize {
        self.header.event_count
    }

    /// An event, in the order of time: its seconds since the clip's start, and its name. `None` after the
    /// last one.
    #[must_use]
    pub fn event(&self, at: usize) -> Option<(f64, &str)> {
        self.view().event(at)
    }
}

/// Two clips are equal if their bytes are.
impl PartialEq for Clip<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Clip<'_> {}

/// What it holds, in a line.
impl fmt::Debug for Clip<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { joint_count, free_track_count, event_count, start, end, .. } = self.header;
        f.debug_struct("Clip")
            .field("joints", &joint_count)
            .field("free_tracks", &free_track_count)
            .field("events", &event_count)
            .field("seconds", &(start..=end))
            .field("bytes", &self.as_bytes().len())
            .field("is_resident", &self.is_resident())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests;
