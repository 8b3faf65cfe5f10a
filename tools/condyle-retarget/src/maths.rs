//! Vectors and rotations of [`condyle_base::math`], smooth steps, and the vertical.

pub(crate) use condyle_base::math::quats::{
    IDENTITY, Quat64, about, angle, arc_or, conjugate, nlerp, product, renormalized, rotate,
};
pub(crate) use condyle_base::math::scalar::{atan2_f64, sqrt_f64};
pub(crate) use condyle_base::math::vectors::{
    add, along as moved, cross, direction, dot, length, scaled, sub,
};

/// A vector or point.
pub(crate) type Vec3 = [f64; 3];

/// Up, in the space of both models.
pub(crate) const UP: Vec3 = [0.0, 1.0, 0.0];

/// Returns 0 below 0, 1 above 1, and a smooth step between.
pub(crate) fn smooth(t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Returns the horizontal part of a vector.
pub(crate) fn flat([x, _, z]: Vec3) -> Vec3 {
    [x, 0.0, z]
}

/// Returns how much of a way is done after the time `x`, in time constants: `1 - (1 + x / 8)^-8`, which is
/// near `1 - exp(-x)` and needs no exponential.
pub(crate) fn ease(x: f64) -> f64 {
    let base = 1.0 + x / 8.0;
    let power = base * base;
    let power = power * power;
    1.0 - 1.0 / (power * power)
}
