//! Local transforms of all joints of a character, stored as a structure of arrays for SIMD.
//!
//! [`sampling`](crate::sampling) writes a [`Pose`], [`blending`](crate::blending) combines poses, and
//! [`model`](crate::model) computes matrices from them.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use condyle_base::error::Error;
use condyle_base::math::scalar::worst;
use condyle_base::math::{Affine, JointQuat, Transform};
use condyle_base::simd::BLOCK;
pub use condyle_base::simd::Lanes;

/// Local transforms of sixteen joints, one array per component.
///
/// ```
/// use condyle::Pose;
///
/// // Lift every joint by half a metre, one block of sixteen joints at a time.
/// let mut pose = Pose::identity(20);
/// for block in pose.blocks_mut() {
///     let [_, y, _] = &mut block.translation;
///     y.iter_mut().for_each(|y| *y += 0.5);
/// }
/// assert_eq!(pose.get(19).translation, [0.0, 0.5, 0.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct PoseBlock {
    /// Unit quaternions: `x`, `y`, `z`, `w`.
    pub rotation: [Lanes; 4],
    /// Translations in metres.
    pub translation: [Lanes; 3],
    /// Scale factor per axis.
    pub scale: [Lanes; 3],
}

const _: () = assert!(size_of::<PoseBlock>() == 640 && align_of::<PoseBlock>() == 64);

impl PoseBlock {
    /// Number of joints in a block.
    pub const JOINTS: usize = BLOCK;

    /// Sixteen copies of [`Transform::IDENTITY`].
    pub const IDENTITY: Self = Self {
        rotation: [[0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK], [1.0; BLOCK]],
        translation: [[0.0; BLOCK]; 3],
        scale: [[1.0; BLOCK]; 3],
    };

    #[inline]
    pub(crate) fn get(&self, lane: usize) -> Transform {
        Transform {
            rotation: self.rotation.each_ref().map(|c| c[lane]),
            translation: self.translation.each_ref().map(|c| c[lane]),
            scale: self.scale.each_ref().map(|c| c[lane]),
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, lane: usize, t: &Transform) {
        for (c, v) in self.rotation.iter_mut().zip(t.rotation) {
            c[lane] = v;
        }
        for (c, v) in self.translation.iter_mut().zip(t.translation) {
            c[lane] = v;
        }
        for (c, v) in self.scale.iter_mut().zip(t.scale) {
            c[lane] = v;
        }
    }
}

/// Local transforms of all joints of a skeleton, in blocks of sixteen.
///
/// The padding lanes after the last joint hold [`Transform::IDENTITY`] or values that a kernel left there.
/// They are never NaN unless a joint is. They are not part of any result, and may differ between instruction
/// sets even in the portable mode.
///
/// ```
/// use condyle::{Pose, Transform};
///
/// let mut pose = Pose::identity(67);
/// let head = Transform { translation: [0.0, 0.2, 0.0], ..Transform::IDENTITY };
/// pose.set(5, &head);
/// assert_eq!(pose.get(5), head);
/// assert_eq!(pose.transforms().filter(|joint| *joint == Transform::IDENTITY).count(), 66);
/// ```
pub struct Pose {
    blocks: Vec<PoseBlock>,
    joint_count: usize,
}

/// `clone_from` reuses the memory, and allocates only if it is too small.
impl Clone for Pose {
    fn clone(&self) -> Self {
        Self { blocks: self.blocks.clone(), joint_count: self.joint_count }
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { blocks, joint_count } = source;
        self.blocks.clone_from(blocks);
        self.joint_count = *joint_count;
    }
}

/// Prints only the number of joints, because the transforms are thousands of numbers.
impl fmt::Debug for Pose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pose").field("joint_count", &self.joint_count).finish_non_exhaustive()
    }
}

/// Compares the joints, without the padding.
impl PartialEq for Pose {
    fn eq(&self, other: &Self) -> bool {
        self.joint_count == other.joint_count && self.transforms().eq(other.transforms())
    }
}

impl Pose {
    /// Returns a pose with every joint at [`Transform::IDENTITY`].
    #[must_use]
    #[inline]
    pub fn identity(joint_count: usize) -> Self {
        Self { blocks: vec![PoseBlock::IDENTITY; joint_count.div_ceil(BLOCK)], joint_count }
    }

