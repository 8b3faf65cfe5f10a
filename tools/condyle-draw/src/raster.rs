//! A rasterizer: a depth buffer with four samples per pixel, and perspective-correct interpolation.
//!
//! It has no lights and materials: the caller shades each pixel.

use std::ops::Range;

use crate::vector::Vec3;

/// Samples of a pixel. No two share a row or a column, so that steep and flat edges look the same.
const SAMPLES: [[f64; 2]; 4] = [[0.375, 0.125], [0.875, 0.375], [0.125, 0.625], [0.625, 0.875]];

/// One sample of a pixel: linear colour and inverse distance.
#[derive(Clone, Copy)]
struct Sample {
    color: Vec3,
    /// Inverse of the distance; 0 is infinitely far.
    nearness: f32,
}

/// A colour and depth buffer.
pub(crate) struct Canvas {
    width: usize,
    height: usize,
    samples: Vec<[Sample; SAMPLES.len()]>,
    /// Minimum nearness of each square of [`TILE`] by [`TILE`] pixels, row by row.
    tiles: Vec<f32>,
    /// Remaining work; `None` once it is used up, after which nothing is drawn.
    left: Option<u64>,
}

/// Side of a tile in pixels. A triangle skips a whole tile that it does not reach or in which it is hidden.
const TILE: usize = 8;
/// Work limit of one canvas, about ten seconds, and the additional work of shading a pixel. A small file can
/// hold a million triangles as large as the canvas. Testing a pixel or skipping a tile counts as 1.
const MOST_WORK: u64 = 1 << 29;
const COLORING: u64 = 4;

/// A corner of a triangle.
#[derive(Clone, Copy)]
pub(crate) struct Corner<const N: usize> {
    /// Position relative to the eye: right, up and forward.
    pub at: Vec3,
    /// Values to interpolate over the triangle.
    pub values: [f32; N],
}

/// The projection.
#[derive(Clone, Copy)]
pub(crate) struct Lens {
    /// Pixels per unit at distance one.
    pub focal: f32,
    /// Distance of the near plane, at which triangles are clipped.
    pub near: f32,
}

/// A triangle on the canvas.
struct Face<const N: usize> {
    /// Linear functions of the pixel position, positive on the inner side; edge i is opposite corner i.
    edges: [[f64; 3]; 3],
    /// Whether samples on the edge belong to the triangle.
    owns: [bool; 3],
    /// Nearness at the corners.
    nearness: [f64; 3],
    /// The inverse of twice the area.
    per_area: f64,
    values: [[f32; N]; 3],
    front: bool,
}

/// Returns the maximum of a linear function on a rectangle of pixels.
fn greatest([a, b, c]: &[f64; 3], columns: &Range<usize>, rows: &Range<usize>) -> f64 {
    let end =
        |slope: f64, range: &Range<usize>| slope * if slope > 0.0 { range.end } else { range.start } as f64;
    end(*a, columns) + end(*b, rows) + c
}

/// Centres of the pixels of an image, right and up from its centre, row by row.
pub(crate) fn centres(width: usize, height: usize) -> impl Iterator<Item = [f32; 2]> {
    let (right, up) = (width as f32 / 2.0, height as f32 / 2.0);
    let row = move |y: usize| (0..width).map(move |x| [x as f32 + 0.5 - right, up - (y as f32 + 0.5)]);
    (0..height).flat_map(row)
}

impl Canvas {
    pub(crate) fn new(width: usize, height: usize) -> Self {
        let sample = Sample { color: [0.0; 3], nearness: 0.0 };
        let samples = vec![[sample; SAMPLES.len()]; width * height];
        let tiles = vec![0.0; width.div_ceil(TILE) * height.div_ceil(TILE)];
        Self { width, height, samples, tiles, left: Some(MOST_WORK) }
    }

    /// Whether the drawn surfaces hide a position, given like [`Corner::at`]. They must be more than 2 %
    /// nearer, because an edge may differ from its adjacent triangles by that amount.
    pub(crate) fn hides(&self, lens: Lens, [right, up, forward]: Vec3) -> bool {
        let (x, y) = (right / forward * lens.focal, up / forward * lens.focal);
        let column = (self.width as f32 / 2.0 + x).floor();
        let row = (self.height as f32 / 2.0 - y).floor();
        let inside = (0.0..self.width as f32).contains(&column) && (0.0..self.height as f32).contains(&row);
        let pixel = inside.then(|| self.samples[row as usize * self.width + column as usize]);
        // A partly covered pixel means that the position is at an edge of the surface in front of it.
        pixel.is_some_and(|samples| samples.iter().all(|it| it.nearness * forward > 1.02))
    }

