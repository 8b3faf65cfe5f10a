//! Transfer of motion and meshes between skeletons: [`JointMap`] pairs joints by name.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use crate::clip::{RawClip, Target};
use crate::mesh::Skin;
use crate::pose::Pose;
use crate::skeleton::{NO_NODE, Skeleton};
use condyle_base::error::Error;

/// Pairs the joints of one skeleton with those of another.
///
/// Use it to play a clip on a character from another file, or to put clothes on a character from another
/// file.
///
/// Local transforms are copied unchanged, so both skeletons must have the same proportions and the same rest
/// pose. Other skeletons need retargeting, which this type does not do.
///
/// ```
/// use condyle::sampling::{self, RawCursor};
/// use condyle::{Interpolation, JointMap, Pose, RawClip, Target, Track, example};
///
/// let motion = example::chain(["Hips", "Spine"], [0.0, 0.5, 0.0]);
/// let character = example::chain(["Armature", "Hips", "Belly", "Spine"], [0.0, 0.5, 0.0]);
///
/// let (target, interpolation) = (Target::Rotation(1), Interpolation::Linear);
/// let bend = Track { target, interpolation, timeline: 0, values: vec![0.0, 0.6, 0.0, 0.8] };
/// let clip = RawClip::new("bend".into(), vec![vec![0.0]], vec![bend])?.for_skeleton(&motion)?;
///
/// let map = JointMap::by_name(&motion, &character);
/// assert_eq!((map.joint(1), map.unmatched().count()), (Some(3), 0));
/// let clip = map.clip(&clip)?;
/// let (mut cursor, mut pose) = (RawCursor::default(), Pose::rest(&character));
/// sampling::raw(&clip, &character, 0.0, &mut cursor, &mut pose)?;
/// assert_eq!(pose.get(3).rotation, [0.0, 0.6, 0.0, 0.8]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct JointMap {
    /// Partner of each joint of the first skeleton.
    joints: Vec<Option<u16>>,
    from: u32,
    to: Skeleton,
}

impl JointMap {
    /// Pairs joints with the same name.
    ///
    /// If a name is not unique in a skeleton, the path of names from the root decides. A joint without a
    /// name, or whose path is not unique either, has no partner.
    #[must_use]
    pub fn by_name(from: &Skeleton, to: &Skeleton) -> Self {
        let mut known = Paths::new();
        let (from_paths, to_paths) = (paths(from, &mut known), paths(to, &mut known));
        let (from_names, to_names) = (unique(from.names()), unique(to.names()));
        let (single, places) = (unique(&from_paths), unique(&to_paths));
        let partner = |joint: usize| -> Option<u16> {
            let (name, path) = (&from.names()[joint], &from_paths[joint]);
            match (from_names.get(name), to_names.get(name)) {
                // A generated name with the node number does not count: node numbers differ between
                // documents.
                _ if name.is_empty() || *name == format!("node {}", from.nodes()[joint]) => None,
                (Some(Some(_)), Some(Some(found))) => Some(*found),
                _ => single.get(path).copied().flatten().and(places.get(path).copied().flatten()),
            }
        };
        let joints = (0..from.joint_count()).map(partner).collect();
        Self { joints, from: from.fingerprint(), to: to.clone() }
    }

    /// Pairs joints by an explicit list: for each joint of the first skeleton, a joint of the second or
    /// `None`.
    ///
    /// ```
    /// use condyle::{Joint, JointMap, Skeleton, Transform};
    ///
    /// let one = |name| Skeleton::new([Joint::new(name, None, Transform::IDENTITY)]);
    /// let map = JointMap::new(&one("Hips")?, &one("pelvis")?, &[Some(0)])?;
    /// assert_eq!(map.joint(0), Some(0));
    /// # Ok::<(), condyle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if there is not one partner per joint. [`Error::Index`] for a partner that the
    /// second skeleton does not have. [`Error::PairedTwice`] for a partner that occurs twice.
    pub fn new(from: &Skeleton, to: &Skeleton, partners: &[Option<u16>]) -> Result<Self, Error> {
        let (found, needed, count) = (partners.len(), from.joint_count(), to.joint_count());
        if found != needed {
            return Err(Error::Length { what: "partners", found, needed });
        }
        let beyond = |(at, partner): (usize, &Option<u16>)| {
            partner.map(usize::from).filter(|&found| found >= count).map(|found| (at, found))
        };
        if let Some((at, found)) = partners.iter().enumerate().find_map(beyond) {
            return Err(Error::Index { what: "partners", at, found, count });
        }
        let mut taken = vec![false; count];
        for (pair, partner) in partners.iter().enumerate() {
            let Some(joint) = partner.map(usize::from) else { continue };
            if core::mem::replace(&mut taken[joint], true) {
                return Err(Error::PairedTwice { pair, joint });
            }
        }
        Ok(Self { joints: partners.to_vec(), from: from.fingerprint(), to: to.clone() })
    }

