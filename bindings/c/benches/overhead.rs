//! Cost of a call through the C interface over the call in Rust, and of a whole character.
//!
//! `cargo bench -p condyle-c-rust` in `bindings/c`. Rounds of both sides are interleaved, and the minimum of
//! each is printed. The C functions are called through opaque pointers, as from another language.

use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::time::Instant;

use condyle::*;
use runtime::blending::Mean;
use runtime::{Affine, Layer, NormalRule, Palette, Pose, Vertices};

const ROUNDS: usize = 300;

/// Minimum time of each side in nanoseconds per call.
fn compare(what: &str, calls: usize, mut rust: impl FnMut(), mut c: impl FnMut()) {
    let mut least = [f64::INFINITY; 2];
    let mut time = |side: usize, work: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..calls {
            work();
        }
        let each = start.elapsed().as_secs_f64() * 1e9 / calls as f64;
        least[side] = least[side].min(each);
    };
    for _ in 0..ROUNDS {
        time(0, &mut rust);
        time(1, &mut c);
    }
    let [rust, c] = least;
    println!("{what:16} {rust:9.1} {c:9.1} {:+8.1} {:+7.1} %", c - rust, (c / rust - 1.0) * 100.0);
}

/// Value of a handle that a function of the interface returns.
fn made<T>(make: impl FnOnce(*mut *mut T) -> condyle_status) -> *mut T {
    let mut handle = null_mut();
    assert!(make(&raw mut handle) == condyle_status::CONDYLE_OK);
    handle
}

/// Pointer that a function of the interface returns.
fn found<T>(find: impl FnOnce(*mut *const T) -> condyle_status) -> *const T {
    let mut pointer = std::ptr::null();
    assert!(find(&raw mut pointer) == condyle_status::CONDYLE_OK);
    pointer
}

