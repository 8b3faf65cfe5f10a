//! State of one foot from call to call: where it stands, or its path to the next landing.

use super::Feet;
use super::ground::{Ground, GroundPoint};
use super::path::Path;
use super::step::{Landing, Step};
use crate::maps::{Vec64, add, direction, length, scaled, sub};
use condyle_base::math::quats::{Quat64, from_rotation_vector, rotate};
use condyle_base::math::scalar::{atan2_f64, sqrt_f64};
use condyle_base::math::{Affine, Rigid};

/// Planned stance of a foot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// Goal of the joint that touches the ground, in world space.
    pub(super) place: Vec64,
    /// Height of the ground there.
    floor: f64,
    /// Height of the ground below the foot's joint.
    heel: f64,
    tilt: [f64; 2],
    /// Shift along the foot, relative to the clip, so that the sole is on one step.
    shift: f64,
}

/// Persistent state of a foot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Foot {
    planted: bool,
    /// Offset of the foot. In the air it is relative to the position in the clip, on the floor of the foot.
    /// On the ground it is relative to the position at which the foot stands.
    offset: Path<3>,
    /// Rotation to the slope about `x` and `z`, and the floor.
    stance: Path<3>,
    /// Seconds until landing, or on the ground, until it is at rest.
    left: f64,
    target: Option<Target>,
    /// Duration of the swing, and the additional height in the middle of it.
    swing: f64,
    lift: f64,
    /// Position of the foot in the clip at the last call, in world space with the ground at height 0.
    source: Vec64,
    /// Velocity of the foot in the clip at the last call.
    pace: Vec64,
    /// Output position.
    pub(super) place: Vec64,
}

/// Seconds after leaving and before landing in which a foot departs from the clip. Over a longer time, a
/// small velocity would lead to a large offset.
const WINDOW: f64 = 0.35;

/// Current position of a foot in the clip's pose, in world space with the ground at height 0.
pub(super) struct Seen {
    /// Position of the joint that touches the ground.
    pub(super) place: Vec64,
    /// Horizontal direction of the foot. `None` if the foot is vertical or has no length.
    pub(super) ahead: Option<Vec64>,
}

/// Inputs of a call, in world space.
pub(super) struct World<'a> {
    pub(super) placement: &'a Rigid,
    pub(super) ground: &'a dyn Ground,
    pub(super) seconds: f64,
}

impl World<'_> {
    /// Position of a joint in world space, with the ground at height 0.
    pub(super) fn place_of(&self, joint: &Affine) -> Vec64 {
        self.place(joint.rows.map(|row| f64::from(row[3])))
    }

    /// The ground below a point. `None` if it is not finite, or vertical.
    fn below(&self, from: Vec64) -> Option<GroundPoint> {
        let surface = self.ground.below(from)?;
        let normal = direction(surface.normal)?;
        let usable = surface.height.abs() < 1e30 && normal[1] > 1e-3;
        usable.then_some(GroundPoint { normal, ..surface })
    }

    /// Maps a point from model space to world space, with the ground at height 0.
    fn place(&self, p: Vec64) -> Vec64 {
        let [x, _, z] = self.placement.translation;
        add(rotate(self.placement.rotation, p), [x, 0.0, z])
    }
}

impl Target {
    fn stance(&self) -> [f64; 3] {
        [self.tilt[0], self.tilt[1], self.floor]
    }
}

impl Foot {
    /// A foot at its position in the clip, on the ground.
    pub(super) fn new(feet: &Feet, world: &World<'_>, seen: &Seen) -> Self {
        let floor = world.placement.translation[1];
        let mut foot = Self {
            planted: false,
            offset: Path::at([0.0; 3]),
            stance: Path::at([0.0, 0.0, floor]),
            left: 0.0,
            target: None,
            swing: 0.0,
            lift: 0.0,
            source: seen.place,
            pace: [0.0; 3],
            place: seen.place,
        };
        foot.stance = Path::at(foot.stand(feet, world, seen, seen.place, false).stance());
        foot.place = add(seen.place, [0.0, foot.floor(), 0.0]);
        foot
    }

    /// Height of the ground that applies to the foot.
    fn floor(&self) -> f64 {
        self.stance.place[2]
    }

    /// Height of the ground below the foot's joint where it stands, or will stand.
    pub(super) fn stands_at(&self) -> f64 {
        self.target.map_or(self.floor(), |target| target.heel)
    }

    /// Seconds until the foot stands. 0 if no landing is known, because it may land at any moment.
    pub(super) fn until(&self) -> f64 {
        if self.planted || self.target.is_none() { 0.0 } else { self.left }
    }

    /// Rotation to the slope, in world space.
    pub(super) fn tilt(&self) -> Quat64 {
        from_rotation_vector([self.stance.place[0], 0.0, self.stance.place[1]])
    }

