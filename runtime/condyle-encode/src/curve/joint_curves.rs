//! Curves of all joints of a segment, with the split of the error budget that takes the fewest bits.

use alloc::vec;
use alloc::vec::Vec;

use crate::curve::least_squares::Shape;
use crate::curve::search::{Search, nlerp_suffices};
use crate::curve::segment_fit::{SegmentFit, SegmentJob, SegmentPart, bits};
use crate::measure::algebra::Affine64;
use crate::measure::budget::{BudgetFractions, graded_by_depth};
use crate::measure::job::ClipJob;
use crate::measure::joint_facts::JointFacts;
use crate::measure::model::model_matrices;
use crate::measure::raw_clip;
use condyle::clip::layout::JOINT_BITS;
use condyle::clip::write::Curves;
use condyle_base::math::Transform64;

impl ClipJob<'_> {
    /// Fits the joint tracks of a segment. On failure, returns joints for which no curve met the budget.
    pub(crate) fn joint_curves(
        &self,
        joints: &[JointFacts],
        &SegmentPart { first, frames, shapes, splits, .. }: &SegmentPart<'_>,
    ) -> Result<Curves, Vec<usize>> {
        let seconds = self.seconds(first, frames);
        let source: Vec<Vec<Transform64>> = (0..joints.len())
            .map(|j| raw_clip::joint(self.clip, self.skeleton, j, &self.tracks[j], &seconds))
            .collect();
        let model = model_matrices(joints, &source);
        let mut search = SplitSearch { job: self, joints, shapes, source, model, best: None, failing: 0 };
        for split in splits {
            // At frames, a joint can correct the whole error of its ancestors; between frames it cannot.
            let swing = split.swing.filter(|_| self.moments > 1);
            search.tighten_from(BudgetFractions { swing, ..*split })?;
        }
        search.try_fixed_splits();
        let SplitSearch { best, failing, .. } = search;
        best.map(|found| Curves { nlerp: found.nlerp, curves: found.curves }).ok_or_else(|| vec![failing])
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
    fn search(&self, fractions: Vec<BudgetFractions>, nlerp: bool) -> Search<'_> {
        let (joints, source, shapes, max_bits) = (self.joints, &self.source, self.shapes, JOINT_BITS);
        Search::new(SegmentJob { joints, source, shapes, max_bits, nlerp }, &self.model, fractions)
    }

    /// Starts all joints with one split and tightens it where a joint fails. On failure, returns all joints
    /// for which no split can help.
    fn tighten_from(&mut self, split: BudgetFractions) -> Result<(), Vec<usize>> {
        let joints = self.joints;
        // With root motion the whole character rotates too, by angles that this check does not cover.
        let nlerp = self.job.motion.is_none()
            && nlerp_suffices(joints, &self.source, self.job.moments, self.job.size);
        let mut search = self.search(vec![split; joints.len()], nlerp);
        if search.fit_in_rounds()? {
            let found = search.finish();
            if bits(&found.curves) < self.bits() {
                self.best = Some(found);
            }
            return Ok(());
        }
        // Long chains take fewer bits with fractions that grow along them.
        let graded = match self.best {
            None => self.search(graded_by_depth(joints, 1.0), false).fit().ok(),
            Some(_) => None,
        };
        let most = graded.as_ref().map_or(self.bits(), |graded| bits(&graded.curves));
        let found = search.fit_locally(most);
        match found {
            Ok(found) => self.best = Some(found),
            Err(joint) => self.failing = joint,
        }
        if self.best.is_none() {
            self.best = graded;
        }
        Ok(())
    }

    /// Size of the best curves so far.
    fn bits(&self) -> usize {
        self.best.as_ref().map_or(usize::MAX, |best| bits(&best.curves))
    }

    /// Tries fixed splits until one is within the budget, unless tightening found one. Tightening does not
    /// converge if failing joints keep taking budget from each other. The numbers are not tuned.
    fn try_fixed_splits(&mut self) {
        let joints = self.joints;
        let flat =
            |place, swing| vec![BudgetFractions { place, translation: place / 2.0, swing }; joints.len()];
        for fractions in
            [flat(0.9, None), flat(0.6, None), flat(0.9, Some(1.5)), graded_by_depth(joints, 0.5)]
        {
            if self.best.is_some() {
                break;
            }
            match self.search(fractions, false).fit() {
                Ok(found) => self.best = Some(found),
                Err(joint) => self.failing = joint,
            }
        }
    }
}
