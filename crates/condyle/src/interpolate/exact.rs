//! Slerp to the letter, in f64.

use super::Arc;
use crate::Quat;
use crate::math::{atan2_f64, sin_f64, sqrt_f64};

/// `(sin((1-t)θ) a + sin(tθ) b) / sin θ`, for any `t`. Shoemake 1985.
pub(super) fn exact(a: Quat, b: Quat, t: f32, arc: Arc) -> Quat {
    let (p, mut q, t) = (a.map(f64::from), b.map(f64::from), f64::from(t));
    let square = |v: [f64; 4]| v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3];
    let cos: f64 = (0..4).map(|c| p[c] * q[c]).sum();
    if arc == Arc::Shorter && cos < 0.0 {
        q = q.map(|v| -v);
    }
    let chord = sqrt_f64(square(core::array::from_fn(|c| q[c] - p[c])));
    let sum = sqrt_f64(square(core::array::from_fn(|c| q[c] + p[c])));
    if t == 0.0 || chord == 0.0 {
        return a;
    }
    if t == 1.0 {
        return q.map(|v| v as f32);
    }
    if sum < 1e-6 {
        // Opposite ends as given have no arc between them.
        return if t > 0.5 { b } else { a };
    }
    let theta = 2.0 * atan2_f64(chord, sum);
    // Of the half angle twice: exact where the angle is near π.
    let sin = chord * sum / 2.0;
    let (from, to) = if theta < 1e-7 {
        (1.0 - t, t)
    } else {
        (sin_f64((1.0 - t) * theta) / sin, sin_f64(t * theta) / sin)
    };
    core::array::from_fn(|c| (p[c] * from + q[c] * to) as f32)
}
