//! `condyle bake`: clips for playback without a skeleton.

mod error;
mod exr;
mod film;
mod morphs;
mod obj;
mod texture;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use condyle::Dispatch;
use serde_json::{Value, json};

use self::error::Off;
use self::exr::Depth;
use self::film::{Film, Timing};
use self::obj::Obj;
use self::texture::{Format, Layout, Matrices};
use crate::failure::Failure;
use crate::model::playable::Playable;
use crate::options::heading::{OUTPUT, REPORT};
use crate::options::job::Job;
use crate::options::moments::LONGEST;
use crate::options::numerics::Numerics;
use crate::options::overwrite::Overwrite;
use crate::options::quantity::{Length, fps_up_to, parse_error, parse_seconds};
use crate::options::skinning::{Blending, Posing};
use crate::options::source::Character;
use crate::options::work::{Limit, Work};
use crate::output::names::numbered;
use crate::output::{Written, finish_file, keep_all, print, print_json, progress, warn};
use crate::text::{counted, ending, millimetres, path_text, size, table};

/// Bake a clip for playback without a skeleton: textures, morph targets, .obj
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle bake fox.glb --clip Run -o run.exr                       a vertex animation texture, its normals, and run.json
  condyle bake fox.glb --clip Run -o run.png --fps 15              the same, as 16-bit integers within a box
  condyle bake fox.glb --clip Run -o run.exr --as palettes         joint matrices instead
  condyle bake fox.glb --unit 1cm --clip Run -o run.glb --error 1mm    morph targets, for players without skinning
  condyle bake fox.glb --clip Run --time 0.5 -o posed.obj          one pose; with --fps numbered files

Frames are evenly spaced from the start of the clip to its end, so that loops close. The rate is
--fps, or the next higher rate that allows this; it is printed.

A texture has a row of texels for each frame, or several if there are more vertices than --width:
vertex v of frame f is in column v % width of row f * rows_per_frame + v / width. Its .json has all
that a shader needs: the size, the rate, the offset and scale of integers, and for each primitive
its first vertex, whether it has normals, and whether its node mirrors, so that its triangles must
be drawn with reversed winding. Palettes have three texels for each joint: the rows of its matrix
times its inverse bind matrix, for the vertices of the original mesh. Positions are in world space,
as in `condyle skin`, for the meshes of the default scene.

A .glb keeps materials, textures, nodes and all scenes. Its morph targets are all frames except the
first; with --error, only as many as are needed. Programs limit the number of morph targets: Bevy up
to 0.17 supports 64, Filament and later versions of Bevy 256. Reduce it with a lower --fps or a
higher --error; more than 64 cause a warning.

The errors of vertices, at frames and half-way between, are measured on the written files with the
f32 arithmetic of a shader. An image has at most 33,554,432 texels, and a .glb at most as many
vertices in all frames together before --error drops frames: these take 1.7 GB and 2.5 GB of memory.
Either all files are written, or none.")]
pub(crate) struct Args {
    /// Output file; missing folders are created
    #[arg(short, long, value_name = "OUT.exr|.png|.glb|.obj")]
    output: PathBuf,
    #[command(flatten)]
    character: Character,
    /// Pose the clip at these times in seconds, separated by commas; .obj only. Times are on the clock of the
    /// keys, which need not start at 0 [default: the whole clip]
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', value_parser = parse_seconds)]
    #[arg(allow_hyphen_values = true, conflicts_with_all = ["rest", "fps"])]
    time: Vec<f64>,
    /// Sample the clip at least N times per second
    #[arg(long, value_name = "N", value_parser = fps_up_to(1000.0), default_value = "30", conflicts_with = "rest")]
    fps: f64,
    /// Maximum error of a vertex. Morph targets that interpolation replaces within it are left out
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse_error)]
    error: Option<Length>,
    #[command(flatten)]
    posing: Posing,
    /// Kind of output [default: by its extension]
    #[arg(long = "as", value_enum, value_name = "KIND", help_heading = OUTPUT)]
    kind: Option<Kind>,
    /// Number format of an .exr of vertices [default: float]
    #[arg(long, value_enum, help_heading = OUTPUT)]
    precision: Option<Precision>,
    /// Maximum width of a texture or of palettes, in texels [default: 4096]
    #[arg(long, value_name = "TEXELS", value_parser = clap::value_parser!(u16).range(16..=16384))]
    #[arg(help_heading = OUTPUT)]
    width: Option<u16>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print the figures as JSON
    #[arg(long, help_heading = REPORT)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
    #[command(flatten)]
    numerics: Numerics,
}

