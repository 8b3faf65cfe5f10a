//! Objects attached to a point of the surface.

use super::weighted;
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{cross, dot};

/// Point of a triangle that follows the posed corners.
///
/// ```
/// use condyle_query::hits::{Attachment, Ray, TriangleTree};
///
/// let bind = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
/// let triangles = [[0, 1, 2]];
/// let tree = TriangleTree::new(&bind, &triangles)?;
/// let ray = Ray { origin: [0.5, 0.5, 3.0], direction: [0.0, 0.0, -1.0], max: 9.0 };
/// let hit = tree.first_hit(&ray).expect("the mesh is in the way");
///
/// // An arrow is stuck there. Later the triangle has moved and turned.
/// let arrow = Attachment { vertices: triangles[hit.triangle as usize], weights: hit.weights };
/// let posed = [[5.0, 0.0, 0.0], [5.0, 2.0, 0.0], [5.0, 0.0, 2.0]];
/// assert_eq!(arrow.position(&posed)?, [5.0, 0.5, 0.5]);
/// let place = arrow.place(&posed)?;
/// assert_eq!(place.transform_point([0.0, 0.0, 1.0]), [6.0, 0.5, 0.5]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attachment {
    /// The vertices of the triangle.
    pub vertices: [u32; 3],
    /// Barycentric coordinates, for example from a [`Hit`](super::Hit) or a
    /// [`NearestPoint`](super::NearestPoint).
    pub weights: [f32; 3],
}

impl Attachment {
    /// Returns the attachment's position in a pose. `positions` holds the posed positions of all vertices.
    ///
    /// # Errors
    /// [`Error::Index`] for a vertex that does not exist.
    pub fn position(&self, positions: &[[f32; 3]]) -> Result<[f32; 3], Error> {
        Ok(weighted(&self.corners(positions)?, self.weights.map(f64::from)))
    }

    /// Returns the smooth unit normal at the point, interpolated from the vertex normals `normals`. The
    /// result is zero if they cancel out.
    ///
    /// # Errors
    /// [`Error::Index`] for a vertex that does not exist.
    pub fn normal(&self, normals: &[[f32; 3]]) -> Result<[f32; 3], Error> {
        let corners = self.corners(normals)?;
        let mixed =
            core::array::from_fn(|k| (0..3).map(|c| f64::from(self.weights[c]) * corners[c][k]).sum());
        Ok(unit(mixed).unwrap_or([0.0; 3]).map(|v| v as f32))
    }

    /// Returns the position and orientation: `z` along the normal of the triangle, `x` along the edge from
    /// the first vertex to the second.
    ///
    /// If an object was at `fixed` when it was attached, and this function returned `place_then` for that
    /// pose, the object is later at `place * place_then.inverse() * fixed`. The orientation is the identity
    /// for a triangle without area, and for one so thin that rounding determines its normal.
    ///
    /// # Errors
    /// [`Error::Index`] for a vertex that does not exist.
    pub fn place(&self, positions: &[[f32; 3]]) -> Result<Affine, Error> {
        let corners = self.corners(positions)?;
        let [x, y, z] = weighted(&corners, self.weights.map(f64::from));
        let axes = axes(&corners).unwrap_or([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        let [u, v, w] = axes.map(|axis| axis.map(|v| v as f32));
        Ok(Affine { rows: [[u[0], v[0], w[0], x], [u[1], v[1], w[1], y], [u[2], v[2], w[2], z]] })
    }

    fn corners(&self, of: &[[f32; 3]]) -> Result<[[f64; 3]; 3], Error> {
        let mut corners = [[0.0; 3]; 3];
        for (at, (corner, &vertex)) in corners.iter_mut().zip(&self.vertices).enumerate() {
            let Some(v) = of.get(vertex as usize) else {
                return Err(Error::Index { what: "vertices", at, found: vertex as usize, count: of.len() });
            };
            *corner = v.map(f64::from);
        }
        Ok(corners)
    }
}

/// Axes of [`Attachment::place`], or `None` for a triangle without area.
///
/// The normal of a needle-shaped triangle is dominated by rounding. Its component perpendicular to the edge
/// is used, so that the axes stay perpendicular. A normal within 30 degrees of the edge is only rounding
/// error.
fn axes(corners: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let edge = |to: usize| core::array::from_fn(|k| corners[to][k] - corners[0][k]);
    let (x, normal) = (unit(edge(1))?, unit(cross(edge(1), edge(2)))?);
    let along = dot(normal, x);
    let z = unit(core::array::from_fn(|k| normal[k] - along * x[k]))?;
    (along.abs() < 0.866).then(|| [x, cross(z, x), z])
}

/// Normalises a vector, or returns `None` if its length is zero or not finite.
fn unit(v: [f64; 3]) -> Option<[f64; 3]> {
    let length = sqrt_f64(dot(v, v));
    (length > 0.0 && length.is_finite()).then(|| v.map(|v| v / length))
}
