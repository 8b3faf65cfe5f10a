//! Motions in the common layouts: each plays with all its rotations, or is refused with a message about the
//! missing part.

mod common;

use std::collections::BTreeMap;

use common::{Made, doubles, integers, npy, npz, numbers, text};
use condyle::Target;
use condyle_body::{BodyClip, BodyModel, BodyMotion, ShapedBody};
use condyle_testing::Random;
use zip::CompressionMethod::Stored;

const FRAMES: usize = 6;

fn body(joints: usize) -> ShapedBody {
    let model = BodyModel::from_bytes("body", Made::new(1, 30, joints, 3).bytes()).expect("a model");
    model.shaped(&[]).expect("a body")
}

fn turns(joints: usize) -> Vec<f64> {
    numbers(&mut Random(joints as u64), 3 * joints * FRAMES, 0.7)
}

/// Returns the values of `count` joints, starting with joint `first`, from rows of `joints` rotations.
fn columns(values: &[f64], joints: usize, first: usize, count: usize) -> Vec<f64> {
    values.chunks(3 * joints).flat_map(|row| row[3 * first..][..3 * count].to_vec()).collect()
}

type Arrays<'a> = Vec<(&'a str, Vec<u8>)>;

/// Builds a motion from arrays, and adds a frame rate.
fn motion(mut arrays: Arrays<'_>) -> BodyMotion {
    arrays.push(("mocap_framerate", doubles(&[], &[60.0])));
    BodyMotion::from_bytes("walk", npz(&arrays, Stored)).expect("a motion")
}

fn refused(arrays: Arrays<'_>) -> String {
    BodyMotion::from_bytes("walk", npz(&arrays, Stored)).expect_err("an invalid file").to_string()
}

/// Returns the rotations of each animated joint, by name.
fn turned(clip: &BodyClip, body: &ShapedBody) -> BTreeMap<String, Vec<f32>> {
    let of = |track: &condyle::Track| match track.target {
        Target::Rotation(joint) => {
            Some((body.skeleton().names()[usize::from(joint)].clone(), track.values.clone()))
        }
        _ => None,
    };
    clip.clip.tracks().iter().filter_map(of).collect()
}

fn poses(shape: &[usize], values: &[f64]) -> (&'static str, Vec<u8>) {
    ("poses", doubles(shape, values))
}

/// Tests that the 22 joints that all models share rotate the joints of the same name in each model.
#[test]
fn rotations_are_named_by_the_layout() {
    let own = turns(22);
    let whole = motion(vec![poses(&[FRAMES, 66], &own)]).clip(&body(22)).expect("at least as many joints");
    let want = turned(&whole, &body(22));
    assert_eq!((want.len(), whole.problems.len()), (22, 0));
    for joints in [24, 52, 55] {
        let other = body(joints);
        let clip =
            motion(vec![poses(&[FRAMES, 66], &own)]).clip(&other).expect("the body has these 22 joints");
        assert_eq!(turned(&clip, &other), want, "{joints}");
        assert_eq!(clip.problems, []);
    }
    // Without the root, whose rotation can be in a separate array.
    let rest = doubles(&[FRAMES, 63], &columns(&own, 22, 1, 21));
    let root = doubles(&[FRAMES, 3], &columns(&own, 22, 0, 1));
    let clip = motion(vec![("poses", rest.clone()), ("root_orient", root.clone())]).clip(&body(52));
    assert_eq!(turned(&clip.expect("the body has these 22 joints"), &body(52)), want);
    let clip = motion(vec![("poses", rest.clone())]).clip(&body(52)).expect("the body has these 21 joints");
    assert_eq!(turned(&clip, &body(52)).len(), 21);
    assert_eq!(
        clip.problems[0].to_string(),
        "warning: the rotation of the root is missing; the root keeps its rest rotation"
    );
    for [root_name, body_name] in [["root_orient", "pose_body"], ["global_orient", "body_pose"]] {
        let clip = motion(vec![(root_name, root.clone()), (body_name, rest.clone())]).clip(&body(55));
        assert_eq!(turned(&clip.expect("the body has these 22 joints"), &body(55)), want);
    }
}

