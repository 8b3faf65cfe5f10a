//! nalgebra: generic over the number type, one joint at a time.

use condyle::{Affine, Transform};
use nalgebra::{Isometry3, Matrix4, Point3, Quaternion, Rotation3, Translation3, UnitQuaternion, Vector3};

use super::{Blend, Chain, Deform, FromMatrices, Interpolate, Invert, Joints, LAYERS, Matrices};

#[derive(Clone, Copy)]
pub(crate) struct Joint(UnitQuaternion<f32>, Vector3<f32>);

impl Joints for Joint {
    const NAME: &'static str = "nalgebra";

    fn pack(joints: &[Transform]) -> Self {
        let rotation = UnitQuaternion::new_unchecked(Quaternion::from(joints[0].rotation));
        Self(rotation, joints[0].translation.into())
    }

    fn unpack(&self) -> Vec<Transform> {
        vec![Transform { rotation: self.0.coords.into(), translation: self.1.into(), scale: [1.0; 3] }]
    }
}

impl Interpolate for Joint {
    fn slerp(&self, to: &Self, t: f32) -> Self {
        Self(self.0.slerp(&to.0, t), self.1.lerp(&to.1, t))
    }

    fn nlerp(&self, to: &Self, t: f32) -> Self {
        Self(self.0.nlerp(&to.0, t), self.1.lerp(&to.1, t))
    }
}

impl Blend for Joint {
    fn blend(joints: [&Self; LAYERS], weights: &[f32; LAYERS]) -> Self {
        let (mut rotation, mut translation) = (Quaternion::from([0.0; 4]), Vector3::zeros());
        for (joint, &weight) in joints.into_iter().zip(weights) {
            let side = if joints[0].0.coords.dot(&joint.0.coords) < 0.0 { -weight } else { weight };
            rotation += joint.0.quaternion() * side;
            translation += joint.1 * weight;
        }
        Self(UnitQuaternion::new_normalize(rotation), translation)
    }
}

impl Matrices for Joint {
    type Matrix = Matrix4<f32>;

    fn to_matrix(&self) -> Matrix4<f32> {
        Isometry3::from_parts(Translation3::from(self.1), self.0).to_homogeneous()
    }

    fn rows(m: &Matrix4<f32>) -> Vec<Affine> {
        vec![Affine::from_columns(&Deform::to_columns(*m))]
    }
}

impl Chain for Joint {
    fn concat(parent: &Matrix4<f32>, local: &Matrix4<f32>) -> Matrix4<f32> {
        parent * local
    }
}

impl Invert for Joint {
    fn inverse(m: &Matrix4<f32>) -> Matrix4<f32> {
        m.try_inverse().expect("nothing is flat")
    }
}

impl FromMatrices for Joint {
    fn pack_matrix(rows: &[Affine]) -> Matrix4<f32> {
        Deform::from_columns(&rows[0].to_columns())
    }

    fn from_matrix(m: &Matrix4<f32>) -> Self {
        let rotation = Rotation3::from_matrix_unchecked(m.fixed_view::<3, 3>(0, 0).into_owned());
        Self(UnitQuaternion::from_rotation_matrix(&rotation), m.fixed_view::<3, 1>(0, 3).into_owned())
    }
}

impl Deform for Matrix4<f32> {
    const NAME: &'static str = "nalgebra";

    fn from_columns(columns: &[f32; 16]) -> Self {
        Self::from_column_slice(columns)
    }

    fn scaled(&self, weight: f32) -> Self {
        self * weight
    }

    fn plus(&self, other: &Self, weight: f32) -> Self {
        self + other * weight
    }

    fn point(&self, p: [f32; 3]) -> [f32; 3] {
        // Not `transform_point`, which divides by a fourth component that is 1.
        (self * Point3::from(p).to_homogeneous()).xyz().into()
    }

    fn direction(&self, v: [f32; 3]) -> [f32; 3] {
        self.transform_vector(&v.into()).normalize().into()
    }

    fn times(&self, other: &Self) -> Self {
        self * other
    }

    fn to_columns(self) -> [f32; 16] {
        let mut columns = [0.0; 16];
        columns.copy_from_slice(self.as_slice());
        columns
    }
}
