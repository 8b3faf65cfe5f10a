//! Conversion of transforms to matrices with three rows or four columns.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

use super::quads::Quads;
use super::rows::{block_rows, rotation_rows};
use crate::pose::{Pose, PoseBlock};
use condyle_base::error::Error;
use condyle_base::math::{Affine, JointMat, JointQuat};
use condyle_base::simd::{BLOCK, Mode, dispatch};

/// Converts joints to matrices: `matrices[j]` receives translation times rotation times scale of `joints[j]`.
///
/// Rotations must have unit length. Vectors are column vectors, as everywhere. The error of an entry is at
/// most 3.8e-7 times the scale, compared with the exact formula for the given quaternion. In f32 the length
/// of a quaternion is 1 only within 1e-7. Compared with the matrix of the normalised quaternion, the error is
/// at most 5e-7 times the scale.
///
/// # Errors
/// [`Error::Length`] if the lengths differ.
///
/// ```
/// use condyle::math::JointQuat;
/// use condyle::{Affine, convert};
///
/// let joints = [JointQuat { translation: [0.0, 1.0, 0.0], scale: 2.0, ..JointQuat::IDENTITY }];
/// let mut matrices = [Affine::IDENTITY];
/// convert::joints_to_matrices(&joints, &mut matrices)?;
/// assert_eq!(matrices[0].transform_point([1.0, 0.0, 0.0]), [2.0, 1.0, 0.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn joints_to_matrices(joints: &[JointQuat], matrices: &mut [JointMat]) -> Result<(), Error> {
    Error::check_len("matrices", matrices.len(), joints.len())?;
    dispatch!(|s, mode| from_joints(s, mode, joints, matrices));
    Ok(())
}

/// Does the same as [`joints_to_matrices`] with 4x4 matrices: 16 numbers each in column-major order, last row
/// `0 0 0 1`.
///
/// # Errors
/// [`Error::Length`] if the lengths differ.
///
/// ```
/// use condyle::convert;
/// use condyle::math::JointQuat;
///
/// let joints = [JointQuat { translation: [0.0, 1.0, 0.0], scale: 2.0, ..JointQuat::IDENTITY }];
/// let mut columns = [[0.0; 16]];
/// convert::joints_to_columns(&joints, &mut columns)?;
/// assert_eq!(columns[0][..4], [2.0, 0.0, 0.0, 0.0]);
/// assert_eq!(columns[0][12..], [0.0, 1.0, 0.0, 1.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn joints_to_columns(joints: &[JointQuat], matrices: &mut [[f32; 16]]) -> Result<(), Error> {
    Error::check_len("matrices", matrices.len(), joints.len())?;
    dispatch!(|s, mode| from_joints(s, mode, joints, matrices));
    Ok(())
}

/// Converts a pose to local matrices, without the parents: `matrices[j]` receives translation times rotation
/// times scale of joint `j`.
///
/// Rotations must have unit length. Vectors are column vectors, as everywhere. The error of an entry is at
/// most 2.4e-7 times its scale, compared with the exact formula for the given quaternion; see
/// [`joints_to_matrices`].
///
/// # Errors
/// [`Error::Length`] if `matrices` does not hold one matrix per joint.
///
/// ```
/// use condyle::{Affine, Pose, Transform, convert};
///
/// let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
/// let mut local = [Affine::IDENTITY; 2];
/// convert::pose_to_matrices(&Pose::from_transforms(&[up; 2]), &mut local)?;
/// // Local matrices only: `local_to_model` combines them with their parents.
/// assert_eq!(local, [Affine::from(up); 2]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn pose_to_matrices(pose: &Pose, matrices: &mut [Affine]) -> Result<(), Error> {
    Error::check_len("matrices", matrices.len(), pose.joint_count())?;
    dispatch!(|s, mode| from_blocks(s, mode, pose.blocks(), matrices));
    Ok(())
}

