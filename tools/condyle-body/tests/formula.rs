//! Compares bodies with the published formula in f64.

mod common;

use common::{Made, doubles, floats, npz, numbers, text};
use condyle::{Error, Pose, sampling};
use condyle_body::{BodyClip, BodyModel, BodyMotion, Workspace};
use condyle_testing::Random;
use zip::CompressionMethod;

fn motion(random: &mut Random, joints: usize, frames: usize) -> (Vec<f64>, Vec<f64>, BodyMotion) {
    let (poses, places) = (numbers(random, 3 * joints * frames, 1.5), numbers(random, 3 * frames, 2.0));
    let arrays = [
        ("poses", doubles(&[frames, 3 * joints], &poses)),
        ("trans", doubles(&[frames, 3], &places)),
        ("betas", floats(&[3], &[1.0, -2.0, 0.5])),
        ("mocap_framerate", doubles(&[], &[30.0])),
        ("gender", text("neutral")),
    ];
    let motion = BodyMotion::from_bytes("walk", npz(&arrays, CompressionMethod::Stored)).expect("a motion");
    (poses, places, motion)
}

fn worst(found: &[[f32; 3]], want: &[[f64; 3]]) -> f64 {
    let off =
        |(a, b): (&[f32; 3], &[f64; 3])| (0..3).map(|c| (f64::from(a[c]) - b[c]).abs()).fold(0.0, f64::max);
    assert_eq!(found.len(), want.len());
    found.iter().zip(want).map(off).fold(0.0, f64::max)
}

/// Tests models of published and other sizes, single poses, and batches of various sizes.
#[test]
fn vertices_are_those_of_the_formula() {
    for (joints, frames) in [(1, 3), (2, 1), (5, 40), (24, 70), (52, 5), (55, 3)] {
        let mut random = Random(joints as u64);
        let made = Made::new(joints as u64, 61, joints, 10);
        let model = BodyModel::from_bytes("made", made.bytes()).expect("a model");
        assert_eq!((model.vertex_count(), model.joint_count(), model.shape_count()), (61, joints, 10));
        let (poses, places, motion) = motion(&mut random, joints, frames);
        let body = model.shaped(motion.betas()).expect("three of ten shape coefficients");
        let clip = motion.clip(&body).expect("a clip").clip;
        let mut all = vec![Pose::rest(body.skeleton()); frames];
        for (at, pose) in all.iter_mut().enumerate() {
            let seconds = clip.timelines()[0][at];
            sampling::raw(&clip, body.skeleton(), seconds.into(), &mut sampling::RawCursor::default(), pose)
                .expect("a clip of this skeleton");
        }
        let mut workspace = Workspace::default();
        let mut out = vec![[0.0; 3]; frames * 61];
        body.vertices(&all, &mut workspace, &mut out).expect("sizes agree");
        let mut alone = vec![[0.0; 3]; 61];
        for (at, out) in out.chunks(61).enumerate() {
            let pose: Vec<[f64; 3]> = poses[3 * joints * at..][..3 * joints].as_chunks().0.to_vec();
            let place = [0, 1, 2].map(|c| places[3 * at + c]);
            let want = made.posed(&[1.0, -2.0, 0.5], &pose, place);
            // The tolerance allows for joint chains as long as the body, and for positions metres from the
            // origin.
            assert!(worst(out, &want) < 3e-5, "{joints} joints, frame {at}: {}", worst(out, &want));
            body.vertices(&all[at..=at], &mut workspace, &mut alone).expect("sizes agree");
            assert!(
                worst(&alone, &want) < 3e-5,
                "{joints} joints, frame {at} alone: {}",
                worst(&alone, &want)
            );
        }
    }
}

#[test]
fn a_body_at_rest_is_its_shape() {
    let made = Made::new(3, 20, 24, 4);
    let model = BodyModel::from_bytes("made", made.bytes()).expect("a model");
    let body = model.shaped(&[0.5, 1.0]).expect("two of four shape coefficients");
    assert_eq!(
        (body.skeleton().names()[0].as_str(), body.skeleton().names()[15].as_str()),
        ("pelvis", "head")
    );
    let mut out = vec![[0.0; 3]; 20];
    body.vertices(&[Pose::rest(body.skeleton())], &mut Workspace::default(), &mut out).expect("sizes agree");
    let wide: Vec<[f64; 3]> = body.positions().iter().map(|v| v.map(f64::from)).collect();
    assert!(worst(&out, &wide) < 1e-6);
    assert_eq!(model.triangles(), [[0, 1, 2]]);
    let mean = model.shaped(&[]).expect("no shape coefficients");
    assert!(mean.positions() != body.positions());
}

