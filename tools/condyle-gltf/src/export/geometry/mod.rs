//! Writes a document with smaller meshes: quantised attributes, an order of triangles and vertices that GPUs
//! and the compression prefer, and compressed buffer views.
//!
//! `source` reads the primitives, `groups` finds those that share a skin, `fit` chooses their precision, and
//! `order` their order. `streams` writes the data. Then the file is read again, and the error measured.

mod columns;
mod coordinates;
mod digits;
mod directions;
mod fit;
mod grid;
mod groups;
mod measure;
mod order;
mod source;
mod streams;
#[cfg(test)]
mod tests;
mod weights;

use std::collections::{BTreeSet, HashMap};

use condyle::math::Transform64;
use condyle::{Affine, Error, JointMap};

use self::columns::{Column, Slot};
use self::fit::{Fit, Rounded};
use self::grid::Grid;
use self::groups::Group;
use self::measure::{Moments, PosedShape, Shape, apart, larger};
use self::source::Source;
use self::streams::{Codec, Streams};
use self::weights::Precision;
use super::bin::Bin;
use super::{ExportError, carry, set_generator, still};
use crate::asset::Asset;
use crate::document::Document;
use crate::draco;
use crate::extensions::{remove_extension, require_extension, requires};
use crate::json::Json;
use crate::meshopt;
use crate::problem::{Problem, Problems};
use crate::scene::Scene;
use crate::value::{Map, Value, json};

/// Products of a matrix and a point that the last measurement may compute.
const MEASURED_WORK: usize = 400_000_000;
/// Number of times that all meshes are packed again, if the written file exceeds the error.
const TRIES: usize = 4;

/// Extension that compresses buffer views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum MeshCompression {
    /// `EXT_meshopt_compression`, which most readers support.
    #[default]
    Ext,
    /// `KHR_meshopt_compression`, its successor. Files are smaller, and fewer readers support it.
    Khr,
}

impl MeshCompression {
    /// Returns the extension that a document requires; `None` if it requires neither. Readers of the document
    /// support this one, so a packed file that uses it has no further requirement.
    #[must_use]
    pub fn required_by(document: &Document) -> Option<Self> {
        let root = Json::root(&document.json);
        [Self::Ext, Self::Khr].into_iter().find(|it| requires(&root, it.extension()))
    }

    /// Name of the extension.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Ext => meshopt::EXTENSIONS[1],
            Self::Khr => meshopt::EXTENSIONS[0],
        }
    }
}

/// Result of [`pack_meshes`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PackedMeshes {
    /// The file.
    pub glb: Vec<u8>,
    /// The packed meshes, by increasing index.
    pub meshes: Vec<PackedMesh>,
    /// The primitives that do not change.
    pub unpacked: Vec<UnpackedPrimitive>,
    /// Number of moments at which errors were measured, and of all moments. The second is larger if measuring
    /// all would take too long. Other moments may have larger errors.
    pub moments: [usize; 2],
    /// Problems found while copying the document.
    pub problems: Vec<Problem>,
}

/// Primitive that [`pack_meshes`] does not change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnpackedPrimitive {
    /// Index of the mesh in the document.
    pub mesh: usize,
    /// Index of the primitive in the mesh.
    pub primitive: usize,
    /// The reason.
    pub why: String,
}

/// Mesh in a packed file.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PackedMesh {
    /// Index of the mesh in the document that was packed.
    pub mesh: usize,
    /// Its name, or an empty string.
    pub name: String,
    /// Vertices before and after. Equal vertices are merged, and vertices without a triangle dropped.
    pub vertices: [usize; 2],
    /// Number of triangles.
    pub triangles: usize,
    /// Largest distance of a posed vertex to its original, in the document's units, over all clips.
    pub error: f64,
    /// Part of a morph target at weight 1 in such a distance. If weights add up to `sum`, which is more than
    /// 1, the distance is at most `error + (sum - 1) * target_error`.
    pub target_error: f64,
    /// Largest angle of a normal or tangent to its original in the bind pose, in radians.
    pub angle: f64,
    /// Bits of the weights; 0 without a skin.
    pub weight_bits: u32,
    /// Distance of neighbouring positions in the mesh, before the inverse bind matrices or the transform of
    /// the node; 0 if positions are exact.
    pub step: f64,
    /// The parts that stay 32-bit floats, with the reason.
    pub floats: Vec<String>,
}

