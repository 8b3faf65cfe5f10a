//! Meshes, palettes, skinning and morphing.

use std::ptr::{null, null_mut};

use capi::*;

use crate::World;
use crate::output::{Output, Sized};
use crate::pool::Handle;

impl World<'_> {
    pub(crate) fn mesh(&mut self) {
        match self.input.below(12) {
            0 => self.new_mesh(),
            1 => self.mesh_properties(),
            2 => {
                let mesh = any!(self, meshes);
                make!(self, palettes, condyle_palette_new(self.at(mesh); out));
            }
            3 | 4 => self.fill_palette(),
            5 | 6 => self.write_palette(),
            7..9 => self.skin(),
            9 | 10 => self.skin_interleaved(),
            _ => self.morph(),
        }
    }

    fn new_mesh(&mut self) {
        let skeleton = any!(self, skeletons);
        let joints = self.joints_of(skeleton);
        let (right, palette) = (self.input.below(24), self.input.below(6));
        let (vertex_count, palette_count) = (self.count(right), self.count(palette));
        let per_vertex = self.input.below(5);
        let room = |count: usize| if count > 1 << 20 { 1 } else { count };
        let vertices = room(vertex_count);
        let positions = self.input.list(3 * vertices);
        let [has_normals, has_tangents] = [self.input.one_in(2), self.input.one_in(2)];
        let normals = self.input.list(if has_normals { 3 * vertices } else { 0 });
        let tangents = self.input.list(if has_tangents { 4 * vertices } else { 0 });
        let influence_joints: Vec<u16> =
            (0..vertices * per_vertex).map(|_| self.input.joint(room(palette_count))).collect();
        let influence_weights: Vec<f32> =
            (0..vertices * per_vertex).map(|_| self.input.number().abs()).collect();
        let triangles = 3 * self.input.below(8);
        let index_count = self.count(triangles);
        let indices: Vec<u32> =
            (0..room(index_count)).map(|_| u32::from(self.input.joint(vertices.max(1)))).collect();
        let palette_joints: Vec<u16> = (0..room(palette_count)).map(|_| self.input.joint(joints)).collect();
        let inverse_bind: Vec<_> = (0..room(palette_count)).map(|_| self.input.matrix()).collect();
        let influence_count = vertices * per_vertex;
        let right = self.input.below(3);
        let target_count = self.count(right);
        let deltas = self.input.list(3 * vertices);
        let targets: Vec<_> = (0..room(target_count))
            .map(|_| condyle_morph_target {
                positions: if self.input.one_in(3) { null() } else { deltas.as_ptr() },
                normals: if self.input.one_in(2) { null() } else { deltas.as_ptr() },
                tangents: null(),
            })
            .collect();
        let weights = self.input.list(targets.len());
        let name = self.input.one_in(2);
        let options = condyle_mesh_options {
            size: self.size::<condyle_mesh_options>(),
            vertices: condyle_const_vertices {
                vertex_count,
                positions: self.array(&positions, vertex_count),
                normals: if has_normals { normals.as_ptr() } else { null() },
                tangents: if has_tangents { tangents.as_ptr() } else { null() },
            },
            indices: self.array(&indices, index_count),
            index_count,
            influence_joints: self.array(&influence_joints, influence_count),
            influence_weights: self.array(&influence_weights, influence_count),
            influences_per_vertex: per_vertex,
            palette_joints: self.array(&palette_joints, palette_count),
            inverse_bind: self.array(&inverse_bind, palette_count),
            palette_count,
            name: if name { c"mesh".as_ptr() } else { null() },
            morph_targets: self.array(&targets, target_count),
            morph_weights: if self.input.one_in(2) { null() } else { self.array(&weights, target_count) },
            morph_target_count: target_count,
        };
        let skeleton = self.at(skeleton);
        make!(self, meshes, condyle_mesh_new(skeleton, self.at(&raw const options); out));
    }

    /// Meshes for a call that takes `count` of them; null pointers without meshes.
    pub(crate) fn mesh_list(&mut self, count: usize) -> Vec<*const condyle_mesh> {
        let mut list = Vec::new();
        for _ in 0..if count > 1 << 20 { 1 } else { count } {
            let at = self.input.below(self.pools.meshes.len());
            let mesh = self.pools.meshes.get(at).map_or(null(), |found| found.pointer.cast_const());
            list.push(self.at(mesh));
        }
        list
    }

    fn mesh_properties(&mut self) {
        let mesh = any!(self, meshes);
        let mut info = Sized::<condyle_mesh_info>::new(self);
        let ok = call!(self, condyle_mesh_get_info(self.at(mesh), self.at_mut(info.pointer())));
        info.check(ok, "condyle_mesh_get_info");
    }

    /// Properties of a mesh.
    pub(crate) fn mesh_info(&mut self, mesh: *const condyle_mesh) -> MeshInfo {
        self.aside(|world| {
            let mut info = Sized::<condyle_mesh_info>::exact();
            assert!(call!(world, condyle_mesh_get_info(mesh, info.pointer())));
            let it = info.get();
            let &largest = it.palette_joints().iter().max().unwrap_or(&0);
            MeshInfo {
                vertex_count: it.vertices.vertex_count,
                palette_count: it.palette_count,
                morph_target_count: it.morph_target_count,
                joint_count: usize::from(largest) + 1,
            }
        })
    }

    fn fill_palette(&mut self) {
        let (mesh, palette) = (any!(self, meshes), any!(self, palettes));
        let right = self.joints_for(mesh);
        let count = self.count(right);
        let (model, kind) = (self.model(count), self.input.constant(3));
        let (mesh, model) = (self.at(mesh), self.array(&model, count));
        call!(self, condyle_palette_fill(mesh, model, count, kind, self.at_mut(palette)));
    }

    fn write_palette(&mut self) {
        let mesh = any!(self, meshes);
        let (right, palette) = (self.joints_for(mesh), self.mesh_info(mesh).palette_count);
        let (count, palette_count) = (self.count(right), self.count(palette));
        let mut model = self.model(count);
        let overlaps =
            self.input.one_in(8) && model.len() == count && count >= palette_count && palette_count > 0;
        if self.input.one_in(2) {
            let mut rows = Output::<condyle_matrix>::new(palette_count);
            if overlaps {
                self.misuse.must_fail = true;
                let read = model.as_mut_ptr();
                call!(self, condyle_palette_rows(mesh, read, count, read, palette_count));
                return;
            }
            let (mesh, model) = (self.at(mesh), self.array(&model, count));
            let out = self.output_array(&mut rows, palette_count);
            let ok = call!(self, condyle_palette_rows(mesh, model, count, out, palette_count));
            rows.check(ok, "condyle_palette_rows");
        } else {
            let mut columns = Output::<condyle_columns>::new(palette_count);
            if overlaps {
                self.misuse.must_fail = true;
                let (read, at) = (model.as_mut_ptr(), 12 * self.input.below(count));
                let inside = read.cast::<f32>().wrapping_add(at).cast();
                call!(self, condyle_palette_columns(mesh, read, count, inside, palette_count));
                return;
            }
            let (mesh, model) = (self.at(mesh), self.array(&model, count));
            let out = self.output_array(&mut columns, palette_count);
            let ok = call!(self, condyle_palette_columns(mesh, model, count, out, palette_count));
            columns.check(ok, "condyle_palette_columns");
        }
    }

    fn skin(&mut self) {
        let (mesh, palette) = (any!(self, meshes), any!(self, palettes));
        let right = self.mesh_info(mesh).vertex_count;
        // An absent source is not read, so its misuse would not be refused.
        let has_bind = self.input.one_in(2);
        let mut bind = if has_bind { Some(Planes::new(self, right)) } else { None };
        let mut posed = Planes::new(self, right);
        let read = bind.as_mut().map(|bind| bind.input(self));
        let read = read.as_ref().map_or(null(), |read| self.present(read));
        let mut written = posed.output(self);
        if self.input.one_in(8) && posed.count > 0 && written.vertex_count == posed.count {
            self.misuse.must_fail = true;
            match self.input.below(2) {
                0 => written.normals = written.positions,
                _ => written.tangents = written.positions,
            }
        }
        let (mesh, palette) = (self.at(mesh), self.at(palette));
        let ok = call!(self, condyle_skin(mesh, palette, read, self.at(&raw const written)));
        posed.check(ok, "condyle_skin");
    }

    fn skin_interleaved(&mut self) {
        let (mesh, palette) = (any!(self, meshes), any!(self, palettes));
        let right = self.mesh_info(mesh).vertex_count;
        let layout = self.layout();
        let byte_count = self.count(right.saturating_mul(layout.stride).min(1 << 16));
        let room = if byte_count > 1 << 20 { 1 } else { byte_count };
        let mut bytes = Output::<u8>::new(byte_count);
        let source = vec![0x3f_u8; room].into_boxed_slice();
        let source_layout = if self.input.one_in(4) { self.layout() } else { layout };
        let bind = condyle_const_vertex_buffer {
            bytes: self.array(&source, byte_count),
            byte_count,
            layout: source_layout,
        };
        let mut posed = condyle_vertex_buffer { bytes: bytes.pointer(), byte_count, layout };
        let bind_at = self.optional(&raw const bind);
        if bind_at.is_null() {
            // A spoiled source is not read.
            self.misuse.must_fail = byte_count > 1 << 20;
        } else if self.input.one_in(8) && !self.misuse.must_fail && byte_count > 0 {
            self.misuse.must_fail = true;
            posed.bytes = bind.bytes.cast_mut();
        }
        if posed.bytes == bytes.pointer() && byte_count > 0 {
            posed.bytes = self.at_mut(posed.bytes);
        }
        let (mesh, palette) = (self.at(mesh), self.at(palette));
        let ok = call!(self, condyle_skin_interleaved(mesh, palette, bind_at, self.at(&raw const posed)));
        bytes.check(ok, "condyle_skin_interleaved");
    }

    fn layout(&mut self) -> condyle_vertex_layout {
        if self.input.one_in(8) {
            let mut any = || self.input.pick(&[0, 1, 12, 16, 40, usize::MAX - 1, CONDYLE_NO_ATTRIBUTE]);
            return condyle_vertex_layout { stride: any(), position: any(), normal: any(), tangent: any() };
        }
        let none = CONDYLE_NO_ATTRIBUTE;
        let gap = self.input.below(4);
        let (stride, normal, tangent) =
            self.input.pick(&[(12, none, none), (24, 12, none), (40, 12, 24), (28, none, 12)]);
        let moved = |offset: usize| if offset == none { none } else { offset + gap };
        condyle_vertex_layout {
            stride: stride + gap + self.input.below(3),
            position: gap,
            normal: moved(normal),
            tangent: moved(tangent),
        }
    }

    fn morph(&mut self) {
        let mesh = any!(self, meshes);
        let info = self.mesh_info(mesh);
        let count = self.count(info.morph_target_count);
        let weights = self.input.list(if count > 1 << 20 { 1 } else { count });
        let mut morphed = Planes::new(self, info.vertex_count);
        let written = morphed.output(self);
        let (mesh, weights) = (self.at(mesh), self.array(&weights, count));
        let ok = call!(self, condyle_morph(mesh, weights, count, self.at(&raw const written)));
        morphed.check(ok, "condyle_morph");
    }

    /// Number of matrices for a mesh: mostly those of a skeleton that it fits.
    fn joints_for(&mut self, mesh: *const condyle_mesh) -> usize {
        let needed = self.mesh_info(mesh).joint_count;
        let at = self.input.below(self.pools.skeletons.len());
        match self.pools.skeletons.get(at).copied() {
            Some(skeleton) => self.joints_of(skeleton.pointer).max(needed),
            None => needed,
        }
    }
}

