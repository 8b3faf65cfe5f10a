//! `condyle compare`: the distances between the vertices of two files, or between their joints.

mod cluster;
mod joints;
mod measure;
mod pairs;
mod picture;
mod place;
mod subject;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use condyle::Dispatch;
use serde_json::{Value, json};

use self::cluster::clusters;
use self::joints::By;
use self::measure::{Difference, measure, moments};
use self::pairs::{How, Pairing, pair};
use self::picture::{Format, Series};
use self::subject::Subject;
use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::document::{sources, too_large};
use crate::model::{self, Model};
use crate::options::numerics::Numerics;
use crate::options::overwrite::Overwrite;
use crate::options::quantity::{Length, TALL, fps_up_to, parse_length};
use crate::options::source::{Which, find_clip};
use crate::options::work::{Limit, Work};
use crate::output::{check_destination, print, print_json, progress, warn, write_file};
use crate::text::{counted, grouped, millimetres, path_text, printable, table};

/// Measure how far the vertices of two files are apart while their clips play
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle compare fox.glb smaller.glb                           every clip, in millimetres
  condyle compare fox.glb smaller.glb --height 0.6m             if the fox is 60 cm high
  condyle compare fox.glb smaller.glb --clip Run --plot run.svg
  condyle compare fox.glb smaller.glb --json | jq 'select(.worst.millimetres > 1).clip'

Both files must hold the same model. Their rest poses are compared first. Vertices are paired by their order where that
leads to one place in the rest poses, else by their places there, whatever the order, the names and the number of meshes:
of several in one place those that the same joints and morph targets move. Vertices without a counterpart are counted.
Where less than half of the vertices of each file can be paired, joints are compared, by their names, or by their order if
none is in both and all have the same parents: their origins, and points on their three axes, a twentieth of the model's
size off, so that turns count.

Clips are paired by name, or by their order if they have no names. They are sampled at every key of either file and at
three times between each two.

worst is the largest distance between a vertex and its counterpart, 99 % the 99th percentile over all vertices and
moments, and mean of max the largest distance at a moment, averaged over all moments. Units are those that --height makes
of A, else those that a .condyle was made with by `condyle encode --height`, else metres. A length has a unit, mm, cm or
m; without one it is in metres.")]
pub(crate) struct Args {
    /// The reference: .glb, .gltf, .bvh or .condyle
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
    /// The real height of A at rest, as for encode: scales all distances
    #[arg(long, value_name = "LENGTH", value_parser = parse_length)]
    height: Option<Length>,
    /// Plot the largest distance over time
    #[arg(long, value_name = "OUT.png|.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    #[command(flatten)]
    limit: Limit,
    /// Print one JSON object per clip and line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    numerics: Numerics,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let dispatch = args.numerics.apply()?;
    if let Some(height) = args.height {
        height.warn_above(TALL, "--height");
    }
    let plot = args.plot.as_deref().map(|to| Format::of(to).map(|format| (to, format))).transpose()?;
    let mut inputs: BTreeSet<PathBuf> = sources(&args.a, None);
    inputs.extend(sources(&args.b, None));
    plot.iter().try_for_each(|(to, _)| check_destination(to, &inputs, args.overwrite))?;
    let which = args.which.name();
    if which.is_some() && ![&args.a, &args.b].into_iter().any(|path| is_container(path)) {
        return Err(Failure::Usage(
            "--model is for a .condyle with several models; neither file is one".into(),
        ));
    }
    let open = |path: &Path| model::open(path, which.filter(|_| is_container(path)), None, args.json);
    let (a, b) = (open(&args.a)?, open(&args.b)?);
    for (path, model) in [(&args.a, &a), (&args.b, &b)] {
        inputs.extend(sources(path, Some(&model.asset.document)));
    }
    plot.iter().try_for_each(|(to, _)| check_destination(to, &inputs, args.overwrite))?;

