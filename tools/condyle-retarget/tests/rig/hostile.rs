//! Skeletons without a body: long chains, many children, equal names, bones without length.

use std::collections::BTreeMap;

use condyle::{Joint, Skeleton, Transform, example};
use condyle_retarget::rig::{Hints, Role, find};
use condyle_testing::Random;

const NAMES: [&str; 12] = [
    "LeftArm", "RightArm", "LeftLeg", "RightLeg", "Hips", "Spine", "Head", "LeftHand", "Finger1", "foot_l",
    "", "upleg",
];

/// Makes a skeleton with as many joints as are allowed. `parent` returns a joint's parent.
fn made(
    count: usize,
    random: &mut Random,
    size: f32,
    parent: impl Fn(usize, &mut Random) -> usize,
) -> Skeleton {
    let joints = (0..count).map(|at| {
        let translation = random.vector(1.0).map(|v: f32| v * size);
        let rest = Transform { translation, ..Transform::IDENTITY };
        let name = NAMES[random.below(NAMES.len())];
        let above = if at == 0 { None } else { Some(parent(at, random) as u16) };
        Joint::new(name, above, rest)
    });
    Skeleton::new(joints.collect::<Vec<_>>()).expect("a skeleton")
}

#[test]
fn large_skeletons_of_any_form_have_an_answer() {
    let mut random = Random(107);
    let most = Skeleton::MAX_JOINTS;
    let forms: [fn(usize, &mut Random) -> usize; 5] = [
        |at, _| at - 1,
        |_, _| 0,
        |at, _| (at - 1) / 2,
        |at, random| random.below(at),
        // A chain with a joint at the side of each.
        |at, _| if at % 2 == 0 { at - 1 } else { at.saturating_sub(2) },
    ];
    for form in forms {
        for size in [0.0, 0.1, 1e30] {
            let skeleton = made(most, &mut random, size, form);
            let _ = find(&skeleton, &Hints::default());
        }
    }
}

#[test]
fn small_random_skeletons_have_an_answer() {
    let mut random = Random(108);
    for _ in 0..2000 {
        let count = 1 + random.below(60);
        let size = if random.below(4) == 0 { 0.0 } else { 0.3 };
        let skeleton = made(count, &mut random, size, |at, random| random.below(at));
        if let Ok(found) = find(&skeleton, &Hints { loose_feet: true, ..Hints::default() }) {
            assert_eq!(found.evidence.len(), found.humanoid.roles().count());
        }
    }
}

#[test]
fn bones_of_a_file_that_are_no_humanoid_are_reported_and_not_used() {
    let skeleton = example::skeleton();
    let usual = find(&skeleton, &Hints::default()).unwrap();
    let all = skeleton.joint_count() as u16;
    for bones in [[("hips", example::HEAD), ("head", example::HIPS)], [("hips", all), ("head", 0)]] {
        let bones = BTreeMap::from(bones.map(|(name, joint)| (name.to_owned(), joint)));
        let hints = Hints { bones: bones.clone(), ..Hints::default() };
        let found = find(&skeleton, &hints).unwrap();
        assert!(found.unused_bones.is_some(), "{bones:?}");
        assert_eq!(found.humanoid, usual.humanoid);
        // With a correction they count, and are refused.
        assert!(find(&skeleton, &Hints { given: vec![(Role::Jaw, None)], ..hints }).is_err());
    }
    let bones = BTreeMap::from([("hips".to_owned(), example::HIPS), ("no such bone".to_owned(), all)]);
    let found = find(&skeleton, &Hints { bones, ..Hints::default() }).unwrap();
    assert_eq!((found.unused_bones, found.humanoid), (None, usual.humanoid));
}
