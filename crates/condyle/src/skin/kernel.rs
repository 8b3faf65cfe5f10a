//! The kernel of [`skin`](super::skin): eight vertices at a time, two in each step.

use fearless_simd::{f32x4, f32x8, prelude::*, u32x8};

use super::rows::{Rows, blend, blend_even, columns};
use super::vectors::{TwoMatrices, inverse_transpose, join, move_points, turn, unit};
use crate::Palette;
use crate::mesh::{Influences, VertexSlices, VertexSlicesMut};
use crate::palette::PaletteMatrix;
use crate::simd::Mode;

/// What a normal is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Normals {
    /// Nothing: there are none.
    None,
    /// The blended matrix.
    Blended,
    /// The blend of matrices of its own.
    Own,
    /// The cofactors of the blended matrix.
    Cofactors,
}

/// What a call is to do besides moving positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frames {
    pub(super) normals: Normals,
    pub(super) tangents: bool,
    /// Whether a matrix may turn left hands into right ones.
    pub(super) mirrors: bool,
}

/// Vertices in a group: one root serves the normals of all of them, another the tangents.
pub(super) const GROUP: usize = 8;

/// Numbers of a group of packed vectors, and one more, as each is read and written with the number behind it.
pub(super) const PACKED: usize = 3 * GROUP + 1;

/// Eight vertices. What a kernel does not need is zero.
struct Group<'a> {
    /// Where each row of influences begins, and where the last one ends.
    begins: &'a [u32; GROUP + 1],
    positions: &'a [f32; PACKED],
    normals: &'a [f32; PACKED],
    tangents: &'a [[f32; 4]; GROUP],
}

/// Where a group goes. What a kernel does not compute, it does not write.
struct GroupMut<'a> {
    positions: &'a mut [f32; PACKED],
    normals: &'a mut [f32; PACKED],
    tangents: &'a mut [[f32; 4]; GROUP],
}

/// What is the same for all groups.
#[derive(Clone, Copy)]
struct Call<'a> {
    rows: Rows<'a>,
    matrices: &'a [PaletteMatrix],
    normal_matrices: &'a [PaletteMatrix],
    frames: Frames,
}

/// The vectors of pair `pair`.
#[inline(always)]
pub(super) fn load_two<S: Simd>(s: S, packed: &[f32; PACKED], pair: usize) -> f32x8<S> {
    let at = 6 * pair;
    f32x4::from_slice(s, &packed[at..at + 4]).combine(f32x4::from_slice(s, &packed[at + 3..at + 7]))
}

/// Writes the first three lanes of each half, closely packed: the fourth is written over by what comes next.
#[inline(always)]
pub(super) fn store_two<S: Simd>(packed: &mut [f32; PACKED], pair: usize, v: f32x8<S>) {
    let at = 6 * pair;
    let (a, b) = v.split();
    a.store_slice(&mut packed[at..at + 4]);
    b.store_slice(&mut packed[at + 3..at + 7]);
}

#[inline(always)]
pub(super) fn two_tangents<S: Simd>(s: S, tangents: &[[f32; 4]; GROUP], pair: usize) -> f32x8<S> {
    f32x8::from_slice(s, &tangents.as_flattened()[8 * pair..8 * pair + 8])
}

/// What each handedness is multiplied by: it turns where the matrix mirrors. Rare, so the matrices are summed once more.
#[inline(always)]
fn hands<S: Simd, M: Mode>(s: S, mode: M, call: Call<'_>, begins: &[u32; GROUP + 1]) -> Option<[f32; GROUP]> {
    let mut hands = [1.0; GROUP];
    for (hand, ends) in hands.iter_mut().zip(begins.windows(2)) {
        let m = blend(s, mode, call.rows.row(ends[0], ends[1])?, call.matrices)?;
        *hand = inverse_transpose(s, &columns(m)).1;
    }
    Some(hands)
}

/// The directions of a group, before they have length one.
struct Turned<S: Simd> {
    normals: [f32x8<S>; 4],
    tangents: [f32x8<S>; 4],
}

/// Moves the positions of one pair and turns its tangents by `m`, its normals by `own`.
#[inline(always)]
fn skin_pair<S: Simd, M: Mode, const FRAMES: bool>(
    s: S,
    mode: M,
    frames: Frames,
    bind: &Group<'_>,
    pair: usize,
    [m, own]: [&TwoMatrices<S>; 2],
    positions: &mut [f32; PACKED],
    turned: &mut Turned<S>,
) {
    store_two(positions, pair, move_points(mode, m, load_two(s, bind.positions, pair)));
    if FRAMES && frames.normals != Normals::None {
        turned.normals[pair] = turn(mode, own, load_two(s, bind.normals, pair));
    }
    if FRAMES && frames.tangents {
        turned.tangents[pair] = turn(mode, m, two_tangents(s, bind.tangents, pair));
    }
}

