//! Pairs of joints from their names.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::skeleton::Skeleton;

/// Finds pairs of left and right joints by name, for [`Mirror::new`](super::Mirror::new).
///
/// A side is recognised by one of:
///
/// - the word `left` or `right` anywhere in the name (`LeftArm`, `arm_left`, `mixamorig:RightHand`),
/// - the letter `l` or `r` between non-alphanumeric characters (`arm.L`, `l_arm`, `Bip01 R Thigh`,
///   `DEF-hand.L.001`),
/// - the letter before a capital (`lShin`, `RHand`),
/// - the capital letter at the end (`handR`).
///
/// The case must match on both sides. Two joints are a pair if replacing the side in one name gives the other
/// name. Their parents must be a pair or the same unpaired joint. Among joints with equal names, the first
/// left one is paired with the first right one. The left joint comes first in each pair.
///
/// ```
/// use condyle::{Joint, Skeleton, Transform, mirroring};
///
/// let joint = |name: &str, parent| Joint::new(name, parent, Transform::IDENTITY);
/// let joints = [joint("hips", None), joint("RightLeg", Some(0)), joint("LeftLeg", Some(0))];
/// let skeleton = Skeleton::new(joints)?;
/// assert_eq!(mirroring::pairs(&skeleton), [(2, 1)]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[must_use]
pub fn pairs(skeleton: &Skeleton) -> Vec<(u16, u16)> {
    // Joints by name and parent. Each list is in reverse order, so that `pop` returns the first joint.
    let mut waiting: BTreeMap<&str, BTreeMap<Option<u16>, Vec<u16>>> = BTreeMap::new();
    for (at, name) in skeleton.names().iter().enumerate().rev() {
        let joint = at as u16;
        waiting.entry(name).or_default().entry(skeleton.parent(joint)).or_default().push(joint);
    }
    let mut partners: Vec<u16> = (0..skeleton.joint_count() as u16).collect();
    let mut pairs = Vec::new();
    for (joint, name) in (0..).zip(skeleton.names()) {
        if partners[usize::from(joint)] != joint {
            continue;
        }
        // Parents come first, so the partner of the parent is known.
        let above = skeleton.parent(joint).map(|parent| partners[usize::from(parent)]);
        for (other, is_left) in counterparts(name) {
            let Some(all) = waiting.get_mut(other.as_str()).and_then(|all| all.get_mut(&above)) else {
                continue;
            };
            while all.pop_if(|j| partners[usize::from(*j)] != *j).is_some() {}
            if let Some(other) = all.pop() {
                partners[usize::from(joint)] = other;
                partners[usize::from(other)] = joint;
                pairs.push(if is_left { (joint, other) } else { (other, joint) });
                break;
            }
        }
    }
    pairs
}

/// Limits the candidates per name, because a document can contain names of any length.
const MAX_COUNTERPARTS: usize = 16;

/// Returns candidate names of the other side, each with whether `name` is the left side.
fn counterparts(name: &str) -> Vec<(String, bool)> {
    const WORDS: [(&str, &str); 3] = [("Left", "Right"), ("left", "right"), ("LEFT", "RIGHT")];
    let mut all = vec![];
    for (left, right) in WORDS {
        if name.contains(left) {
            all.push((name.replace(left, right), true));
        }
        if name.contains(right) {
            all.push((name.replace(right, left), false));
        }
    }
    let letters: Vec<char> = name.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        let (other, is_left) = match letter {
            'L' => ('R', true),
            'R' => ('L', false),
            'l' => ('r', true),
            'r' => ('l', false),
            _ => continue,
        };
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1).copied();
        let begins = before.is_none_or(|c| !c.is_alphanumeric());
        let ends = after.is_none_or(|c| !c.is_alphanumeric());
        // The first letter of an all-capitals name is not a side prefix.
        let shouts = letter.is_uppercase() && letters.get(at + 2).is_some_and(|c| c.is_uppercase());
        let leads = begins && after.is_some_and(char::is_uppercase) && !shouts;
        let trails = after.is_none()
            && letter.is_uppercase()
            && before.is_some_and(|c| c.is_lowercase() || c.is_numeric());
        if all.len() < MAX_COUNTERPARTS && (begins && ends || leads || trails) {
            let mut other_name = letters.clone();
            other_name[at] = other;
            all.push((other_name.into_iter().collect(), is_left));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeleton::Joint;
    use condyle_base::math::Transform;

    fn skeleton(joints: &[(&str, Option<u16>)]) -> Skeleton {
        let joint = |&(name, parent): &(&str, _)| Joint::new(name, parent, Transform::IDENTITY);
        Skeleton::new(joints.iter().map(joint)).expect("parents before children")
    }

    #[test]
    fn sides_are_told_by_words_and_letters() {
        for (left, right) in [
            ("LeftArm", "RightArm"),
            ("mixamorig:LeftUpLeg", "mixamorig:RightUpLeg"),
            ("arm_left", "arm_right"),
            ("ARM LEFT 2", "ARM RIGHT 2"),
            ("arm.L", "arm.R"),
            ("arm_l", "arm_r"),
            ("L_arm", "R_arm"),
            ("l-arm", "r-arm"),
            ("Bip01 L Thigh", "Bip01 R Thigh"),
            ("DEF-upper_arm.L.001", "DEF-upper_arm.R.001"),
            ("lShin", "rShin"),
            ("LHand", "RHand"),
            ("b_LHand", "b_RHand"),
            ("handL", "handR"),
            ("toe2L", "toe2R"),
            ("L", "R"),
            ("手.L", "手.R"),
        ] {
            for (first, second, pair) in [(left, right, (1, 2)), (right, left, (2, 1))] {
                let found = pairs(&skeleton(&[("hips", None), (first, Some(0)), (second, Some(0))]));
                assert_eq!(found, [pair], "{first} {second}");
            }
        }
    }

    #[test]
    fn what_only_looks_like_sides_is_none() {
        for (a, b) in [
            ("ball", "barr"),
            ("role", "lole"),
            ("arm_l", "arm_R"),
            ("ROOT", "LOOT"),
            ("arm", "arm"),
            ("hal", "har"),
            ("", ""),
            ("left", "left"),
        ] {
            assert_eq!(pairs(&skeleton(&[(a, None), (b, None)])), [], "{a} {b}");
        }
    }

    #[test]
    fn parents_of_a_pair_are_a_pair_or_one_joint() {
        let found = pairs(&skeleton(&[
            ("hips", None),
            ("arm.L", Some(0)),
            ("arm.R", Some(0)),
            ("hand.R", Some(2)),
            ("hand.L", Some(1)),
            // A buckle on one side only, and a pair of tips with different parents.
            ("buckle.L", Some(4)),
            ("tip.L", Some(1)),
            ("tip.R", Some(0)),
            // Both joints are on the left hand, so their parents are not a pair.
            ("tong.L", Some(4)),
            ("tong.R", Some(4)),
        ]));
        assert_eq!(found, [(1, 2), (4, 3)]);
    }

    #[test]
    fn of_twins_the_first_fits_the_first() {
        let joints = [("h", None), ("f.L", Some(0)), ("f.L", Some(0)), ("f.R", Some(0)), ("f.R", Some(0))];
        assert_eq!(pairs(&skeleton(&joints)), [(1, 3), (2, 4)]);
    }
}
