//! An encoded file of the folder: a small separate container, which an interrupted run leaves for the next
//! one.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use condyle::container::{Container, ContainerWriter, EntryKind, checksum};
use condyle_body::BodyModel;
use condyle_io::{Format, Options, PartData, Person, Severity};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::commands::encode::{self, Row, Settings};
use crate::failure::{Failure, too_large};
use crate::model::container::{has_format, unfit};
use crate::model::document;
use crate::options::space::Space;
use crate::options::work::Limit;
use crate::output::write_file;
use crate::text::path_text;

/// A file to encode.
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// Path in the folder, with `/` as the separator.
    pub(super) name: String,
    /// Path of the encoded file.
    pub(super) part: PathBuf,
}

/// Settings common to all files.
pub(super) struct How<'a> {
    pub(super) settings: &'a Settings,
    pub(super) space: Space,
    /// Body model (SMPL family) for .npz motions, and its path.
    pub(super) body: Option<(&'a Path, &'a BodyModel)>,
    pub(super) limit: Limit,
}

/// An encoded file.
pub(super) struct Part {
    pub(super) source: String,
    path: PathBuf,
    /// Checksum of all its bytes, which must not change before they are in the library.
    checksum: u64,
    pub(super) clips: Vec<ClipLine>,
    /// Height at rest in metres; 0 if unknown.
    pub(super) height: f64,
    /// Encoded by an earlier run.
    pub(super) is_old: bool,
}

/// Figures of a clip.
pub(super) struct ClipLine {
    pub(super) name: String,
    pub(super) seconds: f64,
    pub(super) frames: u64,
    pub(super) rate: f64,
    /// Description of the keys between the frames, if any.
    pub(super) off_frames: Option<String>,
    pub(super) joints: u64,
    /// Maximum error, in metres.
    pub(super) error_max: f64,
    pub(super) raw_bytes: u64,
    pub(super) bytes: u64,
    /// Number of problems of its file that were repaired.
    pub(super) repairs: u64,
}

impl Source {
    pub(super) fn new(folder: &Path, path: &Path, parts: &Path) -> Self {
        let inside = path.strip_prefix(folder).unwrap_or(path);
        let names: Vec<_> = inside.iter().map(|name| name.to_string_lossy()).collect();
        let mut part = parts.join(inside).into_os_string();
        part.push(".condyle");
        Self { path: path.to_path_buf(), name: names.join("/"), part: part.into() }
    }

