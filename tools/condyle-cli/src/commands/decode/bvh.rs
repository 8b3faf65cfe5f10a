//! One clip as a BVH.

use condyle::Clip;
use condyle::sampling::PoseSource;
use condyle_bvh::{WriteOptions, write};
use condyle_gltf::Asset;
use serde_json::json;

use super::Args;
use crate::failure::Failure;
use crate::model::container::PackedClip;
use crate::output::{print, print_json, warn, write_file};
use crate::text::{counted, path_text, printable, size};

/// Frames per second of a clip with a single moment; the value does not matter.
const USUAL_RATE: f64 = 30.0;

pub(super) fn run(args: &Args, asset: &Asset, clips: &[PackedClip]) -> Result<(), Failure> {
    let name = path_text(&args.file);
    let [PackedClip { name: clip_name, clip, .. }] = clips else {
        let names: Vec<_> = clips.iter().map(|it| printable(&it.name)).collect();
        let what =
            if names.is_empty() { "no clips".into() } else { format!("several: {}", names.join(", ")) };
        return Err(Failure::Usage(format!(
            "a BVH holds one clip, and {name} has {what}; choose one with --clip"
        )));
    };
    let failed = |e: condyle::Error| Failure::Data(format!("{name}: {}: {e}", printable(clip_name)));
    let skeleton = &asset.skeleton;
    let rate = rate(clip);
    let is_scaled = |pose: &condyle::Pose| pose.transforms().any(|t| t.scale != [1.0; 3]);
    let mut pose = condyle::Pose::rest(skeleton);
    let mut scaled = is_scaled(&pose);
    for frame in 0..=clip.frame_count() {
        let seconds = clip.start() + frame as f64 / rate;
        clip.pose(skeleton, seconds, &mut pose).map_err(failed)?;
        scaled |= is_scaled(&pose);
    }
    if scaled {
        warn(&args.file, "a BVH cannot store scales: joints keep their positions, without their scales");
    }
    let text = write(skeleton, clip, &WriteOptions::new(rate)).map_err(failed)?;
    let file = write_file(args.output.clone(), |out| out.write_all(text.as_bytes()))?;
    let frames = clip.frame_count() + 1;
    if args.json {
        let clip = json!({ "clip": clip_name, "frames": frames, "rate_hz": rate });
        return print_json(&json!({ "file": file.to_json(), "clips": [clip] }).to_string());
    }
    print(&format!(
        "{}: {}, {} at {rate} Hz, {}\n",
        path_text(&file.path),
        printable(clip_name),
        counted(frames, "frame", "frames"),
        size(text.len())
    ))
}

/// Returns the clip's frames per second; a whole number if f32 cannot distinguish it.
fn rate(clip: &Clip<'_>) -> f64 {
    let rate = f64::from(clip.rate());
    let whole = rate.round();
    match rate > 0.0 {
        true if (rate - whole).abs() < 1e-5 * rate => whole,
        true => rate,
        false => USUAL_RATE,
    }
}
