//! Turns meshes into glTF meshes: triangles by material, blend shapes, and the geometric transform of the
//! node in the vertices.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use ufbx::{BlendShape, Matrix, Mesh, Node, Scene, Vec3, VertexVec3};

use crate::buffer::{AccessorType, Buffer, TooLarge};
use crate::context::Context;
use crate::morphs::{self, Shape};
use crate::problems::Problems;
use crate::skins::{Influence, SkinOfMesh, Skins};

/// Sets of texture coordinates and of colours that are kept.
const SETS: usize = 8;

/// Indices of a mesh and its skin in the document.
#[derive(Clone, Copy)]
pub(crate) struct MeshIndices {
    pub(crate) mesh: Option<usize>,
    pub(crate) skin: Option<usize>,
}

/// A mesh of the scene with the materials of one of its nodes.
#[derive(PartialEq, Eq, Hash)]
struct MeshKey {
    mesh: u32,
    materials: Vec<Option<usize>>,
}

/// Meshes and skins of the document.
pub(crate) struct Meshes {
    /// Index of the document's material for each material of the scene.
    materials: Vec<Option<usize>>,
    pub(crate) meshes: Vec<Value>,
    pub(crate) skins: Skins,
    /// Meshes of nodes without a geometric transform.
    shared: HashMap<MeshKey, MeshIndices>,
}

/// Numbers of one corner of a triangle; equal corners become one vertex.
type CornerKey = Vec<u32>;

/// Vertex of a primitive: the vertex of the mesh, and its first corner.
struct PrimitiveVertex {
    vertex: u32,
    corner: usize,
}

/// A primitive under construction.
#[derive(Default)]
struct Primitive {
    known: HashMap<CornerKey, u32>,
    vertices: Vec<PrimitiveVertex>,
    triangles: Vec<u32>,
}

impl Meshes {
    pub(crate) fn new(materials: Vec<Option<usize>>) -> Self {
        Self { materials, meshes: Vec::new(), skins: Skins::default(), shared: HashMap::new() }
    }

    /// Adds the mesh of a node.
    pub(crate) fn add(
        &mut self,
        node: &Node,
        mesh: &Mesh,
        context: &mut Context<'_>,
    ) -> Result<MeshIndices, TooLarge> {
        let material = |id: u32| self.materials.get(id as usize).copied().flatten();
        let materials = node.materials.into_iter().map(|it| material(it.element.typed_id)).collect();
        let key = MeshKey { mesh: mesh.element.typed_id, materials };
        let deformer = mesh.skin_deformers.into_iter().find(|skin| !skin.clusters.is_empty());
        let is_own = node.has_geometry_transform;
        if let Some(&found) = self.shared.get(&key).filter(|_| !is_own) {
            return Ok(found);
        }
        let transform = (is_own && deformer.is_none()).then_some(&node.geometry_to_node);
        context.buffer.afford(mesh.num_triangles.saturating_mul(12))?;
        let skin = match deformer {
            Some(deformer) => self.skins.add(node, mesh, deformer, context)?,
            None => SkinOfMesh::default(),
        };
        let influences = &skin.influences;
        let mut split = MeshSplit { mesh, transform, influences, buffer: &mut context.buffer };
        let primitives = split.primitives(&key.materials)?;
        let index = (!primitives.is_empty()).then(|| self.push(node, mesh, primitives));
        let found = MeshIndices { mesh: index, skin: skin.index.filter(|_| index.is_some()) };
        if !is_own {
            self.shared.insert(key, found);
        }
        Ok(found)
    }

    fn push(&mut self, node: &Node, mesh: &Mesh, primitives: Vec<Value>) -> usize {
        let mut out = json!({"primitives": primitives});
        let name = if mesh.element.name.is_empty() { &*node.element.name } else { &*mesh.element.name };
        if !name.is_empty() {
            out["name"] = name.into();
        }
        if morphs::count(mesh) > 0 {
            let names: Vec<&str> = morphs::shapes(mesh).map(|shape| shape.name).collect();
            out["weights"] = json!(finite(morphs::weights(mesh, |channel| channel.weight)));
            out["extras"] = json!({"targetNames": names});
        }
        self.meshes.push(out);
        self.meshes.len() - 1
    }
}

