//! Gives the joints of a body their roles.

use condyle_base::math::vectors::dot;

use super::body::Body;
use super::found::{Doubt, Evidence, Found, Hints, NotHumanoid};
use super::front::{Basis, Front};
use super::humanoid::{Humanoid, Metacarpal, Twist};
use super::role::{Role, Side};
use super::trunk::{NO_STANCE, Trunk};
use super::words::Part;

/// Roles that have their joints so far.
pub(super) struct Chosen<'a, 'b> {
    pub(super) body: &'b Body<'a>,
    hints: &'b Hints<'b>,
    joints: [Option<u16>; Role::ALL.len()],
    doubts: Vec<Doubt>,
    pub(super) metacarpals: Vec<Metacarpal>,
}

impl<'a, 'b> Chosen<'a, 'b> {
    pub(super) fn new(body: &'b Body<'a>, hints: &'b Hints<'b>) -> Self {
        let joints = [None; Role::ALL.len()];
        let mut chosen = Self { body, hints, joints, doubts: Vec::new(), metacarpals: Vec::new() };
        for (role, joint) in &hints.given {
            chosen.joints[*role as usize] = *joint;
        }
        chosen
    }

    /// Returns whether the caller decided on a role.
    fn is_given(&self, role: Role) -> bool {
        self.hints.given.iter().any(|(it, _)| *it == role)
    }

    /// Returns whether a joint has a role already.
    pub(super) fn is_taken(&self, joint: u16) -> bool {
        self.joints.contains(&Some(joint))
    }

    /// Gives a role to a joint, unless the caller decided on the role or the joint has one.
    pub(super) fn give(&mut self, role: Role, joint: u16) {
        if !self.is_given(role) && !self.is_taken(joint) {
            self.joints[role as usize] = Some(joint);
        }
    }

    pub(super) fn joint(&self, role: Role) -> Option<u16> {
        self.joints[role as usize]
    }

    pub(super) fn doubt(&mut self, role: Role, why: impl Into<String>) {
        if let Some(joint) = self.joint(role).filter(|_| !self.is_given(role)) {
            self.doubts.push(Doubt { role, joint, why: why.into() });
        }
    }

    fn fit(&self, role: Role, joint: u16) -> f64 {
        self.body.reading(joint).fit(role)
    }
}

/// Gives all roles but the fingers'.
pub(super) fn choose(chosen: &mut Chosen<'_, '_>, trunk: &Trunk, front: &Front) {
    let body = chosen.body;
    let hips = hips(body, trunk.hips);
    chosen.give(Role::Hips, hips);
    let top = trunk.arms.branch;
    spine(chosen, hips, top);
    head(chosen, top, trunk.head, front.basis == Basis::Shape && front.names_differ);
    for side in [Side::Left, Side::Right] {
        let at = |pair: usize| match side {
            Side::Left => front.left_limb[pair],
            Side::Right => 1 - front.left_limb[pair],
        };
        let (leg, arm) = (trunk.legs.limbs[at(0)], trunk.arms.limbs[at(1)]);
        for (role, joint) in
            [Role::LeftUpperLeg, Role::LeftLowerLeg, Role::LeftFoot].into_iter().zip(leg.joints)
        {
            chosen.give(role.on(side), joint);
        }
        for (role, joint) in
            [Role::LeftUpperArm, Role::LeftLowerArm, Role::LeftHand].into_iter().zip(arm.joints)
        {
            chosen.give(role.on(side), joint);
        }
        shoulder(chosen, side, top, arm.joints[0]);
        toes(chosen, side, leg.joints[2]);
    }
    sides(chosen, front);
}

/// Returns the hips: the joint that carries legs and spine, or the one above it if that has the name.
fn hips(body: &Body<'_>, lowest: u16) -> u16 {
    let is_spine = matches!(body.reading(lowest).part, Some(Part::Spine | Part::Chest));
    let above = body.upwards(lowest).skip(1).take(2);
    let named = above.into_iter().find(|&it| matches!(body.reading(it).part, Some(Part::Hips | Part::Hip)));
    named.filter(|&it| is_spine && !body.reading(it).is_extra()).unwrap_or(lowest)
}

