//! What commands share about their model: opening it, and which moment of which clip is meant.

mod playable;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};

use condyle::{Clip, Container, EntryKind};
use condyle_gltf::{Asset, Document, Primitive};

use crate::check;
use crate::failure::Failure;
use crate::output::print_json;
use crate::text::{path_text, printable, table};

pub(crate) use self::playable::{Kind, Playable, frames};

/// A model that was read, with its clips.
pub(crate) struct Model {
    /// Without clips where they are compressed.
    pub(crate) asset: Asset,
    packed: Vec<Packed>,
}

/// A compressed clip that was found to be sound.
struct Packed {
    name: String,
    bytes: Vec<u8>,
}

impl Model {
    /// All clips, in the order of the file.
    pub(crate) fn clips(&self) -> Vec<Playable<'_>> {
        let raw = self.asset.clips.iter().map(Playable::raw);
        // All of them have been read before.
        let packed = self
            .packed
            .iter()
            .filter_map(|p| Some(Playable::packed(&p.name, Clip::from_bytes(&p.bytes).ok()?)));
        raw.chain(packed).collect()
    }
}

/// Reads a model, authored or compressed; of several in a container the one called `which`. With `json`, one that cannot be used
/// is described on standard output as `check` does.
pub(crate) fn open(path: &Path, which: Option<&str>, json: bool) -> Result<Model, Failure> {
    if is_container(path) {
        let bytes = std::fs::read(path).map_err(|e| unreadable(path, &e))?;
        return from_container(path, &bytes, which);
    }
    if which.is_some() {
        return Err(Failure::Usage(format!(
            "{} is a single model; --model is for a .condyle with several",
            path_text(path)
        )));
    }
    open_document(path, json).map(|asset| Model { asset, packed: Vec::new() })
}

/// As [`open`], of documents only.
pub(crate) fn open_document(path: &Path, json: bool) -> Result<Asset, Failure> {
    Asset::open(path).map_err(|refused| {
        if json
            && let Err(failure) = print_json(&format!("{:#}", check::to_json(path, false, &refused.problems)))
        {
            return failure;
        }
        refusal(path, &refused)
    })
}

fn refusal(path: &Path, refused: &condyle_gltf::Refused) -> Failure {
    let problems = refused.problems.iter().map(|p| format!("\n  {}", printable(&p.to_string())));
    Failure::Data(format!("{} cannot be used{}", path_text(path), problems.collect::<String>()))
}

/// What a file that cannot be read is answered with.
pub(crate) fn unreadable(path: &Path, error: &dyn Display) -> Failure {
    Failure::Data(format!("{} cannot be read: {error}", path_text(path)))
}

/// Whether a file is one that `condyle encode` wrote: by its first bytes, whatever its name is.
pub(crate) fn is_container(path: &Path) -> bool {
    let mut first = [0; 8];
    let is_file = std::fs::metadata(path).is_ok_and(|it| it.is_file());
    let mut read = || std::fs::File::open(path)?.read_exact(&mut first);
    is_file && read().is_ok() && first == *b"CONDYLE\0"
}

fn from_container(path: &Path, bytes: &[u8], which: Option<&str>) -> Result<Model, Failure> {
    let unfit = |what: &dyn Display, error: condyle::Error| {
        Failure::Data(format!(
            "{}: {what}: {error}; encode it again, or take a newer condyle",
            path_text(path)
        ))
    };
    let container = Container::from_bytes(bytes).map_err(|e| unfit(&"the file", e))?;
    let models: Vec<_> = container.entries().filter(|entry| entry.kind == EntryKind::Skeleton).collect();
    let names = || models.iter().map(|entry| printable(entry.name)).collect::<Vec<_>>().join(", ");
    let found = match (which, models.as_slice()) {
        (Some(name), _) => models.iter().find(|entry| entry.name == name),
        (None, [one]) => Some(one),
        (None, _) => None,
    };
    let Some(model) = found else {
        let name = path_text(path);
        return Err(match (models.is_empty(), which) {
            (true, _) => Failure::Data(format!("{name} holds no models")),
            (false, Some(which)) => {
                Failure::Usage(format!("{name} has no model {which:?}; --model takes one of {}", names()))
            }
            (false, None) => {
                Failure::Usage(format!("{name} holds several models; choose one with --model: {}", names()))
            }
        });
    };
    let Some(document) = container.of_model(EntryKind::Document, model.index).next() else {
        return Err(Failure::Data(format!(
            "{}: the model {} is kept without its document, which meshes and nodes are read from; \
             encode it without --no-document",
            path_text(path),
            printable(model.name)
        )));
    };
    let skeleton = container.skeleton(model.index).map_err(|e| unfit(&"its skeleton", e))?;
    let document = container.document(document.index).map_err(|e| unfit(&"its document", e))?;
    let document = Document::from_slice(&path.display().to_string(), document, None);
    let asset = document.and_then(Asset::from_document).map_err(|refused| refusal(path, &refused))?;
    let asset = asset.on_skeleton(skeleton).map_err(|e| unfit(&"its skeleton", e))?;
    let mut packed = Vec::new();
    for entry in container.of_model(EntryKind::Clip, model.index) {
        let what = || format!("its clip {}", printable(entry.name));
        let bytes = container.clip(entry.index).map_err(|e| unfit(&what(), e))?;
        let clip = Clip::from_bytes(bytes).map_err(|e| unfit(&what(), e))?;
        let (found, needed) = (clip.joint_count(), asset.skeleton.joint_count());
        if found != needed {
            let error = condyle::Error::Length { what: "the joints of the skeleton", found, needed };
            return Err(unfit(&what(), error));
        }
        packed.push(Packed { name: entry.name.into(), bytes: bytes.to_vec() });
    }
    Ok(Model { asset, packed })
}

