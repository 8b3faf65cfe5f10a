//! Derived bounds for the difference between vertices from the GPU and from `skin`.
//!
//! WGSL does not specify how products and sums round, so each may be off by one unit in the last place (ULP).
//! A weight of `unpack4x8unorm` may be off by three. A term of a position passes through a weight, two
//! products and two sums of four: 11 units, relative to the sum of the magnitudes. A term of a normal has one
//! unit less, because three terms are summed. Normalisation adds 4.5 units: half of three for the dot
//! product, two for `inverseSqrt`, one for the product. docs/accuracy.md has the bounds of `skin`.
//!
//! Packed weights differ from authored ones. `Influences::pack` states how far rounding moves a vertex, and
//! the effect of dropping all but four influences follows from their sum. For normals both hold before
//! normalisation: directions of `a` and `b` differ by at most `2 |a - b| / (|a| + |b|)`.

use condyle::skinning::PaletteMatrix;

use crate::character::Vertex;

/// Unit in the last place, relative to the smallest number of a binade.
const ULP: f64 = f32::EPSILON as f64;
/// Bound of the shader, relative to the magnitudes of the terms.
const SHADER_POSITION: f64 = 11.0 * ULP;
const SHADER_NORMAL: f64 = 10.0 * ULP + 4.5 * ULP;
/// Error of a weight divided by 255 in f32.
const UNPACKED: f64 = 0.5 * ULP;
/// Number of packed influences, and the largest displacement by weight rounding, as a fraction of the
/// distance between two positions.
const PACKED: usize = 4;
const PACK_STEP: f64 = 1.0 / 255.0;

/// Bound of `skin` for positions, relative to the magnitudes of the terms. See docs/accuracy.md.
fn skin_position(with: With, influences: usize) -> f64 {
    let least = if with == With::Four { 3e-7 } else { 2.4e-7 };
    least + 6e-8 * influences as f64
}

/// Bound of `skin` for normals. docs/accuracy.md has no row for normals with `at_most`, which scales the
/// weights, so the same term is added as for positions.
fn skin_normal(with: With, influences: usize) -> f64 {
    let least = if with == With::Four { 3e-7 } else { 2.3e-7 };
    least + if with == With::Four { 6e-8 } else { 5e-8 } * influences as f64
}

/// Bounds for the components of a vertex.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Allowed {
    /// Bound of a position in metres.
    pub(crate) position: f64,
    /// Bound of a unit normal.
    pub(crate) normal: f64,
}

impl Allowed {
    /// Requires equal bits.
    pub(crate) const NOTHING: Self = Self { position: 0.0, normal: 0.0 };
}

/// Influences that `skin` uses for the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum With {
    /// The same packed influences as the GPU.
    Packed,
    /// The four heaviest authored influences, by `at_most`: the input of the rounding in `Influences::pack`.
    Four,
    /// All authored influences.
    All,
}

impl With {
    pub(crate) const EACH: [Self; 3] = [Self::Packed, Self::Four, Self::All];
}

/// Bounds in the order of [`With::EACH`].
pub(crate) struct Bounds(pub(crate) [Allowed; 3]);

impl Bounds {
    /// Computes the bounds of a vertex in the bind pose from its packed and authored influences, the heaviest
    /// first.
    pub(crate) fn new(
        matrices: &[PaletteMatrix],
        bound: &Vertex,
        packed: &[(u16, f32)],
        authored: &[(u16, f32)],
    ) -> Self {
        let total: f64 = authored.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let kept: f64 = authored.iter().take(PACKED).map(|(_, weight)| f64::from(*weight)).sum();
        let left_out = if total > 0.0 { 1.0 - kept / total } else { 0.0 };
        let four = &authored[..authored.len().min(PACKED)];

        let position = |row, scale| Sum::new(matrices, row, scale, bound.position, 1.0);
        let normal = |row, scale| Sum::new(matrices, row, scale, bound.normal, 0.0);
        let rows = [(packed, 1.0), (four, if kept > 0.0 { total / kept } else { 0.0 }), (authored, 1.0)];
        let positions = rows.map(|(row, scale)| position(row, scale));
        let normals = rows.map(|(row, scale)| normal(row, scale));

        // Displacement by the different weights. Packed weights sum to 1, authored ones approximately.
        let moved = |sums: &[Sum; 3], with| {
            let nearly = (1.0 - total).abs() * sums[2].magnitude();
            let rounding = PACK_STEP * farthest(&sums[1].places) + nearly;
            match with {
                With::Packed => 0.0,
                With::Four => rounding,
                With::All => rounding + left_out * farthest(&sums[2].places),
            }
        };
        let own = SHADER_POSITION * positions[0].magnitude();
        let own_normal = SHADER_NORMAL * normals[0].spread();
        Self(std::array::from_fn(|at| {
            let with = With::EACH[at];
            let (position, normal) = (&positions[at], &normals[at]);
            let rounded = if with == With::Packed { UNPACKED } else { 0.0 };
            // The bound of `at_most` depends on the number of authored influences.
            let count = if with == With::Packed { PACKED } else { authored.len() };
            let lengths = length(normals[0].sum) + length(normal.sum);
            let turned = match moved(&normals, with) {
                0.0 => 0.0,
                moved => 2.0 * moved / lengths,
            };
            Allowed {
                position: own
                    + moved(&positions, with)
                    + (rounded + skin_position(with, count)) * position.magnitude(),
                normal: own_normal + turned + (rounded + skin_normal(with, count)) * normal.spread(),
            }
        }))
    }
}

