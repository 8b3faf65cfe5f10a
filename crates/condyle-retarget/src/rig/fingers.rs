//! Finds the fingers of a hand: by the names of digits, else by their order across the palm.

use condyle_base::math::vectors::{add, dot, scaled, sub};

use super::body::{Body, Vec3, unit};
use super::humanoid::Metacarpal;
use super::role::{Role, Side};
use super::roles::Chosen;
use super::words::Part;

/// Thumb to little finger: first role of each on the left hand.
const FIRST: [Role; 5] = [
    Role::LeftThumbMetacarpal,
    Role::LeftIndexProximal,
    Role::LeftMiddleProximal,
    Role::LeftRingProximal,
    Role::LeftLittleProximal,
];

/// Joints below a hand that are searched, at most.
const SEARCHED: usize = 400;

/// Gives the roles of a hand's fingers.
pub(super) fn choose(chosen: &mut Chosen<'_, '_>, side: Side) {
    let body = chosen.body;
    let Some(hand) = chosen.joint(Role::LeftHand.on(side)) else { return };
    let mut fingers = named(body, hand);
    if fingers.iter().all(Vec::is_empty) {
        fingers = shaped(body, hand);
    } else if fingers[1..].iter().all(Vec::is_empty) {
        fingers[2] = mitten(body, hand);
    }
    for (digit, chain) in fingers.into_iter().enumerate() {
        finger(chosen, side, hand, digit, chain);
    }
}

/// Gives the roles of one finger with the joints of a chain, from the palm outwards.
fn finger(chosen: &mut Chosen<'_, '_>, side: Side, hand: u16, digit: usize, mut chain: Vec<u16>) {
    let body = chosen.body;
    if chain.is_empty() {
        return;
    }
    let mut palm = Vec::new();
    if digit > 0 {
        while chain.len() > 1 && body.reading(chain[0]).palm {
            palm.push(chain.remove(0));
        }
        let from_palm =
            body.path(hand, chain[0]).into_iter().filter(|&it| body.reading(it).palm && !palm.contains(&it));
        palm.extend(from_palm.collect::<Vec<_>>());
        if chain.len() > 3 && palm.is_empty() && begins_in_palm(body, hand, &chain) {
            palm.push(chain.remove(0));
        }
    }
    chain.truncate(3);
    let first = FIRST[digit] as usize + usize::from(digit == 0 && chain.len() < 3);
    let role = |at: usize| Role::ALL[first + at].on(side);
    for (at, joint) in chain.into_iter().enumerate() {
        chosen.give(role(at), joint);
    }
    let free: Vec<u16> = palm.into_iter().filter(|&it| !chosen.is_taken(it)).collect();
    for joint in free {
        if !chosen.metacarpals.iter().any(|it| it.joint == joint) {
            chosen.metacarpals.push(Metacarpal { of: role(0), joint });
        }
    }
}

/// Whether the first joint of a chain is a bone of the palm: near the wrist, with a long bone.
fn begins_in_palm(body: &Body<'_>, hand: u16, chain: &[u16]) -> bool {
    body.distance(hand, chain[0]) < 0.8 * body.distance(chain[0], chain[1])
}

/// Returns the fingers whose names have the digit.
fn named(body: &Body<'_>, hand: u16) -> [Vec<u16>; 5] {
    let mut fingers: [Vec<u16>; 5] = Default::default();
    for &joint in body.skeleton.subtree(hand).iter().skip(1).take(SEARCHED) {
        let reading = body.reading(joint);
        let Some(Part::Digit(digit)) = reading.part.filter(|_| !reading.is_extra()) else { continue };
        let chain = &mut fingers[usize::from(digit)];
        // Parents come before their children, so each chain grows downwards.
        if chain.last().is_none_or(|&last| body.is_below(joint, last)) {
            chain.push(joint);
        }
    }
    fingers
}

/// Returns the joints that four fingers share: `LeftFingers`.
fn mitten(body: &Body<'_>, hand: u16) -> Vec<u16> {
    let is_mitten = |chain: &Vec<u16>| chain.iter().all(|&it| body.reading(it).part == Some(Part::Finger));
    let mut chain = chains(body, hand).into_iter().find(is_mitten).unwrap_or_default();
    while chain.len() > 1 && body.distance(hand, chain[0]) == 0.0 {
        chain.remove(0);
    }
    chain
}

