//! Shapes fitted to the vertices of each joint.

use alloc::vec;
use alloc::vec::Vec;

use super::solid::{Vector, across};
use super::{Hitbox, Hitboxes};
use crate::bounds::{farthest, rounded_up, smallest};
use crate::hits::{Shape, Solid, axes_of};
use condyle::mesh::{Skin, SkinnedMesh};
use condyle_base::error::Error;
use condyle_base::math::decompose::eigenvectors;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{along, cross, dot, sub};
use condyle_base::order;

/// Options of [`fit`]: the vertices that shapes enclose.
///
/// ```
/// use condyle_query::hitbox::Fit;
///
/// // Leaves out spikes and rims: the outermost 5 % of the vertices of each joint.
/// let tight = Fit { coverage: 0.95, ..Fit::default() };
/// assert_eq!(tight.least_weight, Fit::default().least_weight);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Minimum weight at which a vertex belongs to a joint; it always belongs to the joint of its largest
    /// influence. The default is 0.5; above 1, only the largest influence counts.
    pub least_weight: f32,
    /// Minimum fraction of a joint's vertices inside its shape, from 0 to 1. The default is 1: all vertices
    /// are inside.
    ///
    /// Below 1, the vertices farthest from the centroid may be outside, measured relative to the spread of
    /// the vertices along each principal axis.
    pub coverage: f32,
}

impl Default for Fit {
    fn default() -> Self {
        Self { least_weight: 0.5, coverage: 1.0 }
    }
}

/// Fits one hitbox to each joint that has vertices: the smallest of a sphere, a capsule and a box.
///
/// Before comparing volumes, the function grows each shape on all sides by 1/1000 of the sphere's radius. It
/// can therefore also compare flat and thin shapes, which have no volume.
///
/// `meshes` are all meshes of one skeleton, in the bind pose and without morph targets. Capsules and boxes
/// are aligned with the principal axes of the vertices or with the joint axes, whichever gives the smaller
/// volume. The radius of a capsule is the minimum across its axis. Hitboxes are in joint order.
///
/// # Errors
/// [`Error::TooShort`] if a skin lacks a joint that the influences refer to. [`Error::OutOfRange`] if
/// `coverage` is not from 0 to 1, or if a vertex in joint space is beyond [`LIMIT`](crate::hits::LIMIT).
///
/// ```
/// use condyle_query::hitbox::{Fit, fit};
/// use condyle_query::hits::Shape;
/// use condyle::{Affine, Influences, Skin, SkinnedMesh, Vertices};
///
/// // A long, thin object.
/// let positions = (0..=20).flat_map(|k| {
///     let y = 0.1 * k as f32;
///     [[0.1, y, 0.0], [-0.1, y, 0.0], [0.0, y, 0.1], [0.0, y, -0.1]]
/// });
/// let vertices = Vertices { positions: positions.collect(), ..Vertices::default() };
/// let mesh = SkinnedMesh::new(vertices, Influences::rigid(84), vec![], vec![])?;
/// let bound = Skin::new(vec![0], vec![Affine::IDENTITY])?;
/// let hitboxes = fit([(&mesh, &bound)], &Fit::default())?;
/// assert_eq!(hitboxes.as_slice().len(), 1);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn fit<'a>(
    meshes: impl IntoIterator<Item = (&'a SkinnedMesh, &'a Skin)>,
    options: &Fit,
) -> Result<Hitboxes, Error> {
    if !(0.0..=1.0).contains(&options.coverage) {
        return Err(Error::OutOfRange { what: "coverage", at: 0, needed: "from 0 to 1" });
    }
    let mut parts: Vec<Vec<Vector>> = vec![];
    for (mesh, skin) in meshes {
        mesh.influences().check_joints("joints of the skin", skin.joints().len())?;
        for (vertex, position) in mesh.vertices().positions.iter().enumerate() {
            let at = position.map(f64::from);
            for (k, (name, weight)) in mesh.influences().row(vertex).enumerate() {
                if k > 0 && weight < options.least_weight {
                    continue;
                }
                let joint = usize::from(skin.joints()[usize::from(name)]);
                if parts.len() <= joint {
                    parts.resize(joint + 1, vec![]);
                }
                let bind = skin.inverse_bind()[usize::from(name)].to_f64();
                parts[joint].push(bind.map(|row| dot([row[0], row[1], row[2]], at) + row[3]));
            }
        }
    }
    let mut list = vec![];
    for (joint, points) in parts.iter_mut().enumerate().filter(|(_, points)| !points.is_empty()) {
        let shape = around(points, options.coverage);
        shape.check("hitboxes", joint).map_err(|_| Error::OutOfRange {
            what: "inverse bind matrices",
            at: joint,
            needed: "a matrix that moves vertices to positions within 2^60 of 0",
        })?;
        list.push(Hitbox { joint: joint as u16, shape });
    }
    Hitboxes::new(list)
}

