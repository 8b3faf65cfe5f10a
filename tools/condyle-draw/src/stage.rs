//! The camera and its placement, the light, the ground and the shadow on it.

use condyle::math::sin_cos;

use crate::raster::{Canvas, Corner, Lens, centres};
use crate::vector::{Vec3, add, add_scaled, cross, dot, lerp, normalize, scale, sub};

/// Tangent of half the field of view along the shorter side of the image.
const HALF_VIEW: f32 = 0.26;
/// Fraction of the image left free around its content.
const MARGIN: f32 = 0.10;
/// Direction towards the light, relative to the camera.
const LIGHT: Vec3 = [-0.45, 0.78, 0.55];

/// A perspective camera.
#[derive(Clone)]
pub(crate) struct Camera {
    pub eye: Vec3,
    /// Right, up and forward, in world space.
    axes: [Vec3; 3],
    pub lens: Lens,
    /// Direction towards the light, which turns with the camera.
    pub light: Vec3,
}

/// Direction of the camera, in radians: yaw around the vertical axis, pitch downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// 0 looks at the front of a character that faces +Z; positive values look at its left side.
    pub yaw: f32,
    /// 0 is level.
    pub pitch: f32,
}

impl View {
    fn axes(self) -> [Vec3; 3] {
        let ((sin_yaw, cos_yaw), (sin_pitch, cos_pitch)) = (sin_cos(self.yaw), sin_cos(self.pitch));
        let ahead = [-sin_yaw * cos_pitch, -sin_pitch, -cos_yaw * cos_pitch];
        let right = [cos_yaw, 0.0, -sin_yaw];
        [right, cross(right, ahead), ahead]
    }
}

/// Extent of a set of points from the camera, and in world space.
#[derive(Clone)]
pub(crate) struct Bounds {
    view: View,
    /// Extent of all points to the right, left, up and down, each along a side of the view frustum. It
    /// determines the distance of the camera.
    reach: [f32; 4],
    slopes: [f32; 2],
    pub low: Vec3,
    pub high: Vec3,
}

impl Bounds {
    pub(crate) fn new(view: View, width: usize, height: usize) -> Self {
        let (width, height) = (width as f32, height as f32);
        let shorter = width.min(height);
        let open = HALF_VIEW * (1.0 - MARGIN);
        // A wide image shows more at the sides; its content does not shrink.
        let slopes = [open * width / shorter, open * height / shorter];
        let (low, high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        Self { view, reach: [f32::NEG_INFINITY; 4], slopes, low, high }
    }

    pub(crate) fn add(&mut self, points: &[Vec3]) {
        let axes = self.view.axes();
        for &p in points.iter().filter(|p| p.iter().all(|x| x.is_finite())) {
            let [x, y, z] = axes.map(|axis| dot(axis, p));
            let lean = self.slopes.map(|s| s * -z);
            for (reach, found) in
                self.reach.iter_mut().zip([x + lean[0], lean[0] - x, y + lean[1], lean[1] - y])
            {
                *reach = reach.max(found);
            }
            self.low = core::array::from_fn(|k| self.low[k].min(p[k]));
            self.high = core::array::from_fn(|k| self.high[k].max(p[k]));
        }
    }

    /// Whether there are points, all in the range of the computation.
    pub(crate) fn is_usable(&self) -> bool {
        (0..3).all(|k| self.high[k] - self.low[k] < 1e12 && self.low[k] <= self.high[k])
    }

    /// Returns bounds that contain those of all views, with one distance and one centre.
    pub(crate) fn around(views: &[Self]) -> Self {
        let mut it = views[0].clone();
        for (k, reach) in it.reach.iter_mut().enumerate() {
            // Extents relative to the centre of the points, around which the camera circles.
            let from_middle = |v: &Self| {
                let [right, up, ahead] = v.view.axes();
                let middle = lerp(v.low, v.high, 0.5);
                let lean = v.slopes[k / 2] * -dot(ahead, middle);
                let side = dot(if k < 2 { right } else { up }, middle);
                v.reach[k] - lean - if k % 2 == 0 { side } else { -side }
            };
            *reach = views.iter().map(from_middle).fold(f32::NEG_INFINITY, f32::max);
        }
        it.reach[0] = it.reach[0].max(it.reach[1]);
        it.reach[1] = it.reach[0];
        it
    }

    /// Returns these bounds, computed by [`Self::around`], as seen from the direction of one of its views.
    pub(crate) fn facing(&self, view: View) -> Self {
        let [right, up, ahead] = view.axes();
        let middle = lerp(self.low, self.high, 0.5);
        let mut it = Self { view, ..self.clone() };
        for (k, reach) in it.reach.iter_mut().enumerate() {
            let side = dot(if k < 2 { right } else { up }, middle);
            *reach += self.slopes[k / 2] * -dot(ahead, middle) + if k % 2 == 0 { side } else { -side };
        }
        it
    }

    /// Returns the nearest camera that sees all points, for an image of this size.
    pub(crate) fn camera(&self, width: usize, height: usize) -> Camera {
        let axes = self.view.axes();
        let [right, left, up, down] = self.reach;
        let [slope_x, slope_y] = self.slopes;
        let size = (0..3).map(|k| self.high[k] - self.low[k]).fold(1e-6, f32::max);
        // At distance `d` behind the origin, the rightmost point is on the edge if `right = d * slope + x`.
        let behind = ((right + left) / (2.0 * slope_x)).max((up + down) / (2.0 * slope_y));
        let eye = [(right - left) / 2.0, (up - down) / 2.0, -behind];
        let eye = (0..3).fold([0.0; 3], |at, k| add_scaled(at, axes[k], eye[k]));
        // Keeps a single point in front of the near plane.
        let eye = add_scaled(eye, axes[2], -size * 1e-3);
        let focal = width.min(height) as f32 / 2.0 / HALF_VIEW;
        let [light_x, light_y, light_z] = normalize(LIGHT);
        let flat_back = normalize([-axes[2][0], 0.0, -axes[2][2]]);
        let light = add(add(scale(axes[0], light_x), [0.0, light_y, 0.0]), scale(flat_back, light_z));
        Camera { eye, axes, lens: Lens { focal, near: size * 1e-3 }, light: normalize(light) }
    }
}

impl Camera {
    /// Converts a point from world space to camera space: right, up and forward of the eye.
    pub(crate) fn place(&self, p: Vec3) -> Vec3 {
        let from = sub(p, self.eye);
        self.axes.map(|axis| dot(axis, from))
    }

