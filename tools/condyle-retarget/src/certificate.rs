//! The certificate of a retargeted clip.
//!
//! A script can compute its figures again from both files, except those of the solver: standing frames, the
//! reach of feet and the way of the pelvis. All are of the poses before compression.

use condyle::{Error, Pose};

use crate::body::{Body, Place, SIDES};
use crate::figures::{Figures, Legs, figures};
use crate::footing::Ground;
use crate::maths::{Vec3, add, atan2_f64, conjugate, cross, dot, length, rotate, scaled, sub};
use crate::plan::Plan;
use crate::rig::Role;
use crate::write::Goals;

/// Minimum miss of a standing foot that counts as out of reach, in heights: 1 mm at 1.8 m.
const MISSED: f64 = 1.0 / 1800.0;
/// Minimum distance that puts a frame in doubt, in heights: 5 mm at 1.8 m.
const DOUBT: f64 = 5.0 / 1800.0;

/// Measurements of one retargeted clip. Lengths are in mm if the target's unit is the metre, otherwise
/// in thousandths of its unit: see [`in_unit`](Self::in_unit).
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Certificate {
    /// Number of frames.
    pub frames: usize,
    /// Size of the target's steps compared with the source's, in the units of both files.
    pub ratio: f64,
    /// Height of the ground under the source's motion, in units of its file: from its rest pose, from the
    /// clip, or given.
    pub source_ground: f64,
    /// Sums of the figures, with both bodies scaled to 1.8 m.
    pub figures: Figures,
    /// Largest way of a planted toe from where it began to stand.
    pub slide_mm: f64,
    /// Largest distance of a planted toe from the height of the scaled source.
    pub height_mm: f64,
    /// Largest distance by which a standing foot misses its goal.
    pub reach_mm: f64,
    /// Frames in which a standing foot misses its goal by more than 1 mm at 1.8 m, counted per foot.
    pub out_of_reach: usize,
    /// Frames with a standing foot, counted per foot.
    pub standing: usize,
    /// Largest depth of a joint below the ground, beyond the depth of the scaled source's.
    pub ground_mm: f64,
    /// Largest depth of a hand in the capsules of trunk and thighs, beyond the scaled depth of the source's.
    pub body_mm: f64,
    /// Largest angle in degrees of a knee or elbow beyond its limits, and beyond the source's: knees may bend
    /// to the front by 10 degrees, and both may bend by 165.
    pub limits_degrees: f64,
    /// Largest distance by which the pelvis was lowered or lifted.
    pub pelvis_mm: f64,
    /// Frames in which the pelvis was moved by more than 1 cm at 1.8 m.
    pub pelvis_moved: usize,
    /// Frames in doubt.
    pub doubts: Vec<Doubt>,
}

/// A range of frames in doubt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doubt {
    /// First frame.
    pub first: usize,
    /// Last frame.
    pub last: usize,
    /// Reason.
    pub why: Reason,
    /// Largest measure in the range: mm for distances, degrees for angles.
    pub worst: f64,
}

/// Reason for doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A standing foot is out of reach.
    OutOfReach,
    /// A joint is below the ground.
    BelowGround,
    /// A hand is inside the body.
    InsideBody,
    /// A leg turns by more than 20 degrees in a frame, and 2.5 times as far as the source's.
    Spin,
}

impl Reason {
    /// Returns a short description.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::OutOfReach => "a standing foot is out of reach",
            Self::BelowGround => "a joint is below the ground",
            Self::InsideBody => "a hand is inside the body",
            Self::Spin => "a leg spins",
        }
    }
}

impl Certificate {
    /// Returns the same certificate for a target of this many metres per direction, instead of 1.
    #[must_use]
    pub fn in_unit(mut self, metres: f64) -> Self {
        let lengths = [
            &mut self.slide_mm,
            &mut self.height_mm,
            &mut self.reach_mm,
            &mut self.ground_mm,
            &mut self.body_mm,
            &mut self.pelvis_mm,
        ];
        lengths.into_iter().for_each(|length| *length *= metres);
        let distances = self.doubts.iter_mut().filter(|doubt| doubt.why != Reason::Spin);
        distances.for_each(|doubt| doubt.worst *= metres);
        self
    }

