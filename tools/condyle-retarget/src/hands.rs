//! Hands that are near each other keep the vector between them, in lengths of the arm.

use condyle_solve::PosedLimb;

use crate::body::{Body, Place, SIDES};
use crate::maths::{Quat64, Vec3, add, conjugate, length, product, rotate, scaled, smooth, sub};
use crate::rig::Role;

/// Distance of the wrists up to which they keep their vector, in arm lengths, and the width of the border.
const NEAR: [f64; 2] = [0.3, 0.4];

/// Last part of the length over which an arm, or a leg in the air, straightens ever more slowly.
pub(crate) const SOFT: f64 = 0.05;

/// One arm of a body at rest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arm {
    pub(crate) upper: usize,
    pub(crate) lower: usize,
    pub(crate) hand: usize,
    elbow_in_upper: Vec3,
    wrist_in_lower: Vec3,
    /// Joints from the hips to the shoulder, each with the place of the next one in its space.
    path: Vec<(usize, Vec3)>,
    /// Length of the arm.
    pub(crate) length: f64,
}

impl Arm {
    /// Measures both arms of a body.
    pub(crate) fn both(body: &Body) -> [Self; 2] {
        SIDES.map(|side| {
            let joint = |role: Role| body.map.joint(role.on(side)).map_or(0, usize::from);
            let [upper, lower, hand] = [Role::LeftUpperArm, Role::LeftLowerArm, Role::LeftHand].map(joint);
            let inside = |from: usize, to: usize| {
                let from: &Place = &body.rest[from];
                rotate(conjugate(from.turn), sub(body.rest[to].at, from.at))
            };
            let mut path = Vec::new();
            let mut at = upper;
            while let Some(parent) = body.parent(at).filter(|_| at != body.hips) {
                path.push((parent, inside(parent, at)));
                at = parent;
            }
            path.reverse();
            let (elbow_in_upper, wrist_in_lower) = (inside(upper, lower), inside(lower, hand));
            let length = length(elbow_in_upper) + length(wrist_in_lower);
            Self { upper, lower, hand, elbow_in_upper, wrist_in_lower, path, length }
        })
    }

    /// Returns the arm in a pose.
    fn posed(&self, body: &Body, turns: &[Quat64]) -> PosedArm {
        let shoulder =
            self.path.iter().fold([0.0; 3], |at, &(joint, next)| add(at, rotate(turns[joint], next)));
        let (upper, lower) = (turns[self.upper], turns[self.lower]);
        // Elbows bend about the vertical of the neutral pose.
        let since = product(upper, conjugate(body.neutral[self.upper]));
        let out = rotate(since, crate::maths::UP);
        let limb = PosedLimb {
            upper: rotate(upper, self.elbow_in_upper),
            lower: rotate(lower, self.wrist_in_lower),
            hinge: out,
        };
        PosedArm { shoulder, limb }
    }
}

/// Both arms of a body.
#[derive(Clone, Copy)]
pub(crate) struct Arms<'a> {
    pub(crate) body: &'a Body,
    pub(crate) arms: &'a [Arm; 2],
}

/// One arm of a pose, from the hips.
struct PosedArm {
    shoulder: Vec3,
    limb: PosedLimb,
}

impl PosedArm {
    fn wrist(&self) -> Vec3 {
        add(self.shoulder, add(self.limb.upper, self.limb.lower))
    }

    /// Returns the rotations of upper arm and forearm that move the wrist.
    fn moved(&self, by: Vec3) -> [Quat64; 2] {
        let goal = add(add(self.limb.upper, self.limb.lower), by);
        let hinge = hinge(&self.limb);
        PosedLimb { hinge, ..self.limb }.change(goal, SOFT, 0.0)
    }
}

/// Returns the rotations of upper arm and forearm, for both sides, that keep the vector between the wrists.
/// `None` if they are far from each other.
pub(crate) fn meet(
    source: Arms<'_>,
    target: Arms<'_>,
    places: &[Place],
    turns: &[Quat64],
) -> Option<[[Quat64; 2]; 2]> {
    let [a, b] = [0, 1].map(|side: usize| places[source.arms[side].hand].at);
    let between = sub(a, b);
    let [theirs, own] = [source.arms, target.arms].map(|arms| (arms[0].length + arms[1].length) / 2.0);
    if theirs <= 0.0 || own <= 0.0 {
        return None;
    }
    let weight = 1.0 - smooth((length(between) / theirs - NEAR[0]) / NEAR[1]);
    if weight <= 0.0 {
        return None;
    }
    let [left, right] = [0, 1].map(|side: usize| target.arms[side].posed(target.body, turns));
    let gap = sub(scaled(between, own / theirs), sub(left.wrist(), right.wrist()));
    let each = scaled(gap, 0.5 * weight);
    Some([left.moved(each), right.moved(scaled(each, -1.0))])
}

/// Returns the axis of the elbow: the vertical of the neutral pose, on the side to which the arm bends.
fn hinge(limb: &PosedLimb) -> Vec3 {
    let bend = crate::maths::cross(limb.upper, limb.lower);
    if crate::maths::dot(bend, limb.hinge) < 0.0 { scaled(limb.hinge, -1.0) } else { limb.hinge }
}
