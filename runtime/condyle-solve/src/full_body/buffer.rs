//! Scratch memory of a call: the part of the skeleton that goals depend on, with lengths divided by its size,
//! and the goals.

use alloc::vec::Vec;
use core::ops::Range;

use super::goal::{Goal, GoalKind};
use super::normal::Normal;
use super::readiness::Readiness;
use super::tree::{
    Joint, Local, Mat64, NONE, Placed, Unknown, Vec64, above, add_scaled, length, place, shift_back, sub,
    transform, unit,
};
use super::{BodyOptions, TURN};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::Quat64;
use condyle_base::math::scalar::sqrt_f64;

/// Maximum distance of a goal, in sizes. A goal farther away is replaced by the point at this distance in the
/// same direction.
const FAR: f64 = 1e4;

/// Lengths below this, in metres, count as zero. With a smaller size, the square of a goal's distance of one
/// metre would overflow.
const SHORT: f64 = 1e-60;

/// Scratch memory of [`body`](super::body()). It grows to the size that a call needs and is then reused.
/// Between calls it carries only the memory and the residuals of the last call.
///
/// ```
/// use condyle::{Pose, example};
/// use condyle_solve::full_body::{BodyBuffer, BodyOptions, Goal, body};
///
/// // Three joints, each 1 m above its parent.
/// let skeleton = example::chain(["shoulder", "elbow", "hand"], [0.0, 1.0, 0.0]);
/// // Reused in every frame.
/// let mut buffer = BodyBuffer::default();
/// let mut pose = Pose::rest(&skeleton);
/// // The reach is 2 m, but the goal is 10 m from the shoulder.
/// let goals = [Goal::position(2, [0.0, 11.0, 0.0]), Goal { weight: 0.0, ..Goal::pin(2) }];
/// body(&skeleton, &goals, &BodyOptions::default(), &mut buffer, &mut pose)?;
/// assert!((buffer.residuals()[0] - 8.0).abs() < 1e-3 && buffer.residuals()[1] < 1e-3);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct BodyBuffer {
    pub(super) residuals: Vec<f32>,
    /// Position in `joints` of each joint of the skeleton.
    index: Vec<u32>,
    pub(super) joints: Vec<Joint>,
    pub(super) unknowns: Vec<Unknown>,
    /// Input pose, the target of the regularisation.
    pub(super) given: Vec<Local>,
    pub(super) now: State,
    pub(super) next: State,
    pub(super) best: State,
    pub(super) goals: Vec<Row>,
    /// Share of each joint in the centre of mass: one list after another, for each centre-of-mass goal.
    pub(super) shares: Vec<f64>,
    /// Sums of the shares, and of the shares times positions, over each joint and its descendants.
    pub(super) sums: Vec<(Vec64, f64)>,
    pub(super) links: Links,
    pub(super) normal: Normal,
    /// Three numbers per goal: first the right-hand side, then the force on the goal.
    pub(super) right: Vec<f64>,
    /// Step of each unknown, a vector.
    pub(super) step: Vec<Vec64>,
    /// Vector from each unknown back to the input pose.
    pub(super) back: Vec<Vec64>,
    /// Total rotation of each unknown's bone: the sum of the steps from the root to this unknown.
    pub(super) turned: Vec<Vec64>,
    /// Force on each unknown.
    pub(super) forces: Vec<Vec64>,
    /// Stiffness that the pull of the goals gives the bones of each unknown.
    pub(super) tension: Vec<Mat64>,
    /// Stiffness of each unknown with all unknowns below eliminated: the Schur complement `S`.
    pub(super) stiff: Vec<Mat64>,
    /// Inverse pivot of each unknown.
    pub(super) eases: Vec<Mat64>,
    /// Temporary values that the elimination passes from an unknown to the one above.
    pub(super) carried: Vec<Mat64>,
    /// Pull plus damping, to be divided by the ease of each unknown.
    pub(super) damped: f64,
    /// Length by which all lengths were divided.
    pub(super) size: f64,
    /// Ease of the joints if the options do not specify it.
    readiness: Readiness,
}

impl BodyBuffer {
    /// Returns the residual of each goal of the last call, in the order of the goals: in metres, or in
    /// radians for orientations.
    #[must_use]
    pub fn residuals(&self) -> &[f32] {
        &self.residuals
    }
}

