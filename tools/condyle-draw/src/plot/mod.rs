//! Line plots with a legend, as SVG or pixels.

mod pixels;

use std::ops::Range;

use image::RgbImage;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub use plotters::style::RGBColor;

use self::pixels::Pixels;
use crate::Error;

/// Black. The colours can be distinguished with any kind of colour vision (Okabe and Ito 2008).
pub const BLACK: RGBColor = RGBColor(0, 0, 0);
/// Grey.
pub const GREY: RGBColor = RGBColor(130, 130, 130);
/// Blue.
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
/// Sky.
pub const SKY: RGBColor = RGBColor(86, 180, 233);
/// Green.
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
/// Orange.
pub const ORANGE: RGBColor = RGBColor(230, 159, 0);
/// Red.
pub const RED: RGBColor = RGBColor(213, 94, 0);
/// Pink.
pub const PINK: RGBColor = RGBColor(204, 121, 167);

const WIDTH: i32 = 960;
/// Width of the legend in pixels.
const NAMES: i32 = 225;
const FONT: &str = "Helvetica, Arial, DejaVu Sans, sans-serif";
/// Units per pixel. The backend takes whole units only, and lines with whole pixels would show steps.
const FINE: i32 = 20;

/// A line and its name.
#[derive(Debug, Clone)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Colour, sRGB.
    pub colour: RGBColor,
    /// Whether the line is dashed.
    pub dashed: bool,
    /// Points in units of the axes.
    pub points: Vec<(f64, f64)>,
}

/// A range of the y axis, and its labels.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Range from the lower to the upper edge.
    pub y: Range<f64>,
    /// Approximate number of labels along the y axis.
    pub labels: usize,
    /// Formats a label.
    pub format: fn(f64) -> String,
    /// Height in pixels.
    pub height: i32,
}

/// A plot: the same lines in one or more panels with different y ranges, stacked vertically.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Title above all panels.
    pub title: String,
    /// Quantity along the x axis, and its unit.
    pub x_label: String,
    /// Quantity along the y axis, and its unit.
    pub y_label: String,
    /// Range from the left to the right edge.
    pub x: Range<f64>,
    /// Approximate number of labels along the x axis.
    pub x_labels: usize,
    /// Formats a label.
    pub x_format: fn(f64) -> String,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
    /// Lines in every panel.
    pub lines: Vec<Line>,
}

impl Plot {
    fn height(&self) -> i32 {
        TITLE + self.panels.iter().map(|p| p.height).sum::<i32>()
    }

    /// Returns the plot as an SVG, 960 pixels wide.
    ///
    /// # Errors
    /// [`Error::Picture`] if the plotting library fails.
    pub fn svg(&self) -> Result<String, Error> {
        let size = ((WIDTH * FINE) as u32, (self.height() * FINE) as u32);
        let mut text = String::new();
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        self.draw(&root).map_err(|e| undrawable(&*e))?;
        drop(root);
        let (fine, shown) = (format!("width=\"{}\" height=\"{}\"", size.0, size.1), (WIDTH, self.height()));
        Ok(text.replacen(&fine, &format!("width=\"{}\" height=\"{}\"", shown.0, shown.1), 1))
    }

    /// Returns the plot in pixels, with twice the resolution of the SVG for high-density screens.
    ///
    /// # Errors
    /// The errors of [`Plot::svg`].
    pub fn pixels(&self) -> Result<RgbImage, Error> {
        let [width, height] = [WIDTH, self.height()].map(|side| 2 * side as u32);
        let mut picture = RgbImage::new(width, height);
        let root = Pixels::new(&mut picture, FINE as u32 / 2).into_drawing_area();
        self.draw(&root).map_err(|e| undrawable(&*e))?;
        drop(root);
        Ok(picture)
    }

