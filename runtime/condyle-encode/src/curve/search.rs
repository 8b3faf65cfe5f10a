//! Finds the smallest curves of one segment that keep every joint within its budget.
//!
//! Parents come first, and each joint is fitted *relative to its decoded parent*. Its rotation is chosen so
//! that the points it carries are at their authored positions in model space. Errors therefore do not
//! accumulate along a limb. Each joint corrects the errors of its ancestors and can use almost the whole
//! budget for its own.

use alloc::vec;
use alloc::vec::Vec;

use crate::curve::quantised::{Candidates, Classes, TrackId, cheapest, constant};
use crate::curve::rotation::{RotatingJoint, fit_rotation, is_hopeless};
use crate::curve::segment_fit::{JointFit, SegmentFit, SegmentJob, bits, keep};
use crate::measure::algebra::{Affine64, Vector, add, apply, length, sub, turned};
use crate::measure::ball_set::BallSet;
use crate::measure::budget::{
    BudgetFractions, CONSTANT_STEP, HOPEFUL_ROUNDS, MAX_FAILURES, MAX_FITS, MAX_FITS_TO_SAVE,
    STATIC_THRESHOLD, USABLE_FRACTION, WHOLE_ROUNDS, tighten,
};
use crate::measure::carried_points::{CarriedPoint, CarriedPoints};
use crate::measure::joint_facts::JointFacts;
use crate::measure::model::joint_matrices;
use condyle::clip::layout::Kind;
use condyle_base::math::Transform64;
use condyle_base::math::vectors::dot;

