use super::*;
use condyle::sampling::{self, RawCursor};

/// Free rotation tracks: smooth, with alternating signs, with many revolutions, stepped, splines, and
/// constant.
#[test]
fn named_rotations_keep_the_budget_of_values() {
    let mut random = Random(35);
    let times: Vec<f32> = (0..=60).map(|frame| frame as f32 / 30.0).collect();
    let turn = |speed: f32, turns_over: bool, random: &mut Random| -> Vec<f32> {
        let axis: [f32; 3] = random.vector(1.0);
        let keys = times.iter().enumerate().map(|(at, &t)| {
            let wave = [t * speed, (2.0 * t).sin(), (3.0 * t).cos()];
            let log = core::array::from_fn(|c| f64::from(axis[c] * wave[0] + 0.4 * wave[c]));
            let side = if turns_over && at % 3 == 0 { -1.0 } else { 1.0 };
            quats::exp(log).map(|v| (side * v) as f32)
        });
        keys.flatten().collect()
    };
    for (round, track_budget) in [1e-4, 1e-3, 1e-2].into_iter().enumerate() {
        // The last one makes many revolutions: near whole revolutions, logarithms are not smooth curves.
        for speed in [0.0, 0.5, 12.0] {
            let smooth = turn(speed, true, &mut random);
            let still = smooth[..4].repeat(times.len());
            let even = turn(speed, false, &mut random);
            let even = even.as_chunks::<4>().0;
            let key = |at: usize| {
                let (before, after) = (at.saturating_sub(1), (at + 1).min(even.len() - 1));
                let tangent: [f32; 4] = core::array::from_fn(|c| (even[after][c] - even[before][c]) * 15.0);
                [tangent, even[at], tangent]
            };
            let tangents: Vec<f32> = (0..even.len()).flat_map(key).flatten().collect();
            let stepped = turn(3.0, true, &mut random);
            let tracks = vec![
                track(Target::Vector(1), Interpolation::Linear, times.clone()),
                track(Target::FreeRotation(1), Interpolation::Linear, smooth),
                track(Target::FreeRotation(2), Interpolation::Step, stepped.clone()),
                track(Target::FreeRotation(3), Interpolation::CubicSpline, tangents),
                track(Target::FreeRotation(4), Interpolation::Linear, still),
            ];
            let clip = RawClip::new("turns".into(), vec![times.clone()], tracks).expect("a clip");
            let options = EncodeOptions { track_budget, ..within(1e-3) };
            let case = format!("speed {speed}, {track_budget}");
            let encoded = check(&clip, &chain(2, link), &options, &case);
            if round > 0 && speed < 10.0 {
                // A spline of quaternions bends differently between its keys from any spline of logarithms.
                let kept = encoded.fallback.iter().filter(|target| **target != Target::FreeRotation(3));
                assert_eq!(kept.count(), 0, "{case}: {:?}", encoded.fallback);
            }
            let decoded = Clip::from_bytes(encoded.bytes()).expect("a clip");
            let (mut got, mut raw) = ([0.0; 4], [0.0; 4]);
            for (key, &seconds) in times.iter().enumerate() {
                // Step tracks are unchanged.
                let target = Target::FreeRotation(2);
                sampling::track(&decoded, target, seconds.into(), &mut got).expect("sizes agree");
                assert_eq!(got[..], stepped[4 * key..][..4], "{case} at {seconds}");
                let cursor = &mut RawCursor::default();
                assert_eq!(sampling::raw_track(&clip, target, seconds.into(), cursor, &mut raw), Ok(true));
                assert!((0..4).all(|c| (got[c] - raw[c]).abs() < 1e-6), "{case} at {seconds}");
            }
            assert_eq!(sampling::track(&decoded, Target::FreeRotation(9), 0.0, &mut got), Ok(false));
            assert!(sampling::track(&decoded, Target::FreeRotation(1), 0.0, &mut [0.0; 3]).is_err());
        }
    }
}
