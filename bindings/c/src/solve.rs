//! Inverse kinematics: arms, legs, looks and chains.

use condyle_solve::{
    Aim, AimChain, Chain, ChainMethod, Orientation, Reached, Share, TwoBone, Up, aim, aim_chain, chain,
    two_bone,
};
use runtime::Affine;

use crate::blend::condyle_joint_weight;
use crate::guard::guard;
use crate::numbers::{
    CONDYLE_CHAIN_CYCLIC_DESCENT, CONDYLE_CHAIN_FABRIK, CONDYLE_CHAIN_LEAST_SQUARES, condyle_chain_method,
};
use crate::pose::condyle_pose;
use crate::skeleton::condyle_skeleton;
use crate::status::{CONDYLE_MISMATCH, Fault, condyle_error, condyle_status, unknown};
use crate::types::condyle_matrix;

/// Largest number of joints of `condyle_chain` and of `condyle_aim`.
pub const CONDYLE_MAX_CHAIN: usize = 64;

const _: () = assert!(CONDYLE_MAX_CHAIN == Chain::MAX_JOINTS);

/// Result of a solver.
#[repr(C)]
pub struct condyle_reached {
    /// Distance that is left to the goal, in metres; for aims, to the ray.
    pub distance: f32,
    /// Angle that is left to the goal, in radians.
    pub angle: f32,
    /// Number of iterations.
    pub iterations: u32,
}

impl From<Reached> for condyle_reached {
    fn from(it: Reached) -> Self {
        Self { distance: it.distance, angle: it.angle, iterations: it.iterations }
    }
}

/// Goal of an arm or leg. `CONDYLE_TWO_BONE_OPTIONS` has the defaults.
#[repr(C)]
pub struct condyle_two_bone_options {
    /// Size of this structure: `CONDYLE_TWO_BONE_OPTIONS` sets it.
    pub size: usize,
    /// Shoulder, elbow and hand, or hip, knee and foot. The first two turn.
    pub joints: [u16; 3],
    /// Goal of the third joint in model space.
    pub goal: [f32; 3],
    /// Direction in model space to which the middle joint bends; 0, 0, 0 keeps the plane of the limb.
    pub pole: [f32; 3],
    /// Orientation of the third joint in model space; 0, 0, 0, 0 keeps its local rotation.
    pub orientation: [f32; 4],
    /// Part of the length in which the limb straightens gradually, 0 to 1; for example 0.05.
    pub soft: f32,
    /// Part of the rotation that is applied, 0 to 1.
    pub weight: f32,
}

/// Target of a look. `CONDYLE_AIM_OPTIONS` has the defaults.
#[repr(C)]
pub struct condyle_aim_options {
    /// Size of this structure: `CONDYLE_AIM_OPTIONS` sets it.
    pub size: usize,
    /// Joint that points at the target.
    pub joint: u16,
    /// Axis that points, in the space of the joint.
    pub axis: [f32; 3],
    /// Origin of the axis in the space of the joint, for example between the eyes.
    pub origin: [f32; 3],
    /// Target in model space.
    pub target: [f32; 3],
    /// Axis that points up, in the space of the joint; 0, 0, 0 for none.
    pub up_axis: [f32; 3],
    /// Direction in model space for `up_axis`.
    pub up_direction: [f32; 3],
    /// Part of the rotation that is applied, 0 to 1.
    pub weight: f32,
    /// Joints that share the rotation, from the root, with their shares; null for `joint` alone.
    pub shares: *const condyle_joint_weight,
    /// Number of shares, at most `CONDYLE_MAX_CHAIN`.
    pub share_count: usize,
}

/// Goal of a chain of joints. `CONDYLE_CHAIN_OPTIONS` has the defaults.
#[repr(C)]
pub struct condyle_chain_options {
    /// Size of this structure: `CONDYLE_CHAIN_OPTIONS` sets it.
    pub size: usize,
    /// Joints that turn, each a descendant of the one before it.
    pub joints: *const u16,
    /// Number of joints, at most `CONDYLE_MAX_CHAIN`.
    pub joint_count: usize,
    /// Joint that reaches the goal.
    pub tip: u16,
    /// Point in the space of the tip that reaches the goal.
    pub offset: [f32; 3],
    /// Goal in model space.
    pub goal: [f32; 3],
    /// Orientation of the tip in model space; 0, 0, 0, 0 for any.
    pub orientation: [f32; 4],
    /// Method of the solver.
    pub method: condyle_chain_method,
    /// Distance in metres at which the solver stops.
    pub tolerance: f32,
    /// Largest number of rounds.
    pub iterations: u16,
    /// Part of the rotation that is applied, 0 to 1.
    pub weight: f32,
}

/// Vector that is set, because it is not zero.
fn set<const N: usize>(vector: [f32; N]) -> Option<[f32; N]> {
    (vector != [0.0; N]).then_some(vector)
}

