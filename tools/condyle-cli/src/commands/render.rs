//! `condyle render`: images and animations of a character.

use std::path::{Path, PathBuf};

use condyle::Affine;
use condyle::sampling::PoseSource;
use condyle_draw::marks::Marks;
use condyle_draw::picture::{self, Format};
use condyle_draw::shapes::Shapes;
use condyle_draw::{FPS, Film, Greatest, Look, MAX_SHEET, SIDES, Scene, Seen, Size, View, columns, evenly};
use condyle_gltf::{Asset, Placement};
use serde_json::json;

use crate::failure::{Failure, too_large};
use crate::model::Model;
use crate::model::limits::{Choice, parse_choice};
use crate::model::playable::Playable;
use crate::options::heading::{PICTURE, REPORT};
use crate::options::job::Job;
use crate::options::numerics::Numerics;
use crate::options::overwrite::Overwrite;
use crate::options::quantity::{fps_up_to, parse_seconds};
use crate::options::skinning::Shown;
use crate::options::source::{Clips, Input};
use crate::options::work::{Limit, Work};
use crate::output::{drawing, print, print_json, warn, write_file};
use crate::text::{counted, path_text, size};

/// Draw a clip or a blend of clips: an image, sheet or animation
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle render fox.glb --clip Run --time 0.3 -o fox.png       one moment
  condyle render fox.glb --clip Run --sheet 24 -o fox.png       24 moments, in rows of eight
  condyle render fox.glb --clip Run -o fox.gif                  the whole clip, moving
  condyle render fox.glb --rest --turntable -o fox.webp         the camera circles it
  condyle render fox.glb --rest --skeleton -o fox.png           with its joints
  condyle render fox.glb --clip Run --skeleton --limits fit -o fox.png
  condyle render fox.glb --clip Run --silhouette 0.3,1,0.2 -o fox.png
  condyle render fox.glb --clip Run --bounds --hitboxes -o fox.png
  condyle render fox.glb --clip Run --skinning both -o fox.gif  matrices, dual quaternions, and the difference
  condyle render walk.bvh -o walk.gif                           motion capture, drawn as bones
  condyle render fox.glb --clip Walk --clip Run -o fox.gif      a blend: half of each clip
  condyle render fox.glb --clip Walk --clip Run --weight 0.2 --weight 0.8 -o fox.gif
  condyle render fox.condyle --clip Walk --clip Run --weight 0.5 --time 0.3 -o fox.png

The camera is placed so that the whole clip stays in view. The extension of the output sets the
format.

Several --clip are blended. Clips of different lengths stay in step: each is sampled at the same
fraction of its duration. The blend starts at 0, and its duration is the weighted mean of the
durations.")]
pub(crate) struct Args {
    /// Character: .glb, .gltf, .vrm, .fbx, .bvh or .condyle
    model: PathBuf,
    /// Output file; missing folders are created
    #[arg(short, long, value_name = "OUT.png|.gif|.webp")]
    output: PathBuf,
    #[command(flatten)]
    motion: Motion,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    picture: Picture,
}

/// Clips to draw, and the weight of each.
#[derive(clap::Args)]
#[command(mut_arg("clips", |arg| arg.help(
    "Select a clip by name or index; several are blended [default: the only one]"
)))]
struct Motion {
    #[command(flatten)]
    clips: Clips,
    /// Weight of each --clip in order, or of the second of two. Weights need not sum to 1 [default: equal]
    #[arg(long = "weight", value_name = "N", value_delimiter = ',', value_parser = parse_weight)]
    weights: Vec<f32>,
}

