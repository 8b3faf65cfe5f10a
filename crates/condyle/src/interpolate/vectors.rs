//! Slerp of vectors of any dimension.

use crate::Error;
use crate::math::{atan2_f64, cos_f64, sin_f64, sqrt_f64};

/// Unit vectors on the arc from `a` to `b`, as given, of any dimension: `a cos(tθ) + u sin(tθ)`, where `u` is what of `b`
/// stands upright on `a`, at unit length. Blow 2004.
///
/// `t` is any number; 0 gives `a`, 1 gives `b`, and equal ends give `a`, exactly. The error of a component is at most 1e-7
/// for unit vectors. Between opposite vectors every way is as short: it goes by the axis that lies most across `a`.
///
/// # Errors
/// [`Error::Length`] unless `a`, `b` and `out` are of one dimension.
pub fn slerp_vectors(a: &[f32], b: &[f32], t: f32, out: &mut [f32]) -> Result<(), Error> {
    Error::check_len("b", b.len(), a.len())?;
    Error::check_len("out", out.len(), a.len())?;
    let pairs = || a.iter().zip(b).map(|(&a, &b)| (f64::from(a), f64::from(b)));
    if t == 0.0 || a == b {
        out.copy_from_slice(a);
        return Ok(());
    }
    if t == 1.0 {
        out.copy_from_slice(b);
        return Ok(());
    }
    let chord = sqrt_f64(pairs().map(|(a, b)| (b - a) * (b - a)).sum());
    let sum = sqrt_f64(pairs().map(|(a, b)| (b + a) * (b + a)).sum());
    let angle = f64::from(t) * 2.0 * atan2_f64(chord, sum);
    let (sin, cos) = (sin_f64(angle), cos_f64(angle));
    // Of b - a instead of b: where they are close, nothing is lost to the difference.
    let along = pairs().map(|(a, b)| a * (b - a)).sum::<f64>();
    let upright = pairs().map(|(a, b)| (b - a) - along * a);
    let length = sqrt_f64(upright.clone().map(|v| v * v).sum());
    if length > 1e-7 * sum.max(chord * 1e-3) {
        for (out, ((a, _), u)) in out.iter_mut().zip(pairs().zip(upright)) {
            *out = (a * cos + u / length * sin) as f32;
        }
        return Ok(());
    }
    // Opposite, as far as f32 can tell.
    let least = (0..a.len()).min_by(|&i, &j| a[i].abs().total_cmp(&a[j].abs()));
    let axis = |at: usize| f64::from(u8::from(Some(at) == least));
    let along = least.map_or(0.0, |at| f64::from(a[at]));
    let length = sqrt_f64(1.0 - along * along);
    for (at, (out, (a, _))) in out.iter_mut().zip(pairs()).enumerate() {
        let u = if length > 0.0 { (axis(at) - along * a) / length } else { 0.0 };
        *out = (a * cos + u * sin) as f32;
    }
    Ok(())
}
