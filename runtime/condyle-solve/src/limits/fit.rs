//! Joint limits fitted to clips, for skeletons without authored limits.

mod region;

use alloc::vec::Vec;

use self::region::Region;
use super::{JointLimit, Limit, Limits, Swing};
use crate::maps::{Vec64, add, direction, length, scaled, sub, unit, wide};
use condyle::pose::Pose;
use condyle::sampling::PoseSource;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::{Quat64, conjugate, near as near_to, product, rotate, rotation_vector};
use condyle_base::math::scalar::atan2_f64;
use condyle_base::math::vectors::dot;

/// Options of [`fit_limits`].
///
/// ```
/// use condyle_solve::FitOptions;
///
/// // Five degrees more than observed, and the last 10 % before each border is soft.
/// let options = FitOptions { margin: 5_f32.to_radians(), soft: 0.1, ..FitOptions::default() };
/// assert_eq!(options.rate, 120.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitOptions {
    /// Samples per second, including the first and the last frame of each clip. 120 by default, so that keys
    /// at 24, 30 and 60 frames per second are sampled.
    pub rate: f32,
    /// Margin added to the observed swing and twist, in radians from 0 to 1; 2° by default.
    pub margin: f32,
    /// Maximum tilt of a hinge axis in radians; 6° by default. A joint is a hinge if its axis tilts by at
    /// most this, and by at most a third of its range of rotation.
    pub hinge: f32,
    /// [`JointLimit::soft`] of all limits; 0 by default.
    pub soft: f32,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self { rate: 120.0, margin: 0.034_906_585, hinge: 0.104_719_76, soft: 0.0 }
    }
}

impl FitOptions {
    fn check(&self) -> Result<(), Error> {
        for (what, value, least, most, needed) in [
            ("rate", self.rate, 1e-3, 1e4, "from 0.001 to 10000"),
            ("margin", self.margin, 0.0, 1.0, "from 0 to 1"),
            ("hinge", self.hinge, 0.0, 1.0, "from 0 to 1"),
            ("soft", self.soft, 0.0, 1.0, "from 0 to 1"),
        ] {
            Error::check_number(what, value)?;
            if !(least..=most).contains(&value) {
                return Err(Error::OutOfRange { what, at: 0, needed });
            }
        }
        Ok(())
    }
}

/// Maximum number of stored rotations while limits are fitted, 16 bytes each.
const MOST: usize = 1 << 25;

/// Fits joint limits to clips: the observed range of each joint plus a margin.
///
/// - A joint that turns about one axis becomes a hinge about it, from the minimum to the maximum angle. If
///   the axis tilts, the limit is a narrow cone about it instead, so that the same tilt is allowed.
/// - Any other joint swings the direction to its children and twists about it. Its swing limit is an ellipse
///   if that is at most 25 % larger than the observed region, otherwise a polygon of up to 12 corners. Its
///   twist limit is a range. If it swings by more than 170°, its swing is unlimited.
/// - A joint that never moves may move by the margin.
/// - Roots have no limit, because the orientation of a character is not a property of its body.
///
/// Every sampled pose is within the limits to 1e-5 radians. The reference of each limit is in the middle of
/// the observed range. The result depends only on the clips and the options.
///
/// # Errors
/// [`Error::OutOfRange`] and [`Error::NotFinite`] if an option is out of its documented range.
/// [`Error::TooShort`] if there are no clips. [`Error::TooMany`] if samples times joints exceed 33 million.
/// [`Error::NotFinite`] if a sampled rotation is not finite. If a clip cannot be sampled for this skeleton,
/// the function returns the error of the sampling.
///
/// ```
/// use condyle_solve::{FitOptions, Swing, fit_limits};
/// use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
///
/// let up = Transform { translation: [0.0, 0.4, 0.0], ..Transform::IDENTITY };
/// let skeleton = Skeleton::new([Joint::new("thigh", None, up), Joint::new("knee", Some(0), up)])?;
/// // A knee bends about x, by up to 90 degrees.
/// let bend = Track {
///     target: Target::Rotation(1),
///     interpolation: Interpolation::Linear,
///     timeline: 0,
///     values: vec![0.0, 0.0, 0.0, 1.0, 0.70710677, 0.0, 0.0, 0.70710677],
/// };
/// let clip = RawClip::new("bend".into(), vec![vec![0.0, 1.0]], vec![bend])?;
///
/// let limits = fit_limits(&skeleton, &[&clip], &FitOptions { margin: 0.0, ..FitOptions::default() })?;
/// let knee = limits.get(1).expect("a knee");
/// assert_eq!(knee.swing, Swing::Hinge);
/// assert!((knee.axis[0].abs() - 1.0).abs() < 1e-6);
/// let [least, most] = knee.twist.expect("a range");
/// assert!((most - least - 90_f32.to_radians()).abs() < 1e-5);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn fit_limits(
    skeleton: &Skeleton,
    clips: &[&dyn PoseSource],
    options: &FitOptions,
) -> Result<Limits, Error> {
    options.check()?;
    Error::check_room("clips", clips.len(), 1)?;
    let count = skeleton.joint_count();
    let seen = Seen::new(skeleton, clips, options.rate)?;
    let mut limits = Vec::with_capacity(count);
    for joint in 0..count as u16 {
        if skeleton.parent(joint).is_some() {
            limits.push((joint, fit(skeleton, joint, &seen.of(joint), options)));
        }
    }
    Limits::new(skeleton, limits)
}

