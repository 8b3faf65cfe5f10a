//! What is in a container, entry by entry.

use std::path::Path;

use condyle::Clip;
use condyle::container::Container;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::model::container;
use crate::model::entries::{Content, Described, Skeletons};
use crate::output::{print, print_json};
use crate::text::{counted, hertz, path_text, printable, size, table};

/// Bytes of one joint at one frame without compression: rotation, translation and scale.
const RAW: usize = 40;

pub(super) fn run(path: &Path, json: bool) -> Result<(), Failure> {
    let bytes = container::read(path)?;
    let unfit = |e: condyle::Error| container::unfit(path, &e);
    let container = Container::from_bytes(&bytes).map_err(unfit)?;
    let mut skeletons = Skeletons::default();
    let lines =
        container.entries().map(|entry| Described::new(&container, entry, &mut skeletons).map_err(unfit));
    let lines = lines.collect::<Result<Vec<_>, _>>()?;
    match json {
        true => print_json(&format!("{:#}", to_json(path, &container, &lines))),
        false => print(&to_text(path, &container, &lines)),
    }
}

/// Bytes of all frames without compression.
fn raw_bytes(clip: &Clip<'_>) -> usize {
    (clip.frame_count() + 1).saturating_mul(clip.joint_count()).saturating_mul(RAW)
}

fn to_text(path: &Path, container: &Container<'_>, lines: &[Described<'_>]) -> String {
    let (major, minor) = container.version();
    let bytes = container.as_bytes().len();
    let count = counted(lines.len(), "entry", "entries");
    let mut out = format!("{}  {}, version {major}.{minor}, {count}\n\n", path_text(path), size(bytes));
    let cells = |line: &Described<'_>| {
        let mut cells = vec![line.kind(), printable(line.entry.name), size(line.entry.length as usize)];
        match &line.content {
            Content::Skeleton { joints } => {
                cells.push(counted(*joints, "joint", "joints"));
                cells.extend(container.unit(line.entry.index).map(|metres| format!("1 unit = {metres} m")));
            }
            Content::Mesh { vertices, triangles } => {
                cells.push(counted(*vertices, "vertex", "vertices"));
                cells.push(counted(*triangles, "triangle", "triangles"));
            }
            Content::Clip(clip) => cells.extend([
                format!("{:.3} s", clip.duration()),
                counted(clip.frame_count() + 1, "frame", "frames"),
                hertz(clip.rate()),
                format!("error up to {}", significant(clip.budget())),
                format!("{:.1} to 1", raw_bytes(clip) as f64 / clip.as_bytes().len() as f64),
            ]),
            Content::Other => {}
        }
        cells
    };
    out += &table("<<>>>>>>", lines.iter().map(cells));
    if lines.iter().any(|line| matches!(line.content, Content::Clip(_))) {
        out += "\nErrors are in the units of their model.\n";
    }
    out
}

/// Three significant digits, without trailing zeros.
fn significant(number: f32) -> String {
    let magnitude = number.abs().max(f32::MIN_POSITIVE).log10().floor() as i32;
    let text = format!("{number:.*}", (2 - magnitude).clamp(0, 40) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

fn to_json(path: &Path, container: &Container<'_>, lines: &[Described<'_>]) -> Value {
    let (major, minor) = container.version();
    let line = |line: &Described<'_>| {
        let mut value = json!({
            "index": line.entry.index,
            "kind": line.kind(),
            "name": line.entry.name,
            "model": line.entry.model,
            "bytes": line.entry.length,
        });
        match &line.content {
            Content::Skeleton { joints } => {
                value["joints"] = (*joints).into();
                value["metres_per_unit"] = container.unit(line.entry.index).into();
            }
            Content::Mesh { vertices, triangles } => {
                value["vertices"] = (*vertices).into();
                value["triangles"] = (*triangles).into();
            }
            Content::Clip(clip) => {
                value["start_seconds"] = clip.start().into();
                value["end_seconds"] = clip.end().into();
                value["frames"] = (clip.frame_count() + 1).into();
                value["rate"] = clip.rate().into();
                value["budget"] = clip.budget().into();
                value["raw_bytes"] = raw_bytes(clip).into();
                value["ratio"] = (raw_bytes(clip) as f64 / clip.as_bytes().len() as f64).into();
            }
            Content::Other => {}
        }
        value
    };
    json!({
        "file": path.to_string_lossy(),
        "usable": true,
        "bytes": container.as_bytes().len(),
        "version": [major, minor],
        "entries": lines.iter().map(line).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_have_three_digits() {
        let shown = [5e-4, 0.022, 123.4, 0.0, 1.0, 2.778e-5].map(significant);
        assert_eq!(shown, ["0.0005", "0.022", "123", "0", "1", "0.0000278"]);
    }
}
