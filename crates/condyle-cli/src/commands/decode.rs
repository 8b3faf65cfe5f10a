//! `condyle decode`: compressed clips back into a document.

use std::collections::BTreeSet;
use std::path::PathBuf;

use condyle::sample;
use condyle::sample::PoseSource;
use condyle::{Clip, Error, Interpolation, Pose, RawClip, Skeleton, Target, Track};
use condyle_gltf::ClipExporter;
use serde_json::json;

use crate::failure::Failure;
use crate::model;
use crate::model::container::is_container;
use crate::model::document::sources;
use crate::model::playable::{Kind, frames};
use crate::options::source::{Which, find_clip};
use crate::output::{check_destination, check_ending, print, print_json, progress, write_file};
use crate::text::{counted, path_text, printable, size};

/// Write the compressed clips of a file as animations of a document
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle decode fox.condyle -o back.glb
  condyle decode fox.condyle --clip Run -o run.glb

The document is the one that was encoded. Its tracks have a key at each frame, with linear interpolation; a constant
track has one key, and a joint in its rest pose has no track. Tracks kept as authored, step tracks among them, get
their own keys back. Root motion that was extracted is put back.")]
pub(crate) struct Args {
    /// A file written by condyle encode
    #[arg(value_name = "FILE.condyle")]
    file: PathBuf,
    #[command(flatten)]
    which: Which,
    /// One clip only, by name or index
    #[arg(long, value_name = "NAME|INDEX")]
    clip: Option<String>,
    /// Where to write
    #[arg(short, long, value_name = "OUT.glb")]
    output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    check_ending(&args.output, "glb", "binary glTF")?;
    check_destination(&args.output, &sources(&args.file, None))?;
    let name = path_text(&args.file);
    let model = model::open(&args.file, args.which.name(), false)?;
    if !is_container(&args.file) {
        return Err(Failure::Usage(format!("{name} is not compressed, so there is nothing to decode")));
    }
    let mut clips = model.clips();
    if let Some(wanted) = &args.clip {
        let index = find_clip(&name, &clips, wanted)?;
        clips = vec![clips.swap_remove(index)];
    }
    let skeleton = &model.asset.skeleton;
    let bar = progress(clips.len(), "decoding");
    let mut decoded = Vec::new();
    for clip in &clips {
        if let Kind::Packed(packed) = clip.kind() {
            let raw = decode(clip.name(), packed, skeleton);
            decoded.push(raw.map_err(|e| Failure::Data(format!("{name}: {}: {e}", printable(clip.name()))))?);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let glb =
        ClipExporter::new(&model.asset).glb(&decoded).map_err(|e| Failure::Data(format!("{name}: {e}")))?;
    let file = write_file(args.output.clone(), |out| out.write_all(&glb))?;
    if args.json {
        return print_json(&json!({ "file": file.to_json(), "clips": decoded.len() }).to_string());
    }
    let count = counted(decoded.len(), "clip", "clips");
    print(&format!("{}: {count}, {}\n", path_text(&file.path), size(glb.len())))
}

/// A clip with a key at each of its frames.
pub(crate) fn decode(name: &str, clip: &Clip<'_>, skeleton: &Skeleton) -> Result<RawClip, Error> {
    let times: Vec<f32> = frames(clip).collect();
    let mut keys = Keys { tracks: Vec::new(), count: times.len() };
    let mut pose = Pose::rest(skeleton);
    let mut joints: Vec<[Vec<f32>; 3]> = vec![Default::default(); skeleton.joint_count()];
    for &seconds in &times {
        clip.pose(skeleton, seconds, &mut pose)?;
        for ([rotations, translations, scales], t) in joints.iter_mut().zip(pose.transforms()) {
            rotations.extend(t.rotation);
            translations.extend(t.translation);
            scales.extend(t.scale);
        }
    }
    let (authored_times, authored) = authored(clip, skeleton);
    let authored_targets: BTreeSet<Target> = authored.iter().map(|track| track.target).collect();
    let is_authored = |target| authored_targets.contains(&target);
    for ((at, [rotations, translations, scales]), rest) in
        joints.into_iter().enumerate().zip(skeleton.rest().transforms())
    {
        let joint = at as u16;
        let tracks: [(_, _, &[f32]); 3] = [
            (Target::Rotation(joint), rotations, &rest.rotation),
            (Target::Translation(joint), translations, &rest.translation),
            (Target::Scale(joint), scales, &rest.scale),
        ];
        for (target, values, rest) in tracks.into_iter().filter(|(target, ..)| !is_authored(*target)) {
            keys.add(target, values, Some(rest));
        }
    }
    // Authored tracks need no keys at the frames.
    let room = |target, width| if is_authored(target) { 0 } else { width * times.len() };
    let mut tracks: Vec<(Target, usize, Vec<f32>)> = clip
        .free_tracks()
        .map(|(target, width)| (target, width, Vec::with_capacity(room(target, width))))
        .collect();
    let mut values = vec![0.0; tracks.iter().map(|(_, width, _)| width).sum()];
    for &seconds in &times {
        sample::tracks(clip, seconds, &mut values)?;
        let mut values = &values[..];
        for (target, width, keys) in &mut tracks {
            let own = values.split_off(..*width).unwrap_or_default();
            if !is_authored(*target) {
                keys.extend(own);
            }
        }
    }
    for (target, _, values) in tracks.into_iter().filter(|(target, ..)| !is_authored(*target)) {
        keys.add(target, values, None);
    }
    let first = times[..1].to_vec();
    // A key at the last frame keeps the duration, even if nothing moves at the end or at all.
    let is_short = keys.tracks.iter().all(|track| track.timeline == 1);
    if is_short && times.len() > 1 {
        if keys.tracks.is_empty() && skeleton.joint_count() > 0 && !is_authored(Target::Translation(0)) {
            keys.add(Target::Translation(0), skeleton.rest().get(0).translation.repeat(times.len()), None);
        }
        if let Some(track) = keys.tracks.first_mut() {
            track.timeline = 0;
            track.values = track.values.repeat(times.len());
        }
    }
    let mut tracks = keys.tracks;
    tracks.extend(authored);
    let timelines = [times, first].into_iter().chain(authored_times).collect();
    RawClip::new(name.into(), timelines, tracks)
}

/// The authored tracks, on timelines after the two of [`Keys`], except those of roots that root motion
/// drives.
fn authored(clip: &Clip<'_>, skeleton: &Skeleton) -> (Vec<Vec<f32>>, Vec<Track>) {
    let is_moved = |target| match target {
        Target::Rotation(joint) | Target::Translation(joint) => {
            clip.has_motion() && skeleton.parent(joint).is_none()
        }
        _ => false,
    };
    let kept = clip.authored().filter(|(_, track)| !is_moved(track.target)).enumerate();
    kept.map(|(timeline, (times, track))| (times, Track { timeline: 2 + timeline, ..track })).unzip()
}

/// Tracks on two timelines: all frames (0), and the first frame alone (1), for what is constant.
struct Keys {
    tracks: Vec<Track>,
    count: usize,
}

impl Keys {
    /// `rest` is the value of the target without a track.
    fn add(&mut self, target: Target, mut values: Vec<f32>, rest: Option<&[f32]>) {
        let width = values.len() / self.count;
        let (first, others) = values.split_at(width);
        let is_constant = others.chunks(width.max(1)).all(|key| key == first);
        if width == 0 || (is_constant && rest == Some(first)) {
            return;
        }
        if is_constant {
            values.truncate(width);
        }
        let timeline = usize::from(is_constant);
        self.tracks.push(Track { target, interpolation: Interpolation::Linear, timeline, values });
    }
}
