//! Objects skinned on the CPU or on the GPU, with the same result for the renderer.
//!
//! ```text
//! cargo run                # in this folder
//! cargo run -- --adapter software --matrices rows --crowd 100
//! ```
//!
//! In each frame a clip is sampled and model matrices are computed. Then either `condyle::skin` skins the
//! object and its vertices are uploaded, or its palette is uploaded and a compute shader skins it.
//! `Scene::frame` contains this choice. One buffer holds all palettes, those of a crowd side by side. Another
//! one holds all posed vertices in one layout, written by the CPU or the GPU. An engine would draw them; this
//! program reads them back and compares them with `skin`.
//!
//! # Error bounds
//!
//! WGSL rounding limits the difference of a component of a vertex skinned on the GPU:
//!
//! - A position is within 1.9e-6 of `skin` with the same weights, relative to the sum of the magnitudes of
//!   its terms. For rigid joints that sum is at most three times the largest distance of a vertex or joint
//!   from the origin, so the bound is 57e-7 of the size of the model.
//! - A normal is within 2.3e-6, times the ratio of the magnitudes of its sum to the length of the sum before
//!   normalisation. The bound is 39e-7 if the joints of the vertex have not rotated apart.
//! - Compared with `skin` with the four heaviest authored influences, the bound of `Influences::pack` is
//!   added: 1/255 of the largest distance between two positions that these joints alone would give the
//!   vertex.
//! - Compared with `skin` with all influences, the weight of the dropped influences times that distance among
//!   all of them is added too. For a normal the last two terms hold before normalisation.
//!
//! `bounds.rs` derives the bounds and computes them for each vertex. Differences found with a software
//! adapter (Mesa's llvmpipe 22.3) on a model 1.8 m tall are 4.8e-7 m for positions and 2.4e-7 for normals.
//! Vertices written by `skin` have the same bits when they are read back.

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

/// Skins each object on the CPU or on the GPU, and compares the vertices with the library
#[derive(Parser)]
#[command(name = "condyle-gpu", version, after_help = EXAMPLES)]
struct Options {
    /// Adapter. `any` is a GPU if available, otherwise software
    #[arg(long, value_enum, default_value = "any")]
    adapter: Wanted,
    /// Where to skin all objects. By default each object decides
    #[arg(long, value_enum)]
    skinner: Option<Skinner>,
    /// Memory layout of the palette matrices
    #[arg(long, value_enum, default_value = "columns")]
    matrices: MatrixFormat,
    /// Width of the joint indices of a vertex
    #[arg(long, value_enum, default_value = "u8")]
    joints: JointFormat,
    /// Number of instances in the crowd
    #[arg(long, value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u16).range(..=1000))]
    crowd: u16,
    /// Number of times of the clip to compare
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    frames: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  condyle-gpu                                       the GPU if available, otherwise software
  condyle-gpu --adapter software --json             JSON output, as in CI
  condyle-gpu --matrices rows --joints u16          3x4 matrices, and skins with any number of joints
  condyle-gpu --skinner cpu --crowd 100             skin everything on the CPU

Exit codes: 0 all vertices are within their bounds, 1 a vertex is not or there is no adapter, 2 invalid command line.";

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(report) => {
            let text = if options.json { format!("{:#}\n", report.json()) } else { report.text() };
            // If the output is closed, the exit code still reports the result.
            std::io::stdout().write_all(text.as_bytes()).ok();
            if report.holds() {
                return ExitCode::SUCCESS;
            }
            eprintln!("condyle-gpu: a vertex exceeds its bound");
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

/// Plays the clip in `frames` steps, and compares the drawn vertices in each.
fn play(gpu: &Gpu, scene: &mut Scene, frames: u32) -> Result<Vec<Compared>, Failure> {
    let buffers = scene.load(gpu);
    let mut compared = vec![Compared::default(); scene.objects.len()];
    for frame in 0..frames {
        scene.frame(gpu, &buffers, f64::from(SECONDS) * f64::from(frame) / f64::from(frames))?;
        scene.compare(gpu, &buffers, &mut compared)?;
    }
    Ok(compared)
}
