use std::format;

use super::*;
use condyle::clip::{Interpolation, RawClip, Target, Track};
use condyle::motion::RootMotion;
use condyle::play::Looping;
use condyle::sampling::PoseSource;
use condyle::skeleton::Joint;
use condyle::{local_to_model, model};
use condyle_testing::{Random, assert_portable, tries};

mod gaits;
mod knees;

/// A pelvis and two legs of 88 cm, each with a foot and toes.
fn walker() -> (Skeleton, [Leg; 2]) {
    let mut joints = Vec::new();
    let mut add = |name: &str, parent: Option<u16>, translation| {
        joints.push(Joint::new(name, parent, Transform { translation, ..Transform::IDENTITY }));
    };
    add("pelvis", None, [0.0, 0.94, 0.0]);
    add("head", Some(0), [0.0, 0.7, 0.0]);
    for (side, x) in [("left", 0.1), ("right", -0.1)] {
        let hip = if x > 0.0 { 2 } else { 6 };
        add(&format!("{side} hip"), Some(0), [x, -0.02, 0.0]);
        add(&format!("{side} knee"), Some(hip), [0.0, -0.44, 0.02]);
        add(&format!("{side} foot"), Some(hip + 1), [0.0, -0.44, -0.02]);
        add(&format!("{side} toe"), Some(hip + 2), [0.0, -0.06, 0.13]);
    }
    let leg = |hip| Leg { hip, knee: hip + 1, foot: hip + 2, toe: Some(hip + 3) };
    (Skeleton::new(joints).expect("parents before children"), [leg(2), leg(6)])
}

/// Position of the pelvis in the clip.
const LOW: [f32; 3] = [0.0, 0.88, 0.0];
const SPEED: f32 = 1.1;
const KEYS: usize = 60;

/// A step in place, for a phase from 0 to 1. Returns the position of the foot along the ground and above it.
/// The foot stands until phase 0.6.
fn gait(phase: f64) -> [f64; 2] {
    let (stance, stride) = (0.6, 1.1);
    if phase < stance {
        return [stride * (0.5 * stance - phase), 0.0];
    }
    // The foot moves from -s to s, with the velocity of the ground at both ends.
    let (t, s) = ((phase - stance) / (1.0 - stance), 0.5 * stride * stance);
    let back = -stride * (1.0 - stance);
    let ease = t * t * t * (10.0 - t * (15.0 - 6.0 * t));
    let drift = t * (1.0 - t) * (1.0 - 2.0 * t);
    [
        -s + 2.0 * s * ease + back * drift * (1.0 - t) * t * 4.0 + back * drift,
        0.6 * (t * (1.0 - t)) * (t * (1.0 - t)),
    ]
}

/// One second of walking in place.
fn walk(skeleton: &Skeleton, legs: &[Leg; 2]) -> (RawClip, RootMotion) {
    let mut times = Vec::new();
    let mut rotations = vec![Vec::new(); skeleton.joint_count()];
    for key in 0..=KEYS {
        times.push(key as f32 / KEYS as f32);
        let mut pose = Pose::rest(skeleton);
        pose.set(0, &Transform { translation: LOW, ..pose.get(0) });
        let mut placed = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(skeleton, &pose, &mut placed).expect("sizes agree");
        for (leg, start) in legs.iter().zip([0.0, 0.5]) {
            let phase = (key as f64 / KEYS as f64 + start) % 1.0;
            let [along, up] = gait(phase);
            let rest = placed[usize::from(leg.foot)].transform_point([0.0; 3]);
            let reach = TwoBone {
                orientation: Some([0.0, 0.0, 0.0, 1.0]),
                ..TwoBone::new([leg.hip, leg.knee, leg.foot], [rest[0], 0.08 + up as f32, along as f32])
            };
            two_bone(skeleton, &placed, &reach, &mut pose).expect("a leg");
        }
        for (joint, values) in rotations.iter_mut().enumerate() {
            values.extend(pose.get(joint).rotation);
        }
    }
    let track = |(joint, values)| Track {
        target: Target::Rotation(joint as u16),
        interpolation: Interpolation::Linear,
        timeline: 0,
        values,
    };
    let mut tracks: Vec<_> = rotations.into_iter().enumerate().map(track).collect();
    tracks.push(Track {
        target: Target::Translation(0),
        values: [LOW; KEYS + 1].concat(),
        ..tracks[0].clone()
    });
    let end = Transform { translation: [0.0, 0.0, SPEED], ..Transform::IDENTITY };
    let motion = RootMotion::new(1.0, vec![Transform::IDENTITY, end]).expect("a motion");
    (RawClip::new("walk".into(), vec![times], tracks).expect("a clip"), motion)
}

