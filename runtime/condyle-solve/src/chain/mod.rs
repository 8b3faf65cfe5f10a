//! Chain IK: any number of joints in a row, whose end effector reaches a goal.

mod descent;
mod fabrik;
mod least_squares;
mod nodes;
mod shells;
mod straight;
#[cfg(test)]
mod tests;

use self::descent::Wanted;
pub(super) use self::descent::sweep;
use self::fabrik::Bone;
use self::least_squares::Until;
pub(super) use self::nodes::{Node, Row, Tip, carried};
use super::Reached;
use super::limits::Limits;
use super::maps::{
    Vec64, above, angle, check, check_distance, check_pose, check_unit, nlerp, set_rotation, turned_above,
    unit, wide,
};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::{conjugate, is_near_unit, product};
use condyle_base::math::{Affine, Quat};

/// Method that solves a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ChainMethod {
    /// Damped least squares: all joints turn simultaneously, each as much as it helps, so that a movement is
    /// distributed among them. It takes the fewest rounds. With limits or an orientation it reaches the most
    /// goals. This method treats limits as hard. Each round continues from the one before, so a soft limit
    /// would reduce the rotation again in every round.
    LeastSquares {
        /// Maximum number of restarts from other poses, always the same ones, if limits block progress. Use 0
        /// for goals that move from frame to frame and may be out of reach: a restart may end in a different
        /// pose than in the frame before.
        restarts: u16,
    },
    /// Cyclic coordinate descent: from the tip to the root, in each round, each joint in turn makes the
    /// rotation that is best on its own. No round increases the error, and it handles limits and hinges. The
    /// joints near the tip bend more than those near the root.
    CyclicDescent {
        /// Fraction of its best rotation that a joint makes per round, by nlerp from the identity; above 0,
        /// at most 1. Values below 1 distribute a rotation more evenly among the joints, and take more
        /// rounds.
        step: f32,
    },
    /// Forward and backward reaching (FABRIK). Takes few rounds if joints have no limits, especially if the
    /// chain is almost straight. Both passes respect limits, and an orientation fixes the direction of the
    /// last bone.
    ///
    /// Each bone follows the next one without regard to the others. Therefore, with limits, it misses about
    /// 30 % of the goals that least squares reaches. Hinges are its weakest case.
    Fabrik,
}

/// Goal orientation of a chain's tip.
///
/// ```
/// use condyle_solve::{Chain, Orientation};
///
/// let orientation = Some(Orientation::new([0.0, 0.6, 0.0, 0.8]));
/// let grasp = Chain { orientation, iterations: 200, ..Chain::new(&[3, 4, 5, 6], 7, [0.4, 1.1, 0.2]) };
/// assert_eq!(grasp.tolerance, 1e-4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Orientation {
    /// Orientation in model space: the product of the tip's rotation and those of its ancestors. It equals
    /// the rotation of the tip's matrix if all scales are uniform and positive.
    pub rotation: Quat,
    /// Weight of the orientation: the distance in metres that counts as much as one radian, above 0. It
    /// determines the result if position and orientation cannot both be met, and the steps of the solver in
    /// any case. `None` uses a quarter of the chain's length.
    pub radius: Option<f32>,
    /// Tolerance in radians; not negative.
    pub tolerance: f32,
}

impl Orientation {
    /// A goal orientation with a tolerance of 0.001 radians.
    #[must_use]
    pub fn new(rotation: Quat) -> Self {
        Self { rotation, radius: None, tolerance: 1e-3 }
    }
}

/// Request for [`chain`](chain()): the joints, the end effector, its goal and options.
///
/// ```
/// use condyle_solve::{Chain, ChainMethod};
///
/// // Four joints of a tail. Its end effector is 10 cm behind the last one.
/// let tail = Chain { offset: [0.0, 0.0, -0.1], method: ChainMethod::Fabrik, ..Chain::new(&[8, 9, 10, 11], 11, [0.3, 0.2, -0.5]) };
/// assert_eq!((tail.iterations, tail.weight), (50, 1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain<'a> {
    /// Joints that turn, at most [`Chain::MAX_JOINTS`]. Each is a descendant of the one before it, not
    /// necessarily its child.
    pub joints: &'a [u16],
    /// Joint that carries the end effector: the last of `joints`, or a descendant of it.
    pub tip: u16,
    /// Position of the end effector in the tip's local space.
    pub offset: [f32; 3],
    /// Goal position in model space.
    pub goal: [f32; 3],
    /// Goal orientation, if any.
    pub orientation: Option<Orientation>,
    /// Solver method.
    pub method: ChainMethod,
    /// Tolerance of the distance to the goal, in metres; not negative.
    pub tolerance: f32,
    /// Maximum number of rounds. All rounds of a method take the same time.
    pub iterations: u16,
    /// Blend factor from the input rotations to the solved ones, from 0 to 1.
    pub weight: f32,
    /// Joint limits.
    pub limits: Option<&'a Limits>,
}

