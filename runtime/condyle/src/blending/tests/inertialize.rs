//! Tests of inertialised transitions.

use super::*;

const DT: f32 = 1.0 / 60.0;

fn shown(transition: &Inertialization, elapsed: f32, target: &Pose) -> Pose {
    let mut pose = target.clone();
    transition.apply(elapsed, &mut pose).expect("sizes agree");
    pose
}

/// Returns two poses of each of two movements. The second pose is a small step from the first.
fn movements(random: &mut Random, joints: usize) -> [Pose; 4] {
    let mut step = |pose: &Pose| {
        let stepped = |t: Transform| {
            let turn = reference::quat_exp(random.vector(0.05).map(f64::from));
            let rotation = reference::quat_product(t.rotation.map(f64::from), turn);
            let shift = random.vector::<3>(0.03);
            let growth = random.vector::<3>(0.03);
            Transform {
                rotation: rotation.map(|v| v as f32),
                translation: core::array::from_fn(|c| t.translation[c] + shift[c]),
                scale: core::array::from_fn(|c| t.scale[c] + growth[c]),
            }
        };
        Pose::from_transforms(&pose.transforms().map(stepped).collect::<Vec<_>>())
    };
    let mut other = Random(step(&Pose::identity(1)).get(0).translation[0].to_bits().into());
    let [previous, target] = [0, 1].map(|_| poses(&mut other, joints, 1).remove(0));
    let (current, next) = (step(&previous), step(&target));
    [previous, current, target, next]
}

fn started(movements: &[Pose; 4], dt: f32, duration: f32) -> Inertialization {
    let [previous, current, target, next] = movements;
    let mut transition = Inertialization::new(current.joint_count());
    transition.start([previous, current], [target, next], dt, duration).expect("sizes agree");
    transition
}

fn turned(a: [f32; 4], b: [f32; 4]) -> f64 {
    let [a, b] = [a, b].map(|q| q.map(f64::from));
    let between = reference::quat_product(reference::quat_inverse(a), reference::nearer(a, b));
    2.0 * reference::quat_log(between).iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[test]
fn every_size_of_a_transition_is_the_formula() {
    for &joints in SIZES {
        let mut random = Random(300 + joints as u64);
        let movements = movements(&mut random, joints);
        let [previous, current, target, next] = &movements;
        let moment = random.pose(joints);
        let transition = started(&movements, DT, 0.4);
        for elapsed in [0.0, 0.01, 0.1, 0.25, 0.39, 0.4, 5.0] {
            let times = [DT, 0.4, elapsed].map(f64::from);
            let want = reference::inertialize([previous, current], [target, next], times, &moment);
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| shown(&transition, elapsed, &moment));
                for (joint, (got, want)) in got.transforms().zip(&want).enumerate() {
                    let case = format_args!("{dispatch}, joint {joint} of {joints}, {elapsed} s");
                    assert_close(&got.rotation, &want.rotation, 6e-7, case);
                    assert_close(&got.translation, &want.translation, 4e-7, case);
                    assert_close(&got.scale, &want.scale, 4e-7, case);
                }
            }
        }
    }
}

#[test]
fn it_begins_at_the_current_pose_and_ends_at_the_target() {
    let mut random = Random(301);
    let joints = tries(500);
    let movements = movements(&mut random, joints);
    let [_, current, target, _] = &movements;
    let transition = started(&movements, DT, 0.3);
    for dispatch in Dispatch::all() {
        for elapsed in [0.0, -0.0, -1.0] {
            let got = dispatch.scope(|| shown(&transition, elapsed, target));
            for (joint, (got, want)) in got.transforms().zip(current.transforms()).enumerate() {
                let case = format_args!("{dispatch}, joint {joint}, {elapsed} s");
                let near = reference_dot(got.rotation, want.rotation).signum();
                assert_close(&got.rotation, &want.rotation.map(|v| f64::from(v) * near), 6e-7, case);
                assert_close(&got.translation, &want.translation.map(f64::from), 1.2e-7, case);
                assert_close(&got.scale, &want.scale.map(f64::from), 1.2e-7 * 1.4, case);
            }
        }
        for elapsed in [0.3, 0.301, 1e30] {
            let got = dispatch.scope(|| shown(&transition, elapsed, target));
            assert_eq!(bits(&got), bits(target), "{dispatch}, {elapsed} s");
        }
        // Just before the end, the pose is within a small distance of the target, so it does not jump.
        let got = dispatch.scope(|| shown(&transition, 0.299_9, target));
        for (got, want) in got.transforms().zip(target.transforms()) {
            assert_close(&got.translation, &want.translation.map(f64::from), 1e-7, dispatch);
        }
    }
}