/// A group whose vertices have `K` influences each, and whose normals have no matrices of their own.
#[inline(always)]
fn skin_even<S: Simd, M: Mode, const FRAMES: bool, const K: usize>(
    s: S,
    mode: M,
    call: Call<'_>,
    bind: &Group<'_>,
    positions: &mut [f32; PACKED],
    turned: &mut Turned<S>,
) -> Option<()> {
    let (joints, weights) = call.rows.eight::<K>(bind.begins[0])?;
    for pair in 0..GROUP / 2 {
        let a = blend_even(s, mode, &joints[2 * pair], &weights[2 * pair], call.matrices)?;
        let b = blend_even(s, mode, &joints[2 * pair + 1], &weights[2 * pair + 1], call.matrices)?;
        let m = join(a, b);
        skin_pair::<_, _, FRAMES>(s, mode, call.frames, bind, pair, [&m, &m], positions, turned);
    }
    Some(())
}

/// Any group.
#[inline(always)]
fn skin_mixed<S: Simd, M: Mode, const FRAMES: bool>(
    s: S,
    mode: M,
    call: Call<'_>,
    bind: &Group<'_>,
    positions: &mut [f32; PACKED],
    turned: &mut Turned<S>,
) -> Option<()> {
    for pair in 0..GROUP / 2 {
        let middle = bind.begins[2 * pair + 1];
        let rows = [
            call.rows.row(bind.begins[2 * pair], middle)?,
            call.rows.row(middle, bind.begins[2 * pair + 2])?,
        ];
        let [a, b] = [blend(s, mode, rows[0], call.matrices)?, blend(s, mode, rows[1], call.matrices)?];
        let m = join(a, b);
        let own = match call.frames.normals {
            Normals::Own if FRAMES => {
                let a = blend(s, mode, rows[0], call.normal_matrices)?;
                join(a, blend(s, mode, rows[1], call.normal_matrices)?)
            }
            Normals::Cofactors if FRAMES => {
                let (a, b) = (inverse_transpose(s, &columns(a)).0, inverse_transpose(s, &columns(b)).0);
                [a[0].combine(b[0]), a[1].combine(b[1]), a[2].combine(b[2]), a[3].combine(b[3])]
            }
            _ => m,
        };
        skin_pair::<_, _, FRAMES>(s, mode, call.frames, bind, pair, [&m, &own], positions, turned);
    }
    Some(())
}

#[inline(always)]
fn skin_group<S: Simd, M: Mode, const FRAMES: bool>(
    s: S,
    mode: M,
    call: Call<'_>,
    bind: &Group<'_>,
    posed: GroupMut<'_>,
) -> Option<()> {
    let (with_normals, with_tangents) = (call.frames.normals != Normals::None, call.frames.tangents);
    let zero = f32x8::splat(s, 0.0);
    let mut turned = Turned { normals: [zero; 4], tangents: [zero; 4] };

    let count = bind.begins[1].wrapping_sub(bind.begins[0]);
    let counts = u32x8::from_slice(s, &bind.begins[1..]) - u32x8::from_slice(s, &bind.begins[..GROUP]);
    let plain = matches!(call.frames.normals, Normals::None | Normals::Blended);
    let even = plain && count <= call.rows.most && counts.simd_eq(u32x8::splat(s, count)).all_true();
    match if even { count } else { 0 } {
        1 => skin_even::<_, _, FRAMES, 1>(s, mode, call, bind, posed.positions, &mut turned)?,
        2 => skin_even::<_, _, FRAMES, 2>(s, mode, call, bind, posed.positions, &mut turned)?,
        4 => skin_even::<_, _, FRAMES, 4>(s, mode, call, bind, posed.positions, &mut turned)?,
        _ => skin_mixed::<_, _, FRAMES>(s, mode, call, bind, posed.positions, &mut turned)?,
    }
    if FRAMES && with_normals {
        for (pair, both) in unit(s, mode, turned.normals).into_iter().enumerate() {
            store_two(posed.normals, pair, both);
        }
    }
    if FRAMES && with_tangents {
        let last = f32x8::load_array(s, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]).simd_gt(zero);
        for (pair, both) in unit(s, mode, turned.tangents).into_iter().enumerate() {
            let both = last.select(two_tangents(s, bind.tangents, pair), both);
            both.store_slice(&mut posed.tangents.as_flattened_mut()[8 * pair..8 * pair + 8]);
        }
        if call.frames.mirrors {
            for (tangent, hand) in posed.tangents.iter_mut().zip(hands(s, mode, call, bind.begins)?) {
                tangent[3] *= hand;
            }
        }
    }
    Some(())
}

/// The group that begins at vertex `at`, and room to read one number more.
#[inline(always)]
pub(super) fn packed(vectors: &[[f32; 3]], at: usize) -> Option<&[f32; PACKED]> {
    vectors.get(at..)?.as_flattened().first_chunk()
}

