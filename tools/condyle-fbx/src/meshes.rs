//! Turns meshes into glTF meshes: triangles by material, skins, blend shapes, and the geometric transform
//! of the node in the vertices.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use ufbx::{Matrix, Mesh, Node, Scene, SkinDeformer, Vec3, VertexVec3};

use crate::buffer::{Buffer, Kind, TooLarge};
use crate::morphs;
use crate::problems::Problems;

/// Sets of texture coordinates and of colours that are kept.
const SETS: usize = 8;

/// Indices of a mesh and its skin in the document.
type Placed = (Option<usize>, Option<usize>);

/// Joints with weights of each vertex of a mesh.
type Influences = Vec<Vec<(u16, f32)>>;

/// Meshes and skins of the document.
#[derive(Default)]
pub(crate) struct Meshes {
    pub(crate) meshes: Vec<Value>,
    pub(crate) skins: Vec<Value>,
    /// Mesh and skin of each mesh of the scene, for nodes without a geometric transform.
    shared: HashMap<(u32, Vec<Option<usize>>), Placed>,
    skinned: HashMap<(u32, u32), (Option<usize>, Influences)>,
}

/// Numbers of one corner of a triangle; equal corners become one vertex.
type Corner = Vec<u32>;

/// A primitive under construction.
#[derive(Default)]
struct Part {
    known: HashMap<Corner, u32>,
    /// Vertex of the mesh, and corner, for each vertex.
    vertices: Vec<(u32, usize)>,
    triangles: Vec<u32>,
}

impl Meshes {
    /// Adds the mesh of a node, and returns the indices of mesh and skin.
    pub(crate) fn add(
        &mut self,
        node: &Node,
        mesh: &Mesh,
        nodes: &[Option<usize>],
        materials: &[Option<usize>],
        buffer: &mut Buffer,
        problems: &mut Problems,
    ) -> Result<Placed, TooLarge> {
        let used: Vec<Option<usize>> = node
            .materials
            .into_iter()
            .map(|it| materials.get(it.element.typed_id as usize).copied().flatten())
            .collect();
        let key = (mesh.element.typed_id, used);
        let deformer = mesh.skin_deformers.into_iter().find(|it| !it.clusters.is_empty());
        let is_own = node.has_geometry_transform;
        if let Some(&found) = self.shared.get(&key).filter(|_| !is_own) {
            return Ok(found);
        }
        let transform = (is_own && deformer.is_none()).then_some(&node.geometry_to_node);
        buffer.afford(mesh.num_triangles.saturating_mul(12))?;
        let (skin, influences) = match deformer {
            Some(deformer) => self.skin(node, mesh, deformer, nodes, buffer, problems)?,
            None => (None, Vec::new()),
        };
        let mut parts = Parts { mesh, transform, influences: &influences, buffer };
        let primitives = parts.primitives(&key.1)?;
        let index = match primitives.is_empty() {
            true => None,
            false => {
                let mut out = json!({"primitives": primitives});
                let name = match mesh.element.name.is_empty() {
                    true => &*node.element.name,
                    false => &*mesh.element.name,
                };
                if !name.is_empty() {
                    out["name"] = name.into();
                }
                if morphs::count(mesh) > 0 {
                    let names: Vec<&str> = morphs::shapes(mesh).map(|it| it.1).collect();
                    out["weights"] = json!(finite(morphs::weights(mesh, |channel| channel.weight)));
                    out["extras"] = json!({"targetNames": names});
                }
                self.meshes.push(out);
                Some(self.meshes.len() - 1)
            }
        };
        let found = (index, skin.filter(|_| index.is_some()));
        if !is_own {
            self.shared.insert(key, found);
        }
        Ok(found)
    }

