//! Distances on a model: its height, where errors are measured, and the vertex that is furthest off.

use std::path::Path;

use condyle::{Affine, Clip, Encoded, Error, NormalRule, RawClip, Shell, Skin};
use condyle_gltf::{Asset, Placement, Poser};

use crate::failure::Failure;
use crate::text::path_text;

/// The vertex that is furthest off of those that follow the worst joint, at the worst moment.
pub(super) struct Worst {
    /// The name of the instance.
    pub(super) mesh: String,
    pub(super) vertex: usize,
    /// In units of the model.
    pub(super) distance: f64,
}

/// From the lowest skinned vertex of the rest pose to the highest, in units of the file; of the joints where there are none.
pub(super) fn rest_height(asset: &Asset, path: &Path) -> Result<f64, Failure> {
    let name = path_text(path);
    let unfit = |e: Error| Failure::Data(format!("{name}: {e}; reduce the model to what you need"));
    let mut poser = Poser::new(asset, NormalRule::Plain).map_err(unfit)?;
    poser.rest().map_err(unfit)?;
    let skinned =
        asset.instances.iter().enumerate().filter(|(_, i)| matches!(i.placement, Placement::Skin(_)));
    let vertices = skinned.flat_map(|(at, _)| poser.posed(at)).flat_map(|v| &v.positions).map(|p| p[1]);
    let mut heights: Vec<f32> = vertices.collect();
    if heights.is_empty() {
        heights.extend(poser.model().iter().map(|joint| joint.rows[1][3]));
    }
    let range = |(low, high): (f64, f64), y: &f32| (low.min(f64::from(*y)), high.max(f64::from(*y)));
    let (low, high) = heights.iter().fold((f64::MAX, f64::MIN), range);
    match high > low {
        true => Ok(high - low),
        false => {
            Err(Failure::Usage(format!("{name} is flat at rest, so --height says nothing; leave it out")))
        }
    }
}

/// The farthest vertices of all meshes that move with joints; points at a distance, in units of the model, on the other joints.
pub(super) fn shell_of(asset: &Asset, distance: f32) -> Result<Shell, Error> {
    // A mesh that follows one joint as a whole is bound where it is.
    let rigid = asset.instances.iter().map(|instance| match instance.placement {
        Placement::Joint(joint) => Skin::new(vec![joint], vec![Affine::IDENTITY]).map(Some),
        Placement::Skin(_) | Placement::Fixed(_) => Ok(None),
    });
    let rigid = rigid.collect::<Result<Vec<_>, _>>()?;
    let meshes = asset.instances.iter().zip(&rigid).filter_map(|(instance, rigid)| {
        let skin = match instance.placement {
            Placement::Skin(skin) => asset.skins.get(skin),
            Placement::Joint(_) | Placement::Fixed(_) => rigid.as_ref(),
        }?;
        Some(instance.primitives.iter().map(move |primitive| (&*primitive.mesh, skin)))
    });
    Shell::of_meshes(&asset.skeleton, meshes.flatten(), distance)
}

/// Finds it by posing all meshes twice. `None` where no vertex follows the joint.
pub(super) fn worst(asset: &Asset, raw: &RawClip, encoded: &Encoded) -> Result<Option<Worst>, Error> {
    let measured = &encoded.measured;
    let clip = Clip::from_bytes(&encoded.bytes)?;
    let mut poser = Poser::new(asset, NormalRule::Plain)?;
    poser.pose(Some(raw), measured.seconds)?;
    let of = |poser: &Poser<'_>| -> Vec<Vec<Vec<[f32; 3]>>> {
        let instances = (0..asset.instances.len()).map(|at| poser.posed(at));
        instances.map(|primitives| primitives.iter().map(|v| v.positions.clone()).collect()).collect()
    };
    let wanted = of(&poser);
    poser.pose(Some(&clip), measured.seconds)?;
    let mut found: Option<Worst> = None;
    for (at, instance) in asset.instances.iter().enumerate() {
        let own = [measured.joint as u16];
        let joints = match instance.placement {
            Placement::Skin(skin) => asset.skins[skin].joints(),
            Placement::Joint(joint) if usize::from(joint) == measured.joint => &own,
            Placement::Joint(_) | Placement::Fixed(_) => continue,
        };
        for ((primitive, want), is) in instance.primitives.iter().zip(&wanted[at]).zip(poser.posed(at)) {
            let (starts, named, _) = primitive.mesh.influences().as_slices();
            for (vertex, (p, q)) in want.iter().zip(&is.positions).enumerate() {
                let row = &named[starts[vertex] as usize..starts[vertex + 1] as usize];
                if !row.iter().any(|&j| usize::from(joints[usize::from(j)]) == measured.joint) {
                    continue;
                }
                let square: f64 = p.iter().zip(q).map(|(p, q)| (f64::from(*p) - f64::from(*q)).powi(2)).sum();
                let distance = square.sqrt();
                if found.as_ref().is_none_or(|found| distance > found.distance) {
                    found = Some(Worst { mesh: instance.name.clone(), vertex, distance });
                }
            }
        }
    }
    Ok(found)
}
