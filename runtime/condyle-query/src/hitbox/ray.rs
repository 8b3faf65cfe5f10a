//! Ray tests against single solids.

use super::solid::{Vector, nearest_on};
use crate::hits::{Ray, Solid};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{along, dot, sub};

/// Intersection of a ray and a hitbox.
///
/// A ray that begins inside a hitbox hits it at distance 0, with a normal that points back along the ray.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HitboxHit {
    /// Index in the list of [`Hitboxes`](super::Hitboxes).
    pub hitbox: usize,
    /// Joint that the hitbox follows.
    pub joint: u16,
    /// Distance in lengths of the ray's direction. Infinite if the direction is so short that the distance
    /// overflows f32.
    pub distance: f32,
    /// Point on the surface, or the ray's origin if that is inside.
    pub position: [f32; 3],
    /// Outward unit normal; zero if the ray starts inside and its direction is zero.
    pub normal: [f32; 3],
}

/// Ray in f64.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) origin: Vector,
    pub(super) direction: Vector,
    /// Squared length of the direction.
    square: f64,
    /// Inverse of `square`; infinite for a zero direction.
    inverse_square: f64,
    pub(super) max: f64,
}

impl Line {
    /// Returns `None` for a ray that cannot hit anything.
    pub(super) fn new(ray: &Ray) -> Option<Self> {
        let direction = ray.direction.map(f64::from);
        let square = dot(direction, direction);
        let it = Self {
            origin: ray.origin.map(f64::from),
            direction,
            square,
            inverse_square: 1.0 / square,
            max: f64::from(ray.max),
        };
        ray.is_sound().then_some(it)
    }

    pub(super) fn at(&self, t: f64) -> Vector {
        along(self.origin, self.direction, t)
    }

    /// Length of the direction.
    pub(super) fn length(&self) -> f64 {
        sqrt_f64(self.square)
    }

    /// Unit vector opposite to the direction, or zero.
    pub(super) fn back(&self) -> Vector {
        let length = self.length();
        if length > 0.0 { self.direction.map(|v| -v / length) } else { [0.0; 3] }
    }
}

/// Distance at which the ray enters a solid, up to `max`; 0 if it begins inside.
pub(super) fn enter(solid: &Solid, ray: &Line, max: f64) -> Option<f64> {
    let t = match *solid {
        Solid::Capsule { from, along: way, radius } => capsule(from, way, radius, ray),
        Solid::Box { center, axes, half } => {
            let to = sub(ray.origin, center);
            slabs(axes.map(|a| dot(a, to)), axes.map(|a| dot(a, ray.direction)), half)
        }
    }?;
    (t >= 0.0 && t <= max).then_some(t)
}

/// Outward normal at the entry point.
pub(super) fn normal(solid: &Solid, ray: &Line, t: f64) -> Vector {
    if t <= 0.0 {
        return ray.back();
    }
    match *solid {
        Solid::Capsule { from, along: way, .. } => {
            let point = ray.at(t);
            let out = sub(point, along(from, way, nearest_on(from, way, point)));
            let length = sqrt_f64(dot(out, out));
            if length > 0.0 { out.map(|v| v / length) } else { ray.back() }
        }
        Solid::Box { center, axes, half } => {
            let local = axes.map(|a| dot(a, sub(ray.at(t), center)));
            let direction = axes.map(|a| dot(a, ray.direction));
            // The face nearest to the entry point, among those that face the ray's origin.
            let depth = |k: usize| {
                let towards = -1.0_f64.copysign(direction[k]);
                if direction[k] == 0.0 { f64::INFINITY } else { (half[k] - towards * local[k]).abs() }
            };
            let face = (1..3).fold(0, |face, k| if depth(k) < depth(face) { k } else { face });
            axes[face].map(|v| v * -1.0_f64.copysign(direction[face]))
        }
    }
}

/// Entry distance, negative if the capsule is behind the origin.
fn capsule(from: Vector, way: Vector, radius: f64, ray: &Line) -> Option<f64> {
    let length2 = dot(way, way);
    let middle = sub(along(from, way, 0.5), ray.origin);
    // Only an origin this close to the middle can be inside, because (a + b)² <= 2a² + 2b². The excess over
    // one half allows for rounding.
    if dot(middle, middle) <= 0.501 * length2 + 2.001 * radius * radius {
        let to_origin = sub(ray.origin, along(from, way, nearest_on(from, way, ray.origin)));
        if dot(to_origin, to_origin) <= radius * radius {
            return Some(0.0);
        }
    }
    if ray.square == 0.0 {
        return None;
    }
    // Starts from the point of the ray that is nearest to the middle, so that a distant origin costs no
    // precision.
    let shift = dot(middle, ray.direction) * ray.inverse_square;
    let start = sub(ray.at(shift), from);
    let (along_way, start_along) = (dot(way, ray.direction), dot(way, start));
    // Infinite cylinder: at² + 2bt + c = 0.
    let a = length2 * ray.square - along_way * along_way;
    let b = length2 * dot(ray.direction, start) - start_along * along_way;
    let c = length2 * (dot(start, start) - radius * radius) - start_along * start_along;
    let height = if a > 1e-14 * length2 * ray.square {
        let d = b * b - a * c;
        if d < 0.0 {
            return None;
        }
        let t = (-b - sqrt_f64(d)) / a;
        let height = start_along + t * along_way;
        if height > 0.0 && height < length2 {
            return Some(shift + t);
        }
        height
    } else if c > 0.0 {
        return None;
    } else {
        // Parallel to the axis, or a sphere: tests the cap that the ray reaches first.
        if along_way > 0.0 { 0.0 } else { length2 }
    };
    let start = if height <= 0.0 { start } else { sub(start, way) };
    let b = dot(ray.direction, start);
    let d = b * b - ray.square * (dot(start, start) - radius * radius);
    if d < 0.0 { None } else { Some(shift + (-b - sqrt_f64(d)) * ray.inverse_square) }
}

/// Distance at which the ray has entered all three slabs of a box around the origin.
fn slabs(origin: Vector, direction: Vector, half: Vector) -> Option<f64> {
    let (mut enter, mut leave) = (0.0_f64, f64::INFINITY);
    for k in 0..3 {
        if direction[k] == 0.0 {
            if origin[k].abs() > half[k] {
                return None;
            }
            continue;
        }
        let (a, b) = ((-half[k] - origin[k]) / direction[k], (half[k] - origin[k]) / direction[k]);
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    (enter <= leave).then_some(enter)
}
