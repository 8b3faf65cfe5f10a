//! The character that is posed, `--model`, `--clip` and `--rest`: which model of a file, and which of its clips.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::model::playable::Playable;
use crate::model::{self, Model};
use crate::options::quantity::Length;
use crate::options::space::Space;
use crate::text::{did_you_mean, printable, table};

/// A character, and what it does.
#[derive(clap::Args)]
pub(crate) struct Character {
    /// The character: .glb, .gltf or .condyle
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    pub(crate) space: Space,
    /// Play the clips on this model, joints matched by names: for a file that holds a motion only; --unit and --up are
    /// those of the motion
    #[arg(long, visible_alias = "skeleton", value_name = "MODEL")]
    onto: Option<PathBuf>,
}

impl Character {
    /// With `json`, a document that cannot be used is also described on standard output.
    pub(crate) fn open(&self, json: bool) -> Result<Model, Failure> {
        model::open(&self.model, self.which.name(), self.onto.as_deref(), self.space, json)
    }

    /// The same, scaled to a height; and the metres in a unit.
    pub(crate) fn open_scaled(&self, height: Option<Length>, json: bool) -> Result<(Model, f64), Failure> {
        model::open_scaled(&self.model, self.which.name(), self.onto.as_deref(), self.space, height, json)
    }
}

/// `--model`: one of the models of a container.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// The model to use, if the .condyle has several
    #[arg(id = "which", long = "model", value_name = "NAME")]
    name: Option<String>,
}

impl Which {
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// `--clip` or `--rest`: what is shown of the model. Its only clip without either.
#[derive(clap::Args)]
#[group(multiple = false)]
pub(crate) struct Source {
    /// The clip, by name or index [default: the only one]
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

    /// The clip, or `None` for the rest pose.
    pub(crate) fn find<'a>(&self, model: &'a Model) -> Result<Option<Playable<'a>>, Failure> {
        if self.rest {
            return Ok(None);
        }
        let (file, mut clips) = (model.asset.document.name(), model.clips());
        let index = match (&self.clip, clips.len()) {
            (Some(wanted), _) => find_clip(file, &clips, wanted)?,
            (None, 1) => 0,
            (None, 0) => {
                return Err(Failure::Usage(format!(
                    "{} has no clips; use --rest for its rest pose",
                    printable(file)
                )));
            }
            (None, count) => {
                return Err(Failure::Usage(format!(
                    "{} has {count} clips; give --clip the name or index of one of these, or --rest for the rest pose:\n{}",
                    printable(file),
                    listed(&clips, 0..count)
                )));
            }
        };
        Ok(Some(clips.swap_remove(index)))
    }
}

/// The index of a clip: by its exact name, else by its index, else by its name in any case; by a name only if no other clip
/// has it too.
pub(crate) fn find_clip(file: &str, clips: &[Playable<'_>], wanted: &str) -> Result<usize, Failure> {
    let exact: Vec<usize> = (0..clips.len()).filter(|&index| clips[index].name() == wanted).collect();
    match *exact {
        [] => {}
        [index] => return Ok(index),
        _ => {
            return Err(Failure::Usage(format!(
                "{} has several clips {wanted:?}; give --clip the index of one of these:\n{}",
                printable(file),
                listed(clips, exact)
            )));
        }
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
    Err(Failure::Usage(format!(
        "{file} has no clip {wanted:?}{}; give --clip the name or index of one of these:\n{}",
        did_you_mean(wanted, clips.iter().map(Playable::name)),
        listed(clips, 0..clips.len())
    )))
}

/// Clips with their indices, names and durations, a line for each.
fn listed(clips: &[Playable<'_>], which: impl IntoIterator<Item = usize>) -> String {
    let rows = which.into_iter().map(|index| {
        let clip = &clips[index];
        vec![index.to_string(), printable(clip.name()), format!("{:.3} s", clip.end() - clip.start())]
    });
    table("><>", rows).trim_end().into()
}
