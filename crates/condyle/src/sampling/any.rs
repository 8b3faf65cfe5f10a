//! A clip in either form.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::clip::sample;
use super::raw::{RawCursor, raw};
use super::source::PoseSource;
use crate::clip::{Clip, RawClip};
use crate::pose::Pose;
use crate::skeleton::Skeleton;
use condyle_base::error::Error;

/// A raw or a compressed clip with its name, for code that takes either. It owns the clip or borrows it.
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
    /// As authored.
    Raw(Cow<'a, RawClip>),
    /// Compressed; a clone shares its bytes.
    Compressed {
        /// Its name, which the bytes of a clip do not hold.
        name: Cow<'a, str>,
        /// The clip.
        clip: Clip<'a>,
    },
}

impl<'a> AnyClip<'a> {
    /// A compressed clip of this name.
    pub fn compressed(name: impl Into<Cow<'a, str>>, clip: Clip<'a>) -> Self {
        Self::Compressed { name: name.into(), clip }
    }

    /// The same clip, borrowed.
    #[must_use]
    pub fn borrowed(&self) -> AnyClip<'_> {
        match self {
            Self::Raw(clip) => AnyClip::Raw(Cow::Borrowed(clip)),
            Self::Compressed { name, clip } => AnyClip::compressed(&**name, clip.clone()),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Raw(clip) => clip.name(),
            Self::Compressed { name, .. } => name,
        }
    }

    /// The clip if it is raw.
    #[must_use]
    pub fn as_raw(&self) -> Option<&RawClip> {
        match self {
            Self::Raw(clip) => Some(clip),
            Self::Compressed { .. } => None,
        }
    }

    /// The clip if it is compressed.
    #[must_use]
    pub fn as_compressed(&self) -> Option<&Clip<'a>> {
        match self {
            Self::Raw(_) => None,
            Self::Compressed { clip, .. } => Some(clip),
        }
    }

    /// The seconds of all keys of a raw clip, or of all frames of a compressed one, rising.
    #[must_use]
    pub fn moments(&self) -> Vec<f64> {
        let mut moments: Vec<f64> = match self {
            Self::Raw(clip) => {
                let used: BTreeSet<usize> = clip.tracks().iter().map(|track| track.timeline).collect();
                used.into_iter().flat_map(|at| &clip.timelines()[at]).map(|&key| f64::from(key)).collect()
            }
            Self::Compressed { clip, .. } => {
                let (start, end) = (clip.start(), clip.end());
                let part = |at: usize| at as f64 / clip.frame_count().max(1) as f64;
                (0..=clip.frame_count()).map(|at| start + (end - start) * part(at)).collect()
            }
        };
        moments.sort_by(f64::total_cmp);
        moments.dedup();
        moments
    }

    /// The pose at a moment, as [`PoseSource::pose`]. The search for the keys of a raw clip goes on from the
    /// last moment, which `cursor` holds: faster for moments that follow one another.
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
