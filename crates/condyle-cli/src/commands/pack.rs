//! `condyle pack`: an ordinary .glb with fewer bytes of animation, and a bound on the error of every vertex.

use std::collections::BTreeSet;
use std::path::PathBuf;

use condyle::encode::{EncodeOptions, KeyFormat, Measured, measure_keys, reduce};
use condyle::{Error, JointMap, RawClip, Track};
use condyle_gltf::{Asset, ClipExporter, Document, Placement};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::document::{self, metres_per_unit, refusal, warn_of_repairs};
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
    /// Leave out the tracks of joints that move no vertex: controls and helpers
    #[arg(long)]
    drop: bool,
    /// A joint whose track stays although it moves no vertex: a socket that something is attached to
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
        let own = Work::keys(&asset, clip, &EncodeOptions::new(budget)).map_err(|e| failed(&e))?;
        work.afford(&name, clip.name(), &own)?;
    }
    let dropped = if args.drop { dropped(&asset, &args.keep)? } else { BTreeSet::new() };

    let bar = progress(asset.clips.len(), "packing");
    let packed = |clip: &RawClip| -> Result<(RawClip, EncodeOptions), Error> {
        let clip = without(clip, &dropped, &asset)?;
        let options = asset.encode_options(&clip, budget, (0.03 / metres) as f32)?;
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
    let mut rows = measured(args, &asset, &glb, &options, metres, &dropped)?;
    for (row, clip) in rows.iter_mut().zip(clips.chunks(1)) {
        let bytes = match args.meshopt {
            true => exporter.compressed_bytes(clip),
            false => exporter.packed_bytes(clip),
        };
        row.after = bytes.map_err(|e| failed(&e))?;
    }
    for row in rows.iter().filter(|row| row.error > args.error.metres * (1.0 + 1e-6)) {
        let (clip, found, asked) =
            (printable(row.clip.name()), millimetres(row.error), millimetres(args.error.metres));
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
        out +=
            &format!("\n{} that move no vertex were left out\n", counted(dropped.len(), "joint", "joints"));
    }
    print(&format!("{out}\n{}: {} to {}\n", path_text(&file.path), size(before), size(glb.len())))
}

/// A clip in the file that was written.
struct Row {
    clip: RawClip,
    before: usize,
    after: usize,
    measured: Measured,
    /// The greatest error of a vertex, in metres.
    error: f64,
}

/// What the file holds, read back, beside the original.
fn measured(
    args: &Args,
    asset: &Asset,
    glb: &[u8],
    options: &[EncodeOptions],
    metres: f64,
    dropped: &BTreeSet<u16>,
) -> Result<Vec<Row>, Failure> {
    let name = path_text(&args.output);
    let failed = |e: Error| Failure::Data(format!("{name}: {e}"));
    let written = Document::from_slice(&name, glb, None).and_then(Asset::from_document);
    let written = written.map_err(|refused| refusal(&args.output, &refused))?;
    let map = JointMap::by_node(&written.skeleton, &asset.skeleton);
    let row = |((clip, written), options): ((&RawClip, &RawClip), &EncodeOptions)| {
        let (original, clip_read) = (without(clip, dropped, asset)?, map.clip(written)?);
        let measured = measure_keys(&original, &clip_read, &asset.skeleton, options)?;
        let units = measured.error_max.max(asset.morph_error(&original, &measured)?);
        let error = f64::from(units) * metres;
        Ok(Row { clip: clip_read, before: clip.byte_count(), after: 0, measured, error })
    };
    let pairs: Vec<_> = asset.clips.iter().zip(&written.clips).zip(options).collect();
    pairs.into_par_iter().map(row).collect::<Result<_, _>>().map_err(failed)
}

impl Row {
    fn keys(&self) -> usize {
        self.clip.tracks().iter().map(|track| self.clip.timelines()[track.timeline].len()).sum()
    }

    fn to_cells(&self) -> Vec<String> {
        vec![
            printable(self.clip.name()),
            self.clip.tracks().len().to_string(),
            self.keys().to_string(),
            size(self.before),
            size(self.after),
            millimetres(self.error),
        ]
    }

    fn to_json(&self, budget: f64) -> Value {
        json!({
            "clip": self.clip.name(),
            "tracks": self.clip.tracks().len(),
            "keys": self.keys(),
            "raw_bytes": self.before,
            "bytes": self.after,
            "budget_m": budget,
            "error_max_m": self.error,
            "at_s": self.measured.seconds,
        })
    }
}

/// The clip without the tracks of some joints.
fn without(clip: &RawClip, joints: &BTreeSet<u16>, asset: &Asset) -> Result<RawClip, Error> {
    let stays = |track: &&Track| track.target.joint().is_none_or(|joint| !joints.contains(&joint));
    let tracks = clip.tracks().iter().filter(stays).cloned().collect();
    RawClip::new(clip.name().into(), clip.timelines().to_vec(), tracks)?.for_skeleton(&asset.skeleton)
}

/// The joints that move no vertex and have none of the names to keep.
fn dropped(asset: &Asset, keep: &[String]) -> Result<BTreeSet<u16>, Failure> {
    let skeleton = &asset.skeleton;
    let mut needed = vec![false; skeleton.joint_count()];
    for name in keep {
        let joint = skeleton.joint_by_name(name).ok_or_else(|| {
            Failure::Usage(format!(
                "{} has no joint {name:?}; `condyle info` lists its joints",
                printable(asset.document.name())
            ))
        })?;
        needed[usize::from(joint)] = true;
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
