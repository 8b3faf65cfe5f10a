//! `condyle pack`: an ordinary .glb with smaller animations, and a bound on the error of every vertex.

mod drop;
mod form;
mod mesh;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use condyle::sampling::AnyClip;
use condyle::{Error, RawClip};
use condyle_encode::{EncodeOptions, Shell, frame_count};
use condyle_gltf::{Asset, ClipExporter, Document, MeshCompression, Problem, Severity};
use rayon::prelude::*;
use serde_json::{Value, json};

use self::drop::{displacement, dropped, without};
use self::form::{Form, Growth};
use self::mesh::{Kinds, MESH_PART, Meshes};
use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::document::{self, metres_per_unit, warn_of_repairs};
use crate::model::written::{self, Keys};
use crate::options::heading::{OUTPUT, REPORT};
use crate::options::overwrite::Overwrite;
use crate::options::quantity::{Length, at_most, parse_error};
use crate::options::shell::Bounded;
use crate::options::space::{Height, Space};
use crate::options::work::{Limit, Work};
use crate::output::{check_destination, check_ending, print, print_json, progress, warn, write_file};
use crate::text::{counted, hertz, millimetres, path_text, printable, size, table};

/// Write an ordinary .glb with smaller animations and a bounded error
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle pack fox.glb -o small.glb --unit 1cm               to half a millimetre where a unit is a centimetre
  condyle pack fox.glb -o small.glb --height 0.6m            if the fox is 60 cm high
  condyle pack fox.glb -o small.glb --error 2mm --drop --keep b_Tail03_014
  condyle pack fox.glb -o small.glb --meshopt                for readers that support EXT_meshopt_compression
  condyle pack fox.glb -o small.glb --mesh                   the meshes too, within the same error

Every track has the fewest keys that keep all vertices within --error, morph targets included: with
linear or spline interpolation, at times that tracks share, with rotations and weights as 16-bit
integers, as core glTF allows. A property that never changes has no track; steps stay unchanged.
Meshes, materials, textures and all else keep their bytes, compressed meshes too. If the file is
larger than before, the reason is printed.

--drop keeps the joints that cameras, lights and other extension data on nodes depend on, and those
that --keep names. Empty nodes, such as sockets, are not bounded: their error grows with the
distance from the joint. If no joint moves a vertex, as in motion capture, --drop keeps all joints
that have a name. The error of the joints that lose their tracks is printed.

With --meshopt, numbers are as coarse as --error allows, and compressed with EXT_meshopt_compression
where that is smaller. three.js, Babylon.js and many engines read that; other readers must refuse
the file. A file that already requires it or KHR_meshopt_compression gets it without --meshopt.

With --mesh, half of --error is for the meshes and half for the animations. Positions, weights and
morph targets have the fewest bits that keep posed vertices within their half in the poses of all
clips, and with other morph weights that add up to at most 1. Other poses are not measured. Without
clips, the meshes get all of it, in the rest pose only. Normals and tangents have 8 bits, texture
coordinates 12, colours 8 or 16. Equal vertices are merged. Triangles and vertices are ordered for
GPUs. Readers must also support KHR_mesh_quantization. Materials, textures, names and all else stay.
The report lists the parts that stay floats, and the primitives that do not change.