/// Writes an asset's document with smaller meshes, with an error of at most `budget` at every posed vertex.
///
/// If a mesh of the written file exceeds `budget`, it is packed again for a smaller error, up to four times.
/// Then all of its numbers stay exact.
///
/// `budget` is in the document's units. The error is the distance of a vertex to its original while any clip
/// of the document plays. It includes the rounding of positions, weights and morph targets. At most
/// three quarters of it are for the weights. It is measured in the rest pose, at every key, and at three
/// times between keys. If that requires several hundred million vertex positions, only some of these times
/// are measured.
///
/// Poses that no clip of the document contains are not measured. The error of weights grows with the movement
/// of the joints from the bind pose, so it can be larger there. A document without clips is measured in the
/// rest pose only, where the rounding of weights hardly moves a vertex. Pass a document with the clips that
/// the meshes are for, or a small `budget`.
///
/// An application can set other weights of morph targets than the clips do. In all these poses, the error is
/// also bounded for any weights that are at least 0 and add up to at most 1.
/// [`PackedMesh::target_error`] bounds the error of larger weights.
///
/// - Positions and offsets of morph targets become integers of 8 or 16 bits (`KHR_mesh_quantization`). The
///   inverse bind matrices, or the node of a mesh without a skin, get the transform that turns them back into
///   positions. If the node cannot have it, because it is animated or has children, or if 16 bits are too
///   coarse, positions stay floats that are multiples of a power of two.
/// - Weights have 8 bits, or up to 16 if the error requires it. Their sum is exact. If that is too coarse, or
///   if the original sums differ too much from 1, they stay floats.
/// - Normals and tangents have octahedral coordinates of 8 bits, less than a degree from the original in the
///   bind pose. Their offsets in morph targets are rounded to 1/127, and this error is not measured.
/// - Texture coordinates are rounded to 1/4096.
/// - Colours from 0 to 1 become normalised integers. They have 8 bits if no colour changes by more than one
///   of the 255 steps of a display (sRGB). Otherwise they have 16 bits, and change by at most 0.03 steps.
/// - Other attributes keep their values. Equal vertices are merged.
/// - Transforms of nodes, and bounds of accessors, have the fewest digits that give the same 32-bit float.
/// - Triangles and vertices are in an order for GPUs. Primitives that are not lists of triangles, and those
///   with unknown extensions, stay unchanged.
///
/// Everything else is unchanged, under the same indices and names, with the exceptions of
/// [`ClipExporter`](super::ClipExporter). Animations keep their keys.
///
/// # Errors
/// [`ExportError::Budget`] if `budget` is not positive and finite. [`ExportError::TooMuchWork`] if a
/// single pose of all nodes requires several hundred million products. [`ExportError::Pose`] if a pose is
/// outside the range of f32, [`ExportError::TooLarge`] above 4 GiB.
///
/// ```
/// use condyle_gltf::{Asset, Document, MeshCompression, example, pack_meshes};
///
/// let asset = Asset::from_document(example::document())?;
/// let packed = pack_meshes(&asset, 1e-3, MeshCompression::Ext)?;
/// assert!(packed.meshes[0].error <= 1e-3);
/// let again = Asset::from_document(Document::from_slice("packed.glb", &packed.glb, None)?)?;
/// assert_eq!(again.instances[0].primitives[0].triangles().len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pack_meshes(
    asset: &Asset,
    budget: f32,
    compression: MeshCompression,
) -> Result<PackedMeshes, ExportError> {
    if !(budget.is_finite() && budget > 0.0) {
        return Err(ExportError::Budget { found: budget });
    }
    let (sources, unpacked) = source::sources(asset);
    let shapes: Vec<Shape> = sources.iter().map(|source| shape_of(source)).collect();
    let moments = Moments::of(&asset.clips);
    let searched = fit::moments(asset, &sources, &shapes, &moments);
    let work = report_work(asset, &sources, &shapes);
    if work > MEASURED_WORK {
        return Err(ExportError::TooMuchWork { work, limit: MEASURED_WORK });
    }
    let mut groups = groups::groups(asset, &sources, &unpacked);
    let budget = f64::from(budget);
    groups.iter_mut().for_each(|group| group.aim = Some(budget));
    let mut tries = 0..TRIES;
    let (glb, meshes, problems) = loop {
        let writer = Writer::fit(asset, &sources, &shapes, &groups, &searched)?;
        let (glb, problems) = writer.smaller_glb(compression)?;
        let meshes = report(asset, &sources, &shapes, &moments, &writer.packed, &glb)?;
        let is_last = tries.next().is_none();
        let mut again = false;
        for group in &mut groups {
            let Some(aim) = group.aim else { continue };
            let members: BTreeSet<usize> = group.sources.iter().map(|&at| sources[at].mesh).collect();
            let own = meshes.iter().filter(|mesh| members.contains(&mesh.mesh));
            let error = own.map(|mesh| mesh.error).fold(0.0, larger);
            if error.is_nan() || error > budget {
                // The search measures fewer moments than the report.
                group.aim = (!is_last).then_some(aim * (0.99 * budget / error).max(0.5));
                again = true;
            }
        }
        if !again {
            break (glb, meshes, problems);
        }
    };
    let measured = measured(&moments, work);
    Ok(PackedMeshes { glb, meshes, unpacked, moments: [measured.count(), moments.count()], problems })
}

