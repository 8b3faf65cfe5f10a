//! Pictures of models and clips.

use std::path::PathBuf;

use condyle::sample::PoseSource;
use condyle::{Affine, Skeleton};
use condyle_draw::marks::Mark;
use condyle_draw::picture::{self, Format, Movie};
use condyle_draw::shapes::Shapes;
use condyle_draw::{FPS, Look, MAX_SHEET, RgbImage, SIDES, Scene, Shot, View};
use condyle_gltf::{Asset, Skinning};
use numpy::PyReadonlyArrayDyn;
use numpy::prelude::*;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{Input, Output, shape_text};
use crate::clip::Motion;
use crate::errors::Error;
use crate::frames::{Threads, on_threads};
use crate::progress::told;

/// How a pose is drawn, as it was asked for.
pub(crate) struct Style<'a> {
    pub(crate) size: (u32, u32),
    pub(crate) yaw: f32,
    pub(crate) pitch: f32,
    pub(crate) skeleton: bool,
    pub(crate) bounds: bool,
    pub(crate) hitboxes: bool,
    pub(crate) skinning: &'a str,
}

/// What to draw, and how: all of it checked.
struct Drawing<'a> {
    asset: &'a Asset,
    motion: Option<&'a Motion>,
    skinning: Skinning,
    shapes: Shapes,
    look: Look,
}

/// What is drawn of: a model, or a skeleton alone.
pub(crate) struct Subject<'a> {
    pub(crate) name: &'a str,
    pub(crate) skeleton: &'a Skeleton,
    pub(crate) asset: Option<&'a Asset>,
    pub(crate) motion: Option<&'a Motion>,
}

impl Style<'_> {
    /// Before there is room for as many pixels.
    fn check_size(&self) -> PyResult<()> {
        let (width, height) = self.size;
        if SIDES.contains(&width) && SIDES.contains(&height) {
            return Ok(());
        }
        let (least, most) = (SIDES.start(), SIDES.end());
        let what = format!("size is ({width}, {height}), {least} to {most} pixels each are wanted");
        Err(Error::new_err(what))
    }
}

impl Subject<'_> {
    /// Does `work` with the drawing at these moments.
    fn drawing<T>(
        &self,
        style: &Style<'_>,
        moments: &[f32],
        work: impl FnOnce(&Drawing<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let alone = match self.asset {
            Some(_) => None,
            None => {
                let made = Asset::of_motion(self.name, self.skeleton, vec![]);
                Some(made.map_err(|refused| refused.to_string())?)
            }
        };
        let asset = self.asset.or(alone.as_ref()).ok_or("nothing to draw")?;
        let angle = |name: &str, degrees: f32| match degrees.is_finite() {
            true => Ok((degrees % 360.0).to_radians()),
            false => Err(format!("{name} is {degrees}, a finite number of degrees is wanted")),
        };
        let view = View {
            yaw: asset.document.front() + angle("yaw", style.yaw)?,
            pitch: angle("pitch", style.pitch)?,
        };
        let skinning = match style.skinning {
            "linear" => Skinning::Linear,
            "dual" => Skinning::DualQuaternion,
            other => return Err(format!("skinning is {other:?}, \"linear\" or \"dual\" is wanted")),
        };
        if style.bounds && style.skinning != "linear" {
            return Err("bounds are those that linear skinning stays within; leave out skinning".into());
        }
        let wrong = |e: condyle::Error| format!("{}: {e}", self.name);
        let parts =
            style.bounds.then(|| asset.placed_bounds(self.motion, moments)).transpose().map_err(wrong)?;
        let hitboxes = style.hitboxes.then(|| asset.hitboxes(1.0)).transpose().map_err(wrong)?;
        let shapes = Shapes::new(parts.unwrap_or_default(), hitboxes.unwrap_or_default());
        let look = Look { view, size: style.size.into(), skeleton: style.skeleton };
        work(&Drawing { asset, motion: self.motion, skinning, shapes, look })
    }
}

impl Drawing<'_> {
    fn motion(&self) -> condyle_draw::Motion<'_> {
        self.motion.map(|motion| motion as &dyn PoseSource)
    }

    /// Does `work` with a scene, which belongs to one thread.
    fn scene<T>(
        &self,
        work: impl FnOnce(&mut Scene<'_>) -> Result<T, condyle_draw::Error>,
    ) -> Result<T, String> {
        let around = |_: f32, model: &[Affine]| -> Vec<Mark> { self.shapes.marks(model) };
        let drawn = Scene::skinned(self.asset, &[self.skinning]).and_then(|mut scene| {
            scene.mark(&around);
            work(&mut scene)
        });
        drawn.map_err(|e| e.to_string())
    }

    /// Draws each moment into its part of `pixels`, all through one camera.
    fn draw(
        &self,
        moments: &[f32],
        pixels: &mut [u8],
        each: usize,
        tell: &(impl Fn() -> bool + Sync),
    ) -> Result<(), String> {
        let length = self.look.size.iter().product::<u32>() as usize * 3;
        let shot: Shot = self.scene(|scene| scene.frame(self.motion(), &self.look, 1))?;
        let parts: Vec<_> = moments.chunks(each).zip(pixels.chunks_mut(each * length)).collect();
        on_threads(parts.into_iter(), |(moments, pixels)| {
            self.scene(|scene| {
                for (&seconds, pixels) in moments.iter().zip(pixels.chunks_mut(length)) {
                    pixels.copy_from_slice(scene.draw(self.motion(), seconds, &shot, 0)?.as_raw());
                    if !tell() {
                        break;
                    }
                }
                Ok(())
            })
        })
    }
}