fn spine(chosen: &mut Chosen<'_, '_>, hips: u16, top: u16) {
    let body = chosen.body;
    let mut path = body.path(hips, top);
    path.push(top);
    let neck = body.reading(top).part == Some(Part::Neck) && path.len() > 1;
    if neck {
        chosen.give(Role::Neck, top);
        path.pop();
    }
    // A second pelvis is not a part of the spine.
    let is_bone = |it: &u16| !body.reading(*it).is_extra() && body.reading(*it).part != Some(Part::Hips);
    let bones: Vec<u16> = path.iter().copied().filter(is_bone).collect();
    let path = if bones.is_empty() { path } else { bones };
    let last = path.len() - 1;
    chosen.give(Role::Spine, path[0]);
    match last {
        0 => {}
        1 => chosen.give(Role::Chest, path[1]),
        _ => {
            chosen.give(Role::Chest, path[last / 2]);
            chosen.give(Role::UpperChest, path[last]);
        }
    }
}

fn head(chosen: &mut Chosen<'_, '_>, top: u16, head: u16, other_side: bool) {
    let body = chosen.body;
    chosen.give(Role::Head, head);
    let Some(head) = chosen.joint(Role::Head) else { return };
    let path = body.path(top, head);
    if let Some(&neck) = path.iter().find(|&&it| !body.reading(it).is_extra()).or(path.first()) {
        chosen.give(Role::Neck, neck);
    }
    for &joint in body.skeleton.subtree(head).iter().skip(1) {
        let reading = body.reading(joint);
        if reading.is_extra() {
            continue;
        }
        match (reading.part, reading.side) {
            (Some(Part::Eye), Some(side)) => {
                let eye = Role::LeftEye.on(side);
                let eye = if other_side { eye.mirrored() } else { eye };
                if chosen.joint(eye).is_none() {
                    chosen.give(eye, joint);
                }
            }
            (Some(Part::Jaw), None) if chosen.joint(Role::Jaw).is_none() => chosen.give(Role::Jaw, joint),
            _ => {}
        }
    }
}

fn shoulder(chosen: &mut Chosen<'_, '_>, side: Side, top: u16, arm: u16) {
    let body = chosen.body;
    let role = Role::LeftShoulder.on(side);
    let path = body.path(top, arm);
    let fit = |joint: &u16| chosen.fit(role, *joint);
    let best = path.iter().copied().filter(|it| fit(it) > -2.0).max_by(|a, b| {
        let bone = |it: &u16| body.distance(*it, arm);
        fit(a).total_cmp(&fit(b)).then(bone(a).total_cmp(&bone(b)))
    });
    if let Some(best) = best {
        chosen.give(role, best);
    }
}

fn toes(chosen: &mut Chosen<'_, '_>, side: Side, foot: u16) {
    let body = chosen.body;
    let role = Role::LeftToes.on(side);
    let mut below: Vec<u16> = body.children(foot).take(16).collect();
    let deeper: Vec<u16> = below.iter().flat_map(|&it| body.children(it).take(8)).collect();
    below.extend(deeper);
    let named = below.iter().copied().filter(|&it| chosen.fit(role, it) > 0.4);
    // Equal names: the joint nearest to the foot in the tree.
    let named = named.min_by(|a, b| chosen.fit(role, *b).total_cmp(&chosen.fit(role, *a)));
    let unnamed = |it: &u16| body.reading(*it).part.is_none() && !body.reading(*it).is_extra();
    let longest = |a: &u16, b: &u16| body.distance(foot, *a).total_cmp(&body.distance(foot, *b));
    let shaped =
        || body.children(foot).filter(unnamed).filter(|&it| body.distance(foot, it) > 0.0).max_by(longest);
    if let Some(toes) = named.or_else(shaped) {
        chosen.give(role, toes);
    }
}

/// Doubts about left and right.
fn sides(chosen: &mut Chosen<'_, '_>, front: &Front) {
    let why = match front.basis {
        Basis::Shape if front.names_differ => {
            "the name has the other side, but feet or face show left and right"
        }
        Basis::Convention => "nothing shows left and right; the front is taken to be +Z",
        _ => return,
    };
    for role in Role::ALL.into_iter().filter(|role| role.side().is_some()) {
        chosen.doubt(role, why);
    }
}

/// Score of a body's shape and names below which its proportions are doubted.
const UNLIKELY: f64 = -4.5;

