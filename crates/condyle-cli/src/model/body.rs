//! Motions of bodies, in AMASS's layout: opened as if they were documents of their joints.

use std::path::Path;

use condyle_body::{BodyModel, BodyMotion};
use condyle_gltf::Asset;

use super::document::{refusal, too_large};
use crate::failure::Failure;
use crate::text::path_text;

/// A body model in the layout of the SMPL family.
pub(crate) fn model(path: &Path) -> Result<BodyModel, Failure> {
    BodyModel::open(path).map_err(|refused| Failure::Data(refused.to_string()))
}

/// The motion of a person of this model, in metres: the body has the numbers that the file says, as far as the model knows them.
pub(crate) fn open(path: &Path, model: &BodyModel) -> Result<Asset, Failure> {
    let name = path_text(path);
    let motion = BodyMotion::open(path).map_err(|refused| Failure::Data(refused.to_string()))?;
    let betas = motion.betas();
    let betas = &betas[..betas.len().min(model.shape_count())];
    let body = model.shaped(betas).map_err(|e| too_large(&name, &e))?;
    let clip = motion.clip(&body).map_err(|e| too_large(&name, &e))?;
    Asset::of_motion(&name, body.skeleton(), vec![clip]).map_err(|refused| refusal(path, &refused))
}
