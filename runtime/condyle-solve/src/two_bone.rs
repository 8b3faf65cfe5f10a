//! Two-bone IK: two joints of an arm or a leg turn so that the tip reaches a goal.

use self::direct::Source;
pub use self::posed::PosedLimb;
use super::Reached;
use super::chain::{carried, check_orientation};
use super::limits::Limits;
use super::maps::{
    Affine64, Vec64, above, across, add, angle, arc, check, check_distance, check_pose, check_unit,
    direction, length, nlerp, rotation_of, scaled, set_rotation, sub, swivel, turn, turned_above, unit, wide,
};
use super::sphere::nearest_at;
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_base::math::scalar::{sin_cos_f64, sqrt_f64};
use condyle_base::math::vectors::{cross, dot};
use condyle_base::math::{Affine, Quat};

/// Request for [`two_bone`](two_bone()): the joints of a limb, a goal and options.
///
/// ```
/// use condyle_solve::TwoBone;
///
/// // Shoulder, elbow and hand are joints 4, 5 and 6; the elbow points down.
/// let reach = TwoBone { pole: Some([0.0, -1.0, 0.0]), soft: 0.02, ..TwoBone::new([4, 5, 6], [0.5, 1.2, 0.3]) };
/// assert_eq!((reach.weight, reach.orientation), (1.0, None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoBone<'a> {
    /// Joint indices of shoulder, elbow and hand, or of hip, knee and foot. Each is a descendant of the one
    /// before it, not necessarily its child. The first two turn.
    pub joints: [u16; 3],
    /// Goal position of the third joint, in model space.
    pub goal: [f32; 3],
    /// Pole vector: direction in model space towards which the middle joint is bent, of any length.
    ///
    /// `None` keeps the limb in its current plane, which follows the tip by the shortest rotation. A straight
    /// limb without a pole vector bends towards an arbitrary side, which is always the same.
    pub pole: Option<[f32; 3]>,
    /// Axis of the middle joint: direction in model space about which the lower bone turns when a straight
    /// limb bends, by the right-hand rule, of any length. For a knee it is the body's left.
    ///
    /// With a hinge, the limb stays as near to its input pose as possible: see [`PosedLimb::change`]. A
    /// straight limb bends about the hinge and does not spin, and a tip at its goal leaves both rotations
    /// unchanged. `soft` then begins no earlier than the input pose is straight, and a limb whose scales
    /// between the joints are not uniform has no hinge. With a pole vector the whole limb then turns about
    /// the line to the goal.
    pub hinge: Option<[f32; 3]>,
    /// Goal orientation of the third joint in model space: the product of its rotation and those of its
    /// ancestors. `None` leaves its local rotation unchanged.
    pub orientation: Option<Quat>,
    /// Soft part of the limb's reach as a fraction of its length, from 0 (off) to 1.
    ///
    /// In this last part the limb stretches ever more slowly, so that the middle joint does not snap
    /// straight. For example, 0.05 softens the last 5 %. The tip does not quite reach a goal in this part. If
    /// the goal is at exactly full reach, half of the soft part is missing.
    pub soft: f32,
    /// Blend factor from the input rotations to the solved ones, from 0 to 1.
    pub weight: f32,
    /// Joint limits.
    pub limits: Option<&'a Limits>,
}

impl TwoBone<'_> {
    /// A request with weight 1 and without pole vector, orientation, softness or limits.
    #[must_use]
    pub fn new(joints: [u16; 3], goal: [f32; 3]) -> Self {
        Self {
            joints,
            goal,
            pole: None,
            hinge: None,
            orientation: None,
            soft: 0.0,
            weight: 1.0,
            limits: None,
        }
    }
}

