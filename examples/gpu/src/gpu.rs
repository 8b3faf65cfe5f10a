//! All wgpu code: the adapter, the buffers that all objects share, and the compute shader that skins them.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use clap::ValueEnum;
use wgpu::util::{BufferInitDescriptor, DeviceExt};
use wgpu::{
    Adapter, Backends, BindGroup, BindGroupDescriptor, BindGroupEntry, BindingResource, Buffer,
    BufferBinding, BufferDescriptor, BufferUsages, CommandEncoderDescriptor, ComputePassDescriptor,
    ComputePipeline, ComputePipelineDescriptor, Device, DeviceDescriptor, DeviceType, Instance,
    InstanceDescriptor, MapMode, PipelineCompilationOptions, PollType, Queue, include_wgsl,
};

use crate::character::{Mesh, Vertex};
use crate::packed::JointFormat;
use crate::palettes::{MatrixFormat, Palettes};

/// Error for the user.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// Requested adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wanted {
    /// A GPU only
    Real,
    /// A software adapter
    Software,
    /// A GPU if available, otherwise software
    Any,
}

/// Must match `skin.wgsl`.
const WORKGROUP_SIZE: u32 = 64;

/// Device with its queue and adapter name.
pub(crate) struct Gpu {
    device: Device,
    queue: Queue,
    /// Name of the adapter.
    pub(crate) name: String,
    /// Whether the adapter runs on the CPU.
    pub(crate) software: bool,
}

/// Object on the GPU: some instances of one mesh.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    /// Index in the list of meshes.
    pub(crate) mesh: usize,
    pub(crate) instances: u32,
}

/// Uniform data of a part, in the layout of the shader.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct PartNumbers {
    first_bound: u32,
    vertex_count: u32,
    first_posed: u32,
    first_matrix: u32,
    matrix_count: u32,
}

/// Buffers of all objects.
pub(crate) struct Buffers {
    pipeline: ComputePipeline,
    palettes: Buffer,
    /// Vertices to draw, written by the CPU or the GPU.
    posed: Buffer,
    /// Number of vertices. The buffer may be larger, because wgpu has no empty buffers.
    posed_count: usize,
    parts: Vec<(BindGroup, Part, PartNumbers)>,
}

impl Buffers {
    /// Range of the posed vertices of a part, one instance after another.
    pub(crate) fn posed_of(&self, part: usize) -> Range<usize> {
        let (_, Part { instances, .. }, numbers) = &self.parts[part];
        let first = numbers.first_posed as usize;
        first..first + *instances as usize * numbers.vertex_count as usize
    }
}

impl Gpu {
    /// Opens a device.
    ///
    /// # Errors
    /// A message with the package to install, if there is no such adapter.
    pub(crate) fn new(wanted: Wanted) -> Result<Self, Failure> {
        pollster::block_on(Self::open(wanted))
    }

    async fn open(wanted: Wanted) -> Result<Self, Failure> {
        let instance = Instance::new(InstanceDescriptor::new_without_display_handle());
        let found = instance.enumerate_adapters(Backends::all()).await;
        let adapter = choose(found, wanted).ok_or_else(|| missing(wanted))?;
        let (device, queue) = adapter.request_device(&DeviceDescriptor::default()).await?;
        let info = adapter.get_info();
        Ok(Self { device, queue, name: info.name, software: info.device_type == DeviceType::Cpu })
    }

    /// Uploads constant data and allocates the buffers for changing data. All objects share a few buffers, so
    /// only the uniform with their offsets is bound again for each object.
    pub(crate) fn load(
        &self,
        meshes: &[&Mesh],
        parts: &[Part],
        joints: JointFormat,
        palettes: &Palettes,
    ) -> Buffers {
        let join = |bytes: fn(&Mesh) -> &[u8]| meshes.iter().copied().flat_map(bytes).copied().collect();
        let bound: Vec<u8> = join(|mesh| bytemuck::cast_slice(&mesh.vertices));
        let joint_bytes: Vec<u8> = join(|mesh| &mesh.packed.joints);
        let weights: Vec<u8> = join(|mesh| mesh.packed.weights.as_flattened());

        let numbers = part_numbers(meshes, parts, palettes.matrices_of_one());
        let last = numbers.last().zip(parts.last());
        let posed_count =
            last.map_or(0, |(n, part)| (n.first_posed + part.instances * n.vertex_count) as usize);
        let storage = BufferUsages::STORAGE;
        // An engine adds `VERTEX`.
        let posed = self.room("posed", posed_count * size_of::<Vertex>(), storage | BufferUsages::COPY_SRC);
        let palette_buffer = self.room("palettes", palettes.as_bytes().len(), storage);
        let in_order = [
            &self.filled("bound", &bound, storage),
            &self.filled("joints", &joint_bytes, storage),
            &self.filled("weights", &weights, storage),
            &posed,
            &palette_buffer,
        ];

        let pipeline = self.pipeline(joints, palettes.format());
        let bind_group = |numbers: &PartNumbers| {
            let uniform = self.filled("part", bytemuck::bytes_of(numbers), BufferUsages::UNIFORM);
            let buffers = std::iter::once(&uniform).chain(in_order);
            let entries: Vec<_> = (0..)
                .zip(buffers)
                .map(|(binding, buffer)| BindGroupEntry { binding, resource: whole(buffer) })
                .collect();
            self.device.create_bind_group(&BindGroupDescriptor {
                label: Some("part"),
                layout: &pipeline.get_bind_group_layout(0),
                entries: &entries,
            })
        };
        let with_group = |(part, numbers): (&Part, &PartNumbers)| (bind_group(numbers), *part, *numbers);
        let parts = parts.iter().zip(&numbers).map(with_group).collect();
        Buffers { pipeline, palettes: palette_buffer, posed, posed_count, parts }
    }

