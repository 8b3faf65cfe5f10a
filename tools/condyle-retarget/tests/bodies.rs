//! Motions of three internal bodies on each other: identity, standing feet, rest poses, hostile input.

use condyle::math::Transform;
use condyle::sampling::PoseSource;
use condyle::{Error, Joint, Pose, RawClip, Skeleton, Target};
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_retarget::clip::{ClipOptions, Retargeted, clip, frame_times};
use condyle_retarget::rig::{Humanoid, Role, Twist};
use condyle_retarget::{Plan, PlanOptions, Ratio, State, retarget};
use condyle_testing::humanoids::{Build, squats, walk};

const BUILDS: [Build; 3] = [Build::TALL, Build::SHORT, Build::STYLISED];

fn map(skeleton: &Skeleton) -> Humanoid {
    let roles = Build::roles(skeleton);
    let pairs = roles.iter().map(|(role, joint)| (role.parse().expect("a role"), *joint));
    Humanoid::new(skeleton, pairs).expect("a humanoid")
}

fn plan(source: &Skeleton, target: &Skeleton) -> Plan {
    Plan::new(source, &map(source), target, &map(target), &PlanOptions::default()).expect("a plan")
}

fn whole(plan: &Plan, motion: &RawClip) -> Retargeted {
    let times = frame_times(motion, 30.0).expect("few frames");
    clip(plan, motion, &times, &ClipOptions::default()).expect("a clip of the source")
}

fn poses(skeleton: &Skeleton, motion: &RawClip) -> Vec<Pose> {
    let times = frame_times(motion, 30.0).expect("few frames");
    let pose = |seconds: f32| {
        let mut pose = Pose::rest(skeleton);
        motion.pose(skeleton, seconds.into(), &mut pose).expect("a clip of the skeleton");
        pose
    };
    times.into_iter().map(pose).collect()
}

/// One pose at a time, at 60 frames per second.
fn stepped(plan: &Plan, sources: &[Pose]) -> Vec<Pose> {
    let mut state = State::new(plan);
    let step = |source: &Pose| {
        let mut out = Pose::rest(plan.target());
        retarget(plan, source, 1.0 / 60.0, &mut state, &mut out).expect("sizes agree");
        out
    };
    sources.iter().map(step).collect()
}

fn places(skeleton: &Skeleton, pose: &Pose) -> Vec<[f64; 3]> {
    let mut all: Vec<(Quat64, [f64; 3])> = Vec::new();
    for (joint, t) in pose.transforms().enumerate() {
        let parent = skeleton.parent(joint as u16);
        let (turn, at) = parent.map_or(([0.0, 0.0, 0.0, 1.0], [0.0; 3]), |parent| all[usize::from(parent)]);
        let moved = rotate(turn, t.translation.map(f64::from));
        all.push((product(turn, t.rotation.map(f64::from)), std::array::from_fn(|c| at[c] + moved[c])));
    }
    all.into_iter().map(|it| it.1).collect()
}

/// Largest distance of any joint in any frame.
fn apart(skeleton: &Skeleton, a: &[Pose], b: &[Pose]) -> f64 {
    assert_eq!(a.len(), b.len());
    let frame = |(a, b)| {
        let (a, b) = (places(skeleton, a), places(skeleton, b));
        let apart =
            |(a, b): (&[f64; 3], &[f64; 3])| (0..3).map(|c| (a[c] - b[c]).powi(2)).sum::<f64>().sqrt();
        a.iter().zip(&b).map(apart).fold(0.0, f64::max)
    };
    a.iter().zip(b).map(frame).fold(0.0, f64::max)
}

#[test]
fn a_motion_on_its_own_body_is_itself() {
    for build in BUILDS {
        let skeleton = build.skeleton();
        let plan = plan(&skeleton, &skeleton);
        for motion in [walk(&build), squats(&build)] {
            let own = poses(&skeleton, &motion);
            let done = whole(&plan, &motion);
            let far = apart(&skeleton, &own, &poses(&skeleton, &done.clip));
            assert!(far < 1e-6, "{build:?}, {}: {far}", motion.name());
            let far = apart(&skeleton, &own, &stepped(&plan, &own));
            assert!(far < 1e-6, "{build:?}, {}: {far}", motion.name());
        }
    }
}

