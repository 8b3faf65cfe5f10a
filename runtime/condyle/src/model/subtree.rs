//! Update of one joint and its descendants.

use fearless_simd::prelude::*;

use super::rows::{attach, write_locals};
use crate::pose::{Pose, PoseBlock};
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::simd::{BLOCK, Mode, dispatch};

/// Updates the model-space matrices of one joint and its descendants after their local transforms have
/// changed.
///
/// The results have the same bits as those of [`local_to_model`](super::local_to_model) for the joints of
/// [`Skeleton::subtree`]. Other matrices in `model` are unchanged; that of the joint's parent must be up to
/// date. The cost is proportional to the size of the subtree.
///
/// # Errors
/// [`Error::Length`] if the joint count of `pose` differs from the skeleton's, or if `model` does not hold
/// one matrix per joint. [`Error::Index`] if `joint` is out of range.
///
/// ```
/// use condyle::{Affine, Pose, Transform, example, local_to_model, model};
///
/// // Two joints, each 1 m above its parent.
/// let skeleton = example::chain(["shoulder", "elbow"], [0.0, 1.0, 0.0]);
/// let mut pose = Pose::rest(&skeleton);
/// let mut placed = vec![Affine::IDENTITY; skeleton.joint_count()];
/// local_to_model(&skeleton, &pose, &mut placed)?;
/// // An inverse kinematics solver has bent the elbow, joint 1.
/// let half = std::f32::consts::FRAC_1_SQRT_2;
/// pose.set(1, &Transform { rotation: [0.0, 0.0, half, half], ..pose.get(1) });
/// model::subtree(&skeleton, &pose, 1, &mut placed)?;
/// let hand = placed[1].transform_point([0.0, 1.0, 0.0]);
/// assert!((hand[0] + 1.0).abs() < 1e-6 && (hand[1] - 2.0).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn subtree(skeleton: &Skeleton, pose: &Pose, joint: u16, model: &mut [Affine]) -> Result<(), Error> {
    let count = skeleton.joint_count();
    pose.check_joints("pose", count)?;
    Error::check_len("model", model.len(), count)?;
    if usize::from(joint) >= count {
        return Err(Error::Index { what: "joint", at: 0, found: joint.into(), count });
    }
    dispatch!(|s, mode| place(s, mode, skeleton.subtree(joint), skeleton.parents(), pose.blocks(), model));
    Ok(())
}

#[inline(always)]
fn place<S: Simd, M: Mode>(
    s: S,
    mode: M,
    subtree: &[u16],
    parents: &[u16],
    blocks: &[PoseBlock],
    model: &mut [Affine],
) {
    let mut local = [Affine::IDENTITY; BLOCK];
    let mut gathered = PoseBlock::IDENTITY;
    for joints in subtree.chunks(BLOCK) {
        for (lane, &joint) in joints.iter().enumerate() {
            let (from, joint) = (usize::from(joint) % BLOCK, usize::from(joint) / BLOCK);
            if let Some(block) = blocks.get(joint) {
                for (to, component) in gathered.rotation.iter_mut().zip(&block.rotation) {
                    to[lane % BLOCK] = component[from];
                }
                for (to, component) in gathered.translation.iter_mut().zip(&block.translation) {
                    to[lane % BLOCK] = component[from];
                }
                for (to, component) in gathered.scale.iter_mut().zip(&block.scale) {
                    to[lane % BLOCK] = component[from];
                }
            }
        }
        write_locals(s, mode, &gathered, joints.len(), &mut local);
        for (&joint, local) in joints.iter().zip(&local) {
            model.get_mut(usize::from(joint)).into_iter().for_each(|to| *to = *local);
        }
        let pairs = joints.iter().filter_map(|&joint| Some([joint, *parents.get(usize::from(joint))?]));
        attach(s, mode, pairs, model);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::local_to_model;
    use crate::testing::{Random, SIZES};
    use condyle_base::simd::Dispatch;
    use std::vec;

    #[test]
    fn a_subtree_is_as_in_a_full_update_and_the_rest_stays() {
        for &joints in SIZES.iter().filter(|&&n| n > 0) {
            let mut random = Random(joints as u64);
            let (skeleton, before) = (random.skeleton(joints), random.pose(joints));
            for dispatch in Dispatch::all() {
                for changed in [0, joints / 3, joints / 2, joints - 1] {
                    let mut pose = before.clone();
                    pose.set(changed, &random.transform());
                    let mut got = vec![Affine::IDENTITY; joints];
                    let mut want = got.clone();
                    dispatch.scope(|| {
                        local_to_model(&skeleton, &before, &mut got).expect("sizes agree");
                        subtree(&skeleton, &pose, changed as u16, &mut got).expect("sizes agree");
                        local_to_model(&skeleton, &pose, &mut want).expect("sizes agree");
                    });
                    for (joint, (got, want)) in got.iter().zip(&want).enumerate() {
                        let bits = |m: &Affine| m.rows.map(|row| row.map(f32::to_bits));
                        assert_eq!(bits(got), bits(want), "{dispatch}, {changed} of {joints}, joint {joint}");
                    }
                }
            }
        }
    }

    /// Joints outside the subtree must not be written, even if their matrices are wrong.
    #[test]
    fn others_are_left_alone() {
        let skeleton = Random(4).skeleton(30);
        let mut model = vec![Affine { rows: [[9.0; 4]; 3] }; 30];
        subtree(&skeleton, skeleton.rest(), 13, &mut model).expect("sizes agree");
        for (joint, m) in model.iter().enumerate() {
            let below = skeleton.subtree(13).contains(&(joint as u16));
            assert_eq!(m.rows[0][0] != 9.0, below, "joint {joint}");
        }
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let skeleton = Random(1).skeleton(3);
        let mut model = [Affine::IDENTITY; 3];
        let refused = subtree(&skeleton, skeleton.rest(), 3, &mut model);
        assert_eq!(refused, Err(Error::Index { what: "joint", at: 0, found: 3, count: 3 }));
        let refused = subtree(&skeleton, skeleton.rest(), 0, &mut model[..2]);
        assert_eq!(refused, Err(Error::Length { what: "model", found: 2, needed: 3 }));
        let refused = subtree(&skeleton, &Pose::identity(4), 0, &mut model);
        assert_eq!(refused, Err(Error::Length { what: "pose", found: 4, needed: 3 }));
    }
}
