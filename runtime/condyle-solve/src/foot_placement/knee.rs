//! Sides to which knees bend if they are straight in the clip, and limits of their bend.

use super::Leg;
use super::pelvis::decay;
use crate::maps::{Vec64, add, arc, direction, length, scaled, sub};
use condyle::skeleton::Skeleton;
use condyle_base::math::Affine;
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_base::math::scalar::{atan2_f64, sqrt_f64};
use condyle_base::math::vectors::dot;

/// Bend in radians above which the clip alone determines the side to which a knee bends.
const SURE: f64 = 0.2;
/// Bend in radians above which the clip changes the remembered side at the full `RATE`.
const LEARNT: f64 = 0.5;
/// Rate at which the clip changes the remembered side, per second.
const RATE: f64 = 8.0;
/// Bend in radians above which the rest pose determines the side. Below, the direction of the toes does.
const POSED: f64 = 0.15;
/// Cosines of two bends, 150° and 159°. Beyond the first one a knee folds more slowly, and it never folds
/// beyond the second one.
const FOLDS: [f64; 2] = [-0.866_025_403_784_438_6, -0.933_580_426_497_201_7];

/// Bend of the lower leg away from the thigh: a vector perpendicular to the thigh whose length is the angle.
/// Both inputs are unit vectors.
fn bend(thigh: Vec64, shin: Vec64) -> Vec64 {
    let cos = dot(thigh, shin);
    let off = sub(shin, scaled(thigh, cos));
    let sin = length(off);
    if sin > 1e-9 { scaled(off, atan2_f64(sin, cos) / sin) } else { [0.0; 3] }
}

/// Side of a leg in the rest pose, in model space: the direction of its bend, or away from the toes.
pub(super) fn side_at_rest(skeleton: &Skeleton, model: &[Affine], leg: &Leg) -> Option<Vec64> {
    let place = |joint: u16| model[usize::from(joint)].rows.map(|row| f64::from(row[3]));
    let [hip, knee, foot] = [leg.hip, leg.knee, leg.foot].map(place);
    let (thigh, shin) = (direction(sub(knee, hip))?, direction(sub(foot, knee))?);
    let leans = bend(thigh, shin);
    let toe = leg.toe.or_else(|| skeleton.subtree(leg.foot).get(1).copied());
    let ahead = toe.and_then(|toe| direction(sub(place(toe), foot)));
    let ahead =
        ahead.map(|ahead| sub(ahead, scaled(thigh, dot(ahead, thigh)))).filter(|ahead| length(*ahead) > 0.3);
    match ahead {
        Some(ahead) if length(leans) < POSED => direction(scaled(ahead, -1.0)),
        _ if length(leans) > 1e-3 => direction(leans),
        _ => None,
    }
}

/// A leg in the clip.
pub(super) struct Bend {
    /// Unit vectors along its bones, in the space that the hip rotates.
    thigh: Vec64,
    shin: Vec64,
}

impl Bend {
    /// Reads a leg from the positions of its joints. `turned` is the orientation of the hip.
    pub(super) fn new([hip, knee, foot]: [Vec64; 3], turned: Quat64) -> Option<Self> {
        let back = conjugate(turned);
        let [thigh, shin] = [sub(knee, hip), sub(foot, knee)].map(|bone| direction(rotate(back, bone)));
        Some(Self { thigh: thigh?, shin: shin? })
    }

    /// Side after `seconds`. It moves slowly towards the bend in the clip if that bend is clear.
    pub(super) fn side(&self, before: Option<Vec64>, at_rest: Option<Vec64>, seconds: f64) -> Option<Vec64> {
        let leans = bend(self.thigh, self.shin);
        let angle = length(leans);
        let clear = ((angle - SURE) / (LEARNT - SURE)).clamp(0.0, 1.0);
        let Some(before) = before else {
            return if angle > 0.5 * (SURE + LEARNT) {
                direction(leans)
            } else {
                at_rest.or(direction(leans))
            };
        };
        let by = clear * (1.0 - decay(RATE * seconds));
        if by <= 0.0 {
            return Some(before);
        }
        let now = scaled(leans, 1.0 / angle);
        direction(add(scaled(before, 1.0 - by), scaled(now, by))).or(Some(before))
    }

    /// Rotation of the lower leg that bends it a little more to a side. For a straight leg it is 0.1 rad. It
    /// falls to 0 at a bend of [`SURE`].
    pub(super) fn turn(&self, side: Vec64) -> Option<Quat64> {
        let cos = dot(self.thigh, self.shin);
        let side = direction(sub(side, scaled(self.thigh, dot(side, self.thigh))))?;
        let leans = bend(self.thigh, self.shin);
        let along = dot(leans, side);
        if along >= SURE || cos <= 0.0 {
            return None;
        }
        // Always a bend to this side: at SURE, SURE² / (2 SURE - x) has the same value and slope as x.
        let kept = SURE * SURE / (2.0 * SURE - along);
        let leans = add(leans, scaled(side, kept - along));
        let angle = length(leans);
        let (sin, cos) = condyle_base::math::scalar::sin_cos_f64(angle);
        let shin = add(scaled(self.thigh, cos), scaled(leans, sin / angle));
        Some(arc(self.shin, shin))
    }
}

