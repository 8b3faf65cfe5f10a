//! The build that opens files of any format: meshes, rays and solvers.

mod body;
mod feet;
mod frames;
mod mesh;
mod motion;
mod open;
mod part;
mod query;
mod solve;

use std::cell::RefCell;

use condyle::{Looping, Pose};
use condyle_base::error::Error;

pub(crate) use body::Body;
pub(crate) use motion::{Cursor, Motion, is_blended};
pub(crate) use open::open;
pub(crate) use part::Source;

/// Document without its clips, if there is one.
pub(crate) type Asset = RefCell<Option<condyle_gltf::Asset>>;

/// Applies the node constraints of the document.
pub(crate) fn constrain(asset: &Asset, pose: &mut Pose) -> Result<(), Error> {
    asset.borrow().as_ref().map_or(Ok(()), |asset| asset.constrain(pose))
}

/// How a clip goes on outside of its time.
fn looping(wrap: bool) -> Looping {
    if wrap { Looping::Wrap } else { Looping::Clamp }
}
