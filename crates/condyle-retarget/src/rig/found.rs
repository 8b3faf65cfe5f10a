//! Input and result of a search for a humanoid.

use core::fmt;

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
    /// Corrections: roles with their joints, or with `None` for a role that no joint has.
    pub given: Vec<(Role, Option<u16>)>,
}

impl Hints<'_> {
    /// Adds corrections that override those from before, such as a person's on those of a map in the file.
    pub fn correct(&mut self, corrections: &[(Role, Option<u16>)]) {
        let corrected = |role: Role, joint: Option<u16>| {
            corrections.iter().any(|&(it, other)| it == role || (other == joint && joint.is_some()))
        };
        self.given.retain(|&(role, joint)| !corrected(role, joint));
        self.given.extend(corrections);
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
