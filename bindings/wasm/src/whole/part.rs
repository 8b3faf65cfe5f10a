//! Vertices of the meshes of a model.

use std::sync::Arc;

use condyle::{Affine, Skin, SkinnedMesh};
use condyle_base::error::Error;
use condyle_query::bounds::{Aabb, JointBounds};

use crate::fault::Fault;
use crate::part::{Follows, Part};

/// The mesh of a part.
pub(crate) struct Source {
    pub(crate) mesh: Arc<SkinnedMesh>,
    pub(crate) morph_weights: Vec<f32>,
    /// Skin of any placement: a mesh that follows one joint has one matrix.
    pub(crate) skin: Skin,
    /// Matrix of a mesh that follows nothing.
    fixed: Option<Affine>,
    bounds: JointBounds,
}

impl Source {
    pub(crate) fn new(
        mesh: Arc<SkinnedMesh>,
        morph_weights: Vec<f32>,
        (follows, fixed): (Follows, Option<Affine>),
        skins: &[Skin],
    ) -> Result<Self, Fault> {
        let skin = match follows {
            Follows::Skin(skin) => skins[skin].clone(),
            Follows::Joint(joint) => Skin::new(vec![joint], vec![Affine::IDENTITY])?,
            Follows::Nothing => Skin::new(vec![0], vec![Affine::IDENTITY])?,
        };
        let ranges: Vec<[f32; 2]> = morph_weights.iter().map(|&w| [w.min(0.0), w.max(1.0)]).collect();
        let bounds = JointBounds::morphed(&mesh, &skin, &ranges)?;
        Ok(Self { mesh, morph_weights, skin, fixed, bounds })
    }

    pub(crate) fn vertices(&self) -> usize {
        self.mesh.vertex_count()
    }

    pub(crate) fn triangles(&self) -> usize {
        self.mesh.indices().len() / 3
    }

    pub(crate) fn morph_targets(&self) -> usize {
        self.mesh.morph_targets().len()
    }
}

impl Part {
    /// Matrices that move the mesh: those of the joints, or the fixed one.
    pub(crate) fn matrices<'a>(&'a self, model: &'a [Affine]) -> &'a [Affine] {
        self.mesh.fixed.as_ref().map_or(model, std::slice::from_ref)
    }

    pub(crate) fn posed_box(&self, model: &[Affine]) -> Result<Aabb, Error> {
        condyle_query::bounds::posed(&self.mesh.bounds, self.matrices(model))
    }
}
