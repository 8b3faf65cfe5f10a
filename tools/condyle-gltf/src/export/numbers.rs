//! Numeric data of animations, and the interface of its storage.

use super::bin::Bin;
use crate::value::{Value, json};

/// Component types of glTF.
pub(super) const SHORT: u32 = 5122;
pub(super) const UNSIGNED_SHORT: u32 = 5123;
pub(super) const FLOAT: u32 = 5126;

/// Numeric data of a sampler.
pub(super) enum Numbers<'a> {
    /// Key times in seconds.
    Times(&'a [f32]),
    /// Values, numbers per element, and numbers per key. An element has 4 numbers for rotations, 3 for
    /// translations and scales, 1 for morph weights.
    Values(&'a [f32], usize, usize),
}

/// Collects the numbers of all animations of a file, without duplicates, and appends them to the file.
pub(super) trait Store: Default {
    /// Returns the accessor with these numbers, adding it if necessary.
    fn add(&mut self, accessors: &mut Vec<Value>, numbers: &Numbers<'_>) -> usize;

    /// Returns the size of all numbers in the file, in bytes.
    fn byte_count(&self) -> usize;

    /// Appends the buffer views.
    fn finish(self, accessors: &mut [Value], bin: &mut Bin);
}

impl<'a> Numbers<'a> {
    pub(super) fn values(&self) -> &'a [f32] {
        match *self {
            Numbers::Times(values) | Numbers::Values(values, ..) => values,
        }
    }

    /// Returns the number of values per element.
    pub(super) fn width(&self) -> usize {
        match *self {
            Numbers::Times(_) => 1,
            Numbers::Values(_, width, _) => width,
        }
    }

    /// Returns the numbers as the bytes of 32-bit floats.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.values().iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    /// Returns an accessor that starts at an offset of a view. The index of the view is filled in later.
    pub(super) fn accessor(&self, component: u32, offset: usize) -> Value {
        let (values, width) = (self.values(), self.width());
        let kind = if width == 1 { "SCALAR".into() } else { format!("VEC{width}") };
        let mut accessor = json!({
            "bufferView": 0, "componentType": component, "count": values.len() / width, "type": kind,
        });
        if offset > 0 {
            accessor["byteOffset"] = offset.into();
        }
        if component != FLOAT {
            accessor["normalized"] = true.into();
        }
        if let (Numbers::Times(_), Some(&first), Some(&last)) = (self, values.first(), values.last()) {
            accessor["min"] = [first].as_slice().into();
            accessor["max"] = [last].as_slice().into();
        }
        accessor
    }
}

/// Returns a value as an integer multiple of 1/32767, if it is exactly one.
pub(super) fn signed(value: f32) -> Option<i16> {
    let steps = (f64::from(value) * 32767.0).round().clamp(-32767.0, 32767.0) as i16;
    (f32::from(steps) / 32767.0 == value).then_some(steps)
}

/// Returns a value as an integer multiple of 1/65535, if it is exactly one.
pub(super) fn unsigned(value: f32) -> Option<u16> {
    let steps = (f64::from(value) * 65535.0).round().clamp(0.0, 65535.0) as u16;
    (f32::from(steps) / 65535.0 == value).then_some(steps)
}
