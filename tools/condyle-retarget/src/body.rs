//! One body at rest: places and rotations of its joints, its neutral pose, and the measures of its legs.

use condyle::skeleton::NO_PARENT;
use condyle::{Error, Skeleton, Transform};
use condyle_solve::foot_placement::Planted;

use crate::maths::{
    IDENTITY, Quat64, UP, Vec3, about, add, arc_or, atan2_f64, conjugate, cross, direction, dot, flat,
    length, moved, product, renormalized, rotate, scaled, sub,
};
use crate::rig::{Humanoid, Role, Side};

/// Both sides, in the order of all arrays of two.
pub(crate) const SIDES: [Side; 2] = [Side::Left, Side::Right];

/// Rotation, place and scale of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub(crate) turn: Quat64,
    pub(crate) at: Vec3,
    pub(crate) scale: f64,
}

impl Place {
    pub(crate) const IDENTITY: Self = Self { turn: IDENTITY, at: [0.0; 3], scale: 1.0 };

    /// Returns the single scale of a transform: the mean of three different ones.
    pub(crate) fn scale_of([x, y, z]: [f32; 3]) -> f64 {
        if x == y && y == z { x.into() } else { (f64::from(x) + f64::from(y) + f64::from(z)) / 3.0 }
    }

    /// Returns a local transform.
    pub(crate) fn local(t: &Transform) -> Self {
        let turn = renormalized(t.rotation.map(f64::from));
        Self { turn, at: t.translation.map(f64::from), scale: Self::scale_of(t.scale) }
    }

    /// Returns the child's place, where `self` is its parent's.
    pub(crate) fn then(&self, local: &Self) -> Self {
        Self {
            turn: renormalized(product(self.turn, local.turn)),
            at: add(self.at, rotate(self.turn, scaled(local.at, self.scale))),
            scale: self.scale * local.scale,
        }
    }
}

/// One leg.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Leg {
    pub(crate) thigh: usize,
    pub(crate) shin: usize,
    pub(crate) foot: usize,
    /// The foot is not below the shin.
    pub(crate) is_loose: bool,
    /// Knee in the space of the thigh.
    pub(crate) knee_in_thigh: Vec3,
    /// Ankle in the space of the shin.
    pub(crate) ankle_in_shin: Vec3,
    /// Ball of the foot in the space of the foot.
    pub(crate) toe_in_foot: Vec3,
    /// Lengths of thigh and shin.
    pub(crate) lengths: [f64; 2],
    /// Height of the ball above the floor.
    pub(crate) toe_height: f64,
    /// Height of the ankle above the floor.
    pub(crate) ankle_height: f64,
    /// Ball of the foot where the leg hangs straight, from the middle of the hip joints, horizontal.
    pub(crate) print: Vec3,
}

impl Leg {
    /// Joints of the leg.
    pub(crate) fn joints(&self) -> [usize; 3] {
        [self.thigh, self.shin, self.foot]
    }

    /// Length of the straight leg.
    pub(crate) fn length(&self) -> f64 {
        self.lengths[0] + self.lengths[1]
    }
}

/// One body at rest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Body {
    pub(crate) skeleton: Skeleton,
    pub(crate) map: Humanoid,
    pub(crate) parents: Vec<u16>,
    pub(crate) locals: Vec<Place>,
    pub(crate) rest: Vec<Place>,
    /// Rotation of each joint in the neutral pose.
    pub(crate) neutral: Vec<Quat64>,
    /// Nearest ancestor with a role, or the joint itself.
    pub(crate) roles: Vec<Option<Role>>,
    pub(crate) hips: usize,
    pub(crate) legs: [Leg; 2],
    /// Left of the upright body, horizontal.
    pub(crate) left: Vec3,
    /// Rotation from the rest pose to the upright one.
    pub(crate) upright: Quat64,
    /// Height of the ground.
    pub(crate) floor: f64,
    /// Whether the feet of the rest pose stand on the ground of the document.
    pub(crate) has_ground: bool,
    /// Extent of the joints below the hips along the vertical.
    pub(crate) height: f64,
    /// Distance of the hip joints.
    pub(crate) width: f64,
    /// Thresholds of a planted foot.
    pub(crate) planted: Planted,
}

