//! Loads a file with ufbx: metres, +Y up, and limits in proportion to the file.

use ufbx::{
    AllocatorOpts, CoordinateAxes, GeometryTransformHandling, InheritModeHandling, LoadOpts, MirrorAxis,
    PivotHandling, SceneRoot, SpaceConversion,
};

/// Depth of the node hierarchy. Characters have fewer than 100 levels; a test file of ufbx has 10,000.
const DEPTH: u32 = 1 << 14;

/// Memory for a file of `len` bytes. The arrays of a binary file are compressed, at most 1000:1; those of
/// real files take up to 30 times their bytes once loaded.
pub(crate) fn memory(len: usize) -> usize {
    (64 << 20) + len.saturating_mul(100)
}

/// Reads the scene. Its nodes keep their transforms, pivots and inheritance, which `rig` turns into plain
/// local transforms; only axes and unit are converted, without a scaled root.
pub(crate) fn scene(bytes: &[u8]) -> Result<SceneRoot, String> {
    let limits = || AllocatorOpts {
        memory_limit: memory(bytes.len()),
        allocation_limit: 100_000 + bytes.len() / 16,
        ..AllocatorOpts::default()
    };
    let options = LoadOpts {
        temp_allocator: limits(),
        result_allocator: limits(),
        node_depth_limit: DEPTH,
        file_format: ufbx::FileFormat::Fbx,
        // Paths of caches and textures in the file are not opened.
        load_external_files: false,
        clean_skin_weights: true,
        use_blender_pbr_material: true,
        generate_missing_normals: true,
        normalize_normals: true,
        target_axes: CoordinateAxes::right_handed_y_up(),
        target_unit_meters: 1.0,
        space_conversion: SpaceConversion::ModifyGeometry,
        geometry_transform_handling: GeometryTransformHandling::Preserve,
        inherit_mode_handling: InheritModeHandling::Preserve,
        pivot_handling: PivotHandling::Retain,
        handedness_conversion_axis: MirrorAxis::X,
        ..LoadOpts::default()
    };
    ufbx::load_memory(bytes, options).map_err(|error| error.description.to_string())
}
