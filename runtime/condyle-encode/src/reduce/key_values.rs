//! Keys on a grid: lines and splines through them, and their values at each moment.

use alloc::vec;
use alloc::vec::Vec;

use super::format::{KeyFormat, Steps, exponent, greatest, stream_bytes};
use super::space::Space;
use crate::measure::algebra::Vector;
use condyle::clip::keys::{Span, hermite, length_at, value_at};
use condyle::clip::{Interpolation, Track};

/// Moments of each interval of a grid, including its last: interval, moment, fraction of the interval, and
/// its length.
pub(super) fn spans<'a>(
    grid: &'a [usize],
    times: &'a [f64],
) -> impl Iterator<Item = (usize, usize, f64, f64)> + 'a {
    grid.windows(2).enumerate().flat_map(move |(at, pair)| {
        let (from, to) = (times[pair[0]], times[pair[1]]);
        let first = if at == 0 { pair[0] } else { pair[0] + 1 };
        (first..=pair[1]).map(move |moment| (at, moment, (times[moment] - from) / (to - from), to - from))
    })
}

/// The item of [`spans`] for a moment.
pub(super) fn span_of(grid: &[usize], times: &[f64], moment: usize) -> (usize, usize, f64, f64) {
    let at = grid.partition_point(|&key| key < moment).clamp(1, grid.len() - 1) - 1;
    let (from, to) = (times[grid[at]], times[grid[at + 1]]);
    (at, moment, (times[moment] - from) / (to - from), to - from)
}

/// Least-squares corrections of the keys of a grid, from the errors of straight lines at each moment. `off`
/// is called for each moment in order.
fn corrections(
    grid: &[usize],
    times: &[f64],
    mut off: impl FnMut(usize, usize, f64) -> Vector,
) -> Vec<Vector> {
    let count = grid.len();
    let (mut diagonal, mut beside) = (vec![1e-9; count], vec![0.0; count]);
    let mut right = vec![[0.0; 3]; count];
    for (at, moment, t, _) in spans(grid, times) {
        let (a, b) = (1.0 - t, t);
        let off = off(at, moment, t);
        diagonal[at] += a * a;
        diagonal[at + 1] += b * b;
        beside[at] += a * b;
        for c in 0..3 {
            right[at][c] += a * off[c];
            right[at + 1][c] += b * off[c];
        }
    }
    // Thomas algorithm.
    for at in 1..count {
        let factor = beside[at - 1] / diagonal[at - 1];
        diagonal[at] -= factor * beside[at - 1];
        right[at] = core::array::from_fn(|c| right[at][c] - factor * right[at - 1][c]);
    }
    for at in (0..count).rev() {
        let behind = if at + 1 < count { right[at + 1] } else { [0.0; 3] };
        right[at] = core::array::from_fn(|c| (right[at][c] - beside[at] * behind[c]) / diagonal[at]);
    }
    right
}

/// Keys of straight lines at a grid, moved to minimise the distance from the targets at all moments.
pub(super) fn moved<const N: usize>(
    space: &impl Space<N>,
    is_pinned: bool,
    grid: &[usize],
    times: &[f64],
    targets: &[[f64; N]],
) -> Vec<[f64; N]> {
    let mut keys: Vec<[f64; N]> = grid.iter().map(|&at| targets[at]).collect();
    let ways: Vec<Vector> = keys.windows(2).map(|pair| space.way(pair[0], pair[1])).collect();
    let by = corrections(grid, times, |at, moment, t| {
        space.way(space.moved(keys[at], ways[at].map(|v| v * t)), targets[moment])
    });
    let last = keys.len() - 1;
    for (at, (key, by)) in keys.iter_mut().zip(by).enumerate() {
        if !is_pinned || (at != 0 && at != last) {
            *key = space.moved(*key, by);
        }
    }
    keys
}

