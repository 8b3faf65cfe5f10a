//! Contents of a container, entry by entry.

use std::path::Path;

use condyle::Clip;
use condyle::container::Container;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::model::container;
use crate::model::entries::{Content, Described, Skeletons};
use crate::options::quantity::decimal;
use crate::output::{print, print_json};
use crate::text::{counted, hertz, millimetres, path_text, printable, size, table};

/// Uncompressed bytes of one joint at one frame: rotation, translation and scale.
const RAW: usize = 40;

/// Prints the contents. `unit` replaces the unit that the file states.
pub(super) fn run(path: &Path, unit: Option<f64>, json: bool) -> Result<(), Failure> {
    let bytes = container::read(path)?;
    let unfit = |e: condyle::Error| container::unfit(path, &e);
    let container = Container::from_bytes(&bytes).map_err(unfit)?;
    let mut skeletons = Skeletons::default();
    let lines =
        container.entries().map(|entry| Described::new(&container, entry, &mut skeletons).map_err(unfit));
    let lines = lines.collect::<Result<Vec<_>, _>>()?;
    match json {
        true => print_json(&format!("{:#}", to_json(path, &container, &lines, unit))),
        false => print(&to_text(path, &container, &lines, unit)),
    }
}

/// Returns the uncompressed bytes of all frames.
fn raw_bytes(clip: &Clip<'_>) -> usize {
    (clip.frame_count() + 1).saturating_mul(clip.joint_count()).saturating_mul(RAW)
}

fn to_text(path: &Path, container: &Container<'_>, lines: &[Described<'_>], unit: Option<f64>) -> String {
    let metres = |line: &Described<'_>| unit.or_else(|| metres(container, line));
    let (major, minor) = container.version();
    let bytes = container.as_bytes().len();
    let count = counted(lines.len(), "entry", "entries");
    let mut out = format!("{}  {}, version {major}.{minor}, {count}\n\n", path_text(path), size(bytes));
    let cells = |line: &Described<'_>| {
        let mut cells = vec![line.kind(), printable(line.entry.name), size(line.entry.length as usize)];
        match &line.content {
            Content::Skeleton { joints } => {
                cells.push(counted(*joints, "joint", "joints"));
                let unit = unit.map(|unit| unit as f32).or_else(|| container.unit(line.entry.index));
                cells.extend(unit.map(|metres| format!("1 unit = {metres} m")));
            }
            Content::Mesh { vertices, triangles } => {
                cells.push(counted(*vertices, "vertex", "vertices"));
                cells.push(counted(*triangles, "triangle", "triangles"));
            }
            Content::Clip(clip) => {
                let length = |units| millimetres(f64::from(units) * metres(line).unwrap_or(1.0));
                cells.extend([
                    format!("{:.3} s", clip.duration()),
                    counted(clip.frame_count() + 1, "frame", "frames"),
                    hertz(clip.rate()),
                    format!("error up to {} mm", length(clip.budget())),
                    format!("{:.1} to 1", raw_bytes(clip) as f64 / clip.as_bytes().len() as f64),
                ]);
                let shell = container.shell(line.entry.index);
                cells.extend(shell.map(|radius| format!("shell {} mm", length(radius))));
            }
            Content::Other => {}
        }
        cells
    };
    out += &table("<<>>>>>>>", lines.iter().map(cells));
    let is_guess = |line: &Described<'_>| matches!(line.content, Content::Clip(_)) && metres(line).is_none();
    if lines.iter().any(is_guess) {
        out += "\nIf a skeleton states no unit, errors and shells assume a unit of one metre.\n";
    }
    out
}

/// Returns the metres per unit of the model that an entry belongs to, if stated.
fn metres(container: &Container<'_>, line: &Described<'_>) -> Option<f64> {
    line.entry.model.and_then(|model| container.unit(model)).map(f64::from)
}

fn to_json(path: &Path, container: &Container<'_>, lines: &[Described<'_>], unit: Option<f64>) -> Value {
    let metres = |line: &Described<'_>| unit.or_else(|| metres(container, line));
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
                let unit = unit.map(|unit| unit as f32).or_else(|| container.unit(line.entry.index));
                value["metres_per_unit"] = unit.into();
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
                value["budget_m"] = metres(line).map(|unit| f64::from(clip.budget()) * unit).into();
                let shell = container.shell(line.entry.index).map(decimal);
                value["shell"] = shell.into();
                value["shell_m"] = metres(line).and_then(|unit| Some(shell? * unit)).into();
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
