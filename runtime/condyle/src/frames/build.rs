//! Makes [`Frames`](super::Frames) from a clip: the smallest storage within the error budget.

use alloc::vec;
use alloc::vec::Vec;

use super::FramesOptions;
use super::measure::Meter;
use super::original::Original;
use super::store::{Base, Degree, Marks, Moving, Narrow, Rotations, Store, Timeline, Wide, ZERO};
use crate::pose::Pose;
use condyle_base::bytes::checksum;
use condyle_base::error::Error;
use condyle_base::order;
use condyle_base::simd::BLOCK;

/// Rates that are tried in addition to the rate of the clip, in frames per second.
const RATES: [f64; 10] = [15.0, 20.0, 24.0, 30.0, 40.0, 48.0, 60.0, 80.0, 96.0, 120.0];

/// Highest rate.
const HIGHEST: f64 = 120.0;

/// Rate below which a rotation must not turn by more than 20 degrees between frames, as the dot product of
/// the quaternions. Sums of frames farther apart are short, which lowers the weight of the clip in a blend.
const SLOW: f64 = 15.0;
const STEADY: f32 = 0.985;

/// Multiples of the rate of the clip that are tried.
const MULTIPLES: [f64; 9] = [0.125, 0.25, 1.0 / 3.0, 0.5, 1.0, 2.0, 3.0, 4.0, 8.0];

/// Largest number of blocks of sixteen joints in all frames: 256 MB.
const LIMIT: usize = 1 << 20;

/// Fraction of the budget by which a translation or scale may change and still count as constant.
const STILL: f32 = 1.0 / 128.0;

/// Change of a scale factor that counts as none.
const STILL_SCALE: f32 = 1e-6;

/// Dot product of a rotation and the rest rotation below which the joint counts as leaving the hemisphere.
/// Greater than 0, because a spline may leave it between two frames.
const BORDER: f32 = 0.1;

/// Storage to be tried.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    bytes: usize,
    degree: Degree,
    intervals: usize,
    is_narrow: bool,
}

/// Properties of a clip that do not depend on the storage.
struct Scan {
    base: Vec<Base>,
    marks: Vec<Marks>,
    moving: Vec<Moving>,
}

