//! The palette: one matrix per joint of a skin that maps vertices from the bind pose to model space.
//!
//! Under non-uniform scale the plain matrix gives wrong normals, so normals default to the blend of the
//! inverse transposes. [`palette`] checks whether any joint needs one. If none does, the plain matrices
//! apply, at no cost.

use alloc::vec::Vec;
use core::fmt;

use fearless_simd::{f32x4, f32x8, mask32x8, prelude::*};

use super::parts::{DualPalette, DualQuat, PaletteMatrix};
use crate::convert::rows::mul_row;
use crate::mesh::Skin;
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::math::vectors::cofactors;
use condyle_base::simd::{Mode, dispatch, spread_halves, transpose_halves};

/// Rule for transforming normals. glTF does not specify one. The rules differ only if joints scale or bend
/// strongly.
///
/// ```
/// use condyle::{Affine, NormalRule, Palette, Skin, Transform, palette};
///
/// // The joint flattens the mesh: the default rule has separate matrices for normals, `Plain` does not.
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
    /// The weighted sum of the inverse transposes of the joints, which is correct under non-uniform scale.
    /// While all joints have one common scale, this gives the same result at the same cost as
    /// [`Plain`](Self::Plain). Scales with a relative difference of at most 1e-5 count as common. Normals are
    /// then off by at most 3.5e-5 radians, unless influences cancel.
    #[default]
    InverseTranspose,
    /// The blended matrix itself, as in most engines. Incorrect under non-uniform scale.
    Plain,
    /// The inverse transpose of the blended matrix, per vertex. This is the normal of the linearly blended
    /// surface where the weights are constant along it.
    BlendedInverseTranspose,
}

/// The matrices of the joints of a skin, and the rule for their normals.
///
/// ```
/// use condyle::{Affine, NormalRule, Palette, Skin, palette};
///
/// // Joints 4 and 2 of the skeleton move the mesh.
/// let bound = Skin::new(vec![4, 2], vec![Affine::IDENTITY; 2])?;
/// let mut matrices = Palette::default();
/// // Filled again each frame, in the same memory.
/// palette(&bound, &[Affine::IDENTITY; 5], NormalRule::default(), &mut matrices)?;
/// assert_eq!((matrices.matrices().len(), matrices.mirrors()), (2, false));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Default, PartialEq)]
pub struct Palette {
    pub(super) matrices: Vec<PaletteMatrix>,
    /// Inverse transposes for normals; empty if `matrices` is used for normals too.
    pub(super) normal_matrices: Vec<PaletteMatrix>,
    rule: NormalRule,
    pub(super) dual: DualPalette,
}

/// `clone_from` reuses the memory, and allocates only if it is too small.
impl Clone for Palette {
    fn clone(&self) -> Self {
        let Self { matrices, normal_matrices, rule, dual } = self;
        let (matrices, normal_matrices) = (matrices.clone(), normal_matrices.clone());
        Self { matrices, normal_matrices, rule: *rule, dual: dual.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { matrices, normal_matrices, rule, dual } = source;
        self.matrices.clone_from(matrices);
        self.normal_matrices.clone_from(normal_matrices);
        self.rule = *rule;
        self.dual.clone_from(dual);
    }
}

/// Prints a one-line summary with the lengths of the arrays.
impl fmt::Debug for Palette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Palette")
            .field("matrices", &self.matrices.len())
            .field("normal_matrices", &self.normal_matrices.len())
            .field("rule", &self.rule)
            .field("dual_quats", &self.dual.quats.len())
            .finish()
    }
}

impl Palette {
    /// Returns the matrix of each joint of the skin: model matrix times inverse bind matrix.
    #[must_use]
    pub fn matrices(&self) -> &[PaletteMatrix] {
        &self.matrices
    }

    /// Returns the matrix for normals of each joint; empty if [`matrices`](Self::matrices) is used for
    /// normals too.
    #[must_use]
    pub fn normal_matrices(&self) -> &[PaletteMatrix] {
        &self.normal_matrices
    }

