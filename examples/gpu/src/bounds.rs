//! How far the vertices of the GPU may be from those of `skin`: derived, not measured.
//!
//! WGSL lets a product or a sum be off by a unit in the last place, as it leaves open which way they round, and a weight of
//! `unpack4x8unorm` by three. On its way to a position a number goes through a weight, two products and two sums of four: 11 units,
//! of the magnitudes that are summed up. To a normal it is one less, as three are summed, and 4.5 to make it of unit length: half of
//! three for the dot product, two for `inverseSqrt`, one for the product. What `skin` may be off by is in docs/accuracy.md.
//!
//! Packed weights are other weights: `Influences::pack` states what rounding moves a vertex by, and what leaving out all but four
//! influences does follows from their sum. Of normals both hold before they are made of unit length: directions of `a` and `b` are
//! no more than `2 |a - b| / (|a| + |b|)` apart.

use condyle::skinning::PaletteMatrix;

use crate::character::Vertex;

/// A unit in the last place, of the smallest number that has it.
const ULP: f64 = f32::EPSILON as f64;
/// The shader, of the magnitudes of the terms.
const SHADER_POSITION: f64 = 11.0 * ULP;
const SHADER_NORMAL: f64 = 10.0 * ULP + 4.5 * ULP;
/// A weight divided by 255 in f32.
const UNPACKED: f64 = 0.5 * ULP;
/// Influences that are packed, and the greatest part of the way between two places that rounding their weights moves a vertex by.
const PACKED: usize = 4;
const PACK_STEP: f64 = 1.0 / 255.0;

/// `skin`, of the magnitudes of the terms: docs/accuracy.md.
fn skin_position(with: With, influences: usize) -> f64 {
    let least = if with == With::Four { 3e-7 } else { 2.4e-7 };
    least + 6e-8 * influences as f64
}

/// The page has no row for normals with `at_most`, which multiplies the weights: as much as for positions comes on top.
fn skin_normal(with: With, influences: usize) -> f64 {
    let least = if with == With::Four { 3e-7 } else { 2.3e-7 };
    least + if with == With::Four { 6e-8 } else { 5e-8 } * influences as f64
}

/// What a component of a vertex may be off by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Allowed {
    /// Metres.
    pub(crate) position: f64,
    /// Of a normal of unit length.
    pub(crate) normal: f64,
}

impl Allowed {
    /// The same bits.
    pub(crate) const NOTHING: Self = Self { position: 0.0, normal: 0.0 };
}

/// What is compared with: `skin` with other influences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum With {
    /// Those that the GPU has.
    Packed,
    /// The four heaviest as they were authored, by `at_most`: what `Influences::pack` rounds.
    Four,
    /// All as they were authored.
    All,
}

impl With {
    pub(crate) const EACH: [Self; 3] = [Self::Packed, Self::Four, Self::All];
}

/// In the order of [`With::EACH`].
pub(crate) struct Bounds(pub(crate) [Allowed; 3]);

impl Bounds {
    /// Of a vertex in the bind pose, by the influences that were packed and those that were authored, the heaviest first.
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

        // The way that other weights move a vertex. Packed weights sum to 1, those that were authored nearly.
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
            // `at_most` is stated by how many influences there were.
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

/// A weighted sum of places, or of directions.
struct Sum {
    /// Where each joint alone would take the vertex to.
    places: Vec<[f64; 3]>,
    sum: [f64; 3],
    /// The sum of the magnitudes of the terms, for each component.
    magnitudes: [f64; 3],
}

impl Sum {
    /// `scale`: what weights are multiplied by. `w`: 1 for a point, 0 for a direction.
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

    /// How many times longer the magnitudes are than the sum.
    fn spread(&self) -> f64 {
        length(self.magnitudes) / length(self.sum)
    }
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The greatest distance between any two.
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

    /// A quarter turn for each joint more, and a way along x.
    fn matrices() -> Vec<PaletteMatrix> {
        let turn = |sin: f32, cos: f32, x: f32| PaletteMatrix {
            columns: [cos, sin, 0.0, 0.0, -sin, cos, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, x, 0.0, 0.0, 1.0],
        };
        vec![turn(0.0, 1.0, 0.0), turn(1.0, 0.0, 4.0), turn(0.0, -1.0, 0.0)]
    }

    #[test]
    fn bounds_are_what_they_say() {
        let vertex = Vertex { position: [1.0, 0.0, 0.0], normal: [1.0, 0.0, 0.0] };
        // One joint: nothing to round but numbers.
        let one = Bounds::new(&matrices(), &vertex, &[(0, 1.0)], &[(0, 1.0)]);
        let [packed, _, all] = one.0;
        assert!((packed.position - 1.9e-6).abs() < 5e-8, "{packed:?}");
        assert!((packed.normal - 2.23e-6).abs() < 5e-8, "{packed:?}");
        assert!(all.position < packed.position && all.normal < packed.normal);
        // Two that take it to (1, 0) and to (4, 1): a 255th of the distance, and of the magnitudes 3 * 0.5.
        let half = [(0, 0.5), (1, 0.5)];
        let two = Bounds::new(&matrices(), &vertex, &half, &half);
        assert!((two.0[0].position - 2.5 * packed.position).abs() < 1e-9);
        for allowed in &two.0[1..] {
            assert!((allowed.position - 10.0_f64.sqrt() / 255.0).abs() < 1e-5, "{allowed:?}");
            // Normals at a right angle: their mean is shorter by the root of 2, which their distance is longer by.
            assert!((allowed.normal - 2.0 / 255.0).abs() < 1e-5, "{allowed:?}");
        }
        // What cancels has no direction.
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
