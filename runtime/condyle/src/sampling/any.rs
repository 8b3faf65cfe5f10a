//! A raw or a compressed clip, for code that takes either.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::clip::sample;
use super::raw::{RawCursor, raw};
use super::source::PoseSource;
use crate::clip::{Clip, RawClip};
use crate::pose::Pose;
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::order;

/// A raw or compressed clip with its name, for code that takes either form. The clip is owned or borrowed.
///
/// ```
/// use condyle::sampling::{AnyClip, PoseSource};
/// use condyle::{Pose, RawClip, Skeleton};
///
/// let raw = RawClip::new("still".into(), vec![], vec![])?;
/// let clip = AnyClip::from(&raw);
/// let skeleton = Skeleton::new([])?;
/// clip.pose(&skeleton, clip.start(), &mut Pose::rest(&skeleton))?;
/// assert_eq!(clip.name(), "still");
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum AnyClip<'a> {
    /// Authored clip.
    Raw(Cow<'a, RawClip>),
    /// Compressed clip; clones share its bytes.
    Compressed {
        /// Name of the clip, which the bytes of a compressed clip do not contain.
        name: Cow<'a, str>,
        /// Compressed clip.
        clip: Clip<'a>,
    },
}

impl<'a> AnyClip<'a> {
    /// Returns a compressed clip with a name.
    pub fn compressed(name: impl Into<Cow<'a, str>>, clip: Clip<'a>) -> Self {
        Self::Compressed { name: name.into(), clip }
    }

    /// Returns the same clip, borrowed.
    #[must_use]
    pub fn borrowed(&self) -> AnyClip<'_> {
        match self {
            Self::Raw(clip) => AnyClip::Raw(Cow::Borrowed(clip)),
            Self::Compressed { name, clip } => AnyClip::compressed(&**name, clip.clone()),
        }
    }

    /// Name of the clip.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Raw(clip) => clip.name(),
            Self::Compressed { name, .. } => name,
        }
    }

    /// Returns the raw clip, or `None` if the clip is compressed.
    #[must_use]
    pub fn as_raw(&self) -> Option<&RawClip> {
        match self {
            Self::Raw(clip) => Some(clip),
            Self::Compressed { .. } => None,
        }
    }

    /// Returns the compressed clip, or `None` if the clip is raw.
    #[must_use]
    pub fn as_compressed(&self) -> Option<&Clip<'a>> {
        match self {
            Self::Raw(_) => None,
            Self::Compressed { clip, .. } => Some(clip),
        }
    }

    /// Returns the times, in seconds and ascending order, of all keys of a raw clip or all frames of a
    /// compressed clip.
    #[must_use]
    pub fn moments(&self) -> Vec<f64> {
        let mut moments: Vec<f64> = match self {
            Self::Raw(clip) => {
                let mut used: Vec<usize> = clip.tracks().iter().map(|track| track.timeline).collect();
                order::sort_by(&mut used, |&timeline| timeline as u64);
                used.dedup();
                used.into_iter().flat_map(|at| &clip.timelines()[at]).map(|&key| f64::from(key)).collect()
            }
            Self::Compressed { clip, .. } => {
                let (start, end) = (clip.start(), clip.end());
                let part = |at: usize| at as f64 / clip.frame_count().max(1) as f64;
                (0..=clip.frame_count()).map(|at| start + (end - start) * part(at)).collect()
            }
        };
        order::sort_numbers(&mut moments);
        moments.dedup();
        moments
    }

    /// Samples the pose at a given time, like [`PoseSource::pose`]. For a raw clip, the key search starts
    /// from the last time, which `cursor` remembers: this is faster for consecutive times.
    ///
    /// # Errors
    /// Those of [`PoseSource::pose`].
    pub fn sample(
        &self,
        skeleton: &Skeleton,
        seconds: f64,
        cursor: &mut RawCursor,
        pose: &mut Pose,
    ) -> Result<(), Error> {
        match self {
            Self::Raw(clip) => raw(clip, skeleton, seconds, cursor, pose),
            Self::Compressed { clip, .. } => sample(clip, skeleton, seconds, pose),
        }
    }

    fn source(&self) -> &dyn PoseSource {
        match self {
            Self::Raw(clip) => &**clip,
            Self::Compressed { clip, .. } => clip,
        }
    }
}

impl<'a> From<&'a RawClip> for AnyClip<'a> {
    fn from(clip: &'a RawClip) -> Self {
        Self::Raw(Cow::Borrowed(clip))
    }
}

impl<'a> From<&'a AnyClip<'_>> for AnyClip<'a> {
    fn from(clip: &'a AnyClip<'_>) -> Self {
        clip.borrowed()
    }
}

impl From<RawClip> for AnyClip<'_> {
    fn from(clip: RawClip) -> Self {
        Self::Raw(Cow::Owned(clip))
    }
}

impl PoseSource for AnyClip<'_> {
    fn start(&self) -> f64 {
        self.source().start()
    }

    fn end(&self) -> f64 {
        self.source().end()
    }

    fn pose(&self, skeleton: &Skeleton, seconds: f64, pose: &mut Pose) -> Result<(), Error> {
        self.source().pose(skeleton, seconds, pose)
    }

    fn weights(&self, node: u32, seconds: f64, weights: &mut [f32]) -> Result<(), Error> {
        self.source().weights(node, seconds, weights)
    }
}
