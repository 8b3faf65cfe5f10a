//! Opens one file of each format by path and from bytes; checks options that do not apply, and invalid files.

use std::path::PathBuf;

use condyle::container::{ContainerWriter, EntryKind};
use condyle::sampling::{AnyClip, PoseSource};
use condyle::{Interpolation, Joint, Pose, RawClip, Skeleton, Target, Track, Transform};
use condyle_encode::{EncodeOptions, Shell, encode};
use condyle_io::{
    Format, Library, LibraryError, Misfit, Model, OpenError, Options, Part, PartData, from_bytes, open,
};

const BVH: &str = "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 1\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation \
                   Yrotation\nEnd Site\n{\nOFFSET 0 1 0\n}\n}\nMOTION\nFrames: 2\nFrame Time: 0.5\n0 0 1 0 0 0\n0 2 3 0 0 0\n";

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("condyle-io");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("room");
    path
}

/// A container of models with these names. Each has one joint, which rises by 2 in half a second.
fn container(names: &[&str]) -> Vec<u8> {
    let skeleton = Skeleton::new([Joint::new("hips", None, Transform::IDENTITY)]).expect("a joint");
    let values = vec![0.0, 0.0, 0.0, 0.0, 2.0, 0.0];
    let track =
        Track { target: Target::Translation(0), interpolation: Interpolation::Linear, timeline: 0, values };
    let clip = RawClip::new("rise".into(), vec![vec![0.0, 0.5]], vec![track]).expect("a clip");
    let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
    let encoded = encode(&clip, &skeleton, &options, &mut |_| ()).expect("small");
    let mut writer = ContainerWriter::default();
    for name in names {
        let model = writer.add_skeleton(name, &skeleton).expect("a model");
        writer.set_unit(model, 0.01).expect("a unit");
        let clip = writer.add(EntryKind::Clip, "rise", Some(model), encoded.bytes()).expect("a clip");
        writer.set_shell(clip, 0.03).expect("a radius");
    }
    writer.finish()
}

