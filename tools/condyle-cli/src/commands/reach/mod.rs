//! `condyle reach`: moves joints of a clip or a pose to requested places.

pub(crate) mod asked;
pub(crate) mod clip;
pub(crate) mod limits;
pub(crate) mod marked;
pub(crate) mod path;
mod report;
pub(crate) mod request;
pub(crate) mod solver;

use std::path::{Path, PathBuf};

use condyle::{Affine, Dispatch, Quat, RawClip};
use condyle_draw::picture::Format;
use condyle_encode::{EncodeOptions, Shell, frame_count};
use condyle_gltf::{Asset, ClipExporter, Exporter, Poser, PoserOptions};
use serde_json::json;

use self::asked::{Asked, find_joint, joint_name, parse_orientation, parse_place};
use self::clip::Residuals;
use self::limits::{Fit, FitLimits};
use self::marked::Marked;
use self::report::Row;
use self::request::{Request, Wishes};
use self::solver::{Solved, Solver};
use crate::commands::render::Picture;
use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::playable::Playable;
use crate::model::{Model, written};
use crate::options::heading::{GOALS, LIMITS, OUTPUT, PICTURE};
use crate::options::job::Job;
use crate::options::quantity::fps_up_to;
use crate::options::source::{Clips, Input};
use crate::options::work::Work;
use crate::output::{Written, print, print_json, warn, write_file};
use crate::text::{counted, ending, path_text, printable, size};

/// Move joints to requested places, or learn joint limits
#[derive(clap::Args)]
#[command(mut_arg("clips", |arg| arg.help(
    "Select the clip by name or index [default: the only one]. With --fit-limits it may be given several times [default: all]"
)))]
#[command(mut_arg("fps", |arg| arg.value_parser(fps_up_to(MOST_KEYS)).help_heading(PICTURE)))]
#[command(mut_arg("time", |arg| arg.help(
    "Solve one moment, in seconds: a static .glb, or an image. Times are on the clock of the keys, which need not start at 0 \
     [default: the whole clip; for a .png, the first time of a goal]"
)))]
#[command(mut_arg("limits", |arg| arg.help_heading(LIMITS).help(
    "Respect joint limits, and draw them with --skeleton. Takes a file, or `fit` to learn the limits from all clips"
)))]
#[command(after_help = "\
Examples:
  condyle reach fox.glb --unit 1cm --clip Walk --goal b_Head_05=5cm,0.46,0.25@0.5 -o sniff.glb    at half a second
  condyle reach man.glb --clip idle --move right_hand=0,30cm,10cm -o raised.glb             throughout, from where it was
  condyle reach man.glb --clip walk --goal right_hand=-0.3,1.2,0.4@0.2 --goal right_hand=-0.2,1.5,0.3@0.6 -o wave.gif
  condyle reach man.glb --rest --move hips=0,-20cm,0 --pin left_foot --pin right_foot -o squat.png --skeleton
  condyle reach man.glb --clip idle --goal right_hand=0.3,0.1,0.4@1 --shift hips --pin left_foot --pin right_foot -o lift.glb
  condyle reach man.glb --clip idle --goal right_hand=-0.22,1.0,0.3 --limits fit -o kept.glb   within the range of all clips
  condyle reach fox.glb --fit-limits                            a table of the limits of all joints
  condyle reach fox.glb --fit-limits -o fox.limits.json         as a file for --limits
  condyle reach fox.glb --fit-limits --clip Walk --clip Run --margin 5    from two clips, with a margin of five degrees

Places are in world space, in metres or with a unit, +Y up. --height gives a model in other units
its real size. The joints between the middle of the body and the goals turn, near ones first, so an
arm alone reaches if it can. Bones keep their length. The joints that carry the whole character stay
in place, except --shift, or the hips if a place is requested for them.

A goal with a time is reached at that time: the joint leaves the path of the clip --ease seconds
before, and returns to it --ease seconds after. Several times of one joint make a smooth path
through all of these places. A goal without a time holds throughout. Each moment is solved
separately, so --time gives the same pose as the whole clip at that time.

