//! An asset: everything in one document that moves, in the library's types.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;

use condyle::{Affine, Error, JointMap, Pose, RawClip, Skeleton, Skin};
use condyle_solve::spring_bones::Springs;

use crate::accessor::Accessors;
use crate::attributes::{self, Faulty};
use crate::clips::{self, Targets};
use crate::constraints::Constraint;
use crate::document::Document;
use crate::json::Json;
use crate::meshes::{self, Primitive, Skinning};
use crate::problem::{Problem, Problems, REFUSED, Refused, Severity};
use crate::scene::{self, Scene};
use crate::{appearance, constraints, skeleton, skins, springs};

/// A document and everything in it that moves.
///
/// ```
/// use condyle_gltf::{Asset, example};
///
/// let asset = Asset::from_document(example::document())?;
/// assert_eq!(asset.skeleton.names(), ["shoulder", "elbow"]);
/// assert_eq!((asset.instances.len(), asset.clips.len()), (1, 1));
/// assert_eq!(asset.clip_by_name("bend").map(|bend| bend.duration()), Some(1.0));
/// assert!(asset.clip_by_name("walk").is_none() && asset.problems.is_empty());
/// # Ok::<(), condyle_gltf::Refused>(())
/// ```
#[derive(Clone)]
pub struct Asset {
    /// The document from which the other fields were read.
    pub document: Document,
    /// One skeleton for the whole document.
    ///
    /// Its joints are the joints of all skins, the nodes that animations, springs and constraints move, and
    /// the sources of constraints. Nodes with a mesh below one of these and all ancestors are joints too.
    pub skeleton: Skeleton,
    /// One clip for each animation, in the document's order. `Target::Weights` holds a node index of the
    /// document.
    pub clips: Vec<RawClip>,
    /// One skin for each skin of the document, in its order.
    pub skins: Vec<Skin>,
    /// One instance for each node with a mesh, by increasing node index.
    pub instances: Vec<Instance>,
    /// Spring bones in the document: those of VRM 1.0 (`VRMC_springBone`), or else those of VRM 0.x.
    ///
    /// Models of VRM 0.x face -Z; their springs use the document's axes, like all other data.
    pub springs: Option<Springs>,
    /// Recoverable problems, warnings first, then notes.
    pub problems: Vec<Problem>,
    /// The node constraints, dependencies first.
    pub(crate) constraints: Vec<Constraint>,
    /// Invalid attributes; the exporter drops them.
    pub(crate) faulty: Vec<Faulty>,
    /// Invalid meshes that no node shows, by increasing index; the exporter drops them.
    pub(crate) faulty_meshes: Vec<usize>,
}

/// A node with a mesh.
///
/// ```
/// use condyle_gltf::{Asset, example};
///
/// let asset = Asset::from_document(example::document())?;
/// for instance in asset.instances.iter().filter(|instance| instance.in_default_scene) {
///     let vertices: usize = instance.primitives.iter().map(|primitive| primitive.mesh.vertex_count()).sum();
///     assert_eq!((instance.name.as_str(), vertices), ("sleeve", 6));
/// }
/// # Ok::<(), condyle_gltf::Refused>(())
/// ```
#[derive(Debug, Clone)]
pub struct Instance {
    /// Node index.
    pub node: usize,
    /// Mesh index.
    pub mesh: usize,
    /// Node name, or `node 12` for an unnamed node.
    pub name: String,
    /// Whether the node is in the document's default scene.
    pub in_default_scene: bool,
    /// The skin, joint or matrix that places the mesh.
    pub placement: Placement,
    /// One weight for each morph target: the node's weights, else the mesh's, else zeros.
    pub morph_weights: Vec<f32>,
    /// The primitives of the mesh that have vertices.
    pub primitives: Vec<Primitive>,
}

impl Instance {
    /// Returns whether the triangles are clockwise as seen from outside, in world space.
    ///
    /// glTF reverses the winding order if the determinant of the node's world matrix is negative. `model`
    /// holds the model matrix of each joint, like [`Poser::model`](crate::Poser::model).
    ///
    /// Always `false` for a skinned mesh: glTF ignores the node's matrix there and does not define winding
    /// for mirrored joints.
    #[must_use]
    pub fn is_mirrored(&self, model: &[Affine]) -> bool {
        match self.placement {
            Placement::Skin(_) => false,
            Placement::Joint(joint) => model.get(usize::from(joint)).is_some_and(mirrors),
            Placement::Fixed(world) => mirrors(&world),
        }
    }
}

