//! Finds the evenly spaced grid that key times are on.
//!
//! Frame n of a clip is at `phase + n * period`. The period is fitted to all keys by least squares, because
//! the gap between two keys is too inaccurate. At 30 Hz and 10 s, f32 times leave 1e-6 s of error in a gap of
//! 1/30 s. That is 1 % of a frame after 300 frames. Times rounded to 1 ms leave 3 % of the gap.
//!
//! Example: 0, 0.033, 0.067, 0.1 and 0.2 are whole milliseconds, so each may be off by half a millisecond.
//! The small gaps are 0.033, 0.034 and 0.033. Their mean of 0.03333 is the first guess of the period. With
//! it, the keys are frames 0, 1, 2, 3 and 6. Least squares gives the period 0.03334, and all keys are within
//! 0.0005 of its frames: six frames.
//!
//! 1. The guesses are the mean of the small gaps and the smallest gap, each divided by 1, 2, 3, …, and the
//!    usual rates.
//! 2. The lowest rate at which all keys are on frames wins. The tolerance is the rounding error of the times.
//!    If no rate passes, it is [`TOLERANCE`].
//! 3. If at most one key in [`FEW`] is off the frames, the others decide.
//! 4. If no grid fits, the rate is the key rate of the densest timeline, at least 60.
//!
//! Limits: with a key at every frame, times rounded to 1 ms determine rates up to 500 Hz. If keys are
//! missing, the limit is 125 Hz, above which every key is close to some frame. Sparse keys that share a lower
//! rate get that rate, because all of them are on its frames too.

use alloc::vec::Vec;

use condyle_base::order::sort_numbers;

/// Usual rates, including NTSC rates, to try if the gaps between keys do not show the rate.
const USUAL_RATES: [f64; 27] = [
    8.0,
    10.0,
    12.0,
    12.5,
    15.0,
    16.0,
    20.0,
    24e3 / 1001.0,
    24.0,
    25.0,
    30e3 / 1001.0,
    30.0,
    48.0,
    50.0,
    60e3 / 1001.0,
    60.0,
    72.0,
    90.0,
    100.0,
    120e3 / 1001.0,
    120.0,
    144.0,
    200.0,
    240.0,
    250.0,
    300.0,
    500.0,
];
/// Maximum distance of a key from a frame at which it counts as on the frame, in frames, regardless of
/// rounding.
pub(crate) const TOLERANCE: f64 = 0.02;
/// At most one key in this many may be off the frames of an accepted rate.
const FEW: usize = 20;
/// Minimum rate of a clip whose keys fit no grid.
const DEFAULT_RATE: f64 = 60.0;
/// Keys closer than this are not treated as frames.
const MAX_RATE: f64 = 1000.0;
/// Keys farther apart than this are single poses, not frames.
const MIN_RATE: f64 = 8.0;
/// Minimum rate of clips of such poses.
pub(crate) const SPARSE_RATE: f64 = 24.0;
/// Maximum number of frames per key of a grid that all keys are on. A grid with more is replaced by one that
/// misses a few keys, if that has fewer frames by at least this factor.
const FINER: f64 = 3.0;
/// Maximum usual rate for clips of poses.
const MAX_SPARSE_RATE: f64 = 120.0;
/// Maximum divisor of a gap for guesses.
const MAX_DIVISOR: u32 = 400;
/// Number of keys that all guesses together may visit; bounds the time.
const MAX_WORK: usize = 1 << 27;

/// Key times of a clip.
pub(crate) struct Keys {
    /// Seconds from the clip's start, ascending, including the start and the end of the clip.
    times: Vec<f64>,
    /// Mean of the gaps close to the smallest, and the smallest gap, each with its weight in keys.
    gaps: [(f64, f64); 2],
    /// Keys per second of the densest timeline.
    density: f64,
    /// Maximum rounding error of a time in seconds: half a unit of its last decimal, if the times have few
    /// decimals.
    rounding: f64,
    /// Maximum f32 rounding error of the latest time.
    float: f64,
}

/// First guess of a period, and its weight in keys.
#[derive(Clone, Copy)]
struct Guess {
    period: f64,
    weight: f64,
    /// Whether the period is a gap itself, as with keys at every frame.
    is_gap: bool,
}

/// Requirements for keys on a grid.
#[derive(Clone, Copy)]
struct Demand {
    /// Maximum distance of a key in seconds; 0 for [`TOLERANCE`].
    slack: f64,
    /// Number of keys that may be farther off.
    misses: usize,
}

/// Grid that keys are on.
#[derive(Clone, Copy)]
struct Grid {
    period: f64,
    /// Number of frames from the start of the clip to its end, if both are on frames.
    frames: Option<f64>,
}

