//! `condyle limits`: what the joints of a character can do, learned from its clips.

use std::path::PathBuf;

use condyle_solve::{FitOptions, JointLimit, Limits, Swing};
use serde_json::json;

use crate::failure::Failure;
use crate::model::document::sources;
use crate::model::{self, limits};
use crate::options::overwrite::Overwrite;
use crate::options::source::{Which, find_clip};
use crate::options::space::Space;
use crate::options::work::Limit;
use crate::output::{check_destination, check_ending, print, print_json, warn, write_file};
use crate::text::{counted, path_text, printable, table};

/// Learn from clips how far joints turn, and write it down
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle limits fox.glb                                        a table of all joints
  condyle limits fox.glb -o fox.limits.json                     as a file for --limits
  condyle limits fox.glb --clip Walk --clip Run --margin 5      from some clips, and five degrees more
  condyle render fox.glb --clip Run --skeleton --limits fox.limits.json -o fox.png

A joint that turns about one axis is a hinge; any other swings its bone within an ellipse or a polygon and twists about
it. Roots have no limits. The file is JSON with angles in degrees, to be edited; docs/command-line.md has its keys.")]
pub(crate) struct Args {
    /// The character: .glb, .gltf, .bvh or .condyle
    model: PathBuf,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    space: Space,
    /// A clip to learn from, by name or index; give several if you like [default: all]
    #[arg(long = "clip", value_name = "NAME|INDEX")]
    clips: Vec<String>,
    /// How many degrees farther than in the clips a joint may turn
    #[arg(long, value_name = "DEGREES", default_value = "2", value_parser = parse_margin)]
    margin: f32,
    /// How much of the way to a border is soft, from 0 to 1
    #[arg(long, value_name = "PART", default_value = "0", value_parser = parse_part)]
    soft: f32,
    /// Where to write them
    #[arg(short, long, value_name = "LIMITS.json")]
    output: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Play the clips on this model, joints matched by names: for a file that holds a motion only; --unit and
    /// --up are those of the motion
    #[arg(long, value_name = "MODEL")]
    onto: Option<PathBuf>,
    #[command(flatten)]
    limit: Limit,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = &args.model;
    if let Some(output) = &args.output {
        check_ending(output, "json", "the limits of joints")?;
        check_destination(output, &sources(path, None), args.overwrite)?;
    }
    let model = model::open(path, args.which.name(), args.onto.as_deref(), args.space, false)?;
    if let Some(output) = &args.output {
        check_destination(output, &model.sources, args.overwrite)?;
    }
    let mut clips = model.clips();
    if !args.clips.is_empty() {
        let mut wanted = Vec::new();
        for name in &args.clips {
            let mut all = model.clips();
            let index = find_clip(model.asset.document.name(), &all, name)?;
            wanted.push(all.swap_remove(index));
        }
        clips = wanted;
    }
    let options = FitOptions { margin: args.margin.to_radians(), soft: args.soft, ..FitOptions::default() };
    let mut budget = args.limit.budget(&model.sources);
    let fitted = limits::fit(path, &model, &clips, &options, &mut budget)?;
    let skeleton = &model.asset.skeleton;
    let (json, left_out) = limits::to_json(&fitted, skeleton);
    if left_out > 0 {
        let joints = counted(left_out, "joint is", "joints are");
        warn(path, &format!("{joints} left out, as others have the same name"));
    }
    let file = match &args.output {
        Some(output) => {
            Some(write_file(output.clone(), |out| out.write_all(format!("{json:#}\n").as_bytes()))?)
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

/// A line for each joint that has a limit.
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
