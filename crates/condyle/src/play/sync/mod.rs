//! Clips of different length that keep step: left foot with left foot.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::clock::{check_clock, check_duration, wrapped};
use super::events::{Event, Events};
use condyle_base::error::Error;
use condyle_base::math::sums::sum_in_any_order;

/// By what a clip that wraps keeps step with others: markers in cyclic order, which the others have too, or its
/// duration alone.
///
/// A cycle is the shortest row of names that repeats: a clip with the markers `left right left right` has two cycles of
/// two. It begins, in each of the clips that share it, with the same marker, wherever they start: of all ways to turn
/// the row round the one that comes first in the order of words. Phase counts cycles, from the first one of the clip
/// that begins in its loop 0: it is a whole number where a cycle begins, rises by one over the number of names from
/// marker to marker, and evenly in time between.
///
/// ```
/// use condyle::play::{Event, SyncTrack, follow, sync_speed};
///
/// let marker = |seconds, name: &str| Event { seconds, name: name.into() };
/// let walk = SyncTrack::new(1.0, vec![marker(0.0, "left"), marker(0.5, "right")])?;
/// // Starts with the other foot, and has two cycles.
/// let feet = [(0.0, "right"), (0.2, "left"), (0.6, "right"), (0.9, "left")];
/// let run = SyncTrack::new(1.2, feet.map(|(seconds, name)| marker(seconds, name)).to_vec())?;
/// assert_eq!((run.cycle(), run.cycle_count()), (walk.cycle(), 2));
///
/// // Half way from the left foot to the right one.
/// assert_eq!(walk.phase(0.25)?, 0.25);
/// assert!((follow(&walk, 0.25, &run)? - 0.4).abs() < 1e-6);
/// // A cycle of the blend takes 0.8 seconds: the walk hurries.
/// let speed = sync_speed(&walk, &[(&walk, 0.5), (&run, 0.5)])?;
/// assert!((speed - 1.25).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SyncTrack {
    duration: f64,
    /// Rising, from 0 to less than the duration; at least one.
    markers: Vec<f64>,
    /// Names of a cycle, from where it begins.
    cycle: Vec<String>,
    /// The first marker that begins a cycle.
    first: usize,
}

/// Markers since phase 0, and how far it is to the next one.
#[derive(Clone, Copy)]
struct Place {
    steps: i64,
    fraction: f64,
}

impl SyncTrack {
    /// By phase alone: so many cycles in a clip of `duration` seconds, all of one length, the first one from the clip's
    /// start.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::OutOfRange`] for a duration that is not above 0; [`Error::OutOfRange`] for no
    /// cycles.
    pub fn even(duration: f64, cycles: u16) -> Result<Self, Error> {
        let duration = check_length(duration)?;
        if cycles == 0 {
            return Err(Error::OutOfRange { what: "cycles", at: 0, needed: "at least 1" });
        }
        let marker = |at| duration * f64::from(at) / f64::from(cycles);
        let markers = (0..cycles).map(marker).collect();
        Ok(Self { duration, markers, cycle: vec![String::new()], first: 0 })
    }

