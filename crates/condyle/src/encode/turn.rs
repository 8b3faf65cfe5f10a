//! The rotation of a joint that brings what hangs on it to its place.

use alloc::vec::Vec;

use super::algebra::{Matrix, Vector, apply, log_near, solve, subtract, turned};
use super::curve::{cheapest, constant};
use super::fit::Shape;
use super::points::{self, Point};
use super::search::{CONSTANT_STEP, STATIC_THRESHOLD, SegmentFit, SegmentJob, USABLE_FRACTION, keep};
use crate::Transform64;
use crate::clip::layout::Kind;
use crate::clip::spline::Degree;
use crate::decompose::{cross, dot};
use crate::math::normalize;
use crate::math::quats::{Quat64, conjugate, exp, product, rows};

/// How far a place that a rotation cannot reach may turn it.
const RIDGE: f64 = 1e-3;

/// What a rotation is measured by at all moments.
struct Aims<'a> {
    /// Per moment: the linear part of the parent's matrix.
    outer: Vec<[Vector; 3]>,
    /// Per moment and point: where it is before it is turned, and where it belongs, both seen from the joint on the decoded parent.
    arms: Vec<Vector>,
    aims: Vec<Vector>,
    points: &'a [Point],
}

impl Aims<'_> {
    /// Whether all points are within their limits at a moment.
    fn holds(&self, moment: usize, q: Quat64) -> bool {
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

    /// The rotation near `q` that brings the points nearest to their places.
    fn best(&self, moment: usize, q: Quat64) -> Quat64 {
        let turn = rows(q);
        let outer = &self.outer[moment];
        let from = moment * self.points.len();
        let (mut normal, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
        for (i, point) in self.points.iter().enumerate() {
            let weight = 1.0 / (point.limit * point.limit);
            let arm = apply(&turn, self.arms[from + i]);
            let off = apply(outer, subtract(self.aims[from + i], arm));
            // What a small turn about each axis moves the point by.
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

/// The rotation of a joint: at rest, constant, or a curve.
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
    // One value will do where what hangs above keeps the joint in its place, or where it is in its place anyway.
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
    // Where it fails once it fails soon again: that moment is looked at first.
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

fn aim<'a>(
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

/// The rotations of a curve, as the decoder makes them.
struct Path<'a> {
    rest: Quat64,
    shape: &'a Shape,
    keys: &'a [[f64; 3]],
    /// From key to key: the interval that the last moment was in, its first key, the next one on its side, and the logarithm of the
    /// turn to it.
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
