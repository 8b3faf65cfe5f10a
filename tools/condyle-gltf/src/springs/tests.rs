use condyle_solve::spring_bones::{Collider, ColliderShape, Spring, SpringJoint, Springs};

use crate::asset::Asset;
use crate::problem::Severity;
use crate::testing::{Builder, character};
use crate::value::{Value, json};

/// Returns the character with a braid of nodes 3, 4 and 5 on its knee. Node 6 is another child of the knee
/// and not a joint.
fn braided(extension: &str, value: Value) -> Builder {
    let mut it = character();
    let nodes = it.json["nodes"].as_array_mut().unwrap();
    nodes[2]["children"] = json!([3, 6]);
    nodes.push(json!({"name": "a", "translation": [0, 0, 1], "children": [4]}));
    nodes.push(json!({"name": "b", "translation": [0, 0, 1], "children": [5]}));
    nodes.push(json!({"name": "c", "translation": [0, 0, 1]}));
    nodes.push(json!({"name": "bone", "translation": [0, 5, 0], "scale": [2, 2, 2]}));
    it.json["extensionsUsed"] = json!([extension, "VRMC_springBone_extended_collider"]);
    it.json["extensions"][extension] = value;
    it
}

fn vrm1(springs: Value, colliders: Value, groups: Value) -> Builder {
    let extension =
        json!({"specVersion": "1.0", "springs": springs, "colliders": colliders, "colliderGroups": groups});
    braided("VRMC_springBone", extension)
}

fn joint(asset: &Asset, name: &str) -> u16 {
    asset.skeleton.joint_by_name(name).unwrap()
}

#[test]
fn springs_of_vrm_1() {
    let far = json!({"sphere": {"offset": [0, -10000, 0], "radius": 0}});
    let plane = json!({"specVersion": "1.0", "shape": {"plane": {"offset": [1, 0, 0], "normal": [0, 1, 0]}}});
    let asset = vrm1(
        json!([{
            "joints": [
                {"node": 3, "stiffness": 0.7, "gravityPower": 2, "gravityDir": [0.5, 0, 0], "dragForce": 0.3, "hitRadius": 0.1},
                {"node": 4}, {"node": 5},
            ],
            "center": 6,
            "colliderGroups": [1, 0],
        }]),
        json!([
            {"node": 1, "shape": {"capsule": {"offset": [1, 0, 0], "tail": [2, 0, 0], "radius": 0.5}}},
            {"node": 6, "shape": far, "extensions": {"VRMC_springBone_extended_collider": plane}},
        ]),
        json!([{"colliders": [0]}, {"name": "b", "colliders": [1]}]),
    );
    let asset = asset.import().unwrap();
    assert_eq!(asset.skeleton.names(), ["hip", "knee", "a", "b", "c"]);
    let [hip, knee, a, b, c] = ["hip", "knee", "a", "b", "c"].map(|name| joint(&asset, name));
    let first = SpringJoint {
        stiffness: 0.7,
        gravity: [1.0, 0.0, 0.0],
        drag: 0.3,
        hit_radius: 0.1,
        ..SpringJoint::new(a)
    };
    let joints = [first, SpringJoint::new(b), SpringJoint::new(c)];
    let spring = Spring { center: Some(knee), colliders: vec![1, 0], ..Spring::new(joints) };
    let (offset, tail) = ([1.0, 0.0, 0.0], [2.0, 0.0, 0.0]);
    let colliders = [
        Collider {
            joint: Some(hip),
            shape: ColliderShape::Capsule { offset, tail, radius: 0.5, inside: false },
        },
        // Node 6 is not a joint, but it does not move relative to the knee.
        Collider {
            joint: Some(knee),
            shape: ColliderShape::Plane { offset: [2.0, 5.0, 0.0], normal: [0.0, 1.0, 0.0] },
        },
    ];
    assert_eq!(asset.springs, Some(Springs::new(&asset.skeleton, &[spring], &colliders).unwrap()));
    assert!(!asset.problems.iter().any(|p| p.place.contains("springBone")), "{:?}", asset.problems);
    // The skeleton of a container, made when more nodes were animated.
    let same = asset.clone().on_skeleton(asset.skeleton.clone()).unwrap();
    assert_eq!(same.springs, asset.springs);
}

#[test]
fn springs_of_vrm_0() {
    let vector = |x: f32, y: f32, z: f32| json!({"x": x, "y": y, "z": z});
    let mut it = braided(
        "VRM",
        json!({"secondaryAnimation": {
            "boneGroups": [{
                "comment": "hair", "stiffiness": 0.4, "gravityPower": 0.5, "gravityDir": vector(0.0, -1.0, 1.0), "dragForce": 0.6,
                "center": -1, "hitRadius": 0.02, "bones": [3], "colliderGroups": [0],
            }],
            "colliderGroups": [{"node": 1, "colliders": [{"offset": vector(1.0, 2.0, 3.0), "radius": 0.25}]}],
        }}),
    );
    // A second chain next to `c`.
    it.json["nodes"][4]["children"] = json!([5, 7]);
    it.json["nodes"].as_array_mut().unwrap().push(json!({"name": "d", "translation": [0, 2, 0]}));
    let asset = it.import().unwrap();
    let [hip, a, b, c, d] = ["hip", "a", "b", "c", "d"].map(|name| joint(&asset, name));
    let of = |joint| SpringJoint {
        stiffness: 0.4,
        gravity: [0.0, -0.5, -0.5],
        drag: 0.6,
        hit_radius: 0.02,
        ..SpringJoint::new(joint)
    };
    let row = |joints: &[u16], end| Spring {
        end: Some(end),
        colliders: vec![0],
        ..Spring::new(joints.iter().map(|&joint| of(joint)))
    };
    let springs = [row(&[a, b, c], [0.0, 0.0, 0.07]), row(&[d], [0.0, 0.07, 0.0])];
    let shape = ColliderShape::Sphere { offset: [1.0, 2.0, -3.0], radius: 0.25, inside: false };
    let colliders = [Collider { joint: Some(hip), shape }];
    assert_eq!(asset.springs, Some(Springs::new(&asset.skeleton, &springs, &colliders).unwrap()));
}

