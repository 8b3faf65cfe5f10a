//! `condyle reach --fit-limits`: joint limits learned from clips.

use std::path::{Path, PathBuf};

use condyle_solve::{FitOptions, JointLimit, Limits, Swing};
use serde_json::json;

use crate::failure::Failure;
use crate::model::{self, limits};
use crate::options::heading::LIMITS;
use crate::options::job::Job;
use crate::options::overwrite::Overwrite;
use crate::options::source::{Which, find_clip};
use crate::options::space::Space;
use crate::options::work::Limit;
use crate::output::{check_ending, print, print_json, warn, write_file};
use crate::text::{counted, path_text, printable, table};

/// Learn joint limits from clips: the old name of `condyle reach --fit-limits`
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle reach fox.glb --fit-limits                            a table of all joints
  condyle reach fox.glb --fit-limits -o fox.limits.json         as a file for --limits")]
pub(crate) struct Args {
    /// Character: .glb, .gltf, .vrm, .fbx, .bvh or .condyle
    model: PathBuf,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    space: Space,
    /// Learn from a clip, by name or index; may be given several times [default: all]
    #[arg(long = "clip", value_name = "NAME|INDEX")]
    clips: Vec<String>,
    #[command(flatten)]
    fit: Fit,
    /// Output file; missing folders are created
    #[arg(short, long, value_name = "LIMITS.json")]
    output: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Play the clips on this model, matching joints by name; --unit and --up describe the motion
    #[arg(long, value_name = "MODEL")]
    onto: Option<PathBuf>,
    #[command(flatten)]
    limit: Limit,
    /// Print the limits as JSON
    #[arg(long)]
    json: bool,
}

/// Options for learned limits.
#[derive(clap::Args)]
pub(crate) struct Fit {
    /// Add a margin to learned limits, in degrees; for --fit-limits [default: 2]
    #[arg(long, value_name = "DEGREES", value_parser = parse_margin, help_heading = LIMITS)]
    margin: Option<f32>,
    /// Slow joints near learned limits; for --fit-limits. Takes the fraction of the range that slows a joint,
    /// from 0 to 1 [default: 0]
    #[arg(long, value_name = "PART", value_parser = parse_part, help_heading = LIMITS)]
    soft: Option<f32>,
}

impl Fit {
    /// Returns the first of these options that is given, if any.
    pub(super) fn given(&self) -> Option<&'static str> {
        self.margin.map(|_| "--margin").or(self.soft.map(|_| "--soft"))
    }
}

/// Default of --margin, in degrees.
const MARGIN: f32 = 2.0;

/// A model, the clips to learn from, and the destination of the limits.
pub(super) struct FitLimits<'a> {
    pub(super) model: &'a Path,
    pub(super) which: &'a Which,
    pub(super) space: Space,
    pub(super) onto: Option<&'a Path>,
    /// Names or indices; empty for all clips.
    pub(super) clips: &'a [String],
    pub(super) fit: &'a Fit,
    /// Output file; without one, the limits are printed as a table.
    pub(super) output: Option<&'a Path>,
    pub(super) overwrite: Overwrite,
    pub(super) limit: Limit,
    pub(super) json: bool,
}

/// `condyle limits`, the old name of `condyle reach --fit-limits`.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    learn(&FitLimits {
        model: &args.model,
        which: &args.which,
        space: args.space,
        onto: args.onto.as_deref(),
        clips: &args.clips,
        fit: &args.fit,
        output: args.output.as_deref(),
        overwrite: args.overwrite,
        limit: args.limit,
        json: args.json,
    })
}

