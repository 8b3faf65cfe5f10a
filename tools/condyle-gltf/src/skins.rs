//! Reads skins: joint nodes and inverse bind matrices. Source: glTF 2.0, "Skins".

use std::collections::HashSet;

use condyle::{Affine, Skeleton, Skin};

use crate::accessor::Accessors;
use crate::format::{Component, Format, Shape, Usage};
use crate::json::{Json, report_duplicate_names};
use crate::problem::{Problems, REFUSED, Severity};
use crate::scene::Scene;

/// A skin with the document's node indices.
#[derive(Debug)]
pub(crate) struct NodeSkin {
    /// The valid joints.
    pub(crate) nodes: Vec<usize>,
    /// Number of joints listed, including invalid ones, which have been reported. Matrices and vertices are
    /// checked against this number, so that they do not cause further reports.
    pub(crate) joint_count: usize,
    /// Inverse bind matrices; `None` if they are invalid, which has been reported.
    inverse_bind: Option<Vec<Affine>>,
}

const INVERSE_BIND: Usage =
    Usage { shape: Shape::Mat4, formats: &[Format::plain(Component::F32)], quantized: &[] };

/// Reads all skins of the document.
pub(crate) fn load(
    root: &Json<'_>,
    scene: &Scene,
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) -> Vec<NodeSkin> {
    let list = root.objects("skins", problems);
    report_duplicate_names("skins", &list, problems);
    let roots = scene.roots();
    list.iter()
        .map(|json| {
            let (nodes, joint_count) = joints(json, scene, &roots, problems);
            let inverse_bind = match json.get("inverseBindMatrices") {
                Some(place) => inverse_bind(&place, joint_count, accessors, problems),
                None => Some(vec![Affine::IDENTITY; joint_count]),
            };
            NodeSkin { nodes, joint_count, inverse_bind }
        })
        .collect()
}

/// Returns the valid joints, and the number of joints listed.
fn joints(json: &Json<'_>, scene: &Scene, roots: &[usize], problems: &mut Problems) -> (Vec<usize>, usize) {
    let Some(place) = json.require("joints", problems) else { return (Vec::new(), 0) };
    let list = json.list("joints", problems);
    let nodes: Vec<usize> =
        list.iter().filter_map(|item| item.index("nodes", scene.nodes.len(), problems)).collect();
    if nodes.len() < list.len() {
        return (nodes, list.len());
    }
    if nodes.is_empty() {
        problems.error(&place.path, "is empty, expected at least one joint");
    }
    if nodes.len() > Skeleton::MAX_JOINTS {
        let what = format!("lists {} joints, at most {} are supported", nodes.len(), Skeleton::MAX_JOINTS);
        problems.error(&place.path, what);
    }
    let mut seen = HashSet::new();
    for (item, node) in list.iter().zip(&nodes) {
        if !seen.insert(node) {
            problems.warning(
                &item.path,
                format!("lists node {node} a second time"),
                "both entries follow that node",
            );
        }
    }
    if let Some(apart) = nodes.iter().position(|&n| roots[n] != roots[nodes[0]]) {
        let what = format!("node {} has no common ancestor with node {}", nodes[apart], nodes[0]);
        problems.warning(&list[apart].path, what, "each joint follows its own ancestors");
    }
    let unseen = nodes.iter().filter(|&&n| !scene.in_any[n]).count();
    if let Some(first) = nodes.iter().position(|&n| !scene.in_any[n]) {
        let what = format!("node {} belongs to no scene", nodes[first]);
        problems.counted(Severity::Note, &list[first].path, unseen, what, "it is used anyway");
    }
    if let Some(top) = json.reference("skeleton", "nodes", scene.nodes.len(), problems)
        && let Some(outside) = nodes.iter().position(|&n| !scene.is_above(top, n))
    {
        let what = format!("node {top} is not an ancestor of joint {outside}, node {}", nodes[outside]);
        problems.warning(json.path.child("skeleton"), what, "the property has no effect");
    }
    let count = nodes.len();
    (nodes, count)
}

fn inverse_bind(
    place: &Json<'_>,
    joint_count: usize,
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) -> Option<Vec<Affine>> {
    let accessor = accessors.get(place, &INVERSE_BIND, problems)?;
    if accessor.count < joint_count {
        problems.error(
            &place.path,
            format!("has {} matrices, {joint_count} expected, one per joint", accessor.count),
        );
        return None;
    }
    if accessor.count > joint_count {
        let what = format!("has {} matrices, {joint_count} expected, one per joint", accessor.count);
        problems.note(&place.path, what, "the rest is ignored");
    }
    let mut matrices = accessor.vectors::<16>(problems)?;
    matrices.truncate(joint_count);
    let last_row = |m: &&[f32; 16]| [m[3], m[7], m[11], m[15]] != [0.0, 0.0, 0.0, 1.0];
    let odd = matrices.iter().filter(last_row).count();
    problems.counted(
        Severity::Warning,
        &place.path,
        odd,
        "the last row of a matrix is not 0 0 0 1",
        "treated as 0 0 0 1",
    );
    let broken = matrices.iter().filter(|m| m.iter().any(|v| !v.is_finite())).count();
    if broken > 0 {
        let what = "a matrix is not finite";
        problems.counted(Severity::Error, &place.path, broken, what, REFUSED);
        return None;
    }
    let matrices: Vec<Affine> = matrices.iter().map(Affine::from_columns).collect();
    let flat = matrices.iter().filter(|m| is_singular(m)).count();
    problems.counted(Severity::Note, &place.path, flat, "a matrix flattens the mesh", "used unchanged");
    Some(matrices)
}