fn found(skeleton: &Skeleton, legs: &[Leg; 2], clip: &RawClip, motion: &RootMotion) -> Contacts {
    let options = ContactOptions { looping: Looping::Wrap, ..ContactOptions::for_legs(0.9) };
    let joints = legs.map(|leg| leg.touching());
    contacts_raw(clip, Some(motion), skeleton, &joints, &options).expect("contacts")
}

/// Positions of joints per frame, in the clip and in the result, and which feet are planted.
struct Run {
    source: Vec<Vec<[f64; 3]>>,
    shown: Vec<Vec<[f64; 3]>>,
    planted: Vec<[bool; 2]>,
}

fn run(ground: &dyn Ground, rate: f64, seconds: f64, known: bool) -> Run {
    let (skeleton, legs) = walker();
    let (clip, motion) = walk(&skeleton, &legs);
    let contacts = found(&skeleton, &legs, &clip, &motion);
    let stands = Feet::new(&skeleton, 0, &legs).expect("legs");
    let mut state = stands.start();
    let mut out = Run { source: vec![], shown: vec![], planted: vec![] };
    let mut pose = Pose::rest(&skeleton);
    let mut placed = vec![Affine::IDENTITY; skeleton.joint_count()];
    let places = |placed: &[Affine], placement: &Rigid| {
        placed.iter().map(|m| placement.transform_point(m.rows.map(|row| f64::from(row[3])))).collect()
    };
    for frame in 0..(seconds * rate) as usize {
        let clock = frame as f64 / rate;
        let at = clip.moment(Looping::Wrap, clock).expect("a moment");
        clip.pose(&skeleton, at, &mut pose).expect("a pose");
        local_to_model(&skeleton, &pose, &mut placed).expect("sizes agree");
        let mut placement = motion.over(Looping::Wrap, 0.0, clock).expect("a motion");
        out.source.push(places(&placed, &placement));
        let steps = [0, 1].map(|foot| match contacts.step(foot, clock).expect("a step") {
            Step::Swing(landing) => Step::Swing(landing.filter(|_| known)),
            planted => planted,
        });
        out.planted.push(steps.map(|step| step == Step::Planted));
        // Snaps the character to the height of the ground, as games do.
        placement.translation[1] =
            ground.below([0.0, 1e3, placement.translation[2]]).map_or(0.0, |s| s.height);
        let seconds = if frame == 0 { 0.0 } else { (1.0 / rate) as f32 };
        let frame = FeetFrame { placement, ground, steps: &steps, seconds, weight: 1.0 };
        feet(&skeleton, &placed, &stands, &frame, &mut state, &mut pose).expect("feet");
        local_to_model(&skeleton, &pose, &mut placed).expect("sizes agree");
        out.shown.push(places(&placed, &placement));
    }
    out
}

fn stairs(up: f64) -> impl Fn([f64; 3]) -> Option<GroundPoint> {
    // Avoids `floor`, which needs the standard library.
    move |p: [f64; 3]| {
        Some(GroundPoint::level(((p[2] + 1000.0) / 0.4 - 0.5) as i64 as f64 * 0.12 * up - 299.88 * up))
    }
}

