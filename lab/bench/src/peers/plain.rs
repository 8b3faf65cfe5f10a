//! Plain Rust: arrays and loops that the compiler vectorises if it can.

use condyle::{Affine, Transform};

use super::{Blend, Chain, Deform, FromMatrices, Interpolate, Invert, Joints, LAYERS, Matrices};

const LANES: usize = 16;
type Lanes = [f32; LANES];

/// One joint, with textbook slerp.
#[derive(Clone, Copy)]
pub(crate) struct Joint {
    rotation: [f32; 4],
    translation: [f32; 3],
}

impl Joints for Joint {
    const NAME: &'static str = "plain";

    fn pack(joints: &[Transform]) -> Self {
        let Transform { rotation, translation, .. } = joints[0];
        Self { rotation, translation }
    }

    fn unpack(&self) -> Vec<Transform> {
        vec![Transform { rotation: self.rotation, translation: self.translation, scale: [1.0; 3] }]
    }
}

fn dot<const N: usize>(a: &[f32; N], b: &[f32; N]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn mix<const N: usize>(a: &[f32; N], b: &[f32; N], from: f32, to: f32) -> [f32; N] {
    std::array::from_fn(|c| a[c] * from + b[c] * to)
}

fn unit<const N: usize>(v: [f32; N]) -> [f32; N] {
    let factor = 1.0 / dot(&v, &v).sqrt();
    v.map(|v| v * factor)
}

impl Interpolate for Joint {
    fn slerp(&self, to: &Self, t: f32) -> Self {
        let cos = dot(&self.rotation, &to.rotation);
        let sign = if cos < 0.0 { -1.0 } else { 1.0 };
        let cos = cos.abs();
        let (a, b) = if cos > 0.9999 {
            (1.0 - t, t)
        } else {
            let (theta, sine) = (cos.acos(), (1.0 - cos * cos).sqrt());
            (((1.0 - t) * theta).sin() / sine, (t * theta).sin() / sine)
        };
        Self {
            rotation: mix(&self.rotation, &to.rotation, a, b * sign),
            translation: mix(&self.translation, &to.translation, 1.0 - t, t),
        }
    }

    fn nlerp(&self, to: &Self, t: f32) -> Self {
        let to_weight = if dot(&self.rotation, &to.rotation) < 0.0 { -t } else { t };
        Self {
            rotation: unit(mix(&self.rotation, &to.rotation, 1.0 - t, to_weight)),
            translation: mix(&self.translation, &to.translation, 1.0 - t, t),
        }
    }
}

/// Rows of a matrix from a rotation and a translation.
fn rows([x, y, z, w]: [f32; 4], t: [f32; 3]) -> [[f32; 4]; 3] {
    let (x2, y2, z2) = (x + x, y + y, z + z);
    [
        [1.0 - y * y2 - z * z2, x * y2 - w * z2, x * z2 + w * y2, t[0]],
        [x * y2 + w * z2, 1.0 - x * x2 - z * z2, y * z2 - w * x2, t[1]],
        [x * z2 - w * y2, y * z2 + w * x2, 1.0 - x * x2 - y * y2, t[2]],
    ]
}

impl Matrices for Joint {
    type Matrix = Affine;

    fn to_matrix(&self) -> Affine {
        Affine { rows: rows(self.rotation, self.translation) }
    }

    fn rows(m: &Affine) -> Vec<Affine> {
        vec![*m]
    }
}

impl Chain for Joint {
    fn concat(parent: &Affine, local: &Affine) -> Affine {
        let mut out = Affine::IDENTITY;
        for (out, row) in out.rows.iter_mut().zip(&parent.rows) {
            for (c, out) in out.iter_mut().enumerate() {
                let last = if c == 3 { row[3] } else { 0.0 };
                *out =
                    row[0] * local.rows[0][c] + row[1] * local.rows[1][c] + row[2] * local.rows[2][c] + last;
            }
        }
        out
    }
}

impl Invert for Joint {
    fn inverse(m: &Affine) -> Affine {
        let [a, b, c] = m.rows;
        let cross = |a: [f32; 4], b: [f32; 4]| {
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        };
        let columns = [cross(b, c), cross(c, a), cross(a, b)];
        let factor = 1.0 / (a[0] * columns[0][0] + a[1] * columns[0][1] + a[2] * columns[0][2]);
        let row = |r: usize| {
            let [x, y, z] = columns.map(|column| column[r] * factor);
            [x, y, z, -(x * a[3] + y * b[3] + z * c[3])]
        };
        Affine { rows: [row(0), row(1), row(2)] }
    }
}

impl FromMatrices for Joint {
    fn pack_matrix(rows: &Affine) -> Affine {
        *rows
    }

    /// Selects the formula by the largest of the four components.
    fn from_matrix(m: &Affine) -> Self {
        let [[m00, m01, m02, x], [m10, m11, m12, y], [m20, m21, m22, z]] = m.rows;
        let (square, rotation) = if m22 < 0.0 {
            if m00 > m11 {
                let s = 1.0 + m00 - m11 - m22;
                (s, [s, m10 + m01, m20 + m02, m21 - m12])
            } else {
                let s = 1.0 - m00 + m11 - m22;
                (s, [m10 + m01, s, m21 + m12, m02 - m20])
            }
        } else if m00 < -m11 {
            let s = 1.0 - m00 - m11 + m22;
            (s, [m20 + m02, m21 + m12, s, m10 - m01])
        } else {
            let s = 1.0 + m00 + m11 + m22;
            (s, [m21 - m12, m02 - m20, m10 - m01, s])
        };
        let factor = 0.5 / square.sqrt();
        Self { rotation: rotation.map(|v| v * factor), translation: [x, y, z] }
    }
}

/// Sixteen joints with one array per component. Slerp uses Eberly's series, because compilers do not
/// vectorise calls of an arccosine.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Block {
    rotation: [Lanes; 4],
    translation: [Lanes; 3],
}