/// Search for curves of all joints of a segment, parents first.
///
/// In the first rounds, all ancestors of a joint that fails get lower fractions, and all joints are fitted
/// again. After that only its nearest ancestors do, twice as many each time it fails, and only the joints
/// that depend on them are fitted again. With thousands of joints some joint fails in almost every round.
pub(crate) struct Search<'a> {
    job: SegmentJob<'a>,
    /// Authored model matrices, per joint and moment.
    model: &'a [Vec<Affine64>],
    fractions: Vec<BudgetFractions>,
    points: CarriedPoints<'a>,
    fits: Vec<JointFit>,
    classes: Classes,
    /// Size of all curves.
    bits: usize,
    /// Joints to fit, again or for the first time.
    stale: Vec<bool>,
    /// Number of times that each joint failed.
    failures: Vec<usize>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        job: SegmentJob<'a>,
        model: &'a [Vec<Affine64>],
        fractions: Vec<BudgetFractions>,
    ) -> Self {
        let count = job.joints.len();
        let points = CarriedPoints::new(job.joints, job.source, model, &fractions);
        let (fits, classes) = (vec![JointFit::default(); count], Classes::default());
        Self {
            job,
            model,
            fractions,
            points,
            fits,
            classes,
            bits: 0,
            stale: vec![true; count],
            failures: vec![0; count],
        }
    }

    /// Fits all joints with the given fractions. On failure, returns the first joint that fails.
    pub(crate) fn fit(mut self) -> Result<SegmentFit, usize> {
        match (0..self.fits.len()).find(|&joint| !self.fit_joint(joint)) {
            Some(failing) => Err(failing),
            None => Ok(self.finish()),
        }
    }

    /// Fits all joints, all again with lower fractions while a joint fails. Returns whether all joints are
    /// within their budgets; on failure, all joints for which no fractions can help.
    pub(crate) fn fit_in_rounds(&mut self) -> Result<bool, Vec<usize>> {
        for round in 0..WHOLE_ROUNDS {
            let failed = self.fit_round();
            if failed.is_empty() {
                return Ok(true);
            }
            if round == HOPEFUL_ROUNDS && self.is_hopeless_below(failed[0]) {
                let is_hopeless = |&joint: &usize| self.is_hopeless_below(joint);
                return Err(failed.into_iter().filter(is_hopeless).collect());
            }
            self.job.nlerp = false;
            for joint in failed {
                self.tighten_above(joint, usize::MAX);
            }
            self.stale.fill(true);
            self.fits.fill(JointFit::default());
            (self.classes, self.bits) = (Classes::default(), 0);
        }
        Ok(false)
    }

    /// Fits the remaining joints, with lower fractions near joints that fail. On failure, returns a joint for
    /// which no curve was found within `most_bits` for all joints, or with too many fits.
    pub(crate) fn fit_locally(mut self, most_bits: usize) -> Result<SegmentFit, usize> {
        let most_fits = if most_bits == usize::MAX { MAX_FITS } else { MAX_FITS_TO_SAVE };
        let mut left = most_fits * self.fits.len();
        let mut joint = 0;
        while joint < self.fits.len() {
            if !self.stale[joint] {
                joint += 1;
                continue;
            }
            if left == 0 || self.bits > most_bits {
                return Err(joint);
            }
            left -= 1;
            if self.fit_joint(joint) {
                joint += 1;
                continue;
            }
            self.failures[joint] += 1;
            if self.failures[joint] == MAX_FAILURES {
                return Err(joint);
            }
            joint = self.tighten_above(joint, 1 << self.failures[joint]);
        }
        Ok(self.finish())
    }

    /// Fits all joints except the descendants of joints that fail, and returns these joints.
    fn fit_round(&mut self) -> Vec<usize> {
        let mut failed = Vec::new();
        let mut fails = vec![false; self.fits.len()];
        for joint in 0..self.fits.len() {
            if self.job.joints[joint].parent.is_some_and(|parent| fails[parent]) {
                fails[joint] = true;
            } else if !self.fit_joint(joint) {
                fails[joint] = true;
                failed.push(joint);
            }
        }
        failed
    }

    /// Lowers the fractions of a failing joint and its nearest ancestors. Returns the first joint to fit
    /// again.
    fn tighten_above(&mut self, failing: usize, levels: usize) -> usize {
        let joints = self.job.joints;
        let lacks = self.fits[failing].missing.contains(&Kind::Translation);
        tighten(joints, failing, lacks, levels, &mut self.fractions);
        self.stale[failing] = true;
        let (mut joint, mut level) = (failing, 0);
        while let Some(parent) = joints[joint].parent {
            let has_changed = self.points.update(&self.fractions[joint], joint);
            level += 1;
            if !has_changed && level > levels {
                break;
            }
            self.stale[parent] = true;
            joint = parent;
        }
        joint
    }

    /// Whether no curve fits a joint or one of its descendants, even if all of their ancestors were exact.
    fn is_hopeless_below(&self, above: usize) -> bool {
        let SegmentJob { joints, shapes, source, .. } = self.job;
        let mut is_below = vec![false; joints.len()];
        (above..joints.len()).any(|joint| {
            is_below[joint] = joint == above || joints[joint].parent.is_some_and(|parent| is_below[parent]);
            let parent = joints[joint].parent.map(|parent| &self.model[parent][..]);
            is_below[joint] && is_hopeless(&joints[joint], shapes, &source[joint], parent, &self.model[joint])
        })
    }

    /// Fits a joint. Returns whether it is within its budget.
    fn fit_joint(&mut self, index: usize) -> bool {
        let (job, joint, model) = (&self.job, &self.job.joints[index], &self.model[index]);
        let before = core::mem::take(&mut self.fits[index]);
        before.curves.iter().for_each(|curve| self.classes.remove(curve));
        self.bits -= bits(&before.curves);
        let parents = joint.parent.map(|parent| self.fits[parent].decoded.as_slice());
        let mut own = job.source[index].clone();
        let mut fit = JointFit::default();
        let (points, is_static) = (self.points.of(index), self.points.is_static(index));
        let translation = self.fractions[index].translation;
        let input = JointInput { job, index, classes: &self.classes, translation };
        fit_translation(input, parents, model, &mut own, &mut fit);
        fit_scale(input, points, &mut own, &mut fit);
        let rotating = RotatingJoint { index, is_static, parents, model, points };
        let is_held = fit_rotation(job, &rotating, &mut own, &self.classes, &mut fit);
        let decoded = joint_matrices(parents, &own);
        let is_fitted = fit.missing.is_empty() && (is_held || !is_over_budget(joint, &decoded, model));
        fit.curves.iter().for_each(|curve| self.classes.add(curve));
        self.bits += bits(&fit.curves);
        self.stale[index] = false;
        if decoded != before.decoded {
            self.points.children(index).iter().for_each(|&child| self.stale[child] = true);
        }
        self.fits[index] = JointFit { decoded, ..fit };
        is_fitted
    }

    pub(crate) fn finish(self) -> SegmentFit {
        SegmentFit {
            curves: self.fits.into_iter().flat_map(|fit| fit.curves).collect(),
            nlerp: self.job.nlerp,
        }
    }
}

/// Input of the fits of a joint's translation and scale.
#[derive(Clone, Copy)]
struct JointInput<'a> {
    job: &'a SegmentJob<'a>,
    index: usize,
    classes: &'a Classes,
    /// [`BudgetFractions::translation`] of the joint.
    translation: f64,
}

/// Whether nlerp between frames stays within a fraction of the budget of slerp, for a character of this size.
/// Halving or doubling the fraction, 0.3: equal bytes. The decoded clip is checked later in any case.
pub(crate) fn nlerp_suffices(
    joints: &[JointFacts],
    source: &[Vec<Transform64>],
    moments: usize,
    size: f64,
) -> bool {
    joints.iter().zip(source).all(|(joint, locals)| {
        let mut frames = locals.iter().step_by(moments);
        let Some(mut last) = frames.next() else { return true };
        frames.all(|next| {
            // Angle between the quaternions, which is half of the rotation's angle.
            let angle = turned(last.rotation, next.rotation) / 2.0;
            last = next;
            0.04 * angle * angle * angle * size < 0.3 * joint.budget
        })
    })
}

