//! The elements of a palette: matrices, and for dual-quaternion skinning also dual quaternions and stretches.

use alloc::vec::Vec;

/// A 4x4 matrix in four columns: one cache line (64 bytes).
///
/// ```
/// use condyle::skinning::PaletteMatrix;
/// use condyle::{Affine, NormalRule, Palette, Skin, Transform, palette};
///
/// let bound = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// let ahead = Affine::from(Transform { translation: [1.0, 2.0, 3.0], ..Transform::IDENTITY });
/// let mut matrices = Palette::default();
/// palette(&bound, &[ahead], NormalRule::default(), &mut matrices)?;
/// // The layout of a `mat4` in a shader, column by column.
/// let upload: &[PaletteMatrix] = matrices.matrices();
/// assert_eq!(upload[0].columns[12..], [1.0, 2.0, 3.0, 1.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct PaletteMatrix {
    /// Column `c`, row `r` is element `4 * c + r`.
    pub columns: [f32; 16],
}

const _: () = assert!(size_of::<PaletteMatrix>() == 64 && align_of::<PaletteMatrix>() == 64);

impl PaletteMatrix {
    pub(super) const ZERO: Self = Self { columns: [0.0; 16] };

    /// Returns the columns of the upper 3x3 part.
    pub(super) fn linear_columns(&self) -> [[f64; 3]; 3] {
        [0, 1, 2].map(|c| [0, 1, 2].map(|r| f64::from(self.columns[4 * c + r])))
    }
}

/// A rotation followed by a translation, as a unit dual quaternion: 32 bytes.
///
/// The translation is the vector part of `2 * dual * conjugate(real)`. In a shader this is two `vec4`.
///
/// ```
/// use condyle::{Affine, NormalRule, Palette, Skin, Transform, skinning};
///
/// let bound = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// let ahead = Affine::from(Transform { translation: [1.0, 2.0, 3.0], ..Transform::IDENTITY });
/// let mut matrices = Palette::default();
/// skinning::palette_dual(&bound, &[ahead], NormalRule::default(), &mut matrices)?;
/// let upload = matrices.dual_quats();
/// assert_eq!((upload[0].real, upload[0].dual), ([0.0, 0.0, 0.0, 1.0], [0.5, 1.0, 1.5, 0.0]));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(32))]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct DualQuat {
    /// The rotation: a unit quaternion, `[x, y, z, w]`.
    pub real: [f32; 4],
    /// Half the translation times the rotation, `[x, y, z, w]`.
    pub dual: [f32; 4],
}

const _: () = assert!(size_of::<DualQuat>() == 32 && align_of::<DualQuat>() == 32);

/// The part of a palette for dual-quaternion skinning.
#[derive(PartialEq)]
pub(super) struct DualPalette {
    /// One per joint; empty if vertices are skinned by matrices only.
    pub(super) quats: Vec<DualQuat>,
    /// The stretch of each joint, applied before its dual quaternion, with 1 as the last number. Empty if
    /// every stretch is `scale`.
    pub(super) stretches: Vec<PaletteMatrix>,
    /// The inverse transposes of `stretches` for normals; empty if `stretches` is used for normals too.
    pub(super) normal_stretches: Vec<PaletteMatrix>,
    /// The common scale of most joints: three factors of the same magnitude. The first is negative if they
    /// mirror.
    pub(super) scale: [f32; 3],
}

impl Clone for DualPalette {
    fn clone(&self) -> Self {
        let Self { quats, stretches, normal_stretches, scale } = self;
        let (quats, stretches) = (quats.clone(), stretches.clone());
        Self { quats, stretches, normal_stretches: normal_stretches.clone(), scale: *scale }
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { quats, stretches, normal_stretches, scale } = source;
        self.quats.clone_from(quats);
        self.stretches.clone_from(stretches);
        self.normal_stretches.clone_from(normal_stretches);
        self.scale = *scale;
    }
}

impl Default for DualPalette {
    fn default() -> Self {
        Self { quats: Vec::new(), stretches: Vec::new(), normal_stretches: Vec::new(), scale: [1.0; 3] }
    }
}

impl DualPalette {
    /// Switches back to skinning by matrices.
    pub(super) fn clear(&mut self) {
        self.quats.clear();
        self.stretches.clear();
        self.normal_stretches.clear();
        self.scale = [1.0; 3];
    }
}
