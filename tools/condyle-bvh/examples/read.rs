//! Reads BVH files, and prints their content and the reading speed.
//!
//! Run it with `cargo run --release -p condyle-bvh --example read -- walk.bvh`.
//! Without files it generates one: 31 joints, 96 numbers in each of 10,000 frames, six decimals.

use std::fmt::Write;
use std::time::{Duration, Instant};

use condyle_bvh::{Bvh, ImportOptions};

/// Number of times a file is read; the fastest time is printed.
const ROUNDS: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        tell("a generated file", made(31, 10_000).as_bytes())?;
    }
    for file in files {
        tell(&file, &std::fs::read(&file)?)?;
    }
    Ok(())
}

fn tell(name: &str, bytes: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    let bvh = Bvh::from_slice(name, bytes)?;
    let options = ImportOptions::default();
    let read = fastest(|| drop(Bvh::from_slice(name, bytes)));
    let clip = fastest(|| drop(bvh.clip(&options)));
    let rate = |took: Duration| bvh.frame_count() as f64 / took.as_secs_f64();
    println!(
        "{name}: {} nodes, {} channels, {} frames at {:.3} Hz; {:.0} frames/s to rows, {:.0} from rows to a clip",
        bvh.nodes().len(),
        bvh.channel_count(),
        bvh.frame_count(),
        bvh.frame_rate(),
        rate(read),
        rate(clip)
    );
    bvh.problems().iter().for_each(|problem| println!("  {problem}"));
    Ok(())
}

fn fastest(work: impl Fn()) -> Duration {
    let time = |_| {
        let begin = Instant::now();
        work();
        begin.elapsed()
    };
    (0..ROUNDS).map(time).min().unwrap_or_default()
}

fn made(joints: usize, frames: usize) -> String {
    let mut text = String::from("HIERARCHY\n");
    for joint in 0..joints {
        let (kind, positions) =
            if joint == 0 { ("ROOT", "6 Xposition Yposition Zposition") } else { ("JOINT", "3") };
        let _ = write!(
            text,
            "{kind} joint{joint}\n{{\nOFFSET 0 1 0\nCHANNELS {positions} Zrotation Xrotation Yrotation\n"
        );
    }
    text += &"}\n".repeat(joints);
    let _ = write!(text, "MOTION\nFrames: {frames}\nFrame Time: 0.0083333\n");
    let mut state = 1_u64;
    for number in 0..frames * (3 * joints + 3) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let degrees = ((state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5) * 180.0;
        let end = if (number + 1) % (3 * joints + 3) == 0 { '\n' } else { ' ' };
        let _ = write!(text, "{degrees:.6}{end}");
    }
    text
}
