//! Vectors and rotations of [`condyle_base::math`], and the vertical.

pub(crate) use condyle_base::math::quats::{
    IDENTITY, Quat64, about, angle, arc_or, conjugate, nlerp, product, renormalized, rotate,
};
pub(crate) use condyle_base::math::scalar::{approach as ease, atan2_f64, smooth, sqrt_f64};
pub(crate) use condyle_base::math::vectors::{
    add, along as moved, cross, direction, dot, length, scaled, sub,
};

/// A vector or point.
pub(crate) type Vec3 = [f64; 3];

/// Up, in the space of both models.
pub(crate) const UP: Vec3 = [0.0, 1.0, 0.0];

/// Returns the horizontal part of a vector.
pub(crate) fn flat([x, _, z]: Vec3) -> Vec3 {
    [x, 0.0, z]
}
