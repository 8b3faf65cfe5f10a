//! `condyle decode`: turns compressed clips into a document, or one of them into a BVH.

mod bvh;

use std::fmt::Display;
use std::path::PathBuf;

use condyle::{Error, RawClip, Target, Track};
use condyle_encode::{EncodeOptions, Shell, curve_keys};
use condyle_gltf::{Asset, ClipExporter};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::model::container::{PackedClip, is_container};
use crate::model::written::{self, Keys};
use crate::options::heading::REPORT;
use crate::options::job::Job;
use crate::options::overwrite::Overwrite;
use crate::options::source::{self, Which, find_clip};
use crate::options::space::{Height, Space};
use crate::options::work::{Limit, Work};
use crate::output::{check_ending, print, print_json, progress, warn, write_file};
use crate::text::{counted, ending, hertz, millimetres, path_text, printable, size, table};

/// Decompress clips into a glTF document, or one clip into a BVH
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle decode fox.condyle -o back.glb
  condyle decode fox.condyle --clip Run -o run.glb
  condyle decode fox.condyle --clip Run -o run.bvh
  condyle decode motion.condyle --clip walk -o again.bvh         a motion of a library

The document is the one that was encoded. Each track has the keys of the compressed curves, and more
where the interpolation of glTF differs: every vertex is within 1/16 of the bound of the compressed
clip, also between keys. decode reads the written file back, prints its error, and warns if that is
more than 1/16 of the bound. A constant track has one key, and a joint in its rest pose has no track.
Fallback tracks, including step tracks, get their original keys back. Extracted root motion is
restored. A model without meshes, as in a library, becomes a document of its joints. If the file has
several models, --clip chooses the model too.

A BVH has a frame for each frame of the clip, rotations in the order Z, X, Y, lengths in the units
of the model, and positions for roots and for joints that move along their bones. A joint that does
not move and is named Head_End below Head becomes an End Site.")]
pub(crate) struct Args {
    /// File written by `condyle encode`
    #[arg(value_name = "FILE.condyle")]
    file: PathBuf,
    /// Output file; missing folders are created
    #[arg(short, long, value_name = "OUT.glb|.bvh")]
    output: PathBuf,
    /// Decode one clip, by name or index [default: all]
    #[arg(long, value_name = "NAME|INDEX")]
    clip: Option<String>,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    height: Height,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print the figures as one JSON object
    #[arg(long, help_heading = REPORT)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let as_bvh = ending(&args.output).as_deref() == Some("bvh");
    if !as_bvh {
        check_ending(&args.output, "glb", "binary glTF, or BVH if the name ends in .bvh")?;
    }
    let mut job = Job::writing(&args.file, &args.output, args.overwrite)?;
    let name = path_text(&args.file);
    let model = job.open(&args.file, || {
        let which = args.which.or_with(args.clip.as_deref());
        source::open(&args.file, which, (args.space, args.height), false)
    })?;
    if !is_container(&args.file) {
        return Err(Failure::Usage(format!("{name} is not compressed, so there is nothing to decode")));
    }
    // A container has compressed clips only.
    let mut clips = model.packed();
    if let Some(wanted) = &args.clip {
        let index = find_clip(&name, &model.clips(), wanted)?;
        clips = &clips[index..=index];
    }
    let asset = &model.asset;
    let mut budget = job.budget(args.limit);
    for PackedClip { name: clip_name, clip, .. } in clips {
        let keys: usize = clip.fallback_tracks().map(|(times, _)| times.len()).sum();
        budget.afford(&name, clip_name, &Work::fit(asset, clip.frame_count() + keys / 4, 1))?;
    }
    match as_bvh {
        true => bvh::run(args, asset, clips),
        false => Decoding { args, name, asset, metres: model.metres(), clips }.run(),
    }
}

/// Compressed clips that become a document.
struct Decoding<'a> {
    args: &'a Args,
    /// Name of the file in messages.
    name: String,
    asset: &'a Asset,
    /// Metres per unit.
    metres: f64,
    clips: &'a [PackedClip],
}

