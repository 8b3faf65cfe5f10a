//! Many joints between two ends.

use fearless_simd::prelude::*;

use super::weights::{Angle, Weights};
use crate::pose::{BLOCK, Lanes, PoseBlock};
use crate::simd::{Floats, Mode, Portable, load, store};

/// The four components of one quaternion per lane.
pub(super) type Quats<V> = [V; 4];

/// Which end is the nearer one, from which the weights count.
pub(super) trait Order<S: Simd, V: Floats<S>>: Copy {
    /// The nearer one and the farther one.
    fn order<const N: usize>(self, a: [V; N], b: [V; N]) -> ([V; N], [V; N]);
}

/// The first end is, for all joints.
#[derive(Clone, Copy)]
pub(super) struct FirstNearer;

/// The second end is, for all joints.
#[derive(Clone, Copy)]
pub(super) struct SecondNearer;

/// The second end is, in the lanes where this is set.
#[derive(Clone, Copy)]
pub(super) struct SecondNearerIn<K>(pub(super) K);

impl<S: Simd, V: Floats<S>> Order<S, V> for FirstNearer {
    #[inline(always)]
    fn order<const N: usize>(self, a: [V; N], b: [V; N]) -> ([V; N], [V; N]) {
        (a, b)
    }
}

impl<S: Simd, V: Floats<S>> Order<S, V> for SecondNearer {
    #[inline(always)]
    fn order<const N: usize>(self, a: [V; N], b: [V; N]) -> ([V; N], [V; N]) {
        (b, a)
    }
}

impl<S: Simd, V: Floats<S>> Order<S, V> for SecondNearerIn<V::Mask> {
    #[inline(always)]
    fn order<const N: usize>(self, a: [V; N], b: [V; N]) -> ([V; N], [V; N]) {
        let (mut near, mut far) = (a, b);
        for c in 0..N {
            near[c] = self.0.select(b[c], a[c]);
            far[c] = self.0.select(a[c], b[c]);
        }
        (near, far)
    }
}

/// The sum of four products, in pairs: half as long a chain of operations that wait for each other.
#[inline(always)]
pub(super) fn dot<S: Simd, M: Mode, V: Floats<S>>(mode: M, a: &Quats<V>, b: &Quats<V>) -> V {
    mode.madd(a[3], b[3], a[2] * b[2]) + mode.madd(a[1], b[1], a[0] * b[0])
}

/// The rotations between `a` and `b`, with the factor `f` from the nearer end. `GIVEN`: along the arc as given.
#[inline(always)]
pub(super) fn rotations<
    S: Simd,
    M: Mode,
    V: Floats<S>,
    W: Weights<S, V>,
    O: Order<S, V>,
    const GIVEN: bool,
>(
    s: S,
    mode: M,
    weights: &W,
    order: O,
    f: V,
    a: Quats<V>,
    b: Quats<V>,
) -> Quats<V> {
    let (half, one) = (V::splat(s, 0.5), V::splat(s, 1.0));
    // Not fused in either mode: between keys half a turn apart the sign is all that says which way.
    let cos = dot(Portable, &a, &b);
    let (mut near, mut cos) = (b, cos);
    if !GIVEN {
        let sign = one.copysign(cos);
        cos = cos * sign;
        near = [b[0] * sign, b[1] * sign, b[2] * sign, b[3] * sign];
    }
    // From the chord where the ends are close: there the cosine has no digits left, and equal ends must give zero.
    let step = [near[0] - a[0], near[1] - a[1], near[2] - a[2], near[3] - a[3]];
    let chord = dot(mode, &step, &step);
    let z = cos.simd_lt(V::splat(s, 0.75)).select(one - cos, chord * half);
    let mut half_cos2 = one - z * half;
    if GIVEN {
        // From the sum where the ends are far apart: there the difference has no digits left.
        let sum = [near[0] + a[0], near[1] + a[1], near[2] + a[2], near[3] + a[3]];
        let far = dot(mode, &sum, &sum) * V::splat(s, 0.25);
        half_cos2 = cos.simd_lt(V::splat(s, 0.0)).select(far, half_cos2);
    }
    let (to, off) = weights.weights(s, mode, Angle { z, half_cos2 }, f);
    let (p, q) = order.order(a, near);
    // The difference of equal products is smaller than the last bit of `p`: equal ends come out exactly.
    [
        p[0] + mode.msub(q[0], to, p[0] * off),
        p[1] + mode.msub(q[1], to, p[1] * off),
        p[2] + mode.msub(q[2], to, p[2] * off),
        p[3] + mode.msub(q[3], to, p[3] * off),
    ]
}

/// Vectors on the straight line between `a` and `b`.
#[inline(always)]
pub(super) fn vectors<S: Simd, M: Mode, V: Floats<S>, O: Order<S, V>, const N: usize>(
    mode: M,
    order: O,
    f: V,
    a: [V; N],
    b: [V; N],
) -> [V; N] {
    let (mut p, q) = order.order(a, b);
    for c in 0..N {
        p[c] = mode.madd(q[c] - p[c], f, p[c]);
    }
    p
}

