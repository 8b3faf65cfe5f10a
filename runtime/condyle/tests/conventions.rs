//! Tests of docs/conventions.md on numbers, playback, root motion, normals and tangents, through the public
//! API. The tests for documents and the command line are in `condyle-gltf` and `condyle-cli`.

use std::f32::consts::FRAC_1_SQRT_2 as HALF;

use condyle::blending::{self, Additive};
use condyle::interpolation::{Arc, InterpolateOptions, Method};
use condyle::math::Rigid;
use condyle::mirroring::Mirror;
use condyle::motion::{self, RootMotion, RootMotionOptions};
use condyle::play::{Event, Events, Head, Moment};
use condyle::sampling::{self, RawCursor};
use condyle::skinning::PaletteMatrix;
use condyle::{
    Affine, Influences, Interpolation, Joint, Looping, NormalRule, Palette, Pose, RawClip, Skeleton, Skin,
    Target, Track, Transform, Vertices, interpolate, local_to_model, mirror, palette, skin,
};

/// A quarter turn about each axis.
const X: [f32; 4] = [HALF, 0.0, 0.0, HALF];
const Y: [f32; 4] = [0.0, HALF, 0.0, HALF];
const Z: [f32; 4] = [0.0, 0.0, HALF, HALF];

fn turn(rotation: [f32; 4]) -> Transform {
    Transform { rotation, ..Transform::IDENTITY }
}

fn place(translation: [f32; 3]) -> Transform {
    Transform { translation, ..Transform::IDENTITY }
}

fn grown(scale: [f32; 3]) -> Transform {
    Transform { scale, ..Transform::IDENTITY }
}

#[track_caller]
fn assert_near(got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len());
    assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?} instead of {want:?}");
}

fn skeleton(rest: &[Transform]) -> Skeleton {
    let joints = rest.iter().zip(0_u16..).map(|(&rest, at)| Joint::new("joint", at.checked_sub(1), rest));
    Skeleton::new(joints).expect("a chain")
}

fn track(target: Target, interpolation: Interpolation, values: &[f32]) -> Track {
    Track { target, interpolation, timeline: 0, values: values.to_vec() }
}

