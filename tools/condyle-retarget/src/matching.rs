//! Which source joint a target joint follows, also where the two skeletons have different joints.

use crate::body::Body;
use crate::maths::{Quat64, Vec3, conjugate, direction, dot, length, product, rotate, sub};
use crate::rig::{Humanoid, Role, Side};

/// A target joint and the two source joints that it follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Match {
    pub(crate) joint: usize,
    pub(crate) sources: [usize; 2],
    /// Weight of the second source joint.
    pub(crate) weight: f64,
}

/// Returns the target joints that follow the source.
///
/// Joints with a role follow the joint with the same role. Spines and necks of different counts follow the
/// bones at the same fraction of the length. A joint whose role the source lacks follows the joint that would
/// carry it, a finger its neighbour. Joints without a role follow a joint of the same name, if both belong to
/// the same part of the body.
pub(crate) fn follow(source: &Body, target: &Body) -> Vec<Match> {
    let mut matches = Vec::new();
    let mut done = vec![false; target.joint_count()];
    let mut put = |joint: usize, sources: [usize; 2], weight: f64| {
        if !std::mem::replace(&mut done[joint], true) {
            matches.push(Match { joint, sources, weight });
        }
    };
    put(target.hips, [source.hips; 2], 0.0);
    for (chain, ends) in
        [(Humanoid::spine as fn(&Humanoid) -> &[u16], Role::Neck), (Humanoid::neck, Role::Head)]
    {
        let ends = |map: &Humanoid| map.joint(ends).or_else(|| map.joint(Role::Head));
        let own = centres(target, chain(&target.map), ends(&target.map));
        let theirs = centres(source, chain(&source.map), ends(&source.map));
        if theirs.is_empty() {
            // A neck that the source lacks lies between the joints below and above.
            let below = source.map.spine().last().map_or(source.hips, |&joint| joint.into());
            let head = source.map.joint(Role::Head).map_or(below, usize::from);
            own.iter().for_each(|bone| put(bone.joint, [below, head], bone.at));
            continue;
        }
        for (at, &Centre { joint, at: centre }) in own.iter().enumerate() {
            if own.len() == theirs.len() {
                put(joint, [theirs[at].joint; 2], 0.0);
                continue;
            }
            let above = theirs.iter().position(|bone| bone.at >= centre).unwrap_or(theirs.len() - 1);
            let below = above.saturating_sub(usize::from(theirs[above].at > centre));
            let span = theirs[above].at - theirs[below].at;
            let weight = if span > 0.0 { (centre - theirs[below].at) / span } else { 0.0 };
            put(joint, [theirs[below].joint, theirs[above].joint], weight.clamp(0.0, 1.0));
        }
    }
    for (role, joint) in target.map.roles() {
        let from = counterpart(&source.map, role).map_or(source.hips, usize::from);
        put(joint.into(), [from; 2], 0.0);
    }
    let bare = |name: &str| name.rsplit([':', '|']).next().unwrap_or_default().to_owned();
    let by_name: std::collections::HashMap<String, usize> = source
        .skeleton
        .names()
        .iter()
        .enumerate()
        .filter(|(joint, name)| !name.is_empty() && source.map.role(*joint as u16).is_none())
        .map(|(joint, name)| (bare(name), joint))
        .collect();
    for (joint, name) in target.skeleton.names().iter().enumerate() {
        let Some(&from) = by_name.get(&bare(name)) else { continue };
        if target.roles[joint].is_some() && target.roles[joint] == source.roles[from] {
            put(joint, [from; 2], 0.0);
        }
    }
    matches.sort_by_key(|it| it.joint);
    matches
}

/// The centre of a bone, as a fraction of its chain's length.
struct Centre {
    joint: usize,
    at: f64,
}