/// Tests that invalid parts are dropped with a path and a reason, and that the document is read.
#[test]
fn what_is_wrong_is_left_out() {
    let good = || json!({"joints": [{"node": 3}, {"node": 4}, {"node": 5}]});
    let sphere = |node: u32| json!({"node": node, "shape": {"sphere": {"radius": 1}}});
    let at = "/extensions/VRMC_springBone";
    for (springs, colliders, groups, place, swinging) in [
        (
            json!([{"joints": [{"node": 3}, {"node": 9}]}]),
            json!([]),
            json!([]),
            "/springs/0/joints/1/node",
            0,
        ),
        (
            json!([{"joints": [{"node": 4}, {"node": 3}]}]),
            json!([]),
            json!([]),
            "/springs/0/joints/1/node",
            0,
        ),
        (json!([{"joints": [{"node": 4}]}]), json!([]), json!([]), "/springs/0", 0),
        (json!([{"joints": 7}, good()]), json!([]), json!([]), "/springs/0/joints", 2),
        (json!([good(), good()]), json!([]), json!([]), "/springs/1", 2),
        (
            json!([{"joints": [{"node": 3, "dragForce": 3}, {"node": 4}]}]),
            json!([]),
            json!([]),
            "/springs/0/joints/0/dragForce",
            1,
        ),
        (
            json!([{"joints": [{"node": 3, "stiffness": "x"}, {"node": 4}]}]),
            json!([]),
            json!([]),
            "/springs/0/joints/0/stiffness",
            0,
        ),
        (json!([{"joints": good()["joints"], "center": 3}]), json!([]), json!([]), "/springs/0/center", 2),
        // Its ancestor moves too; the other spring still swings.
        (
            json!([{"joints": [{"node": 3}, {"node": 4}]}, {"joints": [{"node": 4}, {"node": 5}], "center": 3}]),
            json!([]),
            json!([]),
            "/springs/1/center",
            2,
        ),
        (json!([good()]), json!([{"node": 1, "shape": {}}]), json!([]), "/colliders/0/shape", 2),
        (json!([good()]), json!([sphere(99)]), json!([]), "/colliders/0/node", 2),
        (
            json!([good()]),
            json!([sphere(1)]),
            json!([{"colliders": [4]}]),
            "/colliderGroups/0/colliders/0",
            2,
        ),
        (
            json!([{"joints": good()["joints"], "colliderGroups": [0]}]),
            json!([sphere(5)]),
            json!([{"colliders": [0]}]),
            "/springs/0",
            2,
        ),
    ] {
        let asset = vrm1(springs, colliders, groups).import().expect(place);
        let found = asset.problems.iter().find(|p| p.place == format!("{at}{place}"));
        let found = found.unwrap_or_else(|| panic!("{place}: {:?}", asset.problems));
        assert_eq!(found.severity, Severity::Warning, "{found}");
        assert_eq!(asset.springs.as_ref().map_or(0, Springs::joint_count), swinging, "{found}");
    }
    let twice = json!({"secondaryAnimation": {"boneGroups": [{"bones": [3, 3, 12]}], "colliderGroups": [{"node": -1}]}});
    let asset = braided("VRM", twice).import().unwrap();
    assert!(asset.springs.is_none());
    assert_eq!(asset.problems.iter().filter(|p| p.place.contains("/secondaryAnimation/")).count(), 3);
}

/// Tests that a poser simulates springs, and only in `swing`.
#[test]
fn a_poser_swings() {
    use crate::poser::{Poser, PoserOptions};
    use condyle::RawClip;
    use condyle_solve::spring_bones::Tick;
    let heavy = json!({"node": 3, "gravityPower": 5, "gravityDir": [1, 0, 0]});
    let asset = vrm1(json!([{"joints": [heavy, {"node": 4}]}]), json!([]), json!([])).import().unwrap();
    let mut poser = Poser::new(&asset, PoserOptions::default()).unwrap();
    let tip = usize::from(joint(&asset, "b"));
    let place = |poser: &Poser<'_>| poser.model()[tip].transform_point([0.0; 3]);
    poser.rest().unwrap();
    assert_eq!(place(&poser), [0.0, 1.0, 2.0]);
    for _ in 0..30 {
        poser.swing::<RawClip>(None, 0.0, &Tick::new(1.0 / 60.0)).unwrap();
    }
    assert!(place(&poser)[0] > 0.5, "{:?}", place(&poser));
    poser.springs_mut().unwrap().reset();
    poser.swing::<RawClip>(None, 0.0, &Tick::new(1.0 / 60.0)).unwrap();
    assert_eq!(place(&poser), [0.0, 1.0, 2.0]);
}
