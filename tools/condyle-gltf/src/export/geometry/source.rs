//! The primitives that can be packed, and the reasons why others cannot.

use std::collections::{BTreeSet, HashMap};

use condyle::SkinnedMesh;

use super::UnpackedPrimitive;
use super::columns::{
    BYTE, Column, FLOAT, Form, SHORT, Slot, UNSIGNED_BYTE, UNSIGNED_INT, UNSIGNED_SHORT, floats, powers,
};
use super::coordinates;
use crate::accessor::{Accessor, Accessors};
use crate::asset::Asset;
use crate::draco;
use crate::format::{Component, Format, Shape};
use crate::influences::check_count;
use crate::json::Json;
use crate::problem::Problems;
use crate::value::Value;

/// Maximum number of bytes of all attributes. A document can show a few vertices in many primitives.
const MOST_BYTES: usize = 1 << 29;
/// Extensions of a primitive that do not refer to its vertices.
const EXTENSIONS: [&str; 2] = ["KHR_materials_variants", draco::EXTENSION];

/// Extension with which a node shows its mesh many times, with any transform.
const INSTANCES: &str = "EXT_mesh_gpu_instancing";

/// A primitive that can be packed.
pub(super) struct Source<'a> {
    pub(super) mesh: usize,
    pub(super) primitive: usize,
    /// Indices into [`Asset::instances`].
    pub(super) instances: Vec<usize>,
    pub(super) data: &'a SkinnedMesh,
    /// Whether joints move the vertices.
    pub(super) is_skinned: bool,
    pub(super) triangles: Vec<[u32; 3]>,
    /// Attributes that stay exact, and texture coordinates.
    pub(super) others: Vec<Column>,
    /// Whether each target moves positions, normals and tangents.
    pub(super) targets: Vec<[bool; 3]>,
}

/// Returns the primitives that can be packed, and those that cannot.
pub(super) fn sources(asset: &Asset) -> (Vec<Source<'_>>, Vec<UnpackedPrimitive>) {
    let silent = &mut Problems::unheard();
    let root = Json::root(&asset.document.json);
    let accessors = Accessors::load(&asset.document, silent);
    let mut shown: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, instance) in asset.instances.iter().enumerate() {
        shown.entry(instance.mesh).or_default().push(at);
    }
    let (mut sources, mut unpacked) = (Vec::new(), Vec::new());
    let mut room = MOST_BYTES;
    for (mesh, json) in root.list("meshes", silent).iter().enumerate() {
        let instances = shown.get(&mesh).map_or(&[][..], Vec::as_slice);
        for (primitive, json) in json.list("primitives", silent).iter().enumerate() {
            let found =
                Reader { asset, accessors: &accessors, mesh, primitive, instances }.read(json, &mut room);
            match found {
                Ok(source) => sources.push(source),
                Err(why) => unpacked.push(UnpackedPrimitive { mesh, primitive, why }),
            }
        }
    }
    (sources, unpacked)
}

struct Reader<'a, 'b> {
    asset: &'a Asset,
    accessors: &'b Accessors<'b>,
    mesh: usize,
    primitive: usize,
    instances: &'b [usize],
}

