//! `condyle query bounds`, `condyle query ray`, `condyle query hitboxes`, and their shapes in `render`,
//! compared with every vertex that `condyle skin` writes.

use crate::common::{Folder, models, transcript};
use condyle::Affine;
use condyle_gltf::{Asset, Poser, PoserOptions};
use insta::assert_snapshot;
use serde_json::Value;

fn report(folder: &Folder, line: &str) -> Value {
    let output = folder.run(&format!("{line} --json")).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn vector(value: &Value) -> [f64; 3] {
    [0, 1, 2].map(|k| number(&value[k]))
}

fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|k| a[k] - b[k])
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn length(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

/// A primitive that `condyle skin` wrote.
struct Written {
    node: usize,
    positions: Vec<[f64; 3]>,
    triangles: Vec<[usize; 3]>,
}

/// Poses a model with `condyle skin` and reads the output.
fn written(folder: &Folder, line: &str) -> Vec<Written> {
    folder.run(&format!("skin {line} -o posed.glb")).assert().success();
    let asset = Asset::open(folder.path("posed.glb")).unwrap_or_else(|e| panic!("{e}"));
    let mut poser = Poser::new(&asset, PoserOptions::default()).expect("few copies");
    poser.rest().expect("the rest pose");
    let mut all = Vec::new();
    for (at, instance) in asset.instances.iter().enumerate() {
        for (source, posed) in instance.primitives.iter().zip(poser.posed(at)) {
            let indices = source.mesh.indices().as_chunks::<3>().0;
            all.push(Written {
                node: instance.node,
                positions: posed.positions.iter().map(|p| p.map(f64::from)).collect(),
                triangles: indices.iter().map(|t| t.map(|v| v as usize)).collect(),
            });
        }
    }
    all
}

/// Returns the corners of the box around all vertices.
fn corners(all: &[Written]) -> [[f64; 3]; 2] {
    let points = || all.iter().flat_map(|it| &it.positions);
    let least = [0, 1, 2].map(|k| points().map(|p| p[k]).fold(f64::INFINITY, f64::min));
    [least, [0, 1, 2].map(|k| points().map(|p| p[k]).fold(f64::NEG_INFINITY, f64::max))]
}

fn assert_near(found: &Value, want: [[f64; 3]; 2]) {
    for (corner, want) in ["min", "max"].into_iter().zip(want) {
        assert!(length(sub(vector(&found[corner]), want)) < 1e-6, "{corner} {want:?}: {found}");
    }
}

#[test]
fn bounds_are_those_of_every_vertex() {
    let folder = Folder::with_character();
    let mut union = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
    for seconds in ["0", "0.2", "0.45"] {
        let line = format!("a.glb --clip run --time {seconds}");
        let (all, found) = (written(&folder, &line), report(&folder, &format!("bounds {line}")));
        let [least, most] = corners(&all);
        let [exact, joints] = ["exact", "joints"].map(|kind| &found["all"][kind]);
        // A mesh on a joint is written with the matrix of its node, which rounds differently.
        assert_near(exact, [least, most]);
        for k in 0..3 {
            assert!(vector(&joints["min"])[k] <= least[k] + 1e-6);
            assert!(vector(&joints["max"])[k] >= most[k] - 1e-6);
            (union[0][k], union[1][k]) = (union[0][k].min(least[k]), union[1][k].max(most[k]));
        }
        for it in [exact, joints] {
            let (center, radius) = (vector(&it["center"]), number(&it["radius"]));
            for p in all.iter().flat_map(|it| &it.positions) {
                assert!(length(sub(*p, center)) <= radius + 1e-6, "{seconds}: {p:?} is not in {it}");
            }
        }
        let diagonal = |it: &Value| length(sub(vector(&it["max"]), vector(&it["min"])));
        let ratio = number(&found["all"]["ratio"]);
        assert!((ratio - diagonal(joints) / diagonal(exact)).abs() < 1e-12 && (1.0..1.3).contains(&ratio));
        assert_eq!(found["primitives"].as_array().map(Vec::len), Some(all.len()));
        assert_eq!(found["primitives"][0]["node"], all[0].node);
    }
    let found = report(&folder, "bounds a.glb --clip run --time 0.45,0,0.2");
    let exact = &found["all"]["exact"];
    assert_near(exact, union);
    assert_eq!((number(&found["moments"]), number(&found["from_s"])), (3.0, 0.0));
}

#[test]
fn bounds_of_a_clip_reach_to_its_end() {
    let folder = Folder::with_ribbon();
    // The step of 3 m is at the last moment, which is not on a frame of --fps 0.7.
    let found = report(&folder, "bounds ribbon.gltf --clip Step --fps 0.7");
    let exact = &found["all"]["exact"];
    assert_eq!((number(&found["moments"]), number(&found["to_s"])), (2.0, 1.0));
    assert_eq!([vector(&exact["min"]), vector(&exact["max"])], [[0.0; 3], [4.0, 3.0, 0.0]]);
    assert_snapshot!(
        "bounds",
        folder.session(&["bounds ribbon.gltf --clip Step", "bounds ribbon.gltf --rest"])
    );
}

/// Returns all distances at which a ray hits triangles, ascending, by the method of Möller and Trumbore in
/// f64.
fn distances(all: &[Written], from: [f64; 3], to: [f64; 3]) -> Vec<f64> {
    let way = sub(to, from);
    let meets = |it: &Written, t: &[usize; 3]| {
        let [a, b, c] = t.map(|v| it.positions[v]);
        let (ab, ac) = (sub(b, a), sub(c, a));
        let across = cross(way, ac);
        let area = dot(ab, across);
        let begin = sub(from, a);
        let u = dot(begin, across) / area;
        let turned = cross(begin, ab);
        let v = dot(way, turned) / area;
        let along = dot(ac, turned) / area;
        (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && (0.0..=1.0).contains(&along)).then_some(along * length(way))
    };
    let mut found: Vec<f64> =
        all.iter().flat_map(|it| it.triangles.iter().filter_map(move |t| meets(it, t))).collect();
    found.sort_by(f64::total_cmp);
    found
}

#[test]
fn rays_meet_what_is_nearest_of_every_triangle() {
    let folder = Folder::with_character();
    let all = written(&folder, "a.glb --clip run --time 0.2");
    let [least, most] = corners(&all);
    let mut met = 0;
    for step in 0..8 {
        let part =
            |k: usize, by: f64| least[k] + (most[k] - least[k]) * ((f64::from(step) + 0.5) * by).fract();
        let (from, to) =
            ([part(0, 0.618), part(1, 0.1247), 3.0], [part(0, 0.43), part(1, 0.1247) + 0.05, -3.0]);
        let text = |p: [f64; 3]| p.map(|v| (v as f32).to_string()).join(",");
        let line = format!("raycast a.glb --clip run --time 0.2 --from {} --to {}", text(from), text(to));
        let (first, every) = (report(&folder, &line), report(&folder, &format!("{line} --all")));
        let [from, to] = [from, to].map(|p| p.map(|v| f64::from(v as f32)));
        let want = distances(&all, from, to);
        let found: Vec<f64> =
            every["hits"].as_array().expect("a list").iter().map(|hit| number(&hit["distance_m"])).collect();
        assert_eq!(found.len(), want.len(), "{line}: {found:?} {want:?}");
        for (found, want) in found.iter().zip(&want) {
            assert!((found - want).abs() < 2e-6, "{line}: {found} {want}");
        }
        let hit = &first["hit"];
        match want.first() {
            None => assert!(hit.is_null(), "{line}: {hit}"),
            Some(distance) => {
                met += 1;
                assert_eq!(*hit, every["hits"][0]);
                let off = length(sub(vector(&hit["point"]), from)) - distance;
                assert!(off.abs() < 2e-6, "{line}: {off}");
                assert!((length(vector(&hit["normal"])) - 1.0).abs() < 1e-6);
            }
        }
    }
    assert!((3..8).contains(&met), "{met} rays of 8 meet it");
}

#[test]
fn a_hit_tells_side_and_joint() {
    let folder = Folder::with_ribbon();
    let hit = |ends: &str| report(&folder, &format!("raycast ribbon.gltf --rest {ends}"))["hit"].clone();
    let low = hit("--from 0.1,0.2,5 --to 0.1,0.2,-5");
    assert!((number(&low["distance_m"]) - 5.0).abs() < 1e-6);
    assert_eq!((&low["triangle"], &low["front"], &low["joint"]), (&0.into(), &true.into(), &"lower".into()));
    assert_eq!(vector(&low["normal"]), [0.0, 0.0, 1.0]);
    let high = hit("--from 0.9,190cm,-5m --to 0.9,1.9,5");
    assert_eq!(
        (&high["triangle"], &high["front"], &high["joint"]),
        (&1.into(), &false.into(), &"upper".into())
    );
    assert_eq!((&high["node"], &high["primitive"], &high["name"]), (&3.into(), &0.into(), &"ribbon".into()));
    assert!(hit("--from -1,-1,5 --to -1,-1,-5").is_null());
    assert!(hit("--from 0.1,0.2,5 --to 0.1,0.2,0.01").is_null());
    assert_snapshot!(
        "raycast",
        folder.session(&[
            "raycast ribbon.gltf --clip Wave --time 1 --from -0.7,1.2,5 --to -0.7,1.2,-5",
            "raycast ribbon.gltf --rest --from -1,-1,5 --to -1,-1,-5",
            "raycast ribbon.gltf --rest --from 0.5,1.25,5 --to 0.5,1.25,-5 --all",
            "raycast ribbon.gltf --rest --from 0.5,0.5,5 --to 0.5,0.5,-5 --hitboxes",
        ])
    );
}

/// Whether a point in a joint's space is within a shape enlarged by `larger`.
fn holds(shape: &Value, p: [f64; 3], larger: f64) -> bool {
    match shape["shape"].as_str() {
        Some("sphere") => length(sub(p, vector(&shape["center"]))) <= number(&shape["radius"]) + larger,
        Some("capsule") => {
            let (from, to) = (vector(&shape["from"]), vector(&shape["to"]));
            let way = sub(to, from);
            let long = dot(way, way);
            let t = if long > 0.0 { (dot(sub(p, from), way) / long).clamp(0.0, 1.0) } else { 0.0 };
            let nearest = [0, 1, 2].map(|k| from[k] + way[k] * t);
            length(sub(p, nearest)) <= number(&shape["radius"]) + larger
        }
        Some("box") => {
            let half = vector(&shape["half_extents"]);
            let rotation = &shape["rotation"];
            let (axis, w) = (vector(rotation).map(|v| -v), number(&rotation[3]));
            let from = sub(p, vector(&shape["center"]));
            let turn = cross(axis, from).map(|v| 2.0 * v);
            let more = cross(axis, turn);
            (0..3).all(|k| (from[k] + w * turn[k] + more[k]).abs() <= half[k] + larger)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn hitboxes_hold_vertices_and_stop_rays() {
    let folder = Folder::with_character();
    folder.run("hitboxes a.glb -o a.json").assert().success();
    let file: Value = serde_json::from_slice(&folder.read("a.json")).expect("JSON");
    let found = report(&folder, "hitboxes a.glb");
    assert_eq!(found["hitboxes"], file["hitboxes"]);
    let list = file["hitboxes"].as_array().expect("a list");
    let asset = Asset::open(folder.path("a.glb")).unwrap_or_else(|e| panic!("{e}"));
    let mut poser = Poser::new(&asset, PoserOptions::default()).expect("few copies");
    // The joints of the character do not scale, so the transposed rows invert the rotation.
    let local = |model: &[Affine], joint: usize, p: [f64; 3]| {
        let rows = model[joint].rows.map(|row| row.map(f64::from));
        let from = [0, 1, 2].map(|k| p[k] - rows[k][3]);
        [0, 1, 2].map(|k| rows[0][k] * from[0] + rows[1][k] * from[1] + rows[2][k] * from[2])
    };
    let index = |shape: &Value| number(&shape["joint_index"]) as usize;
    for shape in list {
        assert_eq!(shape["joint"], asset.skeleton.names()[index(shape)].as_str());
    }
    let is_within = |model: &[Affine], p: [f64; 3], larger: f64| {
        list.iter().any(|it| holds(it, local(model, index(it), p), larger))
    };
    // The rest pose of the character is its bind pose.
    poser.rest().expect("the rest pose");
    for p in (0..asset.instances.len()).flat_map(|at| poser.posed(at)).flat_map(|it| &it.positions) {
        assert!(is_within(poser.model(), p.map(f64::from), 1e-5), "{p:?}");
    }
    poser.pose(asset.clip_by_name("run"), 0.2).expect("a moment of it");
    let model = poser.model();
    let mut met = 0;
    for step in 0..6 {
        let y = 0.2 + 0.25 * f64::from(step);
        let (from, to) = ([0.05, y, 3.0], [0.0, y, -3.0]);
        let line = format!("raycast a.glb --clip run --time 0.2 --from 0.05,{y},3 --to 0,{y},-3 --hitboxes");
        let hit = report(&folder, &line)["hit"].clone();
        let steps = 6000;
        let at = |t: i32| [0, 1, 2].map(|k| from[k] + (to[k] - from[k]) * f64::from(t) / f64::from(steps));
        let first = (0..=steps).find(|&t| is_within(model, at(t), 0.0));
        let Some(first) = first else {
            assert!(hit.is_null(), "{line}: {hit}");
            continue;
        };
        met += 1;
        let want = length(sub(at(first), from));
        let distance = number(&hit["distance_m"]);
        assert!((-1e-5..2e-3).contains(&(want - distance)), "{line}: {distance} {want}");
        let own =
            list.iter().find(|it| it["joint_index"] == hit["joint_index"]).expect("a joint of the list");
        let there = local(model, index(own), vector(&hit["point"]));
        assert!(holds(own, there, 1e-5) && !holds(own, there, -1e-5), "{line}: {hit}");
        assert_eq!(hit["shape"], own["shape"]);
    }
    assert!(met >= 3, "{met} rays meet it");
    // With less coverage, fewer vertices are within.
    let tight = report(&folder, "hitboxes a.glb --coverage 0.8");
    let pairs = || list.iter().zip(tight["hitboxes"].as_array().expect("a list"));
    assert!(pairs().any(|(all, part)| all != part) && pairs().all(|(a, b)| a["joint"] == b["joint"]));
    let table = transcript(&mut folder.run("hitboxes a.glb"));
    assert!(table.contains("capsule") && table.lines().count() == list.len() + 2, "{table}");
}

/// The meshes are on their joints and as large as the file states while a clip plays, and the model is
/// unchanged.
#[test]
fn hitboxes_are_meshes_on_joints() {
    let folder = Folder::with_character();
    folder.run("hitboxes a.glb -o shapes/b.glb").assert().success();
    let list = report(&folder, "hitboxes a.glb")["hitboxes"].as_array().expect("a list").clone();
    let (own, asset) = (Asset::open(folder.path("a.glb")), Asset::open(folder.path("shapes/b.glb")));
    let (own, asset) = (own.unwrap_or_else(|e| panic!("{e}")), asset.unwrap_or_else(|e| panic!("{e}")));
    let clips = |asset: &Asset| {
        asset.clips.iter().map(|it| (it.name().to_owned(), it.tracks().len())).collect::<Vec<_>>()
    };
    assert_eq!((clips(&asset), asset.skins.len()), (clips(&own), own.skins.len()));
    let first = own.instances.len();
    assert_eq!(asset.instances.len(), first + list.len());
    let mut poser = Poser::new(&asset, PoserOptions::default()).expect("few copies");
    poser.pose(asset.clip_by_name("run"), 0.2).expect("a moment of it");
    for (at, shape) in list.iter().enumerate() {
        let instance = &asset.instances[first + at];
        assert_eq!(
            Some(instance.name.as_str()),
            shape["joint"].as_str().map(|it| format!("{it}.hitbox")).as_deref()
        );
        let joint = asset
            .skeleton
            .names()
            .iter()
            .position(|name| shape["joint"] == name.as_str())
            .expect("its joint");
        let rows = poser.model()[joint].rows.map(|row| row.map(f64::from));
        for p in &poser.posed(first + at)[0].positions {
            let from = [0, 1, 2].map(|k| f64::from(p[k]) - rows[k][3]);
            let local = [0, 1, 2].map(|k| rows[0][k] * from[0] + rows[1][k] * from[1] + rows[2][k] * from[2]);
            assert!(holds(shape, local, 1e-5) && !holds(shape, local, -1e-5), "{local:?}: {shape}");
        }
    }
    // A small file can have more hitboxes than any real character.
    let mut many = crate::common::ribbon();
    many["nodes"][2]["children"] = (4..4101).collect();
    many["nodes"].as_array_mut().expect("a list").extend((4..4101).map(|_| serde_json::json!({ "mesh": 0 })));
    folder.write("ribbon.gltf", many.to_string());
    folder.write("ribbon.bin", Folder::with_ribbon().read("ribbon.bin"));
    folder.refuses("hitboxes ribbon.gltf -o many.glb", 1, &["ribbon.gltf", "4096", ".json"]);
    folder.run("encode a.glb -o a.condyle --error 1mm").assert().success();
    folder.refuses("hitboxes a.condyle -o c.glb", 2, &["a.condyle", "condyle decode"]);
}

#[test]
fn what_the_default_scene_does_not_show_is_not_asked() {
    let folder = Folder::with_ribbon();
    let mut more = crate::common::ribbon();
    let nodes = more["nodes"].as_array_mut().expect("a list");
    nodes.push(serde_json::json!({ "mesh": 0, "translation": [9.0, 0.0, 0.0] }));
    nodes.push(serde_json::json!({ "mesh": 0, "skin": 0 }));
    folder.write("ribbon.more.gltf", more.to_string());
    let same = |command: &str, key: &str| {
        let [own, more] =
            ["ribbon.gltf", "ribbon.more.gltf"].map(|file| report(&folder, &command.replace("FILE", file)));
        assert_eq!(own[key], more[key], "{command}");
        own[key].clone()
    };
    same("bounds FILE --rest", "all");
    same("bounds FILE --rest", "primitives");
    same("hitboxes FILE", "hitboxes");
    let hits = same("raycast FILE --rest --from 0.2,0.5,1 --to 0.2,0.5,-1 --all", "hits");
    assert_eq!(hits.as_array().map(Vec::len), Some(1));
    assert!(same("raycast FILE --rest --from 9.2,0.5,1 --to 9.2,0.5,-1", "hit").is_null());
}

/// A node that mirrors swaps the front and the back of its triangles.
#[test]
fn mirrored_triangles_have_their_fronts_outside() {
    let folder = Folder::with_ribbon();
    let mut mirrored = crate::common::ribbon();
    mirrored["nodes"][3] = serde_json::json!({ "mesh": 0, "scale": [-1.0, 1.0, 1.0] });
    folder.write("ribbon.mirrored.gltf", mirrored.to_string());
    for (file, x) in [("ribbon.gltf", 0.2), ("ribbon.mirrored.gltf", -0.2)] {
        let hit = &report(&folder, &format!("raycast {file} --rest --from {x},0.5,1 --to {x},0.5,-1"))["hit"];
        assert_eq!((&hit["front"], vector(&hit["normal"])), (&Value::Bool(true), [0.0, 0.0, 1.0]), "{file}");
    }
}

#[test]
fn bounds_and_hitboxes_are_drawn() {
    let folder = Folder::with_character();
    let count = |options: &str, color: [u8; 3]| {
        let line = format!("render a.glb --clip run --time 0.2 --size 320 {options} -o a.png");
        folder.run(&line).assert().success();
        let picture = image::open(folder.path("a.png")).expect("a picture").to_rgb8();
        picture.pixels().filter(|p| p.0 == color).count()
    };
    let (bounds, hitboxes) = ([255; 3], [72, 220, 255]);
    let shown = |options: &str| [bounds, hitboxes].map(|color| count(options, color) > 30);
    assert_eq!(shown(""), [false, false]);
    assert_eq!(shown("--bounds"), [true, false]);
    assert_eq!(shown("--hitboxes"), [false, true]);
    assert_eq!(shown("--bounds --hitboxes"), [true, true]);
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::with_ribbon();
    for (line, code, words) in [
        ("bounds ribbon.gltf", 2, &["--clip", "--rest"][..]),
        ("bounds ribbon.gltf --rest --time 1", 2, &["--rest", "--time"]),
        ("bounds ribbon.gltf --clip Wave --fps 0", 2, &["0.1 to 1000"]),
        ("bounds ribbon.gltf --clip Fly", 2, &["Fly", "Wave"]),
        ("bounds none.gltf --rest", 1, &["none.gltf"]),
        ("bounds ribbon.gltf --clip Wave --fps 1000 --limit 0", 1, &["Wave", "--max-work"]),
        ("raycast ribbon.gltf --rest --from 0,0,1", 2, &["--to"]),
        ("raycast ribbon.gltf --rest --from 0,0 --to 0,0,1", 2, &["x,y,z"]),
        ("raycast ribbon.gltf --rest --from 0,0,1 --to 0,0,1m", 2, &["the same place"]),
        ("raycast ribbon.gltf --rest --from 0,0,1 --to 0,0,1e30", 2, &["--to", "1e9 m"]),
        ("raycast ribbon.gltf --rest --from 1e39,0,1 --to 0,0,1", 2, &["--from", "1e9 m"]),
        ("raycast ribbon.gltf --rest --from nan,0,1 --to 0,0,1", 2, &["--from", "1e9 m"]),
        ("hitboxes ribbon.gltf --coverage 2", 2, &["0 to 1"]),
        ("hitboxes ribbon.gltf -o a.png", 2, &["a.png", ".json", ".glb"]),
        ("hitboxes ribbon.gltf -o ribbon.gltf", 2, &[".json"]),
    ] {
        folder.refuses(line, code, words);
    }
    assert!(folder.written().is_empty(), "{:?}", folder.written());
    // A model with joints only.
    let mut bare = crate::common::ribbon();
    bare["nodes"][3] = serde_json::json!({});
    bare.as_object_mut().expect("an object").remove("meshes");
    folder.write("bare.gltf", bare.to_string());
    folder.refuses("bounds bare.gltf --rest", 1, &["bare.gltf", "no vertices"]);
    folder.refuses("hitboxes bare.gltf", 1, &["bare.gltf", "no vertices"]);
}

#[test]
fn help() {
    let folder = Folder::new();
    for command in ["bounds", "raycast", "hitboxes"] {
        assert_snapshot!(
            format!("{command}_help"),
            transcript(&mut folder.run(&format!("{command} --help")))
        );
    }
}

/// Morph targets, meshes on joints and without joints, non-uniform scales, and real characters.
#[test]
fn boxes_from_joints_are_around_the_exact_ones() {
    let folder = Folder::new();
    let own = ["morph.glb", "rigid.glb", "uneven_scale.glb", "shared_joints.glb"];
    for path in models(&own, &["Knight.glb", "Fox.glb"]) {
        let path = path.display().to_string();
        // Morph weights rise and fall between these times.
        let moments = if path.ends_with("morph.glb") { "--time 2,1,0" } else { "--fps 5" };
        let found = report(&folder, &format!("bounds {path} --clip 0 {moments}"));
        for row in found["primitives"].as_array().expect("a list").iter().chain([&found["all"]]) {
            let [exact, joints] = ["exact", "joints"].map(|kind| &row[kind]);
            for k in 0..3 {
                let outside = number(&joints["min"][k]) > number(&exact["min"][k])
                    || number(&joints["max"][k]) < number(&exact["max"][k]);
                assert!(!outside, "{path}: {row:#}");
            }
        }
        let ratio = number(&found["all"]["ratio"]);
        assert!((1.0..2.0).contains(&ratio), "{path}: {ratio}");
    }
}
