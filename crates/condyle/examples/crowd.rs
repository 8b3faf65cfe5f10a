//! A frame of a crowd: two thousand spectators who sit and cheer.
//!
//! Distant spectators have a lower level of detail. The stages run up to the palettes for GPU skinning, and
//! each thread processes a part of the crowd.
//!
//! ```text
//! cargo run --release --example crowd
//! ```

use std::f32::consts::TAU;
use std::thread;

use condyle::blending::{self, Additive};
use condyle::frames::{Frames, FramesOptions};
use condyle::{
    Affine, Error, FrameLayer, Interpolation, Joint, Pose, RawClip, Skeleton, Skin, Target, Track, Transform,
    local_to_model, sample_frames, skinning,
};

const SPECTATORS: usize = 2000;
const FRAMES: usize = 60;

/// Distance in metres beyond which fingers do not move.
const FAR: f32 = 25.0;

/// State of a spectator.
struct Spectator {
    /// Metres from the camera.
    distance: f32,
    /// Clip offset in seconds, so that spectators do not move in unison.
    delay: f64,
    /// 0 sits, 1 cheers.
    cheer: f32,
}

/// Data shared by all spectators.
struct Cast {
    skeleton: Skeleton,
    sit: Frames,
    cheer: Frames,
    breath: Pose,
    skin: Skin,
    /// Level of detail for distant spectators: fingers keep the rest pose.
    far: Vec<f32>,
}

/// Scratch memory of a thread. Nothing else is allocated in a frame.
struct Room {
    pose: Pose,
    model: Vec<Affine>,
}

fn main() -> Result<(), Error> {
    let skeleton = skeleton()?;
    let cast = Cast {
        sit: clip(&skeleton, "sit", 0.1)?,
        cheer: clip(&skeleton, "cheer", 0.9)?,
        breath: breath(&skeleton)?,
        skin: bound(&skeleton)?,
        far: skeleton.names().iter().map(|name| if is_finger(name) { 0.0 } else { 1.0 }).collect(),
        skeleton,
    };
    // Sorted by clip time, so that neighbours read the same bytes of a clip.
    let mut crowd: Vec<Spectator> = (0..SPECTATORS)
        .map(|at| Spectator {
            distance: 5.0 + at as f32 * 0.04,
            delay: (at as f64 * 0.618).fract(),
            cheer: (at as f32 * 0.0137).sin().abs(),
        })
        .collect();
    crowd.sort_by(|a, b| a.delay.total_cmp(&b.delay));

    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = SPECTATORS.div_ceil(threads);
    let mut rooms: Vec<Room> = (0..threads).map(|_| Room::new(&cast.skeleton)).collect();
    let width = cast.skin.joints().len();
    let mut upload = vec![Affine::IDENTITY; SPECTATORS * width];
    for frame in 0..FRAMES {
        let clock = frame as f64 / 60.0;
        // An engine reuses threads of a pool; starting a thread costs about 50 microseconds.
        thread::scope(|scope| {
            let parts = crowd.chunks(part).zip(upload.chunks_mut(part * width)).zip(&mut rooms);
            let running: Vec<_> = parts
                .map(|((crowd, upload), room)| scope.spawn(|| room.run(&cast, crowd, clock, upload)))
                .collect();
            running.into_iter().try_for_each(|thread| thread.join().expect("a thread panicked"))
        })?;
    }

    let far = crowd.iter().filter(|spectator| spectator.distance > FAR).count();
    let joints = cast.skeleton.joint_count();
    println!("{SPECTATORS} spectators of {joints} joints, {far} of them without fingers, {FRAMES} frames");
    let hand = upload.iter().skip(2).step_by(width).map(|matrix| matrix.transform_point([0.0, 1.6, 0.0]));
    println!("the highest hand is at {:.2} m", hand.map(|at| at[1]).fold(f32::MIN, f32::max));
    Ok(())
}

impl Room {
    fn new(skeleton: &Skeleton) -> Self {
        Self { pose: Pose::rest(skeleton), model: vec![Affine::IDENTITY; skeleton.joint_count()] }
    }

    /// Runs all stages for one spectator after another, so that the output of a stage is still in the cache.
    fn run(
        &mut self,
        cast: &Cast,
        crowd: &[Spectator],
        clock: f64,
        upload: &mut [Affine],
    ) -> Result<(), Error> {
        let Self { pose, model } = self;
        let skeleton = &cast.skeleton;
        for (spectator, upload) in crowd.iter().zip(upload.chunks_mut(cast.skin.joints().len())) {
            let seconds = (clock + spectator.delay).fract();
            let mask = (spectator.distance > FAR).then_some(&cast.far[..]);
            let layer = |frames, weight| FrameLayer { mask, ..FrameLayer::new(frames, seconds, weight) };
            let weight = spectator.cheer;
            sample_frames(skeleton, &[layer(&cast.sit, 1.0 - weight), layer(&cast.cheer, weight)], pose)?;
            let breath = ((clock + spectator.delay) as f32 * TAU).sin();
            blending::add(None, &[Additive::new(&cast.breath, breath)], pose)?;
            local_to_model(skeleton, pose, model)?;
            skinning::palette_rows(&cast.skin, model, upload)?;
        }
        Ok(())
    }
}

fn is_finger(name: &str) -> bool {
    ["finger", "thumb"].contains(&name)
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

/// A clip of one second in which the arm and the fingers swing, unpacked to within half a millimetre.
fn clip(skeleton: &Skeleton, name: &str, angle: f32) -> Result<Frames, Error> {
    let times: Vec<f32> = (0..=30).map(|key| key as f32 / 30.0).collect();
    let swing = |joint: u16| {
        let half = times.iter().map(|t| angle * (t * TAU).sin() / 2.0);
        let values = half.flat_map(|half: f32| [half.sin(), 0.0, 0.0, half.cos()]).collect();
        Track { target: Target::Rotation(joint), interpolation: Interpolation::Linear, timeline: 0, values }
    };
    let tracks = (2..skeleton.joint_count() as u16).map(swing).collect();
    let raw = RawClip::new(name.into(), vec![times.clone()], tracks)?;
    raw.to_frames(skeleton, &FramesOptions::new(skeleton, 5e-4, 0.03))
}

/// Additive pose of a deep breath.
fn breath(skeleton: &Skeleton) -> Result<Pose, Error> {
    let mut deep = skeleton.rest().clone();
    let mut chest = deep.get(1);
    chest.translation[1] += 0.02;
    deep.set(1, &chest);
    let mut breath = Pose::rest(skeleton);
    blending::difference(&deep, skeleton.rest(), &mut breath)?;
    Ok(breath)
}

/// A skin of all joints, bound in the rest pose.
fn bound(skeleton: &Skeleton) -> Result<Skin, Error> {
    let mut rest = vec![Affine::IDENTITY; skeleton.joint_count()];
    local_to_model(skeleton, skeleton.rest(), &mut rest)?;
    let inverse = rest.iter().map(|joint| joint.inverse().unwrap_or_default()).collect();
    Skin::new((0..skeleton.joint_count() as u16).collect(), inverse)
}
