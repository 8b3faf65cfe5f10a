//! Parts of a long clip, which are reduced separately, and their budgets.

use alloc::vec;
use alloc::vec::Vec;

use super::Reduced;
use super::build::Build;
use super::channel::{Channel, rest_value};
use super::measure::add_part;
use super::source::Source;
use crate::options::{EncodeOptions, Measured};
use condyle::clip::{Interpolation, Target};
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::order;

/// Reduced keys of a range of frames.
#[derive(Clone)]
pub(super) struct ReducedRange {
    pub(super) reduced: Reduced,
    /// First and last moment of the range.
    pub(super) ends: [f32; 2],
}

/// Frames that exceed a budget only at the moments that `between` adds, in ascending order.
pub(super) fn frames_made_worse(
    options: &EncodeOptions,
    at_moments: &Measured,
    between: &Measured,
) -> Vec<usize> {
    if holds(options, between) {
        return Vec::new();
    }
    let is_of_tracks =
        at_moments.track_over_budget(options).is_none() && between.track_over_budget(options).is_some();
    // A frame's error does not name its joint, so the smallest budget decides.
    let own = options.joint_budgets.iter().map(|&(_, budget)| budget);
    let least = own.fold(options.budget, f32::min);
    let held = holds(options, at_moments);
    let pairs = at_moments.frames.iter().zip(&between.frames).enumerate();
    let worse = pairs.filter(|(_, (before, after))| {
        is_of_tracks || (after > before && **after > least && (held || **before <= least))
    });
    worse.map(|(frame, _)| frame).collect()
}

/// Whether all joints and tracks are within their budgets.
pub(crate) fn holds(options: &EncodeOptions, measured: &Measured) -> bool {
    let mut joints = measured.joints.iter().enumerate();
    joints.all(|(joint, worst)| worst.error <= options.budget_of_joint(joint))
        && measured.track_over_budget(options).is_none()
}

/// Joins the parts of a clip. A track that is constant or missing in one part gets two keys there.
pub(super) fn join(
    mut parts: Vec<ReducedRange>,
    source: &Source<'_>,
    skeleton: &Skeleton,
) -> Result<Reduced, Error> {
    if parts.len() == 1 {
        return parts.pop().map(|whole| whole.reduced).ok_or(Error::NoKeys { timeline: 0 });
    }
    let mut targets: Vec<Target> =
        parts.iter().flat_map(|part| part.reduced.clip.tracks()).map(|track| track.target).collect();
    order::sort_by(&mut targets, |target| target.order());
    targets.dedup();
    targets.retain(|&target| !source.keeps(target));
    let mut build = Build::default();
    for target in targets {
        let (mut times, mut values): (Vec<f32>, Vec<f32>) = Default::default();
        for ReducedRange { reduced, ends } in &parts {
            let (part_times, part_values) = match reduced.clip.track(target) {
                Some(track) => (reduced.clip.timelines()[track.timeline].clone(), track.values.clone()),
                // Free tracks are in all parts.
                None => (vec![ends[0]], rest_value(skeleton, target)),
            };
            let (part_times, part_values) = match part_times.len() {
                1 => (ends.to_vec(), part_values.repeat(2)),
                _ => (part_times, part_values),
            };
            // The last key of a part is the first of the next one.
            let skip = usize::from(times.last() == part_times.first());
            let width = part_values.len() / part_times.len();
            times.extend(&part_times[skip..]);
            values.extend(&part_values[skip * width..]);
        }
        let keys =
            Channel { interpolation: Interpolation::Linear, keys: Vec::new(), times: Some(times), values };
        build.add(target, &keys, &[]);
    }
    let clip = build.finish(source, skeleton, true)?;
    let mut all = Measured::default();
    for (at, part) in parts.iter().enumerate() {
        add_part(&mut all, at, &part.reduced.measured);
    }
    Ok(Reduced { clip, rate: source.rate(), measured: all })
}
