//! Inertialisation: a transition that plays the target clip immediately and lets the offset from the previous
//! pose decay to zero.
//!
//! The displayed pose is the target plus an offset `x(t)`. For a transition of duration `τ`:
//!
//! 1. At the start, the offset is the difference `x₀` from the previous pose, and its velocity is the
//!    difference `v₀` of the velocities. So neither position nor velocity jumps.
//! 2. At the end, the offset and its first two derivatives are 0.
//!
//! Let `s = t/τ`. The polynomial must have a fourth-order zero at `s = 1`, and two constants for the start.
//! The one of lowest degree is `x = (1 - s)⁴ (p + k s)`. `x(0) = x₀` gives `p = x₀`.
//! `x'(0) = (k - 4p)/τ = v₀` gives `k = v₀ τ + 4 x₀`. This is the quintic of Bollo (2018) whose third
//! derivative is 0 at the end.
//!
//! # No overshoot
//!
//! Consider the offset along the direction of `x₀`, where `p > 0`. The factor `p + k s` is `p` at the start
//! and `p + k` at the end. It keeps its sign if `p + k ≥ 0`, that is if `v₀ τ ≥ -5 x₀`. The offset then never
//! passes through the target. If the joint returns faster than that, its duration is shortened to
//! `τ = -5 x₀ / v₀`.
//!
//! - For `v₀ ≤ 0` the offset only decreases: in `x' ∝ (1 - s)³ (v₀τ - 5 k s)` the last factor is not positive
//!   at either end, and so nowhere between.
//! - For `v₀ > 0` the offset first grows. It turns back before `s = 1/5`, after growing by at most
//!   `0.082 v₀ τ`: 0.082 is the maximum of `s (1 - s)⁴`.
//!
//! # Choices
//!
//! - The polynomial applies to a whole vector. It is linear in the offset and its velocity, so both continue
//!   in every direction. A length along a fixed axis would lose the velocity across it.
//! - The velocity of the offset is the previous movement's minus the new one's, so `start` needs two poses
//!   of each.
//! - Offsets of scale are differences, not ratios, because they must exist where the target is hidden.

use alloc::vec;
use alloc::vec::Vec;

use fearless_simd::prelude::*;

use super::rotation::Reference;
use crate::pose::{Pose, PoseBlock};
use condyle_base::error::Error;
use condyle_base::math::Transform;
use condyle_base::math::quats::{conjugate, log, near, product};
use condyle_base::math::vectors::dot;
use condyle_base::simd::{BLOCK, Lanes, Mode, dispatch, load, store, store_all};

/// Minimum duration and time step, in seconds. Shorter ones count as 0, because differences over them are
/// only f32 rounding.
const MIN_SECONDS: f32 = 1e-6;

/// Offsets of sixteen joints in one property: `(1 - s)⁴ (offset + slope · s)`, where `s` is the time times
/// `rate`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Decay {
    offset: [Lanes; 3],
    slope: [Lanes; 3],
    rate: Lanes,
}

impl Decay {
    const NONE: Self = Self { offset: [[0.0; BLOCK]; 3], slope: [[0.0; BLOCK]; 3], rate: [1.0; BLOCK] };

    /// Sets the decay of one joint from its offset and velocity, and shortens the time to avoid overshoot.
    fn set(&mut self, lane: usize, Offset { place, velocity }: Offset, duration: f64) {
        let back = dot(place, velocity);
        let mut time = duration;
        if back < 0.0 {
            time = time.min(-5.0 * dot(place, place) / back).max(MIN_SECONDS.into());
        }
        for c in 0..3 {
            self.offset[c][lane] = place[c] as f32;
            self.slope[c][lane] = (velocity[c] * time + 4.0 * place[c]) as f32;
        }
        self.rate[lane] = (1.0 / time) as f32;
    }
}

/// Offsets of sixteen joints.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Offsets {
    /// Logarithms, multiplied on the right of the target's rotation.
    rotation: Decay,
    translation: Decay,
    scale: Decay,
}

/// Offset of one property of one joint, and its velocity.
#[derive(Clone, Copy)]
struct Offset {
    place: [f64; 3],
    velocity: [f64; 3],
}

impl Offset {
    /// Returns an offset and its velocity, from the differences now and one step later.
    fn new(now: [f64; 3], later: [f64; 3], per_second: f64) -> Self {
        Self { place: now, velocity: core::array::from_fn(|c| (later[c] - now[c]) * per_second) }
    }

