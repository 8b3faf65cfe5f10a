//! The evenly spaced grid that key times fall on.
//!
//! The n-th frame of a clip is at `phase + n * period`. The period is fitted to all keys by least squares, because the gap
//! between two keys alone is too coarse: at 30 Hz and 10 s, f32 times leave 1e-6 s of error in a gap of 1/30 s, which is 1 %
//! of a frame after 300 frames; times rounded to a millisecond leave 3 % of the gap.
//!
//! Example: 0, 0.033, 0.067, 0.1 and 0.2 are whole milliseconds, so that each may be off by half of one. Their small gaps
//! are 0.033, 0.034 and 0.033, whose mean of 0.03333 is the first guess of a period. By it the keys are frames 0, 1, 2, 3
//! and 6; least squares gives the period 0.03334, and all keys are within 0.0005 of its frames: six frames.
//!
//! 1. Guesses are the mean of the small gaps and the smallest gap, each divided by 1, 2, 3, …, and the usual rates.
//! 2. The lowest rate wins whose frames all keys are on, by the rounding that the times show, and if none is, by
//!    [`TOLERANCE`].
//! 3. If a few keys are on no frame, at most one of [`FEW`], the others decide.
//! 4. If no grid fits, there are as many frames as the densest timeline has keys by the second, and at least 60.
//!
//! Limits: of keys at every frame, times rounded to a millisecond tell rates up to 500 Hz; if keys are missing, up to
//! 125 Hz, above which any key is near a frame. Sparse keys that share a lower rate get that one: all of them are on its
//! frames too.

use alloc::vec::Vec;

/// Usual rates, NTSC's included: they are tried where the gaps between keys show none.
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
/// How far a key may be from a frame and count as on it, in frames, however it was rounded.
pub(super) const TOLERANCE: f64 = 0.02;
/// At most one key of so many may be on no frame of a rate that is taken nevertheless.
const FEW: usize = 20;
/// The rate of a clip whose keys fit none, unless they are closer.
const DEFAULT_RATE: f64 = 60.0;
/// Keys closer than this are not taken as frames.
const MAX_RATE: f64 = 1000.0;
/// Keys that are farther apart are single poses instead of frames.
const MIN_RATE: f64 = 8.0;
/// The lowest rate of clips of such poses.
pub(super) const SPARSE_RATE: f64 = 24.0;
/// Times the frames that a few keys are not worth.
const FINER: f64 = 3.0;
/// The highest rate of clips of poses.
const MAX_SPARSE_RATE: f64 = 120.0;
/// Guesses from one gap.
const MAX_DIVISOR: u32 = 400;
/// Keys that all guesses may look at together: bounds the time.
const MAX_WORK: usize = 1 << 27;

/// Key times of a clip.
pub(super) struct Keys {
    /// Seconds from the clip's start, rising, the start and the end of the clip included.
    times: Vec<f64>,
    /// The mean of the gaps about as small as the smallest, and the smallest, each with what it is worth in keys.
    gaps: [(f64, f64); 2],
    /// Keys per second of the densest timeline.
    density: f64,
    /// By how much a time may be off, in seconds: half a unit of its last decimal, if it has few.
    rounding: f64,
    /// By how much f32 may be off at the end.
    float: f64,
}

/// A first guess of a period, and how many keys it is worth.
#[derive(Clone, Copy)]
struct Guess {
    period: f64,
    weight: f64,
    /// Whether keys at every frame would show it.
    is_gap: bool,
}

/// How keys have to be on a grid.
#[derive(Clone, Copy)]
struct Demand {
    /// Seconds by which a key may be off; 0: by [`TOLERANCE`].
    slack: f64,
    /// Keys that may be farther off.
    misses: usize,
}

/// A grid that keys are on.
#[derive(Clone, Copy)]
struct Grid {
    period: f64,
    /// From the start of the clip to its end, if both are on frames.
    frames: Option<f64>,
}

impl Keys {
    /// The key times of these timelines, in a clip from `start` to `end`.
    pub(super) fn new<'a>(
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
        times.sort_by(f64::total_cmp);
        let float = 1.2e-7 * start.abs().max(end.abs());
        Self { times, gaps: [(mean, 0.5 * count), (smallest, 1.0)], density, rounding, float }
    }

    fn duration(&self) -> f64 {
        self.times[self.times.len() - 1]
    }

    /// By how much the difference of two times may be off.
    pub(super) fn slack(&self) -> f64 {
        2.1 * self.rounding + self.float
    }

    /// The number of frames after the first one.
    pub(super) fn frames(&self) -> f64 {
        let duration = self.duration();
        let mut work = MAX_WORK;
        let exact = Demand { slack: 1.5 * self.rounding + self.float, misses: 0 };
        let near = Demand { slack: 0.0, misses: 0 };
        let most = Demand { misses: self.times.len() / FEW, ..near };
        let all = [exact, near].into_iter().find_map(|demand| self.lowest(demand, &mut work));
        // A few keys are not worth many times the frames.
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
                // Poses that are far apart: a usual rate whose frames all of them are on, or a multiple of their own.
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

    /// The grid of the lowest rate that meets the demand.
    fn lowest(&self, demand: Demand, work: &mut usize) -> Option<Grid> {
        let own = 1.0 / self.gaps[0].0;
        let divisors = |rate: f64| ((rate / own) as u32).min(MAX_DIVISOR);
        // Rates of poses, then that of keys at every frame, usual ones, and what the smallest gap has several frames of.
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

    /// The grid of about this period that keys are on as it is demanded.
    fn fit(&self, guess: Guess, demand: Demand, work: &mut usize) -> Option<Grid> {
        // Where any key is near a frame, being near one says nothing, unless all frames have keys.
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

    /// The period and the phase of the line through the keys, whose frames are found by the line through those before.
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
                // The guess counts until the keys know better.
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

    /// Whether all keys are on so many frames from the start to the end.
    fn are_on(&self, frames: f64, slack: f64) -> bool {
        let period = self.duration() / frames;
        self.times.iter().all(|time| (time / period - nearest(time / period)).abs() * period <= slack)
    }
}

/// A number of frames: the nearest whole one, or the next above if it is farther than `slack` from that, and at least one.
pub(super) fn whole(frames: f64, slack: f64) -> f64 {
    let near = nearest(frames);
    (if frames - near > slack { near + 1.0 } else { near }).max(1.0)
}

/// The times of keys without the first one of each jump, which importers move to the f32 before the second.
fn without_jumps(times: &[f32]) -> impl Iterator<Item = f32> + Clone {
    let next = times.iter().skip(1).copied().chain([f32::INFINITY]);
    times.iter().copied().zip(next).filter(|(time, next)| time.next_up() < *next).map(|(time, _)| time)
}

/// By how much times are off if all of them have few decimals, in seconds: half a unit of the last one.
fn rounding(times: impl Iterator<Item = f32> + Clone) -> f64 {
    let is_multiple = |unit: f64| {
        // A time whose f32 is coarser says nothing of its decimals.
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

/// The whole number that is nearest; half a number is rounded away from zero.
pub(super) fn nearest(v: f64) -> f64 {
    // Greater ones are whole.
    if v.abs() < 4e15 { ((v + 0.5f64.copysign(v)) as i64) as f64 } else { v }
}
