//! Tests of each method against its formula and its bound, and of the exact cases.

mod shapes;

use core::f32::consts::FRAC_PI_2;
use std::{vec, vec::Vec};

use super::*;
use crate::testing::reference;
use crate::testing::{Random, SIZES, assert_close, assert_portable, tries, worst};
use condyle_base::math::Transform;
use condyle_base::simd::{BLOCK, Dispatch};

/// All methods, with a selection of term counts.
fn methods() -> impl Iterator<Item = Method> {
    Method::all().filter(|method| match method {
        Method::Eberly(terms) | Method::EberlyHalved(terms) => {
            [1, 2, 4, 5, 6, 8, 12, 16].contains(&terms.count())
        }
        _ => true,
    })
}

/// Pairs of unit quaternions (a third random, a third close, a third nearly opposite), and factors.
pub(super) fn cases(count: usize) -> (Vec<Quat>, Vec<Quat>, Vec<f32>) {
    let mut random = Random(1);
    let from: Vec<Quat> = (0..count).map(|_| random.unit()).collect();
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
    let t =
        (0..count).map(|i| if i % 10 == 0 { (i / 10 % 11) as f32 / 10.0 } else { random.range(0.0, 1.0) });
    (from, to, t.collect())
}

fn pose_of(rotations: &[Quat]) -> Pose {
    let joint = |&rotation: &Quat| Transform { rotation, ..Transform::IDENTITY };
    Pose::from_transforms(&rotations.iter().map(joint).collect::<Vec<_>>())
}

fn list_of(pose: &Pose) -> Vec<JointQuat> {
    let joint =
        |Transform { rotation, translation, scale: [scale, ..] }| JointQuat { rotation, translation, scale };
    pose.transforms().map(joint).collect()
}

/// Interpolates poses of these rotations.
fn between(from: &[Quat], to: &[Quat], t: Factor<'_>, how: impl Into<InterpolateOptions>) -> Vec<Quat> {
    let mut out = Pose::identity(from.len());
    poses(&pose_of(from), &pose_of(to), t, Selection::All, how, &mut out).expect("sizes agree");
    out.transforms().map(|t| t.rotation).collect()
}

/// The formula of the method in f64.
fn formula(method: Method, a: [f64; 4], b: [f64; 4], t: f64) -> [f64; 4] {
    match method {
        Method::Slerp(_) | Method::Exact => reference::slerp(a, b, t),
        Method::Eberly(terms) => reference::eberly(a, b, t, terms.count().into()),
        Method::EberlyHalved(terms) => reference::eberly_halved(a, b, t, terms.count().into()),
        Method::VanWaveren => reference::van_waveren(a, b, t),
        Method::Nlerp => reference::nlerp(a, b, t),
        Method::CorrectedNlerp => reference::corrected_nlerp(a, b, t),
        Method::ExponentialMap => reference::exponential_map(a, b, t),
    }
}

/// Returns the differences of a result from the formula and from slerp.
pub(super) fn errors(method: Method, a: Quat, b: Quat, t: f32, got: Quat) -> (f64, f64) {
    let (a, b, t) = (a.map(f64::from), b.map(f64::from), f64::from(t));
    let distance =
        |want: [f64; 4]| worst(got.iter().zip(want).map(|(got, want)| (f64::from(*got) - want).abs()));
    let dot: f64 = (0..4).map(|c| a[c] * b[c]).sum();
    if dot.abs() > 1e-6 {
        return (distance(formula(method, a, b, t)), distance(reference::slerp(a, b, t)));
    }
    // Half a turn apart both arcs have the same length. A dot product in f32 may select another arc than one
    // in f64.
    let either = [1.0, -1.0].map(|sign| distance(as_given(a, b.map(|v| sign * v), t).0));
    (0.0, if either[1] < either[0] { either[1] } else { either[0] })
}

/// Returns the bound for unit quaternions up to an angle apart, in this numeric mode.
fn bound(dispatch: Dispatch, method: Method, max_angle: f32) -> f64 {
    dispatch.scope(|| method.error_bound(max_angle))
}

