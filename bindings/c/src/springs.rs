//! Springs: hair, tails and clothes that swing.

use condyle_solve::spring_bones::{
    Collider, ColliderShape, Spring, SpringJoint, SpringState, Springs, Tick, springs,
};
use runtime::Affine;

use crate::guard::{free, guard};
use crate::numbers::{
    CONDYLE_COLLIDER_CAPSULE, CONDYLE_COLLIDER_PLANE, CONDYLE_COLLIDER_SPHERE, condyle_collider_shape,
};
use crate::pose::condyle_pose;
use crate::skeleton::condyle_skeleton;
use crate::status::{Fault, condyle_error, condyle_status, unknown};
use crate::types::{CONDYLE_NO_JOINT, condyle_matrix, is_shared};
#[cfg(feature = "files")]
use crate::{open::condyle_model, status::CONDYLE_NOT_FOUND};

/// Spring bones of a skeleton, with their colliders.
///
/// Never changes: any number of threads may use it.
pub struct condyle_springs {
    springs: Springs,
}

/// Springs of one character between frames.
///
/// One thread at a time may use it.
pub struct condyle_spring_state {
    state: SpringState,
}

const _: () = is_shared::<condyle_springs>();

/// Joint that swings.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct condyle_spring_joint {
    /// Joint index.
    pub joint: u16,
    /// Speed at which the tail returns to its rest position, in metres per second. VRM: 1.
    pub stiffness: f32,
    /// Speed at which gravity pulls the tail, in metres per second of world space.
    pub gravity: [f32; 3],
    /// Part of the motion that is lost in a step, 0 to 1. VRM: 0.5.
    pub drag: f32,
    /// Radius of the tail for colliders, in metres.
    pub hit_radius: f32,
}

/// Chain of joints that swing.
#[repr(C)]
pub struct condyle_spring {
    /// Joints, each a descendant of the one before it.
    pub joints: *const condyle_spring_joint,
    /// Number of joints.
    pub joint_count: usize,
    /// Tail of the last joint in its space; 0, 0, 0 if the last joint is only a tail.
    pub end: [f32; 3],
    /// Joint to which motion is relative, or `CONDYLE_NO_JOINT` for the world.
    pub center: u16,
    /// Indices of the colliders that stop this chain.
    pub colliders: *const u16,
    /// Number of indices.
    pub collider_count: usize,
}

/// Shape that stops springs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct condyle_collider {
    /// Joint that carries it, or `CONDYLE_NO_JOINT` for model space.
    pub joint: u16,
    /// Shape.
    pub shape: condyle_collider_shape,
    /// 1 keeps tails inside of a sphere or capsule, 0 outside.
    pub inside: u32,
    /// Centre of a sphere, one end of a capsule, or point of a plane.
    pub offset: [f32; 3],
    /// Other end of a capsule, or normal of a plane.
    pub tail: [f32; 3],
    /// Radius of a sphere or capsule.
    pub radius: f32,
}

/// One frame of one character. `CONDYLE_SPRING_FRAME` has the defaults.
#[repr(C)]
pub struct condyle_spring_frame {
    /// Size of this structure: `CONDYLE_SPRING_FRAME` sets it.
    pub size: usize,
    /// Seconds since the last call.
    pub seconds: f32,
    /// Placement of the character in the world.
    pub to_world: condyle_matrix,
    /// Part of the swing that is applied, 0 to 1.
    pub weight: f32,
    /// Wind: added to gravity, in metres per second of world space.
    pub force: [f32; 3],
}

fn collider(it: &condyle_collider) -> Result<Collider, Fault> {
    let inside = match it.inside {
        0 => false,
        1 => true,
        other => return Err(unknown("colliders[].inside", other, "0 or 1")),
    };
    let (offset, tail, radius) = (it.offset, it.tail, it.radius);
    let shape = match it.shape {
        CONDYLE_COLLIDER_SPHERE => ColliderShape::Sphere { offset, radius, inside },
        CONDYLE_COLLIDER_CAPSULE => ColliderShape::Capsule { offset, tail, radius, inside },
        CONDYLE_COLLIDER_PLANE => ColliderShape::Plane { offset, normal: tail },
        other => return Err(unknown("colliders[].shape", other, "a constant of condyle_collider_shape")),
    };
    Ok(Collider { joint: (it.joint != CONDYLE_NO_JOINT).then_some(it.joint), shape })
}

