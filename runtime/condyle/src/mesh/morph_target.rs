//! Sparse morph targets.
//!
//! The constructors take dense or sparse deltas. A target stores groups of eight vertices in which at least
//! one delta is not 0. A bit mask per block lets [`morph`](crate::morph()) find the groups without a search.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::GROUP_VERTICES;
use condyle_base::error::Error;

/// Deltas of a morph target at weight 1, one array per attribute. An empty array has no effect.
///
/// `D` is `[f32; 3]` in an array of all vertices, or `(u32, [f32; 3])`, a vertex index with its delta, in a
/// sparse array.
///
/// ```
/// use condyle::MorphTarget;
/// use condyle::mesh::MorphDeltas;
///
/// // The same target from the deltas of all three vertices, and from the one vertex that moves.
/// let positions = &[[0.0; 3], [0.0, 0.25, 0.0], [0.0; 3]];
/// let dense = MorphTarget::from_dense(3, MorphDeltas { positions, ..MorphDeltas::default() })?;
/// let positions = &[(1, [0.0, 0.25, 0.0])];
/// let sparse = MorphTarget::from_sparse(3, MorphDeltas { positions, ..MorphDeltas::default() })?;
/// assert_eq!(dense, sparse);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MorphDeltas<'a, D> {
    /// Deltas of positions, in metres.
    pub positions: &'a [D],
    /// Deltas of normals.
    pub normals: &'a [D],
    /// Deltas of tangents. The handedness never changes.
    pub tangents: &'a [D],
}

/// Deltas of one vertex at weight 1.
///
/// ```
/// use condyle::MorphTarget;
/// use condyle::mesh::{MorphDelta, MorphDeltas};
///
/// let normals = &[(7, [0.5, 0.0, 0.0])];
/// let target = MorphTarget::from_sparse(9, MorphDeltas { normals, ..MorphDeltas::default() })?;
/// assert_eq!(target.delta(7), MorphDelta { normal: [0.5, 0.0, 0.0], ..MorphDelta::default() });
/// assert_eq!(target.delta(8), MorphDelta::default());
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MorphDelta {
    /// Delta of the position, in metres.
    pub position: [f32; 3],
    /// Delta of the normal.
    pub normal: [f32; 3],
    /// Delta of the tangent. The handedness never changes.
    pub tangent: [f32; 3],
}

/// One morph target: deltas that are added to vertices at weight 1.
///
/// Memory use depends on the vertices that move. For example, 150 face targets that each move a tenth of the
/// face take as much memory as 15 dense ones. Deltas are stored for whole groups of eight vertices. Memory
/// use is smallest if vertices that move together are stored together, which is common.
///
/// ```
/// use condyle::mesh::MorphDeltas;
/// use condyle::{Influences, MorphTarget, SkinnedMesh, Vertices, morph};
///
/// let lip = Vertices { positions: vec![[0.0, 1.5, 0.0]], ..Vertices::default() };
/// let smile = MorphDeltas { positions: &[[0.0, 0.25, 0.0]], ..MorphDeltas::default() };
/// let smile = MorphTarget::from_dense(1, smile)?;
/// let mesh = SkinnedMesh::new(lip, Influences::rigid(1), vec![], vec![smile])?;
///
/// let mut morphed = Vertices::zeroed_like(mesh.vertices());
/// morph(&mesh, &[0.5], morphed.as_slices_mut())?;
/// assert_eq!(morphed.positions, [[0.0, 1.625, 0.0]]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct MorphTarget {
    vertex_count: usize,
    /// Blocks of [`BLOCK_VERTICES`] vertices, up to the last vertex that moves.
    blocks: Vec<MorphBlock>,
    /// Position deltas of each group that moves; empty if no position moves.
    pub(crate) positions: Vec<Group3>,
    /// Normal deltas, in the same layout.
    pub(crate) normals: Vec<Group3>,
    /// Tangent deltas, in the same layout.
    pub(crate) tangents: Vec<Group4>,
}

/// x, y, z of each vertex of a group.
type Group3 = [f32; 3 * GROUP_VERTICES];
/// x, y, z and 0 (for the handedness) of each vertex of a group.
type Group4 = [f32; 4 * GROUP_VERTICES];

