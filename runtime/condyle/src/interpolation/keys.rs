//! Preparation of a sequence of keys before playback: signs, and the middles of arcs.

use super::factor::Selection;
use super::kernel::on_hemisphere_of;
use super::method::{InterpolateOptions, Method};
use super::plan::Plan;
use crate::pose::Pose;
use condyle_base::error::Error;
use condyle_base::math::{JointQuat, Quat};

/// Gives each key the sign that puts it on the hemisphere of the key before it. The shorter arc between the
/// two is then also the arc as given. The first key is unchanged. Eberly 2018, listing 1.
///
/// Keys that are not rotations (zero length, NaN or infinite) are unchanged and skipped: the key after them
/// is aligned to the key before them.
///
/// ```
/// let mut keys = [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -0.6, -0.8], [0.0, 0.0, 0.8, 0.6]];
/// condyle::interpolation::align_keys(&mut keys);
/// assert_eq!(keys[1], [0.0, 0.0, 0.6, 0.8]);
/// assert_eq!(keys[2], [0.0, 0.0, 0.8, 0.6]);
/// ```
pub fn align_keys(keys: &mut [Quat]) {
    let mut before: Option<Quat> = None;
    let rotates = |key: &Quat| key.iter().all(|v| v.is_finite()) && *key != [0.0; 4];
    for key in keys.iter_mut().filter(|key| rotates(key)) {
        *key = before.map_or(*key, |before| on_hemisphere_of(before, *key));
        before = Some(*key);
    }
}

/// Returns the rotation halfway on the shorter arc, as the middle for [`through`].
///
/// ```
/// use condyle::interpolation::middle;
///
/// let (start, half_turn) = ([0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]);
/// let [_, y, _, w] = middle(start, half_turn);
/// assert!((y - 0.5_f32.sqrt()).abs() < 1e-6 && (w - y).abs() < 1e-6);
/// ```
#[must_use]
pub fn middle(a: Quat, b: Quat) -> Quat {
    Plan::from(InterpolateOptions::from(Method::Nlerp)).at(0.5.into()).single(a, b)
}

/// Returns the rotation between `a` and `b` through their precomputed [`middle`].
///
/// Each half spans half of the angle, so a cheaper method achieves the same error.
/// [`Method::EberlyHalved`](super::Method::EberlyHalved) does not compute another middle then. Each half
/// takes the shorter arc regardless of [`Arc`](super::Arc), because the middle determines the direction.
/// Eberly 2018, section 7.
///
/// ```
/// use condyle::interpolation::{self, Method, Terms};
///
/// let (a, b) = ([0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]);
/// // Once, when the keys are loaded …
/// let middle = interpolation::middle(a, b);
/// // … and then a few terms are enough in each frame.
/// let few = Method::Eberly(Terms::new(4).expect("from 1 to 16"));
/// let [_, y, _, _] = interpolation::through(a, middle, b, 1.0 / 3.0, few);
/// assert!((y - 0.5).abs() < 1e-4);
/// ```
#[must_use]
pub fn through(a: Quat, middle: Quat, b: Quat, t: f32, how: impl Into<InterpolateOptions>) -> Quat {
    let plan = Plan::of_half(how);
    let (first, t) = half(plan.clamped(t));
    let (a, b) = if first { (a, middle) } else { (middle, b) };
    plan.at(t.into()).single(a, b)
}

