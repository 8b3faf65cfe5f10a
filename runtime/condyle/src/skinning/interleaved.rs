//! Interleaved vertices: all attributes of a vertex together in one byte array, as in most GPU buffers.

use core::fmt;
use core::ops::Range;

use super::call::Attributes;
use condyle_base::error::Error;

/// The positions of the attributes in interleaved vertices.
///
/// Numbers are f32 in native byte order, which GPUs use too, and need not be aligned. Bytes between the
/// attributes, such as texture coordinates, are never read or written. In a wgpu `VertexBufferLayout` these
/// are `array_stride` and `offset`, with the formats `Float32x3`, `Float32x3` and `Float32x4`.
///
/// ```
/// use condyle::skinning::VertexLayout;
///
/// // Position, normal, and texture coordinates that stay unchanged.
/// let layout = VertexLayout { stride: 32, position: 0, normal: Some(12), tangent: None };
/// assert_eq!(layout.size_of(3), 88);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VertexLayout {
    /// Bytes from the beginning of one vertex to the next.
    pub stride: usize,
    /// Byte offset of the position (three numbers) in a vertex.
    pub position: usize,
    /// Byte offset of the normal (three numbers) in a vertex, if there is one.
    pub normal: Option<usize>,
    /// Byte offset of the tangent (four numbers) in a vertex, if there is one.
    pub tangent: Option<usize>,
}

/// Size of an attribute in bytes.
const THREE: usize = 12;
const FOUR: usize = 16;

impl VertexLayout {
    /// Returns the byte range of each attribute in a vertex, in the order of the fields.
    fn attributes(&self) -> impl Iterator<Item = Range<usize>> + Clone {
        let attribute =
            |(offset, size): (Option<usize>, usize)| offset.map(|offset| offset..offset.saturating_add(size));
        [(Some(self.position), THREE), (self.normal, THREE), (self.tangent, FOUR)]
            .into_iter()
            .filter_map(attribute)
    }

    /// Minimum size of `vertex_count` vertices in bytes. The last vertex may end with its last attribute.
    #[must_use]
    pub fn size_of(&self, vertex_count: usize) -> usize {
        let end = self.attributes().map(|attribute| attribute.end).max().unwrap_or(0);
        match vertex_count {
            0 => 0,
            _ => self.stride.saturating_mul(vertex_count - 1).saturating_add(end),
        }
    }

    /// Checks that every attribute is within the stride and that attributes do not overlap.
    pub(super) fn check(&self) -> Result<(), Error> {
        let what = "layout";
        for (at, own) in self.attributes().enumerate() {
            if own.end > self.stride {
                return Err(Error::OutOfRange { what, at, needed: "within the stride" });
            }
            if self.attributes().take(at).any(|other| own.start < other.end && other.start < own.end) {
                return Err(Error::OutOfRange { what, at, needed: "disjoint from the earlier attributes" });
            }
        }
        Ok(())
    }

    pub(super) fn has(&self) -> Attributes {
        Attributes { normals: self.normal.is_some(), tangents: self.tangent.is_some() }
    }
}

/// Interleaved vertices to read.
///
/// ```
/// use condyle::skinning::{Interleaved, InterleavedMut, VertexLayout};
/// use condyle::{Affine, Influences, NormalRule, Palette, Skin, Transform, palette, skin};
///
/// // One joint, two metres up.
/// let up = Transform { translation: [0.0, 2.0, 0.0], ..Transform::IDENTITY };
/// let (bound, mut matrices) = (Skin::new(vec![0], vec![Affine::IDENTITY])?, Palette::default());
/// palette(&bound, &[up.into()], NormalRule::default(), &mut matrices)?;
/// // Two vertices: a position, and four bytes of colour. The second vertex is one metre ahead.
/// let layout = VertexLayout { stride: 16, position: 0, normal: None, tangent: None };
/// let mut bind = [0xAB; 32];
/// bind[..12].fill(0);
/// bind[16..28].copy_from_slice(&[[0; 4], [0; 4], 1.0_f32.to_ne_bytes()].concat());
///
/// let mut posed = bind;
/// let to = InterleavedMut { bytes: &mut posed, layout };
/// skin(&Influences::rigid(2), &matrices, Interleaved { bytes: &bind, layout }, to)?;
/// assert_eq!(posed[16..28], [0.0, 2.0, 1.0].map(f32::to_ne_bytes).concat());
/// assert_eq!(posed[12..16], [0xAB; 4]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Interleaved<'a> {
    /// The vertices, and possibly more bytes after them.
    pub bytes: &'a [u8],
    /// The layout of a vertex.
    pub layout: VertexLayout,
}

/// Interleaved vertices to write: see [`Interleaved`].
pub struct InterleavedMut<'a> {
    /// Memory for the vertices, and possibly more bytes after them.
    pub bytes: &'a mut [u8],
    /// The layout of a vertex.
    pub layout: VertexLayout,
}

/// Shows the number of bytes instead of their content.
impl fmt::Debug for Interleaved<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interleaved").field("bytes", &self.bytes.len()).field("layout", &self.layout).finish()
    }
}

/// Shows the number of bytes instead of their content.
impl fmt::Debug for InterleavedMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterleavedMut")
            .field("bytes", &self.bytes.len())
            .field("layout", &self.layout)
            .finish()
    }
}
