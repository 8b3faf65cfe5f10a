//! Morph targets, which are applied before skinning.
//!
//! # Rejected variants
//!
//! Both were measured with AVX2 on a face of 20,000 vertices with positions and normals, 4 influences per
//! vertex, and 10 active targets of 100.
//!
//! - Skinning each block while it is in the first-level cache: 123 µs, compared with 111 µs for two separate
//!   calls. The morphed vertices stay in the second-level cache, so nothing is saved.
//! - Adding all targets to a group of vertices in registers: 10 % slower. Which targets move a group is a
//!   branch that is mispredicted at every border.

use core::ops::Range;

use fearless_simd::{f32x8, prelude::*};

use crate::mesh::{
    BLOCK_VERTICES, GROUP_VERTICES, MorphBlock, MorphTarget, SkinnedMesh, VertexSlices, VertexSlicesMut,
};
use condyle_base::error::Error;
use condyle_base::simd::{Mode, dispatch};

/// Adds weighted morph targets to the vertices of a mesh.
///
/// `out` receives `base + Σ weight · target` for positions, and for normals and tangents if both `out` and
/// the mesh have them. Tangents keep their handedness. Normals and tangents are not normalised, because
/// [`skin`](crate::skin()) does that. Except for a copy of the mesh, only vertices that are moved by targets
/// with a nonzero weight cost time. The error of a component is at most 6e-8 plus 6e-8 per target. It is
/// relative to the sum of the magnitudes of the vertex and the added terms.
///
/// Weights come from [`sampling::track`](crate::sampling::track) or
/// [`raw_track`](crate::sampling::raw_track). A [`Pose`](crate::Pose) does not hold weights, so if you blend
/// clips, blend their weights too. glTF 2.0, "Morph Targets".
///
/// # Errors
/// [`Error::Length`] if there is not one weight per target, or if an array of `out` does not hold one element
/// per vertex. Normals and tangents may be empty. [`Error::NotFinite`] for a weight that is NaN or infinite.
/// On error `out` is unchanged.
///
/// ```
/// use condyle::{Vertices, example, morph};
///
/// // The morph target lifts the vertices at the elbow, 4 to 7, by 25 cm. Half of it lifts them by 12.5 cm.
/// let mesh = example::mesh();
/// let mut morphed = Vertices::zeroed_like(mesh.vertices());
/// morph(&mesh, &[0.5], morphed.as_slices_mut())?;
/// assert_eq!(mesh.vertices().positions[4], [0.5, 1.5625, 0.0625]);
/// assert_eq!(morphed.positions[4], [0.5, 1.6875, 0.0625]);
/// // `morphed` is the `bind` input of `skin`.
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn morph(mesh: &SkinnedMesh, weights: &[f32], mut out: VertexSlicesMut<'_>) -> Result<(), Error> {
    let count = mesh.vertex_count();
    check_weights(mesh, weights)?;
    let of_count = |what, found| {
        if found == 0 { Ok(()) } else { Error::check_len(what, found, count) }
    };
    Error::check_len("positions", out.positions.len(), count)?;
    of_count("normals", out.normals.len())?;
    of_count("tangents", out.tangents.len())?;
    // Attributes that the mesh does not have stay unchanged.
    let base = mesh.vertices();
    if base.normals.is_empty() {
        out.normals = &mut [];
    }
    if base.tangents.is_empty() {
        out.tangents = &mut [];
    }

    let active = Active::new(mesh, weights);
    let whole = count - count % GROUP_VERTICES;
    for first in (0..whole).step_by(BLOCK_VERTICES) {
        let own = first..whole.min(first + BLOCK_VERTICES);
        active.morph_block(first, part(&base.as_slices(), own.clone()), part_mut(&mut out, own));
    }
    if whole < count {
        morph_tail(&active, part(&base.as_slices(), whole..count), whole, part_mut(&mut out, whole..count));
    }
    Ok(())
}

/// Checks that there is one finite weight for each morph target.
fn check_weights(mesh: &SkinnedMesh, weights: &[f32]) -> Result<(), Error> {
    Error::check_len("weights", weights.len(), mesh.morph_targets().len())?;
    Error::check_finite("weights", weights, 1)
}

