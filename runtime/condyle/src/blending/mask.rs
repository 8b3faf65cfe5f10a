//! Masks: the factor of a layer for each joint.

use alloc::vec::Vec;

use crate::skeleton::Skeleton;
use condyle_base::error::Error;

/// Builds a mask from the root joints of body parts: one factor per joint, for a [`Layer`](super::Layer), an
/// [`Additive`](super::Additive) or an [`overlay`](super::overlay).
///
/// Each of `roots` assigns its factor to its joint and all descendants, down to the next of the `roots`.
/// Joints that are not below any of the `roots` get 0. If a joint is listed twice, the later entry counts.
///
/// `feather` spreads the change of the factor over generations. With 0, the root gets its full factor. With
/// 2, the root gets one third of the change from the factor of its parent, its children two thirds, their
/// children all of it. So a layer for the upper body fades in along the spine instead of starting abruptly at
/// its base. Factors never overshoot.
///
/// # Errors
/// [`Error::Index`] if one of `roots` names a joint that the skeleton lacks; [`Error::NotFinite`] for a
/// factor that is NaN or infinite.
///
/// ```
/// use condyle::blending::joint_mask;
/// use condyle::{Joint, Skeleton, Transform};
///
/// let joint = |parent: Option<u16>| Joint::new("", parent, Transform::IDENTITY);
/// let spine = Skeleton::new([joint(None), joint(Some(0)), joint(Some(1)), joint(Some(2)), joint(Some(0))])?;
/// assert_eq!(joint_mask(&spine, &[(1, 1.0)], 0)?, [0.0, 1.0, 1.0, 1.0, 0.0]);
/// assert_eq!(joint_mask(&spine, &[(1, 1.0), (3, 0.0)], 1)?, [0.0, 0.5, 1.0, 0.5, 0.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn joint_mask(skeleton: &Skeleton, roots: &[(u16, f32)], feather: u16) -> Result<Vec<f32>, Error> {
    /// A change from one factor to another, and the number of generations done so far.
    #[derive(Clone, Copy)]
    struct Step {
        from: f32,
        to: f32,
        done: u32,
    }
    let count = skeleton.joint_count();
    for (at, &(joint, factor)) in roots.iter().enumerate() {
        let found = usize::from(joint);
        if found >= count {
            return Err(Error::Index { what: "roots", at, found, count });
        }
        if !factor.is_finite() {
            return Err(Error::NotFinite { what: "roots", at });
        }
    }
    let generations = u32::from(feather) + 1;
    let mut own: Vec<Option<f32>> = alloc::vec![None; count];
    for &(joint, factor) in roots {
        own[usize::from(joint)] = Some(factor);
    }
    let none = Step { from: 0.0, to: 0.0, done: generations };
    let mut steps: Vec<Step> = Vec::with_capacity(count);
    let mut mask: Vec<f32> = Vec::with_capacity(count);
    for (joint, own) in (0..).zip(own) {
        let above = skeleton.parent(joint).map(usize::from);
        let step = match (own, above) {
            (Some(to), above) => Step { from: above.map_or(0.0, |above| mask[above]), to, done: 1 },
            (None, Some(above)) => Step { done: (steps[above].done + 1).min(generations), ..steps[above] },
            (None, None) => none,
        };
        let part = f64::from(step.done) / f64::from(generations);
        let (from, to) = (f64::from(step.from), f64::from(step.to));
        // Exactly the end value, without rounding.
        mask.push(if step.done == generations { step.to } else { (from + (to - from) * part) as f32 });
        steps.push(step);
    }
    Ok(mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeleton::Joint;
    use condyle_base::math::Transform;

    /// Hips 0; a spine 1 to 4 that ends in the head; an arm 5, 6 on joint 3; a leg 7, 8; and a second root 9.
    fn body() -> Skeleton {
        let parents = [None, Some(0), Some(1), Some(2), Some(3), Some(3), Some(5), Some(0), Some(7), None];
        let joint = |parent| Joint::new("", parent, Transform::IDENTITY);
        Skeleton::new(parents.map(joint)).expect("parents before children")
    }

    #[test]
    fn a_root_gives_its_factor_to_all_below_it() {
        let upper = joint_mask(&body(), &[(1, 1.0)], 0);
        assert_eq!(upper.as_deref(), Ok(&[0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0][..]));
        assert_eq!(joint_mask(&body(), &[], 3), Ok(alloc::vec![0.0; 10]));
        // The order of the roots does not matter; the nearest root above a joint counts.
        for roots in [[(0, 0.5), (5, 2.0), (7, 0.0)], [(7, 0.0), (5, 2.0), (0, 0.5)]] {
            let mask = joint_mask(&body(), &roots, 0);
            assert_eq!(mask.as_deref(), Ok(&[0.5, 0.5, 0.5, 0.5, 0.5, 2.0, 2.0, 0.0, 0.0, 0.0][..]));
        }
        let twice = joint_mask(&body(), &[(9, 1.0), (9, 0.25)], 0).expect("valid roots");
        assert_eq!(twice[9], 0.25);
    }

    #[test]
    fn a_feather_spreads_the_step_over_generations() {
        let mask = joint_mask(&body(), &[(1, 1.0)], 3);
        assert_eq!(mask.as_deref(), Ok(&[0.0, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0][..]));
        // The factor of the arm falls from the factor of the spine joint that it is attached to.
        let mask = joint_mask(&body(), &[(1, 1.0), (5, 0.0)], 1);
        assert_eq!(mask.as_deref(), Ok(&[0.0, 0.5, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0][..]));
        let long = joint_mask(&body(), &[(0, 1.0)], u16::MAX).expect("valid roots");
        assert!(long[..9].iter().all(|&f| f > 0.0 && f < 1e-3) && long[9] == 0.0, "{long:?}");
    }

    #[test]
    fn roots_that_are_not_there_or_no_numbers_are_refused() {
        let refused = joint_mask(&body(), &[(0, 1.0), (10, 1.0)], 0);
        assert_eq!(refused, Err(Error::Index { what: "roots", at: 1, found: 10, count: 10 }));
        for bad in [f32::NAN, f32::INFINITY] {
            assert_eq!(joint_mask(&body(), &[(0, bad)], 0), Err(Error::NotFinite { what: "roots", at: 0 }));
        }
        let nobody = Skeleton::new([]).expect("no joints");
        assert_eq!(joint_mask(&nobody, &[], 1), Ok(Vec::new()));
    }
}
