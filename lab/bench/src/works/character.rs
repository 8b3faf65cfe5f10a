//! Whole characters: two clips are sampled and blended, then model space and a palette are computed. One
//! character alone or many, each with separate clips and times, on one thread and on two.

use std::rc::Rc;

use condyle::blending::Mean;
use condyle::skinning::palette_columns;
use condyle::{
    Affine, Dispatch, FrameLayer, Layer, Pose, Skin, Transform, local_to_model, sample, sample_frames,
};
use condyle_testing::reference;
use rayon::prelude::*;

use super::clip::{BOUND, FORMS, Input, key, random_key};
use super::{FRAMES, JOINTS, case, largest, pose, worst_matrices};
use crate::data::Random;
use crate::harness::{Case, Room, Subjects};
#[cfg(feature = "peers")]
use crate::peers::{self, Chain, FromMatrices, Interpolate};

/// Number of clips.
const CLIPS: usize = 32;
/// Parts of a crowd per thread, because some parts take longer than others.
const PARTS: usize = 16;
/// Times of a single character, used in turn.
const MOMENTS: usize = 121;

/// Each joint reads two clips and writes a palette entry.
pub(super) fn cases() -> Vec<Case> {
    let cases = [
        ("character_1_alone", 1, 1),
        ("character_25_alone", 25, 1),
        ("character_67_alone", JOINTS, 1),
        ("character_67_crowd1000", JOINTS, 1000),
        ("character_67_crowd10000", JOINTS, 10_000),
    ];
    let case = |(work, joints, count): (_, usize, usize)| {
        let count = if cfg!(test) { count.min(50) } else { count };
        let bytes = joints * (2 * 4 * 2 + 64);
        case(work, "blocks", count, bytes, move |subjects| characters(subjects, joints, count))
    };
    cases.map(case).into()
}

/// Clips, two times per character, and the skin.
struct Cast {
    input: Input,
    skin: Skin,
}

impl Cast {
    /// The two clips of a character, each with its time.
    fn plays(&self, character: usize) -> [(usize, f32); 2] {
        [2 * character, 2 * character + 1].map(|at| self.input.moment(at))
    }

    /// Difference between the palette of a character and the reference.
    fn error(&self, character: usize, palette: impl Iterator<Item = Affine>) -> f64 {
        let Input { skeleton, raw, .. } = &self.input;
        let [a, b] = self
            .plays(character)
            .map(|(clip, seconds)| pose(&reference::sample_raw(&raw[clip], skeleton, seconds.into())));
        let half = vec![0.5; skeleton.joint_count()];
        let blended = reference::blend(skeleton.rest(), &[(&a, half.clone()), (&b, half)], true);
        let model = reference::local_to_model(skeleton, &blended);
        worst_matrices(palette, &reference::palette(&self.skin, &model))
    }
}

/// Buffers of condyle, for characters of `joints` joints: per character a pose for each clip, their mean and
/// matrices, and the palettes of all characters.
#[derive(Clone)]
struct Buffers {
    joints: usize,
    poses: [Vec<Pose>; 3],
    models: Vec<Affine>,
    palettes: Vec<[f32; 16]>,
    calls: usize,
}

/// Output of consecutive characters. `first` is the number of the first one, counted over all calls.
struct Part<'a> {
    first: usize,
    poses: [&'a mut [Pose]; 3],
    models: &'a mut [Affine],
    palettes: &'a mut [[f32; 16]],
}

impl Buffers {
    /// First character of the next call.
    fn next(&mut self) -> usize {
        self.calls += 1;
        (self.calls - 1) * self.palettes.len() / self.joints
    }

