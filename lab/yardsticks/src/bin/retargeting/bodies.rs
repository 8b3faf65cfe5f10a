//! Bodies and motions of the yardstick: paired BVH files by path, or internal ones.

use std::path::Path;

use condyle::math::Transform;
use condyle::sampling::PoseSource;
use condyle::{Interpolation, Pose, RawClip, Skeleton, Target, Track};
use condyle_base::math::quats::{Quat64, conjugate, product, renormalized, rotate};
use condyle_bvh::{Bvh, ImportOptions};
use condyle_retarget::rig::{Humanoid, Role};
use condyle_testing::Random;
use condyle_testing::humanoids::{self, Build};

/// One performance on one body.
#[derive(Clone)]
pub(crate) struct Take {
    pub(crate) motion: String,
    pub(crate) skeleton: Skeleton,
    pub(crate) map: Humanoid,
    pub(crate) clip: RawClip,
    pub(crate) times: Vec<f32>,
}

pub(crate) type Failed = Box<dyn std::error::Error>;

const BODIES: [&str; 3] = ["Mousey", "Ortiz", "Sporty_Granny"];
const MOTIONS: [&str; 8] = [
    "Angry",
    "Gangnam Style",
    "Hip Hop Dancing",
    "Macarena Dance",
    "Robot Hip Hop Dance",
    "Salsa Dancing",
    "Swing Dancing",
    "Wave Hip Hop Dance",
];

/// Reads the paired files: one list of takes per motion, one take per body.
pub(crate) fn read(data: &Path) -> Result<Vec<Vec<Take>>, Failed> {
    let mut options = ImportOptions::default();
    options.scale = 0.01;
    options.end_sites = false;
    let take = |body: &str, motion: &str| {
        let file =
            Bvh::open(data.join(body).join(format!("{motion}.bvh"))).map_err(|it| format!("{it:?}"))?;
        take(motion, file.skeleton(&options)?, file.clip(&options)?)
    };
    MOTIONS.iter().map(|motion| BODIES.iter().map(|body| take(body, motion)).collect()).collect()
}

/// Makes three internal bodies, each with a walk and a dance.
pub(crate) fn made() -> Result<Vec<Vec<Take>>, Failed> {
    let builds = [("tall", Build::TALL), ("short", Build::SHORT), ("stylised", Build::STYLISED)];
    let motions = [("walk", humanoids::walk as fn(&Build) -> RawClip), ("squats", humanoids::squats)];
    let one = |motion: &(&str, fn(&Build) -> RawClip)| {
        let takes = builds.iter().map(|(_, build)| take(motion.0, build.skeleton(), motion.1(build)));
        takes.collect::<Result<Vec<Take>, Failed>>()
    };
    motions.iter().map(one).collect()
}

fn take(motion: &str, skeleton: Skeleton, clip: RawClip) -> Result<Take, Failed> {
    let times = condyle_retarget::clip::frame_times(&clip, 30.0)?;
    let map = map(&skeleton)?;
    Ok(Take { motion: motion.into(), skeleton, map, clip, times })
}

impl Take {
    /// Returns the poses of a clip of this body at the frame times.
    pub(crate) fn poses(&self, clip: &RawClip) -> Result<Vec<Pose>, Failed> {
        let pose = |&seconds: &f32| {
            let mut pose = Pose::rest(&self.skeleton);
            clip.pose(&self.skeleton, seconds.into(), &mut pose)?;
            Ok(pose)
        };
        self.times.iter().map(pose).collect()
    }

    /// Index of a joint by its name without prefix.
    pub(crate) fn joint(&self, name: &str) -> Option<usize> {
        self.skeleton.names().iter().position(|it| bare(it) == name)
    }

    /// Returns the same motion on a skeleton whose joints have random axes.
    pub(crate) fn with_random_axes(&self, random: &mut Random) -> Result<Self, Failed> {
        let turns: Vec<Quat64> = (0..self.skeleton.joint_count())
            .map(|_| renormalized(random.unit::<4>().map(f64::from)))
            .collect();
        let turned = |pose: &Pose| {
            let mut out = pose.clone();
            for (joint, t) in pose.transforms().enumerate() {
                let above = self
                    .skeleton
                    .parent(joint as u16)
                    .map_or([0.0, 0.0, 0.0, 1.0], |it| turns[usize::from(it)]);
                let back = conjugate(above);
                let rotation =
                    product(back, product(t.rotation.map(f64::from), turns[joint])).map(|v| v as f32);
                let translation = rotate(back, t.translation.map(f64::from)).map(|v| v as f32);
                out.set(joint, &Transform { rotation, translation, scale: t.scale });
            }
            out
        };
        let skeleton = self.skeleton.with_rest(&turned(self.skeleton.rest()))?;
        let poses: Vec<Pose> = self.poses(&self.clip)?.iter().map(turned).collect();
        let mut tracks = Vec::new();
        for joint in 0..skeleton.joint_count() {
            let interpolation = Interpolation::Linear;
            let values = poses.iter().flat_map(|pose| pose.get(joint).rotation).collect();
            tracks.push(Track { target: Target::Rotation(joint as u16), interpolation, timeline: 0, values });
            let values = poses.iter().flat_map(|pose| pose.get(joint).translation).collect();
            tracks.push(Track {
                target: Target::Translation(joint as u16),
                interpolation,
                timeline: 0,
                values,
            });
        }
        let clip = RawClip::new(self.motion.clone(), vec![self.times.clone()], tracks)?;
        Ok(Self { map: map(&skeleton)?, skeleton, clip, ..self.clone() })
    }

