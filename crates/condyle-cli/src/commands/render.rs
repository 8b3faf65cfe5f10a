//! `condyle render`: images and animations of a character.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::draw::picture::{self, Format};
use crate::draw::scene::{FPS, Look, Scene, Size, columns, evenly};
use crate::draw::stage::View;
use crate::failure::Failure;
use crate::model::document::{front, sources};
use crate::model::playable::Playable;
use crate::model::{self, Model};
use crate::options::numerics::Numerics;
use crate::options::overwrite::Overwrite;
use crate::options::quantity::{fps_up_to, parse_seconds};
use crate::options::source::{Source, Which};
use crate::options::work::{Limit, Work};
use crate::output::{check_destination, print, print_json, warn, write_file};
use crate::text::{counted, path_text, size};

/// Draw a character: an image, a contact sheet, or an animation
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle render fox.glb --clip Run --time 0.3 -o fox.png       one moment
  condyle render fox.glb --clip Run --sheet 8 -o fox.png        eight moments side by side
  condyle render fox.glb --clip Run -o fox.gif                  the whole clip, moving
  condyle render fox.glb --rest --turntable -o fox.webp         the camera circles it
  condyle render fox.glb --rest --skeleton -o fox.png           with its joints

The camera is placed so that the whole clip stays in view. The extension of the output decides the format.")]
pub(crate) struct Args {
    /// The character: .glb, .gltf or .condyle
    model: PathBuf,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    picture: Picture,
}

/// What is drawn, and how. `condyle blend` takes the same options.
#[derive(clap::Args)]
pub(crate) struct Picture {
    /// Draw one image, at so many seconds into the clip [default: 0; a .gif or .webp of a clip shows all of
    /// it]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["sheet", "turntable", "fps"])]
    time: Option<f32>,
    /// Where to write; its folder is made if it is missing
    #[arg(short, long, value_name = "OUT.png|.gif|.webp")]
    output: PathBuf,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Pixels: N, or WIDTHxHEIGHT; on a sheet, of each image
    #[arg(long, value_name = "WxH", default_value = "640x640", value_parser = parse_size)]
    size: Size,
    /// Draw the joints over the mesh
    #[arg(long)]
    skeleton: bool,
    /// Draw a contact sheet of N evenly spaced moments
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    #[arg(conflicts_with_all = ["turntable", "fps"])]
    sheet: Option<u32>,
    /// Move the camera once around the character
    #[arg(long)]
    turntable: bool,
    /// Frames per second of an animation
    #[arg(long, value_name = "N", value_parser = fps_up_to(50.0))]
    fps: Option<f64>,
    /// Position of the camera: degrees around the character, from its front towards its left
    #[arg(long, value_name = "DEGREES", default_value_t = 35.0, value_parser = parse_degrees)]
    #[arg(allow_hyphen_values = true)]
    yaw: f32,
    /// Degrees by which the camera looks down
    #[arg(long, value_name = "DEGREES", default_value_t = 12.0, value_parser = parse_degrees)]
    #[arg(allow_hyphen_values = true)]
    pitch: f32,
    /// Play the clips on this model, joints matched by names: for a file that holds a motion only
    #[arg(long, value_name = "MODEL")]
    onto: Option<PathBuf>,
    #[command(flatten)]
    limit: Limit,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    numerics: Numerics,
}

/// Frames of one animation.
const MAX_FRAMES: f64 = 1500.0;
/// The shortest time, in seconds, that a turntable takes for a turn.
const MIN_TURN: f64 = 4.0;
/// Pixels of a whole sheet along one side: a WebP has 16383 at most.
const MAX_SHEET: u32 = 16_000;
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let picture = &args.picture;
    if args.source.is_rest() && (picture.time.is_some() || picture.sheet.is_some()) {
        let asked = if picture.time.is_some() { "--time" } else { "--sheet" };
        return Err(Failure::Usage(format!("{asked} needs a clip: give --clip instead of --rest")));
    }
    draw(&args.model, args.which.name(), picture, |model| args.source.find(model))
}

