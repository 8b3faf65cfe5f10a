//! The weight of a cross-fade over time.

/// Curve of a [`Fade`].
///
/// ```
/// use condyle::blending::Ease;
///
/// assert_eq!(Ease::default(), Ease::Smooth);
/// assert!(Ease::Smooth.weight(0.1) < Ease::Linear.weight(0.1));
/// assert_eq!(Ease::Smooth.weight(0.5), Ease::Linear.weight(0.5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Ease {
    /// Constant speed.
    Linear,
    /// `x²(3 - 2x)`: starts and ends at zero speed.
    #[default]
    Smooth,
}

impl Ease {
    /// Returns the weight at a fraction of the duration, both from 0 to 1. Fractions outside that range are
    /// clamped.
    #[must_use]
    pub fn weight(self, part: f32) -> f32 {
        let x = part.clamp(0.0, 1.0);
        match self {
            Self::Linear => x,
            Self::Smooth => x * x * (3.0 - 2.0 * x),
        }
    }
}

/// A weight that rises from 0 to 1 in a given time: the weight of the pose to fade to.
///
/// ```
/// use condyle::blending::{Ease, Fade};
///
/// let mut fade = Fade::new(0.5, Ease::Smooth);
/// assert_eq!(fade.advance(0.25), 0.5);
/// assert_eq!(fade.advance(9.0), 1.0);
/// assert!(fade.is_over());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fade {
    duration: f32,
    elapsed: f32,
    ease: Ease,
}

impl Fade {
    /// Returns a fade of `duration` seconds. A fade of zero, negative or NaN duration is over immediately.
    #[must_use]
    pub fn new(duration: f32, ease: Ease) -> Self {
        Self { duration: if duration > 0.0 { duration } else { 0.0 }, elapsed: 0.0, ease }
    }

    /// Advances by `seconds` and returns the new weight. Negative values go back, at most to the start. NaN
    /// has no effect.
    pub fn advance(&mut self, seconds: f32) -> f32 {
        let elapsed = self.elapsed + seconds;
        if !elapsed.is_nan() {
            self.elapsed = elapsed.clamp(0.0, self.duration);
        }
        self.weight()
    }

    /// Returns the current weight: 0 at the start, exactly 1 at the end and after it.
    #[must_use]
    pub fn weight(&self) -> f32 {
        if self.is_over() { 1.0 } else { self.ease.weight(self.elapsed / self.duration) }
    }

    /// Returns whether the whole duration has passed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.elapsed >= self.duration
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_rises_from_nothing_to_all_and_never_falls() {
        for ease in [Ease::Linear, Ease::Smooth] {
            let mut fade = Fade::new(0.7, ease);
            let mut last = fade.weight();
            assert_eq!(last, 0.0, "{ease:?}");
            for frame in 0..50 {
                let weight = fade.advance(1.0 / 60.0);
                assert!(weight >= last && weight <= 1.0, "{ease:?}, frame {frame}: {weight} after {last}");
                assert_eq!(weight == 1.0, fade.is_over(), "{ease:?}, frame {frame}");
                last = weight;
            }
            assert_eq!(last, 1.0, "{ease:?}");
        }
    }

    #[test]
    fn the_smooth_way_begins_and_ends_at_rest() {
        for (part, want) in [(0.0, 0.0), (0.25, 0.15625), (0.5, 0.5), (0.75, 0.84375), (1.0, 1.0)] {
            assert_eq!(Ease::Smooth.weight(part), want);
            assert_eq!(Ease::Linear.weight(part), part);
        }
        let slope = |at: f32| (Ease::Smooth.weight(at + 1e-3) - Ease::Smooth.weight(at - 1e-3)) / 2e-3;
        assert!(slope(1e-3) < 0.02 && slope(1.0 - 1e-3) < 0.02 && (slope(0.5) - 1.5).abs() < 1e-3);
        assert_eq!([-1.0, 2.0].map(|part| Ease::Smooth.weight(part)), [0.0, 1.0]);
    }

    #[test]
    fn no_time_is_over_at_once_and_no_number_changes_nothing() {
        for duration in [0.0, -1.0, f32::NAN, f32::NEG_INFINITY] {
            let mut fade = Fade::new(duration, Ease::Linear);
            assert!(fade.is_over() && fade.weight() == 1.0 && fade.advance(-1.0) == 1.0, "{duration}");
        }
        let mut fade = Fade::new(2.0, Ease::Linear);
        fade.advance(1.0);
        assert_eq!([f32::NAN, -0.5, -9.0, f32::INFINITY].map(|dt| fade.advance(dt)), [0.5, 0.25, 0.0, 1.0]);
        let mut endless = Fade::new(f32::INFINITY, Ease::Linear);
        assert_eq!([endless.advance(1e9), endless.advance(f32::INFINITY)], [0.0, 1.0]);
    }
}