fn peak(places: &[Vec<[f64; 3]>], joint: usize, rate: f64) -> f64 {
    let one = |w: &[Vec<[f64; 3]>]| {
        let a: [f64; 3] =
            core::array::from_fn(|c| (w[0][joint][c] - 2.0 * w[1][joint][c] + w[2][joint][c]) * rate * rate);
        length(a)
    };
    places.windows(3).map(one).fold(0.0, f64::max)
}

/// Visible quality: planted feet neither slide nor sink, and no joint jerks.
#[test]
fn planted_feet_stay_and_nothing_jerks_on_any_ground() {
    let slope = |by: f64| Plane { point: [0.0; 3], normal: [0.0, 1.0, by] };
    let (up, down) = (stairs(1.0), stairs(-1.0));
    let grounds: [(&str, &dyn Ground); 5] = [
        ("level", &Plane::level(0.3)),
        ("uphill", &slope(-0.1)),
        ("downhill", &slope(0.1)),
        ("upstairs", &up),
        ("downstairs", &down),
    ];
    let (_, legs) = walker();
    for (name, ground) in grounds.into_iter().take(tries(5)) {
        let run = run(ground, 60.0, 5.0, true);
        for (foot, leg) in legs.iter().enumerate() {
            let toe = usize::from(leg.touching());
            let (mut stood, mut stands) = (None::<[f64; 3]>, 0);
            for (frame, planted) in run.planted.iter().enumerate() {
                if !planted[foot] {
                    stood = None;
                    continue;
                }
                let now = run.shown[frame][toe];
                let at = *stood.get_or_insert(now);
                stands += 1;
                assert!(length(sub(now, at)) < 1e-4, "{name}, frame {frame}: {at:?} to {now:?}");
                let high = ground.below([now[0], now[1] + 0.02, now[2]]).map_or(0.0, |s| s.height);
                // At the start the heel may be on the edge of a step, because that foot can no longer choose
                // its landing.
                let over = now[1] - high - 0.02;
                assert!(
                    over > -1e-3 && (over < 1e-3 || frame < 60),
                    "{name}, frame {frame}: {now:?} over {high}"
                );
            }
            assert!(stands > 100, "{name}: {stands}");
        }
        for joint in 0..run.shown[0].len() {
            // Skips the first step, because the foot begins it in the air from an unknown position.
            let [from, to] = [&run.source[30..], &run.shown[30..]].map(|places| peak(places, joint, 60.0));
            // The pelvis does not move vertically in the clip.
            let over = match name {
                "level" | "uphill" => 2.0,
                "downhill" => 5.0,
                // Three stair steps per stride on almost straight legs need more acceleration than the clip
                // has.
                "upstairs" => 60.0,
                _ => 100.0,
            };
            let most = 1.5 * from + over;
            assert!(to < most, "{name}, joint {joint}: {to} instead of {from} m/s²");
        }
    }
}

#[test]
fn what_is_not_known_ahead_is_caught_up_with() {
    let run = run(&stairs(1.0), 60.0, 3.0, false);
    let (_, legs) = walker();
    for (foot, leg) in legs.iter().enumerate() {
        let toe = usize::from(leg.touching());
        let mut since = 0;
        for frame in 1..run.planted.len() {
            since = if run.planted[frame][foot] { since + 1 } else { 0 };
            if since > 13 {
                let moved = length(sub(run.shown[frame][toe], run.shown[frame - 1][toe]));
                assert!(moved < 1e-5, "frame {frame}: {moved}");
            }
        }
    }
}

/// Joints have the same positions at the same times at all frame rates.
#[test]
fn frame_rates_agree() {
    let ground = stairs(1.0);
    let [slow, fast] = [30.0, 120.0].map(|rate| run(&ground, rate, 3.0, true));
    let mut worst = 0.0_f64;
    for (frame, shown) in slow.shown.iter().enumerate().skip(30) {
        for (a, b) in shown.iter().zip(&fast.shown[4 * frame]) {
            worst = worst.max(length(sub(*a, *b)));
        }
    }
    assert!(worst < 0.03, "{worst}");
}

