//! ultraviolet: its wide types, with eight joints per value. Interpolation does not choose the shorter arc,
//! and returns NaN for equal inputs. Matrices stay in lanes.

use condyle::{Affine, Transform};
use ultraviolet::{Lerp, Mat4, Mat4x8, Rotor3x8, Slerp, Vec3, Vec3x8, Vec4x8, f32x8};

use super::{Blend, Chain, Deform, Interpolate, Joints, LAYERS, Matrices};

#[derive(Clone, Copy)]
pub(crate) struct Joint(Rotor3x8, Vec3x8);

fn gather(value: impl Fn(usize) -> f32) -> f32x8 {
    f32x8::from(std::array::from_fn::<f32, 8, _>(value))
}

impl Joints for Joint {
    const NAME: &'static str = "ultraviolet";
    const LANES: usize = 8;

    fn pack(joints: &[Transform]) -> Self {
        let rotation = std::array::from_fn(|c| gather(|lane| joints[lane].rotation[c]));
        let [x, y, z] = std::array::from_fn(|c| gather(|lane| joints[lane].translation[c]));
        Self(Rotor3x8::from_quaternion_array(rotation), Vec3x8::new(x, y, z))
    }

    fn unpack(&self) -> Vec<Transform> {
        let rotation = self.0.into_quaternion_array().map(|c| c.to_array());
        let translation = [self.1.x, self.1.y, self.1.z].map(|c| c.to_array());
        let joint = |lane: usize| Transform {
            rotation: rotation.map(|c| c[lane]),
            translation: translation.map(|c| c[lane]),
            scale: [1.0; 3],
        };
        (0..8).map(joint).collect()
    }
}

impl Interpolate for Joint {
    fn slerp(&self, to: &Self, t: f32) -> Self {
        let t = f32x8::splat(t);
        Self(self.0.slerp(to.0, t), self.1.lerp(to.1, t))
    }

    fn nlerp(&self, to: &Self, t: f32) -> Self {
        let t = f32x8::splat(t);
        Self(self.0.lerp(to.0, t).normalized(), self.1.lerp(to.1, t))
    }
}

impl Blend for Joint {
    fn blend(joints: [&Self; LAYERS], weights: &[f32; LAYERS]) -> Self {
        let (mut rotation, mut translation) = (joints[0].0 * f32x8::splat(0.0), Vec3x8::zero());
        for (joint, &weight) in joints.into_iter().zip(weights) {
            let weight = f32x8::splat(weight);
            rotation += joint.0 * weight.flip_signs(joints[0].0.dot(joint.0));
            translation += joint.1 * weight;
        }
        Self(rotation.normalized(), translation)
    }
}

impl Matrices for Joint {
    type Matrix = Mat4x8;

    fn to_matrix(&self) -> Mat4x8 {
        let [x, y, z] = self.0.into_matrix().cols;
        let (zero, one) = (f32x8::splat(0.0), f32x8::splat(1.0));
        let column = |v: Vec3x8, w| Vec4x8::new(v.x, v.y, v.z, w);
        Mat4x8::new(column(x, zero), column(y, zero), column(z, zero), column(self.1, one))
    }

    fn rows(m: &Mat4x8) -> Vec<Affine> {
        let columns = m.cols.map(|c| [c.x, c.y, c.z].map(|v| v.to_array()));
        let row = |r: usize, lane: usize| columns.map(|c| c[r][lane]);
        (0..8).map(|lane| Affine { rows: [row(0, lane), row(1, lane), row(2, lane)] }).collect()
    }
}

impl Chain for Joint {
    fn concat(parent: &Mat4x8, local: &Mat4x8) -> Mat4x8 {
        *parent * *local
    }
}

impl Deform for Mat4 {
    const NAME: &'static str = "ultraviolet";

    fn from_columns(columns: &[f32; 16]) -> Self {
        columns.into()
    }

    fn scaled(&self, weight: f32) -> Self {
        *self * weight
    }

    fn plus(&self, other: &Self, weight: f32) -> Self {
        *self + *other * weight
    }

    fn point(&self, p: [f32; 3]) -> [f32; 3] {
        (*self * Vec3::from(p).into_homogeneous_point()).truncated().into()
    }

    fn direction(&self, v: [f32; 3]) -> [f32; 3] {
        (*self * Vec3::from(v).into_homogeneous_vector()).truncated().normalized().into()
    }

    fn times(&self, other: &Self) -> Self {
        *self * *other
    }

    fn to_columns(self) -> [f32; 16] {
        let mut columns = [0.0; 16];
        columns.copy_from_slice(self.as_slice());
        columns
    }
}
