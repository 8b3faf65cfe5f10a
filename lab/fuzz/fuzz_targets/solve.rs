//! Arbitrary skeletons, poses, limits and goals for every solver. Results must be finite and within limits,
//! and bones must keep their lengths. On an error the pose must not change.
#![no_main]

use arbitrary::{Result, Unstructured};
use condyle::{Affine, Error, Joint, Pose, Quat, Skeleton, Transform, local_to_model};
use condyle_fuzz::any::{number, quat, transform, vector};
use condyle_solve::full_body::{BodyBuffer, BodyOptions, Goal, GoalKind, body};
use condyle_solve::{
    Aim, AimChain, Chain, ChainMethod, JointLimit, Limits, Orientation, Reached, Share, Swing, TwoBone, Up,
    aim, aim_chain, chain, clamp, two_bone,
};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // If the input ends, the earlier calls still count.
    exercise(&mut Unstructured::new(bytes)).ok();
});

/// Tolerance beyond a limit in radians. After a swing of about half a turn, the twist is ill-defined, so
/// rounding changes it more.
fn slack(limit: &JointLimit, rotation: Quat) -> f64 {
    let [rx, ry, rz, rw] = limit.reference.map(f64::from);
    let [x, y, z, w] = rotation.map(f64::from);
    let back = [
        rw * x - rx * w - ry * z + rz * y,
        rw * y - ry * w - rz * x + rx * z,
        rw * z - rz * w - rx * y + ry * x,
    ];
    let along: f64 = back.iter().zip(limit.axis).map(|(v, axis)| v * f64::from(axis)).sum();
    let length = limit.axis.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
    let cos = (rw * w + rx * x + ry * y + rz * z).hypot(along / length);
    1e-5 + 1e-6 / cos
}

fn limit(input: &mut Unstructured<'_>) -> Result<JointLimit> {
    let angle = |input: &mut Unstructured<'_>| Ok(number(input)?.abs());
    let side = vector(input)?;
    let swing = match input.int_in_range(0..=4)? {
        0 => Swing::Hinge,
        1 => Swing::Cone(angle(input)?),
        2 => Swing::Ellipse { side, angles: [angle(input)?, angle(input)?] },
        3 => {
            let count = input.int_in_range(2..=6)?;
            let corners = (0..count).map(|_| Ok([number(input)?, number(input)?])).collect::<Result<_>>()?;
            Swing::Polygon { side, corners }
        }
        _ => Swing::Free,
    };
    let twist = if input.arbitrary()? { Some([number(input)?, number(input)?]) } else { None };
    let soft = if input.arbitrary()? { number(input)?.abs() } else { 0.0 };
    Ok(JointLimit { reference: quat(input)?, axis: vector(input)?, swing, twist, soft })
}

/// Input of the solvers.
struct Case {
    skeleton: Skeleton,
    pose: Pose,
    model: Vec<Affine>,
    limits: Option<Limits>,
}

impl Case {
    fn new(input: &mut Unstructured<'_>) -> Result<Option<Self>> {
        let count = input.int_in_range(1..=12)?;
        let mut joints = Vec::new();
        let mut pose = Vec::new();
        for at in 0..count {
            // Mostly chains, because the solvers require them.
            let parent = match at {
                0 => None,
                _ if input.ratio(1, 5)? => Some(input.int_in_range(0..=at - 1)?),
                _ => Some(at - 1),
            };
            joints.push(Joint::new("", parent, Transform::IDENTITY));
            pose.push(transform(input)?);
        }
        let skeleton = Skeleton::new(joints).expect("parents first");
        let pose = Pose::from_transforms(&pose);
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(&skeleton, &pose, &mut model).expect("the sizes agree");
        let mut own = Vec::new();
        while own.len() < 12 && input.ratio(2, 3)? {
            own.push((input.int_in_range(0..=count - 1)?, limit(input)?));
        }
        let limits = if own.is_empty() { None } else { Some(Limits::new(&skeleton, own)) };
        match limits.transpose() {
            Ok(limits) => Ok(Some(Self { skeleton, pose, model, limits })),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                Ok(None)
            }
        }
    }

    fn joint(&self, input: &mut Unstructured<'_>) -> Result<u16> {
        // The index may be one past the end.
        input.int_in_range(0..=self.skeleton.joint_count() as u16)
    }

    /// Checks the pose written by a solver. `shifted` is the joint whose translation may change. `kept` are
    /// the joints that must be within limits.
    fn check(&self, done: &std::result::Result<(), Error>, pose: &Pose, shifted: Option<u16>, kept: &[u16]) {
        for joint in 0..self.skeleton.joint_count() {
            let [before, after] = [&self.pose, pose].map(|pose| pose.get(joint));
            let bits = |t: &Transform| {
                (t.rotation.map(f32::to_bits), t.translation.map(f32::to_bits), t.scale.map(f32::to_bits))
            };
            let (old, new) = (bits(&before), bits(&after));
            if done.is_err() {
                assert_eq!(old, new, "joint {joint} after {done:?}");
                continue;
            }
            assert_eq!(old.2, new.2, "the scale of joint {joint}");
            if shifted == Some(joint as u16) {
                assert!(old.1 == new.1 || after.translation.iter().all(|v| v.is_finite()), "{after:?}");
            } else {
                assert_eq!(old.1, new.1, "the bone of joint {joint}");
            }
            if old.0 != new.0 {
                let length = after.rotation.iter().map(|v| v * v).sum::<f32>();
                assert!((length - 1.0).abs() < 1e-5, "joint {joint}: {after:?}");
            }
            if let Some(limits) = self.limits.as_ref().filter(|_| kept.contains(&(joint as u16))) {
                let excess = limits.excess(joint as u16, after.rotation);
                let limit = limits.get(joint as u16);
                let slack = limit.map_or(0.0, |limit| slack(limit, after.rotation));
                assert!(
                    f64::from(excess) <= slack,
                    "joint {joint}: {excess} rad beyond {limit:?}, {slack} may be"
                );
            }
        }
        if let Err(error) = done {
            assert!(!error.to_string().is_empty());
        }
    }

    /// Runs a solver with one goal.
    fn run(
        &self,
        kept: &[u16],
        solve: impl FnOnce(&Skeleton, &[Affine], &mut Pose) -> std::result::Result<Reached, Error>,
    ) {
        let mut pose = self.pose.clone();
        let reached = solve(&self.skeleton, &self.model, &mut pose);
        if let Ok(reached) = &reached {
            assert!(!reached.distance.is_nan() && !reached.angle.is_nan(), "{reached:?}");
        }
        self.check(&reached.map(|_| ()), &pose, None, kept);
    }
}

