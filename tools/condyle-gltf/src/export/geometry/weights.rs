//! Joint weights as integers whose sum is exact, and their error in posed vertices.

use condyle::Error;

use super::measure::{Moments, Shape, apply, larger};
use crate::asset::Asset;

/// Fewest bits of a weight: normalised bytes.
pub(super) const LEAST_BITS: u32 = 8;
/// Most bits of a weight.
pub(super) const MOST_BITS: u32 = 16;
const CHOICES: usize = (MOST_BITS - LEAST_BITS + 1) as usize;

/// Returns the sum of all weights of a vertex with this number of bits.
pub(super) fn one(bits: u32) -> u32 {
    if bits == LEAST_BITS { 255 } else { 1 << bits }
}

/// Rounds weights to integers with the sum `one`. The weights with the largest remainders are rounded up.
pub(super) fn rounded(row: &[(u16, f64)], one: u32) -> Vec<u32> {
    let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
    let scale = if sum > 0.0 { f64::from(one) / sum } else { 0.0 };
    let scaled: Vec<f64> = row.iter().map(|(_, weight)| weight * scale).collect();
    let mut out: Vec<u32> = scaled.iter().map(|weight| (weight.floor() as u32).min(one)).collect();
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|&a, &b| (scaled[b] - scaled[b].floor()).total_cmp(&(scaled[a] - scaled[a].floor())));
    let missing = one.saturating_sub(out.iter().sum());
    for at in order.iter().cycle().take(if row.is_empty() { 0 } else { missing as usize }) {
        out[*at] += 1;
    }
    out
}

/// Sums of products of the places to which the joints of a vertex move it, `count * count` for each vertex
/// with several joints. The products are about the mean place, because changes of weights add up to 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Spreads(Vec<Vec<f32>>);

/// Most joints of a vertex whose weights are rounded with regard to its places.
const MOST_JOINTS: usize = 8;

impl Spreads {
    /// Adds up the products over all moments.
    pub(super) fn of(
        shape: &Shape,
        instances: &[usize],
        asset: &Asset,
        moments: &Moments,
    ) -> Result<Self, Error> {
        let count = |row: &Vec<(u16, f64)>| if row.len() > MOST_JOINTS { 0 } else { row.len() };
        let mut all: Vec<Vec<f32>> = shape.rows.iter().map(|row| vec![0.0; count(row).pow(2)]).collect();
        moments.visit(asset, |posed| {
            for instance in instances.iter().map(|&at| &asset.instances[at]) {
                let palette = posed.palette(asset, instance);
                for (vertex, sums) in all.iter_mut().enumerate().filter(|(_, sums)| sums.len() > 1) {
                    let row = &shape.rows[vertex];
                    let mut places = [[0.0; 3]; MOST_JOINTS];
                    for (place, (joint, _)) in places.iter_mut().zip(row) {
                        let Some(matrix) = palette.get(usize::from(*joint)) else { continue };
                        *place = apply(matrix, shape.positions[vertex]);
                    }
                    let places = &mut places[..row.len()];
                    for axis in 0..3 {
                        let mean = places.iter().map(|place| place[axis]).sum::<f64>() / row.len() as f64;
                        places.iter_mut().for_each(|place| place[axis] -= mean);
                    }
                    for (sums, a) in sums.chunks_exact_mut(row.len()).zip(&*places) {
                        for (sum, b) in sums.iter_mut().zip(&*places) {
                            *sum += a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() as f32;
                        }
                    }
                }
            }
            Ok(())
        })?;
        Ok(Self(all))
    }

    fn of_vertex(&self, vertex: usize) -> &[f32] {
        self.0.get(vertex).map_or(&[], Vec::as_slice)
    }
}

