//! Palettes: model matrix times inverse bind matrix, for skinning on the CPU or the GPU.

use runtime::skinning::{palette_columns, palette_dual, palette_rows};
use runtime::{Affine, NormalRule, Palette, palette};

use crate::guard::{free, guard};
use crate::mesh::condyle_mesh;
use crate::numbers::{
    CONDYLE_SKIN_DUAL_QUATERNION, CONDYLE_SKIN_LINEAR, CONDYLE_SKIN_LINEAR_PLAIN, condyle_skinning,
};
use crate::pointer::{Range, check_apart};
use crate::status::{CONDYLE_INVALID_ARGUMENT, Fault, condyle_error, condyle_status, unknown};
use crate::types::{condyle_columns, condyle_matrix, is_shared};

/// Matrices of the joints of a mesh, for `condyle_skin`.
///
/// One thread at a time may change it; between changes, any number of threads may read it.
pub struct condyle_palette {
    palette: Palette,
    /// Whether it has matrices of a pose.
    is_filled: bool,
}

impl condyle_palette {
    /// Returns the matrices, which `condyle_palette_fill` has written.
    #[inline(always)]
    pub(crate) fn filled(&self) -> Result<&Palette, Fault> {
        let missing = || {
            let text = "palette: it is empty; call condyle_palette_fill first".to_owned();
            Fault::Other(CONDYLE_INVALID_ARGUMENT, text)
        };
        if self.is_filled { Ok(&self.palette) } else { Err(missing()) }
    }
}

const _: () = is_shared::<condyle_palette>();

/// Method of computation and rule for normals.
fn method(value: condyle_skinning) -> Result<(bool, NormalRule), Fault> {
    match value {
        CONDYLE_SKIN_LINEAR => Ok((false, NormalRule::InverseTranspose)),
        CONDYLE_SKIN_LINEAR_PLAIN => Ok((false, NormalRule::Plain)),
        CONDYLE_SKIN_DUAL_QUATERNION => Ok((true, NormalRule::InverseTranspose)),
        _ => Err(unknown("skinning", value, "a constant of condyle_skinning")),
    }
}

/// Creates a palette with memory for all methods of one mesh. Free it with `condyle_palette_free`.
///
/// Other meshes with as many palette matrices can use it too. Filling it for a larger mesh allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_palette_new(
    mesh: *const condyle_mesh,
    palette: *mut *mut condyle_palette,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(palette);
        let mesh = shared!(mesh);
        // Different scales need all optional matrices, so later calls find their memory.
        let uneven = |at: usize| {
            let scale = 1.0 + (at % 7) as f32;
            Affine { rows: [[scale, 0.5, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0]] }
        };
        let model: Vec<Affine> = (0..mesh.joint_count).map(uneven).collect();
        let model = mesh.matrices(&model);
        let mut made = Palette::default();
        palette_dual(&mesh.skin, model, NormalRule::InverseTranspose, &mut made)?;
        self::palette(&mesh.skin, model, NormalRule::InverseTranspose, &mut made)?;
        give!(palette, condyle_palette { palette: made, is_filled: false });
        Ok(())
    })
}

/// Frees a palette. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_palette_free(palette: *mut condyle_palette) {
    free(palette);
}

/// Fills a palette for a mesh from model matrices, one per joint of the skeleton.
///
/// Errors: `CONDYLE_MISMATCH` for another number of matrices. `palette` is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_palette_fill(
    mesh: *const condyle_mesh,
    matrices: *const condyle_matrix,
    matrix_count: usize,
    skinning: condyle_skinning,
    palette: *mut condyle_palette,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (mesh, (is_dual, rule)) = (shared!(mesh), method(skinning)?);
        let matrices = matrices.cast::<Affine>();
        let matrices = mesh.matrices(elements!(matrices, matrix_count));
        let out = exclusive!(palette);
        if is_dual {
            palette_dual(&mesh.skin, matrices, rule, &mut out.palette)?;
        } else {
            self::palette(&mesh.skin, matrices, rule, &mut out.palette)?;
        }
        out.is_filled = true;
        Ok(())
    })
}

/// Writes the palette of a mesh as columns, to memory of the caller such as a mapped buffer: `mat4` in GLSL,
/// `mat4x4<f32>` in WGSL, `column_major float4x4` in HLSL.
///
/// `matrices` has one element per joint of the skeleton, `columns` has `palette_count` elements, that of
/// `condyle_mesh_info`.
///
/// Errors: `CONDYLE_MISMATCH` for another number of matrices. `columns` is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_palette_columns(
    mesh: *const condyle_mesh,
    matrices: *const condyle_matrix,
    matrix_count: usize,
    columns: *mut condyle_columns,
    palette_count: usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let mesh = shared!(mesh);
        let read = Range::new("matrices", matrices, matrix_count);
        check_apart([Range::new("columns", columns, palette_count)], [read])?;
        let (matrices, columns) = (matrices.cast::<Affine>(), columns.cast::<[f32; 16]>());
        let model = mesh.matrices(elements!(matrices, matrix_count));
        palette_columns(&mesh.skin, model, elements_mut!(columns, palette_count))?;
        Ok(())
    })
}

/// Writes the palette of a mesh as rows, 48 bytes each: `mat3x4` in GLSL with the vector on the left,
/// `row_major float3x4` in HLSL.
///
/// `rows` has `palette_count` elements.
///
/// Errors: see `condyle_palette_columns`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_palette_rows(
    mesh: *const condyle_mesh,
    matrices: *const condyle_matrix,
    matrix_count: usize,
    rows: *mut condyle_matrix,
    palette_count: usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let mesh = shared!(mesh);
        let read = Range::new("matrices", matrices, matrix_count);
        check_apart([Range::new("rows", rows, palette_count)], [read])?;
        let (matrices, rows) = (matrices.cast::<Affine>(), rows.cast::<Affine>());
        let model = mesh.matrices(elements!(matrices, matrix_count));
        palette_rows(&mesh.skin, model, elements_mut!(rows, palette_count))?;
        Ok(())
    })
}
