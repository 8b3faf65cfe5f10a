//! Reads and samples compressed clips as `docs/format.md` specifies: bit by bit, in f64. Only for valid
//! clips.

use std::vec;
use std::vec::Vec;

use super::algebra::{Local, slerp};
use super::algebra::{quat_exp, quat_product};
use condyle::clip::Target;
use condyle::skeleton::Skeleton;
use condyle_base::math::Rigid;

/// The bytes of a clip, and its header fields.
struct Bytes<'a> {
    bytes: &'a [u8],
    joints: usize,
    free_tracks: usize,
    events: usize,
    fallback: usize,
    segments: usize,
    index_bytes: usize,
}

/// A track of a segment: its kind, its joint or component group, and its value.
struct Track {
    kind: u64,
    index: usize,
    /// Linear rotation tracks: the two neighbouring keys and the fraction between them. `None` for other
    /// tracks.
    between: Option<([f64; 3], [f64; 3], f64)>,
    /// Whether linear rotations use nlerp instead of slerp.
    straight: bool,
    value: [f64; 3],
}

impl Bytes<'_> {
    fn new(bytes: &[u8]) -> Bytes<'_> {
        let mut read =
            Bytes { bytes, joints: 0, free_tracks: 0, events: 0, fallback: 0, segments: 0, index_bytes: 1 };
        read.joints = read.number(20, 2) as usize;
        let (per_segment, frames) = (read.number(22, 2) as usize, read.number(24, 4) as usize);
        read.segments = frames.div_ceil(per_segment).max(1);
        read.free_tracks = read.number(44, 2) as usize;
        read.events = read.number(46, 2) as usize;
        read.fallback = read.number(48, 4) as usize;
        read.index_bytes = if read.number(6, 2) & 2 == 0 { 1 } else { 2 };
        read
    }

    fn number(&self, at: usize, count: usize) -> u64 {
        (0..count).map(|i| u64::from(self.bytes[at + i]) << (8 * i)).sum()
    }

    fn signed(&self, at: usize, count: usize) -> f64 {
        let number = self.number(at, count) as f64;
        let all = 256_f64.powi(count as i32);
        if number >= all / 2.0 { number - all } else { number }
    }

    fn float(&self, at: usize) -> f32 {
        f32::from_bits(self.number(at, 4) as u32)
    }

    /// Reads bits; the lowest bit of a byte comes first.
    fn bits(&self, byte: usize, from: usize, count: usize) -> f64 {
        let bit = |at: usize| f64::from(self.bytes[byte + at / 8] >> (at % 8) & 1);
        (0..count).map(|i| bit(from + i) * f64::from(i as u32).exp2()).sum()
    }

    fn free_track(&self, at: usize) -> (Target, usize) {
        let line = 56 + 4 * self.segments + 8 * at;
        let id = self.number(line, 4) as u32;
        let target = match self.number(line + 6, 2) {
            0 => Target::Weights(id),
            1 => Target::Vector(id),
            _ => Target::FreeRotation(id),
        };
        (target, self.number(line + 4, 2) as usize)
    }

    /// Returns the segment of a time, and the fraction within the segment, from 0 to 1.
    fn segment(&self, seconds: f64) -> (usize, f64) {
        let (start, end) = (f64::from(self.float(32)), f64::from(self.float(36)));
        let (per_segment, frames) = (self.number(22, 2) as usize, self.number(24, 4) as usize);
        let seconds = seconds.clamp(start, end);
        let frame = if frames == 0 { 0.0 } else { (seconds - start) / (end - start) * frames as f64 };
        // The last segment includes the end.
        let segment = ((frame / per_segment as f64).floor() as usize).min(self.segments - 1);
        let first = segment * per_segment;
        let own_frames = per_segment.min(frames - first).max(1);
        (segment, (frame - first as f64) / own_frames as f64)
    }

    /// Returns all tracks of the segment that contains a time, with their values at that time.
    fn tracks(&self, seconds: f64) -> Vec<Track> {
        let (segment, ratio) = self.segment(seconds);
        let from = self.number(56 + 4 * segment, 4) as usize;
        let (classes, way) = (self.number(from, 1) as usize, self.number(from + 1, 1) as usize);
        let (offset_bytes, straight) = (way & 63, way & 64 != 0);
        let class = |at: usize| {
            let at = from + 8 + 7 * at;
            let code = self.number(at, 1);
            let intervals = self.number(at + 1, 2) as usize;
            let row = self.number(at + 3, 2) as usize;
            (code & 3, code >> 2, intervals, row, self.number(at + 5, 2) as usize)
        };
        let row_count = |degree: u64, intervals: usize| if degree == 0 { 0 } else { intervals + 1 };
        let rows = self.number(from + 4, 4) as usize;
        let record_bytes = 4 + 3 * offset_bytes + self.index_bytes;
        let record = |at: usize| from + 8 + 7 * classes + rows + record_bytes * at;

        let mut tracks = Vec::new();
        let mut row_place = from + 8 + 7 * classes;
        let mut at = 0;
        for (kind, degree, intervals, row, own) in (0..classes).map(class) {
            let x = ratio * intervals as f64;
            let mut bit = 0;
            for _ in 0..own {
                let record = record(at);
                let code = self.number(record, 1);
                let step =
                    f64::from((code / 8) as u32).exp2() * (1.0 + (code % 8) as f64 / 8.0) / 67_108_864.0;
                let upper =
                    if self.index_bytes == 2 { self.number(record + 5 + 3 * offset_bytes, 1) } else { 0 };
                let index = (self.number(record + 4, 1) + 256 * upper) as usize;
                let offset: [f64; 3] =
                    core::array::from_fn(|c| self.signed(record + 5 + offset_bytes * c, offset_bytes));
                at += 1;
                let mut track =
                    Track { kind, index, between: None, straight, value: offset.map(|o| o * step) };
                if degree != 0 {
                    let width: [usize; 3] = core::array::from_fn(|c| self.number(record + 1 + c, 1) as usize);
                    let begin = [bit, bit + width[0], bit + width[0] + width[1]];
                    bit += width.iter().sum::<usize>();
                    let key = |k: usize| -> [f64; 3] {
                        core::array::from_fn(|c| {
                            step * (offset[c] + self.bits(row_place + row * k, begin[c], width[c]))
                        })
                    };
                    let interval = (x.floor() as usize).min(intervals - 1);
                    let (a, b, t) = (key(interval), key(interval + 1), x - interval as f64);
                    if degree == 1 && kind == 0 {
                        track.between = Some((a, b, t));
                    } else if degree == 1 {
                        track.value = core::array::from_fn(|c| a[c] + (b[c] - a[c]) * t);
                    } else {
                        track.value = spline(intervals, key, x);
                    }
                }
                tracks.push(track);
            }
            row_place += row_count(degree, intervals) * row;
        }
        tracks
    }

    /// Returns the value of the fallback track with this kind and index.
    fn fallback_at(&self, kind: u64, index: usize, seconds: f64) -> Option<Vec<f64>> {
        let rotates = kind == 0 || kind == 3 && matches!(self.free_track(index).0, Target::FreeRotation(_));
        let line = |at: usize| 56 + 4 * self.segments + 8 * self.free_tracks + 16 * at;
        let is_it =
            |at: &usize| self.number(line(*at), 1) == kind && self.number(line(*at) + 4, 4) as usize == index;
        let table = line;
        let line = table((0..self.fallback).find(is_it)?);
        let (code, width) = (self.number(line + 1, 1), self.number(line + 2, 2) as usize);
        let (keys, mut place) = (self.number(line + 8, 4) as usize, self.number(line + 12, 4) as usize);
        if code >= 128 {
            let [begin, end] = [0, 4].map(|at| self.number(place + at, 4) as usize);
            if !(begin..end).contains(&self.segment(seconds).0) {
                return None;
            }
            place += 8;
        }
        let is_short = code % 64 >= 32;
        let (times, values) = match code % 128 >= 64 {
            true => {
                let owner = table(self.number(place, 4) as usize);
                let held = if self.number(owner + 1, 1) >= 128 { 8 } else { 0 };
                (self.number(owner + 12, 4) as usize + held, place + 4)
            }
            false => (place, place + 4 * keys),
        };
        let code = code % 32;
        let time = |k: usize| f64::from(self.float(times + 4 * k));
        let parts = if code == 2 { 3 } else { 1 };
        let number = |at: usize| match is_short {
            true => f64::from((self.number(values + 2 * at, 2) as u16).cast_signed() as f32 / 32767.0),
            false => f64::from(self.float(values + 4 * at)),
        };
        let value = |k: usize, part: usize| -> Vec<f64> {
            (0..width).map(|c| number(width * (parts * k + part) + c)).collect()
        };
        let middle = usize::from(code == 2);
        let last = (0..keys).rev().find(|&k| time(k) <= seconds).unwrap_or(0);
        let from = value(last, middle);
        if last + 1 == keys || seconds <= time(last) || code == 0 {
            return Some(if rotates { unit(&from) } else { from });
        }
        let length = time(last + 1) - time(last);
        let t = (seconds - time(last)) / length;
        let to = value(last + 1, middle);
        if code == 1 && rotates {
            let quat = |v: &[f64]| core::array::from_fn(|c| v[c]);
            // The lengths of keys affect the path, except of integers, which were rounded. The result is
            // normalised.
            let key = |v: &[f64]| if is_short { quat(&unit(v)) } else { quat(v) };
            return Some(normalized(&slerp(key(&from), key(&to), t)));
        }
        if code == 1 {
            return Some((0..width).map(|c| from[c] + (to[c] - from[c]) * t).collect());
        }
        let (out, into) = (value(last, 2), value(last + 1, 0));
        let (t2, t3) = (t * t, t * t * t);
        let hermite = (0..width).map(|c| {
            (2.0 * t3 - 3.0 * t2 + 1.0) * from[c]
                + length * (t3 - 2.0 * t2 + t) * out[c]
                + (3.0 * t2 - 2.0 * t3) * to[c]
                + length * (t3 - t2) * into[c]
        });
        let hermite: Vec<f64> = hermite.collect();
        Some(if rotates { unit(&hermite) } else { hermite })
    }
}

