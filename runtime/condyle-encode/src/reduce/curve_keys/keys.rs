//! Keys of one property: those of its curves, with additional keys where glTF's interpolation differs.
//!
//! Curves have a kink at each key, and the f32 time of a key may be up to 1 µs off after 16 seconds. Errors
//! are therefore checked with exact times: no additional key would make up for the rounding of a time.

use alloc::vec::Vec;

use super::curves::Property;
use condyle::clip::Interpolation;
use condyle::clip::keys::hermite;
use condyle_base::math::quats::{near, slerp_f64};
use condyle_base::math::vectors::normalize;

/// Maximum number of parts of the time between two keys of a curve.
const MOST_PARTS: usize = 32;

/// Keys of a track.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Keys {
    pub(super) interpolation: Interpolation,
    pub(super) times: Vec<f32>,
    /// Numbers in the order of a [`Track`](condyle::clip::Track).
    pub(super) values: Vec<f32>,
}

/// Keys of a property, within `tolerance` of its curves: in radians for rotations, else per component.
/// Straight lines or splines, whichever take fewer bytes. `None` if neither comes that close.
pub(super) fn keys(property: &Property<'_>, tolerance: f64) -> Option<Keys> {
    let fit = Fit { property, tolerance };
    if (0..property.segment_count()).all(|segment| property.is_line(segment)) {
        return fit.lines();
    }
    let of = [fit.lines(), fit.splines()];
    let bytes = |keys: &Keys| keys.times.len() + keys.values.len();
    of.into_iter().flatten().min_by_key(bytes)
}

/// Key of a curve.
#[derive(Clone)]
struct Key {
    seconds: f64,
    value: Vec<f64>,
}

struct Fit<'a> {
    property: &'a Property<'a>,
    tolerance: f64,
}