impl Body {
    /// Measures a body.
    ///
    /// # Errors
    /// [`Error::Skeleton`] if the map belongs to another skeleton.
    pub(crate) fn new(skeleton: &Skeleton, map: &Humanoid) -> Result<Self, Error> {
        skeleton.check_fingerprint("the humanoid", map.fingerprint())?;
        let parents = skeleton.parents().to_vec();
        let locals: Vec<Place> = skeleton.rest().transforms().map(|t| Place::local(&t)).collect();
        let mut rest: Vec<Place> = Vec::with_capacity(locals.len());
        for (local, &parent) in locals.iter().zip(&parents) {
            let above = rest.get(usize::from(parent)).copied().unwrap_or(Place::IDENTITY);
            rest.push(if parent == NO_PARENT { *local } else { above.then(local) });
        }
        let joint = |role: Role| map.joint(role).map_or(0, usize::from);
        let hips = joint(Role::Hips);
        let thighs = SIDES.map(|side| joint(Role::LeftUpperLeg.on(side)));
        let [left_hip, right_hip] = thighs.map(|thigh| rest[thigh].at);
        let (upright, left) = stance(&rest, map, hips, sub(left_hip, right_hip));
        for place in &mut rest {
            place.turn = renormalized(product(upright, place.turn));
            place.at = rotate(upright, place.at);
        }
        let middle = scaled(add(rest[thighs[0]].at, rest[thighs[1]].at), 0.5);
        // Loose feet are not below the hips.
        let tops = [Role::Hips, Role::LeftFoot, Role::RightFoot].map(joint);
        let below = tops.iter().flat_map(|&top| skeleton.subtree(top as u16));
        let below = below.map(|&joint| rest[usize::from(joint)].at[1]);
        let [lowest, highest] =
            below.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], y| [low.min(y), high.max(y)]);
        let height = (highest - lowest).max(1e-6);
        // A document's ground is at 0, if the feet are near it. Motion capture places the root at the origin.
        let has_ground = (-0.05..0.1).contains(&(lowest / height));
        let floor = if has_ground { 0.0 } else { lowest };
        let mut legs = SIDES.map(|side| leg(&rest, map, side, Ground { middle, left, floor, height }));
        even(&mut legs, height);
        let mut body = Self {
            skeleton: skeleton.clone(),
            map: map.clone(),
            neutral: Vec::new(),
            roles: roles(&parents, map),
            width: length(sub(left_hip, right_hip)),
            planted: Planted::for_leg((legs[0].length() + legs[1].length()) / 2.0),
            parents,
            locals,
            rest,
            hips,
            legs,
            left,
            upright,
            floor,
            has_ground,
            height,
        };
        body.neutral = neutral(&body, map);
        Ok(body)
    }

    /// Number of joints.
    pub(crate) fn joint_count(&self) -> usize {
        self.parents.len()
    }

    /// Returns the parent of a joint.
    pub(crate) fn parent(&self, joint: usize) -> Option<usize> {
        Some(self.parents[joint]).filter(|&parent| parent != NO_PARENT).map(usize::from)
    }

    /// Direction that the body faces.
    pub(crate) fn forward(&self) -> Vec3 {
        cross(self.left, UP)
    }

    /// Returns the rest place of a joint in the space of another one.
    pub(crate) fn offset(&self, from: usize, to: usize) -> Vec3 {
        rotate(conjugate(self.rest[from].turn), sub(self.rest[to].at, self.rest[from].at))
    }

    /// Returns the parts of a vector to the left, up and to the front.
    pub(crate) fn seen(&self, v: Vec3) -> Vec3 {
        [dot(v, self.left), v[1], dot(v, self.forward())]
    }

    /// Mean over both legs.
    pub(crate) fn mean(&self, measure: impl Fn(&Leg) -> f64) -> f64 {
        (measure(&self.legs[0]) + measure(&self.legs[1])) / 2.0
    }

    /// Height of the hip joints above the floor where both legs are straight.
    pub(crate) fn hip_height(&self) -> f64 {
        self.mean(|leg| leg.length() + leg.ankle_height)
    }
}

/// Returns the rotation that makes a rest pose stand upright, and the left of the upright body.
///
/// Rest poses within 45 degrees of upright stay: a body that leans at rest leans on purpose.
fn stance(rest: &[Place], map: &Humanoid, hips: usize, across: Vec3) -> (Quat64, Vec3) {
    let top = map.joint(Role::Head).map_or(hips, usize::from);
    let spine = direction(sub(rest[top].at, rest[hips].at)).unwrap_or(UP);
    let upright = if spine[1] > 0.7 { IDENTITY } else { arc_or(spine, UP, across) };
    let left = direction(flat(rotate(upright, across))).unwrap_or([1.0, 0.0, 0.0]);
    (upright, left)
}

/// Gives a lifted foot the heights of the standing one: a rest pose may be a frame of a walk.
fn even(legs: &mut [Leg; 2], height: f64) {
    let low = usize::from(legs[1].toe_height < legs[0].toe_height);
    let Leg { toe_height, ankle_height, .. } = legs[low];
    let lifted = &mut legs[1 - low];
    if lifted.toe_height - toe_height > 0.02 * height {
        (lifted.toe_height, lifted.ankle_height) = (toe_height, ankle_height);
    }
}

/// Measures that the legs refer to.
struct Ground {
    middle: Vec3,
    left: Vec3,
    floor: f64,
    height: f64,
}