/// A pose, its joints in model space, and its cost.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) locals: Vec<Local>,
    pub(super) placed: Vec<Placed>,
    /// Vector from the current to the target position of each goal; for orientations a rotation vector.
    pub(super) errors: Vec<Vec64>,
    /// Weighted sum of the squared errors.
    pub(super) missed: f64,
    /// `missed` plus the regularisation.
    pub(super) cost: f64,
}

impl State {
    /// Reserves the memory for a copy of another state.
    fn reserve(&mut self, other: &Self) {
        self.locals.clear();
        self.locals.reserve(other.locals.len());
        self.placed.clear();
        self.placed.reserve(other.placed.len());
        self.errors.clear();
        self.errors.reserve(other.errors.len());
    }

    /// Copies another state without allocating.
    pub(super) fn copy(&mut self, other: &Self) {
        self.locals.clone_from(&other.locals);
        self.placed.clone_from(&other.placed);
        self.errors.clone_from(&other.errors);
        (self.missed, self.cost) = (other.missed, other.cost);
    }
}

/// A goal in f64.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) sought: Sought,
    /// Vector from the replaced to the requested target, for targets that are too far away.
    pub(super) beyond: Vec64,
    /// Square root of the weight. For orientations, also times the factor of radians.
    pub(super) weight: f64,
    /// Range of the goal's unknowns in `Links`.
    pub(super) links: Range<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Sought {
    Point {
        joint: usize,
        offset: Vec64,
        place: Vec64,
    },
    Turn {
        joint: usize,
        orientation: Quat64,
    },
    /// A centre of mass. `shares` is the range of its shares in `BodyBuffer::shares`.
    Mass {
        shares: Range<usize>,
        place: Vec64,
    },
}

/// Unknowns that goals depend on, goal by goal, from the root to the goal. Two goals share the beginning of
/// their lists, up to where their paths separate.
#[derive(Debug, Clone, Default)]
pub(super) struct Links {
    pub(super) unknown: Vec<u32>,
    /// Jacobian of the goal with respect to the unknown.
    pub(super) moved: Vec<Mat64>,
    /// Jacobian after eliminating all unknowns below.
    pub(super) passed: Vec<Mat64>,
    /// `passed` times the inverse pivot of the unknown.
    pub(super) eased: Vec<Mat64>,
    /// Number of links that two goals share, for each pair.
    pub(super) shared: Vec<u32>,
}

impl Links {
    fn clear(&mut self) {
        self.unknown.clear();
        self.shared.clear();
    }
}

