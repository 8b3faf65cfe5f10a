//! Every example of the help texts, of docs/command-line.md, docs/guide and README.md runs on the files that
//! it names, and has the intended effect.
//!
//! `fox.glb` is the demo's character with the names and units of the Khronos Fox.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::bodies::{doubles, npz};
use crate::common::{Folder, condyle, testdata};

/// Returns the JSON of a .glb, and the bytes after it.
fn glb(bytes: &[u8]) -> (Value, &[u8]) {
    let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    (serde_json::from_slice(&bytes[20..20 + length]).expect("JSON"), &bytes[20 + length..])
}

fn to_glb(json: &Value, rest: &[u8]) -> Vec<u8> {
    let mut text = json.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let total = 20 + text.len() + rest.len();
    let head = [b"glTF".as_slice(), &2_u32.to_le_bytes(), &(total as u32).to_le_bytes()].concat();
    [&head, (text.len() as u32).to_le_bytes().as_slice(), b"JSON", &text, rest].concat()
}

/// Returns the character of the demo as a Fox. Its left hand is the Fox's head, which reaches forward.
fn stand_in(character: &[u8]) -> Vec<u8> {
    let (mut json, rest) = glb(character);
    for (kind, from, to) in [
        ("nodes", "left_hand", "b_Head_05"),
        ("nodes", "left_toes", "b_Tail03_014"),
        ("animations", "walk", "Walk"),
        ("animations", "run", "Run"),
        ("animations", "idle", "Survey"),
    ] {
        let named = json[kind].as_array_mut().expect("a list").iter_mut().find(|it| it["name"] == from);
        named.expect("it is there")["name"] = to.into();
    }
    let mut rest = rest.to_vec();
    enlarge(&mut json, &mut rest, 44.0);
    to_glb(&json, &rest)
}

/// Multiplies all lengths of a .glb: translations of nodes and clips, positions and inverse bind matrices.
fn enlarge(json: &mut Value, rest: &mut [u8], factor: f32) {
    let index = |value: &Value| value.as_u64().unwrap_or(0) as usize;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let scale = |numbers: Option<&mut Value>| {
        for number in numbers.and_then(Value::as_array_mut).into_iter().flatten() {
            *number = json!(number.as_f64().expect("a number") as f32 * factor);
        }
    };
    for node in json["nodes"].as_array_mut().expect("a list") {
        scale(node.get_mut("translation"));
    }
    // Accessors with the floats of an element that are lengths.
    let mut lengths = BTreeMap::new();
    for primitive in list(&json["meshes"]).iter().flat_map(|mesh| list(&mesh["primitives"])) {
        for attributes in std::iter::once(&primitive["attributes"]).chain(&list(&primitive["targets"])) {
            lengths.extend(attributes.get("POSITION").map(|accessor| (index(accessor), 0..3)));
        }
    }
    for skin in list(&json["skins"]) {
        lengths.insert(index(&skin["inverseBindMatrices"]), 12..15);
    }
    for clip in list(&json["animations"]) {
        for channel in list(&clip["channels"]).iter().filter(|it| it["target"]["path"] == "translation") {
            lengths.insert(index(&clip["samplers"][index(&channel["sampler"])]["output"]), 0..3);
        }
    }
    for (accessor, floats) in lengths {
        let accessor = &mut json["accessors"][accessor];
        assert_eq!(accessor["componentType"], 5126, "the demo's character has floats");
        scale(accessor.get_mut("min"));
        scale(accessor.get_mut("max"));
        let size = if floats.start == 0 { 3 } else { 16 };
        let (count, offset) = (index(&accessor["count"]), index(&accessor["byteOffset"]));
        let view = index(&accessor["bufferView"]);
        // After the header of the binary chunk.
        let start = 8 + offset + index(&json["bufferViews"][view]["byteOffset"]);
        for element in rest[start..].chunks_exact_mut(4 * size).take(count) {
            let (numbers, _) = element[4 * floats.start..4 * floats.end].as_chunks_mut::<4>();
            numbers
                .iter_mut()
                .for_each(|number| *number = (f32::from_le_bytes(*number) * factor).to_le_bytes());
        }
    }
}

/// Returns one animation of a model, without its meshes.
fn motion(model: &[u8], clip: usize) -> Vec<u8> {
    let (mut json, rest) = glb(model);
    for node in json["nodes"].as_array_mut().expect("a list") {
        node.as_object_mut().expect("an object").retain(|key, _| key != "mesh" && key != "skin");
    }
    for key in ["meshes", "skins", "materials", "textures", "images", "samplers"] {
        json.as_object_mut().expect("an object").remove(key);
    }
    json["animations"] = json!([json["animations"][clip]]);
    to_glb(&json, rest)
}

