//! Sources of poses: authored clips, compressed clips, and types that a program defines itself.
//!
//! Posing, rendering and comparing need poses at times, not a compression format. They take a source, so
//! they do not depend on compression.

use super::raw::{search_raw, search_raw_track};
use crate::clip::{RawClip, Target};
use crate::pose::Pose;
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::simd::Dispatch;

/// A source of poses for any time: a [`RawClip`], a [`Clip`](crate::Clip), or a mix of several.
///
/// A source has no playback state: one source serves any number of characters and threads. `seconds` is a
/// time on the source's own timeline, from [`start`](Self::start) to [`end`](Self::end). Before the start the
/// first pose holds, and after the end the last.
///
/// ```
/// use condyle::sampling::PoseSource;
/// use condyle::{Error, Pose, Skeleton, example};
///
/// /// Plays another source from its end to its start.
/// struct Backward<S>(S);
///
/// impl<S: PoseSource> PoseSource for Backward<S> {
///     fn start(&self) -> f64 { self.0.start() }
///     fn end(&self) -> f64 { self.0.end() }
///     fn pose(&self, skeleton: &Skeleton, seconds: f64, pose: &mut Pose) -> Result<(), Error> {
///         self.0.pose(skeleton, self.start() + self.end() - seconds, pose)
///     }
///     fn weights(&self, node: u32, seconds: f64, weights: &mut [f32]) -> Result<(), Error> {
///         self.0.weights(node, self.start() + self.end() - seconds, weights)
///     }
/// }
///
/// // The walk ends 2 m ahead after one second. Backward, the hips are at 1.5 m after a quarter of a second.
/// let skeleton = example::skeleton();
/// let mut pose = Pose::rest(&skeleton);
/// Backward(example::walk()).pose(&skeleton, 0.25, &mut pose)?;
/// assert_eq!(pose.get(example::HIPS.into()).translation, [0.0, 1.0, 1.5]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub trait PoseSource {
    /// Returns the time of the first pose, in seconds.
    fn start(&self) -> f64;

    /// Returns the time of the last pose, in seconds.
    fn end(&self) -> f64;

    /// Writes the local transforms of all joints at `seconds` to `pose`.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `seconds` is NaN or infinite; other errors if the source was not made for the
    /// skeleton.
    fn pose(&self, skeleton: &Skeleton, seconds: f64, pose: &mut Pose) -> Result<(), Error>;

    /// Writes the morph weights of a node of the document at `seconds` to `weights`, which stays unchanged if
    /// the source does not animate them.
    ///
    /// # Errors
    /// Those of [`pose`](Self::pose), and [`Error::Length`] if the node has another number of morph targets.
    fn weights(&self, node: u32, seconds: f64, weights: &mut [f32]) -> Result<(), Error>;
}

/// Searches the keys for each time. For continuous playback [`raw`](crate::sampling::raw) is faster.
impl PoseSource for RawClip {
    fn start(&self) -> f64 {
        self.start()
    }

    fn end(&self) -> f64 {
        self.end()
    }

    fn pose(&self, skeleton: &Skeleton, seconds: f64, pose: &mut Pose) -> Result<(), Error> {
        search_raw(Dispatch::current(), self, skeleton, seconds, pose)
    }

    fn weights(&self, node: u32, seconds: f64, weights: &mut [f32]) -> Result<(), Error> {
        search_raw_track(self, Target::Weights(node), seconds, weights).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::{RawCursor, raw, raw_track};
    use crate::testing::Random;

    /// Sampling with a search for each time gives the same bits as sampling with a cursor.
    #[test]
    fn a_raw_clip_is_sampled_without_a_cursor() {
        let mut random = Random(4);
        for joints in [1, 17, 40] {
            let (skeleton, clip) = (random.skeleton(joints), random.clip(joints, 12));
            let mut cursor = RawCursor::default();
            let [mut pose, mut want] = [Pose::identity(joints), Pose::identity(joints)];
            for step in 0..40 {
                let seconds = clip.start() - 0.1 + step as f64 * (clip.duration() + 0.2) / 39.0;
                raw(&clip, &skeleton, seconds, &mut cursor, &mut want).expect("sizes agree");
                clip.pose(&skeleton, seconds, &mut pose).expect("sizes agree");
                assert_eq!(pose, want, "{joints} joints at {seconds}");
                let [mut weights, mut wanted] = [[0.0; 5]; 2];
                clip.weights(9, seconds, &mut weights).expect("sizes agree");
                raw_track(&clip, Target::Weights(9), seconds, &mut cursor, &mut wanted).expect("five");
                assert_eq!(weights, wanted, "{joints} joints at {seconds}");
            }
            assert_eq!(
                clip.pose(&skeleton, f64::NAN, &mut pose),
                Err(Error::NotFinite { what: "seconds", at: 0 })
            );
            assert!(clip.pose(&skeleton, 0.0, &mut Pose::identity(joints + 1)).is_err());
        }
    }
}
