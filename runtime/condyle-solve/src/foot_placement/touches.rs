//! Paths of joints over the ground, and their contacts.

use alloc::vec;
use alloc::vec::Vec;

use super::planted::{Planted, ground_under};
use super::thresholds::ContactOptions;
use crate::maps::{Vec64, add, length, scaled, sub};
use condyle::model::local_to_model;
use condyle::motion::RootMotion;
use condyle::play::Looping;
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::{Affine, Rigid, Transform};

/// Seconds before and after a sample over which the mean speed of a joint is computed.
const NEAR: f64 = 0.5;

/// Factor on the fraction of the mean speed for a joint without contacts. Then only its speed along the
/// ground counts.
const LOOSE: f64 = 1.6;

/// Positions of joints over the ground, at evenly spaced samples of a clip.
pub(super) struct Paths {
    pub(super) places: Vec<Vec<Vec64>>,
    pub(super) duration: f64,
    pub(super) whole: Rigid,
    pub(super) looping: Looping,
    pub(super) motion: RootMotion,
    pub(super) treadmill: Option<[f32; 3]>,
}

impl Paths {
    pub(super) fn new(
        skeleton: &Skeleton,
        joints: &[u16],
        options: &ContactOptions,
        [start, end]: [f64; 2],
        pose_at: &mut dyn FnMut(f64, &mut Pose) -> Result<(), Error>,
        motion: RootMotion,
    ) -> Result<Self, Error> {
        let duration = end - start;
        let steps = options.steps(duration)?;
        let count = skeleton.joint_count();
        if let Some(at) = joints.iter().position(|&joint| usize::from(joint) >= count) {
            return Err(Error::Index { what: "joints", at, found: joints[at].into(), count });
        }
        let mut pose = Pose::rest(skeleton);
        let mut model = vec![Affine::IDENTITY; count];
        let mut places = vec![Vec::with_capacity(steps + 1); joints.len()];
        for at in 0..=steps {
            let seconds = start + duration * at as f64 / steps as f64;
            let seconds = seconds.min(end);
            pose_at(seconds, &mut pose)?;
            local_to_model(skeleton, &pose, &mut model)?;
            let moved = motion.at(seconds - start);
            for (places, &joint) in places.iter_mut().zip(joints) {
                let place = model[usize::from(joint)].rows.map(|row| f64::from(row[3]));
                let place = moved.transform_point(place);
                if !place.iter().all(|v| v.is_finite()) {
                    return Err(Error::NotFinite { what: "clip", at: joint.into() });
                }
                places.push(place);
            }
        }
        let whole = motion.at(duration) * motion.at(0.0).inverse();
        Ok(Self { places, duration, whole, looping: options.looping, motion, treadmill: None })
    }

    /// Moves the ground at a constant velocity below a character in place.
    pub(super) fn move_ground(&mut self, velocity: Vec64) {
        let steps = self.steps() as f64;
        let at = |part: f64| scaled(velocity, part * self.duration);
        for places in &mut self.places {
            for (step, place) in places.iter_mut().enumerate() {
                *place = add(*place, at(step as f64 / steps));
            }
        }
        self.whole.translation = add(self.whole.translation, at(1.0));
        let samples = self.motion.samples();
        let last = (samples.len() - 1).max(1) as f64;
        let moved = samples.iter().enumerate().map(|(step, sample)| {
            let translation = add(sample.translation.map(f64::from), at(step as f64 / last));
            Transform { translation: translation.map(|v| v as f32), ..*sample }
        });
        if let Ok(motion) = RootMotion::new(self.motion.duration(), moved.collect()) {
            self.motion = motion;
            self.treadmill = Some(velocity.map(|v| v as f32));
        }
    }

    pub(super) fn steps(&self) -> usize {
        self.places.first().map_or(1, |places| places.len() - 1)
    }

    /// Position of a joint at a sample, which may be in the previous or the next loop.
    pub(super) fn place(&self, joint: usize, at: isize) -> Vec64 {
        let steps = self.steps() as isize;
        let places = &self.places[joint];
        if self.looping == Looping::Wrap && self.duration > 0.0 && !(0..=steps).contains(&at) {
            let (turn, at) = (at.div_euclid(steps), at.rem_euclid(steps));
            return self.whole.power(turn as i64).transform_point(places[at as usize]);
        }
        places[at.clamp(0, steps) as usize]
    }

    pub(super) fn velocity(&self, joint: usize, at: isize) -> Vec64 {
        let steps = self.steps() as isize;
        let (mut before, mut after) = (at - 1, at + 1);
        if self.looping != Looping::Wrap {
            (before, after) = (before.max(0), after.min(steps));
        }
        let spacing = self.duration / steps as f64 * (after - before) as f64;
        let by = if spacing > 0.0 { 1.0 / spacing } else { 0.0 };
        scaled(sub(self.place(joint, after), self.place(joint, before)), by)
    }

