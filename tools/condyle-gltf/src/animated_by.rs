//! Applies the clips of another document to a model; joints and morph targets are matched by name.

use std::collections::BTreeSet;

use condyle::{Error, RawClip, Target};

use crate::asset::Asset;
use crate::partners::Partners;
use crate::problem::{Problem, Severity};

/// Maximum number of names in a warning.
const MOST_NAMES: usize = 5;
const MESH: &str = "mesh with the same number of morph targets on a node";
const MESHES: &str = "meshes with the same number of morph targets on nodes";

impl Asset {
    /// Returns the clips of another document, converted to this document's skeleton and meshes.
    ///
    /// `motion` can be a file "without skin", or a file for another character with the same joints. Joints
    /// are matched by the humanoid bones of VRM if both documents have them. Remaining joints are matched by
    /// [`JointMap::by_name`](condyle::JointMap::by_name), then by name without the prefix of Mixamo
    /// (`mixamorig:`) or a namespace. Morph weights are matched by node name, if the number of morph targets
    /// is equal.
    ///
    /// Rotations of humanoid bones are converted between different rest poses, as `VRMC_vrm_animation`
    /// defines. Translations of the hips are scaled by the ratio of hip heights. Other translations of a
    /// humanoid bone are dropped if its rest position differs. All other joints keep their local transforms.
    ///
    /// Tracks without a partner are dropped, with one warning for all such joints and one for all such nodes.
    /// One more warning covers all joints whose translations are dropped. [`Problem::places`] are paths of
    /// the nodes in `motion`.
    ///
    /// # Errors
    /// The errors of [`JointMap::clip`](condyle::JointMap::clip), if the clips of `motion` were replaced by
    /// clips for another skeleton.
    ///
    /// ```no_run
    /// use condyle_gltf::Asset;
    ///
    /// let mut character = Asset::open("character.glb")?;
    /// let walk = Asset::open("walk-without-skin.glb")?;
    /// let (clips, problems) = character.clips_of(&walk)?;
    /// assert!(problems.is_empty(), "the character has every joint that the walk moves");
    /// character.clips = clips;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clips_of(&self, motion: &Self) -> Result<(Vec<RawClip>, Vec<Problem>), Error> {
        let partners = Partners::of(motion, self)?;
        let (mut joints, mut nodes, mut places) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut clips = Vec::new();
        for clip in &motion.clips {
            for joint in clip.tracks().iter().filter_map(|track| track.target.joint()) {
                if partners.map.joint(joint).is_none() {
                    joints.insert(motion.skeleton.nodes()[usize::from(joint)]);
                }
            }
            let clip = partners.map.clip(clip)?;
            let mut tracks = Vec::new();
            for track in clip.tracks() {
                let joint = track.target.joint();
                match partners.fit(track.clone()) {
                    Some(fitted) => tracks.push(fitted),
                    None => places.extend(joint.and_then(|joint| partners.node(&motion.skeleton, joint))),
                }
            }
            let fitted = RawClip::new(clip.name().into(), clip.timelines().to_vec(), tracks)?;
            clips.push(self.with_morph_weights(fitted, motion, &mut nodes)?);
        }
        let kinds = [("joint", "joints", joints), (MESH, MESHES, nodes)];
        let lost = kinds.into_iter().filter_map(|(one, many, lost)| {
            let (names, more) = listed(motion, &lost);
            let kind = if lost.len() == 1 { one } else { many };
            let what = format!("{} has no {kind} {names}{more}", self.document.name());
            warning(&lost, what, "this motion is dropped")
        });
        let mut problems: Vec<Problem> = lost.collect();
        let (names, more) = listed(motion, &places);
        let kind = if places.len() == 1 { "the position of joint" } else { "the positions of joints" };
        let what =
            format!("moves {kind} {names}{more}, with a different rest position in {}", self.document.name());
        problems.extend(warning(&places, what, "these translations are dropped, rotations are kept"));
        Ok((clips, problems))
    }

    /// Returns the clip with its morph weights on the nodes of this document.
    fn with_morph_weights(
        &self,
        clip: RawClip,
        motion: &Self,
        lost: &mut BTreeSet<u32>,
    ) -> Result<RawClip, Error> {
        let mut tracks = clip.tracks().to_vec();
        tracks.retain_mut(|track| {
            let Target::Weights(node) = track.target else { return true };
            let own = motion.instances.iter().find(|instance| instance.node == node as usize);
            let partner = own.and_then(|own| {
                let fits = |it: &&crate::Instance| {
                    it.name == own.name && it.morph_weights.len() == own.morph_weights.len()
                };
                self.instances.iter().find(fits)
            });
            match partner {
                Some(instance) => track.target = Target::Weights(instance.node as u32),
                None => drop(lost.insert(node)),
            }
            partner.is_some()
        });
        // Two nodes with the same name would drive one mesh.
        let mut seen = BTreeSet::new();
        tracks.retain(|track| seen.insert(track.target));
        RawClip::new(clip.name().into(), clip.timelines().to_vec(), tracks)?.for_skeleton(&self.skeleton)
    }
}

