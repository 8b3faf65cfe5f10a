//! Reference results of the library for the tests of the Python package.
//!
//! Usage: `posed FILE CLIP SECONDS...`, where `CLIP` is an index, or -1 for the rest pose. Writes the float32
//! values of each time to standard output in native byte order.

use std::error::Error;
use std::io::Write;

use condyle::sampling::PoseSource;
use condyle::{NormalRule, Pose};
use condyle_gltf::{Asset, Poser};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, clip, times @ ..] = arguments.as_slice() else {
        return Err("usage: posed FILE CLIP SECONDS...".into());
    };
    let asset = Asset::open(file)?;
    let clip = usize::try_from(clip.parse::<i64>()?).ok().map(|index| &asset.clips[index]);
    let mut poser = Poser::new(&asset, NormalRule::default().into())?;
    let mut pose = Pose::rest(&asset.skeleton);
    let mut bytes = Vec::new();
    for seconds in times {
        let seconds = seconds.parse()?;
        if let Some(clip) = clip {
            clip.pose(&asset.skeleton, seconds, &mut pose)?;
        }
        poser.pose(clip, seconds)?;
        let mut write = |numbers: &[f32]| numbers.iter().for_each(|it| bytes.extend(it.to_ne_bytes()));
        for joint in pose.transforms() {
            write(&joint.rotation);
            write(&joint.translation);
            write(&joint.scale);
        }
        poser.model().iter().for_each(|matrix| write(matrix.rows.as_flattened()));
        let posed = (0..asset.instances.len()).flat_map(|at| poser.posed(at));
        posed.for_each(|it| write(it.positions.as_flattened()));
    }
    std::io::stdout().write_all(&bytes)?;
    Ok(())
}
