//! Files that request more work than their size justifies.

use crate::common::{Folder, ribbon};
use condyle::container::{Container, ContainerWriter, EntryKind, checksum};
use serde_json::json;

const JOINTS: usize = 2000;

/// Returns a folder with `chain.gltf`: a chain of [`JOINTS`] joints, one of which the ribbon's wave moves for
/// `seconds`.
fn chain(seconds: f32) -> Folder {
    let folder = Folder::with_ribbon();
    let mut data = folder.read("ribbon.bin");
    // The second of the two key times, after the data of the vertices.
    let at = 48 + 48 + 16 + 64 + 12 + 4;
    data[at..at + 4].copy_from_slice(&seconds.to_le_bytes());
    folder.write("chain.bin", data);
    let mut chain = ribbon();
    let link = |at: usize| match at + 1 < JOINTS {
        true => json!({ "children": [at + 1] }),
        false => json!({}),
    };
    chain["nodes"] = (0..JOINTS).map(link).collect();
    chain["scenes"] = json!([{ "nodes": [0] }]);
    chain["skins"] = json!([{ "joints": (0..JOINTS).collect::<Vec<_>>() }]);
    chain["accessors"][5]["max"] = json!([seconds]);
    chain["animations"].as_array_mut().expect("a list").truncate(1);
    chain["buffers"][0]["uri"] = json!("chain.bin");
    chain.as_object_mut().expect("an object").remove("meshes");
    folder.write("chain.gltf", chain.to_string());
    folder
}

#[test]
fn long_clips_of_many_joints_in_a_small_file() {
    let folder = chain(3600.0);
    for (line, what) in [
        ("encode chain.gltf -o a.condyle", "8,192 frames of 2,000 joints"),
        ("encode chain.gltf -o a.condyle --best", "8,192 frames of 2,000 joints"),
        ("pack chain.gltf -o a.glb", "8,192 frames of 2,000 joints"),
        ("reach chain.gltf --clip Wave --goal 1=0,0,0 -o a.glb", "8,193 frames of 2,000 joints"),
        ("skin chain.gltf --clip Wave --fps 27 -o a.npy --joints", "97,201 moments of 2,000 joints"),
        ("compare chain.gltf chain.gltf --fps 270", "972,001 moments of 4,000 joints"),
    ] {
        let words = [
            "chain.gltf",
            "the clip Wave",
            what,
            "times the work",
            "--max-work is 1",
            "allow it with --max-work",
        ];
        folder.refuses(line, 1, &words);
    }
    assert_eq!(folder.written(), ["chain.bin", "chain.gltf"]);
    folder.refuses("encode chain.gltf -o a.condyle --limit 3", 1, &["--max-work is 3", "--max-work 4"]);
}

/// The header of a clip with thirty frames states 33,000 frames, which its curves then cover.
#[test]
fn a_compressed_clip_that_says_it_is_long() {
    let folder = chain(1.0);
    folder.run("encode chain.gltf -o short.condyle").assert().success();
    let bytes = folder.read("short.condyle");
    let short = Container::from_bytes(&bytes).expect("what was written");
    let of = |kind| short.entries().find(|entry| entry.kind == kind).expect("one of each").index;
    let mut writer = ContainerWriter::default();
    let skeleton = short.skeleton(of(EntryKind::Skeleton)).expect("a skeleton");
    let model = writer.add_skeleton("chain", &skeleton).expect("a skeleton");
    let document = short.document(of(EntryKind::Document)).expect("a document");
    writer.add(EntryKind::Document, "chain", Some(model), document).expect("a document");
    let clip = short.clip(of(EntryKind::Clip)).expect("a clip");
    let mut clip = clip.as_bytes().to_vec();
    // Fields in docs/format.md: frames in a segment, frames, checksum.
    clip[22..24].copy_from_slice(&u16::MAX.to_le_bytes());
    clip[24..28].copy_from_slice(&33_000_u32.to_le_bytes());
    let sum = checksum(&clip[..12]) ^ checksum(&clip[20..]);
    clip[12..20].copy_from_slice(&sum.to_le_bytes());
    writer.add(EntryKind::Clip, "Wave", Some(model), &clip).expect("bytes");
    folder.write("long.condyle", writer.finish());

    folder.run("info long.condyle").assert().success();
    let words =
        ["long.condyle: the clip Wave, 33,000 frames of 2,000 joints, would take 6.2 times", "--max-work 7"];
    folder.refuses("decode long.condyle -o a.glb", 1, &words);
    folder.run("decode short.condyle -o a.glb").assert().success();
}

#[test]
fn every_command_that_plays_a_clip_asks_first() {
    let folder = Folder::with_ribbon();
    folder.run("encode ribbon.gltf -o ribbon.condyle").assert().success();
    for line in [
        "encode ribbon.gltf -o a.condyle",
        "encode ribbon.gltf --onto ribbon.gltf -o a.condyle",
        "decode ribbon.condyle -o a.glb",
        "pack ribbon.gltf -o a.glb",
        "compare ribbon.gltf ribbon.condyle",
        "skin ribbon.gltf --clip Wave --fps 10 -o a.glb",
        "render ribbon.condyle --clip Wave -o a.gif --size 32",
        "render ribbon.gltf --clip Wave --sheet 4 -o a.png --size 32",
        "render ribbon.gltf --clip Wave --clip Step -o a.webp --size 32",
        "reach ribbon.gltf --clip Wave --move upper=0,0,0.1 -o a.glb",
    ] {
        folder.refuses(
            &format!("{line} --limit 0"),
            1,
            &["ribbon.", "the clip Wave", "--max-work is 0", "--max-work 1"],
        );
        folder.run(&format!("{line} --limit 1")).assert().success();
    }
    folder.refuses("pack ribbon.gltf -o a.glb --limit -1", 2, &["a factor is a number"]);
}
