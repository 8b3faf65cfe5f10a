//! Logarithm and exponential of unit quaternions in lanes.
//!
//! The logarithm of `(sin(θ) · axis, cos θ)` is `θ · axis`, so its length is *half* the angle of the
//! rotation. Both functions are internal polynomials. Blow (2004), Grassia (1998).

use fearless_simd::prelude::*;

use crate::simd::{Mode, each};

/// One quaternion per lane, as four components.
type Quats<S> = [<S as Simd>::f32s; 4];

/// One vector per lane, as three components.
type Vectors<S> = [<S as Simd>::f32s; 3];

/// `(θ / sin θ - 1) / z` as a polynomial in `z = 1 - cos θ`, for z in [0, 1]. θ / sin θ has a relative error
/// of at most 1.7e-8.
const ANGLE_BY_SINE: [f32; 10] = [
    0.333_333_34,
    0.133_334_32,
    0.057_110_59,
    0.025_800_379,
    0.009_014_793,
    0.014_275_147,
    -0.016_298_994,
    0.024_591_852,
    -0.015_747_078,
    0.005_381_980_4,
];

/// `(sin r / r - 1) / r²` as a polynomial in r², for r in [0, π/2]. The error of sin r / r is at most 1.2e-8.
const SINE_BY_ANGLE: [f32; 5] =
    [-0.166_666_67, 0.008_333_333, -0.000_198_410_87, 2.753_646_4e-6, -2.408_019e-8];

/// `(cos r - 1) / r²` as a polynomial in r², for r in [0, π/2]. The error of cos r is at most 6e-9.
const COSINE: [f32; 5] = [-0.5, 0.041_666_66, -0.001_388_865_2, 2.477_458e-5, -2.629_751_6e-7];

/// Returns `1 + x · polynomial(x)` for each `x`.
#[inline(always)]
fn one_plus<S: Simd, M: Mode, const N: usize, const TERMS: usize>(
    s: S,
    mode: M,
    x: [S::f32s; N],
    polynomial: &[f32; TERMS],
) -> [S::f32s; N] {
    let mut sums = [S::f32s::splat(s, polynomial[TERMS - 1]); N];
    for &c in polynomial[..TERMS - 1].iter().rev() {
        let c = S::f32s::splat(s, c);
        each!(k in [0, 1] below N => sums[k] = mode.madd(sums[k], x[k], c));
    }
    let one = S::f32s::splat(s, 1.0);
    each!(k in [0, 1] below N => sums[k] = mode.madd(sums[k], x[k], one));
    sums
}

/// Returns the sum of squares.
#[inline(always)]
fn square<S: Simd, M: Mode>(mode: M, v: &Vectors<S>) -> S::f32s {
    mode.madd(v[2], v[2], mode.madd(v[1], v[1], v[0] * v[0]))
}

/// Returns the logarithm of quaternions of any length except 0; the length does not matter.
///
/// With `WHOLE`, any quaternion is valid, and the vector is at most π long. Its direction is imprecise near
/// length π, opposite to the identity; the opposite of the identity gives 0. Without `WHOLE`, `w` must not be
/// negative (negate the quaternion if it is), and the vector is at most π/2 long. The identity gives exactly
/// 0. The error of a component is at most 3e-7 of the vector's length, 4e-7 beyond π/2.
#[inline(always)]
pub fn log<S: Simd, M: Mode, const WHOLE: bool>(s: S, mode: M, q: &Quats<S>) -> Vectors<S> {
    let (zero, one) = (S::f32s::splat(s, 0.0), S::f32s::splat(s, 1.0));
    let v = [q[0], q[1], q[2]];
    let sine2 = square::<S, M>(mode, &v);
    let shorten = one / mode.madd(q[3], q[3], sine2).sqrt();
    let w = if WHOLE { q[3].abs() } else { q[3] };
    let [near] = one_plus(s, mode, [one - w * shorten], &ANGLE_BY_SINE);
    let near = near * shorten;
    let factor = if WHOLE {
        let pi = S::f32s::splat(s, core::f32::consts::PI);
        let far = q[3].simd_lt(zero) & sine2.simd_gt(zero);
        far.select(pi / sine2.sqrt() - near, near)
    } else {
        near
    };
    [v[0] * factor, v[1] * factor, v[2] * factor]
}

