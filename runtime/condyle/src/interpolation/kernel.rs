//! Interpolation kernels for many joints between two ends.
//!
//! # Formulas
//!
//! θ is the angle between the quaternions `near` and `far`, and `f` is the factor from the nearer end, at
//! most 1/2. Slerp is a weighted sum of both ends. Each method computes the two weights differently
//! ([`Weights`]):
//!
//! ```text
//! q = near + (to · far - off · near)       to = sin(f θ) / sin θ,  off = 1 - sin((1 - f) θ) / sin θ
//! z = 1 - cos θ = |far - near|² / 2        cos²(θ/2) = 1 - z / 2
//! ```
//!
//! # Worked example of a rotation
//!
//! `near` is the identity, `far` is a rotation by 120° about x, `(0.8660, 0, 0, 0.5)`, and `f = 1/4`:
//!
//! ```text
//! dot  = 0.5, so far is on the hemisphere of near, and θ = 60°
//! z    = 1 - 0.5 = 0.5                     cos θ < 0.75: from the cosine
//! to   = sin 15° / sin 60° = 0.2989        off = 1 - sin 45° / sin 60° = 0.1835
//! x    = 0 + 0.2989 · 0.8660               = 0.2588
//! w    = 1 + (0.2989 · 0.5 - 0.1835 · 1)   = 0.9659
//! ```
//!
//! `(0.2588, 0, 0, 0.9659)` is a rotation by 30° about x. The test
//! `the_worked_rotation_comes_out_as_the_preface_says` computes it.
//!
//! # Reasons
//!
//! 1. The result is a correction of the nearer end. For this reason both ends, and equal ends, are exact.
//! 2. For close ends `z` is computed from the chord, because `1 - cos θ` has no significant digits there.
//! 3. The dot product is not fused in either numeric mode. Between ends half a turn apart its sign selects
//!    the arc, and both modes must select the same one.
//! 4. No branch depends on a joint. Instead, both results are computed and one is selected.
//! 5. The result is on the hemisphere of the first end, even if the second one is nearer: [`Nearer::Second`]
//!    multiplies by the sign.
//!
//! # Limits
//!
//! `Method::error_bound` returns the error of each method. Ends half a turn apart have two shortest arcs; the
//! sign of the dot product selects one.

use fearless_simd::{f32x4, prelude::*};

use super::factor::Factors;
use super::method::Degree;
use super::weights::{Angle, Fitted, Shared, Weights};
use crate::pose::PoseBlock;
use condyle_base::math::Quat;
use condyle_base::simd::{BLOCK, Floats, Lanes, Mode, Portable, each, load, load_all, store_all};

/// The four components of one quaternion per lane.
pub(crate) type Quats<V> = [V; 4];

/// Returns the sum of four products, in pairs, which halves the chain of dependent operations.
#[inline(always)]
pub(super) fn dot<S: Simd, M: Mode, V: Floats<S>>(mode: M, a: &Quats<V>, b: &Quats<V>) -> V {
    mode.madd(a[3], b[3], a[2] * b[2]) + mode.madd(a[1], b[1], a[0] * b[0])
}

/// Returns the sign, 1 or -1, that moves a quaternion to the hemisphere of another one, from their [`dot`]
/// product. -0 counts as 0.
#[inline(always)]
pub(super) fn hemisphere<S: Simd, V: Floats<S>>(s: S, dot: V) -> V {
    V::splat(s, 1.0).copysign(dot + V::splat(s, 0.0))
}

/// The scalar version of [`hemisphere`], with the same order of summation, so that both select the same arc.
pub(super) fn on_hemisphere_of(a: Quat, b: Quat) -> Quat {
    let dot = (a[3] * b[3] + a[2] * b[2]) + (a[1] * b[1] + a[0] * b[0]);
    if dot < 0.0 { b.map(|v| -v) } else { b }
}

#[inline(always)]
fn squares<S: Simd, M: Mode, V: Floats<S>>(mode: M, v: &Quats<V>) -> V {
    dot(mode, v, v)
}

/// Returns the rotations between two ends at the factor `f` from the nearer one, on its hemisphere. Also
/// returns the sign that the farther end was multiplied by. Weights that are [`as_given`](Weights::as_given)
/// follow the arc as given, with the sign 1.
#[inline(always)]
pub(super) fn rotations<S: Simd, M: Mode, V: Floats<S>, W: Weights<S, V>>(
    s: S,
    mode: M,
    weights: &W,
    f: V,
    near: Quats<V>,
    far: Quats<V>,
) -> (Quats<V>, V) {
    let (zero, half, one) = (V::splat(s, 0.0), V::splat(s, 0.5), V::splat(s, 1.0));
    // Not fused in either mode: between keys half a turn apart its sign alone selects the arc.
    let dot = dot(Portable, &near, &far);
    let given = weights.as_given();
    let sign = if given { one } else { hemisphere(s, dot) };
    let cos = if given { dot } else { dot.abs() };
    let mut step = far;
    each!(c in [0, 1, 2, 3] => step[c] = mode.msub(step[c], sign, near[c]));
    // Use the chord for close ends: the cosine has lost its digits there, and equal ends must give zero.
    let chord = squares(mode, &step);
    let z = cos.simd_lt(V::splat(s, 0.75)).select(one - cos, chord * half);
    let mut half_cos2 = one - z * half;
    if given {
        // Use the sum for ends that are far apart: the difference has lost its digits there.
        let sum = [far[0] + near[0], far[1] + near[1], far[2] + near[2], far[3] + near[3]];
        let wide = squares(mode, &sum) * V::splat(s, 0.25);
        half_cos2 = cos.simd_lt(zero).select(wide, half_cos2);
    }
    let (to, off) = weights.weights(s, mode, Angle { z, half_cos2 }, f);
    let to = to * sign;
    let mut between = near;
    // For equal ends the difference of the products is below the last bit, so the result is exact.
    each!(c in [0, 1, 2, 3] => between[c] += mode.msub(far[c], to, between[c] * off));
    (between, sign)
}

