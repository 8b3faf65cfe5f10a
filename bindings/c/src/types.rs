//! Plain structures that all functions share.

use runtime::math::Rigid;
use runtime::{Affine, Transform};

/// Joint index that means "none": the parent of a root, or an optional joint that is not set.
pub const CONDYLE_NO_JOINT: u16 = u16::MAX;

/// Offset that means "this attribute is absent", in `condyle_vertex_layout`.
///
/// cbindgen:ignore
pub const CONDYLE_NO_ATTRIBUTE: usize = usize::MAX;

/// Largest number of layers of one call.
pub const CONDYLE_MAX_LAYERS: usize = 32;

/// Local transform of a joint: scale, then rotate, then translate.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct condyle_transform {
    /// Unit quaternion, in the order x, y, z, w.
    pub rotation: [f32; 4],
    /// Metres, or the unit of the file.
    pub translation: [f32; 3],
    /// Factors along x, y and z.
    pub scale: [f32; 3],
}

/// Affine matrix of three rows and four columns. The fourth column is the translation.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct condyle_matrix {
    /// Rows, for column vectors on the right.
    pub rows: [[f32; 4]; 3],
}

/// Affine matrix of four columns, as OpenGL, Vulkan, glm and Eigen store it. The last row is 0, 0, 0, 1.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct condyle_columns {
    /// Columns one after another.
    pub columns: [f32; 16],
}

/// Rotation and translation in double precision: the placement of a character, or a step of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct condyle_rigid {
    /// Unit quaternion, in the order x, y, z, w.
    pub rotation: [f64; 4],
    /// Metres, or the unit of the file.
    pub translation: [f64; 3],
}

// Arrays of these types are passed on without a copy.
const _: () = {
    assert!(size_of::<condyle_transform>() == size_of::<Transform>());
    assert!(align_of::<condyle_transform>() == align_of::<Transform>());
    assert!(
        std::mem::offset_of!(condyle_transform, translation) == std::mem::offset_of!(Transform, translation)
    );
    assert!(std::mem::offset_of!(condyle_transform, scale) == std::mem::offset_of!(Transform, scale));
    assert!(size_of::<condyle_matrix>() == size_of::<Affine>());
    assert!(align_of::<condyle_matrix>() == align_of::<Affine>());
    assert!(size_of::<condyle_columns>() == size_of::<[f32; 16]>());
};

impl From<condyle_transform> for Transform {
    fn from(it: condyle_transform) -> Self {
        Self { rotation: it.rotation, translation: it.translation, scale: it.scale }
    }
}

impl From<Transform> for condyle_transform {
    fn from(it: Transform) -> Self {
        Self { rotation: it.rotation, translation: it.translation, scale: it.scale }
    }
}

impl From<condyle_rigid> for Rigid {
    fn from(it: condyle_rigid) -> Self {
        Self { rotation: it.rotation, translation: it.translation }
    }
}

impl From<Rigid> for condyle_rigid {
    fn from(it: Rigid) -> Self {
        Self { rotation: it.rotation, translation: it.translation }
    }
}

/// Checks at compile time that handles may be shared between threads for reading, and moved to another.
pub(crate) const fn is_shared<T: Send + Sync>() {}
