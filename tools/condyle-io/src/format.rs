//! Table of formats: name, file extensions and first bytes.

use std::path::Path;

/// A file format.
///
/// ```
/// use condyle_io::Format;
///
/// assert_eq!(Format::of(b"glTF\x02\0\0\0", "fox.glb"), Format::Gltf);
/// assert_eq!(Format::of(b"HIERARCHY\nROOT Hips", "walk.txt"), Format::Bvh);
/// assert!(Format::Gltf.endings().contains(&"vrm"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Condyle container: skeletons, meshes and compressed clips.
    Container,
    /// NumPy archives with body models of the SMPL family or their motion.
    Body,
    /// BVH motion capture.
    Bvh,
    /// FBX, binary or ASCII.
    Fbx,
    /// glTF 2.0 and VRM, which is based on glTF.
    Gltf,
}

/// One row per format, in the order of recognition. The last row accepts any file; its reader reports an
/// unknown format.
const TABLE: &[Row] = &[
    Row {
        format: Format::Container,
        name: "Condyle container",
        endings: &["condyle"],
        feature: None,
        recognise: |first, _| first.starts_with(b"CONDYLE\0"),
    },
    Row {
        format: Format::Body,
        name: "NumPy archive",
        endings: &["npz"],
        feature: Some("body"),
        recognise: |first, ending| first.starts_with(b"PK") && (ending == "npz" || holds_arrays(first)),
    },
    Row {
        format: Format::Bvh,
        name: "BVH",
        endings: &["bvh"],
        feature: Some("bvh"),
        #[cfg(feature = "bvh")]
        recognise: |first, ending| condyle_bvh::Bvh::recognise(first) || is_named_bvh(first, ending),
        #[cfg(not(feature = "bvh"))]
        recognise: is_named_bvh,
    },
    Row {
        format: Format::Fbx,
        name: "FBX",
        endings: &["fbx"],
        feature: Some("fbx"),
        recognise: |first, ending| {
            let is_other = first.starts_with(b"glTF") || first.starts_with(b"PK");
            first.starts_with(b"Kaydara FBX Binary")
                || first.starts_with(b"; FBX ")
                || (ending == "fbx" && !is_other)
        },
    },
    Row {
        format: Format::Gltf,
        name: "glTF",
        endings: &["glb", "gltf", "vrm", "vrma"],
        feature: Some("gltf"),
        recognise: |_, _| true,
    },
];

/// Whether the extension marks the file as BVH. The BVH reader then reports the errors of an invalid file.
fn is_named_bvh(first: &[u8], ending: &str) -> bool {
    ending == "bvh" && !first.starts_with(b"glTF") && !first.starts_with(b"PK")
}

/// Whether the first file in an archive is a NumPy array.
fn holds_arrays(first: &[u8]) -> bool {
    let length = first.get(26..28).map_or(0, |bytes| usize::from(u16::from_le_bytes([bytes[0], bytes[1]])));
    first.get(30..30 + length).is_some_and(|name| name.ends_with(b".npy"))
}

struct Row {
    format: Format,
    name: &'static str,
    endings: &'static [&'static str],
    /// Feature of this crate that reads the format.
    feature: Option<&'static str>,
    /// Whether these first bytes and this extension belong to the format.
    recognise: fn(&[u8], &str) -> bool,
}

impl Format {
    /// All formats, in the order of recognition.
    pub const ALL: [Self; 5] = [Self::Container, Self::Body, Self::Bvh, Self::Fbx, Self::Gltf];
    /// Number of first bytes that identify a format.
    pub const FIRST_BYTES: usize = 512;

    /// Returns the format of a file by its first [`FIRST_BYTES`](Self::FIRST_BYTES) bytes and its name. Other
    /// files count as [`Gltf`](Self::Gltf), whose reader reports the format that it finds.
    #[must_use]
    pub fn of(first: &[u8], name: &str) -> Self {
        let first = &first[..first.len().min(Self::FIRST_BYTES)];
        let ending = Path::new(name).extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let row = TABLE.iter().find(|row| (row.recognise)(first, &ending));
        row.map_or(Self::Gltf, |row| row.format)
    }

    /// Returns the name of the format, for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the file extensions, in lower case and without the dot.
    #[must_use]
    pub fn endings(self) -> &'static [&'static str] {
        self.row().endings
    }

    /// Returns the feature of this crate that reads the format, or `None` if every build reads it.
    #[must_use]
    pub fn feature(self) -> Option<&'static str> {
        self.row().feature
    }

    fn row(self) -> &'static Row {
        let row = TABLE.iter().find(|row| row.format == self);
        row.unwrap_or(&TABLE[TABLE.len() - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_one_row() {
        for format in Format::ALL {
            assert_eq!(TABLE.iter().filter(|row| row.format == format).count(), 1, "{format:?}");
            assert_eq!(format.row().format, format);
            assert!(!format.endings().is_empty() && !format.name().is_empty());
        }
        assert_eq!(TABLE.len(), Format::ALL.len());
    }

    #[test]
    fn first_bytes_and_endings_tell() {
        for (first, name, format) in [
            (&b"CONDYLE\0rest"[..], "a.glb", Format::Container),
            (b"PK\x03\x04", "walk.npz", Format::Body),
            (b"PK\x03\x04 twenty-one bytes more\x09\0\0\0poses.npy", "walk", Format::Body),
            // Another kind of archive.
            (b"PK\x03\x04 twenty-one bytes more\x07\0\0\0fox.glb", "fox", Format::Gltf),
            (b"", "walk.BVH", Format::Bvh),
            (b"glTF\x02\0\0\0", "fox.bvh", Format::Gltf),
            (b"\xef\xbb\xbfhierarchy", "walk", Format::Bvh),
            (b"Kaydara FBX Binary  \0\x1a\0", "walk", Format::Fbx),
            (b"; FBX 7.3.0 project file", "walk.txt", Format::Fbx),
            (b"\xef\xbb\xbf; FBX", "walk.FBX", Format::Fbx),
            (b"glTF\x02\0\0\0", "fox.fbx", Format::Gltf),
            (b"{}", "walk.gltf", Format::Gltf),
            (b"?", "walk", Format::Gltf),
        ] {
            assert_eq!(Format::of(first, name), format, "{name}");
        }
    }
}
