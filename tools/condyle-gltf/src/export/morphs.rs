//! Writes a whole clip as the morph targets of a `.glb` without a skeleton.

use std::collections::HashMap;

use condyle::Vertices;
use condyle::mesh::VertexSlices;

use super::bin::{ARRAY_BUFFER, Bin};
use super::still::{self, BakedPrimitive};
use super::{ExportError, Exporter, presentable};
use crate::asset::Asset;
use crate::problem::Problem;
use crate::value::{Value, json};

/// One frame of a clip, for [`MorphExporter::glb`].
#[derive(Debug, Clone)]
pub struct MorphFrame<'a> {
    /// Time of the frame in seconds: finite, not negative, and after the previous frame.
    pub seconds: f64,
    /// Whether each of [`Asset::instances`] [is mirrored](crate::Instance::is_mirrored).
    pub mirrored: Vec<bool>,
    /// Vertices of each primitive of each of [`Asset::instances`] in world space, like
    /// [`Poser::posed`](crate::Poser::posed). Tangents are ignored.
    pub instances: Vec<Vec<VertexSlices<'a>>>,
}

/// Writes a clip as morph targets in a `.glb` without skins and joints, which any viewer can play.
///
/// The first frame is the mesh. Each further frame is a morph target: the differences of its positions and
/// normals from the first frame. An animation blends linearly from each frame to the next. Meshes that can
/// move are in world space; nodes without a mesh are written unchanged.
///
/// Materials, textures and other data unrelated to movement are written unchanged. Tangents are dropped;
/// readers compute them. All scenes of the document stay, and everything that moves in any of them is
/// written.
///
/// - If the matrix of a node mirrors, glTF reverses the winding of its mesh. The nodes of this file do not
///   mirror, so the file has reversed triangles instead. If a node mirrors in some frames only, the majority
///   decides. Mirrored joints of a skin do not reverse the winding, neither in glTF nor here.
/// - Primitives that the importer left out are dropped, because all primitives of a mesh must have the same
///   number of targets.
///
/// ```no_run
/// use condyle_gltf::{Asset, MorphExporter, MorphFrame, Poser, PoserOptions};
///
/// let asset = Asset::open("fox.glb")?;
/// let mut poser = Poser::new(&asset, PoserOptions::default())?;
/// let mut posed = vec![];
/// for frame in 0..=10 {
///     poser.pose(asset.clips.first(), f64::from(frame) / 10.0)?;
///     let instances = (0..asset.instances.len()).map(|it| poser.posed(it).to_vec());
///     let mirrored = asset.instances.iter().map(|it| it.is_mirrored(poser.model()));
///     posed.push((mirrored.collect::<Vec<_>>(), instances.collect::<Vec<_>>()));
/// }
/// let frames = posed.iter().enumerate().map(|(frame, (mirrored, instances))| MorphFrame {
///     seconds: frame as f64 / 10.0,
///     mirrored: mirrored.clone(),
///     instances: instances.iter().map(|it| it.iter().map(|it| it.as_slices()).collect()).collect(),
/// });
/// let frames: Vec<_> = frames.collect();
/// std::fs::write("baked.glb", MorphExporter::new(&asset)?.glb("Run", &frames)?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MorphExporter<'a>(Exporter<'a>);

/// Maximum size of the weights in bytes. It grows with the square of the frame count and allows 4,096 frames.
const MOST_WEIGHTS: usize = 64 << 20;

impl<'a> MorphExporter<'a> {
    /// Prepares the parts of the file that all clips share.
    ///
    /// # Errors
    /// The same as for [`Exporter::new`].
    pub fn new(asset: &'a Asset) -> Result<Self, ExportError> {
        Ok(Self(Exporter::of(asset, still::moves, still::moves)?))
    }

