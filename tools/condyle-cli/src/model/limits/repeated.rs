//! Repeated keys in an object of a JSON text, of which a parser silently keeps one.

use std::collections::HashSet;

/// Returns the first key that occurs twice in an object. `text` must be valid JSON.
pub(super) fn key(text: &str) -> Option<String> {
    // A set of keys for each open object, `None` for each open list.
    let mut open: Vec<Option<HashSet<String>>> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '{' => open.push(Some(HashSet::new())),
            '[' => open.push(None),
            '}' | ']' => drop(open.pop()),
            '"' => {
                length = string(rest);
                let is_key = rest[length..].trim_start().starts_with(':');
                if let (true, Some(Some(keys))) = (is_key, open.last_mut())
                    && let Ok(name) = serde_json::from_str::<String>(&rest[..length])
                    && !keys.insert(name.clone())
                {
                    return Some(name);
                }
            }
            _ => {}
        }
        rest = &rest[length..];
    }
    None
}

/// Returns the length of the string at the start of a text, with its quotation marks.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn only_keys_of_one_object_are_repeated() {
        for (text, want) in [
            (r#"{"a": 1, "b": {"a": 2}, "c": ["a", "a"], "d": "a"}"#, None),
            (r#"[{"a": 1}, {"a": 1}, "a"]"#, None),
            (r#"{"a\"": "}", "a": "{\"a\": 1}"}"#, None),
            (r#"{"a": 1, "a" : 1}"#, Some("a")),
            (r#"{"joints": {"arm": {}, "leg": {}, "\u0061rm": {}}}"#, Some("arm")),
            (r#"{"ü": [1, {"é\\": 0, "é\\": 1}]}"#, Some("é\\")),
        ] {
            assert_eq!(key(text).as_deref(), want, "{text}");
        }
    }
}
