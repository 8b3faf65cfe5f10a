//! Conversion of matrices to transforms.
//!
//! Most matrices have orthogonal columns, of equal length where a joint has one scale. A determinant detects
//! these in lanes. The kernel marks all others (sheared, singular, beyond the squares of f32) by NaN, and
//! the f64 code for single matrices decomposes them. The result of a joint therefore never depends on its
//! neighbours.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

use super::quads::Quads;
use crate::pose::{Pose, PoseBlock};
use condyle_base::error::Error;
use condyle_base::math::{Affine, JointMat, JointQuat};
use condyle_base::simd::{BLOCK, Lanes, Mode, dispatch};

#[cfg(test)]
mod tests;

/// Converts matrices to joints: translation, rotation and one scale, which is negative if the matrix mirrors.
///
/// Every rotation times a uniform scale is recovered, mirrored or not, also near half turns. Including the
/// rounding of the matrix, the maximum errors are:
///
/// - 2.6e-7 per component of the quaternion, which may be either of the two for a rotation,
/// - 2.3e-7 of the length of the quaternion,
/// - 3.9e-7 of the scale, relative.
///
/// # Shear and non-uniform scale
///
/// A joint cannot represent shear or three scales. Each of the three pairs of columns deviates from a right
/// angle by some angle in radians. The shear of a matrix is the root of the sum of the squares of these
/// angles.
///
/// | Matrix | Result |
/// |---|---|
/// | Shear up to 1.7e-3 and column lengths within 1.5e-3 | Fast conversion: deviations count as rounding |
/// | Between these limits | Either |
/// | Shear of at least 2.3e-3, or a column longer or shorter by at least 2e-3 | [`Affine::to_joint`] |
/// | Singular, or squares out of range for f32 | [`Affine::to_joint`] |
///
/// [`Affine::to_joint`] takes much longer, and also returns the loss. If shear counts as rounding, the
/// quaternion differs from `to_joint`'s by at most two thirds of the shear. That is 9e-4 if a single pair of
/// columns deviates, and 1.6e-3 otherwise. A zero matrix has the scale zero and the identity as rotation.
///
/// # Errors
/// [`Error::Length`] if the lengths differ.
///
/// ```
/// use condyle::math::JointQuat;
/// use condyle::{Affine, convert};
///
/// // Input from a physics engine or a scene graph.
/// let ragdoll = [Affine { rows: [[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 2.0, 0.0]] }];
/// let mut joints = [JointQuat::IDENTITY];
/// convert::matrices_to_joints(&ragdoll, &mut joints)?;
/// assert_eq!(joints[0].translation, [0.0, 1.0, 0.0]);
/// assert!((joints[0].scale - 2.0).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn matrices_to_joints(matrices: &[JointMat], joints: &mut [JointQuat]) -> Result<(), Error> {
    Error::check_len("joints", joints.len(), matrices.len())?;
    let all_done = dispatch!(|s, mode| to_joints(s, mode, matrices, joints));
    if !all_done {
        for (joint, matrix) in joints.iter_mut().zip(matrices).filter(|(joint, _)| joint.scale.is_nan()) {
            *joint = matrix.to_joint().0;
        }
    }
    Ok(())
}