impl<'a> Chain<'a> {
    /// Maximum number of joints that turn.
    pub const MAX_JOINTS: usize = 64;

    /// A request without orientation and limits: least squares with a tolerance of 0.1 mm, up to 50 rounds
    /// and four restarts.
    #[must_use]
    pub fn new(joints: &'a [u16], tip: u16, goal: [f32; 3]) -> Self {
        Self {
            joints,
            tip,
            offset: [0.0; 3],
            goal,
            orientation: None,
            method: ChainMethod::LeastSquares { restarts: 4 },
            tolerance: 1e-4,
            iterations: 50,
            weight: 1.0,
            limits: None,
        }
    }
}

/// Chains up to this length use smaller buffers.
const SHORT: usize = 8;

/// Turns a chain of joints until its end effector is at a goal.
///
/// The solver stops if the end effector is within the tolerance, or if a round no longer improves it. The
/// result is the best pose found.
///
/// Without limits and orientation, a chain reaches every goal within reach, and comes as close as possible to
/// any other, under any scale. An exact solution closes the gap that the rounds leave. A goal out of reach
/// takes one round.
///
/// Non-uniform scales of more than about 20 joints in a row can multiply to values whose rounding error
/// exceeds the distance to the goal. The result is then the nearest pose that the rounds found. With limits
/// or an orientation, the result is a local optimum and not always the global one. If `weight` is above 0, it
/// is within its limits, regardless of the input pose.
///
/// `model` holds the matrices of `pose`; both have one element per joint. Only `pose` is changed.
///
/// # Errors
/// [`Error::Length`] if `model` or `pose` does not hold one element per joint. [`Error::Skeleton`] if
/// `limits` were made for other joints. [`Error::TooShort`] if there are no joints. [`Error::TooMany`] for
/// more than [`Chain::MAX_JOINTS`]. [`Error::Index`] if a joint does not exist. [`Error::NotFinite`] if a
/// value of the chain, or a value that is read from the pose or the matrices, is NaN or infinite.
/// [`Error::NotUnit`] if the orientation's length differs from 1 by more than 2 %.
///
/// [`Error::OutOfRange`] if a joint is not a descendant of the one before it, if a tolerance, radius, step or
/// weight is out of its documented range, or if the goal is 1e38 away or more. [`Error::NotInvertible`] if
/// the matrix above the first joint is singular, or the map between two turning joints. After an error the
/// pose is unchanged.
///
/// ```
/// use condyle_solve::{Chain, chain};
/// use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model, model};
///
/// let along = Transform { translation: [0.0, 0.0, 0.25], ..Transform::IDENTITY };
/// let tail = (0..6).map(|at: u16| Joint::new("tail", at.checked_sub(1), along));
/// let skeleton = Skeleton::new(tail)?;
/// let mut pose = Pose::rest(&skeleton);
/// let mut placed = vec![Affine::IDENTITY; 6];
/// local_to_model(&skeleton, &pose, &mut placed)?;
///
/// let goal = [0.3, 0.4, 0.5];
/// let reached = chain(&skeleton, &placed, &Chain::new(&[0, 1, 2, 3, 4], 5, goal), &mut pose)?;
/// assert!(reached.distance <= 1e-4 && reached.iterations < 20);
/// model::subtree(&skeleton, &pose, 0, &mut placed)?;
/// let tip = placed[5].transform_point([0.0; 3]);
/// assert!(tip.iter().zip(goal).all(|(tip, goal)| (tip - goal).abs() < 2e-4));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn chain(
    skeleton: &Skeleton,
    model: &[Affine],
    chain: &Chain<'_>,
    pose: &mut Pose,
) -> Result<Reached, Error> {
    check(skeleton, model, pose, "joints", chain.joints.iter().copied())?;
    check(skeleton, model, pose, "tip", [chain.tip])?;
    chain.check(skeleton)?;
    let (mut few, mut many);
    let (nodes, bones): (&mut [Node<'_>], &mut [Bone]) = if chain.joints.len() <= SHORT {
        few = ([Node::NEW; SHORT], [Bone::NEW; SHORT]);
        (&mut few.0, &mut few.1)
    } else {
        many = ([Node::NEW; Chain::MAX_JOINTS], [Bone::NEW; Chain::MAX_JOINTS]);
        (&mut many.0, &mut many.1)
    };
    let count = chain.joints.len();
    let above = above(skeleton, model, chain.joints[0])?;
    let mut row = Row::new(
        skeleton,
        &above,
        pose,
        chain.joints.iter().copied(),
        Tip { joint: chain.tip, offset: chain.offset.map(f64::from) },
        chain.limits,
        &mut nodes[..count],
    )?;
    row.aim_at(above.from_model.point(chain.goal.map(f64::from)));
    let wanted = match &chain.orientation {
        None => None,
        Some(wanted) => {
            let radius = wanted.radius.map_or_else(|| row.reach() / 4.0, f64::from);
            let first = conjugate(turned_above(skeleton, pose, chain.joints[0])?);
            let orientation = unit(product(first, wide(wanted.rotation)));
            Some((Wanted { orientation, radius2: radius * radius }, f64::from(wanted.tolerance)))
        }
    };
    let mut solver = Solver { wanted, row, chain };
    let iterations = solver.solve(&mut bones[..count]);
    let weight = f64::from(chain.weight);
    if weight < 1.0 {
        for (node, joint) in solver.row.nodes.iter_mut().zip(chain.joints) {
            node.rotation = nlerp(wide(pose.get((*joint).into()).rotation), node.rotation, weight);
        }
        if weight > 0.0 {
            solver.row.hold();
        }
    }
    let Off { distance, angle } = solver.off(solver.row.arm());
    for node in solver.row.nodes.iter() {
        check_pose(&[node.rotation])?;
    }
    check_pose(&[[angle]])?;
    check_distance("goal", 0, distance)?;
    if weight > 0.0 {
        for (node, &joint) in solver.row.nodes.iter().zip(chain.joints) {
            set_rotation(pose, joint, node.rotation);
        }
    }
    Ok(Reached { distance: distance as f32, angle: angle as f32, iterations })
}

/// Moves the tip of a row as close to its goal as least squares can. Starts from the current pose and from
/// `restarts` others. Returns the number of rounds.
pub(super) fn least_squares(row: &mut Row<'_, '_>, tolerance: f64, rounds: u32, restarts: u32) -> u32 {
    let until = Until { distance2: tolerance * tolerance, angle2: 0.0, rounds };
    least_squares::run(row, None, until, restarts)
}

/// Checks that a rotation is finite and normalised.
pub(super) fn check_orientation(rotation: &Quat) -> Result<(), Error> {
    Error::check_finite("orientation", rotation, 4)?;
    if is_near_unit(rotation) { Ok(()) } else { Err(Error::NotUnit { what: "orientation", at: 0 }) }
}

impl Chain<'_> {
    fn check(&self, skeleton: &Skeleton) -> Result<(), Error> {
        let found = self.joints.len();
        Error::check_room("joints", found, 1)?;
        if found > Self::MAX_JOINTS {
            return Err(Error::TooMany { what: "joints", found, limit: Self::MAX_JOINTS });
        }
        Error::check_finite("offset", &self.offset, 1)?;
        Error::check_finite("goal", &self.goal, 1)?;
        check_unit("weight", self.weight)?;
        let positive = |what, value: f32, least: f32, needed| {
            Error::check_number(what, value)?;
            if value >= least { Ok(()) } else { Err(Error::OutOfRange { what, at: 0, needed }) }
        };
        positive("tolerance", self.tolerance, 0.0, "0 or more")?;
        if let ChainMethod::CyclicDescent { step } = self.method {
            check_unit("step", step)?;
            positive("step", step, f32::MIN_POSITIVE, "more than 0")?;
        }
        if let Some(Orientation { rotation, radius, tolerance }) = &self.orientation {
            check_orientation(rotation)?;
            positive("radius", radius.unwrap_or(1.0), f32::MIN_POSITIVE, "more than 0")?;
            positive("tolerance", *tolerance, 0.0, "0 or more")?;
        }
        self.limits.map_or(Ok(()), |limits| limits.check(skeleton))
    }
}

