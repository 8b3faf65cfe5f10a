//! Removes the movement from a document: animations, skins, morph targets, and the transforms of skinned
//! meshes.

use std::collections::{HashMap, HashSet};

use condyle::Target;

use super::ExportError;
use crate::asset::{Asset, Instance, Placement};
use crate::attributes::Faulty;
use crate::draco;
use crate::extensions::{remove_extension, unlist_extension};
use crate::extras;
use crate::json::{memory, whole};
use crate::value::{Map, Value};

/// A node whose transform changes with the pose.
#[derive(Debug, Clone, Copy)]
pub(super) struct MovingNode {
    pub(super) joint: usize,
    pub(super) node: usize,
}

/// A primitive whose vertices change with the pose.
#[derive(Debug, Clone, Copy)]
pub(super) struct BakedPrimitive {
    /// Index into [`Asset::instances`].
    pub(super) instance: usize,
    /// Index into [`Instance::primitives`].
    pub(super) primitive: usize,
    /// Index into the written meshes.
    pub(super) mesh: usize,
}

/// Returns the objects of a list such as `nodes`; none if the list is missing.
fn objects<'a>(parent: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Map> {
    let list = parent.get_mut(list).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Removes animations, skins, morph targets and influences, and the extensions that serve only these.
pub(super) fn remove_movement(json: &mut Value) {
    if let Some(root) = json.as_object_mut() {
        root.remove("animations");
        root.remove("skins");
        // Lists in a document must not be empty.
        root.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
    }
    for node in objects(json, "nodes") {
        node.remove("skin");
        node.remove("weights");
    }
    for mesh in json.get_mut("meshes").and_then(Value::as_array_mut).into_iter().flatten() {
        for primitive in objects(mesh, "primitives") {
            primitive.remove("targets");
            if let Some(attributes) = primitive.get_mut("attributes").and_then(Value::as_object_mut) {
                attributes.retain(|name, _| !name.starts_with("JOINTS_") && !name.starts_with("WEIGHTS_"));
            }
        }
        if let Some(mesh) = mesh.as_object_mut() {
            mesh.remove("weights");
            extras::remove_member(mesh, "targetNames");
        }
    }
    unlist_extension(json, "KHR_animation_pointer");
    remove_compressed_twins(json);
}

/// Removes compressed forms of primitives. Any that remain after reading also exist uncompressed.
pub(super) fn remove_compressed_twins(json: &mut Value) {
    for mesh in json.get_mut("meshes").and_then(Value::as_array_mut).into_iter().flatten() {
        objects(mesh, "primitives").for_each(|primitive| remove_extension(primitive, draco::EXTENSION));
    }
    unlist_extension(json, draco::EXTENSION);
}

/// Removes attributes that the importer found to be invalid.
pub(super) fn remove_attributes(json: &mut Value, faulty: &[Faulty]) {
    for Faulty { mesh, primitive, name } in faulty {
        let primitive = &mut json["meshes"][mesh]["primitives"][primitive];
        let compressed = format!("/extensions/{}/attributes", draco::EXTENSION);
        for place in ["/attributes", &compressed] {
            if let Some(attributes) = primitive.pointer_mut(place).and_then(Value::as_object_mut) {
                attributes.shift_remove(name);
            }
        }
    }
}

/// Selects instances.
pub(super) type Which = fn(&Instance) -> bool;