The printed errors are measured on the written file: at every key, at every frame and at three times
between frames, at points that enclose all vertices, and within --shell around joints without
vertices.")]
pub(crate) struct Args {
    /// Model: .glb, .gltf, .fbx or .bvh
    model: PathBuf,
    /// Output file; missing folders are created
    #[arg(short, long, value_name = "OUT.glb")]
    output: PathBuf,
    /// Maximum error of a vertex
    #[arg(long, value_name = "LENGTH", default_value = "0.5mm", allow_hyphen_values = true, value_parser = parse_error)]
    error: Length,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    height: Height,
    #[command(flatten)]
    bounded: Bounded,
    /// Drop the tracks of joints that move no vertex, camera or light. Such joints are controls and helpers
    #[arg(long, help_heading = OUTPUT)]
    drop: bool,
    /// Keep the tracks of joints with this name, such as a socket
    #[arg(long, value_name = "NAME", requires = "drop", help_heading = OUTPUT)]
    keep: Vec<String>,
    /// Compress the animations with EXT_meshopt_compression; readers must support it
    #[arg(long, help_heading = OUTPUT)]
    meshopt: bool,
    /// Quantise, reorder and compress the meshes too; implies --meshopt
    #[arg(long, help_heading = OUTPUT)]
    mesh: bool,
    /// Compress with KHR_meshopt_compression, the successor of EXT_meshopt_compression
    #[arg(long, requires = "mesh", help_heading = OUTPUT)]
    khr: bool,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print one JSON object per line: one for each clip, then one for the file
    #[arg(long, help_heading = REPORT)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = &args.model;
    let name = path_text(path);
    check_ending(&args.output, "glb", "binary glTF")?;
    check_destination(&args.output, &document::sources(path, None), args.overwrite)?;
    if is_container(path) {
        return Err(Failure::Usage(format!(
            "{name} is compressed already; `condyle decode` writes its clips as a document"
        )));
    }
    let mut asset = document::open(path, args.space, false)?;
    check_destination(&args.output, &document::sources(path, Some(&asset.document)), args.overwrite)?;
    warn_of_repairs(path, &asset);
    // All animations are rewritten, so parts that Condyle does not support are lost.
    let of_animations = |p: &&Problem| p.severity == Severity::Warning && p.place.starts_with("/animations");
    asset.problems.iter().filter(of_animations).for_each(|problem| warn(path, &problem.to_string()));
    let metres = metres_per_unit(path, &mut asset, args.space, args.height.length)?;
    args.error.warn_above(0.02, "--error");
    args.bounded.warn_of_size();
    if args.mesh && asset.instances.is_empty() {
        warn(path, "no node shows a mesh: --mesh has the effect of --meshopt");
    }
    let (part, clip_part) = match args.mesh && !asset.instances.is_empty() {
        // Without clips, the meshes get the whole error.
        true if asset.clips.is_empty() => (1.0, 1.0),
        true => (MESH_PART, 1.0 - MESH_PART),
        false => (0.0, 1.0),
    };
    let budget = at_most(clip_part * args.error.metres / metres);
    if budget == 0.0 {
        return Err(Failure::Usage(format!(
            "{name}: at this --height the error rounds to 0 in f32; raise --error, or correct --height"
        )));
    }
    let failed = |e: &dyn std::fmt::Display| Failure::Data(format!("{name}: {e}"));
    let reach = args.bounded.radius(metres);
    let mut work = args.limit.budget(&document::sources(path, Some(&asset.document)));
    for clip in &asset.clips {
        let own = Work::keys(&asset, clip, &EncodeOptions::new(budget, Shell::Balls(reach)))
            .map_err(|e| failed(&e))?;
        work.afford(&name, clip.name(), &own)?;
    }
    if part > 0.0 {
        work.afford_part(&name, "--mesh", &Work::meshes(&asset))?;
    }
    let dropped = if args.drop { dropped(&asset, &args.keep)? } else { BTreeSet::new() };

