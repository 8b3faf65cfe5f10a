use condyle::Pose;

use crate::asset::Asset;
use crate::problem::Severity;
use crate::testing::Builder;
use crate::value::{Value, json};
use crate::{Poser, PoserOptions};

const ROOT_HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Returns the rotation about an axis by an angle in degrees.
fn about(axis: [f64; 3], degrees: f64) -> [f64; 4] {
    let length = axis.iter().map(|c| c * c).sum::<f64>().sqrt();
    let (sine, cosine) = (degrees.to_radians() / 2.0).sin_cos();
    let [x, y, z] = axis.map(|c| c / length * sine);
    [x, y, z, cosine]
}

/// Returns the product of quaternions; the last one rotates first.
fn chain<const N: usize>(all: [[f64; 4]; N]) -> [f64; 4] {
    all.into_iter().fold([0.0, 0.0, 0.0, 1.0], |[ax, ay, az, aw], [bx, by, bz, bw]| {
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ]
    })
}

fn back([x, y, z, w]: [f64; 4]) -> [f64; 4] {
    [-x, -y, -z, w]
}

/// Returns the angle between two rotations, in radians.
fn apart(a: [f32; 4], b: [f64; 4]) -> f64 {
    let [x, y, z, w] = chain([back(a.map(f64::from)), b]);
    2.0 * (x * x + y * y + z * z).sqrt().atan2(w.abs())
}

fn constraint(kind: &str, value: Value) -> Value {
    json!({"VRMC_node_constraint": {"specVersion": "1.0", "constraint": {kind: value}}})
}

/// Returns a document with these nodes. Its first clip rotates the nodes in `turned`.
fn document(nodes: Value, roots: Value, turned: &[(usize, [f64; 4])]) -> Builder {
    let mut it = Builder::new(json!({
        "extensionsUsed": ["VRMC_node_constraint"],
        "scene": 0, "scenes": [{"nodes": roots}], "nodes": nodes,
    }));
    let times = it.floats("SCALAR", &[0.0]);
    let (mut samplers, mut channels) = (Vec::new(), Vec::new());
    for (node, rotation) in turned {
        let output = it.floats("VEC4", &rotation.map(|c| c as f32));
        channels.push(json!({"sampler": samplers.len(), "target": {"node": node, "path": "rotation"}}));
        samplers.push(json!({"input": times, "output": output}));
    }
    if !turned.is_empty() {
        it.json["animations"] = json!([{"samplers": samplers, "channels": channels}]);
    }
    it
}

fn posed(asset: &Asset) -> (Pose, Vec<condyle::Affine>) {
    let mut poser = Poser::new(asset, PoserOptions::default()).unwrap();
    poser.pose(asset.clips.first(), 0.0).unwrap();
    (poser.local().clone(), poser.model().to_vec())
}

fn rotation(asset: &Asset, pose: &Pose, name: &str) -> [f32; 4] {
    pose.get(usize::from(asset.skeleton.joint_by_name(name).unwrap())).rotation
}

#[test]
fn roll_takes_the_twist_about_the_axis() {
    let (source_rest, rest) = (about([1.0, 2.0, 3.0], 50.0), about([0.0, 1.0, -1.0], 70.0));
    for (name, axis) in [("X", [1.0, 0.0, 0.0]), ("Y", [0.0, 1.0, 0.0]), ("Z", [0.0, 0.0, 1.0])] {
        for weight in [0.0, 0.25, 1.0] {
            // A swing of 40 degrees after a twist of 80, in the space of the constrained node.
            let across = [axis[1] + axis[2], axis[2] - axis[0], -axis[0] - axis[1]];
            let turn = chain([about(across, 40.0), about(axis, 80.0)]);
            let now = chain([rest, turn, back(rest), source_rest]);
            let it = document(
                json!([
                    {"name": "arm", "rotation": source_rest},
                    {"name": "twist", "rotation": rest, "extensions": constraint("roll",
                        json!({"source": 0, "rollAxis": name, "weight": weight}))},
                ]),
                json!([0, 1]),
                &[(0, now)],
            );
            let asset = it.import().unwrap();
            assert!(!asset.problems.iter().any(|p| p.severity < Severity::Note), "{:?}", asset.problems);
            let found = rotation(&asset, &posed(&asset).0, "twist");
            let right = chain([rest, about(axis, 80.0 * weight)]);
            assert!(apart(found, right) < 1e-6, "{name} {weight}: {found:?}, {right:?}");
        }
    }
}