An OUT.glb holds all clips of the model, with the solved one in place of the original, or with
--name next to it. With --time or --rest it is one pose, as `condyle skin` writes it. In pictures,
goals are green crosses, paths are blue, and a red line joins a joint to a place that it misses.
Residuals are measured on the clip that was written. A goal out of reach is not an error: the
nearest pose is used, and its distance is printed.

--fit-limits learns limits and solves nothing. A joint that turns about one axis is a hinge. Any
other joint swings its bone within an ellipse or a polygon, and twists about it. Roots have no
limits. The file is JSON with angles in degrees, and may be edited; docs/command-line.md lists its
keys.")]
pub(crate) struct Args {
    /// Character: .glb, .gltf or .fbx; with --fit-limits also .bvh or .condyle
    model: PathBuf,
    /// Output file; missing folders are created. With --fit-limits it is a .json [default: print a table]
    #[arg(short, long, value_name = "OUT.glb|.png|.gif|.webp|.json", required_unless_present = "fit_limits")]
    output: Option<PathBuf>,
    #[command(flatten)]
    clips: Clips,
    /// Move a joint to a place, for the whole clip or at one time. Takes the name or index of the joint; may
    /// be given several times
    #[arg(long = "goal", value_name = "JOINT=X,Y,Z[@SECONDS]", value_parser = parse_place)]
    goals: Vec<Asked<[f64; 3]>>,
    /// Move a joint by an offset from its place in the clip; may be given several times
    #[arg(long = "move", value_name = "JOINT=X,Y,Z[@SECONDS]", value_parser = parse_place)]
    moves: Vec<Asked<[f64; 3]>>,
    /// Learn joint limits from clips instead of solving. Writes a .json, or prints a table
    #[arg(long, conflicts_with_all = SOLVING)]
    fit_limits: bool,
    #[command(flatten)]
    input: Input,
    /// Rotate a joint to a quaternion in world space. `clip` keeps the rotation of the clip
    #[arg(long = "orientation", value_name = "JOINT=X,Y,Z,W[@SECONDS]", value_parser = parse_orientation)]
    #[arg(help_heading = GOALS)]
    orientations: Vec<Asked<Option<Quat>>>,
    /// Keep the place and rotation that a joint has in the clip
    #[arg(long = "pin", value_name = "JOINT", help_heading = GOALS)]
    pins: Vec<String>,
    /// Let a joint, such as the hips, move so that others reach
    #[arg(long, value_name = "JOINT", help_heading = GOALS)]
    shift: Option<String>,
    /// Ease timed goals in and out over these seconds [default: 0.25]
    #[arg(long, value_name = "SECONDS", value_parser = parse_ease, help_heading = GOALS)]
    ease: Option<f32>,
    #[command(flatten)]
    fit: Fit,
    #[command(flatten)]
    picture: Picture,
    /// Add the solved clip under this name and keep the original
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    #[arg(help_heading = OUTPUT)]
    name: Option<String>,
    /// Keys per second of a .glb [default: those of the clip]
    #[arg(long, value_name = "HZ", value_parser = fps_up_to(MOST_KEYS), conflicts_with = "time")]
    #[arg(help_heading = OUTPUT)]
    rate: Option<f64>,
}

/// Options that --fit-limits rejects.
const SOLVING: [&str; 23] = [
    "rest",
    "goals",
    "moves",
    "orientations",
    "pins",
    "shift",
    "ease",
    "name",
    "rate",
    "height",
    "time",
    "fps",
    "sheet",
    "turntable",
    "size",
    "skeleton",
    "limits",
    "silhouette",
    "bounds",
    "hitboxes",
    "skinning",
    "yaw",
    "pitch",
];

