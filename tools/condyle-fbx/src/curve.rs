//! Fits a glTF track to a function of time.
//!
//! The track has the keys of the file, at their times as `f32`. Where the function is constant, linear or a
//! cubic polynomial between two keys, glTF has the same interpolation. Rotations, whose FBX curves are
//! Euler angles, layers and weighted tangents have no equal. Their track is a spline through the same keys,
//! with the slopes of the function, and with more keys half way where it misses the function by more than
//! the tolerance.
//!
//! Example: a joint turns about two axes by 3 degrees in 1/30 s. Spherical linear interpolation misses the
//! Euler angles half way by 0.02 degrees, the spline by 2e-6 degrees.

/// Parts of a piece between which it is checked to be constant or linear.
const CHECKS: usize = 8;

/// Parts of a piece at which a spline is checked.
const MARKS: [f64; 5] = [0.0625, 0.25, 0.5, 0.75, 0.9375];

/// Halvings of one piece.
const DEPTH: u32 = 12;

/// Seconds before and after a key at which a jump shows. FBX counts time in units of 2e-11 s.
const INSTANT: f64 = 1e-8;

/// Interpolation of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Step,
    Linear,
    Spline,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Step => "STEP",
            Self::Linear => "LINEAR",
            Self::Spline => "CUBICSPLINE",
        }
    }
}

/// A track as glTF stores it: a spline has in-tangent, value and out-tangent for each key.
pub(crate) struct Track {
    pub(crate) method: Method,
    pub(crate) times: Vec<f32>,
    pub(crate) values: Vec<f32>,
    /// Segments whose error is above the tolerance after all halvings.
    pub(crate) missed: usize,
}

/// A function of time with `width` numbers, and how near a track must be.
pub(crate) struct Source<'a> {
    pub(crate) width: usize,
    /// Values are unit quaternions; the error is then an angle in radians.
    pub(crate) is_rotation: bool,
    pub(crate) tolerance: f64,
    /// Keys that may be added.
    pub(crate) left: usize,
    pub(crate) at: &'a mut dyn FnMut(f64, &mut [f64]),
}

#[derive(Clone)]
struct Key {
    time: f64,
    value: Vec<f64>,
    /// Slopes before and after the key, per second.
    slopes: [Vec<f64>; 2],
}

/// Start and end of a piece.
#[derive(Clone, Copy)]
struct Span {
    /// Stored times.
    ends: [f64; 2],
    /// Where the function is evaluated. At a kink these are the times of the file, which differ by the
    /// rounding of the stored ones: a spline could not follow a kink just inside the piece.
    real: [f64; 2],
}

impl Span {
    fn at(&self, weight: f64) -> f64 {
        self.real[0] + (self.real[1] - self.real[0]) * weight
    }
}

/// A piece between two neighbouring keys of the file.
struct Piece {
    span: Span,
    values: [Vec<f64>; 2],
    is_constant: bool,
    is_linear: bool,
}

