//! Any number of joints in a row, of which the last one carries a tip that reaches.

mod descent;
mod fabrik;
mod nodes;
mod straight;
#[cfg(test)]
mod tests;

use self::descent::Wanted;
pub(super) use self::descent::sweep;
pub(super) use self::nodes::{Node, Row, carried};
use super::Reached;
use super::limits::Limits;
use super::maps::{
    Vec64, above, across, angle, check, check_pose, check_unit, nlerp, scaled, set_rotation, turned_above,
    unit, wide,
};
use crate::error::Error;
use crate::math::quats::{conjugate, is_near_unit, product, rotate};
use crate::math::{Affine, Quat};
use crate::pose::Pose;
use crate::skeleton::Skeleton;

/// How a chain is solved.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// Cyclic coordinate descent: from the tip to the root each joint does what it alone can do best, again and again. No round makes it worse, and limits and hinges are
    /// no obstacle. The tip's joints bend more than those at the root.
    CyclicDescent {
        /// How much of its best turn a joint does each time, as a straight line between no turn and that one has it (nlerp); above 0, at most 1. Less than 1 shares a
        /// turn more evenly among the joints, and takes more rounds.
        step: f32,
        /// How the tip is to be turned.
        orientation: Option<Orientation>,
    },
    /// Forward and backward reaching. Fewer rounds where joints have no limits, most of all when the chain is almost straight.
    Fabrik,
}