/// Default of --ease, in seconds.
const EASE: f32 = 0.25;
/// Residual in metres at which a goal counts as reached.
const TOLERANCE: f64 = 1e-5;
/// Residual between two keys, in metres, above which a warning is printed.
const BETWEEN: f64 = 2e-3;
/// Maximum keys per second, and maximum frames per second of a picture.
const MOST_KEYS: f64 = 1000.0;
const MOST_FRAMES: f64 = 50.0;
/// Maximum number of keys of a clip; more are assumed to be a mistake.
const LONGEST: usize = 100_000;
/// Cost of solving a pose for the work limit, relative to fitting keys once.
const TRIES: u64 = 4;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let picture = &args.picture;
    let dispatch = picture.numerics.apply()?;
    if args.fit_limits {
        return limits::learn(&FitLimits {
            model: &args.model,
            which: &args.input.which,
            space: args.input.space,
            onto: args.input.onto.as_deref(),
            clips: args.clips.names(),
            fit: &args.fit,
            output: args.output.as_deref(),
            overwrite: picture.overwrite,
            limit: picture.limit,
            json: picture.json,
        });
    }
    let Some(to) = &args.output else {
        return Err(Failure::Usage("there is no output: name a file with -o".into()));
    };
    if let Some(asked) = args.fit.given() {
        return Err(Failure::Usage(format!(
            "{asked} is for --fit-limits: leave it out, or learn limits first"
        )));
    }
    if args.clips.names().len() > 1 {
        return Err(Failure::Usage(
            "several --clip are for --fit-limits: give one clip, or blend with `condyle render`".into(),
        ));
    }
    reach(args, dispatch, to)
}

/// Solves for the goals, and writes the result.
fn reach(args: &Args, dispatch: Dispatch, to: &Path) -> Result<(), Failure> {
    let (path, picture) = (&args.model, &args.picture);
    let format = format(args, to)?;
    if is_container(path) {
        let name = path_text(path);
        return Err(Failure::Usage(format!(
            "{name} is compressed; `condyle decode` writes its clips as a document"
        )));
    }
    let mut job = Job::writing(path, to, picture.overwrite)?;
    let (model, metres) =
        job.open(path, || args.input.open_scaled(path, args.clips.first(), picture.json))?;
    let asset = &model.asset;
    let source = args.clips.find(&model)?.pop();
    let clip = source.as_ref().and_then(Playable::as_raw);
    let mut budget = job.budget(picture.limit);
    let limits =
        picture.limits.as_ref().map(|choice| choice.limits(path, &model, &mut budget)).transpose()?;
    let solver = solver(args, asset, clip, metres)?.within(limits);
    if let Some(shift) = args.shift.as_deref().filter(|_| !solver.shifts()) {
        warn(path, &format!("--shift {shift}: no joint below it has a goal, so it does not move"));
    }
    let moments = moments(args, format, asset, clip, &solver.requests)?;
    let work = Work::fit(asset, moments.len(), TRIES);
    let name = path_text(path);
    budget.afford(&name, clip.map_or("", RawClip::name), &work)?;

    let failed = |e: &dyn std::fmt::Display| Failure::Data(format!("{name}: {e}"));
    let solved = clip::solve(&solver, &asset.skeleton, clip, &moments).map_err(|e| failed(&e))?;
    let called = args.name.as_deref().unwrap_or(clip.map_or("rest", RawClip::name));
    let reached =
        clip::reached(&solver, &asset.skeleton, (clip, called), &moments, &solved).map_err(|e| failed(&e))?;
    let (bytes, reached) = match format {
        None if args.clips.is_rest() || picture.time.is_some() => {
            (posed(path, asset, &reached, moments[0])?, reached)
        }
        None => document(args, to, &model, source.as_ref(), reached)?,
        Some(format) => {
            let marked = Marked::new(&solver, &asset.skeleton, clip).map_err(|e| failed(&e))?;
            let marks = |seconds: f64, pose: &[Affine]| marked.at(seconds, pose);
            let drawn = picture.draw(
                path,
                format,
                &model,
                (Some(&Playable::new(&reached)), moments[0]),
                Some(&marks),
            )?;
            (drawn.bytes, reached)
        }
    };
    let measured = Residuals { solver: &solver, skeleton: &asset.skeleton, before: clip, after: &reached };
    let rows = report::rows(&measured, &moments, &solved, metres).map_err(|e| failed(&e))?;
    rows.iter().for_each(|row| tell(path, row, &solver));
    let file = write_file(to.to_path_buf(), |out| out.write_all(&bytes))?;
    answer(args, dispatch, &measured, (&rows, &solved), &file)
}