/// Rounds some weights up and others down, so that the vertex stays near its place: the mean square of
/// `sum(change * place)` falls with each exchange. Each weight stays within a step of its value.
fn improve(weights: &mut [u32], row: &[(u16, f64)], one: u32, spread: &[f32]) {
    let count = row.len();
    let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
    if count < 2 || spread.len() != count * count || sum <= 0.0 {
        return;
    }
    let of = |a: usize, b: usize| f64::from(spread[a * count + b]);
    let scale = f64::from(one) / sum;
    let mut changes = [0.0; MOST_JOINTS];
    for ((change, weight), (_, exact)) in changes.iter_mut().zip(&*weights).zip(row) {
        *change = f64::from(*weight) - exact * scale;
    }
    for _ in 0..4 * count {
        let slope = |a: usize| (0..count).map(|b| of(a, b) * changes[b]).sum::<f64>();
        let slopes: [f64; MOST_JOINTS] = std::array::from_fn(|a| if a < count { slope(a) } else { 0.0 });
        // The smallest sum after one step moves from a weight to another.
        let mut best = (-1e-6 * (0..count).map(|a| of(a, a)).sum::<f64>(), None);
        for from in (0..count).filter(|&from| weights[from] > 0 && changes[from] > 0.0) {
            for to in (0..count).filter(|&to| changes[to] < 0.0) {
                let change =
                    2.0 * (slopes[to] - slopes[from]) + of(to, to) + of(from, from) - 2.0 * of(to, from);
                if change < best.0 {
                    best = (change, Some((from, to)));
                }
            }
        }
        let Some((from, to)) = best.1 else { return };
        (weights[from], weights[to]) = (weights[from] - 1, weights[to] + 1);
        (changes[from], changes[to]) = (changes[from] - 1.0, changes[to] + 1.0);
    }
}

/// The numbers that weights can have.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Precision {
    /// Multiples of a power of two; bytes if there are 8 bits.
    Bits(u32),
    /// Normalised 16-bit integers. The low byte is constant, except for the vertices that are `true`.
    Mixed(Vec<bool>),
    /// All floats.
    Exact,
}

impl Precision {
    /// Returns the sum of all weights of a vertex.
    pub(super) fn one(&self) -> u32 {
        match self {
            Self::Bits(bits) => one(*bits),
            Self::Mixed(_) | Self::Exact => MIXED,
        }
    }

    pub(super) fn bits(&self) -> u32 {
        match self {
            Self::Bits(bits) => *bits,
            Self::Mixed(_) => 16,
            Self::Exact => 32,
        }
    }

    /// Returns rows with rounded weights, without weights of zero.
    pub(super) fn rounded(&self, rows: &[Vec<(u16, f64)>], spreads: &Spreads) -> Vec<Vec<(u16, u32)>> {
        let row = |(vertex, row): (usize, &Vec<(u16, f64)>)| {
            let spread = spreads.of_vertex(vertex);
            let weights = match self {
                Self::Mixed(fine) if !fine.get(vertex).is_some_and(|&fine| fine) => coarse(row, spread),
                _ => nearest(row, self.one(), spread),
            };
            let joints = row.iter().map(|(joint, _)| *joint).zip(weights);
            joints.filter(|(_, weight)| *weight > 0).collect()
        };
        rows.iter().enumerate().map(row).collect()
    }
}

/// Rounds weights to integers with the sum `one`, so that the vertex stays near its place.
fn nearest(row: &[(u16, f64)], one: u32, spread: &[f32]) -> Vec<u32> {
    let mut out = rounded(row, one);
    improve(&mut out, row, one, spread);
    out
}

/// Sum of weights of 16 bits.
const MIXED: u32 = 65_535;

/// Rounds weights to integers with the sum 65535. All but the first are multiples of 256.
fn coarse(row: &[(u16, f64)], spread: &[f32]) -> Vec<u32> {
    let mut out: Vec<u32> = nearest(row, 256, spread).iter().map(|weight| weight << 8).collect();
    if let Some(first) = out.iter_mut().find(|weight| **weight > 0) {
        *first -= 1;
    }
    out
}

/// The errors of rounded weights.
pub(super) struct Errors {
    /// Largest error of a vertex for each number of bits from [`LEAST_BITS`] on.
    pub(super) of_bits: [f64; CHOICES],
    /// Error of each vertex with the coarse weights of [`Precision::Mixed`].
    pub(super) of_vertices: Vec<f64>,
    /// Largest error of a vertex with its fine weights.
    pub(super) of_fine: f64,
}

