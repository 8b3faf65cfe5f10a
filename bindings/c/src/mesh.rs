//! Meshes with their placement on a skeleton.

use std::ffi::{CString, c_char};

use runtime::container::{MeshPlacement, PlacedMesh};
use runtime::mesh::{MorphDeltas, VertexSlices};
use runtime::{Affine, Error, Influences, MorphTarget, Skin, SkinnedMesh, Vertices};

use crate::guard::{free, guard};
use crate::pointer::{check_elements, checked_elements};
use crate::skeleton::condyle_skeleton;
use crate::status::{CONDYLE_INVALID_ARGUMENT, Fault, condyle_error, condyle_status};
use crate::text::c_text;
use crate::types::{condyle_matrix, is_shared};

/// Vertices in the bind pose, their influences, morph targets, and the joints that move them.
///
/// Never changes: any number of threads may use it.
pub struct condyle_mesh {
    pub(crate) placed: PlacedMesh,
    /// Skin of any placement: a rigid mesh has one matrix.
    pub(crate) skin: Skin,
    /// Whether no joint moves the mesh.
    pub(crate) is_fixed: bool,
    /// Number of joints of the skeleton.
    pub(crate) joint_count: usize,
    name: CString,
}

const _: () = is_shared::<condyle_mesh>();

/// Vertices as one array per attribute, of the caller, to be written.
#[repr(C)]
pub struct condyle_vertices {
    /// Number of vertices.
    pub vertex_count: usize,
    /// x, y and z of each vertex: three times `vertex_count` numbers.
    pub positions: *mut f32,
    /// Unit normal of each vertex, three numbers each; null without normals.
    pub normals: *mut f32,
    /// Unit tangent of each vertex, four numbers each, the last one 1 or -1; null without tangents.
    pub tangents: *mut f32,
}

/// Vertices as one array per attribute, to be read.
#[repr(C)]
pub struct condyle_const_vertices {
    /// Number of vertices.
    pub vertex_count: usize,
    /// x, y and z of each vertex: three times `vertex_count` numbers.
    pub positions: *const f32,
    /// Unit normal of each vertex, three numbers each; null without normals.
    pub normals: *const f32,
    /// Unit tangent of each vertex, four numbers each, the last one 1 or -1; null without tangents.
    pub tangents: *const f32,
}

/// Properties of a mesh. Pointers live as long as the mesh.
#[repr(C)]
pub struct condyle_mesh_info {
    /// Size of this structure. Set it before the call.
    pub size: usize,
    /// Name of the node that shows the mesh, UTF-8.
    pub name: *const c_char,
    /// Vertices in the bind pose.
    pub vertices: condyle_const_vertices,
    /// Three vertex indices per triangle.
    pub indices: *const u32,
    /// Number of indices.
    pub index_count: usize,
    /// Start of each vertex in `influence_joints` and `influence_weights`; `vertex_count` + 1 elements.
    pub influence_starts: *const u32,
    /// Palette index of each influence, for vertex buffers.
    pub influence_joints: *const u16,
    /// Weight of each influence.
    pub influence_weights: *const f32,
    /// Number of influences.
    pub influence_count: usize,
    /// Number of matrices in the palette of this mesh.
    pub palette_count: usize,
    /// Skeleton joint of each palette matrix; `palette_count` elements. Joint 0 if the mesh does not move.
    pub palette_joints: *const u16,
    /// Number of morph targets.
    pub morph_target_count: usize,
    /// Default weight of each morph target.
    pub morph_weights: *const f32,
    /// Linear base colour and opacity of the material.
    pub color: [f32; 4],
    /// 1 if the mesh consists of triangles and the file shows it, otherwise 0.
    pub is_visible: u32,
}

/// Morph target of the caller: differences from the bind pose, one per vertex.
#[repr(C)]
pub struct condyle_morph_target {
    /// Difference of each position, three numbers each; null if no position moves.
    pub positions: *const f32,
    /// Difference of each normal, three numbers each; null if no normal changes.
    pub normals: *const f32,
    /// Difference of each tangent, three numbers each; null if no tangent changes.
    pub tangents: *const f32,
}

