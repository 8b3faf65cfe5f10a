//! The cheapest curves of one segment that keep every joint under its budget.
//!
//! Joints are taken parents first, and each is fitted to where it belongs *on the parent as it will be decoded*: a rotation is
//! chosen so that what hangs on the joint comes to its true place. So errors do not add up down a limb; each
//! joint makes up for those above it, and has nearly all of the budget for its own.

use alloc::vec;
use alloc::vec::Vec;

use super::algebra::{
    Local, Matrix, Quat, Vector, add, apply, conjugate, cross, dot, exponential, length, logarithm, product,
    rotation, solve, subtract,
};
use super::fit::Shape;
use crate::clip::layout::{Kind, MAX_BITS, step};
use crate::clip::spline::Degree;
use crate::math::normalize;

/// A track of one segment, ready to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    pub(super) kind: Kind,
    /// The joint, or the track of values.
    pub(super) index: usize,
    pub(super) degree: Degree,
    pub(super) intervals: usize,
    pub(super) code: u8,
    /// In steps; one for a constant.
    pub(super) keys: Vec<[i32; 3]>,
}

impl Curve {
    /// The least of each component, and the bits that the others take above it.
    pub(super) fn range(&self) -> ([i32; 3], [u32; 3]) {
        let (mut least, mut bits) = ([0; 3], [0; 3]);
        for c in 0..3 {
            let numbers = self.keys.iter().map(|key| key[c]);
            least[c] = numbers.clone().min().unwrap_or(0);
            let most = numbers.max().unwrap_or(0);
            bits[c] = u32::BITS - most.abs_diff(least[c]).leading_zeros();
        }
        (least, bits)
    }

    fn bits(&self) -> usize {
        self.range().1.iter().sum::<u32>() as usize * self.keys.len()
    }
}

/// What parts of the budget the place of a joint may be off by, as its own rotation can make up for it in what follows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    /// By what turns above it.
    pub(super) place: f64,
    /// By its own translation.
    pub(super) translation: f64,
    /// What its points would be off by if it turned with what is above it and made up for nothing. Without it, all of that is left to it:
    /// but between frames its own curve cannot follow everything that another kind of curve does.
    pub(super) swing: Option<f64>,
}

/// What is known of a joint before a segment is looked at.
#[derive(Debug, Clone)]
pub(super) struct JointFacts {
    pub(super) parent: Option<usize>,
    pub(super) rest: Local,
    /// Points in the joint's own space that must stay within the budget.
    pub(super) shell: Vec<Vector>,
    pub(super) budget: f64,
    /// Which of rotation, translation and scale are kept as authored.
    pub(super) exact: [bool; 3],
}

/// A segment to be encoded.
pub(super) struct Task<'a> {
    pub(super) joints: &'a [JointFacts],
    /// Per joint and moment.
    pub(super) source: &'a [Vec<Local>],
    /// The kinds of curves, those with few keys first.
    pub(super) shapes: &'a [Shape],
    /// One for each joint.
    pub(super) shares: &'a [Share],
    /// Whether rotations go from key to key by nlerp, not by slerp.
    pub(super) straight: bool,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) curves: Vec<Curve>,
    /// What no curve serves for: a joint, and 0 for its rotation, 1 for its translation, 2 for its scale.
    pub(super) missing: Vec<(usize, usize)>,
    /// As asked.
    pub(super) straight: bool,
    /// The greatest error of each joint, as a part of its budget, and which moment has it.
    pub(super) errors: Vec<(f64, usize)>,
}

impl Found {
    pub(super) fn bits(&self) -> usize {
        // Indices, steps, widths and offsets take about ten bytes.
        self.curves.iter().map(|curve| curve.bits() + 80).sum()
    }

    /// The joints that are beyond their budgets or have no curve, without those below them.
    pub(super) fn failed(&self, joints: &[JointFacts]) -> Vec<usize> {
        let mut fails: Vec<bool> = self.errors.iter().map(|&(error, _)| error > 1.0).collect();
        for &(joint, _) in &self.missing {
            fails[joint] = true;
        }
        let mut below = vec![false; joints.len()];
        let mut topmost = Vec::new();
        for (joint, facts) in joints.iter().enumerate() {
            below[joint] = facts.parent.is_some_and(|parent| below[parent]);
            if fails[joint] && !below[joint] {
                below[joint] = true;
                topmost.push(joint);
            }
        }
        topmost
    }
}

