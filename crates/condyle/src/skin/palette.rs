//! The palette: what takes a vertex from the bind pose to model space, per joint of a skin.

use alloc::vec::Vec;
use core::fmt;

use fearless_simd::{f32x4, prelude::*};

use crate::convert::rows::mul_affine;
use crate::error::Error;
use crate::math::Affine;
use crate::math::vectors::cofactors;
use crate::mesh::Skin;
use crate::simd::{Mode, dispatch, transpose};

/// How normals follow. glTF leaves it open; the rules differ only where joints scale or bend strongly.
///
/// ```
/// use condyle::{Affine, NormalRule, Palette, Skin, Transform, palette};
///
/// // A joint that makes everything flat: only the default turns normals the right way.
/// let bound = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// let flat = Affine::from(Transform { scale: [1.0, 0.1, 1.0], ..Transform::IDENTITY });
/// let mut matrices = Palette::default();
/// palette(&bound, &[flat], NormalRule::default(), &mut matrices)?;
/// assert_eq!(matrices.normal_matrices().len(), 1);
/// palette(&bound, &[flat], NormalRule::Plain, &mut matrices)?;
/// assert!(matrices.normal_matrices().is_empty());
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum NormalRule {
    /// The weighted sum of each joint's inverse transpose. Right under non-uniform scale; the same as
    /// [`Plain`](Self::Plain), at its cost, while all joints have one common scale.
    #[default]
    InverseTranspose,
    /// The blended matrix itself. What most engines do; wrong under non-uniform scale.
    Plain,
    /// The inverse transpose of the blended matrix, per vertex: the normal of the linearly blended surface where
    /// weights do not change along it.
    BlendedInverseTranspose,
}

/// A 4x4 matrix in four columns: one cache line.
///
/// ```
/// use condyle::skin::PaletteMatrix;
/// use condyle::{Affine, NormalRule, Palette, Skin, Transform, palette};
///
/// let bound = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// let ahead = Affine::from(Transform { translation: [1.0, 2.0, 3.0], ..Transform::IDENTITY });
/// let mut matrices = Palette::default();
/// palette(&bound, &[ahead], NormalRule::default(), &mut matrices)?;
/// // As a shader takes it: `mat4`, column by column.
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
    const ZERO: Self = Self { columns: [0.0; 16] };

    /// Of the upper 3x3 part.
    fn linear_columns(&self) -> [[f64; 3]; 3] {
        [0, 1, 2].map(|c| [0, 1, 2].map(|r| f64::from(self.columns[4 * c + r])))
    }
}

/// One matrix per joint of a skin, and how normals go with it.
///
/// ```
/// use condyle::{Affine, NormalRule, Palette, Skin, palette};
///
/// // Joints 4 and 2 of the skeleton move the mesh.
/// let bound = Skin::new(vec![4, 2], vec![Affine::IDENTITY; 2])?;
/// let mut matrices = Palette::default();
/// // Filled anew each frame, in the same memory.
/// palette(&bound, &[Affine::IDENTITY; 5], NormalRule::default(), &mut matrices)?;
/// assert_eq!((matrices.matrices().len(), matrices.mirrors()), (2, false));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Palette {
    matrices: Vec<PaletteMatrix>,
    /// Inverse transposes for normals; empty where `matrices` serve.
    normal_matrices: Vec<PaletteMatrix>,
    rule: NormalRule,
}

/// What it holds, in a line.
impl fmt::Debug for Palette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Palette")
            .field("matrices", &self.matrices.len())
            .field("normal_matrices", &self.normal_matrices.len())
            .field("rule", &self.rule)
            .finish()
    }
}

impl Palette {
    /// The matrix of each joint of the skin: model matrix times inverse bind matrix.
    #[must_use]
    pub fn matrices(&self) -> &[PaletteMatrix] {
        &self.matrices
    }