impl Joints for Block {
    const NAME: &'static str = "plain";
    const LANES: usize = LANES;

    fn pack(joints: &[Transform]) -> Self {
        Self {
            rotation: std::array::from_fn(|c| std::array::from_fn(|lane| joints[lane].rotation[c])),
            translation: std::array::from_fn(|c| std::array::from_fn(|lane| joints[lane].translation[c])),
        }
    }

    fn unpack(&self) -> Vec<Transform> {
        let joint = |lane: usize| Transform {
            rotation: self.rotation.map(|c| c[lane]),
            translation: self.translation.map(|c| c[lane]),
            scale: [1.0; 3],
        };
        (0..LANES).map(joint).collect()
    }
}

impl Block {
    /// Cosine between the rotations of two blocks, per lane.
    fn cosines(&self, to: &Self) -> Lanes {
        let mut cos = [0.0; LANES];
        for (a, b) in self.rotation.iter().zip(&to.rotation) {
            for lane in 0..LANES {
                cos[lane] += a[lane] * b[lane];
            }
        }
        cos
    }

    /// Normalises the rotations.
    fn normalised(mut self) -> Self {
        let squares = self.cosines(&self);
        for out in &mut self.rotation {
            for lane in 0..LANES {
                out[lane] /= squares[lane].sqrt();
            }
        }
        self
    }

    /// Sum of the rotations with the weights `a` and `b`, and linear interpolation of the translations at
    /// `t`.
    fn mixed(&self, to: &Self, a: &Lanes, b: &Lanes, t: f32) -> Self {
        let mut out = *self;
        for (out, to) in out.rotation.iter_mut().zip(&to.rotation) {
            for lane in 0..LANES {
                out[lane] = out[lane] * a[lane] + to[lane] * b[lane];
            }
        }
        for (out, to) in out.translation.iter_mut().zip(&to.translation) {
            for lane in 0..LANES {
                out[lane] += (to[lane] - out[lane]) * t;
            }
        }
        out
    }
}

