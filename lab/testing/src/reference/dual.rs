//! Dual-quaternion skinning in f64.

use super::algebra::quat_product;
use super::algebra::{Matrix, dot, scaled, sum, unit};
use super::algebra::{matrix, rotate, transform_point, transform_vector};
use super::stages::{blend_matrices, determinant, inverse_transpose};
use condyle::mesh::Skin;
use condyle::skinning::NormalRule;
use std::{vec, vec::Vec};

/// A joint transform, decomposed: a stretch, then a rotation, then a translation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DualJoint {
    /// Stretch. It scales the joint's position in the bind pose by the common scale only.
    pub stretch: Matrix,
    /// Unit quaternion.
    pub rotation: [f64; 4],
    /// Translation in metres.
    pub translation: [f64; 3],
}

/// Decomposes the matrices of a palette about the joint positions in the bind pose. Singular matrices are not
/// supported.
#[must_use]
pub fn dual_joints(skin: &Skin, palette: &[Matrix]) -> Vec<DualJoint> {
    let size = |m: &Matrix| {
        let squares: f64 = m.iter().map(|row| dot([row[0], row[1], row[2]], [row[0], row[1], row[2]])).sum();
        (squares / 3.0).sqrt() * determinant(m).signum()
    };
    let sizes: Vec<f64> = palette.iter().map(size).collect();
    let alike = |of: f64| sizes.iter().filter(move |size| (*size - of).abs() <= 1e-5 * of.abs());
    let common = sizes.iter().find(|&&of| 2 * alike(of).count() > sizes.len());
    let common = common.map_or(1.0, |&of| alike(of).sum::<f64>() / alike(of).count() as f64);
    let bind = skin.inverse_bind().iter().map(|bind| place(&matrix(bind)));
    palette.iter().zip(bind).map(|(m, place)| taken_apart(m, place, common)).collect()
}

/// Returns the point that an affine matrix maps to the origin.
fn place(m: &Matrix) -> [f64; 3] {
    let inverse = inverse_transpose(m);
    std::array::from_fn(|c| -(0..3).map(|r| inverse[r][c] * m[r][3]).sum::<f64>())
}

fn taken_apart(m: &Matrix, place: [f64; 3], common: f64) -> DualJoint {
    // Repeated averaging of a matrix with its inverse transpose converges to the nearest rotation.
    let mut near = *m;
    if determinant(m) < 0.0 {
        near.iter_mut().for_each(|row| row[0] = -row[0]);
    }
    for _ in 0..200 {
        let inverse = inverse_transpose(&near);
        near = std::array::from_fn(|r| std::array::from_fn(|c| 0.5 * (near[r][c] + inverse[r][c])));
    }
    let stretch = |r: usize, c: usize| (0..3).map(|k| near[k][r] * m[k][c]).sum::<f64>();
    let mut stretch: Matrix =
        std::array::from_fn(|r| std::array::from_fn(|c| if c < 3 { stretch(r, c) } else { 0.0 }));
    let scaled_place = [common * place[0], common.abs() * place[1], common.abs() * place[2]];
    let stretched = transform_point(&stretch, place);
    for r in 0..3 {
        stretch[r][3] = scaled_place[r] - stretched[r];
    }
    let rotation = quaternion(&near);
    let turned = rotate(rotation, scaled_place);
    let target = transform_point(m, place);
    DualJoint { stretch, rotation, translation: std::array::from_fn(|c| target[c] - turned[c]) }
}