    /// Returns a pose with the given transforms, one per joint.
    #[must_use]
    #[inline]
    pub fn from_transforms(transforms: &[Transform]) -> Self {
        let mut pose = Self::identity(transforms.len());
        for (joint, t) in transforms.iter().enumerate() {
            pose.set(joint, t);
        }
        pose
    }

    /// Returns a pose with the given joints. The single scale of a joint applies to all three axes.
    ///
    /// ```
    /// use condyle::math::JointQuat;
    /// use condyle::Pose;
    ///
    /// let pose = Pose::from_joints(&[JointQuat { scale: 2.0, ..JointQuat::IDENTITY }; 67]);
    /// assert_eq!(pose.get(66).scale, [2.0; 3]);
    /// ```
    #[must_use]
    #[inline]
    pub fn from_joints(joints: &[JointQuat]) -> Self {
        let mut pose = Self::identity(joints.len());
        for (joint, &t) in joints.iter().enumerate() {
            pose.set(joint, &t.into());
        }
        pose
    }

    /// Writes one [`JointQuat`] per joint, and returns the largest relative error: 0 if every joint has the
    /// same scale on all axes.
    ///
    /// Joints with the same scale on all axes are copied bit for bit. For any other joint, `joints` receives
    /// [`Affine::to_joint`] of its matrix. The error of such a joint is the largest error of a matrix entry,
    /// relative to the largest entry of the matrix. The result is NaN if the matrix of such a joint holds NaN
    /// or an infinity.
    ///
    /// # Errors
    /// [`Error::Length`] if `joints` does not hold one element per joint.
    ///
    /// ```
    /// use condyle::math::JointQuat;
    /// use condyle::{Pose, Transform};
    ///
    /// let mut joints = [JointQuat::IDENTITY; 2];
    /// let even = Transform { scale: [3.0; 3], ..Transform::IDENTITY };
    /// let flat = Transform { scale: [2.0, 1.0, 0.0], ..Transform::IDENTITY };
    /// assert_eq!(Pose::from_transforms(&[even; 2]).write_joints(&mut joints)?, 0.0);
    /// assert_eq!(joints[1].scale, 3.0);
    /// assert_eq!(Pose::from_transforms(&[even, flat]).write_joints(&mut joints)?, 0.5);
    /// assert_eq!(joints[1].scale, 1.0);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    #[inline]
    pub fn write_joints(&self, joints: &mut [JointQuat]) -> Result<f32, Error> {
        Error::check_len("joints", joints.len(), self.joint_count)?;
        let mut left_out = 0.0;
        for (joint, t) in joints.iter_mut().zip(self.transforms()) {
            let Transform { rotation, translation, scale: [x, y, z] } = t;
            let apart;
            (*joint, apart) = if x == y && y == z {
                (JointQuat { rotation, translation, scale: x }, 0.0)
            } else {
                Affine::from(t).to_joint()
            };
            left_out = worst([left_out, apart.into()]);
        }
        Ok(left_out as f32)
    }

    /// Number of joints in the pose.
    #[must_use]
    #[inline]
    pub fn joint_count(&self) -> usize {
        self.joint_count
    }

    /// Returns the transform of one joint.
    ///
    /// # Panics
    /// If `joint` is out of range.
    #[must_use]
    #[inline]
    pub fn get(&self, joint: usize) -> Transform {
        assert!(
            joint < self.joint_count,
            "joint {joint} is out of range: the pose has {} joints",
            self.joint_count
        );
        self.blocks[joint / BLOCK].get(joint % BLOCK)
    }

    /// Replaces the transform of one joint.
    ///
    /// # Panics
    /// If `joint` is out of range.
    #[inline]
    pub fn set(&mut self, joint: usize, t: &Transform) {
        assert!(
            joint < self.joint_count,
            "joint {joint} is out of range: the pose has {} joints",
            self.joint_count
        );
        self.blocks[joint / BLOCK].set(joint % BLOCK, t);
    }

