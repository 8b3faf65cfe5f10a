//! Figures of a retargeted motion next to its source: feet that slide, frozen feet, knees that spin.
//!
//! All lengths are scaled so that each body is 1.8 m tall. The height of a body is the extent of its joints
//! below the hips at rest. Speeds are backward differences from one frame to the next, horizontal except in
//! swings.
//!
//! | figure | definition |
//! |---|---|
//! | stance | source's toe is planted: 3 cm, 30 cm/s |
//! | planted | source's toe is planted and still: 3 cm, 1 cm/s |
//! | sliding | planted frames in which the result's toe is faster than 1 cm/s |
//! | beyond scale | the same with the threshold times the ratio of the steps, if that is above 1 |
//! | off height | planted frames with the result's toe more than 1 cm from its median height |
//! | off source | planted frames with the result's toe more than 1 cm from the scaled source's height |
//! | frozen | source's toe faster than 3 cm/s, result's slower than 1 cm/s |
//! | swing | relative difference of the velocities of a toe faster than 54 cm/s |
//! | spins | thigh or shin turns by more than 20 degrees, and 2.5 times as far as the source's |
//!
//! [`Planted`] has the thresholds of planted and still toes. They are proportional to the source's legs; the
//! table has those of a leg of 0.9 m. The ground is [`ground_under`] the toe in the source's clip. The share
//! of frozen frames is of those with a moving source. For swings, velocities are as seen from the front of
//! each body, and those of the result are divided by the ratio of the steps.

use condyle::{Error, Pose, Skeleton};
use condyle_solve::foot_placement::{Planted, ground_under};

use crate::body::{Body, Place};
use crate::mapping::ancestors;
use crate::maths::{Quat64, Vec3, angle, conjugate, dot, flat, length, product, scaled, sqrt_f64, sub};
use crate::rig::Humanoid;

/// Height to which all bodies are scaled, in metres.
pub(crate) const TALL: f64 = 1.8;

/// Recorded motion of the legs of one body.
#[derive(Debug, Clone, PartialEq)]
pub struct Legs {
    body: Body,
    places: Vec<Place>,
    /// Joints of the legs and above, parents first.
    needed: Vec<u16>,
    /// Heights of the toes where the body stands.
    stance: [f64; 2],
    times: Vec<f64>,
    frames: Vec<[Leg; 2]>,
}

/// One leg in one frame, scaled to the common height.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Leg {
    toe: Vec3,
    ankle: Vec3,
    /// Rotations of thigh and shin in the model.
    turns: [Quat64; 2],
}

impl Legs {
    /// Prepares the recording of one body.
    ///
    /// # Errors
    /// [`Error::Skeleton`] if the map belongs to another skeleton.
    pub fn new(skeleton: &Skeleton, map: &Humanoid) -> Result<Self, Error> {
        Ok(Self::of(Body::new(skeleton, map)?))
    }

    pub(crate) fn of(body: Body) -> Self {
        let places = vec![Place::IDENTITY; body.joint_count()];
        let needed = ancestors(&body, body.legs.iter().flat_map(crate::body::Leg::joints));
        let stance = body.legs.map(|leg| body.floor + leg.toe_height);
        Self { body, places, needed, stance, times: Vec::new(), frames: Vec::new() }
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// [`Error::Length`] if the pose has another number of joints.
    pub fn add(&mut self, seconds: f64, pose: &Pose) -> Result<(), Error> {
        pose.check_joints("pose", self.body.joint_count())?;
        for &joint in &self.needed {
            let joint = usize::from(joint);
            let above = self.body.parent(joint).map_or(Place::IDENTITY, |parent| self.places[parent]);
            self.places[joint] = above.then(&Place::local(&pose.get(joint)));
        }
        let scale = TALL / self.body.height;
        let leg = |side: usize| {
            let leg = &self.body.legs[side];
            let [thigh, shin, foot] = [leg.thigh, leg.shin, leg.foot].map(|joint| self.places[joint]);
            let toe = Place { at: leg.toe_in_foot, ..Place::IDENTITY };
            Leg {
                toe: scaled(foot.then(&toe).at, scale),
                ankle: scaled(foot.at, scale),
                turns: [thigh.turn, shin.turn],
            }
        };
        self.frames.push([leg(0), leg(1)]);
        self.times.push(seconds);
        Ok(())
    }

    /// Sets the heights of both toes, left and right, where the body stands. The rest pose has them at first.
    pub fn set_stance(&mut self, toes: [f64; 2]) {
        self.stance = toes;
    }

    /// Returns the height of a toe where the body stands, in metres at the common height.
    fn toe_height(&self, side: usize) -> f64 {
        self.stance[side] * TALL / self.body.height
    }

    /// Thresholds of a planted foot at the common height.
    fn planted(&self) -> Planted {
        Planted::for_leg(self.body.mean(crate::body::Leg::length) * TALL / self.body.height)
    }

    /// Number of frames.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }
}

/// Sums of the figures over all frames and both feet. Add those of several clips with [`add`](Self::add).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Figures {
    /// Frames, counted once per foot.
    pub frames: usize,
    /// Stance frames.
    pub stance: usize,
    /// Sum of the result's horizontal speeds in stance, in m/s.
    pub stance_speed: f64,
    /// Sum of the source's horizontal speeds in stance, in m/s.
    pub stance_source: f64,
    /// Sum of the result's speeds in stance, divided by the ratio of the steps.
    pub stance_own: f64,
    /// Planted frames.
    pub planted: usize,
    /// Planted frames that slide.
    pub sliding: usize,
    /// Planted frames that slide beyond scale.
    pub beyond: usize,
    /// Frames with a planted ankle.
    pub ankles: usize,
    /// Frames with a planted ankle that slides beyond scale.
    pub ankles_beyond: usize,
    /// Planted frames off their height.
    pub off_height: usize,
    /// Planted frames off the height of the scaled source.
    pub off_source: usize,
    /// Frames in which the source's toe moves faster than 3 cm/s.
    pub moving: usize,
    /// Frames in which the result's toe stands although the source's moves.
    pub frozen: usize,
    /// Frames in which the source's toe swings.
    pub swings: usize,
    /// Sum of the relative errors of the swings.
    pub swing_error: f64,
    /// Sums of the angular accelerations of both knees: the result's and the source's.
    pub knee: [f64; 2],
    /// Joint frames of thighs and shins.
    pub joint_frames: usize,
    /// Joint frames that spin.
    pub spins: usize,
}