fn main() {
    let path = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let path = path.unwrap_or_else(|| "../../../testdata/two_joints.glb".into());

    // The same character on both sides.
    let asset = condyle_gltf::Asset::open(&path).expect("a glTF file");
    let skeleton = &asset.skeleton;
    let clip = asset.encode(&asset.clips[0], 5e-4).expect("a clip").into_clip();
    let mesh = &asset.instances[0].primitives[0].mesh;
    let skin = &asset.skins[0];
    let mut sampled = Pose::rest(skeleton);
    let rest = Pose::rest(skeleton);
    let mut pose = Pose::rest(skeleton);
    let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
    let mut matrices = Palette::default();
    let mut posed = Vertices::zeroed_like(mesh.vertices());

    let path = std::ffi::CString::new(path).expect("a path without zeros");
    let none: *mut condyle_error = null_mut();
    // SAFETY: here and below, handles of the library, counts of the arrays, and places for the results.
    let file = made(|out| unsafe { condyle_open(path.as_ptr(), null(), out, none) });
    // SAFETY: see above.
    let skeleton_c = found(|out| unsafe { condyle_model_get_skeleton(file, out, none) });
    // SAFETY: see above.
    let raw_c = found(|out| unsafe { condyle_model_get_clip(file, 0, out, none) });
    // SAFETY: see above.
    let mesh_c = found(|out| unsafe { condyle_model_get_mesh(file, 0, out, none) });
    // SAFETY: see above.
    let clip_c = made(|out| unsafe { condyle_encode(file, raw_c, null(), out, null_mut(), none) });
    // SAFETY: see above.
    let [sampled_c, rest_c, pose_c] =
        [(); 3].map(|()| made(|out| unsafe { condyle_pose_new(skeleton_c, out, none) }));
    // SAFETY: see above.
    let palette_c = made(|out| unsafe { condyle_palette_new(mesh_c, out, none) });
    let mut model_c = vec![Affine::IDENTITY; skeleton.joint_count()];
    let mut posed_c = Vertices::zeroed_like(mesh.vertices());
    let count = model_c.len();
    let model_at = model_c.as_mut_ptr().cast::<condyle_matrix>();
    let planes = |empty: bool, at: *mut f32| if empty { null_mut() } else { at };
    let out_c = condyle_vertices {
        vertex_count: posed_c.positions.len(),
        positions: posed_c.positions.as_mut_ptr().cast(),
        normals: planes(posed_c.normals.is_empty(), posed_c.normals.as_mut_ptr().cast()),
        tangents: planes(posed_c.tangents.is_empty(), posed_c.tangents.as_mut_ptr().cast()),
    };
    let layers_c = [(sampled_c, 0.7), (rest_c, 0.3)].map(|(pose, weight)| condyle_layer {
        pose: pose.cast_const(),
        weight,
        mask: null(),
        mask_count: 0,
    });

    let sample_c = black_box(condyle_sample as Sample);
    let blend_c = black_box(condyle_blend as Blend);
    let place_c = black_box(condyle_local_to_model as Place);
    let fill_c = black_box(condyle_palette_fill as Fill);
    let skin_c = black_box(condyle_skin as SkinCall);

    let mut at = 0.0_f64;
    let mut at_c = 0.0_f64;
    let end = clip.end();
    let next = move |at: &mut f64| {
        *at = if *at + 0.011 > end { 0.0 } else { *at + 0.011 };
        *at
    };
    println!("{count} joints, {} vertices\n", out_c.vertex_count);
    println!("{:16} {:>9} {:>9} {:>8}", "ns per call", "Rust", "C", "more");
    compare(
        "sample",
        2000,
        || {
            runtime::sample(&clip, skeleton, next(&mut at), &mut sampled).expect("a sample");
        },
        || {
            // SAFETY: see above.
            unsafe { sample_c(clip_c, skeleton_c, next(&mut at_c), sampled_c, none) };
        },
    );
    compare(
        "blend of two",
        2000,
        || {
            let layers = [Layer::new(&sampled, 0.7), Layer::new(&rest, 0.3)];
            runtime::blend(skeleton, &layers, Mean::Linear, &mut pose).expect("a blend");
        },
        || {
            // SAFETY: see above.
            unsafe { blend_c(skeleton_c, layers_c.as_ptr(), 2, CONDYLE_MEAN_LINEAR, pose_c, none) };
        },
    );
    compare(
        "local to model",
        2000,
        || {
            runtime::local_to_model(skeleton, &pose, &mut model).expect("matrices");
        },
        || {
            // SAFETY: see above.
            unsafe { place_c(skeleton_c, pose_c, model_at, count, none) };
        },
    );
    compare(
        "palette",
        2000,
        || {
            runtime::palette(skin, &model, NormalRule::default(), &mut matrices).expect("a palette");
        },
        || {
            // SAFETY: see above.
            unsafe { fill_c(mesh_c, model_at, count, CONDYLE_SKIN_LINEAR, palette_c, none) };
        },
    );
    compare(
        "skin",
        200,
        || {
            let (bind, out) = (mesh.vertices().as_slices(), posed.as_slices_mut());
            runtime::skin(mesh.influences(), &matrices, bind, out).expect("vertices");
        },
        || {
            // SAFETY: see above.
            unsafe { skin_c(mesh_c, palette_c, null(), &raw const out_c, none) };
        },
    );
    compare(
        "whole character",
        200,
        || {
            runtime::sample(&clip, skeleton, next(&mut at), &mut sampled).expect("a sample");
            let layers = [Layer::new(&sampled, 0.7), Layer::new(&rest, 0.3)];
            runtime::blend(skeleton, &layers, Mean::Linear, &mut pose).expect("a blend");
            runtime::local_to_model(skeleton, &pose, &mut model).expect("matrices");
            runtime::palette(skin, &model, NormalRule::default(), &mut matrices).expect("a palette");
            let (bind, out) = (mesh.vertices().as_slices(), posed.as_slices_mut());
            runtime::skin(mesh.influences(), &matrices, bind, out).expect("vertices");
        },
        || {
            // SAFETY: see above.
            unsafe { sample_c(clip_c, skeleton_c, next(&mut at_c), sampled_c, none) };
            // SAFETY: see above.
            unsafe { blend_c(skeleton_c, layers_c.as_ptr(), 2, CONDYLE_MEAN_LINEAR, pose_c, none) };
            // SAFETY: see above.
            unsafe { place_c(skeleton_c, pose_c, model_at, count, none) };
            // SAFETY: see above.
            unsafe { fill_c(mesh_c, model_at, count, CONDYLE_SKIN_LINEAR, palette_c, none) };
            // SAFETY: see above.
            unsafe { skin_c(mesh_c, palette_c, null(), &raw const out_c, none) };
        },
    );
    assert_eq!(posed.positions, posed_c.positions, "both sides have the same bits");
}

type Sample = unsafe extern "C" fn(
    *const condyle_clip,
    *const condyle_skeleton,
    f64,
    *mut condyle_pose,
    *mut condyle_error,
) -> condyle_status;
type Blend = unsafe extern "C" fn(
    *const condyle_skeleton,
    *const condyle_layer,
    usize,
    condyle_mean,
    *mut condyle_pose,
    *mut condyle_error,
) -> condyle_status;
type Place = unsafe extern "C" fn(
    *const condyle_skeleton,
    *const condyle_pose,
    *mut condyle_matrix,
    usize,
    *mut condyle_error,
) -> condyle_status;
type Fill = unsafe extern "C" fn(
    *const condyle_mesh,
    *const condyle_matrix,
    usize,
    condyle_skinning,
    *mut condyle_palette,
    *mut condyle_error,
) -> condyle_status;
type SkinCall = unsafe extern "C" fn(
    *const condyle_mesh,
    *const condyle_palette,
    *const condyle_const_vertices,
    *const condyle_vertices,
    *mut condyle_error,
) -> condyle_status;