    let mut form = Form {
        exporter: exporter(args, &asset),
        compressed: args.meshopt || args.mesh || MeshCompression::required_by(&asset.document).is_some(),
    };
    let bar = progress(asset.clips.len(), "packing");
    let packed = |clip: &RawClip| -> Result<([RawClip; 2], EncodeOptions), Failure> {
        let clip = without(clip, &dropped, &asset).map_err(|e| failed(&e))?;
        let options = args.bounded.options(&asset, &clip, budget, metres).map_err(|e| failed(&e))?;
        let found = form.smallest(clip, &asset, &options).map_err(|e| failed(&e))?;
        bar.inc(1);
        Ok((found, options))
    };
    let found = asset.clips.par_iter().map(packed).collect::<Result<Vec<_>, _>>()?;
    bar.finish_and_clear();
    let (found, options): (Vec<[RawClip; 2]>, Vec<EncodeOptions>) = found.into_iter().unzip();
    let (plain, compressed) = found.into_iter().map(|[plain, compressed]| (plain, compressed)).unzip();
    form.exporter.problems().iter().for_each(|problem| warn(path, &problem.to_string()));
    let (glb, clips) = form.smaller_glb([plain, compressed]).map_err(|e| failed(&e))?;
    let meshes = match part > 0.0 {
        true => {
            let (files, budget) = ((&*args.output, &**path), at_most(part * args.error.metres / metres));
            Some(Meshes::pack(files, &glb, budget, metres, compression(args, &asset))?)
        }
        false => None,
    };
    let glb = meshes.as_ref().map_or(&*glb, Meshes::glb);
    let written = written::clips(&args.output, glb, &asset)?;
    let row = |((clip, written), options): ((&RawClip, RawClip), &EncodeOptions)| {
        let original = without(clip, &dropped, &asset)?;
        let left_out = metres * displacement((clip, &written), &dropped, &asset, reach)?;
        let keys = Keys::measure(written, &AnyClip::from(&original), &asset, options)?;
        let error = f64::from(keys.error) * metres;
        let frames = frame_count(&original, asset.skeleton.joint_count(), options)?;
        let rate = if frames > 0 { (frames as f64 / original.duration()) as f32 } else { 0.0 };
        Ok(Row { keys, rate, before: clip.byte_count(), after: 0, error, left_out })
    };
    let pairs: Vec<_> = asset.clips.iter().zip(written).zip(&options).collect();
    let rows = pairs.into_par_iter().map(row).collect::<Result<Vec<Row>, Error>>();
    let mut rows = rows.map_err(|e| failed(&e))?;
    for (row, clip) in rows.iter_mut().zip(clips.chunks(1)) {
        row.after = form.bytes(clip).map_err(|e| failed(&e))?;
    }
    warn_of_errors(path, &rows, clip_part * args.error.metres);
    let before = source_bytes(&asset, path);
    let source = std::fs::read(path).unwrap_or_default();
    let growth = Growth::of(&form, &clips, glb, (before, &source));
    let after =
        Document::from_slice(&name, glb, None).map_err(|refused| document::refusal(path, &refused))?;
    let required = after.json_at("/extensionsRequired");
    let required = required.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let kinds = [Kinds::of(&asset.document, before), Kinds::of(&after, glb.len())];
    let file = write_file(args.output.clone(), |out| out.write_all(glb))?;
    let names = asset.skeleton.names();
    let dropped = dropped.into_iter().map(|joint| names[usize::from(joint)].clone()).collect();
    let after = glb.len();
    let compressed = form.compressed;
    let outcome = Outcome {
        rows,
        dropped,
        compressed,
        required,
        before,
        after,
        growth,
        meshes: meshes.as_ref(),
        kinds,
    };
    match args.json {
        true => outcome.print_json(clip_part * args.error.metres, &file.to_json()),
        false => print(&outcome.to_text(args, &path_text(&file.path))),
    }
}

/// Returns the extension that compresses keys and meshes: one that the file requires anyway, if there is one.
fn compression(args: &Args, asset: &Asset) -> MeshCompression {
    match args.khr {
        true => MeshCompression::Khr,
        false => MeshCompression::required_by(&asset.document).unwrap_or_default(),
    }
}

fn exporter<'a>(args: &Args, asset: &'a Asset) -> ClipExporter<'a> {
    ClipExporter::new(asset).with_compression(compression(args, asset))
}

/// Result for a file.
struct Outcome<'a> {
    rows: Vec<Row>,
    /// Names of the joints whose tracks were dropped.
    dropped: Vec<String>,
    /// Whether keys may be compressed.
    compressed: bool,
    /// Extensions that readers of the written file must support.
    required: Vec<String>,
    /// Bytes of the files read and of the file written.
    before: usize,
    after: usize,
    growth: Option<Growth>,
    meshes: Option<&'a Meshes>,
    /// Bytes before and after, by kind.
    kinds: [Kinds; 2],
}

