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

/// A triangle, in pixels whose middle is within it, so that triangles with a common edge share none.
pub(crate) fn fill(picture: &mut RgbImage, corners: [[f32; 2]; 3], color: [u8; 3], opacity: f32) {
    let range = |k: usize, size: u32| {
        let (least, most) =
            corners.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), c| (a.min(c[k]), b.max(c[k])));
        least.clamp(0.0, size as f32) as i64..most.clamp(-1.0, size as f32) as i64 + 1
    };
    let columns = range(0, picture.width());
    for y in range(1, picture.height()) {
        let at = y as f32 + 0.5;
        // Where the line through the middles of pixels enters and leaves.
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
    tapered_line(picture, (at, radius + 1.0), (at, radius + 1.0), [30, 32, 40]);
    tapered_line(picture, (at, radius), (at, radius), color);
}

/// Height of a line of text at scale one, with its gap.
pub(crate) const LINE: u32 = 9;
/// Width of a character at scale one, with its gap.
const ADVANCE: u32 = 6;

/// What is left of a name where it and the text behind it have this many pixels at scale one: it is cut short with an
/// ellipsis, and goes, then the text too, where there is no room for more.
pub(crate) fn fitting(name: &str, text: &str, width: u32) -> String {
    let room = (width / ADVANCE) as usize;
    let (long, needed) = (name.chars().count(), text.chars().count());
    match room.checked_sub(needed) {
        None => String::new(),
        Some(left) if long > 0 && long < left => format!("{name} {text}"),
        // A letter, the ellipsis and a space.
        Some(left @ 3..) if long > 0 => {
            let start: String = name.chars().take(left - 2).collect();
            format!("{}\u{2026} {text}", start.trim_end())
        }
        Some(_) => text.into(),
    }
}

