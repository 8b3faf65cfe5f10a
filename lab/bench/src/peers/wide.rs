//! Hand-written code with `wide`: eight joints in lanes, or four components of a matrix column.

use condyle::{Affine, Skeleton, Transform};
use wide::{f32x4, f32x8};

use super::{Blend, Deform, FromMatrices, Interpolate, Joints, LAYERS, Matrices};

/// Eight joints with one component per vector.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    rotation: [f32x8; 4],
    translation: [f32x8; 3],
}

fn splat(v: f32) -> f32x8 {
    f32x8::splat(v)
}

fn dot(a: &[f32x8; 4], b: &[f32x8; 4]) -> f32x8 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
}

impl Joints for Block {
    const NAME: &'static str = "wide";
    const LANES: usize = 8;

    fn pack(joints: &[Transform]) -> Self {
        let gather = |value: &dyn Fn(usize) -> f32| f32x8::new(std::array::from_fn(value));
        Self {
            rotation: std::array::from_fn(|c| gather(&|lane| joints[lane].rotation[c])),
            translation: std::array::from_fn(|c| gather(&|lane| joints[lane].translation[c])),
        }
    }

    fn unpack(&self) -> Vec<Transform> {
        let (rotation, translation) =
            (self.rotation.map(|c| c.to_array()), self.translation.map(|c| c.to_array()));
        let joint = |lane: usize| Transform {
            rotation: rotation.map(|c| c[lane]),
            translation: translation.map(|c| c[lane]),
            scale: [1.0; 3],
        };
        (0..8).map(joint).collect()
    }
}

impl Block {
    fn mixed(&self, to: &Self, a: f32x8, b: f32x8, t: f32) -> Self {
        let mut out = *self;
        for (out, to) in out.rotation.iter_mut().zip(&to.rotation) {
            *out = *out * a + *to * b;
        }
        for (out, to) in out.translation.iter_mut().zip(&to.translation) {
            *out += (*to - *out) * t;
        }
        out
    }
}

impl Interpolate for Block {
    fn slerp(&self, to: &Self, t: f32) -> Self {
        let cos = dot(&self.rotation, &to.rotation);
        let sign = splat(1.0).copysign(cos);
        let cos = cos.abs();
        let (theta, sine) = (cos.acos(), (splat(1.0) - cos * cos).sqrt());
        let near = cos.simd_gt(splat(0.9999));
        let a = near.bitselect(splat(1.0 - t), (theta * (1.0 - t)).sin() / sine);
        let b = near.bitselect(splat(t), (theta * t).sin() / sine);
        self.mixed(to, a, b * sign, t)
    }

    fn nlerp(&self, to: &Self, t: f32) -> Self {
        let b = splat(t).copysign(dot(&self.rotation, &to.rotation));
        let mut out = self.mixed(to, splat(1.0 - t), b, t);
        let factor = splat(1.0) / dot(&out.rotation, &out.rotation).sqrt();
        for out in &mut out.rotation {
            *out *= factor;
        }
        out
    }
}

impl Blend for Block {
    fn blend(joints: [&Self; LAYERS], weights: &[f32; LAYERS]) -> Self {
        let (mut rotation, mut translation) = ([f32x8::ZERO; 4], [f32x8::ZERO; 3]);
        for (joint, &weight) in joints.into_iter().zip(weights) {
            let side = splat(weight).copysign(dot(&joints[0].rotation, &joint.rotation));
            for (sum, c) in rotation.iter_mut().zip(joint.rotation) {
                *sum += c * side;
            }
            for (sum, c) in translation.iter_mut().zip(joint.translation) {
                *sum += c * weight;
            }
        }
        let factor = splat(1.0) / dot(&rotation, &rotation).sqrt();
        Self { rotation: rotation.map(|c| c * factor), translation }
    }
}

/// Rows of eight matrices: row `r`, column `c` is element `4 * r + c`.
type Rows = [f32x8; 12];

/// First four lanes and last four lanes of a vector.
fn halves(v: f32x8) -> [f32x4; 2] {
    let [a, b, c, d, e, f, g, h] = v.to_array();
    [f32x4::new([a, b, c, d]), f32x4::new([e, f, g, h])]
}

fn whole([front, back]: [f32x4; 2]) -> f32x8 {
    let ([a, b, c, d], [e, f, g, h]) = (front.to_array(), back.to_array());
    f32x8::new([a, b, c, d, e, f, g, h])
}

