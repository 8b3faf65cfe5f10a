//! Encoded vertex attributes: the bytes of each vertex, and the accessor type that reads them.

use super::directions;
use super::grid::Grid;
use super::weights::{LEAST_BITS, Precision};
use crate::meshopt::filters;
use crate::value::{Value, json};

pub(super) const BYTE: u32 = 5120;
pub(super) const UNSIGNED_BYTE: u32 = 5121;
pub(super) const SHORT: u32 = 5122;
pub(super) const UNSIGNED_SHORT: u32 = 5123;
pub(super) const UNSIGNED_INT: u32 = 5125;
pub(super) const FLOAT: u32 = 5126;

pub(super) const PLAIN: &str = "";
pub(super) const OCTAHEDRAL: &str = "OCTAHEDRAL";
pub(super) const EXPONENTIAL: &str = "EXPONENTIAL";

/// Place of an accessor in a primitive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slot {
    Attribute(String),
    /// Attribute of a morph target.
    Target(usize, String),
}

impl Slot {
    pub(super) fn attribute(name: &str) -> Self {
        Self::Attribute(name.into())
    }

    fn has_bounds(&self) -> bool {
        matches!(self, Self::Attribute(name) | Self::Target(_, name) if name == "POSITION")
    }
}

/// Type of the elements of an accessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Form {
    pub(super) component: u32,
    pub(super) width: usize,
    pub(super) normalized: bool,
    /// Bytes of each element, a multiple of four.
    pub(super) stride: usize,
    /// Filter of the compressed form.
    pub(super) filter: &'static str,
}

impl Form {
    pub(super) fn new(component: u32, width: usize) -> Self {
        let stride = (component_size(component) * width).next_multiple_of(4);
        Self { component, width, normalized: false, stride, filter: PLAIN }
    }

    pub(super) fn normalized(self) -> Self {
        Self { normalized: true, ..self }
    }

    pub(super) fn filtered(self, filter: &'static str) -> Self {
        Self { filter, ..self }
    }
}

pub(super) fn component_size(component: u32) -> usize {
    match component {
        BYTE | UNSIGNED_BYTE => 1,
        SHORT | UNSIGNED_SHORT => 2,
        _ => 4,
    }
}

/// One attribute of all vertices.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) slot: Slot,
    pub(super) form: Form,
    /// Elements of `form.stride` bytes, as the filter reads them.
    pub(super) elements: Vec<u8>,
}

impl Column {
    /// Returns a column of elements, each padded with zeros.
    fn of<const N: usize>(slot: Slot, form: Form, values: impl Iterator<Item = [u8; N]>) -> Self {
        let mut elements = Vec::new();
        for (at, element) in (1..).zip(values) {
            elements.extend_from_slice(&element);
            elements.resize(form.stride * at, 0);
        }
        Self { slot, form, elements }
    }

    /// Returns the same column for other vertices.
    pub(super) fn select(&self, vertices: &[u32]) -> Self {
        let stride = self.form.stride;
        let element = |&vertex: &u32| &self.elements[vertex as usize * stride..][..stride];
        Self { elements: vertices.iter().flat_map(element).copied().collect(), ..self.clone() }
    }

    /// Returns the elements after the filter.
    pub(super) fn decoded(&self) -> Vec<u8> {
        decoded(&self.elements, self.form.filter)
    }

    /// Returns the accessor at an offset of a view that is filled in later.
    pub(super) fn accessor(&self, offset: usize) -> Value {
        let Form { component, width, normalized, stride, .. } = self.form;
        let kind = if width == 1 { "SCALAR".into() } else { format!("VEC{width}") };
        let mut accessor = json!({
            "bufferView": 0, "componentType": component, "count": self.elements.len() / stride, "type": kind,
        });
        if offset > 0 {
            accessor["byteOffset"] = offset.into();
        }
        if normalized {
            accessor["normalized"] = true.into();
        }
        if self.slot.has_bounds() {
            let (min, max) = self.bounds();
            (accessor["min"], accessor["max"]) = (min.into(), max.into());
        }
        accessor
    }

