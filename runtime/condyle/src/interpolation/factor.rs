//! Factors of an interpolation, and the joints that it applies to.

use condyle_base::error::Error;
use condyle_base::simd::{BLOCK, Lanes};

/// The position between two ends: 0 is the first end, 1 the second.
///
/// ```
/// use condyle::interpolation::{self, Method, Selection};
/// use condyle::{Pose, Transform};
///
/// let up = |y| Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY };
/// let (from, to) = (Pose::identity(2), Pose::from_transforms(&[up(4.0); 2]));
/// let mut pose = Pose::identity(2);
/// interpolation::poses(&from, &to, 0.5, Selection::All, Method::default(), &mut pose)?;
/// assert_eq!([pose.get(0), pose.get(1)], [up(2.0); 2]);
///
/// // A plain number or a slice converts to a factor.
/// let factors = [0.25, 0.75];
/// interpolation::poses(&from, &to, &factors[..], Selection::All, Method::default(), &mut pose)?;
/// assert_eq!([pose.get(0), pose.get(1)], [up(1.0), up(3.0)]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Factor<'a> {
    /// One factor for all joints: the fast path. A NaN factor is an error; with a single rotation, the result
    /// is NaN.
    Same(f32),
    /// One factor per joint, or per joint of the list. Coefficients are computed in f32, so the last bits
    /// differ from those with [`Same`](Self::Same). A NaN factor makes its joint NaN, also in a mask.
    PerJoint(&'a [f32]),
}

impl From<f32> for Factor<'_> {
    #[inline]
    fn from(t: f32) -> Self {
        Self::Same(t)
    }
}

impl<'a> From<&'a [f32]> for Factor<'a> {
    #[inline]
    fn from(t: &'a [f32]) -> Self {
        Self::PerJoint(t)
    }
}

impl Factor<'_> {
    #[inline]
    pub(super) fn check(self, joints: usize) -> Result<(), Error> {
        match self {
            // Infinite factors are clamped; with `extrapolate` their result is documented.
            Self::Same(t) if t.is_nan() => Err(Error::NotFinite { what: "factor", at: 0 }),
            Self::Same(_) => Ok(()),
            Self::PerJoint(t) => Error::check_len("factors", t.len(), joints),
        }
    }
}

/// The factors of blocks, clamped to [0, 1] unless they may extrapolate.
#[derive(Clone, Copy)]
pub(super) struct Factors<'a> {
    /// Number of joints in the blocks.
    pub(super) joints: usize,
    pub(super) t: Factor<'a>,
    /// Multiplier for factors per joint.
    pub(super) weight: f32,
    pub(super) extrapolate: bool,
}

impl Factors<'_> {
    /// Returns the factors of sixteen joints; 0 for lanes after the last joint.
    #[inline(always)]
    pub(super) fn of_block(&self, block: usize) -> Lanes {
        let mut lanes = [0.0; BLOCK];
        match self.t {
            Factor::Same(t) => lanes = [t; BLOCK],
            Factor::PerJoint(t) => match t.get(block * BLOCK..(block + 1) * BLOCK) {
                Some(all) => lanes.copy_from_slice(all),
                None => {
                    for (lane, out) in lanes.iter_mut().enumerate() {
                        *out = t.get(block * BLOCK + lane).copied().unwrap_or(0.0);
                    }
                }
            },
        }
        if let Factor::PerJoint(_) = self.t {
            for t in &mut lanes {
                *t *= self.weight;
            }
        }
        if !self.extrapolate {
            for t in &mut lanes {
                *t = clamped(*t);
            }
        }
        lanes
    }
}

/// Clamps a factor to [0, 1]; NaN stays NaN.
#[inline(always)]
pub(super) fn clamped(t: f32) -> f32 {
    let t = if t < 0.0 { 0.0 } else { t };
    if t > 1.0 { 1.0 } else { t }
}

/// The joints to interpolate. Other joints are not written.
///
/// ```
/// use condyle::interpolation::{self, Method, Selection};
/// use condyle::{Pose, Transform};
///
/// let up = |y| Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY };
/// let (mut pose, to) = (Pose::identity(3), Pose::from_transforms(&[up(4.0); 3]));
/// let arm = Selection::List(&[1, 2]);
/// interpolation::poses(None, &to, 0.5, arm, Method::default(), &mut pose)?;
/// assert_eq!([pose.get(0), pose.get(1), pose.get(2)], [up(0.0), up(2.0), up(2.0)]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selection<'a> {
    /// All joints.
    #[default]
    All,
    /// The joints with these indices, in any order. If a joint is listed twice, the later entry counts; in
    /// place, the joint is interpolated twice.
    List(&'a [u16]),
}

impl Selection<'_> {
    #[inline]
    pub(super) fn check(self, joints: usize) -> Result<usize, Error> {
        let Self::List(list) = self else { return Ok(joints) };
        match list.iter().position(|&joint| usize::from(joint) >= joints) {
            None => Ok(list.len()),
            Some(at) => Err(Error::Index { what: "joints", at, found: usize::from(list[at]), count: joints }),
        }
    }
}
