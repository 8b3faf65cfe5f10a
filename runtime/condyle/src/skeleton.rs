//! The joint hierarchy of a character: a validated [`Skeleton`] built from [`Joint`]s, with its rest pose.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::pose::Pose;
use condyle_base::bytes::checksum;
use condyle_base::error::Error;
use condyle_base::math::Transform;
use condyle_base::math::quats::is_near_unit;

/// A hierarchy of joints, with parents stored before their children, and its rest pose.
///
/// The skeleton of a document holds every node that is a joint of a skin, that an animation moves, or that
/// carries a moving mesh. It also holds all ancestors of these nodes, so that one
/// [`local_to_model`](crate::local_to_model) computes the matrices of all of them. The [`Skin`](crate::Skin)
/// of a mesh lists the joints that deform the mesh.
///
/// ```
/// use condyle::{Joint, Skeleton, Transform};
///
/// let up = |y| Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY };
/// let hips = Joint::new("hips", None, up(1.0));
/// let skeleton =
///     Skeleton::new([hips, Joint::new("spine", Some(0), up(0.3)), Joint::new("leg", Some(0), up(-0.1))])?;
/// assert_eq!(skeleton.joint_by_name("leg"), Some(2));
/// assert_eq!(skeleton.parent(2), Some(0));
/// assert_eq!(skeleton.subtree(1), [1]);
/// assert_eq!(skeleton.rest().get(1), up(0.3));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Skeleton {
    parents: Vec<u16>,
    names: Vec<String>,
    nodes: Vec<u32>,
    rest: Pose,
    fingerprint: u32,
    rest_fingerprint: u32,
    /// All joints in depth-first order: joint `j` and its descendants are
    /// `order[places[j]..places[j] + sizes[j]]`.
    order: Vec<u16>,
    places: Vec<u16>,
    sizes: Vec<u16>,
    /// All joints with their parents, sorted by depth: no joint depends on another one of the same depth.
    by_depth: Vec<[u16; 2]>,
}

/// Prints the number of joints and the first four names.
impl fmt::Debug for Skeleton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Prints at most 24 characters of a name, because names have no length limit.
        struct Short<'a>(&'a str);
        impl fmt::Debug for Short<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let end = self.0.char_indices().nth(24).map_or(self.0.len(), |(at, _)| at);
                fmt::Debug::fmt(&self.0[..end], f)
            }
        }
        let names: Vec<_> = self.names.iter().take(4).map(|name| Short(name)).collect();
        let mut all = f.debug_struct("Skeleton");
        all.field("joint_count", &self.joint_count()).field("first_names", &names).finish_non_exhaustive()
    }
}

/// One joint of the input of [`Skeleton::new`].
///
/// ```
/// use condyle::{Joint, Skeleton, Transform};
///
/// // An importer stores the node index, so that animation channels find their joint.
/// let hips = Joint { node: Some(7), ..Joint::new("hips", None, Transform::IDENTITY) };
/// let skeleton = Skeleton::new([hips])?;
/// assert_eq!(skeleton.joint_by_node(7), Some(0));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Joint {
    /// Name in the document. It may be empty, and several joints may share it.
    pub name: String,
    /// Index of the parent, which must be smaller than the index of this joint; `None` for a root.
    pub parent: Option<u16>,
    /// Index of the document's node, below [`NO_NODE`]; `None` if the joint does not come from a document.
    pub node: Option<u32>,
    /// Local transform in the rest pose, the document's default pose.
    pub rest: Transform,
}

impl Joint {
    /// Returns a joint that does not come from a document.
    ///
    /// ```
    /// use condyle::{Joint, Skeleton, Transform};
    ///
    /// let shin = Transform { translation: [0.0, -0.4, 0.0], ..Transform::IDENTITY };
    /// let joints = [Joint::new("thigh", None, Transform::IDENTITY), Joint::new("shin", Some(0), shin)];
    /// assert_eq!(Skeleton::new(joints)?.parent(1), Some(0));
    /// # Ok::<(), condyle::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn new(name: impl Into<String>, parent: Option<u16>, rest: Transform) -> Self {
        Self { name: name.into(), parent, node: None, rest }
    }
}

