//! Finds defects of a clip that a viewer sees: which joint, when, and how much.
//!
//! | defect | found if |
//! |---|---|
//! | [`Kind::Spike`] | a joint turns away by more than 15 degrees and back within two frames, between quiet ones |
//! | [`Kind::Flip`] | a joint turns by more than 90 degrees in one frame, between quiet ones |
//! | [`Kind::Jump`] | the body moves by more than 5 % of the height in one frame, between quiet ones |
//! | [`Kind::RestFrame`] | the first pose is the rest pose, and the second one is a [`Kind::Jump`] away |
//! | [`Kind::Seam`] | last and first pose differ by more than a usual step, and less than 10 % of the height |
//! | [`Kind::Drift`] | a clip that closes ends 0.5 to 10 % of the height away from its start |
//! | [`Kind::Turn`] | a clip that closes ends turned by 1 to 15 degrees |
//! | [`Kind::Slide`] | a planted foot moves by more than 1 % of the height |
//! | [`Kind::Stretch`] | a bone changes its length by more than 2 %, and 0.2 % of the height |
//!
//! The height is the extent of the rest joints. [`Planted`](condyle_solve::foot_placement::Planted) has the
//! thresholds of planted feet. Steps, seams and slides are measured at the given times, so
//! defects between them are not found.

mod feet;
mod loops;
mod record;
mod steps;

use condyle::sampling::PoseSource;
use condyle::{Error, Skeleton};

use self::record::Record;
use crate::rig::{Humanoid, Role};

/// A defect of a clip.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Defect {
    /// Kind of the defect.
    pub kind: Kind,
    /// Joint that shows it most.
    pub joint: u16,
    /// Time of the worst moment, in seconds.
    pub seconds: f64,
    /// Size at the worst moment: radians for [`Kind::Spike`], [`Kind::Flip`] and [`Kind::Turn`], otherwise
    /// the skeleton's unit of length.
    pub amount: f64,
    /// Number of moments with this defect of the joint.
    pub count: usize,
}

/// Kind of a defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The first frame is the rest pose.
    RestFrame,
    /// The whole body is elsewhere in the next frame.
    Jump,
    /// A joint turns away and back.
    Spike,
    /// A joint turns over in one frame.
    Flip,
    /// A bone changes its length.
    Stretch,
    /// A loop does not close: the pose jumps from the last frame to the first.
    Seam,
    /// A loop does not return to its place.
    Drift,
    /// A loop does not return to its direction.
    Turn,
    /// A foot slides while it stands.
    Slide,
}

impl Kind {
    /// Name for tables and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RestFrame => "rest frame",
            Self::Jump => "jump",
            Self::Spike => "spike",
            Self::Flip => "flip",
            Self::Stretch => "stretch",
            Self::Seam => "seam",
            Self::Drift => "drift",
            Self::Turn => "turn",
            Self::Slide => "slide",
        }
    }

    /// Whether [`Defect::amount`] is an angle in radians.
    #[must_use]
    pub fn is_angle(self) -> bool {
        matches!(self, Self::Spike | Self::Flip | Self::Turn)
    }
}

/// Finds the defects of a clip, sorted by kind.
///
/// `times` are the frames, in seconds, ascending. [`Kind::Stretch`] and [`Kind::Slide`] need `humanoid`:
/// controls and accessories move away from their parents on purpose.
///
/// Memory and time are proportional to joints times frames.
///
/// # Errors
/// [`Error::Skeleton`] if the map belongs to another skeleton. [`Error::KeyOrder`] if the times do not rise.
/// The errors of [`PoseSource::pose`].
///
/// ```
/// use condyle::example;
/// use condyle_retarget::inspect::inspect;
///
/// let times: Vec<f64> = (0..=30).map(|frame| f64::from(frame) / 30.0).collect();
/// assert_eq!(inspect(&example::skeleton(), None, &example::walk(), &times)?, []);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn inspect(
    skeleton: &Skeleton,
    humanoid: Option<&Humanoid>,
    clip: &dyn PoseSource,
    times: &[f64],
) -> Result<Vec<Defect>, Error> {
    if let Some(map) = humanoid.filter(|map| map.fingerprint() != skeleton.fingerprint()) {
        let (found, needed) = (map.fingerprint(), skeleton.fingerprint());
        return Err(Error::Skeleton { what: "humanoid", found, needed });
    }
    let is_late = |pair: &[f64]| pair[0] < pair[1];
    if let Some(at) = times.windows(2).position(|pair| !is_late(pair)) {
        return Err(Error::KeyOrder { timeline: 0, key: at + 1 });
    }
    if times.is_empty() || skeleton.joint_count() == 0 {
        return Ok(Vec::new());
    }
    let record = Record::new(skeleton, clip, times)?;
    let mut defects = steps::defects(&record);
    defects.extend(loops::defects(&record, humanoid));
    if let Some(map) = humanoid {
        let is_bone = |defect: &&Defect| map.role(defect.joint).is_some_and(|role| role != Role::Hips);
        defects.extend(record.stretch.iter().filter(is_bone));
        defects.extend(feet::defects(&record, map));
    }
    defects.sort_by(|a, b| a.kind.cmp(&b.kind).then(b.amount.total_cmp(&a.amount)));
    Ok(defects)
}

/// Finds clips that show the same motion: pairs of indices, the first below the second.
///
/// Clips are the same if their durations are, within a millisecond, and no joint is farther apart than 0.01 %
/// of the height at nine moments.
///
/// # Errors
/// The errors of [`PoseSource::pose`].
pub fn duplicates(skeleton: &Skeleton, clips: &[&dyn PoseSource]) -> Result<Vec<(usize, usize)>, Error> {
    const MOMENTS: usize = 9;
    let mut records = Vec::new();
    for (at, clip) in clips.iter().enumerate() {
        let duration = clip.end() - clip.start();
        let moment = |moment: usize| clip.start() + duration * moment as f64 / (MOMENTS - 1) as f64;
        let times: Vec<f64> = (0..MOMENTS).map(moment).collect();
        records.push((duration, at, Record::new(skeleton, *clip, &times)?));
    }
    records.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut found = Vec::new();
    for (first, (duration, at, record)) in records.iter().enumerate() {
        let near = records[first + 1..].iter().take_while(|(other, ..)| other - duration <= 1e-3);
        let same = near.filter(|(_, _, other)| record.is_same(other, 1e-4 * record.height));
        found.extend(same.map(|(_, other, _)| (*at.min(other), *at.max(other))));
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests;
