//! Sizes and errors of the clips.

use crate::data::{Data, RATE};
use crate::entrants::Entrant;
use crate::exact;
use crate::results::Results;

/// Names of the first clips in the tables. The others are windows of the long one.
pub(crate) const CLIPS: [&str; 4] = ["walk", "jog", "run", "15 s"];

/// Measures one build of each library. Errors are in millimetres, at the frames and halfway between them.
pub(crate) fn measure(data: &Data, entrants: &[Entrant], results: &mut Results) {
    let mut seen = Vec::new();
    for entrant in entrants.iter().filter(|entrant| entrant.variant_of.is_none()) {
        if seen.contains(&entrant.name) {
            continue;
        }
        seen.push(entrant.name);
        let mut player = entrant.player.borrow_mut();
        let mut total = 0;
        for clip in 0..data.clips.len() {
            let bytes = player.bytes(entrant.form, clip);
            total += bytes;
            let mut errors = [0.0; 2];
            for (error, shift) in errors.iter_mut().zip([0.0, 0.5]) {
                for frame in 0..data.clips[clip].frames - usize::from(shift > 0.0) {
                    let time = (frame as f32 + shift) / RATE;
                    let found = exact::model(data, &player.pose(entrant.form, clip, time));
                    let expected = exact::model(data, &exact::sampled(data, clip, time));
                    *error = exact::shell_distance(&found, &expected).max(*error);
                }
            }
            let name = CLIPS.get(clip).copied();
            if let Some(name) = name {
                results.raise(&format!("bytes, {name}"), entrant, bytes as f64);
            }
            for (error, place) in errors.into_iter().zip(["at", "between"]) {
                for clip in name.into_iter().chain(["all"]) {
                    results.raise(&format!("error {place} frames, {clip}"), entrant, error * 1e3);
                }
            }
        }
        results.raise("bytes, all", entrant, total as f64);
    }
}
