//! Convex regions in the plane of swings, and the ellipses and polygons around them.

use alloc::vec::Vec;

use crate::limits::Swing;
use crate::limits::border::area_and_middle;
use crate::maps::Vec64;
use condyle_base::math::scalar::{atan2_f64, sqrt_f64};
use condyle_base::math::vectors::cross;

type Point = [f64; 2];

/// A convex polygon with counterclockwise corners.
pub(super) struct Region {
    corners: Vec<Point>,
}

/// Maximum number of corners of a polygon.
const CORNERS: usize = 12;
/// Maximum area of an ellipse relative to the region.
const LOOSE: f64 = 1.25;
/// Half of the minimum width of a region: the f32 rounding error of a swing.
const THIN: f64 = 1e-5;

impl Region {
    /// Convex hull of points. Andrew 1979.
    pub(super) fn around(mut points: Vec<Point>) -> Self {
        points.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        points.dedup();
        let mut corners: Vec<Point> = Vec::new();
        for backward in [false, true] {
            let first = corners.len();
            for at in 0..points.len() {
                let p = points[if backward { points.len() - 1 - at } else { at }];
                while corners.len() >= first + 2
                    && turned(corners[corners.len() - 2], corners[corners.len() - 1], p) <= 0.0
                {
                    corners.pop();
                }
                corners.push(p);
            }
            // The last corner is also the first one of the other half.
            if points.len() > 1 {
                corners.pop();
            }
        }
        if points.len() == 1 {
            corners.truncate(1);
        }
        Self { corners }
    }

    /// Distance from the origin to the farthest corner.
    pub(super) fn reach(&self) -> f64 {
        self.corners.iter().map(|[x, y]| sqrt_f64(x * x + y * y)).fold(0.0, f64::max)
    }

    fn area(&self) -> f64 {
        area_and_middle(&self.corners).0
    }

    /// Centre of the bounding rectangle with the smallest area, and direction of its longer side.
    pub(super) fn middle(&self) -> (Point, Point) {
        let mut best = (f64::INFINITY, [0.0; 2], [1.0, 0.0]);
        for (at, from) in self.corners.iter().enumerate() {
            let to = self.corners[(at + 1) % self.corners.len()];
            let way = [to[0] - from[0], to[1] - from[1]];
            let size = sqrt_f64(way[0] * way[0] + way[1] * way[1]);
            if size <= 0.0 {
                continue;
            }
            let along = way.map(|v| v / size);
            let [[x, wide], [y, high]] = self.extent(along);
            if wide * high < best.0 {
                let middle = [x * along[0] - y * along[1], x * along[1] + y * along[0]];
                let longer = if wide >= high { along } else { [-along[1], along[0]] };
                best = (wide * high, middle, longer);
            }
        }
        (best.1, best.2)
    }

    /// Centre and width of the region along a direction, and perpendicular to it.
    fn extent(&self, along: Point) -> [[f64; 2]; 2] {
        [along, [-along[1], along[0]]].map(|way| {
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            for corner in &self.corners {
                let at = corner[0] * way[0] + corner[1] * way[1];
                (least, most) = (least.min(at), most.max(at));
            }
            [0.5 * (least + most), most - least]
        })
    }

    /// The region with a margin on all sides, in radians of swing.
    pub(super) fn widened(&self, margin: f64) -> Self {
        if margin <= 0.0 {
            return Self { corners: self.corners.clone() };
        }
        // Corners of an octagon around a circle with the margin as radius. A rotation by 45° needs no sine
        // function.
        const TURN: Point = [core::f64::consts::FRAC_1_SQRT_2; 2];
        let mut points = Vec::with_capacity(8 * self.corners.len());
        for &[x, y] in &self.corners {
            // Length of the margin at this point of the plane. An octagon's corners are 1.082 times as far
            // away as its sides.
            let by = 1.082_392_200_3 * margin * (1.0 + x * x + y * y) / 4.0;
            let mut way = [by, 0.0];
            for _ in 0..8 {
                points.push([x + way[0], y + way[1]]);
                way = [way[0] * TURN[0] - way[1] * TURN[1], way[0] * TURN[1] + way[1] * TURN[0]];
            }
        }
        Self::around(points)
    }

