//! Objects, where each of them is skinned, and the work of a frame.

use clap::ValueEnum;
use condyle::skinning::InterleavedMut;
use condyle::{
    Affine, Error, Influences, Looping, NormalRule, Palette, Pose, local_to_model, palette, sample, skin,
};

use crate::character::{Character, LAYOUT, Mesh, SECONDS, Vertex};
use crate::compare::Compared;
use crate::gpu::{Buffers, Failure, Gpu, Part};
use crate::packed::JointFormat;
use crate::palettes::{MatrixFormat, Palettes};

/// Where an object is skinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Skinner {
    /// CPU, if it needs the vertices too, for example for hit tests, or if the GPU is busy
    Cpu,
    /// GPU, if the vertices are only drawn
    Gpu,
}

/// Instances of one mesh, each at a separate time of the clip.
pub(crate) struct Object {
    pub(crate) name: &'static str,
    /// May change between frames: there is memory for both, and the vertices end up in the same place.
    pub(crate) skinner: Skinner,
    /// Index in the meshes of the scene.
    mesh: usize,
    /// Time offset of each instance in seconds.
    ahead: Vec<f32>,
    /// Index of the first instance among all instances.
    first_instance: usize,
}

impl Object {
    pub(crate) fn instances(&self) -> usize {
        self.ahead.len()
    }
}

/// Indices of the meshes in the scene.
pub(crate) const STICK: usize = 0;
pub(crate) const BODY: usize = 1;
/// Mesh without vertices.
pub(crate) const EMPTY: usize = 2;

/// Objects, and the memory of a frame.
pub(crate) struct Scene {
    character: Character,
    meshes: Vec<Mesh>,
    pub(crate) objects: Vec<Object>,
    joints: JointFormat,
    poses: Vec<Pose>,
    /// Model matrices of all instances of all objects.
    models: Vec<Affine>,
    matrices: Palette,
    palettes: Palettes,
    posed: Vec<Vertex>,
}

impl Scene {
    /// Creates objects from name, skinner, mesh and number of instances.
    ///
    /// # Errors
    /// The errors of the library.
    pub(crate) fn new(
        objects: &[(&'static str, Skinner, usize, usize)],
        joints: JointFormat,
        matrices: MatrixFormat,
    ) -> Result<Self, Error> {
        let character = Character::new()?;
        let empty = Mesh::new(vec![], Influences::rigid(0), joints)?;
        let meshes = vec![character.stick(joints)?, character.body(joints)?, empty];
        let mut first_instance = 0;
        let object = |&(name, skinner, mesh, instances): &(&'static str, Skinner, usize, usize)| {
            let ahead = (0..instances).map(|at| SECONDS * at as f32 / instances as f32).collect();
            let own = Object { name, skinner, mesh, ahead, first_instance };
            first_instance += instances;
            own
        };
        let objects: Vec<Object> = objects.iter().map(object).collect();
        let most = objects.iter().map(Object::instances).max().unwrap_or(0);
        Ok(Self {
            poses: vec![Pose::rest(&character.skeleton); most],
            models: vec![Affine::IDENTITY; first_instance * character.skeleton.joint_count()],
            matrices: Palette::default(),
            palettes: Palettes::new(matrices, first_instance, &character.skin),
            posed: Vec::new(),
            character,
            meshes,
            objects,
            joints,
        })
    }

    /// Replaces the influences of the body.
    #[cfg(test)]
    pub(crate) fn set_body(&mut self, influences: Influences) -> Result<(), Error> {
        let vertices = self.meshes[BODY].vertices.clone();
        self.meshes[BODY] = Mesh::new(vertices, influences, self.joints)?;
        Ok(())
    }

    pub(crate) fn mesh_of(&self, object: &Object) -> &Mesh {
        &self.meshes[object.mesh]
    }

    pub(crate) fn load(&self, gpu: &Gpu) -> Buffers {
        let part = |object: &Object| Part { mesh: object.mesh, instances: object.instances() as u32 };
        let parts: Vec<Part> = self.objects.iter().map(part).collect();
        let meshes: Vec<&Mesh> = self.meshes.iter().collect();
        gpu.load(&meshes, &parts, self.joints, &self.palettes)
    }

    /// Poses all objects, and skins each on the CPU or the GPU.
    ///
    /// # Errors
    /// The errors of the library.
    pub(crate) fn frame(&mut self, gpu: &Gpu, buffers: &Buffers, seconds: f64) -> Result<(), Error> {
        let Self { character: Character { skeleton, skin: bound, clip }, palettes, .. } = self;
        let joints = skeleton.joint_count();
        for (at, object) in self.objects.iter().enumerate() {
            let count = object.instances();
            let poses = &mut self.poses[..count];
            let models = &mut self.models[joints * object.first_instance..][..joints * count];
            for ((ahead, pose), model) in object.ahead.iter().zip(poses).zip(models.chunks_mut(joints)) {
                let at = clip.moment(Looping::Wrap, seconds + f64::from(*ahead))?;
                sample(clip, skeleton, at, pose)?;
                local_to_model(skeleton, pose, model)?;
            }

            // The only place that distinguishes CPU and GPU.
            match object.skinner {
                Skinner::Cpu => {
                    let mesh = &self.meshes[object.mesh];
                    let size = mesh.vertices.len();
                    self.posed.resize(count * size, Vertex { position: [0.0; 3], normal: [0.0; 3] });
                    let posed = self.posed.chunks_mut(size.max(1));
                    for (model, posed) in models.chunks(joints).zip(posed) {
                        // The same rule as in the shader. `NormalRule::default()` is better for non-uniform
                        // scales.
                        palette(bound, model, NormalRule::Plain, &mut self.matrices)?;
                        let to = InterleavedMut { bytes: bytemuck::cast_slice_mut(posed), layout: LAYOUT };
                        skin(&mesh.packed.rounded, &self.matrices, mesh.bind(), to)?;
                    }
                    gpu.write_vertices(buffers, at, &self.posed);
                }
                Skinner::Gpu => palettes.write(object.first_instance, bound, skeleton, models)?,
            }
        }
        let on_gpu = self.objects.iter().enumerate().filter(|(_, object)| object.skinner == Skinner::Gpu);
        gpu.skin(buffers, palettes, on_gpu.map(|(at, _)| at));
        Ok(())
    }

    /// Compares the drawn vertices of each object in the last frame with `skin`.
    ///
    /// # Errors
    /// The errors of the library, or vertices that cannot be read back.
    pub(crate) fn compare(
        &self,
        gpu: &Gpu,
        buffers: &Buffers,
        compared: &mut [Compared],
    ) -> Result<(), Failure> {
        let drawn = gpu.read(buffers)?;
        let joints = self.character.skeleton.joint_count();
        for ((at, object), compared) in self.objects.iter().enumerate().zip(compared) {
            let mesh = &self.meshes[object.mesh];
            let models = self.models[joints * object.first_instance..].chunks(joints);
            let instances = drawn[buffers.posed_of(at)].chunks(mesh.vertices.len().max(1));
            let on_cpu = object.skinner == Skinner::Cpu;
            for (drawn, model) in instances.zip(models) {
                compared.take(drawn, mesh, &self.character.skin, model, on_cpu)?;
            }
        }
        Ok(())
    }
}
