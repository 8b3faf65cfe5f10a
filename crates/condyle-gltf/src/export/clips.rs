//! Writes a document with other animations, or without any.

use std::collections::BTreeSet;

use condyle::{Interpolation, RawClip, Target, Track};
use serde_json::{Map, Value, json};

use super::bin::Bin;
use super::numbers::{Numbers, Store};
use super::pools::Pools;
use super::still::{remove_attributes, remove_meshes};
use super::streams::Streams;
use super::{ExportError, carry, set_generator, set_transform};
use crate::asset::Asset;
use crate::clips::name_of;
use crate::extensions::{describes, unlist_extension};
use crate::problem::{Problem, Problems, quoted};

/// An asset's document made ready to be written with any clips in the place of its animations.
///
/// All else stays as it is: nodes, meshes, skins, materials, textures, extras and extensions, under the same indices and names.
/// But:
///
/// - Everything lies in one binary chunk: buffers, and images from files and data URIs. Buffer views keep their bytes: compressed
///   meshes stay compressed. Views that only the animations referred to are left out, unless an extension is in use whose
///   references are not known.
/// - A node with a matrix that a clip moves has translation, rotation and scale instead: animations need them.
/// - Attributes that no reader accepts are left out, and so are broken meshes that no node shows: only then do the indices of
///   others change.
/// - A clip with the index and the name of one of the document's animations keeps its extras, and those of its extensions that
///   cannot refer to its keys.
///
/// ```no_run
/// use condyle_gltf::{Asset, ClipExporter};
///
/// let asset = Asset::open("fox.glb")?;
/// let exporter = ClipExporter::new(&asset);
/// std::fs::write("walk-only.glb", exporter.glb(&asset.clips[1..2])?)?;
/// std::fs::write("still.glb", exporter.glb(&[])?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ClipExporter<'a> {
    pub(super) asset: &'a Asset,
    pub(super) json: Value,
    pub(super) accessors: Vec<Value>,
    pub(super) bin: Bin,
    /// For each animation of the document.
    kept: Vec<Beside>,
    problems: Vec<Problem>,
    left_out: usize,
    kept_for: Vec<String>,
}

/// What an animation of the document holds beside its keys.
#[derive(Debug)]
struct Beside {
    /// Of its clip.
    name: String,
    members: Map<String, Value>,
}

impl<'a> ClipExporter<'a> {
    /// Does once what all clips share.
    #[must_use]
    pub fn new(asset: &'a Asset) -> Self {
        let mut json = asset.document.stored_json().clone();
        let mut lost = Problems::new(0);
        let mut kept = Vec::new();
        if let Some(root) = json.as_object_mut() {
            if let Some(Value::Array(animations)) = root.remove("animations") {
                kept.extend((0..).zip(animations).map(|(index, it)| beside(index, it, &mut lost)));
            }
            // No list of a document may be empty.
            root.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
        }
        unlist_extension(&mut json, "KHR_animation_pointer");
        remove_attributes(&mut json, &asset.faulty);
        remove_meshes(&mut json, &asset.faulty_meshes, &mut []);
        let carried = carry::carry(&mut json, &asset.document, carry::Form::Stored);
        set_generator(&mut json);
        let carry::Carried { accessors, bin, mut problems, left_out, kept_for } = carried;
        problems.extend(lost.into_list());
        Self { asset, json, accessors, bin, kept, problems, left_out, kept_for }
    }

    /// Bytes of the document's buffer views that only its animations referred to, and that are not written again.
    #[must_use]
    pub fn left_out_bytes(&self) -> usize {
        self.left_out
    }

    /// The extensions in use that may refer to any buffer view. With any, all views are written again, those of the document's
    /// animations too.
    #[must_use]
    pub fn kept_for(&self) -> &[String] {
        &self.kept_for
    }

