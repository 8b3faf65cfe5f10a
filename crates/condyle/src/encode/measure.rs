//! Measures the error of an encoded clip.

use alloc::vec;
use alloc::vec::Vec;

use super::algebra::Matrix;
use super::options::{JointError, Measured};
use super::task::{ClipJob, MAX_SEGMENT_SAMPLES, Motion};
use super::{search, source};
use crate::clip::Clip;
use crate::error::Error;
use crate::math::quats::{self, is_loose};
use crate::math::vectors::normalize;
use crate::math::{Rigid, Transform64};
use crate::pose::Pose;
use crate::sample::{self, sample_by};
use crate::simd::Dispatch;

/// Decodes a clip at all moments where errors are checked, and compares it with the authored one.
pub(super) fn measure(job: &ClipJob<'_>, clip: &Clip<'_>) -> Result<Measured, Error> {
    let skeleton = job.skeleton;
    let count = skeleton.joint_count();
    let mut pose = Pose::rest(skeleton);
    let mut measured = Measured { joints: vec![JointError::default(); count], ..Measured::default() };
    let mut at_frames = Counts::new();
    // In chunks, so that the memory does not depend on the length of the clip.
    let chunk = 64.min(MAX_SEGMENT_SAMPLES / (count.max(1) * job.moments)).max(1);
    let mut first = 0;
    loop {
        let frames = (job.frames - first).min(chunk);
        // The decoder takes f32 seconds: the authored clip is read at the same rounded time, or fast joints
        // would differ.
        let seconds: Vec<f64> = job.seconds(first, frames).iter().map(|&s| (s as f32).into()).collect();
        let source: Vec<Vec<Transform64>> =
            (0..count).map(|j| source::joint(job.clip, skeleton, j, &job.tracks[j], &seconds)).collect();
        let model = search::place_all(&job.joints, &source);
        let motion: Vec<(Matrix, Matrix)> =
            job.motion.iter().flat_map(|of| seconds.iter().map(|&at| motions(job, of, clip, at))).collect();
        let mut decoded: Vec<Matrix> = Vec::with_capacity(count);
        let is_last = first + frames == job.frames;
        for (moment, &at) in seconds.iter().enumerate() {
            if moment == frames * job.moments && !is_last {
                // This moment belongs to the next chunk.
                break;
            }
            // The portable mode, so that decisions by the error, and so the bytes, are the same on every
            // platform.
            sample_by(Dispatch::current().portable(), clip.view(), skeleton, at, &mut pose)?;
            decoded.clear();
            let mut greatest = 0.0_f64;
            for (j, t) in pose.transforms().enumerate() {
                let mut local = Transform64::from(t);
                if is_loose(&local.rotation) {
                    // A rest rotation that is not a unit quaternion, in the authored clip as well.
                    normalize(&mut local.rotation);
                }
                let local = Matrix::new(&local);
                let joint = &job.joints[j];
                let placed = joint.parent.map_or(local, |p| decoded[p].multiply(&local));
                decoded.push(placed);
                let off = match motion.get(moment) {
                    Some((got, want)) => got.multiply(&placed).less(&want.multiply(&model[j][moment])),
                    None => placed.less(&model[j][moment]),
                };
                let (mut farthest, mut own) = (0, 0.0);
                for (point, body) in joint.shell.iter().enumerate() {
                    let off = body.farthest(&off);
                    if off > own {
                        (farthest, own) = (point, off);
                    }
                }
                if own as f32 > measured.joints[j].error {
                    measured.joints[j] = JointError { error: own as f32, seconds: at, point: farthest };
                }
                greatest = greatest.max(own);
                if moment % job.moments == 0 {
                    at_frames.add(own as f32);
                }
            }
            if moment % job.moments == 0 {
                measured.frames.push(greatest as f32);
            } else {
                measured.error_between_max = measured.error_between_max.max(greatest as f32);
            }
            measure_values(job, clip, at, &mut measured)?;
        }
        first += frames;
        if is_last {
            break;
        }
    }
    for (joint, error) in measured.joints.iter().enumerate() {
        if error.error > measured.error_max {
            (measured.error_max, measured.joint, measured.seconds) = (error.error, joint, error.seconds);
        }
    }
    measured.error_p99 = at_frames.percentile(99).min(measured.error_max);
    Ok(measured)
}

/// A histogram of errors in constant memory, with bins half a percent wide.
struct Counts(Vec<u64>);

/// Low bits of an f32 that share a bin: 2^-8 of a value, the half percent that the documentation states.
const DROPPED_BITS: u32 = 15;

impl Counts {
    fn new() -> Self {
        Self(vec![0; 1 << (31 - DROPPED_BITS)])
    }

    fn add(&mut self, error: f32) {
        // The bits of non-negative floats are in the order of their values.
        self.0[(error.abs().to_bits() >> DROPPED_BITS) as usize] += 1;
    }

    /// A percentile: the upper end of its bin.
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

/// The root motion, decoded and as extracted.
fn motions(job: &ClipJob<'_>, motion: &Motion, clip: &Clip<'_>, seconds: f64) -> (Matrix, Matrix) {
    let matrix =
        |Rigid { rotation, translation }| Matrix { linear: quats::rows(rotation), origin: translation };
    (matrix(clip.motion_at(seconds)), matrix(motion.at(job, seconds)))
}

fn measure_values(job: &ClipJob<'_>, clip: &Clip<'_>, at: f64, measured: &mut Measured) -> Result<(), Error> {
    if job.free_tracks.is_empty() {
        return Ok(());
    }
    let mut all = vec![0.0; job.free_tracks.iter().map(|free| free.width).sum()];
    sample::tracks(clip, at, &mut all)?;
    let mut all = &all[..];
    for (free, track) in job.free_tracks.iter().zip(&job.free_sources) {
        let (values, others) = all.split_at(free.width);
        all = others;
        let want: Vec<f64> = if free.target.rotates() {
            // Either of two opposite quaternions is the rotation.
            let got = core::array::from_fn(|c| values[c].into());
            source::rotations(job.clip, track, &[at]).into_iter().flat_map(|q| quats::near(got, q)).collect()
        } else {
            (0..free.width).map(|c| source::component(job.clip, track, c, at)).collect()
        };
        for (c, (&value, want)) in values.iter().zip(want).enumerate() {
            measured.add_track_error(free.target, c, (want - f64::from(value)).abs() as f32);
        }
    }
    Ok(())
}
