//! Selects the kernel for a request.
//!
//! Every user compiles each kernel for each instruction set. One factor for all joints along the shorter
//! arc, by a polynomial or nlerp, therefore has dedicated kernels for poses and for structures. All other
//! requests use blocks of sixteen joints with a factor per lane, and rare methods share one kernel with a
//! run-time branch (`Rare`). Coefficients are copied to all lanes before the loop, by hand: the compiler
//! repeated the copies for every group, which took 10 % of the time.

use super::exact::{exact, nlerp};
use super::factor::{Factor, Factors, Selection, clamped};
use super::kernel::{Nearer, OneFactor, lanes_blocks, uniform_blocks, uniform_one};
use super::method::{Arc, Degree, InterpolateOptions, Method, Terms};
use super::structs::uniform_structs;
use super::weights::{Fitted, Given, Halved, Nested, Rare, Series, Straight};
use super::{exponential_map, formula, one_factor};
use crate::pose::{Pose, PoseBlock};
use condyle_base::error::{Error, invariant};
use condyle_base::math::{JointQuat, Quat, Transform};
use condyle_base::simd::{BLOCK, Dispatch, dispatch, dispatch_512};

/// A list of joints that can be read and written one at a time.
pub(super) trait Joints {
    fn count(&self) -> usize;
    fn read(&self, joint: usize) -> Transform;
    fn write(&mut self, joint: usize, transform: &Transform);
}

impl Joints for Pose {
    #[inline]
    fn count(&self) -> usize {
        self.joint_count()
    }
    #[inline]
    fn read(&self, joint: usize) -> Transform {
        self.get(joint)
    }
    #[inline]
    fn write(&mut self, joint: usize, transform: &Transform) {
        self.set(joint, transform);
    }
}

impl Joints for [JointQuat] {
    #[inline]
    fn count(&self) -> usize {
        self.len()
    }
    #[inline]
    fn read(&self, joint: usize) -> Transform {
        self[joint].into()
    }
    #[inline]
    fn write(&mut self, joint: usize, transform: &Transform) {
        let Transform { rotation, translation, scale: [scale, _, _] } = *transform;
        self[joint] = JointQuat { rotation, translation, scale };
    }
}

/// The method and its options, for any layout of joints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plan {
    how: InterpolateOptions,
    /// Whether the ends are already half of an arc, so that [`Method::EberlyHalved`] does not halve it again.
    halves: bool,
}

impl From<InterpolateOptions> for Plan {
    fn from(how: InterpolateOptions) -> Self {
        Self { how, halves: false }
    }
}

/// A plan with a factor, and the coefficients for both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step<'a> {
    plan: Plan,
    t: Factor<'a>,
    /// `None` if the factor or the method needs a kernel with a factor per joint.
    uniform: Option<Uniform>,
}

/// One factor for all joints, by a method that has a kernel for it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Uniform {
    /// The factor from the nearer end.
    f: f32,
    nearer: Nearer,
    weights: UniformWeights,
}

/// Polynomials are padded to these sizes, for fewer kernels. Padding does not change the results.
#[derive(Debug, Clone, Copy, PartialEq)]
enum UniformWeights {
    Straight,
    Four(Series<4>),
    Nine(Series<9>),
    Sixteen(Series<16>),
}

impl UniformWeights {
    /// Returns up to nine terms, padded to nine in `room`, for kernels that fewer terms would not make
    /// faster. Nine terms are returned by reference, because a copy can break store forwarding: it requires a
    /// load of the same size.
    fn nine<'a>(&'a self, room: &'a mut Option<Series<9>>) -> Option<&'a Series<9>> {
        match self {
            Self::Four(weights) => Some(room.insert(weights.padded())),
            Self::Nine(weights) => Some(weights),
            Self::Straight | Self::Sixteen(_) => None,
        }
    }
}

impl Plan {
    pub(super) fn of_half(how: impl Into<InterpolateOptions>) -> Self {
        Self { how: InterpolateOptions { arc: Arc::Shorter, ..how.into() }, halves: true }
    }