impl BodyBuffer {
    /// Reads the arguments of a call, which were checked.
    pub(super) fn prepare(
        &mut self,
        skeleton: &Skeleton,
        goals: &[Goal<'_>],
        options: &BodyOptions<'_>,
        pose: &Pose,
    ) -> Result<(), Error> {
        self.take_joints(skeleton, goals, pose)?;
        let State { locals, placed, .. } = &mut self.now;
        place(&self.joints, locals, placed);
        if !placed.iter().all(|p| p.axes.as_flattened().iter().chain(&p.at).all(|v| v.abs() < 1e60)) {
            return Err(Error::NotFinite { what: "pose", at: 0 });
        }
        self.take_goals(goals);
        self.scale();
        if options.ease.is_none() {
            self.take_readiness(skeleton, goals, pose);
        }
        self.given.clone_from(&self.now.locals);
        Ok(())
    }

    /// Selects the unknowns of a search: joints with an ease of at least `least`.
    pub(super) fn take(&mut self, options: &BodyOptions<'_>, least: f32) {
        self.take_unknowns(options, least);
        self.take_links();
    }

    /// Resets to the input pose.
    pub(super) fn restart(&mut self) {
        self.now.locals.clone_from(&self.given);
        place(&self.joints, &self.now.locals, &mut self.now.placed);
    }

    /// Sets the same ease for all turning joints.
    pub(super) fn take_alike(&mut self) {
        self.unknowns.iter_mut().filter(|unknown| !unknown.shifts).for_each(|unknown| unknown.ease = 1.0);
    }

    /// Whether a joint has an ease below `than` and above 0.
    pub(super) fn has_less_ready(&self, options: &BodyOptions<'_>, than: f32) -> bool {
        let ease = options.ease.unwrap_or(self.readiness.ease());
        self.joints.iter().any(|joint| {
            let ease = ease[usize::from(joint.joint)];
            ease > 0.0 && ease < than
        })
    }

    /// Collects the joints of all goals and their ancestors.
    fn take_joints(&mut self, skeleton: &Skeleton, goals: &[Goal<'_>], pose: &Pose) -> Result<(), Error> {
        self.index.clear();
        self.index.resize(skeleton.joint_count(), NONE);
        for goal in goals {
            match goal.kind {
                GoalKind::Position { joint, .. }
                | GoalKind::Orientation { joint, .. }
                | GoalKind::Pin { joint }
                | GoalKind::PinOrientation { joint } => mark(skeleton, joint, &mut self.index),
                GoalKind::Mass { masses, .. } => {
                    masses.iter().for_each(|&(joint, _)| mark(skeleton, joint, &mut self.index));
                }
            }
        }
        self.joints.clear();
        let State { locals, placed, .. } = &mut self.now;
        locals.clear();
        for at in 0..self.index.len() {
            if self.index[at] == NONE {
                continue;
            }
            let t = pose.get(at);
            if !t.rotation.iter().chain(&t.translation).chain(&t.scale).all(|v| v.is_finite()) {
                return Err(Error::NotFinite { what: "pose", at });
            }
            let joint = at as u16;
            let parent = skeleton.parent(joint).map_or(NONE, |parent| self.index[usize::from(parent)]);
            let even = self.joints.get(parent as usize).is_none_or(|parent| {
                let [x, y, z] = parent.scale;
                parent.even && x == y && y == z && x > 0.0
            });
            self.index[at] = self.joints.len() as u32;
            let scale = t.scale.map(f64::from);
            self.joints.push(Joint { joint, parent, turn: NONE, shift: NONE, even, scale });
            locals.push(Local {
                rotation: unit(t.rotation.map(f64::from)),
                translation: t.translation.map(f64::from),
            });
        }
        placed.clear();
        placed.resize(self.joints.len(), Placed::MODEL);
        Ok(())
    }

    fn take_goals(&mut self, goals: &[Goal<'_>]) {
        self.goals.clear();
        self.shares.clear();
        let most = goals.iter().fold(0.0, |most: f32, goal| most.max(goal.weight));
        let placed = &self.now.placed;
        for goal in goals {
            let weight = if most > 0.0 { sqrt_f64(f64::from(goal.weight) / f64::from(most)) } else { 0.0 };
            let at = |joint: u16| self.index[usize::from(joint)] as usize;
            let sought = match goal.kind {
                GoalKind::Position { joint, offset, place } => {
                    let (joint, offset) = (at(joint), offset.map(f64::from));
                    Sought::Point { joint, offset, place: place.map(f64::from) }
                }
                GoalKind::Pin { joint } => {
                    Sought::Point { joint: at(joint), offset: [0.0; 3], place: placed[at(joint)].at }
                }
                GoalKind::Orientation { joint, orientation } => {
                    Sought::Turn { joint: at(joint), orientation: unit(orientation.map(f64::from)) }
                }
                GoalKind::PinOrientation { joint } => {
                    Sought::Turn { joint: at(joint), orientation: placed[at(joint)].turn }
                }
                GoalKind::Mass { masses, place } => {
                    let from = self.shares.len();
                    self.shares.resize(from + self.joints.len(), 0.0);
                    let sum: f64 = masses.iter().map(|&(_, mass)| f64::from(mass)).sum();
                    for &(joint, mass) in masses {
                        self.shares[from + at(joint)] += f64::from(mass) / sum;
                    }
                    Sought::Mass { shares: from..self.shares.len(), place: place.map(f64::from) }
                }
            };
            let weight = if matches!(sought, Sought::Turn { .. }) { weight * TURN } else { weight };
            self.goals.push(Row { sought, beyond: [0.0; 3], weight, links: 0..0 });
        }
    }

    /// Divides all lengths by the size: the longest path along bones from a root to the point of a goal. The
    /// result then does not depend on the unit of length. Also replaces targets that are too far away.
    fn scale(&mut self) {
        let State { locals, placed, .. } = &mut self.now;
        let mut longest = 0.0_f64;
        // Reuses the memory of `sums` for positions and path lengths.
        self.sums.clear();
        for (joint, own) in self.joints.iter().zip(&*placed) {
            let way =
                self.sums.get(joint.parent as usize).map_or(0.0, |&(at, way)| way + length(sub(own.at, at)));
            self.sums.push((own.at, way));
            longest = longest.max(way);
        }
        for goal in &self.goals {
            if let Sought::Point { joint, offset, .. } = goal.sought {
                longest = longest.max(self.sums[joint].1 + length(transform(&placed[joint].axes, offset)));
            }
        }
        if longest < SHORT {
            for goal in &self.goals {
                if let Sought::Point { joint, place, .. } = goal.sought {
                    longest = longest.max(length(sub(place, placed[joint].at)));
                }
            }
        }
        self.size = if longest >= SHORT { longest } else { 1.0 };
        let by = 1.0 / self.size;
        for local in locals {
            local.translation = local.translation.map(|v| v * by);
        }
        for placed in &mut *placed {
            placed.at = placed.at.map(|v| v * by);
        }
        let placed = &*placed;
        for goal in &mut self.goals {
            let (from, place) = match &mut goal.sought {
                Sought::Point { joint, offset, place } => {
                    *offset = offset.map(|v| v * by);
                    (placed[*joint].at, place)
                }
                Sought::Mass { shares, place } => (mean(placed, &self.shares[shares.clone()]), place),
                Sought::Turn { .. } => continue,
            };
            let way = sub(place.map(|v| v * by), from);
            let far = length(way);
            let part = if far > FAR { FAR / far } else { 1.0 };
            *place = add_scaled(from, way, part);
            goal.beyond = way.map(|v| v * (1.0 - part));
        }
    }

    /// Computes the ease of each joint, if the options do not specify it.
    fn take_readiness(&mut self, skeleton: &Skeleton, goals: &[Goal<'_>], pose: &Pose) {
        self.readiness.begin(skeleton.joint_count());
        for goal in goals.iter().filter(|goal| goal.weight > 0.0) {
            match goal.kind {
                GoalKind::Position { joint, .. }
                | GoalKind::Orientation { joint, .. }
                | GoalKind::Pin { joint }
                | GoalKind::PinOrientation { joint } => self.readiness.want(joint),
                GoalKind::Mass { masses, .. } => {
                    masses.iter().for_each(|&(joint, _)| self.readiness.want(joint));
                }
            }
        }
        self.readiness.end(skeleton, pose);
    }

    /// Collects the ancestors of goals with a weight, as far as the options allow them to move.
    fn take_unknowns(&mut self, options: &BodyOptions<'_>, least: f32) {
        self.unknowns.clear();
        for joint in &mut self.joints {
            (joint.turn, joint.shift) = (NONE, NONE);
        }
        let weighs = |goal: &&Row| goal.weight > 0.0;
        for goal in self.goals.iter().filter(weighs) {
            match &goal.sought {
                Sought::Point { joint, offset, .. } => {
                    let own = if *offset == [0.0; 3] { self.joints[*joint].parent } else { *joint as u32 };
                    mark_turns(&mut self.joints, own);
                }
                Sought::Turn { joint, .. } => mark_turns(&mut self.joints, *joint as u32),
                Sought::Mass { shares, .. } => {
                    for joint in 0..self.joints.len() {
                        if self.shares[shares.start + joint] > 0.0 {
                            let parent = self.joints[joint].parent;
                            mark_turns(&mut self.joints, parent);
                        }
                    }
                }
            }
        }
        for at in 0..self.joints.len() {
            let joint = self.joints[at];
            let ease = f64::from(options.ease.unwrap_or(self.readiness.ease())[usize::from(joint.joint)]);
            let (mut turn, mut shift) = (NONE, NONE);
            if let Some((_, ease)) =
                options.shift.filter(|&(shifted, ease)| shifted == joint.joint && ease > 0.0)
                && shift_back(above(&joint, &self.now.placed), [1.0; 3]) != [0.0; 3]
            {
                shift = self.unknowns.len() as u32;
                self.unknowns.push(Unknown {
                    joint: at as u32,
                    shifts: true,
                    ease: ease.into(),
                    above: NONE,
                });
            }
            if joint.turn != NONE && ease > 0.0 && ease >= f64::from(least) {
                turn = self.unknowns.len() as u32;
                let mut above = joint.parent;
                while let Some(joint) = self.joints.get(above as usize).filter(|joint| joint.turn == NONE) {
                    above = joint.parent;
                }
                let above = self.joints.get(above as usize).map_or(NONE, |joint| joint.turn);
                self.unknowns.push(Unknown { joint: at as u32, shifts: false, ease, above });
            }
            (self.joints[at].turn, self.joints[at].shift) = (turn, shift);
        }
        for list in [&mut self.step, &mut self.turned, &mut self.forces, &mut self.back] {
            list.clear();
            list.resize(self.unknowns.len(), [0.0; 3]);
        }
        for list in [&mut self.tension, &mut self.stiff, &mut self.eases, &mut self.carried] {
            list.clear();
            list.resize(self.unknowns.len(), [[0.0; 3]; 3]);
        }
    }

    /// Collects the unknowns of each goal, and the number that each pair of goals shares.
    fn take_links(&mut self) {
        self.links.clear();
        for goal in &mut self.goals {
            let from = self.links.unknown.len();
            if goal.weight > 0.0 {
                let (joint, own) = match &goal.sought {
                    Sought::Point { joint, offset, .. } => (*joint as u32, *offset != [0.0; 3]),
                    Sought::Turn { joint, .. } => (*joint as u32, true),
                    Sought::Mass { .. } => {
                        self.links.unknown.extend(0..self.unknowns.len() as u32);
                        (NONE, false)
                    }
                };
                let (mut at, mut own) = (joint, own);
                while let Some(joint) = self.joints.get(at as usize) {
                    self.links.unknown.extend([joint.turn].iter().filter(|&&turn| own && turn != NONE));
                    self.links.unknown.extend([joint.shift].iter().filter(|&&shift| shift != NONE));
                    (at, own) = (joint.parent, true);
                }
                if joint != NONE {
                    self.links.unknown[from..].reverse();
                }
            }
            goal.links = from..self.links.unknown.len();
        }
        for (at, a) in self.goals.iter().enumerate() {
            for b in &self.goals[at..] {
                let (a, b) = (&self.links.unknown[a.links.clone()], &self.links.unknown[b.links.clone()]);
                let shared = a.iter().zip(b).take_while(|(a, b)| a == b).count();
                self.links.shared.push(shared as u32);
            }
        }
        let Links { unknown, moved, passed, eased, .. } = &mut self.links;
        for list in [moved, passed, eased] {
            list.clear();
            list.resize(unknown.len(), [[0.0; 3]; 3]);
        }
        let rows = 3 * self.goals.len();
        self.normal.resize(rows);
        self.right.clear();
        self.right.resize(rows, 0.0);
        self.now.errors.clear();
        self.now.errors.resize(self.goals.len(), [0.0; 3]);
        let Self { now, next, best, .. } = self;
        next.copy(now);
        best.reserve(now);
    }
}

/// Weighted mean of joint positions.
pub(super) fn mean(placed: &[Placed], shares: &[f64]) -> Vec64 {
    placed.iter().zip(shares).fold([0.0; 3], |sum, (placed, &share)| add_scaled(sum, placed.at, share))
}

/// Marks a joint and its ancestors.
fn mark(skeleton: &Skeleton, joint: u16, index: &mut [u32]) {
    let mut at = Some(joint);
    while let Some(joint) = at {
        let to = &mut index[usize::from(joint)];
        if *to != NONE {
            return;
        }
        *to = 0;
        at = skeleton.parent(joint);
    }
}

/// Marks a joint and its ancestors as turning.
fn mark_turns(joints: &mut [Joint], from: u32) {
    let mut at = from;
    while let Some(joint) = joints.get_mut(at as usize) {
        if joint.turn != NONE {
            return;
        }
        joint.turn = 0;
        at = joint.parent;
    }
}
