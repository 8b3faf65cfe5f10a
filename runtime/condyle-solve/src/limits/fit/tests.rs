use std::vec::Vec;

use super::*;
use crate::limits::tests::broken;
use crate::maps::across;
use condyle::{Interpolation, Joint, RawClip, Target, Track};
use condyle_base::math::Transform;
use condyle_base::math::quats::from_rotation_vector;
use condyle_base::math::vectors::cross;
use condyle_testing::{Random, tries};

/// A trunk, a limb attached to it, and a third joint attached to the limb.
fn limb(random: &mut Random) -> Skeleton {
    let joint = |random: &mut Random, parent| {
        let rest =
            Transform { rotation: random.unit(), translation: random.vector(0.5), ..Transform::IDENTITY };
        Joint::new("", parent, rest)
    };
    let joints = [None, Some(0), Some(1)].map(|parent| joint(random, parent));
    Skeleton::new(joints).expect("a limb")
}

/// A clip of one joint, with 60 keys per second.
fn clip(joint: u16, keys: &[Quat64]) -> RawClip {
    let times = (0..keys.len()).map(|at| at as f32 / 60.0).collect();
    let track = Track {
        target: Target::Rotation(joint),
        interpolation: Interpolation::Linear,
        timeline: 0,
        values: keys.iter().flat_map(|q| q.map(|v| v as f32)).collect(),
    };
    RawClip::new("".into(), std::vec![times], std::vec![track]).expect("a clip")
}

/// A motion that oscillates between -1 and 1 in each component, and never repeats exactly.
fn walk(random: &mut Random, steps: usize) -> Vec<[f64; 3]> {
    let speeds: [f64; 3] = core::array::from_fn(|_| f64::from(random.range(0.05, 0.4)));
    (0..steps)
        .map(|at| {
            core::array::from_fn(|c| condyle_base::math::scalar::sin_f64(at as f64 * speeds[c] + c as f64))
        })
        .collect()
}

/// Area of the swings that a limit allows, counted on a grid in the plane.
fn count(limit: &JointLimit) -> usize {
    let own = Limit::new(0, JointLimit { twist: None, ..limit.clone() }).expect("a limit");
    let free = JointLimit { swing: Swing::Free, twist: None, ..limit.clone() };
    let frame = match &limit.swing {
        Swing::Ellipse { side, .. } | Swing::Polygon { side, .. } => {
            Limit::new(0, JointLimit { swing: Swing::Ellipse { side: *side, angles: [1.0; 2] }, ..free })
                .expect("a limit")
        }
        _ => Limit::new(0, free).expect("a limit"),
    };
    let grid = |at: i32| f64::from(at) / 100.0;
    let all = (-100..=100).flat_map(|x| (-100..=100).map(move |y| [grid(x), grid(y)]));
    all.filter(|&p| own.hold(frame.joined(p, [0.0, 1.0])).is_none()).count()
}

#[test]
fn all_that_was_seen_is_allowed_and_not_much_else() {
    let mut random = Random(1);
    let mut kinds = [0; 3];
    for try_ in 0..tries(90) {
        let skeleton = limb(&mut random);
        let (bend, middle) = (
            random.vector::<3>(0.9).map(f64::from),
            from_rotation_vector(random.vector::<3>(1.5).map(f64::from)),
        );
        let bone = bone(&skeleton, 1);
        let first = across(bone);
        let second = cross(bone, first);
        // A lemon-shaped region, a curve in space, or a motion that bends along an arc.
        let keys: Vec<_> = walk(&mut random, 600)
            .into_iter()
            .map(|[a, b, c]| {
                let round = condyle_base::math::scalar::sqrt_f64(1.0 - 0.99 * a * a);
                let v = match try_ % 3 {
                    0 => scaled(add(scaled(first, a), scaled(second, b * round * 0.6)), 0.8 + 0.1 * c),
                    1 => [a * bend[0] + 0.5 * a * a, a * bend[1] * b, c * 0.3],
                    _ => [a * 0.8 + b * 0.1, a * a * 0.9, c * 0.1],
                };
                product(middle, from_rotation_vector(v))
            })
            .collect();
        let clip = clip(1, &keys);
        for margin in [0.0, 0.05] {
            let options = FitOptions { margin, ..FitOptions::default() };
            let limits = fit_limits(&skeleton, &[&clip], &options).expect("limits");
            assert_eq!(limits.get(0), None);
            let limit = limits.get(1).expect("a limit");
            for (at, q) in keys.iter().enumerate() {
                let over = broken(Some(limit), q.map(|v| v as f32));
                assert!(over < 1e-5, "{try_}, {at}: {over} {limit:?}");
            }
            if margin > 0.0 {
                // Rotations within the margin are allowed too.
                for at in 0..200 {
                    let by = scaled(random.unit::<3>().map(f64::from), 0.9 * f64::from(margin));
                    let q = product(keys[at * 3], from_rotation_vector(by));
                    assert!(broken(Some(limit), q.map(|v| v as f32)) < 1e-5, "{try_}, {at}: {limit:?}");
                }
                continue;
            }
            kinds[match &limit.swing {
                Swing::Ellipse { .. } => 0,
                Swing::Polygon { .. } => 1,
                _ => 2,
            }] += 1;
            if let Swing::Ellipse { side, .. } | Swing::Polygon { side, .. } = &limit.swing {
                // Compares the allowed area with the convex hull of the observed swings, in the plane of this
                // limit.
                let frame = Swing::Ellipse { side: *side, angles: [1.0; 2] };
                let own = Limit::new(0, JointLimit { swing: frame, twist: None, ..limit.clone() })
                    .expect("a frame");
                let points: Vec<_> = keys.iter().map(|q| own.split(*q).0).collect();
                let seen = area(&points) * 100.0 * 100.0;
                let allowed = count(limit) as f64;
                assert!(allowed < 1.3 * seen + 80.0, "{try_}: {allowed} of {seen} {limit:?}");
                let twists = keys.iter().map(|q| twist_of(own.split(*q).1));
                let (least, most) = twists.fold((9.0_f64, -9.0_f64), |(a, b), t| (a.min(t), b.max(t)));
                let twist = limit.twist.expect("a range");
                assert!(
                    (f64::from(twist[0]) - least).abs() < 1e-5 && (f64::from(twist[1]) - most).abs() < 1e-5
                );
            }
        }
    }
    assert!(cfg!(miri) || kinds[0] > 15 && kinds[1] > 15, "{kinds:?}");
}