/// A joint hardly moves if none of its points moves by more than that part of the budget.
const STILL: f64 = 0.2;
/// What the places of joints at rest are rounded to, as a part of the budget.
const FINE: f64 = 0.05;
/// Rounding of f32 on the way through the decoder, as a part of the budget that is kept back.
const KEPT: f64 = 1.0 - 1e-4;
/// At most that many points of each joint that hangs on another one and does not move against it.
const MOST_POINTS: usize = 14;
/// What part of their limits these have, as others that lie between them are not looked at.
const OUTERMOST: f64 = 0.97;
/// How far a place that a rotation cannot reach may turn it.
const RIDGE: f64 = 1e-3;

/// A point that a rotation has to bring to its place.
#[derive(Debug, Clone, Copy)]
struct Point {
    local: Vector,
    limit: f64,
}

/// Encodes a segment.
pub(super) fn search(task: &Task<'_>) -> Found {
    let joints = task.joints;
    let moments = task.source.first().map_or(0, Vec::len);
    let model = place_all(joints, task.source);
    let (points, hung) = hang(task, &model);
    let mut decoded: Vec<Vec<Matrix>> = Vec::with_capacity(joints.len());
    let mut found = Found { straight: task.straight, ..Found::default() };
    for (index, joint) in joints.iter().enumerate() {
        let source = &task.source[index];
        let parents = joint.parent.map(|p| decoded[p].as_slice());
        let mut own = source.clone();
        translate(task, index, parents, &model[index], &mut own, &mut found);
        stretch(task, index, &points[index], &mut own, &mut found);
        turn(task, (index, hung[index]), parents, (&model[index], &points[index]), &mut own, &mut found);
        let at = |moment: usize| {
            let local = Matrix::new(&own[moment]);
            parents.map_or(local, |parents| parents[moment].multiply(&local))
        };
        let placed: Vec<Matrix> = (0..moments).map(at).collect();
        found.errors.push(error(joint, &placed, &model[index]));
        decoded.push(placed);
    }
    found
}

/// Whether nlerp between frames is as good as slerp, but for a part of the budget, for a character of this size.
pub(super) fn is_straight(joints: &[JointFacts], source: &[Vec<Local>], moments: usize, size: f64) -> bool {
    joints.iter().zip(source).all(|(joint, locals)| {
        let mut frames = locals.iter().step_by(moments);
        let Some(mut last) = frames.next() else { return true };
        frames.all(|next| {
            // Both angles are those of quaternions; a turn is twice as much.
            let angle = turned(last.rotation, next.rotation) / 2.0;
            last = next;
            0.04 * angle * angle * angle * size < 0.3 * joint.budget
        })
    })
}

/// The model matrices of all joints, per joint and moment.
pub(super) fn place_all(joints: &[JointFacts], source: &[Vec<Local>]) -> Vec<Vec<Matrix>> {
    let mut model: Vec<Vec<Matrix>> = Vec::with_capacity(joints.len());
    for (joint, locals) in joints.iter().zip(source) {
        let local = locals.iter().map(Matrix::new);
        let placed = match joint.parent {
            Some(parent) => model[parent].iter().zip(local).map(|(m, local)| m.multiply(&local)).collect(),
            None => local.collect(),
        };
        model.push(placed);
    }
    model
}

/// The greatest error of a joint's own points as a part of its budget, and when.
fn error(joint: &JointFacts, decoded: &[Matrix], model: &[Matrix]) -> (f64, usize) {
    let mut worst = (0.0, 0);
    for (moment, (got, want)) in decoded.iter().zip(model).enumerate() {
        for &point in &joint.shell {
            let off = length(subtract(got.point(point), want.point(point))) / joint.budget;
            if off > worst.0 {
                worst = (off, moment);
            }
        }
    }
    worst
}

