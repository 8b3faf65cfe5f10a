//! The values of a call that all vertices share: influences, palette, and requested attributes.

use super::parts::{DualPalette, PaletteMatrix};
use super::rows::Rows;
use crate::mesh::GroupRows;

/// The optional attributes of vertices.
#[derive(Clone, Copy)]
pub(super) struct Attributes {
    pub(super) normals: bool,
    pub(super) tangents: bool,
}

/// The matrix that transforms normals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Normals {
    /// There are no normals.
    None,
    /// The blended matrix.
    Blended,
    /// The blend of the palette's normal matrices.
    Own,
    /// The cofactors of the blended matrix.
    Cofactors,
}

/// The attributes that a call computes in addition to positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frames {
    pub(super) normals: Normals,
    pub(super) tangents: bool,
}

/// The values of a call that all vertices share.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) matrices: &'a [PaletteMatrix],
    pub(super) normal_matrices: &'a [PaletteMatrix],
    pub(super) frames: Frames,
    /// Dual quaternions, if the palette has them. They replace or supplement the matrices.
    pub(super) dual: Option<DualCall<'a>>,
}

/// The influences of some vertices.
#[derive(Clone, Copy)]
pub(super) struct InfluenceRows<'a> {
    /// Where the rows of each group are.
    pub(super) groups: &'a [GroupRows],
    /// The first influence of each vertex, and the end of the last vertex's influences.
    pub(super) starts: &'a [u32],
}

/// The values of a call by dual quaternions that all vertices share.
#[derive(Clone, Copy)]
pub(super) struct DualCall<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) palette: &'a DualPalette,
    pub(super) frames: Frames,
    /// The share of dual quaternions in each vertex, from 0 to 1; empty if all shares are 1.
    pub(super) shares: &'a [f32],
}

impl<'a> DualCall<'a> {
    pub(super) fn new(rows: Rows<'a>, palette: &'a DualPalette, frames: Frames, shares: &'a [f32]) -> Self {
        let normals = match frames.normals {
            Normals::Own if palette.normal_stretches.is_empty() => Normals::Blended,
            normals => normals,
        };
        Self { rows, palette, frames: Frames { normals, ..frames }, shares }
    }

    /// Returns the call without the first `count` vertices.
    pub(super) fn after(self, count: usize) -> Self {
        Self { shares: self.shares.get(count..).unwrap_or(&[]), ..self }
    }

    /// Whether the first `count` vertices use dual quaternions only.
    pub(super) fn is_whole(&self, count: usize) -> bool {
        self.shares.iter().take(count).all(|&share| share >= 1.0)
    }

    pub(super) fn is_stretched(&self) -> bool {
        !self.palette.stretches.is_empty()
    }
}
