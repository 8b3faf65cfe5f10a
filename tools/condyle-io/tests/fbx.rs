//! FBX files, with the feature and without it.

use condyle_io::{Format, Options, from_bytes};

const ARM: &[u8] = include_bytes!("../../condyle-fbx/tests/data/arm.fbx");

#[cfg(not(feature = "fbx"))]
#[test]
fn without_the_feature_the_error_names_it() {
    let error = from_bytes("arm.fbx", ARM, &Options::default()).expect_err("no reader").to_string();
    assert!(error.contains("FBX") && error.contains("feature `fbx`"), "{error}");
    assert_eq!(Format::Fbx.feature(), Some("fbx"));
}

#[cfg(feature = "fbx")]
mod read {
    use std::path::Path;

    use condyle_io::{Severity, from_parts, open};

    use super::*;

    const PATH: &str = "../condyle-fbx/tests/data/arm.fbx";

    #[test]
    fn bones_without_skin_and_curves_are_joints() {
        let model = open(PATH, &Options::default()).expect("a valid file");
        assert_eq!(model.format, Format::Fbx);
        for name in ["Upper", "Lower", "Hand"] {
            assert!(model.skeleton.joint_by_name(name).is_some(), "{name}");
        }
        assert_eq!(model.clips.len(), 1);
        assert_eq!(model.clips[0].clip.name(), "Bend");
        assert!(model.files.contains(&Path::new(PATH).canonicalize().expect("the file")));
        let missing =
            |it: &condyle_io::Problem| it.severity == Severity::Warning && it.place.contains("lining.png");
        assert!(model.problems.iter().any(missing), "{:?}", model.problems);
    }

    #[test]
    fn textures_near_the_file_are_read_and_listed() {
        let folder = std::env::temp_dir().join(format!("condyle-io-fbx-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("textures")).expect("a folder");
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06";
        std::fs::write(folder.join("textures/lining.png"), png).expect("a file");
        std::fs::write(folder.join("arm.fbx"), ARM).expect("a file");
        let model = open(folder.join("arm.fbx"), &Options::default()).expect("a valid file");
        let texture = folder.join("textures/lining.png").canonicalize().expect("the file");
        assert!(model.files.contains(&texture), "{:?}", model.files);
        assert!(model.asset.expect("meshes").document.json_at("/images/0").is_some());
        std::fs::remove_dir_all(folder).expect("the folder");
    }

    #[test]
    fn a_caller_with_the_files_is_asked_for_textures() {
        let asked = std::cell::RefCell::new(Vec::new());
        let file = |path: &str| {
            asked.borrow_mut().push(path.to_string());
            None
        };
        from_parts("arm.fbx", ARM, &file, &Options::default()).expect("a valid file");
        assert!(asked.borrow().contains(&"lining.png".to_string()), "{asked:?}");
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let error = from_bytes("cut.fbx", &ARM[..900], &Options::default());
        let broken = from_bytes("a.fbx", b"Kaydara FBX Binary  \0\x1a\0\xe8\x1c\0\0", &Options::default());
        assert!(broken.is_err() && error.is_err(), "{error:?} {broken:?}");
    }
}