/// Measures one leg.
fn leg(rest: &[Place], map: &Humanoid, side: Side, ground: Ground) -> Leg {
    let joint = |role: Role| map.joint(role.on(side)).map(usize::from);
    let at = |role: Role| joint(role).unwrap_or_default();
    let (thigh, shin, foot) = (at(Role::LeftUpperLeg), at(Role::LeftLowerLeg), at(Role::LeftFoot));
    let forward = cross(ground.left, UP);
    let ankle = rest[foot].at;
    // A foot without a toe joint has its ball on the ground, 8 % of the height in front of the ankle.
    let ball = || {
        let ahead = moved(ankle, forward, 0.08 * ground.height);
        [ahead[0], ground.floor + 0.15 * (ankle[1] - ground.floor), ahead[2]]
    };
    let toe = joint(Role::LeftToes).map_or_else(ball, |toe| rest[toe].at);
    let inside = |joint: usize, to: Vec3| rotate(conjugate(rest[joint].turn), sub(to, rest[joint].at));
    let hip = sub(rest[thigh].at, ground.middle);
    Leg {
        thigh,
        shin,
        foot,
        is_loose: map.is_loose(Role::LeftFoot.on(side)),
        knee_in_thigh: inside(thigh, rest[shin].at),
        ankle_in_shin: inside(shin, ankle),
        toe_in_foot: inside(foot, toe),
        lengths: [length(sub(rest[shin].at, rest[thigh].at)), length(sub(ankle, rest[shin].at))],
        toe_height: toe[1] - ground.floor,
        ankle_height: ankle[1] - ground.floor,
        print: flat(add(hip, sub(toe, ankle))),
    }
}

/// Returns the role of each joint: its own, or that of the nearest ancestor with one.
fn roles(parents: &[u16], map: &Humanoid) -> Vec<Option<Role>> {
    let mut roles: Vec<Option<Role>> = vec![None; parents.len()];
    for (role, joint) in map.roles() {
        roles[usize::from(joint)] = Some(role);
    }
    for joint in 0..parents.len() {
        if roles[joint].is_none() && parents[joint] != NO_PARENT {
            roles[joint] = roles[usize::from(parents[joint])];
        }
    }
    roles
}

/// Returns the rotations of the neutral pose: arms straight to the sides, legs straight down, all else at
/// rest. Each bone turns the shortest way, after the bones above it.
fn neutral(body: &Body, map: &Humanoid) -> Vec<Quat64> {
    let mut turns = vec![IDENTITY; body.joint_count()];
    let at = |role: Role| map.joint(role).map(usize::from);
    for joint in 0..body.joint_count() {
        let inherited = body.parent(joint).map_or(IDENTITY, |parent| turns[parent]);
        turns[joint] = match map.role(joint as u16) {
            None => inherited,
            Some(role) => {
                let side = role.side().unwrap_or(Side::Left);
                let aim = |toward: Role, to: Vec3| {
                    let Some(end) = at(toward.on(side)) else { return inherited };
                    let bone = rotate(inherited, sub(body.rest[end].at, body.rest[joint].at));
                    renormalized(product(arc_or(bone, to, hinge(body, role)), inherited))
                };
                let outwards = if side == Side::Left { body.left } else { scaled(body.left, -1.0) };
                match role.on(Side::Left) {
                    Role::LeftUpperArm => aim(Role::LeftLowerArm, outwards),
                    Role::LeftLowerArm => aim(Role::LeftHand, outwards),
                    Role::LeftHand => aim(Role::LeftMiddleProximal, outwards),
                    Role::LeftUpperLeg => aim(Role::LeftLowerLeg, scaled(UP, -1.0)),
                    Role::LeftLowerLeg => aim(Role::LeftFoot, scaled(UP, -1.0)),
                    Role::LeftFoot => foot(body, map, joint, side),
                    Role::LeftToes => inherited,
                    other if is_finger(other) => inherited,
                    _ => IDENTITY,
                }
            }
        };
    }
    (0..body.joint_count()).map(|joint| renormalized(product(turns[joint], body.rest[joint].turn))).collect()
}

/// Axis about which a bone that points the opposite way turns.
fn hinge(body: &Body, role: Role) -> Vec3 {
    if matches!(role.on(Side::Left), Role::LeftUpperLeg | Role::LeftLowerLeg) { body.left } else { UP }
}

/// Feet keep their rest pose, unless they point more than 60 degrees away from where the body faces.
fn foot(body: &Body, map: &Humanoid, joint: usize, side: Side) -> Quat64 {
    let Some(toe) = map.joint(Role::LeftToes.on(side)) else { return IDENTITY };
    let Some(points) = direction(sub(body.rest[usize::from(toe)].at, body.rest[joint].at)) else {
        return IDENTITY;
    };
    let forward = body.forward();
    if dot(points, forward) > 0.5 || -points[1] > 0.5 && dot(points, forward) > 0.0 {
        return IDENTITY;
    }
    // Forward and 30 degrees down, as most feet are modelled.
    arc_or(points, sub(scaled(forward, 0.87), scaled(UP, 0.5)), body.left)
}

fn is_finger(left: Role) -> bool {
    (Role::LeftThumbMetacarpal as usize..=Role::LeftLittleDistal as usize).contains(&(left as usize))
}

/// Returns the rotation about +Y by which one body faces another way than another.
pub(crate) fn facing(from: &Body, to: &Body) -> Quat64 {
    let [a, b] = [from, to].map(Body::forward);
    about(UP, atan2_f64(a[2] * b[0] - a[0] * b[2], a[0] * b[0] + a[2] * b[2]))
}
