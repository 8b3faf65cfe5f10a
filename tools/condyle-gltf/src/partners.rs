//! Matches the joints of two documents: by VRM's humanoid bones, then by name with known variations.

use std::collections::{BTreeMap, BTreeSet};

use condyle::{Affine, Error, Joint, JointMap, Skeleton, Target, Track, local_to_model};
use condyle_base::math::quats::{Quat64 as Quat, conjugate, product};

use crate::asset::Asset;

/// The matching joints of two documents.
pub(crate) struct Partners {
    pub(crate) map: JointMap,
    /// Conversion of each humanoid bone whose rest pose differs from its partner's, by joint of the second
    /// document.
    fits: BTreeMap<u16, Fit>,
}

/// Conversion of a bone's local rotation to its partner's: `left * rotation * right`.
///
/// Both bones then have the same model-space rotation relative to the rest pose. If the characters face
/// opposite directions, the rotations differ by half a turn about +Y.
///
/// Source: `VRMC_vrm_animation` 1.0, "How to convert a pose".
struct Fit {
    left: Quat,
    right: Quat,
    /// Scale factor of translations. `None` if the rest positions of the bones differ, so that translations
    /// cannot be converted.
    scale: Option<f64>,
}

impl Partners {
    /// Matches humanoid bones if both documents have them, then equal names, then names without their prefix.
    pub(crate) fn of(motion: &Asset, character: &Asset) -> Result<Self, Error> {
        let (from, to) = (&motion.skeleton, &character.skeleton);
        let (own, other) = (motion.humanoid_bones(), character.humanoid_bones());
        let mut partners = vec![None; from.joint_count()];
        let mut taken = BTreeSet::new();
        let mut pair = |joint: u16, partner: Option<u16>| {
            let open = &mut partners[usize::from(joint)];
            *open = open.or_else(|| partner.filter(|&partner| taken.insert(partner)));
        };
        for (bone, &joint) in &own {
            pair(joint, other.get(bone).copied());
        }
        for map in [JointMap::by_name(from, to), JointMap::by_name(&plain(from)?, &plain(to)?)] {
            let open = |joint: &u16| map.joint(*joint).is_some();
            (0..from.joint_count() as u16).filter(open).for_each(|joint| pair(joint, map.joint(joint)));
        }
        let opposite = motion.document.front() != character.document.front();
        let between = if opposite { HALF_TURN } else { IDENTITY };
        let fits =
            fits(Bones { skeleton: from, joints: &own }, Bones { skeleton: to, joints: &other }, between)?;
        Ok(Self { map: JointMap::new(from, to, &partners)?, fits })
    }

    /// Returns the node in the first document whose joint matches a joint of the second.
    pub(crate) fn node(&self, from: &Skeleton, partner: u16) -> Option<u32> {
        let joint = (0..from.joint_count() as u16).find(|&joint| self.map.joint(joint) == Some(partner))?;
        from.nodes().get(usize::from(joint)).copied()
    }

    /// Converts the track of a joint of the second document to its rest pose. Returns `None` for a
    /// translation that cannot be converted.
    pub(crate) fn fit(&self, mut track: Track) -> Option<Track> {
        let Some(fit) = track.target.joint().and_then(|joint| self.fits.get(&joint)) else {
            return Some(track);
        };
        match track.target {
            // Linear in the rotation, so spline tangents are converted too.
            Target::Rotation(_) => {
                for q in track.values.as_chunks_mut::<4>().0 {
                    *q = product(product(fit.left, q.map(f64::from)), fit.right).map(|v| v as f32);
                }
            }
            Target::Translation(_) => {
                let scale = fit.scale?;
                for v in track.values.as_chunks_mut::<3>().0 {
                    *v = rotate(fit.left, v.map(|v| f64::from(v) * scale)).map(|v| v as f32);
                }
            }
            _ => {}
        }
        Some(track)
    }
}

/// A skeleton, and the joint of each humanoid bone by name.
#[derive(Clone, Copy)]
struct Bones<'a> {
    skeleton: &'a Skeleton,
    joints: &'a BTreeMap<String, u16>,
}

