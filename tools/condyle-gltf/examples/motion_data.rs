//! Exports motion as numbers, for statistics, search or training: compresses every clip of a document, and
//! makes a flat array of joint positions in all frames.
//!
//! ```text
//! cargo run --example motion_data -- character.glb
//! ```
//!
//! Without arguments, it reads a small file of this repository.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use condyle::{Affine, Pose, Skeleton, local_to_model, sample};
use condyle_encode::Encoded;
use condyle_encode::encode;
use condyle_gltf::Asset;

/// The file for a run without arguments.
const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/two_joints.glb");

/// Model-space positions of all joints at all frames of a clip.
struct Positions {
    /// Element `(frame * joints + joint) * 3 + axis`: a row-major array of shape `[frames, joints, 3]`, the
    /// layout of numerical libraries.
    values: Vec<f32>,
    frames: usize,
    joints: usize,
}

impl Positions {
    /// Samples a compressed clip. All frames cost the same, so frames can be sampled in any order, and on any
    /// thread with a separate pose and matrices.
    fn of(encoded: &Encoded, skeleton: &Skeleton) -> Result<Self, condyle::Error> {
        let clip = encoded.clip();
        let (frames, joints) = (clip.frame_count() + 1, skeleton.joint_count());
        // All output is allocated here; the loop does not allocate.
        let mut values = Vec::with_capacity(frames * joints * 3);
        let mut pose = Pose::rest(skeleton);
        let mut model = vec![Affine::IDENTITY; joints];
        for frame in 0..frames {
            let part = frame as f32 / clip.frame_count().max(1) as f32;
            sample(clip, skeleton, clip.start() + f64::from(part) * clip.duration(), &mut pose)?;
            local_to_model(skeleton, &pose, &mut model)?;
            // The last column of a joint's matrix is its position.
            values.extend(model.iter().flat_map(|matrix| matrix.rows.map(|row| row[3])));
        }
        Ok(Self { values, frames, joints })
    }

    /// Returns the path length of a joint from the first frame to the last, as an example of using the array.
    fn path_length(&self, joint: usize) -> f32 {
        let place = |frame: usize| &self.values[(frame * self.joints + joint) * 3..][..3];
        let step = |frame: usize| {
            let (from, to) = (place(frame - 1), place(frame));
            from.iter().zip(to).map(|(a, b)| (b - a) * (b - a)).sum::<f32>().sqrt()
        };
        (1..self.frames).map(step).sum()
    }
}

fn run(path: &str) -> Result<(), Box<dyn Error>> {
    let asset = Asset::open(path)?;
    let skeleton = &asset.skeleton;
    println!("{path}: {} joints, {} clips", skeleton.joint_count(), asset.clips.len());

    // The error of every vertex is at most a thousandth of the character's height. A document without a
    // height counts as one metre high.
    let height = asset.rest_height()?;
    let height = if height > 0.0 { height as f32 } else { 1.0 };

    println!(
        "{:<20} {:>7} {:>8} {:>9} {:>6} {:>9} {:>8}  farthest joint",
        "clip", "frames", "authored", "encoded", "ratio", "error", "ms"
    );
    let (mut authored, mut compressed, mut numbers) = (0, 0, 0);
    for (index, raw) in asset.clips.iter().enumerate() {
        let begin = Instant::now();
        let options = asset.encode_options(raw, height / 1000.0, height * 0.02)?;
        let encoded = encode(raw, skeleton, &options, &mut |_| ())?;
        let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
        let positions = Positions::of(&encoded, skeleton)?;
        let paths = (0..positions.joints).map(|joint| (positions.path_length(joint), joint));
        let farthest = paths.max_by(|a, b| a.0.total_cmp(&b.0));
        let farthest = farthest.map_or(String::new(), |(length, joint)| {
            format!("{} moves {length:.3}", skeleton.names()[joint])
        });
        let name = if raw.name().is_empty() { format!("clip {index}") } else { raw.name().to_owned() };
        let (before, after) = (raw.byte_count(), encoded.bytes().len());
        println!(
            "{name:<20} {:>7} {before:>8} {after:>9} {:>6.1} {:>9.2e} {milliseconds:>8.1}  {farthest}",
            positions.frames,
            before as f64 / after as f64,
            encoded.measured.error_max,
        );
        (authored, compressed) = (authored + before, compressed + after);
        numbers += positions.values.len();
    }
    println!(
        "total: {authored} bytes uncompressed, {compressed} bytes encoded, {numbers} floats of positions"
    );
    Ok(())
}

fn main() -> ExitCode {
    let path = std::env::args().nth(1).unwrap_or_else(|| SMALL.to_owned());
    match run(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
