//! References of the stages, one function each.

use super::algebra::{
    Local, Matrix, dot, local_matrix, matrix, multiply, scaled, slerp, sum, transform_vector, unit,
};
use super::algebra::{quat_exp, quat_inverse, quat_log, quat_product};
use std::vec::Vec;

use condyle::clip::{Interpolation, RawClip, Target};
use condyle::mesh::{MorphDelta, Skin, SkinnedMesh};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle::skinning::{NormalRule, Palette, PaletteMatrix};

/// Returns the upper rows of a palette matrix in f64.
#[must_use]
pub fn palette_matrix(m: &PaletteMatrix) -> Matrix {
    std::array::from_fn(|r| std::array::from_fn(|c| f64::from(m.columns[4 * c + r])))
}

/// Samples a track. glTF 2.0, "Animations" and appendix C.
///
/// # Panics
/// If `N` is not the width of the track.
#[must_use]
pub fn sample_track<const N: usize>(clip: &RawClip, track: usize, seconds: f64) -> [f64; N] {
    let track = &clip.tracks()[track];
    let times: Vec<f64> = clip.timelines()[track.timeline].iter().map(|&t| f64::from(t)).collect();
    let parts = if track.interpolation == Interpolation::CubicSpline { 3 } else { 1 };
    let value = |key: usize, part: usize| -> [f64; N] {
        let at = (key * parts + part) * N;
        std::array::from_fn(|c| f64::from(track.values[at + c]))
    };
    let rotation = track.target.rotates();
    let spline = usize::from(parts == 3);
    let key = times.iter().rposition(|&t| t <= seconds).unwrap_or(0);
    let result = if key + 1 == times.len() || seconds <= times[key] {
        value(key, spline)
    } else {
        let length = times[key + 1] - times[key];
        let t = (seconds - times[key]) / length;
        match track.interpolation {
            Interpolation::Step => value(key, 0),
            Interpolation::Linear if rotation => {
                let quat = |v: [f64; N]| std::array::from_fn(|c| v[c]);
                let r = slerp(quat(value(key, 0)), quat(value(key + 1, 0)), t);
                std::array::from_fn(|c| r[c])
            }
            Interpolation::Linear => sum(scaled(value(key, 0), 1.0 - t), scaled(value(key + 1, 0), t)),
            Interpolation::CubicSpline => {
                let (t2, t3) = (t * t, t * t * t);
                let ends = sum(
                    scaled(value(key, 1), 2.0 * t3 - 3.0 * t2 + 1.0),
                    scaled(value(key + 1, 1), -2.0 * t3 + 3.0 * t2),
                );
                let tangents = sum(
                    scaled(value(key, 2), length * (t3 - 2.0 * t2 + t)),
                    scaled(value(key + 1, 0), length * (t3 - t2)),
                );
                sum(ends, tangents)
            }
        }
    };
    if rotation { unit(result) } else { result }
}

/// Samples all joints; joints without a track keep the rest pose.
#[must_use]
pub fn sample_raw(clip: &RawClip, skeleton: &Skeleton, seconds: f64) -> Vec<Local> {
    let mut pose: Vec<Local> = skeleton.rest().transforms().map(Local::from).collect();
    for (index, track) in clip.tracks().iter().enumerate() {
        match track.target {
            Target::Rotation(j) => pose[usize::from(j)].rotation = sample_track(clip, index, seconds),
            Target::Translation(j) => pose[usize::from(j)].translation = sample_track(clip, index, seconds),
            Target::Scale(j) => pose[usize::from(j)].scale = sample_track(clip, index, seconds),
            _ => {}
        }
    }
    pose
}

/// Converts a pose to f64.
#[must_use]
pub fn locals(pose: &Pose) -> Vec<Local> {
    pose.transforms().map(Local::from).collect()
}

/// Returns model-space matrices. glTF 2.0, "Transformations".
#[must_use]
pub fn local_to_model(skeleton: &Skeleton, pose: &[Local]) -> Vec<Matrix> {
    let mut model: Vec<Matrix> = Vec::with_capacity(pose.len());
    for (joint, local) in (0..).zip(pose) {
        let local = local_matrix(local);
        let global = skeleton.parent(joint).map(|p| multiply(&model[usize::from(p)], &local));
        model.push(global.unwrap_or(local));
    }
    model
}

