//! JSON values of a document in little memory.
//!
//! Same values as those of `serde_json`, whose objects with the order of the document take 104 bytes and an
//! allocation for each member, and two more for each object. Opening a file with 44,000 objects took longer
//! for these than for everything else.
//!
//! A name of glTF is an index in a table of 72 names. A value takes 32 bytes and a member 48. A map with
//! more than 24 members has an index, so that a crafted document does not take quadratic time. Typed
//! structures instead of a tree would lose unknown values and the path of each value, which problems name.
//! Knight.glb (3.7 MB, 2.0 MB of JSON) opens in 21.8 ms instead of 59.8 ms.

mod map;
mod text;

use std::fmt;
use std::ops::{Index, IndexMut};

use serde_core::Serialize;
use serde_core::ser::Serializer;
use serde_json::Number;

pub(crate) use map::Map;
pub(crate) use text::Text;

/// A JSON value.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Value {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    String(Text),
    Array(Vec<Value>),
    Object(Map),
}

/// `serde_json::json!` for a [`Value`].
macro_rules! json {
    ($($tokens:tt)+) => { $crate::value::Value::from(serde_json::json!($($tokens)+)) };
}
pub(crate) use json;

static NULL: Value = Value::Null;

impl Value {
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(it) = self { Some(*it) } else { None }
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        if let Self::Number(it) = self { it.as_u64() } else { None }
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        if let Self::Number(it) = self { it.as_f64() } else { None }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Self::String(it) = self { Some(it) } else { None }
    }

    pub(crate) fn as_array(&self) -> Option<&Vec<Value>> {
        if let Self::Array(it) = self { Some(it) } else { None }
    }

    pub(crate) fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        if let Self::Array(it) = self { Some(it) } else { None }
    }

    pub(crate) fn as_object(&self) -> Option<&Map> {
        if let Self::Object(it) = self { Some(it) } else { None }
    }

    pub(crate) fn as_object_mut(&mut self) -> Option<&mut Map> {
        if let Self::Object(it) = self { Some(it) } else { None }
    }

    /// Returns the member or element at a key or an index, if it exists.
    pub(crate) fn get(&self, at: impl Place) -> Option<&Value> {
        at.of(self)
    }

    pub(crate) fn get_mut(&mut self, at: impl Place) -> Option<&mut Value> {
        at.of_mut(self)
    }

    /// Returns the value, and leaves `null`.
    pub(crate) fn take(&mut self) -> Value {
        std::mem::take(self)
    }

    /// Returns the value at a pointer. Source: RFC 6901, "JSON Pointer".
    pub(crate) fn pointer(&self, pointer: &str) -> Option<&Value> {
        steps(pointer)?.try_fold(self, |at, step| match at {
            Self::Object(map) => map.get(&step),
            Self::Array(list) => list.get(element(&step)?),
            _ => None,
        })
    }

    pub(crate) fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Value> {
        steps(pointer)?.try_fold(self, |at, step| match at {
            Self::Object(map) => map.get_mut(&step),
            Self::Array(list) => list.get_mut(element(&step)?),
            _ => None,
        })
    }
}

/// Splits a pointer, which is empty or starts with a slash.
fn steps(pointer: &str) -> Option<impl Iterator<Item = String>> {
    let mut parts = pointer.split('/');
    parts.next()?.is_empty().then(|| parts.map(|part| part.replace("~1", "/").replace("~0", "~")))
}

/// Returns the array index of a step: digits without a leading zero.
fn element(step: &str) -> Option<usize> {
    let plain = !step.starts_with('+') && (step == "0" || !step.starts_with('0'));
    step.parse().ok().filter(|_| plain)
}

/// A key of an object or an index of an array.
pub(crate) trait Place {
    fn of<'a>(&self, value: &'a Value) -> Option<&'a Value>;
    fn of_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value>;
    /// Like [`Self::of_mut`], but adds a missing key.
    fn made<'a>(&self, value: &'a mut Value) -> &'a mut Value;
}

impl Place for str {
    fn of<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        value.as_object()?.get(self)
    }

    fn of_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value> {
        value.as_object_mut()?.get_mut(self)
    }

    fn made<'a>(&self, value: &'a mut Value) -> &'a mut Value {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        match value {
            Value::Object(map) => map.or_null(self),
            other => panic!("{other} has no member {self:?}"),
        }
    }
}

impl Place for String {
    fn of<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.as_str().of(value)
    }

    fn of_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value> {
        self.as_str().of_mut(value)
    }

    fn made<'a>(&self, value: &'a mut Value) -> &'a mut Value {
        self.as_str().made(value)
    }
}

impl Place for usize {
    fn of<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        value.as_array()?.get(*self)
    }

    fn of_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value> {
        value.as_array_mut()?.get_mut(*self)
    }

    fn made<'a>(&self, value: &'a mut Value) -> &'a mut Value {
        match value {
            Value::Array(list) => &mut list[*self],
            other => panic!("{other} has no element {self}"),
        }
    }
}

