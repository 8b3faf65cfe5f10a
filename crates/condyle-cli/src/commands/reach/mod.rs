//! `condyle reach`: joints of a clip, or of a pose, brought to where they are asked to be.

pub(crate) mod asked;
pub(crate) mod clip;
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
use self::marked::Marked;
use self::report::Row;
use self::request::{Request, Wishes};
use self::solver::{Solved, Solver};
use crate::commands::render::Picture;
use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::document::{sources, warn_of_repairs};
use crate::model::playable::Playable;
use crate::model::{self, Model, written};
use crate::options::quantity::{Length, fps_up_to, parse_length};
use crate::options::skinning::Shown;
use crate::options::source::Source;
use crate::options::work::Work;
use crate::output::{Written, check_destination, print, print_json, warn, write_file};
use crate::text::{counted, ending, path_text, printable, size};

/// Make a pose or a whole clip reach: joints are brought to places, and the body follows
#[derive(clap::Args)]
#[command(mut_arg("output", |arg| arg.value_name("OUT.glb|.png|.gif|.webp")))]
#[command(mut_arg("fps", |arg| arg.value_parser(fps_up_to(MOST_KEYS)).help(
    "Keys per second of a .glb [default: those of the clip]; frames per second of an animation [default: 25]"
)))]
#[command(mut_arg("time", |arg| arg.help(
    "One moment, in seconds on the clock of the clip's keys, which need not start at 0: a static .glb, or an image [default: the whole clip; for a .png the first time of a goal]"
)))]
#[command(mut_arg("limits", |arg| arg.help(
    "What the joints can do, which those that turn keep to: from a file, or as `fit` learns it from all clips; drawn with --skeleton"
)))]
#[command(after_help = "\
Examples:
  condyle reach fox.glb --unit 1cm --clip Walk --goal b_Head_05=5cm,0.46,0.25@0.5 -o sniff.glb    at half a second
  condyle reach man.glb --clip idle --move right_hand=0,30cm,10cm -o raised.glb             throughout, from where it was
  condyle reach man.glb --clip walk --goal right_hand=-0.3,1.2,0.4@0.2 --goal right_hand=-0.2,1.5,0.3@0.6 -o wave.gif
  condyle reach man.glb --rest --move hips=0,-20cm,0 --pin left_foot --pin right_foot -o squat.png --skeleton
  condyle reach man.glb --clip idle --goal right_hand=0.3,0.1,0.4@1 --shift hips --pin left_foot --pin right_foot -o lift.glb
  condyle reach man.glb --clip idle --goal right_hand=-0.22,1.0,0.3 --limits fit -o kept.glb   no joint beyond what the clips do

Places are in world space, in metres or with a unit, +Y up. --height gives a model in other units
its real size. The joints between the middle of the body and the goals turn, near ones first: an arm reaches alone what it
can; no bone is stretched. What carries the whole character stays where it is, but for --shift, or for the hips if a
place is asked of them.

A goal with a time is reached then; the joint leaves the way of the clip --ease seconds before, and is back on it as long after.
Several times of one joint make a smooth way through all of these places. A goal without a time holds throughout. Each moment is
solved for itself, so that --time shows what the whole clip has there.

An OUT.glb holds all clips of the model, with this one made to reach, or with --name a copy of it; with --time or --rest it is one
pose, as `condyle skin` writes it. In pictures, goals are green crosses, ways are blue, and a red line joins a joint to a place
that it does not reach. Residuals are measured on the clip that was written. A goal out of reach is no failure: the nearest
pose is taken, and how far it is off is told.")]
pub(crate) struct Args {
    /// The character: .glb or .gltf
    model: PathBuf,
    #[command(flatten)]
    source: Source,
    /// Where a joint, by name or index, is to be, throughout or at a time; may be given several times
    #[arg(long = "goal", value_name = "JOINT=X,Y,Z[@SECONDS]", value_parser = parse_place)]
    goals: Vec<Asked<[f64; 3]>>,
    /// How far a joint is to be from where the clip has it
    #[arg(long = "move", value_name = "JOINT=X,Y,Z[@SECONDS]", value_parser = parse_place)]
    moves: Vec<Asked<[f64; 3]>>,
    /// How a joint is to be turned: a quaternion in the same space, or `clip` for as it is
    #[arg(long = "orientation", value_name = "JOINT=X,Y,Z,W[@SECONDS]", value_parser = parse_orientation)]
    orientations: Vec<Asked<Option<Quat>>>,
    /// A joint that stays where the clip has it, and turned as it is there
    #[arg(long = "pin", value_name = "JOINT")]
    pins: Vec<String>,
    /// A joint that may move as a whole so that others reach: the hips
    #[arg(long, value_name = "JOINT")]
    shift: Option<String>,
    /// How long goals with times take to begin and to end
    #[arg(long, value_name = "SECONDS", default_value = "0.25", value_parser = parse_ease)]
    ease: f32,
    /// Keep the clip as it was, and add what reaches under this name
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// The real height of the character at rest, in place of --unit; without vertices, of its joints in the
    /// first frame
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse_length)]
    height: Option<Length>,
    #[command(flatten)]
    picture: Picture,
}

