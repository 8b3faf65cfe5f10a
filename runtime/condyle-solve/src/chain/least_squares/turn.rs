//! Degrees of freedom of one joint: one for a hinge, three for any other joint.

use super::Off;
use crate::chain::nodes::{NO_TURN, Node};
use crate::limits::Circle;
use crate::maps::{Affine64, Vec64, across, add, length, scaled, sub, unit};
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_base::math::scalar::{atan2_f64, sin_cos_f64, sqrt_f64};
use condyle_base::math::vectors::{cross, dot};

#[derive(Clone, Copy)]
pub(super) struct Turn<const M: usize> {
    hinge: Option<Hinge>,
    /// Rotation after the last accepted step.
    rotation: Quat64,
    /// Jacobian: movement of the tip per radian about the axis of a hinge, or about the axes of the parent's
    /// space.
    moved: [Off<M>; 3],
    /// The first `count` vectors are the free rotation axes, in the parent's space, orthogonal to each other.
    free: [Vec64; 3],
    count: usize,
    /// Step along the blocked directions, as far as limits allow.
    fixed: Vec64,
    /// The whole step as a rotation vector. Half of its length is the tangent of half the angle, so no step
    /// exceeds half a turn.
    step: Vec64,
}

#[derive(Clone, Copy)]
struct Hinge {
    circle: Circle,
    /// Sine and cosine of half the angle from the middle of the range, before the step.
    at: [f64; 2],
    /// Sine and cosine of that half angle after the step.
    next: [f64; 2],
}

/// Fraction of the range of a hinge, and of half a turn, that restarts are spread over.
const SPREAD: f64 = 0.6;

impl<const M: usize> Turn<M> {
    pub(super) const NEW: Self = Self {
        hinge: None,
        rotation: NO_TURN,
        moved: [[0.0; M]; 3],
        free: [[0.0; 3]; 3],
        count: 0,
        fixed: [0.0; 3],
        step: [0.0; 3],
    };

    pub(super) fn set_hinge(&mut self, node: &Node<'_>) {
        let circle = node.limit.and_then(|limit| limit.circle());
        self.hinge = circle.map(|&circle| Hinge { circle, at: [0.0, 1.0], next: [0.0, 1.0] });
    }

    /// Starts an attempt from the node's current rotation.
    pub(super) fn begin(&mut self, node: &Node<'_>) {
        self.rotation = node.rotation;
        if let Some(hinge) = &mut self.hinge {
            hinge.begin(node.rotation);
        }
    }

    /// Accepts the step that led to the node's rotation.
    pub(super) fn take(&mut self, node: &Node<'_>) {
        self.rotation = node.rotation;
        if let Some(hinge) = &mut self.hinge {
            hinge.at = hinge.next;
        }
    }

