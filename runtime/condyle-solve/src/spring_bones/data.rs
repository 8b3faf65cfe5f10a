//! Spring descriptions, validated and sorted by dependency.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::STEP;
use crate::maps::{Vec64, direction, scaled, unit, wide};
use condyle::skeleton::{NO_PARENT, Skeleton};
use condyle_base::error::Error;
use condyle_base::math::quats::{Quat64, rows};
use condyle_base::order;

/// Parameters of one joint of a spring.
///
/// The parameters have the same meaning as in VRM, which defines them per step of 1/60 s.
///
/// ```
/// use condyle_solve::spring_bones::SpringJoint;
///
/// let hair = SpringJoint { stiffness: 0.8, gravity: [0.0, -0.2, 0.0], ..SpringJoint::new(7) };
/// assert_eq!((hair.joint, hair.drag, hair.hit_radius), (7, 0.5, 0.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpringJoint {
    /// Index of the joint that turns.
    pub joint: u16,
    /// Speed at which the tail is pulled to its rest position: metres per second, at least 0. `drag` then
    /// damps this motion like any other.
    pub stiffness: f32,
    /// Speed at which gravity pulls the tail: metres per second in world space, VRM's `gravityDir` times
    /// `gravityPower`.
    pub gravity: [f32; 3],
    /// Fraction of its motion that a tail loses in a step, from 0 to 1.
    pub drag: f32,
    /// Radius in metres of the sphere around the tail that collides; at least 0.
    pub hit_radius: f32,
}

impl SpringJoint {
    /// A joint with the defaults of the specification: stiffness 1, drag 0.5, no gravity and radius 0.
    #[must_use]
    pub fn new(joint: u16) -> Self {
        Self { joint, stiffness: 1.0, gravity: [0.0; 3], drag: 0.5, hit_radius: 0.0 }
    }
}

/// A chain of joints that swing. Each turns so that the next joint, its tail, lags behind.
///
/// ```
/// use condyle_solve::spring_bones::{Spring, SpringJoint};
///
/// // Two of the three joints swing. The last one is only the tail of the second.
/// let braid = Spring::new([4, 5, 6].map(SpringJoint::new));
/// assert_eq!((braid.joints.len(), braid.end), (3, None));
/// // A single joint swings if its tip is specified.
/// let ear = Spring { end: Some([0.0, 0.07, 0.0]), ..Spring::new([SpringJoint::new(9)]) };
/// assert_eq!(ear.colliders, []);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Spring {
    /// Joints in order. Each is a descendant of the one before it, not necessarily its child.
    pub joints: Vec<SpringJoint>,
    /// Tail of the last joint, in its local space. With `None`, the last joint is only the tail of the one
    /// before it and does not swing.
    pub end: Option<[f32; 3]>,
    /// Joint whose space is the reference for motion; no spring may move it. `None` uses the world. With the
    /// head as center, hair swings when the head nods but not when the character runs.
    pub center: Option<u16>,
    /// Indices of the colliders that stop its tails, in the order of evaluation. They refer to the list that
    /// [`Springs::new`] receives.
    pub colliders: Vec<u16>,
}

impl Spring {
    /// A spring without colliders, center and end, so the last joint is a tail.
    #[must_use]
    pub fn new(joints: impl IntoIterator<Item = SpringJoint>) -> Self {
        Self { joints: joints.into_iter().collect(), end: None, center: None, colliders: Vec::new() }
    }
}

/// An obstacle for tails.
///
/// ```
/// use condyle_solve::spring_bones::{Collider, ColliderShape};
///
/// // A head with a radius of 12 cm, and the ground, which is not attached to a joint.
/// let head = Collider { joint: Some(3), shape: ColliderShape::Sphere { offset: [0.0, 0.1, 0.0], radius: 0.12, inside: false } };
/// let ground = Collider { joint: None, shape: ColliderShape::Plane { offset: [0.0; 3], normal: [0.0, 1.0, 0.0] } };
/// assert_ne!(head, ground);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Collider {
    /// Joint that carries the collider. `None` if the collider is fixed in model space.
    pub joint: Option<u16>,
    /// Shape and position.
    pub shape: ColliderShape,
}

