//! Left and right of a body, by its front.

use condyle_base::math::vectors::{add, cross, dot, scaled, sub};

use super::body::{Body, Vec3, unit};
use super::limbs::Pair;
use super::role::Side;
use super::trunk::{NO_STANCE, Trunk};
use super::words::Part;

/// The sides of a body's limbs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Front {
    /// Index of the left limb in the pair of legs and in the pair of arms.
    pub(super) left_limb: [usize; 2],
    /// The basis of the decision between left and right.
    pub(super) basis: Basis,
    /// Whether names call the left side right.
    pub(super) names_differ: bool,
}

/// The basis of the decision between left and right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// Feet or face point forward.
    Shape,
    Names,
    /// Neither: the character faces +Z.
    Convention,
}

/// Finds the sides of a body.
pub(super) fn front(body: &Body<'_>, trunk: &Trunk) -> Front {
    let mean = |pair: &Pair| {
        let [a, b] = [0, 1].map(|limb| body.place(pair.limbs[limb].joints[0]));
        scaled(add(a, b), 0.5)
    };
    let across = |pair: &Pair| {
        let [a, b] = [0, 1].map(|limb| body.place(pair.limbs[limb].joints[0]));
        sub(a, b)
    };
    let up = unit(sub(mean(&trunk.arms), mean(&trunk.legs))).unwrap_or([0.0, 1.0, 0.0]);
    let flat = |v: Vec3| unit(sub(v, scaled(up, dot(v, up))));
    let (legs, arms) = (across(&trunk.legs), across(&trunk.arms));
    let votes = [names(body, &trunk.legs), names(body, &trunk.arms)];
    // The arm on the side of the first leg.
    let alike = flat(legs).zip(flat(arms)).map_or(0.0, |(a, b)| dot(a, b));
    let crossed = if alike.abs() > 0.3 { alike < 0.0 } else { votes[0] * votes[1] < 0.0 };
    let sign = if crossed { -1.0 } else { 1.0 };
    let named = votes[0] + sign * votes[1];
    let lateral = flat(add(unit(legs).unwrap_or_default(), scaled(unit(arms).unwrap_or_default(), sign)));
    let lateral = lateral.unwrap_or_else(|| any_across(up));
    // Forward if the first leg is the left one.
    let forward = cross(lateral, up);
    let shape =
        if trunk.stance >= NO_STANCE { 0.0 } else { feet(body, trunk, forward) + face(body, trunk, forward) };
    let (first_is_left, basis) = if shape.abs() > 0.35 {
        (shape > 0.0, Basis::Shape)
    } else if named.abs() > 0.5 {
        (named > 0.0, Basis::Names)
    } else {
        (forward[2] > 0.0, Basis::Convention)
    };
    let way = if first_is_left { 1.0 } else { -1.0 };
    let leg = usize::from(!first_is_left);
    Front { left_limb: [leg, if crossed { 1 - leg } else { leg }], basis, names_differ: named * way < -0.5 }
}

/// Returns how much the names call the first limb of a pair left: -1 to 1.
fn names(body: &Body<'_>, pair: &Pair) -> f64 {
    let vote = |joint: u16| match body.reading(joint).side {
        Some(Side::Left) => 1.0,
        Some(Side::Right) => -1.0,
        None => 0.0,
    };
    let of = |limb: usize| pair.limbs[limb].joints.iter().map(|&joint| vote(joint)).sum::<f64>();
    (of(0) - of(1)) / 6.0
}

/// Returns how much the feet point forward: -1 to 1.
fn feet(body: &Body<'_>, trunk: &Trunk, forward: Vec3) -> f64 {
    let of = |limb: usize| {
        let foot = trunk.legs.limbs[limb].joints[2];
        let longest = |a: &u16, b: &u16| body.distance(foot, *a).total_cmp(&body.distance(foot, *b));
        let toe = body.children(foot).find(|&it| body.reading(it).part == Some(Part::Toe));
        let toe = toe.or_else(|| body.children(foot).filter(|&it| !body.reading(it).helper).max_by(longest));
        toe.and_then(|toe| unit(body.between(foot, toe))).map_or(0.0, |bone| dot(bone, forward))
    };
    (of(0) + of(1)) / 2.0
}

/// Returns how much eyes and jaw are in front of the head: -1 to 1.
fn face(body: &Body<'_>, trunk: &Trunk, forward: Vec3) -> f64 {
    let is_face = |joint: &u16| matches!(body.reading(*joint).part, Some(Part::Eye | Part::Jaw));
    let parts = body.skeleton.subtree(trunk.head).iter().copied().filter(is_face).take(8);
    let all: Vec<f64> =
        parts.filter_map(|it| Some(dot(unit(body.between(trunk.head, it))?, forward))).collect();
    if all.is_empty() { 0.0 } else { 0.5 * all.iter().sum::<f64>() / all.len() as f64 }
}

/// Returns a direction at a right angle to another one.
fn any_across(v: Vec3) -> Vec3 {
    let axis = if v[0].abs() < 0.7 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    unit(sub(axis, scaled(v, dot(v, axis)))).unwrap_or(axis)
}
