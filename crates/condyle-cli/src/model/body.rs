//! Motions of bodies, in AMASS's layout: opened as if they were documents of their joints.

use std::path::Path;

use condyle::clip::Y_UP_FROM_Z_UP;
use condyle_body::{BodyModel, BodyMotion, Refused};
use condyle_gltf::{Asset, Problem, Severity};

use super::document::refusal;
use crate::failure::{Failure, too_large};
use crate::options::space::Space;
use crate::text::path_text;

/// A body model in the layout of the SMPL family.
pub(crate) fn model(path: &Path) -> Result<BodyModel, Failure> {
    BodyModel::open(path).map_err(|refused| Failure::Data(refused.to_string()))
}

/// The motion of a person of this model, in metres: the body has the numbers that the file says, as far as the model
/// knows them.
pub(crate) fn open(path: &Path, model: &BodyModel, space: Space) -> Result<Asset, Failure> {
    let name = path_text(path);
    let refused = |refused: Refused| Failure::Data(refused.to_string());
    let motion = BodyMotion::open(path).map_err(refused)?;
    let body = model.shaped(motion.betas()).map_err(|e| too_large(&name, &e))?;
    let moved = motion.clip(&body).map_err(refused)?;
    let mut clip = moved.clip;
    if space.is_z_up() {
        // Body models stand along Y at rest; it is the motion that brings them to Z.
        clip = clip.turned(body.skeleton(), Y_UP_FROM_Z_UP).map_err(|e| too_large(&name, &e))?;
    }
    let mut asset =
        Asset::of_motion(&name, body.skeleton(), vec![clip]).map_err(|refused| refusal(path, &refused))?;
    asset.problems.extend(moved.problems);
    if body.unused_betas() > 0 {
        let (all, has) = (motion.betas().len(), model.shape_count());
        let what = format!("the person has {all} numbers, the model {has}");
        asset.problems.push(Problem::new(Severity::Note, "", what, format!("the first {has} are used")));
    }
    Ok(asset)
}