    pub(super) fn at(self, t: Factor<'_>) -> Step<'_> {
        Step { plan: self, t, uniform: self.uniform(t) }
    }

    fn uniform(self, t: Factor<'_>) -> Option<Uniform> {
        let Factor::Same(t) = t else { return None };
        let t = self.clamped(t);
        if self.how.arc == Arc::AsGiven || is_beyond(t) {
            return None;
        }
        let (nearer, f) = one_factor::nearer(t);
        let eberly = |terms: Terms, factor| match terms.count() {
            0..=4 => UniformWeights::Four(Series::new(&formula::eberly::<4>(terms, factor, f))),
            5..=9 => UniformWeights::Nine(Series::new(&formula::eberly::<9>(terms, factor, f))),
            _ => UniformWeights::Sixteen(Series::new(&formula::eberly::<16>(terms, factor, f))),
        };
        let weights = match self.how.method {
            Method::Nlerp => UniformWeights::Straight,
            Method::Slerp(Degree::Four) => UniformWeights::Four(Series::new(&formula::SLERP_FOUR.at(f))),
            Method::Slerp(Degree::Six) => UniformWeights::Nine(Series::new(&formula::SLERP_SIX.at(f))),
            Method::Slerp(Degree::Nine) => UniformWeights::Nine(Series::new(&formula::SLERP_NINE.at(f))),
            Method::Eberly(terms) => eberly(terms, formula::factor(terms)),
            Method::EberlyHalved(terms) if self.halves => eberly(terms, formula::factor_halved(terms)),
            _ => return None,
        };
        Some(Uniform { f: f as f32, nearer, weights })
    }

    /// Returns the factor, clamped to [0, 1] unless it may extrapolate.
    pub(super) fn clamped(self, t: f32) -> f32 {
        if self.how.extrapolate { t } else { clamped(t) }
    }

    /// Interpolates the first `joints` joints by any method, sixteen at a time.
    fn blocks(
        self,
        joints: usize,
        from: &[PoseBlock],
        to: &[PoseBlock],
        t: Factor<'_>,
        out: &mut [PoseBlock],
    ) {
        let factors = Factors { joints, t, weight: 1.0, extrapolate: self.how.extrapolate };
        self.factored_blocks(from, to, factors, out);
    }

    fn factored_blocks(
        self,
        from: &[PoseBlock],
        to: &[PoseBlock],
        factors: Factors<'_>,
        out: &mut [PoseBlock],
    ) {
        invariant!(from.len() == out.len() && to.len() == out.len(), "poses of the same size");
        macro_rules! run {
            ($weights:expr) => {{
                let weights = $weights;
                dispatch!(|s, mode| lanes_blocks(s, mode, &weights, &factors, Some(from), to, out))
            }};
        }
        let halved = |terms| Nested::new(terms, formula::factor_halved(terms));
        match (self.how.method, self.how.arc) {
            (Method::Slerp(degree), Arc::Shorter) => slerp_blocks(degree, Some(from), to, &factors, out),
            // For the exact method this computes translations and scales. Its rotations follow below.
            (Method::Nlerp, Arc::Shorter) | (Method::Exact, _) => run!(Straight),
            (Method::ExponentialMap, arc) => exponential_map::blocks(arc, &factors, from, to, out),
            (method, arc) => run!(match (method, arc) {
                // A straight line is not halved.
                (Method::Nlerp, Arc::AsGiven) => Rare::StraightGiven,
                // Half of the given arc is never longer than the longest shorter arc.
                (_, Arc::AsGiven) => Rare::Given(Given(Halved(Fitted::slerp(Degree::Nine)))),
                (Method::EberlyHalved(terms), _) if self.halves => Rare::Nested(halved(terms)),
                (Method::EberlyHalved(terms), _) => Rare::Halved(Halved(halved(terms))),
                (Method::Eberly(terms), _) => Rare::Nested(Nested::new(terms, formula::factor(terms))),
                (Method::VanWaveren, _) => Rare::Sines,
                _ => Rare::Corrected,
            }),
        }
        if self.how.method != Method::Exact && !self.how.extrapolate {
            return;
        }
        for (i, out) in out.iter_mut().enumerate() {
            for (lane, t) in factors.of_block(i).into_iter().enumerate() {
                if self.how.method == Method::Exact || is_beyond(t) {
                    let rotation = |block: &PoseBlock| block.rotation.each_ref().map(|c| c[lane]);
                    let in_f64 = if self.how.method == Method::Nlerp { nlerp } else { exact };
                    let exact = in_f64(rotation(&from[i]), rotation(&to[i]), t, self.how.arc);
                    for (out, value) in out.rotation.iter_mut().zip(exact) {
                        out[lane] = value;
                    }
                }
            }
        }
    }
}

/// Slerp with a factor per joint. If `from` is `None`, `out` holds the first end.
pub(super) fn slerp_blocks(
    degree: Degree,
    from: Option<&[PoseBlock]>,
    to: &[PoseBlock],
    factors: &Factors<'_>,
    out: &mut [PoseBlock],
) {
    invariant!(to.len() == out.len(), "poses of the same size");
    let weights = Fitted::slerp(degree);
    let dispatch = Dispatch::current().for_joints(factors.joints);
    dispatch_512!(dispatch, |s, mode| lanes_blocks(s, mode, &weights, factors, from, to, out));
}

impl Step<'_> {
    /// If `from` is `None`, `out` holds the first end. The same applies to [`joints`](Self::joints).
    pub(super) fn poses(
        &self,
        from: Option<&Pose>,
        to: &Pose,
        joints: Selection<'_>,
        out: &mut Pose,
    ) -> Result<(), Error> {
        let count = out.joint_count();
        from.map_or(Ok(()), |from| from.check_joints("from", count))?;
        to.check_joints("to", count)?;
        self.t.check(joints.check(count)?)?;
        match (&self.uniform, from, joints) {
            (Some(uniform), _, Selection::All) => {
                uniform.blocks(count, from.map(Pose::blocks), to.blocks(), out.blocks_mut());
            }
            (None, Some(from), Selection::All) => {
                self.plan.blocks(count, from.blocks(), to.blocks(), self.t, out.blocks_mut());
            }
            (_, Some(from), _) => self.staged(joints, out, |_, joint| (from.read(joint), to.read(joint))),
            (_, None, _) => self.staged(joints, out, |out, joint| (out.read(joint), to.read(joint))),
        }
        Ok(())
    }

