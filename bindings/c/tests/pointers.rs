//! Calls from Rust, for Miri: handles, arrays of the caller that are not initialised, and refused pointers.
//!
//! `cargo +nightly miri test -p condyle-c-rust --no-default-features --test pointers` in `bindings/c`.

use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use condyle::*;

/// Calls a function of the interface.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: handles of the library, counts of the arrays, or pointers that must be refused.
        unsafe { $function($($argument),*) }
    }};
}

const REST: condyle_transform =
    condyle_transform { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0, 1.0, 0.0], scale: [1.0; 3] };

fn made<T>(make: impl FnOnce(*mut *mut T) -> condyle_status) -> *mut T {
    let mut handle = null_mut();
    assert_eq!(make(&raw mut handle), condyle_status::CONDYLE_OK);
    handle
}

fn skeleton() -> *mut condyle_skeleton {
    let joint =
        |name: &'static std::ffi::CStr, parent| condyle_joint { name: name.as_ptr(), parent, rest: REST };
    let joints = [joint(c"hip", CONDYLE_NO_JOINT), joint(c"knee", 0)];
    made(|out| call!(condyle_skeleton_new(joints.as_ptr(), 2, out, null_mut())))
}

#[test]
fn poses_and_matrices() {
    let skeleton = skeleton();
    let pose = made(|out| call!(condyle_pose_new(skeleton, out, null_mut())));
    let mut one = MaybeUninit::<condyle_transform>::uninit();
    let none = null_mut();
    assert_eq!(call!(condyle_pose_get(pose, 1, one.as_mut_ptr(), 1, none)), condyle_status::CONDYLE_OK);
    // SAFETY: written by the call.
    assert_eq!(unsafe { one.assume_init() }.translation, [0.0, 1.0, 0.0]);
    let mut matrices = [MaybeUninit::<condyle_matrix>::uninit(); 2];
    let at = matrices.as_mut_ptr().cast();
    assert_eq!(call!(condyle_local_to_model(skeleton, pose, at, 2, none)), condyle_status::CONDYLE_OK);
    // SAFETY: written by the call.
    assert_eq!(unsafe { matrices[1].assume_init() }.rows[1][3], 2.0);

    // The error needs no initialisation, and a failed call writes it.
    let mut error = MaybeUninit::<condyle_error>::uninit();
    let status = call!(condyle_pose_copy(pose, pose, error.as_mut_ptr()));
    assert_eq!(status, condyle_status::CONDYLE_INVALID_POINTER);
    // SAFETY: written by the call.
    assert_eq!(unsafe { error.assume_init() }.status, status);
    let status = call!(condyle_local_to_model(skeleton, pose, at.wrapping_byte_add(4), 2, none));
    assert_eq!(status, condyle_status::CONDYLE_INVALID_POINTER);
    let status = call!(condyle_pose_get(pose, 1, null_mut(), 1, none));
    assert_eq!(status, condyle_status::CONDYLE_INVALID_POINTER);
    let layers = [0.25, 0.75].map(|weight| condyle_layer { pose, weight, mask: null(), mask_count: 0 });
    let status = call!(condyle_blend(skeleton, layers.as_ptr(), 2, CONDYLE_MEAN_LINEAR, pose, none));
    assert_eq!(status, condyle_status::CONDYLE_INVALID_POINTER);
    let blended = made(|out| call!(condyle_pose_new(skeleton, out, null_mut())));
    let status = call!(condyle_blend(skeleton, layers.as_ptr(), 2, CONDYLE_MEAN_LINEAR, blended, none));
    assert_eq!(status, condyle_status::CONDYLE_OK);
    call!(condyle_pose_free(blended));
    call!(condyle_pose_free(pose));
    call!(condyle_skeleton_free(skeleton));
}

