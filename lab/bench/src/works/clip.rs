//! Sampling of a compressed clip at the next, the previous or a random time, and of many characters.

use std::rc::Rc;

use condyle::frames::{Frames, FramesOptions};
use condyle::{Clip, FrameLayer, Pose, RawClip, Skeleton, Target, Transform, sample, sample_frames};
use condyle_encode::encode;
use condyle_encode::{EncodeOptions, Shell};
use condyle_testing::reference;

use super::{FRAMES, JOINTS, case, worst_joints};
use crate::data::Random;
use crate::harness::{Case, Room, Subjects};
use crate::peers::{self, Interpolate};

/// Error limit in a component of a joint. The budget is a millimetre on points 3 cm from the joint.
pub(super) const BOUND: f64 = 0.1;
const CLIPS: usize = 64;
const CHARACTERS: usize = if cfg!(test) { 50 } else { 1000 };

/// Forms of a clip. `condyle` is the compressed one.
pub(super) const FORMS: [&str; 2] = ["condyle", FRAMES];

#[derive(Clone, Copy)]
enum Order {
    Forward,
    Backward,
    Random,
}

/// Reads four rows of about two bytes per joint, and writes ten values.
pub(super) fn cases() -> Vec<Case> {
    let bytes = 4 * 2 + 40;
    let mut cases = Vec::new();
    for (work, order) in [
        ("sample_67_forward", Order::Forward),
        ("sample_67_backward", Order::Backward),
        ("sample_67_random", Order::Random),
    ] {
        cases.push(case(work, "blocks", JOINTS, bytes, move |subjects| one(subjects, order)));
    }
    cases.push(case("sample_67_fallback", "blocks", JOINTS, 2 * 28 + 40, fallback));
    let two_bytes_a_number = 2 * 4 * 2;
    for (work, layers, masked) in [
        ("layers_67_of_2", 2, false),
        ("layers_67_of_3", 3, false),
        ("layers_67_of_4", 4, false),
        ("layers_67_masked", 2, true),
    ] {
        let bytes = layers * two_bytes_a_number + 40;
        cases.push(case(work, "blocks", JOINTS, bytes, move |subjects| layered(subjects, layers, masked)));
    }
    cases.push(case("sample_67_crowd", "blocks", JOINTS * CHARACTERS, bytes, crowd));
    cases
}

pub(super) struct Input {
    pub(super) skeleton: Skeleton,
    pub(super) raw: Vec<RawClip>,
    pub(super) clips: Vec<Clip<'static>>,
    /// Same clips, unpacked.
    pub(super) frames: Vec<Frames>,
    /// Clip and time of each call or character.
    moments: Vec<(usize, f32)>,
}

impl Input {
    pub(super) fn new(
        joints: usize,
        clips: usize,
        moments: impl Fn(&mut Random) -> Vec<(usize, f32)>,
    ) -> Self {
        let mut random = Random(1);
        let skeleton = random.skeleton(joints);
        let raw: Vec<RawClip> = (0..clips).map(|_| random.motion(&skeleton)).collect();
        let mut options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
        options.between = false;
        let clip = |raw| encode(raw, &skeleton, &options, &mut |_| ()).expect("a valid clip").into_clip();
        let clips: Vec<_> = raw.iter().map(clip).collect();
        // From the raw clips, as in a tool that does not encode.
        let options = FramesOptions::new(&skeleton, 1e-3, 0.03);
        let unpack = |raw: &RawClip| raw.to_frames(&skeleton, &options).expect("evenly spaced keys");
        let frames = raw.iter().map(unpack).collect();
        Self { clips, frames, moments: moments(&mut random), skeleton, raw }
    }

    /// Samples a clip in one of the [`FORMS`].
    pub(super) fn sample(&self, form: &str, (clip, seconds): (usize, f32), pose: &mut Pose) {
        if form == FRAMES {
            let layer = FrameLayer::new(&self.frames[clip], seconds.into(), 1.0);
            sample_frames(&self.skeleton, &[layer], pose)
        } else {
            sample(&self.clips[clip], &self.skeleton, seconds.into(), pose)
        }
        .expect("sizes agree");
    }

    /// Clip and time of call number `call`.
    pub(super) fn moment(&self, call: usize) -> (usize, f32) {
        self.moments[call % self.moments.len()]
    }

    fn error(&self, got: impl Iterator<Item = Transform>, (clip, seconds): (usize, f32)) -> f64 {
        worst_joints(got, &reference::sample_raw(&self.raw[clip], &self.skeleton, seconds.into()))
    }
}

/// Time of a key, where the encoder holds its budget.
pub(super) fn key(k: usize) -> f32 {
    k as f32 / 30.0
}

fn one(subjects: &mut Subjects, order: Order) {
    let input = Rc::new(Input::new(JOINTS, 1, |random| {
        let frame = |k: usize| match order {
            Order::Forward => k,
            Order::Backward => 120 - k,
            Order::Random => random_key(random),
        };
        (0..121).map(frame).map(|k| (0, key(k))).collect()
    }));
    for form in FORMS {
        let looked_at = input.clone();
        subjects.kernel(
            form,
            BOUND,
            &input,
            (Pose::identity(JOINTS), 1),
            move |input, (pose, next)| {
                input.sample(form, input.moment(*next), pose);
                *next += 1;
            },
            move |(pose, next)| looked_at.error(pose.transforms(), looked_at.moment(*next - 1)),
        );
    }
    peers::each_single!(peer(subjects, &input));
}