/// Converts matrices to a pose: translation, rotation and three scales. The x scale is negative if the matrix
/// mirrors.
///
/// Every rotation times scales is recovered, with the error bounds of [`matrices_to_joints`]. Two negative
/// scales become a half turn.
///
/// A pose cannot represent shear, as defined for [`matrices_to_joints`]. Shear up to 1.7e-3 counts as
/// rounding. For a shear of at least 2.3e-3 this returns the result of [`Affine::to_transform`], which takes
/// much longer and also returns the loss. In between, either result is possible. Matrices that are singular,
/// or whose squares are out of range for f32, use `to_transform` too. If shear counts as rounding, the
/// quaternion differs from `to_transform`'s by at most two thirds of the shear, and at most 1.6e-3.
///
/// # Errors
/// [`Error::Length`] if `pose` does not hold one joint per matrix.
///
/// ```
/// use condyle::{Affine, Pose, convert};
///
/// let squashed = [Affine { rows: [[2.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 1.0], [0.0, 0.0, 2.0, 0.0]] }];
/// let mut pose = Pose::identity(1);
/// convert::matrices_to_pose(&squashed, &mut pose)?;
/// let joint = pose.get(0);
/// assert_eq!(joint.translation, [0.0, 1.0, 0.0]);
/// assert!((joint.scale[1] - 0.5).abs() < 1e-6 && (joint.scale[0] - 2.0).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn matrices_to_pose(matrices: &[Affine], pose: &mut Pose) -> Result<(), Error> {
    pose.check_joints("pose", matrices.len())?;
    let all_done = dispatch!(|s, mode| to_blocks(s, mode, matrices, pose.blocks_mut()));
    if !all_done {
        for (joint, matrix) in matrices.iter().enumerate() {
            if pose.get(joint).scale[0].is_nan() {
                pose.set(joint, &matrix.to_transform().0);
            }
        }
    }
    Ok(())
}

/// The columns of the upper three rows, one matrix per lane.
type Columns<V> = [[V; 3]; 3];

/// Minimum determinant, relative to the largest determinant of columns with these lengths.
///
/// Shear reduces the determinant by half of the sum of the squared angles. If a single scale is required,
/// different lengths reduce it by the sum of their squared deviations from the mean. That is 2/3 e² if one
/// length differs by e. The bound therefore corresponds to angles of 2e-3 and lengths of 1.7e-3, within the
/// rounding error of the determinant, 5e-7.
const EVEN: f32 = 1.0 - 2e-6;

/// The range of squared lengths that are reliable in f32.
const SQUARES: (f32, f32) = (1e-24, 1e24);

/// Loads one matrix per lane. If there are fewer, the other lanes are identities.
#[inline(always)]
fn load<S: Simd, V: Quads<S>>(s: S, matrices: &[Affine]) -> (Columns<V>, [V; 3]) {
    let matrix = |i: usize| matrices.get(i).unwrap_or(&Affine::IDENTITY);
    let [ax, bx, cx, tx] = V::gather(s, |i| matrix(i).rows[0]);
    let [ay, by, cy, ty] = V::gather(s, |i| matrix(i).rows[1]);
    let [az, bz, cz, tz] = V::gather(s, |i| matrix(i).rows[2]);
    ([[ax, ay, az], [bx, by, bz], [cx, cy, cz]], [tx, ty, tz])
}

#[inline(always)]
fn dot<S: Simd, M: Mode, V: SimdFloat<S>>(mode: M, a: &[V; 3], b: &[V; 3]) -> V {
    mode.madd(a[2], b[2], mode.madd(a[1], b[1], a[0] * b[0]))
}

#[inline(always)]
fn determinant<S: Simd, M: Mode, V: SimdFloat<S>>(mode: M, columns: &Columns<V>) -> V {
    let [a, b, c] = columns;
    let cross = [
        mode.msub(a[1], b[2], a[2] * b[1]),
        mode.msub(a[2], b[0], a[0] * b[2]),
        mode.msub(a[0], b[1], a[1] * b[0]),
    ];
    dot(mode, &cross, c)
}

/// Returns rotations and uniform scales, and a mask of the lanes whose matrices have no other parts.
#[inline(always)]
fn similarity<S: Simd, M: Mode, V: Quads<S>>(s: S, mode: M, m: &Columns<V>) -> ([V; 4], V, V::Mask) {
    let splat = |value: f32| V::splat(s, value);
    let [a, b, c] = m;
    let determinant = determinant(mode, m);
    let mean = (dot(mode, a, a) + dot(mode, b, b) + dot(mode, c, c)) * splat(1.0 / 3.0);
    let size = mean.sqrt();
    let even = determinant.abs().simd_ge(mean * size * splat(EVEN));
    let even = even & mean.simd_gt(splat(SQUARES.0)) & mean.simd_lt(splat(SQUARES.1));
    (quaternion(s, mode, m, size, determinant), size.copysign(determinant), even)
}

