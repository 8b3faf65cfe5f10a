//! Triangles that a sphere, a capsule or a box touches.

use core::ops::ControlFlow;

use fearless_simd::{f64x4, mask64x4, prelude::*};

use super::TriangleTree;
use super::closest::nearest;
use super::lanes::{Vectors, WIDTH, clamp, corners, present, ratio, splat};
use super::node::{Child, Found, LEAF, Leaf, Slabs, Walk};
use super::shape::{Shape, Solid};
use condyle_base::math::vectors::{along, cross, dot, sub};
use condyle_base::simd::{dispatch, each, part};

impl TriangleTree {
    /// Returns whether a shape touches a triangle. A shape inside a closed surface that touches no triangle
    /// returns false: see [`contains`](Self::contains).
    ///
    /// ```
    /// use condyle_query::hits::{Shape, TriangleTree};
    ///
    /// let tree = TriangleTree::new(&[[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], &[[0, 1, 2]])?;
    /// let lying = |y| Shape::Capsule { from: [-9.0, y, 1.0], to: [9.0, y, 1.0], radius: 1.25 };
    /// assert!(tree.overlaps(&lying(-0.7)) && !tree.overlaps(&lying(-0.8)));
    ///
    /// // A rod in front of the slanted side reaches it after a rotation by 45 degrees.
    /// let (center, half_extents) = ([2.5, 2.5, 0.0], [0.9, 0.1, 0.1]);
    /// let turned = |rotation| Shape::Box { center, rotation, half_extents };
    /// assert!(!tree.overlaps(&turned([0.0, 0.0, 0.0, 1.0])));
    /// assert!(tree.overlaps(&turned([0.0, 0.0, 0.382_683, 0.923_880])));
    /// # Ok::<(), condyle::Error>(())
    /// ```
    #[must_use]
    pub fn overlaps(&self, shape: &Shape) -> bool {
        let Some(query) = Query::new(self, shape, true) else { return false };
        let mut walk = Walk::new(self.leaves.len());
        let mut room = [0; LEAF];
        let mut found = Found::new(&mut room);
        self.fill(&query, &mut walk, &mut found);
        !found.all().is_empty()
    }

    /// Calls `visit` with the index of each triangle that a shape touches, in no particular order, until
    /// `visit` breaks.
    pub fn overlapping(&self, shape: &Shape, mut visit: impl FnMut(u32) -> ControlFlow<()>) {
        let Some(query) = Query::new(self, shape, false) else { return };
        let mut walk = Walk::new(self.leaves.len());
        let mut room = [0; 8 * LEAF];
        let mut found = Found::new(&mut room);
        loop {
            let goes_on = self.fill(&query, &mut walk, &mut found);
            if found.all().iter().any(|&triangle| visit(triangle).is_break()) || !goes_on {
                return;
            }
            found.clear();
        }
    }

    /// Continues a query until its room is full or it ends. Returns whether there may be more.
    ///
    /// Not generic, so that the kernel is compiled in this crate, once.
    fn fill(&self, query: &Query, walk: &mut Walk, found: &mut Found<'_, u32>) -> bool {
        dispatch!(self.dispatch(), |s| run(s, self, query, walk, found))
    }
}

/// State of an overlap query.
struct Query {
    solid: Solid,
    slabs: Slabs,
    /// Length of the shape's segment along its longest axis.
    limit: f32,
    /// Whether one triangle is enough.
    any: bool,
}