/// Shape of a collider. Points are in the local space of its joint. Radii are in world-space metres; the
/// scale of the joint does not change them.
///
/// ```
/// use condyle_solve::spring_bones::ColliderShape;
///
/// // A thigh that a skirt must not enter.
/// let thigh = ColliderShape::Capsule { offset: [0.0; 3], tail: [0.0, -0.4, 0.0], radius: 0.09, inside: false };
/// assert!(matches!(thigh, ColliderShape::Capsule { inside: false, .. }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ColliderShape {
    /// A sphere.
    Sphere {
        /// Centre.
        offset: [f32; 3],
        /// Radius, at least 0.
        radius: f32,
        /// Whether tails are kept inside the sphere instead of outside.
        inside: bool,
    },
    /// A capsule: all points within a radius of a line segment.
    Capsule {
        /// One end of the segment.
        offset: [f32; 3],
        /// The other end of the segment.
        tail: [f32; 3],
        /// Radius, at least 0.
        radius: f32,
        /// Whether tails are kept inside the capsule instead of outside.
        inside: bool,
    },
    /// The half-space behind a plane.
    Plane {
        /// A point of the plane.
        offset: [f32; 3],
        /// Normal, which points to the side where tails may be; of any length except 0.
        normal: [f32; 3],
    },
}

/// Springs and colliders of a skeleton, sorted so that each is evaluated after everything it depends on.
#[derive(Clone, PartialEq)]
pub struct Springs {
    fingerprint: u32,
    pub(super) swinging: Vec<Swinging>,
    /// Joints whose matrices are read; [`NO_PARENT`] means model space.
    pub(super) sources: Vec<u16>,
    /// Positions in `sources` of the centers.
    pub(super) centers: Vec<usize>,
    pub(super) carries: Vec<Carry>,
    /// First the colliders that no spring moves, then those on swinging joints, in the order of the joints.
    pub(super) obstacles: Vec<Obstacle>,
    pub(super) fixed: Range<usize>,
    /// Indices of obstacles, one run per spring.
    pub(super) stops: Vec<u32>,
}

/// Prints the numbers of swinging joints and of colliders.
impl fmt::Debug for Springs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Springs");
        all.field("joint_count", &self.joint_count()).field("collider_count", &self.collider_count());
        all.finish_non_exhaustive()
    }
}

/// A swinging joint.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Swinging {
    pub(super) joint: u16,
    pub(super) tail: Tail,
    pub(super) mount: Mount,
    pub(super) rest: Quat64,
    /// Axes of the rest rotation.
    pub(super) rest_axes: [Vec64; 3],
    /// Displacement of the tail per step: by stiffness, towards rest, and by gravity, in world space.
    pub(super) stiffness: f64,
    pub(super) gravity: Vec64,
    /// Fraction of the motion that remains after a step.
    pub(super) inertia: f64,
    pub(super) hit_radius: f64,
    /// Index in `Springs::centers`.
    pub(super) center: Option<usize>,
    /// Range in `Springs::stops`.
    pub(super) stops: Range<usize>,
    /// Range in `Springs::obstacles` of the colliders that it carries.
    pub(super) carried: Range<usize>,
    /// Whether it carries a collider or another swinging joint.
    pub(super) carries: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Tail {
    Joint(u16),
    Point([f32; 3]),
}

/// Parent of a swinging joint or of a collider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mount {
    /// Index in `Springs::sources`.
    Source(usize),
    /// Index of a swinging joint. Also an index in `Springs::carries` if there are joints in between.
    Swinging(usize, Option<usize>),
}

/// The joints below a swinging joint `above`, down to `last`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Carry {
    pub(super) above: u16,
    pub(super) last: u16,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Obstacle {
    pub(super) mount: Mount,
    pub(super) shape: ColliderShape,
}

impl Springs {
    /// Maximum number of pairs of a swinging joint and a collider that stops it, plus joints between swinging
    /// joints and their dependents. It bounds the time of a step.
    pub const MAX_PAIRS: usize = 1 << 20;

