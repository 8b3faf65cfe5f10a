//! Which joint touches the ground, and when.

use alloc::vec;
use alloc::vec::Vec;

use super::step::{Landing, Step};
use crate::clip::{Clip, RawClip};
use crate::error::Error;
use crate::math::quats::rotate;
use crate::math::{Affine, Rigid, sqrt};
use crate::model::local_to_model;
use crate::motion::RootMotion;
use crate::play::{Event, Events, Looping};
use crate::pose::Pose;
use crate::sample::{PoseSource, sample};
use crate::skeleton::Skeleton;
use crate::solve::maps::{Vec64, add, length, scaled, sub};

/// What counts as a touch.
///
/// Of each pair the first number is that below which a touch begins, the second one that above which it ends: between them it stays as it
/// is, so that noise does not break a touch into many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactOptions {
    /// Metres above the lowest place that the joint has in the clip.
    pub height: [f32; 2],
    /// Metres per second.
    pub speed: [f32; 2],
    /// Seconds. A shorter touch is none, and a shorter break between two is none.
    pub shortest: f32,
    /// Moments per second at which the clip is looked at.
    pub sample_rate: f32,
    /// Whether the clip goes on from its end to its start.
    pub looping: Looping,
}

impl ContactOptions {
    /// For a character whose legs are of this length, in metres: of a man's 0.9 m the heights are 3 and 5 cm, the speeds 0.3 and
    /// 0.6 m/s, which grow with the square root of the length as walking does.
    #[must_use]
    pub fn for_legs(length: f32) -> Self {
        let size = length / 0.9;
        Self {
            height: [0.03 * size, 0.05 * size],
            speed: [0.3, 0.6].map(|v| v * sqrt(size)),
            shortest: 0.05,
            sample_rate: 120.0,
            looping: Looping::Clamp,
        }
    }
}

/// One touch of one joint. Points are where the character's motion has them, which starts at the clip's start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// Seconds since the clip's start, from 0 to less than its duration.
    pub start: f64,
    /// Behind the duration, where the touch goes on over the seam of a clip that loops.
    pub end: f64,
    /// Where the joint stands: the mean over the touch.
    pub place: [f32; 3],
    /// Where the clip has it when the touch starts.
    pub from: [f32; 3],
    /// How fast it still moves then, in metres per second.
    pub velocity: [f32; 3],
}

/// The touches of some joints in a clip.
#[derive(Debug, Clone, PartialEq)]
pub struct Contacts {
    duration: f64,
    looping: Looping,
    /// From one loop to the next.
    whole: Rigid,
    /// Of each joint, in the order of their starts.
    joints: Vec<Vec<Contact>>,
}

/// One moment in so many may be lower than what counts as the ground.
const LOW: usize = 20;
/// The most moments that a clip is looked at.
const MAX_SAMPLES: usize = 1 << 20;

/// Finds the touches of joints in a compressed clip, by height and speed.
///
/// ```
/// use condyle::encode::{EncodeOptions, Shell};
/// use condyle::solve::feet::{ContactOptions, Step, contacts};
/// use condyle::math::Rigid;
/// use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform, encode};
///
/// // A foot that comes down in the second second, and stays.
/// let skeleton = Skeleton::new([Joint::new("foot", None, Transform::IDENTITY)])?;
/// let fall = Track {
///     target: Target::Translation(0),
///     interpolation: Interpolation::Linear,
///     timeline: 0,
///     values: vec![0.0, 0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
/// };
/// let raw = RawClip::new("fall".into(), vec![vec![0.0, 1.0, 2.0, 4.0]], vec![fall])?;
/// let encoded = encode(&raw, &skeleton, &EncodeOptions::new(5e-4, Shell::Balls(0.03)), &mut |_| ())?;
/// let found = contacts(encoded.clip(), &skeleton, &[0], &ContactOptions::for_legs(0.9))?;
/// let [touch] = found.of(0) else { panic!("one touch") };
/// assert!((touch.start - 2.0).abs() < 0.05 && (touch.end - 4.0).abs() < 0.05);
/// let Step::Swing(Some(landing)) = found.step(0, 1.5, &Rigid::IDENTITY)? else { panic!("in the air") };
/// assert!((landing.seconds - 0.5).abs() < 0.05);
/// # Ok::<(), condyle::Error>(())
/// ```
///
/// # Errors
/// Those of [`sample`](crate::sample()); [`Error::Index`] for a joint that does not exist; [`Error::NotFinite`] and [`Error::OutOfRange`] for
/// options that are no thresholds; [`Error::TooMany`] for more than a million moments.
pub fn contacts(
    clip: &Clip<'_>,
    skeleton: &Skeleton,
    joints: &[u16],
    options: &ContactOptions,
) -> Result<Contacts, Error> {
    let mut pose_at = |seconds: f64, pose: &mut Pose| sample(clip, skeleton, seconds, pose);
    let span = [clip.start(), clip.end()];
    let paths =
        Paths::new(skeleton, joints, options, span, &mut pose_at, &|seconds| clip.motion_at(seconds))?;
    paths.contacts(paths.spans(options))
}

