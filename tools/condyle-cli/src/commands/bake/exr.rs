//! OpenEXR images with one part and uncompressed scan lines: written here, and read back.
//!
//! Source: *OpenEXR File Layout*, Academy Software Foundation. A file has a header of named attributes, the
//! offsets of the lines, then the lines. Each line has its number, its size in bytes, and for each channel,
//! sorted by name, the values of all pixels.
//!
//! The crate `exr` would add 14 more crates and 23 s of CPU time to the first build, for a hundred lines. It
//! reads these images in a test.

use condyle::Error;

/// Format of the stored numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Depth {
    /// 11 bits of precision, up to 65,504.
    Half,
    Float,
}

impl Depth {
    fn bytes(self) -> usize {
        match self {
            Self::Half => 2,
            Self::Float => 4,
        }
    }
}

const MAGIC: [u8; 4] = [0x76, 0x2f, 0x31, 0x01];
/// Version 2, a single part of scan lines.
const VERSION: [u8; 4] = [2, 0, 0, 0];
/// Channel names in file order, with the index of each in a pixel.
const CHANNELS: [(&str, usize); 4] = [("A", 3), ("B", 2), ("G", 1), ("R", 0)];

/// Encodes an image with `N` channels: red, green, blue and optionally alpha, top line first. `pixels` has
/// `width` times height elements.
pub(super) fn write<const N: usize>(width: usize, pixels: &[[f32; N]], depth: Depth) -> Vec<u8> {
    let height = pixels.len() / width;
    let channels = || CHANNELS.iter().filter(|(_, channel)| *channel < N);
    let mut out = [MAGIC, VERSION].concat();
    let mut list = Vec::new();
    for (name, _) in channels() {
        let kind: u32 = if depth == Depth::Half { 1 } else { 2 };
        list.extend_from_slice(name.as_bytes());
        list.push(0);
        // The number format, linear values, and one sample per pixel in both directions.
        [kind, 1, 1, 1].iter().for_each(|word| list.extend_from_slice(&word.to_le_bytes()));
    }
    list.push(0);
    let window: Vec<u8> =
        [0, 0, width as u32 - 1, height as u32 - 1].iter().flat_map(|corner| corner.to_le_bytes()).collect();
    attribute(&mut out, "channels", "chlist", &list);
    attribute(&mut out, "compression", "compression", &[0]);
    attribute(&mut out, "dataWindow", "box2i", &window);
    attribute(&mut out, "displayWindow", "box2i", &window);
    attribute(&mut out, "lineOrder", "lineOrder", &[0]);
    attribute(&mut out, "pixelAspectRatio", "float", &1_f32.to_le_bytes());
    attribute(&mut out, "screenWindowCenter", "v2f", &[0; 8]);
    attribute(&mut out, "screenWindowWidth", "float", &1_f32.to_le_bytes());
    out.push(0);
    let size = width * N * depth.bytes();
    let first = out.len() + 8 * height;
    out.reserve_exact(height * (16 + size));
    (0..height).for_each(|line| out.extend_from_slice(&((first + line * (8 + size)) as u64).to_le_bytes()));
    for (line, pixels) in pixels.chunks_exact(width).enumerate() {
        out.extend_from_slice(&(line as u32).to_le_bytes());
        out.extend_from_slice(&(size as u32).to_le_bytes());
        for (_, channel) in channels() {
            for pixel in pixels {
                let number = pixel[*channel];
                match depth {
                    Depth::Half => out.extend_from_slice(&half(number).to_le_bytes()),
                    Depth::Float => out.extend_from_slice(&number.to_le_bytes()),
                }
            }
        }
    }
    out
}

fn attribute(out: &mut Vec<u8>, name: &str, kind: &str, value: &[u8]) {
    for text in [name, kind] {
        out.extend_from_slice(text.as_bytes());
        out.push(0);
    }
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(value);
}

/// Decodes an image that [`write`] has written. Takes the size from the bytes, not from the caller.
pub(super) fn read<const N: usize>(bytes: &[u8]) -> Result<Vec<[f32; N]>, Error> {
    let mut rest = Bytes(bytes);
    if rest.take(8)? != [MAGIC, VERSION].concat() {
        return Err(Error::Magic { what: "an OpenEXR image" });
    }
    let (mut kinds, mut window) = (Vec::new(), [0; 4]);
    loop {
        let name = rest.text()?;
        if name.is_empty() {
            break;
        }
        rest.text()?;
        let length = rest.word()? as usize;
        let mut value = Bytes(rest.take(length)?);
        match name {
            b"channels" => {
                while value.0.len() > 1 {
                    let channel = value.text()?;
                    let known = CHANNELS.iter().find(|(name, _)| name.as_bytes() == channel);
                    kinds.push((known.map_or(N, |(_, at)| *at), value.word()?));
                    value.take(12)?;
                }
            }
            b"dataWindow" => {
                for corner in &mut window {
                    *corner = value.word()? as usize;
                }
            }
            _ => {}
        }
    }
    let [left, top, right, bottom] = window;
    let (width, height) = (right + 1 - left, bottom + 1 - top);
    rest.take(8 * height)?;
    let mut pixels = vec![[0.0; N]; width * height];
    for _ in 0..height {
        let line = rest.word()? as usize;
        rest.word()?;
        let line = pixels.chunks_exact_mut(width).nth(line).unwrap_or(&mut []);
        for &(channel, kind) in &kinds {
            let depth = if kind == 1 { Depth::Half } else { Depth::Float };
            let numbers = rest.take(width * depth.bytes())?.chunks_exact(depth.bytes());
            for (pixel, number) in line.iter_mut().zip(numbers) {
                let number = match *number {
                    [a, b] => from_half(u16::from_le_bytes([a, b])),
                    [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
                    _ => 0.0,
                };
                pixel.get_mut(channel).into_iter().for_each(|to| *to = number);
            }
        }
    }
    Ok(pixels)
}

/// Bytes not yet read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let found = self.0.len();
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Error::Truncated {
            what: "an OpenEXR image",
            found,
            needed: count,
        })?;
        self.0 = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, Error> {
        Ok(self.take(4)?.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)))
    }

    /// Reads up to a zero byte, which is skipped.
    fn text(&mut self) -> Result<&'a [u8], Error> {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }
}