    /// Freedom of the foot to leave its position: 1 in the air, 0 on the ground, with a smooth transition.
    pub(super) fn freedom(&self) -> f64 {
        const SECONDS: f64 = 0.15;
        if self.planted {
            return 0.0;
        }
        if self.target.is_none() {
            return 1.0;
        }
        let part = (self.left.min(self.swing - self.left) / SECONDS).clamp(0.0, 1.0);
        part * part * (3.0 - 2.0 * part)
    }

    pub(super) fn is_planted(&self) -> bool {
        self.planted
    }

    /// Advances the foot by one call.
    pub(super) fn advance(&mut self, feet: &Feet, world: &World<'_>, seen: &Seen, step: &Step) {
        let far = |a: Vec64, b: Vec64| length([a[0] - b[0], 0.0, a[2] - b[2]]);
        // Starts again after a teleport, or if the clip has moved away from the planted foot.
        if far(seen.place, self.source) > feet.size || far(seen.place, self.place) > feet.size {
            *self = Self::new(feet, world, seen);
        }
        match step {
            Step::Planted if self.planted => self.settle(world.seconds),
            Step::Planted => self.touch(feet, world, seen),
            Step::Swing(landing) => {
                if self.planted {
                    self.leave();
                }
                self.fly(feet, world, seen, landing.as_ref());
            }
        }
        if world.seconds > 0.0 {
            self.pace = scaled(sub(seen.place, self.source), 1.0 / world.seconds);
        }
        self.source = seen.place;
    }

    /// Moves the foot on the ground towards the position at which it stands.
    fn settle(&mut self, seconds: f64) {
        let Some(target) = self.target else { return };
        self.offset.advance(&[0.0; 3], &[0.0; 3], self.left, seconds);
        self.stance.advance(&target.stance(), &[0.0; 3], self.left, seconds);
        self.left = (self.left - seconds).max(0.0);
        self.place = add(target.place, self.offset.place);
    }

    /// Begins a contact: the foot lands.
    fn touch(&mut self, feet: &Feet, world: &World<'_>, seen: &Seen) {
        self.planted = true;
        self.lift = 0.0;
        if let Some(target) = self.target
            && self.left <= 1.5 * world.seconds
        {
            // The foot lands as planned.
            (self.offset, self.stance) = (Path::at([0.0; 3]), Path::at(target.stance()));
            self.left = 0.0;
            self.place = target.place;
            return;
        }
        let (before, settle) = (self.place, f64::from(feet.options.settle));
        self.offset.advance(&[0.0; 3], &[0.0; 3], settle, world.seconds);
        let place = add(seen.place, add(self.offset.place, [0.0, self.floor(), 0.0]));
        let mut target = self.stand(feet, world, seen, place, false);
        target.place[1] = target.floor + seen.place[1];
        // The foot starts at its current velocity and slows to a stop.
        self.offset = Path::at(sub(place, target.place));
        if world.seconds > 0.0 {
            self.offset.velocity = scaled(sub(place, before), 1.0 / world.seconds);
        }
        self.place = place;
        self.target = Some(target);
        self.left = settle;
    }

    /// Leaves the ground. At first the offset keeps the foot in place while the foot in the clip moves on.
    fn leave(&mut self) {
        self.planted = false;
        self.target = None;
        self.swing = 0.0;
        self.offset = Path::at(sub(self.place, add(self.source, [0.0, self.floor(), 0.0])));
        self.offset.velocity = scaled(self.pace, -1.0);
    }

    /// Moves the foot through the air along its path.
    fn fly(&mut self, feet: &Feet, world: &World<'_>, seen: &Seen, landing: Option<&Landing>) {
        let target = match landing {
            Some(landing) => self.planned(feet, world, seen, landing),
            None => self.stand(feet, world, seen, seen.place, false),
        };
        self.target = landing.map(|_| target);
        self.left = landing.map_or(feet.options.settle.into(), |landing| f64::from(landing.seconds).max(0.0));
        let horizon = self.left + world.seconds;
        if self.swing <= 0.0 || landing.is_none() {
            self.swing = horizon;
            self.lift = landing.map_or(0.0, |_| self.clearance(feet, world, seen, &target));
        }
        let window = (0.5 * self.swing).min(WINDOW);
        let gone = self.swing - horizon;
        match landing {
            // Moves towards the landing. The final velocity cancels that of the clip, so that the foot stands
            // still.
            Some(landing) if gone >= window && horizon <= window => {
                let from = world.place(landing.from.map(f64::from));
                let to = sub(target.place, add(from, [0.0, target.floor, 0.0]));
                let through = rotate(world.placement.rotation, landing.velocity.map(|v| -f64::from(v)));
                self.offset.advance(&to, &through, horizon, world.seconds);
            }
            // Moves back to the position in the clip.
            _ => self.offset.advance(&[0.0; 3], &[0.0; 3], window - gone, world.seconds),
        }
        self.stance.advance(&target.stance(), &[0.0; 3], horizon, world.seconds);
        let high = self.floor() + self.lift * bump(1.0 - (self.left / self.swing).min(1.0));
        self.place = add(seen.place, add(self.offset.place, [0.0, high, 0.0]));
    }

