//! Data of one part of a clip that stays the same while its keys are searched.

use alloc::vec;
use alloc::vec::Vec;

use super::channel::{Channel, Grids, targets};
use super::format::KeyFormat;
use super::source::{Source, Window};
use crate::algebra::Affine64;
use crate::options::EncodeOptions;
use crate::search::place_all;
use crate::shell;
use crate::task::{DECODER_ROUNDING, JointFacts, minus_rounding};
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Transform64;
use condyle_base::math::vectors::normalize;

/// Data that stays the same for all attempts.
pub(super) struct Job<'s, 'a> {
    pub(super) skeleton: &'s Skeleton,
    pub(super) of: &'s Source<'a>,
    pub(super) source: Window<'a>,
    pub(super) joints: Vec<JointFacts>,
    /// Model matrices of the source, per joint and moment.
    pub(super) model: Vec<Vec<Affine64>>,
    pub(super) grids: Grids,
    /// Joints that keep all authored keys, because no other keys are within their budget.
    pub(super) exact: Vec<bool>,
    /// Fraction of the track budgets that may be used.
    pub(super) track_part: f32,
    pub(super) options: &'s EncodeOptions,
    pub(super) format: KeyFormat,
}

/// Channels of a joint's rotation, translation and scale; `None` at rest.
pub(super) type Channels = [Option<Channel>; 3];

impl<'s, 'a> Job<'s, 'a> {
    pub(super) fn new(
        skeleton: &'s Skeleton,
        options: &'s EncodeOptions,
        of: &'s Source<'a>,
        source: Window<'a>,
        pinned: bool,
        format: KeyFormat,
    ) -> Result<Self, Error> {
        let count = skeleton.joint_count();
        let shell = shell::bodies(skeleton, &options.shell)?;
        let kept = DECODER_ROUNDING * shell::extent(skeleton, &shell);
        let mut joints = Vec::with_capacity(count);
        for (j, (shell, rest)) in shell.into_iter().zip(skeleton.rest().transforms()).enumerate() {
            let mut rest = Transform64::from(rest);
            normalize(&mut rest.rotation);
            joints.push(JointFacts {
                parent: skeleton.parent(j as u16).map(usize::from),
                rest,
                shell,
                budget: minus_rounding(options.budget, kept),
                fallback: targets(j).map(|target| of.keeps(target)),
            });
        }
        for &(joint, budget) in &options.joint_budgets {
            joints[usize::from(joint)].budget = minus_rounding(budget, kept);
        }
        let model = place_all(&joints, &source.joints);
        let grids = Grids::new(source.moments.len(), &source.frames, source.places.clone(), pinned);
        let exact = vec![false; count];
        // Parts share a key where they meet and must round it to the same value, so they cannot choose
        // precisions.
        let format = if pinned && format == KeyFormat::Filtered { KeyFormat::Shorts } else { format };
        Ok(Self { skeleton, of, source, joints, model, grids, exact, track_part: 1.0, options, format })
    }

    /// Times of the first and the last moment.
    pub(super) fn bounds(&self) -> [f32; 2] {
        let moments = &self.source.moments;
        [moments[0], moments[moments.len() - 1]].map(|seconds| seconds as f32)
    }

    /// Lowers the budgets of the fit, which leaves room for errors between the moments.
    pub(super) fn use_less(&mut self) {
        self.joints.iter_mut().for_each(|joint| joint.budget *= 0.9);
        self.track_part *= 0.9;
    }
}
