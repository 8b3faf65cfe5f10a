//! When a foot is planted: the thresholds of contacts, retargeting, its certificates and inspected clips.

use condyle_base::math::scalar::smooth;

/// Length of the leg, in metres, for which the constants below are given.
pub(super) const LEG: f64 = 0.9;
/// Heights above the ground, in metres: a contact begins below the first, and ends above the second.
pub(super) const HEIGHT: [f64; 2] = [0.03, 0.05];
/// Height from which a foot is certainly in the air, in metres.
const LIFTED: f64 = 0.1;
/// Speeds in metres per second: a contact begins below the first, and ends above the second.
pub(super) const SPEED: [f64; 2] = [0.3, 0.6];
/// Speed up to which a planted foot is still, in metres per second.
const STILL: f64 = 0.01;
/// One frame in this many may be below the height that counts as the ground.
const LOW: usize = 20;

/// Thresholds of a planted foot, in the unit of the leg's length.
///
/// They are proportional to the length of the leg, thigh and shin added up. The values below are for a leg
/// of 0.9 m. `docs/conventions.md` has the table, and the users of each row.
///
/// ```
/// use condyle_solve::foot_placement::Planted;
///
/// let planted = Planted::for_leg(0.9);
/// // A foot that comes down is planted once it is low and slow, and stays so a little longer.
/// assert!(!planted.is_planted(0.04, 0.2, false) && planted.is_planted(0.02, 0.2, false) && planted.is_planted(0.04, 0.5, true));
/// // A model in centimetres.
/// assert!(Planted::for_leg(90.0).is_planted(2.0, 20.0, false));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Planted {
    /// Heights above the ground: a foot below the first becomes planted, one above the second no longer is. 3
    /// and 5 cm.
    pub height: [f64; 2],
    /// Height from which a foot carries nothing: 10 cm.
    pub lifted: f64,
    /// Speeds: a foot slower than the first becomes planted, one faster than the second no longer is. 0.3 and
    /// 0.6 m/s.
    pub speed: [f64; 2],
    /// Speed up to which a planted foot is still: 1 cm/s.
    pub still: f64,
}

impl Planted {
    /// Thresholds for a leg of this length, in any unit.
    #[must_use]
    pub fn for_leg(length: f64) -> Self {
        let size = length / LEG;
        Self {
            height: HEIGHT.map(|v| v * size),
            lifted: LIFTED * size,
            speed: SPEED.map(|v| v * size),
            still: STILL * size,
        }
    }

    /// Returns whether a foot is planted, from its height above the ground, its speed, and whether it was
    /// planted a moment `before`.
    #[inline]
    #[must_use]
    pub fn is_planted(&self, above: f64, speed: f64, before: bool) -> bool {
        let limit = usize::from(before);
        above <= self.height[limit] && speed <= self.speed[limit]
    }

    /// Returns whether a foot is planted and does not move at all.
    #[must_use]
    pub fn is_still(&self, above: f64, speed: f64) -> bool {
        above <= self.height[0] && speed <= self.still
    }

    /// Returns the freedom of a foot to move, which does not depend on the moment before. It is 0 for a still
    /// foot and 1 for one that is not planted. A foot that begins to move or to rise is between.
    #[must_use]
    pub fn freedom(&self, above: f64, speed: f64) -> f64 {
        let moves = ((speed - self.still) / (self.speed[0] - self.still)).max(0.0);
        let rises = smooth((above - self.height[0]) / (self.height[1] - self.height[0]));
        (moves + rises).min(1.0)
    }

    /// Returns how much of the body a foot may carry, by its height alone: 1 for a planted one, 0 from
    /// [`lifted`](Self::lifted) on, and a smooth step between.
    #[must_use]
    pub fn weight(&self, above: f64) -> f64 {
        1.0 - smooth((above - self.height[0]) / (self.lifted - self.height[0]))
    }
}

/// Returns the height of the ground under a foot from its heights in a clip, whose order changes: one frame
/// in 20 may be lower, because the lowest one may be a wrong key. `None` without heights.
pub fn ground_under(heights: &mut [f64]) -> Option<f64> {
    let at = heights.len() / LOW;
    if heights.is_empty() { None } else { Some(*heights.select_nth_unstable_by(at, f64::total_cmp).1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_contact_ends_later_than_it_begins() {
        for size in [0.9, 90.0, 0.01] {
            let planted = Planted::for_leg(size);
            let [low, high] = planted.height;
            let [slow, fast] = planted.speed;
            assert!(planted.is_planted(low, slow, false) && !planted.is_planted(high, slow, false));
            assert!(planted.is_planted(high, fast, true) && !planted.is_planted(1.01 * high, slow, true));
            assert!(!planted.is_planted(low, 1.01 * fast, true) && !planted.is_planted(low, fast, false));
            assert!(planted.is_still(low, planted.still) && !planted.is_still(low, 1.01 * planted.still));
        }
    }

    #[test]
    fn freedom_and_weight_join_still_and_lifted_feet() {
        let planted = Planted::for_leg(0.9);
        assert_eq!([planted.freedom(0.0, 0.0), planted.freedom(0.03, 0.01)], [0.0; 2]);
        assert_eq!(
            [planted.freedom(0.05, 0.0), planted.freedom(0.0, 0.3), planted.freedom(9.0, 9.0)],
            [1.0; 3]
        );
        assert_eq!([planted.weight(-1.0), planted.weight(0.03), planted.weight(0.1)], [1.0, 1.0, 0.0]);
        let mut before = [0.0, 0.0, 1.0];
        for step in 1..100 {
            let part = f64::from(step) / 100.0;
            let now = [
                planted.freedom(0.0, 0.01 + 0.29 * part),
                planted.freedom(0.03 + 0.02 * part, 0.0),
                planted.weight(0.03 + 0.07 * part),
            ];
            assert!(now[0] > before[0] && now[1] > before[1] && now[2] < before[2], "{step}: {now:?}");
            before = now;
        }
    }

    #[test]
    fn one_wrong_key_is_not_the_ground() {
        let mut heights: Vec<f64> = (0..40).map(|at| 0.1 + 0.01 * f64::from(at)).collect();
        heights[17] = -5.0;
        assert_eq!(ground_under(&mut heights), Some(0.11));
        assert_eq!((ground_under(&mut [2.0]), ground_under(&mut [])), (Some(2.0), None));
    }
}
