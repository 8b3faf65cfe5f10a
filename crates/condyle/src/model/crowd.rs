//! Many instances of one skeleton, each in a lane of its own.

use core::borrow::Borrow;

use alloc::vec::Vec;

use fearless_simd::{f32x4, f32x8, prelude::*};

use crate::convert::rows::{mul_row, transform_rows};
use crate::error::{Error, invariant};
use crate::math::Affine;
use crate::parallel;
use crate::pose::{Pose, PoseBlock};
use crate::simd::{BLOCK, Lanes, Mode, dispatch, transpose_halves};
use crate::skeleton::Skeleton;

/// Instances that are placed together, one per lane.
const LANES: usize = 8;

/// Joints that are transposed together, from one joint per lane to one instance per lane.
const TILE: usize = 4;

/// Floats in a local transform: rotation, translation, scale.
const COMPONENTS: usize = 10;

/// Row `r`, column `c` of the matrices of one joint is element `4 * r + c`; one lane per instance.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct LaneMatrices([[f32; LANES]; 12]);

const IDENTITY: LaneMatrices = {
    let mut lanes = [[0.0; LANES]; 12];
    lanes[0] = [1.0; LANES];
    lanes[5] = [1.0; LANES];
    lanes[10] = [1.0; LANES];
    LaneMatrices(lanes)
};

/// Scratch memory of [`crowd`]: grows to the size of the skeleton on first use and is reused
/// from then on. With the feature `rayon` a large crowd has some for each part.
///
/// ```
/// use condyle::model::{self, CrowdBuffer};
/// use condyle::{Affine, Joint, Pose, Skeleton, Transform};
///
/// # let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
/// # let arm = [Joint::new("shoulder", None, up), Joint::new("elbow", Some(0), up)];
/// # let skeleton = Skeleton::new(arm)?;
/// // Kept from frame to frame.
/// let mut buffer = CrowdBuffer::default();
/// let poses = vec![Pose::rest(&skeleton); 3];
/// let mut models = vec![Affine::IDENTITY; 3 * skeleton.joint_count()];
/// for _frame in 0..2 {
///     model::crowd(&skeleton, &poses, &mut buffer, &mut models)?;
/// }
/// assert_eq!(models[5].transform_point([0.0; 3]), [0.0, 2.0, 0.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct CrowdBuffer {
    parts: Vec<Scratch>,
}

/// What one thread writes to.
#[derive(Debug, Clone, Default)]
struct Scratch {
    /// One per joint.
    model: Vec<LaneMatrices>,
    /// Receives the results of lanes without an instance and of the last block, which may be partial. One per
    /// lane.
    spare: Vec<[Affine; BLOCK]>,
}

/// Turns the local transforms of many instances of one skeleton into model-space matrices.
///
/// `poses` holds one [`Pose`] or reference to one per instance. `models` receives the matrices of the first
/// instance, one per joint, then those of the second, and so on: bit for bit what
/// [`local_to_model`](super::local_to_model) gives for each. Where that function waits at each joint for the
/// parent's matrix, this one has eight instances to work on. Nothing is allocated once `buffer` has served a
/// skeleton of this size and, with `rayon`, a crowd of this size.
///
/// # Errors
/// [`Error::Length`] if a pose is not of the skeleton's size or `models` does not hold one matrix per
/// instance and joint.
///
/// ```
/// use condyle::model::{self, CrowdBuffer};
/// use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model};
///
/// # let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
/// # let arm = [Joint::new("shoulder", None, up), Joint::new("elbow", Some(0), up)];
/// # let skeleton = Skeleton::new(arm)?;
/// let low = Transform { translation: [0.0, 0.5, 0.0], ..Transform::IDENTITY };
/// let poses = [Pose::rest(&skeleton), Pose::from_transforms(&[low, low])];
/// let count = skeleton.joint_count();
/// let mut models = vec![Affine::IDENTITY; poses.len() * count];
/// model::crowd(&skeleton, &poses, &mut CrowdBuffer::default(), &mut models)?;
///
/// let mut second = vec![Affine::IDENTITY; count];
/// local_to_model(&skeleton, &poses[1], &mut second)?;
/// assert_eq!(models[count..], second);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn crowd(
    skeleton: &Skeleton,
    poses: &[impl Borrow<Pose> + Sync],
    buffer: &mut CrowdBuffer,
    models: &mut [Affine],
) -> Result<(), Error> {
    let joint_count = skeleton.joint_count();
    for pose in poses {
        pose.borrow().check_joints("pose", joint_count)?;
    }
    Error::check_len("models", models.len(), joint_count * poses.len())?;
    if joint_count == 0 {
        return Ok(());
    }
    let parts = parallel::part_count(poses.len());
    if buffer.parts.len() < parts {
        buffer.parts.resize_with(parts, Scratch::default);
    }
    let scratch = &mut buffer.parts[..parts];
    for Scratch { model, spare } in &mut *scratch {
        if model.len() < joint_count {
            model.resize(joint_count, IDENTITY);
            spare.resize(LANES, [Affine::IDENTITY; BLOCK]);
        }
    }
    parallel::for_each_part(models, joint_count, scratch, |first, models, scratch| {
        for (poses, models) in poses[first..].chunks(LANES).zip(models.chunks_mut(LANES * joint_count)) {
            // Lanes without an instance repeat the first one, and their results are dropped.
            let blocks = core::array::from_fn(|lane| poses.get(lane).unwrap_or(&poses[0]).borrow().blocks());
            let mut out: [&mut [Affine]; LANES] = Default::default();
            for (out, model) in out.iter_mut().zip(models.chunks_mut(joint_count)) {
                *out = model;
            }
            place(skeleton.parents(), &blocks, scratch, out);
        }
        Ok(())
    })
}

