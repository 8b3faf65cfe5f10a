//! Tests of [`difference_clip`].

use super::*;
use crate::clip::keys::{Span, component_at};
use crate::clip::{Interpolation, RawClip, Target, Track};
use crate::sampling::{self, RawCursor};
use proptest::prelude::*;
use std::vec;

fn sampled(clip: &RawClip, skeleton: &Skeleton, seconds: f64) -> Pose {
    let mut pose = Pose::identity(skeleton.joint_count());
    sampling::raw(clip, skeleton, seconds, &mut RawCursor::default(), &mut pose).expect("sizes agree");
    pose
}

/// Returns the length of a joint's quaternion before normalisation. Rounding errors are relative to it.
fn length(clip: &RawClip, joint: usize, seconds: f64) -> f64 {
    let target = Target::Rotation(joint as u16);
    let Ok(at) = clip.tracks().binary_search_by_key(&target, |t| t.target) else { return 1.0 };
    let track = &clip.tracks()[at];
    let span = Span::find(&clip.timelines()[track.timeline], seconds, 0);
    let square = |c| component_at(track, span, 4, c).powi(2);
    let length = (0..4).map(square).sum::<f64>().sqrt();
    if track.interpolation == Interpolation::CubicSpline { length.min(1.0) } else { 1.0 }
}

/// Checks every joint at the keys, between them and outside.
fn check(clip: &RawClip, skeleton: &Skeleton, reference: &Pose, case: &str) {
    let made = difference_clip(clip, skeleton, reference).expect("a difference");
    assert_eq!((made.name(), made.start(), made.end()), (clip.name(), clip.start(), clip.end()), "{case}");
    let additive = skeleton.additive();
    let keys = clip.timelines().iter().flatten().map(|&key| f64::from(key));
    let between =
        clip.timelines().iter().flat_map(|times| times.windows(2).map(|w| f64::from(w[0].midpoint(w[1]))));
    for seconds in keys.chain(between).chain([clip.start() - 1.0, clip.end() + 1.0]) {
        let got = sampled(&made, &additive, seconds);
        let pose = sampled(clip, skeleton, seconds);
        let want = reference::difference(&pose, reference);
        for (joint, (got, want)) in got.transforms().zip(want).enumerate() {
            let case = format_args!("{case}, joint {joint} at {seconds} s");
            let near = got.rotation.iter().zip(want.rotation).map(|(a, b)| f64::from(*a) * b).sum::<f64>();
            let bound = 1e-6 / length(clip, joint, seconds);
            assert_close(&got.rotation, &want.rotation.map(|v| v * near.signum()), bound, case);
            let (pose, from) = (pose.get(joint), reference.get(joint));
            for c in 0..3 {
                // A curve passes through values as large as its tangents.
                let size = f64::from(2.0 + pose.translation[c].abs() + from.translation[c].abs());
                assert_close(&got.translation[c..=c], &want.translation[c..=c], 2e-7 * size, case);
                let size = (2.0 + f64::from(pose.scale[c].abs())) / f64::from(from.scale[c].abs());
                assert_close(&got.scale[c..=c], &want.scale[c..=c], 4e-7 * size, case);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 48 }, failure_persistence: None, ..Default::default()
    })]

    /// All kinds of tracks, joints without tracks, and any reference.
    #[test]
    fn a_difference_clip_is_the_difference_at_every_moment(
        seed in 0_u64..1 << 40, joints in 1_usize..30, keys in 1_usize..9,
    ) {
        let mut random = Random(seed);
        let (skeleton, clip) = (random.skeleton(joints), random.clip(joints, keys));
        let reference = random.pose(joints);
        check(&clip, &skeleton, &reference, "any pose");
        check(&clip, &skeleton, skeleton.rest(), "at rest");
        check(&clip, &skeleton, &sampled(&clip, &skeleton, clip.start()), "a frame of the clip");
    }
}

fn track(target: Target, interpolation: Interpolation, values: &[f32]) -> Track {
    Track { target, interpolation, timeline: 0, values: values.to_vec() }
}