/// What each joint has to bring to its place: its own points, those of joints that hang on it and do not move, and where joints begin
/// that do. Also which joints do not move, so that those above them keep them in their places.
fn hang(task: &Task<'_>, model: &[Vec<Matrix>]) -> (Vec<Vec<Point>>, Vec<bool>) {
    let joints = task.joints;
    let mut still_joints = vec![false; joints.len()];
    let mut points: Vec<Vec<Point>> = vec![Vec::new(); joints.len()];
    for (index, joint) in joints.iter().enumerate().rev() {
        points[index].extend(joint.shell.iter().map(|&local| Point { local, limit: joint.budget }));
        let source = &task.source[index];
        let middle = source[source.len() / 2];
        let Some(parent) = joint.parent else { continue };
        let outer = model[parent][source.len() / 2].reach();
        let reach = reach(&points[index], &model[index][source.len() / 2]);
        let shift = |local: &Local| length(subtract(local.translation, middle.translation)) * outer;
        let moves = |local: &Local| {
            let stretched = length(subtract(local.scale, middle.scale)) * reach;
            turned(middle.rotation, local.rotation) * reach + shift(local) + stretched
        };
        let still = joint.budget * STILL;
        let is_kept = joint.exact.iter().any(|&exact| exact);
        if !is_kept && source.iter().all(|local| moves(local) < still) {
            still_joints[index] = true;
            let matrix = Matrix::new(&middle);
            let mut hung: Vec<Point> = points[index]
                .iter()
                .map(|point| Point { local: matrix.point(point.local), limit: point.limit * OUTERMOST })
                .collect();
            outermost(&mut hung);
            points[parent].extend(hung);
            continue;
        }
        let share = &task.shares[index];
        if source.iter().all(|local| shift(local) < still) {
            points[parent].push(Point { local: middle.translation, limit: joint.budget * share.place });
        }
        if let Some(swing) = share.swing {
            for axis in 0..3 {
                let mut local = middle.translation;
                local[axis] += reach / outer.max(f64::MIN_POSITIVE);
                points[parent].push(Point { local, limit: joint.budget * swing });
            }
        }
    }
    (points, still_joints)
}

/// Keeps the outermost points of many.
fn outermost(points: &mut Vec<Point>) {
    if points.len() <= MOST_POINTS {
        return;
    }
    let mut kept: Vec<usize> = Vec::with_capacity(MOST_POINTS);
    for direction in 0..MOST_POINTS {
        // Along the axes and the diagonals, both ways.
        let d: Vector = match direction {
            0..6 => core::array::from_fn(|c| match (c == direction / 2, direction % 2) {
                (true, 0) => 1.0,
                (true, _) => -1.0,
                _ => 0.0,
            }),
            _ => core::array::from_fn(|c| if (direction - 6) >> c & 1 == 0 { 1.0 } else { -1.0 }),
        };
        // Those that may be off by less count as farther out.
        let far = |at: usize| dot(points[at].local, d) / points[at].limit;
        let best = (0..points.len()).fold(0, |best, at| if far(at) > far(best) { at } else { best });
        if !kept.contains(&best) {
            kept.push(best);
        }
    }
    kept.sort_unstable();
    *points = kept.into_iter().map(|at| points[at]).collect();
}

/// How far the outermost point is from the joint, in the model's units.
fn reach(points: &[Point], model: &Matrix) -> f64 {
    points.iter().map(|point| length(apply(&model.linear, point.local))).fold(0.0, f64::max)
}

/// The angle between two rotations, roughly, and at least as large where it is small.
fn turned(a: Quat, b: Quat) -> f64 {
    let [x, y, z, _] = product(conjugate(a), b);
    2.0 * length([x, y, z])
}