/// Evaluates a uniform cubic B-spline: each control point times the basis function around it. One extra
/// control point at each end extrapolates the last two linearly.
fn spline(intervals: usize, key: impl Fn(usize) -> [f64; 3], x: f64) -> [f64; 3] {
    let n = intervals;
    let control = |k: i64| -> [f64; 3] {
        if k < 0 {
            let (a, b) = (key(0), key(1));
            core::array::from_fn(|c| 2.0 * a[c] - b[c])
        } else if k > n as i64 {
            let (a, b) = (key(n), key(n - 1));
            core::array::from_fn(|c| 2.0 * a[c] - b[c])
        } else {
            key(k as usize)
        }
    };
    let bell = |u: f64| match u.abs() {
        u if u < 1.0 => (4.0 - 6.0 * u * u + 3.0 * u * u * u) / 6.0,
        u if u < 2.0 => (2.0 - u).powi(3) / 6.0,
        _ => 0.0,
    };
    let mut sum = [0.0; 3];
    for k in -1..=n as i64 + 1 {
        let weight = bell(x - k as f64);
        if weight != 0.0 {
            sum = core::array::from_fn(|c| sum[c] + weight * control(k)[c]);
        }
    }
    sum
}

/// Normalises, unless the squared length differs from 1 only by rounding.
fn unit(q: &[f64]) -> Vec<f64> {
    let squares: f64 = q.iter().map(|v| v * v).sum();
    if (squares - 1.0).abs() <= 1e-6 { q.to_vec() } else { normalized(q) }
}