    let all = a.clips();
    let wanted = args.clip.as_deref().filter(|_| !all.is_empty());
    let wanted = wanted.map(|name| find_clip(a.asset.document.name(), &all, name)).transpose()?;
    let unit = unit(args, &a, &b)?;
    let (mut a, mut b) = (Subject::new(&a)?, Subject::new(&b)?);
    let clips = clips(args, &a, &b, wanted)?;
    let all_keys = args.fps.is_none();
    let times =
        |(this, that): (usize, usize)| moments([a.keyed(this, all_keys), b.keyed(that, all_keys)], args.fps);
    let mut budget = args.limit.budget(&inputs);
    let mut count = 0;
    for &pair in &clips {
        let moments = times(pair)?.len();
        budget.afford(&a.file, &a.clips[pair.0].name, &Work::play(&[a.asset, b.asset], moments))?;
        count += moments;
    }
    let pairing = pair(&mut a, &mut b)?;
    let clusters = clusters(&a, &b, &pairing.links)?;

    let bar = progress(count, "comparing");
    let found = Report { a, b, unit, pairing };
    let mut rows = Vec::new();
    for &(this, that) in &clips {
        let sides = [(&found.a, this), (&found.b, that)];
        let times = moments(sides.map(|(it, clip)| it.keyed(clip, all_keys)), args.fps)?;
        let difference = measure(sides, &clusters, &times, |moments| bar.inc(moments))?;
        if args.json {
            let line = found.to_json(args, dispatch, (this, that), &difference);
            bar.suspend(|| print_json(&line.to_string()))?;
        }
        rows.push((this, difference));
    }
    bar.finish_and_clear();
    if !args.json {
        print(&found.to_text(&rows))?;
    }
    if let Some((to, format)) = plot {
        let series = rows.into_iter().map(|(clip, difference)| Series {
            name: printable(&found.a.clips[clip].name),
            points: difference
                .over_time
                .into_iter()
                .map(|(t, d)| (t.into(), 1000.0 * found.unit.metres * d))
                .collect(),
        });
        let bytes = picture::draw(series.collect(), format)?;
        write_file(to.to_path_buf(), |out| out.write_all(&bytes))?;
    }
    Ok(())
}

/// How many metres a unit of the files is, and who says so.
struct Unit {
    metres: f64,
    from: &'static str,
}

/// What `--height` makes of it, else what a container was made with, else a metre.
fn unit(args: &Args, a: &Model, b: &Model) -> Result<Unit, Failure> {
    let Some(height) = args.height else {
        let said = |it: &Model, from| it.unit.map(|metres| Unit { metres, from });
        return Ok(said(a, "a").or_else(|| said(b, "b")).unwrap_or(Unit { metres: 1.0, from: "metres" }));
    };
    let file = path_text(&args.a);
    match a.asset.rest_height().map_err(|e| too_large(&file, &e))? {
        units if units > 0.0 => Ok(Unit { metres: height.metres / units, from: "height" }),
        _ => Err(Failure::Usage(format!(
            "{file} has no height at rest, so --height cannot scale it; leave --height out"
        ))),
    }
}

/// The pairs of clips to compare, with a warning for each clip of A without a counterpart.
fn clips(
    args: &Args,
    a: &Subject<'_>,
    b: &Subject<'_>,
    wanted: Option<usize>,
) -> Result<Vec<(usize, usize)>, Failure> {
    for subject in [a, b] {
        if subject.clips.is_empty() {
            return Err(Failure::Data(format!(
                "{} has no clips, so there is nothing to compare",
                subject.file
            )));
        }
    }
    let mut pairs = pairs::clips(a, b);
    let alone = |clip: usize| {
        let name = printable(&a.clips[clip].name);
        let names: Vec<_> = b.clips.iter().map(|c| printable(&c.name)).take(20).collect();
        let names = names.join(", ");
        match a.clips[clip].is_named {
            true => format!("no clip in {} is named {name}; its clips are {names}", b.file),
            false => format!("{name} has no name to find it by in {}, whose clips are {names}", b.file),
        }
    };
    if let Some(wanted) = wanted {
        pairs.retain(|pair| pair.0 == wanted);
        return match pairs.is_empty() {
            true => Err(Failure::Usage(format!("{}: {}", a.file, alone(wanted)))),
            false => Ok(pairs),
        };
    }
    let single: Vec<_> = (0..a.clips.len()).filter(|&clip| pairs.iter().all(|p| p.0 != clip)).collect();
    if let (true, Some(&first)) = (pairs.is_empty(), single.first()) {
        return Err(Failure::Data(format!("{}: {}", a.file, alone(first))));
    }
    for clip in single {
        warn(&args.a, &alone(clip));
    }
    Ok(pairs)
}

