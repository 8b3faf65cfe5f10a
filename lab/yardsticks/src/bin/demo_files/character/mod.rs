//! The built-in character: a person with a walk, a run and an idle clip, generated in code.
//!
//! No function of the platform's mathematics library is used, so the file is the same everywhere.

mod body;
mod loft;
mod motion;
mod rig;
mod stairs;

use condyle::Interpolation;
use condyle_draw::vector::{Vec3, scale, sub};
use condyle_gltf::{Asset, Document};
use serde_json::{Value, json};

use body::MATERIALS;
use loft::Surface;
use motion::{Clip, Property};
use rig::Joint;

/// Returns the character as a .glb file.
pub(crate) fn glb() -> Vec<u8> {
    let rig = rig::joints();
    let mut binary = Binary::default();
    let clips = motion::clips(&rig);
    let mut nodes = nodes(&rig);
    nodes.push(json!({ "name": "body", "mesh": 0, "skin": 0 }));
    nodes.push(json!({ "name": "face", "mesh": 1, "skin": 0 }));
    // A skinned mesh is placed by its joints alone, so its node is a root.
    let scene = [0, node(rig.len()), node(rig.len()) + 1];
    let document = json!({
        "asset": { "version": "2.0", "generator": "condyle demo" },
        "scene": 0,
        "scenes": [{ "name": "stage", "nodes": scene }],
        "nodes": nodes,
        "skins": [skin(&rig, &mut binary)],
        "meshes": meshes(&rig, &mut binary),
        "materials": materials(),
        "animations": clips.iter().map(|c| animation(c, &mut binary)).collect::<Vec<_>>(),
    });
    binary.complete(document)
}

/// Returns the walk up stairs as a .glb file, without meshes.
pub(crate) fn stairs() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let asset = Asset::from_document(Document::from_slice("character.glb", &glb(), None)?)?;
    let climb = stairs::climb(&asset)?;
    let rig = rig::joints();
    let mut binary = Binary::default();
    let document = json!({
        "asset": { "version": "2.0", "generator": "condyle demo" },
        "scene": 0,
        "scenes": [{ "name": "stage", "nodes": [0] }],
        "nodes": nodes(&rig),
        "skins": [skin(&rig, &mut binary)],
        "animations": [animation(&climb.clip(&asset.skeleton, &rig), &mut binary)],
        "extras": climb.extras(),
    });
    Ok(binary.complete(document))
}

/// Returns the node index of a joint: node 0 is the root of the character.
fn node(joint: usize) -> usize {
    joint + 1
}

/// Returns the nodes of the joints, below the root of the character.
fn nodes(rig: &[Joint]) -> Vec<Value> {
    let mut nodes = vec![json!({ "name": "character", "children": [node(rig::HIPS)] })];
    for (index, joint) in rig.iter().enumerate() {
        let from = joint.parent.map_or([0.0; 3], |p| rig[p].at);
        let mut it = json!({ "name": joint.name, "translation": sub(joint.at, from) });
        let children: Vec<usize> =
            (0..rig.len()).filter(|&j| rig[j].parent == Some(index)).map(node).collect();
        if !children.is_empty() {
            it["children"] = json!(children);
        }
        nodes.push(it);
    }
    nodes
}

fn skin(rig: &[Joint], binary: &mut Binary) -> Value {
    // No joint is rotated in the bind pose, so its inverse bind matrix is a translation.
    let inverse: Vec<f32> = rig
        .iter()
        .flat_map(|b| {
            let [x, y, z] = scale(b.at, -1.0);
            [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, x, y, z, 1.0]
        })
        .collect();
    json!({
        "name": "character",
        "skeleton": node(rig::HIPS),
        "joints": (0..rig.len()).map(node).collect::<Vec<_>>(),
        "inverseBindMatrices": binary.floats(&inverse, "MAT4", None),
    })
}

fn meshes(rig: &[Joint], binary: &mut Binary) -> Value {
    let primitives: Vec<Value> = body::body(rig)
        .iter()
        .map(|(material, surface)| primitive(surface, *material as usize, binary))
        .collect();
    let (surface, expression) = body::face(rig);
    let mut face = primitive(&surface, body::Material::Ink as usize, binary);
    let targets = [&expression.blink, &expression.smile];
    face["targets"] =
        targets.iter().map(|offsets| json!({ "POSITION": binary.positions(offsets) })).collect();
    json!([
        { "name": "body", "primitives": primitives },
        {
            "name": "face",
            "primitives": [face],
            "weights": [0.0, 0.3],
            "extras": { "targetNames": ["blink", "smile"] },
        },
    ])
}

