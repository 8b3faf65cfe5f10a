//! Bounds of posed meshes computed from joints alone, and hitboxes fitted to meshes.

use std::borrow::Cow;

use condyle::sampling::PoseSource;
use condyle::{Affine, Error, Skin};
use condyle_query::bounds::{self, Aabb, JointBounds, Sphere};
use condyle_query::hitbox::{self, Fit, Hitboxes};

use crate::{Asset, Instance, Placement};

/// Bounds of one primitive of an instance in any pose; made by [`Asset::placed_bounds`].
#[derive(Debug, Clone)]
pub struct PlacedBounds {
    /// Index into [`Asset::instances`].
    pub instance: usize,
    /// Index into the instance's primitives; can differ from the index in the document.
    pub primitive: usize,
    bounds: JointBounds,
    /// World matrix of an instance that no joint moves.
    fixed: Option<Affine>,
}

impl PlacedBounds {
    fn matrices<'m>(&'m self, model: &'m [Affine]) -> &'m [Affine] {
        self.fixed.as_ref().map_or(model, std::slice::from_ref)
    }

    /// Returns the bounding box of the vertices in world space. `model` holds the model matrices of all
    /// joints.
    ///
    /// # Errors
    /// The same as for [`bounds::posed`].
    pub fn posed(&self, model: &[Affine]) -> Result<Aabb, Error> {
        bounds::posed(&self.bounds, self.matrices(model))
    }

    /// Returns the bounding sphere of the vertices in world space. `model` holds the model matrices of all
    /// joints.
    ///
    /// # Errors
    /// The same as for [`bounds::posed_sphere`].
    pub fn posed_sphere(&self, model: &[Affine]) -> Result<Sphere, Error> {
        bounds::posed_sphere(&self.bounds, self.matrices(model))
    }
}

impl Asset {
    /// Returns the bounds of each primitive in the default scene, for linear skinning.
    ///
    /// They hold for the morph weights of `clip` at the given `moments` in seconds. Without a clip they hold
    /// for the weights of the rest pose.
    ///
    /// # Errors
    /// The errors of [`JointBounds::morphed`], and those of the clip.
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

    /// Fits one hitbox to each joint that moves vertices in the default scene.
    ///
    /// `coverage` is [`Fit::coverage`](hitbox::Fit::coverage); 1 encloses all vertices. Instances that no
    /// joint moves get no hitbox.
    ///
    /// # Errors
    /// The same as for [`hitbox::fit`].
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

    /// Returns the joint with the largest weight for a vertex of a primitive. Returns `None` if no joint
    /// moves it.
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

    /// Returns the joints that move an instance. A fixed instance gets joint 0 of a one-joint skin, which
    /// belongs to no skeleton.
    fn skin_of(&self, instance: &Instance) -> Result<Cow<'_, Skin>, Error> {
        let rigid = |joint| Skin::new(vec![joint], vec![Affine::IDENTITY]).map(Cow::Owned);
        match instance.placement {
            Placement::Skin(skin) => Ok(Cow::Borrowed(&self.skins[skin])),
            Placement::Joint(joint) => rigid(joint),
            Placement::Fixed(_) => rigid(0),
        }
    }
}

/// Returns the minimum and maximum weight of each morph target.
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