#[test]
fn feet_stand() {
    for source in BUILDS {
        for target in BUILDS {
            let plan = plan(&source.skeleton(), &target.skeleton());
            for motion in [walk(&source), squats(&source)] {
                let done = whole(&plan, &motion).certificate;
                let case = format!("{} from {source:?} to {target:?}: {done:?}", motion.name());
                assert_eq!(done.frames, frame_times(&motion, 30.0).expect("few").len(), "{case}");
                assert!(done.figures.planted > 200, "{case}");
                assert_eq!((done.figures.beyond, done.figures.off_source), (0, 0), "{case}");
                assert!(done.slide_mm < 1.0 && done.height_mm < 1.0 && done.reach_mm < 1.0, "{case}");
                assert!((0.7..1.5).contains(&done.knee_acceleration()), "{case}");
                assert!(done.doubts.is_empty() && done.ground_mm < 1.0, "{case}");
            }
        }
    }
}

#[test]
fn results_have_the_same_bits() {
    let (source, target) = (Build::TALL, Build::STYLISED);
    let plan = plan(&source.skeleton(), &target.skeleton());
    let motion = walk(&source);
    let [a, b] = [(); 2].map(|()| whole(&plan, &motion));
    assert_eq!(a, b);
    let own = poses(plan.source(), &motion);
    // A state that was reset does not remember the clip before.
    let mut state = State::new(&plan);
    let mut out = Pose::rest(plan.target());
    for source in &own[..20] {
        retarget(&plan, source, 1.0 / 60.0, &mut state, &mut out).expect("sizes agree");
    }
    state.reset();
    let mut again = Vec::new();
    for source in &own {
        retarget(&plan, source, 1.0 / 60.0, &mut state, &mut out).expect("sizes agree");
        again.push(out.clone());
    }
    assert!(again == stepped(&plan, &own));
}

/// Returns the rest pose and motion of a skeleton with each joint's axes turned.
fn with_other_axes(skeleton: &Skeleton, poses: &[Pose]) -> (Skeleton, Vec<Pose>) {
    let turns: Vec<Quat64> = (0..skeleton.joint_count())
        .map(|joint| {
            let angle = joint as f64;
            [0.6 * angle.sin(), 0.8 * angle.sin(), 0.0, angle.cos()]
        })
        .collect();
    let turned = |pose: &Pose| {
        let mut out = pose.clone();
        for (joint, t) in pose.transforms().enumerate() {
            let parent = skeleton.parent(joint as u16);
            let back = parent.map_or([0.0, 0.0, 0.0, 1.0], |parent| conjugate(turns[usize::from(parent)]));
            let rotation = product(back, product(t.rotation.map(f64::from), turns[joint]));
            let translation = rotate(back, t.translation.map(f64::from)).map(|v| v as f32);
            out.set(joint, &Transform { rotation: rotation.map(|v| v as f32), translation, scale: t.scale });
        }
        out
    };
    let skeleton = skeleton.with_rest(&turned(skeleton.rest())).expect("unit rotations");
    (skeleton, poses.iter().map(turned).collect())
}

#[test]
fn bone_axes_do_not_matter() {
    let (source, target) = (Build::TALL, Build::SHORT);
    let first = plan(&source.skeleton(), &target.skeleton());
    let own = poses(first.source(), &walk(&source));
    let want = stepped(&first, &own);
    let (skeleton, turned) = with_other_axes(first.source(), &own);
    let second = plan(&skeleton, &target.skeleton());
    let far = apart(first.target(), &want, &stepped(&second, &turned));
    assert!(far < 1e-5, "{far}");
    // The target's axes do not matter either.
    let (skeleton, turned) = with_other_axes(first.target(), &want);
    let third = plan(&source.skeleton(), &skeleton);
    let far = apart(&skeleton, &turned, &stepped(&third, &own));
    assert!(far < 1e-5, "{far}");
}