/// Numbers of elements of a mesh.
pub(crate) struct MeshInfo {
    pub(crate) vertex_count: usize,
    pub(crate) palette_count: usize,
    pub(crate) morph_target_count: usize,
    /// Smallest number of joints that has all joints of the palette.
    pub(crate) joint_count: usize,
}

/// Joints of the palette of a mesh.
trait PaletteJoints {
    fn palette_joints(&self) -> &[u16];
}

impl PaletteJoints for condyle_mesh_info {
    fn palette_joints(&self) -> &[u16] {
        if self.palette_joints.is_null() {
            return &[];
        }
        // SAFETY: an array of the mesh, which outlives this structure.
        unsafe { std::slice::from_raw_parts(self.palette_joints, self.palette_count) }
    }
}

/// Arrays of vertices, each of which may be absent.
struct Planes {
    count: usize,
    positions: Output<[f32; 3]>,
    normals: Option<Output<[f32; 3]>>,
    tangents: Option<Output<[f32; 4]>>,
}

impl Planes {
    fn new(world: &mut World<'_>, right: usize) -> Self {
        let count = world.count(right);
        let [has_normals, has_tangents] = [world.input.one_in(2), world.input.one_in(2)];
        Self {
            count,
            positions: Output::new(count),
            normals: has_normals.then(|| Output::new(count)),
            tangents: has_tangents.then(|| Output::new(count)),
        }
    }

    /// Arrays to be read: the bytes of `Output::new` are numbers.
    fn input(&mut self, world: &mut World<'_>) -> condyle_const_vertices {
        let it = self.output(world);
        let (vertex_count, positions) = (it.vertex_count, it.positions);
        condyle_const_vertices { vertex_count, positions, normals: it.normals, tangents: it.tangents }
    }

    fn output(&mut self, world: &mut World<'_>) -> condyle_vertices {
        let positions = world.output_array(&mut self.positions, self.count).cast();
        let normals = self.normals.as_mut().map_or(null_mut(), |it| it.pointer().cast());
        let tangents = self.tangents.as_mut().map_or(null_mut(), |it| it.pointer().cast());
        condyle_vertices { vertex_count: self.count, positions, normals, tangents }
    }

    fn check(&self, ok: bool, function: &str) {
        self.positions.check(ok, function);
        if let Some(normals) = &self.normals {
            normals.check(ok, function);
        }
        if let Some(tangents) = &self.tangents {
            tangents.check(ok, function);
        }
    }
}
