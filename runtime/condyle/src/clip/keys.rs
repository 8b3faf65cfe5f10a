//! Interpolation of keyframes, for raw clips and fallback tracks: finding the keys around a time, and values
//! in f64.
//!
//! Rotation keys of other than unit length, such as 0.707 for √½, stay as authored. Normalising them first
//! bends the path by more than the reference characters allow. Samples between them are normalised, by the
//! formula of the specification in f64, because such keys are rare. Fallback tracks of 16-bit integers are
//! normalised first, because their lengths are rounding errors: 16 ns per track in a pose of 67 joints with
//! AVX2, 100 ns one at a time in f64.

use super::raw::{Interpolation, Track};
use condyle_base::math::quats::is_loose;
use condyle_base::math::quats::slerp_f64;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::normalize;

/// Position of a time between two keys of a timeline.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    /// The last key at or before the time, or the first key.
    pub key: usize,
    /// Fraction of the interval: 0 at `key`, towards 1 at the next key. 0 where a key holds: at `key`, before
    /// the first key, after the last one.
    pub factor: f64,
    /// Seconds from `key` to the next key; 0 where a key holds.
    pub length: f64,
}

impl Span {
    #[inline]
    pub fn find(times: &[f32], seconds: f64, hint: usize) -> Self {
        // Try the key of the previous call and the next one before a binary search.
        let is_at = |key: usize| {
            (key == 0 || times.get(key).is_some_and(|&t| f64::from(t) <= seconds))
                && times.get(key + 1).is_none_or(|&t| f64::from(t) > seconds)
        };
        let key = if is_at(hint) {
            hint
        } else if is_at(hint + 1) {
            hint + 1
        } else {
            times.partition_point(|&t| f64::from(t) <= seconds).saturating_sub(1)
        };
        match (times.get(key), times.get(key + 1)) {
            (Some(&from), Some(&to)) if f64::from(from) < seconds => {
                let length = f64::from(to) - f64::from(from);
                Self { key, factor: (seconds - f64::from(from)) / length, length }
            }
            _ => Self { key, ..Self::default() },
        }
    }
}

/// Evaluates a cubic spline between two keys that are `length` seconds apart. The arguments are the value and
/// tangent of the first key, then the tangent and value of the second. Tangents are per second. Source: glTF
/// 2.0, appendix C.
#[inline]
pub fn hermite([from, out_tangent, in_tangent, to]: [f64; 4], length: f64, t: f64) -> f64 {
    let (t2, t3) = (t * t, t * t * t);
    (2.0 * t3 - 3.0 * t2 + 1.0) * from
        + length * (t3 - 2.0 * t2 + t) * out_tangent
        + (3.0 * t2 - 2.0 * t3) * to
        + length * (t3 - t2) * in_tangent
}

/// Returns one component of a track with `width` numbers per value, in f64.
#[inline]
pub fn component_at(track: &Track, span: Span, width: usize, component: usize) -> f64 {
    let per_key = track.values_per_key();
    // A spline key stores the value between its two tangents.
    let at = |key: usize, part: usize| f64::from(track.values[(key * per_key + part) * width + component]);
    let (key, t) = (span.key, span.factor);
    match track.interpolation {
        Interpolation::CubicSpline if t == 0.0 => at(key, 1),
        Interpolation::CubicSpline => {
            hermite([at(key, 1), at(key, 2), at(key + 1, 0), at(key + 1, 1)], span.length, t)
        }
        Interpolation::Linear if t > 0.0 => at(key, 0) + (at(key + 1, 0) - at(key, 0)) * t,
        _ => at(key, 0),
    }
}

/// Returns the slope of one component of a spline between two of its keys, per second.
pub fn hermite_slope(track: &Track, span: Span, width: usize, component: usize) -> f64 {
    let at = |key: usize, part: usize| f64::from(track.values[(key * 3 + part) * width + component]);
    let (key, t, length) = (span.key, span.factor, span.length);
    let rise = (at(key + 1, 1) - at(key, 1)) / length;
    let t2 = t * t;
    6.0 * (t - t2) * rise + (3.0 * t2 - 4.0 * t + 1.0) * at(key, 2) + (3.0 * t2 - 2.0 * t) * at(key + 1, 0)
}

/// Returns the value of a track in f64, with the same bits on every platform. For values that are computed
/// once and stored. Rotations have unit length.
///
/// `N` is the width of the track.
#[inline]
pub fn value_at<const N: usize>(track: &Track, span: Span) -> [f64; N] {
    let rotates = track.target.rotates();
    let mut out = if rotates && track.interpolation == Interpolation::Linear && span.factor > 0.0 {
        let quat = |key: usize| track.values[4 * key..].first_chunk().copied().unwrap_or_default();
        let between = slerp_f64(quat(span.key), quat(span.key + 1), span.factor);
        core::array::from_fn(|c| between[c])
    } else {
        core::array::from_fn(|c| component_at(track, span, N, c))
    };
    if rotates {
        normalize(&mut out);
    }
    out
}

/// Returns the length of a rotation before normalisation, for readers that do not normalise keys. Stepped and
/// linear rotations are not normalised, nor are the ends of splines; other spline values have length 1.
pub fn length_at(track: &Track, span: Span) -> f64 {
    let per_key = track.values_per_key();
    let length = |key: usize| {
        let q: [f32; 4] =
            track.values[4 * (key * per_key + per_key / 2)..].first_chunk().copied().unwrap_or_default();
        let q = q.map(f64::from);
        // A length that differs from 1 only by f32 rounding counts as 1.
        if is_loose(&q) { sqrt_f64(q.iter().map(|v| v * v).sum()) } else { 1.0 }
    };
    let is_end = span.key == 0 || 4 * per_key * (span.key + 1) == track.values.len();
    match track.interpolation {
        Interpolation::CubicSpline if span.factor > 0.0 || !is_end => 1.0,
        Interpolation::Linear if span.factor > 0.0 => {
            let (from, to) = (length(span.key), length(span.key + 1));
            from + (to - from) * span.factor
        }
        _ => length(span.key),
    }
}
