//! Data of a clip other than poses.

use condyle::sampling::AnyClip;

/// Names of the data that a clip has in addition to poses: any of "morph weights and tracks", "root
/// motion" and "events".
pub(crate) fn extras(clip: &AnyClip<'_>) -> Vec<&'static str> {
    let (tracks, motion, events) = match clip {
        AnyClip::Raw(clip) => (clip.tracks().iter().any(|it| it.target.joint().is_none()), false, false),
        AnyClip::Compressed { clip, .. } => {
            (clip.free_tracks().len() > 0, clip.has_motion(), clip.event_count() > 0)
        }
    };
    let all = [(tracks, "morph weights and tracks"), (motion, "root motion"), (events, "events")];
    all.into_iter().filter_map(|(there, what)| there.then_some(what)).collect()
}