fn primitive(surface: &Surface, material: usize, binary: &mut Binary) -> Value {
    let joints: Vec<u8> = surface.influences.iter().flat_map(|i| i.0).collect();
    let weights: Vec<u8> = surface.influences.iter().flat_map(|i| i.1).flat_map(u16::to_le_bytes).collect();
    let indices: Vec<u8> = surface.indices.iter().flat_map(|&i| (i as u16).to_le_bytes()).collect();
    let count = surface.positions.len();
    json!({
        "material": material,
        "attributes": {
            "POSITION": binary.positions(&surface.positions),
            "NORMAL": binary.floats(surface.normals.as_flattened(), "VEC3", Some(ARRAY)),
            "TANGENT": binary.floats(surface.tangents.as_flattened(), "VEC4", Some(ARRAY)),
            "TEXCOORD_0": binary.floats(surface.uvs.as_flattened(), "VEC2", Some(ARRAY)),
            "JOINTS_0": binary.accessor(&joints, json!({ "componentType": 5121, "type": "VEC4", "count": count }), Some(ARRAY)),
            "WEIGHTS_0": binary.accessor(
                &weights,
                json!({ "componentType": 5123, "normalized": true, "type": "VEC4", "count": count }),
                Some(ARRAY),
            ),
        },
        "indices": binary.accessor(
            &indices,
            json!({ "componentType": 5123, "type": "SCALAR", "count": surface.indices.len() }),
            Some(ELEMENTS),
        ),
    })
}

fn materials() -> Value {
    let material = |(_, name, [r, g, b], roughness): &(body::Material, &str, [f32; 3], f32)| {
        json!({
            "name": name,
            "pbrMetallicRoughness": {
                "baseColorFactor": [r, g, b, 1.0],
                "metallicFactor": 0.0,
                "roughnessFactor": roughness,
            },
        })
    };
    MATERIALS.iter().map(material).collect()
}

fn animation(clip: &Clip, binary: &mut Binary) -> Value {
    let mut times: Vec<(&[f32], usize)> = vec![];
    let (mut channels, mut samplers) = (vec![], vec![]);
    for (i, channel) in clip.channels.iter().enumerate() {
        let known = times.iter().find(|(t, _)| *t == channel.times).map(|t| t.1);
        let input = known.unwrap_or_else(|| {
            let last = channel.times[channel.times.len() - 1];
            let accessor = binary.floats(&channel.times, "SCALAR", None);
            binary.accessors[accessor]["min"] = json!([channel.times[0]]);
            binary.accessors[accessor]["max"] = json!([last]);
            accessor
        });
        if known.is_none() {
            times.push((&channel.times, input));
        }
        let face = node(rig::joints().len()) + 1;
        let (node, path, kind) = match channel.target {
            Property::Rotation(joint) => (node(joint), "rotation", "VEC4"),
            Property::Translation(joint) => (node(joint), "translation", "VEC3"),
            Property::Root => (0, "translation", "VEC3"),
            Property::Scale(joint) => (node(joint), "scale", "VEC3"),
            Property::Face => (face, "weights", "SCALAR"),
        };
        samplers.push(json!({
            "input": input,
            "output": binary.floats(&channel.values, kind, None),
            "interpolation": match channel.interpolation {
                Interpolation::Step => "STEP",
                Interpolation::Linear => "LINEAR",
                Interpolation::CubicSpline => "CUBICSPLINE",
            },
        }));
        channels.push(json!({ "sampler": i, "target": { "node": node, "path": path } }));
    }
    json!({ "name": clip.name, "channels": channels, "samplers": samplers })
}

/// The buffer view targets of glTF, for vertex attributes and for indices.
const ARRAY: u32 = 34962;
const ELEMENTS: u32 = 34963;

/// The binary chunk while it is written, with its views and accessors.
#[derive(Default)]
struct Binary {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Binary {
    /// Adds the buffer, its views and its accessors to the document, and returns the file.
    fn complete(self, mut document: Value) -> Vec<u8> {
        document["buffers"] = json!([{ "byteLength": self.bytes.len() }]);
        document["bufferViews"] = Value::Array(self.views);
        document["accessors"] = Value::Array(self.accessors);
        container(&document, &self.bytes)
    }

