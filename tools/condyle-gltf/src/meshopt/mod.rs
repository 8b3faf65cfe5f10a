//! Buffer views compressed by `EXT_meshopt_compression` or `KHR_meshopt_compression`.
//!
//! Implemented from the text of the two extensions. The first equals the second without version 1 of the
//! attribute stream and without the colour filter. Every read is checked, and the output size is bounded by
//! the input.

mod attributes;
pub(crate) mod encode;
pub(crate) mod filters;
mod indices;
pub(crate) mod triangles;
pub(crate) mod versioned;

use crate::json::Json;
use crate::problem::{Problems, quoted};

/// Names of the extensions that can compress a buffer view.
pub(crate) const EXTENSIONS: [&str; 2] = ["KHR_meshopt_compression", "EXT_meshopt_compression"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Attributes,
    Triangles,
    Indices,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filter {
    None,
    Octahedral,
    Quaternion,
    Exponential,
    Color,
}

/// The layout of a stream, from the extension object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Number of elements or indices.
    pub(crate) count: usize,
    /// Bytes per element or index.
    pub(crate) stride: usize,
    mode: Mode,
    filter: Filter,
}

impl Layout {
    pub(crate) fn read(extension: &Json<'_>, problems: &mut Problems) -> Option<Self> {
        let count = extension.require("count", problems)?.whole(problems)?;
        let stride = extension.require("byteStride", problems)?.whole(problems)?;
        let mode = match extension.require("mode", problems)?.text(problems)? {
            "ATTRIBUTES" => Mode::Attributes,
            "TRIANGLES" => Mode::Triangles,
            "INDICES" => Mode::Indices,
            other => {
                let what = format!("is {}, expected ATTRIBUTES, TRIANGLES or INDICES", quoted(other));
                problems.error(extension.path.child("mode"), what);
                return None;
            }
        };
        let filter = match extension.text_of("filter", problems).unwrap_or("NONE") {
            "NONE" => Filter::None,
            "OCTAHEDRAL" => Filter::Octahedral,
            "QUATERNION" => Filter::Quaternion,
            "EXPONENTIAL" => Filter::Exponential,
            "COLOR" => Filter::Color,
            other => {
                let what = format!(
                    "is {}, expected NONE, OCTAHEDRAL, QUATERNION, EXPONENTIAL or COLOR",
                    quoted(other)
                );
                problems.error(extension.path.child("filter"), what);
                return None;
            }
        };
        let stride_fits = match (mode, filter) {
            (Mode::Attributes, Filter::None | Filter::Exponential) => {
                stride % 4 == 0 && (4..=256).contains(&stride)
            }
            (Mode::Attributes, Filter::Octahedral | Filter::Color) => stride == 4 || stride == 8,
            (Mode::Attributes, Filter::Quaternion) => stride == 8,
            (Mode::Triangles | Mode::Indices, Filter::None) => stride == 2 || stride == 4,
            (Mode::Triangles | Mode::Indices, _) => false,
        };
        if !stride_fits {
            let what =
                format!("the mode {mode:?} with the filter {filter:?} does not allow a stride of {stride}");
            problems.error(&extension.path, what);
            return None;
        }
        if mode == Mode::Triangles && count % 3 != 0 {
            problems.error(&extension.path, format!("{count} indices do not make whole triangles"));
            return None;
        }
        if count.checked_mul(stride).is_none() {
            problems.error(&extension.path, format!("{count} elements of {stride} bytes are too many"));
            return None;
        }
        Some(Self { count, stride, mode, filter })
    }

    /// Returns the size after decoding in bytes.
    pub(crate) fn byte_count(&self) -> usize {
        self.count * self.stride
    }
}

/// Decodes a stream to the bytes of the buffer view. The error describes the problem of the stream.
pub(crate) fn decode(source: &[u8], layout: &Layout) -> Result<Vec<u8>, String> {
    let mut bytes = match layout.mode {
        Mode::Attributes => attributes::decode(source, layout.count, layout.stride),
        Mode::Triangles => indices::decode_triangles(source, layout.count, layout.stride),
        Mode::Indices => indices::decode_indices(source, layout.count, layout.stride),
    }?;
    let wide = layout.stride == 8;
    match layout.filter {
        Filter::None => {}
        Filter::Octahedral if wide => filters::octahedral_16(&mut bytes),
        Filter::Octahedral => filters::octahedral_8(&mut bytes),
        Filter::Quaternion => filters::quaternion(&mut bytes),
        Filter::Exponential => filters::exponential(&mut bytes),
        Filter::Color if wide => filters::color_16(&mut bytes),
        Filter::Color => filters::color_8(&mut bytes),
    }
    Ok(bytes)
}

