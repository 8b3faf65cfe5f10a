//! `condyle encode`: compressed clips, with a bound on the error of every vertex.

mod measure;
mod report;
mod row;
mod settings;

use std::path::{Path, PathBuf};
use std::time::Instant;

use condyle::RawClip;
use condyle::container::{ContainerWriter, EntryKind};
use condyle_encode::encode;
use condyle_gltf::{Asset, ClipExporter};
use condyle_io::distinct;
use indicatif::ProgressBar;
use rayon::prelude::*;
use serde_json::json;

use self::measure::worst;
pub(crate) use self::row::{Job, Row, Totals};
pub(crate) use self::settings::Settings;
use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::document::{self, metres_per_unit, warn_of_repairs};
use crate::model::open_onto;
use crate::options::heading::{INPUT, OUTPUT, REPORT};
use crate::options::job;
use crate::options::overwrite::Overwrite;
use crate::options::space::{Height, Space};
use crate::options::threads::Threads;
use crate::options::work::Limit;
use crate::output::{Written, check_ending, finish_file, keep_all, print, print_json, progress, warn};
use crate::text::{counted, hertz, millimetres, path_text, printable, size, table};

/// Compress clips of models or of a folder, with a bounded error
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle encode fox.glb -o fox.condyle --unit 1cm               to half a millimetre, if a unit is a centimetre
  condyle encode fox.glb -o fox.condyle --height 0.6m            if the fox is 60 cm high
  condyle encode fox.glb -o fox.condyle --error 0.1mm --report fox.html
  condyle encode models/*.glb -o all.condyle --json | jq 'select(.clip).error_max_m'
  condyle encode walk.glb run.glb --onto fox.glb -o fox.condyle  clips from files without a mesh
  condyle encode walk.bvh -o walk.condyle --height 1.8m          motion capture in any unit
  condyle encode walk.bvh -o walk.condyle --unit 1cm --up z      in centimetres, with Z up
  condyle encode mocap -o motion.condyle --unit 1cm              a library from a folder of BVH files in centimetres
  condyle encode clips -o motion.condyle --error 1mm --json | jq .left_out
  condyle encode mocap -o motion.condyle --parts kept            a later run encodes only new and changed files
  condyle encode amass -o motion.condyle --body model.npz --up z    AMASS body motions, which are Z up

The error is measured on the decoded clip, in model space, at points that enclose all vertices of a
joint: at every frame, at three times between frames, and at every key of the original. At these
times neither the points nor the vertices exceed --error. A track that no curve fits within it is
stored with all its keys, with a warning. Around joints without vertices, all points within --shell
are bounded; the file states that radius, and compare and decode use it. If a clip drives morph
weights, a quarter of --error is reserved for them: the error that they add to a vertex is added to
that of its joints.

--rate auto finds the rate at which the clip was authored, including rates such as 29.97, from the
times of all keys, however these are rounded. If keys miss the frames, a warning reports their
number and the largest offset.

In the table, raw is 40 bytes per joint and frame, the size without compression. Fallback tracks are
stored without compression. With a --rate whose frames miss keys of the original, most tracks are
fallback tracks, unless --at-samples drops the bound between the frames.

Lengths may have a unit (mm, cm or m); the default is metres. For each model the file holds its
skeleton, meshes and clips, and the document without animations. info, check, skin, render, compare
and decode read it. The same models give the same bytes with any number of threads.

A folder becomes a library: the skeleton and the clips of each file, without meshes and documents.
All its subfolders are searched for .bvh, .fbx, .glb, .gltf, .vrm, .vrma, and .npz in AMASS's layout. An
.npz needs --body; it is in metres, and its skeleton is that of the person who moved. Files with the
same skeleton share one. A clip is named after the path of its file in the folder, without the
extension, followed by its own name if the file has several clips. Names, folders as tags, seconds,
frames, rates and errors are columns of the library.

A file of the folder that cannot be used is left out; the reason is printed and stored in the
library. Encoded files stay in OUT.condyle.parts until the library is complete, so that an
interrupted run continues where it stopped.")]
pub(crate) struct Args {
    /// Models (.glb, .gltf, .fbx or .bvh), or one folder of motion
    #[arg(required = true, value_name = "MODEL|FOLDER")]
    pub(crate) models: Vec<PathBuf>,
    /// Output file; missing folders are created
    #[arg(short, long, value_name = "OUT.condyle")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) space: Space,
    #[command(flatten)]
    pub(crate) height: Height,
    /// Encode the clips for this model, matching joints by name. For files that hold only motion: --unit and
    /// --up then describe the motion, and --height describes this model, whose clips are left out
    #[arg(long, alias = "skeleton", value_name = "MODEL", help_heading = INPUT)]
    pub(crate) onto: Option<PathBuf>,
    /// Body model (SMPL family) for the .npz motions of a folder
    #[arg(long, value_name = "MODEL.npz", help_heading = INPUT)]
    pub(crate) body: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Leave out the document with its materials and textures. Only info and check can then read the file
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) no_document: bool,
    /// Keep the encoded files of a folder here, for later runs [default: OUT.condyle.parts, removed at the
    /// end]
    #[arg(long, value_name = "FOLDER", help_heading = OUTPUT)]
    pub(crate) parts: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
    /// Write an HTML report with plots of every clip. It shows the error over time and by joint, and the size
    /// by joint
    #[arg(long, value_name = "FILE.html", help_heading = REPORT)]
    pub(crate) report: Option<PathBuf>,
    /// Print one JSON object per line: one for each clip, then one for the file. A folder gives one object
    #[arg(long, help_heading = REPORT)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limit: Limit,
    #[command(flatten)]
    pub(crate) threads: Threads,
}

impl Args {
    /// Returns the first input that is a folder, which `pack_library` encodes.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.models.iter().map(PathBuf::as_path).find(|path| path.is_dir())
    }
}

/// Encodes models.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    check_options(args)?;
    let begin = Instant::now();
    let mut files =
        job::Job::new(&args.models, std::iter::once(&args.output).chain(&args.report), args.overwrite)?;
    args.settings.warn_of_sizes();
    let jobs = open_all(args, &mut files)?;
    let mut budget = files.budget(args.limit);
    for job in &jobs {
        for clip in &job.asset.clips {
            budget.afford(&path_text(job.path), clip.name(), &args.settings.work(job, clip)?)?;
        }
    }
    let rows = encode_all(args, &jobs)?;
    warn_of_bounds(&rows);
    warn_of_frames(args, &rows);
    let bytes = container(args, &jobs, &rows)?;
    let mut files = vec![finish_file(args.output.clone(), |out| out.write_all(&bytes))?];
    if let Some(to) = &args.report {
        let page = report::page(args.settings.error.metres, &rows);
        files.push(finish_file(to.clone(), |out| out.write_all(page.as_bytes()))?);
    }
    let file = &keep_all(files)?[0];
    let took = begin.elapsed().as_secs_f64();
    match args.json {
        true => print_rows(args, &rows, file, took),
        false => print(&to_text(&jobs, &rows, &Written::summary(std::slice::from_ref(file)), took)),
    }
}

/// Rejects options for folders, and outputs of other formats.
fn check_options(args: &Args) -> Result<(), Failure> {
    let of_folders = [(args.body.is_some(), "--body"), (args.parts.is_some(), "--parts")];
    if let Some((_, option)) = of_folders.iter().find(|(given, _)| *given) {
        let name = path_text(&args.models[0]);
        return Err(Failure::Usage(format!(
            "{option} is for a folder, and {name} is not one; give a folder, or leave {option} out"
        )));
    }
    check_ending(&args.output, "condyle", "a container")?;
    args.report.iter().try_for_each(|to| check_ending(to, "html", "a page"))
}

/// Opens all models; with --onto, one model with the clips of all files.
fn open_all<'a>(args: &'a Args, files: &mut job::Job) -> Result<Vec<Job<'a>>, Failure> {
    let jobs = match &args.onto {
        Some(onto) => {
            let (asset, read) = open_onto(&args.models, onto, args.space, args.height.length, false)?;
            files.also_read(&read)?;
            vec![job(args, onto, asset)?]
        }
        None => args
            .models
            .iter()
            .map(|path| job(args, path, open(path, args.space)?))
            .collect::<Result<Vec<_>, _>>()?,
    };
    for job in &jobs {
        files.also_read(&document::sources(job.path, Some(&job.asset.document)))?;
    }
    match twins(&jobs) {
        Some((this, that)) => Err(Failure::Usage(format!(
            "{} and {} would both be named {} in the output; rename one",
            path_text(this.path),
            path_text(that.path),
            printable(&this.name)
        ))),
        None => Ok(jobs),
    }
}

/// Encodes the clips of all models.
fn encode_all<'a>(args: &Args, jobs: &'a [Job<'a>]) -> Result<Vec<Row<'a>>, Failure> {
    let all: Vec<_> =
        jobs.iter().flat_map(|job| job.asset.clips.iter().map(move |clip| (job, clip))).collect();
    let bar = progress(PERCENT as usize * all.len(), "encoding");
    let rows =
        args.threads.pool()?.install(|| all.par_iter().map(|&(job, clip)| row(job, clip, &bar)).collect());
    bar.finish_and_clear();
    rows
}

/// Warns about clips whose error is above the bound, and about fallback tracks.
fn warn_of_bounds(rows: &[Row<'_>]) {
    for row in rows.iter().filter(|row| row.units() > row.job.options.budget) {
        let error = millimetres(row.error_max());
        let name = printable(&row.name);
        warn(
            row.job.path,
            &format!(
                "{name} has an error of {error} mm: the bound is below the precision of f32; raise --error"
            ),
        );
    }
    for row in rows {
        // Only tracks of joints count: scalar tracks with keys between the frames are fallback tracks in good
        // clips too.
        let count = row.encoded.fallback.iter().filter(|target| target.joint().is_some()).count();
        if count > 0 {
            let (tracks, name) = (counted(count, "track is", "tracks are"), printable(&row.name));
            warn(
                row.job.path,
                &format!(
                    "{name}: {tracks} stored with all keys (fallback), because no curve is within the error"
                ),
            );
        }
    }
}

/// Warns about keys between the frames, and about motion far from the origin.
fn warn_of_frames(args: &Args, rows: &[Row<'_>]) {
    for row in rows {
        let notes = [row.off_frames(), row.far_away(args.settings.error.metres)];
        for what in notes.into_iter().flatten() {
            warn(row.job.path, &format!("{}: {what}", printable(&row.name)));
        }
    }
}

/// Progress bar steps for each clip.
const PERCENT: u64 = 100;

pub(crate) fn open(path: &Path, space: Space) -> Result<Asset, Failure> {
    if is_container(path) {
        return Err(Failure::Usage(format!(
            "{} is compressed already; encode the original models",
            path_text(path)
        )));
    }
    document::open(path, space, false)
}

fn job<'a>(args: &Args, path: &'a Path, mut asset: Asset) -> Result<Job<'a>, Failure> {
    if args.onto.is_none() {
        warn_of_repairs(path, &asset);
    }
    name_clips(path, &mut asset);
    // With --onto, the height was applied when the model was opened.
    let (space, height) = match args.onto {
        Some(_) => (Space::AS_IN_FILE, None),
        None => (args.space, args.height.length),
    };
    let metres = metres_per_unit(path, &mut asset, space, height)?;
    args.settings.job(path, asset, metres)
}

/// Returns two models with the same name.
fn twins<'a, 'b>(jobs: &'b [Job<'a>]) -> Option<(&'b Job<'a>, &'b Job<'a>)> {
    let mut pairs =
        jobs.iter().enumerate().flat_map(|(at, this)| jobs[..at].iter().map(move |that| (that, this)));
    pairs.find(|(this, that)| this.name == that.name)
}

pub(crate) fn row<'a>(job: &'a Job<'a>, clip: &RawClip, bar: &ProgressBar) -> Result<Row<'a>, Failure> {
    let name = clip.name().to_owned();
    let begin = Instant::now();
    let mut shown = 0;
    let mut tell = |done: f32| {
        let now = (done.clamp(0.0, 1.0) * PERCENT as f32) as u64;
        bar.inc(now.saturating_sub(shown));
        shown = shown.max(now);
    };
    let encoded =
        job.options(clip).and_then(|options| encode(clip, &job.asset.skeleton, &options, &mut tell));
    tell(1.0);
    let took = begin.elapsed().as_secs_f64();
    let failed = |e: condyle::Error| unfit(job, &name, &e);
    let encoded = encoded.map_err(failed)?;
    let morphed = job.asset.morph_error(clip, &encoded.measured).map_err(failed)?;
    let worst = worst(&job.asset, clip, &encoded).map_err(failed)?;
    Ok(Row { job, name, seconds: clip.duration(), encoded, morphed, worst, took })
}

/// Gives each clip a unique name, because a container identifies clips by name.
fn name_clips(path: &Path, asset: &mut Asset) {
    let name = |(index, clip): (usize, &RawClip)| match clip.name() {
        "" => format!("clip {index}"),
        name => name.to_owned(),
    };
    let mut names: Vec<String> = asset.clips.iter().enumerate().map(name).collect();
    for index in distinct(&mut names) {
        let (clip, name) = (printable(asset.clips[index].name()), printable(&names[index]));
        warn(
            path,
            &format!("several clips are named {clip}; clip {index} is renamed to {name} in the output"),
        );
    }
    let clips = std::mem::take(&mut asset.clips);
    asset.clips = clips.into_iter().zip(names).map(|(clip, name)| clip.with_name(name)).collect();
}

/// Returns the failure for a clip that the encoder rejects.
fn unfit(job: &Job<'_>, clip: &str, error: &condyle::Error) -> Failure {
    Failure::Data(format!(
        "{}: the clip {} cannot be encoded: {error}; check its keys with `condyle info`",
        path_text(job.path),
        printable(clip)
    ))
}

/// Returns the bytes of the container.
fn container(args: &Args, jobs: &[Job<'_>], rows: &[Row<'_>]) -> Result<Vec<u8>, Failure> {
    let mut writer = ContainerWriter::default();
    for job in jobs {
        let failed = |e: &dyn std::fmt::Display| Failure::Data(format!("{}: {e}", path_text(job.path)));
        let model = writer.add_skeleton(&job.name, &job.asset.skeleton).map_err(|e| failed(&e))?;
        if let Some(metres) = job.asset.unit() {
            writer.set_unit(model, metres as f32).map_err(|e| failed(&e))?;
        }
        for (name, mesh) in job.asset.placed_meshes().map_err(|e| failed(&e))? {
            writer.add_mesh(name, model, &mesh, &job.asset.skeleton).map_err(|e| failed(&e))?;
        }
        for row in rows.iter().filter(|row| std::ptr::eq(row.job, job)) {
            row.add_to(&mut writer, model).map_err(|e| failed(&e))?;
        }
        if !args.no_document {
            let exporter = ClipExporter::new(&job.asset);
            exporter.problems().iter().for_each(|problem| warn(job.path, &problem.to_string()));
            let none: &[RawClip] = &[];
            let document = exporter.glb(none).map_err(|e| failed(&e))?;
            writer.add(EntryKind::Document, &job.name, Some(model), &document).map_err(|e| failed(&e))?;
        }
    }
    Ok(writer.finish())
}

/// Prints one JSON object for each clip, then one for the file.
fn print_rows(args: &Args, rows: &[Row<'_>], file: &Written, took: f64) -> Result<(), Failure> {
    rows.iter().try_for_each(|row| print_json(&row.to_json(args.settings.error.metres).to_string()))?;
    let totals = Totals::of(rows);
    print_json(
        &json!({
            "file": file.to_json(),
            "clips": rows.len(),
            "raw_bytes": totals.raw_bytes,
            "bytes": totals.bytes,
            "encode_s": took,
        })
        .to_string(),
    )
}

fn to_text(jobs: &[Job<'_>], rows: &[Row<'_>], file: &str, took: f64) -> String {
    let several = jobs.len() > 1;
    let headings =
        ["model", "clip", "rate", "raw", "encoded", "ratio", "per second", "worst, mm", "where", "tracks"];
    let mut lines = vec![headings.map(String::from).to_vec()];
    for row in rows {
        lines.push(vec![
            printable(&row.job.name),
            printable(&row.name),
            hertz(row.encoded.rate),
            size(row.encoded.raw_bytes),
            size(row.encoded.bytes().len()),
            format!("{:.1}", row.ratio()),
            size(row.bytes_per_second().round() as usize),
            millimetres(row.error_max()),
            row.place(),
            row.encoding(),
        ]);
    }
    // With a single model, its column is left out.
    if !several {
        lines.iter_mut().for_each(|line| drop(line.remove(0)));
    }
    let mut out = table(if several { "<<>>>>>><<" } else { "<>>>>>><<" }, lines);
    let totals = Totals::of(rows);
    out += &format!(
        "\n{}: {} to {}, {:.1} to 1, error up to {} mm\n{file}, {took:.1} s\n",
        counted(rows.len(), "clip", "clips"),
        size(totals.raw_bytes),
        size(totals.bytes),
        totals.ratio(),
        millimetres(totals.error_max),
    );
    out
}
