//! `condyle compare`: distances between the vertices of two files, or between their joints.

mod picture;
mod report;

use std::path::{Path, PathBuf};

use condyle::Dispatch;
use condyle_encode::Shell;
use condyle_io::compare::{Difference, Error, How, Pairing, Subject, common_shell, moments, pair_clips};

use self::picture::{Format, Series};
use self::report::{Radius, Report, Unit, why_text};
use crate::failure::{Failure, too_large};
use crate::model::container::is_container;
use crate::model::document::scale_to;
use crate::model::{self, Chosen, Model};
use crate::options::heading::{PRECISION, REPORT};
use crate::options::job::Job;
use crate::options::numerics::Numerics;
use crate::options::overwrite::Overwrite;
use crate::options::quantity::{Length, decimal, fps_up_to, parse_length};
use crate::options::source::{Which, find_clip};
use crate::options::space::{Height, Space};
use crate::options::work::{Limit, Work};
use crate::output::{print, print_json, progress, warn, write_file};
use crate::text::{counted, path_text, printable};

/// Measure the distances between the vertices of two files while clips play
#[derive(clap::Args)]
#[command(mut_arg("height", |arg| arg.help("Set the real height of A, instead of --unit; scales all distances")))]
#[command(after_help = "\
Examples:
  condyle compare fox.glb smaller.glb --unit 1cm                every clip, in millimetres
  condyle compare fox.glb smaller.glb --height 0.6m             if the fox is 60 cm high
  condyle compare fox.glb smaller.glb --clip Run --plot run.svg
  condyle compare fox.glb smaller.glb --json | jq 'select(.worst.millimetres > 1).clip'

Both files must hold the same model. Their rest poses are compared first, then their clips. Files
without clips are compared at rest.

Vertices are paired by their order, if that pairs equal positions in the rest poses. Otherwise they
are paired by position, whatever the order, the names and the number of meshes. Of several vertices
at one position, those with the same joints and morph targets are paired. Vertices without a
counterpart are counted.

If less than half of the vertices of each file can be paired, joints are compared instead: all
points within --shell of each joint, as in `condyle encode`. Joints are paired by name, or by order
if the files share no name and all parents are the same. Without --shell, the radius is that of the
.condyle, the smaller one of two; the report names its source. A joint without keys in the other
file is compared with the node of its name there. A joint without such a node is listed as unknown,
and the distances are then lower bounds.

Clips are paired by name, or by order if they have no names. They are sampled at every key of either
file and at three times between keys.

worst is the largest distance between a vertex and its counterpart. 99 % is the 99th percentile over
all vertices and moments. mean of max is the largest distance at a moment, averaged over all
moments.

The unit is set by --unit, or by --height for A, else by the unit stored in a file, else it is a
metre. Lengths may have a unit (mm, cm or m); the default is metres. --up z turns files with Z up to
+Y up, except those that were turned when they were written.")]
pub(crate) struct Args {
    /// Reference: .glb, .gltf, .vrm, .fbx, .bvh or .condyle
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Model to compare with the reference
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Compare one clip, by name or index in A [default: all]
    #[arg(long, value_name = "NAME|INDEX")]
    clip: Option<String>,
    /// Compare N times per second. The default is every key and three times between keys
    #[arg(long, value_name = "N", value_parser = fps_up_to(1000.0))]
    fps: Option<f64>,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    height: Height,
    /// Radius around each joint, if joints are compared [default: that of a .condyle, else 3cm]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse_length)]
    #[arg(help_heading = PRECISION)]
    shell: Option<Length>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Plot the largest distance over time
    #[arg(long, value_name = "OUT.png|.svg", help_heading = REPORT)]
    plot: Option<PathBuf>,
    /// Print one JSON object per line, one for each clip
    #[arg(long, help_heading = REPORT)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
    #[command(flatten)]
    numerics: Numerics,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let dispatch = args.numerics.apply()?;
    args.shell.iter().for_each(|shell| shell.warn_above(0.5, "--shell"));
    let plot = args.plot.as_deref().map(|to| Format::of(to).map(|format| (to, format))).transpose()?;
    let mut job = Job::new([&args.a, &args.b], &args.plot, args.overwrite)?;
    let [a, b] = open(args, &mut job)?;
    let all = a.clips();
    let wanted = args.clip.as_deref().filter(|_| !all.is_empty());
    let wanted = wanted.map(|name| find_clip(a.asset.document.name(), &all, name)).transpose()?;
    let unit = unit(args, &a, &b)?;
    let assets = [&a.asset, &b.asset];
    let (a, b) = (subject(&a)?, subject(&b)?);
    let clips = clips(args, &a, &b, wanted)?;
    let mut budget = job.budget(args.limit);
    let mut count = 0;
    for &(this, that) in &clips {
        let (this, that) = (&a.clips()[this], &b.clips()[that]);
        let moments = moments(this, that, args.fps).map_err(failure)?.len();
        budget.afford(a.name(), this.name(), &Work::play(&assets, moments))?;
        count += moments;
    }
    let radius = radius(args, [&a, &b], unit.metres);
    let pairing = Pairing::within(a, b, radius.metres / unit.metres).map_err(failure)?;
    let found = Report { pairing, unit, radius };
    if args.shell.is_some() && !matches!(found.pairing.how(), How::Joints(_)) {
        warn(&args.a, "--shell has no effect: it is for joints, and vertices are compared");
    }
    if clips.is_empty() {
        let difference = found.pairing.measure_rest().map_err(failure)?;
        return match args.json {
            true => print_json(&found.to_json(args, dispatch, None, &difference).to_string()),
            false => print(&found.to_text(&[])),
        };
    }
    let rows = measure(args, dispatch, &found, &clips, count)?;
    plot.map_or(Ok(()), |(to, format)| write_plot(to, format, &found, rows))
}

