//! Writes a document as `.glb`: one pose, other clips, or a clip as morph targets.
//!
//! The writers edit the document's JSON. Parts that do not move (materials, textures, extras, extensions) are
//! written unchanged. `still` removes the movement, and `carry` packs the remaining data. Then
//! [`Exporter::glb`] adds the posed vertices and transforms, [`ClipExporter::glb`] the animations, and
//! [`MorphExporter::glb`] the frames as morph targets.

mod attach;
mod bin;
mod carry;
mod clips;
mod geometry;
mod morphs;
mod numbers;
mod pools;
mod still;
mod streams;

use std::fmt;

use condyle::mesh::VertexSlices;
use condyle::{Error, Pose, Transform, Vertices};

use self::bin::{ARRAY_BUFFER, Bin};
use self::still::{BakedPrimitive, MovingNode, Which};
use crate::asset::Asset;
use crate::problem::Problem;
use crate::value::Value;

pub use self::attach::JointMesh;
pub use self::clips::ClipExporter;
pub use self::geometry::{
    MeshCompression, PackedMesh, PackedMeshes, UnpackedPrimitive, pack_meshes, pack_meshes_work,
};
pub use self::morphs::{MorphExporter, MorphFrame};

/// One pose of an [`Asset`], for [`Exporter::glb`].
///
/// ```
/// use condyle::Pose;
/// use condyle_gltf::{Asset, Exporter, PosedScene, example};
///
/// let asset = Asset::from_document(example::document())?;
/// // The pose of a program with its own animation code; `Poser::scene` makes such a scene too.
/// let pose = Pose::rest(&asset.skeleton);
/// let vertices = asset.instances.iter().map(|instance| {
///     instance.primitives.iter().map(|primitive| primitive.mesh.vertices().as_slices()).collect()
/// });
/// let scene = PosedScene { pose: &pose, instances: vertices.collect() };
/// assert!(Exporter::new(&asset)?.glb(&scene)?.starts_with(b"glTF"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PosedScene<'a> {
    /// The local transform of each joint of [`Asset::skeleton`].
    pub pose: &'a Pose,
    /// Vertices of each primitive, for each of [`Asset::instances`].
    ///
    /// They are in world space if the instance is skinned. Otherwise they are in mesh space, with the morph
    /// targets applied. If an instance has neither a skin nor morph targets, its list is not read and can be
    /// empty.
    pub instances: Vec<Vec<VertexSlices<'a>>>,
}

/// Error of an export.
///
/// ```
/// use condyle::Pose;
/// use condyle_gltf::{Asset, ExportError, Exporter, PosedScene, example};
///
/// let asset = Asset::from_document(example::document())?;
/// // The pose of another character. The asset has two joints.
/// let pose = Pose::identity(50);
/// let refused = Exporter::new(&asset)?.glb(&PosedScene { pose: &pose, instances: vec![] });
/// assert!(matches!(refused, Err(ExportError::Mismatch { found: 50, needed: 2, .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ExportError {
    /// The scene or the clip was not made from this asset: `what` has `found` elements, `needed` are
    /// expected.
    Mismatch {
        /// Name of the list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that the asset requires.
        needed: usize,
    },
    /// A transform or a vertex is outside the range of f32.
    NotFinite {
        /// Node index in the document.
        node: usize,
        /// The primitive and the vertex; `None` for the transform of the node.
        vertex: Option<(usize, usize)>,
    },
    /// The time of a frame is not finite, is negative, or is not after the time of the previous frame.
    Time {
        /// Frame index.
        frame: usize,
        /// Time of the frame, in seconds.
        seconds: f64,
    },
    /// A vertex moves farther from the first frame of a clip to another frame than f32 can hold.
    TooFar {
        /// Node index in the document.
        node: usize,
        /// The primitive and the vertex.
        vertex: (usize, usize),
        /// Index of the other frame.
        frame: usize,
    },
    /// A clip was not made for this asset. At a node or joint, it requires `found` of `what`, but the asset
    /// has `count`.
    Clip {
        /// Clip index.
        clip: usize,
        /// Node index in the document; for a joint that does not exist, the joint index.
        node: usize,
        /// The kind of item that is counted.
        what: &'static str,
        /// Number that the clip requires.
        found: usize,
        /// Number that the asset has.
        count: usize,
    },
    /// A pose of a clip cannot be computed, for example because it is outside the range of f32.
    Pose(Error),
    /// The error for meshes is not a positive, finite length.
    Budget {
        /// The argument.
        found: f32,
    },
    /// A pose of all nodes that show a mesh is too expensive to measure.
    TooMuchWork {
        /// Products of a matrix and a point that the pose requires.
        work: usize,
        /// The maximum.
        limit: usize,
    },
    /// The written file cannot be read again.
    Unreadable {
        /// The reason.
        what: String,
    },
    /// `what` would take more than `limit` bytes.
    TooLarge {
        /// The file, or a part of it.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The maximum length.
        limit: usize,
    },
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Pose(ref error) => write!(f, "a pose cannot be computed: {error}"),
            Self::Budget { found } => {
                write!(f, "the error for meshes is {found}, expected a positive, finite length")
            }
            Self::TooMuchWork { work, limit } => {
                write!(
                    f,
                    "posing the vertices of all nodes once takes {work} products of a matrix and a point, \
                     at most {limit} allowed: too many nodes show large meshes"
                )
            }
            Self::Unreadable { ref what } => write!(f, "the written file cannot be read: {what}"),
            Self::Mismatch { what, found, needed } => {
                write!(f, "{what}: {found} found, {needed} expected; was the scene posed from this asset?")
            }
            Self::NotFinite { node, vertex: None } => {
                write!(
                    f,
                    "/nodes/{node}: its posed transform is not finite: look at the keys and scales there"
                )
            }
            Self::NotFinite { node, vertex: Some((primitive, vertex)) } => {
                write!(
                    f,
                    "/nodes/{node}: vertex {vertex} of primitive {primitive} is posed beyond the range of f32"
                )
            }
            Self::Time { frame, seconds } => {
                write!(f, "frame {frame} is at {seconds} s: times must be finite, at least 0, and ascending")
            }
            Self::TooFar { node, vertex: (primitive, vertex), frame } => {
                write!(
                    f,
                    "/nodes/{node}: in frame {frame}, vertex {vertex} of primitive {primitive} is too far from its position in the \
                     first frame for f32"
                )
            }
            Self::Clip { clip, node, what, found, count } => {
                write!(
                    f,
                    "clip {clip} was not made for this asset: \
                     for node {node} it has {found} {what}, the asset has {count}"
                )
            }
            Self::TooLarge { what, bytes, limit } => {
                write!(f, "{what} would take {bytes} bytes, at most {limit} allowed")
            }
        }
    }
}

