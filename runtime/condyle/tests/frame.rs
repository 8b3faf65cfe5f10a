//! A frame of a character allocates nothing, `clone_from` reuses memory, and parts of other models are
//! rejected.

use condyle::blending::{self, Additive, Mean};
use condyle::frames::{Frames, FramesOptions};
use condyle::{
    Affine, Clip, Error, FrameLayer, Influences, Interpolation, Joint, Layer, NormalRule, Palette, Pose,
    RawClip, Skeleton, Skin, Target, Track, Transform, Vertices, local_to_model, sample, sample_frames,
    sampling, skin, skinning,
};
use condyle_encode::encode;
use condyle_encode::{EncodeOptions, Shell};
use condyle_solve::{Aim, TwoBone};

/// More than one block of 16, and not a multiple of a lane count.
const JOINTS: usize = 19;

/// A pseudo-random number from -1 to 1 for each index.
fn number(place: usize) -> f32 {
    (place as f32 * 12.9898).sin()
}

fn turn(place: usize) -> [f32; 4] {
    let v = [0, 1, 2].map(|axis| 0.6 * number(3 * place + axis));
    let length = (1.0 + v.iter().map(|v| v * v).sum::<f32>()).sqrt();
    [v[0] / length, v[1] / length, v[2] / length, 1.0 / length]
}

/// A model with its clips, skin, additive pose and masks.
struct Model {
    skeleton: Skeleton,
    clips: Vec<Clip<'static>>,
    /// Same clips, unpacked.
    frames: Vec<Frames>,
    skin: Skin,
    breath: Pose,
    mask: Vec<f32>,
    wanted: Vec<bool>,
}

impl Model {
    fn new() -> Self {
        let joint = |at: usize| {
            let rest = Transform {
                rotation: turn(at),
                translation: [number(at), 0.4, number(at + 7)],
                scale: [1.0; 3],
            };
            Joint::new(format!("joint {at}"), (at > 0).then(|| (at as u16 - 1) / 2), rest)
        };
        let skeleton = Skeleton::new((0..JOINTS).map(joint)).expect("parents before children");
        let clip = |seed: usize| {
            let times: Vec<f32> = (0..=20).map(|key| key as f32 / 10.0).collect();
            let track = |joint: usize| Track {
                target: Target::Rotation(joint as u16),
                interpolation: Interpolation::Linear,
                timeline: 0,
                values: (0..times.len()).flat_map(|key| turn(seed + joint + 2 * key)).collect(),
            };
            let tracks = (0..JOINTS).map(track).collect();
            let raw = RawClip::new(format!("clip {seed}"), vec![times.clone()], tracks).expect("a clip");
            let encoded = encode(&raw, &skeleton, &EncodeOptions::new(1e-2, Shell::Balls(0.03)), &mut |_| ())
                .expect("a clip");
            encoded.into_clip()
        };
        let clips: Vec<Clip<'static>> = (0..4).map(clip).collect();
        let options = FramesOptions::new(&skeleton, 1e-2, 0.03);
        let unpack = |clip: &Clip<'_>| clip.to_frames(&skeleton, &options).expect("evenly spaced keys");
        let bind = (0..JOINTS - 2)
            .map(|at| Transform { translation: [number(at), 1.0, 0.0], ..Transform::IDENTITY }.into());
        let breaths: Vec<_> =
            (0..JOINTS).map(|at| Transform { rotation: turn(at + 50), ..Transform::IDENTITY }).collect();
        Self {
            frames: clips.iter().map(unpack).collect(),
            clips,
            // A subset of the joints, in reverse order.
            skin: Skin::new((2..JOINTS as u16).rev().collect(), bind.collect()).expect("a matrix each"),
            breath: Pose::from_transforms(&breaths),
            mask: (0..JOINTS).map(|joint| number(joint).abs()).collect(),
            wanted: (0..JOINTS).map(|joint| joint % 3 != 1).collect(),
            skeleton,
        }
    }
}

/// Output buffers of a frame.
struct Frame {
    poses: [Pose; 3],
    model: Vec<Affine>,
    rows: Vec<Affine>,
    columns: Vec<[f32; 16]>,
}

