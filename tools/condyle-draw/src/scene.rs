//! A clip as a still image, a contact sheet or an animation.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use condyle::sampling::PoseSource;
use condyle_gltf::{Asset, Skinning};
use condyle_solve::Limits;
use image::{RgbImage, imageops};

use crate::Error;
use crate::artist::Artist;
use crate::difference::Greatest;
use crate::marks::Marks;
use crate::outline::Seen;
use crate::overlay;
use crate::picture::{Format, Movie};
use crate::solid::Solid;
use crate::stage::{Bounds, Camera, Ground, GroundImage, View};

/// Width and height in pixels.
pub type Size = [u32; 2];

/// Motion to draw: a clip, or `None` for the rest pose.
pub type Motion<'a> = Option<&'a (dyn PoseSource + Sync)>;

/// Minimum and maximum width and height of a picture in pixels, in the command line and the Python package.
pub const SIDES: RangeInclusive<u32> = 16..=2048;

/// Maximum pixels of a contact sheet along one side; the limit of WebP is 16383.
pub const MAX_SHEET: u32 = 16_000;

/// Default frames per second. Each frame lasts a whole number of hundredths of a second, the unit of GIF.
pub const FPS: f64 = 25.0;
/// Number of pixels that are drawn simultaneously. A pixel takes 64 bytes.
const MOST_PIXELS: usize = 1 << 24;
/// Number of moments of a clip that are posed to find its bounds.
const BOUNDS_SAMPLES: u16 = 24;

/// Returns `count` evenly spaced moments of a clip. The end is left out, because it equals the start in a
/// clip that loops.
#[must_use]
pub fn evenly(clip: Motion<'_>, count: usize) -> Vec<f64> {
    let (start, end) = clip.map_or((0.0, 0.0), |c| (c.start(), c.end()));
    (0..count).map(|i| start + (end - start) * (i as f64 / count as f64)).collect()
}

/// Returns the number of columns of a contact sheet of `count` moments with this many panels each: up to
/// eight panels side by side, in rows of nearly equal length.
#[must_use]
pub fn columns(count: u32, panels: u32) -> u32 {
    count.div_ceil(count.div_ceil((8 / panels.max(1)).max(1)).max(1))
}

/// Options for drawing a pose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Direction of the camera.
    pub view: View,
    /// Size of one picture of a pose. With two skinning methods, there are three pictures.
    pub size: Size,
    /// Whether joints are drawn over the mesh.
    pub skeleton: bool,
}

impl Default for Look {
    /// Views from the front, slightly from the left and above, at 640 by 640 pixels.
    fn default() -> Self {
        let view = View { yaw: 35_f32.to_radians(), pitch: 12_f32.to_radians() };
        Self { view, size: [640; 2], skeleton: false }
    }
}

/// Contents of an animation.
#[derive(Debug, Clone, Copy)]
pub struct Film<'a> {
    /// Times in the clip in seconds, one for each frame.
    pub moments: &'a [f64],
    /// Frames per second.
    pub fps: f64,
    /// Steps of a turntable; 1 for a fixed camera.
    pub turns: usize,
}

impl<'a> Film<'a> {
    /// Builds a film with a fixed camera.
    #[must_use]
    pub fn new(moments: &'a [f64], fps: f64) -> Self {
        Self { moments, fps, turns: 1 }
    }
}

/// The camera of a clip, or one camera per frame of a turntable, and the ground.
pub struct Shot {
    cameras: Vec<Camera>,
    ground: Ground,
    /// The ground as a single camera sees it, computed for the first picture.
    ground_image: OnceLock<GroundImage>,
    look: Look,
}

/// An asset to draw.
pub struct Scene<'a> {
    name: &'a str,
    artist: Artist<'a>,
    marks: Option<&'a Marks<'a>>,
}

impl<'a> Scene<'a> {
    /// Builds a scene with linear skinning.
    ///
    /// # Errors
    /// [`Error::Model`] if the asset has more joints, vertices or bytes than a stage supports.
    pub fn new(asset: &'a Asset) -> Result<Self, Error> {
        Self::skinned(asset, &[Skinning::Linear])
    }

    /// Builds a scene with one skinning method, or with two for a comparison.
    ///
    /// # Errors
    /// The errors of [`Scene::new`].
    pub fn skinned(asset: &'a Asset, skinnings: &[Skinning]) -> Result<Self, Error> {
        let name = asset.document.name();
        if !(1..=2).contains(&skinnings.len()) {
            let what = format!("{} skinning methods; give one, or two for a comparison", skinnings.len());
            return Err(unfit(name, what));
        }
        let artist = Artist::new(asset, skinnings)
            .map_err(|e| unfit(name, format!("{e}; remove unneeded parts of the model")))?;
        Ok(Self { name, artist, marks: None })
    }