    /// By markers of a clip of `duration` seconds. One at the end of the clip is one at its start.
    ///
    /// # Errors
    /// - [`Error::NotFinite`], [`Error::OutOfRange`] for a duration that is not above 0.
    /// - [`Error::TooShort`] without markers.
    /// - [`Error::NotFinite`], [`Error::OutOfRange`] for a marker that is not within the clip, or that shares its
    ///   moment with another.
    pub fn new(duration: f64, markers: Vec<Event>) -> Result<Self, Error> {
        let length = check_length(duration)?;
        if markers.is_empty() {
            return Err(Error::TooShort { what: "markers", found: 0, needed: 1 });
        }
        let mut order = Vec::with_capacity(markers.len());
        for (at, marker) in markers.iter().enumerate() {
            if !marker.seconds.is_finite() {
                return Err(Error::NotFinite { what: "markers", at });
            }
            if !(0.0..=duration).contains(&marker.seconds) {
                return Err(Error::OutOfRange { what: "markers", at, needed: "within the clip" });
            }
            // Not a negative zero.
            order.push((if marker.seconds == duration { 0.0 } else { marker.seconds.abs() }, at));
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some(pair) = order.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::OutOfRange {
                what: "markers",
                at: pair[1].1,
                needed: "at a moment of its own",
            });
        }
        let names: Vec<&str> = order.iter().map(|&(_, at)| markers[at].name.as_str()).collect();
        let cycle = &names[..period(&names)];
        let first = least_rotation(cycle);
        let turned = cycle[first..].iter().chain(&cycle[..first]);
        Ok(Self {
            duration: length,
            markers: order.iter().map(|&(seconds, _)| seconds).collect(),
            cycle: turned.map(|&name| name.into()).collect(),
            first,
        })
    }

    /// By those events of a clip that are markers.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_events(events: &Events, is_marker: impl Fn(&Event) -> bool) -> Result<Self, Error> {
        let markers = events.as_slice().iter().filter(|event| is_marker(event)).cloned().collect();
        Self::new(events.duration(), markers)
    }

    /// The names of a cycle's markers in order; one empty name for a track by phase alone. Clips keep step if these are
    /// equal.
    #[must_use]
    pub fn cycle(&self) -> &[String] {
        &self.cycle
    }

    /// How many cycles a loop has.
    #[must_use]
    pub fn cycle_count(&self) -> usize {
        self.markers.len() / self.cycle.len()
    }

    /// How long a cycle takes, in the mean.
    #[must_use]
    pub fn cycle_seconds(&self) -> f64 {
        self.duration / self.cycle_count() as f64
    }

    /// The phase at a time of the clip's own clock, which goes on over its loops as for
    /// [`Looping::Wrap`](crate::Looping::Wrap).
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `seconds` is NaN or infinite.
    pub fn phase(&self, seconds: f64) -> Result<f64, Error> {
        let Place { steps, fraction } = self.place(seconds)?;
        Ok((steps as f64 + fraction) / self.cycle.len() as f64)
    }

    /// The time of the clip's own clock at which a phase is reached: undoes [`phase`](Self::phase). Phases beyond 2^52
    /// markers are held there.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `phase` is NaN or infinite.
    pub fn seconds(&self, phase: f64) -> Result<f64, Error> {
        if !phase.is_finite() {
            return Err(Error::NotFinite { what: "phase", at: 0 });
        }
        let limit = (1_i64 << 52) as f64;
        let markers = (phase * self.cycle.len() as f64).clamp(-limit, limit);
        let below = markers as i64;
        let steps = if below as f64 > markers { below - 1 } else { below };
        Ok(self.clock(Place { steps, fraction: markers - steps as f64 }))
    }

    fn place(&self, seconds: f64) -> Result<Place, Error> {
        check_clock(seconds)?;
        let moment = wrapped(seconds, self.duration);
        let index = self.markers.partition_point(|&t| t <= moment.seconds) as i64 - 1;
        let (before, length) = self.span(index);
        let steps = moment.loops.saturating_mul(self.markers.len() as i64).saturating_add(index);
        let fraction = (moment.seconds - before) / length;
        Ok(Place { steps: steps.saturating_sub(self.first as i64), fraction })
    }

    fn clock(&self, place: Place) -> f64 {
        let (count, steps) = (self.markers.len() as i64, place.steps.saturating_add(self.first as i64));
        let (before, length) = self.span(steps.rem_euclid(count));
        steps.div_euclid(count) as f64 * self.duration + (before + length * place.fraction)
    }

    /// When a marker is reached, and how long it is to the next one: `index` from -1, the last one of the loop before.
    fn span(&self, index: i64) -> (f64, f64) {
        let last = self.markers.len() - 1;
        let seam = self.duration - self.markers[last] + self.markers[0];
        match usize::try_from(index) {
            Ok(at) if at < last => (self.markers[at], self.markers[at + 1] - self.markers[at]),
            Ok(_) => (self.markers[last], seam),
            Err(_) => (self.markers[0] - seam, seam),
        }
    }
}

/// The time of a follower's own clock when the leader's is at `seconds`: at the same phase, exactly at a marker where
/// the leader is.
///
/// # Errors
/// [`Error::NotFinite`] if `seconds` is NaN or infinite; [`Error::MarkerOrder`] if the two have different cycles.
///
/// ```
/// use condyle::play::{self, Event, SyncTrack};
///
/// # let marker = |seconds, name: &str| Event { seconds, name: name.into() };
/// # let walk = SyncTrack::new(1.0, vec![marker(0.0, "left"), marker(0.5, "right")])?;
/// # let run = SyncTrack::new(0.6, vec![marker(0.0, "right"), marker(0.3, "left")])?;
/// // Half way from the left foot to the right one; the run starts with the right one.
/// let seconds = play::follow(&walk, 0.25, &run)?;
/// assert!((run.phase(seconds)? - walk.phase(0.25)?).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn follow(leader: &SyncTrack, seconds: f64, follower: &SyncTrack) -> Result<f64, Error> {
    check_cycle("follower", 0, leader, follower)?;
    Ok(follower.clock(leader.place(seconds)?))
}

