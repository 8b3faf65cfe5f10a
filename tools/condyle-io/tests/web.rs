//! Bits of posed vertices that the npm package must have too: `bindings/wasm/tests/bits.json`.

#![cfg(feature = "gltf")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use condyle::sampling::PoseSource;
use condyle::simd::Dispatch;
use condyle_gltf::{Poser, PoserOptions};
use condyle_io::{Options, open};

const FILE: &str = "bindings/wasm/tests/bits.json";

const MODELS: [&str; 12] = [
    "testdata/ancestors.glb",
    "testdata/cubic_step_linear.glb",
    "testdata/eight_influences.glb",
    "testdata/forearm.glb",
    "testdata/mirrored.glb",
    "testdata/morph.glb",
    "testdata/no_inverse_bind.glb",
    "testdata/rigid.glb",
    "testdata/shared_joints.glb",
    "testdata/two_joints.glb",
    "models/CesiumMan.gltf",
    "models/Fox.glb",
];

/// FNV-1a of the bits of all coordinates.
fn hash(positions: &[[f32; 3]]) -> u32 {
    let words = positions.as_flattened().iter().map(|it| it.to_bits());
    words.fold(0x811c_9dc5, |sum, word| (sum ^ word).wrapping_mul(0x0100_0193))
}

/// One hash for each mesh at each of five moments of the first clip.
fn bits(path: &Path) -> Vec<u32> {
    let model = open(path, &Options::default()).expect("a model of the tests");
    let asset = model.asset.as_ref().expect("a document");
    let clip = model.clips.first();
    let mut poser = Poser::new(asset, PoserOptions::default()).expect("room for the meshes");
    let mut lines = Vec::new();
    for moment in 0..5 {
        let seconds = clip.map_or(0.0, |it| it.start() + (it.end() - it.start()) * f64::from(moment) / 4.0);
        poser.pose(clip, seconds).expect("a pose");
        for instance in 0..asset.instances.len() {
            lines.extend(poser.posed(instance).iter().map(|it| hash(&it.positions)));
        }
    }
    lines
}

/// Path of a model. Those in `models` are reference characters, which are not in the repository: the folder
/// `CONDYLE_MODELS`.
fn path(root: &Path, name: &str) -> Option<PathBuf> {
    let Some(character) = name.strip_prefix("models/") else { return Some(root.join(name)) };
    Some(Path::new(&std::env::var_os("CONDYLE_MODELS")?).join(character))
}

/// Set `CONDYLE_WRITE=1` to write the file.
#[test]
#[cfg(not(target_family = "wasm"))]
fn the_package_is_compared_with_these_bits() {
    Dispatch::current().portable().set_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let known = std::fs::read_to_string(root.join(FILE)).unwrap_or_default();
    let line = |name: &str| known.lines().find(|line| line.contains(&format!("\"{name}\"")));
    let mut lines = Vec::new();
    for name in MODELS {
        if let Some(path) = path(&root, name) {
            let mut text = format!("    \"{name}\": [");
            for (at, hash) in bits(&path).into_iter().enumerate() {
                write!(text, "{}{hash}", if at == 0 { "" } else { ", " }).expect("memory");
            }
            lines.push(text + "]");
        } else {
            lines.extend(line(name).map(|line| line.trim_end_matches(',').to_owned()));
        }
    }
    let found = format!("{{\n{}\n}}\n", lines.join(",\n"));
    if std::env::var_os("CONDYLE_WRITE").is_some() {
        std::fs::write(root.join(FILE), found).expect("the file can be written");
    } else {
        assert!(known == found, "{FILE} differs; set CONDYLE_WRITE=1 to write it");
    }
}