/// Returns the names of the first nodes, followed by the number of the other nodes.
fn listed(motion: &Asset, nodes: &BTreeSet<u32>) -> (String, String) {
    let name = |node: &u32| {
        let name = motion.document.json["nodes"][*node as usize]["name"].as_str().unwrap_or_default();
        crate::problem::quoted(name)
    };
    let names: Vec<String> = nodes.iter().take(MOST_NAMES).map(name).collect();
    let more = match nodes.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (names.join(", "), more)
}

/// Returns a warning with the paths of the nodes in the motion; `None` if there are no nodes.
fn warning(nodes: &BTreeSet<u32>, what: String, action: &str) -> Option<Problem> {
    let places: Vec<String> = nodes.iter().take(100).map(|node| format!("/nodes/{node}")).collect();
    Some(Problem {
        severity: Severity::Warning,
        place: places.first()?.clone(),
        places,
        count: nodes.len(),
        what,
        action: action.into(),
    })
}

#[cfg(test)]
mod tests {
    use crate::value::json;
    use condyle::Target;

    use crate::asset::Asset;
    use crate::testing::{Builder, character};

    /// Returns clips for the knee, a tail, and the weights of a face.
    fn motion() -> Asset {
        let mut it = Builder::new(json!({
            "scenes": [{"nodes": [0, 3]}],
            "nodes": [
                {"name": "hip", "children": [1, 2]},
                {"name": "tail"},
                {"name": "knee"},
                {"name": "body", "mesh": 0},
            ],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 2}, "targets": [{"POSITION": 2}]}]}],
        }));
        let times = it.floats("SCALAR", &[0.0, 1.0]);
        let turns = it.floats("VEC4", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.6, 0.0, 0.8]);
        it.floats("VEC3", &[0.0; 9]);
        let weights = it.floats("SCALAR", &[0.0, 1.0]);
        let channel =
            |sampler, node, path| json!({"sampler": sampler, "target": {"node": node, "path": path}});
        it.json["animations"] = json!([{
            "name": "wag",
            "samplers": [{"input": times, "output": turns}, {"input": times, "output": weights}],
            "channels": [channel(0, 1, "rotation"), channel(0, 2, "rotation"), channel(1, 3, "weights")],
        }]);
        it.import().unwrap()
    }

    #[test]
    fn joints_and_morph_weights_are_found_by_name() {
        let motion = motion();
        let mut it = character();
        let of = |it: &Builder| {
            let asset = it.import().unwrap();
            let (mut clips, problems) = asset.clips_of(&motion).unwrap();
            let clip = clips.remove(0);
            assert_eq!((clip.name(), clip.fingerprint()), ("wag", Some(asset.skeleton.fingerprint())));
            let targets: Vec<Target> = clip.tracks().iter().map(|track| track.target).collect();
            (targets, problems.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let (targets, problems) = of(&it);
        assert_eq!(targets, [Target::Rotation(1)]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("test has no joint \"tail\""), "{problems:?}");
        assert!(
            problems[1].contains("no mesh with the same number of morph targets on a node \"body\""),
            "{problems:?}"
        );

        it.json["meshes"][0]["primitives"][0]["targets"] = json!([{"POSITION": 0}]);
        let (targets, problems) = of(&it);
        assert_eq!((targets, problems.len()), (vec![Target::Rotation(1), Target::Weights(0)], 1));
    }
}
