//! Hitboxes: spheres, capsules and boxes that follow joints, and what rays and shapes meet of them. Shapes go in, given by hand
//! or fitted to a mesh ([`fit`]); each frame [`place`] moves them by model matrices; then [`PosedHitboxes`] answer.
//!
//! | to have | call |
//! |---|---|
//! | shapes around the vertices of each joint | [`fit`] |
//! | them where a pose has them | [`place`] |
//! | the first thing that a ray hits, all of them, or whether there is any | [`PosedHitboxes::first_hit`], [`all_hits`](PosedHitboxes::all_hits), [`any_hit`](PosedHitboxes::any_hit) |
//! | the nearest place on them | [`PosedHitboxes::closest_point`] |
//! | which of them a shape or a point is in | [`PosedHitboxes::overlapping`], [`containing`](PosedHitboxes::containing) |
//!
//! Answers are computed in f64, of those hitboxes only whose spheres eight lanes at a time do not rule out; so they are the same on
//! every instruction set and in both modes, bit for bit.
//!
//! Matrices may scale. Where they do so evenly, shapes stay what they are; else a sphere or a capsule gets the radius that its
//! longest axis would have, and a box the edges that the slanted one fits in: hitboxes may become too large, never too small.

mod broad;
mod fit;
mod overlap;
mod posed;
mod ray;
mod solid;

pub use self::fit::{Fit, fit};
pub use self::posed::{NearestHitbox, PosedHitboxes, place};
pub use self::ray::HitboxHit;
use crate::hits::Shape;
use condyle_base::error::Error;

use alloc::vec::Vec;

/// A shape that follows a joint.
///
/// ```
/// use condyle_query::hitbox::Hitbox;
/// use condyle_query::hits::Shape;
///
/// let head = Hitbox { joint: 5, shape: Shape::Sphere { center: [0.0, 0.1, 0.0], radius: 0.12 } };
/// assert_eq!(head.joint, 5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hitbox {
    /// Of the skeleton.
    pub joint: u16,
    /// In the space of the joint, metres.
    pub shape: Shape,
}

/// The hitboxes of a character, in any order and any number for a joint. What hits tell is their place in this list.
///
/// ```
/// use condyle_query::hitbox::{Hitbox, Hitboxes, PosedHitboxes, place};
/// use condyle_query::hits::{Ray, Shape};
/// use condyle::{Affine, Transform};
///
/// let head = Hitbox { joint: 0, shape: Shape::Sphere { center: [0.0; 3], radius: 0.25 } };
/// let hitboxes = Hitboxes::new(vec![head])?;
/// // Each frame.
/// let mut posed = PosedHitboxes::default();
/// let up = Affine::from(Transform { translation: [0.0, 1.5, 0.0], ..Transform::IDENTITY });
/// place(&hitboxes, &[up], &mut posed)?;
/// let shot = Ray { origin: [0.0, 1.5, 10.0], direction: [0.0, 0.0, -1.0], max: 100.0 };
/// let hit = posed.first_hit(&shot).expect("it goes through the middle");
/// assert_eq!((hit.joint, hit.distance, hit.normal), (0, 9.75, [0.0, 0.0, 1.0]));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hitboxes {
    list: Vec<Hitbox>,
    joint_end: usize,
}

impl Hitboxes {
    /// Checks and keeps them.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::OutOfRange`] for a size below 0 or a number beyond [`LIMIT`](crate::hits::LIMIT).
    pub fn new(list: Vec<Hitbox>) -> Result<Self, Error> {
        for (at, hitbox) in list.iter().enumerate() {
            hitbox.shape.check("hitboxes", at)?;
        }
        let joint_end = list.iter().map(|hitbox| usize::from(hitbox.joint) + 1).max().unwrap_or(0);
        Ok(Self { list, joint_end })
    }

    /// All of them.
    #[must_use]
    pub fn as_slice(&self) -> &[Hitbox] {
        &self.list
    }

    /// One more than the greatest joint that one of them follows.
    #[must_use]
    pub fn joint_bound(&self) -> usize {
        self.joint_end
    }
}

#[cfg(test)]
mod tests;
