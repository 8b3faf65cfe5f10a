//! What a ray meets, and what is inside.
//!
//! The rule is that of Woop, Benthin and Wald: corners are moved so that the ray is an axis, and the signs of the areas between it and
//! each edge tell whether it passes. Two triangles compute the area of an edge that they share from the same numbers, so that it
//! is the same but for its sign, and the sum of two rounded products never has the wrong sign: it is zero at worst, which counts as a hit
//! on either side. So a ray does not slip through.

use core::ops::ControlFlow;

use fearless_simd::{f64x4, prelude::*};

use super::lanes::{Vectors, WIDTH, clamp, corners, present, ratio};
use super::node::{Child, Found, LEAF, Leaf, Slabs, Walk};
use super::{TriangleTree, is_within, normal, weighted};
use condyle_base::math::vectors::{along, sub};
use condyle_base::simd::{dispatch, each};

/// A half-line, or a part of one.
///
/// One whose numbers are not finite, that begins farther than [`LIMIT`](super::LIMIT) from 0 or ends before it begins meets nothing. A ray without direction meets no triangle, and those hitboxes that its origin is in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// Where it begins.
    pub origin: [f32; 3],
    /// Where it goes, of any length.
    pub direction: [f32; 3],
    /// How far it reaches, in lengths of its direction. [`f32::INFINITY`] for a half-line; 1 for the way from the origin to
    /// where the direction points.
    pub max: f32,
}

impl Ray {
    /// The way from one point to another.
    #[must_use]
    pub fn between(from: [f32; 3], to: [f32; 3]) -> Self {
        Self { origin: from, direction: core::array::from_fn(|k| to[k] - from[k]), max: 1.0 }
    }

    /// Whether it can meet anything.
    pub(crate) fn is_sound(&self) -> bool {
        is_within(&self.origin) && self.direction.iter().all(|v| v.is_finite()) && self.max >= 0.0
    }

    /// The point at a distance, in lengths of the direction.
    #[must_use]
    pub fn at(&self, distance: f32) -> [f32; 3] {
        core::array::from_fn(|k| {
            (f64::from(self.origin[k]) + f64::from(self.direction[k]) * f64::from(distance)) as f32
        })
    }
}

/// Where a ray meets a triangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Which triangle.
    pub triangle: u32,
    /// How far along the ray, in lengths of its direction; infinite where these are so short that f32 does not hold how many they are.
    pub distance: f32,
    /// Barycentric coordinates: what each corner counts in the point. None is negative, the sum is 1.
    pub weights: [f32; 3],
    /// The point, as the corners have it: more exact than [`Ray::at`] where the ray comes from afar.
    pub position: [f32; 3],
    /// The unit normal of the triangle, on its front. Zero where its area is too small to tell.
    pub normal: [f32; 3],
    /// Whether the front is hit, from which the corners go round counter-clockwise. Who culls back faces leaves the others out.
    pub front: bool,
}

impl TriangleTree {
    /// The nearest triangle that a ray meets, from either side. Of several at the same distance it is the one with the least number.
    ///
    /// No ray slips between triangles that share an edge, or between those around a vertex. So a triangle that is seen from its edge is met where
    /// rounding leaves something of its area, as its neighbours may not be; then the hit is where the ray enters it.
    #[must_use]
    pub fn first_hit(&self, ray: &Ray) -> Option<Hit> {
        self.one(ray, Wanted::First).map(|met| met.hit(self))
    }

    /// Whether a ray meets anything: a little faster than [`first_hit`](Self::first_hit).
    #[must_use]
    pub fn any_hit(&self, ray: &Ray) -> bool {
        self.one(ray, Wanted::Any).is_some()
    }

    /// Tells all triangles that a ray meets, in no particular order, until `visit` breaks. A ray through an edge meets the triangles on
    /// both sides.
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

    /// Whether a point is inside.
    ///
    /// For a closed surface ([`is_closed`](Self::is_closed)) that is where it winds round the point: where an arm is in a chest is inside too. For an open one it is
    /// what most of six rays along the axes say, so that a neck without a head matters little; there is no right answer close to a hole. On
    /// the surface itself either may come out. What is not finite is outside.
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

    /// How often the surface goes round a point, counter-clockwise, as a ray tells.
    pub(super) fn winding(&self, point: [f32; 3], direction: [f32; 3]) -> i32 {
        let ray = Ray { origin: point, direction, max: f32::INFINITY };
        let mut winding = 0;
        self.each(&ray, Wanted::Crossings, &mut |met| {
            winding += if met.front { -1 } else { 1 };
            ControlFlow::Continue(())
        });
        winding
    }