impl Chosen<'_, '_> {
    /// Builds the humanoid, with twists, evidence and doubts.
    pub(super) fn finish(mut self, trunk: &Trunk) -> Result<Found, NotHumanoid> {
        let body = self.body;
        let missing: Vec<Role> =
            Role::ALL.into_iter().filter(|role| role.is_required() && self.joint(*role).is_none()).collect();
        if !missing.is_empty() {
            return Err(NotHumanoid { missing, why: "the corrections leave out required roles".into() });
        }
        let has_stance = trunk.stance < NO_STANCE && body.size > 0.0;
        if !has_stance {
            self.doubt(
                Role::Hips,
                "the pose is no stance: all bones have one direction, so names alone decide",
            );
        }
        if trunk.score < UNLIKELY {
            self.doubt(Role::Hips, "names say little, and the proportions differ from those of a human body");
        }
        let pairs = Role::ALL.into_iter().filter_map(|role| Some((role, self.joints[role as usize]?)));
        let pairs: Vec<(Role, u16)> = pairs.collect();
        let humanoid = Humanoid::with_loose_feet(body.skeleton, pairs.iter().copied())
            .map_err(|error| NotHumanoid { missing: Vec::new(), why: error.to_string() })?;
        for foot in [Role::LeftFoot, Role::RightFoot].into_iter().filter(|foot| humanoid.is_loose(*foot)) {
            let Some(joint) = humanoid.joint(foot).filter(|_| !self.hints.loose_feet) else {
                self.doubt(
                    foot,
                    "the joint is not below the shin, so it follows only by its own translation",
                );
                continue;
            };
            let why = format!("{:?} has the name of a foot but is not below the shin", body.name(joint));
            return Err(NotHumanoid { missing: vec![foot], why });
        }
        let evidence: Vec<(Role, Evidence)> =
            pairs.iter().map(|&(role, joint)| (role, self.evidence(role, joint))).collect();
        for &(role, joint) in &pairs {
            if self.fit(role, joint) < -2.0 && !self.names_role(role, joint) {
                self.doubt(role, format!("the name {:?} means another part", body.name(joint)));
            }
        }
        let twists = twists(body, &humanoid);
        self.doubts.sort_by_key(|doubt| doubt.role);
        let humanoid = humanoid.with_twists(twists).with_metacarpals(self.metacarpals);
        Ok(Found { humanoid, doubts: self.doubts, has_stance, is_posed: false, unused_bones: None, evidence })
    }

    fn evidence(&self, role: Role, joint: u16) -> Evidence {
        let side = self.body.reading(joint).side;
        let other = role.side().zip(side).is_some_and(|(a, b)| a != b);
        match () {
            () if self.is_given(role) => Evidence::Given,
            () if self.names_role(role, joint) && !other => Evidence::NameAndShape,
            () => Evidence::Shape,
        }
    }

    fn names_role(&self, role: Role, joint: u16) -> bool {
        let part = self.body.reading(joint).part;
        let finger =
            role as usize >= Role::LeftThumbMetacarpal.on(role.side().unwrap_or(Side::Left)) as usize;
        match part {
            Some(Part::Digit(_) | Part::Finger) => finger && role.side().is_some(),
            Some(Part::Spine | Part::Chest) => {
                matches!(role, Role::Spine | Role::Chest | Role::UpperChest | Role::Hips)
            }
            _ => self.fit(role, joint) > 0.2,
        }
    }
}

/// Limb bones that twists split.
const TWISTED: [Role; 4] = [Role::LeftUpperArm, Role::LeftLowerArm, Role::LeftUpperLeg, Role::LeftLowerLeg];

/// Returns the joints that take a part of a limb's twist: named so, or on the bone's line.
fn twists(body: &Body<'_>, humanoid: &Humanoid) -> Vec<Twist> {
    let mut twists = Vec::new();
    for role in TWISTED.into_iter().flat_map(|role| [role, role.mirrored()]) {
        let (Some(from), Some(to)) = (humanoid.joint(role), humanoid.joint(next(role))) else { continue };
        let bone = body.between(from, to);
        let mut open: Vec<u16> = body.children(from).take(64).collect();
        while let Some(joint) = open.pop() {
            let reading = body.reading(joint);
            if joint == to || humanoid.role(joint).is_some() || reading.helper || reading.tip {
                continue;
            }
            let along = dot(body.between(from, joint), bone) / dot(bone, bone);
            let inside = body.is_on_bone(joint, from, to) && (0.05..0.97).contains(&along);
            let carries = body.is_below(to, joint);
            let unnamed = reading.part.is_none() || reading.fit(role) > 0.0;
            // A bone in pieces: `thigh.L` and `thigh.L.001`.
            let piece = carries && reading.part.is_some() && reading.part == body.reading(from).part;
            if reading.twist
                || piece
                || (inside && unnamed && (carries || body.children(joint).next().is_none()))
            {
                twists.push(Twist { of: role, joint });
            }
            if twists.len() > 64 {
                break;
            }
            open.extend(body.children(joint).take(8));
        }
    }
    twists.sort_by_key(|twist| (twist.of, twist.joint));
    twists
}

/// Returns the role of the joint at the end of a limb's bone.
fn next(role: Role) -> Role {
    Role::ALL[role as usize + 1]
}
