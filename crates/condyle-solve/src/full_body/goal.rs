//! What is asked of a body.

use condyle_base::error::Error;
use condyle_base::math::Quat;
use condyle_base::math::quats::is_near_unit;

/// What one goal of [`body`](super::body()) is about, and how much it counts.
///
/// ```
/// use condyle_solve::full_body::Goal;
///
/// let hand = Goal::position(7, [0.3, 1.2, 0.4]);
/// // Half as important: what is gained here may cost half as much elsewhere.
/// let look = Goal { weight: 0.5, ..Goal::orientation(3, [0.0, 0.0, 0.0, 1.0]) };
/// assert_eq!([hand.weight, look.weight], [1.0, 0.5]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal<'a> {
    /// What is to be where.
    pub kind: GoalKind<'a>,
    /// What a squared residual is multiplied by, relative to other goals; at least 0. With 0 the residual is told and nothing moves for it.
    pub weight: f32,
}

/// What is to be where, in model space.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum GoalKind<'a> {
    /// A point that hangs on a joint.
    Position {
        /// The joint.
        joint: u16,
        /// The point in the joint's own space, metres; 0 is the joint itself.
        offset: [f32; 3],
        /// Where it is to be, metres.
        place: [f32; 3],
    },
    /// How a joint is turned: the product of its rotation and those of all that it hangs on. Scales do not count.
    Orientation {
        /// The joint.
        joint: u16,
        /// How it is to be turned, a unit quaternion.
        orientation: Quat,
    },
    /// A joint stays where the given pose has it.
    Pin {
        /// The joint.
        joint: u16,
    },
    /// A joint stays turned as the given pose has it.
    PinOrientation {
        /// The joint.
        joint: u16,
    },
    /// The centre of mass: the mean of where joints are, by their masses.
    Mass {
        /// Joints and the mass at each, at least 0 and of finite sum greater than 0. A joint that is named twice has both.
        masses: &'a [(u16, f32)],
        /// Where it is to be, metres.
        place: [f32; 3],
    },
}

impl<'a> Goal<'a> {
    /// A joint at a place in model space, with weight 1.
    #[must_use]
    pub fn position(joint: u16, place: [f32; 3]) -> Self {
        Self { kind: GoalKind::Position { joint, offset: [0.0; 3], place }, weight: 1.0 }
    }

    /// A joint turned in model space as a unit quaternion says, with weight 1.
    #[must_use]
    pub fn orientation(joint: u16, orientation: Quat) -> Self {
        Self { kind: GoalKind::Orientation { joint, orientation }, weight: 1.0 }
    }

    /// A joint that stays where it is, with weight 1.
    #[must_use]
    pub fn pin(joint: u16) -> Self {
        Self { kind: GoalKind::Pin { joint }, weight: 1.0 }
    }

    /// A joint that stays turned as it is, with weight 1.
    #[must_use]
    pub fn pin_orientation(joint: u16) -> Self {
        Self { kind: GoalKind::PinOrientation { joint }, weight: 1.0 }
    }

    /// The centre of mass at a place in model space, with weight 1.
    #[must_use]
    pub fn mass(masses: &'a [(u16, f32)], place: [f32; 3]) -> Self {
        Self { kind: GoalKind::Mass { masses, place }, weight: 1.0 }
    }

    /// `Ok` if this is goal `at` of a body of so many joints.
    pub(super) fn check(&self, at: usize, count: usize) -> Result<(), Error> {
        let what = "goals";
        let joint = |joint: u16| {
            let found = usize::from(joint);
            if found < count { Ok(()) } else { Err(Error::Index { what, at, found, count }) }
        };
        let finite = |values: &[f32]| {
            if values.iter().all(|v| v.is_finite()) { Ok(()) } else { Err(Error::NotFinite { what, at }) }
        };
        let not_negative = |v: f32| {
            finite(&[v])?;
            if v >= 0.0 {
                Ok(())
            } else {
                Err(Error::OutOfRange { what, at, needed: "of no negative weight or mass" })
            }
        };
        not_negative(self.weight)?;
        match self.kind {
            GoalKind::Position { joint: own, offset, place } => {
                joint(own)?;
                finite(&offset)?;
                finite(&place)
            }
            GoalKind::Orientation { joint: own, orientation } => {
                joint(own)?;
                finite(&orientation)?;
                if is_near_unit(&orientation) { Ok(()) } else { Err(Error::NotUnit { what, at }) }
            }
            GoalKind::Pin { joint: own } | GoalKind::PinOrientation { joint: own } => joint(own),
            GoalKind::Mass { masses, place } => {
                finite(&place)?;
                let mut sum = 0.0;
                for &(own, mass) in masses {
                    joint(own)?;
                    not_negative(mass)?;
                    sum += f64::from(mass);
                }
                if sum > 0.0 { Ok(()) } else { Err(Error::OutOfRange { what, at, needed: "of some mass" }) }
            }
        }
    }
}
