//! Bounds and rays of posed meshes.

use condyle_query::bounds::{self, Aabb, JointBounds};
use condyle_query::hits::{Ray, TriangleTree};
use runtime::Affine;

use crate::guard::{free, guard};
use crate::mesh::condyle_mesh;
use crate::status::{condyle_error, condyle_status};
use crate::types::{condyle_matrix, is_shared};

/// Bounds of the vertices of each joint, from which the bounds of any pose follow without skinning.
///
/// Never changes: any number of threads may use it.
pub struct condyle_bounds {
    bounds: JointBounds,
    /// Whether no joint moves the mesh.
    is_fixed: bool,
    fixed: [Affine; 1],
}

/// Triangles of a posed mesh, for rays.
///
/// One thread at a time may change it; between changes, any number of threads may read it.
pub struct condyle_tree {
    tree: TriangleTree,
}

const _: () = is_shared::<condyle_bounds>();
const _: () = is_shared::<condyle_tree>();

/// Box along the axes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct condyle_aabb {
    /// Minimum of each coordinate.
    pub min: [f32; 3],
    /// Maximum of each coordinate.
    pub max: [f32; 3],
}

impl From<Aabb> for condyle_aabb {
    fn from(it: Aabb) -> Self {
        Self { min: it.min, max: it.max }
    }
}

/// Half-line.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct condyle_ray {
    /// First point.
    pub origin: [f32; 3],
    /// Direction of any length. Distances are multiples of it.
    pub direction: [f32; 3],
    /// Largest distance; infinity for no limit.
    pub max: f32,
}

impl From<condyle_ray> for Ray {
    fn from(it: condyle_ray) -> Self {
        Self { origin: it.origin, direction: it.direction, max: it.max }
    }
}

/// Point of a mesh that a ray hits, or that is nearest to a point.
#[repr(C)]
pub struct condyle_hit {
    /// 1 if such a point exists, otherwise 0 with all other fields 0.
    pub found: u32,
    /// Index of the triangle.
    pub triangle: u32,
    /// Distance: a multiple of the direction of a ray, or metres from a point.
    pub distance: f32,
    /// Weights of the corners of the triangle at the point.
    pub weights: [f32; 3],
    /// Point.
    pub position: [f32; 3],
    /// Normal of the triangle.
    pub normal: [f32; 3],
    /// 1 if a ray hits the side from which the corners are counter-clockwise, otherwise 0.
    pub front: u32,
}

const NO_HIT: condyle_hit = condyle_hit {
    found: 0,
    triangle: 0,
    distance: 0.0,
    weights: [0.0; 3],
    position: [0.0; 3],
    normal: [0.0; 3],
    front: 0,
};

/// Creates the bounds of a mesh, without morph targets. Free them with `condyle_bounds_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_bounds_new(
    mesh: *const condyle_mesh,
    bounds: *mut *mut condyle_bounds,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(bounds);
        let mesh = shared!(mesh);
        let made = JointBounds::new(&mesh.placed.mesh, &mesh.skin)?;
        let fixed = [Affine::IDENTITY];
        give!(bounds, condyle_bounds { bounds: made, is_fixed: mesh.is_fixed, fixed });
        Ok(())
    })
}

/// Frees bounds. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_bounds_free(bounds: *mut condyle_bounds) {
    free(bounds);
}

/// Writes a box that contains all vertices of a pose, in model space.
///
/// `matrices` has one model matrix per joint.
///
/// Errors: `CONDYLE_MISMATCH` for too few matrices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_bounds_box(
    bounds: *const condyle_bounds,
    matrices: *const condyle_matrix,
    matrix_count: usize,
    posed: *mut condyle_aabb,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(posed);
        let it = shared!(bounds);
        let matrices = matrices.cast::<Affine>();
        let matrices = elements!(matrices, matrix_count);
        let model = if it.is_fixed { &it.fixed } else { matrices };
        put!(posed, bounds::posed(&it.bounds, model)?.into());
        Ok(())
    })
}

/// Creates the triangles of a mesh in its bind pose. Free them with `condyle_tree_free`.
///
/// Errors: `CONDYLE_INVALID_ARGUMENT` for coordinates out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_tree_new(
    mesh: *const condyle_mesh,
    tree: *mut *mut condyle_tree,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(tree);
        give!(tree, condyle_tree { tree: TriangleTree::of_mesh(&shared!(mesh).placed.mesh)? });
        Ok(())
    })
}

/// Frees triangles. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_tree_free(tree: *mut condyle_tree) {
    free(tree);
}

/// Moves the triangles to the posed vertices of `condyle_skin`. Takes 2 ns per triangle.
///
/// `positions` has three numbers per vertex; `vertex_count` equals the vertex count of the mesh.
///
/// Errors: `CONDYLE_MISMATCH` for another number; `CONDYLE_INVALID_ARGUMENT` for coordinates out of range.
/// `tree` is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_tree_refit(
    tree: *mut condyle_tree,
    positions: *const f32,
    vertex_count: usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let positions = positions.cast::<[f32; 3]>();
        let positions = elements!(positions, vertex_count);
        exclusive!(tree).tree.refit(positions)?;
        Ok(())
    })
}

/// Finds the nearest triangle that a ray hits, from either side. `hit->found` is 0 without such a point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_tree_first_hit(
    tree: *const condyle_tree,
    ray: *const condyle_ray,
    hit: *mut condyle_hit,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(hit);
        let (tree, ray) = (&shared!(tree).tree, Ray::from(*shared!(ray)));
        let found = tree.first_hit(&ray).map_or(NO_HIT, |it| condyle_hit {
            found: 1,
            triangle: it.triangle,
            distance: it.distance,
            weights: it.weights,
            position: it.position,
            normal: it.normal,
            front: it.front.into(),
        });
        put!(hit, found);
        Ok(())
    })
}

/// Finds the point of the triangles nearest to `point`, three numbers, within the distance `max`.
/// `hit->found` is 0 without such a point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_tree_closest_point(
    tree: *const condyle_tree,
    point: *const f32,
    max: f32,
    hit: *mut condyle_hit,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(hit);
        let point = point.cast::<[f32; 3]>();
        let (tree, point) = (&shared!(tree).tree, shared!(point));
        let found = tree.closest_point(*point, max).map_or(NO_HIT, |it| condyle_hit {
            found: 1,
            triangle: it.triangle,
            distance: it.distance,
            weights: it.weights,
            position: it.position,
            normal: it.normal,
            front: 0,
        });
        put!(hit, found);
        Ok(())
    })
}
