//! The posed character, and `--model`, `--clip` and `--rest`, which select a model of a file and a clip of
//! the model.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::model::playable::Playable;
use crate::model::{self, Chosen, Model};
use crate::options::heading::INPUT;
use crate::options::space::{Height, Space};
use crate::text::{did_you_mean, printable, table};

/// A character, its clip or rest pose, and how its file is read.
#[derive(clap::Args)]
// `--skeleton` is the old name of `--onto`.
#[command(mut_arg("onto", |arg| arg.alias("skeleton")))]
pub(crate) struct Character {
    /// Character: .glb, .gltf, .vrm, .fbx, .bvh or .condyle
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    input: Input,
}

impl Character {
    /// Opens the model. With `json`, an unusable document is also described on standard output.
    pub(crate) fn open(&self, json: bool) -> Result<Model, Failure> {
        self.input.open(&self.model, self.source.clip.as_deref(), json)
    }

    /// Whether --height is given.
    pub(crate) fn has_height(&self) -> bool {
        self.input.height.length.is_some()
    }

    /// Like [`open`](Self::open); also returns the metres per unit.
    pub(crate) fn open_scaled(&self, json: bool) -> Result<(Model, f64), Failure> {
        self.input.open_scaled(&self.model, self.source.clip.as_deref(), json)
    }
}

/// Options that select the model in a file, its unit and axes, and the model that its clips are played on.
#[derive(clap::Args)]
pub(crate) struct Input {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) space: Space,
    #[command(flatten)]
    height: Height,
    /// Play the clips on this model, matching joints by name. For files that hold only motion: --unit and
    /// --up then describe the motion, and --height describes this model
    #[arg(long, value_name = "MODEL", help_heading = INPUT)]
    pub(crate) onto: Option<PathBuf>,
}

impl Input {
    /// Opens a file. Of a container with several models, opens that of --model, or that of the clip. With
    /// `json`, an unusable document is also described on standard output.
    pub(crate) fn open(&self, path: &Path, clip: Option<&str>, json: bool) -> Result<Model, Failure> {
        let onto = self.onto.as_deref();
        match self.height.length {
            Some(_) => Ok(self.open_scaled(path, clip, json)?.0),
            None => model::open(path, self.which.chosen(clip, onto)?, onto, self.space, json),
        }
    }

    /// Like [`open`](Self::open); also returns the metres per unit.
    pub(crate) fn open_scaled(
        &self,
        path: &Path,
        clip: Option<&str>,
        json: bool,
    ) -> Result<(Model, f64), Failure> {
        let onto = self.onto.as_deref();
        let which = self.which.chosen(clip, onto)?;
        model::open_scaled(path, which, onto, self.space, self.height.length, json)
    }
}

/// Opens a model, and scales it to --height if that is given.
pub(crate) fn open(
    path: &Path,
    which: Chosen<'_>,
    (space, height): (Space, Height),
    json: bool,
) -> Result<Model, Failure> {
    match height.length {
        Some(length) => Ok(model::open_scaled(path, which, None, space, Some(length), json)?.0),
        None => model::open(path, which, None, space, json),
    }
}

/// `--model`: the name of a model in a container.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// Use this model, if the .condyle has several
    #[arg(id = "which", long = "model", value_name = "NAME", help_heading = INPUT)]
    name: Option<String>,
}

impl Which {
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the model of that name, or the one that has the clip.
    pub(crate) fn or_with<'a>(&'a self, clip: Option<&'a str>) -> Chosen<'a> {
        Chosen { model: self.name(), clip }
    }

    /// Like [`or_with`](Self::or_with). An error with --onto, because neither of its two files is a .condyle.
    pub(crate) fn chosen<'a>(
        &'a self,
        clip: Option<&'a str>,
        onto: Option<&Path>,
    ) -> Result<Chosen<'a>, Failure> {
        match (&self.name, onto) {
            (Some(_), Some(_)) => Err(Failure::Usage(
                "--model is for a .condyle with several models, and --onto takes other files: leave --model out".into(),
            )),
            _ => Ok(self.or_with(clip)),
        }
    }
}

/// `--clip` or `--rest`: the motion of a command that takes one clip.
#[derive(clap::Args)]
#[group(multiple = false)]
pub(crate) struct Source {
    /// Select the clip by name or index [default: the only one]
    #[arg(long, value_name = "NAME|INDEX")]
    clip: Option<String>,
    /// Use the rest pose instead of a clip
    #[arg(long)]
    rest: bool,
}

impl Source {
    pub(crate) fn is_rest(&self) -> bool {
        self.rest
    }

    /// Returns the clip, or `None` for the rest pose.
    pub(crate) fn find<'a>(&self, model: &'a Model) -> Result<Option<Playable<'a>>, Failure> {
        if self.rest { Ok(None) } else { find_or_only(model, self.clip.as_deref()).map(Some) }
    }
}

/// `--clip`, once or several times, or `--rest`: the motion of a command that can use several clips.
#[derive(clap::Args)]
pub(crate) struct Clips {
    /// Select a clip by name or index; may be given several times [default: the only one]
    #[arg(long = "clip", value_name = "NAME|INDEX", conflicts_with = "rest")]
    clips: Vec<String>,
    /// Use the rest pose instead of a clip
    #[arg(long)]
    rest: bool,
}

impl Clips {
    pub(crate) fn is_rest(&self) -> bool {
        self.rest
    }

    /// Returns the values of `--clip`.
    pub(crate) fn names(&self) -> &[String] {
        &self.clips
    }

    /// Returns the first value of `--clip`.
    pub(crate) fn first(&self) -> Option<&str> {
        self.clips.first().map(String::as_str)
    }

    /// Returns the clips of `--clip`, or the only clip; no clip for the rest pose.
    pub(crate) fn find<'a>(&self, model: &'a Model) -> Result<Vec<Playable<'a>>, Failure> {
        match &self.clips[..] {
            [] if self.rest => Ok(Vec::new()),
            [] => Ok(vec![find_or_only(model, None)?]),
            names => names.iter().map(|name| find_or_only(model, Some(name))).collect(),
        }
    }
}

/// Returns the clip with this name or index; without one, the only clip of the model.
fn find_or_only<'a>(model: &'a Model, wanted: Option<&str>) -> Result<Playable<'a>, Failure> {
    let (file, mut clips) = (model.asset.document.name(), model.clips());
    let index = match (wanted, clips.len()) {
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
    Ok(clips.swap_remove(index))
}

/// Finds a clip by its exact name, else by its index, else by its name in any case. A name that several clips
/// share is an error.
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

/// Lists clips with index, name and duration, one per line.
fn listed(clips: &[Playable<'_>], which: impl IntoIterator<Item = usize>) -> String {
    let rows = which.into_iter().map(|index| {
        let clip = &clips[index];
        vec![index.to_string(), printable(clip.name()), format!("{:.3} s", clip.end() - clip.start())]
    });
    table("><>", rows).trim_end().into()
}
