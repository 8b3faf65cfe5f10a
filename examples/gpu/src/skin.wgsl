// Linear blend skinning with four influences, as in `condyle::skin`: a vertex times the weighted sum of four
// joint matrices.
//
// This is a compute shader, so the result can be read back, and is computed once for all passes (depth,
// shadows). In a vertex shader only the inputs and outputs differ: `bound` and `influences` are attributes
// that the vertex buffer formats unpack,
//
//   @location(0) position: vec3<f32>,   Float32x3
//   @location(1) normal: vec3<f32>,     Float32x3
//   @location(2) joints: vec4<u32>,     Uint8x4 or Uint16x4
//   @location(3) weights: vec4<f32>,    Unorm8x4
//
// the instance is `@builtin(instance_index)`, and the results go to clip space and to the fragment shader.

/// One object: some instances of a mesh.
struct Part {
    /// Offset of the mesh's vertices in `bound`, `joints` and `weights`, and their number.
    first_bound: u32,
    vertex_count: u32,
    /// Offset of the first instance in `posed`. The other instances follow.
    first_posed: u32,
    /// Offset of the first palette.
    first_matrix: u32,
    /// Joints of the skin.
    matrix_count: u32,
}

// Arrays, because a `vec3<f32>` would be aligned to 16 bytes.
struct Vertex {
    position: array<f32, 3>,
    normal: array<f32, 3>,
}

@group(0) @binding(0) var<uniform> part: Part;
@group(0) @binding(1) var<storage, read> bound: array<Vertex>;
@group(0) @binding(2) var<storage, read> joints: array<u32>;
@group(0) @binding(3) var<storage, read> weights: array<u32>;
@group(0) @binding(4) var<storage, read_write> posed: array<Vertex>;
// Palettes of all instances of all objects, written by `palette_columns` or `palette_rows`. Each entry point
// uses one.
@group(0) @binding(5) var<storage, read> columns: array<mat4x4<f32>>;
@group(0) @binding(5) var<storage, read> rows: array<mat3x4<f32>>;

/// Words of the four joint indices of a vertex: 1 with eight bits, 2 with sixteen.
override JOINT_WORDS: u32 = 1;

/// Must match `gpu.rs`.
const WORKGROUP_SIZE = 64;

/// Indices of a vertex's matrices in the palettes.
fn matrices_of(vertex: u32, instance: u32) -> vec4<u32> {
    let first = part.first_matrix + instance * part.matrix_count;
    if JOINT_WORDS == 1 {
        return first + unpack4xU8(joints[vertex]);
    }
    let low = joints[2 * vertex];
    let high = joints[2 * vertex + 1];
    return first + vec4<u32>(low & 0xffff, low >> 16, high & 0xffff, high >> 16);
}

fn position_of(vertex: u32) -> vec4<f32> {
    let p = bound[vertex].position;
    return vec4<f32>(p[0], p[1], p[2], 1.0);
}

fn normal_of(vertex: u32) -> vec4<f32> {
    let n = bound[vertex].normal;
    return vec4<f32>(n[0], n[1], n[2], 0.0);
}

/// Normalises a normal. Returns zero if it has no direction.
fn store(vertex: u32, instance: u32, position: vec3<f32>, normal: vec3<f32>) {
    let unit = normal * inverseSqrt(max(dot(normal, normal), 1.2e-38));
    let at = part.first_posed + instance * part.vertex_count + vertex;
    posed[at].position = array<f32, 3>(position.x, position.y, position.z);
    posed[at].normal = array<f32, 3>(unit.x, unit.y, unit.z);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn skin_columns(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= part.vertex_count {
        return;
    }
    let vertex = part.first_bound + id.x;
    let joint = matrices_of(vertex, id.y);
    let weight = unpack4x8unorm(weights[vertex]);
    let blended = columns[joint.x] * weight.x + columns[joint.y] * weight.y
        + columns[joint.z] * weight.z + columns[joint.w] * weight.w;
    let position = blended * position_of(vertex);
    // Correct unless a joint has different scales along its axes, as documented for `NormalRule::Plain`.
    // Otherwise the matrices of `Palette::normal_matrices` form a second palette, blended in the same way.
    let normal = blended * normal_of(vertex);
    store(id.x, id.y, position.xyz, normal.xyz);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn skin_rows(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= part.vertex_count {
        return;
    }
    let vertex = part.first_bound + id.x;
    let joint = matrices_of(vertex, id.y);
    let weight = unpack4x8unorm(weights[vertex]);
    let blended = rows[joint.x] * weight.x + rows[joint.y] * weight.y
        + rows[joint.z] * weight.z + rows[joint.w] * weight.w;
    // The columns of this type are the rows of the matrix, so vectors stand on its left.
    store(id.x, id.y, position_of(vertex) * blended, normal_of(vertex) * blended);
}
