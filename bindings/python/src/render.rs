//! Pictures of models and clips.

use std::path::PathBuf;

use condyle::sampling::PoseSource;
use condyle::{Affine, Skeleton};
use condyle_draw::marks::Mark;
use condyle_draw::picture::{self, Format, Movie};
use condyle_draw::shapes::Shapes;
use condyle_draw::{FPS, Look, MAX_SHEET, RgbImage, SIDES, Scene, View};
use condyle_gltf::{Asset, Skinning};
use condyle_query::hitbox::Hitboxes;
use numpy::PyArrayDyn;
use numpy::prelude::*;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{Output, Times, shape_text};
use crate::errors::{Error, warn};
use crate::frames::{Threads, on_threads};
use crate::progress::{Steps, end_unless, told, told_apart};

/// Requested drawing options.
pub(crate) struct Style<'a> {
    pub(crate) size: [i64; 2],
    pub(crate) yaw: f32,
    pub(crate) pitch: f32,
    pub(crate) skeleton: bool,
    pub(crate) bounds: bool,
    pub(crate) hitboxes: bool,
    pub(crate) skinning: &'a str,
}

/// Subject of a picture: a model, or a skeleton alone.
pub(crate) struct Drawn<'a> {
    pub(crate) name: &'a str,
    pub(crate) skeleton: &'a Skeleton,
    pub(crate) asset: Option<&'a Asset>,
    pub(crate) motion: condyle_draw::Motion<'a>,
}

/// Checked subject and options of a picture.
struct Drawing<'a> {
    asset: &'a Asset,
    motion: condyle_draw::Motion<'a>,
    skinning: Skinning,
    has_bounds: bool,
    hitboxes: Hitboxes,
    look: Look,
}

impl Style<'_> {
    /// Checked size, before memory for the pixels is allocated.
    fn size(&self) -> PyResult<[u32; 2]> {
        let [width, height] = self.size;
        let side = |n: i64| u32::try_from(n).ok().filter(|n| SIDES.contains(n));
        side(width).zip(side(height)).map(Into::into).ok_or_else(|| {
            let (least, most) = (SIDES.start(), SIDES.end());
            Error::new_err(format!("size must be {least} to {most} pixels per side, got ({width}, {height})"))
        })
    }
}

impl Drawn<'_> {
    /// Runs `work` with a scene of the subject. Returns its result, and notes about images that cannot
    /// be drawn.
    fn scene<T>(
        &self,
        style: &Style<'_>,
        size: [u32; 2],
        work: impl FnOnce(Scene<'_>, &Drawing<'_>) -> Result<T, String>,
    ) -> Result<(T, Vec<String>), String> {
        let alone = match self.asset {
            Some(_) => None,
            None => {
                let made = Asset::of_motion(self.name, self.skeleton, vec![]);
                Some(made.map_err(|refused| refused.to_string())?)
            }
        };
        let asset = self.asset.or(alone.as_ref()).ok_or("nothing to draw")?;
        let angle = |name: &str, degrees: f32| {
            if degrees.is_finite() {
                Ok((degrees % 360.0).to_radians())
            } else {
                Err(format!("{name} must be a finite number of degrees, got {degrees}"))
            }
        };
        let view = View {
            yaw: asset.document.front() + angle("yaw", style.yaw)?,
            pitch: angle("pitch", style.pitch)?,
        };
        let skinning = match style.skinning {
            "linear" => Skinning::Linear,
            "dual" => Skinning::DualQuaternion,
            other => return Err(format!("skinning must be \"linear\" or \"dual\", got {other:?}")),
        };
        if style.bounds && style.skinning != "linear" {
            return Err(
                "bounds=True requires skinning=\"linear\", because bounds hold only for linear skinning"
                    .into(),
            );
        }
        let hitboxes = style.hitboxes.then(|| asset.hitboxes(1.0)).transpose();
        let drawing = Drawing {
            asset,
            motion: self.motion,
            skinning,
            has_bounds: style.bounds,
            hitboxes: hitboxes.map_err(|e| format!("{}: {e}", self.name))?.unwrap_or_default(),
            look: Look { view, size, skeleton: style.skeleton },
        };
        let around = drawing.around()?;
        let mut scene = Scene::skinned(asset, &[drawing.skinning]).map_err(|e| e.to_string())?;
        scene.mark(&around);
        let notes = scene.problems().to_vec();
        Ok((work(scene, &drawing)?, notes))
    }
}

