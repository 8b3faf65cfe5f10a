//! What commands share about their model: opening it, and which moment of which clip is meant.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use condyle::RawClip;
use condyle_gltf::{Asset, Document, Primitive};

use crate::check;
use crate::failure::Failure;
use crate::output::print_json;
use crate::text::{path_text, printable, table};

/// Reads a model. With `json`, one that cannot be used is described on standard output as `check` does.
pub(crate) fn open(model: &Path, json: bool) -> Result<Asset, Failure> {
    Asset::open(model).map_err(|refused| {
        if json
            && let Err(failure) =
                print_json(&format!("{:#}", check::to_json(model, false, &refused.problems)))
        {
            return failure;
        }
        let problems = refused.problems.iter().map(|p| format!("\n  {}", printable(&p.to_string())));
        Failure::Data(format!("{} cannot be used{}", path_text(model), problems.collect::<String>()))
    })
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
    /// The clip; `None` is the rest pose.
    pub(crate) fn find<'a>(&self, asset: &'a Asset) -> Result<Option<&'a RawClip>, Failure> {
        self.clip.as_deref().map(|wanted| find_clip(asset, wanted)).transpose()
    }
}

/// The clip with exactly this name, else with this index, else with this name in any case if only one has it.
pub(crate) fn find_clip<'a>(asset: &'a Asset, wanted: &str) -> Result<&'a RawClip, Failure> {
    let clips = &asset.clips;
    if let Some(clip) = clips.iter().find(|clip| clip.name() == wanted) {
        return Ok(clip);
    }
    if let Some(clip) = wanted.parse().ok().and_then(|index: usize| clips.get(index)) {
        return Ok(clip);
    }
    let lower = wanted.to_lowercase();
    let mut similar = clips.iter().filter(|clip| clip.name().to_lowercase() == lower);
    if let (Some(clip), None) = (similar.next(), similar.next()) {
        return Ok(clip);
    }
    let file = printable(asset.document.name());
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
