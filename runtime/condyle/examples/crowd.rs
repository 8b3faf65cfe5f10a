//! A frame of a crowd: two thousand spectators who sit and cheer.
//!
//! Distant spectators have a lower level of detail. The stages run up to the palettes for GPU skinning. The
//! threads of a [`Crew`] take parts of the crowd, and so does the main thread.
//!
//! ```text
//! cargo run --release --example crowd
//! ```

use std::f32::consts::TAU;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, PoisonError};
use std::{hint, thread};

use condyle::blending::{self, Additive};
use condyle::frames::{Frames, FramesOptions};
use condyle::{
    Affine, Error, FrameLayer, Interpolation, Joint, Pose, RawClip, Skeleton, Skin, Target, Track, Transform,
    local_to_model, sample_frames, skinning,
};

const SPECTATORS: usize = 2000;
const FRAMES: usize = 60;

/// Spectators in a part: few, so that all threads finish at nearly the same time.
const PART: usize = 32;

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

/// Part of the crowd and its palettes.
struct Part<'a> {
    crowd: &'a [Spectator],
    upload: &'a mut [Affine],
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

    let width = cast.skin.joints().len();
    let mut upload = vec![Affine::IDENTITY; SPECTATORS * width];
    let parts = crowd.chunks(PART).zip(upload.chunks_mut(PART * width));
    let parts: Vec<_> = parts.map(|(crowd, upload)| Mutex::new(Part { crowd, upload })).collect();
    let crew = Crew::default();
    let failure = Mutex::new(Ok(()));
    let run = |room: &mut Room, turn: usize| {
        let clock = (turn / parts.len()) as f64 / 60.0;
        let mut part = parts[turn % parts.len()].lock().unwrap_or_else(PoisonError::into_inner);
        let result = room.run(&cast, &mut part, clock);
        if result.is_err() {
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = result;
        }
    };
    let others = thread::available_parallelism().map_or(1, usize::from) - 1;
    thread::scope(|scope| {
        let start = |_| scope.spawn(|| crew.help(Room::new(&cast.skeleton), run));
        let helpers: Vec<_> = (0..others).map(start).collect();
        let wake = || helpers.iter().for_each(|helper| helper.thread().unpark());
        // Also if a part panics here: the scope waits for the helpers.
        let _end = Dismissal { crew: &crew, wake };
        let mut room = Room::new(&cast.skeleton);
        for _ in 0..FRAMES {
            crew.share(parts.len(), wake, |turn| run(&mut room, turn));
            // The palettes of all parts are complete. An engine draws them here, and reads its input.
        }
    });
    drop(parts);
    failure.into_inner().unwrap_or_else(PoisonError::into_inner)?;

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
    fn run(&mut self, cast: &Cast, part: &mut Part<'_>, clock: f64) -> Result<(), Error> {
        let Self { pose, model } = self;
        let skeleton = &cast.skeleton;
        let uploads = part.upload.chunks_mut(cast.skin.joints().len());
        for (spectator, upload) in part.crowd.iter().zip(uploads) {
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

/// Threads that share the parts of a frame, as in the pool of an engine. A turn is a part in a frame. Turns
/// are numbered through all frames.
///
/// The threads run through all frames, because starting one takes about 50 microseconds. After a frame they
/// look for the next one for a short time before they sleep, because waking one takes almost as long.
#[derive(Default)]
struct Crew {
    next: AtomicUsize,
    /// Turns up to this one may be taken.
    open: AtomicUsize,
    done: AtomicUsize,
}

impl Crew {
    /// Times that a thread looks for its next turn before it sleeps: some tens of microseconds.
    const PATIENCE: usize = 2000;
    /// Value of `open` after the last frame.
    const NONE: usize = usize::MAX;

    /// Shares `count` turns with the helpers, and returns when all are done.
    fn share(&self, count: usize, wake: impl Fn(), mut run: impl FnMut(usize)) {
        let end = self.open.load(Relaxed) + count;
        self.open.store(end, Release);
        wake();
        while let Some(turn) = self.take(end) {
            run(turn);
            self.done.fetch_add(1, Release);
        }
        let mut looks = 0;
        while self.done.load(Acquire) < end {
            looks += 1;
            if looks < Self::PATIENCE { hint::spin_loop() } else { thread::yield_now() }
        }
    }

    /// Runs turns until there are no more frames.
    fn help<T>(&self, mut room: T, run: impl Fn(&mut T, usize)) {
        let mut looks = 0;
        loop {
            let open = self.open.load(Acquire);
            if open == Self::NONE {
                return;
            }
            if let Some(turn) = self.take(open) {
                // Also counts a turn that panics, so that no one waits for it.
                let _done = Done(&self.done);
                run(&mut room, turn);
                looks = 0;
            } else if looks < Self::PATIENCE {
                looks += 1;
                hint::spin_loop();
            } else {
                looks = 0;
                thread::park();
            }
        }
    }

    fn take(&self, open: usize) -> Option<usize> {
        self.next.fetch_update(Relaxed, Relaxed, |next| (next < open).then_some(next + 1)).ok()
    }
}

/// Ends the helpers when it goes out of scope.
struct Dismissal<'a, W: Fn()> {
    crew: &'a Crew,
    wake: W,
}

impl<W: Fn()> Drop for Dismissal<'_, W> {
    fn drop(&mut self) {
        self.crew.open.store(Crew::NONE, Release);
        (self.wake)();
    }
}

/// Counts a turn when it ends.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Release);
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