/// Turns each selected node into a root without a transform. Returns the node that each joint moves now.
///
/// A node that already is such a root does not change. The decision does not depend on the pose, so that all
/// poses of an asset have the same nodes.
pub(super) fn release_nodes(
    json: &mut Value,
    asset: &Asset,
    which: Which,
) -> Result<Vec<MovingNode>, ExportError> {
    let mut node_of_joint: Vec<Option<usize>> =
        asset.skeleton.nodes().iter().map(|&node| Some(node as usize)).collect();
    let Some(nodes) = json.get_mut("nodes").and_then(Value::as_array_mut) else { return Ok(vec![]) };
    let places = places(nodes, asset);
    let released = asset.instances.iter().filter(|instance| which(instance));
    // The new node that replaces each released node; `None` if it needs no replacement.
    let mut stand_ins: HashMap<usize, Option<usize>> = HashMap::new();
    for node in released.map(|instance| instance.node).filter(|&node| !places[node].still) {
        let Some(left) = nodes[node].as_object_mut().map(split) else { continue };
        let needed = ["children", "camera", "extensions"].iter().any(|&key| left.contains_key(key));
        let stand_in = needed.then_some(nodes.len());
        if needed {
            nodes.push(left.into());
        }
        stand_ins.insert(node, stand_in);
    }
    for node in nodes.iter_mut().filter_map(Value::as_object_mut) {
        edit_indices(node, "children", |child| {
            stand_ins.get(&child).map_or(Some(child), |&stand_in| stand_in)
        });
    }
    for node in &mut node_of_joint {
        *node = node.and_then(|node| stand_ins.get(&node).map_or(Some(node), |&stand_in| stand_in));
    }
    // A released root stays in its scenes, and its replacement is added to them. Any other released node is
    // added to the scenes of its root.
    let mut joining: HashMap<usize, Vec<usize>> = HashMap::new();
    for instance in &asset.instances {
        let Some(&stand_in) = stand_ins.get(&instance.node) else { continue };
        let root = places[instance.node].root;
        let joins = if root == instance.node { stand_in } else { Some(instance.node) };
        joining.entry(root).or_default().extend(joins);
    }
    let mut added = 0;
    for scene in objects(json, "scenes") {
        let Some(list) = scene.get_mut("nodes").and_then(Value::as_array_mut) else { continue };
        let mut seen = HashSet::new();
        let mut roots: Vec<usize> = indices(list).filter(|&root| seen.insert(root)).collect();
        // A thousand scenes can list the same root.
        let new = roots.iter().filter_map(|root| joining.get(root)).map(Vec::len).sum::<usize>();
        added = within_budget("roots of scenes", added + new * size_of::<Value>())?;
        let new: Vec<usize> = roots.iter().filter_map(|root| joining.get(root)).flatten().copied().collect();
        roots.extend(new);
        *list = roots.into_iter().map(Value::from).collect();
    }
    let moving = node_of_joint.into_iter().enumerate();
    Ok(moving.filter_map(|(joint, node)| Some(MovingNode { joint, node: node? })).collect())
}

/// Maximum number of bytes that one kind of copy may add to a document's JSON. Without it, a few kilobytes
/// could request gigabytes.
const MOST_ADDED: usize = 32 << 20;

fn within_budget(what: &'static str, bytes: usize) -> Result<usize, ExportError> {
    if bytes <= MOST_ADDED {
        Ok(bytes)
    } else {
        Err(ExportError::TooLarge { what, bytes, limit: MOST_ADDED })
    }
}

/// Removes everything except the mesh from a node, and returns it: transform, children, camera, light.
fn split(node: &mut Map) -> Map {
    const LIGHT: &str = "KHR_lights_punctual";
    let mut left = Map::new();
    for key in ["matrix", "translation", "rotation", "scale", "children", "camera"] {
        left.extend(node.remove_entry(key));
    }
    let extensions = node.get_mut("extensions").and_then(Value::as_object_mut);
    if let Some(light) = extensions.and_then(|extensions| extensions.remove_entry(LIGHT)) {
        left.insert("extensions".into(), Map::from_iter([light]).into());
        remove_extension(node, LIGHT);
    }
    left
}

/// Position of a node in the node hierarchy.
#[derive(Clone, Copy)]
struct Place {
    /// Its topmost ancestor, or the node itself.
    root: usize,
    /// Whether the node and all its ancestors always have the identity transform.
    still: bool,
}

fn places(nodes: &[Value], asset: &Asset) -> Vec<Place> {
    let mut own: Vec<bool> = nodes.iter().map(is_identity).collect();
    for track in asset.clips.iter().flat_map(|clip| clip.tracks()) {
        if let Target::Rotation(joint) | Target::Translation(joint) | Target::Scale(joint) = track.target {
            // Joints and tracks that the caller has added can lack a node.
            let node = asset.skeleton.nodes().get(usize::from(joint));
            if let Some(own) = node.and_then(|&node| own.get_mut(node as usize)) {
                *own = false;
            }
        }
    }
    let children = |node: usize| {
        let list = nodes[node].get("children").and_then(Value::as_array);
        indices(list.map_or(&[], Vec::as_slice)).filter(|&child| child < nodes.len())
    };
    let mut is_child = vec![false; nodes.len()];
    for child in (0..nodes.len()).flat_map(children) {
        is_child[child] = true;
    }
    let mut places: Vec<Place> = (0..nodes.len()).map(|root| Place { root, still: own[root] }).collect();
    // The importer ensures that every node has one parent at most, and that there are no cycles.
    let mut open: Vec<usize> = (0..nodes.len()).filter(|&node| !is_child[node]).collect();
    while let Some(parent) = open.pop() {
        for child in children(parent) {
            let Place { root, still } = places[parent];
            places[child] = Place { root, still: still && own[child] };
            open.push(child);
        }
    }
    places
}

