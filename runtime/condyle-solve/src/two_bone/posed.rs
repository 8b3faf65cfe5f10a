//! A limb with a hinge: the change of a posed limb that brings its tip to a goal.

use condyle_base::math::quats::{IDENTITY, Quat64, about, arc_or, product, rotate};
use condyle_base::math::scalar::{approach, atan2_f64, smooth, sqrt_f64};
use condyle_base::math::vectors::{add, cross, direction, dot, length, scaled};

/// A posed limb as two vectors, with the axis of its middle joint: a leg or an arm in the space of a model.
///
/// [`change`](Self::change) returns the rotations that bring its tip to a goal. It is the solver of
/// [`TwoBone::hinge`](crate::TwoBone::hinge), without a skeleton.
///
/// ```
/// use condyle_solve::PosedLimb;
///
/// // A straight leg, whose knee bends to the front: the hinge points to the left.
/// let leg = PosedLimb { upper: [0.0, -0.5, 0.0], lower: [0.0, -0.4, 0.0], hinge: [1.0, 0.0, 0.0] };
/// let tip = leg.tip(leg.change([0.0, -0.8, 0.1], 0.0, 1.0));
/// assert!((tip[1] + 0.8).abs() < 1e-12 && (tip[2] - 0.1).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PosedLimb {
    /// Vector from the first joint to the middle one.
    pub upper: [f64; 3],
    /// Vector from the middle joint to the tip.
    pub lower: [f64; 3],
    /// Unit vector about which the lower bone turns when a straight limb bends, by the right-hand rule: the
    /// body's left for a knee.
    pub hinge: [f64; 3],
}

/// Minimum cosine of the bend, unless the pose has a smaller one: 165 degrees.
const FOLDED: f64 = -0.965_925_826_289_068_3;
/// Bend in radians, from its other border, within which a limb that bends backward passes to the front: 10
/// degrees.
const PASSES: f64 = 0.17;
/// Sine of the bend from which the normal of the bones counts, and the range over which it replaces the
/// hinge.
const BENT: [f64; 2] = [0.1, 0.5];
/// Cosine between normal and hinge from which the normal counts, and the range over which it replaces the
/// hinge.
const AGREES: [f64; 2] = [-0.2, 0.7];

impl PosedLimb {
    /// Returns the rotations of the upper and the lower bone, in the space of the vectors, that bring the tip
    /// to `goal`, relative to the first joint.
    ///
    /// First the lower bone turns until the tip is as far away as the goal. A clearly bent limb turns about
    /// the normal of its bones, if that agrees with the hinge; any other about the hinge, because the normal
    /// of a straight limb is noise. A limb that bends backward stays so while it bends no further. No limb
    /// folds beyond 165°, unless it does so in the pose. Then the whole limb turns to the goal by the
    /// shortest rotation. A limb whose tip is at the goal does not move.
    ///
    /// In the last part `soft` of its length, from 0 to 1, a limb straightens ever more slowly. If it is
    /// straighter in the pose, this begins there. `exact`, from 0 to 1, is how much of that slowing is left
    /// out: 1 for a leg that carries the body, and 0 for one in the air.
    #[must_use]
    pub fn change(&self, goal: [f64; 3], soft: f64, exact: f64) -> [Quat64; 2] {
        let (a, b) = (self.upper, self.lower);
        let lengths = [length(a), length(b)];
        let full = lengths[0] + lengths[1];
        let now = length(add(a, b));
        let far = length(goal);
        if full <= 0.0 || far <= 1e-9 * full {
            return [IDENTITY; 2];
        }
        let start = ((1.0 - soft) * full).max(now);
        let room = (full - start).max(1e-3 * full);
        let eased = if far > start { start + room * approach((far - start) / room) } else { far };
        let far = exact * far.min(full) + (1.0 - exact) * eased;
        let bend = self.bend(self.axis(lengths), far, lengths);
        let whole = arc_or(add(a, rotate(bend, b)), goal, self.hinge);
        [whole, product(whole, bend)]
    }

    /// Returns the tip after two rotations, relative to the first joint.
    #[must_use]
    pub fn tip(&self, [upper, lower]: [Quat64; 2]) -> [f64; 3] {
        add(rotate(upper, self.upper), rotate(lower, self.lower))
    }

    /// Returns the axis about which the middle joint bends.
    fn axis(&self, lengths: [f64; 2]) -> [f64; 3] {
        let bend = cross(self.upper, self.lower);
        let sine = length(bend) / (lengths[0] * lengths[1]);
        let Some(own) = direction(bend) else { return self.hinge };
        let weight =
            smooth((sine - BENT[0]) / BENT[1]) * smooth((dot(own, self.hinge) - AGREES[0]) / AGREES[1]);
        direction(add(scaled(own, weight), scaled(self.hinge, 1.0 - weight))).unwrap_or(self.hinge)
    }