/// Creates springs. Free them with `condyle_springs_free`.
///
/// Errors: `CONDYLE_MISMATCH` for joints and colliders that do not exist; `CONDYLE_INVALID_ARGUMENT` for
/// numbers out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_springs_new(
    skeleton: *const condyle_skeleton,
    chains: *const condyle_spring,
    chain_count: usize,
    colliders: *const condyle_collider,
    collider_count: usize,
    springs: *mut *mut condyle_springs,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(springs);
        let skeleton = &shared!(skeleton).skeleton;
        let mut list = Vec::new();
        for chain in elements!(chains, chain_count) {
            let joints = elements!(chain.joints, "chains[].joints", chain.joint_count);
            let joints = joints.iter().map(|it| SpringJoint {
                joint: it.joint,
                stiffness: it.stiffness,
                gravity: it.gravity,
                drag: it.drag,
                hit_radius: it.hit_radius,
            });
            list.push(Spring {
                end: (chain.end != [0.0; 3]).then_some(chain.end),
                center: (chain.center != CONDYLE_NO_JOINT).then_some(chain.center),
                colliders: elements!(chain.colliders, "chains[].colliders", chain.collider_count).to_vec(),
                ..Spring::new(joints)
            });
        }
        let colliders = elements!(colliders, collider_count).iter().map(collider);
        let colliders = colliders.collect::<Result<Vec<_>, _>>()?;
        give!(springs, condyle_springs { springs: Springs::new(skeleton, &list, &colliders)? });
        Ok(())
    })
}

/// Creates the springs of a file: VRM 0.x and 1.0. Free them with `condyle_springs_free`.
///
/// Errors: `CONDYLE_NOT_FOUND` if the file has no springs.
#[cfg(feature = "files")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_springs_of_model(
    model: *const condyle_model,
    springs: *mut *mut condyle_springs,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(springs);
        let found = shared!(model).asset.as_ref().and_then(|asset| asset.springs.clone());
        let missing = || Fault::Other(CONDYLE_NOT_FOUND, "the file has no springs".to_owned());
        give!(springs, condyle_springs { springs: found.ok_or_else(missing)? });
        Ok(())
    })
}

/// Frees springs. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_springs_free(springs: *mut condyle_springs) {
    free(springs);
}

/// Creates the state of one character. Free it with `condyle_spring_state_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_spring_state_new(
    springs: *const condyle_springs,
    state: *mut *mut condyle_spring_state,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(state);
        give!(state, condyle_spring_state { state: SpringState::new(&shared!(springs).springs) });
        Ok(())
    })
}

/// Frees the state of a character. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_spring_state_free(state: *mut condyle_spring_state) {
    free(state);
}

/// Puts all springs of a character to rest, for example after a cut.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_spring_state_reset(
    state: *mut condyle_spring_state,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        exclusive!(state).state.reset();
        Ok(())
    })
}

/// Simulates the springs of one character, and turns the joints of its pose.
///
/// `matrices` are the model matrices of `pose`, one per joint. Afterwards they are out of date: call
/// `condyle_local_to_model` again.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints or matrices, or the state of other springs;
/// `CONDYLE_INVALID_ARGUMENT` for numbers out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_springs_swing(
    skeleton: *const condyle_skeleton,
    matrices: *const condyle_matrix,
    matrix_count: usize,
    springs: *const condyle_springs,
    frame: *const condyle_spring_frame,
    state: *mut condyle_spring_state,
    pose: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (skeleton, all, frame) = (&shared!(skeleton).skeleton, &shared!(springs).springs, sized!(frame));
        let matrices = matrices.cast::<Affine>();
        let tick = Tick {
            seconds: frame.seconds,
            to_world: Affine { rows: frame.to_world.rows },
            weight: frame.weight,
            force: frame.force,
        };
        let (state, pose) = (&mut exclusive!(state).state, &mut exclusive!(pose).pose);
        self::springs(skeleton, elements!(matrices, matrix_count), all, &tick, state, pose)?;
        Ok(())
    })
}