    pub(super) fn joints(
        &self,
        from: Option<&[JointQuat]>,
        to: &[JointQuat],
        joints: Selection<'_>,
        out: &mut [JointQuat],
    ) -> Result<(), Error> {
        from.map_or(Ok(()), |from| Error::check_len("from", from.len(), out.len()))?;
        Error::check_len("to", to.len(), out.len())?;
        self.t.check(joints.check(out.len())?)?;
        match (&self.uniform, from, joints) {
            (Some(uniform), _, Selection::All) => uniform.structs(from, to, out),
            (_, Some(from), _) => self.staged(joints, out, |_, joint| (from.read(joint), to.read(joint))),
            (_, None, _) => self.staged(joints, out, |out, joint| (out.read(joint), to.read(joint))),
        }
        Ok(())
    }

    pub(super) fn single(&self, a: Quat, b: Quat) -> Quat {
        if let Some(one) = self.uniform.as_ref().and_then(|uniform| uniform.one(a, b)) {
            return one;
        }
        let block = |rotation| {
            let mut block = PoseBlock::IDENTITY;
            block.set(0, &Transform { rotation, ..Transform::IDENTITY });
            [block]
        };
        let mut out = block(a);
        match &self.uniform {
            Some(uniform) => uniform.blocks(1, Some(&block(a)), &block(b), &mut out),
            None => self.plan.blocks(1, &block(a), &block(b), self.t, &mut out),
        }
        out[0].get(0).rotation
    }

