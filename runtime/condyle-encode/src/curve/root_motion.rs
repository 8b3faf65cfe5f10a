//! Root motion, stored as the curves of one more joint after the last.

use alloc::vec;
use alloc::vec::Vec;

use crate::measure::budget::{BudgetFractions, FIRST_SPLIT};

use crate::curve::least_squares::Shape;
use crate::curve::search::Search;
use crate::curve::segment_fit::{SegmentFit, SegmentJob};
use crate::measure::job::{ClipJob, Motion};
use crate::measure::model::model_matrices;
use condyle::clip::layout::MAX_BITS;
use condyle::clip::spline::Degree;
use condyle::clip::write::Curve;
use condyle_base::error::Error;
use condyle_base::math::{Rigid, Transform64};

impl Motion {
    /// Curves of the motion in a segment, and whether they are within its fraction of the budget.
    pub(crate) fn curves(
        &self,
        job: &ClipJob<'_>,
        first: usize,
        frames: usize,
        shapes: &[Shape],
    ) -> Result<(Vec<Curve>, bool), Error> {
        let local = |&seconds: &f64| {
            let Rigid { rotation, translation } = self.at(job, seconds);
            Transform64 { rotation, translation, ..self.facts.rest }
        };
        let seconds = job.seconds(first, frames);
        let source = [seconds.iter().map(local).collect::<Vec<_>>()];
        let mut shapes = shapes.to_vec();
        if frames > 0 && job.moments > 1 {
            // Samples between frames are corners of the motion, which a curve with a key at each moment can
            // follow.
            shapes.push(Shape::new(Degree::Cubic, seconds.len() - 1, seconds.len()));
        }
        let mut joints = [self.facts.clone()];
        let model = model_matrices(&joints, &source);
        // Root motion cannot be a fallback track. If no curve meets the budget, the budget is doubled until
        // one does.
        for _ in 0..64 {
            let fractions = vec![BudgetFractions { swing: None, ..FIRST_SPLIT }];
            let (source, shapes, max_bits) = (&source[..], &shapes[..], MAX_BITS);
            let segment = SegmentJob { joints: &joints, source, shapes, max_bits, nlerp: false };
            let mut search = Search::new(segment, &model, fractions);
            let found = match search.fit_in_rounds() {
                Ok(true) => Some(search.finish()),
                Ok(false) => search.fit_locally(usize::MAX).ok(),
                Err(_) => None,
            };
            if let Some(SegmentFit { mut curves, .. }) = found {
                curves.iter_mut().for_each(|curve| curve.index = job.joints.len());
                return Ok((curves, joints[0].budget <= self.facts.budget));
            }
            joints[0].budget *= 2.0;
        }
        Err(Error::NotFinite { what: "the motion", at: first })
    }
}
