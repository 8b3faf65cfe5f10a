//! Fits the rotation of a joint, so that the points it carries are at their positions.

use alloc::vec::Vec;
use core::cell::OnceCell;

use crate::curve::alignment::Alignment;
use crate::curve::least_squares::Shape;
use crate::curve::quantised::{Candidates, Classes, TrackId, best_keys, cheapest, code_of, constant};
use crate::curve::segment_fit::{JointFit, SegmentJob, keep};
use crate::measure::algebra::{Affine64, Vector, log_near, sub, transposed, turned};
use crate::measure::ball::Ball;
use crate::measure::budget::{CONSTANT_STEP, STATIC_THRESHOLD};
use crate::measure::carried_points::CarriedPoint;
use crate::measure::job::MOMENTS_PER_FRAME;
use crate::measure::joint_facts::JointFacts;
use condyle::clip::layout::Kind;
use condyle::clip::spline::Degree;
use condyle_base::math::Transform64;
use condyle_base::math::quats::{self, Quat64, conjugate, exp, product};
use condyle_base::math::vectors::{dot, normalize};

/// Joint whose rotation is fitted.
pub(crate) struct RotatingJoint<'a> {
    pub(crate) index: usize,
    /// Whether a constant rotation is enough, because the ancestors move the points to their positions.
    pub(crate) is_static: bool,
    /// Decoded model matrices of its parent, per moment.
    pub(crate) parents: Option<&'a [Affine64]>,
    /// Authored model matrices, per moment.
    pub(crate) model: &'a [Affine64],
    /// Points that the rotation must move to their authored positions.
    pub(crate) points: &'a [CarriedPoint],
}

/// Fits the rotation of a joint: at rest, constant, or a curve. Returns whether all of its points are then
/// known to be within their limits.
pub(crate) fn fit_rotation(
    job: &SegmentJob<'_>,
    rotating: &RotatingJoint<'_>,
    own: &mut [Transform64],
    classes: &Classes,
    fit: &mut JointFit,
) -> bool {
    let &RotatingJoint { index, is_static, parents, model, points } = rotating;
    let joint = &job.joints[index];
    if joint.fallback[0] {
        return false;
    }
    let id = TrackId { kind: Kind::Rotation, index };
    let rest = joint.rest.rotation;
    let middle = own[own.len() / 2].rotation;
    let limit = points.iter().map(|point| point.limit).fold(f64::INFINITY, f64::min).min(joint.budget);
    let alignment = Alignment::new(parents, model, points, own);
    // The maximum over all moments is rarely needed: few joints are near a constant.
    let (least_reach, all) = (alignment.reach(&model[own.len() / 2..=own.len() / 2]), OnceCell::new());
    let reach = || *all.get_or_init(|| alignment.reach(model));
    // A constant is enough for a static joint, whose ancestors place its points, or if it keeps all points
    // within limits.
    let is_within = |to: Quat64, reach: f64| {
        own.iter().all(|local| turned(to, local.rotation) * reach < limit * STATIC_THRESHOLD)
    };
    let near = |to: Quat64| is_within(to, least_reach) && is_within(to, reach());
    let serves = |value: Quat64| is_static || (0..own.len()).all(|moment| alignment.holds(moment, value));
    if near(rest) && serves(rest) {
        own.iter_mut().for_each(|local| local.rotation = rest);
        return !is_static;
    }
    if near(middle) {
        let log = log_near(product(conjugate(rest), middle), [0.0; 3]);
        let fine = limit * CONSTANT_STEP / reach().max(f64::MIN_POSITIVE);
        if let Some((curve, value)) =
            constant(id, log, fine).map(|(curve, log)| (curve, product(rest, exp(log))))
            && serves(value)
        {
            own.iter_mut().for_each(|local| local.rotation = value);
            fit.curves.extend(curve);
            return !is_static;
        }
    }
    let goals = Goals::new(&alignment, rest, own);
    // The moment that failed last is the most likely to fail again, so it is checked first.
    let mut suspect = 0;
    let candidates = Candidates { shapes: job.shapes, classes };
    let guess_with = |reach: f64| limit / reach.max(f64::MIN_POSITIVE);
    let least = guess_with(least_reach);
    let is_same = code_of(least) == code_of(guess_with(least_reach * (1.0 + 1e-6)));
    let guess = if is_same && keeps_lengths(model) { least } else { guess_with(reach()) };
    let curve = cheapest(id, candidates, job.max_bits, &goals.logs, guess, |shape, keys| {
        let mut path = Path::new(rest, shape, keys, job.nlerp);
        let fails = |path: &mut Path<'_>, moment| !goals.holds(path, moment);
        if fails(&mut path, suspect) {
            return false;
        }
        match (0..own.len()).find(|&moment| fails(&mut path, moment)) {
            Some(moment) => {
                suspect = moment;
                false
            }
            None => true,
        }
    });
    let Some((shape, keys)) = keep(job, id.kind, curve, fit) else { return false };
    let mut path = Path::new(rest, shape, &keys, job.nlerp);
    for (moment, local) in own.iter_mut().enumerate() {
        local.rotation = path.at(moment);
    }
    true
}

/// Whether the linear parts of all matrices map every vector to about the same length, within 1e-8 of the
/// longest.
fn keeps_lengths(model: &[Affine64]) -> bool {
    let products = |model: &Affine64| {
        let [x, y, z] = transposed(&model.linear);
        [dot(x, x), dot(y, y), dot(z, z), dot(x, y), dot(x, z), dot(y, z)]
    };
    let first = products(&model[0]);
    let near = 1e-9 * first[0].min(first[1]).min(first[2]);
    model.iter().all(|model| products(model).iter().zip(first).all(|(a, b)| (a - b).abs() <= near))
}

