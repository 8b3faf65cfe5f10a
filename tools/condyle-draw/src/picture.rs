//! Image files (PNG, GIF and WebP), and animations as GIF and WebP.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, Rgb, RgbImage};

use crate::Error;

/// The format of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Still image, lossless.
    Png,
    /// Still image or animation, in 255 colours.
    Gif,
    /// Still image or animation, lossless.
    WebP,
}

impl Format {
    /// Returns the format for the extension of a file name, in any case; `None` if it is not `png`, `gif` or
    /// `webp`.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "png" => Some(Self::Png),
            "gif" => Some(Self::Gif),
            "webp" => Some(Self::WebP),
            _ => None,
        }
    }
}

/// Encodes one image as a file.
///
/// # Errors
/// [`Error::Picture`] if the image has no pixels, or too many for the format.
pub fn still(format: Format, picture: &RgbImage) -> Result<Vec<u8>, Error> {
    if picture.is_empty() {
        return Err(unwritable(&"it has no pixels"));
    }
    match format {
        Format::Png => {
            let mut bytes = Vec::new();
            let encoder =
                PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, FilterType::Adaptive);
            let (width, height) = picture.dimensions();
            encoder
                .write_image(picture.as_raw(), width, height, ExtendedColorType::Rgb8)
                .map_err(|e| unwritable(&e))?;
            Ok(bytes)
        }
        Format::WebP => webp(picture),
        Format::Gif => {
            let mut movie = Movie::new(format, picture.dimensions(), std::slice::from_ref(picture))?;
            movie.push(picture, 0.0)?;
            movie.finish()
        }
    }
}

fn unwritable(error: &dyn std::fmt::Display) -> Error {
    Error::Picture(format!("the image cannot be encoded: {error}"))
}

/// An animation that loops. Only the rectangle that changes between frames is stored.
pub struct Movie {
    coder: Coder,
    size: (u32, u32),
    last: Option<RgbImage>,
    /// Duration so far, in seconds.
    time: f64,
}

enum Coder {
    Gif { encoder: gif::Encoder<Vec<u8>>, palette: Palette },
    WebP { frames: Vec<u8> },
}

impl Movie {
    /// Starts an animation with frames of one size in pixels; `examples` are frames from which the palette of
    /// a GIF is chosen.
    ///
    /// # Errors
    /// [`Error::Picture`] if the format has no animations, or the frames have too many pixels for it.
    pub fn new(format: Format, size: (u32, u32), examples: &[RgbImage]) -> Result<Self, Error> {
        let most = if format == Format::WebP { 16_383 } else { u16::MAX };
        let side = |n: u32| {
            let unfit = || unwritable(&format!("{n} pixels on a side, and the format supports 1 to {most}"));
            u16::try_from(n).ok().filter(|n| (1..=most).contains(n)).ok_or_else(unfit)
        };
        let (width, height) = (side(size.0)?, side(size.1)?);
        let coder = match format {
            Format::Gif => {
                let palette = Palette::new(examples);
                let mut encoder = gif::Encoder::new(Vec::new(), width, height, &palette.colors)
                    .map_err(|e| unwritable(&e))?;
                encoder.set_repeat(gif::Repeat::Infinite).map_err(|e| unwritable(&e))?;
                Coder::Gif { encoder, palette }
            }
            Format::WebP => Coder::WebP { frames: Vec::new() },
            Format::Png => return Err(unwritable(&"a PNG does not move")),
        };
        Ok(Self { coder, size, last: None, time: 0.0 })
    }

