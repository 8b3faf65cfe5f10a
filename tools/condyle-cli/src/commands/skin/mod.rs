//! `condyle skin`: poses of a clip as static models, or as arrays of numbers.

mod arrays;
mod local;
mod npy;

use std::path::PathBuf;

use clap::ValueEnum;
use condyle::Dispatch;
use condyle_gltf::{Asset, Exporter, Poser};
use serde_json::{Value, json};

use crate::failure::{Failure, too_large};
use crate::model::playable::Playable;
use crate::options::heading::{OUTPUT, REPORT};
use crate::options::job::Job;
use crate::options::moments;
use crate::options::numerics::Numerics;
use crate::options::overwrite::Overwrite;
use crate::options::quantity::{fps_up_to, parse_seconds};
use crate::options::skinning::Posing;
use crate::options::source::Character;
use crate::options::work::{Limit, Work};
use crate::output::names::{numbered, with_middle};
use crate::output::{Written, finish_file, keep_all, print, print_json, progress, warn};
use crate::text::{ending, path_text};

/// Pose a character and write its vertices in world space
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle skin fox.glb --clip Run --time 0.5 -o posed.glb
  condyle skin fox.glb --clip 0 --time 0,0.25,0.5 -o posed.glb     posed.0000.glb, posed.0001.glb, ...
  condyle skin fox.glb --clip Run --fps 30 -o run.glb              the whole clip
  condyle skin fox.glb --clip Run --fps 30 --joints -o run.npy     NumPy arrays of the whole clip, with its joints
  condyle skin fox.glb --rest -o posed.npy                         NumPy arrays of one moment
  condyle skin fox.glb --clip Run --time 0.5 --skinning dual -o posed.glb
  condyle skin walk.glb --onto fox.glb --clip 0 -o posed.glb       a clip from a file without a mesh

A .glb keeps the nodes, primitives, vertex order, indices, materials and textures of the model, and has no
skins, animations or morph targets. A normal that skinning turns into a zero vector keeps its bind pose direction.

One .npy is written for each attribute of each primitive: run.node3.primitive0.position.npy, then
normal and tangent, f32, shaped (vertices, 3), tangents (vertices, 4). --joints adds run.joints.npy,
the joints' matrices in world space, shaped (joints, 3, 4): rows that a point (x, y, z, 1) is
multiplied by, in the order of `condyle info --json`. --local adds run.local.npy, the joints' local
transforms, shaped (joints, 10): rotation x y z w, translation x y z, scale x y z. With --json they
are printed, with the clip's events and its tracks of morph weights, numbers and rotations at each
moment. With --fps or several times, each file holds all moments: (frames, vertices, 3) and (frames,
joints, 3, 4). File names always end in .npy; --json lists them with their shapes. Either all files
are written, or none.")]
pub(crate) struct Args {
    /// Output file; missing folders are created
    #[arg(short, long, value_name = "OUT.glb")]
    output: PathBuf,
    #[command(flatten)]
    character: Character,
    /// Pose the clip at these times in seconds, separated by commas. Times are on the clock of the keys,
    /// which need not start at 0 [default: 0]
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', value_parser = parse_seconds)]
    #[arg(allow_hyphen_values = true, conflicts_with_all = ["rest", "fps"])]
    time: Vec<f64>,
    /// Sample the whole clip N times per second. Writes numbered .glb files, or .npy arrays of all moments
    #[arg(long, value_name = "N", value_parser = fps_up_to(1000.0), conflicts_with = "rest")]
    fps: Option<f64>,
    #[command(flatten)]
    posing: Posing,
    /// File format [default: by the extension of the output]
    #[arg(long, value_enum, help_heading = OUTPUT)]
    format: Option<Format>,
    /// Also write the matrices of the joints, for .npy only
    #[arg(long, help_heading = OUTPUT)]
    joints: bool,
    /// Also write local transforms as an .npy, or print them with --json. The JSON also has events and tracks
    #[arg(long, help_heading = OUTPUT)]
    local: bool,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print the figures as JSON
    #[arg(long, help_heading = REPORT)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
    #[command(flatten)]
    numerics: Numerics,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Glb,
    Npy,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let dispatch = args.numerics.apply()?;
    let format = format(args)?;
    let path = &args.character.model;
    let mut job = Job::writing(path, &args.output, args.overwrite)?;
    let model = job.open(path, || args.character.open(args.json))?;
    let asset = &model.asset;
    let clip = args.character.source.find(&model)?;
    let clip = clip.as_ref();
    let moments = moments(args, clip)?;
    let file = path_text(&args.character.model);
    let work = Work::play(&[asset], moments.len());
    job.afford(args.limit, path, clip, &work)?;
    let series = moments.len() > 1 || args.fps.is_some();
    let arrays = match format {
        Format::Glb => vec![],
        Format::Npy => arrays::of(asset, args.joints, args.local).map_err(|what| nothing(args, what))?,
    };
    let names: Vec<PathBuf> = match format {
        Format::Glb if series => {
            (0..moments.len()).map(|i| numbered(&args.output, i, moments.len())).collect()
        }
        Format::Glb => vec![args.output.clone()],
        Format::Npy => {
            let stem = args.output.with_extension("npy");
            arrays.iter().map(|array| with_middle(&stem, &array.name(asset))).collect()
        }
    };
    names.iter().try_for_each(|file| job.check(file))?;

