//! Hitboxes: one shape per joint.

use condyle_query::hitbox::{self, Fit, Hitbox, Hitboxes, PosedHitboxes};
use condyle_query::hits::Shape;
use runtime::Affine;

use crate::guard::{free, guard};
use crate::mesh::{self, condyle_mesh};
use crate::numbers::{CONDYLE_SHAPE_BOX, CONDYLE_SHAPE_CAPSULE, CONDYLE_SHAPE_SPHERE, condyle_shape_kind};
use crate::query::{condyle_aabb, condyle_ray};
use crate::status::{CONDYLE_INVALID_ARGUMENT, Fault, condyle_error, condyle_status, unknown};
use crate::types::{condyle_matrix, is_shared};

/// Shapes that follow joints.
///
/// Never changes: any number of threads may use it.
pub struct condyle_hitboxes {
    hitboxes: Hitboxes,
    list: Vec<condyle_hitbox>,
}

/// Hitboxes of one character in its current pose.
///
/// One thread at a time may change it; between changes, any number of threads may read it.
pub struct condyle_posed_hitboxes {
    posed: PosedHitboxes,
}

const _: () = is_shared::<condyle_hitboxes>();
const _: () = is_shared::<condyle_posed_hitboxes>();

/// Shape that follows a joint, in the space of the joint.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct condyle_hitbox {
    /// Joint index.
    pub joint: u16,
    /// Kind of the shape.
    pub kind: condyle_shape_kind,
    /// Centre of a sphere or box; one end of a capsule.
    pub center: [f32; 3],
    /// Other end of a capsule.
    pub end: [f32; 3],
    /// Radius of a sphere or capsule.
    pub radius: f32,
    /// Rotation of a box.
    pub rotation: [f32; 4],
    /// Half of the sides of a box.
    pub half_extents: [f32; 3],
}

/// Hitbox that a ray hits.
#[repr(C)]
pub struct condyle_hitbox_hit {
    /// 1 if the ray hits a hitbox, otherwise 0 with all other fields 0.
    pub found: u32,
    /// Index of the hitbox.
    pub hitbox: usize,
    /// Joint of the hitbox.
    pub joint: u16,
    /// Distance, a multiple of the direction of the ray.
    pub distance: f32,
    /// Point in model space.
    pub position: [f32; 3],
    /// Normal of the shape.
    pub normal: [f32; 3],
}

impl condyle_hitbox {
    fn shape(&self) -> Result<Shape, Fault> {
        Ok(match self.kind {
            CONDYLE_SHAPE_SPHERE => Shape::Sphere { center: self.center, radius: self.radius },
            CONDYLE_SHAPE_CAPSULE => Shape::Capsule { from: self.center, to: self.end, radius: self.radius },
            CONDYLE_SHAPE_BOX => {
                Shape::Box { center: self.center, rotation: self.rotation, half_extents: self.half_extents }
            }
            other => return Err(unknown("list[].kind", other, "a constant of condyle_shape_kind")),
        })
    }

    fn new(it: &Hitbox) -> Self {
        let none = Self {
            joint: it.joint,
            kind: CONDYLE_SHAPE_SPHERE,
            center: [0.0; 3],
            end: [0.0; 3],
            radius: 0.0,
            rotation: [0.0, 0.0, 0.0, 1.0],
            half_extents: [0.0; 3],
        };
        match it.shape {
            Shape::Sphere { center, radius } => Self { center, radius, ..none },
            Shape::Capsule { from, to, radius } => {
                Self { kind: CONDYLE_SHAPE_CAPSULE, center: from, end: to, radius, ..none }
            }
            Shape::Box { center, rotation, half_extents } => {
                Self { kind: CONDYLE_SHAPE_BOX, center, rotation, half_extents, ..none }
            }
            _ => none,
        }
    }
}

fn made(hitboxes: Hitboxes) -> condyle_hitboxes {
    let list = hitboxes.as_slice().iter().map(condyle_hitbox::new).collect();
    condyle_hitboxes { hitboxes, list }
}

/// Creates hitboxes from a list. Free them with `condyle_hitboxes_free`.
///
/// Errors: `CONDYLE_INVALID_ARGUMENT` for invalid shapes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_hitboxes_new(
    list: *const condyle_hitbox,
    count: usize,
    hitboxes: *mut *mut condyle_hitboxes,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(hitboxes);
        let hitbox = |it: &condyle_hitbox| Ok(Hitbox { joint: it.joint, shape: it.shape()? });
        let list = elements!(list, count).iter().map(hitbox).collect::<Result<_, Fault>>()?;
        give!(hitboxes, made(Hitboxes::new(list)?));
        Ok(())
    })
}

