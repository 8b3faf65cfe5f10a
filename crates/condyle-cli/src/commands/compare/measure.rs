//! How far the vertices of two files are apart while a clip plays.

use std::ops::Range;

use condyle::mesh::VertexSlicesMut;
use condyle::{Error, morph, skin};
use rayon::prelude::*;

use super::cluster::Cluster;
use super::place;
use super::subject::{Clip, Moment, Subject};
use crate::failure::Failure;

/// Into how many parts the time between two keys is divided.
const BETWEEN: u32 = 4;
/// Keys closer than this, in seconds, are taken for one key rounded in two ways: nothing is sampled between
/// them.
const SAME_KEY: f32 = 1e-4;
/// More moments than this are taken for a mistake.
pub(super) const MAX_MOMENTS: usize = 1_000_000;

/// The moments at which two clips are compared: evenly spaced, or all keys of both and three moments between
/// each two.
pub(super) fn moments(sides: [(&Clip, Vec<f32>); 2], fps: Option<f64>) -> Result<Vec<f32>, Failure> {
    let [(a, these), (b, those)] = sides;
    let (start, end) = (a.start.min(b.start), a.end.max(b.end));
    let count = match fps {
        Some(fps) => (f64::from(end) - f64::from(start)) * fps,
        None => BETWEEN as f64 * (these.len() + those.len()) as f64,
    };
    if count > MAX_MOMENTS as f64 {
        let least = format!(
            "{} would be compared at more than {MAX_MOMENTS} moments",
            crate::text::printable(&a.name)
        );
        return Err(Failure::Usage(format!("{least}; choose a lower --fps")));
    }
    if let Some(fps) = fps {
        let mut times: Vec<f32> =
            (0..=count as u32).map(|i| (f64::from(start) + f64::from(i) / fps) as f32).collect();
        // Rounding may leave the end out, or pass it.
        times.retain(|&t| t < end);
        times.push(end);
        return Ok(times);
    }
    let mut keys: Vec<f32> = these.into_iter().chain(those).chain([start, end]).collect();
    keys.sort_by(f32::total_cmp);
    keys.dedup();
    let mut times = Vec::with_capacity(keys.len() * BETWEEN as usize);
    for (at, &key) in keys.iter().enumerate() {
        times.push(key);
        if let Some(&next) = keys.get(at + 1).filter(|&&next| next - key > SAME_KEY) {
            let part = |k: u32| key + (next - key) * (k as f32 / BETWEEN as f32);
            times.extend((1..BETWEEN).map(part));
        }
    }
    Ok(times)
}

/// A vertex at a moment. Distances are in units of the files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Worst {
    /// A part of the first file.
    pub(super) part: usize,
    pub(super) vertex: usize,
    pub(super) seconds: f32,
    pub(super) distance: f64,
}

/// The distances of a pair of clips.
pub(super) struct Difference {
    /// The vertex furthest from its counterpart, at the first such moment.
    pub(super) worst: Worst,
    /// Of the distances of all vertices at all moments, 99 in 100 are not greater than this.
    pub(super) percentile_99: f64,
    /// The mean over the moments of the greatest distance.
    pub(super) mean_of_max: f64,
    /// The greatest distance at each moment.
    pub(super) over_time: Vec<(f32, f64)>,
}

