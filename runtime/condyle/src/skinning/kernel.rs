//! The kernels of [`skin`](super::skin). Each processes one run of vertices, two per step.
//!
//! # Formulas
//!
//! A vertex has the influences `(joint_i, weight_i)`. Its blended matrix `M` has four columns of three
//! numbers. `n`, `t` and `h` are its normal, tangent and handedness in the bind pose:
//!
//! ```text
//! M  = Σ weight_i · palette[joint_i]      position_model = M (position_bind, 1)
//! n' = N n / |N n|                        N = M, the cofactors of M, or Σ weight_i · normal palette[joint_i]
//! t' = M t / |M t|                        h' = h · sign(det M)
//! ```
//!
//! # Worked example of a vertex
//!
//! Joint 0 is in its bind pose. Joint 1 is rotated by 90° about z and moved by 1 along x. The weights are 3/4
//! and 1/4. `M` by rows, and the position `(2, 0, 1)`:
//!
//! ```text
//!        1 0 0 0          0 -1 0 1     0.75 -0.25 0 0.25     x' = 0.75 · 2 - 0.25 · 0 + 0.25 = 1.75
//! 3/4 ·  0 1 0 0  + 1/4 · 1  0 0 0  =  0.25  0.75 0 0        y' = 0.25 · 2 + 0.75 · 0        = 0.5
//!        0 0 1 0          0  0 1 0     0     0    1 0        z' = 1
//! ```
//!
//! **Load.** The palette stores a matrix as 16 floats, column by column. The sum for a vertex is one register
//! of 16 lanes or several smaller ones (`blend`), with `(0.75, 0.25, 0, _)` first. `join` combines the
//! columns of two vertices. Lanes 0 to 2 are x, y and z of the first vertex, and lanes 4 to 6 those of the
//! second. Lanes 3 and 7 are unused.
//!
//! **Multiply.** Each lane computes `x · column_0 + column_3`, then `+ y · column_1`, then `+ z · column_2`
//! (`move_points`).
//!
//! **Store.** Four floats are stored for each vector. The fourth overwrites the next vector, which is stored
//! later. For this reason arrays hold one vertex more than the groups do ([`PACKED`]).
//!
//! **Normal.** `(1, 0, 0)` becomes `(0.75, 0.25, 0)`. Its length is `√0.625 = 0.7906`, so the normal is
//! `(0.9487, 0.3162, 0)`. `finish_normals` normalises eight vectors with one square root and one division,
//! after the batch.
//!
//! **Handedness.** `det M = 0.75 · 0.75 + 0.25 · 0.25 = 0.625` is positive: the tangent keeps its sign.
//!
//! # Reasons
//!
//! 1. Columns need no transpose: a matrix is added to the sum in its memory layout.
//! 2. Runs of vertices with the same number of influences have separate kernels (`skin_even`). The inner loop
//!    is unrolled, and no branch depends on a vertex. Shorter rows of a group are padded (`GroupRows`).
//! 3. Directions are normalised one batch later ([`BATCH_VERTICES`]). The square roots and divisions then do
//!    not wait for other results, and the directions are still in the first-level cache.
//!
//! # Limits
//!
//! The kernels return `None` if an index is out of bounds. That cannot happen, because the caller has checked
//! all arrays. A checked access costs less here than a path to a panic.

use fearless_simd::{f32x8, mask32x8, prelude::*};

use super::call::{Call, Normals};
use super::packed::{PACKED, load_two, packed, packed_mut, store_two, two_tangents};
use super::rows::{blend, blend_even, columns};
use super::vectors::{
    SURE, TwoMatrices, determinant_terms, determinants, inverse_transpose, join, move_points, times_each,
    turn, unit,
};
use crate::mesh::{GROUP_VERTICES, GroupRows};
use condyle_base::simd::Mode;

/// Number of vertices in a batch: their directions are still in the first-level cache when they are
/// normalised.
pub(super) const BATCH_VERTICES: usize = 128;

/// The normals and tangents of a group before they are normalised, and the terms of the determinants of their
/// matrices. Each array of eight holds two vertices.
pub(super) type Turned = [[[f32; 8]; 3]; GROUP_VERTICES / 2];

