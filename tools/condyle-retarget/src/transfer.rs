//! Rotations of the target from one pose of the source, and the measures of its legs.

use core::f64::consts::{PI, TAU};

use condyle::Pose;
use condyle::skeleton::NO_PARENT;

use crate::body::Place;
use crate::footing::Ground;
use crate::mapping::{Drive, Follower};
use crate::matching::Twisted;
use crate::maths::{
    Quat64, Vec3, about, add, atan2_f64, conjugate, dot, length, nlerp, product, renormalized, rotate,
    scaled, sub,
};
use crate::plan::Plan;

/// Working memory of one pose.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Buffer {
    /// Places of the source's joints, which face as the target does.
    pub(crate) source: Vec<Place>,
    /// Rotations of the target's joints.
    pub(crate) turns: Vec<Quat64>,
}

impl Buffer {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            source: vec![Place::IDENTITY; plan.source.joint_count()],
            turns: vec![crate::maths::IDENTITY; plan.target.joint_count()],
        }
    }
}

/// One leg in one pose.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct LegMoment {
    /// Ball of the source's foot.
    pub(crate) toe: Vec3,
    /// Ankle of the source.
    pub(crate) ankle: Vec3,
    /// Ball of the target's foot, from its ankle.
    pub(crate) foot: Vec3,
    /// Hip joint of the target.
    pub(crate) hip: Vec3,
    /// Distance from hip joint to ankle, as the rotations give it.
    pub(crate) extension: f64,
}

/// Both legs in one pose.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Moment {
    /// Sine and cosine of the heading of the pelvis, compared with the neutral pose.
    pub(crate) heading: [f64; 2],
    /// Middle of the target's hip joints.
    pub(crate) middle: Vec3,
    /// That middle, from the target's hips.
    pub(crate) from_hips: Vec3,
    pub(crate) legs: [LegMoment; 2],
}

impl Plan {
    /// Computes the places of all source joints.
    pub(crate) fn place_source(&self, pose: &Pose, places: &mut [Place]) {
        for (joint, t) in pose.transforms().enumerate() {
            self.place(joint, &Place::local(&t), places);
        }
    }

    /// Computes the places of the source joints that the legs need.
    pub(crate) fn place_legs(&self, pose: &Pose, places: &mut [Place]) {
        for &joint in &self.legs.source_joints {
            let joint = usize::from(joint);
            self.place(joint, &Place::local(&pose.get(joint)), places);
        }
    }

    #[inline(always)]
    fn place(&self, joint: usize, local: &Place, places: &mut [Place]) {
        let parent = self.source.parents[joint];
        places[joint] = if parent == NO_PARENT {
            Place { turn: self.mapping.facing, ..Place::IDENTITY }.then(local)
        } else {
            places[usize::from(parent)].then(local)
        };
    }

    /// Computes the rotations of all target joints from the places of the source.
    pub(crate) fn turn_target(&self, source: &[Place], turns: &mut [Quat64]) {
        for (joint, drive) in self.mapping.drives.iter().enumerate() {
            let parent = self.target.parents[joint];
            let above = turns.get(usize::from(parent)).copied().unwrap_or(crate::maths::IDENTITY);
            turns[joint] = match drive {
                Drive::Follow(it) => followed(it, source),
                // The twist is added once all rotations are known.
                Drive::Rest | Drive::Twist(_) => product(above, self.target.locals[joint].turn),
            };
        }
        for &joint in &self.mapping.late {
            let joint = usize::from(joint);
            if let Drive::Twist(it) = &self.mapping.drives[joint] {
                turns[joint] = twisted(it, turns);
            } else {
                let above = turns[usize::from(self.target.parents[joint])];
                turns[joint] = product(above, self.target.locals[joint].turn);
            }
        }
    }

    /// Returns the way from the target's hips to the hip joint of a leg.
    fn hip(&self, side: usize, hips: Quat64, source: &[Place]) -> Vec3 {
        let path = &self.legs.hip_paths[side];
        let (mut turn, mut at) = (hips, rotate(hips, path.first));
        for link in &path.links {
            turn = link.follower.as_ref().map_or_else(|| product(turn, link.turn), |it| followed(it, source));
            at = add(at, rotate(turn, link.next));
        }
        at
    }

    /// Measures both legs.
    pub(crate) fn moment(&self, source: &[Place], ground: &Ground) -> Moment {
        let mut turns = self.legs.followers.iter().map(|it| followed(it, source));
        let mut next = || turns.next().unwrap_or(crate::maths::IDENTITY);
        let hips = next();
        let [left, right] = self.source.legs.map(|leg| leg.thigh);
        let middle = self.middle(scaled(add(source[left].at, source[right].at), 0.5), ground);
        let own = [0, 1].map(|side| self.hip(side, hips, source));
        let from_hips = scaled(add(own[0], own[1]), 0.5);
        let hip = own.map(|own| add(middle, sub(own, from_hips)));
        let legs = [0, 1].map(|side| {
            let (own, theirs) = (&self.target.legs[side], &self.source.legs[side]);
            let [thigh, shin, foot] = [next(), next(), next()];
            let ankle = source[theirs.foot];
            let leg = add(rotate(thigh, own.knee_in_thigh), rotate(shin, own.ankle_in_shin));
            LegMoment {
                toe: add(ankle.at, rotate(ankle.turn, theirs.toe_in_foot)),
                ankle: ankle.at,
                foot: rotate(foot, own.toe_in_foot),
                hip: hip[side],
                extension: length(leg),
            }
        });
        let neutral = self.target.neutral[self.target.hips];
        let [_, y, _, w] = product(hips, conjugate(neutral));
        // Sine and cosine of twice the angle.
        let square = y * y + w * w;
        let heading =
            if square > 1e-12 { [2.0 * y * w / square, (w * w - y * y) / square] } else { [0.0, 1.0] };
        Moment { heading, middle, from_hips, legs }
    }
}

/// Returns the rotation of a joint that takes a part of the twist of a bone.
fn twisted(it: &Twisted, turns: &[Quat64]) -> Quat64 {
    let [from, to, carrier] = [it.from, it.to, it.carrier].map(|at| turns[usize::from(at)]);
    // Rotation of the bone since the rest pose, in the space of the bone.
    let since = product(conjugate(it.rest), product(conjugate(to), from));
    let along = dot([since[0], since[1], since[2]], it.axis);
    let angle = 2.0 * atan2_f64(along, since[3]);
    let angle = if angle > PI { angle - TAU } else { angle };
    let angle = if angle < -PI { angle + TAU } else { angle };
    // The axis in the space of the joint that carries the twist joint.
    let axis = rotate(conjugate(carrier), rotate(from, it.axis));
    renormalized(product(carrier, product(about(axis, angle * it.part), it.own)))
}

/// Returns the rotation of a joint that follows the source.
#[inline(always)]
pub(crate) fn followed(it: &Follower, source: &[Place]) -> Quat64 {
    let [a, b] = it.source.map(usize::from);
    let first = product(source[a].turn, it.offset[0]);
    if a == b {
        return first;
    }
    nlerp(first, product(source[b].turn, it.offset[1]), it.weight)
}