/// The arms of a source that hang at rest, with the same motion, make no difference.
#[test]
fn the_rest_pose_of_the_arms_does_not_matter() {
    let (source, target) = (Build::SHORT, Build::TALL);
    let first = plan(&source.skeleton(), &target.skeleton());
    let own = poses(first.source(), &walk(&source));
    let mut rest = first.source().rest().clone();
    for (name, sign) in [("LeftArm", -1.0), ("RightArm", 1.0)] {
        let joint = usize::from(first.source().joint_by_name(name).expect("an arm"));
        let mut t = rest.get(joint);
        let half = sign * std::f32::consts::FRAC_PI_8;
        t.rotation = [0.0, 0.0, half.sin(), half.cos()];
        rest.set(joint, &t);
    }
    let down = first.source().with_rest(&rest).expect("unit rotations");
    let second = plan(&down, &target.skeleton());
    let far = apart(first.target(), &stepped(&first, &own), &stepped(&second, &own));
    assert!(far < 1e-5, "{far}");
}

/// A character that faces another way is turned to face as the target does.
#[test]
fn the_way_a_source_faces_does_not_matter() {
    let build = Build::SHORT;
    let skeleton = build.skeleton();
    let quarter = std::f32::consts::FRAC_1_SQRT_2;
    let turned = skeleton.turned([0.0, quarter, 0.0, quarter]).expect("a unit rotation");
    let motion = walk(&build).turned(&skeleton, [0.0, quarter, 0.0, quarter]).expect("a unit rotation");
    let (plain, other) = (plan(&skeleton, &skeleton), plan(&turned, &skeleton));
    let want = poses(&skeleton, &walk(&build));
    let far = apart(&skeleton, &want, &stepped(&other, &poses(&turned, &motion)));
    assert!(far < 1e-5, "{far}");
    assert!((plain.ratio() - 1.0).abs() < 1e-9);
}

#[test]
fn a_pose_allocates_nothing() {
    let (source, target) = (Build::TALL, Build::SHORT);
    let plan = plan(&source.skeleton(), &target.skeleton());
    let own = poses(plan.source(), &walk(&source));
    let (mut state, mut out) = (State::new(&plan), Pose::rest(plan.target()));
    let count = allocation_counter::measure(|| {
        for source in &own {
            retarget(&plan, source, 1.0 / 60.0, &mut state, &mut out).expect("sizes agree");
        }
    });
    assert_eq!(count.count_total, 0);
}

#[test]
fn any_step_is_taken() {
    let (source, target) = (Build::TALL, Build::SHORT);
    let plan = plan(&source.skeleton(), &target.skeleton());
    let own = poses(plan.source(), &walk(&source));
    let mut out = Pose::rest(plan.target());
    for seconds in [0.0, -1.0, 1e-300, 1e300, f64::NAN, f64::INFINITY] {
        let mut state = State::new(&plan);
        for source in &own {
            retarget(&plan, source, seconds, &mut state, &mut out).expect("sizes agree");
            let finite =
                out.transforms().all(|t| t.rotation.iter().chain(&t.translation).all(|v| v.is_finite()));
            assert!(finite, "{seconds}");
        }
    }
    let (mut state, mut short) = (State::new(&plan), Pose::identity(3));
    assert!(matches!(retarget(&plan, &own[0], 0.1, &mut state, &mut short), Err(Error::Length { .. })));
    let other = super_plan(&target);
    let refused = retarget(&other, &Pose::rest(other.source()), 0.1, &mut state, &mut out);
    assert!(matches!(refused, Err(Error::Skeleton { .. })), "{refused:?}");
}