/// Eberly 2018, equation (15) with eight terms, the last one balanced: `sin(tθ) / sin θ` for `x = cos θ - 1`.
fn eberly(x: &Lanes, t: f32) -> Lanes {
    const TERMS: u8 = 8;
    /// Factor of the last term, which balances the error.
    const BALANCE: f32 = 1.852_981;
    let mut sum = [1.0; LANES];
    for i in (1..=TERMS).rev() {
        let (i, last) = (f32::from(i), if i == TERMS { BALANCE } else { 1.0 });
        let factor = (t * t / (i * (2.0 * i + 1.0)) - i / (2.0 * i + 1.0)) * last;
        for lane in 0..LANES {
            sum[lane] = 1.0 + factor * x[lane] * sum[lane];
        }
    }
    sum.map(|sum| sum * t)
}

impl Interpolate for Block {
    fn slerp(&self, to: &Self, t: f32) -> Self {
        let cos = self.cosines(to);
        let x = cos.map(|cos| cos.abs() - 1.0);
        let (a, mut b) = (eberly(&x, 1.0 - t), eberly(&x, t));
        for lane in 0..LANES {
            b[lane] = b[lane].copysign(cos[lane]);
        }
        self.mixed(to, &a, &b, t)
    }

    fn nlerp(&self, to: &Self, t: f32) -> Self {
        let b = self.cosines(to).map(|cos| t.copysign(cos));
        self.mixed(to, &[1.0 - t; LANES], &b, t).normalised()
    }
}

impl Blend for Block {
    fn blend(joints: [&Self; LAYERS], weights: &[f32; LAYERS]) -> Self {
        let mut sum = Self { rotation: [[0.0; LANES]; 4], translation: [[0.0; LANES]; 3] };
        for (joint, &weight) in joints.into_iter().zip(weights) {
            let side = joints[0].cosines(joint).map(|cos| weight.copysign(cos));
            for (sum, c) in sum.rotation.iter_mut().zip(&joint.rotation) {
                for lane in 0..LANES {
                    sum[lane] += c[lane] * side[lane];
                }
            }
            for (sum, c) in sum.translation.iter_mut().zip(&joint.translation) {
                for lane in 0..LANES {
                    sum[lane] += c[lane] * weight;
                }
            }
        }
        sum.normalised()
    }
}

impl Matrices for Block {
    type Matrix = [Affine; LANES];

    fn to_matrix(&self) -> [Affine; LANES] {
        let mut out = [Affine::IDENTITY; LANES];
        for lane in 0..LANES {
            let [x, y, z, w] = &self.rotation;
            let [tx, ty, tz] = &self.translation;
            out[lane].rows = rows([x[lane], y[lane], z[lane], w[lane]], [tx[lane], ty[lane], tz[lane]]);
        }
        out
    }

    fn rows(m: &[Affine; LANES]) -> Vec<Affine> {
        m.to_vec()
    }
}

/// Matrix of four columns.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Columns([f32; 16]);

impl Deform for Columns {
    const NAME: &'static str = "plain";

    fn from_columns(columns: &[f32; 16]) -> Self {
        Self(*columns)
    }

    fn scaled(&self, weight: f32) -> Self {
        Self(self.0.map(|v| v * weight))
    }

    fn plus(&self, other: &Self, weight: f32) -> Self {
        Self(mix(&self.0, &other.0, 1.0, weight))
    }

    fn point(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let m = &self.0;
        std::array::from_fn(|r| m[r] * x + m[4 + r] * y + m[8 + r] * z + m[12 + r])
    }

    fn direction(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let m = &self.0;
        unit(std::array::from_fn(|r| m[r] * x + m[4 + r] * y + m[8 + r] * z))
    }

    fn times(&self, other: &Self) -> Self {
        let mut out = [0.0; 16];
        for (out, b) in out.as_chunks_mut::<4>().0.iter_mut().zip(other.0.as_chunks::<4>().0) {
            for (r, out) in out.iter_mut().enumerate() {
                *out = (0..4).map(|k| self.0[4 * k + r] * b[k]).sum();
            }
        }
        Self(out)
    }

    fn to_columns(self) -> [f32; 16] {
        self.0
    }
}
