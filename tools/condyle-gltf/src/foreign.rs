//! Recognises files of other formats that users pass by mistake, and gives advice for each.

/// The format of a file, and the advice for it.
pub(crate) struct Foreign {
    pub(crate) what: &'static str,
    pub(crate) advice: &'static str,
}

/// Number of bytes of a text that are searched for its format.
const HEAD: usize = 4096;

const EXPORT: &str = "export it as glTF 2.0 (.glb) from the program that made it, or import it into Blender and use \
                      File > Export > glTF 2.0";
const BLENDER: &str = "open it in Blender, and use File > Export > glTF 2.0";
const UNPACK: &str = "unpack it and use the .glb or .gltf in it; a model in another format must be exported \
                      as glTF 2.0 first";
const BODY: &str =
    "run `condyle encode FOLDER --body MODEL.npz` on its folder, with the .npz of the body model";
const PICKLE: &str = "a pickle can run any program when it is loaded; save its arrays with numpy.savez";
const PICTURE: &str = "use the .glb or .gltf that it belongs to";

const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/";
const LFS_PULL: &str = "run `git lfs pull` in its repository";

/// The first bytes of formats with a fixed signature.
const MAGIC: [(&[u8], &str, &str); 27] = [
    (LFS_POINTER, "a Git LFS pointer, which stands for a file that was not fetched", LFS_PULL),
    (b"Kaydara FBX Binary", "a binary FBX", EXPORT),
    (b"BLENDER", "a Blender file (.blend)", BLENDER),
    (b"PK\x03\x04", "a ZIP archive", UNPACK),
    (b"PK\x05\x06", "an empty ZIP archive", UNPACK),
    (
        b"\x1f\x8b",
        "compressed with gzip",
        "unpack it with `gunzip`, and export it as glTF 2.0 if it is a .blend",
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "compressed with Zstandard, like a .blend",
        "open it in Blender, and use File > Export > glTF 2.0; or unpack it with `zstd -d`",
    ),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (b"PXR-USDC", "a binary USD", EXPORT),
    (b"#usda ", "a USD as text", EXPORT),
    (b"HIERARCHY", "a BVH", EXPORT),
    (b"Ogawa", "an Alembic", EXPORT),
    (b"ply\n", "a PLY", EXPORT),
    (b"ply\r\n", "a PLY", EXPORT),
    (b"PMX ", "a MikuMikuDance model (.pmx)", EXPORT),
    (b"Vocaloid Motion Data", "a MikuMikuDance motion (.vmd)", EXPORT),
    (b"CONDYLE\0", "a container of clips from `condyle encode`", "write it as .glb with `condyle decode`"),
    (b"\x89PNG", "a PNG image", PICTURE),
    (b"\xff\xd8\xff", "a JPEG image", PICTURE),
    (b"GIF8", "a GIF image", PICTURE),
    (b"DDS ", "a DDS image", PICTURE),
    (
        b"\x93NUMPY",
        "a single NumPy array (.npy)",
        "save it with numpy.savez, under the name that the array has in AMASS",
    ),
    (b"animVersion", "a Maya animation (.anim)", EXPORT),
    (b"MD5Version", "a Doom 3 animation or mesh (.md5anim, .md5mesh)", EXPORT),
    (
        b"%YAML",
        "a YAML file, like Unity's .anim and .prefab",
        "export the character from Unity as glTF 2.0 or FBX",
    ),
    (b"\xabKTX ", "a KTX image", PICTURE),
];