/// Options of a picture, shared with `condyle reach`.
#[derive(clap::Args)]
pub(crate) struct Picture {
    /// Draw one image at this time in seconds. Times are on the clock of the keys, which need not start at 0;
    /// a blend starts at 0 [default: 0; a .gif or .webp shows the whole clip]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["sheet", "turntable", "fps"])]
    pub(crate) time: Option<f64>,
    /// Frames per second of an animation [default: 25]
    #[arg(long, value_name = "N", value_parser = fps_up_to(50.0))]
    pub(crate) fps: Option<f64>,
    /// Draw a contact sheet of N evenly spaced moments. A row has up to eight
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    #[arg(conflicts_with_all = ["turntable", "fps"], help_heading = PICTURE)]
    pub(crate) sheet: Option<u32>,
    /// Move the camera once around the character
    #[arg(long, help_heading = PICTURE)]
    pub(crate) turntable: bool,
    /// Image size in pixels: N or WIDTHxHEIGHT. On a sheet, it is the size of each image [default: 640x640]
    #[arg(long, value_name = "WxH", value_parser = parse_size, help_heading = PICTURE)]
    size: Option<Size>,
    /// Draw the joints over the mesh
    #[arg(long, help_heading = PICTURE)]
    pub(crate) skeleton: bool,
    /// Draw joint limits with --skeleton, red where a joint exceeds them. Takes a file, or `fit` to learn the
    /// limits from all clips
    #[arg(long, value_name = "FILE|fit", value_parser = parse_choice, help_heading = PICTURE)]
    pub(crate) limits: Option<Choice>,
    /// Draw the outline seen from a distant light, as for shadow volumes. Takes the direction to the light,
    /// or `eye` for the outline seen from the camera
    #[arg(long, value_name = "X,Y,Z|eye", value_parser = parse_silhouette, allow_hyphen_values = true)]
    #[arg(help_heading = PICTURE)]
    silhouette: Option<Seen>,
    /// Draw the bounding box that is computed from the joints alone
    #[arg(long, help_heading = PICTURE)]
    bounds: bool,
    /// Draw the hitboxes of the joints, as fitted by `condyle query hitboxes`
    #[arg(long, help_heading = PICTURE)]
    hitboxes: bool,
    /// Set the skinning method: matrices, dual quaternions, or both side by side with their difference in
    /// colours
    #[arg(
        long,
        value_enum,
        value_name = "linear|dual|both",
        default_value = "linear",
        hide_possible_values = true,
        help_heading = PICTURE
    )]
    pub(crate) skinning: Shown,
    /// Camera angle around the character in degrees. 0 is its front, 90 its left side [default: 35]
    #[arg(long, value_name = "DEGREES", value_parser = parse_degrees, allow_hyphen_values = true)]
    #[arg(help_heading = PICTURE)]
    yaw: Option<f32>,
    /// Camera angle downwards in degrees [default: 12]
    #[arg(long, value_name = "DEGREES", value_parser = parse_degrees, allow_hyphen_values = true)]
    #[arg(help_heading = PICTURE)]
    pitch: Option<f32>,
    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
    /// Print the figures as JSON
    #[arg(long, help_heading = REPORT)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limit: Limit,
    #[command(flatten)]
    pub(crate) numerics: Numerics,
}

/// Default of --size, in pixels.
const SIZE: Size = [640, 640];
/// Defaults of --yaw and --pitch, in degrees.
const YAW: f32 = 35.0;
const PITCH: f32 = 12.0;
/// Maximum number of frames in an animation.
const MAX_FRAMES: f64 = 1500.0;
/// Minimum duration of a turn of the turntable, in seconds.
const MIN_TURN: f64 = 4.0;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (path, picture, to) = (&args.model, &args.picture, &args.output);
    let (names, weights) = (args.motion.clips.names(), &args.motion.weights);
    if args.motion.clips.is_rest() && (picture.time.is_some() || picture.sheet.is_some()) {
        let asked = if picture.time.is_some() { "--time" } else { "--sheet" };
        return Err(Failure::Usage(format!("{asked} needs a clip: give --clip instead of --rest")));
    }
    if names.len() < 2 && !weights.is_empty() {
        return Err(Failure::Usage("--weight is for a blend of clips: give two --clip or more".into()));
    }
    let weights = self::weights(weights, names.len()).map_err(Failure::Usage)?;
    let dispatch = picture.numerics.apply()?;
    let format = picture.format(to)?;
    if picture.limits.is_some() && !picture.skeleton {
        return Err(Failure::Usage("--limits are drawn at the joints: give --skeleton too".into()));
    }
    let mut job = Job::writing(path, to, picture.overwrite)?;
    let model = job.open(path, || args.input.open(path, args.motion.clips.first(), picture.json))?;
    let mut clips = args.motion.clips.find(&model)?;
    let clip = match clips.len() {
        0 | 1 => clips.pop(),
        _ => Some(Playable::mix(clips.into_iter().zip(weights).collect())),
    };
    let clip = clip.as_ref();
    let drawn = picture.draw(path, format, &model, (clip, 0.0), None)?;
    let file = write_file(to.clone(), |out| out.write_all(&drawn.bytes))?;
    if picture.json {
        let mut report = json!({
            "file": path.to_string_lossy(),
            "isa": dispatch.isa().name(),
            "numeric": dispatch.numeric().name(),
            "clip": clip.map(Playable::name),
            "frames": drawn.frames,
            "notes": drawn.notes,
            "files": [file.to_json()],
        });
        if let Some(greatest) = drawn.difference {
            report["difference"] = json!({
                "metres": greatest.distance,
                "of_diagonal": greatest.of_diagonal(),
                "seconds": greatest.seconds,
            });
        }
        return print_json(&format!("{report:#}"));
    }
    let frames = counted(drawn.frames, "frame", "frames");
    let mut text = format!("{}: {frames}, {}\n", path_text(&file.path), size(drawn.bytes.len()));
    if let Some(greatest) = drawn.difference {
        let at = clip.map_or(String::new(), |_| format!(", at {:.2} s", greatest.seconds));
        text += &format!("linear and dual quaternion skinning differ by at most {}{at}\n", greatest.text());
    }
    print(&text)
}

