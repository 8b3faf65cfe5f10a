//! How joints share out what they may be off by.

use alloc::vec::Vec;

use super::task::{JointFacts, Share};

/// How often errors are shared out anew before a joint is given up.
pub(super) const ROUNDS: usize = 20;

/// Shares that grow from the root to the tips, so that each joint has as much for itself, even where it makes up for nothing. The
/// tips themselves have the whole budget.
pub(super) fn graded(joints: &[JointFacts], factor: f64) -> Vec<Share> {
    let mut depths: Vec<usize> = Vec::with_capacity(joints.len());
    for joint in joints {
        depths.push(joint.parent.map_or(0, |parent| depths[parent] + 1));
    }
    let deepest = depths.iter().max().map_or(1, |depth| depth + 1) as f64;
    let share = |depth: usize| {
        let place = factor * 0.9 * (depth + 1) as f64 / (deepest + 1.0);
        Share { place, translation: place / 2.0, swing: Some(place) }
    };
    depths.into_iter().map(share).collect()
}

/// Leaves a joint more of its budget: those above it get less to be off by, the farther up the less, as each adds to what those
/// below it inherit. A translation that no curve serves for gets more.
pub(super) fn tighten(joints: &[JointFacts], joint: usize, translation_lacks: bool, shares: &mut [Share]) {
    const LEAST: f64 = 0.02;
    let mut most = shares[joint].place;
    let mut at = Some(joint);
    while let Some(j) = at {
        most = (most * 0.85).min(shares[j].place);
        shares[j].place = most.max(LEAST);
        if j != joint || !translation_lacks {
            shares[j].translation = shares[j].translation.min(most).max(LEAST);
        }
        shares[j].swing = Some(shares[j].swing.map_or(2.0, |swing| (swing * 0.6).max(LEAST)));
        at = joints[j].parent;
    }
    if translation_lacks {
        shares[joint].translation = (shares[joint].translation * 1.5).min(0.95);
    }
}
