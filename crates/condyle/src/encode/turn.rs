//! Fits the rotation of a joint, so that the points it carries come to their places.

use alloc::vec::Vec;

use super::algebra::{Matrix, Vector, apply, log_near, solve, subtract, turned};
use super::curve::{cheapest, constant};
use super::fit::Shape;
use super::points::{self, Point};
use super::task::{CONSTANT_STEP, STATIC_THRESHOLD, SegmentFit, SegmentJob, USABLE_FRACTION, keep};
use crate::clip::layout::Kind;
use crate::clip::spline::Degree;
use crate::math::Transform64;
use crate::math::quats::{Quat64, conjugate, exp, product, rows};
use crate::math::vectors::{cross, dot, normalize};

/// Regularisation of the least-squares rotation, as a fraction of the trace of its normal matrix: without it
/// points on one line leave the rotation about that line undetermined. Half: targets +0.5 %, defaults equal;
/// twice: -0.4 % and +0.5 %.
const RIDGE: f64 = 1e-3;

/// The points that a rotation has to bring to their places, at all moments.
pub(super) struct Aims<'a> {
    /// Per moment: the linear part of the decoded parent's model matrix.
    outer: Vec<[Vector; 3]>,
    /// Per moment and point: its scaled position before the rotation, and where it has to come to, both
    /// relative to the joint in the decoded parent's space.
    arms: Vec<Vector>,
    aims: Vec<Vector>,
    points: &'a [Point],
}

impl Aims<'_> {
    /// Whether all points are within their limits at a moment.
    pub(super) fn holds(&self, moment: usize, q: Quat64) -> bool {
        let turn = rows(q);
        let count = self.points.len();
        let outer = &self.outer[moment];
        let from = moment * count;
        self.points.iter().zip(&self.arms[from..]).zip(&self.aims[from..]).all(|((point, &arm), &aim)| {
            let off = apply(outer, subtract(apply(&turn, arm), aim));
            let limit = point.limit * USABLE_FRACTION;
            dot(off, off) <= limit * limit
        })
    }

    /// One Gauss-Newton step of half length from `q` towards the rotation that brings the points nearest to
    /// their places. A quarter instead of the half: targets +7.3 %, defaults +2.5 %; the full step: targets
    /// 13 times as large.
    pub(super) fn best(&self, moment: usize, q: Quat64) -> Quat64 {
        let turn = rows(q);
        let outer = &self.outer[moment];
        let from = moment * self.points.len();
        let (mut normal, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
        for (i, point) in self.points.iter().enumerate() {
            let weight = 1.0 / (point.limit * point.limit);
            let arm = apply(&turn, self.arms[from + i]);
            let off = apply(outer, subtract(self.aims[from + i], arm));
            // How the point moves per radian about each axis.
            let ways = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
                .map(|axis| apply(outer, cross(axis, arm)));
            for r in 0..3 {
                for c in 0..3 {
                    normal[r][c] += weight * dot(ways[r], ways[c]);
                }
                right[r] += weight * dot(ways[r], off);
            }
        }
        let trace = normal[0][0] + normal[1][1] + normal[2][2];
        for (axis, row) in normal.iter_mut().enumerate() {
            row[axis] += RIDGE * trace;
        }
        product(exp(solve(&normal, right).map(|v| v * 0.5)), q)
    }
}

