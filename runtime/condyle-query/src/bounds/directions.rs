//! Extreme points in a fixed set of directions, without testing each point in each direction.

use alloc::vec;
use alloc::vec::Vec;

use condyle_base::math::vectors::dot;

/// Directions are the integer vectors with components from `-REACH` to `REACH`, without vectors that are
/// twice another.
const REACH: i32 = 2;
const COUNT: usize = 98;
const DIRECTIONS: [[f64; 3]; COUNT] = directions();

/// Each of this many points is tested in all directions first. Most other points are then not extreme.
const PROBED: usize = 32;

const fn directions() -> [[f64; 3]; COUNT] {
    let (mut out, mut count) = ([[0.0; 3]; COUNT], 0);
    let (side, mut at) = (2 * REACH + 1, 0);
    while at < side * side * side {
        let [x, y, z] = [at / (side * side) - REACH, at / side % side - REACH, at % side - REACH];
        if x % 2 != 0 || y % 2 != 0 || z % 2 != 0 {
            out[count] = [x as f64, y as f64, z as f64];
            count += 1;
        }
        at += 1;
    }
    out
}

/// Cells of points that lie in similar directions from the centre of the points' box.
///
/// The box is scaled to the cube from -1 to 1, and a point is projected from the centre to the cube's
/// surface. Each of the six faces has `side * side` cells. A few points have one cell.
pub(super) struct Cells {
    of: Vec<u16>,
    side: usize,
    center: [f64; 3],
    half: [f64; 3],
    /// Maximum scaled coordinate of the points of each cell, without its sign.
    size: Vec<f64>,
}

impl Cells {
    pub(super) fn new(points: &[[f64; 3]]) -> Self {
        let side = match points.len() {
            0..256 => return Self::one(points),
            256..2048 => 2,
            2048..16_384 => 4,
            _ => 8,
        };
        let (mut min, mut max) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for point in points {
            min = [0, 1, 2].map(|c| min[c].min(point[c]));
            max = [0, 1, 2].map(|c| max[c].max(point[c]));
        }
        let center = [0, 1, 2].map(|c| (min[c] + max[c]) / 2.0);
        let half = [0, 1, 2].map(|c| (max[c] - min[c]) / 2.0);
        let scale = half.map(|v| if v > 0.0 { 1.0 / v } else { 0.0 });
        let (mut of, mut sizes) = (Vec::with_capacity(points.len()), vec![0.0_f64; 6 * side * side]);
        for point in points {
            let v = [0, 1, 2].map(|c| (point[c] - center[c]) * scale[c]);
            let size = v.map(f64::abs);
            let axis =
                if size[0] >= size[1] && size[0] >= size[2] { 0 } else { 1 + usize::from(size[1] < size[2]) };
            let size = size[axis];
            let part = |c: usize| (((v[c % 3] / size + 1.0) * (0.5 * side as f64)) as usize).min(side - 1);
            let face = 2 * axis + usize::from(v[axis] < 0.0);
            let cell = (face * side + part(axis + 1)) * side + part(axis + 2);
            of.push(cell as u16);
            sizes[cell] = sizes[cell].max(size);
        }
        Self { of, side, center, half, size: sizes }
    }

    /// One cell for all points.
    pub(super) fn one(points: &[[f64; 3]]) -> Self {
        Self { of: vec![0; points.len()], side: 0, center: [0.0; 3], half: [0.0; 3], size: vec![0.0] }
    }

    pub(super) fn count(&self) -> usize {
        self.size.len()
    }

    /// Cell of each point.
    pub(super) fn of(&self) -> &[u16] {
        &self.of
    }

    /// Returns, per cell, one bit for each direction in which a point of the cell may reach `extent`.
    fn may_reach(&self, extent: &[f64; COUNT]) -> Vec<u128> {
        let mut out = vec![0; self.count()];
        // Far more than the rounding errors of these sums, and of the positions of points in their cells.
        let rounding = [0, 1, 2].map(|c| 1e-12 * (self.center[c].abs() + self.half[c]));
        let rounding = 4.0 * (rounding[0] + rounding[1] + rounding[2]);
        for (bit, (d, extent)) in DIRECTIONS.iter().zip(extent).enumerate() {
            let room = extent - dot(*d, self.center) - rounding;
            let d = [0, 1, 2].map(|c| d[c] * self.half[c]);
            for (face, cells) in out.chunks_mut(self.side * self.side).enumerate() {
                let axis = face / 2;
                let ahead = if face % 2 == 0 { d[axis] } else { -d[axis] };
                // Maximum in a row of cells of one component's share.
                let share = |c: usize, at: usize| {
                    let edge = |at: usize| d[c % 3] * (2.0 * at as f64 / self.side as f64 - 1.0);
                    edge(at).max(edge(at + 1))
                };
                let sizes = self.size.iter().skip(face * self.side * self.side);
                for (at, (cell, size)) in cells.iter_mut().zip(sizes).enumerate() {
                    let along = ahead + share(axis + 1, at / self.side) + share(axis + 2, at % self.side);
                    let less = size * along.max(0.0) < room;
                    *cell |= u128::from(!less) << bit;
                }
            }
        }
        out
    }
}

