//! Compares the result for a file with the evaluation of ufbx.
//!
//! The reference keeps unit, axes and ways to inherit scale in the scene, unlike the import: its root is
//! scaled and rotated, and ufbx multiplies matrices and skins vertices in f64.

use condyle::sampling::PoseSource;
use condyle::{Affine, Pose, local_to_model};
use condyle_gltf::{Asset, Document, Poser, PoserOptions};
use ufbx::{Anim, AnimStack, CoordinateAxes, EvaluateOpts, LoadOpts, Scene, SceneRoot};

/// Moments compared in one take.
const MOMENTS: usize = 60;

/// Differences found in one file, in sizes of the model, and of the linear part.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) rest: f64,
    pub(crate) keys: f64,
    pub(crate) between: f64,
    pub(crate) linear: f64,
    pub(crate) joints: usize,
    pub(crate) takes: usize,
    pub(crate) bytes: usize,
    pub(crate) at: String,
    /// Whether the file has transforms that no chain of nodes has.
    pub(crate) sheared: bool,
    /// Distance of a corner of a triangle from ufbx's skinned mesh, in sizes, at rest and posed.
    pub(crate) vertices: f64,
    /// Corners compared.
    pub(crate) corners: usize,
}

/// Returns `None` if neither reader opens the file.
pub(crate) fn file(name: &str, bytes: &[u8], count: &mut usize) -> Result<Option<Found>, String> {
    let reference = reference(bytes);
    let ours = condyle_fbx::read(name, bytes, &mut |_| None);
    let (scene, document) = match (reference, ours) {
        (Ok(scene), Ok(document)) => (scene, document),
        (Err(_), Err(_)) => return Ok(None),
        (Err(error), Ok(_)) => return Err(format!("only ufbx: {error}")),
        (Ok(_), Err(refused)) => return Err(refused.to_string()),
    };
    let glb = document.glb().map_err(|it| it.to_string())?;
    let asset = Document::from_json(name, document.json, &document.binary).and_then(Asset::from_document);
    let asset = asset.map_err(|it| it.to_string())?;
    for problem in &asset.problems {
        if problem.severity == condyle_fbx::Severity::Warning {
            println!("{name}: {problem}");
        }
    }
    let sheared = document.problems.iter().any(|it| it.what.contains("sheared"));
    let mut found =
        Found { sheared, bytes: glb.len(), joints: asset.skeleton.joint_count(), ..Found::default() };
    let mut pose = Pose::rest(&asset.skeleton);
    let mut model = vec![Affine::IDENTITY; asset.skeleton.joint_count()];
    let fail = |error: condyle::Error| error.to_string();
    local_to_model(&asset.skeleton, &pose, &mut model).map_err(fail)?;
    let size = size(&scene);
    (found.rest, found.linear) = difference(&asset, &model, &scene, size, &mut found.at);
    let mut poser = Poser::new(&asset, PoserOptions::default()).map_err(fail)?;
    poser.pose(None::<&condyle::RawClip>, 0.0).map_err(fail)?;
    corners(&asset, &poser, &scene, size, &mut found);
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
        for time in keys.iter().copied().step_by(keys.len().div_ceil(4).max(1)) {
            let stored = f64::from((time - start) as f32);
            poser.pose(Some(clip), stored).map_err(fail)?;
            if let Some(posed) = skinned(&scene, &stack.anim, time) {
                corners(&asset, &poser, &posed, size, &mut found);
            }
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
        evaluate_skinning: true,
        ..LoadOpts::default()
    };
    ufbx::load_memory(bytes, options).map_err(|error| error.description.to_string())
}

/// Evaluates skins and blend shapes too.
fn skinned(scene: &Scene, anim: &Anim, time: f64) -> Option<SceneRoot> {
    let options = EvaluateOpts { evaluate_skinning: true, ..EvaluateOpts::default() };
    ufbx::evaluate_scene(scene, anim, time, options).ok()
}

/// Compares the corners of all triangles, in the order of the file.
fn corners(asset: &Asset, poser: &Poser<'_>, scene: &Scene, size: f64, found: &mut Found) {
    for (index, instance) in asset.instances.iter().enumerate() {
        let Some(node) = scene.nodes.get(instance.node + 1) else { continue };
        let Some(mesh) = &node.mesh else { continue };
        let is_linear = |it: &ufbx::SkinDeformer| it.skinning_method == ufbx::SkinningMethod::Linear;
        if mesh.skin_deformers.len() > 1 || !mesh.skin_deformers.into_iter().all(is_linear) {
            continue;
        }
        let mut order: Vec<u32> = Vec::new();
        // For each part, the corners of each face. Which diagonal splits it can depend on the unit.
        let mut wanted: Vec<Vec<Vec<ufbx::Vec3>>> = Vec::new();
        let mut buffer = vec![0; mesh.max_face_triangles * 3];
        for (face_index, face) in mesh.faces.iter().enumerate().filter(|it| it.1.num_indices >= 3) {
            if mesh.face_hole.get(face_index).copied().unwrap_or(false) {
                continue;
            }
            let material = mesh.face_material.get(face_index).copied().unwrap_or(0);
            let part = order.iter().position(|it| *it == material).unwrap_or_else(|| {
                order.push(material);
                wanted.push(Vec::new());
                order.len() - 1
            });
            let count = ufbx::triangulate_face(&mut buffer, mesh, *face) as usize * 3;
            let corners = buffer[..count].iter().map(|corner| {
                let place = ufbx::get_vertex_vec3(&mesh.skinned_position, *corner as usize);
                match mesh.skinned_is_local {
                    true => ufbx::transform_position(&node.geometry_to_world, place),
                    false => place,
                }
            });
            wanted[part].push(corners.collect());
        }
        let far = wanted
            .iter()
            .flatten()
            .flatten()
            .fold(size, |m, v| m.max(v.x.abs()).max(v.y.abs()).max(v.z.abs()));
        for (primitive, posed) in instance.primitives.iter().zip(poser.posed(index)) {
            let mut corners = primitive.triangles().flatten();
            let Some(wanted) = wanted.get(primitive.index) else { continue };
            let faces = wanted.iter().flat_map(|face| face.iter().map(move |_| face));
            for (face, corner) in faces.zip(&mut corners) {
                let got = posed.positions[corner as usize].map(f64::from);
                let off = face.iter().map(|want| {
                    let off = [want.x, want.y, want.z].into_iter().zip(got).map(|(w, g)| (w - g).abs());
                    off.fold(0.0, f64::max) / far
                });
                let off = off.fold(f64::INFINITY, f64::min);
                if off > found.vertices {
                    found.vertices = off;
                    found.at = format!("(mesh of {})", &*node.element.name);
                }
                found.corners += 1;
            }
            if corners.next().is_some() {
                found.vertices = f64::INFINITY;
            }
        }
    }
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
