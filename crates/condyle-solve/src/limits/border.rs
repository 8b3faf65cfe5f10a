//! The borders of what is allowed: of swings, in the plane of them, and of twists; and what becomes of what comes near.

use alloc::vec::Vec;

use condyle_base::math::scalar::{atan2_f64, sin_cos_f64, sqrt_f64};

/// Within this of the border nothing is changed: what f32 leaves of a rotation, in the plane of swings.
pub(super) const ROUNDED: f64 = 1e-7;

type Point = [f64; 2];

/// How much of a way is taken back that ends `beyond` a border, which is negative before it. From `half` before the border on it slows down, until
/// it stands still at the border `half` behind it: the mean of what hard borders within `half` of this one would take.
fn taken(beyond: f64, half: f64) -> f64 {
    if beyond >= half {
        beyond
    } else if beyond <= -half {
        0.0
    } else {
        (beyond + half) * (beyond + half) / (4.0 * half)
    }
}

/// What swings are allowed, in the plane of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Border {
    Hinge,
    Circle(f64),
    Ellipse([f64; 2]),
    Polygon {
        corners: Vec<Point>,
        /// Where the border is soft.
        core: Option<Core>,
    },
    Free,
}

/// The part of a convex polygon that is far from its border.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Core {
    corners: Vec<Point>,
    /// How far the border is away from it.
    depth: f64,
}

impl Border {
    /// The point that becomes of `p`, where that is another one. `soft` is the part of the way from the middle to the border that is slowed down; with 0 the
    /// nearest point that is allowed.
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
                // Of what is far away the difference has no digits left.
                let by = if less > far - most { (far - less) / far } else { most / far };
                (less > ROUNDED).then(|| p.map(|v| v * by))
            }
            Self::Ellipse(axes) => near_ellipse(*axes, p, soft),
            Self::Polygon { core: Some(core), .. } if soft > 0.0 => core.nearest(p),
            Self::Polygon { corners, .. } => nearest_in_polygon(corners, p),
        }
    }
}