    /// Returns the problems found while copying the document, for example data that could not be copied.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        self.0.problems()
    }

    /// Returns the clip as the bytes of a `.glb` file.
    ///
    /// A single frame gives a static model. Without frames, the file has the document without the meshes that
    /// move.
    ///
    /// # Errors
    /// - [`ExportError::Time`] if the times of the frames do not increase.
    /// - [`ExportError::Mismatch`] if a frame was made from another asset.
    /// - [`ExportError::NotFinite`] if a vertex is outside the range of f32.
    /// - [`ExportError::TooFar`] if its difference from the first frame is outside that range.
    /// - [`ExportError::TooLarge`] for more than 4,096 frames or 4 GiB.
    pub fn glb(&self, name: &str, frames: &[MorphFrame<'_>]) -> Result<Vec<u8>, ExportError> {
        let targets = frames.len().saturating_sub(1);
        let weights = frames.len().saturating_mul(targets).saturating_mul(size_of::<f32>());
        if weights > MOST_WEIGHTS {
            let what = "the weights of the morph targets";
            return Err(ExportError::TooLarge { what, bytes: weights, limit: MOST_WEIGHTS });
        }
        check_times(frames)?;
        for frame in frames {
            check("mirrored instances", frame.mirrored.len(), self.0.asset.instances.len())?;
        }
        let mut out = Output {
            json: self.0.json.clone(),
            accessors: self.0.accessors.clone(),
            bin: self.0.bin.clone(),
        };
        for &part in &self.0.baked {
            self.add_primitive(part, frames, &mut out)?;
            self.turn(part, frames, &mut out);
        }
        self.remove_unread(&mut out.json);
        if targets > 0 && !self.0.baked.is_empty() {
            self.add_animation(name, frames, &mut out);
        }
        if !out.accessors.is_empty() {
            out.json["accessors"] = out.accessors.into();
        }
        out.bin.into_glb(out.json)
    }

    /// Writes the first frame of a primitive, and the differences of the other frames.
    fn add_primitive(
        &self,
        part: BakedPrimitive,
        frames: &[MorphFrame<'_>],
        out: &mut Output,
    ) -> Result<(), ExportError> {
        let source = &self.0.asset.instances[part.instance];
        let primitive = &source.primitives[part.primitive];
        let mut first: Option<Vertices> = None;
        let mut targets = Vec::new();
        for (at, frame) in frames.iter().enumerate() {
            let now = self.vertices(part, frame)?;
            let now = presentable(now, primitive.mesh.vertices()).map_err(|vertex| {
                ExportError::NotFinite { node: source.node, vertex: Some((primitive.index, vertex)) }
            })?;
            match &first {
                None => {
                    let attributes =
                        &mut out.json["meshes"][part.mesh]["primitives"][primitive.index]["attributes"];
                    let mut add = |name: &str, vectors: &[[f32; 3]], bounds| {
                        if !vectors.is_empty() {
                            let accessors = &mut out.accessors;
                            attributes[name] =
                                out.bin.add_accessor(accessors, vectors, Some(ARRAY_BUFFER), bounds).into();
                        }
                    };
                    add("POSITION", &now.positions, true);
                    add("NORMAL", &now.normals, false);
                    first = Some(now);
                }
                Some(first) => targets.push(target(first, &now, out).map_err(|vertex| {
                    ExportError::TooFar { node: source.node, vertex: (primitive.index, vertex), frame: at }
                })?),
            }
        }
        if !targets.is_empty() {
            out.json["meshes"][part.mesh]["primitives"][primitive.index]["targets"] = targets.into();
        }
        Ok(())
    }

    /// Returns the vertices of a primitive in a frame, without tangents, after checking their number.
    fn vertices<'f>(
        &self,
        part: BakedPrimitive,
        frame: &MorphFrame<'f>,
    ) -> Result<VertexSlices<'f>, ExportError> {
        let instances = &self.0.asset.instances;
        let (all, own) = (&frame.instances, &instances[part.instance].primitives);
        check("instances", all.len(), instances.len())?;
        check("primitives", all[part.instance].len(), own.len())?;
        let (now, bind) = (all[part.instance][part.primitive], own[part.primitive].mesh.vertices());
        check("positions", now.positions.len(), bind.positions.len())?;
        check("normals", now.normals.len(), bind.normals.len())?;
        Ok(VertexSlices { tangents: &[], ..now })
    }

    /// Reverses the triangles of a primitive if its node mirrors in more than half of the frames.
    fn turn(&self, part: BakedPrimitive, frames: &[MorphFrame<'_>], out: &mut Output) {
        let primitive = &self.0.asset.instances[part.instance].primitives[part.primitive];
        let mirrored = frames.iter().filter(|frame| frame.mirrored[part.instance]).count();
        if !primitive.drawable || 2 * mirrored <= frames.len() {
            return;
        }
        let turned: Vec<[u32; 3]> = primitive.triangles().map(|[a, b, c]| [a, c, b]).collect();
        let indices = out.bin.add_triangles(&mut out.accessors, &turned);
        let json = &mut out.json["meshes"][part.mesh]["primitives"][primitive.index];
        json["indices"] = indices.into();
        // The triangles are a plain list now, no longer a strip or fan.
        json.as_object_mut().map(|json| json.shift_remove("mode"));
    }

    /// Removes the primitives that the importer left out. `baked` lists the other primitives of each mesh by
    /// increasing index.
    fn remove_unread(&self, json: &mut Value) {
        let mut read: HashMap<usize, Vec<usize>> = HashMap::new();
        for part in &self.0.baked {
            let primitive = &self.0.asset.instances[part.instance].primitives[part.primitive];
            read.entry(part.mesh).or_default().push(primitive.index);
        }
        for (mesh, read) in read {
            if let Some(primitives) = json["meshes"][mesh]["primitives"].as_array_mut() {
                let mut index = 0..;
                primitives.retain(|_| index.next().is_some_and(|index| read.binary_search(&index).is_ok()));
            }
        }
    }

    /// Adds an animation from each frame to the next, for every node whose mesh has targets.
    fn add_animation(&self, name: &str, frames: &[MorphFrame<'_>], out: &mut Output) {
        let times: Vec<[f32; 1]> = frames.iter().map(|frame| [frame.seconds as f32]).collect();
        let weights: Vec<[f32; 1]> = (0..frames.len())
            .flat_map(|frame| (1..frames.len()).map(move |target| [if target == frame { 1.0 } else { 0.0 }]))
            .collect();
        let input = out.bin.add_accessor(&mut out.accessors, &times, None, true);
        let output = out.bin.add_accessor(&mut out.accessors, &weights, None, false);
        let mut nodes: Vec<usize> =
            self.0.baked.iter().map(|part| self.0.asset.instances[part.instance].node).collect();
        nodes.dedup();
        let channel = |node: usize| json!({ "sampler": 0, "target": { "node": node, "path": "weights" } });
        let mut animation = json!({
            "samplers": [{ "input": input, "output": output }],
            "channels": nodes.into_iter().map(channel).collect::<Vec<_>>(),
        });
        if !name.is_empty() {
            animation["name"] = name.into();
        }
        out.json["animations"] = json!([animation]);
    }
}

/// A document under construction.
struct Output {
    json: Value,
    accessors: Vec<Value>,
    bin: Bin,
}

fn check(what: &'static str, found: usize, needed: usize) -> Result<(), ExportError> {
    if found == needed { Ok(()) } else { Err(ExportError::Mismatch { what, found, needed }) }
}

fn check_times(frames: &[MorphFrame<'_>]) -> Result<(), ExportError> {
    let mut least = 0.0;
    for (frame, &MorphFrame { seconds, .. }) in frames.iter().enumerate() {
        if !seconds.is_finite() || seconds < least {
            return Err(ExportError::Time { frame, seconds });
        }
        least = seconds.next_up();
    }
    Ok(())
}

/// Adds the differences of a frame from the first frame. The error is the first vertex whose difference is
/// outside the range of f32.
fn target(first: &Vertices, now: &Vertices, out: &mut Output) -> Result<Value, usize> {
    let difference = |from: &[[f32; 3]], to: &[[f32; 3]]| -> Result<Vec<[f32; 3]>, usize> {
        let add = |(vertex, (from, to)): (usize, (&[f32; 3], &[f32; 3]))| {
            let way: [f32; 3] = std::array::from_fn(|axis| to[axis] - from[axis]);
            if way.iter().all(|x| x.is_finite()) { Ok(way) } else { Err(vertex) }
        };
        from.iter().zip(to).enumerate().map(add).collect()
    };
    let positions = difference(&first.positions, &now.positions)?;
    let mut target = json!({
        "POSITION": out.bin.add_accessor(&mut out.accessors, &positions, Some(ARRAY_BUFFER), true),
    });
    if !now.normals.is_empty() {
        let normals = difference(&first.normals, &now.normals)?;
        target["NORMAL"] =
            out.bin.add_accessor(&mut out.accessors, &normals, Some(ARRAY_BUFFER), false).into();
    }
    Ok(target)
}