/// Plays a clip of each file and compares all vertices at each moment, on all threads of the pool. What comes out does not
/// depend on how many there are.
pub(super) fn measure(
    sides: [(&Subject<'_>, usize); 2],
    clusters: &[Cluster],
    moments: &[f32],
    tick: impl Fn(u64),
) -> Result<Difference, Failure> {
    let bytes: usize = sides.iter().map(|(it, _)| it.moment_bytes()).sum();
    let block = (BLOCK_BYTES / bytes.max(1)).clamp(1, MOST_IN_BLOCK);
    let (mut worst, mut histogram) = (None, Histogram::default());
    let mut over_time = Vec::with_capacity(moments.len());
    for (first, times) in (0..).step_by(block).zip(moments.chunks(block)) {
        let played = sides.map(|(it, clip)| -> Vec<_> {
            times.par_iter().map(|&seconds| it.moment(clip, seconds)).collect()
        });
        let [these, those] = played.map(|played| played.into_iter().collect::<Result<Vec<_>, _>>());
        let played = [these?, those?];
        let parts = times.len().div_ceil(IN_TASK);
        let task = |mut found: Found, task: usize| {
            let begin = (task % parts) * IN_TASK;
            let range = begin..times.len().min(begin + IN_TASK);
            clusters[task / parts].play([sides[0].0, sides[1].0], &played, range, &mut found).map(|()| found)
        };
        let found = (0..clusters.len() * parts)
            .into_par_iter()
            .try_fold(|| Found::new(times.len()), task)
            .try_reduce(|| Found::new(times.len()), |a, b| Ok(a.merged(b)));
        let found = found.map_err(|e| sides[0].0.unfit(times[0], &e))?;
        if let Some((moment, side, at)) = found.broken {
            let error = Error::NotFinite { what: "posed positions", at };
            return Err(sides[side].0.unfit(times[moment], &error));
        }
        over_time
            .extend(times.iter().zip(&found.greatest).map(|(&seconds, square)| (seconds, square.sqrt())));
        worst = furthest(worst, found.worst.map(|it| Far { moment: it.moment + first, ..it }));
        histogram.merge(found.histogram);
        tick(times.len() as u64);
    }
    let worst = worst.unwrap_or_default();
    let (distance, seconds) = (worst.square.sqrt(), moments[worst.moment]);
    let worst = Worst { part: worst.part, vertex: worst.vertex as usize, seconds, distance };
    let mean_of_max = over_time.iter().map(|m| m.1).sum::<f64>() / over_time.len() as f64;
    // The upper edge of a bin may be a little above the largest distance.
    let percentile_99 = histogram.percentile(0.99).min(worst.distance);
    Ok(Difference { worst, percentile_99, mean_of_max, over_time })
}

/// Moments whose matrices are held at a time: so many, and so many bytes of them.
const MOST_IN_BLOCK: usize = 1024;
const BLOCK_BYTES: usize = 32 << 20;
/// Moments that one thread takes at a time.
const IN_TASK: usize = 64;

/// What some clusters had at some moments of a block, which are counted from 0.
pub(super) struct Found {
    /// Squares of the greatest distances.
    greatest: Vec<f64>,
    worst: Option<Far>,
    histogram: Histogram,
    /// The first moment at which a vertex leaves the range of f32, in which file, and its number.
    broken: Option<(usize, usize, usize)>,
}

#[derive(Clone, Copy, Default)]
struct Far {
    square: f64,
    moment: usize,
    part: usize,
    vertex: u32,
}

/// The one further off; of equals the first.
fn furthest(a: Option<Far>, b: Option<Far>) -> Option<Far> {
    let (Some(this), Some(that)) = (a, b) else { return a.or(b) };
    let place = |far: &Far| (far.moment, far.part, far.vertex);
    match that.square.total_cmp(&this.square).then(place(&this).cmp(&place(&that))) {
        std::cmp::Ordering::Greater => b,
        _ => a,
    }
}

impl Found {
    fn new(moments: usize) -> Self {
        Self { greatest: vec![0.0; moments], worst: None, histogram: Histogram::default(), broken: None }
    }

    fn merged(mut self, other: Self) -> Self {
        self.greatest.iter_mut().zip(other.greatest).for_each(|(a, b)| *a = a.max(b));
        self.worst = furthest(self.worst, other.worst);
        self.histogram.merge(other.histogram);
        self.broken = self.broken.into_iter().chain(other.broken).min();
        self
    }
}

impl Cluster {
    /// Poses its vertices at these moments, and adds what is found. Where no joint of the cluster has moved since the moment
    /// before, neither have the vertices.
    fn play(
        &self,
        sides: [&Subject<'_>; 2],
        played: &[Vec<Moment>; 2],
        range: Range<usize>,
        found: &mut Found,
    ) -> Result<(), Error> {
        let count = self.numbers[0].len();
        let mut posed = [vec![[0.0_f32; 3]; count], vec![[0.0_f32; 3]; count]];
        let mut morphed = vec![[0.0_f32; 3]; count];
        let mut squares = vec![0.0_f64; count];
        let (mut greatest, mut times) = (0.0, 0);
        for at in range.clone() {
            let mut moved = false;
            for side in [0, 1] {
                let (part, mesh) = (self.parts[side], &self.meshes[side]);
                let now = &played[side][at];
                let (palette, weights) =
                    (sides[side].palette_of(part, now), sides[side].weights_of(part, now));
                let matrices = palette.matrices();
                let is_same = || {
                    let before = &played[side][at - 1];
                    let old = sides[side].palette_of(part, before).matrices();
                    self.joints[side].iter().all(|&j| old[usize::from(j)] == matrices[usize::from(j)])
                        && sides[side].weights_of(part, before) == weights
                };
                if at > range.start && is_same() {
                    continue;
                }
                moved = true;
                let mut bind = mesh.vertices().as_slices();
                if !mesh.morph_targets().is_empty() {
                    let positions = &mut morphed[..];
                    morph(mesh, weights, VertexSlicesMut { positions, ..VertexSlicesMut::default() })?;
                    bind.positions = &morphed;
                }
                let target = VertexSlicesMut { positions: &mut posed[side], ..VertexSlicesMut::default() };
                skin(mesh.influences(), palette, bind, target)?;
            }
            if moved {
                found.histogram.add(&squares, times);
                times = 0;
                // As whole numbers, squares rise as they do, infinity and NaN above all.
                let mut bits = 0;
                for ((square, p), q) in squares.iter_mut().zip(&posed[0]).zip(&posed[1]) {
                    *square = place::square(p, q);
                    bits = bits.max(square.to_bits() & (u64::MAX >> 1));
                }
                greatest = f64::from_bits(bits);
                // Squares of f32 do not leave the range of f64.
                if !greatest.is_finite() {
                    let broken = |side: usize| {
                        let at = posed[side].iter().position(|p| !p.iter().all(|x| x.is_finite()))?;
                        Some((side, self.numbers[side][at] as usize))
                    };
                    let it = broken(0).or_else(|| broken(1)).map(|(side, vertex)| (at, side, vertex));
                    found.broken = found.broken.into_iter().chain(it).min();
                    return Ok(());
                }
                let place = (at, self.parts[0]);
                let may_be_worst = |worst: Far| {
                    greatest > worst.square
                        || (greatest == worst.square && place <= (worst.moment, worst.part))
                };
                if found.worst.is_none_or(may_be_worst) {
                    let equal =
                        squares.iter().zip(&self.numbers[0]).filter(|(square, _)| **square == greatest);
                    let far = |(&square, &vertex)| Far { square, moment: at, part: self.parts[0], vertex };
                    found.worst = furthest(found.worst, equal.map(far).min_by_key(|far| far.vertex));
                }
            }
            times += 1;
            found.greatest[at] = greatest.max(found.greatest[at]);
        }
        found.histogram.add(&squares, times);
        Ok(())
    }
}

/// Counts of distances by the leading bits of their squares, so that there is no need to keep hundreds of millions.
#[derive(Default)]
struct Histogram {
    /// By exponent, then by the top 10 bits of the mantissa: a distance may be 1 in 2048 off. Empty where there are none.
    octaves: Vec<Vec<u64>>,
    zeros: u64,
}

impl Histogram {
    const BITS: u32 = 10;

    /// Counts these squares, each so many times.
    fn add(&mut self, squares: &[f64], times: u64) {
        if times == 0 {
            return;
        }
        if squares.iter().all(|square| *square == 0.0) {
            self.zeros += times * squares.len() as u64;
            return;
        }
        for &square in squares {
            if square == 0.0 {
                self.zeros += times;
                continue;
            }
            let bin = (square.to_bits() >> (52 - Self::BITS)) as usize;
            let (octave, bin) = (bin >> Self::BITS, bin & ((1 << Self::BITS) - 1));
            match self.octaves.get_mut(octave).filter(|octave| !octave.is_empty()) {
                Some(counts) => counts[bin] += times,
                None => self.octave(octave)[bin] += times,
            }
        }
    }

    /// With room made for it.
    fn octave(&mut self, octave: usize) -> &mut Vec<u64> {
        let length = self.octaves.len().max(octave + 1);
        self.octaves.resize_with(length, Vec::new);
        let counts = &mut self.octaves[octave];
        counts.resize(1 << Self::BITS, 0);
        counts
    }

    fn merge(&mut self, other: Self) {
        self.zeros += other.zeros;
        for (octave, counts) in other.octaves.into_iter().enumerate().filter(|(_, counts)| !counts.is_empty())
        {
            self.octave(octave).iter_mut().zip(counts).for_each(|(a, b)| *a += b);
        }
    }

    /// The distance that this fraction of all distances does not exceed, at most 1 in 2048 too large.
    fn percentile(&self, share: f64) -> f64 {
        let total = self.zeros + self.octaves.iter().flatten().sum::<u64>();
        let wanted = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = self.zeros;
        if seen >= wanted {
            return 0.0;
        }
        let bins = self.octaves.iter().enumerate().flat_map(|(octave, counts)| {
            counts.iter().enumerate().map(move |(bin, count)| ((octave << Self::BITS) + bin, count))
        });
        let found = bins.into_iter().find(|(_, count)| {
            seen += **count;
            seen >= wanted
        });
        found.map_or(0.0, |(bin, _)| f64::from_bits((bin as u64 + 1) << (52 - Self::BITS)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clip(start: f32, end: f32) -> Clip {
        Clip { name: "clip".into(), is_named: true, start, end }
    }

    type Keyed<'a> = (f32, f32, &'a [f32]);

    fn moments((a, b): (Keyed<'_>, Keyed<'_>), fps: Option<f64>) -> Result<Vec<f32>, Failure> {
        let [this, that] = [a, b].map(|(start, end, _)| clip(start, end));
        super::moments([(&this, a.2.to_vec()), (&that, b.2.to_vec())], fps)
    }

    #[test]
    fn all_keys_of_both_and_moments_between() {
        let (a, b) = ((0.0, 1.0, &[0.0, 1.0][..]), (0.5, 2.0, &[0.5, 1.00001, 2.0][..]));
        let times = moments((a, b), None).expect("few");
        assert_eq!(times[..5], [0.0, 0.125, 0.25, 0.375, 0.5]);
        assert_eq!(times[8..11], [1.0, 1.00001, 1.25000_75]);
        assert_eq!((times.len(), times[times.len() - 1]), (14, 2.0));
        let still: Keyed<'_> = (0.0, 0.0, &[]);
        assert_eq!(moments((still, still), None).expect("few"), [0.0]);
    }

    #[test]
    fn even_moments_begin_and_end_with_the_clips() {
        let (a, b) = ((0.0, 1.0, &[0.0, 1.0][..]), (0.5, 1.1, &[][..]));
        assert_eq!(moments((a, b), Some(4.0)).expect("few"), [0.0, 0.25, 0.5, 0.75, 1.0, 1.1]);
        assert_eq!(moments((a, a), Some(4.0)).expect("few"), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(moments(((0.0, 0.0, &[]), (0.0, 0.0, &[])), Some(4.0)).expect("few"), [0.0]);
        assert!(moments(((0.0, 1e9, &[]), b), Some(1000.0)).is_err());
    }

    #[test]
    fn percentiles_are_as_fine_as_they_say() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(0.99), 0.0);
        (1..=1000).for_each(|i| histogram.add(&[(f64::from(i) * 1e-3).powi(2)], 1));
        for (share, want) in [(0.99, 0.99), (0.5, 0.5), (0.0, 0.001), (1.0, 1.0)] {
            let found = histogram.percentile(share);
            assert!(found >= want && found <= want * (1.0 + 1.0 / 2048.0), "{share}: {found}");
        }
        let mut twice = Histogram::default();
        twice.add(&[0.25, 4.0], 3);
        histogram.merge(twice);
        histogram.add(&[0.0], 200_000);
        assert_eq!(histogram.percentile(0.99), 0.0);
        let largest = histogram.percentile(1.0);
        assert!((2.0..2.001).contains(&largest), "{largest}");
    }
}