    /// Adds a frame that is shown for `seconds`.
    ///
    /// # Errors
    /// The errors of [`Movie::new`].
    pub fn push(&mut self, frame: &RgbImage, seconds: f64) -> Result<(), Error> {
        if frame.dimensions() != self.size {
            let ((wide, high), (own_wide, own_high)) = (frame.dimensions(), self.size);
            let what = format!("a frame of {wide}x{high} pixels among those of {own_wide}x{own_high}");
            return Err(unwritable(&what));
        }
        let end = self.time + seconds;
        // Times are rounded, not durations, so that rounding errors do not add up.
        let ticks = |per_second: f64| (end * per_second).round() - (self.time * per_second).round();
        let (per_second, most) = match self.coder {
            Coder::Gif { .. } => (100.0, f64::from(u16::MAX)),
            Coder::WebP { .. } => (1000.0, f64::from((1 << 24) - 1)),
        };
        let ticks = ticks(per_second);
        if !(0.0..=most).contains(&ticks) {
            return Err(unwritable(&format!("a frame lasts at most {} s", most / per_second)));
        }
        let [x, y, width, height] = match &self.last {
            Some(last) => changed(last, frame),
            None => [0, 0, self.size.0, self.size.1],
        };
        match &mut self.coder {
            Coder::Gif { encoder, palette } => {
                let last = self.last.as_ref();
                let buffer = palette.indices(frame, last, [x, y, width, height]);
                let [left, top, width, height] = [x, y, width, height].map(|n| n as u16);
                let still = gif::Frame {
                    delay: ticks as u16,
                    transparent: Some(Palette::CLEAR),
                    dispose: gif::DisposalMethod::Keep,
                    left,
                    top,
                    width,
                    height,
                    buffer: Cow::Owned(buffer),
                    ..gif::Frame::default()
                };
                encoder.write_frame(&still).map_err(|e| unwritable(&e))?;
            }
            Coder::WebP { frames } => {
                let piece = image::imageops::crop_imm(frame, x, y, width, height).to_image();
                let file = webp(&piece)?;
                let image = file.get(12..).unwrap_or_default();
                let three = |n: u32| n.to_le_bytes()[..3].to_vec();
                let mut chunk = Vec::new();
                for n in [x / 2, y / 2, width - 1, height - 1, ticks as u32] {
                    chunk.extend(three(n));
                }
                // Do not blend with the frame before, and do not clear afterwards.
                chunk.push(0b10);
                chunk.extend(image);
                push_chunk(frames, b"ANMF", &chunk);
            }
        }
        self.last = Some(frame.clone());
        self.time = end;
        Ok(())
    }

    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// [`Error::Picture`] if the encoder fails.
    pub fn finish(self) -> Result<Vec<u8>, Error> {
        match self.coder {
            Coder::Gif { encoder, .. } => encoder.into_inner().map_err(|e| unwritable(&e)),
            Coder::WebP { frames } => {
                // WebP Container Specification, "Extended File Format": the animation flag, the size less
                // one.
                let mut body = b"WEBP".to_vec();
                let mut header = vec![0b10, 0, 0, 0];
                for side in [self.size.0, self.size.1] {
                    header.extend(&(side - 1).to_le_bytes()[..3]);
                }
                push_chunk(&mut body, b"VP8X", &header);
                // A white background, and 0 loops, which means forever.
                push_chunk(&mut body, b"ANIM", &[255, 255, 255, 255, 0, 0]);
                body.extend(frames);
                let mut file = Vec::with_capacity(body.len() + 8);
                push_chunk(&mut file, b"RIFF", &body);
                Ok(file)
            }
        }
    }
}

/// Encodes a lossless WebP file of one picture.
fn webp(picture: &RgbImage) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let (width, height) = picture.dimensions();
    image_webp::WebPEncoder::new(&mut bytes)
        .encode(picture.as_raw(), width, height, image_webp::ColorType::Rgb8)
        .map_err(|e| unwritable(&e))?;
    Ok(bytes)
}

/// A RIFF chunk: name, length, bytes, padded to an even length.
fn push_chunk(out: &mut Vec<u8>, name: &[u8; 4], bytes: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
    if bytes.len() % 2 == 1 {
        out.push(0);
    }
}

/// Returns the smallest box `[x, y, width, height]` around the pixels that differ, at even offsets, as WebP
/// requires.
fn changed(a: &RgbImage, b: &RgbImage) -> [u32; 4] {
    let differs = a.enumerate_pixels().zip(b.pixels()).filter(|((_, _, a), b)| a != b);
    let found = differs.fold(None, |area: Option<[u32; 4]>, ((x, y, _), _)| {
        let [left, top, right, low] = area.unwrap_or([x, y, x, y]);
        Some([left.min(x), top.min(y), right.max(x), low.max(y)])
    });
    let [left, top, right, low] = found.unwrap_or_default();
    let (left, top) = (left / 2 * 2, top / 2 * 2);
    [left, top, right - left + 1, low - top + 1]
}