#[test]
fn contacts_are_where_the_gait_has_them() {
    let (skeleton, legs) = walker();
    let (clip, motion) = walk(&skeleton, &legs);
    let contacts = found(&skeleton, &legs, &clip, &motion);
    for (foot, start) in [(0, 0.0), (1, 0.5)] {
        let [contact] = contacts.of(foot) else { panic!("{:?}", contacts.of(foot)) };
        // A foot that begins or ends its swing is still slow and low, so contacts are a little longer than
        // the stance. The contact of the left foot continues over the seam.
        let (from, until) = (contact.start, contact.end);
        let want = if foot == 0 { 1.0 + start } else { start };
        assert!((from - want).abs() < 0.05 && (until - want - 0.6).abs() < 0.07, "{foot}: {from} to {until}");
        let place = contact.place.map(f64::from);
        let wanted = f64::from(SPEED) * want + 0.13 + 1.1 * 0.3;
        assert!(
            (place[2] - wanted).abs() < 0.01 && (place[1] - 0.02).abs() < 0.005,
            "{foot}: {place:?} {wanted}"
        );
    }
    // Each foot has one event for landing and one for leaving.
    let names = [["left down", "left up"], ["right down", "right up"]];
    let events = contacts.events(&names).expect("a pair each");
    let passed: Vec<&str> = events.passed(Looping::Wrap, 0.3, 1.3).expect("times").map(|e| e.name).collect();
    assert_eq!(passed, ["right down", "left up", "left down", "right up"].map(|name| name));
    // Converts the events back to contacts.
    let back = contacts_of_events(
        &clip,
        Some(&motion),
        &skeleton,
        &legs.map(|l| l.touching()),
        &events,
        &names,
        Looping::Wrap,
    );
    let back = back.expect("pairs of events");
    for foot in [0, 1] {
        let [[a], [b]] = [contacts.of(foot), back.of(foot)] else { panic!("{:?}", back.of(foot)) };
        assert!((a.start - b.start).abs() < 1e-5 && (a.end - b.end).abs() < 1e-5, "{a:?} {b:?}");
        assert!(a.place.iter().zip(b.place).all(|(a, b)| (a - b).abs() < 2e-3), "{a:?} {b:?}");
    }
    // The state is the same in every loop.
    for clock in [0.8, 5.8, -3.2] {
        let Ok(Step::Swing(Some(landing))) = contacts.step(0, clock) else { panic!("{clock}") };
        let want = contacts.of(0)[0].start - 0.8;
        assert!((f64::from(landing.seconds) - want).abs() < 1e-5, "{landing:?} {want}");
    }
    assert!(contacts.step(2, 0.0).is_err());
    assert!(contacts.step(0, f64::NAN).is_err());
}

