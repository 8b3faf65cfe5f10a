//! Ray casts and point containment.
//!
//! Implements the watertight test of Woop, Benthin and Wald. Corners are sheared so that the ray becomes an
//! axis. The signs of the areas between the ray and each edge then decide whether the triangle is hit.
//!
//! Two triangles compute the area of their common edge from the same numbers, so it differs only in sign. The
//! sum of two rounded products never has the wrong sign. At worst it is zero, which counts as a hit on both
//! sides. Therefore no ray slips through.

use core::ops::ControlFlow;

use fearless_simd::{f64x4, prelude::*};

use super::lanes::{Vectors, WIDTH, clamp, corners, present, ratio};
use super::node::{Child, Found, LEAF, Leaf, Slabs, Walk};
use super::{TriangleTree, is_within, normal, weighted};
use condyle_base::math::vectors::{along, sub};
use condyle_base::simd::{dispatch, each};

/// Half-line or segment, in the space of the vertices or hitboxes, usually model space.
///
/// Transform a ray in the world by the inverse of the character's placement.
///
/// A ray hits nothing if one of its numbers is NaN, its origin or direction is infinite, its origin exceeds
/// [`LIMIT`](super::LIMIT), or `max` is negative. A ray with a zero direction hits no triangle, only hitboxes
/// that contain its origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// Start point.
    pub origin: [f32; 3],
    /// Direction, of any length.
    pub direction: [f32; 3],
    /// Maximum distance, in lengths of the direction. [`f32::INFINITY`] makes a half-line; 1 makes the
    /// segment from `origin` to `origin + direction`.
    pub max: f32,
}

impl Ray {
    /// Returns the segment from one point to another.
    #[must_use]
    pub fn between(from: [f32; 3], to: [f32; 3]) -> Self {
        Self { origin: from, direction: core::array::from_fn(|k| to[k] - from[k]), max: 1.0 }
    }

    /// Whether the ray can hit anything.
    pub(crate) fn is_sound(&self) -> bool {
        is_within(&self.origin) && self.direction.iter().all(|v| v.is_finite()) && self.max >= 0.0
    }

    /// Returns the point at a distance, in lengths of the direction.
    #[must_use]
    pub fn at(&self, distance: f32) -> [f32; 3] {
        core::array::from_fn(|k| {
            (f64::from(self.origin[k]) + f64::from(self.direction[k]) * f64::from(distance)) as f32
        })
    }
}

/// Intersection of a ray and a triangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Index of the triangle.
    pub triangle: u32,
    /// Distance along the ray, in lengths of its direction. Infinite if the direction is so short that the
    /// distance overflows f32.
    pub distance: f32,
    /// Barycentric coordinates: the weight of each corner at the hit point. They are non-negative and their
    /// sum is 1.
    pub weights: [f32; 3],
    /// Hit point, computed from the corners: more accurate than [`Ray::at`] if the origin is far away.
    pub position: [f32; 3],
    /// Unit normal of the triangle on its front side. Zero if the area is too small.
    pub normal: [f32; 3],
    /// Whether the ray hits the front side, from which the corners are counter-clockwise. To cull back faces,
    /// ignore hits where this is false.
    pub front: bool,
}

impl TriangleTree {
    /// Returns the nearest triangle that a ray hits, from either side. If several triangles are at equal
    /// distance, returns the one with the lowest index.
    ///
    /// No ray slips between triangles that share an edge or surround a vertex. To guarantee this, a triangle
    /// seen edge-on is hit if rounding leaves it some projected area, because its neighbours may then miss.
    /// In that case the hit is the point where the ray enters the triangle.
    #[must_use]
    pub fn first_hit(&self, ray: &Ray) -> Option<Hit> {
        self.one(ray, Wanted::First).map(|met| met.hit(self))
    }

    /// Returns whether a ray hits any triangle; slightly faster than [`first_hit`](Self::first_hit).
    #[must_use]
    pub fn any_hit(&self, ray: &Ray) -> bool {
        self.one(ray, Wanted::Any).is_some()
    }

