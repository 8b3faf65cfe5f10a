//! Area, volume and stretch of posed triangles, in f64, for tools.

use super::Surface;
use condyle_base::error::Error;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{cross, dot, sub};

/// The area of a posed surface, square metres.
///
/// # Errors
/// [`Error::Length`] if `positions` are not one for each vertex of the mesh.
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

/// The volume that a posed surface encloses, cubic metres: negative where its triangles face inwards, and of no meaning where it is not
/// [closed](Surface::is_closed).
///
/// # Errors
/// [`Error::Length`] if `positions` are not one for each vertex of the mesh.
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
    // From one of its own vertices, so that a character far from the origin loses no digits.
    let Some(from) = positions.first().copied().map(wide) else { return Ok(0.0) };
    let six = surface.triangles().map(|corners| {
        let [a, b, c] = corners.map(|vertex| sub(wide(positions[vertex as usize]), from));
        dot(a, cross(b, c))
    });
    Ok(six.sum::<f64>() / 6.0)
}

/// How much a triangle is stretched: the greatest and the least factor by which a length in it has grown from `bind` to `posed`, its three corners in
/// both. Their product is that of its area. 1 and 1 for a triangle that has no area in the bind pose.
///
/// They are the singular values of the map from one plane to the other.
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
    // The squares of all lengths in a triangle are a quadratic form of two of its sides.
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
    // The squares of both factors: their sum and product are trace and determinant of one form divided by the other.
    let half = 0.5 * (p * c - 2.0 * q * b + r * a) / determinant;
    let product = (p * r - q * q).max(0.0) / determinant;
    let root = sqrt_f64((half * half - product).max(0.0));
    let most = half + root;
    // Where both are the same rounding must not change their order.
    let least = if most > 0.0 { (product / most).min(most) } else { 0.0 };
    [sqrt_f64(most) as f32, sqrt_f64(least) as f32]
}

fn wide(v: [f32; 3]) -> [f64; 3] {
    v.map(f64::from)
}