/// Mesh of the caller, for `condyle_mesh_new`. Everything is copied.
#[repr(C)]
pub struct condyle_mesh_options {
    /// Size of this structure: `CONDYLE_MESH_OPTIONS` sets it.
    pub size: usize,
    /// Vertices in the bind pose.
    pub vertices: condyle_const_vertices,
    /// Three vertex indices per triangle; may be null with `index_count` 0.
    pub indices: *const u32,
    /// Number of indices.
    pub index_count: usize,
    /// Palette indices of all vertices, `influences_per_vertex` for each.
    pub influence_joints: *const u16,
    /// Weights of all vertices, `influences_per_vertex` for each. Weights of 0 are unused.
    pub influence_weights: *const f32,
    /// Number of influences per vertex.
    pub influences_per_vertex: usize,
    /// Skeleton joint of each palette index.
    pub palette_joints: *const u16,
    /// Inverse bind matrix of each palette index.
    pub inverse_bind: *const condyle_matrix,
    /// Number of elements of `palette_joints` and `inverse_bind`.
    pub palette_count: usize,
    /// Name, UTF-8; null for an empty name.
    pub name: *const c_char,
    /// Morph targets; null without.
    pub morph_targets: *const condyle_morph_target,
    /// Default weight of each morph target; null for 0.
    pub morph_weights: *const f32,
    /// Number of morph targets.
    pub morph_target_count: usize,
}

impl condyle_mesh {
    pub(crate) fn new(name: &str, placed: PlacedMesh, joint_count: usize) -> Result<Self, Error> {
        let (skin, is_fixed) = match &placed.placement {
            MeshPlacement::Skin(skin) => (skin.clone(), false),
            MeshPlacement::Joint(joint) => (Skin::new(vec![*joint], vec![Affine::IDENTITY])?, false),
            MeshPlacement::Fixed(matrix) => (Skin::new(vec![0], vec![*matrix])?, true),
        };
        Ok(Self { placed, skin, is_fixed, joint_count, name: c_text(name) })
    }

    /// Model matrices for the skin: a mesh that does not move has its own.
    #[inline(always)]
    pub(crate) fn matrices<'a>(&self, model: &'a [Affine]) -> &'a [Affine] {
        if self.is_fixed { &[Affine::IDENTITY] } else { model }
    }

    pub(crate) fn bind(&self) -> VertexSlices<'_> {
        self.placed.mesh.vertices().as_slices()
    }
}

/// Pointer for C: null for an empty array.
fn pointer<T, N>(slice: &[N]) -> *const T {
    if slice.is_empty() { std::ptr::null() } else { slice.as_ptr().cast() }
}

/// Reads planes of the caller.
#[inline(always)]
pub(crate) fn planes<'a>(vertices: &condyle_const_vertices) -> Result<VertexSlices<'a>, Fault> {
    let count = vertices.vertex_count;
    let normal_count = if vertices.normals.is_null() { 0 } else { count };
    let tangent_count = if vertices.tangents.is_null() { 0 } else { count };
    let positions = vertices.positions.cast::<[f32; 3]>();
    let normals = vertices.normals.cast::<[f32; 3]>();
    let tangents = vertices.tangents.cast::<[f32; 4]>();
    // All checks first, because results with an error are large.
    check_elements("positions", positions, count)?;
    check_elements("normals", normals, normal_count)?;
    check_elements("tangents", tangents, tangent_count)?;
    // SAFETY: checked; by the rules of the header, arrays with one element per vertex.
    let positions = unsafe { checked_elements(positions, count) };
    // SAFETY: as above.
    let normals = unsafe { checked_elements(normals, normal_count) };
    // SAFETY: as above.
    let tangents = unsafe { checked_elements(tangents, tangent_count) };
    Ok(VertexSlices { positions, normals, tangents })
}

