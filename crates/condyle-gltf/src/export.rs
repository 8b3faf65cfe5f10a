//! Writes one moment of an asset as a static `.glb`, all of it with other clips, or a clip without its skeleton.
//!
//! The document's own JSON is rewritten, so whatever has no part in the movement (materials, textures, extras,
//! extensions) leaves as it came: `still` takes the movement out, `carry` packs the data that stays, and
//! [`Exporter::glb`] adds the posed vertices and transforms, [`ClipExporter::glb`] the animations, [`MorphExporter::glb`] frames as morph targets.

mod attach;
mod bin;
mod carry;
mod clips;
mod morphs;
mod numbers;
mod pools;
mod still;
mod streams;

use std::fmt;

use condyle::mesh::VertexSlices;
use condyle::{Pose, Transform, Vertices};
use serde_json::Value;

use self::bin::{ARRAY_BUFFER, Bin};
use self::still::{BakedPrimitive, MovingNode, Which};
use crate::asset::Asset;
use crate::problem::Problem;

pub use self::attach::JointMesh;
pub use self::clips::ClipExporter;
pub use self::morphs::{MorphExporter, MorphFrame};

/// One moment of an [`Asset`]: what [`Exporter::glb`] writes.
///
/// ```
/// use condyle::Pose;
/// use condyle_gltf::{Asset, Document, Exporter, PosedScene};
///
/// # let json = br#"{
/// #     "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
/// #     "nodes": [{"name": "tile", "mesh": 0}],
/// #     "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
/// #     "accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3,
/// #         "min": [0, 0, 0], "max": [1, 1, 0]}],
/// #     "bufferViews": [{"buffer": 0, "byteLength": 36}],
/// #     "buffers": [{"byteLength": 36, "uri":
/// #         "data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"}]
/// # }"#;
/// # let asset = Asset::from_document(Document::from_slice("tile.gltf", json, None)?)?;
/// // Of a program that poses by itself; `Poser::scene` makes one as well.
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
    /// For each of [`Asset::instances`], the vertices of each of its primitives: in world space where the instance
    /// is skinned, otherwise in the space of its own mesh with the morph targets applied. Where an instance
    /// has neither skin nor morph targets nothing is read, and its list may be empty.
    pub instances: Vec<Vec<VertexSlices<'a>>>,
}

/// Why a moment or a clip could not be written.
///
/// ```
/// use condyle::Pose;
/// use condyle_gltf::{Asset, Document, ExportError, Exporter, PosedScene};
///
/// # let json = br#"{
/// #     "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
/// #     "nodes": [{"name": "tile", "mesh": 0}],
/// #     "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
/// #     "accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3,
/// #         "min": [0, 0, 0], "max": [1, 1, 0]}],
/// #     "bufferViews": [{"buffer": 0, "byteLength": 36}],
/// #     "buffers": [{"byteLength": 36, "uri":
/// #         "data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"}]
/// # }"#;
/// # let asset = Asset::from_document(Document::from_slice("tile.gltf", json, None)?)?;
/// // The pose of another character.
/// let pose = Pose::identity(50);
/// let refused = Exporter::new(&asset)?.glb(&PosedScene { pose: &pose, instances: vec![] });
/// assert!(matches!(refused, Err(ExportError::Mismatch { found: 50, needed: 0, .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ExportError {
    /// The moment was not made from this asset: there are `found` of `what`, `needed` expected.
    Mismatch {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that the asset asks for.
        needed: usize,
    },
    /// A transform or a vertex left the range of f32.
    NotFinite {
        /// The document's node.
        node: usize,
        /// The primitive and the vertex; `None` for the transform of the node.
        vertex: Option<(usize, usize)>,
    },
    /// A frame of a clip is at a moment that is not finite, is before 0, or is not after that of the frame before.
    Time {
        /// The frame.
        frame: usize,
        /// Its moment.
        seconds: f64,
    },
    /// From the first frame of a clip to another one, a vertex moves farther than f32 holds.
    TooFar {
        /// The document's node.
        node: usize,
        /// The primitive and the vertex.
        vertex: (usize, usize),
        /// The other frame.
        frame: usize,
    },
    /// A clip was not made for this asset: it has `found` `what` for a node or a joint, not `count`.
    Clip {
        /// The clip.
        clip: usize,
        /// The document's node; of a joint that does not exist, its own number.
        node: usize,
        /// What is counted.
        what: &'static str,
        /// How many the clip asks for.
        found: usize,
        /// How many the asset has.
        count: usize,
    },
    /// `what` would take more than `limit` bytes.
    TooLarge {
        /// The file, or a part of it.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The greatest length.
        limit: usize,
    },
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
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
                write!(
                    f,
                    "frame {frame} is at {seconds} s: moments are finite, from 0 on, and each after the one before"
                )
            }
            Self::TooFar { node, vertex: (primitive, vertex), frame } => {
                write!(
                    f,
                    "/nodes/{node}: vertex {vertex} of primitive {primitive} is farther in frame {frame} from where it is in the \
                     first one than f32 holds"
                )
            }
            Self::Clip { clip, node, what, found, count } => {
                write!(
                    f,
                    "clip {clip} was not made for this asset: \
                     for node {node} it has {found} {what}, the asset {count}"
                )
            }
            Self::TooLarge { what, bytes, limit } => {
                write!(f, "{what} would take {bytes} bytes, at most {limit} allowed")
            }
        }
    }
}

