//! Blending of two poses, with buffers that are reused.

use condyle::blending::overlay;
use condyle::{Pose, Skeleton};
use condyle_base::error::Error;

/// Memory for blends.
pub(crate) struct Blend {
    out: Pose,
    /// A mask with all joints. Blends without a mask then run the same kernel, which is smaller than two.
    all: Vec<f32>,
}

impl Blend {
    pub(crate) fn new(skeleton: &Skeleton) -> Self {
        Self { out: Pose::rest(skeleton), all: vec![1.0; skeleton.joint_count()] }
    }

    /// Blends `pose` towards `other`. The mask has a factor of the weight for each joint.
    pub(crate) fn towards(
        &mut self,
        other: &Pose,
        weight: f32,
        mask: Option<&[f32]>,
        pose: &mut Pose,
    ) -> Result<(), Error> {
        let mask = mask.unwrap_or(&self.all);
        Error::check_finite("mask", mask, 1)?;
        overlay(&*pose, other, weight, Some(mask), &mut self.out)?;
        std::mem::swap(pose, &mut self.out);
        Ok(())
    }
}
