//! Sampling of an uncompressed clip at another time in each call.

use std::rc::Rc;

use condyle::sampling;
use condyle::sampling::RawCursor;
use condyle::{Pose, RawClip, Skeleton, Target, Transform};
use condyle_testing::reference;

use super::{JOINTS, case, worst_joints};
use crate::data::Random;
use crate::harness::{Case, Subjects};
use crate::peers::{self, Interpolate};

/// Two keys of seven values are read, ten values written.
pub(super) fn cases() -> Vec<Case> {
    vec![case("sample_raw_67", "blocks", JOINTS, 2 * 28 + 40, build)]
}

struct Input {
    skeleton: Skeleton,
    clip: RawClip,
    times: Vec<f32>,
}

impl Input {
    /// Time of call number `call`.
    fn time(&self, call: usize) -> f32 {
        self.times[call % self.times.len()]
    }

    /// Error of the result of the call before number `next`.
    fn error(&self, got: impl Iterator<Item = Transform>, next: usize) -> f64 {
        let want = reference::sample_raw(&self.clip, &self.skeleton, self.time(next - 1).into());
        worst_joints(got, &want)
    }
}

fn build(subjects: &mut Subjects) {
    let mut random = Random(1);
    let (skeleton, clip) = (random.skeleton(JOINTS), random.clip(JOINTS));
    let times = (7..307).map(|k| k as f32 / 300.0).collect();
    let input = Rc::new(Input { skeleton, clip, times });
    let looked_at = input.clone();
    subjects.kernel(
        "condyle",
        1e-6,
        &input,
        (Pose::identity(JOINTS), RawCursor::default(), 1),
        |input, (pose, cursor, next)| {
            sampling::raw(&input.clip, &input.skeleton, input.time(*next).into(), cursor, pose)
                .expect("sizes agree");
            *next += 1;
        },
        move |(pose, _, next)| looked_at.error(pose.transforms(), *next),
    );
    peers::each_single!(peer(subjects, &input));
}

/// Loop for a peer crate: keys of whole joints, with a binary search and a slerp for each.
fn peer<J: Interpolate>(subjects: &mut Subjects, input: &Rc<Input>) {
    let clip = &input.clip;
    let times = clip.timelines()[0].clone();
    let value = |target: Target, key: usize, width: usize| {
        let track = clip.tracks().iter().find(|t| t.target == target).expect("every joint has both tracks");
        track.values[width * key..][..width].to_vec()
    };
    let keys = (0..JOINTS as u16).flat_map(|joint| (0..times.len()).map(move |key| (joint, key)));
    let keys: Vec<Transform> = keys
        .map(|(joint, key)| Transform {
            rotation: value(Target::Rotation(joint), key, 4).try_into().expect("four numbers"),
            translation: value(Target::Translation(joint), key, 3).try_into().expect("three numbers"),
            scale: [1.0; 3],
        })
        .collect();
    let joints: Vec<J> = peers::pack(&keys);
    let looked_at = input.clone();
    subjects.peer(
        J::NAME,
        (input.clone(), times, joints.clone()),
        (joints[..JOINTS].to_vec(), 1),
        |(input, times, joints), (pose, next)| {
            let seconds = input.time(*next);
            for (out, keys) in pose.iter_mut().zip(joints.chunks(times.len())) {
                let key = times.partition_point(|&t| t <= seconds).clamp(1, times.len() - 1) - 1;
                let t = ((seconds - times[key]) / (times[key + 1] - times[key])).clamp(0.0, 1.0);
                *out = keys[key].slerp(&keys[key + 1], t);
            }
            *next += 1;
        },
        move |(pose, next)| looked_at.error(peers::unpack(pose), *next),
    );
}