impl Original<'_> {
    fn timeline(&self, intervals: usize) -> Timeline {
        Timeline::new(self.start, self.end, intervals)
    }

    /// Finds the translations and scales that change.
    fn scan(&self, options: &FramesOptions) -> Result<Scan, Error> {
        let rest = self.skeleton.rest();
        let mut pose = Pose::rest(self.skeleton);
        let mut ranges = vec![[[f32::INFINITY, f32::NEG_INFINITY]; 6]; rest.joint_count()];
        for seconds in self.moments() {
            (self.sample)(seconds, &mut pose)?;
            for (joint, (local, ranges)) in pose.transforms().zip(&mut ranges).enumerate() {
                let values = local.translation.into_iter().chain(local.scale);
                if !values.clone().chain(local.rotation).all(f32::is_finite) {
                    return Err(Error::NotFinite { what: "the pose of the clip", at: joint });
                }
                for ([low, high], value) in ranges.iter_mut().zip(values) {
                    (*low, *high) = (low.min(value), high.max(value));
                }
            }
        }
        let mut base: Vec<Base> = rest.blocks().iter().map(Base::of).collect();
        let mut marks = vec![Marks::NONE; base.len()];
        let mut moving = Vec::new();
        for (joint, ranges) in ranges.iter().enumerate() {
            let local = rest.get(joint);
            let (block, lane) = (&mut base[joint / BLOCK], joint % BLOCK);
            for (scales, ranges, rest) in
                [(false, &ranges[..3], local.translation), (true, &ranges[3..], local.scale)]
            {
                let still = if scales { STILL_SCALE } else { options.budget * STILL };
                let near = |value: f32, [low, high]: [f32; 2]| value - low <= still && high - value <= still;
                if ranges.iter().zip(rest).all(|(range, rest)| near(rest, *range)) {
                    continue;
                }
                let middle = |[low, high]: [f32; 2]| low + (high - low) * 0.5;
                if ranges.iter().all(|range| near(middle(*range), *range)) {
                    marks[joint / BLOCK].rests = false;
                    let rows = if scales { &mut block.scale } else { &mut block.translation };
                    rows.iter_mut().zip(ranges).for_each(|(row, range)| row[lane] = middle(*range));
                } else {
                    moving.push(Moving { joint: joint as u16, scales });
                }
            }
        }
        Ok(Scan { base, marks, moving })
    }

    /// Returns the storages to try, smallest first.
    fn candidates(&self, scan: &Scan) -> Vec<Candidate> {
        let (blocks, moving) = (scan.base.len(), scan.moving.len());
        let duration = self.end - self.start;
        let own = MULTIPLES.map(|multiple| self.rate * multiple);
        let mut intervals = vec![1];
        if duration > 0.0 {
            // The clip has a whole number of intervals. Its times are rounded, so the rate may be slightly
            // higher than the nominal one.
            let of_clip = own.into_iter().filter(|rate| *rate <= HIGHEST * 1.01);
            intervals.extend(of_clip.chain(RATES).map(|rate| (duration * rate + 0.5) as usize));
            intervals.retain(|count| *count == 1 || *count as f64 <= duration * HIGHEST * 1.01);
        }
        let limit = LIMIT / (blocks + moving.div_ceil(BLOCK)).max(1);
        intervals.retain(|count| (1..=limit.max(1)).contains(count));
        order::sort_by(&mut intervals, |&count| count as u64);
        intervals.dedup();
        let mut all = Vec::new();
        // The sort keeps this order for candidates with the same size.
        for degree in [Degree::Linear, Degree::Cubic] {
            for &intervals in &intervals {
                for is_narrow in [false, true] {
                    let bytes = Store::size(blocks, moving, degree, intervals, is_narrow);
                    all.push(Candidate { bytes, degree, intervals, is_narrow });
                }
            }
        }
        order::sort_by(&mut all, |it: &Candidate| it.bytes as u64);
        all
    }

    /// Stores the clip. Returns `None` if a rotation turns too far between frames.
    fn store(&self, scan: &Scan, candidate: &Candidate) -> Result<Option<Store>, Error> {
        let (mut store, steadiness) = self.wide(scan, candidate.degree, candidate.intervals)?;
        if store.timeline.rate < SLOW && steadiness < STEADY {
            return Ok(None);
        }
        if candidate.is_narrow
            && let Rotations::Wide(rows) = &store.rotations
        {
            store.rotations = narrow(rows);
        }
        Ok(Some(store))
    }

    /// Stores the clip with wide rotations. Also returns the smallest dot product of consecutive rotations.
    fn wide(&self, scan: &Scan, degree: Degree, intervals: usize) -> Result<(Store, f32), Error> {
        let rest = self.skeleton.rest();
        let (blocks, timeline) = (rest.blocks().len(), self.timeline(intervals));
        let padding = usize::from(degree == Degree::Cubic);
        let frames = degree.frames(intervals);
        let identity = Wide([[0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK], [1.0; BLOCK]]);
        let mut rows = vec![identity; blocks * frames];
        let mut moves = vec![[0.0; 4]; scan.moving.len() * frames];
        let (base, mut marks) = (scan.base.clone(), scan.marks.clone());
        let (mut pose, mut before) = (Pose::rest(self.skeleton), Pose::rest(self.skeleton));
        let mut steadiness = 1.0_f32;
        for frame in 0..=intervals {
            (self.sample)(timeline.seconds(frame as f64), &mut pose)?;
            let row = &mut rows[(frame + padding) * blocks..][..blocks];
            for joint in 0..pose.joint_count() {
                let local = pose.get(joint);
                let dot =
                    |q: [f32; 4], r: [f32; 4]| (q[0] * r[0] + q[1] * r[1]) + (q[2] * r[2] + q[3] * r[3]);
                let mut signed = local;
                let product = dot(local.rotation, before.get(joint).rotation);
                if product < 0.0 {
                    signed.rotation = local.rotation.map(|c| -c);
                }
                if frame > 0 {
                    steadiness = steadiness.min(product.abs());
                }
                marks[joint / BLOCK].crosses |= dot(signed.rotation, rest.get(joint).rotation) < BORDER;
                before.set(joint, &signed);
                for (lanes, c) in row[joint / BLOCK].0.iter_mut().zip(signed.rotation) {
                    lanes[joint % BLOCK] = c;
                }
            }
            let row = moves.chunks_mut(scan.moving.len().max(1)).nth(frame + padding).unwrap_or_default();
            for (to, moving) in row.iter_mut().zip(&scan.moving) {
                let joint = usize::from(moving.joint);
                let (local, block, lane) = (pose.get(joint), &base[joint / BLOCK], joint % BLOCK);
                let (is, from) = if moving.scales {
                    (local.scale, &block.scale)
                } else {
                    (local.translation, &block.translation)
                };
                for c in 0..3 {
                    to[c] = is[c] - from[c][lane];
                }
            }
        }
        if degree == Degree::Cubic {
            for block in 0..blocks {
                for (c, lane) in (0..4).flat_map(|c| (0..BLOCK).map(move |lane| (c, lane))) {
                    to_control_points(
                        rows[block..].iter_mut().step_by(blocks).map(|row| &mut row.0[c][lane]),
                    );
                }
            }
            let count = scan.moving.len();
            for at in 0..count {
                for c in 0..3 {
                    to_control_points(moves[at..].iter_mut().step_by(count).map(|by| &mut by[c]));
                }
            }
        }
        let moving = scan.moving.clone();
        let store =
            Store { timeline, degree, rotations: Rotations::Wide(rows), base, marks, moving, moves, hash: 0 };
        Ok((store, steadiness))
    }
}

