//! Candidates for limbs: three joints below each other that may be thigh, shin and foot, or upper arm,
//! forearm and hand, and pairs of them.

use super::body::{Body, cosine};
use super::role::Role;

/// Legs or arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Leg,
    Arm,
}

impl Kind {
    /// Returns the roles of a left limb's joints.
    pub(super) fn roles(self) -> [Role; 3] {
        match self {
            Self::Leg => [Role::LeftUpperLeg, Role::LeftLowerLeg, Role::LeftFoot],
            Self::Arm => [Role::LeftUpperArm, Role::LeftLowerArm, Role::LeftHand],
        }
    }

    /// Logarithm of the usual ratio of the upper bone's length to the lower one's.
    fn ratio(self) -> f64 {
        match self {
            Self::Leg => 0.0,
            Self::Arm => 0.1,
        }
    }
}

/// Three joints that may be a limb.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limb {
    pub(super) joints: [u16; 3],
    pub(super) lengths: [f64; 2],
    pub(super) score: f64,
    /// Whether the last joint is not below the others: a foot that an exporter left at the root.
    pub(super) loose: bool,
    /// The part of the score that comes from names.
    pub(super) named: f64,
}

impl Limb {
    pub(super) fn length(&self) -> f64 {
        self.lengths[0] + self.lengths[1]
    }
}

/// Two limbs, and the joint from which both branch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    pub(super) limbs: [Limb; 2],
    /// Children of `branch` that lead to the limbs.
    pub(super) heads: [u16; 2],
    pub(super) branch: u16,
    pub(super) score: f64,
}

/// Joints that a limb may skip between two of its joints: twists and other helpers on the bone.
const SKIPS: usize = 5;
/// Joints between the branch and the limb's first joint.
const GAP: usize = 6;
/// Limbs kept per first joint and per child of a branch.
const KEPT: usize = 3;

/// Scores of each joint for the roles of one kind, which corrections may have changed.
pub(super) type Fits = Vec<[f64; 3]>;

/// Returns the best pairs of limbs, best first.
pub(super) fn pairs(body: &Body<'_>, kind: Kind, fits: &Fits) -> Vec<Pair> {
    let heads = by_head(body, kind, &limbs(body, kind, fits));
    let mut pairs = Vec::new();
    for branch in 0..body.skeleton.joint_count() as u16 {
        let mut children: Vec<u16> =
            body.children(branch).filter(|&it| !heads[usize::from(it)].is_empty()).collect();
        children.sort_by(|a, b| {
            let best = |it: &u16| heads[usize::from(*it)][0].score;
            best(b).total_cmp(&best(a))
        });
        children.truncate(8);
        let mut own = Vec::new();
        for (at, &first) in children.iter().enumerate() {
            for &second in &children[at + 1..] {
                let both = |a: &Limb, b: &Limb| pair(body, branch, [first, second], [*a, *b]);
                let all = heads[usize::from(first)].iter();
                own.extend(all.flat_map(|a| heads[usize::from(second)].iter().map(move |b| both(a, b))));
            }
        }
        best_first(&mut own);
        own.truncate(KEPT);
        pairs.extend(own);
    }
    best_first(&mut pairs);
    pairs.truncate(40);
    pairs
}

/// Sorts by falling score; equal scores keep their order.
fn best_first(pairs: &mut [Pair]) {
    pairs.sort_by(|a, b| b.score.total_cmp(&a.score));
}

fn pair(body: &Body<'_>, branch: u16, heads: [u16; 2], limbs: [Limb; 2]) -> Pair {
    let [a, b] = &limbs;
    let unlike = |at: usize| {
        let log = (a.lengths[at] / b.lengths[at]).ln();
        if log.is_nan() { 0.0 } else { (log * log / (2.0 * 0.08 * 0.08)).min(2.0) }
    };
    let sides = [0, 1].map(|at| {
        let [a, b] = [a, b].map(|limb| body.reading(limb.joints[at]).side);
        a.zip(b).map_or(0.0, |(a, b)| if a == b { -4.0 } else { 0.5 })
    });
    let apart = body.distance(a.joints[0], b.joints[0]);
    let same_place = apart < 0.02 * (a.length() + b.length());
    let together = if same_place && body.size > 0.0 { -2.0 } else { 0.0 };
    let shapes = unlike(0) + unlike(1);
    let score = a.score + b.score - shapes + sides[0] + sides[1] + together;
    Pair { limbs, heads, branch, score }
}

/// Returns the best limbs by first joint.
fn limbs(body: &Body<'_>, kind: Kind, fits: &Fits) -> Vec<Vec<Limb>> {
    let count = body.skeleton.joint_count();
    let mut all: Vec<Vec<Limb>> = vec![Vec::new(); count];
    for last in 0..count as u16 {
        if fits[usize::from(last)][2] < -2.0 {
            continue;
        }
        for middle in body.upwards(last).skip(1).take(SKIPS + 1) {
            if fits[usize::from(middle)][1] < -2.0 {
                continue;
            }
            for first in body.upwards(middle).skip(1).take(SKIPS + 1) {
                if fits[usize::from(first)][0] < -2.0 || body.skeleton.parent(first).is_none() {
                    continue;
                }
                let limb = limb(body, kind, [first, middle, last], fits);
                if let Some(limb) = limb {
                    keep(&mut all[usize::from(first)], limb);
                }
            }
        }
    }
    if kind == Kind::Leg {
        loose_feet(body, fits, &mut all);
    }
    all
}

