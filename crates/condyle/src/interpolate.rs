//! Interpolation of rotations, sixteen joints at a time.
//!
//! The weights of spherical interpolation are polynomials in the cosine of the angle: no arccosine, no sine, no
//! division, no root. `cargo xtask tables` fits them.

use fearless_simd::prelude::*;

use crate::pose::{BLOCK, Lanes};
use crate::simd::{Mode, Portable, load, store};
use crate::slerp_table::SLERP_8;

/// The four components of one quaternion per lane.
type Quats<S> = [<S as Simd>::f32s; 4];

#[inline(always)]
fn dot<S: Simd, M: Mode>(mode: M, a: &Quats<S>, b: &Quats<S>) -> S::f32s {
    mode.madd(a[3], b[3], mode.madd(a[2], b[2], mode.madd(a[1], b[1], a[0] * b[0])))
}

/// `t(1 - t²) · P(z, t²)`: the weight `sin(tθ) / sin θ` is `t` plus `z` times this.
#[inline(always)]
fn weight_excess<S: Simd, M: Mode>(s: S, mode: M, z: S::f32s, t: S::f32s) -> S::f32s {
    let t2 = t * t;
    let coefficient = |row: usize| {
        let mut c = S::f32s::splat(s, SLERP_8[row][row]);
        for k in SLERP_8[row][..row].iter().rev() {
            c = mode.madd(c, t2, S::f32s::splat(s, *k));
        }
        c
    };
    let mut p = coefficient(7);
    for row in (0..7).rev() {
        p = mode.madd(p, z, coefficient(row));
    }
    (t - t * t2) * p
}

/// Spherical interpolation from `a` to `b` on the shorter arc, one factor per lane.
///
/// t = 0 gives `a` and t = 1 gives `b` or its opposite, exactly; so do equal or opposite ends, at any t.
#[inline(always)]
fn slerp<S: Simd, M: Mode>(s: S, mode: M, a: &Quats<S>, b: &Quats<S>, t: S::f32s) -> Quats<S> {
    let (zero, one) = (S::f32s::splat(s, 0.0), S::f32s::splat(s, 1.0));
    // Not fused in either mode: between keys half a turn apart the sign is all that says which way.
    let sign = one.copysign(dot::<S, _>(Portable, a, b));
    let near = [b[0] * sign, b[1] * sign, b[2] * sign, b[3] * sign];
    let step = [near[0] - a[0], near[1] - a[1], near[2] - a[2], near[3] - a[3]];
    // 1 - cos θ from the chord: where the ends are close, the cosine has no digits left.
    let z = dot::<S, M>(mode, &step, &step) * S::f32s::splat(s, 0.5);
    let rest = one - t;
    let from = mode.madd(z, weight_excess(s, mode, z, rest), rest);
    let to = mode.madd(z, weight_excess(s, mode, z, t), t);
    let same = z.simd_eq(zero);
    let mut out = near;
    for (out, a) in out.iter_mut().zip(a) {
        *out = same.select(*a, mode.madd(*out, to, *a * from));
    }
    out
}

/// Four components of one group of lanes.
#[inline(always)]
fn load_quats<S: Simd>(s: S, lanes: &[Lanes; 4], at: usize) -> Quats<S> {
    let [x, y, z, w] = lanes;
    [load(s, x, at), load(s, y, at), load(s, z, at), load(s, w, at)]
}

/// [`slerp`] over one block: `out` receives the rotations between `a` and `b`.
#[inline(always)]
pub(crate) fn slerp_block<S: Simd, M: Mode>(
    s: S,
    mode: M,
    a: &[Lanes; 4],
    b: &[Lanes; 4],
    t: &Lanes,
    out: &mut [Lanes; 4],
) {
    for at in (0..BLOCK).step_by(S::f32s::LEN) {
        let r = slerp(s, mode, &load_quats(s, a, at), &load_quats(s, b, at), load(s, t, at));
        for (out, r) in out.iter_mut().zip(r) {
            store::<S>(out, at, r);
        }
    }
}