    /// Adds the skin of a mesh. Returns its index, and joints with weights for each vertex of the mesh.
    fn skin(
        &mut self,
        node: &Node,
        mesh: &Mesh,
        deformer: &SkinDeformer,
        nodes: &[Option<usize>],
        buffer: &mut Buffer,
        problems: &mut Problems,
    ) -> Result<(Option<usize>, Influences), TooLarge> {
        let key = (deformer.element.typed_id, node.element.typed_id);
        if let Some((index, influences)) = self.skinned.get(&key) {
            return Ok((*index, influences.clone()));
        }
        let (mut joints, mut matrices): (Vec<usize>, Vec<Matrix>) = (Vec::new(), Vec::new());
        let joint_of = |id: u32| nodes.get(id as usize).copied().flatten();
        let mut places: HashMap<usize, u16> = HashMap::new();
        // Joint of each cluster.
        let mut found: Vec<Option<u16>> = Vec::with_capacity(deformer.clusters.len());
        for cluster in &deformer.clusters {
            let Some(joint) = cluster.bone_node.as_ref().and_then(|it| joint_of(it.element.typed_id)) else {
                found.push(None);
                continue;
            };
            let place = match places.get(&joint) {
                Some(&place) => {
                    if !is_near(&matrices[usize::from(place)], &cluster.geometry_to_bone) {
                        problems.warn(
                            format!("skin of {}", &*node.element.name),
                            "a joint has two bind matrices",
                            "the first of them is used",
                        );
                    }
                    place
                }
                None => {
                    let place = u16::try_from(joints.len()).map_err(|_| TooLarge)?;
                    joints.push(joint);
                    matrices.push(cluster.geometry_to_bone);
                    places.insert(joint, place);
                    place
                }
            };
            found.push(Some(place));
        }
        let mut influences: Influences = Vec::with_capacity(mesh.num_vertices);
        let mut alone = None;
        let mut total = 0;
        for vertex in 0..mesh.num_vertices {
            let it = deformer.vertices.get(vertex);
            let weights = it.and_then(|it| {
                let start = it.weight_begin as usize;
                deformer.weights.get(start..start + it.num_weights as usize)
            });
            let mut own: Vec<(u16, f64)> = Vec::new();
            for weight in weights.unwrap_or_default() {
                let joint = found.get(weight.cluster_index as usize).copied().flatten();
                let Some(joint) = joint.filter(|_| weight.weight > 0.0) else { continue };
                match own.iter_mut().find(|it| it.0 == joint) {
                    Some(it) => it.1 += weight.weight,
                    None => own.push((joint, weight.weight)),
                }
            }
            let sum: f64 = own.iter().map(|it| it.1).sum();
            if own.is_empty() || !(sum > 0.0 && sum.is_finite()) {
                // Moves with the node of the mesh.
                let joint = match alone {
                    Some(joint) => joint,
                    None => {
                        let Some(index) = joint_of(node.element.typed_id) else {
                            return Ok((None, Vec::new()));
                        };
                        let joint = match places.get(&index) {
                            Some(&joint)
                                if is_near(&matrices[usize::from(joint)], &node.geometry_to_node) =>
                            {
                                joint
                            }
                            Some(&joint) => joint,
                            None => {
                                joints.push(index);
                                matrices.push(node.geometry_to_node);
                                u16::try_from(joints.len() - 1).map_err(|_| TooLarge)?
                            }
                        };
                        problems.note(
                            format!("skin of {}", &*node.element.name),
                            "some vertices have no weight",
                            "they move with the node of the mesh, which is a joint of the skin",
                        );
                        alone = Some(joint);
                        joint
                    }
                };
                own = vec![(joint, 1.0)];
            }
            total += own.len();
            buffer.afford(total * 8)?;
            let sum: f64 = own.iter().map(|it| it.1).sum();
            influences.push(own.into_iter().map(|(joint, weight)| (joint, (weight / sum) as f32)).collect());
        }
        let columns = |m: &Matrix| {
            [
                [m.m00, m.m10, m.m20, 0.0],
                [m.m01, m.m11, m.m21, 0.0],
                [m.m02, m.m12, m.m22, 0.0],
                [m.m03, m.m13, m.m23, 1.0],
            ]
        };
        let matrices: Vec<f32> = matrices.iter().flat_map(columns).flatten().map(|v| v as f32).collect();
        let matrices = buffer.numbers(Kind::Mat4, &matrices, false)?;
        let mut skin = json!({"joints": joints, "inverseBindMatrices": matrices});
        if !deformer.element.name.is_empty() {
            skin["name"] = (&*deformer.element.name).into();
        }
        self.skins.push(skin);
        let index = Some(self.skins.len() - 1);
        self.skinned.insert(key, (index, influences.clone()));
        Ok((index, influences))
    }
}

/// A mesh that is split into primitives.
struct Parts<'a> {
    mesh: &'a Mesh,
    /// Geometric transform that moves into the vertices.
    transform: Option<&'a Matrix>,
    influences: &'a [Vec<(u16, f32)>],
    buffer: &'a mut Buffer,
}