/// Writes small text: what ASCII can print, and the ellipsis; a filled block for any other character.
pub(crate) fn label(picture: &mut RgbImage, [left, top]: [u32; 2], scale: u32, text: &str, color: [u8; 3]) {
    for (i, c) in text.chars().enumerate() {
        for (row, bits) in glyph(c).into_iter().enumerate() {
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

/// Seven rows of five pixels, the leftmost in bit 4.
fn glyph(c: char) -> [u8; 7] {
    match c {
        ' ' => [0; 7],
        '.' => [0, 0, 0, 0, 0, 0b01100, 0b01100],
        '-' => [0, 0, 0, 0b01110, 0, 0, 0],
        '_' => [0, 0, 0, 0, 0, 0, 0b11111],
        '!' => [0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0, 0b00100],
        '"' => [0b01010, 0b01010, 0, 0, 0, 0, 0],
        '#' => [0b01010, 0b01010, 0b11111, 0b01010, 0b11111, 0b01010, 0b01010],
        '$' => [0b00100, 0b01111, 0b10100, 0b01110, 0b00101, 0b11110, 0b00100],
        '%' => [0b11001, 0b11001, 0b00010, 0b00100, 0b01000, 0b10011, 0b10011],
        '&' => [0b01100, 0b10010, 0b10100, 0b01000, 0b10101, 0b10010, 0b01101],
        '\'' => [0b00100, 0b00100, 0, 0, 0, 0, 0],
        '(' => [0b00010, 0b00100, 0b01000, 0b01000, 0b01000, 0b00100, 0b00010],
        ')' => [0b01000, 0b00100, 0b00010, 0b00010, 0b00010, 0b00100, 0b01000],
        '*' => [0, 0b00100, 0b10101, 0b01110, 0b10101, 0b00100, 0],
        '+' => [0, 0b00100, 0b00100, 0b11111, 0b00100, 0b00100, 0],
        ',' => [0, 0, 0, 0, 0b01100, 0b00100, 0b01000],
        '/' => [0, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0],
        ':' => [0, 0b01100, 0b01100, 0, 0b01100, 0b01100, 0],
        ';' => [0, 0b01100, 0b01100, 0, 0b01100, 0b00100, 0b01000],
        '<' => [0b00010, 0b00100, 0b01000, 0b10000, 0b01000, 0b00100, 0b00010],
        '=' => [0, 0, 0b11111, 0, 0b11111, 0, 0],
        '>' => [0b01000, 0b00100, 0b00010, 0b00001, 0b00010, 0b00100, 0b01000],
        '?' => [0b01110, 0b10001, 0b00001, 0b00010, 0b00100, 0, 0b00100],
        '@' => [0b01110, 0b10001, 0b10111, 0b10101, 0b10111, 0b10000, 0b01110],
        '[' => [0b01110, 0b01000, 0b01000, 0b01000, 0b01000, 0b01000, 0b01110],
        '\\' => [0, 0b10000, 0b01000, 0b00100, 0b00010, 0b00001, 0],
        ']' => [0b01110, 0b00010, 0b00010, 0b00010, 0b00010, 0b00010, 0b01110],
        '^' => [0b00100, 0b01010, 0b10001, 0, 0, 0, 0],
        '`' => [0b01000, 0b00100, 0, 0, 0, 0, 0],
        '{' => [0b00011, 0b00100, 0b00100, 0b01000, 0b00100, 0b00100, 0b00011],
        '|' => [0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100],
        '}' => [0b11000, 0b00100, 0b00100, 0b00010, 0b00100, 0b00100, 0b11000],
        '~' => [0, 0, 0b01000, 0b10101, 0b00010, 0, 0],
        '\u{2026}' => [0, 0, 0, 0, 0, 0, 0b10101],
        '0' => [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
        '1' => [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        '2' => [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111],
        '3' => [0b11110, 0b00001, 0b00001, 0b01110, 0b00001, 0b00001, 0b11110],
        '4' => [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
        '5' => [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
        '6' => [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
        '7' => [0b11111, 0b00001, 0b00010, 0b00100, 0b00100, 0b01000, 0b01000],
        '8' => [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
        '9' => [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
        'A' => [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001],
        'B' => [0b11110, 0b10001, 0b10001, 0b11110, 0b10001, 0b10001, 0b11110],
        'C' => [0b01110, 0b10001, 0b10000, 0b10000, 0b10000, 0b10001, 0b01110],
        'D' => [0b11110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11110],
        'E' => [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111],
        'F' => [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b10000],
        'G' => [0b01110, 0b10001, 0b10000, 0b10111, 0b10001, 0b10001, 0b01111],
        'H' => [0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001],
        'I' => [0b01110, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        'J' => [0b00111, 0b00010, 0b00010, 0b00010, 0b00010, 0b10010, 0b01100],
        'K' => [0b10001, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010, 0b10001],
        'L' => [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111],
        'M' => [0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001],
        'N' => [0b10001, 0b11001, 0b11001, 0b10101, 0b10011, 0b10011, 0b10001],
        'O' => [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
        'P' => [0b11110, 0b10001, 0b10001, 0b11110, 0b10000, 0b10000, 0b10000],
        'Q' => [0b01110, 0b10001, 0b10001, 0b10001, 0b10101, 0b10010, 0b01101],
        'R' => [0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001],
        'S' => [0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110],
        'T' => [0b11111, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100],
        'U' => [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
        'V' => [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01010, 0b00100],
        'W' => [0b10001, 0b10001, 0b10001, 0b10101, 0b10101, 0b11011, 0b10001],
        'X' => [0b10001, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001, 0b10001],
        'Y' => [0b10001, 0b10001, 0b01010, 0b00100, 0b00100, 0b00100, 0b00100],
        'Z' => [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000, 0b11111],
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
        let shapes: std::collections::HashSet<_> = drawn.iter().map(|&c| glyph(c)).collect();
        assert_eq!(shapes.len(), drawn.len());
    }

    #[test]
    fn names_are_cut_where_there_is_no_room_for_them() {
        let fitted = |room: u32| fitting("Walk Left", "0.25 s", room * ADVANCE + ADVANCE - 1);
        assert_eq!(fitted(16), "Walk Left 0.25 s");
        assert_eq!(fitted(15), "Walk Le\u{2026} 0.25 s");
        // No space before the ellipsis.
        assert_eq!(fitted(13), "Walk\u{2026} 0.25 s");
        assert_eq!(fitted(9), "W\u{2026} 0.25 s");
        assert_eq!([fitted(8), fitted(6), fitted(5)], ["0.25 s", "0.25 s", ""]);
        assert_eq!(fitting("", "0.25 s", 1000), "0.25 s");
        for room in 0..20 {
            assert!(fitted(room).chars().count() <= room as usize);
        }
    }
}
