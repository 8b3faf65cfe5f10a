//! The nodes of a document that are not joints.

use condyle::Affine;

use crate::asset::Asset;
use crate::json::Json;
use crate::problem::Problems;
use crate::rows::{Rows, multiply};
use crate::scene::{Scene, to_affine};

/// A node that is not a joint: it does not move, or it follows the nearest joint above it rigidly.
#[derive(Debug, Clone, PartialEq)]
pub struct StillNode {
    /// Node index.
    pub node: usize,
    /// Node name, or `node 12` for an unnamed node.
    pub name: String,
    /// Parent node.
    pub parent: Option<usize>,
    /// The nearest joint above the node; `None` if there is no such joint, so that the node never moves.
    pub joint: Option<u16>,
    /// Matrix in the space of that joint, or in world space without a joint.
    pub matrix: Affine,
}

impl Asset {
    /// Returns the nodes that are not joints of [`skeleton`](Self::skeleton), parents before children.
    ///
    /// ```
    /// use condyle_gltf::{Asset, Document};
    ///
    /// let json = br#"{"asset": {"version": "2.0"}, "nodes": [
    ///     {"name": "desk", "children": [1], "translation": [0, 1, 0]}, {"name": "lamp", "translation": [2, 0, 0]}]}"#;
    /// let asset = Asset::from_document(Document::from_slice("room.gltf", json, None)?)?;
    /// let [_, lamp] = &asset.still_nodes()[..] else { panic!("no clip moves either") };
    /// assert_eq!((lamp.name.as_str(), lamp.parent, lamp.joint), ("lamp", Some(0), None));
    /// assert_eq!(lamp.matrix.rows.map(|row| row[3]), [2.0, 1.0, 0.0]);
    /// # Ok::<(), condyle_gltf::Refused>(())
    /// ```
    #[must_use]
    pub fn still_nodes(&self) -> Vec<StillNode> {
        // Loading has reported all problems already.
        let scene = Scene::load(&Json::root(&self.document.json), &mut Problems::unheard());
        let mut joints = vec![None; scene.nodes.len()];
        for (joint, &node) in self.skeleton.nodes().iter().enumerate() {
            if let Some(own) = joints.get_mut(node as usize) {
                *own = Some(joint as u16);
            }
        }
        // The nearest joint above each node, and the node's matrix relative to it.
        let mut places: Vec<Option<(Option<u16>, Rows)>> = vec![None; scene.nodes.len()];
        let mut still = Vec::new();
        for &node in scene.order.iter().filter(|&&node| joints[node].is_none()) {
            let it = &scene.nodes[node];
            let local = it.matrix.unwrap_or_else(|| it.trs.to_rows());
            let above = it.parent.and_then(|parent| places[parent]);
            let (joint, matrix) = match above {
                Some((joint, matrix)) => (joint, multiply(&matrix, &local)),
                None => (it.parent.and_then(|parent| joints[parent]), local),
            };
            places[node] = Some((joint, matrix));
            let (name, matrix) = (it.name.clone(), to_affine(&matrix));
            still.push(StillNode { node, name, parent: it.parent, joint, matrix });
        }
        still
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::character;
    use crate::value::json;

    #[test]
    fn nodes_that_no_clip_moves_follow_the_joint_above_them() {
        let mut it = character();
        it.json["nodes"][2]["children"] = json!([3]);
        it.json["nodes"].as_array_mut().unwrap().extend([
            json!({"name": "socket", "translation": [1, 0, 0], "children": [4]}),
            json!({"name": "blade", "scale": [2, 2, 2], "translation": [0, 3, 0]}),
        ]);
        let asset = it.import().unwrap();
        let still = asset.still_nodes();
        let of = |name: &str| still.iter().find(|it| it.name == name).unwrap();
        let knee = asset.skeleton.joint_by_name("knee");
        assert!(knee.is_some());
        assert_eq!((of("socket").joint, of("blade").joint), (knee, knee));
        assert_eq!(of("blade").matrix.rows[1], [0.0, 2.0, 0.0, 3.0]);
        assert_eq!(of("blade").matrix.rows[0][3], 1.0);
        assert_eq!(of("blade").parent, Some(3));
    }
}