    /// Pairs joints that come from the same node of one document. The document can produce different joints
    /// if its animations change.
    #[must_use]
    pub fn by_node(from: &Skeleton, to: &Skeleton) -> Self {
        let places = unique(to.nodes());
        let partner = |node: &u32| places.get(node).copied().flatten().filter(|_| *node != NO_NODE);
        let joints = from.nodes().iter().map(partner).collect();
        Self { joints, from: from.fingerprint(), to: to.clone() }
    }

    /// Returns the partner of a joint of the first skeleton.
    ///
    /// # Panics
    /// If the first skeleton does not have the joint.
    #[must_use]
    pub fn joint(&self, joint: u16) -> Option<u16> {
        self.joints[usize::from(joint)]
    }

    /// Returns the joints of the first skeleton without a partner, ascending.
    pub fn unmatched(&self) -> impl Iterator<Item = u16> + use<'_> {
        (0..).zip(&self.joints).filter(|(_, partner)| partner.is_none()).map(|(joint, _)| joint)
    }

    /// Transfers a clip from the first skeleton to the second. Tracks of joints without a partner are
    /// dropped; tracks without a joint are kept.
    ///
    /// # Errors
    /// [`Error::Skeleton`] if the clip is bound to a skeleton that is not the first. [`Error::Index`] if it
    /// drives a joint that the first skeleton does not have.
    pub fn clip(&self, clip: &RawClip) -> Result<RawClip, Error> {
        self.check("the clip", clip.fingerprint())?;
        let mut tracks = Vec::new();
        for (at, track) in clip.tracks().iter().enumerate() {
            let of = |joint| self.partner("tracks", at, joint);
            let target = match track.target {
                Target::Rotation(joint) => of(joint)?.map(Target::Rotation),
                Target::Translation(joint) => of(joint)?.map(Target::Translation),
                Target::Scale(joint) => of(joint)?.map(Target::Scale),
                free => Some(free),
            };
            tracks.extend(target.map(|target| crate::clip::Track { target, ..track.clone() }));
        }
        RawClip::new(clip.name().to_string(), clip.timelines().to_vec(), tracks)?.for_skeleton(&self.to)
    }

    /// Transfers a skin from the first skeleton to the second, for clothes and props from another file.
    ///
    /// # Errors
    /// [`Error::Skeleton`] if the skin is tied to a skeleton that is not the first. [`Error::Index`] if it
    /// uses a joint that the first skeleton does not have, or a joint (`found`) without a partner.
    pub fn skin(&self, skin: &Skin) -> Result<Skin, Error> {
        self.check("the skin", skin.fingerprint())?;
        let (what, count) = ("joints of the skin", self.to.joint_count());
        let partner = |(at, &joint): (usize, &u16)| {
            self.partner(what, at, joint)?.ok_or(Error::Index { what, at, found: joint.into(), count })
        };
        let joints: Result<Vec<u16>, Error> = skin.joints().iter().enumerate().map(partner).collect();
        Skin::new(joints?, skin.inverse_bind().to_vec())?.for_skeleton(&self.to)
    }

    /// Copies a pose of the first skeleton to the second.
    ///
    /// Use this for compressed clips: sample the clip on its own skeleton, then copy the pose. Joints of the
    /// second skeleton without a partner keep their transforms in `to`.
    ///
    /// # Errors
    /// [`Error::Length`] if the joint count of a pose differs from that of its skeleton.
    pub fn pose(&self, from: &Pose, to: &mut Pose) -> Result<(), Error> {
        from.check_joints("from", self.joints.len())?;
        to.check_joints("to", self.to.joint_count())?;
        for (joint, partner) in self.joints.iter().enumerate() {
            if let Some(partner) = partner {
                to.set(usize::from(*partner), &from.get(joint));
            }
        }
        Ok(())
    }

    fn check(&self, what: &'static str, found: Option<u32>) -> Result<(), Error> {
        match found {
            Some(found) if found != self.from => Err(Error::Skeleton { what, found, needed: self.from }),
            _ => Ok(()),
        }
    }

    fn partner(&self, what: &'static str, at: usize, joint: u16) -> Result<Option<u16>, Error> {
        let (found, count) = (usize::from(joint), self.joints.len());
        self.joints.get(found).copied().ok_or(Error::Index { what, at, found, count })
    }
}

