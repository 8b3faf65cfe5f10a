//! Roles of a humanoid's joints, by the names of VRM 1.0.

use core::fmt;
use core::str::FromStr;

/// A side of the body, as the character sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Left.
    Left,
    /// Right.
    Right,
}

macro_rules! roles {
    ($($name:ident $text:literal $means:literal,)*) => {
        /// The part that a joint plays in a humanoid: the 55 bones of VRM 1.0.
        ///
        /// [`Display`](fmt::Display) prints VRM's name, and [`FromStr`] reads it.
        ///
        /// ```
        /// use condyle_retarget::rig::Role;
        ///
        /// assert_eq!(Role::ALL.len(), 55);
        /// assert_eq!(Role::LeftUpperArm.to_string(), "leftUpperArm");
        /// assert_eq!("leftUpperArm".parse(), Ok(Role::LeftUpperArm));
        /// assert_eq!(Role::LeftFoot.mirrored(), Role::RightFoot);
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Role {
            $(#[doc = $means] $name,)*
        }

        impl Role {
            /// All roles, from the hips outwards.
            pub const ALL: [Self; 55] = [$(Self::$name,)*];

            /// Returns the name in VRM 1.0.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

roles! {
    Hips "hips" "Pelvis: the joint that carries spine and legs.",
    Spine "spine" "Lowest joint of the spine.",
    Chest "chest" "Joint above the spine.",
    UpperChest "upperChest" "Joint that carries neck and shoulders.",
    Neck "neck" "Lowest joint of the neck.",
    Head "head" "Head.",
    LeftEye "leftEye" "Left eye.",
    RightEye "rightEye" "Right eye.",
    Jaw "jaw" "Lower jaw.",
    LeftUpperLeg "leftUpperLeg" "Left thigh.",
    LeftLowerLeg "leftLowerLeg" "Left shin; the joint is the knee.",
    LeftFoot "leftFoot" "Left foot; the joint is the ankle.",
    LeftToes "leftToes" "Left ball of the foot.",
    LeftShoulder "leftShoulder" "Left clavicle.",
    LeftUpperArm "leftUpperArm" "Left upper arm; the joint is the shoulder.",
    LeftLowerArm "leftLowerArm" "Left forearm; the joint is the elbow.",
    LeftHand "leftHand" "Left hand; the joint is the wrist.",
    LeftThumbMetacarpal "leftThumbMetacarpal" "Left thumb, metacarpal bone.",
    LeftThumbProximal "leftThumbProximal" "Left thumb, proximal bone.",
    LeftThumbDistal "leftThumbDistal" "Left thumb, distal bone.",
    LeftIndexProximal "leftIndexProximal" "Left index finger, proximal bone.",
    LeftIndexIntermediate "leftIndexIntermediate" "Left index finger, intermediate bone.",
    LeftIndexDistal "leftIndexDistal" "Left index finger, distal bone.",
    LeftMiddleProximal "leftMiddleProximal" "Left middle finger, proximal bone.",
    LeftMiddleIntermediate "leftMiddleIntermediate" "Left middle finger, intermediate bone.",
    LeftMiddleDistal "leftMiddleDistal" "Left middle finger, distal bone.",
    LeftRingProximal "leftRingProximal" "Left ring finger, proximal bone.",
    LeftRingIntermediate "leftRingIntermediate" "Left ring finger, intermediate bone.",
    LeftRingDistal "leftRingDistal" "Left ring finger, distal bone.",
    LeftLittleProximal "leftLittleProximal" "Left little finger, proximal bone.",
    LeftLittleIntermediate "leftLittleIntermediate" "Left little finger, intermediate bone.",
    LeftLittleDistal "leftLittleDistal" "Left little finger, distal bone.",
    RightUpperLeg "rightUpperLeg" "Right thigh.",
    RightLowerLeg "rightLowerLeg" "Right shin; the joint is the knee.",
    RightFoot "rightFoot" "Right foot; the joint is the ankle.",
    RightToes "rightToes" "Right ball of the foot.",
    RightShoulder "rightShoulder" "Right clavicle.",
    RightUpperArm "rightUpperArm" "Right upper arm; the joint is the shoulder.",
    RightLowerArm "rightLowerArm" "Right forearm; the joint is the elbow.",
    RightHand "rightHand" "Right hand; the joint is the wrist.",
    RightThumbMetacarpal "rightThumbMetacarpal" "Right thumb, metacarpal bone.",
    RightThumbProximal "rightThumbProximal" "Right thumb, proximal bone.",
    RightThumbDistal "rightThumbDistal" "Right thumb, distal bone.",
    RightIndexProximal "rightIndexProximal" "Right index finger, proximal bone.",
    RightIndexIntermediate "rightIndexIntermediate" "Right index finger, intermediate bone.",
    RightIndexDistal "rightIndexDistal" "Right index finger, distal bone.",
    RightMiddleProximal "rightMiddleProximal" "Right middle finger, proximal bone.",
    RightMiddleIntermediate "rightMiddleIntermediate" "Right middle finger, intermediate bone.",
    RightMiddleDistal "rightMiddleDistal" "Right middle finger, distal bone.",
    RightRingProximal "rightRingProximal" "Right ring finger, proximal bone.",
    RightRingIntermediate "rightRingIntermediate" "Right ring finger, intermediate bone.",
    RightRingDistal "rightRingDistal" "Right ring finger, distal bone.",
    RightLittleProximal "rightLittleProximal" "Right little finger, proximal bone.",
    RightLittleIntermediate "rightLittleIntermediate" "Right little finger, intermediate bone.",
    RightLittleDistal "rightLittleDistal" "Right little finger, distal bone.",
}

/// Number of roles of one side, which follow each other in [`Role::ALL`].
const ONE_SIDE: usize = 23;
/// Index of the first role of the left side.
const FIRST_LEFT: usize = 9;

impl Role {
    /// Returns the side. `None` for joints in the middle of the body.
    #[must_use]
    pub fn side(self) -> Option<Side> {
        match self {
            Self::LeftEye => Some(Side::Left),
            Self::RightEye => Some(Side::Right),
            _ if (self as usize) < FIRST_LEFT => None,
            _ if (self as usize) < FIRST_LEFT + ONE_SIDE => Some(Side::Left),
            _ => Some(Side::Right),
        }
    }

    /// Returns the same role of the other side. Joints in the middle have themselves.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match (self, self.side()) {
            (Self::LeftEye, _) => Self::RightEye,
            (Self::RightEye, _) => Self::LeftEye,
            (_, None) => self,
            (_, Some(Side::Left)) => Self::ALL[self as usize + ONE_SIDE],
            (_, Some(Side::Right)) => Self::ALL[self as usize - ONE_SIDE],
        }
    }

    /// Returns this role on a side. Joints in the middle have themselves.
    #[must_use]
    pub fn on(self, side: Side) -> Self {
        if self.side() == Some(side) { self } else { self.mirrored() }
    }

    /// Returns the role whose joint carries this one in a humanoid with every role. `None` for the hips.
    #[must_use]
    pub fn carrier(self) -> Option<Self> {
        let left = match self.on(Side::Left) {
            Self::Hips => return None,
            Self::Spine | Self::LeftUpperLeg => return Some(Self::Hips),
            Self::Neck | Self::LeftShoulder => return Some(Self::UpperChest),
            Self::LeftEye | Self::Jaw => return Some(Self::Head),
            Self::LeftThumbMetacarpal
            | Self::LeftIndexProximal
            | Self::LeftMiddleProximal
            | Self::LeftRingProximal
            | Self::LeftLittleProximal => Self::LeftHand,
            // The joints of a limb, a finger or the spine follow each other in the list.
            other => Self::ALL[other as usize - 1],
        };
        Some(self.side().map_or(left, |side| left.on(side)))
    }

    /// Returns whether a humanoid needs the joint: hips, spine, head, and arms and legs without shoulders and
    /// toes. These are the joints that VRM 1.0 requires.
    #[must_use]
    pub fn is_required(self) -> bool {
        let left = self.on(Side::Left);
        matches!(left, Self::Hips | Self::Spine | Self::Head)
            || matches!(left, Self::LeftUpperLeg | Self::LeftLowerLeg | Self::LeftFoot)
            || matches!(left, Self::LeftUpperArm | Self::LeftLowerArm | Self::LeftHand)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no role has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRole(pub String);

impl fmt::Display for UnknownRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no humanoid bone of VRM 1.0, such as hips or leftUpperArm", self.0)
    }
}

impl core::error::Error for UnknownRole {}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        let role = Self::ALL.into_iter().find(|role| role.name() == name);
        role.ok_or_else(|| UnknownRole(name.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_mirror_each_other() {
        for role in Role::ALL {
            assert_eq!(Role::ALL[role as usize], role);
            assert_eq!(role.mirrored().mirrored(), role);
            assert_eq!(role.side().is_none(), role.mirrored() == role);
            assert_eq!(role.name().parse(), Ok(role));
            let other = role.name().replace("left", "\0").replace("right", "left").replace('\0', "right");
            assert_eq!(role.mirrored().name(), other);
        }
        for (role, carrier) in [
            (Role::Hips, None),
            (Role::Chest, Some(Role::Spine)),
            (Role::Head, Some(Role::Neck)),
            (Role::RightEye, Some(Role::Head)),
            (Role::RightUpperLeg, Some(Role::Hips)),
            (Role::RightToes, Some(Role::RightFoot)),
            (Role::RightUpperArm, Some(Role::RightShoulder)),
            (Role::LeftThumbDistal, Some(Role::LeftThumbProximal)),
            (Role::RightLittleProximal, Some(Role::RightHand)),
        ] {
            assert_eq!(role.carrier(), carrier, "{role}");
        }
        assert_eq!(Role::ALL.iter().filter(|role| role.is_required()).count(), 15);
        assert!("tail".parse::<Role>().is_err());
    }
}
