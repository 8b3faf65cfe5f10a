//! Any number of joints in a row, of which the last one carries a tip that reaches.

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

/// How a chain is solved.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ChainMethod {
    /// Damped least squares: all joints turn at once, each as much as it helps, which shares a movement among
    /// them. The fewest rounds, and the most goals reached where joints have limits or the tip is to be
    /// turned. Borders are hard for it: each round goes on from the one before, which a soft one would slow
    /// down again.
    LeastSquares {
        /// How often it starts anew, always from the same other poses, where limits leave it no way on. 0 for
        /// goals that move from frame to frame and may be out of reach: a new start may end in another pose
        /// than that of the frame before.
        restarts: u16,
    },
    /// Cyclic coordinate descent: from the tip to the root each joint does what it alone can do best, again
    /// and again. No round makes it worse, and limits and hinges are no obstacle. The tip's joints bend more
    /// than those at the root.
    CyclicDescent {
        /// How much of its best turn a joint does each time, as a straight line between no turn and that one
        /// has it (nlerp); above 0, at most 1. Less than 1 shares a turn more evenly among the joints, and
        /// takes more rounds.
        step: f32,
    },
    /// Forward and backward reaching (FABRIK). Few rounds where joints have no limits, most of all when the
    /// chain is almost straight. Limits hold both ways, and an orientation says where the last bone begins;
    /// but each bone follows the next one without minding the others, so with limits three goals of ten stay
    /// unreached that the least squares reach, and hinges are what it is worst at.
    Fabrik,
}

/// How the tip of a chain is to be turned.
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
    /// In model space: the product of the tip's rotation and those of its ancestors, which is that of its
    /// matrix where no scale is uneven or negative.
    pub rotation: Quat,
    /// Where both cannot be had, or not yet: how many metres off count as much as a radian. More than 0.
    /// `None`: a quarter of the chain's length.
    pub radius: Option<f32>,
    /// Radians that do not matter; not negative.
    pub tolerance: f32,
}

impl Orientation {
    /// To a thousandth of a radian.
    #[must_use]
    pub fn new(rotation: Quat) -> Self {
        Self { rotation, radius: None, tolerance: 1e-3 }
    }
}

/// What a chain of joints is to reach.
///
/// ```
/// use condyle_solve::{Chain, ChainMethod};
///
/// // Four joints of a tail; its end is 10 cm behind the last one.
/// let tail = Chain { offset: [0.0, 0.0, -0.1], method: ChainMethod::Fabrik, ..Chain::new(&[8, 9, 10, 11], 11, [0.3, 0.2, -0.5]) };
/// assert_eq!((tail.iterations, tail.weight), (50, 1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain<'a> {
    /// Those that turn, at most [`Chain::MAX_JOINTS`]: each below the one before it, with others in between
    /// or not.
    pub joints: &'a [u16],
    /// What reaches: the last of `joints`, or one below it.
    pub tip: u16,
    /// Where the point is that reaches, in the tip's own space.
    pub offset: [f32; 3],
    /// Where it is to be, in model space.
    pub goal: [f32; 3],
    /// How it is to be turned, if that matters.
    pub orientation: Option<Orientation>,
    /// How.
    pub method: ChainMethod,
    /// Metres from the goal at which it is reached; not negative.
    pub tolerance: f32,
    /// The greatest number of rounds. One takes as long as any other.
    pub iterations: u16,
    /// How much of the way the rotations go, from 0 to 1.
    pub weight: f32,
    /// What the joints can do.
    pub limits: Option<&'a Limits>,
}

impl<'a> Chain<'a> {
    /// The greatest number of joints that turn.
    pub const MAX_JOINTS: usize = 64;

    /// By least squares to a tenth of a millimetre, in up to 50 rounds with up to four new starts, turned in
    /// any way.
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

/// Chains up to this length need less room.
const SHORT: usize = 8;

/// Turns joints in a row until a tip that hangs on them is at a goal.
///
/// Stops when the tip is within the tolerance, or when a round changes nothing more; the pose is the nearest
/// of all that it came by.
///
/// A chain without limits and orientation reaches every goal that its bones can reach, and comes as near as they can to
/// any other, under any scale: an exact solution closes what the rounds leave. A goal out of reach takes one round. Uneven
/// scales of more than about 20 joints in a row can multiply to numbers whose rounding exceeds the goal; the result is
/// then the nearest that the rounds have found. With limits, or an orientation, a round does what is best nearby, which
/// is not always the best of all. The result keeps its limits where `weight` is above 0, whatever the pose was.
///
/// `model` are the matrices of `pose`; both hold one element per joint. `pose` is changed, `model` is not.
///
/// # Errors
/// [`Error::Length`] if `model` or `pose` do not hold one element per joint; [`Error::Skeleton`] if `limits`
/// were made for other joints; [`Error::TooShort`] and [`Error::TooMany`] for no joints, and for more than
/// [`Chain::MAX_JOINTS`]; [`Error::Index`] and [`Error::OutOfRange`] if a joint does not exist or does not
/// hang on the one before it; [`Error::NotFinite`] if a number is NaN or an infinity, in the chain or where
/// the pose or its matrices matter; [`Error::NotUnit`] if the orientation's length is more than 2 % from 1;
/// [`Error::OutOfRange`] if a tolerance, radius, step or weight is not what it must be, or the goal is 1e38
/// away or more; [`Error::NotInvertible`] if the matrix above the first joint is flat, or what a joint but
/// the last one carries. The pose is then unchanged.
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

/// Brings the tip of a row as near as the least squares find, from where its nodes are and from so many other
/// places. Returns how many rounds it took.
pub(super) fn least_squares(row: &mut Row<'_, '_>, tolerance: f64, rounds: u32, restarts: u32) -> u32 {
    let until = Until { distance2: tolerance * tolerance, angle2: 0.0, rounds };
    least_squares::run(row, None, until, restarts)
}

/// `Ok` for a rotation.
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

/// What the tip is off.
#[derive(Clone, Copy)]
struct Off {
    distance: f64,
    angle: f64,
}

/// The rounds, whatever is done in one.
struct Solver<'n, 'a, 'c> {
    row: Row<'n, 'a>,
    chain: &'c Chain<'c>,
    wanted: Option<(Wanted, f64)>,
}

/// A round that improves less than this part of what is off is the last of its kind.
const STUCK: f64 = 1e-7;
/// How often a chain that gets no further starts anew from somewhere else.
const KICKS: u32 = 6;
/// Starts of the least squares that end what another method began.
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

    /// One number for both.
    fn cost(&self, off: Off) -> f64 {
        let turned = self.wanted.map_or(0.0, |(wanted, _)| wanted.radius2 * off.angle * off.angle);
        off.distance * off.distance + turned
    }

    /// Leaves the nodes at the best that they came by. Returns how many rounds there were.
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
        // What bones reach they reach in any metric, and rounds are few in that of their own space.
        self.row.even |= free;
        let most = u32::from(self.chain.iterations);
        // Neither of the others measures in model space under uneven scales, so that they only begin.
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

    /// Round after round of the same kind, and a kick where they lead nowhere.
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
            // NaN is not less either.
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
