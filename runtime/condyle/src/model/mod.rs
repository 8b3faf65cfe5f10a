//! The joint hierarchy: local transforms to model-space matrices, and back.
//!
//! [`local_to_model`] computes the matrices of all joints. [`subtree`](subtree()) updates one joint and its
//! descendants, for example after inverse kinematics. [`model_to_local`] converts matrices from a simulation
//! back to local space, and [`convert::matrices_to_pose`](crate::convert::matrices_to_pose) converts those to
//! a pose.

mod inverse;
mod rows;
mod subtree;

use fearless_simd::{f32x4, prelude::*};

pub use self::inverse::model_to_local;
pub use self::subtree::subtree;
use crate::pose::{Pose, PoseBlock};
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::simd::{BLOCK, Dispatch, Mode, dispatch, each};
use rows::{attach, write_locals};

/// Computes model-space matrices from local transforms, parents first.
///
/// `pose` holds one transform per joint (metres, unit quaternions). `model[j]` receives
/// `model[parent] * local`, or `local` for a root. Nothing is allocated.
///
/// The error of a matrix is at most 2.4e-7, plus 3.5e-7 for each ancestor. For the axes it is relative to the
/// product of the largest scales of the joint and its ancestors. For the translation it is relative to the
/// length of the path to the joint. This is the sum of the translations' lengths, each times the largest
/// scales above it.
///
/// # Errors
/// [`Error::Length`] if the joint count of `pose` differs from the skeleton's, or if `model` does not hold
/// one matrix per joint.
///
/// ```
/// use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model};
///
/// let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
/// let arm = [Joint::new("shoulder", None, up), Joint::new("elbow", Some(0), up)];
/// let skeleton = Skeleton::new(arm)?;
/// let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
/// local_to_model(&skeleton, &Pose::rest(&skeleton), &mut model)?;
/// // The elbow is one metre above the shoulder, which is one metre up.
/// assert_eq!(model[1].transform_point([0.0; 3]), [0.0, 2.0, 0.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn local_to_model(skeleton: &Skeleton, pose: &Pose, model: &mut [Affine]) -> Result<(), Error> {
    local_to_model_by(Dispatch::current(), skeleton, pose, model)
}

/// Does the same as [`local_to_model`], with a given instruction set and numeric mode.
pub(crate) fn local_to_model_by(
    dispatch: Dispatch,
    skeleton: &Skeleton,
    pose: &Pose,
    model: &mut [Affine],
) -> Result<(), Error> {
    pose.check_joints("pose", skeleton.joint_count())?;
    Error::check_len("model", model.len(), skeleton.joint_count())?;
    dispatch!(dispatch, |s, mode| hierarchy(s, mode, skeleton, pose.blocks(), model));
    Ok(())
}

