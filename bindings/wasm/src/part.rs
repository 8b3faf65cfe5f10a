//! Meshes of a model.

use crate::build::Source;

/// A mesh primitive.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) follows: Follows,
    pub(crate) node: u32,
    pub(crate) primitive: usize,
    pub(crate) color: [f32; 4],
    pub(crate) shown: bool,
    pub(crate) mesh: Source,
}

/// The skin or the joint that moves a mesh.
#[derive(Clone, Copy)]
pub(crate) enum Follows {
    Skin(usize),
    Joint(u16),
    Nothing,
}
