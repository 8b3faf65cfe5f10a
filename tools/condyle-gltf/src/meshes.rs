//! Meshes: vertices, triangles and morph targets. Source: glTF 2.0, "Meshes".

use std::sync::Arc;

use condyle::mesh::MorphDeltas;
use condyle::{Influences, MorphTarget, SkinnedMesh, Vertices};

use crate::accessor::{Accessors, check_finite};
use crate::format::{Component, Format, Shape, Usage};
use crate::influences::{self, check_count};
use crate::json::Json;
use crate::problem::{Problems, REFUSED, Severity};

const FLOAT: &[Format] = &[Format::plain(Component::F32)];
const SMALL: &[Format] = &[Format::normalized(Component::I8), Format::normalized(Component::I16)];
const POSITIONS: Usage = Usage {
    shape: Shape::Vec3,
    formats: FLOAT,
    quantized: &[
        Format::plain(Component::I8),
        Format::plain(Component::U8),
        Format::plain(Component::I16),
        Format::plain(Component::U16),
        Format::normalized(Component::I8),
        Format::normalized(Component::U8),
        Format::normalized(Component::I16),
        Format::normalized(Component::U16),
    ],
};
const DIRECTIONS: Usage = Usage { shape: Shape::Vec3, formats: FLOAT, quantized: SMALL };
const TANGENTS: Usage = Usage { shape: Shape::Vec4, formats: FLOAT, quantized: SMALL };
const SHIFTS: Usage = Usage {
    shape: Shape::Vec3,
    formats: FLOAT,
    quantized: &[
        Format::plain(Component::I8),
        Format::plain(Component::I16),
        Format::normalized(Component::I8),
        Format::normalized(Component::I16),
    ],
};
const INDICES: Usage = Usage {
    shape: Shape::Scalar,
    formats: &[Format::plain(Component::U8), Format::plain(Component::U16), Format::plain(Component::U32)],
    quantized: &[],
};

/// One primitive of a mesh: vertices with one material.
///
/// ```
/// use condyle_gltf::{Asset, example};
///
/// let asset = Asset::from_document(example::document())?;
/// // Upload these buffers once.
/// for primitive in &asset.instances[0].primitives {
///     let mesh = &primitive.mesh;
///     assert!(primitive.drawable && primitive.material.is_none());
///     assert_eq!((mesh.vertex_count(), mesh.indices().len()), (6, 12));
///     assert_eq!(mesh.vertices().positions[5], [0.125, 2.0, 0.0]);
/// }
/// # Ok::<(), condyle_gltf::Refused>(())
/// ```
#[derive(Debug, Clone)]
pub struct Primitive {
    /// Index into the mesh's `primitives` in the document.
    pub index: usize,
    /// Index of the material in the document.
    pub material: Option<usize>,
    /// Mesh data, shared by all instances of the same mesh.
    pub mesh: Arc<SkinnedMesh>,
    /// Whether it has triangles; `false` for points and lines.
    pub drawable: bool,
}

impl Primitive {
    /// Returns the triangles: from the indices, or from consecutive vertices if there are no indices.
    ///
    /// Points and lines have no triangles.
    pub fn triangles(&self) -> impl ExactSizeIterator<Item = [u32; 3]> + '_ {
        let indices = self.mesh.indices().as_chunks().0;
        let count = match (self.drawable, indices.is_empty()) {
            (false, _) => 0,
            (true, true) => self.mesh.vertex_count() / 3,
            (true, false) => indices.len(),
        };
        let in_order = |i: usize| [0, 1, 2].map(|k| 3 * i as u32 + k);
        (0..count).map(move |i| indices.get(i).copied().unwrap_or_else(|| in_order(i)))
    }
}