/// Vertices per block, with one bit per group. A block stays in the L1 cache while all targets are added.
pub(crate) const BLOCK_VERTICES: usize = 512;
const BLOCK_GROUPS: usize = BLOCK_VERTICES / GROUP_VERTICES;
const _: () = assert!(BLOCK_GROUPS == u64::BITS as usize);

/// Groups of a block that move, and the index of their first deltas.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct MorphBlock {
    pub(crate) first: u32,
    pub(crate) groups: u64,
}

impl MorphBlock {
    /// Returns the index of a group's deltas, or `None` if the group does not move.
    fn find(self, group: usize) -> Option<usize> {
        let bit = 1 << group;
        let before = (self.groups & (bit - 1)).count_ones();
        (self.groups & bit != 0).then_some((self.first + before) as usize)
    }
}

/// Prints the number of moved vertices and the attributes, not the deltas.
impl fmt::Debug for MorphTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("MorphTarget");
        all.field("vertex_count", &self.vertex_count).field("moved_vertices", &self.deltas().count());
        all.field("positions", &self.has_positions()).field("normals", &self.has_normals());
        all.field("tangents", &self.has_tangents()).finish()
    }
}

impl MorphTarget {
    /// Builds a target from the deltas of all vertices. Zero deltas take memory only in a group with other
    /// deltas.
    ///
    /// # Errors
    /// [`Error::Length`] if an array is neither empty nor has one delta per vertex, [`Error::NotFinite`] for
    /// NaN or infinity, [`Error::TooMany`] above 2^32 vertices.
    pub fn from_dense(vertex_count: usize, deltas: MorphDeltas<'_, [f32; 3]>) -> Result<Self, Error> {
        let MorphDeltas { positions, normals, tangents } = deltas;
        for (what, deltas) in NAMES.into_iter().zip([positions, normals, tangents]) {
            if !deltas.is_empty() {
                Error::check_len(what, deltas.len(), vertex_count)?;
            }
            Error::check_finite(what, deltas.as_flattened(), 3)?;
        }
        pack(vertex_count, deltas, |at, &delta| (at, delta))
    }

    /// Builds a target from the deltas of some vertices, as glTF's sparse accessors store them.
    ///
    /// Deltas may be in any order, and each attribute may list different vertices. If a vertex has several
    /// deltas, the last one counts. A target takes 16 bytes for each 512 vertices up to the last one that
    /// moves. Each delta takes up to 96 bytes for positions or normals, and up to 128 for tangents. If
    /// several attributes move, each stores the groups of all of them.
    ///
    /// # Errors
    /// [`Error::Index`] for a vertex that is not below `vertex_count`, [`Error::NotFinite`] for NaN or
    /// infinity, [`Error::TooMany`] above 2^32 vertices.
    pub fn from_sparse(vertex_count: usize, deltas: MorphDeltas<'_, (u32, [f32; 3])>) -> Result<Self, Error> {
        let MorphDeltas { positions, normals, tangents } = deltas;
        for (what, deltas) in NAMES.into_iter().zip([positions, normals, tangents]) {
            for (at, &(vertex, delta)) in deltas.iter().enumerate() {
                if vertex as usize >= vertex_count {
                    return Err(Error::Index { what, at, found: vertex as usize, count: vertex_count });
                }
                if !delta.iter().all(|v| v.is_finite()) {
                    return Err(Error::NotFinite { what, at });
                }
            }
        }
        pack(vertex_count, deltas, |_, &(vertex, delta)| (vertex as usize, delta))
    }

    /// Vertex count of the mesh that the target belongs to.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    /// Whether the target moves any position.
    #[must_use]
    pub fn has_positions(&self) -> bool {
        !self.positions.is_empty()
    }

    /// Whether the target moves any normal.
    #[must_use]
    pub fn has_normals(&self) -> bool {
        !self.normals.is_empty()
    }

    /// Whether the target moves any tangent.
    #[must_use]
    pub fn has_tangents(&self) -> bool {
        !self.tangents.is_empty()
    }

