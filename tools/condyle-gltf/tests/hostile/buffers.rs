//! Valid JSON with invalid data: non-finite numbers, unsorted keys, and inconsistent sparse and compressed
//! data.

use serde_json::json;

use super::{Must, Take, give};
use crate::tiny::{self, Tiny};
use condyle_testing::Random;

/// Returns the offset of an accessor's data.
fn start(tiny: &Tiny, accessor: usize) -> usize {
    let view =
        tiny.json["accessors"][accessor]["bufferView"].as_u64().expect("an accessor with data") as usize;
    tiny.json["bufferViews"][view]["byteOffset"].as_u64().expect("an offset") as usize
}

/// Returns the character with the first floats of one accessor replaced.
fn with_floats(path: &str, values: &[f32]) -> Vec<u8> {
    let mut tiny = tiny::character();
    let accessor = tiny.json.pointer(path).and_then(|v| v.as_u64()).expect("an accessor") as usize;
    let at = start(&tiny, accessor);
    for (i, value) in values.iter().enumerate() {
        tiny.buffer[at + 4 * i..][..4].copy_from_slice(&value.to_le_bytes());
    }
    tiny.glb()
}

pub(crate) fn every_number_replaced_by_one_that_is_none(take: Take<'_>) {
    let good = tiny::character();
    for at in (0..good.buffer.len() - 3).step_by(4) {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, -0.0, f32::from_bits(1)]
        {
            let mut tiny = good.clone();
            tiny.buffer[at..at + 4].copy_from_slice(&value.to_le_bytes());
            give(take, format_args!("{value:e} at byte {at} of the buffer"), tiny.glb(), Must::EndWell);
        }
    }
}

pub(crate) fn numbers_that_are_none(take: Take<'_>) {
    for path in [
        "/animations/0/samplers/0/input",
        "/animations/0/samplers/0/output",
        "/meshes/0/primitives/0/attributes/POSITION",
        "/skins/0/inverseBindMatrices",
    ] {
        for value in [f32::NAN, f32::INFINITY] {
            let case = format_args!("{value} in {path}");
            give(take, case, with_floats(path, &[value]), Must::BeRefusedAt(path));
        }
    }
}

pub(crate) fn every_byte_of_the_buffer_flipped(take: Take<'_>) {
    let good = tiny::character();
    for at in 0..good.buffer.len() {
        for with in [0, 0x7f, 0x80, 0xff] {
            let mut tiny = good.clone();
            tiny.buffer[at] = with;
            give(take, format_args!("byte {at} of the buffer is {with}"), tiny.glb(), Must::EndWell);
        }
    }
}

pub(crate) fn key_times_out_of_order(take: Take<'_>) {
    let input = "/animations/0/samplers/0/input";
    for times in [
        [1.0, 0.5, 0.0],
        [0.0, 1.0, 0.5],
        [0.5, 0.5, 0.5],
        [0.0, 0.0, 1.0],
        [-1.0, 0.0, 1.0],
        [3e38, 2e38, -3e38],
    ] {
        give(take, format_args!("key times {times:?}"), with_floats(input, &times), Must::BeTold);
    }
}

pub(crate) fn rotations_without_a_direction(take: Take<'_>) {
    give(take, "keys of zero", with_floats("/animations/0/samplers/0/output", &[0.0; 12]), Must::BeTold);
    let mut tiny = tiny::character();
    for (case, node, key, value) in [
        ("a rest rotation of zero", 2, "rotation", json!([0.0, 0.0, 0.0, 0.0])),
        ("a rest rotation beyond f32", 2, "rotation", json!([1e200, 0.0, 0.0, 0.0])),
        ("a scale of zero", 2, "scale", json!([0.0, 0.0, 0.0])),
        ("a matrix of zeros", 0, "matrix", json!(vec![0.0; 16])),
        ("a matrix of 1e38", 0, "matrix", json!(vec![1e38; 16])),
    ] {
        tiny.json["nodes"][node][key] = value;
        give(take, case, tiny.glb(), Must::EndWell);
    }
}

pub(crate) fn sparse_indices_that_lie(take: Take<'_>) {
    for (case, indices) in [
        ("the same twice", [3, 3]),
        ("falling", [3, 1]),
        ("beyond the end", [1, 4]),
        ("far beyond", [255, 255]),
    ] {
        let mut tiny = tiny::character();
        let target = &tiny.json["meshes"][0]["primitives"][0]["targets"][1]["POSITION"];
        let sparse = &tiny.json["accessors"][target.as_u64().expect("an accessor") as usize]["sparse"];
        let view = sparse["indices"]["bufferView"].as_u64().expect("a view") as usize;
        let at = tiny.json["bufferViews"][view]["byteOffset"].as_u64().expect("an offset") as usize;
        tiny.buffer[at..at + 2].copy_from_slice(&indices);
        let must = if indices[1] < 4 { Must::BeTold } else { Must::BeRefusedWith("sparse") };
        give(take, format_args!("sparse indices: {case}"), tiny.glb(), must);
    }
}

pub(crate) fn compressed_streams_of_noise(take: Take<'_>) {
    let mut random = Random(1);
    for mode in ["ATTRIBUTES", "TRIANGLES", "INDICES"] {
        for filter in ["NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL"] {
            for round in 0..200 {
                let mut stream: Vec<u8> = (0..random.below(120)).map(|_| random.below(256) as u8).collect();
                // Half of the streams have a valid header byte.
                if let Some(first) = stream.first_mut().filter(|_| round % 2 == 0) {
                    *first = [0xa0, 0xa1, 0xe0, 0xe1, 0xd0, 0xd1][random.below(6)];
                }
                let case = format_args!("{mode} {filter}: {stream:02x?}");
                give(take, case, tiny::meshopt(mode, filter, &stream).glb(), Must::EndWell);
            }
        }
    }
}

pub(crate) fn compressed_layouts_that_lie(take: Take<'_>) {
    for (key, value) in [
        ("count", json!(0)),
        ("count", json!(1u64 << 31)),
        ("count", json!(u64::MAX)),
        ("byteStride", json!(0)),
        ("byteStride", json!(3)),
        ("byteStride", json!(256)),
        ("byteStride", json!(1u64 << 40)),
        ("byteLength", json!(1u64 << 31)),
        ("mode", json!("TRIANGLES")),
        ("mode", json!("NOTHING")),
        ("filter", json!("OCTAHEDRAL")),
    ] {
        let (_, mut tiny) = tiny::all().remove(1);
        tiny.json["bufferViews"][0]["extensions"]["EXT_meshopt_compression"][key] = value.clone();
        let case = format!("{key} is {value}");
        give(take, &case, tiny.glb(), Must::BeRefused);
        // The false count is also refused if the view and the accessor agree with it.
        if let Some(count) = value.as_u64().filter(|_| key == "count") {
            tiny.json["bufferViews"][0]["byteLength"] = json!(count.saturating_mul(12));
            tiny.json["accessors"][0]["count"] = value;
            give(take, format_args!("{case} everywhere"), tiny.glb(), Must::BeRefused);
        }
    }
}