/// A mesh that is split into primitives.
struct MeshSplit<'a> {
    mesh: &'a Mesh,
    /// Geometric transform that moves into the vertices.
    transform: Option<&'a Matrix>,
    influences: &'a [Vec<Influence>],
    buffer: &'a mut Buffer,
}

impl MeshSplit<'_> {
    fn primitives(&mut self, materials: &[Option<usize>]) -> Result<Vec<Value>, TooLarge> {
        let mesh = self.mesh;
        let mut primitives: Vec<Primitive> = Vec::new();
        let mut by_material: HashMap<u32, usize> = HashMap::new();
        let mut order: Vec<u32> = Vec::new();
        let normals = self.transform.map(ufbx::matrix_for_normals);
        let is_flipped = self.transform.is_some_and(|m| ufbx::matrix_determinant(m) < 0.0);
        let mut corners = vec![0_u32; mesh.max_face_triangles.saturating_mul(3)];
        let mut vertex_total = 0;
        for (index, face) in mesh.faces.iter().enumerate() {
            if face.num_indices < 3 || mesh.face_hole.get(index).copied().unwrap_or(false) {
                continue;
            }
            let material = mesh.face_material.get(index).copied().unwrap_or(0);
            let slot = *by_material.entry(material).or_insert_with(|| {
                primitives.push(Primitive::default());
                order.push(material);
                primitives.len() - 1
            });
            let primitive = &mut primitives[slot];
            let count = ufbx::triangulate_face(&mut corners, mesh, *face) as usize;
            for triangle in corners[..count * 3].chunks_exact_mut(3) {
                if is_flipped {
                    triangle.swap(1, 2);
                }
                for corner in triangle {
                    let corner = *corner as usize;
                    let key = self.key(corner);
                    let next = primitive.vertices.len() as u32;
                    let vertex = *primitive.known.entry(key).or_insert(next);
                    if vertex == next {
                        let vertex = mesh.vertex_indices.get(corner).copied().unwrap_or(0);
                        primitive.vertices.push(PrimitiveVertex { vertex, corner });
                        vertex_total += 1;
                        self.buffer.afford(vertex_total * 32)?;
                    }
                    primitive.triangles.push(vertex);
                }
            }
        }
        let mut all = Vec::new();
        for (primitive, material) in primitives.into_iter().zip(order) {
            let mut out = self.primitive(&primitive, normals.as_ref())?;
            if let Some(material) = materials.get(material as usize).copied().flatten() {
                out["material"] = material.into();
            }
            all.push(out);
        }
        Ok(all)
    }

    /// Numbers that tell vertices apart.
    fn key(&self, corner: usize) -> CornerKey {
        let mesh = self.mesh;
        let mut key = vec![mesh.vertex_indices.get(corner).copied().unwrap_or(0)];
        let mut push = |value: f64| key.push((value as f32).to_bits());
        if mesh.vertex_normal.exists {
            let n = at(&mesh.vertex_normal, corner);
            [n.x, n.y, n.z].into_iter().for_each(&mut push);
        }
        for set in mesh.uv_sets.iter().take(SETS) {
            let uv = &set.vertex_uv;
            let value = uv.indices.get(corner).and_then(|i| uv.values.get(*i as usize));
            value.into_iter().flat_map(|v| [v.x, v.y]).for_each(&mut push);
        }
        for set in mesh.color_sets.iter().take(SETS) {
            let color = &set.vertex_color;
            let value = color.indices.get(corner).and_then(|i| color.values.get(*i as usize));
            value.into_iter().flat_map(|v| [v.x, v.y, v.z, v.w]).for_each(&mut push);
        }
        if let Some(tangent) = self.tangent(corner) {
            tangent.into_iter().for_each(&mut push);
        }
        key
    }

    /// Tangent and its sign, if the file has tangents.
    fn tangent(&self, corner: usize) -> Option<[f64; 4]> {
        let mesh = self.mesh;
        if !mesh.vertex_tangent.exists || !mesh.vertex_bitangent.exists || !mesh.vertex_normal.exists {
            return None;
        }
        let (n, t) = (at(&mesh.vertex_normal, corner), at(&mesh.vertex_tangent, corner));
        let b = at(&mesh.vertex_bitangent, corner);
        let cross = Vec3 { x: n.y * t.z - n.z * t.y, y: n.z * t.x - n.x * t.z, z: n.x * t.y - n.y * t.x };
        let sign = if cross.x * b.x + cross.y * b.y + cross.z * b.z < 0.0 { -1.0 } else { 1.0 };
        Some([t.x, t.y, t.z, sign])
    }

    fn primitive(&mut self, primitive: &Primitive, normals: Option<&Matrix>) -> Result<Value, TooLarge> {
        let mesh = self.mesh;
        let mut attributes = Map::new();
        let place = |v: Vec3| self.transform.map_or(v, |m| ufbx::transform_position(m, v));
        let turn = |v: Vec3, m: Option<&Matrix>| unit(m.map_or(v, |m| ufbx::transform_direction(m, v)));
        let positions = primitive.vertices.iter().map(|it| place(vertex(mesh, it.vertex)));
        let positions: Vec<f32> = positions.flat_map(three).collect();
        attributes
            .insert("POSITION".into(), self.buffer.attribute(AccessorType::Vec3, &positions, true)?.into());
        if mesh.vertex_normal.exists {
            let all = primitive.vertices.iter().map(|it| turn(at(&mesh.vertex_normal, it.corner), normals));
            let all: Vec<f32> = all.flat_map(three).collect();
            attributes
                .insert("NORMAL".into(), self.buffer.attribute(AccessorType::Vec3, &all, false)?.into());
        }
        let tangents: Option<Vec<[f64; 4]>> =
            primitive.vertices.iter().map(|it| self.tangent(it.corner)).collect();
        if let Some(tangents) = tangents.filter(|all| all.iter().all(is_tangent)) {
            let flip = self.transform.is_some_and(|m| ufbx::matrix_determinant(m) < 0.0);
            let all = tangents.into_iter().flat_map(|[x, y, z, sign]| {
                let t = three(turn(Vec3 { x, y, z }, self.transform));
                [t[0], t[1], t[2], if flip { -sign } else { sign } as f32]
            });
            let all: Vec<f32> = all.collect();
            attributes
                .insert("TANGENT".into(), self.buffer.attribute(AccessorType::Vec4, &all, false)?.into());
        }
        for (index, set) in mesh.uv_sets.iter().take(SETS).enumerate() {
            let uv = &set.vertex_uv;
            let value = |corner: usize| uv.indices.get(corner).and_then(|i| uv.values.get(*i as usize));
            // The origin of glTF is at the top.
            let all = primitive
                .vertices
                .iter()
                .flat_map(|it| value(it.corner).map_or([0.0; 2], |v| [v.x as f32, (1.0 - v.y) as f32]));
            let all: Vec<f32> = all.collect();
            let index = format!("TEXCOORD_{index}");
            attributes.insert(index, self.buffer.attribute(AccessorType::Vec2, &all, false)?.into());
        }
        for (index, set) in mesh.color_sets.iter().take(SETS).enumerate() {
            let color = &set.vertex_color;
            let value = |corner: usize| color.indices.get(corner).and_then(|i| color.values.get(*i as usize));
            let all = primitive
                .vertices
                .iter()
                .flat_map(|it| value(it.corner).map_or([1.0; 4], |v| [v.x, v.y, v.z, v.w].map(|v| v as f32)));
            let all: Vec<f32> = all.collect();
            let index = format!("COLOR_{index}");
            attributes.insert(index, self.buffer.attribute(AccessorType::Vec4, &all, false)?.into());
        }
        if !self.influences.is_empty() {
            self.influences(primitive, &mut attributes)?;
        }
        let indices = self.buffer.triangles(&primitive.triangles)?;
        let mut out = json!({"attributes": attributes, "indices": indices});
        let targets = self.targets(primitive, normals)?;
        if !targets.is_empty() {
            out["targets"] = targets.into();
        }
        Ok(out)
    }

    /// Joints and weights, in sets of four.
    fn influences(
        &mut self,
        primitive: &Primitive,
        attributes: &mut Map<String, Value>,
    ) -> Result<(), TooLarge> {
        let of = |vertex: u32| self.influences.get(vertex as usize).map_or(&[][..], Vec::as_slice);
        let most = primitive.vertices.iter().map(|it| of(it.vertex).len()).max().unwrap_or(0);
        for set in 0..most.div_ceil(4) {
            self.buffer.afford(primitive.vertices.len() * 24)?;
            let four = primitive.vertices.iter().flat_map(|it| {
                let influences = of(it.vertex);
                (set * 4..set * 4 + 4).map(|i| influences.get(i).copied().unwrap_or_default())
            });
            let (joints, weights): (Vec<u16>, Vec<f32>) = four.map(|it| (it.joint, it.weight)).unzip();
            attributes.insert(format!("JOINTS_{set}"), self.buffer.joints(&joints)?.into());
            let weights = self.buffer.attribute(AccessorType::Vec4, &weights, false)?;
            attributes.insert(format!("WEIGHTS_{set}"), weights.into());
        }
        Ok(())
    }

    /// Morph targets of all blend shapes.
    fn targets(&mut self, primitive: &Primitive, normals: Option<&Matrix>) -> Result<Vec<Value>, TooLarge> {
        let mesh = self.mesh;
        if morphs::count(mesh) == 0 {
            return Ok(Vec::new());
        }
        let copy = |(it, copy): (&PrimitiveVertex, u32)| VertexCopy { vertex: it.vertex, copy };
        let mut copies: Vec<VertexCopy> = primitive.vertices.iter().zip(0..).map(copy).collect();
        copies.sort_unstable();
        let mut all = Vec::new();
        for Shape { shape, .. } in morphs::shapes(mesh) {
            let moved = self.moved(shape, &copies, normals)?;
            let at: Vec<u32> = moved.iter().map(|it| it.copy).collect();
            let count = primitive.vertices.len();
            let offsets: Vec<f32> = moved.iter().flat_map(|it| three(it.offset)).collect();
            let mut target = json!({"POSITION": self.buffer.offsets(count, &at, &offsets, true)?});
            if mesh.vertex_normal.exists && !shape.normal_offsets.is_empty() {
                let normals = moved.iter().map(|it| it.normal.unwrap_or_default());
                let offsets: Vec<f32> = normals.flat_map(three).collect();
                target["NORMAL"] = self.buffer.offsets(count, &at, &offsets, false)?.into();
            }
            all.push(target);
        }
        Ok(all)
    }

    /// Vertices of a primitive that a blend shape moves, ascending.
    fn moved(
        &self,
        shape: &BlendShape,
        copies: &[VertexCopy],
        normals: Option<&Matrix>,
    ) -> Result<Vec<MovedVertex>, TooLarge> {
        let mut moved: Vec<MovedVertex> = Vec::new();
        for (index, vertex) in shape.offset_vertices.iter().enumerate() {
            let weight = shape.offset_weights.get(index).copied().unwrap_or(1.0);
            let scaled = |v: Vec3| Vec3 { x: v.x * weight, y: v.y * weight, z: v.z * weight };
            let offset = scaled(shape.position_offsets.get(index).copied().unwrap_or_default());
            let normal = shape.normal_offsets.get(index).copied().map(scaled);
            let is_zero = |v: Vec3| v.x == 0.0 && v.y == 0.0 && v.z == 0.0;
            if is_zero(offset) && normal.is_none_or(is_zero) {
                continue;
            }
            let offset = self.transform.map_or(offset, |m| ufbx::transform_direction(m, offset));
            let normal = normal.map(|v| normals.map_or(v, |m| ufbx::transform_direction(m, v)));
            let first = copies.partition_point(|it| it.vertex < *vertex);
            for copy in copies[first..].iter().take_while(|it| it.vertex == *vertex) {
                moved.push(MovedVertex { copy: copy.copy, offset, normal });
            }
            self.buffer.afford(moved.len() * 16)?;
        }
        moved.sort_by_key(|it| it.copy);
        moved.dedup_by_key(|it| it.copy);
        Ok(moved)
    }
}