/// Transposes four components of eight joints to four components per joint. It works on four lanes, because
/// `f32x8::transpose` moves one number at a time unless AVX is enabled at compile time.
fn turn([a, b, c, d]: [f32x8; 4]) -> [f32x4; 8] {
    let ([a0, a1], [b0, b1], [c0, c1], [d0, d1]) = (halves(a), halves(b), halves(c), halves(d));
    let [p, q, r, s] = f32x4::transpose([a0, b0, c0, d0]);
    let [t, u, v, w] = f32x4::transpose([a1, b1, c1, d1]);
    [p, q, r, s, t, u, v, w]
}

fn turn_back([p, q, r, s, t, u, v, w]: [f32x4; 8]) -> [f32x8; 4] {
    let [a0, b0, c0, d0] = f32x4::transpose([p, q, r, s]);
    let [a1, b1, c1, d1] = f32x4::transpose([t, u, v, w]);
    [whole([a0, a1]), whole([b0, b1]), whole([c0, c1]), whole([d0, d1])]
}

/// Returns eight matrices, one after another, from rows in lanes.
fn interleaved(m: &Rows) -> [Affine; 8] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *m;
    let rows = [turn([a, b, c, d]), turn([e, f, g, h]), turn([i, j, k, l])];
    let mut out = [Affine::IDENTITY; 8];
    for (lane, out) in out.iter_mut().enumerate() {
        out.rows = [rows[0][lane].to_array(), rows[1][lane].to_array(), rows[2][lane].to_array()];
    }
    out
}

impl Block {
    fn to_rows(self) -> Rows {
        let ([x, y, z, w], [tx, ty, tz]) = (self.rotation, self.translation);
        let (x2, y2, z2, one) = (x + x, y + y, z + z, splat(1.0));
        let (xx, yy, zz) = (x * x2, y * y2, z * z2);
        let (xy, xz, yz) = (x * y2, x * z2, y * z2);
        let (wx, wy, wz) = (w * x2, w * y2, w * z2);
        [
            one - yy - zz,
            xy - wz,
            xz + wy,
            tx,
            xy + wz,
            one - xx - zz,
            yz - wx,
            ty,
            xz - wy,
            yz + wx,
            one - xx - yy,
            tz,
        ]
    }

    /// Selects the formula by the largest of the four components, without branches.
    fn from_rows(m: &Rows) -> Self {
        let [m00, m01, m02, tx, m10, m11, m12, ty, m20, m21, m22, tz] = *m;
        let one = splat(1.0);
        let by_x = [one + m00 - m11 - m22, m10 + m01, m20 + m02, m21 - m12];
        let by_y = [m10 + m01, one - m00 + m11 - m22, m21 + m12, m02 - m20];
        let by_z = [m20 + m02, m21 + m12, one - m00 - m11 + m22, m10 - m01];
        let by_w = [m21 - m12, m02 - m20, m10 - m01, one + m00 + m11 + m22];
        let low = m22.simd_lt(splat(0.0));
        let (x, z) = (m00.simd_gt(m11), m00.simd_lt(-m11));
        let choose = |c: usize| low.bitselect(x.bitselect(by_x[c], by_y[c]), z.bitselect(by_z[c], by_w[c]));
        let square = low.bitselect(x.bitselect(by_x[0], by_y[1]), z.bitselect(by_z[2], by_w[3]));
        let factor = splat(0.5) / square.sqrt();
        let rotation = [choose(0) * factor, choose(1) * factor, choose(2) * factor, choose(3) * factor];
        Self { rotation, translation: [tx, ty, tz] }
    }
}

impl Matrices for Block {
    type Matrix = [Affine; 8];

    fn to_matrix(&self) -> [Affine; 8] {
        interleaved(&self.to_rows())
    }

    fn rows(m: &[Affine; 8]) -> Vec<Affine> {
        m.to_vec()
    }
}

impl FromMatrices for Block {
    fn pack_matrix(rows: &[Affine]) -> [Affine; 8] {
        std::array::from_fn(|lane| rows[lane])
    }

    fn from_matrix(m: &[Affine; 8]) -> Self {
        let row = |r: usize| turn_back(m.map(|m| f32x4::new(m.rows[r])));
        let ([a, b, c, d], [e, f, g, h], [i, j, k, l]) = (row(0), row(1), row(2));
        Self::from_rows(&[a, b, c, d, e, f, g, h, i, j, k, l])
    }
}

/// Eight consecutive joints: rotation, then translation and scale.
#[derive(Clone, Copy)]
pub(crate) struct Structs([[f32x4; 2]; 8]);

impl Structs {
    fn to_block(self) -> Block {
        let [x, y, z, _] = turn_back(self.0.map(|[_, translation]| translation));
        Block { rotation: turn_back(self.0.map(|[rotation, _]| rotation)), translation: [x, y, z] }
    }
}

