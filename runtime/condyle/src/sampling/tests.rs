use std::format;
use std::vec;
use std::vec::Vec;

use super::*;
use crate::clip::curve::Curve;
use crate::clip::layout::Kind;
use crate::clip::spline::{Degree, Taps};
use crate::clip::tests::made::{MADE_SIZE, Made, Turning, made, made_turning};
use crate::clip::{Clip, Interpolation, RawClip, Target, Track};
use crate::motion::over;
use crate::play::Looping;
use crate::pose::Pose;
use crate::skeleton::Skeleton;
use crate::testing::reference;
use crate::testing::{Random, assert_close, assert_portable, tries};
use condyle_base::error::Error;
use condyle_base::math::Rigid;
use condyle_base::math::quats::{conjugate, from_rotation_vector, product, rotation_vector};
use condyle_base::simd::Dispatch;

/// Joint counts around the sizes of lanes, blocks and indices.
const JOINTS: &[usize] = if cfg!(miri) { &[17] } else { &[0, 1, 2, 15, 16, 17, 33, 128, 129, 256, 257, 513] };
const FREE_WIDTHS: &[usize] = &[5, 1, 4, 3, 7];

/// Test clips of all shapes with `joints` joints.
fn clips(joints: usize) -> Vec<(Made, Skeleton, Vec<u8>)> {
    let mut random = Random(joints as u64 + 1);
    let mut all = Vec::new();
    // The segments of a fallback track do not depend on the joint count, so only small skeletons test them.
    let lengths: &[usize] = if joints > 33 { &[0, 1, 7, 40] } else { &[0, 1, 7, 40, 40] };
    for (at, &frames) in lengths.iter().enumerate() {
        for (segment_frames, bits) in [(16, 24), (64, 10), (1, 4)] {
            let what = Made {
                joints,
                frames,
                segment_frames,
                bits,
                motion: (at + bits as usize).is_multiple_of(2),
                fallback: at % 2 == 1 || at == 4,
                in_part: at == 4,
                free_widths: if at == 2 { &[] } else { FREE_WIDTHS },
            };
            let skeleton = random.skeleton(joints);
            all.push((what, skeleton, made(&mut random, what)));
        }
    }
    all
}

#[test]
fn between_the_largest_keys_is_a_finite_number() {
    let skeleton = Random(1).skeleton(1);
    let values = vec![-3e38, 3e38, -3.4e38, 3e38, -3e38, 3.4e38];
    let track =
        Track { target: Target::Translation(0), interpolation: Interpolation::Linear, timeline: 0, values };
    let clip = RawClip::new("far".into(), vec![vec![0.0, 1.0]], vec![track]).expect("a valid clip");
    for seconds in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let mut pose = Pose::rest(&skeleton);
        raw(&clip, &skeleton, seconds, &mut RawCursor::default(), &mut pose).expect("sizes agree");
        let ends = [[-3e38, 3e38], [3e38, -3e38], [-3.4e38, 3.4e38]];
        for (got, [from, to]) in pose.get(0).translation.into_iter().zip(ends) {
            let want = from + (to - from) * seconds;
            assert!((f64::from(got) - want).abs() <= 1e32, "{seconds}: {got}, {want}");
        }
    }
}

/// Clips without key bits for the linear rotations of joints: only the root motion rotates, or no joint
/// leaves its first key.
fn clips_without_turning_joints(joints: usize) -> Vec<(Made, Skeleton, Vec<u8>)> {
    let mut random = Random(joints as u64 + 5);
    let mut all = Vec::new();
    for (turning, frames) in [(Turning::MotionOnly, 5), (Turning::InPlace, 40)] {
        let what = Made {
            joints,
            frames,
            segment_frames: 16,
            bits: 9,
            motion: turning == Turning::MotionOnly,
            fallback: false,
            in_part: false,
            free_widths: &[],
        };
        let skeleton = random.skeleton(joints);
        all.push((what, skeleton, made_turning(&mut random, what, turning)));
    }
    all
}