/// Turns two joints so that a third one reaches a goal: an arm that reaches, a leg that stands.
///
/// First the middle joint turns until the tip is as far from the first joint as the goal. It turns about the
/// axis perpendicular to its bones, or about its hinge axis if its limit is a hinge. Then the first joint
/// turns the tip to the goal by the shortest rotation, so that no bone is twisted. With a pole vector it also
/// turns about the line to the goal.
///
/// A goal out of reach gives the nearest pose. Distances are compared in the space of the first joint's
/// parent, so non-uniform scales above the limb have no effect on them. If scales between the joints are
/// non-uniform, the solver finds the angle by a search. In this case, or if the limb meets a limit, the pose
/// is a local optimum and not always the global one.
///
/// `model` holds the matrices of `pose`; both have one element per joint. Only `pose` is changed.
///
/// Accuracy: without limits, the error of `distance` is at most 1e-6 times the limb's length. With limits and
/// a `weight` above 0, the result is within them, regardless of the input pose. A test used 200,000 random
/// goals that some pose within random limits reaches. With a hinge as middle joint, 2 of 160,000 goals were
/// missed; with a swinging middle joint, 107 of 40,000.
///
/// # Errors
/// [`Error::Length`] if `model` or `pose` does not hold one element per joint. [`Error::Skeleton`] if
/// `limits` were made for other joints. [`Error::Index`] if a joint does not exist. [`Error::NotFinite`] if
/// the goal, or a value that is read from the pose or the matrices, is NaN or infinite. [`Error::NotUnit`] if
/// the orientation's length differs from 1 by more than 2 %. [`Error::OutOfRange`] if a joint is not a
/// descendant of the one before it, if `soft` or `weight` is not from 0 to 1, or if the goal is 1e38 away or
/// more. [`Error::NotInvertible`] if the matrix above the first joint is singular. After an error the pose is
/// unchanged.
///
/// ```
/// use condyle::{Affine, Pose, example, local_to_model, model};
/// use condyle_solve::{TwoBone, two_bone};
///
/// let skeleton = example::skeleton();
/// let mut pose = Pose::rest(&skeleton);
/// let mut placed = vec![Affine::IDENTITY; skeleton.joint_count()];
/// local_to_model(&skeleton, &pose, &mut placed)?;
///
/// // The left foot on a stair, 30 cm up, and the knee to the front.
/// let pole = Some([0.0, 0.0, 1.0]);
/// let stair = TwoBone { pole, ..TwoBone::new(example::LEG_L, [0.125, 0.3, 0.0]) };
/// let reached = two_bone(&skeleton, &placed, &stair, &mut pose)?;
/// assert!(reached.distance < 1e-6);
/// model::subtree(&skeleton, &pose, example::LEG_L[0], &mut placed)?;
/// let [_, knee, foot] = example::LEG_L.map(|joint| placed[usize::from(joint)].transform_point([0.0; 3]));
/// assert!((foot[1] - 0.3).abs() < 1e-6 && knee[2] > 0.35);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn two_bone(
    skeleton: &Skeleton,
    model: &[Affine],
    reach: &TwoBone<'_>,
    pose: &mut Pose,
) -> Result<Reached, Error> {
    check(skeleton, model, pose, "joints", reach.joints)?;
    let limb = Source::new(skeleton, model, reach, pose);
    if let Some(([first, second], distance)) = limb.and_then(|limb| direct::solve(&limb)) {
        if reach.weight > 0.0 {
            set_rotation(pose, reach.joints[0], first);
            set_rotation(pose, reach.joints[1], second);
        }
        return Ok(Reached { distance: distance as f32, angle: 0.0, iterations: 1 });
    }
    general(skeleton, model, reach, pose)
}

/// Solves any limb whose joints exist, including those that the closed form cannot.
fn general(
    skeleton: &Skeleton,
    model: &[Affine],
    reach: &TwoBone<'_>,
    pose: &mut Pose,
) -> Result<Reached, Error> {
    Error::check_finite("goal", &reach.goal, 1)?;
    if let Some(pole) = &reach.pole {
        Error::check_finite("pole", pole, 1)?;
    }
    if let Some(hinge) = &reach.hinge {
        Error::check_finite("hinge", hinge, 1)?;
    }
    if let Some(orientation) = &reach.orientation {
        check_orientation(orientation)?;
    }
    check_unit("soft", reach.soft)?;
    check_unit("weight", reach.weight)?;
    if let Some(limits) = reach.limits {
        limits.check(skeleton)?;
    }
    let limits = [0, 1].map(|at: usize| reach.limits.and_then(|limits| limits.limit(reach.joints[at])));
    let limb = Limb::new(skeleton, model, reach, pose)?;
    let (mut turned, iterations) =
        if limits == [None, None] { (limb.bent_freely(), 1) } else { limb.within(limits) };
    let weight = f64::from(reach.weight);
    if weight < 1.0 {
        for (at, limit) in limits.into_iter().enumerate() {
            turned[at] = nlerp(limb.given[at], turned[at], weight);
            if let Some(nearest) = limit.filter(|_| weight > 0.0).and_then(|limit| limit.hold(turned[at])) {
                turned[at] = nearest;
            }
        }
    }
    let distance = length(limb.to_model.vector(sub(limb.tip(turned), limb.goal)));
    check_pose(&turned)?;
    check_distance("goal", 0, distance)?;
    let [upper, lower, _] = reach.joints;
    if weight > 0.0 {
        set_rotation(pose, upper, turned[0]);
        set_rotation(pose, lower, turned[1]);
    }
    let mut angle = 0.0;
    if let Some(orientation) = reach.orientation {
        let turned = turn_tip(skeleton, reach, wide(orientation), pose);
        if check_pose(&[[turned]]).is_err() {
            // Restores the input rotations: an ancestor's rotation is not finite.
            set_rotation(pose, upper, limb.given[0]);
            set_rotation(pose, lower, limb.given[1]);
        }
        check_pose(&[[turned]])?;
        angle = turned;
    }
    Ok(Reached { distance: distance as f32, angle: angle as f32, iterations })
}

