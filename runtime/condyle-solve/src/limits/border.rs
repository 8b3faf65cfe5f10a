//! Borders of the allowed swings and twists, and the projection onto them, hard or soft.

use alloc::vec::Vec;

use condyle_base::math::scalar::{atan2_f64, sin_cos_f64, sqrt_f64};

/// Violations up to this size, in the plane of swings, are ignored: the rounding error of an f32 rotation.
pub(super) const ROUNDED: f64 = 1e-7;

type Point = [f64; 2];

/// Distance by which a soft border moves a position inwards. `beyond` is the distance of the position outside
/// the border, negative inside. The softening starts `half` before the border. A position `half` beyond it,
/// or more, is moved back to the border. The result is the mean over all hard borders within `half` of this
/// one.
fn taken(beyond: f64, half: f64) -> f64 {
    if beyond >= half {
        beyond
    } else if beyond <= -half {
        0.0
    } else {
        (beyond + half) * (beyond + half) / (4.0 * half)
    }
}

/// Allowed swings, in the plane of swings.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Border {
    Hinge,
    Circle(f64),
    Ellipse([f64; 2]),
    Polygon {
        corners: Vec<Point>,
        /// `Some` if the border is soft.
        core: Option<Core>,
    },
    Free,
}

/// Part of a convex polygon that the soft border leaves unchanged.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Core {
    corners: Vec<Point>,
    /// Distance between the core and the border.
    depth: f64,
}

impl Border {
    /// Projects `p` onto the allowed swings; `None` if the result equals `p`. `soft` is the soft fraction of
    /// the distance from the middle to the border. With 0 the result is the nearest allowed point.
    pub(super) fn nearest(&self, p: Point, soft: f64) -> Option<Point> {
        let size = p[0] * p[0] + p[1] * p[1];
        match self {
            Self::Free => None,
            Self::Hinge => (size > ROUNDED * ROUNDED).then_some([0.0; 2]),
            Self::Circle(most) => {
                let begin = most * (1.0 - soft) + ROUNDED;
                if size <= begin * begin {
                    return None;
                }
                let far = sqrt_f64(size);
                let less = taken(far - most, soft * most);
                // Far away, the difference `far - less` would have no accurate digits.
                let by = if less > far - most { (far - less) / far } else { most / far };
                (less > ROUNDED).then(|| p.map(|v| v * by))
            }
            Self::Ellipse(axes) => near_ellipse(*axes, p, soft),
            Self::Polygon { core: Some(core), .. } if soft > 0.0 => core.nearest(p),
            Self::Polygon { corners, .. } => nearest_in_polygon(corners, p),
        }
    }
}

/// Projects along the normal of the ellipse. The point `x a²/(t + a²)`, and the same for y, is on the border
/// for one `t`, which is negative inside. The equation for `t` is convex and falls from a positive start, so
/// Newton's method converges from one side. Eberly, "Distance from a point to an ellipse".
///
/// A soft border reduces `t`, by the same rule along the whole border. At the ends of the long axis, the soft
/// part is a fraction of the radius of curvature, the smallest one of the border. Therefore no two normals
/// meet in the soft part.
pub(super) fn near_ellipse([a, b]: [f64; 2], [x, y]: Point, soft: f64) -> Option<Point> {
    let (a2, b2) = (a * a, b * b);
    let value = |t: f64| {
        let (u, v) = (a * x / (t + a2), b * y / (t + b2));
        (u * u + v * v - 1.0, -2.0 * (u * u / (t + a2) + v * v / (t + b2)))
    };
    // Slightly reduced, because with `soft` = 1 the soft part would reach the points where normals meet.
    let half = soft * a2.min(b2) * (1.0 - 1e-9);
    let mut t = -half;
    // NaN fails this comparison and the final one, so that the result is `None`.
    if value(t).0 <= 0.0 {
        return None;
    }
    // Starts where the larger of the two terms is 1. From a start far below the root, each step would only
    // multiply `t + a²` by 1.5.
    t = t.max(a * x.abs() - a2).max(b * y.abs() - b2);
    for _ in 0..64 {
        let (over, slope) = value(t);
        let step = -over / slope;
        t += step;
        if step <= 1e-15 * t.abs() {
            break;
        }
    }
    let on_border = [x * a2 / (t + a2), y * b2 / (t + b2)];
    if half == 0.0 {
        return (far_from(on_border, [x, y]) > ROUNDED).then_some(on_border);
    }
    let less = taken(t, half);
    let normal = [on_border[0] / a2, on_border[1] / b2];
    let moved = less * sqrt_f64(normal[0] * normal[0] + normal[1] * normal[1]);
    let left = t - less;
    (moved > ROUNDED).then_some([on_border[0] + left * normal[0], on_border[1] + left * normal[1]])
}

