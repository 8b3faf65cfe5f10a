//! Synchronisation of clips of different length: left foot with left foot.
//!
//! Clips in step share a cycle of marker names, but may start at different markers. The lexicographically
//! smallest rotation of the names is the beginning of the cycle, so each clip finds its phase 0 alone. The
//! place of a follower is in whole markers and a fraction, so it is exactly on a marker whenever the leader
//! is.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::clock::{check_clock, check_duration, wrapped};
use super::events::{Event, Events};
use condyle_base::error::Error;
use condyle_base::math::sums::sum_in_any_order;

/// Synchronisation data of a clip that wraps: markers in cyclic order, or only its duration.
///
/// A cycle is the shortest sequence of names that repeats: the markers `left right left right` are two cycles
/// of two names. The cycle is the rotation of the sequence that is first in lexicographic order. So clips
/// that begin with different markers have equal cycles.
///
/// Phase counts cycles from the first cycle that begins in loop 0 of the clip. It is a whole number where a
/// cycle begins. From marker to marker it grows by one divided by the number of names, linearly in time.
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
/// // Halfway from the left foot to the right one.
/// assert_eq!(walk.phase(0.25)?, 0.25);
/// assert!((follow(&walk, 0.25, &run)? - 0.4).abs() < 1e-6);
/// // A cycle of the blend takes 0.8 seconds, so the walk plays faster.
/// let speed = sync_speed(&walk, &[(&walk, 0.5), (&run, 0.5)])?;
/// assert!((speed - 1.25).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SyncTrack {
    duration: f64,
    /// Ascending times, from 0 to less than the duration; at least one.
    markers: Vec<f64>,
    /// Names of a cycle, from its first marker.
    cycle: Vec<String>,
    /// Index of the first marker that begins a cycle.
    first: usize,
}

/// Number of markers since phase 0, and the fraction of the interval to the next marker.
#[derive(Clone, Copy)]
struct Place {
    steps: i64,
    fraction: f64,
}

impl SyncTrack {
    /// Creates a track without markers: `cycles` cycles of equal length in a clip of `duration` seconds, from
    /// its start.
    ///
    /// # Errors
    /// [`Error::NotFinite`] or [`Error::OutOfRange`] for a duration that is not above 0;
    /// [`Error::OutOfRange`] if `cycles` is 0.
    pub fn even(duration: f64, cycles: u16) -> Result<Self, Error> {
        let duration = check_length(duration)?;
        if cycles == 0 {
            return Err(Error::OutOfRange { what: "cycles", at: 0, needed: "at least 1" });
        }
        let marker = |at| duration * f64::from(at) / f64::from(cycles);
        let markers = (0..cycles).map(marker).collect();
        Ok(Self { duration, markers, cycle: vec![String::new()], first: 0 })
    }

    /// Creates a track from the markers of a clip of `duration` seconds. A marker at the end of the clip
    /// counts as one at its start.
    ///
    /// # Errors
    /// - [`Error::NotFinite`] or [`Error::OutOfRange`] for a duration that is not above 0.
    /// - [`Error::TooShort`] without markers.
    /// - [`Error::NotFinite`] or [`Error::OutOfRange`] for a marker outside the clip, or at the same time as
    ///   another one.
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
            // Removes the sign of a negative zero.
            order.push((if marker.seconds == duration { 0.0 } else { marker.seconds.abs() }, at));
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some(pair) = order.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::OutOfRange {
                what: "markers",
                at: pair[1].1,
                needed: "at a different time than all others",
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

    /// Creates a track from the events of a clip that are markers.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn from_events(events: &Events, is_marker: impl Fn(&Event) -> bool) -> Result<Self, Error> {
        let markers = events.as_slice().iter().filter(|event| is_marker(event)).cloned().collect();
        Self::new(events.duration(), markers)
    }

    /// Marker names of a cycle, in order; one empty name for a track without markers. Clips can be
    /// synchronised if their cycles are equal.
    #[must_use]
    pub fn cycle(&self) -> &[String] {
        &self.cycle
    }

    /// Number of cycles per loop.
    #[must_use]
    pub fn cycle_count(&self) -> usize {
        self.markers.len() / self.cycle.len()
    }

    /// Mean duration of a cycle in seconds.
    #[must_use]
    pub fn cycle_seconds(&self) -> f64 {
        self.duration / self.cycle_count() as f64
    }

    /// Returns the phase at a time of the clip's clock, which continues over its loops as for
    /// [`Looping::Wrap`](crate::Looping::Wrap).
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `seconds` is NaN or infinite.
    pub fn phase(&self, seconds: f64) -> Result<f64, Error> {
        let Place { steps, fraction } = self.place(seconds)?;
        Ok((steps as f64 + fraction) / self.cycle.len() as f64)
    }

    /// Returns the time of the clip's clock at a phase: the inverse of [`phase`](Self::phase). Phases beyond
    /// 2^52 markers are clamped.
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

    /// Returns the time of a marker and the time to the next one. Index -1 is the last marker of the previous
    /// loop.
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

/// Returns the time of a follower's clock when the leader's clock is at `seconds`.
///
/// The phases are equal. If the leader is at a marker, the follower is exactly at the same marker.
///
/// # Errors
/// [`Error::NotFinite`] if `seconds` is NaN or infinite; [`Error::MarkerOrder`] if the two have different
/// cycles.
///
/// ```
/// use condyle::play::{self, Event, SyncTrack};
///
/// let marker = |seconds, name: &str| Event { seconds, name: name.into() };
/// let walk = SyncTrack::new(1.0, vec![marker(0.0, "left"), marker(0.5, "right")])?;
/// let run = SyncTrack::new(0.6, vec![marker(0.0, "right"), marker(0.3, "left")])?;
/// // Halfway from the left foot to the right one; the run starts with the right one.
/// let seconds = play::follow(&walk, 0.25, &run)?;
/// assert!((run.phase(seconds)? - walk.phase(0.25)?).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn follow(leader: &SyncTrack, seconds: f64, follower: &SyncTrack) -> Result<f64, Error> {
    check_cycle("follower", 0, leader, follower)?;
    Ok(follower.clock(leader.place(seconds)?))
}

/// Returns the playback speed of the leader in a blend of synchronised clips: its clock advances by the speed
/// times the elapsed seconds.
///
/// A cycle of the blend takes the weighted mean of the cycle durations. The speed is 1 for a single clip, and
/// if all weights are 0. The leader need not be among the layers. The order of the layers does not change any
/// bit.
///
/// # Errors
/// [`Error::NotFinite`] or [`Error::OutOfRange`] for a weight that is not finite or is negative;
/// [`Error::MarkerOrder`] for a layer whose cycle differs from the leader's.
///
/// ```
/// use condyle::play::{self, Event, SyncTrack};
///
/// let marker = |seconds, name: &str| Event { seconds, name: name.into() };
/// let walk = SyncTrack::new(1.0, vec![marker(0.0, "left"), marker(0.5, "right")])?;
/// let run = SyncTrack::new(0.6, vec![marker(0.0, "right"), marker(0.3, "left")])?;
/// // The walk leads. It takes one second, and a cycle of the equal blend takes 0.8 seconds.
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
            return Err(Error::OutOfRange { what: "layers", at, needed: "given a weight of at least 0" });
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

/// Returns the length of the shortest sequence whose repetition gives `names`. Knuth, Morris and Pratt 1977:
/// uses the longest border, a part that both begins and ends the sequence.
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

/// Returns the start of the lexicographically first rotation of `ring`. Each comparison that differs
/// eliminates starts, so the time is linear.
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
