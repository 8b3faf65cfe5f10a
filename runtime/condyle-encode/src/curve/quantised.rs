//! Finds the smallest curve within the budget for one track of one segment, with keys quantised by the
//! largest step that passes.

use alloc::vec;
use alloc::vec::Vec;

use crate::curve::least_squares::Shape;
use crate::measure::algebra::Vector;
use condyle::clip::layout::{Kind, step};
use condyle::clip::spline::Degree;
use condyle::clip::write::Curve;

/// Track of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrackId {
    pub(crate) kind: Kind,
    /// Joint, or index among the free tracks.
    pub(crate) index: usize,
}

/// Largest step code that passes, by a search outwards from `guess`. The search assumes that the error grows
/// with the step, which is almost always true; the returned code has passed in any case.
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

/// Code of the largest step that is at most `size`; -1 if every step is larger.
pub(crate) fn code_of(size: f64) -> i32 {
    (0..=255_u8).rev().find(|&code| f64::from(step(code)) <= size).map_or(-1, i32::from)
}

/// Offsets are stored in at most three bytes.
const MAX_STEPS: i32 = (1 << 23) - 2;

/// Quantises keys. `None` if a component takes too many bits.
fn round(keys: &[[f64; 3]], code: u8, rounded: &mut Vec<[i32; 3]>) -> Option<()> {
    let inverse = 1.0 / f64::from(step(code));
    rounded.clear();
    for key in keys {
        let mut steps = [0; 3];
        for (step, value) in steps.iter_mut().zip(key) {
            let scaled = value * inverse;
            if scaled.abs() > f64::from(MAX_STEPS) {
                return None;
            }
            *step = (if scaled < 0.0 { scaled - 0.5 } else { scaled + 0.5 }) as i32;
        }
        rounded.push(steps);
    }
    Some(())
}

pub(crate) fn scaled(keys: &[[i32; 3]], code: u8, out: &mut Vec<[f64; 3]>) {
    let size = f64::from(step(code));
    out.clear();
    out.extend(keys.iter().map(|key| key.map(|k| f64::from(k) * size)));
}

/// Bits charged to the first track of a class, for the record of the class and some decoding time. Half:
/// targets -0.3 %, twice +0.1 %, defaults equal; none: defaults +0.1 %.
const CLASS_COST: usize = 100;

/// Maximum increase of the step code that more keys are assumed to allow (eight codes double the step). A
/// curve that would cost more even with this is not fitted. Half: targets and defaults -0.1 %; twice: +0.2 %
/// and equal, without benefit.
const MAX_STEP_GAIN: u8 = 12;

/// Approximate lower bound on the bits of keys at a step code.
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

/// Keys for which the curve is nearest to `targets`.
pub(crate) fn best_keys(kind: Kind, shape: &Shape, targets: &[[f64; 3]], keys: &mut Vec<[f64; 3]>) {
    if kind == Kind::Rotation && shape.degree == Degree::Linear {
        // Slerp passes through its keys, so they are the targets themselves.
        let stride = (targets.len() - 1) / shape.intervals;
        keys.clear();
        keys.extend(targets.iter().step_by(stride.max(1)).take(shape.key_count()));
    } else {
        shape.solve(targets, keys);
    }
}

/// Curves to choose from for a track.
#[derive(Clone, Copy)]
pub(crate) struct Candidates<'a> {
    /// Shapes, few keys first.
    pub(crate) shapes: &'a [Shape],
    /// Classes of the segment's curves so far: another curve of the same class costs less.
    pub(crate) classes: &'a Classes,
}

/// Curves of one class share their keys' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Class {
    kind: Kind,
    degree: Degree,
    intervals: usize,
}

impl Class {
    fn of(curve: &Curve) -> Self {
        Self { kind: curve.kind, degree: curve.degree, intervals: curve.intervals }
    }
}

/// Number of curves of each class.
#[derive(Debug, Clone, Default)]
pub(crate) struct Classes(Vec<(Class, usize)>);

impl Classes {
    pub(crate) fn add(&mut self, curve: &Curve) {
        let class = Class::of(curve);
        match self.0.iter_mut().find(|(known, _)| *known == class) {
            Some((_, count)) => *count += 1,
            None => self.0.push((class, 1)),
        }
    }

    pub(crate) fn remove(&mut self, curve: &Curve) {
        let class = Class::of(curve);
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| *known == class) {
            *count -= 1;
        }
    }

    fn has(&self, class: Class) -> bool {
        self.0.iter().any(|(known, count)| *known == class && *count > 0)
    }
}

/// Smallest curve near `targets` that `passes` accepts, with components of at most `max_bits`. `passes`
/// receives the shape and the decoded keys.
///
/// The search stops at the third consecutive shape that costs more. After two: targets -0.2 %; after six:
/// -0.1 %; defaults equal.
pub(crate) fn cheapest(
    TrackId { kind, index }: TrackId,
    Candidates { shapes, classes }: Candidates<'_>,
    max_bits: u32,
    targets: &[[f64; 3]],
    guess: f64,
    mut passes: impl FnMut(&Shape, &[[f64; 3]]) -> bool,
) -> Option<Curve> {
    // The step of one shape is a good guess for the next one.
    let mut guess = code_of(guess);
    // Buffers reused for every shape.
    let (mut keys, mut rounded, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut best: Option<(usize, Curve)> = None;
    let mut worse_in_a_row = 0;
    for shape in shapes {
        let (keys, rounded, values) = (&mut keys, &mut rounded, &mut values);
        best_keys(kind, shape, targets, keys);
        match &best {
            None if !passes(shape, keys) => continue,
            // Skips a shape that would cost more even with far larger steps.
            Some((least, curve)) if least_bits(keys, curve.code.saturating_add(MAX_STEP_GAIN)) > *least => {
                worse_in_a_row += 1;
                if worse_in_a_row == 3 {
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
        if curve.range().1.iter().any(|&bits| bits > max_bits) {
            continue;
        }
        let is_known = classes.has(Class { kind, degree: shape.degree, intervals: shape.intervals });
        let cost = curve.bits() + if is_known { 0 } else { CLASS_COST + 4 * shape.key_count() };
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, curve));
            worse_in_a_row = 0;
        } else {
            // With more keys, each takes fewer bits, but once the total grows it usually keeps growing.
            worse_in_a_row += 1;
            if worse_in_a_row == 3 {
                break;
            }
        }
    }
    best.map(|(_, curve)| curve)
}

/// Encodes one value for the whole segment: returns its curve, unless the value is zero, and the decoded
/// value. `None` if no step is large enough.
pub(crate) fn constant(
    TrackId { kind, index }: TrackId,
    value: Vector,
    fine: f64,
) -> Option<(Option<Curve>, Vector)> {
    let mut rounded = Vec::new();
    // Values far from rest need larger steps to fit into three bytes.
    let code = (code_of(fine).max(0)..=255).find_map(|code| {
        let code = u8::try_from(code).ok()?;
        round(&[value], code, &mut rounded).map(|()| code)
    })?;
    let key = *rounded.first()?;
    let curve = Curve { kind, index, degree: Degree::Constant, intervals: 0, code, keys: vec![key] };
    Some(((key != [0; 3]).then_some(curve), key.map(|k| f64::from(k) * f64::from(step(code)))))
}