fn exercise(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(case) = Case::new(input)? else { return Ok(()) };
    let all: Vec<u16> = (0..case.skeleton.joint_count() as u16).collect();
    if let Some(limits) = &case.limits {
        let mut pose = case.pose.clone();
        let done = clamp(limits, &mut pose);
        let finite = |&joint: &u16| case.pose.get(joint.into()).rotation.iter().all(|v| v.is_finite());
        let kept: Vec<u16> = all.iter().copied().filter(finite).collect();
        case.check(&done, &pose, None, &kept);
    }
    while !input.is_empty() {
        match input.int_in_range(0..=4)? {
            0 => reach(&case, input)?,
            1 => point(&case, input)?,
            2 => follow(&case, input)?,
            _ => whole(&case, input)?,
        }
    }
    Ok(())
}

/// Random weight, and the joints that must be within limits if the weight is positive.
fn weight<'a>(input: &mut Unstructured<'_>, joints: &'a [u16]) -> Result<(f32, &'a [u16])> {
    let weight = if input.arbitrary()? { 1.0 } else { number(input)? };
    Ok((weight, if weight > 0.0 { joints } else { &[] }))
}

fn reach(case: &Case, input: &mut Unstructured<'_>) -> Result<()> {
    let joints = [case.joint(input)?, case.joint(input)?, case.joint(input)?];
    let (weight, kept) = weight(input, &joints[..2])?;
    let wanted = TwoBone {
        pole: if input.arbitrary()? { Some(vector(input)?) } else { None },
        hinge: if input.arbitrary()? { Some(vector(input)?) } else { None },
        orientation: if input.arbitrary()? { Some(quat(input)?) } else { None },
        soft: if input.arbitrary()? { number(input)? } else { 0.0 },
        weight,
        limits: case.limits.as_ref(),
        ..TwoBone::new(joints, vector(input)?)
    };
    case.run(kept, |skeleton, model, pose| two_bone(skeleton, model, &wanted, pose));
    Ok(())
}

fn point(case: &Case, input: &mut Unstructured<'_>) -> Result<()> {
    let count = input.int_in_range(1..=5)?;
    let mut joints: Vec<u16> = (0..count).map(|_| case.joint(input)).collect::<Result<_>>()?;
    joints.sort_unstable();
    let shares: Vec<Share> =
        joints.iter().map(|&joint| Ok(Share { joint, share: number(input)? })).collect::<Result<_>>()?;
    let (weight, kept) = weight(input, &joints)?;
    let last = joints[joints.len() - 1];
    let wanted = Aim {
        origin: if input.arbitrary()? { vector(input)? } else { [0.0; 3] },
        up: if input.arbitrary()? {
            Some(Up { axis: vector(input)?, direction: vector(input)? })
        } else {
            None
        },
        weight,
        limits: case.limits.as_ref(),
        ..Aim::new(last, vector(input)?, vector(input)?)
    };
    let alone = if kept.is_empty() { &[][..] } else { &[last] };
    case.run(alone, |skeleton, model, pose| aim(skeleton, model, &wanted, pose));
    let wanted = AimChain { joints: &shares, aim: wanted };
    case.run(kept, |skeleton, model, pose| aim_chain(skeleton, model, &wanted, pose));
    Ok(())
}

