//! Which part of one file is which of the other, and which clip.

use std::collections::HashMap;
use std::hash::Hash;

use super::subject::{Part, Subject};
use crate::failure::Failure;
use crate::text::{counted, printable};

/// For each part of the first file, that of the second.
pub(super) fn parts(a: &dyn Subject, b: &dyn Subject) -> Result<Vec<(usize, usize)>, Failure> {
    let differ = |what: String| {
        Failure::Data(format!(
            "{} and {} do not hold the same model: {what}; compare files that were made from the same model",
            a.file(),
            b.file()
        ))
    };
    let (these, those) = (a.parts(), b.parts());
    if these.len() != those.len() {
        let parts = |n| counted(n, "mesh", "meshes");
        return Err(differ(format!(
            "the first has {}, the second {}",
            parts(these.len()),
            parts(those.len())
        )));
    }
    if these.iter().all(|part| part.vertex_count == 0) {
        return Err(Failure::Data(format!(
            "{} has no vertices to compare; `condyle info` shows what it holds",
            a.file()
        )));
    }
    // By name if all names match, else by their order.
    let key = |part: &Part| (part.name.clone(), part.primitive);
    let named = by_key(these.iter().map(key), those.iter().map(key));
    let pairs = match named.len() == these.len() {
        true => named,
        false => (0..these.len()).map(|part| (part, part)).collect(),
    };
    for &(this, that) in &pairs {
        let (this, that) = (&these[this], &those[that]);
        let name = printable(&this.name);
        if this.vertex_count != that.vertex_count {
            let vertices = |part: &Part| counted(part.vertex_count, "vertex", "vertices");
            let (this, that) = (vertices(this), vertices(that));
            return Err(differ(format!("{name} has {this} in the first, {that} in the second")));
        }
        if let Some(what) = joints(this, that) {
            return Err(differ(format!("{name} {what}")));
        }
    }
    Ok(pairs)
}

/// How the joints of two parts differ, if neither all names nor all parents are the same.
fn joints(this: &Part, that: &Part) -> Option<String> {
    let (these, those) = (&this.joints, &that.joints);
    if these.len() != those.len() {
        let joints = |n| counted(n, "joint", "joints");
        return Some(format!(
            "has {} in the first, {} in the second",
            joints(these.len()),
            joints(those.len())
        ));
    }
    let mut names = these.iter().zip(those).filter(|(a, b)| a.0 != b.0);
    let ((one, _), (other, _)) = names.next()?;
    let mut parents = these.iter().zip(those).filter(|(a, b)| a.1 != b.1);
    let ((joint, _), _) = parents.next()?;
    Some(format!(
        "follows {} in the first and {} in the second, and {} has another parent",
        printable(one),
        printable(other),
        printable(joint)
    ))
}

/// For each clip of the first file that has one, the clip of the second.
pub(super) fn clips(a: &dyn Subject, b: &dyn Subject) -> Vec<(usize, usize)> {
    let name = |subject: &dyn Subject| subject.clips().iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    let named = by_key(name(a).into_iter(), name(b).into_iter());
    // If no name matches, names were lost in an export: go by order.
    match named.is_empty() && a.clips().len() == b.clips().len() {
        true => (0..a.clips().len()).map(|clip| (clip, clip)).collect(),
        false => named,
    }
}

/// Pairs equal keys: the first with the first, the second with the second.
fn by_key<K: Hash + Eq>(a: impl Iterator<Item = K>, b: impl Iterator<Item = K>) -> Vec<(usize, usize)> {
    let mut places: HashMap<K, Vec<usize>> = HashMap::new();
    for (place, key) in b.enumerate() {
        places.entry(key).or_default().push(place);
    }
    places.values_mut().for_each(|places| places.reverse());
    a.enumerate().filter_map(|(at, key)| Some((at, places.get_mut(&key)?.pop()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_are_paired_in_their_order() {
        let pairs = by_key(["a", "b", "a", "c", "a"].into_iter(), ["a", "c", "a", "d"].into_iter());
        assert_eq!(pairs, [(0, 0), (2, 2), (3, 1)]);
    }

    #[test]
    fn joints_may_lose_their_names_or_their_parents_but_not_both() {
        let part = |joints: &[(&str, Option<usize>)]| Part {
            name: "body".into(),
            primitive: 0,
            vertex_count: 1,
            joints: joints.iter().map(|&(name, parent)| (name.into(), parent)).collect(),
        };
        let whole = part(&[("hip", None), ("knee", Some(0))]);
        assert_eq!(joints(&whole, &part(&[("hip", None), ("knee", Some(0))])), None);
        assert_eq!(joints(&whole, &part(&[("joint 1", None), ("joint 2", Some(0))])), None);
        assert_eq!(joints(&whole, &part(&[("hip", None), ("knee", None)])), None);
        let other = joints(&whole, &part(&[("hip", None), ("toe", None)])).expect("another joint");
        assert!(other.contains("knee") && other.contains("toe"), "{other}");
        let fewer = joints(&whole, &part(&[("hip", None)])).expect("one is gone");
        assert_eq!(fewer, "has 2 joints in the first, 1 joint in the second");
    }
}
