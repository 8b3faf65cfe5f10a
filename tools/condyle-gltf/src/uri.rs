//! Reads buffers and images by URI: data embedded in the document, a file in its folder or below, or a file
//! that the caller has by name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;

use crate::problem::quoted;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The external files of a document.
#[derive(Debug, Clone, Default)]
pub(crate) enum Files {
    /// The document must not refer to files.
    #[default]
    None,
    /// Files in this folder or below.
    Folder(PathBuf),
    /// Files that the caller passed, by their path relative to the document.
    Named(BTreeMap<PathBuf, Arc<[u8]>>),
}

impl From<Option<&Path>> for Files {
    fn from(folder: Option<&Path>) -> Self {
        folder.map_or(Self::None, |folder| Self::Folder(folder.into()))
    }
}

impl Files {
    /// Requests the files of these URIs from the caller, each file once.
    pub(crate) fn named<'u>(
        uris: impl Iterator<Item = &'u str>,
        mut file: impl FnMut(&str) -> Option<Vec<u8>>,
    ) -> Self {
        let mut named = BTreeMap::new();
        for path in uris.filter(|uri| !uri.starts_with("data:")).filter_map(|uri| relative_path(uri).ok()) {
            if !named.contains_key(&path)
                && let Some(bytes) = path.to_str().and_then(&mut file)
            {
                named.insert(path, bytes.into());
            }
        }
        Self::Named(named)
    }

    /// Advice for a file that cannot be read.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::Named(_) => "embed the data, or open the document together with the file",
            _ => "embed the data, or put the file into the document's folder",
        }
    }
}

/// The location of a URI's data.
pub(crate) enum Resource {
    Embedded(Vec<u8>),
    /// A canonical path.
    File(PathBuf),
    /// A file that the caller passed, with its path.
    Named(PathBuf, Arc<[u8]>),
}

/// Returns the data of `uri`.
pub(crate) fn load(uri: &str, files: &Files) -> Result<Vec<u8>, String> {
    match locate(uri, files)? {
        Resource::Embedded(bytes) => Ok(bytes),
        Resource::File(path) => read_file(&path).map_err(|e| cannot_be_read(uri, &e)),
        Resource::Named(_, bytes) => Ok(bytes.to_vec()),
    }
}

/// Returns the data in `uri`, or the path of the existing file to which it refers.
pub(crate) fn locate(uri: &str, files: &Files) -> Result<Resource, String> {
    if let Some(data) = uri.strip_prefix("data:") {
        return embedded(data).map(Resource::Embedded);
    }
    let file = relative_path(uri)?;
    let folder = match files {
        Files::None => {
            return Err("the document was not read from a folder, so external files cannot be found".into());
        }
        Files::Folder(folder) => folder.as_path(),
        Files::Named(named) => {
            let found = named.get(&file).map(|bytes| Resource::Named(file, bytes.clone()));
            return found.ok_or_else(|| format!("{} is missing", quoted(uri)));
        }
    };
    let path = folder.join(&file);
    let canonical = |path: &Path| path.canonicalize().map_err(|e| cannot_be_read(uri, &e));
    let Ok(folder) = canonical(folder) else {
        // A canonical path requires access to every parent folder, which a sandbox such as WASI may hide.
        path.metadata().map_err(|e| cannot_be_read(uri, &e))?;
        if has_link(folder, &file) {
            return Err(format!("{} is a link whose target cannot be resolved", quoted(uri)));
        }
        return Ok(Resource::File(path));
    };
    // Symbolic links are resolved before the comparison, so that none leads outside.
    let path = canonical(&path)?;
    if !path.starts_with(&folder) {
        return Err(format!("{} is outside the document's folder", quoted(uri)));
    }
    Ok(Resource::File(path))
}

/// Returns whether the path from `folder` to `file` contains a symbolic link.
fn has_link(folder: &Path, file: &Path) -> bool {
    let mut path = folder.to_path_buf();
    file.components().any(|part| {
        path.push(part);
        path.is_symlink()
    })
}

pub(crate) fn cannot_be_read(uri: &str, error: &std::io::Error) -> String {
    format!("{} cannot be read: {error}", quoted(uri))
}