/// Rows of the table of the rest poses, at the most.
const MOST_ROWS: usize = 12;

/// Two files, and what was paired of them.
struct Report<'a> {
    a: Subject<'a>,
    b: Subject<'a>,
    unit: Unit,
    pairing: Pairing,
}

impl Report<'_> {
    fn millimetres(&self, units: f64) -> String {
        millimetres(self.unit.metres * units)
    }

    fn to_text(&self, rows: &[(usize, Difference)]) -> String {
        let (a, b) = (&self.a, &self.b);
        let mut out = format!("{} and {}, millimetres", a.file, b.file);
        let said = |file: &str| format!("; a unit is {} mm, as {file} says", millimetres(self.unit.metres));
        match self.unit.from {
            "a" => out += &said(&a.file),
            "b" => out += &said(&b.file),
            _ => {}
        }
        out += "\n";
        out += &self.rest_to_text();
        let heading = ["", "clip", "moments", "worst", "99 %", "mean of max", "where"];
        let mut lines = vec![heading.map(String::from).to_vec()];
        for (clip, difference) in rows {
            let worst = difference.worst;
            lines.push(vec![
                clip.to_string(),
                printable(&a.clips[*clip].name),
                grouped(difference.over_time.len()),
                self.millimetres(worst.distance),
                self.millimetres(difference.percentile_99),
                self.millimetres(difference.mean_of_max),
                format!("{} at {:.3} s", a.place(worst.part, worst.vertex), worst.seconds),
            ]);
        }
        out + &table("><>>>><", lines)
    }

    /// What was paired, and how far apart that is at rest.
    fn rest_to_text(&self) -> String {
        let Pairing { how, counts, unpaired, .. } = &self.pairing;
        let (how, counts, unpaired) = (*how, *counts, *unpaired);
        let (a, b) = (&self.a, &self.b);
        let (part, worst) = self.pairing.worst_at_rest();
        let (one, many) = match how {
            How::Joints(_) => ("joint", "joints"),
            How::Order | How::Place => ("vertex", "vertices"),
        };
        let by = match how {
            How::Order | How::Joints(By::Order) => "their order",
            How::Place => "their places at rest",
            How::Joints(By::Name) => "their names",
        };
        let mut out = String::new();
        if !self.pairing.why.is_empty() {
            out += &format!(
                "  joints instead of vertices, as {}: their origins, and points {} mm off on their axes\n",
                self.pairing.why,
                self.millimetres(self.pairing.reach)
            );
        }
        out += &format!("  {} paired by {by}", counted(counts[0] - unpaired[0], one, many));
        let alone = |side: usize, file: &str| {
            format!("{} of {} in {file}", grouped(unpaired[side]), grouped(counts[side]))
        };
        if unpaired != [0; 2] {
            out += &format!("; without a counterpart: {}, {}", alone(0, &a.file), alone(1, &b.file));
        }
        out += &format!("\n  at rest {} mm apart at the most", self.millimetres(worst.worst));
        if worst.worst > 0.0 {
            out += &format!(", {}", a.place(part, worst.vertex));
        }
        out += "\n";
        out += &self.meshes_to_text();
        out + "\n"
    }

    /// A line for each mesh, where there are several and they differ.
    fn meshes_to_text(&self) -> String {
        let rest = &self.pairing.rest;
        if rest.len() < 2 || rest.iter().all(|part| (part.unpaired, part.worst) == (0, 0.0)) {
            return String::new();
        }
        let mut parts: Vec<usize> = (0..rest.len()).collect();
        parts.sort_by(|&p, &q| {
            let key = |part: usize| (rest[part].unpaired > 0, rest[part].worst);
            key(q).partial_cmp(&key(p)).unwrap_or(std::cmp::Ordering::Equal)
        });
        parts.truncate(MOST_ROWS);
        let row = |&part: &usize| {
            let it = &self.a.parts[part];
            let paired = it.rest.len() - rest[part].unpaired;
            vec![
                printable(&it.name),
                format!("primitive {}", it.primitive),
                format!("{} of {} paired", grouped(paired), counted(it.rest.len(), "vertex", "vertices")),
                format!("{} mm apart at rest", self.millimetres(rest[part].worst)),
            ]
        };
        let mut out = table("<<>>", parts.iter().map(row));
        if let more @ 1.. = rest.len() - parts.len() {
            out += &format!(
                "  and {} that {} closer\n",
                counted(more, "mesh", "meshes"),
                if more == 1 { "is" } else { "are" }
            );
        }
        out
    }

    fn to_json(
        &self,
        args: &Args,
        dispatch: Dispatch,
        (clip_a, clip_b): (usize, usize),
        found: &Difference,
    ) -> Value {
        let (a, pairing, worst) = (&self.a, &self.pairing, found.worst);
        let (this, that) = (&a.clips[clip_a], &self.b.clips[clip_b]);
        let millimetres = |units: f64| 1000.0 * self.unit.metres * units;
        let place = |part: usize, vertex: usize| match (pairing.how, &a.parts[part]) {
            (How::Joints(_), _) => json!({ "joint": a.joint(vertex) }),
            (_, part) => json!({ "mesh": part.name, "primitive": part.primitive, "vertex": vertex }),
        };
        let mut worst_json = place(worst.part, worst.vertex);
        worst_json["seconds"] = worst.seconds.into();
        worst_json["millimetres"] = millimetres(worst.distance).into();
        let (part, at_rest) = pairing.worst_at_rest();
        let mut rest = place(part, at_rest.vertex);
        rest["millimetres"] = millimetres(at_rest.worst).into();
        let meshes = a.parts.iter().zip(&pairing.rest).map(|(part, rest)| {
            json!({
                "mesh": part.name,
                "primitive": part.primitive,
                "vertices": part.rest.len(),
                "unpaired": rest.unpaired,
                "worst_millimetres": millimetres(rest.worst),
            })
        });
        let meshes: Vec<Value> = match pairing.how {
            How::Joints(_) => Vec::new(),
            How::Order | How::Place => meshes.collect(),
        };
        json!({
            "files": [args.a.to_string_lossy(), args.b.to_string_lossy()],
            "clip": this.name,
            "clips": [
                { "index": clip_a, "name": this.name, "start_seconds": this.start, "end_seconds": this.end },
                { "index": clip_b, "name": that.name, "start_seconds": that.start, "end_seconds": that.end },
            ],
            "moments": found.over_time.len(),
            "scale": self.unit.metres,
            "scale_from": self.unit.from,
            "paired": pairing.how.name(),
            "pairs": pairing.counts[0] - pairing.unpaired[0],
            "unpaired": pairing.unpaired,
            "rest": { "worst": rest, "meshes": meshes },
            "worst": worst_json,
            "percentile_99_millimetres": millimetres(found.percentile_99),
            "mean_of_max_millimetres": millimetres(found.mean_of_max),
            "isa": dispatch.isa().name(),
            "numeric": dispatch.numeric().name(),
        })
    }
}
