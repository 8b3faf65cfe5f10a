//! Preparation for one pair of bodies: which joint follows which, and the proportions.

use condyle::{Error, Skeleton};

use crate::body::{Body, Leg, Place, facing};
use crate::hands::Arm;
use crate::matching::{Twisted, follow, twists};
use crate::maths::{Quat64, Vec3, product, renormalized, rotate, scaled, sub};
use crate::rig::Humanoid;

/// Size of the target's steps compared with the source's.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Ratio {
    /// Thigh, shin and the distance of the hip joints, added up.
    #[default]
    LegsAndHips,
    /// Height of the hip joints of the straight legs above the ground.
    HipHeight,
    /// Thigh and shin.
    Legs,
    /// This number.
    Fixed(f64),
}

/// Options of a [`Plan`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Size of the steps.
    pub ratio: Ratio,
    /// Whether a standing foot is still even where the source's creeps by less than 1 cm/s. `None` means:
    /// unless both bodies have the same legs.
    pub plant: Option<bool>,
    /// Height of the ground under the source's motion, in units of its file. `None` takes it from the rest
    /// pose. With [`retarget`](fn@crate::retarget), motion capture whose rest pose has the hips at the origin
    /// needs it.
    pub ground: Option<f64>,
    /// Whether hands that are near each other keep the vector between them, for claps and objects in both
    /// hands. The arms then leave the directions of the source.
    pub hands: bool,
}

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

/// Preparation for one pair of bodies, made once: which joint follows which, offsets between the neutral
/// poses, and proportions.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub(crate) source: Body,
    pub(crate) target: Body,
    /// One per target joint.
    pub(crate) drives: Vec<Drive>,
    /// Rotation about +Y from the direction that the source faces to the target's.
    pub(crate) facing: Quat64,
    pub(crate) ratio: f64,
    /// Offset of each footprint: the target's from the scaled source's, where both bodies hang straight.
    pub(crate) prints: [Vec3; 2],
    pub(crate) plant: bool,
    /// Arms of source and target, if the hands keep the vector between them.
    pub(crate) arms: Option<[[Arm; 2]; 2]>,
    /// Both skeletons are the same one, with the same rest pose.
    pub(crate) same: bool,
    /// Source joints that the legs need, parents first.
    pub(crate) leg_joints: Vec<u16>,
    pub(crate) hip_paths: [HipPath; 2],
    /// Target joints that are turned after all others, parents first.
    pub(crate) late: Vec<u16>,
    /// Followers of hips, thighs, shins and feet.
    pub(crate) leg_followers: [Follower; 7],
    /// Ground of the source, from its rest pose or given.
    pub(crate) ground: Ground,
    /// Whether the ground was given.
    pub(crate) given_ground: bool,
    /// Rest place above the hips of the target.
    pub(crate) above_hips: Place,
    /// Skeletons of source and target.
    pub(crate) skeletons: [Skeleton; 2],
    pub(crate) fingerprints: [u32; 2],
}

/// Heights of the source's ground and of its feet where they stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ground {
    pub(crate) floor: f64,
    pub(crate) toes: [f64; 2],
}

