//! Joints in arrays of structures, with one factor for all.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

use super::kernel::{Nearer, OneFactor, rotations, vectors};
use super::weights::{Shared, Weights};
use crate::convert::quads::Quads;
use condyle_base::math::JointQuat;
use condyle_base::simd::Mode;

/// Interpolates all joints with one factor. If `from` is `None`, `out` holds the first end.
#[inline(always)]
pub(super) fn uniform_structs<S: Simd, M: Mode, W: Shared>(
    s: S,
    mode: M,
    factor: &OneFactor<'_, W>,
    from: Option<&[JointQuat]>,
    to: &[JointQuat],
    out: &mut [JointQuat],
) {
    let &OneFactor { weights, nearer, f } = factor;
    match S::f32s::LEN {
        4 => groups::<S, M, f32x4<S>, _>(
            s,
            mode,
            &OneFactor { weights: &weights.spread(s), nearer, f },
            from,
            to,
            out,
        ),
        8 => groups::<S, M, f32x8<S>, _>(
            s,
            mode,
            &OneFactor { weights: &weights.spread(s), nearer, f },
            from,
            to,
            out,
        ),
        _ => groups::<S, M, f32x16<S>, _>(
            s,
            mode,
            &OneFactor { weights: &weights.spread(s), nearer, f },
            from,
            to,
            out,
        ),
    }
}

#[inline(always)]
fn groups<S: Simd, M: Mode, V: Quads<S>, W: Weights<S, V>>(
    s: S,
    mode: M,
    factor: &OneFactor<'_, W>,
    from: Option<&[JointQuat]>,
    to: &[JointQuat],
    out: &mut [JointQuat],
) {
    let mut at = 0;
    for (to, out) in to.chunks_exact(V::LEN).zip(out.chunks_exact_mut(V::LEN)) {
        let from = from.and_then(|from| from.get(at..at + V::LEN));
        group::<S, M, V, W>(s, mode, factor, from, to, out);
        at += V::LEN;
    }
    if let (Some(to), Some(out)) = (to.get(at..), out.get_mut(at..))
        && !out.is_empty()
    {
        let from = from.and_then(|from| from.get(at..));
        if out.len() <= FEW {
            for (i, (to, out)) in to.iter().zip(out).enumerate() {
                let from = from.and_then(|from| from.get(i)).unwrap_or(out);
                *out = single::<S, M, V, W>(s, mode, factor, from, to);
            }
        } else {
            group::<S, M, V, W>(s, mode, factor, from, to, out);
        }
    }
}

/// Number of last joints up to which each is computed alone, in all lanes. A group would gather lanes that
/// have no joint.
const FEW: usize = 2;

/// Interpolates one joint, with the arithmetic of [`group`].
#[inline(always)]
fn single<S: Simd, M: Mode, V: Quads<S>, W: Weights<S, V>>(
    s: S,
    mode: M,
    factor: &OneFactor<'_, W>,
    from: &JointQuat,
    to: &JointQuat,
) -> JointQuat {
    let &OneFactor { weights, nearer, f } = factor;
    let (near, far) = nearer.order(from, to);
    let [x, y, z, w] = near.rotation;
    let a = [V::splat(s, x), V::splat(s, y), V::splat(s, z), V::splat(s, w)];
    let [x, y, z, w] = far.rotation;
    let b = [V::splat(s, x), V::splat(s, y), V::splat(s, z), V::splat(s, w)];
    let ([x, y, z, w], sign) = rotations(s, mode, weights, V::splat(s, f), a, b);
    let sign = if nearer == Nearer::First { V::splat(s, 1.0) } else { sign };
    let rotation = [(x * sign)[0], (y * sign)[0], (z * sign)[0], (w * sign)[0]];
    let [x, y, z, scale] = rest(s, mode, f32x4::splat(s, f), near, far);
    JointQuat { rotation, translation: [x, y, z], scale }
}

/// Interpolates the translation and the scale of one joint, without a transpose.
#[inline(always)]
fn rest<S: Simd, M: Mode>(s: S, mode: M, f: f32x4<S>, near: &JointQuat, far: &JointQuat) -> [f32; 4] {
    let [[x, y, z], [a, b, c]] = [near.translation, far.translation];
    let (near, far) = ([x, y, z, near.scale], [a, b, c, far.scale]);
    vectors(mode, f, [f32x4::load_array(s, near)], [f32x4::load_array(s, far)])[0].to_array()
}

/// Interpolates one joint per lane. If there are fewer joints, the other lanes are identities.
#[inline(always)]
fn group<S: Simd, M: Mode, V: Quads<S>, W: Weights<S, V>>(
    s: S,
    mode: M,
    factor: &OneFactor<'_, W>,
    from: Option<&[JointQuat]>,
    to: &[JointQuat],
    out: &mut [JointQuat],
) {
    let &OneFactor { weights, nearer, f } = factor;
    let joint = |list: &[JointQuat], i: usize| *list.get(i).unwrap_or(&JointQuat::IDENTITY);
    let rotation = {
        let (near, far) = nearer.order(from.unwrap_or(out), to);
        let a = V::gather(s, |i| joint(near, i).rotation);
        let b = V::gather(s, |i| joint(far, i).rotation);
        let ([x, y, z, w], sign) = rotations(s, mode, weights, V::splat(s, f), a, b);
        // Move the result to the hemisphere of the first end.
        let sign = if nearer == Nearer::First { V::splat(s, 1.0) } else { sign };
        [x * sign, y * sign, z * sign, w * sign]
    };
    let f = f32x4::splat(s, f);
    for i in 0..V::LEN {
        let (near, far) = nearer.order(from.unwrap_or(out), to);
        let [x, y, z, scale] = rest(s, mode, f, &joint(near, i), &joint(far, i));
        if let Some(out) = out.get_mut(i) {
            (out.translation, out.scale) = ([x, y, z], scale);
        }
    }
    V::scatter(rotation, |i, rotation| {
        if let Some(out) = out.get_mut(i) {
            out.rotation = rotation;
        }
    });
}