/// Not generic, so that the kernel is compiled once.
fn place(
    parents: &[u16],
    blocks: &[&[PoseBlock]; LANES],
    scratch: &mut Scratch,
    out: [&mut [Affine]; LANES],
) {
    dispatch!(|s, mode| hierarchies(s, mode, parents, blocks, scratch, out));
}

#[inline(always)]
fn hierarchies<S: Simd, M: Mode>(
    s: S,
    mode: M,
    parents: &[u16],
    blocks: &[&[PoseBlock]; LANES],
    scratch: &mut Scratch,
    mut out: [&mut [Affine]; LANES],
) {
    let Scratch { model, spare } = scratch;
    let Some(spare) = spare.first_chunk_mut::<LANES>() else {
        invariant!(false, "the buffer was grown before");
        return;
    };
    let mut tile = [[[0.0; LANES]; COMPONENTS]; TILE];
    for (index, (parents, model_at)) in parents.chunks(BLOCK).zip((0..).step_by(BLOCK)).enumerate() {
        let mut block = [&PoseBlock::IDENTITY; LANES];
        let mut to = spare.each_mut();
        for instance in 0..LANES {
            if let Some(there) = blocks[instance].get(index) {
                block[instance] = there;
            }
            let out = &mut out[instance];
            if out.len() >= BLOCK
                && let Some((first, rest)) = core::mem::take(out).split_first_chunk_mut()
            {
                (to[instance], *out) = (first, rest);
            }
        }
        for (at, parents) in (0..BLOCK).step_by(TILE).zip(parents.chunks(TILE)) {
            regroup::<S, 4>(s, block.map(|block| &block.rotation), at, &mut tile, 0);
            regroup::<S, 3>(s, block.map(|block| &block.translation), at, &mut tile, 4);
            regroup::<S, 3>(s, block.map(|block| &block.scale), at, &mut tile, 7);
            for ((&parent, local), joint) in parents.iter().zip(&tile).zip(at..BLOCK) {
                let product = place_joint(s, mode, parent, local, model, model_at + joint);
                for (r, row) in product.into_iter().enumerate() {
                    for (instance, both) in transpose_halves(row).into_iter().enumerate() {
                        let (low, high) = both.split();
                        to[instance][joint].rows[r] = low.to_array();
                        to[instance + LANES / 2][joint].rows[r] = high.to_array();
                    }
                }
            }
        }
    }
    // The joints of the last, partial block.
    for (out, spare) in out.into_iter().zip(spare) {
        for (out, matrix) in out.iter_mut().zip(spare) {
            *out = *matrix;
        }
    }
}

/// Transposes some components of four joints, from `at` on: from one joint per lane to one instance per lane.
#[inline(always)]
fn regroup<S: Simd, const N: usize>(
    s: S,
    lanes: [&[Lanes; N]; LANES],
    at: usize,
    tile: &mut [[[f32; LANES]; COMPONENTS]; TILE],
    first: usize,
) {
    for c in 0..N {
        let four = |instance: usize| {
            let (low, high) = (&lanes[instance][c], &lanes[instance + LANES / 2][c]);
            f32x4::from_slice(s, &low[at..at + TILE]).combine(f32x4::from_slice(s, &high[at..at + TILE]))
        };
        for (joint, v) in transpose_halves([four(0), four(1), four(2), four(3)]).into_iter().enumerate() {
            v.store_slice(&mut tile[joint][first + c]);
        }
    }
}