/// Encodes any bytes as vertices and as triangles, and asserts that the streams decode to the same. For the
/// fuzz target, which has no other access to the encoders.
///
/// # Panics
/// If a stream decodes to something else.
#[doc(hidden)]
pub fn assert_encoders(bytes: &[u8]) {
    let (Some(&first), data) = (bytes.first(), bytes.get(1..).unwrap_or_default()) else { return };
    let stride = 4 * (1 + usize::from(first) % 64);
    let elements = &data[..data.len() / stride * stride];
    let count = elements.len() / stride;
    for stream in [encode::attributes(elements, stride), versioned::attributes(elements, stride)] {
        assert_eq!(
            attributes::decode(&stream, count, stride).as_deref(),
            Ok(elements),
            "{count} of {stride}"
        );
    }
    // Small numbers share edges, large ones do not.
    let corner = |b: &[u8; 2]| u32::from(u16::from_le_bytes(*b)) >> (first % 16);
    let corners: Vec<u32> = data.as_chunks::<2>().0.iter().map(corner).collect();
    let list = corners.as_chunks::<3>().0;
    let rotated = |[a, b, c]: [u32; 3]| [[a, b, c], [b, c, a], [c, a, b]].into_iter().min();
    let stream = triangles::triangles([list]);
    let back = indices::decode_triangles(&stream, 3 * list.len(), 4).unwrap_or_default();
    let back: Vec<u32> = back.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let back = back.as_chunks::<3>().0;
    assert!(back.iter().map(|&it| rotated(it)).eq(list.iter().map(|&it| rotated(it))), "{list:?}");
}

/// The remaining bytes of a stream, read from the front.
struct Reader<'a>(&'a [u8]);

const ENDS_EARLY: &str = "the compressed stream ends too early";

impl<'a> Reader<'a> {
    /// Splits a stream into the bytes between its header byte and its tail, and the tail of `tail` bytes.
    fn open(source: &'a [u8], tail: usize) -> Result<(Self, &'a [u8]), String> {
        let body = source.get(1..).unwrap_or_default();
        let split = body.len().checked_sub(tail).ok_or(ENDS_EARLY)?;
        let (body, tail) = body.split_at(split);
        Ok((Self(body), tail))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (front, rest) = self.0.split_at_checked(count).ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(front)
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    /// Reads an unsigned LEB128 number of at most five bytes; bits above the 32nd are dropped.
    fn varint(&mut self) -> Result<u32, String> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("an index in the compressed stream takes more than five bytes".into())
    }

    fn finish(&self) -> Result<(), String> {
        match self.0.len() {
            0 => Ok(()),
            left => Err(format!("{left} bytes of the compressed stream are left over")),
        }
    }
}

fn check_header(source: &[u8], expected: u8) -> Result<(), String> {
    match source.first() {
        Some(&byte) if byte == expected => Ok(()),
        Some(byte) => Err(format!("the compressed stream begins with {byte:#04x}, expected {expected:#04x}")),
        None => Err(ENDS_EARLY.into()),
    }
}