    /// Calls `visit` for each triangle that a ray hits, in no particular order, until `visit` breaks. A ray
    /// through an edge hits the triangles on both sides.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use condyle_query::hits::{Ray, TriangleTree};
    ///
    /// let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// let tetrahedron = TriangleTree::new(&points, &[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])?;
    /// let ray = Ray { origin: [0.2, 0.2, 5.0], direction: [0.0, 0.0, -1.0], max: 9.0 };
    /// let mut fronts = vec![];
    /// tetrahedron.all_hits(&ray, |hit| {
    ///     if hit.front {
    ///         fronts.push(hit.triangle);
    ///     }
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(fronts, [3]);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn all_hits(&self, ray: &Ray, mut visit: impl FnMut(Hit) -> ControlFlow<()>) {
        self.each(ray, Wanted::All, &mut |met| visit(met.hit(self)));
    }

    /// Returns whether a point is inside the surface.
    ///
    /// For a closed surface ([`is_closed`](Self::is_closed)) the point is inside if its winding number is not
    /// zero. A point where an arm penetrates the chest is inside too. For an open surface, more than three of
    /// six rays along the axes must report inside, so a neck without a head has little effect. Close to a
    /// hole the result is not meaningful.
    ///
    /// For a point on the surface, the result may be either. A point that is not finite is outside.
    ///
    /// ```
    /// use condyle_query::hits::TriangleTree;
    ///
    /// let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// let tetrahedron = TriangleTree::new(&points, &[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])?;
    /// assert!(tetrahedron.is_closed());
    /// assert!(tetrahedron.contains([0.2, 0.2, 0.2]) && !tetrahedron.contains([0.5, 0.5, 0.5]));
    /// # Ok::<(), condyle::Error>(())
    /// ```
    #[must_use]
    pub fn contains(&self, point: [f32; 3]) -> bool {
        if self.closed {
            return self.winding(point, [1.0, 0.0, 0.0]) != 0;
        }
        let inside = |direction| usize::from(self.winding(point, direction) != 0);
        let along = |axis: usize, way: f32| core::array::from_fn(|k| if k == axis { way } else { 0.0 });
        (0..3).map(|axis| inside(along(axis, 1.0)) + inside(along(axis, -1.0))).sum::<usize>() > 3
    }

    /// Winding number of the surface around a point, counted along a ray; positive for counter-clockwise
    /// triangles.
    pub(super) fn winding(&self, point: [f32; 3], direction: [f32; 3]) -> i32 {
        let ray = Ray { origin: point, direction, max: f32::INFINITY };
        let mut winding = 0;
        self.each(&ray, Wanted::Crossings, &mut |met| {
            winding += if met.front { -1 } else { 1 };
            ControlFlow::Continue(())
        });
        winding
    }

    /// Returns the result of a query that has at most one.
    fn one(&self, ray: &Ray, wanted: Wanted) -> Option<Met> {
        let mut query = Query::new(self, ray, wanted)?;
        let mut walk = Walk::new(self.leaves.len());
        let mut room = [Met::NOTHING];
        let mut found = Found::new(&mut room);
        dispatch!(self.dispatch(), |s| run(s, self, &mut query, &mut walk, &mut found));
        found.all().first().copied()
    }

    fn each(&self, ray: &Ray, wanted: Wanted, visit: &mut dyn FnMut(&Met) -> ControlFlow<()>) {
        let Some(mut query) = Query::new(self, ray, wanted) else { return };
        let mut walk = Walk::new(self.leaves.len());
        let mut room = [Met::NOTHING; 2 * LEAF];
        let mut found = Found::new(&mut room);
        loop {
            let goes_on = dispatch!(self.dispatch(), |s| run(s, self, &mut query, &mut walk, &mut found));
            if found.all().iter().any(|met| visit(met).is_break()) || !goes_on {
                return;
            }
            found.clear();
        }
    }
}

/// Kind of ray query.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    First,
    Any,
    All,
    /// All hits, but on a shared edge or corner exactly one of the triangles around it.
    Crossings,
}

