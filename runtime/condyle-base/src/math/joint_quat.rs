//! A joint as a structure, for arrays of structures.

use super::transform::{Affine, Quat, Transform};

/// A local transform with one scale for all axes, 32 bytes: half a cache line.
///
/// The stages work on `Pose`, which is faster. Use lists of this type to exchange data with code that stores
/// arrays of structures. `Pose::from_joints` and `Pose::write_joints` convert them.
///
/// ```
/// use condyle::math::JointQuat;
/// use condyle::{Affine, Transform};
///
/// let joint = JointQuat { translation: [0.0, 1.0, 0.0], scale: 2.0, ..JointQuat::default() };
/// assert_eq!(Transform::from(joint).scale, [2.0; 3]);
/// assert_eq!(Affine::from(joint).transform_point([1.0, 1.0, 0.0]), [2.0, 3.0, 0.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(16))]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct JointQuat {
    /// Unit quaternion, `[x, y, z, w]`.
    pub rotation: Quat,
    /// Translation in metres.
    pub translation: [f32; 3],
    /// Scale factor of all three axes.
    pub scale: f32,
}

/// A joint as a matrix of three rows, 48 bytes. Output type of conversions from lists of [`JointQuat`].
pub type JointMat = Affine;

const _: () = assert!(size_of::<JointQuat>() == 32 && size_of::<JointMat>() == 48);

impl JointQuat {
    /// No rotation, no translation, scale 1.
    pub const IDENTITY: Self = Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3], scale: 1.0 };
}

impl Default for JointQuat {
    #[inline]
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl From<JointQuat> for Transform {
    #[inline]
    fn from(joint: JointQuat) -> Self {
        Self { rotation: joint.rotation, translation: joint.translation, scale: [joint.scale; 3] }
    }
}

impl From<JointQuat> for Affine {
    #[inline]
    fn from(joint: JointQuat) -> Self {
        Self::from_transform(&joint.into())
    }
}