/// Measures the errors of rounded weights.
pub(super) fn errors(
    shape: &Shape,
    spreads: &Spreads,
    instances: &[usize],
    asset: &Asset,
    moments: &Moments,
) -> Result<Errors, Error> {
    // The change of each weight, for each number of bits. A single weight is exact.
    let blended: Vec<usize> = (0..shape.rows.len()).filter(|&v| is_blended(&shape.rows[v])).collect();
    let changes: Vec<Vec<[f64; CHOICES + 2]>> =
        blended.iter().map(|&vertex| changes(&shape.rows[vertex], spreads.of_vertex(vertex))).collect();
    let (mut worst, mut of_fine) = ([0.0_f64; CHOICES], 0.0_f64);
    let mut of_vertices = vec![0.0_f64; shape.rows.len()];
    moments.visit(asset, |posed| {
        for instance in instances.iter().map(|&at| &asset.instances[at]) {
            let palette = posed.palette(asset, instance);
            for (&vertex, changes) in blended.iter().zip(&changes) {
                let mut off = [[0.0; 3]; CHOICES + 2];
                for ((joint, _), changes) in shape.rows[vertex].iter().zip(changes) {
                    let Some(matrix) = palette.get(usize::from(*joint)) else { continue };
                    let place = apply(matrix, shape.positions[vertex]);
                    for (off, change) in off.iter_mut().zip(changes) {
                        *off = std::array::from_fn(|axis| off[axis] + change * place[axis]);
                    }
                }
                let own = &mut of_vertices[vertex];
                for (worst, off) in worst.iter_mut().chain([own, &mut of_fine]).zip(off) {
                    *worst = larger(*worst, off.iter().map(|v| v * v).sum::<f64>());
                }
            }
        }
        Ok(())
    })?;
    of_vertices.iter_mut().for_each(|error| *error = error.sqrt());
    Ok(Errors { of_bits: worst.map(f64::sqrt), of_vertices, of_fine: of_fine.sqrt() })
}

