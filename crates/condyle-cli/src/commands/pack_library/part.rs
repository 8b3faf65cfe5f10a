//! A file of the folder, encoded: a small container of its own, which a run that was ended leaves to the next one.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use condyle::container::{Container, ContainerWriter, EntryKind};
use condyle_gltf::Severity;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::commands::encode::{self, Row, Settings};
use crate::failure::Failure;
use crate::model::document::{self, too_large};
use crate::options::work::Limit;
use crate::output::write_file;
use crate::text::path_text;

/// A file to encode.
pub(super) struct Source {
    path: PathBuf,
    /// In the folder, with `/` between folders.
    pub(super) name: String,
    /// What it becomes.
    pub(super) part: PathBuf,
}

/// A file that is encoded.
pub(super) struct Part {
    pub(super) source: String,
    pub(super) path: PathBuf,
    pub(super) clips: Vec<ClipLine>,
    /// From an earlier run.
    pub(super) is_old: bool,
}

/// What is told of a clip.
pub(super) struct ClipLine {
    pub(super) name: String,
    pub(super) seconds: f64,
    pub(super) frames: u64,
    pub(super) rate: f64,
    pub(super) joints: u64,
    /// Metres.
    pub(super) error_max: f64,
    pub(super) raw_bytes: u64,
    pub(super) bytes: u64,
    /// Faults of its file that were repaired.
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

    /// The part that an earlier run has left, if it is of the same file with the same settings, or a new one.
    pub(super) fn part(&self, settings: &Settings, unit: f64, limit: Limit) -> Result<Part, Failure> {
        let stamp = self.stamp(settings, unit)?;
        if let Some(clips) = self.known(&stamp) {
            return Ok(self.whole(clips, true));
        }
        let bytes = self.encode(&stamp, settings, unit, limit)?;
        write_file(self.part.clone(), |out| out.write_all(&bytes))?;
        let clips = self.known(&stamp);
        let clips = clips.ok_or_else(|| Failure::Data(format!("{} has changed", path_text(&self.part))))?;
        Ok(self.whole(clips, false))
    }

    fn whole(&self, clips: Vec<ClipLine>, is_old: bool) -> Part {
        Part { source: self.name.clone(), path: self.part.clone(), clips, is_old }
    }

    /// All that decides what becomes of the file.
    fn stamp(&self, settings: &Settings, unit: f64) -> Result<Value, Failure> {
        let failed = |error: std::io::Error| Failure::Data(format!("cannot be read: {error}"));
        let file = std::fs::metadata(&self.path).map_err(failed)?;
        let modified = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(json!({
            "source": self.name,
            "bytes": file.len(),
            "modified_ns": modified.map(|time| time.as_nanos().to_string()),
            "settings": format!("{unit} {settings:?}"),
            "version": env!("CARGO_PKG_VERSION"),
        }))
    }

    /// The clips of the part that is there, if it is whole and has this stamp.
    fn known(&self, stamp: &Value) -> Option<Vec<ClipLine>> {
        let bytes = std::fs::read(&self.part).ok()?;
        let container = Container::from_bytes(&bytes).ok()?;
        let entry = container.entries().find(|entry| entry.kind == EntryKind::Metadata)?;
        let told: Value = serde_json::from_slice(container.data(entry.index).ok()?).ok()?;
        if told["stamp"] != *stamp {
            return None;
        }
        // Each has its checksum.
        let whole = container.entries().all(|entry| container.data(entry.index).is_ok());
        let clips = told["clips"].as_array().filter(|_| whole)?;
        clips.iter().map(ClipLine::of_json).collect()
    }

    fn encode(
        &self,
        stamp: &Value,
        settings: &Settings,
        unit: f64,
        limit: Limit,
    ) -> Result<Vec<u8>, Failure> {
        let asset = encode::open(&self.path)?;
        let name = path_text(&self.path);
        let repairs = asset.problems.iter().filter(|it| it.severity == Severity::Warning).count();
        let job = settings.job(&self.path, asset, unit)?;
        if job.asset.clips.is_empty() {
            return Err(Failure::Data("it holds no motion".into()));
        }
        let mut budget = limit.budget(&document::sources(&self.path, Some(&job.asset.document)));
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
            writer.add(EntryKind::Clip, &row.name, Some(model), row.encoded.bytes()).map_err(failed)?;
            clips.push(ClipLine::of(&row, repairs as u64).to_json());
        }
        let told = json!({ "stamp": stamp, "clips": clips }).to_string();
        writer.add(EntryKind::Metadata, "part", None, told.as_bytes()).map_err(failed)?;
        Ok(writer.finish())
    }
}

impl ClipLine {
    fn of(row: &Row<'_>, repairs: u64) -> Self {
        Self {
            name: row.name.clone(),
            seconds: row.seconds,
            frames: row.encoded.measured.frames.len() as u64,
            rate: row.encoded.rate.into(),
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
            joints: count("joints")?,
            error_max: float("error_max_m")?,
            raw_bytes: count("raw_bytes")?,
            bytes: count("bytes")?,
            repairs: count("repairs")?,
        })
    }
}
