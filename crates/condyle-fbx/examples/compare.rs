//! Compares the joints of FBX files with the evaluation of ufbx, at keys and between, and prints the
//! differences.
//!
//! `cargo run --release -p condyle-fbx --example compare -- FOLDER_OR_FILE ...`
//!
//! The reference keeps unit, axes and ways to inherit scale in the scene, unlike the import: its root is
//! scaled and rotated, and `evaluate_scene` multiplies matrices in f64.

use std::path::{Path, PathBuf};

use condyle::sampling::PoseSource;
use condyle::{Affine, Pose, local_to_model};
use condyle_gltf::{Asset, Document};
use ufbx::{AnimStack, CoordinateAxes, EvaluateOpts, LoadOpts, Scene, SceneRoot};

/// Moments compared in one take.
const MOMENTS: usize = 60;

/// Differences found in one file, in sizes of the model, and of the linear part.
#[derive(Default)]
struct Found {
    rest: f64,
    keys: f64,
    between: f64,
    linear: f64,
    joints: usize,
    takes: usize,
    bytes: usize,
    at: String,
    /// Whether the file has transforms that no chain of nodes has.
    sheared: bool,
}

fn main() {
    let mut files = Vec::new();
    for path in std::env::args_os().skip(1) {
        gather(Path::new(&path), &mut files);
    }
    files.sort();
    let (mut opened, mut refused, mut above, mut sheared) = (0, 0, 0, 0);
    let mut worst = [0.0_f64; 4];
    let mut moments = 0;
    for path in &files {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let name = path.display().to_string();
        match file(&name, &bytes, &mut moments) {
            Ok(Some(found)) => {
                opened += 1;
                if found.sheared {
                    println!("sheared: {name} {}", found.at);
                    sheared += 1;
                    continue;
                }
                let all = [found.rest, found.keys, found.between, found.linear];
                worst.iter_mut().zip(all).for_each(|(worst, it)| *worst = worst.max(it));
                let most = all.into_iter().fold(0.0, f64::max);
                above += usize::from(most > 1e-6);
                if most > 1e-6 || files.len() < 20 {
                    println!(
                        "{:.1e} rest  {:.1e} keys  {:.1e} between  {:.1e} linear  \
                         {} joints  {} takes  {} -> {} bytes  {name} {}",
                        found.rest,
                        found.keys,
                        found.between,
                        found.linear,
                        found.joints,
                        found.takes,
                        bytes.len(),
                        found.bytes,
                        found.at
                    );
                }
            }
            Ok(None) => {}
            Err(error) => {
                refused += 1;
                println!("refused: {name}: {error}");
            }
        }
    }
    println!(
        "{} files, {opened} opened, {refused} refused, {sheared} sheared, {above} above 1e-6, {moments} poses; \
         worst: rest {:.1e}, keys {:.1e}, between {:.1e}, linear {:.1e}",
        files.len(),
        worst[0],
        worst[1],
        worst[2],
        worst[3]
    );
}

fn gather(path: &Path, files: &mut Vec<PathBuf>) {
    if let Ok(entries) = std::fs::read_dir(path) {
        entries.flatten().for_each(|entry| gather(&entry.path(), files));
    } else if path.extension().is_some_and(|it| it.eq_ignore_ascii_case("fbx")) {
        files.push(path.into());
    }
}

/// Returns `None` if neither reader opens the file.
fn file(name: &str, bytes: &[u8], count: &mut usize) -> Result<Option<Found>, String> {
    let reference = reference(bytes);
    let ours = condyle_fbx::read(name, bytes, &mut |_| None);
    let (scene, document) = match (reference, ours) {
        (Ok(scene), Ok(document)) => (scene, document),
        (Err(_), Err(_)) => return Ok(None),
        (Err(error), Ok(_)) => return Err(format!("only ufbx: {error}")),
        (Ok(_), Err(refused)) => return Err(refused.to_string()),
    };
    let glb = Document::from_slice(name, &document.glb, None).map_err(|it| it.to_string())?;
    let asset = Asset::from_document(glb).map_err(|it| it.to_string())?;
    for problem in &asset.problems {
        if problem.severity == condyle_fbx::Severity::Warning {
            println!("{name}: {problem}");
        }
    }
    let sheared = document.problems.iter().any(|it| it.what.contains("sheared"));
    let mut found = Found {
        sheared,
        bytes: document.glb.len(),
        joints: asset.skeleton.joint_count(),
        ..Found::default()
    };
    let mut pose = Pose::rest(&asset.skeleton);
    let mut model = vec![Affine::IDENTITY; asset.skeleton.joint_count()];
    let fail = |error: condyle::Error| error.to_string();
    local_to_model(&asset.skeleton, &pose, &mut model).map_err(fail)?;
    let size = size(&scene);
    (found.rest, found.linear) = difference(&asset, &model, &scene, size, &mut found.at);
    let mut clips = asset.clips.iter();
    for stack in &scene.anim_stacks {
        if !has_tracks(stack) {
            continue;
        }
        let Some(clip) = clips.next() else { break };
        found.takes += 1;
        let (start, end) = range(stack);
        let mut keys = key_times(stack, start, end);
        let step = keys.len().div_ceil(MOMENTS).max(1);
        keys = keys.into_iter().step_by(step).collect();
        let between: Vec<f64> = keys.windows(2).map(|it| it[0] + (it[1] - it[0]) * 0.381).collect();
        for (time, is_key) in keys.iter().map(|it| (*it, true)).chain(between.iter().map(|it| (*it, false))) {
            // The time of a key is stored as f32; a jump is then at that time.
            let stored = if is_key { f64::from((time - start) as f32) } else { time - start };
            clip.pose(&asset.skeleton, stored, &mut pose).map_err(fail)?;
            local_to_model(&asset.skeleton, &pose, &mut model).map_err(fail)?;
            let (mut at, mut moved, mut linear) = (String::new(), f64::INFINITY, f64::INFINITY);
            let moments = if is_key { vec![time, start + stored] } else { vec![time] };
            for time in &moments {
                let posed = ufbx::evaluate_scene(&scene, &stack.anim, *time, EvaluateOpts::default());
                let Ok(posed) = posed else { continue };
                let it = difference(&asset, &model, &posed, size, &mut at);
                if it.0.max(it.1) < moved.max(linear) {
                    (moved, linear) = it;
                }
            }
            *count += 1;
            let kind = if is_key { &mut found.keys } else { &mut found.between };
            if moved.max(linear) > found.linear.max(*kind) {
                found.at = format!("({at}, {} at {stored} s, {:e})", &*stack.element.name, moved.max(linear));
            }
            *kind = kind.max(moved);
            found.linear = found.linear.max(linear);
        }
    }
    Ok(Some(found))
}