    /// Returns the rotation and translation of each joint if [`palette_dual`](crate::skinning::palette_dual)
    /// filled the palette; otherwise empty.
    #[must_use]
    pub fn dual_quats(&self) -> &[DualQuat] {
        &self.dual.quats
    }

    /// Returns the stretch of each joint, which is applied before its [dual quaternion](Self::dual_quats).
    ///
    /// Blend stretches like matrices, and divide the result by its last element, which is the sum of the
    /// weights. Empty if the stretch of every joint is [`dual_scale`](Self::dual_scale).
    #[must_use]
    pub fn dual_stretches(&self) -> &[PaletteMatrix] {
        &self.dual.stretches
    }

    /// Returns the common scale of the joints: three factors of the same magnitude, which more than half of
    /// the joints have. The first factor is negative if these joints mirror. Without such a majority the
    /// factors are 1.
    #[must_use]
    pub fn dual_scale(&self) -> [f32; 3] {
        self.dual.scale
    }

    /// Whether the matrix of any joint mirrors, so that its determinant is negative. Checks every matrix.
    #[must_use]
    pub fn mirrors(&self) -> bool {
        let even = self.rule == NormalRule::InverseTranspose && self.normal_matrices.is_empty();
        if !even {
            return self.matrices.iter().any(|m| cofactors(m.linear_columns()).1 < 0.0);
        }
        // Rotations and reflections of one scale: f32 is precise enough, and faster.
        self.matrices.iter().any(|m| {
            let [ax, ay, az, _, bx, by, bz, _, cx, cy, cz, ..] = m.columns;
            ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx) < 0.0
        })
    }

    /// Returns the rule for normals.
    #[must_use]
    pub fn rule(&self) -> NormalRule {
        self.rule
    }
}

/// Multiplies model matrices by inverse bind matrices, and computes the matrices for normals if the rule
/// needs them.
///
/// `model` holds one matrix per joint of the skeleton of the skin. `palette` receives one matrix per joint of
/// the skin. It allocates only when it grows.
///
/// # Errors
/// [`Error::Index`] if the skin refers to a joint that `model` does not have. [`Error::Length`] if the skin
/// is for a skeleton ([`Skin::for_skeleton`]) with another number of joints. On error `palette` is unchanged.
///
/// ```
/// use condyle::{Affine, NormalRule, Palette, Skin, Transform, palette};
///
/// // A joint that was at height 1 when the mesh was bound, and is at height 3 now.
/// let at = |y| Affine::from(Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY });
/// let bound = Skin::new(vec![0], vec![at(-1.0)])?;
/// let mut matrices = Palette::default();
/// palette(&bound, &[at(3.0)], NormalRule::default(), &mut matrices)?;
/// assert_eq!(matrices.matrices()[0].columns[12..15], [0.0, 2.0, 0.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn palette(skin: &Skin, model: &[Affine], rule: NormalRule, palette: &mut Palette) -> Result<(), Error> {
    skin.check_joints(model.len())?;
    palette.rule = rule;
    palette.matrices.resize(skin.joints().len(), PaletteMatrix::ZERO);
    let out = &mut palette.matrices[..];
    palette.normal_matrices.clear();
    palette.dual.clear();
    if rule != NormalRule::InverseTranspose {
        dispatch!(|s, mode| multiply::<_, _, _, false>(s, mode, skin, model, out));
    } else if !dispatch!(|s, mode| multiply::<_, _, _, true>(s, mode, skin, model, out)) {
        palette.normal_matrices.extend(palette.matrices.iter().map(inverse_transpose));
    }
    Ok(())
}

