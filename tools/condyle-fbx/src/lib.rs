//! Reads FBX files as glTF documents.
//!
//! ```text
//!  condyle-base ── condyle ── condyle-encode, -solve, -query ── condyle-fbx, -gltf, -bvh, -body ── condyle-io
//!                                                               ^ here
//! ```
//!
//! | input | output |
//! |---|---|
//! | bytes of an FBX file, and a function that reads its textures | a [`Document`]: glTF JSON and its buffer, or a `.glb`, and problems |
//! | a file that cannot be used | [`Refused`] with the reason |
//!
//! ```
//! let text = br#"; FBX 7.4.0 project file
//! FBXHeaderExtension: { FBXHeaderVersion: 1003
//! FBXVersion: 7400 }
//! Objects: { Model: 1, "Model::Hips", "LimbNode" { Version: 232 } }
//! Connections: { C: "OO", 1, 0 }"#;
//! let document = condyle_fbx::read("hips.fbx", text, &mut |_| None)?;
//! assert!(document.glb()?.starts_with(b"glTF"));
//! # Ok::<(), condyle_fbx::Refused>(())
//! ```
//!
//! # Result
//!
//! - **Nodes** have the names of the file, in its hierarchy. Rotation orders, pre- and post-rotations,
//!   pivots, ways to inherit scale, axes and unit become plain local transforms, in metres, +Y up. There
//!   are no helper nodes.
//! - **Meshes** have triangles by material, all sets of texture coordinates and colours, all influences of
//!   a vertex, and a morph target for each blend shape. Geometric transforms are in the vertices or bind
//!   matrices. Hidden meshes are left out and reported, unless their visibility is animated.
//! - **Animations** are the takes, with the keys of their curves; the start of the take is at 0 s. A
//!   rotation is a spline through the keys, and keys are added where it would miss the Euler angles by more
//!   than 2e-5 degrees.
//! - **Materials** keep base colour, normal map, emission, occlusion, metalness and roughness. Images come
//!   from the file, its folder, or a folder below.
//!
//! Constraints, caches, cameras, lights, curves and NURBS are left out and reported.
//!
//! # Safety
//!
//! The parser is [ufbx](https://github.com/ufbx/ufbx), in C. Its memory and the size of the document are
//! limited in proportion to the file, and it opens no other file. This crate has no `unsafe`.
//!
//! Sources: the FBX SDK's documentation of transforms, as ufbx implements it; glTF 2.0.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod buffer;
mod context;
mod curve;
mod glb;
mod load;
mod materials;
mod meshes;
mod morphs;
mod problems;
mod rig;
mod skins;
mod takes;
mod visibility;

use std::path::Path;

use serde_json::{Value, json};
use ufbx::{ElementType, Node, Scene, Transform};

pub use condyle_base::problem::{Problem, Refused, Severity};

use crate::buffer::TooLarge;
use crate::context::Context;
use crate::materials::Materials;
use crate::meshes::{MeshIndices, Meshes};
use crate::problems::Problems;
use crate::rig::Rig;
use crate::takes::Takes;

/// A glTF document made from an FBX file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Document {
    /// The glTF JSON.
    pub json: Value,
    /// Bytes of the only buffer, with all images, padded to a multiple of 4. Empty if there is no buffer.
    pub binary: Vec<u8>,
    /// Indices of the nodes that are bones in the file, even if no skin and no animation uses them.
    pub bones: Vec<usize>,
    /// Everything that was dropped or approximated, warnings first.
    pub problems: Vec<Problem>,
    name: String,
}

impl Document {
    /// Returns the bytes of a `.glb`.
    ///
    /// # Errors
    /// [`Refused`] if the `.glb` would have more than 4 GiB.
    pub fn glb(&self) -> Result<Vec<u8>, Refused> {
        glb::write(&self.json, &self.binary).map_err(|TooLarge| refused(&self.name))
    }
}

