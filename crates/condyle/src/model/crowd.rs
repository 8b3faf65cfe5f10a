//! Many instances of one skeleton, each in a lane of its own.

use core::borrow::Borrow;

use alloc::vec::Vec;

use fearless_simd::{f32x4, f32x8, prelude::*};

use crate::convert::{Matrices, block_to_matrices};
use crate::pose::{BLOCK, PoseBlock};
use crate::simd::{Mode, dispatch, transpose_halves};
use crate::{Affine, Error, Pose, Skeleton};

/// Instances that are worked on together.
const LANES: usize = 8;

/// Joints that change places together: from a lane each to an instance in each lane.
const TILE: usize = 4;

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

/// Where [`local_to_model_crowd`] keeps matrices while it works: grown once to the size of the skeleton, then used again.
#[derive(Debug, Clone, Default)]
pub struct CrowdBuffer {
    /// One per joint, up to a whole block.
    model: Vec<LaneMatrices>,
    /// Local matrices of one block, one per instance.
    local: Vec<Matrices>,
    /// What is no joint of an instance goes here, one per instance.
    spare: Vec<[Affine; TILE]>,
}

/// Turns the local transforms of many instances of one skeleton into model-space matrices.
///
/// `poses` holds one [`Pose`] or reference to one per instance. `models` receives the matrices of the first instance, one
/// per joint, then those of the second, and so on: bit for bit what [`local_to_model`](super::local_to_model) gives
/// for each. Where that waits from joint to joint for the parent's matrix, this has eight instances to work on at once.
/// Nothing is allocated once `buffer` has served a skeleton of this size.
///
/// # Errors
/// [`Error::Length`] if a pose is not of the skeleton's size or `models` does not hold one matrix per instance and joint.
pub fn local_to_model_crowd(
    skeleton: &Skeleton,
    poses: &[impl Borrow<Pose>],
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
    if buffer.model.len() < joint_count {
        buffer.model.resize(joint_count.next_multiple_of(BLOCK), IDENTITY);
        buffer.local.resize(LANES, [[0.0; BLOCK]; 12]);
        buffer.spare.resize(LANES, [Affine::IDENTITY; TILE]);
    }
    for (poses, models) in poses.chunks(LANES).zip(models.chunks_mut(LANES * joint_count)) {
        // Lanes without an instance follow the first one, and go nowhere.
        let blocks = core::array::from_fn(|lane| poses.get(lane).unwrap_or(&poses[0]).borrow().blocks());
        let mut out: [&mut [Affine]; LANES] = Default::default();
        for (out, model) in out.iter_mut().zip(models.chunks_mut(joint_count)) {
            *out = model;
        }
        place(skeleton.parents(), &blocks, buffer, out);
    }
    Ok(())
}

/// Not generic, so that the kernel is compiled once.
fn place(
    parents: &[u16],
    blocks: &[&[PoseBlock]; LANES],
    buffer: &mut CrowdBuffer,
    out: [&mut [Affine]; LANES],
) {
    dispatch!(|s, mode| hierarchies(s, mode, parents, blocks, buffer, out));
}

#[inline(always)]
fn hierarchies<S: Simd, M: Mode>(
    s: S,
    mode: M,
    parents: &[u16],
    blocks: &[&[PoseBlock]; LANES],
    buffer: &mut CrowdBuffer,
    mut out: [&mut [Affine]; LANES],
) {
    let CrowdBuffer { model, local, spare } = buffer;
    // Always there.
    let (Some(local), Some(spare)) = (local.first_chunk_mut::<LANES>(), spare.first_chunk_mut::<LANES>())
    else {
        return;
    };
    for (index, parents) in parents.chunks(BLOCK).enumerate() {
        for (local, blocks) in local.iter_mut().zip(blocks) {
            if let Some(block) = blocks.get(index) {
                block_to_matrices(s, mode, block, local);
            }
        }
        for (at, parents) in (0..BLOCK).step_by(TILE).zip(parents.chunks(TILE)) {
            let first = index * BLOCK + at;
            let Some(tile) = model.get_mut(first..).and_then(|m| m.first_chunk_mut()) else { return };
            regroup(s, local, at, tile);
            // Joints behind the last one have no parents.
            let parent = |at: usize| parents.get(at).copied().unwrap_or(u16::MAX);
            let four: [u16; TILE] = [parent(0), parent(1), parent(2), parent(3)];
            let mut to = spare.each_mut();
            for (to, out) in to.iter_mut().zip(&mut out) {
                if out.len() >= TILE
                    && let Some((tile, rest)) = core::mem::take(out).split_first_chunk_mut()
                {
                    (*to, *out) = (tile, rest);
                }
            }
            for (lane, parent) in four.into_iter().enumerate() {
                place_joint(s, mode, parent, model, first + lane, &mut to, lane);
            }
        }
    }
    // The last joints.
    for (out, spare) in out.into_iter().zip(spare) {
        for (out, matrix) in out.iter_mut().zip(spare) {
            *out = *matrix;
        }
    }
}

