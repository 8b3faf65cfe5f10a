//! Points of a sphere whose images under an affine map are nearest to a point, or farthest from it. Finding
//! them is a trust-region problem: Conn, Gould and Toint, *Trust-Region Methods*, 7.3.

use super::maps::{Affine64, Vec64, add, direction, length, scaled, sub};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{cofactors, dot};

/// Point at a given distance from the origin whose image is nearest to the image of `goal`.
#[inline(never)]
pub(super) fn nearest_at(map: &Affine64, goal: Vec64, distance: f64) -> Vec64 {
    if map.is_even() || distance == 0.0 {
        return scaled(direction(goal).unwrap_or([1.0, 0.0, 0.0]), distance);
    }
    let metric = metric(map);
    let sphere = Sphere { right: metric.vector(goal), distance, outside: length(goal) > distance, metric };
    sphere.least(goal, |x| length(map.vector(sub(x, goal))))
}

/// Point at a given distance from the origin whose image is farthest from the image of `goal`.
///
/// With `Q` for the map's metric, this point minimises `xᵀ (c − Q) x + 2 xᵀ Q goal` for any `c`. `c − Q` is
/// positive definite if `c` is larger than the largest eigenvalue of `Q`.
pub(super) fn farthest_at(map: &Affine64, goal: Vec64, distance: f64) -> Vec64 {
    if map.is_even() || distance == 0.0 {
        return scaled(direction(goal).unwrap_or([-1.0, 0.0, 0.0]), -distance);
    }
    let own = metric(map);
    let most = 2.0 * trace(&own);
    let mut metric = Affine64 { linear: own.linear.map(|row| scaled(row, -1.0)), origin: [0.0; 3] };
    (0..3).for_each(|c| metric.linear[c][c] += most);
    let right = scaled(own.vector(goal), -1.0);
    let lowest = inverse(&metric).0.vector(right);
    let sphere = Sphere { outside: length(lowest) > distance, right, distance, metric };
    sphere.least(scaled(goal, -1.0), |x| -length(map.vector(sub(x, goal))))
}

fn metric(map: &Affine64) -> Affine64 {
    Affine64 { linear: map.columns().map(|c| map.transposed(c)), origin: [0.0; 3] }
}

fn trace(map: &Affine64) -> f64 {
    map.linear[0][0] + map.linear[1][1] + map.linear[2][2]
}

/// The inverse of a symmetric map, and its determinant.
fn inverse(map: &Affine64) -> (Affine64, f64) {
    let (cofactors, determinant) = cofactors(map.columns());
    (Affine64 { linear: cofactors.map(|row| scaled(row, 1.0 / determinant)), origin: [0.0; 3] }, determinant)
}

/// Minimises `xᵀ metric x − 2 xᵀ right` over all `x` of a given length. The metric is positive definite.
struct Sphere {
    metric: Affine64,
    right: Vec64,
    distance: f64,
    /// Whether the unconstrained minimum lies outside the sphere.
    outside: bool,
}

