//! Valid JSON with false content: wrong types and numbers in every place, cycles, and excessive counts.

use serde_json::{Value, json};

use super::{Must, Take, give};
use crate::tiny::{self, Tiny};

/// Appends the JSON pointers of `value` and of all values in it to `all`.
fn places(value: &Value, path: &str, all: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{path}/{index}"), all);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                places(field, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), all);
            }
        }
        _ => {}
    }
    all.push(path.to_owned());
}

fn replaced(tiny: &Tiny, path: &str, with: &Value) -> Vec<u8> {
    let mut tiny = tiny.clone();
    *tiny.json.pointer_mut(path).expect("the path was just listed") = with.clone();
    tiny.glb()
}

pub(crate) fn every_place_replaced_by_everything(take: Take<'_>) {
    let hostile = [
        json!(-1),
        json!(0),
        json!(0.5),
        json!(7),
        json!(255),
        json!(65_535),
        json!(1u32 << 31),
        json!(1u64 << 32),
        json!(1u64 << 53),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(-1e308),
        Value::Null,
        json!(true),
        json!("x"),
        json!(""),
        json!([]),
        json!([0]),
        json!([[[]]]),
        json!({}),
        json!({"x": 1}),
    ];
    for (name, tiny) in tiny::all() {
        let mut paths = Vec::new();
        places(&tiny.json, "", &mut paths);
        for path in &paths {
            for with in &hostile {
                give(
                    take,
                    format_args!("{name}: {path} replaced by {with}"),
                    replaced(&tiny, path, with),
                    Must::EndWell,
                );
            }
        }
    }
}

pub(crate) fn every_member_left_out(take: Take<'_>) {
    for (name, tiny) in tiny::all() {
        let mut paths = Vec::new();
        places(&tiny.json, "", &mut paths);
        for path in &paths {
            let mut changed = tiny.clone();
            let (parent, key) = path.rsplit_once('/').unwrap_or(("", ""));
            match changed.json.pointer_mut(parent) {
                Some(Value::Object(fields)) => drop(fields.remove(key)),
                Some(Value::Array(items)) => drop(items.remove(key.parse().expect("an index"))),
                _ => continue,
            }
            give(take, format_args!("{name} without {path}"), changed.glb(), Must::EndWell);
        }
    }
}

/// Returns the character with one value replaced.
fn with(path: &str, value: Value) -> Vec<u8> {
    let mut tiny = tiny::character();
    *tiny.json.pointer_mut(path).expect("a place in the document") = value;
    tiny.glb()
}

pub(crate) fn references_that_lead_nowhere(take: Take<'_>) {
    for (path, count) in [
        ("/animations/0/channels/0/sampler", 4),
        ("/animations/0/channels/0/target/node", 6),
        ("/animations/0/samplers/0/input", 99),
        ("/animations/0/samplers/0/output", 99),
        ("/bufferViews/0/buffer", 1),
        ("/accessors/0/bufferView", 99),
        ("/meshes/0/primitives/0/attributes/POSITION", 99),
        ("/meshes/0/primitives/0/attributes/JOINTS_0", 99),
        ("/meshes/0/primitives/0/indices", 99),
        ("/meshes/0/primitives/0/targets/0/POSITION", 99),
        ("/nodes/0/children/0", 6),
        ("/nodes/3/mesh", 2),
        ("/nodes/3/skin", 1),
        ("/scenes/0/nodes/0", 6),
        ("/skins/0/inverseBindMatrices", 99),
        ("/skins/0/joints/1", 6),
    ] {
        give(take, path, with(path, json!(count)), Must::BeRefusedAt(path));
    }
}

pub(crate) fn cycles_and_shared_children(take: Take<'_>) {
    for (case, node, children) in [
        ("its own child", 1, json!([1])),
        ("a cycle of two", 2, json!([1])),
        ("a cycle through the root", 5, json!([0])),
        ("two parents", 4, json!([1])),
    ] {
        let mut tiny = tiny::character();
        tiny.json["nodes"][node]["children"] = children;
        give(take, case, tiny.glb(), Must::BeRefused);
    }
    let mut twice = tiny::character();
    twice.json["nodes"][0]["children"] = json!([1, 1]);
    give(take, "the same child twice", twice.glb(), Must::BeToldAt("/nodes/0/children"));
}