impl Source<'_> {
    fn value(&mut self, time: f64) -> Vec<f64> {
        let mut value = vec![0.0; self.width];
        (self.at)(time, &mut value);
        value
    }

    /// Like `value`; of the two quaternions of a rotation, the one near `like`.
    fn value_near(&mut self, time: f64, like: &[f64]) -> Vec<f64> {
        let mut value = self.value(time);
        self.align(&mut value, like);
        value
    }

    fn align(&self, value: &mut [f64], like: &[f64]) {
        if self.is_rotation && dot(value, like) < 0.0 {
            value.iter_mut().for_each(|v| *v = -*v);
        }
    }

    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        if self.is_rotation {
            let chord = |sign: f64| a.iter().zip(b).map(|(a, b)| (a - sign * b).powi(2)).sum::<f64>().sqrt();
            return 2.0 * chord(1.0).min(chord(-1.0));
        }
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    /// Returns `near`, the value just before (`side` -1) or after (1) a time, if the function jumps there.
    fn jump(&mut self, time: f64, value: &[f64], near: Option<&Vec<f64>>, side: f64) -> Option<Vec<f64>> {
        let near = near?;
        let moved = self.distance(near, value);
        if moved <= self.tolerance {
            return None;
        }
        let far = self.value(time + side * 2.0 * INSTANT);
        (moved > 4.0 * self.distance(&far, near) + self.tolerance).then(|| near.clone())
    }

    /// Whether the slope changes at a key, so that slopes just inside its stored time could be those of the
    /// other side. `near` has the values just before and after, `gap` is the distance of other keys.
    fn is_kink(&mut self, time: f64, value: &[f64], near: [&Vec<f64>; 2], gap: f64) -> bool {
        let bend = |near: [&Vec<f64>; 2]| {
            let [a, b] = near;
            (0..value.len()).map(|i| (a[i] - 2.0 * value[i] + b[i]).abs()).fold(0.0, f64::max)
        };
        let once = bend(near);
        if once / INSTANT * gap <= 0.5 * self.tolerance {
            return false;
        }
        // Twice as far away, a kink bends twice as much, and a curve four times.
        let far = [-1.0, 1.0].map(|side| self.value_near(time + 2.0 * side * INSTANT, value));
        bend([&far[0], &far[1]]) < 3.0 * once
    }

    /// Slope at one end of a segment, from three points within it.
    fn slope(&mut self, time: f64, value: &[f64], step: f64) -> Vec<f64> {
        let near = self.value_near(time + step, value);
        let far = self.value_near(time + 2.0 * step, &near);
        let slope = |i: usize| (4.0 * near[i] - 3.0 * value[i] - far[i]) / (2.0 * step);
        (0..self.width).map(slope).collect()
    }

    /// Classifies a piece, and orients its last quaternion along the path of the function.
    ///
    /// Once a piece is curved, the track is a spline, and the others need no class.
    fn piece(&mut self, span: Span, values: [Vec<f64>; 2], is_curved: bool) -> Piece {
        let [from, mut to] = values;
        if is_curved {
            self.align(&mut to, &from);
            return Piece { span, values: [from, to], is_constant: false, is_linear: false };
        }
        let inner: Vec<Vec<f64>> = (1..CHECKS).map(|k| self.value(span.at(part(k)))).collect();
        let is_constant =
            inner.iter().chain([&to]).all(|it| self.distance(it, &from) <= self.tolerance * 0.1);
        self.align(&mut to, &from);
        let tolerance = self.tolerance;
        let is_linear = is_constant
            || inner
                .iter()
                .zip(1..)
                .all(|(it, k)| self.distance(it, &self.between(&from, &to, part(k))) <= tolerance);
        Piece { span, values: [from, to], is_constant, is_linear }
    }

    fn between(&self, a: &[f64], b: &[f64], weight: f64) -> Vec<f64> {
        let (mut p, mut q) = (1.0 - weight, weight);
        if self.is_rotation {
            let angle = dot(a, b).clamp(-1.0, 1.0).acos();
            if angle > 1e-6 {
                p = (p * angle).sin() / angle.sin();
                q = (q * angle).sin() / angle.sin();
            }
        }
        a.iter().zip(b).map(|(a, b)| p * a + q * b).collect()
    }

    /// Adds the keys of a spline for a piece to `keys`, whose last key is its start. Returns the pieces
    /// that miss the tolerance.
    fn spline(&mut self, span: Span, last: Vec<f64>, depth: u32, keys: &mut Vec<Key>) -> usize {
        let Span { ends, real } = span;
        let step = (real[1] - real[0]) * 1e-4;
        let Some(first) = keys.last().map(|key| key.value.clone()) else { return 0 };
        // Follows the path, so that the last quaternion is the one that the function reaches.
        let (mut like, mut is_fast) = (first.clone(), false);
        let mut inner = Vec::with_capacity(MARKS.len());
        for mark in MARKS {
            let value = self.value_near(span.at(mark), &like);
            is_fast |= self.is_rotation && dot(&value, &like) < 0.9;
            inner.push(value.clone());
            like = value;
        }
        let mut last = last;
        self.align(&mut last, &like);
        is_fast |= self.is_rotation && dot(&last, &like) < 0.9;
        let out = self.slope(real[0], &first, step);
        let into = self.slope(real[1], &last, -step);
        let error = inner.iter().zip(MARKS).map(|(want, mark)| {
            let mut got = hermite([&first, &last], [&out, &into], real[1] - real[0], mark);
            if self.is_rotation {
                let length = dot(&got, &got).sqrt();
                got.iter_mut().for_each(|v| *v /= length);
            }
            self.distance(want, &got)
        });
        let error = error.fold(0.0, f64::max);
        let middle = f64::from(((ends[0] + ends[1]) * 0.5) as f32);
        let fits = error <= self.tolerance && !is_fast;
        if fits || depth == DEPTH || self.left == 0 || middle <= ends[0] || middle >= ends[1] {
            // Slopes per second as stored.
            let stretch = (real[1] - real[0]) / (ends[1] - ends[0]);
            let scaled = |slopes: Vec<f64>| slopes.into_iter().map(|v| v * stretch).collect();
            if let Some(key) = keys.last_mut() {
                key.slopes[1] = scaled(out);
            }
            keys.push(Key { time: ends[1], value: last, slopes: [scaled(into), vec![0.0; self.width]] });
            return usize::from(!fits);
        }
        self.left -= 1;
        let half = span.at((middle - ends[0]) / (ends[1] - ends[0]));
        let value = self.value_near(half, &inner[MARKS.len() / 2]);
        let before = Span { ends: [ends[0], middle], real: [real[0], half] };
        let after = Span { ends: [middle, ends[1]], real: [half, real[1]] };
        self.spline(before, value, depth + 1, keys) + self.spline(after, last, depth + 1, keys)
    }
}

