//! Clips: the motion of the character as a whole.

use core::f64::consts::FRAC_PI_2;
use core::ops::Range;

use super::root::over;
use crate::clip::layout::{Kind, MAX_BITS, Segment, WIDTH};
use crate::clip::spline::{Degree, Taps};
use crate::clip::{Clip, Place, Target};
use crate::play::Looping;
use crate::pose::Pose;
use crate::sampling::clip::{numbers, sample_by};
use crate::sampling::{self, PoseSource};
use crate::skeleton::Skeleton;
use condyle_base::bytes::u32_at;
use condyle_base::error::Error;
use condyle_base::math::quats::{
    Quat64, conjugate, from_rotation_vector, product, rotation_vector, unit_exp,
};
use condyle_base::math::{Rigid, Transform};
use condyle_base::simd::{Dispatch, each};

impl Clip<'_> {
    /// Where the character as a whole is at a moment, seen from where it starts, as
    /// [`RootMotion::at`](crate::motion::RootMotion::at) has it; but `seconds` are those that
    /// [`sample`](crate::sample()) takes. The identity if the clip has no motion.
    ///
    /// Times outside the clip are clamped to its start and end; NaN counts as the start. Any moment costs the
    /// same.
    ///
    /// ```
    /// use condyle_encode::{EncodeOptions, Shell};
    /// use condyle::motion::RootMotionOptions;
    /// use condyle::{Interpolation, Joint, Looping, RawClip, Skeleton, Target, Track, Transform};
    /// use condyle_encode::encode;
    ///
    /// let hips = Joint::new("hips", None, Transform::IDENTITY);
    /// let skeleton = Skeleton::new([hips])?;
    /// let walk = Track {
    ///     target: Target::Translation(0),
    ///     interpolation: Interpolation::Linear,
    ///     timeline: 0,
    ///     values: vec![0.0, 1.0, 0.0, 0.0, 1.1, 0.75, 0.0, 1.0, 1.5],
    /// };
    /// let raw = RawClip::new("walk".into(), vec![vec![0.0, 0.5, 1.0]], vec![walk])?;
    /// let mut options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
    /// options.root_motion = Some(RootMotionOptions::default());
    /// let encoded = encode(&raw, &skeleton, &options, &mut |_| ())?;
    /// let clip = encoded.clip();
    /// assert!((clip.motion_at(0.5).translation[2] - 0.75).abs() < 1e-3);
    /// let ahead = clip.motion_over(Looping::Wrap, 0.0, 10.0)?;
    /// assert!((ahead.translation[2] - 15.0).abs() < 1e-2);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    #[must_use]
    pub fn motion_at(&self, seconds: f64) -> Rigid {
        if !self.has_motion() {
            return Rigid::IDENTITY;
        }
        let clip = self.view();
        let Place { segment, ratio } =
            clip.locate(if seconds.is_nan() { f64::NEG_INFINITY } else { seconds });
        let mut motion = Rigid::IDENTITY;
        if let Some(resident) = clip.resident_segment(segment) {
            let [rotation, translation] = resident.motion();
            if let Some(track) = rotation {
                let (degree, intervals) = track.curve();
                motion.rotation = turned(degree, Taps::at(degree, intervals, ratio), |taps| track.sum(taps));
            }
            if let Some(track) = translation {
                let (degree, intervals) = track.curve();
                motion.translation = track.sum(&Taps::at(degree, intervals, ratio));
            }
            return motion;
        }
        let segment = &clip.segment(segment);
        for placed in segment.classes().take_while(|placed| placed.class.kind <= Kind::Translation) {
            let class = placed.class;
            // Indices rise in a class, which has a track at least, and that of the motion is the greatest there is.
            let track = placed.track + class.count - 1;
            if segment.index(track) != self.joint_count() {
                continue;
            }
            let constant = class.degree == Degree::Constant;
            let bit = if constant { 0 } else { bits_of(segment, placed.track..track) };
            let sum = |taps: &Taps| numbers(segment, &placed, track, bit, taps);
            let taps = Taps::at(class.degree, class.intervals, ratio);
            if class.kind == Kind::Translation {
                motion.translation = sum(&taps);
            } else {
                motion.rotation = turned(class.degree, taps, sum);
            }
        }
        motion
    }

    /// How far the clip moves its character from one value of a clock to another:
    /// [`over`], so what its place is multiplied by from the right. The clock is at 0 where the clip starts. The identity if the clip
    /// has no motion.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if an end is NaN or infinite.
    pub fn motion_over(&self, looping: Looping, from: f64, to: f64) -> Result<Rigid, Error> {
        over(|seconds| self.motion_at(self.start() + seconds), self.duration(), looping, from, to)
    }
}