/// Adds legs whose feet are elsewhere in the skeleton. Only names tell that they belong together.
fn loose_feet(body: &Body<'_>, fits: &Fits, all: &mut [Vec<Limb>]) {
    const NAMED: f64 = 0.6;
    let joints = || (0..body.skeleton.joint_count() as u16).map(|joint| (joint, fits[usize::from(joint)]));
    let feet: Vec<u16> =
        joints().filter(|(_, fits)| fits[2] > NAMED).map(|(joint, _)| joint).take(16).collect();
    for (middle, _) in joints().filter(|(_, fits)| fits[1] > NAMED).take(64) {
        let side = body.reading(middle).side;
        let same =
            |foot: &u16| side.is_some() && body.reading(*foot).side == side && !body.is_below(*foot, middle);
        for last in feet.iter().copied().filter(same) {
            let first =
                body.upwards(middle).skip(1).take(SKIPS + 1).find(|&it| fits[usize::from(it)][0] > NAMED);
            let Some(first) = first.filter(|&it| !body.is_below(last, it)) else { continue };
            if let Some(limb) = limb(body, Kind::Leg, [first, middle, last], fits) {
                keep(&mut all[usize::from(first)], Limb { loose: true, score: limb.score - 1.0, ..limb });
            }
        }
    }
}

/// Adds a limb to the best ones.
fn keep(best: &mut Vec<Limb>, limb: Limb) {
    let at = best.partition_point(|it| it.score >= limb.score);
    best.insert(at, limb);
    best.truncate(KEPT);
}

/// Returns the best limbs by the child of a branch that leads to them.
fn by_head(body: &Body<'_>, kind: Kind, limbs: &[Vec<Limb>]) -> Vec<Vec<Limb>> {
    let mut heads: Vec<Vec<Limb>> = vec![Vec::new(); limbs.len()];
    for (first, own) in limbs.iter().enumerate() {
        for (gap, head) in body.upwards(first as u16).take(GAP + 1).enumerate() {
            let cost = match (kind, gap) {
                (Kind::Leg, gap) => 0.4 * gap as f64,
                (Kind::Arm, 0) => 0.1,
                (Kind::Arm, gap) => 0.25 * (gap - 1) as f64,
            };
            for limb in own {
                keep(&mut heads[usize::from(head)], Limb { score: limb.score - cost, ..*limb });
            }
        }
    }
    heads
}

fn limb(body: &Body<'_>, kind: Kind, joints: [u16; 3], fits: &Fits) -> Option<Limb> {
    let [first, middle, last] = joints;
    let named: f64 = joints.iter().zip(0..).map(|(&joint, at)| fits[usize::from(joint)][at]).sum();
    let lengths = [body.distance(first, middle), body.distance(middle, last)];
    let limb = |shape: f64| Some(Limb { joints, lengths, loose: false, named, score: named + shape });
    let total = lengths[0] + lengths[1];
    if body.size == 0.0 {
        return limb(0.0);
    }
    if lengths.iter().any(|&it| it < 0.005 * body.size) {
        return (named > 1.0).then_some(()).and_then(|()| limb(-6.0));
    }
    let log = (lengths[0] / lengths[1]).ln() - kind.ratio();
    let ratio = -(log * log / (2.0 * 0.4 * 0.4)).min(3.0);
    let size = 1.5 * (total / body.size).ln().max(-4.0);
    let skipped = |from: u16, to: u16| -> f64 {
        let part = body.reading(from).part;
        let cost = |joint: &u16| match body.reading(*joint) {
            reading if reading.is_extra() => 0.05,
            // A bone in pieces has one name: `thigh.L` and `thigh.L.001`.
            reading if reading.part.is_some() && reading.part != part => 2.5,
            // A joint with several bones, such as a hand, is the end of one.
            _ if body.is_on_bone(*joint, from, to) && body.children(*joint).nth(1).is_none() => 0.2,
            _ => 0.8,
        };
        body.path(from, to).iter().map(cost).sum()
    };
    let skips =
        skipped(first, middle) + if body.is_below(last, middle) { skipped(middle, last) } else { 0.0 };
    let folded =
        if cosine(body.between(first, middle), body.between(middle, last)) < 0.0 { -1.0 } else { 0.0 };
    // The first piece of a bone in pieces is the joint.
    let reading = |joint: u16| body.reading(joint);
    let above = body.skeleton.parent(first).map(reading).filter(|above| !above.is_extra());
    let piece = above.is_some_and(|above| above.part.is_some() && above.part == reading(first).part);
    let later = if piece { -2.0 } else { 0.0 };
    limb(ratio + size - skips + folded + later + end(body, kind, [middle, last]))
}

/// Returns the score of a limb's end: a foot turns forward, a hand has fingers.
fn end(body: &Body<'_>, kind: Kind, [middle, last]: [u16; 2]) -> f64 {
    let bones =
        || body.children(last).filter(|&it| !body.reading(it).helper && body.distance(last, it) > 0.0);
    let shaft = body.between(middle, last);
    match kind {
        Kind::Leg => {
            let turned = bones().take(8).any(|it| cosine(shaft, body.between(last, it)) < 0.85);
            if turned { 0.6 } else { 0.0 }
        }
        Kind::Arm => match bones().take(8).count() {
            0 => 0.0,
            1 => 0.1,
            2 => 0.3,
            _ => 0.6,
        },
    }
}
