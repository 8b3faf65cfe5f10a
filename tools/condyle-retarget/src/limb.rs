//! Two-bone IK as a change of a pose: a leg whose goal is met does not move.
//!
//! The shin turns about the axis of the knee until the ankle is as far from the hip joint as the goal. Then
//! the whole leg turns the shortest way to the goal, so that the knee stays on the side where the source has
//! it. A clearly bent knee bends about the normal of its bones, any other about the hinge of the thigh. The
//! normal of a straight leg is noise, and a knee that follows it spins.

use crate::maths::{
    Quat64, Vec3, about, add, arc_or, atan2_f64, cross, direction, dot, ease, length, product, rotate,
    scaled, smooth, sqrt_f64,
};

/// A leg in a pose: thigh and shin as vectors, and the axis about which the knee should bend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limb {
    pub(crate) thigh: Vec3,
    pub(crate) shin: Vec3,
    pub(crate) hinge: Vec3,
}

/// Minimum cosine of the knee's bend, unless the source's is smaller: 165 degrees.
const FOLDED: f64 = -0.965_925_826_289_068_3;
/// Part of the length from which a leg in the air straightens ever more slowly.
const SOFT: f64 = 0.95;

/// Returns the rotations of thigh and shin that bring the ankle to `goal`, from the hip joint. `stand` from 0
/// to 1 is how exactly a leg near full reach follows.
pub(crate) fn reach(limb: &Limb, goal: Vec3, stand: f64) -> [Quat64; 2] {
    let (a, b) = (limb.thigh, limb.shin);
    let lengths = [length(a), length(b)];
    let full = lengths[0] + lengths[1];
    let now = length(add(a, b));
    let far = length(goal);
    if full <= 0.0 || far <= 1e-9 * full {
        return [crate::maths::IDENTITY; 2];
    }
    // A leg in the air eases towards full reach.
    let start = (SOFT * full).max(now);
    let room = (full - start).max(1e-3 * full);
    let eased = if far > start { start + room * ease((far - start) / room) } else { far };
    let far = stand * far.min(full) + (1.0 - stand) * eased;
    let axis = axis(limb, lengths);
    let knee = knee(a, b, axis, far, lengths);
    let whole = arc_or(add(a, rotate(knee, b)), goal, limb.hinge);
    [whole, product(whole, knee)]
}

/// Returns the axis about which the knee bends.
fn axis(limb: &Limb, lengths: [f64; 2]) -> Vec3 {
    let bend = cross(limb.thigh, limb.shin);
    let sine = length(bend) / (lengths[0] * lengths[1]);
    let Some(own) = direction(bend) else { return limb.hinge };
    let weight = smooth((sine - 0.1) / 0.5) * smooth((dot(own, limb.hinge) + 0.2) / 0.7);
    direction(add(scaled(own, weight), scaled(limb.hinge, 1.0 - weight))).unwrap_or(limb.hinge)
}

/// Returns the rotation of the shin about the knee's axis after which the ankle is `far` from the hip joint.
fn knee(a: Vec3, b: Vec3, axis: Vec3, far: f64, lengths: [f64; 2]) -> Quat64 {
    let [thigh, shin] = lengths;
    let wanted = (far * far - thigh * thigh - shin * shin) / 2.0;
    let wanted = wanted.clamp((FOLDED * thigh * shin).min(dot(a, b)), thigh * shin);
    // dot(a, b turned by t) = along + size * cos(t + bent).
    let along = dot(a, axis) * dot(b, axis);
    let (cosine, sine) = (dot(a, b) - along, dot(axis, cross(a, b)));
    let size = sqrt_f64(cosine * cosine + sine * sine);
    if size <= 1e-12 * thigh * shin {
        return crate::maths::IDENTITY;
    }
    let bent = atan2_f64(sine, cosine);
    let to = ((wanted - along) / size).clamp(-1.0, 1.0);
    let angle = atan2_f64(sqrt_f64((1.0 - to * to).max(0.0)), to);
    // A knee that bends backward stays so while it bends no further. It passes to the front within 10
    // degrees.
    let to = if bent < 0.0 { angle * (2.0 * smooth((angle + bent) / 0.17) - 1.0) } else { angle };
    about(axis, to - bent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::{IDENTITY, sub};
    use condyle_testing::Random;

    fn missed(limb: &Limb, goal: Vec3, [thigh, shin]: [Quat64; 2]) -> f64 {
        length(sub(goal, add(rotate(thigh, limb.thigh), rotate(shin, limb.shin))))
    }

    /// A leg that hangs down, with its knee bent to the front by an angle.
    fn bent(angle: f64) -> Limb {
        let left = [1.0, 0.0, 0.0];
        Limb { thigh: [0.0, -0.45, 0.0], shin: rotate(about(left, angle), [0.0, -0.4, 0.0]), hinge: left }
    }

    #[test]
    fn a_leg_at_its_goal_does_not_move() {
        let mut random = Random(3);
        for case in 0..2000 {
            let hinge = direction(random.vector(1.0).map(f64::from)).expect("a direction");
            let [thigh, shin] = [(); 2].map(|()| random.vector(0.5).map(f64::from));
            let limb =
                if case % 3 == 0 { bent(random.range_f64(-0.3, 3.1)) } else { Limb { thigh, shin, hinge } };
            let goal = add(limb.thigh, limb.shin);
            for stand in [0.0, 0.5, 1.0] {
                for turn in reach(&limb, goal, stand) {
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
            let direction = direction(random.vector(1.0).map(f64::from)).expect("a direction");
            let goal = scaled(direction, random.range_f64(0.25, 0.84));
            let turns = reach(&limb, goal, 1.0);
            assert!(missed(&limb, goal, turns) < 1e-9, "{limb:?} {goal:?}");
        }
    }

    /// Beyond reach, a standing leg is straight and points at the goal. A leg in the air is less straight.
    #[test]
    fn goals_out_of_reach_are_approached() {
        let limb = bent(0.5);
        let goal = [0.0, -1.0, 0.2];
        let far = length(goal) - 0.85;
        assert!((missed(&limb, goal, reach(&limb, goal, 1.0)) - far).abs() < 1e-6);
        let eased = missed(&limb, goal, reach(&limb, goal, 0.0));
        assert!(eased > far + 1e-4 && eased < far + 0.05, "{eased} {far}");
    }

    #[test]
    fn limbs_without_a_length_stay() {
        let none = Limb { thigh: [0.0; 3], shin: [0.0; 3], hinge: UP_FRONT };
        assert_eq!(reach(&none, [1.0, 0.0, 0.0], 1.0), [IDENTITY; 2]);
        let half = Limb { thigh: [0.0, -0.5, 0.0], ..none };
        assert!(reach(&half, [1.0, 0.0, 0.0], 1.0).iter().flatten().all(|v| v.is_finite()));
        assert_eq!(reach(&bent(0.3), [0.0; 3], 1.0), [IDENTITY; 2]);
    }

    const UP_FRONT: Vec3 = [0.0, 1.0, 0.0];
}