    /// Interpolates joints that are gathered into blocks of sixteen and scattered afterwards.
    fn staged<J: Joints + ?Sized>(
        &self,
        joints: Selection<'_>,
        out: &mut J,
        ends: impl Fn(&J, usize) -> (Transform, Transform),
    ) {
        let count = match joints {
            Selection::All => out.count(),
            Selection::List(list) => list.len(),
        };
        let joint = |at: usize| match joints {
            Selection::All => at,
            Selection::List(list) => usize::from(list[at]),
        };
        let mut at = 0;
        while at < count {
            // In place, a joint that is listed twice must be written before it is read again.
            let (mut end, mut highest) = (at + 1, joint(at));
            while end < count.min(at + BLOCK) {
                let next = joint(end);
                // Most lists are in ascending order. Search the joints before only if the order breaks.
                if next <= highest && (at..end).any(|k| joint(k) == next) {
                    break;
                }
                highest = highest.max(next);
                end += 1;
            }
            let (mut from, mut to) = ([PoseBlock::IDENTITY], [PoseBlock::IDENTITY]);
            let mut between = from;
            for k in at..end {
                let (a, b) = ends(out, joint(k));
                from[0].set(k - at, &a);
                to[0].set(k - at, &b);
            }
            match &self.uniform {
                Some(uniform) => uniform.blocks(end - at, Some(&from), &to, &mut between),
                None => {
                    let part = match self.t {
                        Factor::Same(_) => self.t,
                        Factor::PerJoint(t) => Factor::PerJoint(&t[at..end]),
                    };
                    self.plan.blocks(end - at, &from, &to, part, &mut between);
                }
            }
            for k in at..end {
                out.write(joint(k), &between[0].get(k - at));
            }
            at = end;
        }
    }
}

impl Uniform {
    /// Interpolates the first `joints` joints. If `from` is `None`, `out` holds the first end.
    fn blocks(&self, joints: usize, from: Option<&[PoseBlock]>, to: &[PoseBlock], out: &mut [PoseBlock]) {
        invariant!(
            from.is_none_or(|from| from.len() == out.len()) && to.len() == out.len(),
            "poses of the same size"
        );
        let dispatch = Dispatch::current().for_joints(joints);
        macro_rules! run {
            ($weights:expr) => {{
                let factor = &OneFactor { weights: $weights, nearer: self.nearer, f: self.f };
                dispatch_512!(dispatch, |s, mode| uniform_blocks(s, mode, factor, joints, from, to, out))
            }};
        }
        match &self.weights {
            UniformWeights::Straight => run!(&Straight),
            UniformWeights::Four(weights) => run!(weights),
            UniformWeights::Nine(weights) => run!(weights),
            UniformWeights::Sixteen(weights) => run!(weights),
        }
    }

    /// Interpolates a single rotation. `None` for long polynomials, which only have a kernel for blocks.
    fn one(&self, a: Quat, b: Quat) -> Option<Quat> {
        macro_rules! run {
            ($weights:expr) => {{
                let factor = &OneFactor { weights: $weights, nearer: self.nearer, f: self.f };
                Some(dispatch!(|s, mode| uniform_one(s, mode, factor, a, b)))
            }};
        }
        match (&self.weights, self.weights.nine(&mut None)) {
            (_, Some(weights)) => run!(weights),
            (UniformWeights::Straight, _) => run!(&Straight),
            _ => None,
        }
    }

    /// Interpolates structures. Moving them in and out of lanes takes longer than fewer terms would save.
    fn structs(&self, from: Option<&[JointQuat]>, to: &[JointQuat], out: &mut [JointQuat]) {
        invariant!(
            from.is_none_or(|from| from.len() == out.len()) && to.len() == out.len(),
            "lists of the same length"
        );
        macro_rules! run {
            ($weights:expr) => {{
                let factor = &OneFactor { weights: $weights, nearer: self.nearer, f: self.f };
                dispatch!(|s, mode| uniform_structs(s, mode, factor, from, to, out))
            }};
        }
        match (&self.weights, self.weights.nine(&mut None)) {
            (_, Some(weights)) => run!(weights),
            (UniformWeights::Sixteen(weights), _) => run!(weights),
            _ => run!(&Straight),
        }
    }
}

/// Whether `t` is outside [0, 1] and not NaN.
fn is_beyond(t: f32) -> bool {
    !(0.0..=1.0).contains(&t) && !t.is_nan()
}