/// Tests that a model without correctives and triangles, in other number types and array orders, gives the
/// same body.
#[test]
fn what_may_be_missing_or_otherwise() {
    let made = Made { pose_dirs: vec![0.0; 3 * 20 * 9], ..Made::new(9, 20, 2, 1) };
    let whole = BodyModel::from_bytes("whole", made.bytes()).expect("a model");
    let mut arrays = made.arrays();
    arrays.retain(|(name, _)| !["posedirs", "f"].contains(name));
    let turned: Vec<f64> = (0..60).map(|at| made.template[at % 20 * 3 + at / 20]).collect();
    let data: Vec<u8> = turned.iter().flat_map(|v| v.to_be_bytes()).collect();
    arrays[0].1 = common::npy(">f8", &[20, 3], true, &data);
    let other = BodyModel::from_bytes("other", npz(&arrays, CompressionMethod::Stored)).expect("a model");
    assert!(whole.has_correctives() && !other.has_correctives());
    let (a, b) = (whole.shaped(&[1.0]).expect("a body"), other.shaped(&[1.0]).expect("a body"));
    assert_eq!(a.positions(), b.positions());
    let mut pose = Pose::rest(a.skeleton());
    let half = std::f32::consts::FRAC_1_SQRT_2;
    pose.set(1, &condyle::Transform { rotation: [half, 0.0, 0.0, half], ..pose.get(1) });
    let posed = |body: &condyle_body::ShapedBody| {
        let mut out = vec![[0.0; 3]; 20];
        body.vertices(std::slice::from_ref(&pose), &mut Workspace::default(), &mut out).expect("sizes agree");
        out
    };
    assert_eq!(posed(&a), posed(&b));
}

#[test]
fn wrong_sizes_are_refused() {
    let model = BodyModel::from_bytes("made", Made::new(1, 10, 3, 2).bytes()).expect("a model");
    let more = model.shaped(&[0.5, 1.0, 9.0]).expect("two of three shape coefficients");
    assert_eq!(more.positions(), model.shaped(&[0.5, 1.0]).expect("two shape coefficients").positions());
    assert_eq!((more.unused_betas(), model.shaped(&[]).expect("none").unused_betas()), (1, 0));
    assert!(matches!(model.shaped(&[f32::NAN]), Err(Error::NotFinite { what: "betas", at: 0 })));
    let body = model.shaped(&[]).expect("a body");
    let (pose, mut workspace) = (Pose::rest(body.skeleton()), Workspace::default());
    let short = body.vertices(&[pose], &mut workspace, &mut [[0.0; 3]; 9]);
    assert!(matches!(short, Err(Error::Length { what: "out", found: 9, needed: 10 })));
    let other = BodyModel::from_bytes("other", Made::new(1, 10, 4, 2).bytes()).expect("a model");
    let pose = Pose::rest(other.shaped(&[]).expect("a body").skeleton());
    let foreign = body.vertices(&[pose], &mut workspace, &mut [[0.0; 3]; 10]);
    assert!(matches!(foreign, Err(Error::Length { what: "pose", found: 4, needed: 3 })));
}

/// Tests that joints are matched by name if the body has another number of joints.
#[test]
fn joints_of_other_models_are_those_of_the_same_name() {
    let mut random = Random(8);
    let (_, _, hands) = motion(&mut random, 52, 2);
    for joints in [24, 55] {
        let model = BodyModel::from_bytes("made", Made::new(1, 30, joints, 3).bytes()).expect("a model");
        let body = model.shaped(&[]).expect("a body");
        let whole = BodyModel::from_bytes("made", Made::new(1, 30, 52, 3).bytes()).expect("a model");
        let own = hands.clip(&whole.shaped(&[]).expect("a body")).expect("a clip").clip;
        let BodyClip { clip, problems, .. } = hands.clip(&body).expect("a clip");
        // SMPL has no fingers.
        let left_out = problems.iter().map(|it| it.what.matches('_').count()).sum::<usize>();
        assert_eq!(left_out, if joints == 24 { 30 } else { 0 }, "{problems:?}");
        let turned: Vec<&str> = clip
            .tracks()
            .iter()
            .filter_map(|track| match track.target {
                condyle::Target::Rotation(joint) => {
                    Some(body.skeleton().names()[usize::from(joint)].as_str())
                }
                _ => None,
            })
            .collect();
        assert_eq!(turned.len(), if joints == 24 { 22 } else { 52 });
        assert!(!turned.contains(&"jaw") && !turned.contains(&"right_hand"), "{turned:?}");
        let wrist = |skeleton: &condyle::Skeleton| {
            skeleton.joint_by_name("right_wrist").expect("every joint has a track")
        };
        let values = |clip: &condyle::RawClip, joint| {
            let track = clip.tracks().iter().find(|track| track.target == condyle::Target::Rotation(joint));
            track.expect("a rotation track").values.clone()
        };
        let there = whole.shaped(&[]).expect("a body");
        assert_eq!(values(&clip, wrist(body.skeleton())), values(&own, wrist(there.skeleton())));
    }
}
