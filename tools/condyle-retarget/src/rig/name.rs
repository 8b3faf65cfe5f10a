//! Reads a joint's name: side, part of the body, and how well it fits a role.

use std::collections::{BTreeMap, BTreeSet};

use super::role::{Role, Side};
use super::words::{Part, Vocabulary, Word};

/// A joint's name as words.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reading {
    pub(super) side: Option<Side>,
    pub(super) part: Option<Part>,
    pub(super) twist: bool,
    pub(super) tip: bool,
    pub(super) palm: bool,
    pub(super) helper: bool,
    /// A joint that only carries the offset of its child: `__thumb` above `thumb`.
    pub(super) relay: bool,
    upper: bool,
    lower: bool,
    deform: bool,
    /// Words that are neither known nor frequent in the skeleton.
    strange: u8,
    /// Numbers in order, with leading zeros: `01` in `Finger01`.
    pub(super) numbers: Vec<String>,
}

/// Score of a name that is exactly right for a role.
pub(super) const NAMED: f64 = 1.0;

/// Reads the names of all joints of a skeleton.
///
/// Words that most names share are no evidence, and neither are unknown words that are frequent.
pub(super) fn read_all(names: &[String]) -> Vec<Reading> {
    let tokens: Vec<Vec<String>> = names.iter().map(|name| tokens(name)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for token in tokens.iter().flatten() {
        *counts.entry(token).or_default() += 1;
    }
    let mut vocabulary = Vocabulary::new();
    let shared = |token: &str, share: usize| counts[token] >= 8.max(names.len() * share / 100);
    let all: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let read = |(name, tokens): (&String, &Vec<String>)| {
        let relay = name.strip_prefix("__").is_some_and(|name| all.contains(name));
        let mut reading = Reading { relay, ..Reading::default() };
        let (mut parts, mut face) = (Vec::new(), false);
        for token in tokens {
            if token.parse::<u16>().is_ok() {
                reading.numbers.push(token.clone());
                continue;
            }
            match vocabulary.read(token) {
                // A prefix of all names, such as `hand_` in a skeleton of a hand.
                Some(_) if shared(token, 80) && token.len() > 1 => {}
                Some(words) => words.iter().for_each(|word| {
                    face |= *word == Word::Face;
                    reading.take(*word, &mut parts);
                }),
                None => reading.strange = (reading.strange + u8::from(!shared(token, 12))).min(3),
            }
        }
        reading.part = most_distal(&parts);
        reading.helper |= face && !matches!(reading.part, Some(Part::Eye | Part::Jaw));
        reading
    };
    names.iter().zip(&tokens).map(read).collect()
}

/// Splits a name at separators, before capitals, and before and after digits.
fn tokens(name: &str) -> Vec<String> {
    /// Longest part of a name that is read, in characters.
    const LONGEST: usize = 200;
    let name = name.rsplit([':', '|']).next().unwrap_or(name);
    let all: Vec<char> = name.chars().take(LONGEST).collect();
    let mut tokens = Vec::new();
    let mut token = String::new();
    for (at, &c) in all.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| all[before]);
        let next_is_lower = all.get(at + 1).is_some_and(|next| next.is_lowercase());
        let cut = match before {
            _ if !c.is_alphanumeric() => true,
            Some(before) if before.is_alphanumeric() => {
                before.is_numeric() != c.is_numeric()
                    || (before.is_ascii() != c.is_ascii())
                    || (c.is_uppercase() && (before.is_lowercase() || next_is_lower))
            }
            _ => false,
        };
        if cut && !token.is_empty() {
            tokens.push(core::mem::take(&mut token));
        }
        if c.is_alphanumeric() {
            token.extend(c.to_lowercase());
        }
    }
    if !token.is_empty() {
        tokens.push(token);
    }
    tokens
}

