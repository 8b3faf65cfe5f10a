//! `condyle pack`: an ordinary .glb with fewer bytes of animation, and a bound on the error of every vertex.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use condyle::encode::{EncodeOptions, KeyFormat, Shell, reduce};
use condyle::{Error, Interpolation, RawClip, Target, Track};
use condyle_gltf::{Asset, ClipExporter, Placement, Problem, Severity};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::document::{self, metres_per_unit, warn_of_repairs};
use crate::model::written::{self, Keys};
use crate::options::overwrite::Overwrite;
use crate::options::quantity::{Length, at_most, parse_error, parse_length};
use crate::options::work::{Limit, Work};
use crate::output::{check_destination, check_ending, print, print_json, progress, warn, write_file};
use crate::text::{counted, millimetres, path_text, printable, size, table};

/// Write the model again with fewer bytes of animation: an ordinary .glb, with a bound on the error of every vertex
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle pack fox.glb -o small.glb                          to half a millimetre, if its units are metres
  condyle pack fox.glb -o small.glb --height 0.6m            if the fox is 60 cm high
  condyle pack fox.glb -o small.glb --error 2mm --drop --keep hand_socket
  condyle pack fox.glb -o small.glb --meshopt                for readers that know EXT_meshopt_compression

Every track has the fewest keys that keep all vertices within --error of their places, morph targets included: straight
lines or splines, at times that tracks share, rotations and weights as 16-bit integers, as core glTF allows. What never
moves has no track; steps stay as they are. Meshes, materials, textures and all else stay as they are,
but for what was compressed in the file, which is no longer.

--drop keeps the joints that cameras, lights and whatever else extensions put on nodes hang on, and those that --keep names.

With --meshopt numbers are as coarse as --error allows, and compressed by EXT_meshopt_compression. three.js, Babylon.js and
many engines read that; others must refuse the file.

