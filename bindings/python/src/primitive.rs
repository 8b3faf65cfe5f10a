//! Pieces of meshes, and where their vertices are among all.

use std::sync::Arc;

use condyle::SkinnedMesh;
use condyle_gltf::{Asset, Instance, Placement};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PySlice;

/// A part of a mesh at a node: the vertices of one material.
#[pyclass(frozen, module = "condyle")]
pub(crate) struct Primitive {
    /// The name of the node, or "node 12".
    #[pyo3(get)]
    name: String,
    /// The index of the node in the document.
    #[pyo3(get)]
    node: usize,
    /// The index of the mesh in the document.
    #[pyo3(get)]
    mesh: usize,
    /// Its own index in the mesh.
    #[pyo3(get)]
    index: usize,
    /// The index of its first vertex among those of all primitives.
    #[pyo3(get)]
    start: usize,
    /// One more than the index of its last vertex.
    #[pyo3(get)]
    stop: usize,
    /// Whether a skin moves it, instead of its node.
    #[pyo3(get)]
    skinned: bool,
    /// Whether the document's default scene shows it.
    #[pyo3(get)]
    in_default_scene: bool,
    /// Whether it has normals.
    #[pyo3(get)]
    has_normals: bool,
    /// Whether it has tangents.
    #[pyo3(get)]
    has_tangents: bool,
    drawable: bool,
    source: Arc<SkinnedMesh>,
}

#[pymethods]
impl Primitive {
    /// Where its vertices are among those of all primitives.
    ///
    /// >>> model = condyle.open("two_joints.glb")
    /// >>> model.skin(None, [0.0])[:, model.primitives[0].slice].shape
    /// (1, 20, 3)
    #[getter]
    fn slice<'py>(&self, py: Python<'py>) -> Bound<'py, PySlice> {
        PySlice::new(py, self.start as isize, self.stop as isize, 1)
    }

    /// The corners of its triangles, counted from its own first vertex: uint32, (N, 3). Points and lines have none.
    #[getter]
    fn triangles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let corners: Vec<u32> = match (self.drawable, self.source.indices()) {
            (false, _) => Vec::new(),
            (true, []) => (0..self.source.vertex_count() as u32 / 3 * 3).collect(),
            (true, indices) => indices.to_vec(),
        };
        Ok(PyArray1::from_vec(py, corners).reshape((self.triangle_count(), 3))?.into_any())
    }

    fn __len__(&self) -> usize {
        self.stop - self.start
    }

    fn __repr__(&self) -> String {
        format!(
            "<condyle.Primitive {} of {:?}: vertices {} to {}>",
            self.index, self.name, self.start, self.stop
        )
    }
}

impl Primitive {
    /// Those of all nodes in turn, and how many vertices they have.
    pub(crate) fn all(py: Python<'_>, asset: Option<&Asset>) -> PyResult<(Vec<Py<Self>>, usize)> {
        let (mut all, mut start) = (Vec::new(), 0);
        for instance in asset.into_iter().flat_map(|asset| &asset.instances) {
            for source in &instance.primitives {
                let it = Self::new(instance, source, start);
                start = it.stop;
                all.push(Py::new(py, it)?);
            }
        }
        Ok((all, start))
    }

    fn new(instance: &Instance, source: &condyle_gltf::Primitive, start: usize) -> Self {
        let vertices = source.mesh.vertices();
        Self {
            name: instance.name.clone(),
            node: instance.node,
            mesh: instance.mesh,
            index: source.index,
            start,
            stop: start + source.mesh.vertex_count(),
            skinned: matches!(instance.placement, Placement::Skin(_)),
            in_default_scene: instance.in_default_scene,
            has_normals: !vertices.normals.is_empty(),
            has_tangents: !vertices.tangents.is_empty(),
            drawable: source.drawable,
            source: Arc::clone(&source.mesh),
        }
    }

    fn triangle_count(&self) -> usize {
        match (self.drawable, self.source.indices().len()) {
            (false, _) => 0,
            (true, 0) => self.source.vertex_count() / 3,
            (true, corners) => corners / 3,
        }
    }
}
