//! Keys of one property, the grids for keys, and the keys of tracks that drive no joint.

use alloc::vec;
use alloc::vec::Vec;

use super::format::{KeyFormat, Steps, greatest};
use super::source::{Authored, Free};
use condyle::clip::{Interpolation, Target};
use condyle::skeleton::Skeleton;

/// Keys of one property.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Channel {
    pub(crate) interpolation: Interpolation,
    /// Moments of the keys.
    pub(crate) keys: Vec<usize>,
    /// Times of the keys, if they are authored ones.
    pub(crate) times: Option<Vec<f32>>,
    /// Numbers of all keys, in the order of a [`Track`](condyle::clip::Track).
    pub(crate) values: Vec<f32>,
}

impl Channel {
    pub(crate) fn constant(value: &[f32]) -> Self {
        Self { interpolation: Interpolation::Linear, keys: vec![0], times: None, values: value.to_vec() }
    }

    pub(super) fn linear(keys: Vec<usize>, values: Vec<f32>) -> Self {
        Self { interpolation: Interpolation::Linear, keys, times: None, values }
    }
}

/// Distances between keys in frames to try, widest first, before half frames.
const STRIDES: [usize; 16] = [128, 96, 64, 48, 32, 24, 16, 12, 10, 8, 6, 5, 4, 3, 2, 1];

/// Sets of moments for keys, few first. Properties that use the same set share its times.
pub(super) struct Grids {
    keys: Vec<Vec<usize>>,
    /// Moments at which unevenly spaced keys may be: frames and source keys.
    pub(super) places: Vec<usize>,
    /// Whether the keys at both ends are fixed, and splines are impossible, because adjacent parts continue
    /// there.
    pub(super) pinned: bool,
}

impl Grids {
    /// Builds the grids. `frames` holds the moments that are frames, `places` the moments at which keys may
    /// be.
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
            // Rounds even spacing to whole frames.
            let count = last.div_ceil(stride);
            add((0..=count).map(|at| frames[(at * last + count / 2) / count]).collect());
        }
        add(frames.to_vec());
        // Half frames, only if at least one checked moment remains between any two keys.
        if moments > 2 * frames.len() - 1 {
            let halves = frames.windows(2).flat_map(|pair| [pair[0], pair[0].midpoint(pair[1])]);
            add(halves.chain([moments - 1]).collect());
        }
        Self { keys, places, pinned }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[usize]> {
        self.keys.iter().map(Vec::as_slice)
    }
}

/// Number of bytes of a track's separate times.
pub(super) fn own_times(count: usize) -> usize {
    // Includes the JSON of the accessor.
    4 * count + 110
}

pub(super) fn as_authored(authored: Authored<'_>, values: Vec<f32>) -> Channel {
    let Authored { times, track } = authored;
    Channel { interpolation: track.interpolation, keys: Vec::new(), times: Some(times.to_vec()), values }
}

/// Result of [`thinned`].
pub(super) enum Thinned {
    Keys(Vec<usize>),
    /// There is no line from one place to the next, or no place.
    OutOfReach,
    TooMany,
}

/// Minimum set of places for keys with the target values: after each key, takes the farthest place that a
/// straight line `reaches`. Ends once there are too many keys.
pub(super) fn thinned(
    places: &[usize],
    is_too_many: impl Fn(usize) -> bool,
    mut reaches: impl FnMut(usize, usize) -> bool,
) -> Thinned {
    let Some(&first) = places.first() else { return Thinned::OutOfReach };
    let mut keys = vec![first];
    let mut from = 0;
    while from + 1 < places.len() {
        let left = places.len() - 1 - from;
        // Doubles, then bisects: a line that reaches far almost always reaches shorter distances too.
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
            if reaches(places[from], places[from + middle]) { far = middle } else { too_far = middle }
        }
        if far == 0 {
            return Thinned::OutOfReach;
        }
        from += far;
        keys.push(places[from]);
        if is_too_many(keys.len()) {
            return Thinned::TooMany;
        }
    }
    Thinned::Keys(keys)
}

/// Cheapest keys for a track that drives no joint, with each component within `limit`.
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
    // Rounding may use half of the limit, and the lines between keys the other half.
    let steps = Steps::finest(format, greatest(free.values.iter().flatten().copied())).up_to(limit);
    let stored =
        |&v: &f64| if in_steps { ((v * 65535.0 + 0.5) as u32) as f32 / 65535.0 } else { steps.round(v) };
    let first: Vec<f32> = free.values.first()?.iter().map(stored).collect();
    if !grids.pinned && (0..times.len()).all(|moment| off(moment, &|c| first[c].into())) {
        return Some(Channel::constant(&first));
    }
    let linear = |grid: &[usize]| {
        let keys = grid.iter().flat_map(|&at| free.values[at].iter().map(stored));
        Channel::linear(grid.to_vec(), keys.collect())
    };
    // Rotations that drive no joint stay unchanged.
    if free.target.rotates() {
        let all = || linear(&(0..times.len()).collect::<Vec<_>>());
        let own = free.authored.map(|own| as_authored(own, own.track.values.clone()));
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
    let least = even.as_ref().map_or(usize::MAX, |(bytes, _)| *bytes);
    let bytes = |keys: usize| width * keys + own_times(keys);
    let uneven = match thinned(&grids.places, |keys| bytes(keys) >= least, holds_line) {
        Thinned::Keys(grid) => Some((bytes(grid.len()), linear(&grid))),
        Thinned::OutOfReach | Thinned::TooMany => None,
    };
    let authored = free.authored.filter(|_| !grids.pinned).map(|own| {
        let bytes = 4 * own.track.values.len() + own_times(own.times.len());
        (bytes, as_authored(own, own.track.values.clone()))
    });
    [even, uneven, authored].into_iter().flatten().min_by_key(|(bytes, _)| *bytes).map(|(_, found)| found)
}

/// Properties of a joint.
pub(super) fn targets(joint: usize) -> [Target; 3] {
    let joint = joint as u16;
    [Target::Rotation(joint), Target::Translation(joint), Target::Scale(joint)]
}

/// Value of a joint's property without a track.
pub(super) fn rest_value(skeleton: &Skeleton, target: Target) -> Vec<f32> {
    let rest = |joint: u16| skeleton.rest().get(joint.into());
    match target {
        Target::Rotation(joint) => rest(joint).rotation.to_vec(),
        Target::Translation(joint) => rest(joint).translation.to_vec(),
        Target::Scale(joint) => rest(joint).scale.to_vec(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_ends_at_too_many_keys() {
        let places: Vec<usize> = (0..10).collect();
        let found =
            |most: usize, far: usize| match thinned(&places, |keys| keys > most, |from, to| to - from <= far)
            {
                Thinned::Keys(keys) => Ok(keys),
                Thinned::OutOfReach => Err("out of reach"),
                Thinned::TooMany => Err("too many"),
            };
        assert_eq!(found(4, 4), Ok(vec![0, 4, 8, 9]));
        assert_eq!((found(3, 4), found(9, 0)), (Err("too many"), Err("out of reach")));
    }
}
