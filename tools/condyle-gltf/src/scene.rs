//! The document's nodes: a forest of transforms, and their world matrices.

use std::collections::HashSet;

use condyle::math::Transform64;
use condyle::{Affine, Transform};

use crate::json::{Json, report_duplicate_names};
use crate::problem::{Problems, REFUSED, Severity};
use crate::rows::{Rows, multiply};

/// Largest deviation of a quaternion's length from 1 that is not reported.
pub(crate) const UNIT_TOLERANCE: f64 = 1e-5;
/// Largest difference between a matrix and the product of its translation, rotation and scale that is not
/// reported. It is relative to the largest entry.
const SHEAR_TOLERANCE: f64 = 1e-4;

/// One node.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Name in the document, or `node 12`.
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    children: Vec<usize>,
    pub(crate) trs: Transform64,
    /// The matrix from which `trs` was made, if the node has one.
    pub(crate) matrix: Option<Rows>,
    pub(crate) mesh: Option<usize>,
    pub(crate) skin: Option<usize>,
}

impl Node {
    /// Returns the local transform in the rest pose.
    pub(crate) fn rest(&self) -> Transform {
        self.trs.into()
    }
}

/// All nodes of the document.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) nodes: Vec<Node>,
    /// All nodes that are reachable from a root, parents before children; each subtree is contiguous.
    pub(crate) order: Vec<usize>,
    /// Range of `order` that holds the subtree of each node.
    subtree: Vec<(usize, usize)>,
    /// Whether each node is part of the default scene.
    pub(crate) in_default: Vec<bool>,
    /// Whether each node is part of any scene.
    pub(crate) in_any: Vec<bool>,
}

impl Scene {
    pub(crate) fn load(root: &Json<'_>, problems: &mut Problems) -> Self {
        let mut list = root.objects("nodes", problems);
        let (meshes, skins) = (root.count("meshes"), root.count("skins"));
        if problems.afford("/nodes", list.len() * size_of::<Node>()).is_none() {
            list.clear();
        }
        let mut nodes: Vec<Node> = list
            .iter()
            .enumerate()
            .map(|(index, json)| {
                let name =
                    json.text_of("name", problems).map_or_else(|| format!("node {index}"), String::from);
                let (trs, matrix) = local(json, problems);
                let mesh = json.reference("mesh", "meshes", meshes, problems);
                let skin = json.reference("skin", "skins", skins, problems);
                if skin.is_some() && json.get("mesh").is_none() {
                    problems.note(&json.path, "has a skin but no mesh", "the skin has no effect here");
                }
                Node { name, parent: None, children: Vec::new(), trs, matrix, mesh, skin }
            })
            .collect();
        report_duplicate_names("nodes", &list, problems);
        link(&mut nodes, &list, problems);
        let (order, subtree) = walk(&nodes);
        if order.len() < nodes.len() {
            let stuck = subtree.iter().position(|s| s.1 == 0).unwrap_or(0);
            let count = nodes.len() - order.len();
            let what = "is part of a cycle of children, or a descendant of one";
            problems.counted(Severity::Error, format!("/nodes/{stuck}"), count, what, REFUSED);
        }
        let count = nodes.len();
        let mut scene =
            Self { nodes, order, subtree, in_default: vec![false; count], in_any: vec![false; count] };
        scene.load_scenes(root, problems);
        scene
    }

    fn load_scenes(&mut self, root: &Json<'_>, problems: &mut Problems) {
        let scenes = root.objects("scenes", problems);
        let named = root.reference("scene", "scenes", scenes.len(), problems);
        if scenes.is_empty() {
            problems.note("", "the document has no scenes", "all nodes are treated as visible");
            self.in_default.fill(true);
            self.in_any.fill(true);
            return;
        }
        if named.is_none() && root.get("scene").is_none() {
            problems.note("", "the document has no default scene", "the first scene is used");
        }
        let default = named.unwrap_or(0);
        // Marks the listed roots; the loop over `order` below passes the marks down, parents first.
        for (index, json) in scenes.iter().enumerate() {
            let mut listed = HashSet::new();
            for item in json.list("nodes", problems) {
                let Some(node) = item.index("nodes", self.nodes.len(), problems) else { continue };
                if !listed.insert(node) {
                    problems.warning(item.path, format!("lists node {node} a second time"), "ignored");
                    continue;
                }
                if self.nodes[node].parent.is_some() {
                    let action = "placed by its ancestors";
                    problems.warning(item.path, format!("node {node} is not a root"), action);
                }
                self.in_any[node] = true;
                self.in_default[node] |= index == default;
            }
        }
        for &node in &self.order {
            if let Some(parent) = self.nodes[node].parent {
                self.in_any[node] |= self.in_any[parent];
                self.in_default[node] |= self.in_default[parent];
            }
        }
    }