/// How the tip of a chain is to be turned.
///
/// ```
/// use condyle::solve::{Chain, Method, Orientation};
///
/// let orientation = Some(Orientation::new([0.0, 0.6, 0.0, 0.8]));
/// let method = Method::CyclicDescent { step: 1.0, orientation };
/// let grasp = Chain { method, iterations: 200, ..Chain::new(&[3, 4, 5, 6], 7, [0.4, 1.1, 0.2]) };
/// assert_eq!(grasp.tolerance, 1e-4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Orientation {
    /// In model space: the product of the tip's rotation and those of its ancestors, which is that of its matrix where no scale is uneven or negative.
    pub rotation: Quat,
    /// Where both cannot be had, or not yet: how many metres off count as much as a radian. More than 0. `None`: a quarter of the chain's length.
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
/// use condyle::solve::{Chain, Method};
///
/// // Four joints of a tail; its end is 10 cm behind the last one.
/// let tail = Chain { offset: [0.0, 0.0, -0.1], method: Method::Fabrik, ..Chain::new(&[8, 9, 10, 11], 11, [0.3, 0.2, -0.5]) };
/// assert_eq!((tail.iterations, tail.weight), (50, 1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain<'a> {
    /// Those that turn, at most [`Chain::MAX_JOINTS`]: each below the one before it, with others in between or not.
    pub joints: &'a [u16],
    /// What reaches: the last of `joints`, or one below it.
    pub tip: u16,
    /// Where the point is that reaches, in the tip's own space.
    pub offset: [f32; 3],
    /// Where it is to be, in model space.
    pub goal: [f32; 3],
    /// How.
    pub method: Method,
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

    /// By cyclic descent to a tenth of a millimetre, in up to 50 rounds.
    #[must_use]
    pub fn new(joints: &'a [u16], tip: u16, goal: [f32; 3]) -> Self {
        Self {
            joints,
            tip,
            offset: [0.0; 3],
            goal,
            method: Method::CyclicDescent { step: 1.0, orientation: None },
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
/// Stops when the tip is within the tolerance, when a round changes nothing more, or after so many rounds; the pose is the nearest of all that it came by. A chain without limits
/// whose goal is too far away, or too near to the root, is laid out straight at once, which is the nearest there is. Limits are kept in every round, and by
/// the result where `weight` is above 0, whatever the pose was; with them, and where both place and orientation are wanted, a round does what is best nearby,
/// which is not always the best of all.
///
/// `model` are the matrices of `pose`; both hold one element per joint. `pose` is changed, `model` is not.
///
/// # Errors
/// [`Error::Length`] if `model` or `pose` do not hold one element per joint; [`Error::Skeleton`] if `limits` were made for other joints;
/// [`Error::TooShort`] and [`Error::TooMany`] for no joints, and for more than [`Chain::MAX_JOINTS`]; [`Error::Index`] and [`Error::OutOfRange`] if a joint
/// does not exist or does not hang on the one before it; [`Error::NotFinite`] if a number is NaN or an infinity, in the chain or where the pose or its matrices matter;
/// [`Error::NotUnit`] if the orientation's length is more than 2 % from 1; [`Error::OutOfRange`] if a tolerance, radius, step or weight is not what it
/// must be; [`Error::NotInvertible`] if the matrix above the first joint is flat, or what a joint but the last one carries. The pose is then unchanged.
///
/// ```
/// use condyle::solve::{Chain, chain};
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
    let (nodes, points): (&mut [Node<'_>], &mut [Vec64]) = if chain.joints.len() <= SHORT {
        few = ([Node::NEW; SHORT], [[0.0; 3]; SHORT]);
        (&mut few.0, &mut few.1)
    } else {
        many = ([Node::NEW; Chain::MAX_JOINTS], [[0.0; 3]; Chain::MAX_JOINTS]);
        (&mut many.0, &mut many.1)
    };
    let count = chain.joints.len();
    let above = above(skeleton, model, chain.joints[0])?;
    let mut row = Row::new(
        skeleton,
        &above,
        pose,
        chain.joints.iter().copied(),
        chain.tip,
        chain.offset.map(f64::from),
        chain.limits,
        &mut nodes[..count],
    )?;
    row.aim_at(above.from_model.point(chain.goal.map(f64::from)));
    let first = conjugate(turned_above(skeleton, pose, chain.joints[0]));
    let mut solver = Solver {
        wanted: match chain.method {
            Method::CyclicDescent { orientation: Some(wanted), .. } => {
                let radius = wanted.radius.map_or_else(|| row.reach() / 4.0, f64::from);
                let orientation = unit(product(first, wide(wanted.rotation)));
                Some((Wanted { orientation, radius2: radius * radius }, f64::from(wanted.tolerance)))
            }
            _ => None,
        },
        row,
        chain,
    };
    let iterations = solver.run(|row, step, wanted| match chain.method {
        Method::CyclicDescent { .. } => sweep(row, step, wanted),
        Method::Fabrik => fabrik::sweep(row, &above.from_model, &mut points[..count]),
    });
    let weight = f64::from(chain.weight);
    if weight < 1.0 {
        for (node, joint) in solver.row.nodes.iter_mut().zip(chain.joints) {
            node.rotation = nlerp(wide(pose.get((*joint).into()).rotation), node.rotation, weight);
        }
        if weight > 0.0 {
            solver.row.clamp();
        }
    }
    let Off { distance, angle } = solver.off(solver.row.arm());
    for node in solver.row.nodes.iter() {
        check_pose(&[node.rotation])?;
    }
    check_pose(&[[distance, angle]])?;
    if weight > 0.0 {
        for (node, &joint) in solver.row.nodes.iter().zip(chain.joints) {
            set_rotation(pose, joint, node.rotation);
        }
    }
    Ok(Reached { distance: distance as f32, angle: angle as f32, iterations })
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
        if let Method::CyclicDescent { step, orientation } = self.method {
            check_unit("step", step)?;
            positive("step", step, f32::MIN_POSITIVE, "more than 0")?;
            if let Some(Orientation { rotation, radius, tolerance }) = &orientation {
                check_orientation(rotation)?;
                positive("radius", radius.unwrap_or(1.0), f32::MIN_POSITIVE, "more than 0")?;
                positive("tolerance", *tolerance, 0.0, "0 or more")?;
            }
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
    fn run(&mut self, mut sweep: impl FnMut(&mut Row<'_, 'a>, f64, Option<Wanted>) -> Vec64) -> u32 {
        let step = match self.chain.method {
            Method::CyclicDescent { step, .. } => step.into(),
            Method::Fabrik => 1.0,
        };
        let wanted = self.wanted.map(|(wanted, _)| wanted);
        self.row.clamp();
        self.row.keep();
        let free =
            wanted.is_none() && self.row.even && self.row.nodes.iter().all(|node| node.limit.is_none());
        if free && straight::lay(&mut self.row) {
            return 1;
        }
        let mut off = self.off(self.row.arm());
        let mut best = self.cost(off);
        let mut before = best;
        let (mut rounds, mut kicks) = (0, 0);
        while rounds < self.chain.iterations.into() && !self.is_reached(off) {
            let arm = sweep(&mut self.row, step, wanted);
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
                self.row.restore();
                self.kick(kicks);
                before = f64::INFINITY;
            } else {
                break;
            }
        }
        self.row.restore();
        if free && !self.is_reached(off) {
            straight::close(&mut self.row);
        }
        rounds
    }

    /// Turns every joint from where it is best, at first a little: out of a straight line, along which no joint knows where to turn, or out of a corner that
    /// limits make.
    fn kick(&mut self, time: u32) {
        for at in 0..self.row.nodes.len() {
            let bone = self.row.bone(at);
            let node = &mut self.row.nodes[at];
            let axis = node.hinge.unwrap_or_else(|| across(rotate(node.rotation, bone)));
            // Evenly spread from -1 to 1, and other ones each time.
            let spread = (f64::from(time) * 0.618_033_988_749_895 + at as f64 * 0.414_213_562_373_095) % 1.0;
            let [x, y, z] = scaled(axis, (2.0 * spread - 1.0) * 0.15 * f64::from(time));
            node.rotation = unit(product([x, y, z, 1.0], node.rotation));
        }
        self.row.clamp();
    }
}
