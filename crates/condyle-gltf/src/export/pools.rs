//! The numbers of all animations in few views, as 16-bit integers where these hold them exactly.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::bin::Bin;
use super::clips::Numbers;

/// Component types of glTF.
pub(super) const SHORT: u32 = 5122;
const UNSIGNED_SHORT: u32 = 5123;
pub(super) const FLOAT: u32 = 5126;

/// What a view holds: key times, 16-bit integers, or floats. Accessors begin at multiples of their component, views of four.
#[derive(Debug, Default)]
pub(super) struct Pools {
    views: [Pool; 3],
    /// Accessors that were added, and in which pool each is.
    accessors: Vec<(usize, usize)>,
}

#[derive(Debug, Default)]
struct Pool {
    bytes: Vec<u8>,
    /// Accessors by what they hold, and of how many numbers each element is.
    known: HashMap<(Vec<u8>, usize, u32), usize>,
}

impl Pools {
    /// The accessor with these numbers.
    pub(super) fn add(&mut self, accessors: &mut Vec<Value>, numbers: &Numbers<'_>) -> usize {
        let (at, values, width) = match *numbers {
            Numbers::Times(times) => (0, times, 1),
            Numbers::Values(values, width, _) => (2, values, width),
        };
        let floats = || (FLOAT, values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
        let (component, data) = match at {
            0 => floats(),
            _ if width == 3 => floats(),
            _ => shorts(values).unwrap_or_else(floats),
        };
        let at = if component == FLOAT { at } else { 1 };
        let pool = &mut self.views[at];
        let key = (data, width, component);
        if let Some(&known) = pool.known.get(&key) {
            return known;
        }
        let accessor = described(numbers, component, pool.bytes.len());
        pool.bytes.extend(&key.0);
        accessors.push(accessor);
        let accessor = accessors.len() - 1;
        pool.known.insert(key, accessor);
        self.accessors.push((accessor, at));
        accessor
    }

    /// Appends the views.
    pub(super) fn finish(self, accessors: &mut [Value], bin: &mut Bin) {
        let views = self.views.map(|pool| match pool.bytes.is_empty() {
            true => None,
            false => Some(bin.add_view(Map::new(), &pool.bytes)),
        });
        for (accessor, pool) in self.accessors {
            accessors[accessor]["bufferView"] = views[pool].unwrap_or_default().into();
        }
    }
}

/// The accessor of numbers that begin at an offset of their view, whose index is not known yet.
pub(super) fn described(numbers: &Numbers<'_>, component: u32, offset: usize) -> Value {
    let (values, width) = match *numbers {
        Numbers::Times(times) => (times, 1),
        Numbers::Values(values, width, _) => (values, width),
    };
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
    if let (Numbers::Times(_), Some(&first), Some(&last)) = (numbers, values.first(), values.last()) {
        accessor["min"] = [first].as_slice().into();
        accessor["max"] = [last].as_slice().into();
    }
    accessor
}

/// As normalised integers, if they give the same numbers back.
fn shorts(values: &[f32]) -> Option<(u32, Vec<u8>)> {
    let signed = |v: f32| {
        let steps = (f64::from(v) * 32767.0).round().clamp(-32767.0, 32767.0) as i16;
        ((f32::from(steps) / 32767.0).max(-1.0) == v).then_some(steps)
    };
    let unsigned = |v: f32| {
        let steps = (f64::from(v) * 65535.0).round().clamp(0.0, 65535.0) as u16;
        (f32::from(steps) / 65535.0 == v).then_some(steps)
    };
    let all: Option<Vec<[u8; 2]>> = values.iter().map(|&v| signed(v).map(i16::to_le_bytes)).collect();
    if let Some(all) = all {
        return Some((SHORT, all.into_flattened()));
    }
    let all: Option<Vec<[u8; 2]>> = values.iter().map(|&v| unsigned(v).map(u16::to_le_bytes)).collect();
    all.map(|all| (UNSIGNED_SHORT, all.into_flattened()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_where_they_are_exact() {
        let rotation = [0.0, -1.0, 1.0, 12345.0 / 32767.0];
        let (component, bytes) = shorts(&rotation).unwrap();
        assert_eq!((component, &bytes[..4]), (SHORT, &[0, 0, 1, 128][..]));
        let weights = [0.0, 1.0, 7.0 / 65535.0];
        assert_eq!(shorts(&weights).map(|it| it.0), Some(UNSIGNED_SHORT));
        for other in [0.5, 1.5, -7.0 / 65535.0, f32::MIN_POSITIVE, -1.1] {
            assert_eq!(shorts(&[other, 7.0 / 65535.0]), None, "{other}");
        }
        // What is equal is stored once, what is not beside it.
        let (mut pools, mut accessors) = (Pools::default(), Vec::new());
        let mut add = |numbers| pools.add(&mut accessors, &numbers);
        let found = [
            add(Numbers::Times(&[0.0, 1.0])),
            add(Numbers::Values(&rotation, 4, 4)),
            add(Numbers::Values(&weights, 1, 1)),
            add(Numbers::Times(&[0.0, 1.0])),
            add(Numbers::Values(&rotation, 4, 4)),
            add(Numbers::Values(&[0.3; 6], 3, 3)),
            add(Numbers::Values(&[0.3; 6], 1, 1)),
        ];
        assert_eq!(found, [0, 1, 2, 0, 1, 3, 4]);
        assert_eq!((&accessors[2]["byteOffset"], &accessors[0]["max"]), (&json!(8), &json!([1.0])));
    }
}
