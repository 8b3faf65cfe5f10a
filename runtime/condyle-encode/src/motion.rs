//! Root motion, stored as the curves of one more joint after the last.

use alloc::vec;
use alloc::vec::Vec;

use super::algebra::{Affine64, sub};
use super::body::Body;
use super::budget::FIRST_SPLIT;

use super::fit::Shape;
use super::search::{self, Search};
use super::source;
use super::task::{BudgetFractions, ClipJob, JointFacts, Motion, SegmentFit, SegmentJob};
use condyle::clip::layout::MAX_BITS;
use condyle::clip::spline::Degree;
use condyle::clip::write::Curve;
use condyle::motion::RootMotion;
use condyle_base::error::Error;
use condyle_base::math::{Rigid, Transform64};

/// Fraction of the budget that root motion may use, at any point of the character. It is only two of hundreds
/// of tracks, so a tight limit costs few bytes and leaves most of the budget to the pose. With extracted
/// motion, the four models of the defaults take 32,275 bytes; with half, 32,231; with twice, 32,406:
/// uncritical.
const MOTION_FRACTION: f64 = 1.0 / 16.0;
/// Maximum error of any point of the character, if the centre and six points at twice its reach are off by at
/// most 1. Derived, not tuned: the translation adds 1, and the rotation at half the distance adds √(3/2) / 2.
const WORST_POINT_RATIO: f64 = 1.65;

/// The joint itself.
const ORIGIN: Body = Body { centre: [0.0; 3], axes: None };

impl Motion {
    /// Creates the motion, and reserves its fraction of the budget in all joints.
    pub(super) fn new(job: &mut ClipJob<'_>, joint: u16, motion: RootMotion) -> Self {
        let budget =
            job.joints.iter().map(|joint| joint.budget).fold(f64::INFINITY, f64::min) * MOTION_FRACTION;
        job.joints.iter_mut().for_each(|joint| joint.budget -= budget);
        // Pose at the start. Without root motion, the character stays close to it.
        let start = job.seconds(0, 0);
        let local = |j: usize| source::joint(job.clip, job.skeleton, j, &job.tracks[j], &start[..1]);
        let local: Vec<Vec<Transform64>> = (0..job.joints.len()).map(local).collect();
        let model = search::place_all(&job.joints, &local);
        let middle = model[usize::from(joint)][0].origin;
        let mut reach = 0.0_f64;
        for (joint, model) in job.joints.iter().zip(&model) {
            let from = Affine64 { origin: sub(model[0].origin, middle), ..model[0] };
            let bodies = joint.shell.iter().chain([&ORIGIN]);
            reach = bodies.fold(reach, |reach, body| reach.max(body.farthest(&from)));
        }
        let mut shell: Vec<Body> = vec![Body::point(middle)];
        for axis in 0..3 {
            for way in [2.0, -2.0] {
                let mut point = middle;
                point[axis] += way * reach;
                shell.push(Body::point(point));
            }
        }
        let rest = Transform64::IDENTITY;
        let facts = JointFacts {
            parent: None,
            rest,
            shell,
            budget: budget / WORST_POINT_RATIO,
            fallback: [false; 3],
        };
        Self { motion, facts }
    }

    /// Motion at time `seconds` of the clip.
    pub(super) fn at(&self, job: &ClipJob<'_>, seconds: f64) -> Rigid {
        self.motion.at(seconds - job.clip.start())
    }

    /// Curves of the motion in a segment, and whether they are within its fraction of the budget.
    pub(super) fn curves(
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
        let model = search::place_all(&joints, &source);
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
