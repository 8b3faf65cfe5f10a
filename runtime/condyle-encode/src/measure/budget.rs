//! Splits the error budget along the hierarchy.

use alloc::vec::Vec;

use crate::measure::joint_facts::JointFacts;

/// Fractions of its budget by which a joint may be displaced. Its own rotation can correct this displacement
/// for the points that it carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BudgetFractions {
    /// Displacement by the rotations of its ancestors.
    pub(crate) place: f64,
    /// Displacement by its own translation track.
    pub(crate) translation: f64,
    /// Displacement of its points if its own rotation corrected nothing. `None` leaves all correction to the
    /// joint. This works at frames, but between frames its curve cannot follow all curves of its ancestors.
    pub(crate) swing: Option<f64>,
}

/// Fraction of the budget: a joint is static if none of its points moves by more than this. Half: targets
/// +0.04 %, defaults equal; twice: both equal.
pub(crate) const STATIC_THRESHOLD: f64 = 0.2;
/// Step to which constants are rounded, as a fraction of the budget. Half: targets -0.1 %, defaults +0.6 %;
/// twice: targets -0.1 %, defaults equal.
pub(crate) const CONSTANT_STEP: f64 = 0.05;
/// Fraction of a limit that a fit may use; the rest is for the decoder's f32 rounding. 1: equal bytes; the
/// margin is for the guarantee. 0.99: targets -0.1 %, defaults -1.6 %.
pub(crate) const USABLE_FRACTION: f64 = 1.0 - 1e-4;

/// Split with which every search starts.
///
/// 0.65 and 0.85 instead of 0.75: targets +0.4 % and +0.2 %, defaults +0.3 % and +0.7 %. 0.3 and 0.6 instead
/// of 0.45: -0.5 % and +0.4 %, -2.0 % and -0.6 %. Half of the 3: equal, +0.2 %; twice: equal, -1.3 %.
pub(crate) const FIRST_SPLIT: BudgetFractions =
    BudgetFractions { place: 0.75, translation: 0.45, swing: Some(3.0) };

/// Splits that [`EncodeOptions::best`](crate::EncodeOptions::best) tries.
pub(crate) const SPLITS: [BudgetFractions; 3] = [
    FIRST_SPLIT,
    BudgetFractions { place: 0.85, translation: 0.55, ..FIRST_SPLIT },
    BudgetFractions { place: 0.65, translation: 0.35, ..FIRST_SPLIT },
];

/// Number of rounds in which all joints are fitted again. Most searches need fewer: the joints of the targets
/// and defaults are all within their budgets after at most four.
pub(crate) const WHOLE_ROUNDS: usize = 4;
/// Number of rounds after which the search checks whether tightening can help at all.
pub(crate) const HOPEFUL_ROUNDS: usize = 2;
/// Maximum number of times that one joint may fail after these rounds.
pub(crate) const MAX_FAILURES: usize = 16;
/// Maximum number of fits after these rounds, per joint on average.
pub(crate) const MAX_FITS: usize = 16;
/// The same if there are curves within the budget already.
pub(crate) const MAX_FITS_TO_SAVE: usize = 2;

/// Fractions that grow linearly from the root to the leaves: each joint gets the same increment, even if it
/// corrects none of its ancestors' error. The leaves' own points have the whole budget. Fallback for segments
/// where tightening does not converge; its numbers are not tuned.
pub(crate) fn graded_by_depth(joints: &[JointFacts], factor: f64) -> Vec<BudgetFractions> {
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

/// Gives a failing joint more of its budget by taking from its nearest `levels` ancestors, more from those
/// farther up. Every ancestor adds to the error that its descendants inherit.
///
/// If no curve met the budget for the translation, the translation gets a larger fraction.
///
/// A factor of 0.7 for each ancestor instead of 0.85: targets +0.9 %, defaults +1.2 %; 0.92: +0.1 % and +0.9
/// %. Half and twice `MIN_FRACTION`: equal bytes.
pub(crate) fn tighten(
    joints: &[JointFacts],
    joint: usize,
    translation_lacks: bool,
    levels: usize,
    fractions: &mut [BudgetFractions],
) {
    const MIN_FRACTION: f64 = 0.02;
    let mut most = fractions[joint].place;
    for j in core::iter::successors(Some(joint), |&j| joints[j].parent).take(levels.saturating_add(1)) {
        most = (most * 0.85).min(fractions[j].place);
        fractions[j].place = most.max(MIN_FRACTION);
        if j != joint || !translation_lacks {
            fractions[j].translation = fractions[j].translation.min(most).max(MIN_FRACTION);
        }
        fractions[j].swing = Some(fractions[j].swing.map_or(2.0, |swing| (swing * 0.6).max(MIN_FRACTION)));
    }
    if translation_lacks {
        fractions[joint].translation = (fractions[joint].translation * 1.5).min(0.95);
    }
}