/// `condyle blend`, the old name of `condyle render` with several clips.
pub(crate) fn blend(args: &Args) -> Result<(), Failure> {
    if args.motion.clips.names().len() < 2 {
        return Err(Failure::Usage("a blend takes two clips or more: add another --clip".into()));
    }
    run(args)
}

/// Returns the weight of each clip, not normalised.
fn weights(asked: &[f32], clips: usize) -> Result<Vec<f32>, String> {
    let weights = match asked {
        [] => return Ok(vec![1.0; clips]),
        [second] if clips == 2 && *second <= 1.0 => vec![1.0 - second, *second],
        all if all.len() == clips => all.to_vec(),
        all => {
            return Err(format!(
                "{clips} clips take {clips} weights, or one from 0 to 1 for the second of two; {} given",
                all.len()
            ));
        }
    };
    match weights.iter().sum::<f32>() > 0.0 {
        true => Ok(weights),
        false => Err("all weights are 0; raise one of them".into()),
    }
}

/// A picture or an animation, as the bytes of a file.
pub(crate) struct Drawn {
    pub bytes: Vec<u8>,
    pub frames: usize,
    /// Largest difference between two skinning methods.
    pub difference: Option<Greatest>,
    /// Remarks on parts of the model that cannot be drawn exactly.
    pub notes: Vec<String>,
}

