//! What a call works on, in memory that the caller keeps: the part of the skeleton that goals depend on, with lengths as parts of
//! its size, and the goals in numbers.

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

/// Sizes that a goal may be away: one farther off is sought where the way to it passes this distance, which is the same direction.
const FAR: f64 = 1e4;

/// What is shorter than this, metres, has no length: a goal a metre away would be so many sizes away that their squares overflow.
const SHORT: f64 = 1e-60;

/// Scratch memory of [`body`](super::body()): grows to what a call needs and is reused from then on. Nothing in it is
/// carried from one call to the next but the memory, and the residuals of the last one.
///
/// ```
/// use condyle_solve::full_body::{BodyBuffer, BodyOptions, Goal, body};
/// # use condyle::{Joint, Pose, Skeleton, Transform};
/// # let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
/// # let joint = |name, parent| Joint::new(name, parent, up);
/// # let skeleton = Skeleton::new([joint("a", None), joint("b", Some(0)), joint("c", Some(1))])?;
///
/// // Kept from frame to frame.
/// let mut buffer = BodyBuffer::default();
/// let mut pose = Pose::rest(&skeleton);
/// // Two metres from its shoulder it is within reach, ten it is not.
/// let goals = [Goal::position(2, [0.0, 11.0, 0.0]), Goal { weight: 0.0, ..Goal::pin(2) }];
/// body(&skeleton, &goals, &BodyOptions::default(), &mut buffer, &mut pose)?;
/// assert!((buffer.residuals()[0] - 8.0).abs() < 1e-3 && buffer.residuals()[1] < 1e-3);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct BodyBuffer {
    pub(super) residuals: Vec<f32>,
    /// Of each joint of the skeleton, where it is in `joints`.
    index: Vec<u32>,
    pub(super) joints: Vec<Joint>,
    pub(super) unknowns: Vec<Unknown>,
    /// The pose that was given, to which the answer is drawn.
    pub(super) given: Vec<Local>,
    pub(super) now: State,
    pub(super) next: State,
    pub(super) best: State,
    pub(super) goals: Vec<Row>,
    /// Of each goal for a mass in turn, the share of each joint.
    pub(super) shares: Vec<f64>,
    /// The sums of these over what hangs on each joint.
    pub(super) sums: Vec<(Vec64, f64)>,
    pub(super) links: Links,
    pub(super) normal: Normal,
    /// Three numbers for each goal: first what is sought, then the pull on it.
    pub(super) right: Vec<f64>,
    /// Three numbers for each unknown: what it is to become.
    pub(super) step: Vec<Vec64>,
    /// The way of each unknown back to the given pose.
    pub(super) back: Vec<Vec64>,
    /// The same of all turns down to this one together, as the bone that it turns sees it.
    pub(super) turned: Vec<Vec64>,
    /// What acts on each unknown.
    pub(super) forces: Vec<Vec64>,
    /// How the pull of the goals holds each unknown's bones, and this with what comes from below.
    pub(super) tension: Vec<Mat64>,
    pub(super) stiff: Vec<Mat64>,
    /// The inverse of all that holds each unknown.
    pub(super) eases: Vec<Mat64>,
    /// On its way from an unknown to the one above.
    pub(super) carried: Vec<Mat64>,
    /// What is added to each unknown's stiffness, as a multiple of it.
    pub(super) damped: f64,
    /// What lengths were divided by.
    pub(super) size: f64,
    /// Where the options do not say how readily joints turn.
    readiness: Readiness,
}

impl BodyBuffer {
    /// How far each goal of the last call is from being met, in the order of the goals: metres, or radians for orientations.
    #[must_use]
    pub fn residuals(&self) -> &[f32] {
        &self.residuals
    }
}

/// A pose, where it has the joints, and what it is worth.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) locals: Vec<Local>,
    pub(super) placed: Vec<Placed>,
    /// The way from where each goal's part is to where it is to be; for orientations a rotation vector.
    pub(super) errors: Vec<Vec64>,
    /// The weighted squares of errors.
    pub(super) missed: f64,
    /// These, and what the pose differs from the given one.
    pub(super) cost: f64,
}

