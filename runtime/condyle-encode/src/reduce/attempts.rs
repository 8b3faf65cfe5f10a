//! Searches for the keys of all joints of a part, with less of the budget where an attempt fails.

use alloc::vec;
use alloc::vec::Vec;

use super::Reduced;
use super::build::Build;
use super::channel::{fit_values, targets};
use super::format::KeyFormat;
use super::job::{Channels, Job};
use super::parts::holds;
use super::placed::Placed;
use crate::curve::alignment::Alignment;
use crate::measure::budget::{BudgetFractions, FIRST_SPLIT, graded_by_depth, tighten};
use crate::measure::carried_points::CarriedPoints;
use crate::measure::joint_facts::{JointFacts, minus_rounding};
use crate::options::Measured;
use condyle::clip::RawClip;
use condyle_base::error::Error;

/// Maximum number of attempts with less of the budget, if rounding exceeds it.
const MAX_TRIES: usize = 4;

/// Maximum number of times that the split is tightened before the fixed splits are tried. Half and twice:
/// equal bytes.
const MAX_ROUNDS: usize = 20;

/// Result of one attempt.
struct Fit {
    channels: Vec<Channels>,
    /// Maximum error of each joint as a fraction of its budget.
    errors: Vec<f64>,
    /// Whether rotation, translation and scale of each joint lack suitable keys.
    lacking: Vec<[bool; 3]>,
}

impl Fit {
    /// Whether a joint is over budget or lacks keys.
    fn fails(&self, joint: usize) -> bool {
        self.errors[joint] > 1.0 || self.lacking[joint].contains(&true)
    }
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
            match self.format {
                // Readers that normalise rotations may exceed the budget that other readers meet.
                KeyFormat::Shorts | KeyFormat::Filtered if !self.readers_differ => self.readers_differ = true,
                _ => self.use_less(),
            }
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
                tighten(joints, joint, found.lacking[joint][1], usize::MAX, &mut fractions);
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
        let points = CarriedPoints::new(joints, &self.source.joints, &self.model, fractions);
        let mut placed: Vec<Placed> = Vec::with_capacity(joints.len());
        let mut uneven = Vec::new();
        let mut fit =
            Fit { channels: Vec::new(), errors: Vec::new(), lacking: vec![[false; 3]; joints.len()] };
        for (index, joint) in joints.iter().enumerate() {
            // The descendants of a joint that fails are fitted in the next attempt.
            if joint.parent.is_some_and(|parent| fit.fails(parent)) {
                fit.channels.push(Channels::default());
                fit.errors.push(f64::INFINITY);
                placed.push(Placed::default());
                continue;
            }
            let mut own = self.source.joints[index].clone();
            let above = joint.parent.map(|parent| &placed[parent]);
            let parents = above.map(|above| above.mean.as_slice());
            let found = if self.exact[index] {
                self.exact_channels(index).map(Ok)
            } else {
                let translation = self.translation(index, parents, &fractions[index], &mut own, &mut uneven);
                let scale = self.scale(index, points.of(index), &fractions[index], &mut own, &mut uneven);
                let alignment = Alignment::new(parents, &self.model[index], points.of(index), &own);
                let alignment = if self.readers_differ {
                    alignment.with_spreads(Placed::spreads(above, &own))
                } else {
                    alignment
                };
                let rotation = self.rotation(
                    index,
                    points.is_static(index),
                    &alignment,
                    points.of(index),
                    &mut own,
                    &mut uneven,
                );
                [rotation, translation, scale]
            };
            fit.lacking[index] = found.each_ref().map(Result::is_err);
            fit.channels.push(found.map(Result::unwrap_or_default));
            let is = Placed::new(above, &own, self.readers_differ);
            fit.errors.push(is.error(joint, &self.model[index]) / joint.budget);
            placed.push(is);
            // Frees the matrices of joints whose children are all placed.
            let above = joint.parent.into_iter();
            for done in above.chain([index]).filter(|&it| self.last_child[it] == index) {
                placed[done] = Placed::default();
            }
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
        if fit.fails(joint) && !below[joint] {
            below[joint] = true;
            topmost.push(joint);
        }
    }
    topmost
}
