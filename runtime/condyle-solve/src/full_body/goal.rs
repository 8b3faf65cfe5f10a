//! Goals of a body.

use condyle_base::error::Error;
use condyle_base::math::Quat;
use condyle_base::math::quats::is_near_unit;

/// One goal of [`body`](super::body()), and its weight.
///
/// ```
/// use condyle_solve::full_body::Goal;
///
/// let hand = Goal::position(7, [0.3, 1.2, 0.4]);
/// // Half as important: an improvement here may cost at most half as much elsewhere.
/// let look = Goal { weight: 0.5, ..Goal::orientation(3, [0.0, 0.0, 0.0, 1.0]) };
/// assert_eq!([hand.weight, look.weight], [1.0, 0.5]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal<'a> {
    /// Kind of goal, with its target.
    pub kind: GoalKind<'a>,
    /// Factor of the squared residual, relative to other goals; at least 0. With 0 the residual is computed,
    /// but no joint moves for the goal.
    pub weight: f32,
}

/// Kind of goal. Targets are in model space.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum GoalKind<'a> {
    /// A point attached to a joint reaches a position.
    Position {
        /// Joint index.
        joint: u16,
        /// Point in the joint's local space in metres; 0 is the joint itself.
        offset: [f32; 3],
        /// Target position in metres.
        place: [f32; 3],
    },
    /// A joint reaches an orientation: the product of its rotation and those of its ancestors. Scales have no
    /// effect.
    Orientation {
        /// Joint index.
        joint: u16,
        /// Target orientation, a unit quaternion.
        orientation: Quat,
    },
    /// A joint keeps its position in the input pose.
    Pin {
        /// Joint index.
        joint: u16,
    },
    /// A joint keeps its orientation in the input pose.
    PinOrientation {
        /// Joint index.
        joint: u16,
    },
    /// The centre of mass, the weighted mean of joint positions, reaches a position.
    Mass {
        /// Joint indices with masses, each at least 0, with a finite sum above 0. The masses of a repeated
        /// joint add up.
        masses: &'a [(u16, f32)],
        /// Target position in metres.
        place: [f32; 3],
    },
}

impl<'a> Goal<'a> {
    /// A joint at a position in model space, with weight 1.
    #[must_use]
    pub fn position(joint: u16, place: [f32; 3]) -> Self {
        Self { kind: GoalKind::Position { joint, offset: [0.0; 3], place }, weight: 1.0 }
    }

    /// A joint with an orientation in model space, given as a unit quaternion, with weight 1.
    #[must_use]
    pub fn orientation(joint: u16, orientation: Quat) -> Self {
        Self { kind: GoalKind::Orientation { joint, orientation }, weight: 1.0 }
    }

    /// A joint that keeps its position, with weight 1.
    #[must_use]
    pub fn pin(joint: u16) -> Self {
        Self { kind: GoalKind::Pin { joint }, weight: 1.0 }
    }

    /// A joint that keeps its orientation, with weight 1.
    #[must_use]
    pub fn pin_orientation(joint: u16) -> Self {
        Self { kind: GoalKind::PinOrientation { joint }, weight: 1.0 }
    }

    /// The centre of mass at a position in model space, with weight 1.
    #[must_use]
    pub fn mass(masses: &'a [(u16, f32)], place: [f32; 3]) -> Self {
        Self { kind: GoalKind::Mass { masses, place }, weight: 1.0 }
    }

    /// Checks goal `at` of a body with `count` joints.
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
                Err(Error::OutOfRange { what, at, needed: "given non-negative weights and masses" })
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
                if sum > 0.0 {
                    Ok(())
                } else {
                    Err(Error::OutOfRange { what, at, needed: "given a total mass above 0" })
                }
            }
        }
    }
}
