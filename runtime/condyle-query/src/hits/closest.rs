//! Nearest point on the triangles to a given point.

use fearless_simd::{f64x4, prelude::*};

use super::lanes::{Vectors, WIDTH, clamp, corners, present, ratio};
use super::node::{Child, Leaf, Walk, near};
use super::{TriangleTree, is_within, normal, weighted};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{along, cross, dot, sub};
use condyle_base::simd::dispatch;

/// Nearest point on a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearestPoint {
    /// Index of the triangle that contains the point.
    pub triangle: u32,
    /// Distance from the query point.
    pub distance: f32,
    /// Barycentric coordinates: the weight of each corner at the point. They are non-negative and their sum
    /// is 1.
    pub weights: [f32; 3],
    /// Nearest point.
    pub position: [f32; 3],
    /// Unit normal of the triangle on its front side. Zero if the area is too small.
    pub normal: [f32; 3],
}

impl TriangleTree {
    /// Returns the nearest point on the surface if it is at most `max` away.
    ///
    /// If several triangles have the same computed distance, returns the one with the lowest index. At a
    /// shared edge the distances may differ in the last bit of an f64, so either triangle can be reported.
    ///
    /// Pass [`f32::INFINITY`] to search everywhere; a smaller `max` saves time. Returns `None` if the point
    /// is not finite, if a coordinate exceeds [`LIMIT`](super::LIMIT), or if `max` is negative or NaN.
    ///
    /// ```
    /// use condyle_query::hits::TriangleTree;
    ///
    /// let tree = TriangleTree::new(&[[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], &[[0, 1, 2]])?;
    /// let nearest = tree.closest_point([1.0, -3.0, 4.0], f32::INFINITY).expect("there is a triangle");
    /// assert_eq!((nearest.position, nearest.distance), ([1.0, 0.0, 0.0], 5.0));
    /// assert_eq!(nearest.weights, [0.75, 0.25, 0.0]);
    /// assert!(tree.closest_point([1.0, -3.0, 4.0], 4.9).is_none());
    /// # Ok::<(), condyle::Error>(())
    /// ```
    #[must_use]
    pub fn closest_point(&self, point: [f32; 3], max: f32) -> Option<NearestPoint> {
        if !(is_within(&point) && max >= 0.0) {
            return None;
        }
        let max = f64::from(max);
        let mut query = Query { point, square: max * max, found: None };
        let mut walk = Walk::new(self.leaves.len());
        dispatch!(self.dispatch(), |s| run(s, self, &mut query, &mut walk));
        let (slot, [b, c]) = query.found?;
        let points = self.points(slot as usize);
        let weights = [(1.0 - b - c).max(0.0), b, c];
        Some(NearestPoint {
            triangle: self.triangles[slot as usize],
            distance: sqrt_f64(query.square) as f32,
            weights: weights.map(|w| w as f32),
            position: weighted(&points, weights),
            normal: normal(&points),
        })
    }
}

struct Query {
    point: [f32; 3],
    /// Square of the maximum distance.
    square: f64,
    /// Slot in leaf order, and the weights of the second and the third corner.
    found: Option<(u32, [f64; 2])>,
}

impl Query {
    /// Upper bound in f32 on the squared distance of boxes to visit.
    #[inline(always)]
    fn limit(&self) -> f32 {
        // Squares of the smallest numbers lose precision.
        self.square as f32 * (1.0 + 16.0 * f32::EPSILON) + 16.0 * f32::MIN_POSITIVE
    }
}

#[inline(always)]
fn run<S: Simd>(s: S, tree: &TriangleTree, query: &mut Query, walk: &mut Walk) {
    let mut limit = query.limit();
    while let Some((square, child)) = walk.next() {
        if square > limit {
            continue;
        }
        match child {
            Child::Node(node) => {
                if let Some(node) = tree.nodes.get(node) {
                    let (squares, bits) = near(s, node, query.point, limit);
                    walk.push(node, &squares, bits);
                }
            }
            Child::Leaf(leaf) => {
                if let Some(&leaf) = tree.leaves.get(leaf) {
                    approach(s, tree, query, leaf);
                    limit = query.limit();
                }
            }
        }
    }
}

/// Tests the triangles of a leaf, four at a time.
#[inline(always)]
fn approach<S: Simd>(s: S, tree: &TriangleTree, query: &mut Query, leaf: Leaf) {
    let mut done = 0;
    while done < leaf.count {
        let first = leaf.first + done;
        let triangle = corners(s, tree, first as usize, query.point.map(f64::from));
        let [square, b, c] = nearest(triangle);
        let mut bits = square.simd_le(f64x4::splat(s, query.square)).to_bitmask();
        bits &= present(leaf.count - done);
        let [square, b, c] = [square.to_array(), b.to_array(), c.to_array()];
        while bits != 0 {
            let k = bits.trailing_zeros() as usize % WIDTH;
            bits &= bits - 1;
            let slot = first + k as u32;
            let number = |slot: u32| tree.triangles.get(slot as usize);
            let first = query.found.is_none_or(|before| number(slot) < number(before.0));
            if square[k] < query.square || square[k] == query.square && first {
                (query.square, query.found) = (square[k], Some((slot, [b[k], c[k]])));
            }
        }
        done += WIDTH as u32;
    }
}

/// Squared distance from the origin to triangles, and the weights of the second and the third corner at the
/// nearest point.
///
/// Takes the minimum over the nearest point of each edge and, if it is inside, the foot of the perpendicular.
/// All of these are points of the triangle, so the distance is never too small, and triangles without area
/// need no special case.
#[inline(always)]
pub(super) fn nearest<S: Simd>([a, b, c]: [Vectors<S>; 3]) -> [f64x4<S>; 3] {
    let s = a[0].token();
    let (zero, one) = (f64x4::splat(s, 0.0), f64x4::splat(s, 1.0));
    let (ab, ac) = (sub(b, a), sub(c, a));
    let (first, t) = nearest_of_edge(a, ab);
    let mut best = [first, t, zero];
    let (square, t) = nearest_of_edge(a, ac);
    best = less([square, zero, t], best);
    let (square, t) = nearest_of_edge(b, sub(c, b));
    best = less([square, one - t, t], best);
    // Weights by cross products with the normal: their error grows with 1 / sin of the angle between the
    // edges, that of dot products with 1 / sin².
    let normal = cross(ab, ac);
    let area2 = dot(normal, normal);
    let (v, w) = (ratio(dot(cross(ac, a), normal), area2), ratio(dot(cross(a, ab), normal), area2));
    let inside = v.simd_gt(zero) & w.simd_gt(zero) & (v + w).simd_lt(one);
    let foot = along(along(a, ab, v), ac, w);
    let square = inside.select(dot(foot, foot), f64x4::splat(s, f64::INFINITY));
    less([square, v, w], best)
}

/// Squared distance from the origin to edges, and the parameter of the nearest point on each.
#[inline(always)]
fn nearest_of_edge<S: Simd>(from: Vectors<S>, edge: Vectors<S>) -> (f64x4<S>, f64x4<S>) {
    let t = clamp(ratio(-dot(from, edge), dot(edge, edge)));
    let point = along(from, edge, t);
    (dot(point, point), t)
}

/// Selects the result with the smaller square; `b` if they are equal.
#[inline(always)]
fn less<S: Simd>(a: [f64x4<S>; 3], b: [f64x4<S>; 3]) -> [f64x4<S>; 3] {
    let first = a[0].simd_lt(b[0]);
    [first.select(a[0], b[0]), first.select(a[1], b[1]), first.select(a[2], b[2])]
}