/// Reads a regular file. Everything else is refused before it is opened: a pipe could block forever, and a
/// device could never end.
pub(crate) fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let regular = |metadata: &std::fs::Metadata| {
        if metadata.is_file() { Ok(metadata.len()) } else { Err(std::io::Error::other("not a regular file")) }
    };
    regular(&path.metadata()?)?;
    let file = File::open(path)?;
    let length = regular(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Decodes `[mediatype][;base64],data`. Source: RFC 2397.
fn embedded(data: &str) -> Result<Vec<u8>, String> {
    let (kind, body) = data.split_once(',').ok_or("the data URI has no comma before its data")?;
    if !kind.ends_with(";base64") {
        return Ok(percent_decode_str(body).collect());
    }
    let body: Cow<'_, [u8]> = percent_decode_str(body).into();
    BASE64.decode(body).map_err(|e| format!("the base64 data is invalid: {e}"))
}

/// Resolves `.` and `..` (RFC 3986, 5.2.4). Apart from links, the resulting path cannot leave its starting
/// folder.
fn relative_path(uri: &str) -> Result<PathBuf, String> {
    let shown = quoted(uri);
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if !scheme.is_empty() && scheme.chars().all(is_scheme) {
        return Err(format!(
            "{shown} has the scheme {}: only files in the document's folder are read",
            quoted(scheme)
        ));
    }
    let decoded =
        percent_decode_str(uri).decode_utf8().map_err(|_| format!("{shown} is not UTF-8 when decoded"))?;
    if decoded.is_empty() || decoded.contains(['\\', '\0']) {
        return Err(format!("{shown} is empty, or contains a backslash or a zero byte"));
    }
    let mut path = PathBuf::new();
    for part in Path::new(&*decoded).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            Component::ParentDir => return Err(format!("{shown} is outside the document's folder")),
            Component::RootDir | Component::Prefix(_) => return Err(format!("{shown} is an absolute path")),
        }
    }
    Ok(path)
}

// WebAssembly has no temporary folder.
#[cfg(all(test, not(target_family = "wasm")))]
mod tests {
    use super::*;
    use std::fs;

    /// A new folder for one test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("condyle-uri-{test}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("model/sub")).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn data_uris() {
        let load = |uri| load(uri, &Files::None);
        assert_eq!(load("data:application/octet-stream;base64,AAEC").unwrap(), [0, 1, 2]);
        assert_eq!(load("data:;base64,AAECAw==").unwrap(), [0, 1, 2, 3]);
        assert_eq!(load("data:;base64,AAECAw").unwrap(), [0, 1, 2, 3]);
        assert_eq!(load("data:;base64,AAECAw%3D%3D").unwrap(), [0, 1, 2, 3]);
        assert_eq!(load("data:,a%20b").unwrap(), b"a b");
        assert!(load("data:;base64,A*==").unwrap_err().contains("base64"));
        assert!(load("data:;base64").unwrap_err().contains("comma"));
    }

    #[test]
    fn files_in_the_folder_are_read() {
        let root = Folder::new("inside");
        let model = root.0.join("model");
        fs::write(model.join("a b%.bin"), b"1").unwrap();
        fs::write(model.join("sub/ü.bin"), b"2").unwrap();
        for (uri, want) in
            [("a%20b%25.bin", "1"), ("a b%.bin", "1"), ("./sub/%C3%BC.bin", "2"), ("sub/../sub/ü.bin", "2")]
        {
            assert_eq!(load(uri, &Some(&*model).into()).unwrap(), want.as_bytes(), "{uri}");
        }
        assert!(load("gone.bin", &Some(&*model).into()).unwrap_err().contains("gone.bin"));
        assert!(load("a b%.bin", &Files::None).unwrap_err().contains("folder"));
    }

    #[test]
    fn what_lies_outside_is_refused() {
        let root = Folder::new("outside");
        let model = root.0.join("model");
        fs::write(root.0.join("secret"), b"s").unwrap();
        let absolute = root.0.join("secret");
        for uri in [
            "../secret",
            "%2e%2e/secret",
            "sub/../../secret",
            "..%2Fsecret",
            "..\\secret",
            absolute.to_str().unwrap(),
            "//host/secret",
            "file:///etc/passwd",
            "http://localhost/x",
            "C:/secret",
            "",
            "a%00b",
            "%ff",
        ] {
            let error = load(uri, &Some(&*model).into()).unwrap_err();
            assert!(!error.contains("cannot be read"), "{uri}: {error}");
        }
        assert!(load("sub", &Some(&*model).into()).unwrap_err().contains("not a regular file"));
    }

    #[cfg(unix)]
    #[test]
    fn links_that_leave_the_folder_and_devices_are_refused() {
        use std::os::unix::fs::symlink;
        let root = Folder::new("links");
        let model = root.0.join("model");
        fs::write(root.0.join("secret"), b"s").unwrap();
        fs::write(model.join("own"), b"o").unwrap();
        symlink("../secret", model.join("out")).unwrap();
        symlink("..", model.join("up")).unwrap();
        symlink("own", model.join("in")).unwrap();
        for uri in ["out", "up/secret"] {
            assert!(load(uri, &Some(&*model).into()).unwrap_err().contains("outside"), "{uri}");
        }
        assert_eq!(load("in", &Some(&*model).into()).unwrap(), b"o");
        let socket = model.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(load("socket", &Some(&*model).into()).unwrap_err().contains("not a regular file"));
        assert!(read_file(Path::new("/dev/zero")).unwrap_err().to_string().contains("not a regular file"));
    }
}
