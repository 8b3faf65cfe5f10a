//! The keys of one property: of all that keep the budget, those that take the fewest bytes.

use alloc::vec;
use alloc::vec::Vec;

use super::format::{KeyFormat, STEP_GRADES, Steps, greatest, stream_bytes};
use super::key_values::{authored_values, coarser, line, moved, spline};
use super::source::Free;
use super::space::Space;
use condyle::clip::{Interpolation, Target, Track};

/// The keys of one property.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Channel {
    pub(super) interpolation: Interpolation,
    /// At which moments.
    pub(super) keys: Vec<usize>,
    /// Their times, where they are authored ones.
    pub(super) times: Option<Vec<f32>>,
    /// As in a [`Track`].
    pub(super) values: Vec<f32>,
}

impl Channel {
    pub(super) fn constant(value: &[f32]) -> Self {
        Self { interpolation: Interpolation::Linear, keys: vec![0], times: None, values: value.to_vec() }
    }

    pub(super) fn linear(keys: Vec<usize>, values: Vec<f32>) -> Self {
        Self { interpolation: Interpolation::Linear, keys, times: None, values }
    }
}

/// How many sets of keys that are not evenly spaced are tried for the next property. Not tuned.
const MAX_UNEVEN: usize = 16;

/// Frames from one key to the next that are tried, widest first, before halves of a frame.
const STRIDES: [usize; 16] = [128, 96, 64, 48, 32, 24, 16, 12, 10, 8, 6, 5, 4, 3, 2, 1];

/// Sets of moments that keys may have, few first. Properties that take the same one share its times.
pub(super) struct Grids {
    keys: Vec<Vec<usize>>,
    /// Where keys may be that are not evenly spaced: at frames and where keys were.
    places: Vec<usize>,
    /// Whether both ends are given, and splines are not possible, as others go on there.
    pub(super) pinned: bool,
}

impl Grids {
    /// `frames` are the moments that are frames, `places` those where keys may be.
    pub(super) fn new(moments: usize, frames: &[usize], places: Vec<usize>, pinned: bool) -> Self {
        let mut keys: Vec<Vec<usize>> = Vec::new();
        if moments < 2 {
            return Self { keys, places, pinned };
        }
        let last = frames.len() - 1;
        let mut add = |grid: Vec<usize>| {
            if keys.last().is_none_or(|before| before.len() < grid.len()) {
                keys.push(grid);
            }
        };
        add(vec![0, moments - 1]);
        for stride in STRIDES.into_iter().filter(|&stride| stride < last) {
            // As even as whole frames can be.
            let count = last.div_ceil(stride);
            add((0..=count).map(|at| frames[(at * last + count / 2) / count]).collect());
        }
        add(frames.to_vec());
        // Between any two keys is at least one moment at which errors are looked at.
        if moments > 2 * frames.len() - 1 {
            let halves = frames.windows(2).flat_map(|pair| [pair[0], pair[0].midpoint(pair[1])]);
            add(halves.chain([moments - 1]).collect());
        }
        Self { keys, places, pinned }
    }

    fn iter(&self) -> impl Iterator<Item = &[usize]> {
        self.keys.iter().map(Vec::as_slice)
    }
}

/// What was found so far: bytes, keys, and what they give at each moment.
type Best<T> = Option<(usize, Channel, Vec<T>)>;

fn keep<T>(best: &mut Best<T>, bytes: usize, channel: impl FnOnce() -> Channel, values: Vec<T>) {
    if best.as_ref().is_none_or(|(least, ..)| bytes < *least) {
        *best = Some((bytes, channel(), values));
    }
}

/// The bytes of a track's own times.
pub(super) fn own_times(count: usize) -> usize {
    // The accessor's JSON besides.
    4 * count + 110
}

pub(super) fn as_authored(times: &[f32], track: &Track, values: Vec<f32>) -> Channel {
    Channel { interpolation: track.interpolation, keys: Vec::new(), times: Some(times.to_vec()), values }
}

