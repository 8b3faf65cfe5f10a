//! Random numbers, vectors and positions for targets that build their own input. Most numbers are between -2
//! and 2; some have arbitrary bits.

use arbitrary::{Result, Unstructured};
use condyle::{Affine, Quat, Transform};

/// Number, mostly between -2 and 2, sometimes with arbitrary bits.
pub fn number(input: &mut Unstructured<'_>) -> Result<f32> {
    Ok(match input.int_in_range(0..=15)? {
        0 => f32::from_bits(input.arbitrary()?),
        1 => 0.0,
        2 => *input.choose(&[1e-30, -1e-30, 1e-7, 1e7, -1e7, 1e18, f32::MAX])?,
        3 => 1.0,
        _ => f32::from(input.arbitrary::<i8>()?) / 64.0,
    })
}

pub fn vector(input: &mut Unstructured<'_>) -> Result<[f32; 3]> {
    Ok([number(input)?, number(input)?, number(input)?])
}

/// Quaternion, mostly of unit length.
pub fn quat(input: &mut Unstructured<'_>) -> Result<Quat> {
    let q = [number(input)?, number(input)?, number(input)?, number(input)?];
    if input.ratio(1, 16)? {
        return Ok(q);
    }
    let length = q.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
    let unit = q.map(|v| (f64::from(v) / length) as f32);
    Ok(if length > 0.0 && length.is_finite() { unit } else { [0.0, 0.0, 0.0, 1.0] })
}

pub fn transform(input: &mut Unstructured<'_>) -> Result<Transform> {
    let scale = match input.int_in_range(0..=7)? {
        0 => vector(input)?,
        1 => [number(input)?; 3],
        _ => [1.0; 3],
    };
    Ok(Transform { translation: vector(input)?, rotation: quat(input)?, scale })
}

/// Rotation with translation, or sometimes an arbitrary matrix.
pub fn matrix(input: &mut Unstructured<'_>) -> Result<Affine> {
    if !input.ratio(1, 8)? {
        return Ok(Affine::from(transform(input)?));
    }
    let mut rows = [[0.0; 4]; 3];
    for v in rows.as_flattened_mut() {
        *v = number(input)?;
    }
    Ok(Affine { rows })
}

/// Points from [`number`], on a coarse grid with many duplicates, or between -4 and 4.
pub fn points(input: &mut Unstructured<'_>, count: usize) -> Result<Vec<[f32; 3]>> {
    let kind = input.int_in_range(0..=3)?;
    let coordinate = |input: &mut Unstructured<'_>| match kind {
        0 => number(input),
        1 => Ok(f32::from(input.int_in_range(-2..=2_i8)?)),
        _ => Ok(f32::from(input.arbitrary::<i8>()?) / 32.0),
    };
    (0..count).map(|_| Ok([coordinate(input)?, coordinate(input)?, coordinate(input)?])).collect()
}

/// Largest magnitude of a coordinate.
pub fn size(points: &[[f32; 3]]) -> f64 {
    points.as_flattened().iter().fold(0.0, |size: f64, v| size.max(f64::from(v.abs())))
}

/// Whether all values are 0 or moderate, so that their products neither overflow nor underflow.
pub fn is_moderate(values: &[f32]) -> bool {
    values.iter().all(|v| *v == 0.0 || (1e-6..=1e6).contains(&v.abs()))
}

pub fn is_finite(values: &[f32]) -> bool {
    values.iter().all(|v| v.is_finite())
}

/// Bit patterns, for comparisons that treat NaNs with the same bits as equal.
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}
