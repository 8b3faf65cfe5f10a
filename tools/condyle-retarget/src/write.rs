//! The target's pose: local transforms from rotations, and the change that brings the feet to their goals.

use condyle::{Pose, Transform};
use condyle_solve::PosedLimb;

use crate::body::{Body, Place, SIDES};
use crate::hands::{Arms, SOFT, meet};
use crate::maths::{
    IDENTITY, Quat64, Vec3, add, conjugate, length, product, renormalized, rotate, scaled, sub,
};
use crate::plan::Plan;
use crate::transfer::{Buffer, Moment};

/// Where the feet and the pelvis go in one pose.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Goals {
    /// Goals of the ankles.
    pub(crate) ankles: [Vec3; 2],
    /// Weight of each foot as a standing one, from 0 to 1.
    pub(crate) stand: [f64; 2],
    /// Distance by which the pelvis comes down.
    pub(crate) drop: f64,
    /// Distance by which the goal of each standing foot is out of reach.
    pub(crate) missed: [f64; 2],
}

/// Writes the pose: rotations, the place of the hips, and legs that reach their goals.
pub(crate) fn write(
    plan: &Plan,
    source_pose: &Pose,
    buffer: &Buffer,
    moment: &Moment,
    goals: &mut Goals,
    pose: &mut Pose,
) {
    let (body, turns) = (&plan.target, &buffer.turns);
    let above = |joint: usize| body.parent(joint).map(|parent| turns[parent]);
    for (joint, (&turn, rest)) in turns.iter().zip(&body.locals).enumerate() {
        let local = above(joint).map_or(turn, |above| product(conjugate(above), turn));
        set(pose, joint, local, rest.at);
    }
    if plan.mapping.same {
        copy_translations(plan, source_pose, pose);
    }
    let middle = sub(moment.middle, [0.0, goals.drop, 0.0]);
    let hips = sub(middle, moment.from_hips);
    let above_hips = match body.parent(body.hips) {
        Some(parent) if plan.mapping.same => place_in(body, source_pose, parent),
        _ => plan.legs.above_hips,
    };
    put(pose, body.hips, &above_hips, turns[body.hips], hips);
    write_hands(plan, buffer, pose);
    for side in 0..SIDES.len() {
        let leg = &body.legs[side];
        let [thigh, shin, foot] = [leg.thigh, leg.shin, leg.foot].map(|joint| turns[joint]);
        let since = product(thigh, conjugate(body.neutral[leg.thigh]));
        let limb = PosedLimb {
            upper: rotate(thigh, leg.knee_in_thigh),
            lower: rotate(shin, leg.ankle_in_shin),
            hinge: rotate(since, body.left),
        };
        let hip = sub(moment.legs[side].hip, [0.0, goals.drop, 0.0]);
        let goal = sub(goals.ankles[side], hip);
        let [first, second] = limb.change(goal, SOFT, goals.stand[side]);
        let to = limb.tip([first, second]);
        goals.missed[side] = goals.stand[side] * length(sub(goal, to));
        let above_thigh = above(leg.thigh).unwrap_or(IDENTITY);
        turn_joint(pose, leg.thigh, product(conjugate(above_thigh), product(first, thigh)));
        let carried =
            |joint: usize, change: Quat64| above(joint).map_or(change, |above| product(change, above));
        turn_joint(pose, leg.shin, product(conjugate(carried(leg.shin, first)), product(second, shin)));
        if leg.is_loose {
            let carrier = body.parent(leg.foot);
            let place = carrier.map_or(Place::IDENTITY, |carrier| place_in(body, pose, carrier));
            put(pose, leg.foot, &place, foot, add(hip, to));
        } else {
            turn_joint(pose, leg.foot, product(conjugate(carried(leg.foot, second)), foot));
        }
    }
}

/// Turns the arms so that hands near each other keep the vector between them.
fn write_hands(plan: &Plan, buffer: &Buffer, pose: &mut Pose) {
    let (body, turns) = (&plan.target, &buffer.turns);
    let Some([theirs, own]) = &plan.arms else { return };
    let (source, target) = (Arms { body: &plan.source, arms: theirs }, Arms { body, arms: own });
    let Some(arms) = meet(source, target, &buffer.source, turns) else { return };
    for (arm, [first, second]) in own.iter().zip(arms) {
        for (joint, above, change) in
            [(arm.upper, IDENTITY, first), (arm.lower, first, second), (arm.hand, second, IDENTITY)]
        {
            let parent = body.parent(joint).map_or(IDENTITY, |parent| turns[parent]);
            let turn = product(change, turns[joint]);
            turn_joint(pose, joint, product(conjugate(product(above, parent)), turn));
        }
    }
}

/// Returns the place of a joint in a pose.
fn place_in(body: &Body, pose: &Pose, joint: usize) -> Place {
    // Without memory for the path, each ancestor is found again from the joint.
    let up = |from: usize| body.parent(from);
    let depth = core::iter::successors(Some(joint), |&joint| up(joint)).count();
    (0..depth).rev().fold(Place::IDENTITY, |place, above| {
        let joint = core::iter::successors(Some(joint), |&joint| up(joint)).nth(above);
        place.then(&joint.map_or(Place::IDENTITY, |joint| Place::local(&pose.get(joint))))
    })
}

/// Sets rotation and translation of a joint from those in the model, and keeps the scale.
fn put(pose: &mut Pose, joint: usize, parent: &Place, turn: Quat64, at: Vec3) {
    let scale = if parent.scale == 0.0 { 1.0 } else { parent.scale };
    let local = scaled(rotate(conjugate(parent.turn), sub(at, parent.at)), 1.0 / scale);
    set(pose, joint, product(conjugate(parent.turn), turn), local);
}

/// Copies translations and scales of the source, and the rotations above the hips.
fn copy_translations(plan: &Plan, source: &Pose, pose: &mut Pose) {
    for joint in 0..plan.target.joint_count() {
        let own = pose.get(joint);
        pose.set(joint, &Transform { rotation: own.rotation, ..source.get(joint) });
    }
    let mut above = plan.target.parent(plan.target.hips);
    while let Some(joint) = above {
        pose.set(joint, &source.get(joint));
        above = plan.target.parent(joint);
    }
}

/// Sets rotation and translation, and keeps the scale.
fn set(pose: &mut Pose, joint: usize, turn: Quat64, at: Vec3) {
    let scale = pose.get(joint).scale;
    let rotation = renormalized(turn).map(|v| v as f32);
    pose.set(joint, &Transform { rotation, translation: at.map(|v| v as f32), scale });
}

fn turn_joint(pose: &mut Pose, joint: usize, turn: Quat64) {
    let own = pose.get(joint);
    pose.set(joint, &Transform { rotation: renormalized(turn).map(|v| v as f32), ..own });
}
