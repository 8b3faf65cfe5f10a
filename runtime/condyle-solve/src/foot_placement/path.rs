//! Smooth paths: position, velocity and acceleration, and the minimum-jerk path from there.

/// `N` values, with their first and second derivatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Path<const N: usize> {
    pub(super) place: [f64; N],
    pub(super) velocity: [f64; N],
    pub(super) acceleration: [f64; N],
}

impl<const N: usize> Path<N> {
    /// A path at rest at `place`.
    pub(super) fn at(place: [f64; N]) -> Self {
        Self { place, velocity: [0.0; N], acceleration: [0.0; N] }
    }

    /// Advances by `seconds` along the quintic polynomial that reaches `to` in `horizon` seconds, with
    /// velocity `through` and without acceleration. This is the minimum-jerk path. Its remainder is again a
    /// minimum-jerk path, so planning again at any time has no effect. After the horizon the velocity is
    /// constant.
    pub(super) fn advance(&mut self, to: &[f64; N], through: &[f64; N], horizon: f64, seconds: f64) {
        for n in 0..N {
            if seconds >= horizon {
                self.place[n] = to[n] + through[n] * (seconds - horizon.max(0.0));
                self.velocity[n] = through[n];
                self.acceleration[n] = 0.0;
                continue;
            }
            let (s, t) = (seconds / horizon, horizon);
            let [a, b, c] = [self.place[n], self.velocity[n] * t, 0.5 * self.acceleration[n] * t * t];
            // Differences between the goal and the end of the quadratic polynomial from here: in position,
            // velocity and acceleration.
            let (p, v, w) = (to[n] - a - b - c, through[n] * t - b - 2.0 * c, -2.0 * c);
            let d = 10.0 * p - 4.0 * v + 0.5 * w;
            let e = -15.0 * p + 7.0 * v - w;
            let f = 6.0 * p - 3.0 * v + 0.5 * w;
            self.place[n] = a + s * (b + s * (c + s * (d + s * (e + s * f))));
            self.velocity[n] = (b + s * (2.0 * c + s * (3.0 * d + s * (4.0 * e + s * 5.0 * f)))) / t;
            self.acceleration[n] = (2.0 * c + s * (6.0 * d + s * (12.0 * e + s * 20.0 * f))) / (t * t);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_arrives_as_asked_however_often_it_is_planned() {
        let start = Path { place: [1.0, -2.0], velocity: [3.0, 0.5], acceleration: [-4.0, 0.0] };
        let (to, through, horizon) = ([0.5, 7.0], [-1.0, 2.0], 0.4);
        for parts in [1, 2, 3, 10, 1000] {
            let (mut path, mut halfway) = (start, start);
            let step = horizon / f64::from(parts);
            halfway.advance(&to, &through, horizon, 0.5 * horizon);
            for part in 0..parts {
                if 2 * part == parts {
                    let off = path.place[0] - halfway.place[0];
                    assert!(
                        off.abs() < 1e-9 && (path.velocity[1] - halfway.velocity[1]).abs() < 1e-8,
                        "{parts}"
                    );
                }
                path.advance(&to, &through, horizon - f64::from(part) * step, step);
            }
            let off = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).abs().max((a[1] - b[1]).abs());
            assert!(off(path.place, to) < 1e-9 && off(path.velocity, through) < 1e-7, "{parts}: {path:?}");
        }
        let mut late = start;
        late.advance(&to, &through, 0.4, 1.4);
        assert!((late.place[0] + 0.5).abs() < 1e-12 && (late.place[1] - 9.0).abs() < 1e-12, "{late:?}");
        assert_eq!((late.velocity, late.acceleration), (through, [0.0; 2]));
        let mut none = start;
        none.advance(&to, &through, 0.0, 0.0);
        assert_eq!(none.place, to);
    }
}
