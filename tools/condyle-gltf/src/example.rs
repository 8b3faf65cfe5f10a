//! A small document for the examples in the documentation.

// Public because examples are compiled outside this crate.

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::document::Document;

/// The text of [`document`], which replaces `BYTES` by its lists.
const JSON: &str = r#"{
    "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 2]}],
    "nodes": [
        {"name": "shoulder", "children": [1]},
        {"name": "elbow", "translation": [0, 1, 0]},
        {"name": "sleeve", "mesh": 0, "skin": 0}
    ],
    "skins": [{"joints": [0, 1], "inverseBindMatrices": 2}],
    "meshes": [{"primitives": [{
        "attributes": {"POSITION": 0, "WEIGHTS_0": 1, "JOINTS_0": 7}, "indices": 8,
        "targets": [{"POSITION": 5}]
    }]}],
    "animations": [{
        "name": "bend",
        "samplers": [{"input": 3, "output": 4}, {"input": 3, "output": 6}],
        "channels": [
            {"sampler": 0, "target": {"node": 1, "path": "rotation"}},
            {"sampler": 1, "target": {"node": 2, "path": "weights"}}
        ]
    }],
    "accessors": [
        {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 6,
            "min": [-0.125, 0, 0], "max": [0.125, 2, 0]},
        {"bufferView": 1, "componentType": 5126, "type": "VEC4", "count": 6},
        {"bufferView": 2, "componentType": 5126, "type": "MAT4", "count": 2},
        {"bufferView": 3, "componentType": 5126, "type": "SCALAR", "count": 2, "min": [0], "max": [1]},
        {"bufferView": 4, "componentType": 5126, "type": "VEC4", "count": 2},
        {"bufferView": 5, "componentType": 5126, "type": "VEC3", "count": 6,
            "min": [0, 0, 0], "max": [0, 0, 0.25]},
        {"bufferView": 6, "componentType": 5126, "type": "SCALAR", "count": 2},
        {"bufferView": 7, "componentType": 5121, "type": "VEC4", "count": 6},
        {"bufferView": 8, "componentType": 5121, "type": "SCALAR", "count": 12}
    ],
    "bufferViews": [
        {"buffer": 0, "byteLength": 72},
        {"buffer": 0, "byteOffset": 72, "byteLength": 96},
        {"buffer": 0, "byteOffset": 168, "byteLength": 128},
        {"buffer": 0, "byteOffset": 296, "byteLength": 8},
        {"buffer": 0, "byteOffset": 304, "byteLength": 32},
        {"buffer": 0, "byteOffset": 336, "byteLength": 72},
        {"buffer": 0, "byteOffset": 408, "byteLength": 8},
        {"buffer": 0, "byteOffset": 416, "byteLength": 24},
        {"buffer": 0, "byteOffset": 440, "byteLength": 12}
    ],
    "buffers": [{"byteLength": 452, "uri": "data:application/octet-stream;base64,BYTES"}]
}"#;

/// Returns an arm of two joints, 1 m apart, with a sleeve of 6 vertices and one morph target.
///
/// In the animation `bend`, which takes one second, the elbow turns by 90 degrees and the sleeve bulges.
pub fn document() -> Document {
    let positions = [0.0, 1.0, 2.0].map(|y| [[-0.125, y, 0.0], [0.125, y, 0.0]]);
    let weights = [[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]].map(|row| [row; 2]);
    let inverse_bind = [0.0, -1.0]
        .map(|y| [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, y, 0.0, 1.0]]);
    let times = [0.0, 1.0];
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let rotations = [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, half, half]];
    let bulge = [0.0, 0.25, 0.0].map(|z| [[0.0, 0.0, z]; 2]);
    let morph_weights = [0.0, 1.0];
    let floats: [&[f32]; 7] = [
        positions.as_flattened().as_flattened(),
        weights.as_flattened().as_flattened(),
        inverse_bind.as_flattened().as_flattened(),
        &times,
        rotations.as_flattened(),
        bulge.as_flattened().as_flattened(),
        &morph_weights,
    ];
    let joints = [[0, 1, 0, 0]; 6];
    let triangles = [[0, 1, 3], [0, 3, 2], [2, 3, 5], [2, 5, 4]];

    let mut bytes: Vec<u8> = floats.concat().into_iter().flat_map(f32::to_le_bytes).collect();
    bytes.extend(joints.as_flattened());
    bytes.extend(triangles.as_flattened());
    let json = JSON.replace("BYTES", &BASE64_STANDARD.encode(bytes));
    Document::from_slice("arm.gltf", json.as_bytes(), None).expect("a valid document")
}
