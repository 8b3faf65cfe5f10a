//! Objects that are skinned on the CPU or on the GPU, as each says, and that nobody who draws them can tell apart.
//!
//! ```text
//! cargo run                # in this folder
//! cargo run -- --adapter software --matrices rows --crowd 100
//! ```
//!
//! A clip is sampled, joints are placed, and then an object either is skinned by `condyle::skin`, whose vertices are uploaded, or
//! its palette is, and a compute shader does the rest; `Scene::frame` has that choice in one place. All palettes are in one
//! buffer, a crowd's side by side, and all posed vertices in another one, in the same layout whoever wrote them. An engine would draw
//! them; this program reads them back and compares them with `skin`.
//!
//! # How far apart they are
//!
//! A component of a vertex that the GPU has skinned is, by what WGSL lets a shader round,
//!
//! - of a position within 1.9e-6 of the sum of the magnitudes of its terms from `skin` with the same weights. Of rigid joints that
//!   sum is not more than three times how far from the origin a vertex or a joint gets: 57e-7 of the size of the model;
//! - of a normal within 2.3e-6 of it, times the length of the magnitudes of the sum before it becomes 1, over its own length:
//!   39e-7, if the joints of the vertex have not turned apart;
//! - from `skin` with the four heaviest influences as they were authored it is farther by what `Influences::pack` states: a 255th of
//!   the greatest distance between two places that these joints alone would take the vertex to;
//! - from `skin` with all influences by the weight of those that were left out, of that distance among all of them, as well.
//!   Of a normal the last two hold before its length becomes 1.
//!
//! `bounds.rs` derives these and works them out for each vertex. Found in software (Mesa's llvmpipe 22.3), for a model 1.8 m
//! high: positions 4.8e-7 m, normals 2.4e-7. What `skin` wrote has the same bits when it is read back.

mod bounds;
mod character;
mod compare;
mod gpu;
mod packed;
mod palettes;
mod report;
mod scene;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use self::character::SECONDS;
use self::compare::Compared;
use self::gpu::{Failure, Gpu, Wanted};
use self::packed::JointFormat;
use self::palettes::MatrixFormat;
use self::report::Report;
use self::scene::{BODY, EMPTY, STICK, Scene, Skinner};

/// Skins objects on the CPU or on the GPU, as each says, and compares them with the library
#[derive(Parser)]
#[command(name = "condyle-gpu", version, after_help = EXAMPLES)]
struct Options {
    /// Which adapter: `any` is a GPU if there is one, else software
    #[arg(long, value_enum, default_value = "any")]
    adapter: Wanted,
    /// Who skins all objects; as each says unless given
    #[arg(long, value_enum)]
    skinner: Option<Skinner>,
    /// How the matrices of a palette lie in memory
    #[arg(long, value_enum, default_value = "columns")]
    matrices: MatrixFormat,
    /// How wide the joints of a vertex are
    #[arg(long, value_enum, default_value = "u8")]
    joints: JointFormat,
    /// Instances in the crowd
    #[arg(long, value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u16).range(..=1000))]
    crowd: u16,
    /// Moments of the clip that are compared
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    frames: u32,
    /// Prints JSON instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  condyle-gpu                                       the GPU, or software where there is none
  condyle-gpu --adapter software --json             what CI runs, for programs
  condyle-gpu --matrices rows --joints u16          3x4 matrices, and skins of any number of joints
  condyle-gpu --skinner cpu --crowd 100             everything by `skin`

Exit codes: 0 all vertices are within their bounds, 1 some are not or there is no adapter, 2 the command line is wrong.";

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(report) => {
            let text = if options.json { format!("{:#}\n", report.json()) } else { report.text() };
            // Whoever does not read on is told by the exit code alone.
            std::io::stdout().write_all(text.as_bytes()).ok();
            if report.holds() {
                return ExitCode::SUCCESS;
            }
            eprintln!("condyle-gpu: a vertex is beyond its bound");
        }
        Err(why) => eprintln!("condyle-gpu: {why}"),
    }
    ExitCode::FAILURE
}

fn run(options: &Options) -> Result<Report, Failure> {
    let gpu = Gpu::new(options.adapter)?;
    let mut objects = [
        ("hero", Skinner::Cpu, BODY, 1),
        ("twin", Skinner::Gpu, BODY, 1),
        ("stick", Skinner::Gpu, STICK, 1),
        ("nobody", Skinner::Gpu, EMPTY, 1),
        ("crowd", Skinner::Gpu, BODY, usize::from(options.crowd)),
    ];
    for (_, skinner, ..) in &mut objects {
        *skinner = options.skinner.unwrap_or(*skinner);
    }
    let mut scene = Scene::new(&objects, options.joints, options.matrices)?;
    let compared = play(&gpu, &mut scene, options.frames)?;
    Ok(Report::new(&gpu, options.frames, &scene, &compared))
}

/// Plays the clip in so many steps, and compares in each what would be drawn.
fn play(gpu: &Gpu, scene: &mut Scene, frames: u32) -> Result<Vec<Compared>, Failure> {
    let buffers = scene.load(gpu);
    let mut compared = vec![Compared::default(); scene.objects.len()];
    for frame in 0..frames {
        scene.frame(gpu, &buffers, f64::from(SECONDS) * f64::from(frame) / f64::from(frames))?;
        scene.compare(gpu, &buffers, &mut compared)?;
    }
    Ok(compared)
}
