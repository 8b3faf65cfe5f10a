//! The humanoid of a model: by a map in the file, a person's corrections, names and shape.

use std::path::Path;
use std::{fs, str};

use condyle::Pose;
use condyle::sampling::PoseSource;
use condyle_retarget::rig::{Found, Hints, Role, find, read_map};

use crate::failure::Failure;
use crate::model::Model;
use crate::model::playable::Playable;
use crate::output::warn;
use crate::text::path_text;

/// A humanoid with its sources.
pub(crate) struct Who {
    pub(crate) found: Found,
    /// Clip whose first frame showed the shape.
    pub(crate) clip: Option<String>,
    /// Pose in which the shape was seen.
    pub(crate) pose: Pose,
}

impl Who {
    /// Finds the humanoid of a model. If the rest pose is no stance, the first of the clips shows the shape.
    /// `map` is a file with corrections. `guess` ignores a map in the model.
    pub(crate) fn of(
        path: &Path,
        model: &Model,
        clips: &[Playable<'_>],
        map: Option<&Path>,
        guess: bool,
    ) -> Result<Self, Failure> {
        let skeleton = &model.asset.skeleton;
        let first = clips.first().and_then(|clip| {
            let mut pose = Pose::rest(skeleton);
            clip.pose(skeleton, clip.start(), &mut pose).ok().map(|()| (clip.name(), pose))
        });
        let mut hints = Hints { loose_feet: true, ..Hints::default() };
        hints.pose = first.as_ref().map(|(_, pose)| pose);
        if !guess {
            hints.bones = model.asset.humanoid_bones();
        }
        if let Some(map) = map {
            hints.given = corrections(map, model)?;
        }
        let found =
            find(skeleton, &hints).map_err(|error| Failure::Data(format!("{}: {error}", path_text(path))))?;
        warn_of_bones(path, &found);
        Ok(match first.filter(|_| found.is_posed) {
            Some((name, pose)) => Self { found, clip: Some(name.into()), pose },
            None => Self { found, clip: None, pose: skeleton.rest().clone() },
        })
    }
}

/// Warns of an invalid map in the file.
pub(crate) fn warn_of_bones(path: &Path, found: &Found) {
    if let Some(why) = &found.unused_bones {
        warn(path, &format!("the map in the file is not used: {why}"));
    }
}

fn corrections(map: &Path, model: &Model) -> Result<Vec<(Role, Option<u16>)>, Failure> {
    let name = path_text(map);
    let bytes = fs::read(map).map_err(|error| Failure::Data(format!("{name}: {error}")))?;
    let text =
        str::from_utf8(&bytes).map_err(|_| Failure::Data(format!("{name}: it is not text in UTF-8")))?;
    read_map(text, &model.asset.skeleton).map_err(|error| Failure::Data(format!("{name}: {error}")))
}