impl Drawing<'_> {
    /// Marks around the character at a time. Bounds follow the morph weights, so a picture does not
    /// depend on the other times of the call.
    fn around(&self) -> Result<impl Fn(f64, &[Affine]) -> Vec<Mark> + Sync, String> {
        let bounds = |seconds: f64| self.asset.placed_bounds(self.motion, &[seconds]);
        let morphs = self.asset.instances.iter().any(|it| !it.morph_weights.is_empty());
        let start = self.motion.map_or(0.0, PoseSource::start);
        let fixed = if self.has_bounds { bounds(start).map_err(|e| e.to_string())? } else { vec![] };
        let fixed = Shapes::new(fixed, self.hitboxes.clone());
        Ok(move |seconds: f64, model: &[Affine]| {
            if self.has_bounds && morphs {
                // If the clip cannot be sampled at this time, the picture fails anyway.
                Shapes::new(bounds(seconds).unwrap_or_default(), self.hitboxes.clone()).marks(model)
            } else {
                fixed.marks(model)
            }
        })
    }

    /// Draws each time into its part of `pixels` through one camera, with `each` pictures per thread.
    fn draw(
        &self,
        mut scene: Scene<'_>,
        moments: &[f64],
        pixels: &mut [u8],
        each: usize,
        steps: &Steps,
    ) -> Result<(), String> {
        let length = self.look.size.iter().product::<u32>() as usize * 3;
        let told = |e: condyle_draw::Error| e.to_string();
        let shot = scene.frame(self.motion, &self.look, 1).map_err(told)?;
        let frames = moments.chunks(each).zip(pixels.chunks_mut(each * length));
        let mut parts = Vec::with_capacity(frames.len());
        for part in frames {
            parts.push((scene.twin().map_err(told)?, part));
        }
        on_threads(parts.into_iter(), steps, |(mut scene, (moments, pixels))| {
            for (&seconds, pixels) in moments.iter().zip(pixels.chunks_mut(length)) {
                pixels.copy_from_slice(scene.draw(self.motion, seconds, &shot, 0).map_err(told)?.as_raw());
                if !steps.add() {
                    break;
                }
            }
            Ok(())
        })
    }
}

/// Draws a subject at one time or at several, as a `condyle.Picture`.
pub(crate) fn render<'py>(
    py: Python<'py>,
    subject: &Drawn<'_>,
    style: &Style<'_>,
    times: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Threads<'_, '_>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let size = style.size()?;
    let numpy = py.import("numpy")?;
    let (moments, is_still) = match times {
        None => (vec![subject.motion.map_or(0.0, PoseSource::start)], true),
        Some(times) => {
            let is_still = numpy.call_method1("ndim", (times,))?.extract::<usize>()? == 0;
            let all = if is_still { numpy.call_method1("atleast_1d", (times,))? } else { times.clone() };
            (Times::new("times", &all)?.times()?.to_vec(), is_still)
        }
    };
    let [width, height] = size.map(|side| side as usize);
    let shape = if is_still { vec![height, width, 3] } else { vec![moments.len(), height, width, 3] };
    let mut array = Output::<u8>::new(py, "out", out, &shape)?;
    let pixels = array.values()?;
    let each = threads.share(moments.len());
    let drawn = told(py, progress, |steps| {
        subject.scene(style, size, |scene, it| it.draw(scene, &moments, pixels, each, steps))
    })?;
    let ((), notes) = drawn.map_err(Error::new_err)?;
    warn_of_images(py, subject.name, &notes)?;
    // Playback rate of the clip, in either direction.
    let steps = moments.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let seconds = steps.sum::<f64>() / (moments.len().max(2) - 1) as f64;
    shown(py, array.into_array().into_any(), if seconds > 0.0 { 1.0 / seconds } else { FPS })
}

/// Draws a contact sheet as a `condyle.Picture`.
pub(crate) fn sheet<'py>(
    py: Python<'py>,
    subject: &Drawn<'_>,
    label: &str,
    style: &Style<'_>,
    count: i64,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let size = style.size()?;
    let many = || Error::new_err(format!("count must be 1 to 100, got {count}"));
    let count = u32::try_from(count).ok().filter(|count| (1..=100).contains(count)).ok_or_else(many)?;
    let columns = condyle_draw::columns(count, 1);
    let sides = [size[0] * columns, size[1] * count.div_ceil(columns)];
    if sides.iter().any(|side| *side > MAX_SHEET) {
        let [width, height] = sides;
        let what =
            format!("the sheet would be {width}x{height} pixels, but the limit is {MAX_SHEET} per side");
        return Err(Error::new_err(format!("{what}; use a smaller count or size")));
    }
    let moments = condyle_draw::evenly(subject.motion, count as usize);
    let drawn = told(py, progress, |steps| {
        subject.scene(style, size, |mut scene, it| {
            let drawn = scene.row(it.motion, label, &moments, &it.look, &mut || steps.add());
            drawn.map_err(|e| e.to_string())
        })
    })?;
    let (drawn, notes) = drawn.map_err(Error::new_err)?;
    warn_of_images(py, subject.name, &notes)?;
    let (width, height) = drawn.dimensions();
    let array = numpy::PyArray1::from_vec(py, drawn.into_raw());
    shown(py, array.reshape([height as usize, width as usize, 3])?.into_any(), FPS)
}

