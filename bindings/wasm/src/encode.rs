//! Compression of clips, and writing of files.

use std::borrow::Cow;

use condyle::RawClip;
use condyle::container::{ContainerWriter, EntryKind};
use condyle::sampling::AnyClip;
use condyle_base::error::Error;
use condyle_encode::{EncodeOptions, KeyFormat, Shell, curve_keys, encode, reduce};
use condyle_gltf::{Asset, ClipExporter, Document, MeshCompression, pack_meshes};
use wasm_bindgen::prelude::*;

use crate::build::Motion;
use crate::character::{Character, Model, clip_at};
use crate::fault::Fault;
use crate::pose::Pose;

/// Vertices that are looked at, at most, to find the worst one.
const MOST: usize = 40_000_000;

/// Part of a clip's bound for the keys of a compressed clip.
const PART: f32 = 1.0 / 16.0;

/// Part of the error that smaller meshes get.
const MESH_PART: f32 = 0.5;

/// Origin of a clip.
pub(crate) struct Origin {
    shell: Option<f32>,
    /// Clip that `encode` compressed to this one.
    made_of: Option<usize>,
}

impl Origin {
    pub(crate) fn new(shell: Option<f32>) -> Self {
        Self { shell, made_of: None }
    }

    pub(crate) fn replaced(&mut self, clip: Option<usize>) {
        self.made_of = self.made_of.filter(|&of| clip != Some(of));
    }
}

#[wasm_bindgen]
impl Model {
    /// Compresses a clip. Returns its index, its bytes, the largest error, and the mesh, the vertex and the
    /// time of the worst vertex.
    pub fn encode(
        &self,
        clip: f64,
        error: f32,
        best: bool,
        replace: Option<usize>,
    ) -> Result<Vec<f64>, JsValue> {
        Ok(self.encoded(clip, error, best, replace)?)
    }

    /// Bytes of a compressed clip.
    pub fn clip_data(&self, clip: f64) -> Result<Vec<u8>, JsValue> {
        let clips = self.0.clips.borrow();
        let it = clip_at(&clips, clip)?;
        let missing = || Fault::new("unsupported", format!("clip {:?} is not compressed", it.name()));
        Ok(it.compressed().ok_or_else(missing)?.as_bytes().to_vec())
    }

    /// Bytes of a .condyle file.
    pub fn save(&self, error: f32, best: bool) -> Result<Vec<u8>, JsValue> {
        Ok(self.saved(error, best)?)
    }

    /// Bytes of a .glb file.
    pub fn pack(&self, error: f32, meshes: bool) -> Result<Vec<u8>, JsValue> {
        Ok(self.packed(error, meshes)?)
    }
}

impl Character {
    /// Radius around joints without vertices.
    fn radius(&self) -> f32 {
        Shell::radius(self.unit.get().unwrap_or(1.0))
    }

    fn options(&self, asset: Option<&Asset>, clip: &RawClip, error: f32) -> Result<EncodeOptions, Fault> {
        match asset {
            Some(asset) => Ok(asset.encode_options(clip, error, self.radius())?),
            None if self.meshes.is_empty() => Ok(EncodeOptions::new(error, Shell::Balls(self.radius()))),
            None => Err(no_document(&self.name)),
        }
    }
}

fn no_document(name: &str) -> Fault {
    Fault::new(
        "unsupported",
        format!("{name} has no document with meshes: open the file that it was made of"),
    )
}

fn raw(motion: &Motion) -> Result<&RawClip, Fault> {
    let text =
        || format!("clip {:?} is compressed already: encode the clip that it was made of", motion.name());
    motion.clip.as_raw().ok_or_else(|| Fault::new("unsupported", text()))
}

impl Model {
    fn encoded(&self, clip: f64, error: f32, best: bool, replace: Option<usize>) -> Result<Vec<f64>, Fault> {
        let it = &*self.0;
        let (name, done, morph_error, moments) = {
            let (clips, asset) = (it.clips.borrow(), it.asset.borrow());
            let motion = clip_at(&clips, clip)?;
            let raw = raw(motion)?;
            let mut options = it.options(asset.as_ref(), raw, error)?;
            options.best = best;
            let done = encode(raw, &it.skeleton, &options, &mut |_| ())?;
            let morph_error = match asset.as_ref() {
                Some(asset) => asset.morph_error(raw, &done.measured)?,
                None => 0.0,
            };
            let name = match replace {
                Some(at) if at as f64 == clip => raw.name().to_owned(),
                _ => format!("{}, compressed", raw.name()),
            };
            (name, done, morph_error, motion.clip.moments())
        };
        let (bytes, shell) = (done.bytes().len(), done.shell);
        let (error, at) = (done.measured.error_max.max(morph_error), done.measured.seconds);
        let mut motion = Motion::new(AnyClip::compressed(name, done.into_clip()), shell);
        motion.origin.made_of = Some(clip as usize).filter(|&of| replace != Some(of));
        let index = self.put(motion, replace)?;
        // The keys are compared, not their frames.
        let frames = it.clips.borrow_mut()[clip as usize].frames.take();
        let worst = self.worst(clip, index as f64, moments, at);
        it.clips.borrow_mut()[clip as usize].frames = frames;
        let [mesh, vertex, seconds] = worst?;
        Ok(vec![index as f64, bytes as f64, error.into(), mesh, vertex, seconds])
    }

