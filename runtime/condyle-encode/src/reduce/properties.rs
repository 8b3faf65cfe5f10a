//! Keys of one property of a joint: at rest, constant, or the cheapest that hold.

use alloc::vec::Vec;

use super::channel::Channel;
use super::format::{self, KeyFormat, ROTATION_GRADES, STEP_GRADES, Steps};
use super::job::Job;
use super::key_search::{Property, Uneven, fit};
use super::space::{Lengths, Turns};
use crate::curve::alignment::Alignment;
use crate::measure::algebra::{Affine64, Vector, apply, length, sub, turned};
use crate::measure::budget::{BudgetFractions, STATIC_THRESHOLD, USABLE_FRACTION};
use crate::measure::carried_points;
use crate::measure::carried_points::CarriedPoint;
use condyle::clip::Target;
use condyle_base::math::Transform64;
use condyle_base::math::quats::Quat64;
use condyle_base::math::vectors::dot;

/// Fraction of its limit that the rounding of a constant may use; a constant has only one key.
const CONSTANT_ROUNDING: f64 = 0.02;

impl Job<'_, '_> {
    /// Fraction of a limit below which motion counts as rest. 0 if this part must match adjacent parts of the
    /// clip.
    fn static_part(&self) -> f64 {
        if self.grids.pinned { 0.0 } else { STATIC_THRESHOLD }
    }

    /// Rounds a constant to few bytes. `part` returns the fraction of its limit that a difference uses.
    fn rounded(&self, value: Vector, part: impl Fn(Vector) -> f64) -> [f32; 3] {
        let finest = Steps::finest(self.format, format::greatest(value));
        let found = self.format.coarsest(STEP_GRADES, |grade| {
            let rounded = value.map(|v| finest.coarser(grade).round(v));
            let off = part(sub(rounded.map(f64::from), value));
            (grade == 0 || off <= CONSTANT_ROUNDING).then_some(rounded)
        });
        found.unwrap_or(value.map(|v| v as f32))
    }

    /// Property of a joint with a target value at each moment.
    fn property<'p, const N: usize>(&'p self, of: Target, targets: &'p [[f64; N]]) -> Property<'p, N> {
        let (grids, times) = (&self.grids, &self.source.moments);
        Property { grids, times, targets, slacks: &[], authored: self.of.authored(of) }
    }

    pub(super) fn translation(
        &self,
        index: usize,
        parents: Option<&[Affine64]>,
        fractions: &BudgetFractions,
        own: &mut [Transform64],
        uneven: &mut Uneven,
    ) -> Result<Option<Channel>, ()> {
        let joint = &self.joints[index];
        if joint.fallback[1] {
            return Ok(None);
        }
        let (rest, middle) = (joint.rest.translation, own[own.len() / 2].translation);
        let outer = parents.map_or(1.0, |parents| parents[own.len() / 2].reach());
        let threshold = joint.budget * self.static_part();
        let near = |to: Vector| own.iter().all(|it| length(sub(it.translation, to)) * outer <= threshold);
        if near(rest) {
            own.iter_mut().for_each(|local| local.translation = rest);
            return Ok(None);
        }
        if near(middle) {
            let off = |by: Vector| length(by) * outer / joint.budget;
            let value = self.rounded(middle, off);
            own.iter_mut().for_each(|local| local.translation = value.map(f64::from));
            return Ok(Some(Channel::constant(&value)));
        }
        let targets: Vec<Vector> = (0..own.len())
            .map(|moment| {
                let place = self.model[index][moment].origin;
                match parents {
                    // A parent with scale 0 cannot be inverted.
                    Some(parents) if parents[moment].linear == [[0.0; 3]; 3] => own[moment].translation,
                    Some(parents) => parents[moment].back(place),
                    None => place,
                }
            })
            .collect();
        let limit = joint.budget * fractions.translation * USABLE_FRACTION;
        let holds = |moment: usize, value: Vector| {
            let off = sub(value, targets[moment]);
            let off = parents.map_or(off, |parents| apply(&parents[moment].linear, off));
            dot(off, off) <= limit * limit
        };
        let property = self.property(Target::Translation(index as u16), &targets);
        let lengths = Lengths::new(self.format, &targets);
        let (channel, values) = fit(&lengths, property, uneven, holds).ok_or(())?;
        own.iter_mut().zip(values).for_each(|(local, value)| local.translation = value);
        Ok(Some(channel))
    }