#[test]
fn rotation_takes_the_local_rotation() {
    let (source_rest, rest) = (about([1.0, 2.0, 3.0], 50.0), about([0.0, 1.0, -1.0], 70.0));
    for weight in [0.0, 0.5, 1.0] {
        let axis = [3.0, -1.0, 2.0];
        let it = document(
            json!([
                {"name": "arm", "rotation": source_rest},
                {"name": "second", "rotation": rest, "translation": [1, 2, 3], "scale": [2, 2, 2],
                    "extensions": constraint("rotation", json!({"source": 0, "weight": weight}))},
            ]),
            json!([0, 1]),
            // The constraint replaces the clip's rotation of the constrained node.
            &[(0, chain([source_rest, about(axis, 100.0)])), (1, about(axis, 10.0))],
        );
        let asset = it.import().unwrap();
        let pose = posed(&asset).0;
        let right = chain([rest, about(axis, 100.0 * weight)]);
        assert!(apart(rotation(&asset, &pose, "second"), right) < 1e-6, "{weight}");
        let joint = usize::from(asset.skeleton.joint_by_name("second").unwrap());
        let (translation, scale) = (pose.get(joint).translation, pose.get(joint).scale);
        assert_eq!((translation, scale), ([1.0, 2.0, 3.0], [2.0; 3]));
    }
}

/// Returns a sleeve below a rotated and scaled shoulder; the sleeve aims at a hand.
fn sleeve(axis: &str, weight: f64, rest: [f64; 4], scale: Value) -> Asset {
    let it = document(
        json!([
            {"name": "shoulder", "rotation": about([1.0, 1.0, 0.0], 30.0), "scale": scale, "children": [1, 2]},
            {"name": "upper", "translation": [1, 0, 0], "children": [3]},
            {"name": "sleeve", "translation": [0.5, 0.25, 0], "rotation": rest, "extensions": constraint(
                "aim", json!({"source": 3, "aimAxis": axis, "weight": weight}))},
            {"name": "hand", "translation": [2, 0, 0]},
        ]),
        json!([0]),
        &[(1, about([0.0, 1.0, 2.0], 65.0))],
    );
    it.import().unwrap()
}

#[test]
fn aim_points_the_axis_to_the_source() {
    let rest = about([0.0, 1.0, -1.0], 70.0);
    let axes = [("PositiveX", 0, 1.0), ("NegativeY", 1, -1.0), ("PositiveZ", 2, 1.0), ("NegativeX", 0, -1.0)];
    for (name, column, sign) in axes {
        for scale in [json!([2, 2, 2]), json!([1, 3, 0.5]), json!([-1, 1, 1])] {
            let asset = sleeve(name, 1.0, rest, scale.clone());
            let (_, model) = posed(&asset);
            let at = |name| model[usize::from(asset.skeleton.joint_by_name(name).unwrap())].rows;
            let (sleeve, hand) = (at("sleeve"), at("hand"));
            let to: [f64; 3] = [0, 1, 2].map(|r| f64::from(hand[r][3]) - f64::from(sleeve[r][3]));
            let axis: [f64; 3] = [0, 1, 2].map(|r| sign * f64::from(sleeve[r][column]));
            let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
            let cosine = dot(to, axis) / (dot(to, to) * dot(axis, axis)).sqrt();
            assert!(cosine > 1.0 - 1e-6, "{name} {scale}: {cosine}");
        }
        // The result is the smallest such rotation; half the weight gives half of it.
        let [all, half, none] = [1.0, 0.5, 0.0].map(|weight| {
            let asset = sleeve(name, weight, rest, json!([2, 2, 2]));
            rotation(&asset, &posed(&asset).0, "sleeve").map(f64::from)
        });
        let [x, y, z, w] = chain([all, back(rest)]);
        let axis = [0, 1, 2].map(|r| if r == column { sign } else { 0.0 });
        let [fx, fy, fz, _] = chain([rest, [axis[0], axis[1], axis[2], 0.0], back(rest)]);
        assert!((x * fx + y * fy + z * fz).abs() < 1e-6, "{name}: it twists");
        let size = (x * x + y * y + z * z).sqrt();
        let degrees = 2.0 * size.atan2(w.abs()).to_degrees();
        let part = chain([about([x * w.signum(), y * w.signum(), z * w.signum()], degrees / 2.0), rest]);
        assert!(apart(half.map(|c| c as f32), part) < 1e-6, "{name}");
        assert!(apart(none.map(|c| c as f32), rest) < 1e-6, "{name}");
    }
}