impl Keys {
    /// Collects the key times of timelines in a clip from `start` to `end`.
    pub(crate) fn new<'a>(
        timelines: impl Iterator<Item = &'a [f32]> + Clone,
        [start, end]: [f64; 2],
    ) -> Self {
        let decimals = timelines.clone().flat_map(without_jumps).chain([start as f32, end as f32]);
        let rounding = rounding(decimals);
        let gaps = || {
            let pairs = timelines.clone().flat_map(|times| times.windows(2));
            let gaps = pairs.map(|pair| f64::from(pair[1]) - f64::from(pair[0]));
            gaps.filter(|gap| *gap > 0.9 / MAX_RATE)
        };
        let smallest = gaps().fold(end - start, f64::min);
        let small = || gaps().filter(|gap| *gap <= 1.3 * smallest + 2.0 * rounding);
        let count = small().count() as f64;
        let mean = if count > 0.0 { small().sum::<f64>() / count } else { smallest };
        let density = timelines.clone().map(|times| match times {
            [first, .., last] => (times.len() - 1) as f64 / (f64::from(*last) - f64::from(*first)),
            _ => 0.0,
        });
        let density = density.fold(0.0, f64::max);
        let mut times: Vec<f64> = timelines.flatten().map(|&time| f64::from(time) - start).collect();
        times.extend([0.0, end - start]);
        sort_numbers(&mut times);
        let float = 1.2e-7 * start.abs().max(end.abs());
        Self { times, gaps: [(mean, 0.5 * count), (smallest, 1.0)], density, rounding, float }
    }

    fn duration(&self) -> f64 {
        self.times[self.times.len() - 1]
    }

    /// Maximum error of the difference of two times.
    pub(crate) fn slack(&self) -> f64 {
        2.1 * self.rounding + self.float
    }

    /// Number of frames after the first one.
    pub(crate) fn frames(&self) -> f64 {
        let duration = self.duration();
        let mut work = MAX_WORK;
        let exact = Demand { slack: 1.5 * self.rounding + self.float, misses: 0 };
        let near = Demand { slack: 0.0, misses: 0 };
        let most = Demand { misses: self.times.len() / FEW, ..near };
        let all = [exact, near].into_iter().find_map(|demand| self.lowest(demand, &mut work));
        // A few keys do not justify many times the frames.
        let is_fine =
            |grid: &Grid| grid.frames.is_some_and(|frames| frames > FINER * self.times.len() as f64);
        let found = match all.filter(|grid| !is_fine(grid)) {
            Some(grid) => Some(grid),
            None => {
                let others = self.lowest(most, &mut work);
                all.filter(|all| others.is_none_or(|others| all.period * FINER > others.period)).or(others)
            }
        };
        match found {
            Some(Grid { frames: Some(frames), period }) if 1.0 / period >= 0.999 * MIN_RATE => frames,
            Some(Grid { frames: Some(frames), .. }) => {
                // Poses that are far apart: a usual rate at which all of them are on frames, or a multiple of
                // the rate found.
                let usual =
                    USUAL_RATES.into_iter().filter(|rate| (SPARSE_RATE..=MAX_SPARSE_RATE).contains(rate));
                let on_all = |rate: &f64| {
                    let count = duration * rate;
                    let is_whole = (count - nearest(count)).abs() <= (exact.slack * rate).max(1e-3);
                    is_whole && self.are_on(nearest(count), 2.0 * exact.slack)
                };
                let usual = usual.into_iter().find(on_all).map(|rate| nearest(duration * rate));
                usual.unwrap_or_else(|| frames * whole(SPARSE_RATE * duration / frames, 0.0))
            }
            Some(Grid { period, .. }) => whole(duration / period, TOLERANCE),
            None => whole(duration * DEFAULT_RATE.max(self.density.min(MAX_RATE)), TOLERANCE),
        }
    }

    /// Grid with the lowest rate that meets the demand.
    fn lowest(&self, demand: Demand, work: &mut usize) -> Option<Grid> {
        let own = 1.0 / self.gaps[0].0;
        let divisors = |rate: f64| ((rate / own) as u32).min(MAX_DIVISOR);
        // Order: multiples of the key rate up to `MIN_RATE`, at least the key rate itself; usual rates;
        // higher multiples.
        let sparse = divisors(MIN_RATE).max(1);
        let by_gap = |divisor: u32| {
            let is_gap = divisor == 1;
            self.gaps.map(|(gap, weight)| Guess { period: gap / f64::from(divisor), weight, is_gap })
        };
        let usual = USUAL_RATES.into_iter().filter(|rate| *rate > 0.9 * own);
        let usual = usual.map(|rate| Guess { period: 1.0 / rate, weight: f64::INFINITY, is_gap: false });
        let guesses = (1..=sparse).flat_map(by_gap).chain(usual);
        let mut guesses = guesses.chain((sparse + 1..=divisors(MAX_RATE)).flat_map(by_gap));
        guesses.find_map(|guess| self.fit(guess, demand, work))
    }

    /// Grid with about this period, if the keys meet the demand.
    fn fit(&self, guess: Guess, demand: Demand, work: &mut usize) -> Option<Grid> {
        // If rounding is large compared with the period, every key is close to some frame, which proves
        // nothing. Keys at every frame tolerate more.
        let is_vague = self.rounding > guess.period * if guess.is_gap { 0.27 } else { 0.13 };
        let is_fast = guess.period * MAX_RATE < 0.95;
        if is_vague || is_fast || *work < self.times.len() {
            return None;
        }
        *work -= self.times.len();
        let (period, phase) = self.line(guess, demand.misses)?;
        let at = |time: f64| (time - phase) / period;
        let off = |time: f64| (at(time) - nearest(at(time))).abs() * period;
        let slack = if demand.slack > 0.0 { demand.slack } else { self.slack().max(TOLERANCE * period) };
        let misses = self.times.iter().filter(|&&time| off(time) > slack).take(demand.misses + 1).count();
        let are_on = off(0.0) <= slack && off(self.duration()) <= slack;
        let frames =
            Some(nearest(at(self.duration())) - nearest(at(0.0))).filter(|&count| are_on && count >= 1.0);
        let is_met = misses <= demand.misses && (frames.is_some() || demand.misses > 0);
        is_met.then_some(Grid { period, frames })
    }

    /// Least-squares period and phase of the keys. The frame of each key follows from the fit of the keys
    /// before it.
    fn line(&self, guess: Guess, most: usize) -> Option<(f64, f64)> {
        let (mut period, mut phase) = (guess.period, 0.0);
        let [mut n, mut k, mut t, mut kk, mut kt] = [0.0; 5];
        let mut missed = 0;
        for &time in &self.times {
            let at = (time - phase) / period;
            let frame = nearest(at);
            if (at - frame).abs() > 0.4 {
                missed += 1;
                if missed > most {
                    return None;
                }
                continue;
            }
            n += 1.0;
            k += frame;
            t += time;
            kk += frame * frame;
            kt += frame * time;
            if guess.weight < f64::INFINITY {
                // The guess is weighted like some keys, so that it dominates until enough keys are fitted.
                let spread = kk - k * k / n + guess.weight;
                period = (kt - k * t / n + guess.weight * guess.period) / spread;
            }
            phase = (t - period * k) / n;
            if !(period > 0.5 * guess.period && period < 2.0 * guess.period) {
                return None;
            }
        }
        let spread = kk - k * k / n;
        if spread > 0.0 && guess.weight < f64::INFINITY {
            period = (kt - k * t / n) / spread;
            phase = (t - period * k) / n;
        }
        Some((period, phase))
    }

    /// Whether all keys are on `frames` evenly spaced frames from the start to the end.
    fn are_on(&self, frames: f64, slack: f64) -> bool {
        let period = self.duration() / frames;
        self.times.iter().all(|time| (time / period - nearest(time / period)).abs() * period <= slack)
    }
}

