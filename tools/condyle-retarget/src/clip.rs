//! Whole clips: contacts are solved over time.

use condyle::sampling::{AnyClip, PoseSource};
use condyle::{Error, Interpolation, Pose, RawClip, Target, Track};
use condyle_solve::foot_placement::ground_under;

use crate::body::SIDES;
use crate::certificate::{Certificate, Witness};
use crate::feet::{ankle_goal, drop, shift, stands, unit_heading, wanted};
use crate::filter::{running_max, smoothed, tridiagonal};
use crate::footing::Ground;
use crate::maths::Vec3;
use crate::plan::Plan;
use crate::transfer::{Buffer, Moment};
use crate::write::{Goals, write};

/// Radius of the window over the heading of the pelvis, in seconds.
const HEADING: f64 = 0.2;
/// Radius of the window over how much a foot stands.
const STAND: f64 = 0.05;
/// Radii of the windows over the pelvis: the maximum, then the mean.
const DROP: [f64; 2] = [0.1, 0.3];
/// Largest number of joints times frames whose poses are kept: about 64 MB.
const KEPT: usize = 1_500_000;
/// Largest number of frames.
const MAX_FRAMES: usize = 20_000_000;

/// Options of [`clip`](fn@clip).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct ClipOptions {
    /// Whether ground and standing heights come from the clip, instead of the plan: from the lowest 5 % of
    /// the frames of each foot.
    ///
    /// `None` decides: never if both skeletons are the same one, or if [`PlanOptions::ground`] is set. If
    /// the feet of the source's rest pose stand on the ground, that ground holds for clips that stay more
    /// than 10 % of the height above it: a fall, a swim. Otherwise the clip decides.
    ///
    /// [`PlanOptions::ground`]: crate::PlanOptions::ground
    pub ground_from_clip: Option<bool>,
}

/// A retargeted clip.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Retargeted {
    /// Keys of all joints at the frame times, bound to the target's skeleton, without a name.
    pub clip: RawClip,
    /// Measurements.
    pub certificate: Certificate,
}

/// A clip on its way: the measures of the legs, and where feet and pelvis go.
struct Course {
    times: Vec<f64>,
    moments: Vec<Moment>,
    goals: Vec<Goals>,
    ground: Ground,
}

/// Puts a clip of the source on the target: contacts are solved over the whole clip.
///
/// The result has keys for all joints at `times`, with linear
/// interpolation. [`frame_times`] gives the frame times of a clip. The time is proportional to the number of
/// frames.
///
/// # Errors
/// [`Error::NoKeys`], [`Error::KeyOrder`] for times that are empty or do not rise. [`Error::TooMany`] above
/// 20 million frames. Those of [`PoseSource::pose`].
pub fn clip(
    plan: &Plan,
    motion: &dyn PoseSource,
    times: &[f32],
    options: &ClipOptions,
) -> Result<Retargeted, Error> {
    let mut recorder = Recorder::new(plan, times)?;
    // Short clips are sampled once, long ones once more.
    let mut kept = Vec::new();
    let keep = times.len().saturating_mul(plan.source.joint_count()) <= KEPT;
    let mut course = solve(plan, motion, times, options, &mut |pose| {
        if keep {
            kept.push(pose.clone());
        }
    })?;
    let mut witness = Witness::new(plan, &course.ground);
    let mut buffer = Buffer::new(plan);
    let [mut pose, mut target] = [plan.source(), plan.target()].map(Pose::rest);
    for (frame, &seconds) in course.times.iter().enumerate() {
        let pose = match kept.get(frame) {
            Some(pose) => pose,
            None => {
                motion.pose(plan.source(), seconds, &mut pose)?;
                &pose
            }
        };
        plan.place_source(pose, &mut buffer.source);
        plan.turn_target(&buffer.source, &mut buffer.turns);
        let goals = &mut course.goals[frame];
        write(plan, pose, &buffer, &course.moments[frame], goals, &mut target);
        recorder.add(&target);
        witness.add(seconds, [pose, &target], goals)?;
    }
    Ok(Retargeted { clip: recorder.clip(plan)?, certificate: witness.finish()? })
}