/// Opens both files.
fn open(args: &Args, job: &mut Job) -> Result<[Model; 2], Failure> {
    let which = args.which.name();
    if which.is_some() && ![&args.a, &args.b].into_iter().any(|path| is_container(path)) {
        return Err(Failure::Usage(
            "--model is for a .condyle with several models; neither file is one".into(),
        ));
    }
    let are_containers = [&args.a, &args.b].into_iter().all(|path| is_container(path));
    let mut open = |path: &Path| {
        // A container that was encoded with --up z is +Y up already.
        let up = args.space.up.filter(|_| are_containers || !is_container(path));
        let which = Chosen { model: which, clip: args.clip.as_deref() };
        let which = if is_container(path) { which } else { Chosen::default() };
        let model = model::open(path, which, None, Space { up, ..args.space }, args.json)?;
        job.also_read(&model.sources)?;
        Ok::<_, Failure>(model)
    };
    Ok([open(&args.a)?, open(&args.b)?])
}

/// Compares pairs of clips at `count` moments, and prints the distances.
fn measure(
    args: &Args,
    dispatch: Dispatch,
    found: &Report<'_>,
    clips: &[(usize, usize)],
    count: usize,
) -> Result<Vec<(usize, Difference)>, Failure> {
    let bar = progress(count, "comparing");
    let mut rows = Vec::new();
    for &pair in clips {
        let tick = |moments: usize| {
            bar.inc(moments as u64);
            true
        };
        let difference = found.pairing.measure(pair, args.fps, tick).map_err(failure)?;
        if args.json {
            let line = found.to_json(args, dispatch, Some(pair), &difference);
            bar.suspend(|| print_json(&line.to_string()))?;
        }
        rows.push((pair.0, difference));
    }
    bar.finish_and_clear();
    if !args.json {
        print(&found.to_text(&rows))?;
    }
    Ok(rows)
}

/// Plots the largest distance of each clip over time.
fn write_plot(
    to: &Path,
    format: Format,
    found: &Report<'_>,
    rows: Vec<(usize, Difference)>,
) -> Result<(), Failure> {
    let metres = found.unit.metres;
    let series = rows.into_iter().map(|(clip, difference)| Series {
        name: printable(found.pairing.subjects()[0].clips()[clip].name()),
        points: difference.over_time.into_iter().map(|(t, d)| (t, 1000.0 * metres * d)).collect(),
    });
    let bytes = picture::draw(series.collect(), format)?;
    write_file(to.to_path_buf(), |out| out.write_all(&bytes))?;
    Ok(())
}

/// Prepares a model for the comparison. Its name gets no control characters.
fn subject(model: &Model) -> Result<Subject<'_>, Failure> {
    Subject::new(printable(model.asset.document.name()), &model.asset, model.compared()).map_err(failure)
}