    /// Returns the minimum and the maximum of each component, as the accessor stores them.
    fn bounds(&self) -> (Vec<Value>, Vec<Value>) {
        let bytes = self.decoded();
        let size = component_size(self.form.component);
        let value = |bytes: &[u8]| match (self.form.component, bytes) {
            (BYTE, &[a, ..]) => f64::from(a as i8),
            (UNSIGNED_BYTE, &[a, ..]) => a.into(),
            (SHORT, &[a, b, ..]) => i16::from_le_bytes([a, b]).into(),
            (UNSIGNED_SHORT, &[a, b, ..]) => u16::from_le_bytes([a, b]).into(),
            (_, &[a, b, c, d, ..]) => f32::from_le_bytes([a, b, c, d]).into(),
            _ => 0.0,
        };
        let number = |v: f64| if v.fract() == 0.0 && v.abs() < 1e9 { json!(v as i64) } else { json!(v) };
        let bound = |pick: fn(f64, f64) -> f64| {
            let of = |at: usize| {
                bytes
                    .chunks(self.form.stride)
                    .filter_map(|element| Some(value(element.get(at * size..)?)))
                    .reduce(pick)
            };
            (0..self.form.width).map(|at| number(of(at).unwrap_or_default())).collect()
        };
        (bound(f64::min), bound(f64::max))
    }
}

/// Applies a filter to elements.
pub(super) fn decoded(elements: &[u8], filter: &str) -> Vec<u8> {
    let mut bytes = elements.to_vec();
    match filter {
        OCTAHEDRAL => filters::octahedral_8(&mut bytes),
        EXPONENTIAL => filters::exponential(&mut bytes),
        _ => {}
    }
    bytes
}

/// Returns a column of floats that are multiples of a power of two, for the exponential filter. `None` if a
/// multiple has more than 23 bits, or is NaN.
pub(super) fn powers<const N: usize>(slot: Slot, values: &[[f64; N]], exponent: i32) -> Option<Column> {
    let step = 2_f64.powi(exponent);
    let mut elements = Vec::with_capacity(4 * N * values.len());
    for value in values.as_flattened() {
        let multiple = (value / step).round();
        let fits = multiple.abs() < f64::from(1 << 23);
        if !fits || !(-100..=100).contains(&exponent) {
            return None;
        }
        elements.extend((exponent << 24 | multiple as i32 & 0xff_ffff).to_le_bytes());
    }
    Some(Column { slot, form: Form::new(FLOAT, N).filtered(EXPONENTIAL), elements })
}

/// Returns a column of exact floats.
pub(super) fn floats<const N: usize>(slot: Slot, values: &[[f64; N]]) -> Column {
    let bytes = values.as_flattened().iter().flat_map(|&value| (value as f32).to_le_bytes());
    Column { slot, form: Form::new(FLOAT, N), elements: bytes.collect() }
}

/// Returns positions, or the offsets of a morph target, on a grid. `None` if an integer does not fit.
pub(super) fn positions(slot: Slot, values: &[[f64; 3]], grid: &Grid) -> Option<Column> {
    match *grid {
        Grid::Exact => Some(floats(slot, values)),
        Grid::Powers(exponent) => powers(slot, values, exponent),
        Grid::Integers { offset, step } => {
            let is_delta = matches!(slot, Slot::Target(..));
            let offset = if is_delta { [0.0; 3] } else { offset };
            let all: Vec<[i64; 3]> = values
                .iter()
                .map(|p| std::array::from_fn(|axis| ((p[axis] - offset[axis]) / step).round() as i64))
                .collect();
            let within = |low: i64, high: i64| all.as_flattened().iter().all(|v| (low..=high).contains(v));
            let bytes = |v: &[i64; 3]| v.map(|v| v as u8);
            let shorts = |v: &[i64; 3]| {
                let [[a, b], [c, d], [e, f]] = v.map(|v| (v as u16).to_le_bytes());
                [a, b, c, d, e, f]
            };
            let (byte, short) = if is_delta { (BYTE, SHORT) } else { (UNSIGNED_BYTE, UNSIGNED_SHORT) };
            match is_delta {
                true if within(-127, 127) => {}
                false if within(0, 255) => {}
                true if within(-32767, 32767) => {
                    return Some(Column::of(slot, Form::new(short, 3), all.iter().map(shorts)));
                }
                false if within(0, 65535) => {
                    return Some(Column::of(slot, Form::new(short, 3), all.iter().map(shorts)));
                }
                _ => return None,
            }
            Some(Column::of(slot, Form::new(byte, 3), all.iter().map(bytes)))
        }
    }
}