What is printed was measured on the file that was written: at every key, at every frame and at three times between
each two, at points that enclose all vertices.")]
pub(crate) struct Args {
    /// The model: .glb or .gltf
    model: PathBuf,
    /// Where to write; its folder is made if it is missing
    #[arg(short, long, value_name = "OUT.glb")]
    output: PathBuf,
    #[command(flatten)]
    overwrite: Overwrite,
    /// The largest error of a vertex
    #[arg(long, value_name = "LENGTH", default_value = "0.5mm", allow_hyphen_values = true, value_parser = parse_error)]
    error: Length,
    /// The real height of the character at rest; without it, units are metres
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse_length)]
    height: Option<Length>,
    /// Leave out the tracks of joints that move no vertex, camera or light: controls and helpers
    #[arg(long)]
    drop: bool,
    /// The joints of this name keep their tracks although they move no vertex: a socket that something is attached to
    #[arg(long, value_name = "NAME", requires = "drop")]
    keep: Vec<String>,
    /// Compress the animations by EXT_meshopt_compression, which readers must know then
    #[arg(long)]
    meshopt: bool,
    #[command(flatten)]
    limit: Limit,
    /// Print one JSON object per clip and line, then one for the file
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = &args.model;
    let name = path_text(path);
    check_ending(&args.output, "glb", "binary glTF")?;
    check_destination(&args.output, &document::sources(path, None), args.overwrite)?;
    if is_container(path) {
        return Err(Failure::Usage(format!(
            "{name} is compressed already; `condyle decode` writes its clips as a document"
        )));
    }
    let asset = document::open(path, false)?;
    check_destination(&args.output, &document::sources(path, Some(&asset.document)), args.overwrite)?;
    warn_of_repairs(path, &asset);
    // All animations are written anew, without what was not understood.
    let of_animations = |p: &&Problem| p.severity == Severity::Warning && p.path.starts_with("/animations");
    asset.problems.iter().filter(of_animations).for_each(|problem| warn(path, &problem.to_string()));
    let metres = metres_per_unit(path, &asset, args.height)?;
    args.error.warn_above(0.02, "--error");
    let budget = at_most(args.error.metres / metres);
    if budget == 0.0 {
        return Err(Failure::Usage(format!(
            "{name}: at this --height f32 cannot tell the error from 0; raise --error, or correct --height"
        )));
    }
    let failed = |e: &dyn std::fmt::Display| Failure::Data(format!("{name}: {e}"));
    let mut work = args.limit.budget(&document::sources(path, Some(&asset.document)));
    for clip in &asset.clips {
        let own = Work::keys(&asset, clip, &EncodeOptions::new(budget, Shell::Balls(Shell::radius(metres))))
            .map_err(|e| failed(&e))?;
        work.afford(&name, clip.name(), &own)?;
    }
    let dropped = if args.drop { dropped(&asset, &args.keep)? } else { BTreeSet::new() };

    let bar = progress(asset.clips.len(), "packing");
    let packed = |clip: &RawClip| -> Result<(RawClip, EncodeOptions), Error> {
        let clip = without(clip, &dropped, &asset)?;
        let options = asset.encode_options(&clip, budget, Shell::radius(metres))?;
        let format = if args.meshopt { KeyFormat::Filtered } else { KeyFormat::Shorts };
        let found = reduce(&clip, &asset.skeleton, &options, format)?;
        bar.inc(1);
        Ok((found.clip, options))
    };
    let found = asset.clips.par_iter().map(packed).collect::<Result<Vec<_>, _>>().map_err(|e| failed(&e))?;
    bar.finish_and_clear();
    let (clips, options): (Vec<RawClip>, Vec<EncodeOptions>) = found.into_iter().unzip();
    let exporter = ClipExporter::new(&asset);
    exporter.problems().iter().for_each(|problem| warn(path, &problem.to_string()));
    let glb = match args.meshopt {
        true => exporter.compressed_glb(&clips),
        false => exporter.packed_glb(&clips),
    };
    let glb = glb.map_err(|e| failed(&e))?;
    let written = written::clips(&args.output, &glb, &asset)?;
    let row = |((clip, written), options): ((&RawClip, RawClip), &EncodeOptions)| {
        let original = without(clip, &dropped, &asset)?;
        let keys = Keys::measure(written, (&original, (&original).into()), &asset, options)?;
        let error = f64::from(keys.error) * metres;
        Ok(Row { keys, before: clip.byte_count(), after: 0, error })
    };
    let pairs: Vec<_> = asset.clips.iter().zip(written).zip(&options).collect();
    let rows = pairs.into_par_iter().map(row).collect::<Result<Vec<Row>, Error>>();
    let mut rows = rows.map_err(|e| failed(&e))?;
    for (row, clip) in rows.iter_mut().zip(clips.chunks(1)) {
        let bytes = match args.meshopt {
            true => exporter.compressed_bytes(clip),
            false => exporter.packed_bytes(clip),
        };
        row.after = bytes.map_err(|e| failed(&e))?;
    }
    for row in rows.iter().filter(|row| row.error > args.error.metres * (1.0 + 1e-6)) {
        let (clip, found, asked) =
            (printable(row.keys.clip.name()), millimetres(row.error), millimetres(args.error.metres));
        warn(
            path,
            &format!(
                "{clip}: {found} mm off at the worst, not {asked}: f32 and the rounding of 16 bits allow no less"
            ),
        );
    }
    let file = write_file(args.output.clone(), |out| out.write_all(&glb))?;
    let sources = document::sources(path, Some(&asset.document));
    let before = sources
        .iter()
        .filter_map(|source| std::fs::metadata(source).ok())
        .map(|it| it.len() as usize)
        .sum::<usize>();
    if args.json {
        rows.iter().try_for_each(|row| print_json(&row.to_json(args.error.metres).to_string()))?;
        let dropped: Vec<&str> =
            dropped.iter().map(|&joint| asset.skeleton.names()[usize::from(joint)].as_str()).collect();
        return print_json(
            &json!({ "file": file.to_json(), "clips": rows.len(), "source_bytes": before, "dropped": dropped })
                .to_string(),
        );
    }
    let headings = ["clip", "tracks", "keys", "before", "after", "worst, mm"];
    let mut lines = vec![headings.map(String::from).to_vec()];
    lines.extend(rows.iter().map(Row::to_cells));
    let mut out = table("<>>>>>", lines);
    if !dropped.is_empty() {
        out += &format!("\n{} that move nothing were left out\n", counted(dropped.len(), "joint", "joints"));
    }
    print(&format!("{out}\n{}: {} to {}\n", path_text(&file.path), size(before), size(glb.len())))
}

/// A clip in the file that was written.
struct Row {
    keys: Keys,
    before: usize,
    after: usize,
    /// The greatest error of a vertex, in metres.
    error: f64,
}

