use super::*;
use crate::clip::{Interpolation, RawClip, Target, Track};
use crate::model::local_to_model;
use crate::play::Looping;
use crate::pose::Pose;
use crate::sampling::{self, RawCursor};
use crate::skeleton::{Joint, Skeleton};
use crate::testing::reference;
use crate::testing::{Random, tries};
use condyle_base::error::Error;
use condyle_base::math::{Rigid, Transform};
use proptest::prelude::*;
use std::{format, string::String, vec};

fn random_motion(random: &mut Random, samples: usize, size: f32) -> RootMotion {
    let duration = random.range(0.1, 3.0);
    let sample = |_| Transform { rotation: random.unit(), translation: random.vector(size), scale: [1.0; 3] };
    RootMotion::new(duration.into(), (0..samples).map(sample).collect()).expect("valid")
}

/// Fails if the rotations differ by more than `bound`, or the translations by more than `bound` times
/// `reach`, the distance that the character moved.
#[track_caller]
fn assert_near(got: &Rigid, want: &Rigid, bound: f64, reach: f64, case: impl core::fmt::Display) {
    let cos: f64 = (0..4).map(|c| got.rotation[c] * want.rotation[c]).sum();
    let sign = if cos < 0.0 { -1.0 } else { 1.0 };
    for c in 0..4 {
        let error = (got.rotation[c] - sign * want.rotation[c]).abs();
        assert!(error <= bound, "{case}: {got:?} instead of {want:?}, off by {error:e}");
    }
    for c in 0..3 {
        let error = (got.translation[c] - want.translation[c]).abs();
        assert!(error <= bound * reach.max(1.0), "{case}: {got:?} instead of {want:?}, off by {error:e}");
    }
}

/// Upper bound of the distance covered in `seconds`: along the rotation axis, plus the circle around it.
fn reach(motion: &RootMotion, seconds: f64) -> f64 {
    let duration = motion.duration();
    let Rigid { rotation: [x, y, z, _], translation } =
        motion.over(Looping::Wrap, 0.0, duration).expect("finite");
    let length = |v: [f64; 3]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let loops = (seconds.abs() / duration).ceil() + 1.0;
    let sine = length([x, y, z]);
    let along = (x * translation[0] + y * translation[1] + z * translation[2]).abs() / sine;
    2.0 + loops * along + length(translation) * loops.min(1.0 / sine)
}

/// Motion between two values of the clock as a product of many small steps, each within one loop.
fn stepped(motion: &RootMotion, looping: Looping, from: f64, to: f64) -> Rigid {
    let duration = motion.duration();
    let ends = |number: f64| [number * duration, (number + 1.0) * duration];
    let mut total = Rigid::IDENTITY;
    let mut step = |a: f64, b: f64| total = total * (motion.at(a).inverse() * motion.at(b));
    let (mut clock, ahead) = (from, to > from);
    match looping {
        Looping::Clamp => {
            for k in 0..50 {
                let at = |k: i32| from + (to - from) * f64::from(k) / 50.0;
                step(at(k).clamp(0.0, duration), at(k + 1).clamp(0.0, duration));
            }
        }
        // Steps to each seam, then continues on the other side.
        Looping::Wrap => {
            let mut number = (from / duration).floor();
            while if ahead { ends(number)[1] < to } else { ends(number)[0] > to } {
                let [first, last] = ends(number);
                let seam = if ahead { last } else { first };
                let half = (clock + seam) / 2.0;
                step(clock - first, half - first);
                step(half - first, seam - first);
                clock = seam;
                number += if ahead { 1.0 } else { -1.0 };
            }
            let first = ends(number)[0];
            step(clock - first, to - first);
        }
    }
    total
}

#[test]
fn samples_must_be_rigid_and_enough() {
    let new =
        |duration, samples: &[Transform]| RootMotion::new(duration, samples.to_vec()).map(|m| m.duration());
    let good = Transform::IDENTITY;
    assert_eq!(new(0.0, &[good]), Ok(0.0));
    assert_eq!(new(0.0, &[]), Err(Error::TooShort { what: "samples", found: 0, needed: 1 }));
    assert_eq!(new(1.0, &[good]), Err(Error::TooShort { what: "samples", found: 1, needed: 2 }));
    let with = |bad| new(1.0, &[good, bad]);
    let bad = Transform { translation: [0.0, f32::NAN, 0.0], ..good };
    assert_eq!(with(bad), Err(Error::NotFinite { what: "samples", at: 1 }));
    assert_eq!(
        with(Transform { rotation: [1.0; 4], ..good }),
        Err(Error::NotUnit { what: "samples", at: 1 })
    );
    assert!(matches!(with(Transform { scale: [2.0; 3], ..good }), Err(Error::OutOfRange { at: 1, .. })));
    assert!(new(f64::INFINITY, &[good, good]).is_err() && new(-1.0, &[good, good]).is_err());
}

