//! Finds the cheapest keys of one property: those within the budget that take the fewest bytes.

use alloc::vec::Vec;
use core::cell::Cell;

use super::channel::{Channel, Grids, Thinned, as_authored, own_times, thinned};
use super::format::{KeyFormat, STEP_GRADES, stream_bytes};
use super::key_values::{Spline, authored_values, coarser, moved, span_of, spans};
use super::source::Authored;
use super::space::Space;
use condyle::clip::Interpolation;

/// Property to fit.
#[derive(Clone, Copy)]
pub(super) struct Property<'a, const N: usize> {
    pub(super) grids: &'a Grids,
    /// Times of the moments, in seconds.
    pub(super) times: &'a [f64],
    /// Value at each moment.
    pub(super) targets: &'a [[f64; N]],
    /// Squared distance from each target within which every value holds; empty if unknown.
    pub(super) slacks: &'a [f64],
    pub(super) authored: Option<Authored<'a>>,
}

/// Unevenly spaced sets of keys that previous properties use.
pub(super) type Uneven = Vec<Vec<usize>>;

/// Maximum number of unevenly spaced sets of keys that the next property tries. Not tuned.
const MAX_UNEVEN: usize = 16;

/// Returns the cheapest keys for which a property `holds` at each moment, and its values there. `uneven`
/// holds key sets of other properties of the clip. If a new unevenly spaced set is cheapest, it is added.
pub(super) fn fit<const N: usize, S: Space<N>>(
    space: &S,
    property: Property<'_, N>,
    uneven: &mut Uneven,
    holds: impl Fn(usize, [f64; N]) -> bool,
) -> Option<(Channel, Vec<[f64; N]>)> {
    let mut search = KeySearch::new(space, property, holds);
    search.try_even_lines();
    search.try_shared_lines(uneven);
    search.try_thinned_lines(uneven);
    if !property.grids.pinned {
        search.try_splines();
        search.try_authored();
    }
    search.best.map(|best| (best.channel, best.values))
}

/// Cheapest keys found so far.
struct Best<const N: usize> {
    bytes: usize,
    channel: Channel,
    /// Value at each moment.
    values: Vec<[f64; N]>,
}

/// Search for the cheapest keys of one property.
struct KeySearch<'a, const N: usize, S, H> {
    space: &'a S,
    property: Property<'a, N>,
    /// Targets, but with the authored key at each moment that has one within the limit. Next to a key that is
    /// half a turn away, the shortest path may rotate the other way after rounding.
    own: Vec<[f64; N]>,
    holds: H,
    /// Moment that failed last: the next keys most likely fail there too.
    suspect: Cell<usize>,
    /// Moment at which the last hopeless grid failed.
    hopeless: Cell<usize>,
    best: Option<Best<N>>,
}

impl<'a, const N: usize, S: Space<N>, H: Fn(usize, [f64; N]) -> bool> KeySearch<'a, N, S, H> {
    fn new(space: &'a S, property: Property<'a, N>, holds: H) -> Self {
        let own = own_values(&property, &holds);
        Self { space, property, own, holds, suspect: Cell::new(0), hopeless: Cell::new(0), best: None }
    }

    /// Whether all values hold.
    fn passes(&self, values: &[[f64; N]]) -> bool {
        let suspect = self.suspect.get();
        if !(self.holds)(suspect, values[suspect]) {
            return false;
        }
        let failed = (0..values.len()).find(|&moment| !(self.holds)(moment, values[moment]));
        if let Some(moment) = failed {
            self.suspect.set(moment);
        }
        failed.is_none()
    }

    /// Values at all moments between the keys at a grid. `value` takes an item of [`spans`]. `None` once a
    /// value does not hold, so that most keys are rejected after few values.
    fn values(
        &self,
        grid: &[usize],
        mut value: impl FnMut((usize, usize, f64, f64)) -> [f64; N],
    ) -> Option<Vec<[f64; N]>> {
        let (times, suspect) = (self.property.times, self.suspect.get());
        if !(self.holds)(suspect, value(span_of(grid, times, suspect))) {
            return None;
        }
        let mut values = Vec::new();
        for span in spans(grid, times) {
            let (moment, value) = (span.1, value(span));
            if !(self.holds)(moment, value) {
                self.suspect.set(moment);
                return None;
            }
            if values.is_empty() {
                values.reserve_exact(times.len());
            }
            values.push(value);
        }
        Some(values)
    }

    /// Whether the value at a fraction of the path from the target to `value` holds.
    fn part_holds(&self, at: usize, value: [f64; N], part: f64) -> bool {
        let target = self.property.targets[at];
        if let Some(slack) = self.property.slacks.get(at) {
            let off = self.space.square(target, value);
            // For a longer arc, the chord of a part of it is longer than that part of its chord.
            if off < 0.01 && off * (1.01 * part * part) < *slack {
                return true;
            }
        }
        (self.holds)(at, self.space.between(target, value, part))
    }