/// Learns limits, and writes or prints them.
pub(super) fn learn(args: &FitLimits<'_>) -> Result<(), Failure> {
    let path = args.model;
    if let Some(output) = args.output {
        check_ending(output, "json", "a file of joint limits")?;
    }
    let mut job = Job::new([path], args.output, args.overwrite)?;
    let which = args.which.chosen(args.clips.first().map(String::as_str), args.onto)?;
    let model = job.open(path, || model::open(path, which, args.onto, args.space, false))?;
    let mut clips = model.clips();
    if !args.clips.is_empty() {
        let mut wanted = Vec::new();
        for name in args.clips {
            let mut all = model.clips();
            let index = find_clip(model.asset.document.name(), &all, name)?;
            wanted.push(all.swap_remove(index));
        }
        clips = wanted;
    }
    let Fit { margin, soft } = *args.fit;
    let margin = margin.unwrap_or(MARGIN).to_radians();
    let options = FitOptions { margin, soft: soft.unwrap_or(0.0), ..FitOptions::default() };
    let mut budget = job.budget(args.limit);
    let fitted = limits::fit(path, &model, &clips, &options, &mut budget)?;
    let skeleton = &model.asset.skeleton;
    let (json, left_out) = limits::to_json(&fitted, skeleton);
    if left_out > 0 {
        let joints = counted(left_out, "joint is", "joints are");
        warn(path, &format!("{joints} left out, because others have the same name"));
    }
    let file = match args.output {
        Some(output) => {
            let text = format!("{json:#}\n");
            Some(write_file(output.to_path_buf(), |out| out.write_all(text.as_bytes()))?)
        }
        None => None,
    };
    if args.json {
        let files: Vec<_> = file.iter().map(|file| file.to_json()).collect();
        let report = json!({
            "file": path.to_string_lossy(),
            "clips": clips.iter().map(|clip| clip.name()).collect::<Vec<_>>(),
            "limits": json,
            "files": files,
        });
        return print_json(&format!("{report:#}"));
    }
    match file {
        Some(file) => {
            let joints =
                counted(json["joints"].as_object().map_or(0, serde_json::Map::len), "joint", "joints");
            print(&format!("{}: {joints}\n", path_text(&file.path)))
        }
        None => print(&rows(&fitted, skeleton.names())),
    }
}

/// Formats a line for each joint that has a limit.
fn rows(limits: &Limits, names: &[String]) -> String {
    let joints = (0..).zip(names).filter_map(|(joint, name)| Some((name, limits.get(joint)?)));
    let head = ["joint", "kind", "swing", "twist"].map(String::from).to_vec();
    let rows = joints.map(|(name, limit)| {
        let [kind, swing] = words(limit);
        vec![printable(name), kind, swing, twist(limit)]
    });
    table("<<><", std::iter::once(head).chain(rows))
}

fn words(limit: &JointLimit) -> [String; 2] {
    let degrees = |angle: f32| format!("{:.0}\u{b0}", angle.to_degrees());
    match &limit.swing {
        Swing::Hinge => ["hinge".into(), String::new()],
        Swing::Cone(angle) => ["cone".into(), degrees(*angle)],
        Swing::Ellipse { angles: [a, b], .. } => {
            ["ellipse".into(), format!("{} {}", degrees(*a), degrees(*b))]
        }
        Swing::Polygon { corners, .. } => {
            let most = corners.iter().map(|[x, y]| condyle::math::sqrt(x * x + y * y)).fold(0.0, f32::max);
            ["polygon".into(), degrees(most)]
        }
        _ => ["free".into(), String::new()],
    }
}

fn twist(limit: &JointLimit) -> String {
    limit.twist.map_or("any".into(), |[least, most]| {
        format!("{:.0}\u{b0} to {:.0}\u{b0}", least.to_degrees(), most.to_degrees())
    })
}

fn parse_margin(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(degrees) if (0.0..=45.0).contains(&degrees) => Ok(degrees),
        _ => Err("a margin is a number of degrees from 0 to 45".into()),
    }
}

fn parse_part(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(part) if (0.0..=1.0).contains(&part) => Ok(part),
        _ => Err("a part is a number from 0 to 1".into()),
    }
}
