//! Where poses come from: authored clips, compressed ones, and whatever a program makes of them.

use super::raw::{RawCursor, sample_raw_track, search_raw};
use crate::clip::{RawClip, Target};
use crate::error::Error;
use crate::pose::Pose;
use crate::skeleton::Skeleton;

/// What can be asked for the pose of any moment: a [`RawClip`], a [`Clip`](crate::Clip), or a mix of several.
///
/// It remembers nothing: one source serves any number of characters and threads. `seconds` are those of the
/// source's own keys, from [`start`](Self::start) to [`end`](Self::end), which hold before and after.
pub trait PoseSource {
    /// The time of the first moment, in seconds.
    fn start(&self) -> f32;

    /// The time of the last moment, in seconds.
    fn end(&self) -> f32;

    /// The local transforms of all joints.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a moment that is not a finite number; others if this was not made for the
    /// skeleton.
    fn pose(&self, skeleton: &Skeleton, seconds: f32, pose: &mut Pose) -> Result<(), Error>;

    /// The morph weights of a node of the document. They stay as they are where nothing moves them.
    ///
    /// # Errors
    /// As [`pose`](Self::pose), and [`Error::Length`] if the node has another number of morph targets.
    fn weights(&self, node: u32, seconds: f32, weights: &mut [f32]) -> Result<(), Error>;
}

/// Keys are searched for each moment. Where a clip is played on, [`sample_raw`](crate::sample_raw) is faster.
impl PoseSource for RawClip {
    fn start(&self) -> f32 {
        self.start()
    }

    fn end(&self) -> f32 {
        self.end()
    }

    fn pose(&self, skeleton: &Skeleton, seconds: f32, pose: &mut Pose) -> Result<(), Error> {
        search_raw(self, skeleton, seconds, pose)
    }

    fn weights(&self, node: u32, seconds: f32, weights: &mut [f32]) -> Result<(), Error> {
        sample_raw_track(self, Target::Weights(node), seconds, &mut RawCursor::default(), weights).map(|_| ())
    }
}
