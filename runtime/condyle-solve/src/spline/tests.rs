use std::vec::Vec;

use super::*;
use crate::limits::tests::broken;
use crate::limits::{JointLimit, Swing};
use crate::testing::{Case, Scales, apart};
use condyle_base::math::scalar::{sin_cos_f64, sqrt_f64};
use condyle_testing::{Random, assert_portable, cases, tries};

fn points(random: &mut Random, case: &Case, count: usize) -> Vec<[f32; 3]> {
    let mut at = case.place(case.joints[0]);
    (0..count)
        .map(|_| {
            at = core::array::from_fn(|c| at[c] + f64::from(random.range(-0.8, 0.8)));
            at.map(|v| v as f32)
        })
        .collect()
}

/// Reference curve: Barry and Goldman's pyramid with centripetal knots, from their paper. Samples are evenly
/// spaced in each part.
fn drawn(from: [f64; 3], points: &[[f32; 3]], parts: usize) -> Vec<[f64; 3]> {
    let mut all = std::vec![from];
    all.extend(points.iter().map(|p| p.map(f64::from)));
    all.dedup();
    let mirror = |a: [f64; 3], b: [f64; 3]| core::array::from_fn(|c| 2.0 * a[c] - b[c]);
    let (first, last) = (mirror(all[0], all[1]), mirror(all[all.len() - 1], all[all.len() - 2]));
    all.insert(0, first);
    all.push(last);
    let mut drawn = Vec::new();
    for p in all.windows(4) {
        let mut t = [0.0; 4];
        for i in 0..3 {
            t[i + 1] = t[i] + sqrt_f64(apart(p[i], p[i + 1]));
        }
        let mix = |a: [f64; 3], b: [f64; 3], from: f64, to: f64, at: f64| -> [f64; 3] {
            core::array::from_fn(|c| (to - at) / (to - from) * a[c] + (at - from) / (to - from) * b[c])
        };
        for part in 0..parts {
            let at = t[1] + (t[2] - t[1]) * part as f64 / parts as f64;
            let a: [_; 3] = core::array::from_fn(|i| mix(p[i], p[i + 1], t[i], t[i + 1], at));
            let b: [_; 2] = core::array::from_fn(|i| mix(a[i], a[i + 1], t[i], t[i + 2], at));
            drawn.push(mix(b[0], b[1], t[1], t[2], at));
        }
    }
    drawn.push(all[all.len() - 2]);
    drawn
}

/// Distance of a point from a polyline, and the position along it, in segments.
fn nearest(drawn: &[[f64; 3]], p: [f64; 3]) -> (f64, f64) {
    let mut best = (f64::INFINITY, 0.0);
    for (at, pair) in drawn.windows(2).enumerate() {
        let way: [f64; 3] = core::array::from_fn(|c| pair[1][c] - pair[0][c]);
        let size = dot(way, way);
        let along = if size > 0.0 { (dot(way, sub(p, pair[0])) / size).clamp(0.0, 1.0) } else { 0.0 };
        let far = apart(p, add(pair[0], scaled(way, along)));
        if far < best.0 {
            best = (far, at as f64 + along);
        }
    }
    best
}