    /// Projects a point to pixels from the centre of the image, to the right and up; `None` for a point
    /// nearer than the near plane.
    pub(crate) fn project(&self, p: Vec3) -> Option<[f32; 2]> {
        let [x, y, ahead] = self.place(p);
        let scale = self.lens.focal / ahead;
        (ahead > self.lens.near).then_some([x * scale, y * scale])
    }

    fn ray(&self, x: f32, y: f32) -> Vec3 {
        let [right, up, ahead] = self.axes;
        normalize(add(scale(ahead, self.lens.focal), add(scale(right, x), scale(up, y))))
    }

    /// Returns the light that a surface reflects to the eye. `base` is linear colour, `normal` has unit
    /// length.
    pub(crate) fn shade(&self, base: Vec3, normal: Vec3, at: Vec3) -> Vec3 {
        let to_eye = normalize(sub(self.eye, at));
        // Wrapped diffuse light, as used for skin and cloth.
        let lit = ((dot(normal, self.light) + 0.15) / 1.15).max(0.0);
        let sky = lerp([0.20, 0.19, 0.20], [0.42, 0.47, 0.56], normal[1] * 0.5 + 0.5);
        let half = normalize(add(self.light, to_eye));
        let gloss = dot(normal, half).max(0.0).powi(32) * 0.06;
        let rim = (1.0 - dot(normal, to_eye).max(0.0)).powi(3) * (0.10 + 0.10 * normal[1].max(0.0));
        core::array::from_fn(|k| {
            soften(base[k] * (sky[k] + lit * [1.00, 0.94, 0.84][k]) + gloss * lit + rim * sky[k])
        })
    }
}

/// Tone mapping: linear up to a knee, then an exponential roll-off towards white.
fn soften(light: f32) -> f32 {
    const KNEE: f32 = 0.55;
    if light > KNEE { KNEE + (1.0 - KNEE) * (1.0 - (-(light - KNEE) / (1.0 - KNEE)).exp()) } else { light }
}

/// The ground under a character, with a grid that shows scale and movement.
pub(crate) struct Ground {
    height: f32,
    middle: Vec3,
    /// Distance at which the ground has faded out.
    radius: f32,
    /// Distance between two lines of the grid.
    spacing: f32,
}

/// Side of a shadow in texels, and side in a scene that is wider than the character.
pub(crate) const SHADOW: usize = 192;
pub(crate) const FINE_SHADOW: usize = 512;

/// Fraction of light that is blocked on a square of ground around the character, 0 to 1.
pub(crate) struct Shadow {
    texels: Vec<f32>,
    /// Texels along a side.
    side: usize,
}

impl Ground {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        let (low, high) = (bounds.low, bounds.high);
        let middle = lerp(low, high, 0.5);
        let extent = (0..3).map(|k| high[k] - low[k]).fold(1e-6, f32::max);
        // The spacing is one, two or five times a power of ten, so that about eight lines pass under the
        // character.
        let rough = extent / 6.0;
        let power = 10f32.powf(rough.log10().floor());
        let spacing = [5.0, 2.0, 1.0].into_iter().find(|m| m * power <= rough).unwrap_or(1.0) * power;
        Self { height: low[1], middle, radius: extent * 1.9, spacing }
    }