    /// An ellipse about the origin, or a polygon if the ellipse is too large.
    pub(super) fn swing(&self, side: Vec64) -> Swing {
        let side = side.map(|v| v as f32);
        let axes = self.ellipse();
        let around = core::f64::consts::PI * axes[0] * axes[1];
        if around <= LOOSE * self.area() || self.area() < THIN * THIN || self.corners.len() < 3 {
            return Swing::Ellipse { side, angles: axes.map(|v| (4.0 * atan2_f64(v, 1.0)) as f32) };
        }
        let corners = self.simpler(CORNERS).into_iter().map(|[x, y]| {
            let size = sqrt_f64(x * x + y * y);
            let by = if size > 0.0 { 4.0 * atan2_f64(size, 1.0) / size } else { 0.0 };
            [x, y].map(|v| (v * by) as f32)
        });
        Swing::Polygon { side, corners: corners.collect() }
    }

    /// Half axes of an ellipse about the origin that contains the region: the smallest one among several
    /// aspect ratios.
    fn ellipse(&self) -> Point {
        let (mut wide, mut high) = (THIN, THIN);
        for [x, y] in &self.corners {
            (wide, high) = (wide.max(x.abs()), high.max(y.abs()));
        }
        let mut best = (f64::INFINITY, [wide, high]);
        for shape in [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.7, 2.0] {
            let (a, b) = (wide * shape, high);
            let far = |[x, y]: Point| sqrt_f64((x / a) * (x / a) + (y / b) * (y / b));
            // Slightly enlarged, to cover f32 rounding.
            let by = self.corners.iter().map(|&p| far(p)).fold(0.0, f64::max).max(1e-3) * (1.0 + 1e-6);
            if a * b * by * by < best.0 {
                best = (a * b * by * by, [a * by, b * by]);
            }
        }
        best.1
    }

    /// A surrounding polygon with fewer corners. Each step removes the edge that adds the smallest area, and
    /// extends its neighbours until they meet.
    fn simpler(&self, most: usize) -> Vec<Point> {
        let mut corners = self.corners.clone();
        while corners.len() > most {
            let count = corners.len();
            let mut best: Option<(f64, usize, Point)> = None;
            for at in 0..count {
                let [a, b, c, d] = [0, 1, 2, 3].map(|i| corners[(at + i) % count]);
                let Some(meet) = meeting(a, b, c, d) else { continue };
                let added = 0.5 * turned(b, meet, c).abs();
                if best.is_none_or(|best| added < best.0) {
                    best = Some((added, at, meet));
                }
            }
            let Some((_, at, meet)) = best else { break };
            corners[(at + 1) % count] = meet;
            corners.remove((at + 2) % count);
        }
        corners
    }
}

/// Twice the signed area of a triangle, positive if counterclockwise.
fn turned(a: Point, b: Point, c: Point) -> f64 {
    let [u, v] = [[b[0] - a[0], b[1] - a[1], 0.0], [c[0] - a[0], c[1] - a[1], 0.0]];
    cross(u, v)[2]
}

/// Intersection of the ray from `a` through `b` and the ray from `d` through `c`, if it is beyond `b` and
/// `c`.
fn meeting(a: Point, b: Point, c: Point, d: Point) -> Option<Point> {
    let (u, v) = ([b[0] - a[0], b[1] - a[1]], [c[0] - d[0], c[1] - d[1]]);
    let across = u[0] * v[1] - u[1] * v[0];
    let w = [d[0] - a[0], d[1] - a[1]];
    let t = (w[0] * v[1] - w[1] * v[0]) / across;
    let s = (w[0] * u[1] - w[1] * u[0]) / across;
    // Rejects points so far outside that they are not valid swings.
    let p = [a[0] + t * u[0], a[1] + t * u[1]];
    (t >= 1.0 && s >= 1.0 && p[0] * p[0] + p[1] * p[1] < 0.99).then_some(p)
}