/// Value of [`Skeleton::parents`] for a root.
pub const NO_PARENT: u16 = u16::MAX;

/// Value of [`Skeleton::nodes`] for a joint that does not come from a document.
pub const NO_NODE: u32 = u32::MAX;

impl Skeleton {
    /// Maximum number of joints.
    pub const MAX_JOINTS: usize = NO_PARENT as usize;

    /// Builds a skeleton from joints in parents-first order.
    ///
    /// Components of rest rotations below 2^-30 (1e-9) become 0. They are rounding noise of exporters, and
    /// their products can be subnormal numbers, which processors compute about 100 times slower. On one real
    /// character they took a third of the frame time.
    ///
    /// # Errors
    /// [`Error::TooMany`] above [`Self::MAX_JOINTS`]; [`Error::ParentOrder`] where a parent does not precede
    /// its child; [`Error::NotFinite`] where a rest transform holds NaN or infinity; [`Error::NotUnit`] where
    /// its rotation's length is more than 2 % from 1.
    pub fn new(joints: impl IntoIterator<Item = Joint>) -> Result<Self, Error> {
        let mut parents = Vec::new();
        let mut names = Vec::new();
        let mut nodes = Vec::new();
        let mut rest = Vec::new();
        for (index, joint) in joints.into_iter().enumerate() {
            if index == Self::MAX_JOINTS {
                return Err(Error::TooMany { what: "joints", found: index + 1, limit: Self::MAX_JOINTS });
            }
            if let Some(parent) = joint.parent.filter(|&p| usize::from(p) >= index) {
                return Err(Error::ParentOrder { joint: index, parent: parent.into() });
            }
            check_rest("joints", index, &joint.rest)?;
            rest.push(without_noise(joint.rest));
            parents.push(joint.parent.unwrap_or(NO_PARENT));
            names.push(joint.name);
            nodes.push(joint.node.unwrap_or(NO_NODE));
        }
        let (order, places, sizes) = depth_first(&parents);
        let by_depth = by_depth(&parents);
        let fingerprint = fingerprint(&parents, &names);
        let rest_fingerprint = fingerprint_of_rest(rest.iter().copied());
        let rest = Pose::from_transforms(&rest);
        Ok(Self {
            parents,
            names,
            nodes,
            rest,
            fingerprint,
            rest_fingerprint,
            order,
            places,
            sizes,
            by_depth,
        })
    }

    /// Returns the same joints with another rest pose.
    ///
    /// # Errors
    /// [`Error::Length`] if `rest` has a different number of joints; [`Error::NotFinite`] and
    /// [`Error::NotUnit`] under the conditions of [`Self::new`].
    pub fn with_rest(&self, rest: &Pose) -> Result<Self, Error> {
        rest.check_joints("rest", self.joint_count())?;
        for (at, t) in rest.transforms().enumerate() {
            check_rest("rest", at, &t)?;
        }
        let rest: Vec<Transform> = rest.transforms().map(without_noise).collect();
        let rest_fingerprint = fingerprint_of_rest(rest.iter().copied());
        Ok(Self { rest: Pose::from_transforms(&rest), rest_fingerprint, ..self.clone() })
    }

    /// Returns the same joints with a rest pose of [`Transform::IDENTITY`].
    ///
    /// Encode and sample additive clips ([`difference_clip`](crate::blending::difference_clip)) on this
    /// skeleton: a joint that the clip does not drive then adds nothing.
    #[must_use]
    pub fn additive(&self) -> Self {
        let rest = Pose::identity(self.joint_count());
        Self { rest_fingerprint: fingerprint_of_rest(rest.transforms()), rest, ..self.clone() }
    }

