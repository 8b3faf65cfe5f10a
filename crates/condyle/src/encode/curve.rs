//! The cheapest curve that passes: a track of one segment, its keys rounded to the largest steps that serve.

use alloc::vec;
use alloc::vec::Vec;

use super::algebra::Vector;
use super::fit::Shape;
use crate::clip::layout::{Kind, step};
use crate::clip::spline::Degree;

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

    pub(super) fn bits(&self) -> usize {
        self.range().1.iter().sum::<u32>() as usize * self.keys.len()
    }
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
const MAX_STEPS: i32 = (1 << 23) - 2;

/// Rounds keys to steps. `None` if a component takes too many bits.
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

pub(super) fn scaled(keys: &[[i32; 3]], code: u8, out: &mut Vec<[f64; 3]>) {
    let size = f64::from(step(code));
    out.clear();
    out.extend(keys.iter().map(|key| key.map(|k| f64::from(k) * size)));
}

/// What a kind of curve that no other track has costs, in bits: its line, a broken byte in each row, and some time whenever it is decoded.
const CLASS_COST: usize = 100;

/// No kind of curve with more keys allows steps that are larger by more codes than that.
const MAX_STEP_GAIN: u8 = 12;

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

/// The cheapest curve through `targets` of which `passes` says yes, with components of `most_bits` at most; it is given the shape and the
/// decoded keys.
pub(super) fn cheapest(
    (kind, index): (Kind, usize),
    (shapes, others): (&[Shape], &[Curve]),
    max_bits: u32,
    targets: &[[f64; 3]],
    guess: f64,
    mut passes: impl FnMut(&Shape, &[[f64; 3]]) -> bool,
) -> Option<Curve> {
    // What one shape came to is near what the next one will.
    let mut guess = code_of(guess);
    // Buffers that are used again.
    let (mut keys, mut rounded, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut best: Option<(usize, Curve)> = None;
    let mut worse_in_a_row = 0;
    for shape in shapes {
        let (keys, rounded, values) = (&mut keys, &mut rounded, &mut values);
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
        let is_same = |c: &Curve| (c.kind, c.degree, c.intervals) == (kind, shape.degree, shape.intervals);
        let cost =
            curve.bits() + if others.iter().any(is_same) { 0 } else { CLASS_COST + 4 * shape.key_count() };
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, curve));
            worse_in_a_row = 0;
        } else {
            // More keys of fewer bits: where it has begun to cost more it goes on so.
            worse_in_a_row += 1;
            if worse_in_a_row == 3 {
                break;
            }
        }
    }
    best.map(|(_, curve)| curve)
}

/// A value for the whole segment: its curve, if it is not zero, and what will be decoded. `None` if no step is large enough.
pub(super) fn constant(
    (kind, index): (Kind, usize),
    value: Vector,
    fine: f64,
) -> Option<(Option<Curve>, Vector)> {
    let mut rounded = Vec::new();
    // What is far from rest has larger steps.
    let code = (code_of(fine).max(0)..=255).find_map(|code| {
        let code = u8::try_from(code).ok()?;
        round(&[value], code, &mut rounded).map(|()| code)
    })?;
    let key = *rounded.first()?;
    let curve = Curve { kind, index, degree: Degree::Constant, intervals: 0, code, keys: vec![key] };
    Some(((key != [0; 3]).then_some(curve), key.map(|k| f64::from(k) * f64::from(step(code)))))
}
