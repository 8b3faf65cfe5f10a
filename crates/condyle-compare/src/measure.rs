//! How far the vertices of two models are apart while a clip plays.

use std::ops::Range;

use condyle::mesh::VertexSlicesMut;
use condyle::{Error as Refusal, morph, skin};
use condyle_encode::farthest_of_ball;
use rayon::prelude::*;

use crate::clip::Clip;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::subject::{Moment, POINTS, Subject, Worst};
use crate::tree;

/// How far two models are apart while a clip of each plays. Distances are in units of the models.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The vertex furthest from its counterpart.
    pub worst: Worst,
    /// The first moment at which it is as far as that.
    pub seconds: f64,
    /// Of the distances of all vertices at all moments, 99 in 100 are not greater than this, which is at most 1 in 2048 too large.
    pub percentile_99: f64,
    /// The mean over the moments of the greatest distance.
    pub mean_of_max: f64,
    /// Each moment in seconds, and the greatest distance there.
    pub over_time: Vec<(f64, f64)>,
}

/// Plays a clip of each model and compares all vertices at each moment, of which there is at least one, on all threads of the
/// pool. What comes out does not depend on how many there are. `tick` is told how many moments more are done, and says whether
/// to go on.
pub(crate) fn measure(
    sides: [(&Subject<'_>, &Clip<'_>); 2],
    clusters: &[Cluster],
    moments: &[f64],
    mut tick: impl FnMut(usize) -> bool,
) -> Result<Difference, Error> {
    let bytes: usize = sides.iter().map(|(it, _)| it.moment_bytes()).sum();
    let vertices: usize = clusters.iter().map(|cluster| cluster.numbers[0].len()).sum();
    let most = MOST_IN_BLOCK.min(POSED_IN_BLOCK / vertices.max(1)).max(1);
    let block = (BLOCK_BYTES / bytes.max(1)).clamp(1, most);
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
        let found = found.map_err(|e| sides[0].0.unfit(times[0], e))?;
        if let Some((moment, side, at)) = found.broken {
            let error = Refusal::NotFinite { what: "posed positions", at };
            return Err(sides[side].0.unfit(times[moment], error));
        }
        over_time
            .extend(times.iter().zip(&found.greatest).map(|(&seconds, square)| (seconds, square.sqrt())));
        worst = furthest(worst, found.worst.map(|it| Far { moment: it.moment + first, ..it }));
        histogram.merge(found.histogram);
        if !tick(times.len()) {
            return Err(Error::Stopped);
        }
    }
    let worst = worst.unwrap_or_default();
    let (distance, seconds) = (worst.square.sqrt(), moments[worst.moment]);
    let worst = Worst { part: worst.part, vertex: worst.vertex as usize, distance };
    let mean_of_max = over_time.iter().map(|m| m.1).sum::<f64>() / over_time.len() as f64;
    // The upper edge of a bin may be a little above the largest distance.
    let percentile_99 = histogram.percentile(0.99).min(worst.distance);
    Ok(Difference { worst, seconds, percentile_99, mean_of_max, over_time })
}

/// Moments whose matrices are held at a time: so many, and so many bytes of them.
const MOST_IN_BLOCK: usize = 1024;
const BLOCK_BYTES: usize = 32 << 20;
/// Vertices that are posed in a block, all moments together, so that the caller is asked several times a second whether to go on.
const POSED_IN_BLOCK: usize = 1 << 24;
/// Moments that one thread takes at a time.
const IN_TASK: usize = 64;

