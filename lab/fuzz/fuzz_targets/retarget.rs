//! Two arbitrary skeletons, mostly humanoids with changes, and a clip of the first one on the second. If the
//! result fits into f32, poses and figures must be finite, for the whole clip and pose by pose.
#![no_main]

use arbitrary::{Result, Unstructured};
use condyle::skeleton::NO_PARENT;
use condyle::{Interpolation, Joint, Pose, RawClip, Skeleton, Target, Track, Transform};
use condyle_fuzz::any::{number, quat, transform, vector};
use condyle_retarget::clip::{ClipOptions, clip, frame_times};
use condyle_retarget::inspect::inspect;
use condyle_retarget::rig::{Hints, Humanoid, Role, find, read_map, write_map};
use condyle_retarget::{Plan, PlanOptions, Ratio, State, retarget};
use condyle_testing::humanoids::Build;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // If the input ends, the earlier calls still count.
    exercise(&mut Unstructured::new(bytes)).ok();
});

/// Names of several conventions, of no convention, and names with a false side.
const NAMES: [&str; 48] = [
    "Hips",
    "pelvis",
    "J_Bip_C_Hips",
    "Spine",
    "spine_01",
    "Spine2",
    "Chest",
    "Neck",
    "neck_01",
    "Head",
    "HeadTop_End",
    "mixamorig:LeftArm",
    "LeftForeArm",
    "upperarm_l",
    "lowerarm_r",
    "hand_l",
    "Hand.R",
    "RightHand",
    "LeftHandIndex1",
    "RightHandThumb2",
    "thumb_01_l",
    "clavicle_r",
    "LeftShoulder",
    "LeftUpLeg",
    "thigh_r",
    "calf_l",
    "RightLeg",
    "Shin.L",
    "foot_l",
    "RightFoot",
    "LeftToeBase",
    "ball_r",
    "Bip01 L Thigh",
    "Bip01 R Calf",
    "upperarm_twist_01_l",
    "LeftUpLegRoll",
    "ik_foot_l",
    "Leg",
    "Arm",
    "L",
    "Finger1",
    "Left Eye",
    "Jaw",
    "tail_02",
    "Root",
    "",
    "Ünïcode 左",
    "joint_17",
];

/// Whether the numbers are so small that places and their ratios fit into f32.
fn is_usual(t: &Transform) -> bool {
    let within = |values: &[f32], most: f32| values.iter().all(|v| v.abs() <= most);
    let is_scale = |v: &f32| *v == 0.0 || (1e-6..=1e3).contains(&v.abs());
    within(&t.translation, 1e9) && within(&t.rotation, 1e9) && t.scale.iter().all(is_scale)
}

fn skeleton(input: &mut Unstructured<'_>) -> Result<Option<Skeleton>> {
    let mut joints: Vec<Joint> = Vec::new();
    // Joints above the hips.
    for at in 0..input.int_in_range(0..=2_u16)? {
        joints.push(Joint::new(*input.choose(&NAMES)?, at.checked_sub(1), transform(input)?));
    }
    if input.ratio(7, 8)? {
        let first = joints.len() as u16;
        let mut build = *input.choose(&[Build::TALL, Build::SHORT, Build::STYLISED])?;
        if input.arbitrary()? {
            let parts = [&mut build.hip, &mut build.thigh, &mut build.shin, &mut build.ankle, &mut build.arm];
            for part in parts {
                *part *= f64::from(input.arbitrary::<i8>()?) / 64.0;
            }
        }
        let made = build.skeleton();
        let all = made.names().iter().zip(made.parents()).zip(made.rest().transforms());
        joints.extend(all.map(|((name, &parent), rest)| {
            let parent = if parent == NO_PARENT { first.checked_sub(1) } else { Some(first + parent) };
            Joint::new(name.as_str(), parent, rest)
        }));
    }
    for _ in 0..input.int_in_range(0..=12)? {
        let name = *input.choose(&NAMES)?;
        let parent = match joints.len() {
            0 => None,
            _ if input.ratio(1, 8)? => None,
            count => Some(input.int_in_range(0..=count - 1)? as u16),
        };
        joints.push(Joint::new(name, parent, transform(input)?));
    }
    for _ in 0..input.int_in_range(0..=6)? {
        if joints.is_empty() {
            break;
        }
        let at = input.choose_index(joints.len())?;
        let joint = &mut joints[at];
        match input.int_in_range(0..=6)? {
            0 => joint.name = (*input.choose(&NAMES)?).into(),
            1 => joint.rest = transform(input)?,
            2 => joint.rest.rotation = quat(input)?,
            3 => joint.rest.translation = vector(input)?,
            4 => joint.rest.translation = [0.0; 3],
            5 => joint.rest.scale = [*input.choose(&[0.0, -1.0, 0.01, 100.0])?; 3],
            _ => joint.parent = if at > 0 { Some(input.int_in_range(0..=at - 1)? as u16) } else { None },
        }
    }
    Ok(Skeleton::new(joints).ok())
}