#[inline(always)]
fn hierarchy<S: Simd, M: Mode>(
    s: S,
    mode: M,
    skeleton: &Skeleton,
    blocks: &[PoseBlock],
    model: &mut [Affine],
) {
    let (whole, rest) = model.as_chunks_mut::<BLOCK>();
    for (block, matrices) in blocks.iter().zip(whole) {
        write_locals(s, mode, block, BLOCK, matrices);
    }
    if let (Some(block), false) = (blocks.last(), rest.is_empty()) {
        let mut matrices = [Affine::IDENTITY; BLOCK];
        write_locals(s, mode, block, rest.len(), &mut matrices);
        // Copy row by row, as the rows were stored: a load that spans two stores cannot be forwarded and
        // would wait.
        for (to, local) in rest.iter_mut().zip(&matrices) {
            each!(r in [0, 1, 2] => f32x4::load_array_ref(s, &local.rows[r]).store_slice(&mut to.rows[r]));
        }
    }
    // Attach by depth, because in joint order most joints follow their parent directly and would wait for its
    // matrix.
    attach(s, mode, skeleton.by_depth().iter().copied(), model);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeleton::Joint;
    use crate::testing::reference;
    use crate::testing::{Random, SIZES, assert_close, tries};
    use condyle_base::math::Transform;
    use condyle_base::simd::Dispatch;
    use std::{vec, vec::Vec};

    fn model_of(skeleton: &Skeleton, pose: &Pose) -> Vec<Affine> {
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(skeleton, pose, &mut model).expect("sizes agree");
        model
    }

    #[test]
    fn every_size_is_the_formula() {
        for &joints in SIZES {
            let mut random = Random(joints as u64);
            let (skeleton, pose) = (random.skeleton(joints), random.pose(joints));
            let want = reference::local_to_model(&skeleton, &reference::locals(&pose));
            let reach = reach(&skeleton, &pose);
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| model_of(&skeleton, &pose));
                for (joint, (got, want)) in got.iter().zip(&want).enumerate() {
                    let case = format_args!("{dispatch}, joint {joint} of {joints}");
                    let (above, size, far) = reach[joint];
                    let bound = 2.4e-7 + 3.5e-7 * f64::from(above);
                    for (got, want) in got.rows.iter().zip(want) {
                        assert_close(&got[..3], &want[..3], bound * size, case);
                        assert_close(&got[3..], &want[3..], bound * far, case);
                    }
                }
            }
        }
    }

    /// Returns for each joint the number of ancestors, the maximum size of its axes and the length of the
    /// path to it.
    fn reach(skeleton: &Skeleton, pose: &Pose) -> Vec<(u32, f64, f64)> {
        let mut reach: Vec<(u32, f64, f64)> = Vec::new();
        for (joint, local) in (0..).zip(pose.transforms()) {
            let parent = skeleton.parent(joint).map(|parent| reach[usize::from(parent)]);
            let (above, size, far) =
                parent.map_or((0, 1.0, 0.0), |(above, size, far)| (above + 1, size, far));
            let way = local.translation.iter().map(|v| f64::from(v * v)).sum::<f64>().sqrt();
            let scale = local.scale.iter().fold(0.0, |most, v| f64::from(v.abs()).max(most));
            reach.push((above, size * scale, far + size * way));
        }
        reach
    }

    #[test]
    fn the_scalar_conversion_is_the_formula_too() {
        let mut random = Random(4);
        for case in 0..tries(1000) {
            let t = random.transform();
            let want = reference::local_matrix(&t.into());
            assert_close(Affine::from(t).rows.as_flattened(), want.as_flattened(), 6e-7, case);
        }
    }

    /// The matrix must rotate column vectors like `q v q*` does: about +z from x to y. The transpose would
    /// not.
    #[test]
    fn a_quarter_turn_about_z_takes_x_to_y() {
        let half = core::f32::consts::FRAC_1_SQRT_2;
        let turn = Transform { rotation: [0.0, 0.0, half, half], ..Transform::IDENTITY };
        let joint = Joint::new("", None, turn);
        let skeleton = Skeleton::new([joint]).expect("one root");
        for dispatch in Dispatch::all() {
            let model = dispatch.scope(|| model_of(&skeleton, skeleton.rest()));
            let got = model[0].transform_vector([1.0, 0.0, 0.0]);
            assert_close(&got, &[0.0, 1.0, 0.0], 1.2e-7, dispatch);
        }
    }

    /// The matrix of a joint depends neither on the joint count nor on its lane.
    #[test]
    fn a_result_does_not_depend_on_its_place() {
        let mut random = Random(5);
        let transforms: Vec<_> = (0..3).map(|_| random.transform()).collect();
        for dispatch in Dispatch::all() {
            let mut results = Vec::new();
            for shift in 0..tries(20) as u16 {
                let chain = (0..shift + 3).map(|j| {
                    Joint::new(
                        "",
                        (j > shift).then(|| j - 1),
                        j.checked_sub(shift).map_or(Transform::IDENTITY, |at| transforms[usize::from(at)]),
                    )
                });
                let skeleton = Skeleton::new(chain).expect("a chain");
                let model = dispatch.scope(|| model_of(&skeleton, skeleton.rest()));
                results.push(model[usize::from(shift)..].to_vec());
            }
            assert!(results.windows(2).all(|w| w[0] == w[1]), "{dispatch}");
        }
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let skeleton = Random(1).skeleton(3);
        let mut model = [Affine::IDENTITY; 4];
        let refused = local_to_model(&skeleton, &Pose::identity(2), &mut model);
        assert_eq!(refused, Err(Error::Length { what: "pose", found: 2, needed: 3 }));
        let refused = local_to_model(&skeleton, skeleton.rest(), &mut model);
        assert_eq!(refused, Err(Error::Length { what: "model", found: 4, needed: 3 }));
    }
}