    /// What of the document could not be carried over.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The document with these clips as its animations, as the bytes of a `.glb` file. Without clips it has none.
    ///
    /// Keys are written as they are, as 32-bit floats; tracks with the same key times share them. A clip without tracks gets a
    /// channel that drives nothing, since an animation must have one.
    ///
    /// # Errors
    /// [`ExportError::Clip`] if a clip was made for another asset, [`ExportError::TooLarge`] above 4 GiB.
    pub fn glb(&self, clips: &[RawClip]) -> Result<Vec<u8>, ExportError> {
        let mut accessors = self.accessors.clone();
        let mut bin = self.bin.clone();
        let (animations, moved) = self.animations(clips, &mut |numbers| match numbers {
            Numbers::Times(times) => bin.add_accessor(&mut accessors, times.as_chunks::<1>().0, None, true),
            Numbers::Values(values, 3, _) => {
                bin.add_accessor(&mut accessors, values.as_chunks::<3>().0, None, false)
            }
            Numbers::Values(values, 4, _) => {
                bin.add_accessor(&mut accessors, values.as_chunks::<4>().0, None, false)
            }
            Numbers::Values(values, ..) => {
                bin.add_accessor(&mut accessors, values.as_chunks::<1>().0, None, false)
            }
        })?;
        self.finish(animations, moved, accessors, bin)
    }

    /// [`glb`](Self::glb) in fewer bytes: values that are multiples of 1/32767, or of 1/65535 from 0 to 1, are stored as 16-bit
    /// integers where glTF allows it, and all numbers of one kind in one view. What is read back is the same to the last bit.
    ///
    /// # Errors
    /// As [`glb`](Self::glb).
    pub fn packed_glb(&self, clips: &[RawClip]) -> Result<Vec<u8>, ExportError> {
        self.stored_glb::<Pools>(clips)
    }

    /// The bytes of times and values in [`packed_glb`](Self::packed_glb) of these clips.
    ///
    /// # Errors
    /// As [`glb`](Self::glb).
    pub fn packed_bytes(&self, clips: &[RawClip]) -> Result<usize, ExportError> {
        Ok(self.stored::<Pools>(clips)?.byte_count())
    }

    /// [`packed_glb`](Self::packed_glb), compressed by `EXT_meshopt_compression`, which readers must know then. What is read back are the
    /// same numbers; clips that [`reduce`](condyle_encode::reduce) rounded for it
    /// ([`KeyFormat::Filtered`](condyle_encode::KeyFormat::Filtered)) are small.
    ///
    /// # Errors
    /// As [`glb`](Self::glb).
    pub fn compressed_glb(&self, clips: &[RawClip]) -> Result<Vec<u8>, ExportError> {
        self.stored_glb::<Streams>(clips)
    }

    /// The bytes of times and values in [`compressed_glb`](Self::compressed_glb) of these clips.
    ///
    /// # Errors
    /// As [`glb`](Self::glb).
    pub fn compressed_bytes(&self, clips: &[RawClip]) -> Result<usize, ExportError> {
        Ok(self.stored::<Streams>(clips)?.byte_count())
    }

    fn stored<S: Store>(&self, clips: &[RawClip]) -> Result<S, ExportError> {
        let (mut store, mut accessors) = (S::default(), Vec::new());
        self.animations(clips, &mut |numbers| store.add(&mut accessors, &numbers))?;
        Ok(store)
    }

    fn stored_glb<S: Store>(&self, clips: &[RawClip]) -> Result<Vec<u8>, ExportError> {
        let (mut store, mut accessors, mut bin) = (S::default(), self.accessors.clone(), self.bin.clone());
        let (animations, moved) =
            self.animations(clips, &mut |numbers| store.add(&mut accessors, &numbers))?;
        store.finish(&mut accessors, &mut bin);
        self.finish(animations, moved, accessors, bin)
    }