/// Triangle hit by the ray.
#[derive(Clone, Copy)]
struct Met {
    distance: f64,
    /// Slot of the triangle in leaf order.
    slot: u32,
    weights: [f64; 2],
    front: bool,
}

impl Met {
    const NOTHING: Self = Self { distance: f64::INFINITY, slot: 0, weights: [0.0; 2], front: false };

    /// Whether this hit is nearer, or equally near with a lower triangle index.
    #[inline(always)]
    fn comes_before(&self, other: &Self, tree: &TriangleTree) -> bool {
        let number = |slot: u32| tree.triangles.get(slot as usize);
        let same = self.distance == other.distance;
        self.distance < other.distance || same && number(self.slot) < number(other.slot)
    }

    fn hit(&self, tree: &TriangleTree) -> Hit {
        let points = tree.points(self.slot as usize);
        let [b, c] = self.weights;
        let weights = [1.0 - b - c, b, c].map(|w| w.max(0.0));
        Hit {
            triangle: tree.triangles[self.slot as usize],
            distance: self.distance as f32,
            weights: weights.map(|w| w as f32),
            position: weighted(&points, weights),
            normal: normal(&points),
            front: self.front,
        }
    }
}

/// State of a ray query.
struct Query {
    slabs: Slabs,
    shear: Shear,
    wanted: Wanted,
    /// Maximum distance, in lengths of the direction.
    max: f64,
}

/// Shear that makes the ray an axis.
struct Shear {
    origin: [f64; 3],
    /// Axis along which the direction is longest, then the two axes that follow it cyclically.
    axes: [usize; 3],
    /// Slopes of the ray along the second and third of these axes, per unit along the first.
    slopes: [f64; 2],
    /// Component of the direction along the first of these axes.
    step: f64,
}

impl Query {
    /// Returns `None` for a ray that hits no triangle.
    fn new(tree: &TriangleTree, ray: &Ray, wanted: Wanted) -> Option<Self> {
        let [origin, direction] = [ray.origin, ray.direction].map(|v| v.map(f64::from));
        let size = |v: [f64; 3]| v[0].abs().max(v[1].abs()).max(v[2].abs());
        if !(ray.is_sound() && size(direction) > 0.0) {
            return None;
        }
        let longest =
            (1..3).fold(0, |best, k| if direction[k].abs() > direction[best].abs() { k } else { best });
        let axes = [longest, (longest + 1) % 3, (longest + 2) % 3];
        let step = direction[longest];
        // Four times the rounding error of the slab test. The rounding error of corners is smaller.
        let grown = (size(origin) + f64::from(tree.size)) / 1_048_576.0;
        Some(Self {
            slabs: Slabs::new(origin, direction.map(|v| v / step.abs()), [grown; 3]),
            shear: Shear {
                origin,
                axes,
                slopes: [direction[axes[1]] / step, direction[axes[2]] / step],
                step,
            },
            wanted,
            max: f64::from(ray.max),
        })
    }

    /// Distance limit along the longest axis, for boxes.
    #[inline(always)]
    fn limit(&self) -> f32 {
        (self.max * self.shear.step.abs()) as f32 * (1.0 + 4.0 * f32::EPSILON)
    }
}

/// Visits the tree until `found` has no room for another leaf or the walk ends. Returns whether there may be
/// more hits.
#[inline(always)]
fn run<S: Simd>(
    s: S,
    tree: &TriangleTree,
    query: &mut Query,
    walk: &mut Walk,
    found: &mut Found<'_, Met>,
) -> bool {
    let mut limit = query.limit();
    while let Some((entry, child)) = walk.next() {
        if entry > limit {
            continue;
        }
        match child {
            Child::Node(node) => {
                if let Some(node) = tree.nodes.get(node) {
                    let (distances, bits) = query.slabs.enter(s, node, limit);
                    walk.push(node, &distances, bits);
                }
            }
            Child::Leaf(leaf) => {
                if let Some(&leaf) = tree.leaves.get(leaf) {
                    meet(s, tree, query, leaf, found);
                    match query.wanted {
                        Wanted::First => limit = query.limit(),
                        Wanted::Any if !found.all().is_empty() => return false,
                        Wanted::All | Wanted::Crossings if found.is_full() => return true,
                        _ => {}
                    }
                }
            }
        }
    }
    false
}