#[derive(Clone, Copy, PartialEq, Debug, ValueEnum)]
enum Kind {
    /// Positions and normals of vertices: .exr or .png
    Texture,
    /// Joint matrices: .exr
    Palettes,
    /// Morph targets: .glb
    Morphs,
    /// Posed meshes: .obj
    Obj,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Precision {
    /// 16-bit floats
    Half,
    /// 32-bit floats
    Float,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Texture => "texture",
            Self::Palettes => "palettes",
            Self::Morphs => "morphs",
            Self::Obj => "obj",
        }
    }
}

/// Number of times that all poses are computed, including those half-way between frames.
const PASSES: usize = 5;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let dispatch = args.numerics.apply()?;
    let (kind, format) = wanted(args)?;
    let path = &args.character.model;
    let mut job = Job::writing(path, &args.output, args.overwrite)?;
    let (model, metres) = job.open(path, || args.character.open_scaled(args.json))?;
    let asset = &model.asset;
    let clip = args.character.source.find(&model)?;
    let clip = clip.as_ref();
    let timing = Timing::new(clip, args.fps)?;
    let name = path_text(path);
    let work = Work::play(&[asset], PASSES * timing.frames.max(args.time.len()));
    job.afford(args.limit, path, clip, &work)?;
    let parts = match kind {
        // Morph targets keep all scenes of the document.
        Kind::Morphs => film::parts(asset.instances.iter().enumerate()),
        Kind::Texture | Kind::Palettes | Kind::Obj => film::parts(asset.shown()),
    };
    let mut film = Film::new(asset, clip, args.posing.options(), name, timing, parts)?;
    if film.vertex_count() == 0 {
        return Err(Failure::Data(format!("{} has no meshes, so there is nothing to bake", film.name)));
    }
    let check = |names: &[PathBuf]| names.iter().try_for_each(|file| job.check(file));
    let baked = match kind {
        Kind::Obj => {
            if let Some(what) = clip.and_then(|clip| clip.clamped(&args.time)) {
                warn(path, &what);
            }
            let names = obj_names(args, &film)?;
            check(&names)?;
            objects(args, &mut film, names)?
        }
        Kind::Morphs => {
            check(std::slice::from_ref(&args.output))?;
            morph_targets(args, &mut film, clip, metres)?
        }
        Kind::Texture | Kind::Palettes => {
            let names = texture::names(&args.output, kind == Kind::Texture && film.has_normals);
            check(&names)?;
            textures(args, &mut film, (kind, format), names, metres)?
        }
    };
    if let Some(what) = &baked.warning {
        warn(path, what);
    }
    match args.json {
        true => print_json(&format!("{:#}", report(args, dispatch, kind, &film, clip, &baked, metres))),
        false => print(&text(&film, &baked, metres)),
    }
}

/// Result of a bake.
struct Baked {
    files: Vec<Written>,
    /// Number of poses in the files.
    frames: usize,
    off: Option<Off>,
    /// Warning that the files exceed a limit of common programs.
    warning: Option<String>,
}

