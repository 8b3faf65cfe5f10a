//! Shadow volumes of posed surfaces.

use alloc::vec::Vec;

use super::silhouette::{Silhouette, Viewpoint};
use super::{PATCH, Surface};
use condyle_base::error::Error;
use condyle_base::math::scalar::{sqrt, sqrt_f64};

/// Triangles that enclose a shadow, filled by [`shadow_volume`]. Each call reuses the memory.
#[derive(Debug, Clone, Default)]
pub struct ShadowVolume {
    /// Two homogeneous positions per vertex of the mesh: the vertex, then the far end of its shadow. A fourth
    /// component of 0 marks a point at infinity in the direction of the others.
    pub positions: Vec<[f32; 4]>,
    /// Triangles of three indices each, counter-clockwise from outside.
    pub indices: Vec<u32>,
}

/// Computes the shadow volume of a posed surface. It consists of the triangles that face the light, the same
/// triangles reversed at the far end, and sides along the silhouette.
///
/// `positions` holds the posed positions, and `lit` is their [`silhouette`](super::silhouette()) towards
/// `light`. The shadow ends `far` metres behind each vertex. With `None` it ends at infinity, which needs a
/// projection without a far plane.
///
/// The volume is always closed: each edge occurs twice, in opposite directions, even if the surface is open.
/// Triangles that do not face the light cast no shadow. Therefore a lamp inside a closed surface has no
/// shadow volume, and light from behind passes through an open surface.
///
/// J.M.P. van Waveren, *Shadow Volume Construction*, 2005. Even indices are vertices and odd indices are far
/// ends. You can therefore draw only a part of the volume, or move the far ends on the GPU.
///
/// # Errors
/// [`Error::Length`] if `positions` does not hold one position per vertex. Also if `lit` belongs to a surface
/// with different vertex, triangle or edge counts. [`Error::NotFinite`] if `light` is not finite;
/// [`Error::NoDirection`] if its direction is zero. [`Error::OutOfRange`] if `far` is not positive and
/// finite. `out` is then unchanged.
///
/// ```
/// use condyle_query::surface::{ShadowVolume, Silhouette, Surface, Viewpoint, shadow_volume, silhouette};
/// use condyle::{Influences, SkinnedMesh, Vertices};
///
/// let positions = vec![[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, -1.0]];
/// let bind = Vertices { positions: positions.clone(), ..Vertices::default() };
/// let awning = Surface::new(&SkinnedMesh::new(bind, Influences::rigid(3), vec![0, 1, 2], vec![])?);
///
/// let noon = Viewpoint::Direction([0.0, 1.0, 0.0]);
/// let (mut lit, mut shade) = (Silhouette::default(), ShadowVolume::default());
/// silhouette(&awning, &positions, noon, &mut lit)?;
/// shadow_volume(&awning, &positions, noon, &lit, Some(1.0), &mut shade)?;
/// // A prism that stands on the ground: two triangles for the ends, and two for each of three sides.
/// assert_eq!((shade.indices.len() / 3, shade.positions[1]), (8, [0.0, 0.0, 0.0, 1.0]));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn shadow_volume(
    surface: &Surface,
    positions: &[[f32; 3]],
    light: Viewpoint,
    lit: &Silhouette,
    far: Option<f32>,
    out: &mut ShadowVolume,
) -> Result<(), Error> {
    Error::check_len("positions", positions.len(), surface.vertex_count())?;
    lit.check(surface)?;
    light.check()?;
    if far.is_some_and(|far| !(far > 0.0 && far < f32::INFINITY)) {
        return Err(Error::OutOfRange { what: "far", at: 0, needed: "finite and above 0" });
    }
    out.positions.clear();
    out.positions.reserve(2 * positions.len());
    out.positions.extend(positions.iter().flat_map(|&at| {
        let [x, y, z] = at;
        [[x, y, z, 1.0], end(at, light, far)]
    }));
    out.indices.clear();
    out.indices.reserve(6 * (surface.triangle_count + surface.edge_count()));
    for (patch, groups) in surface.groups().enumerate() {
        let facing = lit.facing(patch);
        for triangle in (0..PATCH).filter(|triangle| facing >> triangle & 1 == 1) {
            // A silhouette of another surface with the same counts may have more facing triangles in this
            // patch.
            let Some(group) = groups.get(triangle / 8) else { break };
            let [a, b, c] = group.map(|slot| 2 * surface.places[slot[triangle % 8] as usize]);
            out.indices.extend([a, b, c, a + 1, c + 1, b + 1]);
        }
    }
    for [a, b] in lit.edges().iter().map(|edge| edge.map(|vertex| 2 * vertex)) {
        out.indices.extend([b, a, a + 1, b, a + 1, b + 1]);
    }
    Ok(())
}

/// Far end of the shadow of a vertex.
fn end([x, y, z]: [f32; 3], light: Viewpoint, far: Option<f32>) -> [f32; 4] {
    let [u, v, w] = match light {
        Viewpoint::Place([a, b, c]) => [x - a, y - b, z - c],
        Viewpoint::Direction([a, b, c]) => [-a, -b, -c],
    };
    let Some(far) = far else { return [u, v, w, 0.0] };
    let square = u * u + v * v + w * w;
    let [u, v, w] = if (1e-30..1e30).contains(&square) {
        let by = far / sqrt(square);
        [by * u, by * v, by * w]
    } else {
        let way = [u, v, w].map(f64::from);
        let size = sqrt_f64(way.iter().map(|v| v * v).sum());
        // A vertex at the position of the light has no shadow behind it.
        let by = if size > 0.0 { f64::from(far) / size } else { 0.0 };
        way.map(|v| (by * v) as f32)
    };
    [x + u, y + v, z + w, 1.0]
}
