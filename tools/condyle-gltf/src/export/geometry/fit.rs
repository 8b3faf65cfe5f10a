//! The precision of each mesh: the fewest bits that keep posed vertices within the error.

use condyle::Error;

use super::grid::Grid;
use super::groups::Group;
use super::measure::{Apart, Moments, PosedShape, Shape, apart};
use super::source::Source;
use super::weights::{self, LEAST_BITS, Precision, Spreads};
use super::{columns, measure, order};
use crate::asset::Asset;
use crate::meshopt::encode;

/// Fraction of the error of meshes for the rounding of weights.
const WEIGHT_PART: f64 = 0.75;
/// Number of times that a step is corrected after its error was measured.
const TRIES: usize = 8;
/// Number of powers of two that are tried, from a little more than the step of integers on.
const FINER: i32 = 12;
/// Error of a step that is not corrected any more, as a fraction of the allowed one.
const NEAR: f64 = 0.94;
/// Fewest steps along the longest side of a mesh.
const LEAST_STEPS: f64 = 255.0;
/// Products of a matrix and a point that a search may compute for each measurement.
const SEARCH_WORK: usize = 60_000_000;

/// Most measurements of a search: three for weights, then for steps of integers, then for powers of two.
const MEASUREMENTS: usize = 3 + TRIES + FINER as usize;

