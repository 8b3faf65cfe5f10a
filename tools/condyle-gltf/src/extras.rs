//! Keeps the values of `extras`, which belong to the application, as JSON text.
//!
//! As parsed values, a list of zeros would take sixteen times the size of its text. Posing and exporting an
//! asset makes several copies. In a tree made by [`parse`], each `extras` value is a string with the
//! document's JSON text.

use std::fmt;

use serde_core::Serialize;
use serde_core::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_core::ser::Serializer;
use serde_json::Error;
use serde_json::value::RawValue;

use crate::value::{Map, Text, Value};

const KEY: &str = "extras";

/// Parses a document's JSON to a tree.
pub(crate) fn parse(text: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(text).map(|Tree(value)| value)
}

/// Returns the tree that [`parse`] returns for the value's text, without the text.
pub(crate) fn from_json(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::Array(list) => list.into_iter().map(from_json).collect(),
        serde_json::Value::Object(map) => {
            let members = map.into_iter().map(|(key, value)| {
                let value = if key == KEY { value.to_string().into() } else { from_json(value) };
                (key.into(), value)
            });
            Value::Object(members.collect())
        }
        // The parser rounds one of nine such numbers to a neighbour of the printed number. A file made from
        // this tree has the same digits as one made from the text.
        serde_json::Value::Number(number) if number.is_f64() => {
            serde_json::from_str(&number.to_string()).map_or(Value::Number(number), Value::Number)
        }
        plain => plain.into(),
    }
}

/// Returns a tree made by [`parse`], or a part of one, as text.
pub(crate) fn to_text(value: &Value) -> String {
    // A tree of values with string keys can always be written.
    serde_json::to_string(&Written(value)).unwrap_or_default()
}

/// Returns the value at a pointer as text. Source: RFC 6901, "JSON Pointer".
pub(crate) fn text_at(root: &Value, pointer: &str) -> Option<String> {
    let mut parts = pointer.split('/');
    // A pointer is empty, or starts with a slash.
    if !parts.next()?.is_empty() {
        return None;
    }
    let mut at = root;
    while let Some(part) = parts.next() {
        let key = part.replace("~1", "/").replace("~0", "~");
        let is_extras = at.is_object() && key == KEY;
        at = match at {
            Value::Object(map) => map.get(&key)?,
            // serde_json parses the array index of this step.
            Value::Array(_) => at.pointer(&format!("/{part}"))?,
            _ => return None,
        };
        if let (true, Value::String(text)) = (is_extras, at) {
            let rest: String = parts.map(|part| format!("/{part}")).collect();
            if rest.is_empty() {
                return Some(text.to_string());
            }
            return serde_json::from_str::<serde_json::Value>(text)
                .ok()?
                .pointer(&rest)
                .map(ToString::to_string);
        }
    }
    Some(to_text(at))
}

/// Removes a member from the extras of an object.
pub(crate) fn remove_member(owner: &mut Map, member: &str) {
    let Some(Value::String(text)) = owner.get_mut(KEY) else { return };
    if !text.contains(member) {
        return;
    }
    if let Ok(serde_json::Value::Object(mut map)) = serde_json::from_str(text)
        && map.remove(member).is_some()
    {
        *text = serde_json::Value::Object(map).to_string().into();
    }
}

struct Tree(Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Grow).map(Self)
    }
}

struct Grow;

impl<'de> Visitor<'de> for Grow {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Tree(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<Text>()? {
            let value = if key == KEY {
                members.next_value::<&RawValue>()?.get().into()
            } else {
                members.next_value::<Tree>()?.0
            };
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

struct Written<'a>(&'a Value);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(list) => serializer.collect_seq(list.iter().map(Written)),
            Value::Object(map) => serializer.collect_map(map.iter().map(|(key, value)| {
                let raw = match value {
                    Value::String(text) if key == KEY => serde_json::from_str(text).ok(),
                    _ => None,
                };
                (key, Member { value, raw })
            })),
            plain => plain.serialize(serializer),
        }
    }
}