/// Returns the quaternion of a rotation matrix. The entries give four multiples of the quaternion; takes the
/// longest.
fn quaternion(m: &Matrix) -> [f64; 4] {
    let of = |r: usize, c: usize| m[r][c];
    let all = [
        [1.0 + of(0, 0) - of(1, 1) - of(2, 2), of(0, 1) + of(1, 0), of(0, 2) + of(2, 0), of(2, 1) - of(1, 2)],
        [of(0, 1) + of(1, 0), 1.0 - of(0, 0) + of(1, 1) - of(2, 2), of(1, 2) + of(2, 1), of(0, 2) - of(2, 0)],
        [of(0, 2) + of(2, 0), of(1, 2) + of(2, 1), 1.0 - of(0, 0) - of(1, 1) + of(2, 2), of(1, 0) - of(0, 1)],
        [of(2, 1) - of(1, 2), of(0, 2) - of(2, 0), of(1, 0) - of(0, 1), 1.0 + of(0, 0) + of(1, 1) + of(2, 2)],
    ];
    let longest = all.into_iter().max_by(|a, b| dot(*a, *a).total_cmp(&dot(*b, *b)));
    unit(longest.unwrap_or([0.0, 0.0, 0.0, 1.0]))
}

/// Returns the blend of a row, heaviest influence first: the normalised sum of dual quaternions, applied
/// after the weighted mean of the stretches. Kavan et al. 2008, equations 3 and 4.
#[must_use]
pub fn dual_matrix(joints: &[DualJoint], row: impl IntoIterator<Item = (u16, f32)> + Clone) -> Matrix {
    let (rotation, translation) = dual_blend(joints, row.clone());
    let total: f64 = row.clone().into_iter().map(|(_, weight)| f64::from(weight)).sum();
    let stretch = blend_stretches(joints, row, |stretch| *stretch).map(|r| scaled(r, 1.0 / total));
    let column = |c: usize| rotate(rotation, [stretch[0][c], stretch[1][c], stretch[2][c]]);
    let columns = [column(0), column(1), column(2), sum(column(3), translation)];
    std::array::from_fn(|r| std::array::from_fn(|c| columns[c][r]))
}

/// Returns the weighted sum of `of(stretch)` over a row.
fn blend_stretches(
    joints: &[DualJoint],
    row: impl IntoIterator<Item = (u16, f32)>,
    of: fn(&Matrix) -> Matrix,
) -> Matrix {
    let (mut own, mut weights) = (vec![], vec![]);
    for (joint, weight) in row {
        weights.push((own.len() as u16, weight));
        own.push(of(&joints[usize::from(joint)].stretch));
    }
    blend_matrices(&own, weights)
}

/// Returns the rotation and translation of [`dual_matrix`].
fn dual_blend(joints: &[DualJoint], row: impl IntoIterator<Item = (u16, f32)>) -> ([f64; 4], [f64; 3]) {
    let (mut real, mut dual, mut first) = ([0.0; 4], [0.0; 4], None);
    for (joint, weight) in row {
        let DualJoint { rotation, translation: [x, y, z], .. } = joints[usize::from(joint)];
        let heaviest = *first.get_or_insert(rotation);
        let weight = f64::from(weight) * if dot(heaviest, rotation) < 0.0 { -1.0 } else { 1.0 };
        real = sum(real, scaled(rotation, weight));
        dual = sum(dual, scaled(quat_product([x, y, z, 0.0], rotation), 0.5 * weight));
    }
    let [x, y, z, w] = real;
    let [x, y, z, _] = scaled(quat_product(dual, [-x, -y, -z, w]), 2.0 / dot(real, real));
    (unit(real), [x, y, z])
}

/// Returns a posed unit normal, and its length before the normalisation.
#[must_use]
pub fn dual_normal(
    joints: &[DualJoint],
    row: impl IntoIterator<Item = (u16, f32)> + Clone,
    rule: NormalRule,
    normal: [f64; 3],
) -> ([f64; 3], f64) {
    let m = dual_matrix(joints, row.clone());
    let sum = match rule {
        NormalRule::Plain => transform_vector(&m, normal),
        NormalRule::BlendedInverseTranspose => transform_vector(&inverse_transpose(&m), normal),
        // `InverseTranspose`.
        _ => {
            let own = blend_stretches(joints, row.clone(), inverse_transpose);
            rotate(dual_blend(joints, row).0, transform_vector(&own, normal))
        }
    };
    (unit(sum), dot(sum, sum).sqrt())
}