/// `a + (b - a)·t` over one block of vectors.
#[inline(always)]
pub(crate) fn lerp_block<S: Simd, M: Mode>(
    s: S,
    mode: M,
    a: &[Lanes; 3],
    b: &[Lanes; 3],
    t: &Lanes,
    out: &mut [Lanes; 3],
) {
    for at in (0..BLOCK).step_by(S::f32s::LEN) {
        let t = load(s, t, at);
        for ((a, b), out) in a.iter().zip(b).zip(out.iter_mut()) {
            let a = load(s, a, at);
            store::<S>(out, at, mode.madd(load(s, b, at) - a, t, a));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch;
    use crate::testing::{Random, assert_close, tries};
    use crate::{Dispatch, Isa, Numeric, reference};
    use std::vec::Vec;

    /// [`slerp_block`] over any number of rotations.
    fn slerp_all(from: &[[f32; 4]], to: &[[f32; 4]], t: &[f32]) -> Vec<[f32; 4]> {
        let mut all = Vec::new();
        for ((from, to), t) in from.chunks(BLOCK).zip(to.chunks(BLOCK)).zip(t.chunks(BLOCK)) {
            let lanes = |q: &[[f32; 4]]| -> [Lanes; 4] {
                core::array::from_fn(|c| core::array::from_fn(|lane| q.get(lane).map_or(0.0, |q| q[c])))
            };
            let factors = core::array::from_fn(|lane| t.get(lane).copied().unwrap_or(0.0));
            let mut out = [[0.0; BLOCK]; 4];
            dispatch!(|s, mode| slerp_block(s, mode, &lanes(from), &lanes(to), &factors, &mut out));
            all.extend((0..from.len()).map(|lane| out.map(|c| c[lane])));
        }
        all
    }

    fn cases(count: usize) -> (Vec<[f32; 4]>, Vec<[f32; 4]>, Vec<f32>) {
        let mut random = Random(1);
        let from: Vec<[f32; 4]> = (0..count).map(|_| random.unit()).collect();
        // A third anywhere, a third close by, a third nearly opposite.
        let to = from.iter().enumerate().map(|(i, q)| match i % 3 {
            0 => random.unit(),
            near => {
                let size = [0.0, 1e-6, 1e-3, 0.05][random.below(4)];
                let sign = if near == 1 { 1.0 } else { -1.0 };
                let moved: [f64; 4] =
                    core::array::from_fn(|c| f64::from(sign * (q[c] + random.range(-size, size))));
                let length = moved.iter().map(|v| v * v).sum::<f64>().sqrt();
                moved.map(|v| (v / length) as f32)
            }
        });
        let to = to.collect();
        let t = (0..count)
            .map(|i| if i % 10 == 0 { (i / 10 % 11) as f32 / 10.0 } else { random.range(0.0, 1.0) });
        (from, to, t.collect())
    }

    #[test]
    fn slerp_is_the_formula() {
        let count = tries(30_001);
        let (from, to, t) = cases(count);
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| slerp_all(&from, &to, &t));
            for i in 0..count {
                let want = reference::slerp(from[i].map(f64::from), to[i].map(f64::from), t[i].into());
                // Over three million cases the largest error is 1.82e-7 with fused operations, 1.87e-7 without.
                assert_close(&got[i], &want, 2e-7, format_args!("{dispatch}, case {i}, t = {}", t[i]));
            }
        }
    }

    #[test]
    fn ends_and_equal_or_opposite_rotations_are_exact() {
        const COUNT: usize = tries(3 * BLOCK + 1);
        let (from, to, t) = cases(COUNT);
        let (zero, one) = ([0.0; COUNT], [1.0; COUNT]);
        let opposite: Vec<[f32; 4]> = from.iter().map(|q| q.map(|v| -v)).collect();
        for dispatch in Dispatch::all() {
            dispatch.scope(|| {
                assert_eq!(slerp_all(&from, &to, &zero), from, "{dispatch}, t = 0");
                for (got, to) in slerp_all(&from, &to, &one).iter().zip(&to) {
                    assert!(got == to || got.map(|v| -v) == *to, "{dispatch}, t = 1: {got:?} is not ±{to:?}");
                }
                assert_eq!(slerp_all(&from, &from, &t), from, "{dispatch}, equal");
                assert_eq!(slerp_all(&from, &opposite, &t), from, "{dispatch}, opposite");
            });
        }
    }

    #[test]
    fn the_sign_of_the_second_rotation_changes_nothing() {
        let (from, to, t) = cases(tries(1000));
        let flipped: Vec<[f32; 4]> = to.iter().map(|q| q.map(|v| -v)).collect();
        for dispatch in Dispatch::all() {
            dispatch.scope(|| {
                assert_eq!(slerp_all(&from, &to, &t), slerp_all(&from, &flipped, &t), "{dispatch}");
            });
        }
    }

    /// Half a turn apart both ways are equally short: every instruction set must go the same.
    #[test]
    fn half_turns_go_the_same_way_everywhere() {
        let (from, _, t) = cases(tries(1000));
        let to: Vec<[f32; 4]> = from.iter().map(|&[x, y, z, w]| [-y, x, -w, z]).collect();
        let scalar = Dispatch::new(Isa::Scalar, Numeric::Portable).expect("every machine has it");
        let want = scalar.scope(|| slerp_all(&from, &to, &t));
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| slerp_all(&from, &to, &t));
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                assert_close(got, &want.map(f64::from), 5e-7, format_args!("{dispatch}, case {i}"));
            }
        }
    }

    #[test]
    fn a_result_does_not_depend_on_its_lane() {
        let (mut from, mut to, mut t) = cases(BLOCK + 6);
        for dispatch in Dispatch::all() {
            dispatch.scope(|| {
                let mut want = slerp_all(&from, &to, &t);
                want.rotate_left(5);
                from.rotate_left(5);
                to.rotate_left(5);
                t.rotate_left(5);
                assert_eq!(slerp_all(&from, &to, &t), want, "{dispatch}");
            });
        }
    }
}
