//! Pairing of the joints of two skeletons.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use condyle::Skeleton;

/// Basis for the pairing of joints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Their names, or the names from the root to them.
    Name,
    /// Their order, because no names correspond.
    Order,
}

/// Returns for each joint of the first skeleton its counterpart in the second one: by name, or by order if no
/// name corresponds and all joints have the same parents.
pub(crate) fn twins(a: &Skeleton, b: &Skeleton) -> (Vec<Option<u16>>, By) {
    let twins = by_names(a, b);
    match twins.iter().all(Option::is_none) && a.parents() == b.parents() {
        true => ((0..a.joint_count()).map(|joint| Some(joint as u16)).collect(), By::Order),
        false => (twins, By::Name),
    }
}

/// Pairs joints by name if the name is unique, else by the names of all joints from the root.
fn by_names(a: &Skeleton, b: &Skeleton) -> Vec<Option<u16>> {
    let (names, paths) = ([names(a), names(b)], [paths(a), paths(b)]);
    let mut twins = by_unique_key(&names[0], &names[1]);
    let mut taken: BTreeSet<u16> = twins.iter().flatten().copied().collect();
    for (own, other) in twins.iter_mut().zip(by_unique_key(&paths[0], &paths[1])) {
        if let (None, Some(joint)) = (&own, other)
            && taken.insert(joint)
        {
            *own = Some(joint);
        }
    }
    twins
}

/// Pairs nodes of two documents, at least one of each pair a joint. `joints` are the skeletons of the joints;
/// `nodes` contain the same joints first, then all other nodes. A joint that lost its keys is still found as
/// a node with the same name.
pub(crate) fn node_twins(joints: [&Skeleton; 2], nodes: [&Skeleton; 2]) -> (Vec<(u16, u16)>, By) {
    let mut found = by_names(joints[0], joints[1]);
    found.resize(nodes[0].joint_count(), None);
    let mut taken: BTreeSet<u16> = found.iter().flatten().copied().collect();
    let is_joint = |side: usize, node: usize| node < joints[side].joint_count();
    for (at, (own, other)) in found.iter_mut().zip(by_names(nodes[0], nodes[1])).enumerate() {
        if let (None, Some(node)) = (&own, other)
            && (is_joint(0, at) || is_joint(1, node.into()))
            && taken.insert(node)
        {
            *own = Some(node);
        }
    }
    let pairs = |twins: Vec<Option<u16>>| -> Vec<(u16, u16)> {
        (0..).zip(twins).filter_map(|(node, twin)| Some((node, twin?))).collect()
    };
    match taken.is_empty() {
        true => {
            let (twins, by) = twins(joints[0], joints[1]);
            (pairs(twins), by)
        }
        false => (pairs(found), By::Name),
    }
}

/// Returns the name of each joint; `None` if the document does not name it, so that its name is derived from
/// the node index.
fn names(skeleton: &Skeleton) -> Vec<Option<&str>> {
    let given = |name: &str, node: &u32| !name.is_empty() && name != format!("node {node}");
    let all = skeleton.names().iter().zip(skeleton.nodes());
    all.map(|(name, node)| given(name, node).then_some(name.as_str())).collect()
}

/// Returns a hash of all names from the root to each joint; `None` if any of them has no name.
fn paths(skeleton: &Skeleton) -> Vec<Option<u64>> {
    let mut paths: Vec<Option<u64>> = Vec::with_capacity(skeleton.joint_count());
    for (joint, name) in names(skeleton).into_iter().enumerate() {
        let above = skeleton.parent(joint as u16).map_or(Some(0), |parent| paths[usize::from(parent)]);
        paths.push(above.zip(name).map(|path| {
            let mut hasher = DefaultHasher::new();
            path.hash(&mut hasher);
            hasher.finish()
        }));
    }
    paths
}

