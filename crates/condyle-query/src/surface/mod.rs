//! What the triangles of a posed mesh are together: the outline that they show, the shadow that they cast, their normals, their
//! area and volume.
//!
//! [`Surface`] is which triangles meet along which edges. It is found once from the mesh in its bind pose, as no pose changes it; then
//! each pose's positions, as [`skin`](condyle::skin()) writes them, have
//!
//! - a [`silhouette`](silhouette()) towards a light or an eye, and with it a [`shadow_volume`];
//! - [`normals`](normals()) of the triangles themselves, where those that skinning turned are not wanted;
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

/// Which triangles of a mesh meet along which edges, in every pose.
///
/// Vertices that lie together in every pose count as one place: those with the same position, influences and morph targets, as exporters
/// split them where texture coordinates or normals differ. Triangles with two corners in one place are left out, as they never
/// have an area.
///
/// Two triangles meet along an edge that they run through in opposite directions. Where more than two do, they are paired as they come. An edge that
/// has no such partner is open: there the mesh has a border, or triangles that do not agree on which side is out.
///
/// ```
/// use condyle_query::surface::Surface;
/// use condyle::{Influences, SkinnedMesh, Vertices};
///
/// // A tetrahedron, and the same without its last side.
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
    /// For each vertex the first one of those at its place, and of those that have its normal there as well.
    places: Vec<u32>,
    smooth: Vec<u32>,
    patches: Vec<Patch>,
    /// Triangles by eights, as many groups as each patch needs. The last group of a patch is filled up with triangles of one point.
    corners: Vec<Corners>,
    triangle_count: usize,
    /// Edges within a patch.
    inner: Vec<InnerEdge>,
    /// Edges between patches, and open ones.
    outer: Vec<OuterEdge>,
    open_count: usize,
}

/// The corners of eight triangles: the first ones, the second ones, the third ones. Each is the first vertex that has its place and normal.
type Corners = [[u32; 8]; 3];

/// Triangles that lie together, at most 64, so that what is known of each is a bit of a word.
#[derive(Clone, Copy)]
struct Patch {
    /// Where its groups of triangles end, and its inner edges.
    groups: u32,
    edges: u32,
}

/// An edge between two triangles of one patch.
#[derive(Clone, Copy)]
struct InnerEdge {
    /// In the order in which the first triangle goes through them.
    ends: [u32; 2],
    /// Which of the patch.
    triangles: [u8; 2],
}

/// An edge between triangles of different patches.
#[derive(Clone, Copy)]
struct OuterEdge {
    ends: [u32; 2],
    /// Patch and place in it, 64 times the former. Of an open edge the second one is in the patch behind the last one, where nothing is.
    triangles: [u32; 2],
}

/// Triangles in a patch.
const PATCH: usize = 64;

impl Surface {
    /// Of a mesh in its bind pose. The time is in proportion to n log n of its size.
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

    /// Vertices of the mesh.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.places.len()
    }

    /// Triangles that can have an area.
    #[must_use]
    pub fn triangle_count(&self) -> usize {
        self.triangle_count
    }

    /// Edges, each counted once.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.inner.len() + self.outer.len()
    }

    /// Vertices, triangles and edges.
    fn counts(&self) -> [usize; 3] {
        [self.vertex_count(), self.triangle_count(), self.edge_count()]
    }

    /// Whether every edge lies between two triangles that agree on which side is out. Then silhouettes are closed loops, and the surface has an inside.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.open_count == 0
    }

    /// The edges of one triangle only, as pairs of vertices, in the order in which it goes through them.
    pub fn open_edges(&self) -> impl Iterator<Item = [u32; 2]> {
        let nowhere = (self.patches.len() * PATCH) as u32;
        self.outer.iter().filter(move |edge| edge.triangles[1] == nowhere).map(|edge| edge.ends)
    }

    /// The triangles, as places: the first of the vertices that lie there together. Not in the order of the mesh.
    pub fn triangles(&self) -> impl Iterator<Item = [u32; 3]> {
        let all = self.corners.iter().flat_map(|[a, b, c]| (0..8).map(|lane| [a[lane], b[lane], c[lane]]));
        all.filter(|[a, b, _]| a != b).map(|corners| corners.map(|vertex| self.places[vertex as usize]))
    }

    /// The groups of each patch.
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

/// How much there is of each, not what.
impl core::fmt::Debug for Surface {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut all = f.debug_struct("Surface");
        all.field("vertices", &self.vertex_count()).field("triangles", &self.triangle_count);
        all.field("edges", &self.edge_count()).field("open_edges", &self.open_count).finish()
    }
}