/// Tests the triangles of a leaf, four at a time.
#[inline(always)]
fn meet<S: Simd>(s: S, tree: &TriangleTree, query: &mut Query, leaf: Leaf, found: &mut Found<'_, Met>) {
    let mut done = 0;
    while done < leaf.count {
        let first = leaf.first + done;
        let Tested { mut bits, distances, weights, fronts } = test(s, tree, query, first as usize);
        bits &= present(leaf.count - done);
        while bits != 0 {
            let k = bits.trailing_zeros() as usize % WIDTH;
            bits &= bits - 1;
            let met = Met {
                distance: distances[k],
                slot: first + k as u32,
                weights: [weights[0][k], weights[1][k]],
                front: fronts >> k & 1 == 1,
            };
            if query.wanted != Wanted::First {
                found.add(met);
            } else if found.all().first().is_none_or(|before| met.comes_before(before, tree)) {
                found.only(met);
                query.max = met.distance;
            }
        }
        done += WIDTH as u32;
    }
}

/// Results for four triangles.
struct Tested {
    /// Bit mask of the triangles that are hit.
    bits: u64,
    distances: [f64; WIDTH],
    /// Weights of the second and the third corner.
    weights: [[f64; WIDTH]; 2],
    /// Bit mask of the triangles that are hit on their front side.
    fronts: u64,
}

#[inline(always)]
fn test<S: Simd>(s: S, tree: &TriangleTree, query: &Query, first: usize) -> Tested {
    let Shear { origin, axes, slopes, step } = query.shear;
    let zero = f64x4::splat(s, 0.0);
    let corners = corners(s, tree, first, origin);
    let [a, b, c] = [
        turned(corners[0], axes, slopes),
        turned(corners[1], axes, slopes),
        turned(corners[2], axes, slopes),
    ];
    // Twice the areas between the ray and each edge. Each has the sign of the exact area, or is 0.
    let ab = a[0] * b[1] - a[1] * b[0];
    let bc = b[0] * c[1] - b[1] * c[0];
    let ca = c[0] * a[1] - c[1] * a[0];
    let all = ab + bc + ca;
    let passes = if query.wanted == Wanted::Crossings {
        crosses(s, [a, b, c], [ab, bc, ca])
    } else {
        let least = ab.min(bc).min(ca).simd_ge(zero);
        let greatest = ab.max(bc).max(ca).simd_le(zero);
        (least | greatest) & !all.simd_eq(zero)
    };
    let mut met = [(bc * a[2] + ca * b[2] + ab * c[2]) / all / step, ca / all, ab / all];
    // Skips the edge-on case, because most leaves have no hit.
    if passes.any_true() {
        let grazed = passes & all.abs().simd_le(noise([a, b, c], slopes));
        if grazed.any_true() {
            let at = enter([a, b, c], step);
            each!(k in [0, 1, 2] => met[k] = grazed.select(at[k], met[k]));
        }
    }
    let within = met[0].simd_ge(zero) & met[0].simd_le(f64x4::splat(s, query.max));
    let seen = all.simd_gt(zero).to_bitmask();
    Tested {
        bits: (passes & within).to_bitmask(),
        distances: met[0].to_array(),
        weights: [met[1].to_array(), met[2].to_array()],
        // `seen`: counter-clockwise as seen from the positive end of the longest axis.
        fronts: if step > 0.0 { !seen } else { seen },
    }
}

/// Returns a corner after the shear, with the ray as third axis.
#[inline(always)]
fn turned<S: Simd>(corner: Vectors<S>, axes: [usize; 3], slopes: [f64; 2]) -> Vectors<S> {
    let depth = *corner.get(axes[0]).unwrap_or(&corner[0]);
    let [x, y] = [*corner.get(axes[1]).unwrap_or(&corner[0]), *corner.get(axes[2]).unwrap_or(&corner[0])];
    [x - depth * slopes[0], y - depth * slopes[1], depth]
}

