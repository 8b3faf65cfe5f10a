//! `clip_sizes`: sizes of compressed clips next to two published systems, and a check of every error bound.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use condyle::{Affine, Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
use condyle_encode::encode;
use condyle_encode::{EncodeOptions, Encoded, JointShell, Shell};
use condyle_gltf::Asset;
use rayon::prelude::*;
use serde_json::json;

/// Encodes the clips of the reference characters at 0.1, 1 and 10 mm.
///
/// The first table uses the conditions of the published figures. These are the joints of the first skin and
/// their ancestors, frames at 30 or 120 Hz, and characters 1.8 m tall. Errors are measured at the frames, on
/// three points 3 cm from each joint. The second table has every clip of every model in the folder with
/// default settings, so the encoder chooses the frame rate. Errors are also measured between the frames, on
/// vertices of the mesh. The exit code is 1 if an error exceeds its budget.
#[derive(Parser)]
struct Args {
    /// Folder of the models
    folder: PathBuf,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Print only the first table
    #[arg(long)]
    targets: bool,
}

/// Row of `CLIP-TARGETS.md` next to the models: sizes of all clips of a model in C++ builds of ACL 2.1 and
/// ozz-animation 0.16 (native flags). `acl_with_rest` is for ACL with the rest pose, so that values equal to
/// the rest pose take no space.
struct Published {
    model: &'static str,
    /// Scale of the rest pose that makes it 1.8 m tall.
    scale: f32,
    rate: f32,
    /// Sizes at 0.1, 1 and 10 mm.
    acl: [usize; 3],
    acl_with_rest: [usize; 3],
    /// Size at 1 mm.
    ozz: usize,
}

#[rustfmt::skip]
const PUBLISHED: [Published; 7] = [
    Published { model: "Knight.glb", scale: 0.7777, rate: 30.0, acl: [413_959, 313_648, 247_567], acl_with_rest: [374_485, 274_107, 172_363], ozz: 553_917 },
    Published { model: "robot.glb", scale: 0.3948, rate: 30.0, acl: [42_499, 33_883, 26_366], acl_with_rest: [34_111, 25_471, 18_750], ozz: 64_922 },
    Published { model: "Fox.glb", scale: 0.02278, rate: 30.0, acl: [15_626, 10_135, 6_825], acl_with_rest: [14_746, 9_247, 5_941], ozz: 17_387 },
    Published { model: "CesiumMan.gltf", scale: 1.1948, rate: 30.0, acl: [6_368, 4_782, 2_600], acl_with_rest: [6_200, 4_711, 2_367], ozz: 7_883 },
    Published { model: "greenman.glb", scale: 0.8860, rate: 30.0, acl: [4_505, 3_482, 2_835], acl_with_rest: [3_809, 2_685, 2_199], ozz: 6_782 },
    Published { model: "mocap_cmu_01_01.glb", scale: 1.2018, rate: 30.0, acl: [79_287, 56_391, 39_139], acl_with_rest: [78_963, 56_067, 38_815], ozz: 162_710 },
    Published { model: "mocap_cmu_01_01.glb", scale: 1.2018, rate: 120.0, acl: [271_311, 183_227, 81_648], acl_with_rest: [270_987, 182_903, 81_324], ozz: 428_162 },
];

