//! Makes an asset that holds joints as nodes, without meshes, for motion from files of other formats.

use condyle::{Joint, RawClip, Skeleton, Transform};

use crate::value::{Value, json};
use crate::{Asset, Document, Refused};

impl Asset {
    /// Converts motion from another file format to an asset: one node for each joint, and the clips.
    ///
    /// # Errors
    /// [`Refused`] for the file `name` if the skeleton, or the document made from it, is invalid.
    pub fn of_motion(name: &str, skeleton: &Skeleton, clips: Vec<RawClip>) -> Result<Self, Refused> {
        let unfit = |error: condyle::Error| Refused::because(name, error.to_string());
        let skeleton = with_nodes(skeleton).map_err(unfit)?;
        let document = Document::from_slice(name, document(&skeleton).to_string().as_bytes(), None)?;
        let mut asset = Self::from_document(document)?.on_skeleton(skeleton).map_err(unfit)?;
        asset.clips = clips;
        Ok(asset)
    }

    /// Returns whether the asset has neither a mesh nor a skin, like motion capture.
    #[must_use]
    pub fn is_motion(&self) -> bool {
        self.skins.is_empty() && self.instances.is_empty()
    }
}

/// Returns the skeleton with the joint indices as node indices.
fn with_nodes(skeleton: &Skeleton) -> Result<Skeleton, condyle::Error> {
    let joint = |(at, rest): (usize, condyle::Transform)| Joint {
        name: skeleton.names()[at].clone(),
        parent: skeleton.parent(at as u16),
        node: Some(at as u32),
        rest,
    };
    Skeleton::new(skeleton.rest().transforms().enumerate().map(joint))
}

/// Returns a document with a node for each joint.
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
        if rest.rotation != Transform::IDENTITY.rotation {
            node["rotation"] = json!(rest.rotation);
        }
        if rest.scale != Transform::IDENTITY.scale {
            node["scale"] = json!(rest.scale);
        }
        if !children[at].is_empty() {
            node["children"] = json!(children[at]);
        }
        node
    };
    let nodes: Vec<Value> = skeleton.rest().transforms().enumerate().map(node).collect();
    json!({ "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": roots }], "nodes": nodes })
}