/// Times in and outside a clip: its ends, segment boundaries, frames, and random times.
fn moments(clip: &Clip<'_>, random: &mut Random) -> Vec<f64> {
    let (start, end) = (clip.start(), clip.end());
    let mut moments =
        vec![start, end, start - 1.0, end + 1.0, start.next_up(), end.next_down(), -1e30, 1e300, 0.0];
    for frame in 0..clip.frame_count().min(tries(20)) {
        let at = start + (end - start) * frame as f64 / clip.frame_count() as f64;
        moments.extend([at, at.next_up(), at.next_down()]);
    }
    moments.extend((0..tries(20)).map(|_| start + (end - start) * f64::from(random.range(0.0, 1.0))));
    moments
}

/// The same as [`moments`] in f32.
fn short_moments(clip: &Clip<'_>, random: &mut Random) -> Vec<f32> {
    let (start, end) = (clip.start() as f32, clip.end() as f32);
    let mut moments =
        vec![start, end, start - 1.0, end + 1.0, start.next_up(), end.next_down(), -1e30, 1e30, 0.0];
    for frame in 0..clip.frame_count().min(tries(20)) {
        let at = start + (end - start) * frame as f32 / clip.frame_count() as f32;
        moments.extend([at, at.next_up(), at.next_down()]);
    }
    moments.extend((0..tries(20)).map(|_| random.range(start, end)));
    moments
}

fn check_pose(pose: &Pose, want: &[reference::Local], case: &str) {
    for (joint, want) in want.iter().enumerate() {
        let got = pose.get(joint);
        let case = format!("{case}, joint {joint}");
        // A logarithm has a length of at most 12 and the precision of its f32 components.
        assert_close(&got.rotation, &want.rotation, 3e-6, format!("{case}, rotation"));
        assert_close(&got.translation, &want.translation, 3e-7 * MADE_SIZE, format!("{case}, translation"));
        assert_close(&got.scale, &want.scale, 3e-7 * MADE_SIZE, format!("{case}, scale"));
    }
}

#[test]
fn any_moment_is_what_the_words_of_the_format_say() {
    for &joints in JOINTS {
        for (what, skeleton, bytes) in clips(joints) {
            let clip = Clip::from_bytes(&bytes).unwrap_or_else(|error| panic!("{what:?}: {error}"));
            let mut random = Random(7);
            // A random first time, so that not all clips are tested at the same few times.
            for seconds in moments(&clip, &mut random).into_iter().skip(random.below(3)).step_by(3) {
                let want = reference::sample_clip(&bytes, &skeleton, seconds);
                for dispatch in Dispatch::all() {
                    let mut pose = Pose::identity(joints);
                    dispatch.scope(|| sample(&clip, &skeleton, seconds, &mut pose)).expect("sizes agree");
                    check_pose(&pose, &want, &format!("{what:?} at {seconds}, {dispatch}"));
                }
                let motion = (clip.motion_at(seconds), reference::clip_motion(&bytes, seconds));
                let off = |a: f64, b: f64| (a - b).abs();
                assert!(
                    (0..3).all(|c| off(motion.0.translation[c], motion.1.translation[c]) < 1e-12),
                    "{what:?}"
                );
                assert!((0..4).all(|c| off(motion.0.rotation[c], motion.1.rotation[c]) < 1e-9), "{what:?}");
                // For a rotation about a single axis, `motion_at` interpolates the angle instead of using
                // slerp.
                let all = motion_among_all(&clip, seconds);
                let case = format!("{what:?} at {seconds}: {:?}, {all:?}", motion.0);
                assert_eq!(motion.0.translation, all.translation, "{case}");
                // Two times together have the bits of each one.
                let (from, to) = (seconds - clip.start(), seconds - clip.start() + 0.04);
                let each = |since: f64| clip.motion_at(clip.start() + since);
                let want = over(each, clip.duration(), Looping::Wrap, from, to);
                assert_eq!(clip.motion_over(Looping::Wrap, from, to), want, "{case}");
                assert!((0..4).all(|c| off(motion.0.rotation[c], all.rotation[c]) < 1e-15), "{case}");
                for (target, width) in clip.free_tracks() {
                    let mut values = vec![f32::NAN; width];
                    assert_eq!(track(&clip, target, seconds, &mut values), Ok(true));
                    let want = reference::sample_clip_track(&bytes, target, seconds).expect("a free track");
                    let case = format!("{what:?} at {seconds}, {target:?}");
                    assert_close(&values, &want, 1e-7 * 30.0, case);
                }
            }
            let events: Vec<_> = (0..clip.event_count()).filter_map(|at| clip.event(at)).collect();
            let want = reference::clip_events(&bytes);
            assert!(
                events.iter().copied().eq(want.iter().map(|(s, name)| (f64::from(*s), name.as_str()))),
                "{what:?}"
            );
        }
    }
}