/// Turns the third joint towards its goal orientation, given the current rotations of the others. Returns the
/// remaining angle. If that is not finite, the joint keeps its rotation.
fn turn_tip(skeleton: &Skeleton, reach: &TwoBone<'_>, wanted: Quat64, pose: &mut Pose) -> f64 {
    let tip = reach.joints[2];
    let Ok(above) = turned_above(skeleton, pose, tip) else { return f64::NAN };
    let wanted = unit(product(conjugate(unit(above)), wanted));
    let mut turned = nlerp(wide(pose.get(tip.into()).rotation), wanted, reach.weight.into());
    let limit = reach.limits.and_then(|limits| limits.limit(tip)).filter(|_| reach.weight > 0.0);
    if let Some(nearest) = limit.and_then(|limit| limit.clamp(turned)) {
        turned = nearest;
    }
    let off = angle(turned, wanted);
    if reach.weight > 0.0 && check_pose(&[turned]).is_ok() && off.is_finite() {
        set_rotation(pose, tip, turned);
    }
    off
}

/// The two bones in the space of the first joint's parent, relative to its pivot.
struct Limb {
    /// Input rotations.
    given: [Quat64; 2],
    /// Vector from the first pivot to the second one, in the space that the first joint rotates.
    upper: Vec64,
    /// Map from the space of the second joint's parent to the space that the first joint rotates.
    between: Affine64,
    /// Product of the rotations of the joints in between.
    turned_between: Quat64,
    /// Vector from the second pivot to the tip, in the space that the second joint rotates.
    lower: Vec64,
    pivots: [Vec64; 2],
    to_model: Affine64,
    goal: Vec64,
    pole: Option<Vec64>,
    /// Unit vector of the hinge, in the space of the first joint's parent.
    hinge: Option<Vec64>,
    soft: f64,
    /// Whether the scale between the joints is uniform.
    even: bool,
}

impl Limb {
    #[inline]
    fn new(skeleton: &Skeleton, model: &[Affine], reach: &TwoBone<'_>, pose: &Pose) -> Result<Self, Error> {
        let [upper, lower, tip] = reach.joints;
        let below =
            |at| Error::OutOfRange { what: "joints", at, needed: "a descendant of the joint before it" };
        let (between, turned_between, even) =
            carried(skeleton, pose, upper, lower).ok_or_else(|| below(1))?;
        let (carry, _, _) = carried(skeleton, pose, lower, tip).ok_or_else(|| below(2))?;
        let [first, second, third] = [upper, lower, tip].map(|joint| pose.get(joint.into()));
        let above = above(skeleton, model, upper)?;
        let pivots = [first, second].map(|t| t.translation.map(f64::from));
        Ok(Self {
            given: [rotation_of(pose, upper)?, rotation_of(pose, lower)?],
            upper: between.point(pivots[1]),
            between,
            turned_between,
            lower: carry.point(third.translation.map(f64::from)),
            goal: sub(above.from_model.point(reach.goal.map(f64::from)), pivots[0]),
            pole: reach.pole.map(|pole| above.from_model.vector(pole.map(f64::from))),
            hinge: reach.hinge.and_then(|hinge| direction(above.from_model.vector(hinge.map(f64::from)))),
            pivots,
            to_model: above.to_model,
            soft: reach.soft.into(),
            even,
        })
    }

    /// Position of the tip relative to the first pivot, for two rotations.
    #[inline]
    fn tip(&self, [first, second]: [Quat64; 2]) -> Vec64 {
        rotate(first, self.arm(rotate(second, self.lower)))
    }