/// [`contacts`] of an authored clip. `motion` is how the character moves as a whole, if that is not in the clip.
///
/// # Errors
/// As [`contacts`].
pub fn contacts_raw(
    clip: &RawClip,
    motion: Option<&RootMotion>,
    skeleton: &Skeleton,
    joints: &[u16],
    options: &ContactOptions,
) -> Result<Contacts, Error> {
    let mut pose_at = |seconds: f64, pose: &mut Pose| clip.pose(skeleton, seconds, pose);
    let start = clip.start();
    let moved = |seconds: f64| motion.map_or(Rigid::IDENTITY, |motion| motion.at(seconds - start));
    let span = [clip.start(), clip.end()];
    let paths = Paths::new(skeleton, joints, options, span, &mut pose_at, &moved)?;
    paths.contacts(paths.spans(options))
}

/// The contacts that events of an authored clip say: what begins a touch of each joint is one name, what ends it another one, as
/// [`Contacts::events`] has them. Where the joint stands then is found in the clip.
///
/// A touch that does not begin begins with the clip, one that does not end goes on to its end; in a clip that loops, over the seam.
///
/// # Errors
/// As [`contacts`]; [`Error::Length`] if there is not a pair of names for each joint.
pub fn contacts_of_events(
    clip: &RawClip,
    motion: Option<&RootMotion>,
    skeleton: &Skeleton,
    joints: &[u16],
    events: &Events,
    names: &[[&str; 2]],
    looping: Looping,
) -> Result<Contacts, Error> {
    Error::check_len("names", names.len(), joints.len())?;
    let options = ContactOptions { looping, ..ContactOptions::for_legs(0.9) };
    let mut pose_at = |seconds: f64, pose: &mut Pose| clip.pose(skeleton, seconds, pose);
    let start = clip.start();
    let moved = |seconds: f64| motion.map_or(Rigid::IDENTITY, |motion| motion.at(seconds - start));
    let paths = Paths::new(skeleton, joints, &options, [clip.start(), clip.end()], &mut pose_at, &moved)?;
    let steps = paths.steps();
    let sample = |seconds: f64| {
        let part = seconds / paths.duration.max(1e-9);
        ((part * steps as f64 + 0.5) as usize).min(steps)
    };
    let spans = names.iter().map(|[begins, ends]| {
        let mut spans: Vec<[usize; 2]> = Vec::new();
        let (mut begun, mut first_end) = (None, None);
        for event in events.as_slice() {
            if event.name == *begins {
                begun = begun.or(Some(sample(event.seconds)));
            } else if event.name == *ends {
                match begun.take() {
                    Some(from) => spans.push([from, sample(event.seconds)]),
                    None => first_end = first_end.or(spans.is_empty().then(|| sample(event.seconds))),
                }
            }
        }
        match (begun, first_end) {
            (Some(from), Some(until)) if looping == Looping::Wrap => spans.push([from, steps + until]),
            (from, until) => {
                spans.extend(until.map(|until| [0, until]));
                spans.extend(from.map(|from| [from, steps]));
            }
        }
        spans.sort_unstable();
        spans
    });
    let spans = spans.collect();
    paths.contacts(spans)
}

impl Contacts {
    /// Of one joint, by its place in the list that was given, in the order of their starts.
    #[must_use]
    pub fn of(&self, joint: usize) -> &[Contact] {
        self.joints.get(joint).map_or(&[], |contacts| contacts)
    }

