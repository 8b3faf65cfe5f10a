//! Normals of the posed triangles.

use fearless_simd::{f32x8, prelude::*};

use super::silhouette::gather;
use super::{Corners, Surface};
use condyle_base::error::Error;
use condyle_base::math::polynomials::atan_positive_lanes;
use condyle_base::math::scalar::sqrt;
use condyle_base::math::vectors::sub;
use condyle_base::simd::{Mode, dispatch};

/// Normals from the posed triangles themselves: at each vertex the sum of those of the triangles around it, each weighted by its angle there.
///
/// `positions` are the posed ones and `normals` receives as many, of unit length, or zero at vertices that no triangle with an area has. Edges stay hard
/// where they are in the bind pose: vertices at one place share their triangles only where their normals in the bind pose are the same, or the mesh has none.
/// Skinning turns the normals of the bind pose instead, which costs less and keeps what an artist has changed by hand; where bends and morph
/// targets change the shape, it is these that are right.
///
/// Thürmer and Wüthrich, *Computing Vertex Normals from Polygonal Facets*, 1998. The error is at most 2e-6 of the sum of the angles at a
/// vertex, where positions are so apart that their differences have no more of their own and triangles are no slivers: it grows with one through the sine of their angles.
///
/// # Errors
/// [`Error::Length`] if `positions` or `normals` are not one for each vertex of the mesh. `normals` are then unchanged.
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

/// Adds the normal of each triangle, times the angle there, at its corners.
#[inline(always)]
fn sum_up<S: Simd, M: Mode>(s: S, mode: M, groups: &[Corners], positions: &[f32], normals: &mut [[f32; 3]]) {
    for group in groups {
        let ([x, y, z], angles) = weigh(s, mode, group, positions);
        for (slot, angle) in group.iter().zip(angles) {
            // Number by number: what is read here was often just written, and in pieces of another size would have to wait until it is in memory.
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

/// The normals of eight triangles, and the angles at their corners.
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
    // A triangle without an area has no normal, nor has one whose area is not a number: any angles will do.
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

/// From 0 to half a turn, of sine and cosine times any factor.
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
    // Squares of the smallest numbers have few digits; the angle of a needle is one of these.
    let [x, y, z] = if square(v) < 1e-30 { v.map(|c| c * 1e30) } else { v };
    let size = sqrt(square([x, y, z]));
    if size > 0.0 { [x / size, y / size, z / size] } else { [0.0; 3] }
}