/// The value and the first derivative of the target plus the offset must equal those of the previous movement
/// at the start.
#[test]
fn neither_place_nor_velocity_jump_at_the_start() {
    let mut random = Random(302);
    let joints = tries(200);
    // Steps of a millisecond, because the error of a velocity from two points grows with their distance.
    let dt = 1e-3;
    let [previous, current, target, next] = {
        let movements = movements(&mut random, joints);
        let slower = |from: &Pose, to: &Pose| {
            let mut out = Pose::identity(joints);
            overlay(from, to, 0.04, None, &mut out).expect("sizes agree");
            out
        };
        let [a, b, c, d] = &movements;
        [a.clone(), slower(a, b), c.clone(), slower(c, d)]
    };
    let movements = [previous, current, target, next];
    let [previous, current, target, next] = &movements;
    let transition = started(&movements, dt, 0.5);
    // The movement of the target, along straight lines and about fixed axes.
    let along = |elapsed: f64| {
        let moved = |joint: usize| {
            let [a, b] = [target, next].map(|pose| reference::Local::from(pose.get(joint)));
            let line = |a: f64, b: f64| (a + (b - a) * elapsed / f64::from(dt)) as f32;
            let turn = reference::quat_log(reference::quat_product(
                reference::quat_inverse(a.rotation),
                reference::nearer(a.rotation, b.rotation),
            ));
            let turn = reference::quat_exp(turn.map(|v| v * elapsed / f64::from(dt)));
            Transform {
                rotation: reference::quat_product(a.rotation, turn).map(|v| v as f32),
                translation: core::array::from_fn(|c| line(a.translation[c], b.translation[c])),
                scale: core::array::from_fn(|c| line(a.scale[c], b.scale[c])),
            }
        };
        Pose::from_transforms(&(0..joints).map(moved).collect::<Vec<_>>())
    };
    const STEP: f64 = 2e-3;
    let at = |elapsed: f64| shown(&transition, elapsed as f32, &along(elapsed));
    let [start, half, whole] = [0.0, STEP / 2.0, STEP].map(at);
    for joint in 0..joints {
        let [previous, current] = [previous, current].map(|pose| pose.get(joint));
        let [start, half, whole] = [&start, &half, &whole].map(|pose| pose.get(joint));
        let vectors = [
            ("translation", [previous, current, start, half, whole].map(|t| t.translation)),
            ("scale", [previous, current, start, half, whole].map(|t| t.scale)),
        ];
        for (name, [previous, current, start, half, whole]) in vectors {
            for c in 0..3 {
                let wide = |v: [f32; 3]| f64::from(v[c]);
                let was = (wide(current) - wide(previous)) / f64::from(dt);
                // The error of this difference is of second order.
                let is = (4.0 * wide(half) - 3.0 * wide(start) - wide(whole)) / STEP;
                assert!((is - was).abs() < 2e-3, "joint {joint}, {name}: {is} instead of {was}");
            }
        }
        let velocity = |a: [f32; 4], b: [f32; 4], dt: f64| {
            let [a, b] = [a, b].map(|q| q.map(f64::from));
            let b = reference::nearer(a, b);
            reference::quat_log(reference::quat_product(reference::quat_inverse(a), b)).map(|v| v / dt)
        };
        let was = velocity(previous.rotation, current.rotation, dt.into());
        let [fast, slow] =
            [(half, STEP / 2.0), (whole, STEP)].map(|(to, dt)| velocity(start.rotation, to.rotation, dt));
        for c in 0..3 {
            let is = 2.0 * fast[c] - slow[c];
            assert!((is - was[c]).abs() < 2e-2, "joint {joint}: turns by {is} instead of {}", was[c]);
        }
    }
}

/// Joints that move away, stand still, or return too fast: the offset never changes its sign.
#[test]
fn no_offset_passes_through_its_target() {
    const FRAMES: usize = if cfg!(miri) { 10 } else { 500 };
    let target = Pose::identity(6);
    let at = |x: [f32; 6]| {
        let turn = |v: f32| reference::quat_exp([0.0, f64::from(v), 0.0]).map(|v| v as f32);
        let one =
            |v: f32| Transform { rotation: turn(v), translation: [v, 0.0, 0.0], scale: [1.0, 1.0 + v, 1.0] };
        Pose::from_transforms(&x.map(one))
    };
    let (now, dt) = (1.0_f32, 0.01_f32);
    let velocities = [8.0, 0.0, -2.0, -10.0, -40.0, -90.0];
    let (before, current) = (at(velocities.map(|v| now - v * dt)), at([now; 6]));
    let transition = started(&[before, current, target.clone(), target.clone()], dt, 0.5);
    for dispatch in Dispatch::all() {
        let mut last = [now; 6];
        for frame in 0..=FRAMES {
            let elapsed = 0.5 * frame as f32 / FRAMES as f32;
            let pose = dispatch.scope(|| shown(&transition, elapsed, &target));
            for (n, &v) in velocities.iter().enumerate() {
                let t = pose.get(n);
                let angle = reference::quat_log(t.rotation.map(f64::from))[1] as f32;
                for (name, x) in
                    [("translation", t.translation[0]), ("scale", t.scale[1] - 1.0), ("angle", angle)]
                {
                    let case = format_args!("{dispatch}, {name} at {v} a second after {elapsed} s: {x}");
                    assert!(x >= -3e-7, "{case}");
                    // An offset that does not grow at the start only decreases. One that grows does so for at
                    // most a fifth of the time.
                    let most = now + 0.082 * v.max(0.0) * 0.5 + 1e-6;
                    assert!(x <= most && (v > 0.0 && elapsed <= 0.1 || x <= last[n] + 1e-6), "{case}");
                }
                last[n] = t.translation[0];
            }
        }
        assert_eq!(last, [0.0; 6], "{dispatch}");
    }
}

