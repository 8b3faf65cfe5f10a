//! What is said of springs, checked once and brought into the order in which it is worked out.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::STEP;
use crate::maps::{Vec64, direction, scaled, unit, wide};
use condyle::skeleton::{NO_PARENT, Skeleton};
use condyle_base::error::Error;
use condyle_base::math::quats::{Quat64, rows};

/// How one joint of a spring swings.
///
/// The numbers are those of VRM: what they do in a sixtieth of a second, the step that they are made for.
///
/// ```
/// use condyle_solve::spring_bones::SpringJoint;
///
/// let hair = SpringJoint { stiffness: 0.8, gravity: [0.0, -0.2, 0.0], ..SpringJoint::new(7) };
/// assert_eq!((hair.joint, hair.drag, hair.hit_radius), (7, 0.5, 0.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpringJoint {
    /// The joint that turns.
    pub joint: u16,
    /// How fast its tail is drawn to where it is at rest: metres per second, at least 0. A step later inertia carries on what `drag` has left of it.
    pub stiffness: f32,
    /// How fast its tail is drawn down, or wherever gravity pulls: metres per second in world space, VRM's `gravityDir` times `gravityPower`.
    pub gravity: [f32; 3],
    /// The part of its motion that a tail loses in a step, from 0 to 1.
    pub drag: f32,
    /// The radius, in metres, of the sphere about its tail that colliders stop; at least 0.
    pub hit_radius: f32,
}

impl SpringJoint {
    /// With the defaults of the specification: stiffness 1, drag 0.5, no gravity and no size.
    #[must_use]
    pub fn new(joint: u16) -> Self {
        Self { joint, stiffness: 1.0, gravity: [0.0; 3], drag: 0.5, hit_radius: 0.0 }
    }
}

/// Joints in a row that swing, each by the motion of the next one, its tail.
///
/// ```
/// use condyle_solve::spring_bones::{Spring, SpringJoint};
///
/// // Of three joints two swing; the last one is only a tail, for it has nothing that could lag behind.
/// let braid = Spring::new([4, 5, 6].map(SpringJoint::new));
/// assert_eq!((braid.joints.len(), braid.end), (3, None));
/// // Nor has the last joint of another one, but it is said where its tip is.
/// let ear = Spring { end: Some([0.0, 0.07, 0.0]), ..Spring::new([SpringJoint::new(9)]) };
/// assert_eq!(ear.colliders, []);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Spring {
    /// Each below the one before it, with others in between or not.
    pub joints: Vec<SpringJoint>,
    /// The tail of the last joint, in that joint's own space. `None`: the last joint is only the tail of the one before it and does not swing.
    pub end: Option<[f32; 3]>,
    /// The joint relative to which its motion counts, which no spring may move; `None` is the world. With a head for a center, hair swings when the
    /// head nods and not when the character runs.
    pub center: Option<u16>,
    /// What its tails do not go through, in the order in which they are looked at: indices into the colliders that [`Springs::new`] gets.
    pub colliders: Vec<u16>,
}

impl Spring {
    /// Without colliders, relative to the world, the last joint a tail.
    #[must_use]
    pub fn new(joints: impl IntoIterator<Item = SpringJoint>) -> Self {
        Self { joints: joints.into_iter().collect(), end: None, center: None, colliders: Vec::new() }
    }
}

/// What tails do not go through.
///
/// ```
/// use condyle_solve::spring_bones::{Collider, ColliderShape};
///
/// // A head of 12 cm, and the ground, which no joint moves.
/// let head = Collider { joint: Some(3), shape: ColliderShape::Sphere { offset: [0.0, 0.1, 0.0], radius: 0.12, inside: false } };
/// let ground = Collider { joint: None, shape: ColliderShape::Plane { offset: [0.0; 3], normal: [0.0, 1.0, 0.0] } };
/// assert_ne!(head, ground);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Collider {
    /// The joint that carries it; `None` for one that is fixed in model space.
    pub joint: Option<u16>,
    /// Its place and form.
    pub shape: ColliderShape,
}

/// The form of a collider. Points are in the space of its joint; radii are metres of the world, whatever the scale of the joint is.
///
/// ```
/// use condyle_solve::spring_bones::ColliderShape;
///
/// // A thigh that a skirt stays out of.
/// let thigh = ColliderShape::Capsule { offset: [0.0; 3], tail: [0.0, -0.4, 0.0], radius: 0.09, inside: false };
/// assert!(matches!(thigh, ColliderShape::Capsule { inside: false, .. }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ColliderShape {
    /// All points near to one.
    Sphere {
        /// The middle.
        offset: [f32; 3],
        /// How near; at least 0.
        radius: f32,
        /// Whether tails are kept inside it instead of outside.
        inside: bool,
    },
    /// All points near to a line between two.
    Capsule {
        /// One end of the line.
        offset: [f32; 3],
        /// The other one.
        tail: [f32; 3],
        /// How near; at least 0.
        radius: f32,
        /// Whether tails are kept inside it instead of outside.
        inside: bool,
    },
    /// All points behind a plane.
    Plane {
        /// A point of the plane.
        offset: [f32; 3],
        /// Points to the side where tails may be; of any length but 0.
        normal: [f32; 3],
    },
}

