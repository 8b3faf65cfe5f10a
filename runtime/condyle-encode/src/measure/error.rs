//! Measures the error of an encoded clip.

use alloc::vec;
use alloc::vec::Vec;

use crate::measure::algebra::{Affine64, length};
use crate::measure::ball_set::BallSet;
use crate::measure::job::{ClipJob, MAX_SEGMENT_SAMPLES, Motion};
use crate::measure::joint_facts::JointFacts;
use crate::measure::model::model_matrices;
use crate::measure::raw_clip;
use crate::options::{JointError, Measured};
use condyle::clip::Clip;
use condyle::pose::Pose;
use condyle::sampling::{self, sample_by};
use condyle_base::error::Error;
use condyle_base::math::quats::{self, is_loose};
use condyle_base::math::vectors::normalize;
use condyle_base::math::{Rigid, Transform64};
use condyle_base::simd::Dispatch;

/// Segment in which a source key between the moments of the search exceeds the budget of a joint.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Overrun {
    pub(crate) segment: usize,
    /// Joints that are over their budgets, ascending.
    pub(crate) joints: Vec<usize>,
    /// Maximum error in the segment, as a multiple of the budget.
    pub(crate) times: f64,
}

/// Decodes a clip at all moments where errors are checked, and compares it with the authored clip. Also
/// returns the segments where keys between these moments are over the budget.
pub(crate) fn measure(job: &ClipJob<'_>, clip: &Clip<'_>) -> Result<(Measured, Vec<Overrun>), Error> {
    let count = job.joints.len();
    let mut measured = Measured { joints: vec![JointError::default(); count], ..Measured::default() };
    let mut at_frames = Counts::new();
    // Works in chunks, so that memory does not depend on the length of the clip.
    let most = (MAX_SEGMENT_SAMPLES / count.max(1)).max(1);
    let chunk = 64.min(most / job.moments).max(1);
    let mut first = 0;
    loop {
        let frames = (job.frames - first).min(chunk);
        let is_last = first + frames == job.frames;
        // The decoder takes f32 seconds. The authored clip is read at the same rounded time, because fast
        // joints would differ otherwise.
        let mut seconds: Vec<f64> = job.seconds(first, frames).iter().map(|&s| (s as f32).into()).collect();
        // The last moment belongs to the next chunk.
        seconds.truncate(frames * job.moments + usize::from(is_last));
        compare(job, clip, &seconds, &mut measured, &mut |moment, own| {
            let is_frame = moment % job.moments == 0;
            if is_frame {
                own.iter().for_each(|&own| at_frames.add(own as f32));
            }
            (is_frame, None)
        })?;
        first += frames;
        if is_last {
            break;
        }
    }
    let mut overruns: Vec<Overrun> = Vec::new();
    for keys in job.keys_between.chunks(256.min(most)) {
        compare(job, clip, keys, &mut measured, &mut |_, own| {
            let times = |joint: usize| own[joint] / f64::from(job.options.budget_of_joint(joint));
            let over = (0..count).map(|joint| (joint, times(joint))).filter(|(_, times)| *times > 1.0);
            let worst = over.clone().map(|(_, times)| times).fold(0.0, f64::max);
            let joints: Vec<usize> = over.map(|(joint, _)| joint).collect();
            (false, (!joints.is_empty()).then_some((joints, worst)))
        })?
        .into_iter()
        .for_each(|(seconds, joints, times)| {
            let segment = clip.view().locate(seconds).segment;
            match overruns.last_mut().filter(|last| last.segment == segment) {
                Some(last) => {
                    last.joints.extend(joints);
                    last.joints.sort_unstable();
                    last.joints.dedup();
                    last.times = last.times.max(times);
                }
                None => overruns.push(Overrun { segment, joints, times }),
            }
        });
    }
    for (joint, error) in measured.joints.iter().enumerate() {
        if error.error > measured.error_max {
            (measured.error_max, measured.joint, measured.seconds) = (error.error, joint, error.seconds);
        }
    }
    measured.error_p99 = at_frames.percentile(99).min(measured.error_max);
    Ok((measured, overruns))
}

/// Evaluates the errors of all joints at one moment: see [`compare`].
type Judge<'a> = dyn FnMut(usize, &[f64]) -> (bool, Option<(Vec<usize>, f64)>) + 'a;

