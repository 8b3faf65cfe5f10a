//! Height of the pelvis.
//!
//! # Formulas
//!
//! The height is `h = s - lead - lowered`. Each term is a smooth function of time.
//!
//! **Spring.** `s` follows the ground `g` under the lower foot by a critically damped third-order spring with
//! the rate `r`. With `x = s - g` at the start of a step of `t` seconds:
//!
//! ```text
//! x‴ + 3 r x″ + 3 r² x′ + r³ x = 0
//! x(t) = (a + b t + c t²) exp(-r t)      a = x,  b = x′ + r a,  c = (x″ + 2 r x′ + r² a) / 2
//! ```
//!
//! **Lead.** When the next foot lands in `T` seconds, the spring alone would be `late = s(T) - g` above the
//! ground there. `lead` moves to that value on the smoothest path that ends at the landing ([`Path`]), and
//! back to 0 within `5 / r` seconds.
//!
//! **Lowered.** A leg of length `L`, whose ankle goal has the horizontal distance `d` from the hip and the
//! height `y`, is straight if the hip is at `y + √(L² - d²)`. `given` is the distance of the hip below that
//! height in the clip, `now` the same distance at the height `s - lead`. The pelvis is lowered by `kept -
//! now`, where `kept` is a branch of a hyperbola with `p = given w / (given + w)`:
//!
//! ```text
//! kept = (x + √(x² + 4 given p)) / 2    x = now - p
//! kept(given) = given                   kept -> now far above, kept -> 0 far below
//! ```
//!
//! # Worked example: a step down
//!
//! `r = 8` per second. The ground under the next foot is 0.15 m lower, and the foot lands in 0.4 s. The
//! spring starts at rest: `a = 0.15`, `b = 1.2`, `c = 4.8`, `exp(-3.2) = 0.04076`:
//!
//! ```text
//! x(0.4) = (0.15 + 0.48 + 0.768) · 0.04076 = 0.057      the spring is 0.057 m late, at -0.093 m
//! lead   = 0.057 at the landing                          the pelvis is at -0.15 m
//! ```
//!
//! A leg of 0.9 m, with the hip 0.88 m above the ankle in the clip, has `given = 0.02`. Over ground that is
//! 0.05 m lower and without a lead, `now = -0.03`. With `w = 0.027`, `p = 0.0115` and `x = -0.0415`:
//!
//! ```text
//! kept = (-0.0415 + √(0.00172 + 0.00092)) / 2 = 0.0049   the pelvis comes down by 0.0349 m
//! ```
//!
//! The tests `the_spring_is_late_as_the_preface_says` and `the_leg_is_bent_as_the_preface_says` check these
//! numbers.
//!
//! # Reasons
//!
//! 1. The acceleration of a third-order spring is continuous when the ground jumps, so hips do not jerk.
//! 2. The closed form is exact, so the motion does not depend on the frame rate.
//! 3. Steps up need no lead, because the leg that still stands on the lower step has to reach its foot. After
//!    a jump no leg stands there.
//! 4. All transitions between two heights are rounded, because a corner would be a jump of the velocity.
//!
//! # Limits
//!
//! If the ground jumps by more than three leg lengths, the pelvis starts again at the new height.

use super::path::Path;
use super::{Feet, Limb};
use condyle_base::math::scalar::sqrt_f64;

/// Width of the transition in which a knee is kept bent, as a fraction of the leg length.
const BEND: f64 = 0.03;
/// Rounding of the maximum over the legs, as a fraction of the leg length.
const BETWEEN: f64 = 0.01;
/// Rounding of the maximum of the spring and the need of the legs, as a fraction of the leg length.
const CORNER: f64 = 0.006;

/// Minimum time to take a lead, multiplied by the spring's rate. A faster lead would accelerate too much at
/// its end and overshoot, because it is given back slowly.
const TAKEN: f64 = 1.6;
/// Time to give a lead back, multiplied by the spring's rate.
const GIVEN_BACK: f64 = 5.0;

/// Height of the pelvis relative to the clip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pelvis {
    /// Height that follows the ground under the lower foot.
    height: Spring,
    /// Distance below that, so that the pelvis is not late when the next foot lands.
    lead: Path<1>,
    /// Distance below that for legs that are too short: about `needed` or more, because it returns slowly.
    lowered: Option<Spring>,
    needed: f64,
}