/// Maps each name or path to its joint, or to `None` if several joints have it.
fn unique<K: Ord>(keys: impl IntoIterator<Item = K>) -> BTreeMap<K, Option<u16>> {
    let mut found = BTreeMap::new();
    for (key, joint) in keys.into_iter().zip(0..) {
        found.entry(key).and_modify(|it| *it = None).or_insert(Some(joint));
    }
    found
}

/// Number of each path, by the number of the parent's path and the name. Long chains do not repeat names.
type Paths<'a> = BTreeMap<(usize, &'a str), usize>;

fn paths<'a>(skeleton: &'a Skeleton, known: &mut Paths<'a>) -> Vec<usize> {
    let mut paths = Vec::with_capacity(skeleton.joint_count());
    for (name, joint) in skeleton.names().iter().zip(0..) {
        let above = skeleton.parent(joint).map_or(0, |parent| paths[usize::from(parent)]);
        // 0 is the path above the roots.
        let next = known.len() + 1;
        paths.push(*known.entry((above, name.as_str())).or_insert(next));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeleton::Joint;
    use crate::testing::Random;
    use condyle_base::math::{Affine, Transform};

    fn skeleton(joints: &[(&str, Option<u16>)]) -> Skeleton {
        Skeleton::new(joints.iter().map(|&(name, parent)| Joint::new(name, parent, Transform::IDENTITY)))
            .expect("parents before children")
    }

    fn pairs(from: &Skeleton, to: &Skeleton) -> Vec<Option<u16>> {
        let map = JointMap::by_name(from, to);
        (0..from.joint_count() as u16).map(|joint| map.joint(joint)).collect()
    }

    #[test]
    fn names_decide_and_paths_where_names_do_not() {
        let from = skeleton(&[
            ("hip", None),
            ("leg.l", Some(0)),
            ("toe", Some(1)),
            ("leg.r", Some(0)),
            ("toe", Some(3)),
            ("", Some(0)),
            ("wing", Some(0)),
        ]);
        // The same joints in another order, with different last joints.
        let to = skeleton(&[
            ("hip", None),
            ("leg.r", Some(0)),
            ("toe", Some(1)),
            ("leg.l", Some(0)),
            ("toe", Some(3)),
            ("", Some(0)),
            ("spine", Some(0)),
        ]);
        let found = pairs(&from, &to);
        assert_eq!(found, [Some(0), Some(3), Some(4), Some(1), Some(2), None, None]);
        let map = JointMap::by_name(&from, &to);
        assert_eq!(map.unmatched().collect::<Vec<_>>(), [5, 6]);
        // Below a new root the paths differ, and the name "toe" is not unique, so the toes have no partners.
        let under = skeleton(&[
            ("root", None),
            ("hip", Some(0)),
            ("leg.l", Some(1)),
            ("toe", Some(2)),
            ("toe", Some(1)),
        ]);
        assert_eq!(pairs(&from, &under), [Some(1), Some(2), None, None, None, None, None]);
        // Siblings with the same name have no partners either.
        let twins = skeleton(&[("a", None), ("b", Some(0)), ("b", Some(0))]);
        assert_eq!(pairs(&twins, &twins), [Some(0), None, None]);
    }

    #[test]
    fn partners_of_the_caller_are_checked() {
        let (two, one) = (skeleton(&[("a", None), ("b", Some(0))]), skeleton(&[("c", None)]));
        let map = JointMap::new(&two, &one, &[None, Some(0)]).expect("a joint");
        assert_eq!([map.joint(0), map.joint(1)], [None, Some(0)]);
        let length = Err(Error::Length { what: "partners", found: 1, needed: 2 });
        assert_eq!(JointMap::new(&two, &one, &[None]), length);
        let index = Err(Error::Index { what: "partners", at: 1, found: 1, count: 1 });
        assert_eq!(JointMap::new(&two, &one, &[None, Some(1)]), index);
        let twice = Err(Error::PairedTwice { pair: 1, joint: 0 });
        assert_eq!(JointMap::new(&two, &one, &[Some(0), Some(0)]), twice);
    }

    #[test]
    fn nodes_of_one_document_pair_joints() {
        let of = |nodes: &[Option<u32>]| {
            let joint = |&node| Joint { node, ..Joint::new("", None, Transform::IDENTITY) };
            Skeleton::new(nodes.iter().map(joint)).expect("roots")
        };
        let map = JointMap::by_node(&of(&[Some(3), None, Some(5), Some(7)]), &of(&[None, Some(7), Some(3)]));
        let found: Vec<_> = (0..4).map(|joint| map.joint(joint)).collect();
        assert_eq!(found, [Some(2), None, None, Some(1)]);
    }

    #[test]
    fn numbers_of_nodes_are_no_names() {
        let of = |names: [&str; 2]| {
            let joint = |(node, name): (u32, &&str)| Joint {
                node: Some(node),
                ..Joint::new(*name, None, Transform::IDENTITY)
            };
            Skeleton::new((3..).zip(&names).map(joint)).expect("roots")
        };
        let map = JointMap::by_name(&of(["node 3", "hip"]), &of(["node 3", "hip"]));
        assert_eq!([map.joint(0), map.joint(1)], [None, Some(1)]);
        // A different node number, so the name is not a generated one.
        let map = JointMap::by_name(&of(["node 7", "hip"]), &of(["hip", "node 7"]));
        assert_eq!([map.joint(0), map.joint(1)], [Some(1), Some(0)]);
    }

    #[test]
    fn a_long_chain_takes_memory_by_its_length() {
        let long = |count: u16| {
            Skeleton::new((0..count).map(|at| Joint::new("link", at.checked_sub(1), Transform::IDENTITY)))
        };
        let chain = long(crate::testing::tries(40_000) as u16).expect("a chain");
        let map = JointMap::by_name(&chain, &chain);
        assert_eq!(map.unmatched().count(), 0);
        let last = chain.joint_count() as u16 - 1;
        assert_eq!(map.joint(last), Some(last));
    }

    #[test]
    fn clips_skins_and_poses_go_over() {
        let mut random = Random(7);
        let joints: Vec<Joint> = (0..20_u16)
            .map(|at| Joint::new(alloc::format!("joint {at}"), at.checked_sub(1), random.transform()))
            .collect();
        let from = Skeleton::new(joints.clone()).expect("a chain");
        // A new root above the chain, without the last five joints.
        let root = Joint::new("root", None, random.transform());
        let moved = joints.iter().take(15).map(|joint| Joint {
            parent: Some(joint.parent.map_or(0, |parent| parent + 1)),
            ..joint.clone()
        });
        let to = Skeleton::new(core::iter::once(root).chain(moved)).expect("a chain");
        let map = JointMap::by_name(&from, &to);

        let clip = random.clip(20, 4).for_skeleton(&from).expect("a clip of this skeleton");
        let there = map.clip(&clip).expect("a clip of this skeleton");
        assert_eq!(there.fingerprint(), Some(to.fingerprint()));
        let kept = clip.tracks().iter().filter(|track| track.target.joint().is_none_or(|joint| joint < 15));
        assert_eq!(there.tracks().len(), kept.count());
        let (mut pose, mut other) = (Pose::rest(&from), Pose::rest(&to));
        let mut cursor = crate::sampling::RawCursor::default();
        crate::sampling::raw(&clip, &from, 0.3, &mut cursor, &mut pose).expect("a clip of this skeleton");
        crate::sampling::raw(&there, &to, 0.3, &mut crate::sampling::RawCursor::default(), &mut other)
            .expect("a clip of this skeleton");
        let mut taken = Pose::rest(&to);
        map.pose(&pose, &mut taken).expect("poses of both skeletons");
        assert_eq!(taken, other);
        assert_eq!(taken.get(0), to.rest().get(0));
        assert_eq!(taken.get(8), pose.get(7));

        let skin =
            Skin::new(vec![3, 14], vec![Affine::IDENTITY; 2]).and_then(|skin| skin.for_skeleton(&from));
        let worn = map.skin(&skin.expect("joints of this skeleton")).expect("both joints have partners");
        assert_eq!((worn.joints(), worn.fingerprint()), (&[4, 15][..], Some(to.fingerprint())));
        let tail = Skin::new(vec![3, 16], vec![Affine::IDENTITY; 2]).expect("equal lengths");
        let refused = Error::Index { what: "joints of the skin", at: 1, found: 16, count: 16 };
        assert_eq!(map.skin(&tail), Err(refused));

        // Data of another skeleton is rejected.
        let needed = from.fingerprint();
        let found = to.fingerprint();
        assert_eq!(map.clip(&there), Err(Error::Skeleton { what: "the clip", found, needed }));
        assert_eq!(map.skin(&worn), Err(Error::Skeleton { what: "the skin", found, needed }));
        assert!(map.pose(&other, &mut taken).is_err() && map.pose(&pose, &mut Pose::rest(&from)).is_err());
    }
}
