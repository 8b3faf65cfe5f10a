//! Strings of a document. The names of glTF take no allocation.

use std::fmt;
use std::ops::Deref;

use serde_core::Serialize;
use serde_core::de::{Deserialize, Deserializer, Error, Visitor};
use serde_core::ser::Serializer;

/// A string of a document: a key, or a value.
///
/// A file with 9,000 accessors has 180,000 keys, of which 20 differ. A name in [`NAMES`] is stored as its
/// index. A known name is always stored so, which makes two texts equal exactly if their fields are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Text {
    Known(u8),
    Own(Box<str>),
}

/// Names that large documents repeat: properties, types, paths and modes.
const NAMES: [&str; 72] = [
    "accessors",
    "animations",
    "attributes",
    "baseColorFactor",
    "baseColorTexture",
    "buffer",
    "buffers",
    "bufferView",
    "bufferViews",
    "byteLength",
    "byteOffset",
    "byteStride",
    "channels",
    "children",
    "COLOR_0",
    "componentType",
    "count",
    "CUBICSPLINE",
    "EXT_meshopt_compression",
    "extensions",
    "extras",
    "filter",
    "images",
    "index",
    "indices",
    "input",
    "interpolation",
    "inverseBindMatrices",
    "JOINTS_0",
    "joints",
    "LINEAR",
    "MAT4",
    "material",
    "materials",
    "matrix",
    "max",
    "mesh",
    "meshes",
    "metallicFactor",
    "min",
    "mode",
    "name",
    "node",
    "nodes",
    "NORMAL",
    "normalized",
    "output",
    "path",
    "pbrMetallicRoughness",
    "POSITION",
    "primitives",
    "rotation",
    "roughnessFactor",
    "sampler",
    "samplers",
    "SCALAR",
    "scale",
    "skin",
    "sparse",
    "STEP",
    "TANGENT",
    "target",
    "targets",
    "TEXCOORD_0",
    "translation",
    "type",
    "uri",
    "values",
    "VEC3",
    "VEC4",
    "WEIGHTS_0",
    "weights",
];

/// Slots of the hash table: enough for few collisions.
const SLOTS: usize = 512;
const FREE: u8 = u8::MAX;

/// Hash table over [`NAMES`] with linear probing.
static TABLE: [u8; SLOTS] = {
    let mut table = [FREE; SLOTS];
    let mut name = 0;
    while name < NAMES.len() {
        let mut slot = slot(NAMES[name].as_bytes());
        while table[slot] != FREE {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = name as u8;
        name += 1;
    }
    table
};

/// First slot of a name: from its length, its first two bytes and its last byte.
const fn slot(name: &[u8]) -> usize {
    let length = name.len();
    if length < 2 {
        return 0;
    }
    let mixed = (name[0] as usize * 31 + name[1] as usize * 7) ^ (name[length - 1] as usize * 13);
    (mixed + length * 61) % SLOTS
}

/// Returns the index of a known name.
fn known(text: &str) -> Option<u8> {
    let mut slot = slot(text.as_bytes());
    loop {
        match TABLE[slot] {
            FREE => return None,
            name if NAMES[usize::from(name)] == text => return Some(name),
            _ => slot = (slot + 1) % SLOTS,
        }
    }
}

/// A string to search for. It is looked up in [`NAMES`] once, not for each comparison.
#[derive(Clone, Copy)]
pub(super) enum Sought<'a> {
    Known(u8),
    Other(&'a str),
}

impl<'a> Sought<'a> {
    #[inline]
    pub(super) fn new(text: &'a str) -> Self {
        known(text).map_or(Self::Other(text), Self::Known)
    }

    #[inline]
    pub(super) fn is(self, text: &Text) -> bool {
        match (self, text) {
            (Self::Known(a), Text::Known(b)) => a == *b,
            (Self::Other(a), Text::Own(b)) => *a == **b,
            _ => false,
        }
    }
}

impl Text {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Known(name) => NAMES[usize::from(*name)],
            Self::Own(text) => text,
        }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        known(text).map_or_else(|| Self::Own(text.into()), Self::Known)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        known(&text).map_or_else(|| Self::Own(text.into()), Self::Known)
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(text.into())
            }
        }
        deserializer.deserialize_str(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_found_and_no_other() {
        for (index, name) in NAMES.into_iter().enumerate() {
            assert!(matches!(Text::from(name), Text::Known(it) if usize::from(it) == index), "{name}");
            assert_eq!(Text::from(name), *name);
            assert_eq!(Text::from(name), Text::from(name.to_string()));
            let longer = format!("{name}x");
            assert!(matches!(Text::from(longer.as_str()), Text::Own(_)), "{longer}");
            assert!(Sought::new(name).is(&Text::from(name)) && !Sought::new(&longer).is(&Text::from(name)));
        }
        assert_eq!(Text::from(""), *"");
        assert_eq!(Text::from("é\n").as_str(), "é\n");
    }
}