/// Writes a [`palette`](crate::palette()) to the caller's memory for GPU skinning, as rows.
///
/// `matrices[j]` receives the model matrix of joint `j` of the skin times its inverse bind matrix: three rows
/// of four numbers, 48 bytes.
///
/// | Shader language | Type | Position |
/// |---|---|---|
/// | WGSL | `mat3x4<f32>` | `vec4(position, 1.0) * m` |
/// | GLSL, `std430` buffer | `mat3x4` | `vec4(position, 1.0) * m` |
/// | HLSL | `row_major float3x4` | `mul(m, float4(position, 1.0))` |
///
/// The columns of the WGSL and GLSL types are these rows, so the vector is on the left. The numbers have the
/// same bits as [`Palette::matrices`].
///
/// # Errors
/// [`Error::Length`] if `matrices` does not hold one matrix per joint of the skin. [`Error::Index`] if the
/// skin refers to a joint that `model` does not have. On error `matrices` is unchanged.
///
/// ```
/// use condyle::{Affine, Skin, Transform, skinning};
///
/// let at = |y| Affine::from(Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY });
/// let bound = Skin::new(vec![0], vec![at(-1.0)])?;
/// // One slot of this frame's upload buffer.
/// let mut upload = [Affine::IDENTITY; 16];
/// skinning::palette_rows(&bound, &[at(3.0)], &mut upload[7..8])?;
/// assert_eq!(upload[7].rows[1], [0.0, 1.0, 0.0, 2.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn palette_rows(skin: &Skin, model: &[Affine], matrices: &mut [Affine]) -> Result<(), Error> {
    Error::check_len("matrices", matrices.len(), skin.joints().len())?;
    skin.check_joints(model.len())?;
    products(skin, model, matrices);
    Ok(())
}

/// Does the same as [`palette_rows`] with 4x4 matrices: 16 numbers each in column-major order, 64 bytes. The
/// last row is `0 0 0 1`.
///
/// | Shader language | Type | Position |
/// |---|---|---|
/// | WGSL | `mat4x4<f32>` | `m * vec4(position, 1.0)` |
/// | GLSL | `mat4` | `m * vec4(position, 1.0)` |
/// | HLSL | `column_major float4x4` (the default) | `mul(m, float4(position, 1.0))` |
///
/// # Errors
/// [`Error::Length`] if `matrices` does not hold one matrix per joint of the skin. [`Error::Index`] if the
/// skin refers to a joint that `model` does not have. On error `matrices` is unchanged.
///
/// ```
/// use condyle::{Affine, Skin, Transform, skinning};
///
/// let at = |y| Affine::from(Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY });
/// let bound = Skin::new(vec![0], vec![at(-1.0)])?;
/// let mut upload = [[0.0; 16]; 1];
/// skinning::palette_columns(&bound, &[at(3.0)], &mut upload)?;
/// assert_eq!(upload[0][12..], [0.0, 2.0, 0.0, 1.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn palette_columns(skin: &Skin, model: &[Affine], matrices: &mut [[f32; 16]]) -> Result<(), Error> {
    Error::check_len("matrices", matrices.len(), skin.joints().len())?;
    skin.check_joints(model.len())?;
    products(skin, model, matrices);
    Ok(())
}

/// A separate function, so that the kernel is compiled once per kind of matrix.
fn products<T: Stored>(skin: &Skin, model: &[Affine], matrices: &mut [T]) {
    dispatch!(|s, mode| multiply::<_, _, _, false>(s, mode, skin, model, matrices));
}

/// A matrix in memory.
trait Stored: Sized {
    /// Stores the matrix in the low lanes to `first`, and the matrix in the high lanes to `second` if there
    /// is one.
    fn store<S: Simd>(s: S, rows: [f32x8<S>; 3], first: &mut Self, second: Option<&mut Self>);
}

impl Stored for Affine {
    #[inline(always)]
    fn store<S: Simd>(_: S, [x, y, z]: [f32x8<S>; 3], first: &mut Self, second: Option<&mut Self>) {
        let ((x, x2), (y, y2), (z, z2)) = (x.split(), y.split(), z.split());
        x.store_slice(&mut first.rows[0]);
        y.store_slice(&mut first.rows[1]);
        z.store_slice(&mut first.rows[2]);
        if let Some(second) = second {
            x2.store_slice(&mut second.rows[0]);
            y2.store_slice(&mut second.rows[1]);
            z2.store_slice(&mut second.rows[2]);
        }
    }
}