/// Returns the root motion from a search of all tracks, with slerp between all rotation keys.
fn motion_among_all(clip: &Clip<'_>, seconds: f64) -> Rigid {
    let place = clip.view().locate(seconds);
    let segment = &clip.view().segment(place.segment);
    let (mut turns, mut part, mut translation) = ([[0.0; 3]; 2], 0.0, [0.0; 3]);
    for placed in segment.classes().filter(|placed| placed.class.kind != Kind::Free) {
        let class = placed.class;
        let taps = Taps::at(class.degree, class.intervals, place.ratio);
        let mut bit = 0;
        for track in placed.track..placed.track + class.count {
            let at = |taps: Taps| Curve::new(segment, &placed, track, bit).sum(&taps);
            let key = |k| Taps { first: taps.first + k, count: 1, weights: [1.0, 0.0, 0.0, 0.0] };
            match (segment.index(track) == clip.joint_count(), class.kind, class.degree) {
                (false, ..) | (_, Kind::Scale | Kind::Free, _) => {}
                (_, Kind::Translation, _) => translation = at(taps),
                (_, Kind::Rotation, Degree::Linear) => {
                    (turns, part) = ([0, 1].map(|k| at(key(k))), taps.weights[1]);
                }
                (_, Kind::Rotation, _) => turns = [at(taps); 2],
            }
            if class.degree != Degree::Constant {
                bit += segment.total_width(track);
            }
        }
    }
    let [from, to] = turns.map(|half| from_rotation_vector(half.map(|v| 2.0 * v)));
    let way = rotation_vector(product(conjugate(from), to)).map(|v| v * part);
    Rigid { rotation: product(from, from_rotation_vector(way)), translation }
}

/// The results do not depend on the order of times, nor on which other joints are sampled.
#[test]
fn all_ways_to_sample_agree_to_the_bit() {
    for &joints in JOINTS.iter().filter(|&&joints| joints > 0) {
        for (what, skeleton, bytes) in clips(joints).into_iter().chain(clips_without_turning_joints(joints)) {
            let clip = &Clip::from_bytes(&bytes).expect("a clip");
            let mut random = Random(9);
            let mut times: Vec<f64> =
                moments(clip, &mut random).into_iter().skip(random.below(4)).step_by(4).collect();
            for dispatch in Dispatch::all() {
                let case = format!("{what:?}, {dispatch}");
                dispatch.scope(|| {
                    let at = |seconds| {
                        let mut pose = Pose::identity(joints);
                        sample(clip, &skeleton, seconds, &mut pose).expect("sizes agree");
                        pose
                    };
                    let poses: Vec<Pose> = times.iter().map(|&t| at(t)).collect();
                    for (&seconds, pose) in times.iter().zip(&poses).step_by(5) {
                        for joint in (0..joints).step_by(joints.div_ceil(9)).chain([joints - 1]) {
                            let one = crate::sampling::joint(clip, &skeleton, seconds, joint as u16);
                            assert_eq!(one, Ok(pose.get(joint)), "{case} at {seconds}, joint {joint}");
                        }
                        // A random subset of all joints, or of only the first, middle or last third.
                        let (share, part) = (random.below(5), random.below(6));
                        let is_far = |joint: usize| part < 3 && joint * 3 / joints != part;
                        let mask: Vec<bool> =
                            (0..joints).map(|joint| random.below(4) < share && !is_far(joint)).collect();
                        let mut masked = Pose::identity(joints);
                        partial(clip, &skeleton, seconds, &mask, &mut masked).expect("sizes agree");
                        for (joint, &wanted) in mask.iter().enumerate() {
                            let source = if wanted { pose } else { skeleton.rest() };
                            assert_eq!(
                                masked.get(joint),
                                source.get(joint),
                                "{case} at {seconds}, joint {joint}"
                            );
                        }
                    }
                    // Backward playback.
                    times.reverse();
                    assert!(times.iter().map(|&t| at(t)).eq(poses.into_iter().rev()), "{case}: backward");
                });
            }
        }
    }
}

