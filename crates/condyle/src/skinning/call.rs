//! What is the same for all vertices of a call: influences, palette, and what is computed.

use super::parts::{DualPalette, PaletteMatrix};
use super::rows::Rows;

/// The attributes of vertices besides positions.
#[derive(Clone, Copy)]
pub(super) struct Attributes {
    pub(super) normals: bool,
    pub(super) tangents: bool,
}

/// What a normal is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Normals {
    /// Nothing: there are none.
    None,
    /// The blended matrix.
    Blended,
    /// The blend of the palette's normal matrices.
    Own,
    /// The cofactors of the blended matrix.
    Cofactors,
}

/// What a call computes besides positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frames {
    pub(super) normals: Normals,
    pub(super) tangents: bool,
}

/// What is the same for all vertices.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) matrices: &'a [PaletteMatrix],
    pub(super) normal_matrices: &'a [PaletteMatrix],
    pub(super) frames: Frames,
    /// What is computed besides, or instead.
    pub(super) dual: Option<DualCall<'a>>,
}

/// The influences of some vertices.
#[derive(Clone, Copy)]
pub(super) struct InfluenceRows<'a> {
    /// The number of influences of each vertex of a group, for each group, or 0 where they differ.
    pub(super) counts: &'a [u8],
    /// The first influence of each vertex, and the end of the last one.
    pub(super) starts: &'a [u32],
}

/// The same for dual quaternions.
#[derive(Clone, Copy)]
pub(super) struct DualCall<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) palette: &'a DualPalette,
    pub(super) frames: Frames,
    /// How much of each vertex comes of this, or nothing where all does.
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

    /// Without the first `count` vertices.
    pub(super) fn after(self, count: usize) -> Self {
        Self { shares: self.shares.get(count..).unwrap_or(&[]), ..self }
    }

    /// Whether nothing else is asked for of the first `count` vertices.
    pub(super) fn is_whole(&self, count: usize) -> bool {
        self.shares.iter().take(count).all(|&share| share >= 1.0)
    }

    pub(super) fn is_stretched(&self) -> bool {
        !self.palette.stretches.is_empty()
    }
}