/// Returns some of the vertices; attributes that they do not have stay empty.
fn part<'a>(all: &VertexSlices<'a>, vertices: Range<usize>) -> VertexSlices<'a> {
    VertexSlices {
        positions: all.positions.get(vertices.clone()).unwrap_or_default(),
        normals: all.normals.get(vertices.clone()).unwrap_or_default(),
        tangents: all.tangents.get(vertices).unwrap_or_default(),
    }
}

fn part_mut<'a>(all: &'a mut VertexSlicesMut<'_>, vertices: Range<usize>) -> VertexSlicesMut<'a> {
    VertexSlicesMut {
        positions: all.positions.get_mut(vertices.clone()).unwrap_or_default(),
        normals: all.normals.get_mut(vertices.clone()).unwrap_or_default(),
        tangents: all.tangents.get_mut(vertices).unwrap_or_default(),
    }
}

/// Copies as many vertices of each attribute as the smaller side holds.
fn copy(from: VertexSlices<'_>, to: &mut VertexSlicesMut<'_>) {
    fn each<T: Copy>(from: &[T], to: &mut [T]) {
        let count = from.len().min(to.len());
        to[..count].copy_from_slice(&from[..count]);
    }
    each(from.positions, to.positions);
    each(from.normals, to.normals);
    each(from.tangents, to.tangents);
}

/// Morphs the vertices after the last whole group with the same arithmetic, in padded arrays.
fn morph_tail(active: &Active<'_>, base: VertexSlices<'_>, first: usize, mut out: VertexSlicesMut<'_>) {
    let (mut positions, mut normals) = ([[0.0; 3]; GROUP_VERTICES], [[0.0; 3]; GROUP_VERTICES]);
    let mut tangents = [[0.0; 4]; GROUP_VERTICES];
    let padded =
        VertexSlicesMut { positions: &mut positions, normals: &mut normals, tangents: &mut tangents };
    active.morph_block(first, base, padded);
    copy(VertexSlices { positions: &positions, normals: &normals, tangents: &tangents }, &mut out);
}

/// Maximum number of active targets that are listed once per call. A face has about a dozen.
const LISTED: usize = 32;

