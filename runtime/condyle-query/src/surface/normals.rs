//! Normals of the posed triangles.

use fearless_simd::{f32x8, prelude::*};

use super::silhouette::gather;
use super::{Corners, Surface};
use condyle_base::error::Error;
use condyle_base::math::polynomials::atan_positive_lanes;
use condyle_base::math::scalar::sqrt;
use condyle_base::math::vectors::sub;
use condyle_base::simd::{Mode, dispatch};

/// Computes vertex normals from the posed triangles: the sum of the normals of the adjacent triangles, each
/// weighted by its angle at the vertex.
///
/// `positions` and `normals` hold one element per vertex. The normals have unit length, or are zero at
/// vertices whose triangles have no area. Edges that are hard in the bind pose stay hard: vertices at one
/// place share triangles only if their normals in the bind pose are the same or the mesh has no normals.
///
/// Skinning rotates the normals of the bind pose instead, which is faster and keeps manual edits by artists.
/// Where bends and morph targets change the shape, only the normals computed here are correct.
///
/// Thürmer and Wüthrich, *Computing Vertex Normals from Polygonal Facets*, 1998. The error is at most 2e-6 of
/// the sum of the angles at a vertex, if the differences between positions are not themselves less accurate.
/// For slivers, the error grows with 1 / sin of their angles.
///
/// # Errors
/// [`Error::Length`] if `positions` or `normals` does not hold one element per vertex. `normals` is then
/// unchanged.
///
/// ```
/// use condyle_query::surface::{Surface, normals};
/// use condyle::{Influences, SkinnedMesh, Vertices};
///
/// // A roof whose ridge is smooth.
/// let positions = vec![[0.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]];
/// let bind = Vertices { positions: positions.clone(), ..Vertices::default() };
/// let roof = SkinnedMesh::new(bind, Influences::rigid(4), vec![0, 1, 2, 1, 0, 3], vec![])?;
/// let mut up = vec![[0.0; 3]; 4];
/// normals(&Surface::new(&roof), &positions, &mut up)?;
/// assert!(up[0][1] > 0.999);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn normals(surface: &Surface, positions: &[[f32; 3]], normals: &mut [[f32; 3]]) -> Result<(), Error> {
    Error::check_len("positions", positions.len(), surface.vertex_count())?;
    Error::check_len("normals", normals.len(), surface.vertex_count())?;
    normals.fill([0.0; 3]);
    dispatch!(|s, mode| sum_up(s, mode, &surface.corners, positions.as_flattened(), normals));
    for vertex in 0..normals.len() {
        let first = surface.smooth[vertex] as usize;
        normals[vertex] = if first == vertex { unit(normals[vertex]) } else { normals[first] };
    }
    Ok(())
}

/// Adds the normal of each triangle, weighted by its angle, at its corners.
#[inline(always)]
fn sum_up<S: Simd, M: Mode>(s: S, mode: M, groups: &[Corners], positions: &[f32], normals: &mut [[f32; 3]]) {
    for group in groups {
        let ([x, y, z], angles) = weigh(s, mode, group, positions);
        for (slot, angle) in group.iter().zip(angles) {
            // Scalar additions, because the sums were often just written: a wider load would fail store
            // forwarding and stall.
            add(normals, slot, 0, x * angle);
            add(normals, slot, 1, y * angle);
            add(normals, slot, 2, z * angle);
        }
    }
}

/// Adds to one component of eight vertices.
#[inline(always)]
fn add<S: Simd>(normals: &mut [[f32; 3]], vertices: &[u32; 8], component: usize, values: f32x8<S>) {
    for (&vertex, value) in vertices.iter().zip(values.to_array()) {
        if let Some(sum) = normals.get_mut(vertex as usize) {
            sum[component] += value;
        }
    }
}

/// Normals of eight triangles, and the angles at their corners.
#[inline(always)]
fn weigh<S: Simd, M: Mode>(
    s: S,
    mode: M,
    [first, second, third]: &Corners,
    positions: &[f32],
) -> ([f32x8<S>; 3], [f32x8<S>; 3]) {
    let (a, b, c) = (gather(s, first, positions), gather(s, second, positions), gather(s, third, positions));
    let (ab, ac, bc) = (sub(b, a), sub(c, a), sub(c, b));
    let normal = [
        mode.msub(ab[1], ac[2], ab[2] * ac[1]),
        mode.msub(ab[2], ac[0], ab[0] * ac[2]),
        mode.msub(ab[0], ac[1], ab[1] * ac[0]),
    ];
    // A triangle whose area is zero or not finite has no normal, so its angles do not matter.
    let (size, infinity) = (dot(mode, normal, normal).sqrt(), f32x8::splat(s, f32::INFINITY));
    let has_normal = size.simd_gt(f32x8::splat(s, 0.0)) & size.simd_lt(infinity);
    let size = has_normal.select(size, infinity);
    let by = f32x8::splat(s, 1.0) / size;
    let zero = f32x8::splat(s, 0.0);
    let [x, y, z] = normal;
    let normal =
        [has_normal.select(x * by, zero), has_normal.select(y * by, zero), has_normal.select(z * by, zero)];
    let at_a = angle(s, mode, size, has_normal.select(dot(mode, ab, ac), zero));
    let at_b = angle(s, mode, size, has_normal.select(zero - dot(mode, ab, bc), zero));
    let at_c = f32x8::splat(s, core::f32::consts::PI) - at_a - at_b;
    (normal, [at_a, at_b, at_c])
}

/// Angle from 0 to π from its sine and cosine, both multiplied by the same factor.
#[inline(always)]
fn angle<S: Simd, M: Mode>(s: S, mode: M, sine: f32x8<S>, cosine: f32x8<S>) -> f32x8<S> {
    let acute = atan_positive_lanes(s, mode, sine, cosine.abs());
    let obtuse = f32x8::splat(s, core::f32::consts::PI) - acute;
    cosine.simd_lt(f32x8::splat(s, 0.0)).select(obtuse, acute)
}

#[inline(always)]
fn dot<S: Simd, M: Mode>(mode: M, [x, y, z]: [f32x8<S>; 3], [u, v, w]: [f32x8<S>; 3]) -> f32x8<S> {
    mode.madd(z, w, mode.madd(y, v, x * u))
}

pub(super) fn unit(v: [f32; 3]) -> [f32; 3] {
    let square = |[x, y, z]: [f32; 3]| x * x + y * y + z * z;
    // Squares of the smallest numbers lose precision; the weighted normal of a needle can be that small.
    let [x, y, z] = if square(v) < 1e-30 { v.map(|c| c * 1e30) } else { v };
    let size = sqrt(square([x, y, z]));
    if size > 0.0 { [x / size, y / size, z / size] } else { [0.0; 3] }
}
