//! `condyle query hitboxes`: shapes on joints, fitted to the vertices that these joints move.

mod solid;

use std::path::{Path, PathBuf};

use condyle::Skeleton;
use condyle_gltf::{Asset, ClipExporter, JointMesh};
use condyle_query::hitbox::{Hitbox, Hitboxes};
use condyle_query::hits::Shape;
use serde_json::{Value, json};

use crate::commands::raycast::shape_name;
use crate::commands::reach::asked::joint_name;
use crate::failure::{Failure, too_large};
use crate::model::container::is_container;
use crate::options::heading::REPORT;
use crate::options::job::Job;
use crate::options::overwrite::Overwrite;
use crate::options::source::{self, Which};
use crate::options::space::{Height, Space};
use crate::options::work::{Limit, Work};
use crate::output::{check_ending, print, print_json, warn, write_file};
use crate::text::{counted, ending, fixed, path_text, table};

/// Fit spheres, capsules and boxes to the vertices of each joint
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle query hitboxes fox.glb --unit 1cm                   a table of all joints
  condyle query hitboxes fox.glb -o fox.hitboxes.json         as a file for an engine
  condyle query hitboxes fox.glb -o fox.hitboxes.glb          the model, with the shapes as meshes on its joints
  condyle query hitboxes fox.glb --coverage 0.95              tighter: 5 % of the vertices of each joint are outside
  condyle render fox.glb --clip Run --hitboxes -o fox.gif

Each joint has the shape with the smallest volume around the vertices that it moves most, taken from
the meshes of the default scene. Shapes are in the space of the joint: the table is in metres, -o
and --json are in the units of the model, unless the matrix of the joint scales.
docs/command-line.md lists the keys of the .json.

A .glb is the model with its clips. Below each joint with a hitbox it has a node named NAME.hitbox
with the shape, half transparent, which moves with the joint. Spheres and capsules are triangle
meshes, with corners on the exact surface.")]
pub(crate) struct Args {
    /// Character: .glb, .gltf or .condyle
    model: PathBuf,
    /// Output file; missing folders are created [default: print a table]
    #[arg(short, long, value_name = "OUT.json|.glb")]
    output: Option<PathBuf>,
    /// Fraction of a joint's vertices inside its shape, from 0 to 1
    #[arg(long, value_name = "PART", default_value = "1", value_parser = parse_coverage)]
    coverage: f32,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    height: Height,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print the hitboxes as JSON
    #[arg(long, help_heading = REPORT)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = &args.model;
    let is_glb = args.output.as_ref().is_some_and(|output| ending(output).as_deref() == Some("glb"));
    if let Some(output) = args.output.as_ref().filter(|_| !is_glb) {
        check_ending(output, "json", "JSON, or a model if the name ends in .glb")?;
    }
    if is_glb && is_container(path) {
        return Err(Failure::Usage(format!(
            "{}: its clips are compressed, and a .glb needs keys; run `condyle decode` and use its output",
            path_text(path)
        )));
    }
    let mut job = Job::new([path], &args.output, args.overwrite)?;
    let model = job
        .open(path, || source::open(path, args.which.or_with(None), (args.space, args.height), args.json))?;
    let asset = &model.asset;
    let name = path_text(path);
    job.afford(args.limit, path, None, &Work::bounds(asset, 1))?;
    let hitboxes = asset.hitboxes(args.coverage).map_err(|e| too_large(&name, &e))?;
    if hitboxes.as_slice().is_empty() {
        return Err(Failure::Data(format!(
            "{name} has no vertices that joints move, so there is nothing to fit"
        )));
    }
    let json = to_json(&hitboxes, &asset.skeleton);
    let file = match &args.output {
        Some(output) => {
            let bytes =
                if is_glb { glb(path, asset, &hitboxes)? } else { format!("{json:#}\n").into_bytes() };
            Some(write_file(output.clone(), |out| out.write_all(&bytes))?)
        }
        None => None,
    };
    if args.json {
        let report = json!({
            "file": path.to_string_lossy(),
            "coverage": args.coverage,
            "metres_per_unit": model.metres(),
            "hitboxes": json["hitboxes"],
            "files": file.iter().map(|file| file.to_json()).collect::<Vec<_>>(),
        });
        return print_json(&format!("{report:#}"));
    }
    let mut text = rows(&hitboxes, &asset.skeleton, model.metres());
    if let Some(file) = file {
        let count = counted(hitboxes.as_slice().len(), "hitbox", "hitboxes");
        text += &format!("{}: {count}\n", path_text(&file.path));
    }
    print(&text)
}

