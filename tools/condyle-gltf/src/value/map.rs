//! Objects of a document: few members, in the order of the document.

use std::collections::HashMap;

use serde_core::Serialize;
use serde_core::ser::Serializer;

use super::{Text, Value, text::Sought};

/// Members in order, each key once.
///
/// Most objects have less than ten members, which are searched one after the other. A large object has an
/// index, so that a hostile document does not cause a search through all its members for each of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Map {
    members: Vec<(Text, Value)>,
    /// Place of each key in `members`, if there are more than [`SEARCHED`].
    #[expect(clippy::box_collection, reason = "few objects have an index, and all would be larger")]
    index: Option<Box<HashMap<Text, usize>>>,
}

/// Maximum number of members without an index.
const SEARCHED: usize = 24;

impl Map {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn place(&self, key: &str) -> Option<usize> {
        match &self.index {
            None => {
                let sought = Sought::new(key);
                self.members.iter().position(|(key, _)| sought.is(key))
            }
            Some(index) => index.get(&Text::from(key)).copied(),
        }
    }

    pub(crate) fn contains_key(&self, key: &str) -> bool {
        self.place(key).is_some()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.place(key).map(|at| &self.members[at].1)
    }

    pub(crate) fn get_key_value(&self, key: &str) -> Option<(&Text, &Value)> {
        let (key, value) = &self.members[self.place(key)?];
        Some((key, value))
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.place(key).map(|at| &mut self.members[at].1)
    }

    /// Returns the value of a key, `null` if it was missing.
    pub(super) fn or_null(&mut self, key: &str) -> &mut Value {
        let at = self.place(key).unwrap_or_else(|| self.push(key.into(), Value::Null));
        &mut self.members[at].1
    }

    /// Sets a member. A key that exists keeps its place.
    pub(crate) fn insert(&mut self, key: Text, value: Value) -> Option<Value> {
        match self.place_of(&key) {
            Some(at) => Some(std::mem::replace(&mut self.members[at].1, value)),
            None => {
                self.push(key, value);
                None
            }
        }
    }

    fn place_of(&self, key: &Text) -> Option<usize> {
        match &self.index {
            None => self.members.iter().position(|(it, _)| it == key),
            Some(index) => index.get(key).copied(),
        }
    }

    fn push(&mut self, key: Text, value: Value) -> usize {
        let at = self.members.len();
        if let Some(index) = &mut self.index {
            index.insert(key.clone(), at);
        }
        self.members.push((key, value));
        if at == SEARCHED {
            self.reindex();
        }
        at
    }

    fn reindex(&mut self) {
        let pairs = self.members.iter().enumerate().map(|(at, (key, _))| (key.clone(), at));
        self.index = (self.members.len() > SEARCHED).then(|| Box::new(pairs.collect()));
    }

    /// Removes a member. The last one takes its place.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Value> {
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Removes a member, and returns it with its key. The last one takes its place.
    pub(crate) fn remove_entry(&mut self, key: &str) -> Option<(Text, Value)> {
        let at = self.place(key)?;
        let removed = self.members.swap_remove(at);
        if let Some(index) = &mut self.index {
            index.remove(&removed.0);
            if let Some((moved, _)) = self.members.get(at) {
                index.insert(moved.clone(), at);
            }
        }
        Some(removed)
    }

    /// Removes a member. The others keep their order.
    pub(crate) fn shift_remove(&mut self, key: &str) -> Option<Value> {
        let (_, value) = self.members.remove(self.place(key)?);
        if self.index.is_some() {
            self.reindex();
        }
        Some(value)
    }

    /// Keeps the members for which `keep` returns true.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Text, &mut Value) -> bool) {
        let before = self.members.len();
        self.members.retain_mut(|(key, value)| keep(key, value));
        if self.index.is_some() && self.members.len() != before {
            self.reindex();
        }
    }

    pub(crate) fn iter(&self) -> Members<'_> {
        self.members.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn iter_mut(&mut self) -> MembersMut<'_> {
        self.members.iter_mut().map(|(key, value)| (&*key, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Text> {
        self.members.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.members.iter().map(|(_, value)| value)
    }
}

type Of<I, K, V> = std::iter::Map<I, fn(<I as Iterator>::Item) -> (K, V)>;
type Members<'a> = Of<std::slice::Iter<'a, (Text, Value)>, &'a Text, &'a Value>;
type MembersMut<'a> = Of<std::slice::IterMut<'a, (Text, Value)>, &'a Text, &'a mut Value>;

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Text, &'a Value);
    type IntoIter = Members<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Map {
    type Item = (&'a Text, &'a mut Value);
    type IntoIter = MembersMut<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl IntoIterator for Map {
    type Item = (Text, Value);
    type IntoIter = std::vec::IntoIter<(Text, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

impl FromIterator<(Text, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Text, Value)>>(members: I) -> Self {
        let mut map = Self::new();
        map.extend(members);
        map
    }
}

impl Extend<(Text, Value)> for Map {
    fn extend<I: IntoIterator<Item = (Text, Value)>>(&mut self, members: I) {
        for (key, value) in members {
            self.insert(key, value);
        }
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

/// Equal members in any order.
impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_maps_behave_like_an_ordered_map() {
        for count in [0, 1, SEARCHED - 1, SEARCHED, SEARCHED + 1, 200] {
            let mut map = Map::new();
            let key = |i: usize| if i == 3 { "name".to_string() } else { format!("key {i}") };
            for i in 0..count {
                assert_eq!(map.insert(key(i).into(), i.into()), None);
            }
            for i in 0..count {
                assert_eq!(map.insert(key(i).into(), (2 * i).into()), Some(i.into()), "{count}: a key twice");
            }
            let order: Vec<_> = (0..count).map(key).collect();
            assert!(map.keys().map(|it| it.as_str()).eq(order.iter().map(String::as_str)), "{count}");
            for i in 0..count {
                assert_eq!(map.get(&key(i)), Some(&(2 * i).into()), "{count}");
            }
            assert_eq!(map.get("other"), None);
            assert_eq!(map.remove("other"), None);
            let whole = map.clone();
            for i in (0..count).step_by(2) {
                assert_eq!(map.remove(&key(i)), Some((2 * i).into()), "{count}");
            }
            for i in 0..count {
                assert_eq!(map.contains_key(&key(i)), i % 2 == 1, "{count}: {i}");
            }
            let mut kept = whole;
            kept.retain(|_, value| value.as_u64().unwrap() % 4 == 2);
            assert_eq!(kept, map, "{count}: in another order");
            map.iter_mut().for_each(|(_, it)| *it = Value::Null);
            assert_eq!(map == kept, map.is_empty());
        }
    }
}
