//! Output of `condyle compare`, as text and as JSON.

use condyle::Dispatch;
use condyle_io::compare::{By, Clip, Difference, How, NoMeshes, Pairing, Part, Place, Worst};
use serde_json::{Value, json};

use super::Args;
use crate::text::{counted, grouped, millimetres, printable, table};

/// Metres per unit of the files, and their source.
pub(super) struct Unit {
    pub(super) metres: f64,
    pub(super) from: &'static str,
}

/// Radius of the balls around joints, and its source: the option `shell`, file `a` or `b`, or the `default`.
pub(super) struct Radius {
    pub(super) metres: f64,
    pub(super) from: &'static str,
}

/// Maximum number of rows in the table of rest poses.
const MOST_ROWS: usize = 12;

/// Two files and their pairing.
pub(super) struct Report<'a> {
    pub(super) pairing: Pairing<'a>,
    pub(super) unit: Unit,
    pub(super) radius: Radius,
}

impl Report<'_> {
    fn millimetres(&self, units: f64) -> String {
        millimetres(self.unit.metres * units)
    }

    /// Formats the rest poses, and a line for each clip of the first file.
    pub(super) fn to_text(&self, rows: &[(usize, Difference)]) -> String {
        let [a, b] = self.pairing.subjects();
        let mut out = format!("{} and {}, millimetres", a.name(), b.name());
        let said =
            |file: &str| format!("; a unit is {} mm, as stated by {file}", millimetres(self.unit.metres));
        match self.unit.from {
            "a" => out += &said(a.name()),
            "b" => out += &said(b.name()),
            _ => {}
        }
        out += "\n";
        out += &self.rest_to_text();
        if rows.is_empty() {
            return out + "neither file has clips: only the rest poses were compared\n";
        }
        let least = if self.is_complete() { "" } else { "at least " };
        let heading = ["", "clip", "moments", "worst", "99 %", "mean of max", "where"];
        let mut lines = vec![heading.map(String::from).to_vec()];
        for (clip, difference) in rows {
            lines.push(vec![
                clip.to_string(),
                printable(a.clips()[*clip].name()),
                grouped(difference.over_time.len()),
                format!("{least}{}", self.millimetres(difference.worst.distance)),
                self.millimetres(difference.percentile_99),
                self.millimetres(difference.mean_of_max),
                format!("{} at {:.3} s", self.place(&difference.worst), difference.seconds),
            ]);
        }
        out + &table("><>>>><", lines)
    }

    /// Formats the pairing, and the distances at rest.
    fn rest_to_text(&self) -> String {
        let pairing = &self.pairing;
        let ([a, b], how, counts, unpaired) =
            (pairing.subjects(), pairing.how(), pairing.counts(), pairing.unpaired());
        let worst = pairing.worst_at_rest();
        let (one, many) = match how {
            How::Joints(_) => ("joint", "joints"),
            How::Order | How::Place => ("vertex", "vertices"),
        };
        let by = match how {
            How::Order | How::Joints(By::Order) => "their order",
            How::Place => "their positions at rest",
            How::Joints(By::Name) => "their names",
        };
        let mut out = String::new();
        if let Some(why) = pairing.why() {
            let from = match self.radius.from {
                "a" => format!("the shell of {}", a.name()),
                "b" => format!("the shell of {}", b.name()),
                "shell" => "by --shell".into(),
                _ => "by default".into(),
            };
            out += &format!(
                "  joints instead of vertices, because {}: all points within {} mm of each, {from}\n",
                why_text(why),
                millimetres(self.radius.metres)
            );
        }
        out += &format!("  {} paired by {by}", counted(pairing.paired(), one, many));
        let alone = |side: usize, file: &str| {
            format!("{} of {} in {file}", grouped(unpaired[side]), grouped(counts[side]))
        };
        if unpaired != [0; 2] {
            out += &format!("; without a counterpart: {}, {}", alone(0, a.name()), alone(1, b.name()));
        }
        for (file, names) in [a, b].into_iter().zip(pairing.unknown_joints()) {
            out += &unknown(file.name(), names);
        }
        out += &format!("\n  at rest {} mm apart at most", self.millimetres(worst.distance));
        if worst.distance > 0.0 {
            out += &format!(", {}", self.place(&worst));
        }
        out += "\n";
        out += &self.meshes_to_text();
        out + "\n"
    }

    /// Whether all joints of the first file have counterparts, or all vertices were compared.
    fn is_complete(&self) -> bool {
        self.pairing.unknown_joints()[0].is_empty()
    }

    /// Formats a line for each mesh, if there are several and they differ.
    fn meshes_to_text(&self) -> String {
        let mut parts: Vec<Part<'_>> = self.pairing.parts().collect();
        let count = parts.len();
        if count < 2 || parts.iter().all(|part| (part.unpaired, part.distance) == (0, 0.0)) {
            return String::new();
        }
        parts.sort_by(|p, q| {
            let key = |part: &Part<'_>| (part.unpaired > 0, part.distance);
            key(q).partial_cmp(&key(p)).unwrap_or(std::cmp::Ordering::Equal)
        });
        parts.truncate(MOST_ROWS);
        let row = |part: &Part<'_>| {
            let paired = part.vertices - part.unpaired;
            vec![
                printable(part.mesh),
                format!("primitive {}", part.primitive),
                format!("{} of {} paired", grouped(paired), counted(part.vertices, "vertex", "vertices")),
                format!("{} mm apart at rest", self.millimetres(part.distance)),
            ]
        };
        let mut out = table("<<>>", parts.iter().map(row));
        if let more @ 1.. = count - parts.len() {
            out += &format!(
                "  and {} that {} closer\n",
                counted(more, "mesh", "meshes"),
                if more == 1 { "is" } else { "are" }
            );
        }
        out
    }

    /// Formats the name of a vertex or a joint.
    fn place(&self, of: &Worst) -> String {
        match self.pairing.place(of) {
            Place::Joint { name } => printable(name),
            Place::Vertex { mesh, primitive, vertex } => {
                let several = self.pairing.parts().any(|part| part.primitive > 0);
                let primitive = if several { format!(" primitive {primitive}") } else { String::new() };
                format!("{}{primitive} vertex {vertex}", printable(mesh))
            }
        }
    }

    /// Formats the figures of a pair of clips.
    pub(super) fn to_json(
        &self,
        args: &Args,
        dispatch: Dispatch,
        clips: Option<(usize, usize)>,
        found: &Difference,
    ) -> Value {
        let (pairing, worst, rest) = (&self.pairing, &found.worst, &self.pairing.worst_at_rest());
        let [this, that] = pairing.subjects();
        let pair = clips.map(|(a, b)| [(a, &this.clips()[a]), (b, &that.clips()[b])]);
        let millimetres = |units: f64| 1000.0 * self.unit.metres * units;
        let place = |of: &Worst| match pairing.place(of) {
            Place::Joint { name } => json!({ "joint": name }),
            Place::Vertex { mesh, primitive, vertex } => {
                json!({ "mesh": mesh, "primitive": primitive, "vertex": vertex })
            }
        };
        let mut worst_json = place(worst);
        worst_json["seconds"] = found.seconds.into();
        worst_json["millimetres"] = millimetres(worst.distance).into();
        let mut rest_json = place(rest);
        rest_json["millimetres"] = millimetres(rest.distance).into();
        let meshes = pairing.parts().map(|part| {
            json!({
                "mesh": part.mesh,
                "primitive": part.primitive,
                "vertices": part.vertices,
                "unpaired": part.unpaired,
                "worst_millimetres": millimetres(part.distance),
            })
        });
        let clip = |(index, it): (usize, &Clip<'_>)| json!({ "index": index, "name": it.name(), "start_seconds": it.start(), "end_seconds": it.end() });
        let mut report = json!({
            "files": [args.a.to_string_lossy(), args.b.to_string_lossy()],
            "clip": pair.map(|[(_, this), _]| this.name()),
            "clips": pair.map(|pair| pair.map(clip)),
            "moments": found.over_time.len(),
            "scale": self.unit.metres,
            "scale_from": self.unit.from,
            "paired": pairing.how().name(),
            "pairs": pairing.paired(),
            "unpaired": pairing.unpaired(),
            "unknown": pairing.unknown_joints(),
            "rest": { "worst": rest_json, "meshes": meshes.collect::<Vec<Value>>() },
            "worst": worst_json,
            "percentile_99_millimetres": millimetres(found.percentile_99),
            "mean_of_max_millimetres": millimetres(found.mean_of_max),
            "isa": dispatch.isa().name(),
            "numeric": dispatch.numeric().name(),
        });
        if matches!(pairing.how(), How::Joints(_)) {
            report["shell_millimetres"] = (1000.0 * self.radius.metres).into();
            report["shell_from"] = self.radius.from.into();
        }
        report
    }
}

/// Lists the joints of a file that have no counterpart.
fn unknown(file: &str, names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let first: Vec<String> = names.iter().take(MOST_ROWS).map(|name| printable(name)).collect();
    let more = match names.len() - first.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("\n  unknown: {}{more} of {file}", first.join(", "))
}

/// Explains why vertices were not paired.
pub(super) fn why_text(why: &NoMeshes) -> String {
    match why {
        NoMeshes::Few { paired, vertices, models: [a, b] } => format!(
            "at rest, {} of {} in {a} have a counterpart in {b}",
            grouped(*paired),
            counted(*vertices, "vertex", "vertices"),
        ),
        other => other.to_string(),
    }
}