/// Draws a subject at one moment, or at each of several: as `condyle.Picture`.
pub(crate) fn render<'py>(
    py: Python<'py>,
    subject: &Subject<'_>,
    style: &Style<'_>,
    times: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Threads<'_, '_>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    style.check_size()?;
    let (moments, is_still) = match times {
        None => (vec![subject.motion.map_or(0.0, PoseSource::start)], true),
        Some(times) => match times.extract::<f32>() {
            Ok(time) if time.is_finite() => (vec![time], true),
            Ok(time) => return Err(Error::new_err(format!("times is {time}, a finite number is wanted"))),
            Err(_) => (Input::new("times", times)?.times()?.to_vec(), false),
        },
    };
    let (width, height) = style.size;
    let mut shape = vec![height as usize, width as usize, 3];
    if !is_still {
        shape.insert(0, moments.len());
    }
    let mut array = Output::<u8>::new(py, "out", out, &shape)?;
    let pixels = array.values()?;
    let each = threads.share(moments.len());
    let drawn = told(py, progress, |steps| {
        subject.drawing(style, &moments, |it| it.draw(&moments, pixels, each, &|| steps.add()))
    })?;
    drawn.map_err(Error::new_err)?;
    let length = moments.last().zip(moments.first()).map_or(0.0, |(last, first)| f64::from(last - first));
    let fps = if length > 0.0 { (moments.len() - 1) as f64 / length } else { FPS };
    shown(py, array.into_array().into_any(), fps)
}

/// Draws a contact sheet: as `condyle.Picture`.
pub(crate) fn sheet<'py>(
    py: Python<'py>,
    subject: &Subject<'_>,
    label: &str,
    style: &Style<'_>,
    count: u32,
) -> PyResult<Bound<'py, PyAny>> {
    style.check_size()?;
    if !(1..=100).contains(&count) {
        return Err(Error::new_err(format!("count is {count}, 1 to 100 moments are wanted")));
    }
    let columns = condyle_draw::columns(count);
    let sides = [style.size.0.saturating_mul(columns), style.size.1.saturating_mul(count.div_ceil(columns))];
    if sides.iter().any(|side| *side > MAX_SHEET) {
        let [width, height] = sides;
        let what = format!("the sheet would be {width}x{height} pixels, and {MAX_SHEET} a side is the limit");
        return Err(Error::new_err(format!("{what}; choose fewer moments or a smaller size")));
    }
    let moments =
        condyle_draw::evenly(subject.motion.map(|motion| motion as &dyn PoseSource), count as usize);
    let drawn = py.detach(|| {
        subject.drawing(style, &moments, |it| {
            it.scene(|scene| scene.row(it.motion(), label, &moments, &it.look, &mut || {}))
        })
    });
    let drawn = drawn.map_err(Error::new_err)?;
    let (width, height) = drawn.dimensions();
    let array = numpy::PyArray1::from_vec(py, drawn.into_raw());
    shown(py, array.reshape([height as usize, width as usize, 3])?.into_any(), FPS)
}

/// The array as one that shows itself.
fn shown<'py>(py: Python<'py>, array: Bound<'py, PyAny>, fps: f64) -> PyResult<Bound<'py, PyAny>> {
    py.import("condyle")?.getattr("Picture")?.call1((array, fps))
}

/// Pixels (H, W, 3), or of several frames (T, H, W, 3), as a file of the format that the extension of `name` says.
#[pyfunction]
pub(crate) fn _picture_file<'py>(
    py: Python<'py>,
    pixels: PyReadonlyArrayDyn<'py, u8>,
    fps: f64,
    name: PathBuf,
) -> PyResult<Bound<'py, PyBytes>> {
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
                "pixels have the shape {found}, (H, W, 3) or (T, H, W, 3) is wanted"
            )));
        }
    };
    let sides = sides.map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    if sides.contains(&0) || sides.iter().any(|side| *side > MAX_SHEET) || count == Some(0) {
        let found = shape_text(&shape);
        return Err(Error::new_err(format!(
            "pixels have the shape {found}: there is nothing to show, or more than {MAX_SHEET} pixels on a side"
        )));
    }
    if !(fps.is_finite() && fps > 0.0) {
        return Err(Error::new_err(format!("fps is {fps}, more than 0 is wanted")));
    }
    let pixels = pixels.as_slice().map_err(|_| Error::new_err("pixels are not contiguous"))?;
    let bytes = py.detach(|| file(format, pixels, count, sides, fps));
    Ok(PyBytes::new(py, &bytes.map_err(|e| Error::new_err(e.to_string()))?))
}

fn file(
    format: Format,
    pixels: &[u8],
    count: Option<usize>,
    [width, height]: [u32; 2],
    fps: f64,
) -> Result<Vec<u8>, condyle_draw::Error> {
    let length = width as usize * height as usize * 3;
    let frame = |at: usize| {
        let bytes = pixels[at * length..(at + 1) * length].to_vec();
        RgbImage::from_raw(width, height, bytes).unwrap_or_default()
    };
    let Some(count) = count else { return picture::still(format, &frame(0)) };
    // The palette of a GIF comes before its first frame.
    let examples: Vec<_> = match format {
        Format::Gif => (0..count).step_by(count.div_ceil(6)).map(frame).collect(),
        Format::Png | Format::WebP => vec![],
    };
    let mut movie = Movie::new(format, (width, height), &examples)?;
    (0..count).try_for_each(|at| movie.push(&frame(at), 1.0 / fps))?;
    movie.finish()
}