impl Plan {
    /// Prepares the motion of one skeleton for another.
    ///
    /// # Errors
    /// [`Error::Skeleton`] if a map belongs to another skeleton. [`Error::OutOfRange`] if the ratio is not
    /// greater than 0, if a leg of either body has no length, and if a joint is mirrored.
    /// [`Error::NotFinite`] for the ground.
    pub fn new(
        source: &Skeleton,
        source_map: &Humanoid,
        target: &Skeleton,
        target_map: &Humanoid,
        options: &PlanOptions,
    ) -> Result<Self, Error> {
        if options.ground.is_some_and(|ground| !ground.is_finite()) {
            return Err(Error::NotFinite { what: "ground", at: 0 });
        }
        let same = source.fingerprint() == target.fingerprint()
            && source.rest_fingerprint() == target.rest_fingerprint()
            && source_map == target_map;
        let fingerprints = [source.fingerprint(), target.fingerprint()];
        let names = [source.names(), target.names()];
        let skeletons = [source.clone(), target.clone()];
        let (source, target) = (Body::new(source, source_map)?, Body::new(target, target_map)?);
        for (at, what) in ["source scales", "target scales"].into_iter().enumerate() {
            let body = [&source, &target][at];
            let joints = ancestors(body, body.map.roles().map(|(_, joint)| joint.into()));
            let mirrors =
                |&joint: &u16| skeletons[at].rest().get(joint.into()).scale.iter().any(|&it| it < 0.0);
            if let Some(joint) = joints.into_iter().find(mirrors) {
                let needed = "greater than 0: turn a mirrored joint instead";
                return Err(Error::OutOfRange { what, at: joint.into(), needed });
            }
        }
        let ratio = ratio(&source, &target, options.ratio)?;
        let facing = facing(&source, &target);
        let offset = |joint: usize, from: usize| {
            let neutral = renormalized(product(facing, source.neutral[from]));
            renormalized(product(crate::maths::conjugate(neutral), target.neutral[joint]))
        };
        let follower = |joint: usize, [a, b]: [usize; 2], weight: f64| Follower {
            joint: joint as u16,
            source: [a as u16, b as u16],
            weight,
            offset: [offset(joint, a), offset(joint, b)],
        };
        let mut drives = vec![Drive::Rest; target.joint_count()];
        for (joint, sources, weight) in
            follow((&source, source_map, names[0]), (&target, target_map, names[1]))
        {
            drives[joint] = Drive::Follow(follower(joint, sources, weight));
        }
        for twist in twists(&target, target_map) {
            let drive = &mut drives[usize::from(twist.joint)];
            if *drive == Drive::Rest {
                *drive = Drive::Twist(twist);
            }
        }
        let [a, b] = [&source, &target].map(|body| body.legs);
        let leg = |at: usize, joint: fn(&Leg) -> usize| follower(joint(&b[at]), [joint(&a[at]); 2], 0.0);
        let [thigh, shin, foot]: [fn(&Leg) -> usize; 3] = [|leg| leg.thigh, |leg| leg.shin, |leg| leg.foot];
        let leg_followers = [
            follower(target.hips, [source.hips; 2], 0.0),
            leg(0, thigh),
            leg(0, shin),
            leg(0, foot),
            leg(1, thigh),
            leg(1, shin),
            leg(1, foot),
        ];
        let prints = [0, 1].map(|at| {
            let source = scaled(rotate(facing, a[at].print), ratio);
            sub(b[at].print, source)
        });
        let alike = a.iter().zip(&b).all(|(a, b)| {
            let near = |a: f64, b: f64| (a - b).abs() < 1e-5 * source.height;
            near(a.lengths[0], b.lengths[0]) && near(a.lengths[1], b.lengths[1])
        });
        let alike = alike && (source.width - target.width).abs() < 1e-5 * source.height;
        let hip_paths = b.map(|leg| hip_path(&target, &drives, leg.thigh));
        let links = hip_paths.iter().flat_map(|path| &path.links).filter_map(|link| link.follower);
        let needed = links.flat_map(|it| it.source).map(usize::from).chain(a.iter().flat_map(Leg::joints));
        let floor = options.ground.unwrap_or(source.floor);
        Ok(Self {
            leg_joints: ancestors(&source, needed),
            late: late(&target, &drives),
            hip_paths,
            ground: Ground { floor, toes: a.map(|leg| floor + leg.toe_height) },
            given_ground: options.ground.is_some(),
            above_hips: above_hips(&target),
            arms: options.hands.then(|| [Arm::both(&source, source_map), Arm::both(&target, target_map)]),
            plant: options.plant.unwrap_or(!alike),
            drives,
            facing,
            ratio,
            prints,
            same,
            leg_followers,
            source,
            target,
            skeletons,
            fingerprints,
        })
    }

    /// Size of the target's steps compared with the source's.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Returns the source's skeleton.
    #[must_use]
    pub fn source(&self) -> &Skeleton {
        &self.skeletons[0]
    }

    /// Returns the target's skeleton.
    #[must_use]
    pub fn target(&self) -> &Skeleton {
        &self.skeletons[1]
    }

    /// Returns the target joints that follow the source, each with the source joints and the weight of the
    /// second one.
    pub fn followers(&self) -> impl Iterator<Item = (u16, [u16; 2], f64)> + '_ {
        self.drives.iter().filter_map(|drive| match drive {
            Drive::Follow(it) => Some((it.joint, it.source, it.weight)),
            _ => None,
        })
    }

    /// Returns the place of the target's middle of the hip joints for the source's, which already faces as
    /// the target does.
    pub(crate) fn middle(&self, source: Vec3, ground: &Ground) -> Vec3 {
        let up = self.target.floor + self.target.hip_height();
        let y = up + self.ratio * (source[1] - ground.floor - self.source.hip_height());
        [self.ratio * source[0], y, self.ratio * source[2]]
    }

    /// Returns the place of the target's ball of the foot for the source's, without the footprint's offset.
    pub(crate) fn toe(&self, side: usize, source: Vec3, ground: &Ground) -> Vec3 {
        let stands = self.target.floor + self.target.legs[side].toe_height;
        let y = stands + self.ratio * (source[1] - ground.toes[side]);
        [self.ratio * source[0], y, self.ratio * source[2]]
    }
}

/// Returns the size of the target's steps.
fn ratio(source: &Body, target: &Body, wanted: Ratio) -> Result<f64, Error> {
    let measure = |body: &Body| match wanted {
        Ratio::LegsAndHips => body.mean(Leg::length) + body.width,
        Ratio::HipHeight => body.hip_height(),
        Ratio::Legs | Ratio::Fixed(_) => body.mean(Leg::length),
    };
    for (what, body) in [("source legs", source), ("target legs", target)] {
        let short = body.legs.iter().position(|leg| leg.lengths.iter().any(|&it| it < 1e-4 * body.height));
        if let Some(at) = short {
            return Err(Error::OutOfRange { what, at, needed: "thighs and shins with a length" });
        }
    }
    let ratio = if let Ratio::Fixed(ratio) = wanted { ratio } else { measure(target) / measure(source) };
    if ratio > 0.0 && ratio.is_finite() {
        return Ok(ratio);
    }
    Err(Error::OutOfRange { what: "ratio", at: 0, needed: "greater than 0" })
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
