//! A whole clip as the morph targets of a `.glb` without a skeleton.

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
    /// When it is shown.
    pub seconds: f32,
    /// For each of [`Asset::instances`] the vertices of each of its primitives in world space, as
    /// [`Poser::posed`](crate::Poser::posed) has them. Tangents are left out.
    pub instances: Vec<Vec<VertexSlices<'a>>>,
}

/// Writes a clip as the morph targets of a `.glb` that any viewer plays: no skins, no joints.
///
/// The first frame is the mesh, each other one a target: the differences of its positions and normals from the first frame. An animation goes from each to the next along
/// straight lines. Everything that may move stands in world space; what has no mesh stays as the document has it.
/// Materials, textures and all else that has no part in the movement are as in the document, but for tangents, which readers find themselves.
///
/// ```no_run
/// use condyle_gltf::{Asset, MorphExporter, MorphFrame, Poser, PoserOptions};
///
/// let asset = Asset::open("fox.glb")?;
/// let mut poser = Poser::new(&asset, PoserOptions::default())?;
/// let mut posed = vec![];
/// for frame in 0..=10 {
///     poser.pose(asset.clips.first(), frame as f32 / 10.0)?;
///     posed.push((0..asset.instances.len()).map(|it| poser.posed(it).to_vec()).collect::<Vec<_>>());
/// }
/// let frames = posed.iter().enumerate().map(|(frame, instances)| MorphFrame {
///     seconds: frame as f32 / 10.0,
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

    /// The clip as the bytes of a `.glb` file, its frames at rising times. One frame is a static model; none is the document without what moves.
    ///
    /// # Errors
    /// [`ExportError::Mismatch`] if a frame was made from another asset, [`ExportError::NotFinite`] where a vertex left the range of f32,
    /// [`ExportError::TooLarge`] for more than 4,096 frames or 4 GiB.
    pub fn glb(&self, name: &str, frames: &[MorphFrame<'_>]) -> Result<Vec<u8>, ExportError> {
        let targets = frames.len().saturating_sub(1);
        let weights = frames.len().saturating_mul(targets).saturating_mul(size_of::<f32>());
        if weights > MOST_WEIGHTS {
            let what = "the weights of the morph targets";
            return Err(ExportError::TooLarge { what, bytes: weights, limit: MOST_WEIGHTS });
        }
        let mut out = Output {
            json: self.0.json.clone(),
            accessors: self.0.accessors.clone(),
            bin: self.0.bin.clone(),
        };
        for &part in &self.0.baked {
            self.add_primitive(part, frames, &mut out)?;
        }
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
        for frame in frames {
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
                Some(first) => targets.push(target(first, &now, out)),
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
        let check = |what, found, needed| {
            if found == needed { Ok(()) } else { Err(ExportError::Mismatch { what, found, needed }) }
        };
        let instances = &self.0.asset.instances;
        let (all, own) = (&frame.instances, &instances[part.instance].primitives);
        check("instances", all.len(), instances.len())?;
        check("primitives", all[part.instance].len(), own.len())?;
        let (now, bind) = (all[part.instance][part.primitive], own[part.primitive].mesh.vertices());
        check("positions", now.positions.len(), bind.positions.len())?;
        check("normals", now.normals.len(), bind.normals.len())?;
        Ok(VertexSlices { tangents: &[], ..now })
    }

    /// From each frame to the next, on every node whose mesh has targets.
    fn add_animation(&self, name: &str, frames: &[MorphFrame<'_>], out: &mut Output) {
        let times: Vec<[f32; 1]> = frames.iter().map(|frame| [frame.seconds]).collect();
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

/// What is added to the first frame.
fn target(first: &Vertices, now: &Vertices, out: &mut Output) -> Value {
    let difference = |from: &[[f32; 3]], to: &[[f32; 3]]| -> Vec<[f32; 3]> {
        from.iter().zip(to).map(|(from, to)| std::array::from_fn(|axis| to[axis] - from[axis])).collect()
    };
    let positions = difference(&first.positions, &now.positions);
    let mut target = json!({
        "POSITION": out.bin.add_accessor(&mut out.accessors, &positions, Some(ARRAY_BUFFER), true),
    });
    if !now.normals.is_empty() {
        let normals = difference(&first.normals, &now.normals);
        target["NORMAL"] =
            out.bin.add_accessor(&mut out.accessors, &normals, Some(ARRAY_BUFFER), false).into();
    }
    target
}
