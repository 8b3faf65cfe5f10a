//! Clips of a build that compresses none.

/// Origin of a clip.
pub(crate) struct Origin;

impl Origin {
    pub(crate) fn new(_: Option<f32>) -> Self {
        Self
    }

    pub(crate) fn replaced(&mut self, _: Option<usize>) {}
}