/// The files that a model is read from, which nothing may be written over, as canonical paths. Before it is read only
/// the first of them is known.
pub(crate) fn sources(model: &Path, document: Option<&Document>) -> BTreeSet<PathBuf> {
    let mut files: BTreeSet<PathBuf> = document.map(Document::files).into_iter().flatten().collect();
    files.extend(model.canonicalize());
    files
}

/// The triangles of a primitive: its indices, else its vertices in their order. None of points and lines.
pub(crate) fn triangles(primitive: &Primitive) -> impl ExactSizeIterator<Item = [u32; 3]> + '_ {
    let indices = primitive.mesh.indices().as_chunks().0;
    let count = match (primitive.drawable, indices.is_empty()) {
        (false, _) => 0,
        (true, true) => primitive.mesh.vertex_count() / 3,
        (true, false) => indices.len(),
    };
    let in_order = |i: usize| [0, 1, 2].map(|k| 3 * i as u32 + k);
    (0..count).map(move |i| indices.get(i).copied().unwrap_or_else(|| in_order(i)))
}

/// Which of the models of a container is meant.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// Which model of a .condyle with several
    #[arg(id = "which", long = "model", value_name = "NAME")]
    name: Option<String>,
}

impl Which {
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// What of the model is shown.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Source {
    /// The clip, by name or index
    #[arg(long, value_name = "NAME|INDEX")]
    clip: Option<String>,
    /// The rest pose
    #[arg(long)]
    rest: bool,
}

impl Source {
    pub(crate) fn is_rest(&self) -> bool {
        self.rest
    }

    /// The clip; `None` is the rest pose.
    pub(crate) fn find<'a>(&self, model: &'a Model) -> Result<Option<Playable<'a>>, Failure> {
        let Some(wanted) = &self.clip else { return Ok(None) };
        let mut clips = model.clips();
        let index = find_clip(model.asset.document.name(), &clips, wanted)?;
        Ok(Some(clips.swap_remove(index)))
    }
}

/// The clip with exactly this name, else with this index, else with this name in any case if only one has it.
pub(crate) fn find_clip(file: &str, clips: &[Playable<'_>], wanted: &str) -> Result<usize, Failure> {
    if let Some(index) = clips.iter().position(|clip| clip.name() == wanted) {
        return Ok(index);
    }
    if let Some(index) = wanted.parse().ok().filter(|&index: &usize| index < clips.len()) {
        return Ok(index);
    }
    let lower = wanted.to_lowercase();
    let mut similar = clips.iter().enumerate().filter(|(_, clip)| clip.name().to_lowercase() == lower);
    if let (Some((index, _)), None) = (similar.next(), similar.next()) {
        return Ok(index);
    }
    let file = printable(file);
    if clips.is_empty() {
        return Err(Failure::Usage(format!("{file} has no clips; use --rest for its rest pose")));
    }
    let rows = clips.iter().enumerate().map(|(index, clip)| {
        vec![index.to_string(), printable(clip.name()), format!("{:.3} s", clip.end() - clip.start())]
    });
    Err(Failure::Usage(format!(
        "{file} has no clip {wanted:?}; --clip takes a name or an index of these:\n{}",
        table("><>", rows).trim_end()
    )))
}

/// A time on the command line: any finite number, as the first and last keys hold outside of a clip.
pub(crate) fn parse_seconds(text: &str) -> Result<f32, String> {
    match text.trim().parse::<f32>() {
        Ok(seconds) if seconds.is_finite() => Ok(seconds),
        _ => Err("a time is a finite number of seconds, such as 0.5".into()),
    }
}

/// Reads frames for each second.
pub(crate) fn fps_up_to(most: f64) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse::<f64>() {
        Ok(fps) if (0.1..=most).contains(&fps) => Ok(fps),
        _ => Err(format!("a rate is a number from 0.1 to {most}, such as 25")),
    }
}