impl Pelvis {
    pub(super) fn over(limbs: &[Limb]) -> Self {
        let height = Spring::at(Stance::next(limbs).floor);
        Self { height, lead: Path::at([0.0]), lowered: None, needed: 0.0 }
    }

    /// Advances by `seconds`. Returns the height.
    pub(super) fn advance(&mut self, feet: &Feet, limbs: &[Limb], seconds: f64) -> f64 {
        let (rate, stance) = (feet.options.pelvis.into(), Stance::next(limbs));
        // Resets after a teleport.
        if (stance.floor - self.height.place).abs() > 3.0 * feet.size {
            *self = Self::over(limbs);
        }
        self.height.advance(stance.floor, rate, seconds);
        self.lead(&stance, rate, seconds);
        let height = self.height.place - self.lead.place[0];
        let needed = needed(feet, limbs, height);
        let corner = CORNER * feet.size;
        let mut lowered = self.lowered.unwrap_or(Spring::at(needed));
        lowered.advance(needed, rate, seconds);
        lowered.hold(needed - 0.5 * corner, self.needed - 0.5 * corner, seconds);
        (self.lowered, self.needed) = (Some(lowered), needed);
        height - greater(lowered.place, needed, corner)
    }

    /// Plans for the next landing, at which the leg should be as bent as in the clip. On steps down the
    /// spring alone would be late, and the leg too short. On steps up a late pelvis is fine, because the leg
    /// that still stands on the lower step has to reach its foot. After a jump no leg stands there.
    fn lead(&mut self, stance: &Stance, rate: f64, seconds: f64) {
        let slow = GIVEN_BACK / rate;
        let (to, horizon) = match stance.seconds {
            Some(left) => {
                let mut then = self.height;
                then.advance(stance.floor, rate, left);
                let late = then.place - stance.floor;
                if stance.after_jump || late > self.lead.place[0].max(0.0) {
                    (late, left.max(TAKEN / rate))
                } else {
                    (late.max(0.0), slow)
                }
            }
            None => (0.0, slow),
        };
        self.lead.advance(&[to], &[0.0], horizon + seconds, seconds);
    }
}

/// Stance of the character when its next foot lands.
struct Stance {
    /// Height of the ground under the lowest foot that stands after the landing.
    floor: f64,
    /// Seconds until the landing, if one is known.
    seconds: Option<f64>,
    /// Whether no foot stands before the landing.
    after_jump: bool,
}

impl Stance {
    fn next(limbs: &[Limb]) -> Self {
        // Feet that land within this time after the first one count as landing with it.
        const TOGETHER: f64 = 0.1;
        let landings = limbs.iter().filter(|limb| limb.until > 0.0);
        let first = landings.fold(f64::INFINITY, |first, limb| first.min(limb.until));
        let stand = limbs.iter().filter(|limb| limb.until <= first + TOGETHER);
        Self {
            floor: stand.clone().fold(f64::INFINITY, |low, limb| low.min(limb.floor)),
            seconds: (first < f64::INFINITY).then_some(first),
            after_jump: stand.count() == limbs.len() && limbs.iter().all(|limb| limb.until > 0.0),
        }
    }
}

/// Distance by which the pelvis must drop below `height`, so that no knee is much straighter than in the
/// clip.
fn needed(feet: &Feet, limbs: &[Limb], height: f64) -> f64 {
    let mut needed = 0.0;
    for limb in limbs {
        // Distance that the hip can rise before the leg is straight.
        let slack = |to: [f64; 3], hip: f64| {
            let off = [to[0] - limb.hip[0], to[2] - limb.hip[2]];
            let rest = limb.length * limb.length - off[0] * off[0] - off[1] * off[1];
            to[1] + sqrt_f64(rest.max(0.0)) - hip
        };
        let (given, now) = (slack(limb.ankle, limb.hip[1]), slack(limb.goal, limb.hip[1] + height));
        let lacks = kept_bent(given, now, BEND * feet.size) - now;
        needed = greater(needed, lacks, BETWEEN * feet.size);
    }
    needed
}

/// A height that follows another one smoothly: a critically damped third-order spring with continuous
/// acceleration.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spring {
    place: f64,
    velocity: f64,
    acceleration: f64,
}