/// Returns the figures of a motion next to its source. `ratio` is the size of the steps in the bodies' units.
///
/// # Errors
/// [`Error::Length`] if both do not have the same number of frames.
pub fn figures(source: &Legs, target: &Legs, ratio: f64) -> Result<Figures, Error> {
    Error::check_len("target", target.frame_count(), source.frame_count())?;
    let own = ratio * source.body.height / target.body.height;
    let mut all = Figures::default();
    for side in 0..2 {
        foot(source, target, side, own, &mut all);
    }
    Ok(all)
}

impl Figures {
    /// Adds the figures of another clip.
    pub fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.stance += other.stance;
        self.stance_speed += other.stance_speed;
        self.stance_source += other.stance_source;
        self.stance_own += other.stance_own;
        self.planted += other.planted;
        self.sliding += other.sliding;
        self.beyond += other.beyond;
        self.ankles += other.ankles;
        self.ankles_beyond += other.ankles_beyond;
        self.off_height += other.off_height;
        self.off_source += other.off_source;
        self.moving += other.moving;
        self.frozen += other.frozen;
        self.swings += other.swings;
        self.swing_error += other.swing_error;
        self.knee[0] += other.knee[0];
        self.knee[1] += other.knee[1];
        self.joint_frames += other.joint_frames;
        self.spins += other.spins;
    }
}

/// Returns the median, or 0 without values.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    if values.is_empty() {
        return 0.0;
    }
    let at = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

/// Returns the height of the ground under a point of the legs, or 0 without frames.
fn ground(heights: impl Iterator<Item = f64>) -> f64 {
    ground_under(&mut heights.collect::<Vec<f64>>()).unwrap_or_default()
}

fn foot(source: &Legs, target: &Legs, side: usize, own: f64, all: &mut Figures) {
    let [a, b] = [source, target].map(|legs| legs.frames.iter().map(|frame| frame[side]).collect::<Vec<_>>());
    let low = ground(a.iter().map(|leg| leg.toe[1]));
    let low_ankle = ground(a.iter().map(|leg| leg.ankle[1]));
    let thresholds = source.planted();
    let mut planted = Vec::new();
    all.frames += a.len();
    let [rest_a, rest_b] = [source, target].map(|legs| legs.toe_height(side));
    for frame in 1..a.len() {
        let dt = source.times[frame] - source.times[frame - 1];
        if dt <= 0.0 {
            continue;
        }
        let velocity = |legs: &[Leg], at: fn(&Leg) -> Vec3| {
            scaled(sub(at(&legs[frame]), at(&legs[frame - 1])), 1.0 / dt)
        };
        let toe = |leg: &Leg| leg.toe;
        let ankle = |leg: &Leg| leg.ankle;
        let (va, vb) = (velocity(&a, toe), velocity(&b, toe));
        let (flat_a, flat_b) = (length(flat(va)), length(flat(vb)));
        let above = a[frame].toe[1] - low;
        if thresholds.is_planted(above, flat_a, false) {
            all.stance += 1;
            all.stance_speed += flat_b;
            all.stance_source += flat_a;
            all.stance_own += flat_b / own;
        }
        if thresholds.is_still(above, flat_a) {
            all.planted += 1;
            planted.push(frame);
            all.sliding += usize::from(flat_b > 0.01);
            all.beyond += usize::from(flat_b > 0.01 * own.max(1.0));
            let height = rest_b + own * (a[frame].toe[1] - rest_a);
            all.off_source += usize::from((b[frame].toe[1] - height).abs() > 0.01);
        }
        let (aa, ab) = (velocity(&a, ankle), velocity(&b, ankle));
        let (aa, ab) = (length(flat(aa)), length(flat(ab)));
        if thresholds.is_still(a[frame].ankle[1] - low_ankle, aa) {
            all.ankles += 1;
            all.ankles_beyond += usize::from(ab > 0.01 * own.max(1.0));
        }
        if flat_a > 0.03 {
            all.moving += 1;
            all.frozen += usize::from(flat_b < 0.01);
        }
        if length(va) > 0.54 {
            all.swings += 1;
            let [seen_a, seen_b] = [source.body.seen(va), target.body.seen(vb)];
            all.swing_error += length(sub(scaled(seen_b, 1.0 / own), seen_a)) / length(va);
        }
    }
    let median = median(planted.iter().map(|&frame| b[frame].toe[1]));
    all.off_height += planted.iter().filter(|&&frame| (b[frame].toe[1] - median).abs() > 0.01).count();
    knees(&source.times, [&a, &b], all);
}