    /// Returns the deltas of a vertex: zeros if the target does not move it.
    #[must_use]
    pub fn delta(&self, vertex: usize) -> MorphDelta {
        let group = vertex % BLOCK_VERTICES / GROUP_VERTICES;
        let at = self.blocks.get(vertex / BLOCK_VERTICES).and_then(|block| block.find(group));
        at.map(|at| self.in_group(at, vertex % GROUP_VERTICES)).unwrap_or_default()
    }

    /// Returns the vertices that the target moves, ascending, with their deltas.
    ///
    /// ```
    /// use condyle::MorphTarget;
    /// use condyle::mesh::MorphDeltas;
    ///
    /// let positions = &[(11, [0.0, 0.5, 0.0]), (3, [0.0, 0.25, 0.0]), (7, [0.0; 3])];
    /// let target = MorphTarget::from_sparse(20, MorphDeltas { positions, ..MorphDeltas::default() })?;
    /// let heights: Vec<_> = target.deltas().map(|(vertex, delta)| (vertex, delta.position[1])).collect();
    /// assert_eq!(heights, [(3, 0.25), (11, 0.5)]);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn deltas(&self) -> impl Iterator<Item = (u32, MorphDelta)> + '_ {
        let groups = (0..).zip(&self.blocks).flat_map(|(block, groups)| {
            let found = move |group| Some((block * BLOCK_GROUPS + group, groups.find(group)?));
            (0..BLOCK_GROUPS).filter_map(found)
        });
        let vertices = groups.flat_map(move |(group, at)| {
            (0..GROUP_VERTICES)
                .map(move |own| ((group * GROUP_VERTICES + own) as u32, self.in_group(at, own)))
        });
        vertices.filter(|(_, delta)| *delta != MorphDelta::default())
    }

    /// Memory use in bytes.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&self.blocks[..])
            + size_of_val(&self.positions[..])
            + size_of_val(&self.normals[..])
            + size_of_val(&self.tangents[..])
    }

    /// Returns the groups that move from `vertex` to the end of its block. `vertex` must be the first of a
    /// group.
    #[inline(always)]
    pub(crate) fn block_from(&self, vertex: usize) -> MorphBlock {
        let MorphBlock { first, groups } =
            self.blocks.get(vertex / BLOCK_VERTICES).copied().unwrap_or_default();
        let passed = vertex % BLOCK_VERTICES / GROUP_VERTICES;
        let before = (groups & ((1 << passed) - 1)).count_ones();
        MorphBlock { first: first + before, groups: groups >> passed }
    }

    fn in_group(&self, group: usize, vertex: usize) -> MorphDelta {
        let three = |deltas: &[Group3]| deltas.get(group).map_or([0.0; 3], |d| d.as_chunks().0[vertex]);
        let [x, y, z, _] = self.tangents.get(group).map_or([0.0; 4], |deltas| deltas.as_chunks().0[vertex]);
        MorphDelta { position: three(&self.positions), normal: three(&self.normals), tangent: [x, y, z] }
    }
}

const NAMES: [&str; 3] = ["morph positions", "morph normals", "morph tangents"];

