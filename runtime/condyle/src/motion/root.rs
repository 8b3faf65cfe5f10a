//! Root motion over any interval, and blending.
//!
//! The loops between two moments are one rigid transform to an integer power, by squaring, in f64. Every
//! product normalises the rotation, because each squaring would double the drift of its length.

use alloc::vec::Vec;
use core::fmt;

use crate::play::Looping;
use crate::play::clock::{check_clock, check_duration};
use condyle_base::error::Error;
use condyle_base::math::quats::{from_rotation_vector, is_near_unit, rotation_vector, slerp_f64};
use condyle_base::math::sums::sum_in_any_order;
use condyle_base::math::{Rigid, Transform};

/// Motion of a character in model space: rigid transforms at even spacing from the start of the clip to its
/// end.
///
/// A sample transforms the character from its position at the start of the clip to its position at the
/// sample. So the first sample of an extracted motion is the identity. Multiply model matrices by the motion
/// from the left: `motion * pose`.
///
/// ```
/// use condyle::motion::RootMotion;
/// use condyle::{Looping, Transform};
///
/// // One metre forward in half a second.
/// let end = Transform { translation: [0.0, 0.0, 1.0], ..Transform::IDENTITY };
/// let walk = RootMotion::new(0.5, vec![Transform::IDENTITY, end])?;
/// assert_eq!(walk.at(0.25).translation, [0.0, 0.0, 0.5]);
/// // From a quarter of the first loop to the end of the third loop, and back.
/// let ahead = walk.over(Looping::Wrap, 0.125, 1.5)?;
/// assert_eq!(ahead.translation, [0.0, 0.0, 2.75]);
/// assert_eq!(walk.over(Looping::Wrap, 1.5, 0.125)?, ahead.inverse());
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct RootMotion {
    duration: f64,
    samples: Vec<Transform>,
}

/// Prints the duration and the number of samples.
impl fmt::Debug for RootMotion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RootMotion")
            .field("duration", &self.duration)
            .field("samples", &self.samples.len())
            .finish_non_exhaustive()
    }
}

impl RootMotion {
    /// Stores samples at even spacing: the first one at 0, the last one at `duration` seconds.
    ///
    /// # Errors
    /// - [`Error::TooShort`] without samples, or with a single sample if `duration` is above 0.
    /// - [`Error::NotFinite`] or [`Error::NotUnit`] for a sample that is not a rigid transform,
    ///   [`Error::OutOfRange`] for a sample with a scale.
    /// - [`Error::NotFinite`] or [`Error::OutOfRange`] for an invalid duration.
    pub fn new(duration: f64, samples: Vec<Transform>) -> Result<Self, Error> {
        check_duration(duration)?;
        let needed = if duration > 0.0 { 2 } else { 1 };
        if samples.len() < needed {
            return Err(Error::TooShort { what: "samples", found: samples.len(), needed });
        }
        for (at, sample) in samples.iter().enumerate() {
            if !sample.rotation.iter().chain(&sample.translation).all(|v| v.is_finite()) {
                return Err(Error::NotFinite { what: "samples", at });
            }
            if !is_near_unit(&sample.rotation) {
                return Err(Error::NotUnit { what: "samples", at });
            }
            if sample.scale != [1.0; 3] {
                return Err(Error::OutOfRange { what: "samples", at, needed: "of scale 1" });
            }
        }
        Ok(Self { duration, samples })
    }

    /// Seconds from the first sample to the last.
    #[must_use]
    pub fn duration(&self) -> f64 {
        self.duration
    }

    /// Rigid transforms at even spacing.
    #[must_use]
    pub fn samples(&self) -> &[Transform] {
        &self.samples
    }

    /// Returns the motion at `seconds` after the start of the clip.
    ///
    /// Between samples, translations are linear and rotations take the shorter arc. Times before the start,
    /// and NaN, return the first sample; times after the end return the last one.
    #[must_use]
    pub fn at(&self, seconds: f64) -> Rigid {
        let last = self.samples.len() - 1;
        let place = seconds / self.duration * last as f64;
        // NaN, from a duration of 0, also counts as the start.
        let place = if place > 0.0 { place.min(last as f64) } else { 0.0 };
        let index = (place as usize).min(last);
        let (a, b) = (&self.samples[index], &self.samples[(index + 1).min(last)]);
        let t = place - index as f64;
        let between = |c: usize| {
            let (a, b) = (f64::from(a.translation[c]), f64::from(b.translation[c]));
            a + (b - a) * t
        };
        Rigid { rotation: slerp_f64(a.rotation, b.rotation, t), translation: core::array::from_fn(between) }
    }

    /// Calls [`over`] with this motion.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `from` or `to` is NaN or infinite.
    pub fn over(&self, looping: Looping, from: f64, to: f64) -> Result<Rigid, Error> {
        over(|seconds| self.at(seconds), self.duration, looping, from, to)
    }
}