fn textures(
    args: &Args,
    film: &mut Film<'_>,
    (kind, format): (Kind, Format),
    names: Vec<PathBuf>,
    metres: f64,
) -> Result<Baked, Failure> {
    let (frames, widest) = (film.timing.frames, usize::from(args.width.unwrap_or(4096)));
    let textured = if kind == Kind::Texture {
        let layout = Layout::new(frames, film.vertex_count(), 1, widest)?;
        texture::vertices(film, layout, format, names, metres)?
    } else {
        let matrices = Matrices::of(film.asset);
        if matrices.count == 0 {
            return Err(Failure::Data(format!("{} has no joints that move a mesh", film.name)));
        }
        if film.parts.iter().any(|part| !film.instance(part).morph_weights.is_empty()) {
            warn(
                &args.character.model,
                "its morph targets are not in palettes; the printed error is that of vertices with morph targets",
            );
        }
        let layout = Layout::new(frames, matrices.count, 3, widest)?;
        texture::palettes(film, &matrices, layout, names, metres)?
    };
    let warning = textured.layout.warning();
    Ok(Baked { files: keep_all(textured.files)?, frames, off: Some(textured.off), warning })
}

fn morph_targets(
    args: &Args,
    film: &mut Film<'_>,
    clip: Option<&Playable<'_>>,
    metres: f64,
) -> Result<Baked, Failure> {
    if let Some(error) = args.error {
        error.warn_above(0.02, "--error");
    }
    let error = args.error.map(|error| error.metres / metres);
    let morphed = morphs::write(film, error, clip.map_or("", Playable::name), &args.output)?;
    if let Some(asked) =
        args.error.filter(|asked| morphed.off.frames.distance * metres > asked.metres * 1.001)
    {
        let (found, asked) = (millimetres(morphed.off.frames.distance * metres), millimetres(asked.metres));
        warn(&args.character.model, &format!("the error is {found} mm, not {asked}: f32 allows no less"));
    }
    let warning = morphs::warning(morphed.targets);
    let (files, frames) = (keep_all(vec![morphed.file])?, morphed.targets + 1);
    Ok(Baked { files, frames, off: Some(morphed.off), warning })
}

