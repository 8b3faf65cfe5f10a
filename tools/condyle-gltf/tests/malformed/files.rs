//! Documents that refer to files: only regular files in the document's folder or below are read.

use std::path::{Path, PathBuf};

use crate::attempt::attempt_with;
use crate::refuse;
use crate::tiny::{self, Tiny};
use condyle_gltf::{Asset, Document};

/// A folder that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("model/sub")).expect("the target folder can be written");
        Self(path)
    }

    fn model(&self) -> PathBuf {
        self.0.join("model")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn naming(uri: &str) -> (Tiny, Vec<u8>) {
    let tiny = tiny::character();
    let mut json = tiny.json.clone();
    json["buffers"][0]["uri"] = uri.into();
    (tiny, json.to_string().into_bytes())
}

fn import(bytes: &[u8], folder: &Path) -> Result<Asset, condyle_gltf::Refused> {
    Document::from_slice("hostile", bytes, Some(folder)).and_then(Asset::from_document)
}

/// Checks that the URI is refused at its path, even if it refers to the right buffer.
fn refuse_uri(folder: &Folder, uri: &str) {
    let (_, bytes) = naming(uri);
    let Err(refused) = attempt_with(uri, bytes.len(), || import(&bytes, &folder.model())) else {
        panic!("{uri}: accepted");
    };
    assert!(refused.problems.iter().any(|p| p.place == "/buffers/0/uri"), "{uri}: {refused}");
}

#[test]
fn only_files_beside_the_model_are_read() {
    let folder = Folder::new("uris");
    let (tiny, _) = naming("");
    for place in ["outside.bin", "model/inside.bin", "model/sub/below.bin", "model/a b.bin"] {
        std::fs::write(folder.0.join(place), &tiny.buffer).expect("the folder can be written");
    }
    for uri in
        ["inside.bin", "./inside.bin", "sub/below.bin", "sub/../inside.bin", "a%20b.bin", "%69nside.bin"]
    {
        let (_, bytes) = naming(uri);
        let result = attempt_with(uri, bytes.len(), || import(&bytes, &folder.model()));
        assert!(result.is_ok(), "{uri}: {}", result.err().map(|r| r.to_string()).unwrap_or_default());
    }
    let absolute = folder.model().join("inside.bin").display().to_string();
    for uri in [
        "",
        ".",
        "..",
        "../outside.bin",
        "%2e%2e/outside.bin",
        "..%2foutside.bin",
        "sub/../../outside.bin",
        "..\\outside.bin",
        "sub\\below.bin",
        "/etc/passwd",
        "//host/share/x.bin",
        "C:\\x.bin",
        "C:/x.bin",
        "file:inside.bin",
        "file:///etc/passwd",
        "http://example.com/x.bin",
        "https://example.com/x.bin",
        "javascript:0",
        "missing.bin",
        "inside.bin%00",
        "inside.bin\0.png",
        "%ff%fe",
        "sub",
        &absolute,
        &format!("file://{absolute}"),
        &"x".repeat(100_000),
        &"../".repeat(100_000),
    ] {
        refuse_uri(&folder, uri);
    }
    let (_, bytes) = naming("inside.bin");
    refuse("a file where there is no folder", &bytes, "/buffers/0/uri");
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_and_special_files_are_refused() {
    let folder = Folder::new("special");
    let (tiny, _) = naming("");
    let model = folder.model();
    let link = |to: &Path, name: &str| {
        std::os::unix::fs::symlink(to, model.join(name)).expect("symbolic links are supported");
    };
    std::fs::write(folder.0.join("outside.bin"), &tiny.buffer).expect("the folder can be written");
    link(&folder.0.join("outside.bin"), "out.bin");
    link(&folder.0, "up");
    link(Path::new("/dev/zero"), "zero.bin");
    link(Path::new("loop.bin"), "loop.bin");
    link(Path::new("nowhere"), "dangling.bin");
    for uri in ["out.bin", "up/outside.bin", "zero.bin", "loop.bin", "dangling.bin"] {
        refuse_uri(&folder, uri);
    }
    let fifo = model.join("pipe.bin");
    if std::process::Command::new("mkfifo").arg(&fifo).status().is_ok_and(|s| s.success()) {
        refuse_uri(&folder, "pipe.bin");
        assert!(Asset::open(&fifo).is_err(), "a pipe as a model");
    }
    assert!(Asset::open("/dev/zero").is_err(), "a device as a model");
    assert!(Asset::open(&model).is_err(), "a folder as a model");
    let missing = Asset::open(model.join("missing.glb")).expect_err("a missing file");
    assert!(missing.to_string().contains("missing.glb"), "{missing}");
}