    /// All characters in one part.
    fn whole(&mut self) -> Part<'_> {
        let first = self.next();
        let Self { poses, models, palettes, .. } = self;
        Part { first, poses: poses.each_mut().map(|poses| &mut poses[..]), models, palettes }
    }

    /// Splits the characters into parts for the threads of the pool.
    fn parts(&mut self, work: impl Fn(Part<'_>) + Sync) {
        let first = self.next();
        let Self { joints, poses: [a, b, mean], models, palettes, .. } = self;
        let width = a.len().div_ceil(PARTS * rayon::current_num_threads());
        let dispatch = Dispatch::current();
        let parts = (
            palettes.par_chunks_mut(width * *joints),
            models.par_chunks_mut(width * *joints),
            a.par_chunks_mut(width),
            b.par_chunks_mut(width),
            mean.par_chunks_mut(width),
        );
        let parts = parts.into_par_iter().enumerate();
        parts.for_each(|(part, (palettes, models, a, b, mean))| {
            let first = first + part * width;
            dispatch.scope(|| work(Part { first, poses: [a, b, mean], models, palettes }));
        });
    }
}

fn characters(subjects: &mut Subjects, joints: usize, count: usize) {
    let clips = if count == 1 { 2 } else { CLIPS };
    let moments = if count == 1 { MOMENTS } else { count };
    let input = Input::new(joints, clips, |random| {
        let clip = |random: &mut Random| (random.range(0.0, clips as f32) as usize).min(clips - 1);
        (0..2 * moments).map(|_| (clip(random), key(random_key(random)))).collect()
    });
    let cast = Rc::new(Cast { skin: Random(4).skin(joints), input });
    let room = Room::new(Buffers {
        joints,
        poses: [(); 3].map(|()| vec![Pose::identity(joints); count]),
        models: vec![Affine::IDENTITY; count * joints],
        palettes: vec![[0.0; 16]; count * joints],
        calls: 0,
    });
    let looked_at = cast.clone();
    let wrong = move |buffers: &Buffers| {
        let palettes = buffers.palettes.chunks(joints).enumerate().step_by(97);
        largest(palettes.map(|(character, palette)| {
            let character = character + buffers.calls.saturating_sub(1) * count;
            looked_at.error(character, palette.iter().map(Affine::from_columns))
        }))
    };
    for form in FORMS {
        let call = move |cast: &Cast, buffers: &mut Buffers| one_by_one(cast, form, buffers.whole());
        subjects.kernel_in(&room, form, BOUND, &cast, call, wrong.clone());
        if count > 1 {
            let call = move |cast: &Cast, buffers: &mut Buffers| {
                buffers.parts(|part| one_by_one(cast, form, part));
            };
            subjects.kernel_on(&room.on(2), form, BOUND, &cast, call, wrong.clone());
        }
    }
    #[cfg(feature = "peers")]
    {
        peer::<peers::glam::Joint>(subjects, "glam_keys", &cast, count, keys);
        peer::<peers::glam::Joint>(subjects, "glam_frames", &cast, count, frames);
    }
}

/// Poses each character in the same buffers.
fn one_by_one(cast: &Cast, form: &str, Part { first, poses, models, palettes, .. }: Part<'_>) {
    let Cast { input, skin } = cast;
    let [a, b, mean] = poses.map(|poses| &mut poses[0]);
    let joints = input.skeleton.joint_count();
    let models = &mut models[..joints];
    for (character, palette) in (first..).zip(palettes.chunks_mut(joints)) {
        let plays = cast.plays(character);
        if form == FRAMES {
            let layers =
                plays.map(|(clip, seconds)| FrameLayer::new(&input.frames[clip], seconds.into(), 0.5));
            sample_frames(&input.skeleton, &layers, mean).expect("sizes agree");
        } else {
            for ((clip, seconds), pose) in plays.into_iter().zip([&mut *a, &mut *b]) {
                sample(&input.clips[clip], &input.skeleton, seconds.into(), pose).expect("sizes agree");
            }
            let layers = [Layer::new(a, 0.5), Layer::new(b, 0.5)];
            condyle::blend(&input.skeleton, &layers, Mean::Linear, mean).expect("sizes agree");
        }
        local_to_model(&input.skeleton, mean, models).expect("sizes agree");
        palette_columns(skin, models, palette).expect("sizes agree");
    }
}

/// Function that samples all joints of a clip at a time, for a peer.
#[cfg(feature = "peers")]
type Sample<J> = fn(&Keys<J>, f32, &mut [J]);

/// Keys of a clip, per joint or per frame.
#[cfg(feature = "peers")]
struct Keys<J> {
    times: Vec<f32>,
    keys: Vec<J>,
}