/// Interrupts a transition in the middle: the third movement continues from the displayed pose, at its
/// velocity.
#[test]
fn an_interruption_goes_on_from_what_is_shown() {
    let mut random = Random(303);
    let joints = tries(60);
    let movements = movements(&mut random, joints);
    let target = movements[2].clone();
    let third = poses(&mut random, joints, 1).remove(0);
    let dt = 1e-3_f32;
    let mut transition = started(&movements, DT, 0.5);
    let before = [0.2, 0.2 + dt].map(|elapsed| shown(&transition, elapsed, &target));
    let speed = |pair: &[Pose; 2], joint: usize, dt: f32| {
        let [a, b] = [0, 1].map(|n| pair[n].get(joint));
        let moved: [f32; 3] = core::array::from_fn(|c| (b.translation[c] - a.translation[c]) / dt);
        (moved, turned(a.rotation, b.rotation) / f64::from(dt))
    };
    transition.start([&before[0], &before[1]], [&third, &third], dt, 0.5).expect("sizes agree");
    let after = [0.0, dt].map(|elapsed| shown(&transition, elapsed, &third));
    for joint in 0..joints {
        let [was, is] = [before[1].get(joint), after[0].get(joint)];
        assert!(turned(was.rotation, is.rotation) < 2e-6, "joint {joint}");
        assert_close(&is.translation, &was.translation.map(f64::from), 1.2e-7, joint);
        let ((was, was_turned), (is, is_turned)) = (speed(&before, joint, dt), speed(&after, joint, dt));
        // The two points are a millisecond apart. The bound covers the change of the velocity in that time,
        // about 50 per second.
        assert_close(&is, &was.map(f64::from), 0.1, joint);
        assert!((is_turned - was_turned).abs() < 0.3, "joint {joint}: {is_turned} instead of {was_turned}");
    }
    assert_eq!(bits(&shown(&transition, 0.5, &third)), bits(&third));
}

#[test]
fn opposite_quaternions_and_half_turns_begin_without_a_jump() {
    let about = |rotation| Pose::from_transforms(&[Transform { rotation, ..Transform::IDENTITY }; 17]);
    let half = core::f32::consts::FRAC_1_SQRT_2;
    let rest = about([0.0, 0.0, 0.0, 1.0]);
    let turns =
        [[0.0, 1.0, 0.0, 0.0], [0.0, -1.0, -0.0, -0.0], [0.0, 1.0, 0.0, -1e-4], [0.0, -half, 0.0, -half]];
    for dispatch in Dispatch::all() {
        for q in turns {
            let (there, back) = (about(q), about(q.map(|v| -v)));
            for [previous, current] in [[&there, &there], [&there, &back], [&back, &there]] {
                let mut transition = Inertialization::new(17);
                transition.start([previous, current], [&rest, &rest], DT, 1.0).expect("sizes agree");
                let begin = dispatch.scope(|| shown(&transition, 0.0, &rest)).get(16);
                assert!(turned(begin.rotation, q) < 2e-6, "{dispatch}, {q:?}: {begin:?}");
                // Only the offset changes, and it decays by less than a tenth in one frame.
                let frame = dispatch.scope(|| shown(&transition, DT, &rest)).get(16);
                assert!(turned(frame.rotation, q) < 0.02, "{dispatch}, {q:?}: {frame:?}");
            }
        }
        // The offset passes half a turn between the two times, and must keep its direction.
        let y = |angle: f64| about([0.0, (angle / 2.0).sin() as f32, 0.0, (angle / 2.0).cos() as f32]);
        let mut transition = Inertialization::new(17);
        transition.start([&y(3.0), &y(3.1)], [&rest, &rest], DT, 1.0).expect("sizes agree");
        let frame = dispatch.scope(|| shown(&transition, DT, &rest)).get(16);
        assert!(turned(frame.rotation, y(3.2).get(0).rotation) < 0.02, "{dispatch}: {frame:?}");
    }
}