    /// Returns a joint and all its descendants, parents first.
    ///
    /// # Panics
    /// If `joint` is out of range.
    #[must_use]
    #[inline]
    pub fn subtree(&self, joint: u16) -> &[u16] {
        let joint = usize::from(joint);
        let first = usize::from(self.places[joint]);
        &self.order[first..first + usize::from(self.sizes[joint])]
    }

    /// Returns all joints, each with its parent or [`NO_PARENT`], sorted by depth.
    #[inline]
    pub(crate) fn by_depth(&self) -> &[[u16; 2]] {
        &self.by_depth
    }

    /// Returns a hash of the names and parents of all joints, in joint order. Never 0.
    ///
    /// The rest pose does not affect it: see [`rest_fingerprint`](Self::rest_fingerprint).
    ///
    /// Clips and skins that store the fingerprint of their skeleton are rejected on a skeleton with another
    /// fingerprint ([`Error::Skeleton`]). To transfer them, use [`JointMap`](crate::JointMap), which matches
    /// joints by name.
    #[must_use]
    #[inline]
    pub fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// Returns a hash of the rest transforms of all joints, in joint order. Never 0.
    ///
    /// Compressed clips store curves relative to the rest pose, so they are rejected on a skeleton with
    /// another rest pose ([`Error::RestPose`]). Raw clips store whole transforms, and play on any rest pose.
    #[must_use]
    #[inline]
    pub fn rest_fingerprint(&self) -> u32 {
        self.rest_fingerprint
    }

    /// Checks that curves relative to the rest pose with the fingerprint `found` fit this skeleton; 0 means
    /// unknown.
    #[inline]
    #[doc(hidden)]
    pub fn check_rest_fingerprint(&self, what: &'static str, found: u32) -> Result<(), Error> {
        if found == 0 || found == self.rest_fingerprint {
            return Ok(());
        }
        Err(Error::RestPose { what, found, needed: self.rest_fingerprint })
    }

    /// Checks that data made for the skeleton with the fingerprint `found` fits this skeleton; 0 means
    /// unknown.
    #[inline]
    #[doc(hidden)]
    pub fn check_fingerprint(&self, what: &'static str, found: u32) -> Result<(), Error> {
        if found == 0 || found == self.fingerprint {
            return Ok(());
        }
        Err(Error::Skeleton { what, found, needed: self.fingerprint })
    }

    /// Number of joints.
    #[must_use]
    #[inline]
    pub fn joint_count(&self) -> usize {
        self.parents.len()
    }

    /// Returns the parent of each joint, always smaller than the joint's index; [`NO_PARENT`] for a root.
    #[must_use]
    #[inline]
    pub fn parents(&self) -> &[u16] {
        &self.parents
    }

    /// Returns the parent of one joint; `None` for a root.
    ///
    /// # Panics
    /// If `joint` is out of range.
    #[must_use]
    #[inline]
    pub fn parent(&self, joint: u16) -> Option<u16> {
        Some(self.parents[usize::from(joint)]).filter(|&p| p != NO_PARENT)
    }

    /// Returns the name of each joint.
    #[must_use]
    #[inline]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the document's node of each joint; [`NO_NODE`] for a joint that does not come from a document.
    #[must_use]
    #[inline]
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Returns the document's node of one joint; `None` if the joint does not come from a document.
    ///
    /// # Panics
    /// If `joint` is out of range.
    #[must_use]
    #[inline]
    pub fn node(&self, joint: u16) -> Option<u32> {
        Some(self.nodes[usize::from(joint)]).filter(|&node| node != NO_NODE)
    }

    /// Returns the rest pose: the local transforms of the document's default pose. [`new`](Self::new) removes
    /// the rounding noise from their rotations.
    #[must_use]
    #[inline]
    pub fn rest(&self) -> &Pose {
        &self.rest
    }

    /// Returns the first joint with this name.
    #[must_use]
    pub fn joint_by_name(&self, name: &str) -> Option<u16> {
        self.names.iter().position(|n| n == name).map(|j| j as u16)
    }

