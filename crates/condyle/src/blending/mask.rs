//! Masks: how much each joint takes part in a layer.

use alloc::vec::Vec;

use crate::skeleton::Skeleton;
use condyle_base::error::Error;

/// A mask from the joints where parts of a character begin: one factor per joint, for a
/// [`Layer`](super::Layer), an [`Additive`](super::Additive) or an [`overlay`](super::overlay).
///
/// Each of `roots` gives its factor to its joint and to all below it, as far as the next of them. Joints
/// below none of them have 0. If a joint comes twice, the later one counts.
///
/// The factor is reached over `feather` generations: with 0 at the root itself; with 2 the root takes a third
/// of the step from what its parent has, its children two thirds, and their children all of it. So a layer of
/// the upper body fades in along the spine instead of breaking at its foot. Within a step factors never
/// overshoot.
///
/// # Errors
/// [`Error::Index`] if one of `roots` names a joint that the skeleton does not have; [`Error::NotFinite`] for
/// a factor that is NaN or infinite.
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
    /// A step from one factor to another, and how many generations of it are done.
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
        // Exactly the end.
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

    /// Hips; spine 1 to 4 with the head on top; an arm 5, 6 from joint 3; a leg 7, 8; and another root 9.
    fn body() -> Skeleton {
        let parents = [None, Some(0), Some(1), Some(2), Some(3), Some(3), Some(5), Some(0), Some(7), None];
        let joint = |parent| Joint::new("", parent, Transform::IDENTITY);
        Skeleton::new(parents.map(joint)).expect("parents come first")
    }

    #[test]
    fn a_root_gives_its_factor_to_all_below_it() {
        let upper = joint_mask(&body(), &[(1, 1.0)], 0);
        assert_eq!(upper.as_deref(), Ok(&[0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0][..]));
        assert_eq!(joint_mask(&body(), &[], 3), Ok(alloc::vec![0.0; 10]));
        // In any order, and the nearest root above counts.
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
        // The arm falls off from what the spine has where it hangs.
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