    fn animations(
        &self,
        clips: &[RawClip],
        add: &mut dyn FnMut(Numbers<'_>) -> usize,
    ) -> Result<(Vec<Value>, BTreeSet<usize>), ExportError> {
        let mut moved = BTreeSet::new();
        let animations: Result<Vec<Value>, ExportError> = clips
            .iter()
            .enumerate()
            .map(|(index, clip)| self.animation(index, clip, add, &mut moved))
            .collect();
        Ok((animations?, moved))
    }

    fn finish(
        &self,
        animations: Vec<Value>,
        moved: BTreeSet<usize>,
        accessors: Vec<Value>,
        bin: Bin,
    ) -> Result<Vec<u8>, ExportError> {
        let mut json = self.json.clone();
        for joint in moved {
            let node = self.asset.skeleton.nodes()[joint] as usize;
            let node = &mut json["nodes"][node];
            if node.get("matrix").is_some_and(|matrix| !matrix.is_null()) {
                // Always finite.
                let _ = set_transform(node, &self.asset.skeleton.rest().get(joint));
            }
        }
        if !animations.is_empty() {
            json["animations"] = animations.into();
        }
        if !accessors.is_empty() {
            json["accessors"] = accessors.into();
        }
        bin.into_glb(json)
    }

    fn animation(
        &self,
        index: usize,
        clip: &RawClip,
        add: &mut dyn FnMut(Numbers<'_>) -> usize,
        moved: &mut BTreeSet<usize>,
    ) -> Result<Value, ExportError> {
        let (mut samplers, mut channels) = (Vec::new(), Vec::new());
        // By timeline.
        let mut inputs = vec![None; clip.timelines().len()];
        for track in clip.tracks() {
            let times = &clip.timelines()[track.timeline];
            let Some((node, path)) = self.target(index, track, times.len())? else { continue };
            moved.extend(track.target.joint().map(usize::from));
            let input = *inputs[track.timeline].get_or_insert_with(|| add(Numbers::Times(times)));
            let width = match track.target {
                Target::Rotation(_) => 4,
                Target::Translation(_) | Target::Scale(_) => 3,
                _ => 1,
            };
            let output = add(Numbers::Values(&track.values, width, track.values.len() / times.len()));
            let interpolation = match track.interpolation {
                Interpolation::Step => "STEP",
                Interpolation::Linear => "LINEAR",
                Interpolation::CubicSpline => "CUBICSPLINE",
            };
            channels.push(json!({ "sampler": samplers.len(), "target": { "node": node, "path": path } }));
            let mut sampler = json!({ "input": input, "output": output });
            if interpolation != "LINEAR" {
                sampler["interpolation"] = interpolation.into();
            }
            samplers.push(sampler);
        }
        if channels.is_empty() {
            let input = add(Numbers::Times(&[0.0]));
            let output = add(Numbers::Values(&[0.0, 0.0, 0.0, 1.0], 4, 4));
            channels.push(json!({ "sampler": 0, "target": { "path": "rotation" } }));
            samplers.push(json!({ "input": input, "output": output }));
        }
        let mut animation = Map::new();
        animation.insert("name".into(), clip.name().into());
        animation.insert("channels".into(), channels.into());
        animation.insert("samplers".into(), samplers.into());
        if let Some(own) = self.kept.get(index).filter(|own| own.name == clip.name()) {
            animation.extend(own.members.clone());
        }
        Ok(animation.into())
    }

    /// The node that a track drives, and which property of it. None for values of the game's own, which a document
    /// has no place for.
    fn target(
        &self,
        clip: usize,
        track: &Track,
        keys: usize,
    ) -> Result<Option<(usize, &'static str)>, ExportError> {
        let (joint, path) = match track.target {
            Target::Rotation(joint) => (joint, "rotation"),
            Target::Translation(joint) => (joint, "translation"),
            Target::Scale(joint) => (joint, "scale"),
            Target::Weights(node) => {
                let node = node as usize;
                let per_key = if track.interpolation == Interpolation::CubicSpline { 3 } else { 1 };
                let found = track.values.len() / (keys * per_key);
                let instance = self.asset.instances.iter().find(|instance| instance.node == node);
                let count = instance.map_or(0, |instance| instance.morph_weights.len());
                return match found == count {
                    true => Ok(Some((node, "weights"))),
                    false => Err(ExportError::Clip { clip, node, what: "morph weights", found, count }),
                };
            }
            _ => return Ok(None),
        };
        let nodes = self.asset.skeleton.nodes();
        let (found, count) = (usize::from(joint), nodes.len());
        match nodes.get(found) {
            Some(&node) if self.json["nodes"].get(node as usize).is_some() => Ok(Some((node as usize, path))),
            _ => Err(ExportError::Clip { clip, node: found, what: "joints", found: found + 1, count }),
        }
    }
}

/// What an animation holds beside its keys, and what of that is lost with them.
fn beside(index: usize, animation: Value, lost: &mut Problems) -> Beside {
    let name = name_of(index, &animation);
    let mut members = match animation {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    for key in ["name", "channels", "samplers"] {
        members.remove(key);
    }
    if let Some(extensions) = members.get_mut("extensions").and_then(Value::as_object_mut) {
        extensions.retain(|name, _| {
            let stays = describes(name);
            if !stays {
                let what = format!("the extension {} may refer to keys that are written anew", quoted(name));
                lost.warning(
                    format!("/animations/{index}/extensions"),
                    what,
                    "it is left out of the written file",
                );
            }
            stays
        });
        if extensions.is_empty() {
            members.remove("extensions");
        }
    }
    Beside { name, members }
}