impl Picture {
    /// Returns the first given option that affects pictures only.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            (self.sheet.is_some(), "--sheet"),
            (self.turntable, "--turntable"),
            (self.size.is_some(), "--size"),
            (self.skeleton, "--skeleton"),
            (self.silhouette.is_some(), "--silhouette"),
            (self.bounds, "--bounds"),
            (self.hitboxes, "--hitboxes"),
            (self.skinning != Shown::Linear, "--skinning"),
            (self.yaw.is_some(), "--yaw"),
            (self.pitch.is_some(), "--pitch"),
        ];
        options.iter().find(|(given, _)| *given).map(|(_, option)| *option)
    }

    /// Returns the format for this file name, if the options fit it.
    pub(crate) fn format(&self, to: &Path) -> Result<Format, Failure> {
        let format = Format::of(to).ok_or_else(|| {
            let name = path_text(to);
            let wanted = "choose a name that ends in .png, or in .gif or .webp for an animation";
            Failure::Usage(format!("{name}: {wanted}"))
        })?;
        if format == Format::Png && (self.turntable || self.fps.is_some()) {
            let asked = if self.turntable { "--turntable" } else { "--fps" };
            return Err(Failure::Usage(format!(
                "{asked} is for animations: choose an output that ends in .gif or .webp"
            )));
        }
        if self.bounds && self.skinning != Shown::Linear {
            let what = "--bounds holds for linear skinning only: leave out --skinning";
            return Err(Failure::Usage(what.into()));
        }
        Ok(format)
    }

    /// Returns the shapes to draw around the character.
    fn around(&self, asset: &Asset, clip: Option<&Playable<'_>>, moments: &[f64]) -> Result<Shapes, Failure> {
        let wrong = |e: condyle::Error| too_large(asset.document.name(), &e);
        let parts = self.bounds.then(|| asset.placed_bounds(clip, moments)).transpose().map_err(wrong)?;
        let hitboxes = self.hitboxes.then(|| asset.hitboxes(1.0)).transpose().map_err(wrong)?;
        Ok(Shapes::new(parts.unwrap_or_default(), hitboxes.unwrap_or_default()))
    }

    /// Draws a clip of a model, or its rest pose, with marks over it. `still` is the moment of a single image
    /// without --time.
    pub(crate) fn draw(
        &self,
        path: &Path,
        format: Format,
        model: &Model,
        (clip, still): (Option<&Playable<'_>>, f64),
        marks: Option<&Marks<'_>>,
    ) -> Result<Drawn, Failure> {
        let asset = &model.asset;
        if let Some(what) = clip.and_then(|clip| clip.clamped(self.time.as_slice())) {
            warn(path, &what);
        }
        let plan = plan(self, format, clip, still)?;
        let panels = if self.skinning == Shown::Both { 3 } else { 1 };
        let work = Work::draw(asset, panels * plan.moments().len());
        let mut budget = self.limit.budget(&model.sources);
        budget.afford(&path_text(path), clip.map_or("", Playable::name), &work)?;
        let drawn = self.limits.as_ref().filter(|_| self.skeleton);
        let limits = drawn.map(|choice| choice.limits(path, model, &mut budget)).transpose()?;
        let around = self.around(asset, clip, plan.moments())?;
        let with_around = |seconds: f64, model: &[Affine]| {
            let mut all = around.marks(model);
            all.extend(marks.into_iter().flat_map(|marks| marks(seconds, model)));
            all
        };
        let motion = clip.map(|clip| clip as &(dyn PoseSource + Sync));
        let mut scene = Scene::skinned(asset, self.skinning.all())?;
        let difference = match self.skinning {
            Shown::Both if !is_blended(asset) => {
                let name = path_text(path);
                return Err(Failure::Data(format!(
                    "{name}: no vertex follows several joints, so both methods are equal; leave out --skinning both"
                )));
            }
            Shown::Both => Some(scene.compare(motion, plan.moments())?),
            Shown::Linear | Shown::Dual => None,
        };
        scene.set_limits(limits);
        scene.mark(&with_around);
        let open = self.silhouette.map_or(0, |seen| scene.set_outline(seen));
        let note =
            |problem: &String| format!("{problem}; surfaces with this image are drawn in their plain colour");
        let mut notes: Vec<String> = scene.problems().iter().map(note).collect();
        if open > 0 {
            let edges = counted(open, "edge has", "edges have");
            notes.push(format!("{edges} a triangle on one side only, and are drawn from every direction"));
        }
        notes.iter().for_each(|what| warn(path, &format!("note: {what}")));
        let [yaw, pitch] = [self.yaw.unwrap_or(YAW), self.pitch.unwrap_or(PITCH)].map(f32::to_radians);
        let view = View { yaw: asset.document.front() + yaw, pitch };
        let look = Look { view, size: self.size.unwrap_or(SIZE), skeleton: self.skeleton };
        let (bytes, frames) = match plan {
            Plan::Still(seconds) => {
                let shot = scene.frame(motion, &look, 1)?;
                (picture::still(format, &scene.draw(motion, seconds, &shot, 0)?)?, 1)
            }
            Plan::Sheet(moments) => {
                let label = clip.map_or("", Playable::name);
                let sheet = drawing(moments.len(), |tick| scene.row(motion, label, &moments, &look, tick));
                (picture::still(format, &sheet?)?, moments.len())
            }
            Plan::Moving { moments, fps } => {
                let turns = if self.turntable { moments.len() } else { 1 };
                let film = Film { moments: &moments, fps, turns };
                let movie = drawing(moments.len(), |tick| scene.movie(format, motion, &film, &look, tick));
                (movie?, moments.len())
            }
        };
        Ok(Drawn { bytes, frames, difference, notes })
    }
}

/// Whether a vertex of a skinned mesh follows several joints.
fn is_blended(asset: &Asset) -> bool {
    let skinned = asset.instances.iter().filter(|it| matches!(it.placement, Placement::Skin(_)));
    skinned.flat_map(|it| &it.primitives).any(|it| it.mesh.influences().longest_row() > 1)
}

