//! Interpolation and storage of values: as numbers, or as rotations.
//!
//! Rotations stored as integers are not exactly of unit length, and not every reader normalises them. The
//! error includes the effect on readers that do not: rotations here keep the length that such readers get.

use alloc::vec::Vec;

use super::super::algebra::{Vector, log_near, sub};
use super::format::{KeyFormat, ROTATION_GRADES, STEP_GRADES, Steps, greatest, rotation, stream_bytes};
use condyle_base::math::quats::{Quat64, Slerp, conjugate, exp, near, product};
use condyle_base::math::vectors::normalize;

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
    slerp: Slerp,
    /// Length of each minus one, to first order.
    longer: [f64; 2],
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
        let slerp = Slerp::new(from.map(|v| v as f32), to.map(|v| v as f32));
        TurnSpan { slerp, longer: [longer(from), longer(to)] }
    }

    fn at(&self, TurnSpan { slerp, longer: [from, to] }: &TurnSpan, t: f64) -> Quat64 {
        let way = self.point(slerp.at(t));
        let length = 1.0 + from * (1.0 - t) + to * t;
        way.map(|v| v * length)
    }

    fn way(&self, from: Quat64, to: Quat64) -> Vector {
        log_near(product(conjugate(from), near(from, to)), [0.0; 3])
    }

    fn moved(&self, from: Quat64, way: Vector) -> Quat64 {
        self.point(product(from, exp(way)))
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
