//! `condyle skin --local`: local transforms of joints, free tracks and events of a clip.

use condyle::sampling::{self, AnyClip, PoseSource, RawCursor};
use condyle::{Error, Interpolation, Pose, Skeleton, Target, Transform};
use serde_json::{Value, json};

use crate::model::playable::Playable;

/// Numbers of a joint: rotation x y z w, translation x y z, scale x y z.
pub(super) const NUMBERS: usize = 10;

pub(super) fn numbers(t: &Transform) -> [f32; NUMBERS] {
    let [x, y, z, w] = t.rotation;
    let ([tx, ty, tz], [sx, sy, sz]) = (t.translation, t.scale);
    [x, y, z, w, tx, ty, tz, sx, sy, sz]
}

/// Describes a clip at some moments, with its events.
pub(super) fn report(
    clip: Option<&Playable<'_>>,
    skeleton: &Skeleton,
    moments: &[f64],
) -> Result<[Value; 2], Error> {
    let mut pose = Pose::rest(skeleton);
    let mut all = Vec::new();
    for &seconds in moments {
        let mut tracks = Vec::new();
        if let Some(clip) = clip {
            clip.pose(skeleton, seconds, &mut pose)?;
            tracks = free_tracks(clip, seconds)?;
        }
        let joints: Vec<_> = pose.transforms().map(|t| json!(numbers(&t))).collect();
        all.push(json!({ "seconds": seconds, "local": joints, "tracks": tracks }));
    }
    let events = match clip.and_then(Playable::single).and_then(AnyClip::as_compressed) {
        Some(clip) => {
            let events = (0..clip.event_count()).filter_map(|at| clip.event(at));
            events.map(|(seconds, name)| json!({ "seconds": seconds, "name": name })).collect()
        }
        _ => vec![],
    };
    Ok([json!(all), json!(events)])
}

/// Returns the free tracks of a clip at a moment; a blend has no free tracks.
fn free_tracks(clip: &Playable<'_>, seconds: f64) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    match clip.single() {
        Some(AnyClip::Raw(clip)) => {
            for track in clip.tracks().iter().filter(|track| track.target.joint().is_none()) {
                let spline = track.interpolation == Interpolation::CubicSpline;
                let a_number = clip.timelines()[track.timeline].len() * if spline { 3 } else { 1 };
                let mut values = vec![0.0; track.values.len() / a_number];
                sampling::raw_track(clip, track.target, seconds, &mut RawCursor::default(), &mut values)?;
                found.push(told(track.target, &values));
            }
        }
        Some(AnyClip::Compressed { clip, .. }) => {
            let mut all = vec![0.0; clip.free_tracks().map(|(_, width)| width).sum()];
            sampling::tracks(clip, seconds, &mut all)?;
            let mut left = &all[..];
            for (target, width) in clip.free_tracks() {
                let (values, rest) = left.split_at(width);
                found.push(told(target, values));
                left = rest;
            }
        }
        None => {}
    }
    Ok(found)
}

fn told(target: Target, values: &[f32]) -> Value {
    let (kind, number) = match target {
        Target::Weights(node) => ("weights", node),
        Target::FreeRotation(number) => ("rotation", number),
        Target::Vector(number) => ("vector", number),
        _ => ("joint", 0),
    };
    json!({ "kind": kind, "number": number, "values": values })
}