fn follow(case: &Case, input: &mut Unstructured<'_>) -> Result<()> {
    let from = input.int_in_range(0..=case.skeleton.joint_count() as u16 - 1)?;
    // A chain from this joint, or arbitrary joints.
    let mut joints: Vec<u16> = (from..case.skeleton.joint_count() as u16).collect();
    joints.truncate(input.int_in_range(1..=joints.len())?);
    if input.ratio(1, 8)? {
        joints.push(case.joint(input)?);
    }
    let tip = if input.arbitrary()? { joints[joints.len() - 1] } else { case.joint(input)? };
    let (weight, kept) = weight(input, &joints)?;
    let method = match input.int_in_range(0..=2)? {
        0 => ChainMethod::LeastSquares { restarts: input.int_in_range(0..=4)? },
        1 => ChainMethod::CyclicDescent { step: if input.arbitrary()? { 1.0 } else { number(input)? } },
        _ => ChainMethod::Fabrik,
    };
    let orientation = |input: &mut Unstructured<'_>| {
        let radius = if input.arbitrary()? { Some(number(input)?) } else { None };
        Ok(Orientation { radius, ..Orientation::new(quat(input)?) })
    };
    let wanted = Chain {
        offset: if input.arbitrary()? { vector(input)? } else { [0.0; 3] },
        orientation: if input.arbitrary()? { Some(orientation(input)?) } else { None },
        method,
        iterations: input.int_in_range(0..=60)?,
        weight,
        limits: case.limits.as_ref(),
        ..Chain::new(&joints, tip, vector(input)?)
    };
    case.run(kept, |skeleton, model, pose| chain(skeleton, model, &wanted, pose));
    Ok(())
}

fn whole(case: &Case, input: &mut Unstructured<'_>) -> Result<()> {
    let count = input.int_in_range(0..=5)?;
    let masses = [(case.joint(input)?, number(input)?), (case.joint(input)?, 1.0)];
    let mut goals = Vec::new();
    for _ in 0..count {
        let joint = case.joint(input)?;
        let mut goal = match input.int_in_range(0..=5)? {
            0 => Goal::orientation(joint, quat(input)?),
            1 => Goal::pin(joint),
            2 => Goal::pin_orientation(joint),
            3 => Goal::mass(&masses, vector(input)?),
            4 => Goal {
                kind: GoalKind::Position { joint, offset: vector(input)?, place: vector(input)? },
                weight: 1.0,
            },
            _ => Goal::position(joint, vector(input)?),
        };
        if input.ratio(1, 4)? {
            goal.weight = number(input)?;
        }
        goals.push(goal);
    }
    let ease: Vec<f32> = case.pose.transforms().map(|_| number(input)).collect::<Result<_>>()?;
    let shifted = if input.arbitrary()? { Some(case.joint(input)?) } else { None };
    let nearest = |joint: u16, rotation: Quat| {
        case.limits.as_ref().map_or(rotation, |limits| limits.clamp(joint, rotation))
    };
    let options = BodyOptions {
        iterations: input.int_in_range(0..=40)?,
        tolerance: if input.arbitrary()? { Some(number(input)?) } else { None },
        pull: if input.arbitrary()? { 1e-6 } else { number(input)? },
        ease: if input.ratio(1, 4)? { Some(&ease) } else { None },
        shift: shifted.map(|joint| Ok((joint, number(input)?))).transpose()?,
        limit: if case.limits.is_some() { Some(&nearest) } else { None },
    };
    let mut pose = case.pose.clone();
    let mut buffer = BodyBuffer::default();
    let reached = body(&case.skeleton, &goals, &options, &mut buffer, &mut pose);
    if let Ok(reached) = &reached {
        assert!(
            !reached.distance.is_nan() && !reached.angle.is_nan() && !reached.size.is_nan(),
            "{reached:?}"
        );
        assert!(buffer.residuals().len() == goals.len() && !buffer.residuals().iter().any(|r| r.is_nan()));
        assert!(reached.iterations <= options.iterations);
    }
    // Joints that the solver does not rotate stay unchanged, even beyond their limits.
    let rotation = |pose: &Pose, joint: u16| pose.get(joint.into()).rotation.map(f32::to_bits);
    let changed = |&joint: &u16| rotation(&pose, joint) != rotation(&case.pose, joint);
    let kept: Vec<u16> = (0..case.skeleton.joint_count() as u16).filter(changed).collect();
    case.check(&reached.map(|_| ()), &pose, shifted, &kept);
    Ok(())
}
