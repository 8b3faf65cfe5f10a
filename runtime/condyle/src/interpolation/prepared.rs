//! A factor and a method whose coefficients are computed once for many calls.

use super::factor::Selection;
use super::method::InterpolateOptions;
use super::plan::{Plan, Step};
use crate::pose::Pose;
use condyle_base::error::Error;
use condyle_base::math::{JointQuat, Quat};

/// A method with one factor for all joints, and the coefficients for both.
///
/// [`poses`](super::poses) and [`joints`](super::joints) compute the coefficients in f64 in each call, at the
/// cost of about 15 joints of a pose. If you interpolate many small poses or single rotations with one factor
/// in a frame, prepare it once. The results have the same bits.
///
/// ```
/// use condyle::interpolate;
/// use condyle::interpolation::{Method, Prepared};
///
/// // The heads of a crowd turn a quarter of the remaining angle to their target each frame.
/// let follow = Prepared::new(0.25, Method::default());
/// let (mut heads, wanted) = ([[0.0, 0.0, 0.0, 1.0]; 100], [0.0, 0.6, 0.0, 0.8]);
/// for head in &mut heads {
///     *head = follow.rotation(*head, wanted);
/// }
/// assert_eq!(heads[99], interpolate([0.0, 0.0, 0.0, 1.0], wanted, 0.25, Method::default()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prepared(Step<'static>);

impl Prepared {
    /// Returns the coefficients for the factor `t`, from 0 at the first end to 1 at the second, like
    /// [`Factor::Same`](super::Factor::Same). With a NaN factor [`rotation`](Self::rotation) returns NaN, and
    /// the other calls return an error.
    #[must_use]
    pub fn new(t: f32, how: impl Into<InterpolateOptions>) -> Self {
        Self(Plan::from(how.into()).at(t.into()))
    }

    /// Returns [`interpolate`](super::interpolate()) with this factor and method.
    #[must_use]
    pub fn rotation(&self, a: Quat, b: Quat) -> Quat {
        self.0.single(a, b)
    }