impl<'a> Reader<'a, '_> {
    fn read(&self, json: &Json<'_>, room: &mut usize) -> Result<Source<'a>, String> {
        let silent = &mut Problems::unheard();
        let of = |at: &usize| {
            let found = self.asset.instances[*at].primitives.iter().find(|it| it.index == self.primitive)?;
            Some((*at, found))
        };
        let found: Vec<_> = self.instances.iter().filter_map(of).collect();
        if self.instances.is_empty() {
            return Err("no node of a scene shows it".into());
        }
        let is_skinned = |at: usize| super::super::still::is_skinned(&self.asset.instances[at]);
        // If only some nodes have a skin, only the vertices of such a node have influences.
        let (first, own) = *found
            .iter()
            .max_by_key(|(at, _)| (is_skinned(*at), usize::MAX - at))
            .ok_or("it has no positions that can be read")?;
        if json.whole_or("mode", 4, silent) != Some(4) || !own.drawable {
            return Err("it is not a list of triangles".into());
        }
        let extensions = json.entries("extensions", silent);
        if let Some((name, _)) = extensions.iter().find(|(name, _)| !EXTENSIONS.contains(name)) {
            return Err(format!("its extension {name} may refer to vertices"));
        }
        let nodes = found.iter().map(|(at, _)| self.asset.instances[*at].node);
        for node in nodes {
            if !self.asset.document.json["nodes"][node]["extensions"][INSTANCES].is_null() {
                return Err(format!("its copies by {INSTANCES} are not measured (node {node})"));
            }
        }
        let data: &SkinnedMesh = &own.mesh;
        let attributes = json.entries("attributes", silent);
        let has = |name: &str| attributes.iter().any(|(own, _)| *own == name);
        let is_skinned = is_skinned(first);
        if is_skinned && !(has("JOINTS_0") && has("WEIGHTS_0")) {
            return Err("its node has a skin, but it has no joints".into());
        }
        let targets = json.list("targets", silent);
        let bytes = 64 + 24 * targets.len() + 16 * attributes.len();
        *room = room
            .checked_sub(bytes.saturating_mul(data.vertex_count()))
            .ok_or("all attributes of the file take more than 512 MiB")?;
        let mut others = self.other_attributes(&attributes, is_skinned, json.value)?;
        let targets = self.targets(&targets, data, json.value, &mut others)?;
        Ok(Source {
            mesh: self.mesh,
            primitive: self.primitive,
            instances: found.into_iter().map(|(at, _)| at).collect(),
            data,
            is_skinned,
            triangles: own.triangles().collect(),
            others,
            targets,
        })
    }

    /// Returns the attributes that stages do not read, except faulty ones.
    fn other_attributes(
        &self,
        attributes: &[(&str, Json<'_>)],
        is_skinned: bool,
        primitive: &Value,
    ) -> Result<Vec<Column>, String> {
        let place = (self.mesh, self.primitive);
        let faulty = &self.asset.faulty;
        let faulty = &faulty[faulty.partition_point(|it| (it.mesh, it.primitive) < place)..];
        let faulty = faulty.iter().take_while(|it| (it.mesh, it.primitive) == place);
        let faulty: BTreeSet<&str> = faulty.map(|it| it.name.as_str()).collect();
        let is_read = |name: &str| {
            matches!(name, "POSITION" | "NORMAL" | "TANGENT")
                || is_skinned && (name.starts_with("JOINTS_") || name.starts_with("WEIGHTS_"))
        };
        let others = attributes.iter().filter(|(name, _)| !is_read(name) && !faulty.contains(name));
        others.map(|(name, place)| self.column(Slot::attribute(name), place, primitive)).collect()
    }

    /// Returns for each morph target whether it moves positions, normals and tangents. Adds its attributes
    /// that stages do not read to `others`.
    fn targets(
        &self,
        targets: &[Json<'_>],
        data: &SkinnedMesh,
        primitive: &Value,
        others: &mut Vec<Column>,
    ) -> Result<Vec<[bool; 3]>, String> {
        let vertices = &data.vertices();
        let mut moved = Vec::new();
        for (at, target) in targets.iter().enumerate() {
            let mut has = [false; 3];
            for (name, place) in target.value.as_object().into_iter().flatten() {
                match name.as_str() {
                    "POSITION" => has[0] = true,
                    "NORMAL" => has[1] = !vertices.normals.is_empty(),
                    "TANGENT" => has[2] = !vertices.tangents.is_empty(),
                    _ => {
                        let place = Json { value: place, path: target.path.clone() };
                        others.push(self.column(Slot::Target(at, name.to_string()), &place, primitive)?);
                    }
                }
            }
            moved.push(has);
        }
        Ok(moved)
    }

    /// Returns an attribute as the file has it; texture coordinates and colours are rounded.
    fn column(&self, slot: Slot, place: &Json<'_>, primitive: &Value) -> Result<Column, String> {
        let silent = &mut Problems::unheard();
        let (Slot::Attribute(name) | Slot::Target(_, name)) = &slot;
        let unread = || format!("its attribute {name} cannot be read");
        let accessor = self.accessors.at(place).ok_or_else(unread)?;
        let of = |at: &usize| {
            let own = &self.asset.instances[*at].primitives;
            own.iter().find(|it| it.index == self.primitive).map(|it| it.mesh.vertex_count())
        };
        let count = self.instances.iter().find_map(of).unwrap_or_default();
        check_count(accessor.count, count, place, silent).ok_or_else(unread)?;
        if matches!(accessor.shape, Shape::Mat2 | Shape::Mat3 | Shape::Mat4) {
            return Err(format!("its attribute {name} has matrices"));
        }
        let set = name.strip_prefix("TEXCOORD_").and_then(|set| set.parse().ok());
        if let (Component::F32, Some(set)) = (accessor.format.component, set) {
            let values = accessor.vectors::<2>(silent).ok_or_else(unread)?;
            let values: Vec<[f64; 2]> = values.iter().map(|v| v.map(f64::from)).collect();
            let exponent = coordinates::exponent(&self.asset.document.json, primitive, set);
            let rounded = powers(slot.clone(), &values, exponent);
            return Ok(rounded.unwrap_or_else(|| floats(slot, &values)));
        }
        let is_fraction = accessor.format.component == Component::F32
            || accessor.format == Format::normalized(Component::U16);
        if is_fraction && name.starts_with("COLOR_") && matches!(slot, Slot::Attribute(_)) {
            let found = match accessor.shape {
                Shape::Vec3 => {
                    accessor.vectors::<3>(silent).and_then(|all| super::columns::colors(slot.clone(), &all))
                }
                Shape::Vec4 => {
                    accessor.vectors::<4>(silent).and_then(|all| super::columns::colors(slot.clone(), &all))
                }
                _ => None,
            };
            if let Some(column) = found {
                return Ok(column);
            }
        }
        exact(slot.clone(), &accessor).ok_or_else(unread)
    }
}

/// Returns the numbers of an accessor, unchanged.
fn exact(slot: Slot, accessor: &Accessor<'_>) -> Option<Column> {
    let silent = &mut Problems::unheard();
    let width = accessor.width();
    let normalized = accessor.format.normalized;
    let signed = |one: f32, silent: &mut Problems| {
        let scale = if normalized { one } else { 1.0 };
        Some(accessor.floats(silent)?.into_iter().map(|v| (v * scale).round() as i32 as u32).collect())
    };
    let (component, values): (u32, Vec<u32>) = match accessor.format.component {
        Component::I8 => (BYTE, signed(127.0, silent)?),
        Component::I16 => (SHORT, signed(32767.0, silent)?),
        Component::U8 => (UNSIGNED_BYTE, accessor.integers(silent)?),
        Component::U16 => (UNSIGNED_SHORT, accessor.integers(silent)?),
        Component::U32 => (UNSIGNED_INT, accessor.integers(silent)?),
        Component::F32 => (FLOAT, accessor.floats(silent)?.into_iter().map(f32::to_bits).collect()),
    };
    let form = Form::new(component, width);
    let form = if normalized { form.normalized() } else { form };
    let size = super::columns::component_size(component);
    let mut elements = Vec::with_capacity(accessor.count.saturating_mul(form.stride));
    for element in values.chunks(width.max(1)) {
        let start = elements.len();
        element.iter().for_each(|value| elements.extend_from_slice(&value.to_le_bytes()[..size]));
        elements.resize(start + form.stride, 0);
    }
    Some(Column { slot, form, elements })
}
