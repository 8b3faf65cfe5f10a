//! `condyle skin`: poses of a clip as static models.

mod npy;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use condyle::{Dispatch, NormalRule};
use condyle_gltf::{Asset, Exporter, Poser};
use serde_json::{Value, json};

use self::npy::write_npy;
use crate::failure::Failure;
use crate::model;
use crate::model::document::{self, too_large, warn_of_repairs};
use crate::model::playable::Playable;
use crate::options::numerics::Numerics;
use crate::options::quantity::{fps_up_to, parse_seconds};
use crate::options::source::{Source, Which};
use crate::output::{Written, check_destination, print, print_json, progress, warn, write_file};
use crate::text::{counted, ending, path_text};

/// Pose a character and write its vertices, in world space
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle skin fox.glb --clip Run --time 0.5 -o posed.glb
  condyle skin fox.glb --clip 0 --time 0,0.25,0.5 -o posed.glb     posed.0000.glb, posed.0001.glb, ...
  condyle skin fox.glb --clip Run --fps 30 -o run.glb              the whole clip
  condyle skin fox.glb --rest -o posed.npy                         NumPy arrays

A .glb keeps the nodes, primitives, vertex order, indices, materials and textures of the model, and has no
skins, animations or morph targets. A normal that skinning turns into a zero vector keeps its bind pose direction.