#[test]
fn names_and_sizes() {
    let skeleton = skeleton();
    let mut info = MaybeUninit::<condyle_skeleton_info>::zeroed();
    let status = call!(condyle_skeleton_get_info(skeleton, info.as_mut_ptr(), null_mut()));
    assert_eq!(status, condyle_status::CONDYLE_UNSUPPORTED);
    // SAFETY: all bytes are zero, which is a valid value.
    unsafe { info.assume_init_mut() }.size = size_of::<condyle_skeleton_info>();
    let status = call!(condyle_skeleton_get_info(skeleton, info.as_mut_ptr(), null_mut()));
    assert_eq!(status, condyle_status::CONDYLE_OK);
    // SAFETY: written by the call.
    let info = unsafe { info.assume_init() };
    // SAFETY: two names, of the library.
    let names = unsafe { std::slice::from_raw_parts(info.names, info.joint_count) };
    // SAFETY: a name of the library.
    assert_eq!(unsafe { std::ffi::CStr::from_ptr(names[1]) }, c"knee");
    let mut joint = 9;
    let status = call!(condyle_skeleton_find_joint(skeleton, c"knee".as_ptr(), &raw mut joint, null_mut()));
    assert_eq!((status, joint), (condyle_status::CONDYLE_OK, 1));
    call!(condyle_skeleton_free(skeleton));
}

#[test]
fn vertices() {
    let skeleton = skeleton();
    let (positions, joints, weights) = ([[0.0_f32, 1.5, 0.0]; 3], [0_u16, 1, 1], [1.0_f32; 3]);
    let inverse =
        condyle_matrix { rows: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, -1.0], [0.0, 0.0, 1.0, 0.0]] };
    let bind = [inverse, inverse];
    let palette_joints = [0_u16, 1];
    let options = condyle_mesh_options {
        size: size_of::<condyle_mesh_options>(),
        vertices: condyle_const_vertices {
            vertex_count: 3,
            positions: positions.as_ptr().cast(),
            normals: null(),
            tangents: null(),
        },
        indices: null(),
        index_count: 0,
        influence_joints: joints.as_ptr(),
        influence_weights: weights.as_ptr(),
        influences_per_vertex: 1,
        palette_joints: palette_joints.as_ptr(),
        inverse_bind: bind.as_ptr(),
        palette_count: 2,
        name: null(),
        morph_targets: null(),
        morph_weights: null(),
        morph_target_count: 0,
    };
    let mesh = made(|out| call!(condyle_mesh_new(skeleton, &raw const options, out, null_mut())));
    let palette = made(|out| call!(condyle_palette_new(mesh, out, null_mut())));
    let pose = made(|out| call!(condyle_pose_new(skeleton, out, null_mut())));
    let mut matrices = [MaybeUninit::<condyle_matrix>::uninit(); 2];
    let at = matrices.as_mut_ptr().cast();
    call!(condyle_local_to_model(skeleton, pose, at, 2, null_mut()));
    let status = call!(condyle_palette_fill(mesh, at, 2, CONDYLE_SKIN_LINEAR, palette, null_mut()));
    assert_eq!(status, condyle_status::CONDYLE_OK);
    let mut out = [MaybeUninit::<[f32; 3]>::uninit(); 3];
    let positions = out.as_mut_ptr().cast();
    let posed = condyle_vertices { vertex_count: 3, positions, normals: null_mut(), tangents: null_mut() };
    let status = call!(condyle_skin(mesh, palette, null(), &raw const posed, null_mut()));
    assert_eq!(status, condyle_status::CONDYLE_OK);
    // SAFETY: written by the call.
    assert_eq!(unsafe { out[1].assume_init() }, [0.0, 2.5, 0.0]);
    // An odd address is fine for interleaved bytes.
    let mut bytes = [0_u8; 3 * 14 + 1];
    let layout = condyle_vertex_layout {
        stride: 14,
        position: 1,
        normal: CONDYLE_NO_ATTRIBUTE,
        tangent: CONDYLE_NO_ATTRIBUTE,
    };
    let buffer = condyle_vertex_buffer { bytes: bytes[1..].as_mut_ptr(), byte_count: 42, layout };
    let status = call!(condyle_skin_interleaved(mesh, palette, null(), &raw const buffer, null_mut()));
    assert_eq!(status, condyle_status::CONDYLE_OK);
    call!(condyle_pose_free(pose));
    call!(condyle_palette_free(palette));
    call!(condyle_mesh_free(mesh));
    call!(condyle_skeleton_free(skeleton));
}
