//! Hostile and invalid inputs.

use std::vec::Vec;

use super::super::*;
use super::naive::Scene;
use condyle::skeleton::Joint;
use condyle_base::math::Transform;
use condyle_testing::{Random, cases, tries};

/// A random bit pattern, or a typical problem value.
fn any(random: &mut Random) -> f32 {
    match random.below(6) {
        0 => f32::from_bits(random.bits() as u32),
        1 => [f32::NAN, f32::INFINITY, f32::MAX, -f32::MAX, 1e-45, 0.0][random.below(6)],
        2 => random.range(-1e20, 1e20),
        _ => random.range(-2.0, 2.0),
    }
}

fn assert_rotations(pose: &Pose, case: impl core::fmt::Display) {
    for (joint, t) in pose.transforms().enumerate() {
        let size2: f64 = t.rotation.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
        assert!((size2 - 1.0).abs() < 1e-5, "{case}, joint {joint}: {:?}", t.rotation);
    }
}

#[test]
fn nothing_becomes_nan() {
    let (mut refused, mut taken) = (0, 0);
    // The number of cases is not reduced in an emulator, because the test checks how often each outcome
    // occurs.
    for seed in 0..cases(300).max(tries(300)) as u64 {
        let mut random = Random(seed);
        let scene = Scene::new(seed % 40, 12 + (seed % 40) as usize);
        let mut state = SpringState::new(&scene.springs);
        for frame in 0..12 {
            let (mut pose, mut model, to_world) = scene.at(frame as f64 / 50.0);
            let mut tick = Tick { to_world, ..Tick::new(0.02) };
            if frame % 4 != 3 {
                for _ in 0..1 + random.below(4) {
                    let (joint, value) = (random.below(model.len()), any(&mut random));
                    let mut local = pose.get(joint);
                    match random.below(6) {
                        0 => local.translation[random.below(3)] = value,
                        1 => local.scale[random.below(3)] = value,
                        2 => model[joint].rows[random.below(3)][random.below(4)] = value,
                        3 => tick.seconds = value,
                        4 => tick.to_world.rows[random.below(3)][random.below(4)] = value,
                        _ => tick.force[random.below(3)] = value,
                    }
                    pose.set(joint, &local);
                }
            }
            let before = pose.clone();
            match springs(&scene.skeleton, &model, &scene.springs, &tick, &mut state, &mut pose) {
                Ok(()) => {
                    taken += 1;
                    assert_rotations(&pose, format_args!("seed {seed}, frame {frame}"));
                }
                Err(_) => {
                    refused += 1;
                    assert!(
                        pose.transforms().zip(before.transforms()).all(|(a, b)| a.rotation == b.rotation)
                    );
                }
            }
        }
        // Afterwards the state recovers.
        for frame in 0..3 {
            let (mut pose, model, to_world) = scene.at(f64::from(frame) / 50.0);
            let tick = Tick { to_world, ..Tick::new(0.02) };
            springs(&scene.skeleton, &model, &scene.springs, &tick, &mut state, &mut pose)
                .expect("finite values");
            assert_rotations(&pose, format_args!("seed {seed}, after it"));
            let tails = state.work.tails.iter().flat_map(|tails| tails.now);
            assert!(frame == 0 || tails.into_iter().all(|v| v.abs() < 100.0), "seed {seed}");
        }
    }
    assert!(cfg!(miri) || (refused > 100 && taken > 1000), "{refused} refused, {taken} taken");
}

fn tail(lengths: [f32; 3]) -> (Skeleton, Springs) {
    let at = |y| Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY };
    let joint = |name, parent, y| Joint::new(name, parent, at(y));
    let [a, b, c] = lengths;
    let skeleton =
        Skeleton::new([joint("hips", None, a), joint("tail", Some(0), b), joint("tip", Some(1), c)])
            .expect("parents before children");
    let heavy = |joint| SpringJoint { gravity: [0.5, 0.0, 0.0], ..SpringJoint::new(joint) };
    let springs = Springs::new(&skeleton, &[Spring::new([1, 2].map(heavy))], &[]).expect("valid springs");
    (skeleton, springs)
}

