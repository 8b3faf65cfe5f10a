//! Joints in arrays of structures: one factor for all.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

use super::kernel::{Nearer, rotations, vectors};
use super::weights::Weights;
use crate::JointQuat;
use crate::convert::quads::Quads;
use crate::simd::Mode;

/// Weights for vectors of every width that structures are gathered into.
pub(super) trait WeightsOfAll<S: Simd>:
    Weights<S, f32x4<S>> + Weights<S, f32x8<S>> + Weights<S, f32x16<S>>
{
}

impl<S: Simd, W> WeightsOfAll<S> for W where
    W: Weights<S, f32x4<S>> + Weights<S, f32x8<S>> + Weights<S, f32x16<S>>
{
}

/// One factor for all joints, `f` from the nearer end. Without `from` the joints in `out` are the first end.
#[inline(always)]
pub(super) fn uniform_structs<S: Simd, M: Mode, W: WeightsOfAll<S>>(
    s: S,
    mode: M,
    how: (&W, Nearer, f32),
    from: Option<&[JointQuat]>,
    to: &[JointQuat],
    out: &mut [JointQuat],
) {
    match S::f32s::LEN {
        4 => groups::<S, M, f32x4<S>, W>(s, mode, how, from, to, out),
        8 => groups::<S, M, f32x8<S>, W>(s, mode, how, from, to, out),
        _ => groups::<S, M, f32x16<S>, W>(s, mode, how, from, to, out),
    }
}

#[inline(always)]
fn groups<S: Simd, M: Mode, V: Quads<S>, W: Weights<S, V>>(
    s: S,
    mode: M,
    how: (&W, Nearer, f32),
    from: Option<&[JointQuat]>,
    to: &[JointQuat],
    out: &mut [JointQuat],
) {
    let mut at = 0;
    for (to, out) in to.chunks(V::LEN).zip(out.chunks_mut(V::LEN)) {
        let from = from.and_then(|from| from.get(at..at + out.len()));
        group::<S, M, V, W>(s, mode, how, from, to, out);
        at += V::LEN;
    }
}

/// As many joints as there are lanes, or fewer.
#[inline(always)]
fn group<S: Simd, M: Mode, V: Quads<S>, W: Weights<S, V>>(
    s: S,
    mode: M,
    (weights, nearer, f): (&W, Nearer, f32),
    from: Option<&[JointQuat]>,
    to: &[JointQuat],
    out: &mut [JointQuat],
) {
    let rotation = {
        let (near, far) = nearer.order(from.unwrap_or(out), to);
        let a = V::gather(s, |i| near.get(i).unwrap_or(&JointQuat::IDENTITY).rotation);
        let b = V::gather(s, |i| far.get(i).unwrap_or(&JointQuat::IDENTITY).rotation);
        let ([x, y, z, w], sign) = rotations::<_, _, _, _, false>(s, mode, weights, V::splat(s, f), a, b);
        // On the hemisphere of the first end.
        let sign = if nearer == Nearer::First { V::splat(s, 1.0) } else { sign };
        [x * sign, y * sign, z * sign, w * sign]
    };
    let f = f32x4::splat(s, f);
    for i in 0..out.len() {
        // Straight lines need no lanes of their own.
        let rest = |joint: &JointQuat| {
            let [x, y, z] = joint.translation;
            [f32x4::load_array(s, [x, y, z, joint.scale])]
        };
        if let (Some(to), Some(own)) = (to.get(i), out.get(i)) {
            let (near, far) = nearer.order(from.and_then(|from| from.get(i)).unwrap_or(own), to);
            let [x, y, z, scale] = vectors(mode, f, rest(near), rest(far))[0].to_array();
            if let Some(out) = out.get_mut(i) {
                (out.translation, out.scale) = ([x, y, z], scale);
            }
        }
    }
    V::scatter(rotation, |i, rotation| {
        if let Some(out) = out.get_mut(i) {
            out.rotation = rotation;
        }
    });
}