/// Moments to draw, in seconds.
enum Plan {
    Still(f64),
    Sheet(Vec<f64>),
    Moving { moments: Vec<f64>, fps: f64 },
}

impl Plan {
    fn moments(&self) -> &[f64] {
        match self {
            Self::Still(seconds) => std::slice::from_ref(seconds),
            Self::Sheet(moments) | Self::Moving { moments, .. } => moments,
        }
    }
}

fn plan(args: &Picture, format: Format, clip: Option<&Playable<'_>>, still: f64) -> Result<Plan, Failure> {
    if let Some(count) = args.sheet {
        let panels = if args.skinning == Shown::Both { 3 } else { 1 };
        let columns = columns(count, panels);
        let [width, height] = args.size.unwrap_or(SIZE);
        let (wide, high) = (width * panels * columns, height * count.div_ceil(columns));
        if wide.max(high) > MAX_SHEET {
            return Err(Failure::Usage(format!(
                "--sheet {count}: the sheet would be {wide}x{high} pixels, and the limit is {MAX_SHEET} a side; \
                 choose fewer moments or a smaller --size"
            )));
        }
        return Ok(Plan::Sheet(evenly(clip.map(|clip| clip as &(dyn PoseSource + Sync)), count as usize)));
    }
    let moving = format != Format::Png && args.time.is_none() && (args.turntable || clip.is_some());
    if !moving && args.fps.is_some() {
        return Err(Failure::Usage("--fps is for animations: give a --clip, or add --turntable".into()));
    }
    if !moving {
        return Ok(Plan::Still(args.time.unwrap_or(still)));
    }
    let length = clip.map_or(0.0, |c| c.end() - c.start());
    let fps = args.fps.unwrap_or(FPS);
    // On a turntable the clip repeats until a turn has lasted long enough, and always plays to its end.
    let loops = if args.turntable && length > 0.0 { (MIN_TURN / length).ceil() } else { 1.0 };
    let whole = if args.turntable { (length * loops).max(MIN_TURN) } else { length };
    let frames = (whole * fps).round().max(1.0);
    if frames > MAX_FRAMES {
        return Err(Failure::Usage(format!(
            "{whole:.1} s at {fps} frames per second is {frames} frames, and the limit is {MAX_FRAMES}; \
             choose a lower --fps"
        )));
    }
    let moments = (0..frames as u32).map(|i| {
        let within = f64::from(i) / frames * loops;
        clip.map_or(0.0, |c| c.start()) + within.fract() * length
    });
    Ok(Plan::Moving { moments: moments.collect(), fps: frames / whole.max(1.0 / fps) })
}

fn parse_size(text: &str) -> Result<Size, String> {
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

fn parse_silhouette(text: &str) -> Result<Seen, String> {
    if text == "eye" {
        return Ok(Seen::Eye);
    }
    let numbers: Vec<_> = text.split(',').map(|part| part.trim().parse::<f32>()).collect();
    match numbers[..] {
        [Ok(x), Ok(y), Ok(z)] if [x, y, z].iter().all(|v| v.is_finite()) && [x, y, z] != [0.0; 3] => {
            Ok(Seen::Direction([x, y, z]))
        }
        _ => {
            Err("the direction to the light is three numbers, not all zero, such as 0.3,1,0.2, or `eye`"
                .into())
        }
    }
}

fn parse_degrees(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(degrees) if (-360.0..=360.0).contains(&degrees) => Ok(degrees),
        _ => Err("an angle is a number of degrees from -360 to 360".into()),
    }
}

fn parse_weight(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(weight) if (0.0..=1e6).contains(&weight) => Ok(weight),
        _ => Err("a weight is a number from 0 to 1000000, such as 0.5".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_fit_their_clips() {
        assert_eq!(weights(&[], 3), Ok(vec![1.0; 3]));
        assert_eq!(weights(&[0.25], 2), Ok(vec![0.75, 0.25]));
        assert_eq!(weights(&[3.0, 0.0], 2), Ok(vec![3.0, 0.0]));
        for (wrong, clips) in [(vec![1.5], 2), (vec![0.5], 3), (vec![0.0, 0.0], 2), (vec![1.0; 3], 2)] {
            assert!(weights(&wrong, clips).is_err(), "{wrong:?} for {clips}");
        }
    }
}