/// The cheapest keys for a property that `holds` at each moment, and its values there. `uneven` are sets of keys that other
/// properties of the clip have; if one of its own serves best, it is added.
pub(super) fn fit<const N: usize, S: Space<N>>(
    space: &S,
    grids: &Grids,
    uneven: &mut Vec<Vec<usize>>,
    times: &[f64],
    targets: &[[f64; N]],
    authored: Option<(&[f32], &Track)>,
    holds: impl Fn(usize, [f64; N]) -> bool,
) -> Option<(Channel, Vec<[f64; N]>)> {
    let mut suspect = 0;
    let mut passes = |values: &[[f64; N]]| {
        holds(suspect, values[suspect])
            && match (0..values.len()).find(|&moment| !holds(moment, values[moment])) {
                Some(moment) => {
                    suspect = moment;
                    false
                }
                None => true,
            }
    };
    let width = space.key_bytes();
    // Where a key was, what it was: the way to the other side of a sphere is another one a rounding beside it.
    let mut own = targets.to_vec();
    if let Some((own_times, track)) =
        authored.filter(|(_, track)| track.interpolation == Interpolation::Linear)
    {
        let (keys, _) = track.values.as_chunks::<N>();
        for &place in &grids.places {
            let key = own_times.partition_point(|&time| f64::from(time) < times[place]);
            let found = keys.get(key).filter(|_| f64::from(own_times[key]) == times[place]);
            if let Some(value) = found.map(|key| key.map(f64::from)).filter(|&value| holds(place, value)) {
                own[place] = value;
            }
        }
    }
    let mut best: Best<[f64; N]> = None;
    let filtered = space.format() == KeyFormat::Filtered;
    let least = |best: &Best<[f64; N]>| best.as_ref().map_or(usize::MAX, |(least, ..)| *least);
    // Whether a line serves, and then whether it is the cheapest.
    let mut line = |grid: &[usize], besides: usize, best: &mut Best<[f64; N]>, is_moved: bool| {
        let keys = match is_moved {
            true => moved(space, grids.pinned, grid, times, targets),
            false => grid.iter().map(|&at| own[at]).collect(),
        };
        let (bytes, stored, values) = space.format().coarsest(S::GRADES, |grade| {
            let space = space.coarser(grade);
            let (stored, values) = line(&space, grid, times, &keys);
            passes(&values).then(|| (besides + space.line_bytes(&keys), stored, values))
        })?;
        let is_best = bytes < least(best);
        keep(best, bytes, || Channel::linear(grid.to_vec(), stored.into_flattened()), values);
        Some(is_best)
    };
    // Keys of lines that hold are near their targets, so that lines through the targets are hardly twice as far off as may be: where
    // they are four times as far, no keys will do.
    let is_hopeless = |grid: &[usize]| {
        grid.windows(2).any(|pair| {
            let (from, to) = (pair[0], pair[1]);
            let middle = from.midpoint(to);
            [middle, from.midpoint(middle), middle.midpoint(to)].into_iter().any(|at| {
                let t = (times[at] - times[from]) / (times[to] - times[from]);
                let is = space.between(targets[from], targets[to], t);
                !holds(at, space.between(targets[at], is, 0.25))
            })
        })
    };
    for grid in grids.iter() {
        if width * grid.len() >= least(&best) {
            break;
        }
        if is_hopeless(grid) {
            continue;
        }
        match line(grid, 0, &mut best, true) {
            // More keys are fewer bytes only where they may be coarser.
            Some(is_best) if !(filtered && is_best) => break,
            _ => {}
        }
    }
    for grid in uneven.iter() {
        if width * grid.len() < least(&best) && !is_hopeless(grid) {
            line(grid, 0, &mut best, true);
        }
    }
    // With more than the limit first, as keys that are moved from their places can make up for it.
    for slack in [1.8, 1.3, 1.0] {
        let reaches = |from: usize, to: usize| {
            let ends = [from, to].map(|at| space.stored(own[at]).map(f64::from));
            let length = times[to] - times[from];
            let is = |at: usize| space.between(ends[0], ends[1], (times[at] - times[from]) / length);
            let near = |at: usize| space.between(targets[at], is(at), 1.0 / slack);
            // In the middle it is off most.
            core::iter::once(from.midpoint(to).max(from + 1))
                .chain(from + 1..to)
                .all(|at| holds(at, near(at)))
        };
        let Some(keys) = thinned(&grids.places, reaches) else { continue };
        let besides = own_times(keys.len());
        if width * keys.len() + besides >= least(&best) {
            break;
        }
        let found = line(&keys, besides, &mut best, true).or_else(|| line(&keys, besides, &mut best, false));
        let Some(is_best) = found else { continue };
        if is_best {
            uneven.push(keys);
            if uneven.len() > MAX_UNEVEN {
                uneven.remove(0);
            }
        }
        break;
    }
    if !grids.pinned {
        let key_bytes = if filtered { N } else { 12 * N };
        for grid in grids.iter() {
            if key_bytes * grid.len() >= least(&best) {
                break;
            }
            let found = space.format().coarsest(STEP_GRADES, |grade| {
                let steps = space.spline_steps().coarser(grade);
                let (keys, mut values, counts) = spline(targets, grid, times, steps);
                let inside = values.len() - 1;
                values[1..inside].iter_mut().for_each(|value| *value = space.point(*value));
                let bytes =
                    || if filtered { stream_bytes(&counts, 3 * N, 3) } else { key_bytes * grid.len() };
                passes(&values).then(|| (bytes(), keys, values))
            });
            let Some((bytes, keys, values)) = found else { continue };
            let is_best = bytes < least(&best);
            let interpolation = Interpolation::CubicSpline;
            let channel = || Channel { interpolation, ..Channel::linear(grid.to_vec(), keys) };
            keep(&mut best, bytes, channel, values);
            if !(filtered && is_best) {
                break;
            }
        }
        if let Some((own, track)) = authored {
            let is_spline = track.interpolation == Interpolation::CubicSpline;
            let key_bytes = if is_spline { key_bytes } else { width };
            if key_bytes * own.len() + own_times(own.len()) < least(&best) {
                let found =
                    space.format().coarsest(if is_spline { STEP_GRADES } else { S::GRADES }, |grade| {
                        let (stored, bytes) = coarser(space, track, grade);
                        let values = authored_values(own, &stored, times);
                        passes(&values).then_some((bytes + own_times(own.len()), stored.values, values))
                    });
                if let Some((bytes, stored, values)) = found {
                    keep(&mut best, bytes, || as_authored(own, track, stored), values);
                }
            }
        }
    }
    best.map(|(_, channel, values)| (channel, values))
}

