//! Where poses come from: authored clips, compressed ones, and whatever a program makes of them.

use condyle::{
    Clip, Error, Pose, RawClip, RawCursor, Rigid, Skeleton, Target, Transform, sample, sample_raw,
    sample_raw_track, sample_track,
};

/// What a [`Poser`](crate::Poser) can show any moment of: a [`RawClip`], a [`Clip`], or a mix of several.
pub trait PoseSource {
    /// The local transforms of all joints. `cursor` may be used to find keys faster; it has no other effect.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a moment that is not a finite number; others if this was not made for the skeleton.
    fn pose(
        &self,
        skeleton: &Skeleton,
        seconds: f32,
        cursor: &mut RawCursor,
        pose: &mut Pose,
    ) -> Result<(), Error>;

    /// The morph weights of a node of the document. They stay as they are where nothing moves them.
    ///
    /// # Errors
    /// As [`pose`](Self::pose), and [`Error::Length`] if the node has another number of morph targets.
    fn weights(
        &self,
        node: u32,
        seconds: f32,
        cursor: &mut RawCursor,
        weights: &mut [f32],
    ) -> Result<(), Error>;
}

impl PoseSource for RawClip {
    fn pose(
        &self,
        skeleton: &Skeleton,
        seconds: f32,
        cursor: &mut RawCursor,
        pose: &mut Pose,
    ) -> Result<(), Error> {
        sample_raw(self, skeleton, seconds, cursor, pose)
    }

    fn weights(
        &self,
        node: u32,
        seconds: f32,
        cursor: &mut RawCursor,
        weights: &mut [f32],
    ) -> Result<(), Error> {
        sample_raw_track(self, Target::Weights(node), seconds, cursor, weights).map(|_| ())
    }
}

/// Moves a character as a whole: what hangs on nothing, and so all that hangs on that.
fn carry(skeleton: &Skeleton, motion: &Rigid, pose: &mut Pose) {
    for joint in (0..skeleton.joint_count()).filter(|&joint| skeleton.parent(joint as u16).is_none()) {
        let local = pose.get(joint);
        let (rotation, translation) = (local.rotation.map(f64::from), local.translation.map(f64::from));
        let moved = *motion * Rigid { rotation, translation };
        pose.set(joint, &Transform { scale: local.scale, ..moved.into() });
    }
}

/// With its motion, if one was taken out.
impl PoseSource for Clip<'_> {
    fn pose(
        &self,
        skeleton: &Skeleton,
        seconds: f32,
        _: &mut RawCursor,
        pose: &mut Pose,
    ) -> Result<(), Error> {
        sample(self, skeleton, seconds, pose)?;
        if self.has_motion() {
            carry(skeleton, &self.motion_at(seconds.into()), pose);
        }
        Ok(())
    }

    fn weights(&self, node: u32, seconds: f32, _: &mut RawCursor, weights: &mut [f32]) -> Result<(), Error> {
        sample_track(self, Target::Weights(node), seconds, weights).map(|_| ())
    }
}