impl Frame {
    fn new(model: &Model) -> Self {
        let matrices = model.skin.joints().len();
        Self {
            poses: [(); 3].map(|()| Pose::rest(&model.skeleton)),
            model: vec![Affine::IDENTITY; JOINTS],
            rows: vec![Affine::IDENTITY; matrices],
            columns: vec![[0.0; 16]; matrices],
        }
    }

    /// Two clips, one of them partial, then blend, two unpacked clips, additive, overlay, limb, look-at and
    /// two palettes.
    fn run(&mut self, cast: &Model, at: usize) -> Result<(), Error> {
        let Self { poses: [a, b, pose], model, rows, columns } = self;
        let (skeleton, seconds) = (&cast.skeleton, f64::from(1.0 + number(at)));
        sample(&cast.clips[at % 4], skeleton, seconds, a)?;
        sampling::partial(&cast.clips[(at + 1) % 4], skeleton, seconds, &cast.wanted, b)?;
        let layers = [Layer::new(a, 0.3), Layer::new(b, 0.7)];
        condyle::blend(skeleton, &layers, Mean::Linear, pose)?;
        let layer = |clip: usize| FrameLayer::new(&cast.frames[clip % 4], seconds, 0.5);
        let masked = FrameLayer { mask: Some(&cast.mask), ..layer(at + 2) };
        sample_frames(skeleton, &[layer(at + 1), masked], a)?;
        let breath = [Additive { mask: Some(&cast.mask), ..Additive::new(&cast.breath, number(at)) }];
        blending::add(None, &breath, pose)?;
        blending::overlay(None, a, 0.5, Some(&cast.mask), pose)?;
        local_to_model(skeleton, pose, model)?;
        let reach = TwoBone { pole: Some([0.0, 0.3, 1.0]), ..TwoBone::new([1, 3, 7], [0.3, 0.2, 0.1]) };
        condyle_solve::two_bone(skeleton, model, &reach, pose)?;
        condyle_solve::aim(skeleton, model, &Aim::new(2, [0.0, 0.0, 1.0], [number(at), 3.0, 0.5]), pose)?;
        skinning::palette_rows(&cast.skin, model, rows)?;
        skinning::palette_columns(&cast.skin, model, columns)
    }
}

#[test]
fn nothing_is_allocated_in_a_frame() {
    let cast = Model::new();
    let mut frame = Frame::new(&cast);
    let made = allocation_counter::measure(|| drop(Frame::new(&cast)));
    let frames =
        allocation_counter::measure(|| (0..4).for_each(|at| frame.run(&cast, at).expect("sizes agree")));
    assert!(made.count_total > 0, "the allocation counter is active");
    assert_eq!(frames.count_total, 0, "{frames:?}");
}

#[test]
fn dual_quaternions_allocate_once_too() {
    let cast = Model::new();
    let vertices = 500;
    let rows = (0..vertices).map(|v| [0, 1, 5].map(|k| (((v + k) % cast.skin.joints().len()) as u16, 0.25)));
    let influences = Influences::from_rows(rows).expect("finite");
    let bind = Vertices {
        positions: vec![[1.0, 2.0, 3.0]; vertices],
        normals: vec![[0.0, 1.0, 0.0]; vertices],
        tangents: vec![[1.0, 0.0, 0.0, 1.0]; vertices],
    };
    let mut posed = Vertices::zeroed_like(&bind);
    let mut model = vec![Affine::IDENTITY; JOINTS];
    local_to_model(&cast.skeleton, cast.skeleton.rest(), &mut model).expect("sizes agree");
    let mut matrices = Palette::default();
    let mut frame = |scale: f32| {
        // One joint has a non-uniform scale, so the palette also has stretch matrices and inverse transposes.
        model[JOINTS / 2].rows[0][0] *= scale;
        skinning::palette_dual(&cast.skin, &model, NormalRule::default(), &mut matrices)?;
        skin(&influences, &matrices, bind.as_slices(), posed.as_slices_mut())
    };
    let first = allocation_counter::measure(|| frame(1.5).expect("sizes agree"));
    let later = allocation_counter::measure(|| (0..3).for_each(|_| frame(1.1).expect("sizes agree")));
    assert!(first.count_total > 0, "the allocation counter is active");
    assert_eq!(later.count_total, 0, "{later:?}");
}