fn normalized(q: &[f64]) -> Vec<f64> {
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    q.iter().map(|v| v / length).collect()
}

/// Returns the rotation of a rotation track.
fn turn(track: &Track) -> [f64; 4] {
    match track.between {
        Some((a, b, t)) if track.straight => {
            let (a, b) = (quat_exp(a), quat_exp(b));
            let side = if (0..4).map(|c| a[c] * b[c]).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
            let sum = [0, 1, 2, 3].map(|c| a[c] + (side * b[c] - a[c]) * t);
            let unit = normalized(&sum);
            core::array::from_fn(|c| unit[c])
        }
        Some((a, b, t)) => slerp(quat_exp(a), quat_exp(b), t),
        None => quat_exp(track.value),
    }
}

/// Returns the local transforms of all joints.
#[must_use]
pub fn sample_clip(bytes: &[u8], skeleton: &Skeleton, seconds: f64) -> Vec<Local> {
    let read = Bytes::new(bytes);
    let mut pose: Vec<Local> = skeleton.rest().transforms().map(Local::from).collect();
    for track in read.tracks(seconds).iter().filter(|track| track.kind < 3 && track.index < read.joints) {
        let joint = &mut pose[track.index];
        match track.kind {
            0 => joint.rotation = quat_product(joint.rotation, turn(track)),
            1 => joint.translation = core::array::from_fn(|c| joint.translation[c] + track.value[c]),
            _ => joint.scale = core::array::from_fn(|c| joint.scale[c] + track.value[c]),
        }
    }
    for (index, joint) in pose.iter_mut().enumerate() {
        if let Some(q) = read.fallback_at(0, index, seconds) {
            joint.rotation = core::array::from_fn(|c| q[c]);
        }
        if let Some(v) = read.fallback_at(1, index, seconds) {
            joint.translation = core::array::from_fn(|c| v[c]);
        }
        if let Some(v) = read.fallback_at(2, index, seconds) {
            joint.scale = core::array::from_fn(|c| v[c]);
        }
    }
    pose
}

