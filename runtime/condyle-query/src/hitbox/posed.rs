//! Hitboxes in a pose, and queries on them.

use alloc::vec::Vec;
use core::ops::ControlFlow;

use super::broad::{Group, LANES, Way, near};
use super::overlap::overlap;
use super::ray::{HitboxHit, Line, enter, normal};
use super::solid::{Surface, Vector, rounded_out};
use super::{Hitbox, Hitboxes};
use crate::bounds::Aabb;
use crate::hits::{Ray, Shape, Solid, is_within};
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{dot, sub};

/// Hitboxes in model space. [`place`] fills them each frame and reuses the memory. [`Hitboxes`] has an
/// example.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PosedHitboxes {
    solids: Vec<Solid>,
    joints: Vec<u16>,
    groups: Vec<Group>,
    bounds: Aabb,
}

/// Nearest point on the surface of the hitboxes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearestHitbox {
    /// Index in the list of [`Hitboxes`].
    pub hitbox: usize,
    /// Joint that the hitbox follows.
    pub joint: u16,
    /// Distance in metres; negative if the query point is inside.
    pub distance: f32,
    /// Nearest point on the surface.
    pub position: [f32; 3],
    /// Outward unit normal.
    pub normal: [f32; 3],
}

/// Moves hitboxes by the model matrices of their joints.
///
/// `model` holds one matrix per joint of the skeleton, as written by
/// [`local_to_model`](condyle::local_to_model). `posed` allocates only when it grows. A hitbox moved by a
/// matrix that is not finite is never hit.
///
/// # Errors
/// [`Error::TooShort`] if `model` lacks a joint that a hitbox follows. `posed` is then unchanged.
pub fn place(hitboxes: &Hitboxes, model: &[Affine], posed: &mut PosedHitboxes) -> Result<(), Error> {
    Error::check_room("model", model.len(), hitboxes.joint_bound())?;
    let moved = |it: &Hitbox| Solid::of(&it.shape).moved(&model[usize::from(it.joint)].to_f64());
    let list = hitboxes.as_slice();
    posed.solids.clear();
    posed.solids.extend(list.iter().map(moved));
    posed.joints.clear();
    posed.joints.extend(list.iter().map(|it| it.joint));
    posed.groups.clear();
    posed.groups.extend(posed.solids.chunks(LANES).map(Group::new));
    posed.bounds = around_all(&posed.solids);
    Ok(())
}

/// Box around all solids; empty if there are no solids or none is finite.
fn around_all(solids: &[Solid]) -> Aabb {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for solid in solids {
        let [center, half] = solid.extent();
        // Allows for f64 rounding here and in hit positions. It is relative to the size of the hitbox, even
        // for a side close to the origin.
        let size: f64 = center.iter().chain(&half).map(|v| v.abs()).sum();
        for c in 0..3 {
            let half = half[c] + 8.0 * f64::EPSILON * size;
            low[c] = low[c].min(center[c] - half);
            high[c] = high[c].max(center[c] + half);
        }
    }
    if low[0] > high[0] {
        return Aabb::EMPTY;
    }
    Aabb { min: low.map(|v| (v as f32).next_down()), max: high.map(|v| (v as f32).next_up()) }
}