/// How fast the leader plays in a blend of clips that keep step: its clock advances by this times the seconds that go
/// by.
///
/// A cycle of the blend takes the weighted mean of what its clips' cycles take. Alone, a clip plays at speed 1; so it
/// does where no layer has a weight. The leader need not be among the layers. The order of the layers does not change a
/// bit.
///
/// # Errors
/// [`Error::NotFinite`], [`Error::OutOfRange`] for a weight that is no number from 0 on; [`Error::MarkerOrder`] for a
/// layer whose cycle is not the leader's.
///
/// ```
/// use condyle::play::{self, Event, SyncTrack};
///
/// # let marker = |seconds, name: &str| Event { seconds, name: name.into() };
/// # let walk = SyncTrack::new(1.0, vec![marker(0.0, "left"), marker(0.5, "right")])?;
/// # let run = SyncTrack::new(0.6, vec![marker(0.0, "right"), marker(0.3, "left")])?;
/// // The walk of a second leads; half of each is a cycle of 0.8 seconds.
/// let mut clock = 0.0;
/// let frame = 1.0 / 60.0;
/// clock += frame * play::sync_speed(&walk, &[(&walk, 0.5), (&run, 0.5)])?;
/// assert!((clock - frame / 0.8).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn sync_speed(leader: &SyncTrack, layers: &[(&SyncTrack, f32)]) -> Result<f64, Error> {
    for (at, &(track, weight)) in layers.iter().enumerate() {
        if !weight.is_finite() {
            return Err(Error::NotFinite { what: "layers", at });
        }
        if weight < 0.0 {
            return Err(Error::OutOfRange { what: "layers", at, needed: "of a weight of at least 0" });
        }
        check_cycle("layers", at, leader, track)?;
    }
    let parts = layers.iter().map(|&(track, weight)| {
        let weight = f64::from(weight);
        [weight, weight * track.cycle_seconds()]
    });
    let [weights, seconds] = sum_in_any_order(parts);
    Ok(if seconds > 0.0 { leader.cycle_seconds() / (seconds / weights) } else { 1.0 })
}

fn check_cycle(what: &'static str, at: usize, leader: &SyncTrack, follower: &SyncTrack) -> Result<(), Error> {
    if leader.cycle == follower.cycle { Ok(()) } else { Err(Error::MarkerOrder { what, at }) }
}

fn check_length(duration: f64) -> Result<f64, Error> {
    check_duration(duration)?;
    if duration == 0.0 {
        return Err(Error::OutOfRange { what: "duration", at: 0, needed: "greater than 0" });
    }
    Ok(duration)
}

/// The length of the shortest row that, repeated, makes the whole. Knuth, Morris and Pratt 1977: from the longest part
/// that begins and ends it.
fn period(names: &[&str]) -> usize {
    let mut border = vec![0; names.len()];
    for at in 1..names.len() {
        let mut length: usize = border[at - 1];
        while length > 0 && names[at] != names[length] {
            length = border[length - 1];
        }
        border[at] = length + usize::from(names[at] == names[length]);
    }
    let period = names.len() - border[names.len() - 1];
    if names.len().is_multiple_of(period) { period } else { names.len() }
}

/// Where to start in a ring of names so that what follows comes first in the order of words. Each comparison rules out
/// a start for good, so that a ring is gone through a few times at most.
fn least_rotation(ring: &[&str]) -> usize {
    let name = |at: usize| ring[at % ring.len()];
    let (mut best, mut other, mut equal) = (0, 1, 0);
    while best < ring.len() && other < ring.len() && equal < ring.len() {
        match name(best + equal).cmp(name(other + equal)) {
            core::cmp::Ordering::Equal => {
                equal += 1;
                continue;
            }
            core::cmp::Ordering::Less => other += equal + 1,
            core::cmp::Ordering::Greater => best += equal + 1,
        }
        other += usize::from(best == other);
        equal = 0;
    }
    best.min(other)
}

#[cfg(test)]
mod tests;