/// Finds the humanoid, or takes the joints with the names of the made body.
fn humanoid(input: &mut Unstructured<'_>, skeleton: &Skeleton) -> Result<Option<Humanoid>> {
    let count = skeleton.joint_count();
    let mut hints = Hints { loose_feet: input.arbitrary()?, ..Hints::default() };
    let mut pose = Pose::rest(skeleton);
    if input.ratio(1, 4)? {
        for _ in 0..input.int_in_range(0..=8)? {
            // The index may be one past the end.
            let joint = input.int_in_range(0..=count)?;
            if joint < count {
                pose.set(joint, &transform(input)?);
            }
            let role = *input.choose(&Role::ALL)?;
            hints.given.push((role, input.arbitrary::<bool>()?.then_some(joint as u16)));
        }
        hints.pose = Some(&pose);
    }
    match find(skeleton, &hints) {
        Ok(found) => {
            assert_eq!(found.evidence.len(), found.humanoid.roles().count());
            let text = write_map(&found.humanoid, skeleton);
            let again = read_map(&text, skeleton).expect("a written map");
            let again = again.into_iter().filter_map(|(role, joint)| Some((role, joint?)));
            assert!(again.eq(found.humanoid.roles()), "{text}");
            return Ok(Some(found.humanoid));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let roles = Build::roles(skeleton);
    let roles = roles.iter().filter_map(|(role, joint)| Some((role.parse().ok()?, *joint)));
    Ok(Humanoid::with_loose_feet(skeleton, roles).ok())
}

/// A clip that turns, moves and scales some joints, and whether its numbers are usual ones.
fn motion(input: &mut Unstructured<'_>, skeleton: &Skeleton) -> Result<Option<(RawClip, bool)>> {
    let keys = input.int_in_range(1..=8)?;
    let step = *input.choose(&[1.0 / 30.0, 1.0 / 60.0, 0.5, 1e-3])?;
    let times: Vec<f32> = (0..keys).map(|key| key as f32 * step).collect();
    let (mut tracks, mut is_all_usual) = (Vec::new(), true);
    for _ in 0..input.int_in_range(0..=8)? {
        // Often the root, whose changes concern all places.
        let joint = if input.ratio(1, 4)? { 0 } else { input.choose_index(skeleton.joint_count())? };
        let rest = skeleton.rest().get(joint);
        let kind = input.int_in_range(0..=2)?;
        let mut values = Vec::new();
        for _ in 0..keys {
            let mut new = rest;
            match kind {
                0 => new.rotation = quat(input)?,
                1 => new.translation = vector(input)?,
                _ if input.ratio(1, 4)? => new.scale = [0.0; 3],
                _ => new.scale = [number(input)?; 3],
            }
            is_all_usual &= is_usual(&new);
            values.extend_from_slice(match kind {
                0 => &new.rotation[..],
                1 => &new.translation,
                _ => &new.scale,
            });
        }
        let joint = joint as u16;
        let target = match kind {
            0 => Target::Rotation(joint),
            1 => Target::Translation(joint),
            _ => Target::Scale(joint),
        };
        let interpolation = *input.choose(&[Interpolation::Linear, Interpolation::Step])?;
        tracks.push(Track { target, interpolation, timeline: 0, values });
    }
    Ok(RawClip::new(String::new(), vec![times], tracks).ok().map(|clip| (clip, is_all_usual)))
}

fn check(pose: &Pose, place: &str) {
    for (joint, t) in pose.transforms().enumerate() {
        let mut all = t.translation.iter().chain(&t.rotation).chain(&t.scale);
        assert!(all.all(|v| v.is_finite()), "joint {joint} {place}: {t:?}");
    }
}

fn exercise(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(source) = skeleton(input)? else { return Ok(()) };
    let is_same = input.ratio(1, 6)?;
    let Some(target) = (if is_same { Some(source.clone()) } else { skeleton(input)? }) else { return Ok(()) };
    let usual = [&source, &target].map(|it| it.rest().transforms().all(|t| is_usual(&t)));
    let Some(source_map) = humanoid(input, &source)? else { return Ok(()) };
    let target_map = if is_same { Some(source_map.clone()) } else { humanoid(input, &target)? };
    let Some(target_map) = target_map else { return Ok(()) };
    let mut options = PlanOptions::default();
    options.hands = input.arbitrary()?;
    options.plant = input.arbitrary()?;
    options.ratio = match input.int_in_range(0..=4)? {
        0 => Ratio::Fixed(number(input)?.into()),
        1 => Ratio::HipHeight,
        2 => Ratio::Legs,
        _ => Ratio::LegsAndHips,
    };
    let is_usual =
        usual == [true; 2] && !matches!(options.ratio, Ratio::Fixed(it) if !(1e-3..1e3).contains(&it));
    let plan = match Plan::new(&source, &source_map, &target, &target_map, &options) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return Ok(());
        }
    };
    assert!(plan.ratio() > 0.0, "{}", plan.ratio());
    let Some((raw, is_clip_usual)) = motion(input, &source)? else { return Ok(()) };
    let is_usual = is_usual && is_clip_usual;
    let times = frame_times(&raw, 30.0).expect("few keys");
    let mut clip_options = ClipOptions::default();
    clip_options.ground_from_clip = input.arbitrary()?;
    let done = clip(&plan, &raw, &times, &clip_options);
    let [mut pose, mut posed] = [&source, &target].map(Pose::rest);
    match &done {
        Ok(done) if is_usual => {
            assert_eq!(done.certificate.frames, times.len());
            for (name, value) in done.certificate.table() {
                assert!(value.is_finite(), "{name}: {value}");
            }
        }
        Ok(_) => {}
        Err(error) => assert!(!is_usual && !error.to_string().is_empty(), "{error}"),
    }
    let mut state = State::new(&plan);
    for &seconds in &times {
        use condyle::sampling::PoseSource;
        raw.pose(&source, seconds.into(), &mut pose).expect("a clip of the skeleton");
        let step = if input.ratio(1, 8)? { f64::from(number(input)?) } else { 1.0 / 30.0 };
        retarget(&plan, &pose, step, &mut state, &mut posed).expect("poses of both skeletons");
        if !is_usual {
            continue;
        }
        check(&posed, "pose by pose");
        if let Ok(done) = &done {
            done.clip.pose(&target, seconds.into(), &mut posed).expect("a clip of the target");
            check(&posed, "of the clip");
        }
    }
    let times: Vec<f64> = times.iter().map(|&seconds| f64::from(seconds)).collect();
    let defects = inspect(&source, Some(&source_map), &raw, &times).expect("times that rise");
    for defect in defects.iter().filter(|_| is_usual) {
        assert!(defect.amount.is_finite() && defect.seconds.is_finite(), "{defect:?}");
    }
    Ok(())
}