impl Fit<'_> {
    /// Keys at the knots of a segment. Rotations are on one hemisphere with the key before, `last`.
    fn knots(&self, segment: usize, last: &mut Option<Vec<f64>>) -> Vec<Key> {
        let keys = self.property.knots(segment).into_iter().map(|seconds| self.key(seconds, last));
        keys.collect()
    }

    fn key(&self, seconds: f64, last: &mut Option<Vec<f64>>) -> Key {
        let value = self.value(seconds, last.as_deref());
        *last = Some(value.clone());
        Key { seconds, value }
    }

    /// Rounded time of a key, and its value there: the mean of both sides' curves, which halves the error of
    /// the rounding at a kink.
    fn stored(&self, key: &Key) -> (f32, Vec<f32>) {
        let time = key.seconds as f32;
        let by = f64::from(time) - key.seconds;
        let mut value = key.value.clone();
        if by != 0.0 {
            let [after, before] = [by, -by].map(|by| self.value(key.seconds + by, Some(&key.value)));
            value.iter_mut().zip(after.iter().zip(before)).for_each(|(v, (a, b))| *v += 0.5 * (a - b));
        }
        (time, value.into_iter().map(|v| v as f32).collect())
    }

    /// Value at a time, on one hemisphere with `like`.
    fn value(&self, seconds: f64, like: Option<&[f64]>) -> Vec<f64> {
        let value = self.property.value(seconds);
        match like {
            Some(like) if self.property.target.rotates() => near(quat(like), quat(&value)).to_vec(),
            _ => value,
        }
    }

    /// Distance between two values.
    fn off(&self, a: &[f64], b: &[f64]) -> f64 {
        if self.property.target.rotates() {
            let (a, b) = (quat(a), quat(b));
            // The angle is twice the distance of the quaternions, for small angles.
            return 2.0 * norm(a.iter().zip(near(a, b)).map(|(a, b)| a - b));
        }
        match self.property.target.joint() {
            Some(_) => norm(a.iter().zip(b).map(|(a, b)| a - b)),
            None => a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max),
        }
    }

    /// Straight lines, or slerp.
    fn lines(&self) -> Option<Keys> {
        let (mut times, mut values, mut last) = (Vec::new(), Vec::new(), None);
        for segment in 0..self.property.segment_count() {
            let keys = self.knots(segment, &mut last);
            let is_line = self.property.is_line(segment);
            let mut add = |key: &Key| {
                let (time, value) = self.stored(key);
                if times.last().is_none_or(|&before| before < time) {
                    times.push(time);
                    values.extend(value);
                }
            };
            keys.first().into_iter().for_each(&mut add);
            for pair in keys.windows(2) {
                let inside = if is_line { Vec::new() } else { self.inside(&pair[0], &pair[1])? };
                inside.iter().chain(&pair[1..]).for_each(&mut add);
            }
        }
        Some(Keys { interpolation: Interpolation::Linear, times, values })
    }

    /// Keys between two keys, so that straight lines are within the tolerance.
    fn inside(&self, from: &Key, to: &Key) -> Option<Vec<Key>> {
        let mut count = 1;
        loop {
            let inside = self.parts(from, to, count);
            let all: Vec<&Key> = [from].into_iter().chain(&inside).chain([to]).collect();
            let worst = all.windows(2).map(|pair| self.off_line(pair[0], pair[1])).fold(0.0, f64::max);
            if worst <= self.tolerance {
                return Some(inside);
            }
            // The error falls with the square of the number of parts.
            count = more(count, worst / self.tolerance, 0.5)?;
        }
    }

    /// Keys that divide the time between two keys into even parts.
    fn parts(&self, from: &Key, to: &Key, count: usize) -> Vec<Key> {
        let (mut last, length) = (Some(from.value.clone()), to.seconds - from.seconds);
        let times = (1..count).map(|part| from.seconds + length * part as f64 / count as f64);
        times.map(|time| self.key(time, &mut last)).collect()
    }

    /// Largest error of a straight line between two keys.
    fn off_line(&self, from: &Key, to: &Key) -> f64 {
        let off = |t: f64| {
            let is = if self.property.target.rotates() {
                slerp_f64(quat(&from.value).map(|v| v as f32), quat(&to.value).map(|v| v as f32), t).to_vec()
            } else {
                from.value.iter().zip(&to.value).map(|(a, b)| a + (b - a) * t).collect()
            };
            self.off(&is, &self.property.value(between(from, to, t)))
        };
        CHECKED.map(off).into_iter().fold(0.0, f64::max)
    }

    /// Cubic splines.
    fn splines(&self) -> Option<Keys> {
        let mut all: Vec<Knot> = Vec::new();
        let mut last = None;
        for segment in 0..self.property.segment_count() {
            for (at, pair) in self.knots(segment, &mut last).windows(2).enumerate() {
                let knots = self.spline(&pair[0], &pair[1])?;
                // The end of one interval and the beginning of the next are one key, except between segments.
                let mut knots = knots.into_iter();
                let first = knots.next();
                match (at, all.last_mut(), first) {
                    (1.., Some(before), Some(first)) => before.out = first.out,
                    (_, _, Some(first)) => all.push(first),
                    _ => {}
                }
                all.extend(knots);
            }
        }
        let (mut times, mut values) = (Vec::with_capacity(all.len()), Vec::new());
        for Knot { key, into, out } in &all {
            let (time, value) = self.stored(key);
            let slope = |slope: &[f64]| slope.iter().map(|&v| v as f32).collect::<Vec<f32>>();
            times.push(time);
            values.extend([slope(into), value, slope(out)].into_iter().flatten());
        }
        let is_rising = times.windows(2).all(|pair| pair[0] < pair[1]);
        let keys = Keys { interpolation: Interpolation::CubicSpline, times, values };
        (is_rising && keys.values.iter().all(|v| v.is_finite())).then_some(keys)
    }

    /// Spline from one key to another, with keys between them if necessary.
    fn spline(&self, from: &Key, to: &Key) -> Option<Vec<Knot>> {
        let mut count = 1;
        loop {
            let inside = self.parts(from, to, count);
            let all: Vec<&Key> = [from].into_iter().chain(&inside).chain([to]).collect();
            let slopes: Vec<[Vec<f64>; 2]> =
                all.windows(2).map(|pair| self.slopes(pair[0], pair[1])).collect();
            let off = |(pair, [out, into]): (&[&Key], &[Vec<f64>; 2])| {
                self.off_spline(pair[0], pair[1], [out, into])
            };
            let worst = all.windows(2).zip(&slopes).map(off).fold(0.0, f64::max);
            if worst <= self.tolerance {
                let mut knots: Vec<Knot> = all.into_iter().map(Knot::new).collect();
                for (at, [out, into]) in slopes.into_iter().enumerate() {
                    (knots[at].out, knots[at + 1].into) = (out, into);
                }
                return Some(knots);
            }
            // The error falls with the fourth power of the number of parts.
            count = more(count, worst / self.tolerance, 0.25)?;
        }
    }

    /// Slopes after the first key and before the second, per second. Exact for polynomials up to degree 3.
    fn slopes(&self, from: &Key, to: &Key) -> [Vec<f64>; 2] {
        let step = (to.seconds - from.seconds) / 8.0;
        let slope = |key: &Key, step: f64| -> Vec<f64> {
            let at = |steps: f64| self.value(key.seconds + steps * step, Some(&key.value));
            let [a, b, c] = [1.0, 2.0, 3.0].map(at);
            let of = |i: usize| (-11.0 * key.value[i] + 18.0 * a[i] - 9.0 * b[i] + 2.0 * c[i]) / (6.0 * step);
            (0..key.value.len()).map(of).collect()
        };
        [slope(from, step), slope(to, -step)]
    }

    /// Largest error of a spline between two keys.
    fn off_spline(&self, from: &Key, to: &Key, [out, into]: [&[f64]; 2]) -> f64 {
        let length = to.seconds - from.seconds;
        let off = |t: f64| {
            let at = |c: usize| hermite([from.value[c], out[c], into[c], to.value[c]], length, t);
            let mut is: Vec<f64> = (0..from.value.len()).map(at).collect();
            if self.property.target.rotates() {
                let mut q = quat(&is);
                normalize(&mut q);
                is = q.to_vec();
            }
            self.off(&is, &self.property.value(between(from, to, t)))
        };
        CHECKED.map(off).into_iter().fold(0.0, f64::max)
    }
}

