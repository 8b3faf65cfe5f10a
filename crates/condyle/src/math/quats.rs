//! Quaternions in f64, for what is done once: constructors, and the moment of a transition.

use super::{atan2_f64, sqrt_f64};
use crate::decompose::dot;

/// A quaternion `[x, y, z, w]` in f64.
pub(crate) type Quat64 = [f64; 4];

/// The Hamilton product: `b`'s rotation, then `a`'s.
pub(crate) fn product(a: Quat64, b: Quat64) -> Quat64 {
    let ([ax, ay, az, aw], [bx, by, bz, bw]) = (a, b);
    [
        aw * bx + ax * bw + (ay * bz - az * by),
        aw * by + ay * bw + (az * bx - ax * bz),
        aw * bz + az * bw + (ax * by - ay * bx),
        aw * bw - (ax * bx + ay * by + az * bz),
    ]
}

/// The inverse of a unit quaternion.
pub(crate) fn conjugate([x, y, z, w]: Quat64) -> Quat64 {
    [-x, -y, -z, w]
}

/// `q`, or its opposite where that is on the hemisphere of `a`.
pub(crate) fn near(a: Quat64, q: Quat64) -> Quat64 {
    let dot = (a[0] * q[0] + a[1] * q[1]) + (a[2] * q[2] + a[3] * q[3]);
    if dot < 0.0 { q.map(|v| -v) } else { q }
}

/// The logarithm of a quaternion of any length but 0: the axis times half of the rotation's angle, from 0 to π.
pub(crate) fn log([x, y, z, w]: Quat64) -> [f64; 3] {
    let v = [x, y, z];
    let sine = sqrt_f64(dot(v, v));
    if sine == 0.0 { v } else { v.map(|v| v * (atan2_f64(sine, w) / sine)) }
}

/// `v` turned by a unit quaternion.
pub(crate) fn rotate(q: Quat64, [x, y, z]: [f64; 3]) -> [f64; 3] {
    let [x, y, z, _] = product(product(q, [x, y, z, 0.0]), conjugate(q));
    [x, y, z]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::normalize;
    use crate::reference;
    use crate::testing::{Random, tries};

    fn far<const N: usize>(a: [f64; N], b: [f64; N]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn they_are_the_formulas() {
        let mut random = Random(40);
        for _ in 0..tries(1000) {
            let [a, b] = [random.unit::<4>(), random.unit()].map(|q| {
                let mut q = q.map(f64::from);
                normalize(&mut q);
                q
            });
            let v = random.vector(2.0).map(f64::from);
            assert!(far(product(a, b), reference::quat_product(a, b)) < 1e-15, "{a:?} {b:?}");
            assert!(far(product(conjugate(a), a), [0.0, 0.0, 0.0, 1.0]) < 1e-15, "{a:?}");
            assert!(far(rotate(a, v), reference::rotate(a, v)) < 1e-14, "{a:?} {v:?}");
            let (log, want) = (log(a), reference::quat_log(a));
            assert!(far(log, want) < 1e-11, "{a:?}: {log:?} instead of {want:?}");
            assert!(far(near(a, b.map(|v| -v)), near(a, b)) == 0.0, "{a:?} {b:?}");
        }
        assert_eq!(log([0.0, 0.0, 0.0, 1.0]), [0.0; 3]);
        assert_eq!(log([1e-12, 0.0, 0.0, 1.0]), [1e-12, 0.0, 0.0]);
    }
}