struct Member<'a> {
    value: &'a Value,
    raw: Option<&'a RawValue>,
}

impl Serialize for Member<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.raw {
            Some(raw) => raw.serialize(serializer),
            None => Written(self.value).serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::Random;

    const TEXT: &str = r#"{"extras":"a string","nodes":[{"extras":{"b/c":[1, 2.50],"extras":"d"},"name":"é\n"},{"extras":null}],"x":[-1,1e3,true,null,18446744073709551615],"extr\u0061s ":{}}"#;

    #[test]
    fn what_comes_in_goes_out() {
        let tree = parse(TEXT.as_bytes()).unwrap();
        let plain: Value = serde_json::from_str(TEXT).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&to_text(&tree)).unwrap(), plain);
        // Numbers keep all their digits.
        assert!(to_text(&tree).contains("[1, 2.50]"));
        assert_eq!(tree["nodes"][1]["extras"], "null");
        let bare = br#"[1, {"a": "extras"}, "extras"]"#;
        assert_eq!(parse(bare).unwrap(), serde_json::from_slice::<Value>(bare).unwrap());
    }

    #[test]
    fn a_tree_made_in_memory_equals_its_text() {
        let mut random = Random(5);
        let numbers: Vec<f32> = (0..1000).map(|_| random.range(-3.0, 3.0)).collect();
        let json = serde_json::json!({
            "numbers": numbers, "others": [0, -1, u64::MAX, 1.0, -0.0, 1e-300, 0.1, null, true, "a\"\n\u{e9}"],
            "nodes": [{"extras": {"extras": [0.1, {}]}, "name": "x"}, {"extras": [1.0]}, {}], "extras": null
        });
        let tree = from_json(json.clone());
        assert_eq!(tree, parse(json.to_string().as_bytes()).unwrap());
        assert_eq!(to_text(&tree), to_text(&parse(json.to_string().as_bytes()).unwrap()));
    }

    #[test]
    fn pointers_lead_into_it() {
        let tree = parse(TEXT.as_bytes()).unwrap();
        for (pointer, want) in [
            ("/extras", Some(r#""a string""#)),
            ("/extras/a", None),
            ("/nodes/0/extras", Some(r#"{"b/c":[1, 2.50],"extras":"d"}"#)),
            ("/nodes/0/extras/b~1c/1", Some("2.5")),
            ("/nodes/0/extras/extras", Some(r#""d""#)),
            ("/nodes/0/extras/b~1c/2", None),
            ("/nodes/01", None),
            ("/nodes/0/name/0", None),
            ("/nodes/1", Some(r#"{"extras":null}"#)),
            ("nodes", None),
            ("/x/4", Some("18446744073709551615")),
        ] {
            assert_eq!(text_at(&tree, pointer).as_deref(), want, "{pointer}");
        }
        assert_eq!(text_at(&tree, ""), Some(to_text(&tree)));
    }

    #[test]
    fn broken_extras_break_the_document() {
        for text in [
            "{\"extras\":[1,}",
            "{\"extras\":nul}",
            "{\"extras\":\"\u{1}\"}",
            "{\"extras\"}",
            "{\"extras\":1",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"{\"extras\":\"\xff\"}").is_err());
    }

    #[test]
    fn a_member_is_taken_out() {
        for (extras, left) in [
            (r#"{"a":1,"targetNames":["x"],"b":2}"#, r#"{"a":1,"b":2}"#),
            (r#"{"a":{"targetNames":[]}}"#, r#"{"a":{"targetNames":[]}}"#),
            (r#""targetNames""#, r#""targetNames""#),
        ] {
            let mut tree = parse(format!("{{\"extras\":{extras}}}").as_bytes()).unwrap();
            remove_member(tree.as_object_mut().unwrap(), "targetNames");
            let found: Value = serde_json::from_str(&text_at(&tree, "/extras").unwrap()).unwrap();
            assert_eq!(found, serde_json::from_str::<Value>(left).unwrap(), "{extras}");
        }
    }
}
