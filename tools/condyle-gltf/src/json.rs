//! A value of the document with its path, which reports its own errors.

use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;

use crate::problem::{Problems, Severity, quoted};
use crate::value::{Text, Value};

/// A JSON value and the pointer to it.
#[derive(Debug, Clone)]
pub(crate) struct Json<'a> {
    pub(crate) value: &'a Value,
    pub(crate) path: Path<'a>,
}

/// JSON pointer to a value. It is a list of steps, and becomes text only for a problem: a document has many
/// values and few problems.
///
/// The last steps take no allocation, because most values are three steps or less below a list:
/// `/animations/0/channels`, then `7/target/node`.
#[derive(Debug, Clone)]
pub(crate) struct Path<'a> {
    above: Option<Rc<Path<'a>>>,
    last: [Step<'a>; LAST],
    count: u8,
}

/// Maximum number of steps in [`Path::last`].
const LAST: usize = 3;

/// Step from a value to one of its parts.
#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// Pointer to the document.
    pub(crate) const ROOT: Self = Self { above: None, last: [Step::Index(0); LAST], count: 0 };

    /// Pointer to the property `key`, whether it exists or not.
    pub(crate) fn child(&self, key: &'a str) -> Self {
        self.to(Step::Key(key))
    }

    fn to(&self, step: Step<'a>) -> Self {
        let mut path = if usize::from(self.count) < LAST { self.clone() } else { self.shared() };
        path.last[usize::from(path.count)] = step;
        path.count += 1;
        path
    }

    /// Returns the same path with all its steps in memory that its children share.
    fn shared(&self) -> Self {
        match self.count {
            0 => self.clone(),
            _ => Self { above: Some(Rc::new(self.clone())), ..Self::ROOT },
        }
    }

    fn write(&self, out: &mut String) {
        // Long keys are cut, and very long paths end early, because a problem is a line of text.
        const LONGEST_KEY: usize = 60;
        const LONGEST_PATH: usize = 500;
        if let Some(above) = &self.above {
            above.write(out);
        }
        for step in &self.last[..usize::from(self.count)] {
            if out.len() > LONGEST_PATH {
                return;
            }
            out.push('/');
            match step {
                Step::Index(index) => out.push_str(&index.to_string()),
                Step::Key(key) => {
                    let (key, rest) = match key.char_indices().nth(LONGEST_KEY) {
                        Some((end, _)) => (&key[..end], "..."),
                        None => (*key, ""),
                    };
                    // "~" and "/" are escaped in a JSON pointer.
                    out.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    out.push_str(rest);
                }
            }
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from(self))
    }
}

impl From<&Path<'_>> for String {
    fn from(path: &Path<'_>) -> Self {
        let mut out = Self::new();
        path.write(&mut out);
        out
    }
}

impl From<Path<'_>> for String {
    fn from(path: Path<'_>) -> Self {
        Self::from(&path)
    }
}

impl<'a> Json<'a> {
    pub(crate) fn root(value: &'a Value) -> Self {
        Self { value, path: Path::ROOT }
    }