/// Returns the reason why weights stay floats.
pub(super) fn why_floats(rows: &[Vec<(u16, f64)>]) -> String {
    let off = |row: &Vec<(u16, f64)>| (row.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs();
    let most = rows.iter().filter(|row| !row.is_empty()).map(off).fold(0.0, f64::max);
    // A sum that is closer to 1 than a step of 16 bits changes less than rounding does.
    if most <= 1.0 / f64::from(MIXED) {
        return "16 bits are too coarse for the error".into();
    }
    format!("they add up to 1 ± {most:.1e}, and rounded weights, which add up to 1, exceed the error")
}

fn is_blended(row: &[(u16, f64)]) -> bool {
    !matches!(row, [(_, weight)] if *weight == 1.0)
}

/// Returns the change of each weight for each number of bits, and for coarse and fine weights of 16 bits.
fn changes(row: &[(u16, f64)], spread: &[f32]) -> Vec<[f64; CHOICES + 2]> {
    let mut out = vec![[0.0; CHOICES + 2]; row.len()];
    let bits = (LEAST_BITS..=MOST_BITS).map(|bits| (one(bits), nearest(row, one(bits), spread)));
    let mixed = [(MIXED, coarse(row, spread)), (MIXED, nearest(row, MIXED, spread))];
    for (at, (one, weights)) in bits.chain(mixed).enumerate() {
        for ((out, (_, weight)), rounded) in out.iter_mut().zip(row).zip(weights) {
            out[at] = f64::from(rounded) / f64::from(one) - weight;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_and_weights_near() {
        let mut state = 3_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from((state >> 40) as u32) / f64::from(1 << 24)
        };
        for count in [1, 2, 3, 4, 5, 8, 12, 300] {
            for bits in LEAST_BITS..=MOST_BITS {
                let raw: Vec<f64> = (0..count).map(|_| next().powi(3) + 1e-9).collect();
                let sum: f64 = raw.iter().sum();
                let row: Vec<(u16, f64)> = raw.iter().zip(0..).map(|(w, joint)| (joint, w / sum)).collect();
                let found = rounded(&row, one(bits));
                assert_eq!(found.iter().sum::<u32>(), one(bits), "{count} weights, {bits} bits");
                for ((_, weight), found) in row.iter().zip(found) {
                    assert!((weight * f64::from(one(bits)) - f64::from(found)).abs() < 1.0 + 1e-9);
                }
            }
        }
        // A sum other than 1 is rescaled, and zeros are left out.
        assert_eq!(rounded(&[(0, 0.5), (1, 0.25)], 255), [170, 85]);
        let rows = [vec![(4, 0.9999), (7, 0.0001)], vec![]];
        assert_eq!(Precision::Bits(8).rounded(&rows, &Spreads::default()), [vec![(4, 255)], vec![]]);
        assert_eq!(
            Precision::Mixed(vec![true, false]).rounded(&rows, &Spreads::default())[0],
            [(4, 65_528), (7, 7)]
        );
        let rows = [vec![(4, 0.8), (7, 0.2)], vec![(3, 1.0)]];
        let mixed = Precision::Mixed(vec![false; 2]).rounded(&rows, &Spreads::default());
        assert_eq!(mixed, [vec![(4, (205 << 8) - 1), (7, 51 << 8)], vec![(3, 65_535)]]);
        assert_eq!(rounded(&[(0, 0.0)], 255), [255]);
    }

    #[test]
    fn weights_are_rounded_to_keep_the_vertex_in_place() {
        // Three joints at 0, 1 and 3 along an axis, about their mean of 4/3.
        let places = [-4.0 / 3.0, -1.0 / 3.0, 5.0 / 3.0_f32];
        let spread: Vec<f32> = places.iter().flat_map(|a| places.map(|b| a * b)).collect();
        let row = [(0, 10.3), (1, 5.4), (2, 4.3)].map(|(joint, weight): (u16, f64)| (joint, weight / 20.0));
        let off = |weights: &[u32]| {
            let change = |at: usize| f64::from(weights[at]) - 20.0 * row[at].1;
            (0..3).map(|at| change(at) * f64::from(places[at])).sum::<f64>().abs()
        };
        assert_eq!(rounded(&row, 20), [10, 6, 4]);
        let found = nearest(&row, 20, &spread);
        assert_eq!(found.iter().sum::<u32>(), 20);
        assert!(off(&found) <= off(&[10, 6, 4]), "{found:?}");
        let mut state = 9_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from((state >> 40) as u32) / f64::from(1 << 24)
        };
        let (mut before, mut after) = (0.0, 0.0);
        for count in (2..=MOST_JOINTS).cycle().take(500) {
            let mut raw: Vec<f64> = (0..count).map(|_| next() + 1e-3).collect();
            let sum: f64 = raw.iter().sum();
            raw.iter_mut().for_each(|weight| *weight /= sum);
            let row: Vec<(u16, f64)> = (0..).zip(raw).collect();
            let places: Vec<[f64; 3]> = (0..count).map(|_| [next(), next(), next()]).collect();
            let mean: [f64; 3] = std::array::from_fn(|axis| {
                places.iter().map(|place| place[axis]).sum::<f64>() / count as f64
            });
            let product = |a: &[f64; 3], b: &[f64; 3]| {
                (0..3).map(|axis| (a[axis] - mean[axis]) * (b[axis] - mean[axis])).sum::<f64>() as f32
            };
            let spread: Vec<f32> =
                places.iter().flat_map(|a| places.iter().map(move |b| product(a, b))).collect();
            let off = |weights: &[u32]| {
                let change = |at: usize| f64::from(weights[at]) / 255.0 - row[at].1;
                let axis = |axis: usize| (0..count).map(|at| change(at) * places[at][axis]).sum::<f64>();
                (0..3).map(|at| axis(at).powi(2)).sum::<f64>()
            };
            let (plain, found) = (rounded(&row, 255), nearest(&row, 255, &spread));
            assert_eq!(found.iter().sum::<u32>(), 255, "{count}");
            for (weight, (_, exact)) in found.iter().zip(&row) {
                assert!((f64::from(*weight) - 255.0 * exact).abs() < 1.0 + 1e-9, "{count}");
            }
            assert!(off(&found) <= off(&plain) + 1e-9, "{count}");
            before += off(&plain);
            after += off(&found);
        }
        assert!(after < 0.5 * before, "{after} {before}");
    }
}