#[test]
fn no_velocity_and_no_time_are_taken_as_they_are() {
    let mut random = Random(304);
    let movements = movements(&mut random, 20);
    let [previous, current, target, _] = &movements;
    // A still movement has velocity 0 for any `dt`. A movement over a `dt` of zero counts as velocity 0.
    let mut still = Inertialization::new(20);
    still.start([current, current], [target, target], DT, 0.5).expect("sizes agree");
    for dt in [0.0, -0.0, -1.0, 9e-7, f32::MIN_POSITIVE] {
        let mut other = Inertialization::new(20);
        other.start([previous, current], [target, target], dt, 0.5).expect("sizes agree");
        assert_eq!(other, still, "{dt}");
    }
    for duration in [0.0, -0.0, -1.0, 9e-7] {
        let mut transition = started(&movements, DT, 0.5);
        transition.start([previous, current], [target, target], DT, duration).expect("sizes agree");
        assert_eq!(transition.duration(), 0.0);
        assert_eq!(bits(&shown(&transition, 0.0, target)), bits(target), "{duration}");
    }
    assert_eq!(bits(&shown(&Inertialization::new(20), 0.0, target)), bits(target));
    assert_eq!((still.joint_count(), still.duration()), (20, 0.5));
}

#[test]
fn what_is_no_number_is_refused_or_stays_in_its_joint() {
    let mut random = Random(305);
    let movements = movements(&mut random, 20);
    let [previous, current, target, next] = &movements;
    let transition = started(&movements, DT, 0.5);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut same = transition.clone();
        let refused = |what| Err(Error::NotFinite { what, at: 0 });
        assert_eq!(same.start([previous, current], [target, next], bad, 0.5), refused("dt"));
        assert_eq!(same.start([previous, current], [target, next], DT, bad), refused("duration"));
        let mut pose = target.clone();
        assert_eq!(same.apply(bad, &mut pose), refused("elapsed"));
        assert_eq!((same, &pose), (transition.clone(), target), "{bad}");
        let mut broken = current.clone();
        broken.set(7, &Transform { rotation: [bad; 4], translation: [bad; 3], ..current.get(7) });
        let [got, want] = [&broken, current].map(|current| {
            let mut transition = Inertialization::new(20);
            transition.start([previous, current], [target, next], DT, 0.5).expect("sizes agree");
            shown(&transition, 0.2, target)
        });
        for joint in (0..20).filter(|&j| j != 7) {
            assert_eq!(got.get(joint), want.get(joint), "{bad}, joint {joint}");
        }
        assert!(got.get(7).rotation[0].is_nan() && !got.get(7).translation[0].is_finite(), "{bad}");
        assert_eq!(got.get(7).scale, want.get(7).scale, "{bad}");
    }
}

#[test]
fn wrong_sizes_of_transitions_are_refused() {
    let (rest, short) = (Pose::identity(5), Pose::identity(4));
    let mut transition = Inertialization::new(5);
    let length = |what| Err(Error::Length { what, found: 4, needed: 5 });
    assert_eq!(transition.start([&rest, &short], [&rest, &rest], DT, 1.0), length("before"));
    assert_eq!(transition.start([&rest, &rest], [&short, &rest], DT, 1.0), length("after"));
    assert_eq!(transition.apply(0.0, &mut short.clone()), length("pose"));
    assert_eq!(transition, Inertialization::new(5));
}

#[test]
fn transitions_have_the_same_portable_bits_everywhere() {
    assert_portable(0xf57f_8226_9802_75cf, |hash| {
        let mut random = Random(306);
        let joints = tries(67);
        let movements = movements(&mut random, joints);
        let transition = started(&movements, DT, 0.5);
        for frame in 0..=30 {
            for t in shown(&transition, frame as f32 * DT, &movements[2]).transforms() {
                hash.add(t.rotation.iter().chain(&t.translation).chain(&t.scale));
            }
        }
    });
}

/// A transition of zero duration ends the previous one, also for a clock that runs backward.
#[test]
fn a_transition_of_no_length_leaves_nothing() {
    let mut random = Random(8);
    let [a, b, c, d] = movements(&mut random, 17);
    let mut transition = Inertialization::new(17);
    transition.start([&a, &b], [&c, &d], DT, 0.5).expect("sizes agree");
    transition.start([&a, &b], [&c, &d], DT, 0.0).expect("sizes agree");
    for elapsed in [-1.0, -0.0, 0.0, 0.25] {
        assert_eq!(shown(&transition, elapsed, &d), d, "{elapsed}");
    }
}