/// Recognises a file that is neither a .glb nor JSON. Returns `None` for an unknown format.
pub(crate) fn recognise(bytes: &[u8]) -> Option<Foreign> {
    let found = |what, advice| Some(Foreign { what, advice });
    if bytes.is_empty() {
        return found("empty", "export or download it again");
    }
    if is_usdz(bytes) {
        return found("a USDZ", EXPORT);
    }
    if is_npz(bytes) {
        return found("a NumPy archive (.npz), like body models and motion in AMASS's layout", BODY);
    }
    if is_pickle(bytes) {
        return found("a Python pickle (.pkl)", PICKLE);
    }
    if is_c3d(bytes) {
        return found(
            "a C3D, which has markers and no joints",
            "solve a skeleton for its markers, and export that as BVH or glTF 2.0",
        );
    }
    if is_x(bytes) {
        return found("a DirectX model (.x)", EXPORT);
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if let Some((_, what, advice)) = MAGIC.iter().find(|(magic, ..)| text.starts_with(magic)) {
        return found(what, advice);
    }
    let head = String::from_utf8_lossy(&text[..text.len().min(HEAD)]).to_ascii_lowercase();
    if head.starts_with("<!doctype html") || head.starts_with("<html") {
        return found(
            "a web page, perhaps instead of a download",
            "download the file itself; on GitHub, use its raw link",
        );
    }
    if head.starts_with('<') && head.contains("<collada") {
        return found("a COLLADA", EXPORT);
    }
    if head.starts_with("; fbx") || head.starts_with("fbxheaderextension:") {
        return found("an FBX as text", EXPORT);
    }
    if is_obj(&head) { found("an OBJ, which has no joints and no animation", EXPORT) } else { None }
}

/// Returns whether the file is a ZIP archive whose first file is a USD.
fn is_usdz(bytes: &[u8]) -> bool {
    let name = first_name(bytes);
    [".usd", ".usda", ".usdc"].iter().any(|end| name.ends_with(end.as_bytes()))
}

/// Returns whether the file is a ZIP archive whose first file is a NumPy array.
fn is_npz(bytes: &[u8]) -> bool {
    first_name(bytes).ends_with(b".npy")
}

/// Returns the name of the first file of a ZIP archive, after 30 bytes of header. Empty if the file is not a
/// ZIP archive.
fn first_name(bytes: &[u8]) -> &[u8] {
    let Some((header, rest)) = bytes.split_first_chunk::<30>() else { return &[] };
    let length = usize::from(u16::from_le_bytes([header[26], header[27]]));
    if header.starts_with(b"PK\x03\x04") { rest.get(..length).unwrap_or_default() } else { &[] }
}

/// Recognises pickle protocols 2 to 5, and protocol 0, which Python 2 used for the first body models.
fn is_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, ..])
        || [&b"(dp0\n"[..], b"(dp1\n", b"(lp0\n", b"(i__"].iter().any(|it| bytes.starts_with(it))
}

/// Recognises a C3D: its parameters start at a block, are marked by 0x50, and contain the processor type.
fn is_c3d(bytes: &[u8]) -> bool {
    let Some(&[block @ (1..=255), 0x50]) = bytes.get(..2) else { return false };
    let parameters = 512 * (usize::from(block) - 1);
    bytes.get(parameters..parameters + 4).is_some_and(|it| matches!(it, [_, _, _, 84..=86]))
}

/// Recognises the header `xof 0303txt 0032`.
fn is_x(bytes: &[u8]) -> bool {
    bytes.starts_with(b"xof 0")
        && bytes
            .get(8..12)
            .is_some_and(|kind| [b"txt ", b"bin ", b"tzip", b"bzip"].iter().any(|it| *it == kind))
}

/// Returns whether the first line that is not a comment is a Wavefront statement.
fn is_obj(head: &str) -> bool {
    let mut lines = head.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let words =
        lines.next().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>()).unwrap_or_default();
    let numbers = |words: &[&str]| words.len() >= 2 && words.iter().all(|word| word.parse::<f32>().is_ok());
    match words.split_first() {
        Some((&"mtllib" | &"usemtl", names)) => !names.is_empty(),
        Some((&"o" | &"g" | &"s", _)) => lines.any(|line| line.starts_with("v ")),
        Some((&"v" | &"vn" | &"vt", coordinates)) => numbers(coordinates),
        _ => false,
    }
}

