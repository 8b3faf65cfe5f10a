//! Small valid documents that use much of the format, as the basis of hostile ones.
//!
//! Shared by the malformed-input tests, the fuzz targets and the fuzz seeds.

use serde_json::{Value, json};

const FLOAT: u32 = 5126;
const U8: u32 = 5121;
const U16: u32 = 5123;

/// A document and its only buffer.
#[derive(Clone)]
pub(crate) struct Tiny {
    pub(crate) json: Value,
    pub(crate) buffer: Vec<u8>,
}

impl Tiny {
    fn new() -> Self {
        let json = json!({
            "asset": {"version": "2.0"}, "buffers": [], "bufferViews": [], "accessors": [],
        });
        Self { json, buffer: Vec::new() }
    }

    /// Appends to the buffer, aligned to four bytes. Returns the index of the new view.
    fn view(&mut self, bytes: &[u8]) -> usize {
        self.buffer.resize(self.buffer.len().next_multiple_of(4), 0);
        let view = json!({"buffer": 0, "byteOffset": self.buffer.len(), "byteLength": bytes.len()});
        self.buffer.extend(bytes);
        push(&mut self.json["bufferViews"], view)
    }

    fn accessor(&mut self, component: u32, kind: &str, count: usize, bytes: &[u8]) -> usize {
        let view = self.view(bytes);
        let accessor = json!({"bufferView": view, "componentType": component, "type": kind, "count": count});
        push(&mut self.json["accessors"], accessor)
    }

    pub(crate) fn floats<const N: usize>(&mut self, kind: &str, values: &[[f32; N]]) -> usize {
        let bytes: Vec<u8> = values.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect();
        let index = self.accessor(FLOAT, kind, values.len(), &bytes);
        let bound = |pick: fn(f32, f32) -> f32| -> Vec<f32> {
            (0..N).filter_map(|c| values.iter().map(|v| v[c]).reduce(pick)).collect()
        };
        self.json["accessors"][index]["min"] = json!(bound(f32::min));
        self.json["accessors"][index]["max"] = json!(bound(f32::max));
        index
    }

    /// Returns a .gltf with the buffer as a data URI.
    pub(crate) fn gltf(&self) -> Vec<u8> {
        let mut json = self.json.clone();
        let uri = format!("data:application/octet-stream;base64,{}", base64(&self.buffer));
        json["buffers"][0]["uri"] = uri.into();
        json.to_string().into_bytes()
    }

    /// Returns a .glb with the buffer as its BIN chunk.
    pub(crate) fn glb(&self) -> Vec<u8> {
        glb(self.json.to_string().as_bytes(), &self.buffer)
    }
}

/// Returns a GLB container with any JSON text and any buffer.
pub(crate) fn glb(json: &[u8], buffer: &[u8]) -> Vec<u8> {
    let mut file = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
    for (kind, bytes, padding) in [(b"JSON", json, b' '), (b"BIN\0", buffer, 0)] {
        let padded = bytes.len().next_multiple_of(4);
        file.extend((padded as u32).to_le_bytes());
        file.extend(kind);
        file.extend(bytes);
        file.resize(file.len() + padded - bytes.len(), padding);
    }
    let length = (file.len() as u32).to_le_bytes();
    file[8..12].copy_from_slice(&length);
    file
}

