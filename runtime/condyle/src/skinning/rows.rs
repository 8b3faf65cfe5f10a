//! Weighted sums of matrices, with one row of influences per vertex.

use fearless_simd::{f32x16, prelude::*};

use super::parts::PaletteMatrix;
use super::vectors::Matrix;
use condyle_base::simd::Mode;

/// The influences of all vertices, and the maximum number to use per vertex. There is one joint per weight.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) joints: &'a [u16],
    pub(super) weights: &'a [f32],
    pub(super) max_influences: u32,
}

impl<'a> Rows<'a> {
    /// Returns the influences `begin..end`. Never `None`: the check costs less than a path to a panic.
    #[inline(always)]
    pub(super) fn row(self, begin: u32, end: u32) -> Option<Self> {
        let range = begin as usize..end as usize;
        Some(Self { joints: self.joints.get(range.clone())?, weights: self.weights.get(range)?, ..self })
    }
}

/// Returns the columns of a matrix.
#[inline(always)]
pub(super) fn columns<S: Simd>(sum: f32x16<S>) -> Matrix<S> {
    let (low, high) = sum.split();
    let ((a, b), (c, d)) = (low.split(), high.split());
    [a, b, c, d]
}

/// Returns the blended matrix of one row, heaviest influence first. Never `None`: the caller has checked that
/// the palette has all joints.
#[inline(always)]
pub(super) fn blend<S: Simd, M: Mode>(
    s: S,
    mode: M,
    row: Rows<'_>,
    matrices: &[PaletteMatrix],
) -> Option<f32x16<S>> {
    let count = row.joints.len();
    let max_influences = row.max_influences as usize;
    if count == 0 {
        return Some(f32x16::splat(s, 0.0));
    }
    // Adding to -0 returns the first product exactly, as if the sum began with it.
    let mut sum = f32x16::splat(s, -0.0);
    if count <= max_influences {
        for (&joint, &weight) in row.joints.iter().zip(row.weights) {
            let matrix = load(s, matrices, joint)?;
            sum = mode.madd(f32x16::splat(s, weight), matrix, sum);
        }
    } else {
        let factor = kept_scale(row.weights.iter().copied(), max_influences);
        for (&joint, &weight) in row.joints.iter().zip(row.weights).take(max_influences) {
            let matrix = load(s, matrices, joint)?;
            sum = mode.madd(f32x16::splat(s, weight * factor), matrix, sum);
        }
    }
    Some(sum)
}

/// Returns the factor that compensates for dropped influences: the sum of all weights divided by the sum of
/// the first `kept_count`. Returns 1 if the kept weights cancel.
#[inline(always)]
pub(super) fn kept_scale(weights: impl Iterator<Item = f32>, kept_count: usize) -> f32 {
    let (mut all, mut kept) = (0.0, 0.0);
    for (at, weight) in weights.enumerate() {
        all += weight;
        if at < kept_count {
            kept = all;
        }
    }
    let factor = all / kept;
    if factor.is_finite() { factor } else { 1.0 }
}

/// Returns the weighted sum of a row of `K` influences.
#[inline(always)]
pub(super) fn blend_even<S: Simd, M: Mode, const K: usize>(
    s: S,
    mode: M,
    joints: &[u16; K],
    weights: &[f32; K],
    matrices: &[PaletteMatrix],
) -> Option<f32x16<S>> {
    let mut sum = f32x16::splat(s, weights[0]) * load(s, matrices, joints[0])?;
    for k in 1..K {
        sum = mode.madd(f32x16::splat(s, weights[k]), load(s, matrices, joints[k])?, sum);
    }
    Some(sum)
}

#[inline(always)]
fn load<S: Simd>(s: S, matrices: &[PaletteMatrix], joint: u16) -> Option<f32x16<S>> {
    Some(f32x16::load_array_ref(s, &matrices.get(usize::from(joint))?.columns))
}
