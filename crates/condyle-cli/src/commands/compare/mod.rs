//! `condyle compare`: the distances between the vertices of two files.

mod measure;
mod pairs;
mod picture;
mod subject;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use condyle::Dispatch;
use serde_json::{Value, json};

use self::measure::{Difference, measure, moments};
use self::picture::{Format, Series};
use self::subject::{Gltf, Subject};
use crate::failure::Failure;
use crate::model;
use crate::model::container::is_container;
use crate::model::document::sources;
use crate::options::numerics::Numerics;
use crate::options::quantity::{fps_up_to, parse_length};
use crate::options::source::{Which, find_clip};
use crate::output::{check_destination, print, print_json, progress, warn, write_file};
use crate::text::{grouped, millimetres, printable, table};

/// Measure how far the vertices of two files are apart while their clips play
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle compare fox.glb smaller.glb                           every clip, in millimetres
  condyle compare fox.glb smaller.glb --height 0.6m             if the fox is 60 cm high
  condyle compare fox.glb smaller.glb --clip Run --plot run.svg
  condyle compare fox.glb smaller.glb --json | jq 'select(.worst.millimetres > 1).clip'

Both files must hold the same model: the same meshes with equally many vertices, on the same joints by name or by
structure. Clips are paired by name, or by their order if no names match. They are sampled at every key of either file
and at three times between each two.

worst is the largest distance between a vertex and its counterpart, 99 % the 99th percentile over all vertices and
moments, and mean of max the largest distance at a moment, averaged over all moments. Units are taken to be metres.")]
pub(crate) struct Args {
    /// The reference: .glb, .gltf or .condyle
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The model to compare with it
    #[arg(value_name = "B")]
    b: PathBuf,
    #[command(flatten)]
    which: Which,
    /// One clip only, by name or index in A
    #[arg(long, value_name = "NAME|INDEX")]
    clip: Option<String>,
    /// Compare at N evenly spaced times per second instead
    #[arg(long, value_name = "N", value_parser = fps_up_to(1000.0))]
    fps: Option<f64>,
    /// The real height of A at rest: scales all distances
    #[arg(long, value_name = "LENGTH", value_parser = parse_length)]
    height: Option<f64>,
    /// Plot the largest distance over time
    #[arg(long, value_name = "OUT.png|.svg")]
    plot: Option<PathBuf>,
    /// Print one JSON object per clip and line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    numerics: Numerics,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let dispatch = args.numerics.apply()?;
    let plot = args.plot.as_deref().map(|to| Ok((to, Format::of(to)?))).transpose()?;
    let mut inputs: BTreeSet<PathBuf> = sources(&args.a, None);
    inputs.extend(sources(&args.b, None));
    plot.iter().try_for_each(|(to, _)| check_destination(to, &inputs))?;
    let which = args.which.name();
    if which.is_some() && ![&args.a, &args.b].into_iter().any(|path| is_container(path)) {
        return Err(Failure::Usage(
            "--model is for a .condyle with several models; neither file is one".into(),
        ));
    }
    let open = |path: &Path| model::open(path, which.filter(|_| is_container(path)), args.json);
    let (a, b) = (open(&args.a)?, open(&args.b)?);
    for (path, model) in [(&args.a, &a), (&args.b, &b)] {
        inputs.extend(sources(path, Some(&model.asset.document)));
    }
    plot.iter().try_for_each(|(to, _)| check_destination(to, &inputs))?;

    let all = a.clips();
    let wanted = args.clip.as_deref().filter(|_| !all.is_empty());
    let wanted = wanted.map(|name| find_clip(a.asset.document.name(), &all, name)).transpose()?;
    let (mut a, mut b) = (Gltf::new(&a)?, Gltf::new(&b)?);
    let parts = pairs::parts(&a, &b)?;
    let clips = clips(args, &a, &b, wanted)?;
    let scale = match args.height {
        Some(height) => height / height_at_rest(&mut a, &parts)?,
        None => 1.0,
    };
    let times = clips.iter().map(|&(this, that)| moments(&a.clips()[this], &b.clips()[that], args.fps));
    let times = times.collect::<Result<Vec<_>, _>>()?;

    let bar = progress(times.iter().map(Vec::len).sum(), "comparing");
    let mut found = Vec::new();
    for (&(this, that), times) in clips.iter().zip(&times) {
        let difference = measure((&mut a, this), (&mut b, that), &parts, times, || bar.inc(1))?;
        if args.json {
            let line = to_json(args, dispatch, scale, (&a, this), (&b, that), &difference);
            bar.suspend(|| print_json(&line.to_string()))?;
        }
        found.push((this, difference));
    }
    bar.finish_and_clear();
    if !args.json {
        print(&to_text(&a, &b, scale, &found))?;
    }
    if let Some((to, format)) = plot {
        let series = found.into_iter().map(|(clip, difference)| Series {
            name: printable(&a.clips()[clip].name),
            points: difference.over_time.into_iter().map(|(t, d)| (t.into(), 1000.0 * scale * d)).collect(),
        });
        let bytes = picture::draw(series.collect(), format)?;
        write_file(to.to_path_buf(), |out| out.write_all(&bytes))?;
    }
    Ok(())
}

