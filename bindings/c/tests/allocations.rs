//! Calls of a frame allocate nothing, not even the first ones.

use std::ptr::{null, null_mut};

use condyle::*;

/// Place for an event.
type Place = std::mem::MaybeUninit<condyle_event>;

/// Calls a function of the interface, which succeeds.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: handles of the library, and counts of the arrays.
        let status = unsafe { $function($($argument),*) };
        assert_eq!(status, condyle_status::CONDYLE_OK, stringify!($function));
    }};
}

/// Handle that a function returns.
macro_rules! made {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let mut handle = null_mut();
        call!($function($($argument,)* &raw mut handle, null_mut()));
        handle
    }};
}

#[test]
fn a_frame_allocates_nothing() {
    let none = null_mut();
    let model = made!(condyle_open(c"../../../testdata/morph.glb".as_ptr(), null()));
    let mut skeleton = null();
    let mut raw = null();
    let mut mesh = null();
    call!(condyle_model_get_skeleton(model, &raw mut skeleton, none));
    call!(condyle_model_get_clip(model, 0, &raw mut raw, none));
    call!(condyle_model_get_mesh(model, 0, &raw mut mesh, none));
    let mut clip = null_mut();
    call!(condyle_encode(model, raw, null(), &raw mut clip, null_mut(), none));
    let player = made!(condyle_player_new(CONDYLE_WRAP));
    let [sampled, pose] = [(); 2].map(|()| made!(condyle_pose_new(skeleton)));
    let palette = made!(condyle_palette_new(mesh));
    let (bounds, tree) = (made!(condyle_bounds_new(mesh)), made!(condyle_tree_new(mesh)));
    let hitboxes = made!(condyle_hitboxes_fit(&raw const mesh, 1, 1.0));
    let placed = made!(condyle_posed_hitboxes_new(hitboxes));
    let mut info = condyle_skeleton_info {
        size: size_of::<condyle_skeleton_info>(),
        joint_count: 0,
        names: null(),
        parents: null(),
        rest: null(),
        fingerprint: 0,
    };
    call!(condyle_skeleton_get_info(skeleton, &raw mut info, none));
    let joints = info.joint_count;
    let row = condyle_matrix { rows: [[0.0; 4]; 3] };
    let mut matrices = vec![row; joints];
    let at = matrices.as_mut_ptr();
    let mut vertices = vec![[0.0_f32; 3]; 4096];
    let mut morphed = vec![[0.0_f32; 3]; 4096];
    let count = vertex_count(mesh);
    let planes = |all: &mut [[f32; 3]]| condyle_vertices {
        vertex_count: count,
        positions: all.as_mut_ptr().cast(),
        normals: null_mut(),
        tangents: null_mut(),
    };
    let (posed, morph) = (planes(&mut vertices), planes(&mut morphed));
    let bind = condyle_const_vertices {
        vertex_count: count,
        positions: morph.positions,
        normals: null(),
        tangents: null(),
    };
    let layers =
        [0.5, 0.5].map(|weight| condyle_layer { pose: sampled, weight, mask: null(), mask_count: 0 });
    let mut weights = [0.0_f32; 2];
    let ray = condyle_ray { origin: [0.0, 0.0, -9.0], direction: [0.0, 0.0, 1.0], max: 100.0 };

    let counted = allocation_counter::measure(|| {
        for method in [CONDYLE_SKIN_LINEAR, CONDYLE_SKIN_LINEAR_PLAIN, CONDYLE_SKIN_DUAL_QUATERNION] {
            let (mut events, mut passed) = ([const { Place::uninit() }; 4], 0);
            call!(condyle_player_advance(player, 0.1, none));
            call!(condyle_player_sample(player, clip, skeleton, sampled, none));
            let events_at = events.as_mut_ptr().cast();
            call!(condyle_player_get_events(player, clip, events_at, 4, &raw mut passed, none));
            call!(condyle_sample_weights(clip, mesh, 0.1, weights.as_mut_ptr(), 2, none));
            call!(condyle_blend(skeleton, layers.as_ptr(), 2, CONDYLE_MEAN_LINEAR, pose, none));
            call!(condyle_local_to_model(skeleton, pose, at, joints, none));
            call!(condyle_palette_fill(mesh, at, joints, method, palette, none));
            call!(condyle_morph(mesh, weights.as_ptr(), 2, &raw const morph, none));
            call!(condyle_skin(mesh, palette, &raw const bind, &raw const posed, none));
            let (mut aabb, mut hit, mut struck) = (aabb(), hit(), struck());
            call!(condyle_bounds_box(bounds, at, joints, &raw mut aabb, none));
            call!(condyle_tree_refit(tree, posed.positions, count, none));
            call!(condyle_tree_first_hit(tree, &raw const ray, &raw mut hit, none));
            call!(condyle_hitboxes_place(hitboxes, at, joints, placed, none));
            call!(condyle_hitboxes_first_hit(placed, &raw const ray, &raw mut struck, none));
        }
        // A refused call allocates nothing either.
        let mut error = std::mem::MaybeUninit::<condyle_error>::uninit();
        // SAFETY: a null pointer, which is refused.
        let status = unsafe { condyle_pose_copy(null(), pose, error.as_mut_ptr()) };
        assert!(status == condyle_status::CONDYLE_INVALID_POINTER);
    });
    assert_eq!(counted.count_total, 0);
}

fn vertex_count(mesh: *const condyle_mesh) -> usize {
    let mut info = std::mem::MaybeUninit::<condyle_mesh_info>::zeroed();
    // SAFETY: all bytes are zero, which is a valid value.
    unsafe { info.assume_init_mut() }.size = size_of::<condyle_mesh_info>();
    call!(condyle_mesh_get_info(mesh, info.as_mut_ptr(), null_mut()));
    // SAFETY: written by the call.
    unsafe { info.assume_init() }.vertices.vertex_count
}

fn aabb() -> condyle_aabb {
    condyle_aabb { min: [0.0; 3], max: [0.0; 3] }
}

fn hit() -> condyle_hit {
    let (weights, position, normal) = ([0.0; 3], [0.0; 3], [0.0; 3]);
    condyle_hit { found: 0, triangle: 0, distance: 0.0, weights, position, normal, front: 0 }
}

fn struck() -> condyle_hitbox_hit {
    let (position, normal) = ([0.0; 3], [0.0; 3]);
    condyle_hitbox_hit { found: 0, hitbox: 0, joint: 0, distance: 0.0, position, normal }
}
