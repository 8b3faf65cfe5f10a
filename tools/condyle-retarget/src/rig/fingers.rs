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

/// Chains below a hand that are searched, at most.
const SEARCHED: usize = 40;

/// Gives the roles of a hand's fingers.
pub(super) fn choose(chosen: &mut Chosen<'_, '_>, side: Side) {
    let body = chosen.body;
    let Some(hand) = chosen.joint(Role::LeftHand.on(side)) else { return };
    for (digit, chain) in digits(body, hand, chains(body, hand)).into_iter().enumerate() {
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
        palm.extend(body.path(hand, chain[0]).into_iter().filter(|&it| body.reading(it).palm));
        while chain.len() > 1 && body.reading(chain[0]).palm {
            palm.push(chain.remove(0));
        }
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
    for joint in palm {
        if !chosen.is_taken(joint) && !chosen.metacarpals.iter().any(|it| it.joint == joint) {
            chosen.metacarpals.push(Metacarpal { of: role(0), joint });
        }
    }
}

/// Whether the first joint of a chain is a bone of the palm: near the wrist, with a long bone.
fn begins_in_palm(body: &Body<'_>, hand: u16, chain: &[u16]) -> bool {
    body.distance(hand, chain[0]) < 0.8 * body.distance(chain[0], chain[1])
}

/// Returns the chains of joints below a hand. A joint that several chains share is a part of the palm.
fn chains(body: &Body<'_>, hand: u16) -> Vec<Vec<u16>> {
    let bones = |joint: u16| -> Vec<u16> {
        let below = body.children(joint).take(24);
        // A joint that only carries an offset is not a bone, but its children are.
        let through = below.flat_map(|it| match body.reading(it).relay {
            true => body.children(it).take(24).collect(),
            false => vec![it],
        });
        let mut bones: Vec<u16> = through.filter(|&it| !body.reading(it).is_extra()).collect();
        bones.sort_unstable();
        bones
    };
    let named = |joint: u16| matches!(body.reading(joint).part, Some(Part::Digit(_) | Part::Finger));
    let mut chains = Vec::new();
    let mut bases = bones(hand);
    bases.reverse();
    while let Some(base) = bases.pop().filter(|_| chains.len() < SEARCHED) {
        let mut chain = vec![base];
        while chain.len() < 6 {
            let last = chain[chain.len() - 1];
            let below = bones(last);
            if below.len() > 1 && !named(last) {
                // The palm: each child begins a chain.
                chain.clear();
                bases.extend(below.into_iter().rev());
                break;
            }
            let Some(&next) = below.iter().find(|&&it| named(it)).or(below.first()) else { break };
            chain.push(next);
        }
        let is_hand = |joint: u16| body.reading(joint).part == Some(Part::Hand);
        while chain.len() > 1 && is_hand(chain[0]) {
            chain.remove(0);
        }
        // A joint in the place of the next one is no bone.
        while chain.len() > 1
            && (body.distance(hand, chain[0]) == 0.0 || body.distance(chain[0], chain[1]) == 0.0)
            && body.size > 0.0
        {
            chain.remove(0);
        }
        if !chain.is_empty() {
            chains.push(chain);
        }
    }
    chains
}

/// Returns the chains by digit: by the names of digits, then by numbers, then by the order across the palm.
fn digits(body: &Body<'_>, hand: u16, chains: Vec<Vec<u16>>) -> [Vec<u16>; 5] {
    let mut fingers: [Vec<u16>; 5] = Default::default();
    let mut rest = Vec::new();
    for chain in chains {
        let named = chain.iter().find_map(|&joint| match body.reading(joint).part {
            Some(Part::Digit(digit)) => Some(usize::from(digit)),
            _ => None,
        });
        match named {
            Some(digit) if fingers[digit].len() < chain.len() => fingers[digit] = chain,
            Some(_) => {}
            None => rest.push(chain),
        }
    }
    if fingers[1..].iter().any(|chain| !chain.is_empty()) {
        return fingers;
    }
    let longest = rest.iter().map(Vec::len).max().unwrap_or(0);
    let is_finger = |chain: &[u16]| chain.iter().any(|&it| body.reading(it).part == Some(Part::Finger));
    // Chains as long as one that is called a finger are fingers too.
    if let Some(bones) = rest.iter().filter(|chain| is_finger(chain)).map(Vec::len).max() {
        rest.retain(|chain| is_finger(chain) || (chain.len() == bones && bones > 1));
    } else {
        rest.retain(|chain| chain.len() > 1 && chain.len() + 2 > longest);
    }
    let has_thumb = !fingers[0].is_empty();
    let first = usize::from(has_thumb);
    if let Some(numbers) = numbered(body, &rest, has_thumb) {
        for (digit, chain) in numbers.into_iter().zip(rest) {
            fingers[digit] = chain;
        }
        return fingers;
    }
    match rest.len() {
        // Most likely the four fingers of a mitten.
        1 => fingers[2] = rest.remove(0),
        count if count <= 5 - first => {
            sort_from_thumb(body, hand, &mut rest, fingers[0].first().copied());
            for (digit, chain) in (first..).zip(rest) {
                fingers[digit] = chain;
            }
        }
        _ => {}
    }
    fingers
}

/// Returns the digits of chains such as `Finger0`, or `finger1-1` to `finger5-1`.
fn numbered(body: &Body<'_>, chains: &[Vec<u16>], has_thumb: bool) -> Option<Vec<usize>> {
    let number = |chain: &Vec<u16>| -> Option<usize> {
        let finger = chain.iter().find(|&&it| body.reading(it).part == Some(Part::Finger))?;
        let number = body.reading(*finger).numbers.iter().find(|it| *it != "001")?;
        // `Finger01` is the second bone of `Finger0`.
        number.chars().next()?.to_digit(10).map(|it| it as usize)
    };
    let numbers: Vec<usize> = chains.iter().map(number).collect::<Option<_>>()?;
    let lowest = *numbers.iter().min()?;
    if !has_thumb && lowest > 0 && chains.len() < 5 {
        return None;
    }
    let numbers: Vec<usize> = numbers.into_iter().map(|it| it - lowest + usize::from(has_thumb)).collect();
    let distinct = (0..5).all(|digit| numbers.iter().filter(|it| **it == digit).count() <= 1);
    (distinct && numbers.iter().all(|it| *it < 5)).then_some(numbers)
}

/// Sorts fingers across the palm. Without a given thumb, it is the outer finger that begins nearest to the
/// wrist.
fn sort_from_thumb(body: &Body<'_>, hand: u16, chains: &mut [Vec<u16>], thumb: Option<u16>) {
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
    let (Some(first), Some(last)) = (chains.first(), chains.last()) else { return };
    let turned = match thumb {
        Some(thumb) => {
            let thumb = dot(flat(body.between(hand, thumb)), across);
            (dot(place(last), across) - thumb).abs() < (dot(place(first), across) - thumb).abs()
        }
        None => {
            let reach = |chain: &Vec<u16>| dot(add(base(chain), end(chain)), ahead);
            reach(last) < reach(first)
        }
    };
    if turned {
        chains.reverse();
    }
}
