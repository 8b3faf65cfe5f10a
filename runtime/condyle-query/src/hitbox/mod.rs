//! Hitboxes: spheres, capsules and boxes that follow joints, and ray, point and overlap queries on them.
//!
//! Define the shapes by hand or [`fit`] them to a mesh. Each frame, [`place`] moves them by the model
//! matrices; then query the [`PosedHitboxes`].
//!
//! | result | function |
//! |---|---|
//! | shapes around the vertices of each joint | [`fit`] |
//! | hitboxes in a pose | [`place`] |
//! | first hit of a ray, all hits, or whether there is any | [`PosedHitboxes::first_hit`], [`all_hits`](PosedHitboxes::all_hits), [`any_hit`](PosedHitboxes::any_hit) |
//! | nearest point | [`PosedHitboxes::closest_point`] |
//! | hitboxes that a shape overlaps or that contain a point | [`PosedHitboxes::overlapping`], [`containing`](PosedHitboxes::containing) |
//!
//! A SIMD broad phase tests bounding spheres, eight at a time, and the remaining hitboxes are tested in f64.
//! Results are therefore bit-identical on every instruction set and in both numeric modes.
//!
//! Matrices may scale. Under uniform scale, shapes keep their form. Otherwise the radius of a sphere or
//! capsule is scaled by the largest stretch of the matrix. A box becomes a box that encloses the sheared one.
//! Hitboxes may become too large, never too small.

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

/// Shape that follows a joint.
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
    /// Joint index in the skeleton.
    pub joint: u16,
    /// Shape in joint space, in metres.
    pub shape: Shape,
}

/// Hitboxes of a character, in any order, with any number per joint. Hits report the index in this list.
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
/// let hit = posed.first_hit(&shot).expect("the ray passes through the middle");
/// assert_eq!((hit.joint, hit.distance, hit.normal), (0, 9.75, [0.0, 0.0, 1.0]));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hitboxes {
    list: Vec<Hitbox>,
    joint_end: usize,
}

impl Hitboxes {
    /// Validates the list and takes ownership of it.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a number that is not finite. [`Error::OutOfRange`] for a negative size or a
    /// number beyond [`LIMIT`](crate::hits::LIMIT).
    pub fn new(list: Vec<Hitbox>) -> Result<Self, Error> {
        for (at, hitbox) in list.iter().enumerate() {
            hitbox.shape.check("hitboxes", at)?;
        }
        let joint_end = list.iter().map(|hitbox| usize::from(hitbox.joint) + 1).max().unwrap_or(0);
        Ok(Self { list, joint_end })
    }

    /// Returns all hitboxes.
    #[must_use]
    pub fn as_slice(&self) -> &[Hitbox] {
        &self.list
    }

    /// Returns the largest joint index of a hitbox plus one; 0 without hitboxes.
    #[must_use]
    pub fn joint_bound(&self) -> usize {
        self.joint_end
    }
}

#[cfg(test)]
mod tests;
