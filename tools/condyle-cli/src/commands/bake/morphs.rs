//! A clip as morph targets: the choice of frames, and the file.

use std::path::Path;

use condyle::Vertices;
use condyle_gltf::{Asset, Document, MorphExporter, MorphFrame, Poser, PoserOptions};

use super::error::{Off, distance};
use super::film::{self, Film, Frame};
use crate::failure::{Failure, too_large};
use crate::model::document::refusal;
use crate::output::{Finished, finish_file, progress, warn};
use crate::text::grouped;

/// Maximum number of vertices in all frames together. Each takes 75 bytes of memory for the original, the
/// written and the decoded values: 2.5 GB in all.
const MOST_VERTICES: usize = 1 << 25;

/// The written file, and its figures.
pub(super) struct Morphed {
    pub(super) file: Finished,
    pub(super) off: Off,
    pub(super) targets: usize,
}

/// The poses of a frame.
struct Posed {
    /// Whether each instance is mirrored.
    mirrored: Vec<bool>,
    /// The primitives of each instance, without tangents.
    instances: Vec<Vec<Vertices>>,
}

/// Writes the morph targets. With an `error`, in units of the model, no vertex of an omitted frame is farther
/// from the straight line between the kept frames.
pub(super) fn write(
    film: &mut Film<'_>,
    error: Option<f64>,
    clip: &str,
    to: &Path,
) -> Result<Morphed, Failure> {
    let count = film.timing.frames.saturating_mul(film.vertex_count());
    if count > MOST_VERTICES {
        return Err(Failure::Usage(format!(
            "{} frames of {} vertices are more than {} in all; choose a lower --fps",
            film.timing.frames,
            film.vertex_count(),
            grouped(MOST_VERTICES)
        )));
    }
    let exporter = MorphExporter::new(film.asset).map_err(|e| too_large(&film.name, &e))?;
    exporter.problems().iter().for_each(|problem| warn(Path::new(&film.name), &problem.to_string()));
    let all = pose_all(film)?;
    let keys = match error {
        Some(error) => reduced(&all, error),
        None => (0..all.len()).collect(),
    };
    let frame = |&key: &usize| MorphFrame {
        seconds: film.timing.since_start(key as f64),
        mirrored: all[key].mirrored.clone(),
        instances: all[key]
            .instances
            .iter()
            .map(|own| own.iter().map(Vertices::as_slices).collect())
            .collect(),
    };
    let frames: Vec<MorphFrame<'_>> = keys.iter().map(frame).collect();
    let glb = exporter.glb(clip, &frames).map_err(|e| Failure::Data(format!("{}: {e}", film.name)))?;
    drop(frames);
    drop(all);
    let off = measure(film, &glb, to)?;
    let file = finish_file(to.to_path_buf(), |out| out.write_all(&glb))?;
    Ok(Morphed { file, off, targets: keys.len() - 1 })
}

/// Returns a warning about more targets than common engines support. `MAX_MORPH_WEIGHTS` of Bevy was 64 up to
/// 0.17 and is 256 now, like `CONFIG_MAX_MORPH_TARGET_COUNT` of Filament.
pub(super) fn warning(targets: usize) -> Option<String> {
    let who = match targets {
        0..=64 => return None,
        65..=256 => "Bevy takes 64 up to version 0.17",
        _ => "Filament and Bevy take 256",
    };
    let targets = grouped(targets);
    Some(format!("{targets} morph targets, but {who}: reduce them with a lower --fps or a higher --error"))
}

