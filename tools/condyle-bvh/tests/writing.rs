//! Files are read back with the same content after writing.

mod common;

use common::{make, posed};
use condyle::sampling::{self, RawCursor};
use condyle::{Interpolation, Joint, Pose, RawClip, Skeleton, Target, Track, Transform};
use condyle_bvh::{Bvh, ImportOptions, PositionChannels, RotationOrder, WriteOptions, write};
use condyle_testing::{Random, cases};
use proptest::prelude::*;

const ORDERS: [RotationOrder; 6] = [
    RotationOrder::XYZ,
    RotationOrder::XZY,
    RotationOrder::YXZ,
    RotationOrder::YZX,
    RotationOrder::ZXY,
    RotationOrder::ZYX,
];

fn read(text: &str) -> Bvh {
    let bvh = Bvh::from_slice("back", text.as_bytes()).unwrap_or_else(|refused| panic!("{refused}\n{text}"));
    assert_eq!(bvh.problems(), [], "{text}");
    bvh
}

fn import(bvh: &Bvh) -> (Skeleton, RawClip) {
    let options = ImportOptions::default();
    (bvh.skeleton(&options).unwrap(), bvh.clip(&options).unwrap())
}

fn unit(random: &mut Random) -> [f32; 4] {
    let q: [f64; 4] = std::array::from_fn(|_| random.range_f64(-1.0, 1.0));
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-3);
    if length < 0.1 { [0.0, 0.0, 0.0, 1.0] } else { q.map(|v| (v / length) as f32) }
}

fn turning(joint: u16, values: Vec<f32>) -> Track {
    Track { target: Target::Rotation(joint), interpolation: Interpolation::Linear, timeline: 0, values }
}