    /// Vector from the first pivot to the tip, in the space that the first joint rotates. `bone` is the
    /// vector from the second pivot to the tip.
    #[inline]
    fn arm(&self, bone: Vec64) -> Vec64 {
        add(self.upper, self.between.vector(bone))
    }

    /// Target distance of the tip: the goal's distance, softened and clamped to the reach from `least` to
    /// `most`.
    #[inline]
    fn distance(&self, least: f64, most: f64) -> f64 {
        let far = length(self.goal);
        let soft = self.soft * most;
        let begin = most - soft;
        // The soft curve starts with the same slope and approaches `most` asymptotically.
        let far = if soft > 0.0 && far > begin { most - soft * (soft / (far - begin + soft)) } else { far };
        far.max(least).min(most)
    }

    /// Returns the unit normal of the plane of the two bones, in the space of the second joint's parent. Also
    /// returns the sine of the angle between the bones, times their lengths. For a straight limb the normal
    /// makes it bend towards the pole vector.
    #[inline]
    fn normal(&self, bone: Vec64) -> (Vec64, f64) {
        let along = self.between.transposed(self.upper);
        let normal = cross(along, bone);
        let sine = length(normal);
        let size = sqrt_f64(dot(along, along) * dot(bone, bone));
        if sine > 1e-6 * size {
            return (scaled(normal, 1.0 / sine), sine);
        }
        let towards = self.pole.map(|pole| self.between.transposed(rotate(conjugate(self.given[0]), pole)));
        let normal = towards.and_then(|pole| {
            let across = cross(pole, along);
            // A pole vector along the limb does not define a plane.
            if dot(across, across) > 1e-12 * dot(pole, pole) * dot(along, along) {
                direction(across)
            } else {
                None
            }
        });
        (normal.unwrap_or_else(|| across(if size > 0.0 { along } else { bone })), 0.0)
    }

    /// Solution without limits.
    #[inline]
    fn bent_freely(&self) -> [Quat64; 2] {
        if let Some(changed) = self.hinge.and_then(|hinge| self.changed(hinge)) {
            return changed;
        }
        let bone = rotate(self.given[1], self.lower);
        let (axis, sine) = self.normal(bone);
        let (second, bone) = if self.even {
            let carried = self.between.vector(bone);
            let (a2, b2) = (dot(self.upper, self.upper), dot(carried, carried));
            let cosine = dot(self.upper, carried);
            let size = sqrt_f64(a2 * b2);
            let (a, b) = (sqrt_f64(a2), sqrt_f64(b2));
            let far = self.distance((a - b).abs(), a + b);
            if size > 0.0 {
                let by = 1.0 / size;
                let (cos0, sin0) = (cosine * by, sine * by);
                let cos = (0.5 * (far * far - a2 - b2) * by).clamp(-1.0, 1.0);
                let sin = sqrt_f64((1.0 - cos) * (1.0 + cos));
                let (c, s) = (cos * cos0 + sin * sin0, sin * cos0 - cos * sin0);
                (product(turn(axis, s, c), self.given[1]), add(scaled(bone, c), scaled(cross(axis, bone), s)))
            } else {
                (self.given[1], bone)
            }
        } else {
            let turned = self.search(axis, bone);
            (product(turned, self.given[1]), rotate(turned, bone))
        };
        [unit(self.turned_to_goal(self.arm(bone), axis)), unit(second)]
    }

    /// Solution with a hinge, as a change of the input pose. `None` if scales between the joints are not
    /// uniform.
    fn changed(&self, hinge: Vec64) -> Option<[Quat64; 2]> {
        let [a, b, c] = self.between.linear;
        if !self.even {
            return None;
        }
        let mirrored = dot(a, cross(b, c)) < 0.0;
        let [first, second] = self.given.map(unit);
        let bone = self.between.vector(rotate(second, self.lower));
        let limb = PosedLimb { upper: rotate(first, self.upper), lower: rotate(first, bone), hinge };
        let change = limb.change(self.goal, self.soft, 0.0);
        let mut turned = product(change[0], first);
        // The bend of the lower bone, in the space of the second joint's parent.
        let bend = product(conjugate(change[0]), change[1]);
        let [x, y, z, w] = product(conjugate(first), product(bend, first));
        let axis = direction(self.between.transposed([x, y, z])).unwrap_or_default();
        let side = if mirrored { -length([x, y, z]) } else { length([x, y, z]) };
        let [x, y, z] = scaled(axis, side);
        let own = product([x, y, z, w], second);
        if let Some(pole) = self.pole {
            let normal = cross(rotate(change[0], limb.upper), rotate(change[1], limb.lower));
            turned = product(swivel(self.goal, cross(self.goal, normal), pole), turned);
        }
        Some([unit(turned), unit(own)])
    }

