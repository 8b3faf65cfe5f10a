//! The kernel for the last vertices of a call, up to a group of eight. It needs no padding: a call for a few
//! vertices would spend most of its time on copies to and from padded arrays.
//!
//! All attributes are computed in one dispatch. The lanes run the operations of the other kernels in the
//! same order, so the bits are equal. Nanoseconds per call with AVX2, with padded arrays and with this
//! kernel:
//!
//! | vertices | positions | with normals | with tangents |
//! |---|--:|--:|--:|
//! | 1 | 79, 27 | 99, 35 | 108, 39 |
//! | 8 | 84, 59 | 106, 73 | 118, 95 |
//! | 67 | 270, 232 | 380, 316 | 485, 400 |

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

use super::call::{Call, Normals};
use super::rows::{blend, columns};
use super::vectors::{
    SURE, TwoMatrices, determinant_terms, inverse_transpose, join, move_points, turn, unit_two,
};
use crate::mesh::{VertexSlices, VertexSlicesMut};
use condyle_base::simd::Mode;

/// Skins a few vertices: all of `bind`. `starts` has the first influence of each vertex, and the end of the
/// last vertex's influences.
#[inline(always)]
pub(super) fn skin_few<S: Simd, M: Mode>(
    s: S,
    mode: M,
    call: &Call<'_>,
    starts: &[u32],
    bind: VertexSlices<'_>,
    posed: &mut VertexSlicesMut<'_>,
) -> Option<()> {
    let count = bind.positions.len();
    for first in (0..count).step_by(2) {
        // A vertex without a partner is paired with itself.
        let both = [first, if first + 1 < count { first + 1 } else { first }];
        let row = |vertex: usize| call.rows.row(*starts.get(vertex)?, *starts.get(vertex + 1)?);
        let (first_row, second_row) = (row(both[0])?, row(both[1])?);
        let a = blend(s, mode, first_row, call.matrices)?;
        let b = if both[0] == both[1] { a } else { blend(s, mode, second_row, call.matrices)? };
        let m = join(a, b);
        put(s, posed.positions, both, move_points(mode, &m, two(s, bind.positions, both)?))?;
        if call.frames.normals != Normals::None {
            let own = match call.frames.normals {
                Normals::Own => {
                    let a = blend(s, mode, first_row, call.normal_matrices)?;
                    join(a, blend(s, mode, second_row, call.normal_matrices)?)
                }
                Normals::Cofactors => cofactors(s, a, b),
                _ => m,
            };
            let normals = turn(mode, &own, two(s, bind.normals, both)?);
            put(s, posed.normals, both, unit_two(s, mode, normals))?;
        }
        if call.frames.tangents {
            let [from, to] = [bind.tangents.get(both[0])?, bind.tangents.get(both[1])?];
            let tangents = f32x4::load_array_ref(s, from).combine(f32x4::load_array_ref(s, to));
            let turned = unit_two(s, mode, turn(mode, &m, tangents)).split();
            let terms = determinant_terms(mode, &m).split();
            // The second vertex is written first, because it may be the first one.
            for (at, turned, terms, m) in [(both[1], turned.1, terms.1, b), (both[0], turned.0, terms.0, a)] {
                let [x, y, z, _] = turned.to_array();
                let hand = bind.tangents.get(at)?[3] * hand(s, terms, m);
                *posed.tangents.get_mut(at)? = [x, y, z, hand];
            }
        }
    }
    Some(())
}

/// Returns the sign of the determinant of a matrix.
#[inline(always)]
fn hand<S: Simd>(s: S, terms: f32x4<S>, m: f32x16<S>) -> f32 {
    let [x, y, z, _] = terms.to_array();
    let determinant = x + y + z;
    if SURE.contains(&determinant.abs()) {
        1.0_f32.copysign(determinant)
    } else {
        inverse_transpose(s, &columns(m)).1
    }
}

/// Returns the cofactors of two matrices, up to a factor.
#[inline(always)]
fn cofactors<S: Simd>(s: S, a: f32x16<S>, b: f32x16<S>) -> TwoMatrices<S> {
    let (a, b) = (inverse_transpose(s, &columns(a)).0, inverse_transpose(s, &columns(b)).0);
    [a[0].combine(b[0]), a[1].combine(b[1]), a[2].combine(b[2]), a[3].combine(b[3])]
}

/// Loads two vectors.
#[inline(always)]
fn two<S: Simd>(s: S, vectors: &[[f32; 3]], [a, b]: [usize; 2]) -> Option<f32x8<S>> {
    let (&[ax, ay, az], &[bx, by, bz]) = (vectors.get(a)?, vectors.get(b)?);
    Some(f32x4::load_array(s, [ax, ay, az, 0.0]).combine(f32x4::load_array(s, [bx, by, bz, 0.0])))
}

/// Stores two vectors.
#[inline(always)]
fn put<S: Simd>(_: S, vectors: &mut [[f32; 3]], [a, b]: [usize; 2], v: f32x8<S>) -> Option<()> {
    let (first, second) = v.split();
    let ([ax, ay, az, _], [bx, by, bz, _]) = (first.to_array(), second.to_array());
    *vectors.get_mut(b)? = [bx, by, bz];
    *vectors.get_mut(a)? = [ax, ay, az];
    Some(())
}
