//! Model matrices: from local transforms to model space.

use runtime::{Affine, local_to_model};

use crate::guard::guard;
use crate::pointer::{Range, check_apart};
use crate::pose::condyle_pose;
use crate::skeleton::condyle_skeleton;
use crate::status::{condyle_error, condyle_status};
use crate::types::{condyle_columns, condyle_matrix};

/// Converts local transforms to model matrices: the matrix of the parent times the local transform.
///
/// `matrices` receives one matrix per joint; `matrix_count` is the number of joints.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints. `matrices` is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_local_to_model(
    skeleton: *const condyle_skeleton,
    pose: *const condyle_pose,
    matrices: *mut condyle_matrix,
    matrix_count: usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (skeleton, pose) = (shared!(skeleton), shared!(pose));
        let matrices = matrices.cast::<Affine>();
        local_to_model(&skeleton.skeleton, &pose.pose, elements_mut!(matrices, matrix_count))?;
        Ok(())
    })
}

/// Updates the model matrices of one joint and all its descendants, after a change of their transforms.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints, or a joint that does not exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_local_to_model_below(
    skeleton: *const condyle_skeleton,
    pose: *const condyle_pose,
    joint: u16,
    matrices: *mut condyle_matrix,
    matrix_count: usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (skeleton, pose) = (shared!(skeleton), shared!(pose));
        let matrices = matrices.cast::<Affine>();
        let matrices = elements_mut!(matrices, matrix_count);
        runtime::model::subtree(&skeleton.skeleton, &pose.pose, joint, matrices)?;
        Ok(())
    })
}

/// Converts matrices of three rows to matrices of four columns, for renderers and maths libraries.
///
/// Both arrays have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_matrices_to_columns(
    matrices: *const condyle_matrix,
    columns: *mut condyle_columns,
    count: usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (from, to) = (Range::new("matrices", matrices, count), Range::new("columns", columns, count));
        check_apart([to], [from])?;
        let matrices = matrices.cast::<Affine>();
        let matrices = elements!(matrices, count);
        for (out, matrix) in elements_mut!(columns, count).iter_mut().zip(matrices) {
            out.columns = matrix.to_columns();
        }
        Ok(())
    })
}
