//! How joints share out what they may be off by.

use alloc::vec::Vec;

use super::search::JointFacts;

/// What parts of the budget the place of a joint may be off by, as its own rotation can make up for it in what follows.
#[derive(Debug, Clone, Copy)]
pub(super) struct BudgetFractions {
    /// By what turns above it.
    pub(super) place: f64,
    /// By its own translation.
    pub(super) translation: f64,
    /// What its points would be off by if it turned with what is above it and made up for nothing. Without it, all of that is left to it:
    /// but between frames its own curve cannot follow everything that another kind of curve does.
    pub(super) swing: Option<f64>,
}

/// How often errors are shared out anew before a joint is given up.
pub(super) const MAX_ROUNDS: usize = 20;

/// Shares that grow from the root to the tips, so that each joint has as much for itself, even where it makes up for nothing. The
/// tips themselves have the whole budget.
pub(super) fn graded_by_depth(joints: &[JointFacts], factor: f64) -> Vec<BudgetFractions> {
    let mut depths: Vec<usize> = Vec::with_capacity(joints.len());
    for joint in joints {
        depths.push(joint.parent.map_or(0, |parent| depths[parent] + 1));
    }
    let deepest = depths.iter().max().map_or(1, |depth| depth + 1) as f64;
    let fractions_at = |depth: usize| {
        let place = factor * 0.9 * (depth + 1) as f64 / (deepest + 1.0);
        BudgetFractions { place, translation: place / 2.0, swing: Some(place) }
    };
    depths.into_iter().map(fractions_at).collect()
}

/// Leaves a joint more of its budget: those above it get less to be off by, the farther up the less, as each adds to what those
/// below it inherit. A translation that no curve serves for gets more.
pub(super) fn tighten(
    joints: &[JointFacts],
    joint: usize,
    translation_lacks: bool,
    fractions: &mut [BudgetFractions],
) {
    const MIN_FRACTION: f64 = 0.02;
    let mut most = fractions[joint].place;
    let mut at = Some(joint);
    while let Some(j) = at {
        most = (most * 0.85).min(fractions[j].place);
        fractions[j].place = most.max(MIN_FRACTION);
        if j != joint || !translation_lacks {
            fractions[j].translation = fractions[j].translation.min(most).max(MIN_FRACTION);
        }
        fractions[j].swing = Some(fractions[j].swing.map_or(2.0, |swing| (swing * 0.6).max(MIN_FRACTION)));
        at = joints[j].parent;
    }
    if translation_lacks {
        fractions[joint].translation = (fractions[joint].translation * 1.5).min(0.95);
    }
}