/// What counts as reached, in metres.
const TOLERANCE: f64 = 1e-5;
/// Joints turn less than this between two keys that would be worth a second look, in metres.
const BETWEEN: f64 = 2e-3;
/// The most keys per second, and the most frames per second of a picture.
const MOST_KEYS: f64 = 1000.0;
const MOST_FRAMES: f64 = 50.0;
/// A clip of more keys than this is taken for a mistake.
const LONGEST: usize = 100_000;
/// How often a pose is searched for, for the budget of work.
const TRIES: u64 = 4;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (path, picture) = (&args.model, &args.picture);
    let dispatch = picture.numerics.apply()?;
    let to = &picture.output;
    let format = format(args)?;
    check_destination(to, &sources(path, None), picture.overwrite)?;
    if is_container(path) {
        let name = path_text(path);
        return Err(Failure::Usage(format!(
            "{name} is compressed; `condyle decode` writes its clips as a document"
        )));
    }
    let onto = picture.onto.as_deref();
    let (model, metres) = model::open_scaled(path, None, onto, picture.space, args.height, picture.json)?;
    check_destination(to, &model.sources, picture.overwrite)?;
    let asset = &model.asset;
    warn_of_repairs(path, asset);
    let source = args.source.find(&model)?;
    let clip = source.as_ref().and_then(Playable::as_raw);
    let mut budget = picture.limit.budget(&model.sources);
    let limits =
        picture.limits.as_ref().map(|choice| choice.limits(path, &model, &mut budget)).transpose()?;
    let solver = solver(args, asset, clip, metres)?.within(limits);
    if let Some(shift) = args.shift.as_deref().filter(|_| !solver.shifts()) {
        warn(
            path,
            &format!(
                "--shift {shift}: nothing is asked of a joint that hangs on it, so that it does not move"
            ),
        );
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
        None if args.source.is_rest() || picture.time.is_some() => {
            (posed(path, asset, &reached, moments[0])?, reached)
        }
        None => document(args, &model, source.as_ref(), reached)?,
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
    let file = write_file(to.clone(), |out| out.write_all(&bytes))?;
    answer(args, dispatch, &measured, (&rows, &solved), &file)
}

/// Prints what was done.
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
        "{}\n{}: {}, {} of {} other than in the clip, {iterations:.1} iterations and {micros:.0} us each, {}\n",
        report::table_of(rows),
        path_text(&file.path),
        counted(solved.len(), "moment", "moments"),
        turned.len(),
        counted(skeleton.joint_count(), "joint", "joints"),
        size(file.bytes as usize)
    ))
}

/// The format of a picture; `None` for a document.
fn format(args: &Args) -> Result<Option<Format>, Failure> {
    let picture = &args.picture;
    if args.source.is_rest() && (picture.time.is_some() || picture.sheet.is_some()) {
        let asked = if picture.time.is_some() { "--time" } else { "--sheet" };
        return Err(Failure::Usage(format!("{asked} needs a clip: give --clip instead of --rest")));
    }
    match ending(&picture.output).as_deref() {
        Some("glb") => {
            let for_pictures = [
                (picture.sheet.is_some(), "--sheet"),
                (picture.turntable, "--turntable"),
                (picture.skeleton, "--skeleton"),
                (picture.skinning != Shown::Linear, "--skinning"),
            ];
            if let Some((_, asked)) = for_pictures.iter().find(|(given, _)| *given) {
                return Err(Failure::Usage(format!(
                    "{asked} is for pictures: choose an output that ends in .png, .gif or .webp"
                )));
            }
        }
        Some("png" | "gif" | "webp") if picture.fps.is_some_and(|fps| fps > MOST_FRAMES) => {
            return Err(Failure::Usage(format!(
                "--fps: an animation has at most {MOST_FRAMES} frames per second"
            )));
        }
        Some("png" | "gif" | "webp") if args.name.is_some() => {
            return Err(Failure::Usage("--name is of a clip: choose an output that ends in .glb".into()));
        }
        Some("png" | "gif" | "webp")
            if args.source.is_rest() && picture.fps.is_some() && !picture.turntable =>
        {
            return Err(Failure::Usage("--fps is for animations: give a --clip, or add --turntable".into()));
        }
        Some("png" | "gif" | "webp") => return picture.format().map(Some),
        _ => {
            let name = path_text(&picture.output);
            return Err(Failure::Usage(format!(
                "{name}: its name does not end in .glb, or in .png, .gif or .webp for a picture"
            )));
        }
    }
    match (args.source.is_rest(), picture.time) {
        (true, None) if picture.fps.is_some() || args.name.is_some() => {
            Err(Failure::Usage("--fps and --name need a clip: give --clip instead of --rest".into()))
        }
        (false, Some(_)) if args.name.is_some() => Err(Failure::Usage(
            "--name is for a whole clip, and --time for one pose: give one of them".into(),
        )),
        _ => Ok(None),
    }
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
        return Err(Failure::Usage(
            "nothing is asked for: give a --goal, a --move or an --orientation".into(),
        ));
    }
    if let (true, Some(timed)) = (args.source.is_rest(), requests.iter().find(|it| !it.times().is_empty())) {
        return Err(Failure::Usage(format!(
            "{}: a goal with a time needs a clip: give --clip instead of --rest, or leave the time out",
            joint_name(skeleton, timed.joint)
        )));
    }
    if let Some(clip) = clip {
        let (start, end) = (clip.start(), clip.end());
        if let Some(time) = requests.iter_mut().find_map(|request| request.fit(start, end)) {
            return Err(Failure::Usage(format!(
                "a goal at {time} s is beside the clip, which lasts from {start} to {end} s"
            )));
        }
    }
    let shift = args.shift.as_deref().map(|joint| find_joint(file, skeleton, joint)).transpose()?;
    Ok(Solver::new(asset, requests, shift, (args.ease, (TOLERANCE / metres) as f32)))
}

