//! The value of a request over time: a smooth path through the given values, which eases in and out.

use condyle::Quat;
use condyle::interpolation::{Method, interpolate};
use condyle_draw::vector::{Vec3, add_scaled, scale, sub};

/// Values at ascending times; one without a time holds throughout.
#[derive(Clone, Debug)]
pub(crate) struct Path<V> {
    times: Vec<f64>,
    values: Vec<V>,
}

impl<V: Copy> Path<V> {
    /// Returns a path that holds one value throughout.
    pub(crate) fn constant(value: V) -> Self {
        Self { times: Vec::new(), values: vec![value] }
    }

    /// Builds a path from at least one value, each at a different time. Returns a repeated time as the error,
    /// in seconds.
    pub(crate) fn new(mut keys: Vec<(f64, V)>) -> Result<Self, f64> {
        keys.sort_by(|a, b| a.0.total_cmp(&b.0));
        match keys.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            Some(pair) => Err(pair[0].0),
            None => Ok(Self {
                times: keys.iter().map(|key| key.0).collect(),
                values: keys.iter().map(|key| key.1).collect(),
            }),
        }
    }

    /// Returns the times of the values; empty if the path holds throughout.
    pub(crate) fn times(&self) -> &[f64] {
        &self.times
    }

    /// Moves times up to a thousandth of a second outside a span to its ends; returns the first time that is
    /// farther outside.
    pub(crate) fn fit(&mut self, start: f64, end: f64) -> Option<f64> {
        for time in &mut self.times {
            let within = time.clamp(start, end);
            if (*time - within).abs() > 1e-3 {
                return Some(*time);
            }
            *time = within;
        }
        None
    }

    /// Returns the weight at a moment: 1 from the first time to the last one, with a smooth ramp over `ease`
    /// seconds before and after.
    pub(crate) fn share(&self, seconds: f64, ease: f32) -> f32 {
        let [Some(&first), Some(&last)] = [self.times.first(), self.times.last()] else { return 1.0 };
        let off = (first - seconds).max(seconds - last).max(0.0) as f32;
        let x = 1.0 - (off / ease).min(1.0);
        // The ramp begins and ends with zero velocity and acceleration.
        x * x * x * (10.0 - x * (15.0 - 6.0 * x))
    }

    /// Returns the indices of the keys around a moment, and the fraction of the way from the first to the
    /// second. Outside the keys, both indices are equal.
    fn around(&self, seconds: f64) -> (usize, usize, f32) {
        let next = self.times.partition_point(|&time| time <= seconds);
        match next {
            0 => (0, 0, 0.0),
            _ if next == self.values.len() => (next - 1, next - 1, 0.0),
            _ => {
                let [from, to] = [next - 1, next].map(|at| self.times[at]);
                (next - 1, next, ((seconds - from) / (to - from)) as f32)
            }
        }
    }
}

impl Path<Vec3> {
    /// Returns the position at a moment, on a cubic between keys. The velocity at a key is the mean velocity
    /// between its neighbours, and 0 at both ends.
    pub(crate) fn at(&self, seconds: f64) -> Vec3 {
        let (from, to, x) = self.around(seconds);
        if x == 0.0 {
            return self.values[from];
        }
        let span = (self.times[to] - self.times[from]) as f32;
        let [a, b] = [from, to].map(|at| self.values[at]);
        let [leave, arrive] = [from, to].map(|at| scale(self.speed(at), span));
        let rise = x * x * (3.0 - 2.0 * x);
        let (early, late) = (x * (1.0 - x) * (1.0 - x), x * x * (1.0 - x));
        let along = add_scaled(a, sub(b, a), rise);
        add_scaled(add_scaled(along, leave, early), arrive, -late)
    }

    fn speed(&self, at: usize) -> Vec3 {
        if at == 0 || at + 1 == self.values.len() {
            return [0.0; 3];
        }
        let way = sub(self.values[at + 1], self.values[at - 1]);
        scale(way, 1.0 / (self.times[at + 1] - self.times[at - 1]) as f32)
    }
}

impl Path<Quat> {
    /// Returns the rotation at a moment, on the shorter arc between keys.
    pub(crate) fn at(&self, seconds: f64) -> Quat {
        let (from, to, x) = self.around(seconds);
        // Velocity 0 at the given rotations avoids jerks.
        interpolate(self.values[from], self.values[to], x * x * (3.0 - 2.0 * x), Method::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_draw::vector::length;

    #[test]
    fn a_path_goes_through_its_places_without_a_jerk() {
        let keys = vec![
            (2.0, [1.0, 2.0, 0.0]),
            (0.5, [0.0, 1.0, 0.0]),
            (1.0, [1.0, 1.0, 1.0]),
            (1.2, [2.0, 0.0, 1.0]),
        ];
        let path = Path::new(keys.clone()).expect("four times");
        assert_eq!(path.times(), [0.5, 1.0, 1.2, 2.0]);
        for (time, place) in keys {
            assert!(length(sub(path.at(time), place)) < 1e-6, "{time}");
        }
        assert_eq!((path.at(-3.0), path.at(9.0)), ([0.0, 1.0, 0.0], [1.0, 2.0, 0.0]));
        let speed = |at: f64| scale(sub(path.at(at + 2e-4), path.at(at - 2e-4)), 2500.0);
        for at in [0.5, 1.0, 1.2, 2.0] {
            let [before, after] = [speed(at - 4e-4), speed(at + 4e-4)];
            assert!(length(sub(before, after)) < 0.2, "{at}: {before:?} {after:?}");
        }
        assert!(length(speed(0.5)) < 0.05 && length(speed(1.1)) > 1.0);
        assert_eq!(Path::new(vec![(1.0, [0.0; 3]), (1.0, [1.0; 3])]).err(), Some(1.0));
    }

    #[test]
    fn a_share_rises_before_and_falls_behind() {
        let path = Path::new(vec![(1.0, [0.0; 3]), (2.0, [1.0; 3])]).expect("two times");
        for (seconds, share) in
            [(0.0, 0.0), (0.5, 0.0), (0.75, 0.5), (1.0, 1.0), (1.5, 1.0), (2.0, 1.0), (2.25, 0.5), (3.0, 0.0)]
        {
            assert_eq!(path.share(seconds, 0.5), share, "{seconds}");
        }
        assert_eq!(Path::constant([0.0; 3]).share(-7.0, 0.1), 1.0);
    }

    #[test]
    fn rotations_are_taken_on_the_shorter_way() {
        let half = core::f32::consts::FRAC_1_SQRT_2;
        let path =
            Path::new(vec![(0.0, [0.0, 0.0, 0.0, 1.0]), (1.0, [0.0, -half, 0.0, -half])]).expect("two times");
        let [_, y, _, w] = path.at(0.5);
        assert!((y - 0.382_683_4).abs() < 1e-6 && (w - 0.923_879_5).abs() < 1e-6, "{y} {w}");
    }
}