/// Returns the unit quaternion whose logarithm is `v`, for any length of `v`; beyond π, the rotation wraps.
///
/// 0 gives exactly the identity. The error of a component is at most 2e-7 up to a length of π/2, and 1.6e-7
/// of the length beyond.
#[inline(always)]
pub fn exp<S: Simd, M: Mode>(s: S, mode: M, v: &Vectors<S>) -> Quats<S> {
    let [turn] = exp_all(s, mode, [*v]);
    turn
}

/// [`exp`] of one or two registers, which share the polynomial constants and one branch.
#[inline(always)]
pub fn exp_all<S: Simd, M: Mode, const N: usize>(s: S, mode: M, v: [Vectors<S>; N]) -> [Quats<S>; N] {
    /// Slightly less than the square of π/2.
    const NEAR: f32 = 2.467;
    let near = S::f32s::splat(s, NEAR);
    let (mut turn, mut angle2) = ([[near; 4]; N], [near; N]);
    each!(k in [0, 1] below N => angle2[k] = square::<S, M>(mode, &v[k]));
    let mut is_near = angle2[0].simd_lt(near);
    each!(k in [0, 1] below N => is_near &= angle2[k].simd_lt(near));
    // Usually no lane exceeds this limit, and no square root or division is needed. `exp_far` gives the same
    // bits for lanes below the limit.
    if is_near.all_true() {
        let (sine, cosine) = (one_plus(s, mode, angle2, &SINE_BY_ANGLE), one_plus(s, mode, angle2, &COSINE));
        each!(k in [0, 1] below N => {
            turn[k] = [v[k][0] * sine[k], v[k][1] * sine[k], v[k][2] * sine[k], cosine[k]];
        });
    } else {
        each!(k in [0, 1] below N => turn[k] = exp_far(s, mode, &v[k], angle2[k]));
    }
    turn
}

/// [`exp`] of vectors of any length. `angle2` is the squared length.
#[inline(always)]
fn exp_far<S: Simd, M: Mode>(s: S, mode: M, v: &Vectors<S>, angle2: S::f32s) -> Quats<S> {
    /// π in two parts: the first has few bits, so that its product with the number of half turns is exact.
    const PI_HIGH: f32 = 3.140_625;
    const PI_LOW: f32 = 9.676_536e-4;
    let (half, one) = (S::f32s::splat(s, 0.5), S::f32s::splat(s, 1.0));
    let angle = angle2.sqrt();
    // The nearest multiple of π. Clamped, because conversions of values out of integer range differ between
    // instruction sets.
    let turns = mode.madd(angle, S::f32s::splat(s, core::f32::consts::FRAC_1_PI), half);
    let turns: S::i32s = turns.min(S::f32s::splat(s, 1e6)).to_int();
    let turns_f: S::f32s = turns.to_float();
    let rest = angle - turns_f * S::f32s::splat(s, PI_HIGH) - turns_f * S::f32s::splat(s, PI_LOW);
    // Most lanes need no reduction, and squaring a root loses a digit.
    let none = turns.simd_eq(S::i32s::splat(s, 0));
    let rest2 = none.select(angle2, rest * rest);
    // An odd number of half turns flips both signs.
    let odd = turns << 31;
    let signed = |x: S::f32s| -> S::f32s { (x.bitcast::<S::i32s>() ^ odd).bitcast() };
    let ratio = none.select(one, rest / angle);
    let ([sine], [cosine]) =
        (one_plus(s, mode, [rest2], &SINE_BY_ANGLE), one_plus(s, mode, [rest2], &COSINE));
    let (sine, cosine) = (signed(sine * ratio), signed(cosine));
    [v[0] * sine, v[1] * sine, v[2] * sine, cosine]
}