impl From<Block> for Structs {
    fn from(block: Block) -> Self {
        let [x, y, z] = block.translation;
        let (rotation, translation) = (turn(block.rotation), turn([x, y, z, splat(1.0)]));
        Self(std::array::from_fn(|lane| [rotation[lane], translation[lane]]))
    }
}

impl Joints for Structs {
    const NAME: &'static str = "wide";
    const LANES: usize = 8;

    fn pack(joints: &[Transform]) -> Self {
        Block::pack(joints).into()
    }

    fn unpack(&self) -> Vec<Transform> {
        self.to_block().unpack()
    }
}

impl Interpolate for Structs {
    fn slerp(&self, to: &Self, t: f32) -> Self {
        self.to_block().slerp(&to.to_block(), t).into()
    }

    fn nlerp(&self, to: &Self, t: f32) -> Self {
        self.to_block().nlerp(&to.to_block(), t).into()
    }
}

impl Matrices for Structs {
    type Matrix = [Affine; 8];

    fn to_matrix(&self) -> [Affine; 8] {
        self.to_block().to_matrix()
    }

    fn rows(m: &[Affine; 8]) -> Vec<Affine> {
        m.to_vec()
    }
}

impl FromMatrices for Structs {
    fn pack_matrix(rows: &[Affine]) -> [Affine; 8] {
        Block::pack_matrix(rows)
    }

    fn from_matrix(m: &[Affine; 8]) -> Self {
        Block::from_matrix(m).into()
    }
}

/// Model matrices of eight characters of one skeleton, one per lane. `locals[j]` holds joint `j` of each,
/// `lanes` is scratch memory, and `model[j]` receives the result.
pub(crate) fn crowd(skeleton: &Skeleton, locals: &[Structs], lanes: &mut [Rows8], model: &mut [[Affine; 8]]) {
    for (joint, (local, model)) in (0_u16..).zip(locals.iter().zip(model)) {
        let local = local.to_block().to_rows();
        let placed = match skeleton.parent(joint) {
            None => local,
            Some(parent) => concat(&lanes[usize::from(parent)].0, &local),
        };
        lanes[usize::from(joint)] = Rows8(placed);
        *model = interleaved(&placed);
    }
}

/// Eight matrices of one joint.
#[derive(Clone, Copy)]
pub(crate) struct Rows8(Rows);

impl Rows8 {
    pub(crate) const ZERO: Self = Self([f32x8::ZERO; 12]);
}

fn concat(a: &Rows, b: &Rows) -> Rows {
    let mut out = [f32x8::ZERO; 12];
    for r in 0..3 {
        for c in 0..4 {
            let sum = a[4 * r] * b[c] + a[4 * r + 1] * b[4 + c] + a[4 * r + 2] * b[8 + c];
            out[4 * r + c] = if c == 3 { sum + a[4 * r + 3] } else { sum };
        }
    }
    out
}

/// Matrix of four columns.
#[derive(Clone, Copy)]
pub(crate) struct Columns([f32x4; 4]);

impl Deform for Columns {
    const NAME: &'static str = "wide";

    fn from_columns(columns: &[f32; 16]) -> Self {
        let (columns, _) = columns.as_chunks::<4>();
        Self(std::array::from_fn(|c| f32x4::new(columns[c])))
    }

    fn scaled(&self, weight: f32) -> Self {
        Self(self.0.map(|c| c * weight))
    }

    fn plus(&self, other: &Self, weight: f32) -> Self {
        Self(std::array::from_fn(|c| self.0[c] + other.0[c] * weight))
    }

    fn point(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let m = &self.0;
        let [x, y, z, _] = (m[0] * x + m[1] * y + m[2] * z + m[3]).to_array();
        [x, y, z]
    }

    fn direction(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let m = &self.0;
        let v = m[0] * x + m[1] * y + m[2] * z;
        let length = (v * v).reduce_add().sqrt();
        let [x, y, z, _] = (v / length).to_array();
        [x, y, z]
    }

    fn times(&self, other: &Self) -> Self {
        Self(other.0.map(|column| {
            let [x, y, z, w] = column.to_array();
            self.0[0] * x + self.0[1] * y + self.0[2] * z + self.0[3] * w
        }))
    }

    fn to_columns(self) -> [f32; 16] {
        let mut out = [0.0; 16];
        for (out, column) in out.as_chunks_mut::<4>().0.iter_mut().zip(self.0) {
            *out = column.to_array();
        }
        out
    }
}