/// Springs of one skeleton with what they collide with, in the order in which each is worked out after all that it depends on.
#[derive(Clone, PartialEq)]
pub struct Springs {
    fingerprint: u32,
    pub(super) swinging: Vec<Swinging>,
    /// The joints whose matrices are read; [`NO_PARENT`] is model space itself.
    pub(super) sources: Vec<u16>,
    /// Those of `sources` that are centers.
    pub(super) centers: Vec<usize>,
    pub(super) carries: Vec<Carry>,
    /// First those of no spring, then those that the swinging joints carry, in the order of these.
    pub(super) obstacles: Vec<Obstacle>,
    pub(super) fixed: Range<usize>,
    /// Which obstacles stop a joint, a run for each spring.
    pub(super) stops: Vec<u32>,
}

/// How many joints swing, and how many colliders there are.
impl fmt::Debug for Springs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Springs");
        all.field("joint_count", &self.joint_count()).field("collider_count", &self.collider_count());
        all.finish_non_exhaustive()
    }
}

/// A joint that swings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Swinging {
    pub(super) joint: u16,
    pub(super) tail: Tail,
    pub(super) mount: Mount,
    pub(super) rest: Quat64,
    /// Where that leads the axes.
    pub(super) rest_axes: [Vec64; 3],
    /// What a step adds to the tail's place: towards rest, and in world space.
    pub(super) stiffness: f64,
    pub(super) gravity: Vec64,
    /// The part of its motion that a step leaves.
    pub(super) kept: f64,
    pub(super) hit_radius: f64,
    /// Into `Springs::centers`.
    pub(super) center: Option<usize>,
    /// Of `Springs::stops`.
    pub(super) stops: Range<usize>,
    /// Of `Springs::obstacles`: those that it carries.
    pub(super) carried: Range<usize>,
    /// Whether anything else hangs on it.
    pub(super) carries: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Tail {
    Joint(u16),
    Point([f32; 3]),
}

/// What something hangs on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mount {
    /// One of `Springs::sources`.
    Source(usize),
    /// A swinging joint, and one of `Springs::carries` where there are joints in between.
    Swinging(usize, Option<usize>),
}

/// The joints below one, which swings, down to another one.
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
    /// The most pairs of a joint that swings and a collider that stops it, and the most joints between those that swing and what hangs on them: what bounds
    /// the time of a step.
    pub const MAX_PAIRS: usize = 1 << 20;

    /// Checks springs and colliders.
    ///
    /// A joint swings about the rotation that it has in the skeleton's rest pose. What hangs on a joint that swings, be it another spring or a collider, follows
    /// it in the same step.
    ///
    /// # Errors
    /// [`Error::TooShort`] for a spring in which nothing swings; [`Error::Index`] if a joint or a collider does not exist; [`Error::OutOfRange`] if a joint is not
    /// below the one before it, if it swings twice, if a center is moved by a spring, if a collider hangs on what it stops, or if a number is not what it
    /// must be; [`Error::NotFinite`] if one is NaN or an infinity; [`Error::NoDirection`] for a plane without a normal; [`Error::TooMany`] beyond
    /// [`Self::MAX_PAIRS`].
    ///
    /// ```
    /// use condyle_solve::spring_bones::{Spring, SpringJoint, Springs};
    /// use condyle::{Error, Joint, Skeleton, Transform};
    ///
    /// let joint = |name, parent| Joint::new(name, parent, Transform::IDENTITY);
    /// let skeleton = Skeleton::new([joint("head", None), joint("braid", Some(0)), joint("tip", Some(1))])?;
    /// let braid = Spring::new([1, 2].map(SpringJoint::new));
    /// assert_eq!(Springs::new(&skeleton, &[braid.clone()], &[])?.joint_count(), 1);
    /// // A joint cannot swing in two ways.
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

    /// How many joints swing.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.swinging.len()
    }

    /// How many colliders there are.
    #[must_use]
    pub fn collider_count(&self) -> usize {
        self.obstacles.len()
    }

    /// The joints that swing, each after those that it depends on.
    pub fn joints(&self) -> impl ExactSizeIterator<Item = u16> + '_ {
        self.swinging.iter().map(|swinging| swinging.joint)
    }

    pub(super) fn check(&self, skeleton: &Skeleton) -> Result<(), Error> {
        skeleton.check_fingerprint("springs", self.fingerprint)
    }
}

