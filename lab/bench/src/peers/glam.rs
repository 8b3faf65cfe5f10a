//! glam: one joint at a time, with the components of a quaternion in four lanes.

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
    fn pack_matrix(rows: &Affine) -> Affine3A {
        Affine3A::from_mat4(Mat4::from_cols_array(&rows.to_columns()))
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

/// Distance to the first triangle that a ray hits, by a test of all triangles.
pub(crate) fn first_hit(
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
    ray: &condyle_query::hits::Ray,
) -> Option<f32> {
    let (origin, direction) = (Vec3A::from(ray.origin), Vec3A::from(ray.direction));
    let mut best = ray.max;
    let mut met = false;
    for triangle in triangles {
        let [a, b, c] = triangle.map(|v| Vec3A::from(positions[v as usize]));
        let (ab, ac, from) = (b - a, c - a, origin - a);
        let across = direction.cross(ac);
        let determinant = ab.dot(across).recip();
        let u = from.dot(across) * determinant;
        let across = from.cross(ab);
        let v = direction.dot(across) * determinant;
        let t = ac.dot(across) * determinant;
        if u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t >= 0.0 && t <= best {
            (best, met) = (t, true);
        }
    }
    met.then_some(best)
}

/// Distance from a point to the nearest triangle, by a test of all triangles.
pub(crate) fn distance(positions: &[[f32; 3]], triangles: &[[u32; 3]], point: [f32; 3]) -> f32 {
    let point = Vec3A::from(point);
    let mut best = f32::INFINITY;
    for triangle in triangles {
        let [a, b, c] = triangle.map(|v| Vec3A::from(positions[v as usize]) - point);
        let part = |from: Vec3A, edge: Vec3A| {
            let t = (-from.dot(edge) / edge.length_squared()).clamp(0.0, 1.0);
            (from + edge * t).length_squared()
        };
        let (ab, bc, ca) = (b - a, c - b, a - c);
        let mut square = part(a, ab).min(part(b, bc)).min(part(c, ca));
        let normal = ab.cross(bc);
        let inside = |from: Vec3A, edge: Vec3A| edge.cross(-from).dot(normal) > 0.0;
        if inside(a, ab) && inside(b, bc) && inside(c, ca) {
            let height = a.dot(normal);
            square = square.min(height * height / normal.length_squared());
        }
        best = best.min(square);
    }
    best.sqrt()
}

/// Rotation followed by a translation, for skinning.
#[derive(Clone, Copy)]
pub(crate) struct DualQuat {
    real: Quat,
    dual: Quat,
}

impl DualQuat {
    pub(crate) fn new(real: [f32; 4], dual: [f32; 4]) -> Self {
        Self { real: Quat::from_array(real), dual: Quat::from_array(dual) }
    }

    pub(crate) fn scaled(&self, weight: f32) -> Self {
        Self { real: self.real * weight, dual: self.dual * weight }
    }

    /// Adds a multiple of another dual quaternion, in the hemisphere of `first`.
    pub(crate) fn plus(&self, other: &Self, weight: f32, first: &Self) -> Self {
        let weight = if first.real.dot(other.real) < 0.0 { -weight } else { weight };
        Self { real: self.real + other.real * weight, dual: self.dual + other.dual * weight }
    }

    pub(crate) fn normalized(&self) -> Self {
        let factor = self.real.length_recip();
        Self { real: self.real * factor, dual: self.dual * factor }
    }

    pub(crate) fn point(&self, p: [f32; 3]) -> [f32; 3] {
        let (axis, along) = (self.real.xyz(), self.dual.xyz());
        let moved = along * self.real.w - axis * self.dual.w + axis.cross(along);
        (self.real * Vec3::from(p) + moved * 2.0).into()
    }

    pub(crate) fn direction(&self, v: [f32; 3]) -> [f32; 3] {
        (self.real * Vec3::from(v)).into()
    }
}
