//! Knees of legs that are exactly straight at times, as in mocap.

use core::f64::consts::TAU;
use std::string::ToString;

use super::*;
use crate::maps::{add, angle};
use condyle_base::math::Quat;
use condyle_base::math::scalar::sin_cos_f64;

/// Keys and seconds of the recording.
const KEYS: usize = 480;
const SECONDS: f64 = 4.0;

/// Legs that are straight in the rest pose, as in CMU files.
fn straight() -> (Skeleton, [Leg; 2]) {
    let (skeleton, legs) = walker();
    let joints = (0..skeleton.joint_count()).map(|joint| {
        let mut rest = skeleton.rest().get(joint);
        if rest.translation[1] == -0.44 {
            rest.translation[2] = 0.0;
        }
        Joint::new(&skeleton.names()[joint], skeleton.parent(joint as u16), rest)
    });
    (Skeleton::new(joints.collect::<Vec<_>>()).expect("parents before children"), legs)
}

fn about_x(angle: f64) -> Quat {
    let (sin, cos) = sin_cos_f64(0.5 * angle);
    [sin as f32, 0.0, 0.0, cos as f32]
}

/// A walk whose knees are straight much of the time, with noise to all sides in every third key.
fn recording(skeleton: &Skeleton, legs: &[Leg; 2]) -> RawClip {
    let mut random = Random(5);
    let mut rotations = vec![Vec::new(); skeleton.joint_count()];
    let mut places = Vec::new();
    let mut placed = vec![Affine::IDENTITY; skeleton.joint_count()];
    let (mut along, mut before) = (0.0_f32, None::<(usize, f32)>);
    for key in 0..=KEYS {
        let mut pose = Pose::rest(skeleton);
        for (leg, late) in legs.iter().zip([0.0, 0.5]) {
            let (sin, cos) = sin_cos_f64(TAU * (key as f64 / 120.0 + late));
            let swing = -0.35 * sin;
            let bent = (1.3 * cos - 0.2).max(0.0);
            let noise = random.vector::<3>(if key % 3 == 0 { 2e-4 } else { 0.0 });
            let mut set = |joint: u16, rotation| {
                pose.set(joint.into(), &Transform { rotation, ..pose.get(joint.into()) });
            };
            set(leg.hip, about_x(swing - 0.4 * bent));
            let [x, _, _, w] = about_x(bent + f64::from(noise[0]));
            set(leg.knee, [x, noise[1], noise[2], w]);
            set(leg.foot, about_x(-swing - 0.6 * bent));
        }
        pose.set(0, &Transform { translation: [0.0; 3], ..pose.get(0) });
        local_to_model(skeleton, &pose, &mut placed).expect("sizes agree");
        // The lower toe stands still.
        let toes = legs.map(|leg| placed[usize::from(leg.touching())].transform_point([0.0; 3]));
        let stands = usize::from(toes[1][1] < toes[0][1]);
        if let Some((foot, at)) = before {
            along -= toes[foot][2] - at;
        }
        before = Some((stands, toes[stands][2]));
        places.extend([0.0, 0.02 - toes[stands][1], along]);
        for (joint, values) in rotations.iter_mut().enumerate() {
            values.extend(pose.get(joint).rotation);
        }
    }
    let times = (0..=KEYS).map(|key| (SECONDS * key as f64 / KEYS as f64) as f32).collect();
    let track = |target, values| Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
    let turned = rotations.into_iter().enumerate();
    let mut tracks: Vec<_> =
        turned.map(|(joint, values)| track(Target::Rotation(joint as u16), values)).collect();
    tracks.push(track(Target::Translation(0), places));
    RawClip::new("recording".to_string(), vec![times], tracks).expect("a clip")
}

/// Position of a knee between hip and foot: along the line, and its distance from the line.
fn bend(hip: [f64; 3], knee: [f64; 3], foot: [f64; 3]) -> [f64; 2] {
    let (line, bone) = (sub(foot, hip), sub(knee, hip));
    let along = condyle_base::math::vectors::dot(line, bone) / length(line);
    [along, condyle_base::math::scalar::sqrt_f64((length(bone) * length(bone) - along * along).max(0.0))]
}