/// Returns the moments at which a search measures all sources of a document.
pub(super) fn moments(asset: &Asset, sources: &[Source<'_>], shapes: &[Shape], all: &Moments) -> Moments {
    all.at_most(SEARCH_WORK / visit_work(asset, sources, shapes).max(1))
}

/// Returns the largest work of a search, in products of a matrix and a point.
pub(super) fn work(asset: &Asset, sources: &[Source<'_>], shapes: &[Shape], all: &Moments) -> usize {
    let count = moments(asset, sources, shapes, all).count();
    visit_work(asset, sources, shapes).saturating_mul(count).saturating_mul(MEASUREMENTS)
}

/// Returns the work of one measurement of all sources at one moment. The joints are posed for each of them.
fn visit_work(asset: &Asset, sources: &[Source<'_>], shapes: &[Shape]) -> usize {
    let works = sources.iter().zip(shapes).map(|(source, shape)| {
        measure::pose_work(asset).saturating_add(measure::shape_work(asset, &source.instances, shape))
    });
    works.fold(0, usize::saturating_add)
}

/// The precision of a group of meshes.
#[derive(Debug)]
pub(super) struct Fit {
    pub(super) grid: Grid,
    /// Precision of the weights of each source of the group, and these weights.
    pub(super) weights: Vec<Rounded>,
    /// The reason for floats instead of integers.
    pub(super) why_floats: Option<String>,
}

/// The weights of a source.
#[derive(Debug)]
pub(super) struct Rounded {
    pub(super) precision: Precision,
    /// Joints and integer weights of each vertex; no rows for [`Precision::Exact`].
    pub(super) rows: Vec<Vec<(u16, u32)>>,
}

impl Rounded {
    const EXACT: Self = Self { precision: Precision::Exact, rows: Vec::new() };
}

/// Returns the precision of a group for its error.
pub(super) fn fit(
    asset: &Asset,
    sources: &[Source<'_>],
    shapes: &[Shape],
    group: &Group,
    moments: &Moments,
) -> Result<Fit, Error> {
    let Some(budget) = group.aim else {
        let weights = group.sources.iter().map(|_| Rounded::EXACT).collect();
        let why = "no grid keeps the error";
        return Ok(Fit { grid: Grid::Exact, weights, why_floats: Some(why.into()) });
    };
    let search = Search { asset, sources, shapes, group, moments };
    let mut weights = Vec::new();
    for &at in &group.sources {
        weights.push(if sources[at].is_skinned {
            search.weights(at, WEIGHT_PART * budget)?
        } else {
            Rounded::EXACT
        });
    }
    let moved = group.sources.iter().zip(&weights).map(|(&at, weights)| weighted(&shapes[at], weights));
    let moved: Vec<Shape> = moved.collect();
    let (low, high) = search.bounds();
    let longest = (0..3).map(|axis| high[axis] - low[axis]).fold(0.0, f64::max);
    let most = longest / LEAST_STEPS;
    let step = search.step(&moved, low, most, budget)?;
    let Some(step) = step.filter(|step| *step > 0.0 && step.is_finite()) else {
        let why = "no grid keeps the error";
        return Ok(Fit { grid: Grid::Exact, weights, why_floats: Some(why.into()) });
    };
    let reach = search.longest_delta();
    let why = match &group.blocked {
        Some(why) => Some(why.clone()),
        None if longest / step > 65_535.0 || reach / step > 32_767.0 => {
            Some("16 bits are too coarse for the error".into())
        }
        None => None,
    };
    let Some(why) = why else {
        return Ok(Fit { grid: Grid::integers(low, step), weights, why_floats: None });
    };
    let largest = low.iter().chain(&high).fold(reach, |most, v| most.max(v.abs()));
    // The positions of a few vertices can be farther from powers of two than from integers.
    let coarsest = (2.0 * step).log2().floor();
    let steps = (0..FINER).map(|finer| 2_f64.powi(coarsest as i32 - finer));
    for step in steps.filter(|step| largest / step < f64::from(1 << 23)) {
        let grid = Grid::powers(step);
        if search.error(&moved, &grid)? <= budget {
            return Ok(Fit { grid, weights, why_floats: Some(why) });
        }
    }
    Ok(Fit { grid: Grid::Exact, weights, why_floats: Some(why) })
}

/// Returns a shape with rounded weights.
fn weighted(shape: &Shape, weights: &Rounded) -> Shape {
    if weights.precision == Precision::Exact {
        return shape.clone();
    }
    let one = f64::from(weights.precision.one());
    let row = |row: &Vec<(u16, u32)>| row.iter().map(|&(joint, w)| (joint, f64::from(w) / one)).collect();
    Shape { rows: weights.rows.iter().map(row).collect(), ..shape.clone() }
}

struct Search<'a> {
    asset: &'a Asset,
    sources: &'a [Source<'a>],
    shapes: &'a [Shape],
    group: &'a Group,
    moments: &'a Moments,
}

impl Search<'_> {
    /// Returns the precision that keeps the error of a source's weights in the fewest bytes.
    fn weights(&self, at: usize, budget: f64) -> Result<Rounded, Error> {
        let (source, shape) = (&self.sources[at], &self.shapes[at]);
        let mut choices = self.choices(at, &Spreads::default(), budget)?;
        if let [Rounded { precision: Precision::Bits(LEAST_BITS), .. }] = &*choices {
            return Ok(choices.swap_remove(0));
        }
        // Neighbours then differ more, so this can take more bytes.
        let spreads = Spreads::of(shape, &source.instances, self.asset, self.moments)?;
        choices.extend(self.choices(at, &spreads, budget)?);
        let mut triangles = order::ordered(&source.triangles, shape.rows.len());
        let vertices = order::renumber(&mut triangles, shape.rows.len());
        let bytes = |weights: &Rounded| -> usize {
            let columns = columns::influences(&weights.rows, &weights.precision).into_iter();
            let columns = columns.map(|column| column.select(&vertices));
            columns.map(|column| encode::attributes(&column.elements, column.form.stride).len()).sum()
        };
        Ok(choices.into_iter().min_by_key(bytes).unwrap_or(Rounded::EXACT))
    }

    /// Returns the weights of a source that keep the error: of the fewest bits, and mixed ones.
    fn choices(&self, at: usize, spreads: &Spreads, budget: f64) -> Result<Vec<Rounded>, Error> {
        let (source, shape) = (&self.sources[at], &self.shapes[at]);
        let errors = weights::errors(shape, spreads, &source.instances, self.asset, self.moments)?;
        let with = |precision: Precision| {
            let rows = precision.rounded(&shape.rows, spreads);
            Rounded { precision, rows }
        };
        let found = (LEAST_BITS..).zip(errors.of_bits).find(|(_, error)| *error <= budget);
        let mut choices: Vec<Rounded> =
            found.map(|(bits, _)| with(Precision::Bits(bits))).into_iter().collect();
        if found.is_some_and(|(bits, _)| bits > LEAST_BITS) && errors.of_fine <= budget {
            let fine = errors.of_vertices.iter().map(|error| *error > budget).collect();
            choices.insert(0, with(Precision::Mixed(fine)));
        }
        Ok(choices)
    }

    fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        let points = self.group.sources.iter().flat_map(|&at| &self.shapes[at].positions);
        let (mut low, mut high) = ([f64::MAX; 3], [f64::MIN; 3]);
        for point in points {
            low = std::array::from_fn(|axis| low[axis].min(point[axis]));
            high = std::array::from_fn(|axis| high[axis].max(point[axis]));
        }
        if low[0] > high[0] { ([0.0; 3], [0.0; 3]) } else { (low, high) }
    }

    fn longest_delta(&self) -> f64 {
        let deltas = self.group.sources.iter().flat_map(|&at| &self.shapes[at].targets).flatten();
        deltas.flat_map(|(_, delta)| delta).fold(0.0, |most, v| most.max(v.abs()))
    }

    /// Returns the largest error of a posed vertex on a grid.
    fn error(&self, moved: &[Shape], grid: &Grid) -> Result<f64, Error> {
        let mut worst = Apart::default();
        for (&at, moved) in self.group.sources.iter().zip(moved) {
            let (source, shape) = (&self.sources[at], &self.shapes[at]);
            let target = |target: &Vec<(u32, [f64; 3])>| {
                target.iter().map(|&(vertex, delta)| (vertex, grid.nearest_delta(delta))).collect()
            };
            let rounded = Shape {
                positions: moved.positions.iter().map(|&p| grid.nearest(p)).collect(),
                rows: moved.rows.clone(),
                targets: moved.targets.iter().map(target).collect(),
            };
            self.moments.visit(self.asset, |posed| {
                for instance in source.instances.iter().map(|&at| &self.asset.instances[at]) {
                    let palette = posed.palette(self.asset, instance);
                    let weights = posed.weights(instance)?;
                    let posed = |shape| PosedShape { shape, palette: &palette };
                    worst.add(apart(posed(shape), posed(&rounded), &weights, None));
                }
                Ok(())
            })?;
        }
        Ok(worst.worst)
    }

    /// Returns the largest step, at most `most`, that keeps the error of a grid from `low` on; `None` if no
    /// step does.
    fn step(&self, moved: &[Shape], low: [f64; 3], most: f64, budget: f64) -> Result<Option<f64>, Error> {
        // A position is at most half a diagonal of a cell away from the grid.
        let mut step = (2.0 * budget / 3_f64.sqrt()).min(if most > 0.0 { most } else { budget });
        let mut best: Option<f64> = None;
        for _ in 0..TRIES {
            let error = self.error(moved, &Grid::integers(low, step))?;
            if error.is_nan() {
                return Ok(None);
            }
            if error <= budget {
                best = Some(best.map_or(step, |best| best.max(step)));
                if error > NEAR * budget || step >= most {
                    break;
                }
                step = (step * (0.99 * budget / error).clamp(1.02, 4.0)).min(most.max(step));
            } else {
                let shorter = step * (0.97 * budget / error).clamp(0.1, 0.97);
                if best.is_some_and(|best| shorter <= best) {
                    break;
                }
                step = shorter;
            }
        }
        Ok(best)
    }
}
