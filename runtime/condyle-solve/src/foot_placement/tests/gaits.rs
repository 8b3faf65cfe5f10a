//! Contacts of gaits from 1 to 6 m/s, travelling and in place, in metres and in centimetres.

use std::string::ToString;

use super::*;
use condyle_encode::{EncodeOptions, Shell, encode};

/// A gait of two feet, in metres and seconds.
#[derive(Debug, Clone, Copy)]
struct Gait {
    speed: f64,
    period: f64,
    /// Fraction of the period that a foot is on the ground.
    stance: f64,
    /// Height of a foot in the middle of its swing.
    carry: f64,
}

/// Typical periods and stance fractions of humans, from a walk to a sprint.
const GAITS: [Gait; 6] = [
    Gait { speed: 1.0, period: 1.15, stance: 0.64, carry: 0.06 },
    Gait { speed: 2.0, period: 0.85, stance: 0.52, carry: 0.1 },
    Gait { speed: 3.0, period: 0.73, stance: 0.36, carry: 0.2 },
    Gait { speed: 4.0, period: 0.7, stance: 0.31, carry: 0.28 },
    Gait { speed: 5.0, period: 0.66, stance: 0.27, carry: 0.34 },
    Gait { speed: 6.0, period: 0.6, stance: 0.23, carry: 0.38 },
];

impl Gait {
    /// Position of a foot on a treadmill, along and above the ground, for a phase from 0 to 1. The foot is
    /// not quite still during its stance, and its ball rises at the end.
    fn foot(&self, phase: f64) -> [f64; 2] {
        let long = self.speed * self.period * self.stance;
        if phase < self.stance {
            let s = phase / self.stance;
            let late = (s - 0.75).max(0.0) / 0.25;
            return [long * (0.5 - s + 0.02 * s * (1.0 - s)), 0.02 + 0.015 * late * late];
        }
        // The foot leaves the ground and lands at the speed of the ground.
        let (t, swing) = ((phase - self.stance) / (1.0 - self.stance), 1.0 - self.stance);
        let slope = -self.speed * self.period * swing;
        let along =
            (2.0 * t - 3.0) * t * t * -long - 0.5 * long + slope * (2.0 * t * t * t - 3.0 * t * t + t);
        let up = 4.0 * t * (1.0 - t);
        [along, 0.02 + 0.015 * (1.0 - t) * (1.0 - t) + self.carry * up * up]
    }

    /// Two feet over `periods` periods at 30 keys per second, with `scale` units per metre, travelling or in
    /// place.
    fn clip(&self, periods: f64, scale: f64, travels: bool) -> (Skeleton, RawClip) {
        let joints = ["left", "right"].map(|name| Joint::new(name, None, Transform::IDENTITY));
        let keys = (self.period * periods * 30.0 + 0.5) as usize;
        let time = |key: usize| key as f64 / keys as f64 * self.period * periods;
        let tracks = [0.0, 0.5].into_iter().enumerate().map(|(foot, late)| {
            let place = |key: usize| {
                let phase = time(key) / self.period + late;
                let [along, up] = self.foot(phase - (phase + 1e-9) as u64 as f64);
                let gone = if travels { self.speed * time(key) } else { 0.0 };
                [0.1 - 0.2 * foot as f64, up, along + gone].map(|v| (v * scale) as f32)
            };
            Track {
                target: Target::Translation(foot as u16),
                interpolation: Interpolation::Linear,
                timeline: 0,
                values: (0..=keys).flat_map(place).collect(),
            }
        });
        let times = (0..=keys).map(|key| time(key) as f32).collect();
        let clip = RawClip::new("gait".to_string(), vec![times], tracks.collect()).expect("a clip");
        (Skeleton::new(joints).expect("two feet"), clip)
    }
}

/// Checks that each foot has one contact per period, about as long as in the gait.
fn check_touches(gait: &Gait, contacts: &Contacts, periods: f64, case: &str) {
    for foot in 0..2 {
        let touches = contacts.of(foot);
        let whole = touches.iter().filter(|touch| touch.start > 0.05);
        let whole = whole.filter(|touch| touch.end < gait.period * periods - 0.05 || periods < 1.5);
        let found = whole.clone().count() as f64;
        assert!(found >= periods - 1.6 && !touches.is_empty(), "{case}, foot {foot}: {touches:?}");
        for touch in whole {
            let (long, wanted) = (touch.end - touch.start, gait.period * gait.stance);
            assert!((long - wanted).abs() < 0.09, "{case}, foot {foot}: {long} s instead of {wanted}");
        }
    }
}