    /// Returns all figures with their names in reports, rounded to the four decimals that reports state.
    #[must_use]
    pub fn table(&self) -> Vec<(&'static str, f64)> {
        let f = &self.figures;
        let count = |count: usize| count as f64;
        let figures = [
            ("frames", count(self.frames)),
            ("ratio", self.ratio),
            ("source_ground", self.source_ground),
            ("planted_frames", count(f.planted)),
            ("sliding_percent", self.sliding_percent()),
            ("sliding_beyond_scale_percent", self.sliding_beyond_scale_percent()),
            ("slide_mm", self.slide_mm),
            ("height_mm", self.height_mm),
            ("standing_frames", count(self.standing)),
            ("out_of_reach_percent", self.out_of_reach_percent()),
            ("reach_missed_mm", self.reach_mm),
            ("frozen_percent", percent(f.frozen, f.moving)),
            ("ground_mm", self.ground_mm),
            ("body_mm", self.body_mm),
            ("limits_degrees", self.limits_degrees),
            ("pelvis_mm", self.pelvis_mm),
            ("pelvis_moved_percent", percent(self.pelvis_moved, self.frames)),
            ("knee_acceleration", self.knee_acceleration()),
            ("spins", count(f.spins)),
        ];
        figures.map(|(name, value)| (name, (value * 1e4).round() / 1e4)).to_vec()
    }

    /// Share of planted frames whose toe is faster than 1 cm/s, in percent.
    #[must_use]
    pub fn sliding_percent(&self) -> f64 {
        percent(self.figures.sliding, self.figures.planted)
    }

    /// Share of planted frames whose toe slides beyond scale, in percent. The threshold of 1 cm/s is
    /// multiplied by the ratio of the steps if that is above 1, so that larger steps may move a toe faster.
    #[must_use]
    pub fn sliding_beyond_scale_percent(&self) -> f64 {
        percent(self.figures.beyond, self.figures.planted)
    }

    /// Share of standing frames out of reach, in percent.
    #[must_use]
    pub fn out_of_reach_percent(&self) -> f64 {
        percent(self.out_of_reach, self.standing)
    }

    /// Angular acceleration of the knees compared with the source's. 1 if the source's knees do not move.
    #[must_use]
    pub fn knee_acceleration(&self) -> f64 {
        let [own, source] = self.figures.knee;
        if source > 0.0 { own / source } else { 1.0 }
    }
}

/// Returns a share in percent, and 0 of nothing.
pub(crate) fn percent(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 }
}

/// Measures a clip while its poses are made.
pub(crate) struct Witness {
    legs: [Legs; 2],
    checks: [PoseChecks; 2],
    ratio: f64,
    /// Scale of the target: mm per direction, and its height.
    height: f64,
    certificate: Certificate,
    latest: Latest,
}

impl Witness {
    pub(crate) fn new(plan: &Plan, ground: &Ground) -> Self {
        let mut legs = [&plan.source, &plan.target].map(|body| Legs::of(body.clone()));
        legs[0].set_stance(ground.toes);
        let checks = [(&plan.source, ground.floor), (&plan.target, plan.target.floor)]
            .map(|(body, floor)| PoseChecks::new(body, floor));
        let certificate =
            Certificate { ratio: plan.footing.ratio, source_ground: ground.floor, ..Certificate::default() };
        let latest = Latest::default();
        Self { legs, checks, ratio: plan.footing.ratio, height: plan.target.height, certificate, latest }
    }