/// The largest code that passes, by way of codes near `guess`. Larger steps make larger errors, nearly always.
fn largest(guess: i32, mut passes: impl FnMut(u8) -> bool) -> Option<u8> {
    let mut stride = 2;
    let mut test = |code: i32| u8::try_from(code).is_ok_and(&mut passes);
    let mut low = guess.clamp(0, 255);
    let mut high;
    if test(low) {
        high = low + stride;
        while high <= 255 && test(high) {
            stride *= 2;
            (low, high) = (high, high + stride);
        }
    } else {
        high = low;
        loop {
            if high == 0 {
                return None;
            }
            low = (high - stride).max(0);
            if test(low) {
                break;
            }
            stride *= 2;
            high = low;
        }
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if test(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    u8::try_from(low).ok()
}

/// The code of the largest step that is at most `size`, -1 or less below the smallest of all.
fn code_of(size: f64) -> i32 {
    (0..=255_u8).rev().find(|&code| f64::from(step(code)) <= size).map_or(-1, i32::from)
}

/// Offsets have three bytes at most.
const MOST_STEPS: i32 = (1 << 23) - 2;

/// Rounds keys to steps. `None` if a component takes too many bits.
fn round(keys: &[[f64; 3]], code: u8, rounded: &mut Vec<[i32; 3]>) -> Option<()> {
    let inverse = 1.0 / f64::from(step(code));
    rounded.clear();
    for key in keys {
        let mut steps = [0; 3];
        for (step, value) in steps.iter_mut().zip(key) {
            let scaled = value * inverse;
            if scaled.abs() > f64::from(MOST_STEPS) {
                return None;
            }
            *step = (if scaled < 0.0 { scaled - 0.5 } else { scaled + 0.5 }) as i32;
        }
        rounded.push(steps);
    }
    Some(())
}

fn scaled(keys: &[[i32; 3]], code: u8, out: &mut Vec<[f64; 3]>) {
    let size = f64::from(step(code));
    out.clear();
    out.extend(keys.iter().map(|key| key.map(|k| f64::from(k) * size)));
}

/// Buffers that are used again.
#[derive(Default)]
struct Buffers {
    keys: Vec<[f64; 3]>,
    rounded: Vec<[i32; 3]>,
    values: Vec<[f64; 3]>,
}

/// What a kind of curve that no other track has costs, in bits: its line, a broken byte in each row, and some time whenever it is decoded.
const CLASS: usize = 100;

/// No kind of curve with more keys allows steps that are larger by more codes than that.
const LARGER: u8 = 12;

/// About how many bits keys take in steps of a code, at least.
fn least_bits(keys: &[[f64; 3]], code: u8) -> usize {
    let size = f64::from(step(code));
    let mut bits = 0;
    for c in 0..3 {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for key in keys {
            (least, most) = (least.min(key[c]), most.max(key[c]));
        }
        let range = ((most - least) / size) as u32;
        bits += (u32::BITS - range.leading_zeros()) as usize;
    }
    bits * keys.len()
}

/// The cheapest curve through `targets` of which `passes` says yes; it is given the shape and the decoded keys.
fn cheapest(
    (kind, index): (Kind, usize),
    (shapes, others): (&[Shape], &[Curve]),
    targets: &[[f64; 3]],
    guess: f64,
    mut passes: impl FnMut(&Shape, &[[f64; 3]]) -> bool,
) -> Option<Curve> {
    // What one shape came to is near what the next one will.
    let mut guess = code_of(guess);
    let mut buffers = Buffers::default();
    let mut best: Option<(usize, Curve)> = None;
    let mut dearer = 0;
    for shape in shapes {
        let Buffers { keys, rounded, values } = &mut buffers;
        if kind == Kind::Rotation && shape.degree == Degree::Linear {
            // Slerp goes through its keys: they are what is there at their moments.
            let stride = (targets.len() - 1) / shape.intervals;
            keys.clear();
            keys.extend(targets.iter().step_by(stride.max(1)).take(shape.key_count()));
        } else {
            shape.solve(targets, keys);
        }
        match &best {
            None if !passes(shape, keys) => continue,
            // Not worth a look if it would cost more even with steps that are far larger.
            Some((least, curve)) if least_bits(keys, curve.code.saturating_add(LARGER)) > *least => {
                dearer += 1;
                if dearer == 3 {
                    break;
                }
                continue;
            }
            _ => {}
        }
        let code = largest(guess, |code| {
            round(keys, code, rounded).is_some() && {
                scaled(rounded, code, values);
                passes(shape, values)
            }
        });
        let Some(code) = code else { continue };
        guess = code.into();
        if round(keys, code, rounded).is_none() {
            continue;
        }
        let curve = Curve {
            kind,
            index,
            degree: shape.degree,
            intervals: shape.intervals,
            code,
            keys: rounded.clone(),
        };
        if curve.range().1.iter().any(|&bits| bits > MAX_BITS) {
            continue;
        }
        let is_same = |c: &Curve| (c.kind, c.degree, c.intervals) == (kind, shape.degree, shape.intervals);
        let cost = curve.bits() + if others.iter().any(is_same) { 0 } else { CLASS + 4 * shape.key_count() };
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, curve));
            dearer = 0;
        } else {
            // More keys of fewer bits: where it has begun to cost more it goes on so.
            dearer += 1;
            if dearer == 3 {
                break;
            }
        }
    }
    best.map(|(_, curve)| curve)
}