/// Four joints of one block, from `at` on, change from a lane each to an instance in each lane.
#[inline(always)]
fn regroup<S: Simd>(s: S, local: &[Matrices; LANES], at: usize, tile: &mut [LaneMatrices; TILE]) {
    #[allow(clippy::needless_range_loop, reason = "eight arrays are walked at once")]
    for element in 0..12 {
        let four = |instance: usize| {
            let (low, high) = (&local[instance][element], &local[instance + 4][element]);
            f32x4::from_slice(s, &low[at..at + 4]).combine(f32x4::from_slice(s, &high[at..at + 4]))
        };
        let [a, b, c, d] = transpose_halves([four(0), four(1), four(2), four(3)]);
        a.store_slice(&mut tile[0].0[element]);
        b.store_slice(&mut tile[1].0[element]);
        c.store_slice(&mut tile[2].0[element]);
        d.store_slice(&mut tile[3].0[element]);
    }
}

/// One joint of all instances, its local matrices in the place of its model matrices: the same operations in the same
/// order as `mul_affine` has for one.
#[inline(always)]
fn place_joint<S: Simd, M: Mode>(
    s: S,
    mode: M,
    parent: u16,
    model: &mut [LaneMatrices],
    joint: usize,
    out: &mut [&mut [Affine; TILE]; LANES],
    lane: usize,
) {
    let load = |lanes: &[f32; LANES]| f32x8::load_array_ref(s, lanes);
    let zero = f32x8::splat(s, 0.0);
    // Always there.
    let Some((before, [own, ..])) = model.split_at_mut_checked(joint) else { return };
    // A root has no such parent.
    let parent = before.get(usize::from(parent)).unwrap_or(&IDENTITY);
    let mut product = [[zero; 4]; 3];
    for (r, row) in product.iter_mut().enumerate() {
        let [x, y, z, t] =
            [&parent.0[4 * r], &parent.0[4 * r + 1], &parent.0[4 * r + 2], &parent.0[4 * r + 3]];
        let (x, y, z) = (load(x), load(y), load(z));
        for (c, value) in row.iter_mut().enumerate() {
            let last = if c == 3 { load(t) } else { zero };
            let last = mode.madd(z, load(&own.0[8 + c]), last);
            *value = mode.madd(x, load(&own.0[c]), mode.madd(y, load(&own.0[4 + c]), last));
        }
    }
    for (row, lanes) in product.iter().zip(own.0.as_chunks_mut::<4>().0) {
        for (value, lanes) in row.iter().zip(lanes) {
            value.store_slice(lanes);
        }
    }
    for (r, row) in product.into_iter().enumerate() {
        for (instance, both) in transpose_halves(row).into_iter().enumerate() {
            let (low, high) = both.split();
            out[instance][lane].rows[r] = low.to_array();
            out[instance + LANES / 2][lane].rows[r] = high.to_array();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, SIZES, assert_portable};
    use crate::{Dispatch, local_to_model};
    use std::{vec, vec::Vec};

    /// Not only close to the reference, but bit for bit what one instance alone has: that is tested against it.
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
                    local_to_model_crowd(&skeleton, &poses, &mut buffer, &mut got).expect("sizes agree");
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
        local_to_model_crowd(&skeleton, &[&a, &b], &mut buffer, &mut lent).expect("sizes agree");
        local_to_model_crowd(&skeleton, &[a, b], &mut buffer, &mut owned).expect("sizes agree");
        assert_eq!(owned, lent);
    }

    #[test]
    fn the_bits_are_the_same_everywhere() {
        assert_portable(0xdd35_5869_dedc_9221, |hash| {
            let mut random = Random(21);
            let skeleton = random.skeleton(40);
            let poses: Vec<_> = (0..11).map(|_| random.pose(40)).collect();
            let mut models = vec![Affine::IDENTITY; 11 * 40];
            local_to_model_crowd(&skeleton, &poses, &mut CrowdBuffer::default(), &mut models)
                .expect("sizes agree");
            models.iter().for_each(|m| hash.add(m.rows.as_flattened()));
        });
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let skeleton = Random(1).skeleton(3);
        let (mut buffer, mut models) = (CrowdBuffer::default(), [Affine::IDENTITY; 6]);
        let poses = [Pose::identity(3), Pose::identity(2)];
        let refused = local_to_model_crowd(&skeleton, &poses, &mut buffer, &mut models);
        assert_eq!(refused, Err(Error::Length { what: "pose", found: 2, needed: 3 }));
        let refused = local_to_model_crowd(&skeleton, &poses[..1], &mut buffer, &mut models);
        assert_eq!(refused, Err(Error::Length { what: "models", found: 6, needed: 3 }));
    }
}
