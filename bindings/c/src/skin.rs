//! Skinning and morphing of vertices.

use runtime::mesh::{VertexSlices, VertexSlicesMut};
use runtime::skinning::{Interleaved, InterleavedMut, VertexLayout, VertexSource, VertexTarget};
use runtime::{morph, skin};

use crate::guard::guard;
use crate::mesh::{condyle_const_vertices, condyle_mesh, condyle_vertices, planes};
use crate::palette::condyle_palette;
use crate::pointer::{Range, check_apart, check_elements, checked_elements_mut};
use crate::status::{Fault, condyle_error, condyle_status};
use crate::types::CONDYLE_NO_ATTRIBUTE;

/// Places of the attributes in a vertex of a buffer, in bytes. The numbers are 32-bit floats.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct condyle_vertex_layout {
    /// Distance between two vertices.
    pub stride: usize,
    /// Offset of the position, three numbers.
    pub position: usize,
    /// Offset of the normal, three numbers, or `CONDYLE_NO_ATTRIBUTE`.
    pub normal: usize,
    /// Offset of the tangent, four numbers, or `CONDYLE_NO_ATTRIBUTE`.
    pub tangent: usize,
}

/// Vertex buffer of the caller, to be written. Bytes between the attributes stay unchanged.
#[repr(C)]
pub struct condyle_vertex_buffer {
    /// First vertex. Needs no alignment.
    pub bytes: *mut u8,
    /// Number of bytes.
    pub byte_count: usize,
    /// Places of the attributes.
    pub layout: condyle_vertex_layout,
}

/// Vertex buffer to be read.
#[repr(C)]
pub struct condyle_const_vertex_buffer {
    /// First vertex. Needs no alignment.
    pub bytes: *const u8,
    /// Number of bytes.
    pub byte_count: usize,
    /// Places of the attributes.
    pub layout: condyle_vertex_layout,
}

impl From<condyle_vertex_layout> for VertexLayout {
    fn from(it: condyle_vertex_layout) -> Self {
        let optional = |offset| (offset != CONDYLE_NO_ATTRIBUTE).then_some(offset);
        let (normal, tangent) = (optional(it.normal), optional(it.tangent));
        Self { stride: it.stride, position: it.position, normal, tangent }
    }
}

/// Memory of planes.
#[inline(always)]
fn ranges<'a>(bind: &VertexSlices<'a>) -> [Range; 3] {
    [
        Range::of("bind->positions", bind.positions),
        Range::of("bind->normals", bind.normals),
        Range::of("bind->tangents", bind.tangents),
    ]
}

/// Output planes that overlap neither each other nor `read`.
#[inline(always)]
fn planes_mut<'a, const R: usize>(
    vertices: &condyle_vertices,
    read: [Range; R],
) -> Result<VertexSlicesMut<'a>, Fault> {
    let count = vertices.vertex_count;
    let normals = if vertices.normals.is_null() { 0 } else { count };
    let tangents = if vertices.tangents.is_null() { 0 } else { count };
    let positions_at = vertices.positions.cast::<[f32; 3]>();
    let normals_at = vertices.normals.cast::<[f32; 3]>();
    let tangents_at = vertices.tangents.cast::<[f32; 4]>();
    // All checks first, because results with an error are large.
    check_elements("positions", positions_at, count)?;
    check_elements("normals", normals_at, normals)?;
    check_elements("tangents", tangents_at, tangents)?;
    let written = [
        Range::checked("positions", positions_at, count),
        Range::checked("normals", normals_at, normals),
        Range::checked("tangents", tangents_at, tangents),
    ];
    check_apart(written, read)?;
    // SAFETY: checked, and apart from all other arrays; by the rules of the header, one element per vertex.
    let positions = unsafe { checked_elements_mut(positions_at, count) };
    // SAFETY: as above.
    let normals = unsafe { checked_elements_mut(normals_at, normals) };
    // SAFETY: as above.
    let tangents = unsafe { checked_elements_mut(tangents_at, tangents) };
    Ok(VertexSlicesMut { positions, normals, tangents })
}

/// Deforms the vertices of a mesh by its palette.
///
/// `bind` is null for the vertices of the mesh, or has morphed ones of `condyle_morph`. `posed` receives
/// the vertices in model space. `posed->vertex_count` equals the vertex count of the mesh. Normals and
/// tangents are written if both sides have them.
///
/// Errors: `CONDYLE_MISMATCH` for another number of vertices, or the palette of a smaller mesh;
/// `CONDYLE_INVALID_POINTER` for overlapping arrays. `posed` is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_skin(
    mesh: *const condyle_mesh,
    palette: *const condyle_palette,
    bind: *const condyle_const_vertices,
    posed: *const condyle_vertices,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (mesh, palette, posed) = (shared!(mesh), shared!(palette).filled()?, shared!(posed));
        let bind = match optional!(bind) {
            Some(bind) => planes(bind)?,
            None => mesh.bind(),
        };
        let posed = planes_mut(posed, ranges(&bind))?;
        skin(mesh.placed.mesh.influences(), palette, bind, posed)?;
        Ok(())
    })
}

/// Like `condyle_skin`, into a vertex buffer. `bind` is null for the vertices of the mesh.
///
/// Errors: `CONDYLE_MISMATCH` if a buffer ends before its last vertex; `CONDYLE_INVALID_ARGUMENT` for a
/// layout whose attributes overlap or exceed the stride; `CONDYLE_INVALID_POINTER` for overlapping buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_skin_interleaved(
    mesh: *const condyle_mesh,
    palette: *const condyle_palette,
    bind: *const condyle_const_vertex_buffer,
    posed: *const condyle_vertex_buffer,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (mesh, palette, posed) = (shared!(mesh), shared!(palette).filled()?, shared!(posed));
        let written = Range::new("posed->bytes", posed.bytes, posed.byte_count);
        let source = match optional!(bind) {
            Some(bind) => {
                let read = Range::new("bind->bytes", bind.bytes, bind.byte_count);
                check_apart([written], [read])?;
                let bytes = elements!(bind.bytes, "bind->bytes", bind.byte_count);
                VertexSource::Interleaved(Interleaved { bytes, layout: bind.layout.into() })
            }
            None => {
                check_apart([written], ranges(&mesh.bind()))?;
                VertexSource::Planes(mesh.bind())
            }
        };
        let bytes = elements_mut!(posed.bytes, "posed->bytes", posed.byte_count);
        let target = VertexTarget::Interleaved(InterleavedMut { bytes, layout: posed.layout.into() });
        skin(mesh.placed.mesh.influences(), palette, source, target)?;
        Ok(())
    })
}

/// Adds weighted morph targets to the vertices of a mesh. `morphed` is then `bind` of `condyle_skin`.
///
/// `weights` has one element per morph target, from `condyle_sample_weights`.
///
/// Errors: `CONDYLE_MISMATCH` for another number of weights or vertices; `CONDYLE_INVALID_ARGUMENT` for
/// weights that are not finite. `morphed` is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_morph(
    mesh: *const condyle_mesh,
    weights: *const f32,
    weight_count: usize,
    morphed: *const condyle_vertices,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (mesh, morphed) = (shared!(mesh), shared!(morphed));
        let [positions, normals, tangents] = ranges(&mesh.bind());
        let read = [positions, normals, tangents, Range::new("weights", weights, weight_count)];
        let morphed = planes_mut(morphed, read)?;
        morph(&mesh.placed.mesh, elements!(weights, weight_count), morphed)?;
        Ok(())
    })
}
