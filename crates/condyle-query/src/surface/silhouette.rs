//! Which triangles face a light or an eye, and the edges between those that do and those that do not.

use alloc::vec::Vec;

use fearless_simd::{f32x4, f32x8, prelude::*};

use super::{Corners, PATCH, Patch, Surface};
use condyle_base::error::Error;
use condyle_base::simd::{Mode, dispatch, each, transpose_halves};

/// From where a surface is looked at, or lit.
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
    /// A place in model space, as of a lamp or an eye, metres.
    Place([f32; 3]),
    /// So far away in this direction that all rays are parallel, as those of the sun. Of any length but 0.
    Direction([f32; 3]),
}

impl Viewpoint {
    /// The same, with a direction whose products neither overflow nor vanish: times a power of two, so that no bit of it changes.
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

/// What a surface shows of itself: filled by [`silhouette`](silhouette()), and its memory used again by the next call.
#[derive(Debug, Clone, Default)]
pub struct Silhouette {
    edges: Vec<[u32; 2]>,
    /// A word for each patch, a bit for each of its triangles that faces the viewpoint; and an empty one for the other side of open edges.
    facing: Vec<u64>,
    /// Vertices, triangles and edges of the surface.
    counts: [usize; 3],
}

impl Silhouette {
    /// The edges between a triangle that faces the viewpoint and one that does not, or none. Each is two vertices, in the order in which the former
    /// goes through them: seen from the viewpoint, the surface is on the left.
    #[must_use]
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }

    /// How many triangles face the viewpoint.
    #[must_use]
    pub fn facing_count(&self) -> usize {
        self.facing.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Which triangles of a patch do, as bits.
    pub(super) fn facing(&self, patch: usize) -> u64 {
        self.facing[patch]
    }

    /// Whether it can be of this surface.
    pub(super) fn check(&self, surface: &Surface) -> Result<(), Error> {
        Error::check_len("silhouette", self.facing.len().saturating_sub(1), surface.patches.len())?;
        let [counts, whole] = [self.counts, surface.counts()];
        counts.into_iter().zip(whole).try_for_each(|(got, whole)| Error::check_len("silhouette", got, whole))
    }
}

/// The outline of a posed surface, seen from a place or a direction.
///
/// `positions` are the posed ones, as many as the mesh has, in model space like `viewpoint`; `out` receives the edges. Of a [closed](Surface::is_closed)
/// surface they are closed loops, whatever the pose is: at each vertex as many begin as end. A triangle that is seen exactly from its edge,
/// has no area or a corner that is not a number does not face the viewpoint.
///
/// J.M.P. van Waveren, *Shadow Volume Construction*, 2005, has the problem, and the same answer for each edge.
///
/// # Errors
/// [`Error::Length`] if `positions` are not one for each vertex of the mesh; [`Error::NotFinite`] and [`Error::NoDirection`] for a viewpoint that is none.
/// `out` is then unchanged.
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
/// // From below it is a triangle.
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
    // The last one is nothing, for the other side of open edges.
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

/// The edges whose two sides differ.
fn collect(surface: &Surface, Silhouette { edges, facing, .. }: &mut Silhouette) {
    let mut begin = 0;
    for (&Patch { edges: end, .. }, &word) in surface.patches.iter().zip(facing.iter()) {
        let inner = &surface.inner[begin..end as usize];
        begin = end as usize;
        // Most patches are seen as a whole, or not at all.
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

/// An edge as the one of its two triangles that faces the viewpoint goes through it.
#[inline(always)]
fn shown([from, to]: [u32; 2], facing: [u64; 2]) -> Option<[u32; 2]> {
    match facing {
        [1, 0] => Some([from, to]),
        [0, 1] => Some([to, from]),
        _ => None,
    }
}

/// The words of all patches, which are 0 before.
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

/// Which of eight triangles face the viewpoint: whether the way there has a part along the normal.
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

/// The components of eight positions.
#[inline(always)]
pub(super) fn gather<S: Simd>(s: S, corners: &[u32; 8], positions: &[f32]) -> [f32x8<S>; 3] {
    let mut rows = [f32x8::splat(s, 0.0); 4];
    each!(at in [0, 1, 2, 3] => rows[at] = four(s, positions, corners[at]).combine(four(s, positions, corners[at + 4])));
    let [x, y, z, _] = transpose_halves(rows);
    [x, y, z]
}

/// A position, and the number behind it, or before it where there is none.
#[inline(always)]
fn four<S: Simd>(s: S, positions: &[f32], vertex: u32) -> f32x4<S> {
    let at = 3 * vertex as usize;
    if let Some(four) = positions.get(at..at + 4) {
        return f32x4::from_slice(s, four);
    }
    // The last one, which is not read behind its end.
    match positions.last_chunk() {
        Some([x, y, z]) => f32x4::load_array(s, [*x, *y, *z, 0.0]),
        None => f32x4::splat(s, 0.0),
    }
}