/// Weighted sum of positions or directions.
struct Sum {
    /// Position of the vertex by each joint alone.
    places: Vec<[f64; 3]>,
    sum: [f64; 3],
    /// Sum of the magnitudes of the terms, per component.
    magnitudes: [f64; 3],
}

impl Sum {
    /// Computes the sum. Weights are multiplied by `scale`. `w` is 1 for a point and 0 for a direction.
    fn new(matrices: &[PaletteMatrix], row: &[(u16, f32)], scale: f64, [x, y, z]: [f32; 3], w: f64) -> Self {
        let vector = [f64::from(x), f64::from(y), f64::from(z), w];
        let mut it = Self { places: Vec::with_capacity(row.len()), sum: [0.0; 3], magnitudes: [0.0; 3] };
        for &(joint, weight) in row {
            let columns = &matrices[usize::from(joint)].columns;
            let term = |row: usize, column: usize| f64::from(columns[4 * column + row]) * vector[column];
            let terms = [0, 1, 2].map(|row| [0, 1, 2, 3].map(|column| term(row, column)));
            let place = terms.map(|row| row.iter().sum());
            let weight = scale * f64::from(weight);
            for axis in 0..3 {
                it.sum[axis] += weight * place[axis];
                it.magnitudes[axis] += weight.abs() * terms[axis].iter().map(|term| term.abs()).sum::<f64>();
            }
            it.places.push(place);
        }
        it
    }

    fn magnitude(&self) -> f64 {
        self.magnitudes.into_iter().fold(0.0, f64::max)
    }

    /// Ratio of the length of the magnitudes to the length of the sum.
    fn spread(&self) -> f64 {
        length(self.magnitudes) / length(self.sum)
    }
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Largest distance between any two positions.
fn farthest(places: &[[f64; 3]]) -> f64 {
    let to_all = |(at, a): (usize, &[f64; 3])| {
        let distance = |b: &[f64; 3]| length([0, 1, 2].map(|axis| a[axis] - b[axis]));
        places[at..].iter().map(distance).fold(0.0, f64::max)
    };
    places.iter().enumerate().map(to_all).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matrices with one more quarter turn for each joint, and a translation along x.
    fn matrices() -> Vec<PaletteMatrix> {
        let turn = |sin: f32, cos: f32, x: f32| PaletteMatrix {
            columns: [cos, sin, 0.0, 0.0, -sin, cos, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, x, 0.0, 0.0, 1.0],
        };
        vec![turn(0.0, 1.0, 0.0), turn(1.0, 0.0, 4.0), turn(0.0, -1.0, 0.0)]
    }

    #[test]
    fn bounds_are_what_they_say() {
        let vertex = Vertex { position: [1.0, 0.0, 0.0], normal: [1.0, 0.0, 0.0] };
        // With one joint only arithmetic rounds.
        let one = Bounds::new(&matrices(), &vertex, &[(0, 1.0)], &[(0, 1.0)]);
        let [packed, _, all] = one.0;
        assert!((packed.position - 1.9e-6).abs() < 5e-8, "{packed:?}");
        assert!((packed.normal - 2.23e-6).abs() < 5e-8, "{packed:?}");
        assert!(all.position < packed.position && all.normal < packed.normal);
        // Two joints move the vertex to (1, 0) and (4, 1): the bound is 1/255 of the distance, and rounding
        // of the magnitudes 3 * 0.5.
        let half = [(0, 0.5), (1, 0.5)];
        let two = Bounds::new(&matrices(), &vertex, &half, &half);
        assert!((two.0[0].position - 2.5 * packed.position).abs() < 1e-9);
        for allowed in &two.0[1..] {
            assert!((allowed.position - 10.0_f64.sqrt() / 255.0).abs() < 1e-5, "{allowed:?}");
            // Normals at a right angle: their mean is shorter by the root of 2, and their distance is longer
            // by it.
            assert!((allowed.normal - 2.0 / 255.0).abs() < 1e-5, "{allowed:?}");
        }
        // A sum that cancels has no direction.
        let back = [(0, 0.5), (2, 0.5)];
        assert!(Bounds::new(&matrices(), &vertex, &back, &back).0[0].normal.is_infinite());
    }

    #[test]
    fn influences_that_are_left_out_count() {
        let vertex = Vertex { position: [1.0, 0.0, 0.0], normal: [0.0, 0.0, 1.0] };
        let five = [(0, 0.25), (0, 0.25), (0, 0.25), (0, 0.15), (1, 0.1)];
        let bounds = Bounds::new(&matrices(), &vertex, &five[..4], &five);
        let [_, four, all] = bounds.0;
        assert!((all.position - 0.1 * 10.0_f64.sqrt()).abs() < 1e-5, "{all:?}");
        assert!(four.position < 1e-5 && all.normal < 1e-5, "{four:?}, {all:?}");
    }
}