    /// Returns the world matrix of each node in the rest pose.
    pub(crate) fn global(&self) -> Vec<Rows> {
        let mut global = vec![Transform64::IDENTITY.to_rows(); self.nodes.len()];
        for &node in &self.order {
            let it = &self.nodes[node];
            let local = it.matrix.unwrap_or_else(|| it.trs.to_rows());
            global[node] = it.parent.map_or(local, |parent| multiply(&global[parent], &local));
        }
        global
    }

    pub(crate) fn children(&self, node: usize) -> &[usize] {
        &self.nodes[node].children
    }

    /// Returns whether `ancestor` is `node` itself or one of its ancestors.
    pub(crate) fn is_above(&self, ancestor: usize, node: usize) -> bool {
        let ((start, end), (at, _)) = (self.subtree[ancestor], self.subtree[node]);
        (start..end).contains(&at)
    }

    /// Returns the root of the tree of each node.
    pub(crate) fn roots(&self) -> Vec<usize> {
        let mut roots: Vec<usize> = (0..self.nodes.len()).collect();
        for &node in &self.order {
            if let Some(parent) = self.nodes[node].parent {
                roots[node] = roots[parent];
            }
        }
        roots
    }
}

/// Rounds the matrix to f32; this is the only rounding.
pub(crate) fn to_affine(rows: &Rows) -> Affine {
    Affine { rows: rows.map(|row| row.map(|v| v as f32)) }
}

/// Returns the local transform, and the matrix if the node has one.
fn local(json: &Json<'_>, problems: &mut Problems) -> (Transform64, Option<Rows>) {
    if let Some(m) = json.vector::<16>("matrix", problems) {
        let path = json.path.child("matrix");
        if ["translation", "rotation", "scale"].iter().any(|key| json.get(key).is_some()) {
            problems.warning(&json.path, "has both a matrix and its parts", "the matrix is used");
        }
        if [m[3], m[7], m[11], m[15]] != [0.0, 0.0, 0.0, 1.0] {
            problems.warning(&path, "the last row is not 0 0 0 1", "treated as 0 0 0 1");
        }
        let rows = core::array::from_fn(|r| [m[r], m[4 + r], m[8 + r], m[12 + r]]);
        let (trs, apart) = Transform64::from_rows(&rows);
        if apart > SHEAR_TOLERANCE {
            let what = format!(
                "is sheared: translation, rotation and scale alone differ from it by {:.3} %",
                apart * 100.0
            );
            problems.warning(&path, what, "if it is animated, the nearest transform without shear is used");
        }
        return (trs, Some(rows));
    }
    let mut trs = Transform64::IDENTITY;
    if let Some(translation) = json.vector("translation", problems) {
        trs.translation = translation;
    }
    if let Some(scale) = json.vector("scale", problems) {
        trs.scale = scale;
    }
    if let Some(rotation) = json.vector::<4>("rotation", problems) {
        let length = rotation.iter().map(|c| c * c).sum::<f64>().sqrt();
        let path = json.path.child("rotation");
        if length == 0.0 {
            problems.warning(path, "has length 0", "treated as no rotation");
        } else {
            trs.rotation = rotation.map(|c| c / length);
            if (length - 1.0).abs() > UNIT_TOLERANCE {
                problems.warning(path, format!("has length {length:.6}, not 1"), "normalised");
            }
        }
    }
    (trs, None)
}