/// Converts an error to a failure that suggests the next step.
fn failure(error: Error) -> Failure {
    let next = match &error {
        Error::TooLarge { .. } => "remove the parts of the model that you do not need",
        Error::Rest { .. } => "check its scales",
        Error::Moment { .. } => "check keys and scales at that time",
        Error::Different { models: [a, b], why } => {
            return Failure::Data(format!(
                "{a} and {b} do not hold the same model: {}, and they have no joint in common; compare files that \
                 were made from the same model",
                why_text(why)
            ));
        }
        Error::TooManyMoments { clip, limit } => {
            let least = format!("{} would be compared at more than {limit} moments", printable(clip));
            return Failure::Usage(format!("{least}; choose a lower --fps"));
        }
        _ => return Failure::Data(error.to_string()),
    };
    Failure::Data(format!("{error}; {next}"))
}

/// Returns the unit that `--height` or `--unit` sets, else that of A or B, else a metre.
fn unit(args: &Args, a: &Model, b: &Model) -> Result<Unit, Failure> {
    if let Some(height) = args.height.length {
        let extent = a.extent().map_err(|e| too_large(&path_text(&args.a), &e))?;
        return Ok(Unit { metres: scale_to(&args.a, &extent, args.space, height)?, from: "height" });
    }
    if let Some(unit) = args.space.unit {
        return Ok(Unit { metres: unit.metres, from: "unit" });
    }
    let said = |it: &Model, from| it.asset.unit().map(|metres| Unit { metres, from });
    Ok(said(a, "a").or_else(|| said(b, "b")).unwrap_or(Unit { metres: 1.0, from: "metres" }))
}

/// Returns the radius of the balls around joints: that of `--shell`, else the smaller one that the files
/// state, else 3 cm.
fn radius(args: &Args, models: [&Subject<'_>; 2], unit: f64) -> Radius {
    if let Some(shell) = args.shell {
        return Radius { metres: shell.metres, from: "shell" };
    }
    match common_shell(models) {
        Some((units, model)) => Radius { metres: decimal(units) * unit, from: ["a", "b"][model] },
        None => Radius { metres: decimal(Shell::RADIUS), from: "default" },
    }
}

/// Returns the pairs of clips to compare, with a warning for each clip without a counterpart. The list
/// is empty if neither model has clips.
fn clips(
    args: &Args,
    a: &Subject<'_>,
    b: &Subject<'_>,
    wanted: Option<usize>,
) -> Result<Vec<(usize, usize)>, Failure> {
    match [a.clips().len(), b.clips().len()] {
        [0, 0] => {
            return match (&args.clip, &args.plot, args.fps) {
                (None, None, None) => Ok(Vec::new()),
                _ => Err(Failure::Usage(format!(
                    "{} and {} have no clips: they are compared at rest, without --clip, --fps and --plot",
                    a.name(),
                    b.name()
                ))),
            };
        }
        [0, _] | [_, 0] => {
            let (none, some) = if a.clips().is_empty() { (a, b) } else { (b, a) };
            let (none, clips) = (none.name(), counted(some.clips().len(), "clip", "clips"));
            return Err(Failure::Data(format!(
                "{none} has no clips and {} has {clips}; compare two files with clips, or two files without",
                some.name()
            )));
        }
        _ => {}
    }
    let mut pairs = pair_clips(a, b);
    let alone = |clip: usize| {
        let name = printable(a.clips()[clip].name());
        let names: Vec<_> = b.clips().iter().map(|c| printable(c.name())).take(20).collect();
        let names = names.join(", ");
        match a.is_named(clip) {
            true => format!("no clip in {} is named {name}; its clips are {names}", b.name()),
            false => format!("{name} has no name to look up in {}, whose clips are {names}", b.name()),
        }
    };
    if let Some(wanted) = wanted {
        pairs.retain(|pair| pair.0 == wanted);
        return match pairs.is_empty() {
            true => Err(Failure::Usage(format!("{}: {}", a.name(), alone(wanted)))),
            false => Ok(pairs),
        };
    }
    let single: Vec<_> = (0..a.clips().len()).filter(|&clip| pairs.iter().all(|p| p.0 != clip)).collect();
    if let (true, Some(&first)) = (pairs.is_empty(), single.first()) {
        return Err(Failure::Data(format!("{}: {}", a.name(), alone(first))));
    }
    for clip in single {
        warn(&args.a, &alone(clip));
    }
    for (clip, it) in b.clips().iter().enumerate() {
        if pairs.iter().all(|pair| pair.1 != clip) {
            let name = printable(it.name());
            warn(&args.b, &format!("{name} has no counterpart in {} and is not compared", a.name()));
        }
    }
    Ok(pairs)
}