    /// Moves the node to another start, different each time and for each joint.
    pub(super) fn restart(&self, node: &mut Node<'_>, time: u32) {
        let spread = |which: u32| {
            let mixed = (3 * time + which).wrapping_mul(0x9e37_79b9);
            let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b);
            f64::from(mixed ^ mixed >> 13) / f64::from(u32::MAX) * 2.0 - 1.0
        };
        if let Some(hinge) = &self.hinge {
            let half =
                hinge.circle.half.map_or(core::f64::consts::FRAC_PI_2, |[sin, cos]| atan2_f64(sin, cos));
            let (sin, cos) = sin_cos_f64(spread(0) * SPREAD * half);
            node.rotation = hinge.rotation([sin, cos]);
        } else {
            let turned = product(turn([0, 1, 2].map(|c| 3.0 * SPREAD * spread(c))), node.best);
            node.rotation = unit(node.limit.and_then(|limit| limit.hold(turned)).unwrap_or(turned));
        }
    }

    /// Computes the Jacobian. The tip is `arm` away from the node, in the space of the node's parent.
    pub(super) fn linearize(&mut self, to_model: &Affine64, turned: Quat64, arm: Vec64, radius: f64) {
        let mut moved = |at: usize, axis: Vec64| {
            let (place, turn) = self.moved[at].split_at_mut(3);
            place.copy_from_slice(&to_model.vector(cross(axis, arm)));
            if !turn.is_empty() {
                turn.copy_from_slice(&scaled(rotate(turned, axis), radius));
            }
        };
        match &self.hinge {
            Some(hinge) => moved(0, hinge.circle.axis),
            None => (0..3).for_each(|at| moved(at, AXES[at])),
        }
    }

    /// Frees all directions, as if there were no limits.
    pub(super) fn set_free(&mut self) {
        (self.free, self.count, self.fixed) = (AXES, if self.hinge.is_some() { 1 } else { 3 }, [0.0; 3]);
    }

    /// Movement of the tip per radian about `axis`.
    fn along(&self, axis: Vec64) -> Off<M> {
        let [x, y, z] = &self.moved;
        core::array::from_fn(|r| x[r] * axis[0] + y[r] * axis[1] + z[r] * axis[2])
    }

    /// Adds `J Jᵀ` of the free directions, on and above the diagonal.
    pub(super) fn add_squares(&self, matrix: &mut [Off<M>; M]) {
        let mut add = |moved: &Off<M>| {
            for (r, row) in matrix.iter_mut().enumerate() {
                for (c, to) in row.iter_mut().enumerate().skip(r) {
                    *to += moved[r] * moved[c];
                }
            }
        };
        match self.count {
            3 => self.moved.iter().for_each(add),
            1 if self.hinge.is_some() => add(&self.moved[0]),
            count => self.free[..count].iter().for_each(|&axis| add(&self.along(axis))),
        }
    }

    /// Computes the step `Jᵀf` for a force on the tip.
    pub(super) fn give_way(&mut self, force: &Off<M>) {
        let pushed = |moved: &Off<M>| moved.iter().zip(force).map(|(a, b)| a * b).sum::<f64>();
        if self.hinge.is_some() {
            self.step = [if self.count == 1 { pushed(&self.moved[0]) } else { self.fixed[0] }, 0.0, 0.0];
            return;
        }
        let torque = [pushed(&self.moved[0]), pushed(&self.moved[1]), pushed(&self.moved[2])];
        self.step = if self.count == 3 { torque } else { add(self.fixed, self.freely(torque)) };
    }

    /// Squared gradient of the cost with respect to the joint's axes, and the squared norm of the Jacobian.
    pub(super) fn slope2(&self, off: &Off<M>) -> [f64; 2] {
        let count = if self.hinge.is_some() { 1 } else { 3 };
        self.moved[..count].iter().fold([0.0; 2], |[slope2, size2], moved| {
            let slope = moved.iter().zip(off).map(|(a, b)| a * b).sum::<f64>();
            [slope2 + slope * slope, size2 + moved.iter().map(|v| v * v).sum::<f64>()]
        })
    }

    /// Projects a vector onto the free directions.
    fn freely(&self, v: Vec64) -> Vec64 {
        self.free[..self.count].iter().fold([0.0; 3], |sum, &axis| add(sum, scaled(axis, dot(axis, v))))
    }

    /// If the step exceeds a limit, shortens it to the limit and subtracts the movement of the tip that it
    /// causes from `rest`. Returns whether the limit was exceeded.
    pub(super) fn hold(&mut self, node: &Node<'_>, rest: &mut Off<M>) -> bool {
        if self.count == 0 {
            return false;
        }
        if let Some(hinge) = &self.hinge {
            let Some(step) = hinge.cut(self.step[0]) else { return false };
            self.count = 0;
            self.fixed[0] = step;
            self.step[0] = step;
            rest.iter_mut().zip(&self.moved[0]).for_each(|(rest, moved)| *rest -= moved * step);
            return true;
        }
        let Some(limit) = node.limit else { return false };
        let beyond = product(turn(self.step), self.rotation);
        let Some(nearest) = limit.hold(beyond) else { return false };
        // Rotation back to the allowed range, perpendicular to the border.
        let [x, y, z, w] = product(nearest, conjugate(beyond));
        let back = scaled([x, y, z], if w < 0.0 { -2.0 } else { 2.0 });
        let far = length(back);
        let freely = self.freely(back);
        let size = length(freely);
        // Only a rounding error, or a direction that is already blocked.
        if !(far > 1e-9 && size > 1e-3 * far) {
            return false;
        }
        let normal = scaled(freely, 1.0 / size);
        self.free = match self.count {
            3 => {
                let side = across(normal);
                [side, cross(normal, side), normal]
            }
            _ => {
                let [a, b, _] = self.free;
                let side = sub(scaled(a, dot(b, normal)), scaled(b, dot(a, normal)));
                [side, normal, [0.0; 3]]
            }
        };
        self.count -= 1;
        let by = dot(self.step, normal) + size;
        self.fixed = add(self.fixed, scaled(normal, by));
        let moved = self.along(normal);
        rest.iter_mut().zip(moved).for_each(|(rest, moved)| *rest -= moved * by);
        true
    }

    #[cfg(test)]
    pub(super) fn moved(&self) -> &[Off<M>; 3] {
        &self.moved
    }

    #[cfg(test)]
    pub(super) fn step(&self) -> Vec64 {
        self.step
    }

    #[cfg(test)]
    pub(super) fn is_free(&self) -> bool {
        self.count == if self.hinge.is_some() { 1 } else { 3 }
    }

    /// Subtracts the movement of the tip that the step causes.
    pub(super) fn subtract_moved(&self, off: &mut Off<M>) {
        let moved = if self.hinge.is_some() {
            self.moved[0].map(|moved| moved * self.step[0])
        } else {
            self.along(self.step)
        };
        off.iter_mut().zip(moved).for_each(|(off, moved)| *off -= moved);
    }

    /// Rotation after the step, within limits.
    pub(super) fn turned(&mut self, node: &Node<'_>) -> Quat64 {
        if let Some(hinge) = &mut self.hinge {
            hinge.next = hinge.after(self.step[0]);
            return hinge.rotation(hinge.next);
        }
        let turned = unit(product(turn(self.step), self.rotation));
        node.limit.and_then(|limit| limit.hold(turned)).unwrap_or(turned)
    }
}