    /// Whether the work limit was reached, so that triangles are missing.
    pub(crate) fn is_worn_out(&self) -> bool {
        self.left.is_none()
    }

    /// Fills the canvas with a background at infinite distance. `color` receives the number of a pixel and
    /// its centre.
    pub(crate) fn clear(&mut self, color: impl Fn(usize, [f32; 2]) -> Vec3) {
        let centres = centres(self.width, self.height);
        for (at, (pixel, centre)) in self.samples.iter_mut().zip(centres).enumerate() {
            *pixel = [Sample { color: color(at, centre), nearness: 0.0 }; SAMPLES.len()];
        }
        self.tiles.fill(0.0);
    }

    /// Draws a triangle, visible from both sides.
    ///
    /// `shade` receives the interpolated values, and whether the front is visible, where the corners are
    /// counter-clockwise. It returns linear colour and opacity, or `None` for a hole. A translucent pixel
    /// does not write depth. A triangle with a corner that is not finite is not drawn.
    pub(crate) fn triangle<const N: usize>(
        &mut self,
        lens: Lens,
        corners: &[Corner<N>; 3],
        shade: impl Fn(&[f32; N], bool) -> Option<[f32; 4]>,
    ) {
        if !corners.iter().all(|c| c.at.iter().all(|x| x.is_finite())) {
            return;
        }
        // Clipping leaves up to four corners.
        let mut kept = [corners[0]; 4];
        let mut count = 0;
        let mut keep = |corner| {
            kept[count] = corner;
            count += 1;
        };
        for (i, here) in corners.iter().enumerate() {
            let next = &corners[(i + 1) % 3];
            let (a, b) = (here.at[2] - lens.near, next.at[2] - lens.near);
            if a >= 0.0 {
                keep(*here);
            }
            if (a >= 0.0) != (b >= 0.0) {
                let t = a / (a - b);
                keep(Corner {
                    at: core::array::from_fn(|k| here.at[k] + (next.at[k] - here.at[k]) * t),
                    values: core::array::from_fn(|k| here.values[k] + (next.values[k] - here.values[k]) * t),
                });
            }
        }
        for i in 2..count {
            self.fill(lens, [&kept[0], &kept[i - 1], &kept[i]], &shade);
        }
    }

