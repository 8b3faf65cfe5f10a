//! Meshes of a model.

#[cfg(feature = "whole")]
use std::sync::Arc;

use condyle::Affine;
#[cfg(feature = "whole")]
use condyle::{Skin, SkinnedMesh};
#[cfg(feature = "whole")]
use condyle_base::error::Error;
#[cfg(feature = "whole")]
use condyle_query::bounds::{Aabb, JointBounds};

#[cfg(feature = "whole")]
use crate::fault::Fault;

/// A mesh primitive.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) follows: Follows,
    pub(crate) node: u32,
    pub(crate) primitive: usize,
    pub(crate) vertices: usize,
    pub(crate) triangles: usize,
    pub(crate) morph_targets: usize,
    pub(crate) color: [f32; 4],
    pub(crate) shown: bool,
    #[cfg(feature = "whole")]
    pub(crate) mesh: Source,
}

/// The skin, the joint or the matrix that moves a mesh.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "whole"), expect(dead_code, reason = "the player draws no meshes"))]
pub(crate) enum Follows {
    Skin(usize),
    Joint(u16),
    Nothing(Affine),
}

/// The mesh of a part.
#[cfg(feature = "whole")]
pub(crate) struct Source {
    pub(crate) mesh: Arc<SkinnedMesh>,
    pub(crate) morph_weights: Vec<f32>,
    /// Skin of any placement: a mesh that follows one joint has one matrix.
    pub(crate) skin: Skin,
    bounds: JointBounds,
}

#[cfg(feature = "whole")]
impl Source {
    pub(crate) fn new(
        mesh: Arc<SkinnedMesh>,
        morph_weights: Vec<f32>,
        follows: Follows,
        skins: &[Skin],
    ) -> Result<Self, Fault> {
        let skin = match follows {
            Follows::Skin(skin) => skins[skin].clone(),
            Follows::Joint(joint) => Skin::new(vec![joint], vec![Affine::IDENTITY])?,
            Follows::Nothing(_) => Skin::new(vec![0], vec![Affine::IDENTITY])?,
        };
        let ranges: Vec<[f32; 2]> = morph_weights.iter().map(|&w| [w.min(0.0), w.max(1.0)]).collect();
        let bounds = JointBounds::morphed(&mesh, &skin, &ranges)?;
        Ok(Self { mesh, morph_weights, skin, bounds })
    }
}

#[cfg(feature = "whole")]
impl Part {
    /// Matrices that move the mesh: those of the joints, or the fixed one.
    pub(crate) fn matrices<'a>(&'a self, model: &'a [Affine]) -> &'a [Affine] {
        match &self.follows {
            Follows::Nothing(matrix) => std::slice::from_ref(matrix),
            _ => model,
        }
    }

    pub(crate) fn posed_box(&self, model: &[Affine]) -> Result<Aabb, Error> {
        condyle_query::bounds::posed(&self.mesh.bounds, self.matrices(model))
    }
}
