//! Inertialisation: a transition that plays the target at once and lets the difference from what was shown
//! before decay to nothing.
//!
//! What is shown is the target with an offset `x(t)` added, which at the start has to be the difference `x₀`
//! from what was shown before, changing at the velocity `v₀` by which the two movements differ: then neither
//! place nor velocity jumps. At the end of its time `τ` it has to be gone, without a trace in the first two
//! derivatives.
//!
//! With `s = t/τ` the polynomial of least degree that is 0 to the fourth order at `s = 1` and leaves two
//! constants for the start is `x = (1 - s)⁴ (p + k s)`. `x(0) = x₀` gives `p = x₀`; `x'(0) = (k - 4p)/τ = v₀`
//! gives `k = v₀ τ + 4 x₀`. It is the quintic of Bollo (2018) whose third derivative is 0 at the end.
//!
//! Along the direction of `x₀`, `p > 0`, and the other factor is `p` at the start and `p + k` at the end: it
//! keeps its sign, so that the offset never passes through the target, if `p + k ≥ 0`, that is `v₀ τ ≥ -5
//! x₀`. Where the joint comes back faster than that, its own time is made as short, `τ = -5 x₀ / v₀`. For `v₀
//! ≤ 0` the offset then only falls: `x' ∝ (1 - s)³ (v₀τ - 5 k s)`, of which the last factor is not positive
//! at either end, hence nowhere between. For `v₀ > 0` it first grows and turns back before a fifth of the
//! time, after `0.082 v₀ τ` more at most, the maximum of `s (1 - s)⁴`.

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

/// Shorter times, in seconds, count as none: a difference over less is only the rounding of f32.
const MIN_SECONDS: f32 = 1e-6;

/// The offsets of sixteen joints in one property: `(1 - s)⁴ (offset + slope · s)`, where `s` is the time
/// times `rate`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Decay {
    offset: [Lanes; 3],
    slope: [Lanes; 3],
    rate: Lanes,
}

impl Decay {
    const NONE: Self = Self { offset: [[0.0; BLOCK]; 3], slope: [[0.0; BLOCK]; 3], rate: [1.0; BLOCK] };

    /// From the offset and its velocity.
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

/// The offsets of sixteen joints.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Offsets {
    /// Logarithms, on the right of the target's rotation.
    rotation: Decay,
    translation: Decay,
    scale: Decay,
}

/// What one property of one joint differs by, and how fast that changes.
#[derive(Clone, Copy)]
struct Offset {
    place: [f64; 3],
    velocity: [f64; 3],
}

impl Offset {
    /// From the difference now and one step later.
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
        // About half a turn away the shorter way may be the other one a moment later: the present one is
        // kept.
        let later = near(now, product(conjugate(next), product(current, step)));
        Self::new(log(now), log(later), per_second)
    }
}

/// The transition from one movement to another by inertia: the new one is played at once, and its difference
/// from the old one decays to nothing.
///
/// Only one movement is sampled at a time; there is no second clip to keep playing, as a cross-fade needs.
/// Place and velocity of every joint are continuous, none overshoots its target, and from the end on the
/// poses are the target's, bit for bit. A transition may be interrupted at any time: [`start`](Self::start)
/// again with the poses that were shown last.
///
/// The offsets are turns about the joints' own axes, translations, and differences of scale: unlike a ratio
/// (see [`difference`](super::difference)) these also begin where something was hidden by a scale of 0.
///
/// It holds 84 bytes per joint; neither `start` nor `apply` allocates. Bollo (2018), "Inertialization:
/// High-Performance Animation Transitions in Gears of War"; see the source for the polynomial.
///
/// ```
/// use condyle::blending::Inertialization;
/// use condyle::{Pose, Transform};
///
/// let at = |x| Pose::from_transforms(&[Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }]);
/// let mut transition = Inertialization::new(1);
/// // From a walk along x to a stand at 5, at sixty frames a second, in half a second.
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
    /// No transition yet: [`apply`](Self::apply) changes nothing.
    #[must_use]
    pub fn new(joint_count: usize) -> Self {
        let none = Offsets { rotation: Decay::NONE, translation: Decay::NONE, scale: Decay::NONE };
        Self { blocks: vec![none; joint_count.div_ceil(BLOCK)], joint_count, duration: 0.0 }
    }

    /// How many joints the poses must hold.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.joint_count
    }

    /// Seconds from the start of the transition to its end; 0 if there is none.
    #[must_use]
    pub fn duration(&self) -> f32 {
        self.duration
    }

    /// Starts a transition, in place of one that may be under way.
    ///
    /// `before` are the last two poses that were shown, the previous and the current one; `after` are two
    /// poses of the movement that is to be shown, as of the current moment and of the next one. `dt` seconds
    /// lie between the two of each pair. Where the target's velocity is not known, its one pose may be given
    /// twice: it counts as standing still.
    ///
    /// If `dt` is less than a microsecond, 0 or negative, velocities are unknown and count as 0. A `duration`
    /// of less than that shows the target at once. Opposite quaternions are the same rotation; of half a turn
    /// the way is the one that the quaternions give. What is not finite in a pose stays with that joint's
    /// property until the end of the transition.
    ///
    /// # Errors
    /// [`Error::Length`] if a pose does not hold [`joint_count`](Self::joint_count) joints;
    /// [`Error::NotFinite`] if `dt` or `duration` is NaN or infinite. Nothing is changed then.
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

    /// Adds what remains of the offset, `elapsed` seconds after the start, to a pose of the target.
    ///
    /// At 0, and before, the result is the pose that was current at the start: rotations, which may change
    /// their sign, within 6e-7, translations and scales within 1.2e-7 of the greater of the two. At the end
    /// of the duration and after it the pose is not touched.
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

/// The remaining offset of one property.
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

/// Adds the remaining offset of a translation or scale.
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