#[test]
fn parts_are_put_together() {
    let own = turns(55);
    let want = turned(&motion(vec![poses(&[FRAMES, 165], &own)]).clip(&body(55)).expect("all"), &body(55));
    let part = |first, count| doubles(&[FRAMES, 3 * count], &columns(&own, 55, first, count));
    let arrays = |hands: Arrays<'static>, eyes: Arrays<'static>| {
        let all = vec![("root_orient", part(0, 1)), ("pose_body", part(1, 21)), ("pose_jaw", part(22, 1))];
        [all, hands, eyes].concat()
    };
    let hands = [
        vec![("pose_hand", part(25, 30))],
        vec![("left_hand_pose", part(25, 15)), ("right_hand_pose", part(40, 15))],
    ];
    let eyes =
        [vec![("pose_eye", part(23, 2))], vec![("leye_pose", part(23, 1)), ("reye_pose", part(24, 1))]];
    for (hands, eyes) in hands.into_iter().zip(eyes) {
        let clip = motion(arrays(hands, eyes)).clip(&body(55)).expect("all");
        assert_eq!((turned(&clip, &body(55)), &clip.problems[..]), (want.clone(), &[][..]));
    }
    let components = ("left_hand_pose", doubles(&[FRAMES, 12], &[0.0; 12 * FRAMES]));
    let why = refused(vec![("body_pose", part(1, 21)), components]);
    assert!(why.contains("array left_hand_pose: it has 12 numbers") && why.contains("principal"), "{why}");
    let why = refused(vec![("body_pose", part(1, 21)), ("global_orient", doubles(&[1, 3], &[0.0; 3]))]);
    assert!(why.contains("array body_pose: it has 6 frames, expected 1"), "{why}");
    // Errors that concern several arrays name these arrays.
    let parts = || [("global_orient", part(0, 1)), ("body_pose", part(1, 21))];
    let why =
        motion(parts().to_vec()).clip(&body(5)).expect_err("the body has none of the joints").to_string();
    assert!(why.contains("array global_orient, body_pose: none of its 22 joints"), "{why}");
    let why = refused(vec![("pose_body", doubles(&[FRAMES, 63], &[f64::NAN; 63 * FRAMES]))]);
    assert!(why.contains("array pose_body: every frame has a number that is not finite"), "{why}");
}

/// Tests joint counts that match no layout: refused, unless the body has the same count.
#[test]
fn unknown_layouts_are_refused() {
    for joints in [1, 4, 20, 26, 30, 50, 53, 56] {
        let own = || motion(vec![poses(&[FRAMES, 3 * joints], &turns(joints))]);
        let clip = own().clip(&body(joints)).expect("the body has the same joint count");
        assert_eq!(turned(&clip, &body(joints)).len(), joints);
        let why = own().clip(&body(24)).expect_err("an unknown layout").to_string();
        assert!(why.contains(&format!("array poses: it rotates {joints} joints, expected 21, 22,")), "{why}");
    }
    // A known layout, but no joint of the body has one of its names.
    let why = motion(vec![poses(&[FRAMES, 156], &turns(52))])
        .clip(&body(5))
        .expect_err("the body has none of the joints")
        .to_string();
    assert!(why.contains("none of its 52 joints"), "{why}");
}

/// Tests that joints that the body lacks are reported if they rotate.
#[test]
fn what_is_left_out_is_reported() {
    let mut own = turns(52);
    let clip =
        motion(vec![poses(&[FRAMES, 156], &own)]).clip(&body(22)).expect("the body has these 22 joints");
    assert_eq!(clip.problems.len(), 1);
    assert!(clip.problems[0].what.contains("left_index1, left_index2"), "{:?}", clip.problems);
    own.chunks_mut(156).for_each(|row| row[66..].fill(0.0));
    let clip =
        motion(vec![poses(&[FRAMES, 156], &own)]).clip(&body(22)).expect("the body has these 22 joints");
    assert_eq!(clip.problems, []);
}