#[test]
fn joints_are_on_the_curve_in_order() {
    let mut random = Random(1);
    let (mut behind, mut within, all) = (0, 0, cases(1500));
    for try_ in 0..all {
        let scales = [Scales::None, Scales::Even, Scales::UnevenAbove, Scales::Uneven][try_ % 4];
        let turning = 1 + try_ % 7;
        let mut case = Case::new(&mut random, turning, try_ % 3 / 2, scales);
        let was = case.pose.clone();
        let points = points(&mut random, &case, 1 + try_ % 5);
        let joints = &case.joints[..turning];
        let along = Spline { twist: [0.3, -0.8], ..Spline::new(joints, case.tip(), &points) };
        let reached = spline(&case.skeleton, &case.model, &along, &mut case.pose).expect("a curve");
        case.assert_only_turned(&was, try_);
        // The absolute error of f32 grows with the coordinates.
        let places = case.joints.iter().flat_map(|&joint| case.place(joint));
        let size = places.fold(1.0, |most: f64, v| most.max(v.abs()));
        let mut drawn = drawn(case.place(case.joints[0]), &points, 400);
        let end = drawn.len() - 1;
        // Straight continuation beyond the end, along the line through the last two points.
        let (last, before) =
            (drawn[end], points.len().checked_sub(2).map_or(drawn[0], |at| points[at].map(f64::from)));
        drawn.push(add(last, scaled(direction(sub(last, before)).expect("a way"), 100.0 * size)));
        let tip = case.place(case.tip());
        assert!((apart(tip, last) - f64::from(reached.distance)).abs() < 1e-5 * size, "{try_}: {reached:?}");
        // The first point at that distance is used, so no earlier point is as far away.
        let mut at = 0.0;
        for pair in case.joints.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(|joint| case.place(joint));
            let (off, place) = nearest(&drawn, to);
            assert!(off < 2e-4 * size, "{try_}: {off} {scales:?} {pair:?} of {:?}", case.joints);
            if scales == Scales::None {
                let far = apart(from, to);
                for drawn in drawn.iter().take(place as usize).skip(at as usize + 1) {
                    assert!(apart(*drawn, from) < far + 2e-3, "{try_}: {pair:?}");
                }
            }
            at = place;
            if place > end as f64 { behind += 1 } else { within += 1 }
        }
    }
    assert!(cfg!(miri) || behind.min(within) * 3 > all, "{behind} {within}");
}

/// A straight tail is twisted as requested, and its axes point along the requested up directions.
#[test]
fn twists_and_ups_are_shared_out() {
    let mut random = Random(2);
    for try_ in 0..cases(300) {
        let along = condyle::Transform { translation: [0.0, 0.0, 0.3], ..condyle::Transform::IDENTITY };
        let tail = (0..6).map(|at: u16| condyle::skeleton::Joint::new("", at.checked_sub(1), along));
        let skeleton = Skeleton::new(tail).expect("a tail");
        let mut pose = Pose::rest(&skeleton);
        let model = crate::testing::model_of(&skeleton, &pose);
        let joints = [0, 1, 2, 3, 4];
        let points = [[0.2, 0.1, 0.9], [0.3, random.range(-0.3, 0.3), 1.6]];
        let twist = [random.range(-1.0, 1.0), random.range(-1.0, 1.0)];
        let straight = Spline { twist, ..Spline::new(&joints, 5, &[[0.0, 0.0, 3.0]]) };
        spline(&skeleton, &model, &straight, &mut pose).expect("a line");
        for (at, joint) in joints.into_iter().enumerate() {
            let matrix = crate::testing::matrix(&skeleton, &pose, joint);
            let (sin, cos) =
                sin_cos_f64(f64::from(twist[0]) + f64::from(twist[1] - twist[0]) * at as f64 / 4.0);
            assert!(
                (matrix[0][0] - cos).abs() < 1e-5 && (matrix[1][0] - sin).abs() < 1e-5,
                "{try_}, {joint}"
            );
        }
        // With an up vector the twist is relative to it, regardless of the input pose.
        let directions = [[0.0, 1.0, 0.0], [0.4, 0.8, 0.0]];
        let up = Some(SplineUp { axis: [0.0, 1.0, 0.0], directions });
        let bent = Spline { up, ..Spline::new(&joints, 5, &points) };
        spline(&skeleton, &model, &bent, &mut pose).expect("a curve");
        for (at, joint) in joints.into_iter().enumerate() {
            let matrix = crate::testing::matrix(&skeleton, &pose, joint);
            let column = |c: usize| [matrix[0][c], matrix[1][c], matrix[2][c]];
            let part = at as f64 / 4.0;
            let [first, last] = directions.map(|v| direction(v.map(f64::from)).expect("a direction"));
            let want = add(scaled(first, 1.0 - part), scaled(last, part));
            // The direction perpendicular to both the bone and the up vector is x.
            assert!(dot(column(0), want).abs() < 1e-5 && dot(column(1), want) > 0.0, "{try_}, {joint}");
        }
    }
}