/// Index of the first of the farthest points in each direction.
pub(super) fn extremes(points: &[[f64; 3]], cells: &Cells) -> Vec<usize> {
    let mut best = [(f64::NEG_INFINITY, None); COUNT];
    let mut tested = vec![u128::MAX >> (128 - COUNT)];
    if cells.side > 0 {
        for point in points.iter().step_by(PROBED) {
            for (best, direction) in best.iter_mut().zip(&DIRECTIONS) {
                best.0 = best.0.max(dot(*direction, *point));
            }
        }
        tested = cells.may_reach(&best.map(|(along, _)| along));
        // Finds the first of equal points.
        best.iter_mut().for_each(|(along, _)| *along = along.next_down());
    }
    for (at, (point, cell)) in points.iter().zip(cells.of()).enumerate() {
        let mut left = tested[usize::from(*cell)];
        while left != 0 {
            let bit = left.trailing_zeros() as usize;
            left &= left - 1;
            let along = dot(DIRECTIONS[bit], *point);
            if along > best[bit].0 {
                best[bit] = (along, Some(at));
            }
        }
    }
    best.into_iter().filter_map(|(_, at)| at).collect()
}

/// Farthest point in each direction, rounded to f32.
pub(crate) fn farthest(points: &[[f64; 3]]) -> Vec<[f64; 3]> {
    rounded(points, &extremes(points, &Cells::new(points)))
}

/// Different points at these indices, rounded to f32.
pub(super) fn rounded(points: &[[f64; 3]], at: &[usize]) -> Vec<[f64; 3]> {
    let mut out: Vec<[f64; 3]> = vec![];
    for at in at {
        let point = points[*at].map(|v| f64::from(v as f32));
        if !out.contains(&point) {
            out.push(point);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::Random;

    /// Points of a lattice, many of which are equally far in a direction, of a ball, of a plane, and far
    /// from the origin.
    #[test]
    fn the_first_farthest_points_are_found_at_every_number_of_cells() {
        let mut random = Random(31);
        for (round, count) in [1, 255, 256, 300, 2047, 2048, 5000, 20_000].into_iter().enumerate() {
            for kind in 0..4 {
                let points: Vec<[f64; 3]> = (0..count)
                    .map(|_| match kind {
                        0 => [0; 3].map(|_| f64::from(random.below(9) as f32)),
                        1 => random.unit().map(f64::from),
                        2 => [f64::from(random.below(50) as f32), 0.0, f64::from(random.range(0.0, 1.0))],
                        _ => random.unit().map(|v| 1e4 + 1e-6 * f64::from(v)),
                    })
                    .collect();
                let mut want = vec![];
                for direction in DIRECTIONS {
                    let mut best = (f64::NEG_INFINITY, 0);
                    for (at, point) in points.iter().enumerate() {
                        let along = dot(direction, *point);
                        if along > best.0 {
                            best = (along, at);
                        }
                    }
                    want.push(best.1);
                }
                assert_eq!(extremes(&points, &Cells::new(&points)), want, "round {round}, kind {kind}");
            }
        }
    }

    #[test]
    fn few_cells_are_tested_in_many_directions() {
        let mut random = Random(32);
        let points: Vec<[f64; 3]> = (0..20_000).map(|_| random.unit().map(f64::from)).collect();
        let cells = Cells::new(&points);
        let extent = DIRECTIONS.map(|d| points.iter().map(|p| dot(d, *p)).fold(0.0, f64::max));
        let tested: u32 = cells.may_reach(&extent).iter().map(|bits| bits.count_ones()).sum();
        assert!(tested < 10 * cells.count() as u32, "{tested} tests of {} cells", cells.count());
    }
}