/// Stores the groups that have at least one non-zero delta.
///
/// `entry` returns the vertex index and the delta of a list element. The caller has checked both.
fn pack<D>(
    vertex_count: usize,
    deltas: MorphDeltas<'_, D>,
    entry: impl Fn(usize, &D) -> (usize, [f32; 3]),
) -> Result<MorphTarget, Error> {
    let limit = u32::MAX as usize;
    if vertex_count > limit {
        return Err(Error::TooMany { what: "vertices of a morph target", found: vertex_count, limit });
    }
    let moving = |list: &[D]| -> usize {
        let moved = list.iter().enumerate().map(|(at, delta)| entry(at, delta)).filter(|it| it.1 != [0.0; 3]);
        moved.map(|(vertex, _)| vertex + 1).max().unwrap_or(0)
    };
    let MorphDeltas { positions, normals, tangents } = deltas;
    let ends = [positions, normals, tangents].map(moving);
    let end = ends.into_iter().max().unwrap_or(0);

    let mut blocks = vec![MorphBlock::default(); end.div_ceil(BLOCK_VERTICES)];
    for list in [positions, normals, tangents] {
        for (vertex, delta) in list.iter().enumerate().map(|(at, delta)| entry(at, delta)) {
            if delta != [0.0; 3] {
                blocks[vertex / BLOCK_VERTICES].groups |= 1 << (vertex % BLOCK_VERTICES / GROUP_VERTICES);
            }
        }
    }
    let mut count = 0;
    for block in &mut blocks {
        block.first = count;
        count += block.groups.count_ones();
    }
    let mut out = MorphTarget { vertex_count, blocks, positions: vec![], normals: vec![], tangents: vec![] };
    let room = |end: usize| if end > 0 { count as usize } else { 0 };
    let [with_positions, with_normals, with_tangents] = ends.map(room);
    out.positions = vec![[0.0; 3 * GROUP_VERTICES]; with_positions];
    out.normals = vec![[0.0; 3 * GROUP_VERTICES]; with_normals];
    out.tangents = vec![[0.0; 4 * GROUP_VERTICES]; with_tangents];
    fill(&out.blocks, &mut out.positions, 3, positions, &entry);
    fill(&out.blocks, &mut out.normals, 3, normals, &entry);
    fill(&out.blocks, &mut out.tangents, 4, tangents, &entry);
    // A later delta of the same vertex can overwrite an earlier one with 0.
    clear_zeros(&mut out.positions);
    clear_zeros(&mut out.normals);
    clear_zeros(&mut out.tangents);
    Ok(out)
}

/// Drops an attribute whose deltas are all 0.
fn clear_zeros<const N: usize>(groups: &mut Vec<[f32; N]>) {
    if groups.as_flattened().iter().all(|v| *v == 0.0) {
        *groups = Vec::new();
    }
}

