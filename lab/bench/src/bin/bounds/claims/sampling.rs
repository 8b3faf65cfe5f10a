//! Uncompressed and compressed clips at a time.

use condyle::sampling::{self, RawCursor};
use condyle::{Dispatch, Interpolation, Joint, Pose, RawClip, Skeleton, Target, Track, Transform};
use condyle_encode::encode;
use condyle_encode::{EncodeOptions, Shell};
use condyle_testing::reference;

use super::{apart, quat, start_rotation, start_vector, unit, vector, worst};
use crate::climb::{Claim, Random};

/// `sampling::raw`: errors of rotations between unit keys, and between keys with a squared length of 0.97 to
/// 1.03.
const RAW_ROTATION: [f64; 2] = [2.3e-7, 7.5e-7];
/// `sampling::raw`: translations and scales with linear interpolation, relative to the larger of two keys.
const RAW_LINE: f64 = 2e-7;
/// Splines, and `sampling::raw_track`: error relative to the value, and to the sum of the magnitudes of its
/// terms.
const ROUNDED: [f64; 2] = [6e-8, 1e-14];
/// `sample` of encoded clips: error of rotations, and of translations relative to the largest key.
const CLIP: [f64; 2] = [7e-7, 3.5e-7];

/// Number of values before the keys: two key times and a sample time.
const TIMES: usize = 3;

fn start_times(random: &mut Random, case: &mut [f32]) {
    let begin = if random.below(2) == 0 { 0.0 } else { 100.0 * random.signed() };
    let end = begin + 10.0_f64.powf(random.signed());
    case[0] = begin as f32;
    case[1] = end as f32;
    case[2] = (begin + (end - begin) * random.unit()) as f32;
}

fn repair_times(case: &mut [f32]) -> bool {
    case[..3].iter().all(|v| v.abs() <= 1e3)
        && case[1] - case[0] > 1e-3
        && (case[0]..=case[1]).contains(&case[2])
}

/// Two rotations, close or arbitrary.
fn start_rotations(random: &mut Random, case: &mut [f32]) {
    start_times(random, case);
    start_rotation(random, &mut case[3..7]);
    unit(&mut case[3..7]);
    if random.below(2) == 0 {
        start_rotation(random, &mut case[7..11]);
    } else {
        let size = random.magnitude(-9.0).abs();
        for c in 0..4 {
            case[7 + c] = (f64::from(case[3 + c]) + size * random.signed()) as f32;
        }
    }
    // Approximately unit length.
    if random.below(2) == 0 {
        unit(&mut case[7..11]);
        let length = 1.0 + random.magnitude(-8.0) / 50.0;
        case[3..].iter_mut().for_each(|v| *v = (f64::from(*v) * length) as f32);
    }
}

fn clip_of(case: &[f32], target: Target, interpolation: Interpolation) -> RawClip {
    let track = Track { target, interpolation, timeline: 0, values: case[TIMES..].to_vec() };
    RawClip::new(String::new(), vec![vec![case[0], case[1]]], vec![track]).expect("keys of two times")
}

fn one_joint() -> Skeleton {
    Skeleton::new([Joint::new("", None, Transform::IDENTITY)]).expect("a root")
}

fn raw(clip: &RawClip, seconds: f32) -> Transform {
    let mut pose = Pose::identity(1);
    sampling::raw(clip, &one_joint(), seconds.into(), &mut RawCursor::default(), &mut pose)
        .expect("one joint");
    pose.get(0)
}

fn raw_rotation(case: &[f32], bound: f64) -> f64 {
    let [a, b] = [quat(&case[3..]), quat(&case[7..])].map(|q| q.map(f64::from));
    // At a right angle, rounding selects the shorter arc.
    if (0..4).map(|c| a[c] * b[c]).sum::<f64>().abs() < 1e-6 {
        return 0.0;
    }
    let clip = clip_of(case, Target::Rotation(0), Interpolation::Linear);
    apart(raw(&clip, case[2]).rotation, reference::sample_track(&clip, 0, case[2].into())) / bound
}

fn raw_line(case: &[f32]) -> f64 {
    let clip = clip_of(case, Target::Translation(0), Interpolation::Linear);
    let got = raw(&clip, case[2]).translation;
    let want: [f64; 3] = reference::sample_track(&clip, 0, case[2].into());
    let [a, b] = [vector(&case[3..]), vector(&case[6..])];
    worst((0..3).map(|c| {
        let size = f64::from(a[c].abs().max(b[c].abs()));
        if size == 0.0 { 0.0 } else { (f64::from(got[c]) - want[c]).abs() / (RAW_LINE * size) }
    }))
}

/// Spline with six values per axis: tangent, value and tangent of two keys.
fn raw_spline(case: &[f32]) -> f64 {
    let clip = clip_of(case, Target::Translation(0), Interpolation::CubicSpline);
    let got = raw(&clip, case[2]).translation;
    let want: [f64; 3] = reference::sample_track(&clip, 0, case[2].into());
    let length = f64::from(case[1]) - f64::from(case[0]);
    worst((0..3).map(|c| {
        let whole: f64 = (0..6).map(|n| f64::from(case[TIMES + 3 * n + c].abs()) * length.max(1.0)).sum();
        (f64::from(got[c]) - want[c]).abs() / (ROUNDED[0] * want[c].abs() + ROUNDED[1] * whole).max(1e-30)
    }))
}