/// Returns the values of a track without a joint, or `None` if the clip does not have it.
#[must_use]
pub fn sample_clip_track(bytes: &[u8], target: Target, seconds: f64) -> Option<Vec<f64>> {
    let read = Bytes::new(bytes);
    let at = (0..read.free_tracks).find(|&at| read.free_track(at).0 == target)?;
    let width = read.free_track(at).1;
    if let Some(values) = read.fallback_at(3, at, seconds) {
        return Some(values);
    }
    let tracks = |(target, width): (Target, usize)| match target {
        Target::FreeRotation(_) => 1,
        _ => width.div_ceil(3),
    };
    let first: usize = (0..at).map(|at| tracks(read.free_track(at))).sum();
    if let Target::FreeRotation(_) = target {
        let log = read
            .tracks(seconds)
            .iter()
            .find(|t| t.kind == 3 && t.index == first)
            .map_or([0.0; 3], |t| t.value);
        return Some(quat_exp(log.map(|v| v.clamp(-65536.0, 65536.0))).to_vec());
    }
    let mut values = vec![0.0; width];
    for track in read.tracks(seconds).iter().filter(|track| track.kind == 3 && track.index >= first) {
        for (value, number) in values.iter_mut().skip(3 * (track.index - first)).zip(track.value) {
            *value = number;
        }
    }
    Some(values)
}

/// Returns the root motion.
#[must_use]
pub fn clip_motion(bytes: &[u8], seconds: f64) -> Rigid {
    let read = Bytes::new(bytes);
    let mut motion = Rigid::IDENTITY;
    for track in read.tracks(seconds).iter().filter(|track| track.index == read.joints) {
        match track.kind {
            0 => motion.rotation = turn(track),
            1 => motion.translation = track.value,
            _ => {}
        }
    }
    motion
}

/// Returns the times in seconds and the names of the events.
#[must_use]
pub fn clip_events(bytes: &[u8]) -> Vec<(f32, std::string::String)> {
    let read = Bytes::new(bytes);
    let mut place = 56 + 4 * read.segments + 8 * read.free_tracks + 16 * read.fallback;
    for at in 0..read.fallback {
        let line = 56 + 4 * read.segments + 8 * read.free_tracks + 16 * at;
        let (code, keys) = (read.number(line + 1, 1), read.number(line + 8, 4) as usize);
        let parts = if code % 32 == 2 { 3 } else { 1 };
        place += if code >= 128 { 8 } else { 0 };
        place += if code % 128 >= 64 { 4 } else { 4 * keys };
        let bytes = if code % 64 >= 32 { 2 } else { 4 };
        place += bytes * keys * parts * read.number(line + 2, 2) as usize;
    }
    let names = place + 8 * read.events;
    let mut begin = 0;
    let mut events = Vec::new();
    for at in 0..read.events {
        let end = read.number(place + 8 * at + 4, 4) as usize;
        let name = read.bytes[names + begin..names + end].to_vec();
        events
            .push((read.float(place + 8 * at), std::string::String::from_utf8(name).expect("a valid clip")));
        begin = end;
    }
    events
}