/// Area of the convex hull, from the farthest point in each of many directions (its support function).
fn area(points: &[[f64; 2]]) -> f64 {
    const WAYS: usize = 2000;
    let corner = |at: usize| {
        let (sin, cos) =
            condyle_base::math::scalar::sin_cos_f64(at as f64 * core::f64::consts::TAU / WAYS as f64);
        let far = |p: &&[f64; 2]| p[0] * cos + p[1] * sin;
        *points.iter().max_by(|a, b| far(a).total_cmp(&far(b))).expect("points")
    };
    (0..WAYS)
        .map(|at| {
            let ([a, b], [c, d]) = (corner(at), corner(at + 1));
            0.5 * (a * d - b * c)
        })
        .sum()
}

#[test]
fn hinges_are_found_by_their_axes() {
    let mut random = Random(2);
    for try_ in 0..tries(300) {
        let skeleton = limb(&mut random);
        let (axis, middle) =
            (random.unit::<3>().map(f64::from), from_rotation_vector(random.vector::<3>(1.5).map(f64::from)));
        let lean = [0.0, 0.03, 0.5][try_ % 3];
        let side = direction(cross(axis, random.unit::<3>().map(f64::from))).expect("a side");
        let keys: Vec<_> = walk(&mut random, 400)
            .into_iter()
            .map(|[a, b, _]| {
                product(
                    middle,
                    product(
                        from_rotation_vector(scaled(side, b * lean)),
                        from_rotation_vector(scaled(axis, a)),
                    ),
                )
            })
            .collect();
        let clip = clip(2, &keys);
        let options = FitOptions { margin: 0.0, ..FitOptions::default() };
        let limits = fit_limits(&skeleton, &[&clip], &options).expect("limits");
        let limit = limits.get(2).expect("a limit");
        let along = dot(limit.axis.map(f64::from), axis).abs();
        match try_ % 3 {
            0 => assert!(limit.swing == Swing::Hinge && along > 1.0 - 1e-6, "{try_}: {limit:?}"),
            1 => assert!(
                matches!(limit.swing, Swing::Cone(angle) if angle < 0.1) && along > 0.998,
                "{try_}: {limit:?}"
            ),
            _ => assert!(!matches!(limit.swing, Swing::Hinge | Swing::Cone(_)), "{try_}: {limit:?}"),
        }
        assert!(keys.iter().all(|q| broken(Some(limit), q.map(|v| v as f32)) < 1e-5), "{try_}: {limit:?}");
        let [least, most] = limit.twist.expect("a range");
        assert!(try_ % 3 == 2 || (f64::from(most - least) - 2.0).abs() < 0.02, "{try_}: {limit:?}");
        // A joint that does not move may move by the margin.
        let still = limits.get(1).expect("a limit");
        assert!(matches!(still.swing, Swing::Cone(angle) if angle < 1e-5), "{still:?}");
    }
}

#[test]
fn what_is_wrong_is_said_and_what_is_odd_is_taken() {
    let mut random = Random(3);
    let skeleton = limb(&mut random);
    let still = clip(1, &[[0.0, 0.0, 0.0, 1.0]]);
    let fit = |options: &FitOptions| fit_limits(&skeleton, &[&still], options).map(|_| ());
    let default = FitOptions::default();
    assert_eq!(
        fit_limits(&skeleton, &[], &default).err(),
        Some(Error::TooShort { what: "clips", found: 0, needed: 1 })
    );
    let needed = "from 0 to 1";
    assert_eq!(
        fit(&FitOptions { margin: -0.1, ..default }),
        Err(Error::OutOfRange { what: "margin", at: 0, needed })
    );
    assert_eq!(fit(&FitOptions { rate: f32::NAN, ..default }), Err(Error::NotFinite { what: "rate", at: 0 }));
    assert_eq!(fit(&default), Ok(()));
    // A joint that turns in every direction is unlimited.
    let keys: Vec<_> = (0..2000).map(|_| random.unit::<4>().map(f64::from)).collect();
    let limits = fit_limits(&skeleton, &[&clip(1, &keys)], &default).expect("limits");
    let limit = limits.get(1).expect("a limit");
    assert_eq!((&limit.swing, limit.twist), (&Swing::Free, None));
    // A soft polygon must be convex, and a fitted one is.
    for case in 0..tries(300) {
        let size = random.range(0.01, 2.7);
        let keys: Vec<_> =
            (0..30).map(|_| from_rotation_vector(random.vector::<3>(size).map(f64::from))).collect();
        let soft = [0.0, 0.01, 0.4, 1.0][case % 4];
        let margin = if case % 3 == 0 { 0.0 } else { random.range(0.0, 1.0) };
        let options = FitOptions { soft, margin, ..default };
        let limits = fit_limits(&skeleton, &[&clip(1, &keys)], &options);
        let limits = limits.unwrap_or_else(|error| panic!("{case}, {size}, {options:?}: {error}"));
        assert_eq!(limits.get(1).expect("a limit").soft, soft);
    }
}