/// A value for the whole segment.
fn constant((kind, index): (Kind, usize), value: Vector, fine: f64) -> Option<Curve> {
    let mut rounded = Vec::new();
    // What is far from rest has larger steps.
    let code = (code_of(fine).max(0)..=255).find_map(|code| {
        let code = u8::try_from(code).ok()?;
        round(&[value], code, &mut rounded).map(|()| code)
    })?;
    let key = *rounded.first()?;
    (key != [0; 3]).then_some(Curve {
        kind,
        index,
        degree: Degree::Constant,
        intervals: 0,
        code,
        keys: vec![key],
    })
}

fn decoded_constant(curve: Option<&Curve>) -> Vector {
    curve.map_or([0.0; 3], |curve| curve.keys[0].map(|k| f64::from(k) * f64::from(step(curve.code))))
}

/// The translation of a joint: at rest, constant, or a curve that brings it to its place.
fn translate(
    task: &Task<'_>,
    index: usize,
    parents: Option<&[Matrix]>,
    model: &[Matrix],
    own: &mut [Local],
    found: &mut Found,
) {
    let joint = &task.joints[index];
    if joint.exact[1] {
        return;
    }
    let name = (Kind::Translation, index);
    let rest = joint.rest.translation;
    let middle = own[own.len() / 2].translation;
    let outer = parents.map_or(1.0, |parents| parents[own.len() / 2].reach());
    let still = joint.budget * STILL;
    let near = |to: Vector| own.iter().all(|local| length(subtract(local.translation, to)) * outer < still);
    if near(rest) {
        own.iter_mut().for_each(|local| local.translation = rest);
        return;
    }
    if near(middle) {
        let fine = joint.budget * FINE / outer.max(f64::MIN_POSITIVE);
        let curve = constant(name, subtract(middle, rest), fine);
        let value = add(rest, decoded_constant(curve.as_ref()));
        own.iter_mut().for_each(|local| local.translation = value);
        found.curves.extend(curve);
        return;
    }
    let targets: Vec<Vector> = (0..own.len())
        .map(|moment| {
            let place = model[moment].origin;
            let place = parents.map_or(place, |parents| {
                let back = parents[moment].back(place);
                // A parent that is flat has no way back.
                if parents[moment].linear == [[0.0; 3]; 3] { own[moment].translation } else { back }
            });
            subtract(place, rest)
        })
        .collect();
    let limit = joint.budget * task.shares[index].translation * KEPT;
    let guess = limit / outer.max(f64::MIN_POSITIVE);
    let curve = cheapest(name, (task.shapes, &found.curves), &targets, guess, |shape, keys| {
        (0..targets.len()).all(|moment| {
            let off = subtract(shape.value(keys, moment), targets[moment]);
            let off = parents.map_or(off, |parents| apply(&parents[moment].linear, off));
            dot(off, off) <= limit * limit
        })
    });
    decode(task, (name, curve), found, |shape, keys, moment| {
        own[moment].translation = add(rest, shape.value(keys, moment));
    });
}

