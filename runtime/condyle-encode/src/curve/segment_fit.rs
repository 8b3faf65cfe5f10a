//! One segment to fit, and its fit.

use alloc::vec::Vec;

use crate::curve::least_squares::Shape;
use crate::curve::quantised::scaled;
use crate::measure::algebra::Affine64;
use crate::measure::budget::BudgetFractions;
use crate::measure::joint_facts::JointFacts;
use condyle::clip::layout::Kind;
use condyle::clip::write::{Curve, RECORD};
use condyle_base::math::Transform64;

/// Segment to fit, and what to try for it.
pub(crate) struct SegmentPart<'a> {
    /// Index of the segment.
    pub(crate) at: usize,
    /// First frame.
    pub(crate) first: usize,
    pub(crate) frames: usize,
    pub(crate) shapes: &'a [Shape],
    pub(crate) splits: &'a [BudgetFractions],
}

/// One segment to fit.
#[derive(Clone, Copy)]
pub(crate) struct SegmentJob<'a> {
    pub(crate) joints: &'a [JointFacts],
    /// Authored local transforms, per joint and moment.
    pub(crate) source: &'a [Vec<Transform64>],
    /// Kinds of curves to try, few keys first.
    pub(crate) shapes: &'a [Shape],
    /// Maximum number of bits per component.
    pub(crate) max_bits: u32,
    /// Whether linear rotation tracks interpolate by nlerp instead of slerp.
    pub(crate) nlerp: bool,
}

/// Fit of one segment.
#[derive(Debug, Clone)]
pub(crate) struct SegmentFit {
    pub(crate) curves: Vec<Curve>,
    /// Copied from the job.
    pub(crate) nlerp: bool,
}

/// Number of bits that curves take.
pub(crate) fn bits(curves: &[Curve]) -> usize {
    curves.iter().map(|curve| curve.bits() + 8 * RECORD).sum()
}

/// Fit of one joint.
#[derive(Debug, Clone, Default)]
pub(crate) struct JointFit {
    pub(crate) curves: Vec<Curve>,
    /// Kinds of tracks for which no curve met the budget.
    pub(crate) missing: Vec<Kind>,
    /// Decoded model matrices, per moment.
    pub(crate) decoded: Vec<Affine64>,
}

/// Adds a curve to the fit and returns its decoded form: its shape and dequantised keys. `None` means that no
/// curve met the budget; the track is then listed as missing.
pub(crate) fn keep<'a>(
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
