//! A walk and a run from bodies of many conventions, with any rest pose, front, axes and units.

use std::path::Path;

use condyle::{Interpolation, Pose, RawClip, Skeleton, Target, Track};
use condyle_base::math::quats::{Quat64, conjugate, from_rotation_vector, product, rotate};
use condyle_bvh::WriteOptions;
use condyle_retarget::clip::{self, ClipOptions};
use condyle_retarget::rig::{Hints, Role, find};
use condyle_testing::Random;
use condyle_testing::humanoids::{self, Build};

use crate::bodies::{Failed, Take, places, turns};
use crate::made::{Convention, Stance};
use crate::measure::plan;

const IDENTITY: Quat64 = [0.0, 0.0, 0.0, 1.0];

/// Motions of the sources.
const MOTIONS: [fn(&Build) -> RawClip; 2] = [humanoids::walk, humanoids::run];

/// A body with straight legs whose joints are where a convention's joints are. Its walk is the source's.
fn walker(made: &Convention) -> (Build, [f64; 2]) {
    let at = |role: Role| made.bones.iter().find(|bone| bone.role == Some(role)).map_or([0.0; 3], |it| it.at);
    let [hip, knee, ankle] = [Role::LeftUpperLeg, Role::LeftLowerLeg, Role::LeftFoot].map(at);
    let bone = |from: [f64; 3], to: [f64; 3]| [to[1] - from[1], to[2] - from[2]];
    let [thigh, shin] = [bone(hip, knee), bone(knee, ankle)];
    let build = Build {
        hip: hip[0],
        thigh: thigh[0].hypot(thigh[1]),
        shin: shin[0].hypot(shin[1]),
        ankle: ankle[1],
        foot: 0.11 - ankle[2],
        ..Build::TALL
    };
    (build, [thigh, shin].map(|it| it[1].atan2(-it[0])))
}

/// Returns the takes of one convention: each motion on a body with a random rest pose, front, axes and
/// units, whose humanoid is found.
pub(crate) fn takes(made: &Convention, random: &mut Random) -> Result<Vec<Take>, Failed> {
    MOTIONS.iter().map(|motion| take(made, *motion, random)).collect()
}

fn take(made: &Convention, motion: fn(&Build) -> RawClip, random: &mut Random) -> Result<Take, Failed> {
    let stance = Stance {
        arms: random.range_f64(0.0, 1.0),
        turn: [0.0, random.range_f64(-3.0, 3.0), 0.0],
        units: [0.01, 1.0, 100.0][random.below(3)],
        axes: true,
    };
    let (skeleton, joints) = made.skeleton(stance, random);
    let map = find(&skeleton, &Hints::default())?.humanoid;
    let (build, bends) = walker(made);
    let moves = moves(made, &stance, bends, &build.skeleton(), &skeleton, &joints);
    let clip = motion(&build);
    let times = clip::frame_times(&clip, 30.0)?;
    let own = Take { motion: clip.name().into(), skeleton: build.skeleton(), map, clip, times };
    let poses: Vec<Pose> = own
        .poses(&own.clip)?
        .iter()
        .map(|pose| posed(&own.skeleton, pose, &skeleton, &moves, &stance))
        .collect();
    let mut tracks = Vec::new();
    let mut add = |target, values| {
        tracks.push(Track { target, interpolation: Interpolation::Linear, timeline: 0, values });
    };
    for joint in (0..skeleton.joint_count()).filter(|&joint| moves[joint].is_some()) {
        let values = poses.iter().flat_map(|pose| pose.get(joint).rotation).collect();
        add(Target::Rotation(joint as u16), values);
        if moves[joint].is_some_and(|it| it.is_hips) {
            let values = poses.iter().flat_map(|pose| pose.get(joint).translation).collect();
            add(Target::Translation(joint as u16), values);
        }
    }
    let clip = RawClip::new(own.motion.clone(), vec![own.times.clone()], tracks)?;
    Ok(Take { skeleton, clip, ..own })
}