#[test]
fn the_portable_mode_gives_the_same_bits_on_every_instruction_set_and_platform() {
    assert_portable(0x5385_2232_bca4_d4c5, |hash| {
        for joints in [1, 15, 17, 256] {
            for (what, skeleton, bytes) in clips(joints) {
                if what.in_part {
                    continue;
                }
                let clip = Clip::from_bytes(&bytes).expect("a clip");
                let mut pose = Pose::identity(joints);
                for seconds in short_moments(&clip, &mut Random(3)).into_iter().map(f64::from) {
                    sample(&clip, &skeleton, seconds, &mut pose).expect("sizes agree");
                    for t in pose.transforms() {
                        hash.add(t.rotation.iter().chain(&t.translation).chain(&t.scale));
                    }
                    for (target, width) in clip.free_tracks() {
                        let mut values = vec![0.0; width];
                        track(&clip, target, seconds, &mut values).expect("sizes agree");
                        hash.add(&values);
                    }
                }
            }
        }
    });
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let (_, skeleton, bytes) = clips(17).remove(4);
    let clip = Clip::from_bytes(&bytes).expect("a clip");
    let other = Random(1).skeleton(16);
    let untouched = Pose::identity(17);
    let mut pose = untouched.clone();
    for seconds in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let refused = Err(Error::NotFinite { what: "seconds", at: 0 });
        assert_eq!(sample(&clip, &skeleton, seconds, &mut pose), refused);
        assert_eq!(partial(&clip, &skeleton, seconds, &[true; 17], &mut pose), refused);
        assert!(joint(&clip, &skeleton, seconds, 3).is_err());
        assert!(track(&clip, Target::Weights(0), seconds, &mut [0.0; 5]).is_err());
    }
    let length = |found, needed| move |error: Error| matches!(error, Error::Length { found: f, needed: n, .. } if (f, n) == (found, needed));
    assert!(sample(&clip, &other, 0.0, &mut pose).is_err_and(length(16, 17)));
    assert!(sample(&clip, &skeleton, 0.0, &mut Pose::identity(18)).is_err_and(length(18, 17)));
    assert!(partial(&clip, &skeleton, 0.0, &[true; 16], &mut pose).is_err_and(length(16, 17)));
    assert_eq!(
        joint(&clip, &skeleton, 0.0, 17),
        Err(Error::Index { what: "joint", at: 0, found: 17, count: 17 })
    );
    assert!(track(&clip, Target::Weights(0), 0.0, &mut [0.0; 4]).is_err_and(length(4, 5)));
    let mut values = [7.0; 2];
    assert_eq!(track(&clip, Target::Weights(99), 0.0, &mut values), Ok(false));
    assert_eq!((pose, values), (untouched, [7.0; 2]));
}