/// Vertex of the mesh, and one of its copies in a primitive.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct VertexCopy {
    vertex: u32,
    copy: u32,
}

/// Vertex of a primitive that a blend shape moves.
struct MovedVertex {
    copy: u32,
    offset: Vec3,
    normal: Option<Vec3>,
}

/// Reports what the document does not have of the meshes.
pub(crate) fn report(scene: &Scene, problems: &mut Problems) {
    for mesh in &scene.meshes {
        let place = || match mesh.element.instances.into_iter().next() {
            Some(node) => format!("mesh of {}", &*node.element.name),
            None => format!("mesh {}", &*mesh.element.name),
        };
        let lines = mesh.num_point_faces + mesh.num_line_faces;
        if lines > 0 {
            let what = format!("{lines} faces with fewer than three corners");
            problems.note(place(), what, "points and lines are left out");
        }
        if mesh.subdivision_preview_levels > 0 || mesh.subdivision_render_levels > 0 {
            problems.note(place(), "a subdivision surface", "the control mesh is used");
        }
        if mesh.skin_deformers.len() > 1 {
            let what = format!("{} skins", mesh.skin_deformers.len());
            problems.warn(place(), what, "the first skin is used");
        }
        let method = mesh.skin_deformers.into_iter().map(|it| it.skinning_method);
        if method.into_iter().any(|it| {
            matches!(it, ufbx::SkinningMethod::DualQuaternion | ufbx::SkinningMethod::BlendedDqLinear)
        }) {
            problems.note(
                place(),
                "a skin of dual quaternions",
                "glTF skins are linear; use dual quaternions to draw it",
            );
        }
        if !mesh.cache_deformers.is_empty() {
            problems.warn(place(), "a cache of vertices", "caches are left out");
        }
    }
}