/// Returns the largest number of products of a matrix and a point that [`pack_meshes`] may compute.
///
/// A small file can request many of them, because its clips can have many keys and its nodes can share
/// meshes. A service can check this number before it packs a file.
///
/// ```
/// use condyle_gltf::{Asset, example, pack_meshes_work};
///
/// let asset = Asset::from_document(example::document())?;
/// assert!((1_000..10_000_000).contains(&pack_meshes_work(&asset)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn pack_meshes_work(asset: &Asset) -> u64 {
    let (sources, _) = source::sources(asset);
    let shapes: Vec<Shape> = sources.iter().map(|source| shape_of(source)).collect();
    let all = Moments::of(&asset.clips);
    let search = fit::work(asset, &sources, &shapes, &all);
    let each = report_work(asset, &sources, &shapes);
    let report = each.saturating_mul(measured(&all, each).count());
    (search.saturating_add(report) as u64).saturating_mul(TRIES as u64 + 2)
}

/// Returns the moments at which errors are reported, if one moment takes `work`.
fn measured(all: &Moments, work: usize) -> Moments {
    all.at_most(MEASURED_WORK / work.max(1))
}

fn shape_of(source: &Source<'_>) -> Shape {
    let mut shape = Shape::of(source.data);
    if !source.is_skinned {
        shape.rows.iter_mut().for_each(|row| *row = vec![(0, 1.0)]);
    }
    shape
}

/// A primitive in its new form.
struct Packed {
    columns: Vec<Column>,
    triangles: Vec<[u32; 3]>,
    vertex_count: usize,
    /// The new vertex of each old one; `u32::MAX` for vertices that are dropped.
    twins: Vec<u32>,
    angle: f64,
    bits: u32,
    grid: Grid,
    floats: Vec<String>,
}

