//! The mapping of joints: the source joints that each target joint follows, and a shorter list for the legs.

use condyle::Skeleton;

use crate::body::{Body, Leg, Place, facing};
use crate::matching::{Twisted, follow, twists};
use crate::maths::{Quat64, Vec3, conjugate, product, renormalized};

/// One target joint and the source joints that it follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Follower {
    pub(crate) joint: u16,
    pub(crate) source: [u16; 2],
    /// Weight of the second source joint.
    pub(crate) weight: f64,
    /// Rotations from the source joints to the target joint, in the space of the source joints.
    pub(crate) offset: [Quat64; 2],
}

/// How the rotation of one target joint is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Drive {
    /// It keeps its rest rotation.
    Rest,
    /// It follows the source.
    Follow(Follower),
    /// It takes a part of the twist of a bone.
    Twist(Twisted),
}

/// A joint between the hips and a thigh.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Link {
    /// How it follows the source. `None` if it turns with its parent.
    pub(crate) follower: Option<Follower>,
    /// Its rest rotation, in the space of its parent.
    pub(crate) turn: Quat64,
    /// The next joint towards the thigh, in its space.
    pub(crate) next: Vec3,
}

/// The way from the hips to a thigh. Most thighs are children of the hips, and have no links.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HipPath {
    /// The first joint, in the space of the hips.
    pub(crate) first: Vec3,
    pub(crate) links: Vec<Link>,
}

/// Source joints that each target joint follows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mapping {
    /// One per target joint.
    pub(crate) drives: Vec<Drive>,
    /// Target joints that are turned after all others, parents first.
    pub(crate) late: Vec<u16>,
    /// Rotation about +Y from the direction that the source faces to the target's.
    pub(crate) facing: Quat64,
    /// Both skeletons are the same one, with the same rest pose.
    pub(crate) same: bool,
}

impl Mapping {
    /// Matches the joints of two bodies.
    pub(crate) fn new(source: &Body, target: &Body) -> Self {
        let turns = Offsets { source, target, facing: facing(source, target) };
        let mut drives = vec![Drive::Rest; target.joint_count()];
        for found in follow(source, target) {
            drives[found.joint] = Drive::Follow(turns.follower(found.joint, found.sources, found.weight));
        }
        for twist in twists(target, &target.map) {
            let drive = &mut drives[usize::from(twist.joint)];
            if *drive == Drive::Rest {
                *drive = Drive::Twist(twist);
            }
        }
        let [a, b]: [&Skeleton; 2] = [&source.skeleton, &target.skeleton];
        let same = a.fingerprint() == b.fingerprint()
            && a.rest_fingerprint() == b.rest_fingerprint()
            && source.map == target.map;
        Self { late: late(target, &drives), drives, facing: turns.facing, same }
    }
}

/// The joints of the legs and above, so that both legs are measured without the rest of the pose.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LegMapping {
    /// Source joints that the legs need, parents first.
    pub(crate) source_joints: Vec<u16>,
    /// Followers of hips, thighs, shins and feet.
    pub(crate) followers: [Follower; 7],
    pub(crate) hip_paths: [HipPath; 2],
    /// Rest place above the hips of the target.
    pub(crate) above_hips: Place,
}

impl LegMapping {
    /// Selects the legs of a mapping.
    pub(crate) fn new(source: &Body, target: &Body, mapping: &Mapping) -> Self {
        let turns = Offsets { source, target, facing: mapping.facing };
        let [a, b] = [source, target].map(|body| body.legs);
        let leg =
            |at: usize, joint: fn(&Leg) -> usize| turns.follower(joint(&b[at]), [joint(&a[at]); 2], 0.0);
        let [thigh, shin, foot]: [fn(&Leg) -> usize; 3] = [|leg| leg.thigh, |leg| leg.shin, |leg| leg.foot];
        let followers = [
            turns.follower(target.hips, [source.hips; 2], 0.0),
            leg(0, thigh),
            leg(0, shin),
            leg(0, foot),
            leg(1, thigh),
            leg(1, shin),
            leg(1, foot),
        ];
        let hip_paths = b.map(|leg| hip_path(target, &mapping.drives, leg.thigh));
        let links = hip_paths.iter().flat_map(|path| &path.links).filter_map(|link| link.follower);
        let needed = links.flat_map(|it| it.source).map(usize::from).chain(a.iter().flat_map(Leg::joints));
        let source_joints = ancestors(source, needed);
        Self { source_joints, followers, hip_paths, above_hips: above_hips(target) }
    }
}

/// Rotations between the neutral poses of two bodies.
struct Offsets<'a> {
    source: &'a Body,
    target: &'a Body,
    facing: Quat64,
}

impl Offsets<'_> {
    fn offset(&self, joint: usize, from: usize) -> Quat64 {
        let neutral = renormalized(product(self.facing, self.source.neutral[from]));
        renormalized(product(conjugate(neutral), self.target.neutral[joint]))
    }

    fn follower(&self, joint: usize, [a, b]: [usize; 2], weight: f64) -> Follower {
        Follower {
            joint: joint as u16,
            source: [a as u16, b as u16],
            weight,
            offset: [self.offset(joint, a), self.offset(joint, b)],
        }
    }
}

/// Returns joints and all their ancestors, parents first.
pub(crate) fn ancestors(body: &Body, joints: impl Iterator<Item = usize>) -> Vec<u16> {
    let mut needed = vec![false; body.joint_count()];
    for joint in joints {
        let mut at = Some(joint);
        while let Some(joint) = at.filter(|&joint| !needed[joint]) {
            needed[joint] = true;
            at = body.parent(joint);
        }
    }
    (0..body.joint_count()).filter(|&joint| needed[joint]).map(|joint| joint as u16).collect()
}

/// Returns the place of the hips' parent at rest.
fn above_hips(body: &Body) -> Place {
    let mut chain = Vec::new();
    let mut at = body.parent(body.hips);
    while let Some(joint) = at {
        chain.push(joint);
        at = body.parent(joint);
    }
    chain.iter().rev().fold(Place::IDENTITY, |place, &joint| place.then(&body.locals[joint]))
}

/// Returns the way from the hips to a thigh. A thigh that is not below the hips moves with them.
fn hip_path(body: &Body, drives: &[Drive], thigh: usize) -> HipPath {
    let up = |joint: &usize| body.parent(*joint);
    let above = || core::iter::successors(body.parent(thigh), up);
    let count = above().position(|joint| joint == body.hips).unwrap_or(0);
    let mut joints: Vec<usize> = above().take(count).collect();
    joints.reverse();
    let next = joints.iter().copied().skip(1).chain([thigh]);
    let links = joints.iter().zip(next).map(|(&joint, next)| Link {
        follower: if let Drive::Follow(it) = drives[joint] { Some(it) } else { None },
        turn: body.locals[joint].turn,
        next: body.offset(joint, next),
    });
    HipPath { first: body.offset(body.hips, *joints.first().unwrap_or(&thigh)), links: links.collect() }
}

/// Returns the joints that are turned after all others, parents first: those that take a part of a twist, and
/// those below them that keep their rest rotation.
fn late(body: &Body, drives: &[Drive]) -> Vec<u16> {
    let mut late = vec![false; drives.len()];
    for (joint, drive) in drives.iter().enumerate() {
        late[joint] = match drive {
            Drive::Twist(_) => true,
            Drive::Rest => body.parent(joint).is_some_and(|parent| late[parent]),
            Drive::Follow(_) => false,
        };
    }
    (0..drives.len()).filter(|&joint| late[joint]).map(|joint| joint as u16).collect()
}
