//! BVH files: the hierarchy, and the motion as a clip if there are frames, in the units of the file.

use std::collections::BTreeSet;

use condyle_base::problem::Refused;
use condyle_bvh::{Bvh, ImportOptions};

use crate::error::OpenError;
use crate::format::Format;
use crate::input::{Data, Input, Options};
use crate::model::{Model, ModelClip};

pub(crate) fn read(input: Input<'_>, _: &Options<'_>) -> Result<Model, OpenError> {
    let bvh = match input.data {
        Data::File(path) => Bvh::open(path)?,
        Data::Bytes(bytes) | Data::Parts(bytes, _) => Bvh::from_slice(input.name, bytes)?,
    };
    let options = ImportOptions::default();
    let unfit =
        |what: &'static str| move |error: condyle::Error| Refused::at(input.name, what, error.to_string());
    let skeleton = bvh.skeleton(&options).map_err(unfit("the hierarchy"))?;
    let clip =
        (bvh.frame_count() > 0).then(|| bvh.clip(&options)).transpose().map_err(unfit("the motion"))?;
    Ok(Model {
        name: input.name.into(),
        format: Format::Bvh,
        skeleton,
        #[cfg(feature = "gltf")]
        asset: None,
        clips: clip.into_iter().map(|clip| ModelClip::from(clip.with_name(input.stem()))).collect(),
        unit: None,
        is_turned: false,
        problems: bvh.problems().to_vec(),
        files: BTreeSet::new(),
        has_bare_meshes: false,
    })
}