/// The bits of some tracks in each row.
fn bits_of(segment: &Segment<'_>, tracks: Range<usize>) -> usize {
    let record = segment.record_bytes();
    // Three widths follow the step.
    let widths = segment.bytes.get(segment.record(tracks.start) + 1..).unwrap_or_default();
    let (mut at, mut bits) = (0, 0);
    while at < tracks.len() {
        // Added as they stand: so few do not leave their byte. What is in the fourth one leaves the sum.
        let end = tracks.len().min(at + TRACKS);
        let sum = (at..end).fold(0_u32, |sum, at| sum.wrapping_add(u32_at(widths, record * at)));
        let [a, b, c, _] = sum.to_le_bytes().map(usize::from);
        (at, bits) = (end, bits + a + b + c);
    }
    bits
}

/// The bits of one component of so many tracks are a number that a byte holds.
const TRACKS: usize = 255 / MAX_BITS as usize;

/// The rotation of a curve, of whose keys `sum` makes weighted sums.
#[inline(always)]
fn turned(degree: Degree, taps: Taps, sum: impl Fn(&Taps) -> [f64; WIDTH]) -> Quat64 {
    if degree != Degree::Linear {
        return turn(sum(&taps));
    }
    // A slerp between two keys; any other rotation is a single logarithm.
    let key = |first| Taps { first, count: 1, weights: [1.0, 0.0, 0.0, 0.0] };
    let (from, to) = (sum(&key(taps.first)), sum(&key(taps.first + 1)));
    between(from, to, taps.weights[1])
}

/// The rotation of half of this rotation vector.
#[inline(always)]
fn turn(half: [f64; 3]) -> Quat64 {
    // Most motions go without turning.
    if half == [0.0; 3] { Rigid::IDENTITY.rotation } else { unit_exp(half) }
}

/// A slerp between two rotations of these halves of rotation vectors.
#[inline(always)]
fn between(from: [f64; 3], to: [f64; 3], part: f64) -> Quat64 {
    // About one axis of model space, as characters turn where nobody flies, angles go straight to each other.
    let (mut straight, mut axes, mut near) = (from, 0, true);
    each!(c in [0, 1, 2] => {
        let way = to[c] - from[c];
        axes += usize::from(from[c] != 0.0 || to[c] != 0.0);
        near &= way.abs() < FRAC_PI_2;
        straight[c] += way * part;
    });
    if axes <= 1 && near { turn(straight) } else { slerp(from, to, part) }
}

/// [`between`], for any two.
#[inline(never)]
fn slerp(from: [f64; 3], to: [f64; 3], part: f64) -> Quat64 {
    if part == 0.0 {
        return turn(from);
    }
    let [from, to] = [turn(from), turn(to)];
    let way = rotation_vector(product(conjugate(from), to));
    product(from, from_rotation_vector(way.map(|v| v * part)))
}

/// Moves a character as a whole: what hangs on nothing, and so all that hangs on that.
fn carry(skeleton: &Skeleton, motion: &Rigid, pose: &mut Pose) {
    for joint in (0..skeleton.joint_count()).filter(|&joint| skeleton.parent(joint as u16).is_none()) {
        let local = pose.get(joint);
        let (rotation, translation) = (local.rotation.map(f64::from), local.translation.map(f64::from));
        let moved = *motion * Rigid { rotation, translation };
        pose.set(joint, &Transform { scale: local.scale, ..moved.into() });
    }
}

/// The pose with the motion, if one was taken out, with a given instruction set and numeric mode.
pub fn pose_by(
    dispatch: Dispatch,
    clip: &Clip<'_>,
    skeleton: &Skeleton,
    seconds: f64,
    pose: &mut Pose,
) -> Result<(), Error> {
    sample_by(dispatch, clip.view(), skeleton, seconds, pose)?;
    if clip.has_motion() {
        carry(skeleton, &clip.motion_at(seconds), pose);
    }
    Ok(())
}

/// With its motion, if one was taken out.
impl PoseSource for Clip<'_> {
    fn start(&self) -> f64 {
        self.start()
    }

    fn end(&self) -> f64 {
        self.end()
    }

    fn pose(&self, skeleton: &Skeleton, seconds: f64, pose: &mut Pose) -> Result<(), Error> {
        pose_by(Dispatch::current(), self, skeleton, seconds, pose)
    }

    fn weights(&self, node: u32, seconds: f64, weights: &mut [f32]) -> Result<(), Error> {
        sampling::track(self, Target::Weights(node), seconds, weights).map(|_| ())
    }
}