    /// Stores bytes, completes the accessor's description, and returns its index.
    fn accessor(&mut self, bytes: &[u8], mut description: Value, target: Option<u32>) -> usize {
        let mut view = json!({ "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len() });
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        description["bufferView"] = json!(self.views.len());
        self.views.push(view);
        self.accessors.push(description);
        self.accessors.len() - 1
    }

    fn floats(&mut self, values: &[f32], kind: &str, target: Option<u32>) -> usize {
        let width = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let count = values.len() / width;
        self.accessor(&bytes, json!({ "componentType": 5126, "type": kind, "count": count }), target)
    }

    /// Positions, with the bounds that glTF requires.
    fn positions(&mut self, points: &[Vec3]) -> usize {
        let bound = |pick: fn(f32, f32) -> f32| {
            points.iter().copied().reduce(|a, b| core::array::from_fn(|k| pick(a[k], b[k])))
        };
        let accessor = self.floats(points.as_flattened(), "VEC3", Some(ARRAY));
        self.accessors[accessor]["min"] = json!(bound(f32::min));
        self.accessors[accessor]["max"] = json!(bound(f32::max));
        accessor
    }
}

/// Header, JSON padded with spaces, binary chunk (already a multiple of four).
fn container(document: &Value, binary: &[u8]) -> Vec<u8> {
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let total = 12 + 8 + text.len() + 8 + binary.len();
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(b"glTF");
    for word in [2, total as u32, text.len() as u32] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(b"JSON");
    out.extend_from_slice(&text);
    out.extend_from_slice(&(binary.len() as u32).to_le_bytes());
    out.extend_from_slice(b"BIN\0");
    out.extend_from_slice(binary);
    out
}

#[cfg(test)]
mod tests {
    use condyle::{Affine, RawClip, Target};
    use condyle_gltf::{Poser, PoserOptions};

    use super::*;

    fn asset() -> Asset {
        let document = Document::from_slice("character.glb", &glb(), None).unwrap();
        Asset::from_document(document).unwrap()
    }

    fn clip<'a>(asset: &'a Asset, name: &str) -> &'a RawClip {
        asset.clips.iter().find(|c| c.name() == name).unwrap()
    }

    #[test]
    fn it_is_imported_without_a_problem() {
        let asset = asset();
        assert!(asset.problems.is_empty(), "{:?}", asset.problems);
        assert_eq!(glb(), glb());
        let names: Vec<_> = asset.clips.iter().map(RawClip::name).collect();
        assert_eq!(names, ["walk", "run", "idle"]);
        assert_eq!(asset.skins[0].joints().len(), rig::joints().len());
    }

    /// The README's example uses this character, and is compiled but not run.
    #[test]
    fn the_readme_names_what_the_character_has() {
        let asset = asset();
        let readme = include_str!("../../../../../../README.md");
        let named = |call: &str| -> Vec<&str> {
            let uses = readme.split(call).skip(1);
            uses.filter_map(|after| after.strip_prefix("(\"")?.split('"').next()).collect()
        };
        let clips = named("clip_by_name");
        assert_eq!(clips.len(), 1, "{clips:?}");
        for name in clips {
            assert!(asset.clip_by_name(name).is_some(), "{name}");
        }
    }

    #[test]
    fn weights_sum_to_one_and_bends_are_shared() {
        let asset = asset();
        let mut most = 0;
        for primitive in asset.instances.iter().flat_map(|i| &i.primitives) {
            let influences = primitive.mesh.influences();
            for vertex in 0..primitive.mesh.vertex_count() {
                let sum: f32 = influences.row(vertex).map(|r| r.1).sum();
                assert!((sum - 1.0).abs() < 1e-6, "{vertex}: {sum}");
            }
            most = most.max(influences.longest_row());
        }
        assert_eq!(most, 4);
    }

    /// A triangle with reversed winding would be a hole in a renderer that culls.
    #[test]
    fn surfaces_face_outwards() {
        let rig = rig::joints();
        let mut surfaces = body::body(&rig);
        surfaces.push((body::Material::Ink, body::face(&rig).0));
        for (material, surface) in surfaces {
            let at = |i: u32| surface.positions[i as usize];
            for t in surface.indices.as_chunks::<3>().0 {
                let face = condyle_draw::vector::cross(sub(at(t[1]), at(t[0])), sub(at(t[2]), at(t[0])));
                let agree = t.map(|i| condyle_draw::vector::dot(face, surface.normals[i as usize]));
                let size = condyle_draw::vector::length(face);
                assert!(agree.iter().sum::<f32>() > 0.5 * size, "{material:?}: {agree:?} of {size}");
            }
        }
    }

    /// Tangents are perpendicular to the normals, and point where the texture coordinates increase.
    #[test]
    fn tangents_follow_the_texture_coordinates() {
        let rig = rig::joints();
        let mut surfaces = body::body(&rig);
        surfaces.push((body::Material::Ink, body::face(&rig).0));
        for (material, surface) in surfaces {
            for (t, n) in surface.tangents.iter().zip(&surface.normals) {
                let [x, y, z, _] = *t;
                assert!(condyle_draw::vector::dot([x, y, z], *n).abs() < 1e-4, "{material:?}: {t:?} {n:?}");
            }
            let (mut agree, mut all) = ([0, 0], 0);
            for t in surface.indices.as_chunks::<3>().0 {
                let t = t.map(|i| i as usize);
                let edge = |k: usize| {
                    let ([u0, v0], [u, v]) = (surface.uvs[t[0]], surface.uvs[t[k]]);
                    (sub(surface.positions[t[k]], surface.positions[t[0]]), [u - u0, v - v0])
                };
                let ((p1, [u1, v1]), (p2, [u2, v2])) = (edge(1), edge(2));
                let area = u1 * v2 - u2 * v1;
                let along_u = scale(sub(scale(p1, v2), scale(p2, v1)), 1.0 / area);
                let along_v = scale(sub(scale(p2, u1), scale(p1, u2)), 1.0 / area);
                let [x, y, z, sign] = surface.tangents[t[0]];
                let across = scale(condyle_draw::vector::cross(surface.normals[t[0]], [x, y, z]), sign);
                agree[0] += usize::from(condyle_draw::vector::dot(along_u, [x, y, z]) > 0.0);
                agree[1] += usize::from(condyle_draw::vector::dot(along_v, across) > 0.0);
                all += 1;
            }
            assert!(agree.iter().all(|n| n * 10 > all * 9), "{material:?}: {agree:?} of {all}");
        }
    }

