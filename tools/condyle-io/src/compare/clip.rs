//! Clips of a model, the pairing of clips by name, and the moments at which clips are compared.

use condyle::sampling::{AnyClip, PoseSource};
use condyle::{Pose, Skeleton};

use crate::distinct;

/// A clip of a model. Times are in seconds.
pub struct Clip<'a> {
    name: String,
    /// `None` for the rest pose.
    clip: Option<AnyClip<'a>>,
    shell: Option<f32>,
}

/// The rest pose, held for one moment.
struct Rest;

impl PoseSource for Rest {
    fn start(&self) -> f64 {
        0.0
    }

    fn end(&self) -> f64 {
        0.0
    }

    fn pose(&self, skeleton: &Skeleton, _: f64, pose: &mut Pose) -> Result<(), condyle::Error> {
        pose.clone_from(skeleton.rest());
        Ok(())
    }

    fn weights(&self, _: u32, _: f64, _: &mut [f32]) -> Result<(), condyle::Error> {
        Ok(())
    }
}

impl<'a> Clip<'a> {
    /// Wraps a clip. It is compared at all its keys, or at all its frames if it is compressed.
    pub fn new(clip: impl Into<AnyClip<'a>>) -> Self {
        let clip = clip.into();
        Self { name: clip.name().into(), clip: Some(clip), shell: None }
    }

    /// Renames the clip.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Sets the radius of the ball around each joint within which the clip's error is bounded, in units of
    /// its model, if its file states it:
    /// [`ContainerReader::shell`](condyle::container::ContainerReader::shell).
    #[must_use]
    pub fn within(self, shell: Option<f32>) -> Self {
        Self { shell, ..self }
    }

    /// Returns the radius that was set by [`within`](Self::within).
    pub(crate) fn shell(&self) -> Option<f32> {
        self.shell
    }

    pub(crate) fn rest() -> Self {
        Self { name: String::new(), clip: None, shell: None }
    }

    /// Returns the name, which is unique among the clips of its [`Subject`](crate::compare::Subject).
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the time of the first key.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.source().start()
    }

    /// Returns the time of the last key.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.source().end()
    }

    pub(crate) fn source(&self) -> &dyn PoseSource {
        match &self.clip {
            Some(clip) => clip,
            None => &Rest,
        }
    }

    /// Returns the times of all keys, or of all frames, in seconds and ascending.
    #[must_use]
    pub fn keys(&self) -> Vec<f64> {
        self.clip.as_ref().map_or_else(|| vec![0.0], AnyClip::moments)
    }
}

/// Makes the names of clips unique. Also returns which clips were named by their file; the others are named
/// by their number.
pub(crate) fn told_apart(mut clips: Vec<Clip<'_>>) -> (Vec<Clip<'_>>, Vec<bool>) {
    let named = (0..).zip(&clips).map(|(at, clip)| clip.name != format!("animation {at}")).collect();
    let mut names: Vec<String> = clips.iter().map(|clip| clip.name.clone()).collect();
    distinct(&mut names);
    clips.iter_mut().zip(names).for_each(|(clip, name)| clip.name = name);
    (clips, named)
}
