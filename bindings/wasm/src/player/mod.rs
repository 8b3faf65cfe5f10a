//! The build that plays compressed clips only. It has no code that samples others, and draws no meshes.

mod open;

use condyle::container::MeshHead;
use condyle::sampling::sample;
use condyle::{Clip, Pose, Skeleton};
use condyle_base::error::Error;

use crate::character::Character;
use crate::fault::Fault;
pub(crate) use open::open;

/// Documents are not read.
pub(crate) struct Asset;

/// Does not change the pose, because constraints are in documents.
pub(crate) fn constrain(_: &Asset, _: &mut Pose) -> Result<(), Error> {
    Ok(())
}

/// Compressed clips have no state.
#[derive(Default, Clone)]
pub(crate) struct Cursor {}

/// A compressed clip with its name.
pub(crate) struct Motion(String, Clip<'static>);

impl Motion {
    pub(crate) fn compressed_of(name: &str, clip: Clip<'static>) -> Self {
        Self(name.to_owned(), clip)
    }

    /// No clip is made of another one.
    pub(crate) fn replaced(&mut self, _: Option<usize>) {}

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    pub(crate) fn compressed(&self) -> Option<&Clip<'static>> {
        Some(&self.1)
    }

    pub(crate) fn start(&self) -> f64 {
        self.1.start()
    }

    pub(crate) fn end(&self) -> f64 {
        self.1.end()
    }

    pub(crate) fn byte_count(&self) -> usize {
        self.1.as_bytes().len()
    }

    pub(crate) fn is_unpacked(&self) -> bool {
        false
    }

    pub(crate) fn frame_numbers(&self) -> Option<[f64; 4]> {
        None
    }

    pub(crate) fn sample(
        &self,
        skeleton: &Skeleton,
        seconds: f64,
        _: &mut Cursor,
        pose: &mut Pose,
    ) -> Result<(), Error> {
        sample(&self.1, skeleton, seconds, pose)
    }
}

/// Returns that no clips have frames.
pub(crate) fn is_blended(
    _: &Skeleton,
    _: [(Option<&Motion>, f32, f32); 2],
    _: &mut Pose,
) -> Result<bool, Error> {
    Ok(false)
}

/// Counts of a mesh, which is not read.
pub(crate) struct Source([usize; 3]);

impl Source {
    fn new(head: &MeshHead) -> Self {
        Self([head.vertex_count, head.index_count / 3, head.morph_target_count])
    }

    pub(crate) fn vertices(&self) -> usize {
        self.0[0]
    }

    pub(crate) fn triangles(&self) -> usize {
        self.0[1]
    }

    pub(crate) fn morph_targets(&self) -> usize {
        self.0[2]
    }
}

/// State of a pose that needs meshes or solvers: none.
pub(crate) struct Body;

impl Body {
    pub(crate) fn new(_: &Character) -> Self {
        Self
    }

    pub(crate) fn moved(&mut self) {}

    pub(crate) fn rest(&mut self, _: &Character) {}

    pub(crate) fn copy(&mut self, _: &Self) {}

    pub(crate) fn sample(&mut self, _: &Character, _: &Motion, _: f64) -> Result<(), Fault> {
        Ok(())
    }
}