    /// Validates springs and colliders.
    ///
    /// A joint swings about its rotation in the skeleton's rest pose. Springs and colliders that are attached
    /// to a swinging joint follow it in the same step.
    ///
    /// # Errors
    /// [`Error::TooShort`] if no joint of a spring swings. [`Error::Index`] if a joint or a collider does not
    /// exist. [`Error::OutOfRange`] if a joint is not a descendant of the one before it, or if it swings
    /// twice. Also if a spring moves a center or a collider that stops it, or if a parameter is out of its
    /// documented range. [`Error::NotFinite`] if a value is NaN or infinite. [`Error::NoDirection`] if the
    /// normal of a plane is 0. [`Error::TooMany`] if [`Self::MAX_PAIRS`] is exceeded.
    ///
    /// ```
    /// use condyle_solve::spring_bones::{Spring, SpringJoint, Springs};
    /// use condyle::{Error, Joint, Skeleton, Transform};
    ///
    /// let joint = |name, parent| Joint::new(name, parent, Transform::IDENTITY);
    /// let skeleton = Skeleton::new([joint("head", None), joint("braid", Some(0)), joint("tip", Some(1))])?;
    /// let braid = Spring::new([1, 2].map(SpringJoint::new));
    /// assert_eq!(Springs::new(&skeleton, &[braid.clone()], &[])?.joint_count(), 1);
    /// // A joint cannot be part of two springs.
    /// assert!(matches!(Springs::new(&skeleton, &[braid.clone(), braid], &[]), Err(Error::OutOfRange { .. })));
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn new(skeleton: &Skeleton, springs: &[Spring], colliders: &[Collider]) -> Result<Self, Error> {
        let limit = usize::from(u16::MAX) + 1;
        if colliders.len() > limit {
            return Err(Error::TooMany { what: "colliders", found: colliders.len(), limit });
        }
        for (at, collider) in colliders.iter().enumerate() {
            check_collider(skeleton, at, collider)?;
        }
        let mut builder = Builder::new(skeleton, springs, colliders)?;
        let order = builder.order()?;
        builder.build(&order)
    }

    /// Number of swinging joints.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.swinging.len()
    }

    /// Number of colliders.
    #[must_use]
    pub fn collider_count(&self) -> usize {
        self.obstacles.len()
    }

    /// Returns the swinging joints, each after those that it depends on.
    pub fn joints(&self) -> impl ExactSizeIterator<Item = u16> + '_ {
        self.swinging.iter().map(|swinging| swinging.joint)
    }

    pub(super) fn check(&self, skeleton: &Skeleton) -> Result<(), Error> {
        skeleton.check_fingerprint("springs", self.fingerprint)
    }
}

fn check_collider(skeleton: &Skeleton, at: usize, collider: &Collider) -> Result<(), Error> {
    let what = "colliders";
    let number = |values: &[f32]| {
        if values.iter().all(|v| v.is_finite()) { Ok(()) } else { Err(Error::NotFinite { what, at }) }
    };
    if let Some(joint) = collider.joint {
        check_joint(skeleton, what, at, joint)?;
    }
    let size = |radius: f32| {
        if radius >= 0.0 {
            number(&[radius])
        } else if radius.is_nan() {
            Err(Error::NotFinite { what, at })
        } else {
            Err(Error::OutOfRange { what, at, needed: "given a radius of at least 0" })
        }
    };
    match &collider.shape {
        ColliderShape::Sphere { offset, radius, .. } => number(offset).and_then(|()| size(*radius)),
        ColliderShape::Capsule { offset, tail, radius, .. } => {
            number(offset).and_then(|()| number(tail)).and_then(|()| size(*radius))
        }
        ColliderShape::Plane { offset, normal } => {
            number(offset)?;
            direction(normal.map(f64::from)).map(|_| ()).ok_or(Error::NoDirection { what: "normal" })
        }
    }
}

fn check_joint(skeleton: &Skeleton, what: &'static str, at: usize, joint: u16) -> Result<(), Error> {
    let (found, count) = (usize::from(joint), skeleton.joint_count());
    if found < count { Ok(()) } else { Err(Error::Index { what, at, found, count }) }
}