fn misfit(result: Result<Model, OpenError>) -> Misfit {
    match result {
        Err(OpenError::Misfit { misfit, .. }) => misfit,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_path_and_its_bytes_are_the_same_model() {
    let glb = std::fs::read(testdata("two_joints.glb")).expect("a file");
    let [container, bvh] = [container(&["m"]), BVH.as_bytes().to_vec()];
    for (name, bytes, format, clip) in [
        ("two.glb", &glb, Format::Gltf, "bend"),
        ("walk.bvh", &bvh, Format::Bvh, "walk"),
        // The first bytes decide the format, not the name.
        ("lift.glb", &container, Format::Container, "rise"),
    ] {
        let path = scratch(name, bytes);
        let options = Options::default();
        let from_path = open(&path, &options).expect(name);
        let from_bytes = from_bytes(&path.display().to_string(), bytes, &options).expect(name);
        for model in [&from_path, &from_bytes] {
            assert_eq!((model.format, model.clips.len()), (format, 1), "{name}");
        }
        assert_eq!(from_path.clips[0].clip.name(), clip, "{name}");
        let [a, b] = [&from_path, &from_bytes].map(|model| {
            let mut pose = Pose::rest(&model.skeleton);
            model.clips[0].clip.pose(&model.skeleton, 0.4, &mut pose).expect("the clip is of this skeleton");
            pose
        });
        assert_eq!(a, b, "{name}");
        assert!(a != *from_path.skeleton.rest(), "{name} moves");
        assert!(from_path.files.contains(&path.canonicalize().expect("the file exists")), "{name}");
        assert!(from_bytes.files.is_empty(), "{name}");
    }
}

#[test]
fn unit_and_up_axis_are_those_that_are_asked_for() {
    let options = Options { unit: Some(0.01), z_up: true, ..Options::default() };
    let mut model = from_bytes("walk.bvh", BVH.as_bytes(), &options).expect("motion");
    assert_eq!((model.unit, model.is_turned), (Some(0.01), true));
    let at = |model: &Model, seconds| {
        let mut pose = Pose::rest(&model.skeleton);
        model.clips[0].clip.pose(&model.skeleton, seconds, &mut pose).expect("the clip is of this skeleton");
        pose.get(0).translation.map(|v| (v * 1e4).round() / 1e4 + 0.0)
    };
    // (0, 2, 3) with Z up is (0, 3, -2) with Y up.
    assert_eq!(at(&model, 0.5), [0.0, 3.0, -2.0]);
    assert_eq!(model.skeleton.rest().get(0).translation.map(f32::round), [0.0, 1.0, 0.0]);
    model.problems.clear();
    let (asset, compressed) = model.into_asset().expect("joints").expect("a document");
    assert!(asset.was_turned() && compressed.is_empty() && asset.clips.len() == 1);
    assert_eq!(asset.unit(), Some(0.01));

    let compressed = from_bytes("a.condyle", &container(&["m"]), &Options::default()).expect("a model");
    assert_eq!(compressed.unit, Some(f64::from(0.01_f32)));
    assert_eq!(compressed.clips[0].shell, Some(0.03));
    assert!(matches!(compressed.clips[0].clip, AnyClip::Compressed { .. }));
    assert!(compressed.into_asset().expect("no document").is_none());
}

#[test]
fn options_that_do_not_fit_are_named() {
    let two = container(&["a", "b"]);
    let open = |bytes: &[u8], options: Options<'_>| from_bytes("file", bytes, &options);
    let model = |model| Options { model: Some(model), ..Options::default() };
    let names = || vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(misfit(open(&two, Options::default())), Misfit::SeveralModels(names()));
    assert_eq!(misfit(open(&two, model("c"))), Misfit::NoSuchModel("c".into(), names()));
    assert_eq!(open(&two, model("b")).expect("the model exists").clips.len(), 1);
    assert_eq!(misfit(open(BVH.as_bytes(), model("a"))), Misfit::SingleModel);
    // Both models have a clip of this name. A single model needs no clip.
    let clip = |clip| Options { clip: Some(clip), ..Options::default() };
    assert_eq!(misfit(open(&two, clip("rise"))), Misfit::SeveralModels(names()));
    assert_eq!(misfit(open(&two, clip("sink"))), Misfit::NoSuchClip("sink".into(), vec!["rise".into(); 2]));
    assert!(open(&container(&["a"]), clip("sink")).is_ok() && open(BVH.as_bytes(), clip("sink")).is_ok());
    let z_up = Options { z_up: true, ..Options::default() };
    assert_eq!(misfit(open(&container(&["a"]), z_up)), Misfit::Compressed);
    for unit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let why = open(BVH.as_bytes(), Options { unit: Some(unit), ..Options::default() });
        assert!(matches!(why, Err(OpenError::Refused(_))), "{unit}");
    }
}

#[test]
fn files_that_cannot_be_used_say_why() {
    let missing = open(testdata("no such file.glb"), &Options::default()).expect_err("a missing file");
    assert!(matches!(missing, OpenError::Unreadable { .. }), "{missing}");
    let folder = open(testdata(""), &Options::default()).expect_err("a folder");
    assert!(folder.to_string().contains("not a regular file"), "{folder}");
    for (name, bytes, words) in [
        ("empty", &b""[..], "cannot be used"),
        ("broken.bvh", b"HIERARCHY\nROOT Hips\n[", "line 3"),
        ("cut.condyle", &container(&["a"])[..100], "encode it again, or use a newer condyle"),
        ("none.condyle", &ContainerWriter::default().finish(), "it holds no models"),
        ("zip.npz", b"PK\x03\x04 and nothing else", "the archive is damaged"),
    ] {
        let why = from_bytes(name, bytes, &Options::default()).expect_err(name);
        assert!(why.to_string().contains(words) && why.to_string().starts_with(name), "{why}");
    }
}

#[test]
fn libraries_say_what_is_wrong() {
    let part = container(&["a", "b"]);
    let whole = Part { data: PartData::Bytes(&part), unit: None, checksum: None };
    let write = |parts: &[Part<'_>], names: Option<&[String]>, steps: usize| {
        let (mut out, mut left) = (Vec::new(), steps);
        let mut step = || {
            left = left.saturating_sub(1);
            left > 0
        };
        let library = Library { parts, names, metadata: Some("{}") };
        library.write(&mut out, &mut step).map(|written| (out, written))
    };
    let names = ["x", "y"].map(String::from);
    let (bytes, written) = write(&[whole], Some(&names), 99).expect("a library");
    assert_eq!((written.skeletons, written.clips), (1, 2));
    let model = from_bytes("all.condyle", &bytes, &Options::default()).expect("one skeleton");
    assert_eq!(model.clips.iter().map(|it| it.clip.name()).collect::<Vec<_>>(), ["x", "y"]);
    // A part may be a library.
    let again = Part { data: PartData::Bytes(&bytes), ..whole };
    assert_eq!(write(&[again], None, 99).expect("a library").0, bytes);

    let changed = Part { checksum: Some(1), ..whole };
    assert!(matches!(write(&[whole, changed], None, 99), Err(LibraryError::Changed(1))));
    let missing = Part { data: PartData::File("no such file".as_ref()), ..whole };
    assert!(matches!(write(&[missing], None, 99), Err(LibraryError::Unreadable(0, _))));
    let broken = Part { data: PartData::Bytes(b"CONDYLE"), ..whole };
    assert!(matches!(write(&[whole, broken], None, 99), Err(LibraryError::Unfit(1, _))));
    let few = write(&[whole], Some(&names[..1]), 99);
    assert!(matches!(few, Err(LibraryError::Names { found: 1, needed: 2 })));
    assert!(matches!(write(&[whole, whole], None, 3), Err(LibraryError::Ended)));
    let mut full = [0; 10];
    let library = Library { parts: &[whole], ..Library::default() };
    assert!(matches!(library.write(&mut &mut full[..], &mut || true), Err(LibraryError::Output(_))));
}

#[test]
fn cut_files_are_errors() {
    let glb = std::fs::read(testdata("two_joints.glb")).expect("a file");
    for bytes in [&glb[..], BVH.as_bytes(), &container(&["a", "b"])] {
        // A BVH file with missing frames is valid.
        let end = BVH.rfind('}').expect("a hierarchy");
        let is_whole = |cut: usize| bytes == BVH.as_bytes() && cut > end;
        for cut in (0..bytes.len().min(2000)).filter(|&cut| !is_whole(cut)) {
            assert!(from_bytes("cut", &bytes[..cut], &Options::default()).is_err(), "{cut}");
        }
    }
}