/// Returns whether the determinant is negative. In f64, a product of three f32 values neither overflows nor
/// vanishes.
fn mirrors(matrix: &Affine) -> bool {
    let [a, b, c] = matrix.rows.map(|row| row.map(f64::from));
    let minor = |i: usize, k: usize| b[i] * c[k] - b[k] * c[i];
    a[0] * minor(1, 2) + a[1] * minor(2, 0) + a[2] * minor(0, 1) < 0.0
}

/// The skin, joint or matrix that places an instance.
///
/// ```
/// use condyle_gltf::{Asset, Placement, example};
///
/// let asset = Asset::from_document(example::document())?;
/// let matrices = |placement: &Placement| match placement {
///     Placement::Skin(skin) => asset.skins[*skin].joints().len(),
///     Placement::Joint(_) | Placement::Fixed(_) => 1,
/// };
/// // The shoulder and the elbow deform the sleeve.
/// assert_eq!(asset.instances[0].placement, Placement::Skin(0));
/// assert_eq!(matrices(&asset.instances[0].placement), 2);
/// # Ok::<(), condyle_gltf::Refused>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Placement {
    /// A skin, as an index into [`Asset::skins`]. The node's own transform has no effect.
    Skin(usize),
    /// A joint that moves the whole mesh rigidly. Its palette is that joint's model matrix alone.
    Joint(u16),
    /// A fixed world matrix; no joint moves the instance.
    Fixed(Affine),
}

/// Prints the name and the sizes, not the content.
impl fmt::Debug for Asset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Asset");
        all.field("name", &self.document.name()).field("joints", &self.skeleton.joint_count());
        all.field("clips", &self.clips.len()).field("skins", &self.skins.len());
        all.field("springs", &self.springs)
            .field("instances", &self.instances.len())
            .field("problems", &self.problems.len());
        all.finish_non_exhaustive()
    }
}