fn model_of(skeleton: &Skeleton, pose: &Pose) -> Vec<Affine> {
    let mut model = std::vec![Affine::IDENTITY; skeleton.joint_count()];
    condyle::local_to_model(skeleton, pose, &mut model).expect("sizes agree");
    model
}

/// Swings for half a second.
fn swung(skeleton: &Skeleton, all: &Springs, given: &Pose) -> Pose {
    let (model, mut pose, mut state) = (model_of(skeleton, given), given.clone(), SpringState::new(all));
    for _ in 0..30 {
        springs(skeleton, &model, all, &Tick::new(1.0 / 60.0), &mut state, &mut pose).expect("finite values");
    }
    pose
}

#[test]
fn what_has_no_length_or_no_size_is_at_rest() {
    let (skeleton, all) = tail([1.0, 0.2, 0.3]);
    let moves = |pose: &Pose| pose.get(1).rotation != [0.0, 0.0, 0.0, 1.0];
    assert!(moves(&swung(&skeleton, &all, skeleton.rest())));
    let (short, none) = tail([1.0, 0.2, 0.0]);
    assert!(!moves(&swung(&short, &none, short.rest())));
    for scale in [[0.0; 3], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]] {
        let mut flat = skeleton.rest().clone();
        flat.set(0, &Transform { scale, ..flat.get(0) });
        assert!(!moves(&swung(&skeleton, &all, &flat)), "{scale:?}");
    }
}

/// A half turn, where the shortest rotation is about any perpendicular axis.
#[test]
fn a_tail_may_be_drawn_to_the_side_opposite_to_rest() {
    let (skeleton, _) = tail([1.0, 0.2, 0.3]);
    let heavy =
        |joint| SpringJoint { stiffness: 0.0, gravity: [0.0, -100.0, 0.0], ..SpringJoint::new(joint) };
    let all = Springs::new(&skeleton, &[Spring::new([1, 2].map(heavy))], &[]).expect("valid springs");
    let pose = swung(&skeleton, &all, skeleton.rest());
    assert_rotations(&pose, "down");
    let [x, _, z, _] = pose.get(1).rotation;
    assert!((x * x + z * z - 1.0).abs() < 1e-6, "{:?}", pose.get(1).rotation);
}

/// A joint below a swinging one is checked if its collider stops another spring.
#[test]
fn what_carries_obstacles_is_a_number() {
    let at = |name, parent| {
        Joint::new(name, parent, Transform { translation: [0.0, 0.2, 0.1], ..Transform::IDENTITY })
    };
    let skeleton = Skeleton::new([
        at("hips", None),
        at("tail", Some(0)),
        at("tip", Some(1)),
        at("bell", Some(1)),
        at("braid", Some(0)),
        at("end", Some(4)),
    ])
    .expect("parents before children");
    let bell = ColliderShape::Sphere { offset: [0.0; 3], radius: 0.1, inside: false };
    let tail = Spring::new([1, 2].map(SpringJoint::new));
    let braid = Spring { colliders: std::vec![0], ..Spring::new([4, 5].map(SpringJoint::new)) };
    let bell = Collider { joint: Some(3), shape: bell };
    let all = Springs::new(&skeleton, &[tail, braid], &[bell]).expect("valid springs");
    let (model, mut state) = (model_of(&skeleton, skeleton.rest()), SpringState::new(&all));
    let mut pose = skeleton.rest().clone();
    pose.set(3, &Transform { translation: [f32::NAN; 3], ..pose.get(3) });
    let refused = springs(&skeleton, &model, &all, &Tick::new(0.1), &mut state, &mut pose);
    assert_eq!(refused, Err(Error::NotFinite { what: "pose", at: 3 }));
}