/// A pose that is not finite does not change the state.
#[test]
fn a_broken_pose_is_forgotten() {
    let source = Build::TALL;
    let plan = plan(&source.skeleton(), &Build::SHORT.skeleton());
    let own = poses(plan.source(), &walk(&source));
    let want = stepped(&plan, &own[..20]);
    let (mut state, mut out) = (State::new(&plan), Pose::rest(plan.target()));
    for (frame, pose) in own[..20].iter().enumerate() {
        let mut broken = pose.clone();
        let joint = frame % 2 * usize::from(plan.source().joint_by_name("LeftLeg").expect("a knee"));
        let translation = [f32::NAN, 0.0, f32::INFINITY];
        broken.set(joint, &Transform { translation, ..pose.get(joint) });
        let refused = retarget(&plan, &broken, 1.0 / 60.0, &mut state, &mut out);
        assert!(matches!(refused, Err(Error::NotFinite { what: "source", .. })), "{refused:?}");
        retarget(&plan, pose, 1.0 / 60.0, &mut state, &mut out).expect("sizes agree");
        assert_eq!(out, want[frame]);
    }
}

/// The clip with all places of the root moved up.
fn lifted(motion: &RawClip, by: f32) -> RawClip {
    let mut tracks = motion.tracks().to_vec();
    for track in tracks.iter_mut().filter(|track| track.target == Target::Translation(0)) {
        track.values.iter_mut().skip(1).step_by(3).for_each(|y| *y += by);
    }
    RawClip::new(String::new(), motion.timelines().to_vec(), tracks).expect("as many keys")
}

/// Clips in the air stay there; clips with another ground are put on the target's.
#[test]
fn the_ground_is_found_or_given() {
    let build = Build::TALL;
    let [source, target] = [build.skeleton(), Build::SHORT.skeleton()];
    let height = |pose: &Pose| places(&target, pose)[0][1];
    let mean = |poses: &[Pose]| poses.iter().map(height).sum::<f64>() / poses.len() as f64;
    let usual = plan(&source, &target);
    let of = |by: f32| mean(&poses(&target, &whole(&usual, &lifted(&walk(&build), by)).clip));
    let floor = of(0.0);
    let swims = of(1.0) - floor;
    assert!((swims - usual.ratio()).abs() < 0.02, "{swims}");
    for by in [-0.9, -0.05, 0.05] {
        assert!((of(by) - floor).abs() < 0.01, "{by}: {} {floor}", of(by));
    }
    // Pose by pose, the ground must be given.
    let mut options = PlanOptions::default();
    options.ground = Some(-0.9);
    let given = Plan::new(&source, &map(&source), &target, &map(&target), &options).expect("a plan");
    let low = poses(&source, &lifted(&walk(&build), -0.9));
    assert!((mean(&stepped(&given, &low)) - floor).abs() < 0.02);
    assert!(floor - mean(&stepped(&usual, &low)) > 0.5);
    options.ground = Some(f64::NAN);
    let refused = Plan::new(&source, &map(&source), &target, &map(&target), &options);
    assert!(matches!(refused, Err(Error::NotFinite { what: "ground", .. })));
}

/// A rest pose with a lifted foot has the ground of the other one.
#[test]
fn a_rest_pose_may_be_a_stride() {
    let build = Build::TALL;
    let [upright, target] = [build.skeleton(), Build::SHORT.skeleton()];
    let mut stride = upright.rest().clone();
    for (name, half) in [("RightUpLeg", -0.4_f32), ("RightLeg", 0.5)] {
        let joint = usize::from(upright.joint_by_name(name).expect("a leg"));
        stride.set(joint, &Transform { rotation: [half.sin(), 0.0, 0.0, half.cos()], ..stride.get(joint) });
    }
    let stride = upright.with_rest(&stride).expect("as many joints");
    let motion = walk(&build);
    let [a, b] =
        [&upright, &stride].map(|source| poses(&target, &whole(&plan(source, &target), &motion).clip));
    let low = |poses: &[Pose], name: &str| {
        let foot = usize::from(target.joint_by_name(name).expect("a foot"));
        poses.iter().map(|pose| places(&target, pose)[foot][1]).fold(f64::INFINITY, f64::min)
    };
    for name in ["LeftToeBase", "RightToeBase"] {
        assert!((low(&a, name) - low(&b, name)).abs() < 0.01, "{name}: {} {}", low(&a, name), low(&b, name));
    }
}

