//! Directions, turns between them, and smooth steps.

pub(crate) use condyle_base::math::quats::{Quat64, conjugate, product, renormalized, rotate};
pub(crate) use condyle_base::math::scalar::{atan2_f64, sin_cos_f64, sqrt_f64};
pub(crate) use condyle_base::math::vectors::{add, along as moved, cross, dot, length, scaled, sub};

/// A vector or point.
pub(crate) type Vec3 = [f64; 3];

/// The identity rotation.
pub(crate) const STILL: Quat64 = [0.0, 0.0, 0.0, 1.0];

/// Up, in the space of both models.
pub(crate) const UP: Vec3 = [0.0, 1.0, 0.0];

/// Returns `v` with unit length; `None` if it is too short to have a direction.
pub(crate) fn unit(v: Vec3) -> Option<Vec3> {
    let length = length(v);
    (length > 1e-12).then(|| scaled(v, 1.0 / length))
}

/// Returns the shortest rotation from the direction of `from` to that of `to`. Opposite directions turn about
/// `hinge`. Vectors without a direction give the identity.
pub(crate) fn turn(from: Vec3, to: Vec3, hinge: Vec3) -> Quat64 {
    let size = sqrt_f64(dot(from, from) * dot(to, to));
    let ([x, y, z], w) = (cross(from, to), size + dot(from, to));
    if size <= 1e-24 {
        return STILL;
    }
    if w <= 1e-9 * size {
        let [x, y, z] = unit(hinge).unwrap_or(UP);
        return [x, y, z, 0.0];
    }
    let all = 1.0 / sqrt_f64(x * x + y * y + z * z + w * w);
    [x * all, y * all, z * all, w * all]
}

/// Returns the rotation about a unit axis by an angle in radians.
pub(crate) fn about([x, y, z]: Vec3, angle: f64) -> Quat64 {
    let (sin, cos) = sin_cos_f64(0.5 * angle);
    [x * sin, y * sin, z * sin, cos]
}

/// Returns 0 below 0, 1 above 1, and a smooth step between.
pub(crate) fn smooth(t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Returns the horizontal part of a vector.
pub(crate) fn flat([x, _, z]: Vec3) -> Vec3 {
    [x, 0.0, z]
}

/// Returns the weighted mean of two rotations, normalised.
pub(crate) fn mix(a: Quat64, b: Quat64, weight: f64) -> Quat64 {
    let dot = (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]);
    let to = if dot < 0.0 { -weight } else { weight };
    renormalized(core::array::from_fn(|c| a[c] * (1.0 - weight) + b[c] * to))
}

/// Returns how much of a way is done after the time `x`, in time constants: `1 - (1 + x / 8)^-8`, which is
/// near `1 - exp(-x)` and needs no exponential.
pub(crate) fn ease(x: f64) -> f64 {
    let base = 1.0 + x / 8.0;
    let power = base * base;
    let power = power * power;
    1.0 - 1.0 / (power * power)
}
