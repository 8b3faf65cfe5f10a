//! The kernel of [`skin`](super::skin): eight vertices at a time, two in each step.

use fearless_simd::{f32x4, f32x8, prelude::*};

use super::rows::{Rows, blend, blend_two};
use super::vectors::{inverse_transpose, join, move_points, turn, unit};
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
        *hand = inverse_transpose(s, &m).1;
    }
    Some(hands)
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
    let (mut turned_normals, mut turned_tangents) = ([zero; 4], [zero; 4]);
    for pair in 0..GROUP / 2 {
        let begins = [bind.begins[2 * pair], bind.begins[2 * pair + 1], bind.begins[2 * pair + 2]];
        let [a, b] = blend_two(s, mode, call.rows, begins, call.matrices)?;
        let m = join(&a, &b);
        let positions = load_two(s, bind.positions, pair);
        store_two(posed.positions, pair, move_points(mode, &m, positions));
        if FRAMES && with_normals {
            let normals = load_two(s, bind.normals, pair);
            turned_normals[pair] = match call.frames.normals {
                Normals::Own => {
                    let [a, b] = blend_two(s, mode, call.rows, begins, call.normal_matrices)?;
                    turn(mode, &join(&a, &b), normals)
                }
                Normals::Cofactors => {
                    let (a, b) = (inverse_transpose(s, &a).0, inverse_transpose(s, &b).0);
                    turn(mode, &join(&a, &b), normals)
                }
                _ => turn(mode, &m, normals),
            };
        }
        if FRAMES && with_tangents {
            turned_tangents[pair] = turn(mode, &m, two_tangents(s, bind.tangents, pair));
        }
    }
    if FRAMES && with_normals {
        unit(s, mode, &mut turned_normals);
        for pair in 0..GROUP / 2 {
            store_two(posed.normals, pair, turned_normals[pair]);
        }
    }
    if FRAMES && with_tangents {
        unit(s, mode, &mut turned_tangents);
        let last = f32x8::load_array(s, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]).simd_gt(zero);
        for pair in 0..GROUP / 2 {
            let both = last.select(two_tangents(s, bind.tangents, pair), turned_tangents[pair]);
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
    tail.fill(&bind, last);

    for at in (0..bind.positions.len()).step_by(GROUP) {
        let whole = at < last;
        let bind = Group {
            begins: starts.get(at..).and_then(|s| s.first_chunk()).filter(|_| whole).unwrap_or(&begins),
            positions: packed(bind.positions, at).unwrap_or(&tail.positions),
            normals: packed(bind.normals, at).unwrap_or(&tail.normals),
            tangents: bind
                .tangents
                .get(at..)
                .and_then(|t| t.first_chunk())
                .filter(|_| whole)
                .unwrap_or(&tail.tangents),
        };
        let posed = GroupMut {
            positions: packed_mut(posed.positions, at).unwrap_or(&mut tail_out.positions),
            normals: packed_mut(posed.normals, at).unwrap_or(&mut tail_out.normals),
            tangents: posed
                .tangents
                .get_mut(at..)
                .and_then(|t| t.first_chunk_mut())
                .filter(|_| whole)
                .unwrap_or(&mut tail_out.tangents),
        };
        if skin_group::<_, _, FRAMES>(s, mode, call, &bind, posed).is_none() {
            return;
        }
    }
    copy_front(posed.positions.get_mut(last..).unwrap_or(&mut []), tail_out.positions.as_chunks().0);
    if frames.normals != Normals::None {
        copy_front(posed.normals.get_mut(last..).unwrap_or(&mut []), tail_out.normals.as_chunks().0);
    }
    if frames.tangents {
        copy_front(posed.tangents.get_mut(last..).unwrap_or(&mut []), &tail_out.tangents);
    }
}

/// The last vertices, padded to a group.
struct Tail {
    positions: [f32; PACKED],
    normals: [f32; PACKED],
    tangents: [[f32; 4]; GROUP],
}

impl Default for Tail {
    fn default() -> Self {
        Self { positions: [0.0; PACKED], normals: [0.0; PACKED], tangents: [[0.0; 4]; GROUP] }
    }
}

impl Tail {
    #[inline(always)]
    fn fill(&mut self, bind: &VertexSlices<'_>, from: usize) {
        copy_front(self.positions.as_chunks_mut().0, bind.positions.get(from..).unwrap_or(&[]));
        copy_front(self.normals.as_chunks_mut().0, bind.normals.get(from..).unwrap_or(&[]));
        copy_front(&mut self.tangents, bind.tangents.get(from..).unwrap_or(&[]));
    }
}

/// Copies as many elements as both have.
#[inline(always)]
pub(super) fn copy_front<T: Copy>(to: &mut [T], from: &[T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}
