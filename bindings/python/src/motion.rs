//! Poses over time, as authored or compressed.

use condyle::sampling::{PoseSource, RawCursor};
use condyle::{Error as Refusal, Pose, RawClip};

/// What poses come from: keys as authored, or as they were compressed.
pub(crate) enum Motion {
    Raw(RawClip),
    /// With the radius around joints within which its error is bounded, in units of the skeleton, if its file
    /// states it.
    Compressed(condyle::Clip<'static>, Option<f32>),
}

impl Motion {
    fn source(&self) -> &dyn PoseSource {
        match self {
            Self::Raw(clip) => clip,
            Self::Compressed(clip, _) => clip,
        }
    }

    /// What it holds besides poses: any of "morph weights and tracks", "root motion" and "events".
    pub(crate) fn extras(&self) -> Vec<&'static str> {
        let (tracks, motion, events) = match self {
            Self::Raw(clip) => {
                (clip.tracks().iter().any(|it| it.target.joint().is_none()), false, false)
            }
            Self::Compressed(clip, _) => {
                (clip.free_tracks().len() > 0, clip.has_motion(), clip.event_count() > 0)
            }
        };
        let all = [(tracks, "morph weights and tracks"), (motion, "root motion"), (events, "events")];
        all.into_iter().filter_map(|(there, what)| there.then_some(what)).collect()
    }

    /// The pose of a moment that mostly follows on the last one: its keys are looked for there first.
    pub(crate) fn next_pose(
        &self,
        skeleton: &condyle::Skeleton,
        seconds: f64,
        cursor: &mut RawCursor,
        pose: &mut Pose,
    ) -> Result<(), Refusal> {
        match self {
            Self::Raw(clip) => condyle::sampling::raw(clip, skeleton, seconds, cursor, pose),
            Self::Compressed(clip, _) => clip.pose(skeleton, seconds, pose),
        }
    }
}

impl PoseSource for Motion {
    fn start(&self) -> f64 {
        self.source().start()
    }

    fn end(&self) -> f64 {
        self.source().end()
    }

    fn pose(&self, skeleton: &condyle::Skeleton, seconds: f64, pose: &mut Pose) -> Result<(), Refusal> {
        self.source().pose(skeleton, seconds, pose)
    }

    fn weights(&self, node: u32, seconds: f64, weights: &mut [f32]) -> Result<(), Refusal> {
        self.source().weights(node, seconds, weights)
    }
}