/// Returns the conversion of each bone that both documents have, unless the rest poses are equal. `between`
/// rotates the model space of the first to that of the second.
fn fits(first: Bones<'_>, second: Bones<'_>, between: Quat) -> Result<BTreeMap<u16, Fit>, Error> {
    let (Bones { skeleton: from, joints: own }, Bones { skeleton: to, joints: other }) = (first, second);
    const ALIKE: f64 = 1e-5;
    let (turns, turned) = (rest_rotations(from), rest_rotations(to));
    let height = |skeleton: &Skeleton, joint: u16| -> Result<f64, Error> {
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(skeleton, skeleton.rest(), &mut model)?;
        Ok(model[usize::from(joint)].rows[1][3].into())
    };
    let above = |skeleton: &Skeleton, rotations: &[Quat], joint: u16| {
        skeleton.parent(joint).map_or(IDENTITY, |parent| rotations[usize::from(parent)])
    };
    let mut fits = BTreeMap::new();
    for (bone, &joint) in own {
        let Some(&partner) = other.get(bone) else { continue };
        let left = product(between, above(from, &turns, joint));
        let left = product(conjugate(above(to, &turned, partner)), left);
        let right = product(conjugate(between), turned[usize::from(partner)]);
        let right = product(conjugate(turns[usize::from(joint)]), right);
        let [a, b] = [(from, joint), (to, partner)].map(|(it, at)| it.rest().get(at.into()).translation);
        // Whether the bone has the same offset from its parent in model space, regardless of the parent's
        // axes.
        let same_bone =
            rotate(left, a.map(f64::from)).iter().zip(b).all(|(a, b)| (a - f64::from(b)).abs() < ALIKE);
        let alike = |q: Quat| q[3].abs() > 1.0 - ALIKE * ALIKE;
        if same_bone && alike(left) && alike(right) {
            continue;
        }
        let scale = match (bone.as_str(), height(from, joint)?, height(to, partner)?) {
            ("hips", low, high) if low > ALIKE && high > ALIKE => Some(high / low),
            _ => same_bone.then_some(1.0),
        };
        fits.insert(partner, Fit { left, right, scale });
    }
    Ok(fits)
}

const IDENTITY: Quat = [0.0, 0.0, 0.0, 1.0];
/// Half a turn about +Y: VRM 0.x faces -Z, later versions +Z.
const HALF_TURN: Quat = [0.0, 1.0, 0.0, 0.0];

fn rotate(rotation: Quat, [x, y, z]: [f64; 3]) -> [f64; 3] {
    let [x, y, z, _] = product(product(rotation, [x, y, z, 0.0]), conjugate(rotation));
    [x, y, z]
}

/// Returns the model-space rotation of each joint in the rest pose.
fn rest_rotations(skeleton: &Skeleton) -> Vec<Quat> {
    let mut all: Vec<Quat> = Vec::with_capacity(skeleton.joint_count());
    for (joint, rest) in skeleton.rest().transforms().enumerate() {
        let own = rest.rotation.map(f64::from);
        let length = own.iter().map(|v| v * v).sum::<f64>().sqrt();
        let own = if length > 0.0 { own.map(|v| v / length) } else { IDENTITY };
        let parent = skeleton.parent(joint as u16);
        all.push(parent.map_or(own, |parent| product(all[usize::from(parent)], own)));
    }
    all
}

/// Returns the skeleton with names without the prefixes of Mixamo and namespaces.
fn plain(skeleton: &Skeleton) -> Result<Skeleton, Error> {
    let joint = |(at, rest): (usize, condyle::Transform)| Joint {
        name: without_prefix(&skeleton.names()[at]).into(),
        parent: skeleton.parent(at as u16),
        node: skeleton.node(at as u16),
        rest,
    };
    Skeleton::new(skeleton.rest().transforms().enumerate().map(joint))
}

