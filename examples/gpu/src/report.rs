//! Results as a table and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::bounds::With;
use crate::compare::{Compared, Differences, Worst};
use crate::gpu::Gpu;
use crate::scene::{Object, Scene, Skinner};

/// Printed results.
pub(crate) struct Report {
    /// Name of the adapter.
    adapter: String,
    software: bool,
    frames: u32,
    rows: Vec<Row>,
}

/// Results of an object.
struct Row {
    name: &'static str,
    skinner: Skinner,
    instances: usize,
    vertices: usize,
    /// Number of vertices with more influences than fit.
    capped: usize,
    compared: Compared,
}

/// Names of the influences that `skin` used, in the table and in JSON.
fn names(with: With) -> [&'static str; 2] {
    match with {
        With::Packed => ["packed", "packed"],
        With::Four => ["four, exact", "four_exact"],
        With::All => ["all, exact", "all_exact"],
    }
}

impl Report {
    pub(crate) fn new(gpu: &Gpu, frames: u32, scene: &Scene, compared: &[Compared]) -> Self {
        let row = |(object, compared): (&Object, &Compared)| {
            let influences = &scene.mesh_of(object).influences;
            let count = influences.vertex_count();
            Row {
                name: object.name,
                skinner: object.skinner,
                instances: object.instances(),
                vertices: count,
                capped: (0..count).filter(|&vertex| influences.row(vertex).len() > 4).count(),
                compared: *compared,
            }
        };
        let rows = scene.objects.iter().zip(compared).map(row).collect();
        Self { adapter: gpu.name.clone(), software: gpu.software, frames, rows }
    }

    /// Whether all vertices are within their bounds.
    pub(crate) fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.compared.holds())
    }

    pub(crate) fn text(&self) -> String {
        let heading = [
            ["", "skinned", "", "", "skin with", "positions", "", "share of", "normals", "", "share of"],
            [
                "object",
                "by",
                "instances",
                "vertices",
                "weights",
                "error, m",
                "bound",
                "bound",
                "error",
                "bound",
                "bound",
            ],
        ];
        let mut cells: Vec<[String; 11]> = heading.map(|row| row.map(String::from)).into();
        for row in &self.rows {
            for (with, Differences { position, normal }) in With::EACH.into_iter().zip(&row.compared.0) {
                let [instances, vertices] = [row.instances, row.vertices].map(|count| count.to_string());
                let by = skinner(row.skinner).to_uppercase();
                let [a, b, c] = worst(position);
                let [d, e, f] = worst(normal);
                let [with, _] = names(with);
                cells.push([row.name.into(), by, instances, vertices, with.into(), a, b, c, d, e, f]);
            }
        }
        let widths: [usize; 11] =
            std::array::from_fn(|column| cells.iter().map(|row| row[column].len()).max().unwrap_or(0));
        let mut text = format!(
            "adapter: {}{}, {} frames\n\n",
            self.adapter,
            if self.software { ", software" } else { "" },
            self.frames
        );
        for row in &cells {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
                // Text is aligned to the left, numbers to the right.
                let pad = " ".repeat(width - cell.len());
                let padded = if [0, 1, 4].contains(&column) { [cell, &pad[..]] } else { [&pad[..], cell] };
                write!(line, "{}{}  ", padded[0], padded[1]).ok();
            }
            writeln!(text, "{}", line.trim_end()).ok();
        }
        let capped = self.rows.iter().map(|row| row.capped).max().unwrap_or(0);
        if capped > 0 {
            writeln!(
                text,
                "\n{capped} vertices have more than four influences; the four heaviest are packed."
            )
            .ok();
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        let object = |row: &Row| {
            let against = With::EACH.into_iter().zip(&row.compared.0).map(|(with, differences)| {
                let Differences { position, normal } = differences;
                let [_, name] = names(with);
                (name.into(), json!({ "position": worst_json(position), "normal": worst_json(normal) }))
            });
            json!({
                "object": row.name,
                "skinned_by": skinner(row.skinner),
                "instances": row.instances,
                "vertices": row.vertices,
                "vertices_of_more_than_four_influences": row.capped,
                "from_skin_with": Value::Object(against.collect()),
            })
        };
        json!({
            "adapter": self.adapter,
            "software": self.software,
            "frames": self.frames,
            "within_bounds": self.holds(),
            "objects": self.rows.iter().map(object).collect::<Vec<_>>(),
        })
    }
}

fn skinner(skinner: Skinner) -> &'static str {
    match skinner {
        Skinner::Cpu => "cpu",
        Skinner::Gpu => "gpu",
    }
}

fn worst(worst: &Worst) -> [String; 3] {
    let number = |number: f64| if number == 0.0 { "0".into() } else { format!("{number:.1e}") };
    // Rounded up, so that a violated bound never looks like a met one.
    let part = format!("{} %", (worst.part * 100.0).ceil());
    [number(worst.difference), number(worst.bound), part]
}

/// NaN and infinity become `null`, because JSON has no such numbers.
fn worst_json(worst: &Worst) -> Value {
    json!({ "largest": worst.difference, "bound": worst.bound, "largest_part_of_a_bound": worst.part })
}
