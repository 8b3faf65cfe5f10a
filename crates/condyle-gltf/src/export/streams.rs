//! The numbers of all animations as streams of `EXT_meshopt_compression`: one for all that have elements of one kind.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::bin::Bin;
use super::numbers::{FLOAT, Numbers, SHORT, Store, signed};
use crate::meshopt::encode;

/// What elements of a stream have in common: their filter, which has no name where it is none, and their length in bytes.
type Kind = (&'static str, usize);

const PLAIN: &str = "";
const EXPONENTIAL: &str = "EXPONENTIAL";
const QUATERNION: &str = "QUATERNION";

#[derive(Debug, Default)]
pub(super) struct Streams {
    /// The elements as their filter is given them.
    elements: BTreeMap<Kind, Vec<u8>>,
    /// Accessors that were added, and in which stream each is.
    accessors: Vec<(usize, Kind)>,
    /// Accessors by what they hold, and of how many numbers each element is.
    known: HashMap<(Kind, Vec<u8>, usize), usize>,
}

/// A stream that is ready to be written.
struct Encoded {
    kind: Kind,
    bytes: Vec<u8>,
    /// Bytes when it is decoded.
    length: usize,
}

impl Streams {
    fn encoded(&self) -> Vec<Encoded> {
        let encode = |(&kind, elements): (&Kind, &Vec<u8>)| Encoded {
            kind,
            bytes: encode::attributes(elements, kind.1),
            length: elements.len(),
        };
        self.elements.iter().map(encode).collect()
    }
}

impl Store for Streams {
    fn add(&mut self, accessors: &mut Vec<Value>, numbers: &Numbers<'_>) -> usize {
        let (kind, component, data) = form(numbers);
        let key = (kind, data, numbers.width());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let elements = self.elements.entry(kind).or_default();
        accessors.push(numbers.accessor(component, elements.len()));
        elements.extend(&key.1);
        let accessor = accessors.len() - 1;
        self.known.insert(key, accessor);
        self.accessors.push((accessor, kind));
        accessor
    }

    fn byte_count(&self) -> usize {
        self.encoded().iter().map(|stream| stream.bytes.len()).sum()
    }

    fn finish(self, accessors: &mut [Value], bin: &mut Bin) {
        let mut views = BTreeMap::new();
        for Encoded { kind, bytes, length } in self.encoded() {
            let (filter, stride) = kind;
            let mut form = Map::new();
            form.insert("byteStride".into(), stride.into());
            form.insert("count".into(), (length / stride).into());
            form.insert("mode".into(), "ATTRIBUTES".into());
            if filter != PLAIN {
                form.insert("filter".into(), filter.into());
            }
            views.insert(kind, bin.add_compressed(form, &bytes, length));
        }
        for (accessor, kind) in self.accessors {
            accessors[accessor]["bufferView"] = views[&kind].into();
        }
    }
}

/// In which stream numbers are, with which component type, and as which bytes before it is encoded.
fn form(numbers: &Numbers<'_>) -> (Kind, u32, Vec<u8>) {
    let (values, of_key) = match *numbers {
        Numbers::Times(times) => (times, 1),
        Numbers::Values(values, width, of_key) => {
            if let (4, 4, Some(rotations)) = (width, of_key, shorts(values)) {
                return match encode::quaternions(&rotations) {
                    Some(data) => ((QUATERNION, 8), SHORT, data),
                    None => {
                        let plain = rotations.as_flattened().iter().flat_map(|v| v.to_le_bytes());
                        ((PLAIN, 8), SHORT, plain.collect())
                    }
                };
            }
            // A key is an element, so that each number is a difference from its own before.
            (values, if of_key <= 64 { of_key } else { width })
        }
    };
    let filtered = match numbers {
        Numbers::Times(_) => None,
        Numbers::Values(..) => encode::exponentials(values, of_key),
    };
    match filtered {
        Some(data) => ((EXPONENTIAL, 4 * of_key), FLOAT, data),
        None => ((PLAIN, 4 * of_key), FLOAT, numbers.to_bytes()),
    }
}

/// As multiples of 1/32767, if they are.
fn shorts(values: &[f32]) -> Option<Vec<[i16; 4]>> {
    let short = |q: &[f32; 4]| Some([signed(q[0])?, signed(q[1])?, signed(q[2])?, signed(q[3])?]);
    values.as_chunks::<4>().0.iter().map(short).collect()
}