/// Returns the motion of a clip from one value of the clock to another, forward or backward, over any number
/// of loops.
///
/// `motion` returns the motion at a time of the clip, from 0 to `duration` in seconds. Multiply the
/// character's world transform by the result from the right: `place * delta`. Within one loop the result is
/// `motion(from)⁻¹ * motion(to)`. With [`Looping::Wrap`], each loop continues from where the previous one
/// ended. With [`Looping::Clamp`], the character does not move before the start and after the end.
///
/// Motions over consecutive intervals multiply to the motion over the whole: `over(a, b) * over(b, c) =
/// over(a, c)`, except for rounding. The cost does not depend on the number of loops (see [`Rigid::power`]).
///
/// ```
/// use condyle::math::Rigid;
/// use condyle::{Looping, motion};
///
/// // Two metres per second, and a quarter turn to the left at the end of each loop of one second.
/// let half = 0.5_f64.sqrt();
/// let motion = |seconds: f64| Rigid {
///     rotation: if seconds < 1.0 { [0.0, 0.0, 0.0, 1.0] } else { [0.0, half, 0.0, half] },
///     translation: [0.0, 0.0, 2.0 * seconds],
/// };
/// let delta = motion::over(motion, 1.0, Looping::Wrap, 0.5, 1.5)?;
/// assert!((delta.translation[0] - 1.0).abs() < 1e-12 && (delta.translation[2] - 1.0).abs() < 1e-12);
/// # Ok::<(), condyle::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotFinite`] if `from`, `to` or the duration is NaN or infinite, [`Error::OutOfRange`] for a
/// negative duration.
pub fn over(
    motion: impl Fn(f64) -> Rigid,
    duration: f64,
    looping: Looping,
    from: f64,
    to: f64,
) -> Result<Rigid, Error> {
    over_pairs(|from, to| [motion(from), motion(to)], duration, looping, from, to)
}

/// [`over`] for a function that returns the motions at two times.
#[inline(always)]
pub(super) fn over_pairs(
    motions: impl Fn(f64, f64) -> [Rigid; 2],
    duration: f64,
    looping: Looping,
    from: f64,
    to: f64,
) -> Result<Rigid, Error> {
    check_clock(to)?;
    let (from, to) = (looping.moment(from, duration)?, looping.moment(to, duration)?);
    if from == to {
        return Ok(Rigid::IDENTITY);
    }
    let [here, there] = motions(from.seconds, to.seconds);
    if from.loops == to.loops {
        return Ok(here.way_to(&there));
    }
    // Relative to the start of a loop.
    let [start, end] = motions(0.0, duration);
    let whole = start.inverse() * end;
    Ok(here.inverse() * start * whole.power(to.loops - from.loops) * (start.inverse() * there))
}

/// Returns the weighted mean of root motions, for blended clips. The order of the layers does not change any
/// bit.
///
/// Weights are divided by their sum. Translations are averaged directly, rotations by their logarithms. So
/// the mean of rotations about one axis has the mean angle. Layers of weight 0 are ignored, even if they
/// contain NaN.
///
/// If the sum of the weights is zero (at most 2^-20 of the sum of their magnitudes), the result is the
/// identity. A single layer is returned unchanged within 1e-11.
///
/// ```
/// use condyle::math::Rigid;
/// use condyle::motion;
///
/// let walk = Rigid { translation: [0.0, 0.0, 0.02], ..Rigid::IDENTITY };
/// let run = Rigid { translation: [0.0, 0.0, 0.08], ..Rigid::IDENTITY };
/// let blended = motion::blend(&[(walk, 0.5), (run, 1.5)])?;
/// assert!((blended.translation[2] - 0.065).abs() < 1e-15);
/// # Ok::<(), condyle::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotFinite`] for a weight that is NaN or infinite, or for a motion with NaN or infinity whose
/// weight is not 0.
pub fn blend(layers: &[(Rigid, f32)]) -> Result<Rigid, Error> {
    for (at, (delta, weight)) in layers.iter().enumerate() {
        if !weight.is_finite() || (*weight != 0.0 && !delta.is_finite()) {
            return Err(Error::NotFinite { what: "layers", at });
        }
    }
    let counting = layers.iter().filter(|layer| layer.1 != 0.0);
    let weights = counting.clone().map(|layer| f64::from(layer.1));
    let [total, magnitudes] = sum_in_any_order(weights.map(|weight| [weight, weight.abs()]));
    // The same threshold as in `blending::blend`.
    if total.abs() <= magnitudes / 1_048_576.0 {
        return Ok(Rigid::IDENTITY);
    }
    let [rx, ry, rz, x, y, z] = sum_in_any_order(counting.map(|(delta, weight)| {
        let ([rx, ry, rz], [x, y, z]) = (rotation_vector(delta.rotation), delta.translation);
        [rx, ry, rz, x, y, z].map(|v| v * (f64::from(*weight) / total))
    }));
    Ok(Rigid { rotation: from_rotation_vector([rx, ry, rz]), translation: [x, y, z] })
}
