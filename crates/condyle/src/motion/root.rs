//! The motion of a character over any interval, and blended.

use alloc::vec::Vec;
use core::fmt;

use crate::play::Looping;
use crate::play::clock::{check_clock, check_duration};
use condyle_base::error::Error;
use condyle_base::math::quats::{from_rotation_vector, is_near_unit, rotation_vector, slerp_f64};
use condyle_base::math::sums::sum_in_any_order;
use condyle_base::math::{Rigid, Transform};

/// How a clip moves its character in model space: a rigid transform per sample, at even spacing from the
/// clip's start to its end.
///
/// A sample takes the character from where the clip's first moment has it to where it is; so the first one of
/// an extracted motion is the identity. `motion * pose` is where everything is: model matrices are multiplied
/// from the left.
///
/// ```
/// use condyle::motion::RootMotion;
/// use condyle::{Looping, Transform};
///
/// // One metre ahead in half a second.
/// let end = Transform { translation: [0.0, 0.0, 1.0], ..Transform::IDENTITY };
/// let walk = RootMotion::new(0.5, vec![Transform::IDENTITY, end])?;
/// assert_eq!(walk.at(0.25).translation, [0.0, 0.0, 0.5]);
/// // From a quarter of the first loop to the end of the third one, and back.
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

/// What it holds, in a line.
impl fmt::Debug for RootMotion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RootMotion")
            .field("duration", &self.duration)
            .field("samples", &self.samples.len())
            .finish_non_exhaustive()
    }
}

impl RootMotion {
    /// Keeps samples at even spacing: the first one at 0, the last one at `duration` seconds.
    ///
    /// # Errors
    /// - [`Error::TooShort`] without samples, or with a single one for a clip that has a length.
    /// - [`Error::NotFinite`], [`Error::NotUnit`] for a sample that is no rigid transform,
    ///   [`Error::OutOfRange`] for one with a scale.
    /// - [`Error::NotFinite`], [`Error::OutOfRange`] for a duration that is none.
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

    /// The motion at a moment, `seconds` after the clip's start: between samples a straight line, and the
    /// shorter arc of rotations. The first sample before the start, and for NaN; the last one after the end.
    #[must_use]
    pub fn at(&self, seconds: f64) -> Rigid {
        let last = self.samples.len() - 1;
        let place = seconds / self.duration * last as f64;
        // Also where the duration is 0.
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

    /// [`over`] of this motion.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if an end is NaN or infinite.
    pub fn over(&self, looping: Looping, from: f64, to: f64) -> Result<Rigid, Error> {
        over(|seconds| self.at(seconds), self.duration, looping, from, to)
    }
}

/// How far a clip moves its character from one value of the clock to another, any number of loops, forward or
/// backward.
///
/// `motion` tells the motion at a moment of the clip, from 0 to its `duration` in seconds. The result is what
/// the character's own place in the world is multiplied by, from the right: `place * delta`. Over one loop
/// that is `motion(from)⁻¹ * motion(to)`; at the end of a loop the character goes on from where it is. For
/// [`Looping::Clamp`] it stands still before the start and after the end.
///
/// Motions over intervals that follow each other multiply to that of the whole: `over(a, b) * over(b, c) =
/// over(a, c)`, but for rounding. The number of loops costs nothing (see [`Rigid::power`]).
///
/// ```
/// use condyle::math::Rigid;
/// use condyle::{Looping, motion};
///
/// // Two metres a second, and a quarter turn to the left at once at the end of each loop of one second.
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
/// [`Error::NotFinite`] for an end or a duration that is NaN or infinite, [`Error::OutOfRange`] for a
/// negative duration.
pub fn over(
    motion: impl Fn(f64) -> Rigid,
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
    let (here, there) = (motion(from.seconds), motion(to.seconds));
    if from.loops == to.loops {
        return Ok(here.way_to(&there));
    }
    // All seen from the start of a loop.
    let start = motion(0.0);
    let whole = start.inverse() * motion(duration);
    Ok(here.inverse() * start * whole.power(to.loops - from.loops) * (start.inverse() * there))
}

/// The weighted mean of movements in one frame, so that a blend of clips moves as it looks. The order of the
/// layers does not change a bit.
///
/// Weights are divided by their sum. Translations are averaged as they are, rotations by their logarithms:
/// about one axis, an angle is the mean of angles. Layers of weight 0 do not count, whatever they hold. If
/// the weights sum to zero (to less than 2^-20 of the sum of their magnitudes), the result is the identity. A
/// single layer comes out as it is but for 1e-11.
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
/// [`Error::NotFinite`] for a weight, or a movement that has one, with NaN or infinity.
pub fn blend(layers: &[(Rigid, f32)]) -> Result<Rigid, Error> {
    for (at, (delta, weight)) in layers.iter().enumerate() {
        if !weight.is_finite() || (*weight != 0.0 && !delta.is_finite()) {
            return Err(Error::NotFinite { what: "layers", at });
        }
    }
    let counting = layers.iter().filter(|layer| layer.1 != 0.0);
    let weights = counting.clone().map(|layer| f64::from(layer.1));
    let [total, magnitudes] = sum_in_any_order(weights.map(|weight| [weight, weight.abs()]));
    // The same part as in `blend`.
    if total.abs() <= magnitudes / 1_048_576.0 {
        return Ok(Rigid::IDENTITY);
    }
    let [rx, ry, rz, x, y, z] = sum_in_any_order(counting.map(|(delta, weight)| {
        let ([rx, ry, rz], [x, y, z]) = (rotation_vector(delta.rotation), delta.translation);
        [rx, ry, rz, x, y, z].map(|v| v * (f64::from(*weight) / total))
    }));
    Ok(Rigid { rotation: from_rotation_vector([rx, ry, rz]), translation: [x, y, z] })
}