impl PosedHitboxes {
    /// Returns the number of hitboxes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.solids.len()
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.solids.is_empty()
    }

    /// Returns the box around all hitboxes.
    #[must_use]
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// Returns the first hitbox that a ray hits, and the hit point. If several hitboxes are at equal
    /// distance, returns the first one in the list. [`Ray`] documents which rays hit nothing.
    #[must_use]
    pub fn first_hit(&self, ray: &Ray) -> Option<HitboxHit> {
        let line = Line::new(ray)?;
        let (t, hitbox) = self.first(&line, line.max)?;
        Some(self.hit(&line, t, hitbox))
    }

    /// Returns whether a ray hits any hitbox; stops at the first one found.
    #[must_use]
    pub fn any_hit(&self, ray: &Ray) -> bool {
        let Some(line) = Line::new(ray) else { return false };
        let hit = |at: usize| enter(&self.solids[at], &line, line.max).map(|_| ());
        near(&self.groups, self.len(), &way(&line, line.max), hit).is_some()
    }

    /// Calls `visit` for each hitbox that a ray hits, with the entry point, in the order of the list, until
    /// `visit` breaks.
    pub fn all_hits(&self, ray: &Ray, mut visit: impl FnMut(HitboxHit) -> ControlFlow<()>) {
        let Some(line) = Line::new(ray) else { return };
        near(&self.groups, self.len(), &way(&line, line.max), |at| {
            let t = enter(&self.solids[at], &line, line.max)?;
            visit(self.hit(&line, t, at)).is_break().then_some(())
        });
    }

    /// Returns the nearest point on the surface of any hitbox. If the point is inside several hitboxes,
    /// returns the nearest surface point of the one in which it is deepest.
    ///
    /// Returns `None` if no hitbox is at most `max` away, if the point is not finite, or if a coordinate
    /// exceeds [`LIMIT`](crate::hits::LIMIT).
    #[must_use]
    pub fn closest_point(&self, point: [f32; 3], max: f32) -> Option<NearestHitbox> {
        if !is_within(&point) {
            return None;
        }
        let (from, max) = (point.map(f64::from), f64::from(max));
        let mut best: Option<(usize, Surface)> = None;
        for (at, solid) in self.solids.iter().enumerate() {
            let spheres = &self.groups[at / LANES].spheres;
            let [x, y, z, r] = [0, 1, 2, 3].map(|k| f64::from(spheres[k][at % LANES]));
            // No point of the hitbox is nearer than its bounding sphere.
            let to = sub([x, y, z], from);
            let within = best.as_ref().map_or(max, |(_, best)| best.distance) + r;
            if within.is_nan() || within < 0.0 || dot(to, to) > within * within {
                continue;
            }
            let surface = solid.closest(from);
            let nearer = match &best {
                Some((_, best)) => surface.distance < best.distance,
                None => surface.distance <= max,
            };
            if surface.distance.is_finite() && nearer {
                best = Some((at, surface));
            }
        }
        best.map(|(hitbox, surface)| NearestHitbox {
            hitbox,
            joint: self.joints[hitbox],
            distance: surface.distance as f32,
            position: surface.point.map(|v| v as f32),
            normal: surface.normal.map(|v| v as f32),
        })
    }

    /// Returns whether any hitbox shares a point with a shape in model space. Touching is enough.
    #[must_use]
    pub fn overlaps(&self, shape: &Shape) -> bool {
        let mut any = false;
        self.overlapping(shape, |_| {
            any = true;
            ControlFlow::Break(())
        });
        any
    }

    /// Calls `visit` with the index of each hitbox that shares a point with a shape in model space, until
    /// `visit` breaks. Touching is enough.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use condyle::Affine;
    /// use condyle_query::hitbox::{Hitbox, Hitboxes, PosedHitboxes, place};
    /// use condyle_query::hits::Shape;
    ///
    /// let ball = |x| Hitbox { joint: 0, shape: Shape::Sphere { center: [x, 0.0, 0.0], radius: 1.0 } };
    /// let mut posed = PosedHitboxes::default();
    /// place(&Hitboxes::new(vec![ball(0.0), ball(1.0), ball(9.0)])?, &[Affine::IDENTITY], &mut posed)?;
    /// let blast = Shape::Sphere { center: [2.5, 0.0, 0.0], radius: 1.5 };
    /// let mut met = vec![];
    /// posed.overlapping(&blast, |hitbox| {
    ///     met.push(hitbox);
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(met, [0, 1]);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn overlapping(&self, shape: &Shape, mut visit: impl FnMut(usize) -> ControlFlow<()>) {
        if shape.check("shape", 0).is_err() {
            return;
        }
        let solid = Solid::of(shape);
        near(&self.groups, self.len(), &around(&solid), |at| {
            (overlap(&self.solids[at], &solid) && visit(at).is_break()).then_some(())
        });
    }

    /// Returns the first hitbox in the list whose interior or surface contains a point.
    #[must_use]
    pub fn containing(&self, point: [f32; 3]) -> Option<usize> {
        let mut found = None;
        // An invalid shape touches nothing, so an invalid point returns `None`.
        self.overlapping(&Shape::Sphere { center: point, radius: 0.0 }, |at| {
            found = Some(at);
            ControlFlow::Break(())
        });
        found
    }

    /// Distance along the line, at most `max`, and index of the first hitbox.
    fn first(&self, line: &Line, max: f64) -> Option<(f64, usize)> {
        let mut best = None;
        let mut max = max;
        near(&self.groups, self.len(), &way(line, max), |at| {
            if let Some(t) = enter(&self.solids[at], line, max)
                && (best.is_none() || t < max)
            {
                (max, best) = (t, Some(at));
            }
            None::<()>
        });
        best.map(|at| (max, at))
    }

    fn hit(&self, line: &Line, t: f64, hitbox: usize) -> HitboxHit {
        HitboxHit {
            hitbox,
            joint: self.joints[hitbox],
            distance: t as f32,
            position: line.at(t).map(|v| v as f32),
            normal: normal(&self.solids[hitbox], line, t).map(|v| v as f32 + 0.0),
        }
    }
}

/// Converts a ray for the broad phase.
fn way(line: &Line, max: f64) -> Way {
    let length = line.length();
    let direction = if length > 0.0 { line.direction.map(|v| (v / length) as f32) } else { [0.0; 3] };
    let far = if length > 0.0 { length * max } else { 0.0 };
    Way { origin: line.origin.map(|v| v as f32), direction, length: (far as f32).next_up(), radius: 0.0 }
}

/// Converts a solid for the broad phase: a capsule unchanged, a box to its bounding sphere.
fn around(solid: &Solid) -> Way {
    let (from, way, radius): (Vector, Vector, f64) = match *solid {
        Solid::Capsule { from, along, radius } => (from, along, radius),
        Solid::Box { center, half, .. } => (center, [0.0; 3], sqrt_f64(dot(half, half))),
    };
    let length = sqrt_f64(dot(way, way));
    let direction = if length > 0.0 { way.map(|v| (v / length) as f32) } else { [0.0; 3] };
    Way {
        origin: from.map(|v| v as f32),
        direction,
        length: (length as f32).next_up(),
        radius: rounded_out(radius, from),
    }
}
