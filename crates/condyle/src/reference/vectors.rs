//! What every formula is made of.

use crate::math::Transform;

/// Three rows of four.
pub type Matrix = [[f64; 4]; 3];

/// The local transform of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Local {
    /// Unit quaternion.
    pub rotation: [f64; 4],
    /// Metres.
    pub translation: [f64; 3],
    /// Factor per axis.
    pub scale: [f64; 3],
}

impl From<Transform> for Local {
    fn from(t: Transform) -> Self {
        Self {
            rotation: t.rotation.map(f64::from),
            translation: t.translation.map(f64::from),
            scale: t.scale.map(f64::from),
        }
    }
}

pub(super) fn dot<const N: usize>(a: [f64; N], b: [f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn scaled<const N: usize>(a: [f64; N], factor: f64) -> [f64; N] {
    a.map(|a| a * factor)
}

pub(super) fn sum<const N: usize>(a: [f64; N], b: [f64; N]) -> [f64; N] {
    std::array::from_fn(|i| a[i] + b[i])
}

pub(super) fn unit<const N: usize>(a: [f64; N]) -> [f64; N] {
    let length = dot(a, a).sqrt();
    if length > 0.0 { scaled(a, 1.0 / length) } else { a }
}

/// Spherical interpolation on the shorter arc: `(sin((1-t)θ) a ± sin(tθ) b) / sin θ`. Shoemake 1985.
#[must_use]
pub fn slerp(a: [f64; 4], b: [f64; 4], t: f64) -> [f64; 4] {
    let b = if dot(a, b) < 0.0 { scaled(b, -1.0) } else { b };
    // The cosine is that of the keys as they are, of unit length or not: glTF 2.0, appendix C. Longer ones may exceed 1.
    let theta = dot(a, b).min(1.0).acos();
    if theta < 1e-6 {
        return unit(sum(scaled(a, 1.0 - t), scaled(b, t)));
    }
    let (from, to) = (((1.0 - t) * theta).sin() / theta.sin(), (t * theta).sin() / theta.sin());
    sum(scaled(a, from), scaled(b, to))
}
