//! Conversion between poses and the work memory of a step.

use super::Tick;
use super::data::{Carry, Springs, Tail};
use super::lanes::{LANES, Row};
use super::step::Work;
use crate::maps::{Affine64, Vec64, check_unit, direction, nlerp, scaled, set_rotation, wide};
use condyle::pose::Pose;
use condyle::skeleton::{NO_PARENT, Skeleton};
use condyle_base::error::Error;
use condyle_base::math::vectors::dot;
use condyle_base::math::{Affine, Transform};

/// A number of one character, or one number for each of several characters.
pub(super) trait Kept: Copy + Default {
    fn set(&mut self, lane: usize, value: f64);
    fn get(&self, lane: usize) -> f64;
}

impl Kept for f64 {
    #[inline(always)]
    fn set(&mut self, _: usize, value: f64) {
        *self = value;
    }

    #[inline(always)]
    fn get(&self, _: usize) -> f64 {
        *self
    }
}

impl Kept for Row {
    #[inline(always)]
    fn set(&mut self, lane: usize, value: f64) {
        self.0[lane % LANES] = value;
    }

    #[inline(always)]
    fn get(&self, lane: usize) -> f64 {
        self.0[lane % LANES]
    }
}

#[inline(always)]
pub(super) fn set<T: Kept, const N: usize>(to: &mut [T; N], lane: usize, values: [f64; N]) {
    for (to, value) in to.iter_mut().zip(values) {
        to.set(lane, value);
    }
}

#[inline(always)]
pub(super) fn get<T: Kept, const N: usize>(from: &[T; N], lane: usize) -> [f64; N] {
    let mut all = [0.0; N];
    for (to, from) in all.iter_mut().zip(from) {
        *to = from.get(lane);
    }
    all
}

/// Checks that all values that a call reads are finite. Requires lengths that are already checked.
pub(super) fn check_numbers(
    skeleton: &Skeleton,
    springs: &Springs,
    model: &[Affine],
    tick: &Tick,
    pose: &Pose,
) -> Result<(), Error> {
    Error::check_number("seconds", tick.seconds)?;
    if tick.seconds < 0.0 {
        return Err(Error::OutOfRange { what: "seconds", at: 0, needed: "0 or more" });
    }
    check_unit("weight", tick.weight)?;
    Error::check_finite("force", &tick.force, 3)?;
    Error::check_finite("to_world", tick.to_world.rows.as_flattened(), 12)?;
    for &source in springs.sources.iter().filter(|&&source| source != NO_PARENT) {
        let at = usize::from(source);
        if !model[at].rows.as_flattened().iter().all(|v| v.is_finite()) {
            return Err(Error::NotFinite { what: "model", at });
        }
    }
    let finite = |joint: u16, t: &Transform| {
        let numbers = t.rotation.iter().chain(&t.translation).chain(&t.scale);
        // The sum is 0 only if all values are finite.
        if numbers.map(|v| v * 0.0).sum::<f32>() == 0.0 {
            Ok(())
        } else {
            Err(Error::NotFinite { what: "pose", at: joint.into() })
        }
    };
    let below = |last: u16, above: u16| -> Result<(), Error> {
        let mut at = last;
        while at != above {
            finite(at, &pose.get(at.into()))?;
            let Some(parent) = skeleton.parent(at) else { break };
            at = parent;
        }
        Ok(())
    };
    for swinging in &springs.swinging {
        finite(swinging.joint, &pose.get(swinging.joint.into()))?;
        if let Tail::Joint(tail) = swinging.tail {
            below(tail, swinging.joint)?;
        }
    }
    springs.carries.iter().try_for_each(|carry| below(carry.last, carry.above))
}

/// Loads the current frame of one character into its lane. Requires inputs that are already checked.
#[inline(always)]
pub(super) fn gather<T: Kept>(
    skeleton: &Skeleton,
    springs: &Springs,
    model: &[Affine],
    to_world: &Affine64,
    pose: &Pose,
    lane: usize,
    work: &mut Work<T>,
) {
    let turned = Affine64 { origin: [0.0; 3], ..*to_world };
    for (&source, to) in springs.sources.iter().zip(&mut work.now) {
        let frame = match model.get(usize::from(source)) {
            Some(model) => turned.after(&Affine64::from(model)),
            None => turned,
        };
        set_frame(to, lane, &frame);
    }
    for (carry, to) in springs.carries.iter().zip(&mut work.carries) {
        set_frame(to, lane, &locals(skeleton, pose, *carry));
    }
    for (swinging, to) in springs.swinging.iter().zip(&mut work.joints) {
        let local = pose.get(swinging.joint.into());
        let scale = local.scale.map(f64::from);
        let tail = match swinging.tail {
            Tail::Point(point) => point.map(f64::from),
            Tail::Joint(tail) => {
                let place = pose.get(tail.into()).translation.map(f64::from);
                match skeleton.parent(tail).filter(|&parent| parent != swinging.joint) {
                    None => place,
                    Some(last) => locals(skeleton, pose, Carry { above: swinging.joint, last }).point(place),
                }
            }
        };
        let tail = [tail[0] * scale[0], tail[1] * scale[1], tail[2] * scale[2]];
        let size2 = dot(tail, tail);
        let (axis, length) = if (1e-60..1e60).contains(&size2) {
            let length = condyle_base::math::scalar::sqrt_f64(size2);
            (scaled(tail, 1.0 / length), length)
        } else {
            direction(tail).map_or(([0.0, 1.0, 0.0], 0.0), |axis| (axis, dot(axis, tail)))
        };
        set(&mut to.pivot, lane, local.translation.map(f64::from));
        set(&mut to.axis, lane, axis);
        to.length.set(lane, length);
        set(&mut to.scale, lane, scale);
    }
}

#[inline(always)]
fn set_frame<T: Kept>(to: &mut [T; 12], lane: usize, frame: &Affine64) {
    let [[a, b, c], [d, e, f], [g, h, i]] = frame.linear;
    let [x, y, z] = frame.origin;
    set(to, lane, [a, d, g, b, e, h, c, f, i, x, y, z]);
}

/// Product of the local transforms of the joints below `above`, down to `last`.
#[inline(never)]
fn locals(skeleton: &Skeleton, pose: &Pose, Carry { above, last }: Carry) -> Affine64 {
    let mut map = Affine64::IDENTITY;
    let mut at = last;
    while at != above {
        map = Affine64::local(&pose.get(at.into()).into()).after(&map);
        let Some(parent) = skeleton.parent(at) else { break };
        at = parent;
    }
    map
}

/// Writes the rotations of one character.
#[inline(always)]
pub(super) fn scatter<T: Kept>(springs: &Springs, work: &Work<T>, lane: usize, weight: f32, pose: &mut Pose) {
    if weight == 0.0 {
        return;
    }
    for (swinging, turned) in springs.swinging.iter().zip(&work.turned) {
        let mut turned = get(turned, lane);
        if weight < 1.0 {
            let given = pose.get(swinging.joint.into()).rotation;
            turned = nlerp(wide(given), turned, weight.into());
        }
        set_rotation(pose, swinging.joint, turned);
    }
}

/// Displacement per step that the force of a tick adds to each tail.
#[inline]
pub(super) fn force(tick: &Tick) -> Vec64 {
    scaled(tick.force.map(f64::from), super::STEP)
}
