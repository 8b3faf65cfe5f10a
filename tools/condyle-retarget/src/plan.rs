//! Preparation for one pair of bodies.

use condyle::{Error, Skeleton};

use crate::body::Body;
use crate::footing::{Footing, Ground};
use crate::hands::Arm;
use crate::mapping::{Drive, LegMapping, Mapping, ancestors};
use crate::maths::Vec3;
use crate::options::PlanOptions;
use crate::rig::Humanoid;

/// Preparation for one pair of bodies, made once: which joint follows which, offsets between the neutral
/// poses, and proportions.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub(crate) source: Body,
    pub(crate) target: Body,
    pub(crate) mapping: Mapping,
    pub(crate) legs: LegMapping,
    pub(crate) footing: Footing,
    /// Arms of source and target, if the hands keep the vector between them.
    pub(crate) arms: Option<[[Arm; 2]; 2]>,
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
        let (source, target) = (Body::new(source, source_map)?, Body::new(target, target_map)?);
        refuse_mirrored("source scales", &source)?;
        refuse_mirrored("target scales", &target)?;
        let mapping = Mapping::new(&source, &target);
        Ok(Self {
            footing: Footing::new(&source, &target, mapping.facing, options)?,
            legs: LegMapping::new(&source, &target, &mapping),
            arms: options.hands.then(|| [Arm::both(&source), Arm::both(&target)]),
            mapping,
            source,
            target,
        })
    }

    /// Size of the target's steps compared with the source's.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.footing.ratio
    }

    /// Returns the source's skeleton.
    #[must_use]
    pub fn source(&self) -> &Skeleton {
        &self.source.skeleton
    }

    /// Returns the target's skeleton.
    #[must_use]
    pub fn target(&self) -> &Skeleton {
        &self.target.skeleton
    }

    /// Fingerprints of the skeletons of source and target.
    pub(crate) fn fingerprints(&self) -> [u32; 2] {
        [self.source.skeleton.fingerprint(), self.target.skeleton.fingerprint()]
    }

    /// Returns the target joints that follow the source, each with the source joints and the weight of the
    /// second one.
    pub fn followers(&self) -> impl Iterator<Item = (u16, [u16; 2], f64)> + '_ {
        self.mapping.drives.iter().filter_map(|drive| match drive {
            Drive::Follow(it) => Some((it.joint, it.source, it.weight)),
            _ => None,
        })
    }

    /// Returns the place of the target's middle of the hip joints for the source's, which already faces as
    /// the target does.
    pub(crate) fn middle(&self, source: Vec3, ground: &Ground) -> Vec3 {
        let up = self.target.floor + self.target.hip_height();
        let ratio = self.footing.ratio;
        let y = up + ratio * (source[1] - ground.floor - self.source.hip_height());
        [ratio * source[0], y, ratio * source[2]]
    }

    /// Returns the place of the target's ball of the foot for the source's, without the footprint's offset.
    pub(crate) fn toe(&self, side: usize, source: Vec3, ground: &Ground) -> Vec3 {
        let stands = self.target.floor + self.target.legs[side].toe_height;
        let ratio = self.footing.ratio;
        let y = stands + ratio * (source[1] - ground.toes[side]);
        [ratio * source[0], y, ratio * source[2]]
    }
}

/// # Errors
/// [`Error::OutOfRange`] if a joint with a role, or a joint above one, is mirrored.
fn refuse_mirrored(what: &'static str, body: &Body) -> Result<(), Error> {
    let joints = ancestors(body, body.map.roles().map(|(_, joint)| joint.into()));
    let is_mirrored = |&joint: &u16| body.skeleton.rest().get(joint.into()).scale.iter().any(|&it| it < 0.0);
    if let Some(joint) = joints.into_iter().find(is_mirrored) {
        let needed = "greater than 0: turn a mirrored joint instead";
        return Err(Error::OutOfRange { what, at: joint.into(), needed });
    }
    Ok(())
}