    /// Rotation of the first joint that brings the tip to the goal and the middle joint to the side of the
    /// pole vector. `axis` is the bending axis in the space of the second joint's parent.
    #[inline]
    fn turned_to_goal(&self, arm: Vec64, axis: Vec64) -> Quat64 {
        let far = length(arm);
        let goal = self.nearest(far);
        let shortest = product(arc(rotate(self.given[0], arm), goal), self.given[0]);
        let Some(pole) = self.pole else { return shortest };
        // Uses the bending plane's normal, because the middle joint of a straight limb is on the line to the
        // goal and determines no side.
        let normal = self.between.vector(axis);
        let [a, b, c] = self.between.linear;
        let mirrored = dot(a, cross(b, c)) < 0.0;
        let normal = rotate(shortest, if mirrored { scaled(normal, -1.0) } else { normal });
        product(swivel(goal, cross(goal, normal), pole), shortest)
    }

    /// Point at a given distance from the first pivot that is nearest to the goal in model space.
    #[inline]
    fn nearest(&self, far: f64) -> Vec64 {
        let size = dot(self.goal, self.goal);
        // Usually this is the goal itself.
        if (size - far * far).abs() <= 1e-14 * size {
            self.goal
        } else {
            nearest_at(&self.to_model, self.goal, far)
        }
    }

    /// Rotation about `axis` that brings the tip to the target distance if scales between the joints are
    /// non-uniform. Returns the smallest such rotation, or the one that comes closest to the distance. The
    /// squared length is a trigonometric polynomial of degree two, with up to two minima.
    #[inline(never)]
    fn search(&self, axis: Vec64, bone: Vec64) -> Quat64 {
        const PARTS: usize = 32;
        let turned = |angle: f64| {
            let (sin, cos) = sin_cos_f64(0.5 * angle);
            let [x, y, z] = scaled(axis, sin);
            [x, y, z, cos]
        };
        let far = |angle: f64| length(self.arm(rotate(turned(angle), bone)));
        let width = core::f64::consts::TAU / PARTS as f64;
        let mut angles = [0.0; PARTS + 1];
        let mut lengths = [0.0; PARTS + 1];
        for part in 0..=PARTS {
            angles[part] = (part as f64 - (PARTS / 2) as f64) * width;
            lengths[part] = far(angles[part]);
        }
        // Refine the extrema, because the curve may reach the target distance only just before turning back.
        for part in 0..PARTS {
            let [before, now, after] =
                [lengths[(part + PARTS - 1) % PARTS], lengths[part], lengths[part + 1]];
            let sign = if now <= before && now <= after { 1.0 } else { -1.0 };
            if sign * now > sign * before || sign * now > sign * after {
                continue;
            }
            let mut step = 0.5 * width;
            for _ in 0..60 {
                let [less, more] = [angles[part] - step, angles[part] + step];
                if sign * far(less) < sign * lengths[part] {
                    angles[part] = less;
                } else if sign * far(more) < sign * lengths[part] {
                    angles[part] = more;
                } else {
                    step *= 0.5;
                }
                lengths[part] = far(angles[part]);
            }
        }
        let (least, most) = lengths.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &l| (a.min(l), b.max(l)));
        let wanted = self.distance(least, most);
        let mut best: Option<f64> = None;
        let mut judge = |angle: f64| {
            if best.is_none_or(|best| angle.abs() < best.abs()) {
                best = Some(angle);
            }
        };
        for part in 0..=PARTS {
            if lengths[part] == wanted {
                judge(angles[part]);
            }
            let Some(&next) = lengths.get(part + 1) else { break };
            if (lengths[part] < wanted) == (next < wanted) {
                continue;
            }
            let (mut low, mut high) = (angles[part], angles[part + 1]);
            for _ in 0..45 {
                let middle = 0.5 * (low + high);
                if (far(middle) < wanted) == (lengths[part] < wanted) { low = middle } else { high = middle }
            }
            judge(low);
        }
        turned(best.unwrap_or(0.0))
    }
}

pub(super) mod direct;
mod limited;
mod posed;
#[cfg(test)]
mod tests;
