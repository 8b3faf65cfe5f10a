//! What can be done with a sequence of keys before it is played: signs, and the middles of its arcs.

use super::{Factor, Interpolator, Plan, Selection};
use crate::{Error, Pose, Quat};

/// Gives each key the sign that puts it on the hemisphere of the key before it, so that the shorter arcs are the arcs as
/// given. The first one stays. Eberly 2018, listing 1.
///
/// ```
/// let mut keys = [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -0.6, -0.8], [0.0, 0.0, 0.8, 0.6]];
/// condyle::align_keys(&mut keys);
/// assert_eq!(keys[1], [0.0, 0.0, 0.6, 0.8]);
/// assert_eq!(keys[2], [0.0, 0.0, 0.8, 0.6]);
/// ```
pub fn align_keys(keys: &mut [Quat]) {
    for at in 1..keys.len() {
        let (a, b) = (keys[at - 1], keys[at]);
        // Products of f32 are exact in f64: the sign is that of the true product.
        if (0..4).map(|c| f64::from(a[c]) * f64::from(b[c])).sum::<f64>() < 0.0 {
            keys[at] = b.map(|v| -v);
        }
    }
}

/// The rotation half way on the shorter arc, for [`interpolate_through`].
#[must_use]
pub fn middle(a: Quat, b: Quat) -> Quat {
    super::interpolate(a, b, 0.5, super::Method::Nlerp)
}

/// The rotation between `a` and `b` by way of their [`middle`], computed before: each half is half of the angle, so that a
/// cheaper method keeps the same error. [`Method::EberlyHalved`](super::Method::EberlyHalved) finds no middle of its own then.
/// Eberly 2018, section 7.
#[must_use]
pub fn interpolate_through(a: Quat, middle: Quat, b: Quat, t: f32, how: impl Into<Interpolator>) -> Quat {
    let plan = Plan { how: how.into(), halves: true };
    let (first, t) = half(plan.held(t));
    let (a, b) = if first { (a, middle) } else { (middle, b) };
    plan.single(a, b, t)
}

/// The poses between `from` and `to` by way of `middle`, the pose half way between them: see [`interpolate_through`] and
/// [`interpolate_poses`](super::interpolate_poses).
///
/// The middle of two poses is [`interpolate_poses`](super::interpolate_poses) with the factor 0.5, by any method.
///
/// # Errors
/// [`Error::Length`] if the poses differ in size.
pub fn interpolate_poses_through(
    from: &Pose,
    middle: &Pose,
    to: &Pose,
    t: f32,
    how: impl Into<Interpolator>,
    out: &mut Pose,
) -> Result<(), Error> {
    middle.check_joints("middle", out.joint_count())?;
    let plan = Plan { how: how.into(), halves: true };
    let (first, t) = half(plan.held(t));
    let (a, b) = if first { (from, middle) } else { (middle, to) };
    // All three are to be of one size, whichever half it is.
    let (unused, what) = if first { (to, "to") } else { (from, "from") };
    unused.check_joints(what, out.joint_count())?;
    plan.poses(a, b, Factor::Same(t), Selection::All, out)
}

/// Whether `t` is in the first half, and where in it.
fn half(t: f32) -> (bool, f32) {
    if t > 0.5 { (false, 2.0 * t - 1.0) } else { (true, 2.0 * t) }
}
