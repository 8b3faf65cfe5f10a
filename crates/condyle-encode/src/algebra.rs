//! Vectors and matrices in f64, with the same bits on every platform.

use condyle_base::math::Transform64;
use condyle_base::math::quats::{self, Quat64, conjugate, product};
use condyle_base::math::scalar::{atan2_f64, sqrt_f64};
use condyle_base::math::vectors::{cross, dot};

pub(super) type Vector = [f64; 3];

pub(super) fn subtract(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn add(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(super) fn length(a: Vector) -> f64 {
    sqrt_f64(dot(a, a))
}

/// Of all logarithms of the rotation `q`, the nearest to `near`: continuous where a joint turns through whole
/// revolutions.
pub(super) fn log_near(q: Quat64, near: Vector) -> Vector {
    use core::f64::consts::PI;
    let v = [q[0], q[1], q[2]];
    let sine = length(v);
    if sine < 1e-12 {
        // A whole turn has no axis of its own: use the neighbour's.
        let turned = length(near);
        let turns = ((turned / PI + 0.5) as i64) as f64;
        return if turned > 0.0 { near.map(|n| n * (turns * PI / turned)) } else { [0.0; 3] };
    }
    let axis = v.map(|v| v / sine);
    let angle = atan2_f64(sine, q[3]);
    let off = (dot(axis, near) - angle) / PI;
    let turns = ((if off < 0.0 { off - 0.5 } else { off + 0.5 }) as i64) as f64;
    axis.map(|a| a * (angle + turns * PI))
}

pub(super) fn apply(rows: &[Vector; 3], v: Vector) -> Vector {
    [dot(rows[0], v), dot(rows[1], v), dot(rows[2], v)]
}

// Written out: closures of loops over components are not always inlined.

/// The product of two matrices, by their rows.
pub(super) fn times(a: &[Vector; 3], b: &[Vector; 3]) -> [Vector; 3] {
    let row = |row: Vector| {
        [
            row[0] * b[0][0] + row[1] * b[1][0] + row[2] * b[2][0],
            row[0] * b[0][1] + row[1] * b[1][1] + row[2] * b[2][1],
            row[0] * b[0][2] + row[1] * b[1][2] + row[2] * b[2][2],
        ]
    };
    [row(a[0]), row(a[1]), row(a[2])]
}

pub(super) fn transposed(m: &[Vector; 3]) -> [Vector; 3] {
    [[m[0][0], m[1][0], m[2][0]], [m[0][1], m[1][1], m[2][1]], [m[0][2], m[1][2], m[2][2]]]
}

/// A matrix whose columns are multiplied by the components of `scale`.
pub(super) fn scaled_columns(m: &[Vector; 3], scale: Vector) -> [Vector; 3] {
    let row = |row: Vector| [row[0] * scale[0], row[1] * scale[1], row[2] * scale[2]];
    [row(m[0]), row(m[1]), row(m[2])]
}

/// Solves `m · x = b`; zeros for a singular matrix.
pub(super) fn solve(m: &[Vector; 3], b: Vector) -> Vector {
    let column = |k: usize| [m[0][k], m[1][k], m[2][k]];
    let (x, y, z) = (column(0), column(1), column(2));
    let yz = cross(y, z);
    let volume = dot(x, yz);
    if volume == 0.0 || !volume.is_finite() {
        return [0.0; 3];
    }
    [dot(b, yz) / volume, dot(x, cross(b, z)) / volume, dot(x, cross(y, b)) / volume]
}

/// The angle between two rotations, by its sine: good for small angles.
pub(super) fn turned(a: Quat64, b: Quat64) -> f64 {
    let [x, y, z, _] = product(conjugate(a), b);
    2.0 * length([x, y, z])
}

/// An affine matrix: three rows of a linear part, and a translation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Matrix {
    pub(super) linear: [Vector; 3],
    pub(super) origin: Vector,
}

impl Matrix {
    pub(super) const IDENTITY: Self =
        Self { linear: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], origin: [0.0; 3] };

    pub(super) fn new(local: &Transform64) -> Self {
        let linear = scaled_columns(&quats::rows(local.rotation), local.scale);
        Self { linear, origin: local.translation }
    }

    pub(super) fn point(&self, v: Vector) -> Vector {
        add(apply(&self.linear, v), self.origin)
    }

    /// The inverse: what [`Self::point`] takes to `point`.
    pub(super) fn back(&self, point: Vector) -> Vector {
        solve(&self.linear, subtract(point, self.origin))
    }

    pub(super) fn multiply(&self, b: &Self) -> Self {
        Self { linear: times(&self.linear, &b.linear), origin: self.point(b.origin) }
    }

    /// Of a point, how far this takes it from where `wanted` takes it.
    pub(super) fn less(&self, wanted: &Self) -> Self {
        let ([x, y, z], want) = (self.linear, &wanted.linear);
        let linear = [subtract(x, want[0]), subtract(y, want[1]), subtract(z, want[2])];
        Self { linear, origin: subtract(self.origin, wanted.origin) }
    }

    /// About how much it stretches lengths at most: its longest column.
    pub(super) fn reach(&self) -> f64 {
        let square = |column: Vector| dot(column, column);
        let [x, y, z] = transposed(&self.linear);
        sqrt_f64(square(x).max(square(y)).max(square(z)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_go_on_through_whole_turns() {
        let axis = [0.6, 0.0, 0.8];
        let mut near = [0.0; 3];
        for step in -40..=40 {
            let angle = f64::from(step) * 0.3;
            if step == -40 {
                near = axis.map(|a| a * angle);
            }
            let q = quats::exp(axis.map(|a| a * angle));
            near = log_near(q, near);
            for c in 0..3 {
                assert!((near[c] - axis[c] * angle).abs() < 1e-9, "{angle}: {near:?}");
            }
        }
        assert_eq!(log_near([0.0, 0.0, 0.0, -1.0], [0.0; 3]), [0.0; 3]);
    }

    #[test]
    fn matrices_go_there_and_back() {
        let local = Transform64 {
            rotation: quats::exp([0.3, -0.2, 0.9]),
            translation: [1.0, 2.0, 3.0],
            scale: [1.0, -2.0, 0.5],
        };
        let m = Matrix::new(&local);
        let p = [0.25, -4.0, 1.5];
        let back = m.multiply(&Matrix::IDENTITY).back(m.point(p));
        assert!(length(subtract(back, p)) < 1e-12, "{back:?}");
        assert_eq!(solve(&[[0.0; 3]; 3], p), [0.0; 3]);
    }
}