/// Returns for each key the index of the equal key, if both lists have it only once.
fn by_unique_key<K: Hash + Eq>(a: &[Option<K>], b: &[Option<K>]) -> Vec<Option<u16>> {
    // `None` for a repeated key.
    fn places<K: Hash + Eq>(keys: &[Option<K>]) -> HashMap<&K, Option<u16>> {
        let mut places = HashMap::new();
        for (at, key) in keys.iter().enumerate().filter_map(|(at, key)| Some((at, key.as_ref()?))) {
            places.entry(key).and_modify(|place| *place = None).or_insert(Some(at as u16));
        }
        places
    }
    let (these, those) = (places(a), places(b));
    let twin = |key: &K| (*these.get(key)?).and(*those.get(key)?);
    a.iter().map(|key| twin(key.as_ref()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle::{Joint, Transform};

    fn skeleton(joints: &[(&str, Option<u16>)]) -> Skeleton {
        let joint = |(at, &(name, parent)): (usize, &(&str, Option<u16>))| Joint {
            node: Some(at as u32),
            ..Joint::new(name, parent, Transform::IDENTITY)
        };
        Skeleton::new(joints.iter().enumerate().map(joint)).expect("parents come first")
    }

    #[test]
    fn by_name_then_by_path_then_by_order() {
        let a = skeleton(&[
            ("hip", None),
            ("left", Some(0)),
            ("toe", Some(1)),
            ("right", Some(0)),
            ("toe", Some(3)),
        ]);
        let b = skeleton(&[
            ("hip", None),
            ("right", Some(0)),
            ("toe", Some(1)),
            ("left", Some(0)),
            ("toe", Some(3)),
        ]);
        let places = [0, 3, 4, 1, 2].map(Some);
        assert_eq!(twins(&a, &b), (places.to_vec(), By::Name));
        // Two joints with the same name and path are ambiguous.
        let doubled = skeleton(&[("hip", None), ("toe", Some(0)), ("toe", Some(0))]);
        assert_eq!(twins(&doubled, &doubled), (vec![Some(0), None, None], By::Name));
        // Names derived from node indices do not count as names.
        let numbered = skeleton(&[("node 0", None), ("node 1", Some(0)), ("node 2", Some(0))]);
        assert_eq!(twins(&numbered, &doubled), ([0, 1, 2].map(Some).to_vec(), By::Order));
        assert_eq!(twins(&numbered, &a), (vec![None; 3], By::Name));
        // Joints with different parents are not paired by order either.
        let chain = skeleton(&[("node 0", None), ("node 1", Some(0)), ("node 2", Some(1))]);
        assert_eq!(twins(&chain, &doubled), (vec![None; 3], By::Name));
    }

    #[test]
    fn a_joint_is_paired_with_a_node_that_is_none() {
        let all = skeleton(&[("frame", None), ("hinge", Some(0)), ("lock", Some(0)), ("key", None)]);
        let one = skeleton(&[("frame", None), ("hinge", Some(0))]);
        let other = skeleton(&[("frame", None)]);
        let by_name = |pairs: &[(u16, u16)]| (pairs.to_vec(), By::Name);
        assert_eq!(node_twins([&one, &other], [&all, &all]), by_name(&[(0, 0), (1, 1)]));
        assert_eq!(node_twins([&other, &one], [&all, &all]), by_name(&[(0, 0), (1, 1)]));
        // Joints with the same name are a pair, even if another node has that name.
        let twice = skeleton(&[("frame", None), ("hinge", Some(0)), ("hinge", None)]);
        assert_eq!(node_twins([&one, &one], [&twice, &one]), by_name(&[(0, 0), (1, 1)]));
        // No name is in both skeletons, but all parents are the same.
        let numbered = skeleton(&[("node 0", None), ("node 1", Some(0))]);
        assert_eq!(node_twins([&one, &numbered], [&all, &numbered]), (vec![(0, 0), (1, 1)], By::Order));
    }
}