/// Replaces the values between the first and the last by the control points of the cubic B-spline through
/// them; the first and the last become the control points before and after.
///
/// ```text
/// (c[i-1] + 4 c[i] + c[i+1]) / 6 = value[i],   (c[1] - c[-1]) / 2 = slope at the start, same at the end
/// ```
///
/// A slope is taken from the cubic polynomial through the four values next to the end, or from a parabola or
/// a line if there are fewer values.
fn to_control_points<'v>(values: impl Iterator<Item = &'v mut f32>) {
    let mut values: Vec<&mut f32> = values.collect();
    let count = values.len();
    if count < 4 {
        return;
    }
    let given: Vec<f64> = values[1..count - 1].iter().map(|value| f64::from(**value)).collect();
    let last = given.len() - 1;
    let slope = |at: &dyn Fn(usize) -> f64| match last {
        1 => at(1) - at(0),
        2 => (-3.0 * at(0) + 4.0 * at(1) - at(2)) / 2.0,
        _ => (-11.0 * at(0) + 18.0 * at(1) - 9.0 * at(2) + 2.0 * at(3)) / 6.0,
    };
    let slopes = [slope(&|k| given[k]), -slope(&|k| given[last - k])];
    // Thomas's elimination: the first and the last line are 2 c + neighbour = 3 value ± slope.
    let mut factors = vec![0.5; given.len()];
    let mut points = vec![(3.0 * given[0] + slopes[0]) / 2.0; given.len()];
    for k in 1..=last {
        let (diagonal, right) =
            if k == last { (2.0, 3.0 * given[k] - slopes[1]) } else { (4.0, 6.0 * given[k]) };
        factors[k] = 1.0 / (diagonal - factors[k - 1]);
        points[k] = (right - points[k - 1]) * factors[k];
    }
    for k in (0..last).rev() {
        points[k] -= factors[k] * points[k + 1];
    }
    *values[0] = (points[1] - 2.0 * slopes[0]) as f32;
    *values[count - 1] = (points[last - 1] + 2.0 * slopes[1]) as f32;
    for (value, point) in values[1..].iter_mut().zip(points) {
        **value = point as f32;
    }
}

/// Returns the rotations in 16 bits.
fn narrow(rows: &[Wide]) -> Rotations {
    let numbers = || rows.iter().flat_map(|row| row.0.as_flattened());
    let largest = numbers().fold(0.0_f32, |largest, v| largest.max(v.abs()));
    let step = largest / (ZERO - 1.0);
    let number = |v: f32| (v / step + ZERO + 0.5) as u16;
    Rotations::Narrow {
        rows: rows.iter().map(|row| Narrow(row.0.map(|lanes| lanes.map(number)))).collect(),
        step,
    }
}

