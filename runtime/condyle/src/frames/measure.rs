//! Error of [`Frames`](super::Frames), measured in model space.

use alloc::vec;
use alloc::vec::Vec;

use super::FramesOptions;
use super::original::Original;
use super::store::Store;
use crate::model::local_to_model_by;
use crate::pose::Pose;
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{dot, length, stretch, sub};
use condyle_base::simd::Dispatch;

/// Number of moments per frame at which the error is measured. The first one is at the frame.
const MOMENTS: usize = 4;

/// Compares stored frames with their clip.
pub(super) struct Meter<'a> {
    skeleton: &'a Skeleton,
    options: &'a FramesOptions,
    poses: [Pose; 2],
    models: [Vec<Affine>; 2],
    /// Moment at which the last frames exceeded the limit. The next ones are measured there first.
    hard: Option<f64>,
}

impl<'a> Meter<'a> {
    pub(super) fn new(skeleton: &'a Skeleton, options: &'a FramesOptions) -> Self {
        let model = vec![Affine::IDENTITY; skeleton.joint_count()];
        let pose = Pose::rest(skeleton);
        Self { skeleton, options, poses: [pose.clone(), pose], models: [model.clone(), model], hard: None }
    }

    /// Returns an upper bound on the displacement of a point of the balls between the clip and the frames, at
    /// the moments of the clip and of the frames. Stops at the first moment where it is above `limit`.
    pub(super) fn error(&mut self, original: &Original<'_>, store: &Store, limit: f32) -> Result<f32, Error> {
        // The portable mode, so that every machine chooses the same storage.
        let dispatch = Dispatch::current().portable();
        let of_frames = (0..store.timeline.intervals * MOMENTS)
            .map(|moment| store.timeline.seconds(moment as f64 / MOMENTS as f64));
        let mut worst = 0.0_f32;
        for seconds in self.hard.into_iter().chain(original.moments()).chain(of_frames) {
            let [want, is] = &mut self.poses;
            (original.sample)(seconds, want)?;
            store.sample(dispatch, self.skeleton.rest(), seconds, is);
            worst = self.apart(dispatch, worst)?;
            if worst > limit {
                self.hard = Some(seconds);
                break;
            }
        }
        Ok(worst)
    }

    /// Returns an upper bound on the displacement of a point of the balls from one pose to the other.
    pub(super) fn between(
        &mut self,
        dispatch: Dispatch,
        sample: impl FnOnce(&mut [Pose; 2]) -> Result<(), Error>,
    ) -> Result<f32, Error> {
        sample(&mut self.poses)?;
        self.apart(dispatch, 0.0)
    }

    /// Returns the largest displacement of a point of the balls from one pose to the other, or `worst` if
    /// that is larger.
    fn apart(&mut self, dispatch: Dispatch, mut worst: f32) -> Result<f32, Error> {
        for (pose, model) in self.poses.iter().zip(&mut self.models) {
            local_to_model_by(dispatch, self.skeleton, pose, model)?;
        }
        let [want, is] = &self.models;
        for (joint, ((want, is), &radius)) in want.iter().zip(is).zip(&self.options.radii).enumerate() {
            let off = farthest(want, is, radius, worst);
            if !off.is_finite() {
                return Err(Error::NotFinite { what: "the model matrices of the clip", at: joint });
            }
            worst = worst.max(off);
        }
        Ok(worst)
    }
}

/// Largest distance between a point of a ball around the origin after one map and after another, or a number
/// up to `least` if it is not larger than that.
fn farthest(want: &Affine, is: &Affine, radius: f32, least: f32) -> f32 {
    let [want, is] = [want, is].map(|matrix| matrix.rows.map(|row| row.map(f64::from)));
    let off = |c: usize| sub([is[0][c], is[1][c], is[2][c]], [want[0][c], want[1][c], want[2][c]]);
    let moved = length(off(3));
    if radius <= 0.0 {
        return moved as f32;
    }
    let columns = [off(0), off(1), off(2)];
    // The root of the sum of squares is at least the stretch, and takes a tenth of its time.
    let bound = moved + sqrt_f64(columns.map(|c| dot(c, c)).iter().sum()) * f64::from(radius);
    if bound <= f64::from(least) * 0.999 {
        return moved as f32;
    }
    (moved + stretch(&columns) * f64::from(radius)) as f32
}
