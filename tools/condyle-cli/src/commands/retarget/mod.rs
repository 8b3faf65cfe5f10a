//! `condyle retarget`: the motion of one humanoid on another one.

mod folder;
mod job;
mod report;
mod space;

use std::path::PathBuf;

use condyle_retarget::Ratio;

use self::job::{Form, Target};
use self::space::Spaces;
use crate::failure::Failure;
use crate::model::body_model;
use crate::options::heading::{OUTPUT, REPORT};
use crate::options::job::Job;
use crate::options::overwrite::Overwrite;
use crate::options::source::Which;
use crate::options::threads::Threads;
use crate::options::work::Limit;
use crate::output::{print, print_json, write_file};
use crate::text::{ending, path_text};

/// Put the motion of one humanoid on another one, with feet that stand
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle retarget dance.bvh --on hero.glb -o hero_dance.glb
  condyle retarget man.glb --clip walk --on hero.glb -o hero_walk.bvh
  condyle retarget man.glb --on hero.glb -o all.glb --json | jq .clips[].certificate
  condyle retarget man.glb --clip walk --on hero.glb -o hero_walk.glb --fail-over
  condyle retarget moves --on hero.glb -o out                  every motion of a folder
  condyle retarget amass --body model.npz --up z --on hero.glb -o amass_out
  condyle retarget dance.bvh --on hero.bvh --on-unit 1cm -o hero_dance.bvh --fail-over

The rest pose of the motion gives the ground, if its feet stand there. Motion far above it stays in
the air. If the feet of a clip stand at another height, the clip decides. --ground overrides that.

The joints of both skeletons are found by a map in the file, such as VRM's, or by name and shape.
`condyle rig` shows and writes what is found; --map and --on-map correct it. Rest poses may differ:
arms may hang or stretch out, and bones may point along any axis. The size of the steps follows the
legs. A foot that stands in the source stands still, feet keep their height above the ground, and
knees bend to the side of the source. The unit of the source does not matter, except for --ratio
NUMBER: 1 keeps the steps of the source in metres. A BVH states no unit: give --unit and --on-unit.

OUT.glb is the character with the new clips, and without the clips that it had. OUT.condyle is
compressed to half a millimetre. OUT.bvh holds one clip.

Each clip has a certificate: planted frames, and how far their feet slide, are off their height or
miss their place; the depth below the ground and inside the body; how far knees and elbows bend
beyond their limits; the angular acceleration of the knees compared with the source; and frames in
doubt. It is printed, and stored in the extras of the animation in OUT.glb. The column `sliding` is
`sliding_beyond_scale_percent` of the JSON: planted frames with a toe faster than 1 cm/s, times the
ratio if it is above 1. --fail-over exits with code 1 if a figure is over its limit, or if a file of
a folder is left out. Its limits are in mm: a character that is a BVH needs --on-unit.

Tracks without a joint, such as morph weights, are left out and reported.

A folder gives one output per file, in the same subfolders, and one report, OUT/report.json. A later
run makes only new and changed files. The files are the same for any number of threads.")]
pub(crate) struct Args {
    /// Motion: .glb, .gltf, .vrm, .vrma, .fbx, .bvh, .npz or .condyle, or a folder of such files
    #[arg(value_name = "MOTION|FOLDER")]
    source: PathBuf,
    /// Character that receives the motion
    #[arg(long, value_name = "CHARACTER")]
    on: PathBuf,
    /// Corrections of the motion's humanoid, as `condyle rig -o` writes them
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Corrections of the character's humanoid
    #[arg(long, value_name = "FILE")]
    on_map: Option<PathBuf>,
    /// Output file, or output folder for a folder; missing folders are created
    #[arg(short, long, value_name = "OUT.glb|.condyle|.bvh|FOLDER")]
    output: PathBuf,
    /// Body model (SMPL family) for .npz motions
    #[arg(long, value_name = "MODEL.npz")]
    body: Option<PathBuf>,
    /// Select a clip by name or index [default: all]
    #[arg(long, value_name = "NAME|INDEX")]
    clip: Option<String>,
    #[command(flatten)]
    which: Which,
    /// Size of the steps: by legs and hips, by the height of the hips, or this multiple of the source's in
    /// metres
    #[arg(long, value_name = "legs|hip-height|NUMBER", default_value = "legs", value_parser = parse_ratio)]
    ratio: Ratio,
    /// Keep hands that are near each other so, for claps and objects in both hands
    #[arg(long)]
    hands: bool,
    /// Take the ground under the motion from its rest pose or from each clip [default: whichever fits]
    #[arg(long, value_enum, value_name = "rest|clip", hide_possible_values = true)]
    ground: Option<Ground>,
    #[command(flatten)]
    space: Spaces,
    /// Format of the files of a folder
    #[arg(
        long,
        value_enum,
        value_name = "glb|condyle|bvh",
        default_value = "glb",
        hide_possible_values = true
    )]
    #[arg(help_heading = OUTPUT)]
    format: Form,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Exit with code 1 if a certificate is over its limits, or a file of a folder is left out
    #[arg(long, help_heading = REPORT)]
    fail_over: bool,
    /// Print the certificates as one JSON object
    #[arg(long, help_heading = REPORT)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    limit: Limit,
}

/// Where the ground under a motion comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Ground {
    Rest,
    Clip,
}

fn parse_ratio(text: &str) -> Result<Ratio, String> {
    match text {
        "legs" => return Ok(Ratio::LegsAndHips),
        "hip-height" => return Ok(Ratio::HipHeight),
        _ => {}
    }
    let number = text.parse().ok().filter(|&it: &f64| it > 0.0 && it.is_finite());
    number.map(Ratio::Fixed).ok_or_else(|| "legs, hip-height or a number above 0".into())
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.space.check(args)?;
    let body = args.body.as_deref().map(body_model).transpose()?;
    if args.source.is_dir() {
        return folder::run(args, body.as_ref());
    }
    let name = path_text(&args.output);
    let form = match ending(&args.output).as_deref() {
        Some("glb") => Form::Glb,
        Some("condyle") => Form::Condyle,
        Some("bvh") => Form::Bvh,
        _ => {
            return Err(Failure::Usage(format!("{name}: choose a name that ends in .glb, .condyle or .bvh")));
        }
    };
    let target = Target::open(args)?;
    let mut job = Job::writing(&args.source, &args.output, args.overwrite)?;
    job.also_read(target.sources())?;
    let done = args.threads.pool()?.install(|| job::run(args, &args.source, body.as_ref(), &target, form))?;
    job.also_read(&done.sources)?;
    let file = write_file(args.output.clone(), |out| out.write_all(&done.bytes))?;
    if args.json {
        let mut all = report::to_json(&done);
        all["file"] = file.to_json();
        print_json(&format!("{all:#}"))?;
    } else {
        print(&report::to_text(&done, &file))?;
    }
    let over = report::over(&done);
    if args.fail_over && !over.is_empty() {
        return Err(Failure::Data(format!("{name}: over the limits: {}", over.join("; "))));
    }
    Ok(())
}