/// Encodes all primitives of a group. If a column does not fit the grid, all positions become exact floats.
fn encoded(
    sources: &[Source<'_>],
    shapes: &[Shape],
    group: &Group,
    mut fit: Fit,
) -> Result<(Fit, Vec<Packed>), ExportError> {
    for grid in [fit.grid, Grid::Exact] {
        fit.grid = grid;
        let all = group.sources.iter().zip(&fit.weights);
        let all = all.map(|(&at, weights)| primitive(&sources[at], &shapes[at], &fit, weights));
        if let Some(all) = all.collect::<Option<Vec<_>>>() {
            return Ok((fit, all));
        }
    }
    // Exact floats fit, so this is a primitive with fewer morph targets than its JSON.
    Err(ExportError::Unreadable { what: "a morph target of a mesh is missing".into() })
}

/// Encodes a primitive. `None` if its positions do not fit the grid.
fn primitive(source: &Source<'_>, shape: &Shape, fit: &Fit, weights: &Rounded) -> Option<Packed> {
    let vertices = source.data.vertices();
    let mut floats = Vec::new();
    let mut angle = 0.0_f64;
    let mut columns = vec![columns::positions(Slot::attribute("POSITION"), &shape.positions, &fit.grid)?];
    if !matches!(fit.grid, Grid::Integers { .. }) {
        floats
            .push(format!("positions: {}", fit.why_floats.as_deref().unwrap_or("their range is too large")));
    }
    let mut direction = |found: Option<(Column, f64)>, exact: Column, what: &str| match found {
        Some((column, found)) => {
            angle = angle.max(found);
            columns.push(column);
        }
        None => {
            floats.push(format!("{what}: not all have unit length"));
            columns.push(exact);
        }
    };
    if !vertices.normals.is_empty() {
        let (slot, values) = (Slot::attribute("NORMAL"), &vertices.normals);
        let exact = columns::floats(slot.clone(), &wide(values));
        direction(columns::directions(slot, values), exact, "normals");
    }
    if !vertices.tangents.is_empty() {
        let (slot, values) = (Slot::attribute("TANGENT"), &vertices.tangents);
        let exact = columns::floats(slot.clone(), &wide(values));
        direction(columns::directions(slot, values), exact, "tangents");
    }
    columns.extend(source.others.iter().cloned());
    if source.is_skinned {
        if weights.precision == Precision::Exact {
            floats.push(format!("weights: {}", weights::why_floats(&shape.rows)));
            columns.extend(columns::exact_influences(&shape.rows));
        } else {
            columns.extend(columns::influences(&weights.rows, &weights.precision));
        }
    }
    for (at, has) in source.targets.iter().enumerate() {
        let target = source.data.morph_targets().get(at)?;
        let mut deltas = vec![[[0.0; 3]; 3]; source.data.vertex_count()];
        for (vertex, delta) in target.deltas() {
            deltas[vertex as usize] = [delta.position, delta.normal, delta.tangent].map(|v| v.map(f64::from));
        }
        let list = |kind: usize| deltas.iter().map(|all| all[kind]).collect::<Vec<_>>();
        let slot = |name: &str| Slot::Target(at, name.into());
        if has[0] {
            columns.push(columns::positions(slot("POSITION"), &list(0), &fit.grid)?);
        }
        for (kind, name) in [(1, "NORMAL"), (2, "TANGENT")].into_iter().filter(|(kind, _)| has[*kind]) {
            columns.push(columns::turns(slot(name), &list(kind)));
        }
    }
    let (mut twins, count) = welded(&columns, source.data.vertex_count());
    let renamed: Vec<[u32; 3]> =
        source.triangles.iter().map(|triangle| triangle.map(|corner| twins[corner as usize])).collect();
    let mut triangles = order::ordered(&renamed, count);
    let old = order::renumber(&mut triangles, count);
    let mut new = vec![u32::MAX; count];
    (0..).zip(&old).for_each(|(at, &old)| new[old as usize] = at);
    // The first vertex of each set of equal ones.
    let mut firsts = vec![u32::MAX; count];
    for (vertex, &twin) in (0..).zip(&twins) {
        firsts[twin as usize] = vertex.min(firsts[twin as usize]);
    }
    let chosen: Vec<u32> = old.iter().map(|&old| firsts[old as usize]).collect();
    twins.iter_mut().for_each(|twin| *twin = new[*twin as usize]);
    let columns = columns.iter().map(|column| column.select(&chosen)).collect();
    let vertex_count = chosen.len();
    Some(Packed {
        columns,
        triangles,
        vertex_count,
        twins,
        angle,
        bits: weights.precision.bits(),
        grid: fit.grid,
        floats,
    })
}

fn wide<const N: usize>(values: &[[f32; N]]) -> Vec<[f64; N]> {
    values.iter().map(|v| v.map(f64::from)).collect()
}

/// Gives vertices with equal attributes one number. Returns the number of each vertex, and their count.
fn welded(columns: &[Column], vertex_count: usize) -> (Vec<u32>, usize) {
    let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
    let number = |vertex: usize| {
        let element =
            |column: &Column| column.elements[vertex * column.form.stride..][..column.form.stride].to_vec();
        let key: Vec<u8> = columns.iter().flat_map(element).collect();
        let next = known.len() as u32;
        *known.entry(key).or_insert(next)
    };
    let numbers: Vec<u32> = (0..vertex_count).map(number).collect();
    (numbers, known.len())
}

/// Writes the packed primitives into the document.
struct Writer<'a> {
    asset: &'a Asset,
    sources: &'a [Source<'a>],
    packed: Vec<Packed>,
    groups: &'a [Group],
    /// The grid of each group.
    grids: Vec<Grid>,
}