impl Outcome<'_> {
    fn to_text(&self, args: &Args, to: &str) -> String {
        let headings = ["clip", "rate", "tracks", "keys", "before", "after", "worst, mm"];
        let mut lines = vec![headings.map(String::from).to_vec()];
        lines.extend(self.rows.iter().map(Row::to_cells));
        let mut out = table("<>>>>>>", lines);
        if !self.dropped.is_empty() {
            let off = self.rows.iter().fold(0.0_f64, |most, row| most.max(row.left_out));
            out += &format!(
                "\nDropped the tracks of {}, which no vertex follows: error up to {} mm\n",
                counted(self.dropped.len(), "joint", "joints"),
                millimetres(off)
            );
        }
        if self.compressed && !args.meshopt && !args.mesh {
            out += "\nthe file already requires compressed buffer views, so its keys are compressed too\n";
        }
        if let Some(meshes) = self.meshes {
            out += &format!("\n{}", meshes.to_text());
        }
        out += &format!("\n{to}: {} to {}\n", size(self.before), size(self.after));
        if self.meshes.is_some() {
            out += &format!("{}\n", self.kinds[0].to_text(&self.kinds[1]));
        }
        if !self.required.is_empty() {
            let names: Vec<_> = self.required.iter().map(|name| printable(name)).collect();
            out += &format!("readers must support {}\n", names.join(" and "));
        }
        if let Some(growth) = &self.growth {
            out += &format!("{}\n", growth.to_text(args.meshopt || args.mesh || self.compressed));
        }
        out
    }

    fn print_json(&self, budget: f64, file: &Value) -> Result<(), Failure> {
        self.rows.iter().try_for_each(|row| print_json(&row.to_json(budget).to_string()))?;
        let line = json!({
            "file": file,
            "clips": self.rows.len(),
            "source_bytes": self.before,
            "dropped": self.dropped,
            "meshopt": self.required.iter().any(|name| name.ends_with("_meshopt_compression")),
            "extensions_required": self.required,
            "larger": self.growth.as_ref().map(Growth::to_json),
            "bytes_before": self.kinds[0].to_json(),
            "bytes_after": self.kinds[1].to_json(),
            "mesh": self.meshes.map(Meshes::to_json),
        });
        print_json(&line.to_string())
    }
}

/// Returns the bytes of all files of the model.
fn source_bytes(asset: &Asset, path: &Path) -> usize {
    let sources = document::sources(path, Some(&asset.document));
    let bytes =
        sources.iter().filter_map(|source| std::fs::metadata(source).ok()).map(|it| it.len() as usize);
    bytes.sum()
}

/// Warns if f32 or 16 bits are too coarse for the error.
fn warn_of_errors(path: &Path, rows: &[Row], asked: f64) {
    for row in rows.iter().filter(|row| row.error > asked * (1.0 + 1e-6)) {
        let (clip, found, asked) =
            (printable(row.keys.clip.name()), millimetres(row.error), millimetres(asked));
        warn(
            path,
            &format!("{clip}: the error is {found} mm, not {asked}: f32 and 16-bit rounding allow no less"),
        );
    }
}

/// A clip in the written file.
struct Row {
    keys: Keys,
    /// Frames per second at which errors were measured.
    rate: f32,
    before: usize,
    after: usize,
    /// Maximum error of a vertex, in metres.
    error: f64,
    /// Maximum displacement of the joints that lost their tracks, in metres.
    left_out: f64,
}

impl Row {
    fn to_cells(&self) -> Vec<String> {
        vec![
            printable(self.keys.clip.name()),
            hertz(self.rate),
            self.keys.clip.tracks().len().to_string(),
            self.keys.count().to_string(),
            size(self.before),
            size(self.after),
            millimetres(self.error),
        ]
    }

    fn to_json(&self, budget: f64) -> Value {
        json!({
            "clip": self.keys.clip.name(),
            "rate_hz": self.rate,
            "tracks": self.keys.clip.tracks().len(),
            "keys": self.keys.count(),
            "raw_bytes": self.before,
            "bytes": self.after,
            "budget_m": budget,
            "error_max_m": self.error,
            "dropped_error_max_m": self.left_out,
            "at_s": self.keys.measured.seconds,
        })
    }
}