/// The vertices of a run, group after group: bind pose and output.
pub(super) struct Groups<'a> {
    /// One vertex more than the groups hold: see [`PACKED`].
    pub(super) positions: &'a [[f32; 3]],
    /// If only tangents are requested, any array of this length: transforming it costs less than a branch per
    /// step.
    pub(super) normals: Option<&'a [[f32; 3]]>,
    /// Empty if tangents are not requested.
    pub(super) tangents: &'a [[f32; 4]],
    pub(super) posed: &'a mut [[f32; 3]],
    /// One per group; empty if only positions are requested.
    pub(super) turned: &'a mut [Turned],
}

/// The vertices of one group. `tangents` is `None` if they are not requested.
struct Group<'a> {
    positions: &'a [f32; PACKED],
    posed: &'a mut [f32; PACKED],
    normals: Option<(&'a [f32; PACKED], &'a mut Turned)>,
    tangents: Option<&'a [[f32; 4]; GROUP_VERTICES]>,
}

impl Groups<'_> {
    #[inline(always)]
    fn group<const FRAMES: bool, const TANGENTS: bool>(&mut self, at: usize) -> Option<Group<'_>> {
        let first = at * GROUP_VERTICES;
        Some(Group {
            positions: packed(self.positions, first)?,
            posed: packed_mut(self.posed, first)?,
            normals: match self.normals {
                Some(normals) if FRAMES => Some((packed(normals, first)?, self.turned.get_mut(at)?)),
                None if TANGENTS => return None,
                _ => None,
            },
            tangents: if TANGENTS { Some(self.tangents.as_chunks().0.get(at)?) } else { None },
        })
    }
}

impl Group<'_> {
    /// Transforms the positions and tangents of a pair by `m`, and its normals by `own`.
    #[inline(always)]
    fn skin<S: Simd, M: Mode>(&mut self, s: S, mode: M, pair: usize, [m, own]: [&TwoMatrices<S>; 2]) {
        store_two(self.posed, pair, move_points(mode, m, load_two(s, self.positions, pair)));
        let Some((normals, turned)) = &mut self.normals else { return };
        let [to_normals, to_tangents, terms] = &mut turned[pair];
        turn(mode, own, load_two(s, normals, pair)).store_slice(to_normals);
        if let Some(tangents) = self.tangents {
            turn(mode, m, two_tangents(s, tangents, pair)).store_slice(to_tangents);
            determinant_terms(mode, m).store_slice(terms);
        }
    }
}

/// Skins a run of vertices with `K` influences each, padding included, without separate matrices for normals.
#[inline(always)]
pub(super) fn skin_even<S: Simd, M: Mode, const TANGENTS: bool, const K: usize>(
    s: S,
    mode: M,
    call: &Call<'_>,
    rows: &[GroupRows],
    groups: &mut Groups<'_>,
) -> Option<()> {
    for (at, row) in rows.iter().enumerate() {
        let row = call.rows.row(row.begin, row.begin + (K * GROUP_VERTICES) as u32)?;
        let joints: &[[u16; K]; GROUP_VERTICES] = row.joints.as_chunks().0.first_chunk()?;
        let weights: &[[f32; K]; GROUP_VERTICES] = row.weights.as_chunks().0.first_chunk()?;
        let mut group = groups.group::<true, TANGENTS>(at)?;
        for pair in 0..GROUP_VERTICES / 2 {
            let a = blend_even(s, mode, &joints[2 * pair], &weights[2 * pair], call.matrices)?;
            let b = blend_even(s, mode, &joints[2 * pair + 1], &weights[2 * pair + 1], call.matrices)?;
            let m = join(a, b);
            group.skin(s, mode, pair, [&m, &m]);
        }
    }
    Some(())
}

/// Skins any run of `count` vertices. `starts` and `groups` hold whole groups.
#[inline(always)]
pub(super) fn skin_mixed<S: Simd, M: Mode, const FRAMES: bool, const TANGENTS: bool>(
    s: S,
    mode: M,
    call: &Call<'_>,
    starts: &[u32],
    count: usize,
    groups: &mut Groups<'_>,
) -> Option<()> {
    for at in 0..starts.len() / GROUP_VERTICES {
        let starts: &[u32; GROUP_VERTICES + 1] = starts.get(at * GROUP_VERTICES..)?.first_chunk()?;
        let count = GROUP_VERTICES.min(count - at * GROUP_VERTICES);
        let mut group = groups.group::<FRAMES, TANGENTS>(at)?;
        for pair in 0..GROUP_VERTICES / 2 {
            if 2 * pair >= count {
                break;
            }
            let middle = starts[2 * pair + 1];
            let first = call.rows.row(starts[2 * pair], middle)?;
            // A vertex without a partner is paired with itself.
            let second =
                if 2 * pair + 1 < count { call.rows.row(middle, starts[2 * pair + 2])? } else { first };
            let [a, b] = [blend(s, mode, first, call.matrices)?, blend(s, mode, second, call.matrices)?];
            let m = join(a, b);
            let own = match call.frames.normals {
                Normals::Own if FRAMES => {
                    let a = blend(s, mode, first, call.normal_matrices)?;
                    join(a, blend(s, mode, second, call.normal_matrices)?)
                }
                Normals::Cofactors if FRAMES => {
                    let (a, b) = (inverse_transpose(s, &columns(a)).0, inverse_transpose(s, &columns(b)).0);
                    [a[0].combine(b[0]), a[1].combine(b[1]), a[2].combine(b[2]), a[3].combine(b[3])]
                }
                _ => m,
            };
            group.skin(s, mode, pair, [&m, &own]);
        }
    }
    Some(())
}

