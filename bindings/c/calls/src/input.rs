//! Random numbers, vectors and text from the bytes of the fuzzer. They end with zeros.

use arbitrary::Unstructured;
use capi::*;

pub(crate) struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number below `end`, or 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.int_in_range(0..=end.saturating_sub(1)).unwrap_or(0)
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) + 1 == count
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Number, mostly between -2 and 2, sometimes with arbitrary bits.
    pub(crate) fn number(&mut self) -> f32 {
        match self.below(24) {
            0 => f32::from_bits(self.0.arbitrary().unwrap_or(0)),
            1 | 2 => 0.0,
            3 => self.pick(&[f32::NAN, f32::INFINITY, -0.0, 1e-30, -1e-30, 1e-7, 1e7, -1e18, f32::MAX]),
            4..8 => 1.0,
            _ => f32::from(self.0.arbitrary::<i8>().unwrap_or(0)) / 64.0,
        }
    }

    pub(crate) fn double(&mut self) -> f64 {
        match self.below(32) {
            0 => f64::from_bits(self.0.arbitrary().unwrap_or(0)),
            1 => self.pick(&[1e300, -1e300, f64::MIN_POSITIVE]),
            _ => self.number().into(),
        }
    }

    pub(crate) fn numbers<const N: usize>(&mut self) -> [f32; N] {
        std::array::from_fn(|_| self.number())
    }

    pub(crate) fn list(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.number()).collect()
    }

    /// Quaternion, mostly of unit length.
    pub(crate) fn rotation(&mut self) -> [f32; 4] {
        let q = match self.below(4) {
            0 => return [0.0, 0.0, 0.0, 1.0],
            _ => self.numbers::<4>(),
        };
        let length = q.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
        if self.one_in(16) {
            return q;
        }
        let unit = q.map(|v| (f64::from(v) / length) as f32);
        if length > 0.0 && length.is_finite() { unit } else { [0.0, 0.0, 0.0, 1.0] }
    }

    pub(crate) fn transform(&mut self) -> condyle_transform {
        let scale = if self.one_in(6) { self.numbers() } else { [1.0; 3] };
        condyle_transform { rotation: self.rotation(), translation: self.numbers(), scale }
    }

    pub(crate) fn matrix(&mut self) -> condyle_matrix {
        match self.below(3) {
            0 => condyle_matrix { rows: [self.numbers(), self.numbers(), self.numbers()] },
            1 => {
                let [x, y, z] = self.numbers();
                condyle_matrix { rows: [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z]] }
            }
            _ => {
                let [x, y, z] = self.numbers();
                condyle_matrix { rows: [[0.0, 0.0, 1.0, x], [0.0, 1.0, 0.0, y], [-1.0, 0.0, 0.0, z]] }
            }
        }
    }

    pub(crate) fn rigid(&mut self) -> condyle_rigid {
        let rotation = self.rotation().map(f64::from);
        condyle_rigid { rotation, translation: std::array::from_fn(|_| self.double()) }
    }

    /// Joint of a skeleton, rarely one that does not exist.
    pub(crate) fn joint(&mut self, joints: usize) -> u16 {
        match self.below(20) {
            0 => joints as u16,
            1 => u16::MAX,
            _ => self.below(joints) as u16,
        }
    }

    /// Constant of an enumeration with `count` values, rarely another number.
    pub(crate) fn constant(&mut self, count: usize) -> u32 {
        match self.below(20) {
            0 => count as u32,
            1 => u32::MAX,
            _ => self.below(count) as u32,
        }
    }

    /// 0 or 1, rarely another number.
    pub(crate) fn flag(&mut self) -> u32 {
        self.constant(2)
    }
}
