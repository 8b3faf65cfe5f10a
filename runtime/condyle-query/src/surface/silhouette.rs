//! Triangles that face a light or an eye, and the edges between facing and other triangles.

use alloc::vec::Vec;

use fearless_simd::{f32x4, f32x8, prelude::*};

use super::{Corners, PATCH, Patch, Surface};
use condyle_base::error::Error;
use condyle_base::simd::{Mode, dispatch, each, transpose_halves};

/// Position or direction from which a surface is seen or lit.
///
/// ```
/// use condyle_query::surface::Viewpoint;
///
/// let lamp = Viewpoint::Place([0.0, 2.5, 0.0]);
/// let sun = Viewpoint::Direction([0.3, 1.0, 0.2]);
/// assert_ne!(lamp, sun);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Viewpoint {
    /// Point in model space, such as a lamp or an eye, in metres.
    Place([f32; 3]),
    /// Direction towards an infinitely distant viewpoint such as the sun, of any length except 0.
    Direction([f32; 3]),
}

impl Viewpoint {
    /// Scales a direction by a power of two, which is exact, so that its products neither overflow nor
    /// underflow.
    fn in_reach(self) -> Self {
        let Self::Direction(v) = self else { return self };
        let most = v.iter().fold(0.0_f64, |most, &part| most.max(f64::from(part).abs()));
        let exponent = (most.to_bits() >> 52) & 0x7FF;
        let scale = f64::from_bits((2 * 1023 - exponent) << 52);
        Self::Direction(v.map(|part| (f64::from(part) * scale) as f32))
    }

    pub(super) fn check(self) -> Result<(), Error> {
        let (Self::Place(v) | Self::Direction(v)) = self;
        Error::check_finite("viewpoint", &v, 1)?;
        let is_direction = matches!(self, Self::Direction(_));
        if is_direction && v == [0.0; 3] { Err(Error::NoDirection { what: "viewpoint" }) } else { Ok(()) }
    }
}

/// Silhouette of a surface, filled by [`silhouette`](silhouette()). Each call reuses the memory.
#[derive(Debug, Clone, Default)]
pub struct Silhouette {
    edges: Vec<[u32; 2]>,
    /// One word per patch, with a bit for each triangle that faces the viewpoint, and an empty word for the
    /// missing side of open edges.
    facing: Vec<u64>,
    /// Numbers of vertices, triangles and edges of the surface.
    counts: [usize; 3],
}

impl Silhouette {
    /// Returns the edges with exactly one facing triangle; their other side faces away or is open.
    ///
    /// Each edge is two vertices in the order in which the facing triangle traverses them. Seen from the
    /// viewpoint, the surface is on the left.
    #[must_use]
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }

    /// Returns the number of triangles that face the viewpoint.
    #[must_use]
    pub fn facing_count(&self) -> usize {
        self.facing.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Bit mask of the facing triangles of a patch.
    pub(super) fn facing(&self, patch: usize) -> u64 {
        self.facing[patch]
    }

    /// Returns an error if the silhouette cannot belong to this surface.
    pub(super) fn check(&self, surface: &Surface) -> Result<(), Error> {
        Error::check_len("silhouette", self.facing.len().saturating_sub(1), surface.patches.len())?;
        let [counts, whole] = [self.counts, surface.counts()];
        counts.into_iter().zip(whole).try_for_each(|(got, whole)| Error::check_len("silhouette", got, whole))
    }
}

/// Computes the silhouette of a posed surface, seen from a point or a direction.
///
/// `positions` holds the posed position of every vertex, in model space like `viewpoint`. `out` receives the
/// edges. For a [closed](Surface::is_closed) surface they form closed loops in every pose: at each vertex, as
/// many edges begin as end. A triangle does not face the viewpoint if it is seen exactly edge-on, has no
/// area, or has a NaN coordinate.
///
/// J.M.P. van Waveren, *Shadow Volume Construction*, 2005, describes the problem and makes the same decision
/// for each edge.
///
/// # Errors
/// [`Error::Length`] if `positions` does not hold one position per vertex. [`Error::NotFinite`] if the
/// viewpoint is not finite; [`Error::NoDirection`] if its direction is zero. `out` is then unchanged.
///
/// ```
/// use condyle_query::surface::{Silhouette, Surface, Viewpoint, silhouette};
/// use condyle::{Influences, SkinnedMesh, Vertices};
///
/// let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
/// let bind = Vertices { positions: positions.clone(), ..Vertices::default() };
/// let sides = vec![0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3];
/// let tetrahedron = SkinnedMesh::new(bind, Influences::rigid(4), sides, vec![])?;
///
/// let surface = Surface::new(&tetrahedron);
/// let mut outline = Silhouette::default();
/// silhouette(&surface, &positions, Viewpoint::Direction([0.0, 0.0, -1.0]), &mut outline)?;
/// // Seen from below, it is a triangle.
/// assert_eq!((outline.facing_count(), outline.edges().len()), (1, 3));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn silhouette(
    surface: &Surface,
    positions: &[[f32; 3]],
    viewpoint: Viewpoint,
    out: &mut Silhouette,
) -> Result<(), Error> {
    Error::check_len("positions", positions.len(), surface.vertex_count())?;
    viewpoint.check()?;
    // The last word stays 0, for the missing side of open edges.
    out.counts = surface.counts();
    out.facing.clear();
    out.facing.resize(surface.patches.len() + 1, 0);
    out.edges.clear();
    out.edges.reserve(surface.edge_count());
    let viewpoint = viewpoint.in_reach();
    dispatch!(|s, mode| mark(s, mode, surface, positions, viewpoint, &mut out.facing));
    collect(surface, out);
    Ok(())
}