impl Parts<'_> {
    fn primitives(&mut self, materials: &[Option<usize>]) -> Result<Vec<Value>, TooLarge> {
        let mesh = self.mesh;
        let mut parts: Vec<Part> = Vec::new();
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
                parts.push(Part::default());
                order.push(material);
                parts.len() - 1
            });
            let part = &mut parts[slot];
            let count = ufbx::triangulate_face(&mut corners, mesh, *face) as usize;
            for triangle in corners[..count * 3].chunks_exact_mut(3) {
                if is_flipped {
                    triangle.swap(1, 2);
                }
                for corner in triangle {
                    let corner = *corner as usize;
                    let key = self.key(corner);
                    let next = part.vertices.len() as u32;
                    let vertex = *part.known.entry(key).or_insert(next);
                    if vertex == next {
                        part.vertices.push((mesh.vertex_indices.get(corner).copied().unwrap_or(0), corner));
                        vertex_total += 1;
                        self.buffer.afford(vertex_total * 32)?;
                    }
                    part.triangles.push(vertex);
                }
            }
        }
        let mut all = Vec::new();
        for (part, material) in parts.into_iter().zip(order) {
            let mut primitive = self.primitive(&part, normals.as_ref())?;
            if let Some(material) = materials.get(material as usize).copied().flatten() {
                primitive["material"] = material.into();
            }
            all.push(primitive);
        }
        Ok(all)
    }

    /// Numbers that tell vertices apart.
    fn key(&self, corner: usize) -> Corner {
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

    fn primitive(&mut self, part: &Part, normals: Option<&Matrix>) -> Result<Value, TooLarge> {
        let mesh = self.mesh;
        let mut attributes = Map::new();
        let place = |v: Vec3| self.transform.map_or(v, |m| ufbx::transform_position(m, v));
        let turn = |v: Vec3, m: Option<&Matrix>| unit(m.map_or(v, |m| ufbx::transform_direction(m, v)));
        let positions = part.vertices.iter().map(|it| place(vertex(mesh, it.0)));
        let positions: Vec<f32> = positions.flat_map(three).collect();
        attributes.insert("POSITION".into(), self.buffer.attribute(Kind::Vec3, &positions, true)?.into());
        if mesh.vertex_normal.exists {
            let all = part.vertices.iter().map(|it| turn(at(&mesh.vertex_normal, it.1), normals));
            let all: Vec<f32> = all.flat_map(three).collect();
            attributes.insert("NORMAL".into(), self.buffer.attribute(Kind::Vec3, &all, false)?.into());
        }
        let tangents: Option<Vec<[f64; 4]>> = part.vertices.iter().map(|it| self.tangent(it.1)).collect();
        if let Some(tangents) = tangents.filter(|all| all.iter().all(is_tangent)) {
            let flip = self.transform.is_some_and(|m| ufbx::matrix_determinant(m) < 0.0);
            let all = tangents.into_iter().flat_map(|[x, y, z, sign]| {
                let t = three(turn(Vec3 { x, y, z }, self.transform));
                [t[0], t[1], t[2], if flip { -sign } else { sign } as f32]
            });
            let all: Vec<f32> = all.collect();
            attributes.insert("TANGENT".into(), self.buffer.attribute(Kind::Vec4, &all, false)?.into());
        }
        for (index, set) in mesh.uv_sets.iter().take(SETS).enumerate() {
            let uv = &set.vertex_uv;
            let value = |corner: usize| uv.indices.get(corner).and_then(|i| uv.values.get(*i as usize));
            // The origin of glTF is at the top.
            let all = part
                .vertices
                .iter()
                .flat_map(|it| value(it.1).map_or([0.0; 2], |v| [v.x as f32, (1.0 - v.y) as f32]));
            let all: Vec<f32> = all.collect();
            let index = format!("TEXCOORD_{index}");
            attributes.insert(index, self.buffer.attribute(Kind::Vec2, &all, false)?.into());
        }
        for (index, set) in mesh.color_sets.iter().take(SETS).enumerate() {
            let color = &set.vertex_color;
            let value = |corner: usize| color.indices.get(corner).and_then(|i| color.values.get(*i as usize));
            let all = part
                .vertices
                .iter()
                .flat_map(|it| value(it.1).map_or([1.0; 4], |v| [v.x, v.y, v.z, v.w].map(|v| v as f32)));
            let all: Vec<f32> = all.collect();
            let index = format!("COLOR_{index}");
            attributes.insert(index, self.buffer.attribute(Kind::Vec4, &all, false)?.into());
        }
        if !self.influences.is_empty() {
            self.influences(part, &mut attributes)?;
        }
        let indices = self.buffer.triangles(&part.triangles)?;
        let mut primitive = json!({"attributes": attributes, "indices": indices});
        let targets = self.targets(part, normals)?;
        if !targets.is_empty() {
            primitive["targets"] = targets.into();
        }
        Ok(primitive)
    }

    /// Joints and weights, in sets of four.
    fn influences(&mut self, part: &Part, attributes: &mut Map<String, Value>) -> Result<(), TooLarge> {
        let of = |vertex: u32| self.influences.get(vertex as usize).map_or(&[][..], |it| it);
        let most = part.vertices.iter().map(|it| of(it.0).len()).max().unwrap_or(0);
        for set in 0..most.div_ceil(4) {
            self.buffer.afford(part.vertices.len() * 24)?;
            let four = part.vertices.iter().flat_map(|it| {
                let own = of(it.0);
                (set * 4..set * 4 + 4).map(|i| own.get(i).copied().unwrap_or((0, 0.0)))
            });
            let (joints, weights): (Vec<u16>, Vec<f32>) = four.unzip();
            attributes.insert(format!("JOINTS_{set}"), self.buffer.joints(&joints)?.into());
            let weights = self.buffer.attribute(Kind::Vec4, &weights, false)?;
            attributes.insert(format!("WEIGHTS_{set}"), weights.into());
        }
        Ok(())
    }

    /// Morph targets of all blend shapes.
    fn targets(&mut self, part: &Part, normals: Option<&Matrix>) -> Result<Vec<Value>, TooLarge> {
        let mesh = self.mesh;
        if morphs::count(mesh) == 0 {
            return Ok(Vec::new());
        }
        // Vertices of the primitive, by vertex of the mesh.
        let mut copies: Vec<(u32, u32)> =
            part.vertices.iter().zip(0..).map(|(it, new)| (it.0, new)).collect();
        copies.sort_unstable();
        let mut all = Vec::new();
        for (shape, _) in morphs::shapes(mesh) {
            let mut moved: Vec<(u32, Vec3, Option<Vec3>)> = Vec::new();
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
                let normal = normal.map(|it| normals.map_or(it, |m| ufbx::transform_direction(m, it)));
                let first = copies.partition_point(|it| it.0 < *vertex);
                for copy in copies[first..].iter().take_while(|it| it.0 == *vertex) {
                    moved.push((copy.1, offset, normal));
                }
                self.buffer.afford(moved.len() * 16)?;
            }
            moved.sort_by_key(|it| it.0);
            moved.dedup_by_key(|it| it.0);
            let at: Vec<u32> = moved.iter().map(|it| it.0).collect();
            let count = part.vertices.len();
            let offsets: Vec<f32> = moved.iter().flat_map(|it| three(it.1)).collect();
            let mut target = json!({"POSITION": self.buffer.offsets(count, &at, &offsets, true)?});
            if mesh.vertex_normal.exists && !shape.normal_offsets.is_empty() {
                let offsets: Vec<f32> = moved.iter().flat_map(|it| three(it.2.unwrap_or_default())).collect();
                target["NORMAL"] = self.buffer.offsets(count, &at, &offsets, false)?.into();
            }
            all.push(target);
        }
        Ok(all)
    }
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

fn is_near(a: &Matrix, b: &Matrix) -> bool {
    let row =
        |m: &Matrix| [m.m00, m.m10, m.m20, m.m01, m.m11, m.m21, m.m02, m.m12, m.m22, m.m03, m.m13, m.m23];
    row(a).iter().zip(row(b)).all(|(a, b)| (a - b).abs() <= 1e-6 * (1.0 + b.abs()))
}

/// Weights of a mesh, with 0 for those that JSON cannot hold.
fn finite(weights: Vec<f64>) -> Vec<f32> {
    weights.into_iter().map(|it| it as f32).map(|it| if it.is_finite() { it } else { 0.0 }).collect()
}