    /// Returns the rotation of the lower bone about `axis` after which the tip is `far` away.
    fn bend(&self, axis: [f64; 3], far: f64, [upper, lower]: [f64; 2]) -> Quat64 {
        let (a, b) = (self.upper, self.lower);
        let wanted = (far * far - upper * upper - lower * lower) / 2.0;
        let wanted = wanted.clamp((FOLDED * upper * lower).min(dot(a, b)), upper * lower);
        // dot(a, b turned by t) = along + size * cos(t + bent).
        let along = dot(a, axis) * dot(b, axis);
        let (cosine, sine) = (dot(a, b) - along, dot(axis, cross(a, b)));
        let size = sqrt_f64(cosine * cosine + sine * sine);
        if size <= 1e-12 * upper * lower {
            return IDENTITY;
        }
        let bent = atan2_f64(sine, cosine);
        let to = ((wanted - along) / size).clamp(-1.0, 1.0);
        let angle = atan2_f64(sqrt_f64((1.0 - to * to).max(0.0)), to);
        // A limb that bends backward stays so while it bends no further.
        let to = if bent < 0.0 { angle * (2.0 * smooth((angle + bent) / PASSES) - 1.0) } else { angle };
        about(axis, to - bent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::Random;

    fn missed(limb: &PosedLimb, goal: [f64; 3], change: [Quat64; 2]) -> f64 {
        let tip = limb.tip(change);
        length([0, 1, 2].map(|c| goal[c] - tip[c]))
    }

    const LEFT: [f64; 3] = [1.0, 0.0, 0.0];

    /// A leg that hangs down, with its knee bent to the front by an angle.
    fn bent(angle: f64) -> PosedLimb {
        let lower = rotate(about(LEFT, angle), [0.0, -0.4, 0.0]);
        PosedLimb { upper: [0.0, -0.45, 0.0], lower, hinge: LEFT }
    }

    #[test]
    fn a_limb_at_its_goal_does_not_move() {
        let mut random = Random(3);
        for case in 0..2000 {
            let hinge = direction(random.vector(1.0).map(f64::from)).expect("a direction");
            let [upper, lower] = [(); 2].map(|()| random.vector(0.5).map(f64::from));
            let limb = if case % 3 == 0 {
                bent(random.range_f64(-0.3, 3.1))
            } else {
                PosedLimb { upper, lower, hinge }
            };
            let goal = limb.tip([IDENTITY; 2]);
            for exact in [0.0, 0.5, 1.0] {
                for turn in limb.change(goal, 0.05, exact) {
                    let far = turn[3].abs() - 1.0;
                    assert!(far.abs() < 1e-12, "{limb:?}: {turn:?}");
                }
            }
        }
    }

    #[test]
    fn goals_in_reach_are_met() {
        let mut random = Random(4);
        for _ in 0..2000 {
            let limb = bent(random.range_f64(0.01, 2.5));
            let towards = direction(random.vector(1.0).map(f64::from)).expect("a direction");
            let goal = scaled(towards, random.range_f64(0.25, 0.84));
            let turns = limb.change(goal, 0.05, 1.0);
            assert!(missed(&limb, goal, turns) < 1e-9, "{limb:?} {goal:?}");
        }
    }

    /// A straight leg bends about its hinge, and noise in its pose does not turn the knee aside.
    #[test]
    fn straight_limbs_bend_about_the_hinge() {
        for noise in [[0.0; 2], [1e-9, 0.0], [-0.02, 0.0], [0.02, -0.02], [0.0, 0.03]] {
            let lower = scaled(direction([noise[0], -1.0, noise[1]]).expect("a direction"), 0.4);
            let limb = PosedLimb { lower, ..bent(0.0) };
            let goal = [0.0, -0.7, 0.0];
            let turns = limb.change(goal, 0.0, 1.0);
            let knee = rotate(turns[0], limb.upper);
            assert!(knee[2] > 0.15 && knee[0].abs() < 0.03, "{noise:?}: {knee:?}");
            assert!(missed(&limb, goal, turns) < 1e-9, "{noise:?}");
        }
    }

    /// A knee bent backward that straightens, stays backward. One that bends further, passes to the front.
    #[test]
    fn backward_bends_stay_while_they_do_not_grow() {
        let limb = bent(-0.3);
        let now = length(limb.tip([IDENTITY; 2]));
        for (far, is_back) in [(now + 0.005, true), (now, true), (0.7, false)] {
            let turns = limb.change([0.0, -far, 0.0], 0.0, 1.0);
            let bones = [rotate(turns[0], limb.upper), rotate(turns[1], limb.lower)];
            assert_eq!(dot(LEFT, cross(bones[0], bones[1])) < 0.0, is_back, "{far}");
        }
    }

    /// Beyond reach, an exact limb is straight and points at the goal. Any other is less straight.
    #[test]
    fn goals_out_of_reach_are_approached() {
        let limb = bent(0.5);
        let goal = [0.0, -1.0, 0.2];
        let far = length(goal) - 0.85;
        assert!((missed(&limb, goal, limb.change(goal, 0.05, 1.0)) - far).abs() < 1e-6);
        let eased = missed(&limb, goal, limb.change(goal, 0.05, 0.0));
        assert!(eased > far + 1e-4 && eased < far + 0.05, "{eased} {far}");
    }

    #[test]
    fn limbs_without_a_length_stay() {
        let none = PosedLimb { upper: [0.0; 3], lower: [0.0; 3], hinge: [0.0, 1.0, 0.0] };
        assert_eq!(none.change([1.0, 0.0, 0.0], 0.05, 1.0), [IDENTITY; 2]);
        let half = PosedLimb { upper: [0.0, -0.5, 0.0], ..none };
        assert!(half.change([1.0, 0.0, 0.0], 0.05, 1.0).iter().flatten().all(|v| v.is_finite()));
        assert_eq!(bent(0.3).change([0.0; 3], 0.05, 1.0), [IDENTITY; 2]);
    }
}
