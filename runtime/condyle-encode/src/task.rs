//! Data that the parts of the encoder share.

use alloc::vec::Vec;

use super::algebra::Affine64;
use super::body::Body;
use super::curve::scaled;
use super::fit::Shape;
use super::options::EncodeOptions;
use super::shell;
use super::source::JointTracks;
use super::write::{FreeTrack, RECORD};
use condyle::clip::layout::Kind;
use condyle::clip::write::Curve;
use condyle::clip::{RawClip, Track};
use condyle::motion::RootMotion;
use condyle::play::Events;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Transform64;
use condyle_base::math::vectors::normalize;

/// Joint data that is known before its segments are fitted.
#[derive(Debug, Clone)]
pub(super) struct JointFacts {
    pub(super) parent: Option<usize>,
    pub(super) rest: Transform64,
    /// Points and balls in joint space that must stay within the budget.
    pub(super) shell: Vec<Body>,
    pub(super) budget: f64,
    /// Whether rotation, translation and scale are fallback tracks.
    pub(super) fallback: [bool; 3],
}

/// Facts of all joints, and the [`extent`](shell::extent) of the skeleton. `fallback` returns which tracks of
/// a joint are fallback tracks.
pub(super) fn joint_facts(
    skeleton: &Skeleton,
    options: &EncodeOptions,
    fallback: impl Fn(usize) -> [bool; 3],
) -> Result<(Vec<JointFacts>, f64), Error> {
    let shell = shell::bodies(skeleton, &options.shell)?;
    let extent = shell::extent(skeleton, &shell);
    let budget = |budget: f32| minus_rounding(budget, DECODER_ROUNDING * extent);
    let of_joint = |((joint, shell), rest): ((usize, Vec<Body>), _)| {
        let mut rest = Transform64::from(rest);
        // Curves are relative to the rest rotation, which must be a unit quaternion for this.
        normalize(&mut rest.rotation);
        let parent = skeleton.parent(joint as u16).map(usize::from);
        JointFacts { parent, rest, shell, budget: budget(options.budget), fallback: fallback(joint) }
    };
    let each = shell.into_iter().enumerate().zip(skeleton.rest().transforms());
    let mut joints: Vec<JointFacts> = each.map(of_joint).collect();
    for &(joint, own) in &options.joint_budgets {
        joints[usize::from(joint)].budget = budget(own);
    }
    Ok((joints, extent))
}

/// Fractions of its budget by which a joint may be displaced. Its own rotation can correct this displacement
/// for the points that it carries.
#[derive(Debug, Clone, Copy)]
pub(super) struct BudgetFractions {
    /// Displacement by the rotations of its ancestors.
    pub(super) place: f64,
    /// Displacement by its own translation track.
    pub(super) translation: f64,
    /// Displacement of its points if its own rotation corrected nothing. `None` leaves all correction to the
    /// joint. This works at frames, but between frames its curve cannot follow all curves of its ancestors.
    pub(super) swing: Option<f64>,
}

/// One segment to fit.
#[derive(Clone, Copy)]
pub(super) struct SegmentJob<'a> {
    pub(super) joints: &'a [JointFacts],
    /// Authored local transforms, per joint and moment.
    pub(super) source: &'a [Vec<Transform64>],
    /// Kinds of curves to try, few keys first.
    pub(super) shapes: &'a [Shape],
    /// Maximum number of bits per component.
    pub(super) max_bits: u32,
    /// Whether linear rotation tracks interpolate by nlerp instead of slerp.
    pub(super) nlerp: bool,
}

/// Fit of one segment.
#[derive(Debug, Clone)]
pub(super) struct SegmentFit {
    pub(super) curves: Vec<Curve>,
    /// Copied from the job.
    pub(super) nlerp: bool,
}

/// Number of bits that curves take.
pub(super) fn bits(curves: &[Curve]) -> usize {
    curves.iter().map(|curve| curve.bits() + 8 * RECORD).sum()
}