/// Returns a character with two joints under a root with a matrix, a skinned, morphed and textured mesh, and
/// a rigid mesh. Its clip has every kind of track and interpolation.
pub(crate) fn character() -> Tiny {
    let mut t = Tiny::new();
    let positions = t.floats("VEC3", &[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]);
    let normals = t.floats("VEC3", &[[0.0, 0.0, 1.0]; 4]);
    let tangents = t.floats("VEC4", &[[1.0, 0.0, 0.0, -1.0]; 4]);
    let joints = t.accessor(U8, "VEC4", 4, &[0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    let weights = t.floats(
        "VEC4",
        &[[0.75, 0.25, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]],
    );
    let indices: Vec<u8> = [0u16, 1, 2, 2, 1, 3].iter().flat_map(|i| i.to_le_bytes()).collect();
    let indices = t.accessor(U16, "SCALAR", 6, &indices);
    let raised = t.floats("VEC3", &[[0.0, 0.0, 0.5]; 4]);
    let (sparse_at, sparse_values) = (t.view(&[1, 3]), t.view(&[0; 24]));
    let sparse = json!({
        "componentType": FLOAT, "type": "VEC3", "count": 4, "min": [0.0, 0.0, 0.0], "max": [0.0, 0.0, 0.0],
        "sparse": {
            "count": 2,
            "indices": {"bufferView": sparse_at, "componentType": U8},
            "values": {"bufferView": sparse_values},
        },
    });
    let sparse = push(&mut t.json["accessors"], sparse);
    let identity = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let inverse_bind = t.floats("MAT4", &[identity; 2]);
    let times = t.floats("SCALAR", &[[0.0], [0.5], [1.0]]);
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let rotations = t.floats("VEC4", &[[0.0, 0.0, 0.0, 1.0], [half, 0.0, 0.0, half], [0.0, 1.0, 0.0, 0.0]]);
    let translations = t.floats("VEC3", &[[0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 0.0]]);
    let spline = t.floats(
        "VEC3",
        &[[0.0; 3], [1.0; 3], [0.5; 3], [0.0; 3], [2.0; 3], [0.0; 3], [0.0; 3], [1.0; 3], [0.0; 3]],
    );
    let morphs = t.floats("SCALAR", &[[0.0], [1.0], [1.0], [0.0], [0.5], [0.5]]);
    let document = json!({
        "scene": 0,
        "scenes": [{"nodes": [0, 3]}, {"nodes": [4]}],
        "nodes": [
            {"name": "root", "matrix": identity, "children": [1]},
            {"name": "hip", "translation": [0.0, 1.0, 0.0], "children": [2]},
            {"name": "knee", "rotation": [0.0, 0.0, 0.0, 1.0], "scale": [1.0, 1.0, 1.0], "children": [5]},
            {"name": "skinned", "mesh": 0, "skin": 0, "weights": [0.25, 0.0]},
            {"name": "elsewhere", "mesh": 1},
            {"name": "held", "mesh": 1, "translation": [0.5, 0.0, 0.0]},
        ],
        "skins": [{"joints": [1, 2], "skeleton": 1, "inverseBindMatrices": inverse_bind}],
        "meshes": [
            {"weights": [0.0, 0.5], "primitives": [{
                "attributes": {
                    "POSITION": positions, "NORMAL": normals, "TANGENT": tangents,
                    "JOINTS_0": joints, "WEIGHTS_0": weights,
                },
                "indices": indices, "material": 0, "mode": 4,
                "targets": [{"POSITION": raised}, {"POSITION": sparse, "NORMAL": sparse}],
            }]},
            {"primitives": [{"attributes": {"POSITION": positions}, "mode": 5}]},
        ],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0, "sampler": 0}],
        "samplers": [{"wrapS": 33071}],
        "images": [{"uri": "data:image/png;base64,iVBORw0KGgo="}],
        "animations": [{
            "name": "move",
            "samplers": [
                {"input": times, "output": rotations, "interpolation": "LINEAR"},
                {"input": times, "output": translations, "interpolation": "STEP"},
                {"input": times, "output": spline, "interpolation": "CUBICSPLINE"},
                {"input": times, "output": morphs},
            ],
            "channels": [
                {"sampler": 0, "target": {"node": 1, "path": "rotation"}},
                {"sampler": 1, "target": {"node": 1, "path": "translation"}},
                {"sampler": 2, "target": {"node": 2, "path": "scale"}},
                {"sampler": 3, "target": {"node": 3, "path": "weights"}},
            ],
        }],
    });
    for (key, value) in document.as_object().into_iter().flatten() {
        t.json[key] = value.clone();
    }
    t.json["buffers"] = json!([{"byteLength": t.buffer.len()}]);
    t
}

/// Returns a valid stream of `EXT_meshopt_compression`: 4 equal vertices of 12 bytes. The deltas of each byte
/// are one header of zeros, and the vertex is the tail.
fn constant_stream() -> Vec<u8> {
    let mut stream = vec![0xa0];
    stream.resize(1 + 12 + 32 - 12, 0);
    stream.extend([0.5f32, 1.0, 2.0].iter().flat_map(|v| v.to_le_bytes()));
    stream
}

/// Returns one triangle strip whose positions are the given compressed stream of 4 vertices of 12 bytes.
pub(crate) fn meshopt(mode: &str, filter: &str, stream: &[u8]) -> Tiny {
    let mut t = Tiny::new();
    let view = t.view(stream);
    let compressed = json!({
        "buffer": 0, "byteOffset": 0, "byteLength": stream.len(), "byteStride": 12, "count": 4,
        "mode": mode, "filter": filter,
    });
    t.json["bufferViews"][view] = json!({
        "buffer": 1, "byteLength": 48, "byteStride": 12, "extensions": {"EXT_meshopt_compression": compressed},
    });
    t.json["buffers"] = json!([{"byteLength": stream.len()}, {
        "byteLength": 48, "extensions": {"EXT_meshopt_compression": {"fallback": true}},
    }]);
    t.json["accessors"] = json!([{"bufferView": view, "componentType": FLOAT, "type": "VEC3", "count": 4,
        "min": [0.0, 0.0, 0.0], "max": [2.0, 2.0, 2.0]}]);
    t.json["meshes"] = json!([{"primitives": [{"attributes": {"POSITION": 0}, "mode": 5}]}]);
    t.json["nodes"] = json!([{"mesh": 0}]);
    t.json["scenes"] = json!([{"nodes": [0]}]);
    t.json["extensionsUsed"] = json!(["EXT_meshopt_compression"]);
    t.json["extensionsRequired"] = json!(["EXT_meshopt_compression"]);
    t
}