impl std::error::Error for ExportError {}

impl From<Error> for ExportError {
    fn from(error: Error) -> Self {
        Self::Pose(error)
    }
}

/// Writes an asset in any number of poses, each as a static `.glb`.
///
/// The file has the document's nodes, meshes, primitives, indices, materials and textures, under the same
/// indices and names, and the vertices in the same order. Skins, animations and morph targets are removed.
/// The exceptions:
///
/// - A node with a skinned mesh becomes a root without a transform, because its vertices are in world space.
///   A new node, appended after the document's nodes, takes over its transform, children, camera and light.
/// - A mesh that several nodes pose differently is written once for each of them; the copies are appended to
///   the meshes.
/// - Invalid attributes are dropped, and so are invalid meshes that no node shows. Dropped meshes are the
///   only reason for other indices to change.
/// - All data is in one binary chunk: buffers, images from files and data URIs, decompressed views.
/// - Normals and tangents have unit length. If the pose makes one zero, it keeps its direction in the bind
///   pose. If that is zero too, it points along +Y (normals) or +X (tangents).
///
/// ```
/// use condyle_gltf::{Asset, Document, Exporter, Poser, PoserOptions, example};
///
/// let asset = Asset::from_document(example::document())?;
/// let exporter = Exporter::new(&asset)?;
/// let mut poser = Poser::new(&asset, PoserOptions::default())?;
/// poser.pose(asset.clips.first(), 0.5)?;
/// let glb = exporter.glb(&poser.scene())?;
/// assert!(Document::from_slice("posed.glb", &glb, None)?.problems().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Exporter<'a> {
    asset: &'a Asset,
    json: Value,
    accessors: Vec<Value>,
    bin: Bin,
    moving: Vec<MovingNode>,
    baked: Vec<BakedPrimitive>,
    problems: Vec<Problem>,
}

impl<'a> Exporter<'a> {
    /// Prepares the parts of the file that all poses share.
    ///
    /// # Errors
    /// [`ExportError::TooLarge`] if many nodes share one mesh, or many scenes one root, so that the JSON
    /// grows by more than 32 MiB.
    pub fn new(asset: &'a Asset) -> Result<Self, ExportError> {
        Self::of(asset, still::is_skinned, still::is_baked)
    }

    /// Prepares an exporter. Vertices of `baked` instances are written; those of `released` instances are
    /// written in world space.
    fn of(asset: &'a Asset, released: Which, baked: Which) -> Result<Self, ExportError> {
        let mut json = asset.document.json.clone();
        still::remove_movement(&mut json);
        still::remove_attributes(&mut json, &asset.faulty);
        let moving = still::release_nodes(&mut json, asset, released)?;
        let mut baked = still::give_each_posed_node_its_mesh(&mut json, asset, baked)?;
        still::remove_meshes(&mut json, &asset.faulty_meshes, &mut baked);
        let carried = carry::carry(&mut json, &asset.document, carry::Form::Decoded);
        set_generator(&mut json);
        Ok(Self {
            asset,
            json,
            accessors: carried.accessors,
            bin: carried.bin,
            moving,
            baked,
            problems: carried.problems,
        })
    }

