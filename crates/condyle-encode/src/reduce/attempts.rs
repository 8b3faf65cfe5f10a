//! Searches for the keys of all joints of a part, with less of the budget where an attempt fails.

use alloc::vec;
use alloc::vec::Vec;

use super::Reduced;
use super::build::Build;
use super::channel::{fit_values, targets};
use super::job::{Channels, Job};
use super::parts::holds;
use crate::aims::Aims;
use crate::algebra::Affine64;
use crate::budget::{FIRST_SPLIT, MAX_ROUNDS, graded_by_depth, tighten};
use crate::options::Measured;
use crate::points::points_to_place;
use crate::task::{BudgetFractions, JointFacts, SegmentJob, minus_rounding};
use condyle::clip::RawClip;
use condyle_base::error::Error;

/// Maximum number of attempts with less of the budget, if rounding exceeds it.
const MAX_TRIES: usize = 4;

/// Result of one attempt.
struct Fit {
    channels: Vec<Channels>,
    /// Maximum error of each joint as a fraction of its budget.
    errors: Vec<f64>,
    /// Whether rotation, translation and scale of each joint lack suitable keys.
    lacking: Vec<[bool; 3]>,
}

impl Job<'_, '_> {
    /// Returns a clip within the budget, or the best one if no clip is.
    pub(super) fn best(&mut self) -> Result<Reduced, Error> {
        let options = self.options;
        let holds = |it: &Measured| holds(options, it);
        let mut best: Option<Reduced> = None;
        for _ in 0..MAX_TRIES {
            let Some(clip) = self.clip()? else { break };
            let measured = self.measure(&clip);
            if holds(&measured) {
                return self.or_authored(Reduced { clip, rate: self.of.rate(), measured }, holds);
            }
            if best.as_ref().is_none_or(|best| measured.error_max < best.measured.error_max) {
                best = Some(Reduced { clip, rate: self.of.rate(), measured });
            }
            self.use_less();
        }
        let clip = self.exact()?;
        let exact = Reduced { measured: self.measure(&clip), rate: self.of.rate(), clip };
        Ok(match best {
            Some(best) if !holds(&exact.measured) && best.measured.error_max < exact.measured.error_max => {
                best
            }
            _ => exact,
        })
    }

    /// Fits all joints. A joint that fails keeps all authored keys, as do all its ancestors, so that its
    /// position is exact.
    fn fit(&mut self) -> Option<Fit> {
        loop {
            let failed = match self.attempt() {
                Ok(fit) => return Some(fit),
                Err(failed) => failed,
            };
            let mut is_new = false;
            for joint in failed {
                let parent = |&joint: &usize| self.joints[joint].parent;
                let chain: Vec<usize> = core::iter::successors(Some(joint), parent).collect();
                for joint in chain {
                    is_new |= !core::mem::replace(&mut self.exact[joint], true);
                }
            }
            if !is_new {
                return None;
            }
        }
    }

    /// Tries to fit all joints, with less budget for the ancestors of failing ones; otherwise returns the
    /// failed joints.
    fn attempt(&self) -> Result<Fit, Vec<usize>> {
        let joints = &self.joints[..];
        let mut fractions = vec![FIRST_SPLIT; joints.len()];
        let mut last = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let found = self.search(&fractions);
            let failed = failed(joints, &found);
            if failed.is_empty() {
                return Ok(found);
            }
            // Stops tightening if it has no effect.
            let is_same = failed == last && failed.iter().all(|&joint| fractions[joint].place < 0.4);
            for &joint in &failed {
                tighten(joints, joint, found.lacking[joint][1], &mut fractions);
            }
            last = failed;
            if is_same {
                break;
            }
        }
        let graded = [1.0, 0.5, 0.2].into_iter().map(|factor| self.search(&graded_by_depth(joints, factor)));
        graded.into_iter().find(|found| failed(joints, found).is_empty()).ok_or(last)
    }

    /// Fits each joint relative to its parent as readers will decode it, parents first.
    fn search(&self, fractions: &[BudgetFractions]) -> Fit {
        let joints = &self.joints[..];
        let job = SegmentJob {
            joints,
            source: &self.source.joints,
            shapes: &[],
            fractions,
            max_bits: 0,
            nlerp: false,
        };
        let (points, is_static) = points_to_place(&job, &self.model);
        let count = self.source.moments.len();
        let mut placed: Vec<Vec<Affine64>> = Vec::with_capacity(joints.len());
        let mut uneven = Vec::new();
        let mut fit =
            Fit { channels: Vec::new(), errors: Vec::new(), lacking: vec![[false; 3]; joints.len()] };
        for (index, joint) in joints.iter().enumerate() {
            let mut own = self.source.joints[index].clone();
            let parents = joint.parent.map(|parent| placed[parent].as_slice());
            let found = if self.exact[index] {
                self.exact_channels(index).map(Ok)
            } else {
                let translation = self.translation(index, parents, &fractions[index], &mut own, &mut uneven);
                let scale = self.scale(index, &points[index], &fractions[index], &mut own, &mut uneven);
                let aims = Aims::new(parents, &self.model[index], &points[index], &own);
                let rotation =
                    self.rotation(index, is_static[index], &aims, &points[index], &mut own, &mut uneven);
                [rotation, translation, scale]
            };
            fit.lacking[index] = found.each_ref().map(Result::is_err);
            fit.channels.push(found.map(Result::unwrap_or_default));
            let at = |moment: usize| {
                let local = Affine64::local(&own[moment]);
                parents.map_or(local, |parents| parents[moment].after(&local))
            };
            let is: Vec<Affine64> = (0..count).map(at).collect();
            let mut worst = 0.0_f64;
            for (is, want) in is.iter().zip(&self.model[index]) {
                for body in &joint.shell {
                    worst = worst.max(body.beyond(is, want, worst).unwrap_or_default());
                }
            }
            fit.errors.push(worst / joint.budget);
            placed.push(is);
        }
        fit
    }

    /// Clip of one attempt; `None` if it has no keys within the budget.
    fn clip(&mut self) -> Result<Option<RawClip>, Error> {
        let Some(fit) = self.fit() else { return Ok(None) };
        let mut build = Build::default();
        for (joint, channels) in fit.channels.iter().enumerate() {
            for (target, channel) in targets(joint).into_iter().zip(channels) {
                if let Some(channel) = channel {
                    build.add(target, channel, &self.source.moments);
                }
            }
        }
        if !self.add_free(&mut build) {
            return Ok(None);
        }
        build.finish(self.of, self.skeleton, !self.grids.pinned).map(Some)
    }

    /// Adds the tracks that drive no joint. Returns false if one of them has no suitable keys.
    fn add_free(&self, build: &mut Build) -> bool {
        self.source.free.iter().all(|free| {
            let limit = minus_rounding(self.options.budget_of(free.target) * self.track_part, 1e-7);
            let found = fit_values(&self.source.moments, &self.grids, free, limit, self.format);
            found.map(|channel| build.add(free.target, &channel, &self.source.moments)).is_some()
        })
    }
}

/// Joints that are over budget or lack keys, without the descendants of such joints.
fn failed(joints: &[JointFacts], fit: &Fit) -> Vec<usize> {
    let mut below = vec![false; joints.len()];
    let mut topmost = Vec::new();
    for (joint, facts) in joints.iter().enumerate() {
        below[joint] = facts.parent.is_some_and(|parent| below[parent]);
        if (fit.errors[joint] > 1.0 || fit.lacking[joint].contains(&true)) && !below[joint] {
            below[joint] = true;
            topmost.push(joint);
        }
    }
    topmost
}
