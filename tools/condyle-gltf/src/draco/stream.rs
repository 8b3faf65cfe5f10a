//! Decodes the bitstream of a compressed primitive, within the limits that its accessors declare.

use draco_core::{
    DataType, DecodeLimits, DecoderBuffer, ErrorKind, Mesh, MeshDecoder, PointAttribute, PointIndex,
};

use super::{Attribute, Decoded};
use crate::format::Component;
use crate::json::Json;
use crate::problem::Problems;

/// Number of attributes allowed in a stream in addition to those in the document. They are decoded too and
/// take memory.
const UNNAMED: usize = 4;

pub(super) fn decode<'a>(
    compressed: &Json<'a>,
    attributes: &[Attribute<'a>],
    indices: Option<&Json<'a>>,
    view_count: usize,
    view: &impl Fn(usize) -> Option<&'a [u8]>,
    problems: &mut Problems,
) -> Option<Decoded> {
    compressed.require("attributes", problems)?;
    if attributes.is_empty() {
        problems.error(&compressed.path, "refers to no attribute of the primitive");
        return None;
    }
    let index = compressed.require("bufferView", problems)?.index("buffer views", view_count, problems)?;
    // A broken view has been reported.
    let bytes = view(index)?;
    let declared = attributes.iter().map(|a| a.count).max().unwrap_or(0);
    let corners = match indices {
        Some(indices) => indices.get("count")?.whole(&mut Problems::unheard())?,
        None => declared,
    };
    // Many primitives can refer to one stream.
    problems.afford(&compressed.path, bytes.len())?;
    afford(compressed, attributes, declared, corners, problems)?;
    let limits = DecodeLimits::default()
        .with_max_points(declared as u64)
        .with_max_faces((corners / 3) as u64)
        .with_max_decoded_bytes(declared.saturating_mul(16 * (attributes.len() + UNNAMED)) as u64);
    let mut mesh = Mesh::new();
    if let Err(error) =
        MeshDecoder::new().decode(&mut DecoderBuffer::new(bytes).with_limits(limits), &mut mesh)
    {
        let what = match error.kind() {
            ErrorKind::LimitExceeded => {
                format!(
                    "the data decodes to more than the {declared} vertices and {corners} corners of its accessors"
                )
            }
            _ => format!("the data cannot be decoded: {error}"),
        };
        problems.error(&compressed.path, what);
        return None;
    }
    let (vertices, indices) = (mesh.num_points(), mesh.faces().as_flattened());
    for (what, found, stated) in
        [("vertices", vertices, declared), ("corners of triangles", indices.len(), corners)]
    {
        if found != stated {
            let what = format!("the accessors declare {stated} {what}, but the data decodes to {found}");
            problems.warning(&compressed.path, what, "the decoded count is used");
        }
    }
    if vertices > declared {
        afford(compressed, attributes, vertices - declared, 0, problems)?;
    }
    let mut decoded = Vec::new();
    for attribute in attributes {
        let place = format!("{}/attributes/{}", compressed.path, attribute.name);
        let Some(source) = mesh.attribute_by_unique_id(attribute.id) else {
            problems.error(place, format!("the data holds no attribute {}", attribute.id));
            return None;
        };
        if usize::from(source.num_components()) != attribute.width {
            let (found, width) = (source.num_components(), attribute.width);
            problems.error(
                place,
                format!("attribute {} has {found} numbers a vertex, {width} expected", attribute.id),
            );
            return None;
        }
        decoded.push(attribute.values(source, vertices));
    }
    Some(Decoded { vertices, attributes: decoded, indices: indices.iter().map(|point| point.0).collect() })
}

/// Reserves memory for this number of vertices and corners: twice their size, because decoding takes the same
/// amount again.
fn afford(
    compressed: &Json<'_>,
    attributes: &[Attribute<'_>],
    vertices: usize,
    corners: usize,
    problems: &mut Problems,
) -> Option<()> {
    let vertex: usize = attributes.iter().map(Attribute::stride).sum();
    let bytes = vertices.saturating_mul(vertex).saturating_add(corners.saturating_mul(size_of::<u32>()));
    problems.afford(&compressed.path, bytes.saturating_mul(2))
}

impl Attribute<'_> {
    fn values(&self, source: &PointAttribute, vertices: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(vertices * self.stride());
        let (kind, stride) = (source.data_type(), source.byte_stride() as usize);
        let size = kind.byte_length();
        for vertex in 0..vertices {
            let at = (source.mapped_index(PointIndex(vertex as u32)).0 as usize).saturating_mul(stride);
            let element = source.buffer().data().get(at..).unwrap_or_default();
            for number in 0..self.width {
                // Missing data in a stream counts as zero.
                let bytes = element.get(number * size..(number + 1) * size).unwrap_or(&[0; 8][..size]);
                push(&mut out, self.component, kind, bytes);
            }
            out.resize((vertex + 1) * self.stride(), 0);
        }
        out
    }
}

/// Appends one number as the document's component type, clamped to its range.
fn push(out: &mut Vec<u8>, component: Component, kind: DataType, bytes: &[u8]) {
    macro_rules! read {
        ($number:ty) => {
            bytes.try_into().map_or(0.0, |bytes| <$number>::from_le_bytes(bytes) as f64)
        };
    }
    let number = match kind {
        // Keeps all bits of a NaN.
        DataType::Float32 if component == Component::F32 => return out.extend(bytes),
        DataType::Float32 => read!(f32),
        DataType::Float64 => read!(f64),
        DataType::Int8 => read!(i8),
        DataType::Uint8 | DataType::Bool => read!(u8),
        DataType::Int16 => read!(i16),
        DataType::Uint16 => read!(u16),
        DataType::Int32 => read!(i32),
        DataType::Uint32 => read!(u32),
        DataType::Int64 => read!(i64),
        DataType::Uint64 => read!(u64),
        DataType::Invalid => 0.0,
    };
    match component {
        Component::I8 => out.extend((number.round() as i8).to_le_bytes()),
        Component::U8 => out.extend((number.round() as u8).to_le_bytes()),
        Component::I16 => out.extend((number.round() as i16).to_le_bytes()),
        Component::U16 => out.extend((number.round() as u16).to_le_bytes()),
        Component::U32 => out.extend((number.round() as u32).to_le_bytes()),
        Component::F32 => out.extend((number as f32).to_le_bytes()),
    }
}
