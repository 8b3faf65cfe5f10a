//! Bounding boxes and spheres of posed meshes, computed without skinning.
//!
//! Build [`JointBounds`] once from a [`SkinnedMesh`](condyle::SkinnedMesh) and its [`Skin`](condyle::Skin).
//! Each frame, [`posed`] computes an [`Aabb`] from the model matrices. Use it for culling, level of detail,
//! shadows and broad phases, before any vertex is skinned or if the CPU never skins the mesh.
//!
//! A posed vertex is the weighted mean of the positions to which each of its joints alone would move it. It
//! is therefore in the convex hull of the moved bounds of all joints. The box of that hull is never too small
//! for any pose. The same holds for [`Influences::at_most`](condyle::Influences::at_most), whose weights are
//! rescaled to the same sum. The rounding errors of [`skin`](condyle::skin()),
//! [`palette`](condyle::palette()) and the bound itself are added outwards.
//!
//! [`JointBounds`] records whether weights are negative or do not sum to 1, and the box grows accordingly.
//! With negative weights, it holds only if all influences are used.
//!
//! | result | function |
//! |---|---|
//! | box of a posed mesh, without its vertices | [`posed`] |
//! | sphere of a posed mesh | [`posed_sphere`] |
//! | one box or sphere per joint | [`per_joint`]; [`JointBounds::spheres`], moved by [`Sphere::transformed`] |
//! | exact box of vertices | [`of`] |
//! | nearly minimal sphere of vertices, computed once | [`Sphere::around`] |
//! | box of several meshes, or of several times of a clip | [`Aabb::union`] |
//!
//! The box of a clip is the union of the boxes at the sampled times. It does not cover the motion between two
//! of them.
//!
//! The bounds are for linear blend skinning. Other blends of rotations, such as dual quaternions, leave the
//! hull where joints bend.

mod aabb;
mod directions;
mod joints;
mod kernel;
mod nearest;
mod points;
mod sphere;

pub use self::aabb::{Aabb, of};
pub use self::joints::JointBounds;
pub use self::sphere::Sphere;

pub(crate) use self::aabb::rounded_up;
pub(crate) use self::directions::farthest;
pub(crate) use self::sphere::{smallest, stretch};
use condyle_base::error::Error;
use condyle_base::math::Affine;

/// Returns a box around all vertices of a mesh, from the model matrices alone.
///
/// `model` holds one matrix per joint of the skeleton, as written by
/// [`local_to_model`](condyle::local_to_model). The box is in model space. It encloses the box that [`of`]
/// computes from the vertices written by [`skin`](condyle::skin()), in any mode and on any instruction set.
/// Vertices that overflow during skinning are the only exception. The [module](self) documentation explains
/// why.
///
/// On eight real characters, the diagonal is 0.1 to 9 % longer than the exact one, averaged over the clips of
/// each character. Synthetic characters with widely spread weights reach 95 %. Without vertices, the box is
/// [`Aabb::EMPTY`].
///
/// # Errors
/// [`Error::TooShort`] if `model` lacks a joint that moves vertices. [`Error::NotFinite`] if the matrix of
/// such a joint is not finite, or moves the box around its vertices beyond the range of f32.
///
/// ```
/// use condyle::{Affine, example, local_to_model};
/// use condyle_query::bounds::{self, Aabb, JointBounds};
///
/// // Once.
/// let (skeleton, mesh) = (example::skeleton(), example::mesh());
/// let shape = JointBounds::new(&mesh, &example::skin())?;
/// // Each frame: is it worth skinning?
/// let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
/// local_to_model(&skeleton, skeleton.rest(), &mut model)?;
/// let found = bounds::posed(&shape, &model)?;
/// // The sleeve begins 25 cm from the middle of the body and ends at 75 cm.
/// assert!((found.min[0] - 0.25).abs() < 1e-5 && (found.max[0] - 0.75).abs() < 1e-5);
/// assert!(!found.overlaps(&Aabb { min: [4.0; 3], max: [6.0; 3] }));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn posed(bounds: &JointBounds, model: &[Affine]) -> Result<Aabb, Error> {
    Error::check_room("model", model.len(), bounds.joint_bound())?;
    if bounds.vertex_count() == 0 {
        return Ok(Aabb::EMPTY);
    }
    if bounds.groups.is_empty() {
        // Vertices without influences are skinned to the origin.
        return Ok(Aabb { min: [0.0; 3], max: [0.0; 3] });
    }
    let found = kernel::posed(bounds, model);
    let found = found.filter(|it| [it.min, it.max].as_flattened().iter().all(|v| v.is_finite()));
    found.ok_or_else(|| not_finite(bounds, model))
}

/// Error for the first joint whose matrix is not finite.
#[cold]
fn not_finite(bounds: &JointBounds, model: &[Affine]) -> Error {
    let sound = |joint: &u16| model[usize::from(*joint)].rows.as_flattened().iter().all(|v| v.is_finite());
    let at = bounds.joints().iter().find(|joint| !sound(joint)).or(bounds.joints().first());
    Error::NotFinite { what: "model", at: at.map_or(0, |&joint| joint.into()) }
}