#[test]
fn every_method_is_its_formula_and_keeps_its_bound() {
    let count = tries(3001);
    let (from, to, factors) = cases(count);
    for dispatch in Dispatch::all() {
        for method in methods() {
            let own = bound(dispatch, method, 0.0);
            let bound = bound(dispatch, method, FRAC_PI_2);
            // The formula for `Slerp` is the exact one, so allow the error of the fitted polynomials too.
            let fitted = if let Method::Slerp(_) = method { bound } else { 0.0 };
            let own = fitted.max(own);
            dispatch.scope(|| {
                let check = |i: usize, t: f32, got: Quat| {
                    let (formula, slerp) = errors(method, from[i], to[i], t, got);
                    let case = format_args!("{dispatch}, {method}, case {i}, t = {t}").to_string();
                    assert!(formula <= own, "{case}: off by {formula:e} of {own:e}");
                    assert!(slerp <= bound, "{case}: {slerp:e} from slerp, of {bound:e}");
                };
                for (i, got) in
                    between(&from, &to, Factor::PerJoint(&factors), method).into_iter().enumerate()
                {
                    check(i, factors[i], got);
                }
                for &t in &factors[..tries(40)] {
                    let some = tries(200);
                    let got = between(&from[..some], &to[..some], Factor::Same(t), method);
                    got.into_iter().enumerate().for_each(|(i, got)| check(i, t, got));
                }
            });
        }
    }
}

/// Returns `q` rotated towards `u` by a fraction of a right angle.
fn turned(q: Quat, u: Quat, part: f64) -> Quat {
    let (q, u) = (q.map(f64::from), u.map(f64::from));
    let dot = |a: [f64; 4], b: [f64; 4]| (0..4).map(|c| a[c] * b[c]).sum::<f64>();
    let along = dot(u, q) / dot(q, q);
    let up: [f64; 4] = core::array::from_fn(|c| u[c] - along * q[c]);
    let (sin, cos) = (part * core::f64::consts::FRAC_PI_2).sin_cos();
    let turned: [f64; 4] = core::array::from_fn(|c| q[c] * cos + up[c] / dot(up, up).sqrt() * sin);
    turned.map(|v| (v / dot(turned, turned).sqrt()) as f32)
}

#[test]
fn ends_and_equal_or_opposite_rotations_are_exact() {
    const COUNT: usize = tries(3 * BLOCK + 1);
    let (from, to, t) = cases(COUNT);
    let opposite: Vec<Quat> = from.iter().map(|q| q.map(|v| -v)).collect();
    for dispatch in Dispatch::all() {
        for (method, extrapolate) in methods().flat_map(|m| [(m, false), (m, true)]) {
            for arc in [Arc::Shorter, Arc::AsGiven] {
                let how = InterpolateOptions { method, arc, extrapolate };
                let case = format_args!("{dispatch}, {how:?}").to_string();
                dispatch.scope(|| {
                    for (zero, one) in [
                        (Factor::Same(0.0), Factor::Same(1.0)),
                        (Factor::PerJoint(&[0.0; COUNT]), Factor::PerJoint(&[1.0; COUNT])),
                    ] {
                        assert_eq!(between(&from, &to, zero, how), from, "{case}, t = 0");
                        for (got, to) in between(&from, &to, one, how).iter().zip(&to) {
                            let flipped = arc == Arc::Shorter && got.map(|v| -v) == *to;
                            assert!(got == to || flipped, "{case}, t = 1: {got:?} is not ±{to:?}");
                        }
                    }
                    for t in [Factor::Same(t[1]), Factor::Same(0.5), Factor::Same(t[2]), Factor::PerJoint(&t)]
                    {
                        assert_eq!(between(&from, &from, t, how), from, "{case}, equal");
                        let got = between(&from, &opposite, t, how);
                        if arc == Arc::Shorter {
                            assert_eq!(got, from, "{case}, opposite");
                        } else {
                            let ends =
                                got.iter().zip(&from).all(|(got, q)| got == q || got.map(|v| -v) == *q);
                            assert!(ends, "{case}, opposite");
                        }
                    }
                });
            }
        }
    }
}

#[test]
fn the_sign_of_the_second_rotation_changes_nothing() {
    let (from, to, t) = cases(tries(1000));
    let flipped: Vec<Quat> = to.iter().map(|q| q.map(|v| -v)).collect();
    for dispatch in Dispatch::all() {
        for method in methods() {
            dispatch.scope(|| {
                for t in [Factor::Same(0.3), Factor::Same(0.8), Factor::PerJoint(&t)] {
                    let (a, b) = (between(&from, &to, t, method), between(&from, &flipped, t, method));
                    assert_eq!(a, b, "{dispatch}, {method}");
                }
            });
        }
    }
}

/// Half a turn apart both arcs have the same length: every instruction set must select the same one.
#[test]
fn half_turns_go_the_same_way_everywhere() {
    let (from, _, t) = cases(tries(1000));
    let to: Vec<Quat> = from.iter().map(|&[x, y, z, w]| [-y, x, -w, z]).collect();
    let first = Dispatch::all().next().expect("at least one instruction set");
    for method in methods().filter(|&m| m != Method::Exact) {
        for t in [Factor::Same(0.4), Factor::PerJoint(&t)] {
            let want = first.scope(|| between(&from, &to, t, method));
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| between(&from, &to, t, method));
                for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                    let case = format_args!("{dispatch}, {method}, case {i}");
                    assert_close(got, &want.map(f64::from), 1e-6, case);
                }
            }
        }
    }
}

