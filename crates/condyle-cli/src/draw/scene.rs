//! A clip as a still image, a contact sheet or an animation.

use condyle::solve::Limits;
use condyle_gltf::{Asset, Skinning};
use image::{RgbImage, imageops};

use super::artist::Artist;
use super::difference::Greatest;
use super::marks::Marks;
use super::outline::Seen;
use super::overlay;
use super::picture::{Format, Movie};
use super::solid::Solid;
use super::stage::{Bounds, Camera, Ground, View};
use crate::failure::Failure;
use crate::model::document::too_large;
use crate::model::playable::Playable;
use crate::output::progress;

/// Width and height in pixels.
pub(crate) type Size = [u32; 2];

/// The default number of frames per second: each lasts a whole number of hundredths, the unit of GIF.
pub(crate) const FPS: f64 = 25.0;
/// How many moments of a clip are posed to find its bounds.
const BOUNDS_SAMPLES: u16 = 24;

/// `count` evenly spaced moments of a clip. The end is left out: in a clip that loops it equals the start.
pub(crate) fn evenly(clip: Option<&Playable<'_>>, count: usize) -> Vec<f32> {
    let (start, end) = clip.map_or((0.0, 0.0), |c| (c.start(), c.end()));
    (0..count).map(|i| start + (end - start) * (i as f32 / count as f32)).collect()
}

/// The columns of a contact sheet: up to eight, with rows as equal as possible.
pub(crate) fn columns(count: u32) -> u32 {
    count.div_ceil(count.div_ceil(8))
}

/// How a pose is drawn.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub view: View,
    pub size: Size,
    pub skeleton: bool,
}

/// The camera of a clip, or one camera per frame of a turntable, and the ground.
pub(crate) struct Shot {
    cameras: Vec<Camera>,
    ground: Ground,
    look: Look,
}