#[test]
fn axes_are_right_handed_and_quaternions_have_w_last() {
    for (rotation, from, to) in [
        (X, [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]),
        (Y, [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]),
        (Z, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
    ] {
        assert_near(&Affine::from(turn(rotation)).transform_vector(from), &to);
    }
}

/// Hamilton's product: a product of quaternions is the product of matrices in the same order. `x * y = z` for
/// rotations by 180 degrees.
#[test]
fn quaternions_multiply_as_hamilton_has_it() {
    let turn = |rotation: [f64; 4]| Rigid { rotation, ..Rigid::IDENTITY };
    let [x, y] = [turn([1.0, 0.0, 0.0, 0.0]), turn([0.0, 1.0, 0.0, 0.0])];
    assert_eq!((x * y).rotation, [0.0, 0.0, 1.0, 0.0]);
    assert_eq!((y * x).rotation, [0.0, 0.0, -1.0, 0.0]);
}

#[test]
fn opposite_quaternions_are_one_rotation() {
    let q = [0.1, -0.7, 0.5, 0.5];
    assert_eq!(Affine::from(turn(q)), Affine::from(turn(q.map(|v| -v))));
}

#[test]
fn parents_stand_left_and_inverse_bind_matrices_right() {
    let rest = [Transform { translation: [1.0, 0.0, 0.0], ..turn(Z) }, place([0.0, 2.0, 0.0])];
    let skeleton = skeleton(&rest);
    let mut model = [Affine::IDENTITY; 2];
    local_to_model(&skeleton, skeleton.rest(), &mut model).expect("sizes agree");
    let product = Affine::from(rest[0]) * Affine::from(rest[1]);
    assert_near(model[1].rows.as_flattened(), product.rows.as_flattened());
    // Two metres along the parent's y axis, which points to -x.
    assert_near(&model[1].transform_point([0.0; 3]), &[-1.0, 0.0, 0.0]);

    let bind = Affine::from(place([0.0, 0.0, 5.0]));
    let one = Skin::new(vec![1], vec![bind]).expect("one each");
    let mut matrices = Palette::default();
    palette(&one, &model, NormalRule::default(), &mut matrices).expect("sizes agree");
    assert_near(&matrices.matrices()[0].columns[12..15], &(model[1] * bind).rows.map(|row| row[3]));
}

#[test]
fn a_transform_scales_then_rotates_then_moves() {
    let t = Transform { rotation: Z, translation: [10.0, 0.0, 0.0], scale: [2.0, 1.0, 1.0] };
    assert_near(&Affine::from(t).transform_point([1.0, 0.0, 0.0]), &[10.0, 2.0, 0.0]);
}

#[test]
fn matrices_are_rows_of_four_or_columns_of_one_cache_line() {
    assert_eq!((size_of::<Affine>(), size_of::<PaletteMatrix>(), align_of::<PaletteMatrix>()), (48, 64, 64));
    let m = Affine::from(place([1.0, 2.0, 3.0]));
    assert_eq!(m.rows.map(|row| row[3]), [1.0, 2.0, 3.0]);
    assert_eq!(m.to_columns()[12..], [1.0, 2.0, 3.0, 1.0]);
}

#[test]
fn mirrors_have_a_negative_first_factor_and_two_are_a_half_turn() {
    let back = |scale| Affine::from(grown(scale)).to_transform().0;
    for scale in [[-2.0, 3.0, 4.0], [2.0, -3.0, 4.0], [2.0, 3.0, -4.0], [-2.0, -3.0, -4.0]] {
        let found = back(scale);
        assert!(found.scale[0] < 0.0 && found.scale[1] > 0.0 && found.scale[2] > 0.0, "{scale:?}: {found:?}");
        let (got, want) = (Affine::from(found), Affine::from(grown(scale)));
        assert_near(got.rows.as_flattened(), want.rows.as_flattened());
    }
    let half = back([-2.0, -3.0, 4.0]);
    assert_near(&half.scale, &[2.0, 3.0, 4.0]);
    assert_near(&[half.rotation[2].abs(), half.rotation[3]], &[1.0, 0.0]);
    // A negative scale with an axis of scale 0.
    let flat = back([2.0, -3.0, 0.0]);
    assert_near(
        Affine::from(flat).rows.as_flattened(),
        Affine::from(grown([2.0, -3.0, 0.0])).rows.as_flattened(),
    );
    let (joint, _) = Affine::from(grown([-2.0; 3])).to_joint();
    assert!((joint.scale + 2.0).abs() < 1e-6, "{joint:?}");
}

#[test]
fn flat_axes_take_the_direction_that_is_left_and_nothing_is_the_identity() {
    let t = Transform { scale: [1.0, 0.0, 2.0], ..turn(Z) };
    let (found, _) = Affine::from(t).to_transform();
    assert_near(&found.rotation, &Z);
    let (found, _) = Affine { rows: [[0.0; 4]; 3] }.to_transform();
    assert_eq!((found.rotation, found.scale), ([0.0, 0.0, 0.0, 1.0], [0.0; 3]));
}

#[test]
fn rotations_take_the_shorter_arc_unless_told_otherwise() {
    let far = Y.map(|v| -v);
    let identity = [0.0, 0.0, 0.0, 1.0];
    let shorter = interpolate(identity, far, 0.5, Method::default());
    let given =
        interpolate(identity, far, 0.5, InterpolateOptions { arc: Arc::AsGiven, ..Method::default().into() });
    // An eighth of a turn, or three eighths in the other direction.
    let angle = |q: condyle::Quat| 2.0 * q[3].abs().min(1.0).acos();
    assert!((angle(shorter) - std::f32::consts::FRAC_PI_4).abs() < 1e-5, "{shorter:?}");
    assert!((angle(given) - 3.0 * std::f32::consts::FRAC_PI_4).abs() < 1e-5, "{given:?}");
}

#[test]
fn the_first_and_the_last_key_hold() {
    let skeleton = skeleton(&[Transform::IDENTITY]);
    let go = track(Target::Translation(0), Interpolation::Linear, &[1.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
    let clip = RawClip::new("go".into(), vec![vec![2.0, 3.0]], vec![go]).expect("a clip");
    let mut pose = Pose::rest(&skeleton);
    for (seconds, x) in [(-9.0, 1.0), (2.0, 1.0), (2.5, 2.5), (3.0, 4.0), (3.5, 4.0), (1e30, 4.0)] {
        sampling::raw(&clip, &skeleton, seconds, &mut RawCursor::default(), &mut pose).expect("a moment");
        assert_eq!(pose.get(0).translation[0], x, "at {seconds}");
    }
}

#[test]
fn differences_are_about_the_joints_own_axes_and_of_equal_poses_the_identity() {
    let reference = Pose::from_transforms(&[Transform { translation: [1.0; 3], scale: [2.0; 3], ..turn(X) }]);
    let both = (Affine::from(turn(X)) * Affine::from(turn(Y))).to_transform().0.rotation;
    let pose = Pose::from_transforms(&[Transform { rotation: both, translation: [4.0; 3], scale: [6.0; 3] }]);
    let mut difference = Pose::identity(1);
    blending::difference(&pose, &reference, &mut difference).expect("sizes agree");
    let found = difference.get(0);
    assert_near(&found.rotation, &Y);
    assert_near(&[found.translation[0], found.scale[0]], &[3.0, 3.0]);
    let mut back = Pose::identity(1);
    blending::add(&reference, &[Additive::new(&difference, 1.0)], &mut back).expect("sizes agree");
    assert_near(&back.get(0).rotation, &pose.get(0).rotation);
    blending::difference(&pose, &pose, &mut difference).expect("sizes agree");
    assert_near(&difference.get(0).rotation, &Transform::IDENTITY.rotation);
    assert_eq!((difference.get(0).translation, difference.get(0).scale), ([0.0; 3], [1.0; 3]));
}

#[test]
fn mirrors_are_planes_through_the_origin() {
    let skeleton = skeleton(&[Transform::IDENTITY]);
    let sides = Mirror::new(&skeleton, &[], [1.0, 0.0, 0.0]).expect("a direction");
    let mut out = Pose::identity(1);
    let pose = Pose::from_transforms(&[place([3.0, 4.0, 5.0])]);
    mirror(&sides, &pose, &mut out).expect("sizes agree");
    assert_near(&out.get(0).translation, &[-3.0, 4.0, 5.0]);
}

#[test]
fn a_pose_is_blocks_of_sixteen_joints() {
    let joints: Vec<Transform> = (0..40).map(|joint| place([joint as f32, 0.5, 0.0])).collect();
    let pose = Pose::from_transforms(&joints);
    assert_eq!(pose.blocks().len(), 3);
    for joint in 0..40 {
        assert_eq!(pose.blocks()[joint / 16].translation[0][joint % 16], joint as f32);
    }
}

#[test]
fn a_clock_has_no_end_and_is_0_at_the_start_of_the_clip() {
    let at = |looping: Looping, clock: f64| looping.moment(clock, 2.0).expect("a time");
    let moment = |loops, seconds| Moment { loops, seconds };
    assert_eq!(at(Looping::Wrap, 0.0), moment(0, 0.0));
    assert_eq!(at(Looping::Wrap, 5.5), moment(2, 1.5));
    assert_eq!(at(Looping::Wrap, -0.5), moment(-1, 1.5));
    // The end of a loop is the start of the next one.
    assert_eq!(at(Looping::Wrap, 4.0), moment(2, 0.0));
    for (clock, seconds) in [(-3.0, 0.0), (1.5, 1.5), (2.0, 2.0), (99.0, 2.0)] {
        assert_eq!(at(Looping::Clamp, clock), moment(0, seconds));
    }
    for looping in [Looping::Wrap, Looping::Clamp] {
        assert_eq!(looping.moment(7.0, 0.0).expect("a time").loops, 0);
    }
    let far = 2.0 * Moment::MAX_LOOPS as f64;
    assert_eq!(at(Looping::Wrap, 4.0 * far), at(Looping::Wrap, 3.0 * far));
    // Key times start where the clip starts, not at 0.
    let go = track(Target::Translation(0), Interpolation::Linear, &[0.0; 6]);
    let clip = RawClip::new("go".into(), vec![vec![10.0, 12.0]], vec![go]).expect("a clip");
    assert_eq!(clip.moment(Looping::Wrap, 2.5).expect("a time"), 10.5);
}

/// Events of a clip of two seconds between two heads.
fn passed(looping: Looping, from: impl Into<Head>, to: impl Into<Head>) -> Vec<(String, i64)> {
    let event = |seconds, name: &str| Event { seconds, name: name.into() };
    let all = vec![event(0.0, "start"), event(1.0, "middle"), event(2.0, "end")];
    let events = Events::new(2.0, all).expect("within the clip");
    let passed = events.passed(looping, from, to).expect("times");
    passed.map(|event| (event.name.to_string(), event.loops)).collect()
}

#[test]
fn a_head_has_behind_it_what_happens_up_to_then() {
    let names =
        |list: &[(&str, i64)]| list.iter().map(|&(name, at)| (name.to_string(), at)).collect::<Vec<_>>();
    let wrap = Looping::Wrap;
    // Forward: `(from, to]`. Backward: the same in reverse.
    assert_eq!(passed(wrap, 0.0, 1.0), names(&[("middle", 0)]));
    assert_eq!(passed(wrap, 1.0, 0.0), names(&[("middle", 0)]));
    assert_eq!(passed(wrap, 1.0, 1.5), names(&[]));
    // Consecutive intervals return the same events as the whole interval, in both directions.
    let whole = passed(wrap, 0.5, 6.5);
    let mut parts = passed(wrap, 0.5, 2.0);
    parts.extend(passed(wrap, 2.0, 6.5));
    assert_eq!(parts, whole);
    assert_eq!(passed(wrap, 6.5, 0.5), whole.iter().rev().cloned().collect::<Vec<_>>());
    // A head before a time has not passed the events at that time. At a seam, it has passed the end of the
    // loop.
    assert_eq!(passed(wrap, Head::before(0.0), 0.0), names(&[("start", 0)]));
    assert_eq!(passed(wrap, 1.5, Head::before(2.0)), names(&[("end", 0)]));
    assert_eq!(passed(wrap, Head::before(2.0), 2.0), names(&[("start", 1)]));
    // The clock decides, not the clamped time.
    assert_eq!(passed(Looping::Clamp, -1.0, -0.5), names(&[]));
    assert_eq!(passed(Looping::Clamp, -0.5, 9.0), names(&[("start", 0), ("middle", 0), ("end", 0)]));
    assert_eq!(passed(Looping::Clamp, 9.0, 99.0), names(&[]));
}

/// Two roots and a child of the first one, which moves and turns, with a scale and a rotation of the root.
fn walk() -> (Skeleton, RawClip) {
    let grown = Transform { scale: [1.0, 2.0, 0.5], ..place([0.3, 1.0, 0.0]) };
    let joints = [
        Joint::new("root", None, grown),
        Joint::new("child", Some(0), place([0.0, 0.5, 0.25])),
        Joint::new("prop", None, place([2.0, 0.0, 0.0])),
    ];
    let half = 0.4_f32;
    let tracks = vec![
        track(Target::Translation(0), Interpolation::Linear, &[0.3, 1.0, 0.0, 1.3, 1.2, 2.0]),
        track(
            Target::Rotation(0),
            Interpolation::Linear,
            &[0.0, 0.0, 0.0, 1.0, 0.0, half.sin(), 0.0, half.cos()],
        ),
        track(Target::Rotation(1), Interpolation::Linear, &[0.0, 0.0, 0.0, 1.0, HALF, 0.0, 0.0, HALF]),
    ];
    (
        Skeleton::new(joints).expect("a forest"),
        RawClip::new("walk".into(), vec![vec![0.0, 1.0]], tracks).expect("a clip"),
    )
}

fn placed(skeleton: &Skeleton, clip: &RawClip, seconds: f32) -> Vec<Affine> {
    let mut pose = Pose::rest(skeleton);
    sampling::raw(clip, skeleton, seconds.into(), &mut RawCursor::default(), &mut pose).expect("a moment");
    let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
    local_to_model(skeleton, &pose, &mut model).expect("sizes agree");
    model
}

#[test]
fn motion_times_what_remains_is_the_original() {
    let (skeleton, clip) = walk();
    let (remaining, motion) =
        motion::extract(&clip, &skeleton, &RootMotionOptions::default()).expect("a joint");
    assert_eq!(motion.at(0.0), Rigid::IDENTITY);
    for seconds in [0.0, 0.21, 0.5, 0.99, 1.0] {
        let whole = placed(&skeleton, &clip, seconds);
        let rest = placed(&skeleton, &remaining, seconds);
        let moved = Affine::from(motion.at(seconds.into()));
        for (joint, (rest, whole)) in rest.iter().zip(&whole).enumerate() {
            let got = moved * *rest;
            let off =
                got.rows.as_flattened().iter().zip(whole.rows.as_flattened()).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f32::max) < 2e-5, "joint {joint} at {seconds}");
        }
        // The joint keeps its starting position, except for its height, and its heading. Interpolation
        // between the samples of the motion causes errors of some hundredths of a millimetre.
        let [x, _, z] = rest[0].transform_point([0.0; 3]);
        assert!((x - 0.3).abs() < 1e-4 && z.abs() < 1e-4, "{x}, {z} at {seconds}");
        assert!(rest[0].transform_vector([0.0, 0.0, 1.0])[0].abs() < 1e-4, "at {seconds}");
    }
}

#[test]
fn motions_over_intervals_that_follow_each_other_multiply() {
    let sample =
        |half: f32, z| Transform { translation: [0.0, 0.0, z], ..turn([0.0, half.sin(), 0.0, half.cos()]) };
    let motion = RootMotion::new(1.0, vec![Transform::IDENTITY, sample(0.1, 0.5), sample(0.3, 1.5)])
        .expect("a motion");
    for looping in [Looping::Wrap, Looping::Clamp] {
        let over = |from, to| motion.over(looping, from, to).expect("times");
        for (a, b, c) in [(0.1, 0.7, 3.4), (2.5, -1.2, 0.4), (0.0, 1.0, 2.0)] {
            let (got, want) = (over(a, b) * over(b, c), over(a, c));
            let both = got
                .rotation
                .iter()
                .chain(&got.translation)
                .zip(want.rotation.iter().chain(&want.translation));
            let off = both.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let opposite =
                got.rotation.iter().zip(&want.rotation).map(|(a, b)| (a + b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-12 || opposite < 1e-12, "{a} {b} {c}: {got:?} {want:?}");
        }
    }
    // Within a loop: the inverse motion at the start times the motion at the end.
    let got = motion.over(Looping::Wrap, 0.25, 0.75).expect("times");
    let want = motion.at(0.25).inverse() * motion.at(0.75);
    assert!(got.translation.iter().zip(&want.translation).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn a_blend_of_motions_is_the_mean_of_translations_and_of_logarithms() {
    let turned =
        |half: f64, z| Rigid { rotation: [0.0, half.sin(), 0.0, half.cos()], translation: [0.0, 0.0, z] };
    let mean = motion::blend(&[(turned(0.1, 1.0), 1.0), (turned(0.5, 3.0), 3.0)]).expect("numbers");
    let want = turned(0.4, 2.5);
    let all = mean.rotation.iter().zip(&want.rotation).chain(mean.translation.iter().zip(&want.translation));
    assert!(all.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-12, "{mean:?}");
}

/// One vertex with two influences.
fn skinned(model: [Affine; 2], weights: [f32; 2], rule: NormalRule) -> Vertices {
    let both = Skin::new(vec![0, 1], vec![Affine::IDENTITY; 2]).expect("one each");
    let mut matrices = Palette::default();
    palette(&both, &model, rule, &mut matrices).expect("sizes agree");
    let influences = Influences::from_rows([[(0, weights[0]), (1, weights[1])]]).expect("finite");
    let bind = Vertices {
        positions: vec![[1.0, 1.0, 0.0]],
        normals: vec![[HALF, HALF, 0.0]],
        tangents: vec![[HALF, -HALF, 0.0, 1.0]],
    };
    let mut posed = Vertices::zeroed_like(&bind);
    skin(&influences, &matrices, bind.as_slices(), posed.as_slices_mut()).expect("sizes agree");
    posed
}

#[test]
fn normals_follow_the_rule_that_is_asked_for() {
    let (a, b) = (Affine::from(grown([4.0, 1.0, 1.0])), Affine::from(grown([1.0, 2.0, 1.0])));
    let unit = |x: f32, y: f32| [x / x.hypot(y), y / x.hypot(y), 0.0];
    for (rule, want) in [
        // Half of (1/4, 1) and half of (1, 1/2).
        (NormalRule::InverseTranspose, unit(0.625, 0.75)),
        // The mean of (4, 1) and (1, 2).
        (NormalRule::Plain, unit(2.5, 1.5)),
        (NormalRule::BlendedInverseTranspose, unit(1.0 / 2.5, 1.0 / 1.5)),
    ] {
        assert_near(&skinned([a, b], [0.5; 2], rule).normals[0], &want);
    }
    assert_eq!(NormalRule::default(), NormalRule::InverseTranspose);
}

#[test]
fn results_have_unit_length_or_are_zero() {
    let rules = [NormalRule::InverseTranspose, NormalRule::Plain, NormalRule::BlendedInverseTranspose];
    for rule in rules {
        let tiny = Affine::from(grown([1e-12; 3]));
        let posed = skinned([tiny; 2], [0.5; 2], rule);
        assert_near(&posed.normals[0], &[HALF, HALF, 0.0]);
        let opposite = Affine::from(grown([-1.0; 3]));
        let posed = skinned([Affine::IDENTITY, opposite], [0.5; 2], rule);
        assert_eq!((posed.normals[0], &posed.tangents[0][..3]), ([0.0; 3], &[0.0; 3][..]), "{rule:?}");
    }
}

#[test]
fn tangents_keep_their_handedness_unless_the_blend_mirrors() {
    let mirrored = Affine::from(grown([-1.0, 1.0, 1.0]));
    for (weights, hand) in [([1.0, 0.0], 1.0), ([0.75, 0.25], 1.0), ([0.25, 0.75], -1.0), ([0.0, 1.0], -1.0)]
    {
        let posed = skinned([Affine::IDENTITY, mirrored], weights, NormalRule::default());
        assert_eq!(posed.tangents[0][3], hand, "{weights:?}");
    }
}