/// Writes the deltas of one attribute, with a stride of `width` floats per vertex.
fn fill<D, const N: usize>(
    blocks: &[MorphBlock],
    to: &mut [[f32; N]],
    width: usize,
    list: &[D],
    entry: impl Fn(usize, &D) -> (usize, [f32; 3]),
) {
    for (vertex, delta) in list.iter().enumerate().map(|(at, delta)| entry(at, delta)) {
        let group = vertex % BLOCK_VERTICES / GROUP_VERTICES;
        let found = blocks.get(vertex / BLOCK_VERTICES).and_then(|block| block.find(group));
        if let Some(group) = found.and_then(|at| to.get_mut(at)) {
            group[width * (vertex % GROUP_VERTICES)..][..3].copy_from_slice(&delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, SIZES};

    /// Deltas of random vertices, in random order.
    fn some(random: &mut Random, vertices: usize, one_in: usize) -> Vec<(u32, [f32; 3])> {
        let mut list = Vec::new();
        for vertex in 0..vertices as u32 {
            if random.below(one_in) == 0 {
                list.push((vertex, random.vector(1.0)));
            }
        }
        for at in (1..list.len()).rev() {
            list.swap(at, random.below(at + 1));
        }
        list
    }

    fn dense(vertices: usize, list: &[(u32, [f32; 3])]) -> Vec<[f32; 3]> {
        let mut all = vec![[0.0; 3]; vertices];
        list.iter().for_each(|&(vertex, delta)| all[vertex as usize] = delta);
        all
    }

    #[test]
    fn what_goes_in_comes_out_and_nothing_else() {
        for &vertices in SIZES {
            for one_in in [1, 5, 40] {
                let mut random = Random((vertices * one_in) as u64);
                let lists = [(); 3].map(|()| some(&mut random, vertices, one_in));
                let [positions, normals, tangents] = &lists;
                let deltas = MorphDeltas { positions, normals, tangents };
                let sparse = MorphTarget::from_sparse(vertices, deltas).expect("finite");
                let all = lists.each_ref().map(|list| dense(vertices, list));
                let [positions, normals, tangents] = &all;
                let deltas = MorphDeltas { positions, normals, tangents };
                assert_eq!(MorphTarget::from_dense(vertices, deltas), Ok(sparse.clone()));
                let mut moved = Vec::new();
                for vertex in 0..vertices {
                    let [position, normal, tangent] = all.each_ref().map(|list| list[vertex]);
                    let want = MorphDelta { position, normal, tangent };
                    assert_eq!(sparse.delta(vertex), want, "vertex {vertex} of {vertices}");
                    if want != MorphDelta::default() {
                        moved.push((vertex as u32, want));
                    }
                }
                assert!(sparse.deltas().eq(moved), "{vertices} vertices, one in {one_in}");
                assert_eq!(sparse.delta(vertices + 1000), MorphDelta::default());
                assert_eq!(sparse.vertex_count(), vertices);
            }
        }
    }

    #[test]
    fn only_what_moves_takes_memory() {
        let vertices = 20_000;
        let tenth: Vec<_> = (4000..6000).map(|v| (v, [1.0; 3])).collect();
        let deltas = MorphDeltas { positions: &tenth, normals: &tenth, ..MorphDeltas::default() };
        let target = MorphTarget::from_sparse(vertices, deltas).expect("finite");
        assert!(target.byte_count() < 2000 * 24 + 1000, "{} bytes", target.byte_count());
        let zeros = vec![[0.0, -0.0, 0.0]; vertices];
        let deltas = MorphDeltas { normals: &zeros, ..MorphDeltas::default() };
        let still = MorphTarget::from_dense(vertices, deltas).expect("finite");
        assert_eq!(still.byte_count(), size_of::<MorphTarget>());
        assert_eq!([still.has_positions(), still.has_normals(), still.has_tangents()], [false; 3]);
        assert_eq!(still.deltas().count(), 0);
    }

    #[test]
    fn the_last_of_several_deltas_counts() {
        let normals = &[(2, [1.0; 3]), (1, [3.0; 3]), (2, [2.0; 3])];
        let deltas = MorphDeltas { normals, ..MorphDeltas::default() };
        let target = MorphTarget::from_sparse(3, deltas).expect("finite");
        assert_eq!(target.delta(2).normal, [2.0; 3]);
        assert_eq!(
            [target.has_positions(), target.has_normals(), target.has_tangents()],
            [false, true, false]
        );
    }

    #[test]
    fn what_is_taken_back_moves_nothing() {
        let (positions, normals) = (&[(2, [1.0; 3]), (2, [0.0; 3])][..], &[(1, [1.0; 3])][..]);
        let deltas = MorphDeltas { positions, normals, ..MorphDeltas::default() };
        let target = MorphTarget::from_sparse(4, deltas).expect("valid deltas");
        assert!(!target.has_positions() && target.has_normals());
        let target = MorphTarget::from_sparse(4, MorphDeltas { positions, ..MorphDeltas::default() });
        let target = target.expect("valid deltas");
        assert!(!target.has_positions() && target.deltas().next().is_none());
        assert_eq!(target.delta(2), MorphDelta::default());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let what = "morph normals";
        let normals = &[[0.0; 3]; 4][..];
        let deltas = MorphDeltas { normals, ..MorphDeltas::default() };
        let refused = MorphTarget::from_dense(5, deltas);
        assert_eq!(refused, Err(Error::Length { what, found: 4, needed: 5 }));
        let broken = [[0.0; 3], [0.0, f32::INFINITY, 0.0]];
        let deltas = MorphDeltas { normals: &broken, ..MorphDeltas::default() };
        assert_eq!(MorphTarget::from_dense(2, deltas), Err(Error::NotFinite { what, at: 1 }));
        let outside = [(1, [0.0; 3]), (2, [0.0; 3])];
        let deltas = MorphDeltas { normals: &outside, ..MorphDeltas::default() };
        let refused = MorphTarget::from_sparse(2, deltas);
        assert_eq!(refused, Err(Error::Index { what, at: 1, found: 2, count: 2 }));
        let broken = [(0, [f32::NAN, 0.0, 0.0])];
        let deltas = MorphDeltas { normals: &broken, ..MorphDeltas::default() };
        assert_eq!(MorphTarget::from_sparse(2, deltas), Err(Error::NotFinite { what, at: 0 }));
    }
}
