//! The vertex with the largest error.

use condyle::{Error, NormalRule, RawClip};
use condyle_encode::Encoded;
use condyle_gltf::{Asset, Placement, Poser};

/// The vertex with the largest error among those that the worst joint influences, at the worst moment.
pub(super) struct Worst {
    /// The name of the instance.
    pub(super) mesh: String,
    pub(super) vertex: usize,
    /// Distance in units of the model.
    pub(super) distance: f64,
}

/// Finds the vertex by posing all meshes with both clips. `None` if the joint influences no vertex.
pub(super) fn worst(asset: &Asset, raw: &RawClip, encoded: &Encoded) -> Result<Option<Worst>, Error> {
    let measured = &encoded.measured;
    let mut poser = Poser::new(asset, NormalRule::Plain.into())?;
    poser.pose(Some(raw), measured.seconds)?;
    let of = |poser: &Poser<'_>| -> Vec<Vec<Vec<[f32; 3]>>> {
        let instances = (0..asset.instances.len()).map(|at| poser.posed(at));
        instances.map(|primitives| primitives.iter().map(|v| v.positions.clone()).collect()).collect()
    };
    let wanted = of(&poser);
    poser.pose(Some(encoded.clip()), measured.seconds)?;
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