/// Prints the figures.
fn answer(
    args: &Args,
    dispatch: Dispatch,
    measured: &Residuals<'_, '_>,
    (rows, solved): (&[Row], &[Solved]),
    file: &Written,
) -> Result<(), Failure> {
    let (solver, skeleton) = (measured.solver, measured.skeleton);
    let turned = turned(solver, solved);
    let mean = |of: &dyn Fn(&Solved) -> f64| solved.iter().map(of).sum::<f64>() / solved.len() as f64;
    let (iterations, micros) = (mean(&|it| it.iterations.into()), mean(&|it| it.time.as_secs_f64() * 1e6));
    if args.picture.json {
        let report = json!({
            "file": args.model.to_string_lossy(),
            "isa": dispatch.isa().name(),
            "numeric": dispatch.numeric().name(),
            "clip": measured.before.map(RawClip::name),
            "goals": rows.iter().map(Row::to_json).collect::<Vec<_>>(),
            "moments": solved.len(),
            "joints": turned.iter().map(|&joint| joint_name(skeleton, joint)).collect::<Vec<_>>(),
            "iterations": iterations,
            "microseconds": micros,
            "files": [file.to_json()],
        });
        return print_json(&format!("{report:#}"));
    }
    print(&format!(
        "{}\n{}: {}, {} of {} changed, {iterations:.1} iterations and {micros:.0} us each, {}\n",
        report::table_of(rows),
        path_text(&file.path),
        counted(solved.len(), "moment", "moments"),
        turned.len(),
        counted(skeleton.joint_count(), "joint", "joints"),
        size(file.bytes as usize)
    ))
}

/// Returns the format of a picture; `None` for a document.
fn format(args: &Args, to: &Path) -> Result<Option<Format>, Failure> {
    let (picture, is_rest) = (&args.picture, args.clips.is_rest());
    let usage = |what: &str| Err(Failure::Usage(what.into()));
    if is_rest && (picture.time.is_some() || picture.sheet.is_some()) {
        let asked = if picture.time.is_some() { "--time" } else { "--sheet" };
        return Err(Failure::Usage(format!("{asked} needs a clip: give --clip instead of --rest")));
    }
    match ending(to).as_deref() {
        Some("glb") => {}
        Some("png" | "gif" | "webp") => {
            if picture.fps.is_some_and(|fps| fps > MOST_FRAMES) {
                return Err(Failure::Usage(format!(
                    "--fps: an animation has at most {MOST_FRAMES} frames per second"
                )));
            }
            if args.name.is_some() {
                return usage("--name is for a clip: choose an output that ends in .glb");
            }
            if args.rate.is_some() {
                return usage("--rate is for the keys of a .glb: give --fps for the frames of an animation");
            }
            if is_rest && picture.fps.is_some() && !picture.turntable {
                return usage("--fps is for animations: give a --clip, or add --turntable");
            }
            return picture.format(to).map(Some);
        }
        Some("json") => return usage("a .json holds joint limits: add --fit-limits, or write a .glb"),
        _ => {
            let name = path_text(to);
            return Err(Failure::Usage(format!(
                "{name}: choose a name that ends in .glb, or in .png, .gif or .webp for a picture"
            )));
        }
    }
    if let Some(asked) = picture.given() {
        return Err(Failure::Usage(format!(
            "{asked} is for pictures: choose an output that ends in .png, .gif or .webp"
        )));
    }
    if args.rate.is_some() && picture.fps.is_some() {
        return usage("--fps is for animations: give --rate alone for the keys of a .glb");
    }
    if is_rest && (rate(args).is_some() || args.name.is_some()) {
        return usage("--rate and --name need a clip: give --clip instead of --rest");
    }
    if picture.time.is_some() && args.name.is_some() {
        return usage("--name is for a whole clip, and --time for one pose: give one of them");
    }
    Ok(None)
}