/// Adds the errors at some moments, and returns the moments at which a joint is over its budget.
///
/// `each` receives the number of a moment and the errors of all joints there. It returns whether the moment
/// is a frame, and the joints over their budgets with the largest factor, if any.
fn compare(
    job: &ClipJob<'_>,
    clip: &Clip<'_>,
    seconds: &[f64],
    measured: &mut Measured,
    each: &mut Judge<'_>,
) -> Result<Vec<(f64, Vec<usize>, f64)>, Error> {
    let (skeleton, count) = (job.skeleton, job.joints.len());
    let of_joint = |joint: &JointFacts| BallSet::new(joint.shell.iter().map(|&ball| (ball, joint.budget)));
    let balls: Vec<BallSet> = job.joints.iter().map(of_joint).collect();
    let mut pose = Pose::rest(skeleton);
    let source: Vec<Vec<Transform64>> =
        (0..count).map(|j| raw_clip::joint(job.clip, skeleton, j, &job.tracks[j], seconds)).collect();
    let model = model_matrices(&job.joints, &source);
    let (mut decoded, mut errors): (Vec<Affine64>, Vec<f64>) = Default::default();
    let mut found = Vec::new();
    let places = model.iter().flatten().map(|placed| length(placed.origin) as f32);
    measured.farthest = places.fold(measured.farthest, f32::max);
    for (moment, &at) in seconds.iter().enumerate() {
        let motion = job.motion.as_ref().map(|of| motions(job, of, clip, at));
        // Portable mode: decisions depend on the error, so that the bytes are the same on every platform.
        sample_by(Dispatch::current().portable(), clip.view(), skeleton, at, &mut pose)?;
        decoded.clear();
        errors.clear();
        for (j, t) in pose.transforms().enumerate() {
            let mut local = Transform64::from(t);
            if is_loose(&local.rotation) {
                // The rest rotation is not a unit quaternion, in the authored clip too.
                normalize(&mut local.rotation);
            }
            let local = Affine64::local(&local);
            let joint = &job.joints[j];
            let placed = joint.parent.map_or(local, |p| decoded[p].after(&local));
            decoded.push(placed);
            let off = match &motion {
                Some((got, want)) => got.after(&placed).less(&want.after(&model[j][moment])),
                None => placed.less(&model[j][moment]),
            };
            let own = balls[j].farthest(&off);
            if own as f32 > measured.joints[j].error {
                let point = joint.shell.iter().position(|ball| ball.farthest(&off) == own);
                let point = point.unwrap_or_default();
                measured.joints[j] = JointError { error: own as f32, seconds: at, point };
            }
            errors.push(own);
        }
        let (is_frame, over) = each(moment, &errors);
        let greatest = errors.iter().copied().fold(0.0, f64::max) as f32;
        if is_frame {
            measured.frames.push(greatest);
        } else {
            measured.error_between_max = measured.error_between_max.max(greatest);
        }
        found.extend(over.map(|(joints, times)| (at, joints, times)));
        measure_values(job, clip, at, measured)?;
    }
    Ok(found)
}

/// Histogram of errors in constant memory, with bins 0.5 % wide.
struct Counts(Vec<u64>);

/// Number of low bits of an f32 that share a bin: 2^-8 of a value, the 0.5 % that the documentation states.
const DROPPED_BITS: u32 = 15;

impl Counts {
    fn new() -> Self {
        Self(vec![0; 1 << (31 - DROPPED_BITS)])
    }

    fn add(&mut self, error: f32) {
        // Non-negative floats have the order of their bits.
        self.0[(error.abs().to_bits() >> DROPPED_BITS) as usize] += 1;
    }

    /// Upper end of the bin of a percentile.
    fn percentile(&self, percent: u64) -> f32 {
        let total: u64 = self.0.iter().sum();
        let mut left = (total * percent).div_ceil(100);
        let bin = self.0.iter().position(|&count| {
            let found = count >= left && left > 0;
            left = left.saturating_sub(count);
            found
        });
        bin.map_or(0.0, |bin| f32::from_bits(((bin as u32 + 1) << DROPPED_BITS) - 1))
    }
}

/// Root motion, decoded and as extracted.
fn motions(job: &ClipJob<'_>, motion: &Motion, clip: &Clip<'_>, seconds: f64) -> (Affine64, Affine64) {
    let matrix =
        |Rigid { rotation, translation }| Affine64 { linear: quats::rows(rotation), origin: translation };
    (matrix(clip.motion_at(seconds)), matrix(motion.at(job, seconds)))
}

fn measure_values(job: &ClipJob<'_>, clip: &Clip<'_>, at: f64, measured: &mut Measured) -> Result<(), Error> {
    if job.free_tracks.is_empty() {
        return Ok(());
    }
    let mut all = vec![0.0; job.free_tracks.iter().map(|free| free.width).sum()];
    sampling::tracks(clip, at, &mut all)?;
    let mut all = &all[..];
    for (index, (free, track)) in job.free_tracks.iter().zip(&job.free_sources).enumerate() {
        let (values, others) = all.split_at(free.width);
        all = others;
        let want: Vec<f64> = if free.target.rotates() {
            // Opposite quaternions are the same rotation.
            let got = core::array::from_fn(|c| values[c].into());
            raw_clip::rotations(job.clip, track, &[at])
                .into_iter()
                .flat_map(|q| quats::near(got, q))
                .collect()
        } else {
            (0..free.width).map(|c| raw_clip::component(job.clip, track, c, at)).collect()
        };
        for (c, (&value, want)) in values.iter().zip(want).enumerate() {
            measured.add_track_error(index, free.target, c, (want - f64::from(value)).abs() as f32);
        }
    }
    Ok(())
}
