//! Entries of a container: each is read, and described or reported.

use std::collections::{HashMap, hash_map};
use std::path::Path;

use condyle::container::{Container, Entry, EntryKind};
use condyle::{Clip, Pose, Skeleton, sample};
use condyle_gltf::{Problem, Severity};

/// An entry and its content.
pub(crate) struct Described<'a> {
    pub(crate) entry: Entry<'a>,
    pub(crate) content: Content<'a>,
}

pub(crate) enum Content<'a> {
    Skeleton { joints: usize },
    Mesh { vertices: usize, triangles: usize },
    Clip(Clip<'a>),
    Other,
}

/// Skeletons read so far, by entry, because several meshes may refer to one.
#[derive(Default)]
pub(crate) struct Skeletons(HashMap<usize, Skeleton>);

impl Skeletons {
    fn get(&mut self, container: &Container<'_>, entry: usize) -> Result<&Skeleton, condyle::Error> {
        match self.0.entry(entry) {
            hash_map::Entry::Occupied(known) => Ok(known.into_mut()),
            hash_map::Entry::Vacant(new) => Ok(new.insert(container.skeleton(entry)?)),
        }
    }
}

impl<'a> Described<'a> {
    pub(crate) fn new(
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
            (EntryKind::Clip, _) => Content::Clip(container.clip(entry.index)?),
            _ => {
                container.data(entry.index)?;
                Content::Other
            }
        };
        Ok(Self { entry, content })
    }

    /// Checks whether the entry fits its model: a clip requires its skeleton and its rest pose.
    fn fits(&self, container: &Container<'a>, skeletons: &mut Skeletons) -> Result<(), condyle::Error> {
        let (Content::Clip(clip), Some(model)) = (&self.content, self.entry.model) else { return Ok(()) };
        let skeleton = skeletons.get(container, model)?;
        sample(clip, skeleton, clip.start(), &mut Pose::rest(skeleton))
    }

    pub(crate) fn kind(&self) -> String {
        match self.entry.kind {
            EntryKind::Skeleton => "skeleton".into(),
            EntryKind::Mesh => "mesh".into(),
            EntryKind::Clip => "clip".into(),
            EntryKind::Document => "document".into(),
            EntryKind::Metadata => "metadata".into(),
            other => format!("kind {}", u16::from(other)),
        }
    }
}

/// Returns the problems of a container: of the file as a whole, or of its entries.
pub(crate) fn faults(path: &Path) -> Vec<Problem> {
    let fault = |place: String, what: String| {
        Problem::new(Severity::Error, place, what, "the file cannot be used; encode it again")
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
    let lines = container.entries().map(|entry| {
        let told = Described::new(&container, entry, &mut skeletons);
        (entry.index, told.and_then(|told| told.fits(&container, &mut skeletons)))
    });
    lines.filter_map(|(at, line)| Some(fault(format!("/entries/{at}"), line.err()?.to_string()))).collect()
}
