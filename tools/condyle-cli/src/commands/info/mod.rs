//! `condyle info`: the contents of a model.

mod container;

use std::path::{Path, PathBuf};

use condyle::{Interpolation, MorphTarget, RawClip};
use condyle_gltf::{Asset, Instance, Placement, Primitive};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::document;
use crate::model::problems::{problem_to_json, summary};
use crate::options::heading::REPORT;
use crate::options::space::{Height, Space};
use crate::output::{print, print_json};
use crate::text::{counted, fixed, path_text, printable, size, table};

/// Show the contents of a model: skeleton, clips, meshes, memory
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle info fox.glb
  condyle info fox.glb --json | jq '.clips[].name'
  condyle info walk.bvh                            motion capture: its joints, and its frames as a clip
  condyle info fox.condyle                         a container from condyle encode, entry by entry

Joints marked with * deform a mesh; the others are only their parents. Keys are counted over all
tracks of a clip. With --json, an unusable file is described as by check.")]
pub(crate) struct Args {
    /// Model: .glb, .gltf, .vrm, .fbx, .bvh or .condyle
    model: PathBuf,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    height: Height,
    /// Print the figures as one JSON object
    #[arg(long, help_heading = REPORT)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if is_container(&args.model) {
        if args.space.is_z_up() {
            return Err(Failure::Usage(format!(
                "{} is a container, whose axes were set by `condyle encode`: --up has no effect here",
                path_text(&args.model)
            )));
        }
        if args.height.length.is_some() {
            return Err(Failure::Usage(format!(
                "{} is compressed and states its unit: give --unit in place of --height",
                path_text(&args.model)
            )));
        }
        return container::run(&args.model, args.space.unit.map(|unit| unit.metres), args.json);
    }
    let mut asset = document::open(&args.model, args.space, args.json)?;
    if args.height.length.is_some() {
        document::metres_per_unit(&args.model, &mut asset, args.space, args.height.length)?;
    }
    let asset = &asset;
    let bytes = std::fs::metadata(&args.model).map_or(0, |m| m.len() as usize);
    match args.json {
        true => print_json(&format!("{:#}", to_json(asset, &args.model, bytes))),
        false => print(&to_text(asset, &args.model, bytes)),
    }
}

fn to_text(asset: &Asset, model: &Path, bytes: usize) -> String {
    let deforming = deforming(asset);
    let skeleton = &asset.skeleton;
    let mut out = format!("{}  {}\n", path_text(model), size(bytes));
    if let Ok(extent) = asset.extent() {
        let metres = asset.unit().unwrap_or(1.0);
        let [x, y, z] = extent.sizes.map(|units| fixed(units * metres, 3));
        let of = if extent.of_vertices { "vertices at rest" } else { "joints in the first frame" };
        out += &format!("\nSize  {x} x {y} x {z} m along X, Y and Z, of {of}");
        out += &asset.unit().map_or(String::from("\n"), |metres| format!("; 1 unit = {metres} m\n"));
    }

    let deform = deforming.iter().filter(|&&d| d).count();
    out += &format!("\nSkeleton  {}, {deform} deform\n", counted(skeleton.joint_count(), "joint", "joints"));
    out += &tree(asset, &deforming);

    out += &format!("\nClips  {}\n", asset.clips.len());
    out += &table(
        "><>>><>",
        asset.clips.iter().enumerate().map(|(index, clip)| {
            vec![
                index.to_string(),
                printable(clip.name()),
                format!("{:.3} to {:.3} s", clip.start(), clip.end()),
                counted(clip.tracks().len(), "track", "tracks"),
                counted(keys(clip), "key", "keys"),
                interpolations(clip).map(|(name, _)| name.replace('_', " ")).collect::<Vec<_>>().join(", "),
                size(clip.byte_count()),
            ]
        }),
    );

    if let Some(springs) = &asset.springs {
        let joints = counted(springs.joint_count(), "joint swings", "joints swing");
        let colliders = counted(springs.collider_count(), "collider", "colliders");
        out += &format!("\nSprings  {joints}, {colliders}\n");
    }

    out += &format!("\nMeshes  {}\n", counted(asset.instances.len(), "instance", "instances"));
    out += &table(
        "><<>>><<",
        asset.instances.iter().map(|instance| {
            let total = |f: fn(&Primitive) -> usize| instance.primitives.iter().map(f).sum::<usize>();
            let most = |f: fn(&Primitive) -> usize| instance.primitives.iter().map(f).max().unwrap_or(0);
            let targets = most(|p| p.mesh.morph_targets().len());
            vec![
                instance.node.to_string(),
                printable(&instance.name),
                placement(asset, instance),
                counted(instance.primitives.len(), "primitive", "primitives"),
                counted(total(|p| p.mesh.vertex_count()), "vertex", "vertices"),
                counted(total(|p| p.triangles().len()), "triangle", "triangles"),
                match instance.placement {
                    Placement::Skin(_) => format!(
                        "up to {}",
                        counted(most(|p| p.mesh.influences().longest_row()), "influence", "influences")
                    ),
                    _ => String::new(),
                },
                if targets > 0 { counted(targets, "morph target", "morph targets") } else { String::new() },
            ]
        }),
    );

    let memory = memory(asset);
    out += &format!("\nMemory  {}\n", size(memory.iter().map(|m| m.1).sum()));
    out += &table("<>", memory.into_iter().map(|(part, bytes)| vec![part.replace('_', " "), size(bytes)]));

    out += &match summary(&asset.problems) {
        none if none.is_empty() => "\nProblems  none\n".into(),
        some => format!("\nProblems  {some}; `condyle check {}` lists them\n", path_text(model)),
    };
    out
}