fn without_prefix(name: &str) -> &str {
    let name = name.rsplit_once(':').map_or(name, |(_, own)| own);
    let own = name.strip_prefix("mixamorig").map(|own| own.trim_start_matches(|c: char| c.is_ascii_digit()));
    let own = own.map(|own| own.trim_start_matches('_'));
    own.filter(|own| own.starts_with(|c: char| c.is_ascii_uppercase())).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Builder;
    use crate::value::json;

    #[test]
    fn prefixes_are_no_part_of_a_name() {
        for name in [
            "mixamorig:Hips",
            "mixamorig1:Hips",
            "mixamorigHips",
            "mixamorig_Hips",
            "Walk:mixamorig:Hips",
            "a:Hips",
            "Hips",
        ] {
            assert_eq!(without_prefix(name), "Hips", "{name}");
        }
        for name in ["mixamorig", "mixamorigs", "mixamorig12", "hips"] {
            assert_eq!(without_prefix(name), name);
        }
    }

    /// Returns a hip with a spine, both animated. Names, rest rotations and hip height differ between
    /// documents.
    fn body(names: [&str; 2], rests: [Quat; 2], high: f64, extension: &str) -> Asset {
        let mut it = Builder::new(json!({
            "scenes": [{"nodes": [0]}],
            "nodes": [
                {"name": names[0], "children": [1], "rotation": rests[0], "translation": [0, high, 0]},
                {"name": names[1], "rotation": rests[1], "translation": [0, high / 4.0, 0]},
            ],
        }));
        let bones = match extension {
            "VRM" => json!([{"bone": "hips", "node": 0}, {"bone": "spine", "node": 1}]),
            _ => json!({"hips": {"node": 0}, "spine": {"node": 1}}),
        };
        if !extension.is_empty() {
            it.json["extensionsUsed"] = json!([extension]);
            it.json["extensions"] = json!({ extension: {"humanoid": {"humanBones": bones}} });
        }
        let times = it.floats("SCALAR", &[0.0]);
        let turn = it.floats("VEC4", &[0.0, 0.6, 0.0, 0.8]);
        let place = it.floats("VEC3", &[0.5, 1.0, 0.25]);
        let channel =
            |sampler, node, path| json!({"sampler": sampler, "target": {"node": node, "path": path}});
        it.json["animations"] = json!([{
            "samplers": [{"input": times, "output": turn}, {"input": times, "output": place}],
            "channels": [channel(0, 0, "rotation"), channel(0, 1, "rotation"), channel(1, 0, "translation"), channel(1, 1, "translation")],
        }]);
        it.import().unwrap()
    }

    /// Returns the model-space rotation of each joint from its rest pose, and the position of the hip.
    fn turns(asset: &Asset, clip: &condyle::RawClip) -> ([Quat; 2], [f32; 3]) {
        use condyle::sampling::PoseSource;
        let skeleton = &asset.skeleton;
        let mut pose = condyle::Pose::rest(skeleton);
        clip.pose(skeleton, 0.0, &mut pose).unwrap();
        let rest = rest_rotations(skeleton);
        let own = [0, 1].map(|joint| pose.get(joint).rotation.map(f64::from));
        let world = [own[0], product(own[0], own[1])];
        ([0, 1].map(|joint| product(world[joint], conjugate(rest[joint]))), pose.get(0).translation)
    }

    /// Tests motions of VRM 1.0 and 0.x on characters of both.
    #[test]
    fn humanoid_bones_turn_alike_whatever_their_rest() {
        let (quarter, half) = ([0.5, 0.5, 0.5, 0.5], [0.6, 0.0, 0.0, 0.8]);
        let [motion, old] = ["VRMC_vrm_animation", "VRM"]
            .map(|extension| body(["J_Hips", "J_Spine"], [quarter, half], 1.0, extension));
        let want = turns(&motion, &motion.clips[0]);
        let cases = [
            (&motion, "VRMC_vrm", 1.0),
            (&motion, "VRM", -1.0),
            (&old, "VRMC_vrm", -1.0),
            (&old, "VRM", 1.0),
        ];
        for (motion, extension, side) in cases {
            let character = body(["a", "b"], [half, quarter], 2.0, extension);
            let (clips, problems) = character.clips_of(motion).unwrap();
            let [problem] = &problems[..] else { panic!("{problems:?}") };
            assert!(problem.to_string().contains(r#"the position of joint "J_Spine""#), "{problem}");
            let found = turns(&character, &clips[0]);
            for (found, &[x, y, z, w]) in found.0.iter().zip(&want.0) {
                // Half a turn about Y negates X and Z.
                let want = [side * x, y, side * z, w];
                let cosine: f64 = found.iter().zip(&want).map(|(a, b)| a * b).sum();
                assert!(cosine.abs() > 1.0 - 1e-6, "{extension}: {found:?}, {want:?}");
            }
            // The character is twice as high, so its hips move twice as far. The spine keeps its length.
            assert!(
                found.1.iter().zip([side, 2.0, side * 0.5]).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-6),
                "{:?}",
                found.1
            );
            assert!(!clips[0].tracks().iter().any(|track| track.target == Target::Translation(1)));
        }
        // The hips have other axes, but the spine is the same: its translations are rotated and kept.
        let spine = rotate(conjugate(half), rotate(quarter, [0.0, 0.25, 0.0]));
        let mut same = body(["a", "b"], [half, quarter], 1.0, "VRMC_vrm");
        let mut rest = same.skeleton.rest().get(1);
        rest.translation = spine.map(|v| v as f32);
        let joints = [same.skeleton.rest().get(0), rest];
        let joint = |(at, rest): (usize, condyle::Transform)| Joint {
            name: same.skeleton.names()[at].clone(),
            parent: same.skeleton.parent(at as u16),
            node: same.skeleton.node(at as u16),
            rest,
        };
        same.skeleton = Skeleton::new(joints.into_iter().enumerate().map(joint)).unwrap();
        let (clips, problems) = same.clips_of(&motion).unwrap();
        assert!(problems.is_empty() && clips[0].tracks().len() == 4, "{problems:?}");
        // With equal rest poses, all bits stay the same.
        let same = body(["a", "b"], [quarter, half], 1.0, "VRMC_vrm");
        assert_eq!(same.clips_of(&motion).unwrap().0[0].tracks(), motion.clips[0].tracks());
    }

    #[test]
    fn names_with_other_prefixes_are_partners() {
        let motion = body(["mixamorig1:Hips", "mixamorig1:Spine"], [IDENTITY; 2], 1.0, "");
        for names in
            [["mixamorig:Hips", "mixamorig:Spine"], ["Hips", "Spine"], ["mixamorigHips", "mixamorigSpine"]]
        {
            let character = body(names, [IDENTITY; 2], 1.0, "VRM");
            let (clips, problems) = character.clips_of(&motion).unwrap();
            assert_eq!((clips[0].tracks(), problems.len()), (motion.clips[0].tracks(), 0), "{names:?}");
        }
        // Joints without a partner are one problem.
        let other = body(["pelvis", "chest"], [IDENTITY; 2], 1.0, "");
        let (clips, problems) = other.clips_of(&motion).unwrap();
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert!(clips[0].tracks().is_empty() && problem.count == 2, "{problem}");
        assert!(problem.what.contains(r#"no joints "mixamorig1:Hips", "mixamorig1:Spine""#), "{problem}");
    }
}