    /// Mesh, vertex and time of the largest difference of two clips, at as many moments as time allows.
    fn worst(&self, clip: f64, other: f64, moments: Vec<f64>, at: f64) -> Result<[f64; 3], Fault> {
        let vertices: usize = self.0.meshes.iter().map(|it| it.mesh.vertices()).sum();
        let step = moments.len().saturating_mul(vertices) / MOST + 1;
        let (mut a, mut b) = (Pose::of(&self.0), Pose::of(&self.0));
        let mut worst = (-1.0, [0.0, 0.0, at]);
        for seconds in moments.into_iter().step_by(step).chain([at]) {
            a.sampled(clip, seconds)?;
            b.sampled(other, seconds)?;
            let (error, mesh, vertex) = a.differences(&mut b)?;
            if error > worst.0 {
                worst = (error, [mesh as f64, vertex as f64, seconds]);
            }
        }
        Ok(worst.1)
    }

    fn saved(&self, error: f32, best: bool) -> Result<Vec<u8>, Fault> {
        let it = &*self.0;
        let (clips, asset) = (it.clips.borrow(), it.asset.borrow());
        if asset.is_none() && !it.meshes.is_empty() {
            return Err(no_document(&it.name));
        }
        let name = it.name.rsplit_once('.').map_or(&*it.name, |(stem, _)| stem);
        let mut writer = ContainerWriter::default();
        let model = writer.add_skeleton(name, &it.skeleton)?;
        it.unit.get().map_or(Ok(()), |unit| writer.set_unit(model, unit as f32))?;
        if let Some(asset) = asset.as_ref() {
            for (name, mesh) in asset.placed_meshes()? {
                writer.add_mesh(name, model, &mesh, &it.skeleton)?;
            }
        }
        for (at, motion) in clips.iter().enumerate() {
            // A clip and the results of `encode` are written once: as the last result, with the clip's name.
            let source = motion.origin.made_of.unwrap_or(at);
            if clips.iter().rposition(|it| it.origin.made_of == Some(source)).is_some_and(|last| last != at) {
                continue;
            }
            let (data, shell) = match motion.compressed() {
                Some(clip) => (Cow::Borrowed(clip.as_bytes()), motion.origin.shell),
                None => {
                    let raw = raw(motion)?;
                    let mut options = it.options(asset.as_ref(), raw, error)?;
                    options.best = best;
                    let done = encode(raw, &it.skeleton, &options, &mut |_| ())?;
                    (Cow::Owned(done.bytes().to_vec()), done.shell)
                }
            };
            let entry = writer.add(EntryKind::Clip, clips[source].name(), Some(model), &data)?;
            shell.map_or(Ok(()), |radius| writer.set_shell(entry, radius))?;
        }
        if let Some(asset) = asset.as_ref() {
            let none: &[RawClip] = &[];
            let document = ClipExporter::new(asset).glb(none).map_err(export)?;
            writer.add(EntryKind::Document, name, Some(model), &document)?;
        }
        Ok(writer.finish())
    }

    fn packed(&self, error: f32, meshes: bool) -> Result<Vec<u8>, Fault> {
        let it = &*self.0;
        let (clips, asset) = (it.clips.borrow(), it.asset.borrow());
        let asset = asset.as_ref().ok_or_else(|| no_document(&it.name))?;
        let meshes = meshes && !asset.instances.is_empty();
        let budget = if meshes { error * (1.0 - MESH_PART) } else { error };
        // Results of `encode` are left out, because the clips that they were made of are written.
        let kept = clips.iter().filter(|it| it.origin.made_of.is_none());
        let written = kept.map(|motion| match &motion.clip {
            AnyClip::Raw(clip) => {
                let options = asset.encode_options(&**clip, budget, it.radius())?;
                Ok(reduce(&**clip, &it.skeleton, &options, KeyFormat::Floats)?.clip)
            }
            AnyClip::Compressed { clip, .. } => {
                let radius = motion.origin.shell.unwrap_or_else(|| it.radius());
                let mut options = asset.encode_options(clip, clip.budget() * PART, radius)?;
                options.track_budget *= PART;
                Ok(curve_keys(&motion.clip, &it.skeleton, &options)?.clip)
            }
        });
        let written = written.collect::<Result<Vec<RawClip>, Error>>()?;
        let glb = ClipExporter::new(asset).packed_glb(&written).map_err(export)?;
        if !meshes {
            return Ok(glb);
        }
        let asset = Document::from_slice(&it.name, &glb, None).and_then(Asset::from_document);
        let asset = asset.map_err(|refused| Fault::file(&it.name, &refused.problems))?;
        Ok(pack_meshes(&asset, error * MESH_PART, MeshCompression::default()).map_err(export)?.glb)
    }
}

fn export(error: condyle_gltf::ExportError) -> Fault {
    Fault::new("export", error.to_string())
}