fn is_singular(m: &Affine) -> bool {
    let [a, b, c] = m.rows.map(|row| [row[0], row[1], row[2]].map(f64::from));
    let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    cross.iter().zip(c).map(|(x, y)| x * y).sum::<f64>() == 0.0
}

impl NodeSkin {
    /// Returns the skin with the skeleton's joint indices.
    pub(crate) fn resolve(
        self,
        path: &str,
        joint_of_node: &[Option<u16>],
        problems: &mut Problems,
    ) -> Option<Skin> {
        if self.nodes.len() < self.joint_count {
            return None;
        }
        let joints: Option<Vec<u16>> = self.nodes.iter().map(|&n| joint_of_node[n]).collect();
        match Skin::new(joints?, self.inverse_bind?) {
            Ok(skin) => Some(skin),
            Err(error) => {
                problems.error(path, error.to_string());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::problem::Severity;
    use crate::testing::{Builder, character};
    use crate::value::json;
    use condyle::Affine;

    fn with_matrices(change: impl Fn(&mut [f32]), count: usize) -> Builder {
        let mut it = character();
        let mut matrices: Vec<f32> = Affine::IDENTITY.to_columns().repeat(count);
        change(&mut matrices);
        let accessor = it.floats("MAT4", &matrices);
        it.json["skins"][0]["inverseBindMatrices"] = json!(accessor);
        it
    }

    /// Tests that an invalid joint causes no reports for the matrices, vertices and clips of its skin.
    #[test]
    fn a_broken_joint_is_the_only_fault() {
        let mut it = with_matrices(|_| (), 2);
        it.json["skins"][0]["joints"][1] = json!(77);
        let refused = it.import().unwrap_err();
        let paths: Vec<&str> = refused.problems.iter().map(|p| p.place.as_str()).collect();
        assert_eq!(paths, ["/skins/0/joints/1"], "{refused}");
    }

    #[test]
    fn matrices_belong_to_the_joints_in_their_order() {
        let mut it = with_matrices(|m| m[16 + 12] = 5.0, 2);
        it.json["skins"][0]["joints"] = json!([2, 1]);
        let asset = it.import().unwrap();
        assert_eq!(asset.problems, []);
        let skin = &asset.skins[0];
        assert_eq!(
            skin.joints().iter().map(|&j| asset.skeleton.nodes()[usize::from(j)]).collect::<Vec<_>>(),
            [2, 1]
        );
        assert_eq!(skin.inverse_bind()[0], Affine::IDENTITY);
        assert_eq!(skin.inverse_bind()[1].rows[0][3], 5.0);
    }

    #[test]
    fn without_matrices_they_are_the_identity() {
        assert_eq!(character().import().unwrap().skins[0].inverse_bind(), [Affine::IDENTITY; 2]);
    }

    #[test]
    fn faulty_matrices() {
        let path = "/skins/0/inverseBindMatrices".to_string();
        assert_eq!(with_matrices(|_| {}, 1).summary(), [(Severity::Error, path.clone(), 1)]);
        assert_eq!(with_matrices(|_| {}, 3).summary(), [(Severity::Note, path.clone(), 1)]);
        assert_eq!(with_matrices(|m| m[5] = f32::NAN, 2).summary(), [(Severity::Error, path.clone(), 1)]);
        assert_eq!(with_matrices(|m| m[3] = 1.0, 2).summary(), [(Severity::Warning, path.clone(), 1)]);
        assert_eq!(
            with_matrices(|m| m.fill(0.0), 2).summary(),
            [(Severity::Warning, path.clone(), 2), (Severity::Note, path, 2)]
        );
    }

    #[test]
    fn faulty_joints() {
        let joints = |joints| {
            let mut it = character();
            it.json["skins"][0]["joints"] = joints;
            it.summary()
        };
        let one = |severity, path: &str| vec![(severity, path.to_string(), 1)];
        assert_eq!(joints(json!([1, 1])), one(Severity::Warning, "/skins/0/joints/1"));
        assert_eq!(joints(json!([1, 0])), one(Severity::Warning, "/skins/0/joints/1"));
        assert_eq!(joints(json!([1, 3]))[0], one(Severity::Error, "/skins/0/joints/1")[0]);
        assert_eq!(joints(json!([]))[0], one(Severity::Error, "/skins/0/joints")[0]);
        assert_eq!(joints(json!(null))[0], one(Severity::Error, "/skins/0")[0]);
        // One joint too few for the vertices.
        assert_eq!(
            joints(json!([1])),
            [(Severity::Error, "/meshes/0/primitives/0/attributes/JOINTS_0".to_string(), 2)]
        );
    }

    #[test]
    fn the_skeleton_property_is_looked_at_only() {
        let with = |top| {
            let mut it = character();
            it.json["skins"][0]["skeleton"] = json!(top);
            it.summary()
        };
        assert_eq!(with(1), []);
        assert_eq!(with(2), [(Severity::Warning, "/skins/0/skeleton".to_string(), 1)]);
        assert_eq!(with(9), [(Severity::Error, "/skins/0/skeleton".to_string(), 1)]);
    }

    #[test]
    fn joints_outside_of_every_scene_are_noted() {
        let mut it = character();
        it.json["scenes"][0]["nodes"] = json!([0]);
        assert_eq!(it.summary(), [(Severity::Note, "/skins/0/joints/0".to_string(), 2)]);
    }
}
