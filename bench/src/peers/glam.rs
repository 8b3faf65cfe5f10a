//! glam: one joint after another, four lanes for the components of one quaternion.

use condyle::{Affine, Transform};
use glam::{Affine3A, Mat4, Quat, Vec3, Vec3A};

use super::{Blend, Chain, Deform, FromMatrices, Interpolate, Invert, Joints, LAYERS, Matrices};

#[derive(Clone, Copy)]
pub(crate) struct Joint(Quat, Vec3);

impl Joints for Joint {
    const NAME: &'static str = "glam";

    fn pack(joints: &[Transform]) -> Self {
        Self(Quat::from_array(joints[0].rotation), joints[0].translation.into())
    }

    fn unpack(&self) -> Vec<Transform> {
        vec![Transform { rotation: self.0.to_array(), translation: self.1.into(), scale: [1.0; 3] }]
    }
}

impl Interpolate for Joint {
    fn slerp(&self, to: &Self, t: f32) -> Self {
        Self(self.0.slerp(to.0, t), self.1.lerp(to.1, t))
    }

    fn nlerp(&self, to: &Self, t: f32) -> Self {
        Self(self.0.lerp(to.0, t), self.1.lerp(to.1, t))
    }
}

impl Blend for Joint {
    fn blend(joints: [&Self; LAYERS], weights: &[f32; LAYERS]) -> Self {
        let (mut rotation, mut translation) = (Quat::from_array([0.0; 4]), Vec3::ZERO);
        for (joint, &weight) in joints.into_iter().zip(weights) {
            let side = if joints[0].0.dot(joint.0) < 0.0 { -weight } else { weight };
            rotation += joint.0 * side;
            translation += joint.1 * weight;
        }
        Self(rotation.normalize(), translation)
    }
}

impl Matrices for Joint {
    type Matrix = Affine3A;

    fn to_matrix(&self) -> Affine3A {
        Affine3A::from_rotation_translation(self.0, self.1)
    }

    fn rows(m: &Affine3A) -> Vec<Affine> {
        vec![Affine::from_columns(&Mat4::from(*m).to_cols_array())]
    }
}

impl Chain for Joint {
    fn concat(parent: &Affine3A, local: &Affine3A) -> Affine3A {
        *parent * *local
    }
}

impl Invert for Joint {
    fn inverse(m: &Affine3A) -> Affine3A {
        m.inverse()
    }
}

impl FromMatrices for Joint {
    fn pack_matrix(rows: &[Affine]) -> Affine3A {
        Affine3A::from_mat4(Mat4::from_cols_array(&rows[0].to_columns()))
    }

    fn from_matrix(m: &Affine3A) -> Self {
        Self(Quat::from_affine3a(m), m.translation.into())
    }
}

impl Deform for Mat4 {
    const NAME: &'static str = "glam";

    fn from_columns(columns: &[f32; 16]) -> Self {
        Self::from_cols_array(columns)
    }

    fn scaled(&self, weight: f32) -> Self {
        *self * weight
    }

    fn plus(&self, other: &Self, weight: f32) -> Self {
        *self + *other * weight
    }

    fn point(&self, p: [f32; 3]) -> [f32; 3] {
        self.transform_point3a(Vec3A::from_array(p)).to_array()
    }

    fn direction(&self, v: [f32; 3]) -> [f32; 3] {
        self.transform_vector3a(Vec3A::from_array(v)).normalize().to_array()
    }

    fn times(&self, other: &Self) -> Self {
        *self * *other
    }

    fn to_columns(self) -> [f32; 16] {
        self.to_cols_array()
    }
}
