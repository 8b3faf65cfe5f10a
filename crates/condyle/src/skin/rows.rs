//! The weighted sums of matrices: one row of influences per vertex.

use fearless_simd::{f32x4, f32x16, prelude::*};

use super::vectors::Matrix;
use crate::palette::PaletteMatrix;
use crate::simd::{Mode, spread};

/// The influences of all vertices, as long as each other, and how many of each vertex count.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) joints: &'a [u16],
    pub(super) weights: &'a [f32],
    pub(super) most: u32,
}

impl<'a> Rows<'a> {
    /// The influences from one place to another. Always there: asking costs less than a panic path.
    #[inline(always)]
    pub(super) fn row(self, begin: u32, end: u32) -> Option<Self> {
        let range = begin as usize..end as usize;
        Some(Self { joints: self.joints.get(range.clone())?, weights: self.weights.get(range)?, ..self })
    }

    /// The rows of two vertices of `K` influences each, from `begin` on.
    #[inline(always)]
    fn two<const K: usize>(self, begin: u32) -> Option<(&'a [[u16; K]; 2], &'a [[f32; K]; 2])> {
        let begin = begin as usize;
        let joints = self.joints.get(begin..)?.as_chunks().0.first_chunk()?;
        Some((joints, self.weights.get(begin..)?.as_chunks().0.first_chunk()?))
    }
}

#[inline(always)]
fn columns<S: Simd>(sum: f32x16<S>) -> Matrix<S> {
    let (low, high) = sum.split();
    let ((a, b), (c, d)) = (low.split(), high.split());
    [a, b, c, d]
}

/// The sum of one row, heaviest first. `None` never is: all joints of the influences were found to be there.
#[inline(always)]
pub(super) fn blend<S: Simd, M: Mode>(
    s: S,
    mode: M,
    row: Rows<'_>,
    matrices: &[PaletteMatrix],
) -> Option<Matrix<S>> {
    let mut sum = f32x16::splat(s, 0.0);
    let count = row.joints.len();
    let most = row.most as usize;
    if count <= most {
        for (&joint, &weight) in row.joints.iter().zip(row.weights) {
            let matrix = f32x16::load_array_ref(s, &matrices.get(usize::from(joint))?.columns);
            sum = mode.madd(f32x16::splat(s, weight), matrix, sum);
        }
    } else {
        let factor = share(row.weights.iter().copied(), most);
        for (&joint, &weight) in row.joints.iter().zip(row.weights).take(most) {
            let matrix = f32x16::load_array_ref(s, &matrices.get(usize::from(joint))?.columns);
            sum = mode.madd(f32x16::splat(s, weight * factor), matrix, sum);
        }
    }
    Some(columns(sum))
}

/// What the first `most` weights are multiplied by to have the sum of all of them; one where they cancel.
#[inline(always)]
pub(super) fn share(weights: impl Iterator<Item = f32>, most: usize) -> f32 {
    let (mut all, mut kept) = (0.0, 0.0);
    for (at, weight) in weights.enumerate() {
        all += weight;
        if at < most {
            kept = all;
        }
    }
    let factor = all / kept;
    if factor.is_finite() { factor } else { 1.0 }
}

/// The sums of two rows that follow each other.
#[inline(always)]
pub(super) fn blend_two<S: Simd, M: Mode>(
    s: S,
    mode: M,
    rows: Rows<'_>,
    [begin, middle, end]: [u32; 3],
    matrices: &[PaletteMatrix],
) -> Option<[Matrix<S>; 2]> {
    let count = middle.wrapping_sub(begin);
    let even = end.wrapping_sub(middle) == count && count <= rows.most;
    match if even { count } else { 0 } {
        1 => blend_even::<_, _, 1>(s, mode, rows, begin, matrices),
        2 => blend_even::<_, _, 2>(s, mode, rows, begin, matrices),
        4 => blend_even::<_, _, 4>(s, mode, rows, begin, matrices),
        _ => {
            let first = blend(s, mode, rows.row(begin, middle)?, matrices)?;
            Some([first, blend(s, mode, rows.row(middle, end)?, matrices)?])
        }
    }
}

/// The sums of two rows of `K` influences each.
#[inline(always)]
fn blend_even<S: Simd, M: Mode, const K: usize>(
    s: S,
    mode: M,
    rows: Rows<'_>,
    begin: u32,
    matrices: &[PaletteMatrix],
) -> Option<[Matrix<S>; 2]> {
    let (joints, weights) = rows.two::<K>(begin)?;
    let zero = f32x16::splat(s, 0.0);
    let mut sums = [zero, zero];
    if K == 1 {
        for (sum, (joint, weight)) in
            sums.iter_mut().zip(joints.as_flattened().iter().zip(weights.as_flattened()))
        {
            let matrix = f32x16::load_array_ref(s, &matrices.get(usize::from(*joint))?.columns);
            *sum = mode.madd(f32x16::splat(s, *weight), matrix, *sum);
        }
        return Some([columns(sums[0]), columns(sums[1])]);
    }
    // Four joints and four weights at a time: loads are what a processor runs out of first here.
    let joints = joints.as_flattened().as_chunks::<4>().0;
    let weights = weights.as_flattened().as_chunks::<4>().0;
    for (four, (joints, weights)) in joints.iter().zip(weights).enumerate() {
        let weights = f32x4::load_array_ref(s, weights);
        let [a, b, c, d] = *joints;
        let word = u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48;
        let sum = &mut sums[4 * four / K];
        add::<_, _, 0>(s, mode, weights, word, matrices, sum)?;
        add::<_, _, 1>(s, mode, weights, word, matrices, sum)?;
        let sum = &mut sums[(4 * four + 2) / K];
        add::<_, _, 2>(s, mode, weights, word, matrices, sum)?;
        add::<_, _, 3>(s, mode, weights, word, matrices, sum)?;
    }
    Some([columns(sums[0]), columns(sums[1])])
}

/// Adds one of four influences.
#[inline(always)]
fn add<S: Simd, M: Mode, const LANE: usize>(
    s: S,
    mode: M,
    weights: f32x4<S>,
    joints: u64,
    matrices: &[PaletteMatrix],
    sum: &mut f32x16<S>,
) -> Option<()> {
    let joint = (joints >> (16 * LANE)) as u16;
    let matrix = f32x16::load_array_ref(s, &matrices.get(usize::from(joint))?.columns);
    let weight = spread::<S, LANE>(weights);
    let weight = weight.combine(weight);
    *sum = mode.madd(weight.combine(weight), matrix, *sum);
    Some(())
}
