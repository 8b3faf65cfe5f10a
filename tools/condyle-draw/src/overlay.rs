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

/// A round end of a line, in pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineEnd {
    pub(crate) at: [f32; 2],
    pub(crate) radius: f32,
}

impl LineEnd {
    pub(crate) fn new(at: [f32; 2], radius: f32) -> Self {
        Self { at, radius }
    }
}

/// Draws a line with round ends.
pub(crate) fn tapered_line(picture: &mut RgbImage, from: LineEnd, to: LineEnd, color: [u8; 3]) {
    let LineEnd { at: [ax, ay], radius: ra } = from;
    let LineEnd { at: [bx, by], radius: rb } = to;
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

/// Fills a triangle: all pixels whose centre is inside, so that triangles with a common edge share no pixel.
pub(crate) fn fill(picture: &mut RgbImage, corners: [[f32; 2]; 3], color: [u8; 3], opacity: f32) {
    let range = |k: usize, size: u32| {
        let (least, most) =
            corners.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), c| (a.min(c[k]), b.max(c[k])));
        least.clamp(0.0, size as f32) as i64..most.clamp(-1.0, size as f32) as i64 + 1
    };
    let columns = range(0, picture.width());
    for y in range(1, picture.height()) {
        let at = y as f32 + 0.5;
        // Positions where the row through the pixel centres enters and leaves the triangle.
        let crossings: Vec<f32> = (0..3)
            .filter_map(|i| {
                let ([ax, ay], [bx, by]) = (corners[i], corners[(i + 1) % 3]);
                ((ay > at) != (by > at)).then(|| ax + (at - ay) / (by - ay) * (bx - ax))
            })
            .collect();
        let [a, b] = crossings[..] else { continue };
        let (from, to) = (a.min(b), a.max(b));
        for x in columns.clone().filter(|&x| (from..to).contains(&(x as f32 + 0.5))) {
            mix(picture, x, y, color, opacity);
        }
    }
}

/// A disc with a thin dark edge.
pub(crate) fn dot(picture: &mut RgbImage, at: [f32; 2], radius: f32, color: [u8; 3]) {
    let [outer, inner] = [LineEnd::new(at, radius + 1.0), LineEnd::new(at, radius)];
    tapered_line(picture, outer, outer, [30, 32, 40]);
    tapered_line(picture, inner, inner, color);
}

/// Height of a line of text at scale one, with its gap.
pub(crate) const LINE: u32 = 9;
/// Width of a character at scale one, with its gap.
const ADVANCE: u32 = 6;

/// Fits a name and a text into `width` pixels at scale one. A long name is cut short with an ellipsis, or
/// left out if no letter fits. If the text alone is too long, the result is empty.
pub(crate) fn fitting(name: &str, text: &str, width: u32) -> String {
    let room = (width / ADVANCE) as usize;
    let (long, needed) = (name.chars().count(), text.chars().count());
    match room.checked_sub(needed) {
        None => String::new(),
        Some(left) if long > 0 && long < left => format!("{name} {text}"),
        // Room for a letter, the ellipsis and a space.
        Some(left @ 3..) if long > 0 => {
            let start: String = name.chars().take(left - 2).collect();
            format!("{}\u{2026} {text}", start.trim_end())
        }
        Some(_) => text.into(),
    }
}

/// Writes small text: printable ASCII and the ellipsis; a filled block for any other character.
pub(crate) fn label(picture: &mut RgbImage, [left, top]: [u32; 2], scale: u32, text: &str, color: [u8; 3]) {
    for (i, c) in text.chars().enumerate() {
        for (row, bits) in rows_of(c).into_iter().enumerate() {
            for column in (0..5).filter(|column| bits >> (4 - column) & 1 == 1) {
                for at in 0..scale * scale {
                    let x = left + (i as u32 * ADVANCE + column) * scale + at % scale;
                    let y = top + row as u32 * scale + at / scale;
                    mix(picture, x.into(), y.into(), color, 1.0);
                }
            }
        }
    }
}

/// Rows of a character: seven above the baseline, two below it.
pub(crate) const ROWS: usize = 9;