/// Checks the parameters of a joint; `at` is the index of its spring.
fn check_settings(at: usize, joint: &SpringJoint) -> Result<(), Error> {
    let what = "springs";
    let SpringJoint { stiffness, gravity: [x, y, z], drag, hit_radius, .. } = *joint;
    if ![stiffness, x, y, z, drag, hit_radius].iter().all(|v| v.is_finite()) {
        return Err(Error::NotFinite { what, at });
    }
    if stiffness < 0.0 || hit_radius < 0.0 {
        return Err(Error::OutOfRange { what, at, needed: "given a stiffness and a radius of at least 0" });
    }
    if !(0.0..=1.0).contains(&drag) {
        return Err(Error::OutOfRange { what, at, needed: "given a drag from 0 to 1" });
    }
    Ok(())
}

/// A swinging joint before sorting.
struct Entry {
    settings: SpringJoint,
    tail: Tail,
    spring: usize,
}

const NOTHING: u32 = u32::MAX;

struct Builder<'a> {
    skeleton: &'a Skeleton,
    springs: &'a [Spring],
    colliders: &'a [Collider],
    entries: Vec<Entry>,
    /// Entry that moves each joint of the skeleton: its own, or that of its nearest swinging
    /// ancestor.
    moved_by: Vec<u32>,
    pairs: usize,
}

impl<'a> Builder<'a> {
    fn new(skeleton: &'a Skeleton, springs: &'a [Spring], colliders: &'a [Collider]) -> Result<Self, Error> {
        let count = skeleton.joint_count();
        let (mut entries, mut moved_by) = (Vec::new(), vec![NOTHING; count]);
        let mut pairs = 0;
        for (at, spring) in springs.iter().enumerate() {
            let swinging = spring.joints.len().saturating_sub(usize::from(spring.end.is_none()));
            Error::check_room("joints", swinging, 1)?;
            let tails = spring.joints[1..].iter().map(|joint| Tail::Joint(joint.joint));
            let end = spring.end.into_iter().map(Tail::Point);
            if spring.end.is_some_and(|end| !end.iter().all(|v| v.is_finite())) {
                return Err(Error::NotFinite { what: "springs", at });
            }
            for (settings, tail) in spring.joints.iter().zip(tails.chain(end)) {
                check_joint(skeleton, "springs", at, settings.joint)?;
                check_settings(at, settings)?;
                let own = &mut moved_by[usize::from(settings.joint)];
                if *own != NOTHING {
                    return Err(Error::OutOfRange {
                        what: "springs",
                        at,
                        needed: "made of joints that occur only once",
                    });
                }
                *own = entries.len() as u32;
                entries.push(Entry { settings: *settings, tail, spring: at });
            }
            for &collider in &spring.colliders {
                let (found, count) = (usize::from(collider), colliders.len());
                if found >= count {
                    return Err(Error::Index { what: "springs", at, found, count });
                }
            }
            pairs += swinging * spring.colliders.len();
        }
        for joint in 0..count {
            let parent = skeleton.parents()[joint];
            if moved_by[joint] == NOTHING && parent != NO_PARENT {
                moved_by[joint] = moved_by[usize::from(parent)];
            }
        }
        let mut builder = Self { skeleton, springs, colliders, entries, moved_by, pairs };
        builder.check_springs()?;
        Ok(builder)
    }

    fn check_springs(&mut self) -> Result<(), Error> {
        self.spend(0)?;
        for at in 0..self.entries.len() {
            let Entry { settings: SpringJoint { joint, .. }, tail, spring } = self.entries[at];
            if let Tail::Joint(tail) = tail {
                check_joint(self.skeleton, "springs", spring, tail)?;
                let needed = "made of joints, each a descendant of the one before it";
                let between = below(self.skeleton, joint, tail);
                self.spend(between.ok_or(Error::OutOfRange { what: "springs", at: spring, needed })?)?;
            }
        }
        for (at, center) in self.springs.iter().enumerate().filter_map(|(at, s)| Some((at, s.center?))) {
            check_joint(self.skeleton, "springs", at, center)?;
            if self.moved_by[usize::from(center)] != NOTHING {
                let needed = "relative to a center that no spring moves";
                return Err(Error::OutOfRange { what: "springs", at, needed });
            }
        }
        Ok(())
    }