    /// Planned stance at the landing. The previous plan is kept if the landing position is the same, and
    /// shortly before the landing.
    fn planned(&self, feet: &Feet, world: &World<'_>, seen: &Seen, landing: &Landing) -> Target {
        let wanted = world.place(landing.place.map(f64::from));
        if let Some(target) = self.target {
            let shifted = add(wanted, scaled(seen.ahead.unwrap_or_default(), target.shift));
            let off = sub(target.place, shifted);
            if length([off[0], 0.0, off[2]]) < 0.02 * feet.size || self.left < 0.1 {
                return target;
            }
        }
        let mut target = self.stand(feet, world, seen, wanted, true);
        target.place[1] = target.floor + wanted[1];
        target
    }

    /// Stance of the foot at a position, high enough that no part of the sole is below the ground.
    fn stand(&self, feet: &Feet, world: &World<'_>, seen: &Seen, place: Vec64, moves: bool) -> Target {
        let floor = self.floor();
        let sole = feet.options.sole.map(f64::from);
        let look = |p: Vec64| world.below([p[0], floor + f64::from(feet.options.step), p[2]]);
        let at = |shift: f64| {
            let along = seen.ahead.unwrap_or_default();
            let place = add(place, scaled(along, shift));
            let middle = look(place).unwrap_or(GroundPoint::level(world.placement.translation[1]));
            let tilt = tilt(middle.normal, feet.options.slope.into());
            // The level of a point is its height without the rise of a plane that has this tilt.
            let normal = rotate(from_rotation_vector([tilt[0], 0.0, tilt[1]]), [0.0, 1.0, 0.0]);
            let (mut floor, mut even) = (middle.height, 0.0_f64);
            for far in [sole[0], -sole[1]] {
                let off = scaled(along, far);
                let Some(surface) = look(add(place, off)) else { continue };
                let level = surface.height + (normal[0] * off[0] + normal[2] * off[2]) / normal[1];
                even = even.max((level - middle.height).abs());
                floor = floor.max(level);
            }
            let heel = floor + (normal[0] * along[0] + normal[2] * along[2]) / normal[1] * feet.foot;
            (Target { place: [place[0], 0.0, place[2]], floor, heel, tilt, shift }, even)
        };
        let enough = 0.03 * feet.size;
        let here = at(0.0);
        if here.1 <= enough || seen.ahead.is_none() || !moves {
            return here.0;
        }
        // On the edge of a step, tries positions a little further forward and back, until the whole sole is
        // on one step.
        let part = (sole[0] + sole[1]) / 8.0;
        let near = (1..=8).map(|n| {
            let far = f64::from((n + 1) / 2) * part;
            at(if n % 2 == 0 { -far } else { far })
        });
        near.into_iter().find(|found| found.1 <= enough).unwrap_or(here).0
    }

    /// Additional height in the middle of the swing, so that the foot clears the ground in between.
    fn clearance(&self, feet: &Feet, world: &World<'_>, seen: &Seen, target: &Target) -> f64 {
        const PARTS: u32 = 16;
        let (options, sole) = (&feet.options, feet.options.sole.map(f64::from));
        let way = sub(target.place, self.place);
        let (from, to) = (self.floor(), target.floor);
        let mut lift = 0.0_f64;
        for part in 3..PARTS - 2 {
            let s = f64::from(part) / f64::from(PARTS);
            let gone = s * s * (3.0 - 2.0 * s);
            let path = from + (to - from) * s * s * s * (10.0 - s * (15.0 - 6.0 * s));
            for far in [sole[0], 0.0, -sole[1]] {
                let off = scaled(seen.ahead.unwrap_or_default(), far);
                let p = add([self.place[0] + way[0] * gone, 0.0, self.place[2] + way[2] * gone], off);
                let high = [p[0], from.max(to) + f64::from(options.step), p[2]];
                let Some(surface) = world.below(high) else { continue };
                // The sole rotates with the slope.
                let n = surface.normal;
                let lacks = surface.height + (n[0] * off[0] + n[2] * off[2]) / n[1] - path;
                if lacks.is_finite() && lacks > 0.01 * feet.size {
                    lift = lift.max((lacks + f64::from(options.clearance) * bump(s)) / bump(s));
                }
            }
        }
        // The duration of the swing limits the height.
        let most = 0.6 * self.swing * self.swing * feet.size;
        lift.min(most)
    }
}

/// Rises from 0 to 1 and falls back, at rest at both ends.
fn bump(s: f64) -> f64 {
    let v = s * (1.0 - s);
    64.0 * v * v * v
}

/// Shortest rotation from vertical to a normal, at most `most` radians, about `x` and `z`.
fn tilt(normal: Vec64, most: f64) -> [f64; 2] {
    let level = sqrt_f64(normal[0] * normal[0] + normal[2] * normal[2]);
    let Some([x, _, z]) = direction([normal[2], 0.0, -normal[0]]) else { return [0.0; 2] };
    let angle = atan2_f64(level, normal[1]).min(most);
    [x * angle, z * angle]
}