    pub(crate) fn add(&mut self, seconds: f64, poses: [&Pose; 2], goals: &Goals) -> Result<(), Error> {
        let frame = self.certificate.frames;
        for (legs, pose) in self.legs.iter_mut().zip(poses) {
            legs.add(seconds, pose)?;
        }
        let [source, target] = [0, 1].map(|at: usize| self.checks[at].faults(poses[at]));
        let all = &mut self.certificate;
        all.frames += 1;
        for side in 0..2 {
            all.standing += usize::from(goals.stand[side] > 0.5);
            all.out_of_reach += usize::from(goals.missed[side] > MISSED * self.height);
            all.reach_mm = all.reach_mm.max(1e3 * goals.missed[side]);
        }
        all.pelvis_mm = all.pelvis_mm.max(1e3 * goals.drop.abs());
        all.pelvis_moved += usize::from(goals.drop.abs() > 10.0 * MISSED * self.height);
        let beyond = |at: usize| (target[at] - self.ratio * source[at]).max(0.0);
        let [ground, body] = [beyond(0), beyond(1)];
        all.ground_mm = all.ground_mm.max(1e3 * ground);
        all.body_mm = all.body_mm.max(1e3 * body);
        all.limits_degrees = all.limits_degrees.max((target[2] - source[2]).to_degrees());
        let missed = goals.missed[0].max(goals.missed[1]);
        for (depth, limit, why) in [
            (missed, DOUBT, Reason::OutOfReach),
            (ground, 2.0 * DOUBT, Reason::BelowGround),
            (body, 4.0 * DOUBT, Reason::InsideBody),
        ] {
            if depth > limit * self.height {
                self.latest.add(&mut all.doubts, frame, why, 1e3 * depth);
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Certificate, Error> {
        let [source, target] = &self.legs;
        let mut details = Vec::new();
        self.certificate.figures = figures(source, target, self.ratio)?;
        crate::figures::spins(source, target, &mut details);
        for (frame, degrees) in details {
            self.latest.add(&mut self.certificate.doubts, frame, Reason::Spin, degrees);
        }
        let scale = 1e3 * self.height / crate::figures::TALL;
        let [slide, height] = crate::figures::planted(source, target, self.ratio);
        self.certificate.slide_mm = scale * slide;
        self.certificate.height_mm = scale * height;
        self.certificate.doubts.sort_by_key(|doubt| (doubt.first, doubt.why as usize));
        Ok(self.certificate)
    }
}

/// Index of the latest range of each reason, so that a frame in doubt takes constant time.
#[derive(Default)]
struct Latest([Option<usize>; 4]);

impl Latest {
    /// Adds a frame to the ranges. Gaps of up to five frames join.
    fn add(&mut self, doubts: &mut Vec<Doubt>, frame: usize, why: Reason, worst: f64) {
        let latest = &mut self.0[why as usize];
        match latest.map(|at| &mut doubts[at]) {
            Some(range) if range.last + 6 >= frame => {
                range.last = frame;
                range.worst = range.worst.max(worst);
            }
            _ => {
                *latest = Some(doubts.len());
                doubts.push(Doubt { first: frame, last: frame, why, worst });
            }
        }
    }
}

/// Angle in degrees by which a knee may bend to the front.
const BACKWARDS: f64 = 10.0;
/// Angle in degrees by which knees and elbows may bend.
const BENT: f64 = 165.0;

/// A knee or an elbow.
struct Hinge {
    /// Joints of the upper bone, the lower bone and its end.
    joints: [usize; 3],
    /// Axis about which a knee bends, in the space of the upper bone.
    axis: Option<Vec3>,
}

/// A capsule around a bone.
struct Capsule {
    /// Joints at both ends.
    ends: [usize; 2],
    radius: f64,
}

/// Checks each pose of a body: joints below the ground, hands in the capsules of trunk and thighs, and
/// hinges beyond their limits.
struct PoseChecks {
    parents: Vec<u16>,
    places: Vec<Place>,
    /// Joints with a role that are above the ground at rest.
    joints: Vec<usize>,
    hands: Vec<usize>,
    capsules: Vec<Capsule>,
    hinges: Vec<Hinge>,
    floor: f64,
}

impl PoseChecks {
    fn new(body: &Body, floor: f64) -> Self {
        let at = |role: Role| body.map.joint(role).map(usize::from);
        let trunk = at(Role::Neck).or_else(|| at(Role::Head));
        let mut capsules = Vec::new();
        if let Some(top) = trunk {
            capsules.push(Capsule { ends: [body.hips, top], radius: 0.5 * body.width });
        }
        let thighs =
            body.legs.iter().map(|leg| Capsule { ends: [leg.thigh, leg.shin], radius: 0.3 * body.width });
        capsules.extend(thighs);
        let above_ground = |&joint: &usize| body.rest[joint].at[1] >= body.floor;
        let joints = body.map.roles().map(|(_, joint)| usize::from(joint)).filter(above_ground);
        Self {
            joints: joints.collect(),
            hands: [Role::LeftHand, Role::RightHand].into_iter().filter_map(at).collect(),
            parents: body.parents.clone(),
            places: vec![Place::IDENTITY; body.joint_count()],
            capsules,
            hinges: hinges(body),
            floor,
        }
    }

    /// Returns the largest depth of a joint below the ground, the largest depth of a hand in the body, and
    /// the largest angle in radians of a hinge beyond its limits.
    fn faults(&mut self, pose: &Pose) -> [f64; 3] {
        for (joint, t) in pose.transforms().enumerate() {
            let above = self.places.get(usize::from(self.parents[joint])).copied();
            self.places[joint] = above.unwrap_or(Place::IDENTITY).then(&Place::local(&t));
        }
        let at = |joint: usize| self.places[joint].at;
        let ground = self.joints.iter().map(|&joint| self.floor - at(joint)[1]).fold(0.0, f64::max);
        let inside = |hand: usize, capsule: &Capsule| {
            capsule.radius - distance(at(hand), at(capsule.ends[0]), at(capsule.ends[1]))
        };
        let depth = |&hand: &usize| self.capsules.iter().map(|it| inside(hand, it)).fold(0.0, f64::max);
        let bent = self.hinges.iter().map(|hinge| hinge.beyond(&self.places)).fold(0.0, f64::max);
        [ground, self.hands.iter().map(depth).fold(0.0, f64::max), bent]
    }
}

fn hinges(body: &Body) -> Vec<Hinge> {
    let mut all = Vec::new();
    for leg in &body.legs {
        let axis = rotate(conjugate(body.rest[leg.thigh].turn), body.left);
        all.push(Hinge { joints: [leg.thigh, leg.shin, leg.foot], axis: Some(axis) });
    }
    for side in SIDES {
        let at = |role: Role| body.map.joint(role.on(side)).map(usize::from);
        if let (Some(upper), Some(lower), Some(hand)) =
            (at(Role::LeftUpperArm), at(Role::LeftLowerArm), at(Role::LeftHand))
        {
            all.push(Hinge { joints: [upper, lower, hand], axis: None });
        }
    }
    all
}

impl Hinge {
    /// Returns the angle beyond the limits, in radians.
    fn beyond(&self, places: &[Place]) -> f64 {
        let [upper, lower, end] = self.joints.map(|joint| places[joint].at);
        let (first, second) = (sub(lower, upper), sub(end, lower));
        let across = cross(first, second);
        let angle = atan2_f64(length(across), dot(first, second));
        let is_backwards =
            self.axis.is_some_and(|axis| dot(across, rotate(places[self.joints[0]].turn, axis)) < 0.0);
        let limit: f64 = if is_backwards { BACKWARDS } else { BENT };
        (angle - limit.to_radians()).max(0.0)
    }
}

/// Returns the distance of a point from a segment.
fn distance(p: Vec3, from: Vec3, to: Vec3) -> f64 {
    let along = sub(to, from);
    let square = dot(along, along);
    let t = if square > 0.0 { (dot(sub(p, from), along) / square).clamp(0.0, 1.0) } else { 0.0 };
    length(sub(p, add(from, scaled(along, t))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hinges_have_limits_on_both_sides() {
        // A thigh that points down, with the shin at an angle to the back.
        let beyond = |degrees: f64, axis: Option<Vec3>| {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let at = [[0.0, 1.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.5 - 0.4 * cos, -0.4 * sin]];
            let places = at.map(|at| Place { at, ..Place::IDENTITY });
            Hinge { joints: [0, 1, 2], axis }.beyond(&places).to_degrees()
        };
        let knee = Some([1.0, 0.0, 0.0]);
        for (degrees, axis, want) in [
            (0.0, knee, 0.0),
            (90.0, knee, 0.0),
            (170.0, knee, 5.0),
            (-8.0, knee, 0.0),
            (-40.0, knee, 30.0),
            // An elbow has no front.
            (-40.0, None, 0.0),
            (-170.0, None, 5.0),
        ] {
            let got = beyond(degrees, axis);
            assert!((got - want).abs() < 1e-9, "{degrees} {axis:?}: {got}");
        }
    }

    #[test]
    fn frames_of_one_reason_join_across_short_gaps() {
        let (mut latest, mut doubts) = (Latest::default(), Vec::new());
        for (frame, why, worst) in [
            (1, Reason::OutOfReach, 6.0),
            (2, Reason::InsideBody, 30.0),
            (7, Reason::OutOfReach, 9.0),
            (8, Reason::OutOfReach, 7.0),
            (15, Reason::OutOfReach, 8.0),
            (2, Reason::Spin, 25.0),
        ] {
            latest.add(&mut doubts, frame, why, worst);
        }
        let told: Vec<_> = doubts.iter().map(|it| (it.first, it.last, it.why, it.worst)).collect();
        let want = [
            (1, 8, Reason::OutOfReach, 9.0),
            (2, 2, Reason::InsideBody, 30.0),
            (15, 15, Reason::OutOfReach, 8.0),
            (2, 2, Reason::Spin, 25.0),
        ];
        assert_eq!(told, want);
    }
}
