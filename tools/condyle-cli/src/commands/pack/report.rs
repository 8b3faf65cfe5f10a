//! The printed figures of `condyle pack`.

use std::path::Path;

use serde_json::{Value, json};

use super::Args;
use super::form::Growth;
use super::mesh::{Kinds, Meshes};
use crate::model::written::Keys;
use crate::output::warn;
use crate::text::{counted, hertz, millimetres, printable, size, table};

/// Result for a file.
pub(super) struct Outcome {
    /// Maximum error of a vertex by its animations, in metres.
    pub(super) budget: f64,
    pub(super) rows: Vec<Row>,
    /// Names of the joints whose tracks were dropped.
    pub(super) dropped: Vec<String>,
    /// Whether keys may be compressed.
    pub(super) compressed: bool,
    /// Extensions that readers of the written file must support.
    pub(super) required: Vec<String>,
    /// Bytes of the files read and of the file written.
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) growth: Option<Growth>,
    pub(super) meshes: Option<Meshes>,
    /// Bytes before and after, by kind.
    pub(super) kinds: [Kinds; 2],
}

impl Outcome {
    pub(super) fn to_text(&self, args: &Args, to: &str) -> String {
        let headings = ["clip", "rate", "tracks", "keys", "before", "after", "worst, mm"];
        let mut lines = vec![headings.map(String::from).to_vec()];
        lines.extend(self.rows.iter().map(Row::to_cells));
        let mut out = table("<>>>>>>", lines);
        if !self.dropped.is_empty() {
            let off = self.rows.iter().fold(0.0_f64, |most, row| most.max(row.left_out));
            out += &format!(
                "\nDropped the tracks of {}, which no vertex follows: error up to {} mm\n",
                counted(self.dropped.len(), "joint", "joints"),
                millimetres(off)
            );
        }
        if self.compressed && !args.meshopt && !args.mesh {
            out += "\nthe file already requires compressed buffer views, so its keys are compressed too\n";
        }
        if let Some(meshes) = &self.meshes {
            out += &format!("\n{}", meshes.to_text());
        }
        out += &format!("\n{to}: {} to {}\n", size(self.before), size(self.after));
        if self.meshes.is_some() {
            out += &format!("{}\n", self.kinds[0].to_text(&self.kinds[1]));
        }
        if !self.required.is_empty() {
            let names: Vec<_> = self.required.iter().map(|name| printable(name)).collect();
            out += &format!("readers must support {}\n", names.join(" and "));
        }
        if let Some(growth) = &self.growth {
            out += &format!("{}\n", growth.to_text(args.meshopt || args.mesh || self.compressed));
        }
        out
    }

    /// Returns one object for each clip, then one for the file.
    pub(super) fn lines(&self, file: Value) -> Vec<Value> {
        let mut lines: Vec<Value> = self.rows.iter().map(|row| row.to_json(self.budget)).collect();
        lines.push(json!({
            "file": file,
            "clips": self.rows.len(),
            "source_bytes": self.before,
            "dropped": self.dropped,
            "meshopt": self.required.iter().any(|name| name.ends_with("_meshopt_compression")),
            "extensions_required": self.required,
            "larger": self.growth.as_ref().map(Growth::to_json),
            "bytes_before": self.kinds[0].to_json(),
            "bytes_after": self.kinds[1].to_json(),
            "mesh": self.meshes.as_ref().map(Meshes::to_json),
        }));
        lines
    }
}

/// Warns if f32 or 16 bits are too coarse for the error.
pub(super) fn warn_of_errors(path: &Path, rows: &[Row], asked: f64) {
    for row in rows.iter().filter(|row| row.error > asked * (1.0 + 1e-6)) {
        let (clip, found, asked) =
            (printable(row.keys.clip.name()), millimetres(row.error), millimetres(asked));
        warn(
            path,
            &format!("{clip}: the error is {found} mm, not {asked}: f32 and 16-bit rounding allow no less"),
        );
    }
}

/// A clip in the written file.
pub(super) struct Row {
    pub(super) keys: Keys,
    /// Frames per second at which errors were measured.
    pub(super) rate: f32,
    pub(super) before: usize,
    pub(super) after: usize,
    /// Maximum error of a vertex, in metres.
    pub(super) error: f64,
    /// Maximum displacement of the joints that lost their tracks, in metres.
    pub(super) left_out: f64,
}

impl Row {
    fn to_cells(&self) -> Vec<String> {
        vec![
            printable(self.keys.clip.name()),
            hertz(self.rate),
            self.keys.clip.tracks().len().to_string(),
            self.keys.count().to_string(),
            size(self.before),
            size(self.after),
            millimetres(self.error),
        ]
    }

    fn to_json(&self, budget: f64) -> Value {
        json!({
            "clip": self.keys.clip.name(),
            "rate_hz": self.rate,
            "tracks": self.keys.clip.tracks().len(),
            "keys": self.keys.count(),
            "raw_bytes": self.before,
            "bytes": self.after,
            "budget_m": budget,
            "error_max_m": self.error,
            "dropped_error_max_m": self.left_out,
            "at_s": self.keys.measured.seconds,
        })
    }
}
