//! Posed shapes in f64.

use crate::bounds::{Sphere, stretch};
use crate::hits::Solid;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{along, cross, dot, sub};

pub(super) type Vector = [f64; 3];

/// Point on a surface, signed distance to it (negative inside), and outward normal.
pub(super) struct Surface {
    pub(super) point: Vector,
    pub(super) distance: f64,
    pub(super) normal: Vector,
}

/// Normalises a vector. Returns `None` if its length is only the rounding error of a calculation with numbers
/// of size `size`.
pub(super) fn unit(v: Vector, size: f64) -> Option<Vector> {
    let length = sqrt_f64(dot(v, v));
    (length > 1e-9 * size && length > 0.0).then(|| v.map(|c| c / length))
}

/// Any unit vector perpendicular to `v`, or the x axis for a zero vector.
pub(super) fn across(v: Vector) -> Vector {
    let [x, y, z] = v.map(f64::abs);
    let axis = if x <= y && x <= z {
        [1.0, 0.0, 0.0]
    } else if y <= z {
        [0.0, 1.0, 0.0]
    } else {
        [0.0, 0.0, 1.0]
    };
    unit(cross(v, axis), 0.0).unwrap_or([1.0, 0.0, 0.0])
}

impl Solid {
    /// Solid that no query hits, because every comparison with NaN is false.
    const NOWHERE: Self = Self::Capsule { from: [f64::NAN; 3], along: [0.0; 3], radius: f64::NAN };

    /// Transforms the solid by a matrix, enlarged if the result is not a capsule or a box.
    #[inline]
    pub(super) fn moved(&self, rows: &[[f64; 4]; 3]) -> Self {
        if !rows.as_flattened().iter().all(|v| v.is_finite()) {
            return Self::NOWHERE;
        }
        let turn = |v: Vector| [0, 1, 2].map(|r| rows[r][0] * v[0] + rows[r][1] * v[1] + rows[r][2] * v[2]);
        let place = |p: Vector| {
            let p = turn(p);
            [p[0] + rows[0][3], p[1] + rows[1][3], p[2] + rows[2][3]]
        };
        match *self {
            Self::Capsule { from, along: way, radius } => {
                Self::Capsule { from: place(from), along: turn(way), radius: radius * stretch(rows) }
            }
            Self::Box { center, axes, half } => {
                let edge = |k: usize| turn(axes[k].map(|v| v * half[k]));
                Self::around(place(center), [edge(0), edge(1), edge(2)])
            }
        }
    }

    /// Box around the parallelepiped with these half edges. If they are perpendicular, this is the
    /// parallelepiped.
    fn around(center: Vector, edges: [Vector; 3]) -> Self {
        let squares = edges.map(|e| dot(e, e));
        let mut order = [0, 1, 2];
        order.sort_by(|&a, &b| squares[b].total_cmp(&squares[a]));
        let size = sqrt_f64(squares[order[0]]);
        let first = unit(edges[order[0]], 0.0).unwrap_or([1.0, 0.0, 0.0]);
        let middle = edges[order[1]];
        let second = unit(along(middle, first, -dot(middle, first)), size).unwrap_or_else(|| across(first));
        let axes = [first, second, cross(first, second)];
        let half = axes.map(|axis| edges.iter().map(|&e| dot(axis, e).abs()).sum());
        Self::Box { center, axes, half }
    }

    /// Bounding sphere for the broad phase, rounded outwards.
    #[inline]
    pub(super) fn sphere(&self) -> Sphere {
        let (center, radius) = match *self {
            Self::Capsule { from, along: way, radius } => {
                (along(from, way, 0.5), sqrt_f64(dot(way, way)) / 2.0 + radius)
            }
            Self::Box { center, half, .. } => (center, sqrt_f64(dot(half, half))),
        };
        Sphere { center: center.map(|v| v as f32), radius: rounded_out(radius, center) }
    }

    /// Centre of the bounding box, and its half extents.
    #[inline]
    pub(super) fn extent(&self) -> [Vector; 2] {
        match *self {
            Self::Capsule { from, along: way, radius } => {
                [along(from, way, 0.5), way.map(|v| v.abs() / 2.0 + radius)]
            }
            Self::Box { center, axes, half } => {
                [center, [0, 1, 2].map(|c| (0..3).map(|k| axes[k][c].abs() * half[k]).sum())]
            }
        }
    }

    /// Nearest point on the surface.
    pub(super) fn closest(&self, point: Vector) -> Surface {
        match *self {
            Self::Capsule { from, along: way, radius } => {
                let middle = along(from, way, nearest_on(from, way, point));
                let out = sub(point, middle);
                let distance = sqrt_f64(dot(out, out));
                let normal = if distance > 0.0 { out.map(|v| v / distance) } else { across(way) };
                Surface { point: along(middle, normal, radius), distance: distance - radius, normal }
            }
            Self::Box { center, axes, half } => {
                let to = sub(point, center);
                let local = axes.map(|axis| dot(axis, to));
                let clamped = within(local, half);
                let out = sub(local, clamped);
                let distance = sqrt_f64(dot(out, out));
                let (on, normal, distance) = if distance > 0.0 {
                    (clamped, out.map(|v| v / distance), distance)
                } else {
                    let depth = |k: usize| half[k] - local[k].abs();
                    let face = (1..3).fold(0, |face, k| if depth(k) < depth(face) { k } else { face });
                    let mut normal = [0.0; 3];
                    normal[face] = 1.0_f64.copysign(local[face]);
                    let mut on = clamped;
                    on[face] = half[face].copysign(local[face]);
                    (on, normal, -depth(face))
                };
                let back =
                    |v: Vector| [0, 1, 2].map(|c| axes[0][c] * v[0] + axes[1][c] * v[1] + axes[2][c] * v[2]);
                let on = back(on);
                Surface { point: along(center, on, 1.0), distance, normal: back(normal) }
            }
        }
    }
}

/// Radius rounded up by slightly more than the f32 rounding error of both the radius and the position.
#[inline]
pub(super) fn rounded_out(radius: f64, place: Vector) -> f32 {
    let place: f64 = place.iter().map(|v| v.abs()).sum();
    (radius * (1.0 + 1e-6) + 2e-7 * place) as f32
}

/// Nearest point of a box around the origin. Accepts NaN, for which `clamp` would panic.
#[inline]
pub(super) fn within(p: Vector, half: Vector) -> Vector {
    [0, 1, 2].map(|k| p[k].max(-half[k]).min(half[k]))
}

/// Parameter from 0 to 1 of the point nearest to `point` on the segment from `from` to `from + way`.
#[inline]
pub(super) fn nearest_on(from: Vector, way: Vector, point: Vector) -> f64 {
    let square = dot(way, way);
    if square > 0.0 { (dot(sub(point, from), way) / square).clamp(0.0, 1.0) } else { 0.0 }
}