impl Row {
    fn to_cells(&self) -> Vec<String> {
        vec![
            printable(self.keys.clip.name()),
            self.keys.clip.tracks().len().to_string(),
            self.keys.count().to_string(),
            size(self.before),
            size(self.after),
            millimetres(self.error),
        ]
    }

    fn to_json(&self, budget: f64) -> Value {
        json!({
            "clip": self.keys.clip.name(),
            "tracks": self.keys.clip.tracks().len(),
            "keys": self.keys.count(),
            "raw_bytes": self.before,
            "bytes": self.after,
            "budget_m": budget,
            "error_max_m": self.error,
            "at_s": self.keys.measured.seconds,
        })
    }
}

/// The clip without the tracks of some joints, and as long as before.
fn without(clip: &RawClip, joints: &BTreeSet<u16>, asset: &Asset) -> Result<RawClip, Error> {
    let stays = |track: &&Track| track.target.joint().is_none_or(|joint| !joints.contains(&joint));
    let tracks: Vec<Track> = clip.tracks().iter().filter(stays).cloned().collect();
    let of = |timelines, tracks| RawClip::new(clip.name().into(), timelines, tracks);
    let mut left = of(clip.timelines().to_vec(), tracks)?;
    let bounds = |clip: &RawClip| (clip.start(), clip.end());
    if let Some(&joint) = joints.first().filter(|_| bounds(&left) != bounds(clip) && clip.duration() > 0.0) {
        // A joint that stays at rest holds the keys at both ends.
        let (mut timelines, mut tracks) = (left.timelines().to_vec(), left.tracks().to_vec());
        timelines.push(vec![clip.start() as f32, clip.end() as f32]);
        tracks.push(Track {
            target: Target::Translation(joint),
            interpolation: Interpolation::Linear,
            timeline: timelines.len() - 1,
            values: asset.skeleton.rest().get(joint.into()).translation.repeat(2),
        });
        left = of(timelines, tracks)?;
    }
    left.for_skeleton(&asset.skeleton)
}

/// The joints that nothing but keys depends on, and that have none of the names to keep.
fn dropped(asset: &Asset, keep: &[String]) -> Result<BTreeSet<u16>, Failure> {
    let skeleton = &asset.skeleton;
    let mut needed = carriers(asset);
    for name in keep {
        let mut found = false;
        for (own, _) in needed.iter_mut().zip(skeleton.names()).filter(|(_, own)| *own == name) {
            (*own, found) = (true, true);
        }
        if !found {
            return Err(Failure::Usage(format!(
                "{} has no joint {name:?}; `condyle info` lists its joints",
                printable(asset.document.name())
            )));
        }
    }
    for instance in &asset.instances {
        match instance.placement {
            Placement::Joint(joint) => needed[usize::from(joint)] = true,
            Placement::Skin(skin) => {
                let joints = asset.skins[skin].joints();
                for primitive in &instance.primitives {
                    let (_, named, _) = primitive.mesh.influences().as_slices();
                    named.iter().for_each(|&own| needed[usize::from(joints[usize::from(own)])] = true);
                }
            }
            Placement::Fixed(_) => {}
        }
    }
    for joint in (0..skeleton.joint_count() as u16).rev() {
        if let (true, Some(parent)) = (needed[usize::from(joint)], skeleton.parent(joint)) {
            needed[usize::from(parent)] = true;
        }
    }
    Ok((0..).zip(needed).filter(|(_, needed)| !needed).map(|(joint, _)| joint).collect())
}

/// For each joint, whether its node or one below it that is no joint has a camera, a light, or whatever else an extension puts there.
fn carriers(asset: &Asset) -> Vec<bool> {
    let member = |node: usize, key: &str| asset.document.json_at(&format!("/nodes/{node}/{key}"));
    let mut seen: HashSet<usize> = asset.skeleton.nodes().iter().map(|&node| node as usize).collect();
    let carries = |&node: &u32| {
        let mut open = vec![node as usize];
        while let Some(node) = open.pop() {
            if member(node, "camera").is_some() || member(node, "extensions").is_some() {
                return true;
            }
            let children = member(node, "children").and_then(|text| serde_json::from_str(&text).ok());
            // The importer takes 24.0 for 24.
            let children = children.unwrap_or_else(Vec::<f64>::new).into_iter().map(|child| child as usize);
            open.extend(children.filter(|&child| seen.insert(child)));
        }
        false
    };
    asset.skeleton.nodes().iter().map(carries).collect()
}