/// Returns the joints of a chain with the centres of their bones.
fn centres(body: &Body, chain: &[u16], end: Option<u16>) -> Vec<Centre> {
    let end = end.map(usize::from);
    let mut joints: Vec<usize> = chain.iter().map(|&it| it.into()).filter(|&it| Some(it) != end).collect();
    let count = joints.len();
    joints.extend(end);
    let mut lengths: Vec<f64> =
        joints.windows(2).map(|pair| length(sub(body.rest[pair[1]].at, body.rest[pair[0]].at))).collect();
    lengths.resize(count, 0.0);
    let total: f64 = lengths.iter().sum();
    let mut from = 0.0;
    let centre = |at: usize| {
        let centre = if total > 0.0 { (from + lengths[at] / 2.0) / total } else { at as f64 / count as f64 };
        from += lengths[at];
        Centre { joint: joints[at], at: centre }
    };
    (0..lengths.len()).map(centre).collect()
}

/// Returns the source joint for a role that a source may lack.
fn counterpart(source: &Humanoid, role: Role) -> Option<u16> {
    if let Some(joint) = source.joint(role) {
        return Some(joint);
    }
    let side = role.side().unwrap_or(Side::Left);
    let left = role.on(Side::Left);
    // The last joint of the spine carries the shoulders.
    if left == Role::LeftShoulder {
        return source.spine().last().copied();
    }
    for &neighbour in neighbours(left) {
        if let Some(joint) = source.joint(neighbour.on(side)) {
            return Some(joint);
        }
    }
    source.carrier(role).and_then(|role| source.joint(role))
}

/// Returns the joints of neighbouring fingers, nearest first.
fn neighbours(left: Role) -> &'static [Role] {
    use Role::{
        LeftIndexDistal as I3, LeftIndexIntermediate as I2, LeftIndexProximal as I1, LeftLittleDistal as L3,
        LeftLittleIntermediate as L2, LeftLittleProximal as L1, LeftMiddleDistal as M3,
        LeftMiddleIntermediate as M2, LeftMiddleProximal as M1, LeftRingDistal as R3,
        LeftRingIntermediate as R2, LeftRingProximal as R1,
    };
    match left {
        L1 => &[R1, M1, I1],
        L2 => &[R2, M2, I2],
        L3 => &[R3, M3, I3],
        R1 => &[M1, L1, I1],
        R2 => &[M2, L2, I2],
        R3 => &[M3, L3, I3],
        M1 => &[R1, I1, L1],
        M2 => &[R2, I2, L2],
        M3 => &[R3, I3, L3],
        I1 => &[M1, R1, L1],
        I2 => &[M2, R2, L2],
        I3 => &[M3, R3, L3],
        _ => &[],
    }
}

/// A target joint that takes a part of the twist of a bone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Twisted {
    pub(crate) joint: u16,
    /// Joint whose rotation relative to `to` twists the bone.
    pub(crate) from: u16,
    /// Joint above.
    pub(crate) to: u16,
    /// Bone in the space of `from`, of unit length.
    pub(crate) axis: Vec3,
    /// Part of the twist to add to the joint.
    pub(crate) part: f64,
    /// Rotation of `from` relative to `to` at rest.
    pub(crate) rest: Quat64,
    /// Rotation of the joint relative to `from` or `to`, whichever carries it, at rest.
    pub(crate) own: Quat64,
    /// Joint that carries it.
    pub(crate) carrier: u16,
}

