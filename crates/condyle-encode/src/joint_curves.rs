//! Curves of all joints of a segment, with the split of the error budget that takes the fewest bits.

use alloc::vec;
use alloc::vec::Vec;

use super::algebra::Affine64;
use super::budget::{FIRST_SPLIT, HOPEFUL_ROUNDS, MAX_ROUNDS, graded_by_depth, tighten};
use super::fit::Shape;
use super::options::Effort;
use super::search::{nlerp_suffices, place_all, search};
use super::source;
use super::task::{BudgetFractions, ClipJob, JointFacts, SegmentFit, SegmentJob};
use super::turn::is_hopeless;
use condyle::clip::layout::JOINT_BITS;
use condyle::clip::write::Curves;
use condyle_base::math::Transform64;

impl ClipJob<'_> {
    /// Fits the joint tracks of a segment. On failure, returns a joint for which no curve met the budget.
    pub(super) fn joint_curves(
        &self,
        joints: &[JointFacts],
        first: usize,
        frames: usize,
        shapes: &[Shape],
    ) -> Result<Curves, usize> {
        let seconds = self.seconds(first, frames);
        let source: Vec<Vec<Transform64>> = (0..joints.len())
            .map(|j| source::joint(self.clip, self.skeleton, j, &self.tracks[j], &seconds))
            .collect();
        let model = place_all(joints, &source);
        let mut search = SplitSearch { job: self, joints, shapes, source, model, best: None, failing: 0 };
        let splits: &[[f64; 2]] = match self.options.effort {
            Effort::Best => &[[FIRST_SPLIT.place, FIRST_SPLIT.translation], [0.85, 0.55], [0.65, 0.35]],
            _ => &[[FIRST_SPLIT.place, FIRST_SPLIT.translation]],
        };
        // At frames, a joint can correct the whole error of its ancestors; between frames it cannot.
        let swing = FIRST_SPLIT.swing.filter(|_| self.moments > 1);
        for &[place, translation] in splits {
            search.tighten_from(BudgetFractions { place, translation, swing })?;
        }
        search.try_fixed_splits();
        search.best.map(|found| Curves { nlerp: found.nlerp, curves: found.curves }).ok_or(search.failing)
    }
}

/// Search for the split of the error budget with which the joints of a segment take the fewest bits.
struct SplitSearch<'a> {
    job: &'a ClipJob<'a>,
    joints: &'a [JointFacts],
    shapes: &'a [Shape],
    /// Authored local transforms, per joint and moment.
    source: Vec<Vec<Transform64>>,
    /// Authored model matrices, per joint and moment.
    model: Vec<Vec<Affine64>>,
    best: Option<SegmentFit>,
    /// First joint that failed in the last failed attempt.
    failing: usize,
}

impl SplitSearch<'_> {
    fn attempt(&self, fractions: &[BudgetFractions], nlerp: bool) -> SegmentFit {
        let (joints, shapes, max_bits) = (self.joints, self.shapes, JOINT_BITS);
        search(&SegmentJob { joints, source: &self.source, shapes, fractions, max_bits, nlerp }, &self.model)
    }

    /// Starts all joints with one split and tightens it where a joint fails. On failure, returns a joint for
    /// which no split can help.
    fn tighten_from(&mut self, split: BudgetFractions) -> Result<(), usize> {
        let joints = self.joints;
        let mut fractions = vec![split; joints.len()];
        // With root motion the whole character rotates too, by angles that this check does not cover.
        let mut nlerp = self.job.motion.is_none()
            && nlerp_suffices(joints, &self.source, self.job.moments, self.job.size);
        for round in 0..MAX_ROUNDS {
            let found = self.attempt(&fractions, nlerp);
            let Some(&first) = found.failed.first() else {
                if self.best.as_ref().is_none_or(|best| found.bits() < best.bits()) {
                    self.best = Some(found);
                }
                return Ok(());
            };
            self.failing = first;
            nlerp = false;
            if round == HOPEFUL_ROUNDS && self.is_hopeless_below(first) {
                return Err(first);
            }
            for &joint in &found.failed {
                let lacks = found.missing.contains(&(joint, 1));
                tighten(joints, joint, lacks, &mut fractions);
            }
        }
        Ok(())
    }

    /// Whether no curve fits a joint or one of its descendants, even if all of their ancestors were exact.
    fn is_hopeless_below(&self, above: usize) -> bool {
        let joints = self.joints;
        let is_below = |joint| {
            core::iter::successors(Some(joint), |&joint: &usize| joints[joint].parent).any(|j| j == above)
        };
        let is_hopeless = |joint: usize| {
            let parent = joints[joint].parent.map(|parent| &self.model[parent][..]);
            is_hopeless(&joints[joint], self.shapes, &self.source[joint], parent, &self.model[joint])
        };
        (above..joints.len()).any(|joint| is_below(joint) && is_hopeless(joint))
    }

    /// Tries fixed splits until one is within the budget, unless tightening found one. Tightening does not
    /// converge if failing joints keep taking budget from each other. The numbers are not tuned.
    fn try_fixed_splits(&mut self) {
        let joints = self.joints;
        let flat =
            |place, swing| vec![BudgetFractions { place, translation: place / 2.0, swing }; joints.len()];
        for fractions in [
            graded_by_depth(joints, 1.0),
            flat(0.9, None),
            flat(0.6, None),
            flat(0.9, Some(1.5)),
            graded_by_depth(joints, 0.5),
        ] {
            if self.best.is_some() {
                break;
            }
            let found = self.attempt(&fractions, false);
            match found.failed.first() {
                Some(&first) => self.failing = first,
                None => self.best = Some(found),
            }
        }
    }
}