/// Draws the clip that `find` chooses, or the rest pose if it chooses none.
pub(crate) fn draw(
    path: &Path,
    which: Option<&str>,
    args: &Picture,
    find: impl for<'a> FnOnce(&'a Model) -> Result<Option<Playable<'a>>, Failure>,
) -> Result<(), Failure> {
    let dispatch = args.numerics.apply()?;
    let format = Format::of(&args.output)?;
    if format == Format::Png && (args.turntable || args.fps.is_some()) {
        let asked = if args.turntable { "--turntable" } else { "--fps" };
        return Err(Failure::Usage(format!(
            "{asked} is for animations: choose an output that ends in .gif or .webp"
        )));
    }
    check_destination(&args.output, &sources(path, None), args.overwrite)?;
    let model = model::open(path, which, args.onto.as_deref(), args.json)?;
    let asset = &model.asset;
    check_destination(&args.output, &model.sources, args.overwrite)?;
    let clip = find(&model)?;
    let clip = clip.as_ref();
    if let Some(what) = clip.and_then(|clip| clip.clamped(args.time.as_slice())) {
        warn(path, &what);
    }
    let plan = plan(args, format, clip)?;
    let drawn = match &plan {
        Plan::Still(_) => 1,
        Plan::Sheet(moments) | Plan::Moving { moments, .. } => moments.len(),
    };
    let work = Work::draw(asset, drawn);
    args.limit.budget(&model.sources).afford(&path_text(path), clip.map_or("", Playable::name), &work)?;
    let mut scene = Scene::new(asset)?;
    let note = |problem: &String| format!("{problem}; surfaces with this image have their plain colour");
    let notes: Vec<String> = scene.problems().iter().map(note).collect();
    notes.iter().for_each(|what| warn(path, &format!("note: {what}")));
    let view = View { yaw: front(&asset.document) + args.yaw.to_radians(), pitch: args.pitch.to_radians() };
    let look = Look { view, size: args.size, skeleton: args.skeleton };
    let (bytes, frames) = match plan {
        Plan::Still(seconds) => {
            let shot = scene.frame(clip, &look, 1)?;
            (picture::still(format, &scene.draw(clip, seconds, &shot, 0)?)?, 1)
        }
        Plan::Sheet(moments) => {
            let label = clip.map_or("", Playable::name);
            (picture::still(format, &scene.row(clip, label, &moments, &look)?)?, moments.len())
        }
        Plan::Moving { moments, fps } => {
            let turns = if args.turntable { moments.len() } else { 1 };
            (scene.movie(format, clip, &moments, fps, &look, turns)?, moments.len())
        }
    };
    let file = write_file(args.output.clone(), |out| out.write_all(&bytes))?;
    match args.json {
        true => {
            let report = json!({
                "file": path.to_string_lossy(),
                "isa": dispatch.isa().name(),
                "numeric": dispatch.numeric().name(),
                "clip": clip.map(Playable::name),
                "frames": frames,
                "notes": notes,
                "files": [file.to_json()],
            });
            print_json(&format!("{report:#}"))
        }
        false => {
            let frames = counted(frames, "frame", "frames");
            print(&format!("{}: {frames}, {}\n", path_text(&file.path), size(bytes.len())))
        }
    }
}

/// The moments to draw, in seconds.
enum Plan {
    Still(f32),
    Sheet(Vec<f32>),
    Moving { moments: Vec<f32>, fps: f64 },
}

fn plan(args: &Picture, format: Format, clip: Option<&Playable<'_>>) -> Result<Plan, Failure> {
    if let Some(count) = args.sheet {
        let columns = columns(count);
        let (wide, high) = (args.size[0] * columns, args.size[1] * count.div_ceil(columns));
        if wide.max(high) > MAX_SHEET {
            return Err(Failure::Usage(format!(
                "--sheet {count}: the sheet would be {wide}x{high} pixels, and {MAX_SHEET} a side is the limit; \
                 choose fewer moments or a smaller --size"
            )));
        }
        return Ok(Plan::Sheet(evenly(clip, count as usize)));
    }
    let moving = format != Format::Png && args.time.is_none() && (args.turntable || clip.is_some());
    if !moving && args.fps.is_some() {
        return Err(Failure::Usage("--fps is for animations: give a --clip, or add --turntable".into()));
    }
    if !moving {
        return Ok(Plan::Still(args.time.unwrap_or(0.0)));
    }
    let length = clip.map_or(0.0, |c| f64::from(c.end()) - f64::from(c.start()));
    let fps = args.fps.unwrap_or(FPS);
    // On a turntable the clip repeats until a turn has taken long enough, and always plays to its end.
    let loops = if args.turntable && length > 0.0 { (MIN_TURN / length).ceil() } else { 1.0 };
    let whole = if args.turntable { (length * loops).max(MIN_TURN) } else { length };
    let frames = (whole * fps).round().max(1.0);
    if frames > MAX_FRAMES {
        return Err(Failure::Usage(format!(
            "{whole:.1} s at {fps} frames per second is {frames} frames, and {MAX_FRAMES} is the limit; \
             choose a lower --fps"
        )));
    }
    let moments = (0..frames as u32).map(|i| {
        let within = f64::from(i) / frames * loops;
        (clip.map_or(0.0, |c| f64::from(c.start())) + within.fract() * length) as f32
    });
    Ok(Plan::Moving { moments: moments.collect(), fps: frames / whole.max(1.0 / fps) })
}

fn parse_size(text: &str) -> Result<Size, String> {
    const SIDES: std::ops::RangeInclusive<u32> = 16..=2048;
    let (width, height) = text.split_once('x').unwrap_or((text, text));
    let side = |text: &str| text.parse().ok().filter(|n| SIDES.contains(n));
    match (side(width), side(height)) {
        (Some(width), Some(height)) => Ok([width, height]),
        _ => Err(format!(
            "a size is N or WIDTHxHEIGHT, {} to {} pixels, such as 640x480",
            SIDES.start(),
            SIDES.end()
        )),
    }
}

fn parse_degrees(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(degrees) if (-360.0..=360.0).contains(&degrees) => Ok(degrees),
        _ => Err("an angle is a number of degrees from -360 to 360".into()),
    }
}
