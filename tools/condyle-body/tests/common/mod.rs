//! Generates models and motions from a seed, in archives like those of NumPy.

#![allow(dead_code, reason = "each test file uses only some of its items")]

use std::io::{Cursor, Write};

use condyle_testing::Random;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Returns random numbers from `-size` to `size`.
pub(crate) fn numbers(random: &mut Random, count: usize, size: f64) -> Vec<f64> {
    (0..count).map(|_| random.range_f64(-size, size)).collect()
}

/// Returns a `.npy`: a header and the numbers.
pub(crate) fn npy(kind: &str, shape: &[usize], is_column_major: bool, data: &[u8]) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let order = if is_column_major { "True" } else { "False" };
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({shape}), }}");
    header += &" ".repeat(63 - (header.len() + 10) % 64);
    header.push('\n');
    let length = (header.len() as u16).to_le_bytes();
    [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), data].concat()
}

pub(crate) fn doubles(shape: &[usize], values: &[f64]) -> Vec<u8> {
    npy("<f8", shape, false, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

pub(crate) fn floats(shape: &[usize], values: &[f64]) -> Vec<u8> {
    npy("<f4", shape, false, &values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect::<Vec<_>>())
}

pub(crate) fn integers(shape: &[usize], values: &[i64]) -> Vec<u8> {
    npy("<i8", shape, false, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

/// Returns an array of a single string.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let data: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    npy(&format!("<U{}", text.chars().count()), &[], false, &data)
}

pub(crate) fn npz(arrays: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(format!("{name}.npy"), options).expect("a name");
        writer.write_all(bytes).expect("memory");
    }
    writer.finish().expect("memory").into_inner()
}

/// A model in f64, generated from a seed.
pub(crate) struct Made {
    pub(crate) vertices: usize,
    pub(crate) joints: usize,
    pub(crate) shapes: usize,
    pub(crate) template: Vec<f64>,
    pub(crate) shape_dirs: Vec<f64>,
    pub(crate) pose_dirs: Vec<f64>,
    pub(crate) regressor: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    pub(crate) parents: Vec<i64>,
}

/// Rounds values to f32 precision.
fn single(values: Vec<f64>) -> Vec<f64> {
    values.into_iter().map(|v| f64::from(v as f32)).collect()
}

impl Made {
    pub(crate) fn new(seed: u64, vertices: usize, joints: usize, shapes: usize) -> Self {
        let mut random = Random(seed);
        let entries = 9 * (joints - 1);
        let mut regressor = vec![0.0; joints * vertices];
        let mut weights = vec![0.0; vertices * joints];
        for row in regressor.chunks_mut(vertices) {
            (0..4).for_each(|_| row[random.below(vertices)] += 0.25);
        }
        for row in weights.chunks_mut(joints) {
            (0..4).for_each(|_| row[random.below(joints)] += 0.25);
        }
        let parents = (0..joints).map(|at| if at == 0 { -1 } else { random.below(at) as i64 }).collect();
        Self {
            vertices,
            joints,
            shapes,
            template: single(numbers(&mut random, 3 * vertices, 1.0)),
            shape_dirs: single(numbers(&mut random, 3 * vertices * shapes, 0.02)),
            pose_dirs: single(numbers(&mut random, 3 * vertices * entries, 0.01)),
            regressor,
            weights,
            parents,
        }
    }

    pub(crate) fn arrays(&self) -> Vec<(&'static str, Vec<u8>)> {
        let Self { vertices, joints, shapes, .. } = *self;
        let mut tree = self.parents.clone();
        tree[0] = 4_294_967_295;
        tree.extend(0..joints as i64);
        vec![
            ("v_template", doubles(&[vertices, 3], &self.template)),
            ("shapedirs", floats(&[vertices, 3, shapes], &self.shape_dirs)),
            ("posedirs", doubles(&[vertices, 3, 9 * (joints - 1)], &self.pose_dirs)),
            ("J_regressor", doubles(&[joints, vertices], &self.regressor)),
            ("weights", doubles(&[vertices, joints], &self.weights)),
            ("kintree_table", integers(&[2, joints], &tree)),
            ("f", integers(&[1, 3], &[0, 1, 2])),
        ]
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        npz(&self.arrays(), CompressionMethod::Deflated)
    }

    /// Evaluates the published formula for rotation vectors and a root translation.
    pub(crate) fn posed(&self, betas: &[f64], pose: &[[f64; 3]], place: [f64; 3]) -> Vec<[f64; 3]> {
        let entries = 9 * (self.joints - 1);
        let shaped = |vertex: usize, c: usize| {
            let dirs = &self.shape_dirs[(3 * vertex + c) * self.shapes..][..self.shapes];
            self.template[3 * vertex + c] + betas.iter().zip(dirs).map(|(beta, dir)| beta * dir).sum::<f64>()
        };
        let joint = |at: usize| {
            [0, 1, 2].map(|c| {
                (0..self.vertices).map(|v| self.regressor[at * self.vertices + v] * shaped(v, c)).sum()
            })
        };
        let places: Vec<[f64; 3]> = (0..self.joints).map(joint).collect();
        let turns: Vec<_> = pose.iter().map(|v| rodrigues(*v)).collect();
        let mut features = Vec::new();
        for turn in &turns[1..] {
            features.extend((0..9).map(|at| turn[at / 3][at % 3] - f64::from(u8::from(at % 4 == 0))));
        }
        // Rotation and position of each joint in model space.
        let mut placed: Vec<([[f64; 3]; 3], [f64; 3])> = Vec::new();
        for at in 0..self.joints {
            placed.push(match usize::try_from(self.parents[at]) {
                Err(_) => (turns[at], [0, 1, 2].map(|c| places[at][c] + place[c])),
                Ok(parent) => {
                    let (turn, from) = placed[parent];
                    let way = [0, 1, 2].map(|c| places[at][c] - places[parent][c]);
                    let moved = times(&turn, way);
                    (product(&turn, &turns[at]), [0, 1, 2].map(|c| from[c] + moved[c]))
                }
            });
        }
        let vertex = |v: usize| {
            let bind = [0, 1, 2].map(|c| {
                let dirs = &self.pose_dirs[(3 * v + c) * entries..][..entries];
                shaped(v, c) + features.iter().zip(dirs).map(|(feature, dir)| feature * dir).sum::<f64>()
            });
            let mut sum = [0.0; 3];
            for at in 0..self.joints {
                let (turn, to) = &placed[at];
                let local = times(turn, [0, 1, 2].map(|c| bind[c] - places[at][c]));
                let weight = self.weights[v * self.joints + at];
                (0..3).for_each(|c| sum[c] += weight * (local[c] + to[c]));
            }
            sum
        };
        (0..self.vertices).map(vertex).collect()
    }
}

fn times(m: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

fn product(a: &[[f64; 3]; 3], b: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    a.map(|row| [0, 1, 2].map(|c| (0..3).map(|k| row[k] * b[k][c]).sum()))
}

fn rodrigues(v: [f64; 3]) -> [[f64; 3]; 3] {
    let angle = v.iter().map(|c| c * c).sum::<f64>().sqrt();
    let [x, y, z] = if angle > 0.0 { v.map(|c| c / angle) } else { [1.0, 0.0, 0.0] };
    let (s, c) = angle.sin_cos();
    let cross = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
    let square = product(&cross, &cross);
    [0, 1, 2]
        .map(|i| [0, 1, 2].map(|j| f64::from(u8::from(i == j)) + s * cross[i][j] + (1.0 - c) * square[i][j]))
}
