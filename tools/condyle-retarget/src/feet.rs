//! Feet that stand: how far the offset of a footprint may move, and how far the pelvis must come down.
//!
//! The target's ball of the foot is at `ratio * toe + offset`, horizontally. The offset wants to be the
//! footprint's, turned by the pelvis, but it moves only as fast as the source's foot does. Its *mobility* is
//! the square of the rate, per second, at which it may approach the wanted offset: 0 for a foot that stands,
//! and at most `1 / FAST²`. No frame has a label.
//!
//! A foot has two anchors, ball and ankle. Each wants its own change of the offset while it stands; the
//! changes are weighted by the reciprocals of the mobilities. A foot that rolls over the heel therefore keeps
//! its heel, and one that rolls over the ball keeps the ball.

use crate::footing::Ground;
use crate::maths::{Vec3, add, flat, length, moved, scaled, sqrt_f64, sub};
use crate::plan::Plan;
use crate::transfer::{LegMoment, Moment};

/// Time constant of a free offset, in seconds.
const FAST: f64 = 0.18;
/// Weight of the ankle compared with the ball.
const HEEL: f64 = 0.32;
/// Mobility of an anchor that stands.
const RIGID: f64 = 1e-7;
/// Part of its length to which a standing leg may straighten, if the source's is not straighter.
const STRAIGHT: f64 = 0.99;
/// Part of its length to which a standing leg may fold, if the source's does not fold farther.
const FOLDED: f64 = 0.25;

/// Change of a footprint's offset over one frame.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Shift {
    /// Change that keeps the anchors where they stand.
    pub(crate) by: Vec3,
    /// Mobility per second squared.
    pub(crate) mobility: f64,
}

/// Returns the change of the offset of one foot from one pose to the next.
pub(crate) fn shift(
    plan: &Plan,
    side: usize,
    ground: &Ground,
    [before, now]: [&LegMoment; 2],
    dt: f64,
) -> Shift {
    let r = plan.footing.ratio;
    let leg = &plan.source.legs[side];
    let stands = [ground.toes[side], ground.toes[side] - leg.toe_height + leg.ankle_height];
    let [toe, ankle] = [[before.toe, now.toe], [before.ankle, now.ankle]].map(|[a, b]| flat(sub(b, a)));
    let mobility = |step: Vec3, above: f64| {
        let freedom = plan.source.planted.freedom(above, length(step) / dt);
        freedom * freedom / (FAST * FAST)
    };
    let mobilities = [mobility(toe, now.toe[1] - stands[0]), mobility(ankle, now.ankle[1] - stands[1])];
    // The source's own creep is removed where an anchor stands.
    let creep = |step: Vec3, mobility: f64| {
        if plan.footing.plant && mobility <= 0.0 { scaled(step, -r) } else { [0.0; 3] }
    };
    let ball = creep(toe, mobilities[0]);
    let foot = |it: &LegMoment| flat(sub(it.foot, scaled(sub(it.toe, it.ankle), r)));
    let heel = add(sub(foot(now), foot(before)), creep(ankle, mobilities[1]));
    let weights = [1.0 / mobilities[0].max(RIGID), HEEL / mobilities[1].max(RIGID)];
    let all = weights[0] + weights[1];
    let by = scaled(moved(scaled(ball, weights[0]), heel, weights[1]), 1.0 / all);
    Shift { by, mobility: 1.0 / all }
}

/// Returns the offset that a foot wants, for a heading of the pelvis.
pub(crate) fn wanted(plan: &Plan, side: usize, [sin, cos]: [f64; 2]) -> Vec3 {
    let [x, _, z] = plan.footing.prints[side];
    [x * cos + z * sin, 0.0, z * cos - x * sin]
}

/// Returns how much a foot stands, from 0 to 1, by the height of its ball.
pub(crate) fn stands(plan: &Plan, side: usize, ground: &Ground, leg: &LegMoment) -> f64 {
    plan.source.planted.weight(leg.toe[1] - ground.toes[side])
}

/// Returns the goal of the ankle.
pub(crate) fn ankle_goal(plan: &Plan, side: usize, ground: &Ground, leg: &LegMoment, offset: Vec3) -> Vec3 {
    sub(add(plan.toe(side, leg.toe, ground), offset), leg.foot)
}

/// Returns how far the pelvis must come down so that the standing legs reach their goals, and how far up so
/// that they do not fold farther than the source's.
pub(crate) fn drop(plan: &Plan, moment: &Moment, goals: &[Vec3; 2], stand: [f64; 2]) -> [f64; 2] {
    let needs = [0, 1].map(|side| {
        let (leg, full) = (&moment.legs[side], plan.target.legs[side].length());
        let reach = (STRAIGHT * full).max(leg.extension).min(full);
        let to = sub(goals[side], leg.hip);
        let across = to[0] * to[0] + to[2] * to[2];
        // A goal too far to the side does not pull the pelvis below half the leg.
        let down = sqrt_f64((reach * reach - across).max(0.25 * full * full));
        let fold = (FOLDED * full).min(leg.extension);
        // A goal above the hip joint is no reason to rise by twice its height.
        let up = sqrt_f64((fold * fold - across).max(0.0)) + to[1];
        let up = up.min(4.0 * (fold - length(to)));
        [stand[side] * (-to[1] - down).max(0.0), stand[side] * up.max(0.0)]
    });
    [0, 1].map(|way: usize| needs[0][way].max(needs[1][way]))
}

/// Returns a heading's angle turned into sine and cosine of unit length.
pub(crate) fn unit_heading([sin, cos]: [f64; 2]) -> [f64; 2] {
    let length = sqrt_f64(sin * sin + cos * cos);
    if length > 1e-9 { [sin / length, cos / length] } else { [0.0, 1.0] }
}