#[inline(always)]
pub(super) fn load_quats<S: Simd>(s: S, lanes: &[Lanes; 4], at: usize) -> Quats<S::f32s> {
    let [x, y, z, w] = lanes;
    [load(s, x, at), load(s, y, at), load(s, z, at), load(s, w, at)]
}

#[inline(always)]
fn load_vectors<S: Simd>(s: S, lanes: &[Lanes; 3], at: usize) -> [S::f32s; 3] {
    let [x, y, z] = lanes;
    [load(s, x, at), load(s, y, at), load(s, z, at)]
}

#[inline(always)]
pub(super) fn store_all<S: Simd, const N: usize>(lanes: &mut [Lanes; N], at: usize, values: [S::f32s; N]) {
    for (lanes, value) in lanes.iter_mut().zip(values) {
        store::<S>(lanes, at, value);
    }
}

/// One factor for all joints, `f` from the nearer end. Without `from` the joints in `out` are the first end.
#[inline(always)]
pub(super) fn uniform_blocks<S: Simd, M: Mode, W: Weights<S, S::f32s>, O: Order<S, S::f32s>>(
    s: S,
    mode: M,
    (weights, order, f): (&W, O, f32),
    from: Option<&[PoseBlock]>,
    to: &[PoseBlock],
    out: &mut [PoseBlock],
) {
    let f = S::f32s::splat(s, f);
    for (i, (to, out)) in to.iter().zip(out).enumerate() {
        for at in (0..BLOCK).step_by(S::f32s::LEN) {
            let from = from.and_then(|from| from.get(i)).unwrap_or(out);
            let a = load_quats(s, &from.rotation, at);
            let b = load_quats(s, &to.rotation, at);
            let rotation = rotations::<_, _, _, _, _, false>(s, mode, weights, order, f, a, b);
            let (a, b) = (load_vectors(s, &from.translation, at), load_vectors(s, &to.translation, at));
            let translation = vectors(mode, order, f, a, b);
            let (a, b) = (load_vectors(s, &from.scale, at), load_vectors(s, &to.scale, at));
            let scale = vectors(mode, order, f, a, b);
            store_all::<S, 4>(&mut out.rotation, at, rotation);
            store_all::<S, 3>(&mut out.translation, at, translation);
            store_all::<S, 3>(&mut out.scale, at, scale);
        }
    }
}

/// Splits factors into those from the nearer end, and where that is the second one.
#[inline(always)]
pub(super) fn nearer<S: Simd>(s: S, t: S::f32s) -> (SecondNearerIn<<S::f32s as SimdBase<S>>::Mask>, S::f32s) {
    let second = t.simd_gt(S::f32s::splat(s, 0.5));
    (SecondNearerIn(second), second.select(S::f32s::splat(s, 1.0) - t, t))
}

/// [`rotations`] over one block, a factor per lane.
#[inline(always)]
pub(crate) fn rotation_block<S: Simd, M: Mode, W: Weights<S, S::f32s>, const GIVEN: bool>(
    s: S,
    mode: M,
    weights: &W,
    a: &[Lanes; 4],
    b: &[Lanes; 4],
    t: &Lanes,
    out: &mut [Lanes; 4],
) {
    for at in (0..BLOCK).step_by(S::f32s::LEN) {
        let (order, f) = nearer(s, load(s, t, at));
        let (a, b) = (load_quats(s, a, at), load_quats(s, b, at));
        store_all::<S, 4>(out, at, rotations::<_, _, _, _, _, GIVEN>(s, mode, weights, order, f, a, b));
    }
}

/// `a + (b - a)·t` over one block of vectors, a factor per lane; both ends are hit exactly.
#[inline(always)]
pub(crate) fn vector_block<S: Simd, M: Mode>(
    s: S,
    mode: M,
    a: &[Lanes; 3],
    b: &[Lanes; 3],
    t: &Lanes,
    out: &mut [Lanes; 3],
) {
    for at in (0..BLOCK).step_by(S::f32s::LEN) {
        let (order, f) = nearer(s, load(s, t, at));
        let (a, b) = (load_vectors(s, a, at), load_vectors(s, b, at));
        store_all::<S, 3>(out, at, vectors(mode, order, f, a, b));
    }
}

/// A factor per joint, by any method that has weights. `factors` gives those of a block.
#[inline(always)]
pub(super) fn lanes_blocks<S: Simd, M: Mode, W: Weights<S, S::f32s>, const GIVEN: bool>(
    s: S,
    mode: M,
    weights: &W,
    factors: &impl Fn(usize) -> Lanes,
    from: &[PoseBlock],
    to: &[PoseBlock],
    out: &mut [PoseBlock],
) {
    for (i, ((from, to), out)) in from.iter().zip(to).zip(out).enumerate() {
        let t = factors(i);
        rotation_block::<S, M, W, GIVEN>(
            s,
            mode,
            weights,
            &from.rotation,
            &to.rotation,
            &t,
            &mut out.rotation,
        );
        vector_block(s, mode, &from.translation, &to.translation, &t, &mut out.translation);
        vector_block(s, mode, &from.scale, &to.scale, &t, &mut out.scale);
    }
}