/// Returns joints with random rotations, one of which has a scale.
fn clip(random: &mut Random, joints: usize, frames: usize, scale: f32) -> (Skeleton, RawClip) {
    let joint = |at: usize, random: &mut Random| {
        let translation = std::array::from_fn(|_| random.range_f64(-1.0, 1.0) as f32);
        let scale = if at == 1 { [scale; 3] } else { [1.0; 3] };
        let rest = Transform { translation, rotation: unit(random), scale };
        Joint::new(format!("joint {at}"), (at > 0).then(|| random.below(at) as u16), rest)
    };
    let skeleton = Skeleton::new((0..joints).map(|at| joint(at, random)).collect::<Vec<_>>()).unwrap();
    let turns = |random: &mut Random| (0..frames).flat_map(|_| unit(random)).collect();
    let mut tracks: Vec<Track> = (0..joints).map(|joint| turning(joint as u16, turns(random))).collect();
    let values = (0..3 * frames).map(|_| random.range_f64(-2.0, 2.0) as f32).collect();
    let target = Target::Translation(random.below(joints) as u16);
    tracks.push(Track { target, interpolation: Interpolation::Linear, timeline: 0, values });
    let times = (0..frames).map(|frame| frame as f32 / 32.0).collect();
    (skeleton, RawClip::new("random".into(), vec![times], tracks).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    /// Tests random rotations, moving joints, and a scale. Rotations are within 1e-6, and the errors of bones
    /// add up along the chain.
    #[test]
    fn motion_is_read_back(seed: u64, joints in 1..9_usize, frames in 1..5_usize, order in 0..6_usize, scale in 0.1..10.0_f32) {
        let (skeleton, clip) = clip(&mut Random(seed), joints, frames, scale);
        let mut options = WriteOptions::new(32.0);
        options.order = ORDERS[order];
        let text = write(&skeleton, &clip, &options).unwrap();
        let bvh = read(&text);
        prop_assert_eq!((bvh.frame_count(), bvh.frame_rate()), (frames, 32.0));
        let (back, again) = import(&bvh);
        for frame in 0..frames {
            let seconds = frame as f32 / 32.0;
            let (want, got) = (posed(&skeleton, &clip, seconds), posed(&back, &again, seconds));
            for (joint, want) in want.iter().enumerate() {
                let there = &got[usize::from(back.joint_by_name(&skeleton.names()[joint]).unwrap())];
                let place = |m: &condyle::Affine| m.rows.map(|row| row[3]);
                let far = place(want).iter().zip(place(there)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                prop_assert!(far < 2e-5 * scale.max(1.0), "frame {}, joint {} is {} off", frame, joint, far);
            }
        }
    }
}

/// Tests rotations alone, joint by joint.
#[test]
fn rotations_are_read_back_within_what_is_stated() {
    let mut random = Random(11);
    let mut worst = 0.0_f64;
    for _ in 0..cases(100) {
        let (skeleton, clip) = clip(&mut random, 2, 8, 1.0);
        for order in ORDERS {
            let mut options = WriteOptions::new(32.0);
            options.order = order;
            let (_, again) = import(&read(&write(&skeleton, &clip, &options).unwrap()));
            let keys = |clip: &RawClip| {
                let track = |track: &&Track| track.target == Target::Rotation(1);
                clip.tracks().iter().find(track).unwrap().values.clone()
            };
            for (a, b) in keys(&clip).as_chunks::<4>().0.iter().zip(keys(&again).as_chunks::<4>().0) {
                // The sine of half the angle between them.
                let [ax, ay, az, aw] = a.map(f64::from);
                let [bx, by, bz, bw] = b.map(f64::from);
                let v = [
                    aw * bx - ax * bw - ay * bz + az * by,
                    aw * by + ax * bz - ay * bw - az * bx,
                    aw * bz - ax * by + ay * bx - az * bw,
                ];
                worst = worst.max(2.0 * v.iter().map(|c| c * c).sum::<f64>().sqrt());
            }
        }
    }
    println!("{worst:e}");
    assert!(worst < 1e-6, "{worst}");
}

/// Tests that no angle jumps when a joint rotates through the singularity of each order, with f32 noise in
/// its quaternions.
#[test]
fn angles_go_on_through_the_singular_place() {
    let skeleton = Skeleton::new([Joint::new("arm", None, Transform::IDENTITY)]).unwrap();
    for order in ORDERS {
        let axis = order.axes()[1] as usize;
        for sign in [1.0, -1.0] {
            for step in [1.0_f32, 0.37, 10.0] {
                let turn = |frame: usize| {
                    let (s, c) = condyle::math::sin_cos((0.5 * sign * step * frame as f32).to_radians());
                    let mut q = [0.0, 0.0, 0.0, c];
                    q[axis] = s;
                    q
                };
                let frames = (200.0 / step) as usize;
                let times = (0..frames).map(|frame| frame as f32).collect();
                let track = turning(0, (0..frames).flat_map(turn).collect());
                let clip = RawClip::new("turn".into(), vec![times], vec![track]).unwrap();
                let mut options = WriteOptions::new(1.0);
                options.order = order;
                let bvh = read(&write(&skeleton, &clip, &options).unwrap());
                for frame in 0..frames {
                    let want = [0.0, sign * step * frame as f32, 0.0];
                    let far = bvh.frame(frame)[3..]
                        .iter()
                        .zip(want)
                        .map(|(a, b)| (a - f64::from(b)).abs())
                        .fold(0.0, f64::max);
                    assert!(far < 2e-3, "{order:?} {sign} {step}: frame {frame} is {:?}", bvh.frame(frame));
                }
            }
        }
    }
}

/// Tests a rotation through the singularity while the other two angles are constant. There, only the sum or
/// difference of these angles is determined.
#[test]
fn other_angles_stay_at_the_singular_place() {
    for order in ORDERS {
        let channels = order.axes().map(|axis| format!("{axis:?}rotation")).join(" ");
        let rows: String = (0..61).map(|frame| format!("10 {} -50\n", 60 + frame)).collect();
        let text = format!(
            "HIERARCHY ROOT a {{ OFFSET 0 0 0 CHANNELS 3 {channels} }} MOTION Frames: 61 Frame Time: 1\n{rows}"
        );
        let (skeleton, clip) = import(&read(&text));
        let mut options = WriteOptions::new(1.0);
        options.order = order;
        let back = read(&write(&skeleton, &clip, &options).unwrap());
        for frame in 0..61 {
            let found = &back.frame(frame)[3..];
            let far = found.iter().zip([10.0, 60.0 + frame as f64, -50.0]).map(|(a, b)| (a - b).abs());
            assert!(far.fold(0.0, f64::max) < 1e-2, "{order:?}: frame {frame} is {found:?}");
        }
    }
}

/// Tests two simultaneous rotations near the singularity: angles can change fast there, but the rotation must
/// be right.
#[test]
fn what_is_near_the_singular_place_is_right() {
    for order in ORDERS {
        let bvh = |angles: [f64; 3]| {
            let names: Vec<String> = order.axes().iter().map(|axis| format!("{axis:?}rotation")).collect();
            let [a, b, c] = angles;
            let text = format!(
                "HIERARCHY ROOT a {{ OFFSET 0 0 0 CHANNELS 3 {} }} MOTION Frames: 1 Frame Time: 1 {a} {b} {c}",
                names.join(" ")
            );
            import(&Bvh::from_slice("near", text.as_bytes()).unwrap())
        };
        for off in [0.0, 1e-7, 1e-6, 3e-5, 1e-4, 1e-2] {
            for angles in [[10.0, 90.0 - off, -50.0], [-170.0, off - 90.0, 33.0], [200.0, 90.0 + off, 7.0]] {
                let (skeleton, clip) = bvh(angles);
                let mut options = WriteOptions::new(1.0);
                options.order = order;
                let (_, again) = import(&read(&write(&skeleton, &clip, &options).unwrap()));
                let keys = |clip: &RawClip| clip.tracks().last().unwrap().values.clone();
                let (a, b) = (clip.tracks()[0].values.clone(), again.tracks()[0].values.clone());
                let dot: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
                let sign = if dot < 0.0 { -1.0 } else { 1.0 };
                assert!(
                    a.iter().zip(&b).all(|(a, b)| (a - sign * b).abs() < 1e-6),
                    "{order:?} {angles:?}: {a:?} {b:?}"
                );
                assert_eq!(keys(&clip).len(), 4);
            }
        }
    }
}

#[test]
fn a_file_that_is_read_is_written_as_it_was() {
    let mut random = Random(21);
    for _ in 0..cases(30) {
        let file = make(&mut random, 6, 3).sorted();
        let (skeleton, clip) = import(&Bvh::from_slice("a", file.text(&common::PLAIN).as_bytes()).unwrap());
        let text = write(&skeleton, &clip, &WriteOptions::new(file.rate)).unwrap();
        let (back, again) = import(&read(&text));
        assert_eq!((back.names(), back.parents()), (skeleton.names(), skeleton.parents()));
        for frame in 0..3 {
            let seconds = (frame as f64 / file.rate) as f32;
            for (want, got) in posed(&skeleton, &clip, seconds).iter().zip(posed(&back, &again, seconds)) {
                let far =
                    want.rows.as_flattened().iter().zip(got.rows.as_flattened()).map(|(a, b)| (a - b).abs());
                let far = far.fold(0.0, f32::max);
                assert!(far < 2e-3, "frame {frame}: {far}");
            }
        }
    }
}

#[test]
fn end_sites_names_and_channels() {
    let at = |x| Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY };
    let joints = [
        Joint::new("hips", None, at(0.0)),
        Joint::new("left {leg}\n", Some(0), at(1.0)),
        Joint::new("", Some(0), at(2.0)),
        Joint::new("hips_End", Some(0), at(3.0)),
        Joint::new("hips_End", Some(0), at(4.0)),
        Joint::new("other", None, at(5.0)),
    ];
    let skeleton = Skeleton::new(joints).unwrap();
    let values = vec![4.0, 0.0, 0.0, 5.0, 0.0, -1e-9];
    let slide =
        Track { target: Target::Translation(4), interpolation: Interpolation::Linear, timeline: 0, values };
    let clip = RawClip::new("slide".into(), vec![vec![0.0, 0.5]], vec![slide]).unwrap();
    let mut options = WriteOptions::new(2.0);
    options.decimals = 2;
    let text = write(&skeleton, &clip, &options).unwrap();
    let want = "HIERARCHY
ROOT hips
{
\tOFFSET 0.00 0.00 0.00
\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
\tJOINT left _leg_
\t{
\t\tOFFSET 1.00 0.00 0.00
\t\tCHANNELS 3 Zrotation Xrotation Yrotation
\t\tEnd Site
\t\t{
\t\t\tOFFSET 0.00 0.00 0.00
\t\t}
\t}
\tJOINT joint_2
\t{
\t\tOFFSET 2.00 0.00 0.00
\t\tCHANNELS 3 Zrotation Xrotation Yrotation
\t\tEnd Site
\t\t{
\t\t\tOFFSET 0.00 0.00 0.00
\t\t}
\t}
\tEnd Site
\t{
\t\tOFFSET 3.00 0.00 0.00
\t}
\tJOINT hips_End
\t{
\t\tOFFSET 4.00 0.00 0.00
\t\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
\t\tEnd Site
\t\t{
\t\t\tOFFSET 0.00 0.00 0.00
\t\t}
\t}
}
ROOT other
{
\tOFFSET 5.00 0.00 0.00
\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
\tEnd Site
\t{
\t\tOFFSET 0.00 0.00 0.00
\t}
}
MOTION
Frames: 2
Frame Time: 0.5
0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 4.00 0.00 0.00 0.00 0.00 0.00 5.00 0.00 0.00 0.00 0.00 0.00
0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 5.00 0.00 0.00 0.00 0.00 0.00 5.00 0.00 0.00 0.00 0.00 0.00
";
    assert_eq!(text, want);
    options.positions = PositionChannels::Roots;
    assert_eq!(write(&skeleton, &clip, &options).unwrap().matches("position").count(), 6);
    options.positions = PositionChannels::All;
    assert_eq!(write(&skeleton, &clip, &options).unwrap().matches("position").count(), 15);
}

#[test]
fn a_joint_that_comes_back_has_moved() {
    let joints = [Joint::new("a", None, Transform::IDENTITY), Joint::new("b", Some(0), Transform::IDENTITY)];
    let skeleton = Skeleton::new(joints).unwrap();
    let values = vec![0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0];
    let jump =
        Track { target: Target::Translation(1), interpolation: Interpolation::Linear, timeline: 0, values };
    let clip = RawClip::new("jump".into(), vec![vec![0.0, 1.0, 2.0]], vec![jump]).unwrap();
    let bvh = read(&write(&skeleton, &clip, &WriteOptions::new(1.0)).unwrap());
    assert_eq!((bvh.nodes()[1].channels.len(), bvh.frame(1)[7]), (6, 0.5));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let skeleton = Skeleton::new([Joint::new("a", None, Transform::IDENTITY)]).unwrap();
    let clip = RawClip::new(
        "long".into(),
        vec![vec![0.0, 1e7]],
        vec![turning(0, vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])],
    );
    let clip = clip.unwrap();
    for (rate, scale, decimals) in [
        (0.0, 1.0, 6),
        (f64::NAN, 1.0, 6),
        (f64::INFINITY, 1.0, 6),
        (1.0, -1.0, 6),
        (1.0, f64::NAN, 6),
        (1.0, 1.0, 0),
        (1.0, 1.0, 10),
        (1e9, 1.0, 6),
        // A frame of more than a day.
        (1e-7, 1.0, 6),
    ] {
        let mut options = WriteOptions::new(rate);
        (options.scale, options.decimals) = (scale, decimals);
        let refused = write(&skeleton, &clip, &options);
        assert!(
            matches!(refused, Err(condyle::Error::OutOfRange { .. })),
            "{rate} {scale} {decimals}: {refused:?}"
        );
    }
    let text = write(&skeleton, &clip, &WriteOptions::new(1e-4)).unwrap();
    assert_eq!(text.lines().count(), 1 + 9 + 3 + 1001, "{text}");
    let other = Skeleton::new([Joint::new("b", None, Transform::IDENTITY)]).unwrap();
    assert!(write(&skeleton, &clip.for_skeleton(&other).unwrap(), &WriteOptions::new(1.0)).is_err());
    let mut pose = Pose::rest(&skeleton);
    let still = RawClip::new("still".into(), Vec::new(), Vec::new()).unwrap();
    sampling::raw(&still, &skeleton, 0.0, &mut RawCursor::default(), &mut pose).unwrap();
    assert_eq!(read(&write(&skeleton, &still, &WriteOptions::new(30.0)).unwrap()).frame_count(), 1);
}

