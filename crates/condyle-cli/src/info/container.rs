//! What is in a container, entry by entry.

use std::collections::{HashMap, hash_map};
use std::path::Path;

use condyle::{Clip, Container, Entry, EntryKind, Skeleton};
use condyle_gltf::{Problem, Severity};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::text::{counted, hertz, path_text, printable, size, table};

/// Bytes of a joint at a moment without compression: rotation, translation and scale.
const RAW: usize = 40;

pub(super) fn run(path: &Path, json: bool) -> Result<(), Failure> {
    let bytes = std::fs::read(path).map_err(|e| crate::model::unreadable(path, &e))?;
    let unfit = |e: condyle::Error| {
        Failure::Data(format!("{}: {e}; encode it again, or take a newer condyle", path_text(path)))
    };
    let container = Container::from_bytes(&bytes).map_err(unfit)?;
    let mut skeletons = Skeletons::default();
    let lines = container.entries().map(|entry| Line::new(&container, entry, &mut skeletons).map_err(unfit));
    let lines = lines.collect::<Result<Vec<_>, _>>()?;
    match json {
        true => print_json(&format!("{:#}", to_json(path, &container, &lines))),
        false => print(&to_text(path, &container, &lines)),
    }
}

/// What is wrong with a container: the file as a whole, or its entries.
pub(crate) fn faults(path: &Path) -> Vec<Problem> {
    let fault = |path: String, what: String| Problem {
        severity: Severity::Error,
        places: vec![path.clone()],
        path,
        count: 1,
        what,
        action: "the file cannot be used; encode it again".into(),
    };
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return vec![fault(String::new(), format!("the file cannot be read: {error}"))],
    };
    let container = match Container::from_bytes(&bytes) {
        Ok(container) => container,
        Err(error) => return vec![fault(String::new(), error.to_string())],
    };
    let mut skeletons = Skeletons::default();
    let lines = container.entries().map(|entry| (entry.index, Line::new(&container, entry, &mut skeletons)));
    lines.filter_map(|(at, line)| Some(fault(format!("/entries/{at}"), line.err()?.to_string()))).collect()
}

/// An entry, and what is known of its content.
struct Line<'a> {
    entry: Entry<'a>,
    content: Content<'a>,
}

enum Content<'a> {
    Skeleton { joints: usize },
    Mesh { vertices: usize, triangles: usize },
    Clip(Clip<'a>),
    Other,
}

/// Skeletons that were read, by their entries: any number of meshes may hang on one.
#[derive(Default)]
struct Skeletons(HashMap<usize, Skeleton>);

impl Skeletons {
    fn get(&mut self, container: &Container<'_>, entry: usize) -> Result<&Skeleton, condyle::Error> {
        match self.0.entry(entry) {
            hash_map::Entry::Occupied(known) => Ok(known.into_mut()),
            hash_map::Entry::Vacant(new) => Ok(new.insert(container.skeleton(entry)?)),
        }
    }
}

impl<'a> Line<'a> {
    fn new(
        container: &Container<'a>,
        entry: Entry<'a>,
        skeletons: &mut Skeletons,
    ) -> Result<Self, condyle::Error> {
        let content = match (entry.kind, entry.model) {
            (EntryKind::Skeleton, _) => {
                Content::Skeleton { joints: skeletons.get(container, entry.index)?.joint_count() }
            }
            (EntryKind::Mesh, Some(model)) => {
                let placed = container.mesh(entry.index, skeletons.get(container, model)?)?;
                let (vertices, indices) = (placed.mesh.vertex_count(), placed.mesh.indices().len());
                let corners = if indices > 0 { indices } else { vertices };
                Content::Mesh { vertices, triangles: if placed.drawable { corners / 3 } else { 0 } }
            }
            (EntryKind::Clip, _) => Content::Clip(Clip::from_bytes(container.clip(entry.index)?)?),
            _ => {
                container.data(entry.index)?;
                Content::Other
            }
        };
        Ok(Self { entry, content })
    }

    fn kind(&self) -> String {
        match self.entry.kind {
            EntryKind::Skeleton => "skeleton".into(),
            EntryKind::Mesh => "mesh".into(),
            EntryKind::Clip => "clip".into(),
            EntryKind::Document => "document".into(),
            other => format!("kind {}", u32::from(other)),
        }
    }
}

/// Bytes of all frames without compression.
fn raw_bytes(clip: &Clip<'_>) -> usize {
    (clip.frame_count() + 1).saturating_mul(clip.joint_count()).saturating_mul(RAW)
}

fn to_text(path: &Path, container: &Container<'_>, lines: &[Line<'_>]) -> String {
    let (major, minor) = container.version();
    let bytes = container.as_bytes().len();
    let count = counted(lines.len(), "entry", "entries");
    let mut out = format!("{}  {}, version {major}.{minor}, {count}\n\n", path_text(path), size(bytes));
    let cells = |line: &Line<'_>| {
        let mut cells = vec![line.kind(), printable(line.entry.name), size(line.entry.length as usize)];
        match &line.content {
            Content::Skeleton { joints } => cells.push(counted(*joints, "joint", "joints")),
            Content::Mesh { vertices, triangles } => {
                cells.push(counted(*vertices, "vertex", "vertices"));
                cells.push(counted(*triangles, "triangle", "triangles"));
            }
            Content::Clip(clip) => cells.extend([
                format!("{:.3} s", clip.duration()),
                counted(clip.frame_count() + 1, "frame", "frames"),
                hertz(clip.rate()),
                format!("{} off at most", significant(clip.budget())),
                format!("{:.1} to 1", raw_bytes(clip) as f64 / clip.as_bytes().len() as f64),
            ]),
            Content::Other => {}
        }
        cells
    };
    out += &table("<<>>>>>>", lines.iter().map(cells));
    if lines.iter().any(|line| matches!(line.content, Content::Clip(_))) {
        out += "\nWhat clips are off at most is in units of their model.\n";
    }
    out
}

/// Three digits, without zeros behind them.
fn significant(number: f32) -> String {
    let magnitude = number.abs().max(f32::MIN_POSITIVE).log10().floor() as i32;
    let text = format!("{number:.*}", (2 - magnitude).clamp(0, 40) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

fn to_json(path: &Path, container: &Container<'_>, lines: &[Line<'_>]) -> Value {
    let (major, minor) = container.version();
    let line = |line: &Line<'_>| {
        let mut value = json!({
            "index": line.entry.index,
            "kind": line.kind(),
            "name": line.entry.name,
            "model": line.entry.model,
            "bytes": line.entry.length,
        });
        match &line.content {
            Content::Skeleton { joints } => value["joints"] = (*joints).into(),
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
