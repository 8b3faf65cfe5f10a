//! Spheres, and the minimum enclosing sphere of points.

use super::aabb::rounded_up;
use condyle_base::math::Affine;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{columns, dot, stretch_bound};

/// Sphere, including its surface.
///
/// ```
/// use condyle_query::bounds::Sphere;
///
/// let around = Sphere::around(&[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.9, 0.0]]);
/// assert!((around.radius - 1.0).abs() < 1e-5 && around.center[1].abs() < 1e-2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Sphere {
    /// Centre, in metres.
    pub center: [f32; 3],
    /// Radius in metres; a sphere with a negative radius is empty.
    pub radius: f32,
}

const _: () = assert!(size_of::<Sphere>() == 16);

/// Maximum number of steps in which [`Sphere::around`] moves the centre.
const STEPS: usize = 300;

impl Sphere {
    /// Empty sphere.
    pub const EMPTY: Self = Self { center: [0.0; 3], radius: -1.0 };

    /// Returns a nearly minimal sphere around points. It is never too small, and each point is visited at
    /// most a few hundred times.
    ///
    /// The centre is a weighted mean of points. Each step adds weight to the farthest point or removes weight
    /// from the nearest point of the mean: E. A. Yıldırım, *Two Algorithms for the Minimum Enclosing Ball
    /// Problem*, 2008. Use it for spheres that are built once. Without points, or if a coordinate is not
    /// finite, it returns [`Sphere::EMPTY`].
    #[must_use]
    pub fn around(points: &[[f32; 3]]) -> Self {
        let wide = |p: &[f32; 3]| p.map(f64::from);
        if points.is_empty() || !points.as_flattened().iter().all(|v| v.is_finite()) {
            return Self::EMPTY;
        }
        let (center, _) = smallest(points.len(), |at| wide(&points[at]));
        let center = center.map(|v| v as f32);
        let radius2 = points.iter().map(|p| distance2(wide(p), wide(&center))).fold(0.0, f64::max);
        Self { center, radius: rounded_up(sqrt_f64(radius2) * (1.0 + 1e-15)) }
    }

    /// Returns whether the sphere contains a point.
    #[must_use]
    pub fn contains(&self, point: [f32; 3]) -> bool {
        let radius = f64::from(self.radius);
        radius >= 0.0 && distance2(point.map(f64::from), self.center.map(f64::from)) <= radius * radius
    }

    /// Returns a sphere around this one after a transform. A non-uniform scale makes an ellipsoid; the result
    /// encloses it.
    #[must_use]
    pub fn transformed(&self, matrix: &Affine) -> Self {
        if self.radius < 0.0 {
            return *self;
        }
        let wide = matrix.to_f64();
        let at = self.center.map(f64::from);
        let exact = wide.map(|row| dot([row[0], row[1], row[2]], at) + row[3]);
        let center = exact.map(|v| v as f32);
        let off = sqrt_f64(distance2(exact, center.map(f64::from)));
        Self { center, radius: rounded_up((f64::from(self.radius) * stretch(&wide) + off) * (1.0 + 1e-14)) }
    }
}

/// Upper bound on the factor by which a matrix lengthens a vector; exact if its columns are perpendicular.
pub(crate) fn stretch(rows: &[[f64; 4]; 3]) -> f64 {
    stretch_bound(columns(rows)) * (1.0 + 1e-14)
}

pub(crate) fn distance2(a: [f64; 3], b: [f64; 3]) -> f64 {
    let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    dot(d, d)
}

