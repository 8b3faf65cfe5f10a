//! `condyle convert`: any file as an ordinary .glb.

use std::path::PathBuf;

use condyle_gltf::ClipExporter;
use serde_json::json;

use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::document::{self, warn_of_repairs};
use crate::options::heading::REPORT;
use crate::options::overwrite::Overwrite;
use crate::options::space::Space;
use crate::output::{check_destination, check_ending, print, print_json, warn, write_file};
use crate::text::{counted, path_text, size};

/// Convert a model or motion to an ordinary .glb
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle convert walk.bvh -o motion.glb --unit 1cm --up z
  condyle convert character.fbx -o converted.glb

The keys of the clips stay as they are. An FBX file becomes a document in metres, +Y up, without helper
nodes: its skeleton, skins, blend shapes, takes, materials and textures, which are looked for in its
folder and below. `condyle check` lists what is dropped or approximated.

`condyle pack` writes smaller animations, and `condyle decode` the clips of a .condyle.")]
pub(crate) struct Args {
    /// Model or motion: .fbx, .bvh, .glb, .gltf or .vrm
    model: PathBuf,
    /// Output file; missing folders are created
    #[arg(short, long, value_name = "OUT.glb")]
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
    let path = &args.model;
    let name = path_text(path);
    check_ending(&args.output, "glb", "binary glTF")?;
    check_destination(&args.output, &document::sources(path, None), args.overwrite)?;
    if is_container(path) {
        return Err(Failure::Usage(format!(
            "{name} is compressed; `condyle decode` writes its clips as a document"
        )));
    }
    let asset = document::open(path, args.space, false)?;
    check_destination(&args.output, &document::sources(path, Some(&asset.document)), args.overwrite)?;
    warn_of_repairs(path, &asset);
    let exporter = ClipExporter::new(&asset);
    exporter.problems().iter().for_each(|problem| warn(path, &problem.to_string()));
    let glb = exporter.glb(&asset.clips).map_err(|e| Failure::Data(format!("{name}: {e}")))?;
    let file = write_file(args.output.clone(), |out| out.write_all(&glb))?;
    let (joints, meshes, clips) = (asset.skeleton.joint_count(), asset.instances.len(), asset.clips.len());
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
