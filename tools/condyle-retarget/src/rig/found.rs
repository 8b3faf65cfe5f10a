//! Input and result of a search for a humanoid.

use core::fmt;
use std::collections::BTreeMap;

use condyle::Pose;

use super::humanoid::Humanoid;
use super::role::Role;

/// Knowledge about a skeleton that [`find`](super::find()) uses in addition to names and rest pose.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hints<'a> {
    /// Pose for the shape where the rest pose is no stance: the first frame of a clip. In some motion capture
    /// all bones of the rest pose have one direction.
    pub pose: Option<&'a Pose>,
    /// Accept feet outside of their legs: see [`Humanoid::with_loose_feet`].
    pub loose_feet: bool,
    /// Joints by the name of a humanoid bone, from the map of the file itself, for example of a VRM. Other
    /// names are ignored. An invalid map is not used if `given` is empty: [`Found::unused_bones`] has the
    /// reason.
    pub bones: BTreeMap<String, u16>,
    /// Corrections: roles with their joints, or with `None` for a role that no joint has. They override
    /// `bones`.
    pub given: Vec<(Role, Option<u16>)>,
}

impl Hints<'_> {
    /// Roles of the bones of the file and of the corrections.
    pub(super) fn all_given(&self) -> Vec<(Role, Option<u16>)> {
        let corrected =
            |role: Role, joint: u16| self.given.iter().any(|&(it, other)| it == role || other == Some(joint));
        let bones = self.bones.iter().filter_map(|(name, &joint)| Some((name.parse().ok()?, joint)));
        let mut all: Vec<_> = bones
            .filter(|&(role, joint)| !corrected(role, joint))
            .map(|(role, joint)| (role, Some(joint)))
            .collect();
        all.extend(&self.given);
        all
    }
}

/// A humanoid that [`find`](super::find()) found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Joints by role.
    pub humanoid: Humanoid,
    /// Joints that a person should look at, by role.
    pub doubts: Vec<Doubt>,
    /// Whether the pose shows how the body stands. If not, names alone decide on left and right.
    pub has_stance: bool,
    /// Whether [`Hints::pose`] gave the shape, because the rest pose is no stance. A [`Plan`](crate::Plan)
    /// then needs the skeleton with that pose at rest, by
    /// [`Skeleton::with_rest`](condyle::Skeleton::with_rest).
    pub is_posed: bool,
    /// Why the bones of the file, [`Hints::bones`], were not used. `None` if they were.
    pub unused_bones: Option<NotHumanoid>,
    /// Evidence for each role of the humanoid, in the order of [`Humanoid::roles`].
    pub evidence: Vec<(Role, Evidence)>,
}

/// Evidence that a joint has a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// A correction of the caller.
    Given,
    /// Name and place in the body.
    NameAndShape,
    /// Only the place in the body: the name means nothing, or something else.
    Shape,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Given => "given",
            Self::NameAndShape => "name, shape",
            Self::Shape => "shape",
        })
    }
}

/// A role whose joint may be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// Role.
    pub role: Role,
    /// Joint that has the role.
    pub joint: u16,
    /// Reason, as a part of a sentence.
    pub why: String,
}

/// The reason why a skeleton is no humanoid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotHumanoid {
    /// Required roles for which no joint was found.
    pub missing: Vec<Role>,
    /// Reason, as a part of a sentence.
    pub why: String,
}

impl fmt::Display for NotHumanoid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no humanoid: {}", self.why)?;
        if self.missing.is_empty() {
            return Ok(());
        }
        f.write_str("; no joints for ")?;
        for (at, role) in self.missing.iter().enumerate() {
            write!(f, "{}{role}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl core::error::Error for NotHumanoid {}