/// Returns the part that a name with several parts means: `LeftHandThumb1` is a thumb.
fn most_distal(parts: &[Part]) -> Option<Part> {
    let has = |wanted: fn(&Part) -> bool| parts.iter().rev().copied().find(wanted);
    let only_hand = parts.iter().all(|part| matches!(part, Part::Digit(_) | Part::Hand | Part::Finger));
    has(|part| matches!(part, Part::Toe))
        .or_else(|| has(|part| matches!(part, Part::Digit(_))).filter(|_| only_hand))
        .or_else(|| has(|part| matches!(part, Part::Finger)))
        .or_else(|| has(|part| matches!(part, Part::Eye | Part::Jaw)))
        .or_else(|| has(|part| !matches!(part, Part::Digit(_) | Part::Root)))
        .or_else(|| has(|part| matches!(part, Part::Root)))
}

impl Reading {
    fn take(&mut self, word: Word, parts: &mut Vec<Part>) {
        match word {
            // The first side counts: `LeftHand_R` does not exist, `L_eye_r01` does.
            Word::Side(side) => self.side = self.side.or(Some(side)),
            Word::Part(part) => parts.push(part),
            Word::Upper => self.upper = true,
            Word::Lower => self.lower = true,
            Word::Twist => self.twist = true,
            Word::Tip => self.tip = true,
            Word::Palm => self.palm = true,
            Word::Helper => self.helper = true,
            Word::Deform => self.deform = true,
            Word::Face | Word::Plain => {}
        }
    }

    /// Whether the joint is a control, an end or a twist.
    pub(super) fn is_extra(&self) -> bool {
        self.helper || self.tip || self.twist || self.relay
    }

    /// Returns how well the name fits a role, on either side: 1 exactly, 0 nothing known, below 0 not.
    pub(super) fn fit(&self, role: Role) -> f64 {
        let kind = match (self.helper || self.relay, self.tip, self.twist) {
            (true, ..) => return -6.0,
            (_, true, _) => -4.0,
            (_, _, true) => -3.0,
            _ => 0.0,
        };
        let strange = if self.part.is_some() { -0.3 * f64::from(self.strange) } else { 0.0 };
        let deform = if self.deform { 0.1 } else { 0.0 };
        self.part.map_or(0.0, |part| self.part_fit(part, role.on(Side::Left))) + kind + strange + deform
    }

    fn part_fit(&self, part: Part, role: Role) -> f64 {
        use Role::*;
        let exact = match (part, self.upper, self.lower) {
            (Part::Root, ..) => [(Hips, 0.3), (Hips, 0.3)],
            (Part::Hip, ..) if self.side.is_some() => [(LeftUpperLeg, NAMED), (LeftUpperLeg, NAMED)],
            (Part::Hip | Part::Hips, ..) => [(Hips, NAMED), (Hips, NAMED)],
            (Part::Spine, ..) => [(Spine, NAMED), (Chest, NAMED)],
            (Part::Chest, ..) => [(Chest, NAMED), (UpperChest, NAMED)],
            (Part::Neck, ..) => [(Neck, NAMED), (Neck, NAMED)],
            (Part::Head, ..) => [(Head, NAMED), (Head, NAMED)],
            (Part::Eye, ..) => [(LeftEye, NAMED), (LeftEye, NAMED)],
            (Part::Jaw, ..) => [(Jaw, NAMED), (Jaw, NAMED)],
            (Part::Collar, ..) => [(LeftShoulder, NAMED), (LeftShoulder, NAMED)],
            (Part::Shoulder, ..) => [(LeftShoulder, NAMED), (LeftUpperArm, 0.8)],
            (Part::Arm, _, true) | (Part::Forearm, ..) => [(LeftLowerArm, NAMED), (LeftLowerArm, NAMED)],
            (Part::Arm, true, _) => [(LeftUpperArm, NAMED), (LeftUpperArm, NAMED)],
            (Part::Arm, ..) => [(LeftUpperArm, NAMED), (LeftLowerArm, 0.3)],
            (Part::Wrist, ..) => [(LeftHand, 1.1), (LeftHand, 1.1)],
            (Part::Hand, ..) => [(LeftHand, NAMED), (LeftHand, NAMED)],
            (Part::Leg, _, true) | (Part::Shin, ..) => [(LeftLowerLeg, NAMED), (LeftLowerLeg, NAMED)],
            (Part::Leg, true, _) | (Part::Thigh, ..) => [(LeftUpperLeg, NAMED), (LeftUpperLeg, NAMED)],
            (Part::Leg, ..) => [(LeftLowerLeg, 0.8), (LeftUpperLeg, 0.8)],
            (Part::Ankle, ..) => [(LeftFoot, 1.1), (LeftFoot, 1.1)],
            (Part::Foot, ..) => [(LeftFoot, NAMED), (LeftToes, 0.5)],
            (Part::Toe, ..) => [(LeftToes, NAMED), (LeftToes, NAMED)],
            (Part::Finger | Part::Digit(_), ..) => return -3.0,
        };
        if let Some((_, score)) = exact.iter().find(|(it, _)| *it == role) {
            return *score;
        }
        let alike = region(exact[0].0) == region(role);
        if alike { -0.4 } else { -3.0 }
    }
}

