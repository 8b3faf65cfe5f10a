//! The outline of the drawn surfaces, towards a light or the camera.

use condyle::Vertices;
use condyle_query::surface::{Silhouette, Surface, Viewpoint, silhouette};
use image::RgbImage;

use super::overlay::{LineEnd, tapered_line};
use super::raster::Canvas;
use super::stage::Camera;
use super::vector::Vec3;

/// Viewpoint of an outline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen {
    /// The camera.
    Eye,
    /// A light in this direction, so far away that all rays are parallel.
    Direction(Vec3),
}

const NEAR: [u8; 3] = [226, 44, 110];
const EDGE: [u8; 3] = [255, 255, 255];
/// Colour of an edge that a surface hides.
const HIDDEN: [u8; 3] = [236, 150, 180];

/// Draws the outline edges and the open edges of a posed surface. Hidden edges are thin and pale.
pub(crate) fn draw(
    picture: &mut RgbImage,
    canvas: &Canvas,
    camera: &Camera,
    seen: Seen,
    surface: &Surface,
    vertices: &Vertices,
) {
    let viewpoint = match seen {
        Seen::Eye => Viewpoint::Place(camera.eye),
        Seen::Direction(direction) => Viewpoint::Direction(direction),
    };
    let mut outline = Silhouette::default();
    // Cannot fail: the topology belongs to this mesh, and the direction was checked earlier.
    if silhouette(surface, &vertices.positions, viewpoint, &mut outline).is_err() {
        return;
    }
    let (width, height) = (picture.width() as f32, picture.height() as f32);
    let unit = width.min(height) / 640.0;
    let place = |vertex: u32| {
        let at = vertices.positions[vertex as usize];
        let [x, y] = camera.project(at)?;
        Some((at, [width / 2.0 + x, height / 2.0 - y]))
    };
    // An open edge is an outline whichever side of its triangle is visible.
    let edges = outline.edges().iter().copied().chain(surface.open_edges());
    let ends = edges.filter_map(|[a, b]| Some([place(a)?, place(b)?]));
    let lines: Vec<_> = ends
        .map(|[(a, from), (b, to)]| {
            let middle = [0, 1, 2].map(|k| 0.5 * (a[k] + b[k]));
            (canvas.hides(camera.lens, camera.place(middle)), from, to)
        })
        .collect();
    let mut stroke = |hidden: bool, radius: f32, color| {
        for (_, from, to) in lines.iter().filter(|line| line.0 == hidden) {
            tapered_line(picture, LineEnd::new(*from, radius), LineEnd::new(*to, radius), color);
        }
    };
    stroke(true, 0.7 * unit, HIDDEN);
    stroke(false, 1.5 * unit + 0.8, EDGE);
    stroke(false, 1.5 * unit, NEAR);
}