/// Normalises the normals of a batch.
#[inline(always)]
pub(super) fn finish_normals<S: Simd, M: Mode>(s: S, mode: M, turned: &[Turned], posed: &mut [[f32; 3]]) {
    let mut posed = posed.as_flattened_mut();
    for four in turned {
        // The last batch may have fewer groups.
        let Some(to) = posed.first_chunk_mut() else { return };
        let normals = four.each_ref().map(|[normals, ..]| f32x8::load_array_ref(s, normals));
        for (pair, both) in unit(s, mode, normals).into_iter().enumerate() {
            store_two(to, pair, both);
        }
        posed = posed.get_mut(3 * GROUP_VERTICES..).unwrap_or(&mut []);
    }
}

/// Normalises the tangents of a batch. The handedness of the bind pose changes sign if the blended matrix
/// mirrors.
#[inline(always)]
pub(super) fn finish_tangents<S: Simd, M: Mode>(
    s: S,
    mode: M,
    call: &Call<'_>,
    starts: &[u32],
    turned: &[Turned],
    bind: &[[f32; 4]],
    posed: &mut [[f32; 4]],
) -> Option<()> {
    let last = mask32x8::simd_from(s, [0, 0, 0, -1, 0, 0, 0, -1]);
    let one = f32x8::splat(s, 1.0);
    let (least, greatest) = (f32x8::splat(s, *SURE.start()), f32x8::splat(s, *SURE.end()));
    let mut sure = one.simd_eq(one);
    let from = bind.as_flattened().as_chunks::<8>().0.as_chunks::<4>().0;
    let to = posed.as_flattened_mut().as_chunks_mut::<8>().0.as_chunks_mut::<4>().0;
    for ((four, bind), posed) in turned.iter().zip(from).zip(to) {
        let determinants = determinants(four.each_ref().map(|[.., terms]| f32x8::load_array_ref(s, terms)));
        let signs = one.copysign(determinants);
        let size = determinants * signs;
        sure &= size.simd_ge(least) & size.simd_le(greatest);
        let tangents = four.each_ref().map(|[_, tangents, _]| f32x8::load_array_ref(s, tangents));
        let hands = times_each(signs, bind.each_ref().map(|bind| f32x8::load_array_ref(s, bind)));
        for ((both, hands), to) in unit(s, mode, tangents).into_iter().zip(hands).zip(posed) {
            last.select(hands, both).store_slice(to);
        }
    }
    if sure.any_false() { turn_hands(s, mode, call, starts, turned, bind, posed) } else { Some(()) }
}

/// Corrects the handedness of tangents whose determinant is outside [`SURE`], at any size of their matrices.
/// They are rare, so their matrices are blended again.
#[inline(always)]
fn turn_hands<S: Simd, M: Mode>(
    s: S,
    mode: M,
    call: &Call<'_>,
    starts: &[u32],
    turned: &[Turned],
    bind: &[[f32; 4]],
    posed: &mut [[f32; 4]],
) -> Option<()> {
    let terms = turned.as_flattened().iter().flat_map(|[.., terms]| terms.as_chunks::<4>().0);
    for (((&[x, y, z, _], bind), posed), ends) in terms.zip(bind).zip(posed).zip(starts.windows(2)) {
        if !SURE.contains(&(x + y + z).abs()) {
            let m = blend(s, mode, call.rows.row(ends[0], ends[1])?, call.matrices)?;
            posed[3] = bind[3] * inverse_transpose(s, &columns(m)).1;
        }
    }
    Some(())
}