fn reference(bytes: &[u8]) -> Result<SceneRoot, String> {
    let options = LoadOpts {
        target_axes: CoordinateAxes::right_handed_y_up(),
        target_unit_meters: 1.0,
        file_format: ufbx::FileFormat::Fbx,
        handedness_conversion_axis: ufbx::MirrorAxis::X,
        ..LoadOpts::default()
    };
    ufbx::load_memory(bytes, options).map_err(|error| error.description.to_string())
}

/// Largest distance of a joint, in sizes, and of an entry of the linear part.
fn difference(asset: &Asset, model: &[Affine], scene: &Scene, size: f64, at: &mut String) -> (f64, f64) {
    let root = &scene.root_node.node_to_world;
    let unit = (root.m00 * root.m00 + root.m10 * root.m10 + root.m20 * root.m20).sqrt();
    let (mut moved, mut linear) = (0.0_f64, 0.0_f64);
    // Motion can lead far beyond the model; f32 then has fewer digits left.
    let far = scene.nodes.into_iter().map(|it| it.node_to_world).flat_map(|m| [m.m03, m.m13, m.m23]);
    let size = far.fold(size, |size, v| size.max(v.abs()));
    for (joint, matrix) in model.iter().enumerate() {
        let Some(node) = asset.skeleton.nodes().get(joint) else { continue };
        // The root of the scene is its first node.
        let Some(node) = scene.nodes.get(*node as usize + 1) else { continue };
        let m = &node.node_to_world;
        let want = [[m.m00, m.m01, m.m02, m.m03], [m.m10, m.m11, m.m12, m.m13], [m.m20, m.m21, m.m22, m.m23]];
        let largest = want.iter().flat_map(|row| &row[..3]).fold(unit, |most, v| most.max(v.abs()));
        for (got, want) in matrix.rows.iter().zip(want) {
            let off = (f64::from(got[3]) - want[3]).abs() / size;
            if off > moved {
                moved = off;
                *at = node.element.name.to_string();
            }
            for (got, want) in got[..3].iter().zip(want) {
                let off = (f64::from(*got) * unit - want).abs() / largest;
                if off > linear.max(moved) {
                    *at = node.element.name.to_string();
                }
                linear = linear.max(off);
            }
        }
    }
    (moved, linear)
}

fn size(scene: &Scene) -> f64 {
    let place = |axis: usize| {
        let all = scene.nodes.into_iter().flat_map(move |it| {
            let m = &it.node_to_world;
            let vertices = it.mesh.as_ref().map_or(&[][..], |mesh| &mesh.vertices);
            let vertices = vertices.iter().map(move |v| {
                let v = ufbx::transform_position(&it.geometry_to_world, *v);
                [v.x, v.y, v.z][axis]
            });
            vertices.chain([[m.m03, m.m13, m.m23][axis]])
        });
        let (low, high) = all.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        high - low
    };
    let size = (0..3).map(place).fold(0.0, f64::max);
    if size > 0.0 { size } else { 1.0 }
}

fn has_tracks(stack: &AnimStack) -> bool {
    stack.layers.into_iter().flat_map(|layer| &*layer.anim_props).any(|it| {
        let name = &*it.prop_name;
        ["Lcl Translation", "Lcl Rotation", "Lcl Scaling", "DeformPercent"].contains(&name)
    })
}

fn range(stack: &AnimStack) -> (f64, f64) {
    if stack.time_begin < stack.time_end {
        return (stack.time_begin, stack.time_end);
    }
    let curves = stack
        .layers
        .into_iter()
        .flat_map(|layer| &*layer.anim_values)
        .flat_map(|it| it.curves.iter().flatten());
    curves.fold((f64::MAX, f64::MIN), |(a, b), it| (a.min(it.min_time), b.max(it.max_time)))
}

fn key_times(stack: &AnimStack, start: f64, end: f64) -> Vec<f64> {
    let values = stack.layers.into_iter().flat_map(|layer| &layer.anim_values);
    let keys = values.flat_map(|it| it.curves.iter().flatten()).flat_map(|it| &*it.keyframes);
    let mut times: Vec<f64> = keys.map(|it| it.time).filter(|it| (start..=end).contains(it)).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}