fn to_json(asset: &Asset, model: &Path, bytes: usize) -> Value {
    let skeleton = &asset.skeleton;
    let deforming = deforming(asset);
    let joint = |j: usize| {
        json!({
            "index": j,
            "name": skeleton.names()[j],
            "node": skeleton.node(j as u16),
            "parent": skeleton.parent(j as u16),
            "deforms": deforming[j],
        })
    };
    let clip = |(index, clip): (usize, &RawClip)| {
        json!({
            "index": index,
            "name": clip.name(),
            "start_seconds": clip.start(),
            "end_seconds": clip.end(),
            "tracks": clip.tracks().len(),
            "keys": keys(clip),
            "tracks_by_interpolation": interpolations(clip).map(|(n, c)| (n.into(), c.into())).collect::<Map<_, _>>(),
            "bytes": clip.byte_count(),
        })
    };
    let primitive = |p: &Primitive| {
        json!({
            "index": p.index,
            "material": p.material,
            "vertices": p.mesh.vertex_count(),
            "triangles": p.triangles().len(),
            "normals": !p.mesh.vertices().normals.is_empty(),
            "tangents": !p.mesh.vertices().tangents.is_empty(),
            "influences_max": p.mesh.influences().longest_row(),
            "morph_targets": p.mesh.morph_targets().len(),
        })
    };
    let instance = |i: &Instance| {
        let (skin, joint) = match i.placement {
            Placement::Skin(skin) => (Some(skin), None),
            Placement::Joint(joint) => (None, Some(joint)),
            Placement::Fixed(_) => (None, None),
        };
        json!({
            "node": i.node,
            "mesh": i.mesh,
            "name": i.name,
            "in_default_scene": i.in_default_scene,
            "skin": skin,
            "follows_joint": joint,
            "primitives": i.primitives.iter().map(primitive).collect::<Vec<_>>(),
        })
    };
    json!({
        "file": model.to_string_lossy(),
        "usable": true,
        "bytes": bytes,
        "metres_per_unit": asset.unit(),
        "size_m": asset.extent().ok().map(|it| it.sizes.map(|units| units * asset.unit().unwrap_or(1.0))),
        "skeleton": { "joints": (0..skeleton.joint_count()).map(joint).collect::<Vec<_>>() },
        "skins": asset.skins.iter().map(|s| json!({ "joints": s.joints() })).collect::<Vec<_>>(),
        "springs": asset.springs.as_ref().map(|springs| json!({ "joints": springs.joints().collect::<Vec<_>>(), "colliders": springs.collider_count() })),
        "clips": asset.clips.iter().enumerate().map(clip).collect::<Vec<_>>(),
        "instances": asset.instances.iter().map(instance).collect::<Vec<_>>(),
        "memory_bytes": memory(asset).into_iter().map(|(k, v)| (k.into(), v.into())).collect::<Map<_, _>>(),
        "problems": asset.problems.iter().map(problem_to_json).collect::<Vec<_>>(),
    })
}

/// Returns for each joint whether a skin names it.
fn deforming(asset: &Asset) -> Vec<bool> {
    let mut deforming = vec![false; asset.skeleton.joint_count()];
    for &joint in asset.skins.iter().flat_map(|skin| skin.joints()) {
        deforming[usize::from(joint)] = true;
    }
    deforming
}