    fn of_vectors(before: [[f32; 3]; 2], after: [[f32; 3]; 2], per_second: f64) -> Self {
        let [[previous, current], [target, next]] =
            [before, after].map(|pair| pair.map(|v| v.map(f64::from)));
        let now = core::array::from_fn(|c| current[c] - target[c]);
        let later = core::array::from_fn(|c| (current[c] + (current[c] - previous[c])) - next[c]);
        Self::new(now, later, per_second)
    }

    fn of_rotations(before: [[f32; 4]; 2], after: [[f32; 4]; 2], per_second: f64) -> Self {
        const IDENTITY: [f64; 4] = [0.0, 0.0, 0.0, 1.0];
        let [[previous, current], [target, next]] =
            [before, after].map(|pair| pair.map(|q| q.map(f64::from)));
        let step = near(IDENTITY, product(conjugate(previous), current));
        let now = near(IDENTITY, product(conjugate(target), current));
        // Near half a turn, the shorter arc may be the other one after the step. Keep the arc of the present
        // difference.
        let later = near(now, product(conjugate(next), product(current, step)));
        Self::new(log(now), log(later), per_second)
    }
}

/// Transition by inertialisation: plays the new clip immediately and lets the difference from the old one
/// decay to zero.
///
/// Each frame samples only the new clip, while a cross-fade samples both. Position and velocity of every
/// joint are continuous, and no joint overshoots its target. From the end on, the result is the pose of the
/// target, bit for bit. To interrupt a transition at any time, call [`start`](Self::start) again with the
/// last two displayed poses.
///
/// The offsets are rotations about the joint's axes, translations, and differences of scale. Differences also
/// work from a scale of 0, where a ratio as in [`difference`](super::difference) does not exist.
///
/// Uses 84 bytes per joint; neither `start` nor `apply` allocates. Source: Bollo (2018), "Inertialization:
/// High-Performance Animation Transitions in Gears of War". The module's source derives the polynomial.
///
/// ```
/// use condyle::blending::Inertialization;
/// use condyle::{Pose, Transform};
///
/// let at = |x| Pose::from_transforms(&[Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }]);
/// let mut transition = Inertialization::new(1);
/// // From a walk along x to standing at 5, at 60 frames per second, in half a second.
/// transition.start([&at(1.9), &at(2.0)], [&at(5.0), &at(5.0)], 1.0 / 60.0, 0.5)?;
/// let shown = |seconds| {
///     let mut pose = at(5.0);
///     transition.apply(seconds, &mut pose).map(|()| pose.get(0).translation[0])
/// };
/// assert_eq!([shown(0.0)?, shown(0.5)?], [2.0, 5.0]);
/// assert!((shown(1.0 / 60.0)? - 2.1).abs() < 0.03);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Inertialization {
    blocks: Vec<Offsets>,
    joint_count: usize,
    duration: f32,
}

impl Inertialization {
    /// Returns a state without a transition: [`apply`](Self::apply) changes nothing.
    #[must_use]
    pub fn new(joint_count: usize) -> Self {
        let none = Offsets { rotation: Decay::NONE, translation: Decay::NONE, scale: Decay::NONE };
        Self { blocks: vec![none; joint_count.div_ceil(BLOCK)], joint_count, duration: 0.0 }
    }