const WALK: &str = "HIERARCHY ROOT Hips { OFFSET 0 0 0 CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Head { OFFSET 0 0 80 CHANNELS 3 Zrotation Xrotation Yrotation End Site { OFFSET 0 0 20 } }
  JOINT Foot { OFFSET 0 0 -90 CHANNELS 3 Zrotation Xrotation Yrotation End Site { OFFSET 0 -20 0 } } }
MOTION Frames: 3 Frame Time: .0333333
0 0 90 0 0 0 0 0 0 0 0 0
0 -3 91 0 2 0 5 0 0 0 9 0
0 -6 90 0 0 0 9 0 0 0 0 0
";

/// Returns a folder with all files that examples name.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.run("demo").assert().success();
    let character = folder.read("condyle-demo/character.glb");
    let fox = stand_in(&character);
    for inside in ["mocap", "clips", "amass", "models", "moves", "testdata", "docs"] {
        fs::create_dir_all(folder.path(inside)).expect("a folder");
    }
    fs::copy(testdata("forearm.glb"), folder.path("testdata/forearm.glb")).expect("a model of ours");
    let clip = |name: &str| {
        let (json, _) = glb(&fox);
        json["animations"]
            .as_array()
            .expect("a list")
            .iter()
            .position(|it| it["name"] == name)
            .expect("it is there")
    };
    for (name, bytes) in [
        ("man.glb", &character),
        ("hero.glb", &character),
        ("moves/man.glb", &character),
        ("fox.glb", &fox),
        ("models/fox.glb", &fox),
        ("walk.glb", &motion(&fox, clip("Walk"))),
        ("run.glb", &motion(&fox, clip("Run"))),
        ("clips/run.glb", &motion(&fox, clip("Run"))),
    ] {
        folder.write(name, bytes);
    }
    folder.write("character.fbx", include_bytes!("../../../condyle-fbx/tests/data/arm.fbx"));
    for name in ["walk.bvh", "mocap/walk.bvh"] {
        folder.write(name, WALK);
    }
    folder.write("model.npz", crate::retarget::person().bytes());
    let arrays = [
        ("poses", doubles(&[4, 72], &[0.1; 288])),
        ("trans", doubles(&[4, 3], &[0.9; 12])),
        ("mocap_framerate", doubles(&[], &[60.0])),
    ];
    folder.write("amass/stand.npz", npz(&arrays, zip::CompressionMethod::Stored));
    for line in [
        "encode fox.glb -o fox.condyle --unit 1cm",
        "encode walk.bvh -o walk.condyle --unit 1cm --up z",
        "encode man.glb -o character.condyle",
        "encode mocap -o motion.condyle --unit 1cm",
        "rig man.glb -o man.map",
        "decode character.condyle --clip walk -o dance.bvh",
        "decode character.condyle --clip idle -o hero.bvh",
        "pack fox.glb -o smaller.glb --unit 1cm",
        "reach fox.glb --fit-limits -o fox.limits.json",
    ] {
        folder.run(line).assert().success();
    }
    folder
}

/// Returns the command lines of a text, without comments, pipes and redirections.
fn lines(text: &str, comment: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let found = joined.lines().map(str::trim).filter_map(|line| line.strip_prefix("condyle "));
    let command = |line: &str| {
        let line = line.split(comment).next().unwrap_or_default();
        let line = line.split(" | ").next().unwrap_or_default();
        line.split(" > ").next().unwrap_or_default().trim().to_owned()
    };
    found.map(command).collect()
}