/// Formats the joints as an indented tree, children below their parents in the order of the skeleton.
fn tree(asset: &Asset, deforming: &[bool]) -> String {
    /// Maximum depth that is indented. With a chain of 65,535 joints, full indentation would grow the output
    /// quadratically.
    const DEEPEST: usize = 60;
    let skeleton = &asset.skeleton;
    let mut children = vec![Vec::new(); skeleton.joint_count()];
    let mut roots = Vec::new();
    for joint in 0..skeleton.joint_count() {
        match skeleton.parent(joint as u16) {
            Some(parent) => children[usize::from(parent)].push(joint),
            None => roots.push(joint),
        }
    }
    let mut out = String::new();
    let mut open: Vec<(usize, String, bool)> =
        roots.into_iter().rev().map(|j| (j, "  ".into(), true)).collect();
    while let Some((joint, prefix, last)) = open.pop() {
        let is_root = skeleton.parent(joint as u16).is_none();
        let branch = match (is_root, last) {
            (true, _) => "",
            (false, true) => "└─ ",
            (false, false) => "├─ ",
        };
        let mark = if deforming[joint] { " *" } else { "" };
        out += &format!("{prefix}{branch}{}{mark}\n", printable(&skeleton.names()[joint]));
        let below = match (is_root, last) {
            _ if prefix.chars().count() > 3 * DEEPEST => prefix,
            (true, _) => prefix,
            (false, true) => prefix + "   ",
            (false, false) => prefix + "│  ",
        };
        let youngest = children[joint].last().copied();
        open.extend(children[joint].iter().rev().map(|&c| (c, below.clone(), Some(c) == youngest)));
    }
    out
}

fn placement(asset: &Asset, instance: &Instance) -> String {
    match instance.placement {
        Placement::Skin(skin) => {
            format!("skin {skin} of {}", counted(asset.skins[skin].joints().len(), "joint", "joints"))
        }
        Placement::Joint(joint) => {
            // A mesh node whose parent is a joint is itself part of the skeleton.
            let own = asset.skeleton.nodes()[usize::from(joint)] as usize == instance.node;
            let carrier = if own { asset.skeleton.parent(joint) } else { Some(joint) };
            match carrier {
                Some(joint) => format!("on {}", printable(&asset.skeleton.names()[usize::from(joint)])),
                None => "animated node".into(),
            }
        }
        Placement::Fixed(_) => "static".into(),
    }
}

/// Counts keys over all tracks: a timeline that tracks share counts once for each of them.
fn keys(clip: &RawClip) -> usize {
    clip.tracks().iter().map(|track| clip.timelines()[track.timeline].len()).sum()
}

/// Returns the kinds of interpolation in a clip, with the number of tracks that use each.
fn interpolations(clip: &RawClip) -> impl Iterator<Item = (&'static str, usize)> + '_ {
    let kinds = [
        (Interpolation::Step, "step"),
        (Interpolation::Linear, "linear"),
        (Interpolation::CubicSpline, "cubic_spline"),
    ];
    let count = |kind| clip.tracks().iter().filter(|t| t.interpolation == kind).count();
    kinds.into_iter().map(move |(kind, name)| (name, count(kind))).filter(|(_, count)| *count > 0)
}

/// Returns the bytes of each part of the asset. A mesh that several instances share is counted once.
fn memory(asset: &Asset) -> Vec<(&'static str, usize)> {
    let mut meshes: Vec<_> = asset.instances.iter().flat_map(|i| &i.primitives).map(|p| &p.mesh).collect();
    meshes.sort_by_key(|mesh| std::sync::Arc::as_ptr(mesh));
    meshes.dedup_by_key(|mesh| std::sync::Arc::as_ptr(mesh));
    let of_meshes = |f: fn(&condyle::SkinnedMesh) -> usize| meshes.iter().map(|mesh| f(mesh)).sum::<usize>();
    let skeleton = &asset.skeleton;
    let names: usize = skeleton.names().iter().map(|name| size_of::<String>() + name.len()).sum();
    vec![
        (
            "skeleton",
            size_of_val(skeleton.parents())
                + size_of_val(skeleton.nodes())
                + size_of_val(skeleton.rest().blocks())
                + names,
        ),
        ("skins", asset.skins.iter().map(|s| size_of_val(s.joints()) + size_of_val(s.inverse_bind())).sum()),
        ("clips", asset.clips.iter().map(RawClip::byte_count).sum()),
        (
            "vertices",
            of_meshes(|mesh| {
                let v = mesh.vertices();
                size_of_val(&*v.positions) + size_of_val(&*v.normals) + size_of_val(&*v.tangents)
            }),
        ),
        (
            "influences",
            of_meshes(|mesh| {
                let (starts, joints, weights) = mesh.influences().as_slices();
                size_of_val(starts) + size_of_val(joints) + size_of_val(weights)
            }),
        ),
        ("indices", of_meshes(|mesh| size_of_val(mesh.indices()))),
        ("morph_targets", of_meshes(|mesh| mesh.morph_targets().iter().map(MorphTarget::byte_count).sum())),
    ]
}
