//! Shapes around a character, as lines over it: the box from its joints, and hitboxes.

use condyle::Affine;
use condyle::math::sin_cos;
use condyle_gltf::PlacedBounds;
use condyle_query::bounds::Aabb;
use condyle_query::hitbox::Hitboxes;
use condyle_query::hits::Shape;

use super::marks::Mark;
use super::vector::{Vec3, add, add_scaled, frame, quat_rotate, scale, sub};

const BOX: [u8; 3] = [255, 255, 255];
const HITBOX: [u8; 3] = [72, 220, 255];
/// Line segments of a full circle.
const STEPS: u16 = 32;

/// Boxes of primitives, and hitboxes, for any pose.
#[derive(Debug, Clone)]
pub struct Shapes {
    parts: Vec<PlacedBounds>,
    hitboxes: Hitboxes,
}

impl Shapes {
    /// Builds shapes. Empty parts or empty hitboxes are not drawn.
    pub fn new(parts: Vec<PlacedBounds>, hitboxes: Hitboxes) -> Self {
        Self { parts, hitboxes }
    }

    /// Returns the lines for these matrices of the joints.
    pub fn marks(&self, model: &[Affine]) -> Vec<Mark> {
        let mut marks = Vec::new();
        for hitbox in self.hitboxes.as_slice() {
            let matrix = &model[usize::from(hitbox.joint)];
            let place = |line: [Vec3; 2]| line.map(|p| matrix.transform_point(p));
            let lines = outline(&hitbox.shape).into_iter().map(place).collect();
            marks.push(Mark::Lines { lines, radius: 0.7, color: HITBOX });
        }
        // The box is finite if the vertices are; otherwise the character is not drawn at all.
        let boxes = self.parts.iter().filter_map(|part| part.posed(model).ok());
        let whole = boxes.fold(Aabb::EMPTY, Aabb::union);
        if !whole.is_empty() {
            let (middle, half) = (whole.center(), whole.half_extents());
            let lines = edges(|signs| [0, 1, 2].map(|k| middle[k] + signs[k] * half[k]));
            marks.push(Mark::Lines { lines, radius: 1.2, color: BOX });
        }
        marks
    }
}

/// Returns the twelve edges of a box; `corner` receives the signs of a corner's coordinates.
fn edges(corner: impl Fn(Vec3) -> Vec3) -> Vec<[Vec3; 2]> {
    let ends = [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]];
    let along = |axis: usize| {
        ends.map(|[a, b]| {
            [-1.0, 1.0].map(|sign| {
                let mut signs = [0.0; 3];
                (signs[axis], signs[(axis + 1) % 3], signs[(axis + 2) % 3]) = (sign, a, b);
                corner(signs)
            })
        })
    };
    (0..3).flat_map(along).collect()
}

/// Returns the lines of a shape: three circles of a sphere, two circles and four half circles of a capsule,
/// the edges of a box.
fn outline(shape: &Shape) -> Vec<[Vec3; 2]> {
    match *shape {
        Shape::Sphere { center, radius } => {
            let [x, y, z] = [[radius, 0.0, 0.0], [0.0, radius, 0.0], [0.0, 0.0, radius]];
            [[x, y], [y, z], [z, x]].into_iter().flat_map(|[a, b]| arc(center, a, b, STEPS)).collect()
        }
        Shape::Capsule { from, to, radius } => {
            let [axis, side, other] = frame(sub(to, from));
            let [side, other] = [side, other].map(|v| scale(v, radius));
            let mut lines = Vec::new();
            for (end, out) in [(from, -radius), (to, radius)] {
                lines.extend(arc(end, side, other, STEPS));
                lines.extend(arc(end, side, scale(axis, out), STEPS / 2));
                lines.extend(arc(end, other, scale(axis, out), STEPS / 2));
            }
            lines.extend(
                [side, other, scale(side, -1.0), scale(other, -1.0)].map(|by| [add(from, by), add(to, by)]),
            );
            lines
        }
        Shape::Box { center, rotation, half_extents } => {
            edges(|signs| add(center, quat_rotate(rotation, [0, 1, 2].map(|k| signs[k] * half_extents[k]))))
        }
        _ => Vec::new(),
    }
}

/// Returns this many segments of a circle, from `a` in the direction of `b`.
fn arc(center: Vec3, a: Vec3, b: Vec3, steps: u16) -> impl Iterator<Item = [Vec3; 2]> {
    let at = move |step: u16| {
        let (sin, cos) = sin_cos(f32::from(step) * core::f32::consts::TAU / f32::from(STEPS));
        add_scaled(add_scaled(center, a, cos), b, sin)
    };
    (0..steps).map(move |step| [at(step), at(step + 1)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::{dot, length};

    #[test]
    fn lines_are_on_their_shapes() {
        for [a, b] in outline(&Shape::Box {
            center: [1.0, 2.0, 3.0],
            rotation: [0.0, 0.6, 0.0, 0.8],
            half_extents: [1.0, 2.0, 3.0],
        }) {
            let long = length(sub(a, b));
            assert!([2.0, 4.0, 6.0].iter().any(|want| (long - want).abs() < 1e-5), "{long}");
            assert!([a, b].iter().all(|p| (length(sub(*p, [1.0, 2.0, 3.0])) - 14.0_f32.sqrt()).abs() < 1e-5));
        }
        let (from, to, radius) = ([0.0, 1.0, 0.0], [2.0, 1.0, 1.0], 0.5);
        for p in outline(&Shape::Capsule { from, to, radius }).into_iter().flatten() {
            let along = sub(to, from);
            let t = (dot(sub(p, from), along) / dot(along, along)).clamp(0.0, 1.0);
            let off = length(sub(p, add_scaled(from, along, t)));
            assert!((off - radius).abs() < 1e-5, "{p:?} {off}");
        }
        let center = [3.0, 0.0, 0.0];
        for p in outline(&Shape::Sphere { center, radius }).into_iter().flatten() {
            assert!((length(sub(p, center)) - radius).abs() < 1e-6, "{p:?}");
        }
    }
}
