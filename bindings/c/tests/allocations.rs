//! Calls of a frame allocate nothing, not even the first ones.

use std::ffi::c_void;
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
    let shape = mesh_info(mesh);
    let count = shape.vertices.vertex_count;
    let mut columns = vec![condyle_columns { columns: [0.0; 16] }; shape.palette_count];
    let mut rows = vec![row; shape.palette_count];
    let mut bytes = vec![0; count * 12];
    let layout = condyle_vertex_layout {
        stride: 12,
        position: 0,
        normal: CONDYLE_NO_ATTRIBUTE,
        tangent: CONDYLE_NO_ATTRIBUTE,
    };
    let buffer = condyle_vertex_buffer { bytes: bytes.as_mut_ptr(), byte_count: bytes.len(), layout };
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
            call!(condyle_skin_interleaved(mesh, palette, null(), &raw const buffer, none));
            call!(condyle_palette_columns(mesh, at, joints, columns.as_mut_ptr(), shape.palette_count, none));
            call!(condyle_palette_rows(mesh, at, joints, rows.as_mut_ptr(), shape.palette_count, none));
            call!(condyle_bounds_box(bounds, at, joints, &raw mut aabb, none));
            call!(condyle_tree_refit(tree, posed.positions, count, none));
            call!(condyle_tree_first_hit(tree, &raw const ray, &raw mut hit, none));
            call!(condyle_tree_closest_point(tree, [0.0_f32; 3].as_ptr(), 9.0, &raw mut hit, none));
            call!(condyle_hitboxes_place(hitboxes, at, joints, placed, none));
            call!(condyle_hitboxes_box(placed, &raw mut aabb, none));
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

/// Pelvis, thigh, shin and foot of a leg. The foot stands for half a second, and is lifted in the next half.
const LEG: [f32; 4] = [1.0, 0.0, -0.5, -0.45];

fn placed(y: f32, angle: f32) -> condyle_transform {
    let (sine, cosine) = (angle / 2.0).sin_cos();
    condyle_transform { rotation: [sine, 0.0, 0.0, cosine], translation: [0.0, y, 0.0], scale: [1.0; 3] }
}

fn leg() -> *mut condyle_skeleton {
    let names = [c"pelvis", c"thigh", c"shin", c"foot"];
    let joints: [_; 4] = std::array::from_fn(|at| condyle_joint {
        name: names[at].as_ptr(),
        parent: at.checked_sub(1).map_or(CONDYLE_NO_JOINT, |parent| parent as u16),
        rest: placed(LEG[at], 0.0),
    });
    made!(condyle_skeleton_new(joints.as_ptr(), 4))
}

fn lifting(skeleton: *const condyle_skeleton) -> *mut condyle_clip {
    let lift = |frame: usize| -0.8 * (frame.saturating_sub(10) as f32 * 0.314).sin().max(0.0);
    let angle = |frame: usize, joint: usize| if joint == 1 { lift(frame) } else { 0.0 };
    let frames: Vec<_> = (0..84).map(|at| placed(LEG[at % 4], angle(at / 4, at % 4))).collect();
    let name = c"lift".as_ptr();
    let raw = made!(condyle_clip_new(name, skeleton, frames.as_ptr(), 21, 20.0));
    let options = condyle_encode_options {
        size: size_of::<condyle_encode_options>(),
        error_bound: 1e-4,
        radius: 0.1,
        best: 0,
        between_frames: 1,
        motion_joint: CONDYLE_NO_JOINT,
        motion_height: 0,
        motion_yaw: 1,
        events: null(),
        event_count: 0,
    };
    let (mut clip, options) = (null_mut(), &raw const options);
    let (out, info, none) = (&raw mut clip, null_mut(), null_mut());
    call!(condyle_encode_for_meshes(skeleton, null(), 0, raw, options, out, info, none));
    clip
}

/// Flat ground.
unsafe extern "C" fn flat(_: *mut c_void, _: *const f64, point: *mut condyle_ground_point) -> u32 {
    // SAFETY: a place for one point.
    unsafe { point.write(condyle_ground_point { height: 0.0, normal: [0.0, 1.0, 0.0] }) };
    1
}

const IDENTITY: [[f32; 4]; 3] = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];