    /// Returns the problems found while copying the document, for example data that could not be copied.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns a pose as the bytes of a `.glb` file.
    ///
    /// # Errors
    /// [`ExportError::Mismatch`] if the scene was made from another asset, [`ExportError::NotFinite`] if a
    /// pose is outside the range of f32, [`ExportError::TooLarge`] above 4 GiB.
    pub fn glb(&self, posed: &PosedScene<'_>) -> Result<Vec<u8>, ExportError> {
        let check = |what, found, needed| {
            if found == needed { Ok(()) } else { Err(ExportError::Mismatch { what, found, needed }) }
        };
        let skeleton = &self.asset.skeleton;
        check("pose", posed.pose.joint_count(), skeleton.joint_count())?;
        check("instances", posed.instances.len(), self.asset.instances.len())?;

        let mut json = self.json.clone();
        let mut accessors = self.accessors.clone();
        let mut bin = self.bin.clone();
        for &MovingNode { joint, node } in &self.moving {
            let now = posed.pose.get(joint);
            if now != skeleton.rest().get(joint) {
                set_transform(&mut json["nodes"][node], &now)
                    .ok_or(ExportError::NotFinite { node, vertex: None })?;
            }
        }
        for &BakedPrimitive { instance, primitive, mesh } in &self.baked {
            let source = &self.asset.instances[instance];
            check("primitives", posed.instances[instance].len(), source.primitives.len())?;
            let bind = source.primitives[primitive].mesh.vertices();
            let now = posed.instances[instance][primitive];
            check("positions", now.positions.len(), bind.positions.len())?;
            check("normals", now.normals.len(), bind.normals.len())?;
            check("tangents", now.tangents.len(), bind.tangents.len())?;
            let index = source.primitives[primitive].index;
            let vertices = presentable(now, bind)
                .map_err(|v| ExportError::NotFinite { node: source.node, vertex: Some((index, v)) })?;
            let attributes = &mut json["meshes"][mesh]["primitives"][index]["attributes"];
            let vertex = Some(ARRAY_BUFFER);
            attributes["POSITION"] =
                bin.add_accessor(&mut accessors, &vertices.positions, vertex, true).into();
            if !vertices.normals.is_empty() {
                attributes["NORMAL"] =
                    bin.add_accessor(&mut accessors, &vertices.normals, vertex, false).into();
            }
            if !vertices.tangents.is_empty() {
                attributes["TANGENT"] =
                    bin.add_accessor(&mut accessors, &vertices.tangents, vertex, false).into();
            }
        }
        if !accessors.is_empty() {
            json["accessors"] = accessors.into();
        }
        bin.into_glb(json)
    }
}

/// Writes this library and its version as the document's generator.
fn set_generator(json: &mut Value) {
    if let Some(about) = json.get_mut("asset").and_then(Value::as_object_mut) {
        about.insert("generator".into(), concat!("Condyle ", env!("CARGO_PKG_VERSION")).into());
    }
}

/// Writes a local transform into a node. Returns `None` if it is not finite.
fn set_transform(node: &mut Value, t: &Transform) -> Option<()> {
    let node = node.as_object_mut()?;
    let mut set = |key: &str, now: &[f32], default: &[f32]| {
        node.remove(key);
        if now != default {
            node.insert(key.into(), now.into());
        }
        now.iter().all(|v| v.is_finite()).then_some(())
    };
    set("translation", &t.translation, &[0.0; 3])?;
    set("rotation", &t.rotation, &[0.0, 0.0, 0.0, 1.0])?;
    set("scale", &t.scale, &[1.0; 3])?;
    node.remove("matrix");
    Some(())
}

/// Returns posed vertices that readers accept, with unit normals and tangents. The error is the index of the
/// first vertex that is not finite.
fn presentable(now: VertexSlices<'_>, bind: &Vertices) -> Result<Vertices, usize> {
    fn finite<const N: usize>(vectors: &[[f32; N]]) -> Result<(), usize> {
        vectors.iter().position(|v| !v.iter().all(|x| x.is_finite())).map_or(Ok(()), Err)
    }
    finite(now.positions)?;
    finite(now.normals)?;
    finite(now.tangents)?;
    let normals = now.normals.iter().zip(&bind.normals);
    let tangents = now.tangents.iter().zip(&bind.tangents);
    Ok(Vertices {
        positions: now.positions.to_vec(),
        normals: normals
            .map(|(&n, &bind)| unit(n).or_else(|| unit(bind)).unwrap_or([0.0, 1.0, 0.0]))
            .collect(),
        tangents: tangents
            .map(|(&[x, y, z, w], &[bx, by, bz, _])| {
                let [x, y, z] = unit([x, y, z]).or_else(|| unit([bx, by, bz])).unwrap_or([1.0, 0.0, 0.0]);
                [x, y, z, if w < 0.0 { -1.0 } else { 1.0 }]
            })
            .collect(),
    })
}

/// Returns the vector at unit length; `None` for a zero-length vector. A vector that is already unit length
/// keeps its bits.
fn unit(v: [f32; 3]) -> Option<[f32; 3]> {
    let wide = v.map(f64::from);
    let length = wide.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (length - 1.0).abs() < 1e-5 {
        return Some(v);
    }
    (length > 1e-30).then(|| wide.map(|x| (x / length) as f32))
}