/// Returns rotations and scales, and a mask of the lanes whose matrices have no shear. Mirrors x.
#[inline(always)]
fn scaled<S: Simd, M: Mode, V: Quads<S>>(s: S, mode: M, m: &Columns<V>) -> ([V; 4], [V; 3], V::Mask) {
    let splat = |value: f32| V::splat(s, value);
    let one = splat(1.0);
    let [a, b, c] = m;
    let determinant = determinant(mode, m);
    let (a2, b2, c2) = (dot(mode, a, a), dot(mode, b, b), dot(mode, c, c));
    let scale = [a2.sqrt().copysign(determinant), b2.sqrt(), c2.sqrt()];
    let even = determinant.abs().simd_ge((scale[0] * scale[1] * scale[2]).abs() * splat(EVEN));
    let (low, high) = (splat(SQUARES.0), splat(SQUARES.1));
    let low = a2.simd_gt(low) & b2.simd_gt(low) & c2.simd_gt(low);
    let high = a2.simd_lt(high) & b2.simd_lt(high) & c2.simd_lt(high);
    let (fa, fb, fc) = (one / scale[0], one / scale[1], one / scale[2]);
    let a = [a[0] * fa, a[1] * fa, a[2] * fa];
    let b = [b[0] * fb, b[1] * fb, b[2] * fb];
    let c = [c[0] * fc, c[1] * fc, c[2] * fc];
    (quaternion(s, mode, &[a, b, c], one, one), scale, even & low & high)
}

/// Returns the quaternions of rotation matrices that are scaled by `size`, and by -1 if `sign` is negative.
///
/// Sums and differences of the entries give four multiples of the quaternion. Each lane selects one, without
/// branches, whose own component is at least 1/2.
#[inline(always)]
fn quaternion<S: Simd, M: Mode, V: Quads<S>>(s: S, mode: M, m: &Columns<V>, size: V, sign: V) -> [V; 4] {
    let zero = V::splat(s, 0.0);
    let negative = sign.simd_lt(zero);
    let [x, y, z] = m;
    // Four times the product of two components, times the signed size.
    let (xw, yw, zw) = (y[2] - z[1], z[0] - x[2], x[1] - y[0]);
    let (xy, xz, yz) = (x[1] + y[0], z[0] + x[2], y[2] + z[1]);
    // Four times the square of a component, times the signed size: of the four, the one to which all three
    // terms add.
    let flat = z[2].simd_lt(zero) ^ negative;
    let rest = flat.select(x[0] - y[1], x[0] + y[1]);
    let other = rest.simd_lt(zero) ^ negative;
    let square = (size + (z[2].abs() + rest.abs())).copysign(sign);
    let q = [
        flat.select(other.select(xy, square), other.select(xz, xw)),
        flat.select(other.select(square, xy), other.select(yz, yw)),
        flat.select(other.select(yz, xz), other.select(square, zw)),
        flat.select(other.select(yw, xw), other.select(zw, square)),
    ];
    let length2 = mode.madd(q[0], q[0], q[1] * q[1]) + mode.madd(q[2], q[2], q[3] * q[3]);
    let inverse = V::splat(s, 1.0) / length2.sqrt();
    [q[0] * inverse, q[1] * inverse, q[2] * inverse, q[3] * inverse]
}

#[inline(always)]
fn to_blocks<S: Simd, M: Mode>(s: S, mode: M, matrices: &[Affine], blocks: &mut [PoseBlock]) -> bool {
    match S::f32s::LEN {
        4 => blocks_by::<S, M, f32x4<S>>(s, mode, matrices, blocks),
        8 => blocks_by::<S, M, f32x8<S>>(s, mode, matrices, blocks),
        _ => blocks_by::<S, M, f32x16<S>>(s, mode, matrices, blocks),
    }
}

