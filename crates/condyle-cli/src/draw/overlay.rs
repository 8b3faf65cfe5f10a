//! Overlays on an image: the lines and dots of a skeleton, and small labels.

use image::{Rgb, RgbImage};

/// Blends a colour into a pixel with an opacity from 0 to 1.
fn mix(picture: &mut RgbImage, x: i64, y: i64, color: [u8; 3], opacity: f32) {
    let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
    if let Some(Rgb(old)) = picture.get_pixel_mut_checked(x, y) {
        for (old, new) in old.iter_mut().zip(color) {
            *old = (f32::from(*old) + (f32::from(new) - f32::from(*old)) * opacity).round() as u8;
        }
    }
}

/// A line that is `from.1` pixels thick (in radius) at one end and `to.1` at the other, with round ends.
pub(crate) fn tapered_line(
    picture: &mut RgbImage,
    from: ([f32; 2], f32),
    to: ([f32; 2], f32),
    color: [u8; 3],
) {
    let ([ax, ay], ra) = from;
    let ([bx, by], rb) = to;
    let (dx, dy) = (bx - ax, by - ay);
    let squared = dx * dx + dy * dy;
    if !squared.is_finite() {
        return;
    }
    let edge = ra.max(rb) + 1.0;
    // Only pixels inside the image, however long the line is.
    let span = |a: f32, b: f32, size: u32| {
        let last = size as f32;
        (a.min(b) - edge).clamp(0.0, last) as i64..(a.max(b) + edge).clamp(0.0, last) as i64
    };
    let columns = span(ax, bx, picture.width());
    for y in span(ay, by, picture.height()) {
        for x in columns.clone() {
            let (px, py) = (x as f32 + 0.5 - ax, y as f32 + 0.5 - ay);
            let t = if squared > 0.0 { ((px * dx + py * dy) / squared).clamp(0.0, 1.0) } else { 0.0 };
            let off = ((px - t * dx).powi(2) + (py - t * dy).powi(2)).sqrt();
            let opacity = (ra + (rb - ra) * t + 0.5 - off).clamp(0.0, 1.0);
            if opacity > 0.0 {
                mix(picture, x, y, color, opacity);
            }
        }
    }
}

/// A disc with a thin dark edge.
pub(crate) fn dot(picture: &mut RgbImage, at: [f32; 2], radius: f32, color: [u8; 3]) {
    tapered_line(picture, (at, radius + 1.0), (at, radius + 1.0), [30, 32, 40]);
    tapered_line(picture, (at, radius), (at, radius), color);
}

/// Height of a line of text at scale one, with its gap.
pub(crate) const LINE: u32 = 9;

/// Writes small text: letters, digits, spaces, `.`, `-` and `_`; a filled block for any other character.
pub(crate) fn label(picture: &mut RgbImage, [left, top]: [u32; 2], scale: u32, text: &str, color: [u8; 3]) {
    for (i, c) in text.chars().enumerate() {
        for (row, bits) in glyph(c.to_ascii_lowercase()).into_iter().enumerate() {
            for column in (0..5).filter(|column| bits >> (4 - column) & 1 == 1) {
                for at in 0..scale * scale {
                    let x = left + (i as u32 * 6 + column) * scale + at % scale;
                    let y = top + row as u32 * scale + at / scale;
                    mix(picture, x.into(), y.into(), color, 1.0);
                }
            }
        }
    }
}

/// Seven rows of five pixels, the leftmost in bit 4.
fn glyph(c: char) -> [u8; 7] {
    match c {
        ' ' => [0; 7],
        '.' => [0, 0, 0, 0, 0, 0b01100, 0b01100],
        '-' => [0, 0, 0, 0b01110, 0, 0, 0],
        '_' => [0, 0, 0, 0, 0, 0, 0b11111],
        '0' => [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
        '1' => [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        '2' => [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111],
        '3' => [0b11110, 0b00001, 0b00001, 0b01110, 0b00001, 0b00001, 0b11110],
        '4' => [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
        '5' => [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
        '6' => [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
        '7' => [0b11111, 0b00001, 0b00010, 0b00100, 0b00100, 0b01000, 0b01000],
        '8' => [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
        '9' => [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
        'a' => [0, 0, 0b01110, 0b00001, 0b01111, 0b10001, 0b01111],
        'b' => [0b10000, 0b10000, 0b11110, 0b10001, 0b10001, 0b10001, 0b11110],
        'c' => [0, 0, 0b01111, 0b10000, 0b10000, 0b10000, 0b01111],
        'd' => [0b00001, 0b00001, 0b01111, 0b10001, 0b10001, 0b10001, 0b01111],
        'e' => [0, 0, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110],
        'f' => [0b00110, 0b01000, 0b11100, 0b01000, 0b01000, 0b01000, 0b01000],
        'g' => [0, 0, 0b01111, 0b10001, 0b01111, 0b00001, 0b01110],
        'h' => [0b10000, 0b10000, 0b11110, 0b10001, 0b10001, 0b10001, 0b10001],
        'i' => [0b00100, 0, 0b01100, 0b00100, 0b00100, 0b00100, 0b01110],
        'j' => [0b00010, 0, 0b00110, 0b00010, 0b00010, 0b10010, 0b01100],
        'k' => [0b10000, 0b10000, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010],
        'l' => [0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        'm' => [0, 0, 0b11010, 0b10101, 0b10101, 0b10101, 0b10101],
        'n' => [0, 0, 0b11110, 0b10001, 0b10001, 0b10001, 0b10001],
        'o' => [0, 0, 0b01110, 0b10001, 0b10001, 0b10001, 0b01110],
        'p' => [0, 0, 0b11110, 0b10001, 0b11110, 0b10000, 0b10000],
        'q' => [0, 0, 0b01111, 0b10001, 0b01111, 0b00001, 0b00001],
        'r' => [0, 0, 0b10110, 0b11000, 0b10000, 0b10000, 0b10000],
        's' => [0, 0, 0b01111, 0b10000, 0b01110, 0b00001, 0b11110],
        't' => [0b01000, 0b01000, 0b11100, 0b01000, 0b01000, 0b01000, 0b00110],
        'u' => [0, 0, 0b10001, 0b10001, 0b10001, 0b10001, 0b01111],
        'v' => [0, 0, 0b10001, 0b10001, 0b10001, 0b01010, 0b00100],
        'w' => [0, 0, 0b10001, 0b10101, 0b10101, 0b10101, 0b01010],
        'x' => [0, 0, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001],
        'y' => [0, 0, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110],
        'z' => [0, 0, 0b11111, 0b00010, 0b00100, 0b01000, 0b11111],
        _ => [0b11111; 7],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_drawn_outside_the_picture() {
        let mut picture = RgbImage::new(8, 8);
        label(&mut picture, [6, 5], 2, "8 x", [255; 3]);
        tapered_line(&mut picture, ([-1e30, 4.0], 1.0), ([1e30, 4.0], 2.0), [255; 3]);
        dot(&mut picture, [f32::NAN, 0.0], 3.0, [255; 3]);
        dot(&mut picture, [0.0, 8.0], 3.0, [255; 3]);
        assert_ne!(picture.get_pixel(0, 7).0, [0; 3]);
    }

    #[test]
    fn every_letter_and_digit_has_its_own_shape() {
        let shapes: std::collections::HashSet<_> =
            (' '..='~').filter(|c| !c.is_ascii_uppercase()).map(glyph).collect();
        assert_eq!(shapes.len(), 26 + 10 + 4 + 1);
    }
}
