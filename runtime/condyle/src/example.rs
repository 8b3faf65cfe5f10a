//! A small character with clips and a mesh, for the examples in the documentation.

// Public because the examples of this crate and of the crates above it are compiled outside this crate.

use alloc::vec;
use alloc::vec::Vec;
use core::f32::consts::{PI, TAU};

use crate::clip::{Interpolation, RawClip, Target, Track};
use crate::mesh::{Influences, MorphDeltas, MorphTarget, Skin, SkinnedMesh, Vertices};
use crate::skeleton::{Joint, Skeleton};
use condyle_base::math::{Affine, Transform, sin_cos};

/// Hips, the root of [`skeleton`].
pub const HIPS: u16 = 0;
/// Child of the hips.
pub const CHEST: u16 = 1;
/// Child of the chest.
pub const HEAD: u16 = 2;
/// Shoulder, elbow and hand on the left side (+X).
pub const ARM_L: [u16; 3] = [3, 4, 5];
/// Shoulder, elbow and hand on the right side (-X).
pub const ARM_R: [u16; 3] = [6, 7, 8];
/// Hip, knee and foot on the left side.
pub const LEG_L: [u16; 3] = [9, 10, 11];
/// Hip, knee and foot on the right side.
pub const LEG_R: [u16; 3] = [12, 13, 14];

/// Returns a character of 15 joints, 1.75 m tall, that faces +Z and stretches its arms out to the sides.
pub fn skeleton() -> Skeleton {
    let joints = [
        ("hips", None, [0.0, 1.0, 0.0]),
        ("chest", Some(HIPS), [0.0, 0.5, 0.0]),
        ("head", Some(CHEST), [0.0, 0.25, 0.0]),
        ("upper_arm.L", Some(CHEST), [0.25, 0.0, 0.0]),
        ("lower_arm.L", Some(ARM_L[0]), [0.25, 0.0, 0.0]),
        ("hand.L", Some(ARM_L[1]), [0.25, 0.0, 0.0]),
        ("upper_arm.R", Some(CHEST), [-0.25, 0.0, 0.0]),
        ("lower_arm.R", Some(ARM_R[0]), [-0.25, 0.0, 0.0]),
        ("hand.R", Some(ARM_R[1]), [-0.25, 0.0, 0.0]),
        ("upper_leg.L", Some(HIPS), [0.125, 0.0, 0.0]),
        ("lower_leg.L", Some(LEG_L[0]), [0.0, -0.5, 0.0]),
        ("foot.L", Some(LEG_L[1]), [0.0, -0.5, 0.0]),
        ("upper_leg.R", Some(HIPS), [-0.125, 0.0, 0.0]),
        ("lower_leg.R", Some(LEG_R[0]), [0.0, -0.5, 0.0]),
        ("foot.R", Some(LEG_R[1]), [0.0, -0.5, 0.0]),
    ];
    let joints = joints.map(|(name, parent, translation)| {
        Joint::new(name, parent, Transform { translation, ..Transform::IDENTITY })
    });
    Skeleton::new(joints).expect("parents before children")
}

/// Returns a chain of joints, each of which is `step` away from its parent; the root is `step` away from the
/// origin.
pub fn chain<const N: usize>(names: [&str; N], step: [f32; 3]) -> Skeleton {
    let rest = Transform { translation: step, ..Transform::IDENTITY };
    let joints = names.iter().zip(0_u16..).map(|(name, at)| Joint::new(*name, at.checked_sub(1), rest));
    Skeleton::new(joints).expect("parents before children")
}

