//! Finds the humanoid in a skeleton, from names and from shape.

use std::collections::BTreeMap;

use condyle::{Pose, Skeleton};

use super::body::Body;
use super::fingers;
use super::found::{Found, Hints, NotHumanoid};
use super::front::front;
use super::limbs::{Fits, Kind, Pair, pairs};
use super::role::{Role, Side};
use super::roles::{Chosen, choose};
use super::trunk::{self, NO_STANCE, ON_FOUR, Trunk};

/// Finds the joints of a humanoid by their names and by the shape of the skeleton.
///
/// Names decide where the shape allows several joints. The shape decides where names have no meaning or
/// contradict it. [`Found::doubts`] lists the contradictions. Where the rest pose is no stance,
/// [`Hints::pose`] gives the shape, if it is one.
///
/// # Errors
/// [`NotHumanoid`] with the roles that have no joint, for example for a hand, or for a body on four legs.
///
/// ```
/// use condyle::example;
/// use condyle_retarget::rig::{Hints, Role, find};
///
/// let found = find(&example::skeleton(), &Hints::default())?;
/// assert_eq!(found.humanoid.joint(Role::Hips), Some(example::HIPS));
/// assert!(found.doubts.is_empty());
/// # Ok::<(), condyle_retarget::rig::NotHumanoid>(())
/// ```
pub fn find(skeleton: &Skeleton, hints: &Hints<'_>) -> Result<Found, NotHumanoid> {
    if let Some(error) = hints.pose.and_then(|pose| pose.check_joints("pose", skeleton.joint_count()).err()) {
        return Err(NotHumanoid { missing: Vec::new(), why: error.to_string() });
    }
    let with = |given| Hints { given, bones: BTreeMap::new(), ..*hints };
    match find_given(skeleton, &with(hints.all_given())) {
        Err(why) if hints.given.is_empty() && !hints.bones.is_empty() => {
            let found = find_given(skeleton, &with(Vec::new()))?;
            Ok(Found { unused_bones: Some(why), ..found })
        }
        result => result,
    }
}

/// Finds the joints with the corrections of the hints, in the rest pose or in theirs.
fn find_given(skeleton: &Skeleton, hints: &Hints<'_>) -> Result<Found, NotHumanoid> {
    let rest = find_in(skeleton, skeleton.rest(), hints);
    let Some(pose) = hints.pose.filter(|_| !rest.as_ref().is_ok_and(|found| found.has_stance)) else {
        return rest;
    };
    match find_in(skeleton, pose, hints) {
        Ok(found) if found.has_stance => Ok(Found { is_posed: true, ..found }),
        _ => rest,
    }
}

/// Finds the joints by the shape of one pose.
fn find_in(skeleton: &Skeleton, pose: &Pose, hints: &Hints<'_>) -> Result<Found, NotHumanoid> {
    let refuse = |why: String| NotHumanoid { missing: Vec::new(), why };
    let body = Body::new(skeleton, pose).map_err(|error| refuse(error.to_string()))?;
    if let Some((role, joint)) =
        hints.given.iter().find(|(_, it)| it.is_some_and(|it| usize::from(it) >= skeleton.joint_count()))
    {
        return Err(refuse(format!("{role} has joint {joint:?} of {}", skeleton.joint_count())));
    }
    let trunk = search(&body, hints)?;
    let front = front(&body, &trunk);
    let mut chosen = Chosen::new(&body, hints);
    choose(&mut chosen, &trunk, &front);
    for side in [Side::Left, Side::Right] {
        fingers::choose(&mut chosen, side);
    }
    chosen.finish(&trunk)
}

/// Finds legs, arms and head.
fn search(body: &Body<'_>, hints: &Hints<'_>) -> Result<Trunk, NotHumanoid> {
    let [legs, arms] = [Kind::Leg, Kind::Arm].map(|kind| pairs(body, kind, &fits(body, hints, kind)));
    let heads: Vec<f64> =
        (0..body.readings.len() as u16).map(|joint| fit(body, hints, Role::Head, joint)).collect();
    let found = trunk::best(body, &legs, &arms, &heads);
    let Some(trunk) = found.filter(|it| it.score > WORST) else {
        return Err(missing(&legs, &arms, found.is_some()));
    };
    if hints.given.len() >= 12 {
        return Ok(trunk);
    }
    if trunk.stance > ON_FOUR && trunk.stance < NO_STANCE && body.size > 0.0 {
        let angle = trunk.stance.clamp(-1.0, 1.0).acos().to_degrees();
        let why = format!("spine and legs are at {angle:.0} degrees, as of an animal on four legs");
        return Err(NotHumanoid { missing: Vec::new(), why });
    }
    let named = trunk.legs.limbs.iter().chain(&trunk.arms.limbs).map(|it| it.named).sum::<f64>();
    if (trunk.stance >= NO_STANCE || body.size == 0.0) && named < 6.0 {
        let why =
            "the pose is no stance: legs and spine have one direction, and the names do not help".into();
        return Err(NotHumanoid { missing: Vec::new(), why });
    }
    Ok(trunk)
}

/// Lowest score of a body.
const WORST: f64 = -9.2;

fn fits(body: &Body<'_>, hints: &Hints<'_>, kind: Kind) -> Fits {
    let roles = kind.roles();
    (0..body.readings.len() as u16)
        .map(|joint| {
            roles.map(|role| {
                // A correction has a side, so the better side counts.
                fit(body, hints, role, joint).max(fit(body, hints, role.mirrored(), joint))
            })
        })
        .collect()
}

/// Score of a joint for a role by its name, or by a correction.
fn fit(body: &Body<'_>, hints: &Hints<'_>, role: Role, joint: u16) -> f64 {
    const CERTAIN: f64 = 100.0;
    for (given, it) in &hints.given {
        match it {
            Some(it) if *it == joint => return if *given == role { CERTAIN } else { -CERTAIN },
            _ => {}
        }
    }
    body.reading(joint).fit(role)
}

/// Returns the reason why there is no body.
fn missing(legs: &[Pair], arms: &[Pair], found: bool) -> NotHumanoid {
    use Role::*;
    let mut missing = Vec::new();
    let decent = |all: &[Pair]| all.first().is_some_and(|it| it.score > WORST / 2.0);
    let (has_legs, has_arms) = (decent(legs), decent(arms));
    if !has_legs {
        missing.extend([LeftUpperLeg, LeftLowerLeg, LeftFoot, RightUpperLeg, RightLowerLeg, RightFoot]);
    }
    if !has_arms {
        missing.extend([LeftUpperArm, LeftLowerArm, LeftHand, RightUpperArm, RightLowerArm, RightHand]);
    }
    let why = match (has_legs, has_arms) {
        (false, false) => "it has no two pairs of limbs with three joints each",
        (false, true) | (true, false) => "it has one pair of limbs with three joints each, not two",
        _ if found => "its limbs have no proportions of a body",
        _ => {
            missing.extend([Hips, Spine, Head]);
            "its pairs of limbs are not on one spine with a head"
        }
    };
    NotHumanoid { missing, why: why.into() }
}