/// Returns the columns of joints and of weights, four influences each.
pub(super) fn influences(rows: &[Vec<(u16, u32)>], precision: &Precision) -> Vec<Column> {
    let most = rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let wide = rows.iter().flatten().any(|(joint, _)| *joint > 255);
    let mut columns = Vec::new();
    for set in 0..most.div_ceil(4) {
        let slot = |kind: &str| Slot::Attribute(format!("{kind}_{set}"));
        let four = |row: &Vec<(u16, u32)>| -> [(u16, u32); 4] {
            std::array::from_fn(|at| row.get(4 * set + at).copied().unwrap_or_default())
        };
        let joints = rows.iter().map(|row| four(row).map(|(joint, _)| joint));
        columns.push(if wide {
            let bytes = joints.flatten().flat_map(u16::to_le_bytes);
            Column { slot: slot("JOINTS"), form: Form::new(UNSIGNED_SHORT, 4), elements: bytes.collect() }
        } else {
            let bytes = joints.flatten().map(|joint| joint as u8);
            Column { slot: slot("JOINTS"), form: Form::new(UNSIGNED_BYTE, 4), elements: bytes.collect() }
        });
        let weights = rows.iter().map(|row| four(row).map(|(_, weight)| weight));
        let weights = weights.flatten();
        let slot = slot("WEIGHTS");
        columns.push(match precision {
            Precision::Bits(LEAST_BITS) => {
                let elements = weights.map(|weight| weight as u8).collect();
                Column { slot, form: Form::new(UNSIGNED_BYTE, 4).normalized(), elements }
            }
            Precision::Bits(bits) => {
                let exponent = -(*bits as i32);
                let bytes = weights.flat_map(|weight| (exponent << 24 | weight as i32).to_le_bytes());
                Column { slot, form: Form::new(FLOAT, 4).filtered(EXPONENTIAL), elements: bytes.collect() }
            }
            Precision::Mixed(_) => {
                let bytes = weights.flat_map(|weight| (weight as u16).to_le_bytes());
                Column { slot, form: Form::new(UNSIGNED_SHORT, 4).normalized(), elements: bytes.collect() }
            }
            Precision::Exact => {
                let bytes = weights.flat_map(u32::to_le_bytes);
                Column { slot, form: Form::new(FLOAT, 4), elements: bytes.collect() }
            }
        });
    }
    columns
}

/// Returns the columns of joints and of exact weights.
pub(super) fn exact_influences(rows: &[Vec<(u16, f64)>]) -> Vec<Column> {
    let marked = |(joint, weight): &(u16, f64)| (*joint, (*weight as f32).to_bits());
    let rows: Vec<Vec<(u16, u32)>> = rows.iter().map(|row| row.iter().map(marked).collect()).collect();
    influences(&rows, &Precision::Exact)
}

/// Returns the column of normals or tangents, and the largest angle to the originals in radians. `None` if a
/// vector does not have unit length.
pub(super) fn directions<const N: usize>(slot: Slot, vectors: &[[f32; N]]) -> Option<(Column, f64)> {
    let mut worst = 0.0_f64;
    let mut elements = Vec::with_capacity(4 * vectors.len());
    for vector in vectors {
        let (stored, angle) = directions::stored([vector[0], vector[1], vector[2]])?;
        worst = worst.max(angle);
        let last = match vector.get(3) {
            None => 0,
            Some(sign) if *sign < 0.0 => -127_i8,
            Some(_) => 127,
        };
        elements.extend([stored[0] as u8, stored[1] as u8, 127, last as u8]);
    }
    let form = Form::new(BYTE, N).normalized().filtered(OCTAHEDRAL);
    Some((Column { slot, form, elements }, worst))
}