/// Fits the rotation of a joint: at rest, constant, or a curve.
pub(super) fn fit_rotation(
    job: &SegmentJob<'_>,
    (index, hangs): (usize, bool),
    parents: Option<&[Matrix]>,
    (model, points): (&[Matrix], &[Point]),
    own: &mut [Transform64],
    fit: &mut SegmentFit,
) {
    let joint = &job.joints[index];
    if joint.authored[0] {
        return;
    }
    let name = (Kind::Rotation, index);
    let rest = joint.rest.rotation;
    let middle = own[own.len() / 2].rotation;
    let reach =
        own.iter().zip(model).fold(0.0_f64, |most, (_, model)| most.max(points::reach(points, model)));
    let limit = points.iter().map(|point| point.limit).fold(f64::INFINITY, f64::min).min(joint.budget);
    let aims = aim(parents, model, points, own);
    // A constant is enough for a static joint, whose ancestors place its points, or where it keeps all points
    // within limits.
    let near =
        |to: Quat64| own.iter().all(|local| turned(to, local.rotation) * reach < limit * STATIC_THRESHOLD);
    let serves = |value: Quat64| hangs || (0..own.len()).all(|moment| aims.holds(moment, value));
    if near(rest) && serves(rest) {
        own.iter_mut().for_each(|local| local.rotation = rest);
        return;
    }
    if near(middle) {
        let log = log_near(product(conjugate(rest), middle), [0.0; 3]);
        let fine = limit * CONSTANT_STEP / reach.max(f64::MIN_POSITIVE);
        if let Some((curve, value)) =
            constant(name, log, fine).map(|(curve, log)| (curve, product(rest, exp(log))))
            && serves(value)
        {
            own.iter_mut().for_each(|local| local.rotation = value);
            fit.curves.extend(curve);
            return;
        }
    }
    let mut near = log_near(product(conjugate(rest), own[0].rotation), [0.0; 3]);
    let targets: Vec<Vector> = own
        .iter()
        .enumerate()
        .map(|(moment, local)| {
            near = log_near(product(conjugate(rest), aims.best(moment, local.rotation)), near);
            near
        })
        .collect();
    // The moment that failed last is the likeliest to fail again: it is checked first.
    let mut suspect = 0;
    let curve = cheapest(
        name,
        (job.shapes, &fit.curves),
        job.max_bits,
        &targets,
        limit / reach.max(f64::MIN_POSITIVE),
        |shape, keys| {
            let mut path = Path::new(rest, shape, keys, job.nlerp);
            let fails = |path: &mut Path<'_>, moment| !aims.holds(moment, path.at(moment));
            if fails(&mut path, suspect) {
                return false;
            }
            match (0..targets.len()).find(|&moment| fails(&mut path, moment)) {
                Some(moment) => {
                    suspect = moment;
                    false
                }
                None => true,
            }
        },
    );
    if let Some((shape, keys)) = keep(job, name, curve, fit) {
        let mut path = Path::new(rest, shape, &keys, job.nlerp);
        for (moment, local) in own.iter_mut().enumerate() {
            local.rotation = path.at(moment);
        }
    }
}

pub(super) fn aim<'a>(
    parents: Option<&[Matrix]>,
    model: &[Matrix],
    points: &'a [Point],
    own: &[Transform64],
) -> Aims<'a> {
    let room = own.len() * points.len();
    let (mut arms, mut aims) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let mut outer = Vec::with_capacity(own.len());
    for (moment, local) in own.iter().enumerate() {
        let parent = parents.map_or(Matrix::IDENTITY, |parents| parents[moment]);
        outer.push(parent.linear);
        for point in points {
            let scaled = core::array::from_fn(|c| point.local[c] * local.scale[c]);
            arms.push(scaled);
            aims.push(subtract(parent.back(model[moment].point(point.local)), local.translation));
        }
    }
    Aims { outer, arms, aims, points }
}

/// The rotations of a curve, evaluated as the decoder does.
struct Path<'a> {
    rest: Quat64,
    shape: &'a Shape,
    keys: &'a [[f64; 3]],
    /// The interval of the last moment, for linear curves: its number, its first key, the next key on the
    /// same hemisphere, and the logarithm of the rotation between them.
    span: Option<(usize, Quat64, Quat64, Vector)>,
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
        let (from, to, way) = match self.span {
            Some((last, from, to, way)) if last == interval => (from, to, way),
            _ => {
                let key = |at: usize| exp(self.keys[at]);
                let (from, mut to) = (key(interval), key(interval + 1));
                if from.iter().zip(to).map(|(a, b)| a * b).sum::<f64>() < 0.0 {
                    to = to.map(|v| -v);
                }
                let way =
                    if self.nlerp { [0.0; 3] } else { log_near(product(conjugate(from), to), [0.0; 3]) };
                let (from, to) = (product(self.rest, from), product(self.rest, to));
                self.span = Some((interval, from, to, way));
                (from, to, way)
            }
        };
        if self.nlerp {
            let mut q = core::array::from_fn(|c| from[c] + (to[c] - from[c]) * t);
            normalize(&mut q);
            return q;
        }
        product(from, exp(way.map(|v| v * t)))
    }
}