/// Returns model matrix times inverse bind matrix for each joint of the skin. glTF 2.0, "Skins".
#[must_use]
pub fn palette(skin: &Skin, model: &[Matrix]) -> Vec<Matrix> {
    let joints = skin.joints().iter().zip(skin.inverse_bind());
    joints.map(|(&j, bind)| multiply(&model[usize::from(j)], &matrix(bind))).collect()
}

/// Converts a palette of the library to f64.
#[must_use]
pub fn palette_matrices(palette: &Palette) -> Vec<Matrix> {
    palette.matrices().iter().map(palette_matrix).collect()
}

/// Returns the weighted sum of matrices.
#[must_use]
pub fn blend_matrices(palette: &[Matrix], row: impl IntoIterator<Item = (u16, f32)>) -> Matrix {
    let mut blended = [[0.0; 4]; 3];
    for (joint, weight) in row {
        for (out, m) in blended.as_flattened_mut().iter_mut().zip(palette[usize::from(joint)].as_flattened())
        {
            *out += f64::from(weight) * m;
        }
    }
    blended
}

/// Returns the cofactors of the upper 3x3 part: the inverse transpose times the determinant.
#[must_use]
pub fn cofactors(m: &Matrix) -> Matrix {
    let minor = |r: usize, c: usize| {
        let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
        m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]
    };
    std::array::from_fn(|r| std::array::from_fn(|c| if c < 3 { minor(r, c) } else { 0.0 }))
}

/// Returns the determinant of the upper 3x3 part.
#[must_use]
pub fn determinant(m: &Matrix) -> f64 {
    let c = cofactors(m);
    (0..3).map(|k| m[0][k] * c[0][k]).sum()
}

/// Returns the inverse transpose of the upper 3x3 part, or the cofactors if it does not exist.
#[must_use]
pub fn inverse_transpose(m: &Matrix) -> Matrix {
    let factor = 1.0 / determinant(m);
    cofactors(m).map(|row| scaled(row, if factor.is_finite() { factor } else { 1.0 }))
}

/// Returns a posed unit normal, or zero, and the length of the weighted sum before the normalisation.
#[must_use]
pub fn skin_normal(
    palette: &[Matrix],
    row: impl IntoIterator<Item = (u16, f32)>,
    rule: NormalRule,
    normal: [f64; 3],
) -> ([f64; 3], f64) {
    let m = match rule {
        NormalRule::Plain => blend_matrices(palette, row),
        NormalRule::BlendedInverseTranspose => inverse_transpose(&blend_matrices(palette, row)),
        // `InverseTranspose`.
        _ => {
            let own: Vec<Matrix> = palette.iter().map(inverse_transpose).collect();
            blend_matrices(&own, row)
        }
    };
    let sum = transform_vector(&m, normal);
    (unit(sum), dot(sum, sum).sqrt())
}

/// Returns the vertices of a mesh with its morph targets added: positions, normals, and tangents without
/// handedness.
#[must_use]
pub fn morph(mesh: &SkinnedMesh, weights: &[f32]) -> [Vec<[f64; 3]>; 3] {
    let base = mesh.vertices();
    let wide = |v: &[f32; 3]| v.map(f64::from);
    let mut out = [
        base.positions.iter().map(wide).collect::<Vec<_>>(),
        base.normals.iter().map(wide).collect(),
        base.tangents.iter().map(|t| [t[0], t[1], t[2]].map(f64::from)).collect(),
    ];
    for (target, &weight) in mesh.morph_targets().iter().zip(weights) {
        for vertex in 0..mesh.vertex_count() {
            let MorphDelta { position, normal, tangent } = target.delta(vertex);
            for (out, delta) in out.iter_mut().zip([position, normal, tangent]) {
                if let Some(out) = out.get_mut(vertex) {
                    *out = sum(*out, scaled(wide(&delta), weight.into()));
                }
            }
        }
    }
    out
}

