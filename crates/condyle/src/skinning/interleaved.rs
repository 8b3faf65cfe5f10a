//! Vertices in one array of bytes, all attributes of a vertex together, as buffers of a GPU mostly have them.

use core::fmt;
use core::ops::Range;

use super::call::Attributes;
use condyle_base::error::Error;

/// Where the attributes of interleaved vertices lie.
///
/// Numbers are f32 in the byte order of the machine, which is that of its GPU; they need not be aligned. What lies between
/// the attributes, such as texture coordinates, is never read or written. What a wgpu `VertexBufferLayout` calls
/// `array_stride` and `offset`, with the formats `Float32x3`, `Float32x3` and `Float32x4`.
///
/// ```
/// use condyle::skinning::VertexLayout;
///
/// // Position, normal, and texture coordinates that stay as they are.
/// let layout = VertexLayout { stride: 32, position: 0, normal: Some(12), tangent: None };
/// assert_eq!(layout.size_of(3), 88);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VertexLayout {
    /// Bytes from one vertex to the next.
    pub stride: usize,
    /// Where the three numbers of a position begin, counted in bytes from where the vertex does.
    pub position: usize,
    /// The same of a normal, if there is one.
    pub normal: Option<usize>,
    /// The same of the four numbers of a tangent, if there is one.
    pub tangent: Option<usize>,
}

/// Bytes of an attribute.
const THREE: usize = 12;
const FOUR: usize = 16;

impl VertexLayout {
    /// Where each attribute begins and ends, in the order of the fields.
    fn attributes(&self) -> impl Iterator<Item = Range<usize>> + Clone {
        let attribute =
            |(offset, size): (Option<usize>, usize)| offset.map(|offset| offset..offset.saturating_add(size));
        [(Some(self.position), THREE), (self.normal, THREE), (self.tangent, FOUR)]
            .into_iter()
            .filter_map(attribute)
    }

    /// The bytes that so many vertices take at least: the last one may end with its last attribute.
    #[must_use]
    pub fn size_of(&self, vertex_count: usize) -> usize {
        let end = self.attributes().map(|attribute| attribute.end).max().unwrap_or(0);
        match vertex_count {
            0 => 0,
            _ => self.stride.saturating_mul(vertex_count - 1).saturating_add(end),
        }
    }

    /// Every vertex has bytes of its own, and in these every attribute.
    pub(super) fn check(&self) -> Result<(), Error> {
        let what = "layout";
        for (at, own) in self.attributes().enumerate() {
            if own.end > self.stride {
                return Err(Error::OutOfRange { what, at, needed: "within the stride" });
            }
            if self.attributes().take(at).any(|other| own.start < other.end && other.start < own.end) {
                return Err(Error::OutOfRange { what, at, needed: "beside the attributes before it" });
            }
        }
        Ok(())
    }

    pub(super) fn has(&self) -> Attributes {
        Attributes { normals: self.normal.is_some(), tangents: self.tangent.is_some() }
    }
}

/// Vertices to read, all attributes of each together.
///
/// ```
/// use condyle::skinning::{Interleaved, InterleavedMut, VertexLayout};
/// use condyle::{Affine, Influences, NormalRule, Palette, Skin, Transform, palette, skin};
///
/// # let up = Transform { translation: [0.0, 2.0, 0.0], ..Transform::IDENTITY };
/// # let one = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// # let mut matrices = Palette::default();
/// # palette(&one, &[up.into()], NormalRule::default(), &mut matrices)?;
/// # let influences = Influences::rigid(2);
/// // Two vertices: a position, and four bytes of colour. The second one lies one metre ahead.
/// let layout = VertexLayout { stride: 16, position: 0, normal: None, tangent: None };
/// let mut bind = [0xAB; 32];
/// bind[..12].fill(0);
/// bind[16..28].copy_from_slice(&[[0; 4], [0; 4], 1.0_f32.to_ne_bytes()].concat());
///
/// let mut posed = bind;
/// let to = InterleavedMut { bytes: &mut posed, layout };
/// skin(&influences, &matrices, Interleaved { bytes: &bind, layout }, to)?;
/// assert_eq!(posed[16..28], [0.0, 2.0, 1.0].map(f32::to_ne_bytes).concat());
/// assert_eq!(posed[12..16], [0xAB; 4]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Interleaved<'a> {
    /// The vertices, and perhaps more behind them.
    pub bytes: &'a [u8],
    /// What is where in them.
    pub layout: VertexLayout,
}

/// Vertices to write, all attributes of each together: see [`Interleaved`].
pub struct InterleavedMut<'a> {
    /// Room for the vertices, and perhaps more behind them.
    pub bytes: &'a mut [u8],
    /// What goes where in it.
    pub layout: VertexLayout,
}

/// How many bytes, not what they are.
impl fmt::Debug for Interleaved<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interleaved").field("bytes", &self.bytes.len()).field("layout", &self.layout).finish()
    }
}

/// How many bytes, not what they are.
impl fmt::Debug for InterleavedMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterleavedMut")
            .field("bytes", &self.bytes.len())
            .field("layout", &self.layout)
            .finish()
    }
}