/// Returns whether all matrices are converted. The first scale of the others is NaN.
#[inline(always)]
fn blocks_by<S: Simd, M: Mode, V: Quads<S>>(
    s: S,
    mode: M,
    matrices: &[Affine],
    blocks: &mut [PoseBlock],
) -> bool {
    let mut done = V::Mask::splat(s, true);
    let (full, rest) = matrices.as_chunks::<BLOCK>();
    for (block, matrices) in blocks.iter_mut().zip(full) {
        for (at, matrices) in (0..BLOCK).step_by(V::LEN).zip(matrices.chunks_exact(V::LEN)) {
            done &= block_group::<S, M, V>(s, mode, matrices, block, at);
        }
    }
    if let Some(block) = blocks.get_mut(full.len()) {
        for (at, matrices) in (0..BLOCK).step_by(V::LEN).zip(rest.chunks(V::LEN)) {
            done &= block_group::<S, M, V>(s, mode, matrices, block, at);
        }
    }
    done.all_true()
}

/// Converts one matrix per lane, or fewer, to the lanes of the block from `at` on.
#[inline(always)]
fn block_group<S: Simd, M: Mode, V: Quads<S>>(
    s: S,
    mode: M,
    matrices: &[Affine],
    block: &mut PoseBlock,
    at: usize,
) -> V::Mask {
    let (columns, [tx, ty, tz]) = load::<S, V>(s, matrices);
    let ([x, y, z, w], [sx, sy, sz], even) = scaled(s, mode, &columns);
    let put = |out: &mut Lanes, value: V| value.store_slice(&mut out[at..at + V::LEN]);
    let PoseBlock { rotation, translation, scale } = block;
    put(&mut rotation[0], x);
    put(&mut rotation[1], y);
    put(&mut rotation[2], z);
    put(&mut rotation[3], w);
    put(&mut translation[0], tx);
    put(&mut translation[1], ty);
    put(&mut translation[2], tz);
    put(&mut scale[0], even.select(sx, V::splat(s, f32::NAN)));
    put(&mut scale[1], sy);
    put(&mut scale[2], sz);
    even
}

#[inline(always)]
fn to_joints<S: Simd, M: Mode>(s: S, mode: M, matrices: &[Affine], joints: &mut [JointQuat]) -> bool {
    match S::f32s::LEN {
        4 => joints_by::<S, M, f32x4<S>>(s, mode, matrices, joints),
        8 => joints_by::<S, M, f32x8<S>>(s, mode, matrices, joints),
        _ => joints_by::<S, M, f32x16<S>>(s, mode, matrices, joints),
    }
}

/// Returns whether all matrices are converted. The scale of the others is NaN.
#[inline(always)]
fn joints_by<S: Simd, M: Mode, V: Quads<S>>(
    s: S,
    mode: M,
    matrices: &[Affine],
    joints: &mut [JointQuat],
) -> bool {
    let mut done = V::Mask::splat(s, true);
    let (matrices, mut joints) = (matrices.chunks_exact(V::LEN), joints.chunks_exact_mut(V::LEN));
    let last = matrices.remainder();
    for (matrices, joints) in matrices.zip(&mut joints) {
        done &= joint_group::<S, M, V>(s, mode, matrices, joints);
    }
    if !last.is_empty() {
        done &= joint_group::<S, M, V>(s, mode, last, joints.into_remainder());
    }
    done.all_true()
}

/// Converts one matrix per lane, or fewer.
#[inline(always)]
fn joint_group<S: Simd, M: Mode, V: Quads<S>>(
    s: S,
    mode: M,
    matrices: &[Affine],
    out: &mut [JointQuat],
) -> V::Mask {
    let (columns, [tx, ty, tz]) = load::<S, V>(s, matrices);
    let (rotation, scale, even) = similarity(s, mode, &columns);
    let scale = even.select(scale, V::splat(s, f32::NAN));
    V::scatter(rotation, |i, rotation| {
        if let Some(out) = out.get_mut(i) {
            out.rotation = rotation;
        }
    });
    V::scatter([tx, ty, tz, scale], |i, [x, y, z, scale]| {
        if let Some(out) = out.get_mut(i) {
            (out.translation, out.scale) = ([x, y, z], scale);
        }
    });
    even
}
