//! Feet on uneven ground.

use std::ffi::c_void;

use condyle_solve::foot_placement::{
    ContactOptions, Contacts, Feet, FeetFrame, FeetState, GroundPoint, Leg, Step, contacts, feet,
};
use runtime::Affine;

use crate::clip::{condyle_clip, looping};
use crate::guard::{free, guard};
use crate::numbers::condyle_looping;
use crate::pose::condyle_pose;
use crate::skeleton::condyle_skeleton;
use crate::solve::condyle_reached;
use crate::status::{CONDYLE_MISMATCH, Fault, condyle_error, condyle_status};
use crate::types::{CONDYLE_NO_JOINT, condyle_matrix, condyle_rigid, is_shared};

/// Largest number of legs.
pub const CONDYLE_MAX_LEGS: usize = 16;

/// Legs of a skeleton.
///
/// Never changes: any number of threads may use it.
pub struct condyle_feet {
    feet: Feet,
}

/// Feet of one character between frames.
///
/// One thread at a time may use it.
pub struct condyle_feet_state {
    state: FeetState,
}

/// Times and places at which the feet of a clip touch the ground.
///
/// Never changes: any number of threads may use it.
pub struct condyle_contacts {
    contacts: Contacts,
    /// Joint of each leg that touches the ground.
    joints: Vec<u16>,
}

const _: () = is_shared::<condyle_feet>();
const _: () = is_shared::<condyle_contacts>();

/// Joints of a leg.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct condyle_leg {
    /// Joint that turns the leg.
    pub hip: u16,
    /// Joint that bends the leg.
    pub knee: u16,
    /// Joint that turns with the slope.
    pub foot: u16,
    /// Ball of the foot, or `CONDYLE_NO_JOINT`.
    pub toe: u16,
}

/// Point of the ground, in world space.
#[repr(C)]
pub struct condyle_ground_point {
    /// Height.
    pub height: f64,
    /// Normal, of any length.
    pub normal: [f64; 3],
}

/// Function of the caller that finds the ground at or straight below a point of world space. Returns 1 after
/// writing `point`, or 0 without ground. It must not throw an exception or `longjmp`, and not use the pose or
/// state of the call.
pub type condyle_ground = Option<
    unsafe extern "C" fn(data: *mut c_void, from: *const f64, point: *mut condyle_ground_point) -> u32,
>;

/// One frame of one character. `CONDYLE_FEET_FRAME` has the defaults.
#[repr(C)]
pub struct condyle_feet_frame {
    /// Size of this structure: `CONDYLE_FEET_FRAME` sets it.
    pub size: usize,
    /// Placement of the character in the world.
    pub placement: condyle_rigid,
    /// Ground. It is called several times per leg, on the thread of the call.
    pub ground: condyle_ground,
    /// First argument of `ground`.
    pub ground_data: *mut c_void,
    /// Contacts of the clip that dominates the pose, or null if all feet stand.
    pub contacts: *const condyle_contacts,
    /// Clock of that clip in seconds.
    pub clock: f64,
    /// Seconds since the last call.
    pub seconds: f32,
    /// Part of the change that is applied, 0 to 1.
    pub weight: f32,
}

/// Creates the legs of a skeleton. Free them with `condyle_feet_free`.
///
/// `legs` has `leg_count` elements, at most `CONDYLE_MAX_LEGS`.
///
/// Errors: `CONDYLE_MISMATCH` for joints that do not exist; `CONDYLE_INVALID_ARGUMENT` if pelvis, hip, knee,
/// foot and toe are not each a descendant of the one before it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_feet_new(
    skeleton: *const condyle_skeleton,
    pelvis: u16,
    legs: *const condyle_leg,
    leg_count: usize,
    feet: *mut *mut condyle_feet,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(feet);
        if leg_count > CONDYLE_MAX_LEGS {
            let text = format!("legs: {leg_count} elements, at most {CONDYLE_MAX_LEGS} are possible");
            return Err(Fault::Other(CONDYLE_MISMATCH, text));
        }
        let leg = |it: &condyle_leg| Leg {
            hip: it.hip,
            knee: it.knee,
            foot: it.foot,
            toe: (it.toe != CONDYLE_NO_JOINT).then_some(it.toe),
        };
        let legs: Vec<Leg> = elements!(legs, leg_count).iter().map(leg).collect();
        give!(feet, condyle_feet { feet: Feet::new(&shared!(skeleton).skeleton, pelvis, &legs)? });
        Ok(())
    })
}