/// Fills in the parents and children of all nodes.
fn link(nodes: &mut [Node], list: &[Json<'_>], problems: &mut Problems) {
    for (parent, json) in list.iter().enumerate() {
        for item in json.list("children", problems) {
            let Some(child) = item.index("nodes", nodes.len(), problems) else { continue };
            match nodes[child].parent {
                None => {
                    nodes[child].parent = Some(parent);
                    nodes[parent].children.push(child);
                }
                Some(other) if other == parent => {
                    problems.warning(item.path, format!("lists node {child} a second time"), "ignored");
                }
                Some(other) => {
                    problems.error(item.path, format!("node {child} is already a child of node {other}"));
                }
            }
        }
    }
}

/// Returns the nodes from the roots down, and the range of each subtree in that order: `(0, 0)` for nodes in
/// a cycle.
fn walk(nodes: &[Node]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let mut order = Vec::with_capacity(nodes.len());
    let mut subtree = vec![(0, 0); nodes.len()];
    // An entered node stays on the stack below its children until they are done.
    let mut stack: Vec<(usize, bool)> = Vec::new();
    stack.extend((0..nodes.len()).rev().filter(|&n| nodes[n].parent.is_none()).map(|n| (n, false)));
    while let Some((node, entered)) = stack.pop() {
        if entered {
            subtree[node].1 = order.len();
            continue;
        }
        subtree[node].0 = order.len();
        order.push(node);
        stack.push((node, true));
        stack.extend(nodes[node].children.iter().rev().map(|&child| (child, false)));
    }
    (order, subtree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Value, json};

    fn load(value: &Value) -> (Scene, Vec<(Severity, String, usize)>) {
        let mut problems = Problems::new(0);
        let scene = Scene::load(&Json::root(value), &mut problems);
        (scene, problems.list().iter().map(|p| (p.severity, p.place.clone(), p.count)).collect())
    }

    #[test]
    fn a_forest_in_any_order() {
        let (scene, problems) = load(&json!({
            "scene": 1,
            "scenes": [{"nodes": [3]}, {"nodes": [1]}],
            "nodes": [
                {"name": "leaf", "translation": [0, 0, 1]},
                {"children": [2, 0], "scale": [2, 2, 2]},
                {"name": "arm", "translation": [1, 0, 0]},
                {"name": "alone"},
            ],
        }));
        assert_eq!(problems, []);
        assert_eq!(scene.order, [1, 2, 0, 3]);
        assert_eq!(scene.nodes[1].name, "node 1");
        assert_eq!(scene.in_default, [true, true, true, false]);
        assert_eq!(scene.in_any, [true; 4]);
        assert_eq!(scene.global()[0][2], [0.0, 0.0, 2.0, 2.0]);
        assert!(scene.is_above(1, 0) && scene.is_above(1, 1));
        assert!(!scene.is_above(2, 0) && !scene.is_above(3, 0) && !scene.is_above(0, 1));
        assert_eq!(scene.roots(), [1, 1, 1, 3]);
    }

    #[test]
    fn broken_trees_are_errors() {
        let tree = |children: [Value; 3]| {
            let nodes: Vec<_> = children.into_iter().map(|c| json!({"children": c})).collect();
            load(&json!({"scene": 0, "scenes": [{}], "nodes": nodes})).1
        };
        let error = |path: &str, count| (Severity::Error, path.to_string(), count);
        assert_eq!(tree([json!([1]), json!([2]), json!([1])]), [error("/nodes/2/children/0", 1)]);
        assert_eq!(tree([json!([0]), json!([]), json!([])]), [error("/nodes/0", 1)]);
        assert_eq!(tree([json!([]), json!([2]), json!([1])]), [error("/nodes/1", 2)]);
        assert_eq!(tree([json!([7]), json!([-1]), json!(3)]).len(), 3);
        assert_eq!(tree([json!([1, 1]), json!([]), json!([])])[0].0, Severity::Warning);
    }

    #[test]
    fn roots_listed_twice_are_warned_of() {
        let (_, problems) =
            load(&json!({"scene": 0, "scenes": [{"nodes": [0, 0, 1, 0]}], "nodes": [{}, {}]}));
        assert_eq!(problems, [(Severity::Warning, "/scenes/0/nodes/1".to_string(), 2)]);
    }

    #[test]
    fn transforms_are_repaired() {
        let (scene, problems) = load(&json!({"scene": 0, "scenes": [{}], "nodes": [
            {"rotation": [0, 0, 0, 2]},
            {"rotation": [0, 0, 0, 0]},
            {"rotation": [0, 0, 0.600001, 0.8]},
            {"matrix": [1, 0, 0, 0, 0.5, 1, 0, 0, 0, 0, 1, 0, 7, 0, 0, 1]},
            {"matrix": [1, 0, 0, 0, 0, 2, 0, 0, 0, 0, -3, 0, 7, 0, 0, 2], "scale": [1, 1, 1]},
            {"matrix": [1, 2, 3]},
        ]}));
        let rotation = |n: usize| scene.nodes[n].rest().rotation;
        assert_eq!((rotation(0), rotation(1)), ([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]));
        let length = rotation(2).iter().map(|c| c * c).sum::<f32>();
        assert!((length - 1.0).abs() < 2e-7, "{length}");
        assert_eq!(scene.nodes[4].rest().translation, [7.0, 0.0, 0.0]);
        let paths: Vec<_> = problems.iter().map(|p| (p.0, p.1.as_str())).collect();
        let warning = |path| (Severity::Warning, path);
        assert_eq!(
            paths,
            [
                warning("/nodes/0/rotation"),
                warning("/nodes/1/rotation"),
                warning("/nodes/3/matrix"),
                warning("/nodes/4"),
                warning("/nodes/4/matrix"),
                (Severity::Error, "/nodes/5/matrix"),
            ]
        );
        // A node that does not move keeps its shear.
        assert_eq!(scene.global()[3][0], [1.0, 0.5, 0.0, 7.0]);
    }

    #[test]
    fn a_deep_tree_is_walked_without_recursion() {
        let nodes: Vec<_> =
            (1..=100_000).map(|i| if i < 100_000 { json!({"children": [i]}) } else { json!({}) }).collect();
        let (scene, problems) = load(&json!({"scene": 0, "scenes": [{"nodes": [0]}], "nodes": nodes}));
        assert_eq!(problems, []);
        assert_eq!(scene.order.len(), 100_000);
        assert!(scene.in_default[99_999]);
    }

    #[test]
    fn equal_names_are_noted_once() {
        let (_, problems) = load(&json!({
            "scene": 0,
            "scenes": [{}],
            "nodes": [{"name": "a"}, {"name": "b"}, {"name": "a"}, {"name": "a"}],
        }));
        assert_eq!(problems, [(Severity::Note, "/nodes/2/name".to_string(), 2)]);
    }
}