/// Buffers that are copied each frame keep their memory, even if the source is smaller.
#[test]
fn clone_from_keeps_the_memory() {
    let cast = Model::new();
    let mut model = vec![Affine::IDENTITY; JOINTS];
    local_to_model(&cast.skeleton, cast.skeleton.rest(), &mut model).expect("sizes agree");
    model[JOINTS / 2].rows[0][0] *= 1.5;
    let palettes = [&cast.skin, &Skin::new(vec![2], vec![Affine::IDENTITY]).expect("a joint")].map(|bound| {
        let mut matrices = Palette::default();
        skinning::palette_dual(bound, &model, NormalRule::default(), &mut matrices).expect("sizes agree");
        matrices
    });
    let poses = [JOINTS, 1, 2 * JOINTS].map(Pose::identity);
    let vertices = [500, 7].map(|count| Vertices {
        positions: vec![[1.0, 2.0, 3.0]; count],
        normals: vec![[0.0, 1.0, 0.0]; count],
        tangents: vec![[1.0, 0.0, 0.0, 1.0]; count],
    });
    let (mut pose, mut posed, mut matrices) = (poses[2].clone(), vertices[0].clone(), palettes[0].clone());
    let copied = allocation_counter::measure(|| {
        for at in [1, 0] {
            pose.clone_from(&poses[at]);
            posed.clone_from(&vertices[at]);
            matrices.clone_from(&palettes[at]);
            assert!(posed == vertices[at] && matrices == palettes[at]);
            assert_eq!(pose.joint_count(), poses[at].joint_count());
        }
    });
    assert_eq!(copied.count_total, 0, "{copied:?}");
    assert!(!matrices.dual_quats().is_empty() && matrices.dual_quats() == palettes[0].dual_quats());
}

/// Pairs a skin with the matrices of another model, and a mesh with the palette of another one.
#[test]
fn parts_of_other_models_are_refused() {
    let cast = Model::new();
    let mut matrices = Palette::default();
    // A joint count above that of the skin's skeleton, or below it but sufficient for the skin.
    let last = usize::from(*cast.skin.joints().iter().max().expect("joints"));
    for joints in [JOINTS + 1, last + 1].into_iter().filter(|&joints| joints != JOINTS) {
        let model = vec![Affine::IDENTITY; joints];
        let mut rows = vec![Affine::IDENTITY; cast.skin.joints().len()];
        let bound = cast.skin.clone().for_skeleton(&cast.skeleton).expect("joints of this skeleton");
        let refused = [
            condyle::palette(&bound, &model, NormalRule::default(), &mut matrices),
            skinning::palette_dual(&bound, &model, NormalRule::default(), &mut matrices),
            skinning::palette_rows(&bound, &model, &mut rows),
        ];
        for found in refused {
            assert!(
                matches!(found, Err(Error::Length { found, needed: JOINTS, .. }) if found == joints),
                "{found:?}"
            );
        }
    }
    let model = vec![Affine::IDENTITY; JOINTS];
    condyle::palette(&cast.skin, &model, NormalRule::default(), &mut matrices).expect("sizes agree");
    let bind = Vertices { positions: vec![[1.0, 2.0, 3.0]; 4], ..Vertices::default() };
    let mut posed = Vertices::zeroed_like(&bind);
    let own = cast.skin.joints().len();
    let mut pose =
        |influences: &Influences| skin(influences, &matrices, bind.as_slices(), posed.as_slices_mut());
    pose(&Influences::rigid(4)).expect("influences that are not bound to a skin");
    pose(&Influences::rigid(4).for_skin_of(own).expect("enough joints")).expect("joints of this skeleton");
    for other in [own + 1, 1].into_iter().filter(|&other| other != own) {
        let refused = pose(&Influences::rigid(4).for_skin_of(other).expect("enough joints"));
        assert!(
            matches!(refused, Err(Error::Length { found, needed, .. }) if (found, needed) == (own, other)),
            "{refused:?}"
        );
    }
    let named = Influences::from_rows([[(5, 1.0)]]).expect("finite");
    assert!(matches!(named.for_skin_of(5), Err(Error::TooShort { .. })));
}