/// Interpolates linearly between frames at `fps`. `seconds` must be between the first and the last frame.
#[must_use]
pub fn between_frames(frames: &[Vec<[f32; 3]>], fps: f64, seconds: f64) -> Vec<[f64; 3]> {
    let at = seconds * fps;
    let first = at as usize;
    let second = (first + 1).min(frames.len() - 1);
    let factor = at - first as f64;
    let wide = |v: &[f32; 3]| v.map(f64::from);
    let pairs = frames[first].iter().zip(&frames[second]);
    pairs.map(|(a, b)| sum(scaled(wide(a), 1.0 - factor), scaled(wide(b), factor))).collect()
}

/// Returns the weighted mean of poses. Each layer has weights per joint.
///
/// If `linear`, rotations are the normalised sum of quaternions; otherwise they use the exponential map. A
/// joint whose weights sum to 0 gets the transform of `rest`.
#[must_use]
pub fn blend(rest: &Pose, layers: &[(&Pose, Vec<f64>)], linear: bool) -> Vec<Local> {
    let mix = |(joint, rest): (usize, Local)| {
        let total: f64 = layers.iter().map(|(_, weights)| weights[joint]).sum();
        if total == 0.0 {
            return rest;
        }
        let mut mean = Local { rotation: [0.0; 4], translation: [0.0; 3], scale: [0.0; 3] };
        let mut turn = [0.0; 3];
        for (pose, weights) in layers.iter().filter(|layer| layer.1[joint] != 0.0) {
            let (local, share) = (Local::from(pose.get(joint)), weights[joint] / total);
            let near = if dot(local.rotation, rest.rotation) < 0.0 { -1.0 } else { 1.0 };
            let rotation = scaled(local.rotation, near);
            mean.rotation = sum(mean.rotation, scaled(rotation, share));
            mean.translation = sum(mean.translation, scaled(local.translation, share));
            mean.scale = sum(mean.scale, scaled(local.scale, share));
            turn = sum(turn, scaled(quat_log(quat_product(quat_inverse(rest.rotation), rotation)), share));
        }
        mean.rotation =
            unit(if linear { mean.rotation } else { quat_product(rest.rotation, quat_exp(turn)) });
        mean
    };
    rest.transforms().map(Local::from).enumerate().map(mix).collect()
}

/// Returns the inverse of `m`.
#[must_use]
pub fn inverse(m: &Matrix) -> Matrix {
    // Cramer's rule: the transposed cofactors over the determinant.
    let (cofactors, determinant) = (cofactors(m), determinant(m));
    std::array::from_fn(|r| {
        let row: [f64; 3] = std::array::from_fn(|c| cofactors[c][r] / determinant);
        let back: f64 = (0..3).map(|c| row[c] * m[c][3]).sum();
        [row[0], row[1], row[2], -back]
    })
}

/// Returns local matrices, the inverse of `local_to_model`. glTF 2.0, "Transformations".
#[must_use]
pub fn model_to_local(skeleton: &Skeleton, model: &[Matrix]) -> Vec<Matrix> {
    let local = |(joint, own): (u16, &Matrix)| match skeleton.parent(joint) {
        Some(parent) => multiply(&inverse(&model[usize::from(parent)]), own),
        None => *own,
    };
    (0..).zip(model).map(local).collect()
}

/// Keeps the `count` heaviest influences of a row, and scales their weights to the sum of all weights.
#[must_use]
pub fn at_most(row: &[(u16, f32)], count: usize) -> Vec<(u16, f32)> {
    let sum = |row: &[(u16, f32)]| row.iter().map(|p| f64::from(p.1)).sum::<f64>();
    let kept = &row[..count.min(row.len())];
    kept.iter().map(|&(joint, weight)| (joint, (f64::from(weight) * sum(row) / sum(kept)) as f32)).collect()
}

/// Returns handedness times normal cross tangent. glTF 2.0, "Meshes".
#[must_use]
pub fn bitangent(normal: [f64; 3], [x, y, z, hand]: [f64; 4]) -> [f64; 3] {
    let [a, b, c] = normal;
    scaled([b * z - c * y, c * x - a * z, a * y - b * x], hand)
}