/// The Hamilton product `a * b`.
#[inline(always)]
pub fn product<S: Simd, M: Mode>(mode: M, a: &Quats<S>, b: &Quats<S>) -> Quats<S> {
    let [ax, ay, az, aw] = *a;
    let [bx, by, bz, bw] = *b;
    [
        mode.madd(aw, bx, mode.madd(ax, bw, mode.msub(ay, bz, az * by))),
        mode.madd(aw, by, mode.madd(ay, bw, mode.msub(az, bx, ax * bz))),
        mode.madd(aw, bz, mode.madd(az, bw, mode.msub(ax, by, ay * bx))),
        mode.msub(aw, bw, mode.madd(az, bz, mode.madd(ay, by, ax * bx))),
    ]
}

/// Returns the rotation from `a` to `b`: the conjugate of `a` times `b`. The vector part is exactly 0 if they
/// are equal.
#[inline(always)]
pub fn between<S: Simd>(a: &Quats<S>, b: &Quats<S>) -> Quats<S> {
    let [ax, ay, az, aw] = *a;
    let [bx, by, bz, bw] = *b;
    // Differences of two unfused products, which cancel exactly if the two are equal.
    [
        (aw * bx - ax * bw) - (ay * bz - az * by),
        (aw * by - ay * bw) - (az * bx - ax * bz),
        (aw * bz - az * bw) - (ax * by - ay * bx),
        (aw * bw + az * bz) + (ay * by + ax * bx),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::simd::{BLOCK, Dispatch, dispatch, load, store};
    use crate::testing::{Random, assert_close, assert_portable, tries};
    use std::vec::Vec;

    /// Applies a kernel to `count` rows of lanes, in blocks.
    macro_rules! per_lane {
        ($inputs:expr, $from:literal, $to:literal, |$s:ident, $mode:ident, $x:ident| $op:expr) => {{
            let mut results: Vec<[f32; $to]> = Vec::new();
            for chunk in $inputs.chunks(BLOCK) {
                let (mut lanes, mut out) = ([[0.0; BLOCK]; $from], [[0.0; BLOCK]; $to]);
                for (i, input) in chunk.iter().enumerate() {
                    for (lanes, v) in lanes.iter_mut().zip(input) {
                        lanes[i] = *v;
                    }
                }
                dispatch!(|$s, $mode| kernel($s, &lanes, &mut out, |$s, $x| $op));
                results.extend((0..chunk.len()).map(|i| out.map(|lane| lane[i])));
            }
            results
        }};
    }

    #[inline(always)]
    fn kernel<S: Simd, const N: usize, const M: usize>(
        s: S,
        input: &[[f32; BLOCK]; N],
        out: &mut [[f32; BLOCK]; M],
        op: impl Fn(S, &[S::f32s; N]) -> [S::f32s; M],
    ) {
        for at in (0..BLOCK).step_by(S::f32s::LEN) {
            let mut row = [S::f32s::splat(s, 0.0); N];
            for (row, input) in row.iter_mut().zip(input) {
                *row = load(s, input, at);
            }
            for (out, v) in out.iter_mut().zip(op(s, &row)) {
                store::<S>(out, at, v);
            }
        }
    }

    #[inline(always)]
    fn there<S: Simd, M: Mode>(_: S, mode: M, p: &[S::f32s; 8]) -> Quats<S> {
        let (a, b) = ([p[0], p[1], p[2], p[3]], [p[4], p[5], p[6], p[7]]);
        product::<S, M>(mode, &a, &between::<S>(&a, &b))
    }

    #[inline(always)]
    fn nowhere<S: Simd>(_: S, p: &[S::f32s; 8]) -> Quats<S> {
        let a = [p[0], p[1], p[2], p[3]];
        between::<S>(&a, &a)
    }

    fn log_all(q: &[[f32; 4]]) -> Vec<[f32; 3]> {
        per_lane!(q, 4, 3, |s, mode, q| log::<_, _, true>(s, mode, q))
    }

    fn log_near(q: &[[f32; 4]]) -> Vec<[f32; 3]> {
        per_lane!(q, 4, 3, |s, mode, q| log::<_, _, false>(s, mode, q))
    }

    fn exp_each(v: &[[f32; 3]]) -> Vec<[f32; 4]> {
        per_lane!(v, 3, 4, |s, mode, v| exp(s, mode, v))
    }

    /// Evaluates two registers with [`exp_all`] and returns the second. All components of the first are
    /// `first`, or if that is `None`, it equals the second.
    fn exp_behind(v: &[[f32; 3]], first: Option<f32>) -> Vec<[f32; 4]> {
        per_lane!(v, 3, 4, |s, mode, v| second(s, mode, v, first))
    }

    #[inline(always)]
    fn second<S: Simd, M: Mode>(s: S, mode: M, v: &Vectors<S>, first: Option<f32>) -> Quats<S> {
        let other = first.map_or(*v, |size| [S::f32s::splat(s, size); 3]);
        let [_, turn] = exp_all(s, mode, [other, *v]);
        turn
    }

    /// Half angles of all magnitudes from 0 to `limit`, about random axes. Some lengths differ from 1 by up
    /// to 2 %.
    fn cases(count: usize, limit: f64) -> Vec<[f32; 4]> {
        let mut random = Random(11);
        let mut case = |i: usize| {
            let axis: [f32; 3] = random.unit();
            let half = match i % 4 {
                0 => f64::from(random.range(0.0, 1.0)) * limit,
                1 => limit * 10.0_f64.powf(f64::from(random.range(-20.0, 0.0))),
                2 => limit * (1.0 - 10.0_f64.powf(f64::from(random.range(-8.0, 0.0)))),
                _ => limit * (i / 4 % 65) as f64 / 64.0,
            };
            let length = if i.is_multiple_of(3) { f64::from(random.range(0.98, 1.02)) } else { 1.0 };
            let [x, y, z] = axis.map(|a| (f64::from(a) * half.sin() * length) as f32);
            [x, y, z, (half.cos() * length) as f32]
        };
        (0..count).map(&mut case).collect()
    }

    #[test]
    fn the_logarithm_is_the_formula() {
        use core::f64::consts::{FRAC_PI_2, PI};
        for (limit, far) in [(FRAC_PI_2, false), (PI, true)] {
            let mut q = cases(tries(200_000), limit);
            if !far {
                q.iter_mut().for_each(|q| q[3] = q[3].max(0.0));
            }
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| if far { log_all(&q) } else { log_near(&q) });
                for (got, q) in got.iter().zip(&q) {
                    let want = reference::quat_log(q.map(f64::from));
                    let length = want.iter().map(|v| v * v).sum::<f64>().sqrt();
                    // Below this, squares underflow, and the logarithm equals the vector part.
                    let bound = if far { 4e-7 } else { 3e-7 } * length + 1e-25;
                    assert_close(got, &want, bound, format_args!("{dispatch}, {q:?}"));
                }
            }
        }
    }

    #[test]
    fn the_exponential_is_the_formula() {
        let mut random = Random(12);
        let count = tries(200_000);
        let v: Vec<[f32; 3]> = (0..count)
            .map(|i| {
                let axis: [f32; 3] = random.unit();
                let length =
                    [random.range(0.0, 1.571), random.range(0.0, 10.0), random.range(0.0, 1e-3), 1e-20];
                axis.map(|a| a * if i % 50 == 0 { 100.0 } else { length[i % 4] })
            })
            .collect();
        for dispatch in Dispatch::all() {
            for (got, v) in dispatch.scope(|| exp_each(&v)).iter().zip(&v) {
                let want = reference::quat_exp(v.map(f64::from));
                let length = v.iter().map(|v| f64::from(v * v)).sum::<f64>().sqrt();
                let bound = if length < 1.571 { 2e-7 } else { 1.6e-7 * length };
                assert_close(got, &want, bound, format_args!("{dispatch}, {v:?}"));
            }
        }
    }

    /// A register evaluated in a pair gives the same bits as alone, even if the other one needs the slow
    /// branch.
    #[test]
    fn pairs_have_the_bits_of_each_alone() {
        let mut random = Random(15);
        let size = |i: usize| [0.5, 1.57, 2.0, 40.0][i % 4];
        let v: Vec<[f32; 3]> =
            (0..tries(4000)).map(|i| random.unit::<3>().map(|a| a * size(i / BLOCK))).collect();
        let bits = |q: Vec<[f32; 4]>| q.as_flattened().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        for dispatch in Dispatch::all() {
            dispatch.scope(|| {
                for first in [None, Some(0.1), Some(3.0)] {
                    assert_eq!(bits(exp_behind(&v, first)), bits(exp_each(&v)), "{dispatch}, {first:?}");
                }
            });
        }
    }

    #[test]
    fn the_identity_is_exact_and_nothing_else_is_nan() {
        let special =
            [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, -1.0], [1e-30, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]];
        for dispatch in Dispatch::all() {
            dispatch.scope(|| {
                assert_eq!(log_near(&special[..1]), [[0.0; 3]], "{dispatch}");
                assert_eq!(exp_each(&[[0.0; 3]]), [[0.0, 0.0, 0.0, 1.0]], "{dispatch}");
                let logs = log_all(&special);
                assert_eq!(&logs[..3], [[0.0; 3], [0.0; 3], [1e-30, 0.0, 0.0]], "{dispatch}");
                assert!((logs[3][1] - core::f32::consts::FRAC_PI_2).abs() < 3e-7, "{dispatch}");
                // Far beyond a full turn, and beyond the range of f32: no panic.
                let far = exp_each(&[[1e9, 0.0, 0.0], [f32::MAX; 3], [f32::NAN, 0.0, 0.0]]);
                assert!(far[2].iter().all(|v| v.is_nan()), "{dispatch}");
            });
        }
    }

    #[test]
    fn what_lies_between_two_rotations_leads_from_one_to_the_other() {
        let mut random = Random(13);
        let pairs: Vec<[f32; 8]> = (0..tries(1000))
            .map(|_| {
                let (a, b) = (random.unit::<4>(), random.unit::<4>());
                [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
            })
            .collect();
        for dispatch in Dispatch::all() {
            let back = dispatch.scope(|| per_lane!(pairs, 8, 4, |s, mode, p| there(s, mode, p)));
            let same = dispatch.scope(|| per_lane!(pairs, 8, 4, |s, _mode, p| nowhere(s, p)));
            for ((back, same), pair) in back.iter().zip(&same).zip(&pairs) {
                let b = [pair[4], pair[5], pair[6], pair[7]].map(f64::from);
                assert_close(back, &b, 6e-7, format_args!("{dispatch}, {pair:?}"));
                assert_eq!(same[..3], [0.0; 3], "{dispatch}, {pair:?}");
            }
        }
    }

    /// The coefficients interpolate the functions at the Chebyshev nodes.
    #[test]
    fn the_tables_are_interpolations_at_chebyshevs_nodes() {
        fn check<const N: usize>(table: &[f32; N], limit: f64, f: impl Fn(f64) -> f64) {
            for k in 0..N {
                let node = limit * 0.5 * (1.0 + (core::f64::consts::PI * (k as f64 + 0.5) / N as f64).cos());
                let got = 1.0 + node * table.iter().rev().fold(0.0, |sum, &c| sum * node + f64::from(c));
                let want = f(node);
                assert!((got - want).abs() < 1.5e-8 * want.max(1.0), "{node}: {got} instead of {want}");
            }
        }
        let limit = core::f64::consts::FRAC_PI_2.powi(2);
        check(&ANGLE_BY_SINE, 1.0, |z| {
            let theta = 2.0 * (z / 2.0).sqrt().asin();
            theta / theta.sin()
        });
        check(&SINE_BY_ANGLE, limit, |r2| r2.sqrt().sin() / r2.sqrt());
        check(&COSINE, limit, |r2| r2.sqrt().cos());
    }

    #[test]
    fn portable_bits() {
        assert_portable(0x5ba3_fdba_59d3_97b3, |hash| {
            let mut random = Random(14);
            let q: Vec<[f32; 4]> = (0..tries(4000)).map(|_| random.unit()).collect();
            let logs = log_all(&q);
            hash.add(logs.as_flattened());
            hash.add(exp_each(&logs).as_flattened());
            hash.add(exp_each(&logs.iter().map(|v| v.map(|v| v * 30.0)).collect::<Vec<_>>()).as_flattened());
        });
    }
}
