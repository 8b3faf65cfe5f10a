//! Interpolation and storage of values: as numbers, or as rotations.
//!
//! Rotations stored as integers are not exactly of unit length, and not every reader normalises them. The
//! error includes the effect on readers that do not: rotations here keep the length that such readers get.

use alloc::vec::Vec;

use super::format::{KeyFormat, ROTATION_GRADES, STEP_GRADES, Steps, greatest, rotation, stream_bytes};
use crate::measure::algebra::{Vector, log_near, sub};
use condyle_base::math::quats::{Quat64, Slerp, conjugate, exp, near, product};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{dot, normalize};

/// Storage and interpolation of the values of a property.
pub(super) trait Space<const N: usize>: Copy {
    fn format(&self) -> KeyFormat;
    /// Number of grades of precision, of which `self` is the finest.
    const GRADES: i32;
    fn coarser(self, grade: i32) -> Self;
    /// Two adjacent keys, prepared for interpolation.
    type Span;
    fn span(&self, from: [f64; N], to: [f64; N]) -> Self::Span;
    /// Value that a reader gets between two keys.
    fn at(&self, span: &Self::Span, t: f64) -> [f64; N];
    /// [`at`](Self::at) for a single time.
    fn between(&self, from: [f64; N], to: [f64; N], t: f64) -> [f64; N] {
        self.at(&self.span(from, to), t)
    }
    /// Difference from one value to another; `moved` adds it.
    fn way(&self, from: [f64; N], to: [f64; N]) -> Vector;
    fn moved(&self, from: [f64; N], way: Vector) -> [f64; N];
    /// Squared distance between two values.
    fn square(&self, from: [f64; N], to: [f64; N]) -> f64;
    /// Value as stored in a key.
    fn stored(&self, value: [f64; N]) -> [f32; N];
    /// Value that a reader gets for a point of a spline.
    fn point(&self, value: [f64; N]) -> [f64; N];
    /// Size in bytes of these keys of a straight line.
    fn line_bytes(&self, keys: &[[f64; N]]) -> usize;
    /// Minimum number of bytes per key of a straight line.
    fn key_bytes(&self) -> usize;
    /// Finest rounding of the numbers of splines.
    fn spline_steps(&self) -> Steps;
}

/// Translations and scales.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    format: KeyFormat,
    steps: Steps,
}

impl Lengths {
    pub(super) fn new(format: KeyFormat, targets: &[Vector]) -> Self {
        // Keys may be slightly beyond the range of their targets.
        let most = 2.0 * greatest(targets.iter().flatten().copied());
        Self { format, steps: Steps::finest(format, most) }
    }
}

impl Space<3> for Lengths {
    const GRADES: i32 = STEP_GRADES;

    fn format(&self) -> KeyFormat {
        self.format
    }

    fn coarser(self, grade: i32) -> Self {
        Self { steps: self.steps.coarser(grade), ..self }
    }

    type Span = [Vector; 2];

    fn span(&self, from: Vector, to: Vector) -> [Vector; 2] {
        [from, to]
    }

    fn at(&self, [from, to]: &[Vector; 2], t: f64) -> Vector {
        core::array::from_fn(|c| from[c] + (to[c] - from[c]) * t)
    }

    fn way(&self, from: Vector, to: Vector) -> Vector {
        sub(to, from)
    }

    fn moved(&self, from: Vector, way: Vector) -> Vector {
        core::array::from_fn(|c| from[c] + way[c])
    }

    fn square(&self, from: Vector, to: Vector) -> f64 {
        let off = sub(to, from);
        dot(off, off)
    }

    fn stored(&self, value: Vector) -> [f32; 3] {
        value.map(|v| self.steps.round(v))
    }

    fn point(&self, value: Vector) -> Vector {
        value
    }

    fn line_bytes(&self, keys: &[Vector]) -> usize {
        match self.format {
            KeyFormat::Filtered => {
                let counts: Vec<i32> =
                    keys.iter().flatten().map(|&v| self.steps.count(self.steps.round(v))).collect();
                stream_bytes(&counts, 3, 3)
            }
            _ => 12 * keys.len(),
        }
    }

    fn key_bytes(&self) -> usize {
        if self.format == KeyFormat::Filtered { 1 } else { 12 }
    }

    fn spline_steps(&self) -> Steps {
        self.steps
    }
}

/// Rotations.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    pub(super) format: KeyFormat,
    pub(super) grade: i32,
}

/// Two adjacent rotations.
pub(super) struct TurnSpan {
    path: TurnPath,
    /// Length of each minus one, to first order.
    longer: [f64; 2],
}

/// Shortest path from one rotation to another.
enum TurnPath {
    /// Slerp by a small angle, without sines and arctangents: the two ends, and the squared angle.
    Short([Quat64; 2], f64),
    Long(Slerp),
}