/// Fit of one joint.
#[derive(Debug, Clone, Default)]
pub(super) struct JointFit {
    pub(super) curves: Vec<Curve>,
    /// Kinds of tracks for which no curve met the budget.
    pub(super) missing: Vec<Kind>,
    /// Decoded model matrices, per moment.
    pub(super) decoded: Vec<Affine64>,
}

/// Fraction of the budget: a joint is static if none of its points moves by more than this. Half: targets
/// +0.04 %, defaults equal; twice: both equal.
pub(super) const STATIC_THRESHOLD: f64 = 0.2;
/// Step to which constants are rounded, as a fraction of the budget. Half: targets -0.1 %, defaults +0.6 %;
/// twice: targets -0.1 %, defaults equal.
pub(super) const CONSTANT_STEP: f64 = 0.05;
/// Fraction of a limit that a fit may use; the rest is for the decoder's f32 rounding. 1: equal bytes; the
/// margin is for the guarantee. 0.99: targets -0.1 %, defaults -1.6 %.
pub(super) const USABLE_FRACTION: f64 = 1.0 - 1e-4;

/// Adds a curve to the fit and returns its decoded form: its shape and dequantised keys. `None` means that no
/// curve met the budget; the track is then listed as missing.
pub(super) fn keep<'a>(
    job: &SegmentJob<'a>,
    kind: Kind,
    curve: Option<Curve>,
    fit: &mut JointFit,
) -> Option<(&'a Shape, Vec<[f64; 3]>)> {
    let Some(curve) = curve else {
        fit.missing.push(kind);
        return None;
    };
    let is_its = |shape: &&Shape| shape.degree == curve.degree && shape.intervals == curve.intervals;
    let shape = job.shapes.iter().find(is_its)?;
    let mut keys = Vec::new();
    scaled(&curve.keys, curve.code, &mut keys);
    fit.curves.push(curve);
    Some((shape, keys))
}

/// Maximum of joints times moments in a segment of usual length, which bounds the memory of the search: about
/// 1 GB with 65,535 joints. Half: 65,535 joints in 10 frames take two segments, in one of which a joint
/// fails, and 92 % more bytes.
pub(super) const MAX_SEGMENT_SAMPLES: usize = 1 << 21;

/// Data of one clip that stays the same while its segments are fitted.
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
    /// Number of moments per frame at which errors are checked.
    pub(super) moments: usize,
    /// Source key times in seconds that are not among these moments; errors are measured there too.
    pub(super) keys_between: Vec<f64>,
    /// Maximum distance of a joint or shell point from the origin in the rest pose.
    pub(super) size: f64,
}

impl ClipJob<'_> {
    /// Moments of a segment at which errors are checked, in seconds.
    pub(super) fn seconds(&self, first: usize, frames: usize) -> Vec<f64> {
        let (start, end) = (self.clip.start(), self.clip.end());
        let all = (self.frames * self.moments).max(1) as f64;
        let from = first * self.moments;
        (from..=from + frames * self.moments)
            .map(|moment| start + moment as f64 / all * (end - start))
            .collect()
    }
}

/// Root motion of a clip, and the joint that represents it.
pub(super) struct Motion {
    pub(super) motion: RootMotion,
    pub(super) facts: JointFacts,
}

/// Decoder's f32 rounding error, a few ULPs, as a fraction of the distance to the farthest shell point. It
/// adds to the fitting error, so budgets reserve it. Half: targets equal, defaults -0.9 %; twice: equal and
/// +0.5 %.
const DECODER_ROUNDING: f64 = 4e-7;

/// Budget minus the rounding error, of which at most a fifth of the budget is subtracted. Otherwise nothing
/// would be left of a budget close to the rounding error. A tenth and two fifths: equal bytes, because it
/// only affects such budgets.
pub(super) fn minus_rounding(budget: f32, rounding: f64) -> f64 {
    let budget = f64::from(budget);
    budget - rounding.min(budget / 5.0)
}