impl Asset {
    /// Reads a `.glb`, `.gltf`, `.vrm` or `.vrma` file.
    ///
    /// # Errors
    /// [`Refused`] with all errors found in the document.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Refused> {
        Self::from_document(Document::gather(path.as_ref())?)
    }

    /// Returns the first clip with this name.
    #[must_use]
    pub fn clip_by_name(&self, name: &str) -> Option<&RawClip> {
        self.clips.iter().find(|clip| clip.name() == name)
    }

    /// Returns the instances of the default scene, each with its index into [`Asset::instances`].
    ///
    /// If the default scene shows no instance, all instances are returned.
    pub fn shown(&self) -> impl Iterator<Item = (usize, &Instance)> {
        let any = self.instances.iter().any(|it| it.in_default_scene);
        self.instances.iter().enumerate().filter(move |(_, it)| it.in_default_scene || !any)
    }

    /// Applies the node constraints of VRM 1.0 (`VRMC_node_constraint`) to a pose, for example to twist bones
    /// and sleeves.
    ///
    /// [`Poser`](crate::Poser) calls this. If you sample clips yourself, call it before
    /// [`local_to_model`](condyle::local_to_model). Without constraints the pose does not change.
    ///
    /// # Errors
    /// [`Error::Length`] if the joint count of `pose` differs from the skeleton's.
    pub fn constrain(&self, pose: &mut Pose) -> Result<(), Error> {
        let (found, needed) = (pose.joint_count(), self.skeleton.joint_count());
        if found != needed {
            return Err(Error::Length { what: "pose", found, needed });
        }
        self.constraints.iter().for_each(|it| it.apply(&self.skeleton, pose));
        Ok(())
    }

    /// Reads everything that moves from a document.
    ///
    /// # Errors
    /// [`Refused`] with all errors found in the document.
    pub fn from_document(mut document: Document) -> Result<Self, Refused> {
        let mut problems = std::mem::take(&mut document.problems);
        let parts = load(&document, &mut problems);
        match parts {
            Some((skeleton, clips, skins, (springs, constraints), (instances, faulty_meshes), faulty))
                if !problems.has_errors() =>
            {
                Ok(Self {
                    document,
                    skeleton,
                    clips,
                    skins,
                    springs,
                    constraints,
                    instances,
                    problems: problems.into_list(),
                    faulty,
                    faulty_meshes,
                })
            }
            _ => Err(problems.into_refused(document.name())),
        }
    }

    /// Makes more nodes of the document joints, for example bones that no skin and no animation uses. Nodes
    /// that do not exist are ignored.
    ///
    /// # Errors
    /// An [`Error`] if the skeleton would have more than [`Skeleton::MAX_JOINTS`] joints.
    ///
    /// ```
    /// use condyle_gltf::{Asset, Document};
    ///
    /// let json = br#"{"asset": {"version": "2.0"}, "nodes": [{"name": "tail"}]}"#;
    /// let asset = Asset::from_document(Document::from_slice("tail.gltf", json, None)?)?;
    /// assert_eq!(asset.skeleton.joint_count(), 0);
    /// assert_eq!(asset.with_joints(&[0])?.skeleton.joint_by_name("tail"), Some(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_joints(self, nodes: &[usize]) -> Result<Self, Error> {
        let silent = &mut Problems::unheard();
        let scene = Scene::load(&Json::root(&self.document.json), silent);
        let mut member = vec![false; scene.nodes.len()];
        let known = self.skeleton.nodes().iter().map(|&node| node as usize);
        for node in known.chain(nodes.iter().copied()) {
            if let Some(member) = member.get_mut(node) {
                *member = true;
            }
        }
        let count = member.iter().filter(|it| **it).count();
        let (skeleton, _) = skeleton::build(&scene, &[], &member, silent).ok_or(Error::TooMany {
            what: "joints",
            found: count,
            limit: Skeleton::MAX_JOINTS,
        })?;
        let map = JointMap::by_node(&self.skeleton, &skeleton);
        let clips = self.clips.iter().map(|clip| map.clip(clip)).collect::<Result<Vec<_>, _>>()?;
        let mut asset = self.on_skeleton(skeleton)?;
        asset.clips = clips;
        Ok(asset)
    }

    /// Moves the model to another skeleton of the same document, built when the document had other
    /// animations.
    ///
    /// A container stores that skeleton with a document without animations. The animations decide which nodes
    /// become joints, so reading the document alone gives a different skeleton. The asset's own clips are
    /// dropped.
    ///
    /// # Errors
    /// [`Error::Index`] if `skeleton` was made from another document. It then lacks a joint of this asset's
    /// skeleton, or has a joint whose node does not exist.
    pub fn on_skeleton(mut self, skeleton: Skeleton) -> Result<Self, Error> {
        let count = self.document.json["nodes"].as_array().map_or(0, Vec::len);
        let beyond = skeleton.nodes().iter().enumerate().find(|(_, node)| **node as usize >= count);
        if let Some((at, &found)) = beyond {
            return Err(Error::Index { what: "nodes of joints", at, found: found as usize, count });
        }
        let joints: HashMap<usize, u16> =
            skeleton.nodes().iter().enumerate().map(|(joint, &node)| (node as usize, joint as u16)).collect();
        let joint_of = |old: u16| {
            let found = self.skeleton.nodes()[usize::from(old)] as usize;
            let missing =
                Error::Index { what: "nodes of joints", at: old.into(), found, count: joints.len() };
            joints.get(&found).copied().ok_or(missing)
        };
        let skins = self.skins.iter().map(|skin| {
            let named: Result<Vec<u16>, Error> = skin.joints().iter().map(|&joint| joint_of(joint)).collect();
            Skin::new(named?, skin.inverse_bind().to_vec())?.for_skeleton(&skeleton)
        });
        let skins = skins.collect::<Result<Vec<_>, _>>()?;
        for instance in &mut self.instances {
            instance.placement = match (&instance.placement, joints.get(&instance.node)) {
                (Placement::Skin(skin), _) => Placement::Skin(*skin),
                (_, Some(&joint)) => Placement::Joint(joint),
                (Placement::Joint(joint), None) => Placement::Joint(joint_of(*joint)?),
                (fixed @ Placement::Fixed(_), None) => fixed.clone(),
            };
        }
        let mut joint_of_node = vec![None; count];
        for (node, joint) in joints {
            joint_of_node[node] = Some(joint);
        }
        // Loading has reported all problems already.
        let (root, silent) = (Json::root(&self.document.json), &mut Problems::unheard());
        let scene = Scene::load(&root, silent);
        let springs = springs::read(&root, &scene, silent).resolve(&scene, &joint_of_node, &skeleton, silent);
        let constraints = constraints::read(&root, &scene, silent).resolve(&joint_of_node);
        Ok(Self { skeleton, skins, springs, constraints, clips: Vec::new(), ..self })
    }
}

