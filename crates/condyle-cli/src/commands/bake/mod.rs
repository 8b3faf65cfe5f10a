//! `condyle bake`: clips as what knows no skeleton.

mod error;
mod exr;
mod film;
mod morphs;
mod obj;
mod texture;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use condyle::{Dispatch, NormalRule};
use condyle_gltf::PoserOptions;
use serde_json::{Value, json};

use self::error::Off;
use self::exr::Depth;
use self::film::{Film, Timing};
use self::obj::Obj;
use self::texture::{Format, Layout, Matrices};
use super::skin::Normals;
use crate::failure::Failure;
use crate::model;
use crate::model::document::{self, metres_per_unit, warn_of_repairs};
use crate::model::playable::Playable;
use crate::options::numerics::Numerics;
use crate::options::overwrite::Overwrite;
use crate::options::quantity::{Length, fps_up_to, parse_error, parse_length, parse_seconds};
use crate::options::skinning::Blending;
use crate::options::source::{Source, Which};
use crate::options::work::{Limit, Work};
use crate::output::names::numbered;
use crate::output::{Written, check_destination, finish_file, keep_all, print, print_json, progress, warn};
use crate::text::{counted, ending, millimetres, path_text, size, table};

/// Write a clip as what needs no skeleton: textures for shaders, morph targets, .obj
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle bake fox.glb --clip Run -o run.exr                       a vertex animation texture, its normals, and run.json
  condyle bake fox.glb --clip Run -o run.png --fps 15              the same as 16-bit integers within a box
  condyle bake fox.glb --clip Run -o run.exr --as palettes         the matrices of joints instead
  condyle bake fox.glb --clip Run -o run.glb --error 1mm           morph targets that any viewer plays
  condyle bake fox.glb --clip Run --time 0.5 -o posed.obj          one pose; with --fps numbered files

Frames are evenly spaced, the first one at the start of the clip and the last one at its end, so that loops close: at --fps, or at
the next rate above that allows it, which is told.

A texture has a row of texels for each frame, or several where there are more vertices than --width: vertex v of frame f is in column
v % width of row f * rows_per_frame + v / width. Its .json says all that a shader needs: the size, the rate, the offset and scale
of integers, the first vertex of each primitive. Palettes are three texels for each joint, the rows of its matrix times its
inverse bind matrix, for the vertices of the original mesh. Places are in world space, as `condyle skin` has them.

A .glb keeps materials, textures and nodes; its morph targets are the frames, all of them or with --error as few as are needed. How far
vertices are off, at frames and half-way between, is measured on what was written. Either all files are written, or none.")]
pub(crate) struct Args {
    /// The character: .glb, .gltf or .condyle
    model: PathBuf,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    which: Which,
    /// Play the clips on this model, joints matched by names: for a file that holds a motion only
    #[arg(long, visible_alias = "skeleton", value_name = "MODEL")]
    onto: Option<PathBuf>,
    /// Seconds into the clip, for .obj only; several, separated by commas, are a series [default: the whole clip]
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', value_parser = parse_seconds)]
    #[arg(allow_hyphen_values = true, conflicts_with_all = ["rest", "fps"])]
    time: Vec<f32>,
    /// Frames per second
    #[arg(long, value_name = "N", value_parser = fps_up_to(1000.0), default_value = "30")]
    fps: f64,
    /// Where to write; its folder is made if it is missing
    #[arg(short, long, value_name = "OUT.exr|.png|.glb|.obj")]
    output: PathBuf,
    #[command(flatten)]
    overwrite: Overwrite,
    /// What to write [default: by the extension of the output]
    #[arg(long = "as", value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    /// Leave out morph targets where no vertex is farther than this from the straight line between others
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse_error)]
    error: Option<Length>,
    /// The numbers of an .exr of vertices
    #[arg(long, value_enum, default_value = "float")]
    precision: Precision,
    /// The most texels in a row of a texture
    #[arg(long, value_name = "TEXELS", default_value_t = 4096, value_parser = clap::value_parser!(u16).range(16..=16384))]
    width: u16,
    /// The real height of the character at rest; without it, units are metres
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse_length)]
    height: Option<Length>,
    #[command(flatten)]
    limit: Limit,
    /// How normals are transformed
    #[arg(long, value_enum, value_name = "RULE", default_value = "inverse-transpose")]
    normals: Normals,
    /// How vertices follow several joints
    #[arg(long, value_enum, value_name = "WAY", default_value = "linear")]
    skinning: Blending,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    numerics: Numerics,
}

