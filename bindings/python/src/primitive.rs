//! Mesh primitives, and their ranges in the vertex array of a model.

use std::sync::Arc;

use condyle::SkinnedMesh;
use condyle_gltf::{Asset, Instance, Placement};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PySlice;

/// Part of a mesh with one material, at a node.
#[pyclass(frozen, module = "condyle")]
pub(crate) struct Primitive {
    /// Name of the node, or for example "node 12" if it is unnamed.
    #[pyo3(get)]
    name: String,
    /// Node index in the document.
    #[pyo3(get)]
    node: usize,
    /// Mesh index in the document.
    #[pyo3(get)]
    mesh: usize,
    /// Primitive index in the mesh.
    #[pyo3(get)]
    index: usize,
    /// Index of the first vertex among those of all primitives.
    #[pyo3(get)]
    start: usize,
    /// Index after the last vertex.
    #[pyo3(get)]
    stop: usize,
    /// Whether a skin animates the primitive. Otherwise its node does.
    #[pyo3(get)]
    skinned: bool,
    /// Whether the document's default scene includes the primitive.
    #[pyo3(get)]
    in_default_scene: bool,
    /// Whether the primitive has normals.
    #[pyo3(get)]
    has_normals: bool,
    /// Whether the primitive has tangents.
    #[pyo3(get)]
    has_tangents: bool,
    drawable: bool,
    source: Arc<SkinnedMesh>,
}

#[pymethods]
impl Primitive {
    /// Slice of the vertices among those of all primitives.
    ///
    /// >>> model = condyle.open("two_joints.glb")
    /// >>> model.skin(None, [0.0])[:, model.primitives[0].slice].shape
    /// (1, 20, 3)
    #[getter]
    fn slice<'py>(&self, py: Python<'py>) -> Bound<'py, PySlice> {
        PySlice::new(py, self.start as isize, self.stop as isize, 1)
    }

    /// Vertex indices of the triangles, relative to the first vertex of the primitive: (N, 3), uint32.
    /// Empty for points and lines.
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
    /// Returns the primitives of all nodes in order, and their total number of vertices.
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
