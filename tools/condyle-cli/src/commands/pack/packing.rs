//! The steps of `condyle pack`: clips, meshes, and the errors of the written file.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;

use condyle::sampling::AnyClip;
use condyle::{Error, RawClip};
use condyle_encode::{EncodeOptions, frame_count};
use condyle_gltf::{Asset, ClipExporter, Document, MeshCompression};
use rayon::prelude::*;

use super::Args;
use super::drop::{displacement, without};
use super::form::{Form, Growth};
use super::mesh::{Kinds, MESH_PART, Meshes};
use super::report::{Outcome, Row};
use crate::failure::Failure;
use crate::model::document;
use crate::model::written::{self, Keys};
use crate::options::quantity::at_most;
use crate::output::{progress, warn};
use crate::text::path_text;

/// Bounds on the error.
pub(super) struct Bounds {
    /// Metres per unit.
    pub(super) metres: f64,
    /// Maximum error of a vertex by its animations, in units.
    pub(super) clip: f32,
    /// The same by meshes; `None` if meshes do not change.
    pub(super) mesh: Option<f32>,
    /// Radius around joints without vertices, in units.
    pub(super) reach: f32,
    clip_metres: f64,
}

impl Bounds {
    /// Divides --error among animations and meshes.
    pub(super) fn new(args: &Args, path: &Path, asset: &Asset, metres: f64) -> Result<Self, Failure> {
        let (mesh_part, clip_part) = match args.mesh && !asset.instances.is_empty() {
            // Without clips, the meshes get the whole error.
            true if asset.clips.is_empty() => (1.0, 1.0),
            true => (MESH_PART, 1.0 - MESH_PART),
            false => (0.0, 1.0),
        };
        let clip = at_most(clip_part * args.error.metres / metres);
        if clip == 0.0 {
            return Err(Failure::Usage(format!(
                "{}: at this --height the error rounds to 0 in f32; raise --error, or correct --height",
                path_text(path)
            )));
        }
        let mesh = (mesh_part > 0.0).then(|| at_most(mesh_part * args.error.metres / metres));
        let reach = args.bounded.radius(metres);
        Ok(Self { metres, clip, mesh, reach, clip_metres: clip_part * args.error.metres })
    }

    /// Returns the maximum error of a vertex by its animations, in metres.
    pub(super) fn clip_metres(&self) -> f64 {
        self.clip_metres
    }
}

/// A model that is packed.
pub(super) struct Packing<'a> {
    pub(super) args: &'a Args,
    /// Input file.
    pub(super) path: &'a Path,
    /// Output file.
    pub(super) to: &'a Path,
    /// Name of the file in messages.
    pub(super) name: String,
    pub(super) asset: &'a Asset,
    pub(super) bounds: Bounds,
    /// Joints whose tracks are dropped.
    pub(super) dropped: BTreeSet<u16>,
}

/// A document with packed clips.
pub(super) struct Packed<'a> {
    pub(super) glb: Vec<u8>,
    /// Packed clips, and the options that bounded the error of each.
    clips: Vec<RawClip>,
    options: Vec<EncodeOptions>,
    form: Form<'a>,
}

impl<'a> Packing<'a> {
    fn failed(&self, error: &dyn Display) -> Failure {
        Failure::Data(format!("{}: {error}", self.name))
    }

    /// Returns the extension that compresses keys and meshes: one that the file requires anyway, if there is
    /// one.
    fn compression(&self) -> MeshCompression {
        match self.args.khr {
            true => MeshCompression::Khr,
            false => MeshCompression::required_by(&self.asset.document).unwrap_or_default(),
        }
    }