#[inline(always)]
pub(super) fn packed_mut(vectors: &mut [[f32; 3]], at: usize) -> Option<&mut [f32; PACKED]> {
    vectors.get_mut(at..)?.as_flattened_mut().first_chunk_mut()
}

#[inline(always)]
pub(super) fn skin_vertices<S: Simd, M: Mode, const FRAMES: bool>(
    s: S,
    mode: M,
    influences: &Influences,
    most: u32,
    palette: &Palette,
    frames: Frames,
    bind: VertexSlices<'_>,
    posed: VertexSlicesMut<'_>,
) {
    let (starts, joints, weights) = influences.as_slices();
    let (matrices, normal_matrices) = (palette.matrices(), palette.normal_matrices());
    let call = Call { rows: Rows { joints, weights, most }, matrices, normal_matrices, frames };
    // The last one to eight vertices are copied, as nothing behind them could be read; what is missing follows no joint.
    let last = bind.positions.len().saturating_sub(1) / GROUP * GROUP;
    let mut begins = [joints.len() as u32; GROUP + 1];
    copy_front(&mut begins, starts.get(last..).unwrap_or(&[]));
    let (mut tail, mut tail_out) = (Tail::default(), Tail::default());
    copy_front(&mut tail.positions, bind.positions.get(last..).unwrap_or(&[]));
    copy_front(&mut tail.normals, bind.normals.get(last..).unwrap_or(&[]));
    copy_front(&mut tail.tangents, bind.tangents.get(last..).unwrap_or(&[]));
    // What a call does not have gets room to read zeros from and to write nothing to.
    let (no_vectors, no_tangents) = ([0.0; PACKED], [[0.0; 4]; GROUP]);
    let (mut unused_vectors, mut unused_tangents) = (no_vectors, no_tangents);

    for whole in [true, false] {
        // The same code for both: one copy of it is long enough.
        let (starts, bind) = if whole { (starts, bind) } else { (&begins[..], tail.slices()) };
        let posed = if whole {
            VertexSlicesMut {
                positions: &mut *posed.positions,
                normals: &mut *posed.normals,
                tangents: &mut *posed.tangents,
            }
        } else {
            tail_out.slices_mut()
        };
        let groups = if whole { last / GROUP } else { 1 };
        for at in (0..groups).map(|group| group * GROUP) {
            let Some(begins) = starts.get(at..).and_then(|s| s.first_chunk()) else { return };
            let Some(positions) = packed(bind.positions, at) else { return };
            let Some(posed_positions) = packed_mut(posed.positions, at) else { return };
            let mut group = Group { begins, positions, normals: &no_vectors, tangents: &no_tangents };
            let mut out = GroupMut {
                positions: posed_positions,
                normals: &mut unused_vectors,
                tangents: &mut unused_tangents,
            };
            if FRAMES && frames.normals != Normals::None {
                let Some(normals) = packed(bind.normals, at) else { return };
                group.normals = normals;
                let Some(normals) = packed_mut(posed.normals, at) else { return };
                out.normals = normals;
            }
            if FRAMES && frames.tangents {
                let Some(tangents) = bind.tangents.get(at..).and_then(|t| t.first_chunk()) else { return };
                group.tangents = tangents;
                let to = posed.tangents.get_mut(at..).and_then(|t| t.first_chunk_mut());
                let Some(tangents) = to else { return };
                out.tangents = tangents;
            }
            if skin_group::<_, _, FRAMES>(s, mode, call, &group, out).is_none() {
                return;
            }
        }
    }
    copy_front(posed.positions.get_mut(last..).unwrap_or(&mut []), &tail_out.positions);
    if frames.normals != Normals::None {
        copy_front(posed.normals.get_mut(last..).unwrap_or(&mut []), &tail_out.normals);
    }
    if frames.tangents {
        copy_front(posed.tangents.get_mut(last..).unwrap_or(&mut []), &tail_out.tangents);
    }
}

/// The last vertices, padded to a group and the one behind it.
#[derive(Default)]
struct Tail {
    positions: [[f32; 3]; GROUP + 1],
    normals: [[f32; 3]; GROUP + 1],
    tangents: [[f32; 4]; GROUP],
}

impl Tail {
    #[inline(always)]
    fn slices(&self) -> VertexSlices<'_> {
        VertexSlices { positions: &self.positions, normals: &self.normals, tangents: &self.tangents }
    }

    #[inline(always)]
    fn slices_mut(&mut self) -> VertexSlicesMut<'_> {
        VertexSlicesMut {
            positions: &mut self.positions,
            normals: &mut self.normals,
            tangents: &mut self.tangents,
        }
    }
}

/// Copies as many elements as both have.
#[inline(always)]
pub(super) fn copy_front<T: Copy>(to: &mut [T], from: &[T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}