/// Returns all examples: of the program, of its commands, and of the pages.
fn examples() -> Vec<String> {
    let help = |arguments: &[&str]| {
        let output = condyle().args(arguments).output().expect("it runs");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let commands = |help: &str| -> Vec<String> {
        let listed = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
        let names =
            listed.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
        names.filter(|name| *name != "help").map(str::to_owned).collect()
    };
    let whole = help(&["--help"]);
    let mut all = lines(&whole, "  ");
    for command in commands(&whole) {
        let of_command = help(&[&command, "--help"]);
        let below = commands(&of_command);
        let of_below = below.iter().map(|name| (name, help(&[&command, name, "--help"])));
        for (name, text) in std::iter::once((&command, of_command.clone())).chain(of_below) {
            let own = lines(&text, "  ");
            assert!(!own.is_empty(), "{name} has no examples");
            all.extend(own);
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide =
        fs::read_dir(root.join("docs/guide")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let guide = guide.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let pages = ["README.md", "docs/command-line.md", "docs/conventions.md"].map(|page| root.join(page));
    for page in pages.into_iter().chain(guide) {
        let text = fs::read_to_string(page).expect("a page");
        let fenced: Vec<&str> = text.split("```").skip(1).step_by(2).collect();
        let shell = fenced.iter().filter_map(|block| block.strip_prefix("sh\n"));
        shell.for_each(|block| all.extend(lines(block, "#")));
        // Commands in a sentence that document how a picture was made.
        let quoted = text.split('`').filter(|it| it.starts_with("condyle ") && it.contains(" -o "));
        all.extend(
            quoted.filter(|it| !it.contains("FOLDER") && !it.contains('\n')).flat_map(|it| lines(it, "#")),
        );
    }
    all.sort();
    all.dedup();
    all
}

#[test]
fn every_example_does_what_it_is_there_for() {
    let folder = folder();
    let all = examples();
    assert!(all.len() > 70, "{all:#?}");
    all.iter().for_each(|line| run(&folder, line));
}

/// Runs an example and checks its intended effect.
fn run(folder: &Folder, line: &str) {
    // Wildcards and paths that a shell would expand.
    let typed = line.replace("models/*.glb", "models/fox.glb").replace("*.glb", "fox.glb man.glb");
    let typed = typed.replace("/tmp/look", "look");
    let words: Vec<&str> = typed.split_whitespace().collect();
    let command = if words[0] == "query" { words[1] } else { words[0] };
    if command == "view" {
        return crate::view::serves(folder, &words);
    }
    let output = folder.condyle(&words).output().expect("it runs");
    let [told, warned] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(0), "condyle {line}: {warned}");
    let value = |option: &[&str]| words.iter().position(|word| option.contains(word)).map(|at| words[at + 1]);
    let written = value(&["-o", "--output"]);
    let is_series = words.contains(&"--fps") || value(&["--time"]).is_some_and(|time| time.contains(','));
    if let Some(to) = written.filter(|to| !(to.ends_with(".npy") || is_series && command == "skin")) {
        let path = folder.path(to);
        assert!(
            path.is_dir() || fs::metadata(&path).is_ok_and(|it| it.len() > 0),
            "condyle {line} wrote no {to}"
        );
    }
    // The pictures of the documentation are the output of the commands quoted there.
    if cfg!(target_arch = "x86_64")
        && let Some(picture) = written.filter(|to| to.starts_with("docs/"))
    {
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(picture);
        let committed = fs::read(committed).expect("the picture");
        assert!(folder.read(picture) == committed, "condyle {line} writes another picture than {picture}");
    }
    for to in ["--report", "--plot"].into_iter().filter_map(|option| value(&[option])) {
        assert!(folder.path(to).is_file(), "condyle {line} wrote no {to}");
    }
    let json = |file: &str, more: &str| {
        let output = folder.run(&format!("{more} {file} --json")).output().expect("it runs");
        serde_json::from_slice::<Value>(&output.stdout)
            .unwrap_or_else(|e| panic!("condyle {line}: {file}: {e}"))
    };
    match command {
        "ray" => assert!(!told.starts_with("no hits"), "condyle {line}: {told}"),
        // Within limits learned from three clips, most goals are missed by some millimetres.
        "reach" if words.contains(&"--limits") => {
            assert!(
                !warned.contains("missed by") || warned.contains("missed by 0."),
                "condyle {line}: {warned}"
            );
        }
        "reach" => assert!(!warned.contains("out of reach"), "condyle {line}: {warned}"),
        "check" => assert!(told.contains("no problems") || told.contains("usable"), "condyle {line}: {told}"),
        "encode" if !words.contains(&"--json") => {
            assert!(told.contains("error up to"), "condyle {line}: {told}");
            let packed = json(written.expect("an output"), "info");
            let clips =
                packed["entries"].as_array().expect("entries").iter().filter(|it| it["kind"] == "clip");
            assert!(clips.count() > 0, "condyle {line}: {packed}");
        }
        // A .glb of the few frames of `walk.bvh` is larger than the text. A folder has no size.
        "pack" if words[1].contains('.') && !words[1].ends_with(".bvh") => {
            let [before, after] = [words[1], written.expect("an output")].map(|file| folder.read(file).len());
            assert!(after < before, "condyle {line}: {after} bytes of {before}");
        }
        "decode" | "bake" if written.is_some_and(|to| to.ends_with(".glb")) => {
            let found = json(written.expect("an output"), "info");
            assert!(
                found["clips"].as_array().is_some_and(|clips| !clips.is_empty()),
                "condyle {line}: {found}"
            );
        }
        "skin" if written.is_some_and(|to| to.ends_with(".npy")) => {
            assert!(told.contains(".npy"), "condyle {line}: {told}");
        }
        "compare" => assert!(told.contains("millimetre"), "condyle {line}: {told}"),
        "bounds" | "hitboxes" | "info" | "completions" | "man" | "render" => {
            assert!(!told.is_empty(), "condyle {line} prints nothing");
        }
        _ => {}
    }
    // An example must not print such a warning. Warnings about units are allowed: such an example shows
    // something else.
    let odd = warned.lines().filter(|warning| warning.contains("cannot") || warning.contains("left out: "));
    assert_eq!(odd.collect::<Vec<_>>(), Vec::<&str>::new(), "condyle {line}");
}
