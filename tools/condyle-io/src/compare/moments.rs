//! The moments at which two clips are compared.

use crate::compare::clip::Clip;
use crate::compare::error::Error;

/// Number of parts into which the time between two keys is divided.
const BETWEEN: u32 = 4;
/// Keys closer than this, in seconds, are assumed to be the same key with different rounding. No moment is
/// added between them.
const SAME_KEY: f64 = 1e-4;
/// Maximum number of moments; more are assumed to be a mistake.
const MAX_MOMENTS: usize = 1_000_000;

/// Returns the moments at which two clips are compared, in seconds, rounded to f32: all keys of both, and
/// three moments between adjacent keys. With `fps`, returns that number of moments per second.
///
/// # Errors
/// [`Error::Fps`] if `fps` is not above 0, [`Error::TooManyMoments`] above a million moments.
pub fn moments(a: &Clip<'_>, b: &Clip<'_>, fps: Option<f64>) -> Result<Vec<f64>, Error> {
    if let Some(found) = fps.filter(|fps| fps.is_nan() || *fps <= 0.0) {
        return Err(Error::Fps { found });
    }
    let (start, end) = (a.start().min(b.start()), a.end().max(b.end()));
    let keys = || a.keys().into_iter().chain(b.keys()).collect();
    let mut keys: Vec<f64> = if fps.is_none() { keys() } else { Vec::new() };
    let count = match fps {
        Some(fps) => (end - start) * fps,
        None => f64::from(BETWEEN) * keys.len() as f64,
    };
    if count > MAX_MOMENTS as f64 {
        return Err(Error::TooManyMoments { clip: a.name().into(), limit: MAX_MOMENTS });
    }
    if let Some(fps) = fps {
        let mut times: Vec<f64> = (0..=count as u32).map(|i| start + f64::from(i) / fps).collect();
        // Because of rounding, the last moment may be before the end or after it.
        times.retain(|&t| t < end);
        times.push(end);
        return Ok(as_key_times(times));
    }
    keys.extend([start, end]);
    keys.sort_by(f64::total_cmp);
    keys.dedup();
    let mut times = Vec::with_capacity(keys.len() * BETWEEN as usize);
    for (at, &key) in keys.iter().enumerate() {
        times.push(key);
        if let Some(&next) = keys.get(at + 1).filter(|&&next| next - key > SAME_KEY) {
            let part = |k: u32| key + (next - key) * (f64::from(k) / f64::from(BETWEEN));
            times.extend((1..BETWEEN).map(part));
        }
    }
    Ok(as_key_times(times))
}

/// Rounds the moments to f32, the precision of key times. A jump, or the step between two segments of a
/// compressed clip, lies between two adjacent f32 times, so no rounded moment falls into it.
fn as_key_times(mut times: Vec<f64>) -> Vec<f64> {
    times.iter_mut().for_each(|seconds| *seconds = f64::from(*seconds as f32));
    times.dedup();
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle::{Interpolation, RawClip, Target, Track};

    /// Returns a clip with these keys.
    fn clip(keys: &[f32]) -> RawClip {
        let track = Track {
            target: Target::Translation(0),
            interpolation: Interpolation::Linear,
            timeline: 0,
            values: vec![0.0; 3 * keys.len()],
        };
        let has_keys = !keys.is_empty();
        let lists = has_keys.then(|| keys.to_vec()).into_iter().collect();
        RawClip::new("clip".into(), lists, has_keys.then_some(track).into_iter().collect()).expect("rising")
    }

    fn moments(a: &[f32], b: &[f32], fps: Option<f64>) -> Result<Vec<f64>, Error> {
        let [a, b] = [a, b].map(clip);
        super::moments(&Clip::new(&a), &Clip::new(&b), fps)
    }

    #[test]
    fn all_keys_of_both_and_moments_between() {
        let times = moments(&[0.0, 1.0], &[0.5, 1.00001, 2.0], None).expect("few");
        assert_eq!(times[..5], [0.0, 0.125, 0.25, 0.375, 0.5]);
        let near = f64::from(1.00001_f32);
        assert_eq!(times[8..11], [1.0, near, near + (2.0 - near) / 4.0]);
        assert_eq!((times.len(), times[times.len() - 1]), (14, 2.0));
        assert_eq!(moments(&[], &[], None).expect("few"), [0.0]);
    }

    #[test]
    fn even_moments_begin_and_end_with_the_clips() {
        let (a, b) = (&[0.0, 1.0][..], &[0.5, 1.1][..]);
        assert_eq!(moments(a, b, Some(4.0)).expect("few"), [0.0, 0.25, 0.5, 0.75, 1.0, f64::from(1.1_f32)]);
        assert_eq!(moments(a, a, Some(4.0)).expect("few"), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(moments(&[], &[], Some(4.0)).expect("few"), [0.0]);
        let limit = Error::TooManyMoments { clip: "clip".into(), limit: MAX_MOMENTS };
        assert_eq!(moments(&[0.0, 1e9], b, Some(1000.0)), Err(limit));
    }

    #[test]
    fn moments_a_second_are_a_number_above_0() {
        for fps in [0.0, -1.0, f64::NAN] {
            assert!(matches!(moments(&[0.0, 1.0], &[], Some(fps)), Err(Error::Fps { .. })), "{fps}");
        }
        assert!(moments(&[0.0, 1.0], &[], Some(f64::INFINITY)).is_err());
    }
}