/// Turns two joints of a pose so that a third one reaches a goal.
///
/// `matrices` are the model matrices of `pose`, one per joint. Afterwards they are out of date: update them
/// with `condyle_local_to_model_below`. `reached` may be null.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints or matrices; `CONDYLE_INVALID_ARGUMENT` for joints
/// that are not a chain, and numbers out of range. `pose` is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_two_bone(
    skeleton: *const condyle_skeleton,
    matrices: *const condyle_matrix,
    matrix_count: usize,
    options: *const condyle_two_bone_options,
    pose: *mut condyle_pose,
    reached: *mut condyle_reached,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        optional_output!(reached);
        let (skeleton, options) = (&shared!(skeleton).skeleton, sized!(options));
        let matrices = matrices.cast::<Affine>();
        let reach = TwoBone {
            pole: set(options.pole),
            orientation: set(options.orientation),
            soft: options.soft,
            weight: options.weight,
            ..TwoBone::new(options.joints, options.goal)
        };
        let model = elements!(matrices, matrix_count);
        let found = two_bone(skeleton, model, &reach, &mut exclusive!(pose).pose)?;
        put_optional!(reached, found.into());
        Ok(())
    })
}

/// Turns a joint, or several that share the rotation, so that an axis points at a target.
///
/// `matrices` and `reached` as for `condyle_two_bone`.
///
/// Errors: see `condyle_two_bone`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_aim(
    skeleton: *const condyle_skeleton,
    matrices: *const condyle_matrix,
    matrix_count: usize,
    options: *const condyle_aim_options,
    pose: *mut condyle_pose,
    reached: *mut condyle_reached,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        optional_output!(reached);
        let (skeleton, options) = (&shared!(skeleton).skeleton, sized!(options));
        let matrices = matrices.cast::<Affine>();
        let up = set(options.up_axis).map(|axis| Up { axis, direction: options.up_direction });
        let goal = Aim {
            origin: options.origin,
            up,
            weight: options.weight,
            ..Aim::new(options.joint, options.axis, options.target)
        };
        let model = elements!(matrices, matrix_count);
        let shares = elements!(options.shares, "options->shares", options.share_count);
        let pose = &mut exclusive!(pose).pose;
        let found = if shares.is_empty() {
            aim(skeleton, model, &goal, pose)?
        } else {
            check_chain("options->shares", shares.len())?;
            let mut joints = [Share { joint: 0, share: 0.0 }; CONDYLE_MAX_CHAIN];
            for (joint, share) in joints.iter_mut().zip(shares) {
                *joint = Share { joint: share.joint, share: share.weight };
            }
            aim_chain(skeleton, model, &AimChain { joints: &joints[..shares.len()], aim: goal }, pose)?
        };
        put_optional!(reached, found.into());
        Ok(())
    })
}

/// Turns a chain of joints so that its tip reaches a goal.
///
/// `matrices` and `reached` as for `condyle_two_bone`.
///
/// Errors: see `condyle_two_bone`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_chain(
    skeleton: *const condyle_skeleton,
    matrices: *const condyle_matrix,
    matrix_count: usize,
    options: *const condyle_chain_options,
    pose: *mut condyle_pose,
    reached: *mut condyle_reached,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        optional_output!(reached);
        let (skeleton, options) = (&shared!(skeleton).skeleton, sized!(options));
        let matrices = matrices.cast::<Affine>();
        check_chain("options->joints", options.joint_count)?;
        let joints = elements!(options.joints, "options->joints", options.joint_count);
        let goal = Chain {
            offset: options.offset,
            orientation: set(options.orientation).map(Orientation::new),
            method: method(options.method)?,
            tolerance: options.tolerance,
            iterations: options.iterations,
            weight: options.weight,
            ..Chain::new(joints, options.tip, options.goal)
        };
        let model = elements!(matrices, matrix_count);
        let found = chain(skeleton, model, &goal, &mut exclusive!(pose).pose)?;
        put_optional!(reached, found.into());
        Ok(())
    })
}

fn method(value: condyle_chain_method) -> Result<ChainMethod, Fault> {
    match value {
        CONDYLE_CHAIN_LEAST_SQUARES => Ok(ChainMethod::LeastSquares { restarts: 4 }),
        CONDYLE_CHAIN_CYCLIC_DESCENT => Ok(ChainMethod::CyclicDescent { step: 1.0 }),
        CONDYLE_CHAIN_FABRIK => Ok(ChainMethod::Fabrik),
        _ => Err(unknown("options->method", value, "a constant of condyle_chain_method")),
    }
}

fn check_chain(what: &str, count: usize) -> Result<(), Fault> {
    if count <= CONDYLE_MAX_CHAIN {
        return Ok(());
    }
    let text = format!("{what}: {count} elements, at most {CONDYLE_MAX_CHAIN} are possible");
    Err(Fault::Other(CONDYLE_MISMATCH, text))
}
