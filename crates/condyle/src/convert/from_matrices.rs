//! Matrices to transforms.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

use super::quads::Quads;
use crate::pose::{BLOCK, PoseBlock};
use crate::simd::{Mode, dispatch};
use crate::{Affine, Error, JointQuat, Pose};

/// Turns matrices into joints: translation, rotation and one scale.
///
/// # Errors
/// [`Error::Length`] if the lengths differ.
pub fn matrices_to_joints(matrices: &[Affine], joints: &mut [JointQuat]) -> Result<(), Error> {
    Error::check_len("joints", joints.len(), matrices.len())?;
    let all_done = dispatch!(|s, mode| to_joints(s, mode, matrices, joints));
    if !all_done {
        for (joint, matrix) in joints.iter_mut().zip(matrices).filter(|(joint, _)| joint.scale.is_nan()) {
            *joint = matrix.to_joint().0;
        }
    }
    Ok(())
}

/// Turns matrices into a pose: translation, rotation and scale.
///
/// # Errors
/// [`Error::Length`] if `pose` does not hold one joint per matrix.
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

/// Matrices taken apart, one per lane.
struct Parts<V> {
    rotation: [V; 4],
    translation: [V; 3],
    /// The first one, or the only one of a joint, is NaN where the matrix needs the care of 64 bits.
    scale: [V; 3],
}

/// Squares of lengths outside of this range say nothing in f32.
const SQUARES: (f32, f32) = (1e-30, 1e30);

/// As many matrices as there are lanes, or fewer.
#[inline(always)]
fn split<S: Simd, M: Mode, V: Quads<S>>(s: S, mode: M, matrices: &[Affine], mirror_all: bool) -> Parts<V> {
    let splat = |value: f32| V::splat(s, value);
    let dot = |a: &[V; 3], b: &[V; 3]| mode.madd(a[2], b[2], mode.madd(a[1], b[1], a[0] * b[0]));
    let cross = |a: &[V; 3], b: &[V; 3]| {
        [
            mode.msub(a[1], b[2], a[2] * b[1]),
            mode.msub(a[2], b[0], a[0] * b[2]),
            mode.msub(a[0], b[1], a[1] * b[0]),
        ]
    };
    let matrix = |i: usize| matrices.get(i).unwrap_or(&Affine::IDENTITY);
    let [a0, b0, c0, t0] = V::gather(s, |i| matrix(i).rows[0]);
    let [a1, b1, c1, t1] = V::gather(s, |i| matrix(i).rows[1]);
    let [a2, b2, c2, t2] = V::gather(s, |i| matrix(i).rows[2]);
    let (a, b, c) = ([a0, a1, a2], [b0, b1, b2], [c0, c1, c2]);

    // The first column, what is at right angles to it and the second one, and what is at right angles to both.
    let (one, nothing) = (splat(1.0), splat(0.0));
    let first2 = dot(&a, &a);
    let first = first2.sqrt();
    let inverse = one / first;
    let mut x = [a[0] * inverse, a[1] * inverse, a[2] * inverse];
    let mut z = cross(&x, &b);
    let second2 = dot(&z, &z);
    let second = second2.sqrt();
    let inverse = one / second;
    z = [z[0] * inverse, z[1] * inverse, z[2] * inverse];
    let mut y = cross(&z, &x);
    let third = dot(&c, &z);

    let sign = third.simd_lt(nothing).select(splat(-1.0), one);
    x = [x[0] * sign, x[1] * sign, x[2] * sign];
    let scale = if mirror_all {
        y = [y[0] * sign, y[1] * sign, y[2] * sign];
        let mean = (first + second + third * sign) * splat(1.0 / 3.0) * sign;
        [mean, mean, mean]
    } else {
        z = [z[0] * sign, z[1] * sign, z[2] * sign];
        [first * sign, second, third * sign]
    };

    let (low, high) = (splat(SQUARES.0), splat(SQUARES.1));
    let in_range = first2.simd_gt(low) & first2.simd_lt(high) & second2.simd_gt(low) & second2.simd_lt(high);
    // Columns that nearly coincide.
    let apart = second2.simd_gt(dot(&b, &b) * splat(1e-4));
    let safe = in_range & apart;
    Parts {
        rotation: quaternion(s, mode, &x, &y, &z),
        translation: [t0, t1, t2],
        scale: [safe.select(scale[0], splat(f32::NAN)), scale[1], scale[2]],
    }
}