/// Does the same as [`pose_to_matrices`] with 4x4 matrices: 16 numbers each in column-major order, last row
/// `0 0 0 1`.
///
/// # Errors
/// [`Error::Length`] if `matrices` does not hold one matrix per joint.
///
/// ```
/// use condyle::{Pose, Transform, convert};
///
/// let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
/// let mut columns = [[0.0; 16]];
/// convert::pose_to_columns(&Pose::from_transforms(&[up]), &mut columns)?;
/// assert_eq!(columns[0][12..], [0.0, 1.0, 0.0, 1.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn pose_to_columns(pose: &Pose, matrices: &mut [[f32; 16]]) -> Result<(), Error> {
    Error::check_len("matrices", matrices.len(), pose.joint_count())?;
    dispatch!(|s, mode| from_blocks(s, mode, pose.blocks(), matrices));
    Ok(())
}

/// A matrix in memory.
trait Stored: Sized {
    /// Stores the first lanes to `out`, one matrix per lane.
    fn store<S: Simd, V: Quads<S>>(s: S, rows: &[[V; 4]; 3], out: &mut [Self]);
}

impl Stored for Affine {
    #[inline(always)]
    fn store<S: Simd, V: Quads<S>>(_: S, rows: &[[V; 4]; 3], out: &mut [Self]) {
        for (r, row) in rows.iter().enumerate() {
            V::scatter(*row, |i, quad| {
                if let Some(out) = out.get_mut(i) {
                    out.rows[r] = quad;
                }
            });
        }
    }
}

impl Stored for [f32; 16] {
    #[inline(always)]
    fn store<S: Simd, V: Quads<S>>(s: S, rows: &[[V; 4]; 3], out: &mut [Self]) {
        let [x, y, z] = rows;
        for c in 0..4 {
            let last = V::splat(s, if c == 3 { 1.0 } else { 0.0 });
            V::scatter([x[c], y[c], z[c], last], |i, quad| {
                if let Some(out) = out.get_mut(i) {
                    out[4 * c..4 * c + 4].copy_from_slice(&quad);
                }
            });
        }
    }
}

#[inline(always)]
fn from_blocks<S: Simd, M: Mode, T: Stored>(s: S, mode: M, blocks: &[PoseBlock], out: &mut [T]) {
    match S::f32s::LEN {
        4 => blocks_by::<S, M, T, f32x4<S>>(s, mode, blocks, out),
        8 => blocks_by::<S, M, T, f32x8<S>>(s, mode, blocks, out),
        _ => blocks_by::<S, M, T, f32x16<S>>(s, mode, blocks, out),
    }
}

#[inline(always)]
fn blocks_by<S: Simd, M: Mode, T: Stored, V: Quads<S>>(s: S, mode: M, blocks: &[PoseBlock], out: &mut [T]) {
    let (full, rest) = out.as_chunks_mut::<BLOCK>();
    for (block, out) in blocks.iter().zip(&mut *full) {
        for (at, out) in (0..BLOCK).step_by(V::LEN).zip(out.chunks_exact_mut(V::LEN)) {
            T::store(s, &block_rows::<S, M, V>(s, mode, block, at), out);
        }
    }
    if let Some(block) = blocks.get(full.len()) {
        for (at, out) in (0..BLOCK).step_by(V::LEN).zip(rest.chunks_mut(V::LEN)) {
            T::store(s, &block_rows::<S, M, V>(s, mode, block, at), out);
        }
    }
}

#[inline(always)]
fn from_joints<S: Simd, M: Mode, T: Stored>(s: S, mode: M, joints: &[JointQuat], out: &mut [T]) {
    match S::f32s::LEN {
        4 => joints_by::<S, M, T, f32x4<S>>(s, mode, joints, out),
        8 => joints_by::<S, M, T, f32x8<S>>(s, mode, joints, out),
        _ => joints_by::<S, M, T, f32x16<S>>(s, mode, joints, out),
    }
}

#[inline(always)]
fn joints_by<S: Simd, M: Mode, T: Stored, V: Quads<S>>(s: S, mode: M, joints: &[JointQuat], out: &mut [T]) {
    let (joints, mut out) = (joints.chunks_exact(V::LEN), out.chunks_exact_mut(V::LEN));
    let last = joints.remainder();
    for (joints, out) in joints.zip(&mut out) {
        group::<S, M, T, V>(s, mode, joints, out);
    }
    if !last.is_empty() {
        group::<S, M, T, V>(s, mode, last, out.into_remainder());
    }
}

