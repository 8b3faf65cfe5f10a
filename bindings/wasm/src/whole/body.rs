//! State of a pose that needs meshes or solvers.

use condyle::sampling::PoseSource;
use condyle::{Palette, Vertices};
use condyle_query::hitbox::{Hitboxes, PosedHitboxes};
use condyle_query::hits::TriangleTree;
use condyle_solve::full_body::BodyBuffer;
use condyle_solve::spring_bones::SpringState;

use super::Motion;
use crate::character::Character;
use crate::fault::Fault;
use crate::part::Part;

/// Vertices of a part in a pose.
#[derive(Default)]
pub(crate) struct Posed {
    pub(crate) vertices: Vertices,
    pub(crate) morphed: Vertices,
    pub(crate) weights: Vec<f32>,
    pub(crate) tree: Option<TriangleTree>,
    /// Pose that `vertices` and `tree` belong to; 0 for none.
    pub(crate) of: u64,
    pub(crate) tree_of: u64,
    pub(crate) differences: Vec<f32>,
}

/// Everything of a pose that needs meshes or solvers.
pub(crate) struct Body {
    pub(crate) parts: Vec<Posed>,
    pub(crate) palette: Palette,
    /// Changes with each pose.
    pub(crate) now: u64,
    pub(crate) is_dual: bool,
    pub(crate) hitboxes: Option<(Hitboxes, PosedHitboxes)>,
    pub(crate) springs: Option<SpringState>,
    pub(crate) buffer: BodyBuffer,
    /// Numbers of the last result.
    pub(crate) out: Vec<f64>,
}

impl Body {
    pub(crate) fn new(character: &Character) -> Self {
        let weights = |part: &Part| Posed { weights: part.mesh.morph_weights.clone(), ..Posed::default() };
        let springs = character.asset.borrow();
        let springs = springs.as_ref().and_then(|asset| asset.springs.as_ref());
        Self {
            parts: character.meshes.iter().map(weights).collect(),
            palette: Palette::default(),
            now: 1,
            is_dual: false,
            hitboxes: None,
            springs: springs.map(SpringState::new),
            buffer: BodyBuffer::default(),
            out: Vec::with_capacity(16),
        }
    }

    /// The model matrices have changed.
    pub(crate) fn moved(&mut self) {
        self.now += 1;
    }

    pub(crate) fn rest(&mut self, character: &Character) {
        for (posed, part) in self.parts.iter_mut().zip(&character.meshes) {
            posed.weights.clone_from(&part.mesh.morph_weights);
        }
    }

    pub(crate) fn copy(&mut self, other: &Self) {
        for (posed, other) in self.parts.iter_mut().zip(&other.parts) {
            posed.weights.clone_from(&other.weights);
        }
    }

    /// Samples the weights of morph targets.
    pub(crate) fn sample(&mut self, it: &Character, clip: &Motion, seconds: f64) -> Result<(), Fault> {
        for (posed, part) in self.parts.iter_mut().zip(&it.meshes) {
            if part.mesh.morph_targets() > 0 {
                posed.weights.clone_from(&part.mesh.morph_weights);
                clip.clip.weights(part.node, seconds, &mut posed.weights)?;
            }
        }
        Ok(())
    }
}
