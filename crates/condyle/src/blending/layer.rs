//! What is blended and what is added, and how rotations are averaged.

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
    /// What is mixed in.
    pub pose: &'a Pose,
    /// How much of the pose there is, relative to the sum of all weights: any finite number. Negative ones
    /// lead away from the pose.
    pub weight: f32,
    /// A factor of the weight for each joint, normally from 0 to 1; any number will do whose product with the
    /// weight f32 can hold. Another one makes its joint NaN, unless the weight is 0. `None`: 1 everywhere.
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
    /// What is added: a [`difference`](super::difference).
    pub difference: &'a Pose,
    /// How much of the difference there is, whatever else is added: any finite number. 1 is all of it, 0
    /// nothing; negative ones lead the other way, those above 1 beyond.
    pub amount: f32,
    /// A factor of the amount for each joint, normally from 0 to 1; any number will do whose product with the
    /// amount f32 can hold. Another one makes its joint NaN, unless the amount is 0. `None`: 1 everywhere.
    pub mask: Option<&'a [f32]>,
}

/// What kernels read of a layer, whatever its number means.
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
    /// A layer for all joints alike.
    #[must_use]
    pub fn new(pose: &'a Pose, weight: f32) -> Self {
        Self { pose, weight, mask: None }
    }

    /// That a layer fits `joints` joints and has a weight; `at` is its place among others.
    pub(super) fn check(&self, at: usize, joints: usize) -> Result<(), Error> {
        check("layer", self, joints)?;
        if self.weight.is_finite() { Ok(()) } else { Err(Error::NotFinite { what: "weights", at }) }
    }
}

impl<'a> Additive<'a> {
    /// A difference for all joints alike.
    #[must_use]
    pub fn new(difference: &'a Pose, amount: f32) -> Self {
        Self { difference, amount, mask: None }
    }

    /// That a difference fits `joints` joints and has an amount; `at` is its place among others.
    pub(super) fn check(&self, at: usize, joints: usize) -> Result<(), Error> {
        check("difference", self, joints)?;
        if self.amount.is_finite() { Ok(()) } else { Err(Error::NotFinite { what: "amounts", at }) }
    }
}

fn check(what: &'static str, layer: &impl Weighted, joints: usize) -> Result<(), Error> {
    layer.pose().check_joints(what, joints)?;
    layer.mask().map_or(Ok(()), |mask| Error::check_len("mask", mask.len(), joints))
}

/// How the mean of several rotations is defined.
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
/// // Three quarters of the angle; the faster mean comes near.
/// assert!((angle(Mean::ExponentialMap)? - 67.5).abs() < 1e-3);
/// assert!((angle(Mean::Linear)? - 68.4).abs() < 0.1);
/// # Ok::<(), condyle::Error>(())
/// ```
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