/// Budgets in metres.
const BUDGETS: [f64; 3] = [1e-4, 1e-3, 1e-2];
/// Assumed height of every character in metres.
const HEIGHT: f64 = 1.8;
/// Sums over all clips of a model.
#[derive(Default)]
struct Total {
    clips: usize,
    raw: usize,
    bytes: usize,
    /// Largest error in metres.
    worst: f64,
    /// Encoding time in seconds of one core.
    took: f64,
    /// Clips whose error exceeds the budget.
    broken: Vec<String>,
    /// Number of tracks for which no curve meets the budget.
    fallback: usize,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match tables(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("clip_sizes: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether all bounds hold.
fn tables(args: &Args) -> Result<bool, Box<dyn Error>> {
    let mut kept = published(args)?;
    if !args.targets {
        kept &= defaults(args)?;
    }
    Ok(kept)
}

fn published(args: &Args) -> Result<bool, Box<dyn Error>> {
    let mut kept = true;
    let models = open(PUBLISHED.iter().map(|row| args.folder.join(row.model)))?;
    if !args.json {
        println!(
            "{:>7}  {:20} {:>4}  {:>9}  {:>8}  {:>8}  {:>9}  {:>8}  {:>10}  {:>9}  {:>6}",
            "error",
            "model",
            "Hz",
            "raw",
            "condyle",
            "ACL",
            "with rest",
            "ozz",
            "of the ACL",
            "worst, mm",
            "s"
        );
    }
    for (at, budget) in BUDGETS.into_iter().enumerate() {
        let mut sums = [0; 5];
        for row in &PUBLISHED {
            let asset = &models[&args.folder.join(row.model)];
            let joints = asset.skins.first().map_or(&[][..], |skin| skin.joints());
            let (skeleton, map) = part(&asset.skeleton, joints, row.scale)?;
            let mut options = EncodeOptions::new(at_most(budget), axis_points(&skeleton)?);
            options.rate = Some(row.rate);
            options.between = false;
            let clips = asset.clips.iter().map(|clip| part_of_clip(clip, &map, row.scale));
            let clips = clips.collect::<Result<Vec<_>, _>>()?;
            let total = all(&clips, &skeleton, &options, 1.0, budget)?;
            kept &= report_broken(row.model, &total);
            let ozz = if at == 1 { row.ozz } else { 0 };
            let numbers = [total.raw, total.bytes, row.acl[at], row.acl_with_rest[at], ozz];
            sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
            line(args, budget, row.model, &row.rate.to_string(), numbers, &total);
        }
        line(args, budget, "sum", "", sums, &Total::default());
    }
    Ok(kept)
}

fn line(args: &Args, budget: f64, model: &str, rate: &str, numbers: [usize; 5], total: &Total) {
    let [raw, bytes, acl, with_rest, ozz] = numbers;
    let ratio = bytes as f64 / with_rest as f64;
    if args.json {
        let (error, took) = (total.worst, total.took);
        println!(
            "{}",
            json!({ "table": "targets", "budget_m": budget, "model": model, "rate": rate.parse::<f64>().ok(), "raw_bytes": raw,
                "bytes": bytes, "acl_bytes": acl, "acl_with_rest_bytes": with_rest, "ozz_bytes": (ozz > 0).then_some(ozz),
                "ratio": ratio, "error_max_m": error, "encode_s": took })
        );
        return;
    }
    let ozz = if ozz > 0 { ozz.to_string() } else { String::new() };
    let (worst, took) = match total.clips {
        0 => (String::new(), String::new()),
        _ => (format!("{:.4}", 1e3 * total.worst), format!("{:.2}", total.took)),
    };
    let error = format!("{} mm", 1e3 * budget);
    println!(
        "{error:>7}  {model:20} {rate:>4}  {raw:>9}  {bytes:>8}  {acl:>8}  {with_rest:>9}  {ozz:>8}  {ratio:>10.3}  {worst:>9}  {took:>6}"
    );
}

fn defaults(args: &Args) -> Result<bool, Box<dyn Error>> {
    let mut kept = true;
    let endings = ["glb", "gltf"];
    let files = std::fs::read_dir(&args.folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let models =
        files.filter(|path| path.extension().is_some_and(|e| endings.iter().any(|ending| e == *ending)));
    let models = open(models)?;
    if !args.json {
        println!(
            "\nBy the defaults, 1.8 m high\n{:>7}  {:24} {:>5}  {:>9}  {:>8}  {:>7}  {:>9}  {:>8}  {:>6}",
            "error", "model", "clips", "raw", "condyle", "ratio", "worst, mm", "fallback", "s"
        );
    }
    for budget in BUDGETS {
        for (path, asset) in models.iter().filter(|(_, asset)| !asset.clips.is_empty()) {
            let units = asset.rest_height()?;
            let metres = if units > 0.0 { HEIGHT / units } else { 1.0 };
            let shell = asset.shell(Shell::radius(metres))?;
            let options = EncodeOptions::new(at_most(budget / metres), shell);
            let total = all(&asset.clips, &asset.skeleton, &options, metres, budget)?;
            let model = path.file_name().unwrap_or_default().to_string_lossy();
            kept &= report_broken(&model, &total);
            let Total { clips, raw, bytes, worst, took, fallback, .. } = total;
            let ratio = raw as f64 / bytes as f64;
            if args.json {
                println!(
                    "{}",
                    json!({ "table": "defaults", "budget_m": budget, "model": model, "clips": clips, "raw_bytes": raw,
                        "bytes": bytes, "ratio": ratio, "error_max_m": worst, "fallback_tracks": fallback,
                        "encode_s": took })
                );
            } else {
                let (error, worst) = (format!("{} mm", 1e3 * budget), 1e3 * worst);
                println!(
                    "{error:>7}  {model:24} {clips:>5}  {raw:>9}  {bytes:>8}  {ratio:>7.1}  {worst:>9.4}  {fallback:>8}  {took:>6.2}"
                );
            }
        }
    }
    Ok(kept)
}

/// Points at which ACL measures: three per joint, at [`Shell::RADIUS`] along its axes in the rest pose.
fn axis_points(skeleton: &Skeleton) -> Result<Shell, condyle::Error> {
    let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
    condyle::local_to_model(skeleton, skeleton.rest(), &mut model)?;
    let of_joint = |model: &Affine| {
        let point = |axis: usize| {
            let size = (0..3).map(|row| model.rows[row][axis].powi(2)).sum::<f32>().sqrt();
            let mut point = [0.0; 3];
            point[axis] = Shell::RADIUS / size;
            point
        };
        JointShell::Points([0, 1, 2].map(point).to_vec())
    };
    Ok(Shell::Joints(model.iter().map(of_joint).collect()))
}

/// Returns whether the bound holds for all clips, and prints the clips where it does not.
fn report_broken(model: &str, total: &Total) -> bool {
    total.broken.iter().for_each(|clip| eprintln!("clip_sizes: {model}: {clip} is above its budget"));
    total.broken.is_empty()
}

fn open(paths: impl Iterator<Item = PathBuf>) -> Result<BTreeMap<PathBuf, Asset>, Box<dyn Error>> {
    let opened = paths.map(|path: PathBuf| Ok((path.clone(), Asset::open(Path::new(&path))?)));
    opened.collect()
}

/// Largest f32 that does not exceed a number.
fn at_most(number: f64) -> f32 {
    let near = number as f32;
    if f64::from(near) > number { near.next_down() } else { near }
}

/// Encodes all clips, each on one core.
fn all(
    clips: &[RawClip],
    skeleton: &Skeleton,
    options: &EncodeOptions,
    metres: f64,
    budget: f64,
) -> Result<Total, condyle::Error> {
    let one = |clip: &RawClip| -> Result<(Encoded, f64), condyle::Error> {
        let begin = Instant::now();
        let encoded = encode(clip, skeleton, options, &mut |_| ())?;
        Ok((encoded, begin.elapsed().as_secs_f64()))
    };
    let encoded: Result<Vec<_>, _> = clips.par_iter().map(one).collect();
    let mut total = Total { clips: clips.len(), ..Total::default() };
    for (clip, (encoded, took)) in clips.iter().zip(encoded?) {
        let error = f64::from(encoded.measured.error_max) * metres;
        total.raw += encoded.raw_bytes;
        total.bytes += encoded.bytes().len();
        total.worst = total.worst.max(error);
        total.took += took;
        total.fallback += encoded.fallback.len();
        if error > budget {
            total.broken.push(format!("{}, {} mm", clip.name(), 1e3 * error));
        }
    }
    Ok(total)
}

/// Some joints of a skeleton and all their ancestors, scaled, and the new index of each old joint.
fn part(
    skeleton: &Skeleton,
    joints: &[u16],
    scale: f32,
) -> Result<(Skeleton, Vec<Option<u16>>), condyle::Error> {
    let mut kept = vec![false; skeleton.joint_count()];
    for &joint in joints {
        let mut at = Some(joint);
        while let Some(joint) = at {
            kept[usize::from(joint)] = true;
            at = skeleton.parent(joint);
        }
    }
    let mut count = 0;
    let number = |&kept: &bool| {
        count += u16::from(kept);
        kept.then(|| count - 1)
    };
    let map: Vec<Option<u16>> = kept.iter().map(number).collect();
    let whole = skeleton.rest().transforms().enumerate().filter(|(joint, _)| kept[*joint]);
    let joints = whole.map(|(joint, rest)| Joint {
        name: skeleton.names()[joint].clone(),
        node: skeleton.node(joint as u16),
        parent: skeleton.parent(joint as u16).and_then(|parent| map[usize::from(parent)]),
        rest: Transform { translation: rest.translation.map(|v| v * scale), ..rest },
    });
    Ok((Skeleton::new(joints.collect::<Vec<_>>())?, map))
}

/// Tracks of a clip for these joints, scaled.
fn part_of_clip(clip: &RawClip, map: &[Option<u16>], scale: f32) -> Result<RawClip, condyle::Error> {
    let joint = |joint: u16| map[usize::from(joint)];
    let tracks = clip.tracks().iter().filter_map(|track| {
        let (target, factor) = match track.target {
            Target::Rotation(at) => (Target::Rotation(joint(at)?), 1.0),
            Target::Translation(at) => (Target::Translation(joint(at)?), scale),
            Target::Scale(at) => (Target::Scale(joint(at)?), 1.0),
            _ => return None,
        };
        let interpolation: Interpolation = track.interpolation;
        let values = track.values.iter().map(|value| value * factor).collect();
        Some(Track { target, interpolation, timeline: track.timeline, values })
    });
    RawClip::new(clip.name().into(), clip.timelines().to_vec(), tracks.collect())
}