impl State {
    /// Makes room to become another one.
    fn reserve(&mut self, other: &Self) {
        self.locals.clear();
        self.locals.reserve(other.locals.len());
        self.placed.clear();
        self.placed.reserve(other.placed.len());
        self.errors.clear();
        self.errors.reserve(other.errors.len());
    }

    /// Becomes another one, in the memory that it has.
    pub(super) fn copy(&mut self, other: &Self) {
        self.locals.clone_from(&other.locals);
        self.placed.clone_from(&other.placed);
        self.errors.clone_from(&other.errors);
        (self.missed, self.cost) = (other.missed, other.cost);
    }
}

/// A goal in numbers.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) sought: Sought,
    /// From the place that is sought to the one that was asked for, where that is farther off than any joint could tell.
    pub(super) beyond: Vec64,
    /// The root of the weight, and what an orientation's radians are multiplied by.
    pub(super) weight: f64,
    /// Its unknowns, in `Links`.
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
    /// `shares` is a part of the list of that name.
    Mass {
        shares: Range<usize>,
        place: Vec64,
    },
}

/// The unknowns that goals depend on, goal by goal, from the root on: two goals share those at the beginning, up to where their ways part.
#[derive(Debug, Clone, Default)]
pub(super) struct Links {
    pub(super) unknown: Vec<u32>,
    /// How the goal moves with the unknown.
    pub(super) moved: Vec<Mat64>,
    /// What reaches the unknown of the goal, through those below it.
    pub(super) passed: Vec<Mat64>,
    /// The same by how easily the unknown gives way.
    pub(super) eased: Vec<Mat64>,
    /// How many links two goals share, for each pair.
    pub(super) shared: Vec<u32>,
}

impl Links {
    fn clear(&mut self) {
        self.unknown.clear();
        self.shared.clear();
    }
}

impl BodyBuffer {
    /// Takes in a call whose arguments were checked.
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

    /// Takes what may move in a search: joints that turn at least so readily.
    pub(super) fn take(&mut self, options: &BodyOptions<'_>, least: f32) {
        self.take_unknowns(options, least);
        self.take_links();
    }

    /// Back to the given pose.
    pub(super) fn restart(&mut self) {
        self.now.locals.clone_from(&self.given);
        place(&self.joints, &self.now.locals, &mut self.now.placed);
    }

    /// Every joint turns as readily as any other from here on.
    pub(super) fn take_alike(&mut self) {
        self.unknowns.iter_mut().filter(|unknown| !unknown.shifts).for_each(|unknown| unknown.ease = 1.0);
    }

    /// Whether some joints turn less readily than that.
    pub(super) fn has_less_ready(&self, options: &BodyOptions<'_>, than: f32) -> bool {
        let ease = options.ease.unwrap_or(self.readiness.ease());
        self.joints.iter().any(|joint| {
            let ease = ease[usize::from(joint.joint)];
            ease > 0.0 && ease < than
        })
    }

    /// All joints that a goal is about, and those that these hang on.
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

    /// Divides all lengths by the longest way along bones from a root to where a goal applies, so that nothing depends on what
    /// they are measured in; and brings goals near that are far.
    fn scale(&mut self) {
        let State { locals, placed, .. } = &mut self.now;
        let mut longest = 0.0_f64;
        // In the place of what comes of the way: the memory is there.
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

    /// How readily each joint turns, where the options do not say so.
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

    /// What goals that count hang on, and the options let move.
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

    /// The unknowns of each goal, and which of them it shares with each of the others.
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

/// The mean of where joints are.
pub(super) fn mean(placed: &[Placed], shares: &[f64]) -> Vec64 {
    placed.iter().zip(shares).fold([0.0; 3], |sum, (placed, &share)| add_scaled(sum, placed.at, share))
}

/// Marks a joint and all that it hangs on.
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

/// Marks a joint, and all that it hangs on, to be turned.
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
