//! Recording of any pose source into a raw clip.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::source::PoseSource;
use crate::clip::retime::even_times;
use crate::clip::{Interpolation, RawClip, Target, Track};
use crate::pose::Pose;
use crate::skeleton::Skeleton;
use condyle_base::error::Error;

impl RawClip {
    /// Records the poses of a source into a clip.
    ///
    /// The clip has keys for all joints at `rate` frames per second, with linear interpolation between them.
    /// Frames are counted from the start of the source, like in [`resampled`](Self::resampled). Tracks that
    /// drive no joint are not recorded.
    ///
    /// # Errors
    /// Those of [`resampled`](Self::resampled) and of [`PoseSource::pose`].
    ///
    /// ```
    /// use condyle::{RawClip, example};
    /// use condyle_encode::{EncodeOptions, Shell, encode};
    ///
    /// let (skeleton, wave) = (example::skeleton(), example::wave());
    /// let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
    /// let small = encode(&wave, &skeleton, &options, &mut |_| ())?;
    /// let again = RawClip::from_poses("wave".into(), small.clip(), &skeleton, 30.0)?;
    /// // The wave takes two seconds.
    /// assert_eq!((again.duration(), again.timelines()[0].len()), (2.0, 61));
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn from_poses(
        name: String,
        source: &dyn PoseSource,
        skeleton: &Skeleton,
        rate: f32,
    ) -> Result<Self, Error> {
        let joints = skeleton.joint_count();
        let times = even_times(source.start(), source.end(), rate, 10 * joints)?;
        let mut keys = [Target::Rotation as fn(u16) -> Target, Target::Translation, Target::Scale]
            .map(|target| (target, vec![Vec::with_capacity(4 * times.len()); joints]));
        let mut pose = Pose::rest(skeleton);
        for &seconds in &times {
            source.pose(skeleton, seconds.into(), &mut pose)?;
            for (joint, local) in pose.transforms().enumerate() {
                keys[0].1[joint].extend(local.rotation);
                keys[1].1[joint].extend(local.translation);
                keys[2].1[joint].extend(local.scale);
            }
        }
        let mut tracks = Vec::new();
        for (target, values) in keys {
            tracks.extend((0..).zip(values).map(|(joint, values)| {
                let interpolation = Interpolation::Linear;
                Track { target: target(joint), interpolation, timeline: 0, values }
            }));
        }
        Self::new(name, [times].into(), tracks)?.for_skeleton(skeleton)
    }
}
