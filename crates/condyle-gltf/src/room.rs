//! How tall an asset is, and how far its vertices are from their joints: what the errors of compressed clips are measured
//! against.

use condyle::encode::Shell;
use condyle::{Affine, Error, NormalRule, Skin};

use crate::asset::{Asset, Placement};
use crate::poser::Poser;

impl Asset {
    /// The height of the rest pose along +Y, in the document's units: from the lowest skinned vertex to the highest, or from the
    /// lowest joint to the highest if nothing is skinned. Zero or less if the asset is flat or empty.
    ///
    /// # Errors
    /// As [`Poser::new`] and [`Poser::rest`].
    pub fn rest_height(&self) -> Result<f64, Error> {
        let mut poser = Poser::new(self, NormalRule::Plain.into())?;
        poser.rest()?;
        let skinned =
            self.instances.iter().enumerate().filter(|(_, i)| matches!(i.placement, Placement::Skin(_)));
        let vertices = skinned.flat_map(|(at, _)| poser.posed(at)).flat_map(|v| &v.positions).map(|p| p[1]);
        let mut heights: Vec<f32> = vertices.collect();
        if heights.is_empty() {
            heights.extend(poser.model().iter().map(|joint| joint.rows[1][3]));
        }
        let range = |(low, high): (f64, f64), y: &f32| (low.min(f64::from(*y)), high.max(f64::from(*y)));
        let (low, high) = heights.iter().fold((f64::MAX, f64::MIN), range);
        Ok(high - low)
    }

    /// Where the errors of this asset's clips are measured: [`Shell::of_meshes`] of all meshes that move with joints. Joints
    /// without vertices get points at `distance`, in the document's units.
    ///
    /// # Errors
    /// As [`Shell::of_meshes`].
    pub fn shell(&self, distance: f32) -> Result<Shell, Error> {
        // A mesh that follows one joint rigidly is bound in that joint's own space.
        let rigid = self.instances.iter().map(|instance| match instance.placement {
            Placement::Joint(joint) => Skin::new(vec![joint], vec![Affine::IDENTITY]).map(Some),
            Placement::Skin(_) | Placement::Fixed(_) => Ok(None),
        });
        let rigid = rigid.collect::<Result<Vec<_>, _>>()?;
        let meshes = self.instances.iter().zip(&rigid).filter_map(|(instance, rigid)| {
            let skin = match instance.placement {
                Placement::Skin(skin) => self.skins.get(skin),
                Placement::Joint(_) | Placement::Fixed(_) => rigid.as_ref(),
            }?;
            Some(instance.primitives.iter().map(move |primitive| (&*primitive.mesh, skin)))
        });
        Shell::of_meshes(&self.skeleton, meshes.flatten(), distance)
    }
}
