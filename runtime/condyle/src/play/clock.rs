//! Maps an unbounded clock to a moment of a clip.
//!
//! The remainder is exact, so a later clock never has an earlier moment. The clock stops at 2^50 loops, so
//! that the error of the quotient is below one half and it rounds to the correct integer.

use condyle_base::error::Error;

/// Behaviour of a clip when the clock is outside of it.
///
/// ```
/// use condyle::play::Moment;
/// use condyle::Looping;
///
/// // A clip of two seconds, half a second before its first loop and half a second into its third.
/// assert_eq!(Looping::Wrap.moment(-0.5, 2.0)?, Moment { loops: -1, seconds: 1.5 });
/// assert_eq!(Looping::Wrap.moment(4.5, 2.0)?, Moment { loops: 2, seconds: 0.5 });
/// assert_eq!(Looping::Clamp.moment(4.5, 2.0)?, Moment { loops: 0, seconds: 2.0 });
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Looping {
    /// Before the start, the clip holds its first pose; after the end, its last pose.
    #[default]
    Clamp,
    /// The clip repeats forever, forward and backward.
    Wrap,
}

/// A time in a clip, with the number of loops before it: the meaning of one value of the clock.
///
/// Moments are ordered by loops, then seconds. A later clock never has an earlier moment.
///
/// ```
/// let moment = condyle::Looping::Wrap.moment(7.25, 2.0)?;
/// assert_eq!((moment.loops, moment.seconds), (3, 1.25));
/// assert_eq!(moment.clock(2.0), 7.25);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Moment {
    /// Whole loops since clock 0: negative before, always 0 for [`Looping::Clamp`]. At most
    /// [`MAX_LOOPS`](Self::MAX_LOOPS) in either direction.
    pub loops: i64,
    /// Seconds since the clip's start, from 0 to its duration. Key times may start at another value than 0:
    /// [`Clip::moment`](crate::Clip::moment) and [`RawClip::moment`](crate::RawClip::moment) add the start.
    pub seconds: f64,
}

impl Moment {
    /// Maximum number of loops. Beyond it, the clock stays at the start of the last loop. A clip of one
    /// millisecond reaches it after 35,000 years.
    pub const MAX_LOOPS: i64 = 1 << 50;

    /// Returns the clock value of this moment, except for rounding.
    #[must_use]
    pub fn clock(&self, duration: f64) -> f64 {
        self.loops as f64 * duration + self.seconds
    }
}

impl Looping {
    /// Returns the moment of a clip of `duration` seconds at `seconds` of a clock. The clock has any finite
    /// value and is 0 at the first start of the clip.
    ///
    /// With [`Looping::Wrap`], the end of a loop and the start of the next one are the same time. The result
    /// is the start, so `Moment::seconds` is less than `duration`. A clip with a duration of 0 has no loops.
    ///
    /// The remainder is exact; for a negative clock it is rounded once.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `seconds` or `duration` is NaN or infinite, [`Error::OutOfRange`] for a
    /// negative duration.
    pub fn moment(self, seconds: f64, duration: f64) -> Result<Moment, Error> {
        check_clock(seconds)?;
        check_duration(duration)?;
        Ok(match self {
            Self::Wrap if duration > 0.0 => wrapped(seconds, duration),
            // `clamp` would keep the sign of a negative zero.
            _ if seconds <= 0.0 => Moment { loops: 0, seconds: 0.0 },
            _ => Moment { loops: 0, seconds: seconds.min(duration) },
        })
    }
}

/// Returns `Ok` if a clip can have this duration.
pub(crate) fn check_duration(duration: f64) -> Result<(), Error> {
    if !duration.is_finite() {
        return Err(Error::NotFinite { what: "duration", at: 0 });
    }
    if duration < 0.0 {
        return Err(Error::OutOfRange { what: "duration", at: 0, needed: "at least 0" });
    }
    Ok(())
}

/// Returns `Ok` for a finite value of a clock.
pub(crate) fn check_clock(seconds: f64) -> Result<(), Error> {
    if seconds.is_finite() { Ok(()) } else { Err(Error::NotFinite { what: "seconds", at: 0 }) }
}