    /// The matrix that takes normals, per joint; empty where [`matrices`](Self::matrices) serve.
    #[must_use]
    pub fn normal_matrices(&self) -> &[PaletteMatrix] {
        &self.normal_matrices
    }

    /// Whether a joint turns left hands into right ones. Looks at every matrix.
    #[must_use]
    pub fn mirrors(&self) -> bool {
        let even = self.rule == NormalRule::InverseTranspose && self.normal_matrices.is_empty();
        if !even {
            return self.matrices.iter().any(|m| cofactors(m.linear_columns()).1 < 0.0);
        }
        // Rotations and reflections of one scale: f32 can tell as well, in less time.
        self.matrices.iter().any(|m| {
            let [ax, ay, az, _, bx, by, bz, _, cx, cy, cz, ..] = m.columns;
            ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx) < 0.0
        })
    }

    /// How normals follow.
    #[must_use]
    pub fn rule(&self) -> NormalRule {
        self.rule
    }
}

/// Multiplies model matrices by inverse bind matrices, and prepares what the normal rule needs.
///
/// `model` holds one matrix per joint of the skeleton that the skin refers to. `palette` receives one matrix per joint
/// of the skin; it allocates only when it grows.
///
/// # Errors
/// [`Error::Index`] if the skin names a joint that `model` does not have. `palette` is then unchanged.
///
/// ```
/// use condyle::{Affine, NormalRule, Palette, Skin, Transform, palette};
///
/// // A joint that stood at height 1 when the mesh was bound, and stands at height 3 now.
/// let at = |y| Affine::from(Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY });
/// let bound = Skin::new(vec![0], vec![at(-1.0)])?;
/// let mut matrices = Palette::default();
/// palette(&bound, &[at(3.0)], NormalRule::default(), &mut matrices)?;
/// assert_eq!(matrices.matrices()[0].columns[12..15], [0.0, 2.0, 0.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn palette(skin: &Skin, model: &[Affine], rule: NormalRule, palette: &mut Palette) -> Result<(), Error> {
    if let Some(at) = skin.joints().iter().position(|&j| usize::from(j) >= model.len()) {
        let found = skin.joints()[at].into();
        return Err(Error::Index { what: "joints of the skin", at, found, count: model.len() });
    }
    palette.rule = rule;
    palette.matrices.resize(skin.joints().len(), PaletteMatrix::ZERO);
    let even = dispatch!(|s, mode| multiply(s, mode, skin, model, &mut palette.matrices));
    palette.normal_matrices.clear();
    if rule == NormalRule::InverseTranspose && !even {
        palette.normal_matrices.extend(palette.matrices.iter().map(inverse_transpose));
    }
    Ok(())
}

/// How far a column's squared length and its products with the others may be from those of rotations of one scale, as
/// the root of the sum of squares. Rounding along chains of joints stays below; normals then differ by less than
/// two thousandths of a degree.
const EVEN: f32 = 2e-5;