#[test]
fn other_shapes_and_kinds_are_the_same_motion() {
    let own = turns(24);
    let whole = motion(vec![poses(&[FRAMES, 72], &own)]);
    let want = turned(&whole.clip(&body(24)).expect("all"), &body(24));
    let cubes = motion(vec![poses(&[FRAMES, 24, 3], &own)]);
    assert_eq!(turned(&cubes.clip(&body(24)).expect("all"), &body(24)), want);
    // Half precision: 11 bits of each number.
    let halves: Vec<u8> = own.iter().flat_map(|v| half(*v).to_le_bytes()).collect();
    let coarse = motion(vec![("poses", npy("<f2", &[FRAMES, 72], false, &halves))]).clip(&body(24));
    for (name, values) in turned(&coarse.expect("all"), &body(24)) {
        let off = values.iter().zip(&want[&name]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off < 1e-3 && off > 0.0, "{name}: {off}");
    }
    for name in ["mocap_frame_rate", "frame_rate", "framerate", "fps"] {
        let arrays = vec![poses(&[FRAMES, 72], &own), (name, integers(&[1], &[25]))];
        let own = BodyMotion::from_bytes("walk", npz(&arrays, Stored)).expect("a motion");
        assert!((own.frame_rate() - 25.0).abs() < 1e-12);
    }
    for array in ["trans", "transl", "translation"] {
        let places = (array, doubles(&[FRAMES, 3], &[1.5; 3 * FRAMES]));
        let clip = motion(vec![poses(&[FRAMES, 72], &own), places]).clip(&body(24)).expect("all").clip;
        assert!(clip.tracks().iter().any(|track| matches!(track.target, Target::Translation(0))));
    }
    let why = refused(vec![poses(&[FRAMES, 72], &own)]);
    assert!(why.contains("mocap_framerate, mocap_frame_rate, frame_rate, framerate, fps"), "{why}");
    let why = refused(vec![("betas", doubles(&[3], &[0.0; 3]))]);
    assert!(
        why.contains("the file has no rotations: expected poses, or root_orient and pose_body, or"),
        "{why}"
    );
    let why = refused(vec![poses(&[0, 72], &[])]);
    assert!(why.contains("array poses: it has no frames"), "{why}");
}

/// Returns the binary16 of a number between 2^-14 and 1, truncated.
fn half(value: f64) -> u16 {
    let bits = (value as f32).to_bits();
    let exponent = (bits >> 23 & 255) as i32 - 112;
    let size = if exponent > 0 { (exponent as u32) << 10 | (bits >> 13 & 1023) } else { 0 };
    (bits >> 16 & 0x8000) as u16 | size as u16
}