impl Sphere {
    /// Returns the candidate with the lowest cost; the point in the direction of `first` is one of the
    /// candidates.
    ///
    /// Solves `(metric + λ) x = right` for the λ that gives `x` the requested length. Newton's method is
    /// applied to the reciprocal of the length, which is almost linear in λ.
    fn least(&self, first: Vec64, cost: impl Fn(Vec64) -> f64) -> Vec64 {
        let Self { metric, right, distance, outside } = self;
        let distance = *distance;
        let size = trace(metric);
        let solve = |lambda: f64| {
            let mut m = *metric;
            (0..3).for_each(|c| m.linear[c][c] += lambda);
            let (inverse, determinant) = inverse(&m);
            let x = inverse.vector(*right);
            (x, inverse.vector(x), determinant, inverse)
        };
        // Above `low` the matrix has no negative eigenvalue, and the length falls as λ rises.
        let (mut low, mut high) = if *outside { (0.0, f64::INFINITY) } else { (-size, 0.0) };
        let mut lambda = 0.0;
        let mut best = (f64::INFINITY, [distance, 0.0, 0.0]);
        let mut judge = |x: Vec64| {
            if let Some(d) = direction(x) {
                let x = scaled(d, distance);
                let off = cost(x);
                if off < best.0 {
                    best = (off, x);
                }
            }
        };
        judge(first);
        let mut found = false;
        for _ in 0..60 {
            let (x, slope, determinant, _) = solve(lambda);
            let long = length(x);
            // An indefinite matrix may have a positive determinant; then a leading minor is negative.
            let m = &metric.linear;
            let minor = (m[0][0] + lambda) * (m[1][1] + lambda) - m[0][1] * m[0][1];
            let positive = determinant > 0.0 && minor > 0.0 && m[0][0] + lambda > 0.0;
            if positive {
                judge(x);
            }
            if positive && (long - distance).abs() <= 1e-13 * distance {
                found = true;
                break;
            }
            if positive && long < distance {
                high = lambda;
            } else {
                low = lambda;
            }
            // d(1/|x|)/dλ = x·x'/|x|³ with x' = -(M + λ)⁻¹ x.
            let next = lambda + (long - distance) / distance * (long * long) / dot(x, slope);
            lambda = if positive && next > low && next < high {
                next
            } else if high < f64::INFINITY {
                0.5 * (low + high)
            } else {
                2.0 * lambda + size
            };
        }
        if !found && high < f64::INFINITY {
            // The hard case: the goal has no component along the axis that the map scales least, for example
            // because it is the origin. Then no λ gives `x` the requested length. The missing part lies along
            // that axis, on either side.
            let (x, _, _, inverse) = solve(high + 1e-9 * size);
            let least = (0..4).fold([1.0, 0.618, 0.382], |v, _| direction(inverse.vector(v)).unwrap_or(v));
            let (along, lacks) = (dot(x, least), distance * distance - dot(x, x));
            if lacks > 0.0 {
                let root = sqrt_f64(along * along + lacks);
                judge(add(x, scaled(least, root - along)));
                judge(sub(x, scaled(least, root + along)));
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::{Random, cases};

    /// Hill climbing from many starting points finds no point of the sphere that is nearer or farther. Scales
    /// are from 0.05 to 20 and may mirror. Every fourth goal is the origin, and every fourth one is on an
    /// axis of the map: the hard case.
    #[test]
    fn no_point_of_the_sphere_is_nearer_or_farther() {
        let mut random = Random(7);
        for case in 0..cases(400) {
            let scale: Vec64 = core::array::from_fn(|_| {
                let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
                sign * 20.0_f64.powf(random.range(-1.0, 1.0).into())
            });
            let turned = |random: &mut Random| Affine64 {
                linear: condyle_base::math::quats::rows(random.unit::<4>().map(f64::from)),
                origin: [0.0; 3],
            };
            let (first, last) = (turned(&mut random), turned(&mut random));
            let map = first.after(&Affine64::scale(scale).after(&last));
            let goal = random.vector::<3>(2.0).map(f64::from);
            let along = last.transposed([goal[0], 0.0, 0.0]);
            let goal = [goal, goal, along, [0.0; 3]][case % 4];
            let distance = f64::from(random.range(0.05, 2.0));
            let off = |x: Vec64| length(map.vector(sub(x, goal)));
            for (found, sign) in
                [(nearest_at(&map, goal, distance), 1.0), (farthest_at(&map, goal, distance), -1.0)]
            {
                assert!((length(found) - distance).abs() < 1e-12 * distance, "{case}: not on the sphere");
                for _ in 0..20 {
                    let mut x = scaled(random.unit::<3>().map(f64::from), distance);
                    let mut size = 1.0;
                    while size > 1e-5 {
                        let step = random.vector::<3>(1.0).map(|v| f64::from(v) * size * distance);
                        let next = scaled(direction(add(x, step)).unwrap_or(x), distance);
                        if sign * off(next) < sign * off(x) { x = next } else { size *= 0.9 }
                    }
                    let better = sign * (off(found) - off(x));
                    assert!(
                        better <= 1e-9 * (off(found) + distance),
                        "{case}: {better} from {found:?} to {x:?}"
                    );
                }
            }
        }
    }
}
