//! Velocity of the ground below a character that walks or runs in place.

use alloc::vec::Vec;

use condyle_base::order::sort_numbers;

use super::thresholds::ContactOptions;
use super::touches::{Paths, level};
use crate::maps::{Vec64, add, length, scaled, sub};

/// Maximum number of candidate velocities.
const TRIED: usize = 256;
/// Velocities agree if they differ by at most the first fraction of their length. Their mean is refined with
/// the other fractions.
const AGREE: [f64; 3] = [0.3, 0.2, 0.15];
/// The ground moves only if at least one in this many low samples agrees on its velocity.
const FEW: usize = 4;

impl Paths {
    /// Finds the velocity that most low samples of the joints have in common, and moves the ground by it.
    ///
    /// The ground stays fixed if few low samples agree, or if at least half of those that agree are at rest.
    /// It also stays fixed if the joints travel at about that velocity in the clip, because then the clip is
    /// not in place.
    pub(super) fn find_treadmill(&mut self, options: &ContactOptions) {
        let (begins, ends) = (f64::from(options.speed[0]), f64::from(options.speed[1]));
        let mut low = Vec::new();
        for joint in 0..self.places.len() {
            let highest = self.lowest(joint) + f64::from(options.height[1]);
            let touches = (0..=self.steps()).filter(|&at| self.places[joint][at][1] <= highest);
            low.extend(touches.map(|at| level(self.velocity(joint, at as isize))));
        }
        let near = |of: Vec64, radius: f64| {
            let (mut count, mut sum) = (0_usize, [0.0; 3]);
            for &velocity in low.iter().filter(|&&velocity| length(sub(velocity, of)) <= radius) {
                (count, sum) = (count + 1, add(sum, velocity));
            }
            (count, scaled(sum, 1.0 / count.max(1) as f64))
        };
        let radius = |of: Vec64, part: f64| begins.max(part * length(of));
        let tried = low.iter().step_by(low.len().div_ceil(TRIED).max(1));
        let best = tried.map(|&velocity| (near(velocity, radius(velocity, AGREE[0])).0, velocity));
        let Some((agree, mut common)) = best.max_by_key(|(count, _)| *count) else { return };
        for part in AGREE {
            common = near(common, radius(common, part)).1;
        }
        // The mean is biased by the velocities of feet that land or leave, so the median is used.
        let agreeing = low.iter().filter(|&&v| length(sub(v, common)) <= radius(common, AGREE[2]));
        let mut axes = [Vec::new(), Vec::new()];
        for &[x, _, z] in agreeing {
            axes[0].push(x);
            axes[1].push(z);
        }
        let [x, z] = axes.map(median);
        common = [x, 0.0, z];
        let rest = near([0.0; 3], ends.min(0.5 * length(common))).0;
        if length(common) > begins && 2 * rest < agree && FEW * agree >= low.len() {
            self.take_treadmill(common);
        }
    }

    /// Uses the mean velocity of the joints during the given contacts. If it is a small fraction of their
    /// mean speed in the whole clip, they stand and the ground stays fixed.
    pub(super) fn find_treadmill_of(&mut self, spans: &[Vec<[usize; 2]>], options: &ContactOptions) {
        let (mut sum, mut count) = ([0.0; 3], 0_usize);
        for (joint, spans) in spans.iter().enumerate() {
            for &[from, until] in spans {
                sum = (from..until).fold(sum, |sum, at| add(sum, level(self.velocity(joint, at as isize))));
                count += until.saturating_sub(from);
            }
        }
        let mean = scaled(sum, 1.0 / count.max(1) as f64);
        let all = (0..self.places.len()).flat_map(|joint| (0..=self.steps()).map(move |at| (joint, at)));
        let speed = all.map(|(joint, at)| length(level(self.velocity(joint, at as isize)))).sum::<f64>();
        let speed = speed / (self.places.len() * (self.steps() + 1)).max(1) as f64;
        if length(mean) > f64::from(options.pace[1]) * speed {
            self.take_treadmill(mean);
        }
    }

    /// Moves the ground with the velocity of the feet, unless the feet travel at about that velocity in the
    /// clip.
    fn take_treadmill(&mut self, feet: Vec64) {
        let travelled = self.places.iter().fold([0.0; 3], |sum, places| match places.as_slice() {
            [first, .., last] => add(sum, level(sub(*last, *first))),
            _ => sum,
        });
        let by = self.duration * self.places.len() as f64;
        let mean = scaled(travelled, if by > 0.0 { 1.0 / by } else { 0.0 });
        if length(sub(mean, feet)) >= 0.5 * length(feet) && length(feet) > 0.0 {
            self.move_ground(scaled(feet, -1.0));
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    sort_numbers(&mut values);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
