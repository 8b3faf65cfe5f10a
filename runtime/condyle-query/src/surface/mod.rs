//! Surface queries on posed meshes: silhouettes, shadow volumes, normals, area and volume.
//!
//! A [`Surface`] records which triangles meet along which edges. Build it once from the mesh in its bind
//! pose; it is the same in every pose. Then use it with the positions of each pose, as written by
//! [`skin`](condyle::skin()):
//!
//! - [`silhouette`](silhouette()) towards a light or an eye, and from it a [`shadow_volume`];
//! - [`normals`](normals()) from the posed triangles, as an alternative to skinned normals;
//! - [`area`], [`volume`], and [`stretch`] of each triangle, for tools.

mod adjacency;
mod measure;
mod normals;
mod shadow;
mod silhouette;
#[cfg(test)]
mod tests;
mod weld;

use alloc::vec::Vec;

pub use self::measure::{area, stretch, volume};
pub use self::normals::normals;
pub use self::shadow::{ShadowVolume, shadow_volume};
pub use self::silhouette::{Silhouette, Viewpoint, silhouette};
use condyle::mesh::SkinnedMesh;

/// Adjacency of a mesh: the triangles that meet along each edge, in every pose.
///
/// Vertices that coincide in every pose count as one place. These have the same position, influences and
/// morph targets; exporters split them where texture coordinates or normals differ. Triangles with two
/// corners at one place are dropped, because they never have an area.
///
/// Two triangles meet along an edge that they traverse in opposite directions. If more than two share it,
/// they are paired in the order of the mesh. An edge without such a partner is open: the mesh has a border
/// there, or its triangles have inconsistent winding.
///
/// ```
/// use condyle_query::surface::Surface;
/// use condyle::{Influences, SkinnedMesh, Vertices};
///
/// // A tetrahedron, and the same tetrahedron without its last side.
/// let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
/// let sides = [0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3];
/// let of = |sides: &[u32]| {
///     let vertices = Vertices { positions: positions.clone(), ..Vertices::default() };
///     SkinnedMesh::new(vertices, Influences::rigid(4), sides.to_vec(), vec![])
/// };
/// let whole = Surface::new(&of(&sides)?);
/// assert!(whole.is_closed() && whole.edge_count() == 6);
/// let open = Surface::new(&of(&sides[..9])?);
/// assert!(open.open_edges().eq([[2, 3], [3, 0], [0, 2]]) || open.open_edges().count() == 3);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone)]
pub struct Surface {
    /// First vertex at the place of each vertex, and the first vertex there with the same normal.
    places: Vec<u32>,
    smooth: Vec<u32>,
    patches: Vec<Patch>,
    /// Triangles in groups of eight, as many groups as each patch needs. The last group of a patch is padded
    /// with triangles whose corners are equal.
    corners: Vec<Corners>,
    triangle_count: usize,
    /// Edges within a patch.
    inner: Vec<InnerEdge>,
    /// Edges between patches, and open edges.
    outer: Vec<OuterEdge>,
    open_count: usize,
}

/// First, second and third corners of eight triangles. Each is the first vertex with its place and normal.
type Corners = [[u32; 8]; 3];

/// Up to 64 adjacent triangles, so that a flag of each is a bit of a `u64`.
#[derive(Clone, Copy)]
struct Patch {
    /// End of the patch's range of groups, and of its range of inner edges.
    groups: u32,
    edges: u32,
}

/// Edge between two triangles of one patch.
#[derive(Clone, Copy)]
struct InnerEdge {
    /// Vertices in the order in which the first triangle traverses them.
    ends: [u32; 2],
    /// Indices of the triangles in the patch.
    triangles: [u8; 2],
}

/// Edge between triangles of different patches.
#[derive(Clone, Copy)]
struct OuterEdge {
    ends: [u32; 2],
    /// Triangles as `64 * patch + index in the patch`. The second triangle of an open edge is in an empty
    /// patch after the last one.
    triangles: [u32; 2],
}

/// Maximum number of triangles in a patch.
const PATCH: usize = 64;

impl Surface {
    /// Builds the surface of a mesh in its bind pose in O(n log n).
    #[must_use]
    pub fn new(mesh: &SkinnedMesh) -> Self {
        let (places, smooth) = weld::places(mesh);
        let indices: Vec<u32> = match mesh.indices() {
            [] => (0..mesh.vertex_count() as u32 / 3 * 3).collect(),
            indices => indices.to_vec(),
        };
        let place = |vertex: u32| places[vertex as usize];
        let all = indices.as_chunks::<3>().0.iter();
        let with_area = all.filter(|corners| {
            let [a, b, c] = corners.map(place);
            a != b && b != c && c != a
        });
        let triangles: Vec<_> = with_area.map(|corners| corners.map(|at| smooth[at as usize])).collect();
        adjacency::build(places, smooth, &triangles)
    }

    /// Returns the number of vertices of the mesh.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of triangles that can have an area.
    #[must_use]
    pub fn triangle_count(&self) -> usize {
        self.triangle_count
    }

    /// Returns the number of edges, each counted once.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.inner.len() + self.outer.len()
    }

    /// Numbers of vertices, triangles and edges.
    fn counts(&self) -> [usize; 3] {
        [self.vertex_count(), self.triangle_count(), self.edge_count()]
    }

    /// Returns whether every edge is between two triangles with consistent winding. Silhouettes are then
    /// closed loops, and the surface has an inside.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.open_count == 0
    }

    /// Returns the edges that have only one triangle, as pairs of vertices in the order in which the triangle
    /// traverses them.
    pub fn open_edges(&self) -> impl Iterator<Item = [u32; 2]> {
        let nowhere = (self.patches.len() * PATCH) as u32;
        self.outer.iter().filter(move |edge| edge.triangles[1] == nowhere).map(|edge| edge.ends)
    }

    /// Returns the triangles, not in the order of the mesh. Each corner is the first of the vertices at its
    /// place.
    pub fn triangles(&self) -> impl Iterator<Item = [u32; 3]> {
        let all = self.corners.iter().flat_map(|[a, b, c]| (0..8).map(|lane| [a[lane], b[lane], c[lane]]));
        all.filter(|[a, b, _]| a != b).map(|corners| corners.map(|vertex| self.places[vertex as usize]))
    }

    /// Groups of each patch.
    fn groups(&self) -> impl Iterator<Item = &[Corners]> {
        let mut rest = &self.corners[..];
        let mut begin = 0;
        self.patches.iter().map(move |patch| {
            let (groups, after) = rest.split_at((patch.groups - begin) as usize);
            (rest, begin) = (after, patch.groups);
            groups
        })
    }
}

/// Prints the counts, not the contents.
impl core::fmt::Debug for Surface {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut all = f.debug_struct("Surface");
        all.field("vertices", &self.vertex_count()).field("triangles", &self.triangle_count);
        all.field("edges", &self.edge_count()).field("open_edges", &self.open_count).finish()
    }
}
