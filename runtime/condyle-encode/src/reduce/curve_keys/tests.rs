use alloc::vec::Vec;

use super::*;
use crate::{Shell, encode};
use condyle::clip::layout::Kind;
use condyle::motion::RootMotionOptions;
use condyle::{Track, example};
use condyle_testing::Random;

fn options(budget: f32) -> EncodeOptions {
    EncodeOptions::new(budget, Shell::Balls(0.03))
}

/// Encodes a clip, and returns its keys within 1/16 of the budget.
fn there_and_back(clip: &RawClip, skeleton: &Skeleton, options: &EncodeOptions) -> (Clip<'static>, Reduced) {
    let packed = encode(clip, skeleton, options, &mut |_| ()).expect("a clip").into_clip();
    let part = EncodeOptions { root_motion: None, ..options.with_part(1.0 / 16.0) };
    let found = curve_keys(&AnyClip::compressed("back", packed.clone()), skeleton, &part).expect("keys");
    (packed, found)
}

#[test]
fn random_clips_are_within_a_part_of_their_bound() {
    let mut random = Random(23);
    for round in 0..6 {
        let skeleton = random.skeleton(12);
        let clip = random.smooth_clip(&skeleton, 200);
        for budget in [1e-2, 1e-3] {
            let (packed, found) = there_and_back(&clip, &skeleton, &options(budget));
            let case = std::format!("{round} {budget}: {:?}", found.measured);
            assert!(found.measured.error_max <= budget / 16.0, "{case}");
            assert_eq!((found.clip.name(), found.clip.start()), ("back", packed.start()), "{case}");
            assert_eq!(found.clip.end(), packed.end(), "{case}");
        }
    }
}

#[test]
fn straight_lines_keep_their_keys() {
    let mut random = Random(7);
    let skeleton = random.skeleton(2);
    let times: Vec<f32> = (0..=40).map(|frame| frame as f32 / 30.0).collect();
    // A new direction at each frame: no curve has fewer keys than frames.
    let values = times.iter().flat_map(|_| random.vector::<3>(1.0)).collect();
    let (target, interpolation) = (Target::Translation(1), Interpolation::Linear);
    let track = Track { target, interpolation, timeline: 0, values };
    let clip = RawClip::new("noise".into(), vec![times], vec![track]).expect("a clip");
    let (packed, found) = there_and_back(&clip, &skeleton, &options(1e-2));
    let view = packed.view();
    let classes: Vec<_> = (0..view.header().segment_count)
        .flat_map(|at| view.segment(at).classes().map(|placed| placed.class).collect::<Vec<_>>())
        .collect();
    let keys: usize = classes.iter().map(|class| class.intervals + 1).sum();
    assert!(classes.iter().all(|class| class.kind == Kind::Translation), "{classes:?}");
    let track = found.clip.track(target).expect("a track");
    assert_eq!(found.clip.timelines()[track.timeline].len(), keys);
}

#[test]
fn root_motion_and_free_tracks_come_back() {
    let skeleton = example::skeleton();
    let walk = example::walk();
    let times: Vec<f32> = (0..=30).map(|frame| frame as f32 / 30.0).collect();
    let lamp = Track {
        target: Target::Vector(3),
        interpolation: Interpolation::Linear,
        timeline: walk.timelines().len(),
        values: times.iter().map(|time| (5.0 * time).sin()).collect(),
    };
    let (mut timelines, mut tracks) = (walk.timelines().to_vec(), walk.tracks().to_vec());
    timelines.push(times);
    tracks.push(lamp);
    let clip = RawClip::new("walk".into(), timelines, tracks).expect("a clip");
    let motion = EncodeOptions { root_motion: Some(RootMotionOptions::default()), ..options(1e-3) };
    let (packed, found) = there_and_back(&clip, &skeleton, &motion);
    assert!(packed.has_motion() && found.clip.track(Target::Vector(3)).is_some());
    assert!(found.measured.error_max <= 1e-3 / 16.0, "{:?}", found.measured);
    let [(_, errors)] = &found.measured.tracks[..] else { panic!("{:?}", found.measured.tracks) };
    assert!(errors.iter().all(|&error| error <= motion.track_budget / 16.0), "{errors:?}");
}

#[test]
fn a_constant_has_one_key() {
    let skeleton = Random(3).skeleton(3);
    let times: Vec<f32> = (0..=60).map(|frame| frame as f32 / 30.0).collect();
    let line = |target, values| Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
    let moves = times.iter().flat_map(|time| [time.sin(), 0.0, 0.0]).collect();
    let tracks = alloc::vec![
        line(Target::Translation(0), moves),
        line(Target::Scale(1), [1.5; 3].repeat(times.len()))
    ];
    let clip = RawClip::new("constant".into(), alloc::vec![times], tracks).expect("a clip");
    let (_, found) = there_and_back(&clip, &skeleton, &options(1e-3));
    let keys = |target| found.clip.track(target).map(|track| found.clip.timelines()[track.timeline].len());
    assert_eq!(keys(Target::Scale(1)), Some(1));
    assert!(keys(Target::Translation(0)) > Some(2) && found.clip.tracks().len() == 2);
}

/// A raw clip has no curves.
#[test]
fn an_authored_clip_is_reduced() {
    let (skeleton, walk) = (example::skeleton(), example::walk());
    let found = curve_keys(&AnyClip::from(&walk), &skeleton, &options(1e-3)).expect("keys");
    let reduced = reduce(&walk, &skeleton, &options(1e-3), KeyFormat::Floats).expect("keys");
    assert_eq!(found, reduced);
}