type Parts = (
    Skeleton,
    Vec<RawClip>,
    Vec<Skin>,
    (Option<Springs>, Vec<Constraint>),
    (Vec<Instance>, Vec<usize>),
    Vec<Faulty>,
);

/// Reads all parts. Continues after an error where possible, so that one run reports all errors.
fn load(document: &Document, problems: &mut Problems) -> Option<Parts> {
    let root = Json::root(&document.json);
    appearance::check(document, problems);
    let accessors = Accessors::load(document, problems);
    let scene = Scene::load(&root, problems);
    let node_skins = skins::load(&root, &scene, &accessors, problems);
    let found = springs::read(&root, &scene, problems);
    let constrained = constraints::read(&root, &scene, problems);
    let mut moved = clips::animated_nodes(&root, scene.nodes.len());
    skeleton::mark_bones(&document.json, &mut moved);
    found.mark(&mut moved);
    constrained.mark(&mut moved);
    let morph_targets = meshes::morph_target_counts(&root);
    let (skeleton, joint_of_node) = skeleton::build(&scene, &node_skins, &moved, problems)?;
    let springs = found.resolve(&scene, &joint_of_node, &skeleton, problems);
    let targets = Targets { scene: &scene, joint_of_node: &joint_of_node, morph_targets: &morph_targets };
    let clips = clips::load(&root, &targets, &accessors, &skeleton, problems);
    let joint_counts: Vec<usize> = node_skins.iter().map(|skin| skin.joint_count).collect();
    let skins: Option<Vec<Skin>> = node_skins
        .into_iter()
        .enumerate()
        .map(|(index, skin)| {
            let skin = skin.resolve(&format!("/skins/{index}"), &joint_of_node, problems)?;
            skin.for_skeleton(&skeleton).ok()
        })
        .collect();
    let instances = load_instances(&root, &targets, &joint_counts, &accessors, problems)?;
    let faulty = attributes::check(&root, &accessors, problems);
    let constraints = constrained.resolve(&joint_of_node);
    Some((skeleton, clips, skins?, (springs, constraints), instances, faulty))
}