/// Sampled rotations of all joints, sample by sample.
struct Seen {
    count: usize,
    rotations: Vec<[f32; 4]>,
}

impl Seen {
    fn new(skeleton: &Skeleton, clips: &[&dyn PoseSource], rate: f32) -> Result<Self, Error> {
        let count = skeleton.joint_count();
        let mut rotations = Vec::new();
        let mut pose = Pose::rest(skeleton);
        for clip in clips {
            let (start, end) = (clip.start(), clip.end());
            let frames = (end - start) * f64::from(rate);
            // The conversion saturates: too large values become `usize::MAX`, and NaN becomes 0. If a clip
            // has one key per frame, the samples are at the keys.
            let whole = frames as usize;
            let steps = whole.saturating_add(usize::from(frames - whole as f64 > 1e-3)).max(1);
            let found = steps.saturating_add(1).saturating_mul(count).saturating_add(rotations.len());
            if found > MOST {
                return Err(Error::TooMany { what: "rotations", found, limit: MOST });
            }
            for step in 0..=steps {
                let seconds = start + (end - start) * step as f64 / steps as f64;
                clip.pose(skeleton, seconds, &mut pose)?;
                for (at, t) in pose.transforms().enumerate() {
                    if !t.rotation.iter().all(|v| v.is_finite()) {
                        return Err(Error::NotFinite { what: "clips", at });
                    }
                    rotations.push(t.rotation);
                }
            }
        }
        Ok(Self { count, rotations })
    }

    /// Rotations of one joint.
    fn of(&self, joint: u16) -> Vec<Quat64> {
        self.rotations.iter().skip(joint.into()).step_by(self.count.max(1)).map(|&q| unit(wide(q))).collect()
    }
}

/// Limit of a joint with these rotations.
fn fit(skeleton: &Skeleton, joint: u16, seen: &[Quat64], options: &FitOptions) -> JointLimit {
    let margin = f64::from(options.margin);
    let reference = mean(seen);
    let turned = |q: &Quat64| rotation_vector(product(conjugate(reference), *q));
    let most = seen.iter().map(|q| length(turned(q))).fold(0.0, f64::max);
    let bone = bone(skeleton, joint);
    let free = JointLimit {
        reference: narrow(reference),
        soft: options.soft,
        ..JointLimit::free(bone.map(|v| v as f32))
    };
    // The joint does not move: its rotations differ only by f32 rounding.
    if most < 1e-5 {
        let angle = (most + margin) as f32;
        return JointLimit { swing: Swing::Cone(angle), twist: Some([-angle, angle]), ..free };
    }
    let axis = main_axis(seen.iter().map(turned));
    hinge(&free, axis, seen, options).unwrap_or_else(|| swings(&free, seen, margin))
}

/// Mean rotation: the normalised sum of the quaternions.
fn mean(seen: &[Quat64]) -> Quat64 {
    let mut mean = seen.first().copied().unwrap_or([0.0, 0.0, 0.0, 1.0]);
    // Iterated, because the sign of each quaternion depends on the mean.
    for _ in 0..3 {
        let mut sum = [0.0; 4];
        for q in seen {
            for (sum, v) in sum.iter_mut().zip(near_to(mean, *q)) {
                *sum += v;
            }
        }
        mean = unit(sum);
    }
    mean
}

/// Principal axis of vectors: the eigenvector of the largest eigenvalue of their second moments.
fn main_axis(vectors: impl Iterator<Item = Vec64>) -> Vec64 {
    let mut sum = [[0.0; 3]; 3];
    for v in vectors {
        for (row, a) in sum.iter_mut().zip(v) {
            *row = add(*row, scaled(v, a));
        }
    }
    // Repeated squaring makes the largest eigenvalue dominate.
    for _ in 0..40 {
        let size = sum[0][0] + sum[1][1] + sum[2][2];
        let m = sum.map(|row| scaled(row, 1.0 / size));
        sum = m.map(|row| add(add(scaled(m[0], row[0]), scaled(m[1], row[1])), scaled(m[2], row[2])));
    }
    let mut best = sum[0];
    for row in sum {
        if dot(row, row) > dot(best, best) {
            best = row;
        }
    }
    let axis = direction(best).unwrap_or([0.0, 1.0, 0.0]);
    // An axis has two opposite directions. This picks the one whose largest component (the first on a tie)
    // is positive.
    let greatest = axis.iter().fold(0.0_f64, |a, v| if v.abs() > a.abs() + 1e-9 { *v } else { a });
    if greatest < 0.0 { scaled(axis, -1.0) } else { axis }
}