impl Query {
    /// Returns `None` for an invalid shape, which touches nothing.
    fn new(tree: &TriangleTree, shape: &Shape, any: bool) -> Option<Self> {
        shape.check("shape", 0).ok()?;
        let size = |v: [f64; 3]| v[0].abs().max(v[1].abs()).max(v[2].abs());
        let solid = Solid::of(shape);
        let (from, way, reach) = match solid {
            Solid::Capsule { from, along, radius } => (from, along, [radius; 3]),
            Solid::Box { center, axes, half } => {
                let reach = |k: usize| (0..3).map(|axis| axes[axis][k].abs() * half[axis]).sum();
                (center, [0.0; 3], [0, 1, 2].map(reach))
            }
        };
        let length = size(way);
        // Four times the rounding error of the slab test.
        let rounded = (size(from) + length + size(reach) + f64::from(tree.size)) / 1_048_576.0;
        let direction = if length > 0.0 { way.map(|v| v / length) } else { way };
        Some(Self {
            solid,
            slabs: Slabs::new(from, direction, reach.map(|v| v + rounded)),
            limit: length as f32 * (1.0 + 4.0 * f32::EPSILON),
            any,
        })
    }
}

/// Visits the tree until `found` has no room for another leaf or the walk ends. Returns whether there may be
/// more results.
#[inline(always)]
fn run<S: Simd>(
    s: S,
    tree: &TriangleTree,
    query: &Query,
    walk: &mut Walk,
    found: &mut Found<'_, u32>,
) -> bool {
    while let Some((_, child)) = walk.next() {
        match child {
            Child::Node(node) => {
                if let Some(node) = tree.nodes.get(node) {
                    let (distances, bits) = query.slabs.enter(s, node, query.limit);
                    walk.push(node, &distances, bits);
                }
            }
            Child::Leaf(leaf) => {
                if let Some(&leaf) = tree.leaves.get(leaf) {
                    touch(s, tree, query, leaf, found);
                    if query.any && !found.all().is_empty() {
                        return false;
                    }
                    if found.is_full() {
                        return true;
                    }
                }
            }
        }
    }
    false
}

/// Tests the triangles of a leaf, four at a time.
#[inline(always)]
fn touch<S: Simd>(s: S, tree: &TriangleTree, query: &Query, leaf: Leaf, found: &mut Found<'_, u32>) {
    let mut done = 0;
    while done < leaf.count {
        let first = leaf.first + done;
        let touched = match &query.solid {
            Solid::Capsule { from, along, radius } => {
                let square = f64x4::splat(s, radius * radius);
                capsule(corners(s, tree, first as usize, *from), splat(s, *along), square)
            }
            Solid::Box { center, axes, half } => {
                let triangle = corners(s, tree, first as usize, *center);
                let [x, y, z] = [splat(s, axes[0]), splat(s, axes[1]), splat(s, axes[2])];
                let mut turned = triangle;
                each!(c in [0, 1, 2] => {
                    turned[c] = [dot(triangle[c], x), dot(triangle[c], y), dot(triangle[c], z)];
                });
                upright_box(turned, splat(s, *half))
            }
        };
        let mut bits = touched.to_bitmask() & present(leaf.count - done);
        while bits != 0 {
            let slot = first + bits.trailing_zeros();
            bits &= bits - 1;
            if let Some(&triangle) = tree.triangles.get(slot as usize) {
                found.add(triangle);
            }
        }
        done += WIDTH as u32;
    }
}

/// Whether triangles are within a radius, given as its square, of the segment from the origin to `way`. The
/// nearest point is an end of the segment or on an edge, or the segment passes through.
#[inline(always)]
fn capsule<S: Simd>(triangle: [Vectors<S>; 3], way: Vectors<S>, square: f64x4<S>) -> mask64x4<S> {
    let [a, b, c] = triangle;
    let s = square.token();
    let at_start = from_origin(triangle);
    let at_end = from_origin([sub(a, way), sub(b, way), sub(c, way)]);
    let edges = between(a, sub(b, a), way).min(between(b, sub(c, b), way)).min(between(c, sub(a, c), way));
    let near = at_start.min(at_end).min(edges).simd_le(square);
    // Signed volumes between the segment and each edge have the same sign if the line passes through.
    let (zero, one) = (f64x4::splat(s, 0.0), f64x4::splat(s, 1.0));
    let [ab, bc, ca] = [dot(way, cross(a, b)), dot(way, cross(b, c)), dot(way, cross(c, a))];
    let same = ab.min(bc).min(ca).simd_ge(zero) | ab.max(bc).max(ca).simd_le(zero);
    let normal = cross(sub(b, a), sub(c, a));
    let (height, rise) = (dot(a, normal), dot(way, normal));
    let t = height / rise;
    // A segment in the plane of a triangle touches it at an end or an edge, found above; `rise` is then only
    // rounding error.
    let steep = (rise * rise).simd_gt(dot(way, way) * dot(normal, normal) * 1e-24);
    near | steep & same & t.simd_ge(zero) & t.simd_le(one)
}