    /// Returns the property `key`, if it exists. JSON's `null` counts as missing.
    pub(crate) fn get(&self, key: &str) -> Option<Json<'a>> {
        let (key, value) = self.value.as_object()?.get_key_value(key)?;
        if value.is_null() {
            return None;
        }
        Some(Json { value, path: self.path.child(key) })
    }

    /// Returns element `index` of this list, if it exists.
    pub(crate) fn element(&self, index: usize) -> Option<Json<'a>> {
        let value = self.value.get(index)?;
        Some(Json { value, path: self.path.to(Step::Index(index)) })
    }

    /// Returns element `index` of the list `key`, if it exists.
    pub(crate) fn item(&self, key: &str, index: usize) -> Option<Json<'a>> {
        let (key, list) = self.value.as_object()?.get_key_value(key)?;
        Json { value: list, path: self.path.child(key) }.element(index)
    }

    /// Returns the property `key`; reports an error if it is missing.
    pub(crate) fn require(&self, key: &str, problems: &mut Problems) -> Option<Json<'a>> {
        let found = self.get(key);
        match self.value {
            Value::Object(_) if found.is_none() => problems.error(&self.path, format!("`{key}` is missing")),
            Value::Object(_) => {}
            _ => self.wrong("an object", problems)?,
        }
        found
    }

    /// Returns the length of the list `key`; 0 if it is not a list.
    pub(crate) fn count(&self, key: &str) -> usize {
        self.value.get(key).and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// Returns the extension object `name`.
    pub(crate) fn extension(&self, name: &str) -> Option<Json<'a>> {
        self.get("extensions")?.get(name)
    }

    fn wrong<T>(&self, expected: &str, problems: &mut Problems) -> Option<T> {
        let found = match self.value {
            Value::Null => "null".into(),
            Value::Bool(b) => b.to_string(),
            Value::Number(n) => n.to_string(),
            Value::String(_) => "a string".into(),
            Value::Array(a) => format!("a list of {}", a.len()),
            Value::Object(_) => "an object".into(),
        };
        problems.error(&self.path, format!("is {found}, expected {expected}"));
        None
    }

    /// Returns the elements of the list `key`; no elements if it is missing.
    pub(crate) fn list(&self, key: &str, problems: &mut Problems) -> Vec<Json<'a>> {
        let Some(list) = self.get(key) else { return Vec::new() };
        let Value::Array(values) = list.value else {
            list.wrong::<()>("a list", problems);
            return Vec::new();
        };
        // Each item stores its path, so a list of zeros would take forty times its size.
        if problems.afford(&list.path, values.len() * size_of::<Self>()).is_none() {
            return Vec::new();
        }
        let path = list.path.shared();
        let at = |(i, value)| Json { value, path: path.to(Step::Index(i)) };
        values.iter().enumerate().map(at).collect()
    }

    /// Like [`Self::list`], and reports elements that are not objects.
    pub(crate) fn objects(&self, key: &str, problems: &mut Problems) -> Vec<Json<'a>> {
        let list = self.list(key, problems);
        for item in list.iter().filter(|item| !item.value.is_object()) {
            item.wrong::<()>("an object", problems);
        }
        list
    }

    /// Returns the properties of the object `key`; no properties if it is missing.
    pub(crate) fn entries(&self, key: &str, problems: &mut Problems) -> Vec<(&'a str, Json<'a>)> {
        let Some(object) = self.get(key) else { return Vec::new() };
        match object.value {
            Value::Object(map) => map.keys().filter_map(|k| Some((k.as_str(), object.get(k)?))).collect(),
            _ => {
                object.wrong::<()>("an object", problems);
                Vec::new()
            }
        }
    }

    /// Returns this value as a nonnegative integer. `24.0` is accepted because some exporters write it.
    pub(crate) fn whole(&self, problems: &mut Problems) -> Option<usize> {
        whole(self.value).or_else(|| self.wrong("a whole number that is not negative", problems))
    }

    /// Returns this value as an index below `count`; `what` is the plural noun for messages.
    pub(crate) fn index(&self, what: &str, count: usize, problems: &mut Problems) -> Option<usize> {
        let found = self.whole(problems)?;
        if found < count {
            return Some(found);
        }
        let what = match count {
            0 => format!("refers to {found}, but there are no {what}"),
            1 => format!("refers to {found}, but the only valid index is 0"),
            _ => format!("refers to {found}, but there are only {count} {what}"),
        };
        problems.refuse(&self.path, what, "correct the reference, or export the document again");
        None
    }

    /// Returns the property `key` as an index. Returns `None` if it is missing, or, with an error, if it is
    /// out of range.
    pub(crate) fn reference(
        &self,
        key: &str,
        what: &str,
        count: usize,
        problems: &mut Problems,
    ) -> Option<usize> {
        self.get(key)?.index(what, count, problems)
    }

    /// Returns the property `key` as a nonnegative integer, or `default` if it is missing.
    pub(crate) fn whole_or(&self, key: &str, default: usize, problems: &mut Problems) -> Option<usize> {
        self.get(key).map_or(Some(default), |v| v.whole(problems))
    }

    /// Returns this value as a string.
    pub(crate) fn text(&self, problems: &mut Problems) -> Option<&'a str> {
        self.value.as_str().or_else(|| self.wrong("a string", problems))
    }

    /// Returns the property `key` as a string.
    pub(crate) fn text_of(&self, key: &str, problems: &mut Problems) -> Option<&'a str> {
        self.get(key)?.text(problems)
    }

    /// Returns the property `key` as a Boolean, `false` if it is missing.
    pub(crate) fn flag(&self, key: &str, problems: &mut Problems) -> bool {
        let Some(flag) = self.get(key) else { return false };
        flag.value.as_bool().or_else(|| flag.wrong("true or false", problems)).unwrap_or(false)
    }

    /// Returns the property `key` as a list of numbers, all within the range of f32.
    pub(crate) fn numbers(&self, key: &str, problems: &mut Problems) -> Option<Vec<f64>> {
        self.get(key)?;
        let list = self.list(key, problems);
        list.iter()
            .map(|item| match item.value.as_f64() {
                Some(x) if (x as f32).is_finite() => Some(x),
                _ => item.wrong("a number in the range of f32", problems),
            })
            .collect()
    }

    /// Returns the property `key` as a number within the range of f32, or `default` if it is missing.
    pub(crate) fn number_or(&self, key: &str, default: f32, problems: &mut Problems) -> f32 {
        let Some(number) = self.get(key) else { return default };
        match number.value.as_f64().map(|x| x as f32) {
            Some(x) if x.is_finite() => x,
            _ => number.wrong("a number in the range of f32", problems).unwrap_or(default),
        }
    }

    /// Returns the property `key` as exactly `N` numbers.
    pub(crate) fn vector<const N: usize>(&self, key: &str, problems: &mut Problems) -> Option<[f64; N]> {
        let list = self.get(key)?;
        match self.numbers(key, problems)?.try_into() {
            Ok(vector) => Some(vector),
            Err(_) => list.wrong(&format!("a list of {N} numbers"), problems),
        }
    }
}