/// Centre and radius of a nearly minimal sphere around `count` points, at least one. The radius is exact for
/// that centre.
pub(crate) fn smallest(count: usize, point: impl Fn(usize) -> [f64; 3]) -> ([f64; 3], f64) {
    let farthest = |from: [f64; 3]| {
        let far = |(best, at): (f64, usize), k: usize| {
            let d = distance2(point(k), from);
            if d > best { (d, k) } else { (best, at) }
        };
        (0..count).fold((0.0, 0), far)
    };
    let first = farthest(point(0)).1;
    let second = farthest(point(first)).1;
    // Points of the weighted mean, and their weights.
    let mut active = alloc::vec![(first, 0.5), (second, 0.5)];
    let mut center = [0, 1, 2].map(|c| (point(first)[c] + point(second)[c]) / 2.0);
    let mut best = (center, f64::INFINITY);
    for _ in 0..STEPS {
        let (far2, far) = farthest(center);
        if far2 < best.1 {
            best = (center, far2);
        }
        // Dual objective: the weighted mean of squared distances from the centre, a lower bound on the
        // minimum squared radius.
        let worth: f64 = active.iter().map(|&(at, weight)| weight * distance2(point(at), center)).sum();
        if far2 <= worth * (1.0 + 1e-9) || worth == 0.0 {
            break;
        }
        let near = active.iter().enumerate().fold((f64::INFINITY, 0), |(least, at), (k, &(p, _))| {
            let d = distance2(point(p), center);
            if d < least { (d, k) } else { (least, at) }
        });
        let (gain, loss) = (far2 / worth - 1.0, 1.0 - near.0 / worth);
        let (towards, step) = if gain >= loss {
            if !active.iter().any(|&(at, _)| at == far) {
                active.push((far, 0.0));
            }
            (far, gain / (2.0 * (1.0 + gain)))
        } else {
            let (at, weight) = active[near.1];
            let most = if weight < 1.0 { weight / (1.0 - weight) } else { 0.0 };
            (at, -(loss / (2.0 * (1.0 - loss).max(1e-12))).min(most))
        };
        for (at, weight) in &mut active {
            *weight *= 1.0 - step;
            if *at == towards {
                *weight += step;
            }
        }
        active.retain(|&(_, weight)| weight > 1e-15);
        let total: f64 = active.iter().map(|&(_, weight)| weight).sum();
        center = [0, 1, 2].map(|c| active.iter().map(|&(at, w)| w * point(at)[c]).sum::<f64>() / total);
    }
    (best.0, sqrt_f64(best.1.min(farthest(best.0).0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::{Random, tries};
    use std::vec::Vec;

    /// The minimum sphere is determined by two, three or four points. Here, points on a known sphere
    /// determine it, and random points inside are added.
    #[test]
    fn the_smallest_sphere_is_found_and_holds_all() {
        let mut random = Random(8);
        for round in 0..tries(60) {
            let (center, radius): ([f32; 3], f32) = (random.vector(5.0), random.range(0.1, 3.0));
            let mut points: Vec<[f32; 3]> = Vec::new();
            // A regular tetrahedron or two opposite points, in a random direction: the known sphere is their
            // minimum sphere.
            let matrix =
                Affine::from(condyle_base::math::Transform { scale: [1.0; 3], ..random.transform() });
            let corners: &[[f32; 3]] = match round % 3 {
                0 => &[[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]],
                1 => &[[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]],
                _ => &[[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 0.0, 0.0]],
            };
            let size = radius / 3.0_f32.sqrt();
            let place = |p: [f32; 3]| {
                let turned = matrix.transform_vector(p);
                core::array::from_fn(|c| center[c] + size * turned[c])
            };
            points.extend(corners.iter().map(|&p| place(p)));
            let on_surface = points.len();
            for _ in 0..round % 40 {
                let inside: [f32; 3] = random.unit();
                let by = random.range(0.0, 0.999);
                points.push(core::array::from_fn(|c| center[c] + radius * by * inside[c]));
            }
            if round % 3 == 2 {
                points.truncate(on_surface);
            }
            let got = Sphere::around(&points);
            assert!(points.iter().all(|&p| got.contains(p)), "round {round}");
            // The radius is not checked for the triangle: two corners are 2 sqrt 2 apart, and the third is
            // nearer.
            let want = if round % 3 == 2 { None } else { Some(radius) };
            if let Some(want) = want {
                assert!(got.radius <= want * 1.0005, "round {round}: {} instead of {want}", got.radius);
            }
        }
    }

    #[test]
    fn degenerate_points_are_enclosed() {
        for points in [&[[1.0, 2.0, 3.0]; 5][..], &[[0.0; 3], [1.0, 0.0, 0.0], [0.5, 0.0, 0.0]][..]] {
            let got = Sphere::around(points);
            assert!(points.iter().all(|&p| got.contains(p)));
        }
        assert_eq!(Sphere::around(&[]), Sphere::EMPTY);
        assert_eq!(Sphere::around(&[[f32::NAN; 3]]), Sphere::EMPTY);
        assert!(!Sphere::EMPTY.contains([0.0; 3]));
    }

    #[test]
    fn a_moved_sphere_holds_what_it_held() {
        let mut random = Random(9);
        for _ in 0..tries(200) {
            let sphere = Sphere { center: random.vector(2.0), radius: random.range(0.0, 2.0) };
            let mut matrix = Affine::from(random.transform());
            matrix.rows[1][0] += random.range(-1.0, 1.0);
            let moved = sphere.transformed(&matrix);
            for _ in 0..30 {
                let d: [f32; 3] = random.unit();
                let p = core::array::from_fn(|c| {
                    f64::from(sphere.center[c]) + 0.999_999 * f64::from(sphere.radius * d[c])
                });
                let q = matrix.to_f64().map(|row| dot([row[0], row[1], row[2]], p) + row[3]);
                let far = sqrt_f64(distance2(q, moved.center.map(f64::from)));
                assert!(far <= f64::from(moved.radius), "{far} {}", moved.radius);
            }
        }
    }
}