/// Returns the morph target count of each mesh, taken from its first primitive.
pub(crate) fn morph_target_counts(root: &Json<'_>) -> Vec<usize> {
    let silent = &mut Problems::unheard();
    let count = |mesh: &Json<'_>| mesh.list("primitives", silent).first().map_or(0, |p| p.count("targets"));
    root.list("meshes", &mut Problems::unheard()).iter().map(count).collect()
}

/// Type of skinning of a mesh.
#[derive(Clone, Copy)]
pub(crate) struct Skinning {
    /// Whether the vertices use their influences.
    pub(crate) skinned: bool,
    /// Joint count of the skins that use the mesh, if it is the same for all of them.
    pub(crate) joint_count: Option<usize>,
}

/// Reads the primitives of one mesh.
pub(crate) fn load(
    mesh: &Json<'_>,
    skinning: Skinning,
    material_count: usize,
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) -> Vec<Primitive> {
    let primitives = mesh.objects("primitives", problems);
    if primitives.is_empty() {
        problems.error(&mesh.path, "has no primitives, expected at least one");
    }
    let target_count = primitives.first().map_or(0, |p| p.count("targets"));
    let mut out = Vec::new();
    for (index, json) in primitives.iter().enumerate() {
        let found = json.count("targets");
        if found != target_count {
            problems.error(
                &json.path,
                format!("has {found} morph targets, but the mesh's first primitive has {target_count}"),
            );
        }
        let material = json.reference("material", "materials", material_count, problems);
        if let Some((mesh, drawable)) = load_primitive(json, skinning, accessors, problems) {
            out.push(Primitive { index, material, mesh: Arc::new(mesh), drawable });
        }
    }
    out
}

fn load_primitive(
    json: &Json<'_>,
    Skinning { skinned, joint_count }: Skinning,
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) -> Option<(SkinnedMesh, bool)> {
    if accessors.hides(json) {
        return None;
    }
    json.require("attributes", problems)?;
    let attributes = json.entries("attributes", problems);
    let attribute = |name: &str| attributes.iter().find(|a| a.0 == name).map(|a| &a.1);
    let Some(place) = attribute("POSITION") else {
        problems.warning(&json.path, "POSITION is missing", "the primitive is ignored");
        return None;
    };
    let positions = accessors.get(place, &POSITIONS, problems)?.vectors::<3>(problems)?;
    let count = positions.len();
    check_finite(positions.as_flattened(), place, problems)?;
    check_bounds(&positions, place, accessors, problems);
    let mut vertices = Vertices { positions, ..Vertices::default() };
    // Everything is read before the first error returns, so that one run reports all errors.
    let normals = optional(attribute("NORMAL"), &DIRECTIONS, count, accessors, problems);
    let tangents = optional(attribute("TANGENT"), &TANGENTS, count, accessors, problems);
    let influences =
        if skinned { influences::load(&attributes, count, accessors, problems) } else { Some(None) };
    let targets = json.objects("targets", problems);
    // A target cannot move normals or tangents that the primitive lacks.
    let movable = [true, attribute("NORMAL").is_some(), attribute("TANGENT").is_some()];
    let targets: Vec<_> =
        targets.iter().map(|t| load_target(t, count, movable, accessors, problems)).collect();
    let triangles = triangles(json, count, accessors, problems);

    vertices.normals = normals?;
    vertices.tangents = tangents?;
    if let Some(place) = attribute("TANGENT") {
        repair_tangents(&mut vertices.tangents, place, problems);
    }
    if skinned && matches!(influences, Some(None)) {
        let what = "the node has a skin, but JOINTS_0 and WEIGHTS_0 are missing";
        problems.warning(&json.path, what, "all vertices follow the skin's first joint");
    }
    if !skinned && attribute("JOINTS_0").is_some() {
        problems.note(&json.path, "has joints, but its node has no skin", "the joints are ignored");
    }
    let influences = influences?.unwrap_or_else(|| Influences::rigid(count as u32));
    // Influences with too large a joint index are reported by the caller, with the skin.
    let bound = influences.joint_bound();
    let influences = match joint_count.filter(|&count| count >= bound) {
        Some(count) => influences.for_skin_of(count).ok()?,
        None => influences,
    };
    let (indices, drawable) = triangles?;
    let targets = targets.into_iter().collect::<Option<Vec<_>>>()?;
    match SkinnedMesh::new(vertices, influences, indices, targets) {
        Ok(mesh) => Some((mesh, drawable)),
        Err(error) => {
            problems.error(&json.path, error.to_string());
            None
        }
    }
}

