//! `--drop`: joints that nothing depends on, and their error without tracks.

use std::collections::{BTreeSet, HashSet};

use condyle::sampling::PoseSource;
use condyle::{Affine, Error, Interpolation, Pose, RawClip, Target, Track, local_to_model};
use condyle_gltf::{Asset, Placement};

use crate::failure::Failure;
use crate::text::printable;

/// Returns the clip without the tracks of some joints, with the same duration.
pub(super) fn without(clip: &RawClip, joints: &BTreeSet<u16>, asset: &Asset) -> Result<RawClip, Error> {
    let stays = |track: &&Track| track.target.joint().is_none_or(|joint| !joints.contains(&joint));
    let tracks: Vec<Track> = clip.tracks().iter().filter(stays).cloned().collect();
    let of = |timelines, tracks| RawClip::new(clip.name().into(), timelines, tracks);
    let mut left = of(clip.timelines().to_vec(), tracks)?;
    let bounds = |clip: &RawClip| (clip.start(), clip.end());
    if let Some(&joint) = joints.first().filter(|_| bounds(&left) != bounds(clip) && clip.duration() > 0.0) {
        // A joint at rest gets keys at both ends.
        let (mut timelines, mut tracks) = (left.timelines().to_vec(), left.tracks().to_vec());
        timelines.push(vec![clip.start() as f32, clip.end() as f32]);
        tracks.push(Track {
            target: Target::Translation(joint),
            interpolation: Interpolation::Linear,
            timeline: timelines.len() - 1,
            values: asset.skeleton.rest().get(joint.into()).translation.repeat(2),
        });
        left = of(timelines, tracks)?;
    }
    left.for_skeleton(&asset.skeleton)
}

/// Returns the largest displacement of joints that lost their tracks, over all keys of the clip, in units of
/// the model. It is measured at each joint's origin and at points `reach` away on its axes.
pub(super) fn displacement(
    (clip, left): (&RawClip, &RawClip),
    joints: &BTreeSet<u16>,
    asset: &Asset,
    reach: f32,
) -> Result<f64, Error> {
    let skeleton = &asset.skeleton;
    let mut times: Vec<f32> =
        clip.timelines().iter().flatten().copied().filter(|_| !joints.is_empty()).collect();
    times.sort_by(f32::total_cmp);
    times.dedup();
    let place = |clip: &RawClip, seconds: f32| -> Result<Vec<Affine>, Error> {
        let (mut pose, mut model) = (Pose::rest(skeleton), vec![Affine::IDENTITY; skeleton.joint_count()]);
        clip.pose(skeleton, seconds.into(), &mut pose)?;
        local_to_model(skeleton, &pose, &mut model)?;
        Ok(model)
    };
    let point = |matrix: &Affine, axis: usize| {
        let length = if axis < 3 { f64::from(reach) } else { 0.0 };
        matrix.rows.map(|row| f64::from(row[3]) + length * f64::from(row[axis % 3]))
    };
    let mut greatest = 0.0_f64;
    for seconds in times {
        let [was, is] = [place(clip, seconds)?, place(left, seconds)?];
        for joint in joints.iter().map(|&joint| usize::from(joint)) {
            for axis in 0..4 {
                let (p, q) = (point(&was[joint], axis), point(&is[joint], axis));
                let square: f64 = p.iter().zip(q).map(|(p, q)| (p - q).powi(2)).sum();
                greatest = greatest.max(square.sqrt());
            }
        }
    }
    Ok(greatest)
}

/// Returns the joints whose tracks can be dropped, because nothing else depends on them, except those named
/// in `keep`. If no joint moves a vertex, the joints are the content of the file, and only joints without a
/// name are returned.
pub(super) fn dropped(asset: &Asset, keep: &[String]) -> Result<BTreeSet<u16>, Failure> {
    let skeleton = &asset.skeleton;
    let mut needed = movers(asset);
    if !needed.contains(&true) {
        let named = |(name, node): (&String, &u32)| !name.is_empty() && *name != format!("node {node}");
        needed = skeleton.names().iter().zip(skeleton.nodes()).map(named).collect();
    }
    needed.iter_mut().zip(carriers(asset)).for_each(|(needed, carries)| *needed |= carries);
    for name in keep {
        let mut found = false;
        for (own, _) in needed.iter_mut().zip(skeleton.names()).filter(|(_, own)| *own == name) {
            (*own, found) = (true, true);
        }
        if !found {
            return Err(Failure::Usage(format!(
                "{} has no joint {name:?}; `condyle info` lists its joints",
                printable(asset.document.name())
            )));
        }
    }
    for joint in (0..skeleton.joint_count() as u16).rev() {
        if let (true, Some(parent)) = (needed[usize::from(joint)], skeleton.parent(joint)) {
            needed[usize::from(parent)] = true;
        }
    }
    Ok((0..).zip(needed).filter(|(_, needed)| !needed).map(|(joint, _)| joint).collect())
}

/// Returns for each joint whether vertices follow it.
fn movers(asset: &Asset) -> Vec<bool> {
    let mut moves = vec![false; asset.skeleton.joint_count()];
    for instance in &asset.instances {
        match instance.placement {
            Placement::Joint(joint) => moves[usize::from(joint)] = true,
            Placement::Skin(skin) => {
                let joints = asset.skins[skin].joints();
                for primitive in &instance.primitives {
                    let (_, named, _) = primitive.mesh.influences().as_slices();
                    named.iter().for_each(|&own| moves[usize::from(joints[usize::from(own)])] = true);
                }
            }
            Placement::Fixed(_) => {}
        }
    }
    moves
}

/// Returns for each joint whether its node, or a node below it that is not a joint, has a camera, a light or
/// other extension data.
fn carriers(asset: &Asset) -> Vec<bool> {
    let member = |node: usize, key: &str| asset.document.json_at(&format!("/nodes/{node}/{key}"));
    let mut seen: HashSet<usize> = asset.skeleton.nodes().iter().map(|&node| node as usize).collect();
    let carries = |&node: &u32| {
        let mut open = vec![node as usize];
        while let Some(node) = open.pop() {
            if member(node, "camera").is_some() || member(node, "extensions").is_some() {
                return true;
            }
            let children = member(node, "children").and_then(|text| serde_json::from_str(&text).ok());
            // The importer accepts 24.0 as 24.
            let children = children.unwrap_or_else(Vec::<f64>::new).into_iter().map(|child| child as usize);
            open.extend(children.filter(|&child| seen.insert(child)));
        }
        false
    };
    asset.skeleton.nodes().iter().map(carries).collect()
}