/// Palette of a GIF: 255 colours, the same for all frames so that nothing flickers, and a transparent one.
struct Palette {
    colors: Vec<u8>,
    known: HashMap<[u8; 3], u8>,
}

/// Colours that share an entry of the palette, each with its number of pixels.
struct Group {
    colors: Vec<([u8; 3], u32)>,
    mean: [f64; 3],
    /// The channel that varies most, and the sum of its squared differences from the mean.
    worst: (usize, f64),
}

impl Group {
    fn new(colors: Vec<([u8; 3], u32)>) -> Self {
        let count: f64 = colors.iter().map(|c| f64::from(c.1)).sum();
        let sum = |of: &dyn Fn([u8; 3]) -> f64| colors.iter().map(|c| of(c.0) * f64::from(c.1)).sum::<f64>();
        let mean = core::array::from_fn(|k| sum(&|c| f64::from(c[k])) / count.max(1.0));
        let error = |k: usize| sum(&|c| (f64::from(c[k]) - mean[k]).powi(2));
        let worst = (0..3).map(|k| (k, error(k))).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default();
        Self { colors, mean, worst }
    }

    /// Splits at the mean of the channel that varies most.
    fn split(self) -> [Self; 2] {
        let (channel, mean) = (self.worst.0, self.mean[self.worst.0]);
        let (low, high) = self.colors.into_iter().partition(|c| f64::from(c.0[channel]) <= mean);
        [Self::new(low), Self::new(high)]
    }
}