/// What some clusters had at some moments of a block, which are counted from 0.
struct Found {
    /// Squares of the greatest distances.
    greatest: Vec<f64>,
    worst: Option<Far>,
    histogram: Histogram,
    /// The first moment at which a vertex leaves the range of f32, in which model, and its number.
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

/// Vertices of a cluster while it plays.
struct Playing {
    /// Positions on both sides.
    posed: [Vec<[f32; 3]>; 2],
    morphed: Vec<[f32; 3]>,
    /// Squares of the distances between both sides.
    squares: Vec<f64>,
}

impl Cluster {
    /// Poses its vertices at these moments, and adds the distances between both sides. If no joint of the
    /// cluster has moved since the moment before, neither have the vertices.
    fn play(
        &self,
        sides: [&Subject<'_>; 2],
        played: &[Vec<Moment>; 2],
        range: Range<usize>,
        found: &mut Found,
    ) -> Result<(), Refusal> {
        let points = vec![[0.0_f32; 3]; self.numbers[0].len()];
        let squares = vec![0.0_f64; points.len()];
        let mut playing = Playing { posed: [points.clone(), points.clone()], morphed: points, squares };
        let (mut greatest, mut times) = (0.0, 0);
        for at in range.clone() {
            let mut moved = false;
            for side in [0, 1] {
                let before = (at > range.start).then(|| &played[side][at - 1]);
                moved |= self.pose(side, sides[side], &played[side][at], before, &mut playing)?;
            }
            if moved {
                found.histogram.add(&playing.squares, times);
                times = 0;
                greatest = playing.measure(sides[0].parts[self.parts[0]].instance.is_none());
                // Squares of f32 do not leave the range of f64.
                if !greatest.is_finite() {
                    let broken = |side: usize| {
                        let at = playing.posed[side].iter().position(|p| !p.iter().all(|x| x.is_finite()))?;
                        Some((side, self.numbers[side][at] as usize))
                    };
                    let it = broken(0).or_else(|| broken(1)).map(|(side, vertex)| (at, side, vertex));
                    found.broken = found.broken.into_iter().chain(it).min();
                    return Ok(());
                }
                self.keep_worst(at, greatest, &playing.squares, found);
            }
            times += 1;
            found.greatest[at] = greatest.max(found.greatest[at]);
        }
        found.histogram.add(&playing.squares, times);
        Ok(())
    }

    /// Poses the vertices of one side, unless they are where they were at the moment before. Returns
    /// whether it did.
    fn pose(
        &self,
        side: usize,
        subject: &Subject<'_>,
        now: &Moment,
        before: Option<&Moment>,
        playing: &mut Playing,
    ) -> Result<bool, Refusal> {
        let (part, mesh) = (self.parts[side], &self.meshes[side]);
        let (palette, weights) = (subject.palette_of(part, now), subject.weights_of(part, now));
        let matrices = palette.matrices();
        let is_same = |before: &Moment| {
            let old = subject.palette_of(part, before).matrices();
            self.joints[side].iter().all(|&j| old[usize::from(j)] == matrices[usize::from(j)])
                && subject.weights_of(part, before) == weights
        };
        if before.is_some_and(is_same) {
            return Ok(false);
        }
        let mut bind = mesh.vertices().as_slices();
        if !mesh.morph_targets().is_empty() {
            let positions = &mut playing.morphed[..];
            morph(mesh, weights, VertexSlicesMut { positions, ..VertexSlicesMut::default() })?;
            bind.positions = &playing.morphed;
        }
        let target = VertexSlicesMut { positions: &mut playing.posed[side], ..VertexSlicesMut::default() };
        skin(mesh.influences(), palette, bind, target)?;
        Ok(true)
    }

    /// Keeps the farthest vertex at a moment, if none before it was farther.
    fn keep_worst(&self, at: usize, greatest: f64, squares: &[f64], found: &mut Found) {
        let place = (at, self.parts[0]);
        let may_be_worst = |worst: Far| {
            greatest > worst.square || (greatest == worst.square && place <= (worst.moment, worst.part))
        };
        if found.worst.is_none_or(may_be_worst) {
            let equal = squares.iter().zip(&self.numbers[0]).filter(|(square, _)| **square == greatest);
            let far = |(&square, &vertex)| Far { square, moment: at, part: self.parts[0], vertex };
            found.worst = furthest(found.worst, equal.map(far).min_by_key(|far| far.vertex));
        }
    }
}

impl Playing {
    /// Measures the distances between both sides, and returns the greatest square. `has_balls` is for
    /// points that stand for balls.
    fn measure(&mut self, has_balls: bool) -> f64 {
        let Self { posed, squares, .. } = self;
        for ((square, p), q) in squares.iter_mut().zip(&posed[0]).zip(&posed[1]) {
            *square = tree::square(p, q);
        }
        if has_balls {
            whole_balls(posed, squares);
        }
        // As whole numbers, squares rise as they do, infinity and NaN above all.
        let bits = squares.iter().fold(0, |bits, square| bits.max(square.to_bits() & (u64::MAX >> 1)));
        f64::from_bits(bits)
    }
}

/// Makes the squares of the four points of each joint that of the farthest point of the ball that they stand for.
fn whole_balls(posed: &[Vec<[f32; 3]>; 2], squares: &mut [f64]) {
    let [these, those] = posed.each_ref().map(|side| side.as_chunks::<POINTS>().0);
    let of_joints = these.iter().zip(those).zip(squares.as_chunks_mut::<POINTS>().0);
    for ((p, q), squares) in of_joints {
        let off = |at: usize| [0, 1, 2].map(|c| f64::from(p[at][c]) - f64::from(q[at][c]));
        let farthest = farthest_of_ball(off(0), [off(1), off(2), off(3)]);
        *squares = [farthest * farthest; POINTS];
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
