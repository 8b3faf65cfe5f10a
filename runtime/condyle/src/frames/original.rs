//! The clip that [`Frames`](super::Frames) are made from.

use alloc::vec::Vec;

use crate::pose::Pose;
use crate::skeleton::Skeleton;
use condyle_base::error::Error;

/// Samples a clip at a time.
type Sample<'a> = dyn Fn(f64, &mut Pose) -> Result<(), Error> + 'a;

/// Raw or compressed clip to be unpacked.
pub(super) struct Original<'a> {
    pub(super) skeleton: &'a Skeleton,
    pub(super) start: f64,
    pub(super) end: f64,
    /// Frames or keys per second; 0 if the clip has no duration.
    pub(super) rate: f64,
    /// Times of all keys in ascending order, with the start and the end.
    pub(super) keys: Vec<f64>,
    /// Samples in the portable mode, without the root motion and without jumps between segments.
    pub(super) sample: &'a Sample<'a>,
}

impl Original<'_> {
    /// Moments at which the clip is visited: each key, three moments between two keys, and the moment before
    /// the next key, because the clip may jump there.
    pub(super) fn moments(&self) -> impl Iterator<Item = f64> {
        let between = |pair: &[f64]| {
            let (from, to) = (pair[0], pair[1]);
            let at = |part: f64| (from + (to - from) * part).min(to.next_down()).max(from);
            [from, at(0.25), at(0.5), at(0.75), at(1.0)]
        };
        self.keys.windows(2).flat_map(between).chain(self.keys.last().copied())
    }
}