/// The scale of a joint.
fn stretch(task: &Task<'_>, index: usize, points: &[Point], own: &mut [Local], found: &mut Found) {
    let joint = &task.joints[index];
    if joint.exact[2] {
        return;
    }
    let name = (Kind::Scale, index);
    let rest = joint.rest.scale;
    let middle = own[own.len() / 2].scale;
    // What a change of scale by one moves the outermost point by, at most, if nothing above it is scaled much.
    let far = points.iter().map(|point| length(point.local) / point.limit).fold(0.0, f64::max);
    let off = |a: Vector, b: Vector| length(subtract(a, b)) * far;
    if own.iter().all(|local| off(local.scale, rest) < STILL / 4.0) {
        own.iter_mut().for_each(|local| local.scale = rest);
        return;
    }
    let fine = FINE / far.max(f64::MIN_POSITIVE);
    if own.iter().all(|local| off(local.scale, middle) < STILL / 4.0) {
        let curve = constant(name, subtract(middle, rest), fine);
        let value = add(rest, decoded_constant(curve.as_ref()));
        own.iter_mut().for_each(|local| local.scale = value);
        found.curves.extend(curve);
        return;
    }
    let targets: Vec<Vector> = own.iter().map(|local| subtract(local.scale, rest)).collect();
    let limit = task.shares[index].translation * 0.5;
    let curve = cheapest(
        name,
        (task.shapes, &found.curves),
        &targets,
        limit / far.max(f64::MIN_POSITIVE),
        |shape, keys| {
            (0..targets.len()).all(|moment| off(shape.value(keys, moment), targets[moment]) <= limit)
        },
    );
    decode(task, (name, curve), found, |shape, keys, moment| {
        own[moment].scale = add(rest, shape.value(keys, moment));
    });
}

