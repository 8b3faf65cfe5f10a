//! Matrices to transforms.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

use super::quads::Quads;
use crate::pose::{BLOCK, Lanes, PoseBlock};
use crate::simd::{Mode, dispatch};
use crate::{Affine, Error, JointQuat, Pose};

/// Turns matrices into joints: translation, rotation and one scale, which is negative where the matrix mirrors.
///
/// Every rotation times a scale comes back, mirrored or not, near half turns as well as elsewhere: the quaternion within
/// 1.9e-7 per component and of unit length within 1.8e-7, the scale within 2.7e-7 of itself (over 10^8 matrices, their
/// own rounding included). Either of the two quaternions of a rotation may result.
///
/// A joint has no room for shear nor for three scales. Where two columns lean towards each other by 2.3e-3 radians or more,
/// or one is longer or shorter than the others by 2e-3 of its length, the result is that of [`Affine::to_joint`], which also
/// tells what is lost; so it is of matrices that are singular, or too small or too large for squares in f32. They take much
/// longer. Up to 1.7e-3 radians and 1.5e-3 of the length pass for rounding, and the quaternion is within 9e-4 of
/// that one's; in between it may be either. A zero matrix has the scale zero and no rotation.
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

/// Turns matrices into a pose: translation, rotation and three scales, of which x is negative where the matrix mirrors.
///
/// Every rotation times scales comes back, within the same bounds as those of [`matrices_to_joints`], but that two
/// negative scales are a half turn. Where two columns lean towards each other by 2.3e-3 radians or more, the result is that
/// of [`Affine::to_transform`], which also tells what is lost; so it is of matrices that are singular, or too small or too
/// large for squares in f32. They take much longer. Up to 1.7e-3 radians pass for rounding, and the quaternion is within 9e-4
/// of that one's.
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

/// The columns of the upper three rows, one matrix per lane.
type Columns<V> = [[V; 3]; 3];

/// What a determinant must be at least, as a part of the greatest that columns of such lengths can have: it is less by half
/// of the sum of the squares of the angles by which they lean, and where one length is asked for by the sum of the
/// squares of the lengths' distances from their mean, 2/3 e² if one differs by e. So the bound lies at angles of 2e-3 and
/// lengths of 1.7e-3, give or take the rounding of the determinant, 5e-7.
const EVEN: f32 = 1.0 - 2e-6;

/// Squares of lengths outside of this range say nothing in f32.
const SQUARES: (f32, f32) = (1e-24, 1e24);

/// As many matrices as there are lanes, or fewer.
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

/// Rotations and the one scale of matrices that have no other parts; and the lanes where that is so.
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

/// Rotations and scales of matrices without shear; and the lanes where that is so. Mirrors x.
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