/// A body whose thighs are below the spine, as those of 3ds Max's Biped may be.
fn with_legs_on_the_spine(build: &Build) -> Skeleton {
    let whole = build.skeleton();
    let spine = whole.joint_by_name("Spine").expect("a spine");
    let mut order: Vec<u16> = (0..whole.joint_count() as u16).filter(|&joint| joint != spine).collect();
    order.insert(1, spine);
    let joints = order.iter().map(|&joint| {
        let (name, mut rest) = (whole.names()[usize::from(joint)].clone(), whole.rest().get(joint.into()));
        let mut parent = whole.parent(joint);
        if name.ends_with("UpLeg") {
            let from = whole.rest().get(spine.into()).translation;
            rest.translation = std::array::from_fn(|c| rest.translation[c] - from[c]);
            parent = Some(spine);
        }
        let parent = parent.and_then(|parent| order.iter().position(|&it| it == parent));
        Joint::new(name, parent.map(|parent| parent as u16), rest)
    });
    Skeleton::new(joints).expect("parents before children")
}

#[test]
fn legs_may_be_below_the_spine() {
    let build = Build::TALL;
    let (whole, carried) = (build.skeleton(), with_legs_on_the_spine(&build));
    let spine = usize::from(carried.joint_by_name("Spine").expect("a spine"));
    let bent = |pose: &Pose, frame: usize| {
        let mut out = Pose::rest(&carried);
        for (joint, t) in pose.transforms().enumerate() {
            let own = usize::from(carried.joint_by_name(&whole.names()[joint]).expect("the same names"));
            let translation = if joint == 0 { t.translation } else { out.get(own).translation };
            out.set(own, &Transform { translation, ..t });
        }
        let half = 0.2 * (frame as f32 / 20.0).sin();
        out.set(spine, &Transform { rotation: [half.sin(), 0.0, 0.0, half.cos()], ..out.get(spine) });
        out
    };
    let motion = poses(&whole, &walk(&build));
    let own: Vec<Pose> = motion.iter().enumerate().map(|(frame, pose)| bent(pose, frame)).collect();
    let same = plan(&carried, &carried);
    let far = apart(&carried, &own, &stepped(&same, &own));
    assert!(far < 1e-6, "{far}");
    // Another body's motion: the feet stand where those of the usual body do.
    let other = Build::SHORT;
    let [usual, carried] = [other.skeleton(), with_legs_on_the_spine(&other)];
    let motion = poses(&whole, &walk(&build));
    let foot = |skeleton: &Skeleton, pose: &Pose| {
        places(skeleton, pose)[usize::from(skeleton.joint_by_name("LeftFoot").expect("a foot"))]
    };
    let [a, b] = [&usual, &carried].map(|target| stepped(&plan(&whole, target), &motion));
    for (a, b) in a.iter().zip(&b) {
        let (a, b) = (foot(&usual, a), foot(&carried, b));
        assert!((0..3).all(|c| (a[c] - b[c]).abs() < 0.02), "{a:?} {b:?}");
    }
}