/// Warns about images that cannot be drawn.
fn warn_of_images(py: Python<'_>, name: &str, notes: &[String]) -> PyResult<()> {
    let text = |note| format!("{name}: {note}; surfaces with this image are drawn in their plain colour");
    notes.iter().try_for_each(|note| warn(py, &text(note)))
}

/// Converts an array to a `condyle.Picture`.
fn shown<'py>(py: Python<'py>, array: Bound<'py, PyAny>, fps: f64) -> PyResult<Bound<'py, PyAny>> {
    py.import("condyle")?.getattr("Picture")?.call1((array, fps))
}

/// Encode pixels (H, W, 3), or frames (T, H, W, 3), in the format that the extension of `name` selects.
#[pyfunction]
pub(crate) fn _picture_file<'py>(
    py: Python<'py>,
    pixels: &Bound<'py, PyArrayDyn<u8>>,
    fps: f64,
    name: PathBuf,
) -> PyResult<Bound<'py, PyBytes>> {
    let pixels = pixels
        .try_readonly()
        .map_err(|_| Error::new_err("another call is writing the picture; wait for it"))?;
    let shape = pixels.shape().to_vec();
    let format = Format::of(&name).ok_or_else(|| {
        let name = name.display();
        Error::new_err(format!("the name {name} does not end in .png, .gif or .webp"))
    })?;
    let (count, sides) = match shape[..] {
        [height, width, 3] => (None, [width, height]),
        [count, height, width, 3] => (Some(count), [width, height]),
        _ => {
            let found = shape_text(&shape);
            return Err(Error::new_err(format!(
                "pixels must have shape (H, W, 3) or (T, H, W, 3), got {found}"
            )));
        }
    };
    let sides = sides.map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    if sides.contains(&0) || sides.iter().any(|side| *side > MAX_SHEET) || count == Some(0) {
        let found = shape_text(&shape);
        return Err(Error::new_err(format!(
            "pixels must have 1 to {MAX_SHEET} pixels per side and at least one frame, got shape {found}"
        )));
    }
    if !(fps.is_finite() && fps > 0.0) {
        return Err(Error::new_err(format!("fps must be finite and above 0, got {fps}")));
    }
    let pixels = pixels.as_slice().map_err(|_| Error::new_err("pixels are not contiguous"))?;
    let pixels = pixels.to_vec();
    let bytes = told_apart(py, None, move |steps| file(format, &pixels, count, sides, fps, steps))?;
    Ok(PyBytes::new(py, &bytes.map_err(|e| Error::new_err(e.to_string()))?))
}

fn file(
    format: Format,
    pixels: &[u8],
    count: Option<usize>,
    [width, height]: [u32; 2],
    fps: f64,
    steps: &Steps,
) -> Result<Vec<u8>, condyle_draw::Error> {
    let length = width as usize * height as usize * 3;
    let frame = |at: usize| {
        let bytes = pixels[at * length..(at + 1) * length].to_vec();
        RgbImage::from_raw(width, height, bytes).unwrap_or_default()
    };
    let Some(count) = count else { return picture::still(format, &frame(0)) };
    // A GIF stores its palette before the first frame.
    let examples: Vec<_> = match format {
        Format::Gif => (0..count).step_by(count.div_ceil(6)).map(frame).collect(),
        Format::Png | Format::WebP => vec![],
    };
    let mut movie = Movie::new(format, (width, height), &examples)?;
    // Programs show GIF frames shorter than 1/50 s for 1/10 s. WebP durations are in milliseconds.
    let most = if format == Format::Gif { 50.0 } else { 1000.0 };
    let skipped = (fps / most).max(1.0);
    let shown = (0..).map(|at| (f64::from(at) * skipped) as usize).take_while(|at| *at < count);
    for at in shown {
        movie.push(&frame(at), skipped / fps)?;
        end_unless(steps.go_on());
    }
    movie.finish()
}