/// Writes the poses between `from` and `to` through `middle`, the pose halfway between them. See [`through`]
/// and [`poses`](super::poses).
///
/// To compute the middle of two poses, call [`poses`](super::poses) with the factor 0.5 and
/// [`Method::Nlerp`](super::Method::Nlerp), which is exact there.
///
/// # Errors
/// [`Error::Length`] if the poses differ in size. [`Error::NotFinite`] for a NaN factor.
///
/// ```
/// use condyle::interpolation::{self, Method, Selection};
/// use condyle::{Pose, Transform};
///
/// let from = Pose::identity(1);
/// let to = Pose::from_transforms(&[Transform { rotation: [0.0, 1.0, 0.0, 0.0], ..Transform::IDENTITY }]);
/// let mut middle = Pose::identity(1);
/// interpolation::poses(&from, &to, 0.5, Selection::All, Method::Nlerp, &mut middle)?;
///
/// let mut pose = Pose::identity(1);
/// interpolation::poses_through(&from, &middle, &to, 1.0 / 3.0, Method::default(), &mut pose)?;
/// assert!((pose.get(0).rotation[1] - 0.5).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn poses_through(
    from: &Pose,
    middle: &Pose,
    to: &Pose,
    t: f32,
    how: impl Into<InterpolateOptions>,
    out: &mut Pose,
) -> Result<(), Error> {
    for (pose, what) in [(from, "from"), (middle, "middle"), (to, "to")] {
        pose.check_joints(what, out.joint_count())?;
    }
    let plan = Plan::of_half(how);
    let (first, t) = half(plan.clamped(t));
    let (a, b) = if first { (from, middle) } else { (middle, to) };
    plan.at(t.into()).poses(Some(a), b, Selection::All, out)
}

/// Does the same as [`poses_through`] for joints in arrays of structures.
///
/// # Errors
/// [`Error::Length`] if the lists differ in length. [`Error::NotFinite`] for a NaN factor.
///
/// ```
/// use condyle::interpolation::{self, Method};
/// use condyle::math::JointQuat;
///
/// let from = [JointQuat::IDENTITY];
/// let to = [JointQuat { rotation: [0.0, 1.0, 0.0, 0.0], ..JointQuat::IDENTITY }];
/// let rotation = interpolation::middle(from[0].rotation, to[0].rotation);
/// let middle = [JointQuat { rotation, ..JointQuat::IDENTITY }];
///
/// let mut out = [JointQuat::IDENTITY];
/// interpolation::joints_through(&from, &middle, &to, 1.0 / 3.0, Method::default(), &mut out)?;
/// assert!((out[0].rotation[1] - 0.5).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn joints_through(
    from: &[JointQuat],
    middle: &[JointQuat],
    to: &[JointQuat],
    t: f32,
    how: impl Into<InterpolateOptions>,
    out: &mut [JointQuat],
) -> Result<(), Error> {
    for (list, what) in [(from, "from"), (middle, "middle"), (to, "to")] {
        Error::check_len(what, list.len(), out.len())?;
    }
    let plan = Plan::of_half(how);
    let (first, t) = half(plan.clamped(t));
    let (a, b) = if first { (from, middle) } else { (middle, to) };
    plan.at(t.into()).joints(Some(a), b, Selection::All, out)
}

/// Returns whether `t` is in the first half, and the factor within that half.
fn half(t: f32) -> (bool, f32) {
    // Clamp twice the factor, so that it stays finite.
    let twice = if t.is_finite() { (2.0 * t).clamp(f32::MIN, f32::MAX) } else { t };
    if t > 0.5 { (false, twice - 1.0) } else { (true, twice) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpolation::tests::cases;
    use crate::testing::tries;

    #[test]
    fn keys_are_aligned_to_the_key_before() {
        let (mut keys, ..) = cases(tries(100));
        let before = keys.clone();
        align_keys(&mut keys);
        for (at, pair) in keys.windows(2).enumerate() {
            let dot: f64 = (0..4).map(|c| f64::from(pair[0][c]) * f64::from(pair[1][c])).sum();
            assert!(dot >= 0.0, "key {at}");
        }
        assert!(keys.iter().zip(&before).all(|(a, b)| a == b || a.map(|v| -v) == *b));
        align_keys(&mut []);
    }

    #[test]
    fn keys_that_are_no_rotations_do_not_end_the_row() {
        let (a, b, zero) = ([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -0.6, -0.8], [0.0; 4]);
        for broken in [zero, [f32::NAN; 4], [0.0, f32::INFINITY, 0.0, 1.0]] {
            let mut keys = [zero, a, broken, broken, b, zero];
            align_keys(&mut keys);
            assert_eq!((keys[1], keys[4]), (a, [0.0, 0.0, 0.6, 0.8]), "{broken:?}");
            let is_same = |key: &Quat| key.map(f32::to_bits) == broken.map(f32::to_bits);
            assert!(keys[2..4].iter().all(is_same) && keys[0] == zero && keys[5] == zero);
        }
    }
}