fn pose_all(film: &mut Film<'_>) -> Result<Vec<Posed>, Failure> {
    let bar = progress(film.timing.frames, "baking");
    let mut all = Vec::new();
    for at in 0..film.timing.frames {
        film.pose(at as f64)?;
        let bare = |it: &Vertices| Vertices {
            positions: it.positions.clone(),
            normals: it.normals.clone(),
            tangents: vec![],
        };
        let own = |at: usize| film.poser.posed(at).iter().map(bare).collect();
        let instances = (0..film.asset.instances.len()).map(own).collect();
        let mirrored = film.asset.instances.iter().map(|it| it.is_mirrored(film.poser.model())).collect();
        all.push(Posed { mirrored, instances });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(all)
}

/// Selects frames: after each kept frame, the last one that a straight line reaches within the error.
///
/// Doubling and halving the distance finds that frame, so a longer line may be missed. Every line is within
/// the error at each frame that it passes. The work is proportional to n log n for n frames.
fn reduced(all: &[Posed], error: f64) -> Vec<usize> {
    let last = all.len() - 1;
    let mut keys = vec![0];
    let bar = progress(all.len(), "reducing");
    while let Some(&from) = keys.last().filter(|&&key| key < last) {
        // The line to the next frame skips no frame, so it is always within the error.
        let (mut good, mut step) = (from + 1, 2);
        let mut bad = last + 1;
        while good < last && bad > last {
            let to = (from + step).min(last);
            if is_straight(all, from, to, error) {
                good = to;
            } else {
                bad = to;
            }
            step *= 2;
        }
        while bad <= last && bad - good > 1 {
            let to = good.midpoint(bad);
            if is_straight(all, from, to, error) { good = to } else { bad = to }
        }
        keys.push(good);
        bar.set_position(good as u64);
    }
    bar.finish_and_clear();
    keys
}

/// Whether all vertices of the frames between two are within the error of the straight line.
fn is_straight(all: &[Posed], from: usize, to: usize, error: f64) -> bool {
    let positions =
        |frame: usize| all[frame].instances.iter().flatten().flat_map(|vertices| &vertices.positions);
    (from + 1..to).all(|frame| {
        let factor = (frame - from) as f64 / (to - from) as f64;
        let mut ends = positions(from).zip(positions(to)).zip(positions(frame));
        ends.all(|((from, to), want)| {
            let on = |axis: usize| f64::from(from[axis]) * (1.0 - factor) + f64::from(to[axis]) * factor;
            distance(&std::array::from_fn(|axis| on(axis) as f32), want) <= error
        })
    })
}

/// Measures the errors on the written file, which is imported like any document.
fn measure(film: &mut Film<'_>, glb: &[u8], to: &Path) -> Result<Off, Failure> {
    let read = Document::from_slice(&to.to_string_lossy(), glb, None).and_then(Asset::from_document);
    let read = read.map_err(|refused| refusal(to, &refused))?;
    let mut poser = Poser::new(&read, PoserOptions::default()).map_err(|e| too_large(&film.name, &e))?;
    let parts = film::parts(read.instances.iter().enumerate());
    let seconds: Vec<f64> =
        (0..2 * film.timing.frames - 1).map(|half| film.timing.since_start(half as f64 / 2.0)).collect();
    Off::measure(film, |at, frame: &mut Frame| {
        let seconds = seconds[(2.0 * at) as usize];
        poser.pose(read.clips.first(), seconds).map_err(|e| too_large(&to.to_string_lossy(), &e))?;
        film::gather(&poser, &parts, false, frame);
        frame.normals.clear();
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vertex at these x coordinates, one for each frame.
    fn way(xs: &[f32]) -> Vec<Posed> {
        let frame = |&x: &f32| Posed {
            mirrored: vec![],
            instances: vec![vec![Vertices { positions: vec![[x, 0.0, 0.0]], ..Vertices::default() }]],
        };
        xs.iter().map(frame).collect()
    }

    #[test]
    fn straight_ways_have_two_frames_and_corners_one_more() {
        assert_eq!(reduced(&way(&[5.0]), 1e-3), [0]);
        assert_eq!(reduced(&way(&[5.0, 7.0]), 1e-3), [0, 1]);
        let line: Vec<f32> = (0..100).map(|at| at as f32).collect();
        assert_eq!(reduced(&way(&line), 1e-3), [0, 99]);
        let roof: Vec<f32> = (0..=60).map(|at: i32| (37 - at).abs() as f32).collect();
        assert_eq!(reduced(&way(&roof), 1e-3), [0, 37, 60]);
        // A frame within the error may be dropped; one outside must stay.
        let bump = [0.0, 0.0, 0.4, 0.0, 0.0, 0.6, 0.0];
        assert_eq!(reduced(&way(&bump), 1.0), [0, 6]);
        assert!(reduced(&way(&bump), 0.5).contains(&5));
        assert_eq!(reduced(&way(&bump), 1e-6), [0, 1, 2, 3, 4, 5, 6]);
    }
}
