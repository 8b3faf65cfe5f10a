//! Area, volume and stretch of posed triangles, in f64, for tools.

use super::Surface;
use condyle_base::error::Error;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{cross, dot, sub};

/// Returns the area of a posed surface in square metres.
///
/// # Errors
/// [`Error::Length`] if `positions` does not hold one position per vertex.
///
/// ```
/// use condyle_query::surface::{self, Surface};
/// use condyle::{Influences, SkinnedMesh, Vertices};
///
/// let positions = vec![[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0]];
/// let bind = Vertices { positions: positions.clone(), ..Vertices::default() };
/// let triangle = Surface::new(&SkinnedMesh::new(bind, Influences::rigid(3), vec![0, 1, 2], vec![])?);
/// assert_eq!(surface::area(&triangle, &positions)?, 3.0);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn area(surface: &Surface, positions: &[[f32; 3]]) -> Result<f64, Error> {
    Error::check_len("positions", positions.len(), surface.vertex_count())?;
    let twice = surface.triangles().map(|corners| {
        let [a, b, c] = corners.map(|vertex| wide(positions[vertex as usize]));
        let normal = cross(sub(b, a), sub(c, a));
        sqrt_f64(dot(normal, normal))
    });
    Ok(0.5 * twice.sum::<f64>())
}

/// Returns the volume that a posed surface encloses, in cubic metres. It is negative if the triangles face
/// inwards, and meaningless if the surface is not [closed](Surface::is_closed).
///
/// # Errors
/// [`Error::Length`] if `positions` does not hold one position per vertex.
///
/// ```
/// use condyle_query::surface::{self, Surface};
/// use condyle::{Influences, SkinnedMesh, Vertices};
///
/// let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 6.0]];
/// let bind = Vertices { positions: positions.clone(), ..Vertices::default() };
/// let sides = vec![0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3];
/// let tetrahedron = Surface::new(&SkinnedMesh::new(bind, Influences::rigid(4), sides, vec![])?);
/// assert_eq!(surface::volume(&tetrahedron, &positions)?, 1.0);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn volume(surface: &Surface, positions: &[[f32; 3]]) -> Result<f64, Error> {
    Error::check_len("positions", positions.len(), surface.vertex_count())?;
    // Uses offsets from one of the vertices, so that a character far from the origin loses no precision.
    let Some(from) = positions.first().copied().map(wide) else { return Ok(0.0) };
    let six = surface.triangles().map(|corners| {
        let [a, b, c] = corners.map(|vertex| sub(wide(positions[vertex as usize]), from));
        dot(a, cross(b, c))
    });
    Ok(six.sum::<f64>() / 6.0)
}

/// Returns the maximum and the minimum factor by which a length in a triangle grows from `bind` to `posed`.
/// Both arguments hold the three corners. The product of the factors is the ratio of the areas.
///
/// The factors are the singular values of the map between the planes. Both are 1 for a triangle without area
/// in the bind pose.
///
/// ```
/// use condyle_query::surface::stretch;
///
/// let bind = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let posed = [[0.0, 0.0, 5.0], [0.0, 3.0, 5.0], [-0.5, 0.0, 5.0]];
/// assert_eq!(stretch(&bind, &posed), [3.0, 0.5]);
/// ```
#[must_use]
pub fn stretch(bind: &[[f32; 3]; 3], posed: &[[f32; 3]; 3]) -> [f32; 2] {
    // The squared lengths in a triangle are a quadratic form of two of its sides.
    let form = |corners: &[[f32; 3]; 3]| {
        let [a, b, c] = corners.map(wide);
        let (u, v) = (sub(b, a), sub(c, a));
        [dot(u, u), dot(u, v), dot(v, v)]
    };
    let ([a, b, c], [p, q, r]) = (form(bind), form(posed));
    let determinant = a * c - b * b;
    if determinant <= 1e-14 * a * c {
        return [1.0; 2];
    }
    // The squared factors are the eigenvalues of one form divided by the other: trace and determinant give
    // their sum and product.
    let half = 0.5 * (p * c - 2.0 * q * b + r * a) / determinant;
    let product = (p * r - q * q).max(0.0) / determinant;
    let root = sqrt_f64((half * half - product).max(0.0));
    let most = half + root;
    // If both factors are equal, rounding must not change their order.
    let least = if most > 0.0 { (product / most).min(most) } else { 0.0 };
    [sqrt_f64(most) as f32, sqrt_f64(least) as f32]
}

fn wide(v: [f32; 3]) -> [f64; 3] {
    v.map(f64::from)
}
