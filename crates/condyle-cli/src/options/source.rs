//! `--model`, `--clip` and `--rest`: which model of a file, and which of its clips.

use crate::failure::Failure;
use crate::model::Model;
use crate::model::playable::Playable;
use crate::text::{did_you_mean, printable, table};

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

/// `--clip` or `--rest`: what is shown of the model.
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

    /// The clip, or `None` for the rest pose.
    pub(crate) fn find<'a>(&self, model: &'a Model) -> Result<Option<Playable<'a>>, Failure> {
        let Some(wanted) = &self.clip else { return Ok(None) };
        let mut clips = model.clips();
        let index = find_clip(model.asset.document.name(), &clips, wanted)?;
        Ok(Some(clips.swap_remove(index)))
    }
}

/// The index of a clip: by its exact name, else by its index, else by its name in any case if no other clip
/// has it too.
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
        "{file} has no clip {wanted:?}{}; give --clip the name or index of one of these:\n{}",
        did_you_mean(wanted, clips.iter().map(Playable::name)),
        table("><>", rows).trim_end()
    )))
}