    /// Does the same as [`poses`](super::poses) with this factor and method.
    ///
    /// # Errors
    /// Those of [`poses`](super::poses).
    pub fn poses<'a>(
        &self,
        from: impl Into<Option<&'a Pose>>,
        to: &Pose,
        joints: Selection<'_>,
        out: &mut Pose,
    ) -> Result<(), Error> {
        self.0.poses(from.into(), to, joints, out)
    }

    /// Does the same as [`joints`](super::joints) with this factor and method.
    ///
    /// # Errors
    /// Those of [`poses`](super::poses).
    pub fn joints(
        &self,
        from: Option<&[JointQuat]>,
        to: &[JointQuat],
        joints: Selection<'_>,
        out: &mut [JointQuat],
    ) -> Result<(), Error> {
        self.0.joints(from, to, joints, out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::errors;
    use super::super::{Arc, Method, Terms, interpolate, joints, poses};
    use super::*;
    use crate::testing::Random;
    use condyle_base::simd::Dispatch;
    use core::f32::consts::FRAC_PI_2;
    use std::vec::Vec;

    #[test]
    fn what_is_prepared_gives_the_same_bits() {
        let mut random = Random(34);
        let terms = |count| Terms::new(count).expect("from 1 to 16");
        let methods = [
            Method::default(),
            Method::Eberly(terms(3)),
            Method::Eberly(terms(12)),
            Method::EberlyHalved(terms(4)),
            Method::Nlerp,
            Method::ExponentialMap,
            Method::Exact,
        ];
        for count in [1, 9, 35] {
            let [from, to] = [random.pose(count), random.pose(count)];
            let list = |pose: &Pose| -> Vec<JointQuat> {
                let joint = |t: condyle_base::math::Transform| JointQuat {
                    rotation: t.rotation,
                    translation: t.translation,
                    scale: t.scale[0],
                };
                pose.transforms().map(joint).collect()
            };
            let (from_list, to_list) = (list(&from), list(&to));
            let some: Vec<u16> = (0..count as u16).step_by(2).collect();
            for (method, t) in methods.into_iter().flat_map(|m| [0.0, 0.3, 0.8, 1.0, 1.5].map(|t| (m, t))) {
                for (arc, extrapolate) in [(Arc::Shorter, false), (Arc::AsGiven, false), (Arc::Shorter, true)]
                {
                    let how = InterpolateOptions { arc, extrapolate, ..method.into() };
                    let prepared = Prepared::new(t, how);
                    for which in [Selection::All, Selection::List(&some)] {
                        let case = std::format!("{how:?} at {t}, {count} joints, {which:?}");
                        let [mut a, mut b] = [from.clone(), from.clone()];
                        poses(&from, &to, t, which, how, &mut a).expect("sizes agree");
                        prepared.poses(&from, &to, which, &mut b).expect("sizes agree");
                        assert_eq!(a, b, "{case}");
                        poses(None, &to, t, which, how, &mut a).expect("sizes agree");
                        prepared.poses(None, &to, which, &mut b).expect("sizes agree");
                        assert_eq!(a, b, "{case}");
                        let [mut a, mut b] = [from_list.clone(), from_list.clone()];
                        joints(Some(&from_list), &to_list, t, which, how, &mut a).expect("sizes agree");
                        prepared.joints(Some(&from_list), &to_list, which, &mut b).expect("sizes agree");
                        assert_eq!(a, b, "{case}");
                        joints(None, &to_list, t, which, how, &mut a).expect("sizes agree");
                        prepared.joints(None, &to_list, which, &mut b).expect("sizes agree");
                        assert_eq!(a, b, "{case}");
                    }
                    let [a, b] = [from.get(0).rotation, to.get(0).rotation];
                    assert_eq!(prepared.rotation(a, b), interpolate(a, b, t, how), "{how:?} at {t}");
                }
            }
        }
    }

    /// Compares with slerp, because equal bits could also be equal mistakes.
    #[test]
    fn what_is_prepared_is_near_slerp() {
        let mut random = Random(36);
        for method in Method::all() {
            let bound = method.error_bound(FRAC_PI_2);
            for t in [0.0, 0.1, 0.3, 0.5, 0.8, 1.0] {
                let prepared = Prepared::new(t, method);
                let [from, to] = [random.pose(17), random.pose(17)];
                let mut out = from.clone();
                prepared.poses(&from, &to, Selection::All, &mut out).expect("sizes agree");
                for joint in 0..17 {
                    let [a, b, many] = [&from, &to, &out].map(|pose| pose.get(joint).rotation);
                    for got in [many, prepared.rotation(a, b)] {
                        let off = errors(method, a, b, t, got).1;
                        assert!(off <= bound, "{method} at {t}: {got:?} is {off:e} off, of {bound:e}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_factor_that_is_no_number_is_refused_or_gives_none() {
        let prepared = Prepared::new(f32::NAN, Method::default());
        let [a, b] = [[0.0, 0.0, 0.0, 1.0], [0.0, 0.6, 0.0, 0.8]];
        assert!(prepared.rotation(a, b).iter().all(|v| v.is_nan()));
        let refused = Err(Error::NotFinite { what: "factor", at: 0 });
        let [from, to, mut out] = [1, 1, 1].map(Pose::identity);
        assert_eq!(prepared.poses(&from, &to, Selection::All, &mut out), refused);
        assert_eq!(prepared.poses(None, &to, Selection::All, &mut out), refused);
        let mut list = [JointQuat::IDENTITY];
        assert_eq!(prepared.joints(Some(&[list[0]]), &[list[0]], Selection::All, &mut list), refused);
        assert_eq!(prepared.joints(None, &[JointQuat::IDENTITY], Selection::All, &mut list), refused);
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let (prepared, [mut one, two]) = (Prepared::new(0.5, Method::Nlerp), [1, 2].map(Pose::identity));
        let refused = |what, found| Err(Error::Length { what, found, needed: 1 });
        assert_eq!(prepared.poses(&two, &one.clone(), Selection::All, &mut one), refused("from", 2));
        assert_eq!(prepared.poses(None, &two, Selection::All, &mut one), refused("to", 2));
        let [a, b] = [JointQuat::IDENTITY; 2];
        assert_eq!(prepared.joints(Some(&[a]), &[a, b], Selection::All, &mut [b]), refused("to", 2));
        assert_eq!(prepared.joints(None, &[], Selection::All, &mut [b]), refused("to", 0));
    }

    /// If the last joints of a list do not fill a group of lanes, they still have the same bits as in a pose.
    /// Nothing outside the list is written.
    #[test]
    fn the_last_joints_of_a_list_are_as_the_others() {
        let mut random = Random(35);
        for count in 0..40 {
            let [from, to] = [random.pose(count), random.pose(count)];
            let list = |pose: &Pose| -> Vec<JointQuat> {
                let joint = |t: condyle_base::math::Transform| JointQuat {
                    scale: 1.0,
                    rotation: t.rotation,
                    translation: t.translation,
                };
                pose.transforms().map(joint).collect()
            };
            let (from_list, to_list) = (list(&from), list(&to));
            for (dispatch, t) in Dispatch::all().flat_map(|dispatch| [0.2, 0.7].map(|t| (dispatch, t))) {
                let (mut pose, mut out) = (from.clone(), from_list.clone());
                let mut in_place = from_list.clone();
                dispatch.scope(|| {
                    let half = Prepared::new(t, Method::default());
                    half.poses(&from, &to, Selection::All, &mut pose).expect("sizes agree");
                    half.joints(Some(&from_list), &to_list, Selection::All, &mut out).expect("sizes agree");
                    half.joints(None, &to_list, Selection::All, &mut in_place).expect("sizes agree");
                });
                let want: Vec<_> = pose.transforms().map(|t| (t.rotation, t.translation)).collect();
                for got in [out, in_place] {
                    let got: Vec<_> = got.iter().map(|j| (j.rotation, j.translation)).collect();
                    assert_eq!(got, want, "{dispatch}, {count} joints, {t}");
                }
            }
        }
    }
}