impl std::error::Error for ExportError {}

/// An asset made ready to be written at any number of moments.
///
/// The result holds the same nodes, meshes, primitives, vertices in their order, indices, materials and textures as the
/// document under the same indices and names, but no skins, animations or morph targets:
///
/// - A node that carries a skinned mesh becomes a root without a transform, since its vertices are in
///   world space. What hung below it stays where it was, on a new node behind the document's own.
/// - A mesh that several nodes pose differently is written once for each; the copies come last.
/// - Attributes that no reader accepts are left out, and so are broken meshes that no node shows: only then do
///   the indices of others change.
/// - Everything lies in one binary chunk: buffers, images from files and data URIs, decompressed views.
/// - Normals and tangents have unit length. One that the pose makes zero keeps the direction it had when
///   the mesh was bound, or else points along +Y (normals) or +X (tangents).
///
/// ```
/// use condyle_gltf::{Asset, Document, Exporter, Poser, PoserOptions};
///
/// # let json = br#"{
/// #     "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
/// #     "nodes": [{"name": "tile", "mesh": 0}],
/// #     "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
/// #     "accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3,
/// #         "min": [0, 0, 0], "max": [1, 1, 0]}],
/// #     "bufferViews": [{"buffer": 0, "byteLength": 36}],
/// #     "buffers": [{"byteLength": 36, "uri":
/// #         "data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"}]
/// # }"#;
/// # let asset = Asset::from_document(Document::from_slice("tile.gltf", json, None)?)?;
/// let exporter = Exporter::new(&asset)?;
/// let mut poser = Poser::new(&asset, PoserOptions::default())?;
/// poser.rest()?;
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
    /// Does once what all moments share.
    ///
    /// # Errors
    /// [`ExportError::TooLarge`] if so many nodes show one mesh, or so many scenes one root, that the JSON grows
    /// by more than 32 MiB.
    pub fn new(asset: &'a Asset) -> Result<Self, ExportError> {
        Self::of(asset, still::is_skinned, still::is_baked)
    }

    /// Where the vertices of `released` instances are written in world space, those of `baked` ones at all.
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

    /// What of the document could not be carried over.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// One moment as the bytes of a `.glb` file.
    ///
    /// # Errors
    /// [`ExportError::Mismatch`] if the moment was made from another asset, [`ExportError::NotFinite`] where
    /// a pose left the range of f32, [`ExportError::TooLarge`] above 4 GiB.
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

/// Says who wrote the document.
fn set_generator(json: &mut Value) {
    if let Some(about) = json.get_mut("asset").and_then(Value::as_object_mut) {
        about.insert("generator".into(), concat!("Condyle ", env!("CARGO_PKG_VERSION")).into());
    }
}

/// Writes a local transform into a node; `None` if it is not finite.
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

/// Posed vertices that a reader accepts: unit normals and tangents. The error is the first vertex that is not finite.
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

/// The vector at unit length; `None` for one without a direction. What is unit already keeps its bits.
fn unit(v: [f32; 3]) -> Option<[f32; 3]> {
    let wide = v.map(f64::from);
    let length = wide.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (length - 1.0).abs() < 1e-5 {
        return Some(v);
    }
    (length > 1e-30).then(|| wide.map(|x| (x / length) as f32))
}