#[test]
fn the_ground_below_gaits_in_place_is_found_from_their_feet() {
    for gait in GAITS.iter().take(tries(6)) {
        for scale in [1.0, 100.0] {
            let (skeleton, clip) = gait.clip(1.0, scale, false);
            for looping in [Looping::Wrap, Looping::Clamp] {
                let case = format!("{gait:?}, scale {scale}, {looping:?}");
                let options = ContactOptions { looping, ..ContactOptions::for_legs((0.9 * scale) as f32) };
                let contacts = contacts_raw(&clip, None, &skeleton, &[0, 1], &options);
                let contacts = contacts.unwrap_or_else(|e| panic!("{case}: {e}"));
                let [x, y, z] = contacts.treadmill().expect("it is in place").map(|v| f64::from(v) / scale);
                assert!(x.abs() < 0.05 && y == 0.0, "{case}: {x} {y}");
                assert!((z - gait.speed).abs() < 0.06 * gait.speed, "{case}: {z} m/s");
                let end = contacts.motion().at(9.0).translation[2] / scale;
                assert!((end - z * gait.period).abs() < 1e-4, "{case}: {end}");
                if looping == Looping::Wrap {
                    check_touches(gait, &contacts, 1.0, &case);
                }
            }
        }
    }
}

#[test]
fn default_thresholds_find_the_contacts_of_gaits_that_travel() {
    for gait in GAITS.iter().take(tries(6)) {
        for scale in [1.0, 100.0] {
            let case = format!("{gait:?}, scale {scale}");
            let (skeleton, clip) = gait.clip(6.0, scale, true);
            let options = ContactOptions::for_legs((0.9 * scale) as f32);
            let contacts = contacts_raw(&clip, None, &skeleton, &[0, 1], &options);
            let contacts = contacts.unwrap_or_else(|e| panic!("{case}: {e}"));
            assert_eq!(contacts.treadmill(), None, "{case}");
            check_touches(gait, &contacts, 6.0, &case);
        }
    }
}

#[test]
fn a_compressed_clip_in_place_has_the_same_ground() {
    let (skeleton, clip) = GAITS[2].clip(1.0, 1.0, false);
    let encoded =
        encode(&clip, &skeleton, &EncodeOptions::new(5e-4, Shell::Balls(0.03)), &mut |_| ()).expect("a clip");
    let options = ContactOptions { looping: Looping::Wrap, ..ContactOptions::for_legs(0.9) };
    let [raw, small] = [
        contacts_raw(&clip, None, &skeleton, &[0, 1], &options).expect("contacts"),
        contacts(encoded.clip(), &skeleton, &[0, 1], &options).expect("contacts"),
    ]
    .map(|contacts| contacts.treadmill().expect("it is in place")[2]);
    assert!((raw - small).abs() < 0.03, "{raw} and {small} m/s");
}

/// A foot that moves in a circle at 12.6 m/s.
#[test]
fn a_clip_in_which_nothing_touches_is_refused() {
    let one = Skeleton::new([Joint::new("foot", None, Transform::IDENTITY)]).expect("a foot");
    let place = |key: usize| {
        let (sin, cos) = condyle_base::math::scalar::sin_cos_f64(key as f64 * core::f64::consts::TAU / 60.0);
        [(2.0 * cos) as f32, 0.0, (2.0 * sin) as f32]
    };
    let track = Track {
        target: Target::Translation(0),
        interpolation: Interpolation::Linear,
        timeline: 0,
        values: (0..=60).flat_map(place).collect(),
    };
    let times = (0..=60).map(|key| key as f32 / 60.0).collect();
    let clip = RawClip::new("circle".to_string(), vec![times], vec![track]).expect("a clip");
    let options = ContactOptions { looping: Looping::Wrap, ..ContactOptions::for_legs(0.9) };
    let refused = contacts_raw(&clip, None, &one, &[0], &options);
    assert_eq!(refused, Err(Error::NoContacts { joints: 1 }));
    let events = condyle::play::Events::new(1.0, vec![]).expect("none");
    let names = [["down", "up"]];
    let refused = contacts_of_events(&clip, None, &one, &[0], &events, &names, Looping::Wrap);
    assert_eq!(refused, Err(Error::NoContacts { joints: 1 }));
}

/// Tests a foot that first almost stands, or moves back with the ground, and then swings. The clip is in
/// kilometres, metres or centimetres.
#[test]
fn events_tell_a_treadmill_in_any_unit() {
    let one = Skeleton::new([Joint::new("foot", None, Transform::IDENTITY)]).expect("a foot");
    let event = |seconds, name: &str| condyle::play::Event { seconds, name: name.to_string() };
    let events = condyle::play::Events::new(1.0, vec![event(0.0, "down"), event(0.5, "up")]).expect("two");
    for scale in [1e-3, 1.0, 100.0] {
        for (back, end, is_in_place) in [(-0.01, 0.7, false), (-0.5, 0.0, true)] {
            let track = Track {
                target: Target::Translation(0),
                interpolation: Interpolation::Linear,
                timeline: 0,
                values: [0.0, back, end].into_iter().flat_map(|z: f32| [0.0, 0.0, z * scale]).collect(),
            };
            let clip = RawClip::new("steps".to_string(), vec![vec![0.0, 0.5, 1.0]], vec![track]);
            let (clip, names) = (clip.expect("a clip"), [["down", "up"]]);
            let found = contacts_of_events(&clip, None, &one, &[0], &events, &names, Looping::Clamp);
            let found = found.expect("a touch").treadmill();
            assert_eq!(found.is_some(), is_in_place, "{scale}: {found:?}");
        }
    }
}