    fn pipeline(&self, joints: JointFormat, matrices: MatrixFormat) -> ComputePipeline {
        let entry_point = match matrices {
            MatrixFormat::Columns => "skin_columns",
            MatrixFormat::Rows => "skin_rows",
        };
        self.device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: Some("skin"),
            layout: None,
            module: &self.device.create_shader_module(include_wgsl!("skin.wgsl")),
            entry_point: Some(entry_point),
            compilation_options: PipelineCompilationOptions {
                constants: &[("JOINT_WORDS", joints.words().into())],
                ..Default::default()
            },
            cache: None,
        })
    }

    fn filled(&self, label: &str, bytes: &[u8], usage: BufferUsages) -> Buffer {
        // No buffer may be empty, even if no object has a vertex.
        let contents = if bytes.is_empty() { &[0; 64] } else { bytes };
        self.device.create_buffer_init(&BufferInitDescriptor { label: Some(label), contents, usage })
    }

    fn room(&self, label: &str, bytes: usize, usage: BufferUsages) -> Buffer {
        self.device.create_buffer(&BufferDescriptor {
            label: Some(label),
            size: bytes.max(64) as u64,
            usage: usage | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }

    /// Uploads the skinned vertices of a part.
    ///
    /// wgpu does not expose mapped memory as a slice, because reading it may be slow. `skin` therefore writes
    /// to memory that is kept for the next frame. With an API that exposes mapped memory, `skin` can write to
    /// it without a copy, because it never reads its output.
    pub(crate) fn write_vertices(&self, buffers: &Buffers, part: usize, vertices: &[Vertex]) {
        let offset = (buffers.posed_of(part).start * size_of::<Vertex>()) as u64;
        self.queue.write_buffer(&buffers.posed, offset, bytemuck::cast_slice(vertices));
    }

    /// Uploads all palettes, and runs the shader for these parts.
    pub(crate) fn skin(
        &self,
        buffers: &Buffers,
        palettes: &Palettes,
        parts: impl IntoIterator<Item = usize>,
    ) {
        self.queue.write_buffer(&buffers.palettes, 0, palettes.as_bytes());
        let mut encoder = self.device.create_command_encoder(&CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        pass.set_pipeline(&buffers.pipeline);
        for part in parts {
            let (bind_group, Part { instances, .. }, numbers) = &buffers.parts[part];
            pass.set_bind_group(0, bind_group, &[]);
            pass.dispatch_workgroups(numbers.vertex_count.div_ceil(WORKGROUP_SIZE), *instances, 1);
        }
        drop(pass);
        self.queue.submit([encoder.finish()]);
    }

    /// Reads back the vertices to draw. This waits for the GPU, and serves only for the comparison.
    pub(crate) fn read(&self, buffers: &Buffers) -> Result<Vec<Vertex>, Failure> {
        let size = buffers.posed.size();
        let copy = self.device.create_buffer(&BufferDescriptor {
            label: Some("copy"),
            size,
            usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(&buffers.posed, 0, &copy, 0, size);
        self.queue.submit([encoder.finish()]);
        // On failure, `get_mapped_range` below returns the error.
        copy.map_async(MapMode::Read, .., |_| ());
        self.device.poll(PollType::wait_indefinitely())?;
        let bytes = copy.get_mapped_range(..)?;
        let bytes = bytes.get(..buffers.posed_count * size_of::<Vertex>()).unwrap_or_default();
        Ok(bytemuck::pod_collect_to_vec(bytes))
    }
}

fn whole(buffer: &Buffer) -> BindingResource<'_> {
    BindingResource::Buffer(BufferBinding { buffer, offset: 0, size: None })
}

fn part_numbers(meshes: &[&Mesh], parts: &[Part], matrix_count: u32) -> Vec<PartNumbers> {
    let (mut first_posed, mut first_matrix) = (0, 0);
    let number = |part: &Part| {
        let before: usize = meshes[..part.mesh].iter().map(|mesh| mesh.vertices.len()).sum();
        let vertex_count = meshes[part.mesh].vertices.len() as u32;
        let own =
            PartNumbers { first_bound: before as u32, vertex_count, first_posed, first_matrix, matrix_count };
        first_posed += part.instances * vertex_count;
        first_matrix += part.instances * matrix_count;
        own
    };
    parts.iter().map(number).collect()
}

/// Adapter of the fastest kind.
fn choose(found: Vec<Adapter>, wanted: Wanted) -> Option<Adapter> {
    let place = |adapter: &Adapter| match adapter.get_info().device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    };
    let fits = |adapter: &Adapter| match wanted {
        Wanted::Real => place(adapter) < 4,
        Wanted::Software => place(adapter) == 4,
        Wanted::Any => true,
    };
    found.into_iter().filter(fits).min_by_key(place)
}

fn missing(wanted: Wanted) -> String {
    match wanted {
        Wanted::Real => {
            "no GPU with a Vulkan driver: install the driver of the manufacturer, or use `--adapter software`"
                .into()
        }
        Wanted::Software | Wanted::Any => {
            let what = if wanted == Wanted::Any { "no Vulkan adapter" } else { "no software adapter" };
            format!(
                "{what}: install the Mesa driver, on Debian and Ubuntu for example with \
                 `apt-get install mesa-vulkan-drivers`"
            )
        }
    }
}
