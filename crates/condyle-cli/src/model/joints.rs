//! Joints alone as a document that holds them as nodes and nothing else, for motion from files of other kinds.

use condyle::{Joint, RawClip, Skeleton};
use condyle_gltf::{Asset, Document, Problem, Refused, Severity};
use serde_json::{Value, json};

/// Of a skeleton, with a clip on it if there is one.
pub(super) fn asset(name: &str, skeleton: &Skeleton, clip: Option<RawClip>) -> Result<Asset, Refused> {
    let unfit = |error: condyle::Error| refused(name, &error);
    let skeleton = with_nodes(skeleton).map_err(unfit)?;
    let document = Document::from_slice(name, document(&skeleton).to_string().as_bytes(), None)?;
    let mut asset = Asset::from_document(document)?.on_skeleton(skeleton).map_err(unfit)?;
    asset.clips = clip.into_iter().collect();
    Ok(asset)
}

/// A file that the library refuses something of.
pub(super) fn refused(name: &str, error: &condyle::Error) -> Refused {
    Refused { name: name.into(), problems: vec![fault(error.to_string())] }
}

/// The same joints, each of which is the node with its number.
fn with_nodes(skeleton: &Skeleton) -> Result<Skeleton, condyle::Error> {
    let joint = |(at, rest): (usize, condyle::Transform)| Joint {
        name: skeleton.names()[at].clone(),
        parent: skeleton.parent(at as u16),
        node: Some(at as u32),
        rest,
    };
    Skeleton::new(skeleton.rest().transforms().enumerate().map(joint))
}

/// A document with a node for each joint; what is at rest turned or scaled is in the skeleton alone.
fn document(skeleton: &Skeleton) -> Value {
    let count = skeleton.joint_count();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut roots = Vec::new();
    for joint in 0..count {
        match skeleton.parent(joint as u16) {
            Some(parent) => children[usize::from(parent)].push(joint),
            None => roots.push(joint),
        }
    }
    let node = |(at, rest): (usize, condyle::Transform)| {
        let mut node = json!({ "name": skeleton.names()[at], "translation": rest.translation });
        if !children[at].is_empty() {
            node["children"] = json!(children[at]);
        }
        node
    };
    let nodes: Vec<Value> = skeleton.rest().transforms().enumerate().map(node).collect();
    json!({ "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": roots }], "nodes": nodes })
}

fn fault(what: String) -> Problem {
    let action = "the file is refused".into();
    Problem {
        severity: Severity::Error,
        path: String::new(),
        places: vec![String::new()],
        count: 1,
        what,
        action,
    }
}