#[test]
fn slow_frames_come_back_as_slow() {
    let (skeleton, clip) = clip(&mut Random(3), 2, 4, 1.0);
    for rate in [0.5, 1.0 / 0.6, 1.0 / 0.9, 0.1, 1.0 / 86_400.0, 29.97, 1e6] {
        let text = write(&skeleton, &clip, &WriteOptions::new(rate)).expect("a valid rate");
        assert!((read(&text).frame_rate() / rate - 1.0).abs() < 1e-15, "{rate}");
    }
}

#[test]
fn a_chain_of_thousands_is_not_written_in_the_square_of_its_length() {
    let joints = (0..4000_u16).map(|at| Joint::new(format!("{at}"), at.checked_sub(1), Transform::IDENTITY));
    let skeleton = Skeleton::new(joints).expect("a chain");
    let (_, clip) = clip(&mut Random(3), 1, 2, 1.0);
    let turn = clip.tracks()[0].clone();
    let clip = RawClip::new("bend".into(), clip.timelines().to_vec(), vec![turn]).expect("a clip");
    let text = write(&skeleton, &clip, &WriteOptions::new(30.0)).expect("a chain");
    assert!(text.len() < 4_000_000, "{}", text.len());
    assert_eq!(read(&text).nodes().len(), 4001);
}