    fn is_filtered(&self) -> bool {
        self.space.format() == KeyFormat::Filtered
    }

    /// Size in bytes of the cheapest keys found so far.
    fn least(&self) -> usize {
        self.best.as_ref().map_or(usize::MAX, |best| best.bytes)
    }

    /// Keeps these keys if they are the cheapest so far, and returns whether they are.
    fn keep(&mut self, bytes: usize, channel: impl FnOnce() -> Channel, values: Vec<[f64; N]>) -> bool {
        let is_best = bytes < self.least();
        if is_best {
            self.best = Some(Best { bytes, channel: channel(), values });
        }
        is_best
    }

    /// Tries a line through `keys` at a grid, with `overhead` bytes in addition to its keys. Returns whether
    /// it is the cheapest so far, or `None` if it does not hold.
    fn try_line(&mut self, grid: &[usize], keys: &[[f64; N]], overhead: usize) -> Option<bool> {
        if grid.len() < 2 {
            return None;
        }
        let space = self.space;
        let (bytes, stored, values) = space.format().coarsest(S::GRADES, |grade| {
            let space = space.coarser(grade);
            let stored: Vec<[f32; N]> = keys.iter().map(|&key| space.stored(key)).collect();
            let prepared = |at: usize| {
                let [from, to] = [stored[at], stored[at + 1]].map(|key| key.map(f64::from));
                (at, space.span(from, to))
            };
            let mut now = prepared(0);
            let values = self.values(grid, |(at, _, t, _)| {
                if now.0 != at {
                    now = prepared(at);
                }
                space.at(&now.1, t)
            })?;
            Some((overhead + space.line_bytes(keys), stored, values))
        })?;
        Some(self.keep(bytes, || Channel::linear(grid.to_vec(), stored.into_flattened()), values))
    }

    /// Tries a line at a grid, with its keys moved to minimise the distance from the targets at all moments.
    fn try_moved_line(&mut self, grid: &[usize], overhead: usize) -> Option<bool> {
        let Property { grids, times, targets, .. } = self.property;
        let keys = moved(self.space, grids.pinned, grid, times, targets);
        self.try_line(grid, &keys, overhead)
    }

    /// Whether no keys at a grid can hold. The keys of lines that hold are near their targets. A line through
    /// the targets is therefore off by at most about twice the limit. Four times as far is hopeless.
    fn is_hopeless(&self, grid: &[usize]) -> bool {
        let Property { times, targets, .. } = self.property;
        let is_off = |interval: usize| {
            let (from, to) = (grid[interval], grid[interval + 1]);
            let (middle, span) = (from.midpoint(to), self.space.span(targets[from], targets[to]));
            [middle, from.midpoint(middle), middle.midpoint(to)].into_iter().any(|at| {
                let t = (times[at] - times[from]) / (times[to] - times[from]);
                !self.part_holds(at, self.space.at(&span, t), 0.25)
            })
        };
        if grid.len() > 1 && is_off(span_of(grid, times, self.hopeless.get()).0) {
            return true;
        }
        let found = (1..grid.len()).map(|to| to - 1).find(|&interval| is_off(interval));
        found.inspect(|&interval| self.hopeless.set(grid[interval].midpoint(grid[interval + 1]))).is_some()
    }

    /// Tries lines at evenly spaced keys, few keys first.
    fn try_even_lines(&mut self) {
        for grid in self.property.grids.iter() {
            if self.space.key_bytes() * grid.len() >= self.least() {
                break;
            }
            if self.is_hopeless(grid) {
                continue;
            }
            match self.try_moved_line(grid, 0) {
                // More keys take fewer bytes only if they may be coarser.
                Some(is_best) if !(self.is_filtered() && is_best) => break,
                _ => {}
            }
        }
    }

    /// Tries lines at the unevenly spaced keys of other properties, to share their times.
    fn try_shared_lines(&mut self, uneven: &Uneven) {
        for grid in uneven {
            if self.space.key_bytes() * grid.len() < self.least() && !self.is_hopeless(grid) {
                self.try_moved_line(grid, 0);
            }
        }
    }

