//! Clips: the motion of the character as a whole.

use super::root::over;
use crate::clip::layout::Kind;
use crate::clip::spline::{Degree, Taps};
use crate::clip::{Clip, Target};
use crate::error::Error;
use crate::math::quats::{conjugate, from_rotation_vector, product, rotation_vector};
use crate::math::{Rigid, Transform};
use crate::play::Looping;
use crate::pose::Pose;
use crate::sample::clip::one_by_one;
use crate::sample::{self, PoseSource, sample};
use crate::skeleton::Skeleton;

impl Clip<'_> {
    /// Where the character as a whole is at a moment, seen from where it starts, as
    /// [`RootMotion::at`](crate::motion::RootMotion::at) has it; but `seconds` are those that
    /// [`sample`](crate::sample()) takes. The identity if the clip has no motion.
    ///
    /// Times outside the clip are clamped to its start and end; NaN counts as the start. Any moment costs the
    /// same.
    ///
    /// ```
    /// use condyle::encode::EncodeOptions;
    /// use condyle::motion::RootMotionOptions;
    /// use condyle::{
    ///     Interpolation, Joint, Looping, RawClip, Skeleton, Target, Track, Transform, encode,
    /// };
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
    /// let mut options = EncodeOptions::default();
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
        let place = self.view().locate(if seconds.is_nan() { f64::NEG_INFINITY } else { seconds });
        let (mut from, mut to, mut translation) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        let motion = self.joint_count()..self.joint_count() + 1;
        // A linear rotation is a slerp between two keys; any other one is a single logarithm.
        let mut part = 0.0;
        let one = |first| Taps { first, count: 1, weights: [1.0, 0.0, 0.0, 0.0] };
        let first = |degree, taps: Taps| if degree == Degree::Linear { one(taps.first) } else { taps };
        one_by_one(&place, (Kind::Rotation, motion.clone()), first, |_, numbers| from = numbers);
        let second = |degree, taps: Taps| {
            if degree != Degree::Linear {
                return taps;
            }
            part = taps.weights[1];
            one(taps.first + 1)
        };
        one_by_one(&place, (Kind::Rotation, motion.clone()), second, |_, numbers| to = numbers);
        one_by_one(&place, (Kind::Translation, motion), |_, taps| taps, |_, numbers| translation = numbers);
        let [from, to] = [from, to].map(|half| from_rotation_vector(half.map(|v| 2.0 * v)));
        let way = rotation_vector(product(conjugate(from), to));
        Rigid { rotation: product(from, from_rotation_vector(way.map(|v| v * part))), translation }
    }

    /// How far the clip moves its character from one value of a clock to another:
    /// [`over`], so what its place is multiplied by from the right. The clock is at 0 where the clip starts. The identity if the clip
    /// has no motion.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if an end is NaN or infinite.
    pub fn motion_over(&self, looping: Looping, from: f64, to: f64) -> Result<Rigid, Error> {
        let start = f64::from(self.start());
        over(|seconds| self.motion_at(start + seconds), self.duration(), looping, from, to)
    }
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

/// With its motion, if one was taken out.
impl PoseSource for Clip<'_> {
    fn start(&self) -> f32 {
        self.start()
    }

    fn end(&self) -> f32 {
        self.end()
    }

    fn pose(&self, skeleton: &Skeleton, seconds: f32, pose: &mut Pose) -> Result<(), Error> {
        sample(self, skeleton, seconds, pose)?;
        if self.has_motion() {
            carry(skeleton, &self.motion_at(seconds.into()), pose);
        }
        Ok(())
    }

    fn weights(&self, node: u32, seconds: f32, weights: &mut [f32]) -> Result<(), Error> {
        sample::track(self, Target::Weights(node), seconds, weights).map(|_| ())
    }
}