    /// Returns the point at which a ray from the eye meets the ground, and its distance.
    fn hit(&self, camera: &Camera, ray: Vec3) -> Option<(Vec3, f32)> {
        let far = (self.height - camera.eye[1]) / ray[1];
        (far > 0.0 && far.is_finite()).then(|| (add_scaled(camera.eye, ray, far), far))
    }

    /// Converts a point from world space to the square of the shadow, -1 to 1.
    fn on_square(&self, p: Vec3) -> [f32; 2] {
        [(p[0] - self.middle[0]) / self.radius, (p[2] - self.middle[2]) / self.radius]
    }

    /// Returns the fraction of light to a point that is blocked, 0 to 1.
    pub(crate) fn shade(&self, shadow: &Shadow, light: Vec3, at: Vec3) -> f32 {
        shadow.at(self.on_square(self.fallen(at, light)))
    }

    /// Returns the position of a point's shadow on the ground.
    fn fallen(&self, p: Vec3, light: Vec3) -> Vec3 {
        add_scaled(p, light, -(p[1] - self.height) / light[1])
    }

    /// Computes the shadow of triangles in world space, with `side` texels along a side.
    pub(crate) fn shadow(
        &self,
        light: Vec3,
        triangles: impl Iterator<Item = [Vec3; 3]>,
        side: usize,
    ) -> Shadow {
        let mut canvas = Canvas::new(side, side);
        let lens = Lens { focal: side as f32 / 2.0, near: 0.5 };
        for triangle in triangles {
            let corners = triangle.map(|p| {
                let [x, y] = self.on_square(self.fallen(p, light));
                Corner { at: [x, -y, 1.0], values: [] }
            });
            canvas.triangle(lens, &corners, |_, _| Some([1.0; 4]));
        }
        let mut texels: Vec<f32> = canvas.pixels().map(|p| p[0]).collect();
        // Three box filters approximate a Gaussian.
        for _ in 0..3 {
            blur(&mut texels, side, 2);
        }
        Shadow { texels, side }
    }

    /// Computes the ground at every pixel of an image.
    pub(crate) fn image(&self, camera: &Camera, size: [u32; 2]) -> GroundImage {
        let [width, height] = size.map(|side| side as usize);
        let pixels = centres(width, height).map(|[x, y]| self.pixel_at(camera, x, y)).collect();
        GroundImage { pixels, half_height: height as f32 / 2.0 }
    }

    fn pixel_at(&self, camera: &Camera, x: f32, y: f32) -> GroundPixel {
        let none = GroundPixel { share: 0.0, grid: 0.0, square: [0.0; 2] };
        let Some((at, far)) = self.hit(camera, camera.ray(x, y)) else { return none };
        let off = sub(at, [self.middle[0], self.height, self.middle[2]]);
        let fade = 1.0 - (dot(off, off) / (self.radius * self.radius)).min(1.0);
        if fade <= 0.0 {
            return none;
        }
        // A line is at least a pixel wide. A line that should be thinner is drawn fainter instead.
        let pixel = far / camera.lens.focal;
        let line = |x: f32| {
            let off = (x / self.spacing - (x / self.spacing).round()).abs() * self.spacing;
            let wide = self.spacing * 0.012 + pixel;
            (1.0 - off / wide).max(0.0) * (self.spacing * 0.03 / wide).min(1.0)
        };
        let grid = line(at[0]).max(line(at[2])) * 0.5;
        GroundPixel { share: fade * fade * (3.0 - 2.0 * fade), grid, square: self.on_square(at) }
    }
}