/// Writes one file for each moment.
fn objects(args: &Args, film: &mut Film<'_>, names: Vec<PathBuf>) -> Result<Baked, Failure> {
    if obj::has_lines(film) {
        warn(&args.character.model, "points and lines are written without faces");
    }
    let obj = Obj::new(film);
    let bar = progress(names.len(), "posing");
    let mut files = Vec::new();
    for (at, to) in names.into_iter().enumerate() {
        match args.time.get(at) {
            Some(&seconds) => film.pose_at(seconds)?,
            None => film.pose(at as f64)?,
        }
        files.push(finish_file(to, |out| obj.write(film, out))?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let frames = files.len();
    Ok(Baked { files: keep_all(files)?, frames, off: None, warning: None })
}

fn obj_names(args: &Args, film: &Film<'_>) -> Result<Vec<PathBuf>, Failure> {
    let (count, series) = match args.time.len() {
        0 => (film.timing.frames, !args.character.source.is_rest()),
        count => (count, count > 1),
    };
    if count > LONGEST {
        return Err(Failure::Usage(format!("more than {LONGEST} files; choose fewer moments")));
    }
    Ok(match series {
        true => (0..count).map(|frame| numbered(&args.output, frame, count)).collect(),
        false => vec![args.output.clone()],
    })
}

/// Returns the kind and format of the output, if the options fit them.
fn wanted(args: &Args) -> Result<(Kind, Format), Failure> {
    let extension = ending(&args.output);
    let extension = extension.as_deref().unwrap_or("");
    let kind = match (args.kind, extension) {
        (Some(kind), _) => kind,
        (None, "exr" | "png") => Kind::Texture,
        (None, "glb") => Kind::Morphs,
        (None, "obj") => Kind::Obj,
        _ => return Err(misnamed(&args.output, "name does not end in .exr, .png, .glb or .obj")),
    };
    match (kind, extension) {
        (Kind::Texture, "exr" | "png")
        | (Kind::Palettes, "exr")
        | (Kind::Morphs, "glb")
        | (Kind::Obj, "obj") => {}
        (Kind::Texture, _) => return Err(misnamed(&args.output, "name of a texture ends in .exr or .png")),
        (Kind::Palettes, _) => return Err(misnamed(&args.output, "name of palettes ends in .exr")),
        (Kind::Morphs, _) => return Err(misnamed(&args.output, "name of morph targets ends in .glb")),
        (Kind::Obj, _) => return Err(misnamed(&args.output, "name of posed meshes ends in .obj")),
    }
    check_options(args, kind, extension)?;
    let depth = if args.precision == Some(Precision::Half) { Depth::Half } else { Depth::Float };
    Ok((kind, if extension == "png" { Format::Png } else { Format::Exr(depth) }))
}

/// Rejects options that would have no effect.
fn check_options(args: &Args, kind: Kind, extension: &str) -> Result<(), Failure> {
    let is_image = matches!(kind, Kind::Texture | Kind::Palettes);
    let rules = [
        (
            !args.time.is_empty() && kind != Kind::Obj,
            "--time is for .obj: all other outputs have evenly spaced frames, set by --fps",
        ),
        (
            args.error.is_some() && kind != Kind::Morphs,
            "--error is for morph targets: leave it out, or write a .glb",
        ),
        (
            args.precision.is_some() && (kind != Kind::Texture || extension != "exr"),
            "--precision is for the vertices of an .exr: leave it out",
        ),
        (
            args.width.is_some() && !is_image,
            "--width is for textures and palettes: leave it out, or write an .exr or .png",
        ),
        (
            args.character.has_height() && kind == Kind::Obj,
            "--height is for the errors of textures, palettes and morph targets: leave it out for .obj",
        ),
        (
            args.posing.normals.is_some() && kind == Kind::Palettes,
            "--normals is for textures, morph targets and .obj: palettes are matrices, and have no normals",
        ),
        (
            args.posing.skinning == Blending::Dual && kind == Kind::Palettes,
            "--skinning is for vertices: palettes hold matrices, which the reader blends",
        ),
    ];
    match rules.iter().find(|(broken, _)| *broken) {
        Some((_, what)) => Err(Failure::Usage((*what).into())),
        None => Ok(()),
    }
}

fn misnamed(path: &Path, what: &str) -> Failure {
    Failure::Usage(format!("{}: the {what}; choose another name with -o, or another --as", path_text(path)))
}

fn text(film: &Film<'_>, baked: &Baked, metres: f64) -> String {
    let file = |file: &Written| vec![path_text(&file.path), size(file.bytes as usize)];
    let mut text = match baked.off {
        None => format!("{}\n", Written::summary(&baked.files)),
        Some(_) => table("<>", baked.files.iter().map(file)),
    };
    if let Some(off) = &baked.off {
        let vertices = counted(film.vertex_count(), "vertex", "vertices");
        let frames = counted(baked.frames, "frame", "frames");
        let rate = match baked.frames == film.timing.frames && baked.frames > 1 {
            true => format!(" at {:.3} per second", film.timing.fps),
            false => String::new(),
        };
        text += &format!("\n{frames} of {vertices}{rate}, {:.3} s\n", film.timing.duration);
        let left_out = film.timing.frames - baked.frames;
        if left_out > 0 {
            let frames = counted(left_out, "frame", "frames");
            text +=
                &format!("{frames} left out, because interpolation between the others is within the error\n");
        }
        text += &off.to_text(film, metres);
    }
    text
}

fn report(
    args: &Args,
    dispatch: Dispatch,
    kind: Kind,
    film: &Film<'_>,
    clip: Option<&Playable<'_>>,
    baked: &Baked,
    metres: f64,
) -> Value {
    json!({
        "file": args.character.model.to_string_lossy(),
        "isa": dispatch.isa().name(),
        "numeric": dispatch.numeric().name(),
        "clip": clip.map(Playable::name),
        "kind": kind.name(),
        "frames": baked.frames,
        "frames_left_out": (kind == Kind::Morphs).then(|| film.timing.frames - baked.frames),
        "fps": (kind != Kind::Obj || args.time.is_empty()).then_some(film.timing.fps),
        "seconds": film.timing.duration,
        "vertices": film.vertex_count(),
        "warnings": baked.warning.as_slice(),
        "files": baked.files.iter().map(Written::to_json).collect::<Vec<_>>(),
        "error": baked.off.as_ref().map(|off| off.to_json(film, metres)),
    })
}
