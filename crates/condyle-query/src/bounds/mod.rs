//! Boxes and spheres around what is posed. Once a [`SkinnedMesh`](condyle::SkinnedMesh) and its [`Skin`](condyle::Skin) go in and
//! [`JointBounds`] come out; each frame, model matrices go in and an [`Aabb`] comes out, for culling, level of detail, shadows
//! and broad phases, before a vertex is touched or where none ever is.
//!
//! A posed vertex is the weighted mean of the places where its joints alone would take it. So it is in the convex hull of what
//! is around all joints' vertices, wherever the joints have taken that: the box of that hull is never too small, for any pose and
//! for [`Influences::at_most`](condyle::Influences::at_most), whose weights are rescaled to the same sum. What [`skin`](condyle::skin()), [`palette`](condyle::palette())
//! and the bound itself round is added outwards. Weights that do not sum up to 1, or are below 0, are asked for once, and the box grows by
//! what they can do; with some below 0 it holds only for all influences.
//!
//! | to have | call |
//! |---|---|
//! | the box of a posed mesh, without its vertices | [`posed`] |
//! | the sphere | [`posed_sphere`] |
//! | one box or sphere for each joint | [`per_joint`]; [`JointBounds::spheres`], moved by [`Sphere::transformed`] |
//! | the exact box of vertices | [`of`] |
//! | all but the smallest sphere of vertices, once | [`Sphere::around`] |
//! | several meshes, or the moments of a clip | [`Aabb::union`] |
//!
//! A clip's box is the union of the boxes of those moments that are asked for: what happens between two of them is not in it.
//!
//! Vertices skinned by linear blending are meant. Other blends of rotations, such as dual quaternions, leave the hull where joints bend.

mod aabb;
mod joints;
mod kernel;
mod points;
mod sphere;

pub use self::aabb::{Aabb, of};
pub use self::joints::JointBounds;
pub use self::sphere::Sphere;

pub(crate) use self::aabb::rounded_up;
pub(crate) use self::points::farthest;
pub(crate) use self::sphere::{smallest, stretch};
use condyle_base::error::Error;
use condyle_base::math::Affine;

/// The box around all vertices of a mesh, from the model matrices alone.
///
/// `model` holds one matrix per joint of the skeleton, as [`local_to_model`](condyle::local_to_model) leaves them. The box is in model
/// space, never smaller than [`of`] what [`skin`](condyle::skin()) makes of the same mesh, in any mode and on any instruction set, but for vertices that overflow on their way; see the
/// [module](self) for why. Of eight real characters it is, in the mean over their clips, 0.1 to 9 % longer across than the exact one, where made ones with weights far and wide have up to 95 %. Without vertices it is
/// [`Aabb::EMPTY`].
///
/// # Errors
/// [`Error::TooShort`] if `model` lacks a joint that moves vertices; [`Error::NotFinite`] if the matrix of one is not finite, or takes the box around its
/// vertices beyond f32.
///
/// ```
/// use condyle_query::bounds::{self, JointBounds};
/// use condyle::{Affine, Influences, Skin, SkinnedMesh, Transform, Vertices};
///
/// # let vertices = Vertices { positions: vec![[0.0; 3], [0.0, 1.0, 0.0]], ..Vertices::default() };
/// # let mesh = SkinnedMesh::new(vertices, Influences::rigid(2), vec![], vec![])?;
/// # let bound = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// // Once.
/// let shape = JointBounds::new(&mesh, &bound)?;
/// // Each frame: is it worth skinning?
/// let model = [Affine::from(Transform { translation: [5.0, 0.0, 0.0], ..Transform::IDENTITY })];
/// let visible = bounds::posed(&shape, &model)?.overlaps(&bounds::Aabb { min: [4.0; 3], max: [6.0; 3] });
/// assert!(!visible);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn posed(bounds: &JointBounds, model: &[Affine]) -> Result<Aabb, Error> {
    Error::check_room("model", model.len(), bounds.joint_bound())?;
    if bounds.vertex_count() == 0 {
        return Ok(Aabb::EMPTY);
    }
    if bounds.groups.is_empty() {
        // Vertices that no joint moves are at the origin.
        return Ok(Aabb { min: [0.0; 3], max: [0.0; 3] });
    }
    let found = kernel::posed(bounds, model);
    let found = found.filter(|it| [it.min, it.max].as_flattened().iter().all(|v| v.is_finite()));
    found.ok_or_else(|| not_finite(bounds, model))
}

/// The matrix to blame.
#[cold]
fn not_finite(bounds: &JointBounds, model: &[Affine]) -> Error {
    let sound = |joint: &u16| model[usize::from(*joint)].rows.as_flattened().iter().all(|v| v.is_finite());
    let at = bounds.joints().iter().find(|joint| !sound(joint)).or(bounds.joints().first());
    Error::NotFinite { what: "model", at: at.map_or(0, |&joint| joint.into()) }
}

/// A sphere around all vertices of a mesh: around the middle of the box that [`posed`] finds, and no larger than the spheres of
/// the joints and the box make it.
///
/// # Errors
/// As [`posed`].
///
/// ```
/// use condyle_query::bounds::{self, JointBounds};
/// use condyle::{Affine, Influences, Skin, SkinnedMesh, Vertices};
///
/// # let vertices = Vertices { positions: vec![[0.0; 3], [0.0, 1.0, 0.0]], ..Vertices::default() };
/// # let mesh = SkinnedMesh::new(vertices, Influences::rigid(2), vec![], vec![])?;
/// # let bound = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// let shape = JointBounds::new(&mesh, &bound)?;
/// let sphere = bounds::posed_sphere(&shape, &[Affine::IDENTITY])?;
/// assert!((sphere.radius - 0.5).abs() < 1e-5);
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
    // Only of a mean is it known that it lies between its parts.
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

/// One box for each joint: around all vertices that it moves, where it alone would take them.
///
/// `boxes` receives one for each of [`JointBounds::joints`], in the same order. The hull of all of them holds every vertex, unless
/// weights do not sum up to 1.
///
/// # Errors
/// [`Error::TooShort`] if `model` lacks a joint that moves vertices, [`Error::Length`] if `boxes` does not hold one for each joint that does.
/// `boxes` is then unchanged. Of a matrix that is not finite comes a box that is not.
///
/// ```
/// use condyle_query::bounds::{self, Aabb, JointBounds};
/// use condyle::{Affine, Influences, Skin, SkinnedMesh, Vertices};
///
/// # let vertices = Vertices { positions: vec![[0.0; 3], [0.0, 1.0, 0.0]], ..Vertices::default() };
/// # let mesh = SkinnedMesh::new(vertices, Influences::rigid(2), vec![], vec![])?;
/// # let bound = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// let shape = JointBounds::new(&mesh, &bound)?;
/// let mut boxes = vec![Aabb::EMPTY; shape.joints().len()];
/// bounds::per_joint(&shape, &[Affine::IDENTITY], &mut boxes)?;
/// assert!(boxes[0].contains([0.0, 0.5, 0.0]));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn per_joint(bounds: &JointBounds, model: &[Affine], boxes: &mut [Aabb]) -> Result<(), Error> {
    Error::check_len("boxes", boxes.len(), bounds.joints().len())?;
    Error::check_room("model", model.len(), bounds.joint_bound())?;
    let done = kernel::boxes(bounds, model, boxes);
    condyle_base::error::invariant!(done.is_some(), "all joints are there");
    Ok(())
}

#[cfg(test)]
mod tests;