/// Number of points to cover, at least 1. The f32 rounding error of `coverage` (0.95, for example) does not
/// increase it.
fn covered(count: usize, coverage: f32) -> usize {
    if coverage == 1.0 {
        return count;
    }
    let wanted = count as f64 * f64::from(coverage) * (1.0 - f64::from(f32::EPSILON));
    // Rounds up: `core` has no `ceil`.
    let whole = wanted as usize;
    (whole + usize::from(wanted > whole as f64)).max(1)
}

/// Smallest shape around the number of points to cover.
fn around(points: &mut Vec<Vector>, coverage: f32) -> Shape {
    let mut axes = principal_axes(points);
    let keep = covered(points.len(), coverage);
    if keep < points.len() {
        drop_farthest(points, &axes, keep);
        axes = principal_axes(points);
    }
    let few = farthest(points);
    let (mut best, radius) = sphere(points, &few);
    let grown = radius / 1000.0;
    let mut least = volume(&best, grown);
    const OWN: [Vector; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    // The joint axes come first, because their numbers are simpler if both fit equally well.
    for axes in [OWN, axes] {
        let boxed = [oriented_box(points, &axes), oriented_box(points, &turned(&few, axes, grown))];
        let capsules = axes.iter().map(|&axis| capsule(points, &few, axis));
        for candidate in boxed.into_iter().chain(capsules) {
            let volume = volume(&candidate, grown);
            if volume < least * (1.0 - 1e-6) {
                (best, least) = (candidate, volume);
            }
        }
    }
    best
}

/// Volume after growing the shape on all sides; a box stays a box.
fn volume(shape: &Shape, grown: f64) -> f64 {
    match Solid::of(shape) {
        Solid::Capsule { along, radius, .. } => {
            let (length, radius) = (sqrt_f64(dot(along, along)), radius + grown);
            core::f64::consts::PI * radius * radius * (length + 4.0 / 3.0 * radius)
        }
        Solid::Box { half: [x, y, z], .. } => 8.0 * (x + grown) * (y + grown) * (z + grown),
    }
}

/// Orthonormal principal axes of the points, in any order.
fn principal_axes(points: &[Vector]) -> [Vector; 3] {
    let count = points.len() as f64;
    let middle = [0, 1, 2].map(|c| points.iter().map(|p| p[c]).sum::<f64>() / count);
    let mut products = [[0.0; 4]; 4];
    for point in points {
        let off = sub(*point, middle);
        for r in 0..3 {
            for c in 0..3 {
                products[r][c] += off[r] * off[c] / count;
            }
        }
    }
    let vectors = eigenvectors(&mut products);
    // The fourth axis is unused. Points that are not finite have no principal axes.
    let axes = [0, 1, 2].map(|k| [vectors[k][0], vectors[k][1], vectors[k][2]]);
    if axes.as_flattened().iter().all(|v| v.is_finite()) {
        [axes[0], axes[1], cross(axes[0], axes[1])]
    } else {
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    }
}

/// Keeps the `keep` points nearest to the centroid, with distances scaled by the spread along each axis.
fn drop_farthest(points: &mut Vec<Vector>, axes: &[Vector; 3], keep: usize) {
    let count = points.len() as f64;
    let middle = [0, 1, 2].map(|c| points.iter().map(|p| p[c]).sum::<f64>() / count);
    let square = |axis: Vector, p: &Vector| {
        let off = dot(axis, sub(*p, middle));
        off * off
    };
    let spread = axes.map(|axis| points.iter().map(|p| square(axis, p)).sum::<f64>() / count);
    // Limits the spread from below, so that a flat direction does not outweigh the others.
    let least = spread.iter().sum::<f64>() * 1e-6 + f64::MIN_POSITIVE;
    let far = |p: &Vector| -> f64 { (0..3).map(|k| square(axes[k], p) / spread[k].max(least)).sum() };
    order::sort_by(points, |point| order::key(far(point)));
    points.truncate(keep);
}

/// Factor that covers the f32 rounding error of a size.
const ROUNDED: f64 = 1.0 + 1e-6;

/// Bounding sphere and its radius.
fn sphere(points: &[Vector], few: &[Vector]) -> (Shape, f64) {
    let (center, _) = smallest(few.len(), |at| few[at]);
    let center = center.map(|v| v as f32);
    let off = |p: &Vector| {
        let d = sub(*p, center.map(f64::from));
        dot(d, d)
    };
    let radius = sqrt_f64(points.iter().map(off).fold(0.0, f64::max)) * ROUNDED;
    (Shape::Sphere { center, radius: rounded_up(radius) }, radius)
}

/// Capsule along an axis: with the minimum radius, then the minimum length for it.
fn capsule(points: &[Vector], few: &[Vector], axis: Vector) -> Shape {
    let side = across(axis);
    let other = cross(axis, side);
    let flat = |p: Vector| [dot(p, side), dot(p, other), 0.0];
    let (middle, _) = smallest(few.len(), |at| flat(few[at]));
    let off2 = |p: Vector| {
        let d = sub(flat(p), middle);
        dot(d, d)
    };
    let radius2 = points.iter().map(|&p| off2(p)).fold(0.0, f64::max);
    // A point is inside a cap if the cap's centre is at most `reach` away along the axis.
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for &point in points {
        let (height, reach) = (dot(point, axis), sqrt_f64((radius2 - off2(point)).max(0.0)));
        low = low.min(height + reach);
        high = high.max(height - reach);
    }
    if low > high {
        (low, high) = ((low + high) / 2.0, (low + high) / 2.0);
    }
    let end = |height: f64| along(along(along([0.0; 3], axis, height), side, middle[0]), other, middle[1]);
    let [from, to] = [end(low), end(high)].map(|p| p.map(|v| v as f32));
    // Covers the rounding error, including that of f32.
    let size = end(low).iter().chain(&end(high)).map(|v| v.abs()).fold(0.0, f64::max);
    let radius = sqrt_f64(radius2) * ROUNDED + 3e-7 * size;
    Shape::Capsule { from, to, radius: rounded_up(radius) }
}

fn oriented_box(points: &[Vector], axes: &[Vector; 3]) -> Shape {
    let rotation = rotation(axes).map(|v| v as f32);
    // Uses the axes of the rounded rotation.
    let axes = axes_of(rotation.map(f64::from));
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for point in points {
        for k in 0..3 {
            let at = dot(axes[k], *point);
            (low[k], high[k]) = (low[k].min(at), high[k].max(at));
        }
    }
    let middle = [0, 1, 2].map(|k| (low[k] + high[k]) / 2.0);
    let center = along(along(along([0.0; 3], axes[0], middle[0]), axes[1], middle[1]), axes[2], middle[2]);
    let center = center.map(|v| v as f32);
    let at = [0, 1, 2].map(|k| dot(axes[k], center.map(f64::from)));
    let half = [0, 1, 2].map(|k| (high[k] - at[k]).max(at[k] - low[k]) * ROUNDED);
    Shape::Box { center, rotation, half_extents: half.map(rounded_up) }
}

/// Rotates the axes by decreasing angles while this makes the grown box smaller.
fn turned(points: &[Vector], mut axes: [Vector; 3], grown: f64) -> [Vector; 3] {
    let volume = |axes: &[Vector; 3]| -> f64 {
        let size = |axis: &Vector| {
            let along = points.iter().map(|p| dot(*axis, *p));
            let (low, high) =
                along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
            high - low + 2.0 * grown
        };
        size(&axes[0]) * size(&axes[1]) * size(&axes[2])
    };
    let mut least = volume(&axes);
    // Tangent of half the angle; the last steps are about 0.01 degrees.
    let mut step = 0.2;
    while step > 1e-4 {
        let mut better = false;
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            for t in [step, -step] {
                let (cos, sin) = ((1.0 - t * t) / (1.0 + t * t), 2.0 * t / (1.0 + t * t));
                let mut candidate = axes;
                candidate[a] = [0, 1, 2].map(|c| cos * axes[a][c] + sin * axes[b][c]);
                candidate[b] = [0, 1, 2].map(|c| cos * axes[b][c] - sin * axes[a][c]);
                let volume = volume(&candidate);
                if volume < least * (1.0 - 1e-4) {
                    (axes, least, better) = (candidate, volume, true);
                }
            }
        }
        if !better {
            step /= 2.0;
        }
    }
    axes
}

/// Quaternion that rotates the coordinate axes to `axes`, which are orthonormal and right-handed.
fn rotation(axes: &[Vector; 3]) -> [f64; 4] {
    let rows = [0, 1, 2].map(|r| [axes[0][r], axes[1][r], axes[2][r], 0.0]);
    condyle_base::math::Transform64::from_rows(&rows).0.rotation
}