/// Rounds to the nearest 16-bit float, ties to even (IEEE 754 binary16).
fn half(value: f32) -> u16 {
    let sign = ((value.to_bits() >> 16) & 0x8000) as u16;
    let size = value.abs();
    let magnitude = if size.is_nan() {
        0x7e00
    } else if size >= 65520.0 {
        0x7c00
    } else if size < 2_f32.powi(-14) {
        // Subnormals are multiples of 2^-24. Adding 0.5 moves them to the last bits of the sum, rounded as
        // f32 rounds.
        (size + 0.5).to_bits() - 0.5_f32.to_bits()
    } else {
        // Drops 13 bits and changes the exponent bias.
        let bits = size.to_bits() - (112 << 23);
        (bits + 0xfff + (bits >> 13 & 1)) >> 13
    };
    sign | magnitude as u16
}

fn from_half(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff);
    let size = match magnitude {
        0..0x400 => magnitude as f32 * 2_f32.powi(-24),
        0x400..0x7c00 => f32::from_bits((magnitude << 13) + (112 << 23)),
        0x7c00 => f32::INFINITY,
        _ => f32::NAN,
    };
    if bits & 0x8000 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ::exr::prelude::{FlatSamples, ReadChannels as _, ReadLayers as _, Vec2};

    use super::*;

    #[test]
    fn every_half_comes_back() {
        for bits in 0..=u16::MAX {
            let value = from_half(bits);
            assert!(value.is_nan() || half(value) == bits, "{bits:#06x}: {value}");
        }
        for (value, bits) in [
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.9, 0x7bff),
            (65520.0, 0x7c00),
            (f32::MAX, 0x7c00),
            (f32::NAN, 0x7e00),
            // Ties round to even, down and up.
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (2_f32.powi(-25), 0x0000),
            (1.5 * 2_f32.powi(-24), 0x0002),
            (2_f32.powi(-14), 0x0400),
            (2_f32.powi(-14) - 2_f32.powi(-26), 0x0400),
        ] {
            assert_eq!(half(value), bits, "{value}");
        }
    }

    #[test]
    fn halves_are_the_nearest() {
        for step in 0..200_000_u32 {
            let value = f32::from_bits(0x3000_0000 + step * 7919);
            let own = f64::from(from_half(half(value)));
            let near = [half(value).wrapping_sub(1), half(value) + 1].map(|bits| f64::from(from_half(bits)));
            let off = |other: f64| (other - f64::from(value)).abs();
            assert!(near.iter().all(|other| !other.is_finite() || off(own) <= off(*other)), "{value}");
            if value > 60000.0 {
                break;
            }
        }
    }

    #[test]
    fn images_are_read_back() {
        let pixels: Vec<[f32; 4]> =
            (0..6).map(|at| [0.0, 1.0, 2.0, 3.0].map(|c: f32| c + 10.0 * at as f32 - 25.5)).collect();
        for depth in [Depth::Half, Depth::Float] {
            let bytes = write(3, &pixels, depth);
            assert_eq!(read::<4>(&bytes), Ok(pixels.clone()), "{depth:?}");
            for length in 0..bytes.len() {
                assert!(read::<4>(&bytes[..length]).is_err(), "{depth:?}, {length} bytes");
            }
        }
        let rgb = [[f32::MIN_POSITIVE, -0.1, 1e30]];
        assert_eq!(read::<3>(&write(1, &rgb, Depth::Float)), Ok(rgb.to_vec()));
    }

    /// The crate `exr` was written independently from the specification, so it finds an error that this file
    /// makes in both directions.
    #[test]
    fn others_read_them() {
        fn pixels<const N: usize>(width: usize, count: usize) -> Vec<[f32; N]> {
            assert_eq!(count % width, 0);
            (0..count).map(|at| std::array::from_fn(|c| 0.5 * at as f32 - 100.0 * c as f32 + 0.25)).collect()
        }
        fn check<const N: usize>(depth: Depth) {
            let pixels = pixels::<N>(5, 15);
            let bytes = write(5, &pixels, depth);
            let image = ::exr::prelude::read()
                .no_deep_data()
                .largest_resolution_level()
                .all_channels()
                .first_valid_layer();
            let image = image.all_attributes().from_buffered(Cursor::new(bytes)).expect("an image");
            let layer = image.layer_data;
            assert_eq!((layer.size, layer.channel_data.list.len()), (Vec2(5, 3), N));
            for channel in &layer.channel_data.list {
                let name = channel.name.to_string();
                let at = ["R", "G", "B", "A"].iter().position(|known| **known == name).expect("a colour");
                assert!(channel.quantize_linearly && channel.sampling == Vec2(1, 1), "{name}");
                let is_half = matches!(channel.sample_data, FlatSamples::F16(_));
                assert_eq!(is_half, depth == Depth::Half, "{name}");
                let found: Vec<f32> = channel.sample_data.values_as_f32().collect();
                assert_eq!(
                    found,
                    pixels.iter().map(|pixel| pixel[at]).collect::<Vec<_>>(),
                    "{name} {depth:?}"
                );
            }
        }
        for depth in [Depth::Half, Depth::Float] {
            check::<3>(depth);
            check::<4>(depth);
        }
    }
}