/// Collects the edges of which exactly one side faces the viewpoint.
fn collect(surface: &Surface, Silhouette { edges, facing, .. }: &mut Silhouette) {
    let mut begin = 0;
    for (&Patch { edges: end, .. }, &word) in surface.patches.iter().zip(facing.iter()) {
        let inner = &surface.inner[begin..end as usize];
        begin = end as usize;
        // Skips patches in which all or none of the triangles face the viewpoint, which are the most common.
        if word != 0 && word != u64::MAX {
            edges.extend(inner.iter().filter_map(|edge| {
                shown(edge.ends, edge.triangles.map(|triangle| word >> (triangle % 64) & 1))
            }));
        }
    }
    let bit = |triangle: u32| {
        let word = facing.get(triangle as usize / PATCH).copied().unwrap_or(0);
        word >> (triangle % 64) & 1
    };
    edges.extend(surface.outer.iter().filter_map(|edge| shown(edge.ends, edge.triangles.map(bit))));
}

/// Returns a silhouette edge in the direction in which its facing triangle traverses it.
#[inline(always)]
fn shown([from, to]: [u32; 2], facing: [u64; 2]) -> Option<[u32; 2]> {
    match facing {
        [1, 0] => Some([from, to]),
        [0, 1] => Some([to, from]),
        _ => None,
    }
}

/// Sets the facing bits of all patches in `words`, which are 0 before.
#[inline(always)]
fn mark<S: Simd, M: Mode>(
    s: S,
    mode: M,
    surface: &Surface,
    positions: &[[f32; 3]],
    viewpoint: Viewpoint,
    words: &mut [u64],
) {
    let ([x, y, z], near) = match viewpoint {
        Viewpoint::Place(place) => (place, 1.0),
        Viewpoint::Direction(direction) => (direction, 0.0),
    };
    let view = [x, y, z, near].map(|v| f32x8::splat(s, v));
    let mut begin = 0;
    for (patch, word) in surface.patches.iter().zip(words) {
        let groups = surface.corners.get(begin as usize..patch.groups as usize).unwrap_or(&[]);
        begin = patch.groups;
        let mut shift = 0;
        for group in groups {
            *word |= facing(s, mode, group, positions.as_flattened(), view) << shift;
            shift += 8;
        }
    }
}

/// Bit mask of the triangles for which the vector to the viewpoint has a positive component along the normal.
#[inline(always)]
fn facing<S: Simd, M: Mode>(
    s: S,
    mode: M,
    [first, second, third]: &Corners,
    positions: &[f32],
    view: [f32x8<S>; 4],
) -> u64 {
    let [ax, ay, az] = gather(s, first, positions);
    let [bx, by, bz] = gather(s, second, positions);
    let [cx, cy, cz] = gather(s, third, positions);
    let (ux, uy, uz) = (bx - ax, by - ay, bz - az);
    let (vx, vy, vz) = (cx - ax, cy - ay, cz - az);
    let normal = [mode.msub(uy, vz, uz * vy), mode.msub(uz, vx, ux * vz), mode.msub(ux, vy, uy * vx)];
    let [x, y, z, near] = view;
    let (x, y, z) = (x - near * ax, y - near * ay, z - near * az);
    let along = mode.madd(normal[2], z, mode.madd(normal[1], y, normal[0] * x));
    along.simd_gt(f32x8::splat(s, 0.0)).to_bitmask()
}

/// Components of eight positions.
#[inline(always)]
pub(super) fn gather<S: Simd>(s: S, corners: &[u32; 8], positions: &[f32]) -> [f32x8<S>; 3] {
    let mut rows = [f32x8::splat(s, 0.0); 4];
    each!(at in [0, 1, 2, 3] => rows[at] = four(s, positions, corners[at]).combine(four(s, positions, corners[at + 4])));
    let [x, y, z, _] = transpose_halves(rows);
    [x, y, z]
}

/// Loads a position, and the number after it.
#[inline(always)]
fn four<S: Simd>(s: S, positions: &[f32], vertex: u32) -> f32x4<S> {
    let at = 3 * vertex as usize;
    if let Some(four) = positions.get(at..at + 4) {
        return f32x4::from_slice(s, four);
    }
    // The last position is loaded without reading beyond the end.
    match positions.last_chunk() {
        Some([x, y, z]) => f32x4::load_array(s, [*x, *y, *z, 0.0]),
        None => f32x4::splat(s, 0.0),
    }
}