/// The product of an f32 and at most this many loops is exact in f64: 24 bits plus 29 bits.
const EXACT_LOOPS: f64 = (1_u64 << 29) as f64;

/// [`Looping::Wrap`] for a finite clock and a duration greater than 0.
pub(crate) fn wrapped(clock: f64, duration: f64) -> Moment {
    // A product with a power of two is exact. Below this limit, the error of the quotient below is less than
    // 0.5.
    let most = duration * Moment::MAX_LOOPS as f64;
    if clock.abs() >= most {
        let loops = if clock > 0.0 { Moment::MAX_LOOPS } else { -Moment::MAX_LOOPS };
        return Moment { loops, seconds: 0.0 };
    }
    if clock > 0.0 && clock < duration * EXACT_LOOPS && f64::from(duration as f32) == duration {
        // The product of an f32 and this many loops is exact, and so is the difference. The quotient is
        // rounded, so `loops` can be one too large.
        let loops = (clock / duration) as i64;
        let rest = clock - loops as f64 * duration;
        let (loops, seconds) = if rest < 0.0 { (loops - 1, rest + duration) } else { (loops, rest) };
        return Moment { loops, seconds };
    }
    let rest = clock % duration;
    let quotient = (clock - rest) / duration;
    let loops = (quotient + if quotient < 0.0 { -0.5 } else { 0.5 }) as i64;
    if rest > 0.0 {
        return Moment { loops, seconds: rest };
    }
    let seconds = rest + duration;
    // `rest` is 0, or so close to 0 that the sum rounds to the end of the loop.
    if seconds < duration { Moment { loops: loops - 1, seconds } } else { Moment { loops, seconds: 0.0 } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_left_of_a_clock_is_exact() {
        for (at, duration) in
            [0.1, 0.7, 1.0 / 3.0, 2.9, 1234.567, 1e-30].map(|d: f32| f64::from(d)).into_iter().enumerate()
        {
            for loops in
                [1.0, 2.0, 3.0, 1e3 + 1.0, 1e6 + 3.0, EXACT_LOOPS - 1.0, EXACT_LOOPS, EXACT_LOOPS + 1.0]
            {
                let end: f64 = loops * duration;
                for clock in [end.next_down(), end, end.next_up(), end + duration * 0.3 * at as f64] {
                    let (moment, rest) = (wrapped(clock, duration), clock % duration);
                    assert_eq!(moment.seconds.to_bits(), rest.to_bits(), "{clock} of {duration}");
                    assert_eq!(
                        moment.loops,
                        ((clock - rest) / duration).round() as i64,
                        "{clock} of {duration}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_end_of_a_loop_is_the_start_of_the_next() {
        let d = f64::from(0.7_f32);
        let wrap = |seconds| Looping::Wrap.moment(seconds, d).map(|m| (m.loops, m.seconds));
        for loops in [-3, -1, 0, 1, 2, 1000] {
            assert_eq!(wrap(loops as f64 * d), Ok((loops, 0.0)), "{loops}");
        }
        assert_eq!(wrap(d.next_down()), Ok((0, d.next_down())));
        assert_eq!(wrap(-1e-300), Ok((0, 0.0)));
        assert_eq!(wrap(-0.0).map(|m| m.1.is_sign_positive()), Ok(true));
        assert_eq!(wrap(-d).map(|m| m.1.is_sign_positive()), Ok(true));
    }

    #[test]
    fn a_clamped_clock_stays_in_the_clip() {
        for (seconds, want) in [(-1e300, 0.0), (-0.0, 0.0), (0.5, 0.5), (2.0, 2.0), (1e300, 2.0)] {
            let moment = Looping::Clamp.moment(seconds, 2.0);
            assert_eq!(moment, Ok(Moment { loops: 0, seconds: want }), "{seconds}");
            assert!(moment.is_ok_and(|m| m.seconds.is_sign_positive()), "{seconds}");
        }
    }

    #[test]
    fn a_clip_of_no_length_has_one_moment() {
        for looping in [Looping::Clamp, Looping::Wrap] {
            for seconds in [-1e300, -1.0, 0.0, 1.0, 1e300] {
                assert_eq!(looping.moment(seconds, 0.0), Ok(Moment::default()), "{looping:?}, {seconds}");
            }
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for looping in [Looping::Clamp, Looping::Wrap] {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let refused = looping.moment(bad, 1.0);
                assert_eq!(refused, Err(Error::NotFinite { what: "seconds", at: 0 }), "{looping:?}");
                let refused = looping.moment(1.0, bad);
                assert_eq!(refused, Err(Error::NotFinite { what: "duration", at: 0 }), "{looping:?}");
            }
            assert!(matches!(looping.moment(1.0, -1.0), Err(Error::OutOfRange { .. })), "{looping:?}");
        }
    }

    #[test]
    fn a_clock_beyond_all_loops_stands_still() {
        for (clock, duration) in [(1e300, 1.0), (f64::MAX, f32::MAX), (1.0, 1e-44), (f64::MAX, 1e-45)] {
            let [after, before] = [clock, -clock]
                .map(|c| Looping::Wrap.moment(c, duration.into()).map(|m| (m.loops, m.seconds)));
            assert_eq!(after, Ok((Moment::MAX_LOOPS, 0.0)), "{clock}, {duration}");
            assert_eq!(before, Ok((-Moment::MAX_LOOPS, 0.0)), "{clock}, {duration}");
        }
        // One second before that limit.
        let clock = Moment::MAX_LOOPS as f64 - 1.0;
        let last = Looping::Wrap.moment(clock, 1.0);
        assert_eq!(last, Ok(Moment { loops: Moment::MAX_LOOPS - 1, seconds: 0.0 }));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 4096 }, failure_persistence: None, ..Default::default() })]

        /// Integer multiples of one unit, so the division is exact.
        #[test]
        fn the_moment_is_the_remainder(clock in any::<i64>(), shift in 11_u32..63, ticks in 1_i64..1 << 24) {
            let (clock, unit) = (clock >> shift, f64::from_bits((1023 - 20) << 52));
            let moment = Looping::Wrap.moment(clock as f64 * unit, ticks as f64 * unit);
            let want = Moment { loops: clock.div_euclid(ticks), seconds: clock.rem_euclid(ticks) as f64 * unit };
            prop_assert_eq!(moment, Ok(want));
        }

        /// Any two floats.
        #[test]
        fn a_later_clock_never_has_an_earlier_moment(
            a in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, step in 0_u64..4,
            b in prop::num::f64::NORMAL, duration in prop::num::f32::POSITIVE | prop::num::f32::SUBNORMAL, mode in 0..3,
        ) {
            let (duration, a) = (duration.abs(), if mode == 2 { a % (1e6 * f64::from(duration)) } else { a });
            // Any distance, a few ULP, or within a few loops.
            let b = match mode {
                0 => b,
                1 => f64::from_bits(a.to_bits() + step),
                _ => a + b % (3.0 * f64::from(duration)),
            };
            prop_assume!(a.is_finite() && b.is_finite() && duration.is_finite() && duration > 0.0);
            for looping in [Looping::Clamp, Looping::Wrap] {
                let (early, late) = if a < b { (a, b) } else { (b, a) };
                let [early, late] = [early, late].map(|t| looping.moment(t, duration.into()).expect("finite"));
                prop_assert!(early <= late, "{:?}: {:?} {:?}", looping, early, late);
                for moment in [early, late] {
                    prop_assert!((0.0..=f64::from(duration)).contains(&moment.seconds));
                    prop_assert!(looping == Looping::Clamp || moment.seconds < f64::from(duration));
                }
                let whole = a.abs() / f64::from(duration);
                if looping == Looping::Wrap && whole < 1e15 {
                    let clock = looping.moment(a, duration.into()).expect("finite").clock(duration.into());
                    let apart = (clock - a).abs();
                    prop_assert!(apart <= 4e-16 * a.abs().max(f64::from(duration)), "{} is not {}", clock, a);
                }
            }
        }
    }
}
