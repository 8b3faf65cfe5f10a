//! Distances between the vertices of two models while a clip plays.

use std::ops::Range;

use condyle::mesh::VertexSlicesMut;
use condyle::{Error as Refusal, morph, skin};
use condyle_encode::farthest_of_ball;
use rayon::prelude::*;

use crate::compare::clip::Clip;
use crate::compare::cluster::Cluster;
use crate::compare::copies::{Copies, LANES};
use crate::compare::error::Error;
use crate::compare::subject::{Moment, POINTS, Subject, Worst};
use crate::compare::tree;

/// Distances between two models while a clip of each plays, in units of the models.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The vertex with the largest distance from its counterpart.
    pub worst: Worst,
    /// Time in seconds of the first moment with that distance.
    pub seconds: f64,
    /// The 99th percentile of the distances of all vertices at all moments, at most 1/2048 too large.
    pub percentile_99: f64,
    /// Mean over the moments of the largest distance.
    pub mean_of_max: f64,
    /// Each moment in seconds, with the largest distance there.
    pub over_time: Vec<(f64, f64)>,
}

/// Plays a clip of each model and compares all vertices at each of the moments, on all threads of the pool.
/// There must be at least one moment. The result does not depend on the number of threads. `tick` receives
/// the number of moments completed since the last call, and returns whether to continue.
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
    // The upper edge of a bin may be slightly above the largest distance.
    let percentile_99 = histogram.percentile(0.99).min(worst.distance);
    Ok(Difference { worst, seconds, percentile_99, mean_of_max, over_time })
}

/// Maximum number of moments whose matrices are in memory together, and maximum size of these matrices in
/// bytes.
const MOST_IN_BLOCK: usize = 1024;
const BLOCK_BYTES: usize = 32 << 20;
/// Maximum number of vertices posed in a block, over all moments, so that `tick` is called several times per
/// second.
const POSED_IN_BLOCK: usize = 1 << 24;
/// Number of moments in the task of one thread.
const IN_TASK: usize = 128;

/// Result for some clusters at some moments of a block. Moments are counted from the start of the block.
struct Found {
    /// Squares of the largest distances.
    greatest: Vec<f64>,
    worst: Option<Far>,
    histogram: Histogram,
    /// The first moment at which a vertex leaves the range of f32, the model, and the vertex.
    broken: Option<(usize, usize, usize)>,
}

#[derive(Clone, Copy, Default)]
struct Far {
    square: f64,
    moment: usize,
    part: usize,
    vertex: u32,
}

/// Returns the one with the larger distance; the first one if both are equal.
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

/// Posed vertices of a cluster.
struct Playing {
    /// Positions in both models.
    posed: [Vec<[f32; 3]>; 2],
    morphed: Vec<[f32; 3]>,
    /// Squares of the distances between both models.
    squares: Vec<f64>,
}

impl Cluster {
    /// Poses the vertices at these moments, and adds the distances. If no joint of the cluster has moved
    /// since the previous moment, the vertices are not posed again.
    fn play(
        &self,
        sides: [&Subject<'_>; 2],
        played: &[Vec<Moment>; 2],
        range: Range<usize>,
        found: &mut Found,
    ) -> Result<(), Refusal> {
        let range = self.play_copies(sides, played, range, found);
        if range.is_empty() {
            return Ok(());
        }
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
                // The square of an f32 is in the range of f64.
                if !greatest.is_finite() {
                    let broken = |side: usize| {
                        let at = playing.posed[side].iter().position(|p| !p.iter().all(|x| x.is_finite()))?;
                        Some((side, self.numbers[side][at] as usize))
                    };
                    let it = broken(0).or_else(|| broken(1)).map(|(side, vertex)| (at, side, vertex));
                    found.broken = found.broken.into_iter().chain(it).min();
                    return Ok(());
                }
                self.keep_worst(at, greatest, playing.squares.iter().copied(), found);
            }
            times += 1;
            found.greatest[at] = greatest.max(found.greatest[at]);
        }
        found.histogram.add(&playing.squares, times);
        Ok(())
    }

    /// If both meshes are equal, adds the distances without posing them. Returns the moments that are left:
    /// none, or those from the first at which a distance is not finite.
    fn play_copies(
        &self,
        sides: [&Subject<'_>; 2],
        played: &[Vec<Moment>; 2],
        range: Range<usize>,
        found: &mut Found,
    ) -> Range<usize> {
        let has_balls = sides[0].parts[self.parts[0]].instance.is_none();
        let copies = Copies::new(self.meshes.each_ref().map(|mesh| &**mesh)).filter(|_| !has_balls);
        let Some(copies) = copies else { return range };
        let palettes =
            |at: usize| [0, 1].map(|side| sides[side].palette_of(self.parts[side], &played[side][at]));
        let is_still = |at: usize| {
            let (now, before) = (palettes(at), palettes(at - 1));
            (0..2).all(|side| {
                let [now, before] = [now, before].map(|palettes| palettes[side].matrices());
                self.joints[side].iter().map(|&j| usize::from(j)).all(|j| now[j] == before[j])
            })
        };
        // Ranges of moments in which no joint of the cluster moves.
        let mut moments: Vec<Range<usize>> = Vec::new();
        for at in range.clone() {
            match moments.last_mut().filter(|_| is_still(at)) {
                Some(last) => last.end = at + 1,
                None => moments.push(at..at + 1),
            }
        }
        let mut squares = vec![[0.0; LANES]; self.numbers[0].len()];
        for moments in moments.chunks(LANES) {
            let lanes: Vec<_> = moments.iter().map(|moments| palettes(moments.start)).collect();
            let greatest = copies.measure(&lanes, &mut squares);
            let mut times = [0; LANES];
            for (lane, moments) in moments.iter().enumerate() {
                if !greatest[lane].is_finite() {
                    found.histogram.add_lanes(&squares, &times);
                    return moments.start..range.end;
                }
                times[lane] = moments.len() as u64;
                let of_lane = || squares.iter().map(|squares| squares[lane]);
                self.keep_worst(moments.start, greatest[lane], of_lane(), found);
                let most = &mut found.greatest[moments.clone()];
                most.iter_mut().for_each(|most| *most = greatest[lane].max(*most));
            }
            found.histogram.add_lanes(&squares, &times);
        }
        range.end..range.end
    }

    /// Poses the vertices of one model, unless they have not moved since the previous moment. Returns whether
    /// they were posed.
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

    /// Keeps the vertex with the largest distance at a moment, if it is larger than any before.
    fn keep_worst(&self, at: usize, greatest: f64, squares: impl Iterator<Item = f64>, found: &mut Found) {
        let place = (at, self.parts[0]);
        let may_be_worst = |worst: Far| {
            greatest > worst.square || (greatest == worst.square && place <= (worst.moment, worst.part))
        };
        if found.worst.is_none_or(may_be_worst) {
            let equal = squares.zip(&self.numbers[0]).filter(|(square, _)| *square == greatest);
            let far = |(square, &vertex)| Far { square, moment: at, part: self.parts[0], vertex };
            found.worst = furthest(found.worst, equal.map(far).min_by_key(|far| far.vertex));
        }
    }
}

