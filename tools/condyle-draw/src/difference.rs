//! The difference between two skinning methods: surface colours, and their legend.

use image::{Rgb, RgbImage};

use super::overlay;

/// The largest distance between a vertex posed with one skinning method and with the other.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Greatest {
    /// Distance in metres.
    pub distance: f64,
    /// Diagonal of the box around the rest pose, in metres.
    pub diagonal: f64,
    /// Time in the clip, in seconds.
    pub seconds: f64,
}

impl Greatest {
    /// Returns the distance as a fraction of the diagonal of the box around the rest pose.
    #[must_use]
    pub fn of_diagonal(&self) -> f64 {
        if self.diagonal > 0.0 { self.distance / self.diagonal } else { 0.0 }
    }

    /// Formats the distance: `17.3 mm, 1.24 % of the diagonal`.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{} mm, {:.2} % of the diagonal", millimetres(self.distance), 100.0 * self.of_diagonal())
    }

    /// Returns the end of the colour scale in metres: the distance, rounded up to a round number.
    pub(crate) fn end(&self) -> f64 {
        if self.distance <= 0.0 {
            return 0.0;
        }
        let mut unit = 1.0;
        while unit > self.distance {
            unit /= 10.0;
        }
        while unit * 10.0 < self.distance {
            unit *= 10.0;
        }
        let factor = [1.0, 2.0, 3.0, 5.0, 10.0].into_iter().find(|factor| factor * unit >= self.distance);
        factor.unwrap_or(10.0) * unit
    }
}

/// Formats metres as millimetres: the larger the number, the fewer its decimals.
#[must_use]
pub fn millimetres(metres: f64) -> String {
    match 1000.0 * metres {
        0.0 => "0".into(),
        mm if mm < 0.01 => format!("{mm:.1e}"),
        mm if mm < 10.0 => format!("{mm:.3}"),
        mm => format!("{mm:.1}"),
    }
}

/// Colours from zero to the end of the scale, sRGB.
const COLORS: [[f32; 3]; 6] = [
    [0.86, 0.87, 0.89],
    [0.99, 0.90, 0.55],
    [0.98, 0.66, 0.25],
    [0.90, 0.34, 0.18],
    [0.68, 0.10, 0.32],
    [0.32, 0.05, 0.38],
];

/// Returns the colour at a fraction of the scale, sRGB.
fn encoded(part: f32) -> [f32; 3] {
    let at = part.clamp(0.0, 1.0) * (COLORS.len() - 1) as f32;
    let first = (at as usize).min(COLORS.len() - 2);
    let left = at - first as f32;
    core::array::from_fn(|c| COLORS[first][c] + left * (COLORS[first + 1][c] - COLORS[first][c]))
}

/// Returns the colour in linear light, by a polynomial close to the sRGB curve.
pub(crate) fn color(part: f32) -> [f32; 3] {
    encoded(part).map(|v| v * v * (0.7 * v + 0.3))
}

/// Draws the scale at the bottom of a picture.
pub(crate) fn legend(picture: &mut RgbImage, greatest: &Greatest) {
    let (width, height) = picture.dimensions();
    let scale = text_scale(picture);
    let margin = 4 * scale;
    let (line, bar) = (overlay::LINE * scale, 5 * scale);
    let Some(top) = height.checked_sub(margin + line + bar) else { return };
    for x in margin..width.saturating_sub(margin) {
        let part = (x - margin) as f32 / (width - 2 * margin - 1).max(1) as f32;
        let color = encoded(part).map(|v| (255.0 * v).round() as u8);
        (top..top + bar).for_each(|y| picture.put_pixel(x, y, Rgb(color)));
    }
    let room = width.saturating_sub(2 * margin) / (6 * scale);
    let end = greatest.end();
    let part = if greatest.diagonal > 0.0 { 100.0 * end / greatest.diagonal } else { 0.0 };
    let long = format!("{} mm, {part:.2} % of the diagonal", short(end));
    let texts = [long, format!("{} mm, {part:.2} %", short(end)), format!("{} mm", short(end))];
    let below = top + bar + scale;
    let Some(text) = texts.iter().find(|text| text.len() + 3 <= room as usize) else { return };
    overlay::label(picture, [margin, below], scale, "0", INK);
    let left = (width - margin).saturating_sub(text.len() as u32 * 6 * scale - scale);
    overlay::label(picture, [left, below], scale, text, INK);
}

/// Formats millimetres without trailing zeros.
fn short(metres: f64) -> String {
    let text = millimetres(metres);
    match text.contains('e') || !text.contains('.') {
        true => text,
        false => text.trim_end_matches('0').trim_end_matches('.').into(),
    }
}

/// Returns a larger text scale than that of a sheet, because three panels are often viewed at reduced size.
fn text_scale(picture: &RgbImage) -> u32 {
    (picture.width().min(picture.height()) / 120).clamp(1, 3)
}

/// Writes the caption of a panel into its upper left corner.
pub(crate) fn caption(picture: &mut RgbImage, text: &str) {
    let scale = text_scale(picture);
    let margin = 4 * scale;
    let words = overlay::fitting("", text, picture.width().saturating_sub(2 * margin) / scale);
    overlay::label(picture, [margin, margin], scale, &words, INK);
}

const INK: [u8; 3] = [52, 58, 68];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn millimetres_have_digits_where_they_are_small() {
        let shown = [0.0, 2.5e-7, 1.25e-4, 0.0123, 3.0].map(millimetres);
        assert_eq!(shown, ["0", "2.5e-4", "0.125", "12.3", "3000.0"]);
    }

    #[test]
    fn scales_end_at_round_numbers() {
        for (distance, end) in
            [(0.0, "0"), (0.0172, "20"), (0.02, "20"), (0.000_41, "0.5"), (2.7, "3000"), (1e-9, "1.0e-6")]
        {
            let it = Greatest { distance, ..Greatest::default() };
            assert!(it.end() >= distance * (1.0 - 1e-12));
            assert_eq!(short(it.end()), end);
        }
    }

    #[test]
    fn the_legend_fits_any_picture() {
        for (width, height) in [(16, 16), (64, 16), (320, 200), (2048, 2048)] {
            let mut picture = RgbImage::new(width, height);
            caption(&mut picture, "dual quaternions");
            legend(&mut picture, &Greatest { distance: 0.0172, diagonal: 1.9, seconds: 0.0 });
        }
    }

    #[test]
    fn darker_is_farther() {
        let light = |part| {
            let [r, g, b] = color(part);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        // The first fifth goes from grey to yellow: more saturated, not darker.
        assert!((10..50).all(|i| light(i as f32 / 50.0) > light((i + 1) as f32 / 50.0)));
    }
}