/// Error of the tip: distance and angle.
#[derive(Clone, Copy)]
struct Off {
    distance: f64,
    angle: f64,
}

/// Iteration of one request, with any method.
struct Solver<'n, 'a, 'c> {
    row: Row<'n, 'a>,
    chain: &'c Chain<'c>,
    wanted: Option<(Wanted, f64)>,
}

/// A round that lowers the cost by less than this fraction counts as stuck.
const STUCK: f64 = 1e-7;
/// Maximum number of perturbations of a stuck chain.
const KICKS: u32 = 6;
/// Maximum number of restarts when least squares finishes the work of another method.
const RESTARTS: u32 = 4;

impl<'a> Solver<'_, 'a, '_> {
    fn off(&self, arm: Vec64) -> Off {
        let angle = self.wanted.map_or(0.0, |(wanted, _)| angle(self.row.turned(), wanted.orientation));
        Off { distance: self.row.distance(arm), angle }
    }

    fn is_reached(&self, off: Off) -> bool {
        off.distance <= self.chain.tolerance.into()
            && self.wanted.is_none_or(|(_, tolerance)| off.angle <= tolerance)
    }

    /// Combines distance and angle into one squared cost.
    fn cost(&self, off: Off) -> f64 {
        let turned = self.wanted.map_or(0.0, |(wanted, _)| wanted.radius2 * off.angle * off.angle);
        off.distance * off.distance + turned
    }

