//! Multiplication of joints by their parents. All local matrices are first written to the output, and each is
//! then multiplied by that of its parent.
//!
//! Most joints follow their parent in the order of joints, so each product would wait for the one before.
//! Joints of equal depth are multiplied next to each other instead. With AVX2 two rows share one
//! instruction, which saves a sixth of all instructions. In a chain the parent stays in registers.

use fearless_simd::{f32x4, f32x8, mask32x4, mask32x8, prelude::*};

use crate::convert::rows::{block_rows, mul_row};
use crate::pose::PoseBlock;
use condyle_base::math::Affine;
use condyle_base::simd::{BLOCK, Mode, each, spread, spread_halves, transpose, transpose_halves};

/// Three rows of four: two in one register, the third in another.
type Rows<S> = (f32x8<S>, f32x4<S>);

#[inline(always)]
fn load_rows<S: Simd>(s: S, m: &Affine) -> Rows<S> {
    let rows = m.rows.as_flattened();
    (f32x8::from_slice(s, &rows[..8]), f32x4::from_slice(s, &rows[8..]))
}

/// Writes the local matrices of the first `joints` joints of a block, and of the joints that share their
/// lanes.
#[inline(always)]
pub(super) fn write_locals<S: Simd, M: Mode>(
    s: S,
    mode: M,
    block: &PoseBlock,
    joints: usize,
    matrices: &mut [Affine; BLOCK],
) {
    // From lanes to rows.
    if S::f32s::LEN == 4 {
        for (at, matrices) in (0..).step_by(4).zip(matrices.as_chunks_mut::<4>().0) {
            if at >= joints {
                return;
            }
            let rows = block_rows::<S, M, f32x4<S>>(s, mode, block, at);
            each!(r in [0, 1, 2] => {
                let rows = transpose(rows[r]);
                each!(i in [0, 1, 2, 3] => rows[i].store_slice(&mut matrices[i].rows[r]));
            });
        }
        return;
    }
    for (at, matrices) in (0..).step_by(8).zip(matrices.as_chunks_mut::<8>().0) {
        if at >= joints {
            return;
        }
        let rows = block_rows::<S, M, f32x8<S>>(s, mode, block, at);
        each!(r in [0, 1, 2] => {
            let rows = transpose_halves(rows[r]);
            each!(i in [0, 1, 2, 3] => {
                let (low, high) = rows[i].split();
                low.store_slice(&mut matrices[i].rows[r]);
                high.store_slice(&mut matrices[i + 4].rows[r]);
            });
        });
    }
}

/// Multiplies the local matrices of these joints by those of their parents, which come before them. The
/// parent index of a root is out of range.
#[inline(always)]
pub(super) fn attach<S: Simd, M: Mode>(
    s: S,
    mode: M,
    joints_and_parents: impl Iterator<Item = [u16; 2]>,
    model: &mut [Affine],
) {
    let zeros = (f32x8::splat(s, 0.0), f32x4::splat(s, 0.0));
    let last = (mask32x8::from_bitmask(s, 0b1000_1000), mask32x4::from_bitmask(s, 0b1000));
    let root = load_rows(s, &Affine::IDENTITY);
    let mut before = (usize::MAX, root);
    for [joint, parent] in joints_and_parents {
        let (joint, parent) = (usize::from(joint), usize::from(parent));
        // The parent is still in registers in a chain; loading it would wait for the store.
        let (two, one) = if parent == before.0 {
            before.1
        } else {
            model.get(parent).map_or(root, |parent| load_rows(s, parent))
        };
        let Some(own) = model.get_mut(joint) else { return };
        let rows = own.rows.as_flattened_mut();
        let mut local = [zeros.1; 3];
        each!(r in [0, 1, 2] => local[r] = f32x4::from_slice(s, &rows[4 * r..4 * r + 4]));
        let mut both = [zeros.0; 3];
        each!(r in [0, 1, 2] => both[r] = local[r].combine(local[r]));
        let (moved, moved_one) = (last.0.select(two, zeros.0), last.1.select(one, zeros.1));
        let two = [spread_halves::<S, 0>(two), spread_halves::<S, 1>(two), spread_halves::<S, 2>(two), moved];
        let one = [spread::<S, 0>(one), spread::<S, 1>(one), spread::<S, 2>(one), moved_one];
        let product = (mul_row(mode, two, &both), mul_row(mode, one, &local));
        product.0.store_slice(&mut rows[..8]);
        product.1.store_slice(&mut rows[8..]);
        before = (joint, product);
    }
}
