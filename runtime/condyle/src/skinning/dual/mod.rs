//! Dual-quaternion skinning: each joint is a stretch, followed by a rotation and a translation.
//!
//! A weighted sum of rotation matrices is flatter than each of them: a wrist that twists by half a turn
//! collapses to a point. The sum of unit dual quaternions, divided by its length, is again a rotation and a
//! translation. L. Kavan, S. Collins, J. Žára, C. O'Sullivan, *Geometric Skinning with Approximate Dual
//! Quaternion Blending*, 2008.

pub(super) mod kernel;
mod sums;
mod swing_twist;
#[cfg(test)]
mod tests;

pub use self::swing_twist::SwingTwist;
use super::palette::{NormalRule, Palette, inverse_transpose, palette};
use super::parts::{DualQuat, PaletteMatrix};
use crate::mesh::Skin;
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::math::decompose::nearest_rotation;
use condyle_base::math::quats::{renormalized, rows};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{cofactors, columns, cross, dot};

/// Computes a [`palette`](crate::palette()) and a dual quaternion for each joint. [`skin`](crate::skin())
/// then blends the dual quaternions, so that the mesh keeps its volume where joints twist.
///
/// Each matrix is split into a stretch in the bind pose, followed by a rotation and a translation. Stretches
/// are blended like matrices. A stretch does not move the joint's position in the bind pose. A vertex between
/// a scaled joint and an unscaled one therefore stays between them. If more than half of the joints have the
/// same scale and mirroring, that is the common scale, which is not blended. Skinning is fastest if all
/// joints have only this common scale.
///
/// Weights are relative to their sum. Each rotation has two quaternions; the one closer to the quaternion of
/// the heaviest influence is used. If the blended quaternion is shorter than 1e-4 or longer than 1e4, the
/// heaviest influence gets all the weight. That happens, for example, if weights of both signs cancel. A
/// joint whose matrix is not finite is ignored.
///
/// At bends dual quaternions bulge, because points keep their distance from the joint.
/// [`Influences::with_dual_shares`](crate::Influences::with_dual_shares) sets the share of dual quaternions
/// for each vertex, and [`SwingTwist`] computes these shares from clips.
///
/// The time per joint is about 60x that of [`palette`](crate::palette()). `out` allocates only when it grows.
///
/// # Errors
/// [`Error::Index`] if the skin refers to a joint that `model` does not have. On error `out` is unchanged.
///
/// ```
/// use condyle::{Affine, Influences, NormalRule, Palette, Skin, Transform, Vertices, palette, skin, skinning};
///
/// // A wrist halfway between two joints. The second joint makes half a turn about x, the axis of the
/// // forearm.
/// let half_turn = Transform { rotation: [1.0, 0.0, 0.0, 0.0], ..Transform::IDENTITY };
/// let (bound, model) = (Skin::new(vec![0, 1], vec![Affine::IDENTITY; 2])?, [Affine::IDENTITY, half_turn.into()]);
/// let influences = Influences::from_rows([[(0, 0.5), (1, 0.5)]])?;
/// let bind = Vertices { positions: vec![[0.0, 0.0, 2.0]], ..Vertices::default() };
/// let mut posed = Vertices::zeroed_like(&bind);
/// let mut matrices = Palette::default();
///
/// palette(&bound, &model, NormalRule::default(), &mut matrices)?;
/// skin(&influences, &matrices, bind.as_slices(), posed.as_slices_mut())?;
/// assert_eq!(posed.positions[0], [0.0; 3]);
///
/// skinning::palette_dual(&bound, &model, NormalRule::default(), &mut matrices)?;
/// skin(&influences, &matrices, bind.as_slices(), posed.as_slices_mut())?;
/// assert_eq!(posed.positions[0].map(|v| v.abs().round()), [0.0, 2.0, 0.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn palette_dual(skin: &Skin, model: &[Affine], rule: NormalRule, out: &mut Palette) -> Result<(), Error> {
    palette(skin, model, rule, out)?;
    let Palette { matrices, normal_matrices, dual, .. } = out;
    let common = common_scale(matrices);
    let mut rigid = true;
    for (matrix, inverse_bind) in matrices.iter().zip(skin.inverse_bind()) {
        let parts = Parts::of(matrix, bind_place(inverse_bind), common);
        rigid &= parts.rigid;
        dual.quats.push(parts.quat);
        dual.stretches.push(parts.stretch);
    }
    dual.scale = scale_of(common).map(|v| v as f32);
    if rigid {
        dual.stretches.clear();
    } else if !normal_matrices.is_empty() {
        dual.normal_stretches.extend(dual.stretches.iter().map(inverse_transpose));
    }
    Ok(())
}

/// Maximum deviation of an entry of a stretch from the common scale, relative to that scale. Positions are
/// then off by at most this fraction of their distance from the joint.
const RIGID: f64 = 5e-7;

/// Scales with a smaller relative difference count as equal.
const SAME_SCALE: f64 = 1e-5;

/// Returns the mean scale of a matrix, negative if it mirrors.
fn size(columns: &[[f64; 3]; 3]) -> f64 {
    let squares: f64 = columns.iter().map(|c| dot(*c, *c)).sum();
    let size = sqrt_f64(squares / 3.0);
    if cofactors(*columns).1 < 0.0 { -size } else { size }
}