/// A character: rows of five pixels, the leftmost pixel in bit 4.
struct Glyph {
    of: char,
    rows: [u8; ROWS],
}

/// A character that stands on the baseline.
const fn glyph(of: char, [a, b, c, d, e, f, g]: [u8; 7]) -> Glyph {
    Glyph { of, rows: [a, b, c, d, e, f, g, 0, 0] }
}

/// A lower-case letter with a descender. Its top is at x-height.
const fn descending(of: char, [c, d, e, f, g, h, i]: [u8; 7]) -> Glyph {
    Glyph { of, rows: [0, 0, c, d, e, f, g, h, i] }
}

/// All characters of labels.
const GLYPHS: [Glyph; 96] = [
    glyph(' ', [0; 7]),
    glyph('.', [0, 0, 0, 0, 0, 0b01100, 0b01100]),
    glyph('-', [0, 0, 0, 0b01110, 0, 0, 0]),
    glyph('_', [0, 0, 0, 0, 0, 0, 0b11111]),
    glyph('!', [0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0, 0b00100]),
    glyph('"', [0b01010, 0b01010, 0, 0, 0, 0, 0]),
    glyph('#', [0b01010, 0b01010, 0b11111, 0b01010, 0b11111, 0b01010, 0b01010]),
    glyph('$', [0b00100, 0b01111, 0b10100, 0b01110, 0b00101, 0b11110, 0b00100]),
    glyph('%', [0b11001, 0b11001, 0b00010, 0b00100, 0b01000, 0b10011, 0b10011]),
    glyph('&', [0b01100, 0b10010, 0b10100, 0b01000, 0b10101, 0b10010, 0b01101]),
    glyph('\'', [0b00100, 0b00100, 0, 0, 0, 0, 0]),
    glyph('(', [0b00010, 0b00100, 0b01000, 0b01000, 0b01000, 0b00100, 0b00010]),
    glyph(')', [0b01000, 0b00100, 0b00010, 0b00010, 0b00010, 0b00100, 0b01000]),
    glyph('*', [0, 0b00100, 0b10101, 0b01110, 0b10101, 0b00100, 0]),
    glyph('+', [0, 0b00100, 0b00100, 0b11111, 0b00100, 0b00100, 0]),
    glyph(',', [0, 0, 0, 0, 0b01100, 0b00100, 0b01000]),
    glyph('/', [0, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0]),
    glyph(':', [0, 0b01100, 0b01100, 0, 0b01100, 0b01100, 0]),
    glyph(';', [0, 0b01100, 0b01100, 0, 0b01100, 0b00100, 0b01000]),
    glyph('<', [0b00010, 0b00100, 0b01000, 0b10000, 0b01000, 0b00100, 0b00010]),
    glyph('=', [0, 0, 0b11111, 0, 0b11111, 0, 0]),
    glyph('>', [0b01000, 0b00100, 0b00010, 0b00001, 0b00010, 0b00100, 0b01000]),
    glyph('?', [0b01110, 0b10001, 0b00001, 0b00010, 0b00100, 0, 0b00100]),
    glyph('@', [0b01110, 0b10001, 0b10111, 0b10101, 0b10111, 0b10000, 0b01110]),
    glyph('[', [0b01110, 0b01000, 0b01000, 0b01000, 0b01000, 0b01000, 0b01110]),
    glyph('\\', [0, 0b10000, 0b01000, 0b00100, 0b00010, 0b00001, 0]),
    glyph(']', [0b01110, 0b00010, 0b00010, 0b00010, 0b00010, 0b00010, 0b01110]),
    glyph('^', [0b00100, 0b01010, 0b10001, 0, 0, 0, 0]),
    glyph('`', [0b01000, 0b00100, 0, 0, 0, 0, 0]),
    glyph('{', [0b00011, 0b00100, 0b00100, 0b01000, 0b00100, 0b00100, 0b00011]),
    glyph('|', [0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100]),
    glyph('}', [0b11000, 0b00100, 0b00100, 0b00010, 0b00100, 0b00100, 0b11000]),
    glyph('~', [0, 0, 0b01000, 0b10101, 0b00010, 0, 0]),
    glyph('\u{2026}', [0, 0, 0, 0, 0, 0, 0b10101]),
    glyph('0', [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110]),
    glyph('1', [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110]),
    glyph('2', [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111]),
    glyph('3', [0b11110, 0b00001, 0b00001, 0b01110, 0b00001, 0b00001, 0b11110]),
    glyph('4', [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010]),
    glyph('5', [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110]),
    glyph('6', [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110]),
    glyph('7', [0b11111, 0b00001, 0b00010, 0b00100, 0b00100, 0b01000, 0b01000]),
    glyph('8', [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110]),
    glyph('9', [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100]),
    glyph('A', [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001]),
    glyph('B', [0b11110, 0b10001, 0b10001, 0b11110, 0b10001, 0b10001, 0b11110]),
    glyph('C', [0b01110, 0b10001, 0b10000, 0b10000, 0b10000, 0b10001, 0b01110]),
    glyph('D', [0b11110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11110]),
    glyph('E', [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111]),
    glyph('F', [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b10000]),
    glyph('G', [0b01110, 0b10001, 0b10000, 0b10111, 0b10001, 0b10001, 0b01111]),
    glyph('H', [0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001]),
    glyph('I', [0b01110, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110]),
    glyph('J', [0b00111, 0b00010, 0b00010, 0b00010, 0b00010, 0b10010, 0b01100]),
    glyph('K', [0b10001, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010, 0b10001]),
    glyph('L', [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111]),
    glyph('M', [0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001]),
    glyph('N', [0b10001, 0b11001, 0b11001, 0b10101, 0b10011, 0b10011, 0b10001]),
    glyph('O', [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110]),
    glyph('P', [0b11110, 0b10001, 0b10001, 0b11110, 0b10000, 0b10000, 0b10000]),
    glyph('Q', [0b01110, 0b10001, 0b10001, 0b10001, 0b10101, 0b10010, 0b01101]),
    glyph('R', [0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001]),
    glyph('S', [0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110]),
    glyph('T', [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100]),
    glyph('U', [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110]),
    glyph('V', [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01010, 0b00100]),
    glyph('W', [0b10001, 0b10001, 0b10001, 0b10101, 0b10101, 0b11011, 0b10001]),
    glyph('X', [0b10001, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001, 0b10001]),
    glyph('Y', [0b10001, 0b10001, 0b01010, 0b00100, 0b00100, 0b00100, 0b00100]),
    glyph('Z', [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0b11111]),
    glyph('a', [0, 0, 0b01110, 0b00001, 0b01111, 0b10001, 0b01111]),
    glyph('b', [0b10000, 0b10000, 0b11110, 0b10001, 0b10001, 0b10001, 0b11110]),
    glyph('c', [0, 0, 0b01111, 0b10000, 0b10000, 0b10000, 0b01111]),
    glyph('d', [0b00001, 0b00001, 0b01111, 0b10001, 0b10001, 0b10001, 0b01111]),
    glyph('e', [0, 0, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110]),
    glyph('f', [0b00110, 0b01000, 0b11100, 0b01000, 0b01000, 0b01000, 0b01000]),
    descending('g', [0b01111, 0b10001, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110]),
    glyph('h', [0b10000, 0b10000, 0b11110, 0b10001, 0b10001, 0b10001, 0b10001]),
    glyph('i', [0b00100, 0, 0b01100, 0b00100, 0b00100, 0b00100, 0b01110]),
    Glyph { of: 'j', rows: [0b00010, 0, 0b00110, 0b00010, 0b00010, 0b00010, 0b00010, 0b10010, 0b01100] },
    glyph('k', [0b10000, 0b10000, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010]),
    glyph('l', [0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110]),
    glyph('m', [0, 0, 0b11010, 0b10101, 0b10101, 0b10101, 0b10101]),
    glyph('n', [0, 0, 0b11110, 0b10001, 0b10001, 0b10001, 0b10001]),
    glyph('o', [0, 0, 0b01110, 0b10001, 0b10001, 0b10001, 0b01110]),
    descending('p', [0b11110, 0b10001, 0b10001, 0b10001, 0b11110, 0b10000, 0b10000]),
    descending('q', [0b01111, 0b10001, 0b10001, 0b10001, 0b01111, 0b00001, 0b00001]),
    glyph('r', [0, 0, 0b10110, 0b11000, 0b10000, 0b10000, 0b10000]),
    glyph('s', [0, 0, 0b01111, 0b10000, 0b01110, 0b00001, 0b11110]),
    glyph('t', [0b01000, 0b01000, 0b11100, 0b01000, 0b01000, 0b01000, 0b00110]),
    glyph('u', [0, 0, 0b10001, 0b10001, 0b10001, 0b10001, 0b01111]),
    glyph('v', [0, 0, 0b10001, 0b10001, 0b10001, 0b01010, 0b00100]),
    glyph('w', [0, 0, 0b10001, 0b10101, 0b10101, 0b10101, 0b01010]),
    glyph('x', [0, 0, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001]),
    descending('y', [0b10001, 0b10001, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110]),
    glyph('z', [0, 0, 0b11111, 0b00010, 0b00100, 0b01000, 0b11111]),
];

