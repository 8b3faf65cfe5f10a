//! What is around the meshes of a model: bounds from its joints alone, and hitboxes fitted to it.

use std::borrow::Cow;

use condyle::bounds::{self, Aabb, JointBounds, Sphere};
use condyle::hitbox::{self, Fit, Hitboxes};
use condyle::sample::PoseSource;
use condyle::{Affine, Error, Skin};
use condyle_gltf::{Asset, Instance, Placement};

use super::document::shown;
use super::playable::Playable;

/// What is around a primitive of an instance.
pub(crate) struct Part {
    pub(crate) instance: usize,
    /// Its place in the instance, not its index in the document.
    pub(crate) primitive: usize,
    bounds: JointBounds,
    /// Where an instance is that no joint moves.
    fixed: Option<Affine>,
}

impl Part {
    fn matrices<'m>(&'m self, model: &'m [Affine]) -> &'m [Affine] {
        self.fixed.as_ref().map_or(model, std::slice::from_ref)
    }

    /// The box around its vertices, by the matrices of the joints.
    pub(crate) fn posed(&self, model: &[Affine]) -> Result<Aabb, Error> {
        bounds::posed(&self.bounds, self.matrices(model))
    }

    pub(crate) fn posed_sphere(&self, model: &[Affine]) -> Result<Sphere, Error> {
        bounds::posed_sphere(&self.bounds, self.matrices(model))
    }
}

/// The primitives of the default scene, for the morph weights that a clip has at these moments.
pub(crate) fn parts(asset: &Asset, clip: Option<&Playable<'_>>, moments: &[f32]) -> Result<Vec<Part>, Error> {
    let mut parts = Vec::new();
    for (at, instance) in shown(asset) {
        let ranges = morph_ranges(instance, clip, moments)?;
        let skin = skin_of(asset, instance)?;
        let fixed = match instance.placement {
            Placement::Fixed(world) => Some(world),
            Placement::Skin(_) | Placement::Joint(_) => None,
        };
        for (primitive, source) in instance.primitives.iter().enumerate() {
            let bounds = JointBounds::morphed(&source.mesh, &skin, &ranges)?;
            parts.push(Part { instance: at, primitive, bounds, fixed });
        }
    }
    Ok(parts)
}

/// The least and the greatest weight of each morph target.
fn morph_ranges(
    instance: &Instance,
    clip: Option<&Playable<'_>>,
    moments: &[f32],
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

/// The joints that move an instance. One that is fixed has a joint of its own, which no skeleton has.
fn skin_of<'a>(asset: &'a Asset, instance: &Instance) -> Result<Cow<'a, Skin>, Error> {
    let rigid = |joint| Skin::new(vec![joint], vec![Affine::IDENTITY]).map(Cow::Owned);
    match instance.placement {
        Placement::Skin(skin) => Ok(Cow::Borrowed(&asset.skins[skin])),
        Placement::Joint(joint) => rigid(joint),
        Placement::Fixed(_) => rigid(0),
    }
}

/// The joint that moves a vertex most; `None` if none does.
pub(crate) fn heaviest_joint(
    asset: &Asset,
    instance: &Instance,
    primitive: usize,
    vertex: u32,
) -> Option<u16> {
    match instance.placement {
        Placement::Joint(joint) => Some(joint),
        Placement::Fixed(_) => None,
        Placement::Skin(skin) => {
            let influences = instance.primitives[primitive].mesh.influences();
            let (joint, _) = influences.row(vertex as usize).next()?;
            Some(asset.skins[skin].joints()[usize::from(joint)])
        }
    }
}

/// One hitbox for each joint that moves vertices of the default scene. What no joint moves has none.
pub(crate) fn hitboxes(asset: &Asset, coverage: f32) -> Result<Hitboxes, Error> {
    let moved = shown(asset).filter(|(_, it)| !matches!(it.placement, Placement::Fixed(_)));
    let mut skins = Vec::new();
    for (_, instance) in moved {
        skins.push((instance, skin_of(asset, instance)?));
    }
    let meshes = skins
        .iter()
        .flat_map(|(instance, skin)| instance.primitives.iter().map(move |it| (&*it.mesh, &**skin)));
    hitbox::fit(meshes, &Fit { coverage, ..Fit::default() })
}