/// An asset to draw.
pub(crate) struct Scene<'a> {
    name: &'a str,
    artist: Artist<'a>,
    marks: Option<&'a Marks<'a>>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(asset: &'a Asset) -> Result<Self, Failure> {
        Self::skinned(asset, &[Skinning::Linear])
    }

    /// Posed in this way, or in two that are compared.
    pub(crate) fn skinned(asset: &'a Asset, skinnings: &[Skinning]) -> Result<Self, Failure> {
        let name = asset.document.name();
        let artist = Artist::new(asset, skinnings).map_err(|e| too_large(name, &e))?;
        Ok(Self { name, artist, marks: None })
    }

    /// Draws these marks over each picture from now on.
    pub(crate) fn mark(&mut self, marks: &'a Marks<'a>) {
        self.marks = Some(marks);
    }

    /// Draws these beside the asset from now on.
    pub(crate) fn set_solids(&mut self, solids: Vec<Solid>) {
        self.artist.set_solids(solids);
    }

    /// Limits of joints, which are drawn where the skeleton is.
    pub(crate) fn set_limits(&mut self, limits: Option<Limits>) {
        self.artist.set_limits(limits);
    }

    /// Draws the outline too from now on. Returns how many edges of the meshes are open.
    pub(crate) fn set_outline(&mut self, seen: Seen) -> usize {
        self.artist.set_outline(seen)
    }

    /// The images of the asset that cannot be drawn, and why.
    pub(crate) fn problems(&self) -> &[String] {
        self.artist.problems()
    }

    /// How far the two ways of skinning are apart at the moments that will be drawn.
    pub(crate) fn compare(
        &mut self,
        clip: Option<&Playable<'_>>,
        moments: &[f32],
    ) -> Result<Greatest, Failure> {
        let name = self.name;
        let failed = |e| Failure::Data(format!("{name}: {e}; look at the keys of the clip"));
        self.artist.compare(clip, moments).map_err(failed)
    }

    /// The size of a picture: as many panels as there are, side by side.
    fn whole(&self, [width, height]: Size) -> Size {
        [width * self.artist.panels().len() as u32, height]
    }

    /// Places the camera so that it sees the whole clip: once, or for each of the `turns` of a turntable.
    pub(crate) fn frame(
        &mut self,
        clip: Option<&Playable<'_>>,
        look: &Look,
        turns: usize,
    ) -> Result<Shot, Failure> {
        let [width, height] = look.size.map(|n| n as usize);
        // Bounds from every side that the camera looks from; more than 32 would change nothing visible.
        let sides = turns.min(32);
        let around = |i: usize, of: usize| View {
            yaw: look.view.yaw + core::f32::consts::TAU * i as f32 / of as f32,
            ..look.view
        };
        let mut bounds: Vec<Bounds> =
            (0..sides).map(|i| Bounds::new(around(i, sides), width, height)).collect();
        let measures = if clip.is_some() { BOUNDS_SAMPLES } else { 0 };
        for i in 0..=measures {
            let share = f32::from(i) / f32::from(measures.max(1));
            let seconds = clip.map_or(0.0, |c| c.start() + (c.end() - c.start()) * share);
            self.pose(clip, seconds)?;
            let marks = self.marks.map_or(vec![], |marks| marks(seconds, self.artist.model()));
            for bounds in &mut bounds {
                self.artist.measure(bounds);
                marks.iter().for_each(|mark| bounds.add(&mark.places()));
            }
        }
        if !bounds[0].is_usable() {
            return Err(Failure::Data(format!(
                "{}: nothing can be drawn: it has no triangles and no joints, or they are too far away; \
                 `condyle info` shows what it holds",
                self.name
            )));
        }
        let ground = Ground::new(&bounds[0]);
        let cameras = if turns == 1 {
            vec![bounds[0].camera(width, height)]
        } else {
            let round = Bounds::around(&bounds);
            (0..turns).map(|i| round.facing(around(i, turns)).camera(width, height)).collect()
        };
        Ok(Shot { cameras, ground, look: *look })
    }

    fn pose(&mut self, clip: Option<&Playable<'_>>, seconds: f32) -> Result<(), Failure> {
        self.artist
            .pose(clip, seconds)
            .map_err(|e| Failure::Data(format!("{}: at {seconds} s {e}; look at its keys there", self.name)))
    }

    /// Draws one moment. `turn` is the index of the camera on a turntable.
    pub(crate) fn draw(
        &mut self,
        clip: Option<&Playable<'_>>,
        seconds: f32,
        shot: &Shot,
        turn: usize,
    ) -> Result<RgbImage, Failure> {
        self.pose(clip, seconds)?;
        let camera = &shot.cameras[turn % shot.cameras.len()];
        let marks = self.marks.map_or(vec![], |marks| marks(seconds, self.artist.model()));
        let [width, height] = self.whole(shot.look.size);
        let mut whole = RgbImage::new(width, height);
        for (at, &panel) in self.artist.panels().iter().enumerate() {
            let picture = self.artist.draw(panel, camera, &shot.ground, shot.look.size, shot.look.skeleton);
            let mut picture = picture.ok_or_else(|| {
                Failure::Data(format!(
                    "{}: at {seconds} s its triangles overlap too often; \
                     it has too many large triangles to draw",
                    self.name
                ))
            })?;
            marks.iter().for_each(|mark| mark.draw(&mut picture, camera));
            imageops::replace(&mut whole, &picture, (at as u32 * shot.look.size[0]).into(), 0);
        }
        Ok(whole)
    }

    /// Draws a contact sheet: each moment is labelled with its time, the first with the name too.
    pub(crate) fn row(
        &mut self,
        clip: Option<&Playable<'_>>,
        name: &str,
        moments: &[f32],
        look: &Look,
    ) -> Result<RgbImage, Failure> {
        let shot = self.frame(clip, look, 1)?;
        let [width, height] = self.whole(look.size);
        let columns = if self.artist.panels().len() > 1 { 1 } else { columns(moments.len() as u32) };
        let mut sheet = RgbImage::new(width * columns, height * (moments.len() as u32).div_ceil(columns));
        let scale = (look.size[0].min(height) / 240).max(1);
        let bar = progress(moments.len(), "drawing");
        for (i, &seconds) in moments.iter().enumerate() {
            let mut cell = self.draw(clip, seconds, &shot, 0)?;
            let margin = 4 * scale;
            let line = height.saturating_sub(overlay::LINE * scale + margin / 2);
            let room = look.size[0].saturating_sub(2 * margin) / scale;
            let words = overlay::fitting(if i == 0 { name } else { "" }, &format!("{seconds:.2} s"), room);
            overlay::label(&mut cell, [margin, line], scale, &words, [52, 58, 68]);
            let i = i as u32;
            imageops::replace(&mut sheet, &cell, (i % columns * width).into(), (i / columns * height).into());
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(sheet)
    }

    /// Draws an animation and encodes it; a turntable has `turns` steps.
    pub(crate) fn movie(
        &mut self,
        format: Format,
        clip: Option<&Playable<'_>>,
        moments: &[f32],
        fps: f64,
        look: &Look,
        turns: usize,
    ) -> Result<Vec<u8>, Failure> {
        let shot = self.frame(clip, look, turns)?;
        // The palette of a GIF comes before its first frame.
        let examples = if format == Format::Gif { 6.min(moments.len()) } else { 0 };
        let mut seen = Vec::new();
        for i in 0..examples {
            let at = i * moments.len() / examples;
            seen.push(self.draw(clip, moments[at], &shot, at)?);
        }
        let mut movie = Movie::new(format, self.whole(look.size).into(), &seen)?;
        drop(seen);
        let bar = progress(moments.len(), "drawing");
        for (i, &seconds) in moments.iter().enumerate() {
            movie.push(&self.draw(clip, seconds, &shot, i)?, 1.0 / fps)?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        movie.finish()
    }
}