/// Maps `0, 1, 2, 3, ...` to `0, -1, 1, -2, ...`, in wrapping arithmetic.
fn unzigzag(v: u32) -> u32 {
    (v >> 1) ^ (v & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_come_back_from_both_encoders() {
        let mut state = 11_u32;
        for length in (0..200).chain([1000, 4097, 30_000]) {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            let range = [1, 3, 16, 255][length % 4];
            let bytes: Vec<u8> =
                (0..length).map(|at| if at == 0 { next() } else { next() % range }).collect();
            assert_encoders(&bytes);
        }
    }
    use crate::value::{Value, json};
    use base64::prelude::{BASE64_STANDARD, Engine};

    /// Returns `(name, layout, encoded, decoded)` of each case made by `tests/data/meshopt.mjs`.
    fn cases() -> Vec<(String, Layout, Vec<u8>, Vec<u8>)> {
        let list: Value = serde_json::from_str(include_str!("../../tests/data/meshopt.json")).unwrap();
        let bytes = |v: &Value| BASE64_STANDARD.decode(v.as_str().unwrap()).unwrap();
        let case = |case: &Value| {
            let mut json = case.clone();
            json["byteStride"] = case["stride"].clone();
            let layout = Layout::read(&Json::root(&json), &mut Problems::new(0)).unwrap();
            (case["name"].as_str().unwrap().into(), layout, bytes(&case["encoded"]), bytes(&case["decoded"]))
        };
        list.as_array().unwrap().iter().map(case).collect()
    }

    /// Compares decoded bytes. Integers can differ by one, as the specification allows; all other values are
    /// exact.
    fn assert_same(name: &str, layout: &Layout, found: &[u8], want: &[u8]) {
        assert_eq!(found.len(), want.len(), "{name}");
        let words = |bytes: &[u8]| -> Vec<i32> {
            match (layout.filter, layout.stride) {
                (Filter::Octahedral, 4) => bytes.iter().map(|&b| i32::from(b as i8)).collect(),
                (Filter::Color, 4) => bytes.iter().map(|&b| b.into()).collect(),
                (Filter::Color, _) => {
                    bytes.as_chunks().0.iter().map(|&b| u16::from_le_bytes(b).into()).collect()
                }
                (Filter::Octahedral | Filter::Quaternion, _) => {
                    bytes.as_chunks().0.iter().map(|&b| i16::from_le_bytes(b).into()).collect()
                }
                _ => bytes.iter().map(|&b| i32::from(b) * 2).collect(),
            }
        };
        for (i, (a, b)) in words(found).into_iter().zip(words(want)).enumerate() {
            assert!((a - b).abs() <= 1, "{name}: number {i} is {a}, not {b}");
        }
    }

    #[test]
    fn streams_of_the_reference_encoder() {
        let cases = cases();
        assert!(cases.len() > 50);
        for (name, layout, encoded, decoded) in cases {
            let found = decode(&encoded, &layout).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_same(&name, &layout, &found, &decoded);
        }
    }

    #[test]
    fn every_truncation_is_refused_and_no_damage_panics() {
        for (name, layout, encoded, _) in cases() {
            for end in (0..encoded.len()).step_by(1 + encoded.len() / 200) {
                // Attribute streams store their first element at the end, so a cut shows only where the
                // deltas run out.
                assert!(
                    decode(&encoded[..end], &layout).is_err(),
                    "{name}: {end} of {} bytes",
                    encoded.len()
                );
            }
            let mut damaged = encoded.clone();
            for at in 0..encoded.len().min(300) {
                damaged[at] ^= 0xff;
                if let Ok(bytes) = decode(&damaged, &layout) {
                    assert_eq!(bytes.len(), layout.byte_count(), "{name}");
                }
                damaged[at] = encoded[at];
            }
        }
    }

    #[test]
    fn layouts_that_make_no_sense_are_refused_with_their_place() {
        let refused = |json: Value| {
            let mut problems = Problems::new(0);
            assert!(Layout::read(&Json::root(&json), &mut problems).is_none(), "{json}");
            assert_eq!(problems.list().len(), 1, "{json}");
            problems.list()[0].place.clone()
        };
        let layout = |mode: &str, filter: &str, stride: u64, count: u64| -> Value {
            json!({"mode": mode, "filter": filter, "byteStride": stride, "count": count})
        };
        assert_eq!(refused(layout("VERTICES", "NONE", 4, 1)), "/mode");
        assert_eq!(refused(layout("ATTRIBUTES", "LOG", 4, 1)), "/filter");
        for (mode, filter, stride, count) in [
            ("ATTRIBUTES", "NONE", 3, 1),
            ("ATTRIBUTES", "NONE", 0, 1),
            ("ATTRIBUTES", "NONE", 260, 1),
            ("ATTRIBUTES", "QUATERNION", 4, 1),
            ("ATTRIBUTES", "OCTAHEDRAL", 12, 1),
            ("TRIANGLES", "NONE", 8, 3),
            ("TRIANGLES", "NONE", 4, 4),
            ("INDICES", "EXPONENTIAL", 4, 4),
            ("ATTRIBUTES", "NONE", 256, u64::MAX),
        ] {
            assert_eq!(refused(layout(mode, filter, stride, count)), "");
        }
        assert_eq!(refused(json!({"mode": "INDICES", "byteStride": 4, "count": "many"})), "/count");
    }
}