/// The model matrices of one joint of all instances.
#[inline(always)]
fn place_joint<S: Simd, M: Mode>(
    s: S,
    mode: M,
    parent: u16,
    local: &[[f32; LANES]; COMPONENTS],
    model: &mut [LaneMatrices],
    joint: usize,
) -> [[f32x8<S>; 4]; 3] {
    let load = |lanes: &[f32; LANES]| f32x8::load_array_ref(s, lanes);
    let zero = f32x8::splat(s, 0.0);
    let [x, y, z, w, tx, ty, tz, sx, sy, sz] = local.each_ref().map(load);
    let local = transform_rows(s, mode, &[x, y, z, w], [tx, ty, tz], [sx, sy, sz]);
    let mut product = local;
    let Some((before, [own, ..])) = model.split_at_mut_checked(joint) else {
        invariant!(false, "the buffer was grown before");
        return product;
    };
    // The parent of a root is past the end.
    let parent = before.get(usize::from(parent)).unwrap_or(&IDENTITY);
    for (r, row) in product.iter_mut().enumerate() {
        let [x, y, z, t] = [0, 1, 2, 3].map(|c| load(&parent.0[4 * r + c]));
        for (c, value) in row.iter_mut().enumerate() {
            let translation = if c == 3 { t } else { zero };
            *value = mul_row(mode, [x, y, z, translation], &[local[0][c], local[1][c], local[2][c]]);
            value.store_slice(&mut own.0[4 * r + c]);
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::local_to_model;
    use crate::simd::Dispatch;
    use crate::testing::{Random, SIZES, assert_portable};
    use std::{vec, vec::Vec};

    /// Not only close to the reference, but bit for bit what one instance alone has: that is tested against
    /// it.
    #[test]
    fn every_instance_is_as_it_is_alone() {
        let mut buffer = CrowdBuffer::default();
        for (&joints, instances) in SIZES.iter().zip([1, 2, 7, 8, 9, 15, 16, 17, 4, 31, 0, 3]) {
            let mut random = Random(joints as u64);
            let skeleton = random.skeleton(joints);
            let poses: Vec<_> = (0..instances).map(|_| random.pose(joints)).collect();
            for dispatch in Dispatch::all() {
                let mut got = vec![Affine::IDENTITY; joints * instances];
                let mut want = got.clone();
                dispatch.scope(|| {
                    crowd(&skeleton, &poses, &mut buffer, &mut got).expect("sizes agree");
                    for (pose, want) in poses.iter().zip(want.chunks_mut(joints.max(1))) {
                        local_to_model(&skeleton, pose, want).expect("sizes agree");
                    }
                });
                let bits = |m: &[Affine]| -> Vec<[[u32; 4]; 3]> {
                    m.iter().map(|m| m.rows.map(|row| row.map(f32::to_bits))).collect()
                };
                assert_eq!(bits(&got), bits(&want), "{dispatch}, {instances} of {joints} joints");
            }
        }
    }

    #[test]
    fn references_to_poses_do() {
        let mut random = Random(3);
        let skeleton = random.skeleton(5);
        let (a, b) = (random.pose(5), random.pose(5));
        let (mut owned, mut lent) = ([Affine::IDENTITY; 10], [Affine::IDENTITY; 10]);
        let mut buffer = CrowdBuffer::default();
        crowd(&skeleton, &[&a, &b], &mut buffer, &mut lent).expect("sizes agree");
        crowd(&skeleton, &[a, b], &mut buffer, &mut owned).expect("sizes agree");
        assert_eq!(owned, lent);
    }

    #[test]
    fn the_bits_are_the_same_everywhere() {
        assert_portable(0xdd35_5869_dedc_9221, |hash| {
            let mut random = Random(21);
            let skeleton = random.skeleton(40);
            let poses: Vec<_> = (0..11).map(|_| random.pose(40)).collect();
            let mut models = vec![Affine::IDENTITY; 11 * 40];
            crowd(&skeleton, &poses, &mut CrowdBuffer::default(), &mut models).expect("sizes agree");
            models.iter().for_each(|m| hash.add(m.rows.as_flattened()));
        });
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let skeleton = Random(1).skeleton(3);
        let (mut buffer, mut models) = (CrowdBuffer::default(), [Affine::IDENTITY; 6]);
        let poses = [Pose::identity(3), Pose::identity(2)];
        let refused = crowd(&skeleton, &poses, &mut buffer, &mut models);
        assert_eq!(refused, Err(Error::Length { what: "pose", found: 2, needed: 3 }));
        let refused = crowd(&skeleton, &poses[..1], &mut buffer, &mut models);
        assert_eq!(refused, Err(Error::Length { what: "models", found: 6, needed: 3 }));
    }
}
