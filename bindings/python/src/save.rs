//! Export of clips and models to BVH and glTF files.

use std::path::Path;
use std::sync::Arc;

use condyle::sampling::{AnyClip, PoseSource};
use condyle::{Pose, RawClip, Skeleton, Target, Track};
use condyle_bvh::WriteOptions;
use condyle_encode::{Shell, curve_keys};
use condyle_gltf::{Asset, ClipExporter, Document, MeshCompression, UnpackedPrimitive, pack_meshes};
use condyle_io::ModelClip;
use pyo3::prelude::*;

use crate::errors::{Error, warn};
use crate::join::Draft;
use crate::motion::extras;
use crate::progress::told_apart;

/// File format by extension.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Bvh,
    Glb,
    Condyle,
}

impl Kind {
    pub(crate) fn of(path: &Path) -> PyResult<Self> {
        let ending = path.extension().map(|it| it.to_ascii_lowercase().to_string_lossy().into_owned());
        match ending.as_deref() {
            Some("bvh") => Ok(Self::Bvh),
            Some("glb") => Ok(Self::Glb),
            Some("condyle") => Ok(Self::Condyle),
            _ => {
                let path = path.display();
                Err(Error::new_err(format!("the name {path} does not end in .bvh, .glb or .condyle")))
            }
        }
    }
}

/// Writes a file through a temporary file, so that it appears only when complete.
pub(crate) fn write(path: &Path, data: &[u8]) -> PyResult<()> {
    let mut file = Draft::new(path)?;
    file.append(data)?;
    file.finish(path)
}

/// Clip to write.
#[derive(Clone, Copy)]
pub(crate) struct Saved<'a> {
    pub(crate) name: &'a str,
    pub(crate) skeleton: &'a Arc<Skeleton>,
    pub(crate) motion: &'a Arc<ModelClip>,
}

/// Text of a BVH, and whether it leaves out joint scales.
type Written = Result<(String, bool), condyle::Error>;

/// Clip as a BVH with `rate` frames per second. Default: the rate of the keys, which must be evenly
/// spaced.
pub(crate) fn bvh(py: Python<'_>, clip: Saved<'_>, rate: Option<f64>) -> PyResult<Vec<u8>> {
    if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
        return Err(Error::new_err(format!("rate must be finite and above 0, got {rate}")));
    }
    let name = clip.name;
    let uneven =
        || Error::new_err(format!("the keys of the clip {name:?} are not evenly spaced; pass rate="));
    let rate = rate.or_else(|| own_rate(&clip.motion.clip)).ok_or_else(uneven)?;
    let (motion, skeleton) = (Arc::clone(clip.motion), Arc::clone(clip.skeleton));
    let written = told_apart(py, None, move |_| -> Written {
        // Refuses a rate with too many frames before any work starts.
        let text = condyle_bvh::write(&skeleton, &*motion, &WriteOptions::new(rate))?;
        Ok((text, has_scales(&motion.clip, &skeleton, rate)?))
    })?;
    let failed = |e| Error::new_err(format!("the clip {name:?}: {e}"));
    let (text, is_scaled) = written.map_err(failed)?;
    if is_scaled {
        warn(
            py,
            &format!("the clip {name:?} scales joints, which a BVH cannot store; the scales are left out"),
        )?;
    }
    left_out(py, clip)?;
    Ok(text.into_bytes())
}

/// Frames per second of evenly spaced keys. A clip with a single time gets 30.
fn own_rate(clip: &AnyClip<'_>) -> Option<f64> {
    let keys = clip.moments();
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Some(30.0) };
    let seconds = last - first;
    if seconds <= 0.0 {
        return Some(30.0);
    }
    let rate = (keys.len() - 1) as f64 / seconds;
    let off = |(at, key): (usize, &f64)| ((key - first) * rate - at as f64).abs();
    let is_even = keys.iter().enumerate().map(off).fold(0.0, f64::max) < 0.05;
    // A whole number, if f32 cannot distinguish the rate from one.
    let whole = rate.round();
    is_even.then_some(if (rate - whole).abs() < 1e-5 * rate { whole } else { rate })
}