/// Measures the legs over the clip, and solves for feet and pelvis.
fn solve(
    plan: &Plan,
    motion: &dyn PoseSource,
    times: &[f32],
    options: &ClipOptions,
    each: &mut dyn FnMut(&Pose),
) -> Result<Course, Error> {
    let mut buffer = Buffer::new(plan);
    let mut pose = Pose::rest(plan.source());
    let times = times.iter().map(|&seconds| f64::from(seconds)).collect();
    let mut course = Course { times, moments: Vec::new(), goals: Vec::new(), ground: plan.footing.ground };
    let mut ground = plan.footing.ground;
    for &seconds in &course.times {
        motion.pose(plan.source(), seconds, &mut pose)?;
        each(&pose);
        plan.place_legs(&pose, &mut buffer.source);
        course.moments.push(plan.moment(&buffer.source, &ground));
    }
    let from_clip = stance_of_clip(plan, &course.moments);
    if options.ground_from_clip.unwrap_or_else(|| is_elsewhere(plan, &from_clip)) {
        let down = plan.footing.ratio * (ground.floor - from_clip.floor);
        ground = from_clip;
        for moment in &mut course.moments {
            moment.middle[1] += down;
            moment.legs.iter_mut().for_each(|leg| leg.hip[1] += down);
        }
    }
    course.ground = ground;
    place_feet(plan, &mut course, &ground);
    Ok(course)
}

/// Returns ground and standing heights: the ground under each ball.
fn stance_of_clip(plan: &Plan, moments: &[Moment]) -> Ground {
    let toes = [0, 1].map(|side| {
        let mut heights: Vec<f64> = moments.iter().map(|moment| moment.legs[side].toe[1]).collect();
        ground_under(&mut heights).unwrap_or(plan.footing.ground.toes[side])
    });
    let floors = [0, 1].map(|side: usize| toes[side] - plan.source.legs[side].toe_height);
    // The lower foot stands on the ground. The other one may never come down.
    let floor = floors[0].min(floors[1]);
    let height = plan.source.height;
    let toes = [0, 1].map(|side| {
        if floors[side] - floor < 0.05 * height {
            toes[side]
        } else {
            floor + plan.source.legs[side].toe_height
        }
    });
    Ground { floor, toes }
}

/// Maximum distance of a clip's feet above a known ground, in heights, for feet that stand.
const STANDING: f64 = 0.1;

/// Returns whether the clip's ground, and not the plan's, is where the feet stand: it differs by more than
/// 1 % of the height.
fn is_elsewhere(plan: &Plan, clip: &Ground) -> bool {
    let is_in_the_air =
        plan.source.has_ground && clip.floor > plan.footing.ground.floor + STANDING * plan.source.height;
    if plan.mapping.same || plan.footing.given_ground || is_in_the_air {
        return false;
    }
    let near = |a: f64, b: f64| (a - b).abs() < 0.01 * plan.source.height;
    !(near(clip.floor, plan.footing.ground.floor)
        && (0..2).all(|side| near(clip.toes[side], plan.footing.ground.toes[side])))
}