/// Returns the twist joints of the target.
///
/// A joint of a forearm or a shin takes the part of the hand's or foot's twist at its place along the bone. A
/// joint of an upper arm or a thigh takes back the part of the bone's own twist that it has not reached.
pub(crate) fn twists(target: &Body, map: &Humanoid) -> Vec<Twisted> {
    let one = |twist: &crate::rig::Twist| {
        let side = twist.of.side()?;
        let (end, lower) = match twist.of.on(Side::Left) {
            Role::LeftUpperArm => (Role::LeftLowerArm, false),
            Role::LeftUpperLeg => (Role::LeftLowerLeg, false),
            Role::LeftLowerArm => (Role::LeftHand, true),
            Role::LeftLowerLeg => (Role::LeftFoot, true),
            _ => return None,
        };
        let bone: usize = map.joint(twist.of)?.into();
        let end: usize = map.joint(end.on(side))?.into();
        let joint = usize::from(twist.joint);
        let along = sub(target.rest[end].at, target.rest[bone].at);
        let place = sub(target.rest[joint].at, target.rest[bone].at);
        let fraction = (dot(place, along) / dot(along, along).max(1e-12)).clamp(0.0, 1.0);
        let carrier = target.parent(joint)?;
        let (from, to) = if lower { (end, bone) } else { (bone, target.parent(bone)?) };
        let turn = |joint: usize| target.rest[joint].turn;
        let relative = |a: usize, b: usize| product(conjugate(turn(a)), turn(b));
        Some(Twisted {
            joint: twist.joint,
            from: from as u16,
            to: to as u16,
            axis: direction(rotate(conjugate(turn(from)), along))?,
            part: if lower { fraction } else { fraction - 1.0 },
            rest: relative(to, from),
            own: relative(carrier, joint),
            carrier: carrier as u16,
        })
    };
    let mut found: Vec<Twisted> =
        map.twists().iter().filter_map(one).filter(|it| it.joint != it.carrier).collect();
    // A twist joint below another one of the same bone has that one's part already.
    let parts: Vec<(u16, [u16; 2], f64)> =
        found.iter().map(|it| (it.joint, [it.from, it.to], it.part)).collect();
    for it in &mut found {
        let mut above = core::iter::successors(Some(usize::from(it.carrier)), |&joint| target.parent(joint));
        let known = above.find_map(|joint| parts.iter().find(|(other, ..)| usize::from(*other) == joint));
        if let Some((_, bone, part)) = known
            && *bone == [it.from, it.to]
        {
            it.part -= part;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use condyle::{Joint, Skeleton, Transform};
    use condyle_testing::humanoids::Build;

    use super::*;

    /// The made body with some joints left out and some put in between, and its map.
    fn body(keep: impl Fn(&str) -> bool, extra: &[(&str, &str, [f32; 3])]) -> Body {
        let whole = Build::TALL.skeleton();
        let mut joints: Vec<Joint> = Vec::new();
        for (at, name) in whole.names().iter().enumerate().filter(|(_, name)| keep(name)) {
            let mut rest = whole.rest().get(at);
            let mut parent = whole.parent(at as u16);
            while let Some(up) = parent.filter(|&up| !keep(&whole.names()[usize::from(up)])) {
                let moved = whole.rest().get(up.into()).translation;
                rest.translation = std::array::from_fn(|c| rest.translation[c] + moved[c]);
                parent = whole.parent(up);
            }
            let place =
                parent.and_then(|up| joints.iter().position(|it| it.name == whole.names()[usize::from(up)]));
            joints.push(Joint::new(name.clone(), place.map(|at| at as u16), rest));
        }
        for &(name, parent, translation) in extra {
            let parent = joints.iter().position(|it| it.name == parent).map(|at| at as u16);
            joints.push(Joint::new(name, parent, Transform { translation, ..Transform::IDENTITY }));
        }
        let skeleton = Skeleton::new(joints).expect("parents before children");
        let roles = Build::roles(&skeleton);
        let pairs = roles.iter().map(|(role, joint)| (role.parse().expect("a role"), *joint));
        let map = Humanoid::new(&skeleton, pairs).expect("a humanoid");
        Body::new(&skeleton, &map).expect("its map")
    }

    fn matches(source: &Body, target: &Body) -> Vec<(String, [String; 2], f64)> {
        let found = follow(source, target);
        let name = |at: usize| source.skeleton.names()[at].clone();
        let named = |it: Match| (target.skeleton.names()[it.joint].clone(), it.sources.map(name), it.weight);
        found.into_iter().map(named).collect()
    }

    fn of<'a>(all: &'a [(String, [String; 2], f64)], name: &str) -> (&'a str, &'a str, f64) {
        let found = all.iter().find(|it| it.0 == name).expect("a match");
        (&found.1[0], &found.1[1], found.2)
    }

    #[test]
    fn equal_bodies_match_by_role() {
        let whole = body(|_| true, &[]);
        let all = matches(&whole, &whole);
        assert_eq!(all.len(), whole.joint_count());
        assert!(all.iter().all(|(to, from, _)| from.iter().all(|from| from == to)), "{all:?}");
    }

    #[test]
    fn spines_of_other_counts_match_by_length() {
        let whole = body(|_| true, &[]);
        let two = body(|name| name != "Spine1", &[]);
        let one = body(|name| name != "Spine1" && name != "Spine2", &[]);
        let all = matches(&whole, &two);
        // The lower bone of two is as long as both lower bones of three.
        assert_eq!(of(&all, "Spine").0, "Spine");
        assert_eq!(of(&all, "Spine").1, "Spine1");
        assert_eq!(of(&all, "Spine2"), ("Spine2", "Spine2", 0.0));
        let all = matches(&one, &whole);
        let (low, high, weight) = of(&all, "Spine1");
        assert_eq!((low, high, weight), ("Spine", "Spine", 0.0));
        let all = matches(&whole, &one);
        let (low, high, _) = of(&all, "Spine");
        assert!(low == "Spine1" || high == "Spine1", "{low} {high}");
    }

    #[test]
    fn missing_joints_follow_their_neighbours() {
        let whole = body(|_| true, &[]);
        let bare =
            body(|name| !["Shoulder", "Neck", "Index", "Toe"].iter().any(|part| name.contains(part)), &[]);
        let all = matches(&bare, &whole);
        assert_eq!(of(&all, "LeftShoulder").0, "Spine2");
        assert_eq!(of(&all, "RightToeBase").0, "RightFoot");
        assert_eq!(of(&all, "LeftHandIndex2").0, "LeftHandMiddle2");
        let (below, head, weight) = of(&all, "Neck");
        assert_eq!((below, head), ("Spine2", "Head"));
        assert!((0.0..=1.0).contains(&weight), "{weight}");
        assert!(matches(&whole, &bare).iter().all(|(to, from, _)| from[0] == *to && from[1] == *to));
    }

    #[test]
    fn other_joints_match_by_name_in_the_same_part() {
        let hat = ("Hat", "Head", [0.0, 0.2, 0.0]);
        let a = body(|_| true, &[hat, ("Bag", "LeftHand", [0.1, 0.0, 0.0])]);
        let b = body(|_| true, &[hat, ("Bag", "RightHand", [0.1, 0.0, 0.0]), ("Tail", "Hips", [0.0; 3])]);
        let all = matches(&a, &b);
        assert_eq!(of(&all, "Hat").0, "Hat");
        assert!(all.iter().all(|it| it.0 != "Bag" && it.0 != "Tail"), "{all:?}");
    }

    #[test]
    fn twists_have_their_part_of_the_bone() {
        let extra =
            [("ForeTwist", "LeftForeArm", [0.155, 0.0, 0.0]), ("ArmTwist", "LeftArm", [0.0775, 0.0, 0.0])];
        let Body { skeleton, map, .. } = body(|_| true, &extra);
        let joint = |name: &str| skeleton.joint_by_name(name).expect("a joint");
        let map = map.with_twists([
            crate::rig::Twist { of: Role::LeftLowerArm, joint: joint("ForeTwist") },
            crate::rig::Twist { of: Role::LeftUpperArm, joint: joint("ArmTwist") },
        ]);
        let found = twists(&Body::new(&skeleton, &map).expect("its map"), &map);
        assert_eq!((found[0].from, found[0].to), (joint("LeftHand"), joint("LeftForeArm")));
        assert!((found[0].part - 0.5).abs() < 1e-6, "{found:?}");
        assert_eq!((found[1].from, found[1].to), (joint("LeftArm"), joint("LeftShoulder")));
        assert!((found[1].part + 0.75).abs() < 1e-6, "{found:?}");
    }
}
