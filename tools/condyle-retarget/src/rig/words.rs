//! The vocabulary of joint names: words, in the languages and spellings of rigs, with their meaning.

use std::collections::BTreeMap;

use super::role::Side;

/// The meaning of one word of a joint's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Side(Side),
    Part(Part),
    /// The upper part of a limb: `up` in `LeftUpLeg`.
    Upper,
    /// The lower part of a limb: `fore` in `ForeArm`.
    Lower,
    /// A joint that takes a part of a bone's twist.
    Twist,
    /// The end of a bone chain, which carries nothing.
    Tip,
    /// A bone of the palm.
    Palm,
    /// Controls, clothes, hair, weapons: joints outside the body.
    Helper,
    /// Controls of the face, or a prefix of eyes and jaw.
    Face,
    /// A word of a deforming bone, next to controls of the same name.
    Deform,
    /// A word without a meaning for the body.
    Plain,
}

/// A part of the body as names have it, before the skeleton's shape decides on the role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Root,
    /// Joint of the thigh if the name has a side, else the pelvis.
    Hip,
    Hips,
    Spine,
    Chest,
    Neck,
    Head,
    Eye,
    Jaw,
    Collar,
    /// The clavicle, or the joint of the upper arm.
    Shoulder,
    Arm,
    Forearm,
    Wrist,
    Hand,
    Thigh,
    Leg,
    Shin,
    Ankle,
    Foot,
    Toe,
    Finger,
    /// Thumb, index, middle, ring and little finger: 0 to 4.
    Digit(u8),
}

/// Words by meaning. A token of a name is one word, or several without a separator: `upperarm`, `lthigh`.
const VOCABULARY: &[(Word, &str)] = &[
    (Word::Side(Side::Left), "left l lft 左"),
    (Word::Side(Side::Right), "right r rgt 右"),
    (Word::Part(Part::Root), "root"),
    (Word::Part(Part::Hip), "hip"),
    (Word::Part(Part::Hips), "hips pelvis hipz 下半身 腰"),
    (Word::Part(Part::Spine), "spine back waist abdomen belly stomach torso lumbar trunk 上半身"),
    (Word::Part(Part::Chest), "chest thorax ribs ribcage breastbone sternum"),
    (Word::Part(Part::Neck), "neck cervical 首"),
    (Word::Part(Part::Head), "head skull 頭"),
    (Word::Part(Part::Eye), "eye eyeball 目"),
    (Word::Part(Part::Jaw), "jaw chin あご"),
    (Word::Part(Part::Collar), "collar clavicle clav collarbone scapula"),
    (Word::Part(Part::Shoulder), "shoulder 肩"),
    (Word::Part(Part::Arm), "arm humerus bicep biceps 腕"),
    (Word::Part(Part::Forearm), "forearm elbow radius ulna ひじ 肘"),
    (Word::Part(Part::Wrist), "wrist 手首"),
    (Word::Part(Part::Hand), "hand fist 手"),
    (Word::Part(Part::Thigh), "thigh femur"),
    (Word::Part(Part::Leg), "leg 足"),
    (Word::Part(Part::Shin), "shin calf tibia knee crus ひざ 膝"),
    (Word::Part(Part::Ankle), "ankle 足首"),
    (Word::Part(Part::Foot), "foot feet"),
    (Word::Part(Part::Toe), "toe toes ball toebase つま先 足先"),
    (Word::Part(Part::Finger), "finger fingers 指"),
    (Word::Part(Part::Digit(0)), "thumb 親指"),
    (Word::Part(Part::Digit(1)), "index pointer 人指 人差指"),
    (Word::Part(Part::Digit(2)), "middle mid 中指"),
    (Word::Part(Part::Digit(3)), "ring 薬指"),
    (Word::Part(Part::Digit(4)), "pinky pinkie little small 小指"),
    (Word::Upper, "up upper"),
    (Word::Lower, "low lower fore"),
    (Word::Twist, "twist roll twst 捩 捩り"),
    (Word::Tip, "end tip nub top site leaf effector eff null 先"),
    (Word::Palm, "metacarpal metacarpals meta carpal carpals palm mc"),
    (Word::Deform, "def deform bend jnt"),
    (Word::Face, "face facial"),
    (
        Word::Helper,
        "ik fk pole target tgt ctrl control controller con helper aux mch goal ikp ikt offset parent \
         follow ＩＫ 親 hair ponytail pigtail bangs braid fringe 髪 skirt スカート cloth cape cloak coat \
         dress robe sleeve ribbon hood hat helmet glasses mask bag belt strap tie scarf tail ear ears \
         earring wing horn whisker feather armor armour tongue teeth tooth lip lips mouth brow brows \
         eyebrow lid eyelid cheek nose nostril forehead temple lash lashes squint breast breasts boob \
         boobs bust pectoral pec glute butt buttock bum genital muscle corrective bulge fat jiggle \
         dynamic dyn physics phys sec spring collider collision weapon sword shield gun bow prop item \
         slot socket attach attachment holster camera handle grip blade heel",
    ),
    (
        Word::Plain,
        "bone joint j b c m base proximal intermediate distal prox inter dist medial in org adj large big thumbs \
         skin skel",
    ),
];