#[test]
fn grounds_are_what_they_hold() {
    let mut random = Random(3);
    let triangles: Vec<[[f32; 3]; 3]> = (0..200)
        .map(|at| {
            if at == 7 { [[0.0; 3]; 3] } else { [random.vector(2.0), random.vector(2.0), random.vector(2.0)] }
        })
        .collect();
    let ground = Triangles::new(&triangles).expect("finite");
    for try_ in 0..tries(2000) {
        let from = random.vector::<3>(2.5).map(f64::from);
        // Compares with each triangle alone, without a grid.
        let alone = triangles.iter().filter_map(|t| Triangles::new(&[*t]).expect("finite").below(from));
        let want = alone.map(|s| s.height).fold(f64::NEG_INFINITY, f64::max);
        let got = ground.below(from).map_or(f64::NEG_INFINITY, |s| s.height);
        assert_eq!(got, want, "{try_}: {from:?}");
        assert!(got <= from[1]);
        // The point is on the triangle's plane, and the normal is perpendicular to its edges.
        let t = triangles[try_ % 200].map(|p| p.map(f64::from));
        let middle: [f64; 3] = core::array::from_fn(|c| (t[0][c] + t[1][c] + t[2][c]) / 3.0);
        let one = Triangles::new(&[triangles[try_ % 200]]).expect("finite");
        if let Some(s) = one.below([middle[0], 9.0, middle[2]]) {
            assert!((s.height - middle[1]).abs() < 1e-6 / s.normal[1], "{s:?} {middle:?}");
            let edge = sub(t[1], t[0]);
            let along = condyle_base::math::vectors::dot(edge, s.normal);
            assert!(along.abs() < 1e-9, "{along}");
        }
    }
    assert!(Triangles::new(&[]).expect("none").below([0.0; 3]).is_none());
    assert!(matches!(Triangles::new(&[[[f32::NAN; 3]; 3]]), Err(Error::NotFinite { .. })));
    // Many large triangles make the grid coarser, so that the lists of its cells stay short.
    let wide = vec![[[-9.0, 0.0, -9.0], [9.0, 0.0, -9.0], [0.0, 0.0, 9.0]]; 5000];
    assert!(Triangles::new(&wide).expect("finite").below([0.0, 1.0, 0.0]).is_some());
    for normal in [[1.0, 0.0, 0.0], [0.0; 3], [f64::NAN; 3]] {
        assert_eq!(Plane { point: [0.0; 3], normal }.below([0.0; 3]), None, "{normal:?}");
    }
    let edge = Heights { height: |_: f64, z: f64| if z > 0.0 { 1.0 } else { 0.0 }, spacing: 0.02 };
    assert_eq!(edge.below([0.0, 5.0, 0.01]), Some(GroundPoint::level(1.0)));
    assert_eq!(Heights { height: |_: f64, _: f64| f64::NAN, spacing: 0.02 }.below([0.0; 3]), None);
}