/// Returns the fingers by their order across the palm, or by the number of `Finger1`.
fn shaped(body: &Body<'_>, hand: u16) -> [Vec<u16>; 5] {
    let mut chains = chains(body, hand);
    let longest = chains.iter().map(Vec::len).max().unwrap_or(0);
    chains
        .retain(|chain| chain.len() > 1 || longest == 1 && body.reading(chain[0]).part == Some(Part::Finger));
    let mut fingers: [Vec<u16>; 5] = Default::default();
    if let Some(digits) = numbered(body, &chains) {
        for (digit, chain) in digits.into_iter().zip(chains) {
            fingers[digit] = chain;
        }
        return fingers;
    }
    match chains.len() {
        // Most likely the four fingers of a mitten.
        1 => fingers[2] = chains.remove(0),
        2..=5 => {
            sort_from_thumb(body, hand, &mut chains);
            for (digit, chain) in chains.into_iter().enumerate() {
                fingers[digit] = chain;
            }
        }
        _ => {}
    }
    fingers
}

/// Returns the chains of joints below a hand. A joint that alone carries all others is a part of the hand.
fn chains(body: &Body<'_>, hand: u16) -> Vec<Vec<u16>> {
    let bones = |joint: u16| -> Vec<u16> {
        let is_bone = |it: &u16| !body.reading(*it).is_extra();
        let mut bones: Vec<u16> = body.children(joint).take(24).filter(is_bone).collect();
        bones.sort_unstable();
        bones
    };
    let mut bases = bones(hand);
    for _ in 0..3 {
        match bases[..] {
            [only] if bones(only).len() > 1 => bases = bones(only),
            _ => break,
        }
    }
    let along = |base: u16| {
        let mut chain = vec![base];
        while let Some(next) = bones(chain[chain.len() - 1]).first().copied().filter(|_| chain.len() < 5) {
            chain.push(next);
        }
        chain
    };
    bases.into_iter().map(along).collect()
}

/// Returns the digits of chains such as `Finger0`, or `finger1-1` to `finger5-1`.
fn numbered(body: &Body<'_>, chains: &[Vec<u16>]) -> Option<Vec<usize>> {
    let digit = |chain: &Vec<u16>| -> Option<usize> {
        let reading = body.reading(chain[0]);
        let number = reading.numbers.iter().rev().nth(usize::from(reading.numbers.len() > 1))?;
        (reading.part == Some(Part::Finger))
            .then(|| number.chars().next()?.to_digit(10))
            .flatten()
            .map(|it| it as usize)
    };
    let digits: Vec<usize> = chains.iter().map(digit).collect::<Option<_>>()?;
    let lowest = *digits.iter().min()?;
    if lowest > 0 && chains.len() < 5 {
        return None;
    }
    let digits: Vec<usize> = digits.into_iter().map(|it| it - lowest).collect();
    let distinct = (0..5).all(|digit| digits.iter().filter(|it| **it == digit).count() <= 1);
    (distinct && digits.iter().all(|it| *it < 5)).then_some(digits)
}

/// Sorts fingers across the palm. The thumb is the outer one that begins nearest to the wrist.
fn sort_from_thumb(body: &Body<'_>, hand: u16, chains: &mut [Vec<u16>]) {
    let base = |chain: &Vec<u16>| body.between(hand, chain[0]);
    // The last joints are farther apart than the first ones, which may all be in the wrist.
    let end = |chain: &Vec<u16>| body.between(hand, chain[chain.len() - 1]);
    let sum = chains.iter().map(end).fold([0.0; 3], add);
    let Some(ahead) = unit(sum) else { return };
    let flat = |v: Vec3| sub(v, scaled(ahead, dot(v, ahead)));
    let place = |chain: &Vec<u16>| flat(scaled(add(base(chain), end(chain)), 0.5));
    let mut across = [0.0; 3];
    for a in chains.iter() {
        for b in chains.iter() {
            let between = sub(place(b), place(a));
            if dot(between, between) > dot(across, across) {
                across = between;
            }
        }
    }
    chains.sort_by(|a, b| dot(place(a), across).total_cmp(&dot(place(b), across)));
    let reach = |chain: &Vec<u16>| dot(add(base(chain), end(chain)), ahead);
    if chains.last().zip(chains.first()).is_some_and(|(last, first)| reach(last) < reach(first)) {
        chains.reverse();
    }
}