/// The moments to solve, ascending: one, or the frames of the clip and the times of all goals.
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
    // That of a .gif is of its frames, for which keys are not missed.
    options.rate = picture.fps.filter(|_| format.is_none()).map(|fps| fps as f32);
    let count = frame_count(clip, asset.skeleton.joint_count(), &options);
    let count = count.ok().filter(|&count| count <= LONGEST).ok_or_else(|| {
        Failure::Usage(format!(
            "the clip has more than {LONGEST} frames; choose a lower --fps, or one moment with --time"
        ))
    })?;
    let (start, end) = (clip.start(), clip.end());
    // Rounded as the keys that they become.
    let frame = |at: usize| f64::from((start + (end - start) * (at as f64 / count.max(1) as f64)) as f32);
    let mut moments = times;
    let gap = (end - start) / count.max(1) as f64 * 1e-2;
    let apart = |time: f64| !moments.iter().any(|&own| (own - time).abs() < gap);
    let frames: Vec<f64> = (0..=count).map(frame).filter(|&time| apart(time)).collect();
    moments.extend(frames);
    // Where a goal is within a hair of them, the clip still begins and ends when it did.
    moments.extend([clip.start(), clip.end()]);
    moments.sort_by(f64::total_cmp);
    moments.dedup();
    Ok(moments)
}

/// The document with the clip that reaches, and that clip as it is read back from there.
fn document(
    args: &Args,
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
    let reached = written::clips(&args.picture.output, &glb, asset)?.swap_remove(at);
    Ok((glb, reached))
}

/// A static document of one moment.
fn posed(path: &Path, asset: &Asset, reached: &RawClip, seconds: f64) -> Result<Vec<u8>, Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::Data(format!("{}: {e}", path_text(path)));
    let exporter = Exporter::new(asset).map_err(|e| failed(&e))?;
    exporter.problems().iter().for_each(|problem| warn(path, &problem.to_string()));
    let mut poser = Poser::new(asset, PoserOptions::default()).map_err(|e| failed(&e))?;
    poser.pose(Some(reached), seconds).map_err(|e| failed(&e))?;
    exporter.glb(&poser.scene()).map_err(|e| failed(&e))
}

/// The earliest of the times of goals; 0 where there are none.
fn first(times: &[f64]) -> f64 {
    times.iter().copied().reduce(f64::min).unwrap_or(0.0)
}

/// The joints that are not as they were.
fn turned(solver: &Solver<'_>, solved: &[Solved]) -> Vec<u16> {
    let changed = |at: usize| solved.iter().any(|moment| moment.changed[at]);
    (0..).zip(&solver.movable).filter(|(at, _)| changed(*at)).map(|(_, &joint)| joint).collect()
}

/// Says what is not reached.
fn tell(path: &Path, row: &Row, solver: &Solver<'_>) {
    if row.is_missed() {
        let why = match solver.is_held(&solver.requests[row.index]) {
            true => "nothing may move for it; name with --shift what may",
            false => "it is out of reach, or what else is asked for keeps it away",
        };
        let (name, off) = (row.name(), row.shown(row.after));
        warn(path, &format!("{name} is missed by {off} at {:.3} s: {why}", row.seconds));
    } else if let Some(between) = row.between.filter(|&between| !row.turns() && between > BETWEEN) {
        let (name, off) = (row.name(), row.shown(between));
        warn(
            path,
            &format!("{name} is missed by up to {off} between keys; a higher --fps makes more of them"),
        );
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