#[test]
fn limits_hold_and_weights_go_a_part_of_the_way() {
    let mut random = Random(3);
    for try_ in 0..cases(2000) {
        let mut case = Case::new(&mut random, 4, 0, Scales::None);
        let limits = case.joints[..4].iter().map(|&joint| {
            let swing = if try_ % 2 == 0 { Swing::Cone(0.5) } else { Swing::Hinge };
            let free = JointLimit::free(random.unit());
            (
                joint,
                JointLimit { reference: random.unit(), swing, twist: Some([-0.6, 0.4]), soft: 0.3, ..free },
            )
        });
        let limits = Limits::new(&case.skeleton, limits.collect::<Vec<_>>()).expect("limits");
        let points = points(&mut random, &case, 3);
        let weight = [1.0, 0.4, 0.0][try_ % 3];
        let along =
            Spline { weight, limits: Some(&limits), ..Spline::new(&case.joints[..4], case.tip(), &points) };
        let was = case.pose.clone();
        spline(&case.skeleton, &case.model, &along, &mut case.pose).expect("a curve");
        if weight == 0.0 {
            assert_eq!(case.pose, was);
            continue;
        }
        for &joint in &case.joints[..4] {
            let over = broken(limits.get(joint), case.pose.get(joint.into()).rotation);
            assert!(over < 1e-5, "{try_}: {over}");
        }
    }
}

#[test]
fn what_is_wrong_is_said_and_hostile_numbers_end() {
    let mut random = Random(4);
    let case = Case::new(&mut random, 3, 0, Scales::None);
    let joints = &case.joints[..3];
    let solve = |points: &[[f32; 3]], change: &dyn Fn(&mut Spline<'_>)| {
        let mut pose = case.pose.clone();
        let mut along = Spline::new(joints, case.tip(), points);
        change(&mut along);
        let got = spline(&case.skeleton, &case.model, &along, &mut pose);
        assert!(got.is_ok() || pose == case.pose);
        assert!(pose.transforms().all(|t| t.rotation.iter().all(|v| v.is_finite())));
        got
    };
    let some = [[0.3, 0.2, 0.1]];
    let here = case.model[usize::from(joints[0])].transform_point([0.0; 3]);
    assert_eq!(solve(&[], &|_| {}), Err(Error::TooShort { what: "points", found: 0, needed: 1 }));
    assert_eq!(solve(&[[f32::NAN; 3]], &|_| {}), Err(Error::NotFinite { what: "points", at: 0 }));
    let wide = Err(Error::OutOfRange { what: "twist", at: 1, needed: "within 1000 of 0" });
    assert_eq!(solve(&some, &|s| s.twist = [0.0, 1e9]), wide);
    let up = SplineUp { axis: [0.0; 3], directions: [[0.0, 1.0, 0.0]; 2] };
    assert_eq!(solve(&some, &|s| s.up = Some(up)), Err(Error::NoDirection { what: "up" }));
    for far in [1e-40, 1e-20, 1e20, 3e38] {
        // The solver may accept or reject points this close or far. It terminates, and the pose has no NaN.
        let _ = solve(&[here.map(|v| v + far), [far; 3], [far, -far, far]], &|_| {});
        let _ = solve(&[here, here, [far; 3], [far; 3], here, [-far; 3]], &|_| {});
    }
    let mut flat = case.clone();
    for &joint in &flat.joints {
        flat.pose
            .set(joint.into(), &condyle::Transform { translation: [0.0; 3], ..flat.pose.get(joint.into()) });
    }
    let along = Spline::new(&flat.joints[..3], flat.tip(), &some);
    let reached = spline(&flat.skeleton, &flat.model, &along, &mut flat.pose).expect("bones of no length");
    assert!(reached.distance.is_finite());
}

#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0x2b5b_e55a_cbf5_4bd2, |hash| {
        let mut random = Random(5);
        for try_ in 0..tries(200) {
            let scales = [Scales::None, Scales::Even, Scales::UnevenAbove, Scales::Uneven][try_ % 4];
            let mut case = Case::new(&mut random, 4, try_ % 2, scales);
            let points = points(&mut random, &case, 1 + try_ % 4);
            let up = SplineUp { axis: random.unit(), directions: [random.unit(), random.unit()] };
            let along = Spline {
                twist: [0.2, -0.4],
                up: (try_ % 3 == 0).then_some(up),
                weight: 0.8,
                ..Spline::new(&case.joints[..4], case.tip(), &points)
            };
            let reached = spline(&case.skeleton, &case.model, &along, &mut case.pose).expect("a curve");
            hash.add(&[reached.distance]);
            for &joint in &case.joints {
                hash.add(&case.pose.get(joint.into()).rotation);
            }
        }
    });
}