/// Bayer's pattern for ordered dithering, which avoids bands in soft gradients.
const DITHER: [[i16; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];

impl Palette {
    const CLEAR: u8 = 255;

    fn new(examples: &[RgbImage]) -> Self {
        // A few hundred thousand pixels are a large enough sample.
        let total: usize = examples.iter().map(|e| e.pixels().len()).sum();
        let step = total / 300_000 + 1;
        let mut counts: HashMap<[u8; 3], u32> = HashMap::new();
        for pixel in examples.iter().flat_map(|e| e.pixels()).step_by(step) {
            *counts.entry(pixel.0).or_default() += 1;
        }
        let mut all: Vec<_> = counts.into_iter().collect();
        all.sort_unstable();
        let mut groups = vec![Group::new(all)];
        while groups.len() < usize::from(Self::CLEAR) {
            let errors = groups.iter().map(|g| g.worst.1).enumerate();
            let Some((largest, error)) = errors.max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
            if error == 0.0 {
                break;
            }
            let group = groups.swap_remove(largest);
            groups.extend(group.split());
        }
        let mut colors: Vec<u8> = groups.iter().flat_map(|g| g.mean.map(|c| c.round() as u8)).collect();
        colors.resize(3 * 256, 0);
        Self { colors, known: HashMap::new() }
    }

    fn nearest(colors: &[u8], wanted: [u8; 3]) -> u8 {
        let distance = |color: &[u8]| -> u32 {
            color.iter().zip(wanted).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
        };
        let usable = colors.chunks_exact(3).take(usize::from(Self::CLEAR));
        usable.enumerate().min_by_key(|c| distance(c.1)).map_or(0, |c| c.0 as u8)
    }

    /// Returns the palette indices of a part of a frame; transparent where it equals the previous frame.
    fn indices(
        &mut self,
        frame: &RgbImage,
        last: Option<&RgbImage>,
        [x, y, width, height]: [u32; 4],
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(width as usize * height as usize);
        for row in y..y + height {
            for column in x..x + width {
                let pixel = frame.get_pixel(column, row);
                if last.is_some_and(|last| last.get_pixel(column, row) == pixel) {
                    out.push(Self::CLEAR);
                    continue;
                }
                let Rgb(color) = *pixel;
                let shift = (DITHER[row as usize % 4][column as usize % 4] - 7) / 3;
                let color = color.map(|c| (i16::from(c) + shift).clamp(0, 255) as u8);
                let colors = &self.colors;
                let index = *self.known.entry(color).or_insert_with(|| Self::nearest(colors, color));
                out.push(index);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::AnimationDecoder;

    use super::*;

    /// Returns a frame with a dark square that moves over a shaded ground.
    fn frame(i: u32) -> RgbImage {
        RgbImage::from_fn(61, 47, |x, y| {
            let inside = (5 + 7 * i..15 + 7 * i).contains(&x) && (11 + i..20).contains(&y);
            Rgb(if inside { [200, 10, 20] } else { [(x * 2) as u8, 120, (y * 3) as u8] })
        })
    }

    #[test]
    fn stills_decode_to_the_same_pixels() {
        for (format, kind) in
            [(Format::Png, image::ImageFormat::Png), (Format::WebP, image::ImageFormat::WebP)]
        {
            let bytes = still(format, &frame(1)).unwrap();
            let back = image::load_from_memory_with_format(&bytes, kind).unwrap().into_rgb8();
            assert!(back == frame(1), "{format:?}");
        }
    }

    fn movie(format: Format) -> Vec<u8> {
        let frames: Vec<RgbImage> = [0, 1, 1, 4].into_iter().map(frame).collect();
        let mut movie = Movie::new(format, (61, 47), &frames).unwrap();
        frames.iter().for_each(|f| movie.push(f, 1.0 / 30.0).unwrap());
        movie.finish().unwrap()
    }

    #[test]
    fn a_moving_webp_decodes_to_the_same_frames_and_times() {
        let bytes = movie(Format::WebP);
        let mut decoder = image_webp::WebPDecoder::new(Cursor::new(&bytes)).unwrap();
        assert_eq!((decoder.dimensions(), decoder.num_frames()), ((61, 47), 4));
        assert_eq!(decoder.loop_count(), image_webp::LoopCount::Forever);
        let channels = if decoder.has_alpha() { 4 } else { 3 };
        let mut pixels = vec![0; 61 * 47 * channels];
        for (i, time) in [(0, 33), (1, 34), (1, 33), (4, 33)] {
            assert_eq!(decoder.read_frame(&mut pixels).unwrap(), time);
            let rgb: Vec<u8> = pixels.chunks(channels).flat_map(|p| [p[0], p[1], p[2]]).collect();
            assert!(rgb == *frame(i).as_raw(), "frame {i}");
        }
    }

    #[test]
    fn a_moving_gif_decodes_to_nearly_the_same_frames() {
        let bytes = movie(Format::Gif);
        let decoder = image::codecs::gif::GifDecoder::new(Cursor::new(&bytes)).unwrap();
        let frames = decoder.into_frames().collect_frames().unwrap();
        assert_eq!(frames.len(), 4);
        for (found, i) in frames.iter().zip([0, 1, 1, 4]) {
            let error = |(a, b): (&image::Rgba<u8>, &Rgb<u8>)| -> u32 {
                (0..3).map(|k| u32::from(a.0[k].abs_diff(b.0[k]))).sum()
            };
            let want = frame(i);
            let total: u32 = found.buffer().pixels().zip(want.pixels()).map(error).sum();
            assert!(total < 8 * 61 * 47, "frame {i}: {total}");
            let [r, g, b, _] = found.buffer().get_pixel(9 + 7 * i, 17).0;
            assert!(r > 140 && g < 80 && b < 80, "frame {i}: the square is {r} {g} {b}");
        }
        let centiseconds: u32 = frames.iter().map(|f| f.delay().numer_denom_ms().0 / 10).sum();
        assert_eq!(centiseconds, 13);
    }

    #[test]
    fn frames_have_one_size() {
        let mut movie = Movie::new(Format::WebP, (61, 47), &[]).unwrap();
        movie.push(&frame(0), 0.1).unwrap();
        assert!(movie.push(&RgbImage::new(61, 46), 0.1).is_err());
        for (format, size) in [(Format::Gif, (0, 4)), (Format::Gif, (4, 70_000)), (Format::Png, (4, 4))] {
            assert!(Movie::new(format, size, &[]).is_err(), "{format:?} {size:?}");
        }
        for format in [Format::Png, Format::Gif, Format::WebP] {
            assert!(still(format, &RgbImage::new(0, 0)).is_err(), "{format:?}");
        }
    }

    #[test]
    fn endings_decide_and_others_are_refused() {
        assert_eq!(Format::of("a.b/C.PNG".as_ref()), Some(Format::Png));
        for name in ["a", "a.jpg", "png"] {
            assert_eq!(Format::of(name.as_ref()), None, "{name}");
        }
    }
}
