//! Root motion of compressed clips.

use core::f64::consts::FRAC_PI_2;
use core::ops::Range;

use super::root::over_pairs;
use crate::clip::curve::Curve;
use crate::clip::layout::{ClassPlace, Kind, MAX_BITS, Segment};
use crate::clip::spline::{Degree, Taps};
use crate::clip::{Clip, ClipView, Place, Target};
use crate::play::Looping;
use crate::pose::Pose;
use crate::sampling::clip::sample_by;
use crate::sampling::{self, PoseSource};
use crate::skeleton::Skeleton;
use condyle_base::bytes::u32_at;
use condyle_base::error::Error;
use condyle_base::math::quats::{
    Quat64, conjugate, from_rotation_vector, product, rotation_vector, unit_exp,
};
use condyle_base::math::{Rigid, Transform};
use condyle_base::simd::{Dispatch, dispatch, each};

impl Clip<'_> {
    /// Returns the root motion at a time of the clip, relative to the start, or the identity if the clip has
    /// no motion.
    ///
    /// `seconds` is a time as for [`sample`](crate::sample()).
    /// [`RootMotion::at`](crate::motion::RootMotion::at) counts seconds from the start of the clip instead.
    ///
    /// Times outside the clip are clamped to its start and end; NaN counts as the start. The cost is the same
    /// for all times.
    ///
    /// ```
    /// use condyle::motion::RootMotionOptions;
    /// use condyle::{Looping, example};
    /// use condyle_encode::{EncodeOptions, Shell, encode};
    ///
    /// let mut options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
    /// options.root_motion = Some(RootMotionOptions::default());
    /// let encoded = encode(&example::walk(), &example::skeleton(), &options, &mut |_| ())?;
    /// let clip = encoded.clip();
    /// // The walk moves 2 m forward in one second, and is repeated ten times.
    /// assert!((clip.motion_at(0.5).translation[2] - 1.0).abs() < 1e-3);
    /// let ahead = clip.motion_over(Looping::Wrap, 0.0, 10.0)?;
    /// assert!((ahead.translation[2] - 20.0).abs() < 1e-2);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    #[must_use]
    pub fn motion_at(&self, seconds: f64) -> Rigid {
        if !self.has_motion() {
            return Rigid::IDENTITY;
        }
        dispatch!(|_s| {
            let place = self.motion_place(seconds);
            MotionCurves::new(self.view(), place.segment).at([place.ratio])[0]
        })
    }

    /// Returns the root motion from one value of a clock to another, or the identity if the clip has no
    /// motion.
    ///
    /// Multiply the character's world transform by it from the right, as for [`over`](super::over). The clock
    /// is 0 at the start of the clip.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `from` or `to` is NaN or infinite.
    pub fn motion_over(&self, looping: Looping, from: f64, to: f64) -> Result<Rigid, Error> {
        if !self.has_motion() {
            return over_pairs(|_, _| [Rigid::IDENTITY; 2], self.duration(), looping, from, to);
        }
        let motion = |from: f64, to: f64| {
            dispatch!(|_s| {
                // `map` would not be inlined: a call, outside the instruction set.
                let from = self.motion_place(self.start() + from);
                let to = self.motion_place(self.start() + to);
                let curves = MotionCurves::new(self.view(), from.segment);
                // Both ends of a short interval are usually in one segment.
                if from.segment == to.segment {
                    return curves.at([from.ratio, to.ratio]);
                }
                let [from] = curves.at([from.ratio]);
                let [to] = MotionCurves::new(self.view(), to.segment).at([to.ratio]);
                [from, to]
            })
        };
        over_pairs(motion, self.duration(), looping, from, to)
    }

    /// Finds a time. NaN counts as the start.
    #[inline(always)]
    fn motion_place(&self, seconds: f64) -> Place {
        self.view().locate(if seconds.is_nan() { f64::NEG_INFINITY } else { seconds })
    }
}

/// Curves of the root motion in one segment. A property without a curve stays at the identity.
struct MotionCurves<'a> {
    rotation: Option<Curve<'a>>,
    translation: Option<Curve<'a>>,
}

impl<'a> MotionCurves<'a> {
    /// Finds the curves: the motion is stored as the joint after the last one.
    #[inline(always)]
    fn new(view: ClipView<'a>, segment: usize) -> Self {
        let segment = view.segment(segment);
        let mut place = segment.first_class();
        let mut curve = |kind| motion_curve(&segment, view.joint_count(), kind, &mut place);
        let rotation = curve(Kind::Rotation);
        Self { rotation, translation: curve(Kind::Translation) }
    }

    /// Returns the motion at some fractions of the segment. Each step is done for all of them, so that they
    /// do not wait for each other.
    #[inline(always)]
    fn at<const N: usize>(&self, ratios: [f64; N]) -> [Rigid; N] {
        let mut motions = [Rigid::IDENTITY; N];
        if let Some(curve) = &self.rotation {
            let rotations = turned(curve, ratios);
            each!(k in [0, 1] below N => motions[k].rotation = rotations[k]);
        }
        if let Some(curve) = &self.translation {
            each!(k in [0, 1] below N => motions[k].translation = curve.at(ratios[k]));
        }
        motions
    }
}

