//! Contacts: which joint touches the ground, and when.

use alloc::vec;
use alloc::vec::Vec;

use super::step::{Landing, Step};
use super::thresholds::ContactOptions;
use super::touches::Paths;
use crate::maps::{add, scaled};
use condyle::clip::{Clip, RawClip};
use condyle::motion::RootMotion;
use condyle::play::{Event, Events, Looping};
use condyle::pose::Pose;
use condyle::sampling::{PoseSource, sample};
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::rotate;
use condyle_base::math::{Rigid, Transform};

/// One contact of one joint. Points are model-space positions transformed by [`Contacts::motion`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// Start in seconds since the start of the clip, from 0 to less than its duration.
    pub start: f64,
    /// End in seconds. Larger than the duration if the contact continues over the seam of a looping clip.
    pub end: f64,
    /// Position at which the joint stands: the mean over the contact.
    pub place: [f32; 3],
    /// Position of the joint in the clip at the start of the contact.
    pub from: [f32; 3],
    /// Velocity of the joint in the clip at the start of the contact, in metres per second.
    pub velocity: [f32; 3],
}

/// The contacts of some joints in a clip.
#[derive(Debug, Clone, PartialEq)]
pub struct Contacts {
    pub(super) duration: f64,
    pub(super) looping: Looping,
    /// Motion of one loop.
    pub(super) whole: Rigid,
    pub(super) motion: RootMotion,
    pub(super) treadmill: Option<[f32; 3]>,
    /// Contacts of each joint, ordered by start.
    pub(super) joints: Vec<Vec<Contact>>,
}

/// Finds the contacts of joints in a compressed clip, by height and speed.
///
/// The root motion of the clip moves the joints over the ground. For an in-place walk or run, this function
/// also finds the velocity of the ground: the velocity that low feet have in common in the whole clip.
/// [`Contacts::motion`] then returns the motion that the character needs.
///
/// ```
/// use condyle::{Interpolation, RawClip, Target, Track, example};
/// use condyle_encode::{EncodeOptions, Shell, encode};
/// use condyle_solve::foot_placement::{ContactOptions, Step, contacts};
///
/// // A foot that comes down from 1 s to 2 s, and stays.
/// let skeleton = example::chain(["foot"], [0.0; 3]);
/// let (target, interpolation) = (Target::Translation(0), Interpolation::Linear);
/// let values = [[0.0, 0.5, 0.0], [0.0, 0.5, 0.0], [0.0; 3], [0.0; 3]].concat();
/// let fall = Track { target, interpolation, timeline: 0, values };
/// let raw = RawClip::new("fall".into(), vec![vec![0.0, 1.0, 2.0, 4.0]], vec![fall])?;
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let encoded = encode(&raw, &skeleton, &options, &mut |_| ())?;
///
/// let found = contacts(encoded.clip(), &skeleton, &[0], &ContactOptions::for_legs(0.9))?;
/// let [touch] = found.of(0) else { panic!("one touch") };
/// assert!((touch.start - 2.0).abs() < 0.05 && (touch.end - 4.0).abs() < 0.05);
/// let Step::Swing(Some(landing)) = found.step(0, 1.5)? else { panic!("in the air") };
/// assert!((landing.seconds - 0.5).abs() < 0.05);
/// # Ok::<(), condyle::Error>(())
/// ```
///
/// # Errors
/// All errors of [`sample`](condyle::sample()). [`Error::Index`] if a joint does not exist.
/// [`Error::NotFinite`] and [`Error::OutOfRange`] if an option is invalid. [`Error::TooMany`] for more than a
/// million samples. [`Error::NoContacts`] if no joint touches the ground.
pub fn contacts(
    clip: &Clip<'_>,
    skeleton: &Skeleton,
    joints: &[u16],
    options: &ContactOptions,
) -> Result<Contacts, Error> {
    let mut pose_at = |seconds: f64, pose: &mut Pose| sample(clip, skeleton, seconds, pose);
    let span = [clip.start(), clip.end()];
    let motion = if clip.has_motion() {
        let steps = options.steps(clip.duration())?;
        let at = |step: usize| {
            let part = step as f64 / steps as f64;
            let moved = clip.motion_at(clip.start() + clip.duration() * part);
            let (rotation, translation) =
                (moved.rotation.map(|v| v as f32), moved.translation.map(|v| v as f32));
            Transform { rotation, translation, ..Transform::IDENTITY }
        };
        RootMotion::new(clip.duration(), (0..=steps).map(at).collect())?
    } else {
        still(clip.duration())?
    };
    let mut paths = Paths::new(skeleton, joints, options, span, &mut pose_at, motion)?;
    paths.find_treadmill(options);
    let spans = paths.spans(options);
    paths.contacts(spans)
}

/// Root motion of a clip without motion.
fn still(duration: f64) -> Result<RootMotion, Error> {
    RootMotion::new(duration, vec![Transform::IDENTITY; 2])
}

