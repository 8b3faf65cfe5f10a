//! Layers of a blend, additive layers, and the two definitions of the mean of rotations.

use crate::pose::Pose;
use condyle_base::error::Error;

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
    /// Pose to blend.
    pub pose: &'a Pose,
    /// Weight of the pose, relative to the sum of all weights. Any finite number. A negative weight moves the
    /// result away from the pose.
    pub weight: f32,
    /// Factor of the weight for each joint, normally from 0 to 1. Any number is allowed if its product with
    /// the weight is finite; otherwise the joint becomes NaN, unless the weight is 0. `None` means 1 for all
    /// joints.
    pub mask: Option<&'a [f32]>,
}

/// One of the differences that [`add`](super::add) adds to a pose.
///
/// ```
/// use condyle::blending::Additive;
/// use condyle::Pose;
///
/// let breath = Pose::identity(2);
/// let half_in_the_chest = Additive { mask: Some(&[0.0, 1.0]), ..Additive::new(&breath, 0.5) };
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Additive<'a> {
    /// Pose to add: a [`difference`](super::difference).
    pub difference: &'a Pose,
    /// Factor of the difference, independent of other layers. Any finite number: 1 adds the whole difference,
    /// 0 nothing. A negative amount applies the opposite, an amount above 1 exaggerates.
    pub amount: f32,
    /// Factor of the amount for each joint, normally from 0 to 1. Any number is allowed if its product with
    /// the amount is finite; otherwise the joint becomes NaN, unless the amount is 0. `None` means 1 for all
    /// joints.
    pub mask: Option<&'a [f32]>,
}

/// Input of the kernels: a pose with a weight or an amount, and a mask.
pub(super) trait Weighted {
    fn pose(&self) -> &Pose;
    fn weight(&self) -> f32;
    fn mask(&self) -> Option<&[f32]>;
}

impl Weighted for Layer<'_> {
    #[inline(always)]
    fn pose(&self) -> &Pose {
        self.pose
    }

    #[inline(always)]
    fn weight(&self) -> f32 {
        self.weight
    }

    #[inline(always)]
    fn mask(&self) -> Option<&[f32]> {
        self.mask
    }
}

impl Weighted for Additive<'_> {
    #[inline(always)]
    fn pose(&self) -> &Pose {
        self.difference
    }

    #[inline(always)]
    fn weight(&self) -> f32 {
        self.amount
    }

    #[inline(always)]
    fn mask(&self) -> Option<&[f32]> {
        self.mask
    }
}

impl<'a> Layer<'a> {
    /// Returns a layer with the same weight for all joints.
    #[must_use]
    pub fn new(pose: &'a Pose, weight: f32) -> Self {
        Self { pose, weight, mask: None }
    }

    /// Checks that the layer has `joints` joints and a finite weight; `at` is its index in the list of
    /// layers.
    pub(super) fn check(&self, at: usize, joints: usize) -> Result<(), Error> {
        check("layer", self, joints)?;
        if self.weight.is_finite() { Ok(()) } else { Err(Error::NotFinite { what: "weights", at }) }
    }
}

impl<'a> Additive<'a> {
    /// Returns an additive layer with the same amount for all joints.
    #[must_use]
    pub fn new(difference: &'a Pose, amount: f32) -> Self {
        Self { difference, amount, mask: None }
    }

    /// Checks that the difference has `joints` joints and a finite amount; `at` is its index in the list of
    /// layers.
    pub(super) fn check(&self, at: usize, joints: usize) -> Result<(), Error> {
        check("difference", self, joints)?;
        if self.amount.is_finite() { Ok(()) } else { Err(Error::NotFinite { what: "amounts", at }) }
    }
}

fn check(what: &'static str, layer: &impl Weighted, joints: usize) -> Result<(), Error> {
    layer.pose().check_joints(what, joints)?;
    layer.mask().map_or(Ok(()), |mask| Error::check_len("mask", mask.len(), joints))
}

/// Definition of the mean of several rotations.
///
/// ```
/// use condyle::blending::{self, Mean};
/// use condyle::{Layer, Pose, Transform};
///
/// let turned = |degrees: f32| {
///     let (sin, cos) = (degrees.to_radians() / 2.0).sin_cos();
///     Pose::from_transforms(&[Transform { rotation: [0.0, sin, 0.0, cos], ..Transform::IDENTITY }])
/// };
/// let (front, left) = (turned(0.0), turned(90.0));
/// let layers = [Layer::new(&front, 1.0), Layer::new(&left, 3.0)];
/// let angle = |mean| -> Result<f32, condyle::Error> {
///     let mut pose = Pose::identity(1);
///     blending::about(&front, &layers, mean, &mut pose)?;
///     Ok((2.0 * pose.get(0).rotation[1].asin()).to_degrees())
/// };
/// // Three quarters of the angle, exactly and by the faster mean.
/// assert!((angle(Mean::ExponentialMap)? - 67.5).abs() < 1e-3);
/// assert!((angle(Mean::Linear)? - 68.4).abs() < 0.1);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Mean {
    /// Weighted sum of the quaternions, normalised to unit length.
    #[default]
    Linear,
    /// `reference · exp(Σ weight · log(reference⁻¹ · rotation))`: the weighted mean of the rotation vectors
    /// from the reference to each rotation.
    ExponentialMap,
}
