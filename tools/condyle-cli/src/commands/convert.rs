//! `condyle convert`: any file as an ordinary .glb.

use std::path::{Path, PathBuf};

use condyle_gltf::ClipExporter;
use condyle_io::job::Product;
use serde_json::json;

use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::document;
use crate::options::each::{Each, single};
use crate::options::heading::REPORT;
use crate::options::job::Job;
use crate::options::overwrite::Overwrite;
use crate::options::space::Space;
use crate::options::threads::Threads;
use crate::output::{check_ending, print, print_json, warn, write_file};
use crate::text::{counted, path_text, size};

/// Convert a model or motion to an ordinary .glb
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle convert walk.bvh -o motion.glb --unit 1cm --up z
  condyle convert character.fbx -o converted.glb
  condyle convert mocap -o documents --unit 1cm              every file of a folder

The keys of the clips stay as they are. An FBX file becomes a document in metres, +Y up, without helper
nodes: its skeleton, skins, blend shapes, takes, materials and textures, which are looked for in its
folder and below. `condyle check` lists what is dropped or approximated.

A folder gives one output per file, in the same subfolders, and so do several files. The output folder
then has a .json next to each output, by which a later run makes only new and changed files.

`condyle pack` writes smaller animations, and `condyle decode` the clips of a .condyle.")]
pub(crate) struct Args {
    /// Models or motions: .fbx, .bvh, .glb, .gltf or .vrm, or one folder of such files
    #[arg(required = true, value_name = "MODEL|FOLDER")]
    models: Vec<PathBuf>,
    /// Output file, or output folder for several files or a folder; missing folders are created
    #[arg(short, long, value_name = "OUT.glb|FOLDER")]
    output: PathBuf,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print the figures as one JSON object
    #[arg(long, help_heading = REPORT)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Some(path) = single(&args.models) else {
        let each = Each {
            inputs: &args.models,
            output: &args.output,
            overwrite: args.overwrite,
            threads: Threads::default(),
            settings: format!("{:?}", args.space),
            what: "converting",
            json: args.json,
        };
        return each.run(|source| {
            let mut job = Job::reading(&source.path)?;
            let Converted { glb, joints, meshes, clips } = convert(args, &source.path, &mut job)?;
            let figures = [("joints", joints), ("meshes", meshes), ("clips", clips)];
            let figures = figures.map(|(name, count)| (name.to_owned(), count.into())).into_iter().collect();
            Ok(Product { bytes: glb, files: job.sources().clone(), figures })
        });
    };
    check_ending(&args.output, "glb", "binary glTF")?;
    let mut job = Job::writing(path, &args.output, args.overwrite)?;
    let Converted { glb, joints, meshes, clips } = convert(args, path, &mut job)?;
    let file = write_file(args.output.clone(), |out| out.write_all(&glb))?;
    if args.json {
        let figures = json!({ "file": file.to_json(), "joints": joints, "meshes": meshes, "clips": clips });
        return print_json(&figures.to_string());
    }
    print(&format!(
        "{}: {}, {}, {}, {}\n",
        path_text(&file.path),
        counted(joints, "joint", "joints"),
        counted(meshes, "mesh", "meshes"),
        counted(clips, "clip", "clips"),
        size(glb.len())
    ))
}

/// A converted file.
struct Converted {
    glb: Vec<u8>,
    joints: usize,
    meshes: usize,
    clips: usize,
}

fn convert(args: &Args, path: &Path, job: &mut Job) -> Result<Converted, Failure> {
    let name = path_text(path);
    if is_container(path) {
        return Err(Failure::Usage(format!(
            "{name} is compressed; `condyle decode` writes its clips as a document"
        )));
    }
    let asset = job.open_asset(path, || document::open(path, args.space, false))?;
    let exporter = ClipExporter::new(&asset);
    exporter.problems().iter().for_each(|problem| warn(path, &problem.to_string()));
    let glb = exporter.glb(&asset.clips).map_err(|e| Failure::Data(format!("{name}: {e}")))?;
    let (joints, meshes, clips) = (asset.skeleton.joint_count(), asset.instances.len(), asset.clips.len());
    Ok(Converted { glb, joints, meshes, clips })
}