#[test]
fn dependencies_come_first() {
    // The nodes are listed in reverse order of dependency. The sleeve's parent is the second twist bone, `b`.
    let half = |source: usize| constraint("rotation", json!({"source": source, "weight": 0.5}));
    let it = document(
        json!([
            {"name": "sleeve", "translation": [1, 0, 0], "extensions": constraint(
                "aim", json!({"source": 4, "aimAxis": "PositiveX"}))},
            {"name": "b", "children": [0], "extensions": half(2)},
            {"name": "a", "extensions": half(3)},
            {"name": "arm"},
            {"name": "mark", "translation": [0, 9, 0]},
        ]),
        json!([1, 2, 3, 4]),
        &[(3, about([0.0, 0.0, 1.0], 160.0))],
    );
    let asset = it.import().unwrap();
    assert_eq!(asset.skeleton.joint_count(), 5);
    let (pose, model) = posed(&asset);
    assert!(apart(rotation(&asset, &pose, "a"), about([0.0, 0.0, 1.0], 80.0)) < 1e-6);
    assert!(apart(rotation(&asset, &pose, "b"), about([0.0, 0.0, 1.0], 40.0)) < 1e-6);
    let [x, y, _] = model[usize::from(asset.skeleton.joint_by_name("sleeve").unwrap())].rows;
    let (sine, cosine) = 40_f32.to_radians().sin_cos();
    let to = [-cosine, 9.0 - sine];
    assert!((x[0] * to[1] - y[0] * to[0]).abs() < 1e-5 && y[0] > 0.0, "{x:?} {y:?}");
    // The same constraints on the skeleton of a container.
    let same = asset.clone().on_skeleton(asset.skeleton.clone()).unwrap();
    assert_eq!(same.constraints, asset.constraints);
    // Constraints are applied in the rest pose too.
    let mut poser = Poser::new(&asset, PoserOptions::default()).unwrap();
    poser.rest().unwrap();
    let [x, y, _] = poser.model()[usize::from(asset.skeleton.joint_by_name("sleeve").unwrap())].rows;
    assert!((x[0] * 9.0 + y[0]).abs() < 1e-5 && y[0] > 0.0, "{x:?} {y:?}");
    assert!(asset.constrain(&mut Pose::identity(3)).is_err());
}

