//! The input and the output of [`skin`](crate::skin()), and their checks.

use super::call::Attributes;
use super::interleaved::{Interleaved, InterleavedMut};
use crate::mesh::{VertexSlices, VertexSlicesMut};
use condyle_base::error::Error;

/// The input of [`skin`](crate::skin()): planes, with one array per attribute, or interleaved vertices. Both
/// convert to this type.
#[derive(Debug, Clone, Copy)]
pub enum VertexSource<'a> {
    /// One array per attribute.
    Planes(VertexSlices<'a>),
    /// All attributes of a vertex together.
    Interleaved(Interleaved<'a>),
}

/// The output of [`skin`](crate::skin()): planes, with one array per attribute, or interleaved vertices. Both
/// convert to this type.
#[derive(Debug)]
pub enum VertexTarget<'a> {
    /// One array per attribute.
    Planes(VertexSlicesMut<'a>),
    /// All attributes of a vertex together.
    Interleaved(InterleavedMut<'a>),
}

impl<'a> From<VertexSlices<'a>> for VertexSource<'a> {
    #[inline]
    fn from(planes: VertexSlices<'a>) -> Self {
        Self::Planes(planes)
    }
}

impl<'a> From<Interleaved<'a>> for VertexSource<'a> {
    #[inline]
    fn from(interleaved: Interleaved<'a>) -> Self {
        Self::Interleaved(interleaved)
    }
}

impl<'a> From<VertexSlicesMut<'a>> for VertexTarget<'a> {
    #[inline]
    fn from(planes: VertexSlicesMut<'a>) -> Self {
        Self::Planes(planes)
    }
}

impl<'a> From<InterleavedMut<'a>> for VertexTarget<'a> {
    #[inline]
    fn from(interleaved: InterleavedMut<'a>) -> Self {
        Self::Interleaved(interleaved)
    }
}

/// Checks the lengths of planes and returns their attributes. Normals and tangents may be empty.
fn check_planes(whats: [&'static str; 3], found: [usize; 3], count: usize) -> Result<Attributes, Error> {
    Error::check_len(whats[0], found[0], count)?;
    for at in [1, 2] {
        if found[at] != 0 {
            Error::check_len(whats[at], found[at], count)?;
        }
    }
    Ok(Attributes { normals: found[1] != 0, tangents: found[2] != 0 })
}

impl VertexSource<'_> {
    /// Checks that there are `count` vertices, and returns their attributes.
    pub(super) fn check(&self, count: usize) -> Result<Attributes, Error> {
        match self {
            Self::Planes(planes) => {
                let found = [planes.positions.len(), planes.normals.len(), planes.tangents.len()];
                check_planes(["bind positions", "bind normals", "bind tangents"], found, count)
            }
            Self::Interleaved(Interleaved { bytes, layout }) => {
                layout.check()?;
                Error::check_room("bind vertices", bytes.len(), layout.size_of(count))?;
                Ok(layout.has())
            }
        }
    }
}

impl VertexTarget<'_> {
    /// Checks that there are `count` vertices, and returns their attributes.
    pub(super) fn check(&self, count: usize) -> Result<Attributes, Error> {
        match self {
            Self::Planes(planes) => {
                let found = [planes.positions.len(), planes.normals.len(), planes.tangents.len()];
                check_planes(["posed positions", "posed normals", "posed tangents"], found, count)
            }
            Self::Interleaved(InterleavedMut { bytes, layout }) => {
                layout.check()?;
                Error::check_room("posed vertices", bytes.len(), layout.size_of(count))?;
                Ok(layout.has())
            }
        }
    }
}