    pub(super) fn scale(
        &self,
        index: usize,
        points: &[CarriedPoint],
        fractions: &BudgetFractions,
        own: &mut [Transform64],
        uneven: &mut Uneven,
    ) -> Result<Option<Channel>, ()> {
        let joint = &self.joints[index];
        if joint.fallback[2] {
            return Ok(None);
        }
        let (rest, middle) = (joint.rest.scale, own[own.len() / 2].scale);
        let far = points.iter().map(|point| point.ball.size() / point.limit).fold(0.0, f64::max);
        let off = |a: Vector, b: Vector| length(sub(a, b)) * far;
        let static_part = self.static_part();
        let near = |to: Vector| own.iter().all(|local| off(local.scale, to) <= static_part / 4.0);
        if near(rest) {
            own.iter_mut().for_each(|local| local.scale = rest);
            return Ok(None);
        }
        if near(middle) {
            let value = self.rounded(middle, |by| length(by) * far);
            own.iter_mut().for_each(|local| local.scale = value.map(f64::from));
            return Ok(Some(Channel::constant(&value)));
        }
        let targets: Vec<Vector> = own.iter().map(|local| local.scale).collect();
        let limit = fractions.translation * 0.5;
        let property = self.property(Target::Scale(index as u16), &targets);
        let holds = |moment: usize, value: Vector| off(value, targets[moment]) <= limit;
        let lengths = Lengths::new(self.format, &targets);
        let (channel, values) = fit(&lengths, property, uneven, holds).ok_or(())?;
        own.iter_mut().zip(values).for_each(|(local, value)| local.scale = value);
        Ok(Some(channel))
    }

    pub(super) fn rotation(
        &self,
        index: usize,
        is_static: bool,
        alignment: &Alignment,
        points: &[CarriedPoint],
        own: &mut [Transform64],
        uneven: &mut Uneven,
    ) -> Result<Option<Channel>, ()> {
        let joint = &self.joints[index];
        if joint.fallback[0] {
            return Ok(None);
        }
        let (rest, middle) = (joint.rest.rotation, own[own.len() / 2].rotation);
        let reach_at = |model: &Affine64| carried_points::reach(points, model);
        let reach = || self.model[index].iter().map(reach_at).fold(0.0, f64::max);
        let least_reach = reach_at(&self.model[index][own.len() / 2]);
        let limit = points.iter().map(|point| point.limit).fold(f64::INFINITY, f64::min).min(joint.budget);
        let threshold = limit * self.static_part();
        let is_within =
            |to: Quat64, reach: f64| own.iter().all(|local| turned(to, local.rotation) * reach <= threshold);
        let near = |to: Quat64| is_within(to, least_reach) && is_within(to, reach());
        let serves = |value: Quat64| is_static || (0..own.len()).all(|moment| alignment.holds(moment, value));
        if near(rest) && serves(rest) {
            own.iter_mut().for_each(|local| local.rotation = rest);
            return Ok(None);
        }
        if near(middle) {
            let constant = self.format.coarsest(ROTATION_GRADES, |grade| {
                let (_, value) = format::rotation(middle, self.format, grade);
                let is = value.map(f64::from);
                // Four 16-bit numbers are used only if no coarser form is within limits.
                let is_near = grade < 2 || turned(is, middle) * reach() <= limit * CONSTANT_ROUNDING;
                (is_near && serves(is)).then_some((value, is))
            });
            if let Some((value, is)) = constant {
                own.iter_mut().for_each(|local| local.rotation = is);
                return Ok(Some(Channel::constant(&value)));
            }
        }
        let mut last = own[0].rotation;
        let targets: Vec<Quat64> = own
            .iter()
            .enumerate()
            .map(|(moment, local)| {
                // On one hemisphere, so that splines of the components do not flip.
                last = condyle_base::math::quats::near(last, alignment.best(moment, local.rotation));
                last
            })
            .collect();
        let slacks: Vec<f64> = targets
            .iter()
            .enumerate()
            .map(|(moment, &target)| {
                let slack = alignment.slack(moment, target);
                slack * slack
            })
            .collect();
        let property =
            Property { slacks: &slacks, ..self.property(Target::Rotation(index as u16), &targets) };
        let holds = |moment: usize, value: Quat64| alignment.holds(moment, value);
        let mut found = |format| fit(&Turns { format, grade: 0 }, property, uneven, holds);
        // If integers are too coarse, tries floats.
        let (channel, values) = found(self.format).or_else(|| found(KeyFormat::Floats)).ok_or(())?;
        own.iter_mut().zip(values).for_each(|(local, value)| local.rotation = value);
        Ok(Some(channel))
    }
}