/// The targets of a mesh with a nonzero weight, in the order of the document.
struct Active<'a> {
    listed: [Option<(&'a MorphTarget, f32)>; LISTED],
    count: usize,
    /// The targets after the listed ones. They are filtered again for each block, which costs little compared
    /// with adding that many.
    rest: (&'a [MorphTarget], &'a [f32]),
}

impl<'a> Active<'a> {
    fn new(mesh: &'a SkinnedMesh, weights: &'a [f32]) -> Self {
        let targets = mesh.morph_targets();
        let mut it = Self { listed: [None; LISTED], count: 0, rest: (&[], &[]) };
        for (at, (target, &weight)) in targets.iter().zip(weights).enumerate() {
            if weight == 0.0 {
                continue;
            }
            let Some(slot) = it.listed.get_mut(it.count) else {
                it.rest = (&targets[at..], &weights[at..]);
                break;
            };
            *slot = Some((target, weight));
            it.count += 1;
        }
        it
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = (&'a MorphTarget, f32)> + '_ {
        let rest = self.rest.0.iter().zip(self.rest.1.iter().copied()).filter(|(_, weight)| *weight != 0.0);
        self.listed[..self.count].iter().flatten().copied().chain(rest)
    }

    /// Writes the vertices from `first` on, with the targets added. `first` is a multiple of
    /// [`GROUP_VERTICES`], and `out` holds whole groups of one block. If `base` ends earlier, the targets are
    /// added to the previous content of `out`.
    fn morph_block(&self, first: usize, base: VertexSlices<'_>, mut out: VertexSlicesMut<'_>) {
        copy(base, &mut out);
        if self.count > 0 {
            dispatch!(|s, mode| add_block(s, mode, self, first, out));
        }
    }
}

#[inline(always)]
fn add_block<S: Simd, M: Mode>(s: S, mode: M, active: &Active<'_>, first: usize, out: VertexSlicesMut<'_>) {
    let VertexSlicesMut { positions, normals, tangents } = out;
    let (positions, _) = positions.as_flattened_mut().as_chunks_mut();
    let (normals, _) = normals.as_flattened_mut().as_chunks_mut();
    let (tangents, _) = tangents.as_flattened_mut().as_chunks_mut();
    for (target, weight) in active.iter() {
        let weight = f32x8::splat(s, weight);
        let moved = target.block_from(first);
        add(s, mode, positions, &target.positions, moved, weight);
        add(s, mode, normals, &target.normals, moved, weight);
        add(s, mode, tangents, &target.tangents, moved, weight);
    }
}

/// Computes `out += delta · weight` for the groups of a block that a target moves, run by run of adjacent
/// groups. Targets and meshes may lack attributes.
#[inline(always)]
fn add<S: Simd, M: Mode, const N: usize>(
    s: S,
    mode: M,
    out: &mut [[f32; N]],
    deltas: &[[f32; N]],
    moved: MorphBlock,
    weight: f32x8<S>,
) {
    let MorphBlock { first, mut groups } = moved;
    let (mut from, mut to) = (first as usize, 0);
    while groups != 0 {
        let gap = groups.trailing_zeros();
        groups >>= gap;
        to += gap as usize;
        let run = groups.trailing_ones();
        groups = groups.checked_shr(run).unwrap_or(0);
        // The last, incomplete group of a mesh may belong to the tail.
        let run = (run as usize).min(out.len().saturating_sub(to));
        let (Some(out), Some(deltas)) = (out.get_mut(to..to + run), deltas.get(from..from + run)) else {
            return;
        };
        let (out, _) = out.as_flattened_mut().as_chunks_mut::<8>();
        let (deltas, _) = deltas.as_flattened().as_chunks::<8>();
        for (out, delta) in out.iter_mut().zip(deltas) {
            let sum = mode.madd(f32x8::load_array_ref(s, delta), weight, f32x8::load_array_ref(s, out));
            sum.store_array(out);
        }
        (from, to) = (from + run, to + run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Influences, MorphDelta, MorphDeltas, Vertices};
    use crate::testing::reference;
    use crate::testing::{Random, SIZES, assert_close, tries};
    use condyle_base::simd::{Dispatch, Numeric};
    use std::{vec, vec::Vec};

    fn morphed(mesh: &SkinnedMesh, weights: &[f32]) -> Vertices {
        let mut out = Vertices::zeroed_like(mesh.vertices());
        morph(mesh, weights, out.as_slices_mut()).expect("sizes agree");
        out
    }

    #[test]
    fn every_size_is_the_formula() {
        for &vertices in SIZES {
            let mesh = Random(vertices as u64).mesh(vertices, 3);
            let weights = [0.3, -1.0, 2.5];
            let [positions, normals, tangents] = reference::morph(&mesh, &weights);
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| morphed(&mesh, &weights));
                for v in 0..vertices {
                    let case = format_args!("{dispatch}, vertex {v} of {vertices}");
                    assert_close(&got.positions[v], &positions[v], 2.5e-7, case);
                    assert_close(&got.normals[v], &normals[v], 2.5e-7, case);
                    assert_close(&got.tangents[v][..3], &tangents[v], 2.5e-7, case);
                    assert_eq!(got.tangents[v][3], mesh.vertices().tangents[v][3], "{case}");
                }
            }
        }
    }

    /// Targets that each move runs of vertices and single ones. Some move only normals or tangents, and some
    /// move nothing.
    fn face(random: &mut Random, vertices: usize, targets: usize) -> SkinnedMesh {
        let bare = random.mesh(vertices, 1).vertices().clone();
        let mut list = |wanted: bool| -> Vec<(u32, [f32; 3])> {
            let (first, length) = (random.below(vertices + 1), 1 + random.below(vertices / 3 + 1));
            let run = first..vertices.min(first + length);
            let single = [random.below(vertices.max(1)), vertices.saturating_sub(1)];
            let all = run.chain(single).filter(|&v| wanted && v < vertices);
            all.map(|v| (v as u32, random.vector(0.3))).collect()
        };
        let targets = (0..targets).map(|k| {
            let lists = [list(k % 5 < 3), list(k % 5 == 1 || k % 5 == 3), list(k % 5 == 2)];
            let [positions, normals, tangents] = &lists;
            let deltas = MorphDeltas { positions, normals, tangents };
            MorphTarget::from_sparse(vertices, deltas).expect("finite")
        });
        let targets = targets.collect();
        SkinnedMesh::new(bare, Influences::rigid(vertices as u32), vec![], targets).expect("one number each")
    }

    /// Adds one target after another to the whole mesh, one number at a time.
    fn plain(mesh: &SkinnedMesh, weights: &[f32]) -> Vertices {
        let mut out = mesh.vertices().clone();
        for (target, &weight) in mesh.morph_targets().iter().zip(weights).filter(|(_, w)| **w != 0.0) {
            for (vertex, MorphDelta { position, normal, tangent }) in target.deltas() {
                let add = |out: &mut [f32], delta: [f32; 3]| {
                    out.iter_mut().zip(delta).for_each(|(out, delta)| *out += delta * weight);
                };
                let vertex = vertex as usize;
                add(&mut out.positions[vertex], position);
                add(&mut out.normals[vertex], normal);
                add(&mut out.tangents[vertex], tangent);
            }
        }
        out
    }

    /// More targets than are listed, and vertex counts around block borders: the bits depend on neither.
    #[test]
    fn the_sum_is_the_same_in_blocks() {
        let targets = LISTED + 9;
        let sizes: &[usize] = if cfg!(miri) { &[515] } else { &[0, 1, 7, 8, 255, 511, 512, 513, 1031] };
        for &vertices in sizes {
            let mut random = Random(vertices as u64 + 7);
            let mesh = face(&mut random, vertices, targets);
            // All targets, a few, only the last, or none.
            for one_in in [1, 3, targets, usize::MAX] {
                let weight =
                    |k: usize| if (k + 1).is_multiple_of(one_in) { 0.1 + k as f32 / 16.0 } else { 0.0 };
                let weights: Vec<f32> = (0..targets).map(weight).collect();
                let [positions, normals, tangents] = reference::morph(&mesh, &weights);
                let want = plain(&mesh, &weights);
                for dispatch in Dispatch::all() {
                    let got = dispatch.scope(|| morphed(&mesh, &weights));
                    let case = format_args!("{dispatch}, {vertices} vertices, one target in {one_in}");
                    if dispatch.numeric() == Numeric::Portable {
                        assert_eq!(got, want, "{case}");
                    }
                    for v in 0..vertices {
                        assert_close(&got.positions[v], &positions[v], 6e-6, case);
                        assert_close(&got.normals[v], &normals[v], 6e-6, case);
                        assert_close(&got.tangents[v][..3], &tangents[v], 6e-6, case);
                    }
                }
            }
        }
    }

    /// Only positions, as hit tests use them, and a mesh that has only positions.
    #[test]
    fn attributes_that_are_not_there_are_left_out() {
        let vertices = tries(703);
        let mesh = face(&mut Random(5), vertices, 5);
        let weights = [0.5; 5];
        let want = morphed(&mesh, &weights);
        let mut positions = vec![[0.0; 3]; vertices];
        let out = VertexSlicesMut { positions: &mut positions, ..VertexSlicesMut::default() };
        morph(&mesh, &weights, out).expect("sizes agree");
        assert_eq!(positions, want.positions);

        let bare = Vertices { positions: mesh.vertices().positions.clone(), ..Vertices::default() };
        let targets = mesh.morph_targets().to_vec();
        let bare =
            SkinnedMesh::new(bare, mesh.influences().clone(), vec![], targets).expect("one number each");
        let mut out = Vertices::zeroed_like(mesh.vertices());
        morph(&bare, &weights, out.as_slices_mut()).expect("sizes agree");
        assert_eq!(out, Vertices { positions: want.positions, ..Vertices::zeroed_like(mesh.vertices()) });
    }

    #[test]
    fn weights_of_zero_leave_the_mesh_exactly() {
        let mesh = Random(1).mesh(33, 3);
        assert_eq!(morphed(&mesh, &[0.0, -0.0, 0.0]), *mesh.vertices());
    }

    #[test]
    fn wrong_sizes_and_weights_are_refused() {
        let mesh = Random(1).mesh(5, 2);
        let mut out = Vertices::zeroed_like(mesh.vertices());
        let refused = morph(&mesh, &[1.0; 2], out.as_slices_mut());
        assert_eq!(refused, Err(Error::Length { what: "weights", found: 2, needed: 3 }));
        let refused = morph(&mesh, &[1.0, f32::NAN, 0.0], out.as_slices_mut());
        assert_eq!(refused, Err(Error::NotFinite { what: "weights", at: 1 }));
        out.normals.pop();
        let refused = morph(&mesh, &[1.0; 3], out.as_slices_mut());
        assert_eq!(refused, Err(Error::Length { what: "normals", found: 4, needed: 5 }));
    }
}