/// Samples a clip whose tracks are all stored as raw keys, because no curve meets the budget.
fn fallback(subjects: &mut Subjects) {
    let mut input = Input::new(JOINTS, 1, |random| (0..121).map(|_| (0, key(random_key(random)))).collect());
    let mut options = EncodeOptions::new(1e-9, Shell::Balls(0.03));
    options.between = false;
    let encoded = encode(&input.raw[0], &input.skeleton, &options, &mut |_| ()).expect("a valid clip");
    assert_eq!(encoded.fallback.len(), input.raw[0].tracks().len(), "all tracks are fallback tracks");
    input.clips = vec![encoded.into_clip()];
    let input = Rc::new(input);
    let looked_at = input.clone();
    subjects.kernel(
        "condyle",
        1e-6,
        &input,
        (Pose::identity(JOINTS), 1),
        |input, (pose, next)| {
            input.sample("condyle", input.moment(*next), pose);
            *next += 1;
        },
        move |(pose, next)| looked_at.error(pose.transforms(), looked_at.moment(*next - 1)),
    );
}

/// Samples and blends unpacked clips in one call, at random times. With masks, the last layer moves every
/// second joint only.
fn layered(subjects: &mut Subjects, layers: usize, masked: bool) {
    let input = Rc::new(Input::new(JOINTS, layers, |random| {
        (0..121 * layers).map(|at| (at % layers, key(random_key(random)))).collect()
    }));
    let mask: Vec<f32> = (0..JOINTS).map(|joint| (joint % 2) as f32).collect();
    let weight = |layer: usize| (layer + 1) as f32;
    let looked_at = input.clone();
    let mask_of = mask.clone();
    subjects.kernel(
        FRAMES,
        BOUND,
        &Rc::new((input, mask)),
        (Pose::identity(JOINTS), 1),
        move |(input, mask), (pose, next)| {
            let list: [_; 4] = std::array::from_fn(|layer| {
                let (clip, seconds) = input.moment(*next * layers + layer);
                let mut it = FrameLayer::new(&input.frames[clip], seconds.into(), weight(layer));
                it.mask = (masked && layer + 1 == layers).then_some(&mask[..]);
                it
            });
            sample_frames(&input.skeleton, &list[..layers], pose).expect("sizes agree");
            *next += 1;
        },
        move |(pose, next)| {
            let Input { raw, skeleton, .. } = &*looked_at;
            let posed: Vec<Pose> = (0..layers)
                .map(|layer| {
                    let (clip, seconds) = looked_at.moment((*next - 1) * layers + layer);
                    super::pose(&reference::sample_raw(&raw[clip], skeleton, seconds.into()))
                })
                .collect();
            let within = |layer: usize, joint: usize| {
                let part = if masked && layer + 1 == layers { mask_of[joint] } else { 1.0 };
                f64::from(weight(layer) * part)
            };
            let weighted: Vec<_> = (0..)
                .zip(&posed)
                .map(|(layer, pose)| (pose, (0..JOINTS).map(|joint| within(layer, joint)).collect()))
                .collect();
            worst_joints(pose.transforms(), &reference::blend(skeleton.rest(), &weighted, true))
        },
    );
}

pub(super) fn random_key(random: &mut Random) -> usize {
    (random.range(0.0, 121.0) as usize).min(120)
}

/// Loop for a peer crate: keys per joint, a binary search and a slerp.
fn peer<J: Interpolate>(subjects: &mut Subjects, input: &Rc<Input>) {
    let (clip, rest) = (&input.raw[0], input.skeleton.rest());
    let times = clip.timelines()[0].clone();
    let values = |target: Target| clip.tracks().iter().find(|t| t.target == target).map(|t| &t.values);
    let mut keys = Vec::new();
    for joint in 0..JOINTS {
        let rotations = values(Target::Rotation(joint as u16)).expect("every joint turns").as_chunks::<4>().0;
        let translations = values(Target::Translation(joint as u16)).map(|v| v.as_chunks::<3>().0);
        for (key, &rotation) in rotations.iter().enumerate() {
            let mut t = rest.get(joint);
            t.rotation = rotation;
            t.translation = translations.map_or(t.translation, |v| v[key]);
            keys.push(t);
        }
    }
    let joints: Vec<J> = peers::pack(&keys);
    let looked_at = input.clone();
    subjects.peer(
        J::NAME,
        (input.clone(), times, joints.clone()),
        (joints[..JOINTS].to_vec(), 1),
        |(input, times, joints), (pose, next)| {
            let seconds = input.moment(*next).1;
            for (out, keys) in pose.iter_mut().zip(joints.chunks(times.len())) {
                let key = times.partition_point(|&t| t <= seconds).clamp(1, times.len() - 1) - 1;
                let t = ((seconds - times[key]) / (times[key + 1] - times[key])).clamp(0.0, 1.0);
                *out = keys[key].slerp(&keys[key + 1], t);
            }
            *next += 1;
        },
        move |(pose, next)| looked_at.error(peers::unpack(pose), looked_at.moment(*next - 1)),
    );
}

/// Samples many characters, each at a separate time of one of many clips.
fn crowd(subjects: &mut Subjects) {
    let input = Rc::new(Input::new(JOINTS, CLIPS, |random| {
        let clip = |random: &mut Random| (random.range(0.0, CLIPS as f32) as usize).min(CLIPS - 1);
        (0..CHARACTERS).map(|_| (clip(random), key(random_key(random)))).collect()
    }));
    let room = Room::new(vec![Pose::identity(JOINTS); CHARACTERS]);
    for form in FORMS {
        let looked_at = input.clone();
        subjects.kernel_on(
            &room,
            form,
            BOUND,
            &input,
            move |input, poses| {
                for (&moment, pose) in input.moments.iter().zip(poses) {
                    input.sample(form, moment, pose);
                }
            },
            move |poses| {
                let errors = poses.iter().zip(&looked_at.moments).step_by(97);
                super::largest(errors.map(|(pose, &moment)| looked_at.error(pose.transforms(), moment)))
            },
        );
    }
}
