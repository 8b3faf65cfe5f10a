//! The document under construction, which each part of the conversion reads and extends.

use ufbx::Scene;

use crate::buffer::Buffer;
use crate::problems::Problems;

pub(crate) struct Context<'a> {
    pub(crate) scene: &'a Scene,
    /// Index of the document's node for each node of the scene. The scene's root is not in the document.
    nodes: Vec<Option<usize>>,
    pub(crate) buffer: Buffer,
    pub(crate) problems: Problems,
}

impl<'a> Context<'a> {
    /// A context for a file of `len` bytes.
    pub(crate) fn new(scene: &'a Scene, len: usize) -> Self {
        let mut count = 0;
        let nodes = scene
            .nodes
            .into_iter()
            .map(|node| {
                let index = (!node.is_root).then_some(count);
                count += usize::from(index.is_some());
                index
            })
            .collect();
        Self { scene, nodes, buffer: Buffer::new(len), problems: Problems::default() }
    }

    /// Index of the document's node for a node of the scene, by its `typed_id`.
    pub(crate) fn node(&self, id: u32) -> Option<usize> {
        self.nodes.get(id as usize).copied().flatten()
    }
}