/// Returns the scale of more than half of the finite matrices, or 1 if there is no majority. Majority vote,
/// in which a candidate and a different scale cancel: R. Boyer, J S. Moore, *MJRTY*, 1981.
fn common_scale(matrices: &[PaletteMatrix]) -> f64 {
    let same = |a: f64, b: f64| (a - b).abs() <= SAME_SCALE * b.abs();
    let (mut candidate, mut votes) = (1.0, 0);
    let sizes = || matrices.iter().map(|m| size(&m.linear_columns())).filter(|size| size.is_finite());
    let mut voters = 0;
    for size in sizes() {
        voters += 1;
        if votes == 0 {
            candidate = size;
        }
        votes += if same(size, candidate) { 1 } else { -1 };
    }
    let (mut sum, mut count) = (0.0, 0);
    for size in sizes().filter(|&size| same(size, candidate)) {
        (sum, count) = (sum + size, count + 1);
    }
    let mean = sum / f64::from(count);
    if 2 * count > voters && mean.abs() > 0.0 && mean.is_finite() { mean } else { 1.0 }
}

/// Returns three factors of this magnitude; the first has its sign.
fn scale_of(size: f64) -> [f64; 3] {
    [size, size.abs(), size.abs()]
}

/// Returns the position of a joint in the bind pose, or the origin if the inverse bind matrix is singular.
fn bind_place(inverse_bind: &Affine) -> [f64; 3] {
    let rows = inverse_bind.to_f64();
    let (cofactors, determinant) = cofactors(columns(&rows));
    let moved = rows.map(|row| row[3]);
    let part = -1.0 / determinant;
    let place = cofactors.map(|column| dot(column, moved) * part);
    if place.iter().all(|v| v.is_finite()) { place } else { [0.0; 3] }
}

/// A matrix split into stretch, rotation and translation.
struct Parts {
    quat: DualQuat,
    stretch: PaletteMatrix,
    /// Whether the stretch is the common scale.
    rigid: bool,
}

impl Parts {
    /// The parts of a joint that is ignored.
    const NONE: Self = Self {
        quat: DualQuat { real: [0.0; 4], dual: [0.0; 4] },
        stretch: PaletteMatrix { columns: [0.0; 16] },
        rigid: true,
    };

    /// Splits a matrix. The stretch maps `place` to the same point as the common scale does.
    fn of(m: &PaletteMatrix, place: [f64; 3], common: f64) -> Self {
        if !m.columns.iter().all(|v| v.is_finite()) {
            return Self::NONE;
        }
        let all = m.linear_columns();
        let moved: [f64; 3] = core::array::from_fn(|r| f64::from(m.columns[12 + r]));
        let real = rotation(all).map(|v| v as f32);
        // The stretch is relative to the rotation as stored in f32, so it includes the rounding error.
        let turn = rows(renormalized(real.map(f64::from)));
        let stretch = all.map(|column| unturned(&turn, column));

        let scale = scale_of(common);
        let scaled: [f64; 3] = core::array::from_fn(|c| scale[c] * place[c]);
        let stretched = linear(&stretch, place);
        let (target, turned) = (linear(&all, place), turn.map(|row| dot(row, scaled)));
        let translation: [f64; 3] = core::array::from_fn(|r| moved[r] + target[r] - turned[r]);
        let mut columns = [0.0; 16];
        let mut rigid = true;
        for c in 0..3 {
            for r in 0..3 {
                columns[4 * c + r] = stretch[c][r] as f32;
                let wanted = if r == c { scale[c] } else { 0.0 };
                rigid &= (stretch[c][r] - wanted).abs() <= RIGID * scale[1];
            }
            columns[12 + c] = (scaled[c] - stretched[c]) as f32;
        }
        columns[15] = 1.0;
        Self {
            quat: DualQuat { real, dual: dual(real, translation) },
            stretch: PaletteMatrix { columns },
            rigid,
        }
    }
}

/// Returns half the translation times the rotation.
fn dual(real: [f32; 4], translation: [f64; 3]) -> [f32; 4] {
    let [x, y, z, w] = real.map(f64::from);
    let across = cross(translation, [x, y, z]);
    let part = |c: usize| 0.5 * (w * translation[c] + across[c]);
    [part(0), part(1), part(2), -0.5 * dot(translation, [x, y, z])].map(|v| v as f32)
}

fn linear(columns: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    core::array::from_fn(|r| columns[0][r] * v[0] + columns[1][r] * v[1] + columns[2][r] * v[2])
}

/// Returns a vector with the rotation undone.
fn unturned(rows: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    core::array::from_fn(|c| rows[0][c] * v[0] + rows[1][c] * v[1] + rows[2][c] * v[2])
}

/// Returns the rotation closest to the matrix. If the matrix mirrors, its first column is negated first.
fn rotation(mut columns: [[f64; 3]; 3]) -> [f64; 4] {
    let size = size(&columns);
    if size < 0.0 {
        columns[0] = columns[0].map(|v| -v);
    }
    let part = 1.0 / size.abs();
    // Half the sum of a matrix and its inverse transpose is closer to the rotation: the error is squared.
    // Joints that hardly stretch need two or three iterations. N. Higham, 1986.
    let mut near = columns.map(|column| column.map(|v| v * part));
    for _ in 0..10 {
        let (cofactors, determinant) = cofactors(near);
        // NaN and nearly flat matrices use `nearest_rotation`, which always succeeds.
        if determinant.is_nan() || determinant <= 1e-2 {
            break;
        }
        let (mut change, part) = (0.0_f64, 1.0 / determinant);
        for (column, cofactors) in near.iter_mut().zip(cofactors) {
            for (v, cofactor) in column.iter_mut().zip(cofactors) {
                let half = 0.5 * (cofactor * part - *v);
                change = change.max(half.abs());
                *v += half;
            }
        }
        if change < 1e-5 {
            return condyle_base::math::decompose::rotation(&near);
        }
    }
    nearest_rotation(&columns)
}