/// Along the normal of the ellipse: `x a²/(t + a²)` and so for y is on the border for a t that is negative inside. The equation for it is convex and falls
/// from what is positive at its start, so Newton's method comes to it from one side. Eberly, "Distance from a point to an ellipse".
///
/// A soft border slows t down, which is the same on the whole border: it is as wide as a part of the radius of curvature where that is least. So
/// no two normals meet in it.
pub(super) fn near_ellipse([a, b]: [f64; 2], [x, y]: Point, soft: f64) -> Option<Point> {
    let (a2, b2) = (a * a, b * b);
    let value = |t: f64| {
        let (u, v) = (a * x / (t + a2), b * y / (t + b2));
        (u * u + v * v - 1.0, -2.0 * (u * u / (t + a2) + v * v / (t + b2)))
    };
    // Not to the middle itself, where normals do meet.
    let half = soft * a2.min(b2) * (1.0 - 1e-9);
    let mut t = -half;
    // NaN is in no place at all.
    if value(t).0 <= 0.0 {
        return None;
    }
    // Where the greater of the two terms is 1. From farther away, each step only goes half as far again as the one before.
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

/// How far a swing must turn in its plane, as far from the middle as it is, to be within an ellipse or as near to it as can be: sine and cosine. `None` where it is within.
pub(super) fn turn_into_ellipse([a, b]: [f64; 2], p: Point) -> Option<[f64; 2]> {
    // Near the end of a narrow one, what rounding makes of the distance from the middle would turn it far.
    let (a, b) = (a + ROUNDED, b + ROUNDED);
    let size = p[0] * p[0] + p[1] * p[1];
    let (u, v) = (p[0] / a, p[1] / b);
    if u * u + v * v <= 1.0 || size == 0.0 || a == b {
        return None;
    }
    // Where the circle about the middle crosses the border; beyond the end of the long axis, on that.
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
        // Even or odd: how often a ray along x crosses the border.
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

/// By how much a corner may lie within the polygon of the others: by no more than f32 rounds it there.
const ROUNDED_CORNER: f64 = 1e-6;

impl Core {
    /// More corners than these are not looked at: the time grows with their square.
    pub(super) const MAX_CORNERS: usize = 1000;

    /// `soft` is a part of the way from the middle of the area to the nearest edge. `None` where the polygon is not convex, or has no area.
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
        // NaN is no depth either.
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

    /// The core is at rest; around it, and away from it, what comes to be `depth` away slows down. So the corners of the border are round.
    fn nearest(&self, p: Point) -> Option<Point> {
        let [x, y] = nearest_in_polygon(&self.corners, p)?;
        let way = [p[0] - x, p[1] - y];
        let far = sqrt_f64(way[0] * way[0] + way[1] * way[1]);
        let less = taken(far - self.depth, self.depth);
        let by = (far - less) / far;
        (less > ROUNDED).then_some([x + way[0] * by, y + way[1] * by])
    }
}

/// The area, negative where corners go clockwise, and its centre.
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

/// The line of an edge: a point, and the normal to the left.
struct Edge {
    from: Point,
    left: Point,
}

/// The edges that have a length.
fn edges(corners: &[Point]) -> impl Iterator<Item = Edge> {
    (0..corners.len()).filter_map(|at| {
        let (from, to) = (corners[at], corners[(at + 1) % corners.len()]);
        let way = [to[0] - from[0], to[1] - from[1]];
        let size = sqrt_f64(way[0] * way[0] + way[1] * way[1]);
        (size > 1e-12).then(|| Edge { from, left: [-way[1] / size, way[0] / size] })
    })
}

impl Edge {
    /// How far a point is to the left.
    fn height(&self, p: Point) -> f64 {
        (p[0] - self.from[0]) * self.left[0] + (p[1] - self.from[1]) * self.left[1]
    }

    /// The part of a convex polygon that is at least so far to the left. Sutherland and Hodgman 1974.
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

/// Angles within `half` of `middle`; each as sine and cosine of its half.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Twist {
    pub(super) middle: [f64; 2],
    pub(super) half: [f64; 2],
    /// Half of `half`, in radians.
    quarter: f64,
}

impl Twist {
    /// Of angles from one to another, at most a full turn apart.
    pub(super) fn new(least: f64, most: f64) -> Self {
        let half = |angle: f64| {
            let (sin, cos) = sin_cos_f64(angle / 2.0);
            [sin, cos]
        };
        let reach = ((most - least) / 2.0).min(core::f64::consts::PI);
        Self { middle: half((least + most) / 2.0), half: half(reach), quarter: reach / 2.0 }
    }

    /// Half of the turn that brings an angle back to the nearer end: sine and cosine. `None` where it is within.
    pub(super) fn turn_back(&self, [sin, cos]: [f64; 2]) -> Option<[f64; 2]> {
        let ([ms, mc], [hs, hc]) = (self.middle, self.half);
        let [s, c] = [sin * mc - cos * ms, cos * mc + sin * ms];
        let [s, c] = if c < 0.0 { [-s, -c] } else { [s, c] };
        let over = s.abs() * hc - c * hs;
        (over > 0.0).then(|| [-over.copysign(s), c * hc + s.abs() * hs])
    }

    /// What becomes of an angle, where that is another one: the nearer end where it is beyond one, or as much of the way there as a soft border leaves.
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
            // The sine of half of what it is beyond.
            if s.abs() * hc - c * hs <= ROUNDED {
                return None;
            }
            [hs, hc]
        };
        let s = if s < 0.0 { -hs } else { hs };
        Some([s * mc + hc * ms, hc * mc - s * ms])
    }
}

/// The tangent of a quarter of an angle.
pub(super) fn quarter(angle: f64) -> f64 {
    let (sin, cos) = sin_cos_f64(angle / 4.0);
    sin / cos
}
