//! Spheres, capsules and boxes: their validation and their f64 form. [`hitbox`](crate::hitbox) uses the same
//! shapes.

use super::LIMIT;
use condyle_base::error::Error;
use condyle_base::math::Quat;

/// Shape to test against triangles and hitboxes, or to use as a hitbox. Shapes are solid: a triangle or
/// hitbox completely inside touches too.
///
/// Numbers must be finite and at most [`LIMIT`] in absolute value, and radius and extents at least 0, in
/// metres. [`Hitboxes::new`](crate::hitbox::Hitboxes::new) rejects an invalid shape; in queries it touches
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// Solid sphere.
    Sphere {
        /// Centre.
        center: [f32; 3],
        /// Radius.
        radius: f32,
    },
    /// All points within `radius` of the segment between two points.
    Capsule {
        /// Start of the segment.
        from: [f32; 3],
        /// End of the segment.
        to: [f32; 3],
        /// Radius around the segment.
        radius: f32,
    },
    /// Oriented box.
    Box {
        /// Centre.
        center: [f32; 3],
        /// Rotation of the axes. A quaternion of any length is normalised; a zero quaternion means no
        /// rotation.
        rotation: Quat,
        /// Half of the side lengths.
        half_extents: [f32; 3],
    },
}

impl Shape {
    /// Returns an error if the shape is invalid.
    pub(crate) fn check(&self, what: &'static str, at: usize) -> Result<(), Error> {
        let (places, rotation, sizes): ([&[f32; 3]; 2], &[f32], &[f32]) = match self {
            Self::Sphere { center, radius } => ([center; 2], &[], core::slice::from_ref(radius)),
            Self::Capsule { from, to, radius } => ([from, to], &[], core::slice::from_ref(radius)),
            Self::Box { center, rotation, half_extents } => ([center; 2], rotation, half_extents),
        };
        let numbers = || places.into_iter().flatten().chain(sizes);
        if !numbers().chain(rotation).all(|v| v.is_finite()) {
            return Err(Error::NotFinite { what, at });
        }
        if !numbers().all(|v| v.abs() <= LIMIT) {
            return Err(Error::OutOfRange { what, at, needed: "within 2^60 of 0" });
        }
        if sizes.iter().any(|&v| v < 0.0) {
            return Err(Error::OutOfRange { what, at, needed: "of non-negative size" });
        }
        Ok(())
    }
}

/// Shape in f64. A sphere is a capsule whose segment has zero length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Solid {
    Capsule {
        from: [f64; 3],
        /// Vector from `from` to the other end.
        along: [f64; 3],
        radius: f64,
    },
    Box {
        center: [f64; 3],
        /// Orthonormal axes.
        axes: [[f64; 3]; 3],
        half: [f64; 3],
    },
}

impl Solid {
    /// Converts a valid shape.
    #[inline]
    pub(crate) fn of(shape: &Shape) -> Self {
        match *shape {
            Shape::Sphere { center, radius } => {
                Self::Capsule { from: center.map(f64::from), along: [0.0; 3], radius: radius.into() }
            }
            Shape::Capsule { from, to, radius } => {
                let [from, to] = [from, to].map(|p| p.map(f64::from));
                let along = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
                Self::Capsule { from, along, radius: radius.into() }
            }
            Shape::Box { center, rotation, half_extents } => Self::Box {
                center: center.map(f64::from),
                axes: axes_of(rotation.map(f64::from)),
                half: half_extents.map(f64::from),
            },
        }
    }
}

/// Axes after the rotation by a quaternion of any length. They have unit length.
pub(crate) fn axes_of(q: [f64; 4]) -> [[f64; 3]; 3] {
    let [x, y, z, w] = q;
    let length2 = x * x + y * y + z * z + w * w;
    let two = if length2 > 0.0 { 2.0 / length2 } else { 0.0 };
    [
        [1.0 - two * (y * y + z * z), two * (x * y + z * w), two * (x * z - y * w)],
        [two * (x * y - z * w), 1.0 - two * (x * x + z * z), two * (y * z + x * w)],
        [two * (x * z + y * w), two * (y * z - x * w), 1.0 - two * (x * x + y * y)],
    ]
}
