//! Stores the numbers of all animations in three buffer views, as 16-bit integers if that is exact.

use std::collections::HashMap;

use super::bin::Bin;
use super::numbers::{FLOAT, Numbers, SHORT, Store, UNSIGNED_SHORT, signed, unsigned};
use crate::value::{Map, Value};

/// Three views: key times, 16-bit integers and floats. Accessors are aligned to their component size, views
/// to four bytes.
#[derive(Debug, Default)]
pub(super) struct Pools {
    views: [Pool; 3],
    /// Index of each added accessor, and the pool that holds its data.
    accessors: Vec<(usize, usize)>,
}

#[derive(Debug, Default)]
struct Pool {
    bytes: Vec<u8>,
    /// Accessors by their data, their width and their component type.
    known: HashMap<(Vec<u8>, usize, u32), usize>,
}

impl Store for Pools {
    fn add(&mut self, accessors: &mut Vec<Value>, numbers: &Numbers<'_>) -> usize {
        let (component, data) = match numbers {
            Numbers::Values(values, 1 | 4, _) => integers(values),
            _ => None,
        }
        .unwrap_or_else(|| (FLOAT, numbers.to_bytes()));
        let at = match numbers {
            Numbers::Times(_) => 0,
            Numbers::Values(..) if component != FLOAT => 1,
            Numbers::Values(..) => 2,
        };
        let pool = &mut self.views[at];
        let key = (data, numbers.width(), component);
        if let Some(&known) = pool.known.get(&key) {
            return known;
        }
        accessors.push(numbers.accessor(component, pool.bytes.len()));
        pool.bytes.extend(&key.0);
        let accessor = accessors.len() - 1;
        pool.known.insert(key, accessor);
        self.accessors.push((accessor, at));
        accessor
    }

    fn byte_count(&self) -> usize {
        self.views.iter().map(|pool| pool.bytes.len()).sum()
    }

    fn finish(self, accessors: &mut [Value], bin: &mut Bin) {
        let views = self.views.map(|pool| {
            if pool.bytes.is_empty() { None } else { Some(bin.add_view(Map::new(), &pool.bytes)) }
        });
        for (accessor, pool) in self.accessors {
            accessors[accessor]["bufferView"] = views[pool].unwrap_or_default().into();
        }
    }
}

/// Returns the values as normalised 16-bit integers, if these are exact.
fn integers(values: &[f32]) -> Option<(u32, Vec<u8>)> {
    let all: Option<Vec<[u8; 2]>> = values.iter().map(|&v| signed(v).map(i16::to_le_bytes)).collect();
    if let Some(all) = all {
        return Some((SHORT, all.into_flattened()));
    }
    let all: Option<Vec<[u8; 2]>> = values.iter().map(|&v| unsigned(v).map(u16::to_le_bytes)).collect();
    all.map(|all| (UNSIGNED_SHORT, all.into_flattened()))
}

#[cfg(test)]
mod tests {
    use crate::value::json;

    use super::*;

    #[test]
    fn integers_where_they_are_exact() {
        let rotation = [0.0, -1.0, 1.0, 12345.0 / 32767.0];
        let (component, bytes) = integers(&rotation).unwrap();
        assert_eq!((component, &bytes[..4]), (SHORT, &[0, 0, 1, 128][..]));
        let weights = [0.0, 1.0, 7.0 / 65535.0];
        assert_eq!(integers(&weights).map(|it| it.0), Some(UNSIGNED_SHORT));
        for other in [0.5, 1.5, -7.0 / 65535.0, f32::MIN_POSITIVE, -1.1] {
            assert_eq!(integers(&[other, 7.0 / 65535.0]), None, "{other}");
        }
        // Equal data is stored once; different data is appended.
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