#[test]
fn a_dot_product_of_minus_zero_is_no_other_hemisphere() {
    let (a, b) = ([0.0, 0.0, 0.0, 1.0], [-1.0, -0.0, -0.0, -0.0]);
    for dispatch in Dispatch::all() {
        for method in methods().filter(|&m| m != Method::Exact) {
            let got = dispatch.scope(|| interpolate(a, b, 0.5, method));
            assert!(got[0] < -0.6, "{dispatch}, {method}: {got:?}");
        }
    }
}

/// Computes `(sin((1-t)θ) a + sin(tθ) b) / sin θ` with the angle as given, for any factor. Also returns
/// `|a + b|`.
fn as_given(a: [f64; 4], b: [f64; 4], t: f64) -> ([f64; 4], f64) {
    let length = |f: &dyn Fn(usize) -> f64| (0..4).map(|c| f(c) * f(c)).sum::<f64>().sqrt();
    let (chord, sum) = (length(&|c| b[c] - a[c]), length(&|c| b[c] + a[c]));
    let theta = 2.0 * chord.atan2(sum);
    let (from, to) = (((1.0 - t) * theta).sin() / theta.sin(), (t * theta).sin() / theta.sin());
    (core::array::from_fn(|c| a[c] * from + b[c] * to), sum)
}

#[test]
fn the_arc_as_given_may_be_the_long_way_round() {
    let mut random = Random(5);
    for dispatch in Dispatch::all() {
        for method in methods().filter(|&m| m != Method::Nlerp) {
            let how = InterpolateOptions { arc: Arc::AsGiven, ..method.into() };
            let bound = if method == Method::ExponentialMap { 7e-7 } else { 5e-7 };
            for case in 0..tries(300) {
                let (a, b, t) = (random.unit(), random.unit(), random.range(0.0, 1.0));
                let (want, sum) = as_given(a.map(f64::from), b.map(f64::from), t.into());
                let got = dispatch.scope(|| interpolate(a, b, t, how));
                // For nearly opposite ends the direction of the arc has few significant digits.
                let bound = bound / sum.min(1.0);
                assert_close(&got, &want, bound, format_args!("{dispatch}, {method}, case {case}, t = {t}"));
            }
        }
        // A quarter turn and three quarters.
        let (a, b) = ([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -0.707_106_77, -0.707_106_77]);
        let how = InterpolateOptions { arc: Arc::AsGiven, ..InterpolateOptions::default() };
        let got = dispatch.scope(|| interpolate(a, b, 0.5, how));
        assert_close(&got, &[0.0, 0.0, -0.923_879_532_5, 0.382_683_432_4], 2e-7, dispatch);
    }
}

#[test]
fn nlerp_of_nearly_opposite_ends_as_given_is_of_unit_length() {
    let mut random = Random(8);
    let how = InterpolateOptions { arc: Arc::AsGiven, ..Method::Nlerp.into() };
    for sum in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5] {
        for t in [0.0, 0.2, 0.4999, 0.5, 0.500_001, 0.6, 1.0] {
            let a: Quat = random.unit();
            let b = turned(a, random.unit(), 2.0 - sum);
            let (from, to) = (a.map(f64::from), b.map(f64::from));
            let lerp: [f64; 4] = core::array::from_fn(|c| from[c] + (to[c] - from[c]) * f64::from(t));
            let length = lerp.iter().map(|v| v * v).sum::<f64>().sqrt();
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| interpolate(a, b, t, how));
                let case = format_args!("{dispatch}, sum {sum}, t = {t}");
                assert_close(&got, &lerp.map(|v| v / length), 3e-7 / length.min(1.0), case);
                let off = got.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt() - 1.0;
                assert!(off.abs() < 3e-7 / length.min(1.0), "{case}: off unit length by {off:e}");
            }
        }
    }
}

#[test]
fn factors_beyond_the_ends_are_held_unless_they_may_go_on() {
    let mut random = Random(6);
    for dispatch in Dispatch::all() {
        for method in methods() {
            let beyond = InterpolateOptions { extrapolate: true, ..method.into() };
            for case in 0..tries(50) {
                let (a, b) = (random.unit(), random.unit());
                let case = format_args!("{dispatch}, {method}, case {case}").to_string();
                dispatch.scope(|| {
                    assert_eq!(interpolate(a, b, -0.5, method), a, "{case}");
                    assert_eq!(interpolate(a, b, 7.0, method), interpolate(a, b, 1.0, method), "{case}");
                    for t in [-0.5, 1.25, 3.0] {
                        let want = match method {
                            Method::Nlerp => reference::nlerp(a.map(f64::from), b.map(f64::from), t),
                            _ => reference::slerp(a.map(f64::from), b.map(f64::from), t),
                        };
                        assert_close(
                            &interpolate(a, b, t as f32, beyond),
                            &want,
                            4e-7,
                            format_args!("{case}, t = {t}"),
                        );
                    }
                });
            }
        }
    }
}