fn raw_weight(case: &[f32]) -> f64 {
    let clip = clip_of(case, Target::Weights(0), Interpolation::Linear);
    let mut got = [0.0];
    sampling::raw_track(&clip, Target::Weights(0), case[2].into(), &mut RawCursor::default(), &mut got)
        .expect("one weight");
    let want: [f64; 1] = reference::sample_track(&clip, 0, case[2].into());
    let whole = f64::from(case[3].abs()) + f64::from(case[4].abs());
    (f64::from(got[0]) - want[0]).abs() / (ROUNDED[0] * want[0].abs() + ROUNDED[1] * whole).max(1e-30)
}

/// Number of keys of a joint at sixty frames per second. The case also has a sample time.
const FRAMES: usize = 5;
/// Values of a key: a logarithm and a translation.
const KEY: usize = 6;

fn start_clip(random: &mut Random, case: &mut [f32]) {
    case[0] = random.unit() as f32;
    let turns = 3.0 * random.unit();
    for (at, key) in case[1..].chunks_mut(KEY).enumerate() {
        start_vector(random, key);
        key[0] = (turns * at as f64 + 0.3 * random.signed()) as f32;
    }
}

fn repair_clip(case: &mut [f32]) -> bool {
    (0.0..=1.0).contains(&case[0]) && case[1..].iter().all(|v| *v == 0.0 || (1e-4..=12.0).contains(&v.abs()))
}

/// Sample of an encoded clip, compared with the exact values of its bytes.
fn clip(case: &[f32]) -> [f64; 2] {
    let keys = || case[1..].chunks(KEY);
    // Half a turn apart, rounding selects the arc between keys.
    let wide: Vec<[f64; 4]> = keys().map(|key| reference::quat_exp(vector(key).map(f64::from))).collect();
    let dot = |a: &[f64; 4], b: &[f64; 4]| (0..4).map(|c| a[c] * b[c]).sum::<f64>();
    if (0..FRAMES).any(|at| (0..at).any(|other| dot(&wide[at], &wide[other]).abs() < 0.05)) {
        return [0.0; 2];
    }
    let times = (0..keys().len()).map(|at| at as f32 / 60.0).collect();
    let tracks = [
        (Target::Rotation(0), wide.iter().flat_map(|q| q.map(|v| v as f32)).collect()),
        (Target::Translation(0), keys().flat_map(|key| vector(&key[3..])).collect()),
    ];
    let track =
        |(target, values)| Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
    let raw = RawClip::new(String::new(), vec![times], tracks.into_iter().map(track).collect());
    let options = EncodeOptions::new(1e-4, Shell::Balls(0.03));
    let skeleton = one_joint();
    let clip =
        encode(&raw.expect("finite keys"), &skeleton, &options, &mut |_| ()).expect("one joint").into_clip();
    let seconds = f64::from(case[0]) * clip.end();
    let mut pose = Pose::identity(1);
    condyle::sample(&clip, &skeleton, seconds, &mut pose).expect("one joint");
    let want = &reference::sample_clip(clip.as_bytes(), &skeleton, seconds)[0];
    let size = keys().flat_map(|key| vector(&key[3..])).fold(1e-3, |a: f64, v| a.max(f64::from(v.abs())));
    // A quaternion and its negative are the same rotation.
    let sign = (0..4).map(|c| f64::from(pose.get(0).rotation[c]) * want.rotation[c]).sum::<f64>().signum();
    [
        apart(pose.get(0).rotation, want.rotation.map(|v| v * sign)) / CLIP[0],
        apart(pose.get(0).translation, want.translation) / (CLIP[1] * size),
    ]
}

pub(super) fn claims(dispatch: Dispatch) -> Vec<Claim> {
    let claim = |what: &str,
                 bound: f64,
                 width,
                 start: fn(&mut Random, &mut [f32]),
                 repair: fn(&mut [f32]) -> bool,
                 error: fn(&[f32]) -> f64| Claim {
        what: what.into(),
        way: "",
        dispatch: Some(dispatch),
        bound,
        width,
        start,
        repair,
        error: Box::new(move |case| dispatch.scope(|| error(case))),
    };
    let vectors: fn(&mut Random, &mut [f32]) = |random, case| {
        start_times(random, case);
        case[TIMES..].chunks_mut(3).for_each(|v| start_vector(random, v));
    };
    let plain: fn(&mut [f32]) -> bool = |case| {
        repair_times(case) && case[TIMES..].iter().all(|v| *v == 0.0 || (1e-6..=1e6).contains(&v.abs()))
    };
    vec![
        claim(
            "sampling::raw, rotations",
            RAW_ROTATION[0],
            11,
            start_rotations,
            |case| repair_times(case) && case[TIMES..].chunks_mut(4).all(unit),
            |case| raw_rotation(case, RAW_ROTATION[0]),
        ),
        claim(
            "sampling::raw, rotations between keys of any length",
            RAW_ROTATION[1],
            11,
            start_rotations,
            |case| {
                let length = |q: &[f32]| q.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
                repair_times(case) && case[TIMES..].chunks(4).all(|q| (0.97..=1.03).contains(&length(q)))
            },
            |case| raw_rotation(case, RAW_ROTATION[1]),
        ),
        claim("sampling::raw, translations", RAW_LINE, TIMES + 6, vectors, plain, raw_line),
        claim("sampling::raw, splines", ROUNDED[0], TIMES + 18, vectors, plain, raw_spline),
        claim("sampling::raw_track", ROUNDED[0], TIMES + 2, vectors, plain, raw_weight),
        claim("sample, rotations", CLIP[0], 1 + FRAMES * KEY, start_clip, repair_clip, |case| clip(case)[0]),
        claim("sample, translations", CLIP[1], 1 + FRAMES * KEY, start_clip, repair_clip, |case| {
            clip(case)[1]
        }),
    ]
}
