//! An encoded clip, and its figures.

use std::path::Path;

use condyle::container::{ContainerWriter, EntryKind};
use condyle::{Error, RawClip, Target};
use condyle_encode::{EncodeOptions, Encoded, JointError};
use condyle_gltf::Asset;
use serde_json::{Value, json};

use super::measure::Worst;
use crate::options::shell::Bounded;
use crate::text::{counted, hertz, millimetres, printable};

/// A model to encode, with its options.
pub(crate) struct Job<'a> {
    pub(crate) path: &'a Path,
    pub(crate) name: String,
    pub(crate) asset: Asset,
    /// Options that do not depend on the clip.
    pub(crate) options: EncodeOptions,
    pub(crate) bounded: Bounded,
    /// Metres per unit of the model.
    pub(crate) metres: f64,
}

impl Job<'_> {
    /// Returns the options for one of its clips.
    pub(crate) fn options(&self, clip: &RawClip) -> Result<EncodeOptions, Error> {
        let mut options = self.bounded.options(&self.asset, clip, self.options.budget, self.metres)?;
        let EncodeOptions { rate, between, best, .. } = self.options;
        (options.rate, options.between, options.best) = (rate, between, best);
        Ok(options)
    }
}

/// An encoded clip.
pub(crate) struct Row<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) name: String,
    pub(crate) seconds: f64,
    pub(crate) encoded: Encoded,
    /// Error of vertices whose morph weights the clip drives, in units of the model; 0 without morph weights.
    pub(crate) morphed: f32,
    pub(super) worst: Option<Worst>,
    /// Encoding time in seconds.
    pub(crate) took: f64,
}

