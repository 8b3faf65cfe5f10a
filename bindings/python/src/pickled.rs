//! Pickling of uncompressed clips as NumPy arrays, without rounding.

use condyle::{Interpolation, RawClip, Skeleton, Target, Track};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::arrays::Input;
use crate::errors::{Error, refused};

/// Track: target kind and number, interpolation, timeline index and key values.
type Part<N, K> = (N, u32, N, usize, K);

/// Timelines and tracks to pickle.
pub(crate) type Written<'py> =
    (Vec<Bound<'py, PyArray1<f32>>>, Vec<Part<&'static str, Bound<'py, PyArray1<f32>>>>);
/// Timelines and tracks from a pickle.
pub(crate) type Read<'py> = (Vec<Bound<'py, PyAny>>, Vec<Part<String, Bound<'py, PyAny>>>);

pub(crate) fn parts_of<'py>(py: Python<'py>, clip: &RawClip) -> PyResult<Written<'py>> {
    let timelines = clip.timelines().iter().map(|times| PyArray1::from_slice(py, times)).collect();
    let part = |track: &Track| {
        let (kind, number) = named(track.target)?;
        let way = way(track.interpolation);
        Ok((kind, number, way, track.timeline, PyArray1::from_slice(py, &track.values)))
    };
    Ok((timelines, clip.tracks().iter().map(part).collect::<PyResult<_>>()?))
}

pub(crate) fn clip_of(skeleton: &Skeleton, name: &str, (timelines, tracks): Read<'_>) -> PyResult<RawClip> {
    let numbers = |what: &str, array: &Bound<'_, PyAny>| -> PyResult<Vec<f32>> {
        let input = Input::new(what, array)?;
        if input.shape().len() != 1 {
            return Err(input.unfit("(N,)"));
        }
        Ok(input.values()?.to_vec())
    };
    let timelines = timelines.iter().map(|times| numbers("a timeline", times)).collect::<PyResult<_>>()?;
    let track = |(kind, number, way, timeline, values): &Part<String, Bound<'_, PyAny>>| {
        let unknown = || Error::new_err(format!("unknown track: {kind} {number} with interpolation {way}"));
        Ok(Track {
            target: target(kind, *number).ok_or_else(unknown)?,
            interpolation: interpolation(way).ok_or_else(unknown)?,
            timeline: *timeline,
            values: numbers("a track", values)?,
        })
    };
    let tracks = tracks.iter().map(track).collect::<PyResult<_>>()?;
    let clip = RawClip::new(name.into(), timelines, tracks).map_err(refused)?;
    clip.for_skeleton(skeleton).map_err(refused)
}

fn named(target: Target) -> PyResult<(&'static str, u32)> {
    Ok(match target {
        Target::Rotation(joint) => ("rotation", joint.into()),
        Target::Translation(joint) => ("translation", joint.into()),
        Target::Scale(joint) => ("scale", joint.into()),
        Target::Weights(number) => ("weights", number),
        Target::Vector(number) => ("vector", number),
        Target::FreeRotation(number) => ("free rotation", number),
        other => return Err(Error::new_err(format!("a track with target {other:?} cannot be pickled"))),
    })
}

fn target(kind: &str, number: u32) -> Option<Target> {
    let joint = || u16::try_from(number).ok();
    match kind {
        "rotation" => joint().map(Target::Rotation),
        "translation" => joint().map(Target::Translation),
        "scale" => joint().map(Target::Scale),
        "weights" => Some(Target::Weights(number)),
        "vector" => Some(Target::Vector(number)),
        "free rotation" => Some(Target::FreeRotation(number)),
        _ => None,
    }
}

fn way(interpolation: Interpolation) -> &'static str {
    match interpolation {
        Interpolation::Step => "steps",
        Interpolation::Linear => "lines",
        Interpolation::CubicSpline => "splines",
    }
}

fn interpolation(way: &str) -> Option<Interpolation> {
    match way {
        "steps" => Some(Interpolation::Step),
        "lines" => Some(Interpolation::Linear),
        "splines" => Some(Interpolation::CubicSpline),
        _ => None,
    }
}