pub(crate) fn long_chains_and_too_many_joints(take: Take<'_>) {
    for count in [5_000, 65_535, 70_000] {
        let nodes: Vec<Value> = (0..count)
            .map(|i| if i + 1 < count { json!({"children": [i + 1]}) } else { json!({"mesh": 0, "skin": 0}) })
            .collect();
        let mut tiny = tiny::character();
        tiny.json["nodes"] = json!(nodes);
        tiny.json["scenes"] = json!([{"nodes": [0]}]);
        tiny.json["skins"] = json!([{"joints": (0..count - 1).collect::<Vec<_>>()}]);
        tiny.json["animations"] = json!([]);
        let must = if count <= 65_535 { Must::BeAccepted } else { Must::BeRefused };
        give(take, format_args!("a chain of {count} nodes"), tiny.glb(), must);
    }
}

pub(crate) fn counts_out_of_proportion(take: Take<'_>) {
    for count in [1u64 << 20, 1 << 28, 1 << 31, 1 << 40, u64::MAX / 64] {
        // All zeros by definition, so the count costs the document no bytes.
        let zeros = json!({"componentType": 5126, "type": "VEC3", "count": count});
        let mut tiny = tiny::character();
        tiny.json["accessors"][0] = zeros.clone();
        tiny.json["meshes"][0]["primitives"][0] = json!({"attributes": {"POSITION": 0}});
        give(take, format_args!("{count} vertices of zeros"), tiny.glb(), Must::EndWell);

        let mut tiny = tiny::character();
        tiny.json["animations"][0]["samplers"][1]["output"] = json!(0);
        tiny.json["accessors"][0] = zeros;
        give(take, format_args!("{count} keys of zeros"), tiny.glb(), Must::EndWell);

        let mut tiny = tiny::character();
        tiny.json["bufferViews"][0]["byteLength"] = json!(count);
        give(take, format_args!("a view of {count} bytes"), tiny.glb(), Must::EndWell);

        let mut tiny = tiny::character();
        let sparse = tiny.json["meshes"][0]["primitives"][0]["targets"][1]["POSITION"].clone();
        let sparse = sparse.as_u64().expect("an accessor") as usize;
        tiny.json["accessors"][sparse]["sparse"]["count"] = json!(count);
        give(take, format_args!("{count} sparse elements"), tiny.glb(), Must::EndWell);
        tiny.json["accessors"][sparse]["count"] = json!(count);
        give(take, format_args!("{count} elements, as many sparse"), tiny.glb(), Must::EndWell);
    }
}