/// A jump of the placement makes the springs swing, but not after `teleport` or `reset`.
#[test]
fn teleports() {
    let (skeleton, all) = tail([1.0, 0.2, 0.3]);
    let still = swung(&skeleton, &all, skeleton.rest());
    let model = model_of(&skeleton, skeleton.rest());
    // Gravity keeps its direction in the world, so the character is rotated about the direction of gravity.
    let far = Affine { rows: [[1.0, 0.0, 0.0, 1e5], [0.0, 0.0, -1.0, 20.0], [0.0, 1.0, 0.0, -1e5]] };
    for kind in 0..3 {
        let (mut state, mut pose) = (SpringState::new(&all), skeleton.rest().clone());
        let mut call = |state: &mut SpringState, to_world| {
            let tick = Tick { to_world, ..Tick::new(1.0 / 60.0) };
            springs(&skeleton, &model, &all, &tick, state, &mut pose).expect("finite values");
            pose.get(1).rotation
        };
        for _ in 0..30 {
            call(&mut state, Affine::IDENTITY);
        }
        match kind {
            0 => state.teleport(&far),
            1 => state.reset(),
            _ => {}
        }
        let after = [call(&mut state, far), call(&mut state, far)];
        let off = |a: [f32; 4], b: [f32; 4]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let rest = [0.0, 0.0, 0.0, 1.0];
        let want = if kind == 1 { rest } else { still.get(1).rotation };
        let swings = after.iter().any(|&q| off(q, want) > 0.05);
        assert_eq!(swings, kind == 2, "{kind}: {after:?}, {want:?}");
    }
}

#[test]
fn a_weight_mixes_with_the_pose() {
    let (skeleton, all) = tail([1.0, 0.2, 0.3]);
    let mut given = skeleton.rest().clone();
    given.set(1, &Transform { rotation: [0.6, 0.0, 0.0, 0.8], ..given.get(1) });
    let model = model_of(&skeleton, &given);
    let all_of = |weight| {
        let mut state = SpringState::new(&all);
        let mut pose = given.clone();
        for _ in 0..10 {
            pose = given.clone();
            let tick = Tick { weight, ..Tick::new(1.0 / 60.0) };
            springs(&skeleton, &model, &all, &tick, &mut state, &mut pose).expect("finite values");
        }
        pose.get(1).rotation
    };
    assert_eq!(all_of(0.0), [0.6, 0.0, 0.0, 0.8]);
    let ([x, _, z, w], half) = (all_of(1.0), all_of(0.5));
    assert!(x.abs() < 1e-6 && z < -0.01, "near rest, for any input pose: {x} {z}");
    let sum = [0.6 + x, 0.0, z, 0.8 + w].map(f64::from);
    let size = sum.iter().map(|v| v * v).sum::<f64>().sqrt();
    assert!(half.iter().zip(sum).all(|(half, sum)| (f64::from(*half) - sum / size).abs() < 1e-6));
}

#[track_caller]
fn out_of_range(error: Error, needed: &str) {
    let text = std::string::ToString::to_string(&error);
    assert!(matches!(error, Error::OutOfRange { .. }) && text.contains(needed), "{text}");
}

