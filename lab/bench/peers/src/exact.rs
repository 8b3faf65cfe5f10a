//! The same stages in f64, and distances.

use crate::data::{Data, RATE, WIDTH};

/// Three rows of an affine matrix.
pub(crate) type Matrix = [[f64; 4]; 3];

/// Distance of the points at which errors are measured from their joint, in metres.
const SHELL: f64 = 0.03;

/// Model-space matrices of local transforms.
pub(crate) fn model(data: &Data, local: &[f32]) -> Vec<Matrix> {
    let mut out: Vec<Matrix> = Vec::new();
    for (values, &parent) in local.chunks(WIDTH).zip(&data.parents) {
        let local = matrix(values);
        out.push(match usize::try_from(parent) {
            Ok(parent) => product(&out[parent], &local),
            Err(_) => local,
        });
    }
    out
}

fn matrix(values: &[f32]) -> Matrix {
    let [tx, ty, tz, x, y, z, w, sx, sy, sz] = std::array::from_fn(|i| f64::from(values[i]));
    let length = (x * x + y * y + z * z + w * w).sqrt();
    let [x, y, z, w] = [x, y, z, w].map(|v| v / length);
    let rotation = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ];
    let translation = [tx, ty, tz];
    std::array::from_fn(|r| [rotation[r][0] * sx, rotation[r][1] * sy, rotation[r][2] * sz, translation[r]])
}

pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|r| {
        std::array::from_fn(|c| {
            let sum = a[r][0] * b[0][c] + a[r][1] * b[1][c] + a[r][2] * b[2][c];
            if c == 3 { sum + a[r][3] } else { sum }
        })
    })
}

/// Matrix of a column-major 4x4 matrix.
pub(crate) fn from_columns(columns: &[f32]) -> Matrix {
    std::array::from_fn(|r| std::array::from_fn(|c| f64::from(columns[4 * c + r])))
}

pub(crate) fn transformed(m: &Matrix, v: [f64; 3], w: f64) -> [f64; 3] {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2] + row[3] * w)
}

pub(crate) fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Largest distance of three points on the axes of each joint, in metres.
pub(crate) fn shell_distance(a: &[Matrix], b: &[Matrix]) -> f64 {
    let joint = |(a, b): (&Matrix, &Matrix)| {
        let points = [[SHELL, 0.0, 0.0], [0.0, SHELL, 0.0], [0.0, 0.0, SHELL]];
        points
            .map(|p| distance(transformed(a, p, 1.0), transformed(b, p, 1.0)))
            .into_iter()
            .fold(0.0, f64::max)
    };
    a.iter().zip(b).map(joint).fold(0.0, f64::max)
}

/// Samples of a clip, linear between frames, rotations normalised.
pub(crate) fn sampled(data: &Data, clip: usize, time: f32) -> Vec<f32> {
    let keys = &data.clips[clip];
    let at = (time * RATE).clamp(0.0, (keys.frames - 1) as f32);
    let frame = (at as usize).min(keys.frames - 2);
    let width = data.joints() * WIDTH;
    let [a, b] = [frame, frame + 1].map(|frame| &keys.values[frame * width..][..width]);
    mixed(a, b, at - frame as f32)
}

/// Local transforms between two poses.
pub(crate) fn mixed(a: &[f32], b: &[f32], t: f32) -> Vec<f32> {
    let joint = |(a, b): (&[f32], &[f32])| {
        let dot: f32 = (3..7).map(|i| a[i] * b[i]).sum();
        let side = if dot < 0.0 { -1.0 } else { 1.0 };
        let mut out: [f32; WIDTH] = std::array::from_fn(|i| {
            let b = if (3..7).contains(&i) { side * b[i] } else { b[i] };
            a[i] * (1.0 - t) + b * t
        });
        let length = out[3..7].iter().map(|v| v * v).sum::<f32>().sqrt();
        out[3..7].iter_mut().for_each(|v| *v /= length);
        out
    };
    a.chunks(WIDTH).zip(b.chunks(WIDTH)).flat_map(joint).collect()
}