pub(crate) fn one_accessor_used_very_often(take: Take<'_>) {
    let count = 100_000;
    let zeros = json!({"componentType": 5126, "type": "VEC3", "count": count});
    let mut tiny = tiny::character();
    tiny.json["accessors"][0] = zeros.clone();
    let primitive = json!({"attributes": {"POSITION": 0}});
    tiny.json["meshes"][1]["primitives"] = json!(vec![primitive; 5_000]);
    give(take, "a mesh of 5,000 large primitives", tiny.glb(), Must::BeRefused);

    let mut tiny = tiny::character();
    tiny.json["accessors"][0] = zeros.clone();
    tiny.json["animations"] = json!([]);
    tiny.json["meshes"][0]["primitives"][0] =
        json!({"attributes": {"POSITION": 0}, "targets": vec![json!({"POSITION": 0}); 5_000]});
    give(take, "5,000 large empty morph targets", tiny.glb(), Must::BeAccepted);

    let mut tiny = tiny::character();
    tiny.json["accessors"][0] = zeros.clone();
    let shifts = tiny.floats("VEC3", &vec![[1.0; 3]; count]);
    tiny.json["animations"] = json!([]);
    tiny.json["meshes"][0]["primitives"][0] =
        json!({"attributes": {"POSITION": 0}, "targets": vec![json!({"POSITION": shifts}); 5_000]});
    give(take, "5,000 large morph targets", tiny.glb(), Must::BeRefusedWith("exceed"));

    // Each target moves one vertex, which is the last of many.
    let count = 2_000_000;
    let zeros = json!({"componentType": 5126, "type": "VEC3", "count": count});
    let mut tiny = tiny::character();
    tiny.json["accessors"][0] = zeros.clone();
    let last = tiny.floats("VEC3", &[[1.0; 3]]);
    let values = tiny.json["accessors"][last]["bufferView"].clone();
    let indices = tiny.floats("SCALAR", &[[f32::from_bits(count - 1)]]);
    let indices = tiny.json["accessors"][indices]["bufferView"].clone();
    tiny.json["accessors"][last] = zeros;
    tiny.json["accessors"][last]["sparse"] = json!({
        "count": 1, "indices": {"bufferView": indices, "componentType": 5125}, "values": {"bufferView": values},
    });
    tiny.json["animations"] = json!([]);
    tiny.json["meshes"][0]["primitives"][0] =
        json!({"attributes": {"POSITION": 0}, "targets": vec![json!({"POSITION": last}); 5_000]});
    give(take, "5,000 morph targets of one vertex", tiny.glb(), Must::BeRefusedWith("exceed"));

    let mut tiny = tiny::character();
    tiny.json["accessors"][0] = json!({"componentType": 5126, "type": "SCALAR", "count": count});
    let sampler = json!({"input": 0, "output": 0});
    tiny.json["animations"][0]["samplers"] = json!(vec![sampler; 5_000]);
    give(take, "5,000 samplers on one accessor", tiny.glb(), Must::EndWell);

    let mut tiny = tiny::character();
    let nodes: Vec<Value> = (0..20_000).map(|_| json!({"mesh": 0})).collect();
    tiny.json["nodes"] = json!(nodes);
    tiny.json["scenes"] = json!([{"nodes": (0..20_000).collect::<Vec<_>>()}]);
    tiny.json["skins"] = json!([]);
    tiny.json["animations"] = json!([]);
    give(take, "20,000 instances of one mesh", tiny.glb(), Must::EndWell);
}

pub(crate) fn morph_weights_that_all_move_in_their_own_time(take: Take<'_>) {
    let count = 5_000;
    let mut tiny = tiny::character();
    let shape = tiny.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"].clone();
    let morphed = json!({"attributes": {"POSITION": shape}, "targets": [{"POSITION": shape}]});
    tiny.json["meshes"] = json!([{"primitives": [morphed]}]);
    tiny.json["nodes"] = (0..count).map(|_| json!({"mesh": 0})).collect();
    tiny.json["scenes"] = json!([{"nodes": (0..count).collect::<Vec<_>>()}]);
    tiny.json["skins"] = json!([]);
    let accessors = tiny.json["accessors"].as_array_mut().expect("accessors");
    let first = accessors.len();
    accessors.extend((0..count).map(|_| json!({"componentType": 5126, "type": "SCALAR", "count": 1})));
    let samplers: Vec<Value> =
        (first..first + count).map(|at| json!({"input": at, "output": first})).collect();
    let channel = |node| json!({"sampler": node, "target": {"node": node, "path": "weights"}});
    let channels: Vec<Value> = (0..count).map(channel).collect();
    tiny.json["animations"] = json!([{"samplers": samplers, "channels": channels}]);
    give(take, "5,000 morphed meshes with separate times", tiny.glb(), Must::BeAccepted);
}

pub(crate) fn copies_of_zeros(take: Take<'_>) {
    let zeros = |count: u32| json!({"componentType": 5126, "type": "VEC3", "count": count});
    let count = (2 << 20) - 1;
    for (instances, targets) in [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (11, 0), (11, 1)] {
        for attributes in [json!({"POSITION": 0}), json!({"POSITION": 0, "NORMAL": 0})] {
            for count in [count, count / 2, count / 4, count / 8, count / 16] {
                let mut tiny = tiny::character();
                tiny.json["accessors"][0] = zeros(count);
                tiny.json["animations"] = json!([]);
                tiny.json["meshes"] = json!([{"primitives": [{"attributes": attributes, "targets": vec![json!({}); targets]}]}]);
                tiny.json["nodes"] = json!(vec![json!({"mesh": 0}); instances]);
                tiny.json["scenes"] = json!([{"nodes": [0]}]);
                tiny.json["skins"] = json!([]);
                give(
                    take,
                    format_args!("{instances} times {count} zeros, {targets} targets"),
                    tiny.glb(),
                    Must::EndWell,
                );
            }
        }
    }
}

