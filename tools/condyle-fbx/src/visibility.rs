//! Finds the meshes that the file hides.
//!
//! glTF has no hidden meshes without an extension that few programs know. A mesh that is never shown is left
//! out. Programs differ about nodes below a hidden one: Maya hides them, and Blender, which can export a
//! character below a hidden armature, does not. Such meshes are kept.

use std::collections::HashMap;

use ufbx::{ElementType, Node, Scene};

use crate::problems::Problems;

/// Whether the keys of a node's visibility show it, and whether they hide it.
#[derive(Default)]
struct Keys {
    show: bool,
    hide: bool,
}

/// Returns for each node of the scene whether its mesh is left out, and reports hidden meshes.
pub(crate) fn hidden(scene: &Scene, problems: &mut Problems) -> Vec<bool> {
    let animated = animated(scene);
    let mut is_below: Vec<bool> = Vec::with_capacity(scene.nodes.len());
    let mut left_out = Vec::with_capacity(scene.nodes.len());
    for node in &scene.nodes {
        let is_shown = is_shown(node);
        // Parents come before their children.
        let above = node.parent.as_ref().and_then(|it| is_below.get(it.element.typed_id as usize));
        let above = above.copied().unwrap_or(false);
        is_below.push(above || !is_shown);
        let keys = animated.get(&node.element.typed_id);
        let is_hidden = !is_shown && keys.is_none_or(|keys| !keys.show);
        left_out.push(is_hidden);
        if node.mesh.is_none() {
            continue;
        }
        let place = format!("node {}", &*node.element.name);
        if is_hidden {
            problems.note(place, "it is hidden", "hidden meshes are left out; the node is kept");
        } else if !is_shown || keys.is_some_and(|keys| keys.hide) {
            problems.warn(place, "its visibility is animated", "the mesh is always visible");
        } else if above {
            let action = "the mesh is kept; not all programs hide what is below a hidden node";
            problems.note(place, "it is below a hidden node", action);
        }
    }
    left_out
}

/// Whether a node is visible at rest. A value between 0 and 1 is an opacity in 3ds Max.
fn is_shown(node: &Node) -> bool {
    ufbx::find_prop(&node.element.props, "Visibility").is_none_or(|it| it.value_vec4.x != 0.0)
}

/// Returns the keys of all nodes with animated visibility.
fn animated(scene: &Scene) -> HashMap<u32, Keys> {
    let mut all: HashMap<u32, Keys> = HashMap::new();
    let layers = scene.anim_stacks.into_iter().flat_map(|stack| &stack.layers);
    for property in layers.flat_map(|layer| &*layer.anim_props) {
        if property.element.type_ != ElementType::Node || &*property.prop_name != "Visibility" {
            continue;
        }
        let curves = property.anim_value.curves.iter().flatten();
        for key in curves.flat_map(|curve| &*curve.keyframes) {
            let keys = all.entry(property.element.typed_id).or_default();
            if key.value == 0.0 {
                keys.hide = true;
            } else {
                keys.show = true;
            }
        }
    }
    all
}
