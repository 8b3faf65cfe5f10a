//! What is blended, and how rotations are averaged.

use crate::error::Error;
use crate::pose::Pose;

/// One of the poses of a [`blend`](super::blend).
///
/// ```
/// use condyle::{Layer, Pose};
///
/// let pose = Pose::identity(2);
/// let upper_body = Layer { mask: Some(&[0.0, 1.0]), ..Layer::new(&pose, 0.5) };
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Layer<'a> {
    /// What is mixed in.
    pub pose: &'a Pose,
    /// How much of it, relative to the other layers' weights: any finite number. Negative ones lead away from
    /// the pose.
    pub weight: f32,
    /// A factor of the weight for each joint, normally from 0 to 1; any number will do whose product with the
    /// weight f32 can hold. Another one makes its joint NaN, unless the weight is 0. `None`: 1 everywhere.
    pub mask: Option<&'a [f32]>,
}

impl<'a> Layer<'a> {
    /// A layer for all joints alike.
    #[must_use]
    pub fn new(pose: &'a Pose, weight: f32) -> Self {
        Self { pose, weight, mask: None }
    }

    /// That a layer fits `joints` joints and has a weight; `at` is its place among others.
    pub(super) fn check(&self, at: usize, joints: usize) -> Result<(), Error> {
        self.pose.check_joints("layer", joints)?;
        if let Some(mask) = self.mask {
            Error::check_len("mask", mask.len(), joints)?;
        }
        if self.weight.is_finite() { Ok(()) } else { Err(Error::NotFinite { what: "weights", at }) }
    }
}

/// How the mean of several rotations is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Mean {
    /// The weighted sum of the quaternions, brought to unit length.
    #[default]
    Linear,
    /// `reference · exp(Σ weight · log(reference⁻¹ · rotation))`: the weighted mean of the turns that lead
    /// from the reference to each rotation, along its exponential map.
    ExponentialMap,
}