/// Returns the keys per second of a .glb. Until the next release `--fps` is the old name of `--rate` there.
fn rate(args: &Args) -> Option<f64> {
    args.rate.or(args.picture.fps)
}

fn solver<'a>(
    args: &Args,
    asset: &'a Asset,
    clip: Option<&RawClip>,
    metres: f64,
) -> Result<Solver<'a>, Failure> {
    let file = asset.document.name();
    let skeleton = &asset.skeleton;
    let wishes =
        Wishes { goals: &args.goals, moves: &args.moves, orientations: &args.orientations, pins: &args.pins };
    let mut requests = wishes.requests(file, skeleton, metres)?;
    if requests.iter().all(Request::stays) {
        return Err(Failure::Usage("there are no goals: give a --goal, a --move or an --orientation".into()));
    }
    if let (true, Some(timed)) = (args.clips.is_rest(), requests.iter().find(|it| !it.times().is_empty())) {
        return Err(Failure::Usage(format!(
            "{}: a goal with a time needs a clip: give --clip instead of --rest, or leave the time out",
            joint_name(skeleton, timed.joint)
        )));
    }
    if args.ease.is_some() && requests.iter().all(|it| it.times().is_empty()) {
        return Err(Failure::Usage(
            "--ease is for goals with a time: give one @SECONDS, or leave it out".into(),
        ));
    }
    if let Some(clip) = clip {
        let (start, end) = (clip.start(), clip.end());
        if let Some(time) = requests.iter_mut().find_map(|request| request.fit(start, end)) {
            return Err(Failure::Usage(format!(
                "a goal at {time} s is outside the clip, which lasts from {start} to {end} s"
            )));
        }
    }
    let shift = args.shift.as_deref().map(|joint| find_joint(file, skeleton, joint)).transpose()?;
    Ok(Solver::new(asset, requests, shift, (args.ease.unwrap_or(EASE), (TOLERANCE / metres) as f32)))
}

/// Returns the moments to solve, ascending: one, or the frames of the clip and the times of all goals.
fn moments(
    args: &Args,
    format: Option<Format>,
    asset: &Asset,
    clip: Option<&RawClip>,
    requests: &[Request],
) -> Result<Vec<f64>, Failure> {
    let picture = &args.picture;
    let Some(clip) = clip else { return Ok(vec![0.0]) };
    let still = format == Some(Format::Png) && picture.sheet.is_none();
    let times: Vec<f64> = requests.iter().flat_map(Request::times).copied().collect();
    if let Some(what) = Playable::new(clip).clamped(picture.time.as_slice()).filter(|_| format.is_none()) {
        warn(&args.model, &what);
    }
    if still || picture.time.is_some() {
        return Ok(vec![picture.time.unwrap_or_else(|| first(&times))]);
    }
    let mut options = EncodeOptions::new(1.0, Shell::Balls(1.0));
    // Frames of a .gif are sampled from the keys, so --fps does not affect the keys.
    options.rate = rate(args).filter(|_| format.is_none()).map(|rate| rate as f32);
    let count = frame_count(clip, asset.skeleton.joint_count(), &options);
    let count = count.ok().filter(|&count| count <= LONGEST).ok_or_else(|| {
        Failure::Usage(format!(
            "the clip has more than {LONGEST} frames; choose a lower --rate, or one moment with --time"
        ))
    })?;
    let (start, end) = (clip.start(), clip.end());
    // Rounded like the keys that store them.
    let frame = |at: usize| f64::from((start + (end - start) * (at as f64 / count.max(1) as f64)) as f32);
    let mut moments = times;
    let gap = (end - start) / count.max(1) as f64 * 1e-2;
    let apart = |time: f64| !moments.iter().any(|&own| (own - time).abs() < gap);
    let frames: Vec<f64> = (0..=count).map(frame).filter(|&time| apart(time)).collect();
    moments.extend(frames);
    // The clip keeps its start and end, even if a goal is very close to them.
    moments.extend([clip.start(), clip.end()]);
    moments.sort_by(f64::total_cmp);
    moments.dedup();
    Ok(moments)
}