/// Squared distance of triangles from the origin.
#[inline(always)]
fn from_origin<S: Simd>(triangle: [Vectors<S>; 3]) -> f64x4<S> {
    part(
        #[inline(always)]
        || nearest(triangle)[0],
    )
}

/// Squared distance between the segment from the origin to `way` and an edge. For parallel segments any start
/// point gives the minimum.
#[inline(always)]
fn between<S: Simd>(from: Vectors<S>, edge: Vectors<S>, way: Vectors<S>) -> f64x4<S> {
    part(
        #[inline(always)]
        || {
            let (ways, edges, both) = (dot(way, way), dot(edge, edge), dot(way, edge));
            let (on_way, on_edge) = (dot(way, from), dot(edge, from));
            // Nearest points of the lines, then of the edge to that point, then of the segment to that one.
            let first = clamp(ratio(on_way * edges - on_edge * both, ways * edges - both * both));
            let t = clamp(ratio(first * both - on_edge, edges));
            let second = clamp(ratio(on_way + t * both, ways));
            let apart = sub(along(from, edge, t), [way[0] * second, way[1] * second, way[2] * second]);
            dot(apart, apart)
        },
    )
}

/// Whether triangles touch a box around the origin, by separating axes: the box axes, the normals, and the
/// cross products of edges and box axes. S. Gottschalk, M. C. Lin and D. Manocha, *OBBTree*, 1996.
#[inline(always)]
fn upright_box<S: Simd>([a, b, c]: [Vectors<S>; 3], half: Vectors<S>) -> mask64x4<S> {
    let edges = [sub(b, a), sub(c, b), sub(a, c)];
    let normal = cross(edges[0], edges[1]);
    let spread = normal[0].abs() * half[0] + normal[1].abs() * half[1] + normal[2].abs() * half[2];
    // Uses all corners: the normal of a triangle without area is rounding error, not perpendicular to the
    // triangle.
    let (p, q, r) = (dot(normal, a), dot(normal, b), dot(normal, c));
    let mut touched = p.min(q).min(r).simd_le(spread) & p.max(q).max(r).simd_ge(-spread);
    each!(k in [0, 1, 2] => {
        let (low, high) = (a[k].min(b[k]).min(c[k]), a[k].max(b[k]).max(c[k]));
        touched &= low.simd_le(half[k]) & high.simd_ge(-half[k]);
        let across = part(
            #[inline(always)]
            || touch_across(k, [a, b, c], edges, half),
        );
        touched &= across;
    });
    touched
}

/// Tests the separating axes that are cross products of the edges with box axis `k`.
#[inline(always)]
fn touch_across<S: Simd>(
    k: usize,
    [a, b, c]: [Vectors<S>; 3],
    edges: [Vectors<S>; 3],
    half: Vectors<S>,
) -> mask64x4<S> {
    let (u, v) = ((k + 1) % 3, (k + 2) % 3);
    let mut touched = mask64x4::splat(half[0].token(), true);
    each!(e in [0, 1, 2] => {
        let edge = edges[e];
        let p = a[u] * edge[v] - a[v] * edge[u];
        let q = b[u] * edge[v] - b[v] * edge[u];
        let r = c[u] * edge[v] - c[v] * edge[u];
        let spread = edge[v].abs() * half[u] + edge[u].abs() * half[v];
        touched &= p.min(q).min(r).simd_le(spread) & p.max(q).max(r).simd_ge(-spread);
    });
    touched
}