    /// Returns the joint made from this node of the document.
    #[must_use]
    pub fn joint_by_node(&self, node: u32) -> Option<u16> {
        self.nodes.iter().position(|&n| n == node && n != NO_NODE).map(|j| j as u16)
    }
}

/// Checks that the transform of joint `at` is finite and its rotation near unit length; `what` names the
/// input.
#[inline]
pub(crate) fn check_rest(what: &'static str, at: usize, t: &Transform) -> Result<(), Error> {
    if !t.rotation.iter().chain(&t.translation).chain(&t.scale).all(|v| v.is_finite()) {
        return Err(Error::NotFinite { what, at });
    }
    if is_near_unit(&t.rotation) { Ok(()) } else { Err(Error::NotUnit { what, at }) }
}

/// Returns the transform with rotation components below 2^-30 set to 0. They are below the last bit of the
/// largest component, which is at least 1/2.
fn without_noise(rest: Transform) -> Transform {
    const NOISE: f32 = 1.0 / (1 << 30) as f32;
    Transform { rotation: rest.rotation.map(|v| if v.abs() < NOISE { 0.0 } else { v }), ..rest }
}

/// See [`Skeleton::fingerprint`].
#[inline]
fn fingerprint(parents: &[u16], names: &[String]) -> u32 {
    let mut bytes = Vec::new();
    for (parent, name) in parents.iter().zip(names) {
        bytes.extend(parent.to_le_bytes());
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name.as_bytes());
    }
    folded(checksum(&bytes))
}

/// See [`Skeleton::rest_fingerprint`].
fn fingerprint_of_rest(rest: impl Iterator<Item = Transform>) -> u32 {
    let mut bytes = Vec::new();
    for Transform { rotation, translation, scale } in rest {
        for number in rotation.iter().chain(&translation).chain(&scale) {
            // Adding 0.0 turns -0.0 into 0.0.
            bytes.extend((number + 0.0).to_le_bytes());
        }
    }
    folded(checksum(&bytes))
}

fn folded(sum: u64) -> u32 {
    // 0 means an unknown fingerprint.
    ((sum >> 32) as u32 ^ sum as u32).max(1)
}

/// Returns all joints with their parents, sorted by depth; joints of the same depth keep their order.
#[inline]
fn by_depth(parents: &[u16]) -> Vec<[u16; 2]> {
    let mut depths: Vec<u16> = Vec::with_capacity(parents.len());
    let mut starts: Vec<usize> = Vec::new();
    for &parent in parents {
        let depth = depths.get(usize::from(parent)).map_or(0, |depth| depth + 1);
        depths.push(depth);
        // The number of joints of each depth. A depth is at most one more than the largest before.
        match starts.get_mut(usize::from(depth)) {
            Some(count) => *count += 1,
            None => starts.push(1),
        }
    }
    let mut first = 0;
    for start in &mut starts {
        first += core::mem::replace(start, first);
    }
    let mut order = vec![[0; 2]; parents.len()];
    for (joint, (&parent, depth)) in parents.iter().zip(depths).enumerate() {
        let place = &mut starts[usize::from(depth)];
        // A skeleton has at most 65,535 joints.
        order[*place] = [joint as u16, parent];
        *place += 1;
    }
    order
}

/// Returns the joints in depth-first order, the place of each joint in that order, and the size of each
/// subtree.
fn depth_first(parents: &[u16]) -> (Vec<u16>, Vec<u16>, Vec<u16>) {
    let mut sizes = vec![1; parents.len()];
    for (joint, &parent) in parents.iter().enumerate().rev() {
        if parent != NO_PARENT {
            sizes[usize::from(parent)] += sizes[joint];
        }
    }
    // The next free place in the subtree of each joint, and for the next root.
    let mut next = vec![0; parents.len()];
    let mut next_root = 0;
    let (mut order, mut places) = (vec![0; parents.len()], vec![0; parents.len()]);
    for (&parent, joint) in parents.iter().zip(0_u16..) {
        let at = usize::from(joint);
        let place = if parent == NO_PARENT { &mut next_root } else { &mut next[usize::from(parent)] };
        places[at] = *place;
        *place += sizes[at];
        // One past the end of the order if this joint is a leaf in the last place: at most 65,535.
        next[at] = places[at] + 1;
        order[usize::from(places[at])] = joint;
    }
    (order, places, sizes)
}

