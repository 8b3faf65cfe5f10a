//! How far the vertices of two files are apart while a clip plays.

use super::subject::{Clip, Subject};
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
pub(super) fn moments(a: &Clip, b: &Clip, fps: Option<f64>) -> Result<Vec<f32>, Failure> {
    let (start, end) = (a.start.min(b.start), a.end.max(b.end));
    let count = match fps {
        Some(fps) => (f64::from(end) - f64::from(start)) * fps,
        None => BETWEEN as f64 * (a.keys.len() + b.keys.len()) as f64,
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
    let mut keys: Vec<f32> = a.keys.iter().chain(&b.keys).copied().chain([start, end]).collect();
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

/// A vertex at a moment. Distances are in units of the files, which should be metres.
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

/// Plays a clip of each file and compares all vertices at each moment.
pub(super) fn measure(
    (a, clip_a): (&mut dyn Subject, usize),
    (b, clip_b): (&mut dyn Subject, usize),
    parts: &[(usize, usize)],
    moments: &[f32],
    mut tick: impl FnMut(),
) -> Result<Difference, Failure> {
    let mut worst =
        Worst { part: parts.first().map_or(0, |p| p.0), vertex: 0, seconds: moments[0], distance: 0.0 };
    let mut histogram = Histogram::new();
    let mut over_time = Vec::with_capacity(moments.len());
    for &seconds in moments {
        a.pose(Some(clip_a), seconds)?;
        b.pose(Some(clip_b), seconds)?;
        let mut greatest = 0.0_f64;
        for &(part, twin) in parts {
            let vertices = a.positions(part).iter().zip(b.positions(twin));
            for (vertex, (p, q)) in vertices.enumerate() {
                let square = |i: usize| (f64::from(p[i]) - f64::from(q[i])).powi(2);
                let distance = (square(0) + square(1) + square(2)).sqrt();
                histogram.add(distance);
                greatest = greatest.max(distance);
                if distance > worst.distance {
                    worst = Worst { part, vertex, seconds, distance };
                }
            }
        }
        over_time.push((seconds, greatest));
        tick();
    }
    let mean_of_max = over_time.iter().map(|m| m.1).sum::<f64>() / over_time.len() as f64;
    // The upper edge of a bin may be a little above the largest distance.
    let percentile_99 = histogram.percentile(0.99).min(worst.distance);
    Ok(Difference { worst, percentile_99, mean_of_max, over_time })
}

/// Counts of distances by their leading bits, so that there is no need to keep hundreds of millions.
struct Histogram {
    /// Indexed by sign, exponent and the top 11 bits of the mantissa.
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    const DROPPED: u32 = 12;

    fn new() -> Self {
        // Distances of finite vectors are not negative, and infinite at most as f32.
        Self { counts: vec![0; (f32::INFINITY.to_bits() >> Self::DROPPED) as usize + 1], total: 0 }
    }

    fn add(&mut self, distance: f64) {
        let bits = (distance as f32).to_bits().min(f32::INFINITY.to_bits());
        self.counts[(bits >> Self::DROPPED) as usize] += 1;
        self.total += 1;
    }

    /// The distance that this fraction of all distances does not exceed, at most 1 in 2048 too large.
    fn percentile(&self, share: f64) -> f64 {
        let wanted = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        let bin = self.counts.iter().position(|&count| {
            seen += count;
            seen >= wanted.max(1)
        });
        match bin {
            // The lowest bin is reported as exactly 0.
            None | Some(0) => 0.0,
            Some(bin) => {
                let edge = ((bin as u32 + 1) << Self::DROPPED) - 1;
                f64::from(f32::from_bits(edge.min(f32::INFINITY.to_bits())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clip(start: f32, end: f32, keys: &[f32]) -> Clip {
        Clip { name: "clip".into(), start, end, keys: keys.to_vec() }
    }

    #[test]
    fn all_keys_of_both_and_moments_between() {
        let (a, b) = (clip(0.0, 1.0, &[0.0, 1.0]), clip(0.5, 2.0, &[0.5, 1.00001, 2.0]));
        let times = moments(&a, &b, None).expect("few");
        assert_eq!(times[..5], [0.0, 0.125, 0.25, 0.375, 0.5]);
        assert_eq!(times[8..11], [1.0, 1.00001, 1.25000_75]);
        assert_eq!((times.len(), times[times.len() - 1]), (14, 2.0));
        let still = clip(0.0, 0.0, &[]);
        assert_eq!(moments(&still, &still, None).expect("few"), [0.0]);
    }

    #[test]
    fn even_moments_begin_and_end_with_the_clips() {
        let (a, b) = (clip(0.0, 1.0, &[0.0, 1.0]), clip(0.5, 1.1, &[]));
        assert_eq!(moments(&a, &b, Some(4.0)).expect("few"), [0.0, 0.25, 0.5, 0.75, 1.0, 1.1]);
        assert_eq!(moments(&a, &a, Some(4.0)).expect("few"), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(moments(&clip(0.0, 0.0, &[]), &clip(0.0, 0.0, &[]), Some(4.0)).expect("few"), [0.0]);
        assert!(moments(&clip(0.0, 1e9, &[]), &b, Some(1000.0)).is_err());
    }

    #[test]
    fn percentiles_are_as_fine_as_they_say() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.percentile(0.99), 0.0);
        (1..=1000).for_each(|i| histogram.add(f64::from(i) * 1e-3));
        for (share, want) in [(0.99, 0.99), (0.5, 0.5), (0.0, 0.001), (1.0, 1.0)] {
            let found = histogram.percentile(share);
            assert!(found >= want && found <= want * (1.0 + 1.0 / 2048.0), "{share}: {found}");
        }
        (0..200_000).for_each(|_| histogram.add(0.0));
        assert_eq!(histogram.percentile(0.99), 0.0);
        histogram.add(1e39);
        assert_eq!(histogram.percentile(1.0), f64::INFINITY);
    }
}