/// Key of a spline.
struct Knot {
    key: Key,
    /// Slopes before and after the key.
    into: Vec<f64>,
    out: Vec<f64>,
}

impl Knot {
    fn new(key: &Key) -> Self {
        let none = alloc::vec![0.0; key.value.len()];
        Self { key: key.clone(), into: none.clone(), out: none }
    }
}

/// Fractions of the time between two keys at which errors are checked.
const CHECKED: [f64; 3] = [0.25, 0.5, 0.75];

fn between(from: &Key, to: &Key, t: f64) -> f64 {
    from.seconds + (to.seconds - from.seconds) * t
}

/// Number of parts after an attempt whose error was `factor` times the tolerance. The error falls with the
/// `1 / power`th power of the number of parts.
fn more(count: usize, factor: f64, power: f64) -> Option<usize> {
    let root = |v: f64| condyle_base::math::scalar::sqrt_f64(v);
    let by = if power < 0.5 { root(root(factor)) } else { root(factor) };
    let next = ((count as f64 * by) as usize).max(count) + 1;
    (next <= MOST_PARTS).then_some(next)
}

fn quat(value: &[f64]) -> [f64; 4] {
    core::array::from_fn(|c| value[c])
}

fn norm(numbers: impl Iterator<Item = f64>) -> f64 {
    condyle_base::math::scalar::sqrt_f64(numbers.map(|v| v * v).sum())
}
