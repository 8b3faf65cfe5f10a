//! The joints of one humanoid by role.

use condyle::{Error, Skeleton};

use super::role::Role;

/// The joints of a humanoid: which joint of a skeleton plays which role.
///
/// Every required role has a joint. No joint has two roles. Each joint is below the joint of the role that
/// carries it.
///
/// Spines and necks have any number of joints. [`spine`](Self::spine) and [`neck`](Self::neck) list all.
///
/// ```
/// use condyle::example;
/// use condyle_retarget::rig::{Humanoid, Role};
///
/// let skeleton = example::skeleton();
/// let missing = Humanoid::new(&skeleton, [(Role::Hips, 0)]);
/// assert!(missing.is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Humanoid {
    joints: [Option<u16>; Role::ALL.len()],
    spine: Vec<u16>,
    neck: Vec<u16>,
    twists: Vec<Twist>,
    metacarpals: Vec<Metacarpal>,
    /// Whether the left and the right foot are outside of their legs.
    loose: [bool; 2],
    fingerprint: u32,
}

/// A bone of the palm, between the hand and a finger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metacarpal {
    /// Proximal bone of the finger.
    pub of: Role,
    /// Joint between the hand and that bone.
    pub joint: u16,
}

/// A joint that takes a part of the twist of a limb's bone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Twist {
    /// Role of the bone.
    pub of: Role,
    /// Joint that twists along.
    pub joint: u16,
}

impl Humanoid {
    /// Builds the map from pairs of role and joint.
    ///
    /// The joints from the hips to the neck, and from there to the head, are those between on the path.
    ///
    /// # Errors
    /// [`Error::Index`] for a joint that does not exist. [`Error::OutOfRange`] for a role or a joint that
    /// comes twice, for a required role without a joint, and for a joint that is not below the joint of the
    /// role that carries it.
    pub fn new(skeleton: &Skeleton, pairs: impl IntoIterator<Item = (Role, u16)>) -> Result<Self, Error> {
        let map = Self::with_loose_feet(skeleton, pairs)?;
        match Role::ALL.into_iter().find(|role| map.is_loose(*role)) {
            Some(role) => Err(Error::OutOfRange { what: "pairs", at: role as usize, needed: BELOW }),
            None => Ok(map),
        }
    }

    /// Builds the map like [`Self::new`], but feet may be outside of their legs.
    ///
    /// Some exporters leave the feet of a rig with inverse kinematics below the root. Such a foot follows its
    /// leg only if its translation is set.
    ///
    /// # Errors
    /// The others of [`Self::new`].
    pub fn with_loose_feet(
        skeleton: &Skeleton,
        pairs: impl IntoIterator<Item = (Role, u16)>,
    ) -> Result<Self, Error> {
        let mut joints = [None; Role::ALL.len()];
        let out = |at, needed| Error::OutOfRange { what: "pairs", at, needed };
        for (at, (role, joint)) in pairs.into_iter().enumerate() {
            let count = skeleton.joint_count();
            if usize::from(joint) >= count {
                return Err(Error::Index { what: "pairs", at, found: joint.into(), count });
            }
            if joints[role as usize].is_some() || joints.contains(&Some(joint)) {
                return Err(out(at, "each role and each joint once"));
            }
            joints[role as usize] = Some(joint);
        }
        if Role::ALL.iter().any(|role| role.is_required() && joints[*role as usize].is_none()) {
            return Err(out(0, "every required role: hips, spine, head, both arms and both legs"));
        }
        let mut map = Self {
            joints,
            spine: Vec::new(),
            neck: Vec::new(),
            twists: Vec::new(),
            metacarpals: Vec::new(),
            loose: [false; 2],
            fingerprint: skeleton.fingerprint(),
        };
        for (role, joint) in map.roles() {
            let Some(carrier) = map.carrier(role) else { continue };
            let above = map.joints[carrier as usize].unwrap_or(joint);
            match (above == joint || !is_below(skeleton, joint, above), role) {
                (false, _) => {}
                (true, Role::LeftFoot) => map.loose[0] = true,
                (true, Role::RightFoot) => map.loose[1] = true,
                (true, role) => return Err(out(role as usize, BELOW)),
            }
        }
        map.chains(skeleton);
        Ok(map)
    }