    /// Tries lines at as few unevenly spaced keys as possible. The first attempts exceed the limit, because
    /// moved keys can compensate for this.
    fn try_thinned_lines(&mut self, uneven: &mut Uneven) {
        let places = &self.property.grids.places;
        for slack in [1.8, 1.3, 1.0] {
            let bytes = |keys: usize| self.space.key_bytes() * keys + own_times(keys);
            let is_too_many = |keys: usize| bytes(keys) >= self.least();
            let keys = match thinned(places, is_too_many, |from, to| self.reaches(from, to, slack)) {
                Thinned::Keys(keys) => keys,
                Thinned::OutOfReach => continue,
                Thinned::TooMany => break,
            };
            let overhead = own_times(keys.len());
            let found = self.try_moved_line(&keys, overhead).or_else(|| {
                let values: Vec<[f64; N]> = keys.iter().map(|&at| self.own[at]).collect();
                self.try_line(&keys, &values, overhead)
            });
            let Some(is_best) = found else { continue };
            if is_best {
                uneven.push(keys);
                if uneven.len() > MAX_UNEVEN {
                    uneven.remove(0);
                }
            }
            break;
        }
    }

    /// Whether a line between the values at two moments holds at all moments between them, within `slack`
    /// times the limit.
    fn reaches(&self, from: usize, to: usize, slack: f64) -> bool {
        let (times, space) = (self.property.times, self.space);
        let ends = [from, to].map(|at| space.stored(self.own[at]).map(f64::from));
        let (length, span) = (times[to] - times[from], space.span(ends[0], ends[1]));
        let is = |at: usize| space.at(&span, (times[at] - times[from]) / length);
        // The error is largest in the middle, so that is tested first.
        core::iter::once(from.midpoint(to).max(from + 1))
            .chain(from + 1..to)
            .all(|at| self.part_holds(at, is(at), 1.0 / slack))
    }

    /// Minimum number of bytes per key of a spline.
    fn spline_key_bytes(&self) -> usize {
        if self.is_filtered() { N } else { 12 * N }
    }

    /// Tries splines at evenly spaced keys, few keys first.
    fn try_splines(&mut self) {
        let (Property { grids, times, targets, .. }, space) = (self.property, self.space);
        let (is_filtered, key_bytes) = (self.is_filtered(), self.spline_key_bytes());
        for grid in grids.iter() {
            if key_bytes * grid.len() >= self.least() {
                break;
            }
            let found = space.format().coarsest(STEP_GRADES, |grade| {
                let spline = Spline::new(targets, grid, times, space.spline_steps().coarser(grade));
                let last = times.len() - 1;
                let values = self.values(grid, |(at, moment, t, length)| {
                    let value = spline.at(at, t, length);
                    if moment == 0 || moment == last { value } else { space.point(value) }
                })?;
                let bytes = if is_filtered {
                    stream_bytes(&spline.counts(), 3 * N, 3)
                } else {
                    key_bytes * grid.len()
                };
                Some((bytes, spline.numbers(), values))
            });
            let Some((bytes, keys, values)) = found else { continue };
            let interpolation = Interpolation::CubicSpline;
            let channel = || Channel { interpolation, ..Channel::linear(grid.to_vec(), keys) };
            let is_best = self.keep(bytes, channel, values);
            if !(is_filtered && is_best) {
                break;
            }
        }
    }

    /// Tries the authored keys.
    fn try_authored(&mut self) {
        let Some(authored) = self.property.authored else { return };
        let (space, Authored { times, track }) = (self.space, authored);
        let is_spline = track.interpolation == Interpolation::CubicSpline;
        let key_bytes = if is_spline { self.spline_key_bytes() } else { space.key_bytes() };
        if key_bytes * times.len() + own_times(times.len()) >= self.least() {
            return;
        }
        let grades = if is_spline { STEP_GRADES } else { S::GRADES };
        let found = space.format().coarsest(grades, |grade| {
            let (stored, bytes) = coarser(space, track, grade);
            let values = authored_values(times, &stored, self.property.times);
            self.passes(&values).then_some((bytes + own_times(times.len()), stored.values, values))
        });
        if let Some((bytes, stored, values)) = found {
            self.keep(bytes, || as_authored(authored, stored), values);
        }
    }
}

/// Returns the targets of a property. A moment with a key of an authored linear track gets that key, if it is
/// within the limit.
fn own_values<const N: usize>(
    property: &Property<'_, N>,
    holds: impl Fn(usize, [f64; N]) -> bool,
) -> Vec<[f64; N]> {
    let mut own = property.targets.to_vec();
    let is_line = |authored: &Authored<'_>| authored.track.interpolation == Interpolation::Linear;
    let Some(Authored { times, track }) = property.authored.filter(is_line) else { return own };
    let (keys, _) = track.values.as_chunks::<N>();
    for &place in &property.grids.places {
        let key = times.partition_point(|&time| f64::from(time) < property.times[place]);
        let found = keys.get(key).filter(|_| f64::from(times[key]) == property.times[place]);
        if let Some(value) = found.map(|key| key.map(f64::from)).filter(|&value| holds(place, value)) {
            own[place] = value;
        }
    }
    own
}