/// Hostile input gives finite results or an error, and an error changes nothing.
#[test]
fn hostile_input_is_refused_or_gives_numbers() {
    let (skeleton, legs) = walker();
    let stands = Feet::new(&skeleton, 0, &legs).expect("legs");
    let mut random = Random(9);
    let bad = [f32::NAN, f32::INFINITY, -1e38, 1e-40, 1e20, 0.0];
    let mut pose = Pose::rest(&skeleton);
    let mut state = stands.start();
    for try_ in 0..tries(20_000) {
        let mut placed = vec![Affine::IDENTITY; skeleton.joint_count()];
        let pick = |usual: f32, random: &mut Random| {
            if random.below(40) == 0 { bad[random.below(6)] } else { usual }
        };
        if try_ % 4 == 0 {
            let joint = random.below(10);
            let mut t = pose.get(joint);
            t.translation[random.below(3)] = pick(0.1, &mut random);
            t.rotation[random.below(4)] = pick(0.5, &mut random);
            pose.set(joint, &t);
        }
        local_to_model(&skeleton, &pose, &mut placed).expect("sizes agree");
        let landing = Landing {
            seconds: pick(0.3, &mut random),
            place: random.vector::<3>(1.0).map(|v| pick(v, &mut Random(try_ as u64))),
            from: random.vector(1.0),
            velocity: random.vector::<3>(1.0).map(|v| pick(v, &mut Random(try_ as u64 + 1))),
        };
        let any = [Step::Planted, Step::Swing(None), Step::Swing(Some(landing))];
        let steps = [any[random.below(3)], any[random.below(3)]];
        let mut placement = Rigid::IDENTITY;
        placement.translation = random.vector::<3>(1.0).map(f64::from);
        placement.translation[random.below(3)] = pick(0.0, &mut random).into();
        let height = f64::from(pick(0.1, &mut random));
        let normal = [pick(0.2, &mut random).into(), 1.0, pick(0.1, &mut random).into()];
        let ground = move |_: [f64; 3]| Some(GroundPoint { height, normal });
        let seconds = pick(0.016, &mut random);
        let frame = FeetFrame { placement, ground: &ground, steps: &steps, seconds, weight: 1.0 };
        let (was, kept) = (pose.clone(), state.feet.clone());
        match feet(&skeleton, &placed, &stands, &frame, &mut state, &mut pose) {
            Ok(_) => {
                let all = pose.transforms().zip(was.transforms());
                for (joint, (now, was)) in all.enumerate() {
                    let numbers = now.rotation.iter().chain(&now.translation).all(|v| v.is_finite());
                    assert!(
                        numbers || !was.rotation.iter().chain(&was.translation).all(|v| v.is_finite()),
                        "{try_}, {joint}: {now:?}"
                    );
                }
            }
            Err(_) => {
                let same =
                    pose.blocks().iter().zip(was.blocks()).all(|(a, b)| format!("{a:?}") == format!("{b:?}"));
                assert!(same && format!("{kept:?}") == format!("{:?}", state.feet), "{try_}");
            }
        }
        if try_ % 16 == 15 {
            (pose, state) = (Pose::rest(&skeleton), stands.start());
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (skeleton, legs) = walker();
    let refused = Feet::new(&skeleton, 0, &[Leg { hip: 3, knee: 2, foot: 4, toe: None }]);
    assert!(matches!(refused, Err(Error::OutOfRange { what: "legs", at: 0, .. })), "{refused:?}");
    let refused = Feet::new(&skeleton, 1, &legs);
    assert!(matches!(refused, Err(Error::OutOfRange { what: "legs", at: 0, .. })), "{refused:?}");
    let refused = Feet::new(&skeleton, 0, &[legs[0], Leg { toe: Some(99), ..legs[1] }]);
    assert!(matches!(refused, Err(Error::Index { what: "legs", found: 99, .. })), "{refused:?}");
    let stands = Feet::new(&skeleton, 0, &legs).expect("legs");
    for (at, value) in [f32::NAN, -1.0].into_iter().enumerate() {
        let options = FeetOptions { settle: value, ..*stands.options() };
        assert!(stands.clone().with_options(options).is_err(), "{at}");
    }
    let mut pose = Pose::rest(&skeleton);
    let placed = vec![Affine::IDENTITY; skeleton.joint_count()];
    let ground = Plane::level(0.0);
    let frame = FeetFrame {
        placement: Rigid::IDENTITY,
        ground: &ground,
        steps: &[Step::Planted],
        seconds: 0.0,
        weight: 1.0,
    };
    let refused = feet(&skeleton, &placed, &stands, &frame, &mut stands.start(), &mut pose);
    assert_eq!(refused, Err(Error::Length { what: "steps", found: 1, needed: 2 }));
    let other = Random(1).skeleton(20);
    let refused = feet(&other, &placed, &stands, &frame, &mut stands.start(), &mut pose);
    assert!(matches!(refused, Err(Error::Skeleton { what: "feet", .. })), "{refused:?}");
}

#[test]
fn no_weight_changes_nothing_and_a_part_goes_a_part() {
    let (skeleton, legs) = walker();
    let stands = Feet::new(&skeleton, 0, &legs).expect("legs");
    let mut placed = vec![Affine::IDENTITY; skeleton.joint_count()];
    local_to_model(&skeleton, skeleton.rest(), &mut placed).expect("sizes agree");
    let ground = Plane::level(0.2);
    let shown = |weight: f32| {
        let mut pose = Pose::rest(&skeleton);
        let steps = [Step::Planted; 2];
        let frame =
            FeetFrame { placement: Rigid::IDENTITY, ground: &ground, steps: &steps, seconds: 0.016, weight };
        feet(&skeleton, &placed, &stands, &frame, &mut stands.start(), &mut pose).expect("feet");
        pose
    };
    assert_eq!(&shown(0.0), skeleton.rest());
    let [half, whole] = [0.5, 1.0].map(|weight| shown(weight).get(0).translation[1] - 0.94);
    assert!((2.0 * half - whole).abs() < 1e-6 && whole > 0.19, "{half} {whole}");
    let mut after = placed.clone();
    model::subtree(&skeleton, &shown(1.0), 0, &mut after).expect("sizes agree");
    let toe = after[usize::from(legs[0].touching())].rows[1][3];
    assert!((toe - 0.2 - placed[usize::from(legs[0].touching())].rows[1][3]).abs() < 1e-5, "{toe}");
}

/// After a teleport to another place or height, the whole character arrives immediately.
#[test]
fn a_character_that_is_put_elsewhere_leaves_nothing_behind() {
    let (skeleton, legs) = walker();
    let stands = Feet::new(&skeleton, 0, &legs).expect("legs");
    let mut placed = vec![Affine::IDENTITY; skeleton.joint_count()];
    local_to_model(&skeleton, skeleton.rest(), &mut placed).expect("sizes agree");
    for to in [[100.0, 10.0, 0.0], [0.0, 30.0, 0.0], [0.0, -30.0, 5.0]] {
        let mut state = stands.start();
        let mut shown = Vec::new();
        for place in [[0.0; 3], [0.0; 3], to, to] {
            let placement = Rigid { translation: place, ..Rigid::IDENTITY };
            let ground = Plane::level(place[1]);
            let steps = [Step::Planted; 2];
            let frame =
                FeetFrame { placement, ground: &ground, steps: &steps, seconds: 1.0 / 60.0, weight: 1.0 };
            let mut pose = Pose::rest(&skeleton);
            let reached = feet(&skeleton, &placed, &stands, &frame, &mut state, &mut pose).expect("feet");
            assert!(reached.distance < 1e-3, "{to:?}: {reached:?}");
            shown.push(pose.get(0).translation);
        }
        assert!(shown.iter().all(|at| (at[1] - shown[0][1]).abs() < 1e-4), "{to:?}: {shown:?}");
    }
}

/// A clip that does not loop keeps the contacts at its start and end.
#[test]
fn nothing_is_folded_over_the_end_of_a_clip_that_does_not_loop() {
    let (skeleton, legs) = walker();
    let (clip, motion) = walk(&skeleton, &legs);
    let joints = legs.map(|leg| leg.touching());
    let contacts = contacts_raw(&clip, Some(&motion), &skeleton, &joints, &ContactOptions::for_legs(0.9));
    let contacts = contacts.expect("contacts");
    let all = [0, 1].map(|foot| contacts.of(foot).to_vec());
    assert!(all.iter().flatten().all(|contact| contact.start < contact.end && contact.end <= 1.0), "{all:?}");
    // The right foot stands until the end, and the left one from the start.
    assert!(all[0][0].start < 0.05 && all[1].last().expect("one").end == 1.0, "{all:?}");
    let names = [["left down", "left up"], ["right down", "right up"]];
    let events = contacts.events(&names).expect("a pair each");
    let back = contacts_of_events(&clip, Some(&motion), &skeleton, &joints, &events, &names, Looping::Clamp);
    let back = back.expect("pairs of events");
    for foot in [0, 1] {
        assert_eq!(
            contacts.of(foot).len(),
            back.of(foot).len(),
            "{:?} {:?}",
            contacts.of(foot),
            back.of(foot)
        );
    }

    // A foot that is in the air briefly at the start lands.
    let fall: Vec<f32> = (0..=120).map(|at| if at < 5 { 0.5 - 0.1 * at as f32 } else { 0.0 }).collect();
    let track = Track {
        target: Target::Translation(0),
        interpolation: Interpolation::Linear,
        timeline: 0,
        values: fall.iter().flat_map(|&up| [0.0, up, 0.0]).collect(),
    };
    let times = (0..=120).map(|at| at as f32 / 120.0).collect();
    let clip = RawClip::new("fall".into(), vec![times], vec![track]).expect("a clip");
    let one = Skeleton::new([Joint::new("foot", None, Transform::IDENTITY)]).expect("a foot");
    let found = contacts_raw(&clip, None, &one, &[0], &ContactOptions::for_legs(0.9)).expect("contacts");
    let [contact] = found.of(0) else { panic!("{:?}", found.of(0)) };
    assert!(contact.start > 0.03 && contact.from[1] < 0.05, "{contact:?}");
}

/// The result is bit-identical on every platform and instruction set.
#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0x3946_8c7d_7da8_b72d, |hash| {
        let run = run(&stairs(1.0), 30.0, 1.5, true);
        for place in run.shown.iter().flatten() {
            hash.add(&place.map(|v| v as f32));
        }
    });
}