/// Blue like in `render`, linear, half transparent.
const COLOR: [f32; 4] = [0.065, 0.716, 1.0, 0.4];

/// Maximum number of shapes in a .glb. Each takes about 15 KB, and no real character has as many.
const MOST_SHAPES: usize = 4096;

/// Returns the model with its clips, and the shapes on its joints.
fn glb(path: &Path, asset: &Asset, hitboxes: &Hitboxes) -> Result<Vec<u8>, Failure> {
    let name = path_text(path);
    let count = hitboxes.as_slice().len();
    if count > MOST_SHAPES {
        return Err(Failure::Data(format!(
            "{name} has {count} hitboxes, and a .glb holds at most {MOST_SHAPES}; write a .json"
        )));
    }
    let mut exporter = ClipExporter::new(asset);
    exporter.problems().iter().for_each(|problem| warn(path, &problem.to_string()));
    let mesh = |it: &Hitbox| {
        let solid::Surface { positions, normals, triangles } = solid::surface(&it.shape);
        let name = format!("{}.hitbox", asset.skeleton.names()[usize::from(it.joint)]);
        JointMesh { joint: it.joint, name, positions, normals, triangles }
    };
    let meshes: Vec<JointMesh> = hitboxes.as_slice().iter().map(mesh).collect();
    exporter.attach(&meshes, COLOR).map_err(|e| too_large(&name, &e))?;
    exporter.glb(&asset.clips).map_err(|e| too_large(&name, &e))
}

fn to_json(hitboxes: &Hitboxes, skeleton: &Skeleton) -> Value {
    let one = |it: &Hitbox| {
        let mut json = json!({
            "joint": skeleton.names()[usize::from(it.joint)],
            "joint_index": it.joint,
            "shape": shape_name(&it.shape),
        });
        let mut put = |key: &str, value: Value| json[key] = value;
        match it.shape {
            Shape::Sphere { center, radius } => {
                put("center", json!(center));
                put("radius", json!(radius));
            }
            Shape::Capsule { from, to, radius } => {
                put("from", json!(from));
                put("to", json!(to));
                put("radius", json!(radius));
            }
            Shape::Box { center, rotation, half_extents } => {
                put("center", json!(center));
                put("rotation", json!(rotation));
                put("half_extents", json!(half_extents));
            }
            _ => {}
        }
        json
    };
    json!({ "hitboxes": hitboxes.as_slice().iter().map(one).collect::<Vec<_>>() })
}

/// Formats a line for each hitbox.
fn rows(hitboxes: &Hitboxes, skeleton: &Skeleton, metres: f64) -> String {
    let head = ["joint", "shape", "size", "centre"].map(String::from).to_vec();
    let number = |v: f32| fixed(f64::from(v) * metres, 3);
    let vector = |v: [f32; 3]| v.map(number).join(" ");
    let rows = hitboxes.as_slice().iter().map(|it| {
        let (size, middle) = match it.shape {
            Shape::Sphere { center, radius } => (format!("radius {}", number(radius)), center),
            Shape::Capsule { from, to, radius } => {
                let long = (0..3).map(|k| (to[k] - from[k]).powi(2)).sum::<f32>().sqrt();
                let size = format!("radius {}, length {}", number(radius), number(long + 2.0 * radius));
                (size, [0, 1, 2].map(|k| (from[k] + to[k]) / 2.0))
            }
            Shape::Box { center, half_extents, .. } => {
                (half_extents.map(|half| number(2.0 * half)).join(" x "), center)
            }
            _ => (String::new(), [f32::NAN; 3]),
        };
        vec![joint_name(skeleton, it.joint), shape_name(&it.shape).into(), size, vector(middle)]
    });
    table("<<<<", std::iter::once(head).chain(rows))
}

fn parse_coverage(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(part) if (0.0..=1.0).contains(&part) => Ok(part),
        _ => Err("a coverage is a number from 0 to 1, such as 0.95".into()),
    }
}
