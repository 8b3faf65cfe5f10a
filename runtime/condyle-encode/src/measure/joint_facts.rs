//! Joint data that is known before the segments of a clip are fitted.

use alloc::vec::Vec;

use crate::measure::ball::Ball;
use crate::measure::shell;
use crate::options::EncodeOptions;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Transform64;
use condyle_base::math::vectors::normalize;

/// Joint data that is known before its segments are fitted.
#[derive(Debug, Clone)]
pub(crate) struct JointFacts {
    pub(crate) parent: Option<usize>,
    pub(crate) rest: Transform64,
    /// Points and balls in joint space that must stay within the budget.
    pub(crate) shell: Vec<Ball>,
    pub(crate) budget: f64,
    /// Whether rotation, translation and scale are fallback tracks.
    pub(crate) fallback: [bool; 3],
}

/// Facts of all joints, and the [`extent`](shell::extent) of the skeleton. `fallback` returns which tracks of
/// a joint are fallback tracks.
pub(crate) fn joint_facts(
    skeleton: &Skeleton,
    options: &EncodeOptions,
    fallback: impl Fn(usize) -> [bool; 3],
) -> Result<(Vec<JointFacts>, f64), Error> {
    let shell = shell::balls(skeleton, &options.shell)?;
    let extent = shell::extent(skeleton, &shell);
    let budget = |budget: f32| minus_rounding(budget, DECODER_ROUNDING * extent);
    let of_joint = |((joint, shell), rest): ((usize, Vec<Ball>), _)| {
        let mut rest = Transform64::from(rest);
        // Curves are relative to the rest rotation, which must be a unit quaternion for this.
        normalize(&mut rest.rotation);
        let parent = skeleton.parent(joint as u16).map(usize::from);
        JointFacts { parent, rest, shell, budget: budget(options.budget), fallback: fallback(joint) }
    };
    let each = shell.into_iter().enumerate().zip(skeleton.rest().transforms());
    let mut joints: Vec<JointFacts> = each.map(of_joint).collect();
    for &(joint, own) in &options.joint_budgets {
        joints[usize::from(joint)].budget = budget(own);
    }
    Ok((joints, extent))
}

/// Decoder's f32 rounding error, a few ULPs, as a fraction of the distance to the farthest shell point. It
/// adds to the fitting error, so budgets reserve it. Half: targets equal, defaults -0.9 %; twice: equal and
/// +0.5 %.
const DECODER_ROUNDING: f64 = 4e-7;

/// Budget minus the rounding error, of which at most a fifth of the budget is subtracted. Otherwise nothing
/// would be left of a budget close to the rounding error. A tenth and two fifths: equal bytes, because it
/// only affects such budgets.
pub(crate) fn minus_rounding(budget: f32, rounding: f64) -> f64 {
    let budget = f64::from(budget);
    budget - rounding.min(budget / 5.0)
}