#[test]
fn the_person_is_read_in_every_shape() {
    let own = || poses(&[FRAMES, 72], &turns(24));
    let betas = |shape: &[usize], values: &[f64]| motion(vec![own(), ("betas", doubles(shape, values))]);
    assert_eq!(betas(&[3], &[1.0, 2.0, 3.0]).betas(), [1.0, 2.0, 3.0]);
    assert_eq!(betas(&[1, 3], &[1.0, 2.0, 3.0]).betas(), [1.0, 2.0, 3.0]);
    let same = betas(&[FRAMES, 2], &[0.5, 2.0].repeat(FRAMES));
    assert_eq!((same.betas(), same.problems()), (&[0.5, 2.0][..], &[][..]));
    let rising: Vec<f64> = (0..FRAMES).flat_map(|at| [at as f64, 2.0]).collect();
    let mean = betas(&[FRAMES, 2], &rising);
    assert_eq!(mean.betas(), [2.5, 2.0]);
    assert!(mean.problems()[0].what.contains("betas differ from frame to frame"));

    let gender = |bytes: Vec<u8>| motion(vec![own(), ("gender", bytes)]).gender().to_owned();
    assert_eq!(gender(text("Female")), "female");
    assert_eq!(gender(npy("|S6", &[], false, b"female")), "female");
    // Pickle protocols 2 and 4 write the object array `numpy.array("male", dtype=object)` like this.
    let long = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nX\x04\x00\x00\x00maleq\x0ba.";
    let short = b"\x80\x04\x95\x8c\x15numpy.core.multiarray\x8c\x0c_reconstruct]\x8c\x04malea.";
    assert_eq!(gender(npy("|O", &[], false, long)), "male");
    assert_eq!(gender(npy("|O", &[1], false, short)), "male");
    assert_eq!(gender(npy("|O", &[], false, b"\x80\x04\x8c\x06femalea.")), "female");
    let other =
        vec![own(), ("fps", doubles(&[], &[1.0])), ("gender", npy("|O", &[], false, b"\x80\x04K\x01."))];
    assert!(refused(other).contains("array gender: it is a Python object, expected a string"));
}

/// Tests that a broken frame is interpolated between its neighbours and reported.
#[test]
fn frames_that_are_not_finite_are_interpolated() {
    // The rotations have one axis, so interpolation gives mean angles.
    let angle = |frame: usize| 0.1 * frame as f64;
    let mut own: Vec<f64> = (0..FRAMES).flat_map(|frame| [[angle(frame), 0.0, 0.0]; 24].concat()).collect();
    let mut places: Vec<f64> = (0..FRAMES).flat_map(|frame| [frame as f64, 0.0, 1.0]).collect();
    own[72 * 2 + 5] = f64::NAN;
    own[72 * 3..72 * 4].fill(f64::INFINITY);
    places[3 * (FRAMES - 1)] = f64::NAN;
    let arrays = vec![poses(&[FRAMES, 72], &own), ("trans", doubles(&[FRAMES, 3], &places))];
    let clip = motion(arrays).clip(&body(24)).expect("all");
    let repairs: Vec<&str> = clip.problems.iter().map(|problem| &*problem.what).collect();
    assert!(repairs[0].starts_with("the rotations of 2 of 6 frames are not finite, first in frame 2"));
    assert!(repairs[1].starts_with("the root positions of 1 of 6 frames are not finite, first in frame 5"));
    for values in turned(&clip, &body(24)).values() {
        for (frame, q) in values.chunks(4).enumerate() {
            let found = 2.0 * f64::from(q[0]).atan2(f64::from(q[3]));
            assert!((found - angle(frame)).abs() < 2e-4, "frame {frame}: {found}");
        }
    }
    let places = clip.clip.tracks().iter().find(|track| track.target == Target::Translation(0));
    let place = &places.expect("the root moves").values;
    assert!((place[3 * 5] - place[3 * 4]).abs() < 1e-6 && place.iter().all(|v| v.is_finite()));
    let nothing = vec![poses(&[2, 72], &[f64::NAN; 144]), ("fps", doubles(&[], &[1.0]))];
    assert!(refused(nothing).contains("every frame has a number that is not finite"));
}

/// Tests that the expressions after the shapes in the published files of SMPL-X are not used as shape
/// parameters.
#[test]
fn expressions_are_no_shapes() {
    let model = |shapes| BodyModel::from_bytes("x", Made::new(2, 6, 55, shapes).bytes()).expect("a model");
    assert_eq!([10, 16, 20, 300, 400].map(|shapes| model(shapes).shape_count()), [10, 16, 10, 300, 300]);
    let made = |shapes| {
        let betas = &[0.5; 16];
        model(shapes).shaped(betas).expect("a body").positions().to_vec()
    };
    let ten = model(20).shaped(&[0.5; 10]).expect("a body");
    assert_eq!(made(20), ten.positions());
}