/// Frees legs. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_feet_free(feet: *mut condyle_feet) {
    free(feet);
}

/// Creates the state of one character. Free it with `condyle_feet_state_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_feet_state_new(
    feet: *const condyle_feet,
    state: *mut *mut condyle_feet_state,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(state);
        give!(state, condyle_feet_state { state: shared!(feet).feet.start() });
        Ok(())
    })
}

/// Frees the state of a character. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_feet_state_free(state: *mut condyle_feet_state) {
    free(state);
}

/// Finds the contacts of all legs in a compressed clip. Free them with `condyle_contacts_free`.
///
/// Errors: `CONDYLE_NO_RESULT` if no foot touches the ground; `CONDYLE_UNSUPPORTED` for a raw clip.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_contacts_new(
    clip: *const condyle_clip,
    skeleton: *const condyle_skeleton,
    feet: *const condyle_feet,
    looping: condyle_looping,
    contacts: *mut *mut condyle_contacts,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(contacts);
        let (clip, skeleton) = (shared!(clip).compressed()?, &shared!(skeleton).skeleton);
        let feet = &shared!(feet).feet;
        let joints: Vec<u16> = feet.legs().iter().map(Leg::touching).collect();
        let mut options = ContactOptions::for_legs(feet.leg_length());
        options.looping = self::looping(looping)?;
        let found = self::contacts(clip, skeleton, &joints, &options)?;
        give!(contacts, condyle_contacts { contacts: found, joints });
        Ok(())
    })
}

/// Frees contacts. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_contacts_free(contacts: *mut condyle_contacts) {
    free(contacts);
}

/// Puts the feet of a pose on the ground, and moves the pelvis.
///
/// `matrices` are the model matrices of `pose`, one per joint. Afterwards they are out of date: call
/// `condyle_local_to_model` again. `reached` may be null.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints or matrices, or contacts of other legs;
/// `CONDYLE_INVALID_ARGUMENT` for numbers that are not finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_feet_place(
    skeleton: *const condyle_skeleton,
    matrices: *const condyle_matrix,
    matrix_count: usize,
    feet: *const condyle_feet,
    frame: *const condyle_feet_frame,
    state: *mut condyle_feet_state,
    pose: *mut condyle_pose,
    reached: *mut condyle_reached,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        optional_output!(reached);
        let (skeleton, legs, frame) = (&shared!(skeleton).skeleton, &shared!(feet).feet, sized!(frame));
        let matrices = matrices.cast::<Affine>();
        let model = elements!(matrices, matrix_count);
        let ground = frame.ground.ok_or(Fault::Null("frame->ground"))?;
        let data = frame.ground_data;
        let below = |from: [f64; 3]| {
            let mut point = condyle_ground_point { height: 0.0, normal: [0.0, 1.0, 0.0] };
            // SAFETY: by the rules of the header, a function of this type that reads three numbers, writes at
            // most one point, and does not throw.
            let found = unsafe { ground(data, from.as_ptr(), &raw mut point) };
            (found != 0).then_some(GroundPoint { height: point.height, normal: point.normal })
        };
        let mut steps = [Step::Planted; CONDYLE_MAX_LEGS];
        let count = legs.legs().len();
        let contacts = frame.contacts;
        if let Some(contacts) = optional!(contacts) {
            if !contacts.joints.iter().copied().eq(legs.legs().iter().map(Leg::touching)) {
                let text = "frame->contacts: of other legs than feet".to_owned();
                return Err(Fault::Other(CONDYLE_MISMATCH, text));
            }
            for (leg, step) in steps[..count].iter_mut().enumerate() {
                *step = contacts.contacts.step(leg, frame.clock)?;
            }
        }
        let frame = FeetFrame {
            placement: frame.placement.into(),
            ground: &below,
            steps: &steps[..count],
            seconds: frame.seconds,
            weight: frame.weight,
        };
        let (state, pose) = (&mut exclusive!(state).state, &mut exclusive!(pose).pose);
        let found = self::feet(skeleton, model, legs, &frame, state, pose)?;
        put_optional!(reached, found.into());
        Ok(())
    })
}