const AXES: [Vec64; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Rotation by a step.
fn turn(step: Vec64) -> Quat64 {
    let [x, y, z] = scaled(step, 0.5);
    let by = 1.0 / sqrt_f64(1.0 + (x * x + y * y + z * z));
    [x * by, y * by, z * by, by]
}

impl Hinge {
    fn rotation(&self, [sin, cos]: [f64; 2]) -> Quat64 {
        let Circle { middle: m, across: a, .. } = self.circle;
        [0, 1, 2, 3].map(|c| m[c] * cos + a[c] * sin)
    }

    /// Starts at a rotation on the circle. The signs of `middle` and `across` are chosen so that `q` keeps
    /// its sign.
    fn begin(&mut self, q: Quat64) {
        let Circle { middle, across, .. } = &mut self.circle;
        let along = |p: &Quat64| p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
        if along(middle) < 0.0 {
            (*middle, *across) = (middle.map(|v| -v), across.map(|v| -v));
        }
        let (sin, cos) = (along(across), along(middle));
        let size = sqrt_f64(sin * sin + cos * cos);
        self.at = if size > 0.0 { [sin / size, cos / size] } else { [0.0, 1.0] };
    }

    /// Sine and cosine of half the angle after an uncut step, both times the same positive number.
    fn by(&self, step: f64) -> [f64; 2] {
        let ([sin, cos], half) = (self.at, 0.5 * step);
        [sin + cos * half, cos - sin * half]
    }

    /// Sine and cosine of half the angle after a step that is cut at the limit.
    fn after(&self, step: f64) -> [f64; 2] {
        let [sin, cos] = self.by(step);
        self.end([sin, cos]).unwrap_or_else(|| {
            let by = 1.0 / sqrt_f64(sin * sin + cos * cos);
            [sin * by, cos * by]
        })
    }

    /// The exceeded end of the range; `None` if the angle is in the range. The inputs are the sine and cosine
    /// of half the angle, both times the same positive number.
    fn end(&self, [sin, cos]: [f64; 2]) -> Option<[f64; 2]> {
        let [hs, hc] = self.circle.half?;
        // A negative cosine means more than half a turn from the middle, which no range includes. Even after
        // the step the angle is less than a full turn.
        (sin.abs() * hc >= cos * hs).then_some([if sin < 0.0 { -hs } else { hs }, hc])
    }

    /// The allowed part of a step that exceeds the range.
    fn cut(&self, step: f64) -> Option<f64> {
        let [es, ec] = self.end(self.by(step))?;
        let [sin, cos] = self.at;
        Some(2.0 * (es * cos - ec * sin) / (ec * cos + es * sin))
    }
}
