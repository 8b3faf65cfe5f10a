//! Smooth borders between the segments of a compressed clip.
//!
//! An encoder fits each segment on its own, so the pose may jump between two segments, by up to twice the
//! error of the clip. Frames would have to follow the jump within their own, smaller budget. Instead they
//! pass through the middle of both poses: half of the difference is faded in during the last frame of a
//! segment, and faded out during the first frame of the next.

use alloc::vec::Vec;

use super::measure::Meter;
use crate::clip::ClipView;
use crate::pose::Pose;
use crate::sampling::sample_by;
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Transform;
use condyle_base::math::vectors::normalize;
use condyle_base::simd::Dispatch;

/// Half of a jump, in budgets of the clip, up to which it counts as an error of the encoder. More than 1,
/// because the measured balls may reach farther than the points that the encoder measured. Not tuned.
const LARGEST: f32 = 4.0;

/// A compressed clip without jumps between segments.
pub(super) struct Smooth<'a> {
    pub(super) dispatch: Dispatch,
    pub(super) clip: ClipView<'a>,
    pub(super) skeleton: &'a Skeleton,
    /// Last time of each segment, and the first time of the next; `None` where a jump is kept.
    pub(super) seams: Vec<Option<[f64; 2]>>,
    /// Seconds before and after a seam that are changed: one frame.
    pub(super) reach: f64,
}

impl Smooth<'_> {
    /// Samples the clip itself.
    fn clip(&self, seconds: f64, pose: &mut Pose) -> Result<(), Error> {
        sample_by(self.dispatch, self.clip, self.skeleton, seconds, pose)
    }

    /// Samples the clip without its jumps.
    pub(super) fn sample(&self, seconds: f64, pose: &mut Pose) -> Result<(), Error> {
        self.clip(seconds, pose)?;
        // A time between the last time of a segment and the first of the next belongs to one of them.
        let segment = self.clip.locate(seconds).segment;
        let before = segment.checked_sub(1).and_then(|before| self.seams.get(before));
        // The seams around the segment, each with the side that the segment is on.
        let near = [(self.seams.get(segment), 0), (before, 1)];
        for (seam, side) in near {
            let Some(Some(seam)) = seam else { continue };
            let part = 1.0 - (seconds - seam[side]).abs() / self.reach;
            if part > 0.0 {
                let [mut own, mut other] = [Pose::rest(self.skeleton), Pose::rest(self.skeleton)];
                self.clip(seam[side], &mut own)?;
                self.clip(seam[1 - side], &mut other)?;
                shift(pose, &own, &other, (0.5 * part) as f32);
            }
        }
        Ok(())
    }

    /// Keeps jumps that are too large to come from the encoder: they are a part of the motion. Returns half
    /// of the largest other jump.
    pub(super) fn keep_jumps(&mut self, meter: &mut Meter<'_>) -> Result<f32, Error> {
        let mut worst = 0.0_f32;
        for at in 0..self.seams.len() {
            let Some(seam) = self.seams[at] else { continue };
            let half = meter.between(self.dispatch, |poses| self.sides(seam, poses))? / 2.0;
            if half <= LARGEST * self.clip.header().budget {
                worst = worst.max(half);
            } else {
                self.seams[at] = None;
            }
        }
        Ok(worst)
    }

    /// Samples the poses on both sides of a seam.
    fn sides(&self, seam: [f64; 2], poses: &mut [Pose; 2]) -> Result<(), Error> {
        for (seconds, pose) in seam.into_iter().zip(poses) {
            self.clip(seconds, pose)?;
        }
        Ok(())
    }
}

/// Adds a part of the difference of two poses.
fn shift(pose: &mut Pose, from: &Pose, to: &Pose, part: f32) {
    for joint in 0..pose.joint_count() {
        let [is, from, to] = [&*pose, from, to].map(|it| it.get(joint));
        let mixed = |is: f32, from: f32, to: f32| is + (to - from) * part;
        let three = |is: [f32; 3], from: [f32; 3], to: [f32; 3]| {
            core::array::from_fn(|c| mixed(is[c], from[c], to[c]))
        };
        // With the sign of the joint's own rotation.
        let [from_rotation, to_rotation] = [from.rotation, to.rotation].map(|q| {
            let dot = (q[0] * is.rotation[0] + q[1] * is.rotation[1])
                + (q[2] * is.rotation[2] + q[3] * is.rotation[3]);
            if dot < 0.0 { q.map(|v| -v) } else { q }
        });
        let mut rotation: [f64; 4] =
            core::array::from_fn(|c| mixed(is.rotation[c], from_rotation[c], to_rotation[c]).into());
        normalize(&mut rotation);
        let shifted = Transform {
            rotation: rotation.map(|v| v as f32),
            translation: three(is.translation, from.translation, to.translation),
            scale: three(is.scale, from.scale, to.scale),
        };
        pose.set(joint, &shifted);
    }
}