/// Converts one joint per lane, or fewer.
#[inline(always)]
fn group<S: Simd, M: Mode, T: Stored, V: Quads<S>>(s: S, mode: M, joints: &[JointQuat], out: &mut [T]) {
    let joint = |i: usize| joints.get(i).unwrap_or(&JointQuat::IDENTITY);
    let q = V::gather(s, |i| joint(i).rotation);
    let [tx, ty, tz, scale] = V::gather(s, |i| {
        let JointQuat { translation: [x, y, z], scale, .. } = *joint(i);
        [x, y, z, scale]
    });
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = rotation_rows(mode, &q, scale);
    T::store(s, &[[xx, xy, xz, tx], [yx, yy, yz, ty], [zx, zy, zz, tz]], out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pose::PoseBlock;
    use crate::testing::reference;
    use crate::testing::{Random, SIZES, assert_close, assert_portable, tries};
    use condyle_base::math::Transform;
    use condyle_base::simd::Dispatch;
    use std::{vec, vec::Vec};

    fn joint(random: &mut Random) -> JointQuat {
        // Scales of the magnitudes in a scene, and mirrored ones.
        let scale = [1.0, -1.0, 100.0, 0.01][random.below(4)] * random.range(0.5, 2.0);
        JointQuat { rotation: random.unit(), translation: random.vector(2.0), scale }
    }

    fn joints(count: usize) -> Vec<JointQuat> {
        let mut random = Random(count as u64);
        (0..count).map(|_| joint(&mut random)).collect()
    }

    fn matrices(joints: &[JointQuat]) -> Vec<Affine> {
        let mut out = vec![Affine::IDENTITY; joints.len()];
        joints_to_matrices(joints, &mut out).expect("sizes agree");
        out
    }

    fn pose_matrices(pose: &Pose) -> Vec<Affine> {
        let mut out = vec![Affine::IDENTITY; pose.joint_count()];
        pose_to_matrices(pose, &mut out).expect("sizes agree");
        out
    }

    /// Asserts the error of each entry, relative to the largest scale.
    #[track_caller]
    fn assert_matrix(got: &Affine, t: Transform, bound: f64, case: impl core::fmt::Display) {
        let want = reference::local_matrix(&t.into());
        let size = t.scale.iter().fold(0.0, |size: f64, &s| size.max(f64::from(s).abs()));
        for (got, want) in got.rows.iter().zip(want) {
            assert_close(&got[..3], &want[..3], bound * size, &case);
            assert_eq!(f64::from(got[3]), want[3], "{case}");
        }
    }

    #[test]
    fn every_size_is_the_formula() {
        for &count in SIZES {
            let joints = joints(count);
            let mut random = Random(count as u64);
            let transforms: Vec<_> = (0..count)
                .map(|_| {
                    let t = random.transform();
                    Transform { scale: t.scale.map(|s| s * [1.0, -1.0, 50.0, 0.0][random.below(4)]), ..t }
                })
                .collect();
            let pose = Pose::from_transforms(&transforms);
            for dispatch in Dispatch::all() {
                let (got, posed) = dispatch.scope(|| (matrices(&joints), pose_matrices(&pose)));
                for j in 0..count {
                    let case = format_args!("{dispatch}, joint {j} of {count}");
                    assert_matrix(&got[j], joints[j].into(), 3.3e-7, case);
                    assert_matrix(&posed[j], transforms[j], 2.1e-7, case);
                }
                let mut columns = vec![[f32::NAN; 16]; count];
                dispatch.scope(|| joints_to_columns(&joints, &mut columns)).expect("sizes agree");
                assert!(columns.iter().eq(got.iter().map(Affine::to_columns).collect::<Vec<_>>().iter()));
                dispatch.scope(|| pose_to_columns(&pose, &mut columns)).expect("sizes agree");
                assert!(columns.iter().eq(posed.iter().map(Affine::to_columns).collect::<Vec<_>>().iter()));
            }
        }
    }

    /// A matrix rotates vectors like its quaternion does, `q v q*`; it is not the transpose.
    #[test]
    fn a_matrix_turns_vectors_as_its_quaternion_does() {
        let joints = joints(tries(1000));
        for dispatch in Dispatch::all() {
            for (m, joint) in dispatch.scope(|| matrices(&joints)).iter().zip(&joints) {
                let v = [0.3, -0.7, 0.2];
                let want = reference::rotate(joint.rotation.map(f64::from), v.map(f64::from));
                let size = f64::from(joint.scale);
                assert_close(&m.transform_vector(v), &want.map(|v| v * size), 4e-7 * size.abs(), dispatch);
            }
        }
    }

    #[test]
    fn the_identity_and_half_turns_are_exact() {
        let turn = |rotation, scale| JointQuat { rotation, translation: [1.0, -2.0, 3.0], scale };
        let joints = [
            turn([0.0, 0.0, 0.0, 1.0], 1.0),
            turn([0.0, 0.0, 0.0, -1.0], 0.1),
            turn([1.0, 0.0, 0.0, 0.0], 0.1),
            turn([0.0, -1.0, 0.0, 0.0], -3.0),
            turn([0.0, 0.0, 1.0, 0.0], 0.0),
        ];
        let diagonals = [[1.0, 1.0, 1.0], [0.1, 0.1, 0.1], [0.1, -0.1, -0.1], [3.0, -3.0, 3.0], [0.0; 3]];
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| matrices(&joints));
            for (got, [x, y, z]) in got.iter().zip(diagonals) {
                let want = [[x, 0.0, 0.0, 1.0], [0.0, y, 0.0, -2.0], [0.0, 0.0, z, 3.0]];
                assert_eq!(got.rows, want, "{dispatch}");
            }
        }
    }

    #[test]
    fn a_result_depends_neither_on_its_lane_nor_on_the_layout() {
        let mut joints = joints(53);
        for dispatch in Dispatch::all() {
            let mut want = dispatch.scope(|| matrices(&joints));
            joints.rotate_left(5);
            want.rotate_left(5);
            assert_eq!(dispatch.scope(|| matrices(&joints)), want, "{dispatch}");
        }
        // With a scale of 1, which adds no rounding, the layouts agree to the bit.
        joints.iter_mut().for_each(|joint| joint.scale = 1.0);
        let pose = Pose::from_transforms(&joints.iter().map(|&j| j.into()).collect::<Vec<_>>());
        for dispatch in Dispatch::all() {
            let (a, b) = dispatch.scope(|| (matrices(&joints), pose_matrices(&pose)));
            assert_eq!(a, b, "{dispatch}");
        }
    }

    /// The values after the last joint of a pose do not matter.
    #[test]
    fn padding_is_not_looked_at() {
        let mut random = Random(9);
        let pose = random.pose(19);
        let mut other = pose.clone();
        for block in other.blocks_mut().iter_mut().skip(1) {
            let PoseBlock { rotation, translation, scale } = block;
            for component in rotation.iter_mut().chain(translation).chain(scale) {
                component[3..].fill(f32::NAN);
            }
        }
        for dispatch in Dispatch::all() {
            let (want, got) = dispatch.scope(|| (pose_matrices(&pose), pose_matrices(&other)));
            assert_eq!(got, want, "{dispatch}");
        }
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let error = |found, needed| Err(Error::Length { what: "matrices", found, needed });
        let (joints, pose) = (joints(3), Pose::identity(3));
        assert_eq!(joints_to_matrices(&joints, &mut [Affine::IDENTITY; 2]), error(2, 3));
        assert_eq!(joints_to_columns(&joints, &mut [[0.0; 16]; 4]), error(4, 3));
        assert_eq!(pose_to_matrices(&pose, &mut [Affine::IDENTITY; 4]), error(4, 3));
        assert_eq!(pose_to_columns(&pose, &mut [[0.0; 16]; 2]), error(2, 3));
    }

    #[test]
    fn the_portable_mode_gives_the_same_bits_everywhere() {
        let joints = joints(1003);
        let pose = Random(7).pose(1003);
        assert_portable(0x8acb_f288_3259_3ac8, |hash| {
            matrices(&joints).iter().for_each(|m| hash.add(m.rows.as_flattened()));
            pose_matrices(&pose).iter().for_each(|m| hash.add(m.rows.as_flattened()));
        });
    }
}