impl Playing {
    /// Measures the distances and returns the largest square. With `has_balls`, the points represent balls
    /// around joints.
    fn measure(&mut self, has_balls: bool) -> f64 {
        let Self { posed, squares, .. } = self;
        for ((square, p), q) in squares.iter_mut().zip(&posed[0]).zip(&posed[1]) {
            *square = tree::square(p, q);
        }
        if has_balls {
            whole_balls(posed, squares);
        }
        largest(squares)
    }
}

/// Returns the largest square, or one that is not finite.
fn largest(squares: &[f64]) -> f64 {
    // The bits of squares, read as integers, have the same order, with infinity and NaN at the top.
    let bits = squares.iter().fold(0, |bits, square| bits.max(square.to_bits() & (u64::MAX >> 1)));
    f64::from_bits(bits)
}

/// Replaces the squares of the four points of each joint by that of the farthest point of its ball.
fn whole_balls(posed: &[Vec<[f32; 3]>; 2], squares: &mut [f64]) {
    let [these, those] = posed.each_ref().map(|side| side.as_chunks::<POINTS>().0);
    let of_joints = these.iter().zip(those).zip(squares.as_chunks_mut::<POINTS>().0);
    for ((p, q), squares) in of_joints {
        let off = |at: usize| [0, 1, 2].map(|c| f64::from(p[at][c]) - f64::from(q[at][c]));
        let farthest = farthest_of_ball(off(0), [off(1), off(2), off(3)]);
        *squares = [farthest * farthest; POINTS];
    }
}

/// A histogram of distances by the leading bits of their squares, because there may be hundreds of millions
/// of them.
#[derive(Default)]
struct Histogram {
    /// Counts by exponent and top 10 bits of the mantissa, so the relative error of a distance is at most
    /// 1/2048. Whole octaves: the first bin begins at a power of two.
    counts: Vec<u64>,
    /// Number of the first bin.
    first: usize,
    zeros: u64,
}

impl Histogram {
    const BITS: u32 = 10;

    fn bin(square: f64) -> usize {
        (square.to_bits() >> (52 - Self::BITS)) as usize
    }

    /// Counts each of these squares `times` times.
    fn add(&mut self, squares: &[f64], times: u64) {
        if times == 0 {
            return;
        }
        if squares.iter().all(|square| *square == 0.0) {
            self.zeros += times * squares.len() as u64;
            return;
        }
        squares.iter().for_each(|&square| self.count(square, times));
    }

    /// Counts the squares of each lane as many times as `times` has for that lane.
    fn add_lanes(&mut self, squares: &[[f64; LANES]], times: &[u64; LANES]) {
        let lanes = times.iter().position(|&times| times == 0).unwrap_or(LANES);
        for squares in squares {
            squares[..lanes].iter().zip(times).for_each(|(&square, &times)| self.count(square, times));
        }
    }

    #[inline]
    fn count(&mut self, square: f64, times: u64) {
        match self.counts.get_mut(Self::bin(square).wrapping_sub(self.first)) {
            Some(count) => *count += times,
            None if square == 0.0 => self.zeros += times,
            None => *self.grown(Self::bin(square)) += times,
        }
    }

    /// Returns the count of a bin, and allocates the octaves up to it if necessary.
    fn grown(&mut self, bin: usize) -> &mut u64 {
        let octave = bin >> Self::BITS << Self::BITS;
        let end = octave + (1 << Self::BITS);
        if self.counts.is_empty() {
            self.first = octave;
        }
        if octave < self.first {
            self.counts.splice(..0, std::iter::repeat_n(0, self.first - octave));
            self.first = octave;
        }
        self.counts.resize(self.counts.len().max(end - self.first), 0);
        &mut self.counts[bin - self.first]
    }

    fn merge(&mut self, other: Self) {
        self.zeros += other.zeros;
        for (bin, count) in (other.first..).zip(other.counts).filter(|(_, count)| *count > 0) {
            *self.grown(bin) += count;
        }
    }

    /// Returns the distance that this fraction of all distances does not exceed, at most 1/2048 too large.
    fn percentile(&self, share: f64) -> f64 {
        let total = self.zeros + self.counts.iter().sum::<u64>();
        let wanted = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = self.zeros;
        if seen >= wanted {
            return 0.0;
        }
        let found = (self.first..).zip(&self.counts).find(|(_, count)| {
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