impl<'a> Writer<'a> {
    /// Packs all primitives with an error of at most `budget`.
    fn fit(
        asset: &'a Asset,
        sources: &'a [Source<'a>],
        shapes: &[Shape],
        groups: &'a [Group],
        moments: &Moments,
    ) -> Result<Self, ExportError> {
        let mut packed: Vec<Option<Packed>> = sources.iter().map(|_| None).collect();
        let mut grids = Vec::new();
        for group in groups {
            let fit = fit::fit(asset, sources, shapes, group, moments)?;
            let (fit, found) = encoded(sources, shapes, group, fit)?;
            for (&at, found) in group.sources.iter().zip(found) {
                packed[at] = Some(found);
            }
            grids.push(fit.grid);
        }
        let packed = packed.into_iter().flatten().collect();
        Ok(Self { asset, sources, packed, groups, grids })
    }

    /// Returns the smaller of the compressed and the uncompressed file.
    fn smaller_glb(&self, compression: MeshCompression) -> Result<(Vec<u8>, Vec<Problem>), ExportError> {
        let mut json = self.asset.document.json.clone();
        still::remove_attributes(&mut json, &self.asset.faulty);
        still::remove_compressed_twins(&mut json);
        self.clear(&mut json);
        self.move_nodes(&mut json);
        still::remove_meshes(&mut json, &self.asset.faulty_meshes, &mut []);
        let carry::Carried { mut accessors, bin, problems, .. } =
            carry::carry(&mut json, &self.asset.document, carry::Form::Stored);
        let streams = self.fill(&mut json, &mut accessors);
        set_generator(&mut json);
        digits::shorten_nodes(&mut json);
        digits::shorten_bounds(&mut accessors);
        if carry::needs_quantization(&json, &accessors) {
            require_extension(&mut json, "KHR_mesh_quantization");
        }
        let glb = |codec: Option<Codec>| {
            let (mut json, mut accessors, mut bin): (Value, Vec<Value>, Bin) =
                (json.clone(), accessors.clone(), bin.clone());
            streams.finish(&mut accessors, &mut bin, codec);
            if !accessors.is_empty() {
                json["accessors"] = accessors.into();
            }
            bin.into_glb(json)
        };
        let version = u8::from(compression == MeshCompression::Khr);
        let codec = Codec { extension: compression.extension(), version };
        let (plain, compressed) = (glb(None)?, glb(Some(codec))?);
        Ok((if compressed.len() < plain.len() { compressed } else { plain }, problems))
    }

    /// Removes the attributes that will be replaced.
    fn clear(&self, json: &mut Value) {
        for source in self.sources {
            let primitive = &mut json["meshes"][source.mesh]["primitives"][source.primitive];
            let Some(primitive) = primitive.as_object_mut() else { continue };
            primitive.insert("attributes".into(), Map::new().into());
            primitive.remove("indices");
            remove_extension(primitive, draco::EXTENSION);
            let targets = primitive.get_mut("targets").and_then(Value::as_array_mut);
            targets.into_iter().flatten().for_each(|target| *target = json!({}));
        }
        for skin in self.groups.iter().flat_map(|group| &group.skins) {
            if let Some(skin) = json["skins"][*skin].as_object_mut() {
                skin.remove("inverseBindMatrices");
            }
        }
    }

    /// Gives nodes without a skin the transform from integers to positions.
    fn move_nodes(&self, json: &mut Value) {
        let scene = Scene::load(&Json::root(&self.asset.document.json), &mut Problems::unheard());
        for (group, grid) in self.groups.iter().zip(&self.grids) {
            for &node in &group.nodes {
                let Some(own) = scene.nodes.get(node) else { continue };
                let rows = own.matrix.unwrap_or_else(|| Transform64::to_rows(&own.trs));
                if let Some(json) = json["nodes"][node].as_object_mut() {
                    grid.put_into(json, &rows, own.trs.scale);
                }
            }
        }
    }

    /// Adds all data to streams, and refers to it.
    fn fill(&self, json: &mut Value, accessors: &mut Vec<Value>) -> Streams {
        let mut streams = Streams::default();
        let dropped = &self.asset.faulty_meshes;
        // Each stream has one attribute of all meshes after the other.
        for (source, packed) in self.sources.iter().zip(&self.packed) {
            let mesh = source.mesh - dropped.partition_point(|&mesh| mesh < source.mesh);
            let primitive = &mut json["meshes"][mesh]["primitives"][source.primitive];
            for column in &packed.columns {
                let accessor = streams.attribute(accessors, column);
                match &column.slot {
                    Slot::Attribute(name) => primitive["attributes"][name] = accessor.into(),
                    Slot::Target(at, name) => primitive["targets"][at][name] = accessor.into(),
                }
            }
            let triangles = packed.triangles.clone();
            primitive["indices"] = streams.triangles(accessors, triangles, packed.vertex_count).into();
        }
        for (group, grid) in self.groups.iter().zip(&self.grids) {
            for &at in &group.skins {
                let own = |matrix: &Affine| match grid {
                    Grid::Integers { .. } => {
                        columns_of(&grid.before(&matrix.rows.map(|row| row.map(f64::from))))
                    }
                    _ => matrix.to_columns(),
                };
                let matrices: Vec<[f32; 16]> = self.asset.skins[at].inverse_bind().iter().map(own).collect();
                json["skins"][at]["inverseBindMatrices"] = streams.matrices(accessors, &matrices).into();
            }
        }
        streams
    }
}