    fn fill<const N: usize>(
        &mut self,
        lens: Lens,
        corners: [&Corner<N>; 3],
        shade: &impl Fn(&[f32; N], bool) -> Option<[f32; 4]>,
    ) {
        let mut nearness = corners.map(|c| 1.0 / f64::from(c.at[2]));
        // Corners are snapped to 1/256 of a pixel. All sums below are then exact, and triangles with a common
        // edge share no sample.
        let snap = |x: f64| (x * 256.0).round() / 256.0;
        let mut at: [[f64; 2]; 3] = core::array::from_fn(|i| {
            let scale = f64::from(lens.focal) * nearness[i];
            let [x, y, _] = corners[i].at.map(f64::from);
            [snap(self.width as f64 / 2.0 + x * scale), snap(self.height as f64 / 2.0 - y * scale)]
        });
        let mut values = corners.map(|c| c.values);
        let double_area =
            (at[1][0] - at[0][0]) * (at[2][1] - at[0][1]) - (at[1][1] - at[0][1]) * (at[2][0] - at[0][0]);
        if double_area == 0.0 || !double_area.is_finite() {
            return;
        }
        // Rows go down, so counter-clockwise has a negative area.
        let front = double_area < 0.0;
        if front {
            at.swap(1, 2);
            values.swap(1, 2);
            nearness.swap(1, 2);
        }
        let edges: [[f64; 3]; 3] = core::array::from_fn(|i| {
            let (a, b) = (at[(i + 1) % 3], at[(i + 2) % 3]);
            let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
            [-dy, dx, a[0] * dy - a[1] * dx]
        });
        // A sample on an edge belongs to the triangle below it, or to the right of it.
        let owns = edges.map(|[a, b, _]| a > 0.0 || (a == 0.0 && b > 0.0));
        let span = |axis: usize, size: usize| {
            let low = at.iter().map(|p| p[axis]).fold(f64::INFINITY, f64::min);
            let high = at.iter().map(|p| p[axis]).fold(f64::NEG_INFINITY, f64::max);
            // The conversion to an integer saturates.
            low.floor() as usize..(high.ceil() as usize).min(size)
        };
        let (columns, rows) = (span(0, self.width), span(1, self.height));
        let per_area = 1.0 / double_area.abs();
        let face = Face { edges, owns, nearness, per_area, values, front };
        let weighted = |k: usize| (0..3).map(|i| edges[i][k] * nearness[i]).sum::<f64>() * per_area;
        let depth = [weighted(0), weighted(1), weighted(2)];
        let tiles = |range: &Range<usize>| range.start / TILE..range.end.div_ceil(TILE);
        let within = |tile: usize, range: &Range<usize>| {
            range.start.max(tile * TILE)..range.end.min((tile + 1) * TILE)
        };
        for tile_row in tiles(&rows) {
            for tile_column in tiles(&columns) {
                let (rows, columns) = (within(tile_row, &rows), within(tile_column, &columns));
                let tile = tile_row * self.width.div_ceil(TILE) + tile_column;
                let most = |plane: &[f64; 3]| greatest(plane, &columns, &rows);
                let hidden = most(&depth) as f32 <= self.tiles[tile];
                let passed = hidden || edges.iter().any(|edge| most(edge) < 0.0);
                let pixels = rows.len() * columns.len();
                self.charge(if passed { 1 } else { pixels as u64 });
                if self.left.is_none() {
                    return;
                }
                if passed {
                    continue;
                }
                for at in rows.clone().flat_map(|row| columns.clone().map(move |column| [column, row])) {
                    self.fill_pixel(at, &face, shade);
                }
                // Only a triangle that covers a whole tile raises its minimum nearness.
                if pixels == TILE * TILE {
                    let pixels = rows.flat_map(|row| &self.samples[row * self.width..][columns.clone()]);
                    let samples = pixels.flatten().map(|sample| sample.nearness);
                    self.tiles[tile] = samples.fold(f32::INFINITY, f32::min);
                }
            }
        }
    }

    fn charge(&mut self, work: u64) {
        self.left = self.left.and_then(|left| left.checked_sub(work));
    }

    fn fill_pixel<const N: usize>(
        &mut self,
        [column, row]: [usize; 2],
        face: &Face<N>,
        shade: &impl Fn(&[f32; N], bool) -> Option<[f32; 4]>,
    ) {
        let pixel = &self.samples[row * self.width + column];
        // Barycentric weights for shading: at the mean of the visible samples.
        let mut weights = [0.0; 3];
        let mut visible = [None; SAMPLES.len()];
        for (s, [x, y]) in SAMPLES.into_iter().enumerate() {
            let (x, y) = (column as f64 + x, row as f64 + y);
            let e = face.edges.map(|[a, b, c]| a * x + b * y + c);
            if !(0..3).all(|i| e[i] > 0.0 || (e[i] == 0.0 && face.owns[i])) {
                continue;
            }
            let near = (0..3).map(|i| e[i] * face.nearness[i]).sum::<f64>() * face.per_area;
            if near as f32 > pixel[s].nearness {
                visible[s] = Some(near as f32);
                (0..3).for_each(|i| weights[i] += e[i] * face.nearness[i]);
            }
        }
        if visible == [None; SAMPLES.len()] {
            return;
        }
        let sum: f64 = weights.iter().sum();
        let w = weights.map(|w| (w / sum) as f32);
        let mixed: [f32; N] = core::array::from_fn(|k| (0..3).map(|i| w[i] * face.values[i][k]).sum::<f32>());
        self.charge(COLORING);
        let Some([r, g, b, opacity]) = shade(&mixed, face.front) else { return };
        let pixel = &mut self.samples[row * self.width + column];
        for (sample, near) in pixel.iter_mut().zip(visible) {
            let Some(near) = near else { continue };
            for (old, new) in sample.color.iter_mut().zip([r, g, b]) {
                *old += (new - *old) * opacity;
            }
            if opacity >= 0.999 {
                sample.nearness = near;
            }
        }
    }

