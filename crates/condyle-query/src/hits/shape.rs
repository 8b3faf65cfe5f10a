//! Spheres, capsules and boxes: what they may be, and what they are in f64. [`hitbox`](crate::hitbox) builds on the same ones.

use super::LIMIT;
use condyle_base::error::Error;
use condyle_base::math::Quat;

/// What can touch triangles and hitboxes, or be a hitbox. It is filled: what is all inside touches too.
///
/// Its numbers are finite and at most [`LIMIT`] in size, its radius or extents not below 0, in metres; what is otherwise is refused as a hitbox, and
/// touches nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// A ball.
    Sphere {
        /// Its middle.
        center: [f32; 3],
        /// Its radius.
        radius: f32,
    },
    /// What is at most `radius` away from the way between two points.
    Capsule {
        /// One end of the way.
        from: [f32; 3],
        /// The other end.
        to: [f32; 3],
        /// How far around it.
        radius: f32,
    },
    /// A box that may be turned.
    Box {
        /// Its middle.
        center: [f32; 3],
        /// How its axes are turned: a quaternion of any length, which is normalised here; zero does not turn.
        rotation: Quat,
        /// Half of its sides.
        half_extents: [f32; 3],
    },
}

impl Shape {
    /// What is wrong with it, if anything.
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
            return Err(Error::OutOfRange { what, at, needed: "have no size below 0" });
        }
        Ok(())
    }
}

/// A shape in f64. A sphere is a capsule of no length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Solid {
    Capsule {
        from: [f64; 3],
        /// To the other end.
        along: [f64; 3],
        radius: f64,
    },
    Box {
        center: [f64; 3],
        /// Unit vectors at right angles.
        axes: [[f64; 3]; 3],
        half: [f64; 3],
    },
}

impl Solid {
    /// Of a shape that is as it should be.
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

/// The axes that a quaternion turns to; of length 1 whatever its length is.
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
