//! Marks over a picture, at places in the world: what is asked of joints, and how far they are from it.

use condyle::Affine;
use image::RgbImage;

use super::overlay::{LINE, LineEnd, dot, fitting, label, tapered_line};
use super::stage::Camera;
use super::vector::Vec3;

/// Something to draw over the character. Sizes are pixels of an image of 640.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line with a dark edge.
    Line {
        /// Where it begins and ends, in world space.
        ends: [Vec3; 2],
        /// Half of its width.
        radius: f32,
        /// sRGB.
        color: [u8; 3],
    },
    /// Lines that belong together: none has its dark edge over another one.
    Lines {
        /// Where each begins and ends, in world space.
        lines: Vec<[Vec3; 2]>,
        /// Half of their width.
        radius: f32,
        /// sRGB.
        color: [u8; 3],
    },
    /// Two lines that cross.
    Cross {
        /// Where they do, in world space.
        at: Vec3,
        /// How far each reaches to either side.
        arm: f32,
        /// sRGB.
        color: [u8; 3],
    },
    /// A disc with a dark edge.
    Dot {
        /// Its middle, in world space.
        at: Vec3,
        /// Without the edge.
        radius: f32,
        /// sRGB.
        color: [u8; 3],
    },
    /// A line of text in the lower left corner.
    Note {
        /// Cut short where there is no room for all of it.
        text: String,
    },
}

/// What is marked at a moment, by the matrices that the joints have there.
pub type Marks<'a> = dyn Fn(f64, &[Affine]) -> Vec<Mark> + Sync + 'a;

/// As of all overlays.
const EDGE: [u8; 3] = [30, 32, 40];

impl Mark {
    /// What of it must be in the picture.
    pub(crate) fn places(&self) -> Vec<Vec3> {
        match self {
            Self::Line { ends, .. } => ends.to_vec(),
            Self::Lines { lines, .. } => lines.as_flattened().to_vec(),
            Self::Cross { at, .. } | Self::Dot { at, .. } => vec![*at],
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
            Self::Line { ends: [from, to], radius, color } => {
                if let (Some(from), Some(to)) = (on_picture(from), on_picture(to)) {
                    stroke([from, to], radius * unit, color);
                }
            }
            Self::Lines { ref lines, radius, color } => {
                let ends = |[from, to]: &[Vec3; 2]| Some([on_picture(*from)?, on_picture(*to)?]);
                let lines: Vec<_> = lines.iter().filter_map(ends).collect();
                // Not so thin in a small picture that nothing of the colour is left.
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