    fn draw<B>(&self, root: &DrawingArea<B, Shift>) -> Result<(), Box<dyn std::error::Error>>
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        root.fill(&WHITE)?;
        let left = Pos::new(HPos::Left, VPos::Center);
        let title = font(19).into_text_style(root).color(&BLACK).pos(left);
        root.draw_text(&self.title, &title, (20 * FINE, 24 * FINE))?;
        let (_, below) = root.split_vertically(TITLE * FINE);
        let (mut area, names) = below.split_horizontally((WIDTH - NAMES) * FINE);
        for (index, panel) in self.panels.iter().enumerate() {
            let (this, rest) = area.split_vertically(panel.height * FINE);
            let last = index + 1 == self.panels.len();
            self.draw_panel(&this, panel, if last { &self.x_label } else { "" })?;
            area = rest;
        }
        for (row, line) in (0..).zip(&self.lines) {
            let y = (14 + 25 * row) * FINE;
            let label = font(15).into_text_style(&names).color(&BLACK).pos(left);
            names.draw_text(&line.name, &label, (56 * FINE, y))?;
            let dashes = if line.dashed { vec![(12, 21), (26, 35), (40, 48)] } else { vec![(12, 48)] };
            for (from, to) in dashes {
                names.draw(&PathElement::new([(from * FINE, y), (to * FINE, y)], stroke(line.colour)))?;
            }
        }
        root.present()?;
        Ok(())
    }

    fn draw_panel<B>(
        &self,
        area: &DrawingArea<B, Shift>,
        panel: &Panel,
        x_label: &str,
    ) -> Result<(), Box<dyn std::error::Error>>
    where
        B: DrawingBackend,
        B::ErrorType: 'static,
    {
        let mut chart = ChartBuilder::on(area)
            .x_label_area_size(if x_label.is_empty() { 36 } else { 58 } * FINE)
            .y_label_area_size(74 * FINE)
            .margin_left(12 * FINE)
            .margin_right(4 * FINE)
            .margin_top(4 * FINE)
            .build_cartesian_2d(self.x.clone(), panel.y.clone())?;
        chart
            .configure_mesh()
            .x_desc(x_label)
            .y_desc(&self.y_label)
            .x_labels(self.x_labels)
            .y_labels(panel.labels)
            .x_label_formatter(&|x| (self.x_format)(*x))
            .y_label_formatter(&|y| (panel.format)(*y))
            .max_light_lines(0)
            .bold_line_style(RGBColor(222, 222, 222).stroke_width(FINE as u32))
            .axis_style(RGBColor(90, 90, 90).stroke_width(FINE as u32))
            .set_all_tick_mark_size(5 * FINE)
            .label_style(font(14))
            .axis_desc_style(font(15))
            .draw()?;
        for line in &self.lines {
            // Lines are cut where they leave the panel, because the backend would draw them along its edge.
            for part in line.points.split(|p| !panel.y.contains(&p.1)).filter(|part| part.len() > 1) {
                let points = part.iter().copied();
                if line.dashed {
                    let dashes = DashedLineSeries::new(points, 9 * FINE, 5 * FINE, stroke(line.colour));
                    chart.draw_series(dashes)?;
                } else {
                    chart.draw_series(LineSeries::new(points, stroke(line.colour)))?;
                }
            }
        }
        Ok(())
    }
}

fn undrawable(error: &dyn std::error::Error) -> Error {
    Error::Picture(format!("the plot cannot be drawn: {error}"))
}

/// Pixels above the first panel.
const TITLE: i32 = 48;

fn stroke(colour: RGBColor) -> ShapeStyle {
    colour.stroke_width(2 * FINE as u32)
}

fn font(pixels: i32) -> FontDesc<'static> {
    FontDesc::new(FontFamily::Name(FONT), (pixels * FINE).into(), FontStyle::Normal)
}

/// Formats a power of ten: `10⁻⁷` for -7.
#[must_use]
pub fn power_of_ten(exponent: f64) -> String {
    let digits = format!("{exponent:.0}");
    let raised = digits.chars().map(|c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32(u32::from('⁰') + u32::from(digit) - u32::from('0')).unwrap_or(digit),
    });
    format!("10{}", raised.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_are_raised() {
        assert_eq!([-12.0, -7.0, 0.0, 3.0].map(power_of_ten), ["10⁻¹²", "10⁻⁷", "10⁰", "10³"]);
    }
}