fn vertex(mesh: &Mesh, index: u32) -> Vec3 {
    mesh.vertices.get(index as usize).copied().unwrap_or_default()
}

fn at(attribute: &VertexVec3, corner: usize) -> Vec3 {
    let index = attribute.indices.get(corner).copied().unwrap_or(0);
    attribute.values.get(index as usize).copied().unwrap_or_default()
}

fn three(v: Vec3) -> [f32; 3] {
    [v.x as f32, v.y as f32, v.z as f32]
}

fn unit(v: Vec3) -> Vec3 {
    let length = (v.x * v.x + v.y * v.y + v.z * v.z).sqrt();
    // A normal of length 0 is not valid; any direction is as good.
    if !(length > 1e-30 && length.is_finite()) {
        return Vec3 { x: 0.0, y: 1.0, z: 0.0 };
    }
    Vec3 { x: v.x / length, y: v.y / length, z: v.z / length }
}

fn is_tangent(t: &[f64; 4]) -> bool {
    let length = t[0] * t[0] + t[1] * t[1] + t[2] * t[2];
    length > 1e-12 && length.is_finite()
}

/// Weights of a mesh, with 0 for those that JSON cannot hold.
fn finite(weights: Vec<f64>) -> Vec<f32> {
    weights.into_iter().map(|v| v as f32).map(|v| if v.is_finite() { v } else { 0.0 }).collect()
}