/// The quaternions of right-handed axes.
#[inline(always)]
fn quaternion<S: Simd, M: Mode, V: Quads<S>>(s: S, mode: M, x: &[V; 3], y: &[V; 3], z: &[V; 3]) -> [V; 4] {
    let (zero, one) = (V::splat(s, 0.0), V::splat(s, 1.0));
    // Four times the product of two components each.
    let (xw, yw, zw) = (y[2] - z[1], z[0] - x[2], x[1] - y[0]);
    let (xy, xz, yz) = (x[1] + y[0], z[0] + x[2], y[2] + z[1]);
    // Of four times the squares one that is not below 1.
    let flat = z[2].simd_lt(zero);
    let rest = flat.select(x[0] - y[1], x[0] + y[1]);
    let other = rest.simd_lt(zero);
    let square = one + z[2].abs() + rest.abs();
    let q = [
        flat.select(other.select(xy, square), other.select(xz, xw)),
        flat.select(other.select(square, xy), other.select(yz, yw)),
        flat.select(other.select(yz, xz), other.select(square, zw)),
        flat.select(other.select(yw, xw), other.select(zw, square)),
    ];
    let length2 = mode.madd(q[3], q[3], mode.madd(q[2], q[2], mode.madd(q[1], q[1], q[0] * q[0])));
    let inverse = one / length2.sqrt();
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

/// Whether all are done.
#[inline(always)]
fn blocks_by<S: Simd, M: Mode, V: Quads<S>>(
    s: S,
    mode: M,
    matrices: &[Affine],
    blocks: &mut [PoseBlock],
) -> bool {
    let zero = V::splat(s, 0.0);
    let mut safe = zero.simd_eq(zero);
    let (full, rest) = matrices.as_chunks::<BLOCK>();
    for (block, matrices) in blocks.iter_mut().zip(full) {
        for (at, matrices) in (0..BLOCK).step_by(V::LEN).zip(matrices.chunks_exact(V::LEN)) {
            let parts: Parts<V> = split(s, mode, matrices, false);
            safe &= parts.scale[0].simd_eq(parts.scale[0]);
            put(block, at, &parts);
        }
    }
    if let Some(block) = blocks.get_mut(full.len()) {
        for (at, matrices) in (0..BLOCK).step_by(V::LEN).zip(rest.chunks(V::LEN)) {
            let parts: Parts<V> = split(s, mode, matrices, false);
            safe &= parts.scale[0].simd_eq(parts.scale[0]);
            put(block, at, &parts);
        }
    }
    safe.all_true()
}

#[inline(always)]
fn put<S: Simd, V: SimdFloat<S, Element = f32>>(block: &mut PoseBlock, at: usize, parts: &Parts<V>) {
    for (out, value) in block.rotation.iter_mut().zip(&parts.rotation) {
        value.store_slice(&mut out[at..at + V::LEN]);
    }
    for (out, value) in block.translation.iter_mut().zip(&parts.translation) {
        value.store_slice(&mut out[at..at + V::LEN]);
    }
    for (out, value) in block.scale.iter_mut().zip(&parts.scale) {
        value.store_slice(&mut out[at..at + V::LEN]);
    }
}

#[inline(always)]
fn to_joints<S: Simd, M: Mode>(s: S, mode: M, matrices: &[Affine], joints: &mut [JointQuat]) -> bool {
    match S::f32s::LEN {
        4 => joints_by::<S, M, f32x4<S>>(s, mode, matrices, joints),
        8 => joints_by::<S, M, f32x8<S>>(s, mode, matrices, joints),
        _ => joints_by::<S, M, f32x16<S>>(s, mode, matrices, joints),
    }
}

/// Whether all are done.
#[inline(always)]
fn joints_by<S: Simd, M: Mode, V: Quads<S>>(
    s: S,
    mode: M,
    matrices: &[Affine],
    out: &mut [JointQuat],
) -> bool {
    let zero = V::splat(s, 0.0);
    let mut safe = zero.simd_eq(zero);
    let (matrices, mut out) = (matrices.chunks_exact(V::LEN), out.chunks_exact_mut(V::LEN));
    let last = matrices.remainder();
    for (matrices, out) in matrices.zip(&mut out) {
        safe &= group::<S, M, V>(s, mode, matrices, out);
    }
    safe &= group::<S, M, V>(s, mode, last, out.into_remainder());
    safe.all_true()
}

#[inline(always)]
fn group<S: Simd, M: Mode, V: Quads<S>>(
    s: S,
    mode: M,
    matrices: &[Affine],
    out: &mut [JointQuat],
) -> V::Mask {
    let parts: Parts<V> = split(s, mode, matrices, true);
    let ([tx, ty, tz], scale) = (parts.translation, parts.scale[0]);
    V::scatter(parts.rotation, |i, rotation| {
        if let Some(out) = out.get_mut(i) {
            out.rotation = rotation;
        }
    });
    V::scatter([tx, ty, tz, scale], |i, [x, y, z, scale]| {
        if let Some(out) = out.get_mut(i) {
            (out.translation, out.scale) = ([x, y, z], scale);
        }
    });
    scale.simd_eq(scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, tries};
    use crate::{Dispatch, Transform, reference};
    use std::{vec, vec::Vec};

    fn joints_of(matrices: &[Affine]) -> Vec<JointQuat> {
        let mut out = vec![JointQuat::IDENTITY; matrices.len()];
        matrices_to_joints(matrices, &mut out).expect("sizes agree");
        out
    }

    fn pose_of(matrices: &[Affine]) -> Vec<Transform> {
        let mut out = Pose::identity(matrices.len());
        matrices_to_pose(matrices, &mut out).expect("sizes agree");
        out.transforms().collect()
    }

    /// Quaternions anywhere, or near one of the cases where a component vanishes or two are equal: turns by nearly
    /// nothing, a half, a quarter or a third.
    fn rotation(random: &mut Random) -> [f32; 4] {
        let near: [[f64; 4]; 6] = [
            [0.0, 0.0, 0.0, 1.0],
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, -1.0, 0.0],
            [0.0, 1.0, 0.0, 1.0],
            [1.0, -1.0, 1.0, 1.0],
        ];
        let mut q: [f64; 4] = random.unit::<4>().map(f64::from);
        if random.below(3) > 0 {
            let (size, at) = ([0.0, 1e-7, 1e-5, 1e-3, 0.1][random.below(5)], random.below(near.len()));
            q = core::array::from_fn(|c| near[at][c] + size * q[c]);
            let (a, b) = (random.below(4), random.below(4));
            q.swap(a, b);
        }
        let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
        q.map(|v| (v / length) as f32)
    }

    /// The largest difference of the components, the sign of the whole being free.
    fn between(a: [f32; 4], b: [f64; 4]) -> f64 {
        let a = a.map(f64::from);
        let distance = |sign: f64| (0..4).map(|c| (a[c] - sign * b[c]).abs()).fold(0.0, f64::max);
        distance(1.0).min(distance(-1.0))
    }

    fn length(q: [f32; 4]) -> f64 {
        q.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt()
    }

    /// Rounded from f64.
    fn matrix(t: Transform) -> Affine {
        Affine { rows: reference::local_matrix(&t.into()).map(|row| row.map(|v| v as f32)) }
    }

    #[test]
    fn rotations_come_back_from_every_neighbourhood() {
        let mut random = Random(1);
        let count = tries(200_001);
        let transforms: Vec<Transform> = (0..count)
            .map(|_| Transform {
                rotation: rotation(&mut random),
                translation: random.vector(2.0),
                scale: [[1.0, 1.0, -1.0, 0.01, 100.0][random.below(5)] * random.range(0.5, 2.0); 3],
            })
            .collect();
        let matrices: Vec<_> = transforms.iter().map(|&t| matrix(t)).collect();
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| joints_of(&matrices));
            for (i, (got, t)) in got.iter().zip(&transforms).enumerate() {
                let error = between(got.rotation, t.rotation.map(f64::from));
                let off = (length(got.rotation) - 1.0).abs();
                let scale = (f64::from(got.scale) / f64::from(t.scale[0]) - 1.0).abs();
                assert!(error < 4e-7 && off < 2e-7 && scale < 4e-7, "{dispatch}, case {i}: {t:?} {got:?}");
                assert_eq!(got.translation, t.translation);
            }
        }
    }

    #[test]
    fn scaled_and_mirrored_matrices_come_back() {
        let mut random = Random(2);
        let transforms: Vec<Transform> = (0..tries(100_000))
            .map(|_| Transform {
                rotation: rotation(&mut random),
                translation: random.vector(2.0),
                scale: core::array::from_fn(|_| {
                    [1.0, -1.0, 0.01, 100.0][random.below(4)] * random.range(0.5, 2.0)
                }),
            })
            .collect();
        let matrices: Vec<_> = transforms.iter().map(|&t| matrix(t)).collect();
        for dispatch in Dispatch::all() {
            for (i, (got, m)) in dispatch.scope(|| pose_of(&matrices)).iter().zip(&matrices).enumerate() {
                let (want, apart) = m.to_transform();
                assert!(apart < 1e-6);
                let error = between(got.rotation, want.rotation.map(f64::from));
                for c in 0..3 {
                    let scale = (f64::from(got.scale[c]) / f64::from(want.scale[c]) - 1.0).abs();
                    assert!(scale < 4e-7);
                }
                assert!(error < 1e-6, "{dispatch}, case {i}: {want:?} {got:?}");
            }
        }
    }
}
