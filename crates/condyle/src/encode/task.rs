//! What the parts of the encoder hand to each other.

use alloc::vec;
use alloc::vec::Vec;

use super::algebra::Vector;
use super::curve::{Curve, scaled};
use super::fit::Shape;
use super::options::EncodeOptions;
use super::source::JointTracks;
use super::write::{RECORD, Set};
use crate::clip::layout::Kind;
use crate::clip::{RawClip, Track};
use crate::math::Transform64;
use crate::motion::RootMotion;
use crate::play::Events;
use crate::skeleton::Skeleton;

/// What is known of a joint before a segment is looked at.
#[derive(Debug, Clone)]
pub(super) struct JointFacts {
    pub(super) parent: Option<usize>,
    pub(super) rest: Transform64,
    /// Points in the joint's own space that must stay within the budget.
    pub(super) shell: Vec<Vector>,
    pub(super) budget: f64,
    /// Which of rotation, translation and scale are kept as authored.
    pub(super) exact: [bool; 3],
}

/// What parts of the budget the place of a joint may be off by, as its own rotation can make up for it in what follows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    /// By what turns above it.
    pub(super) place: f64,
    /// By its own translation.
    pub(super) translation: f64,
    /// What its points would be off by if it turned with what is above it and made up for nothing. Without it, all of that is left to it:
    /// but between frames its own curve cannot follow everything that another kind of curve does.
    pub(super) swing: Option<f64>,
}

/// A segment to be encoded.
pub(super) struct Task<'a> {
    pub(super) joints: &'a [JointFacts],
    /// Per joint and moment.
    pub(super) source: &'a [Vec<Transform64>],
    /// The kinds of curves, those with few keys first.
    pub(super) shapes: &'a [Shape],
    /// One for each joint.
    pub(super) shares: &'a [Share],
    /// Bits of a component, at most.
    pub(super) most_bits: u32,
    /// Whether rotations go from key to key by nlerp, not by slerp.
    pub(super) straight: bool,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) curves: Vec<Curve>,
    /// What no curve serves for: a joint, and 0 for its rotation, 1 for its translation, 2 for its scale.
    pub(super) missing: Vec<(usize, usize)>,
    /// As asked.
    pub(super) straight: bool,
    /// The greatest error of each joint, as a part of its budget.
    pub(super) errors: Vec<f64>,
}

impl Found {
    pub(super) fn bits(&self) -> usize {
        self.curves.iter().map(|curve| curve.bits() + 8 * RECORD).sum()
    }

    /// The joints that are beyond their budgets or have no curve, without those below them.
    pub(super) fn failed(&self, joints: &[JointFacts]) -> Vec<usize> {
        let mut fails: Vec<bool> = self.errors.iter().map(|&error| error > 1.0).collect();
        for &(joint, _) in &self.missing {
            fails[joint] = true;
        }
        let mut below = vec![false; joints.len()];
        let mut topmost = Vec::new();
        for (joint, facts) in joints.iter().enumerate() {
            below[joint] = facts.parent.is_some_and(|parent| below[parent]);
            if fails[joint] && !below[joint] {
                below[joint] = true;
                topmost.push(joint);
            }
        }
        topmost
    }
}

/// A joint hardly moves if none of its points moves by more than that part of the budget.
pub(super) const STILL: f64 = 0.2;
/// What the places of joints at rest are rounded to, as a part of the budget.
pub(super) const FINE: f64 = 0.05;
/// Rounding of f32 on the way through the decoder, as a part of the budget that is kept back.
pub(super) const KEPT: f64 = 1.0 - 1e-4;

/// Keeps a curve, and returns what the decoder will make of it: its shape and its keys. Without a curve what was authored stays, and is
/// found missing.
pub(super) fn keep<'a>(
    task: &Task<'a>,
    (kind, index): (Kind, usize),
    curve: Option<Curve>,
    found: &mut Found,
) -> Option<(&'a Shape, Vec<[f64; 3]>)> {
    let Some(curve) = curve else {
        found.missing.push((index, kind as usize));
        return None;
    };
    let is_its = |shape: &&Shape| shape.degree == curve.degree && shape.intervals == curve.intervals;
    let shape = task.shapes.iter().find(is_its)?;
    let mut keys = Vec::new();
    scaled(&curve.keys, curve.code, &mut keys);
    found.curves.push(curve);
    Some((shape, keys))
}

/// Joints at moments that a segment is planned for, so that one of many joints takes no more memory than a long one of few.
pub(super) const SEGMENT_PLACES: usize = 1 << 20;

/// What does not change while segments are tried.
pub(super) struct Job<'a> {
    pub(super) clip: &'a RawClip,
    pub(super) skeleton: &'a Skeleton,
    pub(super) options: &'a EncodeOptions,
    pub(super) joints: Vec<JointFacts>,
    pub(super) tracks: Vec<JointTracks<'a>>,
    pub(super) sets: Vec<Set>,
    pub(super) set_tracks: Vec<&'a Track>,
    pub(super) events: Events,
    pub(super) motion: Option<Motion>,
    pub(super) rate: f32,
    pub(super) frames: usize,
    /// Moments for each frame.
    pub(super) moments: usize,
    /// How far the character reaches from the origin, at rest.
    pub(super) size: f64,
}

impl Job<'_> {
    /// The moments of a segment, in seconds.
    pub(super) fn seconds(&self, first: usize, frames: usize) -> Vec<f64> {
        let (start, end) = (f64::from(self.clip.start()), f64::from(self.clip.end()));
        let all = (self.frames * self.moments).max(1) as f64;
        let from = first * self.moments;
        (from..=from + frames * self.moments)
            .map(|moment| start + moment as f64 / all * (end - start))
            .collect()
    }
}

/// What was taken out of a clip.
pub(super) struct Motion {
    pub(super) motion: RootMotion,
    pub(super) facts: JointFacts,
}

/// A budget without what rounding takes of it, a fifth at most.
pub(super) fn less(budget: f32, rounding: f64) -> f64 {
    let budget = f64::from(budget);
    budget - rounding.min(budget / 5.0)
}
