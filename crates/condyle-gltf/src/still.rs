//! The nodes of a document that are no joints.

use condyle::Affine;

use crate::asset::Asset;
use crate::json::Json;
use crate::problem::Problems;
use crate::rows::{Rows, multiply};
use crate::scene::{Scene, to_affine};

/// A node that neither a clip nor a skin nor a spring moves by itself: it stands still, or follows the joint above it.
#[derive(Debug, Clone, PartialEq)]
pub struct StillNode {
    /// The node.
    pub node: usize,
    /// Its name, or `node 12`.
    pub name: String,
    /// The node that it hangs on.
    pub parent: Option<usize>,
    /// The nearest joint above it; `None` if there is none, so that it never moves.
    pub joint: Option<u16>,
    /// Its matrix in the space of that joint, or in world space without one.
    pub matrix: Affine,
}

impl Asset {
    /// The nodes that are no joints of [`skeleton`](Self::skeleton), parents before children.
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
        // All of it has been reported.
        let scene = Scene::load(&Json::root(&self.document.json), &mut Problems::unheard());
        let mut joints = vec![None; scene.nodes.len()];
        for (joint, &node) in self.skeleton.nodes().iter().enumerate() {
            if let Some(own) = joints.get_mut(node as usize) {
                *own = Some(joint as u16);
            }
        }
        // For each node, the joint above it, and its matrix there.
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
    use serde_json::json;

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