/// Returns a walk of one second on [`skeleton`], with 31 keys per track. The hips move 2 m forward, and the
/// legs swing by 30 degrees to the front and to the back.
pub fn walk() -> RawClip {
    let times: Vec<f32> = (0..=30_u8).map(|key| f32::from(key) / 30.0).collect();
    // `most` is half of the angle at the first key.
    let swing = |most: f32| -> Vec<[f32; 4]> {
        let halves = times.iter().map(|time| most * sin_cos(TAU * time).1);
        halves.map(sin_cos).map(|(sin, cos)| [sin, 0.0, 0.0, cos]).collect()
    };
    let tracks = vec![
        linear(Target::Translation(HIPS), 0, &[[0.0, 1.0, 0.0], [0.0, 1.0, 2.0]]),
        linear(Target::Rotation(LEG_L[0]), 1, &swing(-PI / 12.0)),
        linear(Target::Rotation(LEG_R[0]), 1, &swing(PI / 12.0)),
    ];
    RawClip::new("walk".into(), vec![vec![0.0, 1.0], times], tracks).expect("valid tracks")
}

/// Returns a wave of two seconds on [`skeleton`]. The right arm is raised by 60 degrees, and the elbow turns
/// up by 60 degrees and back.
pub fn wave() -> RawClip {
    let (straight, up) = ([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -0.5, 0.866_025_4]);
    let tracks = vec![
        linear(Target::Rotation(ARM_R[0]), 0, &[up]),
        linear(Target::Rotation(ARM_R[1]), 1, &[straight, up, straight]),
    ];
    RawClip::new("wave".into(), vec![vec![0.0], vec![0.0, 1.0, 2.0]], tracks).expect("valid tracks")
}

fn linear<const N: usize>(target: Target, timeline: usize, keys: &[[f32; N]]) -> Track {
    Track { target, interpolation: Interpolation::Linear, timeline, values: keys.as_flattened().to_vec() }
}

/// Returns the left sleeve of [`skeleton`]: a closed box from the shoulder to the hand, 12.5 cm thick.
///
/// Vertices 0 to 3 are at the shoulder, 4 to 7 at the elbow, 8 to 11 at the hand. At the elbow, the upper arm
/// has a weight of 0.75 and the lower arm one of 0.25. The morph target lifts the vertices at the elbow by
/// 25 cm.
pub fn mesh() -> SkinnedMesh {
    let corners = [[1.5625, 0.0625], [1.5625, -0.0625], [1.4375, -0.0625], [1.4375, 0.0625]];
    let rings = [0.25, 0.5, 0.75].map(|x| corners.map(|[y, z]| [x, y, z]));
    let vertices = Vertices { positions: rings.as_flattened().to_vec(), ..Vertices::default() };

    let weights = [vec![(0, 1.0)], vec![(0, 0.75), (1, 0.25)], vec![(1, 1.0)]];
    let influences = Influences::from_rows((0..12).map(|vertex| weights[vertex / 4].clone()));

    let mut indices = vec![0, 1, 2, 0, 2, 3, 8, 10, 9, 8, 11, 10];
    for a in 0..8 {
        // Corner `b` is next to corner `a` in the same ring.
        let b = a / 4 * 4 + (a + 1) % 4;
        indices.extend([a, a + 4, b, b, a + 4, b + 4]);
    }

    let lifted = [4, 5, 6, 7].map(|vertex| (vertex, [0.0, 0.25, 0.0]));
    let lifted = MorphTarget::from_sparse(12, MorphDeltas { positions: &lifted, ..MorphDeltas::default() });

    let (influences, lifted) = (influences.expect("valid weights"), lifted.expect("valid deltas"));
    SkinnedMesh::new(vertices, influences, indices, vec![lifted]).expect("valid lists")
}

/// Returns the skin of [`mesh`]: influence 0 is the upper arm and influence 1 the lower arm of the left side.
pub fn skin() -> Skin {
    let inverse = |x: f32| Affine::from(Transform { translation: [-x, -1.5, 0.0], ..Transform::IDENTITY });
    let skin = Skin::new(ARM_L[..2].to_vec(), vec![inverse(0.25), inverse(0.5)]);
    skin.and_then(|skin| skin.for_skeleton(&skeleton())).expect("joints of the skeleton")
}