impl Stored for [f32; 16] {
    #[inline(always)]
    fn store<S: Simd>(s: S, [x, y, z]: [f32x8<S>; 3], first: &mut Self, second: Option<&mut Self>) {
        let last = f32x8::simd_from(s, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        let [a, b, c, d] = transpose_halves([x, y, z, last]);
        let ((a, a2), (b, b2), (c, c2), (d, d2)) = (a.split(), b.split(), c.split(), d.split());
        a.store_slice(&mut first[0..4]);
        b.store_slice(&mut first[4..8]);
        c.store_slice(&mut first[8..12]);
        d.store_slice(&mut first[12..16]);
        if let Some(second) = second {
            a2.store_slice(&mut second[0..4]);
            b2.store_slice(&mut second[4..8]);
            c2.store_slice(&mut second[8..12]);
            d2.store_slice(&mut second[12..16]);
        }
    }
}

impl Stored for PaletteMatrix {
    #[inline(always)]
    fn store<S: Simd>(s: S, rows: [f32x8<S>; 3], first: &mut Self, second: Option<&mut Self>) {
        let second = if let Some(second) = second { Some(&mut second.columns) } else { None };
        Stored::store(s, rows, &mut first.columns, second);
    }
}

/// Bound on how much the column products of a matrix deviate from those of a rotation of the common scale.
/// The deviation is the root of the sum of squares over a column's squared length and its products with the
/// other columns. Rounding along chains of joints stays below the bound. Normals of matrices within it are
/// off by less than 0.002 degrees.
const EVEN: f32 = 2e-5;

/// Fills `out`, two matrices at a time. With `CHECK`, returns whether all matrices are rotations or
/// reflections of one common scale. Their inverse transposes are then the matrices themselves, up to a
/// factor. Without `CHECK`, returns `true`.
#[inline(always)]
fn multiply<S: Simd, M: Mode, T: Stored, const CHECK: bool>(
    s: S,
    mode: M,
    skin: &Skin,
    model: &[Affine],
    out: &mut [T],
) -> bool {
    let model = |joint: u16| model.get(usize::from(joint)).unwrap_or(&Affine::IDENTITY);
    let ((joints, last_joint), (bind, last_bind)) =
        (skin.joints().as_chunks::<2>(), skin.inverse_bind().as_chunks::<2>());
    let (out, last_out) = out.as_chunks_mut::<2>();

    let mut scale2 = 1.0;
    if CHECK && let ([joint, ..], [bind, ..]) = (skin.joints(), skin.inverse_bind()) {
        let model = model(*joint);
        let rows = product(s, mode, [model; 2], [bind; 2]);
        scale2 = column_products(s, mode, rows)[0].to_array()[0];
    }
    let bound = EVEN * scale2;
    let (wanted, bound2) = (linear(s) * f32x8::splat(s, scale2), f32x8::splat(s, bound * bound));
    let mut even = bound2.simd_eq(bound2);
    for ((out, joints), bind) in out.iter_mut().zip(joints).zip(bind) {
        let rows = product(s, mode, [model(joints[0]), model(joints[1])], [&bind[0], &bind[1]]);
        let [first, second] = out;
        T::store(s, rows, first, Some(second));
        if CHECK {
            even &= square_off(s, mode, rows, wanted).simd_le(bound2);
        }
    }
    if let ([out], [joint], [bind]) = (last_out, last_joint, last_bind) {
        let rows = product(s, mode, [model(*joint); 2], [bind; 2]);
        T::store(s, rows, out, None);
        if CHECK {
            even &= square_off(s, mode, rows, wanted).simd_le(bound2);
        }
    }
    // If the squares underflow or overflow, the check is inconclusive.
    even.all_true() && (1e-13..1e13).contains(&scale2)
}

/// 1 for the linear columns, 0 for the translation.
#[inline(always)]
fn linear<S: Simd>(s: S) -> f32x8<S> {
    f32x8::simd_from(s, [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0])
}

/// Returns the rows of the two products `a * c` and `b * d`.
#[inline(always)]
fn product<S: Simd, M: Mode>(s: S, mode: M, [a, b]: [&Affine; 2], [c, d]: [&Affine; 2]) -> [f32x8<S>; 3] {
    let ([ax, ay, az], [bx, by, bz]) = (&a.rows, &b.rows);
    let ([cx, cy, cz], [dx, dy, dz]) = (&c.rows, &d.rows);
    let right = [load_two(s, cx, dx), load_two(s, cy, dy), load_two(s, cz, dz)];
    [
        product_row(s, mode, load_two(s, ax, bx), &right),
        product_row(s, mode, load_two(s, ay, by), &right),
        product_row(s, mode, load_two(s, az, bz), &right),
    ]
}

#[inline(always)]
fn load_two<S: Simd>(s: S, a: &[f32; 4], b: &[f32; 4]) -> f32x8<S> {
    f32x4::load_array_ref(s, a).combine(f32x4::load_array_ref(s, b))
}

#[inline(always)]
fn product_row<S: Simd, M: Mode>(s: S, mode: M, left: f32x8<S>, right: &[f32x8<S>; 3]) -> f32x8<S> {
    let last = mask32x8::simd_from(s, [0, 0, 0, -1, 0, 0, 0, -1]);
    let translation = last.select(left, f32x8::splat(s, 0.0));
    let (x, y, z) = (spread_halves::<S, 0>(left), spread_halves::<S, 1>(left), spread_halves::<S, 2>(left));
    mul_row(mode, [x, y, z, translation], right)
}

/// Returns the squared deviation of the column products from those of a rotation.
#[inline(always)]
fn square_off<S: Simd, M: Mode>(s: S, mode: M, rows: [f32x8<S>; 3], wanted: f32x8<S>) -> f32x8<S> {
    let [own, next, after] = column_products(s, mode, rows);
    let off = own - wanted;
    mode.madd(off, off, mode.madd(next, next, after * after))
}

/// Returns each column's products with itself, with the next and with the one after. Lanes are columns, and
/// the last lane is zero.
#[inline(always)]
fn column_products<S: Simd, M: Mode>(s: S, mode: M, [x, y, z]: [f32x8<S>; 3]) -> [f32x8<S>; 3] {
    let (x, y, z) = (x * linear(s), y * linear(s), z * linear(s));
    let (x1, y1, z1) =
        (x.slide_within_blocks::<1>(x), y.slide_within_blocks::<1>(y), z.slide_within_blocks::<1>(z));
    let (x2, y2, z2) =
        (x.slide_within_blocks::<2>(x), y.slide_within_blocks::<2>(y), z.slide_within_blocks::<2>(z));
    [
        mode.madd(z, z, mode.madd(y, y, x * x)),
        mode.madd(z, z1, mode.madd(y, y1, x * x1)),
        mode.madd(z, z2, mode.madd(y, y2, x * x2)),
    ]
}

/// Returns the inverse transpose of the upper 3x3 part, without translation. For a singular matrix, which has
/// no inverse, returns the matrix of cofactors: it still transforms the normals of the remaining plane.
pub(super) fn inverse_transpose(m: &PaletteMatrix) -> PaletteMatrix {
    let (cofactors, determinant) = cofactors(m.linear_columns());
    let greatest = cofactors.as_flattened().iter().fold(0.0, |size: f64, v| size.max(v.abs()));
    // If the inverse exceeds f32, scale it to a largest entry of 1, which keeps its direction.
    let factor = if greatest / determinant.abs() < f64::from(f32::MAX) {
        1.0 / determinant
    } else {
        1.0_f64.copysign(determinant) / greatest
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
    use crate::testing::reference;
    use crate::testing::{Random, SIZES, assert_close};
    use condyle_base::math::Transform;
    use condyle_base::simd::Dispatch;
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
                let plain = dispatch.scope(|| palette_of(&skin, &model, NormalRule::Plain));
                let checked = dispatch.scope(|| palette_of(&skin, &model, NormalRule::InverseTranspose));
                assert_eq!(checked.matrices(), plain.matrices(), "{dispatch}, {joints} joints");
                let (mut rows, mut columns) = (vec![Affine::IDENTITY; joints], vec![[0.0; 16]; joints]);
                dispatch.scope(|| palette_rows(&skin, &model, &mut rows)).expect("sizes agree");
                dispatch.scope(|| palette_columns(&skin, &model, &mut columns)).expect("sizes agree");
                assert!(
                    plain.matrices().iter().map(|m| &m.columns).eq(&columns),
                    "{dispatch}, {joints} joints"
                );
                assert!(rows.iter().map(Affine::to_columns).eq(columns), "{dispatch}, {joints} joints");
                let got = reference::palette_matrices(&plain);
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

    /// The uneven joint is found at any index, with or without a partner in its register.
    #[test]
    fn one_uneven_joint_among_others_is_found() {
        let mut random = Random(5);
        let counts: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 5, 6] };
        for (&joints, dispatch) in counts.iter().flat_map(|n| Dispatch::all().map(move |d| (n, d))) {
            let skin =
                Skin::new((0..joints as u16).collect(), vec![Affine::IDENTITY; joints]).expect("lengths");
            let mut model = |scale| Affine::from(Transform { scale, ..random.transform() });
            let even: Vec<_> = (0..joints).map(|_| model([1.0; 3])).collect();
            for joint in 0..joints {
                let mut uneven = even.clone();
                uneven[joint] = model([1.0, 1.001, 1.0]);
                let [even, uneven] = [&even, &uneven].map(|model| {
                    let made = dispatch.scope(|| palette_of(&skin, model, NormalRule::InverseTranspose));
                    made.normal_matrices().len()
                });
                assert_eq!((even, uneven), (0, joints), "{dispatch}, joint {joint} of {joints}");
            }
        }
    }