    if let Some(what) = clip.and_then(|clip| clip.clamped(&args.time)) {
        warn(&args.character.model, &what);
    }
    let name = file;
    let poser = Poser::new(asset, args.posing.options()).map_err(|e| too_large(&name, &e))?;
    let mut playing = Playing { name, clip, moments, poser };
    let (files, shapes) = match format {
        Format::Glb => (write_models(args, asset, &mut playing, names)?, vec![]),
        Format::Npy => {
            let frames = series.then_some(playing.moments.len());
            let shapes: Vec<_> = arrays.iter().map(|array| array.shape(asset, frames)).collect();
            (arrays::write(&mut playing, &arrays, &shapes, names)?, shapes)
        }
    };
    match args.json {
        true => {
            let mut report = report(args, dispatch, asset, clip, &files, &shapes);
            if args.local {
                let found = local::report(clip, &asset.skeleton, &playing.moments);
                let [moments, events] = found.map_err(|e| too_large(&playing.name, &e))?;
                (report["moments"], report["events"]) = (moments, events);
            }
            print_json(&format!("{report:#}"))
        }
        false => print(&format!("{}\n", Written::summary(&files))),
    }
}

/// A clip and the requested moments.
struct Playing<'a> {
    /// Name of the file.
    name: String,
    clip: Option<&'a Playable<'a>>,
    /// Times in seconds.
    moments: Vec<f64>,
    poser: Poser<'a>,
}

impl Playing<'_> {
    fn pose(&mut self, moment: usize) -> Result<(), Failure> {
        self.poser.pose(self.clip, self.moments[moment]).map_err(|e| self.failed(moment, &e))
    }

    fn failed(&self, moment: usize, error: &dyn std::fmt::Display) -> Failure {
        let (name, seconds) = (&self.name, self.moments[moment]);
        Failure::Data(format!("{name} at {seconds} s: {error}; check keys and scales at that time"))
    }
}

/// Writes one file for each moment: all files or none.
fn write_models(
    args: &Args,
    asset: &Asset,
    playing: &mut Playing<'_>,
    names: Vec<PathBuf>,
) -> Result<Vec<Written>, Failure> {
    let exporter = Exporter::new(asset).map_err(|e| too_large(&playing.name, &e))?;
    for problem in exporter.problems() {
        warn(&args.character.model, &problem.to_string());
    }
    let mut files = Vec::new();
    let bar = progress(names.len(), "posing");
    for (moment, to) in names.into_iter().enumerate() {
        playing.pose(moment)?;
        let glb = exporter.glb(&playing.poser.scene()).map_err(|e| playing.failed(moment, &e))?;
        files.push(finish_file(to, |out| out.write_all(&glb))?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    keep_all(files)
}

fn report(
    args: &Args,
    dispatch: Dispatch,
    asset: &Asset,
    clip: Option<&Playable<'_>>,
    files: &[Written],
    shapes: &[Vec<usize>],
) -> Value {
    let file = |(at, file): (usize, &Written)| {
        let mut json = file.to_json();
        if let Some(shape) = shapes.get(at) {
            json["shape"] = json!(shape);
        }
        json
    };
    let mut report = json!({
        "file": args.character.model.to_string_lossy(),
        "isa": dispatch.isa().name(),
        "numeric": dispatch.numeric().name(),
        "clip": clip.map(Playable::name),
        "files": files.iter().enumerate().map(file).collect::<Vec<_>>(),
    });
    if args.joints || args.local {
        report["joints"] = json!(asset.skeleton.names());
    }
    report
}

/// Returns the failure for a model without the data to write.
fn nothing(args: &Args, what: &str) -> Failure {
    Failure::Data(format!("{} has no {what}, so there is nothing to write", path_text(&args.character.model)))
}

fn format(args: &Args) -> Result<Format, Failure> {
    let format = match (args.format, ending(&args.output).as_deref()) {
        (Some(format), _) => format,
        (None, Some("glb")) => Format::Glb,
        (None, Some("npy")) => Format::Npy,
        _ => {
            return Err(Failure::Usage(format!(
                "{}: its name does not end in .glb or .npy; name the format with --format",
                path_text(&args.output)
            )));
        }
    };
    match format {
        Format::Glb if args.joints => Err(Failure::Usage(
            "--joints writes a NumPy array: choose an output that ends in .npy; a .glb stores its joints as nodes".into(),
        )),
        Format::Glb if args.local && !args.json => Err(Failure::Usage(
            "--local writes a NumPy array or prints JSON: choose an output that ends in .npy, or add --json".into(),
        )),
        _ => Ok(format),
    }
}

/// Returns the requested moments, in seconds: at least one.
fn moments(args: &Args, clip: Option<&Playable<'_>>) -> Result<Vec<f64>, Failure> {
    match (args.fps, clip) {
        (Some(fps), Some(clip)) => moments::every(clip, fps),
        _ if args.time.is_empty() => Ok(vec![0.0]),
        _ => Ok(args.time.clone()),
    }
}