/// Whether a file begins like an FBX file, binary or ASCII.
///
/// ```
/// assert!(condyle_fbx::recognise(b"Kaydara FBX Binary  \0\x1a\0"));
/// assert!(condyle_fbx::recognise(b"; FBX 7.3.0 project file\n"));
/// assert!(!condyle_fbx::recognise(b"glTF"));
/// ```
#[must_use]
pub fn recognise(first: &[u8]) -> bool {
    first.starts_with(b"Kaydara FBX Binary") || first.starts_with(b"; FBX ")
}

/// Reads an FBX file.
///
/// `name` is used in messages. `file` returns the bytes of a texture by its path relative to the file, with
/// `/` and without `..`, or `None`. It is called only for textures that the file does not contain.
///
/// # Errors
/// [`Refused`] if the file is no FBX file, is damaged, or would take more memory than its size allows.
pub fn read(
    name: &str,
    bytes: &[u8],
    file: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
) -> Result<Document, Refused> {
    let scene = load::scene(bytes).map_err(|what| Refused::because(name, what))?;
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut materials = Materials::new(&scene, &stem, file);
    let context = Context::new(&scene, bytes.len());
    let mut document = document(context, &mut materials, bytes.len()).map_err(|TooLarge| refused(name))?;
    document.name = name.into();
    Ok(document)
}

fn refused(name: &str) -> Refused {
    Refused::because(name, "its meshes or animations are far larger than the file")
}

fn document(
    mut context: Context<'_>,
    materials: &mut Materials<'_>,
    len: usize,
) -> Result<Document, TooLarge> {
    let scene = context.scene;
    let rig = Rig::new(scene);
    let mut meshes = Meshes::new(materials.add_all(&mut context)?);
    let hidden = visibility::hidden(scene, &mut context.problems);
    let mut has_mesh = vec![false; scene.nodes.len()];
    let mut nodes = Vec::with_capacity(scene.nodes.len());
    for node in scene.nodes.into_iter().filter(|node| !node.is_root) {
        let mut out = self::node(&rig, node, &mut context);
        let id = node.element.typed_id as usize;
        if let Some(mesh) = node.mesh.as_ref().filter(|_| !hidden[id]) {
            let MeshIndices { mesh, skin } = meshes.add(node, mesh, &mut context)?;
            if let Some(mesh) = mesh {
                out["mesh"] = mesh.into();
                has_mesh[id] = true;
            }
            if let Some(skin) = skin {
                out["skin"] = skin.into();
            }
        }
        nodes.push(out);
    }
    meshes::report(scene, &mut context.problems);
    report(scene, &mut context.problems);
    let animations = Takes::new(&rig, &has_mesh, size(scene), len).animations(&mut context)?;
    let mut json = root(&context, materials.is_transformed);
    for (key, list) in [
        ("nodes", nodes),
        ("meshes", meshes.meshes),
        ("skins", meshes.skins.skins),
        ("materials", std::mem::take(&mut materials.materials)),
        ("textures", std::mem::take(&mut materials.textures)),
        ("images", std::mem::take(&mut materials.images)),
        ("samplers", std::mem::take(&mut materials.samplers)),
        ("animations", animations),
    ] {
        if !list.is_empty() {
            json[key] = list.into();
        }
    }
    let Context { buffer, mut problems, .. } = context;
    let replaced = buffer.replaced();
    if replaced > 0 {
        let what = format!("{replaced} numbers are infinite or not a number");
        problems.warn(String::new(), what, "they are replaced by 0");
    }
    let binary = buffer.finish(&mut json);
    let bones = scene.nodes.into_iter().filter(|node| !node.is_root);
    let bones = bones.enumerate().filter(|(_, node)| node.bone.is_some()).map(|(index, _)| index).collect();
    Ok(Document { json, binary, bones, problems: problems.into_list(), name: String::new() })
}

/// The document's root, with its scene.
fn root(context: &Context<'_>, is_transformed: bool) -> Value {
    let roots = children(&context.scene.root_node, context);
    let mut scene = json!({});
    if !roots.is_empty() {
        scene["nodes"] = roots.into();
    }
    let mut json = json!({
        "asset": {"version": "2.0", "generator": concat!("condyle-fbx ", env!("CARGO_PKG_VERSION"))},
        "scene": 0,
        "scenes": [scene],
    });
    if is_transformed {
        json["extensionsUsed"] = json!(["KHR_texture_transform"]);
    }
    json
}