/// Twist joints of a forearm in a chain: each has its part of the hand's twist, as side by side.
#[test]
fn twist_joints_may_be_nested() {
    let whole = Build::SHORT.skeleton();
    let make = |nested: bool| {
        let mut joints: Vec<Joint> = (0..whole.joint_count())
            .map(|at| Joint::new(whole.names()[at].clone(), whole.parent(at as u16), whole.rest().get(at)))
            .collect();
        let fore = whole.joint_by_name("LeftForeArm").expect("a forearm");
        let [x, y, z] = whole.rest().get(whole.joint_by_name("LeftHand").expect("a hand").into()).translation;
        let third = Transform { translation: [x / 3.0, y / 3.0, z / 3.0], ..Transform::IDENTITY };
        let two = Transform { translation: third.translation.map(|v| 2.0 * v), ..third };
        let first = joints.len() as u16;
        joints.push(Joint::new("T1", Some(fore), third));
        joints.push(if nested {
            Joint::new("T2", Some(first), third)
        } else {
            Joint::new("T2", Some(fore), two)
        });
        // Keeps its place on the first one.
        joints.push(Joint::new("Bracelet", Some(first), Transform::IDENTITY));
        let skeleton = Skeleton::new(joints).expect("parents before children");
        let map = map(&skeleton)
            .with_twists([first, first + 1].map(|joint| Twist { of: Role::LeftLowerArm, joint }));
        (skeleton, map)
    };
    let source = Build::TALL.skeleton();
    let mut pose = Pose::rest(&source);
    let hand = usize::from(source.joint_by_name("LeftHand").expect("a hand"));
    // The arm points along X.
    pose.set(hand, &Transform { rotation: [0.5, 0.0, 0.0, 0.75_f32.sqrt()], ..pose.get(hand) });
    let turns = [false, true].map(|nested| {
        let (skeleton, target_map) = make(nested);
        let plan = Plan::new(&source, &map(&source), &skeleton, &target_map, &PlanOptions::default());
        let plan = plan.expect("a plan");
        let mut out = Pose::rest(&skeleton);
        retarget(&plan, &pose, 0.0, &mut State::new(&plan), &mut out).expect("sizes agree");
        let turn = |name: &str| out.get(skeleton.joint_by_name(name).expect("a joint").into()).rotation;
        ["T1", "T2", "Bracelet"].map(|name| 2.0 * turn(name)[0].asin().to_degrees())
    });
    let near = |got: [f32; 3], want: [f32; 3]| (0..3).all(|at| (got[at] - want[at]).abs() < 0.1);
    assert!(near(turns[0], [20.0, 40.0, 0.0]), "{turns:?}");
    assert!(near(turns[1], [20.0, 20.0, 0.0]), "{turns:?}");
}

/// A plan for a body with another name in its skeleton.
fn super_plan(build: &Build) -> Plan {
    let skeleton = build.skeleton();
    let joints = skeleton.parents().iter().enumerate().map(|(joint, _)| {
        let name = skeleton.names()[joint].replace("Neck", "Throat");
        Joint::new(name, skeleton.parent(joint as u16), skeleton.rest().get(joint))
    });
    let other = Skeleton::new(joints).expect("parents before children");
    let roles = Build::roles(&skeleton);
    let pairs = roles.iter().map(|(role, joint)| (role.parse().expect("a role"), *joint));
    let map = Humanoid::new(&other, pairs).expect("a humanoid");
    Plan::new(&other, &map, &other, &map, &PlanOptions::default()).expect("a plan")
}

#[test]
fn a_clip_of_one_frame_is_a_pose() {
    let (source, target) = (Build::TALL, Build::SHORT);
    let plan = plan(&source.skeleton(), &target.skeleton());
    let done = clip(&plan, &walk(&source), &[0.5], &ClipOptions::default()).expect("one frame");
    assert_eq!((done.clip.duration(), done.certificate.frames), (0.0, 1));
    // The hips are where the whole clip has them, and not at rest.
    let (mut one, mut all) = (Pose::rest(plan.target()), Pose::rest(plan.target()));
    let longer = clip(&plan, &walk(&source), &[0.5, 0.5001], &ClipOptions::default()).expect("two frames");
    done.clip.pose(plan.target(), 0.5, &mut one).expect("a clip of the target");
    longer.clip.pose(plan.target(), 0.5, &mut all).expect("a clip of the target");
    let far = apart(plan.target(), &[one.clone()], &[all]);
    assert!(far < 1e-3 && apart(plan.target(), &[one], &[plan.target().rest().clone()]) > 0.01, "{far}");
    for (times, want) in [
        (&[][..], Error::NoKeys { timeline: 0 }),
        (&[0.0, 0.0], Error::KeyOrder { timeline: 0, key: 1 }),
        (&[f32::NAN], Error::KeyOrder { timeline: 0, key: 0 }),
    ] {
        assert_eq!(clip(&plan, &walk(&source), times, &ClipOptions::default()).err(), Some(want));
    }
    assert!(frame_times(walk(&source), f64::NAN).is_err());
}