/// Returns the rows of a character, or a filled block for an unknown one.
fn rows_of(c: char) -> [u8; ROWS] {
    let unknown = glyph(c, [0b11111; 7]);
    GLYPHS.iter().find(|glyph| glyph.of == c).unwrap_or(&unknown).rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_drawn_outside_the_picture() {
        let mut picture = RgbImage::new(8, 8);
        label(&mut picture, [6, 5], 2, "8 x", [255; 3]);
        let (from, to) = (LineEnd::new([-1e30, 4.0], 1.0), LineEnd::new([1e30, 4.0], 2.0));
        tapered_line(&mut picture, from, to, [255; 3]);
        fill(&mut picture, [[-1e30, 2.0], [1e30, 4.0], [f32::INFINITY, f32::NAN]], [255; 3], 0.5);
        dot(&mut picture, [f32::NAN, 0.0], 3.0, [255; 3]);
        dot(&mut picture, [0.0, 8.0], 3.0, [255; 3]);
        assert_ne!(picture.get_pixel(0, 7).0, [0; 3]);
    }

    #[test]
    fn triangles_with_a_common_edge_share_no_pixel() {
        let mut picture = RgbImage::new(16, 16);
        let [a, b, c, d] = [[1.2, 1.7], [13.9, 2.3], [14.2, 14.8], [0.8, 13.1]];
        fill(&mut picture, [a, b, c], [200; 3], 0.5);
        fill(&mut picture, [a, c, d], [200; 3], 0.5);
        assert!(picture.pixels().all(|p| p.0 == [0; 3] || p.0 == [100; 3]));
        assert_eq!((4..12).filter(|&i| picture.get_pixel(i, i).0 == [100; 3]).count(), 8);
    }

    #[test]
    fn every_letter_and_digit_has_its_own_shape() {
        let drawn: Vec<char> = (' '..='~').chain(['\u{2026}', 'é']).collect();
        let shapes: std::collections::HashSet<_> = drawn.iter().map(|&c| rows_of(c)).collect();
        assert_eq!(shapes.len(), drawn.len());
    }

    #[test]
    fn names_are_cut_where_there_is_no_room_for_them() {
        let fitted = |room: u32| fitting("Walk Left", "0.25 s", room * ADVANCE + ADVANCE - 1);
        assert_eq!(fitted(16), "Walk Left 0.25 s");
        assert_eq!(fitted(15), "Walk Le\u{2026} 0.25 s");
        // There is no space before the ellipsis.
        assert_eq!(fitted(13), "Walk\u{2026} 0.25 s");
        assert_eq!(fitted(9), "W\u{2026} 0.25 s");
        assert_eq!([fitted(8), fitted(6), fitted(5)], ["0.25 s", "0.25 s", ""]);
        assert_eq!(fitting("", "0.25 s", 1000), "0.25 s");
        for room in 0..20 {
            assert!(fitted(room).chars().count() <= room as usize);
        }
    }
}