fn far_from(p: Point, q: Point) -> f64 {
    let way = [p[0] - q[0], p[1] - q[1]];
    sqrt_f64(way[0] * way[0] + way[1] * way[1])
}

/// Rotation of a swing in its plane, about the middle, that brings it into an ellipse or as close as
/// possible: sine and cosine. `None` if it is inside.
pub(super) fn turn_into_ellipse([a, b]: [f64; 2], p: Point) -> Option<[f64; 2]> {
    // Enlarged, because at the end of a narrow ellipse a rounding error of the radius would cause a large
    // rotation.
    let (a, b) = (a + ROUNDED, b + ROUNDED);
    let size = p[0] * p[0] + p[1] * p[1];
    let (u, v) = (p[0] / a, p[1] / b);
    if u * u + v * v <= 1.0 || size == 0.0 || a == b {
        return None;
    }
    // The point where the circle about the middle crosses the border, or the end of the long axis if it does
    // not.
    let (long, short) = (a.max(b), a.min(b));
    let square = (short * short) * ((long * long - size) / (long * long - short * short)).clamp(0.0, 1.0);
    let (on_short, on_long) = (sqrt_f64(square), sqrt_f64((size - square).max(0.0)));
    let [x, y] = if a > b { [on_long, on_short] } else { [on_short, on_long] };
    let [x, y] = [x.copysign(p[0]), y.copysign(p[1])];
    Some([(p[0] * y - p[1] * x) / size, (p[0] * x + p[1] * y) / size])
}

pub(super) fn nearest_in_polygon(corners: &[Point], p: Point) -> Option<Point> {
    let mut inside = false;
    let mut best = (f64::INFINITY, p);
    let mut from = *corners.last()?;
    for &to in corners {
        // Even-odd rule: counts the crossings of a ray along x with the border.
        if (from[1] > p[1]) != (to[1] > p[1]) {
            let crossing = from[0] + (p[1] - from[1]) / (to[1] - from[1]) * (to[0] - from[0]);
            inside ^= p[0] < crossing;
        }
        let edge = [to[0] - from[0], to[1] - from[1]];
        let size = edge[0] * edge[0] + edge[1] * edge[1];
        let along = (p[0] - from[0]) * edge[0] + (p[1] - from[1]) * edge[1];
        let along = if size > 0.0 { (along / size).clamp(0.0, 1.0) } else { 0.0 };
        let at = [from[0] + along * edge[0], from[1] + along * edge[1]];
        let far = (at[0] - p[0]) * (at[0] - p[0]) + (at[1] - p[1]) * (at[1] - p[1]);
        if far < best.0 {
            best = (far, at);
        }
        from = to;
    }
    (!inside && best.0 > ROUNDED * ROUNDED).then_some(best.1)
}

/// Tolerance of the convexity test: f32 rounding may move a corner this far.
const ROUNDED_CORNER: f64 = 1e-6;

impl Core {
    /// Maximum number of corners, because the time grows with its square.
    pub(super) const MAX_CORNERS: usize = 1000;

    /// Returns the core of a polygon. `soft` is a fraction of the distance from the centroid to the nearest
    /// edge. `None` if the polygon is not convex, or has no area.
    pub(super) fn new(corners: &[Point], soft: f64) -> Option<Self> {
        if corners.len() > Self::MAX_CORNERS {
            return None;
        }
        let mut corners = corners.to_vec();
        let (area, middle) = area_and_middle(&corners);
        if area < 0.0 {
            corners.reverse();
        }
        let mut depth = f64::INFINITY;
        for edge in edges(&corners) {
            if corners.iter().any(|&c| edge.height(c) < -ROUNDED_CORNER) {
                return None;
            }
            depth = depth.min(edge.height(middle));
        }
        // Also rejects NaN.
        if !(depth > 1e-9 && depth < f64::INFINITY) {
            return None;
        }
        let depth = depth * soft;
        let mut core = corners.clone();
        for edge in edges(&corners) {
            core = edge.cut(&core, depth);
        }
        if core.is_empty() {
            core.push(middle);
        }
        Some(Self { corners: core, depth })
    }

    /// Points of the core stay unchanged. Points outside are moved towards the core, to at most `depth` away,
    /// so the border is rounded at the corners.
    fn nearest(&self, p: Point) -> Option<Point> {
        let [x, y] = nearest_in_polygon(&self.corners, p)?;
        let way = [p[0] - x, p[1] - y];
        let far = sqrt_f64(way[0] * way[0] + way[1] * way[1]);
        let less = taken(far - self.depth, self.depth);
        let by = (far - less) / far;
        (less > ROUNDED).then_some([x + way[0] * by, y + way[1] * by])
    }
}

