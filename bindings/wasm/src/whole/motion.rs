//! Clips, compressed or not, and unpacked ones.

use std::rc::Rc;

use condyle::frames::Frames;
use condyle::sampling::{AnyClip, PoseSource, RawCursor, raw, sample};
use condyle::{Clip, FrameLayer, Pose, Skeleton, sample_frames};
use condyle_base::error::Error;

use crate::encode::Origin;

/// State of a character that samples uncompressed clips.
pub(crate) type Cursor = RawCursor;

/// A clip.
pub(crate) struct Motion {
    pub(crate) clip: AnyClip<'static>,
    /// The clip unpacked: poses are sampled from it.
    pub(crate) frames: Option<Frames>,
    /// Identity of the clip, for caches.
    pub(crate) id: Rc<()>,
    pub(crate) origin: Origin,
}

impl Motion {
    pub(crate) fn new(clip: AnyClip<'static>, shell: Option<f32>) -> Self {
        Self { clip, frames: None, id: Rc::default(), origin: Origin::new(shell) }
    }

    pub(crate) fn compressed_of(name: &str, clip: Clip<'static>) -> Self {
        Self::new(AnyClip::compressed(name.to_owned(), clip), None)
    }

    /// Forgets that this clip was made of one that is replaced.
    pub(crate) fn replaced(&mut self, clip: Option<usize>) {
        self.origin.replaced(clip);
    }

    pub(crate) fn name(&self) -> &str {
        self.clip.name()
    }

    pub(crate) fn compressed(&self) -> Option<&Clip<'static>> {
        self.clip.as_compressed()
    }

    pub(crate) fn start(&self) -> f64 {
        PoseSource::start(&self.clip)
    }

    pub(crate) fn end(&self) -> f64 {
        PoseSource::end(&self.clip)
    }

    pub(crate) fn byte_count(&self) -> usize {
        match &self.clip {
            AnyClip::Raw(clip) => clip.byte_count(),
            AnyClip::Compressed { clip, .. } => clip.as_bytes().len(),
        }
    }

    pub(crate) fn is_unpacked(&self) -> bool {
        self.frames.is_some()
    }

    /// Rate, error bounds and bytes of the frames, if there are any.
    pub(crate) fn frame_numbers(&self) -> Option<[f64; 4]> {
        let frames = self.frames.as_ref()?;
        let [error, seam_error] = [frames.error(), frames.seam_error()].map(f64::from);
        Some([frames.rate(), error, seam_error, frames.memory() as f64])
    }

    /// Samples the frames, or the clip if it is not unpacked.
    pub(crate) fn sample(
        &self,
        skeleton: &Skeleton,
        seconds: f64,
        cursor: &mut Cursor,
        pose: &mut Pose,
    ) -> Result<(), Error> {
        if let Some(frames) = &self.frames {
            let layer = FrameLayer::new(frames, seconds, 1.0);
            return sample_frames(skeleton, &[layer], pose);
        }
        match &self.clip {
            AnyClip::Raw(clip) => raw(clip, skeleton, seconds, cursor, pose),
            AnyClip::Compressed { clip, .. } => sample(clip, skeleton, seconds, pose),
        }
    }
}

/// Samples and blends two clips in one pass. Returns whether both have frames.
pub(crate) fn is_blended(
    skeleton: &Skeleton,
    layers: [(Option<&Motion>, f32, f32); 2],
    pose: &mut Pose,
) -> Result<bool, Error> {
    let [a, b] = layers.map(|(clip, seconds, weight)| {
        let frames = clip?.frames.as_ref()?;
        Some(FrameLayer::new(frames, seconds.into(), weight))
    });
    let (Some(a), Some(b)) = (a, b) else { return Ok(false) };
    sample_frames(skeleton, &[a, b], pose)?;
    Ok(true)
}
