//! Stores the numbers of all animations as streams of `EXT_meshopt_compression`, one stream for each kind of
//! element. A stream that compression would enlarge is stored uncompressed.

use std::collections::{BTreeMap, HashMap};

use super::bin::Bin;
use super::numbers::{FLOAT, Numbers, SHORT, Store, signed};
use super::pools::Pools;
use crate::meshopt::encode;
use crate::value::{Map, Value, json};

/// Element layout of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Kind {
    /// Name of the filter; empty without a filter.
    filter: &'static str,
    /// Bytes per element.
    stride: usize,
}

const PLAIN: &str = "";
const EXPONENTIAL: &str = "EXPONENTIAL";
const QUATERNION: &str = "QUATERNION";

#[derive(Debug, Default)]
pub(super) struct Streams {
    streams: BTreeMap<Kind, Stream>,
    /// Accessors by their stream, their data and their width.
    known: HashMap<(Kind, Vec<u8>, usize), usize>,
}

/// All numbers with elements of one kind.
#[derive(Debug, Default)]
struct Stream {
    /// Elements in the form that the decoder's filter reads.
    elements: Vec<u8>,
    /// Pairs of accessors: the index in the document's list, and the index of the uncompressed accessor in
    /// `plain_accessors`.
    accessors: Vec<[usize; 2]>,
    plain: Pools,
    plain_accessors: Vec<Value>,
}

impl Stream {
    fn compressed(&self, Kind { stride, .. }: Kind) -> Vec<u8> {
        encode::attributes(&self.elements, stride)
    }

    /// Returns the compressed bytes, if they and their description are smaller than the uncompressed bytes.
    fn if_smaller(&self, kind: Kind) -> Option<Vec<u8>> {
        let bytes = self.compressed(kind);
        let description = Value::from(self.view(kind, "EXT_meshopt_compression")).to_string();
        (bytes.len() + description.len() < self.plain.byte_count()).then_some(bytes)
    }

    /// Returns the buffer view of the compressed data.
    fn view(&self, Kind { filter, stride }: Kind, extension: &str) -> Map {
        let count = self.elements.len() / stride;
        let mut form = json!({ "byteStride": stride, "count": count, "mode": "ATTRIBUTES" });
        if filter != PLAIN {
            form["filter"] = filter.into();
        }
        let form = Map::from_iter([(extension.into(), form)]);
        let length = self.elements.len().into();
        Map::from_iter([("byteLength".into(), length), ("extensions".into(), form.into())])
    }
}

impl Store for Streams {
    fn add(&mut self, accessors: &mut Vec<Value>, numbers: &Numbers<'_>) -> usize {
        let (kind, component, data) = form(numbers);
        let key = (kind, data, numbers.width());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let stream = self.streams.entry(kind).or_default();
        accessors.push(numbers.accessor(component, stream.elements.len()));
        stream.elements.extend(&key.1);
        let accessor = accessors.len() - 1;
        self.known.insert(key, accessor);
        let plain = stream.plain.add(&mut stream.plain_accessors, numbers);
        stream.accessors.push([accessor, plain]);
        accessor
    }

    fn byte_count(&self) -> usize {
        let least = |(&kind, stream): (&Kind, &Stream)| {
            stream.if_smaller(kind).map_or_else(|| stream.plain.byte_count(), |bytes| bytes.len())
        };
        self.streams.iter().map(least).sum()
    }

    fn finish(self, accessors: &mut [Value], bin: &mut Bin) {
        let extension = bin.compression();
        for (kind, mut stream) in self.streams {
            if let Some(bytes) = stream.if_smaller(kind) {
                let view = bin.add_compressed(stream.view(kind, extension), extension, &bytes, None);
                stream.accessors.iter().for_each(|&[at, _]| accessors[at]["bufferView"] = view.into());
            } else {
                stream.plain.finish(&mut stream.plain_accessors, bin);
                for [at, plain] in stream.accessors {
                    accessors[at] = stream.plain_accessors[plain].clone();
                }
            }
        }
    }
}

/// Returns the stream of these numbers, their component type, and their bytes before compression.
fn form(numbers: &Numbers<'_>) -> (Kind, u32, Vec<u8>) {
    let (values, of_key) = match *numbers {
        Numbers::Times(times) => (times, 1),
        Numbers::Values(values, width, of_key) => {
            if let (4, 4, Some(rotations)) = (width, of_key, shorts(values)) {
                return match encode::quaternions(&rotations) {
                    Some(data) => (Kind { filter: QUATERNION, stride: 8 }, SHORT, data),
                    None => {
                        let plain = rotations.as_flattened().iter().flat_map(|v| v.to_le_bytes());
                        (Kind { filter: PLAIN, stride: 8 }, SHORT, plain.collect())
                    }
                };
            }
            // Each key is one element, so that each number is coded as a difference from the same number of
            // the previous key.
            (values, if of_key <= 64 { of_key } else { width })
        }
    };
    let filtered = match numbers {
        Numbers::Times(_) => None,
        Numbers::Values(..) => encode::exponentials(values, of_key),
    };
    match filtered {
        Some(data) => (Kind { filter: EXPONENTIAL, stride: 4 * of_key }, FLOAT, data),
        None => (Kind { filter: PLAIN, stride: 4 * of_key }, FLOAT, numbers.to_bytes()),
    }
}

/// Returns the values as multiples of 1/32767, if all of them are.
fn shorts(values: &[f32]) -> Option<Vec<[i16; 4]>> {
    let short = |q: &[f32; 4]| Some([signed(q[0])?, signed(q[1])?, signed(q[2])?, signed(q[3])?]);
    values.as_chunks::<4>().0.iter().map(short).collect()
}