fn has_scales(motion: &AnyClip<'_>, skeleton: &Skeleton, rate: f64) -> Result<bool, condyle::Error> {
    let frames = ((motion.end() - motion.start()) * rate).round();
    let mut pose = Pose::rest(skeleton);
    for frame in 0..=frames as u32 {
        motion.pose(skeleton, motion.start() + f64::from(frame) / rate, &mut pose)?;
        if pose.transforms().any(|it| it.scale.iter().any(|scale| (scale - 1.0).abs() > 1e-4)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Clips as animations of the document `asset`, or of a document with only the joints.
pub(crate) fn glb(
    py: Python<'_>,
    name: &str,
    skeleton: &Arc<Skeleton>,
    (asset, unit, is_turned): (Option<&Arc<Asset>>, Option<f64>, bool),
    clips: &[Saved<'_>],
) -> PyResult<Vec<u8>> {
    let motions: Vec<(String, Arc<ModelClip>)> =
        clips.iter().map(|clip| (clip.name.to_owned(), Arc::clone(clip.motion))).collect();
    let (name, skeleton, asset) = (name.to_owned(), Arc::clone(skeleton), asset.map(Arc::clone));
    let written = told_apart(py, None, move |_| {
        let asset = match asset {
            Some(asset) => asset,
            None => Arc::new(of_motion(&name, &skeleton, unit, is_turned)?),
        };
        let metres = unit.unwrap_or(1.0);
        let failed = |name: &str, e: condyle::Error| format!("the clip {name:?}: {e}");
        let clips = motions
            .iter()
            .map(|(name, motion)| authored(name, motion, &asset, metres).map_err(|e| failed(name, e)));
        let clips = clips.collect::<Result<Vec<_>, String>>()?;
        let exporter = ClipExporter::new(&asset);
        let mut problems: Vec<String> = exporter.problems().iter().map(ToString::to_string).collect();
        problems.extend(
            clips.iter().zip(&motions).filter_map(|(clip, (_, motion))| no_place(clip, &motion.clip)),
        );
        Ok::<_, String>((exporter.glb(&clips).map_err(|e| e.to_string())?, problems))
    })?;
    let (bytes, problems) = written.map_err(Error::new_err)?;
    problems.iter().try_for_each(|problem| warn(py, problem))?;
    Ok(bytes)
}

/// Smaller meshes.
#[derive(Clone, Copy)]
pub(crate) struct Smaller {
    budget: f32,
    compression: MeshCompression,
}

impl Smaller {
    /// `None` without a budget.
    pub(crate) fn new(budget: Option<f32>, compression: &str) -> PyResult<Option<Self>> {
        let compression = match compression {
            "ext" => MeshCompression::Ext,
            "khr" => MeshCompression::Khr,
            _ => {
                let found = format!("compression must be \"ext\" or \"khr\", got {compression:?}");
                return Err(Error::new_err(found));
            }
        };
        match budget {
            Some(budget) if !(budget > 0.0 && budget.is_finite()) => {
                Err(Error::new_err(format!("mesh_budget must be finite and above 0, got {budget}")))
            }
            _ => Ok(budget.map(|budget| Self { budget, compression })),
        }
    }

    /// Returns a document with smaller meshes.
    pub(crate) fn apply(self, py: Python<'_>, name: &str, glb: Vec<u8>) -> PyResult<Vec<u8>> {
        let name = name.to_owned();
        let packed = told_apart(py, None, move |_| {
            let asset = Document::from_slice(&name, &glb, None).and_then(Asset::from_document);
            let asset = asset.map_err(|refused| refused.to_string())?;
            pack_meshes(&asset, self.budget, self.compression).map_err(|e| format!("{name}: {e}"))
        })?;
        let packed = packed.map_err(Error::new_err)?;
        packed.problems.iter().try_for_each(|problem| warn(py, &problem.to_string()))?;
        for mesh in packed.meshes.iter().filter(|mesh| mesh.error > f64::from(self.budget) * (1.0 + 1e-6)) {
            let (error, budget) = (mesh.error, self.budget);
            warn(py, &format!("mesh {}: the error is {error}, not {budget}", mesh.mesh))?;
        }
        for UnpackedPrimitive { mesh, primitive, why, .. } in &packed.unpacked {
            warn(py, &format!("mesh {mesh}, primitive {primitive} is unchanged: {why}"))?;
        }
        Ok(packed.glb)
    }
}

/// Document with only the joints, and the unit and rotation of the opened file.
fn of_motion(name: &str, skeleton: &Skeleton, unit: Option<f64>, is_turned: bool) -> Result<Asset, String> {
    let mut asset = Asset::of_motion(name, skeleton, vec![]).map_err(|e| e.to_string())?;
    unit.map_or(Ok(()), |metres| asset.set_unit(metres)).map_err(|e| e.to_string())?;
    if is_turned {
        asset.set_turned();
    }
    Ok(asset)
}

/// Fraction of a clip's bound reserved for key reduction, which adds to the encoder's error.
const PART: f32 = 1.0 / 16.0;

/// The uncompressed clip. For a compressed one, the keys of its curves, within 1/16 of its bound.
fn authored(name: &str, motion: &ModelClip, asset: &Asset, metres: f64) -> Result<RawClip, condyle::Error> {
    match &motion.clip {
        AnyClip::Raw(clip) => Ok(RawClip::clone(clip).with_name(name)),
        AnyClip::Compressed { clip, .. } => {
            let radius = motion.shell.unwrap_or_else(|| Shell::radius(metres));
            let mut options = asset.encode_options(clip, clip.budget() * PART, radius)?;
            options.track_budget *= PART;
            let source = AnyClip::compressed(name, clip.clone());
            Ok(curve_keys(&source, &asset.skeleton, &options)?.clip)
        }
    }
}

/// Warning about data that a document cannot store.
fn no_place(clip: &RawClip, motion: &AnyClip<'_>) -> Option<String> {
    let is_free = |track: &&Track| matches!(track.target, Target::Vector(_) | Target::FreeRotation(_));
    let tracks = clip.tracks().iter().filter(is_free).count();
    let events = motion.as_compressed().map_or(0, condyle::Clip::event_count);
    let what = match (tracks, events) {
        (0, 0) => return None,
        (_, 0) => "free tracks",
        (0, _) => "events",
        _ => "free tracks and events",
    };
    Some(format!("the clip {:?} has {what}, which glTF cannot store; they are left out", clip.name()))
}

/// Warns about data other than poses.
fn left_out(py: Python<'_>, clip: Saved<'_>) -> PyResult<()> {
    let extras = extras(&clip.motion.clip);
    if extras.is_empty() {
        return Ok(());
    }
    warn(
        py,
        &format!(
            "the clip {:?} has {} that a BVH cannot store; they are left out",
            clip.name,
            extras.join(" and ")
        ),
    )
}