/// Like [`contacts`], for an authored clip. `motion` is the root motion, if it was extracted from the clip.
///
/// # Errors
/// All errors of [`contacts`].
pub fn contacts_raw(
    clip: &RawClip,
    motion: Option<&RootMotion>,
    skeleton: &Skeleton,
    joints: &[u16],
    options: &ContactOptions,
) -> Result<Contacts, Error> {
    let mut pose_at = |seconds: f64, pose: &mut Pose| clip.pose(skeleton, seconds, pose);
    let span = [clip.start(), clip.end()];
    let motion = motion.cloned().map_or_else(|| still(clip.duration()), Ok)?;
    let mut paths = Paths::new(skeleton, joints, options, span, &mut pose_at, motion)?;
    paths.find_treadmill(options);
    let spans = paths.spans(options);
    paths.contacts(spans)
}

/// Reads contacts from the events of an authored clip, in the format of [`Contacts::events`]. For each joint,
/// one name begins a contact and another one ends it. The positions are sampled from the clip.
///
/// A contact without a beginning starts with the clip, and one without an end lasts to the end of the clip.
/// In a looping clip it continues over the seam.
///
/// # Errors
/// All errors of [`contacts`]. [`Error::Length`] if there is not one pair of names per joint.
/// [`Error::NoContacts`] if no event has one of the names.
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
    let motion = motion.cloned().map_or_else(|| still(clip.duration()), Ok)?;
    let mut paths = Paths::new(skeleton, joints, &options, [clip.start(), clip.end()], &mut pose_at, motion)?;
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
    let spans: Vec<Vec<[usize; 2]>> = spans.collect();
    paths.find_treadmill_of(&spans, &options);
    paths.contacts(spans)
}

impl Contacts {
    /// Returns the contacts of one joint, ordered by start. `joint` is a position in the list passed to the
    /// constructor.
    #[must_use]
    pub fn of(&self, joint: usize) -> &[Contact] {
        self.joints.get(joint).map_or(&[], |contacts| contacts)
    }

    /// Number of joints.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.joints.len()
    }

    /// Motion of the character over the ground: the root motion of the clip. For an in-place walk or run, the
    /// velocity found from the feet is added. In each frame, pass this motion to
    /// [`Player::root_motion`](condyle::Player::root_motion), and multiply the placement of the character by
    /// the result on the right. If your code has its own clock, use [`RootMotion::over`].
    #[must_use]
    pub fn motion(&self) -> &RootMotion {
        &self.motion
    }

    /// Velocity of the character in metres per second, found from the feet of a clip in place. `None` if
    /// planted feet stand still under the motion of the clip.
    #[must_use]
    pub fn treadmill(&self) -> Option<[f32; 3]> {
        self.treadmill
    }

    /// State of a joint at `clock` seconds after the start of the clip. The clock may be any number of loops
    /// later.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if the clock is NaN or infinite. [`Error::Index`] if the joint does not exist.
    pub fn step(&self, joint: usize, clock: f64) -> Result<Step, Error> {
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
        let seen = self.motion.at(now).inverse() * whole;
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

    /// Converts the contacts to events. `names` holds, for each joint, the event names for the beginning and
    /// the end of a contact.
    ///
    /// # Errors
    /// [`Error::Length`] if there is not one pair of names per joint.
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

impl Paths {
    /// Contacts in the given spans of samples.
    fn contacts(self, spans: Vec<Vec<[usize; 2]>>) -> Result<Contacts, Error> {
        if !spans.is_empty() && spans.iter().all(Vec::is_empty) {
            return Err(Error::NoContacts { joints: spans.len() });
        }
        let per_second = self.steps() as f64 / self.duration.max(1e-9);
        let one = |(joint, spans): (usize, Vec<[usize; 2]>)| {
            let contact = |[from, until]: [usize; 2]| {
                let sum = (from..until).fold([0.0; 3], |sum, at| add(sum, self.place(joint, at as isize)));
                let mean = scaled(sum, 1.0 / (until - from).max(1) as f64);
                let [place, velocity] =
                    [mean, self.velocity(joint, from as isize)].map(|v| v.map(|v| v as f32));
                let from_place = self.place(joint, from as isize).map(|v| v as f32);
                // A clip that does not loop ends with its last sample.
                let last = if self.looping == Looping::Wrap { until } else { until.min(self.steps()) };
                let [start, end] = [from, last].map(|at| at as f64 / per_second);
                Contact { start, end, place, from: from_place, velocity }
            };
            spans.into_iter().map(contact).collect()
        };
        let joints = spans.into_iter().enumerate().map(one).collect();
        let Self { duration, whole, looping, motion, treadmill, .. } = self;
        Ok(Contacts { duration, looping, whole, motion, treadmill, joints })
    }
}