/// Whether one of a joint's own points is over its budget.
fn is_over_budget(joint: &JointFacts, decoded: &[Affine64], model: &[Affine64]) -> bool {
    let balls = BallSet::new(joint.shell.iter().map(|&ball| (ball, joint.budget)));
    decoded.iter().zip(model).any(|(decoded, model)| !balls.is_within(&decoded.less(model)))
}

/// Fits the translation of a joint: at rest, constant, or a curve to its position relative to the decoded
/// parent.
fn fit_translation(
    JointInput { job, index, classes, translation }: JointInput<'_>,
    parents: Option<&[Affine64]>,
    model: &[Affine64],
    own: &mut [Transform64],
    fit: &mut JointFit,
) {
    let joint = &job.joints[index];
    if joint.fallback[1] {
        return;
    }
    let id = TrackId { kind: Kind::Translation, index };
    let rest = joint.rest.translation;
    let middle = own[own.len() / 2].translation;
    let outer = parents.map_or(1.0, |parents| parents[own.len() / 2].reach());
    let threshold = joint.budget * STATIC_THRESHOLD;
    let near = |to: Vector| own.iter().all(|local| length(sub(local.translation, to)) * outer < threshold);
    if near(rest) {
        own.iter_mut().for_each(|local| local.translation = rest);
        return;
    }
    let fine = joint.budget * CONSTANT_STEP / outer.max(f64::MIN_POSITIVE);
    if near(middle)
        && let Some((curve, value)) = constant(id, sub(middle, rest), fine)
    {
        own.iter_mut().for_each(|local| local.translation = add(rest, value));
        fit.curves.extend(curve);
        return;
    }
    let targets: Vec<Vector> = (0..own.len())
        .map(|moment| {
            let place = model[moment].origin;
            let place = parents.map_or(place, |parents| {
                let back = parents[moment].back(place);
                // A parent with scale 0 cannot be inverted.
                if parents[moment].linear == [[0.0; 3]; 3] { own[moment].translation } else { back }
            });
            sub(place, rest)
        })
        .collect();
    let limit = joint.budget * translation * USABLE_FRACTION;
    let guess = limit / outer.max(f64::MIN_POSITIVE);
    let candidates = Candidates { shapes: job.shapes, classes };
    let curve = cheapest(id, candidates, job.max_bits, &targets, guess, |shape, keys| {
        (0..targets.len()).all(|moment| {
            let off = sub(shape.value(keys, moment), targets[moment]);
            let off = parents.map_or(off, |parents| apply(&parents[moment].linear, off));
            dot(off, off) <= limit * limit
        })
    });
    if let Some((shape, keys)) = keep(job, id.kind, curve, fit) {
        for (moment, local) in own.iter_mut().enumerate() {
            local.translation = add(rest, shape.value(&keys, moment));
        }
    }
}

/// Fits the scale of a joint: at rest, constant, or a curve. Halving or doubling the fraction of the
/// threshold, 1/4, or of the budget, 1/2: equal bytes.
fn fit_scale(
    JointInput { job, index, classes, translation }: JointInput<'_>,
    points: &[CarriedPoint],
    own: &mut [Transform64],
    fit: &mut JointFit,
) {
    let joint = &job.joints[index];
    if joint.fallback[2] {
        return;
    }
    let id = TrackId { kind: Kind::Scale, index };
    let rest = joint.rest.scale;
    let middle = own[own.len() / 2].scale;
    // Maximum movement of the outermost point per unit of scale, as a fraction of its limit. Ancestors count
    // as unscaled.
    let far = points.iter().map(|point| point.ball.size() / point.limit).fold(0.0, f64::max);
    let off = |a: Vector, b: Vector| length(sub(a, b)) * far;
    if own.iter().all(|local| off(local.scale, rest) < STATIC_THRESHOLD / 4.0) {
        own.iter_mut().for_each(|local| local.scale = rest);
        return;
    }
    let fine = CONSTANT_STEP / far.max(f64::MIN_POSITIVE);
    if own.iter().all(|local| off(local.scale, middle) < STATIC_THRESHOLD / 4.0)
        && let Some((curve, value)) = constant(id, sub(middle, rest), fine)
    {
        own.iter_mut().for_each(|local| local.scale = add(rest, value));
        fit.curves.extend(curve);
        return;
    }
    let targets: Vec<Vector> = own.iter().map(|local| sub(local.scale, rest)).collect();
    let limit = translation * 0.5;
    let candidates = Candidates { shapes: job.shapes, classes };
    let guess = limit / far.max(f64::MIN_POSITIVE);
    let curve = cheapest(id, candidates, job.max_bits, &targets, guess, |shape, keys| {
        (0..targets.len()).all(|moment| off(shape.value(keys, moment), targets[moment]) <= limit)
    });
    if let Some((shape, keys)) = keep(job, id.kind, curve, fit) {
        for (moment, local) in own.iter_mut().enumerate() {
            local.scale = add(rest, shape.value(&keys, moment));
        }
    }
}