fn check_collider(skeleton: &Skeleton, at: usize, collider: &Collider) -> Result<(), Error> {
    let what = "colliders";
    let number = |values: &[f32]| match values.iter().all(|v| v.is_finite()) {
        true => Ok(()),
        false => Err(Error::NotFinite { what, at }),
    };
    if let Some(joint) = collider.joint {
        check_joint(skeleton, what, at, joint)?;
    }
    let size = |radius: f32| match radius >= 0.0 {
        true => number(&[radius]),
        false if radius.is_nan() => Err(Error::NotFinite { what, at }),
        false => Err(Error::OutOfRange { what, at, needed: "of a radius of at least 0" }),
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

/// `Ok` if the joint's numbers can be worked with; `at` is its spring.
fn check_settings(at: usize, joint: &SpringJoint) -> Result<(), Error> {
    let what = "springs";
    let SpringJoint { stiffness, gravity: [x, y, z], drag, hit_radius, .. } = *joint;
    if ![stiffness, x, y, z, drag, hit_radius].iter().all(|v| v.is_finite()) {
        return Err(Error::NotFinite { what, at });
    }
    if stiffness < 0.0 || hit_radius < 0.0 {
        return Err(Error::OutOfRange { what, at, needed: "of a stiffness and a radius of at least 0" });
    }
    if !(0.0..=1.0).contains(&drag) {
        return Err(Error::OutOfRange { what, at, needed: "of a drag from 0 to 1" });
    }
    Ok(())
}

/// A joint that swings, before the order is known.
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
    /// For each joint of the skeleton the entry that moves it: its own, or that of the nearest joint above it that swings.
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
                        needed: "of joints that swing once",
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
                let needed = "of joints each below the one before it";
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

    /// Counts what each step will have to do.
    fn spend(&mut self, more: usize) -> Result<(), Error> {
        self.pairs += more;
        let (found, limit) = (self.pairs, Springs::MAX_PAIRS);
        if found <= limit { Ok(()) } else { Err(Error::TooMany { what: "springs", found, limit }) }
    }

    /// What moves the parent of a joint.
    fn above(&self, joint: u16) -> Option<usize> {
        let parent = self.skeleton.parent(joint)?;
        Some(self.moved_by[usize::from(parent)]).filter(|&by| by != NOTHING).map(|by| by as usize)
    }

    /// What moves a collider.
    fn carrier(&self, collider: u16) -> Option<usize> {
        let joint = self.colliders[usize::from(collider)].joint?;
        Some(self.moved_by[usize::from(joint)]).filter(|&by| by != NOTHING).map(|by| by as usize)
    }

    /// The entries, each after those that it depends on: what it hangs on, and what moves the colliders that stop it.
    fn order(&self) -> Result<Vec<usize>, Error> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Begun,
            Done,
        }
        let mut marks = vec![Mark::New; self.entries.len()];
        let mut order = Vec::with_capacity(self.entries.len());
        // Entries that wait for their dependencies, and how many of these have been looked at.
        let mut waiting: Vec<(usize, usize)> = Vec::new();
        let mut first: Vec<usize> = (0..self.entries.len()).collect();
        first.sort_by_key(|&entry| self.entries[entry].settings.joint);
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
                        let needed = "stopped by no collider that hangs on them";
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
                kept: 1.0 - f64::from(settings.drag),
                hit_radius: settings.hit_radius.into(),
                center: center_of[*spring],
                stops: stops_of[*spring].clone(),
                carried: first..next,
                carries: first < next,
            });
        }
        Ok(out)
    }

    /// Brings the colliders into their order. Returns the new place of each.
    fn obstacles(
        &mut self,
        place: &[usize],
        sources: &mut Sources,
        out: &mut Springs,
    ) -> Result<Vec<u32>, Error> {
        let carriers: Vec<Option<usize>> =
            (0..self.colliders.len()).map(|at| self.carrier(at as u16)).collect();
        let mut sorted: Vec<usize> = (0..self.colliders.len()).collect();
        sorted.sort_by_key(|&at| carriers[at].map_or(0, |by| place[by] + 1));
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

    /// What `last`, a joint, hangs on: the entry `by`, whose place is `at`.
    fn hang(&mut self, at: usize, by: usize, last: Option<u16>, out: &mut Springs) -> Result<Mount, Error> {
        let above = self.entries[by].settings.joint;
        let Some(last) = last.filter(|&last| last != above) else { return Ok(Mount::Swinging(at, None)) };
        self.spend(below(self.skeleton, above, last).unwrap_or(0))?;
        out.carries.push(Carry { above, last });
        Ok(Mount::Swinging(at, Some(out.carries.len() - 1)))
    }
}

/// The place of each joint among the sources; the last one is that of model space.
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

/// How many joints lie between two, of which the second hangs on the first; `None` if it does not.
fn below(skeleton: &Skeleton, joint: u16, end: u16) -> Option<usize> {
    let mut between = 0;
    let mut at = skeleton.parent(end)?;
    while at != joint {
        // Parents come first.
        if at < joint {
            return None;
        }
        between += 1;
        at = skeleton.parent(at)?;
    }
    Some(between)
}
