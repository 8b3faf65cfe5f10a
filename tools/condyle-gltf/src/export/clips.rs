//! Writes a document with other animations, or without any.

use std::collections::BTreeSet;

use condyle::{Interpolation, RawClip, Target, Track};

use super::bin::Bin;
use super::geometry::MeshCompression;
use super::numbers::{Numbers, Store};
use super::pools::Pools;
use super::still::{remove_attributes, remove_meshes};
use super::streams::Streams;
use super::{ExportError, carry, set_generator, set_transform};
use crate::asset::Asset;
use crate::clips::name_of;
use crate::extensions::{describes, unlist_extension};
use crate::problem::{Problem, Problems, quoted};
use crate::value::{Map, Value, json};

/// Writes an asset's document with other clips in place of its animations.
///
/// All else is unchanged: nodes, meshes, skins, materials, textures, extras and extensions, under the same
/// indices and names. The exceptions:
///
/// - All data is in one binary chunk: buffers, and images from files and data URIs. Buffer views keep their
///   bytes, so compressed meshes stay compressed. Views that only the animations used are dropped, unless the
///   document uses an extension with unknown references.
/// - A node with a matrix that a clip moves gets translation, rotation and scale instead, because animations
///   require them.
/// - Invalid attributes are dropped, and so are invalid meshes that no node shows. Dropped meshes are the
///   only reason for other indices to change.
/// - If a clip has the index and the name of an animation in the document, it keeps that animation's extras.
///   It also keeps those extensions that cannot refer to its keys.
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
    pub(crate) asset: &'a Asset,
    pub(crate) json: Value,
    pub(super) accessors: Vec<Value>,
    pub(super) bin: Bin,
    /// Extra members of each animation of the document.
    kept: Vec<Beside>,
    problems: Vec<Problem>,
    left_out: usize,
    kept_for: Vec<String>,
}

/// Members of an animation of the document other than its keys.
#[derive(Debug)]
struct Beside {
    /// Name of the animation's clip.
    name: String,
    members: Map,
}

impl<'a> ClipExporter<'a> {
    /// Prepares the parts of the file that all sets of clips share.
    #[must_use]
    pub fn new(asset: &'a Asset) -> Self {
        let mut json = asset.document.stored_json().clone();
        let mut lost = Problems::new(0);
        let mut kept = Vec::new();
        if let Some(root) = json.as_object_mut() {
            if let Some(Value::Array(animations)) = root.remove("animations") {
                kept.extend((0..).zip(animations).map(|(index, it)| beside(index, it, &mut lost)));
            }
            // Lists in a document must not be empty.
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

    /// Sets the extension of [`compressed_glb`](Self::compressed_glb).
    #[must_use]
    pub fn with_compression(mut self, compression: MeshCompression) -> Self {
        self.bin.choose(compression.extension());
        self
    }

    /// Returns the bytes of buffer views that are not written because only the document's animations used
    /// them.
    #[must_use]
    pub fn left_out_bytes(&self) -> usize {
        self.left_out
    }

    /// Returns the used extensions that can refer to any buffer view.
    ///
    /// If there is one, all views are written, including those of the document's animations.
    #[must_use]
    pub fn kept_for(&self) -> &[String] {
        &self.kept_for
    }

    /// Returns the problems found while copying the document, for example data that could not be copied.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the document with these clips as its animations, as the bytes of a `.glb` file.
    ///
    /// Without clips, the document has no animations. Keys are written unchanged, as 32-bit floats; tracks
    /// with the same key times share them. A clip without tracks gets a channel without a target node,
    /// because an animation must have a channel.
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

    /// Like [`glb`](Self::glb), but smaller; the values read back are identical to the last bit.
    ///
    /// Values that are multiples of 1/32767, or of 1/65535 from 0 to 1, are stored as 16-bit integers where
    /// glTF allows it. All numbers of one kind share one buffer view.
    ///
    /// # Errors
    /// The same as for [`glb`](Self::glb).
    pub fn packed_glb(&self, clips: &[RawClip]) -> Result<Vec<u8>, ExportError> {
        self.stored_glb::<Pools>(clips)
    }

    /// Returns the number of bytes that key times and values take in [`packed_glb`](Self::packed_glb).
    ///
    /// # Errors
    /// The same as for [`glb`](Self::glb).
    pub fn packed_bytes(&self, clips: &[RawClip]) -> Result<usize, ExportError> {
        Ok(self.stored::<Pools>(clips)?.byte_count())
    }

    /// Like [`packed_glb`](Self::packed_glb), but compressed by an extension that readers must support.
    ///
    /// [`with_compression`](Self::with_compression) sets it. The default is one that the file requires
    /// anyway, or else `EXT_meshopt_compression`.
    ///
    /// The values read back are identical. The file is small for clips that
    /// [`reduce`](condyle_encode::reduce) has rounded for this format: see
    /// [`KeyFormat::Filtered`](condyle_encode::KeyFormat::Filtered).
    ///
    /// # Errors
    /// The same as for [`glb`](Self::glb).
    pub fn compressed_glb(&self, clips: &[RawClip]) -> Result<Vec<u8>, ExportError> {
        self.stored_glb::<Streams>(clips)
    }

    /// Returns the number of bytes that key times and values take in
    /// [`compressed_glb`](Self::compressed_glb).
    ///
    /// # Errors
    /// The same as for [`glb`](Self::glb).
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
                // The rest pose is always finite.
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
        // The input accessor of each timeline.
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

    /// Returns the node of a track and the animated property. Returns `None` for a track of custom values,
    /// which glTF cannot store.
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
                return if found == count {
                    Ok(Some((node, "weights")))
                } else {
                    Err(ExportError::Clip { clip, node, what: "morph weights", found, count })
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

/// Returns an animation's members other than its keys, and reports the extensions that are lost.
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
                let what = format!("the extension {} may refer to keys that are rewritten", quoted(name));
                lost.warning(
                    format!("/animations/{index}/extensions"),
                    what,
                    "it is omitted from the written file",
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