/// The ground at a pixel.
#[derive(Clone, Copy)]
struct GroundPixel {
    /// Fraction of the pixel's colour; the background has the rest.
    share: f32,
    /// Share of a line of the grid.
    grid: f32,
    /// Place on the square of the shadow.
    square: [f32; 2],
}

/// The ground at every pixel of an image. It does not change while the camera stands still.
pub(crate) struct GroundImage {
    pixels: Vec<GroundPixel>,
    half_height: f32,
}

impl GroundImage {
    /// Draws the background and the ground with its shadow.
    pub(crate) fn draw(&self, canvas: &mut Canvas, shadow: &Shadow) {
        canvas.clear(|at, [_, y]| {
            let t = (y / self.half_height * 0.5 + 0.5).clamp(0.0, 1.0);
            let wall = lerp([0.60, 0.63, 0.66], [0.80, 0.84, 0.88], t);
            let GroundPixel { share, grid, square } = self.pixels[at];
            if share <= 0.0 {
                return wall;
            }
            let floor = lerp([0.70, 0.71, 0.72], [0.42, 0.45, 0.49], grid);
            let floor = lerp(floor, scale(floor, 0.42), shadow.at(square));
            lerp(wall, floor, share)
        });
    }
}

impl Shadow {
    fn at(&self, [x, y]: [f32; 2]) -> f32 {
        let place = |v: f32| ((v * 0.5 + 0.5) * self.side as f32 - 0.5).clamp(0.0, (self.side - 2) as f32);
        let (x, y) = (place(x), place(y));
        let (column, row) = (x as usize, y as usize);
        let (right, low) = (x - column as f32, y - row as f32);
        let mix = |row: usize| {
            let at = row * self.side + column;
            self.texels[at] + (self.texels[at + 1] - self.texels[at]) * right
        };
        mix(row) + (mix(row + 1) - mix(row)) * low
    }
}

/// Returns the mean over a square of `2 * radius + 1` texels.
fn blur(texels: &mut [f32], side: usize, radius: usize) {
    let mut line = vec![0.0; side];
    for (stride, step) in [(side, 1), (1, side)] {
        for start in (0..side).map(|i| i * stride) {
            for (i, out) in line.iter_mut().enumerate() {
                let range = i.saturating_sub(radius)..(i + radius + 1).min(side);
                let sum: f32 = range.map(|j| texels[start + j * step]).sum();
                *out = sum / (2 * radius + 1) as f32;
            }
            for (i, v) in line.iter().enumerate() {
                texels[start + i * step] = *v;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_camera_shows_all_points_and_no_more() {
        let points: Vec<Vec3> = (0..200)
            .map(|i| {
                let i = i as f32;
                [sin_cos(i).0 * 3.0 + 50.0, sin_cos(i * 1.7).0 * 9.0, sin_cos(i * 2.3).0]
            })
            .collect();
        for (yaw, pitch) in [(0.0, 0.0), (0.6, 0.2), (3.0, -0.4), (-1.5, 1.2)] {
            for (width, height) in [(640, 640), (300, 900), (900, 300)] {
                let mut bounds = Bounds::new(View { yaw, pitch }, width, height);
                bounds.add(&points);
                bounds.add(&[[f32::NAN, 0.0, 0.0]]);
                let camera = bounds.camera(width, height);
                let mut used = [0.0_f32; 2];
                for &p in &points {
                    let [x, y] = camera.project(p).expect("in front of the eye");
                    used = [
                        used[0].max(x.abs() * 2.0 / width as f32),
                        used[1].max(y.abs() * 2.0 / height as f32),
                    ];
                }
                let fullest = used[0].max(used[1]);
                assert!((0.85..0.95).contains(&fullest), "{yaw} {pitch} {width}x{height}: {used:?}");
            }
        }
    }

    #[test]
    fn points_without_a_place_give_no_bounds() {
        let mut bounds = Bounds::new(View { yaw: 0.0, pitch: 0.0 }, 10, 10);
        assert!(!bounds.is_usable());
        bounds.add(&[[f32::NAN; 3], [f32::INFINITY; 3]]);
        assert!(!bounds.is_usable());
        bounds.add(&[[1.0; 3]]);
        assert!(bounds.is_usable());
    }
}
