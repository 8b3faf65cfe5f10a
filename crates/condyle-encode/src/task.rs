//! What the parts of the encoder hand to each other.

use alloc::vec::Vec;

use super::body::Body;
use super::curve::{TrackId, scaled};
use super::fit::Shape;
use super::options::EncodeOptions;
use super::source::JointTracks;
use super::write::{FreeTrack, RECORD};
use condyle::clip::write::Curve;
use condyle::clip::{RawClip, Track};
use condyle::motion::RootMotion;
use condyle::play::Events;
use condyle::skeleton::Skeleton;
use condyle_base::math::Transform64;

/// What is known of a joint before its segments are fitted.
#[derive(Debug, Clone)]
pub(super) struct JointFacts {
    pub(super) parent: Option<usize>,
    pub(super) rest: Transform64,
    /// Points and balls in the joint's own space that must stay within the budget.
    pub(super) shell: Vec<Body>,
    pub(super) budget: f64,
    /// Which of rotation, translation and scale are fallback tracks.
    pub(super) fallback: [bool; 3],
}

/// Which fractions of its budget a joint may be displaced by: its own rotation can correct that for the
/// points it carries.
#[derive(Debug, Clone, Copy)]
pub(super) struct BudgetFractions {
    /// By the rotations of its ancestors.
    pub(super) place: f64,
    /// By its own translation track.
    pub(super) translation: f64,
    /// How far its points may be off if its own rotation corrected nothing. `None` leaves all correction to
    /// the joint, which works at frames; between frames its curve cannot follow everything that an ancestor's
    /// kind of curve does.
    pub(super) swing: Option<f64>,
}

/// One segment to fit.
pub(super) struct SegmentJob<'a> {
    pub(super) joints: &'a [JointFacts],
    /// Authored local transforms, per joint and moment.
    pub(super) source: &'a [Vec<Transform64>],
    /// The kinds of curves to try, few keys first.
    pub(super) shapes: &'a [Shape],
    /// One for each joint.
    pub(super) fractions: &'a [BudgetFractions],
    /// The most bits of a component.
    pub(super) max_bits: u32,
    /// Whether linear rotation tracks interpolate by nlerp instead of slerp.
    pub(super) nlerp: bool,
}

/// The fit of one segment.
#[derive(Debug, Clone, Default)]
pub(super) struct SegmentFit {
    pub(super) curves: Vec<Curve>,
    /// Tracks that no curve met the budget for: a joint, and 0 for its rotation, 1 for its translation, 2 for
    /// its scale.
    pub(super) missing: Vec<(usize, usize)>,
    /// As in the job.
    pub(super) nlerp: bool,
    /// The joints that are over budget or lack a curve. What is below them is not fitted.
    pub(super) failed: Vec<usize>,
}

impl SegmentFit {
    pub(super) fn bits(&self) -> usize {
        self.curves.iter().map(|curve| curve.bits() + 8 * RECORD).sum()
    }
}

/// A joint is static if none of its points moves by more than this fraction of the budget.
/// Half of it: targets +0.04 %, defaults equal; twice: both equal.
pub(super) const STATIC_THRESHOLD: f64 = 0.2;
/// The step that constants are rounded to, as a fraction of the budget.
/// Half: targets -0.1 %, defaults +0.6 %; twice: targets -0.1 %, defaults equal.
pub(super) const CONSTANT_STEP: f64 = 0.05;
/// The fraction of a limit that a fit may use; the rest is for the decoder's f32 rounding.
/// All of it: equal bytes; the margin is for the guarantee. 0.99: targets -0.1 %, defaults -1.6 %.
pub(super) const USABLE_FRACTION: f64 = 1.0 - 1e-4;

/// Adds a curve to the fit and returns what the decoder will see: its shape and dequantised keys. Without a
/// curve, no curve met the budget, and the track is listed as missing.
pub(super) fn keep<'a>(
    job: &SegmentJob<'a>,
    TrackId { kind, index }: TrackId,
    curve: Option<Curve>,
    fit: &mut SegmentFit,
) -> Option<(&'a Shape, Vec<[f64; 3]>)> {
    let Some(curve) = curve else {
        fit.missing.push((index, kind as usize));
        return None;
    };
    let is_its = |shape: &&Shape| shape.degree == curve.degree && shape.intervals == curve.intervals;
    let shape = job.shapes.iter().find(is_its)?;
    let mut keys = Vec::new();
    scaled(&curve.keys, curve.code, &mut keys);
    fit.curves.push(curve);
    Some((shape, keys))
}

/// At most this many joints times moments in a segment: it bounds the memory of the search and decides no
/// other quality.
pub(super) const MAX_SEGMENT_SAMPLES: usize = 1 << 20;

/// Everything about one clip that stays the same while its segments are fitted.
pub(super) struct ClipJob<'a> {
    pub(super) clip: &'a RawClip,
    pub(super) skeleton: &'a Skeleton,
    pub(super) options: &'a EncodeOptions,
    pub(super) joints: Vec<JointFacts>,
    pub(super) tracks: Vec<JointTracks<'a>>,
    pub(super) free_tracks: Vec<FreeTrack>,
    pub(super) free_sources: Vec<&'a Track>,
    pub(super) events: Events,
    pub(super) motion: Option<Motion>,
    pub(super) frames: usize,
    /// Moments per frame at which errors are checked.
    pub(super) moments: usize,
    /// The key times of the source, in seconds, that are none of these moments: errors are measured there too.
    pub(super) keys_between: Vec<f64>,
    /// The greatest distance of a joint or shell point from the origin, in the rest pose.
    pub(super) size: f64,
}

impl ClipJob<'_> {
    /// The moments of a segment where errors are checked, in seconds.
    pub(super) fn seconds(&self, first: usize, frames: usize) -> Vec<f64> {
        let (start, end) = (self.clip.start(), self.clip.end());
        let all = (self.frames * self.moments).max(1) as f64;
        let from = first * self.moments;
        (from..=from + frames * self.moments)
            .map(|moment| start + moment as f64 / all * (end - start))
            .collect()
    }
}

/// The root motion of a clip, and the joint that stands for it.
pub(super) struct Motion {
    pub(super) motion: RootMotion,
    pub(super) facts: JointFacts,
}

/// The decoder's f32 rounding, as a fraction of the distance to the farthest point of the shell: a few
/// units in the last place. The rounding comes on top of the fitting error, so budgets reserve it. Half:
/// targets equal, defaults -0.9 %; twice: equal and +0.5 %.
pub(super) const DECODER_ROUNDING: f64 = 4e-7;

/// A budget less what rounding may take of it, at most a fifth: otherwise a budget near the rounding would
/// leave nothing. A tenth and two fifths: equal bytes, as it only counts where budgets are near the rounding.
pub(super) fn minus_rounding(budget: f32, rounding: f64) -> f64 {
    let budget = f64::from(budget);
    budget - rounding.min(budget / 5.0)
}