/// The quaternions of rotations times `size`, and times minus one where `sign` is negative.
///
/// Without branches: of the four multiples of the quaternion that sums and differences of the entries give, each lane
/// takes one whose own component is at least a half.
#[inline(always)]
fn quaternion<S: Simd, M: Mode, V: Quads<S>>(s: S, mode: M, m: &Columns<V>, size: V, sign: V) -> [V; 4] {
    let zero = V::splat(s, 0.0);
    let negative = sign.simd_lt(zero);
    let [x, y, z] = m;
    // Four times the product of two components, times the size with its sign.
    let (xw, yw, zw) = (y[2] - z[1], z[0] - x[2], x[1] - y[0]);
    let (xy, xz, yz) = (x[1] + y[0], z[0] + x[2], y[2] + z[1]);
    // The same of a component's square: of the four that one to which all three terms add.
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

/// Whether all are done; the first scale of those that are not is NaN.
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

/// As many matrices as there are lanes, or fewer, to the lanes from `at` on.
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

/// Whether all are done; the scale of those that are not is NaN.
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

/// As many matrices as there are lanes, or fewer.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, SIZES, assert_portable, tries};
    use crate::{Dispatch, Transform, joints_to_matrices, pose_to_matrices, reference};
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

    fn factor(random: &mut Random) -> f32 {
        [1.0, 1.0, -1.0, 0.01, 100.0, 1e-9, -1e9][random.below(7)] * random.range(0.5, 2.0)
    }

    /// The largest difference of the components, the sign of the whole being free.
    fn between(a: [f32; 4], b: [f32; 4]) -> f64 {
        let (a, b) = (a.map(f64::from), b.map(f64::from));
        let distance = |sign: f64| (0..4).map(|c| (a[c] - sign * b[c]).abs()).fold(0.0, f64::max);
        distance(1.0).min(distance(-1.0))
    }

    fn off_unit(q: [f32; 4]) -> f64 {
        (q.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt() - 1.0).abs()
    }

    fn off_scale(got: f32, want: f32) -> f64 {
        (f64::from(got) / f64::from(want) - 1.0).abs()
    }

    /// Rounded from f64.
    fn matrix(t: Transform) -> Affine {
        Affine { rows: reference::local_matrix(&t.into()).map(|row| row.map(|v| v as f32)) }
    }

    /// The greatest errors of joints and of poses: of a component, of the length, of a scale.
    fn worst(count: usize, seed: u64) -> [[f64; 3]; 2] {
        let mut random = Random(seed);
        let random = &mut random;
        let transform = |scale, random: &mut Random| Transform {
            rotation: rotation(random),
            translation: random.vector(2.0),
            scale,
        };
        let even: Vec<_> = (0..count).map(|_| transform([factor(random); 3], random)).collect();
        // Mirrored in x alone: what comes back is the same transform, and not another one with the same matrix.
        let uneven: Vec<_> = (0..count)
            .map(|_| transform([factor(random), factor(random).abs(), factor(random).abs()], random))
            .collect();
        let matrices: Vec<_> = even.iter().map(|&t| matrix(t)).collect();
        let stretched: Vec<_> = uneven.iter().map(|&t| matrix(t)).collect();
        let mut worst = [[0.0_f64; 3]; 2];
        for dispatch in Dispatch::all() {
            let (joints, pose) = dispatch.scope(|| (joints_of(&matrices), pose_of(&stretched)));
            for (got, want) in joints.iter().zip(&even) {
                let rotation = between(got.rotation, want.rotation);
                worst[0][0] = worst[0][0].max(rotation);
                worst[0][1] = worst[0][1].max(off_unit(got.rotation));
                worst[0][2] = worst[0][2].max(off_scale(got.scale, want.scale[0]));
                assert_eq!(got.translation, want.translation, "{dispatch}");
            }
            for (got, want) in pose.iter().zip(&uneven) {
                worst[1][0] = worst[1][0].max(between(got.rotation, want.rotation));
                worst[1][1] = worst[1][1].max(off_unit(got.rotation));
                for (got, want) in got.scale.iter().zip(want.scale) {
                    worst[1][2] = worst[1][2].max(off_scale(*got, want));
                }
                assert_eq!(got.translation, want.translation, "{dispatch}");
            }
        }
        worst
    }

    const BOUNDS: [f64; 3] = [1.9e-7, 1.8e-7, 2.7e-7];

    #[track_caller]
    fn assert_worst(worst: [[f64; 3]; 2]) {
        for (which, worst) in ["joints", "pose"].iter().zip(worst) {
            assert!(worst.iter().zip(BOUNDS).all(|(worst, bound)| *worst <= bound), "{which}: {worst:?}");
        }
    }

    #[test]
    fn transforms_come_back_from_every_neighbourhood() {
        assert_worst(worst(tries(100_001), 1));
    }

    #[test]
    #[ignore = "20 seconds with optimisation: 10^8 matrices"]
    fn transforms_come_back_from_every_neighbourhood_of_many_more() {
        let rounds = 50_000_000 / 100_000 / Dispatch::all().count() + 1;
        let mut all = [[0.0_f64; 3]; 2];
        for round in 0..rounds {
            let worst = worst(100_000, 1000 + round as u64);
            for (all, worst) in all.as_flattened_mut().iter_mut().zip(worst.as_flattened()) {
                *all = all.max(*worst);
            }
        }
        std::println!("{all:?}");
        assert_worst(all);
    }

    #[test]
    fn every_size_there_and_back() {
        for &count in SIZES {
            let mut random = Random(count as u64);
            let transforms: Vec<_> = (0..count).map(|_| random.transform()).collect();
            let joints: Vec<_> = (0..count)
                .map(|_| JointQuat {
                    rotation: random.unit(),
                    translation: random.vector(1.0),
                    scale: factor(&mut random),
                })
                .collect();
            let pose = Pose::from_transforms(&transforms);
            for dispatch in Dispatch::all() {
                dispatch.scope(|| {
                    let mut matrices = vec![Affine::IDENTITY; count];
                    joints_to_matrices(&joints, &mut matrices).expect("sizes agree");
                    for (j, (got, want)) in joints_of(&matrices).iter().zip(&joints).enumerate() {
                        let error =
                            between(got.rotation, want.rotation).max(off_scale(got.scale, want.scale));
                        assert!(error < 6e-7, "{dispatch}, joint {j} of {count}: {got:?} {want:?}");
                    }
                    pose_to_matrices(&pose, &mut matrices).expect("sizes agree");
                    for (j, (got, want)) in pose_of(&matrices).iter().zip(&transforms).enumerate() {
                        let scale =
                            (0..3).map(|c| off_scale(got.scale[c], want.scale[c])).fold(0.0, f64::max);
                        let error = between(got.rotation, want.rotation).max(scale);
                        assert!(error < 6e-7, "{dispatch}, joint {j} of {count}: {got:?} {want:?}");
                    }
                });
            }
        }
    }

    #[test]
    fn the_identity_and_half_turns_are_exact() {
        for (diagonal, rotation, scale) in [
            ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0], 1.0),
            ([2.0, -2.0, -2.0], [1.0, 0.0, 0.0, 0.0], 2.0),
            ([-1.0, 1.0, -1.0], [0.0, 1.0, 0.0, 0.0], 1.0),
            ([-0.5, -0.5, 0.5], [0.0, 0.0, 1.0, 0.0], 0.5),
            ([-1.0, -1.0, -1.0], [0.0, 0.0, 0.0, 1.0], -1.0),
        ] {
            let mut m = Affine::IDENTITY;
            (0..3).for_each(|c| m.rows[c][c] = diagonal[c]);
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| joints_of(&[m]))[0];
                assert_eq!(
                    (between(got.rotation, rotation), got.scale),
                    (0.0, scale),
                    "{dispatch}, {diagonal:?}"
                );
            }
        }
    }

    /// What no joint, or no transform at all, can hold; what has no square in f32; and what is no number.
    fn hard() -> Vec<Affine> {
        let turn = Random(3).unit();
        let of = |scale| Affine::from(Transform { rotation: turn, scale, ..Transform::IDENTITY });
        let mut hard: Vec<_> = [
            [0.0, 0.0, 0.0],
            [1e-30, 1e-30, 1e-30],
            [-1e30, 1e30, 1e30],
            [0.0, 1.0, 2.0],
            [1.0, 0.0, 2.0],
            [1.0, 2.0, 0.0],
            [0.0, 0.0, 3.0],
            [1.0, 2.0, 3.0],
            [1.0, 1e-20, 1.0],
        ]
        .map(of)
        .into();
        let shear = Affine { rows: [[1.0, 0.4, -0.2, 1.0], [0.0, 1.0, 0.3, 2.0], [0.0, 0.0, 1.0, 3.0]] };
        let same = Affine { rows: [[1.0, 1.0, 0.0, 0.0], [2.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };
        hard.extend([shear, shear * of([1.0, -2.0, 0.5]), same]);
        hard
    }

    #[test]
    fn what_a_joint_cannot_hold_is_what_the_single_conversion_says() {
        let hard = hard();
        let mut random = Random(4);
        let easy: Vec<_> = (0..37).map(|_| Affine::from(random.transform())).collect();
        for dispatch in Dispatch::all() {
            for (i, m) in hard.iter().enumerate() {
                // In any lane, with others around it.
                let mut all = easy.clone();
                all[3 * i] = *m;
                let (joints, pose) = dispatch.scope(|| (joints_of(&all), pose_of(&all)));
                assert_eq!(joints[3 * i], m.to_joint().0, "{dispatch}, {m:?}");
                // Three scales are no exception for a pose.
                if i != 7 {
                    assert_eq!(pose[3 * i], m.to_transform().0, "{dispatch}, {m:?}");
                }
                let numbers = joints[3 * i].rotation.iter().chain(&pose[3 * i].scale);
                assert!(numbers.chain(&pose[3 * i].rotation).all(|v| v.is_finite()), "{dispatch}, {m:?}");
                let alone = dispatch.scope(|| (joints_of(&easy), pose_of(&easy)));
                for j in (0..37).filter(|&j| j != 3 * i) {
                    assert_eq!((joints[j], pose[j]), (alone.0[j], alone.1[j]), "{dispatch}");
                }
            }
        }
        let mut broken = Affine::IDENTITY;
        broken.rows[1][2] = f32::NAN;
        assert_eq!(joints_of(&[broken]).len(), 1);
        broken.rows[0][0] = f32::INFINITY;
        assert_eq!(pose_of(&[broken]).len(), 1);
    }

    /// Just before and just behind the bound where 64 bits take over.
    #[test]
    fn nearly_even_matrices_are_near_their_transforms() {
        let mut random = Random(5);
        for case in 0..tries(2000) {
            let size = [1e-6, 1e-4, 1e-3, 3e-3][case % 4];
            let mut m = Affine::from(Transform { scale: [1.0; 3], ..random.transform() });
            m.rows
                .iter_mut()
                .for_each(|row| row[..3].iter_mut().for_each(|v| *v += random.range(-size, size)));
            let (want_joint, want) = (m.to_joint().0, m.to_transform().0);
            for dispatch in Dispatch::all() {
                let (joint, t) = dispatch.scope(|| (joints_of(&[m])[0], pose_of(&[m])[0]));
                let bound = 2.0 * f64::from(size) + BOUNDS[0];
                assert!(between(joint.rotation, want_joint.rotation) < bound, "{dispatch}, {size}");
                assert!(between(t.rotation, want.rotation) < bound, "{dispatch}, {size}");
                assert!(off_scale(joint.scale, want_joint.scale) < bound, "{dispatch}, {size}");
                assert!(off_unit(joint.rotation).max(off_unit(t.rotation)) < BOUNDS[1], "{dispatch}, {size}");
            }
        }
    }

    /// Which way a matrix went is seen by its bits: leaning columns make a difference of the order of their angle.
    #[test]
    fn shear_and_uneven_lengths_pass_for_rounding_up_to_where_it_is_said() {
        let mut random = Random(8);
        for case in 0..tries(3000) {
            let turn = Affine::from_quat(random.unit());
            let size = [1e-6, 1.0, 1e6][case % 3];
            let (a, b) = (case % 3, (case + 1 + case % 2) % 3);
            // A shear by which column b leans towards column a, or another length of column a.
            let off = |lean: f32, longer: f32| {
                let mut m = Affine::IDENTITY;
                m.rows[a][b] = lean;
                m.rows[a][a] += longer;
                m.rows.iter_mut().for_each(|row| row[..3].iter_mut().for_each(|v| *v *= size));
                turn * m
            };
            let sign = if case % 2 == 0 { 1.0 } else { -1.0 };
            let (leaning, longer) = (off(sign * 2.3e-3, 0.0), off(0.0, sign * 2e-3));
            let (upright, even) = (off(sign * 1.7e-3, 0.0), off(0.0, sign * 1.5e-3));
            for dispatch in Dispatch::all() {
                dispatch.scope(|| {
                    let case = format_args!("{dispatch}, case {case}");
                    assert_eq!(
                        joints_of(&[leaning, longer]),
                        [leaning, longer].map(|m| m.to_joint().0),
                        "{case}"
                    );
                    assert_eq!(pose_of(&[leaning]), [leaning.to_transform().0], "{case}");
                    let joints = joints_of(&[upright, even]);
                    let leans = [joints[0].rotation, pose_of(&[upright])[0].rotation];
                    let leans = leans.map(|got| between(got, upright.to_quat()));
                    assert!(leans.iter().all(|lean| (1e-5..9e-4).contains(lean)), "{case}: {leans:?}");
                    assert!(between(joints[1].rotation, even.to_quat()) < 9e-4, "{case}");
                });
            }
        }
    }

    #[test]
    fn a_result_does_not_depend_on_its_lane() {
        let mut random = Random(6);
        let mut matrices: Vec<_> = (0..53).map(|_| Affine::from(random.transform())).collect();
        matrices.extend((0..30).map(|_| Affine::from(Transform { scale: [2.0; 3], ..random.transform() })));
        for dispatch in Dispatch::all() {
            dispatch.scope(|| {
                let (mut joints, mut pose) = (joints_of(&matrices), pose_of(&matrices));
                matrices.rotate_left(5);
                joints.rotate_left(5);
                pose.rotate_left(5);
                assert_eq!((joints_of(&matrices), pose_of(&matrices)), (joints, pose), "{dispatch}");
            });
        }
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let refused = matrices_to_joints(&[Affine::IDENTITY; 3], &mut [JointQuat::IDENTITY; 2]);
        assert_eq!(refused, Err(Error::Length { what: "joints", found: 2, needed: 3 }));
        let refused = matrices_to_pose(&[Affine::IDENTITY; 3], &mut Pose::identity(4));
        assert_eq!(refused, Err(Error::Length { what: "pose", found: 4, needed: 3 }));
    }

    #[test]
    fn the_portable_mode_gives_the_same_bits_everywhere() {
        let mut random = Random(7);
        let mut matrices = hard();
        matrices.extend((0..1003).map(|_| {
            matrix(Transform {
                rotation: rotation(&mut random),
                scale: [factor(&mut random); 3],
                ..random.transform()
            })
        }));
        matrices.extend((0..203).map(|_| Affine::from(random.transform())));
        assert_portable(0x9e61_7db6_ccb0_f3a7, |hash| {
            for joint in joints_of(&matrices) {
                hash.add(joint.rotation.iter().chain(&joint.translation).chain(&[joint.scale]));
            }
            for t in pose_of(&matrices) {
                hash.add(t.rotation.iter().chain(&t.translation).chain(&t.scale));
            }
        });
    }
}
