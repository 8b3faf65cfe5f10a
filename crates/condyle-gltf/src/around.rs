//! What is around the meshes of a model: bounds from its joints alone, and hitboxes fitted to it.

use std::borrow::Cow;

use condyle::sampling::PoseSource;
use condyle::{Affine, Error, Skin};
use condyle_query::bounds::{self, Aabb, JointBounds, Sphere};
use condyle_query::hitbox::{self, Fit, Hitboxes};

use crate::{Asset, Instance, Placement};

/// What is around a primitive of an instance in any pose, as [`Asset::placed_bounds`] finds it.
#[derive(Debug, Clone)]
pub struct PlacedBounds {
    /// An index into [`Asset::instances`].
    pub instance: usize,
    /// An index into the instance's primitives, not that of the document.
    pub primitive: usize,
    bounds: JointBounds,
    /// Where an instance is that no joint moves.
    fixed: Option<Affine>,
}

impl PlacedBounds {
    fn matrices<'m>(&'m self, model: &'m [Affine]) -> &'m [Affine] {
        self.fixed.as_ref().map_or(model, std::slice::from_ref)
    }

    /// The box around its vertices, in world space, by the model matrices of all joints.
    ///
    /// # Errors
    /// As [`bounds::posed`].
    pub fn posed(&self, model: &[Affine]) -> Result<Aabb, Error> {
        bounds::posed(&self.bounds, self.matrices(model))
    }

    /// The same as a sphere.
    ///
    /// # Errors
    /// As [`bounds::posed_sphere`].
    pub fn posed_sphere(&self, model: &[Affine]) -> Result<Sphere, Error> {
        bounds::posed_sphere(&self.bounds, self.matrices(model))
    }
}

impl Asset {
    /// What is around each primitive that the default scene shows, by the joints alone and for linear skinning: for the morph weights that a clip has at these
    /// moments, in seconds, or those at rest without a clip.
    ///
    /// # Errors
    /// As [`JointBounds::morphed`]; those of the clip.
    pub fn placed_bounds<M: PoseSource + ?Sized>(
        &self,
        clip: Option<&M>,
        moments: &[f64],
    ) -> Result<Vec<PlacedBounds>, Error> {
        let mut parts = Vec::new();
        for (at, instance) in self.shown() {
            let ranges = morph_ranges(instance, clip, moments)?;
            let skin = self.skin_of(instance)?;
            let fixed = match instance.placement {
                Placement::Fixed(world) => Some(world),
                Placement::Skin(_) | Placement::Joint(_) => None,
            };
            for (primitive, source) in instance.primitives.iter().enumerate() {
                let bounds = JointBounds::morphed(&source.mesh, &skin, &ranges)?;
                parts.push(PlacedBounds { instance: at, primitive, bounds, fixed });
            }
        }
        Ok(parts)
    }

    /// One hitbox for each joint that moves vertices of what the default scene shows. What no joint moves has none.
    ///
    /// # Errors
    /// As [`hitbox::fit`].
    pub fn hitboxes(&self, coverage: f32) -> Result<Hitboxes, Error> {
        let moved = self.shown().filter(|(_, it)| !matches!(it.placement, Placement::Fixed(_)));
        let mut skins = Vec::new();
        for (_, instance) in moved {
            skins.push((instance, self.skin_of(instance)?));
        }
        let meshes = skins
            .iter()
            .flat_map(|(instance, skin)| instance.primitives.iter().map(move |it| (&*it.mesh, &**skin)));
        hitbox::fit(meshes, &Fit { coverage, ..Fit::default() })
    }

    /// The joint that moves a vertex of a primitive of an instance most; `None` if none does.
    #[must_use]
    pub fn heaviest_joint(&self, instance: &Instance, primitive: usize, vertex: u32) -> Option<u16> {
        match instance.placement {
            Placement::Joint(joint) => Some(joint),
            Placement::Fixed(_) => None,
            Placement::Skin(skin) => {
                let influences = instance.primitives[primitive].mesh.influences();
                let (joint, _) = influences.row(vertex as usize).next()?;
                Some(self.skins[skin].joints()[usize::from(joint)])
            }
        }
    }

    /// The joints that move an instance. One that is fixed has a joint of its own, which no skeleton has.
    fn skin_of(&self, instance: &Instance) -> Result<Cow<'_, Skin>, Error> {
        let rigid = |joint| Skin::new(vec![joint], vec![Affine::IDENTITY]).map(Cow::Owned);
        match instance.placement {
            Placement::Skin(skin) => Ok(Cow::Borrowed(&self.skins[skin])),
            Placement::Joint(joint) => rigid(joint),
            Placement::Fixed(_) => rigid(0),
        }
    }
}

/// The least and the greatest weight of each morph target.
fn morph_ranges<M: PoseSource + ?Sized>(
    instance: &Instance,
    clip: Option<&M>,
    moments: &[f64],
) -> Result<Vec<[f32; 2]>, Error> {
    let rest = &instance.morph_weights;
    let (Some(clip), false) = (clip, rest.is_empty()) else {
        return Ok(rest.iter().map(|&weight| [weight; 2]).collect());
    };
    let mut ranges = vec![[f32::INFINITY, f32::NEG_INFINITY]; rest.len()];
    for &seconds in moments {
        let mut weights = rest.clone();
        clip.weights(instance.node as u32, seconds, &mut weights)?;
        for ([least, most], weight) in ranges.iter_mut().zip(weights) {
            (*least, *most) = (least.min(weight), most.max(weight));
        }
    }
    Ok(ranges)
}