fn indices(list: &[Value]) -> impl Iterator<Item = usize> + '_ {
    list.iter().filter_map(whole)
}

/// Edits or removes the indices in a list; removes the list if it becomes empty, because lists must not be
/// empty.
fn edit_indices(owner: &mut Map, key: &str, edit: impl Fn(usize) -> Option<usize>) {
    let Some(list) = owner.get_mut(key).and_then(Value::as_array_mut) else { return };
    *list = indices(list).filter_map(edit).map(Value::from).collect();
    if list.is_empty() {
        owner.remove(key);
    }
}

/// Returns whether a node's transform is the identity.
fn is_identity(node: &Value) -> bool {
    const MATRIX: [f64; 16] = [1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.];
    let is = |key: &str, default: &[f64]| {
        node.get(key).and_then(Value::as_array).is_none_or(|list| {
            list.len() == default.len() && list.iter().zip(default).all(|(v, d)| v.as_f64() == Some(*d))
        })
    };
    is("matrix", &MATRIX)
        && is("translation", &[0.; 3])
        && is("rotation", &[0., 0., 0., 1.])
        && is("scale", &[1.; 3])
}

/// Gives each selected node a separate mesh, without the attributes that will be replaced.
pub(super) fn give_each_posed_node_its_mesh(
    json: &mut Value,
    asset: &Asset,
    which: Which,
) -> Result<Vec<BakedPrimitive>, ExportError> {
    let Some(mut meshes) = json.get_mut("meshes").map(Value::take) else { return Ok(vec![]) };
    let mut baked = Vec::new();
    if let Some(meshes) = meshes.as_array_mut() {
        // Nodes with an unchanged mesh keep the document's entry; otherwise the first posed node takes it.
        let mut taken: Vec<bool> = vec![false; meshes.len()];
        for instance in asset.instances.iter().filter(|instance| !which(instance)) {
            taken[instance.mesh] = true;
        }
        let mut copied = 0;
        for (at, instance) in asset.instances.iter().enumerate().filter(|(_, instance)| which(instance)) {
            let mut mesh = instance.mesh;
            if std::mem::replace(&mut taken[mesh], true) {
                // Each copy repeats the mesh's extras and extensions, whose size is not limited.
                let more = memory(&meshes[mesh]);
                copied = within_budget("copies of meshes that several nodes use", copied + more)?;
                meshes.push(meshes[mesh].clone());
                mesh = meshes.len() - 1;
                json["nodes"][instance.node]["mesh"] = mesh.into();
            }
            for (primitive, source) in instance.primitives.iter().enumerate() {
                let attributes = &mut meshes[mesh]["primitives"][source.index]["attributes"];
                if let Some(attributes) = attributes.as_object_mut() {
                    for name in ["POSITION", "NORMAL", "TANGENT"] {
                        attributes.remove(name);
                    }
                }
                baked.push(BakedPrimitive { instance: at, primitive, mesh });
            }
        }
    }
    json["meshes"] = meshes;
    Ok(baked)
}

/// Removes meshes that no node shows, sorted by index. The indices of later meshes decrease.
pub(super) fn remove_meshes(json: &mut Value, faulty: &[usize], baked: &mut [BakedPrimitive]) {
    if faulty.is_empty() {
        return;
    }
    let new = |old: usize| old - faulty.partition_point(|&mesh| mesh < old);
    if let Some(meshes) = json.get_mut("meshes").and_then(Value::as_array_mut) {
        let mut index = 0..;
        meshes.retain(|_| index.next().is_some_and(|mesh| faulty.binary_search(&mesh).is_err()));
        if meshes.is_empty() {
            json.as_object_mut().map(|root| root.remove("meshes"));
        }
    }
    for mesh in objects(json, "nodes").filter_map(|node| node.get_mut("mesh")) {
        // The importer accepts 24.0 as 24.
        *mesh = mesh.as_f64().map_or(Value::Null, |old| new(old as usize).into());
    }
    for primitive in baked {
        primitive.mesh = new(primitive.mesh);
    }
}

/// Returns whether an instance is skinned.
pub(super) fn is_skinned(instance: &Instance) -> bool {
    matches!(instance.placement, Placement::Skin(_))
}

/// Returns whether the pose changes the vertices of an instance, not only its node.
pub(super) fn is_baked(instance: &Instance) -> bool {
    is_skinned(instance) || instance.primitives.iter().any(|p| !p.mesh.morph_targets().is_empty())
}

/// Returns whether the vertices of an instance can change in world space.
pub(super) fn moves(instance: &Instance) -> bool {
    is_baked(instance) || matches!(instance.placement, Placement::Joint(_))
}