/// Solves for the offsets of both feet and the height of the pelvis.
fn place_feet(plan: &Plan, course: &mut Course, ground: &Ground) {
    let (times, moments) = (&course.times, &course.moments);
    let count = times.len();
    let mean = (times.last().unwrap_or(&0.0) - times.first().unwrap_or(&0.0)) / (count.max(2) - 1) as f64;
    let frames = |seconds: f64| if mean > 0.0 { (seconds / mean).min(count as f64) } else { 0.0 };
    let headings = {
        let [mut sin, mut cos] = [0, 1].map(|c| moments.iter().map(|it| it.heading[c]).collect::<Vec<f64>>());
        smoothed(&mut sin, frames(HEADING));
        smoothed(&mut cos, frames(HEADING));
        sin.into_iter().zip(cos).map(|(sin, cos)| unit_heading([sin, cos])).collect::<Vec<_>>()
    };
    let step = |frame: usize| if frame == 0 { mean.max(1e-3) } else { times[frame] - times[frame - 1] };
    let mut goals = vec![Goals::default(); count];
    for side in 0..SIDES.len() {
        let mut right = Vec::with_capacity(count);
        let mut diagonal: Vec<f64> = (0..count).map(step).collect();
        let mut off_diagonal = vec![0.0; count.saturating_sub(1)];
        right.extend(headings.iter().enumerate().map(|(frame, &heading)| {
            let [x, _, z] = wanted(plan, side, heading);
            [x, z].map(|v| v * step(frame))
        }));
        for frame in 1..count {
            let legs = [&moments[frame - 1].legs[side], &moments[frame].legs[side]];
            let dt = step(frame);
            let shift = shift(plan, side, ground, legs, dt);
            let stiff = 1.0 / (dt * shift.mobility);
            diagonal[frame - 1] += stiff;
            diagonal[frame] += stiff;
            off_diagonal[frame - 1] = -stiff;
            for (c, by) in [shift.by[0], shift.by[2]].into_iter().enumerate() {
                right[frame - 1][c] -= stiff * by;
                right[frame][c] += stiff * by;
            }
        }
        tridiagonal(&mut diagonal, &off_diagonal, &mut right);
        let mut stand: Vec<f64> =
            moments.iter().map(|moment| stands(plan, side, ground, &moment.legs[side])).collect();
        smoothed(&mut stand, frames(STAND));
        for (frame, goal) in goals.iter_mut().enumerate() {
            let offset: Vec3 = [right[frame][0], 0.0, right[frame][1]];
            goal.ankles[side] = ankle_goal(plan, side, ground, &moments[frame].legs[side], offset);
            goal.stand[side] = stand[frame].clamp(0.0, 1.0);
        }
    }
    let needs: Vec<[f64; 2]> = goals
        .iter()
        .zip(moments)
        .map(|(goal, moment)| drop(plan, moment, &goal.ankles, goal.stand))
        .collect();
    for (way, sign) in [(0, 1.0), (1, -1.0)] {
        let mut need: Vec<f64> = needs.iter().map(|need| need[way]).collect();
        running_max(&mut need, frames(DROP[0]).round() as usize);
        smoothed(&mut need, frames(DROP[1]));
        for (goal, need) in goals.iter_mut().zip(need) {
            goal.drop += sign * need;
        }
    }
    course.goals = goals;
}

/// Collects poses as keys.
struct Recorder {
    times: Vec<f32>,
    rotations: Vec<Vec<f32>>,
    translations: Vec<Vec<f32>>,
    /// Only copied from a source with the same skeleton: another target keeps the scales of its rest pose.
    scales: Vec<Vec<f32>>,
}

impl Recorder {
    /// # Errors
    /// [`Error::NoKeys`] and [`Error::KeyOrder`] for times that are empty or do not rise.
    fn new(plan: &Plan, times: &[f32]) -> Result<Self, Error> {
        if times.is_empty() {
            return Err(Error::NoKeys { timeline: 0 });
        }
        let late = |key: usize| times[key].is_finite() && (key == 0 || times[key - 1] < times[key]);
        if let Some(key) = (0..times.len()).find(|&key| !late(key)) {
            return Err(Error::KeyOrder { timeline: 0, key });
        }
        if times.len() > MAX_FRAMES {
            return Err(Error::TooMany { what: "frames", found: times.len(), limit: MAX_FRAMES });
        }
        let joints = plan.target.joint_count();
        Ok(Self {
            times: times.to_vec(),
            rotations: vec![Vec::new(); joints],
            translations: vec![Vec::new(); joints],
            scales: vec![Vec::new(); if plan.mapping.same { joints } else { 0 }],
        })
    }