/// Finds the curve of joint `motion` among the classes of a kind, of which none is before `place`.
/// Afterwards, the same holds for later kinds.
#[inline(always)]
fn motion_curve<'a>(
    segment: &Segment<'a>,
    motion: usize,
    kind: Kind,
    place: &mut ClassPlace,
) -> Option<Curve<'a>> {
    while let Some(placed) = segment.placed(place).filter(|placed| placed.class.kind <= kind) {
        let class = placed.class;
        // Indices ascend in a class, which has at least one track. The motion has the highest index of all
        // tracks, so only the last track of the class can be the motion.
        let track = placed.track + class.count - 1;
        if class.kind == kind && segment.index(track) == motion {
            let constant = class.degree == Degree::Constant;
            let bit = if constant { 0 } else { bits_of(segment, placed.track..track) };
            return Some(Curve::new(segment, &placed, track, bit));
        }
        place.pass(&class);
    }
    None
}

/// Returns the number of bits that some tracks use in each row.
fn bits_of(segment: &Segment<'_>, tracks: Range<usize>) -> usize {
    let record = segment.record_bytes();
    // A record has the step, followed by three bit widths.
    let widths = segment.bytes.get(segment.record(tracks.start) + 1..).unwrap_or_default();
    let (mut at, mut bits) = (0, 0);
    while at < tracks.len() {
        // Adds the three widths of each track as bytes of one u32. [`TRACKS`] widths cannot overflow a byte.
        // The fourth byte is not a width, and its overflow is lost.
        let end = tracks.len().min(at + TRACKS);
        let sum = (at..end).fold(0_u32, |sum, at| sum.wrapping_add(u32_at(widths, record * at)));
        let [a, b, c, _] = sum.to_le_bytes().map(usize::from);
        (at, bits) = (end, bits + a + b + c);
    }
    bits
}

/// Maximum number of tracks whose bit widths, of one component, sum to at most 255.
const TRACKS: usize = 255 / MAX_BITS as usize;

/// Evaluates a rotation curve.
#[inline(always)]
fn turned<const N: usize>(curve: &Curve<'_>, ratios: [f64; N]) -> [Quat64; N] {
    let (mut turns, mut halves) = ([Rigid::IDENTITY.rotation; N], [[0.0; 3]; N]);
    if curve.degree == Degree::Linear {
        // A linear curve interpolates two keys by slerp. Other curves are evaluated as one logarithm.
        each!(k in [0, 1] below N => {
            let taps = Taps::at(curve.degree, curve.intervals, ratios[k]);
            turns[k] = between(curve.key(taps.first), curve.key(taps.first + 1), taps.weights[1]);
        });
        return turns;
    }
    each!(k in [0, 1] below N => halves[k] = curve.at(ratios[k]));
    each!(k in [0, 1] below N => turns[k] = turn(halves[k]));
    turns
}

/// Returns the rotation of a half rotation vector.
#[inline(always)]
fn turn(half: [f64; 3]) -> Quat64 {
    // Most motions do not rotate.
    if half == [0.0; 3] { Rigid::IDENTITY.rotation } else { unit_exp(half) }
}

/// Slerp between two rotations, both given as half rotation vectors.
#[inline(always)]
fn between(from: [f64; 3], to: [f64; 3], part: f64) -> Quat64 {
    // Rotations about one axis of model space, as for walking characters, are interpolated by angle.
    let (mut straight, mut axes, mut near) = (from, 0, true);
    each!(c in [0, 1, 2] => {
        let way = to[c] - from[c];
        axes += usize::from(from[c] != 0.0 || to[c] != 0.0);
        near &= way.abs() < FRAC_PI_2;
        straight[c] += way * part;
    });
    if axes <= 1 && near { turn(straight) } else { slerp(from, to, part) }
}

/// The general case of [`between`].
#[inline(never)]
fn slerp(from: [f64; 3], to: [f64; 3], part: f64) -> Quat64 {
    if part == 0.0 {
        return turn(from);
    }
    let [from, to] = [turn(from), turn(to)];
    let way = rotation_vector(product(conjugate(from), to));
    product(from, from_rotation_vector(way.map(|v| v * part)))
}

/// Applies the motion to the roots, and so to all joints.
pub(crate) fn carry(skeleton: &Skeleton, motion: &Rigid, pose: &mut Pose) {
    for joint in (0..skeleton.joint_count()).filter(|&joint| skeleton.parent(joint as u16).is_none()) {
        let local = pose.get(joint);
        let (rotation, translation) = (local.rotation.map(f64::from), local.translation.map(f64::from));
        let moved = *motion * Rigid { rotation, translation };
        pose.set(joint, &Transform { scale: local.scale, ..moved.into() });
    }
}

/// Samples the pose, including the root motion if it was extracted, with a given instruction set and numeric
/// mode.
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

/// Poses include the root motion if it was extracted.
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