#[test]
fn a_way_through_the_middle_takes_fewer_terms() {
    let (from, to, _) = cases(tries(400));
    let five = Terms::new(5).expect("from 1 to 16");
    for dispatch in Dispatch::all() {
        dispatch.scope(|| {
            for (i, (&a, &b)) in from.iter().zip(&to).enumerate() {
                let middle = middle(a, b);
                for t in [0.0, 0.1, 0.4, 0.5, 0.6, 0.93, 1.0] {
                    let got = through(a, middle, b, t, Method::EberlyHalved(five));
                    let want = reference::slerp(a.map(f64::from), b.map(f64::from), t.into());
                    assert_close(&got, &want, 5e-7, format_args!("{dispatch}, case {i}, t = {t}"));
                }
            }
            let (from, to) = (pose_of(&from), pose_of(&to));
            let (mut half, mut out) = (from.clone(), from.clone());
            poses(&from, &to, 0.5, Selection::All, Method::Nlerp, &mut half).expect("sizes agree");
            for t in [0.2, 0.7] {
                poses_through(&from, &half, &to, t, Method::EberlyHalved(five), &mut out)
                    .expect("sizes agree");
                for (i, got) in out.transforms().enumerate() {
                    let (a, b) = (from.get(i).rotation, to.get(i).rotation);
                    let want = through(a, middle(a, b), b, t, Method::EberlyHalved(five));
                    assert_eq!(got.rotation, want, "{dispatch}, joint {i}");
                }
                let [a, b, c] = [&from, &half, &to].map(list_of);
                let mut list = a.clone();
                joints_through(&a, &b, &c, t, Method::EberlyHalved(five), &mut list).expect("sizes agree");
                assert_eq!(list, list_of(&out), "{dispatch}");
                // The middle determines the direction, so the arc option has no effect.
                let given = InterpolateOptions { arc: Arc::AsGiven, ..Method::EberlyHalved(five).into() };
                let want = out.clone();
                poses_through(&from, &half, &to, t, given, &mut out).expect("sizes agree");
                assert_eq!(out, want, "{dispatch}");
            }
        });
    }
}

/// If the ends are perpendicular, the components are the weights, so the error equals the value in the table.
#[test]
fn the_errors_of_eberlys_series_are_those_of_his_table() {
    let a = [1.0, 0.0, 0.0, 0.0];
    // With more terms the errors are so small that f32 rounding matters.
    for terms in (1..=if cfg!(miri) { 1 } else { 9 }).filter_map(Terms::new) {
        let mut worst = 0.0_f64;
        for angle in (1..=100).map(|k| f64::from(k) * core::f64::consts::FRAC_PI_2 / 100.0) {
            let b = [angle.cos() as f32, angle.sin() as f32, 0.0, 0.0];
            for t in (1..400).map(|k| k as f32 / 400.0) {
                let got = interpolate(a, b, t, Method::Eberly(terms));
                // The second component is the second weight times the sine.
                let weight = f64::from(got[1]) / f64::from(b[1]);
                let theta = f64::from(b[1]).atan2(f64::from(b[0]));
                worst = worst.max((weight - (f64::from(t) * theta).sin() / theta.sin()).abs());
            }
        }
        let table = crate::interpolation::eberly_table::ERRORS[usize::from(terms.count() - 1)];
        assert!((worst / table - 1.0).abs() < 0.02, "{} terms: {worst:e}, {table:e}", terms.count());
    }
}

#[test]
fn the_worked_rotation_comes_out_as_the_preface_says() {
    let far = [0.75_f32.sqrt(), 0.0, 0.0, 0.5];
    let ends = [Transform::IDENTITY, Transform { rotation: far, ..Transform::IDENTITY }];
    let [from, to] = ends.map(|end| Pose::from_transforms(&[end; 20]));
    let mut out = from.clone();
    poses(&from, &to, 0.25, Selection::All, Method::default(), &mut out).expect("sizes agree");
    for joint in out.transforms() {
        assert_close(&joint.rotation, &[0.2588, 0.0, 0.0, 0.9659], 5e-5, "a quarter of the way");
    }
}
