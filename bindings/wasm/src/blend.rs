//! Blending of two poses, with buffers that are reused.

use condyle::blending::{Layer, Mean, blend};
use condyle::{Pose, Skeleton};
use condyle_base::error::Error;

/// Memory for blends.
pub(crate) struct Blend {
    out: Pose,
    /// Weights of both poses, if there is a mask.
    masks: [Vec<f32>; 2],
}

impl Blend {
    pub(crate) fn new(skeleton: &Skeleton) -> Self {
        let out = Pose::rest(skeleton);
        Self { out, masks: [Vec::new(), Vec::new()] }
    }

    /// Blends `pose` towards `other`. The mask has a factor of the weight for each joint.
    pub(crate) fn towards(
        &mut self,
        skeleton: &Skeleton,
        other: &Pose,
        weight: f32,
        mask: Option<&[f32]>,
        pose: &mut Pose,
    ) -> Result<(), Error> {
        Error::check_number("weight", weight)?;
        let weight = weight.clamp(0.0, 1.0);
        let layers = match mask {
            None => [Layer::new(pose, 1.0 - weight), Layer::new(other, weight)],
            Some(mask) => {
                Error::check_len("mask", mask.len(), skeleton.joint_count())?;
                Error::check_finite("mask", mask, 1)?;
                let parts = mask.iter().map(|part| (weight * part).clamp(0.0, 1.0));
                let [stays, comes] = &mut self.masks;
                comes.clear();
                comes.extend(parts);
                stays.clear();
                stays.extend(comes.iter().map(|part| 1.0 - part));
                [
                    Layer { pose, weight: 1.0, mask: Some(stays) },
                    Layer { pose: other, weight: 1.0, mask: Some(comes) },
                ]
            }
        };
        blend(skeleton, &layers, Mean::Linear, &mut self.out)?;
        std::mem::swap(pose, &mut self.out);
        Ok(())
    }
}