    /// Returns the transforms of all joints, in joint order.
    #[inline]
    pub fn transforms(&self) -> impl ExactSizeIterator<Item = Transform> + '_ {
        (0..self.joint_count).map(|joint| self.get(joint))
    }

    /// Returns the blocks: joint `j` is lane `j % 16` of block `j / 16`.
    #[must_use]
    #[inline]
    pub fn blocks(&self) -> &[PoseBlock] {
        &self.blocks
    }

    /// Returns the blocks for writing.
    #[must_use]
    #[inline]
    pub fn blocks_mut(&mut self) -> &mut [PoseBlock] {
        &mut self.blocks
    }

    #[inline]
    /// Checks that the pose holds `needed` joints; `what` names the pose in the error.
    ///
    /// # Errors
    /// [`Error::Length`] with both numbers.
    #[doc(hidden)]
    pub fn check_joints(&self, what: &'static str, needed: usize) -> Result<(), Error> {
        Error::check_len(what, self.joint_count, needed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, SIZES};

    #[test]
    fn transforms_come_back_from_their_lanes() {
        for &joints in SIZES {
            let mut random = Random(joints as u64);
            let transforms: Vec<_> = (0..joints).map(|_| random.transform()).collect();
            let pose = Pose::from_transforms(&transforms);
            assert_eq!((pose.joint_count(), pose.blocks().len()), (joints, joints.div_ceil(BLOCK)));
            assert!(pose.transforms().eq(transforms));
        }
    }

    #[test]
    fn structures_come_back_from_their_lanes() {
        for &joints in SIZES {
            let mut random = Random(joints as u64);
            let all: Vec<_> = (0..joints)
                .map(|_| {
                    let Transform { rotation, translation, scale: [scale, ..] } = random.transform();
                    JointQuat { rotation, translation, scale }
                })
                .collect();
            let pose = Pose::from_joints(&all);
            let mut back = vec![JointQuat::IDENTITY; joints];
            assert_eq!((pose.joint_count(), pose.write_joints(&mut back)), (joints, Ok(0.0)));
            assert_eq!(back, all);
        }
    }

    /// A mirrored axis becomes a half turn and a negative scale. Three different scales have no exact
    /// [`JointQuat`].
    #[test]
    fn other_scales_are_those_of_the_matrix() {
        for scale in [[-1.0, 1.0, 1.0], [1.0, 2.0, 4.0]] {
            let t = Transform { scale, ..Random(1).transform() };
            let mut joints = [JointQuat::IDENTITY; 3];
            let even = Transform::IDENTITY;
            let left_out = Pose::from_transforms(&[even, t, even]).write_joints(&mut joints);
            let (joint, apart) = Affine::from(t).to_joint();
            assert_eq!((left_out, joints[1]), (Ok(apart), joint));
        }
    }

    #[test]
    fn a_scale_that_is_no_number_is_left_out() {
        for bad in [f32::NAN, f32::INFINITY] {
            let [mut broken, even] = [Transform::IDENTITY; 2];
            broken.scale[1] = bad;
            let uneven = Transform { scale: [1.0, 2.0, 4.0], ..even };
            let mut joints = [JointQuat::IDENTITY; 3];
            let left_out = Pose::from_transforms(&[even, broken, uneven]).write_joints(&mut joints);
            assert!(left_out.expect("sizes agree").is_nan(), "{bad}");
            assert_eq!([joints[0].scale, joints[2].scale], [1.0, 7.0 / 3.0], "{bad}");
        }
    }

    #[test]
    fn a_list_of_another_length_is_refused() {
        let refused = Pose::identity(3).write_joints(&mut [JointQuat::IDENTITY; 4]);
        assert_eq!(refused, Err(Error::Length { what: "joints", found: 4, needed: 3 }));
    }

    #[test]
    fn padding_is_not_compared() {
        let mut pose = Pose::identity(3);
        pose.blocks_mut()[0].scale[1][3] = 9.0;
        assert_eq!(pose, Pose::identity(3));
        pose.blocks_mut()[0].scale[1][2] = 9.0;
        assert_ne!(pose, Pose::identity(3));
        assert_ne!(Pose::identity(3), Pose::identity(4));
    }

    #[test]
    #[should_panic(expected = "joint 3 is out of range: the pose has 3 joints")]
    fn there_is_no_joint_in_the_padding() {
        let _ = Pose::identity(3).get(3);
    }
}