/// Checks that in one frame no knee moves more than 1.5x as far as in the recording, plus the movement caused
/// by the hip, the foot and the bend. Also checks that no knee folds too far.
#[test]
fn straight_knees_stay_on_one_side() {
    let (skeleton, legs) = straight();
    let clip = recording(&skeleton, &legs);
    let joints = legs.map(|leg| leg.touching());
    let contacts =
        contacts_raw(&clip, None, &skeleton, &joints, &ContactOptions::for_legs(0.88)).expect("contacts");
    let stands = Feet::new(&skeleton, 0, &legs).expect("legs");
    let (up, down) = (stairs(1.0), stairs(-1.0));
    let grounds: [(&str, &dyn Ground); 4] = [
        ("level", &Plane::level(0.0)),
        ("downhill", &Plane { point: [0.0; 3], normal: [0.0, 1.0, 0.2] }),
        ("upstairs", &up),
        ("downstairs", &down),
    ];
    for (name, ground) in grounds.into_iter().take(tries(4)) {
        let mut state = stands.start();
        let mut last: Option<[Vec<[f64; 3]>; 2]> = None;
        let mut placed = vec![Affine::IDENTITY; skeleton.joint_count()];
        let mut pose = Pose::rest(&skeleton);
        let places = |placed: &[Affine], up: f64| -> Vec<[f64; 3]> {
            let place = |m: &Affine| add(m.rows.map(|row| f64::from(row[3])), [0.0, up, 0.0]);
            placed.iter().map(place).collect()
        };
        for frame in 0..(SECONDS * 60.0) as usize {
            let clock = frame as f64 / 60.0;
            clip.pose(&skeleton, clock, &mut pose).expect("a pose");
            local_to_model(&skeleton, &pose, &mut placed).expect("sizes agree");
            let source = places(&placed, 0.0);
            let high = ground.below([0.0, 1e3, source[0][2]]).map_or(0.0, |s| s.height);
            let placement = Rigid { translation: [0.0, high, 0.0], ..Rigid::IDENTITY };
            let steps = [0, 1].map(|foot| contacts.step(foot, clock).expect("a step"));
            let seconds = if frame == 0 { 0.0 } else { 1.0 / 60.0 };
            let input = FeetFrame { placement, ground, steps: &steps, seconds, weight: 1.0 };
            feet(&skeleton, &placed, &stands, &input, &mut state, &mut pose).expect("feet");
            local_to_model(&skeleton, &pose, &mut placed).expect("sizes agree");
            let shown = places(&placed, high);
            for leg in &legs {
                let [hip, knee, foot] = [leg.hip, leg.knee, leg.foot].map(usize::from);
                let bones = [sub(shown[knee], shown[hip]), sub(shown[foot], shown[knee])];
                let cos = condyle_base::math::vectors::dot(bones[0], bones[1])
                    / (length(bones[0]) * length(bones[1]));
                assert!(cos > -0.94, "{name}, frame {frame}: a knee folds up");
                let Some([source_before, shown_before]) = last.as_ref().filter(|_| frame > 20) else {
                    continue;
                };
                let moved = |now: &[[f64; 3]], then: &[[f64; 3]], joint: usize| sub(now[joint], then[joint]);
                let all = |joint| [moved(&source, source_before, joint), moved(&shown, shown_before, joint)];
                let explained = |joint| {
                    let [from, to] = all(joint);
                    length(sub(to, from))
                };
                let bends = [&source, source_before, &shown, shown_before];
                let [a, b, c, d] = bends.map(|places| bend(places[hip], places[knee], places[foot]));
                let unfolds = [0, 1].map(|k| c[k] - d[k] - a[k] + b[k]);
                let unfolds = length([unfolds[0], unfolds[1], 0.0]);
                let [from, to] = all(knee).map(length);
                let beyond = to - 1.5 * from - explained(hip) - explained(foot) - unfolds;
                assert!(beyond < 0.01, "{name}, frame {frame}, joint {knee}: {beyond} m in a frame");
            }
            last = Some([source, shown]);
        }
    }
}

/// Even straight legs are unchanged if the weight is 0.
#[test]
fn no_weight_leaves_straight_legs_as_they_are() {
    let (skeleton, legs) = straight();
    let clip = recording(&skeleton, &legs);
    let stands = Feet::new(&skeleton, 0, &legs).expect("legs");
    let mut placed = vec![Affine::IDENTITY; skeleton.joint_count()];
    let ground = Plane::level(0.0);
    let mut state = stands.start();
    for frame in 0..tries(200) {
        let mut pose = Pose::rest(&skeleton);
        clip.pose(&skeleton, frame as f64 / 60.0, &mut pose).expect("a pose");
        let given = pose.clone();
        local_to_model(&skeleton, &pose, &mut placed).expect("sizes agree");
        let steps = [Step::Swing(None); 2];
        let seconds = if frame == 0 { 0.0 } else { 1.0 / 60.0 };
        let input =
            FeetFrame { placement: Rigid::IDENTITY, ground: &ground, steps: &steps, seconds, weight: 0.0 };
        feet(&skeleton, &placed, &stands, &input, &mut state, &mut pose).expect("feet");
        for joint in 0..skeleton.joint_count() {
            let [a, b] = [&given, &pose].map(|pose| pose.get(joint).rotation.map(f64::from));
            let off = angle(a, b);
            assert!(off < 1e-7, "frame {frame}, joint {joint}: {off}");
        }
    }
}

/// A bent knee keeps its rotation bit for bit. Multiplying by the identity would round it.
#[test]
fn only_straight_knees_are_turned() {
    let (skeleton, legs) = straight();
    for (bend, is_turned) in [(0.0, true), (0.1, true), (0.3, false), (1.3, false)] {
        let mut pose = Pose::rest(&skeleton);
        let knee = usize::from(legs[0].knee);
        pose.set(knee, &Transform { rotation: about_x(bend), ..pose.get(knee) });
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
        let back = Some([0.0, 0.0, -1.0]);
        let sides = KneeSides { before: back, at_rest: back, seconds: 0.02 };
        let (bent, side) = bent_knee(&skeleton, &model, &pose, &legs[0], sides).expect("a leg");
        assert_eq!(bent.is_some(), is_turned, "{bend}");
        assert!(side.is_some(), "{bend}");
    }
}
