//! Error bounds of docs/accuracy.md that the search attacks.

mod conversion;
mod hierarchy;
mod interpolation;
mod layering;
mod moving;
mod sampling;
mod scalars;
mod skinning;

use condyle::interpolation::Method;
use condyle::{Affine, Dispatch, Numeric};

use crate::climb::{Claim, Random, is_worse};

/// All claims, on every instruction set in both modes.
pub(crate) fn all() -> Vec<Claim> {
    let mut claims = scalars::claims();
    for dispatch in Dispatch::all() {
        claims.extend(conversion::claims(dispatch));
        claims.extend(hierarchy::claims(dispatch));
        claims.extend(interpolation::given(dispatch));
        claims.extend(layering::claims(dispatch));
        claims.extend(moving::claims(dispatch));
        claims.extend(sampling::claims(dispatch));
        claims.extend(skinning::claims(dispatch));
    }
    for method in Method::all() {
        // Bounds differ only by fusion, and take some time to compute.
        let mut bounds = [None, None];
        for dispatch in Dispatch::all() {
            let bounds = bounds[usize::from(fuses(dispatch))]
                .get_or_insert_with(|| interpolation::bounds(dispatch, method));
            claims.extend(interpolation::claims(dispatch, method, bounds));
        }
    }
    claims
}

/// Whether multiply-adds are fused.
pub(crate) fn fuses(dispatch: Dispatch) -> bool {
    dispatch.isa().fuses() && dispatch.numeric() == Numeric::Fast
}

/// Largest of some errors, or NaN if one is NaN. `f64::max` would ignore NaN.
pub(crate) fn worst(errors: impl IntoIterator<Item = f64>) -> f64 {
    errors.into_iter().fold(0.0, |a, b| if is_worse(b, a) { b } else { a })
}

/// Largest difference between components of two vectors.
fn apart<const N: usize>(got: [f32; N], want: [f64; N]) -> f64 {
    worst(got.iter().zip(want).map(|(got, want)| (f64::from(*got) - want).abs()))
}

/// Normalises four numbers to a unit quaternion, and rounds it.
fn unit(q: &mut [f32]) -> bool {
    let length = q.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    if !(length > 1e-12 && length < 1e12) {
        return false;
    }
    for v in q {
        *v = (f64::from(*v) / length) as f32;
    }
    true
}

/// Rotation: arbitrary, near an axis, or with components of all magnitudes.
fn start_rotation(random: &mut Random, q: &mut [f32]) {
    let kind = random.below(3);
    for v in &mut *q {
        *v = match kind {
            0 => random.signed(),
            1 => random.magnitude(-8.0),
            _ => random.magnitude(-45.0),
        } as f32;
    }
    if random.below(2) == 0 {
        q[random.below(4)] = 1.0;
    }
}

fn quat(numbers: &[f32]) -> [f32; 4] {
    [numbers[0], numbers[1], numbers[2], numbers[3]]
}

fn vector(numbers: &[f32]) -> [f32; 3] {
    [numbers[0], numbers[1], numbers[2]]
}

/// Values of a matrix with three rows of four.
const AFFINE: usize = 12;

fn affine(numbers: &[f32]) -> Affine {
    let row = |r: usize| std::array::from_fn(|c| numbers[4 * r + c]);
    Affine { rows: [row(0), row(1), row(2)] }
}

/// Numbers up to 1, uniform or with magnitudes down to 0.001.
fn start_vector(random: &mut Random, v: &mut [f32]) {
    let any = random.below(2) == 0;
    v.fill_with(|| if any { random.signed() } else { random.magnitude(-3.0) } as f32);
}

/// Arbitrary matrix, or one near a rotation.
fn start_affine(random: &mut Random, m: &mut [f32]) {
    start_vector(random, m);
    if random.below(2) == 0 {
        for (at, v) in m.iter_mut().enumerate() {
            let one = f32::from(u8::from(at % 5 == 0));
            *v = one + *v * if at % 4 < 3 { 0.1 } else { 1.0 };
        }
    }
}
