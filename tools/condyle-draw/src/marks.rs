//! Marks over a picture at positions in the world, such as goals of joints and the distances from them.

use condyle::Affine;
use image::RgbImage;

use super::overlay::{LINE, LineEnd, dot, fitting, label, tapered_line};
use super::stage::Camera;
use super::vector::Vec3;

/// A mark over the character. Sizes are in pixels of an image of 640 by 640.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line with a dark edge.
    Line {
        /// Ends, in world space.
        ends: [Vec3; 2],
        /// Half of the width.
        radius: f32,
        /// Colour, sRGB.
        color: [u8; 3],
    },
    /// Lines that belong together: the dark edge of one does not cover another one.
    Lines {
        /// Ends of each line, in world space.
        lines: Vec<[Vec3; 2]>,
        /// Half of the width.
        radius: f32,
        /// Colour, sRGB.
        color: [u8; 3],
    },
    /// Two lines that cross.
    Cross {
        /// Centre, in world space.
        at: Vec3,
        /// Length of each arm from the centre.
        arm: f32,
        /// Colour, sRGB.
        color: [u8; 3],
    },
    /// A disc with a dark edge.
    Dot {
        /// Centre, in world space.
        at: Vec3,
        /// Radius without the edge.
        radius: f32,
        /// Colour, sRGB.
        color: [u8; 3],
    },
    /// Names of positions, in columns at the left and right edges, with a line to each position.
    Names {
        /// Positions in world space, and the name and sRGB colour of each.
        names: Vec<(Vec3, String, [u8; 3])>,
    },
    /// A line of text in the lower left corner.
    Note {
        /// The text, cut short if it does not fit.
        text: String,
    },
}

/// Returns the marks at a moment, for the matrices of the joints at that moment.
pub type Marks<'a> = dyn Fn(f64, &[Affine]) -> Vec<Mark> + Sync + 'a;

/// Edge colour of all overlays.
const EDGE: [u8; 3] = [30, 32, 40];

impl Mark {
    /// Returns the positions that must be in the picture.
    pub(crate) fn places(&self) -> Vec<Vec3> {
        match self {
            Self::Line { ends, .. } => ends.to_vec(),
            Self::Lines { lines, .. } => lines.as_flattened().to_vec(),
            Self::Cross { at, .. } | Self::Dot { at, .. } => vec![*at],
            Self::Names { names } => names.iter().map(|(at, ..)| *at).collect(),
            Self::Note { .. } => vec![],
        }
    }

    pub(crate) fn draw(&self, picture: &mut RgbImage, camera: &Camera) {
        let (width, height) = (picture.width() as f32, picture.height() as f32);
        let unit = width.min(height) / 640.0;
        let on_picture = |place: Vec3| {
            let [x, y] = camera.project(place)?;
            Some([width / 2.0 + x, height / 2.0 - y])
        };
        let mut stroke = |[from, to]: [[f32; 2]; 2], radius: f32, color| {
            tapered_line(picture, LineEnd::new(from, radius + 1.0), LineEnd::new(to, radius + 1.0), EDGE);
            tapered_line(picture, LineEnd::new(from, radius), LineEnd::new(to, radius), color);
        };
        match *self {
            Self::Note { ref text } => {
                let (wide, high) = picture.dimensions();
                let scale = (wide.min(high) / 240).max(1);
                let margin = 4 * scale;
                let top = high.saturating_sub(LINE * scale + margin / 2);
                let words = fitting("", text, wide.saturating_sub(2 * margin) / scale);
                label(picture, [margin, top], scale, &words, [52, 58, 68]);
            }
            Self::Names { ref names } => {
                let place = |(at, name, color): &(Vec3, String, [u8; 3])| {
                    Some(Placed { at: on_picture(*at)?, name: name.clone(), color: *color })
                };
                let (left, right): (Vec<_>, Vec<_>) =
                    names.iter().filter_map(place).partition(|it| it.at[0] < width / 2.0 - 1.0);
                column(picture, left, false);
                column(picture, right, true);
            }
            Self::Line { ends: [from, to], radius, color } => {
                if let (Some(from), Some(to)) = (on_picture(from), on_picture(to)) {
                    stroke([from, to], radius * unit, color);
                }
            }
            Self::Lines { ref lines, radius, color } => {
                let ends = |[from, to]: &[Vec3; 2]| Some([on_picture(*from)?, on_picture(*to)?]);
                let lines: Vec<_> = lines.iter().filter_map(ends).collect();
                // A minimum width keeps the colour visible in a small picture.
                let radius = (radius * unit).max(0.7);
                for (radius, color) in [(radius + 0.8, EDGE), (radius, color)] {
                    for [from, to] in &lines {
                        tapered_line(picture, LineEnd::new(*from, radius), LineEnd::new(*to, radius), color);
                    }
                }
            }
            Self::Cross { at, arm, color } => {
                let Some([x, y]) = on_picture(at) else { return };
                let arm = arm * unit;
                for radius in [1.6 * unit + 1.0, 1.6 * unit] {
                    let color = if radius > 1.6 * unit { EDGE } else { color };
                    for [dx, dy] in [[arm, arm], [arm, -arm]] {
                        tapered_line(
                            picture,
                            LineEnd::new([x - dx, y - dy], radius),
                            LineEnd::new([x + dx, y + dy], radius),
                            color,
                        );
                    }
                }
            }
            Self::Dot { at, radius, color } => {
                if let Some(at) = on_picture(at) {
                    dot(picture, at, radius * unit, color);
                }
            }
        }
    }
}

/// A name of a position in the picture.
struct Placed {
    at: [f32; 2],
    name: String,
    color: [u8; 3],
}

/// Writes names below each other at the left or right edge, in the order of their positions. A line connects
/// each with its position.
fn column(picture: &mut RgbImage, mut names: Vec<Placed>, is_right: bool) {
    let (wide, high) = picture.dimensions();
    let scale = (wide.min(high) / 640).max(1);
    let step = (LINE + 3) * scale;
    names.sort_by(|a, b| a.at[1].total_cmp(&b.at[1]));
    // The first row for which all names below have room.
    let mut row = f32::NEG_INFINITY;
    let count = names.len() as u32;
    for (at, it) in (0..).zip(&names) {
        let last = high.saturating_sub((count - at) * step) as f32;
        row = it.at[1].max(row + step as f32).min(last).max(0.0);
        let text = fitting("", &it.name, wide * 3 / 10 / scale);
        let room = text.chars().count() as u32 * 6 * scale;
        let left = if is_right { wide.saturating_sub(room + 6 * scale) } else { 6 * scale };
        let end = if is_right { left as f32 - 4.0 } else { (left + room) as f32 + 2.0 };
        let middle = row + 3.5 * scale as f32;
        tapered_line(picture, LineEnd::new([end, middle], 0.8), LineEnd::new(it.at, 0.8), it.color);
        label(picture, [left, row as u32], scale, &text, EDGE);
    }
}