/// Estimates the memory of a value in bytes.
pub(crate) fn memory(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(memory).sum(),
            Value::Object(map) => OBJECT_MEMORY + map.iter().map(|(k, v)| k.len() + memory(v)).sum::<usize>(),
        }
}

/// Estimates the memory of a JSON text's values in bytes, from its braces and commas, before parsing.
pub(crate) fn memory_of_text(text: &[u8]) -> usize {
    let (mut objects, mut values) = (0, 0);
    // Counters of one byte, so that the compiler counts many bytes at a time.
    for block in text.chunks(usize::from(u8::MAX)) {
        let count = |of: fn(u8) -> bool| usize::from(block.iter().map(|&b| u8::from(of(b))).sum::<u8>());
        objects += count(|byte| byte == b'{');
        values += count(|byte| matches!(byte, b'{' | b'[' | b','));
    }
    objects * OBJECT_MEMORY + values * size_of::<Value>()
}

/// Minimum memory of an object: it allocates four members.
const OBJECT_MEMORY: usize = 4 * size_of::<(Text, Value)>();

/// Reports one note if elements of a list repeat an earlier name. `what` is the plural noun of the elements.
pub(crate) fn report_duplicate_names(what: &str, list: &[Json<'_>], problems: &mut Problems) {
    let mut seen = HashSet::new();
    let named = list.iter().filter_map(|json| Some((json, json.value.get("name")?.as_str()?)));
    let repeated: Vec<_> = named.filter(|&(_, name)| !seen.insert(name)).collect();
    let Some((first, name)) = repeated.first() else { return };
    problems.counted(
        Severity::Note,
        first.path.child("name"),
        repeated.len(),
        format!("the name {} is already used by other {what}", quoted(name)),
        "kept; a search by name returns the first",
    );
}

/// Returns a value as a nonnegative integer. `24.0` is accepted because some exporters write it.
pub(crate) fn whole(value: &Value) -> Option<usize> {
    let float = || {
        let x = value.as_f64()?;
        (x >= 0.0 && x < 2f64.powi(53) && x.fract() == 0.0).then_some(x as u64)
    };
    // A number too large for `usize` becomes its maximum, which every bounds check rejects.
    Some(usize::try_from(value.as_u64().or_else(float)?).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json;

    #[test]
    fn right_values_pass() {
        let value = json!({"a": 3, "b": 24.0, "v": [1, 2.5, -3], "o": {"x/y": 1}, "n": null});
        let (root, mut p) = (Json::root(&value), Problems::new(0));
        assert_eq!(root.reference("a", "things", 4, &mut p), Some(3));
        assert_eq!(root.whole_or("b", 0, &mut p), Some(24));
        assert_eq!(root.whole_or("n", 7, &mut p), Some(7));
        assert_eq!(root.vector("v", &mut p), Some([1.0, 2.5, -3.0]));
        assert_eq!(root.entries("o", &mut p)[0].1.path.to_string(), "/o/x~1y");
        assert!(p.list().is_empty());
    }

    #[test]
    fn paths_stay_short() {
        let mut value = json!(1);
        for _ in 0..100 {
            value = json!({"é/".repeat(1000): value});
        }
        let mut at = Json::root(&value);
        while let Value::Object(map) = at.value {
            at = at.get(map.keys().next().unwrap()).unwrap();
        }
        let path = at.path.to_string();
        assert!(path.starts_with("/é~1é~1") && path.contains("...") && path.len() < 800, "{path}");
    }

    #[test]
    fn wrong_values_are_reported_with_their_place() {
        let value = json!({"a": 3, "neg": -1, "s": "x", "v": [1, 1e300, 2], "short": [1], "l": [{}, 5]});
        let root = Json::root(&value);
        let expect = |run: &dyn Fn(&mut Problems) -> bool, path: &str, what: &str| {
            let mut p = Problems::new(0);
            assert!(run(&mut p), "{path}: a value came back");
            assert_eq!(p.list().len(), 1, "{path}");
            assert_eq!((p.list()[0].place.as_str(), p.list()[0].what.as_str()), (path, what));
        };
        expect(
            &|p| root.reference("a", "nodes", 3, p).is_none(),
            "/a",
            "refers to 3, but there are only 3 nodes",
        );
        expect(
            &|p| root.whole_or("neg", 0, p).is_none(),
            "/neg",
            "is -1, expected a whole number that is not negative",
        );
        expect(
            &|p| root.whole_or("s", 0, p).is_none(),
            "/s",
            "is a string, expected a whole number that is not negative",
        );
        expect(
            &|p| root.vector::<3>("v", p).is_none(),
            "/v/1",
            "is 1e+300, expected a number in the range of f32",
        );
        expect(
            &|p| root.vector::<3>("short", p).is_none(),
            "/short",
            "is a list of 1, expected a list of 3 numbers",
        );
        expect(&|p| root.objects("l", p).len() == 2, "/l/1", "is 5, expected an object");
        expect(&|p| root.require("gone", p).is_none(), "", "`gone` is missing");
        let text = root.get("s").unwrap();
        expect(&|p| text.require("x", p).is_none(), "/s", "is a string, expected an object");
        expect(&|p| root.text_of("a", p).is_none(), "/a", "is 3, expected a string");
        expect(&|p| !root.flag("a", p), "/a", "is 3, expected true or false");
        expect(&|p| root.list("s", p).is_empty(), "/s", "is a string, expected a list");
    }
}
