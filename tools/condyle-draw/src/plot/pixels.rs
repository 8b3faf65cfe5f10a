//! The plotting backend that draws into an image.

use std::convert::Infallible;

use image::{Rgb, RgbImage, imageops};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};

use crate::overlay::{self, LineEnd};

type Done = Result<(), DrawingErrorKind<Infallible>>;

/// An image addressed in fractions of a pixel, so that lines can end between pixels.
pub(super) struct Pixels<'a> {
    picture: &'a mut RgbImage,
    /// Units along a side of a pixel.
    fine: u32,
}

impl<'a> Pixels<'a> {
    pub(super) fn new(picture: &'a mut RgbImage, fine: u32) -> Self {
        Self { picture, fine }
    }

    fn at(&self, (x, y): BackendCoord) -> [f32; 2] {
        [x, y].map(|v| v as f32 / self.fine as f32)
    }

    /// Returns the pixels per dot of a glyph, for a font size in units.
    fn scale(&self, size: f64) -> u32 {
        ((size / f64::from(self.fine) / 10.0).round() as u32).max(1)
    }
}

fn opaque(color: BackendColor) -> [u8; 3] {
    let (r, g, b) = color.rgb;
    [r, g, b].map(|v| (255.0 + (f64::from(v) - 255.0) * color.alpha).round() as u8)
}

/// Returns the size of a text above its baseline. Glyphs advance by six dots, without a gap after the last,
/// and are seven dots high.
fn extent(text: &str, scale: u32) -> (u32, u32) {
    ((6 * text.chars().count() as u32).saturating_sub(1).max(1) * scale, 7 * scale)
}

impl DrawingBackend for Pixels<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (self.picture.width() * self.fine, self.picture.height() * self.fine)
    }

    fn ensure_prepared(&mut self) -> Done {
        Ok(())
    }

    fn present(&mut self) -> Done {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> Done {
        let [x, y] = self.at(at);
        if x >= 0.0
            && y >= 0.0
            && let Some(pixel) = self.picture.get_pixel_mut_checked(x as u32, y as u32)
        {
            *pixel = Rgb(opaque(color));
        }
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Done {
        let radius = (style.stroke_width() as f32 / self.fine as f32 / 2.0).max(0.5);
        let (from, to) = (self.at(from), self.at(to));
        let (from, to) = (LineEnd::new(from, radius), LineEnd::new(to, radius));
        overlay::tapered_line(self.picture, from, to, opaque(style.color()));
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Done {
        let path: Vec<BackendCoord> = path.into_iter().collect();
        path.windows(2).try_for_each(|ends| self.draw_line(ends[0], ends[1], style))
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Done {
        if !fill {
            let corners = [from, (to.0, from.1), to, (from.0, to.1), from];
            return self.draw_path(corners, style);
        }
        let [left, top] = self.at(from).map(|v| v.max(0.0) as u32);
        let [right, bottom] = self.at(to).map(|v| v.max(0.0).ceil() as u32);
        let (width, height) = self.picture.dimensions();
        for y in top..bottom.min(height) {
            for x in left..right.min(width) {
                self.picture.put_pixel(x, y, Rgb(opaque(style.color())));
            }
        }
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(&mut self, text: &str, style: &T, at: BackendCoord) -> Done {
        let scale = self.scale(style.size());
        let (width, above_baseline) = extent(text, scale);
        let height = overlay::ROWS as u32 * scale;
        let mut label = RgbImage::from_pixel(width, height, Rgb([255; 3]));
        overlay::label(&mut label, [0, 0], scale, text, opaque(style.color()));
        let (across, down) = match style.anchor().h_pos {
            HPos::Left => (0, style.anchor().v_pos),
            HPos::Center => (width / 2, style.anchor().v_pos),
            HPos::Right => (width, style.anchor().v_pos),
        };
        let down = match down {
            VPos::Top => 0,
            VPos::Center => above_baseline / 2,
            VPos::Bottom => above_baseline,
        };
        // Position of the top left corner of the label after the rotation.
        let (across, down) = (i64::from(across), i64::from(down));
        let (width, height) = (i64::from(width), i64::from(height));
        let (label, left, top) = match style.transform() {
            FontTransform::None => (label, -across, -down),
            FontTransform::Rotate90 => (imageops::rotate90(&label), down - height, -across),
            FontTransform::Rotate180 => (imageops::rotate180(&label), across - width, down - height),
            FontTransform::Rotate270 => (imageops::rotate270(&label), -down, across - width),
        };
        let [x, y] = self.at(at).map(|v| v.round() as i64);
        imageops::overlay(self.picture, &label, x + left, y + top);
        Ok(())
    }

    fn estimate_text_size<T: BackendTextStyle>(
        &self,
        text: &str,
        style: &T,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let (width, height) = extent(text, self.scale(style.size()));
        Ok((width * self.fine, height * self.fine))
    }
}