    /// How many joints there are.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.joints.len()
    }

    /// What a joint does at a moment, `clock` seconds after the clip's start, any number of loops later. `motion` is where the clip's motion
    /// has the character then, [`Clip::motion_at`] or [`RootMotion::at`].
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a clock that is NaN or infinite; [`Error::Index`] if there is no such joint.
    pub fn step(&self, joint: usize, clock: f64, motion: &Rigid) -> Result<Step, Error> {
        let now = self.looping.moment(clock, self.duration)?.seconds;
        let count = self.joints.len();
        let contacts =
            self.joints.get(joint).ok_or(Error::Index { what: "joint", at: 0, found: joint, count })?;
        let mut next: Option<(f64, f64, &Contact)> = None;
        let turns: &[f64] = if self.looping == Looping::Wrap { &[-1.0, 0.0, 1.0] } else { &[0.0] };
        for (&turn, contact) in turns.iter().flat_map(|turn| contacts.iter().map(move |c| (turn, c))) {
            let [start, end] = [contact.start, contact.end].map(|t| t + turn * self.duration);
            if (start..end).contains(&now) {
                return Ok(Step::Planted);
            }
            if start > now && next.is_none_or(|next| start < next.0) {
                next = Some((start, turn, contact));
            }
        }
        let Some((start, turn, contact)) = next else { return Ok(Step::Swing(None)) };
        let whole = if turn > 0.0 { self.whole } else { Rigid::IDENTITY };
        let seen = motion.inverse() * whole;
        let point = |p: [f32; 3]| seen.transform_point(p.map(f64::from)).map(|v| v as f32);
        let velocity = rotate(seen.rotation, contact.velocity.map(f64::from)).map(|v| v as f32);
        let seconds = (start - now) as f32;
        Ok(Step::Swing(Some(Landing {
            seconds,
            place: point(contact.place),
            from: point(contact.from),
            velocity,
        })))
    }

    /// As events: of each joint the name of what begins a touch and of what ends it.
    ///
    /// # Errors
    /// [`Error::Length`] if there is not a pair of names for each joint.
    pub fn events(&self, names: &[[&str; 2]]) -> Result<Events, Error> {
        Error::check_len("names", names.len(), self.joints.len())?;
        let mut events = Vec::new();
        for (contacts, [begins, ends]) in self.joints.iter().zip(names) {
            for contact in contacts {
                let wraps = self.looping == Looping::Wrap && contact.end > self.duration;
                let end = if wraps { contact.end - self.duration } else { contact.end };
                events.push(Event { seconds: contact.start, name: (*begins).into() });
                events.push(Event { seconds: end, name: (*ends).into() });
            }
        }
        Events::new(self.duration, events)
    }
}

/// Joints at even moments of a clip.
struct Paths {
    places: Vec<Vec<Vec64>>,
    duration: f64,
    whole: Rigid,
    looping: Looping,
}

impl Paths {
    fn new(
        skeleton: &Skeleton,
        joints: &[u16],
        options: &ContactOptions,
        [start, end]: [f64; 2],
        pose_at: &mut dyn FnMut(f64, &mut Pose) -> Result<(), Error>,
        motion: &dyn Fn(f64) -> Rigid,
    ) -> Result<Self, Error> {
        options.check()?;
        let count = skeleton.joint_count();
        if let Some(at) = joints.iter().position(|&joint| usize::from(joint) >= count) {
            return Err(Error::Index { what: "joints", at, found: joints[at].into(), count });
        }
        let duration = end - start;
        let wanted = duration * f64::from(options.sample_rate);
        if wanted >= MAX_SAMPLES as f64 {
            return Err(Error::TooMany { what: "samples", found: wanted as usize, limit: MAX_SAMPLES });
        }
        let steps = (wanted + 0.5) as usize;
        let steps = steps.max(1);
        let mut pose = Pose::rest(skeleton);
        let mut model = vec![Affine::IDENTITY; count];
        let mut places = vec![Vec::with_capacity(steps + 1); joints.len()];
        for at in 0..=steps {
            let seconds = start + duration * at as f64 / steps as f64;
            let seconds = seconds.min(end);
            pose_at(seconds, &mut pose)?;
            local_to_model(skeleton, &pose, &mut model)?;
            let moved = motion(seconds);
            for (places, &joint) in places.iter_mut().zip(joints) {
                let place = model[usize::from(joint)].rows.map(|row| f64::from(row[3]));
                let place = moved.transform_point(place);
                if !place.iter().all(|v| v.is_finite()) {
                    return Err(Error::NotFinite { what: "clip", at: joint.into() });
                }
                places.push(place);
            }
        }
        let whole = motion(end.into()) * motion(start.into()).inverse();
        Ok(Self { places, duration, whole, looping: options.looping })
    }

    fn steps(&self) -> usize {
        self.places.first().map_or(1, |places| places.len() - 1)
    }

    /// Where a joint is at a sample, which may be one of the next or the last loop.
    fn place(&self, joint: usize, at: isize) -> Vec64 {
        let steps = self.steps() as isize;
        let places = &self.places[joint];
        if self.looping == Looping::Wrap && self.duration > 0.0 && !(0..=steps).contains(&at) {
            let (turn, at) = (at.div_euclid(steps), at.rem_euclid(steps));
            return self.whole.power(turn as i64).transform_point(places[at as usize]);
        }
        places[at.clamp(0, steps) as usize]
    }

    fn velocity(&self, joint: usize, at: isize) -> Vec64 {
        let steps = self.steps() as isize;
        let (mut before, mut after) = (at - 1, at + 1);
        if self.looping != Looping::Wrap {
            (before, after) = (before.max(0), after.min(steps));
        }
        let spacing = self.duration / steps as f64 * (after - before) as f64;
        let by = if spacing > 0.0 { 1.0 / spacing } else { 0.0 };
        scaled(sub(self.place(joint, after), self.place(joint, before)), by)
    }