    /// The only one that is wanted.
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

/// What is asked of a ray.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    First,
    Any,
    All,
    /// All, but on an edge or a corner exactly one of the triangles around it.
    Crossings,
}

/// A triangle that the ray meets.
#[derive(Clone, Copy)]
struct Met {
    distance: f64,
    /// Its place in the order of leaves.
    slot: u32,
    weights: [f64; 2],
    front: bool,
}

impl Met {
    const NOTHING: Self = Self { distance: f64::INFINITY, slot: 0, weights: [0.0; 2], front: false };

    /// Whether it is nearer, or as near and of a lesser number.
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

/// A ray on its way.
struct Query {
    slabs: Slabs,
    shear: Shear,
    wanted: Wanted,
    /// What is at most this far, in lengths of the direction, counts.
    max: f64,
}

/// What makes the ray an axis.
struct Shear {
    origin: [f64; 3],
    /// The axis along which the ray goes farthest, and the two that follow it.
    axes: [usize; 3],
    /// How far it goes along these two for each step along the first.
    slopes: [f64; 2],
    /// What it goes along the first, for its whole direction.
    step: f64,
}

impl Query {
    /// `None` for a ray that meets nothing.
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
        // Four times what the slabs round, and what rounding does to corners is less still.
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

    /// The limit along the longest axis, for boxes.
    #[inline(always)]
    fn limit(&self) -> f32 {
        (self.max * self.shear.step.abs()) as f32 * (1.0 + 4.0 * f32::EPSILON)
    }
}

/// Until there is no room for more, or nothing more to find. Whether it may go on.
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

/// Asks the triangles of a leaf, four at a time.
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

/// What is so of four triangles.
struct Tested {
    /// Which are met.
    bits: u64,
    distances: [f64; WIDTH],
    /// Of the second and the third corner.
    weights: [[f64; WIDTH]; 2],
    /// Which are met in front.
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
    // Twice the areas between the ray and each edge: their signs are those of the exact ones, or they are 0.
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
    // Most triangles are passed by.
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
        // As seen from ahead of the ray.
        fronts: if step > 0.0 { !seen } else { seen },
    }
}

/// A corner where the ray is the third axis.
#[inline(always)]
fn turned<S: Simd>(corner: Vectors<S>, axes: [usize; 3], slopes: [f64; 2]) -> Vectors<S> {
    let depth = *corner.get(axes[0]).unwrap_or(&corner[0]);
    let [x, y] = [*corner.get(axes[1]).unwrap_or(&corner[0]), *corner.get(axes[2]).unwrap_or(&corner[0])];
    [x - depth * slopes[0], y - depth * slopes[1], depth]
}

/// What rounding may make of the area that is seen of a triangle whose plane the ray is in.
#[inline(always)]
fn noise<S: Simd>(points: [Vectors<S>; 3], slopes: [f64; 2]) -> f64x4<S> {
    let [a, b, c] = [sizes(points[0], slopes), sizes(points[1], slopes), sizes(points[2], slopes)];
    (a[0] * (b[1] + c[1]) + b[0] * (c[1] + a[1]) + c[0] * (a[1] + b[1])) * (4.0 * f64::EPSILON)
}

/// How large the numbers are that a corner beside the ray is made of.
#[inline(always)]
fn sizes<S: Simd>(p: Vectors<S>, slopes: [f64; 2]) -> [f64x4<S>; 2] {
    [p[0].abs() + p[2].abs() * (3.0 * slopes[0].abs()), p[1].abs() + p[2].abs() * (3.0 * slopes[1].abs())]
}

#[inline(always)]
fn width<S: Simd>(a: f64x4<S>, b: f64x4<S>, c: f64x4<S>) -> f64x4<S> {
    a.max(b).max(c) - a.min(b).min(c)
}

/// Where a ray enters triangles whose planes it is in: how far that is, and the weights of the second and the third corner. It is where the first of
/// their edges crosses the ray, or where the ray begins. Behind the ray it is NaN.
#[inline(always)]
fn enter<S: Simd>(points: [Vectors<S>; 3], step: f64) -> [f64x4<S>; 3] {
    let s = points[0][0].token();
    let (zero, one) = (f64x4::splat(s, 0.0), f64x4::splat(s, 1.0));
    let [a, b, c] = points;
    // Across the ray, along the axis that tells most.
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

/// Whether the outlines go round the ray, where edges belong to one side only: they are counted where they cross the half-line of
/// the second axis, and two triangles that share an edge agree on where it does.
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