    /// Returns the mean colour of each pixel, row by row from the top.
    pub(crate) fn pixels(&self) -> impl ExactSizeIterator<Item = Vec3> + '_ {
        let share = 1.0 / SAMPLES.len() as f32;
        self.samples
            .iter()
            .map(move |pixel| core::array::from_fn(|k| pixel.iter().map(|s| s.color[k]).sum::<f32>() * share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENS: Lens = Lens { focal: 1.0, near: 0.1 };

    /// Returns a triangle given in pixels from the centre, at one distance.
    fn flat(points: [[f32; 2]; 3], distance: f32) -> [Corner<1>; 3] {
        points.map(|[x, y]| Corner { at: [x * distance, y * distance, distance], values: [0.0] })
    }

    fn red(canvas: &Canvas) -> Vec<f32> {
        canvas.pixels().map(|p| p[0]).collect()
    }

    fn paint(value: f32) -> impl Fn(&[f32; 1], bool) -> Option<[f32; 4]> {
        move |_, _| Some([value, 0.0, 0.0, 1.0])
    }

    #[test]
    fn a_triangle_covers_the_pixels_inside_it() {
        let mut canvas = Canvas::new(4, 4);
        canvas.triangle(LENS, &flat([[-2.0, -2.0], [2.0, -2.0], [-2.0, 2.0]], 1.0), paint(1.0));
        let want = [[0.5, 0.0, 0.0, 0.0], [1.0, 0.5, 0.0, 0.0], [1.0, 1.0, 0.5, 0.0], [1.0, 1.0, 1.0, 0.5]];
        for (i, (found, want)) in red(&canvas).iter().zip(want.as_flattened()).enumerate() {
            // The sample pattern determines which samples on the diagonal are inside.
            assert!((found - want).abs() <= if *want == 0.5 { 0.25 } else { 0.0 }, "pixel {i}: {found}");
        }
    }

    #[test]
    fn triangles_that_share_an_edge_cover_each_sample_once() {
        for (x, y) in [(0.0, 0.0), (0.3, -0.7), (1.1, 1.9), (-2.0, 0.5)] {
            let mut canvas = Canvas::new(8, 8);
            let corners = [[-4.0, -4.0], [4.0, -4.0], [4.0, 4.0], [-4.0, 4.0]];
            for i in 0..4 {
                let triangle = flat([corners[i], corners[(i + 1) % 4], [x, y]], 1.0);
                // Half opaque, so that a sample drawn twice is brighter and one left out is darker.
                canvas.triangle(LENS, &triangle, |_, _| Some([1.0, 1.0, 1.0, 0.5]));
            }
            assert!(red(&canvas).iter().all(|&v| v == 0.5), "around {x}, {y}: {:?}", red(&canvas));
        }
    }

    #[test]
    fn the_nearer_triangle_hides_the_farther_in_any_order() {
        let whole = [[-9.0, -9.0], [9.0, -9.0], [0.0, 18.0]];
        for order in [[1.0, 2.0], [2.0, 1.0]] {
            let mut canvas = Canvas::new(2, 2);
            for distance in order {
                canvas.triangle(LENS, &flat(whole, distance), paint(distance));
            }
            assert_eq!(red(&canvas), [1.0; 4], "drawn at {order:?}");
        }
    }

    #[test]
    fn values_are_interpolated_in_perspective() {
        // A floor from distance 1 to 3: halfway on the canvas between its ends it is 1.5 away.
        let mut canvas = Canvas::new(1, 240);
        let corner = |x: f32, z: f32| Corner { at: [x, -1.0, z], values: [z] };
        let lens = Lens { focal: 120.0, near: 0.1 };
        let show = |v: &[f32; 1], _: bool| Some([v[0], 0.0, 0.0, 1.0]);
        canvas.triangle(lens, &[corner(-1.0, 1.0), corner(1.0, 1.0), corner(0.0, 3.0)], show);
        let column = red(&canvas);
        assert!((column[199] - 1.5).abs() < 0.02, "{}", column[199]);
    }

    #[test]
    fn what_is_behind_the_eye_is_cut_off() {
        let lens = Lens { focal: 4.0, near: 0.1 };
        let corner = |x: f32, z: f32| Corner { at: [x, -0.5, z], values: [z] };
        // A floor that reaches from behind the eye far away fills only the lower half.
        let mut canvas = Canvas::new(8, 8);
        canvas.triangle(lens, &[corner(-99.0, -5.0), corner(99.0, -5.0), corner(0.0, 1e4)], paint(1.0));
        let rows: Vec<f32> = red(&canvas).chunks(8).map(|row| row.iter().sum()).collect();
        assert_eq!(rows[..4], [0.0; 4]);
        assert_eq!(rows[5..], [8.0; 3]);
        let mut canvas = Canvas::new(8, 8);
        canvas.triangle(lens, &[corner(-9.0, -5.0), corner(9.0, -5.0), corner(0.0, 0.05)], paint(1.0));
        assert!(red(&canvas).iter().all(|&v| v == 0.0));
    }

    #[test]
    fn both_sides_are_drawn_and_told_apart() {
        let [a, b, c] = flat([[-9.0, -9.0], [9.0, -9.0], [0.0, 18.0]], 1.0);
        for (corners, want) in [([a, b, c], true), ([a, c, b], false)] {
            let mut canvas = Canvas::new(1, 1);
            canvas.triangle(LENS, &corners, |_, front| Some([f32::from(u8::from(front)), 0.0, 1.0, 1.0]));
            assert_eq!(canvas.pixels().next(), Some([f32::from(u8::from(want)), 0.0, 1.0]));
        }
    }

    /// Hidden triangles cost almost nothing, for any size and number.
    #[test]
    fn a_canvas_wears_out_by_what_is_seen() {
        let whole = [[-999.0, -999.0], [999.0, -999.0], [0.0, 999.0]];
        let draw = |canvas: &mut Canvas, nearer: f32| {
            for i in 0..1000 {
                canvas.triangle(LENS, &flat(whole, 2.0 - nearer * i as f32 / 1000.0), paint(i as f32));
            }
        };
        let mut canvas = Canvas::new(96, 96);
        canvas.left = Some(40 * 96 * 96);
        draw(&mut canvas, -1.0);
        assert!(!canvas.is_worn_out() && red(&canvas).iter().all(|&v| v == 0.0));
        draw(&mut canvas, 1.0);
        assert!(canvas.is_worn_out());
    }

    /// Skipped tiles must not hold a sample in which the triangle is visible.
    #[test]
    fn tiles_change_nothing() {
        let mut seed = 7_u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / (1 << 24) as f32
        };
        let (mut canvas, mut plain) = (Canvas::new(61, 43), Canvas::new(61, 43));
        for _ in 0..300 {
            let corners = core::array::from_fn(|_| {
                let z = 1.0 + 3.0 * random();
                let (x, y) = (random() * 80.0 - 40.0, random() * 60.0 - 30.0);
                Corner { at: [x * z, y * z, z], values: [random()] }
            });
            canvas.triangle(LENS, &corners, |v, _| Some([v[0], 0.0, 0.0, 1.0]));
            plain.triangle(LENS, &corners, |v, _| Some([v[0], 0.0, 0.0, 1.0]));
            plain.tiles.fill(0.0);
        }
        assert!(canvas.tiles.iter().any(|&t| t > 0.0));
        assert_eq!(red(&canvas), red(&plain));
    }

    #[test]
    fn degenerate_and_broken_triangles_draw_nothing() {
        let mut canvas = Canvas::new(4, 4);
        canvas.triangle(LENS, &flat([[0.0, 0.0]; 3], 1.0), paint(1.0));
        canvas.triangle(LENS, &flat([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]], 1.0), paint(1.0));
        for bad in [f32::NAN, f32::INFINITY] {
            for k in 0..3 {
                let mut corners = flat([[-9.0, -9.0], [9.0, -9.0], [0.0, 18.0]], 1.0);
                corners[1].at[k] = bad;
                canvas.triangle(LENS, &corners, paint(1.0));
            }
        }
        canvas.triangle(LENS, &flat([[-3e38, -1.0], [3e38, -1.0], [0.0, 3e38]], 1.0), |_, _| None);
        assert_eq!(red(&canvas), [0.0; 16]);
    }
}