/// Returns the column of colours: normalised bytes if no component changes by more than one step of a
/// display, 16 bits otherwise. `None` if a number is outside 0 to 1.
pub(super) fn colors<const N: usize>(slot: Slot, values: &[[f32; N]]) -> Option<Column> {
    let all = values.as_flattened();
    if !all.iter().all(|v| (0.0..=1.0).contains(v)) {
        return None;
    }
    let rounded = |v: f32, most: f64| (f64::from(v) * most).round();
    let is_near = |&v: &f32| (steps(rounded(v, 255.0) / 255.0) - steps(v.into())).abs() <= 1.0;
    if all.iter().all(is_near) {
        let bytes = values.iter().map(|color| color.map(|v| rounded(v, 255.0) as u8));
        return Some(Column::of(slot, Form::new(UNSIGNED_BYTE, N).normalized(), bytes));
    }
    let form = Form::new(UNSIGNED_SHORT, N).normalized();
    let mut elements = Vec::with_capacity(form.stride * values.len());
    for (at, color) in (1..).zip(values) {
        elements.extend(color.iter().flat_map(|&v| (rounded(v, 65_535.0) as u16).to_le_bytes()));
        elements.resize(form.stride * at, 0);
    }
    Some(Column { slot, form, elements })
}

/// Returns a linear colour in the 255 steps of a display. Source: IEC 61966-2-1 (sRGB).
fn steps(linear: f64) -> f64 {
    255.0 * if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

/// Returns the offsets of a morph target's normals or tangents: normalised bytes if they fit.
pub(super) fn turns(slot: Slot, values: &[[f64; 3]]) -> Column {
    let fits = values.as_flattened().iter().all(|v| v.abs() <= 1.0);
    if !fits && let Some(column) = powers(slot.clone(), values, -7) {
        return column;
    }
    if !fits {
        return floats(slot, values);
    }
    let bytes = values.iter().map(|v| v.map(|v| (v * 127.0).round() as i8 as u8));
    Column::of(slot, Form::new(BYTE, 3).normalized(), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_take_bytes_where_a_display_shows_no_step() {
        let of = |values: &[[f32; 3]]| colors(Slot::attribute("COLOR_0"), values);
        // Bytes of a display, 51 to 255, and a light grey halfway between two bytes.
        let light: Vec<[f32; 3]> = (51..=255).map(|v| [(v as f32) / 255.0, 1.0, 0.5 + 0.5 / 255.0]).collect();
        let column = of(&light).unwrap();
        assert_eq!(
            (column.form.component, column.form.stride, column.form.normalized),
            (UNSIGNED_BYTE, 4, true)
        );
        assert_eq!(column.elements[..4], [51, 255, 128, 0]);
        // A dark linear colour halfway between two bytes: 3 steps of a display.
        let dark = of(&[[0.5 / 255.0, 0.0, 1.0]]).unwrap();
        assert_eq!((dark.form.component, dark.form.stride), (UNSIGNED_SHORT, 8));
        assert_eq!(dark.elements, [129, 0, 0, 0, 255, 255, 0, 0]);
        for value in [-0.01, 1.01, f32::NAN, f32::INFINITY] {
            assert!(of(&[[0.5, value, 0.5]]).is_none(), "{value}");
        }
        let worst = (0..=100_000).map(|i| f64::from(i) / 1e5);
        let worst = worst.map(|v| (steps((v * 65_535.0).round() / 65_535.0) - steps(v)).abs());
        assert!(worst.fold(0.0, f64::max) < 0.03);
    }
}
