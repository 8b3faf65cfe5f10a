//! The clips of a model, which of them correspond to those of another, and when both are looked at.

use std::collections::{HashMap, HashSet};

use condyle::sampling::{AnyClip, PoseSource};
use condyle::{Pose, Skeleton};

/// A clip of a model. Times are in seconds.
pub struct Clip<'a> {
    name: String,
    /// None for the rest pose.
    clip: Option<AnyClip<'a>>,
    shell: Option<f32>,
}

/// The rest pose, for one moment.
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
    /// A clip, which is looked at on all its keys, or on all its frames if it is compressed.
    pub fn new(clip: impl Into<AnyClip<'a>>) -> Self {
        let clip = clip.into();
        Self { name: clip.name().into(), clip: Some(clip), shell: None }
    }

    /// The clip by another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The clip with the radius of the ball around each joint within which its error is bounded, in units of
    /// its model, if its file states it:
    /// [`ContainerReader::shell`](condyle::container::ContainerReader::shell).
    #[must_use]
    pub fn within(self, shell: Option<f32>) -> Self {
        Self { shell, ..self }
    }

    /// The radius that [`within`](Self::within) was given.
    pub(crate) fn shell(&self) -> Option<f32> {
        self.shell
    }

    pub(crate) fn rest() -> Self {
        Self { name: String::new(), clip: None, shell: None }
    }

    /// Its name, which tells it from the other clips of its [`Subject`](crate::Subject).
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The time of its first key.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.source().start()
    }

    /// The time of its last key.
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

    /// The times of all keys, or of all frames, in seconds and rising.
    #[must_use]
    pub fn keys(&self) -> Vec<f64> {
        self.clip.as_ref().map_or_else(|| vec![0.0], AnyClip::moments)
    }
}

/// Clips whose names tell them apart, and which of them their file has given a name: the others are called by their number.
pub(crate) fn told_apart(mut clips: Vec<Clip<'_>>) -> (Vec<Clip<'_>>, Vec<bool>) {
    let named = (0..).zip(&clips).map(|(at, clip)| clip.name != format!("animation {at}")).collect();
    let mut names: Vec<String> = clips.iter().map(|clip| clip.name.clone()).collect();
    distinct(&mut names);
    clips.iter_mut().zip(names).for_each(|(clip, name)| clip.name = name);
    (clips, named)
}

/// Gives a number to each name that an earlier one has, so that each stands for one: Run, Run 2. Returns which have changed.
///
/// ```
/// let mut names = ["Run", "Walk", "Run"].map(String::from);
/// assert_eq!(condyle_compare::distinct(&mut names), [2]);
/// assert_eq!(names, ["Run", "Walk", "Run 2"]);
/// ```
pub fn distinct(names: &mut [String]) -> Vec<usize> {
    let taken: HashSet<String> = names.iter().cloned().collect();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut changed = Vec::new();
    for (at, name) in names.iter_mut().enumerate() {
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            while taken.contains(&format!("{name} {count}")) {
                *count += 1;
            }
            *name = format!("{name} {count}");
            changed.push(at);
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_for_one() {
        let mut names = ["Run", "Walk", "Run", "Run 2", "Run", "Run 2", ""].map(String::from);
        assert_eq!(distinct(&mut names), [2, 4, 5]);
        assert_eq!(names, ["Run", "Walk", "Run 3", "Run 2", "Run 4", "Run 2 2", ""]);
    }
}