/// Derivative at a moment; the moments need not be evenly spaced.
fn slope<const N: usize>(values: &[[f64; N]], times: &[f64], at: usize) -> [f64; N] {
    let (from, to) = (at.saturating_sub(1), (at + 1).min(values.len() - 1));
    if from == at || to == at {
        let length = times[to] - times[from];
        return core::array::from_fn(|c| (values[to][c] - values[from][c]) / length);
    }
    // Parabola through three moments.
    let (before, after) = (times[at] - times[from], times[to] - times[at]);
    core::array::from_fn(|c| {
        let [a, b, d] = [from, at, to].map(|m| values[m][c]);
        ((b - a) / before * after + (d - b) / after * before) / (before + after)
    })
}

/// Spline through the values at a grid, with their slopes. Values are rounded to `steps`, and slopes to steps
/// with about the same effect.
pub(super) struct Spline<const N: usize> {
    /// Value and slope of each key.
    keys: Vec<([f32; N], [f32; N])>,
    steps: Steps,
    slope_steps: Steps,
}

impl<const N: usize> Spline<N> {
    pub(super) fn new(targets: &[[f64; N]], grid: &[usize], times: &[f64], steps: Steps) -> Self {
        let longest = grid.windows(2).map(|pair| times[pair[1]] - times[pair[0]]).fold(0.0, f64::max);
        // The factor of a slope is at most 4/27 of the length.
        let slope_steps = steps.coarser(exponent(4.0 / longest));
        let key = |&at: &usize| {
            (targets[at].map(|v| steps.round(v)), slope(targets, times, at).map(|v| slope_steps.round(v)))
        };
        Self { keys: grid.iter().map(key).collect(), steps, slope_steps }
    }

    /// Value at a fraction of an interval of the grid, which is `length` seconds long.
    pub(super) fn at(&self, interval: usize, t: f64, length: f64) -> [f64; N] {
        let ((a, out), (b, into)) = (self.keys[interval], self.keys[interval + 1]);
        core::array::from_fn(|c| {
            hermite([a[c].into(), out[c].into(), into[c].into(), b[c].into()], length, t)
        })
    }

    /// Stored numbers.
    pub(super) fn numbers(&self) -> Vec<f32> {
        self.keys.iter().flat_map(|(value, slope)| [*slope, *value, *slope]).flatten().collect()
    }

    /// Step counts of the stored numbers.
    pub(super) fn counts(&self) -> Vec<i32> {
        let counts = self.keys.iter().flat_map(|(value, slope)| {
            let slope = slope.map(|v| self.slope_steps.count(v));
            [slope, value.map(|v| self.steps.count(v)), slope]
        });
        counts.flatten().collect()
    }
}

/// Values of the authored keys at each moment. Valid for a whole clip, where no other keys precede or follow
/// these.
pub(super) fn authored_values<const N: usize>(
    times: &[f32],
    track: &Track,
    moments: &[f64],
) -> Vec<[f64; N]> {
    let mut hint = 0;
    let at = |&seconds: &f64| {
        let span = Span::find(times, seconds, hint);
        hint = span.key;
        let value = value_at(track, span);
        if track.target.rotates() { value.map(|v| v * length_at(track, span)) } else { value }
    };
    moments.iter().map(at).collect()
}

/// Authored track with its stored numbers, and their size in bytes.
pub(super) fn coarser<const N: usize>(space: &impl Space<N>, track: &Track, grade: i32) -> (Track, usize) {
    let (keys, _) = track.values.as_chunks::<N>();
    if track.interpolation != Interpolation::CubicSpline {
        let space = space.coarser(grade);
        let keys: Vec<[f64; N]> = keys.iter().map(|key| space.point(key.map(f64::from))).collect();
        let values: Vec<[f32; N]> = keys.iter().map(|&key| space.stored(key)).collect();
        return (Track { values: values.into_flattened(), ..track.clone() }, space.line_bytes(&keys));
    }
    let most = greatest(track.values.iter().map(|&v| v.into()));
    let steps = Steps::finest(space.format(), most).coarser(grade);
    let values: Vec<f32> = track.values.iter().map(|&v| steps.round(v.into())).collect();
    let bytes = match space.format() {
        KeyFormat::Filtered => {
            let counts: Vec<i32> = values.iter().map(|&v| steps.count(v)).collect();
            stream_bytes(&counts, 3 * N, 3)
        }
        _ => 4 * values.len(),
    };
    (Track { values, ..track.clone() }, bytes)
}
