//! A frame of a crowd: two thousand spectators who sit and cheer, in less detail the farther they are, up to the palettes
//! that a GPU skins with.
//!
//! ```text
//! cargo run --release --example crowd
//! ```

use std::f32::consts::TAU;

use condyle::blend::{self, Additive, Mean};
use condyle::encode::{EncodeOptions, Shell};
use condyle::model::{self, CrowdBuffer};
use condyle::sample::{self, ClipAt};
use condyle::{
    Affine, Clip, Error, Interpolation, Joint, Layer, Pose, RawClip, Skeleton, Skin, Target, Track,
    Transform, local_to_model, skin,
};

const SPECTATORS: usize = 2000;
const FRAMES: usize = 60;

/// So many go through all stages together. What one call has written is then still in the cache when the next one reads it,
/// which for a whole crowd at once it is not.
const TOGETHER: usize = 16;

/// Metres beyond which fingers do not move.
const FAR: f32 = 25.0;

/// What is kept of each.
struct Spectator {
    /// Metres from the camera.
    distance: f32,
    /// Nobody moves in step.
    delay: f64,
    /// 0 sits, 1 cheers.
    cheer: f32,
}

fn main() -> Result<(), Error> {
    let skeleton = skeleton()?;
    // In the resident form, as they are on screen all the time.
    let sit = clip(&skeleton, "sit", 0.1)?.into_resident()?;
    let cheer = clip(&skeleton, "cheer", 0.9)?.into_resident()?;
    let breath = breath(&skeleton)?;
    let bound = bound(&skeleton)?;
    let joints = skeleton.joint_count();

    // In the order in which they play: who reads the same bytes of a clip stands side by side.
    let mut crowd: Vec<Spectator> = (0..SPECTATORS)
        .map(|at| Spectator {
            distance: 5.0 + at as f32 * 0.04,
            delay: (at as f64 * 0.618).fract(),
            cheer: (at as f32 * 0.0137).sin().abs(),
        })
        .collect();
    crowd.sort_by(|a, b| a.delay.total_cmp(&b.delay));

    // Level of detail: from far away all but the fingers will do.
    let near_only = ["finger", "thumb"];
    let wanted: Vec<bool> = skeleton.names().iter().map(|name| !near_only.contains(&&name[..])).collect();

    // Memory for those that go together, and for what is uploaded. Nothing else is allocated in a frame.
    let [mut sitting, mut cheering, mut poses] = [(); 3].map(|()| vec![Pose::rest(&skeleton); TOGETHER]);
    let mut models = vec![Affine::IDENTITY; TOGETHER * joints];
    let (mut plays, mut buffer) = (Vec::with_capacity(TOGETHER), CrowdBuffer::default());
    let width = bound.joints().len();
    let mut upload = vec![Affine::IDENTITY; SPECTATORS * width];

    for frame in 0..FRAMES {
        let clock = frame as f64 / 60.0;
        for (crowd, upload) in crowd.chunks(TOGETHER).zip(upload.chunks_mut(TOGETHER * width)) {
            let count = crowd.len();
            for (clip, poses) in [(&sit, &mut sitting), (&cheer, &mut cheering)] {
                plays.clear();
                plays.extend(crowd.iter().map(|spectator| ClipAt {
                    wanted: (spectator.distance > FAR).then_some(&wanted[..]),
                    ..ClipAt::new(clip, (clock + spectator.delay).fract())
                }));
                sample::crowd(&plays, &skeleton, &mut poses[..count])?;
            }
            let layers = |at: usize| {
                let weight = crowd[at].cheer;
                [Layer::new(&sitting[at], 1.0 - weight), Layer::new(&cheering[at], weight)]
            };
            blend::crowd(&skeleton, layers, Mean::Linear, &mut poses[..count])?;
            let breathe = |at: usize| {
                let part = ((clock + crowd[at].delay) as f32 * TAU).sin();
                [Additive::new(&breath, part)]
            };
            blend::add_crowd_in_place(&mut poses[..count], breathe)?;
            let models = &mut models[..count * joints];
            model::crowd(&skeleton, &poses[..count], &mut buffer, models)?;
            skin::palette_rows_crowd(&bound, &skeleton, models, upload)?;
        }
    }

    let far = crowd.iter().filter(|spectator| spectator.distance > FAR).count();
    println!("{SPECTATORS} spectators of {joints} joints, {far} of them without fingers, {FRAMES} frames");
    let hand = upload.iter().skip(2).step_by(width).map(|matrix| matrix.transform_point([0.0, 1.6, 0.0]));
    println!("the highest hand is at {:.2} m", hand.map(|at| at[1]).fold(f32::MIN, f32::max));
    Ok(())
}

fn skeleton() -> Result<Skeleton, Error> {
    let up = |y| Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY };
    Skeleton::new([
        Joint::new("hips", None, up(0.6)),
        Joint::new("chest", Some(0), up(0.4)),
        Joint::new("arm", Some(1), up(0.2)),
        Joint::new("finger", Some(2), up(0.4)),
        Joint::new("thumb", Some(2), up(0.4)),
    ])
}

/// A second in which arm and fingers swing.
fn clip(skeleton: &Skeleton, name: &str, angle: f32) -> Result<Clip<'static>, Error> {
    let times: Vec<f32> = (0..=30).map(|key| key as f32 / 30.0).collect();
    let swing = |joint: u16| {
        let half = times.iter().map(|t| angle * (t * TAU).sin() / 2.0);
        let values = half.flat_map(|half: f32| [half.sin(), 0.0, 0.0, half.cos()]).collect();
        Track { target: Target::Rotation(joint), interpolation: Interpolation::Linear, timeline: 0, values }
    };
    let tracks = (2..skeleton.joint_count() as u16).map(swing).collect();
    let raw = RawClip::new(name.into(), vec![times.clone()], tracks)?;
    Ok(condyle::encode(&raw, skeleton, &EncodeOptions::new(5e-4, Shell::Balls(0.03)), &mut |_| ())?
        .into_clip())
}

/// What a deep breath adds to a pose.
fn breath(skeleton: &Skeleton) -> Result<Pose, Error> {
    let mut deep = skeleton.rest().clone();
    let mut chest = deep.get(1);
    chest.translation[1] += 0.02;
    deep.set(1, &chest);
    let mut breath = Pose::rest(skeleton);
    blend::difference(&deep, skeleton.rest(), &mut breath)?;
    Ok(breath)
}

/// All joints, bound in the rest pose.
fn bound(skeleton: &Skeleton) -> Result<Skin, Error> {
    let mut rest = vec![Affine::IDENTITY; skeleton.joint_count()];
    local_to_model(skeleton, skeleton.rest(), &mut rest)?;
    let inverse = rest.iter().map(|joint| joint.inverse().unwrap_or_default()).collect();
    Skin::new((0..skeleton.joint_count() as u16).collect(), inverse)
}