/// Fills `out`; returns whether all matrices are rotations or reflections of one common scale, whose inverse
/// transposes are the matrices themselves but for a factor.
#[inline(always)]
fn multiply<S: Simd, M: Mode>(
    s: S,
    mode: M,
    skin: &Skin,
    model: &[Affine],
    out: &mut [PaletteMatrix],
) -> bool {
    let last_row = f32x4::load_array(s, [0.0, 0.0, 0.0, 1.0]);
    let linear = f32x4::load_array(s, [1.0, 1.0, 1.0, 0.0]);
    let mut scale2 = None;
    let mut even = last_row.simd_eq(last_row);
    for ((out, joint), inverse_bind) in out.iter_mut().zip(skin.joints()).zip(skin.inverse_bind()) {
        let model = model.get(usize::from(*joint)).unwrap_or(&Affine::IDENTITY);
        let [x, y, z] = inverse_bind.rows;
        let inverse_bind = [f32x4::load_array(s, x), f32x4::load_array(s, y), f32x4::load_array(s, z)];
        let [x, y, z] = mul_affine(s, mode, model, &inverse_bind);
        let [a, b, c, d] = transpose([x, y, z, last_row]);
        a.store_slice(&mut out.columns[0..4]);
        b.store_slice(&mut out.columns[4..8]);
        c.store_slice(&mut out.columns[8..12]);
        d.store_slice(&mut out.columns[12..16]);

        // Each column with itself, with the next and with the one after: the lanes are columns, the last is zero.
        let (x, y, z) = (x * linear, y * linear, z * linear);
        let products = |x2: f32x4<S>, y2: f32x4<S>, z2: f32x4<S>| mode.madd(z, z2, mode.madd(y, y2, x * x2));
        let own = products(x, y, z);
        let next = products(
            x.rotate_elements_left::<1>(),
            y.rotate_elements_left::<1>(),
            z.rotate_elements_left::<1>(),
        );
        let after = products(
            x.rotate_elements_left::<2>(),
            y.rotate_elements_left::<2>(),
            z.rotate_elements_left::<2>(),
        );
        let wanted = *scale2.get_or_insert_with(|| own.to_array()[0]);
        let off = own - linear * f32x4::splat(s, wanted);
        let bound = EVEN * wanted;
        let off2 = mode.madd(off, off, mode.madd(next, next, after * after));
        even &= off2.simd_le(f32x4::splat(s, bound * bound));
    }
    // Squares that vanish or overflow say nothing.
    even.all_true() && scale2.is_none_or(|scale2| (1e-13..1e13).contains(&scale2))
}