    fn add(&mut self, pose: &Pose) {
        for (joint, local) in pose.transforms().enumerate() {
            self.rotations[joint].extend(local.rotation);
            self.translations[joint].extend(local.translation);
            if let Some(scales) = self.scales.get_mut(joint) {
                scales.extend(local.scale);
            }
        }
    }

    /// # Errors
    /// Those of [`RawClip::new`].
    fn clip(self, plan: &Plan) -> Result<RawClip, Error> {
        let mut tracks = Vec::new();
        let mut add = |target: Target, values: Vec<f32>| {
            tracks.push(Track { target, interpolation: Interpolation::Linear, timeline: 0, values });
        };
        // A joint without a track is at rest.
        let moves = |values: &[f32], rest: [f32; 3]| values.chunks_exact(3).any(|key| key != rest);
        let mut scales = self.scales.into_iter();
        for (joint, (rotations, translations)) in (0..).zip(self.rotations.into_iter().zip(self.translations))
        {
            let rest = plan.target().rest().get(usize::from(joint));
            add(Target::Rotation(joint), rotations);
            if moves(&translations, rest.translation) {
                add(Target::Translation(joint), translations);
            }
            let scales = scales.next().unwrap_or_default();
            if moves(&scales, rest.scale) {
                add(Target::Scale(joint), scales);
            }
        }
        RawClip::new(String::new(), vec![self.times], tracks)?.for_skeleton(plan.target())
    }
}

/// Returns the frame times of a clip: all its key times, and times between where keys are farther apart than
/// `rate` frames per second. A compressed clip has its own rate.
///
/// # Errors
/// [`Error::TooMany`] above 20 million frames. [`Error::OutOfRange`] if the rate is not greater than 0.
pub fn frame_times<'a>(clip: impl Into<AnyClip<'a>>, rate: f64) -> Result<Vec<f32>, Error> {
    if !(rate > 0.0 && rate.is_finite()) {
        return Err(Error::OutOfRange { what: "rate", at: 0, needed: "greater than 0" });
    }
    let clip = clip.into();
    if let Some(raw) = clip.as_raw() {
        return key_times(raw, rate);
    }
    let own = clip.as_compressed().map_or(0.0, |clip| f64::from(clip.rate()));
    let rate = if own > 0.0 { own } else { rate };
    let frames = ((clip.end() - clip.start()) * rate).round();
    if frames >= MAX_FRAMES as f64 {
        return Err(Error::TooMany { what: "frames", found: frames as usize + 1, limit: MAX_FRAMES });
    }
    let mut times: Vec<f32> =
        (0..=frames as usize).map(|frame| (clip.start() + frame as f64 / rate) as f32).collect();
    // Late times are coarser than frames.
    times.dedup();
    Ok(times)
}

fn key_times(clip: &RawClip, rate: f64) -> Result<Vec<f32>, Error> {
    let mut keys: Vec<f32> = Vec::new();
    let mut used = vec![false; clip.timelines().len()];
    for track in clip.tracks().iter().filter(|track| track.target.joint().is_some()) {
        if !std::mem::replace(&mut used[track.timeline], true) {
            keys.extend(&clip.timelines()[track.timeline]);
        }
    }
    if keys.is_empty() {
        keys.push(clip.start() as f32);
    }
    keys.sort_by(f32::total_cmp);
    // Timelines that round the same time differently count once.
    let mut times: Vec<f32> = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(&last) = times.last() else {
            times.push(key);
            continue;
        };
        let gap = f64::from(key) - f64::from(last);
        if gap <= 1e-5_f64.max(1.5e-7 * f64::from(key.abs())) {
            continue;
        }
        let parts = (gap * rate - 0.5).max(1.0).ceil();
        if times.len() as f64 + parts > MAX_FRAMES as f64 {
            return Err(Error::TooMany { what: "frames", found: parts as usize, limit: MAX_FRAMES });
        }
        let parts = parts as usize;
        let between = |part: usize| (f64::from(last) + gap * part as f64 / parts as f64) as f32;
        times.extend((1..parts).map(between));
        times.push(key);
    }
    times.dedup();
    Ok(times)
}