    /// Packs the clips.
    pub(super) fn clips(&self) -> Result<Packed<'a>, Failure> {
        let (args, asset) = (self.args, self.asset);
        let mut form = Form {
            exporter: ClipExporter::new(asset).with_compression(self.compression()),
            compressed: args.meshopt || args.mesh || MeshCompression::required_by(&asset.document).is_some(),
        };
        let bar = progress(asset.clips.len(), "packing");
        let packed = |clip: &RawClip| -> Result<([RawClip; 2], EncodeOptions), Failure> {
            let clip = without(clip, &self.dropped, asset).map_err(|e| self.failed(&e))?;
            let Bounds { clip: bound, metres, .. } = self.bounds;
            let options = args.bounded.options(asset, &clip, bound, metres).map_err(|e| self.failed(&e))?;
            let found = form.smallest(clip, asset, &options).map_err(|e| self.failed(&e))?;
            bar.inc(1);
            Ok((found, options))
        };
        let found = asset.clips.par_iter().map(packed).collect::<Result<Vec<_>, _>>()?;
        bar.finish_and_clear();
        let (found, options): (Vec<[RawClip; 2]>, Vec<EncodeOptions>) = found.into_iter().unzip();
        let (plain, compressed) = found.into_iter().map(|[plain, compressed]| (plain, compressed)).unzip();
        form.exporter.problems().iter().for_each(|problem| warn(self.path, &problem.to_string()));
        let (glb, clips) = form.smaller_glb([plain, compressed]).map_err(|e| self.failed(&e))?;
        Ok(Packed { glb, clips, options, form })
    }

    /// Packs the meshes of a document, with --mesh.
    pub(super) fn meshes(&self, glb: &[u8]) -> Result<Option<Meshes>, Failure> {
        let Some(bound) = self.bounds.mesh else { return Ok(None) };
        Meshes::pack((self.to, self.path), glb, bound, self.bounds.metres, self.compression()).map(Some)
    }

    /// Measures the clips of the written document.
    pub(super) fn rows(&self, packed: &Packed<'_>) -> Result<Vec<Row>, Failure> {
        let (asset, metres) = (self.asset, self.bounds.metres);
        let written = written::clips(self.to, &packed.glb, asset)?;
        let row = |((clip, written), options): ((&RawClip, RawClip), &EncodeOptions)| {
            let original = without(clip, &self.dropped, asset)?;
            let left_out = metres * displacement((clip, &written), &self.dropped, asset, self.bounds.reach)?;
            let keys = Keys::measure(written, &AnyClip::from(&original), asset, options)?;
            let error = f64::from(keys.error) * metres;
            let frames = frame_count(&original, asset.skeleton.joint_count(), options)?;
            let rate = if frames > 0 { (frames as f64 / original.duration()) as f32 } else { 0.0 };
            Ok(Row { keys, rate, before: clip.byte_count(), after: 0, error, left_out })
        };
        let pairs: Vec<_> = asset.clips.iter().zip(written).zip(&packed.options).collect();
        let rows = pairs.into_par_iter().map(row).collect::<Result<Vec<Row>, Error>>();
        let mut rows = rows.map_err(|e| self.failed(&e))?;
        for (row, clip) in rows.iter_mut().zip(packed.clips.chunks(1)) {
            row.after = packed.form.bytes(clip).map_err(|e| self.failed(&e))?;
        }
        Ok(rows)
    }

    /// Compares the files before and after.
    pub(super) fn outcome(
        &self,
        rows: Vec<Row>,
        packed: &Packed<'_>,
        meshes: Option<Meshes>,
    ) -> Result<Outcome, Failure> {
        let (path, glb) = (self.path, &packed.glb);
        let before = self.source_bytes();
        let source = std::fs::read(path).unwrap_or_default();
        let growth = Growth::of(&packed.form, &packed.clips, glb, (before, &source));
        let after = Document::from_slice(&self.name, glb, None);
        let after = after.map_err(|refused| document::refusal(path, &refused))?;
        let required = after.json_at("/extensionsRequired");
        let required = required.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let kinds = [Kinds::of(&self.asset.document, before), Kinds::of(&after, glb.len())];
        let names = self.asset.skeleton.names();
        let dropped = self.dropped.iter().map(|&joint| names[usize::from(joint)].clone()).collect();
        let (compressed, after, budget) = (packed.form.compressed, glb.len(), self.bounds.clip_metres);
        Ok(Outcome { budget, rows, dropped, compressed, required, before, after, growth, meshes, kinds })
    }

    /// Returns the bytes of all files of the model.
    fn source_bytes(&self) -> usize {
        let sources = document::sources(self.path, Some(&self.asset.document));
        let bytes =
            sources.iter().filter_map(|source| std::fs::metadata(source).ok()).map(|it| it.len() as usize);
        bytes.sum()
    }
}