/// Tracks equal to the reference are dropped, and the clip keeps its start and end.
#[test]
fn what_differs_by_nothing_is_left_out() {
    let mut random = Random(60);
    let skeleton = random.skeleton(3);
    let rest = skeleton.rest().get(1);
    let rotation = [rest.rotation, rest.rotation].concat();
    let spline = [[0.0; 3], rest.scale, [0.0; 3]].concat();
    let tracks = vec![
        track(Target::Rotation(1), Interpolation::Linear, &rotation),
        track(Target::Scale(1), Interpolation::CubicSpline, &[spline.clone(), spline].concat()),
        track(Target::Weights(4), Interpolation::Step, &[0.5, 0.25]),
    ];
    let clip = |tracks| RawClip::new("idle".into(), vec![vec![-1.0, 2.5]], tracks).expect("valid");
    let of = |clip: &RawClip, reference| difference_clip(clip, &skeleton, reference).expect("a difference");
    let whole = clip(tracks.clone());
    assert_eq!(of(&whole, skeleton.rest()).tracks(), &tracks[2..]);
    let still = clip(tracks[..2].to_vec());
    let made = of(&still, skeleton.rest());
    assert_eq!((made.tracks().len(), made.start(), made.end()), (1, -1.0, 2.5));
    for t in sampled(&made, &skeleton.additive(), 0.5).transforms() {
        assert_eq!((&t.rotation[..3], t.translation, t.scale), (&[0.0; 3][..], [0.0; 3], [1.0; 3]));
        assert!((t.rotation[3] - 1.0).abs() < 2e-7, "{}", t.rotation[3]);
    }
    // With another reference, each joint differs, by one key if no track drives it.
    assert_eq!(of(&whole, &random.pose(3)).tracks().len(), 10);
}

#[test]
fn a_scale_of_0_in_the_reference_has_no_ratio_in_a_clip_either() {
    let skeleton = Random(61).skeleton(1);
    let mut t = skeleton.rest().get(0);
    t.scale = [0.0, 1e-39, 2.0];
    let reference = Pose::from_transforms(&[t]);
    for (kind, values) in [
        (Interpolation::Linear, &[1.0, 2.0, 3.0][..]),
        (Interpolation::CubicSpline, &[9.0, 9.0, 9.0, 1.0, 2.0, 3.0, 7.0, 7.0, 7.0]),
    ] {
        let clip = RawClip::new("grow".into(), vec![vec![0.0]], vec![track(Target::Scale(0), kind, values)])
            .expect("valid");
        let made = difference_clip(&clip, &skeleton, &reference).expect("a difference");
        assert_eq!(sampled(&made, &skeleton.additive(), 0.0).get(0).scale, [1.0, 1.0, 1.5], "{kind:?}");
    }
}

#[test]
fn clips_and_references_that_do_not_fit_are_refused() {
    let skeleton = Random(63).skeleton(4);
    let clip = Random(64).clip(4, 3);
    let refused = difference_clip(&clip, &skeleton, &Pose::identity(3));
    assert_eq!(refused, Err(Error::Length { what: "reference", found: 3, needed: 4 }));
    let refused = difference_clip(&Random(64).clip(5, 3), &skeleton, skeleton.rest());
    assert!(matches!(refused, Err(Error::Index { what: "tracks", found: 4, count: 4, .. })), "{refused:?}");
    let with = |t: Transform| {
        let mut reference = skeleton.rest().clone();
        reference.set(2, &t);
        difference_clip(&clip, &skeleton, &reference)
    };
    let rest = skeleton.rest().get(2);
    let refused = with(Transform { scale: [1.0, f32::NAN, 1.0], ..rest });
    assert_eq!(refused, Err(Error::NotFinite { what: "reference", at: 2 }));
    let refused = with(Transform { rotation: [0.0; 4], ..rest });
    assert_eq!(refused, Err(Error::NotUnit { what: "reference", at: 2 }));
    let far = [track(Target::Translation(2), Interpolation::Step, &[3e38; 3])];
    let far = RawClip::new("far".into(), vec![vec![0.0]], far.to_vec()).expect("valid");
    let mut reference = skeleton.rest().clone();
    reference.set(2, &Transform { translation: [-3e38; 3], ..rest });
    let refused = difference_clip(&far, &skeleton, &reference);
    assert_eq!(refused, Err(Error::NotFinite { what: "tracks", at: 0 }));
    // The reported index is the index in the input clip, although the track before it is dropped.
    let still = track(Target::Rotation(2), Interpolation::Step, &reference.get(2).rotation);
    let far = [vec![still], far.tracks().to_vec()].concat();
    let far = RawClip::new("far".into(), vec![vec![0.0]], far).expect("valid");
    let refused = difference_clip(&far, &skeleton, &reference);
    assert_eq!(refused, Err(Error::NotFinite { what: "tracks", at: 1 }));
}