/// Returns the smallest storage of a clip within the budget, and its error.
pub(super) fn smallest(
    original: &Original<'_>,
    options: &FramesOptions,
    meter: &mut Meter<'_>,
) -> Result<(Store, f32), Error> {
    let scan = original.scan(options)?;
    let candidates = original.candidates(&scan);
    for candidate in &candidates {
        let Some(mut store) = original.store(&scan, candidate)? else { continue };
        let error = meter.error(original, &store, options.budget)?;
        if error <= options.budget {
            store.hash = hash(&store);
            return Ok((store, error));
        }
    }
    // The densest lines and splines are the most accurate.
    let mut least = f32::INFINITY;
    for candidate in candidates.iter().rev().take(2) {
        let Some(store) = original.store(&scan, candidate)? else { continue };
        least = least.min(meter.error(original, &store, f32::INFINITY)?);
    }
    if least == f32::INFINITY {
        let found = ((original.end - original.start) * SLOW) as usize;
        return Err(Error::TooMany { what: "frames", found, limit: LIMIT / scan.base.len().max(1) });
    }
    // Above 100, because rounding must not hide the excess.
    let percent = (100.0 * f64::from(least) / f64::from(options.budget)) as usize;
    Err(Error::OverBudget { percent: percent.max(101) })
}

/// Hash of the contents.
fn hash(store: &Store) -> u64 {
    let Timeline { start, end, intervals, .. } = store.timeline;
    let moving = store.moving.len() as u64;
    let mut state = [start.to_bits(), end.to_bits(), intervals as u64, store.degree as u64, moving, 0, 0];
    let mut next = |words: [u64; 2]| {
        (state[5], state[6]) = (words[0], words[1]);
        let mut bytes = [0; 56];
        for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(state) {
            *bytes = word.to_le_bytes();
        }
        state[4] = checksum(&bytes);
    };
    let pair = |a: f32, b: f32| u64::from(a.to_bits()) << 32 | u64::from(b.to_bits());
    match &store.rotations {
        Rotations::Wide(rows) => {
            for four in rows.iter().flat_map(|row| row.0.as_flattened().as_chunks::<4>().0) {
                next([pair(four[0], four[1]), pair(four[2], four[3])]);
            }
        }
        Rotations::Narrow { rows, step } => {
            next([pair(*step, 0.0), 0]);
            for four in rows.iter().flat_map(|row| row.0.as_flattened().as_chunks::<4>().0) {
                let [a, b, c, d] = four.map(u64::from);
                next([a << 16 | b, c << 16 | d]);
            }
        }
    }
    for base in &store.base {
        for four in base.translation.iter().chain(&base.scale).flat_map(|lanes| lanes.as_chunks::<4>().0) {
            next([pair(four[0], four[1]), pair(four[2], four[3])]);
        }
    }
    for moving in &store.moving {
        next([moving.joint.into(), moving.scales.into()]);
    }
    for by in &store.moves {
        next([pair(by[0], by[1]), pair(by[2], by[3])]);
    }
    state[4]
}

/// Stores a raw clip in a given form.
#[cfg(test)]
pub(super) fn store_of(
    clip: &crate::clip::RawClip,
    skeleton: &crate::skeleton::Skeleton,
    options: &FramesOptions,
    degree: Degree,
    intervals: usize,
    is_narrow: bool,
) -> Store {
    let dispatch = condyle_base::simd::Dispatch::current().portable();
    let sample =
        |seconds: f64, pose: &mut Pose| crate::sampling::search_raw(dispatch, clip, skeleton, seconds, pose);
    let (start, end) = (clip.start(), clip.end());
    let keys = vec![start, end];
    let original = Original { skeleton, start, end, rate: 30.0, keys, sample: &sample };
    let scan = original.scan(options).expect("a finite clip");
    let candidate = Candidate { bytes: 0, degree, intervals, is_narrow };
    original.store(&scan, &candidate).expect("a clip of the skeleton").expect("a steady clip")
}
