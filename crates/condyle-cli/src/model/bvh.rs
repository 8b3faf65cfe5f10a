//! BVH files: opened as if they were documents that hold their joints as nodes and nothing else.

use std::io::Read;
use std::path::Path;

use condyle_bvh::{Bvh, ImportOptions};
use condyle_gltf::{Asset, Refused};

use crate::text;

/// Whether a file is a BVH: its first bytes tell, or its name, so that what is wrong with a broken one is said in its own words.
pub(crate) fn is_bvh(path: &Path) -> bool {
    let mut first = Vec::new();
    let is_file = std::fs::metadata(path).is_ok_and(|it| it.is_file());
    let mut read = || std::fs::File::open(path)?.take(64).read_to_end(&mut first);
    is_file && read().is_ok() && (Bvh::recognise(&first) || text::ending(path).as_deref() == Some("bvh"))
}

/// The skeleton, and the motion as a clip if it has frames, in the units of the file.
pub(crate) fn open(path: &Path) -> Result<Asset, Refused> {
    let bvh = Bvh::open(path)?;
    let name = path.display().to_string();
    let options = ImportOptions::default();
    let unfit = |error: condyle::Error| Refused::because(&name, error.to_string());
    let skeleton = bvh.skeleton(&options).map_err(unfit)?;
    let clip = (bvh.frame_count() > 0).then(|| bvh.clip(&options)).transpose().map_err(unfit)?;
    let mut asset = Asset::of_motion(&name, &skeleton, clip.into_iter().collect())?;
    // What is odd in the document, which was made here, is odd in the file, and told by its reader.
    asset.problems = bvh.problems().to_vec();
    Ok(asset)
}