pub(crate) fn small_text_of_large_values(take: Take<'_>) {
    let with = |path: &[&str], value: String| {
        let mut tiny = tiny::character();
        let owner = path.iter().fold(&mut tiny.json, |at, key| match key.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[*key],
        });
        *owner = json!("HERE");
        tiny::glb(tiny.json.to_string().replacen("\"HERE\"", &value, 1).as_bytes(), &tiny.buffer)
    };
    for count in [50_000, 100_000, 120_000] {
        let value = format!("[{}0]", "{\"\":0},".repeat(count));
        give(take, format_args!("{count} objects"), with(&["extras"], value.clone()), Must::EndWell);
        give(
            take,
            format_args!("{count} objects in a mesh"),
            with(&["meshes", "0", "extras"], value),
            Must::EndWell,
        );
        let value = format!("[{}0]", "0,".repeat(4 * count));
        give(take, format_args!("{} numbers", 4 * count), with(&["extras"], value), Must::EndWell);
    }
    // Every path below a long key repeats the key.
    let children: Vec<String> = (0..5_000).map(|i| format!("\"{i}Texture\":{{\"index\":0}}")).collect();
    let value = format!("{{\"{}\":{{{}}}}}", "k".repeat(900_000), children.join(","));
    give(
        take,
        "a long key above 5,000 textures",
        with(&["materials", "0", "extensions"], value),
        Must::EndWell,
    );
}

pub(crate) fn roots_and_scenes_over_and_over(take: Take<'_>) {
    for (scenes, roots) in [(1, 8_000), (8_000, 1)] {
        let mut tiny = tiny::character();
        let first = 6;
        tiny.json["nodes"].as_array_mut().expect("nodes").extend(vec![json!({"mesh": 0, "skin": 0}); 4_000]);
        tiny.json["nodes"][0]["children"] = (first..first + 4_000).chain([1]).collect();
        tiny.json["scenes"] = json!(vec![json!({"nodes": vec![0; roots]}); scenes]);
        give(take, format_args!("{scenes} scenes of {roots} roots"), tiny.glb(), Must::EndWell);
    }
}

pub(crate) fn springs_out_of_proportion(take: Take<'_>) {
    let count = 20_000;
    let mut tiny = tiny::springs("VRMC_springBone");
    let first = tiny.json["nodes"].as_array().expect("nodes").len();
    // The nodes form one chain, so every spring has all of them between its joints.
    let row = (first..first + count)
        .map(|node| json!({"children": if node + 1 < first + count { vec![node + 1] } else { vec![] }}));
    tiny.json["nodes"].as_array_mut().expect("nodes").extend(row.collect::<Vec<_>>());
    tiny.json["scenes"] = json!([{"nodes": [0, first]}]);
    let extension = &mut tiny.json["extensions"]["VRMC_springBone"];
    let last = first + count - 1;
    let spring = |node: usize| json!({"joints": [{"node": node}, {"node": last}], "colliderGroups": [0]});
    extension["springs"] = (first..last).map(spring).collect();
    give(take, "20,000 springs to one tail", tiny.glb(), Must::EndWell);
    let extension = &mut tiny.json["extensions"]["VRMC_springBone"];
    extension["springs"] = (first..last)
        .map(|node| json!({"joints": [{"node": node}, {"node": node + 1}], "colliderGroups": [0]}))
        .collect();
    extension["colliderGroups"] = json!([{"colliders": vec![0; 100_000]}]);
    give(take, "20,000 springs and 100,000 colliders", tiny.glb(), Must::EndWell);

    let mut tiny = tiny::springs("VRM");
    let group = json!({"bones": vec![0; 20], "colliderGroups": [0]});
    tiny.json["extensions"]["VRM"]["secondaryAnimation"]["boneGroups"] = json!(vec![group; count]);
    give(take, "20,000 groups of the same springs", tiny.glb(), Must::EndWell);
}

pub(crate) fn required_extensions_that_are_unknown(take: Take<'_>) {
    let mut tiny = tiny::character();
    tiny.json["extensionsUsed"] = json!(["VENDOR_magic"]);
    tiny.json["extensionsRequired"] = json!(["VENDOR_magic"]);
    give(take, "an unknown extension", tiny.glb(), Must::BeRefusedWith("VENDOR_magic"));
}
