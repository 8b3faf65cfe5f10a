//! Builds the skeleton of a document from every node whose matrix changes with the pose.

use condyle::{Joint, Skeleton};

use crate::json::whole;
use crate::problem::Problems;
use crate::scene::Scene;
use crate::skins::NodeSkin;
use crate::value::{Map, Value};

/// Marks the nodes of humanoid bones in a VRM animation. Such a file has no skins, and a bone without keys
/// is a part of its body too.
pub(crate) fn mark_bones(json: &Value, moved: &mut [bool]) {
    let bones = json.pointer("/extensions/VRMC_vrm_animation/humanoid/humanBones");
    for bone in bones.and_then(Value::as_object).into_iter().flat_map(Map::values) {
        if let Some(moved) = bone.get("node").and_then(whole).and_then(|node| moved.get_mut(node)) {
            *moved = true;
        }
    }
}

/// Returns the skeleton, and the joint index of each node.
///
/// Joints are the nodes in skins, the nodes that animations or springs move, constrained nodes and their
/// sources, and the humanoid bones of a VRM animation. Nodes whose mesh follows one of these and all
/// ancestors are joints too. A file with only a motion has a skeleton. Animated nodes without a mesh are kept
/// too, because an engine can attach objects to them.
pub(crate) fn build(
    scene: &Scene,
    skins: &[NodeSkin],
    moved: &[bool],
    problems: &mut Problems,
) -> Option<(Skeleton, Vec<Option<u16>>)> {
    let mut member = moved.to_vec();
    for &node in skins.iter().flat_map(|skin| &skin.nodes) {
        member[node] = true;
    }
    let mut moves = member.clone();
    for &node in &scene.order {
        let it = &scene.nodes[node];
        moves[node] |= it.parent.is_some_and(|parent| moves[parent]);
        // A skinned mesh follows the joints of its skin, not its node.
        member[node] |= moves[node] && it.mesh.is_some() && it.skin.is_none();
    }
    for &node in scene.order.iter().rev() {
        if let (true, Some(parent)) = (member[node], scene.nodes[node].parent) {
            member[parent] = true;
        }
    }
    let chosen: Vec<usize> = scene.order.iter().copied().filter(|&n| member[n]).collect();
    if chosen.len() > Skeleton::MAX_JOINTS {
        let what = format!(
            "{} nodes are joints, are animated, carry moving meshes, or are ancestors of such nodes; at most {} are supported",
            chosen.len(),
            Skeleton::MAX_JOINTS
        );
        problems.error("/nodes", what);
        return None;
    }
    let mut joint_of_node = vec![None; scene.nodes.len()];
    let mut joints = Vec::with_capacity(chosen.len());
    for (joint, &node) in chosen.iter().enumerate() {
        let it = &scene.nodes[node];
        joint_of_node[node] = Some(joint as u16);
        let parent = it.parent.and_then(|parent| joint_of_node[parent]);
        joints.push(Joint { name: it.name.clone(), parent, node: Some(node as u32), rest: it.rest() });
    }
    match Skeleton::new(joints) {
        Ok(skeleton) => Some((skeleton, joint_of_node)),
        Err(error) => {
            problems.error("/nodes", error.to_string());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::asset::Placement;
    use crate::problem::Severity;
    use crate::testing::{Builder, character};
    use crate::value::json;
    use condyle::skeleton::NO_PARENT;

    #[test]
    fn joints_animated_nodes_carriers_of_moving_meshes_and_their_ancestors() {
        let mut it = character();
        // Node 3 is above all, 4 is a hat on the knee, 5 a fixed house, 6 a lamp that moves below 7. Node 8
        // is animated and has no children yet.
        it.json["scenes"][0]["nodes"] = json!([3, 5, 7, 8]);
        for node in [
            json!({"name": "root", "children": [0, 1]}),
            json!({"name": "hat", "mesh": 0}),
            json!({"name": "house", "mesh": 0, "translation": [9, 0, 0]}),
            json!({"name": "lamp", "mesh": 0}),
            json!({"name": "post", "children": [6]}),
            json!({"name": "wind"}),
        ] {
            it.json["nodes"].as_array_mut().unwrap().push(node);
        }
        it.json["nodes"][2]["children"] = json!([4]);
        let (times, turns) = (it.floats("SCALAR", &[0.0]), it.floats("VEC4", &[0.0, 0.0, 0.0, 1.0]));
        let channel = |node| json!({"sampler": 0, "target": {"node": node, "path": "rotation"}});
        it.json["animations"] = json!([{
            "samplers": [{"input": times, "output": turns}],
            "channels": [channel(7), channel(8)],
        }]);
        let asset = it.import().unwrap();
        assert_eq!(asset.skeleton.names(), ["root", "hip", "knee", "hat", "post", "lamp", "wind"]);
        assert_eq!(asset.skeleton.nodes(), [3, 1, 2, 4, 7, 6, 8]);
        assert_eq!(asset.skeleton.parents(), [NO_PARENT, 0, 1, 2, NO_PARENT, 4, NO_PARENT]);
        let placements: Vec<_> = asset.instances.iter().map(|i| (i.node, i.placement.clone())).collect();
        let mut house = condyle::Affine::IDENTITY;
        house.rows[0][3] = 9.0;
        assert_eq!(
            placements,
            [
                (0, Placement::Skin(0)),
                (4, Placement::Joint(3)),
                (5, Placement::Fixed(house)),
                (6, Placement::Joint(5)),
            ]
        );
        assert!(!asset.problems.iter().any(|p| p.place.starts_with("/animations")), "{:?}", asset.problems);
        assert_eq!(asset.clips[0].tracks().len(), 2);
    }

    #[test]
    fn more_joints_than_an_index_can_name_are_refused() {
        let nodes: Vec<_> = (0..65_536).map(|_| json!({})).collect();
        let half: Vec<_> = (0..40_000).collect();
        let rest: Vec<_> = (30_000..65_536).collect();
        let it = Builder::new(json!({
            "scenes": [],
            "nodes": nodes,
            "skins": [{"joints": half}, {"joints": rest}],
        }));
        let refused = it.import().unwrap_err();
        let problem = &refused.problems[0];
        assert_eq!((problem.severity, problem.place.as_str()), (Severity::Error, "/nodes"));
        assert!(problem.what.contains("65536 nodes") && problem.what.contains("65535"), "{problem}");
    }
}