    /// First sample of each contact and the sample after its last one, for each joint.
    pub(super) fn spans(&self, options: &ContactOptions) -> Vec<Vec<[usize; 2]>> {
        let one = |joint: usize| {
            let velocities = (0..self.moments()).map(|at| self.velocity(joint, at as isize));
            let (whole, along): (Vec<f64>, Vec<f64>) =
                velocities.map(|v| (length(v), length(level(v)))).unzip();
            let strictly = self.runs_of(joint, options, &whole, 1.0);
            if strictly.is_empty() { self.runs_of(joint, options, &along, LOOSE) } else { strictly }
        };
        (0..self.places.len()).map(one).collect()
    }

    fn moments(&self) -> usize {
        if self.looping == Looping::Wrap { self.steps() } else { self.steps() + 1 }
    }

    /// Contacts of a joint at these speeds, as for [`Self::spans`]. `loose` multiplies the fraction of the
    /// mean speed.
    fn runs_of(&self, joint: usize, options: &ContactOptions, speeds: &[f64], loose: f64) -> Vec<[usize; 2]> {
        let shortest = f64::from(options.shortest) * self.steps() as f64 / self.duration.max(1e-9);
        let places = &self.places[joint];
        let (lowest, usual) = (self.lowest(joint), self.usual_near(speeds));
        let planted = Planted { height: options.height.map(f64::from), ..Planted::for_leg(1.0) };
        let judge = |at: usize, before: bool| {
            let speed = [0, 1].map(|limit| {
                (usual[at] * loose * f64::from(options.pace[limit])).max(options.speed[limit].into())
            });
            Planted { speed, ..planted }.is_planted(places[at][1] - lowest, speeds[at], before)
        };
        let count = speeds.len();
        let mut touches = vec![false; count];
        let mut now = false;
        // A second round over a loop starts with the state at the seam.
        let rounds = if self.looping == Looping::Wrap { 2 } else { 1 };
        for at in (0..count).cycle().take(rounds * count) {
            now = judge(at, now);
            touches[at] = now;
        }
        drop_short(&mut touches, false, shortest, self.looping);
        drop_short(&mut touches, true, shortest, self.looping);
        runs(&touches, true, self.looping)
    }

    /// Height of the ground under a joint. This is not the lowest position of the joint, which may be a wrong
    /// key.
    pub(super) fn lowest(&self, joint: usize) -> f64 {
        let mut heights: Vec<f64> = self.places[joint].iter().map(|p| p[1]).collect();
        ground_under(&mut heights).unwrap_or_default()
    }

    /// Mean speed around each sample.
    fn usual_near(&self, speeds: &[f64]) -> Vec<f64> {
        let count = speeds.len();
        let near = (NEAR * self.steps() as f64 / self.duration.max(1e-9)) as usize;
        let mut sums = vec![0.0; count + 1];
        for at in 0..count {
            sums[at + 1] = sums[at] + speeds[at];
        }
        let sum = |from: usize, until: usize| sums[until] - sums[from];
        let wide = 2 * near + 1;
        let mean = |at: usize| {
            if wide >= count {
                return sums[count] / count as f64;
            }
            let (from, until) = (at.checked_sub(near), at + near + 1);
            match (from, self.looping) {
                (Some(from), _) if until <= count => sum(from, until) / wide as f64,
                (Some(from), Looping::Wrap) => (sum(from, count) + sum(0, until - count)) / wide as f64,
                (None, Looping::Wrap) => (sum(0, until) + sum(count + at - near, count)) / wide as f64,
                (from, _) => {
                    let (from, until) = (from.unwrap_or(0), until.min(count));
                    sum(from, until) / (until - from) as f64
                }
            }
        };
        (0..count).map(mean).collect()
    }
}

/// Runs of `value`: first index, and index after the last. A run over the seam ends beyond the count.
fn runs(touches: &[bool], value: bool, looping: Looping) -> Vec<[usize; 2]> {
    let count = touches.len();
    let mut runs: Vec<[usize; 2]> = Vec::new();
    for at in (0..count).filter(|&at| touches[at] == value) {
        match runs.last_mut() {
            Some(run) if run[1] == at => run[1] = at + 1,
            _ => runs.push([at, at + 1]),
        }
    }
    if looping == Looping::Wrap
        && let (Some(&first), Some(&last)) = (runs.first(), runs.last())
        && runs.len() > 1
        && first[0] == 0
        && last[1] == count
    {
        runs.remove(0);
        if let Some(last) = runs.last_mut() {
            last[1] = count + first[1];
        }
    }
    runs
}

fn drop_short(touches: &mut [bool], value: bool, shortest: f64, looping: Looping) {
    let count = touches.len();
    for [from, until] in runs(touches, value, looping) {
        // A gap is between two contacts; the beginning and the end of a clip are not gaps.
        let is_open = looping != Looping::Wrap && !value && (from == 0 || until == count);
        if ((until - from) as f64) < shortest && until - from < count && !is_open {
            (from..until).for_each(|at| touches[at % count] = !value);
        }
    }
}

/// Horizontal part of a vector.
pub(super) fn level([x, _, z]: Vec64) -> Vec64 {
    [x, 0.0, z]
}