#[test]
fn between_samples_is_between_them() {
    let mut random = Random(1);
    for case in 0..tries(200) {
        let count = 2 + random.below(6);
        let motion = random_motion(&mut random, count, 2.0);
        let place = random.range(0.0, (count - 1) as f32);
        let seconds = motion.duration() * f64::from(place) / (count - 1) as f64;
        let (index, t) = (place as usize, f64::from(place.fract()));
        let [a, b] = [index, (index + 1).min(count - 1)].map(|at| motion.samples()[at]);
        let want = Rigid {
            rotation: reference::slerp(a.rotation.map(f64::from), b.rotation.map(f64::from), t),
            translation: core::array::from_fn(|c| {
                f64::from(a.translation[c]) * (1.0 - t) + f64::from(b.translation[c]) * t
            }),
        };
        assert_near(&motion.at(seconds), &want, 2e-7, 1.0, format_args!("case {case}, {place} of {count}"));
    }
}

#[test]
fn outside_of_a_motion_its_ends_hold() {
    let motion = random_motion(&mut Random(2), 4, 1.0);
    let d = motion.duration();
    for early in [-1.0, f64::NEG_INFINITY, f64::NAN, -0.0] {
        assert_eq!(motion.at(early), motion.at(0.0), "{early}");
    }
    for late in [d * 2.0, f64::INFINITY, f64::MAX] {
        assert_eq!(motion.at(late), motion.at(d), "{late}");
    }
    let still = RootMotion::new(0.0, vec![motion.samples()[1]]).expect("valid");
    assert_eq!(still.at(0.0), still.at(7.0));
    for looping in [Looping::Clamp, Looping::Wrap] {
        assert_eq!(still.over(looping, -3.0, 1e9), Ok(Rigid::IDENTITY), "{looping:?}");
        for bad in [f64::NAN, f64::INFINITY] {
            let refused = Err(Error::NotFinite { what: "seconds", at: 0 });
            assert_eq!(motion.over(looping, bad, 0.0), refused, "{looping:?}, from {bad}");
            assert_eq!(motion.over(looping, 0.0, bad), refused, "{looping:?}, to {bad}");
        }
    }
}