/// Returns the instances, and the invalid meshes among those that no node shows.
fn load_instances(
    root: &Json<'_>,
    targets: &Targets<'_>,
    joint_counts: &[usize],
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) -> Option<(Vec<Instance>, Vec<usize>)> {
    let meshes = root.objects("meshes", problems);
    let nodes = root.list("nodes", &mut Problems::unheard());
    let materials = root.count("materials");
    let global = targets.scene.global();
    // Caches, so that each mesh is loaded once per kind of skinning, and each pair of mesh and skin is
    // checked once.
    let mut loaded: HashMap<(usize, bool), Vec<Primitive>> = HashMap::new();
    let mut mesh_weights: HashMap<usize, Vec<f32>> = HashMap::new();
    let mut checked: HashSet<(usize, usize)> = HashSet::new();
    // The joint count of the skins of each skinned mesh; `None` if its skins differ in joint count.
    let mut skinned_by: HashMap<usize, Option<usize>> = HashMap::new();
    for node in &targets.scene.nodes {
        let (Some(mesh), Some(skin)) = (node.mesh, node.skin) else { continue };
        let count = Some(joint_counts[skin]);
        let known = skinned_by.entry(mesh).or_insert(count);
        *known = known.filter(|_| *known == count);
    }
    let mut instances = Vec::new();
    for (node, it) in targets.scene.nodes.iter().enumerate() {
        let Some(mesh) = it.mesh else { continue };
        let json = &meshes[mesh];
        let entry = loaded.entry((mesh, it.skin.is_some()));
        let primitives = entry.or_insert_with(|| {
            let joint_count = it.skin.and_then(|_| skinned_by.get(&mesh).copied().flatten());
            let skinning = Skinning { skinned: it.skin.is_some(), joint_count };
            meshes::load(json, skinning, materials, accessors, problems)
        });
        let morph_target_count = targets.morph_targets[mesh];
        // Many nodes can share one mesh of many primitives.
        let size = primitives.len() * size_of::<Primitive>() + morph_target_count * size_of::<f32>();
        problems.afford(format!("/nodes/{node}/mesh"), size)?;
        if let Some(skin) = it.skin
            && checked.insert((mesh, skin))
        {
            check_joints(json, primitives, joint_counts[skin], skin, problems);
        }
        let morph_weights = match nodes[node].get("weights") {
            Some(_) => morph_weights(&nodes[node], morph_target_count, problems),
            None => mesh_weights
                .entry(mesh)
                .or_insert_with(|| morph_weights(json, morph_target_count, problems))
                .clone(),
        };
        instances.push(Instance {
            node,
            mesh,
            name: it.name.clone(),
            in_default_scene: targets.scene.in_default[node],
            placement: match (it.skin, targets.joint_of_node[node]) {
                (Some(skin), _) => Placement::Skin(skin),
                (None, Some(joint)) => Placement::Joint(joint),
                (None, None) => Placement::Fixed(scene::to_affine(&global[node])),
            },
            morph_weights,
            primitives: primitives.clone(),
        });
    }
    let used: HashSet<usize> = instances.iter().map(|instance| instance.mesh).collect();
    let faulty = faulty_meshes(&meshes, &used, materials, accessors, problems);
    Some((instances, faulty))
}

/// Reports the meshes that no node shows, and returns the invalid ones.
fn faulty_meshes(
    meshes: &[Json<'_>],
    used: &HashSet<usize>,
    materials: usize,
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) -> Vec<usize> {
    let mut faulty = Vec::new();
    for mesh in (0..meshes.len()).filter(|mesh| !used.contains(mesh)) {
        let json = &meshes[mesh];
        problems.note(&json.path, "no node uses this mesh", "kept in written files");
        let sound = problems.as_warnings("the mesh is omitted from written files", |problems| {
            let skinned = json.value.pointer("/primitives/0/attributes/JOINTS_0").is_some();
            let skinning = Skinning { skinned, joint_count: None };
            let primitives = meshes::load(json, skinning, materials, accessors, problems);
            !problems.has_errors() && primitives.len() == json.count("primitives")
        });
        if !sound {
            faulty.push(mesh);
        }
    }
    faulty
}

/// Reports influences with a joint index outside the skin. The import has already dropped zero weights.
fn check_joints(
    mesh: &Json<'_>,
    primitives: &[Primitive],
    joint_count: usize,
    skin: usize,
    problems: &mut Problems,
) {
    for primitive in primitives {
        let influences = primitive.mesh.influences();
        if influences.joint_bound() > joint_count {
            let greatest = influences.joint_bound() - 1;
            let count = influences.as_slices().1.iter().filter(|&&j| usize::from(j) >= joint_count).count();
            let path = format!("{}/primitives/{}/attributes/JOINTS_0", mesh.path, primitive.index);
            let what = format!("a vertex refers to joint {greatest}, but skin {skin} has only {joint_count}");
            problems.counted(Severity::Error, path, count, what, REFUSED);
        }
    }
}

/// Returns the morph weights of a node or mesh, or zeros without any.
fn morph_weights(owner: &Json<'_>, count: usize, problems: &mut Problems) -> Vec<f32> {
    let stated = owner.numbers("weights", problems).unwrap_or_default();
    let mut weights: Vec<f32> = stated.into_iter().map(|w| w as f32).collect();
    if owner.get("weights").is_some() && weights.len() != count {
        let what = format!("has {} weights, {count} expected, one per morph target", weights.len());
        problems.warning(
            owner.path.child("weights"),
            what,
            "missing weights are 0, extra weights are ignored",
        );
    }
    weights.resize(count, 0.0);
    weights
}
