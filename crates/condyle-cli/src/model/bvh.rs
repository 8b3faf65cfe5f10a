//! BVH files: opened as if they were documents that hold their joints as nodes and nothing else.

use std::io::Read;
use std::path::Path;

use condyle::{Joint, Skeleton};
use condyle_bvh::{Bvh, ImportOptions};
use condyle_gltf::{Asset, Document, Problem, Refused, Severity};
use serde_json::{Value, json};

use crate::text;

/// Whether a file is a BVH: its first bytes tell, or its name, so that what is wrong with a broken one is said in its own words.
pub(crate) fn is_bvh(path: &Path) -> bool {
    let mut first = Vec::new();
    let is_file = std::fs::metadata(path).is_ok_and(|it| it.is_file());
    let mut read = || std::fs::File::open(path)?.take(64).read_to_end(&mut first);
    is_file && read().is_ok() && (Bvh::recognise(&first) || text::ending(path).as_deref() == Some("bvh"))
}

/// The skeleton, and the motion as a clip if it has frames, in the units of the file.
pub(crate) fn open(path: &Path) -> Result<Asset, Refused> {
    let bvh = Bvh::open(path).map_err(|refused| Refused {
        name: refused.name,
        problems: refused.problems.iter().map(problem).collect(),
    })?;
    let name = path.display().to_string();
    let options = ImportOptions::default();
    let unfit =
        |error: condyle::Error| Refused { name: name.clone(), problems: vec![fault(error.to_string())] };
    let skeleton = with_nodes(&bvh.skeleton(&options).map_err(unfit)?).map_err(unfit)?;
    let document = Document::from_slice(&name, document(&skeleton).to_string().as_bytes(), None)?;
    let mut asset = Asset::from_document(document)?.on_skeleton(skeleton).map_err(unfit)?;
    if bvh.frame_count() > 0 {
        asset.clips = vec![bvh.clip(&options).map_err(unfit)?];
    }
    // What is odd in the document, which was made here, is odd in the file, and told by its reader.
    asset.problems = bvh.problems().iter().map(problem).collect();
    Ok(asset)
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

/// A document with a node for each joint.
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

/// A problem of a BVH as those of documents are told.
fn problem(it: &condyle_bvh::Problem) -> Problem {
    let path = if it.line > 0 { format!("line {}", it.line) } else { String::new() };
    Problem {
        severity: match it.severity {
            condyle_bvh::Severity::Error => Severity::Error,
            condyle_bvh::Severity::Warning => Severity::Warning,
            condyle_bvh::Severity::Note => Severity::Note,
        },
        places: vec![path.clone()],
        path,
        count: it.count,
        what: it.what.clone(),
        action: it.action.clone(),
    }
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