/// Bound on the rounding error of the projected area of triangles whose plane contains the ray.
#[inline(always)]
fn noise<S: Simd>(points: [Vectors<S>; 3], slopes: [f64; 2]) -> f64x4<S> {
    let [a, b, c] = [sizes(points[0], slopes), sizes(points[1], slopes), sizes(points[2], slopes)];
    (a[0] * (b[1] + c[1]) + b[0] * (c[1] + a[1]) + c[0] * (a[1] + b[1])) * (4.0 * f64::EPSILON)
}

/// Sum of the sizes of the terms from which a sheared corner's offset from the ray is computed.
#[inline(always)]
fn sizes<S: Simd>(p: Vectors<S>, slopes: [f64; 2]) -> [f64x4<S>; 2] {
    [p[0].abs() + p[2].abs() * (3.0 * slopes[0].abs()), p[1].abs() + p[2].abs() * (3.0 * slopes[1].abs())]
}

#[inline(always)]
fn width<S: Simd>(a: f64x4<S>, b: f64x4<S>, c: f64x4<S>) -> f64x4<S> {
    a.max(b).max(c) - a.min(b).min(c)
}

/// Where a ray enters triangles whose planes contain it: the distance, and the weights of the second and the
/// third corner.
///
/// This is the first point at which an edge crosses the ray, or the ray's origin. The distance is NaN if the
/// triangle is behind the origin.
#[inline(always)]
fn enter<S: Simd>(points: [Vectors<S>; 3], step: f64) -> [f64x4<S>; 3] {
    let s = points[0][0].token();
    let (zero, one) = (f64x4::splat(s, 0.0), f64x4::splat(s, 1.0));
    let [a, b, c] = points;
    // Offsets from the ray, along the axis on which the triangle is wider.
    let across = width(a[0], b[0], c[0]).simd_ge(width(a[1], b[1], c[1]));
    let off = [across.select(a[0], a[1]), across.select(b[0], b[1]), across.select(c[0], c[1])];
    let corners = [[a[2] / step, zero, zero], [b[2] / step, one, zero], [c[2] / step, zero, one]];
    let mut first = [f64x4::splat(s, f64::INFINITY), zero, zero];
    let mut last = [f64x4::splat(s, f64::NEG_INFINITY), zero, zero];
    each!(k in [0, 1, 2] => {
        let (from, to) = (off[k], off[(k + 1) % 3]);
        let crossed = from.min(to).simd_le(zero) & from.max(to).simd_ge(zero);
        let t = from.simd_eq(to).select(zero, from / (from - to));
        let at = along(corners[k], sub(corners[(k + 1) % 3], corners[k]), t);
        let (before, behind) = (crossed & at[0].simd_lt(first[0]), crossed & at[0].simd_gt(last[0]));
        each!(n in [0, 1, 2] => {
            first[n] = before.select(at[n], first[n]);
            last[n] = behind.select(at[n], last[n]);
        });
    });
    let way = sub(last, first);
    let mut at = along(first, way, clamp(ratio(-first[0], way[0])));
    at[0] = last[0].simd_ge(zero).select(at[0].max(zero), f64x4::splat(s, f64::NAN));
    at
}

/// Whether each outline encloses the ray, by the even-odd rule: counts edges that cross the half-line `x > 0,
/// y = 0`.
///
/// Two triangles that share an edge agree on whether it crosses, so the edge belongs to exactly one of them.
#[inline(always)]
fn crosses<S: Simd>(s: S, points: [Vectors<S>; 3], areas: [f64x4<S>; 3]) -> fearless_simd::mask64x4<S> {
    let zero = f64x4::splat(s, 0.0);
    let above = [points[0][1].simd_gt(zero), points[1][1].simd_gt(zero), points[2][1].simd_gt(zero)];
    let mut odd = zero.simd_lt(zero);
    each!(k in [0, 1, 2] => {
        let (from, to) = (above[k], above[(k + 1) % 3]);
        let up = !from & to & areas[k].simd_gt(zero);
        let down = from & !to & areas[k].simd_lt(zero);
        odd ^= up | down;
    });
    odd
}