#[test]
fn what_cannot_be_is_reported_and_left_out() {
    let turn = |source: Value| constraint("rotation", json!({"source": source}));
    let nodes = [
        json!({"extensions": turn(json!(99))}),
        json!({"extensions": turn(json!(1))}),
        json!({"extensions": turn(json!(3))}),
        json!({"extensions": turn(json!(4))}),
        json!({"extensions": turn(json!(2))}),
        // Depends on the cycle above, and is kept.
        json!({"name": "after", "extensions": turn(json!(2))}),
        json!({"name": "strong", "extensions": constraint("rotation", json!({"source": 0, "weight": 2}))}),
        json!({"extensions": constraint("rotation", json!({"source": 0, "weight": 1e39}))}),
        json!({"extensions": constraint("roll", json!({"source": 0, "rollAxis": "PositiveX"}))}),
        json!({"extensions": constraint("aim", json!({"source": 0}))}),
        json!({"extensions": constraint("position", json!({"source": 0}))}),
        json!({"children": [12], "extensions": constraint("aim", json!({"source": 12, "aimAxis": "PositiveX"}))}),
        json!({}),
        json!({"extensions": {"VRMC_node_constraint": 5}}),
    ];
    let roots: Vec<usize> = (0..nodes.len()).filter(|&at| at != 12).collect();
    let it = document(json!(nodes), json!(roots), &[(0, [0.0, 0.0, ROOT_HALF, ROOT_HALF])]);
    let asset = it.import().unwrap();
    let mut paths: Vec<_> = asset.problems.iter().filter(|p| p.severity == Severity::Warning).collect();
    paths.sort_by_key(|p| p.place.clone());
    let paths: Vec<_> = paths.iter().flat_map(|p| &p.places).map(|path| path.as_str()).collect();
    let at = |node: usize, rest: &str| format!("/nodes/{node}/extensions/VRMC_node_constraint{rest}");
    let mut right = [
        at(0, "/constraint/rotation/source"),
        at(1, "/constraint/rotation/source"),
        at(2, ""),
        at(3, ""),
        at(4, ""),
        at(6, "/constraint/rotation/weight"),
        at(7, "/constraint/rotation/weight"),
        at(8, "/constraint/roll/rollAxis"),
        at(9, "/constraint/aim"),
        at(10, "/constraint"),
        at(11, "/constraint/aim/source"),
        at(13, ""),
    ];
    right.sort();
    let mut paths: Vec<String> = paths.into_iter().map(String::from).collect();
    paths.sort();
    assert_eq!(paths, right, "{:#?}", asset.problems);
    assert_eq!(asset.constraints.len(), 2);
    let pose = posed(&asset).0;
    assert!(apart(rotation(&asset, &pose, "strong"), about([0.0, 0.0, 1.0], 90.0)) < 1e-6);
}

#[test]
fn hostile_documents_end_with_finite_poses() {
    // A deep hierarchy: each of 3,000 nested nodes aims at the same node outside the hierarchy.
    let aim = |source: usize| constraint("aim", json!({"source": source, "aimAxis": "PositiveZ"}));
    let count = 3_000;
    let mut nodes: Vec<Value> = (0..count)
        .map(|at| match at + 1 < count {
            true => json!({"children": [at + 1], "translation": [0, 1, 0], "extensions": aim(count)}),
            false => json!({"extensions": aim(count)}),
        })
        .collect();
    nodes.push(json!({"translation": [1, 2, 3]}));
    let asset = document(json!(nodes), json!([0, count]), &[]).import().unwrap();
    assert!(asset.problems.iter().any(|p| p.what.contains("65536 ancestors")), "{:?}", asset.problems);
    assert!(asset.constraints.len() > 300);
    posed(&asset);
    // One large cycle.
    let turn = |source: usize| constraint("rotation", json!({"source": source}));
    let nodes: Vec<Value> = (0..20_000).map(|at| json!({"extensions": turn((at + 1) % 20_000)})).collect();
    let roots: Vec<usize> = (0..20_000).collect();
    let asset = document(json!(nodes), json!(roots), &[]).import().unwrap();
    assert!(asset.constraints.is_empty());
    // Cases without a direction: the same position, a zero scale, or numbers out of range. The last case is
    // opposite: half a turn.
    let half_turn = [0.0, 1.0, 0.0, 0.0];
    for (scale, place) in [
        (json!([1, 1, 1]), json!([0, 0, 0])),
        (json!([0, 1, 1]), json!([0, 0, 5])),
        (json!([3e38, 3e38, 3e38]), json!([3e38, 0, -3e38])),
        (json!([1e-38, 1e-38, 1e-38]), json!([1e-38, 0, 0])),
        (json!([1, 1, 1]), json!([0, 0, -7])),
    ] {
        let nodes = json!([
            {"scale": scale, "children": [1, 2]},
            {"name": "aim", "extensions": aim(2)},
            {"translation": place},
        ]);
        let asset = document(nodes, json!([0]), &[(0, half_turn)]).import().unwrap();
        let mut pose = Pose::rest(&asset.skeleton);
        asset.constrain(&mut pose).unwrap();
        let found = rotation(&asset, &pose, "aim");
        let length = found.iter().map(|c| c * c).sum::<f32>();
        assert!((length - 1.0).abs() < 1e-6, "{scale} {place}: {found:?}");
    }
}