One .npy is written for each attribute of each primitive: posed.node3.primitive0.position.npy, then normal and
tangent, shaped (vertices, 3 or 4), f32. Their names always end in .npy.")]
pub(crate) struct Args {
    /// The character: .glb, .gltf or .condyle
    model: PathBuf,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    which: Which,
    /// Seconds into the clip; several, separated by commas, write a numbered series [default: 0]
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', value_parser = parse_seconds)]
    #[arg(allow_hyphen_values = true, conflicts_with_all = ["rest", "fps"])]
    time: Vec<f32>,
    /// Write a numbered series of the whole clip, N files per second
    #[arg(long, value_name = "N", value_parser = fps_up_to(1000.0), conflicts_with = "rest")]
    fps: Option<f64>,
    /// Where to write
    #[arg(short, long, value_name = "OUT.glb")]
    output: PathBuf,
    /// What to write [default: by the extension of the output]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// How normals are transformed
    #[arg(long, value_enum, value_name = "RULE", default_value = "inverse-transpose")]
    normals: Normals,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    numerics: Numerics,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Glb,
    Npy,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Normals {
    /// Blend each joint's inverse transpose: right under non-uniform scale
    InverseTranspose,
    /// Use the blended matrix itself, as most engines do
    Plain,
    /// Invert and transpose the blended matrix of each vertex
    BlendedInverseTranspose,
}

impl From<Normals> for NormalRule {
    fn from(normals: Normals) -> Self {
        match normals {
            Normals::InverseTranspose => Self::InverseTranspose,
            Normals::Plain => Self::Plain,
            Normals::BlendedInverseTranspose => Self::BlendedInverseTranspose,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let dispatch = args.numerics.apply()?;
    let format = format(args)?;
    check_destination(&args.output, &document::sources(&args.model, None))?;
    let model = model::open(&args.model, args.which.name(), args.json)?;
    let asset = &model.asset;
    let clip = args.source.find(&model)?;
    let clip = clip.as_ref();
    let moments = moments(args, format, clip, asset)?;
    let sources = document::sources(&args.model, Some(&asset.document));
    moments.iter().flat_map(|m| &m.files).try_for_each(|file| check_destination(file, &sources))?;

    warn_of_repairs(&args.model, asset);
    let name = path_text(&args.model);
    let mut poser =
        Poser::new(asset, NormalRule::from(args.normals).into()).map_err(|e| too_large(&name, &e))?;
    let exporter = match format {
        Format::Glb => Some(Exporter::new(asset).map_err(|e| too_large(&name, &e))?),
        Format::Npy => None,
    };
    for problem in exporter.iter().flat_map(|e| e.problems()) {
        warn(&args.model, &problem.to_string());
    }
    let mut files = Vec::new();
    let bar = progress(moments.len(), "posing");
    for Moment { seconds, files: names } in moments {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::Data(format!("{name} at {seconds} s: {error}; look at the keys and scales there"))
        };
        poser.pose(clip, seconds).map_err(|e| failed(&e))?;
        match &exporter {
            Some(exporter) => {
                let glb = exporter.glb(&poser.scene()).map_err(|e| failed(&e))?;
                let written = names.into_iter().map(|to| write_file(to, |out| out.write_all(&glb)));
                files.extend(written.collect::<Result<Vec<_>, _>>()?);
            }
            None => {
                let written = names.into_iter().zip(arrays(asset)).map(|(to, array)| {
                    let vertices = &poser.posed(array.instance)[array.primitive];
                    write_file(to, |out| match array.attribute {
                        Attribute::Position => write_npy(out, &vertices.positions),
                        Attribute::Normal => write_npy(out, &vertices.normals),
                        Attribute::Tangent => write_npy(out, &vertices.tangents),
                    })
                });
                files.extend(written.collect::<Result<Vec<_>, _>>()?);
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    match args.json {
        true => print_json(&format!("{:#}", report(args, dispatch, clip, &files))),
        false => print(&format!("{}\n", Written::summary(&files))),
    }
}

fn report(args: &Args, dispatch: Dispatch, clip: Option<&Playable<'_>>, files: &[Written]) -> Value {
    json!({
        "file": args.model.to_string_lossy(),
        "isa": dispatch.isa().name(),
        "numeric": dispatch.numeric().name(),
        "clip": clip.map(Playable::name),
        "files": files.iter().map(Written::to_json).collect::<Vec<_>>(),
    })
}

fn format(args: &Args) -> Result<Format, Failure> {
    match (args.format, ending(&args.output).as_deref()) {
        (Some(format), _) => Ok(format),
        (None, Some("glb")) => Ok(Format::Glb),
        (None, Some("npy")) => Ok(Format::Npy),
        _ => Err(Failure::Usage(format!(
            "{}: its name does not end in .glb or .npy; name the format with --format",
            path_text(&args.output)
        ))),
    }
}

/// A time in the clip, and the files that its pose is written to.
struct Moment {
    seconds: f32,
    files: Vec<PathBuf>,
}

/// The files of one moment, or of a numbered series.
fn moments(
    args: &Args,
    format: Format,
    clip: Option<&Playable<'_>>,
    asset: &Asset,
) -> Result<Vec<Moment>, Failure> {
    let times = times(args, clip)?;
    let arrays: Vec<String> = match format {
        Format::Glb => vec![],
        Format::Npy => arrays(asset).map(|array| array.middle(asset)).collect(),
    };
    if format == Format::Npy && arrays.is_empty() {
        let model = path_text(&args.model);
        return Err(Failure::Data(format!("{model} has no meshes, so there is nothing to write")));
    }
    if times.len() * arrays.len().max(1) > LONGEST {
        return Err(Failure::Usage(format!(
            "{} at {} are more than {LONGEST} files; ask for fewer moments",
            counted(arrays.len(), "array", "arrays"),
            counted(times.len(), "moment", "moments"),
        )));
    }
    let series = times.len() > 1 || args.fps.is_some();
    let count = times.len();
    let moment = |(frame, seconds): (usize, f32)| {
        let stem = match series {
            true => numbered(&args.output, frame, count),
            false => args.output.clone(),
        };
        let files = match format {
            Format::Glb => vec![stem],
            Format::Npy => {
                let stem = stem.with_extension("npy");
                arrays.iter().map(|middle| with_middle(&stem, middle)).collect()
            }
        };
        Moment { seconds, files }
    };
    Ok(times.into_iter().enumerate().map(moment).collect())
}

/// A series of more files than this is taken for a mistake.
const LONGEST: usize = 100_000;

/// The times of all moments, at least one.
fn times(args: &Args, clip: Option<&Playable<'_>>) -> Result<Vec<f32>, Failure> {
    let (Some(fps), Some(clip)) = (args.fps, clip) else {
        return Ok(if args.time.is_empty() { vec![0.0] } else { args.time.clone() });
    };
    let (start, end) = (f64::from(clip.start()), f64::from(clip.end()));
    // A thousandth of a frame of tolerance, so that rounding does not lose the last frame.
    let last = ((end - start) * fps + 1e-3).floor();
    if last >= LONGEST as f64 {
        return Err(Failure::Usage(format!(
            "--fps {fps}: the clip lasts {} s, that would be more than {LONGEST} files; \
             ask for fewer, or for single moments with --time",
            clip.end() - clip.start(),
        )));
    }
    Ok((0..=last as u32).map(|frame| (start + f64::from(frame) / fps) as f32).collect())
}

/// One attribute of one primitive.
struct Array {
    instance: usize,
    primitive: usize,
    attribute: Attribute,
}

#[derive(Clone, Copy)]
enum Attribute {
    Position,
    Normal,
    Tangent,
}

impl Array {
    /// The part of the file name that distinguishes it.
    fn middle(&self, asset: &Asset) -> String {
        let instance = &asset.instances[self.instance];
        let attribute = match self.attribute {
            Attribute::Position => "position",
            Attribute::Normal => "normal",
            Attribute::Tangent => "tangent",
        };
        format!("node{}.primitive{}.{attribute}", instance.node, instance.primitives[self.primitive].index)
    }
}

/// All attributes that the meshes have.
fn arrays(asset: &Asset) -> impl Iterator<Item = Array> + '_ {
    let primitives = asset.instances.iter().enumerate();
    let primitives = primitives.flat_map(|(at, i)| i.primitives.iter().enumerate().map(move |p| (at, p)));
    primitives.flat_map(|(instance, (primitive, source))| {
        let bind = source.mesh.vertices();
        let there = [
            (Attribute::Position, true),
            (Attribute::Normal, !bind.normals.is_empty()),
            (Attribute::Tangent, !bind.tangents.is_empty()),
        ];
        let there = there.into_iter().filter(|(_, there)| *there);
        there.map(move |(attribute, _)| Array { instance, primitive, attribute })
    })
}

/// One file of a series whose names sort in its order.
fn numbered(path: &Path, frame: usize, count: usize) -> PathBuf {
    let digits = (count - 1).to_string().len().max(4);
    with_middle(path, &format!("{frame:0digits$}"))
}

/// `posed.glb` with `0003` is `posed.0003.glb`.
fn with_middle(path: &Path, middle: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!(".{middle}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_series_sort_in_its_order() {
        let names = |count| [0, 9, 9999, count - 1].map(|frame| numbered("a/b.c.glb".as_ref(), frame, count));
        assert_eq!(names(10_000)[1..3], ["a/b.c.0009.glb", "a/b.c.9999.glb"].map(PathBuf::from));
        assert!(names(10_001).is_sorted());
        assert_eq!(names(100_000)[3], Path::new("a/b.c.99999.glb"));
    }
}