#[test]
fn poses_and_motion_allocate_nothing() {
    let none = null_mut();
    let skeleton = leg();
    let clip = lifting(skeleton);
    let player = made!(condyle_player_new(CONDYLE_WRAP));
    let frames = made!(condyle_frames_new(clip, skeleton, 1e-3, 0.1));
    let transition = made!(condyle_inertialization_new(skeleton));
    let mirror = made!(condyle_mirror_new(skeleton, null(), 0, null()));
    let [a, b, c] = [(); 3].map(|()| made!(condyle_pose_new(skeleton)));
    let mut joints = [placed(0.0, 0.0); 4];
    let mut steps = [condyle_rigid { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3] }; 2];
    let (mut clock, mut seconds, mut index) = (0.0, 0.0, 0);
    let mask = [0.5_f32; 4];
    let layer = condyle_layer { pose: c, weight: 0.5, mask: mask.as_ptr(), mask_count: 4 };
    let frame = condyle_frame_layer { frames, seconds: 0.3, weight: 1.0, mask: null(), mask_count: 0 };

    let counted = allocation_counter::measure(|| {
        call!(condyle_player_set(player, 1.5, CONDYLE_WRAP, none));
        call!(condyle_player_seek(player, 0.4, none));
        call!(condyle_player_advance(player, 0.1, none));
        call!(condyle_player_get_clock(player, &raw mut clock, none));
        call!(condyle_clip_moment(clip, CONDYLE_WRAP, clock, &raw mut seconds, none));
        call!(condyle_player_get_motion(player, clip, &raw mut steps[0], none));
        call!(condyle_clip_motion(clip, CONDYLE_WRAP, 0.0, clock, &raw mut steps[1], none));
        let (at, weights) = (steps.as_mut_ptr(), [0.5_f32; 2]);
        call!(condyle_rigid_multiply(at, at, at, none));
        let mut motion = steps[0];
        call!(condyle_motion_blend(at, weights.as_ptr(), 2, &raw mut motion, none));
        call!(condyle_skeleton_find_joint(skeleton, c"foot".as_ptr(), &raw mut index, none));
        call!(condyle_sample(clip, skeleton, seconds, a, none));
        call!(condyle_sample_frames(skeleton, &raw const frame, 1, b, none));
        call!(condyle_pose_get(a, 0, joints.as_mut_ptr(), 4, none));
        call!(condyle_pose_set(b, 1, joints.as_ptr(), 2, none));
        call!(condyle_difference(a, b, c, none));
        let both = [layer, condyle_layer { pose: c, weight: 0.5, mask: null(), mask_count: 0 }];
        call!(condyle_add(a, both.as_ptr(), 2, b, none));
        call!(condyle_overlay(a, c, 0.5, mask.as_ptr(), 4, b, none));
        call!(condyle_inertialization_start(transition, a, a, b, b, 0.02, 0.5, none));
        call!(condyle_inertialization_apply(transition, 0.1, b, none));
        call!(condyle_mirror_pose(mirror, a, c, none));
        call!(condyle_pose_copy(a, b, none));
        call!(condyle_pose_set_rest(skeleton, b, none));
    });
    assert_eq!((counted.count_total, index), (0, 3));
}

