//! An encoded file of the folder: a small separate container, which an interrupted run leaves for the next
//! one.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use condyle::container::{Container, ContainerWriter, EntryKind, checksum};
use condyle_body::BodyModel;
use condyle_gltf::Asset;
use condyle_io::job::{PartError, Parts, Source, named_stamp};
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

/// Settings common to all files.
pub(super) struct Encoding<'a> {
    /// Folder of the motions.
    pub(super) root: &'a Path,
    /// Folder of the encoded files.
    pub(super) parts: &'a Path,
    pub(super) settings: &'a Settings,
    pub(super) space: Space,
    /// Body model (SMPL family) for .npz motions, and its path.
    pub(super) body: Option<(&'a Path, &'a BodyModel)>,
    pub(super) limit: Limit,
}

/// An encoded file.
pub(super) struct Part {
    path: PathBuf,
    /// Checksum of all its bytes, which must not change before they are in the library.
    checksum: u64,
    pub(super) clips: Vec<ClipLine>,
    /// Height at rest in metres; 0 if unknown.
    pub(super) height: f64,
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

impl Parts for Encoding<'_> {
    type Part = Part;
    type Error = Failure;

    fn kept(&self, source: &Source) -> Option<Part> {
        let path = self.part(source);
        let bytes = std::fs::read(&path).ok()?;
        Part::known(path, &bytes, &self.stamp(source))
    }

    fn make(&self, source: &Source) -> Result<Part, PartError<Failure>> {
        let (path, stamp) = (self.part(source), self.stamp(source));
        let bytes = self.encode(source, &stamp).map_err(|why| {
            // Do not leak the absolute path of the folder.
            let file = path_text(&self.root.join(&source.name));
            PartError::Unusable(Failure::Data(why.to_string().replace(&file, &source.name)))
        })?;
        write_file(path.clone(), |out| out.write_all(&bytes)).map_err(PartError::Fatal)?;
        let changed = || Failure::Data(format!("{} has changed", path_text(&path)));
        Part::known(path.clone(), &bytes, &stamp).ok_or_else(|| PartError::Fatal(changed()))
    }
}

impl Encoding<'_> {
    /// Returns the path of the encoded file.
    fn part(&self, source: &Source) -> PathBuf {
        let mut part = self.parts.join(&source.inside).into_os_string();
        part.push(".condyle");
        part.into()
    }

    fn stamp(&self, source: &Source) -> Value {
        json!({
            "source": source.name,
            "settings": format!("{:?} {:?}", self.space, self.settings),
            "body": self.body.filter(|_| is_of_body(source)).map(|(path, _)| named_stamp(path)),
            "version": env!("CARGO_PKG_VERSION"),
        })
    }

    /// Opens the file, and returns it with its metres per unit.
    fn open(&self, source: &Source) -> Result<(Asset, f64), Failure> {
        match self.body {
            Some((_, model)) if is_of_body(source) => {
                let person = Some(Person::Of(model));
                let options = Options { person, z_up: self.space.is_z_up(), ..Options::default() };
                Ok((document::open_with(&source.path, &options)?, 1.0))
            }
            None if is_of_body(source) => {
                Err(Failure::Data("it may be the motion of a body; give its body model with --body".into()))
            }
            _ => {
                let asset = encode::open(&source.path, self.space)?;
                let unit = asset.unit().unwrap_or(1.0);
                Ok((asset, unit))
            }
        }
    }

    fn encode(&self, source: &Source, stamp: &Value) -> Result<Vec<u8>, Failure> {
        let (asset, unit) = self.open(source)?;
        let name = path_text(&source.path);
        let repairs = asset.problems.iter().filter(|it| it.severity == Severity::Warning).count();
        let job = self.settings.job(&source.path, asset, unit)?;
        if job.asset.clips.is_empty() {
            return Err(Failure::Data("it holds no motion".into()));
        }
        let files = document::sources(&source.path, Some(&job.asset.document));
        let mut budget = self.limit.budget(&files);
        for clip in &job.asset.clips {
            budget.afford(&name, clip.name(), &self.settings.work(&job, clip)?)?;
        }
        let mut writer = ContainerWriter::default();
        let failed = |error: condyle::Error| too_large(&name, &error);
        let model = writer.add_skeleton(&source.name, &job.asset.skeleton).map_err(failed)?;
        writer.set_unit(model, unit as f32).map_err(failed)?;
        let mut clips = Vec::new();
        for clip in &job.asset.clips {
            let row = encode::row(&job, clip, &ProgressBar::hidden())?;
            row.add_to(&mut writer, model).map_err(failed)?;
            clips.push(ClipLine::of(&row, repairs as u64).to_json());
        }
        let files: Value = files.iter().map(|file| named_stamp(file)).collect();
        let height = job.asset.rest_height().map_or(0.0, |units| unit * units);
        let height = if height.is_finite() { height } else { 0.0 };
        let told = json!({ "stamp": stamp, "files": files, "clips": clips, "height_m": height }).to_string();
        writer.add(EntryKind::Metadata, "part", None, told.as_bytes()).map_err(failed)?;
        Ok(writer.finish())
    }
}

fn is_of_body(source: &Source) -> bool {
    has_format(&source.path, Format::Body)
}

impl Part {
    /// Returns the part if it is complete, has this stamp, and was made from the existing files.
    fn known(path: PathBuf, bytes: &[u8], stamp: &Value) -> Option<Self> {
        let container = Container::from_bytes(bytes).ok()?;
        let entry = container.entries().find(|entry| entry.kind == EntryKind::Metadata)?;
        let told: Value = serde_json::from_slice(container.data(entry.index).ok()?).ok()?;
        let is_same = |file: &Value| Some(named_stamp(Path::new(file["path"].as_str()?)) == *file);
        if told["stamp"] != *stamp
            || !told["files"].as_array()?.iter().all(|file| is_same(file) == Some(true))
        {
            return None;
        }
        // Every entry has a checksum.
        let whole = container.entries().all(|entry| container.data(entry.index).is_ok());
        let clips = told["clips"].as_array().filter(|_| whole)?;
        let clips = clips.iter().map(ClipLine::of_json).collect::<Option<_>>()?;
        Some(Self { path, checksum: checksum(bytes), clips, height: told["height_m"].as_f64()? })
    }

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