/// Direction to a joint's children in its local space. Without children, the direction from its parent.
fn bone(skeleton: &Skeleton, joint: u16) -> Vec64 {
    let rest = skeleton.rest();
    let place = |joint: u16| rest.get(joint.into()).translation.map(f64::from);
    let mut sum = [0.0; 3];
    for child in (joint..skeleton.joint_count() as u16).filter(|&child| skeleton.parent(child) == Some(joint))
    {
        sum = add(sum, place(child));
    }
    let on = || direction(rotate(conjugate(wide(rest.get(joint.into()).rotation)), place(joint)));
    direction(sum).or_else(on).unwrap_or([0.0, 1.0, 0.0])
}

/// Limit of a hinge about an axis; `None` if the joint is not a hinge.
fn hinge(free: &JointLimit, axis: Vec64, seen: &[Quat64], options: &FitOptions) -> Option<JointLimit> {
    let limit = JointLimit { axis: axis.map(|v| v as f32), ..free.clone() };
    let own = Limit::new(0, limit.clone()).ok()?;
    let (mut leaned, mut range) = (0.0_f64, Range::EMPTY);
    for q in seen {
        let (swing, twist) = own.split(*q);
        leaned = leaned.max(angle_of(swing));
        range.add(twist_of(twist));
    }
    if leaned > options.hinge.into() || leaned > (range.most - range.least) / 3.0 {
        return None;
    }
    let swing =
        if leaned < 1e-5 { Swing::Hinge } else { Swing::Cone((leaned + f64::from(options.margin)) as f32) };
    Some(JointLimit { swing, twist: range.widened(options.margin.into()), ..limit })
}

/// Limit of a joint that swings its bone.
fn swings(free: &JointLimit, seen: &[Quat64], margin: f64) -> JointLimit {
    let mut limit = free.clone();
    let axis = free.axis.map(f64::from);
    let mut side = crate::maps::across(axis);
    // Each round moves the reference to the middle of the observed swings, and turns `side` along their
    // longer extent.
    for round in 0..4 {
        limit.swing = Swing::Ellipse { side: side.map(|v| v as f32), angles: [1.0; 2] };
        let Ok(own) = Limit::new(0, limit.clone()) else { return free.clone() };
        let mut range = Range::EMPTY;
        let mut points = Vec::with_capacity(seen.len());
        for q in seen {
            let (swing, twist) = own.split(*q);
            points.push(swing);
            range.add(twist_of(twist));
        }
        limit.twist = range.widened(margin);
        let region = Region::around(points);
        if region.reach() > WIDE {
            limit.swing = Swing::Free;
            return limit;
        }
        if round == 3 {
            let region = region.widened(margin);
            limit.swing = if region.reach() > WIDE { Swing::Free } else { region.swing(side) };
            return limit;
        }
        let (middle, along) = region.middle();
        limit.reference = narrow(own.joined(middle, [0.0, 1.0]));
        let across = condyle_base::math::vectors::cross(axis, side);
        side = direction(add(scaled(side, along[0]), scaled(across, along[1]))).unwrap_or(side);
        side = direction(sub(side, scaled(axis, dot(axis, side)))).unwrap_or(side);
    }
    limit
}

/// A swing of 170° in the plane of swings. Beyond it hardly any swings remain.
const WIDE: f64 = 0.916_331_174;

/// Angle of a swing.
fn angle_of([x, y]: [f64; 2]) -> f64 {
    4.0 * atan2_f64(condyle_base::math::scalar::sqrt_f64(x * x + y * y), 1.0)
}

/// Angle of a twist.
fn twist_of([sin, cos]: [f64; 2]) -> f64 {
    let [sin, cos] = if cos < 0.0 { [-sin, -cos] } else { [sin, cos] };
    2.0 * atan2_f64(sin, cos)
}

fn narrow(q: Quat64) -> [f32; 4] {
    q.map(|v| v as f32)
}

/// Minimum and maximum of some angles.
struct Range {
    least: f64,
    most: f64,
}

impl Range {
    const EMPTY: Self = Self { least: f64::INFINITY, most: f64::NEG_INFINITY };

    fn add(&mut self, angle: f64) {
        self.least = self.least.min(angle);
        self.most = self.most.max(angle);
    }

    /// The range with a margin on both sides; `None` if it is almost a full turn.
    fn widened(&self, margin: f64) -> Option<[f32; 2]> {
        let [least, most] = [self.least - margin, self.most + margin];
        (most - least < 6.0).then_some([least as f32, most as f32])
    }
}

#[cfg(test)]
mod tests;
