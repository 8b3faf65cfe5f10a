//! Playback: a clock with events and root motion, and placements.

use runtime::math::Rigid;
use runtime::play::Passed;
use runtime::sampling::AnyClip;
use runtime::{Player, motion};

use crate::clip::{condyle_clip, condyle_event, looping};
use crate::guard::{free, guard};
use crate::numbers::condyle_looping;
use crate::pointer::{Range, check_apart, check_elements};
use crate::pose::condyle_pose;
use crate::skeleton::condyle_skeleton;
use crate::status::{CONDYLE_MISMATCH, Fault, condyle_error, condyle_status};
use crate::types::{CONDYLE_MAX_LAYERS, condyle_rigid, is_shared};

/// Clock of one character for one clip. Advance it once per frame, then ask for pose, events and motion.
///
/// One thread at a time may change it; between changes, any number of threads may read it.
pub struct condyle_player {
    player: Player,
}

const _: () = is_shared::<condyle_player>();

/// Creates a player at the start of a clip, at speed 1. Free it with `condyle_player_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_player_new(
    looping: condyle_looping,
    player: *mut *mut condyle_player,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(player);
        give!(player, condyle_player { player: Player::new(crate::clip::looping(looping)?) });
        Ok(())
    })
}

/// Frees a player. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_player_free(player: *mut condyle_player) {
    free(player);
}

/// Changes the speed, 1 as authored and negative for backward, and the behaviour outside of the clip.
///
/// Errors: `CONDYLE_INVALID_ARGUMENT` if `speed` is not finite or `looping` is unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_player_set(
    player: *mut condyle_player,
    speed: f64,
    looping: condyle_looping,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (it, looping) = (exclusive!(player), self::looping(looping)?);
        if !speed.is_finite() {
            return Err(runtime::Error::NotFinite { what: "speed", at: 0 }.into());
        }
        (it.player.speed, it.player.looping) = (speed, looping);
        Ok(())
    })
}

/// Moves the clock to `clock` seconds without passing events.
///
/// Errors: `CONDYLE_INVALID_ARGUMENT` if `clock` is not finite. The player is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_player_seek(
    player: *mut condyle_player,
    clock: f64,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || Ok(exclusive!(player).player.seek(clock)?))
}

/// Advances the clock by `seconds` times the speed.
///
/// Errors: `CONDYLE_INVALID_ARGUMENT` if `seconds` or the clock is not finite. The player is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_player_advance(
    player: *mut condyle_player,
    seconds: f64,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        exclusive!(player).player.advance(seconds)?;
        Ok(())
    })
}

/// Writes the clock to `clock`: seconds since the first start of the clip, unbounded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_player_get_clock(
    player: *const condyle_player,
    clock: *mut f64,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        put!(clock, shared!(player).player.clock());
        Ok(())
    })
}

/// Samples a clip at the clock, without its root motion.
///
/// Errors: those of `condyle_sample`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_player_sample(
    player: *const condyle_player,
    clip: *const condyle_clip,
    skeleton: *const condyle_skeleton,
    pose: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (player, clip) = (&shared!(player).player, shared!(clip));
        let (skeleton, pose) = (&shared!(skeleton).skeleton, &mut exclusive!(pose).pose);
        match &clip.clip {
            AnyClip::Compressed { clip, .. } => player.sample(clip, skeleton, pose)?,
            AnyClip::Raw(raw) => player.pose(&**raw, skeleton, pose)?,
        }
        Ok(())
    })
}

/// Writes the events that the last advance has passed, in the order of passing: each once, for any frame
/// times. A raw clip has no events.
///
/// `events` has room for `capacity` elements. `count` receives the number of events, which may exceed
/// `capacity`; the rest is then not written. Call again with more room if it matters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_player_get_events(
    player: *const condyle_player,
    clip: *const condyle_clip,
    events: *mut condyle_event,
    capacity: usize,
    count: *mut usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(count);
        check_elements("events", events, capacity)?;
        check_apart([Range::new("count", count, 1)], [Range::new("events", events, capacity)])?;
        let (player, it) = (&shared!(player).player, shared!(clip));
        let mut passed = 0;
        if let Some(clip) = it.clip.as_compressed() {
            for Passed { index, seconds, clock, .. } in player.clip_events(clip)? {
                if passed < capacity {
                    let place = events.wrapping_add(passed);
                    put!(place, it.event(index, seconds, clock));
                }
                passed += 1;
            }
        }
        put!(count, passed);
        Ok(())
    })
}

/// Writes the root motion of the last advance to `motion`; the identity for a clip without motion.
///
/// Errors: `CONDYLE_UNSUPPORTED` for a raw clip.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_player_get_motion(
    player: *const condyle_player,
    clip: *const condyle_clip,
    motion: *mut condyle_rigid,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(motion);
        let (player, clip) = (&shared!(player).player, shared!(clip).compressed()?);
        put!(motion, player.motion(clip)?.into());
        Ok(())
    })
}

/// Writes the product of two placements to `product`, which may be one of them. `a` is applied last: the
/// placement of a character times its motion is its new placement.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_rigid_multiply(
    a: *const condyle_rigid,
    b: *const condyle_rigid,
    product: *mut condyle_rigid,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (a, b) = (Rigid::from(*shared!(a)), Rigid::from(*shared!(b)));
        put!(product, (a * b).into());
        Ok(())
    })
}

/// Blends root motions with the weights of their poses.
///
/// Both arrays have `count` elements, at most `CONDYLE_MAX_LAYERS`.
///
/// Errors: `CONDYLE_INVALID_ARGUMENT` for weights that are not finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_motion_blend(
    motions: *const condyle_rigid,
    weights: *const f32,
    count: usize,
    blended: *mut condyle_rigid,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(blended);
        check_layers("motions", count)?;
        let (motions, weights) = (elements!(motions, count), elements!(weights, count));
        let mut layers = [(Rigid::IDENTITY, 0.0); CONDYLE_MAX_LAYERS];
        for (layer, (motion, weight)) in layers.iter_mut().zip(motions.iter().zip(weights)) {
            *layer = ((*motion).into(), *weight);
        }
        put!(blended, motion::blend(&layers[..count])?.into());
        Ok(())
    })
}

/// Refuses more layers than fit on the stack.
pub(crate) fn check_layers(what: &str, count: usize) -> Result<(), Fault> {
    if count <= CONDYLE_MAX_LAYERS {
        return Ok(());
    }
    let text = format!("{what}: {count} elements, at most {CONDYLE_MAX_LAYERS} are possible");
    Err(Fault::Other(CONDYLE_MISMATCH, text))
}