/// Returns one element per vertex, or an empty list without such an attribute. `None` after an error.
fn optional<const N: usize>(
    place: Option<&Json<'_>>,
    usage: &Usage,
    vertex_count: usize,
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) -> Option<Vec<[f32; N]>> {
    let Some(place) = place else { return Some(Vec::new()) };
    let accessor = accessors.get(place, usage, problems)?;
    check_count(accessor.count, vertex_count, place, problems)?;
    let values = accessor.vectors::<N>(problems)?;
    check_finite(values.as_flattened(), place, problems)?;
    Some(values)
}

/// Reports a missing or wrong `min` or `max` of f32 positions. Condyle computes the bounds itself.
fn check_bounds(
    positions: &[[f32; 3]],
    place: &Json<'_>,
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) {
    let Some(json) = accessors.json(place).filter(|json| json["componentType"].as_u64() == Some(5126)) else {
        return;
    };
    for (key, pick) in [("min", f32::min as fn(f32, f32) -> f32), ("max", f32::max)] {
        let found = positions.iter().copied().reduce(|a, b| std::array::from_fn(|i| pick(a[i], b[i])));
        let stated: Option<Vec<f64>> =
            json.get(key).and_then(|list| list.as_array()?.iter().map(|v| v.as_f64()).collect());
        match (stated, found) {
            (None, _) => problems.note(&place.path, format!("the accessor has no valid `{key}`"), "computed"),
            (Some(stated), Some(found)) if !stated.iter().map(|&v| v as f32).eq(found) => {
                let what = format!("`{key}` of the accessor does not match its positions");
                problems.warning(&place.path, what, "computed");
            }
            _ => {}
        }
    }
}

fn repair_tangents(tangents: &mut [[f32; 4]], place: &Json<'_>, problems: &mut Problems) {
    let mut odd = 0;
    for [.., w] in tangents {
        if w.abs() != 1.0 {
            odd += 1;
            *w = if *w < 0.0 { -1.0 } else { 1.0 };
        }
    }
    let what = "the fourth number of a tangent is neither 1 nor -1";
    problems.counted(Severity::Warning, &place.path, odd, what, "treated as 1 or -1, by its sign");
}

/// Reads a morph target. A sparse accessor is decoded and kept sparsely.
fn load_target(
    json: &Json<'_>,
    vertex_count: usize,
    movable: [bool; 3],
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) -> Option<MorphTarget> {
    let mut load =
        |name: &str, usage| shifts(json.get(name).as_ref(), usage, vertex_count, accessors, problems);
    let lists = [load("POSITION", &SHIFTS), load("NORMAL", &DIRECTIONS), load("TANGENT", &DIRECTIONS)];
    let [positions, normals, tangents] = lists;
    let mut lists = [positions?, normals?, tangents?];
    for (list, movable) in lists.iter_mut().zip(movable) {
        if !movable {
            list.clear();
        }
    }
    // The memory that `MorphTarget::from_sparse` documents. In the worst case, each delta is alone in a group
    // of eight vertices, and each group has room for the deltas of all attributes.
    let groups = lists.iter().map(Vec::len).sum::<usize>().min(vertex_count.div_ceil(8));
    let group: usize =
        lists.iter().zip([96, 96, 128]).filter(|(list, _)| !list.is_empty()).map(|(_, size)| size).sum();
    problems.afford(&json.path, vertex_count / 16 + groups.saturating_mul(group))?;
    let [positions, normals, tangents] = &lists;
    match MorphTarget::from_sparse(vertex_count, MorphDeltas { positions, normals, tangents }) {
        Ok(target) => Some(target),
        Err(error) => {
            problems.error(&json.path, error.to_string());
            None
        }
    }
}