/// Returns a chain of nodes with springs of one of the two extensions.
pub(crate) fn springs(extension: &str) -> Tiny {
    let mut t = Tiny::new();
    let nodes = (0..5).map(|at| match at {
        4 => json!({"translation": [0.0, -0.1, 0.0]}),
        _ => json!({"translation": [0.0, -0.1, 0.0], "children": [at + 1]}),
    });
    t.json["nodes"] = nodes.collect();
    t.json["scenes"] = json!([{"nodes": [0]}]);
    t.view(&[0; 4]);
    t.json["buffers"] = json!([{"byteLength": t.buffer.len()}]);
    t.json["extensionsUsed"] = json!([extension, "VRMC_springBone_extended_collider"]);
    t.json["extensions"][extension] = match extension {
        "VRM" => json!({"secondaryAnimation": {
            "boneGroups": [{
                "bones": [1], "center": -1, "colliderGroups": [0], "stiffiness": 1.0, "gravityPower": 0.5,
                "gravityDir": {"x": 0.0, "y": -1.0, "z": 0.0}, "dragForce": 0.4, "hitRadius": 0.02,
            }],
            "colliderGroups": [{"node": 0, "colliders": [{"offset": {"x": 0.0, "y": 0.0, "z": 0.1}, "radius": 0.1}]}],
        }}),
        _ => json!({
            "specVersion": "1.0",
            "colliders": [
                {"node": 0, "shape": {"sphere": {"offset": [0.0, 0.0, 0.0], "radius": 0.1}}},
                {"node": 0, "shape": {"capsule": {"offset": [0.0, 0.0, 0.0], "tail": [0.1, 0.0, 0.0], "radius": 0.1}}},
                {"node": 0, "shape": {"sphere": {}}, "extensions": {"VRMC_springBone_extended_collider": {
                    "specVersion": "1.0", "shape": {"plane": {"offset": [0.0, -1.0, 0.0], "normal": [0.0, 1.0, 0.0]}},
                }}},
            ],
            "colliderGroups": [{"colliders": [0, 1, 2]}],
            "springs": [{
                "joints": [
                    {"node": 1, "stiffness": 1.0, "gravityPower": 0.5, "gravityDir": [0.0, -1.0, 0.0], "dragForce": 0.4, "hitRadius": 0.02},
                    {"node": 2}, {"node": 4},
                ],
                "center": 0,
                "colliderGroups": [0],
            }],
        }),
    };
    t
}

/// Returns the documents that must be accepted, each with a name.
pub(crate) fn all() -> Vec<(&'static str, Tiny)> {
    vec![
        ("character", character()),
        ("meshopt", meshopt("ATTRIBUTES", "NONE", &constant_stream())),
        ("springs_vrm1", springs("VRMC_springBone")),
        ("springs_vrm0", springs("VRM")),
    ]
}

/// Returns seed inputs for a fuzz target.
#[allow(dead_code, reason = "only the fuzz launcher writes seeds")]
pub(crate) fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    match target {
        "import" => all()
            .into_iter()
            .flat_map(|(name, tiny)| {
                [(format!("{name}.gltf"), tiny.gltf()), (format!("{name}.glb"), tiny.glb())]
            })
            .collect(),
        // A mode, a filter, then the stream.
        "meshopt" => vec![("constant".into(), [&[0, 0][..], &constant_stream()].concat())],
        "bvh" => vec![("turn.bvh".into(), BVH.into())],
        _ => Vec::new(),
    }
}

/// A BVH with every feature of the format.
const BVH: &str = "HIERARCHY\nROOT a\n{\nOFFSET 0 1.5 -2e-1\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\nJOINT b\n{\n\
    OFFSET 1 0 0\nCHANNELS 3 Yrotation Xrotation Zrotation\nEnd Site\n{\nOFFSET 0 1 0\n}\n}\n}\nMOTION\nFrames: 2\nFrame Time: 0.0333333\n\
    0 1 0 90 0 -45.5 1 2 3\n0.5 1 0 91 0 -46.25 nan 2 1e1\n";

/// Appends to an array and returns the index.
fn push(array: &mut Value, value: Value) -> usize {
    let Value::Array(items) = array else { unreachable!("the document is made above") };
    items.push(value);
    items.len() - 1
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let word = group.iter().enumerate().fold(0u32, |w, (i, &b)| w | u32::from(b) << (16 - 8 * i));
        for digit in 0..4 {
            let sextet = (word >> (18 - 6 * digit)) as usize % 64;
            text.push(if digit <= group.len() { DIGITS[sextet].into() } else { '=' });
        }
    }
    text
}
