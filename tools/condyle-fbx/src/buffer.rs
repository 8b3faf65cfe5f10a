//! The document's only buffer, its views and accessors.

use serde_json::{Value, json};

/// Largest number of bytes of the buffer: the length field of a `.glb` has 32 bits.
const LIMIT: usize = 1 << 30;

pub(crate) struct Buffer {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    limit: usize,
    /// Numbers replaced by 0, because glTF has no infinities and no NaN.
    replaced: usize,
}

/// The document would exceed the limit for a file of this size.
#[derive(Debug)]
pub(crate) struct TooLarge;

/// Type of an accessor, with the number of its components.
#[derive(Clone, Copy)]
pub(crate) enum AccessorType {
    Scalar = 1,
    Vec2 = 2,
    Vec3 = 3,
    Vec4 = 4,
    Mat4 = 16,
}

impl AccessorType {
    fn name(self) -> &'static str {
        match self {
            Self::Scalar => "SCALAR",
            Self::Vec2 => "VEC2",
            Self::Vec3 => "VEC3",
            Self::Vec4 => "VEC4",
            Self::Mat4 => "MAT4",
        }
    }
}

const FLOAT: u32 = 5126;
const UINT: u32 = 5125;
const USHORT: u32 = 5123;
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

impl Buffer {
    /// A buffer for a file of `len` bytes.
    pub(crate) fn new(len: usize) -> Self {
        let limit = crate::load::memory(len).min(LIMIT);
        Self { bytes: Vec::new(), views: Vec::new(), accessors: Vec::new(), limit, replaced: 0 }
    }

    /// Whether `more` bytes fit.
    pub(crate) fn afford(&self, more: usize) -> Result<(), TooLarge> {
        let fits = self.bytes.len().checked_add(more).is_some_and(|all| all <= self.limit);
        if fits { Ok(()) } else { Err(TooLarge) }
    }

    /// Adds bytes as a view, and returns its index.
    pub(crate) fn view(&mut self, bytes: &[u8], target: Option<u32>) -> Result<usize, TooLarge> {
        self.afford(bytes.len() + 3)?;
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let mut view = json!({"buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len()});
        if let Some(target) = target {
            view["target"] = target.into();
        }
        self.bytes.extend_from_slice(bytes);
        self.views.push(view);
        Ok(self.views.len() - 1)
    }

    fn finite(&mut self, values: &[f32]) -> Vec<f32> {
        let count = &mut self.replaced;
        let finite = |v: &f32| {
            if v.is_finite() {
                return *v;
            }
            *count += 1;
            0.0
        };
        values.iter().map(finite).collect()
    }

    fn accessor(
        &mut self,
        mut accessor: Value,
        accessor_type: AccessorType,
        bounds: Option<&[f32]>,
    ) -> usize {
        if let Some(values) = bounds {
            let n = accessor_type as usize;
            let fold = |pick: fn(f32, f32) -> f32, start: f32| -> Vec<f32> {
                let mut all = vec![start; n];
                values.iter().enumerate().for_each(|(i, v)| all[i % n] = pick(all[i % n], *v));
                all
            };
            accessor["min"] = json!(fold(f32::min, f32::INFINITY));
            accessor["max"] = json!(fold(f32::max, f32::NEG_INFINITY));
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn floats(
        &mut self,
        accessor_type: AccessorType,
        values: &[f32],
        bounds: bool,
        target: Option<u32>,
    ) -> Result<usize, TooLarge> {
        self.afford(values.len() * 4)?;
        let values = self.finite(values);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = self.view(&bytes, target)?;
        let count = values.len() / accessor_type as usize;
        let accessor =
            json!({"bufferView": view, "componentType": FLOAT, "count": count, "type": accessor_type.name()});
        Ok(self.accessor(accessor, accessor_type, bounds.then_some(&values)))
    }

    /// Adds an attribute of vertices.
    pub(crate) fn attribute(
        &mut self,
        accessor_type: AccessorType,
        values: &[f32],
        bounds: bool,
    ) -> Result<usize, TooLarge> {
        self.floats(accessor_type, values, bounds, Some(VERTICES))
    }

    /// Adds numbers of animations and skins.
    pub(crate) fn numbers(
        &mut self,
        accessor_type: AccessorType,
        values: &[f32],
        bounds: bool,
    ) -> Result<usize, TooLarge> {
        self.floats(accessor_type, values, bounds, None)
    }

    /// Adds joint indices, four for each vertex.
    pub(crate) fn joints(&mut self, values: &[u16]) -> Result<usize, TooLarge> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(VERTICES))?;
        let accessor =
            json!({"bufferView": view, "componentType": USHORT, "count": values.len() / 4, "type": "VEC4"});
        Ok(self.accessor(accessor, AccessorType::Vec4, None))
    }

    /// Adds the vertex indices of triangles.
    pub(crate) fn triangles(&mut self, values: &[u32]) -> Result<usize, TooLarge> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(INDICES))?;
        let accessor =
            json!({"bufferView": view, "componentType": UINT, "count": values.len(), "type": "SCALAR"});
        Ok(self.accessor(accessor, AccessorType::Scalar, None))
    }

    /// Adds the offsets of a morph target: `values` at the vertices `at`, which rise, and 0 elsewhere.
    pub(crate) fn offsets(
        &mut self,
        count: usize,
        at: &[u32],
        values: &[f32],
        bounds: bool,
    ) -> Result<usize, TooLarge> {
        let mut accessor = json!({"componentType": FLOAT, "count": count, "type": "VEC3"});
        if at.is_empty() {
            if bounds {
                accessor["min"] = json!([0.0, 0.0, 0.0]);
                accessor["max"] = json!([0.0, 0.0, 0.0]);
            }
            return Ok(self.accessor(accessor, AccessorType::Vec3, None));
        }
        if at.len() * 4 >= count * 3 {
            let mut all = vec![0.0; count * 3];
            for (vertex, value) in at.iter().zip(values.chunks_exact(3)) {
                all[*vertex as usize * 3..][..3].copy_from_slice(value);
            }
            return self.attribute(AccessorType::Vec3, &all, bounds);
        }
        let mut values = self.finite(values);
        let bytes: Vec<u8> = at.iter().flat_map(|v| v.to_le_bytes()).collect();
        let indices = self.view(&bytes, None)?;
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = self.view(&bytes, None)?;
        accessor["sparse"] = json!({
            "count": at.len(),
            "indices": {"bufferView": indices, "componentType": UINT},
            "values": {"bufferView": view}
        });
        // The other vertices have 0.
        values.extend([0.0; 3]);
        Ok(self.accessor(accessor, AccessorType::Vec3, bounds.then_some(&values)))
    }

    /// Numbers replaced by 0 so far.
    pub(crate) fn replaced(&self) -> usize {
        self.replaced
    }

    /// Adds buffer, views and accessors to the document, and returns the bytes of the buffer.
    pub(crate) fn finish(mut self, document: &mut Value) -> Vec<u8> {
        if !self.bytes.is_empty() {
            document["buffers"] = json!([{"byteLength": self.bytes.len()}]);
            document["bufferViews"] = self.views.into();
        }
        if !self.accessors.is_empty() {
            document["accessors"] = self.accessors.into();
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes
    }
}