/// Fits one hitbox to each joint that moves vertices of the meshes. Free them with `condyle_hitboxes_free`.
///
/// `meshes` are all meshes of one character, at least one. `coverage` is the minimum part of the vertices of
/// a joint inside of its shape, 0 to 1.
///
/// Errors: `CONDYLE_INVALID_ARGUMENT` for a coverage out of range, or without meshes; `CONDYLE_MISMATCH` for
/// meshes of different skeletons.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_hitboxes_fit(
    meshes: *const *const condyle_mesh,
    mesh_count: usize,
    coverage: f32,
    hitboxes: *mut *mut condyle_hitboxes,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(hitboxes);
        let first = elements!(meshes, mesh_count).first().copied();
        let first = first.ok_or_else(|| {
            Fault::Other(CONDYLE_INVALID_ARGUMENT, "mesh_count is 0, expected at least 1".to_owned())
        })?;
        let joint_count = shared!(first, "meshes[]").joint_count;
        let meshes = mesh::meshes(meshes, mesh_count, joint_count)?;
        let options = Fit { coverage, ..Fit::default() };
        let parts = meshes.iter().map(|mesh| (&mesh.placed.mesh, &mesh.skin));
        give!(hitboxes, made(hitbox::fit(parts, &options)?));
        Ok(())
    })
}

/// Frees hitboxes. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_hitboxes_free(hitboxes: *mut condyle_hitboxes) {
    free(hitboxes);
}

/// Writes the shapes to `list` and their number to `count`. They live as long as the hitboxes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_hitboxes_get(
    hitboxes: *const condyle_hitboxes,
    list: *mut *const condyle_hitbox,
    count: *mut usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(list);
        output!(count);
        let it = shared!(hitboxes);
        put!(list, it.list.as_ptr());
        put!(count, it.list.len());
        Ok(())
    })
}

/// Creates the posed hitboxes of one character. Free them with `condyle_posed_hitboxes_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_posed_hitboxes_new(
    hitboxes: *const condyle_hitboxes,
    posed: *mut *mut condyle_posed_hitboxes,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(posed);
        let all = &shared!(hitboxes).hitboxes;
        let mut made = PosedHitboxes::default();
        // Later calls find their memory.
        hitbox::place(all, &vec![Affine::IDENTITY; all.joint_bound()], &mut made)?;
        give!(posed, condyle_posed_hitboxes { posed: made });
        Ok(())
    })
}

/// Frees posed hitboxes. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_posed_hitboxes_free(posed: *mut condyle_posed_hitboxes) {
    free(posed);
}

/// Moves hitboxes to a pose. `matrices` has one model matrix per joint.
///
/// Errors: `CONDYLE_MISMATCH` for too few matrices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_hitboxes_place(
    hitboxes: *const condyle_hitboxes,
    matrices: *const condyle_matrix,
    matrix_count: usize,
    posed: *mut condyle_posed_hitboxes,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let all = &shared!(hitboxes).hitboxes;
        let matrices = matrices.cast::<Affine>();
        hitbox::place(all, elements!(matrices, matrix_count), &mut exclusive!(posed).posed)?;
        Ok(())
    })
}

/// Writes a box that contains all posed hitboxes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_hitboxes_box(
    posed: *const condyle_posed_hitboxes,
    bounds: *mut condyle_aabb,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(bounds);
        put!(bounds, shared!(posed).posed.bounds().into());
        Ok(())
    })
}

/// Finds the first hitbox that a ray hits. `hit->found` is 0 without a hit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_hitboxes_first_hit(
    posed: *const condyle_posed_hitboxes,
    ray: *const condyle_ray,
    hit: *mut condyle_hitbox_hit,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(hit);
        let (posed, ray) = (&shared!(posed).posed, *shared!(ray));
        let found = posed.first_hit(&ray.into());
        let (position, normal) = ([0.0; 3], [0.0; 3]);
        let none = condyle_hitbox_hit { found: 0, hitbox: 0, joint: 0, distance: 0.0, position, normal };
        let found = found.map_or(none, |it| condyle_hitbox_hit {
            found: 1,
            hitbox: it.hitbox,
            joint: it.joint,
            distance: it.distance,
            position: it.position,
            normal: it.normal,
        });
        put!(hit, found);
        Ok(())
    })
}
