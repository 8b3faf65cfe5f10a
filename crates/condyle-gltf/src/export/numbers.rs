//! The numbers of animations, and what stores them.

use serde_json::{Value, json};

use super::bin::Bin;

/// Component types of glTF.
pub(super) const SHORT: u32 = 5122;
pub(super) const UNSIGNED_SHORT: u32 = 5123;
pub(super) const FLOAT: u32 = 5126;

/// The numbers of a sampler.
pub(super) enum Numbers<'a> {
    /// Seconds.
    Times(&'a [f32]),
    /// And how many make an element: 4 for rotations, 3 for translations and scales, 1 for morph weights; and how many a key.
    Values(&'a [f32], usize, usize),
}

/// Collects the numbers of all animations of a file, equal ones once, and lays them out at its end.
pub(super) trait Store: Default {
    /// The accessor with these numbers.
    fn add(&mut self, accessors: &mut Vec<Value>, numbers: &Numbers<'_>) -> usize;

    /// The bytes that all of them take in the file.
    fn byte_count(&self) -> usize;

    /// Appends the views.
    fn finish(self, accessors: &mut [Value], bin: &mut Bin);
}

impl<'a> Numbers<'a> {
    pub(super) fn values(&self) -> &'a [f32] {
        match *self {
            Numbers::Times(values) | Numbers::Values(values, ..) => values,
        }
    }

    /// How many make an element.
    pub(super) fn width(&self) -> usize {
        match *self {
            Numbers::Times(_) => 1,
            Numbers::Values(_, width, _) => width,
        }
    }

    /// As 32-bit floats.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.values().iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    /// Their accessor if they begin at an offset of a view, whose index is not known yet.
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

/// How many 32767ths a number is, if it is that many and no fraction.
pub(super) fn signed(value: f32) -> Option<i16> {
    let steps = (f64::from(value) * 32767.0).round().clamp(-32767.0, 32767.0) as i16;
    (f32::from(steps) / 32767.0 == value).then_some(steps)
}

/// How many 65535ths.
pub(super) fn unsigned(value: f32) -> Option<u16> {
    let steps = (f64::from(value) * 65535.0).round().clamp(0.0, 65535.0) as u16;
    (f32::from(steps) / 65535.0 == value).then_some(steps)
}