/// Returns the advice for a Git LFS pointer; `None` for any other data.
pub(crate) fn lfs_pointer(bytes: &[u8]) -> Option<&'static str> {
    bytes.starts_with(LFS_POINTER).then_some(LFS_PULL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn zip(name: &[u8]) -> Vec<u8> {
        let mut header = [0; 30];
        header[..4].copy_from_slice(b"PK\x03\x04");
        header[26] = name.len() as u8;
        [&header[..], name, b"what is in it"].concat()
    }

    /// Tests the first bytes of real files, and the name of each format.
    #[test]
    fn what_is_no_gltf_is_named() {
        let zips = [zip(b"model/fox.glb"), zip(b"fox.usdc"), zip(b"poses.npy")];
        let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n";
        let long = format!("# a comment\r\n\r\n{}o Cube\nv 1.0 0.5 -1e-3\n", "# exported\n".repeat(100));
        let mut c3d = vec![0; 1024];
        [c3d[0], c3d[1], c3d[515]] = [2, 0x50, 84];
        let cases: [(&[u8], &str, &str); 39] = [
            (b"", "empty", "export or download it again"),
            (lfs, "Git LFS pointer", "git lfs pull"),
            (b"Kaydara FBX Binary  \0\x1a\0\xe8\x1c\0\0", "binary FBX", "Blender"),
            (b"; FBX 7.4.0 project file\n; ----\n\nFBXHeaderExtension:  {", "an FBX as text", "glTF 2.0"),
            (b"FBXHeaderExtension:  {\n", "an FBX as text", "glTF 2.0"),
            (b"BLENDER-v305REND", ".blend", "open it in Blender"),
            (b"BLENDER17-01v0500REND", ".blend", "open it in Blender"),
            (b"\x28\xb5\x2f\xfd\x04\x60\x99", "Zstandard", "Blender"),
            (b"\x1f\x8b\x08\0\0", "gzip", "gunzip"),
            (&zips[0], "ZIP archive", "unpack it"),
            (&zips[1], "USDZ", "glTF 2.0"),
            (b"7z\xbc\xaf\x27\x1c\0\x04", "7-Zip", "unpack it"),
            (b"PXR-USDC\0\x08", "binary USD", "glTF 2.0"),
            (b"#usda 1.0\n(\n", "USD as text", "glTF 2.0"),
            (b"HIERARCHY\r\nROOT Hips\r\n", "a BVH", "glTF 2.0"),
            (b"Ogawa\xff\0\x01", "Alembic", "glTF 2.0"),
            (b"PMX \0\0\0\x40", ".pmx", "glTF 2.0"),
            (b"CONDYLE\0\x01\0", "condyle encode", "condyle decode"),
            (b"\x89PNG\r\n\x1a\n", "PNG image", ".gltf that it belongs to"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "JPEG image", ".gltf that it belongs to"),
            (b"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<COLLADA xmlns=\"\">", "COLLADA", "glTF 2.0"),
            (b"\n<!DOCTYPE html>\n<html lang=\"en\">", "a web page", "raw link"),
            (b"<HTML><head>", "a web page", "raw link"),
            (long.as_bytes(), "an OBJ", "glTF 2.0"),
            (b"mtllib fox.mtl\n", "an OBJ", "glTF 2.0"),
            (b"v 1 2 3\nv 4 5 6\nf 1 2 3\n", "an OBJ", "glTF 2.0"),
            (b"g\nv 1 2 3\n", "an OBJ", "glTF 2.0"),
            (b"ply\nformat ascii 1.0\n", "a PLY", "glTF 2.0"),
            (b"GIF89a", "GIF image", ".gltf that it belongs to"),
            (&zips[2], "AMASS", "--body MODEL.npz"),
            (b"\x93NUMPY\x01\0v\0{'descr'", "(.npy)", "numpy.savez"),
            (b"\x80\x04\x95\x1a", "pickle", "numpy.savez"),
            (b"(dp0\nS'J_regressor'\np1\n", "pickle", "numpy.savez"),
            (&c3d, "a C3D", "BVH"),
            (b"%YAML 1.1\n%TAG !u! tag:unity3d.com,2011:\n--- !u!74 &7400000", "Unity", "glTF 2.0"),
            (b"animVersion 1.1;\nmayaVersion 2020;\n", "Maya", "glTF 2.0"),
            (b"xof 0303txt 0032\nFrame Root {", "DirectX", "Blender"),
            (b"xof 0302bin 0064", "DirectX", "Blender"),
            (b"MD5Version 10\ncommandline \"\"\n\nnumFrames 12\n", ".md5anim", "Blender"),
        ];
        for (bytes, what, advice) in cases {
            let Err(refused) = Document::from_slice("fox.glb", bytes, None) else {
                panic!("{what}: accepted")
            };
            let [problem] = &refused.problems[..] else { panic!("{what}: {refused}") };
            assert!(
                problem.what.starts_with("the file is ") && problem.what.contains(what),
                "{what}: {problem}"
            );
            assert!(problem.action.contains(advice), "{what}: {problem}");
        }
    }

    #[test]
    fn what_only_looks_alike_is_not() {
        let others: [&[u8]; 13] = [
            b"xof 0303",
            b"\x80\x06",
            b"\x02\x50",
            b"(dp",
            b"o my, this is no model\n",
            b"v is a letter\n",
            b"v 1\n",
            b"# only comments\n",
            b"<svg></svg>",
            b"version 1\n",
            b"PK",
            b"BLEND",
            b"\0\0\0\0",
        ];
        for bytes in others {
            assert!(recognise(bytes).is_none(), "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}