    #[test]
    fn clips_end_as_they_begin() {
        let asset = asset();
        let mut poser = Poser::new(&asset, PoserOptions::default()).unwrap();
        for clip in &asset.clips {
            let mut ends = [clip.start(), clip.end()].map(|seconds| {
                poser.pose(Some(clip), seconds).unwrap();
                (poser.model().to_vec(), poser.posed(1).to_vec())
            });
            let [first, last] = &mut ends;
            assert_eq!(first.0, last.0, "{}", clip.name());
            assert_eq!(first.1, last.1, "{}: the face", clip.name());
        }
    }

    #[test]
    fn every_way_of_interpolation_and_every_property_is_there() {
        let asset = asset();
        let tracks = || asset.clips.iter().flat_map(RawClip::tracks);
        for way in [Interpolation::Step, Interpolation::Linear, Interpolation::CubicSpline] {
            assert!(tracks().any(|t| t.interpolation == way), "{way:?}");
        }
        assert!(tracks().any(|t| matches!(t.target, Target::Scale(_))));
        assert!(tracks().any(|t| matches!(t.target, Target::Weights(_))));
    }

    /// Returns the lowest point of each foot (left, right) with the positions of heel and ball, 200 times in
    /// a clip.
    fn steps(asset: &Asset, clip: &RawClip) -> Vec<[(f32, [Vec3; 2]); 2]> {
        let rig = rig::joints();
        let mut poser = Poser::new(asset, PoserOptions::default()).unwrap();
        let soles = &asset.instances[0]
            .primitives
            .iter()
            .position(|p| p.material == Some(body::Material::Soles as usize));
        let soles = soles.unwrap();
        let moment = |i: usize| {
            poser.pose(Some(clip), (clip.end() - clip.start()) * i as f64 / 200.0).unwrap();
            let positions = &poser.posed(0)[soles].positions;
            core::array::from_fn(|side| {
                // The left half of the surface comes first.
                let half = positions.chunks(positions.len() / 2).nth(side).unwrap();
                let lowest = half.iter().map(|p| p[1]).fold(f32::INFINITY, f32::min);
                let foot = rig::FOOT + side * rig::RIGHT;
                let joint = asset.skeleton.joint_by_name(&rig[foot].name).unwrap();
                let model: Affine = poser.model()[usize::from(joint)];
                let on_ground = |z: f32| [0.0, -rig[foot].at[1], z - rig[foot].at[2]];
                (lowest, [-0.07, 0.115].map(|z| model.transform_point(on_ground(z))))
            })
        };
        (0..=200).map(moment).collect()
    }

    #[test]
    fn feet_stay_on_the_ground_and_do_not_slide() {
        let asset = asset();
        for (name, speed) in [("walk", motion::WALK_SPEED), ("run", 0.62 / (0.36 * 0.7))] {
            let clip = clip(&asset, name);
            let steps = steps(&asset, clip);
            let seconds = (clip.duration() / 200.0) as f32;
            let (mut planted, mut flying) = (0, 0);
            for pair in steps.windows(2) {
                for ((low, before), (_, after)) in pair[0].into_iter().zip(pair[1]) {
                    assert!(low > -0.01, "{name}: a foot is {low} m deep in the ground");
                    // A flat foot moves back exactly as fast as the ground does under the character.
                    if before.iter().chain(&after).all(|p| p[1] < 0.006) {
                        planted += 1;
                        let slide = (after[0][2] - before[0][2]) / seconds + speed;
                        assert!(slide.abs() < 0.12 * speed, "{name}: a foot slides at {slide} m/s");
                        assert!((after[0][0] - before[0][0]).abs() / seconds < 0.1);
                    }
                }
                flying += usize::from(pair[0].iter().all(|foot| foot.0 > 0.02));
            }
            assert!(planted > 20, "{name}: {planted}");
            assert_eq!(flying > 10, name == "run", "{name}: {flying} moments in the air");
        }
    }
}