/// Signed area, negative if the corners are clockwise, and centroid.
pub(super) fn area_and_middle(corners: &[Point]) -> (f64, Point) {
    let (mut twice, mut sum) = (0.0, [0.0; 2]);
    let Some(&origin) = corners.first() else { return (0.0, sum) };
    let mut from = [0.0; 2];
    for corner in corners {
        let to = [corner[0] - origin[0], corner[1] - origin[1]];
        let part = from[0] * to[1] - from[1] * to[0];
        twice += part;
        sum = [sum[0] + part * (from[0] + to[0]), sum[1] + part * (from[1] + to[1])];
        from = to;
    }
    (0.5 * twice, [origin[0] + sum[0] / (3.0 * twice), origin[1] + sum[1] / (3.0 * twice)])
}

/// Line of an edge: a point, and the normal to its left.
struct Edge {
    from: Point,
    left: Point,
}

/// Edges of non-zero length.
fn edges(corners: &[Point]) -> impl Iterator<Item = Edge> {
    (0..corners.len()).filter_map(|at| {
        let (from, to) = (corners[at], corners[(at + 1) % corners.len()]);
        let way = [to[0] - from[0], to[1] - from[1]];
        let size = sqrt_f64(way[0] * way[0] + way[1] * way[1]);
        (size > 1e-12).then(|| Edge { from, left: [-way[1] / size, way[0] / size] })
    })
}

impl Edge {
    /// Signed distance of a point from the line, positive on the left.
    fn height(&self, p: Point) -> f64 {
        (p[0] - self.from[0]) * self.left[0] + (p[1] - self.from[1]) * self.left[1]
    }

    /// Part of a convex polygon that is at least `least` to the left of the line. Sutherland and Hodgman
    /// 1974.
    fn cut(&self, corners: &[Point], least: f64) -> Vec<Point> {
        let mut cut = Vec::with_capacity(corners.len() + 1);
        for (at, &from) in corners.iter().enumerate() {
            let to = corners[(at + 1) % corners.len()];
            let [a, b] = [from, to].map(|p| self.height(p) - least);
            if a >= 0.0 {
                cut.push(from);
            }
            if (a >= 0.0) != (b >= 0.0) {
                let t = a / (a - b);
                cut.push([from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1])]);
            }
        }
        cut
    }
}

/// Angles within `half` of `middle`. Each is stored as sine and cosine of half its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Twist {
    pub(super) middle: [f64; 2],
    pub(super) half: [f64; 2],
    /// Half of `half`, in radians.
    quarter: f64,
}

impl Twist {
    /// Range between two angles, at most a full turn apart.
    pub(super) fn new(least: f64, most: f64) -> Self {
        let half = |angle: f64| {
            let (sin, cos) = sin_cos_f64(angle / 2.0);
            [sin, cos]
        };
        let reach = ((most - least) / 2.0).min(core::f64::consts::PI);
        Self { middle: half((least + most) / 2.0), half: half(reach), quarter: reach / 2.0 }
    }

    /// Sine and cosine of half the rotation that brings an angle back to the nearer end of the range. `None`
    /// if the angle is in the range.
    pub(super) fn turn_back(&self, [sin, cos]: [f64; 2]) -> Option<[f64; 2]> {
        let ([ms, mc], [hs, hc]) = (self.middle, self.half);
        let [s, c] = [sin * mc - cos * ms, cos * mc + sin * ms];
        let [s, c] = if c < 0.0 { [-s, -c] } else { [s, c] };
        let over = s.abs() * hc - c * hs;
        (over > 0.0).then(|| [-over.copysign(s), c * hc + s.abs() * hs])
    }

    /// Clamps an angle to the nearer end, or moves it towards the middle in the soft part. `None` if the
    /// result equals the input.
    pub(super) fn nearest(&self, [sin, cos]: [f64; 2], soft: f64) -> Option<[f64; 2]> {
        let ([ms, mc], [hs, hc]) = (self.middle, self.half);
        let [s, c] = [sin * mc - cos * ms, cos * mc + sin * ms];
        let [s, c] = if c < 0.0 { [-s, -c] } else { [s, c] };
        let [hs, hc] = if soft > 0.0 {
            let turned = atan2_f64(s.abs(), c);
            let less = taken(turned - self.quarter, soft * self.quarter);
            if less <= ROUNDED {
                return None;
            }
            let (sin, cos) = sin_cos_f64(turned - less);
            [sin, cos]
        } else {
            // Sine of half the excess.
            if s.abs() * hc - c * hs <= ROUNDED {
                return None;
            }
            [hs, hc]
        };
        let s = if s < 0.0 { -hs } else { hs };
        Some([s * mc + hc * ms, hc * mc - s * ms])
    }
}

/// Tangent of a quarter of an angle.
pub(super) fn quarter(angle: f64) -> f64 {
    let (sin, cos) = sin_cos_f64(angle / 4.0);
    sin / cos
}