impl Decoding<'_> {
    fn run(&self) -> Result<(), Failure> {
        let (decoded, options) = self.decode()?;
        decoded.iter().for_each(|clip| self.warn_of_game_data(clip));
        let exporter = ClipExporter::new(self.asset);
        exporter.problems().iter().for_each(|problem| warn(&self.args.file, &problem.to_string()));
        let glb = exporter.glb(&decoded).map_err(|e| self.failed("", &e))?;
        let rows = self.measure(&glb, &options)?;
        rows.iter().for_each(|row| self.warn_of_error(row));
        let file = write_file(self.args.output.clone(), |out| out.write_all(&glb))?;
        if self.args.json {
            let clips: Vec<Value> = rows.iter().map(Row::to_json).collect();
            return print_json(&json!({ "file": file.to_json(), "clips": clips }).to_string());
        }
        let headings = ["clip", "rate", "tracks", "keys", "bytes", "bound, mm", "error, mm"];
        let mut lines = vec![headings.map(String::from).to_vec()];
        lines.extend(rows.iter().map(Row::to_cells));
        print(&format!(
            "{}\n{}: {}, {}\n",
            table("<>>>>>>", lines),
            path_text(&file.path),
            counted(decoded.len(), "clip", "clips"),
            size(glb.len())
        ))
    }

    /// Returns the failure of a clip, or of the document if no clip is named.
    fn failed(&self, clip: &str, error: &dyn Display) -> Failure {
        let of = if clip.is_empty() { String::new() } else { format!("{}: ", printable(clip)) };
        Failure::Data(format!("{}: {of}{error}", self.name))
    }

    /// Returns the keys of each clip, and the options that bounded their error.
    fn decode(&self) -> Result<(Vec<RawClip>, Vec<EncodeOptions>), Failure> {
        let bar = progress(self.clips.len(), "decoding");
        let keys = |it: &PackedClip| {
            let options = options(it, self.asset, self.metres);
            let found = options.and_then(|options| {
                let keys = curve_keys(&it.any(), &self.asset.skeleton, &options)?;
                Ok((keys.clip, options))
            });
            bar.inc(1);
            found.map_err(|e| self.failed(&it.name, &e))
        };
        let found = self.clips.par_iter().map(keys).collect::<Result<Vec<_>, Failure>>()?;
        bar.finish_and_clear();
        Ok(found.into_iter().unzip())
    }

    /// Measures the clips of the written document.
    fn measure(&self, glb: &[u8], options: &[EncodeOptions]) -> Result<Vec<Row>, Failure> {
        let row = |((it, written), options): ((&PackedClip, RawClip), &EncodeOptions)| {
            let keys = Keys::measure(written, &it.any(), self.asset, options);
            let keys = keys.map_err(|e| self.failed(&it.name, &e))?;
            let [error, bound] = [keys.error, it.clip.budget()].map(|units| f64::from(units) * self.metres);
            Ok(Row { keys, rate: it.clip.rate(), error, bound })
        };
        let written = written::clips(&self.args.output, glb, self.asset)?;
        let all: Vec<_> = self.clips.iter().zip(written).zip(options).collect();
        all.into_par_iter().map(row).collect()
    }

    fn warn_of_game_data(&self, clip: &RawClip) {
        let is_free = |track: &&Track| matches!(track.target, Target::Vector(_) | Target::FreeRotation(_));
        let count = clip.tracks().iter().filter(is_free).count();
        if count > 0 {
            let (clip, tracks) = (printable(clip.name()), counted(count, "track", "tracks"));
            warn(
                &self.args.file,
                &format!("{clip}: {tracks} of game data left out, because a document cannot store them"),
            );
        }
    }

    fn warn_of_error(&self, row: &Row) {
        if row.error <= TOLERANCE * row.bound * f64::from(PART) {
            return;
        }
        let (clip, found, bound) =
            (printable(row.keys.clip.name()), millimetres(row.error), millimetres(row.bound));
        warn(
            &self.args.file,
            &format!(
                "{clip}: the error of the keys is {found} mm, more than 1/16 of the bound of {bound} mm"
            ),
        );
    }
}

/// A decoded clip.
struct Row {
    keys: Keys,
    /// Frames per second of the compressed clip.
    rate: f32,
    /// Maximum error of a vertex relative to the compressed clip, morph targets included, in metres.
    error: f64,
    /// Error bound of the encoder, in metres.
    bound: f64,
}

impl Row {
    fn to_cells(&self) -> Vec<String> {
        let clip = &self.keys.clip;
        vec![
            printable(clip.name()),
            hertz(self.rate),
            clip.tracks().len().to_string(),
            self.keys.count().to_string(),
            size(clip.byte_count()),
            millimetres(self.bound),
            millimetres(self.error),
        ]
    }

    fn to_json(&self) -> Value {
        let (clip, measured) = (&self.keys.clip, &self.keys.measured);
        json!({
            "clip": clip.name(),
            "rate_hz": self.rate,
            "tracks": clip.tracks().len(),
            "keys": self.keys.count(),
            "bytes": clip.byte_count(),
            "bound_m": self.bound,
            "error_max_m": self.error,
            "at_s": measured.seconds,
            "track_error_max": measured.track_error_max,
        })
    }
}

/// Fraction of the bound that the keys may add to the error. Both errors add up only at the same vertex and
/// moment, and the encoder's worst case is at few of them.
const PART: f32 = 1.0 / 16.0;

/// Relative tolerance of the warning.
const TOLERANCE: f64 = 1.05;

/// Returns the options for the keys of a clip.
fn options(it: &PackedClip, asset: &Asset, metres: f64) -> Result<EncodeOptions, Error> {
    let radius = it.shell.unwrap_or_else(|| Shell::radius(metres));
    let mut options = asset.encode_options(&it.clip, it.clip.budget() * PART, radius)?;
    options.track_budget *= PART;
    Ok(options)
}
