//! `condyle pack`: an ordinary .glb with smaller animations, and a bound on the error of every vertex.

mod drop;
mod form;
mod mesh;
mod packing;
mod report;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use condyle_encode::{EncodeOptions, Shell};
use condyle_gltf::{Asset, Problem, Severity};
use condyle_io::job::Product;
use serde_json::{Map, json};

use self::drop::dropped;
use self::packing::{Bounds, Packing};
use self::report::{Outcome, warn_of_errors};
use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::document::{self, metres_per_unit};
use crate::options::each::{Each, single};
use crate::options::heading::{OUTPUT, REPORT};
use crate::options::job::Job;
use crate::options::overwrite::Overwrite;
use crate::options::quantity::{Length, parse_error};
use crate::options::shell::Bounded;
use crate::options::space::{Height, Space};
use crate::options::threads::Threads;
use crate::options::work::{Limit, Work};
use crate::output::{check_ending, print, print_json, warn, write_file};
use crate::text::path_text;

/// Write an ordinary .glb with smaller animations and a bounded error
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle pack fox.glb -o small.glb --unit 1cm               to half a millimetre where a unit is a centimetre
  condyle pack fox.glb -o small.glb --height 0.6m            if the fox is 60 cm high
  condyle pack fox.glb -o small.glb --error 2mm --drop --keep b_Tail03_014
  condyle pack fox.glb -o small.glb --meshopt                for readers that support EXT_meshopt_compression
  condyle pack fox.glb -o small.glb --mesh                   the meshes too, within the same error
  condyle pack models -o small --mesh                        every file of a folder

Every track has the fewest keys that keep all vertices within --error, morph targets included: with
linear or spline interpolation, at times that tracks share, with rotations and weights as 16-bit
integers, as core glTF allows. A property that never changes has no track; steps stay unchanged.
Meshes, materials, textures and all else keep their bytes, compressed meshes too. If the file is
larger than before, the reason is printed.

--drop keeps the joints that cameras, lights and other extension data on nodes depend on, and those
that --keep names. Empty nodes, such as sockets, are not bounded: their error grows with the
distance from the joint. If no joint moves a vertex, as in motion capture, --drop keeps all joints
that have a name. The error of the joints that lose their tracks is printed.

With --meshopt, numbers are as coarse as --error allows, and compressed with EXT_meshopt_compression
where that is smaller. three.js, Babylon.js and many engines read that; other readers must refuse
the file. A file that already requires it or KHR_meshopt_compression gets it without --meshopt.

With --mesh, half of --error is for the meshes and half for the animations. Positions, weights and
morph targets have the fewest bits that keep posed vertices within their half in the poses of all
clips, and with other morph weights that add up to at most 1. Other poses are not measured. Without
clips, the meshes get all of it, in the rest pose only. Normals and tangents have 8 bits, texture
coordinates 12, colours 8 or 16. Equal vertices are merged. Triangles and vertices are ordered for
GPUs. Readers must also support KHR_mesh_quantization. Materials, textures, names and all else stay.
The report lists the parts that stay floats, and the primitives that do not change.

The printed errors are measured on the written file: at every key, at every frame and at three times
between frames, at points that enclose all vertices, and within --shell around joints without
vertices.

A folder gives one output per file, in the same subfolders, and so do several files. The output folder
then has a .json with the figures next to each output, by which a later run makes only new and changed
files.")]
pub(crate) struct Args {
    /// Models: .glb, .gltf, .fbx or .bvh, or one folder of such files
    #[arg(required = true, value_name = "MODEL|FOLDER")]
    models: Vec<PathBuf>,
    /// Output file, or output folder for several files or a folder; missing folders are created
    #[arg(short, long, value_name = "OUT.glb|FOLDER")]
    output: PathBuf,
    /// Maximum error of a vertex
    #[arg(long, value_name = "LENGTH", default_value = "0.5mm", allow_hyphen_values = true, value_parser = parse_error)]
    error: Length,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    height: Height,
    #[command(flatten)]
    bounded: Bounded,
    /// Drop the tracks of joints that move no vertex, camera or light. Such joints are controls and helpers
    #[arg(long, help_heading = OUTPUT)]
    drop: bool,
    /// Keep the tracks of joints with this name, such as a socket
    #[arg(long, value_name = "NAME", requires = "drop", help_heading = OUTPUT)]
    keep: Vec<String>,
    /// Compress the animations with EXT_meshopt_compression; readers must support it
    #[arg(long, help_heading = OUTPUT)]
    meshopt: bool,
    /// Quantise, reorder and compress the meshes too; implies --meshopt
    #[arg(long, help_heading = OUTPUT)]
    mesh: bool,
    /// Compress with KHR_meshopt_compression, the successor of EXT_meshopt_compression
    #[arg(long, requires = "mesh", help_heading = OUTPUT)]
    khr: bool,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print one JSON object per line: one for each clip, then one for the file
    #[arg(long, help_heading = REPORT)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Some(path) = single(&args.models) else { return run_each(args) };
    check_ending(&args.output, "glb", "binary glTF")?;
    let mut job = Job::writing(path, &args.output, args.overwrite)?;
    let (glb, outcome) = pack(args, path, &args.output, &mut job)?;
    let file = write_file(args.output.clone(), |out| out.write_all(&glb))?;
    match args.json {
        true => outcome.lines(file.to_json()).iter().try_for_each(|line| print_json(&line.to_string())),
        false => print(&outcome.to_text(args, &path_text(&file.path))),
    }
}