#[test]
fn what_is_wrong_is_refused() {
    let (skeleton, _) = tail([1.0, 0.2, 0.3]);
    let refused = |springs: &[Spring], colliders: &[Collider]| {
        Springs::new(&skeleton, springs, colliders)
            .map(|springs| springs.joint_count())
            .expect_err("invalid springs")
    };
    let good = || Spring::new([1, 2].map(SpringJoint::new));
    assert_eq!(refused(&[Spring::new([])], &[]), Error::TooShort { what: "joints", found: 0, needed: 1 });
    assert_eq!(
        refused(&[Spring::new([SpringJoint::new(1)])], &[]),
        Error::TooShort { what: "joints", found: 0, needed: 1 }
    );
    assert_eq!(
        refused(&[Spring::new([1, 3].map(SpringJoint::new))], &[]),
        Error::Index { what: "springs", at: 0, found: 3, count: 3 }
    );
    out_of_range(
        refused(&[Spring::new([2, 1].map(SpringJoint::new))], &[]),
        "a descendant of the one before it",
    );
    out_of_range(refused(&[good(), good()], &[]), "occur only once");
    out_of_range(refused(&[Spring { center: Some(1), ..good() }], &[]), "that no spring moves");
    let joint = |change: fn(&mut SpringJoint)| {
        let mut spring = good();
        change(&mut spring.joints[0]);
        refused(&[spring], &[])
    };
    out_of_range(joint(|it| it.drag = 1.5), "drag");
    out_of_range(joint(|it| it.stiffness = -1.0), "stiffness");
    assert_eq!(joint(|it| it.gravity[1] = f32::NAN), Error::NotFinite { what: "springs", at: 0 });
    let sphere = |joint, radius| Collider {
        joint,
        shape: ColliderShape::Sphere { offset: [0.0; 3], radius, inside: false },
    };
    let stopped = || Spring { colliders: std::vec![0], ..good() };
    out_of_range(refused(&[stopped()], &[sphere(Some(2), 0.1)]), "depend on its joints");
    out_of_range(refused(&[stopped()], &[sphere(None, -0.1)]), "radius");
    assert_eq!(refused(&[stopped()], &[]), Error::Index { what: "springs", at: 0, found: 0, count: 0 });
    let plane = Collider { joint: None, shape: ColliderShape::Plane { offset: [0.0; 3], normal: [0.0; 3] } };
    assert_eq!(refused(&[stopped()], &[plane]), Error::NoDirection { what: "normal" });
    let many = Spring { colliders: std::vec![0; Springs::MAX_PAIRS + 1], ..good() };
    assert!(matches!(refused(&[many], &[sphere(None, 0.1)]), Error::TooMany { what: "springs", .. }));
}

#[test]
fn sizes_that_differ_are_refused() {
    let (skeleton, all) = tail([1.0, 0.2, 0.3]);
    let model = model_of(&skeleton, skeleton.rest());
    let (mut state, mut pose) = (SpringState::new(&all), skeleton.rest().clone());
    let tick = Tick::new(0.1);
    let short = springs(&skeleton, &model[..2], &all, &tick, &mut state, &mut pose);
    assert_eq!(short, Err(Error::Length { what: "model", found: 2, needed: 3 }));
    let short = springs(&skeleton, &model, &all, &tick, &mut state, &mut Pose::identity(2));
    assert_eq!(short, Err(Error::Length { what: "pose", found: 2, needed: 3 }));
    let other = Scene::new(5, 17);
    let mut others = SpringState::new(&other.springs);
    assert!(springs(&skeleton, &model, &all, &tick, &mut others, &mut pose).is_err());
    let wrong = springs(&skeleton, &model, &other.springs, &tick, &mut state, &mut pose);
    assert!(matches!(wrong, Err(Error::Skeleton { what: "springs", .. })));
    for seconds in [-1.0, f32::NAN, f32::INFINITY] {
        let tick = Tick::new(seconds);
        assert!(springs(&skeleton, &model, &all, &tick, &mut state, &mut pose).is_err(), "{seconds}");
    }
    for weight in [-0.1, 1.5, f32::NAN] {
        let tick = Tick { weight, ..tick };
        assert!(springs(&skeleton, &model, &all, &tick, &mut state, &mut pose).is_err(), "{weight}");
    }
    // The number of swinging joints is the same, but there is one more collider.
    let sphere = ColliderShape::Sphere { offset: [0.0; 3], radius: 0.1, inside: false };
    let stopped = Spring { colliders: std::vec![0], ..Spring::new([1, 2].map(SpringJoint::new)) };
    let stopped = Springs::new(&skeleton, &[stopped], &[Collider { joint: Some(0), shape: sphere }]);
    let stopped = stopped.expect("valid springs");
    out_of_range(
        springs(&skeleton, &model, &stopped, &tick, &mut state, &mut pose)
            .expect_err("a state of other springs"),
        "made for these springs",
    );
    let mut buffer = CrowdBuffer::default();
    let few =
        crowd(&skeleton, &model, &all, |_| tick, &mut buffer, &mut [], core::slice::from_mut(&mut pose));
    assert_eq!(few, Err(Error::Length { what: "states", found: 0, needed: 1 }));
}