impl TurnPath {
    /// Largest cosine subtracted from 1 for which the series suffice: rotations of up to 36°.
    const SHORT: f64 = 0.05;

    fn new(from: Quat64, to: Quat64) -> Self {
        // Keys are f32.
        let [a, b] = [from, to].map(|q| q.map(|v| v as f32));
        let ends = [a, b].map(|q| q.map(f64::from));
        let to = near(ends[0], ends[1]);
        let cos: f64 = (0..4).map(|c| ends[0][c] * to[c]).sum();
        let y = 1.0 - cos.min(1.0);
        if y > Self::SHORT {
            return Self::Long(Slerp::new(a, b));
        }
        // Squared arccosine of 1 - y, within 1e-13.
        let series = [2.0, 1.0 / 3.0, 4.0 / 45.0, 1.0 / 35.0, 16.0 / 1575.0, 8.0 / 2079.0, 32.0 / 21021.0];
        Self::Short([ends[0], to], y * horner(series, y))
    }

    /// Rotation at `t` with this length.
    fn at(&self, t: f64, length: f64) -> Quat64 {
        match self {
            Self::Short([from, to], square) => {
                // sin(x) / x. The sine of the angle between the ends is a common factor, without effect.
                let series = [1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5_040.0, 1.0 / 362_880.0];
                let part = |t: f64| t * horner(series, t * t * square);
                let (a, b) = (part(1.0 - t), part(t));
                let q: Quat64 = core::array::from_fn(|c| from[c] * a + to[c] * b);
                let by = length / sqrt_f64((q[0] * q[0] + q[1] * q[1]) + (q[2] * q[2] + q[3] * q[3]));
                q.map(|v| v * by)
            }
            Self::Long(slerp) => {
                let mut q = slerp.at(t);
                normalize(&mut q);
                q.map(|v| v * length)
            }
        }
    }
}

/// Polynomial with the lowest power first.
fn horner<const N: usize>(terms: [f64; N], x: f64) -> f64 {
    terms.iter().rev().fold(0.0, |sum, term| sum * x + term)
}

impl Space<4> for Turns {
    const GRADES: i32 = ROTATION_GRADES;

    fn format(&self) -> KeyFormat {
        self.format
    }

    fn coarser(self, grade: i32) -> Self {
        Self { grade: self.grade + grade, ..self }
    }

    type Span = TurnSpan;

    fn span(&self, from: Quat64, to: Quat64) -> TurnSpan {
        let longer = |q: Quat64| (q.iter().map(|v| v * v).sum::<f64>() - 1.0) / 2.0;
        TurnSpan { path: TurnPath::new(from, to), longer: [longer(from), longer(to)] }
    }

    fn at(&self, TurnSpan { path, longer: [from, to] }: &TurnSpan, t: f64) -> Quat64 {
        path.at(t, 1.0 + from * (1.0 - t) + to * t)
    }

    fn way(&self, from: Quat64, to: Quat64) -> Vector {
        let q = product(conjugate(from), near(from, to));
        let [x, y, z, w] = q;
        let tangent = (x * x + y * y + z * z) / (w * w);
        if w > 0.0 && tangent < 1e-4 {
            // The arctangent of a small number, divided by it.
            let ratio = horner([1.0, -1.0 / 3.0, 1.0 / 5.0, -1.0 / 7.0], tangent) / w;
            return [x, y, z].map(|v| v * ratio);
        }
        log_near(q, [0.0; 3])
    }

    fn moved(&self, from: Quat64, way: Vector) -> Quat64 {
        self.point(product(from, exp(way)))
    }

    fn square(&self, from: Quat64, to: Quat64) -> f64 {
        let to = near(from, to);
        (0..4).map(|c| (to[c] - from[c]) * (to[c] - from[c])).sum()
    }

    fn stored(&self, value: Quat64) -> [f32; 4] {
        rotation(value, self.format, self.grade).1
    }

    fn point(&self, mut value: Quat64) -> Quat64 {
        normalize(&mut value);
        value
    }

    fn line_bytes(&self, keys: &[Quat64]) -> usize {
        match self.format {
            KeyFormat::Filtered => {
                let stored: Vec<i32> =
                    keys.iter().flat_map(|&key| rotation(key, self.format, self.grade).0).collect();
                stream_bytes(&stored, 4, 2)
            }
            _ => self.key_bytes() * keys.len(),
        }
    }

    fn key_bytes(&self) -> usize {
        match self.format {
            KeyFormat::Floats => 16,
            KeyFormat::Shorts => 8,
            KeyFormat::Filtered => 1,
        }
    }

    fn spline_steps(&self) -> Steps {
        Steps::finest(self.format, 1.0)
    }
}