    /// Returns the part of an earlier run if it has the same files and settings, else a new one.
    pub(super) fn part(&self, how: &How<'_>) -> Result<Part, Why> {
        let stamp = json!({
            "source": self.name,
            "settings": format!("{:?} {:?}", how.space, how.settings),
            "body": how.body.filter(|_| self.is_of_body()).map(|(path, _)| file_stamp(path)),
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let Some(part) = std::fs::read(&self.part).ok().and_then(|bytes| self.known(&bytes, &stamp, true))
        {
            return Ok(part);
        }
        let bytes = self.encode(&stamp, how).map_err(Why::Unusable)?;
        write_file(self.part.clone(), |out| out.write_all(&bytes)).map_err(Why::Unwritable)?;
        let part = self.known(&bytes, &stamp, false);
        part.ok_or_else(|| Why::Unwritable(Failure::Data(format!("{} has changed", path_text(&self.part)))))
    }

    /// Returns the part if it is complete, has this stamp, and was made from the existing files.
    fn known(&self, bytes: &[u8], stamp: &Value, is_old: bool) -> Option<Part> {
        let container = Container::from_bytes(bytes).ok()?;
        let entry = container.entries().find(|entry| entry.kind == EntryKind::Metadata)?;
        let told: Value = serde_json::from_slice(container.data(entry.index).ok()?).ok()?;
        let is_same = |file: &Value| Some(file_stamp(Path::new(file["path"].as_str()?)) == *file);
        if told["stamp"] != *stamp
            || !told["files"].as_array()?.iter().all(|file| is_same(file) == Some(true))
        {
            return None;
        }
        // Every entry has a checksum.
        let whole = container.entries().all(|entry| container.data(entry.index).is_ok());
        let clips = told["clips"].as_array().filter(|_| whole)?;
        let clips = clips.iter().map(ClipLine::of_json).collect::<Option<_>>()?;
        let checksum = checksum(bytes);
        let height = told["height_m"].as_f64()?;
        Some(Part { source: self.name.clone(), path: self.part.clone(), checksum, clips, height, is_old })
    }

    fn is_of_body(&self) -> bool {
        has_format(&self.path, Format::Body)
    }

    fn encode(&self, stamp: &Value, how: &How<'_>) -> Result<Vec<u8>, Failure> {
        let How { settings, .. } = *how;
        let (asset, unit) = match how.body {
            Some((_, model)) if self.is_of_body() => {
                let person = Some(Person::Of(model));
                let options = Options { person, z_up: how.space.is_z_up(), ..Options::default() };
                (document::open_with(&self.path, &options)?, 1.0)
            }
            None if self.is_of_body() => {
                return Err(Failure::Data(
                    "it may be the motion of a body; give its body model with --body".into(),
                ));
            }
            _ => {
                let asset = encode::open(&self.path, how.space)?;
                let unit = asset.unit().unwrap_or(1.0);
                (asset, unit)
            }
        };
        let name = path_text(&self.path);
        let repairs = asset.problems.iter().filter(|it| it.severity == Severity::Warning).count();
        let job = settings.job(&self.path, asset, unit)?;
        if job.asset.clips.is_empty() {
            return Err(Failure::Data("it holds no motion".into()));
        }
        let files = document::sources(&self.path, Some(&job.asset.document));
        let mut budget = how.limit.budget(&files);
        for clip in &job.asset.clips {
            budget.afford(&name, clip.name(), &settings.work(&job, clip)?)?;
        }
        let mut writer = ContainerWriter::default();
        let failed = |error: condyle::Error| too_large(&name, &error);
        let model = writer.add_skeleton(&self.name, &job.asset.skeleton).map_err(failed)?;
        writer.set_unit(model, unit as f32).map_err(failed)?;
        let mut clips = Vec::new();
        for clip in &job.asset.clips {
            let row = encode::row(&job, clip, &ProgressBar::hidden())?;
            row.add_to(&mut writer, model).map_err(failed)?;
            clips.push(ClipLine::of(&row, repairs as u64).to_json());
        }
        let files: Value = files.iter().map(|file| file_stamp(file)).collect();
        let height = job.asset.rest_height().map_or(0.0, |units| unit * units);
        let height = if height.is_finite() { height } else { 0.0 };
        let told = json!({ "stamp": stamp, "files": files, "clips": clips, "height_m": height }).to_string();
        writer.add(EntryKind::Metadata, "part", None, told.as_bytes()).map_err(failed)?;
        Ok(writer.finish())
    }
}

/// Reason why a file has no part.
pub(super) enum Why {
    /// The file cannot be used, and the library is made without it.
    Unusable(Failure),
    /// The part cannot be written.
    Unwritable(Failure),
}

impl Part {
    /// Returns the file of the part; its checksum must match the described clips.
    pub(super) fn data(&self) -> condyle_io::Part<'_> {
        condyle_io::Part { data: PartData::File(&self.path), unit: None, checksum: Some(self.checksum) }
    }

    pub(super) fn unfit(&self, error: &dyn Display) -> Failure {
        unfit(&self.path, error)
    }

    pub(super) fn changed(&self) -> Failure {
        let path = path_text(&self.path);
        Failure::Data(format!("{path} has changed since; give each run a separate --parts folder"))
    }
}

/// Returns figures that change when a file changes.
fn file_stamp(path: &Path) -> Value {
    let file = std::fs::metadata(path).ok();
    let modified = file.as_ref().and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    json!({
        "path": path.to_string_lossy(),
        "bytes": file.map(|file| file.len()),
        "modified_ns": modified.map(|time| time.as_nanos().to_string()),
    })
}

impl ClipLine {
    fn of(row: &Row<'_>, repairs: u64) -> Self {
        Self {
            name: row.name.clone(),
            seconds: row.seconds,
            frames: row.encoded.measured.frames.len() as u64,
            rate: row.encoded.rate.into(),
            off_frames: row.off_frames(),
            joints: row.job.asset.skeleton.joint_count() as u64,
            error_max: row.error_max(),
            raw_bytes: row.encoded.raw_bytes as u64,
            bytes: row.encoded.bytes().len() as u64,
            repairs,
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "seconds": self.seconds,
            "frames": self.frames,
            "rate_hz": self.rate,
            "off_frames": self.off_frames.as_deref().unwrap_or_default(),
            "joints": self.joints,
            "error_max_m": self.error_max,
            "raw_bytes": self.raw_bytes,
            "bytes": self.bytes,
            "repairs": self.repairs,
        })
    }

    fn of_json(told: &Value) -> Option<Self> {
        let (float, count) = (|name: &str| told[name].as_f64(), |name: &str| told[name].as_u64());
        Some(Self {
            name: told["name"].as_str()?.into(),
            seconds: float("seconds")?,
            frames: count("frames")?,
            rate: float("rate_hz")?,
            off_frames: Some(told["off_frames"].as_str()?).filter(|what| !what.is_empty()).map(Into::into),
            joints: count("joints")?,
            error_max: float("error_max_m")?,
            raw_bytes: count("raw_bytes")?,
            bytes: count("bytes")?,
            repairs: count("repairs")?,
        })
    }
}