    /// Adds to the work of a step, and checks its limit.
    fn spend(&mut self, more: usize) -> Result<(), Error> {
        self.pairs += more;
        let (found, limit) = (self.pairs, Springs::MAX_PAIRS);
        if found <= limit { Ok(()) } else { Err(Error::TooMany { what: "springs", found, limit }) }
    }

    /// Entry that moves the parent of a joint.
    fn above(&self, joint: u16) -> Option<usize> {
        let parent = self.skeleton.parent(joint)?;
        Some(self.moved_by[usize::from(parent)]).filter(|&by| by != NOTHING).map(|by| by as usize)
    }

    /// Entry that moves a collider.
    fn carrier(&self, collider: u16) -> Option<usize> {
        let joint = self.colliders[usize::from(collider)].joint?;
        Some(self.moved_by[usize::from(joint)]).filter(|&by| by != NOTHING).map(|by| by as usize)
    }

    /// Sorts the entries so that each follows its dependencies: the entry that carries it, and those that
    /// move the colliders that stop it.
    fn order(&self) -> Result<Vec<usize>, Error> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Begun,
            Done,
        }
        let mut marks = vec![Mark::New; self.entries.len()];
        let mut order = Vec::with_capacity(self.entries.len());
        // Entries that wait for their dependencies, and the number of dependencies processed.
        let mut waiting: Vec<(usize, usize)> = Vec::new();
        let mut first: Vec<usize> = (0..self.entries.len()).collect();
        order::sort_by(&mut first, |&entry| self.entries[entry].settings.joint.into());
        for first in first {
            if marks[first] == Mark::New {
                waiting.push((first, 0));
                marks[first] = Mark::Begun;
            }
            while let Some((entry, seen)) = waiting.last_mut() {
                let Entry { settings, spring, .. } = &self.entries[*entry];
                let colliders = &self.springs[*spring].colliders;
                let next = match *seen {
                    0 => self.above(settings.joint),
                    more => colliders.get(more - 1).and_then(|&collider| self.carrier(collider)),
                };
                if *seen > colliders.len() {
                    marks[*entry] = Mark::Done;
                    order.push(*entry);
                    waiting.pop();
                    continue;
                }
                *seen += 1;
                let spring = *spring;
                match next.map(|next| (next, marks[next])) {
                    Some((next, Mark::New)) => {
                        marks[next] = Mark::Begun;
                        waiting.push((next, 0));
                    }
                    Some((_, Mark::Begun)) => {
                        let needed = "free of colliders that depend on its joints";
                        return Err(Error::OutOfRange { what: "springs", at: spring, needed });
                    }
                    Some((_, Mark::Done)) | None => {}
                }
            }
        }
        Ok(order)
    }

    fn build(&mut self, order: &[usize]) -> Result<Springs, Error> {
        let mut place = vec![0; self.entries.len()];
        for (at, &entry) in order.iter().enumerate() {
            place[entry] = at;
        }
        let mut out = Springs {
            fingerprint: self.skeleton.fingerprint(),
            swinging: Vec::with_capacity(order.len()),
            sources: Vec::new(),
            centers: Vec::new(),
            carries: Vec::new(),
            obstacles: Vec::with_capacity(self.colliders.len()),
            fixed: 0..0,
            stops: Vec::new(),
        };
        let mut sources = Sources { of: vec![NOTHING; self.skeleton.joint_count() + 1] };
        let new_place = self.obstacles(&place, &mut sources, &mut out)?;
        let mut center_of = vec![None; self.springs.len()];
        let mut stops_of = vec![0..0; self.springs.len()];
        for (at, spring) in self.springs.iter().enumerate() {
            let first = out.stops.len();
            out.stops.extend(spring.colliders.iter().map(|&it| new_place[usize::from(it)]));
            stops_of[at] = first..out.stops.len();
            center_of[at] = spring.center.map(|joint| {
                let source = sources.place(joint, &mut out.sources);
                out.centers.iter().position(|&it| it == source).unwrap_or_else(|| {
                    out.centers.push(source);
                    out.centers.len() - 1
                })
            });
        }
        let mut next = out.fixed.end;
        for &entry in order {
            let (above, between) = {
                let joint = self.entries[entry].settings.joint;
                (self.above(joint), self.skeleton.parent(joint))
            };
            let mount = match above {
                Some(above) => {
                    out.swinging[place[above]].carries = true;
                    self.hang(place[above], above, between, &mut out)?
                }
                None => Mount::Source(sources.place(between.unwrap_or(NO_PARENT), &mut out.sources)),
            };
            let Entry { settings, tail, spring } = &self.entries[entry];
            let rest = unit(wide(self.skeleton.rest().get(settings.joint.into()).rotation));
            let [a, b, c] = rows(rest);
            let first = next;
            let at = out.swinging.len();
            while out
                .obstacles
                .get(next)
                .is_some_and(|it| matches!(it.mount, Mount::Swinging(by, _) if by == at))
            {
                next += 1;
            }
            out.swinging.push(Swinging {
                joint: settings.joint,
                tail: *tail,
                mount,
                rest,
                rest_axes: [[a[0], b[0], c[0]], [a[1], b[1], c[1]], [a[2], b[2], c[2]]],
                stiffness: f64::from(settings.stiffness) * STEP,
                gravity: scaled(settings.gravity.map(f64::from), STEP),
                inertia: 1.0 - f64::from(settings.drag),
                hit_radius: settings.hit_radius.into(),
                center: center_of[*spring],
                stops: stops_of[*spring].clone(),
                carried: first..next,
                carries: first < next,
            });
        }
        Ok(out)
    }

    /// Sorts the colliders. Returns the new index of each.
    fn obstacles(
        &mut self,
        place: &[usize],
        sources: &mut Sources,
        out: &mut Springs,
    ) -> Result<Vec<u32>, Error> {
        let carriers: Vec<Option<usize>> =
            (0..self.colliders.len()).map(|at| self.carrier(at as u16)).collect();
        let mut sorted: Vec<usize> = (0..self.colliders.len()).collect();
        order::sort_by(&mut sorted, |&at| carriers[at].map_or(0, |by| place[by] as u64 + 1));
        let mut new_place = vec![0; self.colliders.len()];
        for (new, &at) in sorted.iter().enumerate() {
            new_place[at] = new as u32;
            let Collider { joint, shape } = self.colliders[at];
            let mount = match carriers[at] {
                Some(by) => self.hang(place[by], by, joint, out)?,
                None => Mount::Source(sources.place(joint.unwrap_or(NO_PARENT), &mut out.sources)),
            };
            out.obstacles.push(Obstacle { mount, shape });
        }
        out.fixed = 0..carriers.iter().filter(|by| by.is_none()).count();
        Ok(new_place)
    }

    /// Mount of joint `last` on the entry `by`, whose sorted index is `at`.
    fn hang(&mut self, at: usize, by: usize, last: Option<u16>, out: &mut Springs) -> Result<Mount, Error> {
        let above = self.entries[by].settings.joint;
        let Some(last) = last.filter(|&last| last != above) else { return Ok(Mount::Swinging(at, None)) };
        self.spend(below(self.skeleton, above, last).unwrap_or(0))?;
        out.carries.push(Carry { above, last });
        Ok(Mount::Swinging(at, Some(out.carries.len() - 1)))
    }
}

/// Index of each joint among the sources; the last element is for model space.
struct Sources {
    of: Vec<u32>,
}

impl Sources {
    fn place(&mut self, joint: u16, sources: &mut Vec<u16>) -> usize {
        let last = self.of.len() - 1;
        let of = &mut self.of[usize::from(joint).min(last)];
        if *of == NOTHING {
            *of = sources.len() as u32;
            sources.push(joint);
        }
        *of as usize
    }
}

/// Number of joints between a joint and its descendant `end`; `None` if `end` is not a descendant.
fn below(skeleton: &Skeleton, joint: u16, end: u16) -> Option<usize> {
    let mut between = 0;
    let mut at = skeleton.parent(end)?;
    while at != joint {
        // Parents have smaller indices.
        if at < joint {
            return None;
        }
        between += 1;
        at = skeleton.parent(at)?;
    }
    Some(between)
}