/// Straight motion gives the exact distance, and a motion that closes its circle in ten loops stays in place.
#[test]
fn huge_numbers_of_loops_are_exact() {
    let end = Transform { translation: [0.0, 0.5, 2.0], ..Transform::IDENTITY };
    let straight = RootMotion::new(0.5, vec![Transform::IDENTITY, end]).expect("valid");
    for loops in [1e3, 1e9, 1e15] {
        let ahead = straight.over(Looping::Wrap, 0.25, 0.5 * loops).expect("finite").translation;
        let want = [0.0, 0.5 * (loops - 0.5), 2.0 * (loops - 0.5)];
        assert!(
            ahead.iter().zip(want).all(|(got, want)| (got - want).abs() <= 1e-15 * want),
            "{loops}: {ahead:?}"
        );
        let back = straight.over(Looping::Wrap, 0.5 * loops, 0.25).expect("finite").translation;
        assert_eq!(back, ahead.map(|v| -v), "{loops}");
    }
    assert_eq!(straight.over(Looping::Clamp, -1e300, 1e300).map(|m| m.translation), Ok([0.0, 0.5, 2.0]));
    assert!(straight.over(Looping::Wrap, -1e300, 1e300).is_ok_and(|m| m.is_finite()));
    // A tenth of a turn per loop.
    let (sin, cos) = (core::f64::consts::PI / 10.0).sin_cos();
    let round = |seconds: f64| match seconds {
        1.0 => Rigid { rotation: [0.0, sin, 0.0, cos], translation: [1.0, 0.0, 1.0] },
        _ => Rigid::IDENTITY,
    };
    let far = over(round, 1.0, Looping::Wrap, 0.0, 1e10 + 1.0).expect("finite");
    assert_near(&far, &round(1.0), 1e-4, 1.0, "ten thousand million loops");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 2048 }, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_motion_over_loops_is_that_of_all_its_steps(
        seed in any::<u64>(), from in -20.0_f64..20.0, length in prop_oneof![-1.0_f64..1.0, -30.0..30.0, -2000.0..2000.0], on_seam in any::<bool>(),
    ) {
        let mut random = Random(seed);
        let count = 2 + random.below(5);
        let motion = random_motion(&mut random, count, 1.0);
        let d = motion.duration();
        let from = if on_seam { from.floor() * d } else { from };
        for looping in [Looping::Clamp, Looping::Wrap] {
            let got = motion.over(looping, from, from + length).expect("finite");
            let want = stepped(&motion, looping, from, from + length);
            // Close to a seam, rounding of the clock decides the side.
            prop_assume!(((from + length) / d - ((from + length) / d).round()).abs() > 1e-9);
            assert_near(&got, &want, 1e-11 * (1.0 + length.abs()), reach(&motion, length), format_args!("{looping:?}, {from} + {length}"));
        }
    }

    /// The product over intervals of any length and direction equals the motion over the whole.
    #[test]
    fn motions_of_pieces_multiply_to_the_whole(
        seed in any::<u64>(), a in -50.0_f64..50.0, b in -50.0_f64..50.0, c in -50.0_f64..50.0, scale in prop_oneof![Just(1.0), Just(1e6)],
    ) {
        let mut random = Random(seed);
        let count = 2 + random.below(5);
        let motion = random_motion(&mut random, count, 1.0);
        let [a, b, c] = [a, b, c].map(|t| t * scale);
        for looping in [Looping::Clamp, Looping::Wrap] {
            let over = |from, to| motion.over(looping, from, to).expect("finite");
            // Rotation errors grow with the number of loops.
            let seconds = (a - b).abs().max((b - c).abs()).max(1.0);
            let (bound, reach) = (1e-12 * seconds, reach(&motion, seconds));
            assert_near(&(over(a, b) * over(b, c)), &over(a, c), bound, reach, format_args!("{looping:?} {a} {b} {c}"));
            assert_near(&(over(a, b) * over(b, a)), &Rigid::IDENTITY, bound, reach, format_args!("{looping:?} {a} {b}"));
        }
    }

    #[test]
    fn the_order_of_layers_does_not_change_a_bit(seed in any::<u64>(), count in 1_usize..9) {
        let mut random = Random(seed);
        let layer = |_| {
            let sample = random_motion(&mut random, 2, 3.0).samples()[0];
            let weight = [random.range(0.0, 1.0), random.range(-1.0, 2.0), 0.0, 1e-30][random.below(4)];
            let half = random.below(5) == 0;
            let rotation = if half { [0.0, -1.0, 0.0, 0.0] } else { sample.rotation.map(f64::from) };
            (Rigid { rotation, translation: sample.translation.map(f64::from) }, weight)
        };
        let mut layers: Vec<(Rigid, f32)> = (0..count).map(layer).collect();
        let bits = |layers: &[(Rigid, f32)]| {
            let mean = blend(layers).expect("finite");
            (mean.rotation.map(f64::to_bits), mean.translation.map(f64::to_bits))
        };
        let want = bits(&layers);
        for _ in 0..6 {
            let (a, b) = (random.below(count), random.below(count));
            layers.swap(a, b);
            prop_assert_eq!(bits(&layers), want, "{:?}", &layers);
        }
        // A quaternion and its negative are the same rotation.
        for (delta, _) in &mut layers {
            delta.rotation = delta.rotation.map(|v| -v);
        }
        prop_assert_eq!(bits(&layers), want, "{:?}", &layers);
    }
}

#[test]
fn a_blend_is_the_mean_of_angles_and_ways() {
    let turn = |angle: f64, ahead: f64| Rigid {
        rotation: [0.0, (angle / 2.0).sin(), 0.0, (angle / 2.0).cos()],
        translation: [0.0, 0.0, ahead],
    };
    for (weights, angle, ahead) in [
        ([1.0, 0.0, 0.0], 0.3, 1.0),
        ([1.0, 1.0, 0.0], 0.9, 2.5),
        ([0.25, 0.0, 0.75], -0.675, 1.0),
        ([3.0, 1.0, 2.0], 0.4 / 6.0, 9.0 / 6.0),
        ([2.0, -1.0, 0.0], -0.9, -2.0),
    ] {
        let layers =
            [(turn(0.3, 1.0), weights[0]), (turn(1.5, 4.0), weights[1]), (turn(-1.0, 1.0), weights[2])];
        let got = blend(&layers).expect("finite");
        assert_near(&got, &turn(angle, ahead), 1e-11, 1.0, format_args!("{weights:?}"));
    }
    let far = turn(0.3, 1.0);
    for nothing in [
        &[][..],
        &[(far, 0.0)],
        &[(far, 1.0), (turn(0.5, 2.0), -1.0)],
        &[(far, -1e-30), (far, 1e-30)],
        &[(far, 1.0), (turn(0.5, 2.0), -0.999_999_5)],
    ] {
        assert_eq!(blend(nothing), Ok(Rigid::IDENTITY), "{nothing:?}");
    }
    let broken = Rigid { translation: [f64::NAN; 3], ..Rigid::IDENTITY };
    assert_eq!(blend(&[(broken, 0.0), (far, 2.0)]), blend(&[(far, 2.0)]));
    for (bad, weight) in [(broken, 1.0), (far, f32::NAN), (far, f32::INFINITY)] {
        assert_eq!(blend(&[(far, 1.0), (bad, weight)]), Err(Error::NotFinite { what: "layers", at: 1 }));
    }
}

mod extraction;
