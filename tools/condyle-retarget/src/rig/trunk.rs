//! Joins a pair of legs, a pair of arms and a head to one body.

use condyle_base::math::vectors::{add, dot, scaled, sub};

use super::body::{Body, Vec3, cosine, unit};
use super::limbs::Pair;
use super::words::Part;

/// A body: two legs, two arms and a head on one spine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trunk {
    pub(super) legs: Pair,
    pub(super) arms: Pair,
    pub(super) head: u16,
    /// Lowest joint above legs, arms and head.
    pub(super) hips: u16,
    pub(super) score: f64,
    /// Cosine of the angle between spine and legs: about -1 for a body that stands upright.
    pub(super) stance: f64,
}

/// Cosine between spine and legs from which on a body goes on four legs.
pub(super) const ON_FOUR: f64 = -0.35;
/// Cosine between spine and legs from which on the pose is not a stance: all bones have one direction.
pub(super) const NO_STANCE: f64 = 0.9;

/// Returns the best body. `fits` has each joint's score as head.
pub(super) fn best(body: &Body<'_>, legs: &[Pair], arms: &[Pair], fits: &[f64]) -> Option<Trunk> {
    let mut best: Option<Trunk> = None;
    let mut heads: Vec<(Pair, Option<(u16, f64)>)> = Vec::new();
    for arms in arms {
        heads.push((*arms, head(body, arms, fits)));
    }
    for legs in legs {
        for (arms, head) in &heads {
            let Some((head, head_score)) = *head else { continue };
            let Some(trunk) = trunk(body, legs, arms, head) else { continue };
            let trunk = Trunk { score: trunk.score + head_score, ..trunk };
            if best.is_none_or(|best| trunk.score > best.score) {
                best = Some(trunk);
            }
        }
    }
    best
}

fn trunk(body: &Body<'_>, legs: &Pair, arms: &Pair, head: u16) -> Option<Trunk> {
    let hips = body.common(legs.branch, arms.branch)?;
    let within = |joint: u16, pair: &Pair| pair.heads.iter().any(|&head| body.is_below(joint, head));
    if hips == arms.branch || within(arms.branch, legs) || within(legs.branch, arms) || within(head, legs) {
        return None;
    }
    let own = |pair: &Pair| (pair.limbs[0].length() + pair.limbs[1].length()) / 2.0;
    let (leg, arm) = (own(legs), own(arms));
    let spine = body.distance(hips, arms.branch);
    let bell =
        |log: f64, width: f64| if log.is_nan() { 0.0 } else { -(log * log / (2.0 * width * width)).min(3.0) };
    let mut score = legs.score + arms.score;
    score += bell((leg / arm).ln() - 0.3, 0.4) + bell((spine / leg).ln() + 0.6, 0.5);
    if legs.branch == hips {
        score += 0.3;
    }
    let middle = |pair: &Pair, at: usize| {
        let [a, b] = [0, 1].map(|limb| body.place(pair.limbs[limb].joints[at]));
        scaled(add(a, b), 0.5)
    };
    let [thighs, feet] = [0, 2].map(|at| middle(legs, at));
    let up = sub(middle(arms, 0), thighs);
    let [left, right] = legs.limbs.map(|it| body.between(it.joints[0], it.joints[2]));
    // Legs with opposite directions at rest occur in motion capture: the bones follow their local axes.
    let stance = if cosine(left, right) < -0.8 { 1.0 } else { cosine(up, sub(feet, thighs)) };
    score -= 1.5 * stance;
    // Limbs start near their branch.
    let far = |pair: &Pair, length: f64| {
        let most = pair.limbs.iter().map(|it| body.distance(pair.branch, it.joints[0])).fold(0.0, f64::max);
        if length > 0.0 { (most / length - 0.6).clamp(0.0, 1.0) * 2.0 } else { 0.0 }
    };
    score -= far(legs, leg) + far(arms, arm);
    Some(Trunk { legs: *legs, arms: *arms, head, hips, score, stance })
}

/// Levels below the arms' branch at which a head is searched.
const LEVELS: usize = 7;

/// Returns the best head for a pair of arms, with its score.
fn head(body: &Body<'_>, arms: &Pair, fits: &[f64]) -> Option<(u16, f64)> {
    let shoulders = [0, 1].map(|at| body.place(arms.limbs[at].joints[0]));
    let across = unit(sub(shoulders[0], shoulders[1]));
    let arm = (arms.limbs[0].length() + arms.limbs[1].length()) / 2.0;
    let below = body.skeleton.parent(arms.branch).map(|parent| body.between(parent, arms.branch));
    let mut best: Option<(u16, f64)> = None;
    let mut open: Vec<(u16, usize, f64)> = vec![(arms.branch, 0, 0.0)];
    let mut seen = 0;
    while let Some((joint, level, cost)) = open.pop() {
        seen += 1;
        if level > 0 {
            let score = fits[usize::from(joint)] - cost + place(body, joint, arms, across, below, arm, level);
            if best.is_none_or(|(_, best)| score > best) {
                best = Some((joint, score));
            }
        }
        if level == LEVELS || seen > 400 {
            continue;
        }
        let cost = cost + if body.reading(joint).helper { 2.0 } else { 0.0 };
        let next = body.children(joint).filter(|child| !arms.heads.contains(child));
        open.extend(next.map(|child| (child, level + 1, cost)));
    }
    best
}

/// Returns the score of a head's place: above the shoulders, in the middle, with a neck of about one joint.
fn place(
    body: &Body<'_>,
    head: u16,
    arms: &Pair,
    across: Option<Vec3>,
    below: Option<Vec3>,
    arm: f64,
    level: usize,
) -> f64 {
    let necks = match level {
        1 => -0.4,
        2 => 0.0,
        3 => -0.2,
        more => -0.5 * (more - 2) as f64,
    };
    if body.size == 0.0 || arm == 0.0 {
        return necks;
    }
    let from = body.between(arms.branch, head);
    let up = below.map_or(0.0, |below| cosine(below, from));
    let aside = across.map_or(0.0, |across| (dot(across, from).abs() / arm * 10.0).min(3.0));
    let far = (dot(from, from).sqrt() / (0.4 * arm)).ln().clamp(-4.0, 4.0);
    let children = body.children(head).take(8).count();
    let through = body.children(head).next().is_some_and(|it| body.children(it).next().is_some());
    let face = match children {
        0 => 0.0,
        // The neck goes on.
        1 if through => -0.4,
        1 => 0.0,
        _ => 0.5,
    };
    // The end of the chain is above the head if its bone is long compared with the one before.
    let parent = body.skeleton.parent(head).unwrap_or(head);
    let before = body.skeleton.parent(parent).unwrap_or(parent);
    let long = body.distance(parent, head) > 1.3 * body.distance(before, parent);
    let face = if body.distance(parent, head) == 0.0 { face - 1.0 } else { face };
    let end = if children == 0 && level > 1 && parent != arms.branch && long { -0.7 } else { 0.0 };
    // A spine that goes on is not yet the head.
    let spine = |joint: u16| body.reading(joint).part == Some(Part::Spine);
    let goes_on = spine(head) && body.children(head).any(spine);
    let face = if goes_on { face - 1.0 } else { face };
    necks + up - aside - far * far * 0.3 + face + end
}