/// As few of these places as there can be with keys whose value is the target: from each the farthest that a line `reaches`.
fn thinned(places: &[usize], mut reaches: impl FnMut(usize, usize) -> bool) -> Option<Vec<usize>> {
    let mut keys = vec![*places.first()?];
    let mut from = 0;
    while from + 1 < places.len() {
        let left = places.len() - 1 - from;
        // By doubling, then by halving: a line that reaches far nearly always reaches less far too.
        let (mut far, mut too_far) = (0, left + 1);
        while far < left {
            let next = (2 * far).clamp(1, left);
            if !reaches(places[from], places[from + next]) {
                too_far = next;
                break;
            }
            far = next;
        }
        while far > 0 && too_far - far > 1 {
            let middle = far.midpoint(too_far);
            match reaches(places[from], places[from + middle]) {
                true => far = middle,
                false => too_far = middle,
            }
        }
        if far == 0 {
            return None;
        }
        from += far;
        keys.push(places[from]);
    }
    Some(keys)
}

/// The cheapest keys for a track that drives no joint, each component within `limit`.
pub(super) fn fit_values(
    times: &[f64],
    grids: &Grids,
    free: &Free<'_>,
    limit: f64,
    format: KeyFormat,
) -> Option<Channel> {
    let width = free.values.first().map_or(0, Vec::len);
    let off = |moment: usize, value: &dyn Fn(usize) -> f64| {
        (0..width).all(|c| (value(c) - free.values[moment][c]).abs() <= limit)
    };
    let is_fraction = free.values.iter().flatten().all(|v| (0.0..=1.0).contains(v));
    let in_steps = format == KeyFormat::Shorts
        && is_fraction
        && limit >= 1.0 / 65535.0
        && matches!(free.target, Target::Weights(_));
    // What is rounded leaves half of the limit to the lines between keys.
    let steps = Steps::finest(format, greatest(free.values.iter().flatten().copied())).up_to(limit);
    let stored = |&v: &f64| match in_steps {
        true => ((v * 65535.0 + 0.5) as u32) as f32 / 65535.0,
        false => steps.round(v),
    };
    let first: Vec<f32> = free.values.first()?.iter().map(stored).collect();
    if !grids.pinned && (0..times.len()).all(|moment| off(moment, &|c| first[c].into())) {
        return Some(Channel::constant(&first));
    }
    let linear = |grid: &[usize]| {
        let keys = grid.iter().flat_map(|&at| free.values[at].iter().map(stored));
        Channel::linear(grid.to_vec(), keys.collect())
    };
    // Rotations that belong to no joint go as they are.
    if free.target.rotates() {
        let all = || linear(&(0..times.len()).collect::<Vec<_>>());
        let own = free.authored.map(|(times, track)| as_authored(times, track, track.values.clone()));
        return Some(own.unwrap_or_else(all));
    }
    let holds_line = |from: usize, to: usize| {
        let value = |at: usize, c: usize| f64::from(stored(&free.values[at][c]));
        (from..=to).all(|moment| {
            let t = (times[moment] - times[from]) / (times[to] - times[from]);
            off(moment, &|c| value(from, c) + (value(to, c) - value(from, c)) * t)
        })
    };
    let width = if in_steps || format == KeyFormat::Filtered { 2 } else { 4 } * width;
    let even = grids.iter().find(|grid| grid.windows(2).all(|pair| holds_line(pair[0], pair[1])));
    let even = even.map(|grid| (width * grid.len(), linear(grid)));
    let uneven = thinned(&grids.places, holds_line)
        .map(|grid| (width * grid.len() + own_times(grid.len()), linear(&grid)));
    let authored = free.authored.filter(|_| !grids.pinned).map(|(times, track)| {
        let bytes = 4 * track.values.len() + own_times(times.len());
        (bytes, as_authored(times, track, track.values.clone()))
    });
    [even, uneven, authored].into_iter().flatten().min_by_key(|(bytes, _)| *bytes).map(|(_, found)| found)
}