impl Spring {
    fn at(place: f64) -> Self {
        Self { place, velocity: 0.0, acceleration: 0.0 }
    }

    /// Advances towards a goal. Exact, so that many short steps give the same result as one long step.
    fn advance(&mut self, goal: f64, rate: f64, seconds: f64) {
        // (a + b t + c t²) exp(-rate t)
        let a = self.place - goal;
        let b = self.velocity + rate * a;
        let c = 0.5 * (self.acceleration + 2.0 * rate * self.velocity + rate * rate * a);
        let (t, decay) = (seconds, decay(rate * seconds));
        let (x, dx) = (a + t * (b + t * c), b + 2.0 * c * t);
        self.place = goal + x * decay;
        self.velocity = (dx - rate * x) * decay;
        self.acceleration = (2.0 * c - 2.0 * rate * dx + rate * rate * x) * decay;
    }

    /// Keeps the height at or above `least`, which was `before` `seconds` ago.
    fn hold(&mut self, least: f64, before: f64, seconds: f64) {
        if self.place < least {
            let pace = if seconds > 0.0 { (least - before) / seconds } else { 0.0 };
            *self = Self { place: least, velocity: pace.max(0.0), acceleration: 0.0 };
        }
    }
}

/// Returns `exp(-x)` for `x >= 0`.
pub(super) fn decay(x: f64) -> f64 {
    if x >= 60.0 {
        return 0.0;
    }
    let y = -x / 64.0;
    let mut sum = 1.0;
    for n in (1..=12).rev() {
        sum = 1.0 + sum * y / f64::from(n);
    }
    for _ in 0..6 {
        sum *= sum;
    }
    sum
}

/// Distance of a leg from being straight, for the distance `given` in the clip and the proposed distance
/// `now`. Returns `given` if both are equal, about `now` if that is much larger, and never less than 0.
fn kept_bent(given: f64, now: f64, width: f64) -> f64 {
    let given = given.max(0.0);
    let part = given * width / (given + width);
    let x = now - part;
    0.5 * (x + sqrt_f64(x * x + 4.0 * given * part))
}

/// Height of the hip above a foot in the air, for the height `given` in the clip and the proposed height
/// `now`. Keeps the knee from folding too far.
pub(super) fn kept_below(given: f64, now: f64, size: f64) -> f64 {
    let begin = given.min(0.55 * size);
    let least = begin.min(0.3 * size) - 0.05 * size;
    if now >= begin {
        return now;
    }
    // Starts with the same slope and approaches `least` asymptotically.
    least + (begin - least) * (begin - least) / (begin - least + begin - now)
}