    /// The samples from which and until which each joint touches.
    fn spans(&self, options: &ContactOptions) -> Vec<Vec<[usize; 2]>> {
        let steps = self.steps();
        let count = if self.looping == Looping::Wrap { steps } else { steps + 1 };
        let shortest = f64::from(options.shortest) * steps as f64 / self.duration.max(1e-9);
        let one = |joint: usize| {
            let places = &self.places[joint];
            // Not the lowest of all, which may be one wrong key.
            let mut heights: Vec<f64> = places.iter().map(|p| p[1]).collect();
            heights.sort_by(f64::total_cmp);
            let lowest = heights[heights.len() / LOW];
            let judge = |at: usize, limit: usize| {
                let above = places[at][1] - lowest;
                let speed = length(self.velocity(joint, at as isize));
                above <= options.height[limit].into() && speed <= options.speed[limit].into()
            };
            let mut touches = vec![false; count];
            let mut now = false;
            // Twice, so that what goes on over the seam is known when the loop is gone through again.
            let rounds = if self.looping == Looping::Wrap { 2 } else { 1 };
            for at in (0..count).cycle().take(rounds * count) {
                now = judge(at, usize::from(now));
                touches[at] = now;
            }
            drop_short(&mut touches, false, shortest, self.looping);
            drop_short(&mut touches, true, shortest, self.looping);
            runs(&touches, true, self.looping)
        };
        (0..self.places.len()).map(one).collect()
    }

    fn contacts(&self, spans: Vec<Vec<[usize; 2]>>) -> Result<Contacts, Error> {
        let per_second = self.steps() as f64 / self.duration.max(1e-9);
        let one = |(joint, spans): (usize, Vec<[usize; 2]>)| {
            let contact = |[from, until]: [usize; 2]| {
                let sum = (from..until).fold([0.0; 3], |sum, at| add(sum, self.place(joint, at as isize)));
                let mean = scaled(sum, 1.0 / (until - from).max(1) as f64);
                let [place, velocity] =
                    [mean, self.velocity(joint, from as isize)].map(|v| v.map(|v| v as f32));
                let from_place = self.place(joint, from as isize).map(|v| v as f32);
                // The last moment of a clip that does not loop is a moment of its own, and nothing comes behind it.
                let last = if self.looping == Looping::Wrap { until } else { until.min(self.steps()) };
                let [start, end] = [from, last].map(|at| at as f64 / per_second);
                Contact { start, end, place, from: from_place, velocity }
            };
            spans.into_iter().map(contact).collect()
        };
        let joints = spans.into_iter().enumerate().map(one).collect();
        Ok(Contacts { duration: self.duration, looping: self.looping, whole: self.whole, joints })
    }
}

impl ContactOptions {
    fn check(&self) -> Result<(), Error> {
        for (what, pair) in [("height", self.height), ("speed", self.speed)] {
            Error::check_finite(what, &pair, 1)?;
            if !(pair[0] >= 0.0 && pair[1] >= pair[0]) {
                return Err(Error::OutOfRange { what, at: 0, needed: "of rising numbers, at least 0" });
            }
        }
        Error::check_number("shortest", self.shortest)?;
        Error::check_number("sample_rate", self.sample_rate)?;
        if self.sample_rate <= 0.0 {
            return Err(Error::OutOfRange { what: "sample_rate", at: 0, needed: "greater than 0" });
        }
        Ok(())
    }
}

/// Runs of `value`, as from and until; one over the seam ends behind it.
fn runs(touches: &[bool], value: bool, looping: Looping) -> Vec<[usize; 2]> {
    let count = touches.len();
    let mut runs: Vec<[usize; 2]> = Vec::new();
    for at in (0..count).filter(|&at| touches[at] == value) {
        match runs.last_mut() {
            Some(run) if run[1] == at => run[1] = at + 1,
            _ => runs.push([at, at + 1]),
        }
    }
    if looping == Looping::Wrap
        && let (Some(&first), Some(&last)) = (runs.first(), runs.last())
        && runs.len() > 1
        && first[0] == 0
        && last[1] == count
    {
        runs.remove(0);
        if let Some(last) = runs.last_mut() {
            last[1] = count + first[1];
        }
    }
    runs
}

fn drop_short(touches: &mut [bool], value: bool, shortest: f64, looping: Looping) {
    let count = touches.len();
    for [from, until] in runs(touches, value, looping) {
        // A break is one between two touches, and not what a clip begins or ends with.
        let is_open = looping != Looping::Wrap && !value && (from == 0 || until == count);
        if ((until - from) as f64) < shortest && until - from < count && !is_open {
            (from..until).for_each(|at| touches[at % count] = !value);
        }
    }
}