/// The pairs of clips to compare, with a warning for each clip of A without a counterpart.
fn clips(
    args: &Args,
    a: &dyn Subject,
    b: &dyn Subject,
    wanted: Option<usize>,
) -> Result<Vec<(usize, usize)>, Failure> {
    for subject in [a, b] {
        if subject.clips().is_empty() {
            return Err(Failure::Data(format!(
                "{} has no clips, so there is nothing to compare",
                subject.file()
            )));
        }
    }
    let mut pairs = pairs::clips(a, b);
    let alone = |clip: usize| {
        let name = printable(&a.clips()[clip].name);
        let names: Vec<_> = b.clips().iter().map(|c| printable(&c.name)).take(20).collect();
        format!("no clip in {} is named {name}; its clips are {}", b.file(), names.join(", "))
    };
    if let Some(wanted) = wanted {
        pairs.retain(|pair| pair.0 == wanted);
        return match pairs.is_empty() {
            true => Err(Failure::Usage(format!("{}: {}", a.file(), alone(wanted)))),
            false => Ok(pairs),
        };
    }
    let single: Vec<_> = (0..a.clips().len()).filter(|&clip| pairs.iter().all(|p| p.0 != clip)).collect();
    if let (true, Some(&first)) = (pairs.is_empty(), single.first()) {
        return Err(Failure::Data(format!("{}: {}", a.file(), alone(first))));
    }
    for clip in single {
        warn(&args.a, &alone(clip));
    }
    Ok(pairs)
}

/// From the lowest vertex of the rest pose to the highest, in units of the file.
fn height_at_rest(subject: &mut dyn Subject, parts: &[(usize, usize)]) -> Result<f64, Failure> {
    subject.pose(None, 0.0)?;
    let heights = parts.iter().flat_map(|&(part, _)| subject.positions(part)).map(|p| f64::from(p[1]));
    let (low, high) = heights.fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(y), high.max(y)));
    match high > low {
        true => Ok(high - low),
        false => Err(Failure::Usage(format!(
            "{} has no height at rest, so --height cannot scale it; leave --height out",
            subject.file()
        ))),
    }
}

fn to_text(a: &dyn Subject, b: &dyn Subject, scale: f64, found: &[(usize, Difference)]) -> String {
    let several = a.parts().iter().any(|part| part.primitive > 0);
    let mut rows =
        vec![["", "clip", "moments", "worst", "99 %", "mean of max", "where"].map(String::from).to_vec()];
    for (clip, difference) in found {
        let worst = difference.worst;
        let part = &a.parts()[worst.part];
        let primitive = if several { format!(" primitive {}", part.primitive) } else { String::new() };
        let name = printable(&part.name);
        rows.push(vec![
            clip.to_string(),
            printable(&a.clips()[*clip].name),
            grouped(difference.over_time.len()),
            millimetres(scale * worst.distance),
            millimetres(scale * difference.percentile_99),
            millimetres(scale * difference.mean_of_max),
            format!("{name}{primitive} vertex {} at {:.3} s", worst.vertex, worst.seconds),
        ]);
    }
    format!("{} and {}, millimetres\n{}", a.file(), b.file(), table("><>>>><", rows))
}

fn to_json(
    args: &Args,
    dispatch: Dispatch,
    scale: f64,
    (a, clip_a): (&dyn Subject, usize),
    (b, clip_b): (&dyn Subject, usize),
    found: &Difference,
) -> Value {
    let worst = found.worst;
    let part = &a.parts()[worst.part];
    let (this, that) = (&a.clips()[clip_a], &b.clips()[clip_b]);
    json!({
        "files": [args.a.to_string_lossy(), args.b.to_string_lossy()],
        "clip": this.name,
        "clips": [
            { "index": clip_a, "name": this.name, "start_seconds": this.start, "end_seconds": this.end },
            { "index": clip_b, "name": that.name, "start_seconds": that.start, "end_seconds": that.end },
        ],
        "moments": found.over_time.len(),
        "scale": scale,
        "worst": {
            "mesh": part.name,
            "primitive": part.primitive,
            "vertex": worst.vertex,
            "seconds": worst.seconds,
            "millimetres": 1000.0 * scale * worst.distance,
        },
        "percentile_99_millimetres": 1000.0 * scale * found.percentile_99,
        "mean_of_max_millimetres": 1000.0 * scale * found.mean_of_max,
        "isa": dispatch.isa().name(),
        "numeric": dispatch.numeric().name(),
    })
}