/// Nearest whole number of frames, or the next one if `frames` exceeds that by more than `slack`; at least
/// one.
pub(crate) fn whole(frames: f64, slack: f64) -> f64 {
    let near = nearest(frames);
    (if frames - near > slack { near + 1.0 } else { near }).max(1.0)
}

/// Key times without the first one of each jump, which importers move to the f32 before the second.
fn without_jumps(times: &[f32]) -> impl Iterator<Item = f32> + Clone {
    let next = times.iter().skip(1).copied().chain([f32::INFINITY]);
    times.iter().copied().zip(next).filter(|(time, next)| time.next_up() < *next).map(|(time, _)| time)
}

/// Rounding error of the times in seconds, if all of them have few decimals: half a unit of the last one.
fn rounding(times: impl Iterator<Item = f32> + Clone) -> f64 {
    let is_multiple = |unit: f64| {
        // Times whose f32 spacing is coarser do not show their decimals.
        let fine = times.clone().map(|time| f64::from(time).abs()).filter(|time| 1.2e-7 * time < 0.1 * unit);
        let mut count = 0;
        let are = fine.inspect(|_| count += 1).all(|time| {
            let units = time / unit;
            (units - nearest(units)).abs() * unit <= 6.2e-8 * time
        });
        are && count > 2
    };
    [1e-3, 1e-4, 1e-5, 1e-6].into_iter().find(|&unit| is_multiple(unit)).map_or(0.0, |unit| 0.5 * unit)
}

/// Nearest integer; halves are rounded away from zero.
pub(crate) fn nearest(v: f64) -> f64 {
    // Larger numbers are integers already.
    if v.abs() < 4e15 { ((v + 0.5f64.copysign(v)) as i64) as f64 } else { v }
}