    /// Finds the chains of spine and neck: the path from the hips to the head, split at the joint that
    /// carries the arms.
    fn chains(&mut self, skeleton: &Skeleton) {
        let required = |role: Role| self.joints[role as usize].unwrap_or_default();
        let (hips, head) = (required(Role::Hips), required(Role::Head));
        let above = ancestors(skeleton, head).skip(1);
        let mut path: Vec<u16> = above.take_while(|&joint| joint != hips).collect();
        path.reverse();
        let arm = required(Role::LeftUpperArm);
        let carries = |joint: u16| is_below(skeleton, arm, joint);
        let split = match self.joints[Role::Neck as usize] {
            Some(neck) => path.iter().position(|&joint| joint == neck).unwrap_or(path.len()),
            None => path.iter().rposition(|&joint| carries(joint)).map_or(path.len(), |at| at + 1),
        };
        self.neck = path.split_off(split);
        self.spine = path;
    }

    /// Returns the same map with these twist joints.
    #[must_use]
    pub fn with_twists(mut self, twists: impl IntoIterator<Item = Twist>) -> Self {
        self.twists = twists.into_iter().collect();
        self
    }

    /// Returns the same map with these bones of the palm.
    #[must_use]
    pub fn with_metacarpals(mut self, metacarpals: impl IntoIterator<Item = Metacarpal>) -> Self {
        self.metacarpals = metacarpals.into_iter().collect();
        self
    }

    /// Returns the joint of a role.
    #[must_use]
    pub fn joint(&self, role: Role) -> Option<u16> {
        self.joints[role as usize]
    }

    /// Returns the role of a joint.
    #[must_use]
    pub fn role(&self, joint: u16) -> Option<Role> {
        self.joints.iter().position(|&it| it == Some(joint)).map(|at| Role::ALL[at])
    }

    /// Returns all roles that have a joint, with it.
    pub fn roles(&self) -> impl Iterator<Item = (Role, u16)> + use<> {
        let joints = self.joints;
        Role::ALL.into_iter().filter_map(move |role| Some((role, joints[role as usize]?)))
    }

    /// Returns the joints between hips and neck, parents first, without the hips.
    #[must_use]
    pub fn spine(&self) -> &[u16] {
        &self.spine
    }

    /// Returns the joints between spine and head, parents first, without the head.
    #[must_use]
    pub fn neck(&self) -> &[u16] {
        &self.neck
    }

    /// Returns the twist joints.
    #[must_use]
    pub fn twists(&self) -> &[Twist] {
        &self.twists
    }

    /// Returns whether a foot is not below its shin: see [`Self::with_loose_feet`].
    #[must_use]
    pub fn is_loose(&self, role: Role) -> bool {
        match role {
            Role::LeftFoot => self.loose[0],
            Role::RightFoot => self.loose[1],
            _ => false,
        }
    }

    /// Returns the bones of the palm.
    #[must_use]
    pub fn metacarpals(&self) -> &[Metacarpal] {
        &self.metacarpals
    }

    /// Returns the [fingerprint](Skeleton::fingerprint) of the skeleton.
    #[must_use]
    pub fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// Returns the nearest role that carries a role and has a joint. `None` for the hips.
    #[must_use]
    pub fn carrier(&self, role: Role) -> Option<Role> {
        let mut above = role.carrier();
        while let Some(role) = above {
            if self.joints[role as usize].is_some() {
                return Some(role);
            }
            above = role.carrier();
        }
        None
    }
}

const BELOW: &str = "joints below the joint that carries them";

/// Returns a joint and its ancestors, upwards.
fn ancestors(skeleton: &Skeleton, joint: u16) -> impl Iterator<Item = u16> {
    core::iter::successors(Some(joint), |&joint| skeleton.parent(joint))
}

fn is_below(skeleton: &Skeleton, joint: u16, above: u16) -> bool {
    ancestors(skeleton, joint).any(|it| it == above)
}