#[derive(Clone, Copy, PartialEq, Debug, ValueEnum)]
enum Kind {
    /// Positions and normals of vertices: .exr or .png
    Texture,
    /// The matrices of joints: .exr
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

/// How often the poses of all frames are worked out, those half-way between included.
const PASSES: usize = 5;
/// More moments than this are taken for a mistake.
const MOST_MOMENTS: usize = 100_000;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let dispatch = args.numerics.apply()?;
    let (kind, format) = wanted(args)?;
    let path = &args.model;
    check_destination(&args.output, &document::sources(path, None), args.overwrite)?;
    let model = model::open(path, args.which.name(), args.onto.as_deref(), args.json)?;
    let asset = &model.asset;
    let clip = args.source.find(&model)?;
    let clip = clip.as_ref();
    let timing = Timing::new(clip, args.fps)?;
    let name = path_text(path);
    let work = Work::play(&[asset], PASSES * timing.frames.max(args.time.len()));
    args.limit.budget(&model.sources).afford(&name, clip.map_or("", Playable::name), &work)?;
    warn_of_repairs(path, asset);
    let metres = metres_per_unit(path, asset, args.height)?;
    let mut options = PoserOptions::from(NormalRule::from(args.normals));
    options.skinning = args.skinning.into();
    let mut film = Film::new(asset, clip, options, name, timing)?;
    if film.vertex_count() == 0 {
        return Err(Failure::Data(format!("{} has no meshes, so there is nothing to bake", film.name)));
    }
    let check = |names: &[PathBuf]| {
        names.iter().try_for_each(|file| check_destination(file, &model.sources, args.overwrite))
    };
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
    match args.json {
        true => print_json(&format!("{:#}", report(args, dispatch, kind, &film, clip, &baked, metres))),
        false => print(&text(&film, &baked, metres)),
    }
}

/// What was written.
struct Baked {
    files: Vec<Written>,
    /// The poses that are in the files.
    frames: usize,
    off: Option<Off>,
}

fn textures(
    args: &Args,
    film: &mut Film<'_>,
    (kind, format): (Kind, Format),
    names: Vec<PathBuf>,
    metres: f64,
) -> Result<Baked, Failure> {
    let (frames, widest) = (film.timing.frames, usize::from(args.width));
    let textured = if kind == Kind::Texture {
        let layout = Layout::new(frames, film.vertex_count(), 1, widest)?;
        texture::vertices(film, layout, format, names, metres)?
    } else {
        let matrices = Matrices::of(film.asset);
        if matrices.count == 0 {
            return Err(Failure::Data(format!("{} has no joints that move a mesh", film.name)));
        }
        if film.asset.instances.iter().any(|instance| !instance.morph_weights.is_empty()) {
            warn(
                &args.model,
                "its morph targets are not in palettes; the error that is told is that of the vertices with them",
            );
        }
        let layout = Layout::new(frames, matrices.count, 3, widest)?;
        texture::palettes(film, &matrices, layout, names, metres)?
    };
    if let Some(what) = textured.layout.warning() {
        warn(&args.model, &what);
    }
    Ok(Baked { files: keep_all(textured.files)?, frames, off: Some(textured.off) })
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
        warn(&args.model, &format!("{found} mm off at the worst, not {asked}: f32 allows no less"));
    }
    Ok(Baked { files: keep_all(vec![morphed.file])?, frames: morphed.targets + 1, off: Some(morphed.off) })
}

/// One file for each moment.
fn objects(args: &Args, film: &mut Film<'_>, names: Vec<PathBuf>) -> Result<Baked, Failure> {
    if obj::has_lines(film.asset) {
        warn(&args.model, "points and lines are written without faces");
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
    Ok(Baked { files: keep_all(files)?, frames, off: None })
}

fn obj_names(args: &Args, film: &Film<'_>) -> Result<Vec<PathBuf>, Failure> {
    let (count, series) = match args.time.len() {
        0 => (film.timing.frames, !args.source.is_rest()),
        count => (count, count > 1),
    };
    if count > MOST_MOMENTS {
        return Err(Failure::Usage(format!("more than {MOST_MOMENTS} files; ask for fewer")));
    }
    Ok(match series {
        true => (0..count).map(|frame| numbered(&args.output, frame, count)).collect(),
        false => vec![args.output.clone()],
    })
}

/// What is asked for, and whether the options go with it.
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
    let refuse = |what: &str| Err(Failure::Usage(what.into()));
    if !args.time.is_empty() && kind != Kind::Obj {
        return refuse("--time is for .obj: all else is made of evenly spaced frames, --fps of them");
    }
    if args.error.is_some() && kind != Kind::Morphs {
        return refuse("--error is for morph targets: leave it out, or write a .glb");
    }
    if args.precision == Precision::Half && (kind != Kind::Texture || extension != "exr") {
        return refuse("--precision half is for the vertices of an .exr");
    }
    if args.skinning == Blending::Dual && kind == Kind::Palettes {
        return refuse("--skinning is of vertices: palettes are the matrices that whoever reads them blends");
    }
    let depth = if args.precision == Precision::Half { Depth::Half } else { Depth::Float };
    Ok((kind, if extension == "png" { Format::Png } else { Format::Exr(depth) }))
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
        "file": args.model.to_string_lossy(),
        "isa": dispatch.isa().name(),
        "numeric": dispatch.numeric().name(),
        "clip": clip.map(Playable::name),
        "kind": kind.name(),
        "frames": baked.frames,
        "fps": (kind != Kind::Obj || args.time.is_empty()).then_some(film.timing.fps),
        "seconds": film.timing.duration,
        "vertices": film.vertex_count(),
        "files": baked.files.iter().map(Written::to_json).collect::<Vec<_>>(),
        "error": baked.off.as_ref().map(|off| off.to_json(film, metres)),
    })
}
