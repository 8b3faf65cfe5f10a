//! Meshes that share one grid, because they share a skin.

use std::collections::{BTreeSet, HashMap};

use condyle::Target;

use super::UnpackedPrimitive;
use super::source::Source;
use crate::asset::{Asset, Placement};
use crate::extensions::is_local;
use crate::json::whole;
use crate::value::Value;

/// Meshes that share one grid.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Indices into the list of sources.
    pub(super) sources: Vec<usize>,
    pub(super) skins: BTreeSet<usize>,
    /// Nodes that show a mesh of the group without a skin.
    pub(super) nodes: BTreeSet<usize>,
    /// The reason why the group cannot have a transform from integers to positions.
    pub(super) blocked: Option<String>,
    /// Error of the search in the document's units. `None` if all numbers stay exact.
    pub(super) aim: Option<f64>,
}

/// Returns the groups of all meshes with sources.
pub(super) fn groups(asset: &Asset, sources: &[Source<'_>], unpacked: &[UnpackedPrimitive]) -> Vec<Group> {
    let mut group_of_skin: HashMap<usize, usize> = HashMap::new();
    let mut parents: Vec<usize> =
        (0..asset.instances.iter().map(|it| it.mesh + 1).max().unwrap_or(0)).collect();
    let root = |parents: &[usize], mut mesh: usize| {
        while parents[mesh] != mesh {
            mesh = parents[mesh];
        }
        mesh
    };
    for instance in &asset.instances {
        let Placement::Skin(skin) = instance.placement else { continue };
        let other = *group_of_skin.entry(skin).or_insert(instance.mesh);
        let (a, b) = (root(&parents, instance.mesh), root(&parents, other));
        parents[a.max(b)] = a.min(b);
    }
    let mut at_mesh: HashMap<usize, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let group = *at_mesh.entry(root(&parents, source.mesh)).or_insert_with(|| {
            groups.push(Group::default());
            groups.len() - 1
        });
        groups[group].sources.push(at);
    }
    let nodes = Nodes::of(asset);
    for instance in &asset.instances {
        let Some(group) = at_mesh.get(&root(&parents, instance.mesh)).map(|&at| &mut groups[at]) else {
            continue;
        };
        match instance.placement {
            Placement::Skin(skin) => {
                group.skins.insert(skin);
            }
            Placement::Joint(_) | Placement::Fixed(_) => {
                group.nodes.insert(instance.node);
                if group.blocked.is_none() {
                    group.blocked = nodes.why_not(instance.node);
                }
            }
        }
    }
    for UnpackedPrimitive { mesh, primitive, .. } in unpacked.iter().filter(|it| it.mesh < parents.len()) {
        if let Some(&at) = at_mesh.get(&root(&parents, *mesh)) {
            let why =
                format!("primitive {primitive} of mesh {mesh} shares their skin or node and is not packed");
            groups[at].blocked.get_or_insert(why);
        }
    }
    groups
}

/// Facts about the nodes of a document.
struct Nodes<'a> {
    json: &'a Value,
    /// Nodes that clips move or skins use.
    moved: BTreeSet<usize>,
    /// An extension that may refer to any node.
    extension: Option<&'a str>,
}

impl<'a> Nodes<'a> {
    fn of(asset: &'a Asset) -> Self {
        let json = &asset.document.json;
        let node = |joint: u16| asset.skeleton.nodes().get(usize::from(joint)).map(|&node| node as usize);
        let tracks = asset.clips.iter().flat_map(|clip| clip.tracks());
        let moved = tracks.filter(|track| !matches!(track.target, Target::Weights(_)));
        let moved = moved.filter_map(|track| node(track.target.joint()?));
        let skins = json.get("skins").and_then(Value::as_array).into_iter().flatten();
        let joints = skins.filter_map(|skin| skin.get("joints")?.as_array()).flatten().filter_map(whole);
        let used = json.get("extensionsUsed").and_then(Value::as_array).into_iter().flatten();
        let mut used = used.filter_map(Value::as_str);
        let extension = used.find(|name| !is_local(name));
        Self { json, moved: moved.chain(joints).collect(), extension }
    }

    /// Returns the reason why the transform of a node must not change.
    fn why_not(&self, node: usize) -> Option<String> {
        let json = &self.json["nodes"][node];
        let has = |key: &str| json.get(key).is_some_and(|value| !value.is_null());
        let found = ["children", "camera", "extensions"].into_iter().find(|key| has(key));
        match (found, self.extension) {
            (Some(key), _) => Some(format!("node {node} has `{key}`")),
            _ if self.moved.contains(&node) => Some(format!("node {node} is animated or a joint")),
            (None, Some(name)) => Some(format!("the extension {name} may refer to node {node}")),
            (None, None) => None,
        }
    }
}