#[test]
fn solvers_allocate_nothing() {
    let none = null_mut();
    let skeleton = leg();
    let clip = lifting(skeleton);
    let pose = made!(condyle_pose_new(skeleton));
    let one = condyle_leg { hip: 1, knee: 2, foot: 3, toe: CONDYLE_NO_JOINT };
    let feet = made!(condyle_feet_new(skeleton, 0, &raw const one, 1));
    let state = made!(condyle_feet_state_new(feet));
    let contacts = made!(condyle_contacts_new(clip, skeleton, feet, CONDYLE_WRAP));
    let hair =
        condyle_spring_joint { joint: 3, stiffness: 1.0, gravity: [0.0; 3], drag: 0.4, hit_radius: 0.1 };
    let end = [0.0, 0.0, 0.15];
    let center = CONDYLE_NO_JOINT;
    let joints = &raw const hair;
    let tail = condyle_spring { joints, joint_count: 1, end, center, colliders: null(), collider_count: 0 };
    let springs = made!(condyle_springs_new(skeleton, &raw const tail, 1, null(), 0));
    let swinging = made!(condyle_spring_state_new(springs));
    let chain = [1_u16, 2, 3];
    let shares = [(0, 0.5), (1, 1.0)].map(|(joint, weight)| condyle_joint_weight { joint, weight });
    let mut matrices = [condyle_matrix { rows: IDENTITY }; 4];
    let mut columns = [condyle_columns { columns: [0.0; 16] }; 4];
    let mut reached = condyle_reached { distance: 0.0, angle: 0.0, iterations: 0 };
    let (at, left) = (matrices.as_mut_ptr(), &raw mut reached);
    let two_bone = condyle_two_bone_options {
        size: size_of::<condyle_two_bone_options>(),
        joints: chain,
        goal: [0.1, 0.3, 0.2],
        pole: [0.0, 0.0, 1.0],
        orientation: [0.0, 0.0, 0.0, 1.0],
        soft: 0.05,
        weight: 1.0,
    };
    let aim = condyle_aim_options {
        size: size_of::<condyle_aim_options>(),
        joint: 1,
        axis: [0.0, 0.0, 1.0],
        origin: [0.0; 3],
        target: [1.0, 1.0, 1.0],
        up_axis: [0.0, 1.0, 0.0],
        up_direction: [0.0, 1.0, 0.0],
        weight: 1.0,
        shares: shares.as_ptr(),
        share_count: 2,
    };
    let swing = condyle_spring_frame {
        size: size_of::<condyle_spring_frame>(),
        seconds: 0.02,
        to_world: condyle_matrix { rows: IDENTITY },
        weight: 1.0,
        force: [1.0, 0.0, 0.0],
    };
    let standing = condyle_feet_frame {
        size: size_of::<condyle_feet_frame>(),
        placement: condyle_rigid { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0, 0.2, 0.0] },
        ground: Some(flat),
        ground_data: null_mut(),
        contacts,
        clock: 0.25,
        seconds: 0.02,
        weight: 1.0,
    };

    let counted = allocation_counter::measure(|| {
        call!(condyle_sample(clip, skeleton, 0.25, pose, none));
        call!(condyle_local_to_model(skeleton, pose, at, 4, none));
        call!(condyle_two_bone(skeleton, at, 4, &raw const two_bone, pose, left, none));
        call!(condyle_local_to_model_below(skeleton, pose, 1, at, 4, none));
        call!(condyle_aim(skeleton, at, 4, &raw const aim, pose, left, none));
        for method in [CONDYLE_CHAIN_LEAST_SQUARES, CONDYLE_CHAIN_CYCLIC_DESCENT, CONDYLE_CHAIN_FABRIK] {
            let options = condyle_chain_options {
                size: size_of::<condyle_chain_options>(),
                joints: chain.as_ptr(),
                joint_count: 3,
                tip: 3,
                offset: [0.0, 0.0, 0.1],
                goal: [0.2, 0.3, 0.2],
                orientation: [0.0; 4],
                method,
                tolerance: 1e-4,
                iterations: 50,
                weight: 1.0,
            };
            call!(condyle_local_to_model(skeleton, pose, at, 4, none));
            call!(condyle_chain(skeleton, at, 4, &raw const options, pose, left, none));
        }
        call!(condyle_local_to_model(skeleton, pose, at, 4, none));
        call!(condyle_feet_place(skeleton, at, 4, feet, &raw const standing, state, pose, left, none));
        call!(condyle_local_to_model(skeleton, pose, at, 4, none));
        call!(condyle_springs_swing(skeleton, at, 4, springs, &raw const swing, swinging, pose, none));
        call!(condyle_spring_state_reset(swinging, none));
        call!(condyle_matrices_to_columns(at, columns.as_mut_ptr(), 4, none));
    });
    assert_eq!(counted.count_total, 0);
}

fn mesh_info(mesh: *const condyle_mesh) -> condyle_mesh_info {
    let mut info = std::mem::MaybeUninit::<condyle_mesh_info>::zeroed();
    // SAFETY: all bytes are zero, which is a valid value.
    unsafe { info.assume_init_mut() }.size = size_of::<condyle_mesh_info>();
    call!(condyle_mesh_get_info(mesh, info.as_mut_ptr(), null_mut()));
    // SAFETY: written by the call.
    unsafe { info.assume_init() }
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
