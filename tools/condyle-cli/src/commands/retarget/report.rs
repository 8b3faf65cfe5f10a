//! Certificates as text and JSON, and their limits.

use std::collections::BTreeSet;
use std::path::PathBuf;

use condyle_retarget::{Certificate, Doubt, Reason};
use serde_json::{Value, json};

use crate::output::Written;
use crate::text::{counted, path_text, printable, size, table};

/// A clip with its certificate.
pub(super) struct ClipDone {
    pub(super) name: String,
    pub(super) seconds: f64,
    /// Times of the frames.
    pub(super) times: Vec<f32>,
    pub(super) certificate: Certificate,
    /// Number of tracks of the source that move no joint, such as morph weights.
    pub(super) tracks_left_out: usize,
}

impl ClipDone {
    /// Returns the times of the first and the last frame in doubt.
    fn times_of(&self, doubt: &Doubt) -> [f64; 2] {
        [doubt.first, doubt.last].map(|frame| self.times.get(frame).map_or(0.0, |&it| f64::from(it)))
    }
}

/// Bytes of an output file, with the certificates of its clips.
pub(super) struct Done {
    pub(super) bytes: Vec<u8>,
    pub(super) clips: Vec<ClipDone>,
    /// Joints in doubt, as sentences.
    pub(super) doubts: Vec<String>,
    /// Whether the metres per unit of the target are known.
    pub(super) has_unit: bool,
    pub(super) sources: BTreeSet<PathBuf>,
}

/// Limits of --fail-over.
const SLIDING_PERCENT: f64 = 0.1;
const OUT_OF_REACH_PERCENT: f64 = 0.5;
const GROUND_MM: f64 = 20.0;
const KNEES: [f64; 2] = [0.7, 1.5];
/// Minimum acceleration of the source's knees, in radians per second squared and frame, below which
/// their ratio is not limited.
const STILL_KNEES: f64 = 1.0;

/// Returns the JSON of the certificate of a clip.
pub(super) fn certificate(clip: &ClipDone) -> Value {
    let number = |value: f64| if value.fract() == 0.0 { json!(value as i64) } else { json!(value) };
    let figures = clip.certificate.table().into_iter().map(|(name, value)| (name.to_owned(), number(value)));
    let mut told: serde_json::Map<String, Value> = figures.collect();
    let doubt = |it: &Doubt| {
        json!({
            "frames": [it.first, it.last],
            "seconds": clip.times_of(it).map(rounded),
            "why": it.why.text(),
            "worst": rounded(it.worst),
        })
    };
    told.insert("doubts".into(), clip.certificate.doubts.iter().map(doubt).collect());
    told.into()
}

/// Rounds to four decimals, the digits that a certificate prints.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

pub(super) fn clips(done: &Done) -> Vec<Value> {
    let one = |clip: &ClipDone| {
        json!({
            "name": clip.name,
            "seconds": rounded(clip.seconds),
            "certificate": certificate(clip),
            "tracks_left_out": clip.tracks_left_out,
        })
    };
    done.clips.iter().map(one).collect()
}

/// Returns the JSON of one file.
pub(super) fn to_json(done: &Done) -> Value {
    json!({ "clips": clips(done), "doubts": done.doubts, "over": over(done) })
}

/// Describes the figures of a file that are over their limits.
pub(super) fn over(done: &Done) -> Vec<String> {
    let mut all = Vec::new();
    for clip in &done.clips {
        let it = &clip.certificate;
        let mut add = |what: String| all.push(format!("{}: {what}", printable(&clip.name)));
        let sliding = it.sliding_beyond_scale_percent();
        if sliding > SLIDING_PERCENT {
            add(format!("{sliding:.2} % of planted frames slide beyond scale"));
        }
        if it.out_of_reach_percent() > OUT_OF_REACH_PERCENT {
            add(format!("{:.2} % of standing frames are out of reach", it.out_of_reach_percent()));
        }
        if it.ground_mm > GROUND_MM {
            add(format!("{:.0} mm below the ground", it.ground_mm));
        }
        let moves = it.figures.knee[1] > STILL_KNEES * it.figures.frames as f64;
        if moves && !(KNEES[0]..=KNEES[1]).contains(&it.knee_acceleration()) {
            add(format!("the acceleration of the knees is {:.2} of the source's", it.knee_acceleration()));
        }
    }
    all
}

/// Returns the text of one file.
pub(super) fn to_text(done: &Done, file: &Written) -> String {
    let heading = |of: [&str; 12]| of.map(String::from).to_vec();
    let mut lines = vec![
        heading([
            "clip", "frames", "planted", "sliding", "slide", "height", "missed", "ground", "body", "limits",
            "knees", "doubt",
        ]),
        heading(["", "", "", "%", "mm", "mm", "mm", "mm", "mm", "deg", "ratio", "frames"]),
    ];
    for clip in &done.clips {
        let it = &clip.certificate;
        let doubtful: usize = it.doubts.iter().map(|doubt| doubt.last - doubt.first + 1).sum();
        lines.push(vec![
            printable(&clip.name),
            it.frames.to_string(),
            it.figures.planted.to_string(),
            format!("{:.2}", it.sliding_beyond_scale_percent()),
            format!("{:.1}", it.slide_mm),
            format!("{:.1}", it.height_mm),
            format!("{:.1}", it.reach_mm),
            format!("{:.1}", it.ground_mm),
            format!("{:.1}", it.body_mm),
            format!("{:.1}", it.limits_degrees),
            format!("{:.2}", it.knee_acceleration()),
            doubtful.to_string(),
        ]);
    }
    let mut out = table("<>>>>>>>>>>>", lines);
    for clip in &done.clips {
        for doubt in &clip.certificate.doubts {
            let [from, to] = clip.times_of(doubt);
            out += &format!(
                "in doubt: {}, frames {} to {} ({from:.2} to {to:.2} s): {}, {:.1} {}\n",
                printable(&clip.name),
                doubt.first,
                doubt.last,
                doubt.why.text(),
                doubt.worst,
                if doubt.why == Reason::Spin { "degrees" } else { "mm" }
            );
        }
    }
    for clip in done.clips.iter().filter(|clip| clip.tracks_left_out > 0) {
        let tracks = clip.tracks_left_out;
        out += &format!(
            "note: {}: {} without a joint, such as morph weights, {} left out\n",
            printable(&clip.name),
            counted(tracks, "track", "tracks"),
            if tracks == 1 { "is" } else { "are" }
        );
    }
    done.doubts.iter().for_each(|doubt| out += &format!("in doubt: {doubt}\n"));
    if !done.has_unit {
        out += "the unit of the character is unknown, so mm are thousandths of it; set it with --on-unit\n";
    }
    out + &format!(
        "\n{}: {}, {}\n",
        path_text(&file.path),
        counted(done.clips.len(), "clip", "clips"),
        size(file.bytes as usize)
    )
}