#[test]
fn legs_without_a_length_are_refused() {
    let sound = Build::TALL.skeleton();
    for broken in [Build { thigh: 0.0, ..Build::TALL }, Build { shin: 0.0, ..Build::TALL }] {
        let broken = broken.skeleton();
        for (a, b, what) in [(&broken, &sound, "source legs"), (&sound, &broken, "target legs")] {
            let refused = Plan::new(a, &map(a), b, &map(b), &PlanOptions::default());
            assert!(matches!(refused, Err(Error::OutOfRange { what: it, .. }) if it == what), "{refused:?}");
        }
    }
    // Other bones may have no length.
    let odd = Build { spine: 0.0, arm: 0.0, head: 0.0, hip: 0.0, ankle: 0.0, foot: 0.0, ..Build::TALL };
    for (a, b) in [(odd, Build::SHORT), (Build::SHORT, odd), (odd, odd)] {
        let plan = plan(&a.skeleton(), &b.skeleton());
        let done = whole(&plan, &walk(&a));
        assert_eq!(done.certificate.frames, 360);
    }
}

#[test]
fn mirrored_joints_are_refused() {
    let sound = Build::TALL.skeleton();
    let arm = sound.joint_by_name("LeftArm").expect("an arm");
    let mut rest = sound.rest().clone();
    rest.set(arm.into(), &Transform { scale: [-1.0, 1.0, 1.0], ..rest.get(arm.into()) });
    let mirrored = sound.with_rest(&rest).expect("as many joints");
    for (a, b, want) in [(&mirrored, &sound, "source scales"), (&sound, &mirrored, "target scales")] {
        let refused = Plan::new(a, &map(a), b, &map(b), &PlanOptions::default());
        assert!(
            matches!(refused, Err(Error::OutOfRange { what, at, .. }) if what == want && at == usize::from(arm)),
            "{refused:?}"
        );
    }
}

#[test]
fn ratios_are_chosen() {
    let [source, target] = [Build::TALL, Build::STYLISED].map(|build| build.skeleton());
    let ratio = |ratio: Ratio| {
        let mut options = PlanOptions::default();
        options.ratio = ratio;
        Plan::new(&source, &map(&source), &target, &map(&target), &options).map(|plan| plan.ratio())
    };
    let near =
        |a: Result<f64, Error>, b: f64| assert!((a.clone().expect("a ratio") - b).abs() < 1e-6, "{a:?} {b}");
    near(ratio(Ratio::Legs), 0.34 / 0.93);
    near(ratio(Ratio::LegsAndHips), 0.5 / 1.12);
    near(ratio(Ratio::HipHeight), 0.4 / 1.02);
    near(ratio(Ratio::Fixed(2.0)), 2.0);
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(ratio(Ratio::Fixed(wrong)).is_err(), "{wrong}");
    }
    let other = map(&Build::SHORT.skeleton());
    assert_eq!(other.joint(Role::Hips), Some(0));
}