/// Fits a track to the function with keys at these times, which rise.
pub(crate) fn fit(source: &mut Source<'_>, times: &[f64]) -> Track {
    // Times as stored, each a different number.
    let mut stored: Vec<(f64, f64)> = Vec::with_capacity(times.len());
    for &time in times {
        let near = f64::from(time as f32);
        if stored.last().is_none_or(|(last, _)| *last < near) {
            stored.push((near, time));
        }
    }
    let mut pieces: Vec<Piece> = Vec::with_capacity(stored.len());
    // The value at each key.
    let mut singles: Vec<(f64, Vec<f64>)> = Vec::new();
    // Stored and real time of the start of the next piece, and the value there.
    let mut start: Option<(f64, f64, Vec<f64>)> = None;
    let (mut steps_after, mut steps_before, mut is_curved) = (false, false, false);
    for (index, &(near, time)) in stored.iter().enumerate() {
        let exact = source.value(time);
        let earlier = (index > 0).then(|| source.value_near(time - INSTANT, &exact));
        let later = (index + 1 < stored.len()).then(|| source.value_near(time + INSTANT, &exact));
        let before = source.jump(time, &exact, earlier.as_ref(), -1.0);
        let after = source.jump(time, &exact, later.as_ref(), 1.0);
        let gap = [index.wrapping_sub(1), index + 1].into_iter().filter_map(|i| stored.get(i));
        let gap = gap.map(|it| (it.0 - near).abs()).fold(0.0, f64::max);
        let kink = earlier.iter().zip(&later).any(|(a, b)| source.is_kink(time, &exact, [a, b], gap));
        // Outside of its keys a curve is usually constant, so the ends are kinks too.
        let is_smooth = !kink && before.is_none() && after.is_none() && earlier.is_some() && later.is_some();
        let (real, mut value) = if is_smooth { (near, source.value(near)) } else { (time, exact) };
        if let Some((from, real_from, first)) = start.take() {
            let end = if before.is_some() { before_instant(near) } else { near };
            let last = before.clone().unwrap_or_else(|| value.clone());
            if end > from {
                let span = Span { ends: [from, end], real: [real_from, real] };
                let piece = source.piece(span, [first, last], is_curved);
                is_curved |= !piece.is_linear;
                if before.is_none() {
                    value.clone_from(&piece.values[1]);
                }
                pieces.push(piece);
            }
        }
        steps_before |= before.is_some();
        steps_after |= after.is_some();
        singles.push((near, value.clone()));
        start = Some(match after {
            Some(after) => (after_instant(near), real, after),
            None => (near, real, value),
        });
    }
    let is_still = !steps_before
        && !steps_after
        && pieces.iter().all(|piece| piece.is_constant)
        && singles.iter().all(|it| source.distance(&it.1, &singles[0].1) <= source.tolerance);
    if is_still {
        singles.truncate(1);
    }
    if is_still || (!steps_after && pieces.iter().all(|piece| piece.is_constant)) {
        let method = if is_still { Method::Linear } else { Method::Step };
        return track(method, singles.into_iter(), 0);
    }
    if pieces.iter().all(|piece| piece.is_linear) {
        let mut keys: Vec<(f64, Vec<f64>)> = Vec::with_capacity(pieces.len() + 1);
        let all = pieces.iter().flat_map(|piece| piece.span.ends.into_iter().zip(&piece.values));
        for (time, value) in all.map(|(time, value)| (time, value.clone())).chain(singles) {
            keys.push((time, value));
        }
        keys.sort_by(|a, b| a.0.total_cmp(&b.0));
        keys.dedup_by(|next, kept| next.0 == kept.0);
        return track(Method::Linear, keys.into_iter(), 0);
    }
    splines(source, &pieces, &singles)
}