impl Row<'_> {
    /// Converts a length from units of the model to metres.
    pub(crate) fn metres(&self, units: f32) -> f64 {
        f64::from(units) * self.job.metres
    }

    /// Adds the clip to a container, with its shell.
    pub(crate) fn add_to(&self, writer: &mut ContainerWriter, model: usize) -> Result<(), Error> {
        let clip = writer.add(EntryKind::Clip, &self.name, Some(model), self.encoded.bytes())?;
        self.encoded.shell.map_or(Ok(()), |radius| writer.set_shell(clip, radius))
    }

    /// Returns the maximum error of a vertex, in units of the model.
    pub(crate) fn units(&self) -> f32 {
        self.encoded.measured.error_max.max(self.morphed)
    }

    pub(crate) fn error_max(&self) -> f64 {
        self.metres(self.units())
    }

    /// Describes the keys that are not on a frame: their number and the largest offset. `None` if all keys
    /// are on frames.
    pub(crate) fn off_frames(&self) -> Option<String> {
        let off = &self.encoded.off_frames;
        let say = || {
            format!(
                "{} of {} are up to {:.2} frames off the frames at {}; another --rate may take fewer bytes",
                off.keys,
                counted(off.all, "key", "keys"),
                off.frames,
                hertz(self.encoded.rate)
            )
        };
        (off.keys > 0).then(say)
    }

    /// Describes how far the clip moves from the origin, if model matrices in f32 add a quarter of the budget
    /// to its error there.
    pub(crate) fn far_away(&self, budget: f64) -> Option<String> {
        let distance = self.metres(self.encoded.measured.farthest);
        // Two roundings of f32.
        let added = distance * 2.0 * f64::from(f32::EPSILON);
        let say = || {
            format!(
                "joints are up to {distance:.0} m from the origin, where f32 positions add about {} mm to the \
                 error of posed vertices; keep the motion near the origin and move the character instead",
                millimetres(added)
            )
        };
        (added > budget / 4.0).then(say)
    }

    /// Lists the number of tracks of each encoding.
    pub(crate) fn encoding(&self) -> String {
        let named = self.encoded.encodings.iter().filter(|(_, count)| *count > 0);
        let named = named.map(|(kind, count)| format!("{} {count}", format!("{kind:?}").to_lowercase()));
        match named.collect::<Vec<_>>() {
            none if none.is_empty() => "at rest".into(),
            some => some.join(", "),
        }
    }

    /// Returns the joint with the largest error.
    pub(crate) fn joint(&self) -> &str {
        let names = self.job.asset.skeleton.names();
        names.get(self.encoded.measured.joint).map_or("", String::as_str)
    }

    /// Describes where and when the error is largest.
    pub(crate) fn place(&self) -> String {
        let seconds = self.encoded.measured.seconds;
        match &self.worst {
            _ if self.units() == 0.0 => "nowhere".into(),
            _ if self.morphed > self.encoded.measured.error_max => "morph targets".into(),
            Some(worst) => format!(
                "{} vertex {}, {} mm at {seconds:.3} s",
                printable(&worst.mesh),
                worst.vertex,
                millimetres(worst.distance * self.job.metres)
            ),
            None => format!("joint {} at {seconds:.3} s", printable(self.joint())),
        }
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.encoded.raw_bytes as f64 / self.encoded.bytes().len() as f64
    }

    /// Returns the bytes per second of motion; all bytes of a clip without duration.
    pub(crate) fn bytes_per_second(&self) -> f64 {
        let bytes = self.encoded.bytes().len() as f64;
        if self.seconds > 0.0 { bytes / self.seconds } else { bytes }
    }

    /// Returns the names of the fallback tracks, except step tracks.
    pub(crate) fn fallback_tracks(&self) -> Vec<String> {
        let joint = |joint: &u16| self.job.asset.skeleton.names()[usize::from(*joint)].clone();
        let name = |target: &Target| match target {
            Target::Rotation(at) => format!("rotation of {}", joint(at)),
            Target::Translation(at) => format!("translation of {}", joint(at)),
            Target::Scale(at) => format!("scale of {}", joint(at)),
            Target::Weights(node) => format!("weights of node {node}"),
            // A document has no other targets.
            other => format!("{other:?}"),
        };
        self.encoded.fallback.iter().map(name).collect()
    }

    pub(crate) fn to_json(&self, budget: f64) -> Value {
        let measured = &self.encoded.measured;
        let vertex = self.worst.as_ref().map(|worst| {
            json!({ "mesh": worst.mesh, "vertex": worst.vertex, "error_m": worst.distance * self.job.metres })
        });
        let of_joint = |(name, joint): (&String, &JointError)| {
            let error = self.metres(joint.error);
            json!({ "joint": name, "error_max_m": error, "at_s": joint.seconds })
        };
        let names = self.job.asset.skeleton.names();
        json!({
            "model": self.job.path.to_string_lossy(),
            "clip": self.name,
            "joints": self.job.asset.skeleton.joint_count(),
            "samples": measured.frames.len(),
            "raw_bytes": self.encoded.raw_bytes,
            "bytes": self.encoded.bytes().len(),
            "budget_m": budget,
            "error_max_m": self.error_max(),
            "error_p99_m": self.metres(measured.error_p99),
            "error_morphed_max_m": self.metres(self.morphed),
            "error_between_max_m": self.metres(measured.error_between_max),
            "encoding": self.encoding(),
            "encode_s": self.took,
            "rate_hz": self.encoded.rate,
            "keys": self.encoded.off_frames.all,
            "keys_off_frames": self.encoded.off_frames.keys,
            "off_frames_max": self.encoded.off_frames.frames,
            "farthest_m": self.metres(measured.farthest),
            "joint": self.joint(),
            "at_s": measured.seconds,
            "vertex": vertex,
            "fallback_tracks": self.fallback_tracks(),
            "errors": names.iter().zip(&measured.joints).map(of_joint).collect::<Vec<_>>(),
        })
    }
}

/// Sums over all clips of a file.
pub(crate) struct Totals {
    pub(crate) raw_bytes: usize,
    pub(crate) bytes: usize,
    /// Maximum error, in metres.
    pub(crate) error_max: f64,
}

impl Totals {
    pub(crate) fn of(rows: &[Row<'_>]) -> Self {
        Self {
            raw_bytes: rows.iter().map(|row| row.encoded.raw_bytes).sum(),
            bytes: rows.iter().map(|row| row.encoded.bytes().len()).sum(),
            error_max: rows.iter().map(Row::error_max).fold(0.0, f64::max),
        }
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.raw_bytes as f64 / self.bytes.max(1) as f64
    }
}