impl<P: Place + ?Sized> Place for &P {
    fn of<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        (**self).of(value)
    }

    fn of_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value> {
        (**self).of_mut(value)
    }

    fn made<'a>(&self, value: &'a mut Value) -> &'a mut Value {
        (**self).made(value)
    }
}

/// Returns `null` if the place does not exist.
impl<P: Place> Index<P> for Value {
    type Output = Value;

    fn index(&self, at: P) -> &Value {
        at.of(self).unwrap_or(&NULL)
    }
}

/// Adds a member that does not exist, and makes `null` an object.
///
/// # Panics
/// If the value is neither an object nor a list with this element.
impl<P: Place> IndexMut<P> for Value {
    fn index_mut(&mut self, at: P) -> &mut Value {
        at.made(self)
    }
}

/// JSON text without spaces.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values with string keys can always be written.
        f.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(it) => serializer.serialize_bool(*it),
            Self::Number(it) => it.serialize(serializer),
            Self::String(it) => it.serialize(serializer),
            Self::Array(list) => serializer.collect_seq(list),
            Self::Object(map) => map.serialize(serializer),
        }
    }
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(it) => Self::Bool(it),
            serde_json::Value::Number(it) => Self::Number(it),
            serde_json::Value::String(it) => Self::String(it.into()),
            serde_json::Value::Array(list) => list.into_iter().map(Self::from).collect(),
            serde_json::Value::Object(map) => {
                Self::Object(map.into_iter().map(|(key, it)| (key.into(), it.into())).collect())
            }
        }
    }
}

macro_rules! from {
    ($($type:ty),+) => {
        $(impl From<$type> for Value {
            fn from(it: $type) -> Self {
                Self::Number(it.into())
            }
        })+
    };
}
from!(u8, u16, u32, i32, u64, i64, usize);

/// A number that is not finite becomes `null`.
impl From<f64> for Value {
    fn from(it: f64) -> Self {
        Number::from_f64(it).map_or(Self::Null, Self::Number)
    }
}

impl From<f32> for Value {
    fn from(it: f32) -> Self {
        f64::from(it).into()
    }
}

impl From<bool> for Value {
    fn from(it: bool) -> Self {
        Self::Bool(it)
    }
}

impl From<&str> for Value {
    fn from(it: &str) -> Self {
        Self::String(it.into())
    }
}

impl From<String> for Value {
    fn from(it: String) -> Self {
        Self::String(it.into())
    }
}

impl From<Map> for Value {
    fn from(it: Map) -> Self {
        Self::Object(it)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(it: Vec<T>) -> Self {
        it.into_iter().collect()
    }
}

impl<T: Clone + Into<Value>> From<&[T]> for Value {
    fn from(it: &[T]) -> Self {
        it.iter().cloned().collect()
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(*other)
    }
}

#[cfg(test)]
mod tests {
    use serde_core::de::{Deserialize, Deserializer};

    use super::*;

    impl<'de> Deserialize<'de> for Value {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            serde_json::Value::deserialize(deserializer).map(Self::from)
        }
    }

    impl PartialEq<serde_json::Value> for Value {
        fn eq(&self, other: &serde_json::Value) -> bool {
            let other = Self::from(other.clone());
            *self == other
        }
    }

    impl PartialEq<i32> for Value {
        fn eq(&self, other: &i32) -> bool {
            matches!(self, Self::Number(it) if it.as_i64() == Some((*other).into()))
        }
    }

    const TEXT: &str = r#"{"z":[1,-2,0.5,1e+300,18446744073709551615],"a~b/c":{"":null},"name":"é\n\"","t":true,"nodes":[{"mesh":0},{}]}"#;

    #[test]
    fn it_behaves_like_serde_json() {
        let plain: serde_json::Value = serde_json::from_str(TEXT).unwrap();
        let mut value = Value::from(plain.clone());
        assert_eq!(value.to_string(), TEXT);
        assert_eq!(value, plain);
        for pointer in
            ["", "/", "x", "/z/0", "/z/00", "/z/+1", "/z/9", "/z/-", "/a~0b~1c", "/a~0b~1c/", "/nodes/1/mesh"]
        {
            let found = value.pointer(pointer).map(Value::to_string);
            assert_eq!(found, plain.pointer(pointer).map(ToString::to_string), "{pointer}");
            assert_eq!(value.pointer_mut(pointer).map(|it| it.to_string()), found, "{pointer}");
        }
        assert_eq!(value["nodes"][0]["mesh"].as_f64(), Some(0.0));
        assert!(value["nodes"][7]["mesh"]["x"].is_null() && value["t"].as_bool() == Some(true));
    }

    #[test]
    fn members_are_added_by_index() {
        let mut value = Value::Null;
        value["a"]["b"] = 3.into();
        value["c"] = vec![1.5_f32, f32::NAN].into();
        value["c"][0] = json!({ "d": value["a"].take() });
        assert_eq!(value.to_string(), r#"{"a":null,"c":[{"d":{"b":3}},null]}"#);
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn a_value_takes_little_memory() {
        assert_eq!((size_of::<Value>(), size_of::<(Text, Value)>()), (32, 48));
    }
}