/// Returns the document with the solved clip, and that clip read back from it.
fn document(
    args: &Args,
    to: &Path,
    model: &Model,
    clip: Option<&Playable<'_>>,
    reached: RawClip,
) -> Result<(Vec<u8>, RawClip), Failure> {
    let (asset, path) = (&model.asset, &args.model);
    let mut clips = asset.clips.clone();
    let own = clip.and_then(Playable::as_raw);
    let own = own.and_then(|raw| asset.clips.iter().position(|own| std::ptr::eq(own, raw)));
    let at = match (own, &args.name) {
        (_, Some(name)) if clips.iter().any(|clip| clip.name() == name) => {
            return Err(Failure::Usage(format!(
                "{} has a clip {name:?} already; choose another --name",
                printable(asset.document.name())
            )));
        }
        (Some(own), None) => {
            clips[own] = reached;
            own
        }
        _ => {
            clips.push(reached);
            clips.len() - 1
        }
    };
    let exporter = ClipExporter::new(asset);
    exporter.problems().iter().for_each(|problem| warn(path, &problem.to_string()));
    let glb = exporter.glb(&clips).map_err(|e| Failure::Data(format!("{}: {e}", path_text(path))))?;
    let reached = written::clips(to, &glb, asset)?.swap_remove(at);
    Ok((glb, reached))
}

/// Returns a static document of one moment.
fn posed(path: &Path, asset: &Asset, reached: &RawClip, seconds: f64) -> Result<Vec<u8>, Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::Data(format!("{}: {e}", path_text(path)));
    let exporter = Exporter::new(asset).map_err(|e| failed(&e))?;
    exporter.problems().iter().for_each(|problem| warn(path, &problem.to_string()));
    let mut poser = Poser::new(asset, PoserOptions::default()).map_err(|e| failed(&e))?;
    poser.pose(Some(reached), seconds).map_err(|e| failed(&e))?;
    exporter.glb(&poser.scene()).map_err(|e| failed(&e))
}

/// Returns the earliest time of the goals; 0 if there are no times.
fn first(times: &[f64]) -> f64 {
    times.iter().copied().reduce(f64::min).unwrap_or(0.0)
}

/// Returns the joints whose pose changed.
fn turned(solver: &Solver<'_>, solved: &[Solved]) -> Vec<u16> {
    let changed = |at: usize| solved.iter().any(|moment| moment.changed[at]);
    (0..).zip(&solver.movable).filter(|(at, _)| changed(*at)).map(|(_, &joint)| joint).collect()
}

/// Warns about missed goals.
fn tell(path: &Path, row: &Row, solver: &Solver<'_>) {
    if row.is_missed() {
        let why = match solver.is_held(&solver.requests[row.index]) {
            true => "no joint may move for it; allow one with --shift",
            false => "it is out of reach, or other goals and pins prevent it",
        };
        let (name, off) = (row.name(), row.shown(row.after));
        warn(path, &format!("{name} is missed by {off} at {:.3} s: {why}", row.seconds));
    } else if let Some(between) = row.between.filter(|&between| !row.turns() && between > BETWEEN) {
        let (name, off) = (row.name(), row.shown(between));
        warn(path, &format!("{name} is missed by up to {off} between keys; use a higher --rate"));
    }
}

fn parse_ease(text: &str) -> Result<f32, String> {
    match text.trim().parse::<f32>() {
        Ok(seconds) if (1e-3..=1e6).contains(&seconds) => Ok(seconds),
        _ => {
            Err("a time to ease in and out is a number of seconds from 0.001 to 1000000, such as 0.25".into())
        }
    }
}