/// The inverse transpose of the upper 3x3 part, without translation. Of a singular matrix, whose inverse
/// does not exist, the matrix of cofactors: it still turns the normals of the plane that is left.
fn inverse_transpose(m: &PaletteMatrix) -> PaletteMatrix {
    let (cofactors, determinant) = cofactors(m.linear_columns());
    let greatest = cofactors.as_flattened().iter().fold(0.0, |size: f64, v| size.max(v.abs()));
    // Where f32 cannot hold the inverse, its direction with a size of one.
    let factor = match greatest / determinant.abs() < f64::from(f32::MAX) {
        true => 1.0 / determinant,
        false => 1.0_f64.copysign(determinant) / greatest,
    };
    let factor = if factor.is_finite() { factor } else { 0.0 };
    let mut columns = [0.0; 16];
    for (out, cofactors) in columns.as_chunks_mut::<4>().0.iter_mut().zip(cofactors) {
        for (out, value) in out.iter_mut().zip(cofactors) {
            *out = (value * factor) as f32;
        }
    }
    PaletteMatrix { columns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Transform;
    use crate::reference;
    use crate::simd::Dispatch;
    use crate::testing::{Random, SIZES, assert_close};
    use std::vec;

    fn palette_of(skin: &Skin, model: &[Affine], rule: NormalRule) -> Palette {
        let mut out = Palette::default();
        palette(skin, model, rule, &mut out).expect("sizes agree");
        out
    }

    #[test]
    fn every_size_is_the_product() {
        for &joints in SIZES {
            let mut random = Random(joints as u64);
            let (skin, model): (_, Vec<_>) =
                (random.skin(joints), (0..joints).map(|_| Affine::from(random.transform())).collect());
            let wide: Vec<_> = model.iter().map(reference::matrix).collect();
            let want = reference::palette(&skin, &wide);
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| palette_of(&skin, &model, NormalRule::Plain));
                let got = reference::palette_matrices(&got);
                for (joint, (got, want)) in got.iter().zip(&want).enumerate() {
                    let got = got.as_flattened().iter().map(|&v| v as f32).collect::<Vec<_>>();
                    let case = format_args!("{dispatch}, joint {joint} of {joints}");
                    assert_close(&got, want.as_flattened(), 1e-6, case);
                }
            }
        }
    }

    #[test]
    fn normals_have_matrices_of_their_own_only_where_scales_differ() {
        let skin = Skin::new(vec![0, 1], vec![Affine::IDENTITY; 2]).expect("equal lengths");
        let mut random = Random(2);
        let mut with_scales = |a: [f32; 3], b: [f32; 3]| {
            let mut model = |scale| Affine::from(Transform { scale, ..random.transform() });
            palette_of(&skin, &[model(a), model(b)], NormalRule::InverseTranspose)
        };
        for even in [1.0, 0.01, 100.0, -2.0] {
            assert!(with_scales([even; 3], [even; 3]).normal_matrices().is_empty(), "{even}");
        }
        assert!(with_scales([1.0, 1.0, -1.0], [1.0; 3]).normal_matrices().is_empty(), "a reflection");
        for (a, b) in [([1.0; 3], [1.0, 1.001, 1.0]), ([1.0; 3], [2.0; 3]), ([0.0; 3], [1.0; 3])] {
            let own = with_scales(a, b);
            assert_eq!(own.normal_matrices().len(), 2, "{a:?} {b:?}");
            for (own, m) in
                own.normal_matrices().iter().zip(own.matrices()).filter(|(_, m)| m.columns[0] != 0.0)
            {
                let want = reference::inverse_transpose(&reference::palette_matrix(m));
                let got = reference::palette_matrix(own)
                    .as_flattened()
                    .iter()
                    .map(|&v| v as f32)
                    .collect::<Vec<_>>();
                assert_close(&got, want.as_flattened(), 2e-6, "inverse transpose");
            }
        }
        assert!(with_scales([1.0; 3], [2.0; 3]).matrices()[1].columns.iter().all(|v| v.is_finite()));
    }

    #[test]
    fn a_flattened_joint_still_turns_the_normals_of_its_plane() {
        let skin = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("equal lengths");
        let flat = Transform { scale: [2.0, 3.0, 0.0], ..Transform::IDENTITY };
        let flat = palette_of(&skin, &[flat.into()], NormalRule::InverseTranspose);
        assert_eq!(flat.normal_matrices()[0].columns[8..11], [0.0, 0.0, 1.0]);
    }

    /// Columns of length one that lean towards each other, each pair in turn.
    #[test]
    fn shear_has_matrices_of_its_own() {
        let skin = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("equal lengths");
        for (leaning, towards) in [(0, 1), (1, 2), (2, 0)] {
            let mut sheared = Affine::IDENTITY;
            sheared.rows[leaning][leaning] = 0.8;
            sheared.rows[towards][leaning] = 0.6;
            let own = palette_of(&skin, &[sheared], NormalRule::InverseTranspose);
            assert_eq!(own.normal_matrices().len(), 1, "column {leaning} towards {towards}");
        }
    }

    /// The inverse of a number that f32 holds may be one that it does not: its direction is left, mirrored or not.
    #[test]
    fn an_inverse_beyond_f32_keeps_its_direction() {
        let skin = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("equal lengths");
        for (x, want) in [(1e-39, 1.0), (-1e-39, -1.0)] {
            let thin = Transform { scale: [x, 2.0, 3.0], ..Transform::IDENTITY };
            let own = palette_of(&skin, &[thin.into()], NormalRule::InverseTranspose);
            assert_eq!(own.normal_matrices()[0].columns[0], want, "{x}");
        }
    }

    #[test]
    fn a_missing_joint_is_refused_and_changes_nothing() {
        let skin = Random(1).skin(3);
        let mut out = palette_of(&skin, &[Affine::IDENTITY; 3], NormalRule::Plain);
        let before = out.clone();
        let refused = palette(&skin, &[Affine::IDENTITY; 2], NormalRule::Plain, &mut out);
        assert!(matches!(refused, Err(Error::Index { at: 0, found: 2, count: 2, .. })), "{refused:?}");
        assert_eq!(out, before);
    }
}