    /// Returns a copy in its current state, for another thread. Decoded images are shared.
    ///
    /// # Errors
    /// The errors of [`Scene::new`].
    pub fn twin(&self) -> Result<Self, Error> {
        let artist = self.artist.twin();
        let artist =
            artist.map_err(|e| unfit(self.name, format!("{e}; remove unneeded parts of the model")))?;
        Ok(Self { name: self.name, artist, marks: self.marks })
    }

    /// Sets marks to draw over each picture.
    pub fn mark(&mut self, marks: &'a Marks<'a>) {
        self.marks = Some(marks);
    }

    /// Sets boxes to draw next to the asset.
    pub fn set_solids(&mut self, solids: Vec<Solid>) {
        self.artist.set_solids(solids);
    }

    /// Sets joint limits, which are drawn with the skeleton.
    pub fn set_limits(&mut self, limits: Option<Limits>) {
        self.artist.set_limits(limits);
    }

    /// Enables the outline. Returns the number of open edges of the meshes.
    pub fn set_outline(&mut self, seen: Seen) -> usize {
        self.artist.set_outline(seen)
    }

    /// Returns the images of the asset that cannot be drawn, and the reasons.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        self.artist.problems()
    }

    /// Returns the largest difference between both skinning methods at the moments that will be drawn.
    ///
    /// # Errors
    /// [`Error::Model`] if the clip leaves the range of f32.
    pub fn compare(&mut self, clip: Motion<'_>, moments: &[f64]) -> Result<Greatest, Error> {
        let name = self.name;
        let failed = |e| unfit(name, format!("{e}; check the keys of the clip"));
        self.artist.compare(clip, moments).map_err(failed)
    }

    /// Returns the size of a picture with all panels side by side.
    fn whole(&self, [width, height]: Size) -> Size {
        [width * self.artist.panels().len() as u32, height]
    }

    /// Places the camera so that the whole clip is in view: once, or for each of the `turns` of a turntable.
    ///
    /// # Errors
    /// [`Error::Model`] if there is nothing to draw, or the clip leaves the range of f32. [`Error::Picture`]
    /// if a side has no pixels, or more than [`MAX_SHEET`].
    pub fn frame(&mut self, clip: Motion<'_>, look: &Look, turns: usize) -> Result<Shot, Error> {
        if !look.size.iter().all(|side| (1..=MAX_SHEET).contains(side)) {
            let [width, height] = look.size;
            return Err(Error::Picture(format!(
                "{width}x{height} pixels; 1 to {MAX_SHEET} a side are supported"
            )));
        }
        let [width, height] = look.size.map(|n| n as usize);
        let turns = turns.max(1);
        // Bounds from each direction of the camera; more than 32 would change nothing visible.
        let sides = turns.min(32);
        let around = |i: usize, of: usize| View {
            yaw: look.view.yaw + core::f32::consts::TAU * i as f32 / of as f32,
            ..look.view
        };
        let mut bounds: Vec<Bounds> =
            (0..sides).map(|i| Bounds::new(around(i, sides), width, height)).collect();
        let measures = if clip.is_some() { BOUNDS_SAMPLES } else { 0 };
        for i in 0..=measures {
            let share = f64::from(i) / f64::from(measures.max(1));
            let seconds = clip.map_or(0.0, |c| c.start() + (c.end() - c.start()) * share);
            self.pose(clip, seconds)?;
            let marks = self.marks.map_or(vec![], |marks| marks(seconds, self.artist.model()));
            for bounds in &mut bounds {
                self.artist.measure(bounds);
                marks.iter().for_each(|mark| bounds.add(&mark.places()));
            }
        }
        if !bounds[0].is_usable() {
            let what = "nothing can be drawn: it has no triangles and no joints, or they are too far away; \
                        `condyle info` prints its contents";
            return Err(unfit(self.name, what.into()));
        }
        let ground = Ground::new(&bounds[0]);
        let cameras = if turns == 1 {
            vec![bounds[0].camera(width, height)]
        } else {
            let round = Bounds::around(&bounds);
            (0..turns).map(|i| round.facing(around(i, turns)).camera(width, height)).collect()
        };
        Ok(Shot { cameras, ground, ground_image: OnceLock::new(), look: *look })
    }

    fn pose(&mut self, clip: Motion<'_>, seconds: f64) -> Result<(), Error> {
        self.artist
            .pose(clip, seconds)
            .map_err(|e| unfit(self.name, format!("at {seconds} s: {e}; check keys and scales at that time")))
    }

    /// Draws one moment. `turn` is the index of the camera on a turntable.
    ///
    /// # Errors
    /// [`Error::Model`] if that would take too much work, or the clip leaves the range of f32.
    pub fn draw(
        &mut self,
        clip: Motion<'_>,
        seconds: f64,
        shot: &Shot,
        turn: usize,
    ) -> Result<RgbImage, Error> {
        self.pose(clip, seconds)?;
        let camera = &shot.cameras[turn % shot.cameras.len()];
        let marks = self.marks.map_or(vec![], |marks| marks(seconds, self.artist.model()));
        let Look { size, skeleton, .. } = shot.look;
        let of_turn;
        let ground_image = if shot.cameras.len() == 1 {
            shot.ground_image.get_or_init(|| shot.ground.image(camera, size))
        } else {
            of_turn = shot.ground.image(camera, size);
            &of_turn
        };
        let [width, height] = self.whole(size);
        let mut whole = RgbImage::new(width, height);
        for (at, &panel) in self.artist.panels().iter().enumerate() {
            let picture = self.artist.draw(panel, camera, &shot.ground, ground_image, size, skeleton);
            let mut picture = picture.ok_or_else(|| {
                let what = "its triangles overlap too often; it has too many large triangles to draw";
                unfit(self.name, format!("at {seconds} s {what}"))
            })?;
            marks.iter().for_each(|mark| mark.draw(&mut picture, camera));
            imageops::replace(&mut whole, &picture, (at as u32 * size[0]).into(), 0);
        }
        Ok(whole)
    }

    /// Draws moments of an animation in order, several at a time, each with the index of its camera.
    /// `receive` gets each picture with its index, while the next ones are drawn, and returns whether to
    /// continue. Returns whether all were received.
    fn draw_all(
        &self,
        clip: Motion<'_>,
        moments: &[(usize, f64)],
        shot: &Shot,
        receive: &mut dyn FnMut(usize, RgbImage) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let pixels: usize = shot.look.size.iter().map(|&side| side as usize).product();
        let workers = rayon::current_num_threads().min(MOST_PIXELS / pixels.max(1)).min(moments.len()).max(1);
        let mut scenes = Vec::with_capacity(workers);
        for _ in 0..workers {
            scenes.push(self.twin()?);
        }
        let mut hand_over = |ready: Vec<(usize, RgbImage)>| -> Result<bool, Error> {
            for (at, picture) in ready {
                if !receive(at, picture)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let mut ready = Vec::new();
        for part in moments.chunks(workers) {
            let mut drawn: Vec<_> = part.iter().map(|_| None).collect();
            let goes_on = rayon::in_place_scope(|scope| {
                for ((scene, &(at, seconds)), drawn) in scenes.iter_mut().zip(part).zip(&mut drawn) {
                    scope.spawn(move |_| {
                        *drawn = Some(scene.draw(clip, seconds, shot, at).map(|picture| (at, picture)));
                    });
                }
                hand_over(std::mem::take(&mut ready))
            });
            if !goes_on? {
                return Ok(false);
            }
            ready = drawn.into_iter().flatten().collect::<Result<_, _>>()?;
        }
        hand_over(ready)
    }

    /// Draws a contact sheet on all processors. Each moment is labelled with its time, the first one also
    /// with the name. `tick` is called for each drawn moment and returns whether to continue; if not, the
    /// rest stays black.
    ///
    /// # Errors
    /// The errors of [`Scene::frame`] and [`Scene::draw`].
    pub fn row(
        &mut self,
        clip: Motion<'_>,
        name: &str,
        moments: &[f64],
        look: &Look,
        tick: &mut dyn FnMut() -> bool,
    ) -> Result<RgbImage, Error> {
        let shot = self.frame(clip, look, 1)?;
        let [width, height] = self.whole(look.size);
        let columns = columns(moments.len() as u32, self.artist.panels().len() as u32).max(1);
        let mut sheet = RgbImage::new(width * columns, height * (moments.len() as u32).div_ceil(columns));
        let scale = (look.size[0].min(height) / 240).max(1);
        let numbered: Vec<_> = moments.iter().copied().enumerate().collect();
        self.draw_all(clip, &numbered, &shot, &mut |i, mut cell| {
            let margin = 4 * scale;
            let line = height.saturating_sub(overlay::LINE * scale + margin / 2);
            let room = look.size[0].saturating_sub(2 * margin) / scale;
            let time = format!("{:.2} s", moments[i]);
            let words = overlay::fitting(if i == 0 { name } else { "" }, &time, room);
            overlay::label(&mut cell, [margin, line], scale, &words, [52, 58, 68]);
            let i = i as u32;
            imageops::replace(&mut sheet, &cell, (i % columns * width).into(), (i / columns * height).into());
            Ok(tick())
        })?;
        Ok(sheet)
    }

    /// Draws an animation on all processors, and encodes it. `tick` is called for each encoded frame and
    /// returns whether to continue; if not, the animation ends there.
    ///
    /// # Errors
    /// The errors of [`Scene::frame`], [`Scene::draw`] and [`Movie`].
    pub fn movie(
        &mut self,
        format: Format,
        clip: Motion<'_>,
        film: &Film<'_>,
        look: &Look,
        tick: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u8>, Error> {
        let moments = film.moments;
        let shot = self.frame(clip, look, film.turns)?;
        // The palette of a GIF comes before its first frame.
        let examples = if format == Format::Gif { 6.min(moments.len()) } else { 0 };
        let is_example = |i: usize| (0..examples).any(|k| k * moments.len() / examples == i);
        let (early, late): (Vec<_>, Vec<_>) =
            moments.iter().copied().enumerate().partition(|(i, _)| is_example(*i));
        let mut indices = Vec::new();
        let mut seen = Vec::new();
        self.draw_all(clip, &early, &shot, &mut |i, picture| {
            indices.push(i);
            seen.push(picture);
            Ok(true)
        })?;
        let mut movie = Movie::new(format, self.whole(look.size).into(), &seen)?;
        let mut drawn = indices.into_iter().zip(seen).peekable();
        let mut push = |picture: &RgbImage| {
            movie.push(picture, 1.0 / film.fps)?;
            Ok::<bool, Error>(tick())
        };
        let goes_on = self.draw_all(clip, &late, &shot, &mut |i, picture| {
            while let Some((_, before)) = drawn.next_if(|(at, _)| *at < i) {
                if !push(&before)? {
                    return Ok(false);
                }
            }
            push(&picture)
        })?;
        if goes_on {
            for (_, last) in drawn {
                if !push(&last)? {
                    break;
                }
            }
        }
        movie.finish()
    }
}

fn unfit(name: &str, what: String) -> Error {
    Error::Model { name: name.into(), what }
}

#[cfg(test)]
mod tests {
    use condyle::{Joint, Skeleton, Transform};

    use super::*;

    #[test]
    fn what_cannot_be_drawn_is_an_error() {
        let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
        let joints = [Joint::new("foot", None, Transform::IDENTITY), Joint::new("head", Some(0), up)];
        let asset = Asset::of_motion("stick", &Skeleton::new(joints).unwrap(), vec![]).unwrap();
        for skinnings in [&[][..], &[Skinning::Linear; 3]] {
            let error = Scene::skinned(&asset, skinnings).map(|_| ()).unwrap_err().to_string();
            assert!(error.starts_with("stick: ") && error.contains("skinning methods"), "{error}");
        }
        let mut scene = Scene::new(&asset).unwrap();
        for size in [[0, 64], [64, 0], [u32::MAX, 64], [64, MAX_SHEET + 1]] {
            let look = Look { size, ..Look::default() };
            assert!(matches!(scene.frame(None, &look, 1), Err(Error::Picture(_))), "{size:?}");
        }
        // A turntable without steps does not turn, and a sheet without moments is empty.
        let look = Look { size: [1, 1], ..Look::default() };
        let shot = scene.frame(None, &look, 0).unwrap();
        assert_eq!(scene.draw(None, 0.0, &shot, 7).unwrap().dimensions(), (1, 1));
        assert!(scene.row(None, "", &[], &look, &mut || true).unwrap().is_empty());
        // Joints at a single position have no extent.
        let point = Asset::of_motion("point", &Skeleton::new([Joint::new("a", None, up)]).unwrap(), vec![]);
        let point = point.unwrap();
        let drawn = Scene::new(&point).unwrap().frame(None, &look, 1).map(|_| ());
        assert!(drawn.is_ok() || matches!(drawn, Err(Error::Model { .. })), "{drawn:?}");
    }
}