/// Returns the vertices that one attribute of a target moves, each with its offset. `None` after an error.
fn shifts(
    place: Option<&Json<'_>>,
    usage: &Usage,
    vertex_count: usize,
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) -> Option<Vec<(u32, [f32; 3])>> {
    let Some(place) = place else { return Some(Vec::new()) };
    let accessor = accessors.get(place, usage, problems)?;
    check_count(accessor.count, vertex_count, place, problems)?;
    let shifts = accessor.entries::<3>(problems)?;
    check_finite(shifts.iter().flat_map(|(_, shift)| shift), place, problems)?;
    Some(shifts)
}

/// Returns the triangle indices, and whether there are triangles. Without indices, the vertices form
/// triangles in stored order.
fn triangles(
    json: &Json<'_>,
    vertex_count: usize,
    accessors: &Accessors<'_>,
    problems: &mut Problems,
) -> Option<(Vec<u32>, bool)> {
    let mode = json.whole_or("mode", 4, problems)?;
    if mode > 6 {
        problems.error(json.path.child("mode"), format!("is {mode}, expected 0 to 6"));
        return None;
    }
    let indices = match json.get("indices") {
        None => None,
        Some(place) => {
            let indices = accessors.get(&place, &INDICES, problems)?.integers(problems)?;
            let outside = indices.iter().filter(|&&i| i as usize >= vertex_count).count();
            if let Some(first) = indices.iter().find(|&&i| i as usize >= vertex_count) {
                let what = format!("an index is {first}, but there are only {vertex_count} vertices");
                problems.counted(Severity::Error, &place.path, outside, what, REFUSED);
                return None;
            }
            Some(indices)
        }
    };
    let corners = indices.as_ref().map_or(vertex_count, Vec::len);
    let corner = |i: usize| indices.as_ref().map_or(i as u32, |indices| indices[i]);
    let count = match mode {
        0..=3 => return Some((Vec::new(), false)),
        4 => corners / 3,
        _ => corners.saturating_sub(2),
    };
    if count == 0 || (mode == 4 && corners % 3 != 0) {
        let what = format!("{corners} corners do not make whole triangles");
        problems.warning(&json.path, what, "the remaining corners are not drawn");
    }
    if mode == 4 {
        let mut indices = indices.unwrap_or_default();
        indices.truncate(3 * count);
        return Some((indices, count > 0));
    }
    problems.afford(&json.path, count.saturating_mul(12))?;
    let strip = |i: usize| [i, i + 1 + i % 2, i + 2 - i % 2];
    let fan = |i: usize| [i + 1, i + 2, 0];
    let list = (0..count).flat_map(|i| if mode == 5 { strip(i) } else { fan(i) }.map(corner)).collect();
    Some((list, count > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Builder, character};
    use crate::value::{Value, json};

    /// Returns a mesh of `count` vertices, shown by a node that does not move.
    fn still(count: usize, primitive: Value) -> Builder {
        let mut it = Builder::new(json!({
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [primitive]}],
        }));
        let positions: Vec<f32> = (0..3 * count).map(|i| i as f32).collect();
        let positions = it.floats("VEC3", &positions);
        it.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = json!(positions);
        it
    }

    fn primitive(it: &Builder) -> Primitive {
        it.import().unwrap().instances[0].primitives[0].clone()
    }

    fn path(rest: &str) -> String {
        format!("/meshes/0/primitives/0{rest}")
    }

    #[test]
    fn every_mode_becomes_a_list_of_triangles() {
        let indices = |mode, count| {
            let primitive = primitive(&still(count, json!({"mode": mode})));
            assert_eq!(primitive.mesh.vertex_count(), count);
            (primitive.mesh.indices().to_vec(), primitive.drawable)
        };
        for mode in 0..4 {
            assert_eq!(indices(mode, 4), (vec![], false));
        }
        assert_eq!(indices(4, 6), (vec![], true));
        assert_eq!(indices(5, 5), (vec![0, 1, 2, 1, 3, 2, 2, 3, 4], true));
        assert_eq!(indices(6, 5), (vec![1, 2, 0, 2, 3, 0, 3, 4, 0], true));
        let mut strip = still(5, json!({"mode": 5}));
        let accessor = strip.accessor("SCALAR", 5121, 4, &[4, 3, 2, 0]);
        strip.json["meshes"][0]["primitives"][0]["indices"] = json!(accessor);
        assert_eq!(primitive(&strip).mesh.indices(), [4, 3, 2, 3, 0, 2]);
    }

    #[test]
    fn bounds_are_compared_with_the_positions() {
        let place = path("/attributes/POSITION");
        let mut it = still(3, json!({}));
        it.json["accessors"][0]["max"][1] = json!(7.5);
        assert_eq!(it.summary(), [(Severity::Warning, place.clone(), 1)]);
        it.json["accessors"][0]["max"] = json!([1, 2]);
        assert_eq!(it.summary(), [(Severity::Warning, place.clone(), 1)]);
        it.json["accessors"][0].as_object_mut().unwrap().remove("max");
        assert_eq!(it.summary(), [(Severity::Note, place, 1)]);
    }

    #[test]
    fn triangles_that_are_not_whole() {
        for (mode, count) in [(4, 4), (4, 2), (5, 2), (6, 1)] {
            let it = still(count, json!({"mode": mode}));
            assert_eq!(it.summary(), [(Severity::Warning, path(""), 1)]);
            assert_eq!(primitive(&it).drawable, count >= 3);
        }
        assert_eq!(still(3, json!({"mode": 7})).summary(), [(Severity::Error, path("/mode"), 1)]);
    }

    #[test]
    fn indices_are_checked() {
        let with = |code, bytes: &[u8], count| {
            let mut it = still(3, json!({}));
            let accessor = it.accessor("SCALAR", code, count, bytes);
            it.json["meshes"][0]["primitives"][0]["indices"] = json!(accessor);
            it
        };
        assert_eq!(primitive(&with(5123, &[0, 0, 2, 0, 1, 0], 3)).mesh.indices(), [0, 2, 1]);
        assert_eq!(with(5121, &[0, 3, 255], 3).summary(), [(Severity::Error, path("/indices"), 2)]);
        assert_eq!(with(5126, &[0; 12], 3).summary(), [(Severity::Error, path("/indices"), 1)]);
        // One index too many for whole triangles.
        let it = with(5121, &[0, 1, 2, 0], 4);
        assert_eq!(it.summary(), [(Severity::Warning, path(""), 1)]);
        assert_eq!(primitive(&it).mesh.indices(), [0, 1, 2]);
    }

    #[test]
    fn attributes() {
        let mut it = still(3, json!({}));
        let normals = it.floats("VEC3", &[0.0, 0.0, 1.0].repeat(3));
        let tangents = it.floats("VEC4", &[1.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 1.0]);
        let attributes = &mut it.json["meshes"][0]["primitives"][0]["attributes"];
        attributes["NORMAL"] = json!(normals);
        attributes["TANGENT"] = json!(tangents);
        assert_eq!(it.summary(), [(Severity::Warning, path("/attributes/TANGENT"), 1)]);
        let mesh = primitive(&it).mesh;
        assert_eq!(mesh.vertices().normals, [[0.0, 0.0, 1.0]; 3]);
        assert_eq!(mesh.vertices().tangents.iter().map(|t| t[3]).collect::<Vec<_>>(), [-1.0, 1.0, 1.0]);
        assert_eq!(mesh.influences().row(2).collect::<Vec<_>>(), [(0, 1.0)]);
    }

    #[test]
    fn faulty_attributes() {
        let mut it = still(3, json!({}));
        let two = it.floats("VEC3", &[0.0; 6]);
        let nan = it.floats("VEC3", &[f32::NAN; 9]);
        let flat = it.floats("VEC2", &[0.0; 6]);
        let mut with = |accessor: usize| {
            it.json["meshes"][0]["primitives"][0]["attributes"]["NORMAL"] = json!(accessor);
            it.summary()
        };
        let error = |count| vec![(Severity::Error, path("/attributes/NORMAL"), count)];
        assert_eq!(with(two), error(1));
        assert_eq!(with(nan), error(9));
        assert_eq!(with(flat), error(1));
        assert_eq!(with(99), error(1));
        let it = still(0, json!({"attributes": {}}));
        assert_eq!(it.summary()[0], (Severity::Warning, "/accessors/0".to_string(), 1));
    }

    #[test]
    fn without_positions_a_primitive_is_left_out() {
        let mut it = still(3, json!({"material": 1}));
        it.json["materials"] = json!([{}, {}]);
        let second = it.json["meshes"][0]["primitives"][0].clone();
        it.json["meshes"][0]["primitives"] = json!([{"attributes": {}}, second]);
        assert_eq!(it.summary(), [(Severity::Warning, path(""), 1)]);
        let found = primitive(&it);
        assert_eq!((found.index, found.material), (1, Some(1)));
        it.json["meshes"][0]["primitives"][1]["material"] = json!(2);
        assert_eq!(it.summary()[0], (Severity::Error, "/meshes/0/primitives/1/material".to_string(), 1));
    }

    #[test]
    fn quantised_positions_need_the_extension() {
        let mut it = still(3, json!({}));
        let accessor = it.accessor("VEC3", 5120, 3, &[127, 0, 0, 0, 127, 0, 0, 0, 129]);
        it.json["accessors"][accessor]["normalized"] = json!(true);
        it.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = json!(accessor);
        assert_eq!(it.summary(), [(Severity::Warning, path("/attributes/POSITION"), 1)]);
        it.json["extensionsUsed"] = json!(["KHR_mesh_quantization"]);
        assert_eq!(it.summary(), []);
        assert_eq!(primitive(&it).mesh.vertices().positions[2], [0.0, 0.0, -1.0]);
    }

    #[test]
    fn morph_targets_and_their_weights() {
        let mut it = still(3, json!({}));
        let shift = it.floats("VEC3", &[1.0; 9]);
        it.json["meshes"][0]["primitives"][0]["targets"] = json!([{"POSITION": shift, "NORMAL": shift}, {}]);
        it.json["meshes"][0]["weights"] = json!([0.25, 0.5]);
        assert_eq!(it.summary(), []);
        let asset = it.import().unwrap();
        let targets = asset.instances[0].primitives[0].mesh.morph_targets();
        assert_eq!(targets.len(), 2);
        assert!((0..3).all(|vertex| targets[0].delta(vertex).position == [1.0; 3]));
        // The primitive has no normals for the target to move.
        assert!(!targets[0].has_normals() && !targets[1].has_positions());
        assert_eq!(asset.instances[0].morph_weights, [0.25, 0.5]);
        it.json["nodes"][0]["weights"] = json!([1]);
        assert_eq!(it.summary(), [(Severity::Warning, "/nodes/0/weights".to_string(), 1)]);
        assert_eq!(it.import().unwrap().instances[0].morph_weights, [1.0, 0.0]);
        let other = it.json["meshes"][0]["primitives"][0]["attributes"].clone();
        it.json["meshes"][0]["primitives"].as_array_mut().unwrap().push(json!({"attributes": other}));
        assert_eq!(it.summary()[0], (Severity::Error, "/meshes/0/primitives/1".to_string(), 1));
    }

    /// Tests attributes that move different vertices, with and without a base accessor.
    #[test]
    fn sparse_targets_move_what_they_name() {
        let mut it = still(20, json!({}));
        let normals = it.floats("VEC3", &[[0.0, 1.0, 0.0]; 20].concat());
        it.json["meshes"][0]["primitives"][0]["attributes"]["NORMAL"] = json!(normals);
        let sparse = |it: &mut Builder, base: bool, indices: &[u16], value: f32| {
            let bytes: Vec<u8> = indices.iter().flat_map(|i| i.to_le_bytes()).collect();
            let indices_view = it.view(&bytes);
            let values: Vec<u8> =
                indices.iter().flat_map(|_| [value; 3]).flat_map(f32::to_le_bytes).collect();
            let values_view = it.view(&values);
            let at = it.floats("VEC3", &[0.25; 60]);
            let accessor = &mut it.json["accessors"][at];
            if !base {
                accessor.as_object_mut().unwrap().remove("bufferView");
            }
            accessor["sparse"] = json!({
                "count": indices.len(),
                "indices": {"bufferView": indices_view, "componentType": 5123},
                "values": {"bufferView": values_view},
            });
            at
        };
        let (positions, normals) = (sparse(&mut it, false, &[3, 19], 2.0), sparse(&mut it, true, &[4], 3.0));
        it.json["meshes"][0]["primitives"][0]["targets"] =
            json!([{"POSITION": positions, "NORMAL": normals}, {"POSITION": positions}]);
        let asset = it.import().unwrap();
        let targets = asset.instances[0].primitives[0].mesh.morph_targets();
        for vertex in 0..20 {
            let delta = targets[0].delta(vertex);
            assert_eq!(delta.position, [if [3, 19].contains(&vertex) { 2.0 } else { 0.0 }; 3]);
            assert_eq!(delta.normal, [if vertex == 4 { 3.0 } else { 0.25 }; 3]);
        }
        let moved: Vec<u32> = targets[1].deltas().map(|(vertex, _)| vertex).collect();
        assert_eq!(moved, [3, 19]);
    }

    #[test]
    fn instances_share_their_vertices() {
        let mut it = character();
        it.json["nodes"][1]["mesh"] = json!(0);
        it.json["nodes"][2]["mesh"] = json!(0);
        let asset = it.import().unwrap();
        assert_eq!(asset.instances.len(), 3);
        let mesh = |i: usize| &asset.instances[i].primitives[0].mesh;
        assert!(Arc::ptr_eq(mesh(1), mesh(2)));
        assert_eq!(mesh(0).influences().row(0).len(), 2);
        assert_eq!(mesh(1).influences().row(0).len(), 1);
        assert_eq!(it.summary(), [(Severity::Note, path(""), 1)]);
    }

    #[test]
    fn meshes_that_nobody_shows_are_noted() {
        let mut it = still(3, json!({}));
        let second = it.json["meshes"][0].clone();
        it.json["meshes"].as_array_mut().unwrap().push(second);
        let note = (Severity::Note, "/meshes/1".to_string(), 1);
        assert_eq!(it.summary(), std::slice::from_ref(&note));
        it.json["meshes"][1] = json!({"primitives": [{}]});
        assert_eq!(it.summary(), [(Severity::Warning, "/meshes/1/primitives/0".to_string(), 1), note]);
    }

    #[test]
    fn many_nodes_cannot_multiply_a_large_mesh() {
        let mut it = still(3, json!({}));
        let primitive = it.json["meshes"][0]["primitives"][0].clone();
        it.json["meshes"][0]["primitives"] = json!(vec![primitive; 3000]);
        it.json["nodes"] = json!(vec![json!({"mesh": 0}); 3000]);
        let problems = it.problems();
        let error = &problems[0];
        assert_eq!(error.severity, Severity::Error);
        assert!(error.place.starts_with("/nodes/") && error.what.contains("exceed"), "{error}");
    }
}
