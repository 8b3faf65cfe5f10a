//! Data of one part of a clip that stays the same while its keys are searched.

use alloc::vec;
use alloc::vec::Vec;

use super::channel::{Channel, Grids, targets};
use super::format::KeyFormat;
use super::source::{Source, Window};
use crate::measure::algebra::Affine64;
use crate::measure::joint_facts::{JointFacts, joint_facts};
use crate::measure::model::model_matrices;
use crate::options::EncodeOptions;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;

/// Difference between readers as a fraction of the character's size above which the first attempt already
/// distinguishes them: four times the rounding of 16-bit rotations. Not tuned.
const READER_DIFFERENCE: f64 = 1.2e-4;

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
    /// Whether the search distinguishes readers that normalise rotations from those that do not. It costs a
    /// few bytes where the difference is far below the budget.
    pub(super) readers_differ: bool,
    /// Last child of each joint, or the joint itself.
    pub(super) last_child: Vec<usize>,
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
        let kept = |joint: usize| targets(joint).map(|target| of.keeps(target));
        let (joints, extent) = joint_facts(skeleton, options, kept)?;
        let model = model_matrices(&joints, &source.joints);
        let grids = Grids::new(source.moments.len(), &source.frames, source.places.clone(), pinned);
        let exact = vec![false; count];
        // Parts share a key where they meet and must round it to the same value, so they cannot choose
        // precisions.
        let format = if pinned && format == KeyFormat::Filtered { KeyFormat::Shorts } else { format };
        let least = joints.iter().map(|joint| joint.budget).fold(f64::INFINITY, f64::min);
        let readers_differ = format != KeyFormat::Floats && READER_DIFFERENCE * extent > least;
        let mut last_child: Vec<usize> = (0..count).collect();
        for (joint, facts) in joints.iter().enumerate() {
            if let Some(parent) = facts.parent {
                last_child[parent] = joint;
            }
        }
        Ok(Self {
            skeleton,
            of,
            source,
            joints,
            model,
            grids,
            exact,
            track_part: 1.0,
            options,
            format,
            readers_differ,
            last_child,
        })
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