    #[test]
    fn a_flattened_joint_still_turns_the_normals_of_its_plane() {
        let skin = Skin::new(vec![0], vec![Affine::IDENTITY]).expect("equal lengths");
        let flat = Transform { scale: [2.0, 3.0, 0.0], ..Transform::IDENTITY };
        let flat = palette_of(&skin, &[flat.into()], NormalRule::InverseTranspose);
        assert_eq!(flat.normal_matrices()[0].columns[8..11], [0.0, 0.0, 1.0]);
    }

    /// Columns of length 1 that are not perpendicular, for each pair of columns.
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

    /// An inverse may exceed f32 even if the number does not: its direction is kept, mirrored or not.
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
        let refused = palette_rows(&skin, &[Affine::IDENTITY; 2], &mut [Affine::IDENTITY; 3]);
        assert!(matches!(refused, Err(Error::Index { at: 0, found: 2, count: 2, .. })), "{refused:?}");
        let refused = palette_columns(&skin, &[Affine::IDENTITY; 2], &mut [[0.0; 16]; 3]);
        assert!(matches!(refused, Err(Error::Index { at: 0, found: 2, count: 2, .. })), "{refused:?}");
        let refused = palette_rows(&skin, &[Affine::IDENTITY; 3], &mut [Affine::IDENTITY; 4]);
        assert_eq!(refused, Err(Error::Length { what: "matrices", found: 4, needed: 3 }));
        let refused = palette_columns(&skin, &[Affine::IDENTITY; 3], &mut [[0.0; 16]; 2]);
        assert_eq!(refused, Err(Error::Length { what: "matrices", found: 2, needed: 3 }));
    }
}