/// Feet below the root, as exporters of inverse kinematics leave them, follow their legs.
#[test]
fn loose_feet_follow_their_legs() {
    let (source, build) = (Build::TALL, Build::SHORT);
    let whole = build.skeleton();
    let want = plan(&source.skeleton(), &whole);
    let at = places(&whole, whole.rest());
    let joints = (0..whole.joint_count()).map(|joint| {
        let (name, mut rest) = (whole.names()[joint].clone(), whole.rest().get(joint));
        let is_loose = name.ends_with("Foot");
        rest.translation = if is_loose { at[joint].map(|v| v as f32) } else { rest.translation };
        Joint::new(name, whole.parent(joint as u16).filter(|_| !is_loose), rest)
    });
    let loose = Skeleton::new(joints).expect("parents before children");
    let roles = Build::roles(&loose);
    let pairs = roles.iter().map(|(role, joint)| (role.parse().expect("a role"), *joint));
    let map_of = Humanoid::with_loose_feet(&loose, pairs).expect("a humanoid");
    let source_map = map(want.source());
    let plan =
        Plan::new(want.source(), &source_map, &loose, &map_of, &PlanOptions::default()).expect("a plan");
    let own = poses(want.source(), &walk(&source));
    for (a, b) in stepped(&want, &own).iter().zip(&stepped(&plan, &own)) {
        for (a, b) in places(&whole, a).iter().zip(&places(&loose, b)) {
            assert!((0..3).all(|c| (a[c] - b[c]).abs() < 1e-5), "{a:?} {b:?}");
        }
    }
    // Such a body is a source too.
    let back =
        Plan::new(&loose, &map_of, want.source(), &source_map, &PlanOptions::default()).expect("a plan");
    let other = Plan::new(&whole, &map(&whole), want.source(), &source_map, &PlanOptions::default());
    let [a, b] = [(&plan, &back), (&want, &other.expect("a plan"))]
        .map(|(there, back)| stepped(back, &stepped(there, &own)));
    assert!(apart(want.source(), &a, &b) < 1e-5);
}

/// Hands that hold an object together keep the vector between them, in lengths of the arm.
#[test]
fn hands_near_each_other_stay_so() {
    let (a, b) = (Build::TALL, Build::STYLISED);
    let [source, target] = [a, b].map(|build| build.skeleton());
    let mut pose = Pose::rest(&source);
    for (name, sign) in [("Left", 1.0_f32), ("Right", -1.0)] {
        // The arms point to the front, and the forearms inwards.
        for (part, half) in [("Arm", -sign * 0.7), ("ForeArm", -sign * 0.5)] {
            let joint = usize::from(source.joint_by_name(&format!("{name}{part}")).expect("an arm"));
            let turn = [0.0, half.sin(), 0.0, half.cos()];
            pose.set(joint, &Transform { rotation: turn, ..pose.get(joint) });
        }
    }
    let between = |skeleton: &Skeleton, pose: &Pose, build: Build| {
        let at = places(skeleton, pose);
        let hand = |name: &str| at[usize::from(skeleton.joint_by_name(name).expect("a hand"))];
        let (left, right) = (hand("LeftHand"), hand("RightHand"));
        [0, 1, 2].map(|c| (left[c] - right[c]) / build.arm)
    };
    let want = between(&source, &pose, a);
    assert!(want[0].abs() < 0.3, "{want:?}");
    let [mut near, mut far] = [Pose::rest(&target), Pose::rest(&target)];
    for (hands, out) in [(true, &mut near), (false, &mut far)] {
        let mut options = PlanOptions::default();
        options.hands = hands;
        let plan = Plan::new(&source, &map(&source), &target, &map(&target), &options).expect("a plan");
        retarget(&plan, &pose, 0.0, &mut State::new(&plan), out).expect("sizes agree");
    }
    let apart = |pose: &Pose| {
        let got = between(&target, pose, b);
        (0..3).map(|c| (got[c] - want[c]).powi(2)).sum::<f64>().sqrt()
    };
    assert!(apart(&near) < 1e-5 && apart(&far) > 0.05, "{} {}", apart(&near), apart(&far));
    // Hands and fingers keep their directions.
    for name in ["LeftHandMiddle1", "RightHandIndex3"] {
        let joint = usize::from(target.joint_by_name(name).expect("a finger"));
        assert_eq!(near.get(joint), far.get(joint));
    }
}