/// Puts what the decoder will find in place of what was authored. Without a curve that stays, and is found missing.
fn decode(
    task: &Task<'_>,
    ((kind, index), curve): ((Kind, usize), Option<Curve>),
    found: &mut Found,
    mut put: impl FnMut(&Shape, &[[f64; 3]], usize),
) {
    let Some(curve) = curve else {
        found.missing.push((index, kind as usize));
        return;
    };
    let is_its = |shape: &&Shape| shape.degree == curve.degree && shape.intervals == curve.intervals;
    let moments = task.source.first().map_or(0, Vec::len);
    if let Some(shape) = task.shapes.iter().find(is_its) {
        let mut values = Vec::new();
        scaled(&curve.keys, curve.code, &mut values);
        (0..moments).for_each(|moment| put(shape, &values, moment));
    }
    found.curves.push(curve);
}

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
    fn holds(&self, moment: usize, q: Quat) -> bool {
        let rows = rotation(q);
        let count = self.points.len();
        let outer = &self.outer[moment];
        let from = moment * count;
        self.points.iter().zip(&self.arms[from..]).zip(&self.aims[from..]).all(|((point, &arm), &aim)| {
            let off = apply(outer, subtract(apply(&rows, arm), aim));
            let limit = point.limit * KEPT;
            dot(off, off) <= limit * limit
        })
    }

    /// The rotation near `q` that brings the points nearest to their places.
    fn best(&self, moment: usize, q: Quat) -> Quat {
        let rows = rotation(q);
        let outer = &self.outer[moment];
        let from = moment * self.points.len();
        let (mut normal, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
        for (i, point) in self.points.iter().enumerate() {
            let weight = 1.0 / (point.limit * point.limit);
            let arm = apply(&rows, self.arms[from + i]);
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
        product(exponential(solve(&normal, right).map(|v| v * 0.5)), q)
    }
}

/// The rotation of a joint: at rest, constant, or a curve.
fn turn(
    task: &Task<'_>,
    (index, hangs): (usize, bool),
    parents: Option<&[Matrix]>,
    (model, points): (&[Matrix], &[Point]),
    own: &mut [Local],
    found: &mut Found,
) {
    let joint = &task.joints[index];
    if joint.exact[0] {
        return;
    }
    let name = (Kind::Rotation, index);
    let rest = joint.rest.rotation;
    let middle = own[own.len() / 2].rotation;
    let reach = own.iter().zip(model).fold(0.0_f64, |most, (_, model)| most.max(self::reach(points, model)));
    let limit = points.iter().map(|point| point.limit).fold(f64::INFINITY, f64::min).min(joint.budget);
    let aims = aim(parents, model, points, own);
    // One value will do where what hangs above keeps the joint in its place, or where it is in its place anyway.
    let near = |to: Quat| own.iter().all(|local| turned(to, local.rotation) * reach < limit * STILL);
    let serves = |value: Quat| hangs || (0..own.len()).all(|moment| aims.holds(moment, value));
    if near(rest) && serves(rest) {
        own.iter_mut().for_each(|local| local.rotation = rest);
        return;
    }
    if near(middle) {
        let log = logarithm(product(conjugate(rest), middle), [0.0; 3]);
        let curve = constant(name, log, limit * FINE / reach.max(f64::MIN_POSITIVE));
        let value = product(rest, exponential(decoded_constant(curve.as_ref())));
        if serves(value) {
            own.iter_mut().for_each(|local| local.rotation = value);
            found.curves.extend(curve);
            return;
        }
    }
    let mut near = logarithm(product(conjugate(rest), own[0].rotation), [0.0; 3]);
    let targets: Vec<Vector> = own
        .iter()
        .enumerate()
        .map(|(moment, local)| {
            near = logarithm(product(conjugate(rest), aims.best(moment, local.rotation)), near);
            near
        })
        .collect();
    // Where it fails once it fails soon again: that moment is looked at first.
    let mut suspect = 0;
    let curve = cheapest(
        name,
        (task.shapes, &found.curves),
        &targets,
        limit / reach.max(f64::MIN_POSITIVE),
        |shape, keys| {
            let mut path = Path::new(rest, shape, keys, task.straight);
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
    decode(task, (name, curve), found, |shape, keys, moment| {
        own[moment].rotation = Path::new(rest, shape, keys, task.straight).at(moment);
    });
}

fn aim<'a>(parents: Option<&[Matrix]>, model: &[Matrix], points: &'a [Point], own: &[Local]) -> Aims<'a> {
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
    rest: Quat,
    shape: &'a Shape,
    keys: &'a [[f64; 3]],
    /// From key to key: the interval that the last moment was in, its first key, the next one on its side, and the logarithm of the
    /// turn to it.
    span: Option<(usize, Quat, Quat, Vector)>,
    straight: bool,
}

impl<'a> Path<'a> {
    fn new(rest: Quat, shape: &'a Shape, keys: &'a [[f64; 3]], straight: bool) -> Self {
        Self { rest, shape, keys, span: None, straight }
    }

    fn at(&mut self, moment: usize) -> Quat {
        if self.shape.degree == Degree::Cubic {
            return product(self.rest, exponential(self.shape.value(self.keys, moment)));
        }
        let (interval, t) = self.shape.interval(moment);
        let (from, to, way) = match self.span {
            Some((last, from, to, way)) if last == interval => (from, to, way),
            _ => {
                let key = |at: usize| exponential(self.keys[at]);
                let (from, mut to) = (key(interval), key(interval + 1));
                if from.iter().zip(to).map(|(a, b)| a * b).sum::<f64>() < 0.0 {
                    to = to.map(|v| -v);
                }
                let way =
                    if self.straight { [0.0; 3] } else { logarithm(product(conjugate(from), to), [0.0; 3]) };
                let (from, to) = (product(self.rest, from), product(self.rest, to));
                self.span = Some((interval, from, to, way));
                (from, to, way)
            }
        };
        if self.straight {
            let mut q = core::array::from_fn(|c| from[c] + (to[c] - from[c]) * t);
            normalize(&mut q);
            return q;
        }
        product(from, exponential(way.map(|v| v * t)))
    }
}

/// The cheapest curves for the values of a set, three at a time, each within `limit`.
pub(super) fn values(
    index: usize,
    targets: &[[f64; 3]],
    (shapes, others): (&[Shape], &[Curve]),
    limit: f64,
) -> Option<Option<Curve>> {
    let name = (Kind::Values, index);
    let middle = targets[targets.len() / 2];
    let off = |a: Vector, b: Vector| {
        let off = subtract(a, b);
        off[0].abs().max(off[1].abs()).max(off[2].abs())
    };
    if targets.iter().all(|&value| off(value, middle) < limit * STILL) {
        return Some(constant(name, middle, limit * FINE));
    }
    cheapest(name, (shapes, others), targets, limit, |shape, keys| {
        (0..targets.len()).all(|moment| off(shape.value(keys, moment), targets[moment]) <= limit * KEPT)
    })
    .map(Some)
}
