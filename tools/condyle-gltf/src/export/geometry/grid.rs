//! The grid of positions, and the transform that turns integers back into positions.

use super::measure::apply;
use crate::rows::Rows;
use crate::value::{Map, Value, json};

/// The numbers that positions can have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Grid {
    /// Unsigned integers. The position is `offset + step * integer`.
    Integers { offset: [f64; 3], step: f64 },
    /// Floats that are multiples of a power of two.
    Powers(i32),
    /// All floats.
    Exact,
}

impl Grid {
    /// Returns the grid of integers whose step is at most `step`.
    pub(super) fn integers(offset: [f64; 3], step: f64) -> Self {
        let shorter = |v: f64| {
            let short = v as f32;
            f64::from(if f64::from(short) > v { short.next_down() } else { short })
        };
        Self::Integers { offset: offset.map(shorter), step: shorter(step) }
    }

    /// Returns the grid of floats whose step is at most `step`.
    pub(super) fn powers(step: f64) -> Self {
        Self::Powers(step.log2().floor().clamp(-100.0, 100.0) as i32)
    }

    /// Returns the grid point that is nearest to a position.
    pub(super) fn nearest(&self, p: [f64; 3]) -> [f64; 3] {
        match *self {
            Self::Integers { offset, step } => {
                std::array::from_fn(|axis| offset[axis] + step * ((p[axis] - offset[axis]) / step).round())
            }
            _ => self.nearest_delta(p),
        }
    }

    /// Returns the nearest offset of a morph target.
    pub(super) fn nearest_delta(&self, delta: [f64; 3]) -> [f64; 3] {
        let step = match *self {
            Self::Integers { step, .. } => step,
            Self::Powers(exponent) => 2_f64.powi(exponent),
            Self::Exact => return delta,
        };
        delta.map(|v| step * (v / step).round())
    }

    /// Returns `matrix`, applied after the transform from integers to positions.
    pub(super) fn before(&self, matrix: &Rows) -> Rows {
        let Self::Integers { offset, step } = *self else { return *matrix };
        let moved = apply(matrix, offset);
        std::array::from_fn(|r| std::array::from_fn(|c| if c == 3 { moved[r] } else { matrix[r][c] * step }))
    }

    /// Puts the transform from integers to positions into a node without children.
    pub(super) fn put_into(&self, node: &mut Map, own: &Rows, scale: [f64; 3]) {
        let Self::Integers { step, .. } = *self else { return };
        let rows = self.before(own);
        // A step in the parent's space. Numbers of f32 are too coarse far from the origin.
        let precision = rows.map(|[x, y, z, _]| (x * x + y * y + z * z).sqrt() / 256.0);
        let place = |r: usize| number(rows[r][3], precision[r]);
        if node.get("matrix").is_some_and(|matrix| !matrix.is_null()) {
            let column = |c: usize| rows.map(|row| short(row[c])).into_iter().chain([json!(0.0)]);
            let all = (0..3).flat_map(column).chain((0..3).map(place)).chain([json!(1.0)]);
            node.insert("matrix".into(), all.collect());
            return;
        }
        node.insert("translation".into(), (0..3).map(place).collect());
        node.insert("scale".into(), scale.iter().map(|v| short(v * step)).collect());
    }
}

/// Returns a number with the digits of an f32.
fn short(v: f64) -> Value {
    number(v, f64::INFINITY)
}

/// Returns a number with the digits of an f32, or all of its digits if that differs by more than `precision`.
fn number(v: f64, precision: f64) -> Value {
    let short: Option<f64> = (v as f32).to_string().parse().ok();
    json!(short.filter(|short| (short - v).abs() <= precision).unwrap_or(v))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURNED: Rows = [[0.0, -2.0, 0.0, 1.0], [2.0, 0.0, 0.0, 2.0], [0.0, 0.0, 2.0, 3.0]];

    #[test]
    fn integers_come_back_through_the_matrix() {
        let grid = Grid::integers([-1.0, 0.3, 2.0], 0.01);
        let Grid::Integers { offset, step } = grid else { panic!("{grid:?}") };
        assert!(step <= 0.01 && step > 0.009_999_9 && offset[1] <= 0.3);
        let rows = grid.before(&TURNED);
        for p in [[-1.0, 0.3, 2.0], [0.123, 0.456, 7.0]] {
            let near = grid.nearest(p);
            assert!(p.iter().zip(near).all(|(p, near)| (p - near).abs() <= 0.5001 * step), "{near:?}");
            let integer: [f64; 3] = std::array::from_fn(|axis| ((near[axis] - offset[axis]) / step).round());
            let (want, found) = (apply(&TURNED, near), apply(&rows, integer));
            assert!(want.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-12), "{want:?} {found:?}");
        }
        assert_eq!(Grid::powers(0.3), Grid::Powers(-2));
        assert_eq!(Grid::Powers(-2).nearest([0.3, -0.4, 9.9]), [0.25, -0.5, 10.0]);
        assert_eq!(Grid::Exact.nearest([0.3; 3]), [0.3; 3]);
    }

    #[test]
    fn nodes_take_the_transform() {
        let grid = Grid::Integers { offset: [1.0, 0.0, 0.0], step: 0.5 };
        let mut node = Map::new();
        grid.put_into(&mut node, &TURNED, [2.0; 3]);
        let rotation_stays = json!({ "translation": [1.0, 4.0, 3.0], "scale": [1.0, 1.0, 1.0] });
        assert_eq!(Value::from(node), rotation_stays);
        // Far from the origin, the digits of an f32 would move positions by more than 1/256 of a step.
        let fine = Grid::Integers { offset: [0.0; 3], step: 1e-3 };
        let at = |far: f64| TURNED.map(|[x, y, z, _]| [x, y, z, far]);
        for far in [1000.0, 1e5 / 3.0] {
            let mut node = Map::new();
            fine.put_into(&mut node, &at(far), [2.0; 3]);
            assert_eq!(node.get("translation"), Some(&json!([far, far, far])));
        }
        let mut node = Map::from_iter([("matrix".into(), json!([]))]);
        grid.put_into(&mut node, &TURNED, [1.0; 3]);
        let matrix = [0., 1., 0., 0., -1., 0., 0., 0., 0., 0., 1., 0., 1., 4., 3., 1.];
        assert_eq!(Value::from(node), json!({ "matrix": matrix }));
    }
}