/// Returns the vectors on the straight line between two ends, at the factor `f` from the nearer one.
#[inline(always)]
pub(super) fn vectors<S: Simd, M: Mode, V: Floats<S>, const N: usize>(
    mode: M,
    f: V,
    mut near: [V; N],
    far: [V; N],
) -> [V; N] {
    each!(c in [0, 1, 2, 3] below N => near[c] = mode.madd(far[c] - near[c], f, near[c]));
    near
}

/// The end that is nearer to the factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nearer {
    First,
    Second,
}

impl Nearer {
    /// Returns the nearer end and the farther one.
    #[inline(always)]
    pub(super) fn order<T>(self, first: T, second: T) -> (T, T) {
        match self {
            Self::First => (first, second),
            Self::Second => (second, first),
        }
    }
}

/// One factor for all joints.
pub(super) struct OneFactor<'a, W> {
    pub(super) weights: &'a W,
    pub(super) nearer: Nearer,
    /// The factor from the nearer end.
    pub(super) f: f32,
}

/// Interpolates the first `joints` joints with one factor. If `from` is `None`, `out` holds the first end.
#[inline(always)]
pub(super) fn uniform_blocks<S: Simd, M: Mode, W: Shared>(
    s: S,
    mode: M,
    factor: &OneFactor<'_, W>,
    joints: usize,
    from: Option<&[PoseBlock]>,
    to: &[PoseBlock],
    out: &mut [PoseBlock],
) {
    let &OneFactor { weights, nearer, f } = factor;
    let (weights, f) = (weights.spread::<S, S::f32s>(s), S::f32s::splat(s, f));
    for (i, (to, out)) in to.iter().zip(out).enumerate() {
        for at in (0..BLOCK).step_by(S::f32s::LEN) {
            if i * BLOCK + at >= joints {
                return;
            }
            let first = match from.map(|from| from.get(i)) {
                Some(Some(first)) => first,
                Some(None) => return,
                None => &*out,
            };
            let (near, far) = nearer.order(first, to);
            let (a, b) = (load_all(s, &near.rotation, at), load_all(s, &far.rotation, at));
            let (mut rotation, sign) = rotations::<_, _, S::f32s, _>(s, mode, &weights, f, a, b);
            if nearer == Nearer::Second {
                // Move the result to the hemisphere of the first end.
                let [x, y, z, w] = rotation;
                rotation = [x * sign, y * sign, z * sign, w * sign];
            }
            let (a, b) = (load_all(s, &near.translation, at), load_all(s, &far.translation, at));
            let translation: [S::f32s; 3] = vectors(mode, f, a, b);
            let (a, b) = (load_all(s, &near.scale, at), load_all(s, &far.scale, at));
            let scale: [S::f32s; 3] = vectors(mode, f, a, b);
            store_all(&mut out.rotation, at, rotation);
            store_all(&mut out.translation, at, translation);
            store_all(&mut out.scale, at, scale);
        }
    }
}

/// Interpolates one rotation, with the arithmetic of [`uniform_blocks`].
#[inline(always)]
pub(super) fn uniform_one<S: Simd, M: Mode, W: Shared>(
    s: S,
    mode: M,
    factor: &OneFactor<'_, W>,
    a: Quat,
    b: Quat,
) -> Quat {
    let &OneFactor { weights, nearer, f } = factor;
    let (near, far) = nearer.order(a, b);
    let lanes = |q: Quat| q.map(|v| f32x4::splat(s, v));
    let weights = weights.spread::<S, f32x4<S>>(s);
    let (q, sign) = rotations(s, mode, &weights, f32x4::splat(s, f), lanes(near), lanes(far));
    let sign = if nearer == Nearer::Second { sign } else { f32x4::splat(s, 1.0) };
    let mut out = a;
    for (out, v) in out.iter_mut().zip(q) {
        *out = (v * sign).to_array()[0];
    }
    out
}