/// Splines through all pieces, and keys alone where the function jumps on both sides.
fn splines(source: &mut Source<'_>, pieces: &[Piece], singles: &[(f64, Vec<f64>)]) -> Track {
    let zero = vec![0.0; source.width];
    let alone =
        |time: f64, value: &[f64]| Key { time, value: value.to_vec(), slopes: [zero.clone(), zero.clone()] };
    let mut keys: Vec<Key> = Vec::with_capacity(singles.len());
    let mut missed = 0;
    let mut lone = singles.iter().peekable();
    for piece in pieces {
        while let Some((time, value)) = lone.next_if(|it| it.0 < piece.span.ends[0]) {
            if keys.last().is_none_or(|key| key.time < *time) {
                keys.push(alone(*time, value));
            }
        }
        let mut first = piece.values[0].clone();
        if let Some(key) = keys.last() {
            source.align(&mut first, &key.value);
        }
        if keys.last().is_none_or(|key| key.time < piece.span.ends[0]) {
            keys.push(alone(piece.span.ends[0], &first));
        }
        missed += source.spline(piece.span, piece.values[1].clone(), 0, &mut keys);
    }
    for (time, value) in lone {
        if keys.last().is_none_or(|key| key.time < *time) {
            keys.push(alone(*time, value));
        }
    }
    let times = keys.iter().map(|key| key.time as f32).collect();
    let rows = keys.iter().flat_map(|key| [&key.slopes[0], &key.value, &key.slopes[1]]);
    let values = rows.flatten().map(|v| *v as f32).collect();
    Track { method: Method::Spline, times, values, missed }
}

fn track(method: Method, keys: impl Iterator<Item = (f64, Vec<f64>)>, missed: usize) -> Track {
    let (times, values): (Vec<f32>, Vec<Vec<f64>>) = keys.map(|(time, value)| (time as f32, value)).unzip();
    Track { method, times, values: values.into_iter().flatten().map(|v| v as f32).collect(), missed }
}

/// The next stored time, at least 1e-7 s away.
fn after_instant(time: f64) -> f64 {
    let time = time as f32;
    f64::from(time.next_up().max(time + 1e-7))
}

fn before_instant(time: f64) -> f64 {
    let time = time as f32;
    f64::from(time.next_down().min(time - 1e-7))
}

fn part(k: usize) -> f64 {
    k as f64 / CHECKS as f64
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// glTF 2.0, "Spline Interpolation": slopes are per second.
fn hermite(values: [&[f64]; 2], slopes: [&[f64]; 2], length: f64, t: f64) -> Vec<f64> {
    let (t2, t3) = (t * t, t * t * t);
    let weights =
        [2.0 * t3 - 3.0 * t2 + 1.0, length * (t3 - 2.0 * t2 + t), 3.0 * t2 - 2.0 * t3, length * (t3 - t2)];
    let at = |i: usize| {
        weights[0] * values[0][i]
            + weights[1] * slopes[0][i]
            + weights[2] * values[1][i]
            + weights[3] * slopes[1][i]
    };
    (0..values[0].len()).map(at).collect()
}