/// Maximum of two numbers, with a rounded corner.
fn greater(a: f64, b: f64, width: f64) -> f64 {
    0.5 * (a + b + sqrt_f64((a - b) * (a - b) + width * width))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// Compares with an integration of its equation of motion in small steps.
    #[test]
    fn the_spring_is_its_equation_and_the_same_in_any_steps() {
        let (rate, goal, seconds) = (8.0, 0.3, 0.7);
        let start = Spring { place: -0.1, velocity: 0.4, acceleration: -2.0 };
        let (mut x, mut v, mut a) = (start.place, start.velocity, start.acceleration);
        let steps = if cfg!(miri) { 1 } else { 200_000 };
        let h = seconds / f64::from(steps);
        for _ in 0..steps {
            let jerk = -3.0 * rate * a - 3.0 * rate * rate * v - rate * rate * rate * (x - goal);
            x += h * (v + 0.5 * h * a);
            v += h * (a + 0.5 * h * jerk);
            a += h * jerk;
        }
        let mut once = start;
        once.advance(goal, rate, seconds);
        if !cfg!(miri) {
            let off = [once.place - x, once.velocity - v, once.acceleration - a];
            assert!(off.iter().all(|off| off.abs() < 1e-3), "{off:?}");
        }
        for parts in [2, 3, 7, 42, 100] {
            let mut many = start;
            for _ in 0..parts {
                many.advance(goal, rate, seconds / f64::from(parts));
            }
            let off = [
                many.place - once.place,
                many.velocity - once.velocity,
                many.acceleration - once.acceleration,
            ];
            assert!(off.iter().all(|off| off.abs() < 1e-11), "{parts}: {off:?}");
        }
        once.advance(goal, rate, 1e9);
        assert_eq!(once, Spring::at(goal));
    }

    fn still() -> Pelvis {
        Pelvis { height: Spring::at(0.0), lead: Path::at([0.0]), lowered: None, needed: 0.0 }
    }

    /// Runs one frame at 60 Hz. Returns the height of the pelvis.
    fn frame(pelvis: &mut Pelvis, floor: f64, left: Option<f64>, after_jump: bool) -> f64 {
        let (rate, seconds) = (8.0, 1.0 / 60.0);
        pelvis.height.advance(floor, rate, seconds);
        pelvis.lead(&Stance { floor, seconds: left, after_jump }, rate, seconds);
        pelvis.height.place - pelvis.lead.place[0]
    }

    /// A swing of 0.4 s to a step 15 cm lower or higher. The spring alone would move 9 cm.
    #[test]
    fn it_is_down_when_the_foot_lands_and_up_after_a_jump() {
        for (floor, after_jump, want) in [(-0.15, false, -0.15), (0.15, true, 0.15), (0.15, false, 0.093)] {
            let (mut pelvis, mut high) = (still(), 0.0);
            let mut places = vec![0.0; 2];
            for n in 1..=24 {
                high = frame(&mut pelvis, floor, Some(0.4 - f64::from(n) / 60.0), after_jump);
                places.push(high);
            }
            assert!((high - want).abs() < 1e-3, "{floor}, {after_jump}: {high} instead of {want}");
            // A minimum-jerk path of length d in time T has a peak acceleration of 5.8 d/T², here 5.4 m/s².
            for w in places.windows(3) {
                assert!((w[0] - 2.0 * w[1] + w[2]).abs() * 3600.0 < 8.0, "{floor}, {after_jump}: {w:?}");
            }
        }
    }

    /// A foot repeatedly leaves the ground for a short time. Leads that are taken quickly and given back
    /// slowly must not add up.
    #[test]
    fn short_swings_do_not_swing_up() {
        let mut pelvis = still();
        for n in 0..2000 {
            let left = [Some(0.05), Some(0.03), Some(0.01)].get(n % 16).copied().flatten();
            let floor = if left.is_some() { -0.02 } else { 0.0 };
            let high = frame(&mut pelvis, floor, left, false);
            assert!(high.abs() < 0.04, "{n}: {high}");
        }
    }

    #[test]
    fn the_spring_is_late_as_the_preface_says() {
        let mut spring = Spring::at(0.0);
        spring.advance(-0.15, 8.0, 0.4);
        assert!((spring.place + 0.093).abs() < 5e-4, "{spring:?}");
    }

    #[test]
    fn the_leg_is_bent_as_the_preface_says() {
        let kept = kept_bent(0.02, -0.03, 0.027);
        assert!((kept - 0.0049).abs() < 5e-5, "{kept}");
    }

    #[test]
    fn a_knee_is_as_straight_as_in_the_clip_and_never_straighter_than_it_must() {
        for given in [1e-6, 0.001, 0.02, 0.3] {
            assert!((kept_bent(given, given, 0.02) - given).abs() < 1e-12, "{given}");
            let mut before = 0.0;
            for step in 0..2000 {
                let now = -0.5 + f64::from(step) * 0.0005;
                let kept = kept_bent(given, now, 0.02);
                assert!(kept > before && kept >= now - 0.02, "{given}, {now}: {kept}");
                before = kept;
            }
            assert!(kept_bent(given, -0.5, 0.02) < given);
        }
        assert_eq!(kept_bent(0.0, -0.1, 0.02), 0.0);
        assert_eq!(kept_bent(-0.1, 0.1, 0.02), 0.1);
    }

    #[test]
    fn a_foot_in_the_air_is_below_its_hip() {
        for given in [-0.1, 0.0, 0.2, 0.4, 0.9] {
            let mut before = kept_below(given, -1.0005, 0.9);
            for step in 0..4000 {
                let now = -1.0 + f64::from(step) * 0.0005;
                let kept = kept_below(given, now, 0.9);
                assert!(kept >= now && kept > before && kept - before < 0.0006, "{given}, {now}: {kept}");
                before = kept;
            }
            assert_eq!(kept_below(given, given, 0.9), given);
            assert!(kept_below(given, -1e30, 0.9) > given.min(0.27) - 0.046);
        }
    }
}