/// Returns the nearer end and the farther one in each lane, and the factor from the nearer one.
#[inline(always)]
pub(super) fn order<S: Simd, V: Floats<S>, const N: usize>(
    s: S,
    t: V,
    first: [V; N],
    second: [V; N],
) -> ([V; N], [V; N], V) {
    let is_second = t.simd_gt(V::splat(s, 0.5));
    let (mut near, mut far) = (first, second);
    each!(c in [0, 1, 2, 3] below N => {
        near[c] = is_second.select(second[c], first[c]);
        far[c] = is_second.select(first[c], second[c]);
    });
    (near, far, is_second.select(V::splat(s, 1.0) - t, t))
}

/// Both ends of an interpolation.
struct Ends<'a, const N: usize> {
    /// The first end, or `None` if the output holds it.
    from: Option<&'a [Lanes; N]>,
    to: &'a [Lanes; N],
}

/// [`rotations`] for the first `joints` of one block, with a factor per lane.
#[inline(always)]
fn rotation_block<S: Simd, M: Mode, W: Weights<S, S::f32s>>(
    s: S,
    mode: M,
    weights: &W,
    joints: usize,
    ends: &Ends<'_, 4>,
    t: &Lanes,
    out: &mut [Lanes; 4],
) {
    for at in (0..BLOCK).step_by(S::f32s::LEN) {
        if at >= joints {
            return;
        }
        let t = load(s, t, at);
        let (near, far, f) = order(s, t, load_all(s, ends.from.unwrap_or(out), at), load_all(s, ends.to, at));
        let ([x, y, z, w], sign) = rotations(s, mode, weights, f, near, far);
        let sign = t.simd_gt(S::f32s::splat(s, 0.5)).select(sign, S::f32s::splat(s, 1.0));
        store_all(out, at, [x * sign, y * sign, z * sign, w * sign]);
    }
}

/// Computes `a + (b - a)·t` for one block of vectors, with a factor per lane. Both ends are exact.
///
/// The keys of files may be as far apart as -3e38 and 3e38. The difference is halved so that it does not
/// overflow. The bits of the result do not change, unless half of a value is denormal. Of the methods for
/// poses, only the exponential map uses this function: in the others it would cost 3 to 8 % of a slerp and up
/// to 25 % of an nlerp.
#[inline(always)]
pub(crate) fn vector_block<S: Simd, M: Mode>(
    s: S,
    mode: M,
    a: &[Lanes; 3],
    b: &[Lanes; 3],
    t: &Lanes,
    out: &mut [Lanes; 3],
) {
    let half = S::f32s::splat(s, 0.5);
    for at in (0..BLOCK).step_by(S::f32s::LEN) {
        let (mut near, far, f) = order(s, load(s, t, at), load_all(s, a, at), load_all(s, b, at));
        let f = f + f;
        each!(c in [0, 1, 2] => {
            let half_difference = mode.msub(far[c], half, near[c] * half);
            near[c] = mode.madd(half_difference, f, near[c]);
        });
        store_all(out, at, near);
    }
}

/// Computes `a + (b - a)·t` for the first `joints` of a block. If `a` is `None`, `out` holds the first end.
#[inline(always)]
fn vector_lanes<S: Simd, M: Mode>(
    s: S,
    mode: M,
    joints: usize,
    a: Option<&[Lanes; 3]>,
    b: &[Lanes; 3],
    t: &Lanes,
    out: &mut [Lanes; 3],
) {
    for at in (0..BLOCK).step_by(S::f32s::LEN) {
        if at >= joints {
            return;
        }
        let a = load_all(s, a.unwrap_or(out), at);
        let (near, far, f) = order(s, load(s, t, at), a, load_all(s, b, at));
        store_all(out, at, vectors(mode, f, near, far));
    }
}

/// Interpolates with a factor per joint, by any method with weights. If `from` is `None`, `out` holds the
/// first end.
#[inline(always)]
pub(super) fn lanes_blocks<S: Simd, M: Mode, W: Weights<S, S::f32s>>(
    s: S,
    mode: M,
    weights: &W,
    factors: &Factors<'_>,
    from: Option<&[PoseBlock]>,
    to: &[PoseBlock],
    out: &mut [PoseBlock],
) {
    for (i, (to, out)) in to.iter().zip(out).enumerate() {
        let (t, from) = (factors.of_block(i), from.and_then(|from| from.get(i)));
        let joints = factors.joints.saturating_sub(i * BLOCK);
        let rotations = Ends { from: from.map(|from| &from.rotation), to: &to.rotation };
        rotation_block::<S, M, W>(s, mode, weights, joints, &rotations, &t, &mut out.rotation);
        let translation = from.map(|from| &from.translation);
        vector_lanes(s, mode, joints, translation, &to.translation, &t, &mut out.translation);
        vector_lanes(s, mode, joints, from.map(|from| &from.scale), &to.scale, &t, &mut out.scale);
    }
}

/// Computes the rotations of one block between keys, with a factor in [0, 1] per lane.
#[inline(always)]
pub(crate) fn slerp_block<S: Simd, M: Mode>(
    s: S,
    mode: M,
    a: &[Lanes; 4],
    b: &[Lanes; 4],
    t: &Lanes,
    out: &mut [Lanes; 4],
) {
    rotation_block(s, mode, &Fitted::slerp(Degree::Nine), BLOCK, &Ends { from: Some(a), to: b }, t, out);
}