/// Writes each source, and its motion on each target, as BVH files for a person to look at.
pub(crate) fn write(folder: &Path, name: &str, takes: &[Take], targets: &[Take]) -> Result<(), Failed> {
    std::fs::create_dir_all(folder)?;
    let save = |whose: &str, motion: &str, skeleton: &Skeleton, clip: &RawClip| -> Result<(), Failed> {
        let text = condyle_bvh::write(skeleton, clip, &WriteOptions::new(60.0))?;
        Ok(std::fs::write(folder.join(format!("{name} {motion} {whose}.bvh")), text)?)
    };
    for source in takes {
        save("source", &source.motion, &source.skeleton, &source.clip)?;
        for (target, whose) in targets.iter().zip(["tall", "short", "stylised"]) {
            let done =
                clip::clip(&plan(source, target)?, &source.clip, &source.times, &ClipOptions::default())?;
            save(whose, &source.motion, &target.skeleton, &done.clip)?;
        }
    }
    Ok(())
}

/// How a joint follows one of the walker.
#[derive(Clone, Copy)]
struct Move {
    walker: usize,
    is_hips: bool,
    /// Rotation of the joint in the model when the walker is at rest.
    straight: Quat64,
}

fn moves(
    made: &Convention,
    stance: &Stance,
    bends: [f64; 2],
    walker: &Skeleton,
    skeleton: &Skeleton,
    joints: &[u16],
) -> Vec<Option<Move>> {
    let rest = turns(skeleton, skeleton.rest());
    let turn = from_rotation_vector(stance.turn);
    let roles = Build::roles(walker);
    let mut moves = vec![None; skeleton.joint_count()];
    for (bone, &joint) in made.bones.iter().zip(joints) {
        let Some(role) = bone.role else { continue };
        let named = roles.iter().find(|(name, _)| name.parse() == Ok(role));
        let Some(&(_, of)) = named else { continue };
        let own = match role {
            Role::LeftUpperLeg | Role::RightUpperLeg => from_rotation_vector([bends[0], 0.0, 0.0]),
            Role::LeftLowerLeg | Role::RightLowerLeg => from_rotation_vector([bends[1], 0.0, 0.0]),
            _ => conjugate(made.hang(bone, stance)),
        };
        let own = product(turn, product(own, conjugate(turn)));
        let straight = product(own, rest[usize::from(joint)]);
        moves[usize::from(joint)] = Some(Move { walker: of.into(), is_hips: role == Role::Hips, straight });
    }
    moves
}

/// Returns the pose that the walker has, on the convention's body.
fn posed(
    walker: &Skeleton,
    pose: &Pose,
    skeleton: &Skeleton,
    moves: &[Option<Move>],
    stance: &Stance,
) -> Pose {
    let (own_turns, own_places) = (turns(walker, pose), places(walker, pose));
    let turn = from_rotation_vector(stance.turn);
    let mut out = skeleton.rest().clone();
    let mut model: Vec<(Quat64, [f64; 3])> = Vec::new();
    for (joint, go) in moves.iter().enumerate() {
        let above = skeleton.parent(joint as u16).map_or((IDENTITY, [0.0; 3]), |it| model[usize::from(it)]);
        let mut local = out.get(joint);
        if let Some(go) = go {
            let moved = product(turn, product(own_turns[go.walker], conjugate(turn)));
            let rotation = product(conjugate(above.0), product(moved, go.straight));
            local.rotation = rotation.map(|v| v as f32);
            if go.is_hips {
                // The walker's hips are 6 cm above its legs, these 3 cm.
                let lower = rotate(own_turns[go.walker], [0.0, -0.03, 0.0]);
                let at: [f64; 3] =
                    std::array::from_fn(|c| stance.units * (own_places[go.walker][c] + lower[c]));
                let at = rotate(turn, at);
                let at = rotate(conjugate(above.0), std::array::from_fn(|c| at[c] - above.1[c]));
                local.translation = at.map(|v| v as f32);
            }
            out.set(joint, &local);
        }
        let at = rotate(above.0, local.translation.map(f64::from));
        let rotation = product(above.0, local.rotation.map(f64::from));
        model.push((rotation, std::array::from_fn(|c| above.1[c] + at[c])));
    }
    out
}