/// The vocabulary, and the tokens that were split before.
pub(super) struct Vocabulary {
    words: BTreeMap<&'static str, Word>,
    tokens: BTreeMap<String, Option<Vec<Word>>>,
}

impl Vocabulary {
    pub(super) fn new() -> Self {
        let mut words = BTreeMap::new();
        for (word, all) in VOCABULARY {
            words.extend(all.split_whitespace().map(|it| (it, *word)));
        }
        Self { words, tokens: BTreeMap::new() }
    }

    /// Returns the words of a token in lower case. `None` if a part of it is unknown.
    pub(super) fn read(&mut self, token: &str) -> Option<&[Word]> {
        if !self.tokens.contains_key(token) {
            let mut words = Vec::new();
            let known = self.split(token, &mut words);
            self.tokens.insert(token.into(), known.then_some(words));
        }
        self.tokens[token].as_deref()
    }

    fn split(&self, token: &str, words: &mut Vec<Word>) -> bool {
        if token.is_empty() {
            return true;
        }
        if let Some(word) = self.words.get(token) {
            words.push(*word);
            return true;
        }
        if token.len() > LONGEST || words.len() > 4 {
            return false;
        }
        // Longest first word first: `lowerarm` is `lower arm`, not `low er ...`.
        let ends: Vec<usize> = token.char_indices().skip(1).map(|(end, _)| end).collect();
        for end in ends.into_iter().rev() {
            let (first, rest) = token.split_at(end);
            let Some(word) = self.words.get(first) else { continue };
            // A letter alone is a side only before a part of the body: `lthigh`.
            let allowed = match (first.len(), word) {
                (1, Word::Side(_)) => words.is_empty() && rest.len() > 2 && self.begins_with_part(rest),
                (1 | 2, word) => *word == Word::Upper || !first.is_ascii(),
                _ => true,
            };
            if !allowed {
                continue;
            }
            let before = words.len();
            words.push(*word);
            if self.split(rest, words) {
                return true;
            }
            words.truncate(before);
        }
        false
    }

    /// Whether a token begins with a word for a part of the body, or with `up` or `low`.
    fn begins_with_part(&self, token: &str) -> bool {
        let ends = token.char_indices().map(|(at, _)| at).chain([token.len()]);
        let part =
            |end| matches!(self.words.get(&token[..end]), Some(Word::Part(_) | Word::Upper | Word::Lower));
        ends.skip(1).any(part)
    }
}

/// Longest token that is split into words, in bytes.
const LONGEST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn words(token: &str) -> Option<Vec<Word>> {
        Vocabulary::new().read(token).map(Into::into)
    }

    #[test]
    fn words_without_separators_are_split() {
        let [left, right] = [Side::Left, Side::Right].map(Word::Side);
        assert_eq!(words("upperarm"), Some(vec![Word::Upper, Word::Part(Part::Arm)]));
        assert_eq!(words("lthigh"), Some(vec![left, Word::Part(Part::Thigh)]));
        assert_eq!(words("rightupleg"), Some(vec![right, Word::Upper, Word::Part(Part::Leg)]));
        assert_eq!(words("ring"), Some(vec![Word::Part(Part::Digit(3))]));
        assert_eq!(words("handslot"), Some(vec![Word::Part(Part::Hand), Word::Helper]));
        assert_eq!(words("左足首"), Some(vec![left, Word::Part(Part::Ankle)]));
        for other in ["handsome", "lizard", "rope", "mixamorig", "lip2"] {
            assert_eq!(words(other), None, "{other}");
        }
    }
}