impl Pose {
    /// Returns the rest pose of a skeleton.
    #[must_use]
    #[inline]
    pub fn rest(skeleton: &Skeleton) -> Self {
        skeleton.rest().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tries;
    use std::format;

    fn joint(parent: Option<u16>) -> Joint {
        Joint::new(format!("child of {parent:?}"), parent, Transform::IDENTITY)
    }

    #[test]
    fn parents_must_come_first() {
        for parent in [1, 2, NO_PARENT] {
            let refused = Skeleton::new([joint(None), joint(Some(parent))]);
            assert_eq!(refused, Err(Error::ParentOrder { joint: 1, parent: parent.into() }));
        }
        let skeleton =
            Skeleton::new([joint(None), joint(Some(0)), joint(None)]).expect("parents before children");
        assert_eq!(skeleton.parents(), [NO_PARENT, 0, NO_PARENT]);
        assert_eq!((skeleton.parent(0), skeleton.parent(1)), (None, Some(0)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow")]
    fn every_index_below_the_sentinel_is_a_joint_and_not_one_more() {
        let chain =
            |count: usize| Skeleton::new((0..count).map(|j| joint(j.checked_sub(1).map(|p| p as u16))));
        assert_eq!(chain(Skeleton::MAX_JOINTS).map(|s| s.joint_count()), Ok(65_535));
        let refused = chain(Skeleton::MAX_JOINTS + 1);
        assert_eq!(refused.err(), Some(Error::TooMany { what: "joints", found: 65_536, limit: 65_535 }));
    }

    #[test]
    fn rest_transforms_must_be_finite_rotations() {
        for bad in [f32::NAN, f32::INFINITY] {
            let rest = Transform { scale: [1.0, bad, 1.0], ..Transform::IDENTITY };
            let refused = Skeleton::new([joint(None), Joint { rest, ..joint(None) }]);
            assert_eq!(refused, Err(Error::NotFinite { what: "joints", at: 1 }));
        }
        let rest = Transform { rotation: [3.0, 0.0, 0.0, 0.0], ..Transform::IDENTITY };
        let refused = Skeleton::new([joint(None), Joint { rest, ..joint(None) }]);
        assert_eq!(refused, Err(Error::NotUnit { what: "joints", at: 1 }));
    }

    #[test]
    fn rest_rotations_are_without_the_noise_of_zeros() {
        let noisy = Transform {
            translation: [1e-17, 2.0, 0.0],
            rotation: [1e-17, -9e-10, 1e-9, 1.0],
            ..Transform::IDENTITY
        };
        let clean = Transform { rotation: [0.0, 0.0, 1e-9, 1.0], ..noisy };
        let skeleton = Skeleton::new([Joint { rest: noisy, ..joint(None) }]).expect("a rotation");
        assert_eq!(skeleton.rest().get(0), clean);
        let other = skeleton.additive().with_rest(&Pose::from_transforms(&[noisy]));
        assert_eq!(other.expect("a rotation").rest().get(0), clean);
    }

    #[test]
    fn another_rest_pose_leaves_the_joints() {
        let mut random = crate::testing::Random(5);
        let (skeleton, pose) = (random.skeleton(20), random.pose(20));
        let other = skeleton.with_rest(&pose).expect("one transform per joint");
        assert_eq!(
            (other.rest(), other.parents(), other.names()),
            (&pose, skeleton.parents(), skeleton.names())
        );
        assert_eq!(skeleton.with_rest(&Pose::identity(20)), Ok(skeleton.additive()));
        let short = skeleton.with_rest(&Pose::identity(19));
        assert_eq!(short, Err(Error::Length { what: "rest", found: 19, needed: 20 }));
        let mut bad = pose;
        bad.set(7, &Transform { rotation: [0.0; 4], ..Transform::IDENTITY });
        assert_eq!(skeleton.with_rest(&bad), Err(Error::NotUnit { what: "rest", at: 7 }));
    }

    #[test]
    fn the_largest_skeleton_and_pose_print_as_a_line() {
        let long = || Joint::new("ß".repeat(1000), None, Transform::IDENTITY);
        let skeleton = Skeleton::new((0..tries(60_000)).map(|_| long())).expect("roots");
        for text in [format!("{skeleton:?}"), format!("{:?}", skeleton.rest())] {
            assert!(text.len() < 300 && text.contains(&format!("{}", tries(60_000))), "{text}");
        }
    }

    /// Joints of several limbs may be interleaved. The test compares each subtree with a walk to the root.
    #[test]
    fn a_subtree_is_all_that_has_the_joint_above_it() {
        let parents = [None, Some(0), None, Some(0), Some(2), Some(1), Some(3), Some(5), Some(1), Some(2)];
        let skeleton = Skeleton::new(parents.map(joint)).expect("parents before children");
        for top in 0..10 {
            let above = |joint: u16| {
                let mut up = Some(joint);
                while up.is_some_and(|j| j != top) {
                    up = skeleton.parent(up.expect("a joint with a parent"));
                }
                up.is_some()
            };
            let subtree = skeleton.subtree(top);
            let mut sorted = subtree.to_vec();
            sorted.sort_unstable();
            let want: Vec<u16> = (0..10).filter(|&j| above(j)).collect();
            assert_eq!(sorted, want, "below {top}");
            for (at, &joint) in subtree.iter().enumerate().skip(1) {
                let parent = skeleton.parent(joint).expect("below another");
                assert!(subtree[..at].contains(&parent), "joint {joint} below {top}");
            }
        }
    }

    #[test]
    fn a_fingerprint_is_of_names_and_parents() {
        let named = |name: &str, parent| Joint::new(name, parent, Transform::IDENTITY);
        let of = |joints: [Joint; 3]| Skeleton::new(joints).expect("parents before children").fingerprint();
        let chain = of([named("a", None), named("b", Some(0)), named("c", Some(1))]);
        assert_eq!(chain, of([named("a", None), named("b", Some(0)), named("c", Some(1))]));
        let others = [
            of([named("a", None), named("b", Some(0)), named("c", Some(0))]),
            of([named("a", None), named("b", Some(0)), named("c", None)]),
            of([named("a", None), named("c", Some(0)), named("b", Some(1))]),
            of([named("ab", None), named("", Some(0)), named("c", Some(1))]),
        ];
        for (at, other) in others.iter().enumerate() {
            assert!(*other != chain && *other != 0 && !others[..at].contains(other), "{at}");
        }
        let mut random = crate::testing::Random(5);
        let (skeleton, pose) = (random.skeleton(20), random.pose(20));
        assert_eq!(skeleton.with_rest(&pose).map(|other| other.fingerprint()), Ok(skeleton.fingerprint()));
        assert_eq!(skeleton.additive().fingerprint(), skeleton.fingerprint());
    }

    #[test]
    fn joints_are_found_by_name_and_by_node() {
        let mut joints = [joint(None), joint(Some(0)), joint(Some(0))];
        joints[2].node = Some(3);
        let skeleton = Skeleton::new(joints).expect("parents before children");
        assert_eq!(skeleton.joint_by_name("child of Some(0)"), Some(1));
        assert_eq!(skeleton.joint_by_name("tail"), None);
        assert_eq!((skeleton.joint_by_node(3), skeleton.joint_by_node(4)), (Some(2), None));
        assert_eq!((skeleton.node(2), skeleton.node(1)), (Some(3), None));
        assert_eq!((skeleton.nodes(), skeleton.joint_by_node(NO_NODE)), (&[NO_NODE, NO_NODE, 3][..], None));
    }
}
