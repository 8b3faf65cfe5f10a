//! The joints of the character in its bind pose: arms slanted down, facing +Z, its left side towards +X.

use condyle_draw::vector::Vec3;

/// A joint in the bind pose, in which no joint is rotated.
pub(super) struct Joint {
    pub name: String,
    pub parent: Option<usize>,
    /// Position in model space, in metres.
    pub at: Vec3,
    /// End of the limb that the joint moves.
    pub tip: Vec3,
}

pub(super) const HIPS: usize = 0;
pub(super) const SPINE: usize = 1;
pub(super) const CHEST: usize = 2;
pub(super) const UPPER_CHEST: usize = 3;
pub(super) const NECK: usize = 4;
pub(super) const HEAD: usize = 5;
pub(super) const BREATH: usize = 6;
// Joints of the left side; add `RIGHT` for the joint of the right side.
pub(super) const SHOULDER: usize = 7;
pub(super) const UPPER_ARM: usize = 8;
pub(super) const LOWER_ARM: usize = 9;
pub(super) const HAND: usize = 10;
pub(super) const FINGERS: usize = 11;
pub(super) const FINGER_TIPS: usize = 12;
pub(super) const THUMB: usize = 13;
pub(super) const THUMB_TIP: usize = 14;
pub(super) const UPPER_LEG: usize = 15;
pub(super) const LOWER_LEG: usize = 16;
pub(super) const FOOT: usize = 17;
pub(super) const TOES: usize = 18;
pub(super) const RIGHT: usize = 12;

/// Direction of the left arm.
pub(super) const ARM: Vec3 = [0.766_044_44, -0.642_787_6, 0.0];

/// A row of the tables below: name, parent, position, tip.
type Row = (&'static str, usize, Vec3, Vec3);

const MIDDLE: [Row; 7] = [
    ("hips", HIPS, [0.0, 0.93, 0.0], [0.0, 1.02, -0.005]),
    ("spine", HIPS, [0.0, 1.02, -0.005], [0.0, 1.14, -0.01]),
    ("chest", SPINE, [0.0, 1.14, -0.01], [0.0, 1.27, -0.015]),
    ("upper_chest", CHEST, [0.0, 1.27, -0.015], [0.0, 1.42, -0.02]),
    ("neck", UPPER_CHEST, [0.0, 1.42, -0.02], [0.0, 1.49, -0.005]),
    ("head", NECK, [0.0, 1.49, -0.005], [0.0, 1.72, 0.0]),
    // It has no children, so that its scale widens only the front of the chest.
    ("breath", CHEST, [0.0, 1.22, 0.03], [0.0, 1.30, 0.05]),
];

const SIDE: [Row; 12] = [
    ("shoulder", UPPER_CHEST, [0.04, 1.375, -0.015], [0.165, 1.37, -0.015]),
    ("upper_arm", SHOULDER, [0.165, 1.37, -0.015], [0.372, 1.1964, -0.015]),
    ("lower_arm", UPPER_ARM, [0.372, 1.1964, -0.015], [0.5559, 1.0421, -0.015]),
    ("hand", LOWER_ARM, [0.5559, 1.0421, -0.015], [0.6172, 0.9907, -0.012]),
    ("fingers", HAND, [0.6172, 0.9907, -0.012], [0.6555, 0.9586, -0.012]),
    ("finger_tips", FINGERS, [0.6555, 0.9586, -0.012], [0.6976, 0.9232, -0.012]),
    ("thumb", HAND, [0.5712, 1.0232, 0.010], [0.5942, 1.0039, 0.036]),
    ("thumb_tip", THUMB, [0.5942, 1.0039, 0.036], [0.6172, 0.9846, 0.052]),
    ("upper_leg", HIPS, [0.092, 0.89, 0.0], [0.098, 0.485, 0.008]),
    ("lower_leg", UPPER_LEG, [0.098, 0.485, 0.008], [0.102, 0.085, -0.015]),
    ("foot", LOWER_LEG, [0.102, 0.085, -0.015], [0.105, 0.03, 0.115]),
    ("toes", FOOT, [0.105, 0.03, 0.115], [0.105, 0.025, 0.2]),
];

/// Returns all joints, parents first.
pub(super) fn joints() -> Vec<Joint> {
    let mut rig = Vec::new();
    for (joint, (name, parent, at, tip)) in MIDDLE.into_iter().enumerate() {
        rig.push(Joint { name: name.into(), parent: (joint != HIPS).then_some(parent), at, tip });
    }
    for (side, shift) in [("left", 0), ("right", RIGHT)] {
        let place = |p: Vec3| if shift == 0 { p } else { mirror(p) };
        for (name, parent, at, tip) in SIDE {
            let parent = if parent < SHOULDER { parent } else { parent + shift };
            let name = format!("{side}_{name}");
            rig.push(Joint { name, parent: Some(parent), at: place(at), tip: place(tip) });
        }
    }
    rig
}

/// Returns the mirrored position.
pub(super) fn mirror(p: Vec3) -> Vec3 {
    [-p[0], p[1], p[2]]
}

/// Returns the joint at the mirrored place.
pub(super) fn mirror_joint(joint: usize) -> usize {
    match joint {
        0..SHOULDER => joint,
        _ if joint < SHOULDER + RIGHT => joint + RIGHT,
        _ => joint - RIGHT,
    }
}