fn columns_of(rows: &crate::rows::Rows) -> [f32; 16] {
    std::array::from_fn(|at| match at % 4 {
        3 => f32::from(u8::from(at == 15)),
        row => rows[row][at / 4] as f32,
    })
}

/// Returns the work of the last measurement at one moment.
fn report_work(asset: &Asset, sources: &[Source<'_>], shapes: &[Shape]) -> usize {
    let works = sources.iter().zip(shapes);
    let works = works.map(|(source, shape)| measure::shape_work(asset, &source.instances, shape));
    works.fold(2 * measure::pose_work(asset), usize::saturating_add)
}

/// Reads the file again, and measures its errors.
fn report(
    asset: &Asset,
    sources: &[Source<'_>],
    shapes: &[Shape],
    moments: &Moments,
    packed: &[Packed],
    glb: &[u8],
) -> Result<Vec<PackedMesh>, ExportError> {
    let unread = |what: String| ExportError::Unreadable { what };
    let document = Document::from_slice("the packed file", glb, None);
    let written = document.and_then(Asset::from_document).map_err(|refused| unread(refused.to_string()))?;
    if written.instances.len() != asset.instances.len() {
        return Err(unread("it shows other meshes".into()));
    }
    let names = asset.document.json.get("meshes");
    let mut meshes: Vec<PackedMesh> = Vec::new();
    let mut pairs = Vec::new();
    for (at, (source, packed)) in sources.iter().zip(packed).enumerate() {
        if meshes.last().is_none_or(|last| last.mesh != source.mesh) {
            let name = names.and_then(|all| all.get(source.mesh)?.get("name")?.as_str()).unwrap_or_default();
            meshes.push(PackedMesh { mesh: source.mesh, name: name.into(), ..PackedMesh::default() });
        }
        let own = meshes.len() - 1;
        let mesh = &mut meshes[own];
        mesh.vertices[0] += source.data.vertex_count();
        mesh.vertices[1] += packed.vertex_count;
        mesh.triangles += packed.triangles.len();
        mesh.angle = mesh.angle.max(packed.angle);
        if source.is_skinned {
            mesh.weight_bits = mesh.weight_bits.max(packed.bits);
        }
        mesh.step = match packed.grid {
            Grid::Integers { step, .. } => step,
            Grid::Powers(exponent) => 2_f64.powi(exponent),
            Grid::Exact => 0.0,
        };
        let new = packed.floats.iter().filter(|what| !mesh.floats.contains(what)).cloned();
        let new: Vec<String> = new.collect();
        mesh.floats.extend(new);
        let mut twins = source.instances.iter().map(|&instance| {
            let twin = written.instances.get(instance)?;
            twin.primitives.iter().find(|it| it.index == source.primitive)
        });
        // All nodes share the vertices of a primitive, but nodes without a skin do not read the weights.
        let skinned = source.instances.iter().position(|&at| still::is_skinned(&asset.instances[at]));
        let twin = twins.nth(skinned.unwrap_or_default()).flatten();
        let twin = twin.filter(|twin| twin.mesh.vertex_count() == packed.vertex_count);
        let twin = twin.ok_or_else(|| unread(format!("mesh {} differs", source.mesh)))?;
        pairs.push((own, at, Shape::of(&twin.mesh)));
    }
    let moments = measured(moments, report_work(asset, sources, shapes));
    let map = JointMap::by_node(&asset.skeleton, &written.skeleton);
    let clips = asset.clips.iter().map(|clip| map.clip(clip)).collect::<Result<Vec<_>, _>>()?;
    moments.visit_both([(asset, &asset.clips), (&written, &clips)], |a, b| {
        for (own, at, shape) in &pairs {
            for &instance in &sources[*at].instances {
                let (this, that) = (&asset.instances[instance], &written.instances[instance]);
                let weights = a.weights(this)?;
                let (one, other) = (a.palette(asset, this), b.palette(&written, that));
                let original = PosedShape { shape: &shapes[*at], palette: &one };
                let rounded = PosedShape { shape, palette: &other };
                let off = apart(original, rounded, &weights, Some(&packed[*at].twins));
                // The numbers of a file are finite, so this can only come from the pose.
                if !(off.worst.is_finite() && off.target.is_finite()) {
                    return Err(Error::NotFinite { what: "positions of a posed instance", at: instance });
                }
                let mesh = &mut meshes[*own];
                mesh.error = larger(mesh.error, off.worst);
                mesh.target_error = larger(mesh.target_error, off.target);
            }
        }
        Ok(())
    })?;
    Ok(meshes)
}