/// Samples keys per joint, with a binary search and a slerp for each.
#[cfg(feature = "peers")]
fn keys<J: Interpolate>(clip: &Keys<J>, seconds: f32, out: &mut [J]) {
    let count = clip.times.len();
    for (joint, out) in out.iter_mut().enumerate() {
        let (key, t) = between(&clip.times, seconds);
        let keys = &clip.keys[joint * count..][..count];
        *out = keys[key].slerp(&keys[key + 1], t);
    }
}

/// Samples whole frames, with one search for all joints and an nlerp.
#[cfg(feature = "peers")]
fn frames<J: Interpolate>(clip: &Keys<J>, seconds: f32, out: &mut [J]) {
    let (key, t) = between(&clip.times, seconds);
    let (from, to) = (&clip.keys[key * out.len()..], &clip.keys[(key + 1) * out.len()..]);
    for ((out, from), to) in out.iter_mut().zip(from).zip(to) {
        *out = from.nlerp(to, t);
    }
}

#[cfg(feature = "peers")]
fn between(times: &[f32], seconds: f32) -> (usize, f32) {
    let key = times.partition_point(|&t| t <= seconds).clamp(1, times.len() - 1) - 1;
    (key, ((seconds - times[key]) / (times[key + 1] - times[key])).clamp(0.0, 1.0))
}

/// Loop for a peer crate: mean of two poses by nlerp, a product per joint, and one for the palette.
#[cfg(feature = "peers")]
fn peer<J: Interpolate + Chain + FromMatrices>(
    subjects: &mut Subjects,
    name: &'static str,
    cast: &Rc<Cast>,
    count: usize,
    sample: Sample<J>,
) {
    let Input { raw, skeleton, .. } = &cast.input;
    let joint_count = skeleton.joint_count();
    let clips: Vec<Keys<J>> = raw
        .iter()
        .map(|raw| {
            let times = raw.timelines()[0].clone();
            let poses = times.iter().map(|&time| reference::sample_raw(raw, skeleton, time.into()));
            let frames: Vec<Vec<Transform>> = poses.map(|it| pose(&it).transforms().collect()).collect();
            let joints = if name == "glam_frames" {
                frames.concat()
            } else {
                (0..joint_count).flat_map(|joint| frames.iter().map(move |frame| frame[joint])).collect()
            };
            Keys { keys: peers::pack(&joints), times }
        })
        .collect();
    let parents: Vec<Option<usize>> =
        (0..joint_count).map(|j| skeleton.parent(j as u16).map(usize::from)).collect();
    let bind: Vec<J::Matrix> = cast.skin.inverse_bind().iter().map(J::pack_matrix).collect();
    let joints: Vec<J> = peers::pack(&vec![Transform::IDENTITY; joint_count]);
    let matrices = vec![bind[0]; joint_count];
    let looked_at = cast.clone();
    subjects.peer(
        name,
        (cast.clone(), clips, parents, bind),
        ((joints.clone(), joints), matrices.clone(), vec![matrices[0]; count * joint_count], 0_usize),
        move |(cast, clips, parents, bind), ((a, b), model, palettes, calls)| {
            for (character, palette) in palettes.chunks_mut(joint_count).enumerate() {
                let [first, second] = cast.plays(*calls * count + character);
                sample(&clips[first.0], first.1, a);
                sample(&clips[second.0], second.1, b);
                for (joint, (a, b)) in a.iter().zip(&*b).enumerate() {
                    let local = a.nlerp(b, 0.5).to_matrix();
                    model[joint] = parents[joint].map_or(local, |parent| J::concat(&model[parent], &local));
                }
                for ((out, model), bind) in palette.iter_mut().zip(&*model).zip(bind) {
                    *out = J::concat(model, bind);
                }
            }
            *calls += 1;
        },
        move |(_, _, palettes, calls)| {
            let all = palettes.chunks(joint_count).enumerate().step_by(97);
            largest(all.map(|(character, palette)| {
                let character = character + calls.saturating_sub(1) * count;
                looked_at.error(character, palette.iter().flat_map(J::rows))
            }))
        },
    );
}