/// A node with its transform at rest.
fn node(rig: &Rig<'_>, node: &Node, context: &mut Context<'_>) -> Value {
    let local = rig.local(None, node, 0.0);
    if local.sheared {
        context.problems.warn(format!("node {}", &*node.element.name), rig::SHEARED, rig::NEAREST);
    }
    let mut out = json!({});
    if !node.element.name.is_empty() {
        out["name"] = (&*node.element.name).into();
    }
    let Transform { translation: t, rotation: r, scale: s } = local.transform;
    for (key, values, rest) in [
        ("translation", &[t.x, t.y, t.z][..], 0.0),
        ("rotation", &[r.x, r.y, r.z, r.w], f64::NAN),
        ("scale", &[s.x, s.y, s.z], 1.0),
    ] {
        let is_rest = values.iter().all(|v| *v == rest) || values == [0.0, 0.0, 0.0, 1.0];
        if values.iter().any(|v| !(*v as f32).is_finite()) {
            context.problems.warn(
                format!("node {}", &*node.element.name),
                format!("its {key} is not finite"),
                "it is left out",
            );
        } else if !is_rest {
            out[key] = values.iter().map(|v| *v as f32).collect::<Vec<_>>().into();
        }
    }
    let below = children(node, context);
    if !below.is_empty() {
        out["children"] = below.into();
    }
    out
}

fn children(node: &Node, context: &Context<'_>) -> Vec<usize> {
    node.children.into_iter().filter_map(|child| context.node(child.element.typed_id)).collect()
}

/// Vertices of a mesh that count for the size.
const VERTICES: usize = 1 << 16;

/// Extent of all nodes and meshes at rest in metres: the unit of errors.
fn size(scene: &Scene) -> f64 {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    let mut add = |v: [f64; 3]| {
        for ((low, high), v) in low.iter_mut().zip(&mut high).zip(v) {
            if v.is_finite() {
                *low = low.min(v);
                *high = high.max(v);
            }
        }
    };
    for node in &scene.nodes {
        let m = &node.node_to_world;
        add([m.m03, m.m13, m.m23]);
        let vertices = node.mesh.as_ref().map_or(&[][..], |mesh| &mesh.vertices);
        for vertex in vertices.iter().take(VERTICES) {
            let place = ufbx::transform_position(&node.geometry_to_world, *vertex);
            add([place.x, place.y, place.z]);
        }
    }
    let size = (0..3).map(|axis| high[axis] - low[axis]).fold(0.0, f64::max);
    if size > 0.0 && size.is_finite() { size } else { 1.0 }
}

/// Reports what the document leaves out.
fn report(scene: &Scene, problems: &mut Problems) {
    for warning in &scene.metadata.warnings {
        let what = &*warning.description;
        problems.note(String::new(), what, "the reader of the file repaired it");
    }
    for constraint in &scene.constraints {
        problems.warn(
            format!("constraint {}", &*constraint.element.name),
            format!("a constraint ({})", &*constraint.type_name),
            "constraints are left out; bake them in the program that wrote the file",
        );
    }
    let name = |attribute: ElementType| match attribute {
        ElementType::Light => Some("lights"),
        ElementType::Camera | ElementType::StereoCamera | ElementType::CameraSwitcher => Some("cameras"),
        ElementType::LineCurve | ElementType::NurbsCurve => Some("curves"),
        ElementType::NurbsSurface | ElementType::NurbsTrimSurface => Some("NURBS"),
        ElementType::ProceduralGeometry => Some("procedural geometry"),
        _ => None,
    };
    for node in &scene.nodes {
        let place = || format!("node {}", &*node.element.name);
        for attribute in &node.all_attribs {
            if let Some(kind) = name(attribute.type_) {
                problems.note(
                    place(),
                    format!("the node has {kind}"),
                    "such content is left out; the node is kept",
                );
            }
        }
        let meshes = node.all_attribs.into_iter().filter(|it| it.type_ == ElementType::Mesh).count();
        if meshes > 1 {
            problems.warn(place(), format!("{meshes} meshes"), "the first mesh of a node is used");
        }
    }
}