/// Converts a rotation in the space that the hip rotates to one of the knee in the space of its parent. `hip`
/// and `above` are the orientations of the hip and of the knee's parent.
pub(super) fn carried_over(turn: Quat64, hip: Quat64, above: Quat64) -> Quat64 {
    let between = product(conjugate(above), hip);
    product(product(between, turn), conjugate(between))
}

/// Distances of a foot from its hip: where the knee begins to fold more slowly, and the minimum. If the leg
/// is folded farther in the clip, both are reduced to that distance.
pub(super) fn fold_distances(thigh: f64, shin: f64, given: f64) -> [f64; 2] {
    let [begin, least] =
        FOLDS.map(|cos| sqrt_f64((thigh * thigh + shin * shin + 2.0 * thigh * shin * cos).max(0.0)));
    [begin.min(given), least.min(given)]
}

/// Smooth maximum: equals `now` from `begin` on, and stays above `least`.
pub(super) fn kept_above([begin, least]: [f64; 2], now: f64) -> f64 {
    if now >= begin {
        return now;
    }
    // Starts with the same slope and approaches `least` asymptotically.
    let room = begin - least;
    if room > 0.0 { least + room * room / (room + begin - now) } else { least }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn angle(thigh: Vec64, shin: Vec64) -> f64 {
        length(bend(thigh, shin))
    }

    #[test]
    fn a_straight_leg_bends_to_its_side_and_a_bent_one_stays() {
        let (thigh, side) = ([0.0, -1.0, 0.0], [0.0, 0.0, -1.0]);
        let mut before = 0.0;
        for step in -100..=100 {
            let given = f64::from(step) * 0.005;
            let (sin, cos) = condyle_base::math::scalar::sin_cos_f64(given);
            let leg = Bend { thigh, shin: [0.0, -cos, -sin] };
            let shin = leg.turn(side).map_or(leg.shin, |turn| rotate(turn, leg.shin));
            let leans = bend(thigh, shin);
            assert!(dot(leans, side) > before && leans[0].abs() < 1e-9, "{given}: {leans:?}");
            before = dot(leans, side);
            if given >= SURE {
                assert!((before - given).abs() < 1e-9, "{given}: {before}");
            }
        }
        // Almost straight as in mocap, with noise to all sides: the sideways bend is at most the noise.
        for noise in [[1e-9, 0.0], [0.01, 0.0], [-0.01, 0.005], [0.0, 0.01]] {
            let shin = direction([noise[0], -1.0, noise[1]]).expect("a direction");
            let leg = Bend { thigh, shin };
            let turned = rotate(leg.turn(side).expect("a straight leg"), shin);
            let leans = bend(thigh, turned);
            assert!(leans[0].abs() <= noise[0].abs() + 1e-9 && leans[2] < -0.09, "{noise:?}: {leans:?}");
            assert!(angle(shin, turned) < 0.12);
        }
    }

    #[test]
    fn a_side_is_learnt_from_what_is_clearly_bent() {
        let thigh = [0.0, -1.0, 0.0];
        let leg = |x: f64, z: f64| Bend { thigh, shin: direction([x, -1.0, z]).expect("a direction") };
        let rest = Some([0.0, 0.0, -1.0]);
        assert_eq!(leg(0.0, 0.1).side(None, rest, 0.0), rest);
        assert!(leg(0.0, 1.0).side(None, rest, 0.0).expect("one")[2] > 0.99);
        assert_eq!(leg(0.0, 0.0).side(None, None, 0.0), None);
        let mut side = rest;
        for _ in 0..300 {
            side = leg(0.01, 0.1).side(side, rest, 0.016);
        }
        assert_eq!(side, rest);
        for _ in 0..300 {
            side = leg(1.0, 0.1).side(side, rest, 0.016);
        }
        assert!(side.expect("one")[0] > 0.99, "{side:?}");
    }

    #[test]
    fn no_leg_folds_beyond_its_least() {
        let distances = fold_distances(0.45, 0.4, 0.8);
        let mut before = 0.0;
        for step in 0..1000 {
            let now = f64::from(step) * 0.001 - 0.2;
            let kept = kept_above(distances, now);
            assert!(kept > before && kept >= now && kept > distances[1], "{now}: {kept}");
            before = kept;
        }
        let cos = (distances[1] * distances[1] - 0.45 * 0.45 - 0.4 * 0.4) / (2.0 * 0.45 * 0.4);
        assert!(cos > -0.94, "{cos}");
        // A leg that is folded farther in the clip is unchanged.
        assert_eq!(kept_above(fold_distances(0.45, 0.4, 0.1), 0.1), 0.1);
    }
}