    /// Leaves the nodes at the best rotations found. Returns the number of rounds.
    fn solve(&mut self, bones: &mut [Bone]) -> u32 {
        match self.chain.method {
            ChainMethod::LeastSquares { .. } => self.row.hold(),
            _ => self.row.clamp(),
        }
        self.row.keep();
        let unlimited = self.row.nodes.iter().all(|node| node.limit.is_none());
        let exact = self.wanted.is_none() && unlimited;
        let free = exact && self.row.even_below;
        if exact && (if free { straight::lay(&mut self.row) } else { shells::lay(&mut self.row) }) {
            return 1;
        }
        // If bones keep their lengths, a reachable goal is reachable in any metric, and the metric of the
        // chain's own space takes the fewest rounds.
        self.row.even |= free;
        let most = u32::from(self.chain.iterations);
        // With non-uniform scales, the other methods do not measure in model space. They only start, and
        // least squares finishes.
        let begun = if self.row.even { most } else { most.div_ceil(2) };
        let mut rounds = match self.chain.method {
            ChainMethod::LeastSquares { restarts } => self.least_squares(restarts.into(), most),
            ChainMethod::CyclicDescent { step } => {
                self.rounds(begun, |row, wanted| sweep(row, step.into(), wanted))
            }
            ChainMethod::Fabrik => self.rounds(begun, |row, wanted| fabrik::sweep(row, wanted, bones)),
        };
        let ends = self.row.even || matches!(self.chain.method, ChainMethod::LeastSquares { .. });
        if !ends && !self.is_reached(self.off(self.row.arm())) {
            rounds += self.least_squares(RESTARTS, most - rounds);
        }
        if exact && !self.is_reached(self.off(self.row.arm())) {
            if free { straight::close(&mut self.row) } else { shells::close(&mut self.row) }
        }
        rounds
    }

    fn least_squares(&mut self, restarts: u32, rounds: u32) -> u32 {
        let square = |v: f64| v * v;
        let until = Until {
            distance2: square(self.chain.tolerance.into()),
            angle2: self.wanted.map_or(0.0, |(_, tolerance)| square(tolerance)),
            rounds,
        };
        least_squares::run(&mut self.row, self.wanted.map(|(wanted, _)| wanted), until, restarts)
    }

    /// Repeats a method's round, and perturbs the chain when it is stuck.
    fn rounds(&mut self, most: u32, mut sweep: impl FnMut(&mut Row<'_, 'a>, Option<Wanted>) -> Vec64) -> u32 {
        let wanted = self.wanted.map(|(wanted, _)| wanted);
        let mut off = self.off(self.row.arm());
        let mut best = self.cost(off);
        let mut before = best;
        let (mut rounds, mut kicks) = (0, 0);
        while rounds < most && !self.is_reached(off) {
            let arm = sweep(&mut self.row, wanted);
            rounds += 1;
            off = self.off(arm);
            let cost = self.cost(off);
            if cost < best {
                best = cost;
                self.row.keep();
            }
            // Also false for NaN.
            if cost < before * (1.0 - STUCK) {
                before = cost;
            } else if kicks < KICKS && !self.is_reached(off) {
                kicks += 1;
                self.row.kick(kicks);
                before = f64::INFINITY;
            } else {
                break;
            }
        }
        self.row.restore();
        rounds
    }
}
