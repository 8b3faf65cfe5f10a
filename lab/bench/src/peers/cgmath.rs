//! cgmath: generic over the number type. The compiler vectorises it, if at all.

use cgmath::{
    EuclideanSpace, InnerSpace, Matrix3, Matrix4, Point3, Quaternion, Transform as _, Vector3, VectorSpace,
    Zero,
};
use condyle::{Affine, Transform};

use super::{Blend, Chain, Deform, FromMatrices, Interpolate, Invert, Joints, LAYERS, Matrices};

#[derive(Clone, Copy)]
pub(crate) struct Joint(Quaternion<f32>, Vector3<f32>);

impl Joints for Joint {
    const NAME: &'static str = "cgmath";

    fn pack(joints: &[Transform]) -> Self {
        let [x, y, z, w] = joints[0].rotation;
        Self(Quaternion::new(w, x, y, z), joints[0].translation.into())
    }

    fn unpack(&self) -> Vec<Transform> {
        let Self(Quaternion { v, s }, translation) = *self;
        vec![Transform { rotation: [v.x, v.y, v.z, s], translation: translation.into(), scale: [1.0; 3] }]
    }
}

impl Interpolate for Joint {
    fn slerp(&self, to: &Self, t: f32) -> Self {
        Self(self.0.slerp(to.0, t), self.1.lerp(to.1, t))
    }

    fn nlerp(&self, to: &Self, t: f32) -> Self {
        Self(self.0.nlerp(to.0, t), self.1.lerp(to.1, t))
    }
}

impl Blend for Joint {
    fn blend(joints: [&Self; LAYERS], weights: &[f32; LAYERS]) -> Self {
        let (mut rotation, mut translation) = (Quaternion::zero(), Vector3::zero());
        for (joint, &weight) in joints.into_iter().zip(weights) {
            let side = if joints[0].0.dot(joint.0) < 0.0 { -weight } else { weight };
            rotation += joint.0 * side;
            translation += joint.1 * weight;
        }
        Self(rotation.normalize(), translation)
    }
}

impl Matrices for Joint {
    type Matrix = Matrix4<f32>;

    fn to_matrix(&self) -> Matrix4<f32> {
        let mut m = Matrix4::from(self.0);
        m.w = self.1.extend(1.0);
        m
    }

    fn rows(m: &Matrix4<f32>) -> Vec<Affine> {
        vec![Affine::from_columns(&m.to_columns())]
    }
}

impl Chain for Joint {
    fn concat(parent: &Matrix4<f32>, local: &Matrix4<f32>) -> Matrix4<f32> {
        parent * local
    }
}

impl Invert for Joint {
    fn inverse(m: &Matrix4<f32>) -> Matrix4<f32> {
        m.inverse_transform().expect("nothing is flat")
    }
}

impl FromMatrices for Joint {
    fn pack_matrix(rows: &[Affine]) -> Matrix4<f32> {
        Matrix4::from_columns(&rows[0].to_columns())
    }

    fn from_matrix(m: &Matrix4<f32>) -> Self {
        let rotation = Matrix3::from_cols(m.x.truncate(), m.y.truncate(), m.z.truncate());
        Self(rotation.into(), m.w.truncate())
    }
}

impl Deform for Matrix4<f32> {
    const NAME: &'static str = "cgmath";

    fn from_columns(columns: &[f32; 16]) -> Self {
        let mut m = Self::zero();
        AsMut::<[f32; 16]>::as_mut(&mut m).copy_from_slice(columns);
        m
    }

    fn scaled(&self, weight: f32) -> Self {
        self * weight
    }

    fn plus(&self, other: &Self, weight: f32) -> Self {
        self + other * weight
    }

    fn point(&self, p: [f32; 3]) -> [f32; 3] {
        // Not `transform_point`, which divides by a fourth component that is 1.
        (self * Point3::from(p).to_vec().extend(1.0)).truncate().into()
    }

    fn direction(&self, v: [f32; 3]) -> [f32; 3] {
        self.transform_vector(v.into()).normalize().into()
    }

    fn times(&self, other: &Self) -> Self {
        self * other
    }

    fn to_columns(self) -> [f32; 16] {
        *AsRef::<[f32; 16]>::as_ref(&self)
    }
}