/// Packs several files, or those of a folder.
fn run_each(args: &Args) -> Result<(), Failure> {
    let Args { error, space, height, bounded, drop, keep, meshopt, mesh, khr, .. } = args;
    let each = Each {
        inputs: &args.models,
        output: &args.output,
        overwrite: args.overwrite,
        threads: Threads::default(),
        settings: format!("{:?}", (error, space, height, bounded, drop, keep, meshopt, mesh, khr)),
        what: "packing",
        json: args.json,
    };
    each.run(|source| {
        let mut job = Job::reading(&source.path)?;
        let to = args.output.join(&source.inside).with_extension("glb");
        let (bytes, outcome) = pack(args, &source.path, &to, &mut job)?;
        let mut lines = outcome.lines(json!(null));
        let figures = lines.pop().and_then(|line| line.as_object().cloned()).unwrap_or_default();
        let mut figures: Map<_, _> = figures.into_iter().filter(|(name, _)| name != "file").collect();
        figures["clips"] = lines.into();
        Ok(Product { bytes, files: job.sources().clone(), figures })
    })
}

/// Packs a file, and returns the document with its figures.
fn pack(args: &Args, path: &Path, to: &Path, job: &mut Job) -> Result<(Vec<u8>, Outcome), Failure> {
    let (asset, metres) = open(args, path, job)?;
    let bounds = Bounds::new(args, path, &asset, metres)?;
    afford(args, path, job, &asset, &bounds)?;
    let dropped = if args.drop { dropped(&asset, &args.keep)? } else { BTreeSet::new() };
    let packing = Packing { args, path, to, name: path_text(path), asset: &asset, bounds, dropped };
    let mut packed = packing.clips()?;
    let meshes = packing.meshes(&packed.glb)?;
    if let Some(meshes) = &meshes {
        packed.glb = meshes.glb().to_vec();
    }
    let rows = packing.rows(&packed)?;
    warn_of_errors(path, &rows, packing.bounds.clip_metres());
    let outcome = packing.outcome(rows, &packed, meshes)?;
    Ok((packed.glb, outcome))
}

/// Opens the model, and returns it with its metres per unit.
fn open(args: &Args, path: &Path, job: &mut Job) -> Result<(Asset, f64), Failure> {
    if is_container(path) {
        return Err(Failure::Usage(format!(
            "{} is compressed already; `condyle decode` writes its clips as a document",
            path_text(path)
        )));
    }
    let mut asset = job.open_asset(path, || document::open(path, args.space, false))?;
    // All animations are rewritten, so parts that Condyle does not support are lost.
    let of_animations = |p: &&Problem| p.severity == Severity::Warning && p.place.starts_with("/animations");
    asset.problems.iter().filter(of_animations).for_each(|problem| warn(path, &problem.to_string()));
    let metres = metres_per_unit(path, &mut asset, args.space, args.height.length)?;
    args.error.warn_above(0.02, "--error");
    args.bounded.warn_of_size();
    if args.mesh && asset.instances.is_empty() {
        warn(path, "no node shows a mesh: --mesh has the effect of --meshopt");
    }
    Ok((asset, metres))
}

/// Checks the work on all clips and meshes.
fn afford(args: &Args, path: &Path, job: &Job, asset: &Asset, bounds: &Bounds) -> Result<(), Failure> {
    let name = path_text(path);
    let mut budget = job.budget(args.limit);
    for clip in &asset.clips {
        let options = EncodeOptions::new(bounds.clip, Shell::Balls(bounds.reach));
        let work = Work::keys(asset, clip, &options).map_err(|e| Failure::Data(format!("{name}: {e}")))?;
        budget.afford(&name, clip.name(), &work)?;
    }
    if bounds.mesh.is_some() {
        budget.afford_part(&name, "--mesh", &Work::meshes(asset))?;
    }
    Ok(())
}