/// Whether no curve would keep a joint's own points within twice the budget even if all its ancestors were
/// exact. Tightening the ancestors is useless then.
pub(crate) fn is_hopeless(
    joint: &JointFacts,
    shapes: &[Shape],
    own: &[Transform64],
    above: Option<&[Affine64]>,
    model: &[Affine64],
) -> bool {
    if joint.fallback[0] {
        return false;
    }
    let point = |&ball: &Ball| CarriedPoint::new(ball, 2.0 * joint.budget);
    let points: Vec<CarriedPoint> = joint.shell.iter().map(point).collect();
    let alignment = Alignment::new(above, model, &points, own);
    let goals = Goals::new(&alignment, joint.rest.rotation, own);
    let mut keys = Vec::new();
    !shapes.iter().any(|shape| {
        best_keys(Kind::Rotation, shape, &goals.logs, &mut keys);
        let mut path = Path::new(joint.rest.rotation, shape, &keys, false);
        (0..own.len()).all(|moment| goals.holds(&mut path, moment))
    })
}

/// Rotations for a curve to follow, at all moments.
struct Goals<'a> {
    alignment: &'a Alignment,
    rotations: Vec<Quat64>,
    /// Logarithms of the rotations, relative to the rest pose.
    logs: Vec<Vector>,
    /// Squares of [`Alignment::slack`].
    slacks: Vec<f64>,
}

impl<'a> Goals<'a> {
    fn new(alignment: &'a Alignment, rest: Quat64, own: &[Transform64]) -> Self {
        let best = |(moment, local): (usize, &Transform64)| alignment.best(moment, local.rotation);
        let rotations: Vec<Quat64> = own.iter().enumerate().map(best).collect();
        let mut near = log_near(product(conjugate(rest), own[0].rotation), [0.0; 3]);
        let log = |&rotation: &Quat64| {
            near = log_near(product(conjugate(rest), rotation), near);
            near
        };
        let logs = rotations.iter().map(log).collect();
        let slack = |(moment, &rotation): (usize, &Quat64)| {
            let slack = alignment.slack(moment, rotation);
            slack * slack
        };
        let slacks = rotations.iter().enumerate().map(slack).collect();
        Self { alignment, rotations, logs, slacks }
    }

    /// Whether all points are within their limits with a path's rotation at a moment. Most rotations are so
    /// close to the goal that the points need no check.
    fn holds(&self, path: &mut Path<'_>, moment: usize) -> bool {
        if path.shape.degree == Degree::Cubic {
            let log = path.shape.value(path.keys, moment);
            let off = sub(log, self.logs[moment]);
            return dot(off, off) < self.slacks[moment]
                || self.alignment.holds(moment, product(path.rest, exp(log)));
        }
        let (q, goal) = (path.at(moment), self.rotations[moment]);
        let near = quats::near(goal, q);
        let off: f64 = near.iter().zip(goal).map(|(near, goal)| (near - goal) * (near - goal)).sum();
        off < self.slacks[moment] || self.alignment.holds(moment, q)
    }
}

/// Rotations of a curve, evaluated as in the decoder.
struct Path<'a> {
    rest: Quat64,
    shape: &'a Shape,
    keys: &'a [[f64; 3]],
    /// Interval of the moment evaluated last, for linear curves: its index, its first key, and the next key
    /// on the same hemisphere.
    span: Option<(usize, Quat64, Quat64)>,
    nlerp: bool,
}

impl<'a> Path<'a> {
    fn new(rest: Quat64, shape: &'a Shape, keys: &'a [[f64; 3]], nlerp: bool) -> Self {
        Self { rest, shape, keys, span: None, nlerp }
    }

    fn at(&mut self, moment: usize) -> Quat64 {
        if self.shape.degree == Degree::Cubic {
            return product(self.rest, exp(self.shape.value(self.keys, moment)));
        }
        let (interval, t) = self.shape.interval(moment);
        let (from, to) = match self.span {
            Some((last, from, to)) if last == interval => (from, to),
            last => {
                let key = |at: usize| product(self.rest, exp(self.keys[at]));
                let from = match last {
                    Some((last, _, to)) if last + 1 == interval => to,
                    _ => key(interval),
                };
                let to = quats::near(from, key(interval + 1));
                self.span = Some((interval, from, to));
                (from, to)
            }
        };
        let toward = |a: Quat64, b: Quat64, t: f64| {
            let mut q = [
                a[0] + (b[0] - a[0]) * t,
                a[1] + (b[1] - a[1]) * t,
                a[2] + (b[2] - a[2]) * t,
                a[3] + (b[3] - a[3]) * t,
            ];
            normalize(&mut q);
            q
        };
        if self.nlerp {
            return toward(from, to, t);
        }
        // Slerp and nlerp are equal at the midpoint, and moments are only at quarters of an interval.
        const { assert!(MOMENTS_PER_FRAME == 4) };
        let middle = || toward(from, to, 0.5);
        match (t * MOMENTS_PER_FRAME as f64 + 0.5) as i32 {
            0 => from,
            1 => toward(from, middle(), 0.5),
            2 => middle(),
            3 => toward(middle(), to, 0.5),
            _ => to,
        }
    }
}
