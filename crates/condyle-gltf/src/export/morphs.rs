//! A whole clip as the morph targets of a `.glb` without a skeleton.

use std::collections::HashMap;

use condyle::Vertices;
use condyle::mesh::VertexSlices;
use serde_json::{Value, json};

use super::bin::{ARRAY_BUFFER, Bin};
use super::still::{self, BakedPrimitive};
use super::{ExportError, Exporter, presentable};
use crate::asset::Asset;
use crate::problem::Problem;

/// One frame of a clip: what a [`MorphExporter`] makes a target of.
#[derive(Debug, Clone)]
pub struct MorphFrame<'a> {
    /// When it is shown: finite, not before 0, and after the frame before.
    pub seconds: f64,
    /// For each of [`Asset::instances`] whether it [is mirrored](crate::Instance::is_mirrored).
    pub mirrored: Vec<bool>,
    /// For each of [`Asset::instances`] the vertices of each of its primitives in world space, as
    /// [`Poser::posed`](crate::Poser::posed) has them. Tangents are left out.
    pub instances: Vec<Vec<VertexSlices<'a>>>,
}

/// Writes a clip as the morph targets of a `.glb` that any viewer plays: no skins, no joints.
///
/// The first frame is the mesh, each other one a target: the differences of its positions and normals from the first frame. An animation goes from each to the next along
/// straight lines. Everything that may move stands in world space; what has no mesh stays as the document has it.
/// Materials, textures and all else that has no part in the movement are as in the document, but for tangents, which readers find themselves.
/// All scenes of the document stay, and what moves in any of them is written.
///
/// - Where the matrix of a node mirrors, glTF turns the triangles of its mesh. The file has them turned, as its nodes mirror nothing. A node that
///   mirrors in some frames only is taken for what it is in most. Joints of a skin that mirror turn nothing in glTF, nor here.
/// - Primitives that the importer left out, and no reader can show, are not there: all primitives of a mesh must have the same number of targets.
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

/// Bytes of the weights, which are the square of the frames: 4,096 of them.
const MOST_WEIGHTS: usize = 64 << 20;

impl<'a> MorphExporter<'a> {
    /// Does once what all clips share.
    ///
    /// # Errors
    /// As [`Exporter::new`].
    pub fn new(asset: &'a Asset) -> Result<Self, ExportError> {
        Ok(Self(Exporter::of(asset, still::moves, still::moves)?))
    }

    /// What of the document could not be carried over.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        self.0.problems()
    }

    /// The clip as the bytes of a `.glb` file. One frame is a static model; none is the document without what moves.
    ///
    /// # Errors
    /// [`ExportError::Time`] if the moments of the frames do not rise, [`ExportError::Mismatch`] if a frame was made from another asset,
    /// [`ExportError::NotFinite`] where a vertex left the range of f32, [`ExportError::TooFar`] where its way from the first frame does,
    /// [`ExportError::TooLarge`] for more than 4,096 frames or 4 GiB.
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

    /// The first frame of a primitive, and what the others add to it.
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

    /// The vertices of a primitive in a frame, as many as it has; without tangents.
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

    /// Turns the triangles of a primitive where more frames mirror its node than do not.
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
        // Strips and fans are plain triangles now.
        json.as_object_mut().map(|json| json.shift_remove("mode"));
    }

    /// Removes primitives that the importer left out from the meshes that are written anew. Those that it read come by rising index.
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

    /// From each frame to the next, on every node whose mesh has targets.
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

/// What is added to the first frame. The error is the first vertex for which that is more than f32 holds.
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