    /// Returns the same motion on a skeleton whose arms hang at 45 degrees at rest.
    pub(crate) fn with_arms_down(&self) -> Result<Self, Failed> {
        let mut rest = self.skeleton.rest().clone();
        let globals = turns(&self.skeleton, &rest);
        for (role, sign) in [(Role::LeftUpperArm, -1.0), (Role::RightUpperArm, 1.0)] {
            let Some(joint) = self.map.joint(role) else { continue };
            let half: f64 = sign * std::f64::consts::FRAC_PI_8;
            let turn = [0.0, 0.0, half.sin(), half.cos()];
            let above =
                self.skeleton.parent(joint).map_or([0.0, 0.0, 0.0, 1.0], |it| globals[usize::from(it)]);
            let mut t = rest.get(joint.into());
            let global = product(turn, globals[usize::from(joint)]);
            t.rotation = product(conjugate(above), global).map(|v| v as f32);
            rest.set(joint.into(), &t);
        }
        let skeleton = self.skeleton.with_rest(&rest)?;
        Ok(Self { map: map(&skeleton)?, skeleton, ..self.clone() })
    }
}

/// Rotations of all joints in the model.
pub(crate) fn turns(skeleton: &Skeleton, pose: &Pose) -> Vec<Quat64> {
    let mut all: Vec<Quat64> = Vec::new();
    for (joint, t) in pose.transforms().enumerate() {
        let above = skeleton.parent(joint as u16).map_or([0.0, 0.0, 0.0, 1.0], |it| all[usize::from(it)]);
        all.push(product(above, t.rotation.map(f64::from)));
    }
    all
}

/// Places of all joints in the model.
pub(crate) fn places(skeleton: &Skeleton, pose: &Pose) -> Vec<[f64; 3]> {
    let turns = turns(skeleton, pose);
    let mut all: Vec<[f64; 3]> = Vec::new();
    for (joint, t) in pose.transforms().enumerate() {
        let at = t.translation.map(f64::from);
        all.push(skeleton.parent(joint as u16).map(usize::from).map_or(at, |it| {
            let moved = rotate(turns[it], at);
            std::array::from_fn(|c| all[it][c] + moved[c])
        }));
    }
    all
}

/// Returns a name without its prefix.
pub(crate) fn bare(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or_default()
}

/// Maps the joints by Mixamo's names.
fn map(skeleton: &Skeleton) -> Result<Humanoid, Failed> {
    let middle = [
        (Role::Hips, "Hips"),
        (Role::Spine, "Spine"),
        (Role::Chest, "Spine1"),
        (Role::UpperChest, "Spine2"),
        (Role::Neck, "Neck"),
        (Role::Head, "Head"),
    ];
    let left = [
        (Role::LeftShoulder, "Shoulder"),
        (Role::LeftUpperArm, "Arm"),
        (Role::LeftLowerArm, "ForeArm"),
        (Role::LeftHand, "Hand"),
        (Role::LeftUpperLeg, "UpLeg"),
        (Role::LeftLowerLeg, "Leg"),
        (Role::LeftFoot, "Foot"),
        (Role::LeftToes, "ToeBase"),
    ];
    let mut named: Vec<(Role, String)> = middle.map(|(role, name)| (role, name.into())).into();
    let fingers = ["Thumb", "Index", "Middle", "Ring", "Pinky"];
    let first = Role::LeftThumbMetacarpal as usize;
    let finger = |at: usize| (Role::ALL[first + at], format!("Hand{}{}", fingers[at / 3], at % 3 + 1));
    let sides = left.map(|(role, name)| (role, name.to_owned())).into_iter().chain((0..15).map(finger));
    for (role, name) in sides {
        named.push((role, format!("Left{name}")));
        named.push((role.mirrored(), format!("Right{name}")));
    }
    let pairs = named.into_iter().filter_map(|(role, name)| {
        let joint = skeleton.names().iter().position(|it| bare(it) == name)?;
        Some((role, joint as u16))
    });
    Ok(Humanoid::new(skeleton, pairs)?)
}