/// Creates a mesh from the caller's arrays, for engines that have an importer. Free it with
/// `condyle_mesh_free`.
///
/// Errors: `CONDYLE_MISMATCH` for indices that do not exist and arrays of different lengths;
/// `CONDYLE_INVALID_ARGUMENT` for numbers that are not finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_mesh_new(
    skeleton: *const condyle_skeleton,
    options: *const condyle_mesh_options,
    mesh: *mut *mut condyle_mesh,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(mesh);
        let (skeleton, options) = (&shared!(skeleton).skeleton, sized!(options));
        let bind = planes(&options.vertices)?;
        let per_vertex = options.influences_per_vertex;
        if per_vertex == 0 {
            let text = "influences_per_vertex is 0, expected at least 1".to_owned();
            return Err(Fault::Other(CONDYLE_INVALID_ARGUMENT, text));
        }
        let count = bind.positions.len().checked_mul(per_vertex).ok_or(Fault::TooLong("influences"))?;
        let joints = elements!(options.influence_joints, "influence_joints", count);
        let weights = elements!(options.influence_weights, "influence_weights", count);
        let rows = joints.chunks(per_vertex).zip(weights.chunks(per_vertex));
        let rows = rows.map(|(j, w)| j.iter().copied().zip(w.iter().copied()));
        let palette_count = options.palette_count;
        let skin = Skin::new(
            elements!(options.palette_joints, "palette_joints", palette_count).to_vec(),
            elements!(options.inverse_bind.cast::<Affine>(), "inverse_bind", palette_count).to_vec(),
        )?
        .for_skeleton(skeleton)?;
        let influences = Influences::from_rows(rows)?.for_skin_of(palette_count)?;
        let vertices = Vertices {
            positions: bind.positions.to_vec(),
            normals: bind.normals.to_vec(),
            tangents: bind.tangents.to_vec(),
        };
        let indices = elements!(options.indices, "indices", options.index_count).to_vec();
        let target_count = options.morph_target_count;
        let targets = elements!(options.morph_targets, "morph_targets", target_count).iter();
        let targets = targets.map(|target| morph_target(target, bind.positions.len()));
        let targets = targets.collect::<Result<_, _>>()?;
        let made = SkinnedMesh::new(vertices, influences, indices, targets)?;
        let mut placed = PlacedMesh::new(made, MeshPlacement::Skin(skin));
        placed.morph_weights = if options.morph_weights.is_null() {
            vec![0.0; target_count]
        } else {
            elements!(options.morph_weights, "morph_weights", target_count).to_vec()
        };
        Error::check_finite("morph_weights", &placed.morph_weights, 1)?;
        let name = if options.name.is_null() { "" } else { text!(options.name, "name") };
        give!(mesh, condyle_mesh::new(name, placed, skeleton.joint_count())?);
        Ok(())
    })
}

/// Reads a morph target of the caller.
fn morph_target(target: &condyle_morph_target, vertex_count: usize) -> Result<MorphTarget, Fault> {
    let count = |plane: *const f32| if plane.is_null() { 0 } else { vertex_count };
    let positions = target.positions.cast::<[f32; 3]>();
    let normals = target.normals.cast::<[f32; 3]>();
    let tangents = target.tangents.cast::<[f32; 3]>();
    let deltas = MorphDeltas {
        positions: elements!(positions, "morph_targets[].positions", count(target.positions)),
        normals: elements!(normals, "morph_targets[].normals", count(target.normals)),
        tangents: elements!(tangents, "morph_targets[].tangents", count(target.tangents)),
    };
    Ok(MorphTarget::from_dense(vertex_count, deltas)?)
}

/// Reads an array of meshes of the caller, all of one skeleton.
#[cfg(any(feature = "encode", feature = "query"))]
pub(crate) fn meshes<'a>(
    list: *const *const condyle_mesh,
    count: usize,
    joint_count: usize,
) -> Result<Vec<&'a condyle_mesh>, Fault> {
    let mut found = Vec::new();
    for &mesh in elements!(list, "meshes", count) {
        let mesh: &condyle_mesh = shared!(mesh, "meshes[]");
        if mesh.joint_count != joint_count {
            let error =
                Error::Length { what: "joints of meshes[]", found: mesh.joint_count, needed: joint_count };
            return Err(error.into());
        }
        found.push(mesh);
    }
    Ok(found)
}

/// Frees a mesh of `condyle_mesh_new`. Null is ignored. A model frees its own meshes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_mesh_free(mesh: *mut condyle_mesh) {
    free(mesh);
}

/// Writes the properties of a mesh to `info`. Set `info->size` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_mesh_get_info(
    mesh: *const condyle_mesh,
    info: *mut condyle_mesh_info,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let it = shared!(mesh);
        let (placed, bind) = (&it.placed, it.bind());
        let (starts, joints, weights) = placed.mesh.influences().as_slices();
        let found = condyle_mesh_info {
            size: size_of::<condyle_mesh_info>(),
            name: it.name.as_ptr(),
            vertices: condyle_const_vertices {
                vertex_count: bind.positions.len(),
                positions: pointer(bind.positions),
                normals: pointer(bind.normals),
                tangents: pointer(bind.tangents),
            },
            indices: pointer(placed.mesh.indices()),
            index_count: placed.mesh.indices().len(),
            influence_starts: pointer(starts),
            influence_joints: pointer(joints),
            influence_weights: pointer(weights),
            influence_count: weights.len(),
            palette_count: it.skin.joints().len(),
            palette_joints: pointer(it.skin.joints()),
            morph_target_count: placed.morph_weights.len(),
            morph_weights: pointer(&placed.morph_weights),
            color: placed.color,
            is_visible: (placed.drawable && placed.shown).into(),
        };
        put_sized!(info, found);
        Ok(())
    })
}
