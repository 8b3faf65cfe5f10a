use std::{vec, vec::Vec};

use super::*;
use crate::testing::{Random, SIZES, assert_close, assert_portable, tries};
use crate::{Dispatch, Isa, Numeric, reference};

/// The methods, with a handful of the numbers of terms.
fn methods() -> impl Iterator<Item = Method> {
    Method::all().filter(|method| match method {
        Method::Eberly(terms) | Method::EberlyHalved(terms) => {
            [1, 2, 4, 5, 6, 8, 12, 16].contains(&terms.count())
        }
        _ => true,
    })
}

/// Pairs of unit quaternions: a third anywhere, a third close by, a third nearly opposite; and factors.
fn cases(count: usize) -> (Vec<Quat>, Vec<Quat>, Vec<f32>) {
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

/// Between poses of such rotations.
fn between(from: &[Quat], to: &[Quat], t: Factor<'_>, how: impl Into<Interpolator>) -> Vec<Quat> {
    let mut out = Pose::identity(from.len());
    interpolate_poses(&pose_of(from), &pose_of(to), t, Selection::All, how, &mut out).expect("sizes agree");
    out.transforms().map(|t| t.rotation).collect()
}

/// The method's own formula in f64.
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

/// How far a result is from the formula, and from slerp.
fn errors(method: Method, a: Quat, b: Quat, t: f32, got: Quat) -> (f64, f64) {
    let (a, b, t) = (a.map(f64::from), b.map(f64::from), f64::from(t));
    let distance = |want: [f64; 4]| {
        got.iter().zip(want).map(|(got, want)| (f64::from(*got) - want).abs()).fold(0.0, f64::max)
    };
    let dot: f64 = (0..4).map(|c| a[c] * b[c]).sum();
    if dot.abs() > 1e-6 {
        return (distance(formula(method, a, b, t)), distance(reference::slerp(a, b, t)));
    }
    // Half a turn apart both arcs are as short: a product in f32 may tell another one than a product in f64.
    let either = [1.0, -1.0].map(|sign| distance(as_given(a, b.map(|v| sign * v), t).0));
    (0.0, either[0].min(either[1]))
}

fn portable_slack(dispatch: Dispatch) -> f64 {
    if dispatch.numeric() == Numeric::Portable { 5e-8 } else { 0.0 }
}

#[test]
fn every_method_is_its_formula_and_keeps_its_bound() {
    let count = tries(3001);
    let (from, to, factors) = cases(count);
    for dispatch in Dispatch::all() {
        for method in methods() {
            let bound = method.error_bound(core::f32::consts::FRAC_PI_2) + portable_slack(dispatch);
            // The fits are the formula: their own error belongs to them.
            let fitted = if let Method::Slerp(_) = method { bound } else { 0.0 };
            let own = fitted.max(method.error_bound(0.0) + portable_slack(dispatch));
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

/// `q` turned towards `u` by a part of a right angle.
fn turned(q: Quat, u: Quat, part: f64) -> Quat {
    let (q, u) = (q.map(f64::from), u.map(f64::from));
    let dot = |a: [f64; 4], b: [f64; 4]| (0..4).map(|c| a[c] * b[c]).sum::<f64>();
    let along = dot(u, q) / dot(q, q);
    let up: [f64; 4] = core::array::from_fn(|c| u[c] - along * q[c]);
    let (sin, cos) = (part * core::f64::consts::FRAC_PI_2).sin_cos();
    let turned: [f64; 4] = core::array::from_fn(|c| q[c] * cos + up[c] / dot(up, up).sqrt() * sin);
    turned.map(|v| (v / dot(turned, turned).sqrt()) as f32)
}

/// Many more cases than a test run has time for: `cargo test --release -p condyle --lib every_bound -- --ignored --nocapture`
/// prints the table of docs/accuracy.md.
#[test]
#[ignore = "takes minutes"]
fn every_bound_over_a_dense_grid_and_many_random_cases() {
    let count = 4096;
    for numeric in Numeric::ALL {
        let dispatch = Dispatch::new(Isa::best(), numeric).expect("available");
        for method in Method::all() {
            // The default gets 10^8.
            let rounds = if method == Method::default() { 25_000 } else { 500 };
            let mut random = Random(7);
            let (mut same, mut per_joint) = (0.0_f64, 0.0_f64);
            for round in 0..rounds {
                let from: Vec<Quat> = (0..count).map(|_| random.unit()).collect();
                let to: Vec<Quat> = (0..count)
                    .map(|k| match round % 2 {
                        0 => random.unit(),
                        // Every angle alike.
                        _ => turned(from[k], random.unit(), k as f64 / (count - 1) as f64),
                    })
                    .collect();
                let t =
                    if round % 4 < 2 { random.range(0.0, 1.0) } else { (round / 4 % 1001) as f32 / 1000.0 };
                let got = dispatch.scope(|| between(&from, &to, Factor::Same(t), method));
                for i in 0..count {
                    same = same.max(errors(method, from[i], to[i], t, got[i]).1);
                }
                if round % 50 < 2 {
                    let t: Vec<f32> = (0..count).map(|_| random.range(0.0, 1.0)).collect();
                    let got = dispatch.scope(|| between(&from, &to, Factor::PerJoint(&t), method));
                    for i in 0..count {
                        per_joint = per_joint.max(errors(method, from[i], to[i], t[i], got[i]).1);
                    }
                }
            }
            let bound = method.error_bound(core::f32::consts::FRAC_PI_2) + portable_slack(dispatch);
            std::println!("| {method} | {numeric} | {bound:.2e} | {same:.2e} | {per_joint:.2e} |");
            assert!(same <= bound && per_joint <= bound, "{method}, {numeric}");
        }
    }
}

#[test]
fn ends_and_equal_or_opposite_rotations_are_exact() {
    const COUNT: usize = tries(3 * BLOCK + 1);
    let (from, to, t) = cases(COUNT);
    let opposite: Vec<Quat> = from.iter().map(|q| q.map(|v| -v)).collect();
    for dispatch in Dispatch::all() {
        for (method, extrapolate) in methods().flat_map(|m| [(m, false), (m, true)]) {
            for arc in [Arc::Shorter, Arc::AsGiven] {
                let how = Interpolator { method, arc, extrapolate };
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

/// Half a turn apart both ways are equally short: every instruction set must go the same.
#[test]
fn half_turns_go_the_same_way_everywhere() {
    let (from, _, t) = cases(tries(1000));
    let to: Vec<Quat> = from.iter().map(|&[x, y, z, w]| [-y, x, -w, z]).collect();
    let scalar = Dispatch::new(Isa::Scalar, Numeric::Portable).expect("every machine has it");
    for method in methods().filter(|&m| m != Method::Exact) {
        for t in [Factor::Same(0.4), Factor::PerJoint(&t)] {
            let want = scalar.scope(|| between(&from, &to, t, method));
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

/// Alone, in a pose, in a list, in place, picked from a list: the same bits.
#[test]
fn a_joint_is_the_same_in_every_shape() {
    for &count in SIZES {
        let mut random = Random(count as u64);
        let mut joints = || -> Vec<JointQuat> {
            let joint = |_| JointQuat {
                rotation: random.unit(),
                translation: random.vector(2.0),
                scale: random.range(0.5, 2.0),
            };
            (0..count).map(joint).collect()
        };
        let (from, to) = (joints(), joints());
        let pose = |joints: &[JointQuat]| {
            Pose::from_transforms(&joints.iter().map(|&j| j.into()).collect::<Vec<Transform>>())
        };
        let (pose_from, pose_to) = (pose(&from), pose(&to));
        let per_joint: Vec<f32> = (0..count).map(|j| (j % 11) as f32 / 10.0).collect();
        let order: Vec<u16> = (0..count).rev().map(|j| j as u16).collect();
        let reversed: Vec<f32> = per_joint.iter().rev().copied().collect();
        for dispatch in Dispatch::all() {
            for how in methods().flat_map(|m| {
                [Arc::Shorter, Arc::AsGiven].map(|arc| Interpolator { method: m, arc, extrapolate: false })
            }) {
                for (t, listed) in [
                    (Factor::Same(0.3), Factor::Same(0.3)),
                    (Factor::Same(0.9), Factor::Same(0.9)),
                    (Factor::PerJoint(&per_joint), Factor::PerJoint(&reversed)),
                ] {
                    let case = format_args!("{dispatch}, {how:?}, {t:?}, {count} joints").to_string();
                    dispatch.scope(|| {
                        let mut want = pose_from.clone();
                        interpolate_poses(&pose_from, &pose_to, t, Selection::All, how, &mut want)
                            .expect("sizes agree");
                        let mut got = pose_from.clone();
                        interpolate_poses_in_place(&mut got, &pose_to, t, Selection::All, how)
                            .expect("sizes agree");
                        assert_eq!(got, want, "{case}, in place");
                        let mut got = Pose::identity(count);
                        interpolate_poses(
                            &pose_from,
                            &pose_to,
                            listed,
                            Selection::List(&order),
                            how,
                            &mut got,
                        )
                        .expect("sizes agree");
                        assert_eq!(got, want, "{case}, listed");
                        let mut list = vec![JointQuat::IDENTITY; count];
                        interpolate_joints(&from, &to, t, Selection::All, how, &mut list)
                            .expect("sizes agree");
                        assert_eq!(pose(&list), want, "{case}, structures");
                        let mut list = from.clone();
                        interpolate_joints_in_place(&mut list, &to, t, Selection::All, how)
                            .expect("sizes agree");
                        assert_eq!(pose(&list), want, "{case}, structures in place");
                        let mut list = from.clone();
                        interpolate_joints_in_place(&mut list, &to, listed, Selection::List(&order), how)
                            .expect("sizes agree");
                        assert_eq!(pose(&list), want, "{case}, structures listed in place");
                        if let (Factor::Same(t), Some(want)) = (t, want.transforms().last()) {
                            let got = interpolate(from[count - 1].rotation, to[count - 1].rotation, t, how);
                            assert_eq!(got, want.rotation, "{case}, alone");
                        }
                    });
                }
            }
        }
    }
}

#[test]
fn translations_and_scales_go_straight_and_hit_their_ends() {
    let mut random = Random(3);
    let (from, to) = (random.pose(tries(100)), random.pose(tries(100)));
    for dispatch in Dispatch::all() {
        for t in [0.0, 0.2, 0.5, 0.7, 1.0] {
            let mut out = Pose::identity(from.joint_count());
            dispatch
                .scope(|| interpolate_poses(&from, &to, t, Selection::All, Method::default(), &mut out))
                .expect("sizes agree");
            for ((a, b), got) in from.transforms().zip(to.transforms()).zip(out.transforms()) {
                let line = |a: f32, b: f32| f64::from(a) * (1.0 - f64::from(t)) + f64::from(b) * f64::from(t);
                let bound = if t == 0.0 || t == 1.0 { 0.0 } else { 1.5e-7 };
                for (a, b, got) in
                    [(a.translation, b.translation, got.translation), (a.scale, b.scale, got.scale)]
                {
                    let want: [f64; 3] = core::array::from_fn(|c| line(a[c], b[c]));
                    assert_close(&got, &want, bound, format_args!("{dispatch}, t = {t}"));
                }
            }
        }
    }
}

/// `(sin((1-t)θ) a + sin(tθ) b) / sin θ` with the angle as it is, of any factor.
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
            let how = Interpolator { arc: Arc::AsGiven, ..method.into() };
            // The whole arc is halved already.
            let of_half =
                if let Method::EberlyHalved(terms) = method { Method::Eberly(terms) } else { method };
            let bound = of_half.error_bound(core::f32::consts::FRAC_PI_2) * 1.5;
            for case in 0..tries(300) {
                let (a, b, t) = (random.unit(), random.unit(), random.range(0.0, 1.0));
                let (want, sum) = as_given(a.map(f64::from), b.map(f64::from), t.into());
                let got = dispatch.scope(|| interpolate(a, b, t, how));
                // Where the ends are nearly opposite, the direction of the arc has few digits left.
                let bound = bound + 4e-7 / sum;
                assert_close(&got, &want, bound, format_args!("{dispatch}, {method}, case {case}, t = {t}"));
            }
        }
        // A quarter turn and three quarters.
        let (a, b) = ([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -0.707_106_77, -0.707_106_77]);
        let how = Interpolator { arc: Arc::AsGiven, ..Interpolator::default() };
        let got = dispatch.scope(|| interpolate(a, b, 0.5, how));
        assert_close(&got, &[0.0, 0.0, -0.923_879_532_5, 0.382_683_432_4], 2e-7, dispatch);
    }
}

#[test]
fn factors_beyond_the_ends_are_held_unless_they_may_go_on() {
    let mut random = Random(6);
    for dispatch in Dispatch::all() {
        for method in methods() {
            let beyond = Interpolator { extrapolate: true, ..method.into() };
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
                    let got = interpolate_through(a, middle, b, t, Method::EberlyHalved(five));
                    let want = reference::slerp(a.map(f64::from), b.map(f64::from), t.into());
                    assert_close(&got, &want, 5e-7, format_args!("{dispatch}, case {i}, t = {t}"));
                }
            }
            let (from, to) = (pose_of(&from), pose_of(&to));
            let (mut half, mut out) = (from.clone(), from.clone());
            interpolate_poses(&from, &to, 0.5, Selection::All, Method::Nlerp, &mut half)
                .expect("sizes agree");
            for t in [0.2, 0.7] {
                interpolate_poses_through(&from, &half, &to, t, Method::EberlyHalved(five), &mut out)
                    .expect("sizes agree");
                for (i, got) in out.transforms().enumerate() {
                    let (a, b) = (from.get(i).rotation, to.get(i).rotation);
                    let want = interpolate_through(a, middle(a, b), b, t, Method::EberlyHalved(five));
                    assert_eq!(got.rotation, want, "{dispatch}, joint {i}");
                }
            }
        });
    }
}

/// Between perpendicular ends the components are the weights, so that the error is the table's.
#[test]
fn the_errors_of_eberlys_series_are_those_of_his_table() {
    let a = [1.0, 0.0, 0.0, 0.0];
    // Beyond, the rounding of f32 is no longer small beside them.
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
        let table = crate::eberly_table::ERRORS[usize::from(terms.count() - 1)];
        assert!((worst / table - 1.0).abs() < 0.02, "{} terms: {worst:e}, {table:e}", terms.count());
    }
}

#[test]
fn methods_are_chosen_by_error_and_angle() {
    for max_error in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 3e-7, 1.6e-7] {
        for max_angle in [0.01, 0.1, 0.5, 1.0, core::f32::consts::FRAC_PI_2] {
            let method = Method::for_error(max_error, max_angle).expect("there is one");
            assert!(method.error_bound(max_angle) <= max_error);
        }
    }
    assert_eq!(Method::for_error(1.6e-7, 1.57), Some(Method::default()));
    assert_eq!(Method::for_error(1.3e-7, 1.57), Some(Method::Exact));
    assert_eq!(Method::for_error(f64::NAN, 1.57), None);
    for method in Method::all() {
        // Found on a grid: to a percent or so.
        assert!(method.error_bound(0.3) <= 1.03 * method.error_bound(0.6), "{method}");
    }
}

#[test]
fn names_are_read_back() {
    use std::string::ToString;
    for method in Method::all() {
        assert_eq!(method.to_string().parse(), Ok(method));
    }
    for name in ["", "slerp", "slerp99", "eberly0", "eberly17", "eberly5-halved-", "Nlerp"] {
        assert!(name.parse::<Method>().is_err(), "{name}");
    }
    assert_eq!((Terms::new(0), Terms::new(17)), (None, None));
}

#[test]
fn wrong_sizes_and_joints_are_refused() {
    let (two, three) = (Pose::identity(2), Pose::identity(3));
    let how = Interpolator::default();
    let mut out = Pose::identity(3);
    let mut run = |from: &Pose, to: &Pose, t: Factor<'_>, joints: Selection<'_>| {
        interpolate_poses(from, to, t, joints, how, &mut out)
    };
    let length = |what, found, needed| Err(Error::Length { what, found, needed });
    assert_eq!(run(&two, &three, 0.5.into(), Selection::All), length("from", 2, 3));
    assert_eq!(run(&three, &two, 0.5.into(), Selection::All), length("to", 2, 3));
    assert_eq!(run(&three, &three, Factor::PerJoint(&[0.5]), Selection::All), length("factors", 1, 3));
    let listed = Selection::List(&[2, 0]);
    assert_eq!(run(&three, &three, Factor::PerJoint(&[0.5]), listed), length("factors", 1, 2));
    assert_eq!(run(&three, &three, Factor::PerJoint(&[0.5, 0.1]), listed), Ok(()));
    let refused = run(&three, &three, 0.5.into(), Selection::List(&[0, 3]));
    assert_eq!(refused, Err(Error::Index { what: "joints", at: 1, found: 3, count: 3 }));
    let joints = [JointQuat::IDENTITY; 3];
    let mut out = joints;
    assert_eq!(
        interpolate_joints(&joints[..2], &joints, 0.5, Selection::All, how, &mut out),
        length("from", 2, 3)
    );
    assert_eq!(
        interpolate_joints_in_place(&mut out, &joints[1..], 0.5, Selection::All, how),
        length("to", 2, 3)
    );
    assert_eq!(
        interpolate_poses_in_place(&mut Pose::identity(3), &two, 0.5, Selection::All, how),
        length("to", 2, 3)
    );
    assert_eq!(
        interpolate_poses_through(&three, &two, &three, 0.5, how, &mut Pose::identity(3)),
        length("middle", 2, 3)
    );
    assert_eq!(slerp_vectors(&[1.0], &[1.0, 0.0], 0.5, &mut [0.0]), length("b", 2, 1));
}

/// Joints that are not on the list stay, and one that comes twice moves twice in place.
#[test]
fn a_list_picks_joints() {
    let mut random = Random(9);
    let (from, to) = (random.pose(40), random.pose(40));
    let mut pose = from.clone();
    interpolate_poses_in_place(&mut pose, &to, 0.5, Selection::List(&[7, 31, 7]), Method::default())
        .expect("sizes agree");
    for joint in 0..40 {
        let (a, b) = (from.get(joint).rotation, to.get(joint).rotation);
        let step = |q| interpolate(q, b, 0.5, Method::default());
        let want = match joint {
            7 => step(step(a)),
            31 => step(a),
            _ => a,
        };
        assert_eq!(pose.get(joint).rotation, want, "joint {joint}");
    }
}

#[test]
fn keys_are_aligned_to_the_key_before() {
    let (mut keys, ..) = cases(tries(100));
    let before = keys.clone();
    align_keys(&mut keys);
    for (at, pair) in keys.windows(2).enumerate() {
        let dot: f64 = (0..4).map(|c| f64::from(pair[0][c]) * f64::from(pair[1][c])).sum();
        assert!(dot >= 0.0, "key {at}");
    }
    assert!(keys.iter().zip(&before).all(|(a, b)| a == b || a.map(|v| -v) == *b));
    align_keys(&mut []);
}

#[test]
fn vectors_of_any_dimension() {
    let mut random = Random(11);
    fn check<const N: usize>(random: &mut Random) {
        for case in 0..tries(500) {
            let (a, mut b) = (random.unit::<N>(), random.unit::<N>());
            if case % 3 == 0 {
                // Close by.
                let moved: [f64; N] = core::array::from_fn(|c| f64::from(a[c]) + f64::from(b[c]) * 1e-4);
                let length = moved.iter().map(|v| v * v).sum::<f64>().sqrt();
                b = moved.map(|v| (v / length) as f32);
            }
            let t = random.range(-0.5, 1.5);
            let want = reference::slerp_vectors(a.map(f64::from), b.map(f64::from), t.into());
            let mut got = [0.0; N];
            slerp_vectors(&a, &b, t, &mut got).expect("one dimension");
            assert_close(&got, &want, 1e-6, format_args!("{N} dimensions, case {case}, t = {t}"));
            slerp_vectors(&a, &b, 0.0, &mut got).expect("one dimension");
            assert_eq!(got, a);
            slerp_vectors(&a, &b, 1.0, &mut got).expect("one dimension");
            assert_eq!(got, b);
            slerp_vectors(&a, &a, t, &mut got).expect("one dimension");
            assert_eq!(got, a);
            // Opposite: some way, of unit length.
            slerp_vectors(&a, &a.map(|v| -v), 0.5, &mut got).expect("one dimension");
            let length: f64 = got.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
            assert!((length - 1.0).abs() < 1e-6, "{N} dimensions: {got:?}");
        }
    }
    check::<2>(&mut random);
    check::<3>(&mut random);
    check::<4>(&mut random);
    check::<7>(&mut random);
}

#[test]
fn a_result_does_not_depend_on_its_lane() {
    let (mut from, mut to, mut t) = cases(BLOCK + 6);
    for dispatch in Dispatch::all() {
        for method in methods() {
            dispatch.scope(|| {
                let mut want = between(&from, &to, Factor::PerJoint(&t), method);
                want.rotate_left(5);
                from.rotate_left(5);
                to.rotate_left(5);
                t.rotate_left(5);
                assert_eq!(between(&from, &to, Factor::PerJoint(&t), method), want, "{dispatch}, {method}");
            });
        }
    }
}

#[test]
fn the_portable_mode_gives_the_same_bits_everywhere() {
    let (from, to, t) = cases(tries(400));
    assert_portable(0xc55b_8f51_ae17_e776, |hash| {
        for how in Method::all().flat_map(|m| {
            [Arc::Shorter, Arc::AsGiven].map(|arc| Interpolator { method: m, arc, extrapolate: false })
        }) {
            for t in [Factor::Same(0.3), Factor::Same(0.8), Factor::PerJoint(&t)] {
                hash.add(between(&from, &to, t, how).as_flattened());
            }
        }
    });
}