/// Part of the body in which names are often one joint off.
fn region(role: Role) -> u8 {
    use Role::*;
    match role {
        Hips => 0,
        // Rigify's spine ends in the head.
        Spine | Chest | UpperChest | Neck | Head => 1,
        LeftEye | Jaw => 3,
        LeftUpperLeg | LeftLowerLeg | LeftFoot | LeftToes => 4,
        LeftShoulder | LeftUpperArm | LeftLowerArm | LeftHand => 5,
        _ => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_separators_capitals_and_digits() {
        assert_eq!(tokens("mixamorig:LeftUpLeg"), ["left", "up", "leg"]);
        assert_eq!(tokens("RHipJoint"), ["r", "hip", "joint"]);
        assert_eq!(tokens("DEF-thigh.L.001"), ["def", "thigh", "l", "001"]);
        assert_eq!(tokens("Bip01 L Finger0Nub"), ["bip", "01", "l", "finger", "0", "nub"]);
        assert_eq!(tokens("左足IK"), ["左足", "ik"]);
    }

    #[test]
    fn a_name_fits_its_role_best() {
        let cases = [
            ("mixamorig:LeftArm", Role::LeftUpperArm),
            ("LeftForeArm", Role::LeftLowerArm),
            ("upperarm_l", Role::LeftUpperArm),
            ("lowerarm_r", Role::LeftLowerArm),
            ("J_Bip_L_UpperLeg", Role::LeftUpperLeg),
            ("DEF-shin.R", Role::LeftLowerLeg),
            ("CC_Base_L_Calf", Role::LeftLowerLeg),
            ("Bip01 R UpperArm", Role::LeftUpperArm),
            ("LHipJoint", Role::LeftUpperLeg),
            ("lhumerus", Role::LeftUpperArm),
            ("rradius", Role::LeftLowerArm),
            ("L_Ankle", Role::LeftFoot),
            ("LeftCollar", Role::LeftShoulder),
            ("lThighBend", Role::LeftUpperLeg),
            ("pelvis", Role::Hips),
            ("左ひじ", Role::LeftLowerArm),
            ("LeftToeBase", Role::LeftToes),
        ];
        for (name, role) in cases {
            let reading = &read_all(&[name.into()])[0];
            let best = Role::ALL.iter().filter(|it| it.on(Side::Left) == **it);
            let best = best.max_by(|a, b| reading.fit(**a).total_cmp(&reading.fit(**b)));
            assert_eq!(best, Some(&role), "{name}: {reading:?}");
        }
    }

    #[test]
    fn helpers_ends_and_twists_fit_no_role() {
        for name in
            ["hand_ik.L", "HeadTop_End", "lThighTwist", "J_Sec_Hair1_03", "ik_foot_l", "handslot.r", "ear.L"]
        {
            let reading = &read_all(&[name.into()])[0];
            assert!(reading.is_extra(), "{name}: {reading:?}");
        }
    }
}