/// Returns a sphere around all vertices of a mesh.
///
/// Its centre is the centre of the box that [`posed`] returns. Its radius is the smaller of the radii that
/// the box and the spheres of the joints require.
///
/// # Errors
/// Returns the errors of [`posed`].
///
/// ```
/// use condyle::{Affine, example, local_to_model};
/// use condyle_query::bounds::{self, JointBounds};
///
/// let (skeleton, mesh) = (example::skeleton(), example::mesh());
/// let shape = JointBounds::new(&mesh, &example::skin())?;
/// let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
/// local_to_model(&skeleton, skeleton.rest(), &mut model)?;
/// // The sleeve is a box of 50 cm by 12.5 cm by 12.5 cm, whose diagonal is 53 cm.
/// let sphere = bounds::posed_sphere(&shape, &model)?;
/// assert!((sphere.radius - 0.265).abs() < 1e-3);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn posed_sphere(bounds: &JointBounds, model: &[Affine]) -> Result<Sphere, Error> {
    let found = posed(bounds, model)?;
    if found.is_empty() {
        return Ok(Sphere::EMPTY);
    }
    let center = found.center();
    let farthest = (0..8).map(|corner| {
        let corner = |c| f64::from(if corner >> c & 1 == 0 { found.min[c] } else { found.max[c] });
        sphere::distance2([corner(0), corner(1), corner(2)], center.map(f64::from))
    });
    let of_box = condyle_base::math::scalar::sqrt_f64(farthest.fold(0.0, f64::max)) * (1.0 + 1e-14);
    let weights = bounds.weights;
    // Without negative weights and with a sum of 1, a vertex is a mean, which lies between the positions of
    // its parts.
    let mean =
        weights.negative == 0.0 && (weights.greatest - 1.0).abs().max((weights.least - 1.0).abs()) < 1e-5;
    let mut radius = if mean { 0.0 } else { of_box };
    if mean {
        let far = f64::max(weights.greatest - 1.0, 1.0 - weights.least);
        for (sphere, &joint) in bounds.spheres().iter().zip(bounds.joints()) {
            let matrix = &model[usize::from(joint)];
            let moved = sphere.transformed(matrix);
            let at = sphere::distance2(moved.center.map(f64::from), center.map(f64::from));
            let size: f64 = matrix.rows.iter().map(|row| f64::from(row[3].abs())).sum();
            let origin: f64 =
                moved.center.iter().map(|v| f64::from(v.abs())).sum::<f64>() + f64::from(moved.radius);
            let rounded =
                size * f64::from(bounds.rounding.share) + f64::from(bounds.rounding.least) + far * origin;
            radius = f64::max(
                radius,
                condyle_base::math::scalar::sqrt_f64(at) + f64::from(moved.radius) + rounded,
            );
        }
    }
    Ok(Sphere { center, radius: aabb::rounded_up(radius.min(of_box)) })
}

/// Computes one box per joint: around all vertices that the joint moves, at the positions to which it alone
/// would move them.
///
/// `boxes` receives one box for each of [`JointBounds::joints`], in the same order. The convex hull of the
/// boxes holds every vertex, unless weights do not sum to 1 or are negative. A matrix that is not finite
/// gives a box that is not finite.
///
/// # Errors
/// [`Error::TooShort`] if `model` lacks a joint that moves vertices. [`Error::Length`] if the length of
/// `boxes` differs from the number of [`JointBounds::joints`]. `boxes` is then unchanged.
///
/// ```
/// use condyle::{Affine, example, local_to_model};
/// use condyle_query::bounds::{self, Aabb, JointBounds};
///
/// let (skeleton, mesh) = (example::skeleton(), example::mesh());
/// let shape = JointBounds::new(&mesh, &example::skin())?;
/// let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
/// local_to_model(&skeleton, skeleton.rest(), &mut model)?;
/// let mut boxes = vec![Aabb::EMPTY; shape.joints().len()];
/// bounds::per_joint(&shape, &model, &mut boxes)?;
/// // The shoulder is only in the box of the upper arm, the hand only in that of the lower arm.
/// assert_eq!(shape.joints(), &example::ARM_L[..2]);
/// assert!(boxes[0].contains([0.3, 1.5, 0.0]) && !boxes[0].contains([0.7, 1.5, 0.0]));
/// assert!(boxes[1].contains([0.7, 1.5, 0.0]) && !boxes[1].contains([0.3, 1.5, 0.0]));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn per_joint(bounds: &JointBounds, model: &[Affine], boxes: &mut [Aabb]) -> Result<(), Error> {
    Error::check_len("boxes", boxes.len(), bounds.joints().len())?;
    Error::check_room("model", model.len(), bounds.joint_bound())?;
    kernel::boxes(bounds, model, boxes).ok_or(Error::Internal { what: "the bounds name joints of the model" })
}

#[cfg(test)]
mod tests;