fn knees(times: &[f64], legs: [&[Leg]; 2], all: &mut Figures) {
    let since = |before: Quat64, now: Quat64| product(now, conjugate(before));
    let spin = |legs: &[Leg], frame: usize, bone: usize| {
        angle(since(legs[frame - 1].turns[bone], legs[frame].turns[bone]))
    };
    let knee = |leg: &Leg| product(conjugate(leg.turns[0]), leg.turns[1]);
    let rate = |legs: &[Leg], frame: usize| {
        let turn = since(knee(&legs[frame - 1]), knee(&legs[frame]));
        let turn = if turn[3] < 0.0 { turn.map(|v| -v) } else { turn };
        scaled([turn[0], turn[1], turn[2]], 2.0 / (times[frame] - times[frame - 1]))
    };
    let limit = 20_f64.to_radians();
    for frame in 1..times.len() {
        for bone in 0..2 {
            let [a, b] = legs.map(|legs| spin(legs, frame, bone));
            all.joint_frames += 1;
            all.spins += usize::from(b > limit && b > 2.5 * a);
        }
        // Frames at the same time have no rate.
        if frame > 1 && times[frame - 2] < times[frame - 1] && times[frame - 1] < times[frame] {
            let [a, b] = legs.map(|legs| {
                let change = sub(rate(legs, frame), rate(legs, frame - 1));
                sqrt_f64(dot(change, change)) / (times[frame] - times[frame - 1])
            });
            all.knee[0] += b;
            all.knee[1] += a;
        }
    }
}

/// Lists the frames in which a thigh or a shin spins, with the angle in degrees.
pub(crate) fn spins(source: &Legs, target: &Legs, found: &mut Vec<(usize, f64)>) {
    for frame in 1..source.frames.len().min(target.frames.len()) {
        let worst = (0..4).filter_map(|at| {
            let (side, bone) = (at / 2, at % 2);
            let [a, b] = [source, target].map(|legs| {
                let turn = |frame: usize| legs.frames[frame][side].turns[bone];
                angle(product(turn(frame), conjugate(turn(frame - 1)))).to_degrees()
            });
            (b > 20.0 && b > 2.5 * a).then_some(b)
        });
        if let Some(worst) = worst.reduce(f64::max) {
            found.push((frame, worst));
        }
    }
}

/// Returns the largest way of a planted toe from where it began to stand, and its largest distance from the
/// height of the scaled source. In metres, both bodies scaled to 1.8 m.
pub(crate) fn planted(source: &Legs, target: &Legs, ratio: f64) -> [f64; 2] {
    let own = ratio * source.body.height / target.body.height;
    let thresholds = source.planted();
    let mut worst: [f64; 2] = [0.0; 2];
    for side in 0..2 {
        let [a, b] =
            [source, target].map(|legs| legs.frames.iter().map(|frame| frame[side].toe).collect::<Vec<_>>());
        let low = ground(a.iter().map(|toe| toe[1]));
        let [rest_a, rest_b] = [source, target].map(|legs| legs.toe_height(side));
        let mut stands_at: Option<Vec3> = None;
        for frame in 1..a.len().min(b.len()) {
            let dt = source.times[frame] - source.times[frame - 1];
            let speed = length(flat(sub(a[frame], a[frame - 1]))) / dt;
            if dt <= 0.0 || !thresholds.is_still(a[frame][1] - low, speed) {
                stands_at = None;
                continue;
            }
            let from = *stands_at.get_or_insert(b[frame]);
            worst[0] = worst[0].max(length(flat(sub(b[frame], from))));
            worst[1] = worst[1].max((b[frame][1] - rest_b - own * (a[frame][1] - rest_a)).abs());
        }
    }
    worst
}