    /// Number of joints that poses must hold.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.joint_count
    }

    /// Duration of the transition in seconds; 0 without a transition.
    #[must_use]
    pub fn duration(&self) -> f32 {
        self.duration
    }

    /// Starts a transition, and replaces one that is running.
    ///
    /// - `before`: the last two displayed poses, the previous and the current one.
    /// - `after`: two poses of the new movement, at the current time and one step later. If the velocity of
    ///   the target is unknown, pass its pose twice, which means zero velocity.
    /// - `dt`: seconds between the two poses of each pair. Below a microsecond, velocities are unknown and
    ///   count as 0.
    /// - `duration`: seconds. Below a microsecond, the target is shown immediately.
    ///
    /// Opposite quaternions are the same rotation. For a difference of half a turn, the signs of the
    /// quaternions decide the direction. A value that is not finite in a pose affects that property of that
    /// joint until the end of the transition.
    ///
    /// # Errors
    /// [`Error::Length`] if a pose does not hold [`joint_count`](Self::joint_count) joints;
    /// [`Error::NotFinite`] if `dt` or `duration` is NaN or infinite. The transition is then unchanged.
    pub fn start(
        &mut self,
        before: [&Pose; 2],
        after: [&Pose; 2],
        dt: f32,
        duration: f32,
    ) -> Result<(), Error> {
        for (what, pair) in [("before", before), ("after", after)] {
            for pose in pair {
                pose.check_joints(what, self.joint_count)?;
            }
        }
        Error::check_finite("dt", &[dt], 1)?;
        Error::check_finite("duration", &[duration], 1)?;
        if duration < MIN_SECONDS {
            self.duration = 0.0;
            return Ok(());
        }
        self.duration = duration;
        let per_second = if dt < MIN_SECONDS { 0.0 } else { 1.0 / f64::from(dt) };
        for joint in 0..self.joint_count {
            let [before, after]: [[Transform; 2]; 2] =
                [before, after].map(|pair| pair.map(|pose| pose.get(joint)));
            let (block, lane) = (&mut self.blocks[joint / BLOCK], joint % BLOCK);
            let time = duration.into();
            let rotations = [before, after].map(|pair| pair.map(|t| t.rotation));
            block.rotation.set(lane, Offset::of_rotations(rotations[0], rotations[1], per_second), time);
            let places = [before, after].map(|pair| pair.map(|t| t.translation));
            block.translation.set(lane, Offset::of_vectors(places[0], places[1], per_second), time);
            let scales = [before, after].map(|pair| pair.map(|t| t.scale));
            block.scale.set(lane, Offset::of_vectors(scales[0], scales[1], per_second), time);
        }
        Ok(())
    }

    /// Adds the remaining offset, `elapsed` seconds after the start, to a pose of the target.
    ///
    /// For `elapsed <= 0` the result is the pose that was current at the start. Rotations are within 6e-7,
    /// and may have the opposite sign. Translations and scales are within 1.2e-7 of the larger of the two
    /// values. At the end of the duration and after it, the pose is unchanged.
    ///
    /// # Errors
    /// [`Error::Length`] if the pose does not hold [`joint_count`](Self::joint_count) joints;
    /// [`Error::NotFinite`] if `elapsed` is NaN or infinite. The pose is then unchanged.
    pub fn apply(&self, elapsed: f32, pose: &mut Pose) -> Result<(), Error> {
        pose.check_joints("pose", self.joint_count)?;
        Error::check_finite("elapsed", &[elapsed], 1)?;
        let elapsed = elapsed.max(0.0);
        if elapsed >= self.duration {
            return Ok(());
        }
        let blocks = pose.blocks_mut();
        dispatch!(|s, mode| kernel(s, mode, &self.blocks, elapsed, blocks));
        Ok(())
    }
}

/// Returns the remaining offset of one property.
#[inline(always)]
fn left<S: Simd, M: Mode>(s: S, mode: M, decay: &Decay, elapsed: S::f32s, at: usize) -> [S::f32s; 3] {
    let one = S::f32s::splat(s, 1.0);
    let part = (elapsed * load(s, &decay.rate, at)).min(one);
    let rest = one - part;
    let fourth = (rest * rest) * (rest * rest);
    let mut out = [one; 3];
    for (c, out) in out.iter_mut().enumerate() {
        *out = fourth * mode.madd(load(s, &decay.slope[c], at), part, load(s, &decay.offset[c], at));
    }
    out
}

#[inline(always)]
fn kernel<S: Simd, M: Mode>(s: S, mode: M, offsets: &[Offsets], elapsed: f32, pose: &mut [PoseBlock]) {
    let (elapsed, zero) = (S::f32s::splat(s, elapsed), S::f32s::splat(s, 0.0));
    for (offsets, block) in offsets.iter().zip(pose) {
        for at in (0..BLOCK).step_by(S::f32s::LEN) {
            let target = Reference::new(s, mode, &block.rotation, at);
            let turn = left(s, mode, &offsets.rotation, elapsed, at);
            let still = turn[0].simd_eq(zero) & turn[1].simd_eq(zero) & turn[2].simd_eq(zero);
            let mut turned = target.turned(s, turn);
            for (turned, rotation) in turned.iter_mut().zip(&target.rotation) {
                *turned = still.select(*rotation, *turned);
            }
            store_all(&mut block.rotation, at, turned);
            move_by(s, mode, &offsets.translation, elapsed, at, &mut block.translation);
            move_by(s, mode, &offsets.scale, elapsed, at, &mut block.scale);
        }
    }
}

/// Adds the remaining offset to a translation or scale.
#[inline(always)]
fn move_by<S: Simd, M: Mode>(
    s: S,
    mode: M,
    decay: &Decay,
    elapsed: S::f32s,
    at: usize,
    lanes: &mut [Lanes; 3],
) {
    let left = left(s, mode, decay, elapsed, at);
    for (lanes, left) in lanes.iter_mut().zip(left) {
        let sum = load(s, lanes, at) + left;
        store::<S>(lanes, at, sum);
    }
}
