//! Clips from arrays: one pose per key time.

use condyle::{Interpolation, RawClip, Target, Track};
use pyo3::prelude::*;

use crate::arrays::{Input, Times};
use crate::errors::{Error, refused};

/// Rotations, translations and scales of all frames, each optional.
pub(crate) type Keys<'a, 'py> = [Option<&'a Bound<'py, PyAny>>; 3];

/// Clip with these keys and linear interpolation.
pub(crate) fn keyed(
    skeleton: &condyle::Skeleton,
    times: &Bound<'_, PyAny>,
    keys: Keys<'_, '_>,
    name: &str,
) -> PyResult<RawClip> {
    let (joints, times) = (skeleton.joint_count(), Times::new("times", times)?);
    let times: Vec<f32> = times.times()?.iter().map(|&seconds| seconds as f32).collect();
    if times.is_empty() {
        return Err(Error::new_err("times is empty; pass at least one time"));
    }
    if let Some(at) = (1..times.len()).find(|at| times[*at] <= times[at - 1]) {
        let (found, before) = (times[at], times[at - 1]);
        return Err(Error::new_err(format!("times must increase: times[{at}] is {found} after {before}")));
    }
    let targets = [Target::Rotation, Target::Translation, Target::Scale];
    let names = [("rotations", 4), ("translations", 3), ("scales", 3)];
    let mut tracks = Vec::new();
    for ((keys, target), (what, width)) in keys.into_iter().zip(targets).zip(names) {
        let Some(keys) = keys else { continue };
        let input = Input::new(what, keys)?;
        if input.shape() != [times.len(), joints, width] {
            return Err(input.unfit(&format!("({}, {joints}, {width})", times.len())));
        }
        input.check_finite()?;
        if width == 4 {
            input.check_unit()?;
        }
        let values = input.values()?;
        for joint in 0..joints {
            let of = |frame: &[f32]| frame[joint * width..][..width].to_vec();
            let values = values.chunks_exact(joints * width).flat_map(of).collect();
            tracks.push(Track {
                target: target(joint as u16),
                interpolation: Interpolation::Linear,
                timeline: 0,
                values,
            });
        }
    }
    if tracks.is_empty() {
        return Err(Error::new_err("pass rotations, translations or scales of at least one joint"));
    }
    let clip = RawClip::new(name.into(), vec![times], tracks).map_err(refused)?;
    clip.for_skeleton(skeleton).map_err(refused)
}
